//! Tests of leading dimensions, scaling and conjugation on the host, compared with plain loops, and
//! of plans.

use proptest::prelude::*;
use turntile::blas::{Complex, MatrixOp, Scalar, Scale, imatcopy};
use turntile::error::{Reason, RunError};
use turntile::mode::{InPlace, Leading};
use turntile::plan::Effort;
use turntile::plan::{
    GpuDevice, Infeasible, InvalidPlan, Plan, PlanError, Planner, Problem, ProblemError, Route,
};
use turntile::run::RunOptions;
use turntile::{Error, ErrorKind, RawElements, Transpose, Transposer};

const OPERATIONS: [MatrixOp; 4] =
    [MatrixOp::Keep, MatrixOp::Transpose, MatrixOp::Conjugate, MatrixOp::ConjugateTranspose];

/// Scalar type with test values that show their origin and have exact products.
trait Numbered: Scalar + std::fmt::Debug {
    fn numbered(k: usize) -> Self;
    /// Returns `alpha` times the number, or times its conjugate if `conjugate`, by definition.
    fn scaled(self, alpha: Self, conjugate: bool) -> Self;
    fn bits(self) -> [u64; 2];
    /// Returns the values of `alpha` to test, including 0 and 1.
    fn alphas() -> Vec<Self>;
}

macro_rules! numbered {
    ($real:ident) => {
        impl Numbered for $real {
            fn numbered(k: usize) -> Self {
                k as $real + 0.5
            }
            fn scaled(self, alpha: Self, _: bool) -> Self {
                if alpha == 0.0 { 0.0 } else { alpha * self }
            }
            fn bits(self) -> [u64; 2] {
                [self.to_bits().into(), 0]
            }
            fn alphas() -> Vec<Self> {
                vec![1.0, 0.0, -2.0]
            }
        }
        impl Numbered for Complex<$real> {
            fn numbered(k: usize) -> Self {
                Complex { re: k as $real + 0.5, im: 1000.0 - k as $real }
            }
            fn scaled(self, alpha: Self, conjugate: bool) -> Self {
                let number = if conjugate { self.conj() } else { self };
                let [zero, one] = [0.0, 1.0].map(|re| Complex { re, im: 0.0 });
                match alpha {
                    _ if alpha == zero => zero,
                    _ if alpha == one => number,
                    _ => number * alpha,
                }
            }
            fn bits(self) -> [u64; 2] {
                [self.re.to_bits().into(), self.im.to_bits().into()]
            }
            fn alphas() -> Vec<Self> {
                [(1.0, 0.0), (0.0, 0.0), (2.0, 0.0), (-3.0, 0.5)]
                    .map(|(re, im)| Complex { re, im })
                    .to_vec()
            }
        }
    };
}

numbered!(f32);
numbered!(f64);

/// Returns the expected data after `op`, and the element offsets whose contents are then
/// unspecified.
fn moved<S: Numbered>(
    data: &[S],
    op: MatrixOp,
    [rows, cols]: [usize; 2],
    alpha: S,
    [lda, ldb]: [usize; 2],
) -> (Vec<S>, Vec<usize>) {
    let (mut want, mut source, mut result) = (data.to_vec(), Vec::new(), Vec::new());
    for (i, j) in (0..rows).flat_map(|i| (0..cols).map(move |j| (i, j))) {
        let to = if op.transposes() { j * ldb + i } else { i * ldb + j };
        want[to] = data[i * lda + j].scaled(alpha, op.conjugates());
        source.push(i * lda + j);
        result.push(to);
    }
    source.retain(|at| !result.contains(at));
    (want, source)
}

