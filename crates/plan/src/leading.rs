//! Planning of matrices with leading dimensions (row pitches), as in BLAS.
//!
//! The planner tries three strategies, explained in `docs/explanation/planner.md`:
//!
//! 1. One stage moves the whole matrix.
//! 2. Rows become contiguous, a route of dense matrices transposes them, and the rows move to their
//!    new pitch. If the gaps of the source or the result are moved as elements, the move of its
//!    rows is not needed.
//! 3. Rows are swapped with gaps until they are contiguous. The swaps need no workspace.

use std::ops::Range;

use turntile_perm::divisors::divisors;
use turntile_perm::{Elementary, LeadingDims, PitchedRows, RowSlide, TileRows};

use crate::device::{Device, MethodFilter, StageRequest};
use crate::implementation::{Implementation, Stage};
use crate::infeasible::Infeasible;
use crate::plan::{Phase, RejectedRoute};
use crate::planner::{Candidate, Planner, TileRule};
use crate::problem::Problem;
use crate::routes::{Route, TileSize};
use crate::saved_gaps::SavedGaps;
use crate::stage_map::{Direction, StageMap};

/// Planner of one problem with leading dimensions.
pub struct LeadingPlanner<'a> {
    pub planner: &'a Planner,
    pub problem: &'a Problem,
    pub leading: &'a LeadingDims,
    /// Planner of the transposition without gaps.
    pub dense: &'a dyn Fn(&Problem) -> Result<Candidate, RejectedRoute>,
}

type Found = Result<Vec<Candidate>, RejectedRoute>;

/// Strategies in the order in which they are tried: fewest passes first.
///
/// The planner takes the fastest candidate of the first strategy that fits the workspace cap. The
/// second argument is `true` if slower candidates are wanted too.
const STRATEGIES: [fn(&LeadingPlanner, bool) -> Found; 3] = [
    |leading, _| leading.one_stage(),
    |leading, all| leading.around_gaps(all),
    |leading, _| leading.by_gap_swaps(),
];

