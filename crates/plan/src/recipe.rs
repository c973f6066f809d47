//! What makes a plan again: what wisdom remembers.

use crate::routes::Tile;

/// A plan's choices, without what follows from them: those of each leg.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct Recipe {
    /// The legs, in order.
    pub legs: Vec<LegRecipe>,
}

/// The choices of a leg.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct LegRecipe {
    /// The order in which the problem's fused axes lie after it.
    pub order: Vec<usize>,
    /// The route's name.
    pub route: String,
    /// Whether it is mirrored.
    pub mirrored: bool,
    /// Its tile.
    pub tile: Tile,
    /// The way of each stage, as [`Offer::way`](crate::Offer::way) has it.
    pub ways: Vec<String>,
}

impl Recipe {
    /// The routes' names, as they are printed.
    pub fn routes(&self) -> String {
        let names: Vec<&str> = self.legs.iter().map(|leg| leg.route.as_str()).collect();
        names.join(" + ")
    }

    /// The ways of all stages.
    pub fn ways(&self) -> String {
        let ways: Vec<&str> =
            self.legs.iter().flat_map(|leg| &leg.ways).map(String::as_str).collect();
        ways.join(", ")
    }
}
