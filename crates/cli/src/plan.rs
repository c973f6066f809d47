//! `turntile plan`: how a matrix would be transposed, on this machine or on another.

use std::fmt::{Display, Write};

use anyhow::{Result, bail};
use clap::Args;
use serde_json::{Value, json};
use turntile::plan::{Chip, Host, Plan, Planner, Problem, Refused, TileRule, Wisdom};
use turntile_plan::{Advice, Declined, Survey};

use crate::bench::routes;
use crate::device::{Device, of_host};
use crate::report::{bytes, duration, rate};
use crate::say::{shown, tell};
use crate::settings::{Settings, tiles};
use crate::subject::ProblemArgs;
use crate::{subject, words};

#[derive(Debug, Args)]
pub struct PlanArgs {
    #[command(flatten)]
    pub problem: ProblemArgs,
    /// The device to plan for: host, cuda (this machine's GPU; cuda:1 its second), or one that need not
    /// be here: h200, h100, a100. Threads are the host's alone, wisdom that of host and cuda
    #[arg(long, value_name = "NAME", default_value = "host")]
    pub device: String,
    /// Which tiles of each route to consider
    #[arg(long, value_name = "RULE", default_value = "model", value_parser = tiles())]
    pub tiles: TileRule,
    /// Print every candidate by estimate, wisdom aside, and why the others are not possible
    #[arg(long)]
    pub all: bool,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

/// Runs the command and returns what to print.
pub fn run(args: &PlanArgs) -> Result<String> {
    let settings = &args.problem.settings;
    let problem = subject::problem(&args.problem)?;
    let mut planner = planner(&args.device, settings)?.with_tiles(args.tiles);
    if let Some(route) = settings.route {
        planner = planner.with_route(route);
    }
    if args.all {
        let survey = planner.survey(&problem);
        return Ok(if args.json {
            json(&survey.candidates, &survey.declined, "estimate", None)
        } else {
            table(&survey)
        });
    }
    let (remembered, refused) = wisdom(settings, &args.device, &planner, &problem)?;
    let by = if remembered.is_some() { "wisdom" } else { "estimate" };
    let plan = remembered.map_or_else(|| planner.plan(&problem), Ok)?;
    Ok(if args.json {
        json(std::slice::from_ref(&plan), &plan.declined, by, refused)
    } else {
        format!("{}\n\n{plan:#}\nchosen by {by}", words::of_plan(&plan))
    })
}

/// For the device of that name, this machine's or one that need not be here.
fn planner(name: &str, settings: &Settings) -> Result<Planner> {
    let threads = settings.threads;
    match (Chip::preset(name), threads) {
        (Some(chip), None) => Ok(Planner::new(chip)),
        (Some(_), Some(_)) => bail!(of_host(name)),
        (None, _) => Ok(match Device::find(name, threads)? {
            // As many as a run would have.
            Device::Host => {
                let threads = threads.map_or_else(turntile::threads::count, usize::from);
                Planner::new(Host::here(threads))
            }
            Device::Gpu(gpu) => Planner::new(gpu.chip().clone()),
        }),
    }
}

/// Whether the device is this machine's, and has wisdom that is its own.
fn is_here(name: &str) -> bool {
    name == "host" || name.starts_with("cuda")
}

/// The plan that the wisdom file has for the problem, or why the one it has is not used. Tells when
/// there is none, for then what is printed is an estimate.
fn wisdom(
    settings: &Settings,
    device: &str,
    planner: &Planner,
    problem: &Problem,
) -> Result<(Option<Plan>, Option<Refused>)> {
    let Some(path) = settings.wisdom() else { return Ok((None, None)) };
    let note = |what: &dyn Display| tell(&format_args!("note: {}: {what}", shown(path)));
    if !is_here(device) {
        // It may come from the environment, so this is no error.
        note(&"not read, its plans are this machine's");
        return Ok((None, None));
    }
    settings.existing_wisdom()?;
    let asked = |plan: &Plan| settings.route.is_none_or(|route| plan.route() == route);
    match Wisdom::load(path)?.advise(planner, problem) {
        Advice::Plan(plan) if asked(&plan) => return Ok((Some(*plan), None)),
        Advice::Plan(plan) => note(&format_args!("its plan is of route {}", plan.route())),
        Advice::Unknown => note(&"nothing is known of this problem"),
        Advice::Refused(why) => {
            note(&format_args!("not used: {why}"));
            return Ok((None, Some(why)));
        }
    }
    Ok((None, None))
}

/// The estimated speed, none where nothing moves.
fn gb_per_s(plan: &Plan) -> Option<f64> {
    Some(plan.gb_per_s()).filter(|rate| rate.is_finite())
}

/// Every candidate, fastest first, a line of figures and the plan below it; then the routes that
/// are not possible.
fn table(survey: &Survey) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    for plan in &survey.candidates {
        let _ = writeln!(
            text,
            "{:<22} {:>9} {:>8} GB/s, passes {}, workspace {}\n    {plan}",
            plan.route_name(),
            duration(plan.seconds),
            rate(gb_per_s(plan)),
            plan.passes(),
            bytes(plan.workspace_bytes),
        );
    }
    for Declined { route, why, .. } in &survey.declined {
        let _ = writeln!(text, "{route:<22} not possible: {why}");
    }
    text.truncate(text.trim_end().len());
    text
}

/// A plan and its speed: of several legs `route` has all, in order; `stages` are in dimension notation.
pub fn of_plan(plan: &Plan, gb_per_s: Option<f64>) -> Value {
    json!({
        "device": plan.device,
        "route": routes(plan),
        "mirrored": plan.mirrored(),
        "tile": plan.tile(),
        "stages": plan.stages().map(ToString::to_string).collect::<Vec<_>>(),
        "passes": plan.passes(),
        "workspace_bytes": plan.workspace_bytes,
        "estimated_seconds": plan.seconds,
        "gb_per_s": gb_per_s,
        "plan": plan.to_string(),
    })
}

/// Speeds are estimates, even of plans from wisdom, and null where nothing moves.
fn json(
    candidates: &[Plan],
    declined: &[Declined],
    chosen_by: &str,
    refused: Option<Refused>,
) -> String {
    let declined =
        declined.iter().map(|one| json!({ "route": one.route.name(), "why": one.why.to_string() }));
    json!({
        "candidates": candidates.iter().map(|plan| of_plan(plan, gb_per_s(plan))).collect::<Value>(),
        "declined": declined.collect::<Value>(),
        "chosen_by": chosen_by,
        "wisdom_refused": refused.map(|why| why.to_string()),
    })
    .to_string()
}
