//! Matrices in panels of unequal width: their core moved together and apart, and their border.

use cust::memory::{CopyDestination, DeviceBuffer};
use turntile_cuda::lower::TargetParams;
use turntile_cuda::{Buffers, CudaError, Work};
use turntile_perm::{BorderSide, Panels};

use crate::common::{Bench, address, memory, pattern};

/// Rows, columns, panels, and rows and columns of the core.
type Shape = (usize, usize, usize, [usize; 2]);

/// Runs of a few bytes to several blocks.
const SMALL: [Shape; 5] = [
    (5, 23, 3, [4, 4]),
    (70, 211, 3, [64, 64]),
    (300, 519, 2, [256, 256]),
    (9, 2600, 2, [8, 1280]),
    (11, 30_011, 2, [9, 14_976]),
];

const FULL: [Shape; 3] = [
    (15_006, 20_021, 2, [14_976, 9_984]),
    (9001, 30_011, 4, [8960, 7488]),
    (70_001, 4099, 5, [69_888, 768]),
];

pub fn panels(bench: &mut Bench) -> usize {
    let wrong = |shapes: &[Shape], elems: &[usize]| -> usize {
        let cases = shapes.iter().flat_map(|shape| elems.iter().map(move |elem| (shape, *elem)));
        cases.map(|(shape, elem)| usize::from(!case(bench, *shape, elem))).sum()
    };
    wrong(&SMALL, &[4, 8, 16]) + wrong(&FULL, &[4, 8])
}

/// Runs small cases and notes the kernels.
pub fn few(bench: &mut Bench, met: &mut Vec<String>) -> usize {
    met.push("pad.w1/pad_slide_panels".into());
    SMALL[1..3].iter().map(|shape| usize::from(!case(bench, *shape, 4))).sum()
}

/// Moves a core together and apart, and compares every byte.
fn case(bench: &Bench, shape: Shape, elem: usize) -> bool {
    let (rows, cols, count, core) = shape;
    let begins: Vec<usize> = (0..=count).map(|p| cols / count * p + p.min(cols % count)).collect();
    let panels = Panels::new(rows, &begins, core).expect("a core");
    let at = TargetParams { elem_bytes: elem, alignment: 16, limits: bench.gpu.device().limits() };
    let whole = pattern(rows * cols * elem);
    let element = |k: usize| k * elem..(k + 1) * elem;
    let [mut source, mut result] = [BorderSide::Source, BorderSide::Result].map(|side| {
        let mut border = vec![0; panels.border_len() * elem];
        for piece in panels.pieces(side) {
            let [down, across] = piece.sides;
            for (r, c) in (0..down).flat_map(|r| (0..across).map(move |c| (r, c))) {
                let to = match side {
                    BorderSide::Source => c * down + r,
                    BorderSide::Result => r * across + c,
                };
                let from = element(piece.at + r * cols + c);
                border[element(piece.border + to)].copy_from_slice(&whole[from]);
            }
        }
        border
    });
    let mut together = vec![0; panels.core_len() * elem];
    let width = core[1];
    for run in (0..panels.core_len()).step_by(width) {
        let from = panels.offset(run) * elem;
        together[run * elem..(run + width) * elem]
            .copy_from_slice(&whole[from..from + width * elem]);
    }
    let core_bytes = together.len();
    together.append(&mut source);
    let first = Work::of_panels_together(&panels, at);
    let second = Work::of_panels_apart(&panels, &[], at);
    let room = [&first, &second].map(|work| work.as_ref().map_or(0, Work::workspace_bytes));
    let (data, workspace) = (memory(whole.len()), memory(room[0].max(room[1])));
    data.index(..).copy_from(&whole).expect("fits");
    let moved = run(bench, first, &data, &workspace).is_ok_and(|()| taken(&data) == together);
    workspace.index(0..result.len()).copy_from(&result).expect("fits");
    result.clear();
    // The border after the core must not count.
    data.index(core_bytes..whole.len())
        .copy_from(&vec![0x5a; whole.len() - core_bytes])
        .expect("fits");
    let back = run(bench, second, &data, &workspace).is_ok_and(|()| taken(&data) == whole);
    if !moved || !back {
        println!("  WRONG {shape:?} w{elem}: together {moved}, apart {back}");
    }
    moved && back
}

fn taken(data: &DeviceBuffer<u8>) -> Vec<u8> {
    let mut bytes = vec![0; data.len()];
    data.copy_to(&mut bytes).expect("fits");
    bytes
}

fn run(
    bench: &Bench,
    work: Result<Work, CudaError>,
    data: &DeviceBuffer<u8>,
    workspace: &DeviceBuffer<u8>,
) -> Result<(), CudaError> {
    let prepared = bench.prepare(work?)?;
    let buffers = Buffers {
        data: (address(data), data.len()),
        source: None,
        workspace: Some((address(workspace), workspace.len())),
    };
    // SAFETY: all buffers are live allocations that nothing else uses.
    unsafe { prepared.run_raw(bench.raw_stream(), buffers) }?;
    bench.stream.synchronize().expect("the kernels end well");
    Ok(())
}
