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
//! | [`routes`] | the table of routes, each a composition of stages |
//! | [`infeasible`] | why something cannot be had |
//! | [`planner`] | ranks the candidates and picks one |
//! | [`plan`] | the result |
//! | [`check`] | whether a plan that anyone may have put together is one |
//! | `apart` | matrices whose rows lie a pitch apart: the stages around what lies between them |
//! | [`recipe`] | what makes a plan again |
//! | [`tuner`] | ranks candidates by stopwatch |
//! | [`wisdom`] | what tuning found out, remembered in a file |

mod apart;
pub mod check;
pub mod costs;
pub mod device;
pub mod infeasible;
mod legs;
pub mod offer;
pub mod plan;
pub mod planner;
pub mod problem;
pub mod recipe;
mod record;
pub mod routes;
mod search;
pub mod shape;
#[cfg(test)]
mod testing;
pub mod tuner;
pub mod wisdom;

pub use check::Flaw;
pub use costs::{Costs, CostsError};
pub use device::{Device, Request, Slotting, Want};
pub use infeasible::Infeasible;
pub use offer::{Geometry, GeometryData, Method, Offer, Stage};
pub use plan::{Declined, Leg, Plan};
pub use planner::{PlanError, Planner, Survey, TileRule};
pub use problem::{Matrices, Problem, ProblemError};
pub use recipe::{LegRecipe, Recipe};
pub use routes::{ROUTES, Route, Tile, UnknownRoute};
pub use shape::{Direction, StageShape};
pub use tuner::{Effort, Measured};
pub use wisdom::{Advice, Wisdom, WisdomError};
