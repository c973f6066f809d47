//! The table of routes: each composes a full transposition of stages.
//!
//! A route says which tiles it could use and what its stages do to offsets; how each stage is moved, what
//! that costs and whether the workspace cap allows it is the device's to offer. Adding a route is one
//! file and one row.
//!
//! A route *mirrored* is the route of the transposed problem run backwards, every stage undone in turn.

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

/// The rows: routes that are fast where they are feasible first, the last resort last.
pub static ROUTES: [RouteSpec; 9] = [
    whole::SQUARE,
    whole::ON_CHIP,
    panels::SQUARE_TILE,
    panels::PANEL,
    slots::ALIGNED_SLOTS,
    cut::CUT,
    staged::THREE_STAGE,
    whole::ONE_STAGE,
    whole::OUT_OF_PLACE,
];

/// No route of the table has that name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no route is named {name:?}; there are {}", names())]
pub struct UnknownRoute {
    /// The name as given.
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
    fn names_are_read_as_they_are_written() {
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
