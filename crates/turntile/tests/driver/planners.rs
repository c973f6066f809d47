//! Random test cases of plans for hosts and GPUs, all executed on this host unless too large.

use turntile::Transposer;
use turntile::plan::{
    CpuDevice, GpuDevice, Infeasible, Plan, PlanError, Planner, Problem, Route, TileRule,
};
use turntile_cuda::launch::DeviceLimits;

use crate::draw::Draw;
use crate::requests::{ROUTES, is_known};
use crate::wishes::{What, Wish, kind};
use crate::{about, runs};

/// Device of a random plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Device {
    Host {
        threads: usize,
        scratch: Option<usize>,
    },
    H200,
    A100,
    /// GPU with little on-chip memory, without clusters and cooperative launches.
    Old,
}

impl Device {
    fn draw(draw: &mut Draw) -> Self {
        match draw.below(7) {
            0 => Device::H200,
            1 => Device::A100,
            2 => Device::Old,
            _ => {
                let scratch = draw.maybe(3, |draw| 1 << draw.within(4..=16));
                Device::Host { threads: draw.threads(), scratch }
            }
        }
    }

    fn planner(self) -> Planner {
        match self {
            Device::Host { threads, scratch: None } => Planner::new(CpuDevice::new(threads)),
            Device::Host { threads, scratch: Some(bytes) } => {
                Planner::new(CpuDevice::new(threads).with_scratch(bytes))
            }
            Device::H200 => Planner::new(GpuDevice::h200()),
            Device::A100 => Planner::new(GpuDevice::a100()),
            Device::Old => {
                let limits = DeviceLimits {
                    units: 13,
                    shared_bytes: 48 << 10,
                    unit_shared_bytes: 48 << 10,
                    cluster: 1,
                    cooperative: false,
                    ..DeviceLimits::H200
                };
                Planner::new(GpuDevice::like_h200("old", limits, 2.08e11))
            }
        }
    }

    fn is_host(self) -> bool {
        matches!(self, Device::Host { .. })
    }
}

pub fn draw(draw: &mut Draw) -> &'static str {
    // Only the builder rejects a batch of 0, not `Problem`, so use at least 1.
    let wish = Wish::draw(draw);
    let wish = Wish { batch: wish.batch.max(1), ..wish };
    let device = Device::draw(draw);
    let reasons = wish.reasons();
    let small = reasons.is_empty() && wish.span_bytes() < 10_000;
    let tiles = if small && draw.one_in(10) { TileRule::Exhaustive } else { TileRule::CostModel };
    let route = draw.maybe(5, |draw| draw.of(&ROUTES));
    let mirrored = draw.maybe(10, |draw| draw.one_in(2));
    about(format_args!("{wish:?} {device:?} {tiles:?} {route:?} mirrored {mirrored:?}"));
    if draw.one_in(30) {
        return combine(draw, &wish);
    }
    let problem = match wish.problem() {
        Err(error) => {
            let kind = kind(&error);
            assert!(reasons.contains(&kind), "{kind}: {error}, not for {reasons:?}");
            return "refused";
        }
        Ok(problem) => problem,
    };
    assert!(reasons.is_empty(), "made, not refused for {reasons:?}: {problem:?}");
    assert_eq!(wish.transpose().and_then(|transpose| transpose.problem()), Ok(problem.clone()));
    let planner = device.planner().with_tiles(tiles);
    let planner = route.map_or(planner.clone(), |route| planner.with_route(route));
    let planner = mirrored.map_or(planner.clone(), |mirrored| planner.with_mirrored(mirrored));
    let unknown = route.is_some_and(|route| !is_known(route));
    let chosen = match planner.plan(&problem) {
        Err(PlanError::Infeasible { why: Infeasible::UnknownRoute, .. }) if unknown => {
            return "unknown route";
        }
        Ok(plan) if unknown => panic!("planned: {plan:#}"),
        Ok(plan) => plan,
        Err(PlanError::Infeasible { why, .. }) => {
            // If neither a route nor mirroring is requested, hosts have a plan for every in-place
            // problem, and GPUs for those without leading dimensions and records.
            let many_axes = matches!(&wish.what, What::Axes { shape, .. } if shape.len() > 7);
            let records = matches!(wish.what, What::Records(_));
            let may = route.is_some()
                || mirrored.is_some()
                || wish.out_of_place && many_axes
                || !device.is_host() && (wish.leading.is_some() || records || wish.out_of_place);
            assert!(may, "{why}");
            return "no route";
        }
        Err(error) => panic!("{error}"),
    };
    if let (Some(mirrored), [leg]) = (mirrored, &chosen.phases[..]) {
        // Phases that only move rows to another pitch are not mirrored, even on request.
        let slides = leg.route == Route::TOGETHER || leg.route == Route::APART;
        assert!(slides || leg.mirrored == mirrored, "{chosen:#}");
    }
    if route.is_none() && mirrored.is_none() && draw.one_in(3) {
        let remade = planner.rebuild(&problem, &chosen.recipe());
        if wish.leading.is_none() && !chosen.phases.is_empty() {
            let mut remade = remade.unwrap().unwrap_or_else(|| panic!("not remade: {chosen:#}"));
            remade.rejected.clone_from(&chosen.rejected);
            // The estimated seconds of phases are added in another order, with other rounding
            // errors.
            assert!((remade.seconds / chosen.seconds - 1.0).abs() < 1e-9 || chosen.seconds == 0.0);
            remade.seconds = chosen.seconds;
            assert_eq!(remade, chosen);
        }
    }
    let few = small || tiles == TileRule::CostModel && wish.is_runnable();
    let plan = if few && draw.one_in(4) {
        surveyed(draw, &planner, &problem, &chosen, &wish)
    } else {
        chosen
    };
    let threads = draw.threads();
    let planned = Transposer::new(plan, threads).unwrap();
    runs::check_plan(&planned, &wish, device.is_host());
    runs::check_route(&planned, &wish, route);
    runs::check_dest(draw, &planned, &wish);
    if !wish.is_runnable() {
        return "planned";
    }
    runs::run(draw, &planned, &wish);
    "ran"
}

