//! Tests of every plan for matrices with leading dimensions, against plain loops. Bytes outside
//! source and result must be unchanged.

use crate::stages::Elsewhere;
use crate::{numbered, rows};
use proptest::prelude::*;
use turntile_cpu::{CpuDevice, Executor, RunError, Workspace};
use turntile_perm::LeadingDims;
use turntile_plan::{
    InvalidPlan, LaunchConfig, Method, Plan, Planner, Problem, Route, Stage, StageMap, TileRule,
};

/// Limit in bytes of matrices that are also run with too small a workspace.
const SHORT_WORKSPACE_BYTES: usize = 1 << 16;

/// Number of elements after the span that must be unchanged.
const GUARD: usize = 3;

/// Returns a copy of the data with the matrix moved element by element, and whether each element
/// belongs to the source.
fn moved(p: &Problem, data: &[u8]) -> (Vec<u8>, Vec<bool>) {
    let leading = leading(p);
    let (source, result, e) = (leading.source(), leading.result(), p.itemsize());
    let (mut want, mut of_source) = (data.to_vec(), vec![false; data.len() / e]);
    for i in 0..source.rows() {
        for j in 0..source.cols() {
            let from = i * source.pitch() + j;
            let transposed = leading.is_transposed();
            let to = if transposed { j * result.pitch() + i } else { i * result.pitch() + j };
            want[to * e..][..e].copy_from_slice(&data[from * e..][..e]);
            of_source[from] = true;
        }
    }
    (want, of_source)
}

fn leading(p: &Problem) -> LeadingDims {
    *p.leading().unwrap()
}

fn is_of_result(p: &Problem, at: usize) -> bool {
    let result = leading(p).result();
    result.pitch() > 0 && at / result.pitch() < result.rows() && at % result.pitch() < result.cols()
}

/// Checks the composed maps of the stages: every element of the matrix reaches its destination, and
/// elements in no row of either side return to their offsets.
fn check_map(plan: &Plan) {
    let (p, leading) = (&plan.problem, leading(&plan.problem));
    if p.span() > 150 {
        return;
    }
    for at in 0..p.span() {
        let of_source = leading.source().index(at).is_some();
        if of_source || leading.result().index(at).is_none() {
            assert_eq!(plan.dest(at), p.dest(at), "{at}: {plan:#}");
        }
    }
}

/// Checks that `workspace`, which is too small, is rejected and no data change.
fn check_short(executor: &Executor, mut workspace: Workspace) {
    let (need, have) = (executor.workspace_bytes(), workspace.bytes());
    if need == 0 {
        return;
    }
    let before = numbered(executor.plan().problem.span_bytes(), 1);
    let mut data = before.clone();
    let error = executor.run_bytes(&mut data, &mut workspace);
    assert_eq!(error, Err(RunError::Workspace { need, have }), "{}", executor.plan());
    assert!(data == before);
}

/// Runs `plan` with exactly the workspace that it states, filled with a pattern, and checks the
/// result.
fn check(plan: Plan, threads: usize) {
    check_all([plan], threads);
}

/// Runs plans of one problem, and checks the result.
fn check_all(plans: impl IntoIterator<Item = Plan>, threads: usize) {
    let mut plans = plans.into_iter().peekable();
    let Some(Plan { problem, .. }) = plans.peek() else { return };
    let (p, e) = (problem.clone(), problem.itemsize());
    let before = numbered(p.span() + GUARD, e);
    let (want, of_source) = moved(&p, &before);
    for plan in plans {
        let stated = plan.workspace_bytes;
        check_map(&plan);
        let executor = Executor::new(plan, threads).unwrap();
        let (plan, need) = (executor.plan(), executor.workspace_bytes());
        assert!(need <= stated, "{plan:#}: {need} bytes");
        let mut workspace = Workspace::new(stated).unwrap();
        workspace.poison(0x5A);
        let mut data = before.clone();
        executor.run_bytes(&mut data, &mut workspace).unwrap();
        if p.span_bytes() < SHORT_WORKSPACE_BYTES {
            check_short(&executor, Workspace::new(need.saturating_sub(8)).unwrap());
        }
        for (at, (got, want)) in data.chunks(e).zip(want.chunks(e)).enumerate() {
            if of_source[at] && !is_of_result(&p, at) {
                // This element of the source is in a gap of the result: it may now be any element of
                // the original data, but not workspace contents. The search is slow: small data only.
                let known = || before.chunks(e).any(|element| element == got);
                assert!(
                    data.len() > 4000 || known(),
                    "element {at} is not from the source: {plan:#}"
                );
            } else {
                assert!(got == want, "element {at} is {got:?}, not {want:?}: {plan:#}");
            }
        }
    }
}

