mod ways;

use crate::*;
use std::panic::AssertUnwindSafe;
use std::sync::{Mutex, PoisonError};

fn filled(units: usize, unit: usize) -> Vec<Byte> {
    (0..units * unit).map(|k| Byte::new((k * 7 + k / 256) as u8)).collect()
}

fn bytes(unit: &[Byte]) -> Vec<u8> {
    // Every byte of these tests' buffers is written before it is read.
    unit.iter().map(initialised).collect()
}

#[expect(unsafe_code, reason = "reads bytes that the tests have initialised")]
fn initialised(byte: &Byte) -> u8 {
    // SAFETY: `filled` initialises the sources, `vec![Byte::new(..)]` the destinations.
    unsafe { byte.assume_init() }
}

/// Iterates over all numbers. Under Miri, which takes a thousand times as long, iterates over every
/// `nth` one.
fn some<const N: usize>(all: [usize; N], nth: usize) -> impl Iterator<Item = usize> {
    all.into_iter().step_by(if cfg!(miri) { nth } else { 1 })
}

/// Runs `test` with each kernel set that this machine can run. A lock runs one test at a time,
/// because the active set belongs to the whole process.
fn with_each_kernel(test: impl Fn(&KernelSet)) {
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    for row in KERNELS.iter().filter(|row| (row.available)()) {
        assert!(force(row.name));
        test(row);
    }
}

/// Checks copies and transpositions of extents around the height and width of every vector, with
/// and without gaps between rows. Gaps of the result must be unchanged.
#[test]
fn every_kernel_extent_and_unit() {
    assert!(!force("none of that name"));
    assert_eq!(KERNELS.last().map(|row| row.name), Some("portable"));
    with_each_kernel(|row| {
        for len in (0..70).step_by(if cfg!(miri) { 23 } else { 1 }).chain([127, 128, 1000]) {
            for (from, to) in [(0, 0), (1, 0), (0, 1), (40, 7)] {
                let (a, mut b) = (filled(from + 2 * len, 1), filled(to + 3 * len + 3, 1));
                let mut want = bytes(&b);
                want[to..to + len].copy_from_slice(&bytes(&a)[from + len..]);
                want[to + 2 * len..to + 3 * len].copy_from_slice(&bytes(&a)[from..from + len]);
                copy_two(&a[from..], &mut b[to..to + 3 * len], len);
                assert!(bytes(&b) == want, "{} {len} {from} {to}", row.name);
            }
        }
        for unit in some([1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 32, 33, 48, 49, 64, 65], 3) {
            for rows in some([1, 2, 3, 4, 5, 6, 7, 8, 15, 16, 17, 31, 33, 64, 67, 130], 6) {
                for cols in some([1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 18, 35, 64, 65, 131], 11) {
                    for gap in [0, 2] {
                        check(rows, cols, cols + gap, rows + gap / 2, unit);
                    }
                }
            }
        }
    });
}

/// Copies two runs: the second to the start of `to`, the first to its end. The run between them is
/// unchanged.
#[expect(unsafe_code, reason = "the call is unsafe")]
fn copy_two(from: &[Byte], to: &mut [Byte], len: usize) {
    let [first, second] = [&from[..len], &from[len..][..len]].map(|run| run.as_ptr());
    assert!(to.len() >= 3 * len);
    let (start, ahead) = (to.as_mut_ptr(), std::ptr::null());
    // Derived from `start`: a new borrow of `to` would invalidate that pointer.
    let end = start.wrapping_add(2 * len);
    let transfers = [
        CopyJob { from: second, to: start, ahead },
        CopyJob { from: first, to: end, ahead: first },
    ];
    // SAFETY: runs of a borrow and of an exclusive one.
    unsafe { copy_jobs_raw(&transfers, len) };
}

/// Checks swaps of squares by every kernel set and word size, disjoint and identical, in rows with
/// gaps, which must be unchanged.
#[test]
fn squares_change_places() {
    with_each_kernel(|_| {
        for unit in [1, 2, 4, 8, 16] {
            for side in [64 / unit, 128 / unit, 17] {
                // Two squares next to each other, then a gap; or rows that share cache sets.
                for cols in [2 * side + 1, if cfg!(miri) { 3 * side } else { 4096 / unit }] {
                    check_squares(side, cols, unit);
                }
            }
        }
        assert!(SquareSwap::new(64, 3).is_none(), "units of three bytes have no squares");
    });
}

