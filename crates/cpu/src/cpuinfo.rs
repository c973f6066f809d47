//! Information about this machine's processor.

use std::fs;
use std::sync::OnceLock;

/// Returns the bytes of a core's second-level cache, if the operating system reports them.
///
/// Read once, from sysfs on Linux; `None` on other systems.
pub fn second_level_cache() -> Option<usize> {
    static BYTES: OnceLock<Option<usize>> = OnceLock::new();
    *BYTES.get_or_init(|| {
        let caches = fs::read_dir("/sys/devices/system/cpu/cpu0/cache").ok()?;
        caches.flatten().find_map(|cache| {
            let read = |what: &str| fs::read_to_string(cache.path().join(what)).ok();
            let data = read("type")?.trim() != "Instruction";
            (data && read("level")?.trim() == "2").then(|| size(read("size")?.trim()))?
        })
    })
}

/// Returns the processor model as the operating system reports it.
///
/// Read once, from `/proc/cpuinfo` on Linux; the architecture on other systems.
pub fn model() -> &'static str {
    static NAME: OnceLock<String> = OnceLock::new();
    NAME.get_or_init(|| {
        let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        model_in(&text).unwrap_or_else(|| std::env::consts::ARCH.to_owned())
    })
}

/// Returns the model in a text like `/proc/cpuinfo`, or implementer and part on Arm, where the text
/// has no model name.
fn model_in(text: &str) -> Option<String> {
    let field = |name: &str| {
        let line = text.lines().find(|line| line.split(':').next().map(str::trim) == Some(name))?;
        Some(line.split_once(':')?.1.trim().to_owned()).filter(|value| !value.is_empty())
    };
    let on_arm = || Some(format!("{} {}", field("CPU implementer")?, field("CPU part")?));
    field("model name").or_else(on_arm)
}

/// Parses a cache size, as `2048K`, `2M` or plain bytes, and returns the bytes.
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
    fn model_is_parsed_for_x86_and_arm() {
        let x86 = "processor\t: 0\nmodel\t\t: 143\nmodel name\t: Some Xeon @ 2.0GHz\n";
        assert_eq!(model_in(x86).as_deref(), Some("Some Xeon @ 2.0GHz"));
        let arm = "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd4f\n";
        assert_eq!(model_in(arm).as_deref(), Some("0x41 0xd4f"));
        assert_eq!(model_in("no model here"), None);
        assert!(!model().is_empty());
    }

    #[test]
    fn sizes_are_parsed_with_and_without_suffix() {
        assert_eq!(size("2048K"), Some(2 << 20));
        assert_eq!(size("1M"), Some(1 << 20));
        assert_eq!(size("512"), Some(512));
        assert_eq!(size("2G"), None);
        assert_eq!(size(""), None);
    }
}
