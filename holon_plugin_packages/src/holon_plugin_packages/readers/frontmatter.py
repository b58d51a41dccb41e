"""Front matter of Markdown files, strictly: what cannot be read refuses its part, and says where.

Every scalar is a text, as it is written: no word becomes a date, a number or a truth value.
"""

from __future__ import annotations

from typing import Any

from attrs import field, frozen

MAX_BYTES = 64 * 1024
MAX_DEPTH = 8
# An alias stands for its anchor again and again: few bytes may be many values.
MAX_VALUES = 5000


class FrontMatterRefused(ValueError):
    """Front matter that cannot be read; the text says what and where."""


@frozen(kw_only=True)
class FrontMatter:
    """A file in its two parts: the members of its front matter, ``None`` without one; and the rest.

    ``typed`` are the places of values that YAML itself takes for something else than a text.
    """

    members: dict[str, Any] | None
    body: str
    typed: tuple[str, ...] = ()


@frozen
class _Reader:
    """Makes plain values of nodes; bounded, and noting which are no texts by YAML's own rules."""

    left: list[int] = field(factory=lambda: [MAX_VALUES])
    typed: list[str] = field(factory=list)


def front_matter(text: str) -> FrontMatter:
    """Split a file into its front matter and its body.

    Raises:
        FrontMatterRefused: It is not closed, no YAML, too large, or no mapping; with line and
            column. Or it begins anywhere but on the first line, where some would not see it.
    """
    lines = text.splitlines(keepends=True)
    if not lines or lines[0].rstrip() != "---":
        if text.lstrip().startswith("---"):
            raise FrontMatterRefused("the front matter does not begin with --- on the first line")
        return FrontMatter(members=None, body=text)
    end = next((at for at, line in enumerate(lines[1:], 1) if line.rstrip() == "---"), 0)
    if not end:
        raise FrontMatterRefused("the front matter is not closed by ---")
    reader = _Reader()
    members = yaml_mapping("".join(lines[1:end]), first_line=2, reader=reader)
    body = "".join(lines[end + 1 :])
    return FrontMatter(members=members, body=body, typed=tuple(reader.typed))


def yaml_mapping(
    text: str, *, first_line: int = 1, reader: _Reader | None = None
) -> dict[str, Any]:
    """Read a YAML mapping.

    Raises:
        FrontMatterRefused: It is none.
    """
    import yaml

    if len(text.encode(errors="replace")) > MAX_BYTES:
        raise FrontMatterRefused(f"it has more than {MAX_BYTES} bytes")
    try:
        made = _read(text, reader or _Reader())
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = (
            "" if mark is None else f" at line {mark.line + first_line}, column {mark.column + 1}"
        )
        raise FrontMatterRefused(f"it is no YAML: {error.problem}{where}") from None
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise FrontMatterRefused(f"it is no YAML: {str(error)[:200]}") from None
    if not isinstance(made, dict):
        raise FrontMatterRefused("it is no mapping")
    return made


def _read(text: str, reader: _Reader) -> Any:
    import yaml

    loader = yaml.BaseLoader(text)
    try:
        node = loader.get_single_node()
        return None if node is None else _plain(node, "", reader)
    finally:
        loader.dispose()


def _plain(node: Any, path: str, reader: _Reader) -> Any:
    import yaml

    reader.left[0] -= 1
    if reader.left[0] < 0:
        raise ValueError(f"more than {MAX_VALUES} values")

    if path.count("/") > MAX_DEPTH:
        raise ValueError(f"more than {MAX_DEPTH} levels")
    if isinstance(node, yaml.ScalarNode):
        if node.style is None and _kind(node.value) != "str":
            reader.typed.append(path)
        return node.value
    if isinstance(node, yaml.SequenceNode):
        return [_plain(each, f"{path}/{at}", reader) for at, each in enumerate(node.value)]
    made: dict[str, Any] = {}
    for key, value in node.value:
        name = key.value if isinstance(key, yaml.ScalarNode) else None
        problem = "a key is no text" if name is None else ""
        if name in made:
            problem = f"{name!r:.80} is twice"
        elif name == "<<":
            # What it merges in might be a restriction of tools.
            problem = "merging keys are not read"
        if name is None or problem:
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=key.start_mark)
        made[name] = _plain(value, f"{path}/{name.replace('/', '~1')}", reader)
    return made


def _kind(value: str) -> str:
    """Return what YAML takes a plain scalar for: a text, a number, a truth value, a date, null."""
    import yaml

    for tag, pattern in yaml.SafeLoader.yaml_implicit_resolvers.get(value[:1], ()):
        if pattern.match(value):
            return str(tag).rpartition(":")[2]
    return "str"
