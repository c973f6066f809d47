//! Links the libraries of the enabled features; the linker finds them.

fn main() {
    for (feature, library) in [
        ("FFTW", "fftw3f_threads"),
        ("FFTW", "fftw3f"),
        ("OPENBLAS", "openblas"),
        ("MKL", "mkl_rt"),
    ] {
        if std::env::var_os(format!("CARGO_FEATURE_{feature}")).is_some() {
            println!("cargo::rustc-link-lib={library}");
        }
    }
    if let Some(path) = std::env::var_os("PEERS_LIBRARY_PATH") {
        println!("cargo::rustc-link-search={}", std::path::Path::new(&path).display());
        println!("cargo::rustc-link-arg=-Wl,-rpath,{}", std::path::Path::new(&path).display());
    }
}
