//! `turntile-lab bench`: what `turntile bench` measures, of classes of shapes and of drawn ones, and every candidate
//! beside the planner's choice.

mod draws;
mod each;

pub(crate) use draws::random;

use anyhow::Result;
use serde::Serialize;
use turntile::mode::Dynamic;
use turntile::plan::{CostTable, CpuDevice, GpuDevice, Measurement, Planner, Problem, TileRule};
use turntile::{ErrorKind, Transpose};
use turntile_cli::bench::{Row, csv, short};
use turntile_cli::device::BenchDevice;
use turntile_cli::error::On as _;
use turntile_cli::measure::{How, measure};

use crate::command::{BenchArgs, Choice, DrawClass};
use crate::shapes::{self, Task};

#[derive(Serialize)]
struct Class {
    class: &'static str,
}

/// The planner's choice beside the fastest candidate.
#[derive(Serialize)]
struct Best {
    /// The chosen plan's time over that of the fastest candidate measured, if that was asked for.
    chosen_over_best: Option<f64>,
    candidates: Option<usize>,
    best_route: Option<String>,
    best_plan: Option<String>,
}

/// Runs the command and returns what to print: CSV.
///
/// # Errors
/// What the engine cannot do, the driver's errors; where no route asked for can do any of the problems, why.
pub fn run(args: &BenchArgs) -> Result<String> {
    let device = BenchDevice::find(&args.device, args.threads)?;
    let (tasks, costs) = (tasks(args, &device)?, costs(args, &device)?);
    let routes = if args.route.is_empty() { &[Choice::Best][..] } else { &args.route };
    let (mut rows, mut each, mut last) = (Vec::new(), Vec::new(), None);
    for (task, &route) in
        tasks.iter().flat_map(|task| routes.iter().map(move |route| (task, route)))
    {
        match one(args, (&device, costs.as_ref()), task, route) {
            Ok((row, candidates)) => {
                rows.push(row);
                each.extend(candidates);
            }
            // Of several routes some may not be possible for every shape.
            Err(error) if is_infeasible(&error) => {
                eprintln!("turntile-lab: note: {error}");
                last = Some(error);
            }
            Err(error) => return Err(error),
        }
    }
    match last {
        Some(why) if rows.is_empty() => Err(why),
        _ if args.each => Ok(csv(&each)),
        _ => Ok(csv(&rows)),
    }
}

fn is_infeasible(error: &anyhow::Error) -> bool {
    let error: Option<&turntile::Error> = error.downcast_ref();
    error.is_some_and(|error| error.kind() == ErrorKind::NoPlan)
}

fn tasks(args: &BenchArgs, device: &BenchDevice) -> Result<Vec<Task>> {
    let every = match device {
        BenchDevice::Cpu => &shapes::HOST[..],
        BenchDevice::Gpu(_) => &shapes::GPU,
    };
    let mut tasks = match (args.draw, &args.shapes[..]) {
        (Some(_), []) => Vec::new(),
        (_, asked) => shapes::tasks(asked, every, &args.elem_bytes, args.batch)?,
    };
    if let Some(count) = args.draw {
        let (seed, most, words) = (args.seed, args.draw_most, &args.elem_bytes);
        tasks.extend(match args.draw_class {
            DrawClass::Matrices => draws::draw(count, seed, most)?,
            DrawClass::Axes => draws::draw_axes(count, seed, most, words),
            DrawClass::LongRuns => draws::draw_long_runs(count, seed, most, words),
            DrawClass::Batches => draws::draw_batches(count, seed, most, words),
        });
    }
    Ok(tasks)
}

/// The table to plan by, where one is named; that it is of the device is checked when it is used.
fn costs(args: &BenchArgs, device: &BenchDevice) -> Result<Option<CostTable>> {
    let Some(file) = &args.costs else { return Ok(None) };
    let text = std::fs::read_to_string(file).on("read", file)?;
    let costs = match device {
        BenchDevice::Cpu => CpuDevice::costs_from(&text),
        BenchDevice::Gpu(_) => GpuDevice::costs_from(&text),
    };
    Ok(Some(costs?))
}

