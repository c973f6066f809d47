//! What is measured: classes of shapes, shapes that are named, and shapes drawn at random.

use turntile::plan::{Problem, ProblemError};

use crate::error::Error;

/// Shapes of a kind.
pub struct Class {
    /// As `--shapes` takes it.
    pub name: &'static str,
    /// Bytes of an element, unless others are asked for.
    words: &'static [usize],
    /// Matrices, rows, columns.
    shapes: &'static [(usize, usize, usize)],
}

/// The shapes that `docs/cpu.md` reports: every class of them.
pub const HOST: [Class; 1] = [Class {
    name: "host",
    words: &[4],
    shapes: &[
        (1, 7200, 1800),
        (1, 5100, 2500),
        (1, 4000, 3200),
        (1, 3300, 3900),
        (1, 2500, 5100),
        (1, 1800, 7200),
        (1, 20_000, 12_000),
        (1, 4096, 8192),
        (1, 16_384, 4096),
        (1, 4093, 8191),
        (1, 7919, 3001),
        (1, 10_007, 9973),
        (1, 4096, 4096),
        (1, 8192, 8192),
        (1, 10_000, 10_000),
        (1, 4_000_000, 3),
        (1, 3, 4_000_000),
        (1, 1_000_000, 8),
        (1, 8, 1_000_000),
        (1, 500_000, 19),
        (1, 19, 500_000),
        (1, 250_000, 40),
        (1, 40, 250_000),
    ],
}];

/// The shapes that `docs/gpu-results.md` reports, class by class.
pub const GPU: [Class; 7] = [
    Class {
        name: "thesis",
        words: &[4],
        shapes: &[
            (1, 7200, 1800),
            (1, 5100, 2500),
            (1, 4000, 3200),
            (1, 3300, 3900),
            (1, 2500, 5100),
            (1, 1800, 7200),
            (1, 3001, 3989),
            (1, 2503, 4999),
        ],
    },
    Class {
        name: "large",
        words: &[4, 8, 2, 16, 1],
        shapes: &[
            (1, 19_968, 12_032),
            (1, 16_384, 8192),
            (1, 32_768, 24_576),
            (1, 65_536, 4096),
            (1, 20_000, 12_000),
        ],
    },
    Class {
        name: "primes",
        words: &[4],
        shapes: &[
            (1, 16_381, 20_011),
            (1, 20_011, 16_381),
            (1, 40_009, 10_007),
            (1, 7919, 3001),
            (1, 30_011, 30_000),
        ],
    },
    Class {
        name: "skinny",
        words: &[4],
        shapes: &[
            (1, 10_000_000, 3),
            (1, 10_000_000, 4),
            (1, 10_000_000, 8),
            (1, 10_000_000, 19),
            (1, 10_000_000, 32),
            (1, 4_000_000, 64),
            (1, 3, 10_000_000),
            (1, 4, 10_000_000),
            (1, 8, 10_000_000),
            (1, 19, 10_000_000),
            (1, 32, 10_000_000),
            (1, 64, 4_000_000),
            (1, 9_999_991, 7),
        ],
    },
    Class {
        name: "square",
        words: &[4],
        shapes: &[(1, 4096, 4096), (1, 16_384, 16_384), (1, 32_768, 32_768)],
    },
    // Weights of two bytes; many small matrices.
    Class { name: "batch", words: &[2], shapes: &[(256, 2048, 1408), (64, 7168, 2048)] },
    Class {
        name: "small-batch",
        words: &[4],
        shapes: &[(100_000, 64, 48), (1_000_000, 16, 16), (200_000, 32, 32)],
    },
];

/// More, to be asked for by name: what a start costs; more than half of a GPU's memory.
const BY_NAME: [Class; 2] = [
    Class { name: "tiny", words: &[4], shapes: &[(1, 2, 3), (1, 64, 48), (1, 1000, 700)] },
    Class {
        name: "huge",
        words: &[4],
        shapes: &[
            (1, 160_000, 160_000),
            (1, 199_680, 125_056),
            (1, 200_000, 125_000),
            (1, 158_003, 158_017),
        ],
    },
];

/// What `--shapes` takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shapes {
    /// One matrix.
    Matrix(usize, usize),
    /// A class of that name.
    Class(String),
}

/// A problem and the class that it is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task {
    pub class: &'static str,
    pub problem: Problem,
}

/// Names of all classes.
pub fn names() -> impl Iterator<Item = &'static str> {
    classes().map(|class| class.name)
}

