//! In-place permutation, splitting and joining of the axes of [ndarray]'s arrays (feature
//! `ndarray`, for ndarray 0.17).
//!
//! ndarray's own `permuted_axes` and `reversed_axes` only change the strides. Here the elements
//! move, so the result is in standard layout (row-major) in the same allocation.
//!
//! ```
//! use ndarray::{Array, array};
//!
//! let matrix = array![[1, 2, 3], [4, 5, 6]];
//! let transposed = turntile::ndarray::permute(matrix, [1, 0])?;
//! assert_eq!(transposed, array![[1, 4], [2, 5], [3, 6]]);
//! assert_eq!(transposed.as_slice(), Some(&[1, 4, 2, 5, 3, 6][..]));
//!
//! // NCHW to NHWC.
//! let images = Array::<u8, _>::zeros((8, 3, 50, 40));
//! assert_eq!(turntile::ndarray::permute(images, [0, 2, 3, 1])?.shape(), [8, 50, 40, 3]);
//! # Ok::<(), turntile::Error>(())
//! ```
//!
//! Elements move as in [`permute_in_place`]. The notes on [aborts](crate#aborts) and
//! [locks](crate#locks) apply.
//!
//! Functions take arrays by value because the shape changes. Passing a view does not compile,
//! because the owner of its elements would have the old shape. Use `to_owned()` to copy a view into
//! an array.
//!
//! ```compile_fail,E0308
//! let matrix = ndarray::array![[1, 2, 3], [4, 5, 6]];
//! turntile::ndarray::permute(matrix.view(), [1, 0]);
//! ```

use std::fmt;

use ::ndarray::{Array, ArrayD, Dimension, IntoDimension};
use turntile_perm::AxisPermutation;
use turntile_plan::ProblemError;

#[cfg(doc)]
use crate::ErrorKind;
use crate::error::Reason;
use crate::pattern::Rearrangement;
use crate::{Error, permute_in_place};

/// Error of a failed permutation, with the unchanged array.
pub struct RejectedArray<T, D: Dimension> {
    /// Reason of the failed permutation.
    pub error: Error,
    /// Unchanged array.
    pub array: Array<T, D>,
}

impl<T, D: Dimension> fmt::Debug for RejectedArray<T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RejectedArray")
            .field("error", &self.error)
            .field("shape", &self.array.shape())
            .finish_non_exhaustive()
    }
}

impl<T, D: Dimension> fmt::Display for RejectedArray<T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl<T, D: Dimension> std::error::Error for RejectedArray<T, D> {}

impl<T, D: Dimension> From<RejectedArray<T, D>> for Error {
    fn from(rejected: RejectedArray<T, D>) -> Self {
        rejected.error
    }
}

/// Permutes the axes of an array in place, with a result in standard layout.
///
/// Axis `i` of the result is axis `axes[i]` of the array, as in ndarray's `permuted_axes`. The
/// array may have any layout without gaps, including Fortran order, and elements of any type. The
/// workspace is that of [`permute_in_place`].
///
/// # Errors
/// [`RejectedArray`] with the unchanged array: [`ErrorKind::Shape`] if `axes` is not a permutation
/// of its axes, or an error of [`standard_layout`].
pub fn permute<T, D: Dimension>(
    array: Array<T, D>,
    axes: impl IntoDimension<Dim = D>,
) -> Result<Array<T, D>, RejectedArray<T, D>> {
    let axes = axes.into_dimension();
    // Check the axes first, because ndarray panics if they are not a permutation.
    match AxisPermutation::check_order(array.ndim(), axes.slice()) {
        Ok(()) => standard_layout(array.permuted_axes(axes)),
        Err(error) => Err(RejectedArray { error: ProblemError::from(error).into(), array }),
    }
}

