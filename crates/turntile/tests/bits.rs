//! Matrices of elements of 1, 2 or 4 bits, compared with an element-by-element reference.

use proptest::prelude::*;
use turntile::ErrorKind;
use turntile::bits::{BitOrder, Bits, PackedMatrix};

const ALL: [Bits; 3] = [Bits::One, Bits::Two, Bits::Four];
const ORDERS: [BitOrder; 2] = [BitOrder::Big, BitOrder::Little];

/// Batch, rows and columns of matrices, and how their elements are packed.
#[derive(Clone, Copy, Debug)]
struct Case {
    shape: [usize; 3],
    bits: Bits,
    order: BitOrder,
}

impl Case {
    fn matrix(&self) -> PackedMatrix {
        let [batch, rows, cols] = self.shape;
        PackedMatrix::new(rows, cols, self.bits, self.order).batch(batch)
    }

    /// Returns bytes without a pattern, padding bits too.
    fn drawn(&self, seed: u64) -> Vec<u8> {
        let mut state = seed ^ 0x9E37_79B9_7F4A_7C15;
        let next = |_| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 56) as u8
        };
        (0..self.matrix().bytes().unwrap()).map(next).collect()
    }

    /// Transposes one element after another, into bytes whose padding bits are 0.
    fn expected(&self, from: &[u8]) -> Vec<u8> {
        let [batch, rows, cols] = self.shape;
        let (per_byte, width) = (self.bits.per_byte(), self.bits.count());
        let shift = |at: usize| match self.order {
            BitOrder::Little => at % per_byte * width,
            BitOrder::Big => (per_byte - 1 - at % per_byte) * width,
        };
        let [from_row, to_row] = [cols, rows].map(|side| side.div_ceil(per_byte));
        let mut to = vec![0; batch * cols * to_row];
        for n in 0..batch {
            for (i, j) in (0..rows).flat_map(|i| (0..cols).map(move |j| (i, j))) {
                let byte = from[(n * rows + i) * from_row + j / per_byte];
                let element = byte >> shift(j) & ((1u16 << width) - 1) as u8;
                to[(n * cols + j) * to_row + i / per_byte] |= element << shift(i);
            }
        }
        to
    }

    /// Checks both directions into another buffer and, if no row ends within a byte, in place.
    fn check(&self, seed: u64) {
        let from = self.drawn(seed);
        let expected = self.expected(&from);
        let mut to = vec![0xA5; expected.len()];
        self.matrix().transpose_into(&from, &mut to).unwrap();
        assert!(to == expected, "{self:?} into another buffer");

        let [_, rows, cols] = self.shape;
        let is_whole = [rows, cols].iter().all(|side| side % self.bits.per_byte() == 0);
        let in_place = if is_whole { &expected } else { &from };
        for matrix in [self.matrix(), self.matrix().threads(2)] {
            let mut data = from.clone();
            let done = matrix.transpose_in_place(&mut data);
            assert_eq!(done.is_ok(), is_whole, "{self:?}");
            assert!(data == *in_place, "{self:?} in place");
        }
    }
}

fn packings() -> impl Iterator<Item = (Bits, BitOrder)> {
    ALL.into_iter().flat_map(|bits| ORDERS.map(|order| (bits, order)))
}

#[test]
fn all_small_matrices_are_transposed() {
    let most = crate::largest_side();
    for (bits, order) in packings() {
        for (rows, cols) in (0..=most).flat_map(|rows| (0..=most).map(move |cols| (rows, cols))) {
            for batch in [1, 3] {
                Case { shape: [batch, rows, cols], bits, order }.check(7);
            }
        }
    }
}

/// Covers matrices beyond one thread, one tile and the arrays that need no plan.
#[test]
fn large_matrices_are_transposed_on_several_threads() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    for (bits, order) in packings() {
        let p = bits.per_byte();
        for [batch, rows, cols] in [
            [1, 600 * p, 400 * p],
            [1, 500 * p, 500 * p],
            [1, 2 * p, 100_000 * p],
            [1, 200_000 * p, p],
            [5, 200 * p, 129 * p],
            [2, 500 * p + 1, 300 * p - 1],
            [0, 3 * p, p],
            [200_001, 2, p],
            [200_001, 3, 2],
        ] {
            let case = Case { shape: [batch, rows, cols], bits, order };
            case.check(11);
            pool.install(|| case.check(12));
        }
    }
}

#[test]
fn lengths_and_sides_are_checked() {
    let matrix = |rows, cols| PackedMatrix::new(rows, cols, Bits::Two, BitOrder::Big);
    let mut data = [1, 2, 3, 4, 5, 6, 7, 8];
    for (rows, cols, kind, text) in [
        (6, 8, ErrorKind::Shape, "both sides of 6 x 8 elements must be multiples of 4"),
        (8, 3, ErrorKind::Shape, "both sides of 8 x 3 elements must be multiples of 4"),
        (4, 16, ErrorKind::Length { expected: 16, got: 8 }, "16"),
        (1 << 63, 1 << 63, ErrorKind::TooLarge, ""),
    ] {
        let error = matrix(rows, cols).transpose_in_place(&mut data).unwrap_err();
        assert_eq!(error.kind(), kind);
        assert!(error.to_string().contains(text), "{error}");
        assert_eq!(data, [1, 2, 3, 4, 5, 6, 7, 8]);
    }
    let error = matrix(3, 9).transpose_into(&[0; 9], &mut [0; 8]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Length { expected: 9, got: 8 });
    let error = matrix(3, 9).transpose_into(&[0; 8], &mut [0; 9]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Length { expected: 9, got: 8 });
    assert_eq!(Bits::new(3), None);
    assert!(ALL.iter().all(|&bits| Bits::new(bits.count()) == Some(bits)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if crate::largest_side() > 20 { 10_000 } else { 2_000 }))]

    #[test]
    fn drawn_matrices_are_transposed(
        shape in [0usize..4, 0usize..150, 0usize..150],
        is_whole in any::<bool>(),
        which in 0usize..6,
        seed in any::<u64>(),
    ) {
        let (bits, order) = packings().nth(which).unwrap();
        let round = |side: usize| if is_whole { side.next_multiple_of(bits.per_byte()) } else { side };
        let [batch, rows, cols] = shape;
        Case { shape: [batch, round(rows), round(cols)], bits, order }.check(seed);
    }
}
