//! The pictures of the items.

use super::dots::Dots;
use super::map::{Map, Shades};
use super::plot::Chart;
use super::scale::{Axis, Scale};

/// In most of them.
const SPEED: Axis = Axis::new("gb_per_s", "GB/s", Scale::Linear);
const SPEED_LOG: Axis = Axis::new("gb_per_s", "GB/s", Scale::Log);

/// What a chart is where it does not say.
const PLAIN: Chart = Chart {
    name: "",
    title: "",
    x: SPEED,
    y: SPEED,
    series: &[],
    named: "",
    panels: None,
    only: &[],
    joined: false,
    beside: None,
    what: "turntile",
};

pub const FIGURE_4_1: Chart = Chart {
    title: "Squares of f32 transposed in place by pairs of tiles",
    x: Axis::new("side", "rows and columns of the matrix", Scale::Doubling),
    joined: true,
    what: "turntile, route square",
    ..PLAIN
};

pub const FIGURE_4_4_ROWS: Chart = Chart {
    name: "-rows",
    title: "Padding 5000 x 4900 to a square: rows that can move at a time (equation 4.1)",
    x: Axis::new("step", "step", Scale::Between),
    y: Axis::new("async_movable_rows", "rows", Scale::Linear),
    joined: true,
    what: "rows that lie wholly in front of their places",
    ..PLAIN
};

pub const FIGURE_4_4_SPEED: Chart = Chart {
    name: "-speed",
    title: "Padding 5000 x 4900 to a square: speed of each step by itself",
    y: SPEED_LOG,
    what: "a step of rows",
    ..FIGURE_4_4_ROWS
};

pub const PADDING: Dots = Dots {
    name: "",
    title: "Padding and unpadding alone",
    group: None,
    named: ["", ""],
    rows: &["shape", "pass"],
    series: "method",
    value: SPEED_LOG,
    beside: None,
    copy: Some("copy_gb_per_s"),
};

pub const FIGURE_4_6: Map = Map {
    name: "",
    title: "Cycles of more than one element of every transposition below 30 x 30",
    x: ("cols", "columns"),
    y: ("rows", "rows"),
    value: "cycles",
    shades: Shades::Doublings,
    rules: false,
    only: &[],
};

pub const FIGURE_4_16: Chart = Chart {
    title: "010! by PTTWAC, flags on chip, padded: spreading the flag bits over words",
    x: Axis::new("spreading", "spreading factor", Scale::Doubling),
    y: SPEED_LOG,
    series: &["tile"],
    named: "tile of rows: ",
    panels: Some(("problem", "")),
    only: &[("layout", "padded")],
    joined: true,
    ..PLAIN
};

pub const FIGURE_4_16_SPREAD: Chart = Chart {
    name: "-spread",
    title: "010! by PTTWAC, flags on chip, not padded: spreading the flag bits over words",
    only: &[("layout", "spread")],
    ..FIGURE_4_16
};

pub const FIGURE_4_17: Chart = Chart {
    title: "010! by PTTWAC: work-items of a group (a host: threads)",
    x: Axis::new("width", "width of a tile, in floats", Scale::Between),
    y: SPEED_LOG,
    series: &["workers"],
    named: "workers: ",
    panels: Some(("tile", "tiles with rows: ")),
    ..PLAIN
};

pub const FIGURE_4_18: Chart = Chart {
    title: "010! in tiles of 32 rows: P-IPT, PTTWAC and barrier-sync",
    x: Axis::new("width", "width of a tile, in floats", Scale::Between),
    y: SPEED_LOG,
    series: &["method"],
    ..PLAIN
};

pub const FIGURE_4_19: Chart = Chart {
    title: "100!: versions of PTTWAC, and P-IPT, by width",
    x: Axis::new("width", "super-elements across the matrix", Scale::Between),
    y: SPEED_LOG,
    series: &["version"],
    panels: Some(("super_element", "floats of a super-element: ")),
    ..PLAIN
};

pub const FIGURE_4_20: Chart = Chart {
    title: "100! by the length of a super-element",
    x: Axis::new("super_element", "floats of a super-element", Scale::Doubling),
    y: SPEED_LOG,
    series: &["version"],
    joined: true,
    beside: Some(("thesis_gb_per_s", "the thesis, on a K20")),
    ..PLAIN
};

pub const TABLE_4_2: Dots = Dots {
    title: "Six matrices by three stages, by four, and by turntile's choice",
    group: Some("shape"),
    rows: &["route"],
    series: "methods",
    beside: Some(("thesis_gb_per_s", "hollow: the thesis, on a K20")),
    ..PADDING
};

pub const FIGURE_4_21: Map = Map {
    name: "",
    title: "7200 x 1800 by three stages, each by its fastest method, with every tile of sides 8 to 300",
    x: ("n", "n: columns of a tile (the divisors of 1800)"),
    y: ("m", "m: rows of a tile (the divisors of 7200)"),
    value: "gb_per_s",
    shades: Shades::Sixths,
    rules: true,
    only: &[("methods", "any method")],
};

pub const FIGURE_4_21_THESIS: Map = Map {
    name: "-thesis",
    title: "7200 x 1800 by three stages, of PTTWAC and of barrier-sync in tiles, with every tile of sides 8 to 300",
    only: &[("methods", "PTTWAC and barrier-sync")],
    ..FIGURE_4_21
};

pub const FIGURE_4_21_PTTWAC: Map = Map {
    name: "-pttwac",
    title: "7200 x 1800 by three stages of PTTWAC with every tile of sides 8 to 300",
    only: &[("methods", "PTTWAC")],
    ..FIGURE_4_21
};