/// Converts an array to standard layout in place, for example after `permuted_axes` or
/// `reversed_axes`, or from Fortran order.
///
/// ```
/// use ndarray::{Array2, ShapeBuilder};
///
/// let fortran = Array2::from_shape_vec((2, 3).f(), vec![1, 4, 2, 5, 3, 6]).unwrap();
/// let rows = turntile::ndarray::standard_layout(fortran)?;
/// assert_eq!(rows.as_slice(), Some(&[1, 2, 3, 4, 5, 6][..]));
/// # Ok::<(), turntile::Error>(())
/// ```
///
/// # Errors
/// [`RejectedArray`] with the unchanged array and one of these errors:
/// - [`ErrorKind::NotContiguous`]: the elements are not contiguous, for example after slicing, or
///   an axis is inverted.
/// - [`ErrorKind::Shape`]: the array has more than 64 axes.
/// - [`ErrorKind::OutOfMemory`]: the workspace cannot be allocated.
pub fn standard_layout<T, D: Dimension>(
    array: Array<T, D>,
) -> Result<Array<T, D>, RejectedArray<T, D>> {
    let (dim, axes) = (array.raw_dim(), Vec::from_iter(0..array.ndim()));
    let identity = Rearrangement::of_axes(array.shape(), &axes);
    let array = rearrange_elements(array, &identity)?;
    Ok(array.into_shape_with_order(dim).expect("the number of elements is unchanged"))
}

/// Splits, permutes and joins the axes of an array in place by a pattern of
/// [`rearrange`](crate::rearrange()). The array may have any layout without gaps; the result is in
/// standard layout.
///
/// ```
/// use ndarray::Array;
///
/// // Split each image into patches of 16 x 16 pixels, one vector per patch.
/// let images = Array::<u8, _>::zeros((8, 3, 64, 48));
/// let patches = "b c (h p) (w q) -> b (h w) (p q c)";
/// let vectors = turntile::ndarray::rearrange(images, patches, &[("p", 16), ("q", 16)])?;
/// assert_eq!(vectors.shape(), [8, 12, 768]);
/// # Ok::<(), turntile::Error>(())
/// ```
///
/// # Errors
/// [`RejectedArray`] with the unchanged array, with [`ErrorKind::Pattern`] or an error of
/// [`standard_layout`].
pub fn rearrange<T, D: Dimension>(
    array: Array<T, D>,
    pattern: &str,
    sizes: &[(&str, usize)],
) -> Result<ArrayD<T>, RejectedArray<T, D>> {
    match Rearrangement::new(pattern, array.shape(), sizes) {
        Ok(all) => rearrange_elements(array, &all),
        Err(error) => Err(RejectedArray { error: error.into(), array }),
    }
}

