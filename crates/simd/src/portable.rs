//! Units that are no words.

use crate::block::{Block, Byte};
use crate::taken::tell;

/// `to[j][i] = from[i][j]` for units of any length; the common ones have their length known to the compiler.
pub fn transpose(from: &[Byte], to: &mut [Byte], block: Block, unit_bytes: usize) {
    tell("units", unit_bytes);
    match unit_bytes {
        3 => words::<3>(from, to, block),
        6 => words::<6>(from, to, block),
        12 => words::<12>(from, to, block),
        24 => words::<24>(from, to, block),
        32 => words::<32>(from, to, block),
        64 => words::<64>(from, to, block),
        _ => runs(from, to, block, unit_bytes),
    }
}

/// Side of the sub-blocks that keep both buffers' lines in the L1 cache.
const SUB: usize = 16;

fn words<const W: usize>(from: &[Byte], to: &mut [Byte], block: Block) {
    let Block { rows, cols, from_pitch, to_pitch } = block;
    let (from, to) = (from.as_chunks::<W>().0, to.as_chunks_mut::<W>().0);
    for i0 in (0..rows).step_by(SUB) {
        let height = SUB.min(rows - i0);
        for j0 in (0..cols).step_by(SUB) {
            let width = SUB.min(cols - j0);
            if height == SUB {
                for j in j0..j0 + width {
                    let column =
                        std::array::from_fn::<_, SUB, _>(|i| from[(i0 + i) * from_pitch + j]);
                    to[j * to_pitch + i0..][..SUB].copy_from_slice(&column);
                }
                continue;
            }
            for i in i0..i0 + height {
                let row = &from[i * from_pitch + j0..][..width];
                for (j, word) in row.iter().enumerate() {
                    to[(j0 + j) * to_pitch + i] = *word;
                }
            }
        }
    }
}

fn runs(from: &[Byte], to: &mut [Byte], block: Block, unit_bytes: usize) {
    let Block { rows, cols, from_pitch, to_pitch } = block;
    for i in 0..rows {
        for j in 0..cols {
            let (source, dest) = (i * from_pitch + j, j * to_pitch + i);
            to[dest * unit_bytes..][..unit_bytes]
                .copy_from_slice(&from[source * unit_bytes..][..unit_bytes]);
        }
    }
}
