//! Reproduces turntile's sources: their kernels, their figures and tables.
//!
//! The product does not depend on this crate. What it needs of the product it takes by the product's public interface;
//! it has no stable one itself.
//!
//! | module | holds |
//! |---|---|
//! | [`ladder`] | the literature's out-of-place transpositions, by name, tile and block rows |
//! | [`saxpy`] | a SAXPY of elements some words apart |
//! | [`gaussian`] | a separable recursive filter with transpositions between its passes |
//! | [`program`] | what these two launch, as data |
//! | [`code`], [`params`] | their device code, and its parameters |
//! | [`watch`] | a GPU and memory that it runs on, by a stopwatch |
//! | [`command`] | the command line |
//! | [`applications`] | kernels written once over where fields of records lie |
//! | [`layout`] | layouts of grids, selected for a memory; memory that tracks the layout of its records |
//! | [`grids`], `stencils` | the thesis's programs on grids, over layouts of a cube |
//! | [`staged`] | the routes of four stages |
//! | [`turned`], [`wider`] | 1010!, and a device that offers it beside what is the product's |
//! | [`mod@bench`] | `turntile-lab bench`: candidates, classes of shapes, drawn ones |
//! | [`records`] | `turntile-lab records`: conversions of records on a host |
//! | [`calibrate`] | `turntile-lab calibrate`: tables of costs made and fitted |
//! | [`moved`], [`flags`] | movers of super-elements that the product does not launch; where their flags lie |
//! | [`k20`] | the thesis's own GPU, to plan for |
//! | [`check`], [`tables`] | `turntile-lab check` and `tables`: the kernels on a GPU, compared and timed |
//! | [`steering`] | `turntile-lab steering`: what memory does with pitches |
//! | [`samples`] | what they are compared on |
//! | [`transposition`] | the cycles of a transposition, in closed form |
//! | [`report`] | `turntile-lab report`: the sources' figures and tables on one page |
//! | [`error`] | what can go wrong |

/// The examples of the pages compile and run.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../../../README.md")]
    struct Readme;
    #[doc = include_str!("../../../docs/tutorial.md")]
    struct Tutorial;
    #[doc = include_str!("../../../docs/how-to/tuning.md")]
    struct Planning;
}

pub mod applications;
pub mod bench;
pub mod calibrate;
pub mod check;
pub mod code;
pub mod command;
pub mod error;
pub mod flags;
pub mod gaussian;
pub mod grids;
pub mod k20;
pub mod ladder;
pub mod layout;
pub mod moved;
pub mod params;
pub mod program;
pub mod records;
pub mod report;
pub mod samples;
pub mod saxpy;
mod shapes;
pub mod staged;
pub mod steering;
mod stencils;
pub mod tables;
pub mod transposition;
pub mod turned;
pub mod watch;
pub mod wider;
