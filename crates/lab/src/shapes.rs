//! What is measured: classes of shapes, and shapes that are named.

use turntile::Transpose;
use turntile::mode::Dynamic;
use turntile::plan::Problem;
use turntile_cli::values::{axes, extents, permutation};

/// Shapes of a kind.
#[derive(Debug, PartialEq, Eq)]
pub struct Class {
    /// As `--shapes` takes it.
    name: &'static str,
    /// Bytes of an element, unless others are asked for or a shape has its own.
    words: &'static [usize],
    /// Shapes as `shape` parses them, each with an optional number of arrays before `*` and bytes of an element after `@`.
    shapes: &'static str,
}

/// The shapes that `benches/records/results.md` reports of hosts: every class of them.
pub static HOST: [Class; 1] = [Class {
    name: "host",
    words: &[4],
    shapes: "7200x1800 5100x2500 4000x3200 3300x3900 2500x5100 1800x7200 \
                 20000x12000 4096x8192 16384x4096 4093x8191 7919x3001 10007x9973 \
                 4096x4096 8192x8192 10000x10000 4000000x3 3x4000000 1000000x8 \
                 8x1000000 500000x19 19x500000 250000x40 40x250000",
}];

/// The shapes that `benches/records/results.md` reports of GPUs, class by class.
pub static GPU: [Class; 7] = [
    Class {
        name: "thesis",
        words: &[4],
        shapes: "7200x1800 5100x2500 4000x3200 3300x3900 2500x5100 1800x7200 \
                 3001x3989 2503x4999",
    },
    Class {
        name: "large",
        words: &[4, 8, 2, 16, 1],
        shapes: "19968x12032 16384x8192 32768x24576 65536x4096 20000x12000",
    },
    Class {
        name: "primes",
        words: &[4],
        shapes: "16381x20011 20011x16381 40009x10007 7919x3001 30011x30000",
    },
    Class {
        name: "skinny",
        words: &[4],
        shapes: "10000000x3 10000000x4 10000000x8 10000000x19 10000000x32 4000000x64 \
                 3x10000000 4x10000000 8x10000000 19x10000000 32x10000000 64x4000000 \
                 9999991x7",
    },
    Class { name: "square", words: &[4], shapes: "4096x4096 16384x16384 32768x32768" },
    // Weights of two bytes; many small matrices.
    Class { name: "batch", words: &[2], shapes: "256*2048x1408 64*7168x2048" },
    Class { name: "small-batch", words: &[4], shapes: "100000*64x48 1000000*16x16 200000*32x32" },
];

/// More, to be asked for by name: what a start costs; more than half of a GPU's memory; permutations that programs have
/// (the last axis stays, two passes, axes of one extent, primes, short last axes, instances that fit on chip:
/// docs/explanation/how-it-works.md), and the same at some 200 MB, for a host.
static BY_NAME: [Class; 4] = [
    Class { name: "tiny", words: &[4], shapes: "2x3 64x48 1000x700" },
    Class {
        name: "huge",
        words: &[4],
        shapes: "160000x160000 199680x125056 200000x125000 158003x158017",
    },
    Class {
        name: "permuted",
        words: &[4],
        shapes: "4096x16x32x128:0-2-1-3@2 4096x16x32x128:0-2-1-3 \
                 16384x200x128:1-0-2@1 16384x8x128x128:0-2-1-3@1 512x640x1024:2-1-0 \
                 512x640x1024:1-2-0 512x640x1024:2-0-1 128x96x160x144:2-0-3-1 \
                 128x96x160x144:3-2-1-0 64x256x112x112:0-2-3-1 \
                 64x112x112x256:0-3-1-2 64x256x112x112:0-2-3-1@2 \
                 32x64x24x48x96:4-3-2-1-0 48x28x28x28x48:4-3-2-1-0 704x704x704:2-1-0 \
                 700x700x700:2-1-0 704x704x704:1-2-0 509x641x1021:2-1-0 \
                 509x641x1021:1-2-0 509x641x1021:1-0-2 3000x2000x3:2-0-1@1 \
                 100000x40x3:1-0-2 256x3x224x224:0-2-3-1 10000x12x64x8:0-2-1-3",
    },
    Class {
        name: "permuted-host",
        words: &[4],
        shapes: "1600x16x32x128:0-2-1-3@2 4000x395x128:1-0-2@1 1000x390x128:1-0-2 \
                 1500x8x128x128:0-2-1-3@1 256x320x640:2-1-0 256x320x640:1-2-0 \
                 256x320x640:2-0-1 64x48x120x144:2-0-3-1 64x48x120x144:3-2-1-0 \
                 16x256x112x112:0-2-3-1 16x112x112x256:0-3-1-2 \
                 16x32x24x48x96:4-3-2-1-0 48x14x28x56x48:4-3-2-1-0 368x368x368:2-1-0 \
                 368x368x368:1-2-0 307x401x421:2-1-0 307x401x421:1-2-0 \
                 307x401x421:1-0-2 3000x5000x3:2-0-1 400000x40x3:1-0-2 \
                 333x3x224x224:0-2-3-1 8000x12x64x8:0-3-2-1",
    },
];

/// A shape and a permutation of its axes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Extents of the axes.
    pub extents: Vec<usize>,
    /// Axis of the source for each axis of the result.
    pub axes: Vec<usize>,
}

