//! The table of items.

use super::bench::Bench;
use super::failure::Failure;
use super::table::Table;
use super::views::View;
use super::{
    asta, charts, conflicts, cycles, ladder, moves, names, padding, passes, plans, squares, tiles,
};

/// Where an item can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    /// Everywhere; some need no device at all.
    Any,
    /// On a GPU alone.
    Gpu,
}

/// A figure or table of a source.
pub struct Item {
    /// Name of its files.
    pub id: &'static str,
    /// Where it is from.
    pub source: &'static str,
    /// What it shows.
    pub shows: &'static str,
    /// What the source reports of it.
    pub source_says: &'static str,
    /// Where it can be measured.
    pub on: On,
    /// Columns of its table.
    pub columns: &'static [&'static str],
    /// Fills the table.
    pub measure: fn(&mut Bench, &mut Table) -> Result<(), Failure>,
    /// How it is shown.
    pub views: &'static [View],
}

impl Item {
    /// Whether a GPU, or a host, can measure it.
    pub fn runs_on(&self, gpu: bool) -> bool {
        gpu || self.on == On::Any
    }
}

/// All names, for whoever asks for another.
pub fn ids() -> String {
    ITEMS.iter().map(|item| item.id).collect::<Vec<_>>().join(", ")
}

/// Every item, in the order of the page.
pub static ITEMS: [Item; 23] = [
    Item {
        id: "figure-4.1",
        source: "thesis figure 4.1",
        shows: "A square f32 matrix transposed in place by swapping tile pairs",
        source_says: "on a Tesla C2050 (Fermi, 144 GB/s) about half of the peak for sufficiently large sides.",
        on: On::Any,
        columns: squares::COLUMNS,
        measure: squares::figure_4_1,
        views: &[View::Chart(&charts::FIGURE_4_1), View::Rows],
    },
    Item {
        id: "figure-4.4",
        source: "thesis figure 4.4, equation 4.1",
        shows: "Padding 5000 x 4900 f32 to a square in steps: how many rows can move at a time, and on a \
                GPU how fast each step is by itself (verified all together, in near-square)",
        source_says: "on a K20 (208 GB/s) throughput falls with the rows of a step and below 10 GB/s for the \
                      last 99, which move one by one after some 181 steps; 38.2 GB/s in all. (Its caption says 5K x 4K; equation \
                      4.1 leaves 99 rows for 5000 x 4900 and 8 for 5000 x 4000.)",
        on: On::Any,
        columns: padding::STEPS,
        measure: padding::figure_4_4,
        views: &[
            View::Chart(&charts::FIGURE_4_4_ROWS),
            View::Chart(&charts::FIGURE_4_4_SPEED),
            View::Rows,
        ],
    },
    Item {
        id: "padding",
        source: "thesis section 4.1.1",
        shows: "Padding and unpadding alone: rows in steps (the thesis's way) and data sliding (verified in \
                near-square)",
        source_says: "38.2 GB/s on a K20, 18% of its peak, and less the fewer columns are added.",
        on: On::Any,
        columns: padding::PASSES,
        measure: padding::passes,
        views: &[View::Dots(&charts::PADDING), View::Rows],
    },
    Item {
        id: "near-square",
        source: "thesis section 4.1",
        shows: "Near-square f32 matrices padded to squares in place, against the route taken without room \
                behind the matrix",
        source_says: "the overhead of padding pulls near-square matrices below 10 GB/s.",
        on: On::Any,
        columns: padding::NEAR_SQUARE,
        measure: padding::near_square,
        views: &[View::Rows],
    },
    Item {
        id: "figure-4.6",
        source: "thesis figure 4.6",
        shows: "Cycles of more than one element of every transposition below 30 x 30, in closed form",
        source_says: "squares have far more cycles than the rest; most rectangles have few.",
        on: On::Any,
        columns: cycles::COLUMNS,
        measure: cycles::figure_4_6,
        views: &[View::Map(&charts::FIGURE_4_6)],
    },
    Item {
        id: "table-4.1",
        source: "thesis table 4.1",
        shows: "Permutations of dimensions by their factorial numbers, and turntile's own below",
        source_says: "the names in its column.",
        on: On::Any,
        columns: names::COLUMNS,
        measure: names::table_4_1,
        views: &[View::Rows],
    },
    Item {
        id: "permutations",
        source: "thesis table 4.1, of any rank",
        shows: "How the axes of an array lie in memory after each pass of a plan, and the speed of the whole",
        source_says: "permutations of three and four dimensions, one after the other, make up a transposition.",
        on: On::Any,
        columns: passes::COLUMNS,
        measure: passes::permutations,
        views: &[
            View::Passes { name: "-heads", problem: "heads" },
            View::Passes { name: "-blocks", problem: "blocks" },
            View::Passes { name: "-reversed", problem: "reversed" },
            View::Passes { name: "-two-moves", problem: "two moves" },
            View::Passes { name: "-nhwc", problem: "NCHW to NHWC" },
            View::Passes { name: "-five", problem: "five axes" },
            View::Passes { name: "-cube", problem: "cube" },
            View::Passes { name: "-primes", problem: "primes" },
            View::Rows,
        ],
    },
    Item {
        id: "figures-4.11-4.13",
        source: "thesis figures 4.11 to 4.13",
        shows: "Conflicts of flag accesses, counted: the most work-items of a warp at one word, in one of 32 \
                banks, under one of 1024 locks, averaged over the first four steps of all cycles. The bandwidths are in figure-4.16",
        source_says: "spreading removes position conflicts and brings bank and lock conflicts where the tile is a power of \
                      two, which padding removes: up to 10% more bandwidth on a C2050.",
        on: On::Any,
        columns: conflicts::COLUMNS,
        measure: conflicts::figures_4_11_to_4_13,
        views: &[
            View::Pivot {
                down: &["problem", "tile", "layout"],
                across: "spreading",
                cell: "position_conflicts",
            },
            View::Pivot {
                down: &["problem", "tile", "layout"],
                across: "spreading",
                cell: "bank_conflicts",
            },
        ],
    },
    Item {
        id: "figure-4.16",
        source: "thesis figures 4.16, 4.11 and 4.13",
        shows: "010! by PTTWAC with flags on chip: spreading, padding and remapping, six widths, tiles of 16, 32 and 64",
        source_says: "on a K20 spreading brings 1.77 times on average and padding 12% more; a C2050 likewise.",
        on: On::Gpu,
        columns: tiles::FIGURE_4_16,
        measure: tiles::figure_4_16,
        views: &[
            View::Chart(&charts::FIGURE_4_16),
            View::Pivot {
                down: &["problem", "tile", "layout"],
                across: "spreading",
                cell: "gb_per_s",
            },
        ],
    },
    Item {
        id: "figure-4.17",
        source: "thesis figure 4.17",
        shows: "010! by PTTWAC with flags on chip, by work-items of a group (a host: by threads)",
        source_says: "the work for each work-item decides: the larger the tile, the larger the best group.",
        on: On::Any,
        columns: tiles::FIGURE_4_17,
        measure: tiles::figure_4_17,
        views: &[
            View::Chart(&charts::FIGURE_4_17),
            View::Pivot { down: &["tile", "width"], across: "workers", cell: "gb_per_s" },
        ],
    },
    Item {
        id: "figure-4.18",
        source: "thesis figure 4.18",
        shows: "010! in tiles of 32 by width: P-IPT, PTTWAC as it was and as improved, barrier-sync",
        source_says: "P-IPT depends on the cycles and beats the original PTTWAC for some widths; the improved one is 1.78 \
                      (GTX 580) to 1.84 (K20) times the original.",
        on: On::Any,
        columns: tiles::FIGURE_4_18,
        measure: tiles::figure_4_18,
        views: &[
            View::Chart(&charts::FIGURE_4_18),
            View::Pivot { down: &["width"], across: "method", cell: "gb_per_s" },
        ],
    },
    Item {
        id: "figure-4.19",
        source: "thesis figure 4.19",
        shows: "100! by width: the original block with barriers, shared-memory tiling, register tiling, P-IPT (a host: PTTWAC \
                and P-IPT)",
        source_says: "shared-memory tiling is 3.35 (GTX 580) and 3.05 (K20) times the original, register tiling 3.87 and \
                      3.74.",
        on: On::Any,
        columns: moves::FIGURE_4_19,
        measure: moves::figure_4_19,
        views: &[
            View::Chart(&charts::FIGURE_4_19),
            View::Pivot { down: &["super_element", "version"], across: "width", cell: "gb_per_s" },
        ],
    },
    Item {
        id: "figure-4.20",
        source: "thesis figure 4.20",
        shows: "100! by the length of a super-element, in floats",
        source_says: "12.5, 24.5, 47.6 and 69 GB/s for 8, 16, 32 and 64 on a K20 (section 4.8.3).",
        on: On::Any,
        columns: moves::FIGURE_4_20,
        measure: moves::figure_4_20,
        views: &[View::Chart(&charts::FIGURE_4_20), View::Rows],
    },
    Item {
        id: "table-4.2",
        source: "thesis table 4.2",
        shows: "Six f32 matrices by three stages, four, four with two fused, and by turntile's choice",
        source_says: "17.3 to 20.7 GB/s by three stages on a K20, 6.9 to 7.2 by four, 7.4 to 7.8 fused.",
        on: On::Any,
        columns: plans::TABLE_4_2,
        measure: plans::table_4_2,
        views: &[
            View::Dots(&charts::TABLE_4_2),
            View::Pivot { down: &["route"], across: "shape", cell: "gb_per_s" },
            View::Rows,
        ],
    },
    Item {
        id: "table-4.3",
        source: "thesis table 4.3",
        shows: "Means over the six matrices and their share of a copy, beside other processors'",
        source_says: "the rows that it reported.",
        on: On::Any,
        columns: plans::TABLE_4_3,
        measure: plans::table_4_3,
        views: &[View::Rows],
    },
    Item {
        id: "figure-4.21",
        source: "thesis figure 4.21",
        shows: "7200 x 1800 by three stages with every tile that fits, sides from 8 to 300 (a host: every second side)",
        source_says: "the best, 20.59 GB/s on a K20, lie along m · n < 3600 with sides about 60; sides from 50 to 100 give at \
                      least 80% of the best.",
        on: On::Any,
        columns: plans::FIGURE_4_21,
        measure: plans::figure_4_21,
        views: &[View::Map(&charts::FIGURE_4_21)],
    },
    Item {
        id: "table-5.2",
        source: "thesis table 5.2",
        shows: "AoS to ASTA in place, 17281 x 64 f32 in tiles of 16",
        source_says: "80.06 GB/s out of place, 82.23 by barrier-sync and 19.64 by PTTWAC in place, on a GTX 480.",
        on: On::Any,
        columns: asta::TABLE_5_2,
        measure: asta::table_5_2,
        views: &[View::Rows],
    },
    Item {
        id: "table-5.3",
        source: "thesis table 5.3",
        shows: "AoS to ASTA in place by PTTWAC and barrier-sync (BS), tiles of 64, 32 and 16",
        source_says: "the column beside ours, on a GTX 480; NA where the tile did not fit.",
        on: On::Any,
        columns: asta::TABLE_5_3_COLUMNS,
        measure: asta::table_5_3,
        views: &[View::Dots(&charts::TABLE_5_3), View::Rows],
    },
    Item {
        id: "figure-5.7",
        source: "thesis figure 5.7",
        shows: "SoA to ASTA: super-elements of 16, 32 and 64 moved by PTTWAC and by P-IPT",
        source_says: "PTTWAC depends on the tile alone (15.0 to 17.4 GB/s for 64); P-IPT ranges from 3.33 (e40r0000) to 13.65 \
                      (bcsstk18) at the same tile.",
        on: On::Any,
        columns: asta::FIGURE_5_7,
        measure: asta::figure_5_7,
        views: &[
            View::Dots(&charts::FIGURE_5_7),
            View::Pivot { down: &["tile", "method"], across: "problem", cell: "gb_per_s" },
        ],
    },
    Item {
        id: "ladder",
        source: "Khan, figures 7 and 8; Harris; two course reports",
        shows: "Out of place: every kernel of the literature in its best tile and block, and turntile's",
        source_says: "Khan, Quadro FX 7000: padded and parallel-write are about the same. A course report on an A800: naive 992, shared 1042, without conflicts 1147, unrolled 1179 of a copy's 1488 GB/s; on a K80: 43, 61, 92 and 119.",
        on: On::Gpu,
        columns: ladder::BEST,
        measure: ladder::best,
        views: &[
            View::Dots(&charts::LADDER),
            View::Pivot { down: &["kernel", "source"], across: "shape", cell: "percent_of_copy" },
            View::Rows,
        ],
    },
    Item {
        id: "ladder-sizes",
        source: "Khan, table 2 and figures 4 to 6",
        shows: "Out of place: every kernel with every tile and block rows, f32, 12288 x 12288",
        source_says: "blocks of one row are slowest, Selective Copying slowest of them; the rest are about the same.",
        on: On::Gpu,
        columns: ladder::SIZES,
        measure: ladder::sizes,
        views: &[
            View::Chart(&charts::LADDER_SIZES),
            View::Pivot { down: &["kernel", "tile"], across: "block_rows", cell: "gb_per_s" },
        ],
    },
    Item {
        id: "shared-memory",
        source: "Khan, tables 3 and 4",
        shows: "Shared memory of a block and bank conflicts of a tile, computed for 32 banks of 4 bytes",
        source_says: "its bytes beside ours. Conflicts: none by either at 32 x 32, 1162330 by padding at 16 x 16 and none by Parallel Write, by a profiler on a Quadro FX 7000.",
        on: On::Any,
        columns: ladder::SHARED,
        measure: ladder::shared_memory,
        views: &[View::Pivot {
            down: &["kernel", "tile", "shared_bytes", "khan_bytes"],
            across: "block_rows",
            cell: "conflicts_a_tile",
        }],
    },
    Item {
        id: "gaussian",
        source: "Khan, figures 9 and 10",
        shows: "A recursive Gaussian filter with transpositions between its passes (images up to 1024 x 1024 compared with the host's here, larger ones in the conformance suite)",
        source_says: "up to 6% less time with Parallel Write than with padding.",
        on: On::Gpu,
        columns: ladder::FILTER,
        measure: ladder::filter,
        views: &[
            View::Dots(&charts::GAUSSIAN),
            View::Pivot { down: &["transposition"], across: "side", cell: "milliseconds" },
            View::Pivot { down: &["transposition"], across: "side", cell: "over_padded" },
        ],
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn items_are_told_apart_and_documented() {
        let ids: BTreeSet<&str> = ITEMS.iter().map(|item| item.id).collect();
        assert_eq!(ids.len(), ITEMS.len());
        for item in &ITEMS {
            assert!(item.id.chars().all(|c| c.is_ascii_alphanumeric() || "-.".contains(c)));
            assert!(!item.shows.is_empty() && !item.shows.ends_with('.'), "{}", item.id);
            assert!(item.source.starts_with("thesis ") || item.source.starts_with("Khan, "));
            assert!(
                item.source_says.ends_with('.') || item.source_says.ends_with(')'),
                "{}",
                item.id
            );
            assert!(!item.columns.is_empty() && !item.views.is_empty());
            let columns: BTreeSet<_> = item.columns.iter().collect();
            assert_eq!(columns.len(), item.columns.len());
            for view in item.views {
                let missing = view.columns().into_iter().find(|name| !item.columns.contains(name));
                assert_eq!(missing, None, "{}", item.id);
            }
            let pictures: Vec<_> = item.views.iter().filter_map(View::picture).collect();
            assert_eq!(pictures.iter().collect::<BTreeSet<_>>().len(), pictures.len());
        }
    }

    #[test]
    fn every_figure_that_the_page_promises_is_there() {
        let sources: String = ITEMS.iter().map(|item| item.source).collect::<Vec<_>>().join("; ");
        for figure in [
            "4.1", "4.4", "4.6", "4.11", "4.13", "4.16", "4.17", "4.18", "4.19", "4.20", "4.21",
            "5.7",
        ] {
            assert!(sources.contains(figure), "figure {figure}");
        }
        for table in ["4.1", "4.2", "4.3", "5.2", "5.3"] {
            assert!(
                ITEMS.iter().any(|item| item.source == format!("thesis table {table}")),
                "{table}"
            );
        }
    }
}
