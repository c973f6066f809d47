//! Synchronisation between blocks: which kernels wait for other blocks, and what guarantees that these are running.
//!
//! Synchronisation is a property of the kernel. A test compares the table with the device code.

/// Blocks that a block of a kernel waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockSync {
    /// No blocks: all blocks may run in any order, one after another.
    None,
    /// All blocks of the grid. The launch is cooperative, so that all are co-resident.
    Grid,
    /// All blocks of its cluster. The hardware schedules a cluster as one.
    Cluster,
    /// Blocks that took a lower number from a counter, and are therefore running or done.
    Earlier,
}

/// All kernels whose blocks wait for other blocks.
pub const SYNCHRONISED: [(&str, BlockSync); 25] = [
    ("barrier_grid", BlockSync::Grid),
    ("barrier_grid_wide", BlockSync::Grid),
    ("barrier_grid_kept", BlockSync::Grid),
    ("barrier_grid_kept_wide", BlockSync::Grid),
    ("barrier_grid_axes", BlockSync::Grid),
    ("barrier_team", BlockSync::Grid),
    ("barrier_team_wide", BlockSync::Grid),
    ("barrier_team_micro", BlockSync::Grid),
    ("barrier_team_columns", BlockSync::Grid),
    ("barrier_team_axes", BlockSync::Grid),
    ("slot_runs", BlockSync::Grid),
    ("slot_runs_back", BlockSync::Grid),
    ("slot_gather", BlockSync::Grid),
    ("slot_scatter", BlockSync::Grid),
    ("barrier_cluster", BlockSync::Cluster),
    ("barrier_cluster_wide", BlockSync::Cluster),
    ("barrier_cluster_axes", BlockSync::Cluster),
    ("cube_cluster_forward_2", BlockSync::Cluster),
    ("cube_cluster_forward_8", BlockSync::Cluster),
    ("cube_cluster_forward_16", BlockSync::Cluster),
    ("cube_cluster_back_2", BlockSync::Cluster),
    ("cube_cluster_back_8", BlockSync::Cluster),
    ("cube_cluster_back_16", BlockSync::Cluster),
    ("pad_slide", BlockSync::Earlier),
    ("pad_slide_panels", BlockSync::Earlier),
];

impl BlockSync {
    /// Returns the synchronisation of the kernel with that entry point.
    pub fn of(entry: &str) -> Self {
        SYNCHRONISED.iter().find(|row| row.0 == entry).map_or(BlockSync::None, |row| row.1)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::family::Family;

    /// Iterates over the entry points in PTX, each with its directives and body.
    fn entries(ptx: &str) -> impl Iterator<Item = (&str, &str)> {
        let entry = |text: &'static str| text;
        ptx.split(entry(".visible .entry ")).skip(1).map(|text| {
            let (name, rest) = text.split_once('(').expect("parameters follow the name");
            (name.trim(), rest)
        })
    }

    /// Returns the synchronisation found in the code. A barrier over the grid reads registers that a cooperative launch sets, and
    /// a barrier over a cluster is an instruction. Acquire loads belong to a loop that waits, and such a kernel must first take a
    /// number from a counter.
    fn shown(code: &str) -> BlockSync {
        if code.contains("%envreg") {
            return BlockSync::Grid;
        }
        if code.contains("barrier.cluster") {
            return BlockSync::Cluster;
        }
        match (code.find("ld.acquire"), code.find("atom.global.add")) {
            (Some(wait), Some(number)) => {
                assert!(number < wait, "waits before it has a number");
                BlockSync::Earlier
            }
            (Some(_), None) => panic!("waits by an unknown mechanism"),
            (None, _) => BlockSync::None,
        }
    }

    #[test]
    fn the_table_says_what_the_device_code_does() {
        let mut waiting = BTreeSet::new();
        for family in Family::ALL {
            for word in [1, 2, 4, 8, 16] {
                for (entry, code) in entries(family.ptx(word)) {
                    assert_eq!(
                        BlockSync::of(entry),
                        shown(code),
                        "{}.w{word} {entry}",
                        family.name()
                    );
                    if BlockSync::of(entry) != BlockSync::None {
                        waiting.insert(entry);
                    }
                }
            }
        }
        assert_eq!(
            waiting,
            SYNCHRONISED.iter().map(|row| row.0).collect(),
            "kernels whose blocks wait"
        );
    }

    /// Checks that warps converge before a cluster barrier, which requires all their lanes. Lanes can come from loops of
    /// different lengths.
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
}
