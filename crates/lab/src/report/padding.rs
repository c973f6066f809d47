//! Figure 4.4: rows padded in place; and near-square matrices padded to squares against the default.

use anyhow::Result;
use turntile::plan::{Problem, Stage};
use turntile_cli::measure::gb_per_s;
use turntile_cuda::Work;
use turntile_cuda::gpu_device::strategy_of;
use turntile_cuda::strategy::Strategy;
use turntile_perm::{Elementary, RowSlide};
use turntile_plan::{Implementation, Method, StageMap};

use turntile::gpu::Gpu;

use super::bench::{Bench, SPEED, Speed, cells, number};
use super::table::Table;

pub const STEPS: &[&str] = &["step", "rows_moved", "async_movable_rows", "gb_per_s"];
pub const PASSES: &[&str] =
    &["shape", "pass", "method", "gb_per_s", "copy_gb_per_s", "percent_of_copy"];
pub const NEAR_SQUARE: &[&str] =
    &["shape", "route", "plan", "extra_megabytes", "gb_per_s", "copy_gb_per_s", "percent_of_copy"];

/// Rows and columns that are padded to a square: not the caption's 5000 x 4000, since these end with the text's 99 rows.
pub const FIGURE_4_4: (usize, usize) = (5000, 4900);

/// Rows that fit a step by equation 4.1, and on a GPU how fast each step is by itself.
pub fn figure_4_4(bench: &mut Bench, table: &mut Table) -> Result<()> {
    let (rows, cols) = FIGURE_4_4;
    let (rows, cols) = (bench.side(rows), bench.side(cols));
    let pad = RowSlide::new(rows, cols, cols, rows).expect("rows with gaps");
    let shape = StageMap::Slide(pad);
    let by_rows = |gpu: &Gpu| {
        Work::of_stage(&shape, Strategy::Rounds { least: 2 }, 4, 16, gpu.device().limits())
    };
    let mut launches = bench
        .gpu()
        .map(by_rows)
        .transpose()?
        .into_iter()
        .flat_map(|work| work.one_by_one().collect::<Vec<_>>());
    let mut moved = 0;
    for (number_of, step) in pad.rounds(2).enumerate() {
        let bytes = step.rows.len() * cols * 4;
        let rate = match launches.next() {
            Some(work) => {
                let seconds = bench.calls(work, shape.clone(), 4)?;
                number(gb_per_s(bytes as f64, seconds))
            }
            None => String::new(),
        };
        let movable = pad.movable(moved);
        table.push([(number_of + 1).to_string(), moved.to_string(), movable.to_string(), rate]);
        moved += step.rows.len();
    }
    Ok(())
}

const SHAPES: [(usize, usize); 6] =
    [(5000, 4900), (4900, 5000), (5000, 4000), (4999, 5003), (10_000, 9900), (12_000, 11_999)];

/// A matrix as a square for a while: rows moved apart to the longer side where they are the shorter, the square
/// transposed, rows moved together where they are to be; of a single matrix one of the two is nothing.
///
/// Once by each method that the device moves rows by.
fn squares(bench: &Bench, problem: &Problem) -> Vec<Vec<(StageMap, Implementation)>> {
    let (rows, cols) = (problem.rows(), problem.cols());
    let side = rows.max(cols);
    let apart = |rows, cols| RowSlide::new(rows, cols, cols, side).expect("rows of a square");
    let square = Elementary { batch: 1, rows: side, mid: 1, cols: side, unit: 1 };
    let stages: [StageMap; 3] =
        [apart(rows, cols).into(), square.into(), apart(cols, rows).inverse().into()];
    let stages: Vec<_> = stages.into_iter().filter(|shape| !shape.is_identity()).collect();
    let pad = pads(&stages);
    let mut all: Vec<Vec<(StageMap, Implementation)>> = Vec::new();
    for other in bench.offers(&stages[pad], problem.itemsize()) {
        if all.iter().all(|known| known[pad].1.method != other.method) {
            let swap = bench.offer(&stages[1 - pad], Method::TileSwap, problem.itemsize());
            let offers = [Some(other), swap];
            let offers = if pad == 0 { offers } else { [offers[1].clone(), offers[0].clone()] };
            all.extend(
                stages
                    .iter()
                    .zip(offers)
                    .map(|(shape, offer)| Some((shape.clone(), offer?)))
                    .collect::<Option<_>>(),
            );
        }
    }
    all
}

/// Which of two stages moves rows.
fn pads(stages: &[StageMap]) -> usize {
    usize::from(!matches!(stages[0], StageMap::Slide(_)))
}

/// Padding or unpadding alone: the way that the thesis has it, by data sliding and, on a host, in shares.
pub fn passes(bench: &mut Bench, table: &mut Table) -> Result<()> {
    for (rows, cols) in SHAPES {
        let problem = Problem::new(bench.side(rows), bench.side(cols), 4)?;
        if problem.rows() == problem.cols() {
            continue;
        }
        for stages in squares(bench, &problem) {
            let shapes: Vec<StageMap> = stages.iter().map(|stage| stage.0.clone()).collect();
            let at = pads(&shapes);
            let (shape, offer) = &stages[at];
            let speed = match bench.gpu() {
                Some(gpu) => {
                    let way = strategy_of(offer).expect("a GPU's");
                    let work = Work::of_stage(shape, way, 4, 16, gpu.device().limits())?;
                    let seconds = bench.calls(work, shape.clone(), 4)?;
                    let gb_per_s = gb_per_s(problem.bytes() as f64, seconds);
                    Speed { gb_per_s, copy_gb_per_s: bench.copy(problem.bytes())? }
                }
                None => bench.host_stage(&stages, &problem, at)?,
            };
            let pass = if rows > cols { "pad" } else { "unpad" };
            let names = [format!("{rows}x{cols}"), pass.to_owned(), offer.name()];
            table.push([names.to_vec(), cells(Ok(speed))?.to_vec()].concat());
        }
    }
    Ok(())
}

/// Padded squares, both ways, and the route that is taken without room behind the matrix.
pub fn near_square(bench: &mut Bench, table: &mut Table) -> Result<()> {
    for (rows, cols) in SHAPES {
        let problem = Problem::new(bench.side(rows), bench.side(cols), 4)?;
        if problem.rows() == problem.cols() {
            continue;
        }
        let mut row = |route: String, stages: Vec<String>, extra: usize, speed: [String; 3]| {
            let extra = format!("{:.1}", extra as f64 / 1e6);
            let names = [format!("{rows}x{cols}"), route, stages.join(" -> "), extra];
            table.push([names.to_vec(), speed.to_vec()].concat());
        };
        let chosen = bench.planner().plan(&problem)?;
        let stages = chosen.stages().map(ToString::to_string).collect();
        let speed = cells(bench.plan(&chosen))?;
        row(chosen.route_name(), stages, chosen.workspace_bytes, speed);
        let square = problem.rows().max(problem.cols()).pow(2) * 4;
        for stages in squares(bench, &problem) {
            let workspace = stages.iter().map(|(_, offer)| offer.workspace_bytes).max();
            let extra = workspace.unwrap_or(0) + square - problem.bytes();
            let speed = cells(bench.stages(&stages, &problem))?;
            let stages =
                stages.into_iter().map(|(shape, offer)| Stage::new(shape, offer).to_string());
            row("padded-square".to_owned(), stages.collect(), extra, speed);
        }
    }
    debug_assert!(NEAR_SQUARE.ends_with(&SPEED));
    Ok(())
}
