//! Figures 6.6 to 6.14: programs on grids in several layouts, with the cost of converting and without.

use anyhow::{Result, ensure};

use super::bench::{Bench, number};
use super::table::Table;
use crate::error::Refused;
use crate::grids::{Cube, Stencil, convert};
use crate::steering::middle;

pub const COLUMNS: &[&str] =
    &["application", "side", "layout", "step_us", "converting_us", "speedup", "net_speedup"];

/// Names and sides, on a host and on a GPU.
const PROGRAMS: [(&str, Stencil, &[usize], &[usize]); 3] = [
    ("LBM", Stencil::Lbm, &[64, 128], &[128, 160, 192]),
    ("heat", Stencil::Heat, &[192, 256], &[256, 320, 384, 512]),
    ("red-black", Stencil::RedBlack, &[192, 256], &[256, 320, 384, 512]),
];

/// Steps over which a conversion there and back is spread, the most of the thesis's figures 5.4 to 5.6.
const STEPS: f64 = 30.0;

pub fn chapter_6(bench: &mut Bench, table: &mut Table) -> Result<()> {
    for (name, stencil, host, gpu) in PROGRAMS {
        let sides = match (bench.quick(), bench.is_gpu()) {
            (true, true) => &[130][..],
            (true, _) => &[8],
            (_, true) => gpu,
            (_, false) => host,
        };
        for &side in sides {
            cube(bench, table, name, Cube { stencil, side })?;
        }
    }
    Ok(())
}

/// Every layout, after the results have been compared bit by bit.
fn cube(bench: &mut Bench, table: &mut Table, name: &str, cube: Cube) -> Result<()> {
    // On a host that others use, layouts are timed in turns.
    let turns = if bench.quick() || bench.is_gpu() { 1 } else { 3 };
    let threads = if bench.is_gpu() { rayon::current_num_threads() } else { 1 };
    let all = cube.layouts(if bench.is_gpu() { 32 } else { 16 })?;
    let rows = &all[0].at;
    let span = all.iter().map(|lies| lies.at.span()).max().unwrap_or(0);
    let (mut times, mut wanted) = (vec![(Vec::new(), Vec::new()); all.len()], None);
    for _ in 0..turns {
        for (lies, (steps, conversions)) in all.iter().zip(&mut times) {
            let mut state = cube.start(span);
            let there = convert(&mut state.from, rows, &lies.at, threads)?;
            let none = || Refused(format!("no kernel for {cube:?}"));
            let program = || Ok(cube.program(lies, span).ok_or_else(none)?);
            steps.push(bench.application(program, &mut state, |state| cube.step(state, lies))?);
            let back = convert(&mut state.to, &lies.at, rows, threads)?;
            conversions.push(if bench.is_gpu() {
                bench.converting(rows, &lies.at)? + bench.converting(&lies.at, rows)?
            } else {
                there + back
            });
            let got: Vec<u32> =
                state.to[..cube.len()].iter().map(|value| value.to_bits()).collect();
            let same = wanted.get_or_insert_with(|| got.clone()) == &got;
            ensure!(
                same,
                "{cube:?}: what comes out of {} is not what comes out of rows",
                lies.name
            );
        }
    }
    let first = middle(&mut times[0].0);
    for (lies, (steps, conversions)) in all.iter().zip(&mut times) {
        let (step, cost) = (middle(steps), middle(conversions));
        let net = STEPS * first / (cost + STEPS * step);
        let numbers = [1e6 * step, 1e6 * cost, first / step, net].map(number);
        let names = [name.to_owned(), cube.side.to_string(), lies.name.to_owned()];
        table.push([&names[..], &numbers].concat());
    }
    Ok(())
}
