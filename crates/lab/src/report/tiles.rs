//! Figures 4.16 to 4.18: transposition 010!, tiles on their own.

use anyhow::Result;
use turntile_cuda::strategy::{Scope, Strategy};
use turntile_perm::Elementary;

use super::asta::{PROBLEMS, threads};
use super::bench::{Bench, cells};
use super::conflicts::layouts;
use super::table::Table;
use crate::flags::FlagLayout;

pub const FIGURE_4_16: &[&str] = &[
    "problem",
    "width",
    "tile",
    "layout",
    "spreading",
    "gb_per_s",
    "copy_gb_per_s",
    "percent_of_copy",
];
pub const FIGURE_4_17: &[&str] =
    &["tile", "width", "elements", "workers", "gb_per_s", "copy_gb_per_s", "percent_of_copy"];
pub const FIGURE_4_18: &[&str] =
    &["width", "method", "gb_per_s", "copy_gb_per_s", "percent_of_copy"];

/// The thesis's best layout.
const SPREAD: FlagLayout = FlagLayout::Spread { spreading: 32, padded: true };

/// As many `tile x width` tiles as fill the device.
fn tiles(bench: &Bench, tile: usize, width: usize) -> Elementary {
    let batch = (bench.elements() / (tile * width)).max(1);
    Elementary { batch, rows: tile, mid: 1, cols: width, unit: 1 }
}

/// PTTWAC with flags on chip in every layout (and with it the bandwidths of figures 4.11 and 4.13).
pub fn figure_4_16(bench: &mut Bench, table: &mut Table) -> Result<()> {
    for (name, _, width) in PROBLEMS {
        for tile in [16, 32, 64] {
            for (label, spreading, flags) in layouts() {
                let threads = threads(bench, tile * width);
                let speed = cells(bench.on_chip(tiles(bench, tile, width), flags, threads))?;
                let (width, tile) = (width.to_string(), tile.to_string());
                let names = [name, &width, &tile, label, &spreading.to_string()].map(String::from);
                table.push([names.to_vec(), speed.to_vec()].concat());
            }
        }
    }
    Ok(())
}

/// PTTWAC with flags on chip by work-groups of every size; on a host, by its threads.
pub fn figure_4_17(bench: &mut Bench, table: &mut Table) -> Result<()> {
    let workers: Vec<usize> = match bench.is_gpu() {
        true => vec![32, 64, 128, 256, 512, 1024],
        false => (1..=bench.threads()).collect(),
    };
    for tile in [16, 32, 64] {
        for width in widths(bench) {
            for &workers in &workers {
                let speed = cells(bench.on_chip(tiles(bench, tile, width), SPREAD, workers))?;
                let names = [tile, width, tile * width, workers].map(|n| n.to_string());
                table.push([names.to_vec(), speed.to_vec()].concat());
            }
        }
    }
    Ok(())
}

/// Widths from 16 to 256.
fn widths(bench: &Bench) -> Vec<usize> {
    match bench.quick() {
        true => vec![16, 100],
        false => vec![16, 24, 31, 48, 64, 80, 100, 127, 128, 160, 200, 215, 240, 256],
    }
}

/// P-IPT, PTTWAC as it was and as improved, and barrier-sync; tiles of 32.
pub fn figure_4_18(bench: &mut Bench, table: &mut Table) -> Result<()> {
    for width in widths(bench) {
        for (label, way) in [
            ("P-IPT", Ok(Strategy::PerCycle)),
            ("PTTWAC packed", Err(FlagLayout::PACKED)),
            ("PTTWAC spread and padded", Err(SPREAD)),
            ("barrier", Ok(Strategy::Barrier(Scope::Block))),
        ] {
            let (threads, tiles) = (threads(bench, 32 * width), tiles(bench, 32, width));
            let speed = cells(match way {
                Ok(way) => bench.stage(tiles.into(), way, 4, threads),
                Err(flags) => bench.on_chip(tiles, flags, threads),
            })?;
            table.push([vec![width.to_string(), label.to_owned()], speed.to_vec()].concat());
        }
    }
    Ok(())
}