fn classes() -> impl Iterator<Item = &'static Class> {
    HOST.iter().chain(&GPU).chain(&BY_NAME)
}

/// The tasks of `classes`, with other words or more matrices if those are asked for.
fn of_class(class: &Class, words: &[usize], batch: usize) -> Result<Vec<Task>, ProblemError> {
    let words = if words.is_empty() { class.words } else { words };
    let mut tasks = Vec::new();
    for &word in words {
        for &(matrices, rows, cols) in class.shapes {
            let problem = Problem::with_batch(matrices.saturating_mul(batch), rows, cols, word)?;
            tasks.push(Task { class: class.name, problem });
        }
    }
    Ok(tasks)
}

/// What was asked for, in that order; `every` where nothing was.
pub fn tasks(
    asked: &[Shapes],
    every: &[Class],
    words: &[usize],
    batch: usize,
) -> Result<Vec<Task>, ProblemError> {
    let mut tasks = Vec::new();
    if asked.is_empty() {
        for class in every {
            tasks.extend(of_class(class, words, batch)?);
        }
    }
    for shapes in asked {
        match shapes {
            Shapes::Class(name) => {
                let class = classes().find(|class| class.name == name);
                tasks.extend(of_class(class.expect("parsed"), words, batch)?);
            }
            &Shapes::Matrix(rows, cols) => {
                for &word in if words.is_empty() { &[4][..] } else { words } {
                    let problem = Problem::with_batch(batch, rows, cols, word)?;
                    tasks.push(Task { class: "asked", problem });
                }
            }
        }
    }
    Ok(tasks)
}

/// Sides of a drawn matrix, short and long sides of a drawn skinny one.
const SIDES: (usize, usize) = (1000, 40_000);
const SHORT: (usize, usize) = (2, 64);
const LONG: (usize, usize) = (100_000, 10_000_000);
const WORDS: [usize; 5] = [1, 2, 4, 8, 16];
/// As many draws in a row may be too large.
const DRAWS: usize = 1_000_000;

/// `count` problems of at most `most` bytes, the same for the same seed: every third skinny, in
/// either direction; sides uniform in their logarithm, words uniform. Refused where next to none drawn
/// is as small.
pub fn draw(count: usize, seed: u64, most: usize) -> Result<Vec<Task>, Error> {
    let mut state = seed;
    // Steele, Lea and Flood's SplitMix64.
    let mut random = || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) as f64 / 2f64.powi(64)
    };
    let mut tasks = Vec::new();
    let mut too_large = 0;
    while tasks.len() < count {
        let tall = random() < 0.5;
        let mut side = |(least, most): (usize, usize)| {
            (least as f64 * (most as f64 / least as f64).powf(random())).round() as usize
        };
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
            return Err(Error::DrawMost { most, draws: DRAWS });
        } else {
            too_large += 1;
        }
    }
    Ok(tasks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_have_names_of_their_own_and_problems() {
        let mut all: Vec<_> = names().collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
        for class in classes() {
            let tasks = of_class(class, &[], 1).unwrap();
            assert_eq!(tasks.len(), class.words.len() * class.shapes.len(), "{}", class.name);
        }
    }

    #[test]
    fn what_is_asked_for_is_what_is_measured() {
        let asked = [Shapes::Class("batch".into()), Shapes::Matrix(3, 5)];
        let tasks = tasks(&asked, &GPU, &[8, 1], 2).unwrap();
        let problems: Vec<_> = tasks.iter().map(|task| task.problem).collect();
        let of = |batch, rows, cols, word| Problem::with_batch(batch, rows, cols, word).unwrap();
        let want = [
            of(512, 2048, 1408, 8),
            of(128, 7168, 2048, 8),
            of(512, 2048, 1408, 1),
            of(128, 7168, 2048, 1),
            of(2, 3, 5, 8),
            of(2, 3, 5, 1),
        ];
        assert_eq!(problems, want);
        let most = super::tasks(&asked[..1], &GPU, &[], usize::MAX);
        assert!(matches!(most, Err(ProblemError::TooLarge { .. })), "{most:?}");
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
            assert!(problem.bytes() <= most && WORDS.contains(&problem.elem_bytes()), "{problem}");
        }
        let directions = drawn.iter().filter(|t| t.class == "skinny" && t.problem.rows() > 64);
        assert!((20..80).contains(&directions.count()));
        for most in [0, 1, 199_999] {
            assert!(matches!(draw(3, 7, most), Err(Error::DrawMost { .. })), "{most}");
        }
        assert_eq!(draw(30, 7, 2 << 20).unwrap().len(), 30);
    }
}
