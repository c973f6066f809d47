//! Tables of costs of hosts and GPUs: any text is a table or an error, and by any table there is a valid plan.
#![no_main]

use libfuzzer_sys::fuzz_target;
use turntile::plan::{GpuDevice, CpuDevice, Planner, Problem};

fuzz_target!(|text: &str| {
    let problem = Problem::new(96, 60, 4).unwrap();
    let check = |planner: Planner| {
        let plan = planner.plan(&problem).unwrap();
        assert_eq!(plan.check(), Ok(()), "{plan:#}");
        assert!(plan.seconds.is_finite() && plan.seconds >= 0.0, "{plan:#}");
    };
    if let Ok(costs) = CpuDevice::costs_from(text) {
        check(Planner::new(CpuDevice::new(3).with_costs(costs)));
    }
    if let Ok(costs) = GpuDevice::costs_from(text) {
        check(Planner::new(GpuDevice::h200().with_costs(costs)));
    }
});
