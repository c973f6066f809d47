//! Transposes, scales and conjugates matrices with leading dimensions on the GPU, and compares the
//! result, and all elements outside source and result, with the host.
//!
//! `cargo run --release --example gpu_leading --features cuda`
#![allow(unsafe_code)]

use std::fmt::Debug;
use std::mem::size_of;

use turntile::blas::{Complex, MatrixOp, Scalar, Scale, imatcopy};
use turntile::gpu::cust::{self, prelude::*};
use turntile::gpu::{self, Gpu};
use turntile::{ErrorKind, Transpose};

/// Scalar type with test values and conversions to and from bytes, for copies to and from GPU
/// memory.
trait Plain: Scalar + Copy + PartialEq + Debug {
    fn numbered(k: usize) -> Self;
    fn bytes(self) -> Vec<u8>;
    fn of(bytes: &[u8]) -> Self;
}

macro_rules! plain {
    ($($real:ty),+) => {$(
        impl Plain for $real {
            fn numbered(k: usize) -> Self {
                (k % 1009) as $real / 8.0 - 50.3
            }
            fn bytes(self) -> Vec<u8> {
                self.to_ne_bytes().to_vec()
            }
            fn of(bytes: &[u8]) -> Self {
                <$real>::from_ne_bytes(bytes.try_into().expect("the bytes of one number"))
            }
        }
        impl Plain for Complex<$real> {
            fn numbered(k: usize) -> Self {
                Complex { re: <$real>::numbered(k), im: <$real>::numbered(3 * k + 7) }
            }
            fn bytes(self) -> Vec<u8> {
                [self.re.bytes(), self.im.bytes()].concat()
            }
            fn of(bytes: &[u8]) -> Self {
                let (re, im) = bytes.split_at(bytes.len() / 2);
                Complex { re: <$real>::of(re), im: <$real>::of(im) }
            }
        }
    )+};
}
plain!(f32, f64);

struct Device {
    gpu: Gpu,
    stream: Stream,
}

impl Device {
    /// Runs one operation on the GPU by `imatcopy` and by a plan, and returns the number of wrong
    /// elements of both.
    fn wrong<S: Plain>(
        &self,
        operation: MatrixOp,
        [rows, cols, lda, ldb]: [usize; 4],
        alpha: S,
    ) -> Result<usize, Box<dyn std::error::Error>> {
        let after = if operation.transposes() { [cols, rows] } else { [rows, cols] };
        let span = ((rows - 1) * lda + cols).max((after[0] - 1) * ldb + after[1]);
        let before: Vec<S> = (0..span).map(S::numbered).collect();
        let mut want = before.clone();
        imatcopy(&mut want, operation, rows, cols, alpha, lda, ldb)?;
        let bytes: Vec<u8> = before.iter().flat_map(|x| x.bytes()).collect();
        let mut memory = DeviceBuffer::from_slice(&bytes)?;
        let place = (memory.as_device_ptr().as_raw(), bytes.len());
        let count = |memory: &DeviceBuffer<u8>| -> Result<usize, cust::error::CudaError> {
            let mut got = bytes.clone();
            memory.copy_to(&mut got)?;
            let wrong =
                got.chunks(size_of::<S>()).zip(&want).enumerate().filter(|(at, (got, want))| {
                    let of_result = at / ldb < after[0] && at % ldb < after[1];
                    let of_source = at / lda < rows && at % lda < cols;
                    (of_result || !of_source) && S::of(got) != **want
                });
            Ok(wrong.count())
        };
        // SAFETY: memory and stream belong to this GPU's context, and nothing else uses the memory.
        unsafe {
            let (gpu, stream) = (&self.gpu, &self.stream);
            gpu::imatcopy(gpu, stream, place, operation, rows, cols, alpha, lda, ldb)?;
        }
        let mut wrong = count(&memory)?;
        memory.copy_from(&bytes)?;
        let order = if operation.transposes() { [1, 0] } else { [0, 1] };
        let planned = Transpose::permute::<S>(&[rows, cols], &order).leading(lda, ldb);
        let planned = planned.plan_on(&self.gpu)?.with_own_workspace()?;
        let scale = Scale { alpha, conjugate: operation.conjugates() };
        // SAFETY: as above, and `planned` lives until the stream is done.
        unsafe { planned.run_scaled(place, &scale, &self.stream)? };
        self.stream.synchronize()?;
        wrong += count(&memory)?;
        if wrong > 0 {
            println!("WRONG {operation:?} {} by {alpha:?}: {wrong} elements", planned.plan());
        }
        Ok(wrong)
    }

    fn all<S: Plain>(&self, alphas: [S; 3]) -> Result<usize, Box<dyn std::error::Error>> {
        use MatrixOp::{Conjugate, ConjugateTranspose, Keep, Transpose};
        let mut wrong = 0;
        for operation in [Keep, Transpose, Conjugate, ConjugateTranspose] {
            for [rows, cols, a, b] in [
                [1, 1, 0, 0],
                [7, 5, 3, 1],
                [300, 200, 0, 56],
                [640, 640, 32, 32],
                [1000, 700, 500, 200],
                [2003, 2003, 2, 2],
                [2500, 2100, 4, 12],
                [3000, 2000, 300, 1000],
            ] {
                let after = if operation.transposes() { rows } else { cols };
                for ldb in [after + b, cols.max(after) + a] {
                    // Also test equal leading dimensions.
                    let lda = if ldb == after + b { cols + a } else { ldb };
                    for alpha in alphas {
                        wrong += self.wrong(operation, [rows, cols, lda, ldb], alpha)?;
                    }
                }
            }
        }
        Ok(wrong)
    }
}

