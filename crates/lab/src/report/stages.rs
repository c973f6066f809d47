//! What the thesis says of its stages in passing (sections 4.4 to 4.7), and the thesis's own method.

use anyhow::Result;
use turntile::plan::{Plan, Planner, Problem, Route, TileRule, TileSize};
use turntile_cuda::strategy::{Scope, Strategy};
use turntile_perm::Elementary;
use turntile_plan::{Implementation, Method, StageMap};

use super::asta::{PROBLEMS, threads};
use super::bench::{Bench, Speed, cells};
use super::table::Table;
use crate::error::Refused;
use crate::staged::FOUR_STAGE;

pub const SAID: &[&str] = &[
    "what",
    "method",
    "thesis_gb_per_s",
    "thesis_processor",
    "gb_per_s",
    "copy_gb_per_s",
    "percent_of_copy",
];

/// A plan whose super-elements are moved by PTTWAC with flags in memory, and elements of tiles by a method of their own. None
/// where the device does not offer that.
pub fn by_pttwac(bench: &Bench, plan: &Plan, tiles: Method) -> Option<Plan> {
    moved_by_pttwac(plan, tiles, |shape, method, elem_bytes| bench.offer(shape, method, elem_bytes))
}

fn moved_by_pttwac(
    plan: &Plan,
    tiles: Method,
    offer: impl Fn(&StageMap, Method, usize) -> Option<Implementation>,
) -> Option<Plan> {
    let mut plan = plan.clone();
    let elem_bytes = plan.problem.itemsize();
    for stage in plan.phases.iter_mut().flat_map(|leg| &mut leg.stages) {
        let single = stage.map.elementary().is_some_and(|e| e.unit == 1);
        let method = if single { tiles } else { Method::PttwacGlobal };
        stage.implementation = offer(&stage.map, method, elem_bytes * stage.elems_per_unit)?;
    }
    plan.workspace_bytes = plan.stages().map(|stage| stage.implementation.workspace_bytes).max()?;
    Some(plan)
}

/// The thesis's own matrix by a route in a tile that it names.
fn with_tile(planner: Planner, route: Route, m: usize, n: usize) -> Option<Plan> {
    let planner = planner.with_tiles(TileRule::Exhaustive).with_route(route).with_mirrored(false);
    let problem = Problem::new(7200, 1800, 4).expect("small");
    planner
        .candidates(&problem)
        .candidates
        .into_iter()
        .find(|plan| plan.tile() == TileSize { m, n })
}

/// The same by PTTWAC, tiles by a method of their own.
fn in_tile(bench: &mut Bench, route: Route, m: usize, n: usize, tiles: Method) -> Result<Speed> {
    let plan = with_tile(bench.wider(), route, m, n);
    let plan = plan.and_then(|plan| by_pttwac(bench, &plan, tiles));
    bench.plan(&plan.ok_or_else(|| Refused(format!("{route} in {m} x {n} by PTTWAC")))?)
}

/// Speeds that the thesis names in its text.
pub fn said(bench: &mut Bench, table: &mut Table) -> Result<()> {
    let global = Strategy::Moves;
    let shape = |batch, rows, cols, unit| -> StageMap {
        Elementary { batch, rows, mid: 1, cols, unit }.into()
    };
    let mut row = |what: &str, method: &str, thesis: [&str; 2], speed: [String; 3]| {
        let names = [what, method, thesis[0], thesis[1]].map(String::from);
        table.push([names.to_vec(), speed.to_vec()].concat());
    };
    let (rows, cols) = (bench.side(7200), bench.side(1800));
    let workers = bench.threads();
    let one = cells(bench.stage(shape(1, rows, cols, 1), global, 4, workers))?;
    row("4.4: one-stage, 7200 x 1800", "PTTWAC", ["1.5", "K20"], one);
    if !bench.quick() {
        // Its numbers are of the first, as it seems; by PTTWAC alone it has none.
        for (methods, tiles, [theirs_four, theirs_three]) in [
            ("PTTWAC and barrier-sync", Method::BarrierSync, ["7.11", "20.59"]),
            ("PTTWAC", Method::PttwacOnChip, ["", ""]),
        ] {
            // The thesis has (20, 16); 16 divides 7200 alone.
            let four = cells(in_tile(bench, FOUR_STAGE, 16, 20, tiles))?;
            let what = "4.4: four-stage, 7200 x 1800, tile 16 x 20";
            row(what, methods, [theirs_four, "K20"], four);
            let three = cells(in_tile(bench, Route::THREE_STAGE, 32, 72, tiles))?;
            let what = "4.7: three-stage, 7200 x 1800, tile 32 x 72";
            row(what, methods, [theirs_three, "K20"], three);
        }
    }
    let tiles = shape((bench.elements() / (32 * 64)).max(1), 32, 64, 1);
    let workers = threads(bench, 32 * 64);
    let barrier = cells(bench.stage(tiles, Strategy::Barrier(Scope::Block), 4, workers))?;
    row("4.5: 010! on chip, tiles of 32 x 64", "barrier", ["95", "GTX 480"], barrier);
    let (_, long, wide) = PROBLEMS[0];
    for (tile, thesis) in [(16, "0.44"), (64, "13.65")] {
        let across = shape(1, wide, (bench.side(long) / tile).max(2), tile);
        let speed = cells(bench.stage(across, Strategy::PerCycle, 4, bench.threads()))?;
        let what = format!("4.6: 100!, super-elements of {tile} (bcsstk18)");
        row(&what, "P-IPT", [thesis, "Fermi"], speed);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use turntile::plan::GpuDevice;
    use turntile_plan::Device as _;

    use super::super::host::request;
    use super::*;
    use crate::staged::{FOUR_STAGE_FUSED, FOUR_STAGES};
    use crate::wider::Wider;

    #[test]
    fn the_thesis_s_plans_are_those_of_its_method() {
        let chip = GpuDevice::preset("h200").unwrap();
        let wider = Wider::gpu(chip.clone());
        let offer = |shape: &StageMap, method, elem_bytes| {
            let offers = wider.implementations(shape, &request(elem_bytes)).unwrap_or_default();
            offers.into_iter().find(|offer| offer.method == method)
        };
        let planner = Planner::new(Wider::gpu(chip.clone())).with_routes(&FOUR_STAGES);
        for (route, m, n) in
            [(Route::THREE_STAGE, 32, 72), (FOUR_STAGE, 16, 20), (FOUR_STAGE_FUSED, 16, 20)]
        {
            let plan = with_tile(planner.clone(), route, m, n).unwrap();
            for tiles in [Method::PttwacOnChip, Method::BarrierSync] {
                let plan = moved_by_pttwac(&plan, tiles, offer).unwrap();
                plan.check().unwrap();
                for stage in plan.stages() {
                    let names = [tiles, Method::PttwacGlobal];
                    assert!(names.contains(&stage.implementation.method), "{plan}");
                }
                assert_eq!(plan.dest(7199 * 1800 + 3), 3 * 7200 + 7199);
            }
        }
    }
}
