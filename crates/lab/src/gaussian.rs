//! A recursive Gaussian filter of an image, with a transposition between its passes.
//!
//! The filter is separable, and recursive: a causal pass along a line and an anticausal one are added, each
//! an infinite impulse response of second order (Deriche, "Recursively implementing the Gaussian and its
//! derivatives", 1992). Lines along columns are read and written in whole lines of memory by neighbouring
//! threads; lines along rows are not, so the image is transposed, filtered by columns again, and
//! transposed back. The image is `rows` x `cols` floats, row-major; beyond its edges it goes on as at them.
//!
//! ```no_run
//! use turntile::gpu::Gpu;
//! use turntile_lab::gaussian::{Between, program};
//! use turntile_lab::ladder::Rung;
//! use turntile_lab::watch::Watch;
//!
//! let gpu = Gpu::primary(0)?;
//! let padded = Between::Ladder(Rung::named("padded").expect("is one"), 32, 8);
//! let mut watch = Watch::new(&gpu, 4 * 4 * 2048 * 2048 + (32 << 20))?;
//! for between in [padded, Between::Default, Between::InPlace, Between::Nothing] {
//!     let program = program(2048, 2048, 10.0, between, gpu.device())?;
//!     println!("{between:?}: {:?}", watch.load(&program)?.time()?);
//! }
//! # Ok::<(), turntile_lab::error::KernelError>(())
//! ```

use turntile_cuda::args::Address;
use turntile_cuda::{CudaError, GpuDevice, LowerError, Work};
use turntile_plan::{Planner, Problem};

use crate::code::Code;
use crate::error::KernelError;
use crate::ladder::{self, Rung};
use crate::params::{GaussianArgs, Params};
use crate::program::{Launch, Program, Step};

/// What transposes between the passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Between {
    /// Nothing: what would be transposed is filtered as it lies, for the time without the transpositions'
    /// share.
    Nothing,
    /// A rung of the ladder, with its tile and block rows.
    Ladder(&'static Rung, usize, usize),
    /// turntile's default from one place to another.
    Default,
    /// turntile's in-place transposition.
    InPlace,
}

/// The filter's coefficients.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coefficients {
    /// Of this input and the one before it, and of the next and the one after that.
    pub a: [f32; 4],
    /// Of the output before, and the one before that, both subtracted.
    pub b: [f32; 2],
    /// What the causal and the anticausal pass have settled at beyond an edge, per unit of it.
    pub settled: [f32; 2],
}

impl Coefficients {
    /// Of a smoothing filter of standard deviation `sigma`, at least 0.1, in elements.
    pub fn of(sigma: f32) -> Self {
        let alpha = 1.695 / f64::from(sigma.max(0.1));
        let e = (-alpha).exp();
        let scale = (1.0 - e).powi(2) / (1.0 + 2.0 * alpha * e - e * e);
        let a = [scale, scale * (alpha - 1.0) * e, scale * (alpha + 1.0) * e, -scale * e * e];
        let b = [-2.0 * e, e * e];
        let whole = 1.0 + b[0] + b[1];
        let settled = [(a[0] + a[1]) / whole, (a[2] + a[3]) / whole];
        Coefficients {
            a: a.map(|x| x as f32),
            b: b.map(|x| x as f32),
            settled: settled.map(|x| x as f32),
        }
    }

    /// Filters one line.
    fn line(&self, line: &[f32]) -> Vec<f32> {
        let Coefficients { a, b, settled } = *self;
        let (Some(&first), Some(&last)) = (line.first(), line.last()) else { return Vec::new() };
        let mut out = Vec::with_capacity(line.len());
        let (mut x1, mut y1) = (first, settled[0] * first);
        let mut y2 = y1;
        for &x in line {
            let y = a[0] * x + a[1] * x1 - b[0] * y1 - b[1] * y2;
            (x1, y2, y1) = (x, y1, y);
            out.push(y);
        }
        let (mut x1, mut x2, mut y1) = (last, last, settled[1] * last);
        let mut y2 = y1;
        for (&x, out) in line.iter().zip(&mut out).rev() {
            let y = a[2] * x1 + a[3] * x2 - b[0] * y1 - b[1] * y2;
            (x2, x1, y2, y1) = (x1, x, y1, y);
            *out += y;
        }
        out
    }
}

