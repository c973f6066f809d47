//! Transposition and permutation on NVIDIA GPUs.
//!
//! Requires feature `cuda` on Linux. In other builds the same items exist, and
//! [`Gpu::current`] returns [`CudaError::NoBackend`]. Programs start without an NVIDIA driver;
//! creating a [`Gpu`] loads it. Calls make the context of a [`Gpu`] current when needed, then
//! restore the thread's previous context.
//!
//! ```no_run
//! # #[cfg(feature = "cust")]
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use turntile::gpu::cust::{self, prelude::*};
//! use turntile::{Transpose, gpu::Gpu};
//!
//! let _context = cust::quick_init()?;
//! let gpu = Gpu::current()?;
//! let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
//! let mut matrix = DeviceBuffer::from_slice(&vec![0f32; 30011 * 30000])?;
//!
//! let planned = Transpose::new::<f32>(30011, 30000).plan_on(&gpu)?;
//! println!("{}, {} bytes of workspace", planned.plan(), planned.workspace_bytes());
//! let ready = planned.with_own_workspace()?;
//! // SAFETY: matrix and stream belong to the GPU's context, nothing else uses the matrix until
//! // the stream is done, and `ready` lives until then.
//! unsafe { ready.run(&mut matrix, &stream)? };
//!
//! // Into another buffer:
//! let into = Transpose::new::<f32>(30000, 30011).out_of_place().plan_on(&gpu)?;
//! let mut other = DeviceBuffer::from_slice(&vec![0f32; 30011 * 30000])?;
//! // SAFETY: as above, for both buffers and `into`.
//! unsafe { into.run(&matrix, &mut other, &stream)? };
//! stream.synchronize()?;
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "cust"))]
//! # fn main() {}
//! ```
#![allow(unsafe_code)]

mod bits;
mod leading;
#[cfg(feature = "measure")]
mod measure;

use std::ffi::c_void;
use std::marker::PhantomData;
use std::time::Duration;

pub use bits::GpuPackedTransposer;
pub use leading::imatcopy;
#[cfg(feature = "measure")]
pub use measure::{Stopwatch, measure_on};
use turntile_cuda::buffers::Place;
use turntile_cuda::launch::widest_word;
use turntile_cuda::{Buffers, Prepared, Work};
pub use turntile_cuda::{CudaError, Gpu};
use turntile_plan::tuner::{self, OnMeasured};
use turntile_plan::wisdom::StaleWisdom;
use turntile_plan::{Measurement, Plan, Planner, Problem};

use crate::mode::{Dynamic, InPlace, InPlaceMode, Mode, OutOfPlace};
use crate::transpose::TransposeRequest;
use crate::tune::candidates;
use crate::{Error, Transpose};

#[cfg(doc)]
use crate::ErrorKind;
#[cfg(feature = "cust")]
pub use turntile_cuda::cust;
pub use turntile_cuda::{device_count, device_of, is_capturing};

/// Writable device memory: an address and a length in bytes.
///
/// Converts from `(address, bytes)`, and with features `cust` and `cudarc-0-19` from a mutable
/// slice or buffer of these crates. For your own buffer type, implement
/// `From<&mut Buffer> for DeviceMemory`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceMemory {
    address: u64,
    bytes: usize,
}

/// Readable device memory. Converts like [`DeviceMemory`], from shared references.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceSource(DeviceMemory);

/// Stream of the GPU's context. Converts from a `CUstream` (null is the default stream), and with
/// features `cust` and `cudarc-0-19` from a stream of these crates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamHandle(*mut c_void);

impl DeviceMemory {
    /// Returns the address and the length in bytes of the memory.
    pub fn place(self) -> Place {
        (self.address, self.bytes)
    }
}

impl From<(u64, usize)> for DeviceMemory {
    fn from((address, bytes): (u64, usize)) -> Self {
        DeviceMemory { address, bytes }
    }
}

impl From<(u64, usize)> for DeviceSource {
    fn from(place: (u64, usize)) -> Self {
        DeviceSource(place.into())
    }
}

impl From<*mut c_void> for StreamHandle {
    fn from(stream: *mut c_void) -> Self {
        StreamHandle(stream)
    }
}

