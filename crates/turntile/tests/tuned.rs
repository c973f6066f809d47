//! Tests of tuning, wisdom files and custom cost tables on the host.

use std::time::Duration;

use turntile::error::Reason;
use turntile::plan::Effort;
use turntile::plan::{CpuDevice, GpuDevice, Route, StaleWisdom, TileRule, WisdomError};
use turntile::{ErrorKind, Transpose};

use crate::library::naive;

#[test]
fn tuning_is_recorded_and_used() {
    let budget = Duration::from_millis(500);
    let folder = std::env::temp_dir().join(format!("turntile-library-{}", std::process::id()));
    let file = folder.join("wisdom.json");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir(&folder).unwrap();
    let transpose = Transpose::new::<u32>(240, 180).threads(1).wisdom(&file);
    // Only measuring creates a missing wisdom file, and nothing creates a missing folder.
    let missing = |file: std::path::PathBuf| Transpose::new::<u32>(240, 180).wisdom(file);
    let nowhere = missing(folder.join("mistyped").join("wisdom.json"));
    for error in [
        missing(file.clone()).plan().unwrap_err(),
        nowhere.plan().unwrap_err(),
        nowhere.tune(Duration::ZERO).unwrap_err(),
        nowhere.clone().effort(Effort::Measure(Duration::ZERO)).plan().unwrap_err(),
    ] {
        let Reason::Wisdom(WisdomError::Io { kind, .. }) = error.reason() else {
            panic!("{error}")
        };
        assert_eq!(*kind, std::io::ErrorKind::NotFound);
    }
    let tuned = transpose.clone().tiles(TileRule::Exhaustive);
    let measured = tuned.tune(budget).unwrap();
    assert!(measured.len() > 1 && measured.is_sorted_by_key(|m| m.time));
    let planned = transpose.plan().unwrap();
    // A plan from the wisdom file does not list the rejected routes.
    let (used, winner) = (planned.plan(), &measured[0].plan);
    assert_eq!(
        (used.route(), &used.phases),
        (winner.route(), &winner.phases),
        "not the best estimate"
    );
    assert_eq!(planned.rejected_wisdom(), None);
    let mut data: Vec<u32> = (0..240 * 180).collect();
    let want = naive(&data, 240, 180);
    planned.run(&mut data).unwrap();
    assert_eq!(data, want);
    // Planning with measurements rejects and replaces a wisdom entry of another version.
    let stale = std::fs::read_to_string(&file).unwrap().replace("turntile 0", "turntile 99");
    std::fs::write(&file, stale).unwrap();
    let remeasured = transpose.effort(Effort::Measure(budget)).plan().unwrap();
    assert!(remeasured.rejected_wisdom().unwrap().to_string().contains("turntile 99"));
    std::fs::write(&file, "not wisdom").unwrap();
    let damaged = Transpose::new::<u32>(240, 180).wisdom(&file);
    for damaged in [damaged.plan().unwrap_err(), damaged.tune(budget).unwrap_err()] {
        assert!(
            matches!(damaged.reason(), Reason::Wisdom(WisdomError::Damaged { .. })),
            "{damaged}"
        );
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "not wisdom");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn wisdom_is_ignored_when_entry_is_unknown() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("wisdom.json");
    let transpose = Transpose::new::<u32>(240, 180).threads(1).wisdom(&file);
    let winner = transpose.tune(Duration::ZERO).unwrap().swap_remove(0).plan;
    let text = std::fs::read_to_string(&file).unwrap();
    let original: serde_json::Value = serde_json::from_str(&text).unwrap();
    let (key, entry) = original["entries"].as_object().unwrap().iter().next().unwrap();
    let planned_with = |change: &dyn Fn(&mut serde_json::Value)| {
        let mut old = original.clone();
        change(&mut old);
        std::fs::write(&file, old.to_string()).unwrap();
        transpose.plan().unwrap()
    };
    for (field, value) in [
        ("route", serde_json::json!("unknown-route")),
        ("variants", serde_json::json!(["an unknown variant"])),
        ("tile", serde_json::json!({"m": 7, "n": 11})),
    ] {
        let planned = planned_with(&|old| old["entries"][key]["recipe"][0][field] = value.clone());
        assert!(matches!(planned.rejected_wisdom(), Some(StaleWisdom::Unknown { .. })), "{field}");
        let mut matrix: Vec<u32> = (0..240 * 180).collect();
        let want = naive(&matrix, 240, 180);
        planned.run(&mut matrix).unwrap();
        assert!(matrix == want, "{field}");
        // A new measurement replaces the entry in the wisdom file.
        transpose.tune(Duration::ZERO).unwrap();
        assert_eq!(transpose.plan().unwrap().rejected_wisdom(), None);
    }
    let planned = planned_with(&|old| old["entries"][format!("{key} room 57600")] = entry.clone());
    assert_eq!(
        (planned.plan(), planned.rejected_wisdom()),
        (&winner, None),
        "another entry was used"
    );
}

