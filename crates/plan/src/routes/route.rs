//! Definition of a route: its name, its tiles and its stages.

use std::fmt;

use turntile_perm::Elementary;

use crate::device::MethodFilter;
use crate::infeasible::Infeasible;
use crate::phase_problem::PhaseProblem;
use crate::stage_map::StageMap;

/// Name of a way to compose a permutation of stages.
///
/// The routes of the table are constants. A program that adds [its own
/// routes](crate::Planner::with_routes) names them with [`named`](Self::named).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Route(&'static str);

impl Route {
    /// Several phases, each with its own route.
    pub const SEVERAL: Route = Route("several");
    /// No stage: nothing moves, as for a single row or column.
    pub const NOTHING: Route = Route("nothing");
    /// Gaps are saved or swapped, and rows become contiguous, for the routes of dense matrices.
    pub const TOGETHER: Route = Route("together");
    /// Contiguous rows move to their pitch, and overwritten gaps are restored.
    pub const APART: Route = Route("apart");
    /// Swaps of tile pairs, or 3-cycles of the tiles of a cube.
    pub const SQUARE: Route = Route("square");
    /// All elements of an instance are read on chip before any is written.
    pub const ON_CHIP: Route = Route("on-chip");
    /// A few long runs are cut into pieces, and each piece of all runs is permuted on chip.
    pub const LONG_RUNS: Route = Route("long-runs");
    /// Square tiles are transposed in place, then their rows move across the matrix.
    pub const SQUARE_TILE: Route = Route("square-tile");
    /// Super-elements move into panels, then every panel is transposed on chip.
    pub const PANEL: Route = Route("panel");
    /// Slots are gathered chunk by chunk, then moved. Supports any shape.
    pub const ALIGNED_SLOTS: Route = Route("aligned-slots");
    /// The columns that square tiles do not cover are cut off, then the rest uses square tiles.
    pub const CUT: Route = Route("cut");
    /// The three stages of the thesis (section 4.7).
    pub const THREE_STAGE: Route = Route("three-stage");
    /// Single elements follow their cycles.
    pub const ONE_STAGE: Route = Route("one-stage");
    /// Reversed axes: runs swap with runs.
    pub const FLIP: Route = Route("flip");
    /// One pass from one buffer to another.
    pub const OUT_OF_PLACE: Route = Route("out-of-place");

    /// Creates the name of a route that is not in the table.
    pub const fn named(name: &'static str) -> Self {
        Route(name)
    }

    /// Returns the name, as printed and parsed.
    pub fn name(self) -> &'static str {
        self.0
    }
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.0)
    }
}

/// Tile of a route: two numbers with a meaning that depends on the route.
///
/// For a mirrored route, the tile of the transposed matrices.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub struct TileSize {
    /// Number of rows of a tile, or of elements of a slot.
    pub m: usize,
    /// Number of columns of a tile, or of rows of a chunk.
    pub n: usize,
}

/// Stage of a route, before the device chooses its implementation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StageSpec {
    /// Index map.
    pub map: StageMap,
    /// Accepted methods.
    pub methods: MethodFilter,
}

impl StageSpec {
    /// Returns the stage that undoes this one.
    fn inverse(self) -> Self {
        StageSpec { map: self.map.inverse(), ..self }
    }
}

/// Row of the route table.
#[derive(Clone, Copy)]
pub struct RouteSpec {
    /// Name of the route.
    pub route: Route,
    /// Stages in words and dimension notation.
    pub summary: &'static str,
    /// Literature or document that describes the route.
    pub source: &'static str,
    /// `true` if the thesis has the route.
    pub in_thesis: bool,
    /// Minimum number of passes.
    pub min_passes: usize,
    /// `true` if the route supports any axis permutation, `false` if only transpositions of
    /// matrices.
    pub any_axes: bool,
    /// Orientations to try: `[unmirrored, mirrored]`.
    pub orientations: fn(&PhaseProblem) -> [bool; 2],
    /// Tiles that the route could use, at least one, or the reason why it has none.
    pub tiles: fn(&PhaseProblem) -> Result<Vec<TileSize>, Infeasible>,
    /// Stages for one of the [`tiles`](Self::tiles). Some of them may move nothing.
    pub stages: fn(&PhaseProblem, TileSize) -> Vec<StageSpec>,
    /// Stages for the inverse permutation, if they differ from the inverted stages in reverse
    /// order. They are final: not inverted again.
    pub mirrored_stages: Option<fn(&PhaseProblem, TileSize) -> Vec<StageSpec>>,
}

impl fmt::Debug for RouteSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RouteSpec").field("route", &self.route).finish_non_exhaustive()
    }
}

impl RouteSpec {
    /// Returns the stages that move elements, for one of the phase's tiles. Out of place, returns
    /// all stages.
    pub(crate) fn stages_that_move(&self, part: &PhaseProblem, tile: TileSize) -> Vec<StageSpec> {
        let mut stages = match (part.mirrored, self.mirrored_stages) {
            (false, _) => (self.stages)(part, tile),
            (true, Some(mirrored)) => mirrored(part, tile),
            (true, None) => {
                (self.stages)(part, tile).into_iter().rev().map(StageSpec::inverse).collect()
            }
        };
        stages.retain(|stage| part.request.out_of_place || !stage.map.is_identity());
        stages
    }
}

/// Orientations of a route that is tried only unmirrored.
pub(super) const UNMIRRORED: fn(&PhaseProblem) -> [bool; 2] = |_| [true, false];
/// Orientations of a route that is tried both unmirrored and mirrored.
pub(super) const BOTH_ORIENTATIONS: fn(&PhaseProblem) -> [bool; 2] = |_| [true, true];

/// Creates the stage that swaps two groups of axes, `rows` and `cols`.
pub(super) fn step(
    batch: usize,
    rows: usize,
    mid: usize,
    cols: usize,
    unit: usize,
    methods: MethodFilter,
) -> StageSpec {
    StageSpec { map: Elementary { batch, rows, mid, cols, unit }.into(), methods }
}

/// Returns the whole matrix as the tile, or a super-element if the permutation is not a
/// transposition of matrices.
pub(super) fn whole_tile(part: &PhaseProblem) -> TileSize {
    if part.is_matrices() {
        return TileSize { m: part.matrices.rows, n: part.matrices.cols };
    }
    TileSize { m: 1, n: part.axes.unit() }
}
