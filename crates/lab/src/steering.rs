//! `turntile-lab steering`: does a pitch of a power of two hurt here? The pointer chase of the thesis's section 6.1, on a host
//! and on a GPU, with controls.
//!
//! Rows lie a pitch apart. A walk goes down a column of them, a line of each, then down the next one. `cached` goes over
//! the same few places again and again, `memory` over four times as many lines as the last cache holds; on a host places
//! are chased in a shuffled order, and `stream` reads the same lines down the columns, each without waiting for the one
//! before. On a GPU every block chases on its own: `cached` is the thesis's `A[i] = i`.

mod gpu;
mod walk;

use std::fmt::Write as _;
use std::hint::black_box;
use std::ops::Range;
use std::time::Instant;

use anyhow::{Result, bail, ensure};
use turntile::plan::CpuDevice;
use turntile_cli::device::BenchDevice;
use turntile_cli::error::On as _;
use turntile_cli::memory::AnonymousMap;

use crate::command::SteeringArgs;

pub use gpu::Field;
pub(crate) use walk::middle;
use walk::{BenchMemory, Row, Walk, walks};

/// Caches that there is a walk for.
const CACHE_LEAST: usize = 64 << 10;
const CACHE_MOST: usize = 512 << 20;

/// Measures every pitch, and writes a table.
///
/// # Errors
/// A device that is not there, memory that there is not, a file that cannot be written.
pub fn run(args: &SteeringArgs) -> Result<String> {
    let doubled = (8..=21).map(|bits| 1usize << bits);
    let all: Vec<usize> = doubled.flat_map(|pitch| [pitch, pitch / 2 * 3]).collect();
    let pitches = if args.pitches.is_empty() { &all } else { &args.pitches };
    for &pitch in pitches {
        ensure!(
            (256..=1 << 30).contains(&pitch) && pitch.is_multiple_of(64),
            "a pitch of {pitch}: 256 to 2^30, of whole lines of 64"
        );
    }
    // Places are counted by 32 bits, and a page has room.
    let cache = |usual| match args.cache.unwrap_or(usual) {
        cache @ CACHE_LEAST..=CACHE_MOST => Ok(cache),
        cache => bail!("a cache of {cache}: {CACHE_LEAST} to {CACHE_MOST} bytes"),
    };
    let (device, ground, rows) = match BenchDevice::find(&args.device, None)? {
        BenchDevice::Cpu => {
            let cache = cache(32 << 20)?;
            let ground = BenchMemory { line: 64, span: 32 * cache, cache };
            (CpuDevice::here(1).processor().to_owned(), ground, on_host(args, ground, pitches)?)
        }
        BenchDevice::Gpu(gpu) => gpu::rows(args, &gpu, cache(50 << 20)?, pitches)?,
    };
    let mut csv = String::from("device,form,places,pitch,walk,seed,ns,million_per_s,gb_per_s\n");
    for Row { form, places, pitch, walk, seed, ns } in &rows {
        let (million, rate) = (1e3 / ns, ground.line as f64 / ns);
        // Writing to a string cannot fail.
        let _ = writeln!(
            csv,
            "{device},{form},{places},{pitch},{},{seed},{ns:.3},{million:.2},{rate:.2}",
            walk.name()
        );
    }
    std::fs::write(&args.file, csv).on("write", &args.file)?;
    Ok(told(&rows, pitches))
}

fn on_host(args: &SteeringArgs, ground: BenchMemory, pitches: &[usize]) -> Result<Vec<Row>> {
    // Places of a column that the first and the second level have room for, and that none has.
    let forms = [
        ("cached", 256),
        ("cached", 4096),
        ("memory", ground.beyond()),
        ("stream", ground.beyond()),
    ];
    let mut memory = AnonymousMap::touched(ground.span, args.pages)?;
    let words: &mut [u32] = bytemuck::cast_slice_mut(memory.bytes());
    let mut rows = Vec::new();
    for &pitch in pitches {
        for (form, count) in forms {
            for (walk, seed) in walks(args.seeds.get()) {
                let places = ground.places(walk, pitch, count, form != "stream", seed);
                let ns = if form == "stream" {
                    median(args.runs.get(), count, |slice| streamed(words, &places[slice]))
                } else {
                    link(words, &places, 1);
                    let mut at = places[0];
                    median(args.runs.get(), count.max(1 << 18), |slice| {
                        at = chased(words, at, slice.len());
                        at
                    })
                };
                rows.push(Row { form, places: count, pitch, walk, seed, ns });
            }
        }
    }
    Ok(rows)
}

