//! Plans and planners, for whoever wants to see what would run, for any device, without running it.
//!
//! ```
//! use turntile::plan::{Chip, Planner, Problem};
//!
//! let plan = Planner::new(Chip::h200()).plan(&Problem::new(16_381, 20_011, 4)?)?;
//! println!("{plan:#}");
//! # Ok::<(), turntile::Error>(())
//! ```

pub use turntile_cpu::Host;
pub use turntile_cuda::Chip;
pub use turntile_plan::wisdom::Refused;
pub use turntile_plan::{
    Advice, Costs, CostsError, Declined, Device, Direction, Flaw, Geometry, Infeasible, Leg,
    LegRecipe, Method, Offer, Plan, PlanError, Planner, Problem, ProblemError, Recipe, Route,
    Stage, StageShape, Survey, Tile, TileRule, UnknownRoute, Wisdom, WisdomError,
};
