//! Tests of the code path that each kernel takes, which results cannot show.

use super::{filled, with_each_kernel};
use crate::trace::{CodePath, taken};
use crate::*;

/// Returns the code paths for one `rows x cols` block of words of `word` bytes, with pitches `gap`
/// units above the minimum.
fn paths(word: usize, rows: usize, cols: usize, gap: usize) -> Vec<CodePath> {
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
    // SAFETY: both buffers have the length that the block requires; the borrows cannot overlap.
    unsafe { transpose_raw(from.as_ptr(), to.as_mut_ptr(), block, word) };
}

/// Returns the number of 16-byte lanes per vector.
fn lanes(set: &KernelSet) -> usize {
    set.vector_bytes / 16
}

#[test]
fn kernels_exist_only_for_word_units() {
    with_each_kernel(|set| {
        for unit in 0..70 {
            let word = [1, 2, 4, 8, 16].contains(&unit);
            assert_eq!(set.transpose_fn(unit).is_some(), word, "{} {unit}", set.name);
            let squares = word && set.name != "portable";
            assert_eq!(set.squares_of(64, unit).is_some(), squares, "{} {unit}", set.name);
        }
        for (unit, copied) in
            [(3, 4), (5, 8), (7, 8), (9, 16), (15, 16), (17, 32), (40, 48), (64, 64)]
        {
            assert_eq!(paths(unit, 40, 50, 0), [("units", copied)], "{}", set.name);
        }
        assert_eq!(paths(65, 40, 50, 0), [("runs", 65)], "{}", set.name);
    });
}

#[test]
fn best_set_is_the_widest_available() {
    let widths = KERNELS.iter().map(lanes);
    assert!(widths.is_sorted_by(|a, b| a > b), "widest first");
    with_each_kernel(|set| {
        let want = match set.name {
            "avx512" => 4,
            "avx2" => 2,
            "sse2" | "neon" => 1,
            "portable" => 0,
            name => panic!("{name} has no kernel set here"),
        };
        assert_eq!(lanes(set), want, "{}", set.name);
        assert!(!cfg!(target_arch = "aarch64") || ["neon", "portable"].contains(&set.name));
    });
    let best = crate::dispatch::best();
    if cfg!(miri) {
        return assert_eq!(KERNELS[best].name, "portable");
    }
    assert!((KERNELS[best].available)() && !KERNELS[..best].iter().any(|set| (set.available)()));
    if cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
        assert!(lanes(&KERNELS[best]) > 0);
    }
}

/// A block and its expected code path with AVX-512, AVX2, SSE2 and NEON.
struct Case {
    word: usize,
    rows: usize,
    cols: usize,
    gap: usize,
    paths: [CodePath; 4],
}