#[cfg(feature = "cust")]
mod from_cust {
    use super::cust::memory::{DeviceBuffer, DeviceCopy, DeviceSlice};
    use super::cust::stream::Stream;
    use super::{DeviceMemory, DeviceSource, StreamHandle};

    fn place<T: DeviceCopy>(slice: &DeviceSlice<T>) -> (u64, usize) {
        (slice.as_device_ptr().as_raw(), slice.len() * size_of::<T>())
    }

    macro_rules! from_memory {
        ($($memory:ty => $made:ident;)*) => {
            $(impl<T: DeviceCopy> From<$memory> for $made {
                fn from(memory: $memory) -> Self {
                    place(memory).into()
                }
            })*
        };
    }
    from_memory! {
        &mut DeviceSlice<T> => DeviceMemory;
        &mut DeviceBuffer<T> => DeviceMemory;
        &DeviceSlice<T> => DeviceSource;
        &DeviceBuffer<T> => DeviceSource;
    }

    impl From<&Stream> for StreamHandle {
        fn from(stream: &Stream) -> Self {
            StreamHandle(stream.as_inner().cast())
        }
    }
}

/// Conversions from cudarc's types. Its automatic synchronisation covers work that was queued before
/// the conversion, not the run itself: use the buffer on the run's stream, or synchronise.
#[cfg(feature = "cudarc-0-19")]
mod from_cudarc {
    use cudarc::driver::{
        CudaSlice, CudaStream, CudaView, CudaViewMut, DevicePtr, DevicePtrMut, DeviceSlice,
    };

    use super::{DeviceMemory, DeviceSource, StreamHandle};

    macro_rules! from_memory {
        ($($memory:ty, $address:ident => $made:ident;)*) => {
            $(impl<T> From<$memory> for $made {
                fn from(memory: $memory) -> Self {
                    let (stream, bytes) = (memory.stream().clone(), memory.num_bytes());
                    let (address, _synchronised) = memory.$address(&stream);
                    (address, bytes).into()
                }
            })*
        };
    }
    from_memory! {
        &mut CudaSlice<T>, device_ptr_mut => DeviceMemory;
        &mut CudaViewMut<'_, T>, device_ptr_mut => DeviceMemory;
        &CudaSlice<T>, device_ptr => DeviceSource;
        &CudaView<'_, T>, device_ptr => DeviceSource;
    }

    impl From<&CudaStream> for StreamHandle {
        fn from(stream: &CudaStream) -> Self {
            StreamHandle(stream.cu_stream().cast())
        }
    }
}

/// A transposition planned for a GPU, with its kernels loaded. It can run any number of times, from
/// any thread.
#[derive(Debug)]
pub struct GpuTransposer<M = InPlace> {
    plan: Plan,
    unaligned: Option<Plan>,
    rejected: Option<StaleWisdom>,
    prepared: Prepared,
    mode: PhantomData<M>,
}

impl<M: Mode> Transpose<M> {
    /// Plans the operation for `gpu` and loads the kernels.
    ///
    /// The thread count is ignored. The workspace cap applies to device memory and defaults to the
    /// larger of 2% of the matrices and 16 MiB. With leading dimensions the default also has room
    /// for the padding elements that must be saved. If a cap is too small for them, the text of the
    /// error has the bytes needed.
    ///
    /// An out-of-place operation gets a second plan if its kernel launches differ. The first is for
    /// buffers with the [alignment](Self::alignment) that was set (default 16), the second for
    /// buffers that only have an element's alignment.
    ///
    /// # Errors
    /// Those of [`plan`](Self::plan), and [`ErrorKind::Gpu`] if the driver reports an error.
    pub fn plan_on(&self, gpu: &Gpu) -> Result<GpuTransposer<M>, Error> {
        let request = &self.request;
        let planner = request.planner_on(gpu.device())?;
        let problem = request.problem()?;
        let problems = alignments(&problem);
        let count = problems.len() as u32;
        let mut plans = Vec::new();
        for problem in &problems {
            let tune = |budget| {
                request.tuned_on(gpu, &planner, problem, budget / count, &mut |_, _, _| {})
            };
            plans.push(request.choose(&planner, problem, tune)?);
        }
        let mut plans = plans.into_iter();
        let (plan, rejected) = plans.next().expect("at least one problem");
        let unaligned = plans.next().map(|(plan, _)| plan);
        let mut prepared = gpu.prepare(&plan)?;
        if let Some(other) = &unaligned {
            prepared = prepared.or(other)?;
        }
        let unaligned = unaligned.filter(|other| !same_launches(other, &plan));
        // Load the scaling kernels of all scalar types of this element size. The type is known only
        // at run time, perhaps during a graph capture, when no kernels can be loaded.
        if !problem.is_out_of_place() {
            prepared = prepared.with_scaling()?;
        }
        Ok(GpuTransposer { plan, unaligned, rejected, prepared, mode: PhantomData })
    }

