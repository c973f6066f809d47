//! Parts shared by the GPU executables: a context, device memory, and filling and comparing on the
//! device.
#![allow(dead_code)]

use std::error::Error;
use std::ffi::c_void;

use cust::context::Context;
use cust::function::Function;
use cust::launch;
use cust::memory::{CopyDestination, DeviceBuffer, DeviceCopy, DevicePointer};
use cust::module::Module;
use cust::stream::{Stream, StreamFlags};
use turntile_cuda::buffers::Place;
use turntile_cuda::check::{PlainAxes, plain_axes, plain_flipped};
use turntile_cuda::family::Family;
use turntile_cuda::{BitMatrix, Buffers, CudaError, Gpu, Prepared, Work};
use turntile_perm::{AlignedSlots, Elementary, FlippedAxes, FusedAxes, LayoutChange, LeadingDims};

/// Extents of aligned slots, as a parameter of the checking kernel.
#[derive(Clone, Copy, DeviceCopy)]
#[repr(C)]
struct Extents([u64; 4]);

/// Leading dimensions, or packed matrices, as a parameter of the checking kernel.
#[derive(Clone, Copy, DeviceCopy)]
#[repr(C)]
struct Pitches([u64; 5]);

/// Records, as a parameter of the checking kernel: counts, field widths and field positions.
#[derive(Clone, Copy, DeviceCopy)]
#[repr(C)]
struct Records([u64; 5], [[u32; 64]; 2]);

/// Axes, as a parameter of the checking kernel.
#[derive(Clone, Copy, DeviceCopy)]
#[repr(C)]
struct Axes(PlainAxes);

/// A GPU with a context, a stream and the checking kernels.
pub struct Bench {
    pub gpu: Gpu,
    pub stream: Stream,
    module: Module,
    answer: DeviceBuffer<u64>,
    // Dropped last, because all other fields belong to this context.
    _context: Context,
}

impl Bench {
    pub fn new() -> Self {
        let context = cust::quick_init().expect("a GPU and its driver");
        let ptx = Family::Check.ptx(4).trim_end_matches('\0');
        let module = Module::from_ptx(ptx, &[]).expect("the driver takes PTX 8.4");
        let stream = Stream::new(StreamFlags::NON_BLOCKING, None).expect("a stream");
        let answer = DeviceBuffer::from_slice(&[0u64; 2]).expect("16 bytes");
        let gpu = Gpu::current().expect("a context is current");
        Bench { gpu, stream, module, answer, _context: context }
    }

    pub fn raw_stream(&self) -> *mut c_void {
        self.stream.as_inner().cast()
    }

