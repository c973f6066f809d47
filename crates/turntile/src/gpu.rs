//! The same transpositions on an NVIDIA GPU.
//!
//! Built with feature `cuda`, on Linux; else everything here is there and [`Gpu::current`] answers
//! [`CudaError::NoBackend`]. Programs start without a driver: [`Gpu::primary`] looks for it. A [`Gpu`] holds its context and makes it current where it needs it; whatever was current
//! on the thread is so again afterwards.
//!
//! ```no_run
//! # #[cfg(all(feature = "cuda", target_os = "linux"))]
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use turntile::gpu::cust::{self, prelude::*};
//! use turntile::{Transpose, gpu::Gpu};
//!
//! let _context = cust::quick_init()?;
//! let gpu = Gpu::current()?;
//! let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
//! let mut matrix = DeviceBuffer::from_slice(&vec![0f32; 30011 * 30000])?;
//!
//! let planned = Transpose::of::<f32>(30011, 30000).plan_on(&gpu)?;
//! println!("{}, {} bytes of workspace", planned.plan(), planned.workspace_bytes());
//! let ready = planned.with_own_workspace()?;
//! // SAFETY: matrix and stream are of the GPU's context, nothing else uses the matrix until the stream is done, and
//! // `ready` lives until then.
//! unsafe { ready.run(&mut matrix, &stream)? };
//!
//! // Into another buffer.
//! let into = Transpose::of::<f32>(30000, 30011).out_of_place().plan_on(&gpu)?;
//! let mut other = DeviceBuffer::from_slice(&vec![0f32; 30011 * 30000])?;
//! // SAFETY: the same of both buffers and `into`.
//! unsafe { into.run_into(&matrix, &mut other, &stream)? };
//! stream.synchronize()?;
//! # Ok(())
//! # }
//! # #[cfg(not(all(feature = "cuda", target_os = "linux")))]
//! # fn main() {}
//! ```
#![allow(unsafe_code)]

mod leading;
mod tracked;

use std::ffi::c_void;
use std::time::Duration;

pub use leading::imatcopy;
pub use tracked::OnStream;
use turntile_cuda::buffers::Place;
use turntile_cuda::call::widest_word;
use turntile_cuda::{Buffers, Prepared, Work};
pub use turntile_cuda::{CudaError, Gpu, Stopwatch};
use turntile_plan::tuner::{self, OnMeasured};
use turntile_plan::wisdom::StaleWisdom;
use turntile_plan::{Measurement, Plan, Planner, Problem, ProblemError};

use crate::tune::candidates;
use crate::{Error, Transpose};

// As the crate below has it: with the feature, on Linux.
#[cfg(all(
    feature = "cuda",
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
pub use turntile_cuda::cust;

/// Device memory to be written: an address, and bytes from there. Made of a mutable slice or buffer of `cust`, or of
/// `(address, bytes)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceMemory {
    address: u64,
    bytes: usize,
}

/// Device memory to be read: made of a slice or buffer of `cust`, or of `(address, bytes)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceSource(DeviceMemory);

/// A stream of the GPU's context: made of a `Stream` of `cust`, or of a `CUstream`, null for the default stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamHandle(*mut c_void);

