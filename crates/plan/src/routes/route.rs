//! What a route is: a name, tiles that it could use, steps with one of them.

use std::fmt;

use turntile_perm::divisors::divisors;
use turntile_perm::{AxisPermutation, Elementary};

use crate::device::{Device, Want};
use crate::infeasible::Infeasible;
use crate::problem::{Matrices, Problem};
use crate::shape::StageShape;

/// A way to compose a transposition, by its name. Those of the table are constants; a program that brings
/// [rows of its own](crate::Planner::with_routes) names others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Route(&'static str);

impl Route {
    /// Several routes, one after the other, each for a part of the permutation.
    pub const SEVERAL: Route = Route("several");
    /// No stage: a row, a column or nothing is its own transpose in memory.
    pub const NOTHING: Route = Route("nothing");
    /// Rows a pitch apart brought together, for the routes of matrices without gaps.
    pub const TOGETHER: Route = Route("together");
    /// Rows moved apart to their pitch, and what was in the way of rows put back.
    pub const APART: Route = Route("apart");
    /// Tile pairs across the diagonal.
    pub const SQUARE: Route = Route("square");
    /// Everything read before anything is written.
    pub const ON_CHIP: Route = Route("on-chip");
    /// Square tiles where they lie, then their rows across the matrix.
    pub const SQUARE_TILE: Route = Route("square-tile");
    /// Super-elements into panels, then every panel on chip.
    pub const PANEL: Route = Route("panel");
    /// Slots gathered chunk by chunk, then moved; any shape.
    pub const ALIGNED_SLOTS: Route = Route("aligned-slots");
    /// What square tiles leave over cut off, then square tiles.
    pub const CUT: Route = Route("cut");
    /// The thesis's three stages.
    pub const THREE_STAGE: Route = Route("three-stage");
    /// Element by element along the cycles.
    pub const ONE_STAGE: Route = Route("one-stage");
    /// From one place to another, in one pass.
    pub const OUT_OF_PLACE: Route = Route("out-of-place");

    /// A route that the table does not have.
    pub const fn named(name: &'static str) -> Self {
        Route(name)
    }

    /// Its name, as it is printed and read.
    pub fn name(self) -> &'static str {
        self.0
    }
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.0)
    }
}

/// The sides of a route's tile; what they are is the route's to say. Of a mirrored route, those for the
/// transposed matrices.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub struct Tile {
    /// Rows of a tile, or elements of a slot.
    pub m: usize,
    /// Columns of a tile, or rows of a chunk.
    pub n: usize,
}

/// A stage as a route asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// What it does to offsets.
    pub shape: StageShape,
    /// Which methods will do.
    pub want: Want,
}

impl Step {
    /// The step that undoes it.
    fn undone(self) -> Self {
        Step { shape: self.shape.inverse(), ..self }
    }
}

/// The divisors of both sides of matrices, ascending: found once for all routes.
#[derive(Clone, Debug)]
pub struct Sides {
    rows: Vec<usize>,
    cols: Vec<usize>,
}

impl Sides {
    /// Factorises the sides.
    pub fn new(matrices: &Matrices) -> Self {
        Sides { rows: divisors_of(matrices.rows), cols: divisors_of(matrices.cols) }
    }
}

/// What routes are asked: matrices, a device, and what all routes need of them.
#[derive(Clone, Copy, Debug)]
pub struct Query<'a> {
    /// The axes that are permuted.
    pub axes: AxisPermutation,
    /// The same as matrices. Where it is no transposition of matrices, the last axis of the result as rows and that of
    /// the source as columns, which is all that routes for any axes look at.
    pub matrices: Matrices,
    /// The problem that they are of.
    pub problem: &'a Problem,
    /// The device.
    pub device: &'a dyn Device,
    /// Whether every tile is asked for, not only those that could be best by estimate.
    pub every: bool,
    /// Divisors of the rows, ascending.
    pub row_divisors: &'a [usize],
    /// Divisors of the columns.
    pub col_divisors: &'a [usize],
    /// Elements of the whole problem that are one of these, where this is a part of it.
    pub joined: usize,
    /// The order in which the whole problem's fused axes lie afterwards.
    pub order: &'a [usize],
}

