//! Rows moved from one pitch to another by every method: rounds and blocks of every length, too few threads and too many.

use proptest::prelude::*;
use turntile_cpu::way::{HostWay, Mover};
use turntile_cpu::{Executor, Host, RunError, Workspace, oracle};
use turntile_perm::Slide;
use turntile_plan::{Device, Flaw, Geometry, Method, Offer, Plan, Request, StageShape, Want};

fn offer(slide: Slide, elem_bytes: usize, threads: usize) -> Offer {
    let (alignment, cap) = (16, usize::MAX);
    let request = Request { elem_bytes, alignment, out_of_place: false, cap, want: Want::Any };
    Host::new(threads).best(&slide.into(), &request).unwrap()
}

/// The same rows moved by `mover`.
fn by(offer: &Offer, mover: Mover) -> Offer {
    let way: &HostWay = offer.geometry.get().unwrap();
    let way = way.with_rows_by(mover).unwrap();
    let (method, workspace_bytes) = (way.method(), way.needs().bytes());
    Offer::new(method, Geometry::new(way), workspace_bytes, offer.seconds)
}

/// Every element of the rows is where the closed form has it, and nothing else is touched; places that rows left may
/// hold anything.
fn check(slide: Slide, offer: Offer, elem_bytes: usize, threads: usize) {
    let before = oracle::numbered(slide.span(), elem_bytes);
    let way = offer.way();
    let executor = Executor::of_stage(slide.into(), offer, elem_bytes, threads).unwrap();
    let mut workspace = Workspace::new(executor.workspace_bytes()).unwrap();
    workspace.poison(0xC3);
    let mut data = before.clone();
    executor.run_bytes(&mut data, &mut workspace).unwrap();
    let element = |at: usize| at * elem_bytes..(at + 1) * elem_bytes;
    for at in 0..slide.span() {
        let from = match (slide.to().index(at), slide.from().index(at)) {
            (Some(k), _) => slide.from().offset(k),
            (None, Some(_)) => continue,
            (None, None) => at,
        };
        let right = data[element(at)] == before[element(from)];
        assert!(right, "{slide:?} {way} of {elem_bytes}-byte elements on {threads} threads: {at}");
    }
}

fn movers() -> impl Iterator<Item = Mover> {
    let slides = [1, 3, 16, 50, 1000].map(Mover::Blocks);
    let rows = [1, 2, 3, 7].map(Mover::Rounds);
    slides.into_iter().chain(rows).chain([Mover::Shares])
}

#[test]
fn all_small_slides() {
    for (rows, cols) in (1..10).flat_map(|rows| (1..7).map(move |cols| (rows, cols))) {
        for (a, b) in (0..7).flat_map(|a| (0..7).map(move |b| (a, b))) {
            let slide = Slide::new(rows, cols, cols + a, cols + b).unwrap();
            for (elem_bytes, threads) in [(1, 1), (3, 2), (4, 3)] {
                let offer = offer(slide, elem_bytes, threads);
                movers().for_each(|mover| check(slide, by(&offer, mover), elem_bytes, threads));
                check(slide, offer, elem_bytes, 1);
            }
        }
    }
}

#[test]
fn empty_rounds_and_blocks_are_refused() {
    let offer = offer(Slide::new(7, 5, 5, 7).unwrap(), 4, 1);
    let way: &HostWay = offer.geometry.get().unwrap();
    let wrong = [Mover::Blocks(0), Mover::Rounds(0), Mover::Barrier];
    wrong.into_iter().for_each(|mover| assert_eq!(way.with_rows_by(mover), None));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Many threads on few cores: blocks are put aside between every two steps.
    #[test]
    fn any_slide(
        rows in 1usize..300, cols in 1usize..300, a in 0usize..300, b in 0usize..300,
        threads in 1usize..9, elem_bytes in prop::sample::select(&[1usize, 2, 4, 8, 12][..]),
        block in 1usize..5000, least in 1usize..40,
    ) {
        for (a, b) in [(0, b), (a, 0), (a, b)] {
            let slide = Slide::new(rows, cols, cols + a, cols + b).unwrap();
            let offer = offer(slide, elem_bytes, threads);
            for mover in [Mover::Blocks(block), Mover::Rounds(least), Mover::Shares] {
                check(slide, by(&offer, mover), elem_bytes, threads);
            }
        }
    }
}

/// What lies in the gaps must never become part of a matrix, whoever put the stages together.
#[test]
fn plans_have_no_rows_with_gaps() {
    let apart = Slide::new(7, 5, 5, 7).unwrap();
    for slide in [apart, apart.inverse()] {
        let shape = StageShape::Slide(slide);
        let plan = Plan::of_stage("any", shape, offer(slide, 4, 1), 4).unwrap();
        assert!(matches!(plan.check(), Err(Flaw::Leading { .. })), "{plan:#}");
        let executor = Executor::of_stage(shape, offer(slide, 4, 1), 4, 1).unwrap();
        let mut workspace = Workspace::new(executor.workspace_bytes()).unwrap();
        // Rows and gaps but for the last one.
        let (expected, got) = (47 * 4, 35 * 4);
        let error = executor.run_bytes(&mut vec![0; got], &mut workspace);
        assert_eq!(error, Err(RunError::Length { expected, got }));
        let mut wrong = offer(slide, 4, 1);
        wrong.method = Method::TileSwap;
        assert!(Executor::of_stage(shape, wrong, 4, 1).is_err());
    }
}