#[test]
fn blocks_of_words_use_vectors_when_they_fit() {
    let case = |word, rows, cols, gap, paths| Case { word, rows, cols, gap, paths };
    let tiles = |lanes: [usize; 4]| lanes.map(|lanes| ("tiles", lanes));
    let columns = |steps: [usize; 4]| steps.map(|steps| ("few columns", steps));
    let rows = |steps: usize| [("few rows", steps); 4];
    let permuted = |path, count, others: [CodePath; 4]| {
        let [_, avx2, sse2, neon] = others;
        [(path, count), avx2, sse2, neon]
    };
    let words = |word: usize| [("plain", word); 4];
    let cases = [
        case(1, 64, 64, 0, tiles([4, 2, 1, 1])),
        case(2, 64, 64, 3, tiles([4, 2, 1, 1])),
        case(4, 64, 64, 0, tiles([4, 2, 1, 1])),
        case(8, 64, 64, 3, tiles([4, 2, 1, 1])),
        case(16, 64, 64, 0, tiles([4, 2, 1, 1])),
        // Rows for exactly 4, 2 and 1 lanes, and one row less.
        case(4, 16, 4, 0, tiles([4, 2, 1, 1])),
        case(4, 15, 4, 0, tiles([2, 2, 1, 1])),
        case(4, 8, 4, 0, tiles([2, 2, 1, 1])),
        case(4, 7, 4, 0, tiles([1, 1, 1, 1])),
        case(4, 4, 4, 0, tiles([1, 1, 1, 1])),
        case(4, 3, 4, 0, words(4)),
        // Few columns of words, in structures longer than 8 bytes.
        case(4, 200, 3, 0, permuted("split", 3, columns([49; 4]))),
        case(4, 16, 3, 0, permuted("split", 3, columns([3; 4]))),
        case(4, 15, 3, 0, columns([3; 4])),
        case(4, 16, 7, 0, permuted("split", 7, tiles([4, 2, 1, 1]))),
        case(8, 7, 5, 0, tiles([2, 2, 1, 1])),
        case(8, 8, 5, 0, permuted("split", 5, tiles([4, 2, 1, 1]))),
        case(8, 8, 5, 1, tiles([4, 2, 1, 1])),
        case(4, 8, 3, 0, columns([1, 1, 1, 1])),
        case(4, 7, 3, 0, words(4)),
        case(4, 200, 3, 1, words(4)),
        case(4, 200, 1, 0, words(4)),
        case(2, 200, 5, 0, columns([6, 24, 24, 24])),
        // Few rows.
        case(4, 3, 50, 0, permuted("join", 3, rows(12))),
        case(4, 3, 15, 0, rows(3)),
        case(8, 6, 8, 0, permuted("join", 6, tiles([2, 2, 1, 1]))),
        case(4, 3, 8, 0, rows(1)),
        case(4, 3, 7, 0, words(4)),
        case(4, 3, 50, 1, words(4)),
        case(4, 1, 50, 0, words(4)),
        case(8, 1, 4, 0, words(8)),
    ];
    with_each_kernel(|set| {
        for Case { word, rows, cols, gap, paths: [avx512, avx2, sse2, neon] } in &cases {
            let want = match set.name {
                "avx512" => avx512,
                "avx2" => avx2,
                "sse2" => sse2,
                "neon" => neon,
                _ => &("plain", *word),
            };
            let got = paths(*word, *rows, *cols, *gap);
            assert_eq!(got, [*want], "{} {rows} x {cols} of {word}, gap {gap}", set.name);
        }
    });
}

/// Checks that structures of up to 8 bytes are split and joined by shuffles if the vectors support
/// them, and by interleaving otherwise.
#[test]
fn small_structures_use_shuffles_when_available() {
    with_each_kernel(|set| {
        for word in [1, 2, 4] {
            for count in 2..=8 / word {
                let group = 16 / word * lanes(set);
                let shuffles = ["avx512", "avx2", "neon"].contains(&set.name);
                let [split, join] = ["split", "join"].map(|path| [(path, count)]);
                for many in [group, 100] {
                    let small = shuffles && many > 0;
                    assert_eq!(paths(word, many, count, 0) == split, small, "{} {word}", set.name);
                    assert_eq!(paths(word, count, many, 0) == join, small, "{} {word}", set.name);
                }
                if shuffles {
                    assert_ne!(paths(word, group - 1, count, 0), split);
                    assert_ne!(paths(word, count, group - 1, 0), join);
                    assert_ne!(paths(word, 100, count, 1), split);
                    assert_ne!(paths(word, count, 100, 1), join);
                }
            }
        }
        // Expected: 5 steps of 16 structures of 3 bytes, then the last 20 of 100 word by word.
        if set.name == "sse2" {
            assert_eq!(paths(1, 100, 3, 0), [("few columns", 5)]);
            assert_eq!(paths(1, 3, 100, 0), [("few rows", 5)]);
        }
    });
}

/// Returns the bytes from `skip` bytes after the first cache line boundary.
fn on_line(bytes: &mut [Byte], skip: usize) -> &mut [Byte] {
    let start = bytes.as_ptr().align_offset(CACHE_LINE);
    &mut bytes[start + skip..]
}

