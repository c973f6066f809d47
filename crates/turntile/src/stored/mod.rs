//! Out-of-core axis permutation: from one file or memory map into another, for arrays larger than
//! memory.
//!
//! ```no_run
//! use std::fs::File;
//! use turntile::Transpose;
//!
//! // 160 GB of f32, with 2 GiB of memory:
//! let (source, mut result) = (File::open("a.bin")?, File::create_new("b.bin")?);
//! Transpose::new::<f32>(200_000, 200_000).stored(2 << 30)?.run(&source, &mut result)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The array is cut into blocks that fit in memory. A block consists of runs of contiguous bytes,
//! in the source and in the result. Each block is read run by run, permuted in memory, and written
//! run by run. So a pass reads and writes every byte of storage once.
//!
//! With `m` bytes of memory, the runs of a matrix of `e`-byte elements have about `sqrt(m e / 2)`
//! bytes, since one block is written while the next is read. For 4-byte elements and 1 GiB that is
//! 46 KB. If runs would have only a few KB, the data are moved in two passes through a scratch
//! file, with runs of about `(m² e)^(1/3)` bytes.
//!
//! With up to about 8 MiB of memory, only one block is in memory at a time. Each block after the
//! first is read without extra threads if the storage prefetches announced reads
//! ([`ReadAt::fetch`]).

mod at;
mod blocks;
mod error;
mod job;
mod mover;
mod passes;

pub use at::{ReadAt, WriteAt};
pub use error::StoredError;

use turntile_plan::{Effort, TileRule};

#[cfg(doc)]
use crate::ErrorKind;
use crate::error::{Reason, RunError};
use crate::mode::Mode;
use crate::record_conversion::LayoutError;
use crate::stored::job::StridedCopy;
use crate::stored::mover::{PassContext, READERS};
use crate::stored::passes::{BlockMemory, Pass, PassKind};
use crate::transpose::TransposeRequest;
use crate::{Error, Transpose};

/// Out-of-core axis permutation, planned for a given amount of memory.
#[derive(Clone, Debug)]
pub struct OutOfCore {
    passes: Vec<Pass>,
    threads: usize,
    /// Maximum number of threads that read storage, including the calling thread.
    readers: usize,
    workspace: usize,
}

/// Divisor of the memory limit. The quotient is the workspace cap for permuting a block in memory.
const WORKSPACE_DIVISOR: usize = 16;

/// Maximum memory that an out-of-core run uses, in bytes. Larger blocks would leave the storage
/// idle, and contiguous runs are already long.
const MAX_MEMORY: usize = if usize::BITS > 32 { (1_u64 << 32) as usize } else { 1 << 30 };

impl<M: Mode> Transpose<M> {
    /// Plans an out-of-core operation, from one file or memory map into another, with at most
    /// `memory` bytes for one or two blocks and a workspace.
    ///
    /// [`threads`](Self::threads) limits the threads that permute a block in memory, and the threads
    /// that read storage: with one thread, the calling thread does all work. By default up to 16
    /// read. A block has at least one element, even if the element is larger than `memory`.
    ///
    /// # Errors
    /// - [`ErrorKind::TooLarge`] and [`ErrorKind::Shape`]: as in [`plan`](Self::plan).
    /// - [`ErrorKind::Options`]: the operation is a record conversion, or an option is set that
    ///   only applies to plans in memory. These are a workspace cap, route, tile rule, cost table,
    ///   wisdom file, measuring, alignment, leading dimensions or out-of-place operation.
    pub fn stored(&self, memory: usize) -> Result<OutOfCore, Error> {
        let request = &self.request;
        let problem = request.dense_problem("stored arrays")?;
        if let Some(with) = request.in_memory_only() {
            return Err(Reason::Stored { with }.into());
        }
        if problem.records().is_some() {
            return Err(LayoutError::With { with: "stored arrays" }.into());
        }
        let (workspace, threads) =
            (memory.min(MAX_MEMORY) / WORKSPACE_DIVISOR, request.host_threads());
        let readers = request.threads.map_or(READERS, |_| threads.min(READERS));
        if problem.is_empty() {
            return Ok(OutOfCore { passes: Vec::new(), threads, readers, workspace });
        }
        let extents: Vec<u64> = problem.extents().iter().map(|&extent| extent as u64).collect();
        let order: Vec<usize> = problem.order().collect();
        let job =
            StridedCopy::permuting(&extents, &order, &problem.flipped(), problem.itemsize() as u64);
        let bytes = (memory.min(MAX_MEMORY) - workspace) as u64;
        let room = BlockMemory { bytes, ahead: readers > 1 };
        let passes = passes::passes(job, room);
        Ok(OutOfCore { passes, threads, readers, workspace })
    }
}

