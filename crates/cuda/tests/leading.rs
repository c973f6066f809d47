//! Plans for leading dimensions: follows their launches on the host, using only the launch
//! parameters, and compares them with plain loops.

use std::collections::BTreeSet;

use bytemuck::Zeroable;
use proptest::prelude::*;
use turntile_cuda::args::{Args, Factor, SecondPointer, SquareArgs};
use turntile_cuda::family::Family;
use turntile_cuda::launch::{DeviceLimits, WorkspacePart, widest_word};
use turntile_cuda::{BufferOffset, CudaError, GpuDevice, ScalarKind, Scaling, Work};
use turntile_perm::{LeadingDims, PitchedRows};
use turntile_plan::{
    Infeasible, InvalidPlan, Method, Plan, PlanError, Planner, Problem, Stage, StageMap, TileRule,
};

use crate::follow::{exhaustive, reaches};
use crate::replay;

/// Value of a byte that has no data. Other bytes have the number of their original byte.
pub const NOTHING: u32 = u32::MAX;

fn planner() -> Planner {
    Planner::new(GpuDevice::h200())
}

fn plan(problem: &Problem) -> Plan {
    planner().plan(problem).unwrap()
}

fn leading(problem: &Problem) -> LeadingDims {
    *problem.leading().unwrap()
}

/// Returns `true` if the plan transposes the matrix in one pass in place.
fn is_turned(plan: &Plan) -> bool {
    let methods: Vec<_> =
        plan.stages().map(|stage| (stage.map.clone(), stage.implementation.method)).collect();
    matches!(methods[..], [(StageMap::TransposeRows(_), Method::TileSwap)])
}

/// Runs launches on numbered bytes, one after another.
pub fn run(plan: &Plan, work: &Work, data: &mut [u32]) {
    let alignment = work.alignment() as u64;
    let mut workspace = vec![NOTHING; work.workspace_bytes()];
    let steps = work.calls().iter().zip(work.spots()).zip(reaches(plan));
    for ((call, &[first, second]), reach) in steps {
        let launch = **call;
        let offset = |spot| match spot {
            BufferOffset::Data(bytes) | BufferOffset::Workspace(bytes) => bytes,
            BufferOffset::Source(_) => panic!("{plan}: in place"),
        };
        let aligned = |spots: &[BufferOffset]| {
            let offsets: Vec<usize> = spots.iter().map(|&spot| offset(spot)).collect();
            (widest_word(&offsets) as u64).min(alignment)
        };
        let moved = |aligned: u64, at: usize| {
            let moved = replay::moved(&launch, aligned, at as u64);
            moved.unwrap_or_else(|why| panic!("{plan}: {why:?} {launch:?}")).map(|to| to as usize)
        };
        let (before, held) = (data.to_vec(), workspace.clone());
        // Flags follow the saved gaps in the workspace, and are overwritten.
        if let (WorkspacePart::Flags(bytes), BufferOffset::Workspace(start)) =
            (call.workspace, second)
        {
            assert!(start >= plan.saved_gap_bytes(), "flags from {start} on: {plan}");
            assert!(start + bytes <= workspace.len(), "flags to {}: {plan}", start + bytes);
            workspace[start..start + bytes].fill(NOTHING);
        }
        match call.params.second() {
            Some(SecondPointer::Source) => {
                let of = |spot| if matches!(spot, BufferOffset::Data(_)) { &before } else { &held };
                let (source, aligned) = (of(second), aligned(&[first, second]));
                for (from, &byte) in source[offset(second)..].iter().enumerate() {
                    let Some(to) = moved(aligned, from) else { continue };
                    let memory = match first {
                        BufferOffset::Data(_) => &mut *data,
                        _ => &mut workspace[..],
                    };
                    memory[offset(first) + to] = byte;
                }
            }
            Some(SecondPointer::Kept) if call.family == Family::Pitched => {
                assert_eq!((first, second), (BufferOffset::Data(0), BufferOffset::Workspace(0)));
                for at in 0..before.len() {
                    let Some(place) = moved(alignment, at) else { continue };
                    match call.entry {
                        "gaps_keep" => workspace[place] = before[at],
                        _ => data[at] = held[place],
                    }
                }
            }
            _ => {
                assert_eq!(first, BufferOffset::Data(0));
                // Runs of tiles include the gap after the last row.
                for (at, &byte) in before.iter().take(reach).enumerate() {
                    if let Some(to) = moved(alignment, at) {
                        data[to] = byte;
                    }
                }
            }
        }
    }
}

