//! What the planner knows of a device: what it offers.

use std::fmt;

use turntile_perm::Slots;

use crate::infeasible::Infeasible;
use crate::offer::{Method, Offer};
use crate::problem::Problem;
use crate::shape::StageShape;

/// Which methods a route takes for one of its stages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
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

impl Want {
    /// Whether `method` will do.
    pub fn accepts(self, method: Method) -> bool {
        match self {
            Want::Any => true,
            Want::Barrier => method == Method::BarrierSync,
            Want::Tiles => matches!(method, Method::BarrierSync | Method::TileSwap),
            Want::Cycles => matches!(method, Method::PttwacGlobal | Method::PerCycle),
            Want::Swap => method == Method::TileSwap,
        }
    }
}

/// What a device is asked for beside a shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Bytes of an element.
    pub elem_bytes: usize,
    /// What the memory's address is a multiple of, in bytes.
    pub alignment: usize,
    /// Whether the result is written to another place.
    pub out_of_place: bool,
    /// Bytes of workspace at most.
    pub cap: usize,
    /// The methods that will do.
    pub want: Want,
}

impl Request {
    /// For a stage of `problem`, with as much workspace as `device` grants it.
    pub fn new(problem: &Problem, device: &dyn Device, want: Want) -> Self {
        Request {
            elem_bytes: problem.elem_bytes(),
            alignment: problem.alignment(),
            out_of_place: problem.is_out_of_place(),
            cap: device.cap(problem),
            want,
        }
    }
}

/// A device as it offers to move things: plain data that can be had anywhere, so that plans for any
/// device are made, compared and printed without it.
///
/// Whoever implements it also runs what it offers. An offer is a promise: what it says is what is run, it
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
    fn holds(&self) -> [usize; 2];

    /// Seconds that no pass over `bytes` bytes can be faster than.
    fn least_seconds(&self, bytes: usize) -> f64;

    /// Aligned slots of `slot` elements and chunks of `chunk` rows, in the order that suits the device, of a
    /// `rows` x `cols` matrix; `None` where there are none.
    fn slots(&self, rows: usize, cols: usize, slot: usize, chunk: usize) -> Option<Slots>;

    /// Rows of the chunks that are worth a try with slots of `slot` elements, ascending; with `every`, of all that
    /// could be.
    fn chunks(
        &self,
        rows: usize,
        cols: usize,
        slot: usize,
        elem_bytes: usize,
        every: bool,
    ) -> Vec<usize>;

    /// All ways to move `shape`, in the order in which ties are broken; at least one.
    ///
    /// # Errors
    /// Why there is none, or none within the cap.
    fn offers(&self, shape: &StageShape, request: &Request) -> Result<Vec<Offer>, Infeasible>;

    /// The fastest of them.
    ///
    /// # Errors
    /// As [`offers`](Self::offers).
    fn best(&self, shape: &StageShape, request: &Request) -> Result<Offer, Infeasible> {
        let offers = self.offers(shape, request)?;
        let best = offers.into_iter().min_by(|a, b| a.seconds.total_cmp(&b.seconds));
        Ok(best.expect("a device that offers nothing says why"))
    }
}
