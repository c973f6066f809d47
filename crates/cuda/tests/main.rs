//! The integration tests, one program: each is linked anew.

mod card;
mod cases;
#[cfg(all(
    feature = "cuda",
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod children;
mod cut;
mod driver_library;
mod follow;
mod golden;
mod leading;
mod lowering;
mod maps;
mod no_device;
mod offers;
mod replay;
