//! Faults that are known and not mended yet: what the driver leaves out or puts up with because of them.
//!
//! Deleting a line of [`OPEN`] makes the driver look for that fault again; delete the variant with it.

/// A fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(dead_code, reason = "those that are not open")]
pub enum Known {
    /// `Problem::with_leading(..)` then `out_of_place()` is planned, and the run panics while elements move.
    LeadingThenOutOfPlace,
    /// `Problem::of_records(..)` with leading dimensions is planned, and moves nothing.
    RecordsWithLeading,
    /// `TileRule::Exhaustive`: `plan` returns the last feasible route, not the one of least estimated time.
    ExhaustiveTakesTheLast,
    /// GPUs, axes that are no matrices: `plan` returns more estimated seconds than the best of `survey`.
    SurveyFindsBetterOnGpus,
    /// The table of costs that `CpuDevice::here` plans by is refused by `Transpose::costs` on an unknown processor.
    OwnCostsRefused,
    /// A batch of arrays of one axis with leading dimensions is planned as one matrix.
    BatchOfOneAxisWithLeading,
    /// A route is ignored where one stage moves a matrix with leading dimensions.
    RouteIgnoredWithLeading,
    /// `Planner::with_mirrored` is ignored for records and for matrices with leading dimensions.
    MirroredIgnored,
    /// Records that stay as they are have no plan by a route that was asked for.
    RecordsThatStayByRoute,
    /// A route that the table does not have: the error names another.
    UnknownRouteNamedNothing,
    /// `Transpose::alignment` and `Problem::with_alignment` take alignments that are no power of two.
    OddAlignment,
    /// `Transpose::stored` ignores options that its documentation does not name.
    StoredIgnoresOptions,
    /// Wisdom measured over one route replaces, and is used as, that of all routes.
    WisdomOfOneRoute,
    /// Measuring what does not move remembers a recipe without legs, and `plan` then reports it as refused.
    WisdomOfNothing,
    /// `Plan::dest` where rows are exchanged lists all rows each time: slow, and no memory where they are very many.
    DestListsRows,
}

/// The faults that are left out.
const OPEN: &[Known] = &[
    Known::LeadingThenOutOfPlace,
    Known::RecordsWithLeading,
    Known::ExhaustiveTakesTheLast,
    Known::SurveyFindsBetterOnGpus,
    Known::OwnCostsRefused,
    Known::BatchOfOneAxisWithLeading,
    Known::RouteIgnoredWithLeading,
    Known::MirroredIgnored,
    Known::RecordsThatStayByRoute,
    Known::UnknownRouteNamedNothing,
    Known::OddAlignment,
    Known::StoredIgnoresOptions,
    Known::WisdomOfOneRoute,
    Known::WisdomOfNothing,
    Known::DestListsRows,
];

/// Returns whether the fault is left out.
pub fn open(fault: Known) -> bool {
    OPEN.contains(&fault)
}
