//! The library's name for programs that are linked with it.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        let major = env!("CARGO_PKG_VERSION_MAJOR");
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libturntile_mpi.so.{major}");
        // Its threads live as long as the program, so it must not be unmapped when a plugin that uses it is.
        println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
