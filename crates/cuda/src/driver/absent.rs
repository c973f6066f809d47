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
}

/// What is made of a context, of which there is none.
macro_rules! made {
    ($($type:ident($($more:ty)?) by $name:ident, $made:ty;)*) => {
        $(impl $type {
            pub fn $name(context: &Arc<Context> $(, _: $more)?) -> Answer<$made> {
                match context.0 {}
            }
        })*
    };
}
made! {
    Module(Image<'_>) by load, Arc<Self>;
    Memory(usize) by new, Self;
    Stream() by new, Self;
    Event() by new, Self;
}

/// Methods, by the types of their arguments: without a value none is ever called.
macro_rules! methods {
    ($($type:ident { $($name:ident($($argument:ty),*) -> $answer:ty;)* })*) => {
        $(impl $type {
            $(pub fn $name(&self $(, _: $argument)*) -> $answer {
                match self.0 {}
            })*
        })*
    };
}
methods! {
    Context {
        enter() -> Answer<Current>;
        is(&Context) -> bool;
        facts() -> Answer<Facts>;
    }
    Module {
        function(&str) -> Answer<Function>;
    }
    Function {
        allow_shared(u32) -> Answer<()>;
        allow_large_clusters() -> Answer<()>;
        blocks_per_unit(u32, u32) -> Answer<usize>;
        clusters(LaunchConfig) -> Answer<usize>;
        largest_cluster(LaunchConfig) -> Answer<usize>;
    }
    Memory {
        address() -> u64;
        bytes() -> usize;
        span(usize, usize) -> Answer<u64>;
    }
    Stream {
        raw() -> *mut c_void;
        wait() -> Answer<()>;
        clear(&mut Memory) -> Answer<()>;
        copy(&Memory, [usize; 2], usize) -> Answer<()>;
        put(&Memory, usize, &[u8]) -> Answer<()>;
        take(&Memory, usize, &mut [u8]) -> Answer<()>;
    }
    Event {
        record(&Stream) -> Answer<()>;
        until(&Event) -> Answer<Duration>;
    }
}

impl Function {
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
