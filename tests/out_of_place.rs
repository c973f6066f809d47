//! `transpose_into` on the host against the naive transposition.

use proptest::prelude::*;
use turntile::{Error, Transpose, transpose_into};
use turntile_cpu::oracle;

/// Elements of `N` bytes.
fn check<const N: usize>(batch: usize, rows: usize, cols: usize, threads: usize) {
    let before = oracle::numbered(batch * rows * cols, N);
    let want = oracle::transposed(&before, batch, rows, cols, N);
    let elements = |bytes: &[u8]| -> Vec<[u8; N]> { bytes.as_chunks().0.to_vec() };
    let (src, want) = (elements(&before), elements(&want));
    let mut dst = vec![[0xA5; N]; src.len()];
    let transpose = Transpose::new(rows, cols).batch(batch).threads(threads);
    transpose.run_into(&mut dst, &src).unwrap();
    assert!(dst == want, "{batch} x {rows} x {cols}, {N} bytes, {threads} threads");
}

fn every_word(batch: usize, rows: usize, cols: usize, threads: usize) {
    check::<1>(batch, rows, cols, threads);
    check::<2>(batch, rows, cols, threads);
    check::<3>(batch, rows, cols, threads);
    check::<4>(batch, rows, cols, threads);
    check::<8>(batch, rows, cols, threads);
    check::<12>(batch, rows, cols, threads);
    check::<16>(batch, rows, cols, threads);
    check::<20>(batch, rows, cols, threads);
    check::<40>(batch, rows, cols, threads);
}

#[test]
fn all_small_shapes() {
    for rows in 0..=36 {
        for cols in 0..=36 {
            every_word(1 + (rows + cols) % 3, rows, cols, 1);
        }
    }
}

#[test]
fn shapes_that_threads_share() {
    for (batch, rows, cols) in [
        (1, 1000, 777),
        (1, 300_000, 3),
        (1, 3, 300_000),
        (1, 70_001, 17),
        (50, 130, 90),
        (1, 1, 1_000_000),
    ] {
        for threads in [2, 3, 8] {
            check::<4>(batch, rows, cols, threads);
            check::<1>(batch, rows, cols, threads);
            check::<16>(batch, rows, cols, threads);
        }
    }
}

#[test]
fn lengths_are_checked_and_nothing_is_touched() {
    let src: Vec<u32> = (0..6).collect();
    for (got, dst_len, src_len) in [(5, 5, 6), (5, 6, 5), (0, 0, 6), (7, 7, 6)] {
        let mut dst = vec![9u32; dst_len];
        let src: Vec<u32> = src.iter().copied().cycle().take(src_len).collect();
        let answer = transpose_into(&mut dst, &src, 2, 3);
        assert_eq!(answer, Err(Error::Length { batch: 1, rows: 2, cols: 3, expected: 6, got }));
        assert!(dst.iter().all(|&x| x == 9));
    }
    let answer = transpose_into(&mut [0u8; 2], &[0; 2], usize::MAX, 3);
    assert_eq!(answer, Err(Error::Overflow { batch: 1, rows: usize::MAX, cols: 3 }));
    transpose_into(&mut [(); 6], &[(); 6], 2, 3).unwrap();
    transpose_into::<u8>(&mut [], &[], 0, usize::MAX).unwrap();
}

proptest! {
    #[test]
    fn any_shape(batch in 1usize..4, rows in 0usize..400, cols in 0usize..400, threads in 1usize..5) {
        check::<2>(batch, rows, cols, threads);
        check::<4>(batch, rows, cols, threads);
        check::<8>(batch, rows, cols, threads);
    }

    #[test]
    fn one_short_side(short in 1usize..70, long in 1usize..20_000, threads in 1usize..5) {
        check::<4>(1, long, short, threads);
        check::<1>(1, short, long, threads);
    }
}
