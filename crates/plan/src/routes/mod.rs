//! Table of routes. Each route composes a full permutation of stages.
//!
//! A route lists the tiles that it could use and the index maps of its stages. The device provides
//! the implementations of each stage, their costs and their workspace. To add a route, add one
//! constant and one row of [`ROUTES`].
//!
//! A *mirrored* route solves the inverse problem, then runs backwards: its stages are inverted, in
//! reverse order, unless the route has its own mirrored stages.

mod cut;
mod panels;
mod route;
mod slots;
mod staged;
mod tiles;
mod whole;

use std::str::FromStr;

pub use route::{Route, RouteSpec, StageSpec, TileSize};

pub use crate::phase_problem::PhaseProblem;

/// Route table. Of the in-place routes, those that are fast when feasible come first, and
/// `one-stage`, the last resort, comes last.
pub static ROUTES: [RouteSpec; 10] = [
    whole::SQUARE,
    whole::ON_CHIP,
    whole::LONG_RUNS,
    panels::SQUARE_TILE,
    panels::PANEL,
    slots::ALIGNED_SLOTS,
    cut::CUT,
    staged::THREE_STAGE,
    whole::ONE_STAGE,
    whole::OUT_OF_PLACE,
];

/// Error: no route of the table has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown route {name:?}: expected one of {}", names())]
pub struct UnknownRoute {
    /// Name as given.
    pub name: String,
}

fn names() -> String {
    ROUTES.each_ref().map(|row| row.route.name()).join(", ")
}

impl FromStr for Route {
    type Err = UnknownRoute;

    fn from_str(name: &str) -> Result<Self, UnknownRoute> {
        let row = ROUTES.iter().find(|row| row.route.name().eq_ignore_ascii_case(name));
        row.map(|row| row.route).ok_or_else(|| UnknownRoute { name: name.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_parse_when_printed_by_display() {
        for RouteSpec { route, .. } in &ROUTES {
            assert_eq!(route.to_string().parse(), Ok(*route));
            assert_eq!(route.name().to_uppercase().parse(), Ok(*route));
        }
        for name in ["nothing", "four-stage"] {
            let error = name.parse::<Route>().unwrap_err().to_string();
            assert!(error.contains("square-tile, panel, aligned-slots"), "{error}");
        }
    }
}
