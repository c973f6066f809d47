//! Handlers of the custom call `turntile_transpose` for XLA, on the host and on GPUs.
//!
//! The operand and the first result are flat arrays that share one buffer. Attributes are `shape`,
//! `axes` and `itemsize`. On a GPU, a second result is the workspace: XLA may replay captured work
//! without calling the handler again, so the workspace must be memory that XLA assigned to the call.
//!
//! Plans are cached by attributes, not in the state of an executable: this part of the interface has
//! changed between versions. On a GPU they are made before the execution, outside of captures.
#![allow(unsafe_code)]

use std::collections::HashMap;
use std::ffi::{CString, c_int, c_void};
use std::hash::Hash;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use turntile::gpu::GpuTransposer;
use turntile::mode::Dynamic;
use turntile::plan::Problem;
use turntile::run::RunOptions;
use turntile::{Error, ErrorKind, Transposer, bytes};

use crate::gpu::{gpu, handle};
use crate::host::{asked, threads};
use crate::memory::Span;
use crate::xla_ffi as xla;
use crate::xla_ffi::{Api, Buffer, CallFrame, Metadata, MetadataExtension};

/// Maximum number of cached plans of each kind. All are dropped when it is exceeded.
const MOST_PLANS: usize = 1024;

/// Newest version of the interface, 0.`NEWEST_MINOR`, that these handlers know.
const NEWEST_MINOR: c_int = 3;

/// Failure of a call: an error that XLA made, or a code and a text.
enum Failure {
    Xla(*mut xla::Error),
    Text(c_int, String),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let code = match error.kind() {
            ErrorKind::OutOfMemory { .. } | ErrorKind::GpuOutOfMemory { .. } => {
                xla::RESOURCE_EXHAUSTED
            }
            ErrorKind::NoPlan => xla::UNIMPLEMENTED,
            ErrorKind::Gpu | ErrorKind::Incomplete => xla::INTERNAL,
            _ => xla::INVALID_ARGUMENT,
        };
        Failure::Text(code, error.to_string())
    }
}

fn invalid<T>(text: impl Into<String>) -> Result<T, Failure> {
    Err(Failure::Text(xla::INVALID_ARGUMENT, text.into()))
}

/// Attributes of a call.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Attributes {
    shape: Vec<usize>,
    axes: Vec<usize>,
    itemsize: usize,
}

/// Device and memory of a plan for a GPU.
#[derive(Clone, PartialEq, Eq, Hash)]
struct OnGpu {
    ordinal: usize,
    /// Workspace in bytes; `None` for a plan out of place.
    workspace: Option<usize>,
}

type Plans<K, P> = LazyLock<Mutex<HashMap<(Attributes, K), Arc<P>>>>;

static HOST_PLANS: Plans<(), Transposer<Dynamic>> = LazyLock::new(Mutex::default);
static GPU_PLANS: Plans<OnGpu, GpuTransposer<Dynamic>> = LazyLock::new(Mutex::default);

/// Returns the cached plan, or makes it.
fn planned<K: Hash + Eq, P>(
    plans: &Mutex<HashMap<(Attributes, K), Arc<P>>>,
    key: (Attributes, K),
    make: impl FnOnce(&Attributes, &K) -> Result<P, Error>,
) -> Result<Arc<P>, Failure> {
    let lock = || plans.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(plan) = lock().get(&key) {
        return Ok(plan.clone());
    }
    let plan = Arc::new(make(&key.0, &key.1)?);
    let mut plans = lock();
    if plans.len() >= MOST_PLANS {
        plans.clear();
    }
    plans.insert(key, plan.clone());
    Ok(plan)
}

/// Call frame whose size was checked.
struct Frame<'a>(&'a CallFrame);

/// Returns the `len` values at `start`.
///
/// # Safety
/// There are that many, valid for `'a`, unless `len` is not positive.
unsafe fn list<'a, T>(start: *const T, len: i64) -> &'a [T] {
    match usize::try_from(len) {
        // SAFETY: the caller guarantees it.
        Ok(len) if len > 0 => unsafe { std::slice::from_raw_parts(start, len) },
        _ => &[],
    }
}

