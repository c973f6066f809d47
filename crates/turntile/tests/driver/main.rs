//! Randomised tests. Draws problems, options and calls, valid and invalid, and compares results
//! with a naive oracle. A valid request must succeed; an invalid one must return an error and
//! change no data.
//!
//! | variable | meaning |
//! |---|---|
//! | `TURNTILE_DRAWS` | number of draws, or a range of draws: `100000`, `17..18` |
//! | `TURNTILE_SEED` | seed of the draws, 1 if unset |
//! | `TURNTILE_TELL` | file to which each draw is written before it runs, in case the process is killed |
//! | `TURNTILE_KERNEL` | only SIMD kernel set; if unset, each draw uses a random set that this machine supports |
//!
//! A failure prints the command that repeats its draw, even if the draw aborts the process.

#[path = "../common/oracle.rs"]
#[allow(dead_code, reason = "only a part is used")]
mod naive;

mod calls;
mod draw;
mod guarded;
mod matrices;
mod planners;
mod records;
mod requests;
mod runs;
mod stored;
mod wisdom;
mod wishes;

use std::collections::BTreeMap;
use std::env;
use std::fmt::Display;
use std::io::Write;
use std::ops::Range;
use std::panic;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use draw::Draw;

/// Default number of draws (random test cases). They take a few seconds.
const DRAWS: u64 = if cfg!(miri) { 60 } else { 4000 };

/// Kind of draw: its name, its weight, and the function that runs a draw and returns its outcome.
type Kind = (&'static str, usize, fn(&mut Draw) -> &'static str);

const KINDS: [Kind; 8] = [
    ("request", 40, requests::draw),
    ("planner", 30, planners::draw),
    ("call", 14, calls::draw),
    ("imatcopy", 8, matrices::draw),
    ("records of a type", 3, records::draw),
    ("stored", 2, stored::draw),
    ("huge", 3, planners::draw_huge),
    ("wisdom", 1, wisdom::draw),
];

/// Seed, number and description of the current draw, for the report of a panic.
static AT: Mutex<(u64, u64, String)> = Mutex::new((0, 0, String::new()));
/// `true` while the current draw causes a panic on purpose, which is not reported.
static ON_PURPOSE: AtomicBool = AtomicBool::new(false);

/// Records the description `what` of the current draw, also in the file `TURNTILE_TELL` if set.
fn about(what: impl Display) {
    let mut at = AT.lock().unwrap_or_else(PoisonError::into_inner);
    at.2 = what.to_string();
    if let Some(file) = env::var_os("TURNTILE_TELL") {
        std::fs::write(file, format!("draw {} of seed {}: {}\n", at.1, at.0, at.2)).unwrap();
    }
}

/// Runs `work`, which panics on purpose, and returns its result or panic, without a report of the
/// panic.
fn panicking<R>(work: impl FnOnce() -> R) -> std::thread::Result<R> {
    ON_PURPOSE.store(true, Ordering::Relaxed);
    let result = panic::catch_unwind(panic::AssertUnwindSafe(work));
    ON_PURPOSE.store(false, Ordering::Relaxed);
    result
}

/// Installs a panic hook that prints the draw to standard error. Captured output would be lost if a
/// panic aborts the process.
fn report_panics() {
    let report = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if ON_PURPOSE.load(Ordering::Relaxed) {
            return;
        }
        let (seed, number, what) = &*AT.lock().unwrap_or_else(PoisonError::into_inner);
        let command = format!(
            "TURNTILE_SEED={seed} TURNTILE_DRAWS={number}..{} cargo test -p turntile --test driver",
            number + 1
        );
        let _ = writeln!(std::io::stderr(), "draw {number}: {what}\nagain by {command}\n{info}");
        report(info);
    }));
}

fn number(name: &str, default: u64) -> u64 {
    let read = |text: String| text.parse().unwrap_or_else(|_| panic!("{name}={text:?}: a number"));
    env::var(name).map_or(default, read)
}

fn draws() -> Range<u64> {
    let text = env::var("TURNTILE_DRAWS").unwrap_or_else(|_| DRAWS.to_string());
    let read = |text: &str| text.parse().ok();
    let range = match text.split_once("..") {
        Some((from, to)) => read(from).zip(read(to)).map(|(from, to)| from..to),
        None => read(&text).map(|to| 0..to),
    };
    range.unwrap_or_else(|| panic!("TURNTILE_DRAWS={text:?}: a number or a range"))
}

/// Selects the SIMD kernel set named `only`, or a random one that this machine supports.
fn force_kernel(draw: &mut Draw, only: Option<&str>) {
    let name = only.unwrap_or_else(|| {
        let here: Vec<_> =
            turntile_simd::KERNELS.iter().filter(|kernel| (kernel.available)()).collect();
        // Miri does not allow elements with uninitialised bytes in vectors.
        if cfg!(miri) { "portable" } else { draw.of(&here).name }
    });
    assert!(turntile_simd::force(name), "TURNTILE_KERNEL={name:?}: not here");
}

#[test]
fn drawn_requests_do_what_they_say_or_are_errors() {
    let (seed, draws) = (number("TURNTILE_SEED", 1), draws());
    let only = env::var("TURNTILE_KERNEL").ok();
    report_panics();
    let weights: usize = KINDS.iter().map(|(_, weight, _)| weight).sum();
    let mut seen: BTreeMap<String, u64> = BTreeMap::new();
    for number in draws.clone() {
        *AT.lock().unwrap_or_else(PoisonError::into_inner) = (seed, number, String::new());
        let mut draw = Draw::new(seed, number);
        force_kernel(&mut draw, only.as_deref());
        let mut at = draw.below(weights);
        let kind = KINDS.iter().find(|(_, weight, _)| {
            let here = at < *weight;
            at = at.saturating_sub(*weight);
            here
        });
        let (name, _, kind) = kind.expect("below the sum");
        about(name);
        let became = kind(&mut draw);
        *seen.entry(format!("{name}: {became}")).or_default() += 1;
    }
    let _ = panic::take_hook();
    seen.iter().for_each(|(what, count)| println!("{count:8} {what}"));
    // All kinds of draws, and the main outcomes, must occur.
    if draws.end - draws.start >= DRAWS && !cfg!(miri) {
        for what in
            ["request: ran", "request: refused", "planner: ran", "call: ran", "call: refused"]
        {
            assert!(seen.contains_key(what), "never {what}: {seen:?}");
        }
        for (name, ..) in KINDS {
            assert!(seen.keys().any(|what| what.starts_with(name)), "never {name}: {seen:?}");
        }
    }
}
