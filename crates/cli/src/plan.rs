//! `turntile plan`: how an array would be transposed, on this machine or another; and the problem that `plan` and `tune` take,
//! as a shape or a file.

use std::fmt::{Display, Write};
use std::num::NonZeroUsize;
use std::path::Path;

use anyhow::{Result, bail};
use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Args, ValueHint};
use serde_json::{Value, json};
use turntile::Transpose;
use turntile::mode::Dynamic;
use turntile::plan::{CpuDevice, GpuDevice, Plan, Planner, Problem, StaleWisdom, TileRule, Wisdom};
use turntile::stored::OutOfCore;
use turntile_plan::units::{bytes, duration};
use turntile_plan::{Candidates, RejectedRoute, WisdomLookup};

use crate::args::{Place, Settings, Sizes, tiles};
use crate::array::{Array, AxisOrder};
use crate::bench::routes;
use crate::device::{BenchDevice, cpu_only};
use crate::file::{self, LockRequest, Locking};
use crate::operation::{Axes, Operation};
use crate::report::{in_blocks, of_blocks, rate};
use crate::say::{note, shown};
use crate::source::Source;
use crate::stored::StoredArray;
use crate::values::{self, Dtype, Subject, dtype, positive, subject};
use crate::work;

#[derive(Debug, Args)]
pub struct PlanArgs {
    #[command(flatten)]
    pub problem: ProblemArgs,
    /// Device: cpu, cuda (cuda:1 is the second GPU), or a GPU that need not be here: h200, h100, a100
    #[arg(long, value_name = "NAME", default_value = "cpu")]
    pub device: String,
    /// Tiles of each route to consider
    #[arg(long, value_name = "RULE", default_value = "model", value_parser = tiles())]
    pub tiles: TileRule,
    /// Print every candidate by estimate, and why other routes are not possible
    #[arg(long)]
    pub all: bool,
    /// Print the stages too
    #[arg(short, long, conflicts_with = "json")]
    pub verbose: bool,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

/// A problem: a shape, or the array of a file.
#[derive(Debug, Args)]
pub struct ProblemArgs {
    /// Shape, for example 7200x1800, or a .npy or .npz file (./3x5 if it has such a name)
    #[arg(value_name = "SHAPE|FILE", value_hint = ValueHint::FilePath, value_parser = OsStringValueParser::new().try_map(subject))]
    subject: Subject,
    /// Permutation of the axes, for example 2,0,1; as in NumPy, -1 is the last axis [default for two axes: 1,0]
    #[arg(long, value_name = "I,J,...", value_parser = values::axes, allow_hyphen_values = true)]
    axes: Option<values::Axes>,
    /// Pattern instead of --axes, as of `turntile rearrange`
    #[arg(long, value_name = "PATTERN", conflicts_with = "axes", allow_hyphen_values = true)]
    pattern: Option<String>,
    #[command(flatten)]
    sizes: Sizes,
    /// Element type of a shape, for example f4, or V12 for elements of 12 bytes
    #[arg(long, value_name = "TYPE", value_parser = dtype)]
    dtype: Option<Dtype>,
    /// Number of contiguous arrays of a shape [default: 1]
    #[arg(long, value_name = "K", value_parser = positive, allow_negative_numbers = true)]
    batch: Option<NonZeroUsize>,
    /// Array of a .npz archive
    #[arg(long, value_name = "NAME")]
    member: Option<String>,
    /// Plan for an output in another buffer
    #[arg(long)]
    out_of_place: bool,
    #[command(flatten)]
    pub settings: Settings,
}

impl ProblemArgs {
    /// Checks options that depend on each other.
    pub fn check(&self) -> Result<(), clap::Error> {
        let missing = ErrorKind::MissingRequiredArgument;
        let (kind, what) = match (&self.subject, &self.dtype) {
            _ if self.pattern.is_none() && !self.sizes.sizes.is_empty() => {
                (missing, "--size is for axes of a --pattern".to_string())
            }
            (Subject::Extents(_), None) => (missing, "a shape needs --dtype TYPE".to_string()),
            (Subject::Extents(_), _) if self.member.is_some() => {
                (ErrorKind::ArgumentConflict, "--member is for a file, not for a shape".to_string())
            }
            (Subject::Extents(shape), Some(dtype)) => match self.of_shape(shape, dtype) {
                Ok(_) => return Ok(()),
                Err(error) => (ErrorKind::ValueValidation, error.to_string()),
            },
            (Subject::File(path), dtype) if dtype.is_some() || self.batch.is_some() => {
                let what = "--dtype and --batch are for a shape";
                (ErrorKind::ArgumentConflict, format!("{what}, {} is a file", shown(path)))
            }
            (Subject::File(_), _) => return Ok(()),
        };
        Err(clap::Error::raw(kind, what))
    }

