//! Flips and quarter turns: axes of the result are reversed.

#[cfg(doc)]
use crate::ErrorKind;
use crate::error::check_length;
use crate::mode::Mode;
use crate::{Error, Transpose, plan_cache};

/// Reverses axes of a row-major array in place, like NumPy's `flip(a, axes)`.
///
/// Elements may have any type. Large arrays are read and written once, without workspace.
///
/// ```
/// let mut matrix = [1, 2, 3,
///                   4, 5, 6];
/// turntile::flip_in_place(&mut matrix, &[2, 3], &[1])?;
/// assert_eq!(matrix, [3, 2, 1,
///                     6, 5, 4]);
/// # Ok::<(), turntile::Error>(())
/// ```
///
/// # Errors
/// [`ErrorKind::Shape`] if an axis is repeated or does not exist, or if more than 28 axes remain
/// after fusion; also the errors of [`permute_in_place`](crate::permute_in_place).
///
/// # Aborts
/// Like [`permute_in_place`](crate::permute_in_place).
pub fn flip_in_place<T>(data: &mut [T], shape: &[usize], axes: &[usize]) -> Result<(), Error> {
    run(data, &Transpose::permute::<T>(shape, &unpermuted(shape)).flip(axes))
}

/// Rotates a row-major array in place by `k` quarter turns, like NumPy's `rot90(a, k, axes)`: from
/// the first of the two axes towards the second. `k` may be negative.
///
/// ```
/// let mut matrix = [1, 2, 3,
///                   4, 5, 6];
/// turntile::rot90_in_place(&mut matrix, &[2, 3], 1, [0, 1])?;
/// assert_eq!(matrix, [3, 6,
///                     2, 5,
///                     1, 4]);
/// # Ok::<(), turntile::Error>(())
/// ```
///
/// # Errors
/// [`ErrorKind::Shape`] if the axes are equal or do not exist; also the errors of
/// [`permute_in_place`](crate::permute_in_place).
///
/// # Aborts
/// Like [`permute_in_place`](crate::permute_in_place).
pub fn rot90_in_place<T>(
    data: &mut [T],
    shape: &[usize],
    k: i64,
    axes: [usize; 2],
) -> Result<(), Error> {
    run(data, &Transpose::rot90::<T>(shape, k, axes))
}

fn run<T>(data: &mut [T], transpose: &Transpose) -> Result<(), Error> {
    let problem = transpose.clone().itemsize(size_of::<T>().max(1)).problem();
    // If the size overflows, `check_length` reports the error.
    if let Ok(problem) = &problem {
        check_length(data.len(), problem.extents())?;
    }
    if size_of::<T>() == 0 {
        return problem.map(drop);
    }
    plan_cache::run(data, problem?)
}

fn unpermuted(shape: &[usize]) -> Vec<usize> {
    (0..shape.len()).collect()
}

impl Transpose {
    /// Creates the rotation of one row-major array of elements of type `T` by `k` quarter turns, as
    /// [`rot90_in_place`] does.
    ///
    /// ```
    /// let planned = turntile::Transpose::rot90::<u8>(&[480, 640, 3], -1, [0, 1]).plan()?;
    /// planned.run(&mut vec![0u8; 480 * 640 * 3])?;
    /// # Ok::<(), turntile::Error>(())
    /// ```
    pub fn rot90<T>(shape: &[usize], k: i64, axes: [usize; 2]) -> Self {
        let mut order = unpermuted(shape);
        let [from, to] = axes;
        let is_valid = from != to && from.max(to) < shape.len();
        let k = k.rem_euclid(4);
        if k % 2 == 1 && is_valid {
            order.swap(from, to);
        }
        let flips = match k {
            0 if is_valid => Vec::new(),
            1 if is_valid => vec![from],
            3 if is_valid => vec![to],
            // Axes that are equal or do not exist are reported when the problem is made.
            _ => axes.to_vec(),
        };
        Self::permute::<T>(shape, &order).flip(&flips)
    }
}

impl<M: Mode> Transpose<M> {
    /// Reverses axes of the result, after the permutation, like NumPy's `flip(result, axes)`.
    ///
    /// The reversal is part of a stage if one moves runs along the axes, else it takes one more
    /// pass. [`plan`](Self::plan) returns an error if it is combined with leading dimensions,
    /// out-of-place operation or a record conversion.
    ///
    /// ```
    /// // Planes of a mirrored image: height, width, channels to channels, height, width reversed.
    /// let mirrored = turntile::Transpose::permute::<u8>(&[480, 640, 3], &[2, 0, 1]).flip(&[2]);
    /// mirrored.plan()?.run(&mut vec![0u8; 480 * 640 * 3])?;
    /// # Ok::<(), turntile::Error>(())
    /// ```
    pub fn flip(mut self, axes: &[usize]) -> Self {
        self.request.flip = axes.to_vec();
        self
    }
}
