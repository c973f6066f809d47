//! Layouts of grids: selection and in-place conversion.

use std::mem;

use proptest::prelude::*;
use turntile::plan::{GpuDevice, Planner};
use turntile_lab::layout::parallel::{Index, Memory, SelectError, common_pattern, select};
use turntile_lab::layout::{Flattening, FlatteningError, Grid, GridError, conversion};

const N: i64 = 0;
const E: i64 = 1;
const W: i64 = 2;
const S: i64 = 3;

/// Listing 6.1: `A0[blockIdx.x + a][threadIdx.x + b][f]`.
fn listing() -> [[i64; 9]; 4] {
    [(1, 1, E), (1, 1, W), (0, 1, N), (2, 1, S)].map(|(a, b, f)| [1, 0, a, 0, 1, b, 0, 0, f])
}

const BUSY: [Index; 2] = [Index::Block(32), Index::Thread(128)];

fn extents(layout: &Flattening) -> Vec<usize> {
    layout.parts().iter().map(|part| part.extent).collect()
}

/// Returns a layout as `(dimension, first bit)`, outermost axis first.
fn axes(layout: &Flattening) -> Vec<(usize, u32)> {
    layout.parts().iter().map(|part| (part.dim, part.over.ilog2())).collect()
}

#[test]
fn select_reproduces_listing_6_1() {
    let listing = listing();
    let accesses: Vec<&[i64]> = listing.iter().map(|access| &access[..]).collect();
    let pattern = common_pattern(3, 2, &accesses).unwrap();
    assert_eq!(pattern, [[1, 0], [0, 1], [0, 0]]);
    for (ny, nx) in [(64usize, 256usize), (70, 300), (4096, 5000)] {
        let layout = select(Memory::T10, 4, &[ny, nx, 4], &BUSY, &accesses).unwrap();
        assert_eq!(extents(&layout), [ny.div_ceil(32), nx.div_ceil(128), 4, 32, 128]);
        assert_eq!(axes(&layout), [(0, 5), (1, 7), (2, 0), (0, 0), (1, 0)]);
    }
    let layout = select(Memory::T10, 4, &[64, 256, 4], &BUSY, &accesses).unwrap();
    let at = |index: [usize; 3]| layout.offset(&index).unwrap();
    assert_eq!(at([33, 130, 2]), 57474);
    assert_eq!((at([0, 0, 1]), at([1, 0, 0])), (4096, 128));
    assert_eq!((at([0, 128, 0]), at([32, 0, 0])), (16384, 32768));
    let steps: Vec<String> = layout.steps().unwrap().iter().map(|step| step.to_string()).collect();
    assert_eq!(steps, ["010!(128*128x4)", "0100!(2*32x8, unit 128)"]);
}

#[test]
fn common_pattern_ignores_constant_offsets() {
    // [x+1][y] and [x-1][y-1].
    let pattern = common_pattern(2, 2, &[&[1, 0, 1, 0, 1, 0], &[1, 0, -1, 0, 1, -1]]);
    assert_eq!(pattern.unwrap(), [[1, 0], [0, 1]]);
    let other = common_pattern(2, 2, &[&[1, 0, 1, 0, 1, 0], &[0, 1, 0, 1, 0, 0]]);
    assert_eq!(other, Err(SelectError::Pattern { access: 1 }));
    let short = common_pattern(2, 2, &[&[1, 0, 1, 0, 1]]);
    assert_eq!(short, Err(SelectError::Matrix { access: 0, need: 6, got: 5 }));
    assert_eq!(common_pattern(2, 2, &[]), Err(SelectError::NoAccess));
}

#[test]
fn select_fails_when_element_or_pattern_is_unsupported() {
    let indices = [Index::Block(8), Index::Thread(64)];
    let by = |bytes, access: &[i64]| select(Memory::T10, bytes, &[9, 9], &indices, &[access]);
    assert_eq!(by(12, &[1, 0, 0, 0, 1, 0]), Err(SelectError::Element { bytes: 12 }));
    assert_eq!(by(0, &[1, 0, 0, 0, 1, 0]), Err(SelectError::Element { bytes: 0 }));
    assert_eq!(by(4, &[1, 0, 0, 1, 0, 0]), Err(SelectError::NoThread));
    assert!(select(Memory::T10, 4, &[], &[Index::Other], &[&[]]).is_err());
    let too_large = select(Memory::T10, 4, &[usize::MAX, 9], &indices, &[&[1, 0, 0, 0, 1, 0]]);
    assert!(matches!(too_large, Err(SelectError::Grid(FlatteningError::TooLarge { .. }))));
    // Coefficients of any size.
    let far = [i64::MIN, 0, 0, 0, i64::MIN, 0];
    assert!(by(4, &far).is_ok());
}