    /// Measures candidate plans on `gpu` for about `budget` and returns the measured ones, at least
    /// one, fastest first.
    ///
    /// Candidates run on device memory allocated here, as large as the matrices, or twice that
    /// out-of-place. The fastest is recorded in the wisdom file, if one is set. Out-of-place, half
    /// of the budget goes to buffers that only have an element's alignment, if that is less than
    /// the alignment that was set.
    ///
    /// # Errors
    /// Those of [`plan_on`](Self::plan_on), and [`ErrorKind::GpuOutOfMemory`].
    pub fn tune_on(&self, gpu: &Gpu, budget: Duration) -> Result<Vec<Measurement>, Error> {
        self.tune_on_seen(gpu, budget, &mut |_, _, _| {})
    }

    /// Measures candidates like [`tune_on`](Self::tune_on). After each candidate's first run it
    /// calls `seen` with the plan, the run's time and the number of candidates.
    ///
    /// # Errors
    /// Those of [`tune_on`](Self::tune_on).
    pub fn tune_on_seen(
        &self,
        gpu: &Gpu,
        budget: Duration,
        seen: &mut dyn FnMut(&Plan, Duration, usize),
    ) -> Result<Vec<Measurement>, Error> {
        let request = &self.request;
        let planner = request.planner_on(gpu.device())?;
        let problem = request.dense_problem("measuring")?;
        let problems = alignments(&problem);
        let budget = budget / problems.len() as u32;
        let measured = request.tuned_on(gpu, &planner, &problem, budget, seen)?;
        for problem in &problems[1..] {
            request.tuned_on(gpu, &planner, problem, budget, &mut |_, _, _| {})?;
        }
        Ok(measured)
    }
}

impl TransposeRequest {
    fn tuned_on(
        &self,
        gpu: &Gpu,
        planner: &Planner,
        problem: &Problem,
        budget: Duration,
        seen: OnMeasured<'_>,
    ) -> Result<Vec<Measurement>, Error> {
        self.check_wisdom()?;
        let measured = measure_on_seen(gpu, candidates(planner, problem)?, budget, seen)?;
        self.remember(planner, &measured)?;
        Ok(measured)
    }
}

/// Runs `plans` on `gpu` for about `budget`, calls `seen` after the first run of each, and returns
/// the measured ones, fastest first.
fn measure_on_seen(
    gpu: &Gpu,
    plans: Vec<Plan>,
    budget: Duration,
    seen: OnMeasured<'_>,
) -> Result<Vec<Measurement>, Error> {
    let mut bytes = 0;
    for plan in &plans {
        bytes = bytes.max(Work::of_plan(plan)?.measured_bytes());
    }
    let mut watch = turntile_cuda::Stopwatch::new(gpu, bytes)?;
    let run = |plan: &Plan| watch.time(&gpu.prepare(plan)?);
    Ok(tuner::measure(plans, budget, run, seen)?)
}

/// Returns `problem` and, if it is out-of-place and its buffers' alignment exceeds an element's,
/// also `problem` with an element's alignment.
fn alignments(problem: &Problem) -> Vec<Problem> {
    let least = widest_word(&[problem.itemsize(), problem.alignment()]);
    let unaligned = Some(problem.with_alignment(least));
    let less = problem.is_out_of_place() && least < widest_word(&[problem.alignment()]);
    std::iter::once(problem.clone()).chain(unaligned.filter(|_| less)).collect()
}

