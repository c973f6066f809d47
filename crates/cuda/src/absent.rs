//! The backend's API where it was not built in: no GPU can be had.

use std::ffi::c_void;
use std::time::Duration;

use turntile_perm::Elementary;
use turntile_plan::{Limits, Plan, Problem};

use crate::call::Device;
use crate::error::CudaError;
use crate::out_of_place::program::{Place, Program};
use crate::prepare::Work;

/// A GPU; there is none in this build.
#[derive(Clone, Debug)]
pub struct Gpu(Never);

/// A prepared plan; there is none in this build.
#[derive(Debug)]
pub struct Prepared(Never);

/// Loaded launches; there are none in this build.
#[derive(Debug)]
pub struct Loaded(Never);

/// What plans are timed with; there is none in this build.
#[derive(Debug)]
pub struct Stopwatch(Never);

#[derive(Clone, Copy, Debug)]
enum Never {}

impl Stopwatch {
    /// With device memory of its own.
    ///
    /// # Errors
    /// [`CudaError::NoBackend`], always.
    pub fn new(_bytes: usize) -> Result<Self, CudaError> {
        Err(CudaError::NoBackend)
    }

    /// Counts the elements that a stage leaves wrong.
    ///
    /// # Errors
    /// Not reached: there is no GPU.
    pub fn wrong_swapped(
        &mut self,
        _e: Elementary,
        _elem_bytes: usize,
        _prepared: &Prepared,
    ) -> Result<u64, CudaError> {
        match self.0 {}
    }

    /// Times a plan.
    ///
    /// # Errors
    /// Not reached: there is no GPU.
    pub fn time(&mut self, _prepared: &Prepared) -> Result<Duration, CudaError> {
        match self.0 {}
    }

    /// Checks a plan.
    ///
    /// # Errors
    /// Not reached: there is no GPU.
    pub fn wrong_elements(&mut self, _: &Problem, _: &Prepared) -> Result<u64, CudaError> {
        match self.0 {}
    }

    /// The host's time for the last run.
    pub fn queueing(&self) -> Duration {
        match self.0 {}
    }

    /// Counts the elements that loaded launches leave wrong.
    ///
    /// # Errors
    /// Not reached: there is no GPU.
    pub fn wrong_loaded(
        &mut self,
        _e: Elementary,
        _elem_bytes: usize,
        _loaded: &Loaded,
    ) -> Result<u64, CudaError> {
        match self.0 {}
    }

    /// Times loaded launches.
    ///
    /// # Errors
    /// Not reached: there is no GPU.
    pub fn time_loaded(&mut self, _loaded: &Loaded) -> Result<Duration, CudaError> {
        match self.0 {}
    }

    /// Puts bytes into its memory.
    ///
    /// # Errors
    /// Not reached: there is no GPU.
    pub fn put(&mut self, _at: usize, _bytes: &[u8]) -> Result<(), CudaError> {
        match self.0 {}
    }

    /// Reads its memory.
    ///
    /// # Errors
    /// Not reached: there is no GPU.
    pub fn take(&self, _at: usize, _bytes: &mut [u8]) -> Result<(), CudaError> {
        match self.0 {}
    }

    /// Times a copy.
    ///
    /// # Errors
    /// Not reached: there is no GPU.
    pub fn time_copy(&mut self, _bytes: usize) -> Result<Duration, CudaError> {
        match self.0 {}
    }
}

impl Gpu {
    /// The GPU of that number.
    ///
    /// # Errors
    /// [`CudaError::NoBackend`], always.
    pub fn primary(_ordinal: usize) -> Result<Self, CudaError> {
        Err(CudaError::NoBackend)
    }

    /// The GPU of the thread's current context.
    ///
    /// # Errors
    /// [`CudaError::NoBackend`], always.
    pub fn current() -> Result<Self, CudaError> {
        Err(CudaError::NoBackend)
    }

    /// What the planner knows of it.
    pub fn limits(&self) -> &Limits {
        match self.0 {}
    }

    /// What decides its launches.
    pub fn device(&self) -> &Device {
        match self.0 {}
    }

    /// Loads what `plan` needs.
    ///
    /// # Errors
    /// Not reached: there is no GPU.
    pub fn prepare(&self, _plan: &Plan) -> Result<Prepared, CudaError> {
        match self.0 {}
    }

    /// Loads what programs need.
    ///
    /// # Errors
    /// Not reached: there is no GPU.
    pub fn load(&self, _programs: impl IntoIterator<Item = Program>) -> Result<Loaded, CudaError> {
        match self.0 {}
    }

    /// Loads what `work` needs.
    ///
    /// # Errors
    /// Not reached: there is no GPU.
    pub fn prepare_work(&self, _work: Work) -> Result<Prepared, CudaError> {
        match self.0 {}
    }
}

impl Loaded {
    /// What it launches.
    pub fn programs(&self) -> std::slice::Iter<'_, Program> {
        match self.0 {}
    }

    /// Runs it.
    ///
    /// # Errors
    /// Not reached: there is no GPU.
    ///
    /// # Safety
    /// None: there is no GPU.
    #[allow(unsafe_code)]
    pub unsafe fn run_raw(&self, _: *mut c_void, _: &[Place]) -> Result<(), CudaError> {
        match self.0 {}
    }
}

impl Prepared {
    /// What it launches.
    pub fn work(&self) -> &Work {
        match self.0 {}
    }

    /// The same with a workspace of its own.
    ///
    /// # Errors
    /// Not reached: there is no GPU.
    pub fn with_own_workspace(self) -> Result<Self, CudaError> {
        match self.0 {}
    }

    /// Runs it.
    ///
    /// # Errors
    /// Not reached: there is no GPU.
    ///
    /// # Safety
    /// None: there is no GPU.
    #[allow(unsafe_code)]
    pub unsafe fn run_raw(
        &self,
        _stream: *mut c_void,
        _data: u64,
        _bytes: usize,
        _workspace: Option<(u64, usize)>,
    ) -> Result<(), CudaError> {
        match self.0 {}
    }
}
