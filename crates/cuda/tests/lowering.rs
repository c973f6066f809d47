//! Launches against the device code they name, without a GPU.

// Each test uses a part of them.
#[allow(dead_code)]
mod cases;

use std::collections::BTreeSet;

use cases::{ELEMENTS, alignments, methods, shapes, stage};

use turntile_cuda::call::{Call, Device, Workspace};
use turntile_cuda::family::Family;
use turntile_cuda::lower::{Holding, lower, lower_all, move_held, through_registers};
use turntile_cuda::out_of_place::program::Program;
use turntile_cuda::out_of_place::{choose, ladder};
use turntile_cuda::waits::Waits;
use turntile_cuda::{CudaError, Infeasible, Work};
use turntile_perm::{Elementary, Padding};
use turntile_plan::{Direction, FlagLayout, Limits, Method, Planner, Problem, Scope, StageShape};

/// The entry point exists, its parameter is as long as what is passed, and the geometry is possible.
fn check(call: &Call) {
    let ptx = call.family().ptx(call.word());
    let declared = format!("{}_param_0[{}]", call.entry(), call.params().bytes().len());
    assert!(ptx.contains(&declared), "{}: no {declared}", call.kernel());
    assert!((1..=1024).contains(&call.threads()) && call.threads().is_multiple_of(32), "{call:?}");
    assert!(call.shared_bytes() as usize <= Device::H200.shared_bytes, "{call:?}");
    let per_unit = ((228 << 10) / (call.shared_bytes() + 1024)).min(2048 / call.threads()) as usize;
    match call.waits() {
        Waits::Grid => {
            assert!(call.groups() as usize <= Device::H200.units * per_unit, "{call:?}");
        }
        Waits::Cluster(blocks) => assert_eq!(call.groups() % blocks, 0, "{call:?}"),
        Waits::Nobody | Waits::Earlier => {}
    }
}

/// Every entry point of a family, as [`Call::kernel`] names it.
fn entries(family: Family) -> BTreeSet<String> {
    let words = [1, 2, 4, 8, 16];
    let of = |word: usize| {
        let pieces = family.ptx(word).split(".entry ").skip(1);
        let names = pieces.map(|piece| piece.split('(').next().unwrap());
        names.map(|name| format!("{}.w{word}/{name}", family.name())).collect::<Vec<_>>()
    };
    words.into_iter().flat_map(of).collect()
}

/// Every kernel that moves something in place is met, and nothing but these.
#[test]
fn launches_fit_the_device_code() {
    let mut kernels = BTreeSet::new();
    let mut meet = |call: &Call| {
        check(call);
        kernels.insert(call.kernel());
    };
    let device = &Device::H200;
    for shape in shapes() {
        for method in methods() {
            for elem in ELEMENTS {
                for alignment in alignments(elem) {
                    let stage = stage(shape, method, 1);
                    let calls = lower_all(&stage, elem, alignment, device);
                    calls.unwrap_or_default().iter().for_each(&mut meet);
                }
            }
        }
        for elem in ELEMENTS {
            for alignment in alignments(elem) {
                for holding in [Holding::Registers, Holding::Shared, Holding::Block] {
                    let flags = FlagLayout::PACKED;
                    let call = move_held(shape, flags, holding, elem, alignment, device);
                    call.iter().for_each(&mut meet);
                }
                if let StageShape::Elementary(e) = shape {
                    through_registers(e, elem, alignment).iter().for_each(&mut meet);
                }
            }
        }
    }
    let elsewhere = [Family::OutOfPlace, Family::Ladder, Family::Gaussian, Family::Check];
    let families = Family::ALL.into_iter().filter(|family| !elsewhere.contains(family));
    let mut all: BTreeSet<String> = families.flat_map(entries).collect();
    // These count in bytes: one variant serves all words.
    all.retain(|kernel| !kernel.starts_with("pad.") || kernel.starts_with("pad.w1/"));
    let unmet: Vec<_> = all.difference(&kernels).collect();
    // Compiled, but slower than what is launched.
    let slower =
        ["barrier.w16/barrier_micro", "barrier.w8/barrier_micro", "tiles.w16/square_swap_64"];
    assert_eq!(unmet, slower);
    assert!(kernels.is_subset(&all));
}

/// Sliding a cut as if it were padding would lose the columns cut off; shares are for a host's threads.
#[test]
fn what_only_a_host_does_has_no_kernel() {
    let padding = Padding::new(500, 490, 500).unwrap();
    let none = |shape, method| {
        let stage = stage(shape, method, 1);
        let calls = lower_all(&stage, 4, 16, &Device::H200);
        assert!(matches!(calls, Err(Infeasible::NoKernel)), "{stage}: {calls:?}");
    };
    for direction in [Direction::Forward, Direction::Backward] {
        none(StageShape::Pad { padding, direction }, Method::Shares);
        for method in methods().into_iter().chain([Method::Shares]) {
            none(StageShape::Cut { padding, direction }, method);
        }
    }
}

#[test]
fn flags_take_a_bit_a_super_element() {
    let e = Elementary { batch: 1, rows: 1000, mid: 1, cols: 100, unit: 64 };
    let method = Method::PttwacGlobal { flags: FlagLayout::PACKED };
    let stage = stage(StageShape::Elementary(e), method, 1);
    let call = lower(&stage, 4, 16, &Device::H200).unwrap();
    assert_eq!(call.workspace(), Workspace::Flags(100_000 / 32 * 4));
    assert_eq!(call.word(), 16);
    assert_eq!(lower(&stage, 4, 4, &Device::H200).unwrap().word(), 4);
}

