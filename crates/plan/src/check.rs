//! Whether a plan, which anyone may have put together, is one.

use turntile_perm::Leading;

use crate::apart;
use crate::offer::{Method, Stage};
use crate::plan::Plan;
use crate::problem::Problem;
use crate::shape::StageShape;

/// Why stages do not make a plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Flaw {
    /// A stage does not cover the problem, or what is left of it when columns are cut off, all of it and nothing else.
    #[error("stage {number} ({stage}) does not cover the problem's {expected} elements")]
    Length {
        /// Which stage, from 1.
        number: usize,
        /// The stage.
        stage: String,
        /// Elements of the problem, with those gaps that travel as elements.
        expected: usize,
    },
    /// A stage's elements cannot be counted.
    #[error("stage {number}: the elements of {stage} cannot be counted")]
    Uncounted {
        /// Which stage, from 1.
        number: usize,
        /// The stage.
        stage: String,
    },
    /// The stage's method does not do its shape.
    #[error("stage {number}: {stage} is no method for that shape")]
    Method {
        /// Which stage, from 1.
        number: usize,
        /// The stage.
        stage: String,
    },
    /// The stage's geometry was made for another stage.
    #[error("stage {number}: the geometry of {stage} was made for another stage")]
    Geometry {
        /// Which stage, from 1.
        number: usize,
        /// The stage.
        stage: String,
    },
    /// Stages that leave gaps between rows are not those of the problem's leading dimensions.
    #[error("{stages} does not go around the gaps of {problem}")]
    Leading {
        /// The problem.
        problem: Box<Problem>,
        /// The routes, or the stage.
        stages: String,
    },
    /// A plan with leading dimensions is run on elements that may not be copied.
    #[error(
        "the plan has leading dimensions, and runs on elements that can be copied: by run_within"
    )]
    Copies,
    /// The plan is for another place of the result than it is run for.
    #[error("{}", match *out_of_place {
        true => "the plan is out of place: run it by run_into, or plan without out_of_place()",
        false => "the plan is in place: run it by run, or plan with out_of_place()",
    })]
    Place {
        /// Whether the plan is out of place.
        out_of_place: bool,
    },
}

impl Plan {
    /// Checks that every stage covers the problem and has a method that does its shape: what a
    /// backend must know before it moves anything. Plans of the planner always pass.
    ///
    /// Whether the stages together transpose is not checked: [`dest`](Plan::dest) shows it.
    ///
    /// # Errors
    /// The first flaw.
    pub fn check(&self) -> Result<(), Flaw> {
        if let Some(leading) = self.problem.leading() {
            return self.check_apart(leading);
        }
        self.check_stages(self.stages(), self.problem.len())
    }

    /// With leading dimensions, stages that move the matrix without gaps stand between such as bring it there and back,
    /// and nothing else may have gaps.
    fn check_apart(&self, leading: &Leading) -> Result<(), Flaw> {
        let shapes: Vec<StageShape> = self.stages().map(|stage| stage.shape).collect();
        let flaw = || Flaw::Leading { problem: Box::new(self.problem), stages: self.route_name() };
        let (dense, len) = apart::dense_stages(leading, &shapes).ok_or_else(flaw)?;
        for (number, stage) in (1..).zip(self.stages()) {
            if !dense.contains(&(number - 1)) {
                method_fits(stage, number)?;
                if stage.joined != 1 {
                    return Err(flaw());
                }
            }
        }
        self.check_stages(self.stages().skip(dense.start).take(dense.len()), len)
    }

