//! Cycle following: units move in segments between splitters, by workers that do not wait for each
//! other (`cycle_walk`), or by swaps, without flags and scratch (P-IPT). Long runs move piece by
//! piece. Rows of tiles move between two pitches along chains.
#![allow(unsafe_code)]

use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicUsize};

use turntile_perm::TileRows;
use turntile_simd::{self as simd, Byte, CopyJob};

use crate::cycle_walk::{
    CycleWalk, ScatterOrder, SegmentWalk, UnitMove, VisitedBits, saved_offset, splitter,
};
use crate::lookahead::{BURST, Lookahead};
use crate::parallel::{self, WorkCounter};
use crate::shared::{SharedBytes, Worker};
use crate::source_map::SourceMap;

/// Minimum total bytes of splitters for which several threads save them.
const PARALLEL_SAVE_BYTES: usize = 512 << 10;

/// Minimum number of instances per thread for which threads process whole instances, even if
/// unevenly divided.
const MANY_INSTANCES: usize = 4;

/// Moves units along their cycles, on `threads` threads.
///
/// `flags`, all zero, are a bitmap per thread. `scratch` has at least one unit per thread, or two
/// if there are several threads.
pub fn follow_cycles(
    data: &mut [Byte],
    source_map: &SourceMap,
    flags: &[AtomicU32],
    threads: usize,
    scratch: &mut [Byte],
) {
    let positions = source_map.positions();
    let words = VisitedBits::words(positions);
    let bitmaps: Vec<VisitedBits> =
        flags.chunks_exact(words).take(threads).map(VisitedBits).collect();
    let ranks = ScatterOrder::new(positions);
    let room = scratch.len() / source_map.unit_bytes();
    let shared = SharedBytes::with_side_buffer(data, scratch);
    // No cycle leaves its instance. If instances divide evenly, or nearly, threads process whole
    // ones.
    let instances = source_map.instances();
    let by_instance = instances.is_multiple_of(threads) || instances / threads >= MANY_INSTANCES;
    if !by_instance {
        // In scratch, the threads' own units follow those of the splitters.
        let splitters = room - threads;
        let savers =
            if splitters * source_map.unit_bytes() < PARALLEL_SAVE_BYTES { 1 } else { threads };
        parallel::for_each_thread(0..savers, &mut [], 0, |thread, _| {
            let starts = parallel::split_evenly(splitters, savers, thread).filter_map(|rank| {
                let from = source_map.offset(splitter(source_map, ranks, rank)?);
                Some(UnitMove { from, to: saved_offset(source_map, rank) })
            });
            // SAFETY: each splitter is read, and saved at its own offset, by the worker whose share
            // contains its rank. The scope ends before the next workers start.
            let worker = unsafe { shared.worker() };
            run(&worker, source_map.unit_bytes(), starts);
        });
        let claimed = AtomicUsize::new(0);
        parallel::for_each_thread(bitmaps.iter(), &mut [], 0, |&visited, _| {
            let claimed = &claimed;
            // SAFETY: a segment is claimed by one worker. Only that worker reads the saved content
            // of the segment's last splitter, and only it reads and fills the positions in between.
            // The scope ends before the next workers start.
            let worker = unsafe { shared.worker() };
            let segments =
                SegmentWalk { source_map, ranks, splitters, claimed, visited, hole: None };
            run(&worker, source_map.unit_bytes(), segments);
        });
    }
    parallel::for_each_thread(0..threads, &mut [], 0, |thread, _| {
        // Shares are counted in instances, or in positions.
        let each = if by_instance { positions / instances } else { 1 };
        let Range { start, end } = parallel::split_evenly(positions / each, threads, thread);
        let share = start * each..end * each;
        // SAFETY: a cycle without a splitter is moved by one worker: the one whose share contains
        // its position of lowest rank, or all its positions. Each worker has its own saved unit at
        // the end of the side buffer.
        let worker = unsafe { shared.worker() };
        let cycles = CycleWalk {
            source_map,
            ranks: (!by_instance).then_some(ranks),
            all_visited: if by_instance { &bitmaps[thread..=thread] } else { &bitmaps },
            visited: bitmaps[thread],
            at: share.start,
            share,
            saved: saved_offset(source_map, room - threads + thread),
            hole: None,
        };
        run(&worker, source_map.unit_bytes(), cycles);
    });
}