/// Checks every byte of the result, and every byte outside source and result.
fn check(plan: &Plan) -> Work {
    let work = Work::of_plan(plan).unwrap();
    assert!(work.workspace_bytes() <= plan.workspace_bytes, "{plan}");
    assert_eq!(work.bytes(), plan.problem.span_bytes());
    let (leading, e) = (leading(&plan.problem), plan.problem.itemsize());
    let (source, result) = (leading.source(), leading.result());
    let mut data: Vec<u32> = (0..(leading.span() * e) as u32).collect();
    let mut want = data.clone();
    let mut known = vec![true; leading.span()];
    // Unless the plan transposes in one pass in place, source elements outside the result are
    // unspecified.
    if plan.passes() > 0 && !is_turned(plan) {
        (0..source.len()).for_each(|k| known[source.offset(k)] = false);
    }
    for (i, j) in (0..source.rows()).flat_map(|i| (0..source.cols()).map(move |j| (i, j))) {
        let turned = leading.is_transposed();
        let to = if turned { j * result.pitch() + i } else { i * result.pitch() + j };
        known[to] = true;
        for byte in 0..e {
            want[to * e + byte] = ((i * source.pitch() + j) * e + byte) as u32;
        }
    }
    run(plan, &work, &mut data);
    for (at, (got, want)) in data.chunks(e).zip(want.chunks(e)).enumerate() {
        assert!(got == want || !known[at], "element {at} is {got:?}, not {want:?}: {plan:#}");
        assert!(!got.contains(&NOTHING), "element {at} is of the workspace: {plan:#}");
    }
    work
}

fn turned(sides: [usize; 2], gaps: [usize; 2], elem_bytes: usize) -> Problem {
    transposed(sides, [sides[1] + gaps[0], sides[0] + gaps[1]], elem_bytes)
}

fn transposed(sides: [usize; 2], lds: [usize; 2], elem_bytes: usize) -> Problem {
    let problem = Problem::new(sides[0], sides[1], elem_bytes).unwrap();
    problem.with_leading(lds[0], lds[1]).unwrap()
}

fn slid(sides: [usize; 2], gaps: [usize; 2], elem_bytes: usize) -> Problem {
    let problem = Problem::permuted(&sides, &[0, 1], elem_bytes).unwrap();
    problem.with_leading(sides[1] + gaps[0], sides[1] + gaps[1]).unwrap()
}

/// Returns the plans by tiles, for tiles of all sides.
fn tiled(problem: &Problem) -> Vec<Plan> {
    let [lda, ldb] =
        [leading(problem).source(), leading(problem).result()].map(|rows| rows.pitch());
    if (2..=lda.min(ldb)).all(|side| lda % side > 0 || ldb % side > 0) {
        return Vec::new();
    }
    let planner = planner().with_tiles(TileRule::Exhaustive);
    let runs = |stage: &Stage| matches!(stage.map, StageMap::TileRows(_));
    planner
        .candidates(problem)
        .candidates
        .into_iter()
        .filter(|plan| plan.stages().any(runs))
        .collect()
}

/// Checks every candidate within the default cap, at the element's alignment and at 16 bytes.
fn check_every_way(problem: Problem) -> Vec<Work> {
    let elem = problem.itemsize();
    let mut works = Vec::new();
    for alignment in crate::cases::alignments(elem) {
        let problem = problem.with_alignment(alignment);
        let ways = planner().candidates(&problem).candidates;
        assert!(ways.contains(&plan(&problem)), "{problem}");
        works.extend(ways.iter().map(check));
        works.extend(tiled(&problem).iter().map(check));
    }
    works
}