/// Cases that the thesis leaves open.
#[test]
fn select_orders_axes_by_masks_and_coefficients() {
    let plane = |memory, bytes, indices: &[Index], access: &[i64]| {
        let layout = select(memory, bytes, &[512, 512], indices, &[access]).unwrap();
        axes(&layout)
    };
    let plain = [1, 0, 0, 0, 1, 0];
    // Without steering bits: strips of one line, the rest row-major.
    assert_eq!(plane(Memory::H200, 4, &BUSY, &plain), [(0, 0), (1, 5), (1, 0)]);
    // With 8 bytes per element, one coalescing bit less: 3 + 8 bits, 7 of threads, 4 of blocks.
    assert_eq!(plane(Memory::T10, 8, &BUSY, &plain), [(0, 4), (1, 7), (0, 0), (1, 0)]);
    // Steering is complete after 8 bits, those of threads first.
    let many = [Index::Block(512), Index::Thread(512)];
    assert_eq!(plane(Memory::T10, 4, &many, &plain), [(0, 3), (1, 9), (0, 0), (1, 0)]);
    // With few threads, the coalescing bits are the lowest of the dimension, whether busy or not.
    let few = [Index::Block(32), Index::Thread(4)];
    assert_eq!(plane(Memory::T10, 4, &few, &plain), [(0, 5), (1, 4), (0, 0), (1, 0)]);
    // Red-black, every second cell: bit 0 is not busy and becomes an outer axis.
    let red = [1, 0, 0, 0, 2, 1];
    assert_eq!(plane(Memory::T10, 4, &BUSY, &red), [(0, 5), (1, 8), (1, 0), (0, 0), (1, 1)]);
    // An odd factor or a sign only changes the values of bits, not which bits are busy.
    for factor in [3, -1, 5, 127] {
        let odd = [factor, 0, 0, 0, -factor, 0];
        assert_eq!(plane(Memory::T10, 4, &BUSY, &odd), plane(Memory::T10, 4, &BUSY, &plain));
    }
    // A dimension indexed by block and thread is busy in the bits of both.
    let both = [0, 0, 0, 128, 1, 0];
    assert_eq!(plane(Memory::T10, 4, &BUSY, &both), [(0, 0), (1, 9), (1, 0)]);
    // Blocks along three axes, x fastest.
    assert_eq!(
        Index::blocks(264, [100, 2, 50]),
        [Index::Block(100), Index::Block(2), Index::Block(1)]
    );
    assert_eq!(
        Index::blocks(264, [10, 10, 50]),
        [Index::Block(10), Index::Block(10), Index::Block(2)]
    );
    assert_eq!(Index::blocks(0, [0, 1, 1]), [Index::Block(1); 3]);
}

/// Returns numbered elements, followed by a filled buffer of the given total length.
fn numbered(dims: &[usize], length: usize) -> Vec<u32> {
    let count = dims.iter().product::<usize>() as u32;
    (0..count).chain(std::iter::repeat(u32::MAX)).take(length.max(count as usize)).collect()
}

fn check(buffer: &mut [u32], layouts: &[Flattening]) {
    let dims = layouts[0].dims().to_vec();
    let plain = Flattening::row_major(&dims).unwrap();
    let mut grid = Grid::new(buffer, plain.clone()).unwrap();
    for layout in layouts.iter().chain([&plain]) {
        grid.convert(layout).unwrap();
        assert_eq!(grid.layout(), layout);
        for k in 0..plain.len() {
            let index = plain.index(k).unwrap();
            assert_eq!(grid.get(&index), Some(&(k as u32)), "{layout:?}: {index:?}");
        }
    }
}

#[test]
fn grid_converts_in_place_and_back() {
    let listing = listing();
    for (ny, nx) in [(64, 256), (70, 300), (1, 1), (33, 129), (31, 127)] {
        let dims = [ny, nx, 4];
        let all = [Memory::T10, Memory::H200]
            .map(|memory| select(memory, 4, &dims, &BUSY, &[&listing[0]]).unwrap());
        let span = all.iter().map(Flattening::span).max().unwrap();
        for more in [0, 7] {
            let mut buffer = numbered(&dims, span + more);
            check(&mut buffer, &all);
            assert!(
                buffer[span..].iter().all(|&k| k == u32::MAX),
                "elements after the span were written"
            );
        }
    }
}