/// Moves long units along their cycles, piece by piece, on `threads` threads that share the pieces.
///
/// Pieces have `piece` bytes, the last one of a unit at most that. All units of an instance are
/// permuted within one piece before the next, so that only a piece has to be saved per thread, in
/// `scratch`.
pub fn move_pieces(
    data: &mut [Byte],
    source_map: &SourceMap,
    piece: usize,
    threads: usize,
    scratch: &mut [Byte],
) {
    let (unit_bytes, instances) = (source_map.unit_bytes(), source_map.instances());
    let units = source_map.positions() / instances;
    let flags: Vec<AtomicU32> = (0..VisitedBits::words(units)).map(|_| AtomicU32::new(0)).collect();
    let (visited, saved) = (VisitedBits(&flags), saved_offset(source_map, 0));
    let cycles = CycleWalk {
        source_map,
        ranks: None,
        all_visited: &[visited],
        visited,
        share: 0..units,
        at: 0,
        saved,
        hole: None,
    };
    let moves: Vec<UnitMove> = cycles.collect();
    let whole = unit_bytes / piece;
    // Number of the first piece, pieces per unit and bytes of a piece: the whole ones, and the rest.
    let parts = [(0, whole, piece), (whole, 1, unit_bytes % piece)];
    let counters = parts.map(|(_, each, bytes)| {
        WorkCounter::new(if bytes > 0 { instances * each } else { 0 }, threads)
    });
    let shared = SharedBytes::with_side_buffer(data, scratch);
    parallel::for_each_thread(0..threads, &mut [], 0, |thread, _| {
        // SAFETY: the units' pieces at one offset in an instance are claimed by one thread, and no
        // move leaves them. Each thread has its own saved piece.
        let worker = unsafe { shared.worker() };
        for ((first, each, bytes), counter) in parts.into_iter().zip(&counters) {
            while let Some(claimed) = counter.claim() {
                let moves = claimed.flat_map(|number| {
                    let start =
                        number / each * units * unit_bytes + (first + number % each) * piece;
                    let at = move |unit| {
                        if unit == saved { saved + thread * piece } else { start + unit }
                    };
                    moves.iter().map(move |step| UnitMove { from: at(step.from), to: at(step.to) })
                });
                run(&worker, bytes, moves);
            }
        }
    });
}

/// Makes `moves` of `bytes` bytes in order, and prefetches the units of later moves.
fn run(worker: &Worker, bytes: usize, moves: impl Iterator<Item = UnitMove>) {
    let mut queue = Lookahead::new(moves, bytes);
    queue.first().for_each(|from| simd::prefetch_run(worker.address(from), bytes));
    let mut jobs = [CopyJob::default(); BURST];
    loop {
        let burst = queue.burst();
        if burst.is_empty() {
            return;
        }
        let moves = burst.iter().map(|&(UnitMove { from, to }, ahead)| [from, to, ahead]);
        worker.copy(moves, bytes, &mut jobs);
    }
}

/// Moves units along their cycles by swaps (P-IPT). Each cycle is moved by the thread whose share
/// contains its leader.
pub fn rotate_cycles(data: &mut [Byte], source_map: &SourceMap, threads: usize) {
    let shared = SharedBytes::new(data);
    parallel::for_each_thread(0..threads, &mut [], 0, |thread, _| {
        // SAFETY: a cycle has one leader, which is in one share.
        let worker = unsafe { shared.worker() };
        for leader in parallel::split_evenly(source_map.positions(), threads, thread) {
            if !is_leader(leader, source_map) {
                continue;
            }
            let (mut hole, mut source) = (leader, source_map.source_of(leader));
            while source != leader {
                worker.swap(
                    source_map.offset(hole),
                    source_map.offset(source),
                    source_map.unit_bytes(),
                );
                (hole, source) = (source, source_map.source_of(source));
            }
        }
    });
}

/// Returns `true` if `k` is the leader, the smallest position, of its cycle (Windley 1959).
///
/// Walks until a smaller position is found or the cycle closes, without flags (thesis section 4.5).
fn is_leader(k: usize, source_map: &SourceMap) -> bool {
    let mut at = source_map.source_of(k);
    while at > k {
        at = source_map.source_of(at);
    }
    at == k
}

/// Moves rows of tiles (runs) from one pitch to another, along chains. Most chains end in a gap.
///
/// `scratch` has the size of two runs. `visited`, all clear, has one bit per run position in the
/// source.
pub fn move_runs(
    data: &mut [Byte],
    runs: &TileRows,
    elem_bytes: usize,
    visited: VisitedBits,
    scratch: &mut [Byte],
) {
    let bytes = runs.side() * elem_bytes;
    let (mut carried, mut fetched) = scratch.split_at_mut(bytes);
    for start in 0..runs.places() {
        // The run of a visited position has already moved.
        let Some(mut next) = runs.succ(start).filter(|_| !visited.has(start)) else { continue };
        visited.set(start);
        carried.copy_from_slice(&data[start * bytes..][..bytes]);
        loop {
            let after = runs.succ(next).filter(|_| !visited.has(next));
            let dest = &mut data[next * bytes..][..bytes];
            if after.is_some() {
                visited.set(next);
                fetched.copy_from_slice(dest);
            }
            dest.copy_from_slice(carried);
            let Some(after) = after else { break };
            (carried, fetched) = (fetched, carried);
            next = after;
        }
    }
}
