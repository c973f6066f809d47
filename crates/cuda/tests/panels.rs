//! Replays, on the host, the moves between a matrix in panels and its core and border.

use turntile_cuda::args::SecondPointer;
use turntile_cuda::launch::widest_word;
use turntile_cuda::{BufferOffset, Work};
use turntile_perm::{BorderSide, Panels};

use crate::cases::at;
use crate::replay;

/// Matrix and workspace.
type Memory = [Vec<u32>; 2];

fn place(spot: BufferOffset) -> (usize, usize) {
    match spot {
        BufferOffset::Data(bytes) => (0, bytes),
        BufferOffset::Workspace(bytes) => (1, bytes),
        BufferOffset::Source(_) => panic!("in place"),
    }
}

/// Executes the launches on memory of one number per byte.
fn execute(work: &Work, memory: &mut Memory) {
    for (call, &[first, second]) in work.calls().iter().zip(work.spots()) {
        crate::lowering::check(call);
        let reads = call.params.second() == Some(SecondPointer::Source);
        let ((to, start), (from, begin)) =
            (place(first), place(if reads { second } else { first }));
        let alignment = widest_word(&[16, start, begin]) as u64;
        let before = memory[from].clone();
        for (offset, &byte) in before.iter().enumerate().skip(begin) {
            let moved = replay::moved(call, alignment, (offset - begin) as u64).unwrap();
            if let Some(moved) = moved {
                memory[to][start + moved as usize] = byte;
            }
        }
    }
}

/// Returns the bytes of core and border, in this order, of a matrix with byte `k` at offset `k`.
fn parts(panels: &Panels, side: BorderSide, elem: usize) -> [Vec<u32>; 2] {
    let bytes = |at: usize| (at * elem..(at + 1) * elem).map(|byte| byte as u32);
    let core = (0..panels.core_len()).flat_map(|k| bytes(panels.offset(k))).collect();
    let mut border = Vec::new();
    for piece in panels.pieces(side) {
        let [rows, cols] = piece.sides;
        let at = |r: usize, c: usize| piece.at + r * panels.cols() + c;
        match side {
            BorderSide::Source => {
                border.extend((0..cols).flat_map(|c| (0..rows).flat_map(move |r| bytes(at(r, c)))));
            }
            BorderSide::Result => {
                border.extend((0..rows).flat_map(|r| (0..cols).flat_map(move |c| bytes(at(r, c)))));
            }
        }
    }
    [core, border]
}

fn check(panels: &Panels, elem: usize) {
    let len = panels.rows() * panels.cols() * elem;
    let whole: Vec<u32> = (0..len as u32).collect();
    let [core, border] = parts(panels, BorderSide::Source, elem);
    let work = Work::of_panels_together(panels, at(elem, 16)).unwrap();
    let room = || vec![u32::MAX; work.workspace_bytes()];
    let mut memory = [whole.clone(), room()];
    execute(&work, &mut memory);
    assert!(memory[0].iter().eq(core.iter().chain(&border)), "{panels:?}, {elem} bytes");

    let [core, border] = parts(panels, BorderSide::Result, elem);
    let work = Work::of_panels_apart(panels, &[], at(elem, 16)).unwrap();
    let mut memory = [vec![u32::MAX; len], room()];
    memory[0][..core.len()].copy_from_slice(&core);
    memory[1][..border.len()].copy_from_slice(&border);
    execute(&work, &mut memory);
    assert!(memory[0] == whole, "{panels:?}, {elem} bytes");
}

#[test]
fn core_and_border_are_separated_and_merged_again() {
    let balanced = |extent: usize, count: usize| -> Vec<usize> {
        (0..=count).map(|p| extent / count * p + p.min(extent % count)).collect()
    };
    // Rows, columns, panels, rows and columns of the core; runs of a few bytes to more than a block.
    for (rows, cols, count, core) in [
        (3, 9, 2, [2, 4]),
        (5, 23, 3, [4, 4]),
        (7, 11, 4, [7, 2]),
        (4, 8, 2, [3, 4]),
        (4, 8, 2, [4, 4]),
        (70, 211, 3, [64, 64]),
        (9, 2600, 2, [8, 1280]),
        (3, 30_011, 2, [2, 14_976]),
    ] {
        let panels = Panels::new(rows, &balanced(cols, count), core).unwrap();
        [4, 8, 16].into_iter().for_each(|elem| check(&panels, elem));
    }
    let panels = Panels::new(5, &[0, 9, 18, 25], [4, 4]).unwrap();
    check(&panels, 4);
}
