//! `turntile plan`: how a matrix would be transposed, on this machine or on another.

use std::fmt::Write;
use std::num::NonZeroUsize;

use serde::Serialize;
use turntile::plan::{Declined, Limits, Plan, Planner, Problem, Survey};

use crate::args::PlanArgs;
use crate::error::Error;
use crate::report::{bytes, duration};

/// Runs the command and returns what to print.
pub fn run(args: &PlanArgs) -> Result<String, Error> {
    let (rows, cols) = args.shape;
    let mut problem = Problem::with_batch(args.batch, rows, cols, args.elem_bytes.get())?;
    if let Some(cap) = args.cap {
        problem = problem.with_cap(cap);
    }
    let mut planner = Planner::new(device(&args.device, args.threads)?);
    if let Some(route) = &args.route {
        planner = planner.with_route(route)?;
    }
    if args.all {
        let survey = planner.survey(&problem);
        return Ok(if args.json {
            json(&survey.candidates, &survey.declined)
        } else {
            table(&survey)
        });
    }
    let plan = planner.plan(&problem)?;
    Ok(if args.json {
        json(std::slice::from_ref(&plan), &plan.declined)
    } else {
        format!("{plan:#}")
    })
}

/// The limits of the device of that name.
fn device(name: &str, threads: Option<NonZeroUsize>) -> Result<Limits, Error> {
    if name.eq_ignore_ascii_case("host") {
        let threads = threads.or_else(|| std::thread::available_parallelism().ok());
        return Ok(Limits::host(threads.map_or(1, NonZeroUsize::get)));
    }
    Limits::preset(name).ok_or_else(|| Error::UnknownDevice { name: name.to_string() })
}

/// Every candidate, fastest first, a line of figures and the plan below it; then the routes that
/// cannot be had.
fn table(survey: &Survey) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    for plan in &survey.candidates {
        let _ = writeln!(
            text,
            "{:<22} {:>9} {:>8.1} GB/s, passes {}, workspace {}\n    {plan}",
            plan.route,
            duration(plan.seconds),
            plan.gb_per_s(),
            plan.passes(),
            bytes(plan.workspace_bytes),
        );
    }
    for Declined { route, why } in &survey.declined {
        let _ = writeln!(text, "{route:<22} not possible: {why}");
    }
    text.truncate(text.trim_end().len());
    text
}

#[derive(Serialize)]
struct PlanJson<'a> {
    route: &'a str,
    passes: usize,
    workspace_bytes: usize,
    /// Estimates; null where nothing moves.
    seconds: Option<f64>,
    gb_per_s: Option<f64>,
    plan: String,
}

#[derive(Serialize)]
struct DeclinedJson<'a> {
    route: &'a str,
    why: String,
}

#[derive(Serialize)]
struct PlansJson<'a> {
    candidates: Vec<PlanJson<'a>>,
    declined: Vec<DeclinedJson<'a>>,
}

fn json(candidates: &[Plan], declined: &[Declined]) -> String {
    let finite = |value: f64| value.is_finite().then_some(value);
    let candidates = candidates.iter().map(|plan| PlanJson {
        route: plan.route,
        passes: plan.passes(),
        workspace_bytes: plan.workspace_bytes,
        seconds: finite(plan.seconds),
        gb_per_s: finite(plan.gb_per_s()),
        plan: plan.to_string(),
    });
    let declined =
        declined.iter().map(|Declined { route, why }| DeclinedJson { route, why: why.to_string() });
    let plans = PlansJson { candidates: candidates.collect(), declined: declined.collect() };
    serde_json::to_string(&plans).expect("strings and numbers always serialise")
}
