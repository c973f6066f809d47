//! Axis permutation of one phase, as the routes see it.

use std::cell::OnceCell;
use std::rc::Rc;

use turntile_perm::AxisPermutation;
use turntile_perm::divisors::divisors;

use crate::device::{Device, MethodFilter, StageRequest};
use crate::problem::{MatrixBatch, Problem};

/// Part of a problem that one route solves: an axis permutation on a device.
#[derive(Clone, Debug)]
pub struct PhaseProblem<'a> {
    /// Permutation of the phase's axes.
    pub axes: AxisPermutation,
    /// Permutation as a transposition of matrices.
    ///
    /// For other permutations, `rows` is the extent of the result's last axis and `cols` that of
    /// the source's last axis: routes for any axes need no more. For an identity, `rows` is 1.
    pub matrices: MatrixBatch,
    /// Device that runs the phase.
    pub device: &'a dyn Device,
    /// Constraints on every stage, except its index map and methods.
    pub request: StageRequest,
    /// `true` if every tile is wanted, not only candidates for the fastest by estimate.
    pub exhaustive: bool,
    /// `true` if the problem also reverses axes. They are not part of the phase.
    pub flipped: bool,
    /// `true` if `axes` is the inverse of the phase's permutation. The stages for `axes` are then
    /// inverted in reverse order, unless the route has mirrored stages.
    pub mirrored: bool,
    /// Number of the problem's elements in one element of `axes`.
    pub elems_per_unit: usize,
    /// Order of the problem's fused axes after the phase.
    pub order: Vec<usize>,
    /// Divisors of the numbers of rows and of columns, computed on first use.
    sides: [Rc<OnceCell<Vec<usize>>>; 2],
}

/// Minimum bytes of a last axis that moves as runs. A shorter one is merged into the element.
pub(crate) const RUN_BYTES: usize = 128;

impl<'a> PhaseProblem<'a> {
    /// Creates the phase that permutes `axes` of `problem`, with its fused axes in `order`
    /// afterwards.
    ///
    /// Returns `None` if nothing moves. An out-of-place problem moves every element, even by the
    /// identity.
    pub fn new(
        problem: &Problem,
        axes: &AxisPermutation,
        order: &[usize],
        device: &'a dyn Device,
        exhaustive: bool,
    ) -> Option<Self> {
        let copied = problem.is_out_of_place() && !problem.is_empty();
        if axes.is_identity() && !copied {
            return None;
        }
        let short = axes.unit() * problem.itemsize() < RUN_BYTES;
        let (axes, elems_per_unit) =
            if short { (axes.without_unit(), axes.unit()) } else { (*axes, 1) };
        let request = StageRequest::new(problem, device, MethodFilter::Any);
        let request = StageRequest { elem_bytes: request.elem_bytes * elems_per_unit, ..request };
        let matrices = MatrixBatch::of(&axes).unwrap_or_else(|| match axes.order().last() {
            Some(last) if !axes.is_identity() => {
                let cols = axes.extents()[axes.extents().len() - 1];
                MatrixBatch { batch: 1, rows: axes.extents()[last], cols }
            }
            _ => MatrixBatch { batch: 1, rows: 1, cols: axes.len() },
        });
        let (mirrored, order, sides) = (false, order.to_vec(), Default::default());
        Some(PhaseProblem {
            axes,
            matrices,
            device,
            request,
            exhaustive,
            flipped: problem.is_flipped(),
            mirrored,
            elems_per_unit,
            order,
            sides,
        })
    }

    /// Returns the phase with the given orientation. A mirrored phase has the inverse permutation
    /// and transposed matrices.
    #[must_use]
    pub(crate) fn oriented(&self, mirrored: bool) -> Self {
        if mirrored == self.mirrored {
            return self.clone();
        }
        let (axes, matrices) = (self.axes.inverse(), self.matrices.transposed());
        let [rows, cols] = self.sides.clone();
        PhaseProblem { axes, matrices, mirrored, sides: [cols, rows], ..self.clone() }
    }

    /// Returns the bytes of an element of `axes`.
    pub fn itemsize(&self) -> usize {
        self.request.elem_bytes
    }

    /// Returns `true` if the phase is a transposition of matrices or a copy.
    pub(crate) fn is_matrices(&self) -> bool {
        self.axes.is_identity() || MatrixBatch::of(&self.axes).is_some()
    }

    /// Returns `true` if the last axis stays last, except in transpositions of matrices where it is
    /// merged into the element. Such a phase is fast to estimate.
    pub(crate) fn is_runs(&self) -> bool {
        self.axes.unit() > 1 || (!self.is_matrices() && self.elems_per_unit > 1)
    }

    /// Returns the divisors of the number of rows, in ascending order.
    pub(crate) fn row_divisors(&self) -> &[usize] {
        self.sides[0].get_or_init(|| divisors_of(self.matrices.rows))
    }

    /// Returns the divisors of the number of columns, in ascending order.
    pub(crate) fn col_divisors(&self) -> &[usize] {
        self.sides[1].get_or_init(|| divisors_of(self.matrices.cols))
    }

    /// Returns the number of passes that the fastest plan likely takes: 1 or 2.
    ///
    /// One pass can suffice if the permutation is an involution or rotates the axes of a cube, if
    /// an instance or the whole array fits on chip, or if elements or runs are long.
    pub(crate) fn likely_passes(&self) -> usize {
        let elem_bytes = self.itemsize();
        let instance = self.axes.len() / self.axes.batch() * elem_bytes;
        let one = self.axes.unit() > 1
            || instance <= self.device.on_chip_bytes()[1]
            || self.axes.len() * elem_bytes <= self.device.on_chip_bytes_total()
            || elem_bytes >= RUN_BYTES
            || self.axes.is_involution()
            || self.axes.elementary().is_some_and(|e| e.is_of_tiles());
        if one { 1 } else { 2 }
    }

    /// Returns a lower bound, in seconds, of one pass over the phase's data.
    pub(crate) fn min_pass_seconds(&self) -> f64 {
        self.device.least_seconds(self.axes.len() * self.itemsize())
    }
}

/// Returns the divisors of `side`, in ascending order.
fn divisors_of(side: usize) -> Vec<usize> {
    divisors(side as u64).into_iter().map(|d| d as usize).collect()
}