impl<'a> Frame<'a> {
    fn api(&self) -> &'a Api {
        // SAFETY: XLA's functions exist while it calls the handler. Only fields that every version
        // has are read without a look at `struct_size`.
        unsafe { &*self.0.api }
    }

    /// Returns the attribute with this name, if its type is `kind`.
    fn attribute<T>(&self, name: &str, kind: c_int) -> Result<&'a T, Failure> {
        let all = &self.0.attrs;
        // SAFETY: each of the lists has `size` values.
        let (kinds, names, values) = unsafe {
            (list(all.types, all.size), list(all.names, all.size), list(all.attrs, all.size))
        };
        for ((&found, &span), &value) in kinds.iter().zip(names).zip(values) {
            // SAFETY: names are spans of bytes, and `value` is the structure that belongs to its
            // type.
            unsafe {
                if found == kind && list((*span).ptr, (*span).len as i64) == name.as_bytes() {
                    return Ok(&*value.cast::<T>());
                }
            }
        }
        invalid(format!("the call has no attribute {name} of the right type"))
    }

    /// Returns an attribute that is an array of sizes.
    fn sizes(&self, name: &str) -> Result<Vec<usize>, Failure> {
        let array: &xla::Array = self.attribute(name, xla::ATTR_ARRAY)?;
        if array.dtype != xla::S64 {
            return invalid(format!("attribute {name} is not an array of int64"));
        }
        // SAFETY: the array has `size` numbers of type int64.
        let numbers: &[i64] = unsafe { list(array.data.cast(), array.size as i64) };
        numbers.iter().map(|&number| size(name, number)).collect()
    }

    fn attributes(&self) -> Result<Attributes, Failure> {
        let itemsize: &xla::Scalar = self.attribute("itemsize", xla::ATTR_SCALAR)?;
        if itemsize.dtype != xla::S64 {
            return invalid("attribute itemsize is not an int64");
        }
        // SAFETY: the scalar is an int64.
        let itemsize = size("itemsize", unsafe { *itemsize.value.cast() })?;
        Ok(Attributes { shape: self.sizes("shape")?, axes: self.sizes("axes")?, itemsize })
    }

    /// Returns operands and results.
    fn buffers(&self) -> Result<(Vec<&'a Buffer>, Vec<&'a Buffer>), Failure> {
        let (args, rets) = (&self.0.args, &self.0.rets);
        // SAFETY: each of the lists has `size` values.
        let (kinds, other, args, rets) = unsafe {
            let kinds = (list(args.types, args.size), list(rets.types, rets.size));
            (kinds.0, kinds.1, list(args.args, args.size), list(rets.rets, rets.size))
        };
        let arrays = kinds.iter().all(|&kind| kind == xla::ARG_BUFFER)
            && other.iter().all(|&kind| kind == xla::RET_BUFFER);
        if !arrays {
            return invalid("operands and results must be arrays");
        }
        // SAFETY: values of these types are buffers, which exist during the call.
        let buffers = |all: &[*const Buffer]| all.iter().map(|&each| unsafe { &*each }).collect();
        Ok((buffers(args), buffers(rets)))
    }

    /// Returns the stream of a call on a GPU.
    fn stream(&self) -> Result<*mut c_void, Failure> {
        let mut of = xla::StreamGet {
            struct_size: size_of::<xla::StreamGet>(),
            extension_start: ptr::null_mut(),
            ctx: self.0.ctx,
            stream: ptr::null_mut(),
        };
        call(self.api().XLA_FFI_Stream_Get, &mut of)?;
        Ok(of.stream)
    }

    /// Returns the number of the GPU.
    fn ordinal(&self) -> Result<usize, Failure> {
        let end = std::mem::offset_of!(Api, XLA_FFI_DeviceOrdinal_Get) + size_of::<usize>();
        if self.api().struct_size < end {
            return Err(Failure::Text(xla::UNIMPLEMENTED, "jaxlib is too old".into()));
        }
        let mut of = xla::OrdinalGet {
            // Up to the last field, without the padding after it, as in the header.
            struct_size: std::mem::offset_of!(xla::OrdinalGet, device_ordinal) + size_of::<i32>(),
            extension_start: ptr::null_mut(),
            ctx: self.0.ctx,
            device_ordinal: 0,
        };
        call(self.api().XLA_FFI_DeviceOrdinal_Get, &mut of)?;
        size("the device's number", of.device_ordinal.into())
    }
}

