//! What the planner knows of a device: what it offers.

use std::fmt;

use turntile_perm::AlignedSlots;

use crate::implementation::{Implementation, Method};
use crate::infeasible::Infeasible;
use crate::problem::Problem;
use crate::stage_map::StageMap;

/// Which methods a route takes for one of its stages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MethodFilter {
    /// Any.
    Any,
    /// Barrier-sync.
    Barrier,
    /// Barrier-sync, or tile pairs that change places.
    Tiles,
    /// Cycle following, with flags in memory or none.
    Cycles,
    /// Tile pairs that change places.
    Swap,
}

impl MethodFilter {
    /// Whether `method` will do.
    pub fn accepts(self, method: Method) -> bool {
        match self {
            MethodFilter::Any => true,
            MethodFilter::Barrier => method == Method::BarrierSync,
            MethodFilter::Tiles => matches!(method, Method::BarrierSync | Method::TileSwap),
            MethodFilter::Cycles => matches!(method, Method::PttwacGlobal | Method::PIpt),
            MethodFilter::Swap => method == Method::TileSwap,
        }
    }
}

/// What a device is asked for beside a shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StageRequest {
    /// Bytes of an element.
    pub elem_bytes: usize,
    /// What the memory's address is a multiple of, in bytes.
    pub alignment: usize,
    /// Whether the result is written to another place.
    pub out_of_place: bool,
    /// Bytes of workspace at most.
    pub cap: usize,
    /// The methods that will do.
    pub methods: MethodFilter,
}

impl StageRequest {
    /// For a stage of `problem`, with as much workspace as `device` grants it.
    pub fn new(problem: &Problem, device: &dyn Device, want: MethodFilter) -> Self {
        StageRequest {
            elem_bytes: problem.elem_bytes(),
            alignment: problem.alignment(),
            out_of_place: problem.is_out_of_place(),
            cap: device.cap(problem),
            methods: want,
        }
    }
}

/// A matrix that is to be cut into aligned slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotParams {
    /// Rows of the matrix.
    pub rows: usize,
    /// Its columns.
    pub cols: usize,
    /// Elements of a slot, from 1 to the rows.
    pub slot: usize,
    /// Bytes of an element.
    pub elem_bytes: usize,
}

impl SlotParams {
    /// Rows of the longest chunk: whole slots.
    pub fn longest_chunk(&self) -> usize {
        self.rows / self.slot * self.slot
    }

    /// Rows of the longest chunks that fit `bytes` bytes: with room for the rows that are read beyond them, and
    /// without. Never less than a slot.
    pub fn chunks_that_fit(&self, bytes: usize) -> [usize; 2] {
        let most = bytes / (self.cols * self.elem_bytes) / self.slot * self.slot;
        let most = most.clamp(self.slot, self.longest_chunk());
        [most.saturating_sub(2 * self.slot).max(self.slot), most]
    }

    /// Rows of chunks of every length that fits `bytes` bytes: one slot's, twice as many each, and those that
    /// [fit](Self::fitting).
    pub fn chunk_lengths(&self, bytes: usize) -> impl Iterator<Item = usize> + use<> {
        let fitting = self.chunks_that_fit(bytes);
        let doubled = std::iter::successors(Some(self.slot), |chunk| Some(chunk * 2));
        doubled.take_while(move |&chunk| chunk < fitting[1]).chain(fitting)
    }
}

/// A device as it offers to move things: plain data that can be made anywhere, so that plans for any
/// device are made, compared and printed without it.
///
/// Whoever implements it also runs what it offers, and permutes eight axes at least: plans of more bring eight at a time
/// to their places. An offer is a promise: what it says is what is run, it
/// keeps to the request's cap, and it is of a method that the request wants.
pub trait Device: fmt::Debug + Send + Sync {
    /// Short name, for plans and messages.
    fn name(&self) -> &str;

    /// Everything that its offers depend on but how fast they are: what wisdom is kept under.
    fn model(&self) -> String;

    /// Bytes of workspace that a plan may use when the problem sets no cap.
    fn default_cap(&self, problem: &Problem) -> usize;

    /// The cap that holds: the problem's, or the default.
    fn cap(&self, problem: &Problem) -> usize {
        problem.cap().unwrap_or_else(|| self.default_cap(problem))
    }

    /// Bytes that can be held on chip before any is written: by one worker, and by as many as can wait
    /// for each other while others do the same.
    fn on_chip_bytes(&self) -> [usize; 2];

    /// Bytes of the largest array that is held on chip whole, by all workers that wait for each other.
    fn on_chip_bytes_in_all(&self) -> usize {
        self.on_chip_bytes()[1]
    }

    /// Seconds that no pass over `bytes` bytes can be faster than.
    fn least_seconds(&self, bytes: usize) -> f64;

    /// Those slots with chunks of `chunk` rows, in the order that suits the device; `None` where there are none.
    fn aligned_slots(&self, slotting: &SlotParams, chunk: usize) -> Option<AlignedSlots>;

    /// Rows of the chunks that are worth a try with those slots, in any order, some perhaps twice; with `every`, of
    /// all that could be.
    fn chunk_lengths(&self, slotting: &SlotParams, every: bool) -> Vec<usize>;

    /// Bytes of a chunk of records, and of the longest slots that it is cut into, on a device that gathers chunks in runs: every
    /// length of slots is worth a try, and longer chunks are worth nothing.
    fn record_chunk_bytes(&self) -> Option<[usize; 2]> {
        None
    }

    /// All ways to move `shape`, in the order in which ties are broken; at least one.
    ///
    /// # Errors
    /// Why there is none, or none within the cap.
    fn implementations(
        &self,
        shape: &StageMap,
        request: &StageRequest,
    ) -> Result<Vec<Implementation>, Infeasible>;

    /// The fastest of them.
    ///
    /// # Errors
    /// As [`offers`](Self::offers).
    fn best(&self, shape: &StageMap, request: &StageRequest) -> Result<Implementation, Infeasible> {
        let offers = self.implementations(shape, request)?;
        let best = offers.into_iter().min_by(|a, b| a.seconds.total_cmp(&b.seconds));
        Ok(best.expect("a device that offers nothing says why"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_fit_what_holds_them() {
        let slotting = SlotParams { rows: 1000, cols: 10, slot: 8, elem_bytes: 4 };
        // 100 rows of 40 bytes: twelve slots, ten with the rows beyond.
        assert_eq!(slotting.chunks_that_fit(4039), [80, 96]);
        assert_eq!(slotting.chunk_lengths(4039).collect::<Vec<_>>(), [8, 16, 32, 64, 80, 96]);
        assert_eq!(slotting.chunks_that_fit(0), [8, 8], "one slot at least");
        assert_eq!(slotting.chunks_that_fit(1 << 30), [984, 1000], "no more than there are");
        assert_eq!(SlotParams { rows: 1007, ..slotting }.longest_chunk(), 1000);
    }
}
