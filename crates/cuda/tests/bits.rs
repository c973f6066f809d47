//! Replays transpositions of elements of 1, 2 or 4 bits on the host.

use std::collections::BTreeMap;

use turntile_cuda::launch::DeviceLimits;
use turntile_cuda::{BitMatrix, Work};

use crate::replay::bits::execute;

/// Bytes before and after the matrices.
const GUARD: usize = 64;

/// Returns the transposed matrices, element by element, with padding bits of 0.
fn transposed(from: &[u8], matrix: &BitMatrix) -> Vec<u8> {
    let &BitMatrix { batch, rows, cols, per_byte, big } = matrix;
    let [from_row, to_row] = [cols, rows].map(|side| side.div_ceil(per_byte));
    let shift =
        |k: usize| 8 / per_byte * if big { per_byte - 1 - k % per_byte } else { k % per_byte };
    let mut to = vec![0; batch * cols * to_row];
    for (m, r, c) in
        (0..batch).flat_map(|m| (0..rows).flat_map(move |r| (0..cols).map(move |c| (m, r, c))))
    {
        let byte = from[(m * rows + r) * from_row + c / per_byte];
        let element = byte >> shift(c) & (u8::MAX >> (8 - 8 / per_byte));
        to[(m * cols + c) * to_row + r / per_byte] |= element << shift(r);
    }
    to
}

/// Checks the launches of one matrix for one alignment, and counts them by entry point.
fn check(
    matrix: &BitMatrix,
    out_of_place: bool,
    alignment: usize,
    met: &mut BTreeMap<&'static str, usize>,
) {
    let what = format!("{matrix:?}, into {out_of_place}, alignment {alignment}");
    let work = Work::of_bits(matrix, out_of_place, alignment, &DeviceLimits::H200).expect(&what);
    let [source, result] = matrix.bytes().expect("counted");
    assert_eq!(work.bytes(), if out_of_place { result } else { source }, "{what}");
    // Addresses with this alignment only.
    let start = GUARD + if alignment < 16 { alignment } else { 0 };
    let to =
        if out_of_place { (start + source + GUARD).next_multiple_of(16) + start } else { start };
    let len = to + result.max(source) + GUARD;
    let before: Vec<u8> = (0..len).map(|k| (k * 131 + k / 251 + k / 7) as u8).collect();
    let mut memory = before.clone();
    for call in work.calls() {
        crate::lowering::check(call);
        *met.entry(call.entry).or_default() += 1;
        let written = execute(call, &mut memory, to, start);
        let once = |k: usize| (to..to + result).contains(&k);
        assert!((0..len).all(|k| written[k] == usize::from(once(k))), "{what}");
    }
    if let Some(runs) = matrix.runs(alignment).expect("counted").filter(|_| !out_of_place) {
        let (bytes, elem) = (memory.clone(), runs.itemsize());
        for k in 0..source {
            memory[start + runs.dest(k / elem) * elem + k % elem] = bytes[start + k];
        }
    }
    let mut want = before.clone();
    want[to..to + result].copy_from_slice(&transposed(&before[start..start + source], matrix));
    assert!(memory == want, "{what}");
}

#[test]
fn packed_elements_move_to_their_places() {
    let mut met = BTreeMap::new();
    for (per_byte, big) in [8, 4, 2].into_iter().flat_map(|p| [(p, false), (p, true)]) {
        // Sides in bytes, or for out of place in elements around them.
        let line = if per_byte == 2 { 128 } else { 64 };
        let small = [0, 1, 2, 3, 4, 5, 8, 12];
        let large = [
            (line, line),
            (line + 4, line + 4),
            (2 * line + 1, 2 * line + 1),
            (24, 36),
            (40, line + 8),
            (4, 3 * line),
            (3 * line, 4),
            (line - 1, 5),
            (2 * line, line),
            (96, 144),
        ];
        let pairs = small.iter().flat_map(|&a| small.map(|b| (a, b))).chain(large);
        for (number, (a, b)) in pairs.enumerate() {
            let batch = if number < 64 { 3 } else { 1 + number % 2 };
            let matrix = BitMatrix { batch, rows: a * per_byte, cols: b * per_byte, per_byte, big };
            for alignment in [16, 1] {
                check(&matrix, false, alignment, &mut met);
                for (less_rows, less_cols) in [(0, 0), (1, 0), (0, 1), (1, per_byte - 1)] {
                    let (rows, cols) = (matrix.rows, matrix.cols);
                    let (rows, cols) =
                        (rows.saturating_sub(less_rows), cols.saturating_sub(less_cols));
                    check(&BitMatrix { rows, cols, ..matrix }, true, alignment, &mut met);
                }
            }
        }
    }
    assert_eq!((met.len(), met.values().sum::<usize>()), (15, 3540), "{met:?}");
}

#[test]
fn sides_of_partial_bytes_have_no_kernel_in_place() {
    let matrix = BitMatrix { batch: 1, rows: 16, cols: 12, per_byte: 8, big: true };
    assert!(Work::of_bits(&matrix, false, 16, &DeviceLimits::H200).is_err());
    assert!(Work::of_bits(&matrix, true, 16, &DeviceLimits::H200).is_ok());
    let matrix = BitMatrix { rows: usize::MAX / 2, ..matrix };
    assert!(Work::of_bits(&matrix, true, 16, &DeviceLimits::H200).is_err(), "overflows");
}

#[test]
fn small_matrices_share_a_tile() {
    // 8 by 8 codes of 4 bits; a tile has 256 rows.
    let matrix = BitMatrix { batch: 1 << 20, rows: 8, cols: 8, per_byte: 2, big: false };
    let groups = |matrix: &BitMatrix| {
        Work::of_bits(matrix, false, 16, &DeviceLimits::H200).map(|work| work.calls()[0].groups)
    };
    assert_eq!(groups(&matrix), Ok(1 << 15));
    // Rows of a stack are counted in 32 bits.
    assert_eq!(groups(&BitMatrix { batch: 1 << 30, ..matrix }), Ok(1 << 30));
    // A thread transposes eight codes.
    assert_eq!(groups(&BitMatrix { rows: 2, cols: 4, ..matrix }), Ok(1 << 12));
}
