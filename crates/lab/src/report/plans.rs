//! Tables 4.2 and 4.3, figure 4.21: whole transpositions of the thesis's six matrices.

use turntile::plan::{Problem, Route, Tile, TileRule};

use super::bench::{Bench, cells, number};
use super::failure::Failure;
use super::table::Table;

/// The six matrices, and what three stages, four, and four with two of them fused reach on a K20 (table
/// 4.2).
const SIX: [(usize, usize, [&str; 3]); 6] = [
    (7200, 1800, ["20.59", "7.11", "7.67"]),
    (5100, 2500, ["18.49", "6.87", "7.38"]),
    (4000, 3200, ["20.73", "7.23", "7.81"]),
    (3300, 3900, ["18.80", "7.23", "7.79"]),
    (2500, 5100, ["17.29", "6.86", "7.37"]),
    (1800, 7200, ["18.70", "7.07", "7.60"]),
];

pub const TABLE_4_2: &[&str] =
    &["route", "shape", "tile", "thesis_gb_per_s", "gb_per_s", "copy_gb_per_s", "percent_of_copy"];
pub const TABLE_4_3: &[&str] =
    &["processor", "route", "gb_per_s", "percent_of_copy", "reported_by"];
pub const FIGURE_4_21: &[&str] = &["m", "n", "gb_per_s", "percent_of_best"];

/// The thesis's three routes with the tiles that the cost model gives them, and turntile's own choice.
pub fn table_4_2(bench: &mut Bench, table: &mut Table) -> Result<(), Failure> {
    for (rows, cols, thesis) in SIX {
        let problem = Problem::new(bench.side(rows), bench.side(cols), 4)?;
        let planner = bench.planner();
        let routes = [Route::ThreeStage, Route::FourStage, Route::FourStageFused];
        let mut plans = Vec::new();
        for (route, thesis) in routes.into_iter().zip(thesis) {
            plans.push((
                route.to_string(),
                planner.clone().with_route(route).plan(&problem),
                thesis,
            ));
        }
        let chosen = planner.plan(&problem)?;
        plans.push((format!("turntile's choice: {}", chosen.route_name()), Ok(chosen), ""));
        for (route, plan, thesis) in plans {
            let tile = plan.as_ref().map_or(String::new(), |plan| tile(plan.tile()));
            let speed = cells(plan.map_err(Failure::from).and_then(|plan| bench.plan(&plan)))?;
            let names = [route, format!("{rows}x{cols}"), tile, thesis.to_owned()];
            table.push([names.to_vec(), speed.to_vec()].concat());
        }
    }
    Ok(())
}

fn tile(Tile { m, n }: Tile) -> String {
    format!("{m}x{n}")
}

/// Means over the six matrices, beside what others reported.
pub fn table_4_3(bench: &mut Bench, table: &mut Table) -> Result<(), Failure> {
    for (processor, rate, percent, by) in [
        ("2x Intel Xeon L5420 (8 cores)", "0.89", "18.2", "Gustavson et al., as the thesis has it"),
        ("2x AMD Opteron 248 (8 cores)", "0.36", "20.5", "Gustavson et al., as the thesis has it"),
        ("NVIDIA K20", "19.06", "11.6", "thesis"),
    ] {
        let route = if processor.contains("K20") { "three-stage" } else { "four-stage" };
        table.push([processor, route, rate, percent, by].map(String::from));
    }
    let about = bench.about();
    let processor = about.split(';').next().unwrap_or_default().to_owned();
    for route in [Some(Route::ThreeStage), None] {
        let (mut rates, mut shares) = (Vec::new(), Vec::new());
        for (rows, cols, _) in SIX {
            let problem = Problem::new(bench.side(rows), bench.side(cols), 4)?;
            let planner = bench.planner();
            let planner = route.map_or(planner.clone(), |route| planner.with_route(route));
            let speed = bench.plan(&planner.plan(&problem)?)?;
            rates.push(speed.gb_per_s);
            shares.push(100.0 * speed.gb_per_s / speed.copy_gb_per_s);
        }
        let mean = |all: &[f64]| all.iter().sum::<f64>() / all.len() as f64;
        let route = route.map_or("turntile's choice", Route::name);
        let (rate, share) = (number(mean(&rates)), format!("{:.1}", mean(&shares)));
        table.push([processor.clone(), route.to_owned(), rate, share, "this run".to_owned()]);
    }
    Ok(())
}

/// Sides of tiles that are tried.
const SIDES: std::ops::RangeInclusive<usize> = 8..=300;

/// Three stages on 7200 x 1800 with every tile whose sides are from 8 to 300.
pub fn figure_4_21(bench: &mut Bench, table: &mut Table) -> Result<(), Failure> {
    let problem = Problem::new(bench.side(7200), bench.side(1800), 4)?;
    let planner = bench.planner().with_tiles(TileRule::Exhaustive);
    let planner = planner.with_route(Route::ThreeStage).with_mirrored(false);
    let mut plans = planner.survey(&problem).candidates;
    plans.sort_by_key(|plan| plan.tile());
    // A host, which takes a second for a tile, tries every second side.
    let every = if bench.is_gpu() { 1 } else { 2 };
    let thin = |of: fn(&Tile) -> usize| {
        let mut sides: Vec<usize> =
            plans.iter().map(|plan| of(&plan.tile())).filter(|m| SIDES.contains(m)).collect();
        sides.sort_unstable();
        sides.dedup();
        sides.into_iter().step_by(every).collect::<Vec<_>>()
    };
    let (downs, acrosses) = (thin(|tile| tile.m), thin(|tile| tile.n));
    let mut rates = Vec::new();
    for plan in &plans {
        let tile = plan.tile();
        if !downs.contains(&tile.m) || !acrosses.contains(&tile.n) {
            continue;
        }
        match bench.plan(plan) {
            Ok(speed) => rates.push((tile, speed.gb_per_s)),
            Err(failure) if failure.is_infeasible() => {}
            Err(other) => return Err(other),
        }
    }
    let best = rates.iter().fold(0.0, |best: f64, rate| best.max(rate.1));
    for (Tile { m, n }, rate) in rates {
        let share = format!("{:.1}", 100.0 * rate / best);
        table.push([m.to_string(), n.to_string(), number(rate), share]);
    }
    Ok(())
}
