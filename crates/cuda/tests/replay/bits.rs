//! `bits.cu`: tiles of elements of 1, 2 or 4 bits, through shared memory.

use std::collections::HashSet;

use turntile_cuda::args::{Args, BitsSmallArgs, Divisor32};
use turntile_cuda::launch::Launch;

use super::device::div32;

/// Geometry of a kernel: elements per byte, bytes of a word, bytes of a row of a tile.
#[derive(Clone, Copy)]
struct Kernel {
    p: usize,
    e: usize,
    line: usize,
    threads: usize,
    big: bool,
}

/// Rows of a tile in memory: address of the first byte, pitch, rows, and bytes of a row.
type Tile = [usize; 4];

impl Kernel {
    fn of(call: &Launch, big: u32) -> Self {
        let name: Vec<&str> = call.entry.split('_').collect();
        let p = 8 / name[2].parse::<usize>().expect("a number of bits");
        let (line, threads) = if p == 2 { (128, 512) } else { (64, 256) };
        assert_eq!(call.threads as usize, threads, "{call:?}");
        Kernel { p, e: if name[3] == "words" { 4 } else { 1 }, line, threads, big: big == 1 }
    }

    fn place(self, row: usize, byte: usize) -> usize {
        let number = row / (self.e * self.p);
        let row = if self.line < 128 { row ^ (number & 1) } else { row };
        row * self.line + (byte + number * 4) % self.line
    }

    /// Returns the shift of element `k` of a byte.
    fn shift(self, k: usize) -> usize {
        8 / self.p * if self.big { self.p - 1 - k } else { k }
    }

    fn load(
        self,
        shared: &mut [Option<u8>],
        memory: &[u8],
        [from, pitch, rows, bytes]: Tile,
        small: Option<&Divisor32>,
    ) {
        let Kernel { p, e, line, .. } = self;
        let of_square = |unit: usize| {
            small.map_or(0, |small| (div32(small, unit as u32) * small.divisor) as usize)
        };
        for i in (0..line / e).filter(|i| i * e * p < rows) {
            for j in (0..line / e).filter(|j| j * e < bytes) {
                let (square_row, square_col) = (of_square(i), of_square(j));
                let to_row = (square_row + j - square_col) * e * p;
                let to_byte = (square_col + i - square_row) * e;
                // A word is loaded whole.
                assert!((j + 1) * e <= bytes);
                for (x, y) in (0..e).flat_map(|x| (0..e).map(move |y| (x, y))) {
                    // Micro-block of byte `y` of the words of the rows from `x * p` on.
                    let byte = |r: usize| {
                        let row = (i * e + x) * p + r;
                        let at = from + row * pitch + j * e;
                        assert!(at.is_multiple_of(e));
                        if row < rows { memory[at + y] } else { 0 }
                    };
                    for q in 0..p {
                        let element =
                            |r: usize| byte(r) >> self.shift(q) & (u8::MAX >> (8 - 8 / p));
                        let value = (0..p).map(|r| element(r) << self.shift(r)).sum();
                        let to = self.place(to_row + y * p + q, to_byte) + x;
                        assert_eq!(shared[to].replace(value), None, "written twice");
                    }
                }
            }
        }
    }

    fn store(
        self,
        shared: &[Option<u8>],
        memory: &mut [u8],
        written: &mut [usize],
        [to, pitch, rows, bytes]: Tile,
    ) {
        for row in 0..rows {
            for byte in (0..bytes).step_by(self.e) {
                let at = to + row * pitch + byte;
                assert!(at.is_multiple_of(self.e) && byte + self.e <= bytes);
                for k in 0..self.e {
                    let value = shared[self.place(row, byte) + k].expect("written before");
                    (memory[at + k], written[at + k]) = (value, written[at + k] + 1);
                }
            }
        }
    }

    /// Checks that the words that a warp stores or loads at the same time are in different banks.
    fn has_no_conflicts(self) {
        let across = self.line / 4;
        let banks = |places: Vec<usize>| {
            let banks: HashSet<usize> = places.iter().map(|place| place / 4 % 32).collect();
            assert_eq!(banks.len(), 32, "{places:?}");
        };
        for first in (0..self.threads).step_by(32) {
            let lanes = || (first..first + 32).map(|thread| (thread / across, thread % across));
            for r in 0..4 * self.p {
                banks(lanes().map(|(i, j)| self.place(j * 4 * self.p + r, i * 4)).collect());
            }
            banks(lanes().map(|(row, word)| self.place(row, word * 4)).collect());
        }
    }
}

