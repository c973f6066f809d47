//! What to run, before anything runs.
//!
//! A [`Problem`] and a [`Device`] go in; a [`Plan`] comes out: inert data that can be compared, printed in
//! dimension notation, checked by folding [`Plan::dest`] over offsets, and executed by any backend. No
//! plan owns a pointer, and a plan for any device can be made, printed and run (by the CPU backend) on a
//! machine without one.
//!
//! A route composes stages; the device offers ways to move each, with their geometry, workspace and seconds;
//! the planner adds up. Nothing here knows how a device works: the crate that runs an offer makes it.
//!
//! | module | holds |
//! |---|---|
//! | [`problem`] | the checked problem: matrices, bytes of an element, workspace cap, place of the result |
//! | [`shape`] | what a stage does to offsets |
//! | [`device`] | what the planner knows of a device: the trait that backends implement |
//! | [`offer`] | a way to move a shape, and a stage of a plan |
//! | [`costs`] | how fast a device's operations are: tables in files |
//! | [`part`] | a part of a problem, as routes see it |
//! | [`routes`] | the table of routes, each a composition of stages |
//! | [`infeasible`] | why something is not possible |
//! | [`planner`] | ranks the candidates and picks one |
//! | `search` | the ways to compose several parts |
//! | [`plan`] | the result, and what makes it again |
//! | [`check`] | whether a plan that anyone may have put together is one |
//! | `apart` | matrices whose rows lie a pitch apart: the stages around what lies between them |
//! | `relayout` | records that go from one layout of AoS, ASTA and SoA to another |
//! | [`tuner`] | ranks candidates by stopwatch |
//! | [`units`] | numbers in the units that suit them |
//! | [`wisdom`] | what tuning found out, remembered in a file |
//! | `record` | one writer of that file at a time |

mod atomic_file;
pub mod cost_table;
pub mod device;
pub mod implementation;
pub mod infeasible;
mod leading;
pub mod phase_problem;
pub mod plan;
pub mod planner;
pub mod problem;
mod records;
pub mod routes;
mod search;
pub mod stage_map;
#[cfg(test)]
mod testing;
pub mod tuner;
pub mod units;
pub mod validate;
pub mod wisdom;

pub use cost_table::{CostTable, CostTableError};
pub use device::{Device, MethodFilter, SlotParams, StageRequest};
pub use implementation::{Implementation, LaunchConfig, LaunchConfigData, Method, Stage};
pub use infeasible::Infeasible;
pub use plan::{Phase, PhaseRecipe, Plan, Recipe, RejectedRoute};
pub use planner::{Candidates, PlanError, Planner, TileRule};
pub use problem::{MatrixBatch, Problem, ProblemError};
pub use routes::{ROUTES, Route, TileSize, UnknownRoute};
pub use stage_map::{Direction, StageMap};
pub use tuner::{Effort, Measurement};
pub use validate::InvalidPlan;
pub use wisdom::{Wisdom, WisdomError, WisdomLookup};
