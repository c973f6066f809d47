//! Compares launches with the device code that they name, without a GPU.

use std::collections::BTreeSet;

use turntile_cuda::args::Args;
use turntile_cuda::family::Family;
use turntile_cuda::launch::{CheckedLaunch, DeviceLimits, WorkspacePart};
use turntile_cuda::lower::{TargetParams, lower};
use turntile_cuda::peers::{PeerBlock, Squares, Swap};
use turntile_cuda::strategy::{Scope, Strategy};
use turntile_cuda::sync::BlockSync;
use turntile_cuda::{GpuDevice, LowerError, Work};
use turntile_perm::PitchedRows;
use turntile_plan::{Device, Direction, MethodFilter, Planner, Problem, StageMap, StageRequest};

use crate::cases::{
    BLOCK, ELEMENTS, ELEMENTS_ELSEWHERE, MATRICES, OLD, alignments, at, elsewhere, shapes, swap,
    ways,
};

/// Checks that the entry point exists, its parameter has the size passed, and the geometry is
/// valid.
pub fn check(call: &CheckedLaunch) {
    let ptx = call.family.ptx(call.word);
    let declared = format!("{}_param_0[{}]", call.entry, call.params.bytes().len());
    assert!(ptx.contains(&declared), "{}: no {declared}", call.kernel());
    assert!((1..=1024).contains(&call.threads) && call.threads.is_multiple_of(32), "{call:?}");
    assert!(call.groups > 0, "{call:?}");
    assert!(call.shared_bytes as usize <= DeviceLimits::H200.shared_bytes, "{call:?}");
    let per_unit = ((228 << 10) / (call.shared_bytes + 1024)).min(2048 / call.threads) as usize;
    match call.sync() {
        BlockSync::Grid => {
            assert!(call.groups as usize <= DeviceLimits::H200.units * per_unit, "{call:?}");
        }
        BlockSync::Cluster => assert_eq!(call.groups % call.cluster, 0, "{call:?}"),
        BlockSync::None | BlockSync::Earlier => {}
    }
}

/// Returns every entry point of a family, named as `kernel()` of a launch names it.
fn entries(family: Family) -> BTreeSet<String> {
    let words = [1, 2, 4, 8, 16];
    let of = |word: usize| {
        let pieces = family.ptx(word).split(".entry ").skip(1);
        let names = pieces.map(|piece| piece.split('(').next().unwrap());
        names.map(|name| format!("{}.w{word}/{name}", family.name())).collect::<Vec<_>>()
    };
    words.into_iter().flat_map(of).collect()
}

/// The launches meet every in-place kernel, and no other.
#[test]
fn launches_fit_the_device_code() {
    let mut kernels = BTreeSet::new();
    let mut meet = |call: &CheckedLaunch| {
        check(call);
        kernels.insert(call.kernel());
    };
    for shape in shapes() {
        for way in ways(&[1]) {
            for elem in ELEMENTS {
                for alignment in alignments(elem) {
                    let calls = lower(&shape, way, at(elem, alignment));
                    calls.unwrap_or_default().iter().for_each(&mut meet);
                }
            }
        }
    }
    for (rows, cols, elem) in
        [(7912, 8012, 1), (5004, 6000, 2), (4500, 3500, 4), (2003, 3907, 8), (1801, 2203, 16)]
    {
        let grid = Strategy::Barrier(Scope::Grid);
        let calls = lower(&swap([1, rows, 1, cols, 1]), grid, at(elem, 16));
        calls.unwrap().iter().for_each(&mut meet);
    }
    for elem in [4, 8, 16] {
        let squares = squares(64, 128).next().unwrap();
        let block = PeerBlock::Squares(squares);
        Swap::lower(block, elem, 16, &DeviceLimits::H200).unwrap().iter().for_each(&mut meet);
    }
    // `leading.rs` has kernels for rows with a pitch, `bits.rs` those for packed elements, `panels.rs`
    // that for panels.
    let elsewhere = [
        Family::Bits,
        Family::OutOfPlace,
        Family::IntoAxes,
        Family::IntoUnits,
        Family::PitchedSwap,
        Family::Pitched,
        Family::Scale,
        Family::Check,
    ];
    let families = Family::ALL.into_iter().filter(|family| !elsewhere.contains(family));
    let mut all: BTreeSet<String> = families.flat_map(entries).collect();
    // These kernels count in bytes: one variant processes all words.
    all.retain(|kernel| !kernel.starts_with("pad.") || kernel.starts_with("pad.w1/"));
    all.retain(|kernel| !["pad.w1/pad_spread", "pad.w1/pad_slide_panels"].contains(&&kernel[..]));
    // Out of place only, as those of `elsewhere`.
    all.retain(|kernel| !kernel.ends_with("/barrier_tile"));
    // One file for two words, each with its own entries.
    let is_own = |kernel: &String| {
        ["w1", "w4"]
            .iter()
            .any(|w| kernel.starts_with(&format!("retile.{w}/")) && kernel.ends_with(&w[1..]))
    };
    all.retain(|kernel| !kernel.starts_with("retile.") || is_own(kernel));
    // Words of at least 4 bytes.
    all.retain(|kernel| {
        !["peer_squares.w1/", "peer_squares.w2/"].iter().any(|w| kernel.starts_with(w))
    });
    // These kernels also count in bytes, with the widest access.
    all.retain(|kernel| !kernel.starts_with("fields.") || kernel.starts_with("fields.w16/"));
    assert_eq!(kernels, all);
}

