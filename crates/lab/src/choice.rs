//! Which route is measured.

use turntile::plan::Route;
use turntile_plan::UnknownRoute;

/// A route, or the planner's choice of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The fastest by estimate.
    Best,
    /// This one.
    Route(Route),
}

/// A route by its name, or `best`.
///
/// # Errors
/// There is no such route.
pub fn choice(text: &str) -> Result<Choice, UnknownRoute> {
    if text == "best" { Ok(Choice::Best) } else { text.parse().map(Choice::Route) }
}
