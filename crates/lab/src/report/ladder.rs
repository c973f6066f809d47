//! The literature's out-of-place transpositions: every kernel, tile and block, and a filter between whose
//! passes they stand.

use anyhow::Result;
use turntile::plan::Problem;
use turntile_cuda::Work;

use super::bench::{Bench, cells, number};
use super::table::Table;
use crate::gaussian::{self, Between};
use crate::ladder::{self, RUNGS, Rung};
use crate::program::Program;
use crate::samples::moved;

pub const SIZES: &[&str] =
    &["kernel", "tile", "block_rows", "side", "gb_per_s", "copy_gb_per_s", "percent_of_copy"];
pub const BEST: &[&str] = &[
    "kernel",
    "source",
    "shape",
    "tile_and_block_rows",
    "gb_per_s",
    "copy_gb_per_s",
    "percent_of_copy",
];
pub const BY_SIDE: &[&str] =
    &["kernel", "tile", "side", "gb_per_s", "copy_gb_per_s", "percent_of_copy"];
pub const SHARED: &[&str] = &[
    "kernel",
    "tile",
    "block_rows",
    "shared_bytes",
    "khan_bytes",
    "conflicts_a_tile",
    "worst_access",
];
pub const FILTER: &[&str] =
    &["side", "transposition", "milliseconds", "of_it_transposing", "over_padded"];

/// What is timed runs from one half of the memory to the other.
pub fn measure(
    bench: &mut Bench,
    rung: &Rung,
    (tile, block_rows): (usize, usize),
    (rows, cols): (usize, usize),
) -> Result<[String; 3]> {
    let program = ladder::program(rung, tile, block_rows, rows, cols)?;
    cells(bench.program(program, &moved(rung.transposes(), rows, cols)?))
}

/// Every kernel with every tile and block, on a square.
pub fn sizes(bench: &mut Bench, table: &mut Table) -> Result<()> {
    // Khan's side, and one that fills the chip.
    for side in if bench.quick() { vec![512] } else { vec![3072, 12_288] } {
        for rung in &RUNGS {
            for (tile, block_rows) in rung.sizes() {
                let speed = measure(bench, rung, (tile, block_rows), (side, side))?;
                let sizes = [tile, block_rows, side].map(|n| n.to_string());
                table.push([&[rung.name.to_owned()], &sizes[..], &speed].concat());
            }
        }
    }
    Ok(())
}

/// Khan's kernels by the side of the matrix, tile and block of the same sides.
pub fn by_side(bench: &mut Bench, table: &mut Table) -> Result<()> {
    let sides: &[usize] =
        if bench.quick() { &[256] } else { &[512, 1024, 1536, 2048, 3072, 4096, 6144, 8192] };
    for (tile, name) in [(16, "16 x 16"), (32, "32 x 32")] {
        for kernel in ["padded", "parallel-write"] {
            let rung = Rung::named(kernel).expect("on the ladder");
            for &side in sides {
                let speed = measure(bench, rung, (tile, tile), (side, side))?;
                let names = [kernel, name, &side.to_string()].map(String::from);
                table.push([&names[..], &speed].concat());
            }
        }
    }
    Ok(())
}