fn transposed(sides: [usize; 2], gaps: [usize; 2], elem_bytes: usize) -> Problem {
    let problem = Problem::new(sides[0], sides[1], elem_bytes).unwrap();
    problem.with_leading(sides[1] + gaps[0], sides[0] + gaps[1]).unwrap()
}

fn slid(sides: [usize; 2], gaps: [usize; 2], elem_bytes: usize) -> Problem {
    let problem = Problem::permuted(&sides, &[0, 1], elem_bytes).unwrap();
    problem.with_leading(sides[1] + gaps[0], sides[1] + gaps[1]).unwrap()
}

fn plan(p: &Problem, threads: usize) -> Plan {
    Planner::new(CpuDevice::new(threads)).plan(p).unwrap()
}

fn candidates(p: &Problem, threads: usize) -> Vec<Plan> {
    Planner::new(CpuDevice::new(threads)).candidates(p).candidates
}

/// Returns the plans that move rows of tiles, for all tile sides.
fn tiled(p: &Problem, threads: usize) -> Vec<Plan> {
    let planner = Planner::new(CpuDevice::new(threads)).with_tiles(TileRule::Exhaustive);
    let runs = |stage: &Stage| matches!(stage.map, StageMap::TileRows(_));
    planner.candidates(p).candidates.into_iter().filter(|plan| plan.stages().any(runs)).collect()
}

/// Returns the methods of the plan's stages outside the dense transposition.
fn methods(plan: &Plan) -> Vec<Method> {
    let frame = |route| matches!(route, Route::TOGETHER | Route::APART | Route::ONE_STAGE);
    let phases = plan.phases.iter().filter(|phase| frame(phase.route));
    phases.flat_map(|phase| &phase.stages).map(|stage| stage.implementation.method).collect()
}

/// Returns the phase and index of each stage outside the dense transposition.
fn frame_stages(plan: &Plan) -> Vec<(usize, usize)> {
    let frame = |route| matches!(route, Route::TOGETHER | Route::APART | Route::ONE_STAGE);
    let phases = plan.phases.iter().enumerate().filter(|(_, phase)| frame(phase.route));
    phases.flat_map(|(k, phase)| (0..phase.stages.len()).map(move |number| (k, number))).collect()
}

/// Checks every plan, within the default workspace cap and without workspace.
fn check_every_plan(p: Problem, threads: usize) {
    for p in [p.with_cap(0), p] {
        let (best, all) = (plan(&p, threads), candidates(&p, threads));
        assert!(all.contains(&best), "{best:#}");
        check_all(all, threads);
    }
}

#[test]
fn all_plans_are_right_for_small_matrices() {
    for (rows, cols) in (0..8).flat_map(|rows| (0..8).map(move |cols| (rows, cols))) {
        for gaps in (0..4).flat_map(|a| (0..4).map(move |b| [a, b])) {
            for elem_bytes in [1, 2, 3, 4, 8, 12, 16, 20] {
                for threads in [1, 3] {
                    check_every_plan(transposed([rows, cols], gaps, elem_bytes), threads);
                    check_every_plan(slid([rows, cols], gaps, elem_bytes), threads);
                }
            }
        }
    }
}

