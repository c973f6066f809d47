//! `turntile tune`: candidates measured on this machine.

use std::fmt::Write;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use serde::Serialize;
use serde_json::{Value, json};
use turntile::plan::{Measurement, Plan, TileRule, TileSize};
use turntile_plan::units::{bytes, duration};

use crate::args::tiles;
use crate::bench::{routes, short};
use crate::device::BenchDevice;
use crate::measure;
use crate::plan::{ProblemArgs, of_plan};
use crate::progress::Progress;
use crate::report::rate;
use crate::say::{self, shown};
use crate::values::seconds;

/// Most candidates in the table; JSON has all.
const SHOWN: usize = 12;

#[derive(Debug, Args)]
pub struct TuneArgs {
    #[command(flatten)]
    pub problem: ProblemArgs,
    /// Device: cpu, cuda or cuda:N
    #[arg(long, value_name = "NAME", default_value = "cpu")]
    pub device: String,
    /// Tiles of each route to measure
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

/// Runs the command and returns what to print at the end. In the table for people, each candidate is printed when it has run
/// once.
pub fn run(args: &mut TuneArgs) -> Result<String> {
    args.problem.settings.find_wisdom(true, false)?;
    let transpose = args.problem.transpose()?.tiles(args.tiles);
    let progress = Progress::new(true, "");
    let (mut number, mut printed) = (0, Ok(()));
    let mut seen = |plan: &Plan, time: Duration, all: usize| {
        if number == 0 {
            progress.items("measuring", all);
        }
        number += 1;
        progress.set(number);
        progress.say(plan.route_name());
        if !args.csv && !args.json && printed.is_ok() {
            printed = progress.aside(|| say::print(&row(plan, time), false));
        }
    };
    let measured = match BenchDevice::find(&args.device, args.problem.settings.threads)? {
        BenchDevice::Cpu => transpose.tune_seen(args.budget, &mut seen)?,
        BenchDevice::Gpu(gpu) => transpose.tune_on_seen(&gpu, args.budget, &mut seen)?,
    };
    // Otherwise the table cannot be printed either, which is reported.
    let _ = printed;
    Ok(match (args.csv, args.json) {
        (true, _) => csv(&measured),
        (_, true) => json(&measured),
        _ => table(&measured, args),
    })
}

/// Returns the speed, `None` if nothing moves.
fn gb_per_s(plan: &Plan, time: Duration) -> Option<f64> {
    let rate = measure::gb_per_s(plan.problem.bytes() as f64, time.as_secs_f64());
    Some(rate).filter(|rate| plan.passes() > 0 && rate.is_finite())
}

/// Formats a candidate.
fn row(plan: &Plan, time: Duration) -> String {
    let TileSize { m, n } = plan.tile();
    format!(
        "{:<22} {:>13} {:>9} {:>8} GB/s  (estimate {:>9})  workspace {:>9}",
        plan.route_name(),
        format!("{m}x{n}"),
        duration(time.as_secs_f64()),
        rate(gb_per_s(plan, time)),
        duration(plan.seconds),
        bytes(plan.workspace_bytes),
    )
}

fn table(measured: &[Measurement], args: &TuneArgs) -> String {
    let mut text = String::from("\nfastest first:\n");
    // Writing to a string cannot fail.
    for Measurement { plan, time, runs, .. } in measured.iter().take(SHOWN) {
        let _ = writeln!(text, "{}  runs {runs}", row(plan, *time));
    }
    let more = measured.len().saturating_sub(SHOWN);
    if more > 0 {
        let _ = writeln!(text, "and {more} slower ones");
    }
    let _ = write!(text, "{}", measured[0].plan);
    let _ = match args.problem.settings.wisdom() {
        Some(file) => write!(text, "\nremembered in {}", shown(file)),
        None => match &args.problem.settings.ignored {
            Some(why) => write!(text, "\nnot remembered: {why}"),
            None => write!(text, "\nnot remembered: name a file with --wisdom"),
        },
    };
    text
}

/// Formats candidates as CSV with a header.
fn csv(measured: &[Measurement]) -> String {
    #[derive(Serialize)]
    struct Row {
        route: String,
        mirrored: bool,
        m: usize,
        n: usize,
        seconds: f64,
        estimated_seconds: f64,
        gb_per_s: Option<f64>,
        runs: usize,
        workspace_bytes: usize,
        plan: String,
    }
    let row = |Measurement { plan, time, runs, .. }: &Measurement| Row {
        route: routes(plan),
        mirrored: plan.mirrored(),
        m: plan.tile().m,
        n: plan.tile().n,
        seconds: short(time.as_secs_f64()),
        estimated_seconds: short(plan.seconds),
        gb_per_s: gb_per_s(plan, *time).map(short),
        runs: *runs,
        workspace_bytes: plan.workspace_bytes,
        plan: plan.to_string(),
    };
    crate::bench::csv(&measured.iter().map(row).collect::<Vec<_>>())
}

fn json(measured: &[Measurement]) -> String {
    let row = |candidate: &Measurement| {
        let Measurement { plan, time, runs, .. } = candidate;
        let mut row = of_plan(plan, gb_per_s(plan, *time));
        row["seconds"] = json!(time.as_secs_f64());
        row["runs"] = json!(runs);
        row
    };
    measured.iter().map(row).collect::<Value>().to_string()
}
