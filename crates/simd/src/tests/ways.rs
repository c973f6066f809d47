//! Which way each kernel takes: a right result says nothing about it.

use super::{filled, with_each_kernel};
use crate::trace::{CodePath, taken};
use crate::*;

/// The ways of one `rows x cols` block of words of `word` bytes, in rows and columns without gaps or with.
fn ways(word: usize, rows: usize, cols: usize, gap: usize) -> Vec<CodePath> {
    let block = BlockShape { rows, cols, from_pitch: cols + gap, to_pitch: rows + gap };
    let from = filled(block.from_len(), word);
    let mut to = vec![Byte::new(0); block.to_len() * word];
    let safe = taken(|| transpose(&from, &mut to, block, word));
    let raw = taken(|| transpose_in(&from, &mut to, block, word));
    assert_eq!(safe, raw);
    safe
}

#[expect(unsafe_code, reason = "the call is unsafe")]
fn transpose_in(from: &[Byte], to: &mut [Byte], block: BlockShape, word: usize) {
    // SAFETY: both are as long as the block says; the borrows are exclusive of each other.
    unsafe { transpose_raw(from.as_ptr(), to.as_mut_ptr(), block, word) };
}

/// Lanes of a row's vectors.
fn lanes(row: &KernelSet) -> usize {
    row.vector_bytes / 16
}

#[test]
fn words_have_kernels_and_other_units_have_none() {
    with_each_kernel(|row| {
        for unit in 0..70 {
            let word = [1, 2, 4, 8, 16].contains(&unit);
            assert_eq!(row.of(unit).is_some(), word, "{} {unit}", row.name);
            let squares = word && row.name != "portable";
            assert_eq!(row.squares_of(64, unit).is_some(), squares, "{} {unit}", row.name);
        }
        for unit in [3, 12, 24, 5] {
            assert_eq!(ways(unit, 40, 50, 0), [("units", unit)], "{}", row.name);
        }
    });
}

#[test]
fn the_machine_s_widest_vectors_are_used() {
    let widths = KERNELS.iter().map(lanes);
    assert!(widths.is_sorted_by(|a, b| a > b), "widest first");
    with_each_kernel(|row| {
        let want = match row.name {
            "avx512" => 4,
            "avx2" => 2,
            "sse2" | "neon" => 1,
            "portable" => 0,
            name => panic!("{name} has no row here"),
        };
        assert_eq!(lanes(row), want, "{}", row.name);
        assert!(!cfg!(target_arch = "aarch64") || ["neon", "portable"].contains(&row.name));
    });
    let best = crate::dispatch::best();
    if cfg!(miri) {
        return assert_eq!(KERNELS[best].name, "portable");
    }
    assert!((KERNELS[best].available)() && !KERNELS[..best].iter().any(|row| (row.available)()));
    if cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
        assert!(lanes(&KERNELS[best]) > 0);
    }
}

/// What the rows make of one block: AVX-512's, AVX2's, SSE2's and NEON's.
struct Case {
    word: usize,
    rows: usize,
    cols: usize,
    gap: usize,
    ways: [CodePath; 4],
}

