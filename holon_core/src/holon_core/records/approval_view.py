"""What a person is shown who decides about a held call: facts first, other people's text apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import asdict, field, frozen

from holon_core.records.base import Record
from holon_core.records.words import Word


class FlagCode(Word):
    """Why a text deserves a second look."""

    INVISIBLE = "invisible"
    BIDIRECTIONAL = "bidirectional"
    CONTROL = "control"
    LOOK_ALIKE = "look_alike"
    MIXED_SCRIPT = "mixed_script"
    TAG_CHARACTER = "tag_character"
    COMPOSITION = "composition"
    VERY_LONG = "very_long"


@frozen(kw_only=True, eq=False, repr=False)
class ViewFlag(Record):
    """One text that is not what it seems to be.

    ``path`` is a JSON pointer into the held call, as ``/arguments/path``; ``shown`` is the place
    with each such character written as ⟨U+202E⟩.
    """

    path: str
    code: FlagCode
    message: str
    shown: str = ""


@frozen(kw_only=True, eq=False, repr=False)
class ViewChange(Record):
    """One difference from the last approved arguments.

    ``change`` is ``added``, ``removed`` or ``changed``; ``before`` and ``after`` are JSON text,
    cut around the difference where they are long. ``path`` is as in ``ViewFlag``.
    """

    path: str
    change: str
    before: str | None = None
    after: str | None = None


@frozen(kw_only=True, eq=False, repr=False)
class ShownText(Record):
    """JSON as indented text, marked secrets masked, invisible characters written out.

    ``total_bytes`` and ``sha256`` (hex) speak of its canonical form after masking; ``cut`` says
    that ``text`` is only the head and the tail of it.
    """

    text: str
    total_bytes: int
    sha256: str
    cut: bool = False


@frozen(kw_only=True, eq=False, repr=False)
class ApprovalView(Record):
    """A held call as its approver sees it. Every text in it is safe to print as it is.

    ``facts`` are what Holon itself states; ``request`` is the lane's dry run of the call;
    ``payload`` is exactly what runs. ``compared`` says whether there were earlier approved
    arguments; ``difference`` is what differs from them, ``more_changes`` and ``more_flags``
    count what is left away. ``untrusted`` is what tool, lane or model say of themselves.
    """

    call_id: str
    approval_id: str
    facts: Mapping[str, Any]
    request: ShownText | None
    payload: ShownText
    compared: bool
    difference: tuple[ViewChange, ...] = ()
    more_changes: int = 0
    flags: tuple[ViewFlag, ...] = ()
    more_flags: int = 0
    untrusted: Mapping[str, str] = field(factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the same as plain JSON."""
        return _plain(asdict(self))  # type: ignore[no-any-return]

    def _repr_html_(self) -> str:
        from holon_core.render import held_html

        return held_html(self)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, str) else value
