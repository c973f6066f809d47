//! Matrices of elements of 1, 2 or 4 bits.
//!
//! Rows are packed as by NumPy's `packbits` along the last axis: each row starts at a byte, and
//! padding bits fill its last byte. [`PackedMatrix::plan_on`] and [`PackedMatrix::plan_into_on`] plan
//! for a GPU.

pub use turntile_cpu::{BitOrder, Bits};
use turntile_cpu::{RunError, SmallMatrices, pool};
use turntile_plan::Problem;

#[cfg(doc)]
use crate::ErrorKind;
use crate::error::Reason;
use crate::{Error, RawElements, Transpose, bytes};

/// Row-major matrix, or a batch of contiguous matrices, of elements of 1, 2 or 4 bits.
///
/// ```
/// use turntile::bits::{BitOrder, Bits, PackedMatrix};
///
/// // 2 x 4 elements of 4 bits, the first of each byte in the low bits.
/// let matrix = PackedMatrix::new(2, 4, Bits::Four, BitOrder::Little);
/// let mut data = [0x21, 0x43,
///                 0x65, 0x87];
/// matrix.transpose_in_place(&mut data)?;
/// assert_eq!(data, [0x51, 0x62, 0x73, 0x84]);
/// # Ok::<(), turntile::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct PackedMatrix {
    pub(crate) batch: usize,
    pub(crate) sides: [usize; 2],
    pub(crate) bits: Bits,
    pub(crate) order: BitOrder,
    pub(crate) threads: Option<usize>,
}

impl PackedMatrix {
    /// Describes one matrix of `rows` by `cols` elements; 0 is allowed.
    pub fn new(rows: usize, cols: usize, bits: Bits, order: BitOrder) -> Self {
        PackedMatrix { batch: 1, sides: [rows, cols], bits, order, threads: None }
    }

    /// Sets the number of contiguous matrices; 0 is allowed.
    pub fn batch(self, batch: usize) -> Self {
        PackedMatrix { batch, ..self }
    }

    /// Limits a run to at most `threads` threads, at least 1. The default is the
    /// [thread count](crate#threads) of the pool in which it is called.
    pub fn threads(self, threads: usize) -> Self {
        PackedMatrix { threads: Some(threads.max(1)), ..self }
    }

    /// Returns the description of the transposed matrices.
    pub fn transposed(self) -> Self {
        let [rows, cols] = self.sides;
        PackedMatrix { sides: [cols, rows], ..self }
    }

    /// Returns the number of bytes of all matrices, including padding bits.
    ///
    /// # Errors
    /// [`ErrorKind::TooLarge`] if it overflows.
    pub fn bytes(&self) -> Result<usize, Error> {
        let [rows, cols] = self.sides;
        let row = cols.div_ceil(self.bits.per_byte());
        let bytes = self.batch.checked_mul(rows).and_then(|rows| rows.checked_mul(row));
        let fits = |&bytes: &usize| isize::try_from(bytes).is_ok();
        let shape = [self.batch, rows, cols][usize::from(self.batch == 1)..].to_vec();
        Ok(bytes.filter(fits).ok_or(Reason::Overflow { shape })?)
    }

    /// Transposes each matrix in place.
    ///
    /// Micro-blocks of `p` by `p` elements are turned, where a byte holds `p` elements. Then the
    /// bytes are permuted as an array of shape `[rows / p, p, cols / p]` with axes `[2, 1, 0]`,
    /// with the workspace of [`permute_in_place`](crate::permute_in_place), and with its plan cache
    /// unless [`threads`](Self::threads) is set. Matrices of at most 8 bytes are transposed in
    /// registers instead, in one pass.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] if a side is not a multiple of `p`, [`ErrorKind::Length`] if `data` does
    /// not have [`bytes`](Self::bytes) bytes, [`ErrorKind::TooLarge`] if that number overflows,
    /// [`ErrorKind::OutOfMemory`] if the workspace cannot be allocated.
    pub fn transpose_in_place(&self, data: &mut [u8]) -> Result<(), Error> {
        let (permutation, threads) = (self.byte_permutation()?, self.most_threads());
        let problem = permutation.problem()?;
        self.check(data)?;
        if let Some(small) = self.small() {
            small.transpose_in_place(data, threads);
            return Ok(());
        }
        let plan = self.threads.map(|_| permutation.plan()).transpose()?;
        // If the permutation fails, turning the blocks again restores the data.
        self.turn_blocks(data, threads)?;
        let permuted = match plan {
            Some(plan) => plan.run(&mut RawElements(&mut *data)),
            None => bytes::run(data, problem),
        };
        permuted.inspect_err(|_| {
            let _ = self.turn_blocks(data, threads);
        })
    }

