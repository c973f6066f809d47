//! Integration tests, in one program to save link time.

use std::env;

mod bits;
#[cfg(all(feature = "cuda", target_os = "linux"))]
#[path = "../../cuda/tests/children.rs"]
mod children;
mod common;
mod decisions;
pub mod derive;
#[cfg(all(feature = "cuda", target_os = "linux"))]
#[path = "../../cuda/tests/driver_function.rs"]
mod driver_function;
mod flips;
#[cfg(all(feature = "cuda", target_os = "linux"))]
mod gpu;
mod layouts;
mod leading;
mod library;
mod methods;
mod misuse;
mod out_of_place;
mod permutations;
mod records;
mod routes;
mod tuned;

/// Returns the largest side for exhaustive tests of small shapes: 20, or 36 if
/// `TURNTILE_EXHAUSTIVE` is set, as in `.ci/run full`.
fn largest_side() -> usize {
    if env::var_os("TURNTILE_EXHAUSTIVE").is_some() { 36 } else { 20 }
}
