//! An array: shape, element type, memory order.

use anyhow::{Result, anyhow};
use clap::ValueEnum;
use serde::Serialize;

use crate::values::joined;

/// Memory order of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
pub enum AxisOrder {
    /// The last axis runs fastest (row-major)
    #[value(name = "C")]
    C,
    /// The first axis runs fastest (column-major)
    #[value(name = "F")]
    F,
}

impl AxisOrder {
    /// Returns the other order.
    pub fn other(self) -> Self {
        match self {
            AxisOrder::C => AxisOrder::F,
            AxisOrder::F => AxisOrder::C,
        }
    }
}

/// An array as a file holds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Array {
    /// Extents of its axes.
    pub shape: Vec<usize>,
    /// Its element type as the file or the command line describes it, without quotes.
    pub dtype: String,
    /// Bytes of an element.
    pub itemsize: usize,
    /// Its memory order.
    pub order: AxisOrder,
}

impl Array {
    /// Returns the bytes of the data.
    pub fn bytes(&self) -> Result<usize> {
        let items = volume(&self.shape);
        let bytes = items.and_then(|items| items.checked_mul(self.itemsize));
        bytes
            .filter(|&bytes| bytes <= isize::MAX as usize)
            .ok_or_else(|| anyhow!("{self} has more bytes than can be addressed"))
    }
}

impl std::fmt::Display for Array {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.shape[..] {
            [] => write!(f, "scalar {}", self.dtype),
            [one] => write!(f, "{one} {}", self.dtype),
            all => write!(f, "{} {}", joined(all, "x"), self.dtype),
        }
    }
}

/// Returns the number of elements of an array, `None` if it overflows.
pub fn volume(shape: &[usize]) -> Option<usize> {
    if shape.contains(&0) {
        return Some(0);
    }
    shape.iter().try_fold(1usize, |product, &extent| product.checked_mul(extent))
}

/// Marks of a byte order that says nothing here: the machine's own, and none.
pub const NATIVE: [char; 2] = if cfg!(target_endian = "big") { ['|', '>'] } else { ['|', '<'] };
