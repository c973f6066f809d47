//! The strategies that devices offer, the launches that plans print, and the launches that run
//! agree.

use turntile_cuda::launch::{CheckedLaunch, DeviceLimits, Launch, WorkspacePart};
use turntile_cuda::{BufferOffset, GpuDevice, LaunchList, Work};
use turntile_perm::{AlignedSlots, LayoutChange, RecordSchema};
use turntile_plan::{
    Device, Implementation, MethodFilter, Plan, Planner, Problem, Route, StageMap, StageRequest,
    TileRule,
};

use crate::cases::{DIRECTIONS, ELEMENTS, alignments, drawn, shapes, swap, turned};
use crate::follow::{agrees, offsets, through};
use crate::replay;

/// A printed launch, or the number of launches that are not printed separately.
#[derive(Debug, PartialEq)]
enum Printed {
    Launch { kernel: String, numbers: [usize; 3], workspace: WorkspacePart },
    More(usize),
}

/// Parses `moves.w16/move_swap32_1 8 x 256 threads, 6144 bytes on chip, 16 bytes of flags`, or `and
/// 7 more launches`.
fn parse(line: &str) -> Printed {
    let number = |word: &str| word.parse().unwrap_or_else(|_| panic!("a number in {line}"));
    let words = |text: &'_ str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let mut parts = line.split(", ");
    let first = words(parts.next().unwrap());
    if let [and, count, more, launches] = &first[..] {
        assert_eq!([&and[..], more, launches], ["and", "more", "launches"], "{line}");
        return Printed::More(number(count));
    }
    let [kernel, groups, x, threads, what] = &first[..] else { panic!("{line}") };
    assert_eq!([&x[..], what], ["x", "threads"], "{line}");
    let (mut shared_bytes, mut workspace) = (0, WorkspacePart::None);
    for part in parts {
        let (count, what) = part.split_once(' ').unwrap();
        match what {
            "bytes on chip" => shared_bytes = number(count),
            "bytes of flags" => workspace = WorkspacePart::Flags(number(count)),
            "bytes set aside" => workspace = WorkspacePart::Saved(number(count)),
            _ => panic!("{line}"),
        }
    }
    let numbers = [number(groups), number(threads), shared_bytes];
    Printed::Launch { kernel: kernel.clone(), numbers, workspace }
}

/// Checks that the lines print these launches, in order, and no others.
fn prints<'a>(lines: impl Iterator<Item = &'a str>, calls: &[CheckedLaunch]) {
    let mut rest = calls;
    for line in lines {
        let (now, printed) = match parse(line) {
            Printed::More(count) => (count, None),
            launch => (1, Some(launch)),
        };
        let (first, others) = rest.split_at_checked(now).unwrap_or_else(|| panic!("{line}"));
        if let Some(printed) = printed {
            let call = &first[0];
            let numbers = [call.groups, call.threads, call.shared_bytes].map(|n| n as usize);
            let (kernel, workspace) = (call.kernel(), call.workspace);
            assert_eq!(printed, Printed::Launch { kernel, numbers, workspace });
        }
        rest = others;
    }
    assert_eq!(rest, [], "launches that are not printed");
}

/// Returns `true` if a launch is broken with `bytes` bytes of workspace.
fn breaks(calls: &[CheckedLaunch], alignment: usize, bytes: usize) -> bool {
    calls.iter().map(|call| **call).any(|launch| {
        let workspace = match launch.workspace {
            WorkspacePart::None => WorkspacePart::None,
            WorkspacePart::Flags(_) => WorkspacePart::Flags(bytes),
            WorkspacePart::Saved(_) => WorkspacePart::Saved(bytes),
        };
        replay::dest(&Launch { workspace, ..launch }, alignment as u64, 0).is_err()
    })
}

/// Checks that the launches of an offer implement its shape, and need exactly the workspace that it
/// names.
fn check(offer: &Implementation, shape: &StageMap, request: &StageRequest) {
    let launches: &LaunchList = offer.launch_config.get().expect("a GPU's");
    let (elem, calls) = (request.elem_bytes, launches.calls());
    assert!(request.alignment.is_multiple_of(launches.alignment()));
    agrees(calls, shape, elem, request.alignment);
    prints(offer.launch_config.to_string().lines(), calls);
    let need = offer.workspace_bytes;
    assert!(!breaks(calls, request.alignment, need), "{shape} {}: {need} bytes", offer.name());
    if let Some(less) = need.checked_sub(8) {
        assert!(breaks(calls, request.alignment, less), "{shape} {}: {less} bytes", offer.name());
    }
    assert!(offer.seconds > 0.0 && offer.seconds.is_finite(), "{shape} {}", offer.name());
}

