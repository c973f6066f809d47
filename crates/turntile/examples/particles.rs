//! A step of particles that lie as an array of structures, in tiles and as a structure of arrays, and after how many steps
//! bringing them from one to the other pays.
//!
//!     cargo run --release -p turntile --example particles [particles]
//!
//! A particle has eight floats: place, velocity, mass, charge. A step moves every place by its velocity and reads neither mass
//! nor charge, which an array of structures brings into the caches all the same.

use std::time::{Duration, Instant};

use turntile::Error;
use turntile::layout::{Layout, Relayout};

/// Floats of a particle, and the first of its place and of its velocity.
const FLOATS: usize = 8;
const PLACE: usize = 0;
const VELOCITY: usize = 3;
/// Particles of a tile: a float of each is four lines.
const TILE: usize = 64;
const SECONDS: f32 = 1e-3;
const REPEATS: usize = 9;

fn step_aos(particles: &mut [f32]) {
    for particle in particles.chunks_exact_mut(FLOATS) {
        for axis in 0..3 {
            particle[PLACE + axis] += SECONDS * particle[VELOCITY + axis];
        }
    }
}

/// Of particles that lie field after field.
fn step_columns(particles: &mut [f32]) {
    let n = particles.len() / FLOATS;
    let (places, velocities) = particles.split_at_mut(VELOCITY * n);
    for (place, velocity) in places[..3 * n].iter_mut().zip(&velocities[..3 * n]) {
        *place += SECONDS * velocity;
    }
}

fn step_asta(particles: &mut [f32]) {
    // The last tile may be shorter; it is field after field too.
    particles.chunks_mut(TILE * FLOATS).for_each(step_columns);
}

fn median(mut run: impl FnMut()) -> Duration {
    let mut times: Vec<Duration> = (0..REPEATS)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed()
        })
        .collect();
    times.sort_unstable();
    times[REPEATS / 2]
}

fn main() -> Result<(), Error> {
    let n = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(1_000_003);
    let start: Vec<f32> = (0..n * FLOATS).map(|k| (k % 251) as f32).collect();
    let convert = |from, to| Relayout::new(n, &[4; FLOATS]).from(from).to(to).plan();

    let mut wanted = start.clone();
    step_aos(&mut wanted);
    let mut particles = start.clone();
    let aos = median(|| step_aos(&mut particles));
    println!("{n} particles of {FLOATS} floats, a step as aos: {aos:.1?}");

    for (layout, step) in
        [(Layout::Asta(TILE), step_asta as fn(&mut [f32])), (Layout::Soa, step_columns)]
    {
        let (there, back) = (convert(Layout::Aos, layout)?, convert(layout, Layout::Aos)?);
        let mut particles = start.clone();
        there.run(&mut particles)?;
        step(&mut particles);
        back.run(&mut particles)?;
        assert!(particles == wanted, "{layout} ends elsewhere than aos");

        // Both ways, as a program that others hand an array of structures needs them.
        let converting = median(|| {
            there.run(&mut particles).expect("it ran before");
            back.run(&mut particles).expect("it ran before");
        });
        there.run(&mut particles)?;
        let each = median(|| step(&mut particles));
        let pays = match aos.checked_sub(each).filter(|saved| !saved.is_zero()) {
            Some(saved) => {
                let steps = (converting.as_secs_f64() / saved.as_secs_f64()).ceil();
                format!("converting pays after {steps} steps")
            }
            None => "converting does not pay".to_owned(),
        };
        println!("a step as {layout}: {each:.1?}, there and back {converting:.1?}: {pays}");
    }
    Ok(())
}