/// Runs all blocks on `memory`, in which the result starts at `to` and the source at `from`; in
/// place they are equal. Returns how often each byte was written.
///
/// # Panics
/// If a block accesses bytes outside the matrices' tiles, or reads what was not written.
pub fn execute(call: &Launch, memory: &mut [u8], to: usize, from: usize) -> Vec<usize> {
    let mut written = vec![0; memory.len()];
    if let Args::BitsSmall(a) = &call.params {
        small(call, a, memory, &mut written, to, from);
        return written;
    }
    let mut run = |kernel: Kernel, tiles: &[(Tile, Tile)], small: Option<&Divisor32>| {
        let tile = kernel.line * kernel.line * kernel.p;
        assert!(tiles.len() * tile <= call.shared_bytes as usize, "{call:?}");
        let mut shared = vec![None; call.shared_bytes as usize];
        for (k, &(source, _)) in tiles.iter().enumerate() {
            kernel.load(&mut shared[k * tile..][..tile], memory, source, small);
        }
        for (k, &(_, result)) in tiles.iter().enumerate() {
            kernel.store(&shared[k * tile..][..tile], memory, &mut written, result);
        }
    };
    for block in 0..call.groups {
        match &call.params {
            Args::Bits(a) => {
                let kernel = Kernel::of(call, a.big);
                if kernel.e == 4 && block == 0 {
                    kernel.has_no_conflicts();
                }
                let (p, line, pitch) = (kernel.p, kernel.line, a.pitch as usize);
                let square = div32(&a.pairs, block);
                let band = div32(&a.across, square);
                let matrix = div32(&a.down, band);
                let [side, rows, cols] = [a.side, a.rows, a.cols].map(|extent| extent as usize);
                let col = (square - band * a.across.divisor) as usize * side;
                let row = (band - matrix * a.down.divisor) as usize * side * p;
                let (rows, cols) = ((side * p).min(rows - row), side.min(cols - col));
                let across = side.div_ceil(line);
                let pairs = (0..across).flat_map(|i| (i..across).map(move |j| (i, j)));
                // The order of pairs matters to speed only.
                let number = (block - square * a.pairs.divisor) as usize;
                let (i, j) = pairs.into_iter().nth(number).expect("a pair for each block");
                let first = from + matrix as usize * a.matrix_bytes as usize + row * pitch + col;
                let tile = |i: usize, j: usize| {
                    let height = (line * p).min(rows - i * line * p);
                    let width = line.min(cols - j * line);
                    [first + i * line * p * pitch + j * line, pitch, height, width]
                };
                let both = [(tile(i, j), tile(j, i)), (tile(j, i), tile(i, j))];
                run(kernel, &both[..if i == j { 1 } else { 2 }], Some(&a.small));
            }
            Args::BitsInto(a) => {
                let kernel = Kernel::of(call, a.big);
                let (p, line, o) = (kernel.p, kernel.line, &a.order);
                let matrix = div32(&o.matrix, block);
                let number = block - matrix * o.matrix.divisor;
                let swath = div32(&o.swath, number);
                let high = o.high.min(o.down - swath * o.high);
                let number = number - swath * o.swath.divisor;
                let (i, j) = (swath * o.high + number % high, number / high);
                let [i, j, matrix] = [i, j, matrix].map(|number| number as usize);
                let side = line * p;
                let rows = side.min(a.rows as usize - i * side);
                let cols = side.min(a.cols as usize - j * side);
                let (from_pitch, to_pitch) = (a.from_pitch as usize, a.to_pitch as usize);
                let source = from + matrix * a.from_matrix_bytes as usize;
                let source = source + i * side * from_pitch + j * line;
                let result = to + matrix * a.to_matrix_bytes as usize;
                let result = result + j * side * to_pitch + i * line;
                let source = [source, from_pitch, rows, cols.div_ceil(p)];
                run(kernel, &[(source, [result, to_pitch, cols, rows.div_ceil(p)])], None);
            }
            _ => panic!("{call:?}"),
        }
    }
    written
}

/// Runs threads that transpose a matrix each.
fn small(
    call: &Launch,
    a: &BitsSmallArgs,
    memory: &mut [u8],
    written: &mut [usize],
    to: usize,
    from: usize,
) {
    let bits: usize = call.entry.rsplit('_').next().unwrap().parse().expect("a number of bits");
    let p = 8 / bits;
    let [rows, cols, word] = [a.rows, a.cols, a.word].map(|number| number as usize);
    let [from_bytes, to_bytes] = [a.from_bytes, a.to_bytes].map(|number| number as usize);
    let [from_row, to_row] = [cols, rows].map(|side| side.div_ceil(p) * p);
    let reversed = if a.big == 1 { p - 1 } else { 0 };
    assert!(u64::from(call.groups) * u64::from(call.threads) >= a.matrices, "{call:?}");
    assert!(word == 1 || [from_bytes, to_bytes] == [word; 2], "{call:?}");
    for matrix in 0..a.matrices as usize {
        let (source, result) = (from + matrix * from_bytes, to + matrix * to_bytes);
        assert!(source.is_multiple_of(word) && result.is_multiple_of(word));
        let mut bytes = [0; 8];
        bytes[..from_bytes].copy_from_slice(&memory[source..][..from_bytes]);
        let (value, mut turned) = (u64::from_le_bytes(bytes), 0);
        for (r, c) in (0..rows).flat_map(|r| (0..cols).map(move |c| (r, c))) {
            let element = value >> (((r * from_row + c) ^ reversed) * bits) & ((1 << bits) - 1);
            turned |= element << (((c * to_row + r) ^ reversed) * bits);
        }
        memory[result..][..to_bytes].copy_from_slice(&turned.to_le_bytes()[..to_bytes]);
        written[result..][..to_bytes].iter_mut().for_each(|times| *times += 1);
    }
}
