//! What one leg is to do, as routes see it.

use std::cell::OnceCell;
use std::rc::Rc;

use turntile_perm::AxisPermutation;
use turntile_perm::divisors::divisors;

use crate::device::{Device, Request, Want};
use crate::problem::{Matrices, Problem};

/// A part of a problem: axes that one route is to bring into another order.
#[derive(Clone, Debug)]
pub struct Part<'a> {
    /// The axes that are permuted.
    pub axes: AxisPermutation,
    /// The same as matrices. Where it is no transposition of matrices, the last axis of the result as rows and that of
    /// the source as columns, which is all that routes for any axes look at.
    pub matrices: Matrices,
    /// The device.
    pub device: &'a dyn Device,
    /// What the device is asked for, beside a shape and the methods that a step takes.
    pub request: Request,
    /// Whether every tile is asked for, not only those that could be best by estimate.
    pub every: bool,
    /// Whether these are the inverse axes, of which a route makes the steps and then runs them backwards.
    pub mirrored: bool,
    /// Elements of the whole problem that are one of these.
    pub joined: usize,
    /// The order in which the whole problem's fused axes lie afterwards.
    pub order: Vec<usize>,
    /// The divisors of the rows and of the columns, found when they are asked for.
    sides: [Rc<OnceCell<Vec<usize>>>; 2],
}

/// A last axis of so many bytes and more that stays moves in runs, one by one; a shorter one joins the element.
const RUN_BYTES: usize = 128;

impl<'a> Part<'a> {
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
        let request = Request::new(problem, device, Want::Any);
        let request = Request { elem_bytes: request.elem_bytes * joined, ..request };
        let matrices = Matrices::of(&axes).unwrap_or_else(|| match axes.order().last() {
            Some(last) if !axes.is_identity() => {
                let cols = axes.extents()[axes.extents().len() - 1];
                Matrices { batch: 1, rows: axes.extents()[last], cols }
            }
            _ => Matrices { batch: 1, rows: 1, cols: axes.len() },
        });
        let (mirrored, order, sides) = (false, order.to_vec(), Default::default());
        Some(Part { axes, matrices, device, request, every, mirrored, joined, order, sides })
    }

    /// The same, or mirrored: the inverse, of matrices their transposes.
    #[must_use]
    pub fn seen(&self, mirrored: bool) -> Self {
        if mirrored == self.mirrored {
            return self.clone();
        }
        let (axes, matrices) = (self.axes.inverse(), self.matrices.transposed());
        let [rows, cols] = self.sides.clone();
        Part { axes, matrices, mirrored, sides: [cols, rows], ..self.clone() }
    }

    /// Bytes of an element.
    pub fn elem_bytes(&self) -> usize {
        self.request.elem_bytes
    }

    /// Whether it is a transposition of matrices, or a copy.
    pub fn is_matrices(&self) -> bool {
        self.axes.is_identity() || Matrices::of(&self.axes).is_some()
    }

    /// Whether its last axis stays and is so long that it moves in runs, which is soon estimated.
    pub fn is_runs(&self) -> bool {
        self.axes.unit() > 1 || (!self.is_matrices() && self.joined > 1)
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
            || instance <= self.device.holds()[1]
            || self.axes.len() * elem_bytes <= self.device.holds_whole()
            || elem_bytes >= RUN_BYTES
            || self.axes.is_involution()
            || self.axes.elementary().is_some_and(|e| e.is_of_tiles());
        if one { 1 } else { 2 }
    }

    /// Seconds that a pass takes at least.
    pub fn pass_seconds(&self) -> f64 {
        self.device.least_seconds(self.axes.len() * self.elem_bytes())
    }
}

/// All divisors of `side`, ascending.
fn divisors_of(side: usize) -> Vec<usize> {
    divisors(side as u64).into_iter().map(|d| d as usize).collect()
}