    fn check_stages<'a>(
        &self,
        stages: impl Iterator<Item = &'a Stage> + Clone,
        expected: usize,
    ) -> Result<(), Flaw> {
        if let Some(stage) = stages.clone().find(|stage| stage.shape.has_gaps()) {
            // What lies in a gap must not become an element.
            let (problem, stages) = (Box::new(self.problem), stage.to_string());
            return Err(Flaw::Leading { problem, stages });
        }
        // What was cut off lies still behind the packed columns while these are transposed.
        let packed = |stage: &Stage| match stage.shape {
            StageShape::Cut { rows, .. } => {
                let whole = stage.shape.counted_len()?.checked_mul(stage.joined)?;
                (whole == expected).then(|| rows.len() * stage.joined)
            }
            _ => None,
        };
        let packed: Vec<usize> = stages.clone().filter_map(packed).collect();
        for (number, stage) in (1..).zip(stages) {
            // Counted first: nothing else may multiply extents that overflow.
            let covers = stage
                .shape
                .counted_len()
                .and_then(|len| len.checked_mul(stage.joined))
                .is_some_and(|len| len > 0 && (len == expected || packed.contains(&len)));
            if !covers {
                let stage = format!("{:?}", stage.shape);
                return Err(Flaw::Length { number, stage, expected });
            }
            if (stage.offer.method == Method::OutOfPlace) != self.problem.is_out_of_place() {
                return Err(Flaw::Method { number, stage: stage.to_string() });
            }
            method_fits(stage, number)?;
        }
        Ok(())
    }
}

impl Stage {
    /// Checks a stage that stands alone: its elements can be counted, and its method does its shape.
    ///
    /// # Errors
    /// The first flaw, as of stage 1.
    pub fn check(&self) -> Result<(), Flaw> {
        if self.shape.counted_len().is_none() {
            return Err(Flaw::Uncounted { number: 1, stage: self.to_string() });
        }
        method_fits(self, 1)
    }
}

/// Whether the stage's method does its shape.
fn method_fits(stage: &Stage, number: usize) -> Result<(), Flaw> {
    let flaw = || Flaw::Method { number, stage: stage.to_string() };
    goes_together(stage).then_some(()).ok_or_else(flaw)
}