/// Returns the squares of parts with `m` rows before and `n` rows after, over three ranks.
fn squares(m: usize, n: usize) -> impl Iterator<Item = Squares> {
    let sides = (1..=m.min(n)).rev().filter(move |side| m % side + n % side == 0);
    sides.map(move |side| Squares { sides: [side; 2], across: [m / side, n / side], pitch: 3 * n })
}

/// Launches 0 and 1 each swap half of the tile pairs of two mirrored blocks. Launch 2 swaps all pairs
/// of a block that is its own mirror image.
#[test]
fn blocks_apart() {
    for elem in [4, 8, 16] {
        let (tile, word) = (256 / elem, elem as u64);
        let blocks = [[64, 128], [384, 256], [204, 68], [65_536, 32_768]];
        let all = (1..400).map(|m| [m, m]).chain(blocks).flat_map(|[m, n]| squares(m, n));
        let ragged = [[1, 1], [1, 1000], [301, 64], [67, 999]];
        let one = |sides: [usize; 2]| Squares { sides, across: [1, 1], pitch: sides[0] + sides[1] };
        for squares in all.chain(ragged.map(one)) {
            let ([down, beside], [rows, cols]) = (squares.across, squares.sides);
            let whole = [rows, cols, squares.pitch].iter().all(|words| words * elem % 16 == 0);
            for alignment in [elem, 16] {
                let block = PeerBlock::Squares(squares);
                let launches = Swap::lower(block, elem, alignment, &DeviceLimits::H200);
                let granule = if whole && alignment == 16 { 16 } else { elem };
                if down * beside > 1 && (rows < tile || granule < 16) {
                    assert_eq!(launches, Err(LowerError::NoKernel), "{squares:?}");
                    continue;
                }
                let (mut numbers, across) = (0, cols.div_ceil(tile));
                for (part, call) in launches.unwrap().into_iter().enumerate() {
                    let own = part == 2;
                    let Args::Apart(a) = call.params else { panic!("{call:?}") };
                    // A tile row has 256 bytes, shared memory has two pairs of tiles, and blocks
                    // process several tiles.
                    assert_eq!([a.rows, a.cols], [rows as u32, cols as u32]);
                    assert_eq!((a.pitch, a.word), (squares.pitch as u64 * word, elem as u32));
                    assert_eq!(a.granule as usize, granule, "{squares:?}");
                    let pairs =
                        if own { across * (across + 1) / 2 } else { across * rows.div_ceil(tile) };
                    let fields = [a.across, a.squares, a.pairs].map(|field| field as usize);
                    assert_eq!(fields, [across, beside, pairs]);
                    assert_eq!((call.threads, call.shared_bytes as usize), (256, 4 * 256 * tile));
                    let first = if own { 0 } else { numbers };
                    assert!(a.first == first && a.end >= a.first && call.groups <= 264);
                    numbers = a.end;
                    let all = down * beside * pairs;
                    let end = if part == 0 { all / 2 } else { all };
                    assert_eq!(numbers as usize, end, "{squares:?}");
                }
            }
        }
    }
    for (side, elem) in [(64, 1), (64, 2), (64, 12), (64, 32), (1 << 22, 4)] {
        let squares = squares(side, side).next().unwrap();
        let lowered = Swap::lower(PeerBlock::Squares(squares), elem, 16, &DeviceLimits::H200);
        assert!(lowered.is_err(), "{side} {elem}");
    }
    for (bytes, alignment, granule) in [
        (64, 16, 16),
        (64, 4, 4),
        (68, 16, 4),
        (16 << 10, 16, 16),
        (3 << 32, 16, 16),
        (1 << 33, 8, 4),
    ] {
        let run = PeerBlock::Run(bytes);
        let [first, second, _] = Swap::lower(run, 1, alignment, &DeviceLimits::H200).unwrap();
        let [Args::Apart(a), Args::Apart(b)] = [first.params, second.params] else { panic!() };
        assert_eq!((a.word, a.granule, a.pitch), (0, granule, granule.into()));
        assert_eq!((a.rows as usize * granule as usize, a.cols), (bytes, 1));
        let pieces = bytes.div_ceil(16 << 10) as u32;
        assert_eq!([a.first, a.end, b.first, b.end], [0, pieces / 2, pieces / 2, pieces]);
    }
    for (bytes, alignment) in [(62, 16), (64, 2)] {
        let run = PeerBlock::Run(bytes);
        assert!(Swap::lower(run, 1, alignment, &DeviceLimits::H200).is_err(), "{bytes}");
    }
}

