"""The policy floor on Rust code: what a source may not say, by its tokens."""

from __future__ import annotations

import posixpath
import unicodedata
from collections.abc import Iterator, Mapping

from holon_rust_tools.findings import RustFinding
from holon_rust_tools.tokens import Parsed, Token, parsed

INCLUDES = frozenset({"include", "include_str", "include_bytes"})
ENVIRONMENT = frozenset({"env", "option_env"})
# What cargo itself sets for each package, and says nothing of the host.
_CARGO = ("CARGO_PKG_", "CARGO_CRATE_NAME", "CARGO_BIN_NAME")
_ATTRIBUTES = frozenset(
    {"no_mangle", "export_name", "link_section", "link_name", "link_args", "naked", "ffi_const"}
)
_ASSEMBLY = frozenset({"asm", "global_asm", "naked_asm", "llvm_asm"})
_PROC_MACROS = frozenset({"proc_macro", "proc_macro_derive", "proc_macro_attribute"})
# What a macro of the package can put into an attribute, wherever in a call of it it stands;
# naked is an ordinary word, and a function of it needs naked_asm.
_FOR_ATTRIBUTES = (_ATTRIBUTES - {"naked"}) | _PROC_MACROS | {"unsafe_code"}
_IN_ATTRIBUTES = _ATTRIBUTES | _PROC_MACROS | {"link", "unsafe_code", "path"}
_OPEN = frozenset("([{")


def source_findings(files: Mapping[str, bytes]) -> Iterator[RustFinding]:
    """Judge all Rust sources of a proposal.

    Args:
        files: By path; those that end in ``.rs`` are read.
    """
    sources = {path: parsed(body) for path, body in files.items() if path.endswith(".rs")}
    macros = any(
        _name(token.text).startswith("macro_rules")
        for each in sources.values()
        for token in each.tokens
    )
    for path, source in sources.items():
        if source.broken_line:
            told = "it does not parse, so that nothing can be said of it"
            yield RustFinding(rule="rust_syntax", message=told, file=path, line=source.broken_line)
        yield from _Judge(path, source, frozenset(files), macros=macros).findings()