fn check<S: Numbered>(op: MatrixOp, sides: [usize; 2], gaps: [usize; 2], alpha: S) {
    let [rows, cols] = sides;
    let wide = if op.transposes() { rows } else { cols };
    let lds @ [lda, ldb] = [cols + gaps[0], wide + gaps[1]];
    let span = (rows * lda).max(if op.transposes() { cols } else { rows } * ldb);
    let mut data: Vec<S> = (0..span + 2).map(S::numbered).collect();
    let (want, unspecified) = moved(&data, op, sides, alpha, lds);
    imatcopy(&mut data, op, rows, cols, alpha, lda, ldb).unwrap();
    for at in (0..data.len()).filter(|at| !unspecified.contains(at)) {
        let same = data[at].bits() == want[at].bits();
        assert!(same, "{at}: {:?} {:?} {op:?} {sides:?} {gaps:?} {alpha:?}", data[at], want[at]);
    }
}

fn check_all<S: Numbered>(sides: [usize; 2], gaps: [usize; 2]) {
    for op in OPERATIONS {
        S::alphas().into_iter().for_each(|alpha| check::<S>(op, sides, gaps, alpha));
    }
}

#[test]
fn imatcopy_matches_reference_for_all_small_matrices() {
    for (rows, cols) in (0..6).flat_map(|rows| (0..6).map(move |cols| (rows, cols))) {
        for gaps in (0..3).flat_map(|a| (0..3).map(move |b| [a, b])) {
            check_all::<f32>([rows, cols], gaps);
            check_all::<f64>([rows, cols], gaps);
            check_all::<Complex<f32>>([rows, cols], gaps);
            check_all::<Complex<f64>>([rows, cols], gaps);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn imatcopy_matches_reference_for_any_matrix(
        rows in 1usize..80, cols in 1usize..80, before in 0usize..30, after in 0usize..30, equal: bool,
    ) {
        // The first pair of gaps makes `lda == ldb` in a transposition.
        let gaps = if equal { [rows + before, cols + before] } else { [before, after] };
        check_all::<f32>([rows, cols], gaps);
        check_all::<Complex<f64>>([rows, cols], gaps);
    }
}

/// Checks plans with 1 and 3 threads, and with workspace caps of 1 MiB and 0.
#[test]
fn run_scaled_matches_definition_for_large_matrices() {
    for (sides @ [rows, cols], lds @ [lda, ldb], elements) in [
        ([900, 900], [1000, 1000], 900_000),
        ([1100, 700], [1203, 1203], 1_400_000),
        ([1000, 700], [710, 1005], 720_000),
        // Threads get different numbers of rows, and elements follow the last row.
        ([700, 1000], [1005, 715], 720_000),
    ] {
        let before: Vec<Complex<f32>> = (0..elements).map(Complex::numbered).collect();
        let alpha = Complex { re: 2.0, im: -1.0 };
        for cap in [1 << 20, 0] {
            for threads in [1, 3] {
                let mut data = before.clone();
                let transpose = Transpose::new::<Complex<f32>>(rows, cols);
                let planned = transpose.threads(threads).workspace_limit(cap).leading(lda, ldb);
                let planned = planned.plan().unwrap();
                let mut passes = Vec::new();
                let mut record = |done| passes.push(done);
                let options = RunOptions::new().progress(&mut record);
                planned.run_scaled(&mut data, &Scale::conjugated(alpha), options).unwrap();
                assert_eq!(passes.last(), Some(&planned.plan().passes()), "{planned}");
                assert!(passes.is_sorted_by(|a, b| a < b), "{passes:?} {planned}");
                for (i, j) in (0..rows).flat_map(|i| (0..cols).map(move |j| (i, j))) {
                    let want = before[i * lda + j].scaled(alpha, true);
                    assert_eq!(data[j * ldb + i], want, "{i} {j} {sides:?} {lds:?} {planned}");
                }
                let span = planned.plan().problem.span();
                let gap = |at: usize| at >= span || at % lda >= cols && at % ldb >= rows;
                for at in (0..elements).filter(|&at| gap(at)) {
                    assert_eq!(data[at], before[at], "{at} {planned}");
                }
            }
        }
    }
}

/// Checks the rules of `Scale`: an `alpha` of 1 multiplies nothing, 0 reads nothing, other products
/// follow IEEE 754.
#[test]
fn imatcopy_handles_nan_and_infinity_like_blas() {
    let odd = f64::from_bits(0x7FF0_0000_0000_0123);
    for (lda, ldb) in [(2, 2), (3, 4)] {
        let all = |x: f64| vec![x; 12];
        let mut data = all(odd);
        imatcopy(&mut data, MatrixOp::Transpose, 2, 2, 1.0, lda, ldb).unwrap();
        assert!(data.iter().all(|x| x.to_bits() == odd.to_bits()), "every bit is unchanged");
        imatcopy(&mut data, MatrixOp::Transpose, 2, 2, 0.0, lda, ldb).unwrap();
        for (i, x) in data.iter().enumerate() {
            let of_result = i / ldb < 2 && i % ldb < 2;
            assert_eq!(x.to_bits(), if of_result { 0 } else { odd.to_bits() });
        }
        let mut data = all(f64::INFINITY);
        imatcopy(&mut data, MatrixOp::Keep, 2, 2, -2.0, lda, ldb).unwrap();
        assert_eq!(data[0], f64::NEG_INFINITY);
        let mut data = all(1.0);
        imatcopy(&mut data, MatrixOp::Conjugate, 2, 2, f64::NAN, lda, ldb).unwrap();
        assert!(data[ldb + 1].is_nan());
        let infinite = Complex { re: f32::INFINITY, im: 0.0 };
        let mut data = vec![infinite; 12];
        let two = Complex { re: 2.0, im: 0.0 };
        imatcopy(&mut data, MatrixOp::ConjugateTranspose, 2, 2, two, lda, ldb).unwrap();
        assert!(data[0].re == f32::INFINITY && data[0].im.is_nan(), "infinity times 0");
    }
    let mut data = [Complex { re: 1.0f32, im: 0.0 }];
    let one = Complex { re: 1.0, im: 0.0 };
    imatcopy(&mut data, MatrixOp::Conjugate, 1, 1, one, 1, 1).unwrap();
    assert_eq!(data[0].im.to_bits(), (-0.0f32).to_bits());
}

#[test]
fn invalid_calls_return_errors_and_keep_data() {
    let before: Vec<u32> = (0..20).collect();
    let mut data = before.clone();
    let by = |axes: [usize; 2], [rows, cols, lda, ldb]: [usize; 4]| {
        Transpose::permute::<u32>(&[rows, cols], &axes).leading(lda, ldb).plan()
    };
    let too_small = |name, least, got| Some(ProblemError::TooSmall { name, least, got }.into());
    assert_eq!(by([1, 0], [3, 5, 4, 3]).err(), too_small("lda", 5, 4));
    assert_eq!(by([1, 0], [3, 5, 5, 2]).err(), too_small("ldb", 3, 2));
    assert_eq!(by([0, 1], [3, 5, 5, 4]).err(), too_small("ldb", 5, 4));
    // The first source spans 2 · 9 + 5 elements, the second result 4 · 5 + 3.
    let short = Err(Reason::Short { expected: 23, got: 20 }.into());
    let mut within = |sizes| by([1, 0], sizes).unwrap().run(&mut data);
    assert_eq!(within([3, 5, 9, 3]), short);
    assert_eq!(within([3, 5, 5, 5]), short);
    assert_eq!(within([3, 5, 7, 4]), Ok(()), "2 · 7 + 5 and 4 · 4 + 3 fit");
    data.clone_from(&before);
    for sizes @ [rows, cols, lda, ldb] in
        [[3, 5, usize::MAX / 2, 3], [3, 5, 5, usize::MAX / 8], [1, 1 << 60, 1 << 60, 2]]
    {
        let elem_bytes = 4;
        let error = ProblemError::TooFarApart { rows, cols, lda, ldb, elem_bytes };
        assert_eq!(by([1, 0], sizes).err(), Some(error.into()));
    }
    let of = || Transpose::new::<u32>(3, 2);
    let of = || of().dynamic();
    for (transpose, with) in [
        (of().batch(2), "a batch"),
        (of().out_of_place(), "an out-of-place result"),
        (of().effort(Effort::Measure(std::time::Duration::ZERO)), "measuring"),
        (of().wisdom("nowhere"), "a wisdom file"),
        (Transpose::permute::<u32>(&[2, 3, 4], &[0, 2, 1]).dynamic(), "a batch"),
        (Transpose::permute::<u32>(&[50], &[0]).batch(3).dynamic(), "a batch"),
        (Transpose::permute::<u32>(&[2, 3, 4], &[2, 0, 1]).dynamic(), "other axes"),
        (Transpose::permute::<u32>(&[3], &[0]).dynamic(), "other axes"),
    ] {
        let rejected = Some(ProblemError::Leading { with }.into());
        assert_eq!(transpose.leading(4, 4).plan().err(), rejected);
    }
    let rejected = |with| Some(ProblemError::Leading { with }.into());
    let tuned = of().leading(4, 4).tune(std::time::Duration::ZERO);
    assert_eq!(tuned.err(), rejected("measuring"));
    assert_eq!(of().leading(4, 4).stored(1 << 20).err(), rejected("stored arrays"));
    let planned = Transpose::new::<u32>(3, 2).leading(4, 5).plan().unwrap();
    let bytes: Error = Reason::ElementSize { expected: 4, got: 8 }.into();
    assert_eq!(planned.run(&mut [0u64; 100]), Err(bytes.clone()));
    assert_eq!(
        planned.run_scaled(&mut [0f64; 100], &Scale::by(2.0), RunOptions::new()),
        Err(bytes)
    );
    let short = Err(Reason::Short { expected: 10, got: 9 }.into());
    assert_eq!(planned.run(&mut data[..9]), short);
    // Mode `InPlace` accepts elements that are not `Copy`, but no leading dimensions.
    let copies = Some(RunError::Plan(InvalidPlan::RequiresCopy).into());
    assert_eq!(Transposer::<InPlace>::new(planned.plan().clone(), 1).err(), copies);
    let mut numbers = [1f32; 9];
    for alpha in [0.0, 1.0, 2.0] {
        assert_eq!(planned.run_scaled(&mut numbers, &Scale::by(alpha), RunOptions::new()), short);
    }
    assert_eq!(numbers, [1.0; 9]);
    let mut bytes = [7u8; 39];
    let span = Err(RunError::Span { expected: 40, got: 39 }.into());
    assert_eq!(planned.run(&mut RawElements(&mut bytes[..])), span);
    assert_eq!(bytes, [7; 39]);
    assert_eq!(data, before);
}

#[test]
fn run_accepts_bytes_vectors_and_empty_matrices() {
    let planned = Transpose::new::<u8>(2, 2).itemsize(3).leading(3, 2).plan().unwrap();
    let mut bytes: Vec<u8> = (0..20).collect();
    planned.run(&mut RawElements(&mut bytes)).unwrap();
    assert_eq!(bytes[..12], [0, 1, 2, 9, 10, 11, 3, 4, 5, 12, 13, 14]);
    assert_eq!(bytes[15..], [15, 16, 17, 18, 19]);
    let mut vector = vec![[1u16], [2], [3]];
    let planned = Transpose::new::<[u16; 1]>(1, 3).leading(3, 1).plan().unwrap();
    planned.run(&mut vector).unwrap();
    assert_eq!(vector, [[1], [2], [3]]);
    for (rows, cols) in [(0, 5), (5, 0), (0, 0)] {
        let planned = Transpose::new::<u32>(rows, cols).leading(7, 7).plan().unwrap();
        planned.run(&mut [0u32; 0]).unwrap();
        for operation in OPERATIONS {
            imatcopy::<f64>(&mut [], operation, rows, cols, 2.0, 7, 8).unwrap();
        }
    }
    let nothing = Transpose::new::<()>(2, 3).leading(3, 2).plan();
    assert_eq!(nothing.err(), Some(ProblemError::ZeroSizedElement.into()));
}

/// Checks that a plan without leading dimensions can scale, and requires data of exactly the matrix
/// size.
#[test]
fn run_scaled_accepts_plans_without_leading_dimensions() {
    let mut data: Vec<f32> = (0..6).map(|k| k as f32).collect();
    let planned = Transpose::new::<f32>(2, 3).plan().unwrap().plan().clone();
    let planned = Transposer::<Leading>::new(planned, 2).unwrap();
    planned.run_scaled(&mut data, &Scale::by(2.0), RunOptions::new()).unwrap();
    assert_eq!(data, [0.0, 6.0, 2.0, 8.0, 4.0, 10.0]);
    planned.run_scaled(&mut data, &Scale::by(0.0), RunOptions::new()).unwrap();
    assert_eq!(data, [0.0; 6]);
    let long = planned.run_scaled(&mut [0f32; 7], &Scale::by(2.0), RunOptions::new());
    assert_eq!(long.unwrap_err().kind(), ErrorKind::Length { expected: 6, got: 7 });
    let out_of_place = Transpose::new::<f32>(2, 3).out_of_place().plan().unwrap();
    let flaw = InvalidPlan::WrongDestination { out_of_place: true };
    let rejected = Transposer::<Leading>::new(out_of_place.plan().clone(), 1);
    assert_eq!(rejected.err(), Some(RunError::Plan(flaw).into()));
}

fn problem([rows, cols]: [usize; 2], [lda, ldb]: [usize; 2], elem_bytes: usize) -> Problem {
    Problem::new(rows, cols, elem_bytes).unwrap().with_leading(lda, ldb).unwrap()
}

/// Checks that a GPU plan copies the matrix through the workspace if the matrix fits within the
/// cap, else saves its gaps there. If the gaps do not fit, the error has their size.
#[test]
fn gpu_plan_saves_gaps_in_workspace() {
    let matrix = problem([3000, 2000], [2500, 3600], 4);
    let planner = Planner::new(GpuDevice::h200());
    let need = matrix.saved_gap_bytes();
    let routes = |plan: Plan| (plan.phases[0].route, plan.stages().next().unwrap().to_string());
    let route_for = |cap: usize| planner.plan(&matrix.with_cap(cap)).map(routes);
    let through = "turn(3000x2000, pitch 2500 to 3600) through-workspace".to_owned();
    assert_eq!(route_for(matrix.bytes()), Ok((Route::ONE_STAGE, through)));
    assert!(matches!(route_for(matrix.bytes() - 1), Ok((Route::TOGETHER, _))));
    assert!(matches!(route_for(need), Ok((Route::TOGETHER, _))));
    let rejection = PlanError::Infeasible {
        route: Route::TOGETHER,
        problem: Box::new(matrix.with_cap(need - 1)),
        device: "h200".into(),
        why: Infeasible::Workspace { need, cap: need - 1 },
    };
    assert_eq!(route_for(need - 1), Err(rejection));
    // The default workspace cap grows by the size of the saved gaps.
    let large = problem([30_000, 20_000], [40_000, 60_000], 4);
    let plan = planner.plan(&large).unwrap();
    assert!(plan.saved_gap_bytes() > large.bytes() / 5, "{plan}");
    assert!(plan.workspace_bytes - plan.saved_gap_bytes() <= large.bytes() / 50, "{plan}");
}

#[test]
fn plan_text_lists_stages() {
    let planned = Transpose::new::<f32>(3000, 2000).threads(1).leading(2008, 3016).plan().unwrap();
    let text = format!("{planned:#}");
    assert!(text.contains("problem    3000x2000 w4, lda 2008, ldb 3016, 24000000 bytes"), "{text}");
    // Which stages these are depends on this machine's costs.
    let stages: Vec<_> = planned.plan().phases.iter().flat_map(|phase| &phase.stages).collect();
    assert!(stages.len() > 1, "{text}");
    for stage in stages {
        let line = format!("{} {}", stage.map, stage.implementation.method);
        assert!(text.contains(&line), "{line} in\n{text}");
    }
    let square = Transpose::new::<f32>(30, 30).leading(40, 40).plan().unwrap();
    let line = "30x30 w4, lda 40, ldb 40 on host: one-stage: turn(30x30, pitch 40 to 40) tile-swap; \
                1 pass, workspace 0 bytes";
    assert_eq!(square.to_string(), line);
}

fn infeasible(error: &Error) -> Infeasible {
    let Reason::Plan(PlanError::Infeasible { why, .. }) = error.reason() else { panic!("{error}") };
    why.clone()
}

/// Checks that a requested route is used, for example for the dense transposition, or rejected. If
/// the plan has no dense transposition, only route one-stage is accepted.
#[test]
fn route_is_used_or_rejected() {
    let by = |[rows, cols, lda, ldb]: [usize; 4], axes: [usize; 2], route| {
        let transpose = Transpose::permute::<u32>(&[rows, cols], &axes).leading(lda, ldb);
        match transpose.route(route).plan() {
            Ok(planned) => Ok(planned.plan().phases.iter().any(|phase| phase.route == route)),
            Err(error) => Err(infeasible(&error)),
        }
    };
    let gaps = [100, 70, 71, 103];
    assert_eq!(by(gaps, [1, 0], Route::named("x")), Err(Infeasible::UnknownRoute));
    assert_eq!(by(gaps, [1, 0], Route::SEVERAL), Err(Infeasible::UnknownRoute));
    assert_eq!(by(gaps, [1, 0], Route::SQUARE_TILE), Ok(true));
    assert_eq!(by(gaps, [1, 0], Route::ONE_STAGE), Ok(true));
    assert!(by(gaps, [1, 0], Route::OUT_OF_PLACE).is_err());
    for (equal, axes) in [([70, 70, 90, 90], [1, 0]), ([100, 70, 90, 95], [0, 1])] {
        assert_eq!(by(equal, axes, Route::SQUARE_TILE), Err(Infeasible::OneStage));
        assert_eq!(by(equal, axes, Route::ONE_STAGE), Ok(true));
    }
    let dense = |route| Transpose::new::<u32>(30, 50).route(route).plan().map(drop);
    assert_eq!(infeasible(&dense(Route::APART).unwrap_err()), Infeasible::UnknownRoute);
    // The single stage for `lda == ldb` has no mirrored form.
    let problem = Problem::new(100, 70, 4).unwrap().with_leading(71, 71);
    assert!(problem.is_err(), "ldb is less than the rows");
    let problem = Problem::new(70, 70, 4).unwrap().with_leading(71, 71).unwrap();
    let planner = Planner::new(GpuDevice::h200());
    assert!(planner.clone().with_mirrored(true).plan(&problem).is_err());
    assert!(planner.with_mirrored(false).plan(&problem).is_ok());
}

/// Checks that all candidates have the requested route or are mirrored as requested. Among all
/// candidates, some are of route square-tile.
#[test]
fn survey_has_only_requested_route_when_route_is_set() {
    let problem = Problem::new(98, 98, 2).unwrap().with_leading(110, 98).unwrap();
    let planner = Planner::new(GpuDevice::a100());
    let all = planner.candidates(&problem).candidates;
    let tiled = |plan: &Plan| plan.phases.iter().any(|phase| phase.route == Route::SQUARE_TILE);
    assert!(all.iter().any(tiled));
    for route in [Route::PANEL, Route::THREE_STAGE, Route::CUT] {
        for plan in planner.clone().with_route(route).candidates(&problem).candidates {
            assert!(plan.phases.iter().any(|phase| phase.route == route), "{plan:#}");
        }
    }
    for plan in planner.with_mirrored(true).candidates(&problem).candidates {
        assert!(plan.phases.iter().any(|phase| phase.mirrored), "{plan:#}");
    }
}

#[test]
fn check_fails_when_empty_matrix_has_stages() {
    let planner = Planner::new(turntile::plan::CpuDevice::new(1));
    let full = Problem::new(3, 5, 4).unwrap().with_leading(5, 3).unwrap();
    let mut plan = planner.plan(&full).unwrap();
    plan.problem = Problem::new(0, 5, 4).unwrap().with_leading(5, 3).unwrap();
    let leading = *plan.problem.leading().unwrap();
    plan.phases[0].stages[0].map = turntile_plan::StageMap::TransposeRows(leading);
    assert!(matches!(plan.check(), Err(InvalidPlan::Leading { .. })));
}
