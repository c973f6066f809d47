//! Launches over several buffers, as data.

use turntile_plan::{Flaw, Method, Plan, StageShape};

use crate::call::{Call, Limits, widest_word};
use crate::error::{CudaError, Infeasible};
use crate::lower::{At, lower};
use crate::prepare::{Work, bytes_of, calls_of};
use crate::way::Way;

/// A piece of device memory that a program is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// What it holds, for errors.
    pub what: &'static str,
    /// Bytes of it that are used.
    pub bytes: usize,
    /// Whether it is written: it must then overlap no other.
    pub written: bool,
}

/// A launch and the buffers that it works on, by number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    pub(crate) call: Call,
    pub(crate) first: usize,
    pub(crate) second: Option<usize>,
}

impl Step {
    /// The launch.
    pub fn call(&self) -> &Call {
        &self.call
    }

    /// The buffer whose address is its parameter's first field.
    pub fn first(&self) -> usize {
        self.first
    }

    /// The buffer whose address is the second, if there is one.
    pub fn second(&self) -> Option<usize> {
        self.second
    }
}

/// Launches, in order, over the same buffers. Like [`Call`], it is made by this crate alone: its buffers are
/// as long as its launches need them.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    pub(crate) steps: Vec<Step>,
    pub(crate) buffers: Vec<Buffer>,
    pub(crate) alignment: usize,
}

/// The buffers of a transposition: destination, then source.
pub(super) fn buffers(bytes: usize) -> Vec<Buffer> {
    let buffer = |what, written| Buffer { what, bytes, written };
    vec![buffer("destination", true), buffer("source", false)]
}

/// Where a buffer is: its address, and bytes that can be used from there.
pub type Place = (u64, usize);

impl Program {
    /// What `plan`, which is out of place, launches: buffers `[destination, source]`.
    ///
    /// # Errors
    /// [`CudaError::NotForGpu`] or [`CudaError::Flawed`].
    pub fn of_plan(plan: &Plan) -> Result<Self, CudaError> {
        if !plan.problem.is_out_of_place() {
            return Err(Flaw::Place { out_of_place: false }.into());
        }
        let alignment = widest_word(&[plan.problem.alignment()]);
        Ok(Self::of_calls(calls_of(plan)?, plan.problem.bytes(), alignment))
    }