/// Returns shapes of every form, with and without a GPU kernel.
fn forms() -> Vec<StageMap> {
    let mut forms = shapes();
    // Whole matrices of routes, squares, tiles transposed within instances, a copy.
    forms.extend(
        [
            [1, 3000, 1, 3000, 1],
            [7, 1000, 1, 1000, 1],
            [1, 2500, 1, 5100, 1],
            [40, 128, 1, 2000, 1],
            [1, 9_999_991, 1, 7, 1],
            [1, 1, 1, 10_000, 1],
        ]
        .map(swap),
    );
    forms.extend([turned(1, [300, 211], [50, 36]), turned(3, [2, 2], [3, 2])]);
    // Without a kernel: slots row by row. (`cut.rs` and `leading.rs` test stages that use the
    // workspace.)
    let slots = AlignedSlots::by_rows(97, 33, 16).unwrap();
    forms.extend(DIRECTIONS.map(|direction| StageMap::SlotGather { batch: 2, slots, direction }));
    forms
}

#[test]
fn every_offer_does_what_it_says() {
    // Number of offers in place and out of place, and of requests without an offer.
    let (mut offers, mut refused) = ([0, 0], 0);
    for chip in GpuDevice::presets() {
        for shape in forms() {
            for elem_bytes in ELEMENTS {
                for alignment in alignments(elem_bytes) {
                    for out_of_place in [false, true] {
                        let (cap, want) = (usize::MAX, MethodFilter::Any);
                        let request = StageRequest {
                            elem_bytes,
                            alignment,
                            out_of_place,
                            cap,
                            methods: want,
                        };
                        let found = chip.implementations(&shape, &request);
                        refused += usize::from(found.is_err());
                        // Axes in any order have an offer, in place and out of place.
                        let none = !matches!(shape, StageMap::Axes(_));
                        assert!(none || found.is_ok(), "{shape} {elem_bytes}: {found:?}");
                        for offer in found.unwrap_or_default() {
                            check(&offer, &shape, &request);
                            offers[usize::from(out_of_place)] += 1;
                        }
                    }
                }
            }
        }
    }
    assert_eq!((offers, refused), ([14355, 9102], 3240));
}

/// With a cap, a device offers all strategies that it offers without one, except those that need
/// more workspace.
#[test]
fn caps_leave_out_what_needs_more() {
    let chip = GpuDevice::h200();
    for shape in forms() {
        let request = |cap| StageRequest {
            elem_bytes: 4,
            alignment: 16,
            out_of_place: false,
            cap,
            methods: MethodFilter::Any,
        };
        let all = chip.implementations(&shape, &request(usize::MAX)).unwrap_or_default();
        for cap in all.iter().flat_map(|o| [o.workspace_bytes, o.workspace_bytes.saturating_sub(1)])
        {
            let fits = all.iter().filter(|offer| offer.workspace_bytes <= cap).cloned();
            let capped = chip.implementations(&shape, &request(cap)).unwrap_or_default();
            assert_eq!(capped, fits.collect::<Vec<_>>(), "{shape} with {cap} bytes");
        }
    }
}

/// Follows a plan's launches through its whole problem, and parses its printed text.
fn run(plan: &Plan, work: &Work) {
    let (problem, calls) = (&plan.problem, work.calls());
    let elem = problem.itemsize();
    for offset in offsets(problem.bytes()) {
        let want = problem.dest(offset / elem) * elem + offset % elem;
        let at = through(plan, work, offset).unwrap_or_else(|why| panic!("{plan}: {why:?}"));
        assert_eq!(at, BufferOffset::Data(want), "{plan}, byte {offset}");
    }
    let text = format!("{plan:#}");
    // Lines of launches have the largest indentation.
    prints(text.lines().filter_map(|line| line.strip_prefix("           ")), calls);
    let workspace = format!("workspace  {} bytes", plan.workspace_bytes);
    assert!(text.lines().any(|line| line == workspace), "{text}");
    assert!(!breaks(calls, problem.alignment(), plan.workspace_bytes), "{plan}");
}

/// Runs a plan in place. Its launches match the device code, and need the workspace that the plan
/// names.
fn run_in_place(plan: &Plan) {
    let work = Work::of_plan(plan).unwrap_or_else(|error| panic!("{plan}: {error}"));
    run(plan, &work);
    // The workspace of a plan is whole words of 8 bytes.
    assert_eq!(work.workspace_bytes().next_multiple_of(8), plan.workspace_bytes, "{plan}");
    if plan.device == "h200" {
        work.calls().iter().for_each(crate::lowering::check);
    }
}