#[test]
fn blocks_of_words_go_through_vectors() {
    let case = |word, rows, cols, gap, ways| Case { word, rows, cols, gap, ways };
    let tiles = |lanes: [usize; 4]| lanes.map(|lanes| ("tiles", lanes));
    let columns = |steps: [usize; 4]| steps.map(|steps| ("few columns", steps));
    let rows = |steps: usize| [("few rows", steps); 4];
    let words = |word: usize| [("plain", word); 4];
    let cases = [
        case(1, 64, 64, 0, tiles([4, 2, 1, 1])),
        case(2, 64, 64, 3, tiles([4, 2, 1, 1])),
        case(4, 64, 64, 0, tiles([4, 2, 1, 1])),
        case(8, 64, 64, 3, tiles([4, 2, 1, 1])),
        case(16, 64, 64, 0, tiles([4, 2, 1, 1])),
        // As high as so many lanes, and a row less.
        case(4, 16, 4, 0, tiles([4, 2, 1, 1])),
        case(4, 15, 4, 0, tiles([2, 2, 1, 1])),
        case(4, 8, 4, 0, tiles([2, 2, 1, 1])),
        case(4, 7, 4, 0, tiles([1, 1, 1, 1])),
        case(4, 4, 4, 0, tiles([1, 1, 1, 1])),
        case(4, 3, 4, 0, words(4)),
        // Few columns of words that structures of 8 bytes do not hold.
        case(4, 200, 3, 0, columns([12, 49, 49, 49])),
        case(4, 33, 3, 0, columns([2, 8, 8, 8])),
        case(4, 32, 3, 0, columns([1, 7, 7, 7])),
        case(4, 31, 3, 0, columns([7, 7, 7, 7])),
        case(4, 8, 3, 0, columns([1, 1, 1, 1])),
        case(4, 7, 3, 0, words(4)),
        case(4, 200, 3, 1, words(4)),
        case(4, 200, 1, 0, words(4)),
        case(2, 200, 5, 0, columns([6, 24, 24, 24])),
        // Few rows.
        case(4, 3, 50, 0, rows(12)),
        case(4, 3, 8, 0, rows(1)),
        case(4, 3, 7, 0, words(4)),
        case(4, 3, 50, 1, words(4)),
        case(4, 1, 50, 0, words(4)),
        case(8, 1, 4, 0, words(8)),
    ];
    with_each_kernel(|row| {
        for Case { word, rows, cols, gap, ways: [avx512, avx2, sse2, neon] } in &cases {
            let want = match row.name {
                "avx512" => avx512,
                "avx2" => avx2,
                "sse2" => sse2,
                "neon" => neon,
                _ => &("plain", *word),
            };
            let got = ways(*word, *rows, *cols, *gap);
            assert_eq!(got, [*want], "{} {rows} x {cols} of {word}, gap {gap}", row.name);
        }
    });
}

/// Structures of up to 8 bytes by shuffles, there and back, where vectors can; elsewhere by the interleaves.
#[test]
fn small_structures_go_through_shuffles() {
    with_each_kernel(|row| {
        for word in [1, 2, 4] {
            for count in 2..=8 / word {
                let group = 16 / word * lanes(row);
                let shuffles = ["avx512", "avx2", "neon"].contains(&row.name);
                let [split, join] = ["split", "join"].map(|way| [(way, count)]);
                for many in [group, 100] {
                    let small = shuffles && many > 0;
                    assert_eq!(ways(word, many, count, 0) == split, small, "{} {word}", row.name);
                    assert_eq!(ways(word, count, many, 0) == join, small, "{} {word}", row.name);
                }
                if shuffles {
                    assert_ne!(ways(word, group - 1, count, 0), split);
                    assert_ne!(ways(word, count, group - 1, 0), join);
                    assert_ne!(ways(word, 100, count, 1), split);
                    assert_ne!(ways(word, count, 100, 1), join);
                }
            }
        }
        // By hand: 5 steps of 16 structures of 3 bytes, the last 20 of 100 word by word.
        if row.name == "sse2" {
            assert_eq!(ways(1, 100, 3, 0), [("few columns", 5)]);
            assert_eq!(ways(1, 3, 100, 0), [("few rows", 5)]);
        }
    });
}

/// Bytes that begin on a line, and `skip` bytes later.
fn on_line(bytes: &mut [Byte], skip: usize) -> &mut [Byte] {
    let start = bytes.as_ptr().align_offset(CACHE_LINE);
    &mut bytes[start + skip..]
}

