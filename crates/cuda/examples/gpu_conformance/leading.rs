//! Leading dimensions: every strategy on small matrices, with every byte compared; sizes that fill
//! the chip, repeated; scaled numbers; rejected calls.

use cust::memory::{CopyDestination, DeviceBuffer};
use turntile_cuda::launch::widest_word;
use turntile_cuda::{ScalarKind, Scaling, Work};
use turntile_perm::{LeadingDims, PitchedRows};
use turntile_plan::{Plan, PlanError, Planner, Problem, ProblemError, Stage, StageMap, TileRule};

use crate::common::{Bench, address, fault, memory, pattern, repeat, run, run_on};
use crate::errors::{expect, refused, replayed};

/// Bytes before and after the matrix that must be unchanged.
const GUARD: usize = 64;

/// Longest side of small matrices, in elements.
const SIDE: usize = 12;
/// Largest size of a matrix with its gaps, in bytes.
const SPAN_BYTES: usize = 32 << 20;
const GAP: usize = 5;

/// Returns the problem that transposes a matrix from one leading dimension to another.
fn transposed(
    [rows, cols]: [usize; 2],
    [lda, ldb]: [usize; 2],
    elem: usize,
) -> Result<Problem, ProblemError> {
    Problem::new(rows, cols, elem)?.with_leading(lda, ldb)
}

/// Returns the problem whose rows slide to another pitch.
fn slid(sides: [usize; 2], [lda, ldb]: [usize; 2], elem: usize) -> Result<Problem, ProblemError> {
    Problem::permuted(&sides, &[0, 1], elem)?.with_leading(lda, ldb)
}

fn leading(problem: &Problem) -> &LeadingDims {
    problem.leading().expect("has some")
}

/// Returns the expected bytes for `before`, which has the matrix at byte `at`, and which of the
/// bytes are specified.
fn moved(leading: &LeadingDims, elem: usize, before: &[u8], at: usize) -> (Vec<u8>, Vec<bool>) {
    let (source, result) = (leading.source(), leading.result());
    let (mut want, mut known) = (before.to_vec(), vec![true; before.len()]);
    for (i, j) in (0..source.rows()).flat_map(|i| (0..source.cols()).map(move |j| (i, j))) {
        let from = at + (i * source.pitch() + j) * elem;
        known[from..from + elem].fill(source.pitch() == result.pitch());
    }
    for (i, j) in (0..source.rows()).flat_map(|i| (0..source.cols()).map(move |j| (i, j))) {
        let turned = leading.is_transposed();
        let to = if turned { j * result.pitch() + i } else { i * result.pitch() + j };
        let (from, to) = (at + (i * source.pitch() + j) * elem, at + to * elem);
        want[to..to + elem].copy_from_slice(&before[from..from + elem]);
        known[to..to + elem].fill(true);
    }
    (want, known)
}

/// Runs a plan `skew` bytes off alignment. Returns `true` if all specified bytes are right.
fn one(bench: &Bench, plan: &Plan, data: &DeviceBuffer<u8>, skew: usize) -> bool {
    let problem = &plan.problem;
    let (leading, elem, span) = (leading(problem), problem.itemsize(), problem.span_bytes());
    let (before, at) = (pattern(span + 2 * GUARD + skew), GUARD + skew);
    let (want, mut known) = moved(leading, elem, &before, at);
    // Plans of several passes leave source elements outside the result unspecified.
    if plan.passes() > 1 {
        let source = leading.source();
        let result = leading.result();
        let is = |rows: PitchedRows, k: usize| {
            rows.pitch() > 0 && k / rows.pitch() < rows.rows() && k % rows.pitch() < rows.cols()
        };
        let alone = |&k: &usize| is(source, k) && !is(result, k);
        (0..leading.span()).filter(alone).for_each(|k| known[at + k * elem..][..elem].fill(false));
    }
    let work = Work::of_plan(plan).expect("has kernels");
    let workspace = memory(work.workspace_bytes().max(1));
    let prepared = bench.prepare(work).expect("loads");
    let left = run_on(&prepared, bench, (data, &before), (at, span), &workspace);
    let fault = fault(left, &want, |k| known[k]);
    if let Some(fault) = &fault {
        println!("  WRONG {plan} skew {skew}: {fault}");
    }
    fault.is_none()
}