    /// Returns the transposition with its settings.
    pub fn transpose(&self) -> Result<Transpose<Dynamic>> {
        let transpose = match (&self.subject, &self.dtype) {
            (Subject::Extents(shape), Some(dtype)) => self.of_shape(shape, dtype)?,
            (Subject::Extents(_), None) => bail!("a shape needs --dtype TYPE"),
            (Subject::File(path), _) => self.of_file(path)?,
        };
        let transpose = transpose.dynamic();
        let transpose = if self.out_of_place { transpose.out_of_place() } else { transpose };
        Ok(self.settings.apply(transpose))
    }

    fn operation(&self) -> Operation<'_> {
        let axes = match (&self.axes, &self.pattern) {
            (None, Some(pattern)) => Axes::Rearrange(self.sizes.of(pattern)),
            (axes, _) => Axes::Transpose(axes.as_deref()),
        };
        Operation { name: "plan", axes, flip: &[], order: None }
    }

    fn of_shape(&self, shape: &[usize], dtype: &Dtype) -> Result<Transpose> {
        let Dtype { descr, itemsize } = dtype.clone();
        let array = Array { shape: shape.into(), dtype: descr, itemsize, order: AxisOrder::C };
        let (_, transpose) = self.operation().of(&array)?;
        Ok(transpose.batch(self.batch.map_or(1, usize::from)))
    }

    fn of_file(&self, path: &Path) -> Result<Transpose> {
        Ok(self.found(path)?.1)
    }

    /// Returns the array of a file, its transposition, and `true` unless it is in an archive.
    fn found(&self, path: &Path) -> Result<(StoredArray, Transpose, bool)> {
        let (opened, _) = file::open(Some(path), None, &LockRequest::new(Locking::Off, true))?;
        let mut source = Source::new(path, opened, self.member.as_deref(), false)?;
        let found = StoredArray::find(&mut source, &Place::npy(), None)?;
        let (_, transpose) = self.operation().of(&found.array)?;
        let in_files = source.part(0).is_some();
        Ok((found, transpose, in_files))
    }

    /// Returns how `transpose` moves the file in blocks, or `None` if it does not, or if the problem
    /// is a shape. `plan` is the plan in memory.
    fn blocks(&self, plan: &Plan) -> Result<Option<OutOfCore>> {
        let Subject::File(path) = &self.subject else { return Ok(None) };
        if self.out_of_place || plan.passes() == 0 {
            return Ok(None);
        }
        let (found, transpose, in_files) = self.found(path)?;
        let sizes = (found.bytes, plan.workspace_bytes);
        work::blocks_of(path, &transpose, sizes, &self.settings, in_files)
    }
}

