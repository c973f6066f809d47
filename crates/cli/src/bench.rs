//! `turntile bench`: each shape verified, then timed beside a copy of as many bytes in the same run.

mod gpu;
mod host;
mod shapes;
mod table;

use std::time::{Duration, Instant};

use serde::Serialize;
use turntile::plan::{Plan, PlanError, Problem};
use turntile::{Measured, TileRule, Transpose};

use crate::args::BenchArgs;
use crate::device::Device;
use crate::error::Error;
use crate::report::tell;
pub use host::{copy, fill};
use shapes::Task;
pub use shapes::{Shapes, names};

/// What `--route` takes for the planner's choice.
const BEST: &str = "best";

/// A shape's figures; times are medians.
#[derive(Clone, Debug, Serialize)]
struct Row {
    class: &'static str,
    batch: usize,
    rows: usize,
    cols: usize,
    elem_bytes: usize,
    device: String,
    threads: Option<usize>,
    pages: Option<&'static str>,
    route: &'static str,
    tile_m: usize,
    tile_n: usize,
    passes: usize,
    workspace_bytes: usize,
    seconds: f64,
    /// Bytes read and written, in a second.
    gb_per_s: f64,
    copy_gb_per_s: f64,
    percent_of_copy: f64,
    /// None where nothing moves.
    estimated_gb_per_s: Option<f64>,
    /// To make the plan again once the device is known and the kernels are loaded.
    planning_us: f64,
    /// The host's share of a run on a GPU: what it takes to queue it.
    queueing_us: Option<f64>,
    /// The chosen plan's time over that of the fastest candidate measured, if that was asked for.
    chosen_over_best: Option<f64>,
    candidates: Option<usize>,
    best_route: Option<&'static str>,
    best_plan: Option<String>,
    plan: String,
}

/// What was measured of a plan.
struct Figures {
    workspace_bytes: usize,
    seconds: f64,
    /// For each byte copied.
    copy_seconds_per_byte: f64,
    planning: Duration,
    queueing: Option<Duration>,
    plan: Plan,
}

/// Runs the command and returns what to print.
pub fn run(args: &BenchArgs) -> Result<String, Error> {
    let device = Device::find(&args.device, args.threads)?;
    let every = match device {
        Device::Host => &shapes::HOST[..],
        Device::Gpu(_) => &shapes::GPU,
    };
    let words: Vec<usize> = args.elem_bytes.iter().map(|bytes| bytes.get()).collect();
    let mut tasks = match (args.draw, &args.shapes[..]) {
        (Some(_), []) => Vec::new(),
        (_, asked) => shapes::tasks(asked, every, &words, args.batch.get())?,
    };
    if let Some(count) = args.draw {
        tasks.extend(shapes::draw(count.get(), args.seed, args.draw_most)?);
    }
    let routes = if args.route.is_empty() { &[BEST.to_string()][..] } else { &args.route };
    let mut rows = Vec::new();
    let mut last = None;
    for task in &tasks {
        for route in routes {
            match measure(args, &device, task, route) {
                Ok(row) => rows.push(row),
                // Of several routes some may not serve every shape.
                Err(Error::Engine(turntile::Error::Plan(why @ PlanError::Infeasible { .. }))) => {
                    // The last one is told below if nothing was measured at all.
                    if let Some(earlier) = last.replace(why) {
                        tell(&format_args!("note: {earlier}"));
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }
    match last {
        Some(why) if rows.is_empty() => return Err(why.into()),
        Some(why) => tell(&format_args!("note: {why}")),
        None => {}
    }
    Ok(match (args.csv, args.json) {
        (true, _) => table::csv(&rows),
        (_, true) => table::json(&rows),
        _ => table::text(&rows),
    })
}

/// The transposition of `problem` as the options have it.
fn transpose(args: &BenchArgs, problem: &Problem, route: &str) -> Transpose {
    let mut transpose = Transpose::new(problem.rows(), problem.cols())
        .batch(problem.batch())
        .tiles(args.tiles.rule());
    if let Some(threads) = args.threads {
        transpose = transpose.threads(threads.get());
    }
    if let Some(bytes) = args.workspace {
        transpose = transpose.workspace_cap(bytes);
    }
    if route != BEST {
        // For the one that pads to a square.
        let room = problem.rows().max(problem.cols()).saturating_pow(2);
        transpose = transpose.route(route).room(room.saturating_mul(problem.batch()));
    }
    transpose
}

fn measure(args: &BenchArgs, device: &Device, task: &Task, route: &str) -> Result<Row, Error> {
    let problem = task.problem;
    let transpose = transpose(args, &problem, route);
    let figures = match device {
        Device::Host => host::measure(args, &transpose, &problem)?,
        Device::Gpu(gpu) => gpu::measure(args, gpu, &transpose, &problem)?,
    };
    let Figures { workspace_bytes, seconds, copy_seconds_per_byte, plan, .. } = figures;
    let best = match args.candidates {
        Some(budget) => candidates(device, &transpose, &problem, budget)?,
        None => Vec::new(),
    };
    let chosen = best.iter().find(|candidate| candidate.plan.stages == plan.stages);
    let bytes = problem.bytes() as f64;
    let on_host = matches!(device, Device::Host);
    Ok(Row {
        class: task.class,
        batch: problem.batch(),
        rows: problem.rows(),
        cols: problem.cols(),
        elem_bytes: problem.elem_bytes(),
        device: plan.device.to_string(),
        threads: on_host.then(|| host::threads(args)),
        pages: on_host.then(|| args.pages.name()),
        route: plan.route,
        tile_m: plan.tile.m,
        tile_n: plan.tile.n,
        passes: plan.passes(),
        workspace_bytes,
        seconds: short(seconds),
        gb_per_s: short(2.0 * bytes / seconds / 1e9),
        copy_gb_per_s: short(2.0 / copy_seconds_per_byte / 1e9),
        percent_of_copy: short(100.0 * copy_seconds_per_byte * bytes / seconds),
        estimated_gb_per_s: (plan.seconds > 0.0).then(|| short(2.0 * bytes / plan.seconds / 1e9)),
        planning_us: micros(figures.planning),
        queueing_us: figures.queueing.map(micros),
        chosen_over_best: chosen
            .map(|chosen| short(chosen.time.as_secs_f64() / best[0].time.as_secs_f64())),
        candidates: args.candidates.map(|_| best.len()),
        best_route: best.first().map(|best| best.plan.route),
        best_plan: best.first().map(|best| best.plan.to_string()),
        plan: plan.to_string(),
    })
}

/// Every route and every tile for about `budget`, fastest first.
fn candidates(
    device: &Device,
    transpose: &Transpose,
    problem: &Problem,
    budget: Duration,
) -> Result<Vec<Measured>, Error> {
    let all = transpose.clone().tiles(TileRule::Exhaustive);
    Ok(match device {
        Device::Host => all.tune_bytes(problem.elem_bytes(), budget)?,
        Device::Gpu(gpu) => all.tune_bytes_on(gpu, problem.elem_bytes(), budget)?,
    })
}

fn micros(time: Duration) -> f64 {
    short(time.as_secs_f64() * 1e6)
}

/// To four digits, which is more than times are good for.
fn short(figure: f64) -> f64 {
    format!("{figure:.3e}").parse().unwrap_or(figure)
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// How long planning takes: the median of five times.
fn planning<T, E>(plan: impl Fn() -> Result<T, E>) -> Result<Duration, E> {
    let mut times = Vec::new();
    for _ in 0..5 {
        let start = Instant::now();
        plan()?;
        times.push(start.elapsed());
    }
    Ok(median(times))
}
