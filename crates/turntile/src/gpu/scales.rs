//! The pass that scales the result of a plan on a GPU.

use turntile_cuda::{CudaError, Gpu, Number, Scaling, Work};
use turntile_plan::Problem;

use crate::planned::scaled_rows;

/// Loads what scales a matrix with leading dimensions: which numbers these are is only known when they are scaled, perhaps
/// within a capture, where nothing can be loaded.
pub(super) fn load_scales(gpu: &Gpu, problem: &Problem) -> Result<(), CudaError> {
    let numbers = Number::ALL.into_iter().filter(|number| number.bytes() == problem.elem_bytes());
    for number in numbers.filter(|_| problem.leading().is_some()) {
        gpu.prepare_work(scaling(gpu, problem, number, Scaling::Zeros)?)?;
    }
    Ok(())
}

/// The pass over the result.
pub(super) fn scaling(
    gpu: &Gpu,
    problem: &Problem,
    number: Number,
    scaling: Scaling,
) -> Result<Work, CudaError> {
    let (rows, limits) = (scaled_rows(problem), gpu.chip().limits());
    Work::of_scale(number, rows, scaling, problem.alignment(), limits)
}
