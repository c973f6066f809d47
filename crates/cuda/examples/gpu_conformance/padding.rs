//! Rows moved from one pitch to another, as a stage and in the plan of a square.

use cust::memory::DeviceBuffer;
use turntile_cuda::Work;
use turntile_cuda::strategy::Strategy;
use turntile_perm::RowSlide;
use turntile_plan::{Problem, StageMap};

use crate::common::{Bench, fault, memory, pattern, run_on};
use crate::large;

/// Bytes before and after the rows that must be unchanged.
const GUARD: usize = 64;

/// Runs one stage, and compares every byte of the rows and around them.
fn case(
    bench: &Bench,
    data: &DeviceBuffer<u8>,
    workspace: &DeviceBuffer<u8>,
    (shape, way): (StageMap, Strategy),
    elem: usize,
    skew: usize,
) -> bool {
    let StageMap::Slide(slide) = shape else { return false };
    let span = slide.change().span() * elem;
    let (before, at) = (pattern(skew + span + 2 * GUARD), skew + GUARD);
    let alignment = if skew == 0 { 16 } else { 1 };
    let limits = bench.gpu.device().limits();
    let work = Work::of_stage(&shape, way, elem, alignment, limits).expect("has a kernel");
    let prepared = bench.prepare(work).expect("loads");
    let left = run_on(&prepared, bench, (data, &before), (at, span), workspace);
    let mut want = before.clone();
    for r in 0..slide.rows() {
        let row = |pitch: usize| {
            let start = at + r * pitch * elem;
            start..start + slide.cols() * elem
        };
        want[row(slide.to().pitch())].copy_from_slice(&before[row(slide.from().pitch())]);
    }
    // A place that had a row element before, and has none afterwards, is unspecified.
    let known = |k: usize| {
        let element = k.checked_sub(at).filter(|&k| k < span).map(|k| k / elem);
        element.is_none_or(|k| slide.to().index(k).is_some() || slide.from().index(k).is_none())
    };
    let fault = fault(left, &want, known);
    if let Some(fault) = &fault {
        println!("  WRONG {shape} {way} w{elem} skew {skew}: {fault}");
    }
    fault.is_none()
}

/// Runs one stage of at most a few MB. Returns 1 if it was wrong.
pub fn one(bench: &Bench, stage: (StageMap, Strategy), elem: usize) -> usize {
    let (data, workspace) = (memory(8 << 20), memory(1 << 20));
    usize::from(!case(bench, &data, &workspace, stage, elem, 0))
}

/// Runs small slides of every kind, then squares that fill the chip, repeatedly. A small `side`,
/// for tools that slow execution, runs a selection of the slides.
pub fn padding(bench: &mut Bench, side: usize) -> usize {
    let (data, workspace) = (memory(8 << 20), memory(1 << 20));
    let (mut cases, mut failures) = (0, 0);
    let step = if side < 8 { 4 } else { 1 };
    for (rows, cols, pitch, other) in [
        (1, 5, 9, 5),
        (2, 1, 2, 1),
        (5, 3, 6, 3),
        (7, 16, 17, 16),
        (16, 16, 32, 16),
        (33, 31, 37, 31),
        (33, 31, 37, 33),
        (100, 99, 100, 99),
        (300, 7, 11, 7),
        (300, 7, 11, 9),
        (64, 1000, 1024, 1000),
        (64, 1000, 1024, 1001),
        (50, 1999, 2001, 1999),
        (3, 40_000, 40_001, 40_000),
        (20, 5000, 9000, 5000),
        (20, 5000, 9000, 7000),
    ] {
        for elem in [1, 2, 3, 4, 8, 16] {
            let slide = RowSlide::new(rows, cols, other, pitch).expect("rows with gaps");
            for shape in [slide, slide.inverse()].map(StageMap::Slide) {
                let slides = [16, 48, 1008, 4096, 48_384].map(|block| Strategy::Blocks { block });
                let rows = [1, 2, 5].map(|least| Strategy::Rounds { least });
                for way in slides.into_iter().chain(rows) {
                    for skew in [0, 1, 2, 4, 7].into_iter().step_by(step) {
                        cases += 1;
                        let stage = (shape.clone(), way);
                        failures += usize::from(!case(bench, &data, &workspace, stage, elem, skew));
                    }
                }
            }
        }
    }
    println!("  {cases} slides, {failures} wrong");
    if side < 8 {
        return failures;
    }
    for (rows, cols, elem) in [
        (5000, 4900, 4),
        (4900, 5000, 4),
        (4999, 5003, 4),
        (5003, 4999, 4),
        (10_000, 9900, 4),
        (12_000, 11_999, 8),
        (11_999, 12_000, 2),
        (20_011, 20_000, 1),
        (2000, 2100, 16),
        (1003, 997, 4),
    ] {
        let problem = Problem::new(rows, cols, elem).expect("fits");
        for way in [Strategy::Blocks { block: 48_384 }, Strategy::Rounds { least: 2 }] {
            failures += large::square_times(bench, &problem, way, 20);
        }
    }
    failures
}
