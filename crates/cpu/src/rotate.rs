//! P-IPT: cycles rotated by swaps, without flags and without scratch.
#![allow(unsafe_code)]

use turntile_perm::cycles;
use turntile_simd::Byte;

use crate::parts;
use crate::path::Path;
use crate::shared::Shared;

/// Every cycle is moved by the thread whose share its leader lies in: contents are swapped through the leader's
/// own place.
pub fn rotate_cycles(data: &mut [Byte], all: Path, parts: usize) {
    let shared = Shared::new(data);
    parts::run_on(0..parts, &mut [], 0, |part, _| {
        // SAFETY: a cycle has one leader, and that lies in one share.
        let worker = unsafe { shared.worker() };
        for leader in parts::share(all.positions(), parts, part) {
            if !cycles::is_leader(leader, |p| all.succ(p)) {
                continue;
            }
            let mut p = all.succ(leader);
            while p != leader {
                worker.swap(all.offset(leader), all.offset(p), all.unit_bytes());
                p = all.succ(p);
            }
        }
    });
}
