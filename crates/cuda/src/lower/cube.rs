//! Tiles of cubes, three of which change places.

use turntile_perm::Elementary;

use super::fit::{At, field, groups, vector_bytes};
use crate::args::Address;
use crate::args::tiles::CubeArgs;
use crate::call::{Call, WorkspacePart, widest_word};
use crate::error::LowerError;
use crate::family::Family;

/// Side of a tile and threads of a block, as `kernels/cube.cu` has them.
pub fn geometry(word: usize) -> (usize, usize) {
    let side = match word {
        1 | 2 => 32,
        4 | 8 => 16,
        _ => 8,
    };
    let across = side * word / vector_bytes(word);
    (side, across * side * across)
}

/// `n x n²` or `n² x n` matrices of single words whose rows of `n` are whole vectors.
pub fn rotate(e: Elementary, tile: usize, at: At) -> Result<Call, LowerError> {
    let side = e.cube_side().filter(|_| e.unit == 1).ok_or(LowerError::NoKernel)?;
    let word = widest_word(&[at.elem_bytes, at.alignment]);
    let (own, threads) = geometry(word);
    let vectors = widest_word(&[at.alignment, side * word]) >= vector_bytes(word);
    if word != at.elem_bytes || tile != own || !vectors {
        return Err(LowerError::NoKernel);
    }
    let across = side.div_ceil(tile);
    // Of the tiles of an orbit the one whose first number is least stands for it: squares of 1 to `across`.
    let orbits = across * (across + 1) * (2 * across + 1) / 6;
    Ok(Call {
        family: Family::Cube,
        word,
        entry: if e.rows == side { "cube_forward" } else { "cube_back" },
        groups: groups(e.batch * orbits)?,
        threads: threads as u32,
        shared_bytes: 0,
        params: CubeArgs {
            data: Address::default(),
            batch_bytes: (e.rows * e.cols * word) as u64,
            side: field(side)?,
            across: field(across)?,
            orbits: field(orbits)?,
            pad: 0,
        }
        .into(),
        workspace: WorkspacePart::None,
    })
}
