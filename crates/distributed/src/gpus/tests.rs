//! Tests with ranks on a simulated card whose launches do nothing
//! (`crates/cuda/tests/driver_library/card.c`). Each runs in a separate process.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::*;
use crate::gpu_schedule::StreamKind;
use crate::{Partition, children};

fn planned() -> MultiGpu {
    let gpu = Gpu::primary(0).unwrap();
    let change =
        Redistribution::transpose(Partition::balanced(3000, 2), Partition::balanced(2000, 2), 4);
    change.plan_on(&[gpu.clone(), gpu]).unwrap()
}

/// Checks that `run` returns an error unless there is one buffer per rank, each long enough, aligned
/// and not overlapping another.
#[test]
fn run_rejects_buffers_when_they_cannot_store_the_parts() {
    children::runs_on("gpus::tests", "memory", "card.c", &[]);
}

#[test]
#[ignore = "run by `run_rejects_buffers_when_they_cannot_store_the_parts`"]
fn child_memory() {
    const BYTES: usize = 1500 * 2000 * 4;
    let mut planned = planned();
    let mut run = |buffers: &[(u64, usize)]| {
        let data: Vec<DeviceMemory> = buffers.iter().map(|&buffer| buffer.into()).collect();
        // SAFETY: launches and copies on this card access no memory.
        unsafe { planned.run(&data) }
    };
    let (first, second) = (1u64 << 40, (1 << 40) + BYTES as u64);
    assert_eq!(run(&[(first, BYTES), (second, BYTES)]), Ok(()));
    assert_eq!(run(&[(second, BYTES), (first, BYTES + 1)]), Ok(()));
    assert_eq!(run(&[(first, BYTES)]), Err(Error::Communicator { planned: 2, got: 1 }));
    let short = Error::Short { rank: 1, need: BYTES, have: BYTES - 1 };
    assert_eq!(run(&[(first, BYTES), (second, BYTES - 1)]), Err(short));
    let (what, address) = ("part", second + 8);
    let misaligned = cuda(CudaError::Misaligned { what, address, need: 16 });
    assert_eq!(run(&[(first, BYTES), (address, BYTES)]), Err(misaligned));
    for other_address in [first, second - 16] {
        let (address, other) = (first, "part of another rank");
        let overlap = || Err(cuda(CudaError::Overlap { what, address, other, other_address }));
        assert_eq!(run(&[(first, BYTES), (other_address, BYTES)]), overlap());
        assert_eq!(run(&[(other_address, BYTES), (first, BYTES)]), overlap());
    }
}

/// Checks that `run` waits before a panic unwinds: the memory of the caller and of the ranks may be
/// freed next.
#[test]
fn run_waits_for_queued_work_when_it_panics() {
    children::runs_on("gpus::tests", "panic", "card.c", &[]);
}

#[test]
#[ignore = "run by `run_waits_for_queued_work_when_it_panics`"]
fn child_panic() {
    let mut planned = planned();
    let data = [1u64 << 40, 1 << 41].map(|address| (address, 1500 * 2000 * 4).into());
    // SAFETY: launches and copies on this card access no memory.
    assert_eq!(unsafe { planned.run(&data) }, Ok(()));
    // A command of rank 2, which does not exist, makes `run` panic.
    planned.commands.push(GpuCommand::Record(((2, StreamKind::Local), 0)));
    // SAFETY: launches and copies on this card access no memory.
    let ended = catch_unwind(AssertUnwindSafe(|| unsafe { planned.run(&data) }));
    assert!(ended.is_err(), "`run` must panic");
    drop(planned);
}
