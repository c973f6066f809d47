//! Timing on a host's threads.

use std::time::{Duration, Instant};

use turntile::plan::{Device as _, Flaw, Geometry, Host, Method, Offer, Plan, StageShape};
use turntile::{Bytes, Options, Planned, RunError};
use turntile_cli::memory::{Memory, Pages};
use turntile_cli::speed::gb_per_s;
use turntile_cli::{copy, fill};
use turntile_cpu::way::HostWay;
use turntile_cuda::way::Way;
use turntile_plan::{Request, Want};

use super::failure::Failure;
use super::timing::{Speed, Timing, right};

/// Bytes that a timed piece of work moves at least: a clock and sleeping threads would make up most of less.
const LEAST_BYTES: usize = 8 << 20;

/// A plan on the host's threads, all of it or one of its stages, every element compared with `dest`;
/// copies before and after every run, since a host that others use is not the same from minute to minute.
pub fn plan(
    timing: Timing,
    plan: Plan,
    threads: usize,
    dest: impl Fn(usize) -> usize,
    only: Option<usize>,
) -> Result<Speed, Failure> {
    let (problem, room) = (plan.problem, plan.room_bytes());
    let planned = Planned::new(plan, threads)?;
    let mut workspace = planned.workspace()?;
    let mut own = memory(room)?;
    let data = &mut own.bytes()[..room];
    let elem_bytes = problem.elem_bytes();
    for (k, element) in data[..problem.bytes()].chunks_exact_mut(elem_bytes).enumerate() {
        fill(k, element);
    }
    planned.run_with(&mut Bytes(&mut *data), Options::new().workspace(&mut workspace))?;
    let mut want = vec![0; elem_bytes];
    let mut wrong = 0;
    for k in 0..problem.len() {
        fill(k, &mut want);
        wrong += u64::from(data[dest(k) * elem_bytes..][..elem_bytes] != want);
    }
    right(planned.plan(), wrong)?;
    let mut other = memory(problem.bytes())?;
    // Each run starts from what the last one left: other elements, as many, as far apart.
    between_copies(timing, data, other.bytes(), problem.bytes(), threads, |data, _| {
        let start = Instant::now();
        let mut ends = vec![Duration::ZERO];
        let mut ended = |_| ends.push(start.elapsed());
        let options = Options::new().workspace(&mut workspace).progress(&mut ended);
        planned.run_with(&mut Bytes(&mut *data), options)?;
        Ok(match only {
            Some(stage) => ends[stage + 1] - ends[stage],
            None => start.elapsed(),
        })
    })
}

/// A transposition of f32 from one place to another, every element compared; `run` is given destination and source.
pub fn into(
    timing: Timing,
    rows: usize,
    cols: usize,
    mut run: impl FnMut(&mut [f32], &[f32]) -> Result<(), Failure>,
) -> Result<Speed, Failure> {
    let bytes = rows * cols * 4;
    let (mut from, mut to) = (memory(bytes)?, memory(bytes)?);
    let (from, to) = (&mut from.bytes()[..bytes], &mut to.bytes()[..bytes]);
    from.chunks_exact_mut(4).enumerate().for_each(|(k, element)| fill(k, element));
    let mut turn = |from: &mut [u8], to: &mut [u8]| -> Result<Duration, Failure> {
        let start = Instant::now();
        run(bytemuck::cast_slice_mut(to), bytemuck::cast_slice(from))?;
        Ok(start.elapsed())
    };
    turn(from, to)?;
    let wrong = (0..rows * cols).filter(|k| {
        let at = k % cols * rows + k / cols;
        from[k * 4..][..4] != to[at * 4..][..4]
    });
    right(&format!("{rows}x{cols} out of place"), wrong.count() as u64)?;
    between_copies(timing, from, to, bytes, 1, turn)
}

/// The speed of work on two pieces of memory, and of copies of the first to the second before and after it.
fn between_copies(
    timing: Timing,
    data: &mut [u8],
    other: &mut [u8],
    bytes: usize,
    threads: usize,
    mut work: impl FnMut(&mut [u8], &mut [u8]) -> Result<Duration, Failure>,
) -> Result<Speed, Failure> {
    let times = if timing.quick { 1 } else { LEAST_BYTES.div_ceil(bytes.max(1)).min(256) };
    let mut copies = Vec::new();
    let seconds = timing.median(|| {
        let mut took = Duration::ZERO;
        for side in 0..2 {
            let start = Instant::now();
            for _ in 0..times {
                copy(&data[..bytes], &mut other[..bytes], threads);
            }
            copies.push(start.elapsed() / times as u32);
            if side == 0 {
                for _ in 0..times {
                    took += work(data, other)?;
                }
            }
        }
        Ok(took / times as u32)
    })?;
    copies.drain(..2 * timing.runs().1);
    copies.sort_unstable();
    let copied = copies[copies.len() / 2].as_secs_f64().max(1e-9);
    let rate = |seconds| gb_per_s(bytes as f64, seconds);
    Ok(Speed { gb_per_s: rate(seconds), copy_gb_per_s: rate(copied) })
}

/// Touched memory, in huge pages where there are some.
pub fn memory(bytes: usize) -> Result<Memory, Failure> {
    Memory::touched(bytes, Pages::Huge).map_err(|error| Failure::Io(std::io::Error::other(error)))
}

/// A stage by itself, with as much workspace as it likes.
pub fn request(elem_bytes: usize) -> Request {
    let (alignment, cap) = (16, usize::MAX);
    Request { elem_bytes, alignment, out_of_place: false, cap, want: Want::Any }
}

/// What moves a stage by a method on so many threads: as the host would offer it or, where it would not, as it can.
pub fn offered(
    shape: StageShape,
    method: Method,
    elem_bytes: usize,
    threads: usize,
) -> Result<Offer, Failure> {
    let offers = Host::here(threads).offers(&shape, &request(elem_bytes)).unwrap_or_default();
    if let Some(offer) = offers.into_iter().find(|offer| offer.method == method) {
        return Ok(offer);
    }
    let way = HostWay::in_place_of(shape, elem_bytes, method, threads);
    let stage = format!("{shape} {method}");
    let way = way.ok_or(RunError::Plan(Flaw::Method { number: 1, stage }));
    let way = way.map_err(turntile::Error::from)?;
    let workspace_bytes = way.needs().bytes();
    Ok(Offer { method, geometry: Geometry::new(way), workspace_bytes, seconds: 1.0 })
}

/// A host's plan of one stage, over elements in a row.
pub fn alone(
    shape: StageShape,
    way: Way,
    elem_bytes: usize,
    threads: usize,
) -> Result<Plan, Failure> {
    let offer = offered(shape, way.method(), elem_bytes, threads)?;
    Ok(Plan::of_stage("host", shape, offer, elem_bytes)?)
}
