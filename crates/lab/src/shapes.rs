//! What is measured: classes of shapes, and shapes that are named.

use turntile::plan::{Problem, ProblemError};

use turntile_cli::bench::{Shape, shape};

/// Shapes of a kind.
pub struct Class {
    /// As `--shapes` takes it.
    pub name: &'static str,
    /// Bytes of an element, unless others are asked for.
    words: &'static [usize],
    /// Matrices, rows, columns.
    shapes: &'static [(usize, usize, usize)],
}

/// The shapes that `docs/results.md` reports of hosts: every class of them.
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

/// The shapes that `docs/results.md` reports of GPUs, class by class.
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

/// A permutation of axes that is measured: extents, order, bytes of an element.
type Array = (&'static [usize], &'static [usize], usize);

/// Permutations that programs have: the last axis stays, two passes, axes of one extent, primes, short last axes, instances
/// that fit on chip (docs/algorithm.md).
const PERMUTED: [Array; 24] = [
    (&[4096, 16, 32, 128], &[0, 2, 1, 3], 2),
    (&[4096, 16, 32, 128], &[0, 2, 1, 3], 4),
    (&[16_384, 200, 128], &[1, 0, 2], 1),
    (&[16_384, 8, 128, 128], &[0, 2, 1, 3], 1),
    (&[512, 640, 1024], &[2, 1, 0], 4),
    (&[512, 640, 1024], &[1, 2, 0], 4),
    (&[512, 640, 1024], &[2, 0, 1], 4),
    (&[128, 96, 160, 144], &[2, 0, 3, 1], 4),
    (&[128, 96, 160, 144], &[3, 2, 1, 0], 4),
    (&[64, 256, 112, 112], &[0, 2, 3, 1], 4),
    (&[64, 112, 112, 256], &[0, 3, 1, 2], 4),
    (&[64, 256, 112, 112], &[0, 2, 3, 1], 2),
    (&[32, 64, 24, 48, 96], &[4, 3, 2, 1, 0], 4),
    (&[48, 28, 28, 28, 48], &[4, 3, 2, 1, 0], 4),
    (&[704, 704, 704], &[2, 1, 0], 4),
    (&[700, 700, 700], &[2, 1, 0], 4),
    (&[704, 704, 704], &[1, 2, 0], 4),
    (&[509, 641, 1021], &[2, 1, 0], 4),
    (&[509, 641, 1021], &[1, 2, 0], 4),
    (&[509, 641, 1021], &[1, 0, 2], 4),
    (&[3000, 2000, 3], &[2, 0, 1], 1),
    (&[100_000, 40, 3], &[1, 0, 2], 4),
    (&[256, 3, 224, 224], &[0, 2, 3, 1], 4),
    (&[10_000, 12, 64, 8], &[0, 2, 1, 3], 4),
];

/// The same at some 200 MB, for a host.
const PERMUTED_HOST: [Array; 22] = [
    (&[1600, 16, 32, 128], &[0, 2, 1, 3], 2),
    (&[4000, 395, 128], &[1, 0, 2], 1),
    (&[1000, 390, 128], &[1, 0, 2], 4),
    (&[1500, 8, 128, 128], &[0, 2, 1, 3], 1),
    (&[256, 320, 640], &[2, 1, 0], 4),
    (&[256, 320, 640], &[1, 2, 0], 4),
    (&[256, 320, 640], &[2, 0, 1], 4),
    (&[64, 48, 120, 144], &[2, 0, 3, 1], 4),
    (&[64, 48, 120, 144], &[3, 2, 1, 0], 4),
    (&[16, 256, 112, 112], &[0, 2, 3, 1], 4),
    (&[16, 112, 112, 256], &[0, 3, 1, 2], 4),
    (&[16, 32, 24, 48, 96], &[4, 3, 2, 1, 0], 4),
    (&[48, 14, 28, 56, 48], &[4, 3, 2, 1, 0], 4),
    (&[368, 368, 368], &[2, 1, 0], 4),
    (&[368, 368, 368], &[1, 2, 0], 4),
    (&[307, 401, 421], &[2, 1, 0], 4),
    (&[307, 401, 421], &[1, 2, 0], 4),
    (&[307, 401, 421], &[1, 0, 2], 4),
    (&[3000, 5000, 3], &[2, 0, 1], 4),
    (&[400_000, 40, 3], &[1, 0, 2], 4),
    (&[333, 3, 224, 224], &[0, 2, 3, 1], 4),
    (&[8000, 12, 64, 8], &[0, 3, 2, 1], 4),
];

/// Their classes, to be asked for by name.
const ARRAYS: [(&str, &[Array]); 2] = [("permuted", &PERMUTED), ("permuted-host", &PERMUTED_HOST)];

/// What `--shapes` takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shapes {
    /// An array and the order of its axes.
    Array(Shape),
    /// A class of that name.
    Class(String),
}

/// A class by its name, or a shape as `turntile bench` takes it.
///
/// # Errors
/// What is wrong with the text.
pub fn read(text: &str) -> Result<Shapes, String> {
    if names().any(|name| name == text) {
        return Ok(Shapes::Class(text.to_string()));
    }
    if text.starts_with(|c: char| c.is_alphabetic()) {
        let names: Vec<_> = names().collect();
        return Err(format!("there is no such class; there are {}", names.join(", ")));
    }
    shape(text).map(Shapes::Array)
}

/// A problem and the class that it is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task {
    pub class: &'static str,
    pub problem: Problem,
}

/// Names of all classes.
pub fn names() -> impl Iterator<Item = &'static str> {
    classes().map(|class| class.name).chain(ARRAYS.iter().map(|(name, _)| *name))
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
                if let Some(class) = classes().find(|class| class.name == name) {
                    tasks.extend(of_class(class, words, batch)?);
                }
                for &(class, members) in ARRAYS.iter().filter(|(other, _)| other == name) {
                    for &(extents, order, own) in members {
                        let own = [own];
                        for &word in if words.is_empty() { &own[..] } else { words } {
                            let shape = Shape { extents: extents.to_vec(), axes: order.to_vec() };
                            let problem = shape.problem(batch, word)?;
                            tasks.push(Task { class, problem });
                        }
                    }
                }
            }
            Shapes::Array(shape) => {
                for &word in if words.is_empty() { &[4][..] } else { words } {
                    let problem = shape.problem(batch, word)?;
                    tasks.push(Task { class: "asked", problem });
                }
            }
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
        let asked = [Shapes::Class("batch".into()), read("3x5").unwrap()];
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
        let arrays = [read("3x5x7:2-0-1").unwrap()];
        let of = |extents, order| Problem::permuted(extents, order, 8).unwrap();
        let one = super::tasks(&arrays, &GPU, &[8], 1).unwrap();
        assert_eq!(one[0].problem, of(&[3, 5, 7], &[2, 0, 1]));
        let two = super::tasks(&arrays, &GPU, &[8], 2).unwrap();
        assert_eq!(two[0].problem, of(&[2, 3, 5, 7], &[0, 3, 1, 2]));
        for (name, members) in ARRAYS {
            let all = super::tasks(&[Shapes::Class(name.into())], &GPU, &[], 1).unwrap();
            assert_eq!(all.len(), members.len());
            assert!(all.iter().all(|task| task.problem.bytes() > 5 << 20), "{name}");
        }
        let most = super::tasks(&asked[..1], &GPU, &[], usize::MAX);
        assert!(matches!(most, Err(ProblemError::TooLarge { .. })), "{most:?}");
    }
}
