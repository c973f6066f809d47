//! Data sliding: rows moved from one pitch to another block by block.
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicU32, Ordering};

use turntile_perm::RowSlide;
use turntile_simd::Byte;

use crate::parallel;
use crate::shared::SharedBytes;

/// Slides rows, counted in bytes, block by block. A block goes to whichever part asks first, in the order in which they free each other's places; it is
/// written once the blocks that lie there have been read.
///
/// `flags`, zero, are a count of the blocks begun and a flag for each that it has been read. A
/// part waits only for blocks begun before its own, and those wait for earlier ones still: the first of
/// all waits for none. `scratch` holds a block for each part.
pub fn in_blocks(
    data: &mut [Byte],
    rows: RowSlide,
    block: usize,
    flags: &[AtomicU32],
    parts: usize,
    scratch: &mut [Byte],
) {
    let shared = SharedBytes::new(data);
    let blocks = rows.blocks(block);
    let Some((begun, read)) = flags.split_first() else { return };
    parallel::for_each_thread(0..parts, scratch, block, |_, scratch| {
        loop {
            let number = begun.fetch_add(1, Ordering::Relaxed) as usize;
            if number >= blocks {
                return;
            }
            let b = if rows.is_up() { blocks - 1 - number } else { number };
            let own = rows.block(block, b);
            let is_read = SetOnDrop(&read[b]);
            // SAFETY: whoever writes here waits for the flag that is set below, when this worker has been dropped.
            let reader = unsafe { shared.worker() };
            for (k, from, _, bytes) in rows.runs(own.clone()) {
                reader.read(from, &mut scratch[k - own.start..][..bytes]);
            }
            drop(reader);
            drop(is_read);
            rows.waits(block, b).for_each(|other| wait(&read[other]));
            // SAFETY: blocks go to places of their own, and what lay here has been read: it was this block's,
            // or one's whose flag has been seen.
            let writer = unsafe { shared.worker() };
            for (k, _, to, bytes) in rows.runs(own.clone()) {
                writer.write(to, &scratch[k - own.start..][..bytes]);
            }
        }
    });
}

/// A flag that is set when this goes, in a panic too: others wait for it, and the pool for them, so that nobody would
/// hear of the panic.
struct SetOnDrop<'a>(&'a AtomicU32);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(1, Ordering::Release);
    }
}

/// Waits until a block has been read.
fn wait(read: &AtomicU32) {
    let mut spins = 0;
    while read.load(Ordering::Acquire) == 0 {
        // For as long as a copy takes, then a worker may run that the system has put aside.
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

    /// Data that end within the last block: whoever reads that panics, and the one before it waits for it.
    #[test]
    fn a_panic_ends_the_others() {
        let (sender, receiver) = mpsc::channel();
        std::thread::spawn(move || {
            let (rows, block) = (RowSlide::new(8, 64, 64, 72).unwrap(), 32);
            let mut data = vec![Byte::new(0); rows.len() - 1];
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
