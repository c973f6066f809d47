//! Selection of a grid's layout from the bits of its addresses (thesis section 6.3).

use super::{Flattening, FlatteningError, LayoutAxis};

/// Memory of a device, as masks of the bits of a byte address. The steering bits follow the coalescing bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Bits in which the requests of a warp may differ and still become one request.
    pub coalescing: u64,
    /// Bits that spread requests over channels and banks.
    pub steering: u64,
}

impl Memory {
    /// Tesla T10, as measured in the thesis.
    pub const T10: Memory = Memory { coalescing: 0x3c, steering: 0x3fc0 };
    /// H200: lines of 128 bytes. No pitch from 256 bytes to 3 MiB is slower than another, so no bit steers.
    pub const H200: Memory = Memory { coalescing: 0x7c, steering: 0 };

    /// Returns the number of bits of a mask that distinguish elements.
    fn bits(mask: u64, elem_bytes: usize) -> u32 {
        (mask >> elem_bytes.ilog2()).count_ones()
    }
}

/// Index of an access, with the number of values that it has in concurrent requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Index {
    /// Thread index along an axis of the block, with its extent; the first is `threadIdx.x`.
    Thread(usize),
    /// Block index along an axis of the grid of blocks, with the number of blocks that are active at once.
    Block(usize),
    /// Index of a sequential loop, or an auxiliary index that replaces a non-affine term.
    Other,
}

impl Index {
    /// Returns the block indices along three axes if `active` blocks run at once. Blocks are issued in order, x fastest.
    pub fn blocks(active: usize, grid: [usize; 3]) -> [Index; 3] {
        let mut left = active;
        grid.map(|extent| {
            let along = left.clamp(1, extent.max(1));
            left /= extent.max(1);
            Index::Block(along)
        })
    }

    /// Returns the number of low bits that take all their values: log2, rounded down.
    fn busy(self) -> u32 {
        match self {
            Index::Thread(n) | Index::Block(n) => n.max(1).ilog2(),
            Index::Other => 0,
        }
    }
}

/// Error: no layout was selected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SelectError {
    /// No access is given.
    #[error("no access is given")]
    NoAccess,
    /// The access matrix does not fit the grid.
    #[error("access {access} has {got} coefficients, a row a dimension has {need} in all")]
    Matrix {
        /// Number of the access, from 0.
        access: usize,
        /// Required coefficients: dimensions times the number of indices plus one.
        need: usize,
        /// Number of coefficients given.
        got: usize,
    },
    /// The grid is not eligible: coefficients of accesses differ.
    #[error("access {access} has another pattern than the first: only constants may differ")]
    Pattern {
        /// Number of the access, from 0.
        access: usize,
    },
    /// No dimension is indexed by `threadIdx.x`.
    #[error("no dimension is indexed by threadIdx.x, the first of the threads' indices")]
    NoThread,
    /// The element size is not a power of two.
    #[error("elements of {bytes} bytes: a power of two is needed")]
    Element {
        /// Bytes per element, as given.
        bytes: usize,
    },
    /// The layout is not valid.
    #[error(transparent)]
    Grid(#[from] FlatteningError),
}

/// Returns the coefficients that all accesses to a grid share: one row per dimension, one column per index. An access is
/// such a matrix in row-major order, with a last column of constants.
///
/// # Errors
/// [`SelectError`]: the grid is not eligible.
pub fn common_pattern(
    rank: usize,
    indices: usize,
    accesses: &[&[i64]],
) -> Result<Vec<Vec<i64>>, SelectError> {
    let need = rank * (indices + 1);
    let first = accesses.first().ok_or(SelectError::NoAccess)?;
    for (access, matrix) in accesses.iter().enumerate() {
        if matrix.len() != need {
            return Err(SelectError::Matrix { access, need, got: matrix.len() });
        }
        let constant = |k: usize| k % (indices + 1) == indices;
        if (0..need).any(|k| !constant(k) && matrix[k] != first[k]) {
            return Err(SelectError::Pattern { access });
        }
    }
    Ok(first.chunks(indices + 1).map(|row| row[..indices].to_vec()).collect())
}

