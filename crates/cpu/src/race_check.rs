//! Which worker has touched which byte: kept and compared where debug assertions are on, nothing elsewhere.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The bytes of memory, each with the last worker that touched it.
#[derive(Debug)]
pub struct RaceCheck {
    /// Numbers of workers, 0 for none; empty for memory that is not watched.
    owners: Box<[AtomicU32]>,
    /// Whether worker `k + 1` is at work.
    at_work: Mutex<Vec<bool>>,
}

/// A worker's number.
#[derive(Debug)]
pub struct WorkerId(u32);

/// Memory up to so many bytes is watched.
const WATCHED_BYTES: usize = if cfg!(debug_assertions) { 1 << 20 } else { 0 };

impl RaceCheck {
    /// Of `len` bytes.
    pub fn new(len: usize) -> Self {
        let watched = if len <= WATCHED_BYTES { len } else { 0 };
        let owners = (0..watched).map(|_| AtomicU32::new(0)).collect();
        RaceCheck { owners, at_work: Mutex::default() }
    }

    fn at_work(&self) -> MutexGuard<'_, Vec<bool>> {
        self.at_work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A worker begins.
    #[inline(always)]
    pub fn enter(&self) -> WorkerId {
        if !cfg!(debug_assertions) {
            return WorkerId(0);
        }
        let mut at_work = self.at_work();
        at_work.push(true);
        WorkerId(at_work.len() as u32)
    }

    /// It touches some bytes.
    ///
    /// # Panics
    /// When another worker that is not done has touched one of them.
    pub fn touch(&self, &WorkerId(worker): &WorkerId, bytes: Range<usize>) {
        let mut done = 0;
        for (at, owner) in self.owners.iter().enumerate().take(bytes.end).skip(bytes.start) {
            if owner.load(Relaxed) == worker {
                continue;
            }
            let before = owner.swap(worker, Relaxed);
            if ![0, done].contains(&before) {
                let other = before != worker && self.at_work()[before as usize - 1];
                assert!(!other, "byte {at} of workers {before} and {worker}");
                done = before;
            }
        }
    }

    /// It is done.
    #[inline(always)]
    pub fn leave(&self, &WorkerId(worker): &WorkerId) {
        if cfg!(debug_assertions) {
            self.at_work()[worker as usize - 1] = false;
        }
    }
}

#[cfg(all(test, debug_assertions))]
mod tests {
    use super::*;

    #[test]
    fn what_a_worker_has_touched_is_another_s_when_it_is_done() {
        let claims = RaceCheck::new(100);
        let (one, two) = (claims.enter(), claims.enter());
        claims.touch(&one, 10..20);
        claims.touch(&two, 20..30);
        claims.touch(&one, 10..20);
        claims.leave(&one);
        claims.touch(&two, 0..100);
    }

    #[test]
    #[should_panic(expected = "byte 20 of workers 2 and 1")]
    fn what_a_worker_has_touched_is_not_another_s_before() {
        let claims = RaceCheck::new(100);
        let (one, two) = (claims.enter(), claims.enter());
        claims.touch(&two, 20..30);
        claims.touch(&one, 10..21);
    }
}