impl LeadingPlanner<'_> {
    /// Tries the strategies in order. Returns the fastest candidate of the first one that is feasible
    /// within the workspace cap.
    ///
    /// # Errors
    /// The reason for which the last strategy failed, leaving out strategies that the device has no
    /// implementation for. If it has none for any, the reason of the first.
    pub fn first(&self) -> Result<Candidate, RejectedRoute> {
        let mut rejected: Option<RejectedRoute> = None;
        for found in self.attempts(false) {
            match found {
                Ok(found) => return Ok(found.into_iter().next().unwrap_or_default()),
                Err(RejectedRoute { reason: Infeasible::NoImplementation { .. }, .. })
                    if rejected.is_some() => {}
                Err(rejection) => rejected = Some(rejection),
            }
        }
        Err(rejected.expect("every strategy returns a candidate or a reason"))
    }

    /// Returns all candidates, and the reasons of infeasible strategies.
    pub fn all(&self) -> (Vec<Candidate>, Vec<RejectedRoute>) {
        let (mut all, mut rejections) = (Vec::new(), Vec::new());
        let equal = self.leading.source().pitch() == self.leading.result().pitch();
        for found in self.attempts(true) {
            match found {
                Ok(found) => all.extend(found),
                Err(rejection) => rejections.push(rejection),
            }
            // At equal pitches only a single stage leaves elements that are only in the source
            // unchanged.
            if equal && !all.is_empty() {
                break;
            }
        }
        (all, rejections)
    }

    /// Runs the applicable strategies lazily. With `all`, they also return slower candidates.
    fn attempts(&self, all: bool) -> impl Iterator<Item = Found> {
        let equal = self.leading.source().pitch() == self.leading.result().pitch();
        // Untransposed rows slide without a dense matrix in between. Equal pitches must leave gaps
        // unchanged. Both need a single stage.
        let one = !self.leading.is_transposed() || equal;
        let (route, reason) =
            (self.planner.route.unwrap_or(Route::ONE_STAGE), Infeasible::OneStage);
        let others = route != Route::ONE_STAGE || self.planner.mirrored == Some(true);
        let (known, strategies) = match (others, one) {
            _ if self.leading.is_identity() => (Some(Ok(vec![Candidate::default()])), 0..0),
            (true, true) => (Some(Err(RejectedRoute { route, reason })), 0..0),
            (true, false) => (None, 1..STRATEGIES.len()),
            (false, _) => {
                (None, 0..if self.leading.is_transposed() { STRATEGIES.len() } else { 1 })
            }
        };
        known
            .into_iter()
            .chain(STRATEGIES[strategies].iter().map(move |strategy| strategy(self, all)))
    }

    fn device(&self) -> &dyn Device {
        &*self.planner.device
    }

    /// Returns the fastest implementation of each method that moves the whole matrix in one stage,
    /// fastest first.
    fn one_stage(&self) -> Found {
        let (map, route) = (StageMap::from(*self.leading), Route::ONE_STAGE);
        let request = StageRequest::new(self.problem, self.device(), MethodFilter::Any);
        let mut found = self
            .device()
            .implementations(&map, &request)
            .map_err(|reason| RejectedRoute { route, reason })?;
        found.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
        let mut seen = Vec::new();
        found.retain(|found| {
            let new = !seen.contains(&found.method);
            seen.push(found.method);
            new
        });
        let after = self.problem.fused().order().to_vec();
        let plan = |found| self.phase(route, after.clone(), vec![Stage::new(map.clone(), found)]);
        Ok(found.into_iter().map(plan).collect())
    }

    /// Returns the candidates of each dense matrix and [`Frame`] that fits the workspace cap,
    /// fastest first. Without `all`, slower ones may be left out.
    fn around_gaps(&self, all: bool) -> Found {
        let (mut found, mut rejected) = (Vec::<Candidate>::new(), None);
        for matrix in dense_matrices(self.leading) {
            found.extend(self.with_tiles(&matrix, all, least(&found)));
            match self
                .within(&matrix.with_slides(), if all { f64::INFINITY } else { least(&found) })
            {
                Ok(more) => found.extend(more),
                Err(rejection) => rejected = Some(rejection),
            }
        }
        found.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
        // The last dense matrix saves the fewest gap elements, so its reason is reported.
        rejected.filter(|_| found.is_empty()).map_or(Ok(found), Err)
    }

    /// Returns the candidate with the fastest tile side, if it takes less than `bound` seconds.
    ///
    /// With `all`, `bound` is ignored. Under [`TileRule::Exhaustive`] the candidates of several
    /// sides are returned. Returns no candidate if another route or a mirrored one was requested.
    fn with_tiles(&self, matrix: &DenseMatrix, all: bool, bound: f64) -> Vec<Candidate> {
        let Planner { route, mirrored, rule, .. } = self.planner;
        if route.is_some_and(|route| route != Route::SQUARE_TILE) || *mirrored == Some(true) {
            return Vec::new();
        }
        let every = *rule == TileRule::Exhaustive;
        let (mut found, mut bound) = (Vec::new(), if all { f64::INFINITY } else { bound });
        for frame in
            matrix.tile_sides().into_iter().rev().filter_map(|side| matrix.with_tiles(side))
        {
            if let Ok(Some(more)) = self.within(&frame, bound) {
                if !every {
                    bound = more.seconds;
                    found.clear();
                }
                found.push(more);
            }
        }
        found
    }

    /// Returns the candidate of `frame`, or `None` if it takes at least `bound` seconds.
    ///
    /// Saved gaps use part of the workspace cap; the other stages get the rest.
    fn within(&self, frame: &Frame, bound: f64) -> Result<Option<Candidate>, RejectedRoute> {
        let need = frame.gaps.map_or(0, |gaps| self.problem.saved_gap_bytes_of(&gaps));
        let cap = self.device().cap(self.problem);
        let why = Infeasible::Workspace { need, cap };
        let left =
            cap.checked_sub(need).ok_or(RejectedRoute { route: Route::TOGETHER, reason: why })?;
        self.framed(frame, left, bound)
    }

    /// Returns the candidate that swaps rows with gaps.
    fn by_gap_swaps(&self) -> Found {
        let found = self.within(&with_gap_swaps(self.leading), f64::INFINITY)?;
        Ok(found.into_iter().collect())
    }

    /// Plans the stages of `frame` and the dense transposition in between, within `cap` bytes of
    /// workspace.
    ///
    /// Returns `None` as soon as the candidate is known to take at least `bound` seconds.
    fn framed(
        &self,
        frame: &Frame,
        cap: usize,
        bound: f64,
    ) -> Result<Option<Candidate>, RejectedRoute> {
        let Frame { sides, first, tiles, last, .. } = frame;
        let dense = self.problem.as_axes(sides, &[1, 0]);
        let dense = dense.expect("the dense matrix fits the problem's span").with_cap(cap);
        let order = self.problem.fused().order().to_vec();
        let identity: Vec<usize> = (0..order.len()).collect();
        let first = self.rows(Route::TOGETHER, identity.clone(), first, &dense)?;
        let last = self.rows(Route::APART, order, last, &dense)?;
        let least = self.device().least_seconds(dense.bytes());
        if first.seconds + least + last.seconds >= bound {
            return Ok(None);
        }
        let middle = match tiles {
            None => (self.dense)(&dense)?,
            some => self.rows(Route::SQUARE_TILE, identity, some.as_slice(), &dense)?,
        };
        Ok(Some(first.then(middle).then(last)).filter(|found| found.seconds < bound))
    }

    /// Returns a candidate of one phase, whose stages `maps` move rows, and save or restore gaps.
    /// It has no phase if `maps` is empty.
    fn rows(
        &self,
        route: Route,
        order: Vec<usize>,
        maps: &[StageMap],
        dense: &Problem,
    ) -> Result<Candidate, RejectedRoute> {
        if maps.is_empty() {
            return Ok(Candidate::default());
        }
        let stage = |map: &StageMap| -> Result<Stage, Infeasible> {
            // Saved gaps have their own part of the workspace, which `dense`'s cap excludes.
            let problem = if matches!(map, StageMap::Gaps { .. }) { self.problem } else { dense };
            let request = StageRequest::new(problem, self.device(), MethodFilter::Any);
            let best: Implementation = self.device().best(map, &request)?;
            Ok(Stage::new(map.clone(), best))
        };
        let stages = maps.iter().map(stage).collect::<Result<_, _>>();
        Ok(self.phase(route, order, stages.map_err(|why| RejectedRoute { route, reason: why })?))
    }

    /// Returns a candidate of one phase.
    fn phase(&self, route: Route, order: Vec<usize>, stages: Vec<Stage>) -> Candidate {
        let seconds = stages.iter().map(|stage| stage.implementation.seconds).sum();
        let tile = TileSize { m: self.leading.source().rows(), n: self.leading.source().cols() };
        Candidate { legs: vec![Phase { order, route, mirrored: false, tile, stages }], seconds }
    }
}

