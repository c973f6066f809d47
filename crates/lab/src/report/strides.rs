//! Figure 2.2: a SAXPY by the stride of its elements; and where a report finds its best blocks.

use anyhow::Result;

use super::bench::{Bench, cells};
use super::ladder::measure;
use super::table::Table;
use crate::ladder::Rung;

pub const SAXPY: &[&str] = &["stride", "gb_per_s", "copy_gb_per_s", "percent_of_copy"];
pub const BLOCKS: &[&str] =
    &["kernel", "source", "tile", "block_rows", "gb_per_s", "copy_gb_per_s", "percent_of_copy"];

/// Elements of 4 bytes: enough that a cache holds few of them, and that two arrays of the longest stride have room.
const ELEMENTS: usize = 1 << 23;

/// Strides of 1 to 32 words.
pub fn saxpy(bench: &mut Bench, table: &mut Table) -> Result<()> {
    let elements = if bench.quick() { 1 << 12 } else { ELEMENTS };
    for stride in 1..=32 {
        let speed = cells(bench.saxpy(elements, stride))?;
        table.push([vec![stride.to_string()], speed.to_vec()].concat());
    }
    Ok(())
}

/// Report A's cases: tiles and blocks of the same sides, and unrolled ones, on its matrix.
pub fn blocks(bench: &mut Bench, table: &mut Table) -> Result<()> {
    let side = bench.side(4000);
    for (kernel, source, sizes) in [
        ("coalesced", "Shared", [(8, 8), (16, 16), (32, 32)]),
        ("parallel-write", "SharedwBC", [(8, 8), (16, 16), (32, 32)]),
        ("unrolled", "Unrolled", [(32, 8), (32, 16), (64, 16)]),
    ] {
        let rung = Rung::named(kernel).expect("on the ladder");
        for (tile, block_rows) in sizes {
            let speed = measure(bench, rung, (tile, block_rows), (side, side))?;
            let [tile, block_rows] = [tile, block_rows].map(|n: usize| n.to_string());
            let names = [kernel, source, &tile, &block_rows].map(String::from);
            table.push([&names[..], &speed].concat());
        }
    }
    Ok(())
}