#[test]
fn what_a_device_lacks_is_an_answer() {
    let old = Device {
        units: 13,
        shared_bytes: 48 << 10,
        cluster: 1,
        cooperative: false,
        ..Device::H200
    };
    let e = Elementary { batch: 1, rows: 1000, mid: 1, cols: 1000, unit: 1 };
    let answer = |scope| {
        let method = Method::BarrierSync { scope };
        lower(&stage(StageShape::Elementary(e), method, 1), 4, 16, &old)
    };
    assert_eq!(answer(Scope::Grid), Err(Infeasible::NoBarrier { scope: "the grid" }));
    assert_eq!(answer(Scope::Cluster(4)), Err(Infeasible::NoBarrier { scope: "a cluster" }));
    assert!(matches!(answer(Scope::Group), Err(Infeasible::OnChip { have: 49_152, .. })));
}

/// No plan that the planner makes for an H200 may name more workspace bytes than it has planned.
#[test]
fn plans_fit_their_workspace() {
    let planner = Planner::new(Limits::h200());
    // Every candidate has kernels but for stages of more blocks than a launch has.
    let square = ["010!(9999991x9999991) tile-swap 64"];
    for (rows, cols, elem, none) in [
        (4096, 6144, 4, &[][..]),
        (1000, 777, 2, &[]),
        (5000, 5000, 8, &[]),
        (30, 40, 1, &[]),
        (9_999_991, 7, 4, &square),
        (61, 1_000_003, 4, &[]),
        (16381, 20011, 4, &[]),
        (158_003, 158_017, 4, &[]),
    ] {
        let room = usize::max(rows, cols).pow(2);
        let problem = Problem::new(rows, cols, elem).unwrap().with_room(room);
        let (mut lowered, mut refused) = (0, Vec::new());
        for plan in planner.survey(&problem).candidates {
            match Work::of_plan(&plan, 16, &Device::H200) {
                Ok(work) => {
                    work.calls().iter().for_each(check);
                    assert!(work.workspace_bytes() <= plan.workspace_bytes, "{plan}");
                    lowered += 1;
                }
                Err(CudaError::Infeasible { stage, .. }) => refused.push(stage),
                Err(error) => panic!("{plan}: {error}"),
            }
        }
        assert!(lowered > 0 && refused == none, "{rows}x{cols} of {elem}: {lowered}, {refused:?}");
    }
}

fn check_program(program: &Program) {
    for step in program.steps() {
        let call = step.call();
        let ptx = call.family().ptx(call.word());
        let declared = format!("{}_param_0[{}]", call.entry(), call.params().bytes().len());
        assert!(ptx.contains(&declared), "{}: no {declared}", call.kernel());
        assert!((1..=1024).contains(&call.threads()) && call.groups() > 0, "{call:?}");
        assert!(call.shared_bytes() as usize <= Device::H200.shared_bytes, "{call:?}");
    }
}

#[test]
fn every_way_out_of_place_fits_the_device_code() {
    let mut kernels = BTreeSet::new();
    for (batch, rows, cols) in [
        (1, 1, 1),
        (1, 7, 5),
        (9, 64, 48),
        (1, 10_000_000, 3),
        (2, 3, 10_000_000),
        (1, 16384, 8192),
        (3, 7919, 3001),
        (1, 1, 1 << 33),
        (1, 1 << 33, 2),
        (100_000, 64, 48),
        (1, 160_000, 160_000),
    ] {
        for elem in [1, 2, 4, 8, 16, 3, 12, 24, 40, 300_000] {
            let Ok(problem) = Problem::with_batch(batch, rows, cols, elem) else { continue };
            for alignment in [elem & elem.wrapping_neg(), 16] {
                for way in choose::ways(&problem, alignment) {
                    if let Ok(program) = choose::program(way, 8, &problem, alignment, &Device::H200)
                    {
                        check_program(&program);
                        kernels.extend(program.steps().iter().map(|step| step.call().kernel()));
                    }
                }
            }
            let programs = choose::programs(&problem, &Device::H200).unwrap();
            programs.iter().for_each(check_program);
            let alignments: Vec<usize> = programs.iter().map(Program::alignment).collect();
            assert!(alignments.is_sorted_by(|a, b| a > b), "{alignments:?}");
            assert!(elem.is_multiple_of(*alignments.last().unwrap()));
        }
    }
    assert_eq!(kernels.len(), 23, "all of them are met: {kernels:?}");
    let nothing = choose::programs(&Problem::new(0, 5, 4).unwrap(), &Device::H200).unwrap();
    assert!(nothing.iter().all(|program| program.steps().is_empty()));
}

#[test]
fn every_rung_of_the_ladder_is_in_the_device_code() {
    for rung in &ladder::RUNGS {
        for (tile, block_rows) in rung.sizes() {
            check_program(&ladder::program(rung, tile, block_rows, 1000, 777).unwrap());
        }
    }
    let padded = ladder::Rung::named("padded").unwrap();
    assert!(matches!(
        ladder::program(padded, 33, 8, 10, 10),
        Err(CudaError::NoVariant { tile: 33, block_rows: 8, .. })
    ));
    assert!(ladder::program(padded, 8, 8, 1 << 31, 1 << 31).is_err());
}
