//! The claim protocol under a model checker: every interleaving of the workers and every outcome
//! that the memory model allows.
//!
//! The module is compiled here a second time, over the model checker's atomics; what the workers
//! read and write are its cells, which report a race wherever two accesses are not ordered.
#![allow(unsafe_code)]

#[path = "../src/claims.rs"]
#[allow(dead_code, missing_docs)]
mod claims;

mod sync {
    pub use loom::sync::atomic::{AtomicU32, Ordering};

    pub fn pause(_spins: usize) {
        loom::thread::yield_now();
    }
}

use claims::Claims;
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use sync::{AtomicU32, Ordering};
use turntile_plan::FlagLayout;

/// A cycle of `N` places; place `k` holds `k` and must end up holding its predecessor.
struct Cycle<const N: usize> {
    places: [UnsafeCell<usize>; N],
    flags: [AtomicU32; 2],
}

impl<const N: usize> Cycle<N> {
    fn new() -> Arc<Self> {
        Arc::new(Cycle {
            places: std::array::from_fn(UnsafeCell::new),
            flags: [AtomicU32::new(0), AtomicU32::new(0)],
        })
    }

    fn claims(&self) -> Claims<'_> {
        Claims::new(&self.flags, FlagLayout::PACKED, N)
    }

    fn read(&self, p: usize) -> usize {
        // SAFETY: the model checker stops at any access that is not ordered with another.
        self.places[p].with(|content| unsafe { *content })
    }

    fn write(&self, p: usize, content: usize) {
        // SAFETY: as above.
        self.places[p].with_mut(|place| unsafe { *place = content });
    }

    /// Follows the chain that starts at `s` with the protocol as it is.
    fn follow(&self, s: usize) {
        let carried = std::cell::Cell::new(usize::MAX);
        if !self.claims().start(s, || carried.set(self.read(s))) {
            return;
        }
        let mut p = (s + 1) % N;
        let swap = |p: usize| {
            let taken = self.read(p);
            self.write(p, carried.replace(taken));
        };
        while self.claims().arrive(p, || swap(p), || self.write(p, carried.get())) {
            p = (p + 1) % N;
        }
    }

    fn assert_rotated(&self) {
        for p in 0..N {
            assert_eq!(self.read(p), (p + N - 1) % N, "place {p}");
        }
    }
}

/// Runs one worker on each of `starts`, which between them are every place, in every way.
fn explore<const N: usize>(
    starts: &'static [&'static [usize]],
    follow: impl Fn(&Cycle<N>, usize) + Copy + Send + Sync + 'static,
) {
    explore_with(loom::model::Builder::new(), starts, follow);
}

fn explore_with<const N: usize>(
    checker: loom::model::Builder,
    starts: &'static [&'static [usize]],
    follow: impl Fn(&Cycle<N>, usize) + Copy + Send + Sync + 'static,
) {
    checker.check(move || {
        let cycle = Cycle::<N>::new();
        let workers: Vec<_> = starts
            .iter()
            .map(|starts| {
                let cycle = cycle.clone();
                loom::thread::spawn(move || starts.iter().for_each(|&s| follow(&cycle, s)))
            })
            .collect();
        workers.into_iter().for_each(|worker| worker.join().unwrap());
        cycle.assert_rotated();
    });
}

#[test]
fn two_workers_on_cycles_of_two_and_three() {
    explore::<2>(&[&[0], &[1]], Cycle::follow);
    explore::<3>(&[&[0, 1], &[2]], Cycle::follow);
    explore::<3>(&[&[0, 2], &[1]], Cycle::follow);
}

/// With at most two preemptions a run: all interleavings of three workers are too many.
#[test]
fn three_workers_on_a_cycle_of_three() {
    let mut checker = loom::model::Builder::new();
    checker.preemption_bound = Some(2);
    explore_with::<3>(checker, &[&[0], &[1], &[2]], Cycle::follow);
}

/// Wrong order 1: the starter says that it has read before it has.
#[test]
#[should_panic(expected = "Causality violation")]
fn marking_read_before_reading_fails() {
    explore::<2>(&[&[0], &[1]], |cycle, s| {
        let claims = cycle.claims();
        if claims.is_taken(s) || !claims.take(s) {
            return;
        }
        claims.mark_read(s);
        let mut carried = cycle.read(s);
        let mut p = (s + 1) % 2;
        loop {
            if !claims.take(p) {
                claims.wait_read(p);
                return cycle.write(p, carried);
            }
            let taken = cycle.read(p);
            cycle.write(p, carried);
            carried = taken;
            p = (p + 1) % 2;
        }
    });
}

/// Wrong order 2: an arrival that lost the claim does not wait for the starter to have read.
#[test]
#[should_panic(expected = "Causality violation")]
fn writing_before_the_starter_has_read_fails() {
    explore::<2>(&[&[0], &[1]], |cycle, s| {
        let carried = std::cell::Cell::new(usize::MAX);
        if !cycle.claims().start(s, || carried.set(cycle.read(s))) {
            return;
        }
        let mut p = (s + 1) % 2;
        while cycle.claims().take(p) {
            let taken = cycle.read(p);
            cycle.write(p, carried.replace(taken));
            p = (p + 1) % 2;
        }
        cycle.write(p, carried.get());
    });
}

/// The thesis's Algorithm 1: a flag says that a place has been written, and a starter tests the
/// flag of its first element. `test_after_read` tests again once it has read, `fence` orders the
/// two.
///
/// Contents are relaxed atomics here, not cells: reading while another writes is part of that
/// algorithm, as long as what was read is then dropped.
fn algorithm_1(test_after_read: bool, fence: bool) {
    loom::model(move || {
        type Words = [AtomicU32; 2];
        let state: Arc<(Words, AtomicU32)> =
            Arc::new(([AtomicU32::new(0), AtomicU32::new(1)], AtomicU32::new(0)));
        let follow = move |state: &(Words, AtomicU32), s: usize| {
            let (places, done) = state;
            let is_done = |p: usize, order| done.load(order) & (1 << p) != 0;
            if is_done(s, Ordering::Relaxed) {
                return;
            }
            let mut carried = places[s].load(Ordering::Relaxed);
            if fence {
                loom::sync::atomic::fence(Ordering::AcqRel);
            }
            if test_after_read && is_done(s, Ordering::Relaxed) {
                return;
            }
            let mut p = 1 - s;
            loop {
                let content = places[p].load(Ordering::Relaxed);
                let won = done.fetch_or(1 << p, Ordering::Release) & (1 << p) == 0;
                if !won {
                    return;
                }
                if fence {
                    loom::sync::atomic::fence(Ordering::AcqRel);
                }
                places[p].store(carried, Ordering::Relaxed);
                carried = content;
                p = 1 - p;
            }
        };
        let workers: Vec<_> = (0..2)
            .map(|s| {
                let state = state.clone();
                loom::thread::spawn(move || follow(&state, s))
            })
            .collect();
        workers.into_iter().for_each(|worker| worker.join().unwrap());
        assert_eq!(state.0[0].load(Ordering::Relaxed), 1, "place 0");
        assert_eq!(state.0[1].load(Ordering::Relaxed), 0, "place 1");
    });
}

#[test]
#[should_panic(expected = "place 0")]
fn algorithm_1_as_printed_fails() {
    algorithm_1(false, true);
}

#[test]
fn algorithm_1_tested_after_reading_with_a_fence_is_right() {
    algorithm_1(true, true);
}

/// The same without the fence: the read may be served after the test.
#[test]
#[should_panic(expected = "place 0")]
fn algorithm_1_without_the_fence_fails() {
    algorithm_1(true, false);
}
