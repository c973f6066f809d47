//! Tables 4.2 and 4.3, figure 4.21: whole transpositions of the thesis's six matrices.

use anyhow::Result;
use turntile::plan::{Plan, Problem, Route, TileRule, TileSize};
use turntile_plan::Method;

use super::bench::{Bench, Speed, cells, number};
use super::stages::by_pttwac;
use super::table::Table;
use crate::error::is_infeasible;
use crate::staged::{FOUR_STAGE, FOUR_STAGE_FUSED};

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

pub const TABLE_4_2: &[&str] = &[
    "shape",
    "route",
    "methods",
    "tile",
    "thesis_gb_per_s",
    "gb_per_s",
    "copy_gb_per_s",
    "percent_of_copy",
];
pub const TABLE_4_3: &[&str] = &["processor", "route", "gb_per_s", "percent", "of", "reported_by"];
pub const FIGURE_4_21: &[&str] = &["methods", "m", "n", "gb_per_s", "percent_of_best"];

/// Sides of tiles that are swept for the fastest one.
const SWEPT: std::ops::RangeInclusive<usize> = 8..=128;
/// Tiles that a host, which takes a second for one, has time for.
const HOST_TILES: usize = 6;

/// How the stages of a plan are moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Methods {
    /// Super-elements by PTTWAC, tiles by barriers: what the thesis's numbers suggest that it did.
    Thesis,
    /// By PTTWAC, all of them.
    Pttwac,
    /// By whichever is estimated to be fastest.
    Any,
}

impl Methods {
    const ALL: [Methods; 3] = [Methods::Thesis, Methods::Pttwac, Methods::Any];

    fn name(self) -> &'static str {
        match self {
            Methods::Thesis => "PTTWAC and barrier-sync",
            Methods::Pttwac => "PTTWAC",
            Methods::Any => "any method",
        }
    }

    /// A plan's stages by these methods; none where the device cannot.
    fn of(self, bench: &Bench, plan: &Plan) -> Option<Plan> {
        match self {
            Methods::Thesis => by_pttwac(bench, plan, Method::BarrierSync),
            Methods::Pttwac => by_pttwac(bench, plan, Method::PttwacOnChip),
            Methods::Any => Some(plan.clone()),
        }
    }
}

/// The fastest tile of a route, of all that are swept: a host's by estimate.
fn best(
    bench: &mut Bench,
    problem: &Problem,
    route: Route,
    methods: Methods,
) -> Result<Option<(TileSize, Speed)>> {
    let planner = bench.wider().with_tiles(TileRule::Exhaustive);
    let plans = planner.with_route(route).with_mirrored(false).candidates(problem).candidates;
    let swept = |plan: &Plan| SWEPT.contains(&plan.tile().m) && SWEPT.contains(&plan.tile().n);
    let some = if bench.quick() {
        1
    } else if bench.is_gpu() {
        usize::MAX
    } else {
        HOST_TILES
    };
    let plans: Vec<Plan> = plans
        .iter()
        .filter(|plan| swept(plan))
        .filter_map(|plan| methods.of(bench, plan))
        .take(some)
        .collect();
    let mut best: Option<(TileSize, Speed)> = None;
    for plan in &plans {
        match bench.plan(plan) {
            Ok(speed) if best.is_none_or(|best| speed.gb_per_s > best.1.gb_per_s) => {
                best = Some((plan.tile(), speed));
            }
            Ok(_) => {}
            Err(error) if is_infeasible(&error) => {}
            Err(other) => return Err(other),
        }
    }
    Ok(best)
}

/// The thesis's three routes, each in its fastest tile, by the thesis's method and by any; and turntile's own choice.
pub fn table_4_2(bench: &mut Bench, table: &mut Table) -> Result<()> {
    for (rows, cols, thesis) in SIX {
        let problem = Problem::new(bench.side(rows), bench.side(cols), 4)?;
        let shape = format!("{rows}x{cols}");
        let routes = [Route::THREE_STAGE, FOUR_STAGE, FOUR_STAGE_FUSED];
        for (route, thesis) in routes.into_iter().zip(thesis) {
            for methods in Methods::ALL {
                let (tile, speed) = match best(bench, &problem, route, methods)? {
                    Some((tile, speed)) => (self::tile(tile), cells(Ok(speed))?),
                    None => <(String, [String; 3])>::default(),
                };
                let thesis = if methods == Methods::Thesis { thesis } else { "" };
                let names = [&shape, &*route.to_string(), methods.name(), &tile, thesis];
                let names = names.map(str::to_owned);
                table.push([names.to_vec(), speed.to_vec()].concat());
            }
        }
        let chosen = bench.planner().plan(&problem)?;
        let tile = format!("{} {}", chosen.route_name(), tile(chosen.tile()));
        let speed = cells(bench.plan(&chosen))?;
        let names = [&shape, "turntile's choice", "its own", &tile, ""].map(str::to_owned);
        table.push([names.to_vec(), speed.to_vec()].concat());
    }
    Ok(())
}