/// The filter on the host, line by line: what the device's is compared with.
///
/// # Panics
/// When `image` does not have `rows · cols` elements.
pub fn on_host(image: &[f32], rows: usize, cols: usize, sigma: f32) -> Vec<f32> {
    assert_eq!(image.len(), rows * cols);
    let filter = Coefficients::of(sigma);
    let mut out = image.to_vec();
    for j in 0..cols {
        let column: Vec<f32> = (0..rows).map(|i| out[i * cols + j]).collect();
        for (i, value) in filter.line(&column).into_iter().enumerate() {
            out[i * cols + j] = value;
        }
    }
    for row in out.chunks_mut(cols.max(1)) {
        row.copy_from_slice(&filter.line(row));
    }
    out
}

/// Numbers of the buffers.
const IMAGE: usize = 0;
const FILTERED: usize = 1;
const BETWEEN: usize = 2;
const WORKSPACE: usize = 3;

/// The filter of a `rows` x `cols` image with standard deviation `sigma`, its transpositions planned for `chip`: buffers
/// `[image, filtered, scratch, workspace]`, the first three of `4 · rows · cols` bytes, the last as large as the
/// in-place transposition needs it (0 bytes for the others). The image stays as it is.
///
/// # Errors
/// [`KernelError`]: a transposition that there is no kernel for, or a side of 2^31 and more.
pub fn program(
    rows: usize,
    cols: usize,
    sigma: f32,
    between: Between,
    chip: &GpuDevice,
) -> Result<Program, KernelError> {
    let filter = Coefficients::of(sigma);
    let bytes = 4 * rows * cols;
    let start = Program::new(&[bytes, bytes, bytes, 0]);
    if bytes == 0 {
        return Ok(start);
    }
    let pass = |rows, cols, to, from| -> Result<Step, KernelError> {
        Ok(Step::Kernel(columns(rows, cols, filter)?, [to, from]))
    };
    let in_place = |rows, cols, data| -> Result<Step, KernelError> {
        Ok(Step::Work(in_place(rows, cols, chip)?.into(), [data, WORKSPACE]))
    };
    let transposed = |rows, cols, to, from| transposition(between, rows, cols, [to, from], chip);
    let start = start.then(pass(rows, cols, BETWEEN, IMAGE)?);
    Ok(match between {
        Between::Nothing => start.then(pass(cols, rows, FILTERED, BETWEEN)?),
        Between::InPlace => start
            .then(in_place(rows, cols, BETWEEN)?)
            .then(pass(cols, rows, FILTERED, BETWEEN)?)
            .then(in_place(cols, rows, FILTERED)?),
        _ => start
            .then(transposed(rows, cols, FILTERED, BETWEEN)?)
            .then(pass(cols, rows, BETWEEN, FILTERED)?)
            .then(transposed(cols, rows, FILTERED, BETWEEN)?),
    })
}

/// A pass down all columns.
fn columns(rows: usize, cols: usize, filter: Coefficients) -> Result<Launch, CudaError> {
    const THREADS: usize = 32;
    if rows.max(cols) > i32::MAX as usize {
        let stage = format!("filter, {rows}x{cols}");
        return Err(CudaError::Infeasible { stage, why: LowerError::NoKernel });
    }
    let Coefficients { a: [a0, a1, a2, a3], b: [b1, b2], settled: [before, after] } = filter;
    let (to, from) = (Address::default(), Address::default());
    Ok(Launch {
        code: Code::Gaussian,
        entry: "gaussian_columns",
        groups: cols.div_ceil(THREADS) as u32,
        threads: THREADS as u32,
        shared_bytes: 0,
        params: Params::Gaussian(GaussianArgs {
            to,
            from,
            rows: rows as u32,
            cols: cols as u32,
            a0,
            a1,
            a2,
            a3,
            b1,
            b2,
            before,
            after,
        }),
    })
}

