//! Wisdom files: any bytes are wisdom or an error, and a plan that wisdom makes is valid.
#![no_main]

use std::fs;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use turntile::plan::{CpuDevice, Planner, Problem, Wisdom};
use turntile_plan::wisdom::{self, WisdomLookup};

static ASKED: LazyLock<(Planner, Problem)> = LazyLock::new(|| {
    (Planner::new(CpuDevice::new(2)), Problem::permuted(&[12, 10, 6], &[2, 1, 0], 4).unwrap())
});

fuzz_target!(|bytes: &[u8]| {
    let (planner, problem) = &*ASKED;
    let file = std::env::temp_dir().join(format!("turntile-fuzz-wisdom-{}", std::process::id()));
    // As it is, and as the legs of the one problem that is asked for.
    let text = String::from_utf8_lossy(bytes);
    let (key, signature) = (wisdom::key(planner, problem), wisdom::signature());
    let entry = format!(
        r#"{{"recipe":[{text}],"seconds":1.0,"runs":1,"signature":{signature:?}}}"#
    );
    let around = format!(r#"{{"format":{},"entries":{{{key:?}:{entry}}}}}"#, wisdom::FORMAT);
    for bytes in [bytes, around.as_bytes()] {
        fs::write(&file, bytes).unwrap();
        let Ok(wisdom) = Wisdom::load(&file) else { continue };
        if let WisdomLookup::Plan(plan) = wisdom.lookup(planner, problem) {
            assert_eq!(plan.check(), Ok(()));
            assert_eq!(plan.problem, *problem);
            let dest = |offset| (plan.dest(offset), problem.dest(offset));
            assert!((0..problem.span()).map(dest).all(|(got, want)| got == want), "{plan:#}");
        }
    }
});
