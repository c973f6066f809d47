//! Numbers in rows a pitch apart, multiplied and conjugated where they lie.

use turntile_perm::Pitched;

use crate::call::{Limits, widest_word};
use crate::error::CudaError;
use crate::lower::{self, Number, Scaling};
use crate::prepare::Work;

impl Work {
    /// Numbers in `rows` scaled where they lie, in memory whose address is a multiple of `alignment` and of a real
    /// number's bytes.
    ///
    /// # Errors
    /// [`CudaError::Infeasible`]: they cannot be counted.
    pub fn of_scale(
        number: Number,
        rows: Pitched,
        scaling: Scaling,
        alignment: usize,
        limits: &Limits,
    ) -> Result<Self, CudaError> {
        let alignment = widest_word(&[alignment]).max(number.real_bytes());
        let calls = match rows.is_empty() {
            true => Ok(Vec::new()),
            false => lower::scale(number, rows, scaling, alignment, limits).map(|call| vec![call]),
        };
        let bytes = rows.span().saturating_mul(number.bytes());
        Self::of_calls(number.entry(), calls, bytes, alignment)
    }
}
