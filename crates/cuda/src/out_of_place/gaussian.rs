//! A recursive Gaussian filter of an image, with a transposition between its passes.
//!
//! The filter is separable, and recursive: a causal pass along a line and an anticausal one are added, each
//! an infinite impulse response of second order (Deriche, "Recursively implementing the Gaussian and its
//! derivatives", 1992). Lines along columns are read and written in whole lines of memory by neighbouring
//! threads; lines along rows are not, so the image is transposed, filtered by columns again, and
//! transposed back. The image is `rows` x `cols` floats, row-major; beyond its edges it goes on as at them.
//!
//! ```no_run
//! # #[cfg(feature = "cuda")]
//! # fn main() -> Result<(), turntile_cuda::CudaError> {
//! use turntile_cuda::out_of_place::gaussian::{Between, program};
//! use turntile_cuda::out_of_place::ladder::Rung;
//! use turntile_cuda::{Gpu, Stopwatch, cust};
//!
//! let _context = cust::quick_init().expect("a GPU");
//! let gpu = Gpu::current()?;
//! let padded = Between::Ladder(Rung::named("padded").expect("is one"), 32, 8);
//! let mut watch = Stopwatch::new(&gpu, 4 * 4 * 2048 * 2048 + (32 << 20))?;
//! for between in [padded, Between::Default, Between::InPlace, Between::Nothing] {
//!     let loaded = gpu.load([program(2048, 2048, 10.0, between, &gpu)?])?;
//!     println!("{between:?}: {:?}", watch.time_loaded(&loaded)?);
//! }
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "cuda"))]
//! # fn main() {}
//! ```

use turntile_plan::{Planner, Problem};

use super::ladder::{self, Rung};
use super::program::{Buffer, Program, Step};
use crate::args::Address;
use crate::args::sources::GaussianArgs;
use crate::call::{Call, Workspace};
use crate::error::{CudaError, Infeasible};
use crate::family::Family;
use crate::gpu::Gpu;
use crate::lower::groups;
use crate::prepare::Work;

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

/// The filter of a `rows` x `cols` image with standard deviation `sigma`: buffers
/// `[image, filtered, scratch, workspace]`, the first three of `4 · rows · cols` bytes, the last as large as the
/// in-place transposition needs it (0 bytes for the others). The image stays as it is.
///
/// # Errors
/// [`CudaError::Infeasible`] or [`CudaError::NoVariant`]: a transposition that there is no kernel for.
pub fn program(
    rows: usize,
    cols: usize,
    sigma: f32,
    between: Between,
    gpu: &Gpu,
) -> Result<Program, CudaError> {
    let filter = Coefficients::of(sigma);
    let bytes = 4 * rows * cols;
    let buffer = |what, bytes, written| Buffer { what, bytes, written };
    let start = Program {
        steps: Vec::new(),
        buffers: vec![
            buffer("image", bytes, false),
            buffer("filtered image", bytes, true),
            buffer("scratch", bytes, true),
            buffer("workspace", 0, true),
        ],
        alignment: 16,
    };
    if bytes == 0 {
        return Ok(start);
    }
    let start = start.then(columns(rows, cols, filter)?, BETWEEN, IMAGE);
    Ok(match between {
        Between::Nothing => start.then(columns(cols, rows, filter)?, FILTERED, BETWEEN),
        Between::InPlace => start
            .in_place(&in_place(rows, cols, gpu)?, BETWEEN, WORKSPACE)
            .then(columns(cols, rows, filter)?, FILTERED, BETWEEN)
            .in_place(&in_place(cols, rows, gpu)?, FILTERED, WORKSPACE),
        _ => start
            .then(transposition(between, rows, cols, gpu)?, FILTERED, BETWEEN)
            .then(columns(cols, rows, filter)?, BETWEEN, FILTERED)
            .then(transposition(between, cols, rows, gpu)?, FILTERED, BETWEEN),
    })
}

impl Program {
    fn then(mut self, call: Call, first: usize, second: usize) -> Self {
        self.steps.push(Step { call, first, second: Some(second) });
        self
    }
}

/// A pass down all columns.
fn columns(rows: usize, cols: usize, filter: Coefficients) -> Result<Call, CudaError> {
    const THREADS: usize = 32;
    let infeasible = |why| CudaError::Infeasible { stage: format!("filter, {rows}x{cols}"), why };
    if rows.max(cols) > i32::MAX as usize {
        return Err(infeasible(Infeasible::NoKernel));
    }
    let Coefficients { a: [a0, a1, a2, a3], b: [b1, b2], settled: [before, after] } = filter;
    let (to, from) = (Address::default(), Address::default());
    let (rows, columns) = (rows as u32, cols as u32);
    Ok(Call {
        family: Family::Gaussian,
        word: 4,
        entry: "gaussian_columns",
        groups: groups(cols.div_ceil(THREADS)).map_err(infeasible)?,
        threads: THREADS as u32,
        shared_bytes: 0,
        params: GaussianArgs {
            to,
            from,
            rows,
            cols: columns,
            a0,
            a1,
            a2,
            a3,
            b1,
            b2,
            before,
            after,
        }
        .into(),
        workspace: Workspace::None,
    })
}

fn transposition(between: Between, rows: usize, cols: usize, gpu: &Gpu) -> Result<Call, CudaError> {
    let program = match between {
        Between::Ladder(rung, tile, block_rows) => {
            ladder::program(rung, tile, block_rows, rows, cols)?
        }
        _ => {
            let planner = Planner::new(gpu.chip().clone());
            let plan = planner.plan(&problem(rows, cols).out_of_place());
            Program::of_plan(&plan.expect("every image has a way"))?
        }
    };
    Ok(program.steps[0].call)
}

fn problem(rows: usize, cols: usize) -> Problem {
    Problem::new(rows, cols, 4).expect("an image of the address space")
}

/// The best plan.
fn in_place(rows: usize, cols: usize, gpu: &Gpu) -> Result<Work, CudaError> {
    let planner = Planner::new(gpu.chip().clone());
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
