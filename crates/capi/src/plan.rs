//! Calls that create, run and destroy plans.
#![allow(unsafe_code)]

use std::ffi::{c_char, c_void};

use turntile::Transposer;
use turntile::gpu::{DeviceMemory, DeviceSource, GpuTransposer};
use turntile::mode::Dynamic;
use turntile::run::RunOptions;

use crate::desc::{Desc, WORKSPACE_UNIT};
use crate::last_error::answer;
use crate::memory::RawMemory;
use crate::status::{Failure, Status};

/// A plan (`turntile_plan`), for the CPU or a GPU.
#[derive(Debug)]
pub enum PlanHandle {
    /// Runs on CPU threads.
    Cpu(Box<Transposer<Dynamic>>),
    /// Runs on a GPU.
    Gpu(Box<GpuTransposer<Dynamic>>),
}

impl PlanHandle {
    /// Returns the plan.
    fn plan(&self) -> &turntile::plan::Plan {
        match self {
            PlanHandle::Cpu(planned) => planned.plan(),
            PlanHandle::Gpu(planned) => planned.plan(),
        }
    }

    /// Checks that the plan is in place, or out of place.
    fn in_place(&self, wanted: bool) -> Result<(), Failure> {
        let out_of_place = self.plan().problem.is_out_of_place();
        if out_of_place == wanted { Err(Failure::Place { out_of_place }) } else { Ok(()) }
    }

    /// Returns the minimum size of the data in bytes.
    fn data_bytes(&self) -> usize {
        self.plan().problem.span_bytes()
    }

    /// Returns the size of the workspace in bytes, rounded up to whole units.
    fn workspace_bytes(&self) -> usize {
        let bytes = match self {
            PlanHandle::Cpu(planned) => planned.workspace_bytes(),
            PlanHandle::Gpu(planned) => planned.workspace_bytes(),
        };
        bytes.next_multiple_of(WORKSPACE_UNIT)
    }
}

/// Returns the plan at `plan`.
///
/// # Safety
/// `plan` must be NULL or a plan that exists for `'a`.
unsafe fn at<'a>(plan: *const PlanHandle) -> Result<&'a PlanHandle, Failure> {
    // SAFETY: the caller guarantees the plan.
    unsafe { plan.as_ref() }.ok_or(Failure::Null { what: "plan" })
}

/// Creates a plan, and writes it to `plan`, or NULL on failure.
///
/// # Safety
/// `desc` must be NULL or point to a descriptor whose arrays have `ndim` extents and axes. `plan` must be NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turntile_plan_create(
    desc: *const Desc,
    plan: *mut *mut PlanHandle,
) -> Status {
    answer(|| {
        if plan.is_null() {
            return Err(Failure::Null { what: "plan" });
        }
        // SAFETY: not NULL, and the caller guarantees that it is writable.
        unsafe { plan.write(std::ptr::null_mut()) };
        // SAFETY: the caller guarantees the conditions above.
        let desc = unsafe { Desc::read(desc) }?;
        // SAFETY: the caller guarantees the conditions above.
        let transpose = unsafe { desc.transpose() }?;
        let made = match desc.gpu()? {
            None => PlanHandle::Cpu(Box::new(transpose.plan()?)),
            Some(gpu) => PlanHandle::Gpu(Box::new(transpose.plan_on(&gpu)?)),
        };
        // SAFETY: not NULL, and the caller guarantees that it is writable.
        unsafe { plan.write(Box::into_raw(Box::new(made))) };
        Ok(())
    })
}

/// Destroys a plan. Does nothing for NULL.
///
/// # Safety
/// `plan` must be NULL or a plan that is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turntile_plan_destroy(plan: *mut PlanHandle) {
    answer(|| {
        if !plan.is_null() {
            // SAFETY: `turntile_plan_create` created the box, and nothing else owns it.
            drop(unsafe { Box::from_raw(plan) });
        }
        Ok(())
    });
}

/// Returns the bytes of workspace that a run needs; 0 for NULL.
///
/// # Safety
/// `plan` must be NULL or a plan.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turntile_plan_workspace(plan: *const PlanHandle) -> usize {
    let mut bytes = 0;
    answer(|| {
        // SAFETY: the caller guarantees the conditions above.
        bytes = unsafe { at(plan) }?.workspace_bytes();
        Ok(())
    });
    bytes
}

