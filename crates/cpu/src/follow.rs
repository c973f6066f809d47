//! Super-elements moved along their cycles: by workers that share nothing while they move ([`crate::cycles`]), or by swaps,
//! without flags and without scratch (P-IPT).
#![allow(unsafe_code)]

use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicUsize};

use turntile_simd::{self as simd, Byte, CopyJob};

use crate::cycle_walk::{
    CycleWalk, ScatterOrder, SegmentWalk, UnitMove, VisitedBits, kept, milestone,
};
use crate::lookahead::{BURST, Lookahead};
use crate::parallel;
use crate::shared::{SharedBytes, Worker};
use crate::source_map::SourceMap;

/// Bytes of milestones that are worth several threads.
const KEPT_BYTES: usize = 512 << 10;

/// Instances a thread from which the odd one does not matter.
const MANY_INSTANCES: usize = 4;

/// Super-elements along their cycles, on `parts` threads.
///
/// `flags`, zero, are a plane of marks for each part; `scratch` holds a super-element for each part, and at
/// least as many again when there are several.
pub fn follow_cycles(
    data: &mut [Byte],
    path: &SourceMap,
    flags: &[AtomicU32],
    parts: usize,
    scratch: &mut [Byte],
) {
    let positions = path.positions();
    let words = VisitedBits::words(positions);
    let planes: Vec<VisitedBits> = flags.chunks_exact(words).take(parts).map(VisitedBits).collect();
    let ranks = ScatterOrder::new(positions);
    let room = scratch.len() / path.unit_bytes();
    let shared = SharedBytes::with_kept(data, scratch);
    // No cycle leaves its instance: where all get as many, or nearly, threads take whole ones.
    let instances = path.instances();
    let own = instances.is_multiple_of(parts) || instances / parts >= MANY_INSTANCES;
    if !own {
        // The parts' own super-elements come after those of the milestones.
        let milestones = room - parts;
        let keepers = if milestones * path.unit_bytes() < KEPT_BYTES { 1 } else { parts };
        parallel::for_each_thread(0..keepers, &mut [], 0, |part, _| {
            let starts = parallel::share(milestones, keepers, part).filter_map(|rank| {
                let from = path.offset(milestone(path, ranks, rank)?);
                Some(UnitMove { from, to: kept(path, rank) })
            });
            // SAFETY: each milestone is read, and kept in a place of its own, by the one in whose share its rank lies. The
            // scope's end is before the next workers.
            let worker = unsafe { shared.worker() };
            run(&worker, path, starts);
        });
        let drawn = AtomicUsize::new(0);
        parallel::for_each_thread(planes.iter(), &mut [], 0, |&marks, _| {
            let drawn = &drawn;
            // SAFETY: a segment is drawn by one worker, which alone reads what is kept of its last milestone and the
            // positions between, and fills them. The scope's end is before the next workers.
            let worker = unsafe { shared.worker() };
            let segments = SegmentWalk { path, ranks, milestones, drawn, marks, hole: None };
            run(&worker, path, segments);
        });
    }
    parallel::for_each_thread(0..parts, &mut [], 0, |part, _| {
        // Of instances, or of positions.
        let each = if own { positions / instances } else { 1 };
        let Range { start, end } = parallel::share(positions / each, parts, part);
        let share = start * each..end * each;
        // SAFETY: a cycle without a milestone belongs to the one worker in whose share its first position lies, or all
        // of its positions, and the last super-elements that are kept are each a worker's own.
        let worker = unsafe { shared.worker() };
        let cycles = CycleWalk {
            path,
            ranks: (!own).then_some(ranks),
            all_marks: if own { &planes[part..=part] } else { &planes },
            marks: planes[part],
            at: share.start,
            share,
            kept: kept(path, room - parts + part),
            hole: None,
        };
        run(&worker, path, cycles);
    });
}

/// Makes moves.
fn run(worker: &Worker, path: &SourceMap, moves: impl Iterator<Item = UnitMove>) {
    let bytes = path.unit_bytes();
    let mut queue = Lookahead::new(moves, bytes);
    queue.first().for_each(|from| ask(worker, path, from));
    let mut transfers = [CopyJob::default(); BURST];
    loop {
        let burst = queue.burst();
        if burst.is_empty() {
            return;
        }
        let moves = burst.iter().map(|&(UnitMove { from, to }, ahead)| [from, to, ahead]);
        worker.copy(moves, bytes, &mut transfers);
    }
}

/// Asks for the lines of a super-element that will be read soon.
fn ask(worker: &Worker, path: &SourceMap, place: usize) {
    simd::prefetch_run(worker.address(place), path.unit_bytes());
}

/// Every cycle is moved by the thread whose share its leader lies in: contents are swapped from hole to hole.
pub fn rotate_cycles(data: &mut [Byte], path: &SourceMap, parts: usize) {
    let shared = SharedBytes::new(data);
    parallel::for_each_thread(0..parts, &mut [], 0, |part, _| {
        // SAFETY: a cycle has one leader, and that lies in one share.
        let worker = unsafe { shared.worker() };
        for leader in parallel::share(path.positions(), parts, part) {
            if !is_leader(leader, path) {
                continue;
            }
            let (mut hole, mut source) = (leader, path.pred(leader));
            while source != leader {
                worker.swap(path.offset(hole), path.offset(source), path.unit_bytes());
                (hole, source) = (source, path.pred(source));
            }
        }
    });
}

/// Whether `k` is the leader, the smallest position, of its cycle (Windley 1959).
///
/// Walks until a smaller position turns up or the cycle closes: no memory, up to a cycle's length
/// of steps (thesis section 4.5).
fn is_leader(k: usize, path: &SourceMap) -> bool {
    let mut at = path.pred(k);
    while at > k {
        at = path.pred(at);
    }
    at == k
}