/// Every kernel in its best tile and block, and turntile's own: the squares of Harris, Khan, and reports A and K, a large
/// one, and a shape that no tile divides.
pub fn best(bench: &mut Bench, table: &mut Table) -> Result<()> {
    let squares = [1024, 3072, 4000, 4096, 16_384].map(|side| (side, side));
    for (rows, cols) in squares.into_iter().chain([(16_381, 20_011)]) {
        let (rows, cols) = (bench.side(rows), bench.side(cols));
        let shape = format!("{rows}x{cols}");
        for rung in &RUNGS {
            let mut best: Option<([String; 3], String)> = None;
            for (tile, block_rows) in rung.sizes() {
                let speed = measure(bench, rung, (tile, block_rows), (rows, cols))?;
                let rate = |cells: &[String; 3]| cells[0].parse::<f64>().unwrap_or(0.0);
                if best.as_ref().is_none_or(|best| rate(&speed) > rate(&best.0)) {
                    best = Some((speed, format!("{tile} x {block_rows}")));
                }
            }
            let Some((speed, size)) = best else { continue };
            let names = [rung.name, rung.source, &shape, &size].map(String::from);
            table.push([&names[..], &speed].concat());
        }
        let plan = bench.planner().plan(&Problem::new(rows, cols, 4)?.out_of_place()?)?;
        let program = Program::of(Work::of_plan(&plan)?);
        let speed = cells(bench.program(program, &moved(true, rows, cols)?))?;
        let names = ["transpose_into", "turntile's default", &shape, ""].map(String::from);
        table.push([&names[..], &speed].concat());
    }
    Ok(())
}

/// Khan's table 3: bytes of shared memory of a block, padded and without padding.
const TABLE_3: [(usize, &str, &str); 3] =
    [(16, "1088", "1024"), (32, "4224", "4096"), (48, "9408", "9216")];

/// Shared memory and bank conflicts of every kernel that uses some, computed.
pub fn shared_memory(_: &mut Bench, table: &mut Table) -> Result<()> {
    for rung in RUNGS.iter().filter(|rung| rung.shared_bytes(16) > 0) {
        for (tile, block_rows) in rung.sizes() {
            let (stores, loads) = rung.bank_cost(tile, block_rows);
            let known = TABLE_3.iter().find(|row| row.0 == tile);
            let known = known.map_or("", |row| match rung.name {
                "padded" => row.1,
                "selective-copying" | "parallel-write" => row.2,
                _ => "",
            });
            table.push([
                rung.name.to_owned(),
                tile.to_string(),
                block_rows.to_string(),
                rung.shared_bytes(tile).to_string(),
                known.to_owned(),
                (stores.conflicts() + loads.conflicts()).to_string(),
                stores.worst.max(loads.worst).to_string(),
            ]);
        }
    }
    Ok(())
}

/// Standard deviation of the filter, in pixels; its time does not depend on it.
const SIGMA: f32 = 10.0;

/// The recursive Gaussian filter with different transpositions between its passes.
pub fn filter(bench: &mut Bench, table: &mut Table) -> Result<()> {
    let sides: &[usize] = if bench.quick() { &[256] } else { &[512, 1024, 2048, 4096, 8192] };
    let rung = |name: &str| Rung::named(name).expect("on the ladder");
    for &side in sides {
        let gpu = bench.gpu().expect("an item of GPUs").clone();
        let image: Vec<f32> = (0..side * side).map(|k| (k * 7919 % 1021) as f32 / 1021.0).collect();
        // The host takes seconds for more.
        let want = (side <= 1024).then(|| gaussian::on_host(&image, side, side, SIGMA));
        let mut seconds = |between| {
            let program = gaussian::program(side, side, SIGMA, between, gpu.device())?;
            // Without transpositions what comes out is no filtered image.
            let want = want.as_deref().filter(|_| between != Between::Nothing);
            bench.filter(program, &image, want)
        };
        let alone = seconds(Between::Nothing)?;
        let padded = seconds(Between::Ladder(rung("padded"), 32, 8))?;
        for (name, between) in [
            ("none: the filter's own passes", Between::Nothing),
            ("padded, 32 x 8", Between::Ladder(rung("padded"), 32, 8)),
            ("parallel-write, 32 x 8", Between::Ladder(rung("parallel-write"), 32, 8)),
            ("turntile out of place", Between::Default),
            ("turntile in place", Between::InPlace),
        ] {
            let time = seconds(between)?;
            table.push([
                side.to_string(),
                name.to_owned(),
                number(time * 1e3),
                format!("{:.0}%", 100.0 * (1.0 - alone / time).max(0.0)),
                format!("{:.3}", padded / time),
            ]);
        }
    }
    Ok(())
}