/// Accesses that are timed at a time: about a millisecond, so that few are interrupted.
const SLICE: usize = 1 << 13;

/// The median slice of some runs after one that is not counted, in nanoseconds of one of `steps`.
fn median(runs: usize, steps: usize, mut run: impl FnMut(Range<usize>) -> u32) -> f64 {
    let mut times = Vec::new();
    for (run_number, first) in
        (0..=runs).flat_map(|n| (0..steps).step_by(SLICE).map(move |at| (n, at)))
    {
        let slice = first..steps.min(first + SLICE);
        let (length, start) = (slice.len(), Instant::now());
        black_box(run(slice));
        if run_number > 0 {
            times.push(start.elapsed().as_secs_f64() * 1e9 / length as f64);
        }
    }
    middle(&mut times)
}

/// Each place says which is `ahead` places further on.
fn link(words: &mut [u32], places: &[u32], ahead: usize) {
    for (k, &at) in places.iter().enumerate() {
        words[at as usize] = places[(k + ahead) % places.len()];
    }
}

fn chased(words: &[u32], from: u32, steps: usize) -> u32 {
    (0..steps).fold(from, |at, _| words[at as usize])
}

/// The sum of all words of a line at each place.
fn streamed(words: &[u32], places: &[u32]) -> u32 {
    let line = |&at: &u32| {
        words[at as usize..][..16].iter().fold(0u32, |sum, &word| sum.wrapping_add(word))
    };
    places.iter().map(line).fold(0, u32::wrapping_add)
}

/// What three times say, in nanoseconds: of a pitch, of a line more, of the same pages. Less than a third is noise.
fn verdict([pitch, plus_line, same_pages]: [f64; 3]) -> &'static str {
    const NOISE: f64 = 4.0 / 3.0;
    if pitch <= NOISE * plus_line.min(same_pages) {
        "no harm"
    } else if plus_line <= NOISE * same_pages {
        "hurts; a line more mends it"
    } else if plus_line * NOISE < pitch {
        "hurts; a line more mends a part"
    } else {
        "hurts; a line more does not mend it"
    }
}

/// A line for each form and pitch, medians over seeds.
fn told(rows: &[Row], pitches: &[usize]) -> String {
    let mut text = String::new();
    let mut forms: Vec<(&str, usize)> = rows.iter().map(|row| (row.form, row.places)).collect();
    forms.dedup();
    forms.sort_unstable();
    forms.dedup();
    for (form, places) in forms {
        for &pitch in pitches {
            let of = |walk| {
                let alike = |row: &&Row| {
                    (row.form, row.places, row.pitch, row.walk) == (form, places, pitch, walk)
                };
                middle(&mut rows.iter().filter(alike).map(|row| row.ns).collect::<Vec<_>>())
            };
            let times = Walk::ALL.map(of);
            let [a, b, c] = times;
            let _ = writeln!(
                text,
                "{form:7} {places:8} places, pitch {pitch:8}: {a:8.2} ns, a line more {b:8.2}, same pages {c:8.2}: {}",
                verdict(times)
            );
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::walk::WORD;
    use super::*;

    const GROUND: BenchMemory = BenchMemory { line: 64, span: 1 << 20, cache: 1 << 15 };

    #[test]
    fn a_chase_meets_every_place() {
        let places = GROUND.places(Walk::Pitch, 4096, 100, true, 3);
        let mut words = vec![u32::MAX; GROUND.span / WORD];
        link(&mut words, &places, 1);
        let met: Vec<u32> = (0..100).map(|steps| chased(&words, places[0], steps)).collect();
        assert_eq!(met, places);
        assert_eq!(chased(&words, places[0], 100), places[0]);
        link(&mut words, &places, 0);
        assert_eq!(chased(&words, places[7], 5), places[7]);
        words[places[0] as usize + 15] = 1;
        words[places[0] as usize] = 4;
        words[places[0] as usize + 1..][..14].fill(0);
        assert_eq!(streamed(&words, &places[..1]), 5);
    }

    #[test]
    fn another_number_makes_another_verdict() {
        assert_eq!(verdict([12.0, 9.0, 9.5]), "no harm");
        assert_eq!(verdict([20.0, 9.0, 9.5]), "hurts; a line more mends it");
        assert_eq!(verdict([20.0, 14.0, 9.5]), "hurts; a line more mends a part");
        assert_eq!(verdict([20.0, 19.0, 9.5]), "hurts; a line more does not mend it");
    }
}
