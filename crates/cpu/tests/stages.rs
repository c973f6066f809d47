//! Tests of single stages: every method that can run a stage map, against the map's closed form.

use crate::numbered;
use turntile_cpu::kernel_config::{CpuKernel, CpuKernelConfig};
use turntile_cpu::{CpuDevice, Executor, Workspace};
use turntile_perm::{
    AlignedSlots, AxisPermutation, Elementary, FlippedAxes, PitchedRows, RowSlide, SlotOrder,
};
use turntile_plan::{
    Device, Direction, Implementation, InvalidPlan, LaunchConfig, LaunchConfigData, Method,
    MethodFilter, Plan, Planner, Problem, StageMap, StageRequest,
};

/// Launch configuration of a device that does not exist on this machine.
#[derive(Debug, PartialEq)]
pub struct Elsewhere;

impl std::fmt::Display for Elsewhere {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("elsewhere")
    }
}

impl LaunchConfigData for Elsewhere {
    fn variant(&self) -> String {
        String::new()
    }
}

fn single_stage(map: StageMap, implementation: Implementation, elem_bytes: usize) -> Plan {
    Plan::from_stage("any", map, implementation, elem_bytes).unwrap()
}

/// Stage map with its data before and after.
struct Case {
    map: StageMap,
    elem_bytes: usize,
    from: Vec<u8>,
    want: Vec<u8>,
}

impl Case {
    fn new(map: StageMap, elem_bytes: usize) -> Self {
        let from = numbered(map.len(), elem_bytes);
        let mut want = vec![0; from.len()];
        for (k, element) in from.chunks(elem_bytes).enumerate() {
            want[map.dest(k) * elem_bytes..][..elem_bytes].copy_from_slice(element);
        }
        Case { map, elem_bytes, from, want }
    }

    fn check(&self, implementation: Implementation, threads: usize) {
        let (mut data, name) = (self.from.clone(), implementation.name());
        let plan = single_stage(self.map.clone(), implementation, self.elem_bytes);
        let executor = Executor::new(plan, threads).unwrap();
        let mut workspace = Workspace::new(executor.workspace_bytes()).unwrap();
        workspace.poison(0xC3);
        executor.run_bytes(&mut data, &mut workspace).unwrap();
        let (map, elem_bytes) = (&self.map, self.elem_bytes);
        assert!(
            data == self.want,
            "{map} {name} of {elem_bytes}-byte elements on {threads} threads"
        );
    }
}

fn request(elem_bytes: usize) -> StageRequest {
    let cap = usize::MAX;
    StageRequest { elem_bytes, alignment: 16, out_of_place: false, cap, methods: MethodFilter::Any }
}

/// Checks every implementation that CPU devices offer, and every method that another device may
/// have planned.
pub fn check_all_methods(map: StageMap, elem_bytes: usize) {
    let (case, mut checked) = (Case::new(map.clone(), elem_bytes), 0);
    for host in [CpuDevice::new(1), CpuDevice::new(3)] {
        for implementation in host.implementations(&map, &request(elem_bytes)).unwrap_or_default() {
            case.check(implementation, 2);
            checked += 1;
        }
    }
    for &method in map.methods().iter().filter(|&&method| method != Method::OutOfPlace) {
        let config = LaunchConfig::new(Elsewhere);
        let implementation = Implementation::new(method, config, 0, 0.0);
        match Executor::new(single_stage(map.clone(), implementation.clone(), elem_bytes), 2) {
            Ok(_) => case.check(implementation, 2),
            // Some methods only run maps with separate instances.
            Err(error) => {
                let may_reject = matches!(method, Method::PttwacOnChip | Method::BarrierSync);
                assert!(may_reject || map.is_empty(), "{map} {method}: {error}");
            }
        }
    }
    // Bands do not support slots longer than rows, and CPU devices have no other kernel for row
    // order.
    let long = matches!(&map, StageMap::SlotGather { slots, .. }
        if slots.order() == SlotOrder::Rows && slots.slot() > slots.cols());
    assert!(checked > 0 || long, "{map} of {elem_bytes} bytes has no implementation");
}

#[test]
fn elementary_maps_are_right_by_every_method() {
    let extents = [1, 2, 3, 5, 8];
    for batch in [1, 3] {
        for rows in extents {
            for mid in [1, 2, 3] {
                for cols in extents {
                    for unit in [1, 3, 8] {
                        let e = Elementary { batch, rows, mid, cols, unit };
                        for elem_bytes in [1, 4, 12] {
                            check_all_methods(e.into(), elem_bytes);
                        }
                    }
                }
            }
        }
    }
}

