"""Small made-up trees for scripts/check-structure --self-test: (name, files, table, what is said of them)."""


def crate(**files):
    """A crate's files by their paths in src/, written with __ for /."""
    return {f"crates/x/src/{name.replace('__', '/')}.rs": text for name, text in files.items()}


ONE_CIRCLE = crate(
    lib="mod a; mod b;",
    a="use crate::b::B; pub struct A(B);",
    b="pub struct B; fn f() { crate::a::A; }",
)
# As lib.rs of what re-exports both and is used by both.
THROUGH_PARENT = crate(
    lib="mod a; mod b; pub use a::A; pub use b::{B, C as D};",
    a="use crate::{B, D}; pub struct A;",
    b="use super::A; pub struct B; pub struct C;",
)

CASES = [
    ("nothing", crate(lib="mod a;", a="pub fn a() {}"), "", []),
    ("a circle of two", ONE_CIRCLE, "", ["crates/x: 2 files use one another in circles, 0 allowed"]),
    ("a circle that is let be", ONE_CIRCLE, "# today\n\ncircle crates/x 2\n", []),
    ("fewer than the table has", ONE_CIRCLE, "circle crates/x 3\n", ["it is 2 now"]),
    ("a circle that is gone", crate(lib=""), "circle crates/x 2\n", ["it is 0 now"]),
    ("a circle through re-exports", THROUGH_PARENT, "", ["crates/x: 2 files"]),
    (
        "a re-export alone",
        crate(lib="mod a; mod b; pub use a::A;", a="use crate::b::B; pub struct A;", b="pub struct B;"),
        "",
        [],
    ),
    (
        "a parent's type, which the parent needs its child for",
        crate(a__mod="mod b; pub struct A; fn f() { b::g() }", a__b="use super::A; pub fn g() {}", lib="mod a;"),
        "",
        ["crates/x: 2 files"],
    ),
    (
        "a parent that uses its child",
        crate(lib="mod a;", a="mod b; use b::g; fn f() { g() }", a__b="pub fn g() {}"),
        "",
        [],
    ),
    (
        "tests, comments and strings are no use",
        crate(
            lib="mod a; mod b;",
            a='use crate::b::B; pub struct A; #[cfg(test)] #[allow(x)] mod tests { use super::*; fn f() { "{" } }',
            b="""
            // crate::a::A
            /* crate::a::A */ pub struct B; fn f() { "crate::a::A"; r#"" crate::a::A"#; '"'; '\\''; }
            #[cfg(test)] use crate::a::A;
            #[cfg(test)] #[path = "b_tests.rs"] mod tests;
            """,
            b_tests="use crate::a::A;",
        ),
        "",
        [],
    ),
    (
        "a circle behind a string with a quote and a lifetime",
        crate(
            lib="mod a; mod b;",
            a="""fn f<'a>(x: &'a str) { '"'; } use crate::b::B; pub struct A;""",
            b=r'''fn f() { "\"//"; '{'; } use crate::a::A; pub struct B;''',
        ),
        "",
        ["crates/x: 2 files"],
    ),
    (
        "a module imported by its name, and an alias",
        crate(
            lib="mod a; mod b;",
            a="use crate::b; pub struct A; fn f() { b::g() }",
            b="use crate::{a as c}; pub fn g() { let _ = c::A; }",
        ),
        "",
        ["crates/x: 2 files"],
    ),
    ("a module imported and not used", crate(lib="mod a; mod b;", a="use crate::b;", b="use crate::a;"), "", []),
    (
        "files of one module, by features",
        crate(
            lib='mod a; #[cfg(f)] mod b; #[cfg(not(f))] #[path = "other.rs"] mod b;',
            a="use crate::b::B; pub struct A;",
            b="pub struct B;",
            other="use crate::a::A; pub struct B;",
        ),
        "",
        ["crates/x: 2 files"],
    ),
    (
        "a module between braces",
        crate(lib="mod a; mod b;", a="use crate::b::B; pub struct A;", b="pub struct B; mod c { use crate::a::A; }"),
        "",
        ["crates/x: 2 files"],
    ),
    (
        "a module between braces that looks no further than its file",
        crate(lib="mod a; pub struct L;", a="mod c { use super::A; } pub struct A; "),
        "",
        [],
    ),
    (
        "three in a circle, by globs and macros",
        crate(
            lib="mod a; mod b; mod c; mod all; fn f() { a::A; }",
            all="pub use crate::b::*;",
            a="use crate::all::B; pub struct A;",
            b="pub struct B; macro_rules! m { () => { $crate::c::C } }",
            c="use crate::a::A; pub struct C;",
        ),
        "",
        ["crates/x: 3 files"],
    ),
    (
        "a function of a module's name, re-exported",
        crate(
            lib="mod a; mod b;",
            a="use crate::b; pub struct A; fn f() { b::c() }",
            b__mod="mod c; pub use c::c;",
            b__c="use crate::a::A; pub fn c() {}",
        ),
        "modules crates/x 2\n",
        ["crates/x: 2 files"],
    ),
    (
        "a file and a folder, by what the folder re-exports",
        crate(
            lib="mod a; mod b;",
            a="use crate::b::C; pub struct A;",
            b="mod c; mod d; pub use c::C;",
            b__c="pub struct C;",
            b__d="use crate::a::A;",
        ),
        "",
        ["crates/x: 2 modules use one another in circles, 0 allowed"],
    ),
    (
        "a folder that uses what its own files share",
        crate(lib="mod b;", b="mod c; mod d; fn f() { d::f() }", b__c="pub struct C;", b__d="use super::c::C; pub fn f() {}"),
        "",
        [],
    ),
    (
        "Python, within a function too",
        {"crates/x/python/a.py": "from . import b", "crates/x/python/b.py": "def f():\n    from .a import g"},
        "",
        ["crates/x/python: 2 files use one another"],
    ),
    ("Python one way", {"scripts/a.py": "import b, sys", "scripts/b.py": "import sys"}, "", []),
    ("unsafe", {"tests/a.rs": "unsafe { f() }"}, "", ["tests/a.rs: has unsafe"]),
    ("unsafe in a named file", {"tests/a.rs": "unsafe { f() }"}, "unsafe tests/a.rs 1\n", []),
    ("unsafe no longer", {"tests/a.rs": "f()"}, "unsafe tests/a.rs 1\n", ["it is 0 now"]),
    ("unsafe in words alone", {"tests/a.rs": '#![deny(unsafe_code)] // unsafe\nf("unsafe")'}, "", []),
    ("an estimate of names alone", crate(cost_model="fn f(x: [f64; 1]) -> f64 { 2.0 * x[0] / t.0 as u32 + h200(1e0) }"), "", []),
    (
        "an estimate with costs in it",
        crate(cost_model="const A: f64 = 0.875; // 7\nfn f() { 5 / 4_000 + 0x40 } #[cfg(test)] mod tests { fn f() { 9 } }"),
        "number crates/x/src/cost_model.rs 3\n",
        ["crates/x/src/cost_model.rs: 4 numbers, 3 allowed"],
    ),
    ("numbers elsewhere", crate(way="const A: f64 = 0.875;"), "", []),
]