/// Runs every candidate of the planner, and the planner's choice off alignment. Returns the number
/// of plans and of wrong ones.
fn every_way(bench: &Bench, problem: Problem, data: &DeviceBuffer<u8>) -> [usize; 2] {
    let planner = Planner::new(bench.gpu.device().clone());
    let elem = problem.itemsize();
    let least = widest_word(&[elem]);
    let mut plans: Vec<(Plan, usize)> =
        planner.candidates(&problem).candidates.into_iter().map(|plan| (plan, 0)).collect();
    if least < 16 {
        let off = problem.with_alignment(least);
        plans.push((planner.plan(&off).expect("there is a way"), least));
    }
    let wrong = plans.iter().filter(|(plan, skew)| !one(bench, plan, data, *skew)).count();
    [plans.len(), wrong]
}

/// Runs tiles of every side that divides both pitches.
fn every_tile(bench: &Bench, problem: Problem, data: &DeviceBuffer<u8>) -> [usize; 2] {
    let planner = Planner::new(bench.gpu.device().clone()).with_tiles(TileRule::Exhaustive);
    let runs = |stage: &Stage| matches!(stage.map, StageMap::TileRows(_));
    let mut plans = planner.candidates(&problem).candidates;
    plans.retain(|plan| plan.stages().any(runs));
    let wrong = plans.iter().filter(|plan| !one(bench, plan, data, 0)).count();
    [plans.len(), wrong]
}

/// Runs row slides to another pitch, over several blocks. Returns the failures, and adds the
/// kernels that ran to `met`.
pub fn few(bench: &Bench, met: &mut Vec<String>) -> usize {
    let (data, mut failures) = (memory(2 * SPAN_BYTES), 0);
    let planner = Planner::new(bench.gpu.device().clone());
    for (sides, lds) in [([50, 1999], [2003, 2000]), ([300, 700], [703, 712])] {
        for elem in [1, 4] {
            let problem = slid(sides, lds, elem).expect("fits");
            for plan in planner.candidates(&problem).candidates {
                let work = Work::of_plan(&plan).expect("has kernels");
                met.extend(work.calls().iter().map(|call| call.kernel()));
                failures += usize::from(!one(bench, &plan, &data, 0));
            }
        }
    }
    failures
}

/// Runs all matrices of small sides and gaps, numbers, errors, and a few larger matrices. A small
/// `side`, for tools that slow execution, runs a selection.
pub fn small(bench: &mut Bench, side: usize) -> usize {
    let data = memory(2 * SPAN_BYTES);
    let (mut runs, mut failures) = (0, 0);
    let mut count = |[ran, wrong]: [usize; 2]| {
        runs += ran;
        failures += wrong;
    };
    let sides = if side < 8 { 1..=side } else { 1..=SIDE };
    for (rows, cols) in sides.clone().flat_map(|rows| sides.clone().map(move |cols| (rows, cols))) {
        for (a, b) in (0..=GAP).flat_map(|a| (0..=GAP).map(move |b| (a, b))) {
            for elem in [1, 2, 4, 8, 16, 12] {
                let sides = [rows, cols];
                let turned = transposed(sides, [cols + a, rows + b], elem);
                count(every_way(bench, turned.expect("fits"), &data));
                let pitch = rows.max(cols) + a;
                if b == 0 {
                    let equal = transposed(sides, [pitch; 2], elem);
                    count(every_way(bench, equal.expect("fits"), &data));
                }
                let slid = slid(sides, [cols + a, cols + b], elem);
                count(every_way(bench, slid.expect("fits"), &data));
            }
        }
    }
    let step = if side < 8 { 4 } else { 1 };
    for (sides, lds) in [
        ([70, 70], [73, 73]),
        ([96, 64], [96, 96]),
        ([130, 300], [301, 140]),
        ([300, 130], [160, 300]),
        ([257, 255], [260, 260]),
        ([1000, 7], [9, 1001]),
        ([7, 1000], [1500, 1500]),
        ([640, 512], [544, 672]),
        ([333, 444], [888, 666]),
        ([1, 5000], [5001, 3]),
        ([640, 480], [512, 672]),
        ([480, 640], [672, 512]),
    ] {
        for elem in [1, 2, 3, 4, 6, 8, 12, 16, 24, 40, 400].into_iter().step_by(step) {
            let problem = transposed(sides, lds, elem).expect("fits");
            if problem.span_bytes() > SPAN_BYTES {
                continue;
            }
            // Without space for the whole matrix, the planner saves its gaps.
            let kept = (problem.saved_gaps().unwrap().count() * elem).next_multiple_of(16);
            count(every_way(bench, problem.clone(), &data));
            count(every_tile(bench, problem.clone(), &data));
            count(every_way(bench, problem.with_cap(kept + (64 << 10)), &data));
        }
    }
    println!("  {runs} moves, {failures} wrong");
    failures + numbers(bench, &data) + refusals(bench)
}

