//! Memory: mappings of the command's own, and how much this process may take without harm.
//!
//! 20000x12000 floats were transposed at 4.2 GB/s in pages of 4 KiB and at 5.4 in those of 2 MiB.

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
    /// Huge ones where the system has them
    Huge,
    /// The system's default
    Default,
}

/// An anonymous mapping.
pub struct AnonymousMap(MmapMut);

impl AnonymousMap {
    /// Of so many bytes, all zero.
    pub fn new(bytes: usize, pages: Pages) -> Result<Self, Error> {
        let out_of_memory = |_| Error::from(RunError::OutOfMemory { bytes });
        let map = MmapMut::map_anon(bytes.max(1)).map_err(out_of_memory)?;
        #[cfg(target_os = "linux")]
        if pages == Pages::Huge {
            // Advice: without it, or with a system that does not follow it, pages are small.
            let _ = map.advise(memmap2::Advice::HugePage);
        }
        #[cfg(not(target_os = "linux"))]
        let _ = pages;
        Ok(AnonymousMap(map))
    }

    /// Of so many bytes, every page of it touched: to measure on.
    pub fn touched(bytes: usize, pages: Pages) -> Result<Self, Error> {
        let mut memory = AnonymousMap::new(bytes, pages)?;
        memory.bytes().fill(1);
        Ok(memory)
    }

    /// Its bytes.
    pub fn bytes(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

/// Without this much the command does not begin, and threads that are started leave as much: it needs some of it in pieces of
/// which none may be refused.
pub(crate) const ROOM: usize = 4 << 20;

/// So much, if there is.
pub(crate) fn room() -> Option<AnonymousMap> {
    AnonymousMap::new(ROOM, Pages::Default).ok()
}

/// Left to others, and to the pages of files that are on their way to storage.
const MARGIN: usize = 8;

/// Why there is no more where nothing else bounds it.
pub(crate) const MACHINE: &str = "the machine has no more free";

/// Memory that is free for this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Free {
    /// Bytes.
    pub bytes: usize,
    /// What keeps it from having more.
    pub limit: &'static str,
}

/// Memory that is free for this process, less a margin: of the machine, its control group and its own limit the least.
/// None where the system does not report it.
pub(crate) fn free() -> Option<Free> {
    let all = [
        (machine(), MACHINE),
        (group(), "the control group has a limit"),
        (own_limit(), "the address space has a limit, ulimit -v"),
    ];
    let known = all.into_iter().filter_map(|(bytes, limit)| Some(Free { bytes: bytes?, limit }));
    let least = known.min_by_key(|free| free.bytes)?;
    Some(Free { bytes: least.bytes - least.bytes / MARGIN, ..least })
}

/// What the command itself takes, its threads included, out of so much memory.
pub(crate) fn less_the_command(memory: usize) -> usize {
    memory - (16 << 20).min(memory / 4)
}

/// The least memory of which so much is left when the command has taken its own.
pub(crate) fn with_the_command(need: usize) -> usize {
    need.saturating_add((16 << 20).min(need.saturating_sub(1) / 3))
}

fn read(path: impl AsRef<Path>) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

/// The number behind a word at the beginning of a line.
fn number(text: &str, word: &str) -> Option<usize> {
    let rest = text.lines().find_map(|line| line.strip_prefix(word))?;
    rest.split_whitespace().next()?.parse().ok()
}

/// From Linux; other systems have no such file.
fn machine() -> Option<usize> {
    number(&read("/proc/meminfo")?, "MemAvailable:")?.checked_mul(1024)
}

/// Room in the control groups that the process is in, of either version.
fn group() -> Option<usize> {
    let text = read("/proc/self/cgroup")?;
    let room = |(folder, names): (PathBuf, [&str; 3])| {
        // As the process sees them, its own group may be the root.
        let folders = folder.ancestors().take_while(|folder| folder.starts_with("/sys/fs/cgroup"));
        folders.filter_map(|folder| room_in(folder, names)).min()
    };
    groups_in(&text).into_iter().filter_map(room).min()
}

/// Folders of the groups, and what each calls its limit, what is used of it, and pages of files that are easily given up.
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

/// What is left of the address space that the process may have (`ulimit -v`).
#[cfg(unix)]
fn own_limit() -> Option<usize> {
    let limit = rustix::process::getrlimit(rustix::process::Resource::As).current?;
    let pages = read("/proc/self/statm").and_then(|text| number(&text, "")).unwrap_or(0) as u64;
    // Threads that are still to come have stacks, and heaps of their own that are mostly empty.
    let threads = 8 << 20;
    let page = rustix::param::page_size() as u64;
    usize::try_from(limit.saturating_sub(pages * page).saturating_sub(threads)).ok()
}

#[cfg(not(unix))]
fn own_limit() -> Option<usize> {
    None
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
