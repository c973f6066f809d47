//! What the derive takes and what does not compile, each file a program of its own.

use std::process::Command;

/// The compiler whose messages are written beside the programs; others word some of them otherwise. After a change:
/// `TRYBUILD=overwrite cargo test -p turntile-derive`.
const WORDED_BY: &str = "rustc 1.95.";

#[test]
fn records_compile_and_misuse_does_not() {
    let cases = trybuild::TestCases::new();
    cases.pass("tests/use/*.rs");
    let rustc = Command::new("rustc").arg("--version").output().expect("rustc runs");
    if String::from_utf8_lossy(&rustc.stdout).starts_with(WORDED_BY) {
        cases.compile_fail("tests/misuse/*.rs");
    } else {
        println!("misuse: skipped, its messages are those of {WORDED_BY}x");
    }
}
