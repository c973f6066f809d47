//! Matrices whose rows lie a pitch apart before and after: leading dimensions, as BLAS has them.
//!
//! One stage moves the whole matrix, or rows are brought together, the routes of matrices without gaps transpose them,
//! and rows move apart; gaps that travel as elements save one of the two. [`WAYS`] is what is tried; why is in
//! `docs/leading-dimensions.md`.

use std::ops::Range;

use turntile_perm::divisors::divisors;
use turntile_perm::{Elementary, Leading, Pitched, Slide, TileRuns};

use crate::device::{Device, Request, Want};
use crate::infeasible::Infeasible;
use crate::legs::{Candidate, Planner, TileRule};
use crate::offer::{Offer, Stage};
use crate::plan::{Declined, Leg};
use crate::problem::Problem;
use crate::routes::{Route, Tile};
use crate::shape::{Direction, StageShape};

/// Plans one problem with leading dimensions.
pub struct Apart<'a> {
    pub planner: &'a Planner,
    pub problem: &'a Problem,
    pub leading: &'a Leading,
    /// Plans the matrix without gaps.
    pub dense: &'a dyn Fn(&Problem) -> Result<Candidate, Declined>,
}

type Found = Result<Vec<Candidate>, Declined>;

/// In the order in which they are tried, which is that of their passes: the fastest of the first that fits the cap is
/// taken. Each is told whether slower ones are asked for too.
const WAYS: [fn(&Apart, bool) -> Found; 3] =
    [|apart, _| apart.whole(), |apart, all| apart.around(all), |apart, _| apart.exchanged()];

