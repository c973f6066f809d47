//! Arrays in files, larger than memory: their axes permuted from one file, or memory map, into another.
//!
//! ```no_run
//! use std::fs::File;
//! use turntile::Transpose;
//!
//! // 160 GB of f32 in 2 GiB of memory.
//! let (source, mut result) = (File::open("a.bin")?, File::create_new("b.bin")?);
//! Transpose::of::<f32>(200_000, 200_000).stored(2 << 30)?.run(&source, &mut result)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The array is cut into blocks that fit in memory. Each is read in runs, permuted in memory, and written in runs, so that every byte
//! is read once and written once. In `m` bytes of memory the runs of a matrix of `e`-byte elements have about `sqrt(m e / 2)` bytes: 46 KB of
//! 4-byte elements in 1 GiB, for while one block is written the next is read. Where that would be some pages at most, two passes through a scratch have runs of about `(m² e)^(1/3)` in place of it.
//! In up to 8 MiB there is one block at a time: it is read without threads where storage fetches what is announced ([`ReadAt::fetch`]).

mod at;
mod blocks;
mod error;
mod job;
mod mover;
mod passes;

pub use at::{ReadAt, WriteAt};
pub use error::StoredError;

use turntile_plan::TileRule;

use crate::record_conversion::LayoutError;
use crate::stored::job::StridedCopy;
use crate::stored::mover::Context;
use crate::stored::passes::{Pass, PassKind};
use crate::{Effort, Error, Transpose};

/// A permutation of stored data, planned for so much memory.
#[derive(Clone, Debug)]
pub struct OutOfCore {
    passes: Vec<Pass>,
    threads: usize,
    workspace: usize,
}

/// A share of the memory that permuting a block may need beside it.
const WORKSPACE: usize = 16;

/// Bytes of memory that are of use at most: runs are long by then, and larger blocks would keep storage waiting.
const MOST: usize = if usize::BITS > 32 { (1_u64 << 32) as usize } else { 1 << 30 };

impl Transpose {
    /// Plans it from one file or memory map into another, in at most `memory` bytes: two blocks and a workspace. Threads are as
    /// [`threads`](Self::threads) says. However little memory there is, a block has one element at least, and one that is
    /// larger takes as much as it has.
    ///
    /// # Errors
    /// [`Error::Problem`] as [`plan`](Self::plan), [`Error::RecordOrder`] of records, [`Error::OutOfCore`] with a cap, route, rule for
    /// tiles, table of costs, wisdom, measuring, alignment or other place: they are for plans in memory.
    pub fn stored(&self, memory: usize) -> Result<OutOfCore, Error> {
        let problem = self.dense_problem("stored arrays")?;
        if let Some(with) = self.in_memory_only() {
            return Err(Error::Stored { with });
        }
        if problem.records().is_some() {
            return Err(LayoutError::With { with: "stored arrays" }.into());
        }
        let (workspace, threads) = (memory.min(MOST) / WORKSPACE, self.host_threads());
        if problem.is_empty() {
            return Ok(OutOfCore { passes: Vec::new(), threads, workspace });
        }
        let extents: Vec<u64> = problem.extents().iter().map(|&extent| extent as u64).collect();
        let order: Vec<usize> = problem.order().collect();
        let job = StridedCopy::permuting(&extents, &order, problem.elem_bytes() as u64);
        let passes = passes::passes(job, (memory.min(MOST) - workspace) as u64);
        Ok(OutOfCore { passes, threads, workspace })
    }

    /// The first option that was given and acts on plans in memory only.
    fn in_memory_only(&self) -> Option<&'static str> {
        let given = [
            (self.cap.is_some(), "a workspace cap"),
            (self.alignment.is_some(), "an alignment"),
            (self.out_of_place, "an out-of-place result"),
            (self.route.is_some(), "a route"),
            (self.tiles != TileRule::default(), "a rule for tiles"),
            (self.effort != Effort::Estimate, "measuring"),
            (self.wisdom.is_some(), "a wisdom file"),
            (self.costs.is_some(), "a table of costs"),
        ];
        given.iter().find(|(given, _)| *given).map(|&(_, with)| with)
    }
}

impl OutOfCore {
    /// How often every byte is read and written: once, or twice where the memory is very small.
    pub fn passes(&self) -> usize {
        if self.scratch_bytes() > 0 { 2 } else { self.passes.len().min(1) }
    }

    /// Bytes of the scratch that it needs: if it takes two passes, of the part of the data that goes both ways at a time,
    /// otherwise none.
    pub fn scratch_bytes(&self) -> u64 {
        let out = self.passes.iter().filter(|pass| pass.leg == PassKind::Out);
        out.map(|pass| pass.job.bytes()).max().unwrap_or(0)
    }

    /// Bytes of the largest block, and in more than 8 MiB of the next beside it: what a run's buffer must have.
    pub fn buffer_bytes(&self) -> usize {
        self.passes.iter().map(Pass::buffer_bytes).max().unwrap_or(0) as usize
    }

    /// Bytes of the shortest runs, of whole blocks; those of the few columns that a panel of two passes leaves over are shorter.
    pub fn shortest_run(&self) -> u64 {
        let first = |leg| self.passes.iter().find(|pass| pass.leg == leg);
        let all = [PassKind::Whole, PassKind::Out, PassKind::Home].into_iter().filter_map(first);
        all.map(|pass| pass.blocks.shortest_run()).min().unwrap_or(0)
    }

    /// Moves the source's data into the result, in one pass, with a buffer of its own.
    ///
    /// # Errors
    /// [`StoredError`]: when reading or writing fails, there is no memory, or a scratch is needed.
    pub fn run(
        &self,
        source: &(impl ReadAt + ?Sized),
        result: &mut (impl WriteAt + ?Sized),
    ) -> Result<(), StoredError> {
        let need = self.buffer_bytes();
        let mut buffer = Vec::new();
        let no_memory = |_| Error::from(crate::RunError::OutOfMemory { bytes: need });
        buffer.try_reserve_exact(need).map_err(no_memory)?;
        buffer.resize(need, 0);
        self.run_in(&mut buffer, source, result, None::<&mut std::fs::File>, |_| ())
    }

    /// The same in a buffer of the caller's, of at least [`buffer_bytes`](Self::buffer_bytes), with a scratch if there is one. `progress`
    /// is called with how many bytes more have been read or written, of `2 · passes · bytes` in all.
    ///
    /// # Errors
    /// As [`run`](Self::run), and [`StoredError::Memory`] when the buffer is too small.
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
        let OutOfCore { threads, workspace, .. } = *self;
        let mut tools = Context { threads, workspace, buffer, progress: &mut progress };
        for pass in &self.passes {
            match pass.leg {
                PassKind::Whole => mover::run(pass, source, result, &mut tools)?,
                PassKind::Out => {
                    let scratch = scratch.as_deref_mut().ok_or_else(no_scratch)?;
                    mover::run(pass, source, scratch, &mut tools)?;
                }
                PassKind::Home => {
                    let scratch = scratch.as_deref_mut().ok_or_else(no_scratch)?;
                    mover::run(pass, &*scratch, result, &mut tools)?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