impl<'a> Query<'a> {
    /// Of axes that are these matrices, with these sides.
    pub fn new(
        axes: AxisPermutation,
        matrices: Matrices,
        sides: &'a Sides,
        problem: &'a Problem,
        device: &'a dyn Device,
        every: bool,
    ) -> Self {
        let (row_divisors, col_divisors) = (&sides.rows, &sides.cols);
        Query {
            axes,
            matrices,
            problem,
            device,
            every,
            row_divisors,
            col_divisors,
            joined: 1,
            order: &[],
        }
    }

    /// As a part of a larger problem.
    #[must_use]
    pub fn as_part(self, joined: usize, order: &'a [usize]) -> Self {
        Query { joined, order, ..self }
    }

    /// The same of the inverse, of matrices their transposes.
    #[must_use]
    pub fn mirrored(&self) -> Self {
        Query {
            axes: self.axes.inverse(),
            matrices: self.matrices.transposed(),
            row_divisors: self.col_divisors,
            col_divisors: self.row_divisors,
            ..*self
        }
    }

    /// Bytes of an element.
    pub fn elem_bytes(&self) -> usize {
        self.problem.elem_bytes()
    }

    /// Whether the axes are no matrices.
    pub fn is_general(&self) -> bool {
        Matrices::of(&self.axes).is_none()
    }
}

/// A route of the table.
#[derive(Clone, Copy)]
pub struct RouteRow {
    /// Its name.
    pub route: Route,
    /// Its stages, in words.
    pub about: &'static str,
    /// Where it is from.
    pub source: &'static str,
    /// Whether it is one of the thesis's.
    pub of_thesis: bool,
    /// Passes at least.
    pub passes: usize,
    /// Whether it does any permutation of axes, and not matrices alone.
    pub any_axes: bool,
    /// Whether it is worth a try as it is, and mirrored.
    pub ways: fn(&Query) -> [bool; 2],
    /// The tiles that it could use.
    pub tiles: fn(&Query) -> Result<Vec<Tile>, Infeasible>,
    /// Its steps with one of those tiles; steps that move nothing may be among them.
    pub steps: fn(&Query, Tile) -> Vec<Step>,
    /// The same for the matrices that the query is the mirror image of, where that is not the steps
    /// backwards.
    pub mirrored_steps: Option<fn(&Query, Tile) -> Vec<Step>>,
}

impl fmt::Debug for RouteRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RouteRow").field("route", &self.route).finish_non_exhaustive()
    }
}

impl RouteRow {
    /// The steps on `query`'s matrices; `mirrored`, with a tile of the query mirrored.
    pub fn steps(&self, query: &Query, mirrored: bool, tile: Tile) -> Vec<Step> {
        if !mirrored {
            return (self.steps)(query, tile);
        }
        let query = query.mirrored();
        match self.mirrored_steps {
            Some(steps) => steps(&query, tile),
            None => (self.steps)(&query, tile).into_iter().rev().map(Step::undone).collect(),
        }
    }

    /// The tiles that it could use, mirrored or not.
    ///
    /// # Errors
    /// Why there is none.
    pub fn tiles(&self, query: &Query, mirrored: bool) -> Result<Vec<Tile>, Infeasible> {
        if mirrored { (self.tiles)(&query.mirrored()) } else { (self.tiles)(query) }
    }
}

/// Not mirrored.
pub(super) const AS_IT_IS: fn(&Query) -> [bool; 2] = |_| [true, false];
/// Mirrored too.
pub(super) const BOTH: fn(&Query) -> [bool; 2] = |_| [true, true];

/// Two groups of axes that change places.
pub(super) fn step(
    batch: usize,
    rows: usize,
    mid: usize,
    cols: usize,
    unit: usize,
    want: Want,
) -> Step {
    Step { shape: Elementary { batch, rows, mid, cols, unit }.into(), want }
}

/// The matrices as their own tile; of other axes a super-element.
pub(super) fn whole_tile(query: &Query) -> Vec<Tile> {
    if query.is_general() && !query.axes.is_identity() {
        return vec![Tile { m: 1, n: query.axes.unit() }];
    }
    vec![Tile { m: query.matrices.rows, n: query.matrices.cols }]
}

/// All divisors of `side`, ascending.
fn divisors_of(side: usize) -> Vec<usize> {
    divisors(side as u64).into_iter().map(|d| d as usize).collect()
}