#[test]
fn convert_fails_when_buffer_is_short() {
    let plain = Flattening::row_major(&[70, 30]).unwrap();
    let layout = plain.clone().strip_mined(1, 16).unwrap().permuted(&[1, 0, 2]).unwrap();
    let mut buffer = numbered(&[70, 30], 70 * 32 - 1);
    let before = buffer.clone();
    let mut grid = Grid::new(&mut buffer, plain.clone()).unwrap();
    let short = GridError::Flattening(FlatteningError::Short { need: 2240, got: 2239 });
    assert_eq!(grid.convert(&layout), Err(short));
    assert_eq!(grid.layout(), &plain);
    let other = Flattening::row_major(&[30, 70]).unwrap();
    assert!(matches!(
        grid.convert(&other),
        Err(GridError::Flattening(FlatteningError::Dims { .. }))
    ));
    assert_eq!(buffer, before);
    let short = Grid::new(&mut buffer, layout);
    assert_eq!(short.unwrap_err(), FlatteningError::Short { need: 2240, got: 2239 });
}

/// Table 6.1: assignment copies a layout, a transformation changes it, and a pointer into a
/// transformed grid has none. For `p1 = p2 + t` the test checks the layout of `p2`, which the
/// thesis's table does not.
#[test]
fn layout_moves_with_its_grid() {
    let plain = Flattening::row_major(&[4, 6]).unwrap();
    let transposed = plain.clone().permuted(&[1, 0]).unwrap();
    let (mut first, mut second) = (numbered(&[4, 6], 24), vec![9; 24]);
    let mut now = Grid::new(&mut first, plain.clone()).unwrap();
    let mut next = Grid::new(&mut second, transposed.clone()).unwrap();
    assert_eq!(now.layout().meet(next.layout()), None);
    // Iterative solvers swap the grids after each step.
    mem::swap(&mut now, &mut next);
    assert_eq!((now.layout(), next.layout()), (&transposed, &plain));
    let assigned = next;
    assert_eq!((assigned.get(&[2, 3]), assigned.layout()), (Some(&15), &plain));
    assert_eq!(assigned.tail(22), Some(&[22, 23][..]));
    assert_eq!((assigned.tail(24), assigned.tail(25)), (Some(&[][..]), None));
    let mut next = assigned;
    next.convert(&transposed).unwrap();
    assert_eq!(next.layout().meet(now.layout()), Some(transposed));
    assert_eq!((next.get(&[2, 3]), next.tail(22)), (Some(&15), None));
    assert_eq!((next.get(&[4, 0]), next.get(&[0, 6]), next.get(&[0])), (None, None, None));
    *next.get_mut(&[1, 1]).unwrap() = 99;
    next.convert(&plain).unwrap();
    assert_eq!(next.tail(7).unwrap()[0], 99);
    // Zero-sized elements.
    let mut empty = [(); 24];
    let mut empty = Grid::new(&mut empty, plain).unwrap();
    empty.convert(now.layout()).unwrap();
}

/// The steps of a conversion can be planned for a GPU.
#[test]
fn conversion_steps_are_planned_for_gpu() {
    let listing = listing();
    let dims = [1000, 1000, 4];
    let layout = select(Memory::T10, 4, &dims, &BUSY, &[&listing[0]]).unwrap();
    let plain = Flattening::row_major(&dims).unwrap();
    for (from, to) in [(&plain, &layout), (&layout, &plain)] {
        let steps = conversion(from, to, 4).unwrap();
        assert_eq!(steps.len(), 3);
        for (step, _) in steps {
            let plan = Planner::new(GpuDevice::h200()).plan(&step.problem().unwrap()).unwrap();
            assert!(plan.passes() >= 1);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn grid_converts_between_any_layouts(
        dims in prop::collection::vec(1usize..40, 2..4),
        cuts in prop::collection::vec((0usize..5, 1usize..9, any::<[u8; 8]>()), 2..6),
    ) {
        let mut layout = Flattening::row_major(&dims).unwrap();
        let mut layouts = Vec::new();
        for (axis, strip, keys) in cuts {
            if layout.span() < 1 << 16 {
                layout = layout.clone().strip_mined(axis, strip).unwrap_or(layout);
            }
            let mut order: Vec<usize> = (0..layout.parts().len()).collect();
            order.sort_by_key(|&axis| keys[axis % 8]);
            layout = layout.permuted(&order).unwrap();
            layouts.push(layout.clone());
        }
        let span = layouts.iter().map(Flattening::span).max().unwrap();
        check(&mut numbered(&dims, span), &layouts);
    }
}