pub const TABLE_5_3: Dots = Dots {
    title: "AoS to ASTA in place: PTTWAC and barrier-sync (BS), tiles of 64, 32 and 16",
    group: Some("problem"),
    named: ["", "tile "],
    rows: &["tile"],
    series: "method",
    beside: Some(("thesis_gb_per_s", "hollow: the thesis, on a GTX 480")),
    ..PADDING
};

pub const FIGURE_5_7: Dots = Dots {
    title: "SoA to ASTA: super-elements of a tile moved by PTTWAC and by P-IPT",
    group: Some("tile"),
    named: ["tile ", ""],
    rows: &["problem"],
    series: "method",
    beside: None,
    ..PADDING
};

pub const FIGURE_3_7: Chart = Chart {
    title: "A sum over the members of 10^6 structures, written to all members of others",
    x: Axis::new("floats", "floats of a structure", Scale::Doubling),
    y: Axis::new("milliseconds", "ms", Scale::Log),
    series: &["layout"],
    joined: true,
    ..PLAIN
};

pub const FIGURE_5_2: Dots = Dots {
    title: "Kernels on AoS, ASTA and SoA: speed over AoS, without converting",
    rows: &["application"],
    series: "layout",
    value: Axis::new("speedup", "time of a step on AoS / time; above 1 is faster", Scale::Linear),
    beside: None,
    copy: None,
    ..PADDING
};

pub const CHAPTER_6: Dots = Dots {
    title: "Stencils on cubes: speed over row-major, without converting",
    group: Some("application"),
    named: ["", "side "],
    rows: &["side"],
    value: Axis::new("speedup", "time of a step row-major / time; above 1 is faster", Scale::Log),
    ..FIGURE_5_2
};

pub const FIGURES_5_4: Chart = Chart {
    name: "-net",
    title: "The same with the cost of converting in place, by iterations",
    x: Axis::new("iterations", "iterations", Scale::Doubling),
    y: Axis::new("net_speedup", "speed over AoS, net", Scale::Linear),
    series: &["layout"],
    panels: Some(("application", "")),
    joined: true,
    ..PLAIN
};

pub const STAGES: Dots = Dots {
    title: "What the thesis says in its text (sections 4.4 to 4.7)",
    rows: &["what"],
    series: "method",
    beside: Some(("thesis_gb_per_s", "hollow: the thesis")),
    ..PADDING
};

pub const LADDER: Dots = Dots {
    title: "Out of place: kernels of the literature in their best tile and block",
    group: None,
    named: ["", ""],
    rows: &["kernel"],
    series: "shape",
    value: Axis::new("percent_of_copy", "% of a copy of as many bytes", Scale::Linear),
    beside: None,
    copy: None,
    name: "",
};

pub const LADDER_SIZES: Chart = Chart {
    title: "Out of place, 12288 x 12288: every kernel with every tile and block rows",
    only: &[("side", "12288")],
    x: Axis::new("block_rows", "rows of a block of threads", Scale::Doubling),
    series: &["tile"],
    named: "tile ",
    panels: Some(("kernel", "")),
    joined: true,
    ..PLAIN
};

pub const LADDER_SIZES_KHAN: Chart = Chart {
    name: "-3072",
    title: "Out of place, 3072 x 3072 (Khan's): every kernel with every tile and block rows",
    only: &[("side", "3072")],
    ..LADDER_SIZES
};

pub const BLOCKS: Dots = Dots {
    title: "Out of place, 4000 x 4000: report A's kernels by tile and block rows",
    rows: &["tile", "block_rows"],
    series: "source",
    ..PADDING
};

pub const SAXPY: Chart = Chart {
    title: "SAXPY of elements some words apart",
    x: Axis::new("stride", "words from one element to the next", Scale::Between),
    joined: true,
    what: "y[i * stride] = a * x[i * stride] + y[i * stride]",
    ..PLAIN
};

pub const DIVERGENCE: Chart = Chart {
    name: "-divergence",
    title: "Flags on chip, spread: divergent branches of a loop that takes locks (figure 4.11)",
    x: Axis::new("spreading", "spreading factor", Scale::Doubling),
    y: Axis::new("divergent_percent", "% of the branches", Scale::Linear),
    series: &["tile"],
    named: "tile of rows: ",
    panels: Some(("problem", "")),
    only: &[("layout", "spread")],
    joined: true,
    ..PLAIN
};

pub const BANKS: Chart = Chart {
    name: "-banks",
    title: "Flags on chip, tiles of 32 rows: bank conflicts (figure 4.13)",
    y: Axis::new("bank_conflicts", "accesses for one", Scale::Linear),
    series: &["layout"],
    named: "",
    only: &[("tile", "32")],
    ..DIVERGENCE
};

pub const BY_SIDE: Chart = Chart {
    title: "Out of place, tile and block 16 x 16 and 32 x 32: by the side of the matrix",
    x: Axis::new("side", "rows and columns of the matrix", Scale::Doubling),
    series: &["kernel"],
    panels: Some(("tile", "tile and block of ")),
    joined: true,
    ..PLAIN
};

pub const GAUSSIAN: Dots = Dots {
    name: "",
    title: "A recursive Gaussian filter: time with padded transpositions over time with others",
    group: None,
    named: ["", "side "],
    rows: &["side"],
    series: "transposition",
    value: Axis::new(
        "over_padded",
        "time with the padded kernel / time; above 1 is faster",
        Scale::Between,
    ),
    beside: None,
    copy: None,
};
