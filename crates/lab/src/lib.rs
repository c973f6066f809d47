//! Reproduces turntile's sources: their kernels, their figures and tables.
//!
//! The product does not depend on this crate. What it needs of the product it takes by the product's public interface;
//! it has no stable one itself.
//!
//! | module | holds |
//! |---|---|
//! | [`command`] | the command line |
//! | [`report`] | `turntile-lab report`: the sources' figures and tables on one page |
//! | [`error`] | what can go wrong |

pub mod command;
pub mod error;
pub mod report;
