//! Slides of rows to another pitch, in blocks of bytes with a flag per block.
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicU32, Ordering};

use turntile_perm::RowSlide;
use turntile_simd::Byte;

use crate::parallel;
use crate::shared::SharedBytes;

/// Slides rows, with lengths in bytes, in blocks of `block` bytes. Threads claim blocks in the
/// order in which blocks free each other's destinations. A block is written after the blocks stored
/// at its destination have been read into scratch.
///
/// `flags`, all zero, are a counter of started blocks, then per block a flag that it has been read.
/// A thread waits only for blocks started before its own, so there is no deadlock. `scratch` has
/// one block per thread.
pub fn in_blocks(
    data: &mut [Byte],
    rows: RowSlide,
    block: usize,
    flags: &[AtomicU32],
    threads: usize,
    scratch: &mut [Byte],
) {
    let shared = SharedBytes::new(data);
    let blocks = rows.blocks(block);
    let Some((started, read)) = flags.split_first() else { return };
    parallel::for_each_thread(0..threads, scratch, block, |_, scratch| {
        loop {
            let number = started.fetch_add(1, Ordering::Relaxed) as usize;
            if number >= blocks {
                return;
            }
            let b = if rows.is_up() { blocks - 1 - number } else { number };
            let own = rows.block(block, b);
            let is_read = SetOnDrop(&read[b]);
            // SAFETY: any writer of these bytes waits for the flag, which is set below after this
            // worker is dropped.
            let reader = unsafe { shared.worker() };
            for (k, from, _, bytes) in rows.runs(own.clone()) {
                reader.read(from, &mut scratch[k - own.start..][..bytes]);
            }
            drop(reader);
            drop(is_read);
            rows.waits_for(block, b).for_each(|other| wait(&read[other]));
            // SAFETY: blocks have disjoint destinations. The bytes overwritten have been read: they
            // belonged to this block, or to one whose flag is set.
            let writer = unsafe { shared.worker() };
            for (k, _, to, bytes) in rows.runs(own.clone()) {
                writer.write(to, &scratch[k - own.start..][..bytes]);
            }
        }
    });
}

/// Guard that sets a flag when dropped, even in a panic. Otherwise other threads, and the pool,
/// would wait for it forever.
struct SetOnDrop<'a>(&'a AtomicU32);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(1, Ordering::Release);
    }
}

/// Waits until a block has been read into scratch.
fn wait(read: &AtomicU32) {
    let mut spins = 0;
    while read.load(Ordering::Acquire) == 0 {
        // Spins for about the time of a copy, then lets a preempted thread run.
        if spins < 256 {
            std::hint::spin_loop()
        } else {
            std::thread::yield_now()
        }
        spins += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::mpsc;
    use std::time::Duration;

    /// Checks that a panic ends all threads. The data end within the last block, so its reader
    /// panics while the reader of the block before waits for it.
    #[test]
    fn panic_of_one_thread_ends_the_others() {
        let (sender, receiver) = mpsc::channel();
        std::thread::spawn(move || {
            let (rows, block) = (RowSlide::new(8, 64, 64, 72).unwrap(), 32);
            let mut data = vec![Byte::new(0); rows.from().len() - 1];
            let flags: Vec<_> = (0..=rows.blocks(block)).map(|_| AtomicU32::new(0)).collect();
            let mut scratch = vec![Byte::new(0); 2 * block];
            let run = || in_blocks(&mut data, rows, block, &flags, 2, &mut scratch);
            let panicked = catch_unwind(AssertUnwindSafe(run)).is_err();
            sender.send(panicked).unwrap();
        });
        assert_eq!(
            receiver.recv_timeout(Duration::from_secs(60)),
            Ok(true),
            "the others still wait"
        );
    }
}
