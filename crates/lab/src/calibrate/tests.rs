//! A clock that says what another table does: fitting must find that table.

use std::iter;
use std::time::{Duration, Instant};

use anyhow::Result;
use turntile::plan::{CostTable, CpuDevice, GpuDevice, Plan, Stage};

use super::gpu::{self, Timed};
use super::host::calibrate_on;
use super::samples::{Budget, Change, Tried, Watch};
use super::{problems, processor, table};

/// Says of a plan's stages what a device's table does.
struct Clock<F: Fn(&Stage, usize) -> Option<f64>>(F);

impl<F: Fn(&Stage, usize) -> Option<f64>> Watch for Clock<F> {
    fn seconds(&mut self, plan: &Plan) -> Result<f64> {
        let elem_bytes = plan.problem.itemsize();
        Ok(plan.stages().map(|stage| (self.0)(stage, elem_bytes).expect("its own")).sum())
    }
}

/// The same table with everything that is set, over some quantity, more or less than it was, by up to a third.
fn another(costs: &CostTable, parse: impl Fn(&str) -> CostTable) -> CostTable {
    let mut table: serde_json::Value = serde_json::from_str(&table::text(costs)).unwrap();
    let mut by =
        iter::successors(Some(1.0), |by: &f64| Some(if *by > 1.2 { by * 0.55 } else { by * 1.1 }));
    for (_, factors) in table["operations"].as_object_mut().unwrap() {
        for points in
            factors.as_array_mut().unwrap().iter_mut().filter_map(|f| f["set"].as_array_mut())
        {
            for point in points {
                let value = point[1].as_f64().unwrap();
                point[1] = (value * by.next().unwrap()).into();
            }
        }
    }
    parse(&table.to_string())
}

/// Of stages by two tables, the mean of the logarithms of their seconds' ratio, and the largest.
fn apart(
    stages: &[Plan],
    one: impl Fn(&Stage, usize) -> f64,
    other: impl Fn(&Stage, usize) -> f64,
) -> [f64; 2] {
    let apart: Vec<f64> = stages
        .iter()
        .flat_map(|plan| plan.stages().map(|stage| (stage, plan.problem.itemsize())))
        .map(|(stage, elem_bytes)| (one(stage, elem_bytes) / other(stage, elem_bytes)).ln().abs())
        .collect();
    [apart.iter().sum::<f64>() / apart.len() as f64, apart.iter().copied().fold(0.0, f64::max)]
}

#[test]
fn a_gpu_s_table_is_found_from_what_it_says_of_stages() {
    let chip = GpuDevice::h200();
    let truth = another(chip.costs(), |text| GpuDevice::costs_from(text).unwrap());
    let truth = chip.clone().with_costs(truth).copying(3e12);
    let problems = problems::both(1 << 30);
    // For ever is as long as it takes.
    let budget = Budget::new(Duration::MAX);
    let timed = Timed { budget, problems: problems.clone(), speed: 3e12 };
    let mut clock = Clock(|stage: &Stage, elem_bytes| truth.estimated(stage, elem_bytes));
    let made = gpu::fitted(&chip, &mut clock, &timed, &mut |_| {}).unwrap();
    let of = |chip: &GpuDevice| {
        let chip = chip.clone();
        move |stage: &Stage, elem_bytes| chip.estimated(stage, elem_bytes).unwrap()
    };
    let stages = Tried::default().first(&chip.clone().copying(3e12), &problems);
    let stages: Vec<Plan> = stages.plans().cloned().collect();
    assert!(made.stages >= stages.len() && stages.len() > 100, "{} stages", made.stages);
    let found = chip.clone().with_costs(made.costs.clone());
    let [before, _] = apart(&stages, of(&chip.clone().copying(3e12)), of(&truth));
    let [mean, most] = apart(&stages, of(&found), of(&truth));
    assert!(before > 0.1 && mean < 0.03 && most < 0.3, "{before} before, {mean} and {most} now");
    assert_eq!(made.costs.constant(0), 3e12);
    assert!(made.gain >= 1.0 && made.off[1] < made.off[0]);
}

#[test]
fn a_host_s_table_is_found_from_what_it_says_of_stages() {
    let (truth, problems) = (CpuDevice::new(1), problems::in_place(192 << 20));
    let truth = truth
        .clone()
        .with_costs(another(truth.costs(), |text| CpuDevice::costs_from(text).unwrap()));
    let base = CpuDevice::new(1);
    let (mut tried, first) = (Tried::default(), Tried::default().first(&base, &problems));
    let stages: Vec<Plan> = first.plans().cloned().collect();
    let mut clock = Clock(|stage: &Stage, elem_bytes| truth.estimated(stage, elem_bytes));
    let until = Instant::now() + Duration::from_secs(3600);
    let all = tried.time(vec![(first, 1.0)], &base, &mut clock, until, &mut || {}).unwrap();
    assert_eq!(tried.first(&base, &problems).plans().count(), 0, "each once");
    let found = base.clone().with_costs(processor::fitted(base.costs(), &all, "here"));
    let of = |host: &CpuDevice| {
        let host = host.clone();
        move |stage: &Stage, elem_bytes| host.estimated(stage, elem_bytes).unwrap()
    };
    let [before, _] = apart(&stages, of(&base), of(&truth));
    let [mean, most] = apart(&stages, of(&found), of(&truth));
    assert!(before > 0.1 && mean < 0.03 && most < 0.3, "{before} before, {mean} and {most} now");
}

#[test]
fn a_table_is_made_that_plans_as_it_was_measured() {
    let (mut last, budget) = (0.0, Duration::from_millis(300));
    let mut progress = |share: f64| {
        assert!((last..=1.0).contains(&share), "{last} to {share}");
        last = share;
    };
    let made = calibrate_on(4 << 20, 2, budget, &mut progress).unwrap();
    assert_eq!(last, 1.0);
    assert!(made.stages > 0 && made.problems > 40 && made.gain >= 1.0);
    let read = CpuDevice::costs_from(&table::text(&made.costs)).unwrap();
    assert_eq!(read, made.costs);
    assert_eq!(read.device(), CpuDevice::here(2).processor());
    // What is written is what the library takes.
    turntile::Transpose::new::<u32>(300, 200).threads(2).costs(read).plan().unwrap();
    for Change { before, after, gain } in made.changes {
        assert!(gain >= 1.0 && before.problem == after.problem, "{before}, {after}: {gain}");
    }
}