#[test]
fn plan_fails_when_costs_are_of_another_device() {
    let here = CpuDevice::here(1);
    let own = || Transpose::new::<u32>(2000, 1500).threads(1);
    let slow = |device: &str| here.costs().clone().with_constant(0, 1e6).named(device, "");
    // A cost table that gives estimates that are not finite gives an error.
    for speed in [0.0, f64::NAN] {
        let stalled = slow(here.processor()).with_constant(0, speed);
        let error = own().costs(stalled).plan().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NoPlan, "{speed}: {error}");
    }
    let plan = own().costs(slow(here.processor())).plan().unwrap();
    assert!(plan.plan().seconds > 10.0 * own().plan().unwrap().plan().seconds);
    for (costs, of) in [
        (slow("an abacus"), "an abacus"),
        (GpuDevice::h200().costs().clone().named(here.processor(), ""), here.processor()),
    ] {
        let error = own().costs(costs).plan().unwrap_err();
        assert_eq!(error, Reason::Costs { of: of.into(), here: here.processor().into() }.into());
    }
}

#[test]
fn wisdom_of_one_route_is_unused_when_no_route_is_requested() {
    let folder = tempfile::tempdir().unwrap();
    let transpose =
        Transpose::new::<u32>(1440, 720).threads(1).wisdom(folder.path().join("w.json"));
    let measure = Effort::Measure(Duration::from_millis(50));
    let all = transpose.clone().effort(measure).plan().unwrap();
    assert_ne!(all.plan().route(), Route::ONE_STAGE);
    let single = transpose.clone().route(Route::ONE_STAGE);
    single.clone().effort(measure).plan().unwrap();
    assert_eq!(transpose.plan().unwrap().plan().route(), all.plan().route());
    assert_eq!(single.plan().unwrap().plan().route(), Route::ONE_STAGE);
}

#[test]
fn wisdom_is_shared_when_axes_fuse_to_the_same_problem() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("w.json");
    let of = |shape: &[usize], axes: &[usize]| {
        Transpose::permute::<u32>(shape, axes).threads(1).wisdom(&file)
    };
    let measured = of(&[60, 40], &[1, 0]).tune(Duration::ZERO).unwrap();
    let planned = of(&[20, 3, 40], &[2, 0, 1]).plan().unwrap();
    assert_eq!(planned.plan().phases, measured[0].plan.phases);
    let text = std::fs::read_to_string(&file).unwrap();
    of(&[20, 3, 40], &[2, 0, 1]).tune(Duration::ZERO).unwrap();
    assert_eq!(
        text.matches("recipe").count(),
        std::fs::read_to_string(&file).unwrap().matches("recipe").count()
    );
}

#[test]
fn wisdom_reports_format_when_file_is_newer() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("w.json");
    std::fs::write(&file, r#"{"format": 99, "entries": {"k": {"v": 1}}}"#).unwrap();
    let error = Transpose::new::<u32>(240, 180).wisdom(&file).plan().unwrap_err();
    assert!(
        matches!(error.reason(), Reason::Wisdom(WisdomError::Format { got: 99, .. })),
        "{error}"
    );
}

/// Checks that the default cost table, which may have been measured on another processor, is
/// accepted.
#[test]
fn costs_of_this_machine_are_accepted() {
    let own = CpuDevice::here(2).costs().clone();
    Transpose::new::<f32>(300, 200).threads(2).costs(own).plan().unwrap();
}

#[test]
fn wisdom_is_used_when_nothing_moves() {
    let folder = tempfile::tempdir().unwrap();
    let stays = Transpose::new::<u32>(1, 900).threads(1).wisdom(folder.path().join("w.json"));
    stays.tune(Duration::ZERO).unwrap();
    let planned = stays.plan().unwrap();
    assert_eq!((planned.plan().passes(), planned.rejected_wisdom()), (0, None));
}
