//! A line of the table: a shape's figures.

use std::time::Duration;

use serde::Serialize;
use turntile::Plan;

/// A shape's figures; times are medians.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    pub class: &'static str,
    pub batch: usize,
    pub rows: usize,
    pub cols: usize,
    /// Extents of an array, and the order of its axes.
    pub shape: String,
    pub axes: String,
    pub elem_bytes: usize,
    pub device: String,
    pub threads: Option<usize>,
    pub pages: Option<&'static str>,
    pub out_of_place: bool,
    pub route: String,
    pub mirrored: bool,
    pub tile_m: usize,
    pub tile_n: usize,
    pub passes: usize,
    pub workspace_bytes: usize,
    pub seconds: f64,
    /// Bytes read and written, in a second.
    pub gb_per_s: f64,
    pub copy_gb_per_s: f64,
    pub percent_of_copy: f64,
    /// None where nothing moves.
    pub estimated_gb_per_s: Option<f64>,
    /// To make the plan again once the device is known and the kernels are loaded.
    pub planning_us: f64,
    /// The host's share of a run on a GPU: what it takes to queue it.
    pub queueing_us: Option<f64>,
    /// The chosen plan's time over that of the fastest candidate measured, if that was asked for.
    pub chosen_over_best: Option<f64>,
    pub candidates: Option<usize>,
    pub best_route: Option<String>,
    pub best_plan: Option<String>,
    pub plan: String,
}

/// Numbers between separators.
pub fn joined(numbers: impl IntoIterator<Item = usize>, separator: &str) -> String {
    numbers.into_iter().map(|n| n.to_string()).collect::<Vec<_>>().join(separator)
}

/// The route, or those of several legs.
pub fn routes(plan: &Plan) -> String {
    if plan.legs.len() > 1 { plan.route_name() } else { plan.route().to_string() }
}

/// Microseconds.
pub fn micros(time: Duration) -> f64 {
    short(time.as_secs_f64() * 1e6)
}

/// To four digits, which is more than times are good for.
pub fn short(figure: f64) -> f64 {
    format!("{figure:.3e}").parse().unwrap_or(figure)
}
