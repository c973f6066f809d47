//! Plans made, run and destroyed.
#![allow(unsafe_code)]

use std::ffi::{c_char, c_void};

use turntile::Transposer;
use turntile::gpu::{DeviceMemory, DeviceSource, GpuTransposer};
use turntile::mode::Dynamic;
use turntile::run::RunOptions;

use crate::answer::answer;
use crate::desc::{Desc, WORKSPACE_UNIT};
use crate::memory::RawMemory;
use crate::status::{Failure, Status};

/// A plan (`turntile_plan`), on the host or on a GPU.
#[derive(Debug)]
pub enum PlanHandle {
    /// Runs on the host's threads.
    Host(Box<Transposer<Dynamic>>),
    /// Runs on a GPU.
    Gpu(Box<GpuTransposer<Dynamic>>),
}

impl PlanHandle {
    /// What is run.
    fn plan(&self) -> &turntile::plan::Plan {
        match self {
            PlanHandle::Host(planned) => planned.plan(),
            PlanHandle::Gpu(planned) => planned.plan(),
        }
    }

    /// That the result goes where the call puts it.
    fn in_place(&self, wanted: bool) -> Result<(), Failure> {
        let out_of_place = self.plan().problem.is_out_of_place();
        if out_of_place == wanted { Err(Failure::Place { out_of_place }) } else { Ok(()) }
    }

    /// Bytes that the data have at least.
    fn data_bytes(&self) -> usize {
        self.plan().problem.span_bytes()
    }

    /// Bytes of a caller's workspace: whole words, so that all of it can be used.
    fn workspace_bytes(&self) -> usize {
        let bytes = match self {
            PlanHandle::Host(planned) => planned.workspace_bytes(),
            PlanHandle::Gpu(planned) => planned.workspace_bytes(),
        };
        bytes.next_multiple_of(WORKSPACE_UNIT)
    }
}

/// The plan at `plan`.
///
/// # Safety
/// NULL, or a plan that lives for `'a`.
unsafe fn at<'a>(plan: *const PlanHandle) -> Result<&'a PlanHandle, Failure> {
    // SAFETY: the caller's word.
    unsafe { plan.as_ref() }.ok_or(Failure::Null { what: "plan" })
}

/// Plans what `desc` says and puts the plan at `plan`, or NULL where there is none.
///
/// # Safety
/// `desc` is NULL or a descriptor of as many bytes as it says, its arrays of as many numbers; `plan` is NULL or can be
/// written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turntile_plan_create(
    desc: *const Desc,
    plan: *mut *mut PlanHandle,
) -> Status {
    answer(|| {
        if plan.is_null() {
            return Err(Failure::Null { what: "plan" });
        }
        // SAFETY: not NULL, so it can be written.
        unsafe { plan.write(std::ptr::null_mut()) };
        // SAFETY: as the caller says.
        let desc = unsafe { Desc::read(desc) }?;
        // SAFETY: as the caller says.
        let transpose = unsafe { desc.transpose() }?;
        let made = match desc.gpu()? {
            None => PlanHandle::Host(Box::new(transpose.plan()?)),
            Some(gpu) => PlanHandle::Gpu(Box::new(transpose.plan_on(&gpu)?)),
        };
        // SAFETY: as above.
        unsafe { plan.write(Box::into_raw(Box::new(made))) };
        Ok(())
    })
}

/// Destroys a plan, or does nothing with NULL.
///
/// # Safety
/// NULL, or a plan that is used no more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turntile_plan_destroy(plan: *mut PlanHandle) {
    answer(|| {
        if !plan.is_null() {
            // SAFETY: `turntile_plan_create` made it a box, and nothing else owns it.
            drop(unsafe { Box::from_raw(plan) });
        }
        Ok(())
    });
}

/// Bytes of workspace that a run of the plan takes; 0 of NULL.
///
/// # Safety
/// NULL, or a plan.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turntile_plan_workspace(plan: *const PlanHandle) -> usize {
    let mut bytes = 0;
    answer(|| {
        // SAFETY: as the caller says.
        bytes = unsafe { at(plan) }?.workspace_bytes();
        Ok(())
    });
    bytes
}

