//! Rearrangement by patterns: axes are split, permuted and joined in place.

#[cfg(doc)]
use crate::ErrorKind;
use crate::error::check_length;
use crate::pattern::Rearrangement;
use crate::{Error, Transpose, permute_in_place, permute_into};

/// Splits, permutes and joins the axes of a row-major array in place, like einops' `rearrange`, and
/// returns the shape of the row-major result.
///
/// A pattern names the axes of `shape`, then, after an arrow `->`, the axes of the result:
/// - Parentheses split an axis on the left and join axes on the right.
/// - `1` and `()` are axes of extent 1.
/// - `...` stands for all unnamed axes.
///
/// If an axis is split, `sizes` gives the extents of all but one of its parts. After the split, the
/// rearrangement is a single permutation of axes, so it takes no more time and memory than
/// [`permute_in_place`].
///
/// ```
/// // Split each image into patches of 2 x 2 pixels, one vector per patch.
/// let mut images: Vec<u32> = (0..2 * 4 * 6).collect();
/// let shape = turntile::rearrange(
///     &mut images,
///     &[2, 4, 6],
///     "c (h p) (w q) -> (h w) (p q c)",
///     &[("p", 2), ("q", 2)],
/// )?;
/// assert_eq!(shape, [6, 8]);
/// assert_eq!(images[..8], [0, 24, 1, 25, 6, 30, 7, 31]);
/// # Ok::<(), turntile::Error>(())
/// ```
///
/// # Errors
/// [`ErrorKind::Pattern`] if the pattern is malformed, repeats or drops axes, or does not match
/// `shape` and `sizes`; also the errors of [`permute_in_place`].
///
/// # Aborts
/// Like [`permute_in_place`].
pub fn rearrange<T>(
    data: &mut [T],
    shape: &[usize],
    pattern: &str,
    sizes: &[(&str, usize)],
) -> Result<Vec<usize>, Error> {
    let all = Rearrangement::new(pattern, shape, sizes)?;
    check_length(data.len(), shape)?;
    permute_in_place(data, all.extents(), all.order())?;
    Ok(all.shape())
}

/// Splits, permutes and joins the axes of a row-major array from `src` into `dst`, like
/// [`rearrange`], and returns the shape of the result.
///
/// Like [`permute_into`], it makes no plan and requires `Copy` elements.
///
/// ```
/// let pixels = [1, 101, 201, 2, 102, 202, 3, 103, 203, 4, 104, 204];
/// let mut planes = [0; 12];
/// let shape = turntile::rearrange_into(&pixels, &mut planes, &[2, 6], "h (w c) -> c h w", &[("c", 3)])?;
/// assert_eq!(shape, [3, 2, 2]);
/// assert_eq!(planes, [1, 2, 3, 4, 101, 102, 103, 104, 201, 202, 203, 204]);
/// # Ok::<(), turntile::Error>(())
/// ```
///
/// # Errors
/// [`ErrorKind::Pattern`] as for [`rearrange`]; also the errors of [`permute_into`].
pub fn rearrange_into<T: Copy>(
    src: &[T],
    dst: &mut [T],
    shape: &[usize],
    pattern: &str,
    sizes: &[(&str, usize)],
) -> Result<Vec<usize>, Error> {
    let all = Rearrangement::new(pattern, shape, sizes)?;
    for got in [src.len(), dst.len()] {
        check_length(got, shape)?;
    }
    permute_into(src, dst, all.extents(), all.order())?;
    Ok(all.shape())
}

impl Transpose {
    /// Creates the rearrangement of one row-major array of elements of type `T` by a pattern, as in
    /// [`rearrange`]. [`Rearrangement::shape`](crate::layout::Rearrangement::shape) returns the
    /// shape of the result.
    ///
    /// ```
    /// // NCHW to blocks of 32 channels:
    /// let blocked = "b (c k) h w -> b c h w k";
    /// let planned = turntile::Transpose::rearrange::<f32>(&[8, 64, 7, 5], blocked, &[("k", 32)])?.plan()?;
    /// planned.run(&mut vec![0f32; 8 * 64 * 7 * 5])?;
    /// # Ok::<(), turntile::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Pattern`] if the pattern is malformed or does not match `shape` and `sizes`.
    pub fn rearrange<T>(
        shape: &[usize],
        pattern: &str,
        sizes: &[(&str, usize)],
    ) -> Result<Self, Error> {
        let all = Rearrangement::new(pattern, shape, sizes)?;
        Ok(Self::permute::<T>(all.extents(), all.order()))
    }
}
