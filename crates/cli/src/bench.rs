//! `turntile bench`: each shape verified, then timed beside a copy of as many bytes in the same run.

mod each;
mod gpu;
mod host;
mod row;
mod shapes;
mod table;
mod timing;

use std::time::Duration;

use turntile::plan::{PlanError, Problem};
use turntile::{Measured, TileRule, Transpose};

use crate::args::{BenchArgs, Choice};
use crate::device::Device;
use crate::error::Error;
use crate::rates::Rates;
use crate::say::tell;
use crate::settings::transpose_of;
use crate::speed;
pub use host::{copy, fill};
pub use row::routes;
use row::{Row, joined, micros, short};
use shapes::Task;
pub use shapes::{Shapes, read};
use timing::Figures;

/// Runs the command and returns what to print.
pub fn run(args: &BenchArgs) -> Result<String, Error> {
    let device = Device::find(&args.device, args.threads)?;
    let every = match device {
        Device::Host => &shapes::HOST[..],
        Device::Gpu(_) => &shapes::GPU,
    };
    let rates = match &device {
        Device::Host => args.rates.host(false)?.clone(),
        Device::Gpu(gpu) => args.rates.gpu(gpu.chip())?,
    };
    let words: Vec<usize> = args.elem_bytes.iter().map(|bytes| bytes.get()).collect();
    let mut tasks = match (args.draw, &args.shapes[..]) {
        (Some(_), []) => Vec::new(),
        (_, asked) => shapes::tasks(asked, every, &words, args.batch.get())?,
    };
    if let Some(count) = args.draw {
        tasks.extend(match args.draw_axes {
            true => shapes::draw_axes(count.get(), args.seed, args.draw_most, &words),
            false => shapes::draw(count.get(), args.seed, args.draw_most)?,
        });
    }
    let routes = if args.route.is_empty() { &[Choice::Best][..] } else { &args.route };
    let (mut rows, mut each) = (Vec::new(), Vec::new());
    let mut last = None;
    for task in &tasks {
        for &route in routes {
            match measure(args, (&device, &rates), task, route) {
                Ok((row, candidates)) => {
                    rows.push(row);
                    each.extend(candidates);
                }
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
        _ if args.each => table::csv(&each),
        (true, _) => table::csv(&rows),
        (_, true) => table::json(&rows),
        _ => table::text(&rows),
    })
}

/// The transposition of `problem` as the options have it.
fn transpose(args: &BenchArgs, problem: &Problem, route: Choice, rates: &Rates) -> Transpose {
    let mut transpose = rates.of(transpose_of(problem)).tiles(args.tiles.rule());
    if let Some(threads) = args.threads {
        transpose = transpose.threads(threads.get());
    }
    if let Some(amount) = args.workspace {
        transpose = transpose.workspace_cap(amount.of(problem.bytes()));
    }
    if let Choice::Route(route) = route {
        transpose = transpose.route(route);
    }
    transpose
}

/// The figures of a task, and those of each candidate if they are asked for.
fn measure(
    args: &BenchArgs,
    (device, rates): (&Device, &Rates),
    task: &Task,
    route: Choice,
) -> Result<(Row, Vec<each::Row>), Error> {
    let problem = if args.into { task.problem.out_of_place() } else { task.problem };
    let transpose = transpose(args, &problem, route, rates);
    let figures = match device {
        Device::Host => host::measure(args, &transpose, &problem)?,
        Device::Gpu(gpu) => gpu::measure(args, gpu, &transpose, &problem)?,
    };
    let Figures { workspace_bytes, seconds, copy_seconds_per_byte, plan, .. } = figures;
    let threads = matches!(device, Device::Host).then(|| host::threads(args));
    let (best, each) = match args.candidates {
        Some(budget) if args.each => {
            let measured =
                each::measure(args, (device, rates), &transpose.problem()?, route, &plan, budget)?;
            let rows = each::rows(&measured, device, threads, copy_seconds_per_byte, &plan);
            (measured, rows)
        }
        Some(budget) => (candidates(device, &transpose, budget)?, Vec::new()),
        None => (Vec::new(), Vec::new()),
    };
    let chosen = best.iter().find(|candidate| candidate.plan.legs == plan.legs);
    let bytes = problem.bytes() as f64;
    let row = Row {
        class: task.class,
        batch: problem.batch(),
        rows: problem.rows(),
        cols: problem.cols(),
        shape: joined(problem.extents().iter().copied(), "x"),
        axes: joined(problem.order(), "-"),
        elem_bytes: problem.elem_bytes(),
        device: plan.device.to_string(),
        threads,
        pages: threads.map(|_| args.pages.name()),
        out_of_place: problem.is_out_of_place(),
        route: routes(&plan),
        mirrored: plan.mirrored(),
        tile_m: plan.tile().m,
        tile_n: plan.tile().n,
        passes: plan.passes(),
        workspace_bytes,
        seconds: short(seconds),
        gb_per_s: short(speed::gb_per_s(bytes, seconds)),
        copy_gb_per_s: short(speed::gb_per_s(1.0, copy_seconds_per_byte)),
        percent_of_copy: short(100.0 * copy_seconds_per_byte * bytes / seconds),
        estimated_gb_per_s: (plan.seconds > 0.0)
            .then(|| short(speed::gb_per_s(bytes, plan.seconds))),
        planning_us: micros(figures.planning),
        queueing_us: figures.queueing.map(micros),
        chosen_over_best: chosen
            .map(|chosen| short(chosen.time.as_secs_f64() / best[0].time.as_secs_f64())),
        candidates: args.candidates.map(|_| best.len()),
        best_route: best.first().map(|best| best.plan.route_name()),
        best_plan: best.first().map(|best| best.plan.to_string()),
        plan: plan.to_string(),
    };
    Ok((row, each))
}

/// Every route and every tile for about `budget`, fastest first.
fn candidates(
    device: &Device,
    transpose: &Transpose,
    budget: Duration,
) -> Result<Vec<Measured>, Error> {
    let all = transpose.clone().tiles(TileRule::Exhaustive);
    Ok(match device {
        Device::Host => all.tune(budget)?,
        Device::Gpu(gpu) => all.tune_on(gpu, budget)?,
    })
}
