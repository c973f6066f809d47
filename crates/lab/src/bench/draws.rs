//! Problems drawn at random, the same for the same seed.

use anyhow::{Result, bail};
use turntile::plan::Problem;

use crate::shapes::Task;

/// Sides of a drawn matrix, short and long sides of a drawn skinny one.
const SIDES: (usize, usize) = (1000, 40_000);
const SHORT: (usize, usize) = (2, 64);
const LONG: (usize, usize) = (100_000, 10_000_000);
const WORDS: [usize; 5] = [1, 2, 4, 8, 16];
/// As many draws in a row may be too large.
const DRAWS: usize = 1_000_000;

/// Numbers from 0 to 1, the same for the same seed: Steele, Lea and Flood's SplitMix64.
pub fn random(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed;
    move || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) as f64 / 2f64.powi(64)
    }
}

/// `count` permutations of three to five axes of `most` bytes or up to four times less, the same for the same seed, none a
/// transposition of matrices. Extents are uniform in their logarithm, every third round to a multiple of 16.
pub fn draw_axes(count: usize, seed: u64, most: usize, words: &[usize]) -> Vec<Task> {
    let (mut random, words) = (random(seed), words_or_four(words));
    let mut tasks = Vec::new();
    while tasks.len() < count {
        let rank = 3 + tasks.len() % 3;
        let word = words[tasks.len() % words.len()];
        let share = (most as f64 / word as f64).powf(1.0 / rank as f64);
        let round = if tasks.len().is_multiple_of(3) { 16 } else { 1 };
        let extents: Vec<usize> = (0..rank)
            .map(|_| (share * 4f64.powf(2.0 * random() - 1.0)) as usize / round * round)
            .map(|extent| extent.max(round))
            .collect();
        let mut order: Vec<usize> = (0..rank).collect();
        for k in (1..rank).rev() {
            order.swap(k, (random() * (k + 1) as f64) as usize);
        }
        let Ok(problem) = Problem::permuted(&extents, &order, word) else { continue };
        let fits = (most / 4..=most).contains(&problem.bytes());
        if fits && problem.matrices().is_none() && problem.fused().order().len() > 2 {
            tasks.push(Task { class: "permuted", problem });
        }
    }
    tasks
}

/// Returns `count` arrays of axes 1,0,2 whose last axis is long, every second a batch of such arrays, of at most `most` bytes
/// and at least a quarter of that: 4 to 1200 runs, one length of a run to each remainder modulo 16.
pub fn draw_long_runs(count: usize, seed: u64, most: usize, words: &[usize]) -> Vec<Task> {
    let (mut random, words) = (random(seed), words_or_four(words));
    let mut tasks = Vec::new();
    while tasks.len() < count {
        let word = words[tasks.len() % words.len()];
        let bytes = (most as f64 / 4f64.powf(random())) as usize;
        let (rows, cols) = (log_uniform(&mut random, (2, 40)), log_uniform(&mut random, (2, 30)));
        let batch = if tasks.len() % 2 == 1 { log_uniform(&mut random, (2, 64)) } else { 1 };
        let run = bytes / (word * batch * rows * cols) / 16 * 16 + tasks.len() % 16;
        let extents = [batch, rows, cols, run];
        if let Some(problem) = permuted("long-runs", &extents, &[0, 2, 1, 3], word, most) {
            tasks.push(problem);
        }
    }
    tasks
}

/// Returns `count` batches of matrices that a GPU's chip holds one of (3.6 to 29 MB), every third of images
/// (N, C, H, W) to (N, H, W, C), of at most `most` bytes.
pub fn draw_batches(count: usize, seed: u64, most: usize, words: &[usize]) -> Vec<Task> {
    let (mut random, words) = (random(seed), words_or_four(words));
    let mut tasks = Vec::new();
    while tasks.len() < count {
        let word = words[tasks.len() % words.len()];
        let elements = log_uniform(&mut random, (3_600_000, 29_000_000)) / word;
        let rows = log_uniform(&mut random, (64, 8192)).min(elements / 64);
        let cols = elements / rows;
        let batch = most / (rows * cols * word);
        let side = cols.isqrt();
        let task = match tasks.len() % 3 {
            2 => permuted("batches", &[batch, rows, side, side], &[0, 2, 3, 1], word, most),
            _ => permuted("batches", &[batch, rows, cols], &[0, 2, 1], word, most),
        };
        tasks.extend(task);
    }
    tasks
}

fn words_or_four(words: &[usize]) -> &[usize] {
    if words.is_empty() { &[4] } else { words }
}

