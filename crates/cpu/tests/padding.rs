//! Padding and unpadding by every method: rows and blocks of every length, too few threads and too many.

use proptest::prelude::*;
use turntile_cpu::way::{HostWay, Mover};
use turntile_cpu::{Executor, Host, RunError, Workspace, oracle};
use turntile_perm::Padding;
use turntile_plan::{
    Device, Direction, Flaw, Geometry, Method, Offer, Plan, Request, StageShape, Want,
};

const BOTH: [Direction; 2] = [Direction::Forward, Direction::Backward];

fn offer(shape: &StageShape, elem_bytes: usize, threads: usize) -> Offer {
    let (alignment, cap) = (16, usize::MAX);
    let request = Request { elem_bytes, alignment, out_of_place: false, cap, want: Want::Any };
    Host::new(threads).best(shape, &request).unwrap()
}

/// The same rows moved by `mover`.
fn by(offer: &Offer, mover: Mover) -> Offer {
    let way: &HostWay = offer.geometry.get().unwrap();
    let way = way.with_rows_by(mover).unwrap();
    let (method, workspace_bytes) = (way.method(), way.needs().bytes());
    Offer { method, geometry: Geometry::new(way), workspace_bytes, seconds: offer.seconds }
}

/// Every element of the rows is where the closed form has it; gaps may hold anything.
fn check(shape: StageShape, offer: Offer, elem_bytes: usize, threads: usize) {
    let (padding, direction) = shape.padding().unwrap();
    let ends = |k| match direction {
        Direction::Forward => [k, padding.padded(k)],
        Direction::Backward => [padding.padded(k), k],
    };
    let elements = oracle::numbered(padding.len(), elem_bytes);
    let mut data = vec![0x99; padding.span() * elem_bytes];
    let element = |at: usize| at * elem_bytes..(at + 1) * elem_bytes;
    (0..padding.len())
        .for_each(|k| data[element(ends(k)[0])].copy_from_slice(&elements[element(k)]));
    let way = offer.way();
    let executor = Executor::of_stage(shape, offer, elem_bytes, threads).unwrap();
    let mut workspace = Workspace::new(executor.workspace_bytes()).unwrap();
    workspace.poison(0xC3);
    executor.run_bytes(&mut data, &mut workspace).unwrap();
    let right = (0..padding.len()).all(|k| data[element(ends(k)[1])] == elements[element(k)]);
    assert!(right, "{shape} {way} of {elem_bytes}-byte elements on {threads} threads");
}

fn movers() -> impl Iterator<Item = Mover> {
    let slides = [1, 3, 16, 50, 1000].map(Mover::Slide);
    let rows = [1, 2, 3, 7].map(Mover::Rows);
    slides.into_iter().chain(rows).chain([Mover::Shares])
}

#[test]
fn all_small_shapes() {
    for (rows, cols) in (1..12).flat_map(|rows| (1..12).map(move |cols| (rows, cols))) {
        for (gap, direction) in [1, 2, 5].into_iter().flat_map(|gap| BOTH.map(|way| (gap, way))) {
            let padding = Padding::new(rows, cols, cols + gap).unwrap();
            let shape = StageShape::Pad { padding, direction };
            for elem_bytes in [1, 3, 4] {
                for threads in [1, 3] {
                    let offer = offer(&shape, elem_bytes, threads);
                    movers().for_each(|mover| check(shape, by(&offer, mover), elem_bytes, 2));
                    check(shape, offer, elem_bytes, 1);
                }
            }
        }
    }
}

#[test]
fn empty_steps_and_blocks_are_refused() {
    let padding = Padding::new(7, 5, 7).unwrap();
    let offer = offer(&StageShape::Pad { padding, direction: Direction::Forward }, 4, 1);
    let way: &HostWay = offer.geometry.get().unwrap();
    let wrong = [Mover::Slide(0), Mover::Rows(0), Mover::Barrier];
    wrong.into_iter().for_each(|mover| assert_eq!(way.with_rows_by(mover), None));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Many threads on few cores: blocks are put aside between every two steps.
    #[test]
    fn any_shape(
        rows in 2usize..300, cols in 2usize..300, gap in 1usize..300, threads in 1usize..9,
        elem_bytes in prop::sample::select(&[1usize, 2, 4, 8, 12][..]),
        block in 1usize..5000, least in 1usize..40, back: bool,
    ) {
        let padding = Padding::new(rows, cols, cols + gap).unwrap();
        let shape = StageShape::Pad { padding, direction: BOTH[usize::from(back)] };
        let offer = offer(&shape, elem_bytes, threads);
        for mover in [Mover::Slide(block), Mover::Rows(least), Mover::Shares] {
            check(shape, by(&offer, mover), elem_bytes, threads);
        }
    }
}

/// What lies in the gaps must never become part of a matrix, whoever put the stages together.
#[test]
fn plans_have_no_rows_with_gaps() {
    let padding = Padding::new(7, 5, 7).unwrap();
    for direction in BOTH {
        let shape = StageShape::Pad { padding, direction };
        let plan = Plan::of_stage("any", shape, offer(&shape, 4, 1), 4).unwrap();
        assert!(matches!(plan.check(), Err(Flaw::Leading { .. })), "{plan:#}");
        let executor = Executor::of_stage(shape, offer(&shape, 4, 1), 4, 1).unwrap();
        let mut workspace = Workspace::new(executor.workspace_bytes()).unwrap();
        // Rows and gaps but for the last one.
        let (expected, got) = (47 * 4, 35 * 4);
        let error = executor.run_bytes(&mut vec![0; got], &mut workspace);
        assert_eq!(error, Err(RunError::Length { expected, got }));
        let wrong = Offer { method: Method::TileSwap, ..offer(&shape, 4, 1) };
        assert!(Executor::of_stage(shape, wrong, 4, 1).is_err());
    }
}