    pub fn function(&self, name: &str) -> Function<'_> {
        self.module.get_function(name).expect("the checking kernels have it")
    }

    /// Sets element i to a hash of i.
    pub fn fill(&self, data: u64, elements: usize, bytes: usize) {
        let (fill, stream) = (self.function("check_fill"), &self.stream);
        // SAFETY: the parameters match the kernel's, and the memory is as long as the caller
        // states.
        unsafe { launch!(fill<<<2048, 256, 0, stream>>>(data, elements as u64, bytes as u32)) }
            .expect("launches");
    }

    /// Returns the number of elements that are not where `e` moves the elements written by `fill`,
    /// and the first such element.
    pub fn wrong(&mut self, data: u64, e: Elementary, bytes: usize) -> (u64, u64) {
        let Elementary { batch, rows, mid, cols, unit } = e;
        let axes = FusedAxes::new(&[batch, rows, mid, cols, unit], &[0, 3, 2, 1, 4]);
        self.wrong_axes(data, &axes.expect("elements that can be counted"), bytes)
    }

    /// Returns the number of wrong elements after an axis permutation of filled memory, and the
    /// first.
    pub fn wrong_axes(&mut self, data: u64, axes: &FusedAxes, bytes: usize) -> (u64, u64) {
        let elements = axes.extents().iter().product();
        self.wrong_plain(data, elements, plain_axes(axes), bytes)
    }

    /// Returns the number of wrong elements after a permutation with reversed axes of filled memory,
    /// and the first.
    pub fn wrong_flipped(&mut self, data: u64, axes: &FlippedAxes, bytes: usize) -> (u64, u64) {
        self.wrong_plain(data, axes.len(), plain_flipped(axes), bytes)
    }

    fn wrong_plain(
        &mut self,
        data: u64,
        elements: usize,
        axes: PlainAxes,
        bytes: usize,
    ) -> (u64, u64) {
        let (elements, plain) = (elements as u64, Axes(axes));
        self.count(|bench, answer| {
            let (check, stream) = (bench.function("check_axes"), &bench.stream);
            // SAFETY: the parameters match the kernel's, and the memory is as long as the caller
            // states.
            unsafe {
                launch!(check<<<2048, 256, 0, stream>>>(data, elements, plain, bytes as u32, answer))
            }
        })
    }

    /// Returns the number of wrong elements after a pass of aligned slots on filled memory, and the
    /// first. Passes 0 to 3 are gather, move, and the inverse of each.
    pub fn wrong_slots(
        &mut self,
        data: u64,
        (batch, slots): (usize, &AlignedSlots),
        pass: u32,
        bytes: usize,
    ) -> (u64, u64) {
        let extents = [slots.rows(), slots.cols(), slots.slot(), slots.chunk()];
        let extents = Extents(extents.map(|extent| extent as u64));
        self.count(|bench, answer| {
            let (check, stream) = (bench.function("check_slots"), &bench.stream);
            let (batch, bytes) = (batch as u64, bytes as u32);
            // SAFETY: the parameters match the kernel's, and the memory is as long as the caller
            // states.
            unsafe {
                launch!(check<<<2048, 256, 0, stream>>>(data, batch, extents, pass, bytes, answer))
            }
        })
    }

    /// Returns the number of wrong elements, gaps included, after a change of leading dimensions of
    /// filled memory, and the first.
    pub fn wrong_leading(&mut self, data: u64, leading: &LeadingDims, bytes: usize) -> (u64, u64) {
        let (source, result) = (leading.source(), leading.result());
        let turned = usize::from(leading.is_transposed());
        let pitches = [source.rows(), source.cols(), source.pitch(), result.pitch(), turned];
        let (pitches, span) = (Pitches(pitches.map(|extent| extent as u64)), leading.span() as u64);
        self.count(|bench, answer| {
            let (check, stream) = (bench.function("check_leading"), &bench.stream);
            let bytes = bytes as u32;
            // SAFETY: the parameters match the kernel's, and the memory is as long as the caller
            // states.
            unsafe { launch!(check<<<2048, 256, 0, stream>>>(data, span, pitches, bytes, answer)) }
        })
    }

    /// Returns the number of wrong words after a change of the records' tiling in filled memory,
    /// and the first.
    pub fn wrong_records(&mut self, data: u64, retile: &LayoutChange, bytes: usize) -> (u64, u64) {
        let fields = retile.schema();
        let numbers =
            [fields.records(), fields.words(), fields.count(), retile.from(), retile.to()];
        let of_each = |of: &dyn Fn(usize) -> usize| {
            std::array::from_fn(|f| if f < fields.count() { of(f) as u32 } else { 0 })
        };
        let place = |f| fields.begin_in(turntile_perm::AOS, f);
        let lists = [of_each(&|f| fields.width(f)), of_each(&place)];
        let records = Records(numbers.map(|number| number as u64), lists);
        self.count(|bench, answer| {
            let (check, stream) = (bench.function("check_records"), &bench.stream);
            let bytes = bytes as u32;
            // SAFETY: the parameters match the kernel's, and the memory is as long as the caller
            // states.
            unsafe { launch!(check<<<2048, 256, 0, stream>>>(data, records, bytes, answer)) }
        })
    }

    /// Returns the number of wrong bytes of transposed packed matrices at `data`, whose source is at
    /// `from`, and the first.
    pub fn wrong_bits(&mut self, data: u64, from: u64, matrix: &BitMatrix) -> (u64, u64) {
        let &BitMatrix { batch, rows, cols, per_byte, big } = matrix;
        let extents = [batch, rows, cols, per_byte, usize::from(big)];
        let extents = Pitches(extents.map(|extent| extent as u64));
        self.count(|bench, answer| {
            let (check, stream) = (bench.function("check_bits"), &bench.stream);
            // SAFETY: the parameters match the kernel's, and the memory is as long as the matrices.
            unsafe { launch!(check<<<2048, 256, 0, stream>>>(data, from, extents, answer)) }
        })
    }

    /// Returns the number of errors that a checking kernel counts, and the first.
    fn count(
        &mut self,
        check: impl Fn(&Bench, DevicePointer<u64>) -> Result<(), cust::error::CudaError>,
    ) -> (u64, u64) {
        self.answer.copy_from(&[0, u64::MAX]).expect("16 bytes");
        check(self, self.answer.as_device_ptr()).expect("launches");
        self.stream.synchronize().expect("the kernels end well");
        let mut answer = [0; 2];
        self.answer.copy_to(&mut answer).expect("16 bytes");
        (answer[0], answer[1])
    }

    /// Loads the kernels of `work`.
    pub fn prepare(&self, work: Work) -> Result<Prepared, CudaError> {
        self.gpu.prepare_work(work)
    }
}

