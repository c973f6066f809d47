//! Columns cut off a matrix and put back: what lies in the gaps of its packed rows.

use turntile_perm::Pitched;
use turntile_plan::Direction;
use turntile_simd::{self as simd, Block, Byte};

/// Has `move_rows` move the rows of `data` together (forward) or apart, with what lies in their gaps behind them
/// meanwhile, column after column. `kept` is as long as the gaps.
pub fn kept(
    data: &mut [Byte],
    columns: Pitched,
    direction: Direction,
    elem_bytes: usize,
    kept: &mut [Byte],
    move_rows: impl FnOnce(&mut [Byte]),
) {
    let (rows, cols, pitch) = (columns.rows(), columns.cols(), columns.pitch());
    let (first, behind) = (cols * elem_bytes, columns.len() * elem_bytes);
    match direction {
        Direction::Forward => {
            let gaps = Block { rows, cols: pitch - cols, from_pitch: pitch, to_pitch: rows };
            simd::transpose(&data[first..], kept, gaps, elem_bytes);
            move_rows(data);
            data[behind..].copy_from_slice(kept);
        }
        Direction::Backward => {
            kept.copy_from_slice(&data[behind..]);
            move_rows(data);
            let gaps = Block { rows: pitch - cols, cols: rows, from_pitch: rows, to_pitch: pitch };
            simd::transpose(kept, &mut data[first..], gaps, elem_bytes);
        }
    }
}