#[test]
fn copies_use_whole_lines_when_aligned() {
    with_each_kernel(|set| {
        let (from, mut to) = (filled(2000, 1), filled(2000, 1));
        let mut copied = |len: usize, skip: usize| {
            let to = on_line(&mut to, skip).as_mut_ptr();
            taken(|| copy_one(&from[..len], to))
        };
        if set.name == "portable" {
            assert_eq!(copied(640, 0), [("bytes", 640)]);
            return;
        }
        assert_eq!(copied(640, 0), [("whole lines", 10)], "{}", set.name);
        assert_eq!(copied(64, 0), [("whole lines", 1)], "{}", set.name);
        assert_eq!(copied(641, 0), [("lines", 10)], "{}", set.name);
        assert_eq!(copied(640, 41), [("lines", 9)], "{}", set.name);
        // 40 bytes are shorter than the widest vector, but not than a narrower one.
        assert_eq!(copied(40, 0), [("lines", 0)], "{}", set.name);
        assert_eq!(copied(15, 0), [("bytes", 15)], "{}", set.name);
    });
}

#[expect(unsafe_code, reason = "the call is unsafe")]
fn copy_one(from: &[Byte], to: *mut Byte) {
    let transfer = CopyJob { from: from.as_ptr(), to, ahead: std::ptr::null() };
    // SAFETY: each buffer has at least `from.len()` bytes there, and they are two buffers.
    unsafe { copy_jobs_raw(&[transfer], from.len()) };
}

#[test]
fn square_swaps_use_vectors_except_in_the_portable_set() {
    with_each_kernel(|set| {
        for unit in [1, 2, 4, 8, 16] {
            let side = 64 / unit;
            let mut data = filled(side * side, unit);
            let took = taken(|| transpose_square(&mut data, side, unit));
            let want = [("squares", lanes(set))];
            let want = if set.name == "portable" { &[][..] } else { &want[..] };
            assert_eq!(took, want, "{} {unit}", set.name);
        }
    });
}

#[expect(unsafe_code, reason = "the call is unsafe")]
fn transpose_square(data: &mut [Byte], side: usize, unit: usize) {
    let mut lines = PrefetchCursor::new(StridedRegion::NONE, StridedRegion::NONE);
    if let Some(swap) = SquareSwap::new(side, unit) {
        // SAFETY: one square, all of `data`.
        unsafe { swap.swap_raw([data.as_mut_ptr(); 2], side * unit, &mut lines) };
    }
}

#[test]
fn ring_and_nontemporal_copies_move_whole_lines() {
    with_each_kernel(|set| {
        let mut ring = filled(256 + 2 * CACHE_LINE, 1);
        let mut run = filled(128, 1);
        let into = taken(|| copy_into_ring(&run, &mut ring, 200, 256));
        assert_eq!(into, [("into ring", lanes(set))]);
        let from = taken(|| copy_from_ring(&ring[CACHE_LINE..], 200, 256, &mut run));
        assert_eq!(from, [("from ring", lanes(set))]);
        // A copy without the repeated line, or of a partial line, uses no kernel.
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
    // SAFETY: each buffer has at least `from.len()` bytes there, and they are two buffers.
    unsafe { copy_nontemporal(from, to) };
    fence();
}

#[test]
#[should_panic(expected = "room")]
fn copy_into_ring_panics_when_the_ring_is_too_long() {
    copy_into_ring(&[], &mut [Byte::new(0); 256], usize::MAX - 1, usize::MAX);
}

#[test]
#[should_panic(expected = "from_len")]
fn transpose_panics_when_a_pitch_overflows() {
    let block = BlockShape { rows: 3, cols: 1, from_pitch: 1 << 63, to_pitch: 3 };
    transpose(&filled(3, 1), &mut [Byte::new(0); 3], block, 1);
}