fn tile(TileSize { m, n }: TileSize) -> String {
    format!("{m}x{n}")
}

/// Of what the thesis's shares are.
const SUSTAINED: &str = "sustained in-place load and store";

/// Means over the six matrices, beside what others reported.
pub fn table_4_3(bench: &mut Bench, table: &mut Table) -> Result<()> {
    for (processor, route, rate, percent, by) in [
        (
            "2x Intel Xeon L5420 (8 cores)",
            "four-stage",
            "0.89",
            "18.2",
            "Gustavson et al., as the thesis has it",
        ),
        (
            "2x AMD Opteron 248 (8 cores)",
            "four-stage",
            "0.36",
            "20.5",
            "Gustavson et al., as the thesis has it",
        ),
        ("NVIDIA K20", "three-stage", "19.06", "11.6", "thesis"),
    ] {
        table.push([processor, route, rate, percent, SUSTAINED, by].map(String::from));
    }
    let about = bench.about();
    let processor = about.split(';').next().unwrap_or_default().to_owned();
    for methods in Methods::ALL.into_iter().map(Some).chain([None]) {
        let (mut rates, mut shares) = (Vec::new(), Vec::new());
        for (rows, cols, _) in SIX {
            let problem = Problem::new(bench.side(rows), bench.side(cols), 4)?;
            let speed = match methods {
                Some(methods) => {
                    best(bench, &problem, Route::THREE_STAGE, methods)?.map(|best| best.1)
                }
                None => Some(bench.plan(&bench.planner().plan(&problem)?)?),
            };
            let Some(speed) = speed else { continue };
            rates.push(speed.gb_per_s);
            shares.push(100.0 * speed.gb_per_s / speed.copy_gb_per_s);
        }
        if rates.is_empty() {
            continue;
        }
        let mean = |all: &[f64]| all.iter().sum::<f64>() / all.len() as f64;
        let route = methods.map_or("turntile's choice".to_owned(), |methods| {
            format!("three-stage, {}", methods.name())
        });
        let (rate, share) = (number(mean(&rates)), format!("{:.1}", mean(&shares)));
        let rest = ["a copy", "this run"].map(String::from);
        table.push([processor.clone(), route, rate, share].into_iter().chain(rest));
    }
    Ok(())
}

/// Sides of tiles that are tried.
const SIDES: std::ops::RangeInclusive<usize> = 8..=300;

/// Three stages on 7200 x 1800 with every tile whose sides are from 8 to 300, by any method and, on a GPU, by the others.
pub fn figure_4_21(bench: &mut Bench, table: &mut Table) -> Result<()> {
    let problem = Problem::new(bench.side(7200), bench.side(1800), 4)?;
    let planner = bench.planner().with_tiles(TileRule::Exhaustive);
    let planner = planner.with_route(Route::THREE_STAGE).with_mirrored(false);
    let mut plans = planner.candidates(&problem).candidates;
    plans.sort_by_key(|plan| plan.tile());
    // A host, which takes a second for a tile, tries every second side.
    let every = if bench.is_gpu() { 1 } else { 2 };
    let thin = |of: fn(&TileSize) -> usize| {
        let mut sides: Vec<usize> =
            plans.iter().map(|plan| of(&plan.tile())).filter(|m| SIDES.contains(m)).collect();
        sides.sort_unstable();
        sides.dedup();
        sides.into_iter().step_by(every).collect::<Vec<_>>()
    };
    let (downs, acrosses) = (thin(|tile| tile.m), thin(|tile| tile.n));
    let all: &[Methods] = if bench.is_gpu() { &Methods::ALL } else { &[Methods::Any] };
    for &methods in all {
        let mut rates = Vec::new();
        for plan in &plans {
            let tile = plan.tile();
            if !downs.contains(&tile.m) || !acrosses.contains(&tile.n) {
                continue;
            }
            let Some(plan) = methods.of(bench, plan) else { continue };
            match bench.plan(&plan) {
                Ok(speed) => rates.push((tile, speed.gb_per_s)),
                Err(error) if is_infeasible(&error) => {}
                Err(other) => return Err(other),
            }
        }
        let best = rates.iter().fold(0.0, |best: f64, rate| best.max(rate.1));
        for (TileSize { m, n }, rate) in rates {
            let share = format!("{:.1}", 100.0 * rate / best);
            let name = methods.name().to_owned();
            table.push([name, m.to_string(), n.to_string(), number(rate), share]);
        }
    }
    Ok(())
}
