//! Tables 5.2 and 5.3, figure 5.7: arrays of structures to tiled arrays and on.

use anyhow::Result;
use turntile_cuda::strategy::{Scope, Strategy};
use turntile_perm::Elementary;

use super::bench::{Bench, cells};
use super::table::Table;
use crate::flags::FlagLayout;
use crate::ladder::{self, Rung};
use crate::samples::moved;

/// The thesis's matrices: name, rows, and elements of the longest row (table 5.1).
pub const PROBLEMS: [(&str, usize, usize); 6] = [
    ("bcsstk18", 11948, 40),
    ("e40r0000", 17281, 62),
    ("bcsstk31", 35588, 197),
    ("bcsstk32", 44609, 215),
    ("s3dkq4m2", 90449, 59),
    ("conf6.0", 49152, 39),
];

/// Table 5.3 on a GTX 480: PTTWAC and barrier-sync, tiles of 64, 32 and 16, in GB/s.
const TABLE_5_3: [[&str; 6]; 6] = [
    ["8.6", "17.0", "20.3", "55.6", "59.4", "73.4"],
    ["6.9", "14.0", "19.6", "51.2", "61.0", "82.2"],
    ["5.3", "5.8", "8.2", "NA", "23.2", "79.7"],
    ["5.0", "5.6", "7.4", "NA", "23.8", "80.6"],
    ["7.1", "16.6", "21.3", "61.3", "67.0", "93.1"],
    ["11.7", "19.2", "20.6", "67.9", "67.9", "86.8"],
];

pub const TABLE_5_2: &[&str] =
    &["kernel", "thesis_gb_per_s", "gb_per_s", "copy_gb_per_s", "percent_of_copy"];
pub const TABLE_5_3_COLUMNS: &[&str] = &[
    "problem",
    "width",
    "method",
    "tile",
    "thesis_gb_per_s",
    "gb_per_s",
    "copy_gb_per_s",
    "percent_of_copy",
];
pub const FIGURE_5_7: &[&str] =
    &["problem", "width", "tile", "method", "gb_per_s", "copy_gb_per_s", "percent_of_copy"];

/// The thesis's two methods for tiles.
#[derive(Clone, Copy)]
enum Method {
    Barrier,
    OnChip,
}

/// Tiles by one of them, PTTWAC with its best layout of flags.
fn tiles_by(bench: &mut Bench, tiles: Elementary, method: Method) -> Result<[String; 3]> {
    let threads = threads(bench, tiles.instance_len());
    cells(match method {
        Method::Barrier => bench.stage(tiles.into(), Strategy::Barrier(Scope::Block), 4, threads),
        Method::OnChip => {
            bench.on_chip(tiles, FlagLayout::Spread { spreading: 32, padded: true }, threads)
        }
    })
}

fn shape(batch: usize, rows: usize, cols: usize, unit: usize) -> Elementary {
    Elementary { batch, rows, mid: 1, cols, unit }
}

/// Threads of a group of a GPU, an element in four each; or all of a host's.
pub fn threads(bench: &Bench, elements: usize) -> usize {
    match bench.is_gpu() {
        true => (elements / 4).next_multiple_of(32).clamp(32, 1024),
        false => bench.threads(),
    }
}

/// e40r0000 in tiles of 16 (17281 x 64).
pub fn table_5_2(bench: &mut Bench, table: &mut Table) -> Result<()> {
    let tiles = shape(bench.side(17_281) / 16, 16, 64, 1);
    for (kernel, thesis, method) in [
        ("AoS to ASTA, barrier-sync, in place", "82.23", Method::Barrier),
        ("AoS to ASTA, PTTWAC, in place", "19.64", Method::OnChip),
    ] {
        let speed = tiles_by(bench, tiles, method)?;
        table.push([vec![kernel.to_owned(), thesis.to_owned()], speed.to_vec()].concat());
    }
    // Ruetsch and Micikevicius's kernel; a host has no kernel, but the library's own way.
    let (rows, cols) = (bench.side(17_281), 64);
    let (name, speed) = match bench.is_gpu() {
        true => {
            let rung = Rung::named("padded").expect("on the ladder");
            let program = ladder::program(rung, 32, 8, rows, cols)?;
            ("padded tiles of 32 x 32", bench.program(program, &moved(true, rows, cols)?))
        }
        false => {
            let into = |to: &mut [f32], from: &[f32]| -> Result<()> {
                Ok(turntile::transpose_into(from, to, rows, cols)?)
            };
            ("turntile's transpose_into", bench.host_into(rows, cols, into))
        }
    };
    let name = format!("AoS to SoA, out of place: {name}");
    table.push([vec![name, "80.06".to_owned()], cells(speed)?.to_vec()].concat());
    Ok(())
}

/// Every matrix in tiles of 64, 32 and 16.
pub fn table_5_3(bench: &mut Bench, table: &mut Table) -> Result<()> {
    for ((name, rows, width), thesis) in PROBLEMS.into_iter().zip(TABLE_5_3) {
        let methods = [("PTTWAC", Method::OnChip), ("BS", Method::Barrier)];
        let columns = methods.iter().flat_map(|method| [64, 32, 16].map(|tile| (*method, tile)));
        for (((label, method), tile), thesis) in columns.zip(thesis) {
            let tiles = shape((bench.side(rows) / tile).max(1), tile, width, 1);
            let speed = tiles_by(bench, tiles, method)?;
            let (width, tile) = (width.to_string(), tile.to_string());
            let names = [name, &width, label, &tile, thesis].map(String::from);
            table.push([names.to_vec(), speed.to_vec()].concat());
        }
    }
    Ok(())
}

/// SoA to ASTA: super-elements of a tile moved across the matrix.
pub fn figure_5_7(bench: &mut Bench, table: &mut Table) -> Result<()> {
    for (name, rows, width) in PROBLEMS {
        for tile in [16, 32, 64] {
            let across = shape(1, width, (bench.side(rows) / tile).max(2), tile);
            for (label, method) in [("PTTWAC", Strategy::Moves), ("P-IPT", Strategy::PerCycle)] {
                let speed = cells(bench.stage(across.into(), method, 4, bench.threads()))?;
                let (width, tile) = (width.to_string(), tile.to_string());
                let names = [name, &width, &tile, label].map(String::from);
                table.push([names.to_vec(), speed.to_vec()].concat());
            }
        }
    }
    Ok(())
}