/// Returns `true` if both plans have the same kernel launches.
fn same_launches(one: &Plan, other: &Plan) -> bool {
    let calls = |plan: &Plan| Work::of_plan(plan).map(|work| work.calls().to_vec());
    calls(one) == calls(other)
}

impl<M: Mode> GpuTransposer<M> {
    /// Returns the plan; out-of-place, the one for aligned buffers.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Returns the out-of-place plan for buffers that only have an element's alignment, if its
    /// kernel launches differ from those of [`plan`](Self::plan).
    pub fn unaligned_plan(&self) -> Option<&Plan> {
        self.unaligned.as_ref()
    }

    /// Returns why the wisdom file's entry for this problem was rejected, if it was.
    pub fn rejected_wisdom(&self) -> Option<&StaleWisdom> {
        self.rejected.as_ref()
    }

    /// Returns the bytes of device memory that a run needs in addition to the matrices.
    /// Out-of-place it is 0.
    pub fn workspace_bytes(&self) -> usize {
        self.prepared.workspace_bytes()
    }

    /// Allocates a workspace in device memory that the result owns. Runs that use it must not
    /// overlap in time.
    ///
    /// # Errors
    /// [`ErrorKind::GpuOutOfMemory`].
    pub fn with_own_workspace(self) -> Result<Self, Error> {
        Ok(GpuTransposer { prepared: self.prepared.with_own_workspace()?, ..self })
    }

    unsafe fn queue(
        &self,
        stream: StreamHandle,
        data: DeviceMemory,
        source: Option<DeviceSource>,
        workspace: Option<DeviceMemory>,
    ) -> Result<(), Error> {
        let buffers = Buffers {
            data: data.place(),
            source: source.map(|source| source.0.place()),
            workspace: workspace.map(DeviceMemory::place),
        };
        // SAFETY: the public functions that call this pass the caller's guarantee on.
        Ok(unsafe { self.prepared.run_raw(stream.0, buffers) }?)
    }
}

impl<M: InPlaceMode> GpuTransposer<M> {
    /// Queues the in-place transposition of the matrices in `data` on `stream`.
    ///
    /// With leading dimensions, the matrix is at the start of `data`. The call uses the owned
    /// workspace ([`with_own_workspace`](Self::with_own_workspace)), allocates nothing and does not
    /// wait. Kernel errors are reported at the caller's next synchronisation.
    ///
    /// # Errors
    /// - [`ErrorKind::Length`]: `data` is too short.
    /// - [`ErrorKind::Alignment`]: `data` is not aligned to 16 bytes, or to the
    ///   [alignment](Transpose::alignment) that was set.
    /// - [`ErrorKind::Workspace`]: a workspace is needed and none is owned.
    /// - [`ErrorKind::Overlap`]: the workspace overlaps `data`.
    /// - [`ErrorKind::Null`]: an address is null.
    /// - [`ErrorKind::Plan`]: the plan is out-of-place.
    /// - [`ErrorKind::Gpu`]: the driver rejected the first launch.
    /// - [`ErrorKind::Incomplete`]: the driver rejected a later launch.
    ///
    /// All arguments are checked before anything is queued.
    ///
    /// # Safety
    /// Memory and stream must belong to the GPU's context. Until the queued work has ended, nothing
    /// else may use the memory from the first element to the last, including the gaps between rows
    /// unless `lda == ldb`. `self` must not be dropped before then. Work captured in a graph has
    /// ended when the graph can no longer be launched.
    pub unsafe fn run(
        &self,
        data: impl Into<DeviceMemory>,
        stream: impl Into<StreamHandle>,
    ) -> Result<(), Error> {
        // SAFETY: the caller guarantees it.
        unsafe { self.queue(stream.into(), data.into(), None, None) }
    }