impl DeviceMemory {
    /// Its address and its bytes.
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

#[cfg(all(
    feature = "cuda",
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod of_cust {
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

/// A transposition planned for a GPU, its kernels loaded: it can run any number of times, from any thread.
#[derive(Debug)]
pub struct GpuTransposer {
    plan: Plan,
    unaligned: Option<Plan>,
    refused: Option<StaleWisdom>,
    prepared: Prepared,
}

impl Transpose {
    /// Plans it for `gpu` and loads the kernels. The thread count is not used; the workspace cap, otherwise 2% of the
    /// matrices or 16 MiB where that is more, is for device memory.
    ///
    /// With leading dimensions workspace has room for those elements of gaps that lie in the way too; where a cap has none,
    /// [`PlanError::Infeasible`](crate::plan::PlanError::Infeasible) says how much they are.
    ///
    /// Out of place it is planned twice: for buffers at addresses as aligned as was said, otherwise multiples of 16,
    /// and where that is another launch for such as have an element's alignment only.
    ///
    /// # Errors
    /// As [`plan`](Self::plan), and [`Error::Cuda`] when the driver refuses.
    pub fn plan_on(&self, gpu: &Gpu) -> Result<GpuTransposer, Error> {
        let planner = self.planner_on(gpu.chip())?;
        let problem = self.problem()?;
        let problems = alignments(&problem);
        let share = problems.len() as u32;
        let mut plans = Vec::new();
        for problem in &problems {
            let tune =
                |budget| self.tuned_on(gpu, &planner, problem, budget / share, &mut |_, _, _| {});
            plans.push(self.choose(&planner, problem, tune)?);
        }
        let mut plans = plans.into_iter();
        let (plan, refused) = plans.next().expect("one at least");
        let unaligned = plans.next().map(|(plan, _)| plan);
        let mut prepared = gpu.prepare(&plan)?;
        if let Some(other) = &unaligned {
            prepared = prepared.or(other)?;
        }
        let unaligned = unaligned.filter(|other| !same_launches(other, &plan));
        // Which numbers are scaled is only known when they are, perhaps within a capture, where nothing can be loaded.
        if !problem.is_out_of_place() {
            prepared = prepared.with_scaling()?;
        }
        Ok(GpuTransposer { plan, unaligned, refused, prepared })
    }

    /// Measures candidates on `gpu` for about `budget`, on device memory of its own that is as large as
    /// the matrices, twice that out of place, and returns them fastest first; at least one. The wisdom file, if there is
    /// one, remembers the fastest; out of place, half of the budget is for buffers with an element's alignment, where
    /// that is less.
    ///
    /// # Errors
    /// As [`plan_on`](Self::plan_on); out of memory is [`CudaError::OutOfMemory`].
    pub fn tune_on(&self, gpu: &Gpu, budget: Duration) -> Result<Vec<Measurement>, Error> {
        self.tune_on_seen(gpu, budget, &mut |_, _, _| {})
    }

    /// The same; `seen` is called as [`tune_seen`](Self::tune_seen) calls it.
    ///
    /// # Errors
    /// As [`tune_on`](Self::tune_on).
    pub fn tune_on_seen(
        &self,
        gpu: &Gpu,
        budget: Duration,
        seen: &mut dyn FnMut(&Plan, Duration, usize),
    ) -> Result<Vec<Measurement>, Error> {
        let planner = self.planner_on(gpu.chip())?;
        let problem = self.dense_problem("measuring")?;
        let problems = alignments(&problem);
        let budget = budget / problems.len() as u32;
        let measured = self.tuned_on(gpu, &planner, &problem, budget, seen)?;
        for problem in &problems[1..] {
            self.tuned_on(gpu, &planner, problem, budget, &mut |_, _, _| {})?;
        }
        Ok(measured)
    }

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

/// Runs `plans` on `gpu` for about `budget`, on device memory of its own that is as large as what they need, and returns
/// those that ran, fastest first: at least one, unless there is none.
///
/// # Errors
/// [`Error::Cuda`] when a plan was put together wrongly or for another device, or there is no memory for it.
pub fn measure_on(
    gpu: &Gpu,
    plans: Vec<Plan>,
    budget: Duration,
) -> Result<Vec<Measurement>, Error> {
    measure_on_seen(gpu, plans, budget, &mut |_, _, _| {})
}

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
    let mut watch = Stopwatch::new(gpu, bytes)?;
    let run = |plan: &Plan| watch.time(&gpu.prepare(plan)?);
    Ok(tuner::measure(plans, budget, run, seen)?)
}

/// The problem, and out of place the same at addresses that have an element's alignment only, where that is less.
fn alignments(problem: &Problem) -> Vec<Problem> {
    let least = widest_word(&[problem.elem_bytes(), problem.alignment()]);
    let unaligned = Some(problem.with_alignment(least));
    let less = problem.is_out_of_place() && least < widest_word(&[problem.alignment()]);
    std::iter::once(*problem).chain(unaligned.filter(|_| less)).collect()
}

/// Whether two plans come to the same launches.
fn same_launches(one: &Plan, other: &Plan) -> bool {
    let calls = |plan: &Plan| Work::of_plan(plan).map(|work| work.calls().to_vec());
    calls(one) == calls(other)
}

impl GpuTransposer {
    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Out of place, the plan for buffers with an element's alignment only, where that is another launch.
    pub fn unaligned_plan(&self) -> Option<&Plan> {
        self.unaligned.as_ref()
    }

    /// Why what the wisdom file says of this problem was not used, if it says something.
    pub fn refused_wisdom(&self) -> Option<&StaleWisdom> {
        self.refused.as_ref()
    }

    /// Bytes of device memory that a run needs beyond the matrices; none out of place.
    pub fn workspace_bytes(&self) -> usize {
        self.prepared.workspace_bytes()
    }

    /// The same with a workspace of its own, allocated here; runs of it must not overlap.
    ///
    /// # Errors
    /// [`Error::Cuda`] when there is no memory for it.
    pub fn with_own_workspace(self) -> Result<Self, Error> {
        Ok(GpuTransposer { prepared: self.prepared.with_own_workspace()?, ..self })
    }

    /// Queues the transposition in place of the matrices in `data`, or of the one at its start with leading dimensions, on
    /// `stream`, with a workspace of its own
    /// ([`with_own_workspace`](Self::with_own_workspace)). Allocates nothing, waits for nothing; errors of the kernels'
    /// runs show at the caller's next synchronisation.
    ///
    /// # Errors
    /// [`Error::Cuda`]: `data` is too short or not as aligned as was said, otherwise to 16 bytes
    /// ([`Transpose::alignment`]); a workspace is needed and there is none of its own ([`CudaError::Workspace`]); the plan
    /// is out of place. Whatever is wrong with the arguments is found before anything is queued. After [`CudaError::Partial`]
    /// the data are incomplete.
    ///
    /// # Safety
    /// Memory and stream are of the GPU's context; until the queued work has ended, nothing else uses the memory from the
    /// first element to the last, gaps between rows included unless `lda = ldb`, and this is not dropped. Work that was
    /// captured in a graph has ended when the graph can no longer be launched.
    pub unsafe fn run(
        &self,
        data: impl Into<DeviceMemory>,
        stream: impl Into<StreamHandle>,
    ) -> Result<(), Error> {
        // SAFETY: the caller answers for all of it.
        unsafe { self.queue(stream.into(), data.into(), None, None) }
    }

    /// The same with a workspace of the caller's of at least [`workspace_bytes`](Self::workspace_bytes) bytes, at a
    /// multiple of 16, that overlaps no matrix.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    ///
    /// # Safety
    /// As of [`run`](Self::run), of the workspace too.
    pub unsafe fn run_with(
        &self,
        data: impl Into<DeviceMemory>,
        stream: impl Into<StreamHandle>,
        workspace: impl Into<DeviceMemory>,
    ) -> Result<(), Error> {
        // SAFETY: the caller answers for all of it.
        unsafe { self.queue(stream.into(), data.into(), None, Some(workspace.into())) }
    }

    /// Queues the transposition of the matrices in `src` into `dst` on `stream`. Allocates nothing, waits for nothing.
    ///
    /// # Errors
    /// [`Error::Cuda`]: a buffer is too short, not aligned to its elements, or the two overlap; the plan is in place.
    /// All that is found before anything is queued. After [`CudaError::Partial`] `dst` is incomplete.
    ///
    /// # Safety
    /// Memory and stream are of the GPU's context; until the queued work has ended, nothing else uses `dst` or writes
    /// `src`, and this is not dropped. Work that was captured in a graph has ended when the graph can no longer be
    /// launched.
    pub unsafe fn run_into(
        &self,
        src: impl Into<DeviceSource>,
        dst: impl Into<DeviceMemory>,
        stream: impl Into<StreamHandle>,
    ) -> Result<(), Error> {
        // SAFETY: the caller answers for all of it.
        unsafe { self.queue(stream.into(), dst.into(), Some(src.into()), None) }
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
        // SAFETY: the caller of this function's caller answers for all of it.
        Ok(unsafe { self.prepared.run_raw(stream.0, buffers) }?)
    }

    /// Bytes of a [`Stopwatch`]'s memory that a run takes: the matrices, or two buffers.
    pub fn measured_bytes(&self) -> usize {
        self.prepared.work().measured_bytes()
    }

    /// Runs on a stopwatch's memory and workspace, and returns how long the device took.
    ///
    /// # Errors
    /// [`Error::Cuda`]: the memory is shorter than [`measured_bytes`](Self::measured_bytes) or of another GPU, or there is no
    /// memory for the workspace.
    pub fn time(&self, watch: &mut Stopwatch) -> Result<Duration, Error> {
        Ok(watch.time(&self.prepared)?)
    }

    /// Runs on numbered elements in a stopwatch's memory, and says how many are not where they belong.
    ///
    /// # Errors
    /// As [`time`](Self::time).
    pub fn wrong_elements(&self, watch: &mut Stopwatch) -> Result<u64, Error> {
        if self.plan.problem.leading().is_some() {
            return Err(ProblemError::Leading { with: "numbered elements" }.into());
        }
        Ok(watch.wrong_elements(&self.plan.problem, &self.prepared)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use turntile_cuda::Chip;

    #[test]
    fn out_of_place_is_planned_for_two_alignments_where_they_differ() {
        let alignments = |transpose: Transpose| -> Vec<usize> {
            let problem = transpose.problem().unwrap();
            super::alignments(&problem).iter().map(Problem::alignment).collect()
        };
        let of = |elem_bytes| Transpose::of_bytes(300, 200, elem_bytes);
        assert_eq!(alignments(of(4)), [16]);
        assert_eq!(alignments(of(4).out_of_place()), [16, 4]);
        assert_eq!(alignments(of(12).out_of_place()), [16, 4]);
        assert_eq!(alignments(of(3).out_of_place()), [16, 1]);
        assert_eq!(alignments(of(4).out_of_place().alignment(256)), [256, 4]);
        assert_eq!(alignments(of(4).out_of_place().alignment(4)), [4]);
        assert_eq!(alignments(of(16).out_of_place()), [16]);
    }

    /// Floats of whole vectors go by wide words where addresses allow, and otherwise by their own.
    #[test]
    fn launches_are_compared() {
        let planner = Planner::new(Chip::h200());
        let plan = |rows, elem_bytes, alignment| {
            let problem = Problem::new(rows, 4096, elem_bytes).unwrap().out_of_place().unwrap();
            planner.plan(&problem.with_alignment(alignment)).unwrap()
        };
        assert!(!same_launches(&plan(4096, 4, 16), &plan(4096, 4, 4)));
        assert!(same_launches(&plan(4096, 4, 16), &plan(4096, 4, 256)));
        assert!(same_launches(&plan(4093, 4, 16), &plan(4093, 4, 4)), "rows are no whole vectors");
    }
}
