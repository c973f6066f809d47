//! All integration tests in one program, because each program is linked separately.

mod bits;
mod card;
mod cases;
#[cfg(all(feature = "cuda", target_os = "linux"))]
mod children;
mod cut;
#[cfg(all(feature = "cuda", target_os = "linux"))]
mod driver_function;
mod driver_library;
mod follow;
mod golden;
mod leading;
mod lowering;
mod maps;
mod no_device;
mod panels;
mod replay;
mod strategies;
