//! Figures 4.19 and 4.20: transposition 100!, super-elements moved across a matrix.

use anyhow::Result;
use turntile_cuda::strategy::Strategy;
use turntile_perm::Elementary;

use super::bench::{Bench, cells};
use super::table::Table;
use crate::moved::Held;

pub const FIGURE_4_19: &[&str] =
    &["super_element", "width", "version", "gb_per_s", "copy_gb_per_s", "percent_of_copy"];
pub const FIGURE_4_20: &[&str] = &[
    "super_element",
    "version",
    "thesis_gb_per_s",
    "gb_per_s",
    "copy_gb_per_s",
    "percent_of_copy",
];

/// A way to move super-elements.
#[derive(Clone, Copy, PartialEq)]
enum Version {
    Strategy(Strategy),
    /// The product's, where it holds them in registers.
    Registers,
    Held(Held),
}

/// The thesis's three versions on a GPU, a host's one, and P-IPT.
fn versions(bench: &Bench) -> Vec<(&'static str, Version)> {
    let p_ipt = ("P-IPT", Version::Strategy(Strategy::PerCycle));
    match bench.is_gpu() {
        true => vec![
            ("block with barriers", Version::Held(Held::Block)),
            ("shared-memory tiling", Version::Held(Held::Shared)),
            ("register tiling", Version::Registers),
            p_ipt,
        ],
        false => vec![("PTTWAC", Version::Strategy(Strategy::Moves)), p_ipt],
    }
}

/// Vectors of 16 bytes that a warp holds of a super-element in registers.
const IN_REGISTERS: usize = 4 * 32;

fn measure(
    bench: &mut Bench,
    elements: usize,
    rows: usize,
    unit: usize,
    version: Version,
) -> Result<[String; 3]> {
    let cols = (elements / unit / rows).max(2);
    let e = Elementary { batch: 1, rows, mid: 1, cols, unit };
    cells(match version {
        Version::Strategy(way) => bench.stage(e.into(), way, 4, bench.threads()),
        Version::Registers if unit * 4 > IN_REGISTERS * 16 => return Ok(Default::default()),
        Version::Registers => bench.stage(e.into(), Strategy::Moves, 4, 1),
        Version::Held(held) => bench.held(e, held),
    })
}

/// Versions of PTTWAC over the width, for super-elements of 16, 32 and 64 floats.
pub fn figure_4_19(bench: &mut Bench, table: &mut Table) -> Result<()> {
    let widths: &[usize] = if bench.quick() { &[16] } else { &[16, 31, 64, 100, 127, 200, 256] };
    for unit in [16, 32, 64] {
        for &width in widths {
            for (label, version) in versions(bench) {
                let speed = measure(bench, bench.elements(), width, unit, version)?;
                let names = [unit.to_string(), width.to_string(), label.to_owned()];
                table.push([names.to_vec(), speed.to_vec()].concat());
            }
        }
    }
    Ok(())
}

/// The thesis's means for super-elements of 8 to 64 (section 4.8.3).
const THESIS: [(usize, &str); 4] = [(8, "12.5"), (16, "24.5"), (32, "47.6"), (64, "69")];

/// The best versions over the length of a super-element.
pub fn figure_4_20(bench: &mut Bench, table: &mut Table) -> Result<()> {
    let units: &[usize] =
        if bench.quick() { &[8, 64] } else { &[8, 16, 32, 64, 128, 256, 512, 1024, 4096] };
    for &unit in units {
        for (label, version) in versions(bench) {
            if matches!(version, Version::Held(Held::Block) | Version::Strategy(Strategy::PerCycle))
            {
                continue;
            }
            // Long super-elements need a large matrix for many of them.
            let elements = bench.elements() * if bench.is_gpu() { 4 } else { 1 };
            let rows = 509.min(elements / unit / 2);
            let speed = measure(bench, elements, rows, unit, version)?;
            let thesis = THESIS.iter().find(|known| known.0 == unit).map_or("", |known| known.1);
            let names = [unit.to_string(), label.to_owned(), thesis.to_owned()];
            table.push([names.to_vec(), speed.to_vec()].concat());
        }
    }
    Ok(())
}