/// Checks axis permutations other than matrix transpositions. Most of them move along cycles.
#[test]
fn axis_permutations_are_right_by_every_method() {
    for (extents, order) in [
        (&[2, 3, 4, 5][..], &[2, 0, 3, 1][..]),
        (&[3, 2, 5, 4, 3], &[0, 3, 1, 4, 2]),
        (&[4, 3, 2, 5, 6], &[3, 1, 0, 2, 4]),
        (&[2, 2, 2, 2, 2, 2], &[5, 4, 3, 2, 1, 0]),
    ] {
        let axes = AxisPermutation::new(extents, order).unwrap();
        [1, 4, 12].into_iter().for_each(|bytes| check_all_methods(axes.into(), bytes));
    }
}

/// Checks every set of reversed axes, of short and long runs, and of squares in one tile and more.
#[test]
fn reversed_axes_are_right_by_every_method() {
    for (extents, order, elem_bytes) in [
        (&[17][..], &[0][..], &[1, 2, 3, 4, 6, 8, 12, 16, 20][..]),
        (&[1000], &[0], &[1, 4, 16, 96]),
        (&[7, 5], &[0, 1], &[1, 3, 4, 8, 40]),
        (&[3, 5, 4, 3], &[0, 1, 2, 3], &[1, 4]),
        (&[5, 2, 70_001], &[0, 1, 2], &[1, 2]),
        (&[2, 300, 40, 4], &[0, 1, 2, 3], &[1, 4]),
        (&[5, 7], &[1, 0], &[1, 4, 12]),
        (&[3, 4, 5], &[2, 0, 1], &[1, 8]),
        (&[2, 3, 4, 5], &[2, 0, 3, 1], &[4]),
        (&[6, 6], &[1, 0], &[1, 3, 4, 20_000]),
        (&[3, 129, 129, 3], &[0, 2, 1, 3], &[1]),
        (&[200, 200], &[1, 0], &[1, 2, 4, 8, 16]),
        (&[257, 257], &[1, 0], &[1, 4]),
    ] {
        for set in 1..1 << extents.len() {
            let flipped: Vec<bool> = (0..extents.len()).map(|k| set >> k & 1 == 1).collect();
            let axes = FlippedAxes::new(extents, order, &flipped).unwrap();
            elem_bytes.iter().for_each(|&bytes| check_all_methods(axes.into(), bytes));
        }
    }
}

#[test]
fn slot_passes_are_right_by_every_method() {
    for (rows, cols) in [(1, 5), (7, 3), (13, 13), (29, 10), (40, 7), (12, 1)] {
        for slot in 1..=rows.min(9) {
            let by_columns = |chunk| AlignedSlots::new(rows, cols, slot, chunk);
            let by_rows = AlignedSlots::by_rows(rows, cols, slot);
            for slots in (slot..=rows).step_by(slot).filter_map(by_columns).chain(by_rows) {
                for direction in [Direction::Forward, Direction::Backward] {
                    for (batch, elem_bytes) in [(2, 1), (1, 8), (2, 8), (1, 300)] {
                        let gather = StageMap::SlotGather { batch, slots, direction };
                        check_all_methods(gather, elem_bytes);
                        let moves = StageMap::SlotMove { batch, slots, direction };
                        check_all_methods(moves, elem_bytes);
                    }
                }
            }
        }
    }
}

#[test]
fn cuts_are_right_by_every_method() {
    let directions = [Direction::Forward, Direction::Backward];
    for (rows, cols, packed) in
        [(1, 5, 3), (2, 3, 2), (7, 9, 8), (9, 12, 3), (300, 11, 7), (40, 700, 697)]
    {
        let columns = PitchedRows::new(rows, packed, cols).unwrap();
        for (direction, elem_bytes) in
            directions.into_iter().flat_map(|d| [1, 4, 12].map(|e| (d, e)))
        {
            check_all_methods(StageMap::Cut { rows: columns, direction }, elem_bytes);
        }
    }
}