/// Checks that a plan slides rows only once if the gaps of one side fit in the array at the other
/// side's pitch: these gaps then move as elements.
#[test]
fn rows_slide_once_when_gaps_fit_the_other_pitch() {
    let slides = |plan: &Plan| -> Vec<String> {
        let slides = |stage: &&Stage| matches!(stage.map, StageMap::Slide(_));
        plan.stages().filter(slides).map(|stage| stage.map.to_string()).collect()
    };
    let [before, after] = ["slide(40x30, pitch 39 to 30)", "slide(30x40, pitch 40 to 49)"];
    for (gaps, once) in [([2, 9], Some(after)), ([9, 3], Some(before)), ([3, 4], None)] {
        let p = transposed([40, 30], gaps, 4);
        let around: Vec<Plan> = candidates(&p, 2)
            .into_iter()
            .filter(|plan| methods(plan).contains(&Method::SaveGaps))
            .collect();
        let found: Vec<Vec<String>> = around.iter().map(slides).collect();
        assert_eq!(found.len(), 1 + once.iter().len(), "{found:?}");
        assert!(found.iter().any(|slides| slides.len() == 2), "{found:?}");
        assert!(once.is_none_or(|once| found.contains(&vec![once.to_owned()])), "{found:?}");
        // Each plan is still found if the workspace cap equals its saved gaps.
        for plan in &around {
            let capped = candidates(&p.with_cap(plan.saved_gap_bytes()), 2);
            assert!(capped.iter().all(|other| other.saved_gap_bytes() <= plan.saved_gap_bytes()));
            assert!(capped.iter().any(|other| slides(other) == slides(plan)), "{plan:#}");
        }
    }
}

/// Checks plans with tiles of every side that divides both pitches, and with rows of such tiles.
#[test]
fn tiled_plans_are_right_when_pitches_differ() {
    let mut seen = [0; 2];
    let sides = (1..9).flat_map(|rows| (1..9).map(move |cols| [rows, cols]));
    for (sides, gaps) in sides.flat_map(|sides| (0..25).map(move |k| (sides, [k / 5, k % 5]))) {
        for elem_bytes in [1, 4, 12] {
            let p = transposed(sides, gaps, elem_bytes);
            let all = tiled(&p, 2);
            for plan in &all {
                // Either the rows of tiles move last, or the tiles do.
                let last = plan
                    .stages()
                    .filter(|stage| !matches!(stage.map, StageMap::Gaps { .. }))
                    .last();
                seen[usize::from(matches!(last.unwrap().map, StageMap::TileRows(_)))] += 1;
                assert_eq!(plan.passes(), 2, "{plan:#}");
            }
            check_all(all, 2);
        }
    }
    assert!(seen.iter().all(|&count| count > 200), "{seen:?}");
    let larger = [
        ([800, 500], [10, 10], 3),
        ([500, 800], [10, 10], 3),
        ([512, 300], [20, 64], 6),
        ([96, 64], [0, 8], 3),
    ];
    for (sides, gaps, least) in larger {
        let all = tiled(&transposed(sides, gaps, 4), 2);
        assert!(all.len() >= least, "{sides:?}: {}", all.len());
        check_all(all, 2);
    }
}

/// Checks that plans for equal pitches of any width take at most one pass and no workspace.
#[test]
fn equal_pitches_take_one_pass_without_workspace() {
    for (rows, cols) in (1..20).flat_map(|rows| (1..20).map(move |cols| (rows, cols))) {
        for pitch in rows.max(cols)..rows.max(cols) + 4 {
            let p = transposed([rows, cols], [pitch - cols, pitch - rows], 4);
            let plan = plan(&p.with_cap(0), 2);
            assert!(plan.passes() <= 1 && plan.workspace_bytes == 0, "{plan}");
            check(plan, 2);
        }
    }
}

/// Checks matrices large enough for tiles, blocks, rounds and several threads.
#[test]
fn all_plans_are_right_when_threads_share_a_matrix() {
    let cases = [
        ([700, 700], [3, 3]),
        ([700, 500], [260, 60]),
        ([300, 900], [700, 100]),
        ([500, 700], [1, 2]),
        ([600, 800], [16, 500]),
        ([90_000, 7], [1, 1]),
        ([7, 90_000], [5, 9]),
        ([1, 200_000], [3, 1]),
        ([200_000, 1], [3, 0]),
    ];
    // Each case with every element length and every number of threads, and all pairs of these.
    for (k, (sides, gaps)) in cases.into_iter().enumerate() {
        for (n, elem_bytes) in [1, 4, 12].into_iter().enumerate() {
            let threads = [2, 3, 8][(n + k) % 3];
            check_every_plan(transposed(sides, gaps, elem_bytes), threads);
            check_every_plan(slid(sides, gaps, elem_bytes), threads);
        }
    }
}

