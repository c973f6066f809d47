//! Measures a step of a particle simulation in AoS, ASTA and SoA, and reports after how many steps
//! the conversion pays.
//!
//!     cargo run --release -p turntile --example particles [particles]
//!
//! A step moves every position by its velocity. In AoS, mass and charge, which it does not use, are
//! also loaded into the caches.

use std::time::{Duration, Instant};

use turntile::Error;
use turntile::layout::{
    Aos, Asta, Record, RecordLayout, RecordTile, Records, RejectedRecords, Soa,
};

#[derive(Record, Clone, Copy, PartialEq)]
#[repr(C)]
struct Particle {
    position: [f32; 3],
    velocity: [f32; 3],
    mass: f32,
    charge: f32,
}

type Converted<L> = Result<Records<Particle, L>, RejectedRecords<Particle, Aos>>;

/// Number of particles per ASTA tile. One `f32` of each fills four cache lines of 64 bytes.
const TILE: usize = 64;
const SECONDS: f32 = 1e-3;
const REPEATS: usize = 9;

fn step_aos(particles: &mut Records<Particle, Aos>) {
    for Particle { position, velocity, .. } in particles.iter_mut() {
        for (position, velocity) in position.iter_mut().zip(velocity) {
            *position += SECONDS * *velocity;
        }
    }
}

fn step_tile(particles: &mut RecordTile<Particle>) {
    let (position, velocity) = particles.columns_mut((Particle::POSITION, Particle::VELOCITY));
    // Each particle has three consecutive floats in a column, its coordinates.
    for (position, velocity) in position.as_flattened_mut().iter_mut().zip(velocity.as_flattened())
    {
        *position += SECONDS * velocity;
    }
}

fn step_asta(particles: &mut Records<Particle, Asta<TILE>>) {
    particles.tiles_mut().for_each(step_tile);
}

fn step_soa(particles: &mut Records<Particle, Soa>) {
    // In SoA, all particles form one tile.
    step_tile(particles);
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

/// Measures steps in layout `L` and conversions to it, and checks one step against `wanted`.
fn compare<L: RecordLayout + Clone>(
    start: &[Particle],
    wanted: &[Particle],
    aos: Duration,
    into: fn(Records<Particle, Aos>) -> Converted<L>,
    step: fn(&mut Records<Particle, L>),
) -> Result<(), Error> {
    let mut particles = into(Records::from(start.to_vec()))?;
    step(&mut particles);
    let mut particles = Some(particles.into_aos()?);
    assert!(
        **particles.as_ref().expect("set above") == *wanted,
        "{} gives another result",
        L::LAYOUT
    );

    // Convert in both directions, as in a program whose interface is AoS.
    let converting = median(|| {
        let converted = into(particles.take().expect("set above")).expect("it succeeded before");
        particles = Some(converted.into_aos().expect("it succeeded before"));
    });
    let mut particles = into(particles.expect("set above"))?;
    let each = median(|| step(&mut particles));
    let pays = match aos.checked_sub(each).filter(|saved| !saved.is_zero()) {
        Some(saved) => {
            let steps = (converting.as_secs_f64() / saved.as_secs_f64()).ceil();
            format!("converting pays after {steps} steps")
        }
        None => "converting does not pay".to_owned(),
    };
    println!("a step as {}: {each:.1?}, conversion and back {converting:.1?}: {pays}", L::LAYOUT);
    Ok(())
}

fn main() -> Result<(), Error> {
    let n = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(1_000_003);
    let float = |k: usize| (k % 251) as f32;
    let three = |k| [float(k), float(k + 1), float(k + 2)];
    let particle = |i: usize| {
        let k = 8 * i;
        Particle {
            position: three(k),
            velocity: three(k + 3),
            mass: float(k + 6),
            charge: float(k + 7),
        }
    };
    let start: Vec<Particle> = (0..n).map(particle).collect();

    let mut particles = Records::from(start.clone());
    step_aos(&mut particles);
    let wanted: Vec<Particle> = particles.clone().into();
    let aos = median(|| step_aos(&mut particles));
    println!("{n} particles of {} bytes, a step as aos: {aos:.1?}", size_of::<Particle>());
    compare(&start, &wanted, aos, Records::into_asta::<TILE>, step_asta)?;
    compare(&start, &wanted, aos, Records::into_soa, step_soa)
}
