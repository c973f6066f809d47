//! The programs of the thesis's chapter 6 on a periodic cube, each written once over a flattening: LBM, heat and a red-black
//! relaxation on row-major grids, with a pitch of a line more, and on the layouts that are selected for a memory.

use std::time::Instant;

use turntile::Transposer;
use turntile::mode::Leading;

use crate::applications::{State, launch, noise};
use crate::layout::parallel::{Index, Memory, SelectError, select};
use crate::layout::{Flattening, FlatteningError, GridError, conversion};
use crate::program::{Program, Step};
use crate::stencils::{self, VELOCITIES};

/// What is done in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stencil {
    /// Cells of 19 floats pull from their neighbours and relax (D3Q19).
    Lbm,
    /// Heat in three dimensions, by Jacobi.
    Heat,
    /// Red cells become means of black ones, then black ones of red: Gauss-Seidel.
    RedBlack,
}

/// A program on a cube of cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cube {
    /// What it does.
    pub stencil: Stencil,
    /// Cells along an edge, an even number.
    pub side: usize,
}

/// A layout of its cells.
#[derive(Clone, Debug, PartialEq)]
pub struct Lies {
    /// For people.
    pub name: &'static str,
    /// Where cells lie: plane, row, place in it, value.
    pub at: Flattening,
    kernels: &'static str,
    pitch: usize,
}

/// What runs at a time: as in listing 6.1, a block a row, 32 of them, and of a row 128 threads.
const BUSY: [Index; 5] =
    [Index::Block(32), Index::Thread(THREADS), Index::Other, Index::Other, Index::Other];
const THREADS: usize = 128;

impl Cube {
    /// Values of a cell.
    pub fn values(self) -> usize {
        if self.stencil == Stencil::Lbm { VELOCITIES.len() } else { 1 }
    }

