//! The one kernel that transposes a small block between two buffers.

use crate::Byte;

/// A block of a row-major array of units: `rows` by `cols`, `pitch` units from row to row.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    /// Units of the block down.
    pub rows: usize,
    /// Units of the block across.
    pub cols: usize,
    /// Units from one row of the source to the next.
    pub from_pitch: usize,
    /// Units from one row of the destination, a column of the source, to the next.
    pub to_pitch: usize,
}

/// `to[j][i] = from[i][j]` for units of `unit_bytes` bytes; both buffers start at unit (0, 0).
pub fn transpose(from: &[Byte], to: &mut [Byte], block: Block, unit_bytes: usize) {
    match unit_bytes {
        1 => words::<1>(from, to, block),
        2 => words::<2>(from, to, block),
        4 => words::<4>(from, to, block),
        8 => words::<8>(from, to, block),
        16 => words::<16>(from, to, block),
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
            if height == SUB && width == SUB {
                full_sub(
                    &from[i0 * from_pitch + j0..],
                    from_pitch,
                    &mut to[j0 * to_pitch + i0..],
                    to_pitch,
                );
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

/// A full sub-block, its extents known to the compiler.
fn full_sub<const W: usize>(
    from: &[[Byte; W]],
    from_pitch: usize,
    to: &mut [[Byte; W]],
    to_pitch: usize,
) {
    let mut block = [[[Byte::uninit(); W]; SUB]; SUB];
    for (i, row) in block.iter_mut().enumerate() {
        row.copy_from_slice(&from[i * from_pitch..][..SUB]);
    }
    for j in 0..SUB {
        let column: [[Byte; W]; SUB] = std::array::from_fn(|i| block[i][j]);
        to[j * to_pitch..][..SUB].copy_from_slice(&column);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::{as_bytes, as_bytes_mut};

    #[test]
    fn every_extent_and_unit() {
        for unit in [1, 2, 3, 4, 8, 12, 16, 24] {
            for rows in [1, 2, 15, 16, 17, 33] {
                for cols in [1, 3, 16, 18, 35] {
                    let (from_pitch, to_pitch) = (cols + 2, rows + 1);
                    let from: Vec<u8> =
                        (0..rows * from_pitch * unit).map(|k| (k * 7 + k / 256) as u8).collect();
                    let mut to = vec![0xAA; cols * to_pitch * unit];
                    let block = Block { rows, cols, from_pitch, to_pitch };
                    transpose(as_bytes(&from), as_bytes_mut(&mut to), block, unit);
                    for j in 0..cols {
                        for i in 0..to_pitch {
                            let got = &to[(j * to_pitch + i) * unit..][..unit];
                            if i < rows {
                                let want = &from[(i * from_pitch + j) * unit..][..unit];
                                assert_eq!(got, want, "{block:?} unit {unit} at {i}, {j}");
                            } else {
                                assert!(got.iter().all(|&byte| byte == 0xAA), "padding written");
                            }
                        }
                    }
                }
            }
        }
    }
}