/// Returns the least estimated seconds of `found`, or infinity.
fn least(found: &[Candidate]) -> f64 {
    found.iter().map(|found| found.seconds).fold(f64::INFINITY, f64::min)
}

/// Matrix without gaps that temporarily stores the problem's elements.
#[derive(Clone, Copy)]
struct DenseMatrix {
    /// Number of rows and columns.
    sides: [usize; 2],
    /// Gaps of the problem that this matrix overwrites.
    gaps: SavedGaps,
}

/// Iterates over the dense matrices to try.
///
/// The first have the source's pitch as number of columns, or the result's pitch as number of rows,
/// if [`SavedGaps::with_dense_len`] accepts their length: the gaps of source or result then move as
/// elements. The last is the matrix itself.
fn dense_matrices(leading: &LeadingDims) -> impl DoubleEndedIterator<Item = DenseMatrix> {
    let (source, result) = (leading.source(), leading.result());
    let sides = [source.rows(), source.cols()];
    let [rows, cols] = sides;
    let some =
        |longer: [usize; 2]| Some(longer).filter(|_| longer != sides && rows > 1 && cols > 1);
    let matrix = |sides: [usize; 2]| {
        let gaps = SavedGaps::with_dense_len(*leading, sides[0] * sides[1])?;
        Some(DenseMatrix { sides, gaps })
    };
    let all = [some([rows, source.pitch()]), some([result.pitch(), cols]), Some(sides)];
    all.map(|sides| sides.and_then(matrix)).into_iter().flatten()
}

/// Stages before and after the dense transposition of a matrix with leading dimensions.
struct Frame {
    /// Number of rows and columns of the dense matrix.
    sides: [usize; 2],
    /// Gaps that are saved and restored, if any.
    gaps: Option<SavedGaps>,
    first: Vec<StageMap>,
    /// In-place transposition of square tiles, if it replaces the dense transposition.
    tiles: Option<StageMap>,
    last: Vec<StageMap>,
}

impl DenseMatrix {
    /// Returns the frame with these stages. The gaps that they overwrite are saved before and
    /// restored after.
    fn frame(
        self,
        first: Option<StageMap>,
        tiles: Option<StageMap>,
        last: Option<StageMap>,
    ) -> Frame {
        let DenseMatrix { sides, gaps } = self;
        let saved = |direction| Some(StageMap::Gaps { gaps, direction });
        let moves = |stages: [Option<StageMap>; 2]| {
            stages.into_iter().flatten().filter(|map| !map.is_identity()).collect()
        };
        let first = moves([saved(Direction::Forward), first]);
        let last = moves([last, saved(Direction::Backward)]);
        Frame { sides, gaps: Some(gaps), first, tiles, last }
    }

    /// Returns the frame of the dense transposition: rows become contiguous before it and move to
    /// the result's pitch after it.
    fn with_slides(self) -> Frame {
        let (source, result) = (self.gaps.leading().source(), self.gaps.leading().result());
        let slide = |rows: PitchedRows, from, to| {
            RowSlide::new(rows.rows(), rows.cols(), from, to).map(StageMap::Slide)
        };
        let [rows, cols] = self.sides;
        let first = slide(source, source.pitch(), cols);
        self.frame(first, None, slide(result, rows, result.pitch()))
    }

