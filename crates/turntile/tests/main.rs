//! The integration tests, one program: each is linked anew.

use std::env;

#[cfg(all(
    feature = "cuda",
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
#[path = "../../cuda/tests/children.rs"]
mod children;
mod common;
mod decisions;
#[cfg(all(
    feature = "cuda",
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod gpu;
mod grids;
mod layouts;
mod leading;
mod library;
mod out_of_place;
mod permutations;
mod records;
mod routes;
mod tracked;
mod tuned;

/// The largest side of matrices of which every shape is tried: 36 with `TURNTILE_EXHAUSTIVE` in the environment, as CI has it.
fn largest_side() -> usize {
    if env::var_os("TURNTILE_EXHAUSTIVE").is_some() { 36 } else { 20 }
}