/// Writes the plan as people read it to `text`, as much of it as `text_bytes` bytes hold with their NUL, and answers how
/// many all of it takes.
///
/// # Safety
/// `plan` is NULL or a plan, `text` NULL or can be written for `text_bytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turntile_plan_text(
    plan: *const PlanHandle,
    text: *mut c_char,
    text_bytes: usize,
) -> usize {
    let mut need = 0;
    answer(|| {
        // SAFETY: as the caller says.
        let mut all = format!("{:#}", unsafe { at(plan) }?.plan()).into_bytes();
        all.push(0);
        need = all.len();
        let room = RawMemory::new("text", text.cast(), text_bytes)?;
        let room = room.first(text_bytes.min(need))?;
        // SAFETY: as the caller says.
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
/// `plan` is NULL or a plan; `data` and `workspace` are memory of those lengths, of the plan's device, that
/// nothing else uses until the run has ended; on a GPU `stream` is a stream of its context or NULL, and the plan is not
/// destroyed before its work has ended.
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
        // SAFETY: as the caller says.
        let plan = unsafe { at(plan) }?;
        plan.in_place(true)?;
        let data = RawMemory::new("data", data, data_bytes)?;
        let memory = RawMemory::new("workspace", workspace, workspace_bytes)?;
        let (need, have) = (plan.workspace_bytes(), workspace_bytes);
        let own = workspace.is_null() && matches!(plan, PlanHandle::Host(_));
        if have < need && !own {
            return Err(Failure::Workspace { need, have });
        }
        let data = data.first(plan.data_bytes())?;
        let memory = memory.first(if own { 0 } else { need })?.apart_from(data)?;
        match plan {
            PlanHandle::Host(planned) => {
                on_host(stream)?;
                // SAFETY: as the caller says; the plan's bytes fit the address space, and the two are apart.
                let (data, words) = unsafe { (data.to_write(), memory.words()?) };
                let options = RunOptions::new();
                let options = if own { options } else { options.workspace_in(words) };
                planned.run(data, options)?;
            }
            PlanHandle::Gpu(planned) => {
                // SAFETY: as the caller says.
                unsafe { planned.run_with(device(data), stream, device(memory)) }?;
            }
        }
        Ok(())
    })
}

/// Runs a plan from one buffer into another.
///
/// # Safety
/// As of [`turntile_execute`], of `to` and `from`; `from` may be read by others.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turntile_execute_into(
    plan: *const PlanHandle,
    to: *mut c_void,
    from: *const c_void,
    data_bytes: usize,
    stream: *mut c_void,
) -> Status {
    answer(|| {
        // SAFETY: as the caller says.
        let plan = unsafe { at(plan) }?;
        plan.in_place(false)?;
        let to = RawMemory::new("to", to, data_bytes)?;
        let from = RawMemory::new("from", from, data_bytes)?;
        match plan {
            PlanHandle::Host(planned) => {
                on_host(stream)?;
                let bytes = plan.data_bytes();
                let from = from.first(bytes)?;
                let to = to.first(bytes)?.apart_from(from)?;
                // SAFETY: as the caller says; the plan's bytes fit the address space, and the two are apart.
                let (to, from) = unsafe { (to.to_write(), from.to_read()) };
                planned.run_into(from, to)?;
            }
            PlanHandle::Gpu(planned) => {
                let source = DeviceSource::from((from.address(), data_bytes));
                // SAFETY: as the caller says.
                unsafe { planned.run_into(source, device(to), stream) }?;
            }
        }
        Ok(())
    })
}

fn device(memory: RawMemory) -> DeviceMemory {
    DeviceMemory::from((memory.address(), memory.bytes()))
}

fn on_host(stream: *mut c_void) -> Result<(), Failure> {
    if stream.is_null() { Ok(()) } else { Err(Failure::HostStream) }
}