#[test]
fn all_small_matrices() {
    for (rows, cols) in (0..7).flat_map(|rows| (0..7).map(move |cols| (rows, cols))) {
        for gaps in (0..4).flat_map(|a| (0..4).map(move |b| [a, b])) {
            for elem_bytes in [1, 4, 12] {
                check_every_way(turned([rows, cols], gaps, elem_bytes));
                check_every_way(slid([rows, cols], gaps, elem_bytes));
            }
        }
    }
}

/// Shapes that make tiles, blocks and rounds. Together they meet every kernel for leading
/// dimensions.
#[test]
fn matrices_of_many_tiles() {
    let mut met = BTreeSet::new();
    for (sides, gaps) in [
        ([70, 70], [3, 3]),
        ([9, 9], [3, 3]),
        ([96, 64], [32, 32]),
        ([64, 96], [0, 32]),
        ([70, 50], [26, 6]),
        ([128, 128], [16, 16]),
        ([130, 9], [5, 3]),
        ([9, 130], [2, 40]),
        ([60, 80], [16, 50]),
        ([64, 96], [32, 64]),
    ] {
        for elem_bytes in [1, 2, 3, 4, 6, 8, 12, 16, 24] {
            // Larger matrices take a minute, because every byte is followed. Elements of 12 bytes
            // meet all kernels.
            let most = if elem_bytes == 12 { 80_000 } else { 40_000 };
            if !exhaustive() && sides[0] * sides[1] * elem_bytes > most {
                continue;
            }
            let works = [turned(sides, gaps, elem_bytes), slid(sides, gaps, elem_bytes)];
            let works = works.into_iter().flat_map(check_every_way);
            met.extend(works.flat_map(|work| work.calls().to_vec()).map(|call| call.kernel()));
        }
    }
    // Elements that are long runs, in words of every size.
    for elem_bytes in [401, 402, 404, 408, 400] {
        let p = turned([9, 11], [4, 6], elem_bytes);
        let works = check_every_way(p).into_iter().chain(check_every_way(turned(
            [11, 9],
            [5, 3],
            elem_bytes,
        )));
        met.extend(works.flat_map(|work| work.calls().to_vec()).map(|call| call.kernel()));
    }
    let mut want = BTreeSet::from([
        "moves_runs.w4/move_runs_4".into(),
        "pad.w1/pad_slide".into(),
        "pad.w1/pad_spread".into(),
    ]);
    for word in [1, 2, 4, 8, 16] {
        want.insert(format!("moves_runs.w{word}/move_runs_1"));
        want.insert(format!("pitched_swap.w{word}/pitched_swap"));
        for entry in ["pitched_turn", "gaps_keep", "gaps_restore"] {
            want.insert(format!("pitched.w{word}/{entry}"));
        }
        want.insert(match word {
            16 => "tiles.w16/square_swap_16".into(),
            _ => format!("swap_axes.w{word}/swap_axes_granules"),
        });
    }
    let unmet: Vec<_> = want.difference(&met).collect();
    assert_eq!(unmet, Vec::<&String>::new());
    assert!(met.iter().any(|kernel| kernel.starts_with("tiles.w4/square_swap_64")));
}

#[test]
fn launches_fit_the_device_code() {
    let rows = PitchedRows::new(30, 20, 24).unwrap();
    let scaling = Scaling::By { alpha: Some([2.0, 0.0]), conjugated: true };
    let scales = ScalarKind::ALL
        .map(|number| Work::of_scale(number, rows, scaling, 4, &DeviceLimits::H200).unwrap());
    let ways =
        [turned([70, 50], [26, 6], 4), turned([70, 50], [0, 20], 404), slid([7, 9], [1, 2], 8)];
    let works = ways.into_iter().flat_map(check_every_way).chain(scales);
    works.for_each(|work| work.calls().iter().for_each(crate::lowering::check));
}

