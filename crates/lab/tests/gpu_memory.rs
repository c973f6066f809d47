//! Tracked memory on a simulated card whose launches do nothing
//! (`crates/cuda/tests/driver_library/card.c`), in a separate process.
#![allow(unsafe_code)]

use std::ptr;

use turntile::gpu::{CudaError, DeviceMemory, Gpu};
use turntile::layout::{RecordConversion, RecordOrder};
use turntile_lab::layout::{Marshal, OnStream, Tracked};

use crate::children::runs_on;

fn memory(bytes: usize) -> DeviceMemory {
    (1 << 40, bytes).into()
}

/// Workspaces of queued work are freed when it has ended, for any order of drops.
#[test]
fn tracked_memory_keeps_workspaces_until_work_ends() {
    runs_on("gpu_memory", "tracked", "card.c", &[]);
}

#[test]
#[ignore = "run by `tracked_memory_keeps_workspaces_until_work_ends`"]
fn child_tracked() {
    let gpu = Gpu::primary(0).unwrap();
    let records = RecordConversion::new(100_003, &[4, 12, 1, 8]);
    // SAFETY: launches of this card do not access memory, and its streams are plain numbers.
    let on_stream = || unsafe { OnStream::new(&gpu, memory(100_003 * 25), ptr::null_mut()) };
    let bound = || {
        let mut tracked = Tracked::new(on_stream());
        tracked.bind(&records, RecordOrder::Soa).unwrap();
        tracked
    };
    drop(bound());
    let inner = bound().into_inner().unwrap();
    assert_eq!(inner.memory(), memory(100_003 * 25));
    drop(inner);
    // Other code may call the trait's methods directly.
    let mut memory = on_stream();
    let plan = memory.plan(&records.clone().from(RecordOrder::Aos).to(RecordOrder::Soa)).unwrap();
    memory.marshal(&plan).unwrap();
    assert_eq!(on_stream().marshal(&plan), Err(CudaError::OtherGpu.into()));
    #[expect(
        clippy::drop_non_drop,
        reason = "if the plan owned the workspace, it would be freed here"
    )]
    drop(plan);
    drop(memory);
}
