//! Sets the soname of the C library, and links it with `libturntile`.

use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let capi = std::env::var_os("CARGO_FEATURE_CAPI").is_some();
    if capi && std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        let version =
            concat!(env!("CARGO_PKG_VERSION_MAJOR"), ".", env!("CARGO_PKG_VERSION_MINOR"));
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libturntile_mpi.so.{version}");
        // The library's threads run until the program ends. So it must stay mapped when a plugin
        // that uses it is unloaded.
        println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
        // OUT_DIR is target/PROFILE/build/PACKAGE/out. The library is in target/PROFILE.
        let out = std::env::var("OUT_DIR").expect("cargo sets OUT_DIR");
        let built = Path::new(&out).ancestors().nth(3).expect("a folder of cargo").display();
        println!("cargo::rustc-cdylib-link-arg=-L{built}");
        println!("cargo::rustc-cdylib-link-arg=-lturntile_capi");
        // Both are installed in one folder.
        println!("cargo::rustc-cdylib-link-arg=-Wl,-rpath,$ORIGIN");
    }
}
