//! What the thesis runs on its layouts (3.7 and 5.6): each kernel is written once over where fields lie, as `layout.cuh`
//! has it, and runs on AoS, SoA and ASTA.
//!
//! | application | records | a step |
//! |---|---|---|
//! | members | 1 to 32 floats | the sum of a structure's members is written to every member of another |
//! | LBM | 19 floats a cell of a periodic cube, D3Q19 | cells pull from their neighbours and relax (BGK); two grids |
//! | Black-Scholes | price, strike, years; call, put | both options are priced |
//! | SpMV-ELL | a row's values, and in another array its columns | a vector is multiplied |

use turntile::layout::{RecordConversion, RecordOrder};
use turntile::plan::Problem;
use turntile::{Error, Transpose, Transposer};
use turntile_cuda::args::Address;

use crate::code::Code;
use crate::params::{ApplicationArgs, Params};
use crate::program::{Launch, Program, Step};
use crate::stencils::{self, VELOCITIES};

/// Records of a tile of ASTA: a line of 128 bytes.
pub const TILE: usize = 32;

/// The layouts, by name.
pub const LAYOUTS: [(&str, RecordOrder); 3] =
    [("AoS", RecordOrder::Aos), ("ASTA", RecordOrder::Asta(TILE)), ("SoA", RecordOrder::Soa)];

/// A program over records of words of 4 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Application {
    /// Structures of so many floats.
    Members {
        /// How many.
        records: usize,
        /// Of each.
        floats: usize,
    },
    /// A cube of cells.
    Lbm {
        /// Cells along an edge.
        side: usize,
    },
    /// Options to be priced.
    Options {
        /// How many.
        records: usize,
    },
    /// A sparse matrix, square, its rows of one length.
    Ell {
        /// Rows and columns.
        rows: usize,
        /// Elements of a row.
        width: usize,
    },
}

/// What it works on; columns of a matrix are the bits of floats.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// What a step writes.
    pub to: Vec<f32>,
    /// What it reads.
    pub from: Vec<f32>,
}

