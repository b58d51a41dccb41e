"""Front matter of Markdown files, strictly: what cannot be read refuses its part, and says where.

Every scalar is a text, as it is written: no word becomes a date, a number or a truth value.
"""

from __future__ import annotations

from typing import Any

MAX_BYTES = 64 * 1024
MAX_DEPTH = 8
# An alias stands for its anchor again and again: few bytes may be many values.
MAX_VALUES = 5000


class FrontMatterRefused(ValueError):
    """Front matter that cannot be read; the text says what and where."""


def front_matter(text: str) -> tuple[dict[str, Any] | None, str]:
    """Split a file into its front matter and its body.

    Returns:
        The members, ``None`` where there is no front matter; and the rest.

    Raises:
        FrontMatterRefused: It is not closed, no YAML, too large, or no mapping; with line and
            column.
    """
    lines = text.splitlines(keepends=True)
    if not lines or lines[0].rstrip() != "---":
        return None, text
    end = next((at for at, line in enumerate(lines[1:], 1) if line.rstrip() == "---"), 0)
    if not end:
        raise FrontMatterRefused("the front matter is not closed by ---")
    given = "".join(lines[1:end])
    return yaml_mapping(given, first_line=2), "".join(lines[end + 1 :])


def yaml_mapping(text: str, *, first_line: int = 1) -> dict[str, Any]:
    """Read a YAML mapping.

    Raises:
        FrontMatterRefused: It is none.
    """
    import yaml

    if len(text.encode(errors="replace")) > MAX_BYTES:
        raise FrontMatterRefused(f"it has more than {MAX_BYTES} bytes")
    try:
        made = _read(text)
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


def _read(text: str) -> Any:
    import yaml

    loader = yaml.BaseLoader(text)
    try:
        node = loader.get_single_node()
        return None if node is None else _plain(node, 0, left=[MAX_VALUES])
    finally:
        loader.dispose()


def _plain(node: Any, depth: int, *, left: list[int]) -> Any:
    import yaml

    left[0] -= 1
    if left[0] < 0:
        raise ValueError(f"more than {MAX_VALUES} values")

    if depth > MAX_DEPTH:
        raise ValueError(f"more than {MAX_DEPTH} levels")
    if isinstance(node, yaml.ScalarNode):
        return node.value
    if isinstance(node, yaml.SequenceNode):
        return [_plain(each, depth + 1, left=left) for each in node.value]
    made: dict[str, Any] = {}
    for key, value in node.value:
        name = _plain(key, depth + 1, left=left)
        if not isinstance(name, str) or name in made:
            problem = "a key is no text" if not isinstance(name, str) else f"{name!r:.80} is twice"
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=key.start_mark)
        made[name] = _plain(value, depth + 1, left=left)
    return made
