//! Addresses as memory.
#![allow(unsafe_code)]

use pyo3::PyResult;

use crate::errors::value;

/// Memory of an object that Python holds: `bytes` bytes from `address` on.
#[derive(Clone, Copy)]
pub struct Span {
    address: usize,
    bytes: usize,
}

impl Span {
    /// # Errors
    /// There is no such memory.
    pub fn new(address: usize, bytes: usize) -> PyResult<Self> {
        let fits = isize::try_from(bytes).is_ok() && address.checked_add(bytes).is_some();
        if fits && (address != 0 || bytes == 0) {
            Ok(Span { address, bytes })
        } else {
            value(format!("no memory has {bytes} bytes from {address:#x} on"))
        }
    }

    /// Where it begins.
    pub fn address(self) -> usize {
        self.address
    }

    /// How long it is.
    pub fn bytes(self) -> usize {
        self.bytes
    }

    /// Whether two have a byte in common.
    pub fn overlaps(self, other: Span) -> bool {
        let disjoint = self.address + self.bytes <= other.address
            || other.address + other.bytes <= self.address;
        self.bytes > 0 && other.bytes > 0 && !disjoint
    }

    /// To be read.
    ///
    /// # Safety
    /// The object lives as long as `'a`, and nothing writes these bytes meanwhile.
    pub unsafe fn read<'a>(self) -> &'a [u8] {
        match self.bytes {
            0 => &[],
            // SAFETY: not null and in the address space, as `new` saw; the rest is the caller's. Python's memory comes from
            // allocators that the compiler knows nothing about, so that it holds some value everywhere.
            bytes => unsafe {
                std::slice::from_raw_parts(std::ptr::with_exposed_provenance(self.address), bytes)
            },
        }
    }

    /// To be written.
    ///
    /// # Safety
    /// The object lives as long as `'a`, and nothing else reads or writes these bytes meanwhile.
    pub unsafe fn write<'a>(self) -> &'a mut [u8] {
        match self.bytes {
            0 => &mut [],
            // SAFETY: as of `read`.
            bytes => unsafe {
                let start = std::ptr::with_exposed_provenance_mut(self.address);
                std::slice::from_raw_parts_mut(start, bytes)
            },
        }
    }
}
