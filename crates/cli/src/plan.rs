//! `turntile plan`: how a matrix would be transposed, on this machine or on another; and what `plan` and `tune` take, a
//! problem by its numbers or by a file.

use std::fmt::{Display, Write};
use std::num::NonZeroUsize;
use std::path::Path;

use anyhow::{Error, Result, bail};
use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Args, ValueHint};
use serde_json::{Value, json};
use turntile::Transpose;
use turntile::layout::Rearrangement;
use turntile::mode::Dynamic;
use turntile::plan::{CpuDevice, GpuDevice, Plan, Planner, Problem, StaleWisdom, TileRule, Wisdom};
use turntile_distributed::{Partition, Redistribution};
use turntile_plan::units::{bytes, duration};
use turntile_plan::{Candidates, RejectedRoute, WisdomLookup};

use crate::args::{Settings, Sizes, tiles};
use crate::bench::routes;
use crate::device::{BenchDevice, of_host};
use crate::file::{self, Asking, Locking};
use crate::input::Input;
use crate::operation::Operation;
use crate::report::rate;
use crate::say::{notify, shown};
use crate::values::{Axes, Subject, axes, count, order_of, positive, subject};
use crate::words;

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
    /// Over so many memories, in parts of the first axis that differ by at most one: what the first does, local stages on this host
    #[arg(long, value_name = "P", value_parser = positive, allow_negative_numbers = true,
          conflicts_with_all = ["device", "tiles", "all", "json", "batch", "into", "member", "pattern", "wisdom", "route", "workspace"])]
    pub parts: Option<NonZeroUsize>,
    /// Print every candidate by estimate, wisdom aside, and why the others are not possible
    #[arg(long)]
    pub all: bool,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

/// A problem, by its numbers or by a file.
#[derive(Debug, Args)]
pub struct ProblemArgs {
    /// Rows and columns, e.g. 7200x1800, or with --axes the extents of any array; or a .npy or .npz file that holds one (./3x5 if
    /// its name is such)
    #[arg(value_name = "MxN|FILE", value_hint = ValueHint::FilePath, value_parser = OsStringValueParser::new().try_map(subject))]
    subject: Subject,
    /// The order of the axes in the result, e.g. 2,0,1; as in NumPy -1 is the last [default: the last two change places]
    #[arg(long, value_name = "I,J,...", value_parser = axes, allow_hyphen_values = true)]
    axes: Option<Axes>,
    /// A pattern in place of --axes, as of `turntile rearrange`
    #[arg(long, value_name = "PATTERN", conflicts_with = "axes", allow_hyphen_values = true)]
    pattern: Option<String>,
    #[command(flatten)]
    sizes: Sizes,
    /// Bytes of an element, of a shape
    #[arg(long, value_name = "B", value_parser = positive, allow_negative_numbers = true)]
    elem_bytes: Option<NonZeroUsize>,
    /// Matrices or arrays, one after the other [default: 1]
    #[arg(long, value_name = "K", value_parser = count, allow_negative_numbers = true)]
    batch: Option<usize>,
    /// The array of a .npz archive
    #[arg(long, value_name = "NAME")]
    member: Option<String>,
    /// Into another buffer instead of in place
    #[arg(long)]
    into: bool,
    #[command(flatten)]
    pub settings: Settings,
}

impl ProblemArgs {
    /// What is wrong with the options beside a shape, or beside a file.
    pub fn check(&self) -> Result<(), clap::Error> {
        let (kind, what) = match &self.subject {
            _ if self.pattern.is_none() && !self.sizes.sizes.is_empty() => (
                ErrorKind::MissingRequiredArgument,
                "--size is for axes of a --pattern".to_string(),
            ),
            Subject::Extents(_) if self.elem_bytes.is_none() => {
                (ErrorKind::MissingRequiredArgument, "a shape needs --elem-bytes <B>".to_string())
            }
            Subject::Extents(_) if self.member.is_some() => (
                ErrorKind::ArgumentConflict,
                "--member is for a file, and cannot be used with a shape".to_string(),
            ),
            Subject::Extents(shape) => match self.axes(shape) {
                Ok(_) => return Ok(()),
                Err(what) => (ErrorKind::ValueValidation, what),
            },
            Subject::File(path) if self.elem_bytes.is_some() || self.batch.is_some() => (
                ErrorKind::ArgumentConflict,
                format!(
                    "--elem-bytes and --batch are for a shape; {} is taken for a file, whose header has both",
                    shown(path)
                ),
            ),
            Subject::File(_) => return Ok(()),
        };
        Err(clap::Error::raw(kind, what))
    }

    /// What becomes of a shape's axes.
    fn axes(&self, shape: &[usize]) -> Result<Rearrangement, String> {
        let order = match (&self.pattern, &self.axes, shape.len()) {
            (Some(pattern), ..) => {
                return self.sizes.of(pattern).of(shape).map_err(|error| error.to_string());
            }
            (None, Some(axes), rank) => {
                order_of(axes, rank).map_err(|what| format!("--axes {what}"))?
            }
            (None, None, 2) => vec![1, 0],
            (None, None, rank) => {
                let axes = if rank == 1 { "axis" } else { "axes" };
                return Err(format!("a shape of {rank} {axes} needs --axes or --pattern"));
            }
        };
        Ok(Rearrangement::of_axes(shape, &order))
    }

    /// The transposition, with the settings.
    pub fn transpose(&self) -> Result<Transpose<Dynamic>> {
        let transpose = match &self.subject {
            Subject::Extents(shape) => self.of_shape(shape)?,
            Subject::File(path) => self.of_file(path)?,
        };
        let transpose = transpose.dynamic();
        let transpose = if self.into { transpose.out_of_place() } else { transpose };
        Ok(self.settings.apply(transpose)?)
    }