/// Runs in place on memory that the caller has checked to be long enough.
pub fn run(
    prepared: &Prepared,
    bench: &Bench,
    data: u64,
    bytes: usize,
    workspace: &DeviceBuffer<u8>,
) -> Result<(), CudaError> {
    let workspace = (workspace.as_device_ptr().as_raw(), workspace.len());
    // SAFETY: `data` and `workspace` are live allocations in the bench's context, and nothing else
    // uses them.
    unsafe { prepared.run_raw(bench.raw_stream(), in_place((data, bytes), Some(workspace))) }
}

/// Returns the buffers of a run in place.
pub fn in_place(data: Place, workspace: Option<Place>) -> Buffers {
    Buffers { data, source: None, workspace }
}

/// Runs from the second buffer to the first.
pub fn run_into(
    prepared: &Prepared,
    bench: &Bench,
    [data, source]: [Place; 2],
) -> Result<(), CudaError> {
    let buffers = Buffers { data, source: Some(source), workspace: None };
    // SAFETY: the buffers are live allocations in the bench's context, and nothing else uses them.
    unsafe { prepared.run_raw(bench.raw_stream(), buffers) }
}

/// Runs `work` `times` times on numbered elements, `skew` bytes from an aligned address. Returns
/// the number of runs that failed or after which `wrong` found wrong elements.
pub fn repeat(
    bench: &mut Bench,
    work: Work,
    (elements, elem): (usize, usize),
    skew: usize,
    times: usize,
    what: &str,
    wrong: impl Fn(&mut Bench, u64) -> (u64, u64),
) -> usize {
    let (need, room) = (work.workspace_bytes(), work.bytes());
    let prepared = match bench.prepare(work) {
        Ok(prepared) => prepared,
        Err(error) => {
            println!("  FAILED {what}: {error}");
            return 1;
        }
    };
    let (data, workspace) = (memory(room + skew), memory(need.max(16)));
    let data_address = address(&data) + skew as u64;
    let mut failures = 0;
    for _ in 0..times {
        bench.fill(data_address, elements, elem);
        if let Err(error) = run(&prepared, bench, data_address, room, &workspace) {
            println!("  FAILED {what}: {error}");
            return failures + 1;
        }
        let (wrong, first) = wrong(bench, data_address);
        if wrong > 0 {
            println!("  WRONG {what}: {wrong} elements, the first at {first}");
            failures += 1;
        }
    }
    failures
}

/// Bytes in memory after a run.
pub type Left = Result<Vec<u8>, Box<dyn Error>>;

/// Copies `before` to the start of `data`, runs on `bytes` bytes from offset `at`, and returns the
/// memory afterwards.
pub fn run_on(
    prepared: &Prepared,
    bench: &Bench,
    (data, before): (&DeviceBuffer<u8>, &[u8]),
    (at, bytes): (usize, usize),
    workspace: &DeviceBuffer<u8>,
) -> Left {
    data.index(0..before.len()).copy_from(before)?;
    run(prepared, bench, address(data) + at as u64, bytes, workspace)?;
    left(bench, data, before.len())
}

/// Returns the first bytes of `data` after all queued work is complete.
pub fn left(bench: &Bench, data: &DeviceBuffer<u8>, bytes: usize) -> Left {
    bench.stream.synchronize()?;
    let mut left = vec![0; bytes];
    data.index(0..bytes).copy_to(&mut left)?;
    Ok(left)
}

/// Returns a description of the first wrong byte after a run, or `None`. Compares only bytes that
/// are `known`.
pub fn fault(left: Left, want: &[u8], known: impl Fn(usize) -> bool) -> Option<String> {
    let left = match left {
        Ok(left) => left,
        Err(error) => return Some(error.to_string()),
    };
    let wrong = (0..want.len()).filter(|&k| known(k) && left[k] != want[k]).count();
    (wrong > 0).then(|| format!("{wrong} bytes"))
}

/// Returns bytes that differ where a wrong permutation would swap them.
pub fn pattern(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|k| (k * 131 + k / 251 + k / 65521) as u8).collect()
}

pub fn address(buffer: &DeviceBuffer<u8>) -> u64 {
    buffer.as_device_ptr().as_raw()
}

/// Allocates device memory without initialising it.
pub fn memory(bytes: usize) -> DeviceBuffer<u8> {
    // SAFETY: nothing reads the memory before it is written.
    unsafe { DeviceBuffer::uninitialized(bytes) }.expect("device memory")
}