/// Parses `MxN`, or a shape and a permutation, `64x256x112x112:0-2-3-1`.
///
/// # Errors
/// A description of what is invalid.
pub fn shape(text: &str) -> Result<Shape, String> {
    let (shape, order) = text.split_once(':').unwrap_or((text, "1-0"));
    let (extents, order) = (extents(shape)?, axes(&order.replace('-', ","))?);
    if extents.contains(&0) {
        return Err("a shape without elements cannot be measured".to_string());
    }
    let axes = permutation(&order, extents.len())?;
    Ok(Shape { extents, axes })
}

impl Shape {
    /// Returns the transposition of `batch` contiguous arrays of elements of `itemsize` bytes.
    pub fn transpose(&self, batch: usize, itemsize: usize) -> Transpose<Dynamic> {
        let transpose = Transpose::permute::<u8>(&self.extents, &self.axes);
        transpose.itemsize(itemsize).batch(batch).dynamic()
    }
}

/// What `--shapes` takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shapes {
    /// An array and the order of its axes.
    Array(Shape),
    /// A class.
    Class(&'static Class),
}

/// A class by its name, or a shape as `MxN` or with a permutation.
///
/// # Errors
/// What is wrong with the text.
pub fn read(text: &str) -> Result<Shapes, String> {
    if let Some(class) = classes().find(|class| class.name == text) {
        return Ok(Shapes::Class(class));
    }
    if text.starts_with(|c: char| c.is_alphabetic()) {
        return Err(format!("there is no such class; there are {}", names()));
    }
    shape(text).map(Shapes::Array)
}

/// A problem and the class that it is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    pub class: &'static str,
    pub problem: Problem,
}

/// Names of all classes.
pub fn names() -> String {
    classes().map(|class| class.name).collect::<Vec<_>>().join(", ")
}

fn classes() -> impl Iterator<Item = &'static Class> {
    HOST.iter().chain(&GPU).chain(&BY_NAME)
}

impl Class {
    /// Its tasks, with other words or more matrices if those are asked for.
    fn tasks(&self, words: &[usize], batch: usize) -> Result<Vec<Task>, turntile::Error> {
        let number = |text: &str| text.parse::<usize>().expect("a number, as tests read it");
        let mut tasks = Vec::new();
        for &word in if words.is_empty() { self.words } else { words } {
            for text in self.shapes.split_whitespace() {
                let (text, own) = text.split_once('@').map_or((text, None), |(t, w)| (t, Some(w)));
                let (matrices, text) = text.split_once('*').unwrap_or(("1", text));
                let word = own.map(number).filter(|_| words.is_empty()).unwrap_or(word);
                let shape = shape(text).expect("a shape, as tests read it");
                let all = number(matrices).saturating_mul(batch);
                let problem = shape.transpose(all, word).problem()?;
                tasks.push(Task { class: self.name, problem });
            }
        }
        Ok(tasks)
    }
}

/// What was asked for, in that order; `every` where nothing was.
pub fn tasks(
    asked: &[Shapes],
    every: &[Class],
    words: &[usize],
    batch: usize,
) -> Result<Vec<Task>, turntile::Error> {
    let mut tasks = Vec::new();
    for class in every.iter().filter(|_| asked.is_empty()) {
        tasks.extend(class.tasks(words, batch)?);
    }
    for shapes in asked {
        match shapes {
            Shapes::Class(class) => tasks.extend(class.tasks(words, batch)?),
            Shapes::Array(shape) => {
                for &word in if words.is_empty() { &[4][..] } else { words } {
                    let problem = shape.transpose(batch, word).problem()?;
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
    use turntile::error::Reason;
    use turntile::plan::ProblemError;

    #[test]
    fn classes_have_names_of_their_own_and_problems() {
        let mut all: Vec<_> = classes().map(|class| class.name).collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
        for class in classes() {
            let tasks = class.tasks(&[], 1).unwrap();
            let shapes = class.shapes.split_whitespace().count();
            assert_eq!(tasks.len(), class.words.len() * shapes, "{}", class.name);
            let least = if class.name.starts_with("permuted") { 5 << 20 } else { 1 };
            assert!(tasks.iter().all(|task| task.problem.bytes() > least), "{}", class.name);
        }
    }

    #[test]
    fn shapes_of_a_class_have_words_and_batches_of_their_own() {
        let class = Class { name: "", words: &[4], shapes: "2*3x5 7x8x9:2-1-0@2" };
        let problems = |words: &[usize], batch| -> Vec<Problem> {
            class.tasks(words, batch).unwrap().iter().map(|task| task.problem.clone()).collect()
        };
        let matrices = |batch, word| Problem::with_batch(batch, 3, 5, word).unwrap();
        let one = |word| Problem::permuted(&[7, 8, 9], &[2, 1, 0], word).unwrap();
        assert_eq!(problems(&[], 1), [matrices(2, 4), one(2)]);
        let many = Problem::permuted(&[3, 7, 8, 9], &[0, 3, 2, 1], 8).unwrap();
        assert_eq!(problems(&[8], 3), [matrices(6, 8), many]);
    }

    #[test]
    fn what_is_asked_for_is_what_is_measured() {
        let asked = [read("batch").unwrap(), read("3x5").unwrap()];
        let tasks = tasks(&asked, &GPU, &[8, 1], 2).unwrap();
        let problems: Vec<_> = tasks.iter().map(|task| task.problem.clone()).collect();
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
        let most = super::tasks(&asked[..1], &GPU, &[], usize::MAX).unwrap_err();
        let most = most.reason();
        assert!(matches!(most, Reason::Problem(ProblemError::TooLarge { .. })), "{most:?}");
    }
}
