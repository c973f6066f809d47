//! The axes of [ndarray]'s arrays permuted, split and joined in the memory that each has (feature `ndarray`, of ndarray 0.17).
//!
//! ndarray's own `permuted_axes` and `reversed_axes` change how the memory is read and move nothing. Here the elements
//! move, so that the result is in standard layout (row-major) in the same allocation.
//!
//! ```
//! use ndarray::{Array, array};
//!
//! let matrix = array![[1, 2, 3], [4, 5, 6]];
//! let turned = turntile::ndarray::permute(matrix, [1, 0])?;
//! assert_eq!(turned, array![[1, 4], [2, 5], [3, 6]]);
//! assert_eq!(turned.as_slice(), Some(&[1, 4, 2, 5, 3, 6][..]));
//!
//! // NCHW to NHWC.
//! let images = Array::<u8, _>::zeros((8, 3, 50, 40));
//! assert_eq!(turntile::ndarray::permute(images, [0, 2, 3, 1])?.shape(), [8, 50, 40, 3]);
//! # Ok::<(), turntile::Error>(())
//! ```
//!
//! Elements move as by [`permute_in_place`], which says when a call [aborts](crate#aborts) and which [locks](crate#locks) may
//! be held.
//!
//! An array comes in by value, since its shape changes. A view does not compile: whoever owns what it views would keep the
//! old shape. `to_owned()` makes an array of it.
//!
//! ```compile_fail,E0308
//! let matrix = ndarray::array![[1, 2, 3], [4, 5, 6]];
//! turntile::ndarray::permute(matrix.view(), [1, 0]);
//! ```

use std::fmt;

use ::ndarray::{Array, ArrayD, Dimension, IntoDimension};
use turntile_perm::{AxisPermutation, Rearrangement};
use turntile_plan::ProblemError;

use crate::{Error, permute_in_place};

/// An array whose axes were not permuted, as it was, and why.
pub struct RejectedArray<T, D: Dimension> {
    /// Why.
    pub error: Error,
    /// The array.
    pub array: Array<T, D>,
}

impl<T, D: Dimension> fmt::Debug for RejectedArray<T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Refused")
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
    fn from(refused: RejectedArray<T, D>) -> Self {
        refused.error
    }
}

/// Permutes the axes of an array in place: axis `i` of the result is axis `axes[i]` of the array, as of ndarray's
/// `permuted_axes`, and the result is in standard layout. The array may be in any layout without gaps, Fortran's too.
///
/// Elements of any type. The workspace is that of [`permute_in_place`].
///
/// # Errors
/// [`RejectedArray`] with the array: `axes` do not name each of its axes once; as of [`standard_layout`].
pub fn permute<T, D: Dimension>(
    array: Array<T, D>,
    axes: impl IntoDimension<Dim = D>,
) -> Result<Array<T, D>, RejectedArray<T, D>> {
    let axes = axes.into_dimension();
    // ndarray panics on others.
    match AxisPermutation::check_order(array.ndim(), axes.slice()) {
        Ok(()) => standard_layout(array.permuted_axes(axes)),
        Err(error) => Err(RejectedArray { error: ProblemError::from(error).into(), array }),
    }
}

/// Brings the elements of an array into standard layout, in place: after `permuted_axes` or `reversed_axes`, or from
/// Fortran's order.
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
/// [`RejectedArray`] with the array: [`Error::Gaps`] when its elements do not fill its memory, as those of an array that was
/// sliced or has an axis inverted; [`Error::Problem`] of more than 64 axes; [`Error::Run`] when there is no memory for the
/// workspace.
pub fn standard_layout<T, D: Dimension>(
    array: Array<T, D>,
) -> Result<Array<T, D>, RejectedArray<T, D>> {
    let (dim, axes) = (array.raw_dim(), Vec::from_iter(0..array.ndim()));
    let as_it_is = Rearrangement::of_axes(array.shape(), &axes);
    let array = moved(array, &as_it_is)?;
    Ok(array.into_shape_with_order(dim).expect("as many elements as before"))
}

/// Splits, permutes and joins the axes of an array in place by a pattern, as [`rearrange`](crate::rearrange) says. The
/// array may be in any layout without gaps, the result is in standard layout.
///
/// ```
/// use ndarray::Array;
///
/// // Each image in patches of 16 x 16 pixels, each patch one vector.
/// let images = Array::<u8, _>::zeros((8, 3, 64, 48));
/// let patches = "b c (h p) (w q) -> b (h w) (p q c)";
/// let vectors = turntile::ndarray::rearrange(images, patches, &[("p", 16), ("q", 16)])?;
/// assert_eq!(vectors.shape(), [8, 12, 768]);
/// # Ok::<(), turntile::Error>(())
/// ```
///
/// # Errors
/// [`RejectedArray`] with the array: [`Error::Pattern`]; as of [`standard_layout`].
pub fn rearrange<T, D: Dimension>(
    array: Array<T, D>,
    pattern: &str,
    sizes: &[(&str, usize)],
) -> Result<ArrayD<T>, RejectedArray<T, D>> {
    match Rearrangement::new(pattern, array.shape(), sizes) {
        Ok(all) => moved(array, &all),
        Err(error) => Err(RejectedArray { error: error.into(), array }),
    }
}

