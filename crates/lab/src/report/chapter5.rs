//! The items of the thesis's chapters 5 and 6: arrays of structures, and grids.

use super::item::{Item, On};
use super::views::View;
use super::{applications, asta, charts, grids, verdicts_layouts, verdicts_more};

/// In the order of the page.
pub static ITEMS: [Item; 6] = [
    Item {
        id: "figure-3.7",
        source: "thesis figure 3.7",
        shows: "the sum of a structure's members written to every member of another, 10^6 structures of floats, on AoS, ASTA of 32 and SoA; a host by one thread",
        source_says: "on NVIDIA's cards the time on AoS grows nearly linearly; on ATI's AoS is the faster below 14 floats.",
        on: On::Any,
        columns: applications::FIGURE_3_7,
        measure: applications::figure_3_7,
        verdict: verdicts_layouts::figure_3_7,
        views: &[
            View::Chart(&charts::FIGURE_3_7),
            View::Pivot { down: &["layout"], across: "floats", cell: "milliseconds" },
        ],
    },
    Item {
        id: "figure-5.2",
        source: "thesis figures 5.2, 5.4 to 5.6",
        shows: "LBM (D3Q19, 19 floats a cell, a periodic cube), Black-Scholes (5 floats) and SpMV-ELL (matrices of table 5.1's sizes, generated, all rows as long as the longest) on three layouts, results equal bit for bit, with and without converting in place; a host by one thread",
        source_says: "on a GTX 480 LBM gains above 4 and ASTA more than SoA, Black-Scholes little; with its conversion ASTA breaks even by iteration 4, SoA can stay below 1 at 30.",
        on: On::Any,
        columns: applications::FIGURE_5_2,
        measure: applications::figure_5_2,
        verdict: verdicts_layouts::figure_5_2,
        views: &[
            View::Dots(&charts::FIGURE_5_2),
            View::Chart(&charts::FIGURES_5_4),
            View::Pivot {
                down: &["application", "iterations"],
                across: "layout",
                cell: "net_speedup",
            },
        ],
    },
    Item {
        id: "table-5.2",
        source: "thesis table 5.2",
        shows: "AoS to ASTA in place, 17281 x 64 f32 in tiles of 16",
        source_says: "on a GTX 480 80.06 GB/s by Ruetsch and Micikevicius's transposition out of place, 82.23 by barrier-sync and 19.64 by PTTWAC in place.",
        on: On::Any,
        columns: asta::TABLE_5_2,
        measure: asta::table_5_2,
        verdict: verdicts_more::table_5_2,
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
        verdict: verdicts_more::table_5_3,
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
        verdict: verdicts_more::figure_5_7,
        views: &[
            View::Dots(&charts::FIGURE_5_7),
            View::Pivot { down: &["tile", "method"], across: "problem", cell: "gb_per_s" },
        ],
    },
    Item {
        id: "figures-6.6-6.14",
        source: "thesis figures 6.6 to 6.14",
        shows: "LBM (D3Q19), heat (3-D Jacobi) and red-black Gauss-Seidel on periodic cubes, in layouts that are selected for a memory and others, results equal bit for bit; speed over row-major, and net with the grid converted in place before and after 30 steps; a host by one thread, layouts in turns. A gain holds where half of the source's is there",
        source_says: "on a Tesla T10 LBM gains 7.2 by SoA and a further 1.52 by the parallel layout, which is steadier over sizes; heat gains 2.74 over a coalesced row-major, red-black 1.16.",
        on: On::Any,
        columns: grids::COLUMNS,
        measure: grids::chapter_6,
        verdict: verdicts_layouts::chapter_6,
        views: &[View::Dots(&charts::CHAPTER_6), View::Rows],
    },
];