    /// A shape that is cut over so many ranks.
    fn over(&self, ranks: usize) -> Result<Redistribution> {
        let Subject::Extents(shape) = &self.subject else {
            bail!("--parts is for a shape: give extents and --elem-bytes in place of a file")
        };
        let axes = self.axes(shape).map_err(Error::msg)?;
        let elem_bytes = self.elem_bytes.map_or(1, usize::from);
        let part =
            |extent: Option<&usize>| (0, Partition::balanced(extent.copied().unwrap_or(1), ranks));
        let (before, after) = (part(shape.first()), part(axes.shape().first()));
        let change = Redistribution::of_axes(shape, axes.order(), elem_bytes, before, after);
        Ok(match self.settings.threads {
            Some(threads) => change.threads(threads.get()),
            None => change,
        })
    }

    fn of_shape(&self, shape: &[usize]) -> Result<Transpose> {
        let axes = self.axes(shape).map_err(Error::msg)?;
        // The command line has been checked for it.
        let elem_bytes = self.elem_bytes.map_or(1, usize::from);
        Ok(Transpose::permute::<u8>(axes.extents(), axes.order())
            .itemsize(elem_bytes)
            .batch(self.batch.unwrap_or(1)))
    }

    /// As `transpose` and `permute` have it in memory, be the array empty or not.
    fn of_file(&self, path: &Path) -> Result<Transpose> {
        let (source, _) = file::open(Some(path), None, &Asking::new(Locking::Off, true))?;
        let Some(source) = source else { bail!("nothing was opened") };
        let header = Input::of_file(source, self.member.as_deref(), false)?.header()?;
        let operation = match (&self.axes, &self.pattern) {
            (Some(axes), _) => Operation::Permute(axes),
            (None, Some(pattern)) => Operation::Rearrange(self.sizes.of(pattern)),
            (None, None) => Operation::Transpose,
        };
        operation.in_file(&header, path)
    }
}

/// Runs the command and returns what to print.
pub fn run(args: &mut PlanArgs) -> Result<String> {
    if let Some(ranks) = args.parts {
        return Ok(args.problem.over(ranks.get())?.plan(0)?.to_string());
    }
    args.problem.settings.find_wisdom(false, false)?;
    let settings = &args.problem.settings;
    let problem = args.problem.transpose()?.problem()?;
    let mut planner = planner(&args.device, settings)?.with_tiles(args.tiles);
    if let Some(route) = settings.route {
        planner = planner.with_route(route);
    }
    if args.all {
        let survey = planner.candidates(&problem);
        return Ok(if args.json {
            json(&survey.candidates, &survey.rejected, "estimate", None)
        } else {
            table(&survey)
        });
    }
    let (remembered, refused) = wisdom(settings, &args.device, &planner, &problem)?;
    let by = if remembered.is_some() { "wisdom" } else { "estimate" };
    let plan = remembered.map_or_else(|| planner.plan(&problem), Ok)?;
    Ok(if args.json {
        json(std::slice::from_ref(&plan), &plan.rejected, by, refused)
    } else {
        format!("{}\n\n{plan:#}\nchosen by {by}", words::of_plan(&plan))
    })
}

/// For the device of that name, this machine's or one that need not be here.
fn planner(name: &str, settings: &Settings) -> Result<Planner> {
    let threads = settings.threads;
    match (GpuDevice::preset(name), threads) {
        (Some(chip), None) => Ok(Planner::new(chip)),
        (Some(_), Some(_)) => bail!(of_host(name)),
        (None, _) => Ok(match BenchDevice::find(name, threads)? {
            // As many as a run would have.
            BenchDevice::Host => {
                let threads = threads.map_or_else(turntile::run::pool::thread_count, usize::from);
                Planner::new(CpuDevice::here(threads))
            }
            BenchDevice::Gpu(gpu) => Planner::new(gpu.device().clone()),
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
) -> Result<(Option<Plan>, Option<StaleWisdom>)> {
    let Some(path) = settings.wisdom() else { return Ok((None, None)) };
    let note = |what: &dyn Display| notify(&format_args!("note: {}: {what}", shown(path)));
    if !is_here(device) {
        // It may come from the environment, so this is no error.
        note(&"not read, its plans are this machine's");
        return Ok((None, None));
    }
    let asked = |plan: &Plan| settings.route.is_none_or(|route| plan.route() == route);
    match Wisdom::load(path)?.lookup(planner, problem) {
        WisdomLookup::Plan(plan) if asked(&plan) => return Ok((Some(*plan), None)),
        WisdomLookup::Plan(plan) => note(&format_args!("its plan is of route {}", plan.route())),
        WisdomLookup::Unknown => note(&"nothing is known of this problem"),
        WisdomLookup::Stale(why) => {
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
fn table(survey: &Candidates) -> String {
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
    for RejectedRoute { route, reason: why, .. } in &survey.rejected {
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
    declined: &[RejectedRoute],
    chosen_by: &str,
    refused: Option<StaleWisdom>,
) -> String {
    let declined = declined
        .iter()
        .map(|one| json!({ "route": one.route.name(), "why": one.reason.to_string() }));
    json!({
        "candidates": candidates.iter().map(|plan| of_plan(plan, gb_per_s(plan))).collect::<Value>(),
        "declined": declined.collect::<Value>(),
        "chosen_by": chosen_by,
        "wisdom_refused": refused.map(|why| why.to_string()),
    })
    .to_string()
}
