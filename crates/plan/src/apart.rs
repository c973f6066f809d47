//! Matrices whose rows lie a pitch apart before and after: leading dimensions, as BLAS has them.
//!
//! One stage moves the whole matrix, or rows are brought together, the routes of matrices without gaps transpose them,
//! and rows move apart; gaps that travel as elements save one of the two. [`WAYS`] is what is tried; why is in
//! `docs/leading-dimensions.md`.

use std::ops::Range;

use turntile_perm::{Leading, Pitched, Slide};

use crate::device::{Device, Request, Want};
use crate::infeasible::Infeasible;
use crate::legs::{Candidate, Planner};
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
        for found in self.ways(true) {
            match found {
                Ok(found) => all.extend(found),
                Err(why) => declined.push(why),
            }
        }
        (all, declined)
    }

    fn ways(&self, all: bool) -> impl Iterator<Item = Found> {
        let stays = self.leading.stays().then(|| Ok(vec![Candidate::default()]));
        // Rows that slide are never in each other's way.
        let many = if self.leading.is_transposed() { WAYS.len() } else { 1 };
        let many = if stays.is_some() { 0 } else { many };
        stays.into_iter().chain(WAYS[..many].iter().map(move |way| way(self, all)))
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

    /// With each of the [`frames`] that the cap has room for, fastest first; without `all` slower ones may be left out.
    fn around(&self, all: bool) -> Found {
        let (mut found, mut refused) = (Vec::<Candidate>::new(), None);
        for frame in frames(self.leading) {
            let best = found.iter().map(|found| found.seconds).fold(f64::INFINITY, f64::min);
            match self.within(&frame, if all { f64::INFINITY } else { best }) {
                Ok(more) => found.extend(more),
                Err(declined) => refused = Some(declined),
            }
        }
        found.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
        // The last frame keeps least.
        refused.filter(|_| found.is_empty()).map_or(Ok(found), Err)
    }

    /// Around gaps, unless that is sure to take `bound` seconds or more.
    fn within(&self, frame: &Frame, bound: f64) -> Result<Option<Candidate>, Declined> {
        let need = self.problem.kept_bytes_of(&frame.leading);
        let cap = self.device().cap(self.problem);
        let why = Infeasible::Workspace { need, cap };
        let left = cap.checked_sub(need).ok_or(Declined { route: Route::TOGETHER, why })?;
        self.framed(frame.stages(), frame.sides, left, bound)
    }

    fn exchanged(&self) -> Found {
        let (source, cap) = (self.leading.source(), self.device().cap(self.problem));
        let sides = [source.rows(), source.cols()];
        let found = self.framed(exchanged(self.leading), sides, cap, f64::INFINITY)?;
        Ok(found.into_iter().collect())
    }

    /// The transposition of a matrix of these sides without gaps between these stages, in so much workspace; nothing as
    /// soon as it is sure to take `bound` seconds or more.
    fn framed(
        &self,
        [first, last]: [Vec<StageShape>; 2],
        sides: [usize; 2],
        cap: usize,
        bound: f64,
    ) -> Result<Option<Candidate>, Declined> {
        let dense = self.problem.as_axes(&sides, &[1, 0]).expect("no more than its spans").with_cap(cap);
        let order = self.problem.fused().order().to_vec();
        let as_it_is = (0..order.len()).collect();
        let first = self.rows(Route::TOGETHER, as_it_is, first, &dense)?;
        let last = self.rows(Route::APART, order, last, &dense)?;
        let least = self.device().least_seconds(dense.bytes());
        if first.seconds + least + last.seconds >= bound {
            return Ok(None);
        }
        let dense = (self.dense)(&dense)?;
        Ok(Some(first.then(dense).then(last)))
    }

    /// Stages that move rows and keep gaps; no leg where there are none.
    fn rows(
        &self,
        route: Route,
        order: Vec<usize>,
        shapes: Vec<StageShape>,
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
        let stages = shapes.into_iter().map(stage).collect::<Result<_, _>>();
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

/// A matrix without gaps in which the problem's lies for a while.
struct Frame {
    /// Its rows and columns.
    sides: [usize; 2],
    /// The problem's, covering as much.
    leading: Leading,
}

/// Where there is room, one whose rows or columns are as many as the source's or the result's pitch: the gaps of that
/// side travel as elements. Last the one that is the matrix itself.
fn frames(leading: &Leading) -> impl DoubleEndedIterator<Item = Frame> {
    let (source, result) = (leading.source(), leading.result());
    let sides = [source.rows(), source.cols()];
    let [rows, cols] = sides;
    let some = |longer: [usize; 2]| Some(longer).filter(|_| longer != sides && rows > 1 && cols > 1);
    let frame = |sides: [usize; 2]| {
        let leading = leading.covering(sides[0] * sides[1])?;
        Some(Frame { sides, leading })
    };
    let all = [some([rows, source.pitch()]), some([result.pitch(), cols]), Some(sides)];
    all.map(|sides| sides.and_then(frame)).into_iter().flatten()
}

impl Frame {
    /// Before and after the dense transposition: gaps in the way kept, rows slid together; rows slid apart, gaps put back.
    fn stages(&self) -> [Vec<StageShape>; 2] {
        let (source, result) = (self.leading.source(), self.leading.result());
        let gaps = |direction| Some(StageShape::Gaps { leading: self.leading, direction });
        let slide = |rows: Pitched, [from, to]: [usize; 2]| {
            Slide::new(rows.rows(), rows.cols(), from, to).map(StageShape::Slide)
        };
        let [rows, cols] = self.sides;
        let first = [gaps(Direction::Forward), slide(source, [source.pitch(), cols])];
        let last = [slide(result, [rows, result.pitch()]), gaps(Direction::Backward)];
        let moves = |stages: [Option<StageShape>; 2]| {
            stages.into_iter().flatten().filter(|shape| !shape.is_identity()).collect()
        };
        [first, last].map(moves)
    }
}

/// The same without workspace: rows change places with gaps; afterwards back, so that every gap is as it was, and slide.
fn exchanged(leading: &Leading) -> [Vec<StageShape>; 2] {
    let rows = leading.source();
    let exchange = |direction| StageShape::Exchange { rows, direction };
    let slide = Slide::between(rows, leading.result()).map(StageShape::Slide);
    let (first, last) = (exchange(Direction::Forward), exchange(Direction::Backward));
    let stages = [vec![first], [last].into_iter().chain(slide).collect()];
    stages.map(|stages| stages.into_iter().filter(|shape| !shape.is_identity()).collect())
}

/// Which of a plan's stages move the matrix while it has no gaps, and how many elements it covers then; `None` where the
/// others do not bring it there and from there to its place.
pub fn dense_stages(leading: &Leading, shapes: &[StageShape]) -> Option<(Range<usize>, usize)> {
    let nothing = (0..0, leading.len());
    if shapes.is_empty() {
        return leading.stays().then_some(nothing);
    }
    if whole(leading).is_some_and(|whole| shapes == [whole]) {
        return Some(nothing);
    }
    let between = |([first, last], len): ([Vec<StageShape>; 2], usize)| {
        let end = shapes.len().checked_sub(last.len())?;
        let framed = first.len() <= end && shapes.starts_with(&first) && shapes.ends_with(&last);
        framed.then_some((first.len()..end, len))
    };
    // A matrix without elements has no rows to move.
    let framed = leading.is_transposed() && !leading.is_empty();
    let framed = framed.then_some(leading).into_iter();
    // Frames of more slides first: those of another are not taken for some of a dense transposition.
    let around = framed.clone().flat_map(|leading| frames(leading).rev());
    let around = around.map(|frame| (frame.stages(), frame.leading.covered()));
    around.chain(framed.map(|leading| (exchanged(leading), leading.len()))).find_map(between)
}