/// Checks maps larger than every internal block: tiles of 64, blocks of 256 bytes, several chains
/// per thread.
#[test]
fn maps_beyond_the_block_sizes_are_right_by_every_method() {
    let e =
        |batch, rows, mid, cols, unit| StageMap::from(Elementary { batch, rows, mid, cols, unit });
    for (map, elem_bytes) in [
        (e(1, 333, 1, 333, 1), 4),
        (e(1, 200, 1, 200, 1), 1),
        (e(1, 65, 1, 65, 1), 24),
        (e(1, 9, 1, 9, 1), 20_000),
        (e(3, 130, 5, 130, 1), 2),
        (e(2, 190, 1, 77, 1), 8),
        (e(1, 61, 1, 53, 40), 4),
        (e(1, 31, 64, 37, 16), 4),
        // Long super-elements of several pieces.
        (e(2, 3, 1, 2, 10_001), 8),
        (e(1, 4, 3, 5, 20_011), 3),
    ] {
        check_all_methods(map, elem_bytes);
    }
    for (rows, cols, slot, chunk) in
        [(1009, 251, 16, 64), (997, 300, 128, 128), (4001, 3, 512, 1536), (1501, 61, 256, 512)]
    {
        let by_columns = AlignedSlots::new(rows, cols, slot, chunk);
        for slots in by_columns.into_iter().chain(AlignedSlots::by_rows(rows, cols, slot)) {
            for direction in [Direction::Forward, Direction::Backward] {
                check_all_methods(StageMap::SlotGather { batch: 1, slots, direction }, 4);
                check_all_methods(StageMap::SlotMove { batch: 1, slots, direction }, 4);
            }
        }
    }
    // Elements longer than the 32 KiB buffer in which shorter ones are gathered.
    for (rows, cols, slot, chunk) in [(11, 5, 4, 8), (14, 3, 4, 4)] {
        let slots = AlignedSlots::new(rows, cols, slot, chunk).unwrap();
        for direction in [Direction::Forward, Direction::Backward] {
            check_all_methods(StageMap::SlotGather { batch: 1, slots, direction }, 33_000);
        }
    }
}

/// Checks that the workspace of a stage follows the formulas of docs/explanation/planner.md, for flags and
/// saved super-elements, and for rows that chunks share.
#[test]
fn workspace_follows_the_documented_formulas() {
    let needs = |map: &StageMap, method, threads, elem_bytes| {
        let implementations =
            CpuDevice::new(threads).implementations(map, &request(elem_bytes)).unwrap();
        let implementation = implementations
            .into_iter()
            .find(|implementation| implementation.method == method)
            .unwrap();
        let config: CpuKernelConfig = implementation.launch_config.get().cloned().unwrap();
        (config.resources(), implementation.workspace_bytes)
    };
    // `saved` is the number of super-elements that fit 512 KiB, from 2 to 65.
    for (run_bytes, saved) in [(256, 65), (20_000, 26), (400_000, 2)] {
        let map = Elementary { batch: 1, rows: 500, mid: 1, cols: 300, unit: run_bytes }.into();
        let flags = (500 * 300usize).div_ceil(32) * 4;
        for (threads, runs) in [(1, 1), (4, saved)] {
            let (_, bytes) = needs(&map, Method::PttwacGlobal, threads, 1);
            let want = threads * (flags + runs * run_bytes);
            assert_eq!(bytes, want.next_multiple_of(8), "{map} on {threads} threads");
        }
    }
    let slots = AlignedSlots::by_rows(10_007, 997, 64).unwrap();
    let (_, last) = slots.chunk_rows(slots.chunks() - 1);
    for (threads, direction, extra) in [
        (1, Direction::Forward, 0),
        (4, Direction::Forward, 3),
        (1, Direction::Backward, 1),
        (4, Direction::Backward, 4),
    ] {
        let map = StageMap::SlotGather { batch: 1, slots, direction };
        let (needs, _) = needs(&map, Method::BarrierSync, threads, 4);
        assert_eq!(needs.threads, threads);
        assert_eq!(needs.saved_bytes, (last + extra * 63) * 997 * 4, "{map} on {threads}");
    }
}

