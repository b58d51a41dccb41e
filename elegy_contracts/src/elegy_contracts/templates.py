"""Argument templates: from a definition's list and a caller's values to an argument vector.

No shell is involved: each argument is one item. What is kept, paired, repeated or dropped:

* ``${name}`` alone is the value's text, an array one argument an item; nothing where missing.
* An option (it begins with ``-``) and the ``${name}`` after it go together: both are dropped
  where the value is missing; true is the option alone, false neither; an array repeats both.
* ``${name}`` inside a longer argument is substituted; an array repeats the argument, and it is
  dropped where a value is missing.
* Everything else is kept as it is.

Source: docs/elegy.md, "Argument templates".
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attrs import frozen

from elegy_contracts.finding import ContractError, Finding, pointer

PLACEHOLDER = re.compile(r"\$\{([^${}]+)\}")
MAX_ARGUMENT_BYTES = 128 * 1024
MAX_VECTOR_BYTES = 1024 * 1024
MAX_ARGUMENTS = 4096
STDIN = "stdin"
# The one value that begins with a dash and is no option: by custom it is standard input.
DASH = "-"


@frozen(kw_only=True)
class Invocation:
    """One invocation as data: what would be started, and what it would read.

    ``arguments`` come after the program. ``stdin`` is ``None`` where standard input is closed.
    ``used`` are the names whose values took part.
    """

    executable: str
    arguments: tuple[str, ...]
    stdin: bytes | None = None
    used: frozenset[str] = frozenset()


class TemplateError(ContractError):
    """Values that cannot be put into a template; the path is into the values."""


def names_in(arguments: Sequence[str]) -> tuple[str, ...]:
    """Return the names of all placeholders of a template, each once, in order."""
    found = [name for each in arguments for name in PLACEHOLDER.findall(each)]
    return tuple(dict.fromkeys(found))


def render(
    executable: str,
    arguments: Sequence[str],
    values: Mapping[str, Any],
    *,
    stdin_format: str | None = None,
    dash_names: Sequence[str] = (),
) -> Invocation:
    """Put values into a template.

    Args:
        executable: The program; never a template.
        arguments: The template.
        values: JSON values by name; ``None`` is as good as missing. Defaults are not filled in.
        stdin_format: ``json`` or ``text`` where the value ``stdin`` goes to standard input.
        dash_names: Names whose value may be a lone ``-``.

    Returns:
        The invocation.

    Raises:
        TemplateError: A value would be read as an option, holds NUL, is too large, or two
            arrays meet in one argument.

    Source: docs/elegy.md, "Argument templates".
    """
    filling = _Filling(values, frozenset(dash_names))
    made = tuple(filling.vector(list(arguments)))
    size = sum(len(each.encode()) + 1 for each in made)
    if len(made) > MAX_ARGUMENTS or size > MAX_VECTOR_BYTES:
        text = f"the arguments have more than {MAX_ARGUMENTS} items or {MAX_VECTOR_BYTES} bytes"
        raise _error("", text)
    stdin = None
    if stdin_format is not None and values.get(STDIN) is not None:
        stdin = _stdin(values[STDIN], stdin_format)
        filling.used.add(STDIN)
    return Invocation(
        executable=executable, arguments=made, stdin=stdin, used=frozenset(filling.used)
    )


def _stdin(value: Any, form: str) -> bytes:
    if isinstance(value, str):
        return value.encode()
    if form != "json":
        raise _error(pointer(STDIN), "standard input takes a text")
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


class _Filling:
    def __init__(self, values: Mapping[str, Any], dash_names: frozenset[str]) -> None:
        self._values = {name: value for name, value in values.items() if value is not None}
        folded: dict[str, list[str]] = {}
        for name in self._values:
            folded.setdefault(name.casefold(), []).append(name)
        # Contracts compare names ignoring case; where two differ by nothing else, exactly.
        self._folded = {fold: names[0] for fold, names in folded.items() if len(names) == 1}
        self._dash_names = dash_names
        self._literal = False
        self.used: set[str] = set()

    def _name(self, name: str) -> str | None:
        if name in self._values:
            return name
        return self._folded.get(name.casefold())

    def vector(self, template: list[str]) -> Iterator[str]:
        """Yield the arguments of a whole template."""
        position = 0
        while position < len(template):
            item = template[position]
            following = template[position + 1] if position + 1 < len(template) else ""
            pair = PLACEHOLDER.fullmatch(following)
            if item.startswith("-") and item != "--" and not PLACEHOLDER.search(item) and pair:
                yield from self._option(item, pair.group(1))
                position += 2
                continue
            if item == "--":
                # What follows is no option to the program, whatever it begins with.
                self._literal = True
            yield from self._argument(item)
            position += 1

    def _option(self, option: str, wanted: str) -> Iterator[str]:
        name = self._name(wanted)
        if name is None:
            return
        self.used.add(name)
        value = self._values[name]
        if value is True:
            yield option
        elif value is not False:
            for each, path in _items(value, name):
                yield option
                yield self._alone(each, name, path)

    def _argument(self, item: str) -> Iterator[str]:
        alone = PLACEHOLDER.fullmatch(item)
        if alone:
            name = self._name(alone.group(1))
            if name is not None:
                self.used.add(name)
                for each, path in _items(self._values[name], name):
                    yield self._alone(each, name, path)
        elif PLACEHOLDER.search(item):
            yield from self._embedded(item)
        else:
            yield item

    def _embedded(self, item: str) -> Iterator[str]:
        wanted = PLACEHOLDER.findall(item)
        names = {each: self._name(each) for each in wanted}
        if None in names.values():
            return
        known = {each: str(name) for each, name in names.items()}
        self.used.update(known.values())
        lists = [each for each, name in known.items() if isinstance(self._values[name], list)]
        if len(lists) > 1:
            raise _error(pointer(known[lists[1]]), f"two arrays meet in the argument {item!r:.80}")
        if not lists:
            yield self._filled(item, {e: self._values[name] for e, name in known.items()}, known)
            return
        name = known[lists[0]]
        for each, _ in _items(self._values[name], name):
            values = {e: each if e == lists[0] else self._values[n] for e, n in known.items()}
            yield self._filled(item, values, known)

    def _filled(self, item: str, values: Mapping[str, Any], names: Mapping[str, str]) -> str:
        made = PLACEHOLDER.sub(
            lambda match: _text(values[match.group(1)], pointer(names[match.group(1)])), item
        )
        if made.startswith("-") and not item.startswith("-") and not self._literal:
            first = names[PLACEHOLDER.findall(item)[0]]
            raise _as_option(pointer(first), made)
        return _sized(made, next(iter(names.values())))

    def _alone(self, value: Any, name: str, path: str) -> str:
        made = _text(value, path)
        if made == DASH and name in self._dash_names:
            return made
        if made.startswith("-") and not self._literal:
            raise _as_option(path, made)
        return _sized(made, name)


def _items(value: Any, name: str) -> list[tuple[Any, str]]:
    if isinstance(value, list):
        return [(each, pointer(name, at)) for at, each in enumerate(value) if each is not None]
    return [(value, pointer(name))]


def _text(value: Any, path: str) -> str:
    """Write a value as one argument: texts as they are, everything else as JSON."""
    if isinstance(value, str):
        if "\0" in value:
            raise _error(path, "an argument cannot hold NUL")
        try:
            value.encode()
        except UnicodeEncodeError:
            raise _error(path, "a text holds a lone surrogate") from None
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _sized(text: str, name: str) -> str:
    if len(text.encode()) > MAX_ARGUMENT_BYTES:
        raise _error(pointer(name), f"an argument has more than {MAX_ARGUMENT_BYTES} bytes")
    return text


def _as_option(path: str, made: str) -> TemplateError:
    return _error(
        path,
        f"the value {made[:20]!r} begins with - and would be read as an option; leave that out",
    )


def _error(path: str, message: str) -> TemplateError:
    finding = Finding(code="argument_refused", message=message, path=path)
    return TemplateError("arguments", [finding])
