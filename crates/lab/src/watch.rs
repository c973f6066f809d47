//! The lab's programs checked and timed on a GPU, on memory of its own.
//!
//! Everything here is safe to call: only programs of this crate are run, whose buffers are laid out within the memory
//! that was allocated, and each call waits for what it queued.
#![allow(unsafe_code)]

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::time::Duration;

use turntile::gpu::{CudaError, Gpu, Stopwatch};
use turntile_cuda::user_kernels::{LaunchDims, UserKernels};
use turntile_cuda::{BenchMemory, Buffers, Prepared};
use turntile_plan::Problem;

use crate::code::Code;
use crate::program::{Launch, Program, Step};

/// A GPU, memory to run on, and the code that was loaded. A module's code is compiled when the first program needs it,
/// which takes seconds for the ladder.
#[derive(Debug)]
pub struct Watch {
    gpu: Gpu,
    watch: Stopwatch,
    kernels: HashMap<Code, UserKernels>,
}

impl Watch {
    /// With `bytes` bytes of `gpu`'s memory.
    ///
    /// # Errors
    /// [`CudaError::OutOfMemory`].
    pub fn new(gpu: &Gpu, bytes: usize) -> Result<Self, CudaError> {
        let watch = Stopwatch::new(gpu, bytes)?;
        Ok(Watch { gpu: gpu.clone(), watch, kernels: HashMap::new() })
    }

    /// Which.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// Loads what a program needs.
    ///
    /// # Errors
    /// [`CudaError::Length`] where its buffers are longer than the memory; [`CudaError::Driver`] where the driver
    /// refuses the code.
    pub fn load(&mut self, program: &Program) -> Result<Ready<'_>, CudaError> {
        for step in program.steps() {
            if let Step::Kernel(launch, _) = step
                && let Entry::Vacant(place) = self.kernels.entry(launch.code)
            {
                let entries: Vec<&str> = launch.code.entries().collect();
                // SAFETY: it is PTX, a text.
                place.insert(unsafe { self.gpu.load_kernels(launch.code.ptx(), &entries) }?);
            }
        }
        let (gpu, kernels) = (&self.gpu, &self.kernels);
        let run = |step: &Step| {
            Ok(match step {
                &Step::Kernel(launch, buffers) => {
                    let kernels = &kernels[&launch.code];
                    let have = kernels.entries().count();
                    let entry = kernels.entries().position(|name| name == launch.entry);
                    let entry = entry.ok_or(CudaError::NoEntry { entry: have, have })?;
                    (Run::Kernel { kernels, entry, launch }, buffers)
                }
                Step::Work(work, buffers) => {
                    (Run::Prepared(gpu.prepare_work((**work).clone())?), *buffers)
                }
            })
        };
        let steps = program.steps().iter().map(run).collect::<Result<_, CudaError>>()?;
        let (places, end) = program.laid_out();
        let places = places.into_iter().zip(program.buffers().iter().copied()).collect();
        Ok(Ready { watch: &mut self.watch, steps, buffers: Layout { places, end }, next: 0 })
    }

    /// Runs a plan, and returns how long the device took.
    ///
    /// # Errors
    /// As [`Stopwatch::time`].
    pub fn time(&mut self, prepared: &Prepared) -> Result<Duration, CudaError> {
        self.watch.time(prepared)
    }

    /// Elements that a plan leaves wrong.
    ///
    /// # Errors
    /// As [`Stopwatch::wrong_elements`].
    pub fn wrong_elements(&mut self, of: &Problem, by: &Prepared) -> Result<u64, CudaError> {
        self.watch.wrong_elements(of, by)
    }

    /// How long a copy of so many bytes takes.
    ///
    /// # Errors
    /// As [`Stopwatch::time_copy`].
    pub fn time_copy(&mut self, bytes: usize) -> Result<Duration, CudaError> {
        self.watch.time_copy(bytes)
    }
}

/// A program whose code is loaded, on the memory of the device that it borrows.
#[derive(Debug)]
pub struct Ready<'a> {
    watch: &'a mut Stopwatch,
    steps: Vec<(Run<'a>, [usize; 2])>,
    buffers: Layout,
    /// Bytes from the start of memory to where it runs next in turn.
    next: usize,
}

#[derive(Debug)]
enum Run<'a> {
    Kernel { kernels: &'a UserKernels, entry: usize, launch: Launch },
    Prepared(Prepared),
}

/// Bytes from the start of memory to each buffer, with its own; and to the end of the last.
#[derive(Debug)]
struct Layout {
    places: Vec<(usize, usize)>,
    end: usize,
}

