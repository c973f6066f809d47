//! Preparing and running on a card whose launches do nothing (`driver_library/card.c`): what is asked of the driver, and what
//! becomes of what it refuses. Each case runs in a process of its own.
#![cfg(all(
    feature = "cuda",
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
#![allow(unsafe_code)]

use std::ptr;

use turntile_cuda::way::{Scope, Way};
use turntile_cuda::{Buffers, CudaError, Gpu, Prepared, Work};
use turntile_perm::Elementary;

use crate::driver_library::runs_on;

fn runs(case: &str, options: &[&str]) {
    runs_on("card", case, "card.c", options);
}

fn queue(prepared: &Prepared) -> Result<(), CudaError> {
    let (buffers, end) = prepared.work().laid_out(1 << 20);
    let workspace = Some((end.next_multiple_of(256), prepared.workspace_bytes()));
    // SAFETY: no launch of this card touches memory, and its streams are no more than numbers.
    unsafe { prepared.run_raw(ptr::null_mut(), Buffers { workspace, ..buffers }) }
}

/// Plans that share a kernel never take shared memory from each other, in whatever order threads prepare them.
#[test]
fn shared_memory_once_allowed_stays_allowed() {
    runs("allowed", &["-DSTALE"]);
}

#[test]
#[ignore = "run by `shared_memory_once_allowed_stays_allowed`"]
fn child_allowed() {
    let gpu = Gpu::primary(0).unwrap();
    let of = |rows| {
        let shape = Elementary { batch: 100, rows, mid: 1, cols: 100, unit: 1 };
        let way = Way::Barrier(Scope::Block);
        let work = Work::of_stage(&shape.into(), way, 4, 16, gpu.chip().limits()).unwrap();
        (work.calls()[0].kernel(), work.calls()[0].shared_bytes, gpu.prepare_work(work).unwrap())
    };
    let (large, small) = (of(499), of(149));
    assert_eq!(large.0, small.0, "one kernel");
    assert!(large.1 > small.1 && small.1 > 49152, "both need to be allowed");
    assert_eq!([queue(&large.2), queue(&small.2)], [Ok(()), Ok(())]);
}
