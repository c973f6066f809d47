//! `turntile calibrate`: how fast this machine is at what plans are made of.

use std::fmt::Write;
use std::path::Path;
use std::time::Instant;

use serde::Serialize;
use turntile::plan::{Device as _, Host};
use turntile::{Calibration, Change, RateChange, RateUnit, calibrate, calibrate_gpu};

use crate::args::CalibrateArgs;
use crate::device::Device;
use crate::error::Error;
use crate::file;
use crate::progress::Progress;
use crate::rates::{place, told};
use crate::report::duration;
use crate::say::shown;

/// Changes of plans that the table shows, and rates that scale others; JSON has all.
const SHOWN: usize = 12;
/// Marks of the progress bar.
const MARKS: usize = 1000;

/// Runs the command and returns what to print.
pub fn run(args: &CalibrateArgs) -> Result<String, Error> {
    let device = Device::find(&args.device, args.threads)?;
    let model = match &device {
        Device::Host => Host::here(1).processor().to_owned(),
        Device::Gpu(gpu) => gpu.chip().name().to_owned(),
    };
    // Found out before the measuring, not after it.
    let path = match &args.output {
        Some(path) if path == Path::new("-") => return Err(Error::RatesToOutput),
        Some(path) => path.clone(),
        None => place(&model).ok_or(Error::NoPlace)?,
    };
    file::refuse_unwritable(&path, args.output.is_none())?;
    let before = match &device {
        Device::Host => args.rates.host(false)?.clone(),
        Device::Gpu(gpu) => args.rates.gpu(gpu.chip())?,
    };
    let progress = Progress::new(true);
    progress.items("calibrating", MARKS);
    let (start, mut done) =
        (Instant::now(), |share: f64| progress.set((share * MARKS as f64) as usize));
    let made = match &device {
        Device::Host => {
            let threads = args.threads.map_or_else(turntile::threads::count, usize::from);
            calibrate(threads, args.budget, &mut done)?
        }
        Device::Gpu(gpu) => calibrate_gpu(gpu, args.budget, &mut done)?,
    };
    drop(progress);
    let made = match before.costs() {
        Some(costs) => made.beside(costs).map_err(turntile::Error::from)?,
        None => made,
    };
    if let (None, Some(directory)) = (&args.output, path.parent()) {
        std::fs::create_dir_all(directory).map_err(Error::io("make", directory))?;
    }
    made.save(&path).map_err(Error::io("write", &path))?;
    let facts = Facts { model: &model, seconds: start.elapsed().as_secs_f64(), path: &path };
    Ok(if args.json { json(&made, &facts) } else { text(&made, &facts, &told(&before), args) })
}

/// What the tables do not say.
struct Facts<'a> {
    model: &'a str,
    seconds: f64,
    path: &'a Path,
}

fn text(made: &Calibration, facts: &Facts, before: &str, args: &CalibrateArgs) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "{}: {} stages in {}; beside {before}:",
        facts.model,
        made.stages,
        duration(facts.seconds)
    );
    let most = shown_rates(&made.rates);
    for RateChange { operation, of, unit, before, after, .. } in &most {
        let what = if of.is_empty() { operation.clone() } else { format!("{operation}, {of}") };
        let _ = writeln!(text, "  {what:<58} {before:>9.3} -> {after:>9.3} {}", unit.name());
    }
    if made.rates.len() > most.len() {
        let _ = writeln!(text, "  and {} more, which --json has", made.rates.len() - most.len());
    }
    let _ = writeln!(
        text,
        "stages took {:.2} times as long as estimated, or as short, on average; by the new rates {:.2}",
        made.off[0], made.off[1]
    );
    let _ = writeln!(
        text,
        "{} of {} problems are planned otherwise now; by the new rates all are {:.3} times as fast (geometric mean)",
        made.changes.len(),
        made.problems,
        made.gain
    );
    let mut changes: Vec<&Change> = made.changes.iter().collect();
    changes.sort_by(|a, b| b.gain.total_cmp(&a.gain));
    for Change { before, after, gain, .. } in changes.iter().take(SHOWN) {
        let [was, is] =
            [before, after].map(|plan| format!("{} ({})", plan.route_name(), plan.recipe().ways()));
        let _ = writeln!(text, "  {gain:.2} times: {}: {was} -> {is}", before.problem);
    }
    let more = changes.len().saturating_sub(SHOWN);
    if more > 0 {
        let _ = writeln!(text, "  and {more} more");
    }
    let found = match args.output {
        Some(_) => "--rates takes it",
        None => "commands find it there from now on",
    };
    let _ = write!(text, "written to {}; {found}", shown(facts.path));
    text
}

/// Those that are rates of their own, and of those that scale others the ones that do most, in their order.
fn shown_rates(rates: &[RateChange]) -> Vec<&RateChange> {
    let much = |rate: &RateChange| match rate.unit {
        RateUnit::Times => (rate.after / rate.before).ln().abs(),
        _ => f64::INFINITY,
    };
    let mut all: Vec<f64> = rates.iter().map(much).filter(|much| much.is_finite()).collect();
    all.sort_by(f64::total_cmp);
    let least = all.iter().rev().nth(SHOWN).copied().unwrap_or(0.0);
    rates.iter().filter(|rate| much(rate) > least).collect()
}

#[derive(Serialize)]
struct Json<'a> {
    device: &'a str,
    file: String,
    seconds: f64,
    stages: usize,
    off: [f64; 2],
    rates: Vec<RateJson<'a>>,
    problems: usize,
    gain: f64,
    changes: Vec<ChangeJson>,
}

#[derive(Serialize)]
struct RateJson<'a> {
    operation: &'a str,
    of: &'a str,
    unit: &'static str,
    before: f64,
    after: f64,
}

#[derive(Serialize)]
struct ChangeJson {
    problem: String,
    before: String,
    after: String,
    gain: f64,
}

fn json(made: &Calibration, facts: &Facts) -> String {
    let rates = made.rates.iter().map(|rate| RateJson {
        operation: &rate.operation,
        of: &rate.of,
        unit: rate.unit.name(),
        before: rate.before,
        after: rate.after,
    });
    let changes = made.changes.iter().map(|change| ChangeJson {
        problem: change.before.problem.to_string(),
        before: change.before.to_string(),
        after: change.after.to_string(),
        gain: change.gain,
    });
    let json = Json {
        device: facts.model,
        file: facts.path.to_string_lossy().into_owned(),
        seconds: facts.seconds,
        stages: made.stages,
        off: made.off,
        rates: rates.collect(),
        problems: made.problems,
        gain: made.gain,
        changes: changes.collect(),
    };
    serde_json::to_string(&json).expect("strings and numbers always serialise")
}
