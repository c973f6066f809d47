//! Devices as the planner sees them: the trait that backends implement.

use std::fmt;

use turntile_perm::AlignedSlots;

use crate::implementation::{Implementation, Method};
use crate::infeasible::Infeasible;
use crate::problem::Problem;
use crate::stage_map::StageMap;

/// Filter on the methods that a route accepts for one of its stages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MethodFilter {
    /// Any method.
    Any,
    /// Barrier synchronisation only.
    Barrier,
    /// Barrier synchronisation or swaps of tile pairs.
    Tiles,
    /// Cycle following, with flags in global memory or without flags.
    Cycles,
    /// Swaps of tile pairs only.
    Swap,
    /// Pieces of long runs only.
    Pieces,
}

impl MethodFilter {
    /// Returns `true` if the filter accepts `method`.
    pub fn accepts(self, method: Method) -> bool {
        match self {
            MethodFilter::Any => true,
            MethodFilter::Barrier => method == Method::BarrierSync,
            MethodFilter::Tiles => matches!(method, Method::BarrierSync | Method::TileSwap),
            MethodFilter::Cycles => matches!(method, Method::PttwacGlobal | Method::PIpt),
            MethodFilter::Swap => method == Method::TileSwap,
            MethodFilter::Pieces => method == Method::Pieces,
        }
    }
}

/// Constraints on the implementations of a stage, in addition to its index map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StageRequest {
    /// Bytes of an element.
    pub elem_bytes: usize,
    /// Alignment of the data buffers in bytes.
    pub alignment: usize,
    /// `true` if the result is written to another buffer.
    pub out_of_place: bool,
    /// Maximum workspace in bytes.
    pub cap: usize,
    /// Accepted methods.
    pub methods: MethodFilter,
}

impl StageRequest {
    /// Returns `true` if the filter accepts `method` and the method writes to the required buffer.
    pub fn accepts(&self, method: Method) -> bool {
        (method == Method::OutOfPlace) == self.out_of_place && self.methods.accepts(method)
    }

    /// Creates a request for a stage of `problem`, with the workspace cap from
    /// [`Device::cap`].
    pub fn new(problem: &Problem, device: &dyn Device, methods: MethodFilter) -> Self {
        StageRequest {
            elem_bytes: problem.itemsize(),
            alignment: problem.alignment(),
            out_of_place: problem.is_out_of_place(),
            cap: device.cap(problem),
            methods,
        }
    }
}

/// Parameters of aligned slots: the matrix extents, the slot length and the element size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotParams {
    /// Rows of the matrix.
    pub rows: usize,
    /// Columns of the matrix.
    pub cols: usize,
    /// Elements of a slot, from 1 to `rows`.
    pub slot: usize,
    /// Bytes of an element.
    pub elem_bytes: usize,
}

impl SlotParams {
    /// Returns the maximum chunk length, in rows: the largest multiple of `slot` up to `rows`.
    pub fn longest_chunk(&self) -> usize {
        self.rows / self.slot * self.slot
    }

    /// Returns two chunk lengths, in rows: the longest that fits `bytes` bytes with its halo, and
    /// the longest without.
    ///
    /// The halo counts as `2 · slot` rows. Both results are multiples of `slot` and at least
    /// `slot`, even if that does not fit.
    pub fn chunks_that_fit(&self, bytes: usize) -> [usize; 2] {
        let most = bytes / (self.cols * self.elem_bytes) / self.slot * self.slot;
        let most = most.clamp(self.slot, self.longest_chunk());
        [most.saturating_sub(2 * self.slot).max(self.slot), most]
    }

    /// Iterates over the chunk lengths, in rows, to try with `bytes` bytes of on-chip memory.
    ///
    /// The lengths double from one slot. The last two are those of
    /// [`chunks_that_fit`](Self::chunks_that_fit).
    pub fn chunk_lengths(&self, bytes: usize) -> impl Iterator<Item = usize> + use<> {
        let fitting = self.chunks_that_fit(bytes);
        let doubled = std::iter::successors(Some(self.slot), |chunk| Some(chunk * 2));
        doubled.take_while(move |&chunk| chunk < fitting[1]).chain(fitting)
    }
}

