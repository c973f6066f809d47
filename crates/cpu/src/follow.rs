//! Super-elements moved along their cycles, by workers that share nothing while they move ([`crate::cycles`]).
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicU32, AtomicUsize};

use turntile_simd::{self as simd, Byte, LINE, Transfer};

use crate::cycles::{Cycles, Marks, Move, Ranks, Segments, kept, milestone};
use crate::parts;
use crate::path::Path;
use crate::queue::{BURST, Queue};
use crate::shared::{Shared, Worker};

/// Bytes of milestones that are worth several threads.
const KEPT_BYTES: usize = 512 << 10;

/// Super-elements along their cycles, on `parts` threads.
///
/// `flags`, zero, are a plane of marks for each part; `scratch` holds a super-element for each part, and at
/// least as many again when there are several.
pub fn follow_cycles(
    data: &mut [Byte],
    path: Path,
    flags: &[AtomicU32],
    parts: usize,
    scratch: &mut [Byte],
) {
    let positions = path.positions();
    let words = Marks::words(positions);
    let planes: Vec<Marks> = flags.chunks_exact(words).take(parts).map(Marks).collect();
    let ranks = Ranks::new(positions);
    let room = scratch.len() / path.unit_bytes();
    let shared = Shared::with_kept(data, scratch);
    if parts > 1 {
        // The parts' own super-elements come after those of the milestones.
        let milestones = room - parts;
        let keepers = if milestones * path.unit_bytes() < KEPT_BYTES { 1 } else { parts };
        parts::run_on(0..keepers, &mut [], 0, |part, _| {
            let starts = parts::share(milestones, keepers, part).filter_map(|rank| {
                let from = path.offset(milestone(&path, ranks, rank)?);
                Some(Move { from, to: kept(&path, rank) })
            });
            // SAFETY: each milestone is read, and kept in a place of its own, by the one in whose share its rank lies. The
            // scope's end is before the next workers.
            let worker = unsafe { shared.worker() };
            run(&worker, &path, starts);
        });
        let drawn = AtomicUsize::new(0);
        parts::run_on(planes.iter(), &mut [], 0, |&marks, _| {
            let drawn = &drawn;
            // SAFETY: a segment is drawn by one worker, which alone reads what is kept of its last milestone and the
            // positions between, and fills them. The scope's end is before the next workers.
            let worker = unsafe { shared.worker() };
            let segments = Segments { path: &path, ranks, milestones, drawn, marks, hole: None };
            run(&worker, &path, segments);
        });
    }
    parts::run_on(0..parts, &mut [], 0, |part, _| {
        let share = parts::share(positions, parts, part);
        // SAFETY: a cycle without a milestone belongs to the one worker in whose share its first position lies, and
        // the last super-elements that are kept are each a worker's own.
        let worker = unsafe { shared.worker() };
        let cycles = Cycles {
            path: &path,
            ranks: (parts > 1).then_some(ranks),
            all_marks: &planes,
            marks: planes[part],
            at: share.start,
            share,
            kept: kept(&path, room - parts + part),
            hole: None,
        };
        run(&worker, &path, cycles);
    });
}

/// Makes moves.
fn run(worker: &Worker, path: &Path, moves: impl Iterator<Item = Move>) {
    let bytes = path.unit_bytes();
    let mut queue = Queue::new(moves, bytes);
    queue.first().for_each(|from| ask(worker, path, from));
    let mut transfers = [Transfer::default(); BURST];
    loop {
        let burst = queue.burst();
        if burst.is_empty() {
            return;
        }
        let moves = burst.iter().map(|&(Move { from, to }, ahead)| [from, to, ahead]);
        worker.copy(moves, bytes, &mut transfers);
    }
}

/// Asks for the lines of a super-element that will be read soon.
fn ask(worker: &Worker, path: &Path, place: usize) {
    let start = worker.address(place);
    for at in (0..path.unit_bytes()).step_by(LINE) {
        simd::prefetch(start.wrapping_add(at));
    }
}
