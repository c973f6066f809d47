//! Slices of C pointers, checked as far as possible.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::mem::MaybeUninit;

use turntile::plan::ProblemError;

use crate::status::Failure;

/// Maximum number of axes.
pub const MAX_NDIM: usize = 64;

/// A C buffer: name of the argument, address, size in bytes.
#[derive(Clone, Copy, Debug)]
pub struct RawMemory {
    what: &'static str,
    start: *mut u8,
    bytes: usize,
}

impl RawMemory {
    /// Creates a buffer of `bytes` bytes.
    ///
    /// # Errors
    /// [`Failure::NullOf`]: `start` is NULL, and `bytes` is not 0.
    pub fn new(what: &'static str, start: *const c_void, bytes: usize) -> Result<Self, Failure> {
        let start: *mut u8 = start.cast_mut().cast();
        if start.is_null() && bytes > 0 {
            return Err(Failure::NullOf { what, bytes });
        }
        Ok(RawMemory { what, start, bytes })
    }

    /// Returns the size in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the address, for a device.
    pub fn address(&self) -> u64 {
        self.start.addr() as u64
    }

    /// Returns the first `need` bytes.
    ///
    /// # Errors
    /// [`Failure::Length`]: the buffer is shorter.
    pub fn first(self, need: usize) -> Result<Self, Failure> {
        let RawMemory { what, bytes: have, .. } = self;
        if have < need {
            return Err(Failure::Length { what, need, have });
        }
        Ok(RawMemory { bytes: need, ..self })
    }

    /// Checks that the address is a multiple of `need`.
    ///
    /// # Errors
    /// [`Failure::Misaligned`].
    pub fn aligned(self, need: usize) -> Result<Self, Failure> {
        let (what, address) = (self.what, self.start.addr());
        if !address.is_multiple_of(need) {
            return Err(Failure::Misaligned { what, address, need });
        }
        Ok(self)
    }

    /// Checks that two buffers do not overlap.
    ///
    /// # Errors
    /// [`Failure::Overlap`].
    pub fn apart_from(self, other: RawMemory) -> Result<Self, Failure> {
        let (here, there) = (self.start.addr(), other.start.addr());
        let both = self.bytes > 0 && other.bytes > 0;
        if both
            && here < there.saturating_add(other.bytes)
            && there < here.saturating_add(self.bytes)
        {
            return Err(Failure::Overlap {
                what: self.what,
                address: here,
                other: other.what,
                other_address: there,
            });
        }
        Ok(self)
    }

    /// Returns the bytes for writing.
    ///
    /// # Safety
    /// For `'a` only the slice may read or write the bytes. Their number is at most `isize::MAX`.
    pub unsafe fn to_write<'a>(self) -> &'a mut [u8] {
        if self.bytes == 0 {
            return &mut [];
        }
        // SAFETY: not NULL, because the size is not 0; the caller guarantees the rest. Bytes that C has not
        // written are only moved.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.bytes) }
    }

    /// Returns the bytes for reading.
    ///
    /// # Safety
    /// For `'a` the bytes must be readable and unchanged. Their number is at most `isize::MAX`.
    pub unsafe fn to_read<'a>(self) -> &'a [u8] {
        if self.bytes == 0 {
            return &[];
        }
        // SAFETY: not NULL, because the size is not 0; the caller guarantees the rest.
        unsafe { std::slice::from_raw_parts(self.start, self.bytes) }
    }

    /// Returns the whole 8-byte words, for a workspace.
    ///
    /// # Errors
    /// [`Failure::Misaligned`]: the address is not a multiple of 8.
    ///
    /// # Safety
    /// The conditions of [`to_write`](Self::to_write) must hold.
    pub unsafe fn words<'a>(self) -> Result<&'a mut [MaybeUninit<u64>], Failure> {
        let words = self.aligned(align_of::<u64>())?.bytes / size_of::<u64>();
        if words == 0 {
            return Ok(&mut []);
        }
        // SAFETY: aligned, and not NULL, because the size is not 0; the caller guarantees the rest.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.start.cast(), words) })
    }
}

/// Returns the shape and the axes of an array with `ndim` axes.
///
/// # Errors
/// The errors of [`numbers`], and [`ProblemError::TooManyAxes`].
///
/// # Safety
/// For `'a` each must be NULL or have `ndim` numbers, readable and unchanged.
pub unsafe fn axes<'a>(
    ndim: usize,
    shape: *const usize,
    axes: *const usize,
) -> Result<(&'a [usize], &'a [usize]), Failure> {
    // SAFETY: the caller guarantees the numbers, at most 64.
    unsafe { Ok((self::shape(ndim, shape)?, numbers("axes", axes, ndim)?)) }
}

/// Returns the `ndim` numbers of a shape, at most [`MAX_NDIM`].
///
/// # Errors
/// [`Failure`]: too many axes, or no numbers there.
///
/// # Safety
/// As for [`numbers`].
pub unsafe fn shape<'a>(ndim: usize, shape: *const usize) -> Result<&'a [usize], Failure> {
    if ndim > MAX_NDIM {
        return Err(turntile::Error::from(ProblemError::TooManyAxes { axes: ndim }).into());
    }
    // SAFETY: the caller guarantees the numbers, at most 64.
    unsafe { numbers("shape", shape, ndim) }
}

/// Returns the `count` numbers of a C array.
///
/// # Errors
/// [`Failure::Null`], [`Failure::Misaligned`].
///
/// # Safety
/// For `'a` the numbers must be readable and unchanged. Their size in bytes is at most `isize::MAX`.
pub unsafe fn numbers<'a>(
    what: &'static str,
    start: *const usize,
    count: usize,
) -> Result<&'a [usize], Failure> {
    if count == 0 {
        return Ok(&[]);
    }
    if start.is_null() {
        return Err(Failure::Null { what });
    }
    RawMemory::new(what, start.cast(), size_of::<usize>())?.aligned(align_of::<usize>())?;
    // SAFETY: not NULL, and aligned; the caller guarantees the rest.
    Ok(unsafe { std::slice::from_raw_parts(start, count) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_overlaps_when_it_shares_a_byte() {
        let bytes = [0u8; 16];
        let part = |from: usize, len: usize| {
            RawMemory::new("part", bytes[from..].as_ptr().cast(), len).unwrap()
        };
        for (a, b, apart) in [
            ((0, 8), (8, 8), true),
            ((0, 9), (8, 8), false),
            ((8, 8), (0, 9), false),
            ((4, 2), (0, 16), false),
            ((4, 0), (0, 16), true),
            ((0, 16), (4, 0), true),
        ] {
            let result = part(a.0, a.1).apart_from(part(b.0, b.1));
            assert_eq!(result.is_ok(), apart, "{a:?} {b:?}");
        }
    }

    #[test]
    fn null_short_and_misaligned_buffers_are_errors() {
        let null = RawMemory::new("data", std::ptr::null(), 3);
        assert_eq!(null.unwrap_err().to_string(), "data is NULL, expected 3 bytes");
        let words = [0u64; 2];
        let memory = RawMemory::new("data", words.as_ptr().cast(), 16).unwrap();
        let short = memory.first(17).unwrap_err().to_string();
        assert_eq!(short, "data needs 17 bytes, got 16");
        assert_eq!(memory.first(9).unwrap().bytes(), 9);
        assert!(memory.aligned(8).is_ok());
        let odd = RawMemory::new("data", memory.start.wrapping_add(3).cast(), 4).unwrap();
        assert!(matches!(odd.aligned(8), Err(Failure::Misaligned { need: 8, .. })));
    }
}