class _Judge:
    """Judges one file.

    Args:
        path: Of the file.
        source: Its tokens.
        files: Paths of all files of the proposal.
        macros: Whether any file defines macros, which can put tokens together.
    """

    def __init__(self, path: str, source: Parsed, files: frozenset[str], *, macros: bool) -> None:
        self._path, self._tokens = path, source.tokens
        self._files, self._macros = files, macros
        self._inline: list[tuple[str, int]] = []
        self._depth = 0

    def findings(self) -> Iterator[RustFinding]:
        """Name everything, in the order of the text."""
        for place, token in enumerate(self._tokens):
            self._follow(place, token)
            for rule, told in self._judged(place, token):
                yield RustFinding(rule=rule, message=told, file=self._path, line=token.line)

    def _at(self, place: int) -> str:
        return self._tokens[place].text if 0 <= place < len(self._tokens) else ""

    def _follow(self, place: int, token: Token) -> None:
        """Keep count of the inline modules that stand around a token."""
        if token.text == "{":
            self._depth += 1
            if self._at(place - 2) == "mod" and not token.in_macro:
                self._inline.append((self._at(place - 1), self._depth))
        elif token.text == "}":
            if self._inline and self._inline[-1][1] == self._depth:
                self._inline.pop()
            self._depth -= 1

    def _judged(self, place: int, token: Token) -> Iterator[tuple[str, str]]:
        text = _name(token.text)
        if token.text == "unsafe" and not self._is_lifetime(place):
            yield "rust_unsafe", "unsafe code"
        elif token.text == "extern" and self._at(place + 1) != "crate":
            yield "rust_unsafe", "a foreign function interface (extern)"
        elif text in _ASSEMBLY and (self._at(place + 1) == "!" or self._imported(token)):
            yield "rust_unsafe", "inline assembly"
        elif text in INCLUDES:
            yield from self._include(place, token)
        elif text in ENVIRONMENT:
            yield from self._environment(place, token)
        elif token.text == "mod":
            yield from self._module(place, token)
        elif text == "!" and self._is_parameter(place - 1):
            yield "rust_external_input", "a macro that is named by a macro's parameter"
        elif text in _IN_ATTRIBUTES and (self._in_attribute(place) or self._passed(token, text)):
            yield from self._attribute(place, text)

    def _passed(self, token: Token, text: str) -> bool:
        """Tell whether a word may become an attribute: ``#[$m]`` with what a macro is given."""
        return token.in_macro and self._macros and text in _FOR_ATTRIBUTES

    def _attribute(self, place: int, text: str) -> Iterator[tuple[str, str]]:
        """Judge a word that means something in an attribute."""
        after = self._at(place + 1)
        if text in _ATTRIBUTES or (text == "link" and after in ("(", "=")):
            yield "rust_unsafe", f"the linker attribute {text}"
        elif text == "unsafe_code" and self._lint_level(place) not in ("forbid", "deny"):
            yield "rust_unsafe", "an attribute that allows unsafe code"
        elif text in _PROC_MACROS:
            yield "rust_build_script", "a procedural macro of the package's own"
        elif text == "path" and after == "=":
            yield from self._path_attribute(place)

    def _is_lifetime(self, place: int) -> bool:
        before = self._tokens[place - 1] if place else None
        return before is not None and before.text == "'" and before.end == self._tokens[place].start

    def _is_parameter(self, place: int) -> bool:
        """Tell whether a token is a macro's parameter; ``!=`` is a token of its own."""
        if place < 0:
            return False
        token = self._tokens[place]
        return token.text.startswith("$") and len(token.text) > 1 and token.in_macro

    def _imported(self, token: Token) -> bool:
        return token.parent in ("use_declaration", "use_list", "use_as_clause", "scoped_identifier")

    def _in_attribute(self, place: int) -> bool:
        """Tell whether a token stands in the brackets of an attribute."""
        depth = 0
        for at in range(place - 1, max(-1, place - 200), -1):
            text = self._at(at)
            if text in ("]", ")", "}"):
                depth += 1
            elif text in _OPEN and depth:
                depth -= 1
            elif text == "[":
                return self._at(at - 1) == "#" or (
                    self._at(at - 1) == "!" and self._at(at - 2) == "#"
                )
            elif text in (";", "{"):
                return False
        return False

    def _lint_level(self, place: int) -> str:
        for at in range(place - 1, max(-1, place - 200), -1):
            if self._at(at) == "(":
                return self._at(at - 1)
        return ""

    def _argument(self, place: int) -> str | None:
        """Return the one plain literal that a macro is called with; ``None`` for all else."""
        if self._at(place + 1) != "!" or self._at(place + 2) not in _OPEN:
            return None
        at = place + 3
        value = self._tokens[at].value if at < len(self._tokens) else None
        closes = self._at(at + 1) in (")", "]", "}")
        trailing = self._at(at + 1) == "," and self._at(at + 2) in (")", "]", "}")
        return value if closes or trailing else None

    def _include(self, place: int, token: Token) -> Iterator[tuple[str, str]]:
        name = _name(token.text)
        called = self._at(place + 1) == "!"
        if not called:
            if name == "include" and not self._imported(token) and not token.in_macro:
                return
            if name == "include" and token.in_macro and not self._macros:
                return
            yield "rust_external_input", f"{name} under another name, or put together"
            return
        argument = self._argument(place)
        if argument is None:
            yield "rust_external_input", f"{name}! of something that is no plain literal"
            return
        target = self._beside(argument)
        if target not in self._files:
            told = f"{name}! of {argument!r:.80}, which is no file of the proposal"
            yield "rust_external_input", told
        elif name == "include" and not target.endswith(".rs"):
            yield "rust_external_input", f"include! of {argument!r:.80}, which is no .rs file"

    def _environment(self, place: int, token: Token) -> Iterator[tuple[str, str]]:
        word = _name(token.text)
        after = self._at(place + 1)
        if after != "!":
            if after == "as" or word == "option_env":
                yield "rust_external_input", f"{word} under another name"
            elif token.in_macro and self._macros and after != "::" and word == "env":
                yield "rust_external_input", "env in a macro where macros are defined"
            return
        if self._at(place + 2) not in _OPEN:
            yield "rust_external_input", f"{word}! in pieces"
            return
        at = place + 3
        name = self._tokens[at].value if at < len(self._tokens) else None
        if name is None or not name.startswith(_CARGO):
            told = "something computed" if name is None else name[:80]
            yield "rust_external_input", f"{word}! of {told}: only CARGO_PKG_* and the like"

    def _module(self, place: int, token: Token) -> Iterator[tuple[str, str]]:
        name, after = self._at(place + 1), self._at(place + 2)
        if token.in_macro:
            if after != "{":
                yield "rust_external_input", "a module in a file of its own, inside a macro"
            return
        if after != ";" or self._has_path(place):
            return
        name = name.removeprefix("r#")
        inside = "/".join(module for module, _ in self._inline)
        folder, stem = posixpath.split(self._path.removesuffix(".rs"))
        places = {
            posixpath.normpath(posixpath.join(base, inside, tail))
            for base in (folder, posixpath.join(folder, stem))
            for tail in (f"{name}.rs", f"{name}/mod.rs")
        }
        if not places & self._files:
            yield "rust_external_input", f"the module {name:.80} has no file in the proposal"

    def _has_path(self, place: int) -> bool:
        """Tell whether a module has a path attribute: judged where that stands."""
        at = place - 1
        while at >= 0 and self._at(at) in ("pub", "(", ")", "crate", "super", "self", "in"):
            at -= 1
        while self._at(at) == "]":
            start = at
            depth = 0
            while start >= 0:
                depth += {"]": 1, "[": -1}.get(self._at(start), 0)
                if depth == 0:
                    break
                start -= 1
            if any(self._at(each) == "path" for each in range(start, at)):
                return True
            at = start - 2
        return False

    def _path_attribute(self, place: int) -> Iterator[tuple[str, str]]:
        at = place + 2
        value = self._tokens[at].value if at < len(self._tokens) else None
        if value is None:
            yield "rust_external_input", "a module's path that is no plain literal"
            return
        target = self._beside(value)
        if target not in self._files or not target.endswith(".rs"):
            told = f"a module's path {value!r:.80}, which is no .rs file of the proposal"
            yield "rust_external_input", told

    def _beside(self, name: str) -> str:
        """Return what a relative path names beside this file; ``""`` for a rooted one."""
        if name.startswith("/") or "\\" in name or ":" in name or "\0" in name:
            return ""
        return posixpath.normpath(posixpath.join(posixpath.dirname(self._path), name))


def _name(text: str) -> str:
    """Return an identifier as the compiler compares it: raw ones by their name, in NFC."""
    plain = text if text.isascii() else unicodedata.normalize("NFC", text)
    return plain.removeprefix("r#")
