//! Matrices whose rows lie a pitch apart before and after: leading dimensions, as BLAS has them.
//!
//! One stage moves the whole matrix, or rows are brought together, the routes of matrices without gaps transpose them,
//! and rows move apart. [`WAYS`] is what is tried; why is in `docs/leading-dimensions.md`.

use std::ops::Range;

use turntile_perm::{Leading, Slide};

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

/// In the order in which they are tried, which is that of their passes: the first that fits the cap is taken.
const WAYS: [fn(&Apart) -> Found; 3] =
    [|apart| apart.whole(), |apart| apart.around(), |apart| apart.exchanged()];

impl Apart<'_> {
    /// What the planner takes.
    ///
    /// # Errors
    /// The last way that the device has, and why it cannot be taken.
    pub fn first(&self) -> Result<Candidate, Declined> {
        let mut refused: Option<Declined> = None;
        for found in self.ways() {
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
        for found in self.ways() {
            match found {
                Ok(found) => all.extend(found),
                Err(why) => declined.push(why),
            }
        }
        (all, declined)
    }

    fn ways(&self) -> impl Iterator<Item = Found> {
        let stays = self.leading.stays().then(|| Ok(vec![Candidate::default()]));
        // Rows that slide are never in each other's way.
        let many = if self.leading.is_transposed() { WAYS.len() } else { 1 };
        let many = if stays.is_some() { 0 } else { many };
        stays.into_iter().chain(WAYS[..many].iter().map(|way| way(self)))
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

    fn around(&self) -> Found {
        let (need, cap) = (self.problem.kept_bytes(), self.device().cap(self.problem));
        let why = Infeasible::Workspace { need, cap };
        let left = cap.checked_sub(need).ok_or(Declined { route: Route::TOGETHER, why })?;
        self.framed(around(self.leading), &self.problem.dense().with_cap(left))
    }

    fn exchanged(&self) -> Found {
        let cap = self.device().cap(self.problem);
        self.framed(exchanged(self.leading), &self.problem.dense().with_cap(cap))
    }

    /// The dense transposition between these stages.
    fn framed(&self, [first, last]: [Vec<StageShape>; 2], dense: &Problem) -> Found {
        let order = self.problem.fused().order().to_vec();
        let as_it_is = (0..order.len()).collect();
        let first = self.rows(Route::TOGETHER, as_it_is, first, dense)?;
        let last = self.rows(Route::APART, order, last, dense)?;
        let dense = (self.dense)(dense)?;
        Ok(vec![first.then(dense).then(last)])
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

/// Before and after the dense transposition: gaps in the way kept, rows slid together; rows slid apart, gaps put back.
fn around(leading: &Leading) -> [Vec<StageShape>; 2] {
    let gaps = |direction| {
        let gaps = StageShape::Gaps { leading: *leading, direction };
        Some(gaps).filter(|gaps| !gaps.is_identity())
    };
    let moves =
        |slide: Option<Slide>| slide.filter(|slide| !slide.is_identity()).map(StageShape::Slide);
    let first = [gaps(Direction::Forward), moves(Slide::together(leading.source()))];
    let last = [moves(Slide::apart(leading.result())), gaps(Direction::Backward)];
    [first, last].map(|stages| stages.into_iter().flatten().collect())
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

/// Which of a plan's stages move the matrix while it has no gaps; `None` where the others do not bring it there and
/// from there to its place.
pub fn dense_stages(leading: &Leading, shapes: &[StageShape]) -> Option<Range<usize>> {
    if shapes.is_empty() {
        return leading.stays().then_some(0..0);
    }
    if whole(leading).is_some_and(|whole| shapes == [whole]) {
        return Some(0..0);
    }
    let between = |[first, last]: [Vec<StageShape>; 2]| {
        let end = shapes.len().checked_sub(last.len())?;
        let framed = first.len() <= end && shapes.starts_with(&first) && shapes.ends_with(&last);
        framed.then_some(first.len()..end)
    };
    // A matrix without elements has no rows to move.
    let framed = leading.is_transposed() && !leading.is_empty();
    let mut frames = framed.then(|| [around(leading), exchanged(leading)]).into_iter().flatten();
    frames.find_map(between)
}
