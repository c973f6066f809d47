//! Estimated times of launches, from the device's cost table.

use std::cell::OnceCell;

use turntile_perm::RowSlide;
use turntile_perm::row_slide::SlideRound;
use turntile_plan::cost_table::Sample;
use turntile_plan::{CostTable, StageMap};

use crate::launch_list::LaunchList;
use crate::lower::TargetParams;
use crate::lower::cost::{Cost, Quantities};
use crate::names::{Constant, Operation, Quantity as Q};
use crate::strategy::Strategy;

/// Returns the estimated seconds of a stage: start, waits, and all bytes read and written at the speed from the cost table.
/// `short_cycles` caches whether the shape has short cycles.
pub fn seconds(
    shape: &StageMap,
    launches: &LaunchList,
    at: TargetParams,
    costs: &CostTable,
    short_cycles: &OnceCell<bool>,
) -> f64 {
    let Some(cost) = &launches.cost else {
        // Not in the table: one start per launch, and the bandwidth of a copy.
        let calls = launches.calls.len().max(1) as f64;
        let passes = if launches.held_bytes() > 0 { 2.0 } else { 1.0 };
        let copies = 2.0 * passes * (shape.len() * at.elem_bytes) as f64 / Constant::Copy.of(costs);
        return calls * Constant::Start.of(costs) + copies;
    };
    let fraction = fraction(shape, cost, costs, short_cycles);
    whole(shape, launches.strategy, at, costs, fraction)
}

/// Returns the measured speed of launches that took `took` seconds, as a fraction of the copy bandwidth. Returns `None` without
/// launches, without a cost, or if `took` does not exceed the fixed costs.
pub fn sample(
    shape: &StageMap,
    launches: &LaunchList,
    at: TargetParams,
    costs: &CostTable,
    took: f64,
) -> Option<Sample> {
    launches.calls.first()?;
    let Cost { operation, quantities } = launches.cost?;
    let short = shape.has_short_cycles(Constant::ShortCycle.of(costs) as usize);
    let quantities = quantities.is(Q::ShortCycles, short).all().to_vec();
    let reaching = |fraction| whole(shape, launches.strategy, at, costs, fraction);
    let fixed = reaching(f64::INFINITY);
    let fraction = (reaching(1.0) - fixed) / (took - fixed);
    let sample = Sample { operation: operation as usize, quantities, fraction };
    (fraction > 0.0 && fraction.is_finite()).then_some(sample)
}

/// Returns the speed of an operation from the cost table, as a fraction of the copy bandwidth.
fn fraction(
    shape: &StageMap,
    cost: &Cost,
    costs: &CostTable,
    short_cycles: &OnceCell<bool>,
) -> f64 {
    let most = Constant::ShortCycle.of(costs) as usize;
    let short = || *short_cycles.get_or_init(|| shape.has_short_cycles(most));
    let quantities = cost.quantities.all();
    costs.fraction(cost.operation as usize, |which| {
        if which == Q::ShortCycles as usize {
            f64::from(u8::from(short()))
        } else {
            quantities[which]
        }
    })
}

/// Returns the seconds of a stage that reaches `fraction` of the copy bandwidth.
fn whole(
    shape: &StageMap,
    strategy: Strategy,
    at: TargetParams,
    costs: &CostTable,
    fraction: f64,
) -> f64 {
    // Columns that are cut off move twice.
    let twice = if let StageMap::Cut { rows, .. } = shape { rows.gaps() } else { 0 };
    let bytes = ((shape.len() + twice) * at.elem_bytes) as f64;
    let speed = Constant::Copy.of(costs) * fraction;
    Constant::Start.of(costs) + waits(shape, strategy, at, costs) + 2.0 * bytes / speed
}

/// Returns a lower bound of a strategy's seconds before lowering; 0 if unknown.
pub fn least(
    shape: &StageMap,
    strategy: Strategy,
    at: TargetParams,
    costs: &CostTable,
    short_cycles: &OnceCell<bool>,
) -> f64 {
    if strategy != Strategy::PerCycle {
        return 0.0;
    }
    // Every worker follows one cycle, so the estimate does not depend on the launch.
    let cost = Quantities::default().cycles(shape, usize::MAX, at).of(Operation::PerCycle);
    let fraction = fraction(shape, &cost, costs, short_cycles);
    whole(shape, strategy, at, costs, fraction)
}

/// Returns a lower bound, in seconds, of one pass over `bytes` bytes.
pub fn least_seconds(costs: &CostTable, bytes: usize) -> f64 {
    let most = (0..Operation::NAMES.len()).map(|which| costs.most(which)).fold(0.0, f64::max);
    Constant::Start.of(costs) + 2.0 * bytes as f64 / (Constant::Copy.of(costs) * most)
}

/// Returns the seconds in addition to the first start and the bytes: barriers, rounds of rows, or further launches.
fn waits(shape: &StageMap, strategy: Strategy, at: TargetParams, costs: &CostTable) -> f64 {
    match (shape, strategy) {
        // One barrier before the first write and one after the last: 64x48 floats take 14 µs instead of 6.
        (StageMap::SlotGather { .. }, _) => 2.0 * Constant::Wait.of(costs),
        (&StageMap::Slide(rows), Strategy::Rounds { least }) => rounds(rows, least, at, costs),
        // Two further launches: one moves the cut columns to the workspace, the other moves them to their destination.
        (StageMap::Cut { .. }, _) => 2.0 * Constant::Start.of(costs),
        _ => 0.0,
    }
}

/// Returns a start per round. For rows that move one by one, returns the time of a single block and a wait between reading and
/// writing each row.
fn rounds(slide: RowSlide, least: usize, at: TargetParams, costs: &CostTable) -> f64 {
    let alone = Constant::Copy.of(costs) / at.limits.units as f64;
    let each = |SlideRound { rows, together }| {
        let bytes = (2 * rows.len() * slide.cols() * at.elem_bytes) as f64;
        if together {
            Constant::Start.of(costs)
        } else {
            bytes / alone + rows.len() as f64 * Constant::Wait.of(costs)
        }
    };
    slide.rounds(least).map(each).sum()
}