#[test]
fn plans_launch_what_they_print() {
    let (mut in_place, mut elsewhere) = (0, 0);
    for chip in GpuDevice::presets() {
        for (batch, rows, cols, elem, alignment) in [
            (1, 4096, 6144, 4, 16),
            (1, 1000, 777, 2, 2),
            (9, 300, 200, 1, 16),
            (1, 5000, 5000, 8, 8),
            (1, 5000, 4900, 4, 16),
            (1, 9_999_991, 7, 4, 4),
            (3, 1801, 3607, 12, 16),
            (1, 16381, 20011, 4, 16),
            (100_000, 64, 48, 4, 16),
            (1, 1, 1000, 3, 16),
            (1, 0, 7, 4, 16),
            (1, 30, 40, 1, 16),
            (1, 61, 1_000_003, 4, 16),
            (1, 158_003, 158_017, 4, 16),
            (1, 101, 89, 12, 16),
        ] {
            let problem = Problem::with_batch(batch, rows, cols, elem).unwrap();
            let problem = problem.with_alignment(alignment);
            for rule in [TileRule::CostModel, TileRule::Exhaustive] {
                // A large matrix has thousands of equivalent tiles.
                if rule == TileRule::Exhaustive && problem.bytes() > 1 << 21 {
                    continue;
                }
                let planner = Planner::new(chip.clone()).with_tiles(rule);
                for plan in planner.candidates(&problem).candidates {
                    run_in_place(&plan);
                    in_place += 1;
                }
            }
            let planner = Planner::new(chip.clone()).with_tiles(TileRule::Exhaustive);
            for plan in planner.candidates(&problem.out_of_place().unwrap()).candidates {
                let work = Work::of_plan(&plan).unwrap();
                run(&plan, &work);
                assert_eq!(work.bytes(), problem.bytes(), "{plan}");
                elsewhere += 1;
            }
        }
    }
    assert_eq!((in_place, elsewhere), (3113, 243));
}

/// Every candidate for random axis permutations, with unlimited workspace and without.
#[test]
fn permutations_of_axes_launch_what_they_print() {
    let (mut plans, mut elsewhere) = (0, 0);
    for (k, (extents, order)) in drawn(150, 9, 50_000).into_iter().enumerate() {
        let elem = [1, 2, 3, 4, 8, 12, 16, 24][k % 8];
        let alignment = alignments(elem)[k / 8 % 2];
        let problem = Problem::permuted(&extents, &order, elem).unwrap();
        let chip = GpuDevice::presets()[k % 3].clone();
        let planner = Planner::new(chip);
        for problem in [problem.clone(), problem.with_cap(0)] {
            let problem = problem.with_alignment(alignment);
            for plan in planner.candidates(&problem).candidates {
                run_in_place(&plan);
                plans += 1;
            }
        }
        let problem = problem.with_alignment(alignment).out_of_place().unwrap();
        for plan in planner.candidates(&problem).candidates {
            run(&plan, &Work::of_plan(&plan).unwrap());
            elsewhere += 1;
        }
    }
    assert!(plans > 2500 && elsewhere == 150, "{plans} plans, {elsewhere} out of place");
}

/// Large permutations take few passes: one pass over tiles and one pass of runs as long as a tile's
/// side, or a single pass if squares are adjacent.
#[test]
fn large_permutations_of_axes_take_few_passes() {
    let plan = |extents: &[usize], order: &[usize], elem| {
        let plan = Planner::new(GpuDevice::h200())
            .plan(&Problem::permuted(extents, order, elem).unwrap())
            .unwrap();
        run(&plan, &Work::of_plan(&plan).unwrap());
        (plan.route(), plan.passes(), plan.tile().m)
    };
    assert_eq!(plan(&[512, 640, 1024], &[2, 1, 0], 4), (Route::SQUARE_TILE, 2, 128));
    assert_eq!(plan(&[512, 640, 1024], &[1, 2, 0], 4), (Route::SQUARE_TILE, 2, 128));
    assert_eq!(plan(&[64, 256, 112, 112], &[0, 2, 3, 1], 4), (Route::ON_CHIP, 1, 256));
    assert_eq!(plan(&[704, 704, 704], &[2, 1, 0], 4), (Route::SQUARE, 1, 704));
    assert_eq!(plan(&[700, 700, 700], &[2, 1, 0], 4), (Route::SQUARE, 1, 700));
    // More than 2^32 elements, and several rounds of intermediate orders.
    assert_eq!(plan(&[2048, 1024, 4096], &[2, 1, 0], 4), (Route::SQUARE_TILE, 2, 128));
    assert_eq!(plan(&[509, 641, 1021], &[2, 1, 0], 4).0, Route::SEVERAL);
}

