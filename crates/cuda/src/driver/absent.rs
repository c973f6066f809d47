//! The same types where the driver is not built in: they have no values.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::sync::Arc;
use std::time::Duration;

use super::{Facts, Image, LaunchConfig};
use crate::error::CudaError;

type Answer<T> = Result<T, CudaError>;

#[derive(Clone, Copy, Debug)]
enum Never {}

#[derive(Debug)]
pub(crate) struct Context(Never);

/// Nothing is ever current.
pub(crate) struct Current;

#[derive(Debug)]
pub(crate) struct Module(Never);

#[derive(Clone, Debug)]
pub(crate) struct Function(Never);

#[derive(Debug)]
pub(crate) struct Memory(Never);

#[derive(Debug)]
pub(crate) struct Stream(Never);

#[derive(Debug)]
pub(crate) struct Event(Never);

/// No memory to clear: not reached, since whoever calls has a [`Function`].
pub(crate) unsafe fn clear(_: *mut c_void, _: u64, _: usize) -> Answer<()> {
    Err(CudaError::NoBackend)
}

pub(crate) unsafe fn wait(_: *mut c_void) -> Answer<()> {
    Err(CudaError::NoBackend)
}

impl Context {
    pub fn primary(_: usize) -> Answer<Arc<Self>> {
        Err(CudaError::NoBackend)
    }
    pub fn current() -> Answer<Arc<Self>> {
        Err(CudaError::NoBackend)
    }
    pub unsafe fn given(_: *mut c_void) -> Answer<Arc<Self>> {
        Err(CudaError::NoBackend)
    }
    pub fn enter(&self) -> Answer<Current> {
        match self.0 {}
    }
    pub fn is(&self, _: &Context) -> bool {
        match self.0 {}
    }
    pub fn facts(&self) -> Answer<Facts> {
        match self.0 {}
    }
}

impl Module {
    pub fn load(context: &Arc<Context>, _: Image<'_>) -> Answer<Arc<Self>> {
        match context.0 {}
    }
    pub fn function(self: &Arc<Self>, _: &str) -> Answer<Function> {
        match self.0 {}
    }
}

impl Function {
    pub fn allow_shared(&self, _: u32) -> Answer<()> {
        match self.0 {}
    }
    pub fn allow_large_clusters(&self) -> Answer<()> {
        match self.0 {}
    }
    pub fn blocks_per_unit(&self, _: u32, _: u32) -> Answer<usize> {
        match self.0 {}
    }
    pub fn clusters(&self, _: LaunchConfig) -> Answer<usize> {
        match self.0 {}
    }
    pub fn largest_cluster(&self, _: LaunchConfig) -> Answer<usize> {
        match self.0 {}
    }
    pub unsafe fn launch(
        &self,
        _: LaunchConfig,
        _: &[*const c_void],
        _: *mut c_void,
        _: impl FnOnce() -> String,
    ) -> Answer<()> {
        match self.0 {}
    }
}

impl Memory {
    pub fn new(context: &Arc<Context>, _: usize) -> Answer<Self> {
        match context.0 {}
    }
    pub fn address(&self) -> u64 {
        match self.0 {}
    }
    pub fn bytes(&self) -> usize {
        match self.0 {}
    }
    pub fn span(&self, _: usize, _: usize) -> Answer<u64> {
        match self.0 {}
    }
}

impl Stream {
    pub fn new(context: &Arc<Context>) -> Answer<Self> {
        match context.0 {}
    }
    pub fn raw(&self) -> *mut c_void {
        match self.0 {}
    }
    pub fn wait(&self) -> Answer<()> {
        match self.0 {}
    }
    pub fn clear(&self, _: &mut Memory) -> Answer<()> {
        match self.0 {}
    }
    pub fn copy(&self, _: &Memory, _: [usize; 2], _: usize) -> Answer<()> {
        match self.0 {}
    }
    pub fn put(&self, _: &Memory, _: usize, _: &[u8]) -> Answer<()> {
        match self.0 {}
    }
    pub fn take(&self, _: &Memory, _: usize, _: &mut [u8]) -> Answer<()> {
        match self.0 {}
    }
}

impl Event {
    pub fn new(context: &Arc<Context>) -> Answer<Self> {
        match context.0 {}
    }
    pub fn record(&self, _: &Stream) -> Answer<()> {
        match self.0 {}
    }
    pub fn until(&self, _: &Event) -> Answer<Duration> {
        match self.0 {}
    }
}
