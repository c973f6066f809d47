//! Permutations of a few long runs, in pieces that fit in shared memory: of axes, and of wide fields of records.

use turntile_perm::{AxisPermutation, LayoutChange};

use super::fit::{Lowered, Size, TargetParams, VECTOR_BYTES, field, shared, threads_for};
use super::maps::{axes32, digits};
use super::retile;
use crate::args::{Divisor32, PieceArgs, RecordPieceArgs, zeroed};
use crate::error::LowerError;
use crate::family::Family;
use crate::launch::widest_word;

/// Minimum bytes of a piece. Each is moved by at least four threads.
const LEAST_PIECE: usize = 64;

/// Runs of each instance, their bytes, and their pieces.
struct Pieces {
    instances: usize,
    runs: usize,
    run_bytes: usize,
    piece: usize,
    word: usize,
    pitch: usize,
    threads: usize,
}

impl Pieces {
    fn new(
        [instances, runs, run_bytes]: [usize; 3],
        piece: usize,
        at: TargetParams,
    ) -> Lowered<Self> {
        if !piece.is_power_of_two() || piece < LEAST_PIECE {
            return Err(LowerError::NoKernel);
        }
        let word = widest_word(&[run_bytes, at.alignment]);
        // Pieces keep their addresses modulo 16.
        let pitch = if word < VECTOR_BYTES { piece + VECTOR_BYTES } else { piece };
        let shared_bytes = runs.saturating_mul(pitch);
        shared(shared_bytes, at.limits)?;
        let blocks = instances.checked_mul(run_bytes.div_ceil(piece));
        blocks.ok_or(LowerError::TooManyBlocks { blocks: usize::MAX })?;
        let threads = threads_for(shared_bytes, 512);
        Ok(Pieces { instances, runs, run_bytes, piece, word, pitch, threads })
    }

    fn size(&self) -> Size {
        let blocks = self.instances * self.run_bytes.div_ceil(self.piece);
        Size { blocks, threads: self.threads, shared_bytes: self.runs * self.pitch }
    }

    fn bytes(&self) -> u64 {
        (self.instances * self.runs * self.run_bytes) as u64
    }

    /// Returns the divisor by the number of pieces of a run.
    fn divisor(&self) -> Lowered<Divisor32> {
        Ok(Divisor32::new(field(self.run_bytes.div_ceil(self.piece))?))
    }
}

/// Returns the launch in which a thread block permutes the pieces of `piece` bytes at one offset of all runs of an instance.
pub fn pieces(axes: &AxisPermutation, piece: usize, at: TargetParams) -> Lowered {
    let one = axes.without_batch().without_unit();
    let p = Pieces::new([axes.batch(), one.len(), axes.unit() * at.elem_bytes], piece, at)?;
    Ok(at.launch((Family::LongRuns, p.word, "long_runs"), p.size())?.with(PieceArgs {
        bytes: p.bytes(),
        runs: field(p.runs)?,
        piece: field(piece)?,
        pitch: field(p.pitch)?,
        pieces: p.divisor()?,
        dest: axes32((&digits(&one), 0), 1, p.run_bytes)?,
        ..zeroed()
    }))
}

/// Returns the number of elements of a tile. Each is a run.
///
/// Returns `None` unless one layout is AoS and the other has whole tiles.
pub fn runs_of_records(change: &LayoutChange) -> Option<usize> {
    let (fields, [aos, tile]) = (change.schema(), retile::sides(change));
    let tile = tile.max(1);
    let whole = aos <= 1 && !fields.is_empty() && fields.records().is_multiple_of(tile);
    tile.checked_mul(fields.words()).filter(|_| whole)
}

/// Returns the launch in which a thread block moves the pieces of `piece` bytes at one offset of all runs of a tile.
pub fn record_pieces(change: &LayoutChange, piece: usize, at: TargetParams) -> Lowered {
    let (fields, [aos, tile]) = (change.schema(), retile::sides(change));
    let runs = runs_of_records(change).ok_or(LowerError::NoKernel)?;
    let (tile, run_bytes) = (tile.max(1), at.elem_bytes);
    let p = Pieces::new([fields.records() / tile, runs, run_bytes], piece, at)?;
    let group = retile::groups(fields, aos, |elements| elements)?;
    let mut params = RecordPieceArgs {
        bytes: p.bytes(),
        run_bytes: run_bytes as u64,
        runs: field(runs)?,
        piece: field(piece)?,
        pitch: field(p.pitch)?,
        groups: group.len() as u32,
        record: field(fields.words())?,
        split: u32::from(change.from() == aos),
        pieces: p.divisor()?,
        tile: Divisor32::new(field(tile)?),
        tile_runs: Divisor32::new(field(runs)?),
        ..zeroed()
    };
    params.group[..group.len()].copy_from_slice(&group);
    Ok(at.launch((Family::LongRuns, p.word, "long_runs_records"), p.size())?.with(params))
}