/// Device model: the implementations, limits and estimates that the planner needs.
///
/// A model is plain data. Plans for a device can be made, compared and printed on machines that do
/// not have it.
///
/// The backend must execute every implementation that the model returns. Each must respect the cap
/// of the request and have an accepted method. The backend must permute at least eight axes: plans
/// of a higher rank can then permute eight at a time.
pub trait Device: fmt::Debug + Send + Sync {
    /// Returns a short name for plans and messages.
    fn name(&self) -> &str;

    /// Returns the device key for wisdom.
    ///
    /// It identifies everything that affects which implementations are returned, except their
    /// speed.
    fn model(&self) -> String;

    /// Returns the workspace cap in bytes for problems that do not set one.
    fn default_cap(&self, problem: &Problem) -> usize;

    /// Returns the effective workspace cap in bytes: the problem's cap, else the device's default.
    fn cap(&self, problem: &Problem) -> usize {
        problem.cap().unwrap_or_else(|| self.default_cap(problem))
    }

    /// Returns on-chip capacities in bytes: of one thread block or CPU thread, and of the largest
    /// cluster of them that can synchronise while others do the same.
    fn on_chip_bytes(&self) -> [usize; 2];

    /// Returns the on-chip capacity in bytes of the whole device, if all of it can synchronise,
    /// including workspace in which a pass may keep the rest of its data.
    ///
    /// Arrays up to this size can be permuted in one pass. The default is the second of
    /// [`on_chip_bytes`](Self::on_chip_bytes).
    fn on_chip_bytes_total(&self) -> usize {
        self.on_chip_bytes()[1]
    }

    /// Returns a lower bound, in seconds, of one pass over `bytes` bytes.
    fn least_seconds(&self, bytes: usize) -> f64;

    /// Returns the aligned slots with chunks of `chunk` rows, in the slot order that suits the
    /// device.
    ///
    /// Returns `None` if the parameters are not valid.
    fn aligned_slots(&self, params: &SlotParams, chunk: usize) -> Option<AlignedSlots>;

    /// Returns the chunk lengths, in rows, that are worth trying with these slots, or all candidate
    /// lengths if `every`.
    ///
    /// The order is unspecified, and lengths may repeat.
    fn chunk_lengths(&self, params: &SlotParams, every: bool) -> Vec<usize>;

    /// Returns the maximum bytes of a chunk of records and of a slot in it, or `None` for the
    /// planner's defaults.
    ///
    /// With `Some`, the planner tries every power of two up to the maximum as slot length. This
    /// suits devices for which longer chunks have no benefit.
    fn record_chunk_bytes(&self) -> Option<[usize; 2]> {
        None
    }

    /// Returns all implementations of `map` that meet `request`, at least one.
    ///
    /// Between equal estimates the planner takes the first implementation.
    ///
    /// # Errors
    /// The reason why the device has no implementation, or none within the workspace cap.
    fn implementations(
        &self,
        map: &StageMap,
        request: &StageRequest,
    ) -> Result<Vec<Implementation>, Infeasible>;

    /// Returns the fastest implementation of `map` by estimate.
    ///
    /// # Errors
    /// The errors of [`implementations`](Self::implementations).
    fn best(&self, map: &StageMap, request: &StageRequest) -> Result<Implementation, Infeasible> {
        let all = self.implementations(map, request)?;
        let best = all.into_iter().min_by(|a, b| a.seconds.total_cmp(&b.seconds));
        Ok(best.expect("a device without implementations returns an error"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunk_lengths_fit_given_bytes() {
        let params = SlotParams { rows: 1000, cols: 10, slot: 8, elem_bytes: 4 };
        // 4039 bytes hold 100 rows of 40 bytes: 12 times the slot length, or 10 times with the
        // halo.
        assert_eq!(params.chunks_that_fit(4039), [80, 96]);
        assert_eq!(params.chunk_lengths(4039).collect::<Vec<_>>(), [8, 16, 32, 64, 80, 96]);
        assert_eq!(params.chunks_that_fit(0), [8, 8], "at least one slot");
        assert_eq!(params.chunks_that_fit(1 << 30), [984, 1000], "at most all rows");
        assert_eq!(SlotParams { rows: 1007, ..params }.longest_chunk(), 1000);
    }
}