/// The transposition of `problem` as the options have it.
fn transpose(
    args: &BenchArgs,
    problem: &Problem,
    route: Choice,
    costs: Option<&CostTable>,
) -> Transpose<Dynamic> {
    let axes: Vec<usize> = problem.order().collect();
    let transpose = Transpose::permute::<u8>(problem.extents(), &axes);
    let transpose = transpose.itemsize(problem.itemsize()).dynamic();
    let transpose = if problem.is_out_of_place() { transpose.out_of_place() } else { transpose };
    let mut transpose = transpose.tiles(rule(args));
    if let Some(costs) = costs {
        transpose = transpose.costs(costs.clone());
    }
    if let Some(threads) = args.threads {
        transpose = transpose.threads(threads.get());
    }
    if let Some(bytes) = args.workspace {
        transpose = transpose.workspace_limit(bytes);
    }
    if let Choice::Route(route) = route {
        transpose = transpose.route(route);
    }
    transpose
}

fn rule(args: &BenchArgs) -> TileRule {
    if args.all_tiles { TileRule::Exhaustive } else { TileRule::CostModel }
}

/// Plans as `transpose` does.
fn planner(
    (device, costs): (&BenchDevice, Option<&CostTable>),
    threads: usize,
    route: Choice,
) -> Planner {
    let planner = match (device, costs.cloned()) {
        (BenchDevice::Cpu, None) => Planner::new(CpuDevice::here(threads)),
        (BenchDevice::Cpu, Some(costs)) => Planner::new(CpuDevice::here(threads).with_costs(costs)),
        (BenchDevice::Gpu(gpu), None) => Planner::new(gpu.device().clone()),
        (BenchDevice::Gpu(gpu), Some(costs)) => {
            Planner::new(gpu.device().clone().with_costs(costs))
        }
    };
    match route {
        Choice::Best => planner,
        Choice::Route(route) => planner.with_route(route),
    }
}

type Line = (Class, Row, Best);

/// The figures of a task, and those of each candidate if they are asked for.
fn one(
    args: &BenchArgs,
    (device, costs): (&BenchDevice, Option<&CostTable>),
    task: &Task,
    route: Choice,
) -> Result<(Line, Vec<each::Row>)> {
    let problem = if args.into { task.problem.out_of_place()? } else { task.problem.clone() };
    let transpose = transpose(args, &problem, route, costs);
    let how = How { threads: args.threads, pages: args.pages, runs: args.runs };
    let figures = measure(device, &transpose, how)?;
    let (plan, threads) = (&figures.plan, how.threads());
    let named = matches!(device, BenchDevice::Cpu).then_some(threads);
    let (best, each) = match args.candidates {
        Some(budget) if args.each => {
            let planner = planner((device, costs), threads, route);
            let measured =
                each::measure((device, threads), &planner, plan, (args.each_tiles, budget))?;
            let model = planner.device().model();
            let copy = figures.copy_seconds_per_byte;
            let rows = each::rows(&measured, &model, named, copy, plan);
            (measured, rows)
        }
        Some(budget) => {
            let all = transpose.clone().tiles(TileRule::Exhaustive);
            let measured = match device {
                BenchDevice::Cpu => all.tune(budget)?,
                BenchDevice::Gpu(gpu) => all.tune_on(gpu, budget)?,
            };
            (measured, Vec::new())
        }
        None => (Vec::new(), Vec::new()),
    };
    let seconds = |one: &Measurement| one.time.as_secs_f64();
    let chosen = best.iter().find(|candidate| candidate.plan.phases == plan.phases);
    let beside = Best {
        chosen_over_best: chosen.map(|chosen| short(seconds(chosen) / seconds(&best[0]))),
        candidates: args.candidates.map(|_| best.len()),
        best_route: best.first().map(|best| best.plan.route_name()),
        best_plan: best.first().map(|best| best.plan.to_string()),
    };
    Ok(((Class { class: task.class }, Row::new(device, how, figures), beside), each))
}
