//! Layouts of grids and of tracked memory (thesis sections 5.5 and 6).
//!
//! The layout of a [`Grid`] is any [`Flattening`] of its dimensions; [`parallel`] chooses one for a
//! device's memory. [`Tracked`] memory records the layout of its records, and is converted if a use
//! needs another.

mod flattening;
mod grid;
mod on_stream;
pub mod parallel;
mod tracked;

pub use flattening::{Flattening, FlatteningError, GridStep, LayoutAxis};
pub use grid::{Grid, GridError, conversion};
pub use on_stream::OnStream;
pub use tracked::{Marshal, Tracked};