/// Only a CPU exchanges rows with gaps. Rows cut in rounds, as for padding, would lose the cut
/// columns.
#[test]
fn what_only_a_host_does_has_no_kernel() {
    let rows = PitchedRows::new(500, 490, 500).unwrap();
    for direction in [Direction::Forward, Direction::Backward] {
        let (cut, shape) =
            (StageMap::Cut { rows, direction }, StageMap::SwapGaps { rows, direction });
        for way in ways(&[1]).into_iter().chain(elsewhere(1)) {
            let calls = lower(&shape, way, at(4, 16));
            assert_eq!(calls, Err(LowerError::NoKernel), "{shape} {way}");
            let blocks = matches!(way, Strategy::Blocks { .. });
            assert_eq!(lower(&cut, way, at(4, 16)).is_ok(), blocks, "{cut} {way}");
        }
        for chip in GpuDevice::presets() {
            let problem = Problem::new(500, 500, 4).unwrap().with_cap(usize::MAX);
            let offers = chip
                .implementations(&shape, &StageRequest::new(&problem, &chip, MethodFilter::Any));
            let none = turntile_plan::Infeasible::NoImplementation { shape: shape.to_string() };
            assert_eq!(offers, Err(none));
        }
    }
}

#[test]
fn flags_take_a_bit_a_super_element() {
    let shape = swap([1, 1000, 1, 100, 64]);
    let call = |alignment| {
        let way = Strategy::Moves;
        let calls = lower(&shape, way, at(4, alignment)).unwrap();
        let [call] = calls[..] else { panic!("{calls:?}") };
        call
    };
    assert_eq!(call(16).workspace, WorkspacePart::Flags(100_000 / 32 * 4));
    assert_eq!(call(16).word, 16);
    assert_eq!(call(4).word, 4);
}

