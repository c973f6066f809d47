//! Launches followed from byte to byte.

mod offsets;

pub use offsets::offsets;
use turntile_cuda::call::{Call, Launch};
use turntile_cuda::lower::lower;
use turntile_cuda::way::Way;
use turntile_plan::StageShape;

use crate::cases::{ELEMENTS, alignments, at};
use crate::replay;

/// `calls`, in order, put every byte of `shape` where it says.
pub fn agrees(calls: &[Call], shape: &StageShape, elem: usize, alignment: usize) {
    let launches: Vec<Launch> = calls.iter().map(|call| **call).collect();
    for offset in offsets(shape.spans().0 * elem) {
        let want = shape.dest(offset / elem) * elem + offset % elem;
        let mut at = offset as u64;
        for call in &launches {
            at = replay::dest(call, alignment as u64, at).unwrap_or_else(|why| {
                panic!("{shape}, {elem} bytes, {alignment}: {why:?} {call:?}")
            });
        }
        assert_eq!(
            at, want as u64,
            "{shape}, {elem} bytes at {alignment}, byte {offset}: {calls:?}"
        );
    }
}

/// Lowers and follows; how many lowered, which the tests count so that none becomes a refusal unseen.
pub fn follow(shape: StageShape, ways: &[Way]) -> usize {
    let mut lowered = 0;
    for &way in ways {
        for elem in ELEMENTS {
            for alignment in alignments(elem) {
                if let Ok(calls) = lower(&shape, way, at(elem, alignment)) {
                    agrees(&calls, &shape, elem, alignment);
                    lowered += 1;
                }
            }
        }
    }
    lowered
}
