//! Checks every kernel against the index maps, element by element, on a GPU.
//!
//! `gpu_conformance [SIDE] [small | padding | cut | cut_full | plans | full | cubes | huge | errors |
//! graph | into | into_full | axes | flips | bits | into_axes | records | leading | leading_full | sound |
//! parts | racecheck | racecheck_axes | racecheck_leading]...` runs these sections, by default all.
//! `axes 5`, `flips 5`, `into_axes 5` and `records 5` run kernels that fill the chip, and the
//! planner's choices, five times.
//!
//! `racecheck` runs within minutes under tools that slow execution:
//! `compute-sanitizer --tool racecheck gpu_conformance racecheck` (or its part `racecheck_axes`), and
//! likewise with `memcheck` and `synccheck`.
#![allow(unsafe_code, missing_docs)]

mod axes;
mod bits;
mod cases;
#[path = "../common/mod.rs"]
mod common;
mod cut;
mod errors;
mod flips;
mod into_axes;
mod large;
mod leading;
mod out_of_place;
mod padding;
mod panels;
mod parts;
mod racecheck;
mod records;
mod sound;

use common::Bench;

/// Function that runs a section's cases and returns the number of failures.
type Section<'a> = &'a dyn Fn(&mut Bench) -> usize;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments == [sound::FAULT] {
        std::process::exit(sound::fault());
    }
    let asked = |name: &str| arguments.is_empty() || arguments.iter().any(|a| a == name);
    let side = arguments.iter().find_map(|a| a.parse().ok()).unwrap_or(36);
    let times = arguments.iter().find_map(|a| a.parse().ok()).unwrap_or(3);
    let mut bench = Bench::new();
    println!("device {}", turntile_plan::Device::name(bench.gpu.device()));
    let mut failures = 0;
    let sections: [(&str, Section); 25] = [
        ("small", &|bench| cases::small(bench, side)),
        ("padding", &|bench| padding::padding(bench, side)),
        ("cut", &|bench| cut::small(bench, side)),
        ("cut_full", &cut::full_chip),
        ("plans", &large::plans),
        ("full", &large::full_chip),
        ("cubes", &large::cubes),
        ("huge", &large::huge),
        ("errors", &errors::errors),
        ("graph", &errors::graph),
        ("into", &|bench| out_of_place::small(bench, side)),
        ("into_full", &out_of_place::full_chip),
        ("axes", &|bench| axes::axes(bench, times)),
        ("flips", &|bench| flips::flips(bench, times)),
        ("bits", &|bench| bits::bits(bench, side)),
        ("into_axes", &|bench| into_axes::into_axes(bench, times)),
        ("records", &|bench| records::records(bench, times)),
        ("leading", &|bench| leading::small(bench, side)),
        ("leading_full", &leading::full_chip),
        ("sound", &sound::sound),
        ("parts", &parts::parts),
        ("panels", &panels::panels),
        ("racecheck", &racecheck::racecheck),
        ("racecheck_axes", &racecheck::of_axes),
        ("racecheck_leading", &|bench| leading::few(bench, &mut Vec::new())),
    ];
    for (name, section) in sections {
        if asked(name) {
            let start = std::time::Instant::now();
            let failed = section(&mut bench);
            println!("{name}: {failed} failures, {:.1} s", start.elapsed().as_secs_f64());
            failures += failed;
        }
    }
    println!("{}", if failures == 0 { "all right" } else { "FAILED" });
    std::process::exit(i32::from(failures > 0));
}