fn moved<T, D: Dimension>(
    mut array: Array<T, D>,
    all: &Rearrangement,
) -> Result<ArrayD<T>, RejectedArray<T, D>> {
    let (dim, strides) = (array.raw_dim(), array.strides().to_vec());
    let forward = (0..dim.ndim()).all(|axis| dim[axis] == 1 || strides[axis] > 0);
    // The axes as they lie in memory, slowest first; those of extent 1 may have any stride.
    let mut lie = Vec::from_iter(0..dim.ndim());
    lie.sort_by_key(|&axis| std::cmp::Reverse(strides[axis]));
    let shape = all.shape();
    let lying = all.in_memory(&lie, &Vec::from_iter(0..shape.len()));
    let still = array.len() <= 1;
    let moved = match array.as_slice_memory_order_mut() {
        _ if still => Ok(()),
        Some(elements) if forward => permute_in_place(elements, lying.extents(), lying.order()),
        _ => Err(Error::Gaps),
    };
    if let Err(error) = moved {
        return Err(RejectedArray { error, array });
    }
    // What a slice has cut off may still lie around the elements.
    let len = array.len();
    let (mut elements, start) = array.into_raw_vec_and_offset();
    elements.drain(..start.unwrap_or(0));
    elements.truncate(len);
    Ok(Array::from_shape_vec(shape, elements).expect("as many elements as before"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::ndarray::{Array2, Array3, Array4, Axis, Ix4, IxDyn, ShapeBuilder, arr0, s};
    use turntile_cpu::RunError;

    /// Elements that can be moved alone, in any layout that has no gaps: as ndarray reads them, in the same memory.
    #[test]
    fn arrays_of_every_layout_come_into_standard_layout_where_they_lie() {
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
                assert!(count == 0 || got.as_ptr() == memory, "moved into other memory");
            }
        }
        let any = permute(Array3::<u8>::zeros((2, 3, 4)).into_dyn(), IxDyn(&[2, 0, 1])).unwrap();
        assert_eq!(any.shape(), [4, 2, 3]);
        assert_eq!(standard_layout(arr0(7)).unwrap(), arr0(7));
    }

    #[test]
    fn patterns_split_and_join_arrays_of_every_layout() {
        let pattern = "a (b c) d -> (d b) 1 (c a)";
        for shape in [[2, 6, 5], [40, 30, 7], [1, 3, 1], [2, 0, 3]] {
            let count: usize = shape.iter().product();
            for lie in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
                // Memory's axis k is the array's axis lie[k].
                let lying = Array3::from_shape_vec(lie.map(|k| shape[k]), (0..count).collect());
                let back = [0, 1, 2].map(|axis| lie.iter().position(|&k| k == axis).unwrap());
                let array = lying.unwrap().permuted_axes(back);
                let memory = array.as_ptr();
                let want =
                    Array3::from_shape_fn((shape[2] * shape[1] / 3, 1, 3 * shape[0]), |at| {
                        let (d, b) = (at.0 / (shape[1] / 3), at.0 % (shape[1] / 3));
                        let (c, a) = (at.2 / shape[0], at.2 % shape[0]);
                        array[[a, b * 3 + c, d]]
                    });
                let got = rearrange(array, pattern, &[("c", 3)]).unwrap();
                assert!(got.is_standard_layout() && got == want.into_dyn(), "{shape:?} {lie:?}");
                assert!(count == 0 || got.as_ptr() == memory, "moved into other memory");
            }
        }
        let refused = rearrange(Array2::<u8>::zeros((2, 3)), "a b -> a", &[]).unwrap_err();
        assert!(matches!(refused.error, Error::Pattern(_)) && refused.array.shape() == [2, 3]);
    }

    #[test]
    fn rows_cut_out_are_the_array() {
        let whole = Array2::from_shape_fn((9, 5), |(i, j)| (i, j).to_owned());
        for rows in [0..9, 2..7, 0..1, 4..4] {
            let part = whole.clone().slice_move(s![rows, ..]);
            let want = part.clone().reversed_axes();
            assert_eq!(permute(part, [1, 0]).unwrap(), want);
        }
    }

    #[test]
    fn what_is_refused_comes_back() {
        let whole = Array2::from_shape_fn((9, 5), |(i, j)| 10 * i + j);
        let mut inverted = whole.clone();
        inverted.invert_axis(Axis(0));
        for array in [whole.clone().slice_move(s![.., 1..4]), inverted] {
            let refused = permute(array.clone(), [1, 0]).unwrap_err();
            assert!(refused.to_string().contains("as_standard_layout"), "{refused}");
            assert_eq!(refused.array.reversed_axes(), array);
        }
        let dynamic = whole.clone().into_dyn();
        for axes in [&[0, 0][..], &[0, 2], &[0], &[0, 1, 2]] {
            let refused = permute(dynamic.clone(), axes).unwrap_err();
            let order = format!("{axes:?} is no order of 2 axes");
            assert_eq!((refused.to_string(), &refused.array), (order, &dynamic));
        }
        let _: fn(RejectedArray<u8, Ix4>) -> Error = Error::from;
        assert_ne!(Error::Gaps, RunError::OutOfMemory { bytes: 1 }.into());
    }
}