/// Elements of a square are scaled in its swap pass. The other elements of a matrix with equal
/// leading dimensions are scaled in place in a second launch. All other plans take a separate pass.
#[test]
fn squares_are_scaled_on_the_way() {
    let by = Scaling::By { alpha: Some([2.0, 0.5]), conjugated: true };
    let scaled = |problem: Problem, number, scaling| {
        let work = Work::of_plan(&plan(&problem)).unwrap();
        let scaled = work.scaled(number, scaling, &DeviceLimits::H200).unwrap();
        scaled.inspect(|scaled| {
            assert_eq!((scaled.bytes(), scaled.alignment()), (work.bytes(), work.alignment()));
            let args = SquareArgs { factor: Factor::zeroed(), ..square_of(scaled) };
            assert_eq!(Args::Square(args), work.calls()[0].params);
            assert_eq!(work.calls()[1..], scaled.calls()[1..work.calls().len()]);
        })
    };
    for number in ScalarKind::ALL {
        let of = |sides, ld, bytes| transposed(sides, [ld; 2], bytes);
        let bytes = number.bytes();
        let whole = scaled(of([4000, 4000], 4016, bytes), number, by).unwrap();
        let factor = square_of(&whole).factor;
        assert_eq!((whole.calls().len(), factor.re), (1, 2f64.to_bits()));
        assert_eq!(factor.does, if number.is_complex() { 1 | 2 | 8 } else { 1 });
        for sides in [[4000, 3000], [3000, 4000]] {
            let most = scaled(of(sides, 4016, bytes), number, by).unwrap();
            assert_eq!(most.calls().len(), 3);
            // The part to the right of the square, or below it.
            let to = if sides[0] > sides[1] { 3000 } else { 3000 * 4016 } * bytes;
            assert_eq!(most.spots()[2][0], BufferOffset::Data(to));
            assert!(most.calls()[2].kernel().starts_with("scale."));
        }
        assert!(scaled(of([4000, 4000], 4016, bytes), number, Scaling::Zeros).is_none());
        assert!(scaled(transposed([4000, 3000], [3008, 4016], bytes), number, by).is_none());
        let unaligned =
            |side| of([side, side], side + 1, bytes).with_alignment(number.real_bytes());
        let in_granules = number.bytes() < 16 && !number.is_complex();
        assert_eq!(scaled(unaligned(4001), number, by).is_some(), in_granules, "words are reals");
        assert!(scaled(unaligned(40), number, by).is_none(), "word by word");
    }
}

fn square_of(work: &Work) -> SquareArgs {
    let Args::Square(args) = work.calls()[0].params else { panic!("{work:?}") };
    args
}

/// Sizes that fill a chip: their kernels, and at most the workspace of the formula.
#[test]
fn large_matrices_go_by_wide_words() {
    let kernels = |problem: Problem| -> Vec<String> {
        let plan = plan(&problem);
        let work = Work::of_plan(&plan).unwrap();
        assert!(work.workspace_bytes() <= plan.workspace_bytes, "{plan}");
        work.calls().iter().map(|call| call.kernel()).collect()
    };
    let of = |sides, lds| transposed(sides, lds, 4);
    let square = of([16384, 16384], [16416; 2]);
    assert_eq!(kernels(square.clone()), ["tiles.w4/square_swap_64"]);
    assert_eq!(kernels(square.with_alignment(4)), ["tiles.w4/square_swap_granules"]);
    assert_eq!(kernels(of([16384, 16384], [16385; 2])), ["tiles.w4/square_swap_granules"]);
    let rest = ["tiles.w4/square_swap_64", "out_of_place.w4/into_micro_64"];
    assert_eq!(kernels(of([20000, 12000], [20480; 2])), rest);
    let around = of([8000, 5000], [5100, 8100]);
    let plan = plan(&around);
    let kept = around.saved_gaps().unwrap().count();
    let all = kernels(around);
    assert!(kept > 0 && all[0] == "pitched.w4/gaps_keep", "{all:?}");
    assert_eq!(all.last().map(String::as_str), Some("pitched.w4/gaps_restore"));
    assert!(plan.workspace_bytes >= kept * 4);
}

