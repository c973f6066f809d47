//! C's pointers as slices, after what can be checked of them was.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::mem::MaybeUninit;

use turntile::plan::ProblemError;

use crate::status::Failure;

/// Most axes of an array.
pub const MOST_AXES: usize = 64;

/// Memory as C gives it: its name in messages, where it begins, its bytes.
#[derive(Clone, Copy, Debug)]
pub struct RawMemory {
    what: &'static str,
    start: *mut u8,
    bytes: usize,
}

impl RawMemory {
    /// Of `bytes` bytes.
    ///
    /// # Errors
    /// [`Failure::NullOf`]: NULL has no bytes.
    pub fn new(what: &'static str, start: *const c_void, bytes: usize) -> Result<Self, Failure> {
        let start: *mut u8 = start.cast_mut().cast();
        if start.is_null() && bytes > 0 {
            return Err(Failure::NullOf { what, bytes });
        }
        Ok(RawMemory { what, start, bytes })
    }

    /// Bytes there.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Where it begins, for a device.
    pub fn address(&self) -> u64 {
        self.start.addr() as u64
    }

    /// The first `need` bytes of it.
    ///
    /// # Errors
    /// [`Failure::Length`]: there are fewer.
    pub fn first(self, need: usize) -> Result<Self, Failure> {
        let RawMemory { what, bytes: have, .. } = self;
        if have < need {
            return Err(Failure::Length { what, need, have });
        }
        Ok(RawMemory { bytes: need, ..self })
    }

    /// That it begins at a multiple of `need`.
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

    /// That it shares no byte with another.
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

    /// Its bytes, to be written.
    ///
    /// # Safety
    /// For `'a` they can be read and written, and nothing else does; they are no more than `isize::MAX`.
    pub unsafe fn to_write<'a>(self) -> &'a mut [u8] {
        if self.bytes == 0 {
            return &mut [];
        }
        // SAFETY: not NULL, since it has bytes; the rest is the caller's. What C has not written yet is bytes too.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.bytes) }
    }

    /// Its bytes, to be read.
    ///
    /// # Safety
    /// For `'a` they can be read and nothing writes them; they are no more than `isize::MAX`.
    pub unsafe fn to_read<'a>(self) -> &'a [u8] {
        if self.bytes == 0 {
            return &[];
        }
        // SAFETY: not NULL, since it has bytes; the rest is the caller's.
        unsafe { std::slice::from_raw_parts(self.start, self.bytes) }
    }

    /// Its whole words, for a workspace.
    ///
    /// # Errors
    /// [`Failure::Misaligned`]: it does not begin at a multiple of 8.
    ///
    /// # Safety
    /// As of [`to_write`](Self::to_write).
    pub unsafe fn words<'a>(self) -> Result<&'a mut [MaybeUninit<u64>], Failure> {
        let words = self.aligned(align_of::<u64>())?.bytes / size_of::<u64>();
        if words == 0 {
            return Ok(&mut []);
        }
        // SAFETY: not NULL, since it has bytes, and aligned; the rest is the caller's.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.start.cast(), words) })
    }
}

/// The extents and the axes of an array of `rank` axes.
///
/// # Errors
/// As [`numbers`], and the library's: there are too many.
///
/// # Safety
/// For `'a` they are NULL or `rank` numbers each, which can be read and nothing writes.
pub unsafe fn axes<'a>(
    rank: usize,
    extents: *const usize,
    axes: *const usize,
) -> Result<(&'a [usize], &'a [usize]), Failure> {
    if rank > MOST_AXES {
        return Err(turntile::Error::from(ProblemError::TooManyAxes { axes: rank }).into());
    }
    // SAFETY: the caller's word, and no more than 64.
    unsafe { Ok((numbers("extents", extents, rank)?, numbers("axes", axes, rank)?)) }
}

/// `count` numbers of an array of C's.
///
/// # Errors
/// [`Failure::Null`], [`Failure::Misaligned`].
///
/// # Safety
/// For `'a` they can be read and nothing writes them; `count` is small.
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
    // SAFETY: not NULL and aligned; the rest is the caller's.
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
    fn what_is_short_null_or_misaligned_is_said() {
        let null = RawMemory::new("data", std::ptr::null(), 3);
        assert_eq!(null.unwrap_err().to_string(), "data is NULL, and 3 bytes are said to be there");
        let words = [0u64; 2];
        let memory = RawMemory::new("data", words.as_ptr().cast(), 16).unwrap();
        let short = memory.first(17).unwrap_err().to_string();
        assert_eq!(short, "data takes 17 bytes, there are 16");
        assert_eq!(memory.first(9).unwrap().bytes(), 9);
        assert!(memory.aligned(8).is_ok());
        let odd = RawMemory::new("data", memory.start.wrapping_add(3).cast(), 4).unwrap();
        assert!(matches!(odd.aligned(8), Err(Failure::Misaligned { need: 8, .. })));
    }
}
