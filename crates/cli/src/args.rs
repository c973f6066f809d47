//! What the commands on files take.

use std::num::NonZeroUsize;

use clap::Args;

use turntile::plan::{Problem, ProblemError};

use crate::common::Common;
use crate::npy::Order;
use crate::values::{Axes, Extents, axes, count, extents, positive};

#[derive(Debug, Args)]
pub struct TransposeArgs {
    #[command(flatten)]
    pub common: Common,
    /// The file has no header: K row-major MxN matrices of B-byte elements and nothing else
    #[arg(
        long,
        requires_all = ["rows", "cols", "elem_bytes"],
        conflicts_with = "member",
        help_heading = "Headerless files"
    )]
    raw: bool,
    /// Rows of the matrix
    #[arg(long, value_name = "M", value_parser = count, allow_negative_numbers = true, requires = "raw", help_heading = "Headerless files")]
    rows: Option<usize>,
    /// Columns of the matrix
    #[arg(long, value_name = "N", value_parser = count, allow_negative_numbers = true, requires = "raw", help_heading = "Headerless files")]
    cols: Option<usize>,
    /// Bytes of an element
    #[arg(long, value_name = "B", value_parser = positive, allow_negative_numbers = true, requires = "raw", help_heading = "Headerless files")]
    elem_bytes: Option<NonZeroUsize>,
    /// Matrices, one after the other [default: 1]
    #[arg(long, value_name = "K", value_parser = count, allow_negative_numbers = true, requires = "raw", help_heading = "Headerless files")]
    batch: Option<usize>,
}

impl TransposeArgs {
    /// What was given with `--raw`, `None` for a .npy file.
    pub fn raw_problem(&self) -> Result<Option<Problem>, ProblemError> {
        // The parser has made sure that all three come with --raw, and only with it.
        let (Some(rows), Some(cols), Some(elem_bytes)) = (self.rows, self.cols, self.elem_bytes)
        else {
            return Ok(None);
        };
        Problem::with_batch(self.batch.unwrap_or(1), rows, cols, elem_bytes.get()).map(Some)
    }
}

#[derive(Debug, Args)]
pub struct PermuteArgs {
    /// The order of the axes in the result, e.g. 2,0,1
    #[arg(long, value_name = "I,J,...", value_parser = axes, allow_hyphen_values = true)]
    pub axes: Axes,
    #[command(flatten)]
    pub common: Common,
    /// The file has no header: a row-major array of B-byte elements and nothing else
    #[arg(
        long,
        requires_all = ["shape", "elem_bytes"],
        conflicts_with = "member",
        help_heading = "Headerless files"
    )]
    raw: bool,
    /// Extents of the array, e.g. 64x256x112
    #[arg(long, value_name = "AxBx...", value_parser = extents, allow_hyphen_values = true, requires = "raw", help_heading = "Headerless files")]
    shape: Option<Extents>,
    /// Bytes of an element
    #[arg(long, value_name = "B", value_parser = positive, allow_negative_numbers = true, requires = "raw", help_heading = "Headerless files")]
    elem_bytes: Option<NonZeroUsize>,
}

impl PermuteArgs {
    /// What was given with `--raw`, `None` for a .npy file.
    pub fn raw_problem(&self) -> Result<Option<Problem>, ProblemError> {
        let (Some(Extents(shape)), Some(elem_bytes)) = (&self.shape, self.elem_bytes) else {
            return Ok(None);
        };
        Problem::permuted(shape, &self.axes.0, elem_bytes.get()).map(Some)
    }
}

#[derive(Debug, Args)]
pub struct ReorderArgs {
    /// The order to store the array in
    #[arg(long, value_name = "ORDER")]
    pub to: Order,
    #[command(flatten)]
    pub common: Common,
}
