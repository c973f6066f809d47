//! Planning of in-place transpositions and axis permutations.
//!
//! A [`Planner`] turns a [`Problem`] and a [`Device`] model into a [`Plan`]. A plan is plain data
//! that refers to no buffer or device. [`Plan::dest`] composes its index maps for checks element by
//! element. Plans for any device can be made and printed without that device, and the CPU backend
//! can execute them.
//!
//! A route composes stages. For each stage, the device returns implementations with workspace and
//! estimated time. The planner adds up the estimates and takes the fastest route. This crate
//! contains no device code: the backends implement [`Device`].
//!
//! | module | contents |
//! |---|---|
//! | `problem` | validated problems: axes, element size, workspace cap, destination |
//! | `stage_map` | index maps of stages |
//! | `device` | the device model that backends implement |
//! | `flips` | plans for permutations that reverse axes |
//! | `implementation` | implementations of index maps, and the stages of a plan |
//! | [`cost_table`] | cost tables: measured speeds of a device's operations, read from files |
//! | `phase_problem` | the problem of one phase, as routes see it |
//! | `routes` | the table of routes, each a composition of stages |
//! | `infeasible` | reasons for rejecting routes and index maps |
//! | `planner` | enumerates, ranks and selects candidate plans |
//! | `search` | search for sequences of several phases |
//! | `plan` | plans, and recipes to rebuild them |
//! | `validate` | validation of plans, including plans assembled by callers |
//! | `leading` | plans for matrices with leading dimensions |
//! | [`saved_gaps`] | gap elements that a dense matrix overwrites |
//! | `records` | plans for changes of record layout between AoS, ASTA and SoA |
//! | [`tuner`] | ranks candidate plans by measured time |
//! | [`units`] | human-readable sizes and durations |
//! | [`wisdom`] | tuning results, stored in a file |
//! | `atomic_file` | locked, atomic replacement of the wisdom file |

mod atomic_file;
pub mod cost_table;
mod device;
mod flips;
mod implementation;
mod infeasible;
mod leading;
mod phase_problem;
mod plan;
mod planner;
mod problem;
mod records;
#[doc(hidden)]
pub mod routes;
pub mod saved_gaps;
mod search;
mod stage_map;
#[cfg(test)]
mod testing;
pub mod tuner;
pub mod units;
mod validate;
pub mod wisdom;

pub use cost_table::{CostTable, CostTableError};
pub use device::{Device, MethodFilter, SlotParams, StageRequest};
pub use implementation::{Implementation, LaunchConfig, LaunchConfigData, Method, Stage};
pub use infeasible::Infeasible;
pub use plan::{Phase, Plan, RejectedRoute};
#[doc(hidden)]
pub use plan::{PhaseRecipe, Recipe};
pub use planner::{Candidates, PlanError, Planner, TileRule};
pub use problem::{MatrixBatch, Problem, ProblemError};
pub use routes::{ROUTES, Route, TileSize, UnknownRoute};
pub use saved_gaps::SavedGaps;
pub use stage_map::{Direction, StageMap};
pub use tuner::{Effort, Measurement};
pub use validate::InvalidPlan;
pub use wisdom::{Wisdom, WisdomError, WisdomLookup};
