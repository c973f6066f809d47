//! What a calibration tries.

use turntile_plan::Problem;

/// Problems of about so many bytes: sides, bytes of an element, and of some the axes.
pub fn in_place(bytes: usize) -> Vec<Problem> {
    let elements = |elem_bytes: usize| bytes / elem_bytes;
    let mut all = Vec::new();
    let mut matrix = |rows: usize, cols: usize, elem_bytes| {
        all.extend(Problem::new(rows.max(1), cols.max(1), elem_bytes));
    };
    for elem_bytes in [4, 1, 2, 8, 16, 3, 12, 6, 24] {
        // The side of a square, as a multiple of 60.
        let side = elements(elem_bytes).isqrt() / 60 * 60;
        matrix(side, side, elem_bytes);
        matrix(side * 4 / 3, side * 3 / 4, elem_bytes);
        matrix(side + 1, side - 1, elem_bytes);
        matrix(elements(elem_bytes) / 8, 8, elem_bytes);
        matrix(6, elements(elem_bytes) / 6, elem_bytes);
    }
    for few in [3, 19, 64] {
        matrix(elements(4) / few, few, 4);
        matrix(few, elements(4) / few, 4);
    }
    let side = elements(4).isqrt();
    // Powers of two, whose cycles are short.
    matrix(side.next_power_of_two() / 2, side.next_power_of_two() / 2 * 3 / 4, 4);
    let images = (elements(4) / (96 * 56 * 56)).max(1);
    let cube = (1..).take_while(|k| k * k * k * 7 <= elements(4)).last().unwrap_or(1);
    for (extents, axes) in [
        (vec![images, 96, 56, 56], vec![0, 2, 3, 1]),
        (vec![images, 56, 56, 96], vec![0, 3, 1, 2]),
        (vec![cube, 2 * cube, 7 * cube / 2], vec![2, 1, 0]),
        (vec![elements(4) / (16 * 24 * 128), 16, 24, 128], vec![0, 2, 1, 3]),
        (vec![elements(4) / (395 * 32), 395, 32], vec![1, 0, 2]),
    ] {
        all.extend(Problem::permuted(&extents, &axes, 4));
    }
    all
}

/// Problems that are tried from one buffer to another: matrices of each word, skinny ones and other axes.
pub fn out_of_place(bytes: usize) -> Vec<Problem> {
    let mut all = Vec::new();
    for elem_bytes in [4, 1, 2, 8, 16, 12] {
        let side = (bytes / elem_bytes).isqrt() / 60 * 60;
        all.extend(Problem::new(side, side, elem_bytes));
        all.extend(Problem::new(side + 1, side - 1, elem_bytes));
    }
    let elements = bytes / 4;
    all.extend(Problem::new(elements / 8, 8, 4));
    all.extend(Problem::new(8, elements / 8, 4));
    all.extend(Problem::with_batch((elements / (64 * 48)).max(1), 64, 48, 4));
    let images = (elements / (96 * 56 * 56)).max(1);
    all.extend(Problem::permuted(&[images, 96, 56, 56], &[0, 2, 3, 1], 4));
    all.extend(Problem::permuted(&[images, 56, 56, 96], &[3, 1, 0, 2], 4));
    all.iter().flat_map(Problem::out_of_place).collect()
}

/// In place and from one buffer to another.
pub fn both(bytes: usize) -> Vec<Problem> {
    let mut all = in_place(bytes);
    all.extend(out_of_place(bytes));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problems_are_as_large_as_asked_for() {
        for bytes in [4 << 20, 192 << 20, 1 << 30] {
            for problem in both(bytes) {
                let share = problem.bytes() as f64 / bytes as f64;
                assert!((0.15..1.02).contains(&share), "{problem}: {share}");
            }
        }
    }
}
