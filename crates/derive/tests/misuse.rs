//! Programs that use the derive correctly and must compile, and programs that must not. Each file is
//! a separate program.

use std::process::Command;

/// Compiler version whose messages are stored in the `.stderr` files; other versions word some of
/// them differently. To update them, run `TRYBUILD=overwrite cargo test -p turntile-derive`.
const EXPECTED_RUSTC: &str = "rustc 1.95.";

#[test]
fn records_compile_and_misuse_does_not() {
    let cases = trybuild::TestCases::new();
    cases.pass("tests/use/*.rs");
    let rustc = Command::new("rustc").arg("--version").output().expect("rustc cannot be run");
    if String::from_utf8_lossy(&rustc.stdout).starts_with(EXPECTED_RUSTC) {
        cases.compile_fail("tests/misuse/*.rs");
    } else {
        println!("misuse: skipped: the expected messages are from {EXPECTED_RUSTC}x");
    }
}
