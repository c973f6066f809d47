//! What a route is: a name, tiles that it could use, steps with one of them.

use std::fmt;

use turntile_perm::Elementary;

use crate::device::MethodFilter;
use crate::infeasible::Infeasible;
use crate::phase_problem::PhaseProblem;
use crate::stage_map::StageMap;

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
pub struct TileSize {
    /// Rows of a tile, or elements of a slot.
    pub m: usize,
    /// Columns of a tile, or rows of a chunk.
    pub n: usize,
}

/// A stage as a route asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StageSpec {
    /// What it does to offsets.
    pub map: StageMap,
    /// Which methods will do.
    pub methods: MethodFilter,
}

impl StageSpec {
    /// The step that undoes it.
    fn inverse(self) -> Self {
        StageSpec { map: self.map.inverse(), ..self }
    }
}

/// A route of the table.
#[derive(Clone, Copy)]
pub struct RouteSpec {
    /// Its name.
    pub route: Route,
    /// Its stages, in words.
    pub summary: &'static str,
    /// Where it is from.
    pub source: &'static str,
    /// Whether it is one of the thesis's.
    pub in_thesis: bool,
    /// Passes at least.
    pub min_passes: usize,
    /// Whether it does any permutation of axes, and not matrices alone.
    pub any_axes: bool,
    /// Whether it is worth a try as it is, and mirrored.
    pub orientations: fn(&PhaseProblem) -> [bool; 2],
    /// The tiles that it could use.
    pub tiles: fn(&PhaseProblem) -> Result<Vec<TileSize>, Infeasible>,
    /// Its steps with one of those tiles; steps that move nothing may be among them.
    pub stages: fn(&PhaseProblem, TileSize) -> Vec<StageSpec>,
    /// The same for the part that a mirrored one is the inverse of, where that is not the steps backwards.
    pub mirrored_stages: Option<fn(&PhaseProblem, TileSize) -> Vec<StageSpec>>,
}

impl fmt::Debug for RouteSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RouteRow").field("route", &self.route).finish_non_exhaustive()
    }
}

impl RouteSpec {
    /// The steps with one of the part's tiles that move something; out of place all do.
    pub fn stages_that_move(&self, part: &PhaseProblem, tile: TileSize) -> Vec<StageSpec> {
        let mut steps = match (part.mirrored, self.mirrored_stages) {
            (false, _) => (self.stages)(part, tile),
            (true, Some(steps)) => steps(part, tile),
            (true, None) => {
                (self.stages)(part, tile).into_iter().rev().map(StageSpec::inverse).collect()
            }
        };
        steps.retain(|step| part.request.out_of_place || !step.map.is_identity());
        steps
    }
}

/// Not mirrored.
pub(super) const AS_IT_IS: fn(&PhaseProblem) -> [bool; 2] = |_| [true, false];
/// Mirrored too.
pub(super) const BOTH: fn(&PhaseProblem) -> [bool; 2] = |_| [true, true];

/// Two groups of axes that change places.
pub(super) fn step(
    batch: usize,
    rows: usize,
    mid: usize,
    cols: usize,
    unit: usize,
    want: MethodFilter,
) -> StageSpec {
    StageSpec { map: Elementary { batch, rows, mid, cols, unit }.into(), methods: want }
}

/// The matrices as their own tile; of other axes a super-element.
pub(super) fn whole_tile(part: &PhaseProblem) -> TileSize {
    if part.is_matrices() {
        return TileSize { m: part.matrices.rows, n: part.matrices.cols };
    }
    TileSize { m: 1, n: part.axes.unit() }
}
