//! Figure 4.1: square matrices.

use anyhow::Result;
use turntile::plan::{Problem, Route};

use super::bench::{Bench, cells};
use super::table::Table;

pub const COLUMNS: &[&str] = &["side", "gb_per_s", "copy_gb_per_s", "percent_of_copy"];

/// Squares of f32 by tile-pair swap, side after side.
pub fn figure_4_1(bench: &mut Bench, table: &mut Table) -> Result<()> {
    let most = match (bench.quick(), bench.is_gpu()) {
        (true, _) => 256,
        (_, true) => 16_384,
        (_, false) => 8192,
    };
    let planner = bench.planner().with_route(Route::SQUARE);
    let doubled = std::iter::successors(Some(128), |side| Some(side * 2));
    for side in doubled.flat_map(|side| [side, side + side / 2]).take_while(|&side| side <= most) {
        let plan = planner.plan(&Problem::new(side, side, 4)?)?;
        let speed = cells(bench.plan(&plan))?;
        table.push([vec![side.to_string()], speed.to_vec()].concat());
    }
    Ok(())
}
