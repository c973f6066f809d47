//! Follows bytes through launches.

mod offsets;

pub use offsets::{exhaustive, offsets};
use turntile_cuda::args::SecondPointer;
use turntile_cuda::launch::{CheckedLaunch, Launch, widest_word};
use turntile_cuda::lower::lower;
use turntile_cuda::strategy::Strategy;
use turntile_cuda::{BufferOffset, LaunchList, Work};
use turntile_plan::{Plan, StageMap};

use crate::cases::{ELEMENTS, alignments, at};
use crate::replay;

/// Checks that `calls`, run in order, move every byte of `shape` to its destination.
pub fn agrees(calls: &[CheckedLaunch], shape: &StageMap, elem: usize, alignment: usize) {
    let launches: Vec<Launch> = calls.iter().map(|call| **call).collect();
    for offset in offsets(shape.spans().0 * elem) {
        let want = shape.dest(offset / elem) * elem + offset % elem;
        let mut at = offset as u64;
        for call in &launches {
            at = replay::dest(call, alignment as u64, at).unwrap_or_else(|why| {
                panic!("{shape}, {elem} bytes, {alignment}: {why:?} {call:?}")
            });
        }
        assert_eq!(
            at, want as u64,
            "{shape}, {elem} bytes at {alignment}, byte {offset}: {calls:?}"
        );
    }
}

/// Lowers `shape` by each strategy and follows the launches. Returns how many lowered; tests
/// compare it, so that a new rejection is noticed.
pub fn follow(shape: StageMap, ways: &[Strategy]) -> usize {
    let mut lowered = 0;
    for &way in ways {
        for elem in ELEMENTS {
            for alignment in alignments(elem) {
                if let Ok(calls) = lower(&shape, way, at(elem, alignment)) {
                    agrees(&calls, &shape, elem, alignment);
                    lowered += 1;
                }
            }
        }
    }
    lowered
}

/// Returns the memory of an address, and the offset from its start.
fn memory(spot: BufferOffset) -> (fn(usize) -> BufferOffset, usize) {
    match spot {
        BufferOffset::Data(bytes) => (BufferOffset::Data, bytes),
        BufferOffset::Source(bytes) => (BufferOffset::Source, bytes),
        BufferOffset::Workspace(bytes) => (BufferOffset::Workspace, bytes),
    }
}

/// Returns, per launch of a plan, the number of bytes that its stage covers.
pub fn reaches(plan: &Plan) -> impl Iterator<Item = usize> {
    plan.stages().flat_map(|stage| {
        let launches: &LaunchList = stage.implementation.launch_config.get().expect("a GPU's");
        let (read, written) = stage.map.spans();
        let reach = read.max(written) * stage.elems_per_unit * plan.problem.itemsize();
        launches.calls().iter().map(move |_| reach)
    })
}

/// Returns where a plan's launches move the byte at `offset` of the matrix or of the source. Each
/// launch has its own addresses.
pub fn through(plan: &Plan, work: &Work, offset: usize) -> replay::Answer<BufferOffset> {
    let mut at = if work.is_out_of_place() {
        BufferOffset::Source(offset)
    } else {
        BufferOffset::Data(offset)
    };
    let steps = work.calls().iter().zip(work.spots()).zip(reaches(plan));
    for ((call, &[first, second]), reach) in steps {
        let from = if call.params.second() == Some(SecondPointer::Source) { second } else { first };
        let elsewhere = from != first;
        let ((to_memory, to), (from_memory, from)) = (memory(first), memory(from));
        let (lies_in, place) = memory(at);
        // The launch reads other memory, or does not reach the byte.
        let read = |place: &usize| lies_in(0) == from_memory(0) && (elsewhere || *place < reach);
        let Some(place) = place.checked_sub(from).filter(read) else { continue };
        let aligned = widest_word(&[work.alignment(), from, to]) as u64;
        if let Some(moved) = replay::moved(call, aligned, place as u64)? {
            at = to_memory(to + moved as usize);
        }
    }
    Ok(at)
}