/// Moving gap elements with the data saves passes if space permits. The planner chooses the fastest
/// frame.
#[test]
fn the_fastest_frame_is_taken() {
    let around =
        |plan: &&Plan| plan.stages().all(|stage| !matches!(stage.map, StageMap::TransposeRows(_)));
    for (sides, lds, frames, passes) in [
        // By tiles that divide both pitches, and by one or two slides.
        ([8000, 5000], [5100, 8100], 3, 2),
        ([5000, 8000], [8100, 5100], 3, 2),
        ([20000, 12000], [12032, 20032], 3, 2),
        ([20011, 16381], [16400, 20100], 2, 3),
        // Saved gaps would exceed the cap, or neither side has space for the other's last gap.
        ([8000, 5000], [10_000, 16_003], 1, 4),
        ([8000, 5000], [10_000, 16_000], 1, 4),
    ] {
        let problem = transposed(sides, lds, 4);
        let all = planner().candidates(&problem).candidates;
        let all: Vec<&Plan> = all.iter().filter(around).collect();
        let best = plan(&problem);
        assert_eq!((all.len(), best.passes()), (frames, passes), "{best:#}");
        assert!(all.iter().all(|other| best.seconds <= other.seconds), "{best:#}");
    }
    // Moving gap elements may increase the saved gaps beyond the cap.
    let problem = transposed([8000, 5000], [5100, 8100], 4);
    let [more, least] = [plan(&problem).saved_gap_bytes(), problem.saved_gap_bytes()];
    assert!(more > least);
    let tight = |cap| {
        let plan = plan(&problem.with_cap(cap));
        (plan.passes(), plan.saved_gap_bytes())
    };
    assert_eq!(tight(more + (1 << 20)), (2, more));
    let (passes, kept) = tight(more - 1);
    assert!(passes >= 4 && kept == least, "{passes} passes, {kept} bytes");
}

/// If the cap is too low for the gaps, the error has the bytes needed.
#[test]
fn caps_are_kept_to() {
    let problem = turned([3000, 2000], [2000, 3000], 4);
    let need = (problem.saved_gaps().unwrap().count() * 4).next_multiple_of(16);
    assert!(need > 5 << 20);
    assert!(planner().plan(&problem).is_ok(), "by default there is room");
    let refused = |problem: Problem| match planner().plan(&problem) {
        Err(PlanError::Infeasible { why, .. }) => why,
        other => panic!("{other:?}"),
    };
    let cap = need - 1;
    let why = Infeasible::Workspace { need, cap };
    assert_eq!(refused(problem.with_cap(cap)), why);
    assert_eq!(planner().candidates(&problem.with_cap(cap)).candidates, []);
    let least = plan(&problem.with_cap(need));
    assert_eq!(least.workspace_bytes, need, "{least:#}");
    // Rows slide with one flag per block, or in rounds without flags.
    let slide = slid([3000, 2000], [0, 100], 4);
    let method =
        |plan: &Plan| plan.stages().map(|stage| stage.implementation.method).collect::<Vec<_>>();
    let [blocks, rounds] = [plan(&slide), plan(&slide.with_cap(0))];
    assert_eq!((method(&blocks), method(&rounds)), (vec![Method::Blocks], vec![Method::Rounds]));
    let flags = (3000 * 2000 * 4usize).div_ceil(48_384) + 1;
    let bytes = [blocks.workspace_bytes, rounds.workspace_bytes];
    assert_eq!(bytes, [(4 * flags).next_multiple_of(8), 0]);
    // Equal pitches need no workspace.
    let turned = turned([3000, 2000], [1000, 0], 4).with_cap(0);
    assert_eq!(plan(&turned).workspace_bytes, 0);
}

#[test]
fn plans_put_together_by_hand_are_refused() {
    let around = plan(&turned([8000, 5000], [100, 100], 4));
    let refused = |plan: &Plan| Work::of_plan(plan).unwrap_err();
    let is_leading = |plan: &Plan| {
        let error = refused(plan);
        assert!(matches!(error, CudaError::Flawed(InvalidPlan::Leading { .. })), "{error}: {plan}");
    };
    let equal = plan(&turned([8000, 5000], [3100, 100], 4));
    assert!(is_turned(&equal));
    let of = |problem: Problem, plan: &Plan| {
        let mut plan = plan.clone();
        plan.problem = problem;
        plan
    };
    is_leading(&of(around.problem.clone(), &equal));
    is_leading(&of(turned([8000, 5000], [3200, 200], 4), &equal));
    for leg in 0..around.phases.len() {
        for stage in 0..around.phases[leg].stages.len() {
            let mut less = around.clone();
            less.phases[leg].stages.remove(stage);
            if leg != 1 {
                is_leading(&less);
            }
            // A plan that saves no gaps would place flags over saved gaps.
            let mut other = around.clone();
            other.phases[leg].stages[stage].implementation.method = Method::OutOfPlace;
            assert!(matches!(refused(&other), CudaError::Flawed(_)));
        }
    }
    let unaligned = of(around.problem.with_alignment(4), &around);
    assert!(matches!(refused(&unaligned), CudaError::Flawed(_)));
}

