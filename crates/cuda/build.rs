//! Says whether the backend is built in (`cfg(backend)`: feature `cuda`, on Linux), and shows the linker the empty library that
//! stands for the driver's. With feature `nvcc`: compiles the kernels to machine code for the local GPU, to embed beside the PTX.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(backend)");
    let target = |what: &str| env::var(format!("CARGO_CFG_TARGET_{what}")).unwrap_or_default();
    let known = ["x86_64", "aarch64"].contains(&target("ARCH").as_str());
    if env::var_os("CARGO_FEATURE_CUDA").is_some() && target("OS") == "linux" && known {
        println!("cargo::rustc-cfg=backend");
        let library = Path::new(env!("CARGO_MANIFEST_DIR")).join("link/lib64");
        println!("cargo::rustc-link-search=native={}", library.display());
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("set by cargo"));
    let mut table = String::from("&[\n");
    if env::var_os("CARGO_FEATURE_NVCC").is_some() {
        println!("cargo::rerun-if-env-changed=TURNTILE_NVCC");
        println!("cargo::rerun-if-env-changed=TURNTILE_SM");
        let nvcc = env::var("TURNTILE_NVCC").unwrap_or_else(|_| "nvcc".into());
        let asked = env::var("TURNTILE_SM").unwrap_or_else(|_| "90".into());
        let architecture: u32 =
            asked.parse().unwrap_or_else(|_| panic!("TURNTILE_SM={asked} is no number"));
        let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels");
        println!("cargo::rerun-if-changed={}", kernels.display());
        for (family, word) in variants(&kernels, architecture) {
            let code = out.join(format!("{family}.w{word}.cubin"));
            compile(&nvcc, architecture, &kernels.join(format!("{family}.cu")), &word, &code);
            writeln!(table, "    ({family:?}, {word}, {architecture}, include_bytes!({code:?})),")
                .expect("a string");
        }
    }
    table.push(']');
    fs::write(out.join("machine_code.rs"), table).expect("OUT_DIR is writable");
}

/// Family and word of every committed PTX file that the architecture can run.
fn variants(kernels: &Path, architecture: u32) -> Vec<(String, String)> {
    let files = fs::read_dir(kernels.join("ptx")).expect("kernels/ptx is there");
    let mut names: Vec<_> = files
        .filter_map(|file| {
            let name = file.ok()?.file_name().into_string().ok()?;
            let (family, word) = name.strip_suffix(".ptx")?.split_once(".w")?;
            Some((family.to_owned(), word.to_owned()))
        })
        .filter(|(family, _)| family != "cluster_barrier" || architecture >= 90)
        .collect();
    names.sort();
    names
}

fn compile(nvcc: &str, architecture: u32, source: &Path, word: &str, code: &Path) {
    let status = Command::new(nvcc)
        .args(["-O3", "-std=c++17", "-cubin"])
        .arg(format!("-arch=sm_{architecture}"))
        .arg(format!("-DWORD={word}"))
        .arg("-o")
        .args([code, source])
        .status()
        .unwrap_or_else(|error| panic!("{nvcc} does not run ({error}); set TURNTILE_NVCC"));
    assert!(status.success(), "{nvcc} failed on {}", source.display());
}
