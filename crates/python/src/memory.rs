//! Memory at an address.
#![allow(unsafe_code)]

use pyo3::PyResult;

use crate::errors::value;

/// `bytes` bytes at `address`, owned by a Python object.
#[derive(Clone, Copy)]
pub struct Span {
    address: usize,
    bytes: usize,
}

impl Span {
    /// Creates the span.
    ///
    /// # Errors
    /// The address is null or the end exceeds the address space.
    pub fn new(address: usize, bytes: usize) -> PyResult<Self> {
        let fits = isize::try_from(bytes).is_ok() && address.checked_add(bytes).is_some();
        if fits && (address != 0 || bytes == 0) {
            Ok(Span { address, bytes })
        } else {
            value(format!("{bytes} bytes at {address:#x} are not in the address space"))
        }
    }

    /// Returns the address.
    pub fn address(self) -> usize {
        self.address
    }

    /// Returns the length in bytes.
    pub fn bytes(self) -> usize {
        self.bytes
    }

    /// Returns whether two spans share a byte.
    pub fn overlaps(self, other: Span) -> bool {
        let disjoint = self.address + self.bytes <= other.address
            || other.address + other.bytes <= self.address;
        self.bytes > 0 && other.bytes > 0 && !disjoint
    }

    /// Returns the bytes for reading.
    ///
    /// # Safety
    /// The object outlives `'a`, and nothing writes these bytes meanwhile.
    pub unsafe fn read<'a>(self) -> &'a [u8] {
        match self.bytes {
            0 => &[],
            // SAFETY: `new` checked the address and the length; the caller guarantees the rest.
            // Memory of foreign allocators counts as initialised.
            bytes => unsafe {
                std::slice::from_raw_parts(std::ptr::with_exposed_provenance(self.address), bytes)
            },
        }
    }

    /// Returns the bytes for writing.
    ///
    /// # Safety
    /// The object outlives `'a`, and nothing else reads or writes these bytes meanwhile.
    pub unsafe fn write<'a>(self) -> &'a mut [u8] {
        match self.bytes {
            0 => &mut [],
            // SAFETY: as in `read`.
            bytes => unsafe {
                let start = std::ptr::with_exposed_provenance_mut(self.address);
                std::slice::from_raw_parts_mut(start, bytes)
            },
        }
    }
}
