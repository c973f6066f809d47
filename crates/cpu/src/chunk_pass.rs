//! First pass of aligned slots, and its inverse: one chunk after another through scratch.
//!
//! Each thread gets a run of consecutive chunks. Forward, a chunk reads the first rows of the chunk
//! after it; backward, the ends of slots in the chunk before it. At the end of a run, that
//! neighbour belongs to another thread, so the halo is saved before anything is written. The first
//! and the last chunk are neighbours.

use turntile_plan::Direction;
use turntile_simd::Byte;

use crate::parallel;

/// Source of the elements that a chunk shares with its neighbour: the next chunk forward, the
/// previous chunk backward.
#[derive(Clone, Copy)]
pub enum Halo<'a> {
    /// Saved copy of the elements.
    Saved(&'a [Byte]),
    /// Neighbouring chunk, not yet converted.
    Neighbour(&'a [Byte]),
}

/// Pass over chunks. Each chunk is converted in its own memory, and reads some elements of a
/// neighbouring chunk (its halo).
pub trait ChunkPass: Sync {
    /// Returns the number of chunks.
    fn chunks(&self) -> usize;

    /// Returns the byte offset of chunk `c`. For `c` equal to the number of chunks, returns the end
    /// of the data.
    fn begin(&self, c: usize) -> usize;

    /// Returns the bytes of the halo that each thread saves.
    fn halo_bytes(&self) -> usize;

    /// Returns the scratch bytes per thread.
    fn scratch_bytes(&self) -> usize;

    /// Copies the halo of chunk `c` from the chunk `neighbour` to `saved`.
    fn save_halo(&self, c: usize, direction: Direction, neighbour: &[Byte], saved: &mut [Byte]);

    /// Forward, gathers the slots of chunk `c` into its memory; backward, restores its elements
    /// from slots.
    fn convert(
        &self,
        c: usize,
        direction: Direction,
        chunk: &mut [Byte],
        halo: Halo,
        scratch: &mut [Byte],
    );
}

/// Forward, gathers every chunk's slots into the chunk's own memory; backward, restores every
/// chunk's elements from its own slots and those of the chunk before.
///
/// `saved` and `scratch` are divided equally: [`halo_bytes`](ChunkPass::halo_bytes) and
/// [`scratch_bytes`](ChunkPass::scratch_bytes) per thread.
pub fn run(
    pass: &impl ChunkPass,
    direction: Direction,
    data: &mut [Byte],
    threads: usize,
    saved: &mut [Byte],
    scratch: &mut [Byte],
) {
    let (chunks, halo_bytes) = (pass.chunks(), pass.halo_bytes());
    for thread in 0..threads {
        let run = parallel::split_evenly(chunks, threads, thread);
        let (c, neighbour) = match direction {
            Direction::Forward => (run.end - 1, run.end % chunks),
            Direction::Backward => (run.start, (run.start + chunks - 1) % chunks),
        };
        let neighbour = &data[pass.begin(neighbour)..pass.begin(neighbour + 1)];
        pass.save_halo(c, direction, neighbour, &mut saved[thread * halo_bytes..][..halo_bytes]);
    }
    let bytes = |run: &std::ops::Range<usize>| pass.begin(run.end) - pass.begin(run.start);
    let (saved, scratch) = ((&*saved, halo_bytes), (scratch, pass.scratch_bytes()));
    parallel::over_runs(
        data,
        [chunks, threads],
        bytes,
        saved,
        scratch,
        |own, run, saved, scratch| {
            let at = |c| pass.begin(c) - pass.begin(run.start);
            match direction {
                Direction::Forward => {
                    for c in run.clone() {
                        let (chunk, next) = own[at(c)..].split_at_mut(at(c + 1) - at(c));
                        let last = c + 1 == run.end;
                        let halo = if last { Halo::Saved(saved) } else { Halo::Neighbour(next) };
                        pass.convert(c, direction, chunk, halo, scratch);
                    }
                }
                // Chunks go from last to first, so the chunk before still contains its slots.
                Direction::Backward => {
                    for c in run.clone().rev() {
                        let (before, chunk) = own[..at(c + 1)].split_at_mut(at(c));
                        let halo = match c == run.start {
                            true => Halo::Saved(saved),
                            false => Halo::Neighbour(&before[at(c - 1)..]),
                        };
                        pass.convert(c, direction, chunk, halo, scratch);
                    }
                }
            }
        },
    );
}
