//! Memory: anonymous mappings, and how much this process may take.
//!
//! 20000x12000 floats were transposed at 4.2 GB/s in pages of 4 KiB and at 5.4 GB/s in pages of 2 MiB.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use memmap2::MmapMut;
use serde::Serialize;
use turntile::Error;
use turntile::error::RunError;

/// A kind of pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Pages {
    /// Huge pages if the system has them
    Huge,
    /// The system's default
    Default,
}

/// An anonymous mapping.
pub struct AnonymousMap(MmapMut);

impl AnonymousMap {
    /// Maps `bytes` zero bytes.
    pub fn new(bytes: usize, pages: Pages) -> Result<Self, Error> {
        let out_of_memory = |_| Error::from(RunError::OutOfMemory { bytes });
        let map = MmapMut::map_anon(bytes.max(1)).map_err(out_of_memory)?;
        #[cfg(target_os = "linux")]
        if pages == Pages::Huge {
            // Advice: a system that does not follow it uses small pages.
            let _ = map.advise(memmap2::Advice::HugePage);
        }
        #[cfg(not(target_os = "linux"))]
        let _ = pages;
        Ok(AnonymousMap(map))
    }

    /// Maps `bytes` bytes with every page touched, for measurements.
    pub fn touched(bytes: usize, pages: Pages) -> Result<Self, Error> {
        let mut memory = AnonymousMap::new(bytes, pages)?;
        memory.bytes().fill(1);
        Ok(memory)
    }

    /// Returns the bytes.
    pub fn bytes(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

/// One part in this many of the free memory is left to other programs and to pages that are being written.
const MARGIN: usize = 8;

/// Name of the machine's own limit.
pub(crate) const MACHINE: &str = "free memory";

/// Memory that is free for this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Free {
    /// Bytes.
    pub bytes: usize,
    /// Name of the limit.
    pub limit: &'static str,
}

/// Returns the memory that is free for this process, less a margin: the least of the machine's and the control group's.
/// `None` if the system does not report it.
pub(crate) fn free() -> Option<Free> {
    let all = [(machine(), MACHINE), (group(), "limit of the control group")];
    let known = all.into_iter().filter_map(|(bytes, limit)| Some(Free { bytes: bytes?, limit }));
    let least = known.min_by_key(|free| free.bytes)?;
    Some(Free { bytes: least.bytes - least.bytes / MARGIN, ..least })
}

/// Returns what is left of `memory` bytes when the program and its threads have taken their own.
pub(crate) fn less_the_command(memory: usize) -> usize {
    memory - (16 << 20).min(memory / 4)
}

/// Returns the smallest argument for which [`less_the_command`] returns at least `need` bytes.
pub(crate) fn with_the_command(need: usize) -> usize {
    need.saturating_add((16 << 20).min(need.saturating_sub(1) / 3))
}

fn read(path: impl AsRef<Path>) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

/// Returns the number after a word at the beginning of a line.
fn number(text: &str, word: &str) -> Option<usize> {
    let rest = text.lines().find_map(|line| line.strip_prefix(word))?;
    rest.split_whitespace().next()?.parse().ok()
}

/// Returns the free memory of the machine, on Linux.
fn machine() -> Option<usize> {
    number(&read("/proc/meminfo")?, "MemAvailable:")?.checked_mul(1024)
}

/// Returns the free memory of the process's control groups, version 1 or 2.
fn group() -> Option<usize> {
    let text = read("/proc/self/cgroup")?;
    let room = |(folder, names): (PathBuf, [&str; 3])| {
        // In a namespace the process's own group may be the root.
        let folders = folder.ancestors().take_while(|folder| folder.starts_with("/sys/fs/cgroup"));
        folders.filter_map(|folder| room_in(folder, names)).min()
    };
    groups_in(&text).into_iter().filter_map(room).min()
}

/// Returns the folders of the groups, and the names in each of the limit, of the memory in use, and of file pages that can be
/// dropped.
fn groups_in(text: &str) -> Vec<(PathBuf, [&'static str; 3])> {
    let of_line = |line: &str| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?.trim_start_matches('/'));
        let (root, names) = if controllers.is_empty() {
            ("/sys/fs/cgroup", ["memory.max", "memory.current", "inactive_file"])
        } else {
            controllers.split(',').find(|name| *name == "memory")?;
            let names = ["memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"];
            ("/sys/fs/cgroup/memory", names)
        };
        Some((Path::new(root).join(path), names))
    };
    text.lines().filter_map(of_line).collect()
}

fn room_in(folder: &Path, [limit, used, given_up]: [&str; 3]) -> Option<usize> {
    // Without a limit it holds "max", or a number that no machine has.
    let limit = number(&read(folder.join(limit))?, "")?;
    let used = number(&read(folder.join(used))?, "")?;
    let stat = read(folder.join("memory.stat")).unwrap_or_default();
    let given_up = number(&stat, &format!("{given_up} ")).unwrap_or(0);
    Some(limit.saturating_sub(used.saturating_sub(given_up)))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_systems_words_are_understood() {
        let text = "MemTotal:  100 kB\nMemFree:  1 kB\nMemAvailable:   1234 kB\n";
        assert_eq!(number(text, "MemAvailable:"), Some(1234));
        assert_eq!(number("MemFree: 1 kB\n", "MemAvailable:"), None);
        let groups = groups_in("12:cpu,cpuacct:/a\n3:memory:/a/b\n0::/c\n");
        let folders: Vec<_> = groups.iter().map(|(folder, _)| folder.to_str().unwrap()).collect();
        assert_eq!(folders, ["/sys/fs/cgroup/memory/a/b", "/sys/fs/cgroup/c"]);
        assert!(free().is_some_and(|free| free.bytes > 1 << 20));
    }

    #[test]
    fn what_the_command_takes_is_counted() {
        for need in (0..50).chain((0..90).map(|k| (k << 20) + k * 7919)) {
            let all = with_the_command(need);
            assert!(less_the_command(all) >= need, "{need}");
            assert!(all == 0 || less_the_command(all - 1) < need, "{need}");
        }
    }

    #[test]
    fn room_in_a_group_is_its_limit_less_what_is_used() {
        let folder = tempfile::tempdir().unwrap();
        let write =
            |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        let names = ["memory.max", "memory.current", "inactive_file"];
        assert_eq!(room_in(folder.path(), names), None);
        write("memory.max", "1000\n");
        write("memory.current", "700\n");
        assert_eq!(room_in(folder.path(), names), Some(300));
        write("memory.stat", "file 600\ninactive_file 500\n");
        assert_eq!(room_in(folder.path(), names), Some(800));
        write("memory.max", "max\n");
        assert_eq!(room_in(folder.path(), names), None);
    }
}