fn transposition(
    between: Between,
    rows: usize,
    cols: usize,
    buffers: [usize; 2],
    chip: &GpuDevice,
) -> Result<Step, KernelError> {
    if let Between::Ladder(rung, tile, block_rows) = between {
        return Ok(Step::Kernel(ladder::launch(rung, tile, block_rows, rows, cols)?, buffers));
    }
    let planner = Planner::new(chip.clone());
    let image = problem(rows, cols).out_of_place().expect("axes");
    let plan = planner.plan(&image);
    let plan = plan.expect("every image has a way");
    Ok(Step::Work(Work::of_plan(&plan)?.into(), buffers))
}

fn problem(rows: usize, cols: usize) -> Problem {
    Problem::new(rows, cols, 4).expect("an image of the address space")
}

/// The best plan.
fn in_place(rows: usize, cols: usize, chip: &GpuDevice) -> Result<Work, CudaError> {
    let planner = Planner::new(chip.clone());
    let plan = planner.plan(&problem(rows, cols)).expect("every image has a plan");
    Work::of_plan(&plan)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coefficients_are_told_in_order() {
        let filter = Coefficients { a: [1., 2., 3., 4.], b: [5., 6.], settled: [7., 8.] };
        let call = columns(10, 70, filter).unwrap();
        assert_eq!((call.groups, call.threads), (3, 32));
        let told: Vec<f32> =
            call.params.bytes()[24..].chunks(4).map(bytemuck::pod_read_unaligned).collect();
        assert_eq!(told, [1., 2., 3., 4., 5., 6., 7., 8.]);
        let sides: Vec<u32> =
            call.params.bytes()[16..24].chunks(4).map(bytemuck::pod_read_unaligned).collect();
        assert_eq!(sides, [10, 70]);
    }

    #[test]
    fn a_constant_stays() {
        for sigma in [0.5, 1.0, 4.0, 30.0] {
            let image = vec![3.0; 37 * 61];
            let out = on_host(&image, 37, 61, sigma);
            assert!(out.iter().all(|x| (x - 3.0).abs() < 1e-3), "sigma {sigma}");
        }
    }

    /// An impulse becomes nearly the bell that gives the filter its name, the same along rows and columns.
    #[test]
    fn an_impulse_becomes_a_bell() {
        let (side, sigma) = (121, 8.0f32);
        let centre = side / 2;
        let mut image = vec![0.0; side * side];
        image[centre * side + centre] = 1.0;
        let out = on_host(&image, side, side, sigma);
        let sum: f32 = out.iter().sum();
        assert!((sum - 1.0).abs() < 0.01, "{sum}");
        let peak = 1.0 / (2.0 * std::f32::consts::PI * sigma * sigma);
        for (i, j) in [(0, 0), (0, 8), (8, 0), (5, 5), (16, 0), (12, 9)] {
            let got = out[(centre + i) * side + centre + j];
            let bell = peak * (-((i * i + j * j) as f32) / (2.0 * sigma * sigma)).exp();
            // A filter of second order: its peak is 13% too high.
            assert!((got - bell).abs() < 0.14 * peak, "{i} {j}: {got} {bell}");
            let mirrored = out[(centre + j) * side + centre + i];
            assert!((got - mirrored).abs() < 1e-6);
        }
    }

    #[test]
    fn lines_may_be_short() {
        assert!(on_host(&[], 0, 5, 1.0).is_empty());
        let one = on_host(&[2.0], 1, 1, 3.0)[0];
        assert!((one - 2.0).abs() < 1e-4);
    }
}