/// Selects a layout in which concurrent requests to a grid with row-major dimensions `dims` coalesce, and are spread over
/// channels and banks.
///
/// The lowest bits of the dimension that `threadIdx.x` indexes become coalescing bits, from its lowest busy bit on. Busy
/// bits then become steering bits until these are complete: first bits of that dimension, then bits of the other dimensions,
/// from the innermost outwards, low bits first. The remaining bits keep their order, outside. A coefficient shifts by the
/// power of two in it: an odd factor only changes the values of the bits.
///
/// ```
/// use turntile_lab::layout::parallel::{Index, Memory, select};
///
/// // grid[blockIdx.x + 1][threadIdx.x + 1][field], of floats.
/// let access = [1, 0, 1, 0, 1, 1, 0, 0, 2];
/// let indices = [Index::Block(32), Index::Thread(128)];
/// let layout = select(Memory::T10, 4, &[64, 256, 4], &indices, &[&access])?;
/// let extents: Vec<usize> = layout.parts().iter().map(|part| part.extent).collect();
/// assert_eq!(extents, [2, 2, 4, 32, 128]);
/// # Ok::<(), turntile_lab::layout::parallel::SelectError>(())
/// ```
///
/// # Errors
/// [`SelectError`].
pub fn select(
    memory: Memory,
    elem_bytes: usize,
    dims: &[usize],
    indices: &[Index],
    accesses: &[&[i64]],
) -> Result<Flattening, SelectError> {
    if !elem_bytes.is_power_of_two() {
        return Err(SelectError::Element { bytes: elem_bytes });
    }
    let pattern = common_pattern(dims.len(), indices.len(), accesses)?;
    let bits = |dim: usize| usize::BITS - dims[dim].saturating_sub(1).leading_zeros();
    let busy = |dim: usize| {
        let of = |(index, &c): (&Index, &i64)| match c {
            0 => 0,
            _ => ((1u128 << index.busy()) - 1) << c.trailing_zeros(),
        };
        let all = indices.iter().zip(&pattern[dim]).map(of).fold(0, |all, bits| all | bits);
        (all & ((1 << bits(dim)) - 1)) as u64
    };
    let x = indices.iter().position(|index| matches!(index, Index::Thread(_)));
    let follows = |dim: &usize| x.is_some_and(|x| pattern[*dim][x] != 0);
    let fastest = (0..dims.len()).rfind(follows).ok_or(SelectError::NoThread)?;

    let mut taken = Taken::default();
    let lowest = busy(fastest).trailing_zeros() % u64::BITS;
    let coalescing = Memory::bits(memory.coalescing, elem_bytes);
    let coalesced = (lowest + coalescing).min(bits(fastest));
    taken.take(fastest, lowest, coalesced);
    let mut left = Memory::bits(memory.steering, elem_bytes);
    let others = (0..dims.len()).rev().filter(|&dim| dim != fastest);
    for dim in [fastest].into_iter().chain(others) {
        let from = if dim == fastest { coalesced } else { 0 };
        for bit in (from..bits(dim)).filter(|bit| busy(dim) >> bit & 1 == 1) {
            if left > 0 {
                taken.take(dim, bit, bit + 1);
                left -= 1;
            }
        }
    }
    Ok(taken.layout(dims)?)
}

/// Bits of indices that move inwards: dimension, first bit and end, innermost first.
#[derive(Default)]
struct Taken(Vec<(usize, u32, u32)>);

impl Taken {
    fn take(&mut self, dim: usize, from: u32, to: u32) {
        match self.0.last_mut() {
            Some(last) if (last.0, last.2) == (dim, from) => last.2 = to,
            _ if from < to => self.0.push((dim, from, to)),
            _ => {}
        }
    }

    fn layout(&self, dims: &[usize]) -> Result<Flattening, FlatteningError> {
        let mut layout = Flattening::row_major(dims)?;
        for dim in 0..dims.len() {
            let of = self.0.iter().filter(|run| run.0 == dim);
            let mut cuts: Vec<u32> = of.flat_map(|run| [run.1, run.2]).filter(|&b| b > 0).collect();
            cuts.sort_unstable_by(|a, b| b.cmp(a));
            cuts.dedup();
            for bit in cuts {
                let inner = |part: &LayoutAxis| (part.dim, part.over) == (dim, 1);
                let axis = layout.parts().iter().rposition(inner).expect("a part a dimension");
                layout = layout.strip_mined(axis, 1 << bit)?;
            }
        }
        let place = |dim: usize, bit: u32| {
            let starts = |part: &LayoutAxis| (part.dim, part.over) == (dim, 1 << bit);
            layout.parts().iter().rposition(starts)
        };
        let inward: Vec<usize> =
            self.0.iter().rev().filter_map(|&(dim, from, _)| place(dim, from)).collect();
        let outward = (0..layout.parts().len()).filter(|axis| !inward.contains(axis));
        let order: Vec<usize> = outward.chain(inward.iter().copied()).collect();
        layout.permuted(&order)
    }
}
