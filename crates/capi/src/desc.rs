//! The descriptor of a plan: of this version, or shorter and of an older one.
#![allow(unsafe_code)]

use std::mem::{MaybeUninit, offset_of};

use turntile::Transpose;
use turntile::gpu::Gpu;
use turntile::mode::Dynamic;
use turntile::plan::Problem;

use crate::memory::{self, RawMemory};
use crate::status::Failure;
use crate::version::Version;

/// What is to be planned (`turntile_desc`). Fields are only ever added at the end; 0 in a field is what programs that
/// do not know it say.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Desc {
    /// Bytes of the structure in the program's header.
    pub size: usize,
    /// The version of the program's header.
    pub version: u32,
    /// `TURNTILE_HOST` or `TURNTILE_CUDA`.
    pub device: u32,
    /// Which GPU.
    pub device_index: i32,
    /// A sum of `TURNTILE_OUT_OF_PLACE` and `TURNTILE_NO_WORKSPACE`.
    pub flags: u32,
    /// Bytes of an element.
    pub elem_bytes: usize,
    /// Axes.
    pub rank: usize,
    /// Their extents.
    pub extents: *const usize,
    /// Which axis of the source each of the result is.
    pub axes: *const usize,
    /// Equal arrays one after the other; 0 is 1.
    pub batch: usize,
    /// Threads at most; 0 is all.
    pub threads: usize,
    /// Bytes of workspace at most; 0 is what the library chooses.
    pub workspace_limit: usize,
    /// What addresses of device memory are multiples of; 0 is 16.
    pub alignment: usize,
    /// Elements from a row of a matrix to the next before; 0 is as many as a row has.
    pub lda: usize,
    /// The same afterwards.
    pub ldb: usize,
}

pub const HOST: u32 = 0;
pub const CUDA: u32 = 1;
pub const CUDA_CURRENT: i32 = -1;
pub const OUT_OF_PLACE: u32 = 1;
pub const NO_WORKSPACE: u32 = 2;

/// Workspaces are multiples of so many bytes, and so is what a cap lets be used.
pub const WORKSPACE_UNIT: usize = 16;

/// Bytes of the first version's descriptor.
const FIRST: usize = offset_of!(Desc, ldb) + size_of::<usize>();

impl Desc {
    /// The descriptor at `desc`, of which as much is read as it says to have.
    ///
    /// # Errors
    /// [`Failure::Null`], [`Failure::Misaligned`], [`Failure::Older`], [`Failure::Size`].
    ///
    /// # Safety
    /// NULL, or a size and a version, and as many bytes as the size says.
    pub(crate) unsafe fn read(desc: *const Desc) -> Result<Desc, Failure> {
        if desc.is_null() {
            return Err(Failure::Null { what: "desc" });
        }
        RawMemory::new("desc", desc.cast(), FIRST)?.aligned(align_of::<Desc>())?;
        // SAFETY: they are there, says the caller.
        let (size, version) = unsafe { ((*desc).size, Version((*desc).version)) };
        let library = Version::LIBRARY;
        if !library.accepts(version) {
            return Err(Failure::Older { header: version, library });
        }
        let (least, most) = (FIRST, size_of::<Desc>());
        if size < least || size > most {
            return Err(Failure::Size { size, least, most, version: library });
        }
        let mut known = MaybeUninit::<Desc>::zeroed();
        // SAFETY: `size` bytes are there, says the caller, and no more than a `Desc` has; it is numbers and pointers, of
        // which any bytes are some, zeros too.
        unsafe {
            std::ptr::copy_nonoverlapping(desc.cast::<u8>(), known.as_mut_ptr().cast::<u8>(), size);
            Ok(known.assume_init())
        }
    }

    /// The GPU that it is to run on; none for the host.
    ///
    /// # Errors
    /// [`Failure::Field`], and the library's.
    pub(crate) fn gpu(&self) -> Result<Option<Gpu>, Failure> {
        let gpu = match (self.device, self.device_index) {
            (HOST, 0) => return Ok(None),
            (CUDA, CUDA_CURRENT) => Gpu::current(),
            (CUDA, index) if index >= 0 => Gpu::primary(index.unsigned_abs() as usize),
            (HOST | CUDA, index) => {
                let why = "the host has none (0), GPUs are counted from 0, -1 is that of the current context";
                return Err(Failure::field("device_index", index, why));
            }
            (device, _) => {
                let why = "TURNTILE_HOST and TURNTILE_CUDA are devices";
                return Err(Failure::field("device", device, why));
            }
        };
        Ok(Some(gpu.map_err(turntile::Error::from)?))
    }

