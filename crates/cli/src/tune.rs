//! `turntile tune`: candidates by stopwatch, on memory of the command's own.

use std::fmt::Write;
use std::path::Path;

use serde::Serialize;
use turntile::Measured;
use turntile::plan::{Tile, Wisdom};

use crate::args::TuneArgs;
use crate::bench::routes;
use crate::device::Device;
use crate::error::Error;
use crate::rates::Rates;
use crate::report::{bytes, duration, rate};
use crate::say::shown;
use crate::{file, speed, subject};

/// Candidates that the table shows; JSON has all.
const SHOWN: usize = 12;

/// Runs the command and returns what to print.
pub fn run(args: &TuneArgs) -> Result<String, Error> {
    let problem = subject::problem(&args.problem)?;
    if let Some(file) = args.problem.settings.wisdom() {
        writable(file)?;
    }
    let settings = &args.problem.settings;
    let by = |rates: &Rates| settings.transpose(&problem, rates).tiles(args.tiles.rule());
    let measured = match Device::find(&args.device, settings.threads)? {
        Device::Host => by(settings.rates.host(false)?).tune(args.budget)?,
        Device::Gpu(gpu) => by(&settings.rates.gpu(gpu.chip())?).tune_on(&gpu, args.budget)?,
    };
    Ok(match (args.csv, args.json) {
        (true, _) => csv(&measured),
        (_, true) => json(&measured),
        _ => table(&measured, args),
    })
}

/// Found out before the measuring, not after it.
fn writable(file: &Path) -> Result<(), Error> {
    file::refuse_unwritable(file, false)?;
    Wisdom::load(file)?;
    Ok(())
}

/// None where nothing moves: a call's time is not the speed of a move.
fn gb_per_s(Measured { plan, time, .. }: &Measured) -> Option<f64> {
    let rate = speed::gb_per_s(plan.problem.bytes() as f64, time.as_secs_f64());
    Some(rate).filter(|rate| plan.passes() > 0 && rate.is_finite())
}

fn table(measured: &[Measured], args: &TuneArgs) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    for candidate in measured.iter().take(SHOWN) {
        let plan = &candidate.plan;
        let Tile { m, n } = plan.tile();
        let _ = writeln!(
            text,
            "{:<22} {:>13} {:>9} {:>8} GB/s  (estimate {:>9})  runs {}, workspace {}",
            plan.route_name(),
            format!("{m}x{n}"),
            duration(candidate.time.as_secs_f64()),
            rate(gb_per_s(candidate)),
            duration(plan.seconds),
            candidate.runs,
            bytes(plan.workspace_bytes),
        );
    }
    let more = measured.len().saturating_sub(SHOWN);
    if more > 0 {
        let _ = writeln!(text, "and {more} slower ones");
    }
    let _ = write!(text, "{}", measured[0].plan);
    let _ = match args.problem.settings.wisdom() {
        Some(file) => write!(text, "\nremembered in {}", shown(file)),
        None => write!(text, "\nnot remembered: name a file with --wisdom"),
    };
    text
}

#[derive(Serialize)]
struct MeasuredJson {
    route: String,
    mirrored: bool,
    tile: Tile,
    seconds: f64,
    estimated_seconds: f64,
    gb_per_s: Option<f64>,
    runs: usize,
    workspace_bytes: usize,
    plan: String,
}

/// A line of names, then a line for each candidate.
fn csv(measured: &[Measured]) -> String {
    let mut text =
        "route,mirrored,m,n,seconds,estimated_seconds,gb_per_s,runs,workspace_bytes,plan"
            .to_string();
    for candidate in measured {
        let Measured { plan, time, runs } = candidate;
        let _ = write!(
            text,
            "\n{},{},{},{},{:.3e},{:.3e},{},{runs},{},\"{plan}\"",
            routes(plan),
            u8::from(plan.mirrored()),
            plan.tile().m,
            plan.tile().n,
            time.as_secs_f64(),
            plan.seconds,
            gb_per_s(candidate).map_or(String::new(), |rate| format!("{rate:.1}")),
            plan.workspace_bytes,
        );
    }
    text
}

fn json(measured: &[Measured]) -> String {
    let rows: Vec<_> = measured
        .iter()
        .map(|candidate| MeasuredJson {
            route: routes(&candidate.plan),
            mirrored: candidate.plan.mirrored(),
            tile: candidate.plan.tile(),
            seconds: candidate.time.as_secs_f64(),
            estimated_seconds: candidate.plan.seconds,
            gb_per_s: gb_per_s(candidate),
            runs: candidate.runs,
            workspace_bytes: candidate.plan.workspace_bytes,
            plan: candidate.plan.to_string(),
        })
        .collect();
    serde_json::to_string(&rows).expect("strings and numbers always serialise")
}
