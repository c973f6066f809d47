//! Validation of plans, including plans assembled by callers.

use turntile_perm::LeadingDims;

use crate::implementation::{Method, Stage};
use crate::leading;
use crate::plan::Plan;
use crate::problem::Problem;
use crate::stage_map::StageMap;

/// Reason why a plan is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidPlan {
    /// A stage does not cover exactly the elements of the problem.
    ///
    /// In a plan that cuts columns off, a stage may cover exactly the packed columns. With leading
    /// dimensions, stages of the dense matrix are counted and numbered separately.
    #[error("stage {number} ({stage}) does not cover exactly the problem's {expected} elements")]
    Length {
        /// Number of the stage, from 1.
        number: usize,
        /// The stage.
        stage: String,
        /// Number of elements of the problem, including gap elements that move as elements.
        expected: usize,
    },
    /// The number of elements of a stage overflows.
    #[error("stage {number}: the number of elements of {stage} overflows")]
    Overflow {
        /// Number of the stage, from 1.
        number: usize,
        /// The stage.
        stage: String,
    },
    /// The stage's method does not support its index map.
    #[error("stage {number}: {stage}: the method does not support this index map")]
    Method {
        /// Number of the stage, from 1.
        number: usize,
        /// The stage.
        stage: String,
    },
    /// The stage's launch configuration belongs to a different stage.
    #[error("stage {number}: the launch configuration of {stage} belongs to a different stage")]
    LaunchConfig {
        /// Number of the stage, from 1.
        number: usize,
        /// The stage.
        stage: String,
    },
    /// The stages do not preserve the gaps of the problem's leading dimensions.
    #[error("{stages} does not preserve the gaps of {problem}")]
    Leading {
        /// The problem.
        problem: Box<Problem>,
        /// The plan's routes, or the offending stage.
        stages: String,
    },
    /// A plan with leading dimensions is run on elements that are not `Copy`.
    #[error("leading dimensions require elements that are Copy")]
    RequiresCopy,
    /// An out-of-place plan is run in place, or the reverse.
    #[error("{}", match *out_of_place {
        true => "the plan is out-of-place, the run is in-place",
        false => "the plan is in-place, the run is out-of-place",
    })]
    WrongDestination {
        /// `true` if the plan is out-of-place.
        out_of_place: bool,
    },
}

impl Plan {
    /// Checks that every stage covers the problem and has a method that supports its index map.
    ///
    /// Backends call it before they move data. Plans made by the planner always pass.
    ///
    /// Does not check that the composed stages solve the problem. Compare [`dest`](Plan::dest) with
    /// [`Problem::dest`] for that.
    ///
    /// # Errors
    /// The first error found.
    pub fn check(&self) -> Result<(), InvalidPlan> {
        if let Some(leading) = self.problem.leading() {
            return self.check_leading(leading);
        }
        self.check_stages(self.stages(), self.problem.len())
    }

    /// Checks a plan with leading dimensions.
    ///
    /// Either one stage moves the whole matrix, or stages that remove and restore the gaps enclose
    /// those of the dense matrix, which must have no gaps.
    fn check_leading(&self, leading: &LeadingDims) -> Result<(), InvalidPlan> {
        let maps: Vec<StageMap> = self.stages().map(|stage| stage.map.clone()).collect();
        let error = || InvalidPlan::Leading {
            problem: Box::new(self.problem.clone()),
            stages: self.route_name(),
        };
        let (dense, len) = leading::dense_stages(leading, &maps).ok_or_else(error)?;
        for (number, stage) in (1..).zip(self.stages()) {
            if !dense.contains(&(number - 1)) {
                check_method(stage, number)?;
                if stage.elems_per_unit != 1 {
                    return Err(error());
                }
            }
        }
        self.check_stages(self.stages().skip(dense.start).take(dense.len()), len)
    }

