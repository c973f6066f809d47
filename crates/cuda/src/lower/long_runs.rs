//! Axis permutations of a few long runs, in pieces that fit in shared memory.

use turntile_perm::AxisPermutation;

use super::fit::{Lowered, Size, TargetParams, VECTOR_BYTES, field, shared, threads_for};
use super::maps::{axes32, digits};
use crate::args::{Divisor32, PieceArgs, zeroed};
use crate::error::LowerError;
use crate::family::Family;
use crate::launch::widest_word;

/// Minimum bytes of a piece. Each is moved by at least four threads.
const LEAST_PIECE: usize = 64;

/// Returns the launch in which a thread block permutes the pieces of `piece` bytes at one offset of all runs of an instance.
pub fn pieces(axes: &AxisPermutation, piece: usize, at: TargetParams) -> Lowered {
    if !piece.is_power_of_two() || piece < LEAST_PIECE {
        return Err(LowerError::NoKernel);
    }
    let (one, instances) = (axes.without_batch().without_unit(), axes.batch());
    let (runs, run_bytes) = (one.len(), axes.unit() * at.elem_bytes);
    let word = widest_word(&[run_bytes, at.alignment]);
    // Pieces keep their addresses modulo 16.
    let pitch = if word < VECTOR_BYTES { piece + VECTOR_BYTES } else { piece };
    let shared_bytes = runs.saturating_mul(pitch);
    shared(shared_bytes, at.limits)?;
    let pieces = run_bytes.div_ceil(piece);
    let blocks = instances.checked_mul(pieces);
    let blocks = blocks.ok_or(LowerError::TooManyBlocks { blocks: usize::MAX })?;
    let size = Size { blocks, threads: threads_for(shared_bytes, 512), shared_bytes };
    Ok(at.launch((Family::LongRuns, word, "long_runs"), size)?.with(PieceArgs {
        bytes: (instances * runs * run_bytes) as u64,
        runs: field(runs)?,
        piece: field(piece)?,
        pitch: field(pitch)?,
        pieces: Divisor32::new(field(pieces)?),
        dest: axes32((&digits(&one), 0), 1, run_bytes)?,
        ..zeroed()
    }))
}
