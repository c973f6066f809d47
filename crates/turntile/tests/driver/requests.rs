//! Random test cases of requests made with `Transpose`, planned for this host.

use std::sync::Arc;
use std::time::Duration;

use turntile::error::Reason;
use turntile::mode::Dynamic;
use turntile::plan::Effort;
use turntile::plan::{CostTable, CpuDevice, GpuDevice, Planner, Route, TileRule};
use turntile::{Error, Transpose, Transposer};

use crate::draw::Draw;
use crate::wishes::{What, Wish, kind};
use crate::{about, runs};

/// All routes of the planner's table, and names that are not in the table.
pub const ROUTES: [Route; 13] = [
    Route::SQUARE,
    Route::ON_CHIP,
    Route::SQUARE_TILE,
    Route::PANEL,
    Route::ALIGNED_SLOTS,
    Route::CUT,
    Route::THREE_STAGE,
    Route::ONE_STAGE,
    Route::OUT_OF_PLACE,
    Route::NOTHING,
    Route::SEVERAL,
    Route::TOGETHER,
    Route::named("x"),
];

pub fn is_known(route: Route) -> bool {
    route.name().parse::<Route>().is_ok()
}

/// Options of a request.
#[derive(Clone, Debug)]
struct How {
    threads: Option<usize>,
    route: Option<Route>,
    tiles: TileRule,
    effort: Effort,
    table: Option<Table>,
}

/// Cost table that a request sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Table {
    /// Cost table of `CpuDevice::here`.
    Own,
    /// Different cost table for the same processor.
    Slow,
    OtherProcessor,
    Gpu,
}

impl Table {
    fn costs(self, here: &CpuDevice) -> CostTable {
        let own = here.costs().clone();
        match self {
            Table::Own => own,
            Table::Slow => own.named(here.processor(), "").with_constant(0, 1e6),
            Table::OtherProcessor => own.named("an abacus", ""),
            Table::Gpu => GpuDevice::h200().costs().clone().named(here.processor(), ""),
        }
    }

    fn is_refused(self) -> bool {
        matches!(self, Table::OtherProcessor | Table::Gpu)
    }
}

impl How {
    fn draw(draw: &mut Draw, small: bool) -> Self {
        let exhaustive = small && draw.one_in(8);
        How {
            threads: draw.maybe(2, |draw| match draw.below(60) {
                0 => 0,
                1 => 17,
                _ => draw.threads(),
            }),
            route: draw.maybe(4, |draw| draw.of(&ROUTES)),
            tiles: if exhaustive { TileRule::Exhaustive } else { TileRule::CostModel },
            effort: match small && draw.one_in(40) {
                true => Effort::Measure(Duration::ZERO),
                false => Effort::Estimate,
            },
            table: draw.maybe(12, |draw| {
                draw.of(&[Table::Own, Table::Slow, Table::OtherProcessor, Table::Gpu])
            }),
        }
    }

    fn put_on(&self, transpose: Transpose<Dynamic>) -> Transpose<Dynamic> {
        let How { threads, route, tiles, effort, table } = self;
        let transpose = threads.map_or(transpose.clone(), |threads| transpose.threads(threads));
        let transpose = route.map_or(transpose.clone(), |route| transpose.route(route));
        let transpose = transpose.tiles(*tiles).effort(*effort);
        match table {
            Some(table) => transpose.costs(table.costs(&CpuDevice::here(self.count().max(1)))),
            None => transpose,
        }
    }

    fn count(&self) -> usize {
        self.threads.unwrap_or_else(turntile::run::pool::thread_count)
    }
}

pub fn draw(draw: &mut Draw) -> &'static str {
    let wish = Wish::draw(draw);
    let reasons = wish.reasons();
    let small = reasons.is_empty() && wish.span_bytes() < 20_000;
    let how = How::draw(draw, small);
    about(format_args!("{wish:?} {how:?}"));
    let mut reasons = reasons;
    let mut because = |reason, holds: bool| reasons.extend(holds.then_some(reason));
    because("zero", how.threads == Some(0));
    because("unknown route", how.route.is_some_and(|route| !is_known(route)));
    because("costs", how.table.is_some_and(Table::is_refused));
    because("with leading", wish.leading.is_some() && how.effort != Effort::Estimate);
    let planned = match wish.transpose().map(|transpose| how.put_on(transpose)) {
        Err(error) => Err(error),
        Ok(transpose) => {
            let planned = transpose.plan();
            if let (Ok(planned), true) = (&planned, draw.one_in(6)) {
                check_alike(&transpose, &how, planned);
            }
            planned
        }
    };
    let planned = match planned {
        Err(error) => {
            check_error(&error, &reasons, &wish, &how);
            return if reasons.is_empty() { "no route" } else { "refused" };
        }
        Ok(planned) => planned,
    };
    assert!(reasons.is_empty(), "planned, not refused for {reasons:?}: {planned:#}");
    runs::check_plan(&planned, &wish, true);
    check_options(&planned, &wish, &how);
    runs::check_dest(draw, &planned, &wish);
    if !wish.is_runnable() {
        return "planned";
    }
    runs::run(draw, &planned, &wish);
    "ran"
}

fn check_error(error: &Error, reasons: &[&str], wish: &Wish, how: &How) {
    let kind = kind(error);
    if !reasons.is_empty() {
        return assert!(reasons.contains(&kind), "{kind}: {error}, not for {reasons:?}");
    }
    // A requested route may be infeasible. Out-of-place plans have a single phase, so many axes may
    // be unsupported.
    let many_axes = matches!(&wish.what, What::Axes { shape, .. } if shape.len() > 7);
    let may = how.route.is_some() || wish.out_of_place && many_axes;
    let stays = wish.is_of_records_that_stay();
    assert!(kind == "no plan" && may && !stays, "{kind}: {error}");
    if let (Reason::Plan(turntile::plan::PlanError::Infeasible { route, .. }), Some(asked)) =
        (error.reason(), how.route)
    {
        assert_eq!(*route, asked, "{error}");
    }
}

/// Checks that the plan respects each option of the request.
fn check_options(planned: &Transposer<Dynamic>, wish: &Wish, how: &How) {
    let (plan, threads) = (planned.plan(), how.count());
    assert!(planned.threads() <= threads, "{} of {threads}: {planned:#}", planned.threads());
    if wish.cap.is_none() {
        let most = wish.span_bytes() / 50 + threads.min(32) * (1 << 20);
        let most = most + plan.problem.saved_gap_bytes();
        assert!(planned.workspace_bytes() <= most, "more than {most}: {planned:#}");
    }
    if let Some(alignment) = wish.alignment {
        assert_eq!(plan.problem.alignment(), 1 << alignment.max(1).trailing_zeros());
    }
    runs::check_route(planned, wish, how.route);
}

/// Checks that a `Planner` with the options of the request returns the same plan, unless plans are
/// measured.
fn check_alike(transpose: &Transpose<Dynamic>, how: &How, planned: &Transposer<Dynamic>) {
    if how.effort != Effort::Estimate {
        return;
    }
    let here = CpuDevice::here(how.count());
    let host = match how.table {
        Some(table) => here.clone().with_costs(Arc::new(table.costs(&here))),
        None => here,
    };
    let planner = Planner::new(host).with_tiles(how.tiles);
    let planner = how.route.map_or(planner.clone(), |route| planner.with_route(route));
    let plan = planner.plan(&transpose.problem().unwrap()).unwrap();
    assert_eq!(plan, *planned.plan());
}
