//! Figures 3.7, 5.2 and 5.4 to 5.6: kernels on AoS, ASTA and SoA, with the cost of converting and without.

use anyhow::{Result, ensure};
use turntile::layout::RecordOrder;

use super::asta::PROBLEMS;
use super::bench::{Bench, number};
use super::table::Table;
use crate::applications::{Application, LAYOUTS, State, TILE};
use crate::error::Refused;

pub const FIGURE_3_7: &[&str] = &["floats", "layout", "milliseconds"];
pub const FIGURE_5_2: &[&str] =
    &["application", "layout", "iterations", "step_ms", "converting_ms", "speedup", "net_speedup"];

/// Floats of the structures of figure 3.7.
pub const FLOATS: [usize; 6] = [1, 2, 4, 8, 16, 32];

/// Steps over which a conversion is spread, up to the thesis's 30.
const ITERATIONS: [usize; 6] = [1, 2, 4, 8, 16, 30];

/// Seconds of a step in each layout, after the results have been compared bit by bit.
fn steps(bench: &mut Bench, application: Application) -> Result<Vec<f64>> {
    let mut wanted: Option<Vec<u32>> = None;
    let mut seconds = Vec::new();
    for (name, layout) in LAYOUTS {
        let mut state = application.start();
        application.arrange(&mut state, layout)?;
        let none = || Refused(format!("no kernel for {application:?}"));
        let program = || Ok(application.program(layout).ok_or_else(none)?);
        let step = |state: &mut State| application.step(state, layout);
        seconds.push(bench.application(program, &mut state, step)?);
        application.gather(&mut state.to, layout)?;
        let got: Vec<u32> = state.to.iter().map(|value| value.to_bits()).collect();
        let same = wanted.get_or_insert_with(|| got.clone()) == &got;
        ensure!(same, "{application:?}: what comes out of {name} is not what comes out of AoS");
    }
    Ok(seconds)
}

/// Seconds of all conversions that a layout costs.
fn converting(bench: &mut Bench, application: Application, layout: RecordOrder) -> Result<f64> {
    let (there, back) = application.conversions();
    let mut seconds = 0.0;
    for (times, from, to) in [(there, RecordOrder::Aos, layout), (back, layout, RecordOrder::Aos)] {
        if times > 0 && from != to {
            let records = application.relayout(from, to).problem()?;
            let axes = application.axes(from, to).expect("one of them is AoS");
            seconds += times as f64 * bench.relayout(&records, &axes)?;
        }
    }
    Ok(seconds)
}

/// 10^6 structures.
pub fn figure_3_7(bench: &mut Bench, table: &mut Table) -> Result<()> {
    for floats in FLOATS {
        let records = bench.side(1_000_000) / TILE * TILE;
        let seconds = steps(bench, Application::Members { records, floats })?;
        for ((name, _), seconds) in LAYOUTS.iter().zip(seconds) {
            table.push([floats.to_string(), name.to_string(), number(1e3 * seconds)]);
        }
    }
    Ok(())
}

/// LBM, Black-Scholes, and SpMV-ELL with six generated matrices.
pub fn figure_5_2(bench: &mut Bench, table: &mut Table) -> Result<()> {
    let side = match (bench.quick(), bench.is_gpu()) {
        (true, _) => 8,
        (_, true) => 128,
        (_, false) => 64,
    };
    let mut all = vec![
        ("LBM".to_owned(), Application::Lbm { side }),
        ("Black-Scholes".to_owned(), Application::Options { records: bench.elements() / 4 }),
    ];
    all.extend(PROBLEMS.iter().map(|&(name, rows, width)| {
        let rows = bench.side(rows).next_multiple_of(TILE);
        (format!("SpMV, {name}"), Application::Ell { rows, width })
    }));
    for (name, application) in all {
        let seconds = steps(bench, application)?;
        for ((label, layout), step) in LAYOUTS.into_iter().zip(&seconds) {
            let cost = converting(bench, application, layout)?;
            for iterations in ITERATIONS {
                let times = iterations as f64;
                let net = times * seconds[0] / (cost + times * step);
                let ms = [*step, cost].map(|seconds| number(1e3 * seconds));
                // Without the conversion it is the same for all.
                let first = iterations == ITERATIONS[0];
                let speedup = if first { number(seconds[0] / step) } else { String::new() };
                let names = [name.clone(), label.to_owned(), iterations.to_string()];
                table.push([&names[..], &ms, &[speedup, number(net)]].concat());
            }
        }
    }
    Ok(())
}