/// A number of the range, uniform in its logarithm.
fn log_uniform(random: &mut impl FnMut() -> f64, (least, most): (usize, usize)) -> usize {
    (least as f64 * (most as f64 / least as f64).powf(random())).round() as usize
}

/// The task, unless it is empty or larger than `most` bytes.
fn permuted(
    class: &'static str,
    extents: &[usize],
    axes: &[usize],
    word: usize,
    most: usize,
) -> Option<Task> {
    let problem = Problem::permuted(extents, axes, word).ok()?;
    (1..=most).contains(&problem.bytes()).then_some(Task { class, problem })
}

/// `count` problems of at most `most` bytes, the same for the same seed: every third skinny, in
/// either direction; sides uniform in their logarithm, words uniform. Refused where next to none drawn
/// is as small.
pub fn draw(count: usize, seed: u64, most: usize) -> Result<Vec<Task>> {
    let mut random = random(seed);
    let mut tasks = Vec::new();
    let mut too_large = 0;
    while tasks.len() < count {
        let tall = random() < 0.5;
        let mut side = |range| log_uniform(&mut random, range);
        let (class, rows, cols) = if tasks.len() % 3 == 2 {
            let (short, long) = (side(SHORT), side(LONG));
            if tall { ("skinny", long, short) } else { ("skinny", short, long) }
        } else {
            ("drawn", side(SIDES), side(SIDES))
        };
        let word = WORDS[(random() * WORDS.len() as f64) as usize % WORDS.len()];
        let problem = Problem::new(rows, cols, word).expect("a few gigabytes");
        if problem.bytes() <= most {
            tasks.push(Task { class, problem });
            too_large = 0;
        } else if too_large == DRAWS {
            bail!("none of {DRAWS} problems drawn is of {most} bytes at most; raise --draw-most");
        } else {
            too_large += 1;
        }
    }
    Ok(tasks)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn drawn_permutations_move_apart() {
        let drawn = draw_axes(60, 7, 100 << 20, &[4, 2]);
        assert_eq!(drawn, draw_axes(60, 7, 100 << 20, &[4, 2]));
        assert_eq!(drawn.len(), 60);
        for Task { problem, .. } in &drawn {
            assert!((25 << 20..=100 << 20).contains(&problem.bytes()), "{problem}");
            assert!(problem.matrices().is_none(), "{problem}");
        }
    }

    #[test]
    fn drawn_classes_are_what_they_are_called() {
        let (words, most) = ([1, 2, 4, 8, 12], 1 << 30);
        let runs = draw_long_runs(20, 7, most, &words);
        assert_eq!(runs, draw_long_runs(20, 7, most, &words));
        let remainders: BTreeSet<usize> =
            runs.iter().map(|t| t.problem.extents().last().unwrap() % 16).collect();
        assert_eq!(remainders.len(), 16);
        for Task { problem, .. } in &runs {
            assert!((most / 8..=most).contains(&problem.bytes()), "{problem}");
        }
        for Task { problem, .. } in &draw_batches(20, 7, most, &words) {
            let one = problem.bytes() / problem.extents()[0];
            assert!((3_000_000..=29_000_012).contains(&one), "{problem}");
        }
    }

    #[test]
    fn draws_repeat_and_keep_to_their_ranges() {
        let most = 1 << 33;
        let drawn = draw(300, 7, most).unwrap();
        assert_eq!(drawn, draw(300, 7, most).unwrap());
        assert_ne!(drawn, draw(300, 8, most).unwrap());
        for Task { class, problem } in &drawn {
            let (short, long) =
                (problem.rows().min(problem.cols()), problem.rows().max(problem.cols()));
            let within = |side, (least, most)| (least..=most).contains(&side);
            match *class {
                "skinny" => assert!(within(short, SHORT) && within(long, LONG), "{problem}"),
                _ => assert!(within(short, SIDES) && within(long, SIDES), "{problem}"),
            }
            assert!(problem.bytes() <= most && WORDS.contains(&problem.itemsize()), "{problem}");
        }
        let directions = drawn.iter().filter(|t| t.class == "skinny" && t.problem.rows() > 64);
        assert!((20..80).contains(&directions.count()));
        for most in [0, 1, 199_999] {
            let error = draw(3, 7, most).unwrap_err().to_string();
            assert!(error.contains(&format!("is of {most} bytes at most")), "{error}");
        }
        assert_eq!(draw(30, 7, 2 << 20).unwrap().len(), 30);
    }
}
