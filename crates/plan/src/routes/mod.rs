//! The table of routes: each composes a full transposition of stages.
//!
//! A route says which tiles it could use and what its stages do to offsets; which method each stage
//! gets, what that costs and whether the workspace cap allows it is the same code for all of them
//! ([`crate::method`], [`crate::cost`], [`crate::planner`]). Adding a route is one file and one row.

mod any_shape;
mod cut;
mod padded;
mod panels;
mod simple;
mod staged;
mod tiles;

use turntile_perm::Elementary;

use crate::limits::{DeviceKind, Limits};
use crate::method::{Method, Scope};
use crate::problem::Problem;
use crate::stage::StageShape;
pub use tiles::{Tile, TileRule};

/// Why a route cannot serve a problem on a device.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Infeasible {
    /// Only for square matrices.
    #[error("{rows} x {cols} is not square")]
    NotSquare {
        /// Rows.
        rows: usize,
        /// Columns.
        cols: usize,
    },
    /// A row, a column or nothing: only the route that does nothing serves these.
    #[error("nothing has to move")]
    NothingMoves,
    /// Something moves, so doing nothing is not enough.
    #[error("elements have to move")]
    ElementsMove,
    /// The sides have no common divisor to be a square tile's side.
    #[error("{rows} and {cols} have no common divisor")]
    Coprime {
        /// Rows.
        rows: usize,
        /// Columns.
        cols: usize,
    },
    /// No divisor of a side is usable as a tile side.
    #[error("{side} has no divisor from {least} to {most}")]
    NoDivisor {
        /// The side.
        side: usize,
        /// The least tile side looked for.
        least: usize,
        /// The most.
        most: usize,
    },
    /// What must be held at once does not fit on chip.
    #[error("{need} bytes must be on chip at once, there are {have}")]
    OnChip {
        /// Bytes needed.
        need: usize,
        /// Bytes there.
        have: usize,
    },
    /// More workspace than the cap allows.
    #[error("needs {need} bytes of workspace, the cap is {cap}")]
    Workspace {
        /// Bytes needed at least.
        need: usize,
        /// Bytes allowed.
        cap: usize,
    },
    /// No tile of the thesis's rule.
    #[error("no tile with sides from 50 to 100 below {have} bytes on chip (thesis 4.8.4)")]
    ThesisRule {
        /// On-chip bytes.
        have: usize,
    },
    /// Square already: there is nothing to pad.
    #[error("{side} x {side} is square as it is")]
    Square {
        /// The side.
        side: usize,
    },
    /// More memory behind the matrices than was said to be there.
    #[error("needs room for {need} elements from the first one on, there is room for {have}")]
    Room {
        /// Elements needed, the matrices' included.
        need: usize,
        /// Elements there.
        have: usize,
    },
    /// A square that no memory holds.
    #[error("a square of {side} x {side} elements is longer than any memory")]
    TooLarge {
        /// Its side.
        side: usize,
    },
    /// No tile of one side leaves any of the other over.
    #[error("no divisor of {tiled} leaves a remainder of {cut}")]
    NothingCut {
        /// The side that tiles divide.
        tiled: usize,
        /// The side that would be cut.
        cut: usize,
    },
    /// Only for one matrix at a time.
    #[error("{batch} matrices are not cut one by one")]
    Batch {
        /// Matrices.
        batch: usize,
    },
    /// No GPU kernel does it.
    #[error("only a host does it")]
    HostOnly,
    /// Both sides too long for the skinny route.
    #[error("neither side is at most {most}")]
    NotSkinny {
        /// The longest short side.
        most: usize,
    },
}

/// Which methods a route takes for one of its stages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// Any.
    Any,
    /// Barrier-sync in any scope.
    Barrier,
    /// Barrier-sync within a group or cluster.
    LocalBarrier,
    /// The same, or tile-pair swap.
    Squares,
    /// Cycle following, with flags in memory or none.
    Cycles,
    /// Tile-pair swap.
    Swap,
}

