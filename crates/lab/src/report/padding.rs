//! Figure 4.4: rows padded in place; and near-square matrices padded to squares against the default.

use turntile::plan::{Plan, Problem, Route, Stage, StageShape};
use turntile_cli::speed::gb_per_s;
use turntile_cuda::Work;
use turntile_cuda::chip::way_of;
use turntile_cuda::way::Way;
use turntile_perm::Padding;
use turntile_plan::Direction;

use turntile::gpu::Gpu;

use super::bench::{Bench, SPEED, Speed, cells, number};
use super::failure::Failure;
use super::table::Table;

pub const STEPS: &[&str] = &["step", "rows_moved", "async_movable_rows", "gb_per_s"];
pub const PASSES: &[&str] =
    &["shape", "pass", "method", "gb_per_s", "copy_gb_per_s", "percent_of_copy"];
pub const NEAR_SQUARE: &[&str] =
    &["shape", "route", "plan", "extra_megabytes", "gb_per_s", "copy_gb_per_s", "percent_of_copy"];

/// Rows that fit a step by equation 4.1, and on a GPU how fast each step is by itself.
///
/// 5000 x 4900 and not the caption's 5000 x 4000: it is this one that ends with the text's 99 rows.
pub fn figure_4_4(bench: &mut Bench, table: &mut Table) -> Result<(), Failure> {
    let (rows, cols) = (bench.side(5000), bench.side(4900));
    let padding = Padding::new(rows, cols, rows).expect("rows with gaps");
    let shape = StageShape::Pad { padding, direction: Direction::Forward };
    let by_rows =
        |gpu: &Gpu| Work::of_stage(&shape, Way::Rows { least: 2 }, 4, 16, gpu.chip().limits());
    let mut launches = bench
        .gpu()
        .map(by_rows)
        .transpose()?
        .into_iter()
        .flat_map(|work| work.one_by_one().collect::<Vec<_>>());
    let mut moved = 0;
    for (number_of, step) in padding.pad_rounds(2).enumerate() {
        let bytes = step.rows.len() * cols * 4;
        let rate = match launches.next() {
            Some(work) => {
                let seconds = bench.calls(work, shape, 4)?;
                number(gb_per_s(bytes as f64, seconds))
            }
            None => String::new(),
        };
        let movable = padding.async_movable(moved);
        table.push([(number_of + 1).to_string(), moved.to_string(), movable.to_string(), rate]);
        moved += step.rows.len();
    }
    Ok(())
}

const SHAPES: [(usize, usize); 6] =
    [(5000, 4900), (4900, 5000), (5000, 4000), (4999, 5003), (10_000, 9900), (12_000, 11_999)];

/// The plans of route padded-square with rows moved by each method that the device has, over all of its threads.
fn padded(bench: &Bench, problem: &Problem) -> Result<Vec<Plan>, Failure> {
    let side = problem.rows().max(problem.cols());
    let planner = bench.planner().with_route(Route::PaddedSquare);
    let chosen = planner.plan(&problem.with_room(side * side))?;
    let mut plans: Vec<Plan> = Vec::new();
    for (k, stage) in chosen.stages().enumerate() {
        let StageShape::Pad { .. } = stage.shape else { continue };
        for other in bench.offers(&stage.shape, problem.elem_bytes()) {
            let known =
                plans.iter().any(|plan| plan.legs[0].stages[k].offer.method == other.method);
            if !known {
                let mut plan = chosen.clone();
                plan.workspace_bytes = other.workspace_bytes;
                plan.legs[0].stages[k].offer = other;
                plans.push(plan);
            }
        }
    }
    Ok(plans)
}

/// Padding or unpadding alone: the way that the thesis has it, by data sliding and, on a host, in shares.
pub fn passes(bench: &mut Bench, table: &mut Table) -> Result<(), Failure> {
    for (rows, cols) in SHAPES {
        let problem = Problem::new(bench.side(rows), bench.side(cols), 4)?;
        if problem.rows() == problem.cols() {
            continue;
        }
        for plan in padded(bench, &problem)? {
            let pad = |stage: &Stage| matches!(stage.shape, StageShape::Pad { .. });
            let Some(at) = plan.stages().position(pad) else { continue };
            let stage = &plan.legs[0].stages[at];
            let speed = match bench.gpu() {
                Some(gpu) => {
                    let way = way_of(&stage.offer).expect("a GPU's plan");
                    let work = Work::of_stage(&stage.shape, way, 4, 16, gpu.chip().limits())?;
                    let seconds = bench.calls(work, stage.shape, 4)?;
                    let gb_per_s = gb_per_s(problem.bytes() as f64, seconds);
                    Speed { gb_per_s, copy_gb_per_s: bench.copy(problem.bytes())? }
                }
                None => bench.host(plan.clone(), bench.threads(), |k| problem.dest(k), Some(at))?,
            };
            let pass = if rows > cols { "pad" } else { "unpad" };
            let names = [format!("{rows}x{cols}"), pass.to_owned(), stage.offer.way()];
            table.push([names.to_vec(), cells(Ok(speed))?.to_vec()].concat());
        }
    }
    Ok(())
}

/// Padded squares, both ways, and the route that is taken without room behind the matrix.
pub fn near_square(bench: &mut Bench, table: &mut Table) -> Result<(), Failure> {
    for (rows, cols) in SHAPES {
        let problem = Problem::new(bench.side(rows), bench.side(cols), 4)?;
        if problem.rows() == problem.cols() {
            continue;
        }
        let chosen = bench.planner().plan(&problem)?;
        for plan in std::iter::once(chosen).chain(padded(bench, &problem)?) {
            let speed = cells(bench.plan(&plan))?;
            let extra = plan.workspace_bytes + plan.room_bytes() - problem.bytes();
            let stages: Vec<String> = plan.stages().map(ToString::to_string).collect();
            let names = [
                format!("{rows}x{cols}"),
                plan.route_name(),
                stages.join(" -> "),
                format!("{:.1}", extra as f64 / 1e6),
            ];
            table.push([names.to_vec(), speed.to_vec()].concat());
        }
    }
    debug_assert!(NEAR_SQUARE.ends_with(&SPEED));
    Ok(())
}