/// Checks plans whose rows slide together and apart in rounds, blocks and shares. The last row has
/// no gap after it.
#[test]
fn plans_are_right_with_every_slide_method() {
    let sides = [[2, 3], [5, 4], [7, 30], [41, 6], [1, 9], [9, 1]];
    for (method, sides) in rows::methods(3).flat_map(|method| sides.map(|sides| (method, sides))) {
        for gaps in (0..5).flat_map(|a| (0..5).map(move |b| [a, b])) {
            let p = transposed(sides, gaps, 3);
            for mut plan in candidates(&p, 3) {
                let stages = plan.phases.iter_mut().flat_map(|phase| &mut phase.stages);
                let mut moved = 0;
                let slides = |stage: &&mut Stage| matches!(stage.map, StageMap::Slide(_));
                for stage in stages.filter(slides) {
                    stage.implementation = rows::by(&stage.map, 3 * stage.elems_per_unit, method);
                    moved += 1;
                }
                if moved > 0 {
                    let executor = Executor::new(plan.clone(), 3).unwrap();
                    plan.workspace_bytes = executor.workspace_bytes();
                    check(plan, 3);
                }
            }
        }
    }
}

/// Checks slides long enough for parallel rounds, which move at least 1 MiB.
#[test]
fn long_slides_run_on_several_threads() {
    for gaps in [[0, 400], [400, 0], [10, 2000], [2000, 10], [100, 1000]] {
        for threads in [2, 3] {
            check(plan(&slid([3000, 400], gaps, 4), threads), threads);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn all_plans_are_right_for_random_matrices(
        rows in 1usize..300, cols in 1usize..300, before in 0usize..200, after in 0usize..200,
        elem_bytes in prop::sample::select(&[1usize, 2, 3, 4, 8, 12, 16, 24][..]), threads in 1usize..6,
    ) {
        check_every_plan(transposed([rows, cols], [before, after], elem_bytes), threads);
        check_every_plan(slid([rows, cols], [before, after], elem_bytes), threads);
    }
}

/// Checks that the planner's choice depends on the size of the gaps and on the workspace cap.
#[test]
fn plan_has_fewest_passes_within_the_cap() {
    use Method::{GapSwap, Rounds, SaveGaps, Shares, ThroughWorkspace};
    let dense = plan(&transposed([2000, 3000], [0, 0], 4), 1);
    assert_eq!(
        methods(&dense),
        [],
        "a matrix without gaps needs no stages around the transposition"
    );
    let p = transposed([2000, 3000], [7, 17], 4);
    let around = plan(&p, 1);
    let frame = methods(&around);
    assert_eq!((frame.first(), frame.last(), frame.len()), (Some(&SaveGaps), Some(&SaveGaps), 4));
    let maps: Vec<String> = around.stages().map(|stage| stage.map.to_string()).collect();
    assert_eq!(maps[1], "slide(2000x3000, pitch 3007 to 3000)");
    assert_eq!(maps[maps.len() - 2], "slide(3000x2000, pitch 2000 to 2017)");
    let least = around.saved_gap_bytes();
    assert_eq!(least, (p.saved_gaps().unwrap().count() * 4).next_multiple_of(16));
    let most = p.bytes() / 50 + (1 << 20);
    assert!(least > 0 && around.workspace_bytes > least && around.workspace_bytes <= most);
    let methods_of = |p: Problem| methods(&plan(&p, 1));
    assert_eq!(methods_of(p.with_cap(least))[0], SaveGaps);
    assert_eq!(methods_of(p.with_cap(least - 1)), [GapSwap, GapSwap, Rounds]);
    // The gaps of both sides are larger than the matrix.
    assert_eq!(methods_of(transposed([2000, 3000], [5000, 4000], 4)), [GapSwap, GapSwap, Rounds]);
    assert_eq!(methods_of(transposed([100, 300], [5, 4], 4)), [ThroughWorkspace]);
    assert_eq!(methods_of(slid([100, 300], [5, 4], 4)), [Shares]);
    assert_eq!(methods_of(slid([100, 300], [5, 5], 4)), []);
}

#[test]
fn short_data_or_workspace_is_rejected_and_unchanged() {
    let p = transposed([300, 200], [7, 9], 4);
    let executor = Executor::new(plan(&p.with_cap(1000), 1), 1).unwrap();
    let expected = p.span_bytes();
    let before = numbered(expected, 1);
    let mut data = before.clone();
    let mut workspace = Workspace::new(executor.workspace_bytes()).unwrap();
    let got = expected - 1;
    let error = executor.run_bytes(&mut data[..got], &mut workspace);
    assert_eq!(error, Err(RunError::Span { expected, got }));
    assert!(data == before);
    let all = candidates(&p, 1);
    assert!(all.len() >= 3, "{all:?}");
    for plan in all {
        let executor = Executor::new(plan, 1).unwrap();
        let workspace = Workspace::new(executor.workspace_bytes().saturating_sub(8)).unwrap();
        check_short(&executor, workspace);
    }
}

/// Checks that plans assembled by hand are rejected unless their stages solve their problem.
#[test]
fn plan_is_rejected_when_stages_belong_to_another_problem() {
    let (p, other) = (transposed([300, 200], [7, 9], 4), transposed([200, 300], [7, 9], 4));
    let assert_rejected = |plan: Plan| {
        let flaw = Executor::new(plan.clone(), 1).err();
        assert!(matches!(flaw, Some(RunError::Plan(_))), "{flaw:?}: {plan:#}");
    };
    let assert_leading_rejected = |plan: Plan| {
        let flaw = Executor::new(plan.clone(), 1).err();
        assert!(
            matches!(flaw, Some(RunError::Plan(InvalidPlan::Leading { .. }))),
            "{flaw:?}: {plan:#}"
        );
    };
    let dense = Problem::new(300, 200, 4).unwrap();
    let with_problem = |problem: Problem, mut plan: Plan| {
        plan.problem = problem;
        plan
    };
    let mut nothing = plan(&p, 1);
    nothing.phases.clear();
    assert_leading_rejected(nothing);
    for plan in candidates(&other, 1) {
        assert_leading_rejected(with_problem(p.clone(), plan.clone()));
        assert_leading_rejected(with_problem(slid([300, 200], [7, 9], 4), plan.clone()));
        assert_rejected(with_problem(dense.clone(), plan.clone()));
        // The plan without one of its stages, or with the phases reversed.
        for phase in 0..plan.phases.len() {
            for number in 0..plan.phases[phase].stages.len() {
                let frame = matches!(plan.phases[phase].route, Route::TOGETHER | Route::APART);
                let mut less = plan.clone();
                less.phases[phase].stages.remove(number);
                if frame {
                    assert_leading_rejected(less);
                }
                let mut longer = plan.clone();
                longer.phases[phase].stages[number].elems_per_unit = 2;
                assert_rejected(longer);
            }
        }
        let mut reversed = plan.clone();
        reversed.phases.reverse();
        if plan.phases.len() > 1 {
            assert_leading_rejected(reversed);
        }
    }
    // A plan of one pass in place, for pitches that differ.
    let equal = plan(&transposed([300, 200], [109, 9], 4), 1);
    assert_eq!(methods(&equal), [Method::TileSwap]);
    assert_leading_rejected(with_problem(p.clone(), equal));
    // Another device's launch configuration cannot be compared, so the plan itself must be
    // rejected.
    for p in [p.clone(), transposed([5, 7], [4, 3], 4)] {
        for plan in candidates(&p, 1).into_iter().chain(candidates(&p.with_cap(0), 1)) {
            for (phase, number) in frame_stages(&plan) {
                let changed = |change: &dyn Fn(&mut Stage)| {
                    let mut plan = plan.clone();
                    let stage = &mut plan.phases[phase].stages[number];
                    stage.implementation.launch_config = LaunchConfig::new(Elsewhere);
                    change(stage);
                    plan
                };
                assert_rejected(changed(&|stage| stage.elems_per_unit = 2));
                let invalid: &[Method] = match plan.phases[phase].stages[number].map {
                    StageMap::TransposeRows(_) => {
                        &[Method::TileSwap, Method::SaveGaps, Method::Rounds]
                    }
                    StageMap::Gaps { .. } => &[Method::TileSwap, Method::GapSwap, Method::Rounds],
                    StageMap::SwapGaps { .. } => &[Method::SaveGaps, Method::Rounds],
                    _ => &[Method::SaveGaps, Method::GapSwap, Method::ThroughWorkspace],
                };
                for &method in invalid {
                    let plan = changed(&|stage| stage.implementation.method = method);
                    assert!(plan.check().is_err(), "{plan:#}");
                    assert_rejected(plan);
                }
            }
        }
    }
    // Stages around gaps are rejected for a problem without leading dimensions.
    for plan in candidates(&p, 1) {
        assert_rejected(with_problem(dense.clone(), plan));
    }
}
