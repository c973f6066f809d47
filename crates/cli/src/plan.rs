//! `turntile plan`: how a matrix would be transposed, on this machine or on another.

use std::fmt::{Display, Write};

use clap::Args;
use serde::Serialize;
use turntile::plan::{
    Advice, Chip, Declined, Host, Plan, Planner, Problem, Refused, Survey, Tile, Wisdom,
};

use crate::bench::routes;
use crate::device::Device;
use crate::error::Error;
use crate::report::{bytes, duration, rate};
use crate::say::{shown, tell};
use crate::settings::{Settings, TilesArg};
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
    #[arg(long, value_name = "RULE", default_value = "model")]
    pub tiles: TilesArg,
    /// Print every candidate by estimate, wisdom aside, and why the others are not possible
    #[arg(long)]
    pub all: bool,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

/// Runs the command and returns what to print.
pub fn run(args: &PlanArgs) -> Result<String, Error> {
    let settings = &args.problem.settings;
    let problem = subject::problem(&args.problem)?;
    let mut planner = planner(&args.device, settings)?.with_tiles(args.tiles.rule());
    if let Some(route) = settings.route {
        planner = planner.with_route(route);
    }
    if args.all {
        let survey = planner.survey(&problem);
        return Ok(if args.json {
            json(&survey.candidates, &survey.declined, By::Estimate, None)
        } else {
            table(&survey)
        });
    }
    let (remembered, refused) = wisdom(settings, &args.device, &planner, &problem)?;
    let by = if remembered.is_some() { By::Wisdom } else { By::Estimate };
    let plan = remembered.map_or_else(|| planner.plan(&problem), Ok)?;
    Ok(if args.json {
        json(std::slice::from_ref(&plan), &plan.declined, by, refused)
    } else {
        let by = match by {
            By::Wisdom => "chosen by wisdom",
            By::Estimate => "chosen by estimate",
        };
        format!("{}\n\n{plan:#}\n{by}", words::of_plan(&plan))
    })
}

/// For the device of that name, this machine's or one that need not be here.
fn planner(name: &str, settings: &Settings) -> Result<Planner, Error> {
    let threads = settings.threads;
    match (Chip::preset(name), threads) {
        (Some(chip), None) => Ok(Planner::new(chip)),
        (Some(_), Some(_)) => {
            Err(Error::HostOnly { option: "--threads", device: name.to_string() })
        }
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
) -> Result<(Option<Plan>, Option<Refused>), Error> {
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
/// cannot be had.
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
    for Declined { route, why } in &survey.declined {
        let _ = writeln!(text, "{route:<22} not possible: {why}");
    }
    text.truncate(text.trim_end().len());
    text
}

#[derive(Serialize)]
struct PlanJson<'a> {
    device: &'a str,
    /// Of several legs all, in order.
    route: String,
    mirrored: bool,
    tile: Tile,
    /// In dimension notation.
    stages: Vec<String>,
    passes: usize,
    workspace_bytes: usize,
    estimated_seconds: f64,
    /// Estimate; null where nothing moves.
    gb_per_s: Option<f64>,
    plan: String,
}

#[derive(Serialize)]
struct DeclinedJson<'a> {
    route: &'a str,
    why: String,
}

/// What decided between plans.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum By {
    /// What was measured, and is remembered.
    Wisdom,
    /// The tables of costs.
    Estimate,
}

#[derive(Serialize)]
struct PlansJson<'a> {
    candidates: Vec<PlanJson<'a>>,
    declined: Vec<DeclinedJson<'a>>,
    /// What decided: `wisdom` or `estimate`. Speeds are estimates in either case.
    chosen_by: By,
    /// Why what the wisdom file has for the problem is not used.
    wisdom_refused: Option<String>,
}

fn json(
    candidates: &[Plan],
    declined: &[Declined],
    chosen_by: By,
    refused: Option<Refused>,
) -> String {
    let candidates = candidates.iter().map(|plan| PlanJson {
        device: &plan.device,
        route: routes(plan),
        mirrored: plan.mirrored(),
        tile: plan.tile(),
        stages: plan.stages().map(ToString::to_string).collect(),
        passes: plan.passes(),
        workspace_bytes: plan.workspace_bytes,
        estimated_seconds: plan.seconds,
        gb_per_s: gb_per_s(plan),
        plan: plan.to_string(),
    });
    let declined = declined
        .iter()
        .map(|Declined { route, why }| DeclinedJson { route: route.name(), why: why.to_string() });
    let plans = PlansJson {
        candidates: candidates.collect(),
        declined: declined.collect(),
        chosen_by,
        wisdom_refused: refused.map(|why| why.to_string()),
    };
    serde_json::to_string(&plans).expect("strings and numbers always serialise")
}
