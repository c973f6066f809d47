//! The items of the other sources: transpositions out of place.

use super::item::{Item, On};
use super::views::View;
use super::{charts, ladder, naive, strides, verdicts_more};

/// In the order of the page.
pub static ITEMS: [Item; 7] = [
    Item {
        id: "ladder",
        source: "Khan, section 5; Harris; two course reports",
        shows: "Out of place: every kernel of the literature in its best tile and block, and turntile's",
        source_says: "Harris at 1024 x 1024, GB/s on a K20c: copy 136.0, copySharedMem 152.3, naive 55.3, coalesced 97.6, without conflicts 144.3. Khan, Quadro FX 7000: padded and parallel-write are about the same. A course report on an A800 at 4000 x 4000: naive 992, shared 1042, without conflicts 1147, unrolled 1179 of a copy's 1488; another on a K80 at 4096 x 4096: 43, 61, 92 and 119 (its unrolled tiles are padded, ours and the first one's diagonal).",
        on: On::Gpu,
        columns: ladder::BEST,
        measure: ladder::best,
        verdict: verdicts_more::ladder,
        views: &[
            View::Dots(&charts::LADDER),
            View::Pivot { down: &["kernel", "source"], across: "shape", cell: "percent_of_copy" },
            View::Rows,
        ],
    },
    Item {
        id: "ladder-sizes",
        source: "Khan, table 2 and figures 4 to 6",
        shows: "Out of place: every kernel with every tile and block rows, f32, 12288 x 12288 and Khan's 3072 x 3072",
        source_says: "blocks of one row are slowest, Selective Copying slowest of them; the rest are about the same.",
        on: On::Gpu,
        columns: ladder::SIZES,
        measure: ladder::sizes,
        verdict: verdicts_more::ladder_sizes,
        views: &[
            View::Chart(&charts::LADDER_SIZES),
            View::Chart(&charts::LADDER_SIZES_KHAN),
            View::Pivot {
                down: &["side", "kernel", "tile"],
                across: "block_rows",
                cell: "gb_per_s",
            },
        ],
    },
    Item {
        id: "ladder-blocks",
        source: "two course reports: the first's blocks",
        shows: "Out of place: the kernels of the report on an A800 in its tiles and blocks, f32, 4000 x 4000",
        source_says: "16 x 16 is the best of 8, 16 and 32 with shared memory, with conflicts and without; at 32 x 32 conflicts cost much; of the unrolled ones 32 x 16 is the best.",
        on: On::Gpu,
        columns: strides::BLOCKS,
        measure: strides::blocks,
        verdict: verdicts_more::blocks,
        views: &[View::Dots(&charts::BLOCKS), View::Rows],
    },
    Item {
        id: "ladder-by-side",
        source: "Khan, figures 7 and 8",
        shows: "Out of place: padding and Parallel Write by the side of the matrix, tiles and blocks of 16 x 16 and 32 x 32",
        source_says: "both take about the same time, with some gain for Parallel Write in tiles of 16 x 16.",
        on: On::Gpu,
        columns: ladder::BY_SIDE,
        measure: ladder::by_side,
        verdict: verdicts_more::by_side,
        views: &[
            View::Chart(&charts::BY_SIDE),
            View::Pivot { down: &["tile", "kernel"], across: "side", cell: "gb_per_s" },
        ],
    },
    Item {
        id: "shared-memory",
        source: "Khan, tables 3 and 4",
        shows: "Shared memory of a block and bank conflicts of a tile, computed for 32 banks of 4 bytes",
        source_says: "its bytes beside ours. Conflicts: none by either at 32 x 32, 1162330 by padding at 16 x 16 and none by Parallel Write, by a profiler on a Quadro FX 7000.",
        on: On::Nowhere,
        columns: ladder::SHARED,
        measure: ladder::shared_memory,
        verdict: verdicts_more::shared_memory,
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
        verdict: verdicts_more::gaussian,
        views: &[
            View::Dots(&charts::GAUSSIAN),
            View::Pivot { down: &["transposition"], across: "side", cell: "milliseconds" },
            View::Pivot { down: &["transposition"], across: "side", cell: "over_padded" },
        ],
    },
    Item {
        id: "cpu",
        source: "two course reports",
        shows: "Out of place on the host: two loops on one thread, and the library",
        source_says: "2.54 GB/s at 4000 x 4000 (beside an A800), 0.55 (a K80) and 0.85 (a GTX 850M) at 4096 x 4096.",
        on: On::Any,
        columns: naive::COLUMNS,
        measure: naive::cpu,
        verdict: verdicts_more::cpu,
        views: &[View::Rows],
    },
];
