//! Whether a plan, which anyone may have put together, is one.

use turntile_perm::Elementary;

use crate::flags::FlagLayout;
use crate::method::Method;
use crate::plan::Plan;
use crate::problem::Problem;
use crate::routes;
use crate::stage::{Stage, StageShape};

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
        /// Elements of the problem.
        expected: usize,
    },
    /// The elements of a stage are more than can be counted.
    #[error("stage {number} ({stage}) has more elements than can be counted")]
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
    /// Rows are padded in another way than to make the problem's matrices square, transpose them and
    /// unpad them, which alone brings nothing of the gaps into the matrices.
    #[error("stages that pad the rows of {problem} are those of route padded-square and no others")]
    Padding {
        /// The problem.
        problem: Problem,
    },
    /// The stage's flags are spread by no power of two from 1 to 32.
    #[error("stage {number}: flags cannot be spread by {spreading}")]
    Spreading {
        /// Which stage, from 1.
        number: usize,
        /// The spreading.
        spreading: u32,
    },
}

impl Plan {
    /// Checks that every stage covers the problem and has a method that does its shape: what a
    /// backend must know before it moves anything. Plans of the planner always pass.
    ///
    /// Whether the stages together transpose is not checked: [`dest`](Plan::dest) tells.
    ///
    /// # Errors
    /// The first flaw.
    pub fn check(&self) -> Result<(), Flaw> {
        let expected = self.problem.len();
        let shapes = self.stages.iter().map(|stage| stage.shape);
        let pads = shapes.clone().any(|shape| matches!(shape, StageShape::Pad { .. }));
        if pads
            && !routes::padded_square(&self.problem).is_some_and(|others| shapes.clone().eq(others))
        {
            return Err(Flaw::Padding { problem: self.problem });
        }
        // What was cut off lies still behind the packed columns while these are transposed.
        let packed: Vec<usize> = shapes
            .filter_map(|shape| match shape {
                StageShape::Cut { padding, .. } if padding.span() == expected => {
                    Some(padding.len())
                }
                _ => None,
            })
            .collect();
        for (number, stage) in (1..).zip(&self.stages) {
            // Counted first: nothing else may multiply extents that overflow.
            let covers = counted_len(&stage.shape)
                .is_some_and(|len| len > 0 && (len == expected || packed.contains(&len)));
            if !pads && !covers {
                let stage = format!("{:?}", stage.shape);
                return Err(Flaw::Length { number, stage, expected });
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
        if counted_len(&self.shape).is_none() {
            return Err(Flaw::Uncounted { number: 1, stage: format!("{:?}", self.shape) });
        }
        method_fits(self, 1)
    }
}

/// Whether the stage's method does its shape, with flags that there are.
fn method_fits(stage: &Stage, number: usize) -> Result<(), Flaw> {
    if !goes_together(stage) {
        return Err(Flaw::Method { number, stage: stage.to_string() });
    }
    if let Method::PttwacOnChip { flags } | Method::PttwacGlobal { flags } = stage.method
        && let FlagLayout::Spread { spreading, .. } = flags
        && !(spreading.is_power_of_two() && spreading <= 32)
    {
        return Err(Flaw::Spreading { number, spreading });
    }
    Ok(())
}

/// Elements of a shape, if they can be counted.
fn counted_len(shape: &StageShape) -> Option<usize> {
    let product = |extents: &[usize]| extents.iter().try_fold(1usize, |all, &e| all.checked_mul(e));
    match *shape {
        StageShape::Elementary(Elementary { batch, rows, mid, cols, unit }) => {
            product(&[batch, rows, mid, cols, unit])
        }
        StageShape::FusedTiles { batch, rows, cols, m, n } => product(&[batch, rows, cols, m, n]),
        StageShape::SlotGather { batch, slots, .. } | StageShape::SlotMove { batch, slots, .. } => {
            product(&[batch, slots.rows(), slots.cols()])
        }
        // Counted when it was made.
        StageShape::Cut { padding, .. } => Some(padding.span()),
        StageShape::Pad { padding, .. } => Some(padding.len()),
    }
}

fn goes_together(stage: &Stage) -> bool {
    let gather = matches!(stage.shape, StageShape::SlotGather { .. });
    let pad = matches!(stage.shape, StageShape::Pad { .. });
    let cut = matches!(stage.shape, StageShape::Cut { .. });
    match stage.method {
        Method::TileSwap { tile } => matches!(
            stage.shape,
            StageShape::Elementary(e) if e.is_involution() && e.unit == 1 && e.mid == 1 && tile >= 1
        ),
        Method::BarrierSync { .. } => gather || matches!(stage.shape, StageShape::Elementary(_)),
        Method::PttwacOnChip { .. } => matches!(stage.shape, StageShape::Elementary(_)),
        Method::PttwacGlobal { .. } | Method::PerCycle => !gather && !pad && !cut,
        Method::Rows { .. } => pad,
        Method::Shares => pad || cut,
        Method::Slide { block } => (pad || cut) && block >= 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Limits, Planner, Problem};

    fn plan() -> Plan {
        let planner = Planner::new(Limits::k20()).with_route("three-stage").unwrap();
        planner.plan(&Problem::new(720, 180, 4).unwrap()).unwrap()
    }

    #[test]
    fn the_planners_plans_pass() {
        for limits in crate::limits::presets() {
            let survey = Planner::new(limits).survey(&Problem::new(720, 180, 4).unwrap());
            survey.candidates.iter().for_each(|plan| assert_eq!(plan.check(), Ok(()), "{plan:#}"));
        }
    }

    /// Stages that leave the end of the matrices alone are for what has been cut off.
    #[test]
    fn only_cutting_leaves_anything_out() {
        let planner = Planner::new(Limits::host(1)).with_route("cut-columns").unwrap();
        let good = planner.plan(&Problem::new(101, 205, 4).unwrap()).unwrap();
        assert_eq!(good.check(), Ok(()), "{good:#}");
        let mut uncut = good.clone();
        uncut.stages.remove(0);
        assert!(matches!(uncut.check(), Err(Flaw::Length { number: 1, expected: 20_705, .. })));
        let mut in_steps = good.clone();
        in_steps.stages[0].method = Method::Rows { least: 2 };
        assert!(matches!(in_steps.check(), Err(Flaw::Method { number: 1, .. })));
        let mut of_another = good;
        of_another.problem = Problem::new(101, 206, 4).unwrap();
        assert!(matches!(of_another.check(), Err(Flaw::Length { number: 1, .. })));
    }

    #[test]
    fn flaws_are_found_before_anything_is_multiplied() {
        let flawed = |change: &dyn Fn(&mut Stage)| {
            let mut plan = plan();
            change(&mut plan.stages[1]);
            plan.check()
        };
        let elementary = |rows, unit| {
            let e = Elementary { batch: 1, rows, mid: 1, cols: 720, unit };
            StageShape::Elementary(e)
        };
        for shape in [elementary(181, 1), elementary(0, 1), elementary(usize::MAX, usize::MAX)] {
            let error = flawed(&|stage| stage.shape = shape);
            assert!(matches!(error, Err(Flaw::Length { number: 2, expected: 129_600, .. })));
        }
        assert!(matches!(
            flawed(&|stage| stage.method = Method::TileSwap { tile: 64 }),
            Err(Flaw::Method { number: 2, .. })
        ));
        let endless = Stage { shape: elementary(usize::MAX, 2), ..plan().stages[0] };
        assert!(matches!(endless.check(), Err(Flaw::Uncounted { number: 1, .. })));
        assert_eq!(plan().stages[0].check(), Ok(()));
        for spreading in [0, 3, 64] {
            let flags = FlagLayout::Spread { spreading, padded: false };
            let error = flawed(&|stage| stage.method = Method::PttwacGlobal { flags });
            assert_eq!(error, Err(Flaw::Spreading { number: 2, spreading }));
        }
    }
}
