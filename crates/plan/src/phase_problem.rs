//! What one leg is to do, as routes see it.

use std::cell::OnceCell;
use std::rc::Rc;

use turntile_perm::AxisPermutation;
use turntile_perm::divisors::divisors;

use crate::device::{Device, MethodFilter, StageRequest};
use crate::problem::{MatrixBatch, Problem};

/// A part of a problem: axes that one route is to bring into another order.
#[derive(Clone, Debug)]
pub struct PhaseProblem<'a> {
    /// The axes that are permuted.
    pub axes: AxisPermutation,
    /// The same as matrices. Where it is no transposition of matrices, the last axis of the result as rows and that of
    /// the source as columns, which is all that routes for any axes look at.
    pub matrices: MatrixBatch,
    /// The device.
    pub device: &'a dyn Device,
    /// What the device is asked for, beside a shape and the methods that a step takes.
    pub request: StageRequest,
    /// Whether every tile is asked for, not only those that could be best by estimate.
    pub exhaustive: bool,
    /// Whether these are the inverse axes, of which a route makes the steps and then runs them backwards.
    pub mirrored: bool,
    /// Elements of the whole problem that are one of these.
    pub elems_per_unit: usize,
    /// The order in which the whole problem's fused axes lie afterwards.
    pub order: Vec<usize>,
    /// The divisors of the rows and of the columns, found when they are asked for.
    sides: [Rc<OnceCell<Vec<usize>>>; 2],
}

/// A last axis of so many bytes and more that stays moves in runs, one by one; a shorter one joins the element.
const RUN_BYTES: usize = 128;

impl<'a> PhaseProblem<'a> {
    /// A part of `problem`, after which its fused axes lie in `order`; none when nothing moves. Out of place every
    /// element does.
    pub fn new(
        problem: &Problem,
        axes: &AxisPermutation,
        order: &[usize],
        device: &'a dyn Device,
        every: bool,
    ) -> Option<Self> {
        let copied = problem.is_out_of_place() && !problem.is_empty();
        if axes.is_identity() && !copied {
            return None;
        }
        let short = axes.unit() * problem.elem_bytes() < RUN_BYTES;
        let (axes, joined) = if short { (axes.without_unit(), axes.unit()) } else { (*axes, 1) };
        let request = StageRequest::new(problem, device, MethodFilter::Any);
        let request = StageRequest { elem_bytes: request.elem_bytes * joined, ..request };
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
            exhaustive: every,
            mirrored,
            elems_per_unit: joined,
            order,
            sides,
        })
    }

    /// The same, or mirrored: the inverse, of matrices their transposes.
    #[must_use]
    pub fn oriented(&self, mirrored: bool) -> Self {
        if mirrored == self.mirrored {
            return self.clone();
        }
        let (axes, matrices) = (self.axes.inverse(), self.matrices.transposed());
        let [rows, cols] = self.sides.clone();
        PhaseProblem { axes, matrices, mirrored, sides: [cols, rows], ..self.clone() }
    }

    /// Bytes of an element.
    pub fn elem_bytes(&self) -> usize {
        self.request.elem_bytes
    }

    /// Whether it is a transposition of matrices, or a copy.
    pub fn is_matrices(&self) -> bool {
        self.axes.is_identity() || MatrixBatch::of(&self.axes).is_some()
    }

    /// Whether its last axis stays and is so long that it moves in runs, which is soon estimated.
    pub fn is_runs(&self) -> bool {
        self.axes.unit() > 1 || (!self.is_matrices() && self.elems_per_unit > 1)
    }

    /// Divisors of the rows, ascending.
    pub fn row_divisors(&self) -> &[usize] {
        self.sides[0].get_or_init(|| divisors_of(self.matrices.rows))
    }

    /// Divisors of the columns, ascending.
    pub fn col_divisors(&self) -> &[usize] {
        self.sides[1].get_or_init(|| divisors_of(self.matrices.cols))
    }

    /// Returns the passes that the fastest way likely takes: one where axes of one extent change places in pairs or go round, an instance fits on chip,
    /// or whole runs move; two otherwise.
    pub fn likely_passes(&self) -> usize {
        let elem_bytes = self.elem_bytes();
        let instance = self.axes.len() / self.axes.batch() * elem_bytes;
        let one = self.axes.unit() > 1
            || instance <= self.device.on_chip_bytes()[1]
            || self.axes.len() * elem_bytes <= self.device.on_chip_bytes_in_all()
            || elem_bytes >= RUN_BYTES
            || self.axes.is_involution()
            || self.axes.elementary().is_some_and(|e| e.is_of_tiles());
        if one { 1 } else { 2 }
    }

    /// Seconds that a pass takes at least.
    pub fn min_pass_seconds(&self) -> f64 {
        self.device.least_seconds(self.axes.len() * self.elem_bytes())
    }
}

/// All divisors of `side`, ascending.
fn divisors_of(side: usize) -> Vec<usize> {
    divisors(side as u64).into_iter().map(|d| d as usize).collect()
}