fn size(name: &str, number: i64) -> Result<usize, Failure> {
    usize::try_from(number).or_else(|_| invalid(format!("{name} has the value {number}")))
}

/// Calls a function of XLA.
fn call<T>(function: xla::Call<T>, arguments: &mut T) -> Result<(), Failure> {
    let Some(function) = function else {
        return Err(Failure::Text(xla::UNIMPLEMENTED, "jaxlib is too old".into()));
    };
    // SAFETY: `T` is the structure of arguments of this function, with its size in it.
    match unsafe { function(arguments) } {
        error if error.is_null() => Ok(()),
        error => Err(Failure::Xla(error)),
    }
}

/// Memory of a call: operand, result and workspace.
struct Memory {
    from: Span,
    to: Span,
    workspace: Option<Span>,
}

impl Memory {
    fn of(frame: &Frame<'_>, problem: &Problem) -> Result<Self, Failure> {
        let (args, rets) = frame.buffers()?;
        let (&[from], [to, workspace @ ..]) = (&*args, &*rets) else {
            return invalid("the call needs one operand and at least one result");
        };
        let span = |buffer: &Buffer, itemsize: usize| {
            // SAFETY: a buffer has `rank` extents.
            let dims = unsafe { list(buffer.dims, buffer.rank) };
            let bytes = dims.iter().try_fold(itemsize, |bytes, &extent| {
                bytes.checked_mul(usize::try_from(extent).ok()?)
            });
            let span =
                bytes.and_then(|bytes| Span::new(buffer.data.expose_provenance(), bytes).ok());
            span.map_or_else(|| invalid("a buffer is not in the address space"), Ok)
        };
        let (from, to) = (span(from, problem.itemsize())?, span(to, problem.itemsize())?);
        let expected = problem.bytes();
        for got in [from.bytes(), to.bytes()] {
            if got != expected {
                return invalid(format!("the shape needs {expected} bytes, a buffer has {got}"));
            }
        }
        if from.address() != to.address() && from.overlaps(to) {
            return invalid("operand and result overlap");
        }
        let workspace = workspace.first().map(|buffer| span(buffer, 1)).transpose()?;
        Ok(Memory { from, to, workspace })
    }

    /// Returns whether the operand is also the result.
    fn in_place(&self) -> bool {
        self.from.address() == self.to.address()
    }
}

/// Returns the plan of a call on the host, in place.
fn host_plan(attributes: Attributes) -> Result<Arc<Transposer<Dynamic>>, Failure> {
    planned(&HOST_PLANS, (attributes, ()), |Attributes { shape, axes, itemsize }, ()| {
        asked(shape, axes, *itemsize, None, false).threads(threads(None)).plan()
    })
}

/// Handles a stage of a call.
fn handled(frame: &Frame<'_>, on_gpu: bool) -> Result<(), Failure> {
    let attributes = frame.attributes()?;
    let Attributes { shape, axes, itemsize } = &attributes;
    let what = asked(shape, axes, *itemsize, None, false);
    let problem = what.problem()?;
    let small = !on_gpu && bytes::is_small(&problem);
    if frame.0.stage == xla::STAGE_INSTANTIATE {
        return if on_gpu || small { Ok(()) } else { host_plan(attributes).map(drop) };
    }
    let memory = Memory::of(frame, &problem)?;
    if problem.bytes() == 0 {
        return Ok(());
    }
    if on_gpu {
        return on_device(frame, attributes, &memory);
    }
    // SAFETY: XLA keeps both buffers for this call, and nothing else writes them until it returns.
    // `Memory` checked that they do not overlap if they differ.
    let data = unsafe { memory.to.write() };
    if !memory.in_place() {
        // SAFETY: as above.
        let from = unsafe { memory.from.read() };
        bytes::permute_into(from, data, shape, axes, *itemsize)?;
    } else if small {
        bytes::permute_in_place(data, shape, axes, *itemsize)?;
    } else {
        host_plan(attributes)?.run(data, RunOptions::new())?;
    }
    Ok(())
}