impl Apart<'_> {
    /// What the planner takes.
    ///
    /// # Errors
    /// The last way that the device has, and why it cannot be taken.
    pub fn first(&self) -> Result<Candidate, Declined> {
        let mut refused: Option<Declined> = None;
        for found in self.ways(false) {
            match found {
                Ok(found) => return Ok(found.into_iter().next().unwrap_or_default()),
                Err(Declined { why: Infeasible::NoWay { .. }, .. }) if refused.is_some() => {}
                Err(declined) => refused = Some(declined),
            }
        }
        Err(refused.expect("there is a way, or a reason"))
    }

    /// All that can be taken.
    pub fn all(&self) -> (Vec<Candidate>, Vec<Declined>) {
        let (mut all, mut declined) = (Vec::new(), Vec::new());
        let equal = self.leading.source().pitch() == self.leading.result().pitch();
        for found in self.ways(true) {
            match found {
                Ok(found) => all.extend(found),
                Err(why) => declined.push(why),
            }
            // In one stage it leaves the source's other elements as they were, where pitches are equal; no other way does.
            if equal && !all.is_empty() {
                break;
            }
        }
        (all, declined)
    }

    fn ways(&self, all: bool) -> impl Iterator<Item = Found> {
        let equal = self.leading.source().pitch() == self.leading.result().pitch();
        // Rows that slide are never in each other's way; at equal pitches gaps stay untouched, which one stage alone does.
        let one = !self.leading.is_transposed() || equal;
        let (route, why) = (self.planner.route.unwrap_or(Route::ONE_STAGE), Infeasible::OneStage);
        let others = route != Route::ONE_STAGE || self.planner.mirrored == Some(true);
        let (alone, ways) = match (others, one) {
            _ if self.leading.stays() => (Some(Ok(vec![Candidate::default()])), 0..0),
            (true, true) => (Some(Err(Declined { route, why })), 0..0),
            (true, false) => (None, 1..WAYS.len()),
            (false, _) => (None, 0..if self.leading.is_transposed() { WAYS.len() } else { 1 }),
        };
        alone.into_iter().chain(WAYS[ways].iter().map(move |way| way(self, all)))
    }

    fn device(&self) -> &dyn Device {
        &*self.planner.device
    }

    /// The best offer of each method that moves the whole, fastest first.
    fn whole(&self) -> Found {
        let (shape, route) = (whole(self.leading), Route::ONE_STAGE);
        let shape = shape.expect("what is empty stays");
        let request = Request::new(self.problem, self.device(), Want::Any);
        let mut offers =
            self.device().offers(&shape, &request).map_err(|why| Declined { route, why })?;
        offers.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
        let mut methods = Vec::new();
        offers.retain(|offer| {
            let new = !methods.contains(&offer.method);
            methods.push(offer.method);
            new
        });
        let after = self.problem.fused().order().to_vec();
        let plan = |offer| self.leg(route, after.clone(), vec![Stage::new(shape, offer)]);
        Ok(offers.into_iter().map(plan).collect())
    }

    /// In each of the [`Frame`]s that the cap has room for, fastest first; without `all` slower ones may be left out.
    fn around(&self, all: bool) -> Found {
        let (mut found, mut refused) = (Vec::<Candidate>::new(), None);
        for cover in covers(self.leading) {
            found.extend(self.tiled(&cover, all, least(&found)));
            match self.within(&cover.around(), if all { f64::INFINITY } else { least(&found) }) {
                Ok(more) => found.extend(more),
                Err(declined) => refused = Some(declined),
            }
        }
        found.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
        // The last one keeps least.
        refused.filter(|_| found.is_empty()).map_or(Ok(found), Err)
    }

    /// By tiles of the side that is fastest, if that takes less than `bound` seconds or `all` are asked for; of all sides
    /// where all tiles are.
    fn tiled(&self, cover: &Cover, all: bool, bound: f64) -> Vec<Candidate> {
        let Planner { route, mirrored, rule, .. } = self.planner;
        if route.is_some_and(|route| route != Route::SQUARE_TILE) || *mirrored == Some(true) {
            return Vec::new();
        }
        let every = *rule == TileRule::Exhaustive;
        let (mut found, mut bound) = (Vec::new(), if all { f64::INFINITY } else { bound });
        for frame in cover.sides_of_tiles().into_iter().rev().filter_map(|side| cover.tiled(side)) {
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

    /// In a frame, unless that is sure to take `bound` seconds or more.
    fn within(&self, frame: &Frame, bound: f64) -> Result<Option<Candidate>, Declined> {
        let need = self.problem.kept_bytes_of(&frame.cover.leading);
        let cap = self.device().cap(self.problem);
        let why = Infeasible::Workspace { need, cap };
        let left = cap.checked_sub(need).ok_or(Declined { route: Route::TOGETHER, why })?;
        self.framed(frame, left, bound)
    }

    fn exchanged(&self) -> Found {
        let frame = exchanged(self.leading);
        let found = self.framed(&frame, self.device().cap(self.problem), f64::INFINITY)?;
        Ok(found.into_iter().collect())
    }

    /// What is done without gaps between the frame's stages, in so much workspace; nothing as soon as it is sure to take
    /// `bound` seconds or more.
    fn framed(&self, frame: &Frame, cap: usize, bound: f64) -> Result<Option<Candidate>, Declined> {
        let Frame { cover, first, tiles, last } = frame;
        let dense = self.problem.as_axes(&cover.sides, &[1, 0]);
        let dense = dense.expect("no more than its spans").with_cap(cap);
        let order = self.problem.fused().order().to_vec();
        let as_it_is: Vec<usize> = (0..order.len()).collect();
        let first = self.rows(Route::TOGETHER, as_it_is.clone(), first, &dense)?;
        let last = self.rows(Route::APART, order, last, &dense)?;
        let least = self.device().least_seconds(dense.bytes());
        if first.seconds + least + last.seconds >= bound {
            return Ok(None);
        }
        let middle = match tiles {
            None => (self.dense)(&dense)?,
            some => self.rows(Route::SQUARE_TILE, as_it_is, some.as_slice(), &dense)?,
        };
        Ok(Some(first.then(middle).then(last)).filter(|found| found.seconds < bound))
    }

    /// Stages that move rows and keep gaps; no leg where there are none.
    fn rows(
        &self,
        route: Route,
        order: Vec<usize>,
        shapes: &[StageShape],
        dense: &Problem,
    ) -> Result<Candidate, Declined> {
        if shapes.is_empty() {
            return Ok(Candidate::default());
        }
        let stage = |shape: StageShape| -> Result<Stage, Infeasible> {
            // What is kept has a place of its own.
            let of = if matches!(shape, StageShape::Gaps { .. }) { self.problem } else { dense };
            let request = Request::new(of, self.device(), Want::Any);
            let offer: Offer = self.device().best(&shape, &request)?;
            Ok(Stage::new(shape, offer))
        };
        let stages = shapes.iter().map(|&shape| stage(shape)).collect::<Result<_, _>>();
        Ok(self.leg(route, order, stages.map_err(|why| Declined { route, why })?))
    }

    fn leg(&self, route: Route, order: Vec<usize>, stages: Vec<Stage>) -> Candidate {
        let seconds = stages.iter().map(|stage| stage.offer.seconds).sum();
        let tile = Tile { m: self.leading.source().rows(), n: self.leading.source().cols() };
        Candidate { legs: vec![Leg { order, route, mirrored: false, tile, stages }], seconds }
    }
}

/// The whole matrix in one stage; none where it is empty and only to slide.
fn whole(leading: &Leading) -> Option<StageShape> {
    match leading.is_transposed() {
        true => Some(StageShape::Turn(*leading)),
        false => Slide::between(leading.source(), leading.result()).map(StageShape::Slide),
    }
}

/// The least that any of them takes.
fn least(found: &[Candidate]) -> f64 {
    found.iter().map(|found| found.seconds).fold(f64::INFINITY, f64::min)
}

/// A matrix without gaps in which the problem's lies for a while.
#[derive(Clone, Copy)]
struct Cover {
    /// Its rows and columns.
    sides: [usize; 2],
    /// The problem's, covering as much.
    leading: Leading,
}

/// Where there is room, one whose rows or columns are as many as the source's or the result's pitch: the gaps of that
/// side travel as elements. Last the one that is the matrix itself.
fn covers(leading: &Leading) -> impl DoubleEndedIterator<Item = Cover> {
    let (source, result) = (leading.source(), leading.result());
    let sides = [source.rows(), source.cols()];
    let [rows, cols] = sides;
    let some =
        |longer: [usize; 2]| Some(longer).filter(|_| longer != sides && rows > 1 && cols > 1);
    let cover = |sides: [usize; 2]| {
        let leading = leading.covering(sides[0] * sides[1])?;
        Some(Cover { sides, leading })
    };
    let all = [some([rows, source.pitch()]), some([result.pitch(), cols]), Some(sides)];
    all.map(|sides| sides.and_then(cover)).into_iter().flatten()
}

/// The stages before and after what is done without gaps.
struct Frame {
    cover: Cover,
    first: Vec<StageShape>,
    /// Square tiles that are transposed where they lie, if not the whole.
    tiles: Option<StageShape>,
    last: Vec<StageShape>,
}

impl Cover {
    /// Gaps in the way kept before, put back after.
    fn frame(
        self,
        first: Option<StageShape>,
        tiles: Option<StageShape>,
        last: Option<StageShape>,
    ) -> Frame {
        let gaps = |direction| Some(StageShape::Gaps { leading: self.leading, direction });
        let moves = |stages: [Option<StageShape>; 2]| {
            stages.into_iter().flatten().filter(|shape| !shape.is_identity()).collect()
        };
        let first = moves([gaps(Direction::Forward), first]);
        let last = moves([last, gaps(Direction::Backward)]);
        Frame { cover: self, first, tiles, last }
    }

    /// The dense transposition; rows slid together before it and apart after it.
    fn around(self) -> Frame {
        let (source, result) = (self.leading.source(), self.leading.result());
        let slide = |rows: Pitched, from, to| {
            Slide::new(rows.rows(), rows.cols(), from, to).map(StageShape::Slide)
        };
        let [rows, cols] = self.sides;
        let first = slide(source, source.pitch(), cols);
        self.frame(first, None, slide(result, rows, result.pitch()))
    }

    /// Whose gaps lie in it: the source's or the result's, and then the rows and the pitch of that side.
    fn travelling(&self) -> Option<(bool, [usize; 2])> {
        let (source, result) = (self.leading.source(), self.leading.result());
        if source.is_dense() && result.is_dense() {
            return None;
        }
        let of = |rows: Pitched| [rows.rows(), rows.pitch()];
        let [rows, cols] = self.sides;
        let (of_source, of_result) = ([rows, cols] == of(source), [cols, rows] == of(result));
        of_source.then(|| (true, of(source))).or(of_result.then(|| (false, of(result))))
    }

    /// Sides of tiles that divide both pitches and the rows of the side whose gaps travel.
    fn sides_of_tiles(&self) -> Vec<usize> {
        let Some((_, [rows, _])) = self.travelling() else { return Vec::new() };
        let pitches = [self.leading.source().pitch(), self.leading.result().pitch()];
        let all = divisors(rows as u64).into_iter().map(|side| side as usize);
        all.filter(|side| pitches.iter().all(|pitch| pitch % side == 0)).collect()
    }

    /// Tiles transposed where they lie, and their rows moved from the one pitch to the other.
    fn tiled(self, side: usize) -> Option<Frame> {
        let (of_source, [rows, pitch]) = self.travelling()?;
        let runs = TileRuns::new(&self.leading, side).filter(|_| side > 1 && rows % side == 0)?;
        let (batch, mid) = (rows / side, pitch / side);
        let tiles = Elementary { batch, rows: side, mid, cols: side, unit: 1 }.into();
        let [first, last] = if of_source { [None, Some(runs)] } else { [Some(runs), None] };
        let runs = |runs: Option<TileRuns>| runs.map(StageShape::TileRuns);
        Some(self.frame(runs(first), Some(tiles), runs(last)))
    }
}

/// The same without workspace: rows change places with gaps; afterwards back, so that every gap is as it was, and slide.
fn exchanged(leading: &Leading) -> Frame {
    let rows = leading.source();
    let exchange = |direction| StageShape::Exchange { rows, direction };
    let slide = Slide::between(rows, leading.result()).map(StageShape::Slide);
    let (first, last) = (exchange(Direction::Forward), exchange(Direction::Backward));
    let stages = [vec![first], [last].into_iter().chain(slide).collect()];
    let [first, last] =
        stages.map(|stages| stages.into_iter().filter(|shape| !shape.is_identity()).collect());
    let cover = Cover { sides: [rows.rows(), rows.cols()], leading: *leading };
    Frame { cover, first, tiles: None, last }
}

/// Which of a plan's stages move the matrix while it has no gaps, and how many elements it covers then; `None` where the
/// others do not bring it there and from there to its place.
pub fn dense_stages(leading: &Leading, shapes: &[StageShape]) -> Option<(Range<usize>, usize)> {
    let nothing = (0..0, leading.len());
    if shapes.is_empty() {
        return leading.stays().then_some(nothing);
    }
    // A matrix without elements has no rows to move.
    if leading.is_empty() {
        return None;
    }
    if whole(leading).is_some_and(|whole| shapes == [whole]) {
        return Some(nothing);
    }
    if !leading.is_transposed() {
        return None;
    }
    let side = shapes.iter().find_map(|shape| match shape {
        StageShape::TileRuns(runs) => Some(runs.side()),
        _ => None,
    });
    let between = |Frame { cover, first, tiles, last }: Frame| {
        let end = shapes.len().checked_sub(last.len())?;
        let framed = first.len() <= end && shapes.starts_with(&first) && shapes.ends_with(&last);
        let range = framed.then_some(first.len()..end)?;
        let right = tiles.is_none_or(|tiles| shapes[range.clone()] == [tiles]);
        right.then_some((range, cover.leading.covered()))
    };
    if let Some(side) = side {
        return covers(leading).filter_map(|cover| cover.tiled(side)).find_map(between);
    }
    // Those of more slides first: the slides of another are not taken for some of a dense transposition.
    covers(leading).rev().map(Cover::around).chain([exchanged(leading)]).find_map(between)
}