/// Writes a description of the plan to `text`, truncated to `text_bytes` bytes with its NUL, and
/// returns the size of the whole.
///
/// # Safety
/// `plan` must be NULL or a plan. `text` must be NULL or writable for `text_bytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turntile_plan_text(
    plan: *const PlanHandle,
    text: *mut c_char,
    text_bytes: usize,
) -> usize {
    let mut need = 0;
    answer(|| {
        // SAFETY: the caller guarantees the conditions above.
        let mut all = format!("{:#}", unsafe { at(plan) }?.plan()).into_bytes();
        all.push(0);
        need = all.len();
        let room = RawMemory::new("text", text.cast(), text_bytes)?;
        let room = room.first(text_bytes.min(need))?;
        // SAFETY: the caller guarantees the conditions above.
        let room = unsafe { room.to_write() };
        room.copy_from_slice(&all[..room.len()]);
        room.last_mut().into_iter().for_each(|last| *last = 0);
        Ok(())
    });
    need
}

/// Runs a plan in place.
///
/// # Safety
/// `plan` must be NULL or a plan. `data` and `workspace` must be memory of the plan's device with
/// these sizes, and nothing else may use them until the run has ended. On a GPU, `stream` must be
/// NULL or a stream of the plan's context, and the plan must exist until its work has ended.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turntile_execute(
    plan: *const PlanHandle,
    data: *mut c_void,
    data_bytes: usize,
    workspace: *mut c_void,
    workspace_bytes: usize,
    stream: *mut c_void,
) -> Status {
    answer(|| {
        // SAFETY: the caller guarantees the conditions above.
        let plan = unsafe { at(plan) }?;
        plan.in_place(true)?;
        let data = RawMemory::new("data", data, data_bytes)?;
        let memory = RawMemory::new("workspace", workspace, workspace_bytes)?;
        let (need, have) = (plan.workspace_bytes(), workspace_bytes);
        let own = workspace.is_null() && matches!(plan, PlanHandle::Cpu(_));
        if have < need && !own {
            return Err(Failure::Workspace { need, have });
        }
        let data = data.first(plan.data_bytes())?;
        let memory = memory.first(if own { 0 } else { need })?.apart_from(data)?;
        match plan {
            PlanHandle::Cpu(planned) => {
                on_cpu(stream)?;
                // SAFETY: the caller guarantees the bytes; they fit the address space and do not overlap.
                let (data, words) = unsafe { (data.to_write(), memory.words()?) };
                let options = RunOptions::new();
                let options = if own { options } else { options.workspace_in(words) };
                planned.run(data, options)?;
            }
            PlanHandle::Gpu(planned) => {
                // SAFETY: the caller guarantees the conditions above.
                unsafe { planned.run_with(device(data), stream, device(memory)) }?;
            }
        }
        Ok(())
    })
}

/// Runs a plan from one buffer to another.
///
/// # Safety
/// The conditions of [`turntile_execute`] must hold for `src` and `dst`, but others may read `src`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turntile_execute_copy(
    plan: *const PlanHandle,
    src: *const c_void,
    dst: *mut c_void,
    bytes: usize,
    stream: *mut c_void,
) -> Status {
    answer(|| {
        // SAFETY: the caller guarantees the conditions above.
        let plan = unsafe { at(plan) }?;
        plan.in_place(false)?;
        let src = RawMemory::new("src", src, bytes)?;
        let dst = RawMemory::new("dst", dst, bytes)?;
        match plan {
            PlanHandle::Cpu(planned) => {
                on_cpu(stream)?;
                let src = src.first(plan.data_bytes())?;
                let dst = dst.first(plan.data_bytes())?.apart_from(src)?;
                // SAFETY: the caller guarantees the bytes; they fit the address space and do not overlap.
                let (src, dst) = unsafe { (src.to_read(), dst.to_write()) };
                planned.run_into(src, dst)?;
            }
            PlanHandle::Gpu(planned) => {
                let source = DeviceSource::from((src.address(), bytes));
                // SAFETY: the caller guarantees the conditions above.
                unsafe { planned.run_into(source, device(dst), stream) }?;
            }
        }
        Ok(())
    })
}

fn device(memory: RawMemory) -> DeviceMemory {
    DeviceMemory::from((memory.address(), memory.bytes()))
}

fn on_cpu(stream: *mut c_void) -> Result<(), Failure> {
    if stream.is_null() { Ok(()) } else { Err(Failure::CpuStream) }
}
