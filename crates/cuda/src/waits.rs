//! Which kernels' blocks wait for other blocks, and what keeps those that are waited for from never beginning.
//!
//! This is a property of the kernel, said here and nowhere else; a launch has it from its kernel. A test compares
//! the table with the device code.

/// Whom a block waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waits {
    /// None: blocks may run in any order, one after the other.
    Nobody,
    /// Any block of the grid: the launch is cooperative, so that all are at work together.
    Grid,
    /// Blocks of its own cluster, which has so many and is scheduled as one.
    Cluster(u32),
    /// Blocks that took their numbers from a counter before it did, and have thus begun.
    Earlier,
}

/// Every kernel whose blocks wait.
pub const WAITING: [(&str, Waits); 24] = [
    ("barrier_grid", Waits::Grid),
    ("barrier_grid_wide", Waits::Grid),
    ("barrier_grid_axes", Waits::Grid),
    ("slot_runs", Waits::Grid),
    ("slot_runs_back", Waits::Grid),
    ("slot_gather", Waits::Grid),
    ("slot_scatter", Waits::Grid),
    ("barrier_cluster_2", Waits::Cluster(2)),
    ("barrier_cluster_4", Waits::Cluster(4)),
    ("barrier_cluster_8", Waits::Cluster(8)),
    ("barrier_cluster_16", Waits::Cluster(16)),
    ("barrier_cluster_wide_2", Waits::Cluster(2)),
    ("barrier_cluster_wide_4", Waits::Cluster(4)),
    ("barrier_cluster_wide_8", Waits::Cluster(8)),
    ("barrier_cluster_wide_16", Waits::Cluster(16)),
    ("barrier_cluster_axes_8", Waits::Cluster(8)),
    ("barrier_cluster_axes_16", Waits::Cluster(16)),
    ("cube_cluster_forward_2", Waits::Cluster(2)),
    ("cube_cluster_forward_8", Waits::Cluster(8)),
    ("cube_cluster_forward_16", Waits::Cluster(16)),
    ("cube_cluster_back_2", Waits::Cluster(2)),
    ("cube_cluster_back_8", Waits::Cluster(8)),
    ("cube_cluster_back_16", Waits::Cluster(16)),
    ("pad_slide", Waits::Earlier),
];

impl Waits {
    /// What blocks of the kernel with that entry point wait for.
    pub fn of(entry: &str) -> Self {
        WAITING.iter().find(|row| row.0 == entry).map_or(Waits::Nobody, |row| row.1)
    }

    /// Blocks that must be at work together, of a launch of `groups`.
    pub fn together(self, groups: u32) -> u32 {
        match self {
            Waits::Nobody | Waits::Earlier => 1,
            Waits::Grid => groups,
            Waits::Cluster(blocks) => blocks,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::family::Family;

    /// Entry points of PTX, each with its directives and its body.
    fn entries(ptx: &str) -> impl Iterator<Item = (&str, &str)> {
        let entry = |text: &'static str| text;
        ptx.split(entry(".visible .entry ")).skip(1).map(|text| {
            let (name, rest) = text.split_once('(').expect("parameters follow the name");
            (name.trim(), rest)
        })
    }

    /// What the code itself shows. A barrier over the grid asks for the words that a cooperative launch fills in; a
    /// cluster's size is compiled in; loads with acquire semantics are those of a loop that waits, and its
    /// kernel must begin with a number of its own from a counter.
    fn shown(code: &str) -> Waits {
        if code.contains("%envreg") {
            return Waits::Grid;
        }
        if let Some((_, size)) = code.split_once(".reqnctapercluster ") {
            let digits = size.split(',').next().unwrap_or_default();
            return Waits::Cluster(digits.trim().parse().expect("a number"));
        }
        assert!(!code.contains("barrier.cluster"), "a cluster of no compiled size");
        match (code.find("ld.acquire"), code.find("atom.global.add")) {
            (Some(wait), Some(number)) => {
                assert!(number < wait, "waits before it has a number");
                Waits::Earlier
            }
            (Some(_), None) => panic!("waits, by none of these"),
            (None, _) => Waits::Nobody,
        }
    }

    #[test]
    fn the_table_says_what_the_device_code_does() {
        let mut waiting = BTreeSet::new();
        for family in Family::ALL {
            for word in [1, 2, 4, 8, 16] {
                for (entry, code) in entries(family.ptx(word)) {
                    assert_eq!(Waits::of(entry), shown(code), "{}.w{word} {entry}", family.name());
                    if Waits::of(entry) != Waits::Nobody {
                        waiting.insert(entry);
                    }
                }
            }
        }
        assert_eq!(waiting, WAITING.iter().map(|row| row.0).collect(), "kernels that there are");
    }

    /// The barrier of a cluster takes whole warps: lanes that come from loops of their own lengths are brought together first.
    #[test]
    fn warps_are_whole_where_they_wait_for_a_cluster() {
        let mut barriers = 0;
        for (family, word) in Family::ALL.into_iter().flat_map(|f| [1, 2, 4, 8, 16].map(|w| (f, w)))
        {
            for (entry, code) in entries(family.ptx(word)) {
                let mut before = "";
                for line in code.lines().map(str::trim).filter(|line| line.ends_with(';')) {
                    if line.starts_with("barrier.cluster.arrive.") {
                        assert!(
                            before.starts_with("bar.warp.sync"),
                            "{}.w{word} {entry}",
                            family.name()
                        );
                        barriers += 1;
                    }
                    before = line;
                }
            }
        }
        assert!(barriers > 0);
    }

    #[test]
    fn blocks_that_wait_are_at_work_together() {
        assert_eq!(Waits::of("slot_gather").together(132), 132);
        assert_eq!(Waits::of("barrier_cluster_8").together(800), 8);
        assert_eq!(Waits::of("pad_slide").together(800), 1);
        // One block, which waits for none.
        assert_eq!(Waits::of("pad_rows_alone"), Waits::Nobody);
    }
}
