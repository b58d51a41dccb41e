"""The lifecycle of frozen tools as one table: each allowed move, who may make it, what it needs."""

from __future__ import annotations

from attrs import frozen

from holon_core.errors import Refused
from holon_core.records.base import Record
from holon_core.records.failure import failure
from holon_core.records.frozen import FrozenState
from holon_core.records.words import Authority

S = FrozenState


@frozen(kw_only=True, eq=False, repr=False)
class Move(Record):
    """One allowed move.

    ``verb`` is the operation that makes it. ``approval`` says that a named approval over the
    proposal's digest and the target state has to be given first. ``needs`` names gates of
    ``gates.GATES``, all of which have to be open. ``pins`` says what can't change from then on.
    """

    source: FrozenState
    target: FrozenState
    verb: str
    authority: Authority
    approval: bool = False
    needs: tuple[str, ...] = ()
    pins: str = ""


SOUND = ("sound", "provenance", "fixtures_named")
PROVEN = (*SOUND, "ready", "fixtures_passed")


def _block(source: FrozenState) -> Move:
    return Move(
        source=source,
        target=S.BLOCKED,
        verb="block",
        authority=Authority.OPERATOR,
        needs=("reason",),
        pins="the reason, until it is lifted",
    )


def _archive(source: FrozenState, *, verb: str = "archive") -> Move:
    caller = verb == "withdraw"
    return Move(
        source=source,
        target=S.ARCHIVED,
        verb=verb,
        authority=Authority.CALLER if caller else Authority.OPERATOR,
        needs=("reason",),
        pins="everything: the state is final",
    )


MOVES: tuple[Move, ...] = (
    Move(
        source=S.PROPOSED,
        target=S.CANDIDATE,
        verb="promote",
        authority=Authority.CALLER,
        needs=SOUND,
        pins="nothing yet; an update goes back to proposed",
    ),
    Move(
        source=S.CANDIDATE,
        target=S.VALIDATED,
        verb="validate",
        authority=Authority.OPERATOR,
        needs=PROVEN,
        pins="the validation to the digest of definition and artifact",
    ),
    Move(
        source=S.VALIDATED,
        target=S.FROZEN,
        verb="promote",
        authority=Authority.CALLER,
        approval=True,
        needs=PROVEN,
        pins="the definition and the artifact, by digest, for good",
    ),
    Move(
        source=S.FROZEN,
        target=S.ACTIVE,
        verb="promote",
        authority=Authority.CALLER,
        approval=True,
        needs=PROVEN,
        pins="the one active version of its name; the one before becomes deprecated",
    ),
    Move(
        source=S.ACTIVE,
        target=S.DEPRECATED,
        verb="deprecate",
        authority=Authority.OPERATOR,
        needs=("reason",),
        pins="the notice that each run carries",
    ),
    Move(
        source=S.BLOCKED,
        target=S.VALIDATED,
        verb="unblock",
        authority=Authority.OPERATOR,
        approval=True,
        needs=PROVEN,
        pins="a validation that is younger than the block",
    ),
    *(_block(state) for state in S if state not in (S.BLOCKED, S.ARCHIVED)),
    *(
        _archive(state)
        for state in (S.PROPOSED, S.CANDIDATE, S.VALIDATED, S.FROZEN, S.DEPRECATED, S.BLOCKED)
    ),
    _archive(S.PROPOSED, verb="withdraw"),
    _archive(S.CANDIDATE, verb="withdraw"),
    _archive(S.VALIDATED, verb="withdraw"),
)


def find(source: FrozenState, verb: str, target: FrozenState | None = None) -> Move:
    """Return the move that a verb makes from a state.

    Args:
        source: The state that the tool is in.
        verb: An operation's verb.
        target: Where to, where the caller says so.

    Raises:
        Refused: ``move_not_allowed``, with the moves that there are.
    """
    for move in MOVES:
        if (move.source, move.verb) == (source, verb) and target in (None, move.target):
            return move
    there = sorted({f"{move.verb} to {move.target}" for move in MOVES if move.source is source})
    wanted = verb if target is None else f"{verb} to {target}"
    text = f"from {source} there is no {wanted}; there is " + (", ".join(there) or "no move at all")
    raise Refused(failure("move_not_allowed", text, state=source.value, allowed=there))
