//! The same types where the driver is not built in. None has a value, so that one type without values stands for all.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::sync::Arc;
use std::time::Duration;

use super::{Facts, Image, LaunchDims};
use crate::error::CudaError;

type Answer<T> = Result<T, CudaError>;

#[derive(Clone, Debug)]
pub(crate) enum Absent {}

pub(crate) type Context = Absent;
pub(crate) type Event = Absent;
pub(crate) type Function = Absent;
pub(crate) type Memory = Absent;
pub(crate) type Module = Absent;
pub(crate) type Stream = Absent;

/// Not reached, since whoever calls has a [`Function`]; the same holds of [`wait`].
pub(crate) unsafe fn clear(_: *mut c_void, _: u64, _: usize) -> Answer<()> {
    Err(CudaError::NoBackend)
}

pub(crate) unsafe fn wait(_: *mut c_void) -> Answer<()> {
    Err(CudaError::NoBackend)
}

impl Absent {
    pub fn primary(_: usize) -> Answer<Arc<Self>> {
        Err(CudaError::NoBackend)
    }

    pub fn current() -> Answer<Arc<Self>> {
        Err(CudaError::NoBackend)
    }

    pub unsafe fn given(_: *mut c_void) -> Answer<Arc<Self>> {
        Err(CudaError::NoBackend)
    }

    pub unsafe fn launch(
        &self,
        _: LaunchDims,
        _: &[*const c_void],
        _: *mut c_void,
        _: impl FnOnce() -> String,
    ) -> Answer<()> {
        match *self {}
    }

    pub unsafe fn copy_between(&self, _: (&Self, u64), _: (&Self, u64), _: usize) -> Answer<()> {
        match *self {}
    }
}

/// Methods of all of them, by the types of their arguments. What is made of a context takes one, too.
macro_rules! methods {
    ($($name:ident($($argument:ty),*) -> $answer:ty;)*) => {
        impl Absent {
            $(#[allow(clippy::wrong_self_convention)]
            pub fn $name(&self $(, _: $argument)*) -> $answer {
                match *self {}
            })*
        }
    };
}
methods! {
    // A context's.
    enter() -> Answer<Absent>;
    is(&Absent) -> bool;
    reach(&Absent) -> Answer<bool>;
    facts() -> Answer<Facts>;
    // Made of one.
    load(Image<'_>) -> Answer<Arc<Absent>>;
    allocate(usize) -> Answer<Absent>;
    new() -> Answer<Absent>;
    // Code's.
    function(&str) -> Answer<Absent>;
    allow_shared(u32) -> Answer<()>;
    allow_large_clusters() -> Answer<()>;
    blocks_per_unit(u32, u32) -> Answer<usize>;
    clusters(LaunchDims) -> Answer<usize>;
    largest_cluster(LaunchDims) -> Answer<usize>;
    // Memory's.
    address() -> u64;
    bytes() -> usize;
    span(usize, usize) -> Answer<u64>;
    // A stream's.
    raw() -> *mut c_void;
    wait() -> Answer<()>;
    clear(&mut Absent) -> Answer<()>;
    wait_for(&Absent) -> Answer<()>;
    copy(&Absent, [usize; 2], usize) -> Answer<()>;
    put(&Absent, usize, &[u8]) -> Answer<()>;
    take(&Absent, usize, &mut [u8]) -> Answer<()>;
    // An event's.
    record(&Absent) -> Answer<()>;
    until(&Absent) -> Answer<Duration>;
}
