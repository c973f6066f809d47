//! The descriptor of a plan.
#![allow(unsafe_code)]

use turntile::Transpose;
use turntile::gpu::Gpu;
use turntile::mode::Dynamic;
use turntile::plan::Problem;

use crate::memory::{self, MAX_NDIM, RawMemory};
use crate::status::Failure;
use crate::version::Version;

/// Description of a plan (`turntile_desc`; the header documents the fields).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "the header documents them")]
pub struct Desc {
    pub version: u32,
    pub device: u32,
    pub device_index: i32,
    pub flags: u32,
    pub itemsize: usize,
    pub ndim: usize,
    pub shape: *const usize,
    pub axes: *const usize,
    pub batch: usize,
    pub threads: usize,
    pub workspace_limit: usize,
    pub alignment: usize,
    pub lda: usize,
    pub ldb: usize,
    pub flip: u64,
}

pub const CPU: u32 = 0;
pub const CUDA: u32 = 1;
pub const CUDA_CURRENT: i32 = -1;
pub const OUT_OF_PLACE: u32 = 1;

/// Unit of workspaces and their limit, in bytes.
pub const WORKSPACE_UNIT: usize = 16;

impl Desc {
    /// Reads the descriptor at `desc`.
    ///
    /// # Errors
    /// [`Failure::Null`], [`Failure::Misaligned`], [`Failure::Header`].
    ///
    /// # Safety
    /// `desc` must be NULL or start with a version, and be a descriptor of that version.
    pub(crate) unsafe fn read(desc: *const Desc) -> Result<Desc, Failure> {
        if desc.is_null() {
            return Err(Failure::Null { what: "desc" });
        }
        RawMemory::new("desc", desc.cast(), size_of::<Desc>())?.aligned(align_of::<Desc>())?;
        // SAFETY: the caller guarantees the version.
        let (header, library) = (Version(unsafe { (*desc).version }), Version::LIBRARY);
        if !library.accepts(header) {
            return Err(Failure::Header { header, library });
        }
        // SAFETY: the caller guarantees a descriptor of that version, which this library shares.
        Ok(unsafe { *desc })
    }

    /// Returns the GPU to plan for, or `None` for the CPU.
    ///
    /// # Errors
    /// [`Failure::Field`], [`Failure::Library`].
    pub(crate) fn gpu(&self) -> Result<Option<Gpu>, Failure> {
        let gpu = match (self.device, self.device_index) {
            (CPU, 0) => return Ok(None),
            (CUDA, CUDA_CURRENT) => Gpu::current(),
            (CUDA, index) if index >= 0 => Gpu::primary(index.unsigned_abs() as usize),
            (CPU | CUDA, index) => {
                let why = "expected 0 for the CPU, a GPU's number, or -1 for the GPU of the current context";
                return Err(Failure::field("device_index", index, why));
            }
            (device, _) => {
                let why = "expected TURNTILE_CPU or TURNTILE_CUDA";
                return Err(Failure::field("device", device, why));
            }
        };
        Ok(Some(gpu.map_err(turntile::Error::from)?))
    }

    /// Returns the leading dimensions of a matrix. One of `lda` and `ldb` may be 0, for the length of a row.
    ///
    /// # Errors
    /// [`Failure::Field`]: the array is not a matrix.
    fn leading(&self, shape: &[usize], axes: &[usize]) -> Result<[usize; 2], Failure> {
        let (&[rows, cols], &[first, _]) = (shape, axes) else {
            let (field, value) = if self.lda > 0 { ("lda", self.lda) } else { ("ldb", self.ldb) };
            let why = "leading dimensions need a matrix (ndim 2)";
            return Err(Failure::field(field, value, why));
        };
        let after = if first == 1 { rows } else { cols };
        let given = |dimension: usize, row: usize| if dimension > 0 { dimension } else { row };
        Ok([given(self.lda, cols), given(self.ldb, after)])
    }

    /// Returns the request to plan.
    ///
    /// # Errors
    /// [`Failure`]: a field is invalid.
    ///
    /// # Safety
    /// `shape` and `axes` must each be NULL or have `ndim` numbers, which nothing writes during the call.
    pub(crate) unsafe fn transpose(&self) -> Result<Transpose<Dynamic>, Failure> {
        // SAFETY: the caller guarantees the numbers.
        let (shape, axes) = unsafe { memory::axes(self.ndim, self.shape, self.axes) }?;
        if self.flags & !OUT_OF_PLACE != 0 {
            return Err(Failure::field("flags", self.flags, "unknown flag"));
        }
        if self.alignment > 0 && !self.alignment.is_power_of_two() {
            return Err(Failure::field("alignment", self.alignment, "expected a power of two"));
        }
        // Checked here because errors of the plan show the axes with the batch in front.
        Problem::permuted(shape, axes, self.itemsize).map_err(turntile::Error::from)?;
        let mut transpose = Transpose::permute::<u8>(shape, axes).itemsize(self.itemsize).dynamic();
        transpose = transpose.flip(&flipped(self.flip));
        transpose = transpose.batch(self.batch.max(1));
        if self.threads > 0 {
            transpose = transpose.threads(self.threads);
        }
        if self.workspace_limit < usize::MAX {
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
            let [lda, ldb] = self.leading(shape, axes)?;
            transpose = transpose.leading(lda, ldb);
        }
        Ok(transpose)
    }
}

/// Returns the axes whose bits are 1.
pub(crate) fn flipped(flip: u64) -> Vec<usize> {
    (0..MAX_NDIM).filter(|axis| flip >> axis & 1 == 1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the problem of a descriptor that transposes a 5 by 7 matrix.
    fn asked(lda: usize, ldb: usize, workspace_limit: usize) -> Problem {
        let (shape, axes) = ([5, 7], [1, 0]);
        let desc = Desc {
            version: Version::LIBRARY.0,
            device: CPU,
            device_index: 0,
            flags: 0,
            itemsize: 8,
            ndim: 2,
            shape: shape.as_ptr(),
            axes: axes.as_ptr(),
            batch: 0,
            threads: 0,
            workspace_limit,
            alignment: 0,
            lda,
            ldb,
            flip: 0,
        };
        // SAFETY: both arrays have `ndim` numbers, and nothing writes them.
        unsafe { desc.transpose() }.unwrap().problem().unwrap()
    }

    #[test]
    fn leading_dimensions_are_before_and_after() {
        for (lda, ldb, pitches) in [(9, 6, [9, 6]), (0, 6, [7, 6]), (9, 0, [9, 5])] {
            let problem = asked(lda, ldb, usize::MAX);
            let leading = problem.leading().unwrap();
            let found = [leading.source(), leading.result()].map(|rows| rows.pitch());
            assert_eq!(found, pitches, "{lda} {ldb}");
        }
        assert!(asked(0, 0, usize::MAX).leading().is_none());
    }

    #[test]
    fn workspace_limits_are_rounded_down_to_whole_units() {
        for (limit, whole) in
            [(usize::MAX, None), (0, Some(0)), (15, Some(0)), (16, Some(16)), (47, Some(32))]
        {
            assert_eq!(asked(0, 0, limit).cap(), whole, "{limit}");
        }
    }
}