fn rearrange_elements<T, D: Dimension>(
    mut array: Array<T, D>,
    all: &Rearrangement,
) -> Result<ArrayD<T>, RejectedArray<T, D>> {
    let (dim, strides) = (array.raw_dim(), array.strides().to_vec());
    let forward = (0..dim.ndim()).all(|axis| dim[axis] == 1 || strides[axis] > 0);
    // Axes in memory order, largest stride first; axes of extent 1 may have any stride.
    let mut memory_order = Vec::from_iter(0..dim.ndim());
    memory_order.sort_by_key(|&axis| std::cmp::Reverse(strides[axis]));
    let shape = all.shape();
    let in_memory = all.in_memory(&memory_order, &Vec::from_iter(0..shape.len()));
    let trivial = array.len() <= 1;
    let moved = match array.as_slice_memory_order_mut() {
        _ if trivial => Ok(()),
        Some(elements) if forward => {
            permute_in_place(elements, in_memory.extents(), in_memory.order())
        }
        _ => Err(Reason::Gaps.into()),
    };
    if let Err(error) = moved {
        return Err(RejectedArray { error, array });
    }
    // The vector may have elements before and after those of the array, if the array was sliced.
    let len = array.len();
    let (mut elements, start) = array.into_raw_vec_and_offset();
    elements.drain(..start.unwrap_or(0));
    elements.truncate(len);
    Ok(Array::from_shape_vec(shape, elements).expect("the number of elements is unchanged"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::ndarray::{Array2, Array3, Array4, Axis, Ix4, IxDyn, ShapeBuilder, arr0, s};
    use turntile_cpu::RunError;

    use crate::ErrorKind;

    /// Checks that non-`Copy` elements are permuted in every layout without gaps. The result equals
    /// ndarray's, in the same allocation.
    #[test]
    fn permute_keeps_memory_when_layout_is_contiguous() {
        let orders: Vec<[usize; 4]> = (0..256)
            .map(|k| [k >> 6, k >> 4 & 3, k >> 2 & 3, k & 3])
            .filter(|axes| AxisPermutation::check_order(4, axes).is_ok())
            .collect();
        assert_eq!(orders.len(), 24);
        for shape in [[2, 3, 4, 5], [7, 1, 6, 1], [1, 1, 1, 1], [40, 3, 30, 5], [3, 0, 2, 4]] {
            let count: usize = shape.iter().product();
            for (axes, fortran) in orders.iter().flat_map(|&axes| [(axes, false), (axes, true)]) {
                let elements: Vec<Box<usize>> = (0..count).map(Box::new).collect();
                let memory = elements.as_ptr();
                let array = Array4::from_shape_vec(shape.set_f(fortran), elements).unwrap();
                let want = array.clone().permuted_axes(axes);
                let got = permute(array, axes).unwrap();
                assert!(got.is_standard_layout() && got == want, "{shape:?} {axes:?} {fortran}");
                assert!(count == 0 || got.as_ptr() == memory, "the allocation changed");
            }
        }
        let any = permute(Array3::<u8>::zeros((2, 3, 4)).into_dyn(), IxDyn(&[2, 0, 1])).unwrap();
        assert_eq!(any.shape(), [4, 2, 3]);
        assert_eq!(standard_layout(arr0(7)).unwrap(), arr0(7));
    }

    #[test]
    fn rearrange_keeps_memory_when_layout_is_contiguous() {
        let pattern = "a (b c) d -> (d b) 1 (c a)";
        for shape in [[2, 6, 5], [40, 30, 7], [1, 3, 1], [2, 0, 3]] {
            let count: usize = shape.iter().product();
            for memory_order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
                // Axis `k` in memory is axis `memory_order[k]` of the array.
                let in_memory =
                    Array3::from_shape_vec(memory_order.map(|k| shape[k]), (0..count).collect());
                let inverse =
                    [0, 1, 2].map(|axis| memory_order.iter().position(|&k| k == axis).unwrap());
                let array = in_memory.unwrap().permuted_axes(inverse);
                let memory = array.as_ptr();
                let want =
                    Array3::from_shape_fn((shape[2] * shape[1] / 3, 1, 3 * shape[0]), |at| {
                        let (d, b) = (at.0 / (shape[1] / 3), at.0 % (shape[1] / 3));
                        let (c, a) = (at.2 / shape[0], at.2 % shape[0]);
                        array[[a, b * 3 + c, d]]
                    });
                let got = rearrange(array, pattern, &[("c", 3)]).unwrap();
                assert!(
                    got.is_standard_layout() && got == want.into_dyn(),
                    "{shape:?} {memory_order:?}"
                );
                assert!(count == 0 || got.as_ptr() == memory, "the allocation changed");
            }
        }
        let rejected = rearrange(Array2::<u8>::zeros((2, 3)), "a b -> a", &[]).unwrap_err();
        assert_eq!(rejected.error.kind(), ErrorKind::Pattern);
        assert_eq!(rejected.array.shape(), [2, 3]);
    }

    #[test]
    fn sliced_rows_are_permuted() {
        let full = Array2::from_shape_fn((9, 5), |(i, j)| (i, j).to_owned());
        for rows in [0..9, 2..7, 0..1, 4..4] {
            let part = full.clone().slice_move(s![rows, ..]);
            let want = part.clone().reversed_axes();
            assert_eq!(permute(part, [1, 0]).unwrap(), want);
        }
    }

    #[test]
    fn failed_permutation_returns_unchanged_array() {
        let full = Array2::from_shape_fn((9, 5), |(i, j)| 10 * i + j);
        let mut inverted = full.clone();
        inverted.invert_axis(Axis(0));
        for array in [full.clone().slice_move(s![.., 1..4]), inverted] {
            let rejected = permute(array.clone(), [1, 0]).unwrap_err();
            assert!(rejected.to_string().contains("as_standard_layout"), "{rejected}");
            assert_eq!(rejected.array.reversed_axes(), array);
        }
        let dynamic = full.clone().into_dyn();
        for axes in [&[0, 0][..], &[0, 2], &[0], &[0, 1, 2]] {
            let rejected = permute(dynamic.clone(), axes).unwrap_err();
            let order = format!("{axes:?} is not a permutation of 0..2");
            assert_eq!((rejected.to_string(), &rejected.array), (order, &dynamic));
        }
        let _: fn(RejectedArray<u8, Ix4>) -> Error = Error::from;
        assert_ne!(Error::from(Reason::Gaps), RunError::OutOfMemory { bytes: 1 }.into());
    }
}