    /// Cells times values.
    pub fn len(self) -> usize {
        self.side.pow(3) * self.values()
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Cells from a thread's to the next one's.
    fn apart(self) -> usize {
        if self.stencil == Stencil::RedBlack { 2 } else { 1 }
    }

    fn dims(self) -> [usize; 4] {
        [self.side, self.side, self.side, self.values()]
    }

    /// The layout selected for a memory.
    ///
    /// # Errors
    /// [`SelectError`].
    pub fn selected(self, memory: Memory) -> Result<Flattening, SelectError> {
        // Of block, thread, plane, pieces of a row and value, then what is added: neighbours differ in that alone.
        let (apart, mut access) = (self.apart() as i64, [0; 24]);
        let pieces = apart * THREADS as i64;
        for (dim, index, by) in [(0, 2, 1), (1, 0, 1), (2, 1, apart), (2, 3, pieces), (3, 4, 1)] {
            access[6 * dim + index] = by;
        }
        select(memory, 4, &self.dims(), &BUSY, &[&access])
    }

    /// Row-major first, then the others; a line of a cache has so many floats.
    ///
    /// # Errors
    /// [`SelectError`].
    pub fn layouts(self, line: usize) -> Result<Vec<Lies>, SelectError> {
        let rows = Flattening::row_major(&self.dims())?;
        let longer = self.side + line;
        let plus = rows.clone().strip_mined(2, longer)?;
        let lies = |name, kernels, at| Lies { name, at, kernels, pitch: self.side };
        let mut all = vec![lies("row-major", "in_rows", rows.clone())];
        if self.stencil == Stencil::Lbm {
            let plus = plus.permuted(&[4, 0, 1, 2, 3])?;
            all.extend([
                lies("SoA", "in_columns", rows.permuted(&[3, 0, 1, 2])?),
                Lies { pitch: longer, ..lies("SoA, a line more", "in_columns", plus) },
            ]);
        } else {
            all.push(Lies { pitch: longer, ..lies("row-major, a line more", "in_rows", plus) });
        }
        let (wide, strips) = match self.stencil {
            Stencil::Lbm => (Some(("ASTA, selected for an H200", "in_tiles")), "in_strips"),
            // For an H200 it is row-major.
            Stencil::Heat => (None, "in_strips"),
            Stencil::RedBlack => (Some(("selected for an H200", "in_halves")), "in_half_strips"),
        };
        if let Some((name, kernels)) = wide {
            all.push(lies(name, kernels, self.selected(Memory::H200)?));
        }
        all.push(lies("selected for a T10", strips, self.selected(Memory::T10)?));
        Ok(all)
    }

    /// What it begins with, row-major, in buffers of so many words.
    pub fn start(self, span: usize) -> State {
        let near = |k: usize| match self.stencil {
            Stencil::Lbm => VELOCITIES[k % VELOCITIES.len()].weight * (1.0 + 0.01 * noise(k)),
            _ => noise(k),
        };
        let mut from: Vec<f32> = (0..self.len()).map(near).collect();
        from.resize(span.max(self.len()), 0.0);
        State { to: vec![0.0; from.len()], from }
    }

    /// A step on the host, by one thread. Each dimension has its part of an offset, which a table holds.
    pub fn step(self, State { to, from }: &mut State, lies: &Lies) {
        let part = |dim: usize, index: usize| {
            let mut all = [0; 4];
            all[dim] = index;
            lies.at.offset(&all).expect("an index of the grid")
        };
        let dims = self.dims();
        let [planes, rows, places, values]: [Vec<usize>; 4] =
            [0, 1, 2, 3].map(|dim| (0..dims[dim]).map(|index| part(dim, index)).collect());
        let at = |[z, y, x]: [usize; 3], q: usize| planes[z] + rows[y] + places[x] + values[q];
        match self.stencil {
            Stencil::Lbm => stencils::relax(to, from, self.side, at),
            Stencil::Heat => stencils::heat(to, from, self.side, at),
            Stencil::RedBlack => stencils::red_black(to, from, self.side, at),
        }
    }

    /// A step on a GPU, buffers `[to, from]` of a [`State`] of so many words. None where 32 bits do not count it, the layout
    /// goes beyond them, or rows are too short for the kernels' strips.
    pub fn program(self, lies: &Lies, span: usize) -> Option<Program> {
        let kernel = |name: &str| {
            let name = format!("{name}_{}", lies.kernels);
            launch(&name, self.side.pow(2), THREADS, self.side.pow(3), [self.side, lies.pitch])
        };
        let fits = span >= lies.at.span() && self.side > THREADS / 2 * self.apart();
        let empty = fits.then(|| Program::new(&[4 * span; 2]))?;
        Some(match self.stencil {
            Stencil::Lbm => empty.then(Step::Kernel(kernel("cells")?, [0, 1])),
            Stencil::Heat => empty.then(Step::Kernel(kernel("heat")?, [0, 1])),
            // Red cells of black ones as they were, then black cells of red ones as they are.
            Stencil::RedBlack => empty
                .then(Step::Kernel(kernel("red")?, [0, 1]))
                .then(Step::Kernel(kernel("black")?, [0, 0])),
        })
    }
}

/// Brings a grid of floats from layout to layout in place, on so many threads, and says how many seconds it took, planning
/// left out.
///
/// # Errors
/// [`FlatteningError::Short`], the planner's and the run's.
pub fn convert(
    data: &mut [f32],
    from: &Flattening,
    to: &Flattening,
    threads: usize,
) -> Result<f64, GridError> {
    let (need, got) = (from.span().max(to.span()), data.len());
    if got < need {
        return Err(FlatteningError::Short { need, got }.into());
    }
    let plans: Vec<(Transposer<Leading>, usize)> = conversion(from, to, 4)?
        .into_iter()
        .map(|(step, words)| Ok((step.threads(threads).plan()?, words)))
        .collect::<Result<_, GridError>>()?;
    let start = Instant::now();
    let run = |(plan, words): &(Transposer<Leading>, usize)| plan.run(&mut data[..*words]);
    plans.iter().try_for_each(run)?;
    Ok(start.elapsed().as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Stencil; 3] = [Stencil::Lbm, Stencil::Heat, Stencil::RedBlack];

    /// Axes as (dimension, indices of a step, extent), without those of one index.
    fn axes(at: &Flattening) -> Vec<(usize, usize, usize)> {
        let parts = at.parts().iter().map(|part| (part.dim, part.over, part.extent));
        parts.filter(|part| part.2 > 1).collect()
    }

    /// What `applications.cu` has been written for.
    #[test]
    fn kernels_index_what_is_selected() {
        let of = |stencil| {
            let all = Cube { stencil, side: 512 }.layouts(32).unwrap();
            all.into_iter().map(|lies| (lies.kernels, axes(&lies.at))).collect::<Vec<_>>()
        };
        let (z, y) = ((0, 1, 512), (1, 1, 512));
        let strips = |values: &[(usize, usize, usize)], x: (usize, usize, usize)| {
            let outer = [z, (1, 32, 16), (2, x.1 * x.2, 512 / x.1 / x.2)];
            [&outer[..], values, &[(1, 1, 32), x]].concat()
        };
        let q = (3, 1, 19);
        assert_eq!(
            of(Stencil::Lbm),
            [
                ("in_rows", vec![z, y, (2, 1, 512), q]),
                ("in_columns", vec![q, z, y, (2, 1, 512)]),
                ("in_columns", vec![q, z, y, (2, 1, 544)]),
                ("in_tiles", vec![z, y, (2, 32, 16), q, (2, 1, 32)]),
                ("in_strips", strips(&[q], (2, 1, 128))),
            ]
        );
        let plain = [("in_rows", vec![z, y, (2, 1, 512)]), ("in_rows", vec![z, y, (2, 1, 544)])];
        let heat = [&plain[..], &[("in_strips", strips(&[], (2, 1, 128)))]].concat();
        assert_eq!(of(Stencil::Heat), heat);
        let halves = [
            ("in_halves", vec![z, y, (2, 64, 8), (2, 1, 2), (2, 2, 32)]),
            ("in_half_strips", strips(&[(2, 1, 2)], (2, 2, 128))),
        ];
        assert_eq!(of(Stencil::RedBlack), [&plain[..], &halves].concat());
        let tiles = Cube { stencil: Stencil::Heat, side: 256 }.selected(Memory::H200).unwrap();
        let rows = Flattening::row_major(&[256, 256, 256, 1]).unwrap();
        for at in [[0, 0, 0, 0], [1, 2, 33, 0], [255, 255, 255, 0], [7, 0, 200, 0]] {
            assert_eq!(tiles.offset(&at), rows.offset(&at));
        }
    }

    #[test]
    fn every_layout_ends_alike() {
        for (stencil, side) in ALL.into_iter().flat_map(|stencil| [6, 40].map(|s| (stencil, s))) {
            let cube = Cube { stencil, side };
            let all = cube.layouts(16).unwrap();
            let span = all.iter().map(|lies| lies.at.span()).max().unwrap();
            let run = |lies: &Lies| {
                let mut state = cube.start(span);
                convert(&mut state.from, &all[0].at, &lies.at, 1).unwrap();
                cube.step(&mut state, lies);
                convert(&mut state.to, &lies.at, &all[0].at, 1).unwrap();
                state.to[..cube.len()].iter().map(|value| value.to_bits()).collect::<Vec<_>>()
            };
            let wanted = run(&all[0]);
            assert_ne!(wanted.iter().max(), wanted.iter().min());
            for lies in &all[1..] {
                assert!(run(lies) == wanted, "{cube:?} {}", lies.name);
            }
        }
    }

    /// From scratch, by definition.
    #[test]
    fn steps_do_what_they_say() {
        let side = 6;
        let step = |stencil| {
            let cube = Cube { stencil, side };
            let (mut state, rows) = (cube.start(0), &cube.layouts(16).unwrap()[0]);
            let before = state.from.clone();
            cube.step(&mut state, rows);
            (before, state.to)
        };
        let at = |z: usize, y: usize, x: usize| (z % 6 * 6 + y % 6) * 6 + x % 6;
        let around = |all: &[f32], [z, y, x]: [usize; 3]| {
            let places = [
                at(z + 5, y, x),
                at(z + 1, y, x),
                at(z, y + 5, x),
                at(z, y + 1, x),
                at(z, y, x + 5),
                at(z, y, x + 1),
            ];
            places.iter().map(|&place| all[place]).sum::<f32>()
        };
        let (heat, red_black) = (step(Stencil::Heat), step(Stencil::RedBlack));
        for place in (0..216).map(|i| [i / 36, i / 6 % 6, i % 6]) {
            let (here, odd) = (at(place[0], place[1], place[2]), place.iter().sum::<usize>() % 2);
            let flows = around(&heat.0, place) - 6.0 * heat.0[here];
            assert!((heat.1[here] - (heat.0[here] + flows / 8.0)).abs() < 1e-6);
            let of = if odd == 0 { &red_black.0 } else { &red_black.1 };
            assert!((red_black.1[here] - around(of, place) / 6.0).abs() < 1e-6);
        }
    }

    #[test]
    fn what_is_too_short_is_refused() {
        let cube = Cube { stencil: Stencil::Heat, side: 40 };
        let all = cube.layouts(16).unwrap();
        let mut data = cube.start(0).from;
        let short = FlatteningError::Short { need: 40 * 40 * 56, got: 64000 };
        assert_eq!(convert(&mut data, &all[0].at, &all[1].at, 1), Err(short.into()));
        let cube = Cube { side: 80, ..cube };
        let all = cube.layouts(16).unwrap();
        assert_eq!(cube.program(&all[1], 80 * 80 * 96 - 1), None);
        assert!(cube.program(&all[1], 80 * 80 * 96).is_some());
        let short = Cube { side: 64, ..cube };
        assert_eq!(short.program(&short.layouts(16).unwrap()[2], 1 << 20), None);
    }
}
