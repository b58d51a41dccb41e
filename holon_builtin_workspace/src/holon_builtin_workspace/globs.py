r"""Globs: their syntax, what they match, and a looser form that ripgrep can look for itself.

``*`` is any run of characters in one name, ``?`` one character, ``[ab]`` ``[!ab]`` ``[a-z]`` one
of some, ``{a,b}`` one of several texts, ``**`` any number of folders, ``\`` takes the next
character as it is. A glob without ``/`` is about names in any folder; one with ``/``, or beginning
with it, starts at the searched folder. Case counts. Matching takes time linear in the path.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from holon_builtin_workspace.refusals import refuse

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MAX_ALTERNATIVES = 64
_STAR = "*"
_SAFE = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-")
_Token = tuple[str, str]


class Glob:
    """A glob, checked and ready to match."""

    def __init__(self, text: str) -> None:
        """Read a glob.

        Raises:
            Refused: ``invalid_glob``, saying what is wrong.
        """
        self.text = text
        alternatives = [_components(tokens) for tokens in _expanded(_tokens(text))]
        self._last = [components[-1] for components in alternatives]
        self._patterns = [list(map(_compiled, components)) for components in alternatives]

    def matches(self, path: bytes) -> bool:
        """Tell whether a path below the searched folder matches."""
        names = path.decode("utf-8", "surrogateescape").split("/")
        return any(_fits(pattern, names) for pattern in self._patterns)

    def name_globs(self, *, hidden: bool) -> list[str]:
        """Return simple globs that together match at least the names that this one can.

        Args:
            hidden: Whether names that begin with a dot are looked for.

        Returns:
            Globs of plain characters, ``*`` and ``[!.]``; none where every name is possible.
        """
        found: list[str] = []
        for tokens in self._last:
            loose = "" if tokens is None else _loose(tokens)
            if loose in ("", _STAR):
                return []
            if hidden or not loose.startswith(_STAR):
                found.append(loose)
                continue
            # ripgrep takes a name of the asked type though it is hidden.
            found.append(f"[!.]{loose}")
            if not loose[1:].startswith("."):
                found.append(loose[1:])
        return sorted(set(found))


def _tokens(text: str) -> list[_Token]:
    """Read the characters: ``any`` is ``*``, ``one`` is ``?``, ``set`` brackets."""
    found: list[_Token] = []
    depth = place = 0
    while place < len(text):
        character = text[place]
        place += 1
        if character == "\\":
            if place == len(text):
                raise refuse("invalid_glob", "the glob ends with a backslash")
            found.append(("literal", text[place]))
            place += 1
        elif character == "[":
            token, place = _set(text, place)
            found.append(token)
        elif character in "{}" or (character == "," and depth):
            depth += {"{": 1, "}": -1}.get(character, 0)
            if depth < 0:
                raise refuse("invalid_glob", "a } closes nothing; write \\} for the character")
            found.append((character, character))
        else:
            kind = {"*": "any", "?": "one", "/": "/"}.get(character, "literal")
            found.append((kind, character))
    if depth:
        raise refuse("invalid_glob", "a { is not closed; write \\{ for the character")
    return found


def _set(text: str, start: int) -> tuple[_Token, int]:
    negated = text[start : start + 1] in ("!", "^")
    first = start + negated
    # A ] directly after the opening is one of the characters.
    end = text.find("]", first + 1)
    if end < 0:
        raise refuse("invalid_glob", "a [ is not closed; write \\[ for the character")
    body = text[first:end]
    if "/" in body:
        raise refuse("invalid_glob", "a / cannot stand in brackets")
    parts, place = [], 0
    while place < len(body):
        if body[place + 1 : place + 2] == "-" and place + 2 < len(body):
            low, high = body[place], body[place + 2]
            if low > high:
                raise refuse("invalid_glob", f"the range {low}-{high} is empty")
            parts.append(f"{re.escape(low)}-{re.escape(high)}")
            place += 3
        else:
            parts.append(re.escape(body[place]))
            place += 1
    return ("set", f"[{'^' if negated else ''}{''.join(parts)}]"), end + 1


def _expanded(tokens: Sequence[_Token]) -> list[list[_Token]]:
    """Write out the alternatives in braces."""
    done: list[list[_Token]] = []
    pending = [list(tokens)]
    while pending:
        current = pending.pop()
        opening = next((at for at, token in enumerate(current) if token[0] == "{"), None)
        if opening is None:
            done.append(current)
        else:
            head = current[:opening]
            choices, tail = _choices(current[opening + 1 :])
            pending += [head + choice + tail for choice in choices]
        if len(done) + len(pending) > MAX_ALTERNATIVES:
            raise refuse("invalid_glob", f"more than {MAX_ALTERNATIVES} alternatives in braces")
    return done


def _choices(tokens: list[_Token]) -> tuple[list[list[_Token]], list[_Token]]:
    choices: list[list[_Token]] = [[]]
    depth = 0
    for at, token in enumerate(tokens):
        if token[0] == "}" and depth == 0:
            return choices, tokens[at + 1 :]
        if token[0] == "," and depth == 0:
            choices.append([])
            continue
        depth += {"{": 1, "}": -1}.get(token[0], 0)
        choices[-1].append(token)
    raise AssertionError("braces are balanced")


def _components(tokens: list[_Token]) -> list[list[_Token] | None]:
    """Split at slashes; ``None`` stands for ``**``."""
    parts: list[list[_Token]] = [[]]
    for token in tokens:
        if token[0] == "/":
            parts.append([])
        else:
            parts[-1].append(token)
    names = ["".join(text for _, text in part) for part in parts]
    if names[-1] in ("", "."):
        raise refuse("invalid_glob", "the glob names a folder or nothing; end it with a name or **")
    if ".." in names:
        raise refuse("invalid_glob", "a glob cannot go upwards; name the folder as path")
    found: list[list[_Token] | None] = [None] if len(parts) == 1 else []
    for part, name in zip(parts, names, strict=True):
        if name not in ("", "."):
            found.append(None if [kind for kind, _ in part] == ["any", "any"] else part)
    # Folders alone are never listed: after the last of them comes a name.
    return found if found[-1:] != [None] else [*found, [("any", _STAR)]]


def _compiled(tokens: list[_Token] | None) -> re.Pattern[str] | None:
    """Make the pattern of one name; each run before a ``*`` is found once and never given up."""
    if tokens is None:
        return None
    chunks = list(_chunks(tokens))
    first, *middle = chunks
    if not middle:
        return re.compile(first, re.DOTALL)
    last = middle.pop()
    found = [
        f"(?=(?P<g{number}>.*?{chunk}))(?P=g{number})"
        for number, chunk in enumerate(filter(None, middle))
    ]
    return re.compile(f"{first}{''.join(found)}.*{last}", re.DOTALL)


def _chunks(tokens: list[_Token]) -> Iterator[str]:
    chunk = ""
    for kind, text in tokens:
        if kind == "any":
            yield chunk
            chunk = ""
        else:
            chunk += {"one": ".", "set": text}.get(kind, re.escape(text))
    yield chunk


def _loose(tokens: list[_Token]) -> str:
    parts = [text if kind == "literal" and text in _SAFE else _STAR for kind, text in tokens]
    return re.sub(r"\*+", _STAR, "".join(parts))


def _fits(pattern: list[re.Pattern[str] | None], names: list[str]) -> bool:
    """Follow all ways through the pattern at once."""
    if len(pattern) == 2 and pattern[0] is None and pattern[1] is not None:
        # By far the most frequent form: a name in any folder.
        return pattern[1].fullmatch(names[-1]) is not None
    states = _closed({0}, pattern)
    for name in names:
        following: set[int] = set()
        for state in states:
            if state == len(pattern):
                continue
            part = pattern[state]
            if part is None:
                following.add(state)
            elif part.fullmatch(name):
                following.add(state + 1)
        states = _closed(following, pattern)
        if not states:
            return False
    return len(pattern) in states


def _closed(states: set[int], pattern: list[re.Pattern[str] | None]) -> set[int]:
    for state in sorted(states):
        at = state
        while at < len(pattern) and pattern[at] is None:
            at += 1
            states.add(at)
    return states
