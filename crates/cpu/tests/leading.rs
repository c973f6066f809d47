//! Matrices with leading dimensions in every way, against plain loops; every byte that is none of the source or the
//! result must be as it was.

use proptest::prelude::*;
use turntile_cpu::{Host, LeadingExecutor, RunError, Workspace, oracle};
use turntile_plan::{
    Direction, Flaw, LeadingPlan, LeadingProblem, LeadingWay, Planner, StageShape,
};

/// Elements behind the span that must stay as they are.
const GUARD: usize = 3;

/// Element by element: the matrix moved within a copy of the data, and which elements are of its source.
fn moved(p: &LeadingProblem, data: &[u8]) -> (Vec<u8>, Vec<bool>) {
    let (source, result, e) = (p.leading().source(), p.leading().result(), p.elem_bytes());
    let (mut want, mut of_source) = (data.to_vec(), vec![false; data.len() / e]);
    for i in 0..source.rows() {
        for j in 0..source.cols() {
            let from = i * source.pitch() + j;
            let turned = p.leading().is_transposed();
            let to = if turned { j * result.pitch() + i } else { i * result.pitch() + j };
            want[to * e..][..e].copy_from_slice(&data[from * e..][..e]);
            of_source[from] = true;
        }
    }
    (want, of_source)
}

fn is_of_result(p: &LeadingProblem, at: usize) -> bool {
    let result = p.leading().result();
    result.pitch() > 0 && at / result.pitch() < result.rows() && at % result.pitch() < result.cols()
}

