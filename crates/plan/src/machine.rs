//! What this machine says of its caches.

use std::fs;
use std::sync::OnceLock;

/// Bytes of the second-level cache of a core, where the system tells.
///
/// Read once: from sysfs on Linux, nowhere else.
pub fn second_level_cache() -> Option<usize> {
    static BYTES: OnceLock<Option<usize>> = OnceLock::new();
    *BYTES.get_or_init(|| {
        let caches = fs::read_dir("/sys/devices/system/cpu/cpu0/cache").ok()?;
        caches.flatten().find_map(|cache| {
            let told = |what: &str| fs::read_to_string(cache.path().join(what)).ok();
            let data = told("type")?.trim() != "Instruction";
            (data && told("level")?.trim() == "2").then(|| size(told("size")?.trim()))?
        })
    })
}

/// `2048K`, `2M` or plain bytes.
fn size(text: &str) -> Option<usize> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let shift = match &text[digits..] {
        "" => 0,
        "K" => 10,
        "M" => 20,
        _ => return None,
    };
    text[..digits].parse::<usize>().ok()?.checked_shl(shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_as_the_system_writes_them() {
        assert_eq!(size("2048K"), Some(2 << 20));
        assert_eq!(size("1M"), Some(1 << 20));
        assert_eq!(size("512"), Some(512));
        assert_eq!(size("2G"), None);
        assert_eq!(size(""), None);
    }
}
