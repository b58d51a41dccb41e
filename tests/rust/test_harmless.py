"""Sources that speak of unsafe and do nothing of the kind: none of them is refused."""

from __future__ import annotations

import pytest

from holon_rust_tools.source import source_findings

# Items that stand before an empty main function.
ITEMS = [
    "// unsafe",
    "// unsafe { *p }",
    "/// unsafe",
    "//! unsafe",
    "/* unsafe */",
    "/* unsafe /* unsafe fn x() {} */ unsafe */",
    "/** unsafe */",
    "/*! unsafe */",
    '/* " */ const A: u8 = 1; /* unsafe " */',
    '// " \nconst A: u8 = 1; // unsafe "',
    'const A: &str = "unsafe";',
    'const A: &str = "unsafe { *p }";',
    'const A: &str = "\\"unsafe\\"";',
    'const A: &str = "\\\\"; const B: &str = "unsafe";',
    'const A: &str = "a\nunsafe\nb";',
    'const A: &str = "a \\\n unsafe";',
    'const A: &str = r"unsafe";',
    'const A: &str = r"\\"; const B: &str = r"unsafe";',
    'const A: &str = r#"unsafe { "quoted" }"#;',
    'const A: &str = r##"unsafe "# unsafe"##;',
    'const A: &[u8] = b"unsafe";',
    'const A: &[u8] = br"unsafe";',
    'const A: &[u8] = br#"unsafe "x""#;',
    'const A: &std::ffi::CStr = c"unsafe";',
    'const A: &str = "/* unsafe"; const B: &str = "*/";',
    'const A: &str = "// unsafe";',
    'const A: char = \'"\'; const B: &str = "unsafe";',
    "const A: char = '\\''; const B: &str = \"unsafe\";",
    "const A: u8 = b'\"'; // unsafe",
    "fn unsafe_mode() {}",
    "fn is_unsafe() -> bool { false }",
    "fn not_unsafe() {}",
    "struct Unsafe;",
    "struct UnsafeCell;",
    "mod unsafe_things {}",
    "const UNSAFE: u8 = 1;",
    "static UNSAFE_MODE: bool = false;",
    "enum Mode { Unsafe, Safe }",
    "trait Unsafe { fn unsafe_(); }",
    "fn r#unsafe() {}",
    "fn f() { let r#unsafe = 1; let _ = r#unsafe; }",
    "struct A { r#unsafe: u8 }",
    "fn f(unsafe_: u8) -> u8 { unsafe_ }",
    "fn f<'unsafe_>(a: &'unsafe_ str) -> &'unsafe_ str { a }",
    "fn f() { 'unsafe_loop: loop { break 'unsafe_loop; } }",
    'fn f() { println!("unsafe"); }',
    'fn f() { println!("{}", "unsafe { }"); }',
    'fn f() { println!(r#"unsafe "{}""#, 1); }',
    'fn f() { println!("{}", 1 /* unsafe */); }',
    'fn f() { assert_eq!("unsafe", "unsafe", "unsafe {}", 1); }',
    'macro_rules! m { () => { "unsafe" } }',
    "macro_rules! m { () => { /* unsafe */ } }",
    "macro_rules! m { () => { fn unsafe_made() {} } }",
    "macro_rules! unsafe_free { () => {} }",
    "macro_rules! m { ($unsafe_name:ident) => { $unsafe_name } }",
    '#[doc = "unsafe"] fn f() {}',
    '#[deprecated(note = "unsafe to use")] fn f() {}',
    "#![forbid(unsafe_code)]",
    "#![deny(unsafe_code)]",
    '#[cfg(feature = "unsafe")] fn f() {}',
    "use std::panic::UnwindSafe as NotUnsafe;",
    "fn f() { let unsafe_count = vec![1]; let _ = unsafe_count.len(); }",
    "extern crate core;",
    "fn f() { let link = 1; let include = link; let path = include; let _ = path; }",
    'use std::env; fn f() { let _ = env::args(); println!("{:?}", std::env::var("X")); }',
    'fn f() { let env = 1; println!("{}", env); }',
    'const V: &str = env!("CARGO_PKG_VERSION");',
    "fn f(a: bool, b: bool) -> bool { !a && a != b }",
    "macro_rules! m { ($a:expr, $b:expr) => { $a != $b && !$a } }",
    "#[derive(Debug, Clone)] struct A<'a>(&'a str);",
    "async fn f() {} const fn g() {} pub(crate) fn h() {}",
    "impl<T: ?Sized> Marker for T {} trait Marker {}",
]


@pytest.mark.parametrize("item", ITEMS)
def test_a_harmless_source_is_not_refused(item: str) -> None:
    """Comments, strings, raw strings, characters, lifetimes and raw identifiers are no code."""
    body = f"{item}\nfn main() {{}}\n".encode()

    assert list(source_findings({"src/main.rs": body})) == []


def test_there_are_at_least_fifty_of_them_that_say_the_word() -> None:
    """The claim is about mentions of the word."""
    assert sum("unsafe" in item.lower() for item in ITEMS) >= 50


def test_modules_and_included_files_of_the_proposal_are_fine() -> None:
    """By declaration, by a path, and by an include of a literal."""
    files = {
        "src/main.rs": b'mod a; mod b { mod c; } #[path = "d.rs"] mod e;\n'
        b'const T: &str = include_str!("t.txt");\ninclude!("i.rs");\nfn main() {}\n',
        "src/a.rs": b"pub mod inner;\n",
        "src/a/inner.rs": b"\n",
        "src/b/c.rs": b"\n",
        "src/d.rs": b"\n",
        "src/i.rs": b"fn made() {}\n",
        "src/t.txt": b"text\n",
    }

    assert list(source_findings(files)) == []
