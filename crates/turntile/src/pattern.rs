//! Patterns: axes split, permuted and joined in place.

use turntile_perm::Rearrangement;

use crate::error::check_length;
use crate::{Error, Transpose, permute_in_place};

/// Splits, permutes and joins the axes of a row-major array in place, as einops' `rearrange` has
/// it; returns the result's shape. The result is row-major too.
///
/// A pattern names the axes of `shape`, an arrow, and the axes of the result. Parentheses split an
/// axis on the left, and join axes on the right; `1` and `()` are axes of one element; `...` stands
/// for all axes that have no name. Of the parts of an axis that is split, `sizes` gives the extents
/// of all but one, which follows. All of it is one permutation of the axes there are after the
/// split, so it takes no more time and memory than [`permute_in_place`].
///
/// ```
/// // Images in patches of 2 x 2 pixels, each of them one vector.
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
/// [`Error::Pattern`] when the pattern cannot be read, repeats or reduces, or does not fit the
/// shape and the sizes; as [`permute_in_place`]. `data` are then as they were.
///
/// # Aborts
/// As [`permute_in_place`].
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

impl Transpose {
    /// Of one row-major array of elements of type `T`, whose axes are split, permuted and joined by
    /// a pattern: see [`rearrange`]. The shape of the result is
    /// [`Rearrangement::shape`](crate::layout::Rearrangement::shape).
    ///
    /// ```
    /// // NCHW to blocks of 32 channels.
    /// let blocked = "b (c k) h w -> b c h w k";
    /// let planned = turntile::Transpose::of_pattern::<f32>(&[8, 64, 7, 5], blocked, &[("k", 32)])?.plan()?;
    /// planned.run(&mut vec![0f32; 8 * 64 * 7 * 5])?;
    /// # Ok::<(), turntile::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Pattern`].
    pub fn of_pattern<T>(
        shape: &[usize],
        pattern: &str,
        sizes: &[(&str, usize)],
    ) -> Result<Self, Error> {
        Self::of_pattern_bytes(shape, pattern, sizes, size_of::<T>())
    }

    /// The same of elements of `elem_bytes` bytes.
    ///
    /// # Errors
    /// [`Error::Pattern`].
    pub fn of_pattern_bytes(
        shape: &[usize],
        pattern: &str,
        sizes: &[(&str, usize)],
        elem_bytes: usize,
    ) -> Result<Self, Error> {
        let all = Rearrangement::new(pattern, shape, sizes)?;
        Ok(Self::of_axes_bytes(all.extents(), all.order(), elem_bytes))
    }
}
