//! What to run, before anything runs.
//!
//! A [`Problem`] and a device's [`Limits`] go in; a [`Plan`] comes out: inert data that can be
//! compared, printed in dimension notation, checked by folding [`Plan::dest`] over offsets, and
//! executed by any backend. No plan owns a pointer, and a plan for a GPU can be made, printed and
//! run (by the CPU backend) on a machine without one.
//!
//! | module | holds |
//! |---|---|
//! | [`problem`] | the checked problem: batch, rows, cols, bytes of an element, workspace cap |
//! | [`limits`] | a device as plain data, with presets |
//! | `machine` | what this machine says of its caches |
//! | [`rates`] | measured fractions of copy speed: the constants of the cost model |
//! | [`flags`] | the flag words of PTTWAC: spreading, padding, remapping |
//! | [`stage`] | a pass over the matrix: its shape, method and launch |
//! | [`method`] | which method and launch a shape gets on a device |
//! | [`bands`] | how a host cuts a gather pass in row order |
//! | [`runs`] | how a GPU's groups share out a gather pass of few columns |
//! | [`strips`] | and one of more |
//! | [`routes`] | the table of routes, each a composition of stages |
//! | [`cost`] | the cost model |
//! | [`planner`] | ranks the candidates and picks one |
//! | [`plan`] | the result |
//! | [`check`] | whether a plan that anyone may have put together is one |
//! | [`tuner`] | ranks candidates by stopwatch |
//! | [`wisdom`] | what tuning found out, remembered in a file |

pub mod bands;
pub mod check;
pub mod cost;
pub mod flags;
pub mod limits;
mod machine;
pub mod method;
pub mod plan;
pub mod planner;
pub mod problem;
pub mod rates;
pub mod routes;
pub mod runs;
pub mod stage;
pub mod strips;
pub mod tuner;
pub mod wisdom;

pub use check::Flaw;
pub use flags::FlagLayout;
pub use limits::{DeviceKind, Limits};
pub use method::{Launch, Method, Scope};
pub use plan::{Declined, Plan};
pub use planner::{PlanError, Planner, Survey};
pub use problem::{Problem, ProblemError};
pub use rates::Rates;
pub use routes::{Infeasible, ROUTES, Route, Tile, TileRule};
pub use stage::{Direction, Stage, StageShape};
pub use tuner::{Effort, Measured};
pub use wisdom::{Advice, Wisdom, WisdomError};