    /// What one stage comes to from one place to another, as [`Work::of_stage`] in place: buffers
    /// `[destination, source]`.
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
            _ => Err(Infeasible::NoKernel),
        };
        let infeasible = |why| CudaError::Infeasible { stage: format!("{shape} {way}"), why };
        Ok(Self::of_calls(calls.map_err(infeasible)?, bytes, alignment))
    }

    /// From the second buffer to the first, both of `bytes` bytes.
    fn of_calls(calls: Vec<Call>, bytes: usize, alignment: usize) -> Self {
        let steps = calls.into_iter().map(|call| Step { call, first: 0, second: Some(1) });
        Program { steps: steps.collect(), buffers: buffers(bytes), alignment }
    }

    /// Its launches, in order.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// What it must be given, in order.
    pub fn buffers(&self) -> &[Buffer] {
        &self.buffers
    }

    /// Alignment of every buffer's address that the launches rely on, in bytes.
    pub fn alignment(&self) -> usize {
        self.alignment
    }

    /// Appends the launches of an in-place transposition of buffer `data`, whose workspace is buffer
    /// `workspace`; both are made as large as it needs.
    #[must_use]
    pub(crate) fn in_place(mut self, work: &Work, data: usize, workspace: usize) -> Self {
        let need = work.workspace_bytes();
        self.buffers[data].bytes = self.buffers[data].bytes.max(work.bytes());
        self.buffers[workspace].bytes = self.buffers[workspace].bytes.max(need);
        self.alignment = self.alignment.max(work.alignment());
        self.steps.extend(work.calls.iter().map(|&call| {
            let second = call.params.second().map(|_| workspace);
            Step { call, first: data, second }
        }));
        self
    }

    /// Places for all buffers one after the other from address `start`, each at a multiple of 256 bytes
    /// from it, and the address after the last.
    pub fn laid_out(&self, start: u64) -> (Vec<Place>, u64) {
        let mut at = start;
        let place = |buffer: &Buffer| {
            let place = (at, buffer.bytes);
            let bytes = buffer.bytes.checked_next_multiple_of(256).unwrap_or(usize::MAX);
            at = at.saturating_add(bytes as u64);
            place
        };
        let places = self.buffers.iter().map(place).collect();
        (places, at)
    }

    /// Checks the memory that a run was given.
    ///
    /// # Errors
    /// What is wrong with it: too few buffers, one that is null, misaligned or short, or two that overlap
    /// though one is written.
    pub fn check(&self, places: &[Place]) -> Result<(), CudaError> {
        let (need, have) = (self.buffers.len(), places.len());
        if need != have {
            return Err(CudaError::Buffers { need, have });
        }
        let used = || self.buffers.iter().zip(places).filter(|(buffer, _)| buffer.bytes > 0);
        for (&Buffer { what, bytes, .. }, &(address, have)) in used() {
            if address == 0 {
                return Err(CudaError::Null { what });
            }
            if !address.is_multiple_of(self.alignment as u64) {
                return Err(CudaError::Misaligned { what, address, need: self.alignment });
            }
            if have < bytes {
                return Err(CudaError::Short { what, need: bytes, have });
            }
        }
        for (k, (a, &(at, _))) in used().enumerate() {
            for (b, &(other_at, _)) in used().skip(k + 1) {
                let (end, other_end) =
                    (at.saturating_add(a.bytes as u64), other_at.saturating_add(b.bytes as u64));
                if (a.written || b.written) && at < other_end && other_at < end {
                    return Err(CudaError::Overlap {
                        what: a.what,
                        address: at,
                        other: b.what,
                        other_address: other_at,
                    });
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two() -> Program {
        let buffer = |what, written| Buffer { what, bytes: 100, written };
        let buffers = vec![buffer("destination", true), buffer("source", false)];
        Program { steps: Vec::new(), buffers, alignment: 4 }
    }

    #[test]
    fn memory_is_checked_before_anything_runs() {
        let two = two();
        assert_eq!(two.check(&[(400, 100), (500, 100)]), Ok(()));
        assert_eq!(two.laid_out(512), (vec![(512, 100), (768, 100)], 1024));
        assert_eq!(two.check(&two.laid_out(512).0), Ok(()));
        assert_eq!(two.check(&[(400, 100), (300, 200)]), Ok(()), "only 100 bytes are used");
        assert_eq!(two.check(&[(400, 100)]), Err(CudaError::Buffers { need: 2, have: 1 }));
        assert_eq!(
            two.check(&[(0, 100), (500, 100)]),
            Err(CudaError::Null { what: "destination" })
        );
        assert_eq!(
            two.check(&[(400, 100), (502, 100)]),
            Err(CudaError::Misaligned { what: "source", address: 502, need: 4 })
        );
        assert_eq!(
            two.check(&[(400, 100), (500, 99)]),
            Err(CudaError::Short { what: "source", need: 100, have: 99 })
        );
    }

    #[test]
    fn only_ways_from_place_to_place_are_programs() {
        let e = turntile_perm::Elementary { batch: 1, rows: 200, mid: 1, cols: 300, unit: 1 };
        let of = |way| Program::of_stage(&e.into(), way, 4, 4, &Limits::H200);
        let lines = Way::OutOfPlace { tiling: crate::way::Tiling::Lines, swath: 1 };
        let program = of(lines).unwrap();
        let bytes: Vec<_> = program.buffers.iter().map(|b| (b.bytes, b.written)).collect();
        assert_eq!((bytes, program.alignment), (vec![(240_000, true), (240_000, false)], 4));
        let answer = of(Way::PerCycle);
        let refused =
            matches!(&answer, Err(CudaError::Infeasible { why: Infeasible::NoKernel, .. }));
        assert!(refused, "{answer:?}");
    }

    #[test]
    fn what_is_written_overlaps_nothing() {
        for source in [400, 304, 496] {
            let overlap = CudaError::Overlap {
                what: "destination",
                address: 400,
                other: "source",
                other_address: source,
            };
            assert_eq!(two().check(&[(400, 100), (source, 100)]), Err(overlap));
        }
        let mut reads = two();
        reads.buffers[0].written = false;
        assert_eq!(reads.check(&[(400, 100), (400, 100)]), Ok(()));
        let mut nothing = two();
        nothing.buffers.iter_mut().for_each(|buffer| buffer.bytes = 0);
        assert_eq!(nothing.check(&[(0, 0), (0, 0)]), Ok(()), "an empty matrix is nowhere");
    }
}