impl Want {
    /// Whether `method` will do.
    pub fn accepts(self, method: &Method) -> bool {
        match self {
            Want::Any => true,
            Want::Barrier => matches!(method, Method::BarrierSync { .. }),
            Want::LocalBarrier => {
                matches!(method, Method::BarrierSync { scope: Scope::Group | Scope::Cluster(_) })
            }
            Want::Squares => Want::Swap.accepts(method) || Want::LocalBarrier.accepts(method),
            Want::Cycles => matches!(method, Method::PttwacGlobal { .. } | Method::PerCycle),
            Want::Swap => matches!(method, Method::TileSwap { .. }),
        }
    }
}

/// A stage as a route asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// What it does to offsets.
    pub shape: StageShape,
    /// Which methods will do.
    pub want: Want,
}

/// What the routes are asked: a problem, a device, a rule for tiles, and what all of them need.
pub struct Ask<'a> {
    /// The problem.
    pub problem: &'a Problem,
    /// The device.
    pub limits: &'a Limits,
    /// How tiles are chosen.
    pub rule: TileRule,
    row_divisors: Vec<usize>,
    col_divisors: Vec<usize>,
}

impl<'a> Ask<'a> {
    /// Factorises the sides, once for all routes.
    pub fn new(problem: &'a Problem, limits: &'a Limits, rule: TileRule) -> Self {
        let moves = !nothing_moves(problem);
        let divisors = |side| if moves { tiles::divisors_of(side) } else { Vec::new() };
        let (row_divisors, col_divisors) = (divisors(problem.rows()), divisors(problem.cols()));
        Ask { problem, limits, rule, row_divisors, col_divisors }
    }
}

/// A way to transpose a matrix in place.
pub struct Route {
    /// Name, as `--route` takes it.
    pub name: &'static str,
    /// Its stages, in words.
    pub about: &'static str,
    /// Where it is from.
    pub source: &'static str,
    /// Passes at least, when something moves.
    pub passes: usize,
    /// The tiles that it could use.
    pub tiles: fn(&Ask) -> Result<Vec<Tile>, Infeasible>,
    /// Its steps on a kind of device with one of those tiles; steps that move nothing may be among them.
    pub steps: fn(&Problem, DeviceKind, Tile) -> Vec<Step>,
}

impl std::fmt::Debug for Route {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Route").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Every route: those that are fast where they are feasible first, the last resort last.
pub static ROUTES: [Route; 16] = [
    simple::NOTHING,
    simple::SQUARE,
    simple::ON_CHIP,
    panels::SKINNY,
    panels::SQUARE_TILE,
    panels::PANEL,
    panels::PANEL_MIRRORED,
    any_shape::ALIGNED_SLOTS,
    cut::CUT_COLUMNS,
    cut::CUT_ROWS,
    padded::PADDED_SQUARE,
    staged::THREE_STAGE,
    staged::THREE_STAGE_MIRRORED,
    staged::FOUR_STAGE_FUSED,
    staged::FOUR_STAGE,
    simple::ONE_STAGE,
];

/// The route of that name.
pub fn by_name(name: &str) -> Option<&'static Route> {
    ROUTES.iter().find(|route| route.name.eq_ignore_ascii_case(name))
}

/// The shapes of route `padded-square`'s stages for `problem`, where its room can be counted.
pub(crate) fn padded_square(problem: &Problem) -> Option<impl Iterator<Item = StageShape>> {
    let side = problem.rows().max(problem.cols());
    padded::room(problem, side)?;
    // The same on every device.
    let steps = (padded::PADDED_SQUARE.steps)(problem, DeviceKind::Host, Tile { m: side, n: side });
    Some(steps.into_iter().map(|step| step.shape).filter(|shape| !shape.is_identity()))
}

fn step(batch: usize, rows: usize, mid: usize, cols: usize, unit: usize, want: Want) -> Step {
    Step { shape: StageShape::Elementary(Elementary { batch, rows, mid, cols, unit }), want }
}

/// Whether the transposition leaves memory as it is.
fn nothing_moves(p: &Problem) -> bool {
    p.is_empty() || p.rows() == 1 || p.cols() == 1
}

fn something_moves(p: &Problem) -> Result<(), Infeasible> {
    if nothing_moves(p) { Err(Infeasible::NothingMoves) } else { Ok(()) }
}
