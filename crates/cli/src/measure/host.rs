//! On CPU threads.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use turntile::plan::Problem;
use turntile::{Bytes, Options, Planned, Transpose, Workspace};

use turntile_plan::tuner::median;

use super::figures::{Figures, How, planning};
use crate::memory::Memory;

/// Runs of each, unless otherwise asked.
const RUNS: usize = 7;

/// Bytes that caches of one core or of several may hold.
const CACHED: usize = 32 << 20;

/// Verifies and times a transposition.
pub fn measure(transpose: &Transpose, problem: &Problem, how: How) -> Result<Figures> {
    let threads = how.threads();
    let planned = transpose.plan()?;
    let planning = planning(|| transpose.plan())?;
    let mut matrix = Memory::touched(problem.bytes(), how.pages)?;
    let mut other = Memory::touched(problem.bytes(), how.pages)?;
    let mut workspace = planned.workspace()?;
    verify((&planned, problem), matrix.bytes(), other.bytes(), &mut workspace)?;

    let (mut copies, mut turns) = (Vec::new(), Vec::new());
    // What fits in caches may lie in those of another core: the first of two runs fetches it.
    let times = if problem.bytes() <= CACHED { 2 } else { 1 };
    for _ in 0..how.runs.map_or(RUNS, usize::from) {
        let mut took = Duration::ZERO;
        for _ in 0..times {
            let start = Instant::now();
            copy(&matrix.bytes()[..problem.bytes()], other.bytes(), threads);
            took = start.elapsed();
        }
        copies.push(took);
        for _ in 0..times {
            let start = Instant::now();
            turn(&planned, matrix.bytes(), other.bytes(), &mut workspace)?;
            took = start.elapsed();
        }
        turns.push(took);
    }
    Ok(Figures {
        workspace_bytes: planned.workspace_bytes(),
        seconds: median(&turns).as_secs_f64(),
        copy_seconds_per_byte: median(&copies).as_secs_f64() / problem.bytes() as f64,
        planning,
        queueing: None,
        plan: planned.plan().clone(),
    })
}

/// Runs a plan on `data`, in place or into `other`.
fn turn(
    planned: &Planned,
    data: &mut [u8],
    other: &mut [u8],
    workspace: &mut Workspace,
) -> Result<()> {
    Ok(if planned.plan().problem.is_out_of_place() {
        planned.run_into(&Bytes(data), &mut Bytes(other))
    } else {
        planned.run_with(&mut Bytes(data), Options::new().workspace(workspace))
    }?)
}

/// Transposes numbered elements and compares every one.
fn verify(
    (planned, problem): (&Planned, &Problem),
    data: &mut [u8],
    other: &mut [u8],
    workspace: &mut Workspace,
) -> Result<()> {
    let elem_bytes = problem.elem_bytes();
    let bytes = problem.bytes();
    for (number, element) in data[..bytes].chunks_exact_mut(elem_bytes).enumerate() {
        fill(number, element);
    }
    turn(planned, data, other, workspace)?;
    let turned = if problem.is_out_of_place() { &*other } else { &*data };
    // The inverse moves an element of the result to its source: along the last axis by the same distance each.
    let order: Vec<usize> = problem.order().collect();
    let extents: Vec<usize> = order.iter().map(|&axis| problem.extents()[axis]).collect();
    let mut inverse = vec![0; order.len()];
    order.iter().enumerate().for_each(|(to, &from)| inverse[from] = to);
    let back = Problem::permuted(&extents, &inverse, elem_bytes)?;
    let row = extents.last().copied().unwrap_or(1).max(1);
    let distance = if row > 1 { back.dest(1) } else { 0 };
    let mut want = vec![0; elem_bytes];
    for (number, elements) in turned[..bytes].chunks_exact(row * elem_bytes).enumerate() {
        let first = back.dest(number * row);
        for (k, element) in elements.chunks_exact(elem_bytes).enumerate() {
            fill(first + k * distance, &mut want);
            ensure!(
                element == want,
                "{problem}: element {} of the result is wrong",
                number * row + k
            );
        }
    }
    Ok(())
}

/// Fills an element with its number, or as much of it as fits.
pub fn fill(number: usize, element: &mut [u8]) {
    // Multiplied by an odd number whose upper bits depend on all lower ones.
    let bytes = (number as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes();
    for part in element.chunks_mut(bytes.len()) {
        part.copy_from_slice(&bytes[..part.len()]);
    }
}

/// Bytes that a thread copies at least: to wake another for less takes longer than to copy them.
const LEAST_SHARE: usize = 256 << 10;

/// A plain copy, shared out over `threads` threads.
pub fn copy(from: &[u8], to: &mut [u8], threads: usize) {
    let share = from.len().div_ceil(threads).max(LEAST_SHARE);
    if share >= from.len() {
        return to.copy_from_slice(from);
    }
    let shares = from.chunks(share).zip(to.chunks_mut(share));
    turntile::threads::each(shares, |(from, to)| to.copy_from_slice(from));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_element_is_verified() {
        let transpose = Transpose::of_axes_bytes(&[3, 4, 2, 5], &[2, 0, 3, 1], 4);
        let right = transpose.plan().unwrap();
        let of_another = Transpose::of_axes_bytes(&[3, 4, 2, 5], &[2, 0, 1, 3], 4).plan().unwrap();
        let check = |planned: &Planned, problem: &Problem| {
            let (mut data, mut other) = (vec![0; 480], vec![0; 480]);
            verify((planned, problem), &mut data, &mut other, &mut planned.workspace().unwrap())
        };
        let problem = transpose.problem().unwrap();
        check(&right, &problem).unwrap();
        let error = check(&of_another, &problem).unwrap_err().to_string();
        assert!(error.contains("element 1 of the result is wrong"), "{error}");
    }
}
