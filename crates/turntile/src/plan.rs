//! Plans and planners, to inspect the plan for any device without running it.
//!
//! These types cover most programs. The crate `turntile-plan` has the full description of plans,
//! and the trait to implement for a new device.
//!
//! ```
//! use turntile::plan::{GpuDevice, Planner, Problem};
//!
//! let plan = Planner::new(GpuDevice::h200()).plan(&Problem::new(16_381, 20_011, 4)?)?;
//! println!("{plan:#}");
//! # Ok::<(), turntile::Error>(())
//! ```

pub use turntile_cpu::CpuDevice;
pub use turntile_cuda::GpuDevice;
pub use turntile_plan::wisdom::StaleWisdom;
pub use turntile_plan::{
    CostTable, CostTableError, Effort, Infeasible, InvalidPlan, Measurement, Plan, PlanError,
    Planner, Problem, ProblemError, Route, Stage, TileRule, TileSize, Wisdom, WisdomError,
};

#[cfg(feature = "measure")]
pub use crate::tune::measure;