    /// Transposes each matrix from `src` into `dst`.
    ///
    /// The sides may have any extents. The padding bits of `src` are ignored, those of `dst` become
    /// 0. Each thread may allocate a buffer of at most 128 KiB.
    ///
    /// # Errors
    /// [`ErrorKind::Length`] if `src` does not have [`bytes`](Self::bytes) bytes, or `dst` not those
    /// of the [transposed](Self::transposed) matrices; [`ErrorKind::TooLarge`] if a number
    /// overflows, [`ErrorKind::OutOfMemory`] if the buffers cannot be allocated.
    pub fn transpose_into(&self, src: &[u8], dst: &mut [u8]) -> Result<(), Error> {
        self.check(src)?;
        self.transposed().check(dst)?;
        let threads = self.most_threads();
        if let Some(small) = self.small() {
            small.transpose_into(dst, src, threads);
            return Ok(());
        }
        if let Ok([rows, cols]) = self.whole_sides() {
            let p = self.bits.per_byte();
            let problem = Problem::permuted(&[self.batch, rows, p, cols], &[0, 3, 2, 1], 1)?;
            bytes::run_into(src, dst, problem, threads)?;
            return self.transposed().turn_blocks(dst, threads);
        }
        let packing = (self.bits, self.order);
        turntile_cpu::transpose_bits_into(dst, src, self.sides, packing, threads);
        Ok(())
    }

    /// Returns the permutation of bytes that follows [`turn_blocks`](Self::turn_blocks).
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] if a side is not a multiple of the elements per byte.
    #[doc(hidden)]
    pub fn byte_permutation(&self) -> Result<Transpose, Error> {
        let [rows, cols] = self.whole_sides()?;
        let shape = [self.batch, rows, self.bits.per_byte(), cols];
        let permutation = Transpose::permute::<u8>(&shape, &[0, 3, 2, 1]);
        Ok(match self.threads {
            Some(threads) => permutation.threads(threads),
            None => permutation,
        })
    }

    fn small(&self) -> Option<SmallMatrices> {
        SmallMatrices::new(self.sides, (self.bits, self.order))
    }

    /// Returns the maximum number of threads of a run.
    fn most_threads(&self) -> usize {
        self.threads.unwrap_or_else(pool::thread_count)
    }

    /// Returns the sides in micro-blocks.
    pub(crate) fn whole_sides(&self) -> Result<[usize; 2], Error> {
        let ([rows, cols], per_byte) = (self.sides, self.bits.per_byte());
        if !rows.is_multiple_of(per_byte) || !cols.is_multiple_of(per_byte) {
            return Err(Reason::PartialBytes { rows, cols, per_byte }.into());
        }
        Ok([rows / per_byte, cols / per_byte])
    }

    /// Turns the micro-blocks of matrices whose rows are a multiple of the elements per byte, in
    /// place and on at most `threads` threads.
    ///
    /// # Errors
    /// Those of [`transpose_in_place`](Self::transpose_in_place). The data are then unchanged.
    #[doc(hidden)]
    pub fn turn_blocks(&self, data: &mut [u8], threads: usize) -> Result<(), Error> {
        let [_, row] = self.whole_sides()?;
        self.check(data)?;
        turntile_cpu::turn_blocks(data, row, (self.bits, self.order), threads.max(1));
        Ok(())
    }

    fn check(&self, data: &[u8]) -> Result<(), Error> {
        let (expected, got) = (self.bytes()?, data.len());
        if expected == got { Ok(()) } else { Err(RunError::Length { expected, got }.into()) }
    }
}