#[test]
fn runs_are_copied_line_by_line() {
    with_each_kernel(|row| {
        let (from, mut to) = (filled(2000, 1), filled(2000, 1));
        let mut copied = |len: usize, skip: usize| {
            let to = on_line(&mut to, skip).as_mut_ptr();
            taken(|| copy_one(&from[..len], to))
        };
        if row.name == "portable" {
            assert_eq!(copied(640, 0), [("bytes", 640)]);
            return;
        }
        assert_eq!(copied(640, 0), [("whole lines", 10)], "{}", row.name);
        assert_eq!(copied(64, 0), [("whole lines", 1)], "{}", row.name);
        assert_eq!(copied(641, 0), [("lines", 10)], "{}", row.name);
        assert_eq!(copied(640, 41), [("lines", 9)], "{}", row.name);
        // Shorter than the widest vector, but not than a narrower one.
        assert_eq!(copied(40, 0), [("lines", 0)], "{}", row.name);
        assert_eq!(copied(15, 0), [("bytes", 15)], "{}", row.name);
    });
}

#[expect(unsafe_code, reason = "the call is unsafe")]
fn copy_one(from: &[Byte], to: *mut Byte) {
    let transfer = CopyJob { from: from.as_ptr(), to, ahead: std::ptr::null() };
    // SAFETY: the tests' buffers hold so many bytes from there on, and are two.
    unsafe { copy_transfers_raw(&[transfer], from.len()) };
}

#[test]
fn squares_go_through_vectors() {
    with_each_kernel(|row| {
        for unit in [1, 2, 4, 8, 16] {
            let side = 64 / unit;
            let mut data = filled(side * side, unit);
            let took = taken(|| turn(&mut data, side, unit));
            let want = [("squares", lanes(row))];
            let want = if row.name == "portable" { &[][..] } else { &want[..] };
            assert_eq!(took, want, "{} {unit}", row.name);
        }
    });
}

#[expect(unsafe_code, reason = "the call is unsafe")]
fn turn(data: &mut [Byte], side: usize, unit: usize) {
    let mut lines = PrefetchCursor::new(StridedRegion::NONE, StridedRegion::NONE);
    if let Some(swap) = SquareSwap::of(side, unit) {
        // SAFETY: one square, all of `data`.
        unsafe { swap.swap_raw([data.as_mut_ptr(); 2], side * unit, &mut lines) };
    }
}

#[test]
fn rings_and_streams_move_lines() {
    with_each_kernel(|row| {
        let mut ring = filled(256 + 2 * CACHE_LINE, 1);
        let mut run = filled(128, 1);
        let into = taken(|| copy_into_ring(&run, &mut ring, 200, 256));
        assert_eq!(into, [("into ring", lanes(row))]);
        let from = taken(|| copy_from_ring(&ring[CACHE_LINE..], 200, 256, &mut run));
        assert_eq!(from, [("from ring", lanes(row))]);
        // Without the lines that repeat, and parts of lines.
        assert_eq!(taken(|| copy_from_ring(&ring[CACHE_LINE..][..256], 200, 256, &mut run)), []);
        assert_eq!(taken(|| copy_into_ring(&run[..100], &mut ring, 200, 256)), []);
    });
    let (from, mut to) = (filled(300, 1), filled(500, 1));
    for (skip, lines) in [(0, 4), (1, 3), (20, 4), (63, 4)] {
        let lines = if cfg!(all(target_arch = "x86_64", not(miri))) { lines } else { 0 };
        let to = on_line(&mut to, skip).as_mut_ptr();
        assert_eq!(taken(|| stream_one(&from, to)), [("streamed", lines)]);
    }
}

#[expect(unsafe_code, reason = "the call is unsafe")]
fn stream_one(from: &[Byte], to: *mut Byte) {
    // SAFETY: the tests' buffers hold so many bytes from there on, and are two.
    unsafe { copy_nontemporal(from, to) };
    fence();
}

#[test]
#[should_panic(expected = "room")]
fn a_ring_longer_than_memory_is_refused() {
    copy_into_ring(&[], &mut [Byte::new(0); 256], usize::MAX - 1, usize::MAX);
}

#[test]
#[should_panic(expected = "from_len")]
fn a_pitch_that_overflows_is_refused() {
    let block = BlockShape { rows: 3, cols: 1, from_pitch: 1 << 63, to_pitch: 3 };
    transpose(&filled(3, 1), &mut [Byte::new(0); 3], block, 1);
}
