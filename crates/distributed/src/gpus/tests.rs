//! Ranks on a card whose launches do nothing (`crates/cuda/tests/driver_library/card.c`), in a process of its own.

use std::panic::{AssertUnwindSafe, catch_unwind};

use turntile_perm::Partition;

use super::*;
use crate::gpu_schedule::StreamKind;

#[path = "../../../cuda/tests/children.rs"]
mod children;

fn planned() -> MultiGpu {
    let gpu = Gpu::primary(0).unwrap();
    let change =
        Redistribution::transpose(Partition::balanced(3000, 2), Partition::balanced(2000, 2), 4);
    change.plan_on(&[gpu.clone(), gpu]).unwrap()
}

/// Parts lie in as many places as there are ranks, long enough, aligned and apart, or nothing is queued.
#[test]
fn memory_that_does_not_hold_the_parts_is_refused() {
    children::runs_on("gpus::tests", "memory", "card.c", &[]);
}

#[test]
#[ignore = "run by `memory_that_does_not_hold_the_parts_is_refused`"]
fn child_memory() {
    const BYTES: usize = 1500 * 2000 * 4;
    let mut planned = planned();
    let mut run = |places: &[(u64, usize)]| {
        let data: Vec<DeviceMemory> = places.iter().map(|&place| place.into()).collect();
        // SAFETY: no launch or copy of this card touches memory.
        unsafe { planned.run(&data) }
    };
    let (one, after) = (1u64 << 40, (1 << 40) + BYTES as u64);
    assert_eq!(run(&[(one, BYTES), (after, BYTES)]), Ok(()));
    assert_eq!(run(&[(after, BYTES), (one, BYTES + 1)]), Ok(()));
    assert_eq!(run(&[(one, BYTES)]), Err(Error::Communicator { planned: 2, got: 1 }));
    let short = Error::Short { rank: 1, need: BYTES, have: BYTES - 1 };
    assert_eq!(run(&[(one, BYTES), (after, BYTES - 1)]), Err(short));
    let (what, address) = ("part", after + 8);
    let misaligned = cuda(CudaError::Misaligned { what, address, need: 16 });
    assert_eq!(run(&[(one, BYTES), (address, BYTES)]), Err(misaligned));
    for other_address in [one, after - 16] {
        let (address, other) = (one, "part of another rank");
        let overlap = || Err(cuda(CudaError::Overlap { what, address, other, other_address }));
        assert_eq!(run(&[(one, BYTES), (other_address, BYTES)]), overlap());
        assert_eq!(run(&[(other_address, BYTES), (one, BYTES)]), overlap());
    }
}

/// What is queued is waited for before a panic goes on: the caller's memory, and that of the ranks, may be freed then.
#[test]
fn a_panic_waits_for_what_is_queued() {
    children::runs_on("gpus::tests", "panic", "card.c", &[]);
}

#[test]
#[ignore = "run by `a_panic_waits_for_what_is_queued`"]
fn child_panic() {
    let mut planned = planned();
    let data = [1u64 << 40, 1 << 41].map(|address| (address, 1500 * 2000 * 4).into());
    // SAFETY: no launch or copy of this card touches memory.
    assert_eq!(unsafe { planned.run(&data) }, Ok(()));
    // The memory of a rank that there is not.
    planned.commands.push(Command::Record(((2, StreamKind::Own), 0)));
    // SAFETY: as above.
    let ended = catch_unwind(AssertUnwindSafe(|| unsafe { planned.run(&data) }));
    assert!(ended.is_err(), "a panic");
    drop(planned);
}
