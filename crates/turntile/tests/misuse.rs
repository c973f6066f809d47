//! Programs that misuse the derive and must not compile. Each file is a separate program.

use std::process::Command;

/// Compiler version whose messages are stored in the `.stderr` files; other versions word some of
/// them differently. To update them, run
/// `TRYBUILD=overwrite cargo test -p turntile --test tests -- --ignored misuse`.
const EXPECTED_RUSTC: &str = "rustc 1.95.";

#[test]
#[ignore = "builds the library once more, as .ci/run does"]
fn misuse_does_not_compile() {
    let rustc = Command::new("rustc").arg("--version").output().expect("rustc cannot be run");
    if String::from_utf8_lossy(&rustc.stdout).starts_with(EXPECTED_RUSTC) {
        // With programs that must compile, trybuild would generate code for all dependencies.
        trybuild::TestCases::new().compile_fail("tests/misuse/*.rs");
    } else {
        println!("misuse: skipped: the expected messages are from {EXPECTED_RUSTC}x");
    }
}