#[expect(unsafe_code, reason = "the call is unsafe")]
fn check_squares(side: usize, cols: usize, unit: usize) {
    let was = bytes(&filled(side * cols, unit));
    for other in [0, side] {
        let mut data = filled(side * cols, unit);
        let start = data.as_mut_ptr();
        let at = [start, start.wrapping_add(other * unit)];
        let rows = StridedRegion {
            start: std::ptr::null(),
            count: side,
            bytes: side * unit,
            pitch: 1 << 20,
        };
        let mut lines = PrefetchCursor::new(rows, rows);
        let swap = SquareSwap::new(side, unit);
        if let Some(swap) = swap {
            // SAFETY: both squares are in `data`, and are identical or next to each other.
            unsafe { swap.swap_raw(at, cols * unit, &mut lines) };
        }
        let done = swap.is_some();
        let fits = active().vector_bytes > 0 && (side * unit).is_multiple_of(active().vector_bytes);
        assert_eq!(done, fits);
        if done && (side * unit).is_multiple_of(64) {
            let lines_of_one = side * side * unit / 64;
            let left = if other == 0 { lines_of_one } else { 0 };
            assert_eq!(lines.left(), left, "{} {side} {unit}", active().name);
        }
        let now = bytes(&data);
        for i in 0..side {
            for j in 0..cols {
                let (square, col) = (j / side, j % side);
                let moves = done && (square == 0 || square * side == other);
                let source = match square * side {
                    _ if !moves => i * cols + j,
                    0 => col * cols + other + i,
                    _ => col * cols + i,
                };
                let (got, want) = (&now[(i * cols + j) * unit..], &was[source * unit..]);
                assert_eq!(got[..unit], want[..unit], "{} {side} {unit} {other}", active().name);
            }
        }
    }
}

#[expect(unsafe_code, reason = "calls a function that checks no lengths")]
fn check(rows: usize, cols: usize, from_pitch: usize, to_pitch: usize, unit: usize) {
    let block = BlockShape { rows, cols, from_pitch, to_pitch };
    let from = filled(block.from_len(), unit);
    let was = bytes(&from);
    let flips = [[false, false], [true, false], [false, true], [true, true]];
    for flips in [None].into_iter().chain(flips.map(Some)) {
        let mut to = vec![Byte::new(0xAA); cols * to_pitch * unit];
        if let Some(flips) = flips {
            // SAFETY: the buffers are distinct and have the length that the block requires.
            unsafe { turn_raw(from.as_ptr(), to.as_mut_ptr(), block, unit, flips) };
        } else {
            transpose(&from, &mut to[..block.to_len() * unit], block, unit);
        }
        let now = bytes(&to);
        for j in 0..cols {
            for i in 0..to_pitch {
                let got = &now[(j * to_pitch + i) * unit..][..unit];
                if i < rows {
                    let [reversed_rows, reversed_cols] = flips.unwrap_or_default();
                    let row = if reversed_cols { rows - 1 - i } else { i };
                    let col = if reversed_rows { cols - 1 - j } else { j };
                    let want = &was[(row * from_pitch + col) * unit..][..unit];
                    let name = active().name;
                    assert_eq!(got, want, "{name} {block:?} {flips:?} unit {unit} at {i}, {j}");
                } else {
                    assert!(got.iter().all(|&byte| byte == 0xAA), "a gap was written");
                }
            }
        }
    }
}

/// Checks that each safe function panics if a buffer is one byte short. The memory after the buffer
/// also belongs to the test.
#[test]
fn buffers_too_short_are_refused() {
    let refused = |call: &dyn Fn(&[Byte], &mut [Byte])| {
        let (from, mut to) = (filled(512, 1), filled(512, 1));
        let call = AssertUnwindSafe(|| call(&from, &mut to));
        std::panic::catch_unwind(call).is_err()
    };
    let block = BlockShape { rows: 3, cols: 2, from_pitch: 5, to_pitch: 7 };
    with_each_kernel(|row| {
        for unit in [1, 3, 4] {
            for (from_short, to_short) in [(0, 0), (1, 0), (0, 1)] {
                let lens = [12 * unit - from_short, 10 * unit - to_short];
                let call = |from: &[Byte], to: &mut [Byte]| {
                    transpose(&from[..lens[0]], &mut to[..lens[1]], block, unit);
                };
                let short = from_short + to_short > 0;
                assert_eq!(refused(&call), short, "{} {unit} {lens:?}", row.name);
            }
        }
        // A run of two lines is copied into and out of a ring of four.
        for (run, room, start, short) in [
            (128, 256, 255, false),
            (128, 255, 255, true),
            (128, 256, 256, true),
            (257, 256, 0, true),
        ] {
            let name = row.name;
            let into = |from: &[Byte], to: &mut [Byte]| {
                copy_into_ring(&from[..run], &mut to[..room + 2 * CACHE_LINE], start, 256);
            };
            assert_eq!(refused(&into), short, "{name} {run} into {room} at {start}");
            let out = |from: &[Byte], to: &mut [Byte]| {
                copy_from_ring(&from[..room], start, 256, &mut to[..run]);
            };
            assert_eq!(refused(&out), short, "{name} {run} from {room} at {start}");
        }
    });
}

#[test]
fn nothing_to_move_touches_nothing() {
    with_each_kernel(|_| {
        for (rows, cols) in [(0, 0), (0, 5), (5, 0), (0, usize::MAX), (usize::MAX, 0)] {
            for unit in [1, 2, 3, 4, 8, 16] {
                transpose(
                    &[],
                    &mut [],
                    BlockShape { rows, cols, from_pitch: cols, to_pitch: rows },
                    unit,
                );
            }
        }
    });
}