#[test]
fn workspace_is_what_the_implementation_states() {
    let slots = AlignedSlots::new(1009, 251, 16, 64).unwrap();
    let by_rows = AlignedSlots::by_rows(1009, 251, 16).unwrap();
    let rows = PitchedRows::new(500, 490, 500).unwrap();
    let slides = [(490, 500), (500, 490), (510, 495)];
    let mut maps: Vec<StageMap> = vec![
        Elementary { batch: 4, rows: 50, mid: 1, cols: 30, unit: 1 }.into(),
        Elementary { batch: 4, rows: 50, mid: 3, cols: 50, unit: 1 }.into(),
        Elementary { batch: 1, rows: 500, mid: 3, cols: 70, unit: 100 }.into(),
    ];
    for direction in [Direction::Forward, Direction::Backward] {
        for slots in [slots, by_rows] {
            maps.push(StageMap::SlotGather { batch: 2, slots, direction });
            maps.push(StageMap::SlotMove { batch: 2, slots, direction });
        }
        maps.push(StageMap::Cut { rows, direction });
    }
    let slides = slides.map(|(from, to)| RowSlide::new(500, 490, from, to).unwrap());
    maps.extend(slides.map(StageMap::Slide));
    for threads in [1, 2, 7] {
        let host = CpuDevice::new(threads);
        for map in &maps {
            let implementations = host.implementations(map, &request(4)).unwrap();
            for implementation in &implementations {
                let stated = implementation.workspace_bytes;
                let executor =
                    Executor::of_stage(map.clone(), implementation.clone(), 4, 1).unwrap();
                assert_eq!(executor.workspace_bytes(), stated, "{map} {}", implementation.name());
                let config: &CpuKernelConfig = implementation.launch_config.get().unwrap();
                assert_eq!(config.resources().bytes(), stated, "{map} {}", implementation.name());
                assert!(config.resources().threads <= threads);
            }
            for cap in [0, 1000, 100_000, 1 << 20] {
                for implementation in host
                    .implementations(map, &StageRequest { cap, ..request(4) })
                    .unwrap_or_default()
                {
                    assert!(
                        implementation.workspace_bytes <= cap,
                        "{map} {}",
                        implementation.name()
                    );
                }
            }
            let best = host.best(map, &request(4)).unwrap();
            let least = implementations
                .iter()
                .map(|implementation| implementation.seconds)
                .fold(f64::INFINITY, f64::min);
            assert_eq!(best.seconds, least, "{map}: {}", best.name());
        }
    }
}

/// Checks that a launch configuration runs only the stage for which it was made.
#[test]
fn launch_config_of_another_stage_is_rejected() {
    let host = CpuDevice::new(2);
    let small = StageMap::from(Elementary { batch: 1, rows: 4, mid: 1, cols: 6, unit: 1 });
    let other = StageMap::from(Elementary { batch: 1, rows: 6, mid: 1, cols: 4, unit: 1 });
    let implementation = host.best(&small, &request(4)).unwrap();
    let assert_rejected = |map, elem_bytes, method| {
        let mut implementation = implementation.clone();
        implementation.method = method;
        let error =
            Executor::new(Plan::from_stage("any", map, implementation, elem_bytes).unwrap(), 1)
                .unwrap_err()
                .to_string();
        assert!(error.contains("belongs to a different stage"), "{error}");
    };
    assert_rejected(other, 4, implementation.method);
    assert_rejected(small.clone(), 8, implementation.method);
    assert_rejected(small.clone(), 4, Method::PIpt);
    let mut rows = implementation.clone();
    rows.method = Method::Rounds;
    let flaw = Executor::new(single_stage(small, rows, 4), 1);
    let error: Box<dyn std::error::Error> = flaw.unwrap_err().into();
    let flaw = error.source().and_then(|source| source.downcast_ref::<InvalidPlan>());
    assert!(matches!(flaw, Some(InvalidPlan::Method { number: 1, .. })), "{error}");
}

/// Checks that no plan of a matrix as large as the address space, and no resource it needs,
/// overflows.
#[test]
fn plans_do_not_overflow_when_matrices_fill_the_address_space() {
    for (batch, rows, cols, elem_bytes) in [
        (2, 1_970_409, 653_329_594_012, 2),
        (1, 63_734_424, 4_261_804_797, 1),
        (1, 1 << 61, 3, 1),
        (3, 45_734_939, 16_370_088_143, 3),
    ] {
        let problem = Problem::with_batch(batch, rows, cols, elem_bytes).unwrap();
        let problem = problem.with_cap(usize::MAX);
        for threads in [1, 300] {
            for plan in Planner::new(CpuDevice::new(threads)).candidates(&problem).candidates {
                let executor = Executor::new(plan, 300).unwrap();
                let (plan, bytes) = (executor.plan(), executor.workspace_bytes());
                assert_eq!(bytes, plan.workspace_bytes, "{plan:#}");
                assert!(plan.dest(problem.len() - 1) == problem.len() - 1, "{plan:#}");
            }
        }
    }
}

/// Checks that a long row, column or element is copied out of place on all threads.
#[test]
fn unchanged_order_is_copied() {
    let planner = Planner::new(CpuDevice::new(3));
    for (rows, cols, elem_bytes) in
        [(1, 3_000_000, 4), (3_000_000, 1, 4), (1, 5_000_001, 2), (1, 1, 40 << 20)]
    {
        let problem = Problem::new(rows, cols, elem_bytes).unwrap().out_of_place().unwrap();
        let plan = planner.plan(&problem).unwrap();
        let [stage] = &plan.phases[0].stages[..] else { panic!("{plan}") };
        let config: &CpuKernelConfig = stage.implementation.launch_config.get().unwrap();
        assert!(
            matches!(config.kernel(), CpuKernel::Copy) && config.resources().threads == 3,
            "{plan}"
        );
    }
}