impl TransposeRequest {
    /// Returns the name of the first option that is set but only applies to plans in memory, or
    /// `None`.
    fn in_memory_only(&self) -> Option<&'static str> {
        let given = [
            (self.cap.is_some(), "a workspace cap"),
            (self.alignment.is_some(), "an alignment"),
            (self.out_of_place, "an out-of-place result"),
            (self.route.is_some(), "a route"),
            (self.tiles != TileRule::default(), "a tile rule"),
            (self.effort != Effort::Estimate, "measuring"),
            (self.wisdom.is_some(), "a wisdom file"),
            (self.costs.is_some(), "a cost table"),
        ];
        given.iter().find(|(given, _)| *given).map(|&(_, with)| with)
    }
}

impl OutOfCore {
    /// Returns the number of times that every byte is read from storage and written to it: 1, 2 if
    /// the memory is too small for long contiguous runs, or 0 for an empty array.
    pub fn passes(&self) -> usize {
        if self.scratch_bytes() > 0 { 2 } else { self.passes.len().min(1) }
    }

    /// Returns the required bytes of scratch storage: 0 for one pass, else those of the largest
    /// part of the array that goes through it at a time.
    pub fn scratch_bytes(&self) -> u64 {
        let out = self.passes.iter().filter(|pass| pass.kind == PassKind::ToScratch);
        out.map(|pass| pass.job.bytes()).max().unwrap_or(0)
    }

    /// Returns the required bytes of the buffer of [`run_in`](Self::run_in): those of the largest
    /// block, or of two if the memory for blocks exceeds 8 MiB, a pass moves more than fits in it,
    /// and [`threads`](Transpose::threads) is not 1.
    pub fn buffer_bytes(&self) -> usize {
        self.passes.iter().map(Pass::buffer_bytes).max().unwrap_or(0) as usize
    }

    /// Returns the bytes of the shortest contiguous runs that full blocks read or write. Blocks at
    /// the ends of axes may have shorter runs.
    pub fn shortest_run(&self) -> u64 {
        let first = |kind| self.passes.iter().find(|pass| pass.kind == kind);
        let all = [PassKind::Direct, PassKind::ToScratch, PassKind::FromScratch]
            .into_iter()
            .filter_map(first);
        all.map(|pass| pass.blocks.shortest_run()).min().unwrap_or(0)
    }

    /// Permutes the source into the result in one pass, with a buffer allocated for the run.
    ///
    /// # Errors
    /// [`StoredError`] if reading or writing fails, memory cannot be allocated, or the plan has two
    /// passes, which need scratch storage.
    pub fn run(
        &self,
        source: &(impl ReadAt + ?Sized),
        result: &mut (impl WriteAt + ?Sized),
    ) -> Result<(), StoredError> {
        let need = self.buffer_bytes();
        let mut buffer = Vec::new();
        let no_memory = |_| Error::from(RunError::OutOfMemory { bytes: need });
        buffer.try_reserve_exact(need).map_err(no_memory)?;
        buffer.resize(need, 0);
        self.run_in(&mut buffer, source, result, None::<&mut std::fs::File>, |_| ())
    }

    /// Permutes the source into the result with the caller's buffer, of at least
    /// [`buffer_bytes`](Self::buffer_bytes) bytes.
    ///
    /// A plan of two passes requires `scratch`, storage of at least
    /// [`scratch_bytes`](Self::scratch_bytes) bytes. `progress` is called with the number of bytes
    /// read or written since its last call. They add up to `2 · passes` times the bytes of the
    /// array.
    ///
    /// # Errors
    /// Those of [`run`](Self::run), and [`StoredError::Memory`] if the buffer is too small.
    pub fn run_in<S: ReadAt + WriteAt>(
        &self,
        buffer: &mut [u8],
        source: &(impl ReadAt + ?Sized),
        result: &mut (impl WriteAt + ?Sized),
        mut scratch: Option<&mut S>,
        mut progress: impl FnMut(u64),
    ) -> Result<(), StoredError> {
        let (need, have) = (self.buffer_bytes(), buffer.len());
        if need > have {
            return Err(StoredError::Memory { need, have });
        }
        let no_scratch = || StoredError::NoScratch { bytes: self.scratch_bytes() };
        let OutOfCore { threads, readers, workspace, .. } = *self;
        let mut context =
            PassContext { threads, readers, workspace, buffer, progress: &mut progress };
        for pass in &self.passes {
            match pass.kind {
                PassKind::Direct => mover::run(pass, source, result, &mut context)?,
                PassKind::ToScratch => {
                    let scratch = scratch.as_deref_mut().ok_or_else(no_scratch)?;
                    mover::run(pass, source, scratch, &mut context)?;
                }
                PassKind::FromScratch => {
                    let scratch = scratch.as_deref_mut().ok_or_else(no_scratch)?;
                    mover::run(pass, &*scratch, result, &mut context)?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