/// With odd pitches, the part outside the square is less aligned than the matrix.
#[test]
fn vectors_are_as_aligned_as_every_row() {
    for (sides, pitch, elem_bytes) in [([32, 16], 33, 4), ([16, 32], 33, 4), ([4, 2], 5, 8)] {
        let work = check(&plan(&transposed(sides, [pitch; 2], elem_bytes)));
        assert_eq!(work.calls().len(), 2);
        assert_eq!(work.calls()[1].word, elem_bytes, "{sides:?}");
    }
}

/// Numbers in rows of whole vectors are scaled by vectors, others one by one.
#[test]
fn numbers_go_by_vectors_where_they_can() {
    let wide = |number, cols, pitch, alignment| {
        let rows = PitchedRows::new(10, cols, pitch).unwrap();
        let work =
            Work::of_scale(number, rows, Scaling::Zeros, alignment, &DeviceLimits::H200).unwrap();
        assert_eq!(work.bytes(), rows.span() * number.bytes());
        let turntile_cuda::args::Args::Scale(args) = work.calls()[0].params else { panic!() };
        let each = if args.wide == 1 { 16 } else { number.bytes() as u64 };
        assert_eq!(args.packs * each, (rows.len() * number.bytes()) as u64);
        (args.wide == 1, work.alignment())
    };
    assert_eq!(wide(ScalarKind::F32, 20, 24, 16), (true, 16));
    assert_eq!(wide(ScalarKind::F32, 20, 25, 16), (false, 16));
    assert_eq!(wide(ScalarKind::F32, 21, 24, 16), (false, 16));
    assert_eq!(wide(ScalarKind::C64, 7, 9, 16), (true, 16));
    assert_eq!(wide(ScalarKind::C64, 7, 9, 8), (false, 8));
    assert_eq!(wide(ScalarKind::F64, 7, 9, 1), (false, 8), "as aligned as numbers must be");
    let none = PitchedRows::new(0, 5, 7).unwrap();
    let work =
        Work::of_scale(ScalarKind::F32, none, Scaling::Zeros, 16, &DeviceLimits::H200).unwrap();
    assert_eq!((work.calls().len(), work.bytes()), (0, 0));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn drawn_matrices(
        rows in 1usize..80, cols in 1usize..80, a in 0usize..90, b in 0usize..90,
        elem_bytes in prop::sample::select(vec![1usize, 2, 3, 4, 8, 12, 16]),
        square in any::<bool>(), cap in prop::sample::select(vec![1000usize, 20_000, 1 << 20]),
    ) {
        // Random pitches are rarely equal.
        let pitch = rows.max(cols) + a;
        let problem = match square {
            true => transposed([rows, cols], [pitch; 2], elem_bytes),
            false => turned([rows, cols], [a, b], elem_bytes),
        };
        check_every_way(problem.clone());
        for problem in [problem.with_cap(cap), slid([rows, cols], [a, b], elem_bytes)] {
            if let Ok(plan) = planner().plan(&problem) {
                check(&plan);
            }
        }
    }
}

/// A tile row of such elements has 2^32 words or more. Other elements of this length have no such
/// tile.
#[test]
fn elements_too_long_for_a_tile_are_refused() {
    for elem in [(1 << 31) + 1, 536_870_911] {
        let problem = transposed([8, 8], [8, 8], elem);
        let swapped = planner().plan(&problem).is_ok_and(|plan| is_turned(&plan));
        assert!(!swapped, "{elem}");
    }
}
