//! The course reports' transposition on a CPU: two loops, one thread, out of place.

use anyhow::Result;

use super::bench::{Bench, cells};
use super::table::Table;

pub const COLUMNS: &[&str] = &[
    "shape",
    "how",
    "source_gb_per_s",
    "source_processor",
    "gb_per_s",
    "copy_gb_per_s",
    "percent_of_copy",
];

/// As the sources have it: row after row is read and a column of the result written.
fn two_loops(to: &mut [f32], from: &[f32], rows: usize, cols: usize) {
    for i in 0..rows {
        for j in 0..cols {
            to[j * rows + i] = from[i * cols + j];
        }
    }
}

/// Both reports' squares by two loops and by the library, on the host whatever the device.
pub fn cpu(bench: &mut Bench, table: &mut Table) -> Result<()> {
    for (side, source, processor) in [
        (4000, "2.54", "beside an A800"),
        (4096, "0.55", "beside a K80"),
        (4096, "0.85", "beside a GTX 850M"),
    ] {
        let n = bench.side(side);
        let speed = cells(bench.host_into(n, n, |to, from| {
            two_loops(to, from, n, n);
            Ok(())
        }))?;
        let names = [format!("{side}x{side}"), "two loops".into(), source.into(), processor.into()];
        table.push([names.to_vec(), speed.to_vec()].concat());
    }
    for side in [4000, 4096] {
        let n = bench.side(side);
        let speed = cells(bench.host_into(n, n, |to, from| {
            Ok(turntile::Transpose::new::<f32>(n, n)
                .threads(1)
                .out_of_place()
                .plan()?
                .run(from, to)?)
        }))?;
        let how = "turntile, one thread".to_owned();
        let names = [format!("{side}x{side}"), how, String::new(), String::new()];
        table.push([names.to_vec(), speed.to_vec()].concat());
    }
    Ok(())
}