/// Handles a stage of a call on a GPU: loads the kernels, and then queues the run.
fn on_device(frame: &Frame<'_>, attributes: Attributes, memory: &Memory) -> Result<(), Failure> {
    let workspace = memory.workspace.filter(|_| memory.in_place());
    let key = OnGpu {
        ordinal: frame.ordinal()?,
        workspace: memory.in_place().then(|| workspace.map_or(0, Span::bytes)),
    };
    let plan = planned(&GPU_PLANS, (attributes, key), |attributes, key| {
        let Attributes { shape, axes, itemsize } = attributes;
        let what = asked(shape, axes, *itemsize, key.workspace, key.workspace.is_none());
        what.plan_on(&gpu(key.ordinal)?)
    })?;
    if frame.0.stage == xla::STAGE_INITIALIZE {
        return Ok(());
    }
    let place = |span: Span| (span.address() as u64, span.bytes());
    let stream = handle(frame.stream()?.expose_provenance());
    // SAFETY: XLA assigned this memory of the device's primary context to the call, on this stream
    // of it, which orders the other work on it. Loaded kernels are never dropped.
    let queued = unsafe {
        match (memory.in_place(), workspace) {
            (false, _) => plan.run_into(place(memory.from), place(memory.to), stream),
            (true, Some(workspace)) => plan.run_with(place(memory.to), stream, place(workspace)),
            (true, None) => plan.run(place(memory.to), stream),
        }
    };
    Ok(queued?)
}

/// Describes the handler to XLA. Releases with version 0.1 of the interface pass no functions.
fn described(api: Option<&Api>, metadata: &mut Metadata) {
    metadata.api_version = xla::Version {
        struct_size: size_of::<xla::Version>(),
        extension_start: ptr::null_mut(),
        major_version: 0,
        minor_version: api.map_or(1, |api| api.api_version.minor_version.min(NEWEST_MINOR)),
    };
    metadata.traits = xla::COMMAND_BUFFER_COMPATIBLE as u32;
}

/// Handler of all stages. Returns null or an error.
unsafe extern "C" fn handler<const ON_GPU: bool>(frame: *mut CallFrame) -> *mut xla::Error {
    // SAFETY: XLA passes a call frame, and keeps what it refers to until the handler returns.
    let frame = Frame(unsafe { &*frame });
    // SAFETY: an extension is null or a structure of its type, which the handler may fill in.
    let asked = unsafe {
        let extension = frame.0.extension_start;
        let asks = !extension.is_null() && (*extension).r#type == xla::EXTENSION_METADATA;
        asks.then(|| &mut *(*extension.cast::<MetadataExtension>()).metadata)
    };
    if let Some(metadata) = asked {
        // SAFETY: null, or XLA's functions.
        described(unsafe { frame.0.api.as_ref() }, metadata);
        return ptr::null_mut();
    }
    let done = catch_unwind(AssertUnwindSafe(|| {
        if frame.0.struct_size < size_of::<CallFrame>() {
            return Err(Failure::Text(xla::UNIMPLEMENTED, "jaxlib is too old".into()));
        }
        handled(&frame, ON_GPU)
    }));
    let (errc, text) = match done {
        Ok(Ok(())) => return ptr::null_mut(),
        Ok(Err(Failure::Xla(error))) => return error,
        Ok(Err(Failure::Text(code, text))) => (code, text),
        Err(_) => (xla::INTERNAL, "a bug in turntile: the handler panicked".into()),
    };
    let message = CString::new(format!("turntile: {text}")).unwrap_or_default();
    let mut of = xla::ErrorCreate {
        struct_size: std::mem::offset_of!(xla::ErrorCreate, errc) + size_of::<c_int>(),
        extension_start: ptr::null_mut(),
        message: message.as_ptr(),
        errc,
    };
    match frame.api().XLA_FFI_Error_Create {
        // SAFETY: these are its arguments. It copies the message.
        Some(create) => unsafe { create(&mut of) },
        None => std::process::abort(),
    }
}

/// Returns the address of the handler for GPUs, or for the host.
#[pyfunction]
pub fn jax_handler(on_gpu: bool) -> usize {
    let handler: unsafe extern "C" fn(*mut CallFrame) -> *mut xla::Error =
        if on_gpu { handler::<true> } else { handler::<false> };
    handler as usize
}

/// Returns the layout of the structures of XLA's interface, and its constants, for a comparison with
/// the header.
#[pyfunction]
pub fn jax_interface(py: Python<'_>) -> PyResult<Bound<'_, PyTuple>> {
    (xla::layout(), xla::CONSTANTS.to_vec()).into_pyobject(py)
}