impl Ready<'_> {
    /// Runs it, and says how long the device took.
    ///
    /// # Errors
    /// [`CudaError::Length`] where the buffers are longer than the memory, [`CudaError::Driver`].
    pub fn time(&mut self) -> Result<Duration, CudaError> {
        let Ready { watch, steps, buffers, .. } = self;
        // SAFETY: `queue` uses the stream and the memory that it is given; the code lives as long as `self`, and
        // `time_raw` has waited when it returns.
        unsafe { watch.time_raw(|ground| queue(steps, buffers, ground)) }
    }

    /// The same on the memory behind that of the last time, so that nothing of it is found in a cache. The buffers hold
    /// anything.
    ///
    /// # Errors
    /// As [`time`](Self::time).
    pub fn time_in_turn(&mut self) -> Result<Duration, CudaError> {
        let Ready { watch, steps, buffers, next } = self;
        let in_turn = |ground: BenchMemory| {
            let at = if *next + buffers.end <= ground.bytes { *next } else { 0 };
            *next = at + buffers.end;
            let (address, bytes) = (ground.address + at as u64, ground.bytes - at);
            // SAFETY: as in `time`; it is a part of that memory.
            unsafe { queue(steps, buffers, BenchMemory { address, bytes, ..ground }) }
        };
        // SAFETY: as in `time`.
        unsafe { watch.time_raw(in_turn) }
    }

    /// Fills the second buffer, or where `problem` is in place the first, with numbered elements, runs, and counts those that
    /// `problem` would have put elsewhere in the first.
    ///
    /// # Errors
    /// As [`time`](Self::time); [`CudaError::Length`] where the elements are longer than the memory behind a buffer.
    pub fn wrong(&mut self, problem: &Problem) -> Result<u64, CudaError> {
        let Ready { watch, steps, buffers, .. } = self;
        let places = if problem.is_out_of_place() { [0, 1] } else { [0, 0] };
        let [to, from] = places.map(|k| buffers.places.get(k).map_or(0, |place| place.0));
        // SAFETY: as in `time`.
        unsafe { watch.wrong_raw(problem, [to, from], |ground| queue(steps, buffers, ground)) }
    }

    /// Puts `bytes` at the start of a buffer.
    ///
    /// # Errors
    /// [`CudaError::Length`] where they do not fit.
    ///
    /// # Panics
    /// When there is no buffer of that number.
    pub fn put(&mut self, buffer: usize, bytes: &[u8]) -> Result<(), CudaError> {
        self.watch.put(self.buffers.places[buffer].0, bytes)
    }

    /// Fills `bytes` with what is at the start of a buffer.
    ///
    /// # Errors
    /// [`CudaError::Length`] where there are not so many.
    ///
    /// # Panics
    /// When there is no buffer of that number.
    pub fn take(&self, buffer: usize, bytes: &mut [u8]) -> Result<(), CudaError> {
        self.watch.take(self.buffers.places[buffer].0, bytes)
    }
}

/// Queues the steps of a program on a stopwatch's stream, within its memory.
///
/// # Safety
/// `ground` is of the GPU that the steps were loaded on, and nothing else uses its memory until they have ended, which
/// they outlive.
unsafe fn queue(
    steps: &[(Run, [usize; 2])],
    buffers: &Layout,
    ground: BenchMemory,
) -> Result<(), CudaError> {
    let BenchMemory { stream, address, bytes: have } = ground;
    if buffers.end > have {
        return Err(CudaError::Length { what: "program", need: buffers.end, have });
    }
    for (run, numbers) in steps {
        let places = numbers.map(|number| {
            let (at, bytes) = buffers.places[number];
            (address + at as u64, bytes)
        });
        let [(to, _), (from, _)] = places;
        match run {
            Run::Kernel { kernels, entry, launch } => {
                let Launch { groups, threads, shared_bytes, .. } = *launch;
                let config =
                    LaunchDims { groups, threads, shared_bytes, cluster: 1, cooperative: false };
                let params = launch.params.at(to, from);
                // SAFETY: the entry point takes one parameter, of this structure (`tests/args.rs`, `tests/kernels.rs`).
                // It reads the second buffer and writes the first, or moves what is in the first, as far as its
                // extents say, which are the buffers' (`tests/kernels.rs` follows it); no block waits for another
                // (`code.rs`). A chase's places are data, and kept within the memory by the kernel. The rest is the caller's.
                unsafe {
                    kernels.launch(*entry, config, &[params.bytes().as_ptr().cast()], stream)?;
                }
            }
            Run::Prepared(prepared) => {
                let [data, second] = places;
                let (source, workspace) = match prepared.work().is_out_of_place() {
                    true => (Some(second), None),
                    false => (None, Some(second)),
                };
                // SAFETY: both buffers lie in the memory, which is the caller's word for the rest.
                unsafe { prepared.run_raw(stream, Buffers { data, source, workspace })? }
            }
        }
    }
    Ok(())
}