    /// Checks that each stage has no gaps and covers `expected` elements, or the packed columns of
    /// a cut.
    fn check_stages<'a>(
        &self,
        stages: impl Iterator<Item = &'a Stage> + Clone,
        expected: usize,
    ) -> Result<(), InvalidPlan> {
        if let Some(stage) = stages.clone().find(|stage| stage.map.has_gaps()) {
            // Gap elements must not become elements of the problem.
            let (problem, stages) = (Box::new(self.problem.clone()), stage.to_string());
            return Err(InvalidPlan::Leading { problem, stages });
        }
        // While the packed columns are transposed, the columns cut off stay unchanged after them.
        let packed_len = |stage: &Stage| match stage.map {
            StageMap::Cut { rows, .. } => {
                let whole = stage.map.counted_len()?.checked_mul(stage.elems_per_unit)?;
                (whole == expected).then(|| rows.len() * stage.elems_per_unit)
            }
            _ => None,
        };
        let packed: Vec<usize> = stages.clone().filter_map(packed_len).collect();
        for (number, stage) in (1..).zip(stages) {
            // The length is checked first: later computations multiply extents without overflow
            // checks.
            let covers = stage
                .map
                .counted_len()
                .and_then(|len| len.checked_mul(stage.elems_per_unit))
                .is_some_and(|len| len > 0 && (len == expected || packed.contains(&len)));
            if !covers {
                let stage = format!("{:?}", stage.map);
                return Err(InvalidPlan::Length { number, stage, expected });
            }
            if (stage.implementation.method == Method::OutOfPlace) != self.problem.is_out_of_place()
            {
                return Err(InvalidPlan::Method { number, stage: stage.to_string() });
            }
            check_method(stage, number)?;
        }
        Ok(())
    }
}

impl Stage {
    /// Checks a single stage: its length does not overflow, and its method supports its index map.
    ///
    /// # Errors
    /// The first error found, reported for stage number 1.
    pub fn check(&self) -> Result<(), InvalidPlan> {
        if self.map.counted_len().is_none() {
            return Err(InvalidPlan::Overflow { number: 1, stage: self.to_string() });
        }
        check_method(self, 1)
    }
}

