"""Rust source as tokens: the leaves of its syntax tree, without comments and insides of strings."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from attrs import frozen

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

_WHOLE = frozenset(
    {"string_literal", "raw_string_literal", "char_literal", "line_comment", "block_comment"}
)
_COMMENTS = frozenset({"line_comment", "block_comment", "shebang"})
_IN_MACRO = frozenset(
    {
        "token_tree",
        "token_repetition",
        "token_tree_pattern",
        "token_repetition_pattern",
        "token_binding_pattern",
    }
)
MAX_CACHED = 256


@frozen
class Token:
    """One token.

    ``text`` is as it is written, whole for a literal; ``value`` what a plain string literal
    holds, ``None`` for everything else. ``parent`` is the kind of the node around it,
    ``in_macro`` whether that is the body or an argument of a macro, or of an attribute.
    ``depth`` counts inline modules around it. ``start`` and ``end`` are byte offsets.
    """

    text: str
    value: str | None
    parent: str
    in_macro: bool
    line: int
    start: int
    end: int


@frozen
class Parsed:
    """A source file: its tokens, and the line of the first place that does not parse."""

    tokens: tuple[Token, ...]
    broken_line: int = 0


@cache
def _parser() -> Parser:
    import tree_sitter_rust
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_rust.language()))


@lru_cache(maxsize=MAX_CACHED)
def parsed(body: bytes) -> Parsed:
    """Parse a source file."""
    root = _parser().parse(body).root_node
    broken = _first_error(root) if root.has_error else 0
    return Parsed(tuple(_tokens(root, body)), broken)


def _first_error(root: Node) -> int:
    stack = [root]
    first = 0
    while stack:
        node = stack.pop()
        if node.is_error or node.is_missing:
            line = node.start_point[0] + 1
            first = min(first, line) if first else line
        elif node.has_error:
            stack.extend(node.children)
    return first or 1


def _tokens(root: Node, body: bytes) -> Iterator[Token]:
    cursor = root.walk()
    while True:
        node: Any = cursor.node
        if node.type in _WHOLE or node.child_count == 0:
            if node.type not in _COMMENTS and node.end_byte > node.start_byte:
                yield _token(node, body)
            down = False
        else:
            down = cursor.goto_first_child()
        if down:
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return


def _token(node: Any, body: bytes) -> Token:
    text = body[node.start_byte : node.end_byte].decode("utf-8", "replace")
    parent = "" if node.parent is None else node.parent.type
    return Token(
        text=text,
        value=_value(node.type, text),
        parent=parent,
        in_macro=parent in _IN_MACRO,
        line=node.start_point[0] + 1,
        start=node.start_byte,
        end=node.end_byte,
    )


def _value(kind: str, text: str) -> str | None:
    """Return what a plain string holds; of one with escapes nothing is claimed."""
    if kind == "string_literal" and text.startswith('"') and "\\" not in text:
        return text[1:-1]
    if kind == "raw_string_literal" and text.startswith("r"):
        return text[1:].strip("#")[1:-1]
    return None