#[test]
fn what_a_device_lacks_is_an_answer() {
    let shape = swap([1, 1000, 1, 1000, 1]);
    let answer =
        |way| lower(&shape, way, TargetParams { elem_bytes: 4, alignment: 16, limits: &OLD });
    let no = |scope| Err(LowerError::NoBarrier { scope });
    assert_eq!(answer(Strategy::Barrier(Scope::Grid)), no("the grid"));
    assert_eq!(answer(Strategy::Barrier(Scope::Cluster(4))), no("a cluster"));
    assert!(matches!(answer(BLOCK), Err(LowerError::OnChip { have: 49_152, .. })));
}

/// Squares with more tile pairs than a launch has blocks are declined for that reason.
#[test]
fn squares_of_too_many_tiles_are_declined() {
    let problem = Problem::new(9_999_991, 9_999_991, 4).unwrap();
    let survey = Planner::new(GpuDevice::h200())
        .with_route(turntile_plan::Route::SQUARE)
        .candidates(&problem);
    let too_many = turntile_plan::Infeasible::TooMany {
        what: "blocks",
        // 92 593 tiles of side 108, in groups of 8 by 8.
        count: 11_575 * 11_576 / 2 * 64,
        most: i32::MAX as usize,
    };
    assert_eq!(survey.rejected.first().map(|declined| &declined.reason), Some(&too_many));
}

#[test]
fn every_way_out_of_place_fits_the_device_code() {
    let mut kernels = BTreeSet::new();
    let planner = Planner::new(GpuDevice::h200());
    for (batch, rows, cols) in MATRICES {
        for elem in ELEMENTS_ELSEWHERE {
            let Ok(problem) = Problem::with_batch(batch, rows, cols, elem) else { continue };
            // Larger than any memory.
            if problem.bytes() > 1 << 44 {
                continue;
            }
            let shape = swap([batch, rows, 1, cols, 1]);
            for alignment in alignments(elem) {
                for way in elsewhere(8) {
                    for call in lower(&shape, way, at(elem, alignment)).unwrap_or_default() {
                        check(&call);
                        kernels.insert(call.kernel());
                    }
                }
                // For every alignment, the planner's plan relies on no more than that alignment.
                let problem = problem.out_of_place().unwrap().with_alignment(alignment);
                let work = Work::of_plan(&planner.plan(&problem).unwrap()).unwrap();
                work.calls().iter().for_each(check);
                assert_eq!((work.calls().len(), work.alignment()), (1, alignment));
            }
        }
    }
    assert_eq!(kernels.len(), 15, "all of them are met: {kernels:?}");
    // Axes in any order: one kernel per word.
    for (elem, alignment) in [(1, 1), (2, 16), (4, 16), (8, 8), (16, 16), (12, 16), (40, 4)] {
        let problem = Problem::permuted(&[30, 40, 50, 60], &[3, 1, 0, 2], elem).unwrap();
        let problem = problem.out_of_place().unwrap().with_alignment(alignment);
        let work = Work::of_plan(&planner.plan(&problem).unwrap()).unwrap();
        work.calls().iter().for_each(check);
        assert_eq!((work.calls().len(), work.alignment()), (1, alignment));
        kernels.extend(work.calls().iter().map(|call| call.kernel()));
    }
    let axes = kernels.iter().filter(|kernel| kernel.ends_with("/into_axes"));
    assert_eq!(axes.count(), 5, "{kernels:?}");
    let empty = Problem::new(0, 5, 4).unwrap().out_of_place().unwrap();
    let nothing = Work::of_plan(&planner.plan(&empty).unwrap()).unwrap();
    assert_eq!(nothing.calls(), []);
}

/// Movers use a static stride over the grid: blocks that are not resident would run as a second wave.
#[test]
fn movers_launch_at_most_the_resident_blocks() {
    let limits = DeviceLimits { unit_threads: 1536, ..DeviceLimits::H200 };
    for unit in [1, 33, 64, 1000, 4000] {
        let shape = swap([1, 2000, 1, 3000, unit]);
        let at = TargetParams { elem_bytes: 4, alignment: 16, limits: &limits };
        for call in lower(&shape, Strategy::Moves, at).unwrap() {
            assert!(call.groups * call.threads <= 132 * 1536, "{unit}: {call:?}");
        }
    }
}
