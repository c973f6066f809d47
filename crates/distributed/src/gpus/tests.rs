//! Ranks on a card whose launches do nothing (`crates/cuda/tests/driver_library/card.c`), in a process of its own.

use std::panic::{AssertUnwindSafe, catch_unwind};

use turntile_perm::Partition;

use super::*;
use crate::gpu_schedule::StreamKind;

#[path = "../../../cuda/tests/children.rs"]
mod children;

/// What is queued is waited for before a panic goes on: the caller's memory, and that of the ranks, may be freed then.
#[test]
fn a_panic_waits_for_what_is_queued() {
    children::runs_on("gpus::tests", "panic", "card.c", &[]);
}

#[test]
#[ignore = "run by `a_panic_waits_for_what_is_queued`"]
fn child_panic() {
    let gpu = Gpu::primary(0).unwrap();
    let change =
        Redistribution::transpose(Partition::balanced(3000, 2), Partition::balanced(2000, 2), 4);
    let mut planned = change.plan_on(&[gpu.clone(), gpu]).unwrap();
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
