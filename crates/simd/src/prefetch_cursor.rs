//! Prefetch of many cache lines, a few at a time, while other data are processed.

use crate::block::{Byte, CACHE_LINE};
use crate::prefetch::prefetch;

/// Rows of bytes at a constant pitch in memory. They are only prefetched, so any address is
/// allowed.
#[derive(Clone, Copy, Debug)]
pub struct StridedRegion {
    /// First byte of the first row.
    pub start: *const Byte,
    /// Number of rows.
    pub count: usize,
    /// Bytes per row.
    pub bytes: usize,
    /// Bytes from one row to the next.
    pub pitch: usize,
}

/// Cursor over the cache lines of two regions, row by row, the second region after the first.
///
/// Row order matters for speed. Whole rows of 256 bytes arrive from memory at 115-120% of a copy's
/// speed; with 64 bytes of each row at a time, the same lines arrive at 30-73%.
#[derive(Clone, Copy, Debug)]
pub struct PrefetchCursor {
    here: StridedRegion,
    then: StridedRegion,
    /// Bytes of the current row already prefetched, in whole lines.
    done: usize,
}

impl StridedRegion {
    /// Region without rows.
    pub const NONE: StridedRegion =
        StridedRegion { start: std::ptr::null(), count: 0, bytes: 0, pitch: 0 };
}

impl PrefetchCursor {
    /// Creates a cursor over the cache lines of `here`, then those of `then`.
    pub fn new(here: StridedRegion, then: StridedRegion) -> Self {
        PrefetchCursor { here, then, done: 0 }
    }

    /// Prefetches the next `count` cache lines, or all that are left if fewer.
    ///
    /// Issues the prefetches in the longest bursts that rows allow: instructions between two
    /// prefetches use up the processor's reordering window.
    #[inline(always)]
    pub fn prefetch(&mut self, mut count: usize) {
        while count > 0 {
            if self.here.count == 0 {
                self.here = std::mem::replace(&mut self.then, StridedRegion::NONE);
                if self.here.count == 0 {
                    return;
                }
            }
            // If a row starts inside a line, add the offset to include the line of its last byte.
            let bytes = self.here.bytes + self.here.start.addr() % CACHE_LINE;
            let now = (bytes - self.done).div_ceil(CACHE_LINE).min(count);
            let start = self.here.start.wrapping_add(self.done);
            for k in 0..now {
                prefetch(start.wrapping_add(k * CACHE_LINE));
            }
            count -= now;
            self.done += now * CACHE_LINE;
            if self.done >= bytes {
                self.done = 0;
                self.here.start = self.here.start.wrapping_add(self.here.pitch);
                self.here.count -= 1;
            }
        }
    }

    /// Returns the number of lines left to prefetch.
    #[cfg(test)]
    pub fn left(mut self) -> usize {
        let mut left = 0;
        while self.here.count + self.then.count > 0 {
            self.prefetch(1);
            left += 1;
        }
        left
    }

    /// Prefetches all lines that are left.
    pub fn prefetch_rest(&mut self) {
        self.prefetch(usize::MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that the cursor prefetches one line for each line that the rows touch, for any burst
    /// size.
    #[test]
    fn cursor_covers_each_line_of_its_rows_once_for_any_burst() {
        for (start, count, bytes) in
            [(0, 3, 640), (64, 1, 64), (32, 2, 64), (60, 5, 200), (1, 4, 1)]
        {
            let at = std::ptr::without_provenance(start);
            let rows = StridedRegion { start: at, count, bytes, pitch: 1000 };
            let touched = |row: usize| (start + row * 1000) % CACHE_LINE + bytes;
            let want: usize = (0..count).map(|row| touched(row).div_ceil(CACHE_LINE)).sum();
            for burst in [1, 3, 16, usize::MAX] {
                let (mut lines, mut calls) = (PrefetchCursor::new(StridedRegion::NONE, rows), 0);
                while lines.here.count + lines.then.count > 0 {
                    lines.prefetch(burst);
                    calls += 1;
                }
                assert_eq!(calls, want.div_ceil(burst), "{start} {count} {bytes} {burst}");
            }
        }
    }
}
