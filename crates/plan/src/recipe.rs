//! What makes a plan again: what wisdom remembers.

use crate::routes::Tile;

/// A plan's choices, without what follows from them.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Recipe {
    /// The route's name.
    pub route: String,
    /// Whether it is mirrored.
    pub mirrored: bool,
    /// Its tile.
    pub tile: Tile,
    /// The way of each stage, as [`Offer::way`](crate::Offer::way) has it.
    pub ways: Vec<String>,
}