/// Returns the number of wrong elements of a scaled run, captured in a graph and launched twice on
/// fresh data.
fn replayed(
    device: &Device,
    [rows, cols, lda, ldb]: [usize; 4],
) -> Result<usize, Box<dyn std::error::Error>> {
    use cust::sys;
    let span = ((rows - 1) * lda + cols).max((cols - 1) * ldb + rows);
    let before: Vec<f32> = (0..span).map(f32::numbered).collect();
    let mut want = before.clone();
    imatcopy(&mut want, MatrixOp::Transpose, rows, cols, -2.5, lda, ldb)?;
    let mut memory = DeviceBuffer::from_slice(&before)?;
    let dense = Transpose::new::<f32>(rows, cols).dynamic();
    let has_gaps = [lda, ldb] != [cols, rows];
    let transpose = if has_gaps { dense.leading(lda, ldb) } else { dense };
    let planned = transpose.plan_on(&device.gpu)?.with_own_workspace()?;
    let (mut graph, mut replay) = (std::ptr::null_mut(), std::ptr::null_mut());
    let (stream, none) = (device.stream.as_inner(), std::ptr::null_mut());
    let mut wrong = 0;
    // SAFETY: stream and memory belong to this GPU's context, `planned` and the memory live until
    // the last replay has ended, and the graph is destroyed once.
    unsafe {
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL;
        let begin = sys::cuStreamBeginCapture_v2(stream, mode);
        planned.run_scaled(&mut memory, &Scale::by(-2.5f32), &device.stream)?;
        let end = sys::cuStreamEndCapture(stream, &mut graph);
        let made = sys::cuGraphInstantiate_v2(&mut replay, graph, none, none.cast(), 0);
        wrong += usize::from([begin, end, made] != [sys::CUresult::CUDA_SUCCESS; 3]);
        for _ in 0..2 {
            memory.copy_from(&before)?;
            let ran = sys::cuGraphLaunch(replay, stream);
            wrong += usize::from(ran != sys::CUresult::CUDA_SUCCESS);
            device.stream.synchronize()?;
            let mut got = vec![0.0; span];
            memory.copy_to(&mut got)?;
            let of_result = |at: &usize| at / ldb < cols && at % ldb < rows;
            wrong += (0..span).filter(of_result).filter(|&at| got[at] != want[at]).count();
        }
        sys::cuGraphExecDestroy(replay);
        sys::cuGraphDestroy(graph);
    }
    Ok(wrong)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let _context = cust::quick_init()?;
    let gpu = Gpu::current()?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    let device = Device { gpu, stream };
    // Run the captured case first, before other calls have loaded scaling kernels.
    let mut wrong = replayed(&device, [4096, 6000, 6000, 4096])?;
    wrong += device.all::<f32>([1.0, 0.0, -2.3])?;
    wrong += device.all::<f64>([1.0, 0.0, 0.1])?;
    let complex = |re, im| Complex::<f32> { re, im };
    let complex64 = |re, im| Complex::<f64> { re, im };
    wrong +=
        device.all::<Complex<f32>>([complex(1.0, 0.0), complex(0.0, 0.0), complex(0.3, -1.7)])?;
    wrong += device.all::<Complex<f64>>([
        complex64(1.0, 0.0),
        complex64(0.0, 0.0),
        complex64(2.5, 0.1),
    ])?;
    for shape in [[3000, 2000, 2300, 3100], [2000, 2000, 2016, 2016], [2000, 1500, 2016, 2016]] {
        wrong += replayed(&device, shape)?;
    }
    println!("{wrong} elements wrong");

    // Invalid calls are rejected before anything is queued.
    let planned = Transpose::new::<f32>(300, 200).leading(200, 300).plan_on(&device.gpu)?;
    let mut memory = DeviceBuffer::from_slice(&[1.0f32; 300 * 200])?;
    let short = (memory.as_device_ptr().as_raw(), 300 * 200 * 4 - 4);
    let ready = Transpose::new::<f32>(300, 200).leading(200, 300).plan_on(&device.gpu)?;
    let ready = ready.with_own_workspace()?;
    // SAFETY: as above; all of these calls are rejected.
    let rejected = unsafe {
        [
            planned.run_scaled(&mut memory, &Scale::by(2.0f64), &device.stream),
            ready.run(short, &device.stream),
            planned.run_scaled(short, &Scale::by(0.0f32), &device.stream),
            planned.run(&mut memory, &device.stream),
        ]
    };
    let rejected = rejected.map(|result| result.map_err(|error| error.kind()));
    let rejected = [
        rejected[0] == Err(ErrorKind::ElementSize { expected: 4, got: 8 }),
        matches!(rejected[1], Err(ErrorKind::Length { .. })),
        matches!(rejected[2], Err(ErrorKind::Length { .. } | ErrorKind::Workspace { .. })),
        matches!(rejected[3], Err(ErrorKind::Workspace { .. })),
    ];
    device.stream.synchronize()?;
    let mut after = vec![0f32; 300 * 200];
    memory.copy_to(&mut after)?;
    let right = rejected == [true; 4] && after.iter().all(|&x| x == 1.0);
    println!("rejected: {rejected:?}, unchanged: {}", after.iter().all(|&x| x == 1.0));
    std::process::exit(i32::from(wrong > 0 || !right));
}