    /// Returns the source (`true`) or the result (`false`) if its gaps are elements of this matrix,
    /// with its number of rows and pitch.
    ///
    /// Returns `None` if neither has gaps, or if the gaps are not elements of this matrix.
    fn travelling_gaps(&self) -> Option<(bool, [usize; 2])> {
        let (source, result) = (self.gaps.leading().source(), self.gaps.leading().result());
        if source.is_dense() && result.is_dense() {
            return None;
        }
        let of = |rows: PitchedRows| [rows.rows(), rows.pitch()];
        let [rows, cols] = self.sides;
        let (of_source, of_result) = ([rows, cols] == of(source), [cols, rows] == of(result));
        of_source.then(|| (true, of(source))).or(of_result.then(|| (false, of(result))))
    }

    /// Returns the possible sides of square tiles, in ascending order: the common divisors of both
    /// pitches and of the number of rows of the matrix (source or result) whose gaps move as
    /// elements. Empty if no gaps move as elements.
    fn tile_sides(&self) -> Vec<usize> {
        let Some((_, [rows, _])) = self.travelling_gaps() else { return Vec::new() };
        let pitches = [self.gaps.leading().source().pitch(), self.gaps.leading().result().pitch()];
        let all = divisors(rows as u64).into_iter().map(|side| side as usize);
        all.filter(|side| pitches.iter().all(|pitch| pitch % side == 0)).collect()
    }

    /// Returns the frame that transposes square tiles in place and moves their rows between the two
    /// pitches.
    fn with_tiles(self, side: usize) -> Option<Frame> {
        let (of_source, [rows, pitch]) = self.travelling_gaps()?;
        let runs =
            TileRows::new(self.gaps.leading(), side).filter(|_| side > 1 && rows % side == 0)?;
        let (batch, mid) = (rows / side, pitch / side);
        let tiles = Elementary { batch, rows: side, mid, cols: side, unit: 1 }.into();
        let [first, last] = if of_source { [None, Some(runs)] } else { [Some(runs), None] };
        let runs = |runs: Option<TileRows>| runs.map(StageMap::TileRows);
        Some(self.frame(runs(first), Some(tiles), runs(last)))
    }
}

/// Returns the frame that swaps rows with gaps until they are contiguous, without workspace.
///
/// After the dense transposition, the swaps are undone, which restores every gap. Then the elements
/// move, in order, to the rows of the result.
fn with_gap_swaps(leading: &LeadingDims) -> Frame {
    let rows = leading.source();
    let exchange = |direction| StageMap::SwapGaps { rows, direction };
    let slide = LeadingDims::in_order(rows, leading.result()).map(StageMap::from);
    let (first, last) = (exchange(Direction::Forward), exchange(Direction::Backward));
    let stages = [vec![first], [last].into_iter().chain(slide).collect()];
    let [first, last] =
        stages.map(|stages| stages.into_iter().filter(|map| !map.is_identity()).collect());
    Frame { sides: [rows.rows(), rows.cols()], gaps: None, first, tiles: None, last }
}

/// Returns the range of indices of the stages of a plan that move the matrix while it is dense, and
/// the number of elements of the dense matrix.
///
/// Returns `None` if the stages before do not make the rows contiguous, or those after do not move
/// them to the result.
pub fn dense_stages(leading: &LeadingDims, maps: &[StageMap]) -> Option<(Range<usize>, usize)> {
    let nothing = (0..0, leading.len());
    if maps.is_empty() {
        return leading.is_identity().then_some(nothing);
    }
    // An empty matrix has no rows to move.
    if leading.is_empty() {
        return None;
    }
    if maps == [StageMap::from(*leading)] {
        return Some(nothing);
    }
    if !leading.is_transposed() {
        return None;
    }
    let side = maps.iter().find_map(|map| match map {
        StageMap::TileRows(runs) => Some(runs.side()),
        _ => None,
    });
    let between = |Frame { sides, first, tiles, last, .. }: Frame| {
        let end = maps.len().checked_sub(last.len())?;
        let framed = first.len() <= end && maps.starts_with(&first) && maps.ends_with(&last);
        let range = framed.then_some(first.len()..end)?;
        let right = tiles.is_none_or(|tiles| maps[range.clone()] == [tiles]);
        right.then_some((range, sides[0] * sides[1]))
    };
    if let Some(side) = side {
        return dense_matrices(leading)
            .filter_map(|matrix| matrix.with_tiles(side))
            .find_map(between);
    }
    // Most slides first: otherwise a slide of the frame could be mistaken for a stage of the dense
    // transposition.
    dense_matrices(leading)
        .rev()
        .map(DenseMatrix::with_slides)
        .chain([with_gap_swaps(leading)])
        .find_map(between)
}