/// Numbers from 0 to 1.
pub(crate) fn noise(k: usize) -> f32 {
    (k.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as f32 / 16_777_216.0
}

/// Threads of a block.
const THREADS: usize = 256;
/// Floats of an option: three are read, two written.
const OPTION: usize = 5;

impl Application {
    /// Records, and words of each.
    pub fn records(self) -> (usize, usize) {
        match self {
            Application::Members { records, floats } => (records, floats),
            Application::Lbm { side } => (side.pow(3), VELOCITIES.len()),
            Application::Options { records } => (records, OPTION),
            Application::Ell { rows, width } => (rows, width),
        }
    }

    /// How often records are converted for it: before the first step, and after the last.
    pub fn conversions(self) -> (usize, usize) {
        match self {
            Application::Members { .. } => (0, 0),
            Application::Lbm { .. } | Application::Options { .. } => (1, 1),
            // Values and columns; the vector needs none.
            Application::Ell { .. } => (2, 0),
        }
    }

    /// Brings its records from a layout to another.
    pub fn relayout(self, from: RecordOrder, to: RecordOrder) -> Transpose {
        let (records, words) = self.records();
        RecordConversion::new(records, &vec![4; words]).from(from).to(to)
    }

    /// The same as a permutation of axes: tiles divide the records.
    pub fn axes(self, from: RecordOrder, to: RecordOrder) -> Option<Problem> {
        let (records, words) = self.records();
        let tile = |layout| match layout {
            RecordOrder::Aos => 1,
            RecordOrder::Soa => records,
            RecordOrder::Asta(tile) => tile,
        };
        let (long, extents) = match (from, to) {
            (RecordOrder::Aos, other) => (tile(other), [tile(other), words]),
            (other, RecordOrder::Aos) => (tile(other), [words, tile(other)]),
            _ => return None,
        };
        let extents = [records / long.max(1), extents[0], extents[1]];
        Problem::permuted(&extents, &[0, 2, 1], 4).ok()
    }

    /// What it begins with, as structures.
    pub fn start(self) -> State {
        let (records, words) = self.records();
        let zeros = vec![0.0; records * words];
        match self {
            Application::Members { .. } => {
                State { to: zeros, from: (0..records * words).map(noise).collect() }
            }
            Application::Lbm { .. } => {
                let near = |k: usize| VELOCITIES[k % words].weight * (1.0 + 0.01 * noise(k));
                State { to: zeros, from: (0..records * words).map(near).collect() }
            }
            Application::Options { .. } => {
                let of = |k: usize| match k % OPTION {
                    0 => 5.0 + 25.0 * noise(k),
                    1 => 1.0 + 99.0 * noise(k),
                    2 => 0.25 + 9.75 * noise(k),
                    _ => 0.0,
                };
                State { to: (0..records * words).map(of).collect(), from: Vec::new() }
            }
            Application::Ell { rows, width } => {
                // Half of a row lies around the diagonal, the others anywhere.
                let column = |k: usize| {
                    let (row, at) = (k / width, k % width);
                    let near = (row + rows + at - (width / 4).min(rows)) % rows;
                    let any = (noise(k) * rows as f32) as usize % rows;
                    f32::from_bits(if at < width / 2 { near } else { any } as u32)
                };
                let values = (0..rows * width).map(noise);
                let columns = (0..rows * width).map(column);
                let from = values.chain(columns).chain((0..rows).map(noise)).collect();
                State { to: vec![0.0; rows], from }
            }
        }
    }

    /// Brings what a step reads from structures to a layout.
    ///
    /// # Errors
    /// The planner's and the run's.
    pub fn arrange(self, state: &mut State, layout: RecordOrder) -> Result<(), Error> {
        if layout == RecordOrder::Aos {
            return Ok(());
        }
        let planned = self.relayout(RecordOrder::Aos, layout).plan()?;
        let (records, words) = self.records();
        let all = match self {
            Application::Options { .. } => &mut state.to,
            _ => &mut state.from,
        };
        // The vector behind a matrix stays.
        all.chunks_exact_mut((records * words).max(1)).try_for_each(|part| planned.run(part))
    }

    /// Brings what a step has written back to structures.
    ///
    /// # Errors
    /// The planner's and the run's.
    pub fn gather(self, to: &mut [f32], layout: RecordOrder) -> Result<(), Error> {
        if layout == RecordOrder::Aos || matches!(self, Application::Ell { .. }) {
            return Ok(());
        }
        let planned: Transposer = self.relayout(layout, RecordOrder::Aos).plan()?;
        planned.run(to)
    }

    /// A step on the host, by one thread.
    pub fn step(self, state: &mut State, layout: RecordOrder) {
        let (records, fields) = self.records();
        match layout {
            RecordOrder::Aos => self.step_on(state, Aos { fields }),
            RecordOrder::Soa => self.step_on(state, Soa { records }),
            RecordOrder::Asta(_) => self.step_on(state, Asta { records, fields }),
        }
    }

    /// A step on a GPU, a thread a record: buffers `[to, from]` as a [`State`] has them. None where there is no kernel for
    /// so many words.
    pub fn program(self, layout: RecordOrder) -> Option<Program> {
        let (records, words) = self.records();
        let (name, side) = match self {
            Application::Members { .. } => (format!("members_{words}"), 0),
            Application::Lbm { side } => ("lbm".to_owned(), side),
            Application::Options { .. } => ("options".to_owned(), 0),
            Application::Ell { .. } => (format!("ell_{words}"), 0),
        };
        let layout = match layout {
            RecordOrder::Aos => "aos",
            RecordOrder::Soa => "soa",
            RecordOrder::Asta(tile) => {
                if tile == TILE {
                    "asta"
                } else {
                    return None;
                }
            }
        };
        let kernel = launch(
            &format!("{name}_{layout}"),
            records.div_ceil(THREADS),
            THREADS,
            records,
            [side, 0],
        )?;
        let bytes = self.words().map(|words| words * 4);
        Some(Program::new(&bytes).then(Step::Kernel(kernel, [0, 1])))
    }

    /// Words of what a step writes, and of what it reads.
    fn words(self) -> [usize; 2] {
        let (records, words) = self.records();
        match self {
            Application::Options { .. } => [records * words, 0],
            Application::Ell { .. } => [records, 2 * records * words + records],
            _ => [records * words; 2],
        }
    }

    fn step_on(self, State { to, from }: &mut State, place: impl Place) {
        match self {
            Application::Members { records, floats } => {
                for i in 0..records {
                    let sum: f32 = (0..floats).map(|f| from[place.at(i, f)]).sum();
                    (0..floats).for_each(|f| to[place.at(i, f)] = sum);
                }
            }
            Application::Lbm { side } => {
                stencils::relax(to, from, side, |[z, y, x], q| {
                    place.at((z * side + y) * side + x, q)
                });
            }
            Application::Options { records } => {
                for i in 0..records {
                    let [price, strike, years] = [0, 1, 2].map(|f| to[place.at(i, f)]);
                    let [call, put] = priced(price, strike, years);
                    (to[place.at(i, 3)], to[place.at(i, 4)]) = (call, put);
                }
            }
            Application::Ell { rows, width } => {
                let (values, rest) = from.split_at(rows * width);
                let (columns, x) = rest.split_at(rows * width);
                for (i, y) in to.iter_mut().enumerate() {
                    let part = |k| {
                        let at = place.at(i, k);
                        values[at] * x[columns[at].to_bits() as usize]
                    };
                    *y = (0..width).map(part).sum();
                }
            }
        }
    }
}

/// A kernel of `applications.cu` by its name, of so many blocks and threads. None where there is none, or 32 bits do not count.
pub(crate) fn launch(
    name: &str,
    groups: usize,
    threads: usize,
    records: usize,
    [side, pitch]: [usize; 2],
) -> Option<Launch> {
    Some(Launch {
        code: Code::Applications,
        entry: Code::Applications.entries().find(|entry| *entry == name)?,
        groups: i32::try_from(groups).ok()?.try_into().ok()?,
        threads: threads as u32,
        shared_bytes: 0,
        params: Params::Application(ApplicationArgs {
            to: Address::default(),
            from: Address::default(),
            records: records as u64,
            side: u32::try_from(side).ok()?,
            pitch: u32::try_from(pitch).ok()?,
        }),
    })
}

/// Where field `f` of record `i` lies, in words.
trait Place: Copy {
    fn at(self, i: usize, f: usize) -> usize;
}

#[derive(Clone, Copy)]
struct Aos {
    fields: usize,
}

impl Place for Aos {
    fn at(self, i: usize, f: usize) -> usize {
        i * self.fields + f
    }
}

#[derive(Clone, Copy)]
struct Soa {
    records: usize,
}

impl Place for Soa {
    fn at(self, i: usize, f: usize) -> usize {
        self.records * f + i
    }
}

#[derive(Clone, Copy)]
struct Asta {
    records: usize,
    fields: usize,
}

impl Place for Asta {
    fn at(self, i: usize, f: usize) -> usize {
        let within = i % TILE;
        let first = i - within;
        first * self.fields + (self.records - first).min(TILE) * f + within
    }
}

const RATE: f32 = 0.02;
const VOLATILITY: f32 = 0.3;

/// The prices of a call and of a put.
fn priced(price: f32, strike: f32, years: f32) -> [f32; 2] {
    let spread = VOLATILITY * years.sqrt();
    let d1 = ((price / strike).ln() + (RATE + 0.5 * VOLATILITY * VOLATILITY) * years) / spread;
    let [up, down] = [d1, d1 - spread].map(normal);
    let later = strike * (-RATE * years).exp();
    [price * up - later * down, later * (1.0 - down) - price * (1.0 - up)]
}

/// The share of a normal distribution below `d` (Abramowitz and Stegun 26.2.17).
fn normal(d: f32) -> f32 {
    let k = 1.0 / (1.0 + 0.231_641_9 * d.abs());
    let sum = k
        * (0.319_381_53
            + k * (-0.356_563_78 + k * (1.781_477_9 + k * (-1.821_255_9 + k * 1.330_274_4))));
    let tail = 0.398_942_3 * (-0.5 * d * d).exp() * sum;
    if d > 0.0 { 1.0 - tail } else { tail }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Small, with a shorter last tile where tiles are not to divide the records.
    pub const SMALL: [Application; 5] = [
        Application::Members { records: 77, floats: 14 },
        Application::Members { records: 40, floats: 1 },
        Application::Lbm { side: 7 },
        Application::Options { records: 101 },
        Application::Ell { rows: 130, width: 9 },
    ];

    #[test]
    fn every_layout_ends_alike() {
        for application in SMALL {
            let run = |layout| {
                let mut state = application.start();
                application.arrange(&mut state, layout).unwrap();
                application.step(&mut state, layout);
                application.gather(&mut state.to, layout).unwrap();
                state.to.iter().map(|value| value.to_bits()).collect::<Vec<_>>()
            };
            let wanted = run(RecordOrder::Aos);
            assert_ne!(wanted.iter().max(), wanted.iter().min(), "{application:?}");
            for (name, layout) in LAYOUTS {
                assert!(run(layout) == wanted, "{application:?} on {name}");
            }
        }
    }

    /// Places are those of the library.
    #[test]
    fn places_are_the_librarys() {
        for (records, fields) in [(77, 14), (64, 19), (3, 2)] {
            let layout = RecordConversion::new(records, &vec![4; fields]);
            for (i, f) in (0..records).flat_map(|i| (0..fields).map(move |f| (i, f))) {
                let ours = [
                    Aos { fields }.at(i, f),
                    Asta { records, fields }.at(i, f),
                    Soa { records }.at(i, f),
                ];
                let theirs = LAYOUTS.map(|(_, lies)| layout.offset(lies, i, f) / 4);
                assert_eq!(ours, theirs, "{i} {f}");
            }
        }
    }

    #[test]
    fn conversions_are_permutations_of_axes() {
        let application = Application::Members { records: 96, floats: 5 };
        for (_, layout) in &LAYOUTS[1..] {
            for (from, to) in [(RecordOrder::Aos, *layout), (*layout, RecordOrder::Aos)] {
                let records = application.relayout(from, to).problem().unwrap();
                let axes = application.axes(from, to).unwrap();
                assert!((0..records.len()).all(|k| records.dest(k) == axes.dest(k)), "{records}");
            }
        }
    }

    /// Mass and momentum stay, a fluid at rest stays at rest, and an option's call and put differ by their prices.
    #[test]
    fn kernels_do_what_they_say() {
        let lbm = Application::Lbm { side: 6 };
        let mut state = lbm.start();
        lbm.step(&mut state, RecordOrder::Aos);
        let mass = |all: &[f32]| all.iter().map(|&share| f64::from(share)).sum::<f64>();
        assert!((mass(&state.to) - mass(&state.from)).abs() < 1e-3);
        let still: Vec<f32> = (0..6 * 6 * 6 * 19).map(|k| VELOCITIES[k % 19].weight).collect();
        let mut state = State { to: vec![0.0; still.len()], from: still.clone() };
        lbm.step(&mut state, RecordOrder::Aos);
        assert!(state.to.iter().zip(&still).all(|(a, b)| (a - b).abs() < 1e-6));
        let [call, put] = priced(20.0, 18.0, 2.0);
        assert!((call - put - (20.0 - 18.0 * (-0.04f32).exp())).abs() < 1e-4);
        assert!((priced(100.0, 1.0, 0.25)[0] - 99.005).abs() < 1e-2);
        assert!((normal(0.0) - 0.5).abs() < 1e-6 && (normal(1.96) - 0.975).abs() < 1e-4);
        let ell = Application::Ell { rows: 50, width: 4 };
        let mut state = ell.start();
        ell.step(&mut state, RecordOrder::Aos);
        let of =
            |k: usize| state.from[k] * state.from[400 + state.from[200 + k].to_bits() as usize];
        assert_eq!(state.to[7], of(28) + of(29) + of(30) + of(31));
    }
}
