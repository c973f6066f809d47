//! Says whether the backend is built in (`cfg(backend)`: feature `cuda`, on Linux), and shows the linker the empty library that
//! stands for the driver's.

use std::env;
use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(backend)");
    let target = |what: &str| env::var(format!("CARGO_CFG_TARGET_{what}")).unwrap_or_default();
    let known = ["x86_64", "aarch64"].contains(&target("ARCH").as_str());
    if env::var_os("CARGO_FEATURE_CUDA").is_some() && target("OS") == "linux" && known {
        println!("cargo::rustc-cfg=backend");
        let package = env::var_os("CARGO_MANIFEST_DIR").expect("set by cargo");
        let library = Path::new(&package).join("link/lib64");
        println!("cargo::rustc-link-search=native={}", library.display());
    }
}