/// Runs `plan` with exactly the workspace that it says, poisoned.
fn check(plan: LeadingPlan, threads: usize) {
    let (p, told) = (plan.problem, plan.workspace_bytes);
    let e = p.elem_bytes();
    let mut data = oracle::numbered(p.leading().span() + GUARD, e);
    let before = data.clone();
    let (want, of_source) = moved(&p, &data);
    let executor = LeadingExecutor::new(plan, threads).unwrap();
    let plan = executor.plan();
    assert!(executor.workspace_bytes() <= told, "{plan:#}: {} bytes", executor.workspace_bytes());
    let mut workspace = Workspace::new(told).unwrap();
    workspace.poison(0x5A);
    executor.run_bytes(&mut data, &mut workspace).unwrap();
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

fn turned(sides: [usize; 2], gaps: [usize; 2], elem_bytes: usize) -> LeadingProblem {
    let lds = [sides[1] + gaps[0], sides[0] + gaps[1]];
    LeadingProblem::transposed(sides, lds, elem_bytes).unwrap()
}

fn slid(sides: [usize; 2], gaps: [usize; 2], elem_bytes: usize) -> LeadingProblem {
    let lds = gaps.map(|gap| sides[1] + gap);
    LeadingProblem::slid(sides, lds, elem_bytes).unwrap()
}

/// Every way there is, within the default cap and without workspace.
fn check_every_way(p: LeadingProblem, threads: usize) {
    let planner = Planner::new(Host::new(threads));
    for p in [p, p.with_cap(0)] {
        let best = planner.plan_leading(&p).unwrap();
        let ways = planner.leading_ways(&p).unwrap();
        assert!(ways.contains(&best), "{best:#}");
        ways.into_iter().for_each(|plan| check(plan, threads));
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

/// Equal pitches of every width, in one pass.
#[test]
fn equal_pitches_go_in_one_pass() {
    for (rows, cols) in (1..20).flat_map(|rows| (1..20).map(move |cols| (rows, cols))) {
        for pitch in rows.max(cols)..rows.max(cols) + 4 {
            let p = LeadingProblem::transposed([rows, cols], [pitch; 2], 4).unwrap();
            let plan = Planner::new(Host::new(2)).plan_leading(&p.with_cap(0)).unwrap();
            assert!(plan.passes() <= 1 && plan.workspace_bytes == 0, "{plan}");
            check(plan, 2);
        }
    }
}

/// As large as makes tiles, blocks, rounds and several threads.
#[test]
fn matrices_that_threads_share() {
    for (sides, gaps) in [
        ([700, 700], [3, 3]),
        ([700, 500], [260, 60]),
        ([300, 900], [700, 100]),
        ([500, 700], [1, 2]),
        ([600, 800], [16, 500]),
        ([90_000, 7], [1, 1]),
        ([7, 90_000], [5, 9]),
        ([1, 200_000], [3, 1]),
        ([200_000, 1], [3, 0]),
    ] {
        for elem_bytes in [1, 4, 12] {
            for threads in [2, 3, 8] {
                check_every_way(turned(sides, gaps, elem_bytes), threads);
                check_every_way(slid(sides, gaps, elem_bytes), threads);
            }
        }
    }
}

/// Rounds of several threads, which move a mebibyte at least.
#[test]
fn long_slides_are_shared_out() {
    for gaps in [[0, 400], [400, 0], [10, 2000], [2000, 10], [100, 1000]] {
        for threads in [2, 3] {
            check(slid_plan([3000, 400], gaps, threads), threads);
        }
    }
}

fn slid_plan(sides: [usize; 2], gaps: [usize; 2], threads: usize) -> LeadingPlan {
    Planner::new(Host::new(threads)).plan_leading(&slid(sides, gaps, 4)).unwrap()
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

/// What the planner takes, by how much is in the way and how much may be set aside.
#[test]
fn the_way_is_of_fewest_passes_within_the_cap() {
    let planner = Planner::new(Host::new(1));
    let way = |p: LeadingProblem| planner.plan_leading(&p).unwrap().way;
    let p = turned([2000, 3000], [0, 0], 4);
    let LeadingWay::Around { together: None, apart: None, kept: 0, .. } = way(p) else {
        panic!("a matrix without gaps is transposed as it is")
    };
    let p = turned([2000, 3000], [8, 16], 4);
    let LeadingWay::Around { together: Some(first), apart: Some(last), kept, .. } = way(p) else {
        panic!("small gaps are set aside")
    };
    assert_eq!(kept, p.leading().kept_len());
    let way_of = |stage: &StageShape| stage.padding().map(|(_, direction)| direction);
    assert_eq!(way_of(&first.shape), Some(Direction::Backward));
    assert_eq!(way_of(&last.shape), Some(Direction::Forward));
    let plan = planner.plan_leading(&p).unwrap();
    let least = plan.kept_bytes();
    assert!(
        least > 0
            && plan.workspace_bytes > least
            && plan.workspace_bytes <= p.bytes() / 50 + (1 << 20)
    );
    assert!(matches!(way(p.with_cap(least)), LeadingWay::Around { .. }));
    assert!(matches!(way(p.with_cap(least - 8)), LeadingWay::Exchanged { .. }));
    // As much as the matrix lies in the gaps of both.
    let wide = turned([2000, 3000], [5000, 4000], 4);
    assert!(matches!(way(wide), LeadingWay::Exchanged { .. }));
    assert!(matches!(way(turned([100, 300], [5, 4], 4)), LeadingWay::Buffered));
    assert!(matches!(way(slid([100, 300], [5, 4], 4)), LeadingWay::Slid));
    assert!(matches!(way(slid([100, 300], [5, 5], 4)), LeadingWay::Nothing));
}

#[test]
fn what_is_too_short_is_refused_and_left_as_it_is() {
    let p = turned([300, 200], [7, 9], 4);
    let plan = Planner::new(Host::new(1)).plan_leading(&p.with_cap(1000)).unwrap();
    let need = plan.workspace_bytes;
    let executor = LeadingExecutor::new(plan, 1).unwrap();
    let expected = p.span_bytes();
    let before = oracle::numbered(expected, 1);
    let mut data = before.clone();
    let mut workspace = Workspace::new(need).unwrap();
    let got = expected - 1;
    let error = executor.run_bytes(&mut data[..got], &mut workspace);
    assert_eq!(error, Err(RunError::Span { expected, got }));
    let buffered = Planner::new(Host::new(1)).leading_ways(&p).unwrap().swap_remove(0);
    let executor = LeadingExecutor::new(buffered, 1).unwrap();
    let mut small = Workspace::new(800).unwrap();
    let error = executor.run_bytes(&mut data, &mut small);
    assert_eq!(error, Err(RunError::Workspace { need: 300 * 200 * 4, have: 800 }));
    assert!(data == before);
}

/// Plans that were put together by hand move nothing that is not theirs.
#[test]
fn ways_of_other_problems_are_refused() {
    let planner = Planner::new(Host::new(1));
    let (p, other) = (turned([300, 200], [7, 9], 4), turned([200, 300], [7, 9], 4));
    let refused = |way: LeadingWay, problem: LeadingProblem| {
        let plan = LeadingPlan { way, ..planner.plan_leading(&problem).unwrap() };
        let flaw = LeadingExecutor::new(plan, 1).err();
        assert!(matches!(flaw, Some(RunError::Plan(Flaw::Leading { .. }))), "{flaw:?}");
    };
    refused(LeadingWay::Nothing, p);
    refused(LeadingWay::Turned, p);
    refused(LeadingWay::Slid, p);
    refused(LeadingWay::Buffered, slid([300, 200], [7, 9], 4));
    for plan in planner.leading_ways(&other).unwrap() {
        if plan.dense().is_some() {
            refused(plan.way.clone(), p);
        }
        if let LeadingWay::Around { together, dense, apart, kept } = plan.way {
            let around = |together, apart, kept| {
                refused(LeadingWay::Around { together, dense: dense.clone(), apart, kept }, other);
            };
            around(None, apart.clone(), kept);
            around(together.clone(), None, kept);
            around(apart.clone(), together.clone(), kept);
            around(together, apart, kept - 1);
        }
    }
}