    /// Queues the in-place transposition like [`run`](Self::run), with a workspace that the caller
    /// provides. The workspace has at least [`workspace_bytes`](Self::workspace_bytes) bytes,
    /// starts at a multiple of 16 and does not overlap the matrices.
    ///
    /// # Errors
    /// Those of [`run`](Self::run).
    ///
    /// # Safety
    /// As for [`run`](Self::run), for the data and for the workspace.
    pub unsafe fn run_with(
        &self,
        data: impl Into<DeviceMemory>,
        stream: impl Into<StreamHandle>,
        workspace: impl Into<DeviceMemory>,
    ) -> Result<(), Error> {
        // SAFETY: the caller guarantees it.
        unsafe { self.queue(stream.into(), data.into(), None, Some(workspace.into())) }
    }
}

impl GpuTransposer<OutOfPlace> {
    /// Queues the out-of-place transposition of the matrices in `src` into `dst` on `stream`.
    /// Allocates nothing and does not wait.
    ///
    /// # Errors
    /// Those of an [in-place run](GpuTransposer::<InPlace>::run), for both buffers. Each must be
    /// aligned at least to its elements, and the two must not overlap. All arguments are checked
    /// before anything is queued.
    ///
    /// # Safety
    /// Memory and stream must belong to the GPU's context. Until the queued work has ended, nothing
    /// else may use `dst` or write `src`, and `self` must not be dropped. Work captured in a graph
    /// has ended when the graph can no longer be launched.
    pub unsafe fn run(
        &self,
        src: impl Into<DeviceSource>,
        dst: impl Into<DeviceMemory>,
        stream: impl Into<StreamHandle>,
    ) -> Result<(), Error> {
        // SAFETY: the caller guarantees it.
        unsafe { self.queue(stream.into(), dst.into(), Some(src.into()), None) }
    }
}

impl GpuTransposer<Dynamic> {
    /// Queues the out-of-place transposition of `src` into `dst`, like
    /// [`GpuTransposer::run`](GpuTransposer::<OutOfPlace>::run) of mode [`OutOfPlace`].
    ///
    /// # Errors
    /// Those of that function, and [`ErrorKind::Plan`] if the plan is in-place.
    ///
    /// # Safety
    /// As for that function.
    pub unsafe fn run_into(
        &self,
        src: impl Into<DeviceSource>,
        dst: impl Into<DeviceMemory>,
        stream: impl Into<StreamHandle>,
    ) -> Result<(), Error> {
        // SAFETY: the caller guarantees it.
        unsafe { self.queue(stream.into(), dst.into(), Some(src.into()), None) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use turntile_cuda::GpuDevice;

    #[test]
    fn out_of_place_problem_has_two_alignments_when_element_alignment_is_less() {
        let alignments = |transpose: Transpose<Dynamic>| -> Vec<usize> {
            let problem = transpose.problem().unwrap();
            super::alignments(&problem).iter().map(Problem::alignment).collect()
        };
        let of = |elem_bytes| Transpose::new::<u8>(300, 200).itemsize(elem_bytes).dynamic();
        assert_eq!(alignments(of(4)), [16]);
        assert_eq!(alignments(of(4).out_of_place()), [16, 4]);
        assert_eq!(alignments(of(12).out_of_place()), [16, 4]);
        assert_eq!(alignments(of(3).out_of_place()), [16, 1]);
        assert_eq!(alignments(of(4).out_of_place().alignment(256)), [256, 4]);
        assert_eq!(alignments(of(4).out_of_place().alignment(4)), [4]);
        assert_eq!(alignments(of(16).out_of_place()), [16]);
    }

    /// Checks that kernels move 4-byte elements by wider words only if rows consist of whole words
    /// of that size and addresses are aligned to them.
    #[test]
    fn launches_differ_only_when_alignment_changes_word_size() {
        let planner = Planner::new(GpuDevice::h200());
        let plan = |rows, elem_bytes, alignment| {
            let problem = Problem::new(rows, 4096, elem_bytes).unwrap().out_of_place().unwrap();
            planner.plan(&problem.with_alignment(alignment)).unwrap()
        };
        assert!(!same_launches(&plan(4096, 4, 16), &plan(4096, 4, 4)));
        assert!(same_launches(&plan(4096, 4, 16), &plan(4096, 4, 256)));
        assert!(same_launches(&plan(4093, 4, 16), &plan(4093, 4, 4)), "rows are not whole vectors");
    }
}
