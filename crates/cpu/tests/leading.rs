//! Matrices with leading dimensions in every way, against plain loops; every byte that is none of the source or the
//! result must be as it was.

use crate::stages::Elsewhere;
use crate::{numbered, rows};
use proptest::prelude::*;
use turntile_cpu::{CpuDevice, Executor, RunError, Workspace};
use turntile_perm::LeadingDims;
use turntile_plan::{
    InvalidPlan, LaunchConfig, Method, Plan, Planner, Problem, Route, Stage, StageMap, TileRule,
};

/// Bytes of matrices that are run with too little workspace too.
const MOST_SHORT: usize = 1 << 16;

/// Elements behind the span that must stay as they are.
const GUARD: usize = 3;

/// Element by element: the matrix moved within a copy of the data, and which elements are of its source.
fn moved(p: &Problem, data: &[u8]) -> (Vec<u8>, Vec<bool>) {
    let leading = leading(p);
    let (source, result, e) = (leading.source(), leading.result(), p.elem_bytes());
    let (mut want, mut of_source) = (data.to_vec(), vec![false; data.len() / e]);
    for i in 0..source.rows() {
        for j in 0..source.cols() {
            let from = i * source.pitch() + j;
            let turned = leading.is_transposed();
            let to = if turned { j * result.pitch() + i } else { i * result.pitch() + j };
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

/// What the stages' maps say, one after the other: where every element of the matrix ends, and that what lies in no
/// row of either side is back where it was.
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

/// A workspace one word short is refused, and nothing is touched.
fn check_short(executor: &Executor, mut workspace: Workspace) {
    let (need, have) = (executor.workspace_bytes(), workspace.bytes());
    if need == 0 {
        return;
    }
    let before = numbered(executor.plan().problem.span_bytes(), 1);
    let mut data = before.clone();
    let refused = executor.run_bytes(&mut data, &mut workspace);
    assert_eq!(refused, Err(RunError::Workspace { need, have }), "{}", executor.plan());
    assert!(data == before);
}

/// Runs `plan` with exactly the workspace that it says, poisoned.
fn check(plan: Plan, threads: usize) {
    check_all([plan], threads);
}

/// Plans of one problem.
fn check_all(plans: impl IntoIterator<Item = Plan>, threads: usize) {
    let mut plans = plans.into_iter().peekable();
    let Some(Plan { problem, .. }) = plans.peek() else { return };
    let (p, e) = (*problem, problem.elem_bytes());
    let before = numbered(p.span() + GUARD, e);
    let (want, of_source) = moved(&p, &before);
    for plan in plans {
        let told = plan.workspace_bytes;
        check_map(&plan);
        let executor = Executor::new(plan, threads).unwrap();
        let (plan, need) = (executor.plan(), executor.workspace_bytes());
        assert!(need <= told, "{plan:#}: {need} bytes");
        let mut workspace = Workspace::new(told).unwrap();
        workspace.poison(0x5A);
        let mut data = before.clone();
        executor.run_bytes(&mut data, &mut workspace).unwrap();
        if p.span_bytes() < MOST_SHORT {
            check_short(&executor, Workspace::new(need.saturating_sub(8)).unwrap());
        }
        for (at, (got, want)) in data.chunks(e).zip(want.chunks(e)).enumerate() {
            if of_source[at] && !is_of_result(&p, at) {
                // Something of before, and nothing of the workspace; looked for where that takes no time.
                let known = || before.chunks(e).any(|element| element == got);
                assert!(data.len() > 4000 || known(), "element {at} is of nowhere: {plan:#}");
            } else {
                assert!(got == want, "element {at} is {got:?}, not {want:?}: {plan:#}");
            }
        }
    }
}

fn turned(sides: [usize; 2], gaps: [usize; 2], elem_bytes: usize) -> Problem {
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

fn ways(p: &Problem, threads: usize) -> Vec<Plan> {
    Planner::new(CpuDevice::new(threads)).survey(p).candidates
}

/// Those by tiles, of all sides.
fn tiled(p: &Problem, threads: usize) -> Vec<Plan> {
    let planner = Planner::new(CpuDevice::new(threads)).with_tiles(TileRule::Exhaustive);
    let runs = |stage: &Stage| matches!(stage.map, StageMap::TileRows(_));
    planner.survey(p).candidates.into_iter().filter(|plan| plan.stages().any(runs)).collect()
}

/// Its methods, those of the transposition in the middle left out.
fn methods(plan: &Plan) -> Vec<Method> {
    let frame = |route| matches!(route, Route::TOGETHER | Route::APART | Route::ONE_STAGE);
    let legs = plan.phases.iter().filter(|leg| frame(leg.route));
    legs.flat_map(|leg| &leg.stages).map(|stage| stage.implementation.method).collect()
}

/// The legs and numbers of the same stages.
fn frame_stages(plan: &Plan) -> Vec<(usize, usize)> {
    let frame = |route| matches!(route, Route::TOGETHER | Route::APART | Route::ONE_STAGE);
    let legs = plan.phases.iter().enumerate().filter(|(_, leg)| frame(leg.route));
    legs.flat_map(|(k, leg)| (0..leg.stages.len()).map(move |number| (k, number))).collect()
}

/// Every way there is, within the default cap and without workspace.
fn check_every_way(p: Problem, threads: usize) {
    for p in [p, p.with_cap(0)] {
        let (best, ways) = (plan(&p, threads), ways(&p, threads));
        assert!(ways.contains(&best), "{best:#}");
        check_all(ways, threads);
    }
}

#[test]
fn all_small_matrices() {
    for (rows, cols) in (0..8).flat_map(|rows| (0..8).map(move |cols| (rows, cols))) {
        for gaps in (0..4).flat_map(|a| (0..4).map(move |b| [a, b])) {
            for elem_bytes in [1, 2, 3, 4, 8, 12, 16, 20] {
                for threads in [1, 3] {
                    check_every_way(turned([rows, cols], gaps, elem_bytes), threads);
                    check_every_way(slid([rows, cols], gaps, elem_bytes), threads);
                }
            }
        }
    }
}

/// Where there is room, the gaps of a side travel as elements, and rows slide once.
#[test]
fn gaps_travel_where_there_is_room() {
    let slides = |plan: &Plan| -> Vec<String> {
        let alike =
            |stage: &&Stage| matches!(stage.map, StageMap::Slide(slide) if slide.is_alike());
        plan.stages().filter(alike).map(|stage| stage.map.to_string()).collect()
    };
    let [before, after] = ["slide(40x30, pitch 39 to 30)", "slide(30x40, pitch 40 to 49)"];
    for (gaps, once) in [([2, 9], Some(after)), ([9, 3], Some(before)), ([3, 4], None)] {
        let p = turned([40, 30], gaps, 4);
        let around: Vec<Plan> = ways(&p, 2)
            .into_iter()
            .filter(|plan| methods(plan).contains(&Method::SaveGaps))
            .collect();
        let found: Vec<Vec<String>> = around.iter().map(slides).collect();
        assert_eq!(found.len(), 1 + once.iter().len(), "{found:?}");
        assert!(found.iter().any(|slides| slides.len() == 2), "{found:?}");
        assert!(once.is_none_or(|once| found.contains(&vec![once.to_owned()])), "{found:?}");
        // Each has room for what it keeps itself.
        for plan in &around {
            let capped = ways(&p.with_cap(plan.saved_gap_bytes()), 2);
            assert!(capped.iter().all(|other| other.saved_gap_bytes() <= plan.saved_gap_bytes()));
            assert!(capped.iter().any(|other| slides(other) == slides(plan)), "{plan:#}");
        }
    }
}

/// Tiles of every side that divides both pitches, and runs of their rows.
#[test]
fn tiles_go_between_pitches() {
    let mut met = [0; 2];
    let sides = (1..9).flat_map(|rows| (1..9).map(move |cols| [rows, cols]));
    for (sides, gaps) in sides.flat_map(|sides| (0..25).map(move |k| (sides, [k / 5, k % 5]))) {
        for elem_bytes in [1, 4, 12] {
            let p = turned(sides, gaps, elem_bytes);
            let all = tiled(&p, 2);
            for plan in &all {
                // Runs go first, or tiles do.
                let last = plan
                    .stages()
                    .filter(|stage| !matches!(stage.map, StageMap::Gaps { .. }))
                    .last();
                met[usize::from(matches!(last.unwrap().map, StageMap::TileRows(_)))] += 1;
                assert_eq!(plan.passes(), 2, "{plan:#}");
            }
            check_all(all, 2);
        }
    }
    assert!(met.iter().all(|&met| met > 200), "{met:?}");
    let larger = [
        ([800, 500], [10, 10], 3),
        ([500, 800], [10, 10], 3),
        ([512, 300], [20, 64], 6),
        ([96, 64], [0, 8], 3),
    ];
    for (sides, gaps, least) in larger {
        let all = tiled(&turned(sides, gaps, 4), 2);
        assert!(all.len() >= least, "{sides:?}: {}", all.len());
        check_all(all, 2);
    }
}

/// Equal pitches of every width, in one pass.
#[test]
fn equal_pitches_go_in_one_pass() {
    for (rows, cols) in (1..20).flat_map(|rows| (1..20).map(move |cols| (rows, cols))) {
        for pitch in rows.max(cols)..rows.max(cols) + 4 {
            let p = turned([rows, cols], [pitch - cols, pitch - rows], 4);
            let plan = plan(&p.with_cap(0), 2);
            assert!(plan.passes() <= 1 && plan.workspace_bytes == 0, "{plan}");
            check(plan, 2);
        }
    }
}

/// As large as makes tiles, blocks, rounds and several threads.
#[test]
fn matrices_that_threads_share() {
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
    // Every length of elements and every number of threads with each, and all pairs of these.
    for (k, (sides, gaps)) in cases.into_iter().enumerate() {
        for (n, elem_bytes) in [1, 4, 12].into_iter().enumerate() {
            let threads = [2, 3, 8][(n + k) % 3];
            check_every_way(turned(sides, gaps, elem_bytes), threads);
            check_every_way(slid(sides, gaps, elem_bytes), threads);
        }
    }
}

/// Rows that slide together and apart in rounds, blocks and shares, though nothing lies behind the last one.
#[test]
fn rows_slide_by_every_method() {
    let sides = [[2, 3], [5, 4], [7, 30], [41, 6], [1, 9], [9, 1]];
    for (way, sides) in rows::methods(3).flat_map(|way| sides.map(|sides| (way, sides))) {
        for gaps in (0..5).flat_map(|a| (0..5).map(move |b| [a, b])) {
            let p = turned(sides, gaps, 3);
            for mut plan in ways(&p, 3) {
                let stages = plan.phases.iter_mut().flat_map(|leg| &mut leg.stages);
                let mut moved = 0;
                let alike = |stage: &&mut Stage| matches!(stage.map, StageMap::Slide(slide) if slide.is_alike());
                for stage in stages.filter(alike) {
                    stage.implementation = rows::by(stage.map, 3 * stage.elems_per_unit, way);
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

/// Rounds of several threads, which move a mebibyte at least.
#[test]
fn long_slides_are_shared_out() {
    for gaps in [[0, 400], [400, 0], [10, 2000], [2000, 10], [100, 1000]] {
        for threads in [2, 3] {
            check(plan(&slid([3000, 400], gaps, 4), threads), threads);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn any_matrix(
        rows in 1usize..300, cols in 1usize..300, before in 0usize..200, after in 0usize..200,
        elem_bytes in prop::sample::select(&[1usize, 2, 3, 4, 8, 12, 16, 24][..]), threads in 1usize..6,
    ) {
        check_every_way(turned([rows, cols], [before, after], elem_bytes), threads);
        check_every_way(slid([rows, cols], [before, after], elem_bytes), threads);
    }
}

/// What the planner takes, by how much is in the way and how much may be kept.
#[test]
fn the_way_is_of_fewest_passes_within_the_cap() {
    use Method::{GapSwap, Rounds, SaveGaps, Shares, ThroughWorkspace};
    let dense = plan(&turned([2000, 3000], [0, 0], 4), 1);
    assert_eq!(methods(&dense), [], "a matrix without gaps is transposed as it is");
    let p = turned([2000, 3000], [7, 17], 4);
    let around = plan(&p, 1);
    let frame = methods(&around);
    assert_eq!((frame.first(), frame.last(), frame.len()), (Some(&SaveGaps), Some(&SaveGaps), 4));
    let shapes: Vec<String> = around.stages().map(|stage| stage.map.to_string()).collect();
    assert_eq!(shapes[1], "slide(2000x3000, pitch 3007 to 3000)");
    assert_eq!(shapes[shapes.len() - 2], "slide(3000x2000, pitch 2000 to 2017)");
    let least = around.saved_gap_bytes();
    assert_eq!(least, (leading(&p).saved_gap_len() * 4).next_multiple_of(16));
    let most = p.bytes() / 50 + (1 << 20);
    assert!(least > 0 && around.workspace_bytes > least && around.workspace_bytes <= most);
    let way = |p: Problem| methods(&plan(&p, 1));
    assert_eq!(way(p.with_cap(least))[0], SaveGaps);
    assert_eq!(way(p.with_cap(least - 1)), [GapSwap, GapSwap, Rounds]);
    // As much as the matrix lies in the gaps of both.
    assert_eq!(way(turned([2000, 3000], [5000, 4000], 4)), [GapSwap, GapSwap, Rounds]);
    assert_eq!(way(turned([100, 300], [5, 4], 4)), [ThroughWorkspace]);
    assert_eq!(way(slid([100, 300], [5, 4], 4)), [Shares]);
    assert_eq!(way(slid([100, 300], [5, 5], 4)), []);
}

#[test]
fn what_is_too_short_is_refused_and_left_as_it_is() {
    let p = turned([300, 200], [7, 9], 4);
    let executor = Executor::new(plan(&p.with_cap(1000), 1), 1).unwrap();
    let expected = p.span_bytes();
    let before = numbered(expected, 1);
    let mut data = before.clone();
    let mut workspace = Workspace::new(executor.workspace_bytes()).unwrap();
    let got = expected - 1;
    let error = executor.run_bytes(&mut data[..got], &mut workspace);
    assert_eq!(error, Err(RunError::Span { expected, got }));
    assert!(data == before);
    let all = ways(&p, 1);
    assert!(all.len() >= 3, "{all:?}");
    for plan in all {
        let executor = Executor::new(plan, 1).unwrap();
        let workspace = Workspace::new(executor.workspace_bytes().saturating_sub(8)).unwrap();
        check_short(&executor, workspace);
    }
}

/// Plans that were put together by hand move nothing that is not theirs.
#[test]
fn stages_of_other_problems_are_refused() {
    let (p, other) = (turned([300, 200], [7, 9], 4), turned([200, 300], [7, 9], 4));
    let refused = |plan: Plan| {
        let flaw = Executor::new(plan.clone(), 1).err();
        assert!(matches!(flaw, Some(RunError::Plan(_))), "{flaw:?}: {plan:#}");
    };
    let leading_refused = |plan: Plan| {
        let flaw = Executor::new(plan.clone(), 1).err();
        assert!(
            matches!(flaw, Some(RunError::Plan(InvalidPlan::Leading { .. }))),
            "{flaw:?}: {plan:#}"
        );
    };
    let dense = Problem::new(300, 200, 4).unwrap();
    let of = |problem: Problem, mut plan: Plan| {
        plan.problem = problem;
        plan
    };
    let mut nothing = plan(&p, 1);
    nothing.phases.clear();
    leading_refused(nothing);
    for plan in ways(&other, 1) {
        leading_refused(of(p, plan.clone()));
        leading_refused(of(slid([300, 200], [7, 9], 4), plan.clone()));
        refused(of(dense, plan.clone()));
        // Without any one of its stages, or with two of them in the other's place.
        for leg in 0..plan.phases.len() {
            for number in 0..plan.phases[leg].stages.len() {
                let frame = matches!(plan.phases[leg].route, Route::TOGETHER | Route::APART);
                let mut less = plan.clone();
                less.phases[leg].stages.remove(number);
                if frame {
                    leading_refused(less);
                }
                let mut longer = plan.clone();
                longer.phases[leg].stages[number].elems_per_unit = 2;
                refused(longer);
            }
        }
        let mut turned_about = plan.clone();
        turned_about.phases.reverse();
        if plan.phases.len() > 1 {
            leading_refused(turned_about);
        }
    }
    // In one pass where it lies, for pitches that differ.
    let equal = plan(&turned([300, 200], [109, 9], 4), 1);
    assert_eq!(methods(&equal), [Method::TileSwap]);
    leading_refused(of(p, equal));
    // Another device's geometry has nothing to compare with: the plan itself is refused.
    for p in [p, turned([5, 7], [4, 3], 4)] {
        for plan in ways(&p, 1).into_iter().chain(ways(&p.with_cap(0), 1)) {
            for (leg, number) in frame_stages(&plan) {
                let changed = |change: &dyn Fn(&mut Stage)| {
                    let mut plan = plan.clone();
                    let stage = &mut plan.phases[leg].stages[number];
                    stage.implementation.launch_config = LaunchConfig::new(Elsewhere);
                    change(stage);
                    plan
                };
                refused(changed(&|stage| stage.elems_per_unit = 2));
                let wrong: &[Method] = match plan.phases[leg].stages[number].map {
                    StageMap::TransposeRows(_) => {
                        &[Method::TileSwap, Method::SaveGaps, Method::Rounds]
                    }
                    StageMap::Gaps { .. } => &[Method::TileSwap, Method::GapSwap, Method::Rounds],
                    StageMap::SwapGaps { .. } => &[Method::SaveGaps, Method::Rounds],
                    _ => &[Method::SaveGaps, Method::GapSwap, Method::ThroughWorkspace],
                };
                for &method in wrong {
                    let plan = changed(&|stage| stage.implementation.method = method);
                    assert!(plan.check().is_err(), "{plan:#}");
                    refused(plan);
                }
            }
        }
    }
    // Stages around gaps are not for a problem without leading dimensions.
    for plan in ways(&p, 1) {
        refused(of(dense, plan));
    }
}