/// Checks that the method of stage `number` supports its index map.
fn check_method(stage: &Stage, number: usize) -> Result<(), InvalidPlan> {
    let error = || InvalidPlan::Method { number, stage: stage.to_string() };
    let is_supported = stage.map.methods().contains(&stage.implementation.method);
    is_supported.then_some(()).ok_or_else(error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Toy;
    use crate::{Implementation, Planner, Problem, Route};
    use turntile_perm::{Elementary, PitchedRows};

    fn plan() -> Plan {
        let planner = Planner::new(Toy::default()).with_route(Route::THREE_STAGE);
        planner.plan(&Problem::new(720, 180, 4).unwrap()).unwrap()
    }

    #[test]
    fn gb_per_s_counts_bytes_read_and_written() {
        let plan = plan();
        let moved = 2.0 * (720 * 180 * 4) as f64;
        assert!((plan.gb_per_s() * 1e9 * plan.seconds / moved - 1.0).abs() < 1e-9);
    }

    #[test]
    fn check_accepts_all_plans_of_planner() {
        let found = Planner::new(Toy::default()).candidates(&Problem::new(720, 180, 4).unwrap());
        assert!(found.candidates.len() > 5);
        found.candidates.iter().for_each(|plan| assert_eq!(plan.check(), Ok(()), "{plan:#}"));
    }

    /// Checks that stages may leave the end of the matrix unchanged only after a cut.
    #[test]
    fn check_rejects_partial_stages_without_cut() {
        let device = Toy { held: 1 << 20, ..Toy::default() };
        let planner = Planner::new(device).with_route(Route::CUT).with_mirrored(false);
        let good = planner.plan(&Problem::new(101, 205, 4).unwrap()).unwrap();
        assert_eq!(good.check(), Ok(()), "{good:#}");
        let mut uncut = good.clone();
        uncut.phases[0].stages.remove(0);
        assert!(matches!(
            uncut.check(),
            Err(InvalidPlan::Length { number: 1, expected: 20_705, .. })
        ));
        let mut in_rounds = good.clone();
        in_rounds.phases[0].stages[0].implementation.method = Method::Rounds;
        assert!(matches!(in_rounds.check(), Err(InvalidPlan::Method { number: 1, .. })));
        // Columns are cut off the whole matrix, not off the packed part.
        let mut cut_twice = good.clone();
        let stages = &mut cut_twice.phases[0].stages;
        let StageMap::Cut { rows, direction } = stages[0].map else { panic!("{good:#}") };
        let cut = |cols: usize| {
            let rows = PitchedRows::new(rows.rows(), cols - 1, cols).unwrap();
            let implementation = good.phases[0].stages[0].implementation.clone();
            Stage::new(StageMap::Cut { rows, direction }, implementation)
        };
        stages.splice(1.., [cut(rows.cols()), cut(rows.cols() - 1)]);
        assert!(matches!(cut_twice.check(), Err(InvalidPlan::Length { number: 3, .. })));
        let mut larger = good;
        larger.problem = Problem::new(101, 206, 4).unwrap();
        assert!(matches!(larger.check(), Err(InvalidPlan::Length { number: 1, .. })));
    }

    /// Checks that rows that change their length cannot use a schedule that moves whole rows.
    #[test]
    fn check_accepts_only_rounds_if_row_lengths_differ() {
        let is_valid = |cols, method| {
            let rows = |cols| PitchedRows::new(24 / cols, cols, cols + 1).unwrap();
            let change = LeadingDims::in_order(rows(6), rows(cols)).unwrap();
            let config = plan().phases[0].stages[0].implementation.launch_config.clone();
            let implementation = Implementation::new(method, config, 0, 0.0);
            Stage::new(change.into(), implementation).check().is_ok()
        };
        for (method, others) in
            [(Method::Rounds, true), (Method::Shares, false), (Method::Blocks, false)]
        {
            assert_eq!([is_valid(6, method), is_valid(3, method)], [true, others], "{method}");
        }
    }

    #[test]
    fn check_rejects_in_place_methods_out_of_place_and_reverse() {
        let mut out_of_place = plan();
        out_of_place.problem = out_of_place.problem.out_of_place().unwrap();
        assert!(matches!(out_of_place.check(), Err(InvalidPlan::Method { number: 1, .. })));
        let mut in_place = plan();
        in_place.phases[0].stages[0].implementation.method = Method::OutOfPlace;
        assert!(matches!(in_place.check(), Err(InvalidPlan::Method { number: 1, .. })));
    }

    #[test]
    fn check_rejects_bad_stages_before_lengths_overflow() {
        let check_with = |change: &dyn Fn(&mut Stage)| {
            let mut plan = plan();
            change(&mut plan.phases[0].stages[1]);
            plan.check()
        };
        let elementary =
            |rows, unit| StageMap::from(Elementary { batch: 1, rows, mid: 1, cols: 720, unit });
        let slots = turntile_perm::AlignedSlots::new(720, 180, 4, 4).unwrap();
        let many = StageMap::SlotMove {
            batch: usize::MAX / 2,
            slots,
            direction: crate::Direction::Forward,
        };
        for map in [elementary(181, 1), elementary(0, 1), many] {
            let error = check_with(&|stage| stage.map = map.clone());
            assert!(matches!(error, Err(InvalidPlan::Length { number: 2, expected: 129_600, .. })));
        }
        assert!(matches!(
            check_with(&|stage| stage.implementation.method = Method::Rounds),
            Err(InvalidPlan::Method { number: 2, .. })
        ));
        let three_axes = turntile_perm::AxisPermutation::new(&[180, 18, 40], &[1, 2, 0]).unwrap();
        let result = check_with(&|stage| {
            stage.map = StageMap::Axes(three_axes);
            stage.implementation.method = Method::PttwacOnChip;
        });
        assert_eq!(result, Ok(()), "three axes, two of them fused, are a matrix transposition");
    }
}