/// Scales numbers of each kind in rows with a pitch, and compares bit by bit with plain arithmetic.
/// If arithmetic produces a NaN, any NaN is right. Gaps between rows are unchanged.
macro_rules! numbers {
    ($name:ident, $real:ty, $plain:expr, $complex:expr) => {
        fn $name(bench: &Bench, data: &DeviceBuffer<u8>) -> usize {
            const REAL: usize = size_of::<$real>();
            let apply = |complex: bool, scaling: Scaling, [a, b]: [$real; 2]| match scaling {
                Scaling::Zeros => [0.0; 2],
                Scaling::By { alpha, conjugated } => {
                    let b = if complex && conjugated { -b } else { b };
                    match alpha.map(|alpha| alpha.map(|part| part as $real)) {
                        None => [a, b],
                        Some([c, d]) if complex => [a * c - b * d, a * d + b * c],
                        Some([c, _]) => [a * c, b * c],
                    }
                }
            };
            let [tiny, big] = [<$real>::MIN_POSITIVE / 8.0, <$real>::MAX];
            let some = [0.0, -0.0, 1.5, -2.25, tiny, -tiny, big, 1e-30, 0.1, -7.0];
            let some = some.into_iter().chain([<$real>::INFINITY, -<$real>::INFINITY, <$real>::NAN]);
            let some: Vec<$real> = some.collect();
            let by = |alpha, conjugated| Scaling::By { alpha, conjugated };
            let mut failures = 0;
            for number in [$plain, $complex] {
                let parts = number.bytes() / REAL;
                for (rows, cols, pitch) in [(1, 1, 1), (3, 5, 7), (4, 8, 8), (20, 16, 24), (33, 31, 32)] {
                    let rows = PitchedRows::new(rows, cols, pitch).expect("rows");
                    let length = (rows.span() + 3) * parts;
                    // Every pair of the numbers in `some`.
                    let value = |k: usize| some[(k % 2 * (k / some.len() / 2) + k / 2) % some.len()];
                    let before: Vec<$real> = (0..length).map(value).collect();
                    for scaling in [
                        Scaling::Zeros,
                        by(None, true),
                        by(Some([2.5, 0.0]), false),
                        by(Some([-0.1f32 as f64, 3.0]), false),
                        by(Some([1.0, -1.0]), true),
                        by(Some([f64::INFINITY, 0.0]), false),
                        by(Some([f64::NAN, 1.0]), true),
                    ] {
                        for skew in [0, REAL] {
                            let alignment = if skew == 0 { 16 } else { REAL };
                            let limits = bench.gpu.device().limits();
                            let work = Work::of_scale(number, rows, scaling, alignment, limits);
                            let prepared = bench.prepare(work.expect("counted")).expect("loads");
                            let bytes: Vec<u8> = before.iter().flat_map(|x| x.to_ne_bytes()).collect();
                            data.index(skew..skew + bytes.len()).copy_from(&bytes).expect("fits");
                            let (at, long) = (address(data) + skew as u64, rows.span() * number.bytes());
                            let ran = run(&prepared, bench, at, long, data);
                            let ended = bench.stream.synchronize();
                            let mut got = vec![0; bytes.len()];
                            data.index(skew..skew + bytes.len()).copy_to(&mut got).expect("fits");
                            let got: Vec<$real> = got
                                .chunks(REAL)
                                .map(|x| <$real>::from_ne_bytes(x.try_into().expect("one")))
                                .collect();
                            let mut want = before.clone();
                            for k in 0..rows.len() {
                                let place = rows.offset(k) * parts;
                                let pair = [before[place], if parts == 2 { before[place + 1] } else { 0.0 }];
                                let scaled = apply(parts == 2, scaling, pair);
                                want[place..place + parts].copy_from_slice(&scaled[..parts]);
                            }
                            let made = matches!(scaling, Scaling::By { alpha: Some(_), .. });
                            let same = |(got, want): (&$real, &$real)| {
                                got.to_bits() == want.to_bits() || (made && got.is_nan() && want.is_nan())
                            };
                            let wrong = got.iter().zip(&want).filter(|&pair| !same(pair)).count();
                            if wrong > 0 || ran.is_err() || ended.is_err() {
                                println!("  WRONG {number:?} {rows:?} {scaling:?} skew {skew}: {wrong}, {ran:?}");
                                failures += 1;
                            }
                        }
                    }
                }
            }
            failures
        }
    };
}

numbers!(singles, f32, ScalarKind::F32, ScalarKind::C32);
numbers!(doubles, f64, ScalarKind::F64, ScalarKind::C64);

fn numbers(bench: &Bench, data: &DeviceBuffer<u8>) -> usize {
    let failures = singles(bench, data) + doubles(bench, data);
    println!("  numbers scaled: {failures} wrong");
    failures
}