/// Checks that no candidate has a better estimate than the chosen plan, unless there are leading
/// dimensions. Returns a random candidate.
fn surveyed(
    draw: &mut Draw,
    planner: &Planner,
    problem: &Problem,
    chosen: &Plan,
    wish: &Wish,
) -> Plan {
    let all = planner.candidates(problem).candidates;
    assert!(all.is_sorted_by(|a, b| a.seconds <= b.seconds));
    let Some(best) = all.first() else { panic!("planned and not surveyed: {chosen:#}") };
    // With leading dimensions, the planner prefers fewer passes to a better estimate.
    if wish.leading.is_none() {
        let least = best.seconds * (1.0 + 1e-9);
        assert!(chosen.seconds <= least, "{chosen:#}\nslower than {best:#}");
    }
    draw.of(&all)
}

/// Checks that combining options that exclude each other is an error. Returns the outcome.
fn combine(draw: &mut Draw, wish: &Wish) -> &'static str {
    let Ok(problem) = wish.problem() else { return "refused" };
    let [lda, ldb] = [problem.cols() + draw.below(5), problem.cols() + draw.below(5)];
    let combined = match (problem.leading(), problem.records()) {
        (Some(_), _) => problem.out_of_place(),
        (_, Some(_)) if draw.one_in(2) => problem.out_of_place(),
        (_, Some(_)) => problem.with_leading(lda, ldb),
        _ if problem.is_out_of_place() => problem.with_leading(lda, ldb),
        _ => return "nothing to combine",
    };
    assert!(combined.is_err(), "made: {combined:?}");
    "refused"
}

/// Draws and checks a plan for an array of up to about 2^60 elements, which is not run. Returns the
/// outcome.
pub fn draw_huge(draw: &mut Draw) -> &'static str {
    let elem_bytes = draw.of(&[1, 2, 3, 4, 8, 16, 1000]);
    let axes = draw.within(2..=5);
    let mut order: Vec<usize> = (0..axes).collect();
    (1..axes).for_each(|at| order.swap(at, draw.below(at + 1)));
    // About half of the extents are multiples of 48, whose divisors routes can use.
    let bits = 60 / axes;
    let side = |draw: &mut Draw| {
        let side = 1 + (draw.next() as usize & ((1 << draw.within(1..=bits)) - 1));
        if draw.one_in(2) { side } else { side.next_multiple_of(48) }
    };
    let shape: Vec<usize> = (0..axes).map(|_| side(draw)).collect();
    let what = What::Axes { shape, axes: order };
    let cap = draw.maybe(4, Draw::cap);
    let (batch, alignment, out_of_place, leading) = (1, None, draw.one_in(6), None);
    let wish = Wish { what, elem_bytes, batch, cap, alignment, out_of_place, leading };
    let device = match Device::draw(draw) {
        Device::Host { scratch, .. } => Device::Host { threads: draw.within(1..=300), scratch },
        other => other,
    };
    about(format_args!("{wish:?} {device:?}"));
    let problem = match wish.problem() {
        Err(error) => {
            assert_eq!(kind(&error), "too large", "{error}");
            return "refused";
        }
        Ok(problem) => problem,
    };
    let planner = device.planner();
    let plan = match planner.plan(&problem) {
        Err(error) => {
            assert!(!device.is_host() && wish.out_of_place, "{error}");
            return "no route";
        }
        Ok(plan) if draw.one_in(4) => surveyed(draw, &planner, &problem, &plan, &wish),
        Ok(plan) => plan,
    };
    let planned = Transposer::new(plan, 3).unwrap();
    runs::check_plan(&planned, &wish, device.is_host());
    runs::check_dest(draw, &planned, &wish);
    "planned"
}