fn goes_together(stage: &Stage) -> bool {
    use StageShape::{
        Axes, Cut, Exchange, FieldGather, FieldMove, Gaps, Retile, Slide, SlotGather, SlotMove,
        TileRuns, Turn,
    };
    match (stage.shape, stage.offer.method) {
        (Axes(axes), Method::TileSwap) => {
            axes.is_involution() || axes.elementary().is_some_and(|e| e.is_of_tiles())
        }
        (Axes(axes), Method::PttwacOnChip) => axes.elementary().is_some(),
        (Axes(_) | SlotGather { .. } | Retile(_) | FieldGather { .. }, Method::BarrierSync) => true,
        (
            Axes(_) | SlotMove { .. } | Retile(_) | FieldMove { .. },
            Method::PttwacGlobal | Method::PerCycle,
        ) => true,
        (TileRuns(_), Method::PttwacGlobal) => true,
        (Axes(_), Method::OutOfPlace) => true,
        (Slide(_), Method::Rounds) => true,
        (Slide(_) | Cut { .. }, Method::Shares | Method::Blocks) => {
            stage.shape.slide().is_some_and(|slide| slide.is_alike())
        }
        (Turn(leading), Method::TileSwap) => {
            leading.is_transposed() && leading.source().pitch() == leading.result().pitch()
        }
        (Turn(leading), Method::ThroughWorkspace) => leading.is_transposed(),
        (Gaps { .. }, Method::Keep) | (Exchange { .. }, Method::Exchange) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Toy;
    use crate::{Offer, Planner, Problem, Route};
    use turntile_perm::{Elementary, Pitched, Slide};

    fn plan() -> Plan {
        let planner = Planner::new(Toy::default()).with_route(Route::THREE_STAGE);
        planner.plan(&Problem::new(720, 180, 4).unwrap()).unwrap()
    }

    #[test]
    fn speeds_are_of_bytes_read_and_written() {
        let plan = plan();
        let moved = 2.0 * (720 * 180 * 4) as f64;
        assert!((plan.gb_per_s() * 1e9 * plan.seconds / moved - 1.0).abs() < 1e-9);
    }

    #[test]
    fn the_planners_plans_pass() {
        let survey = Planner::new(Toy::default()).survey(&Problem::new(720, 180, 4).unwrap());
        assert!(survey.candidates.len() > 5);
        survey.candidates.iter().for_each(|plan| assert_eq!(plan.check(), Ok(()), "{plan:#}"));
    }

    /// Stages that leave the end of the matrices alone are for what has been cut off.
    #[test]
    fn only_cutting_leaves_anything_out() {
        let device = Toy { held: 1 << 20, ..Toy::default() };
        let planner = Planner::new(device).with_route(Route::CUT).with_mirrored(false);
        let good = planner.plan(&Problem::new(101, 205, 4).unwrap()).unwrap();
        assert_eq!(good.check(), Ok(()), "{good:#}");
        let mut uncut = good.clone();
        uncut.legs[0].stages.remove(0);
        assert!(matches!(uncut.check(), Err(Flaw::Length { number: 1, expected: 20_705, .. })));
        let mut in_steps = good.clone();
        in_steps.legs[0].stages[0].offer.method = Method::Rounds;
        assert!(matches!(in_steps.check(), Err(Flaw::Method { number: 1, .. })));
        // Columns are cut off the whole matrix, not off what is packed.
        let mut again = good.clone();
        let stages = &mut again.legs[0].stages;
        let StageShape::Cut { rows, direction } = stages[0].shape else { panic!("{good:#}") };
        let cut = |cols: usize| {
            let rows = Pitched::new(rows.rows(), cols - 1, cols).unwrap();
            Stage::new(StageShape::Cut { rows, direction }, good.legs[0].stages[0].offer.clone())
        };
        stages.splice(1.., [cut(rows.cols()), cut(rows.cols() - 1)]);
        assert!(matches!(again.check(), Err(Flaw::Length { number: 3, .. })));
        let mut of_another = good;
        of_another.problem = Problem::new(101, 206, 4).unwrap();
        assert!(matches!(of_another.check(), Err(Flaw::Length { number: 1, .. })));
    }

    /// Rows that become others than they were have no schedule of whole rows.
    #[test]
    fn rows_that_become_others_go_one_after_the_other() {
        let check = |cols, method| {
            let rows = |cols| Pitched::new(24 / cols, cols, cols + 1).unwrap();
            let slide = Slide::between(rows(6), rows(cols)).unwrap();
            let offer = Offer::new(method, plan().legs[0].stages[0].offer.geometry.clone(), 0, 0.0);
            Stage::new(StageShape::Slide(slide), offer).check().is_ok()
        };
        for (method, others) in
            [(Method::Rounds, true), (Method::Shares, false), (Method::Blocks, false)]
        {
            assert_eq!([check(6, method), check(3, method)], [true, others], "{method}");
        }
    }

    #[test]
    fn methods_are_for_as_many_places_as_there_are() {
        let mut turned = plan();
        turned.problem = turned.problem.out_of_place().unwrap();
        assert!(matches!(turned.check(), Err(Flaw::Method { number: 1, .. })));
        let mut into = plan();
        into.legs[0].stages[0].offer.method = Method::OutOfPlace;
        assert!(matches!(into.check(), Err(Flaw::Method { number: 1, .. })));
    }

    #[test]
    fn flaws_are_found_before_anything_is_multiplied() {
        let flawed = |change: &dyn Fn(&mut Stage)| {
            let mut plan = plan();
            change(&mut plan.legs[0].stages[1]);
            plan.check()
        };
        let elementary =
            |rows, unit| StageShape::from(Elementary { batch: 1, rows, mid: 1, cols: 720, unit });
        let slots = turntile_perm::Slots::new(720, 180, 4, 4).unwrap();
        let many = StageShape::SlotMove {
            batch: usize::MAX / 2,
            slots,
            direction: crate::Direction::Forward,
        };
        for shape in [elementary(181, 1), elementary(0, 1), many] {
            let error = flawed(&|stage| stage.shape = shape);
            assert!(matches!(error, Err(Flaw::Length { number: 2, expected: 129_600, .. })));
        }
        assert!(matches!(
            flawed(&|stage| stage.offer.method = Method::Rounds),
            Err(Flaw::Method { number: 2, .. })
        ));
        let three_axes = turntile_perm::AxisPermutation::new(&[180, 18, 40], &[1, 2, 0]).unwrap();
        let stays = flawed(&|stage| {
            stage.shape = StageShape::Axes(three_axes);
            stage.offer.method = Method::PttwacOnChip;
        });
        assert_eq!(stays, Ok(()), "three axes of which two stay together are a matrix");
    }
}
