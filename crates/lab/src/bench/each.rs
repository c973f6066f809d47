//! Every candidate that was measured: what shows how well estimates choose.

use std::collections::HashMap;
use std::time::Duration;

use anyhow::Result;
use serde::Serialize;
use turntile::gpu;
use turntile::plan::{Measurement, Plan, Planner, Problem, TileRule, TileSize};
use turntile_cli::bench::{routes, short};
use turntile_cli::device::BenchDevice;
use turntile_cli::measure::gb_per_s;
use turntile_cli::values::joined;

/// A candidate's figures; the time is the median of its runs.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    pub batch: usize,
    pub rows: usize,
    pub cols: usize,
    /// Extents of an array, and the order of its axes.
    pub shape: String,
    pub axes: String,
    pub elem_bytes: usize,
    pub out_of_place: u8,
    pub device: String,
    pub model: String,
    pub threads: Option<usize>,
    pub route: String,
    pub mirrored: u8,
    pub tile_m: usize,
    pub tile_n: usize,
    /// The ways of its stages, as a recipe has them.
    pub ways: String,
    pub workspace_bytes: usize,
    pub seconds: f64,
    pub runs: usize,
    pub estimated_seconds: f64,
    pub copy_gb_per_s: f64,
    pub percent_of_copy: f64,
    /// Whether the planner chooses it by estimate.
    pub chosen: u8,
    pub plan: String,
}

/// Candidates that are estimated to take so many times as long as the chosen one are left out: single elements of large
/// arrays one after the other.
const HOPELESS: f64 = 1000.0;

/// What is measured: `chosen`, then the best plan of every route, as it is and mirrored, then the rest of the best `tiles`
/// tiles of each and every way of those of one stage.
fn candidates(planner: &Planner, problem: &Problem, chosen: &Plan, tiles: usize) -> Vec<Plan> {
    let all = planner.clone().with_tiles(TileRule::Exhaustive).candidates(problem).candidates;
    let mut seen: HashMap<String, Vec<TileSize>> = HashMap::new();
    let (mut first, mut rest) = (vec![chosen.clone()], Vec::new());
    for plan in all {
        let known = seen.entry(plan.route_name()).or_default();
        let is_first = known.is_empty();
        if !known.contains(&plan.tile()) {
            if known.len() == tiles {
                continue;
            }
            known.push(plan.tile());
        }
        if plan.phases != chosen.phases && plan.seconds <= HOPELESS * chosen.seconds {
            (if is_first { &mut first } else { &mut rest }).push(plan);
        }
    }
    first.extend(rest);
    first
}

/// Measures candidates of `planner` for about `budget`, fastest first.
///
/// # Errors
/// As [`turntile::plan::measure`], on a GPU as [`gpu::measure_on`].
pub fn measure(
    (device, threads): (&BenchDevice, usize),
    planner: &Planner,
    chosen: &Plan,
    (tiles, budget): (usize, Duration),
) -> Result<Vec<Measurement>> {
    let plans = candidates(planner, &chosen.problem, chosen, tiles);
    Ok(match device {
        BenchDevice::Cpu => turntile::plan::measure(plans, threads, budget)?,
        BenchDevice::Gpu(gpu) => gpu::measure_on(gpu, plans, budget)?,
    })
}

/// A row for each.
pub fn rows(
    measured: &[Measurement],
    model: &str,
    threads: Option<usize>,
    copy_seconds_per_byte: f64,
    chosen: &Plan,
) -> Vec<Row> {
    let row = |Measurement { plan, time, runs, .. }: &Measurement| {
        let (problem, seconds) = (&plan.problem, time.as_secs_f64());
        Row {
            batch: problem.batch(),
            rows: problem.rows(),
            cols: problem.cols(),
            shape: joined(problem.extents(), "x"),
            axes: joined(problem.order(), "-"),
            elem_bytes: problem.itemsize(),
            out_of_place: u8::from(problem.is_out_of_place()),
            device: plan.device.clone(),
            model: model.to_string(),
            threads,
            route: routes(plan),
            mirrored: u8::from(plan.mirrored()),
            tile_m: plan.tile().m,
            tile_n: plan.tile().n,
            ways: plan.recipe().variants().replace(", ", " -> "),
            workspace_bytes: plan.workspace_bytes,
            seconds: short(seconds),
            runs: *runs,
            estimated_seconds: short(plan.seconds),
            copy_gb_per_s: short(gb_per_s(1.0, copy_seconds_per_byte)),
            percent_of_copy: short(
                100.0 * copy_seconds_per_byte * problem.bytes() as f64 / seconds,
            ),
            chosen: u8::from(plan.phases == chosen.phases),
            plan: plan.to_string(),
        }
    };
    measured.iter().map(row).collect()
}
