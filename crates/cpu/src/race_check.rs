//! Debug check for data races: if debug assertions are on, records which worker touched each byte
//! of shared memory.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Last worker that touched each byte of a shared memory.
#[derive(Debug)]
pub struct RaceCheck {
    /// Number of the last worker per byte, 0 for none. Empty if the memory is too large to check.
    owners: Box<[AtomicU32]>,
    /// `true` at index `k` while worker `k + 1` is at work.
    at_work: Mutex<Vec<bool>>,
}

/// Number of a worker, counted from 1; 0 without debug assertions.
#[derive(Debug)]
pub struct WorkerId(u32);

/// Maximum bytes of a memory that is checked: 1 MiB with debug assertions, otherwise 0.
const WATCHED_BYTES: usize = if cfg!(debug_assertions) { 1 << 20 } else { 0 };

impl RaceCheck {
    /// Creates the check for a memory of `len` bytes.
    pub fn new(len: usize) -> Self {
        let watched = if len <= WATCHED_BYTES { len } else { 0 };
        let owners = (0..watched).map(|_| AtomicU32::new(0)).collect();
        RaceCheck { owners, at_work: Mutex::default() }
    }

    fn at_work(&self) -> MutexGuard<'_, Vec<bool>> {
        self.at_work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a new worker and returns its number.
    #[inline(always)]
    pub fn enter(&self) -> WorkerId {
        if !cfg!(debug_assertions) {
            return WorkerId(0);
        }
        let mut at_work = self.at_work();
        at_work.push(true);
        WorkerId(at_work.len() as u32)
    }

    /// Records that a worker touches the bytes `bytes`.
    ///
    /// # Panics
    /// If another worker, still at work, has touched one of these bytes.
    pub fn touch(&self, &WorkerId(worker): &WorkerId, bytes: Range<usize>) {
        let mut finished = 0;
        for (at, owner) in self.owners.iter().enumerate().take(bytes.end).skip(bytes.start) {
            if owner.load(Relaxed) == worker {
                continue;
            }
            let before = owner.swap(worker, Relaxed);
            if ![0, finished].contains(&before) {
                let other = before != worker && self.at_work()[before as usize - 1];
                assert!(!other, "byte {at} of workers {before} and {worker}");
                finished = before;
            }
        }
    }

    /// Marks a worker as finished.
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
    fn bytes_may_be_touched_when_their_worker_has_finished() {
        let check = RaceCheck::new(100);
        let (one, two) = (check.enter(), check.enter());
        check.touch(&one, 10..20);
        check.touch(&two, 20..30);
        check.touch(&one, 10..20);
        check.leave(&one);
        check.touch(&two, 0..100);
    }

    #[test]
    #[should_panic(expected = "byte 20 of workers 2 and 1")]
    fn touch_panics_when_a_worker_at_work_has_touched_the_byte() {
        let check = RaceCheck::new(100);
        let (one, two) = (check.enter(), check.enter());
        check.touch(&two, 20..30);
        check.touch(&one, 10..21);
    }
}