    /// Leading dimensions of a matrix, of which at least one is not 0; the other may be, for the length of a row.
    ///
    /// # Errors
    /// [`Failure::Field`]: it is no matrix.
    fn leading(&self, extents: &[usize], axes: &[usize]) -> Result<[usize; 2], Failure> {
        let (&[rows, cols], &[first, _]) = (extents, axes) else {
            let (field, value) = if self.lda > 0 { ("lda", self.lda) } else { ("ldb", self.ldb) };
            let why = "leading dimensions are for matrices, of rank 2";
            return Err(Failure::field(field, value, why));
        };
        let after = if first == 1 { rows } else { cols };
        let given = |dimension: usize, row: usize| if dimension > 0 { dimension } else { row };
        Ok([given(self.lda, cols), given(self.ldb, after)])
    }

    /// What is to be planned.
    ///
    /// # Errors
    /// [`Failure`]: a field makes no sense.
    ///
    /// # Safety
    /// `extents` and `axes` are NULL or of as many numbers as `rank` says, which nothing writes meanwhile.
    pub(crate) unsafe fn transpose(&self) -> Result<Transpose<Dynamic>, Failure> {
        // SAFETY: the caller's word.
        let (extents, axes) = unsafe { memory::axes(self.rank, self.extents, self.axes) }?;
        let unknown = self.flags & !(OUT_OF_PLACE | NO_WORKSPACE);
        if unknown != 0 {
            let why = "it has flags that this version does not know";
            return Err(Failure::field("flags", self.flags, why));
        }
        let none = self.flags & NO_WORKSPACE != 0;
        if none && self.workspace_limit > 0 {
            let why = "with TURNTILE_NO_WORKSPACE it is 0";
            return Err(Failure::field("workspace_limit", self.workspace_limit, why));
        }
        if self.alignment > 0 && !self.alignment.is_power_of_two() {
            return Err(Failure::field("alignment", self.alignment, "it is no power of two"));
        }
        // The axes as they were given: planned, they have the batch before them.
        Problem::permuted(extents, axes, self.elem_bytes).map_err(turntile::Error::from)?;
        let mut transpose =
            Transpose::permute::<u8>(extents, axes).itemsize(self.elem_bytes).dynamic();
        transpose = transpose.batch(self.batch.max(1));
        if self.threads > 0 {
            transpose = transpose.threads(self.threads);
        }
        if none || self.workspace_limit > 0 {
            transpose =
                transpose.workspace_limit(self.workspace_limit / WORKSPACE_UNIT * WORKSPACE_UNIT);
        }
        if self.alignment > 0 {
            transpose = transpose.alignment(self.alignment);
        }
        if self.flags & OUT_OF_PLACE != 0 {
            transpose = transpose.out_of_place();
        }
        if self.lda > 0 || self.ldb > 0 {
            let [lda, ldb] = self.leading(extents, axes)?;
            transpose = transpose.leading(lda, ldb);
        }
        Ok(transpose)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a descriptor of a 5 by 7 matrix to be transposed asks for.
    fn asked(lda: usize, ldb: usize, workspace_limit: usize) -> Problem {
        let (extents, axes) = ([5, 7], [1, 0]);
        let desc = Desc {
            size: size_of::<Desc>(),
            version: Version::LIBRARY.0,
            device: HOST,
            device_index: 0,
            flags: 0,
            elem_bytes: 8,
            rank: 2,
            extents: extents.as_ptr(),
            axes: axes.as_ptr(),
            batch: 0,
            threads: 0,
            workspace_limit,
            alignment: 0,
            lda,
            ldb,
        };
        // SAFETY: both arrays have as many numbers as `rank` says, and nothing writes them.
        unsafe { desc.transpose() }.unwrap().problem().unwrap()
    }

    #[test]
    fn leading_dimensions_are_before_and_after() {
        for (lda, ldb, pitches) in [(9, 6, [9, 6]), (0, 6, [7, 6]), (9, 0, [9, 5])] {
            let problem = asked(lda, ldb, 0);
            let leading = problem.leading().unwrap();
            let found = [leading.source(), leading.result()].map(|rows| rows.pitch());
            assert_eq!(found, pitches, "{lda} {ldb}");
        }
        assert!(asked(0, 0, 0).leading().is_none());
    }

    /// A workspace is a multiple of the unit, and no more than the cap.
    #[test]
    fn caps_are_whole_units() {
        for (cap, whole) in [(0, None), (15, Some(0)), (16, Some(16)), (47, Some(32))] {
            assert_eq!(asked(0, 0, cap).cap(), whole, "{cap}");
        }
    }
}
