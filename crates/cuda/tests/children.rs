//! Tests in separate processes. Each loads a driver library made for it.
//!
//! `CC` names the C compiler. `TURNTILE_EMULATOR` names the program that runs this architecture's
//! binaries if the machine cannot.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// Creates an empty folder for the case.
pub fn folder(case: &str) -> PathBuf {
    let folder = env::current_exe().unwrap().with_extension(format!("driver-{case}"));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Runs the test `child_CASE` of a module with the driver library in `folder`.
pub fn runs(module: &str, case: &str, folder: &Path) {
    let (this, test) = (env::current_exe().unwrap(), format!("{module}::child_{case}"));
    let path = format!("LD_LIBRARY_PATH={}", folder.display());
    let mut command = match env::var_os("TURNTILE_EMULATOR") {
        Some(emulator) => {
            let mut command = Command::new(emulator);
            command.args(["-E", &path]).arg(this);
            command
        }
        None => {
            let mut command = Command::new("env");
            command.arg(path).arg(this);
            command
        }
    };
    let output = command.args(["--ignored", "--exact", &test]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{case}: {output:?}");
}

/// Runs the test `child_CASE` of a module with the driver library `source`, compiled with
/// `options`.
pub fn runs_on(module: &str, case: &str, source: &str, options: &[&str]) {
    let folder = folder(case);
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cuda/tests/driver_library");
    let compiler = env::var("CC").unwrap_or_else(|_| "cc".into());
    let compiled = Command::new(compiler)
        .args(["-shared", "-nostdlib", "-fPIC", "-O1", "-fno-omit-frame-pointer"])
        .args(options)
        .arg("-o")
        .args([folder.join("libcuda.so.1"), sources.join(source)])
        .status();
    assert!(compiled.unwrap().success());
    runs(module, case, &folder);
}