/// Runs the command and returns what to print.
pub fn run(args: &mut PlanArgs) -> Result<String> {
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
            json(&survey.candidates, &survey.rejected, "estimate", None).to_string()
        } else {
            table(&survey)
        });
    }
    let (remembered, rejected) = wisdom(settings, &args.device, &planner, &problem)?;
    let by = if remembered.is_some() { "wisdom" } else { "estimate" };
    let plan = remembered.map_or_else(|| planner.plan(&problem), Ok)?;
    let blocks = if args.device == "cpu" { args.problem.blocks(&plan)? } else { None };
    if args.json {
        let mut all = json(std::slice::from_ref(&plan), &plan.rejected, by, rejected);
        all["blocks"] = blocks.as_ref().map(of_blocks).into();
        return Ok(all.to_string());
    }
    Ok(match blocks {
        Some(blocks) => format!("Moves {} in {}.", bytes(plan.problem.bytes()), in_blocks(&blocks)),
        None if args.verbose => format!("{}\n\n{plan:#}\nchosen by {by}", plan.summary()),
        None => plan.summary(),
    })
}

/// Returns the planner of a device, this machine's or one that need not be here.
fn planner(name: &str, settings: &Settings) -> Result<Planner> {
    let threads = settings.threads;
    match (GpuDevice::preset(name), threads) {
        (Some(device), None) => Ok(Planner::new(device)),
        (Some(_), Some(_)) => bail!(cpu_only(name)),
        (None, _) => Ok(match BenchDevice::find(name, threads)? {
            BenchDevice::Cpu => {
                // The number of threads that a run would have.
                let threads = threads.map_or_else(turntile::run::pool::thread_count, usize::from);
                Planner::new(CpuDevice::here(threads))
            }
            BenchDevice::Gpu(gpu) => Planner::new(gpu.device().clone()),
        }),
    }
}

/// Returns whether the device is this machine's, to which wisdom belongs.
fn is_here(name: &str) -> bool {
    name == "cpu" || name.starts_with("cuda")
}

/// Returns the plan of the wisdom file for the problem, or why its plan is not used. Prints a note if it has none: an estimate
/// is printed then.
fn wisdom(
    settings: &Settings,
    device: &str,
    planner: &Planner,
    problem: &Problem,
) -> Result<(Option<Plan>, Option<StaleWisdom>)> {
    let Some(path) = settings.wisdom() else { return Ok((None, None)) };
    let note = |what: &dyn Display| note(&format_args!("{}: {what}", shown(path)));
    if !is_here(device) {
        // No error: it may come from the environment.
        note(&"not read, its plans are for this machine");
        return Ok((None, None));
    }
    let asked = |plan: &Plan| settings.route.is_none_or(|route| plan.route() == route);
    match Wisdom::load(path)?.lookup(planner, problem) {
        WisdomLookup::Plan(plan) if asked(&plan) => return Ok((Some(*plan), None)),
        WisdomLookup::Plan(plan) => note(&format_args!("its plan uses route {}", plan.route())),
        WisdomLookup::Unknown => note(&"it has no plan for this problem"),
        WisdomLookup::Stale(why) => {
            note(&format_args!("not used: {why}"));
            return Ok((None, Some(why)));
        }
    }
    Ok((None, None))
}

/// Returns the estimated speed, `None` if nothing moves.
fn gb_per_s(plan: &Plan) -> Option<f64> {
    Some(plan.gb_per_s()).filter(|rate| rate.is_finite())
}

/// Formats all candidates, fastest first, each with its plan, then the routes that are not possible.
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

/// Formats a plan and its speed. `route` names the routes of all legs in order; `stages` are in dimension notation.
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

/// Formats plans as JSON. Speeds are estimates, and null if nothing moves.
fn json(
    candidates: &[Plan],
    rejected: &[RejectedRoute],
    chosen_by: &str,
    stale: Option<StaleWisdom>,
) -> Value {
    let rejected = rejected
        .iter()
        .map(|one| json!({ "route": one.route.name(), "why": one.reason.to_string() }));
    json!({
        "candidates": candidates.iter().map(|plan| of_plan(plan, gb_per_s(plan))).collect::<Value>(),
        "rejected": rejected.collect::<Value>(),
        "chosen_by": chosen_by,
        "wisdom_rejected": stale.map(|why| why.to_string()),
    })
}
