//! What the lab's programs are checked on: what each does to elements, and images.

use anyhow::Result;
use turntile::gpu::CudaError;
use turntile_plan::{Problem, ProblemError};

use crate::applications::State;
use crate::program::Program;
use crate::watch::{Ready, Watch};

/// An application on a GPU, with what it begins with.
///
/// # Errors
/// The driver's errors.
pub fn load<'a>(
    watch: &'a mut Watch,
    program: &Program,
    state: &State,
) -> Result<Ready<'a>, CudaError> {
    let mut ready = watch.load(program)?;
    ready.put(0, bytemuck::cast_slice(&state.to))?;
    ready.put(1, bytemuck::cast_slice(&state.from))?;
    Ok(ready)
}

/// What a rung does to a matrix of 4-byte elements: a transposition, or nothing.
///
/// # Errors
/// [`ProblemError::TooLarge`].
pub fn moved(transposes: bool, rows: usize, cols: usize) -> Result<Problem, ProblemError> {
    let order = if transposes { [1, 0] } else { [0, 1] };
    Problem::permuted(&[rows, cols], &order, 4)?.out_of_place()
}

/// An image of values from 0 to 1.
pub fn image(rows: usize, cols: usize) -> Vec<f32> {
    (0..rows * cols).map(|k| ((k * 7919) % 1013) as f32 / 1013.0).collect()
}

/// The largest difference between what a filter's program makes of `image` and what it should; infinite where
/// something is no number.
///
/// # Errors
/// The driver's errors.
pub fn difference(ready: &mut Ready, image: &[f32], want: &[f32]) -> Result<f32> {
    let mut bytes: Vec<u8> = image.iter().flat_map(|value| value.to_ne_bytes()).collect();
    // What the case before left would look right.
    ready.put(1, &vec![0xff; bytes.len()])?;
    ready.put(0, &bytes)?;
    ready.time()?;
    ready.take(1, &mut bytes)?;
    let got = bytes.chunks_exact(4).map(|b| f32::from_ne_bytes([b[0], b[1], b[2], b[3]]));
    let apart = |(got, want): (f32, &f32)| {
        let difference = (got - want).abs();
        if difference.is_nan() { f32::INFINITY } else { difference }
    };
    Ok(got.zip(want).map(apart).fold(0.0, f32::max))
}