/// Checks that the pitch of a single row or column is not used.
#[test]
fn a_single_row_may_have_any_pitch() {
    with_each_kernel(|row| {
        for unit in [1, 2, 3, 4, 8, 16] {
            for pitch in [usize::MAX / 2, usize::MAX] {
                for (rows, cols) in [(1, 1), (1, 5), (5, 1), (1, 40), (40, 1)] {
                    let from_pitch = if rows == 1 { pitch } else { cols };
                    let to_pitch = if cols == 1 { pitch } else { rows };
                    let from = filled(rows * cols, unit);
                    let mut to = vec![Byte::new(0); from.len()];
                    transpose(
                        &from,
                        &mut to,
                        BlockShape { rows, cols, from_pitch, to_pitch },
                        unit,
                    );
                    assert_eq!(bytes(&from), bytes(&to), "{} {rows}x{cols} of {unit}", row.name);
                }
            }
        }
    });
}

/// Checks that pointers and uninitialised bytes are copied unchanged. Miri reports reads of
/// uninitialised bytes, and pointers without provenance.
#[test]
#[expect(unsafe_code, reason = "reads pointers as bytes, and the calls are unsafe")]
fn copies_keep_pointers_and_bytes_that_are_not_initialised() {
    use std::mem::MaybeUninit;
    const COUNT: usize = 40;
    type Pointers<'a> = [MaybeUninit<&'a u64>; COUNT];
    let numbers: Vec<u64> = (0..COUNT as u64).collect();
    // Every third pointer is uninitialised.
    let is_there = |k: usize| k % 3 != 2;
    let none = || [MaybeUninit::uninit(); COUNT];
    let mut from: Pointers = none();
    (0..COUNT).filter(|&k| is_there(k)).for_each(|k| from[k] = MaybeUninit::new(&numbers[k]));
    let check = |to: &Pointers, count: usize, what: &str| {
        for k in (0..count).filter(|&k| is_there(k)) {
            // SAFETY: a copy of an initialised reference.
            assert_eq!(unsafe { *to[k].assume_init() }, k as u64, "{what} {k}");
        }
    };
    let bytes_of = |pointers: &mut Pointers<'_>| {
        let (start, len) = (pointers.as_mut_ptr(), size_of_val(pointers));
        // SAFETY: the bytes of an exclusive borrow, used before the pointers are read again.
        unsafe { std::slice::from_raw_parts_mut(start.cast::<Byte>(), len) }
    };
    with_each_kernel(|row| {
        for len in [8, 64, 128, 200, 8 * COUNT] {
            let mut to = none();
            let mut source = from;
            let source = bytes_of(&mut source);
            let (start, dest) = (source.as_ptr(), bytes_of(&mut to).as_mut_ptr());
            let transfer = CopyJob { from: start, to: dest, ahead: start };
            // SAFETY: `len` bytes of each of two buffers.
            unsafe { copy_jobs_raw(&[transfer], len) };
            check(&to, len / 8, row.name);
            let mut to = none();
            // SAFETY: `len` bytes of each of two buffers.
            unsafe { copy_nontemporal(&source[..len], bytes_of(&mut to).as_mut_ptr()) };
            fence();
            check(&to, len / 8, "streamed");
        }
        let (mut source, mut ring, mut back) = (from, none(), none());
        let (source, ring) = (bytes_of(&mut source), bytes_of(&mut ring));
        copy_into_ring(&source[..128], ring, 128, 192);
        let out = bytes_of(&mut back);
        copy_from_ring(&ring[CACHE_LINE..][..192], 128, 192, &mut out[..128]);
        check(&back, 16, row.name);
    });
}

/// Checks copies of whole lines and of other lengths into a ring buffer and out again, from every
/// start.
#[test]
fn rings_run_on_at_their_start() {
    const WRAP: usize = 256;
    with_each_kernel(|row| {
        for len in some([0, 1, 63, 64, 100, 128, 192, WRAP], 3) {
            let run = filled(len, 1);
            for start in (0..WRAP).step_by(if cfg!(miri) { 37 } else { 1 }) {
                let place = |k: usize| (start + k) % WRAP;
                let mut ring = filled(WRAP + 2 * CACHE_LINE, 1);
                let was = bytes(&ring);
                copy_into_ring(&run, &mut ring, start, WRAP);
                let now = bytes(&ring[CACHE_LINE..][..WRAP]);
                let mut want = was[CACHE_LINE..][..WRAP].to_vec();
                (0..len).for_each(|k| want[place(k)] = bytes(&run[k..=k])[0]);
                assert_eq!(now, want, "{} {len} from {start}", row.name);

                // The bytes after the ring's end repeat the first ones, or do not exist.
                let (first, again) = ring[CACHE_LINE..].split_at_mut(WRAP);
                again.copy_from_slice(&first[..CACHE_LINE]);
                for room in [WRAP, WRAP + CACHE_LINE] {
                    let mut back = vec![Byte::new(0); len];
                    copy_from_ring(&ring[CACHE_LINE..][..room], start, WRAP, &mut back);
                    assert_eq!(bytes(&back), bytes(&run), "{} {len} from {start}", row.name);
                }
            }
        }
    });
}
