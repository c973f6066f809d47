//! `turntile tune`: candidates by stopwatch, on memory of the command's own.

use std::fmt::Write;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use serde_json::{Value, json};
use turntile::plan::{Measured, Tile, TileRule, Wisdom};

use crate::bench::routes;
use crate::device::Device;
use crate::plan::of_plan;
use crate::report::{bytes, duration, rate};
use crate::say::shown;
use crate::settings::tiles;
use crate::subject::ProblemArgs;
use crate::values::seconds;
use crate::{file, measure, subject};

/// Candidates that the table shows; JSON has all.
const SHOWN: usize = 12;

#[derive(Debug, Args)]
pub struct TuneArgs {
    #[command(flatten)]
    pub problem: ProblemArgs,
    /// Where to measure: host, cuda or cuda:N
    #[arg(long, value_name = "NAME", default_value = "host")]
    pub device: String,
    /// Which tiles of each route to try
    #[arg(long, value_name = "RULE", default_value = "all", value_parser = tiles())]
    pub tiles: TileRule,
    /// Seconds to spend; at least one candidate is measured
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = seconds, allow_negative_numbers = true)]
    pub budget: Duration,
    /// Print all as CSV
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
    /// Print all as JSON
    #[arg(long)]
    pub json: bool,
}

/// Runs the command and returns what to print.
pub fn run(args: &TuneArgs) -> Result<String> {
    let problem = subject::problem(&args.problem)?;
    if let Some(file) = args.problem.settings.wisdom() {
        // Found out before the measuring, not after it.
        file::refuse_unwritable(file)?;
        Wisdom::load(file)?;
    }
    let settings = &args.problem.settings;
    let transpose = settings.transpose(&problem).tiles(args.tiles);
    let measured = match Device::find(&args.device, settings.threads)? {
        Device::Host => transpose.tune(args.budget)?,
        Device::Gpu(gpu) => transpose.tune_on(&gpu, args.budget)?,
    };
    Ok(match (args.csv, args.json) {
        (true, _) => csv(&measured),
        (_, true) => json(&measured),
        _ => table(&measured, args),
    })
}

/// None where nothing moves: a call's time is not the speed of a move.
fn gb_per_s(Measured { plan, time, .. }: &Measured) -> Option<f64> {
    let rate = measure::gb_per_s(plan.problem.bytes() as f64, time.as_secs_f64());
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

/// A line of names, then a line for each candidate.
fn csv(measured: &[Measured]) -> String {
    let mut text =
        "route,mirrored,m,n,seconds,estimated_seconds,gb_per_s,runs,workspace_bytes,plan"
            .to_string();
    for candidate in measured {
        let Measured { plan, time, runs, .. } = candidate;
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
    let row = |candidate: &Measured| {
        let Measured { plan, time, runs, .. } = candidate;
        let mut row = of_plan(plan, gb_per_s(candidate));
        row["seconds"] = json!(time.as_secs_f64());
        row["runs"] = json!(runs);
        row
    };
    measured.iter().map(row).collect::<Value>().to_string()
}
