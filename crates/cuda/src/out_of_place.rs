//! Launches from one buffer to another, as data.

use turntile_plan::{Flaw, Method, Plan, StageShape};

use crate::call::{Call, Limits, widest_word};
use crate::error::{CudaError, LowerError};
use crate::lower::{At, lower};
use crate::prepare::{bytes_of, calls_of};
use crate::way::Way;

/// Where a buffer is: its address, and bytes that can be used from there.
pub type Place = (u64, usize);

/// Launches, in order, each from the second of two buffers, the source, to the first, the destination. Like [`Call`], it is
/// made by this crate alone: the buffers are as long as the launches need them.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    calls: Vec<Call>,
    bytes: usize,
    alignment: usize,
}

impl Program {
    /// What `plan`, which is out of place, launches.
    ///
    /// # Errors
    /// [`CudaError::NotForGpu`] or [`CudaError::Flawed`].
    pub fn of_plan(plan: &Plan) -> Result<Self, CudaError> {
        if !plan.problem.is_out_of_place() {
            return Err(Flaw::Place { out_of_place: false }.into());
        }
        let alignment = widest_word(&[plan.problem.alignment()]);
        Ok(Program { calls: calls_of(plan)?, bytes: plan.problem.bytes(), alignment })
    }

    /// What one stage comes to from one place to another, as [`Work::of_stage`](crate::Work::of_stage) in place.
    ///
    /// # Errors
    /// [`CudaError::Flawed`], or [`CudaError::Infeasible`] where it has no kernel.
    pub fn of_stage(
        shape: &StageShape,
        way: Way,
        elem_bytes: usize,
        alignment: usize,
        limits: &Limits,
    ) -> Result<Self, CudaError> {
        let bytes = bytes_of(shape, elem_bytes)?;
        let alignment = widest_word(&[alignment]);
        let calls = match way.method() {
            Method::OutOfPlace => lower(shape, way, At { elem_bytes, alignment, limits }),
            _ => Err(LowerError::NoKernel),
        };
        let infeasible = |why| CudaError::Infeasible { stage: format!("{shape} {way}"), why };
        Ok(Program { calls: calls.map_err(infeasible)?, bytes, alignment })
    }

    /// Its launches, in order.
    pub fn calls(&self) -> &[Call] {
        &self.calls
    }

    /// Bytes of each buffer.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Alignment of both buffers' addresses that the launches rely on, in bytes.
    pub fn alignment(&self) -> usize {
        self.alignment
    }

    /// Places for destination and source one after the other from address `start`, each at a multiple of 256 bytes
    /// from it, and the address after the last.
    pub fn laid_out(&self, start: u64) -> ([Place; 2], u64) {
        let bytes = self.bytes.checked_next_multiple_of(256).unwrap_or(usize::MAX) as u64;
        let [source, end] = [1, 2].map(|k: u64| start.saturating_add(bytes.saturating_mul(k)));
        ([(start, self.bytes), (source, self.bytes)], end)
    }

    /// Checks the memory that a run was given for destination and source.
    ///
    /// # Errors
    /// What is wrong with it: a buffer that is null, misaligned or short, or an overlap of the two.
    pub fn check(&self, places: [Place; 2]) -> Result<(), CudaError> {
        // An empty matrix is nowhere.
        if self.bytes == 0 {
            return Ok(());
        }
        for (what, (address, have)) in ["destination", "source"].into_iter().zip(places) {
            if address == 0 {
                return Err(CudaError::Null { what });
            }
            if !address.is_multiple_of(self.alignment as u64) {
                return Err(CudaError::Misaligned { what, address, need: self.alignment });
            }
            if have < self.bytes {
                return Err(CudaError::Short { what, need: self.bytes, have });
            }
        }
        let [to, from] = places.map(|(address, _)| address);
        let end = |address: u64| address.saturating_add(self.bytes as u64);
        if to < end(from) && from < end(to) {
            let [what, other] = ["destination", "source"];
            return Err(CudaError::Overlap { what, address: to, other, other_address: from });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two() -> Program {
        Program { calls: Vec::new(), bytes: 100, alignment: 4 }
    }

    #[test]
    fn memory_is_checked_before_anything_runs() {
        let two = two();
        assert_eq!(two.check([(400, 100), (500, 100)]), Ok(()));
        assert_eq!(two.laid_out(512), ([(512, 100), (768, 100)], 1024));
        assert_eq!(two.check(two.laid_out(512).0), Ok(()));
        assert_eq!(two.check([(400, 100), (300, 200)]), Ok(()), "only 100 bytes are used");
        assert_eq!(two.check([(0, 100), (500, 100)]), Err(CudaError::Null { what: "destination" }));
        assert_eq!(
            two.check([(400, 100), (502, 100)]),
            Err(CudaError::Misaligned { what: "source", address: 502, need: 4 })
        );
        assert_eq!(
            two.check([(400, 100), (500, 99)]),
            Err(CudaError::Short { what: "source", need: 100, have: 99 })
        );
        let endless = Program { bytes: usize::MAX, ..two };
        assert_eq!(endless.laid_out(512).1, u64::MAX);
    }

    #[test]
    fn only_ways_from_place_to_place_are_programs() {
        let e = turntile_perm::Elementary { batch: 1, rows: 200, mid: 1, cols: 300, unit: 1 };
        let of = |way| Program::of_stage(&e.into(), way, 4, 4, &Limits::H200);
        let lines = Way::OutOfPlace { tiling: crate::way::Tiling::Lines, swath: 1 };
        let program = of(lines).unwrap();
        assert_eq!((program.bytes, program.alignment), (240_000, 4));
        let answer = of(Way::PerCycle);
        let refused =
            matches!(&answer, Err(CudaError::Infeasible { why: LowerError::NoKernel, .. }));
        assert!(refused, "{answer:?}");
    }

    #[test]
    fn the_two_do_not_overlap() {
        for source in [400, 304, 496] {
            let overlap = CudaError::Overlap {
                what: "destination",
                address: 400,
                other: "source",
                other_address: source,
            };
            assert_eq!(two().check([(400, 100), (source, 100)]), Err(overlap));
        }
        let nothing = Program { bytes: 0, ..two() };
        assert_eq!(nothing.check([(0, 0), (0, 0)]), Ok(()), "an empty matrix is nowhere");
    }
}
