//! Plans and planners: see what would run, for any device, without running it.
//!
//! These are the types that a program holds or matches on. What describes plans in full, and what a
//! device of your own implements, is in the crate `turntile-plan`.
//!
//! ```
//! use turntile::plan::{Chip, Planner, Problem};
//!
//! let plan = Planner::new(Chip::h200()).plan(&Problem::new(16_381, 20_011, 4)?)?;
//! println!("{plan:#}");
//! # Ok::<(), turntile::Error>(())
//! ```

pub use turntile_cpu::CpuDevice;
pub use turntile_cuda::Chip;
pub use turntile_plan::wisdom::StaleWisdom;
pub use turntile_plan::{
    CostTable, CostTableError, Infeasible, InvalidPlan, Measurement, Plan, PlanError, Planner,
    Problem, ProblemError, Route, Stage, TileRule, TileSize, Wisdom, WisdomError,
};

pub use crate::tune::measure;