/// Checks typed errors that leave the data unchanged, and capture in a graph.
fn refusals(bench: &mut Bench) -> usize {
    let planner = Planner::new(bench.gpu.device().clone());
    let problem = transposed([3000, 2000], [2100, 3300], 4).expect("fits");
    let plan = planner.plan(&problem).expect("there is a way");
    let prepared = bench.gpu.prepare(&plan).expect("loads");
    let (bytes, need) = (problem.span_bytes(), prepared.work().workspace_bytes());
    let (data, workspace) = (memory(bytes + 16), memory(need));
    bench.fill(address(&data), bytes / 4, 4);
    let short = DeviceBuffer::from_slice(&[0u8]).expect("a byte");
    let mut failures = 0;
    let at = address(&data);
    let bench_ref = &*bench;
    let answer = |at, bytes, workspace| run(&prepared, bench_ref, at, bytes, workspace);
    for (what, answer, why) in [
        ("short", answer(at, bytes - 1, &workspace), "Length"),
        ("null", answer(0, bytes, &workspace), "Null"),
        ("misaligned", answer(at + 4, bytes, &workspace), "Misaligned"),
        ("no workspace", answer(at, bytes, &short), "Workspace"),
    ] {
        failures += expect(what, refused(&answer, why));
    }
    let stays = LeadingDims::row_slide(1, bytes / 4, bytes / 4, bytes / 4).expect("a row");
    failures += expect("data untouched", bench.wrong_leading(at, &stays, 4).0 == 0);
    let refused = planner.plan(&problem.with_cap(16));
    failures += expect("no room for gaps", matches!(refused, Err(PlanError::Infeasible { .. })));
    for problem in [
        problem.clone(),
        problem.with_cap(16 << 20),
        transposed([900, 700], [1000; 2], 4).expect("fits"),
    ] {
        let plan = planner.plan(&problem).expect("there is a way");
        let prepared = bench.gpu.prepare(&plan).and_then(|p| p.with_own_workspace());
        let (prepared, leading) = (prepared.expect("loads"), *leading(&problem));
        let ran = replayed(bench, &prepared, leading.span(), 4, |bench, address| {
            bench.wrong_leading(address, &leading, 4).0
        });
        failures += expect(&format!("graph {plan}"), ran);
    }
    failures
}

/// Runs every strategy 20 times on matrices that fill the chip, compared on the device.
pub fn full_chip(bench: &mut Bench) -> usize {
    let mut failures = 0;
    let turned = transposed;
    for problem in [
        turned([16384, 16384], [16416; 2], 4),
        turned([16384, 16384], [16385; 2], 4),
        turned([20000, 12000], [20480; 2], 4),
        turned([12000, 20000], [20480; 2], 2),
        turned([12001, 20003], [20011; 2], 1),
        turned([5000, 7000], [7100; 2], 12),
        turned([3001, 2000], [3100; 2], 400),
        turned([9000, 5000], [9100; 2], 16),
        turned([8192, 4096], [4096, 8200], 4),
        turned([8000, 5000], [5100, 8100], 4),
        turned([5000, 8000], [8100, 5100], 4),
        turned([20_000, 12_000], [12_032, 20_032], 4),
        turned([12_000, 20_000], [20_032, 12_032], 1),
        turned([9984, 6016], [6080, 10_048], 12),
        turned([8000, 5000], [10_000, 16_000], 4),
        turned([10_007, 9973], [10_010, 10_020], 12),
        turned([20_011, 16_381], [16_400, 20_100], 1),
        turned([9973, 5003], [5003, 9999], 16),
        turned([3, 10_000_000], [10_000_007, 4], 4),
        turned([10_000_000, 3], [4, 10_000_007], 4),
        slid([20_000, 5000], [5000, 5100], 4),
        slid([20_000, 5000], [5101, 5003], 4),
        slid([3_000_000, 20], [21, 33], 8),
    ] {
        let problem = problem.expect("fits");
        let (leading, elem) = (*leading(&problem), problem.itemsize());
        let planner = Planner::new(bench.gpu.device().clone());
        let mut plans = planner.candidates(&problem).candidates;
        let through = planner.plan(&problem.with_cap(usize::MAX)).expect("there is a way");
        if plans.iter().all(|plan| plan.route_name() != through.route_name()) {
            plans.push(through);
        }
        for plan in plans {
            let work = Work::of_plan(&plan).expect("has kernels");
            let wrong = |bench: &mut Bench, data| bench.wrong_leading(data, &leading, elem);
            let (all, what) = ((leading.span(), elem), plan.to_string());
            let wrong = repeat(bench, work, all, 0, 20, &what, wrong);
            println!("  {plan}: {wrong} runs wrong");
            failures += usize::from(wrong > 0);
        }
    }
    failures
}
