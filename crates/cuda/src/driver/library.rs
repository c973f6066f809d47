//! The driver's library, found when first asked for, and its release.
#![allow(unsafe_code)]

use std::error::Error;
use std::fs;
use std::sync::OnceLock;

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

/// The name that every driver has it under.
const NAME: &str = "libcuda.so.1";
/// What the kernel's module says of itself, in a line.
const MODULE: &str = "/proc/driver/nvidia/version";

/// The library, loaded for as long as the process lives, or why not.
pub(super) fn library() -> Result<&'static Library, &'static str> {
    static LIBRARY: OnceLock<Result<Library, String>> = OnceLock::new();
    LIBRARY
        .get_or_init(|| {
            // SAFETY: the driver's library is made to be loaded by any process, at any time.
            let opened = unsafe { Library::open(Some(NAME), RTLD_NOW | RTLD_LOCAL) };
            // The loader's own words are what lies behind it.
            opened.map_err(|error| match error.source() {
                Some(why) => why.to_string(),
                None => error.to_string(),
            })
        })
        .as_ref()
        .map_err(String::as_str)
}

/// The driver's release (`550.54.15`), where the system reports it.
pub(super) fn driver_release() -> Option<String> {
    release(&fs::read_to_string(MODULE).ok()?)
}

/// The first word that is numbers and dots.
fn release(text: &str) -> Option<String> {
    let number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let is_release = |word: &&str| word.contains('.') && word.split('.').all(number);
    text.split_whitespace().find(is_release).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::release;

    #[test]
    fn releases_are_read() {
        let closed = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC 2024\n\
                      GCC version:  gcc version 12.2.0 (Debian 12.2.0-14)\n";
        let open = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build  (dvs-builder@U16)\n";
        assert_eq!(release(closed).as_deref(), Some("550.54.15"));
        assert_eq!(release(open).as_deref(), Some("580.65.06"));
        assert_eq!(release("NVRM version: none"), None);
    }
}