/// Flips and quarter turns take the passes of the plan without reversed axes, and every candidate
/// launches what it prints.
#[test]
fn reversed_axes_take_no_further_pass() {
    let planner = Planner::new(GpuDevice::h200());
    let problem = |extents: &[usize], order: &[usize], flip: &[usize], elem| {
        Problem::permuted(extents, order, elem).unwrap().with_flip(flip).unwrap()
    };
    for (extents, order, flip, elem, passes) in [
        (&[64, 4096, 4096][..], &[0, 1, 2][..], &[0][..], 4, 1),
        (&[64, 4096, 4096], &[0, 1, 2], &[1, 2], 4, 1),
        (&[4_000_000, 3], &[0, 1], &[1], 1, 1),
        (&[16384, 16384], &[1, 0], &[0], 4, 1),
        (&[64, 2048, 2048], &[0, 2, 1], &[2], 4, 1),
        (&[2048, 2048, 3], &[1, 0, 2], &[1], 1, 1),
        (&[2000, 3000, 256], &[1, 0, 2], &[0], 4, 1),
        (&[20_000, 12_000], &[1, 0], &[0], 4, 2),
        (&[20_000, 12_000], &[1, 0], &[1], 4, 2),
    ] {
        let plan = planner.plan(&problem(extents, order, flip, elem)).unwrap();
        run(&plan, &Work::of_plan(&plan).unwrap());
        assert_eq!(plan.passes(), passes, "{plan}");
    }
    let mut plans = 0;
    for (k, (extents, order)) in drawn(100, 6, 20_000).into_iter().enumerate() {
        let flip: Vec<usize> = (0..extents.len()).filter(|axis| (k + 1) >> axis & 1 == 1).collect();
        let problem = problem(&extents, &order, &flip, [1, 2, 3, 4, 8, 12, 16, 24][k % 8]);
        let problem = problem.with_alignment(alignments(problem.itemsize())[k / 8 % 2]);
        for plan in planner.candidates(&problem).candidates {
            run_in_place(&plan);
            plans += 1;
        }
    }
    assert!(plans > 1000, "{plans} plans");
}

/// Records with any fields, in any number, convert between any two layouts at 16-byte aligned
/// addresses.
#[test]
fn every_conversion_of_records_has_launches() {
    let planner = Planner::new(GpuDevice::h200());
    let fields: [(&[usize], usize); 7] = [
        (&[1; 3], 4),
        (&[1; 4], 1),
        (&[4, 12, 1, 8], 1),
        (&[4, 12, 1, 8, 7], 1),
        (&[8, 2, 2], 1),
        (&[3, 3, 5], 1),
        (&[1; 64], 4),
    ];
    for (widths, word_bytes) in fields {
        for records in [0, 1, 2, 33, 1009, 16_384, 20_011, 2_000_003] {
            let fields = RecordSchema::new(records, widths).unwrap();
            for from in [1, 7, 8, 32, 128, records] {
                for to in [1, 7, 8, 32, 128, records] {
                    let retile = LayoutChange::new(fields.clone(), from, to);
                    let problem = Problem::for_records(retile, word_bytes).unwrap();
                    let plan = planner.plan(&problem);
                    let plan = plan.unwrap_or_else(|why| panic!("{problem}: {why}"));
                    Work::of_plan(&plan).unwrap_or_else(|why| panic!("{plan}: {why}"));
                }
            }
        }
    }
}

/// Clusters share the tiles of cubes if the device's clusters have enough blocks and rows are whole
/// cache lines.
#[test]
fn cubes_are_shared_by_clusters_that_there_are() {
    let kernel = |chip: &GpuDevice, side: usize, order: &[usize; 3], elem| {
        let problem = Problem::permuted(&[side; 3], order, elem).unwrap();
        let plan = Planner::new(chip.clone()).plan(&problem).unwrap();
        let work = Work::of_plan(&plan).unwrap();
        run(&plan, &work);
        let [call] = work.calls() else { panic!("{plan}") };
        call.entry
    };
    let with = |cluster| {
        let h200 = GpuDevice::h200();
        let limits = DeviceLimits { cluster, ..*h200.limits() };
        h200.with_limits(limits)
    };
    let forward =
        |chip: &GpuDevice| [1, 2, 4, 8, 16].map(|elem| kernel(chip, 640, &[1, 2, 0], elem));
    let ([all, eight, two], none) = (
        ["cube_cluster_forward_16", "cube_cluster_forward_8", "cube_cluster_forward_2"],
        "cube_forward",
    );
    assert_eq!(forward(&with(16)), [all, all, eight, eight, two]);
    assert_eq!(forward(&with(8)), [none, none, eight, eight, two]);
    assert_eq!(forward(&with(1)), [none; 5]);
    assert_eq!(forward(&GpuDevice::a100()), [none; 5]);
    assert_eq!(kernel(&with(16), 640, &[2, 0, 1], 4), "cube_cluster_back_8");
    assert_eq!(kernel(&with(16), 700, &[2, 0, 1], 4), "cube_back");
}
