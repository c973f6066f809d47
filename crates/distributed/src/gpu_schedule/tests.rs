//! Checks the GPU commands of an exchange by a simulation on the host.
//!
//! Commands that touch the same bytes must be ordered by events. All commands together must give
//! the result of ranks that exchange messages. Local stages are the plans that a GPU runs.

use std::collections::HashMap;
use std::ops::Range;

use proptest::prelude::*;
use turntile::mode::InPlace;
use turntile::{RawElements, Transpose};
use turntile_cuda::GpuDevice;
use turntile_cuda::args::{ApartArgs, Args};
use turntile_cuda::launch::DeviceLimits;
use turntile_cuda::peers::{Squares, Swap};
use turntile_perm::{BorderPiece, BorderSide, Panels};

use super::*;
use crate::block_exchange::Message;
use crate::local::{Alternatives, plan_stages};
use crate::tile_choice::fastest_tiles;
use crate::{Communicator, Partition, Redistribution, thread_comm};

/// Number of commands of each stream that are known to have finished.
type Done = HashMap<(usize, bool), usize>;

fn key((rank, kind): StreamId) -> (usize, bool) {
    (rank, kind == StreamKind::Send)
}

/// A byte range of a rank's data (`None`) or of one of its bounce buffers. The workspace follows the
/// data, so that local stages touch both.
type Touched = ((usize, Option<usize>), Range<usize>);

const WORKSPACE: usize = usize::MAX / 2;

fn touched(location: Location, bytes: usize) -> Touched {
    match location {
        Location::Data { rank, at } => ((rank, None), at..at + bytes),
        Location::Bounce { rank, bounce } => ((rank, Some(bounce)), 0..bytes),
        Location::Workspace { rank, at } => ((rank, None), WORKSPACE + at..WORKSPACE + at + bytes),
    }
}

/// Returns the bytes from the first to the last that a swap moves, of a block and of its mirror block.
fn swap_bytes(block: PeerBlock, elem: usize) -> [usize; 2] {
    match block {
        PeerBlock::Run(bytes) => [bytes; 2],
        PeerBlock::Squares(Squares { sides: [rows, cols], across: [down, across], pitch }) => {
            let bytes = |rows: usize, cols: usize| ((rows - 1) * pitch + cols) * elem;
            // Several squares are in the same places of both blocks.
            let several = down * across > 1;
            let mirror =
                if several { bytes(down * rows, across * cols) } else { bytes(cols, rows) };
            [bytes(down * rows, across * cols), mirror]
        }
    }
}

fn overlap(a: &Touched, b: &Touched) -> bool {
    a.0 == b.0 && a.1.start < b.1.end && b.1.start < a.1.end
}

/// Returns two commands that race, if any: they touch the same bytes, one of them writes, and no
/// event orders them.
fn unordered(commands: &[GpuCommand], elem: usize) -> Option<[GpuCommand; 2]> {
    let (mut known, mut events) = (HashMap::<_, Done>::new(), HashMap::<_, Done>::new());
    // Command, its stream, its index in the stream, the bytes written and the bytes read.
    let mut before: Vec<(GpuCommand, StreamId, usize, Touched, Touched)> = Vec::new();
    for &command in commands {
        let (on, written, read) = match command {
            GpuCommand::Wait { on, event } => {
                let event = events.get(&(key(event.0), event.1)).cloned().unwrap_or_default();
                let known: &mut Done = known.entry(key(on)).or_default();
                for (stream, count) in event {
                    let now = known.entry(stream).or_default();
                    *now = count.max(*now);
                }
                continue;
            }
            GpuCommand::Record(event) => {
                events.insert(
                    (key(event.0), event.1),
                    known.get(&key(event.0)).cloned().unwrap_or_default(),
                );
                continue;
            }
            GpuCommand::Copy { on, to, from, bytes } => {
                (on, touched(to, bytes), touched(from, bytes))
            }
            // `simulate_swaps` checks which bytes of its two blocks a swap touches.
            GpuCommand::Swap { on, blocks, block, .. } => {
                let [bytes, mirror] = swap_bytes(block.0, elem);
                (on, touched(blocks[0], bytes), touched(blocks[1], mirror))
            }
            GpuCommand::Local { rank, .. } => {
                let all = ((rank, None), 0..usize::MAX);
                ((rank, StreamKind::Local), all.clone(), all)
            }
        };
        let known = known.entry(key(on)).or_default();
        for (other, stream, index, other_written, other_read) in &before {
            let swaps = [other, &command].map(|command| matches!(command, GpuCommand::Swap { .. }));
            if swaps == [true; 2] {
                continue;
            }
            let conflict = overlap(&written, other_written)
                || overlap(&written, other_read)
                || overlap(&read, other_written);
            if conflict && known.get(&key(*stream)).copied().unwrap_or(0) <= *index {
                return Some([*other, command]);
            }
        }
        let index = known.entry(key(on)).or_default();
        before.push((command, on, *index, written, read));
        *index += 1;
    }
    None
}

/// Simulates the commands of [`copies`] on all ranks' data, local stages included. If `last` is
/// set, each local stage uses its last alternative, otherwise the first that can be planned.
fn simulate_copies(change: &Redistribution, chunk: usize, last: bool, data: &mut [Vec<u8>]) {
    let ranks = data.len();
    let planner = turntile::plan::Planner::new(GpuDevice::h200());
    let requests: Vec<_> = (0..ranks).map(|rank| change.stage_requests(rank).unwrap()).collect();
    let blocks = requests[0].blocks.as_ref();
    let bounce = |r| blocks.map_or(0, |blocks| blocks.bounce_bytes_with_slides(r, chunk));
    let mut bounces: Vec<_> =
        (0..ranks).map(|r| vec![vec![0u8; bounce(r)]; BOUNCE_BUFFERS]).collect();
    let commands = copies(ranks, blocks, chunk);
    assert_eq!(unordered(&commands, change.itemsize()), None);
    for command in commands {
        match command {
            GpuCommand::Local { rank, step } => {
                let plan = |stage: &Transpose| {
                    turntile::Transposer::<InPlace>::new(planner.plan(&stage.problem()?)?, 1)
                };
                let mut stages = requests[rank].local[step].clone();
                for alternatives in stages.iter_mut().filter(|_| last) {
                    alternatives.drain(..alternatives.len().saturating_sub(1));
                }
                for (range, stage) in plan_stages(&stages, plan).unwrap() {
                    stage.run(&mut RawElements(&mut data[rank][range])).unwrap();
                }
            }
            GpuCommand::Copy { to, from, bytes, .. } => {
                let copied = match from {
                    Location::Data { rank, at } => data[rank][at..at + bytes].to_vec(),
                    Location::Bounce { rank, bounce } => bounces[rank][bounce][..bytes].to_vec(),
                    Location::Workspace { .. } => panic!("{command:?}"),
                };
                match to {
                    Location::Data { rank, at } => {
                        data[rank][at..at + bytes].copy_from_slice(&copied)
                    }
                    Location::Bounce { rank, bounce } => {
                        bounces[rank][bounce][..bytes].copy_from_slice(&copied)
                    }
                    Location::Workspace { .. } => panic!("{command:?}"),
                }
            }
            GpuCommand::Swap { .. } | GpuCommand::Record(_) | GpuCommand::Wait { .. } => {}
        }
    }
}

/// Simulates the local stages of a rank in the order of a plan for a GPU.
fn simulate_stages(stages: &[Alternatives], part: &mut [u8]) {
    let planner = turntile::plan::Planner::new(GpuDevice::h200());
    let plan = |stage: &Transpose| {
        turntile::Transposer::<InPlace>::new(planner.plan(&stage.problem()?)?, 1)
    };
    for (range, stage) in plan_stages(stages, plan).unwrap() {
        stage.run(&mut RawElements(&mut part[range])).unwrap();
    }
}

/// Simulates the swaps on all ranks' data, by the parameters of their launches. Checks that no byte
/// moves twice. Returns the bytes that have moved.
fn simulate_swaps(commands: &[GpuCommand], elem: usize, data: &mut [Vec<u8>]) -> usize {
    let mut moved: Vec<Vec<bool>> = data.iter().map(|part| vec![false; part.len()]).collect();
    assert_eq!(unordered(commands, elem), None);
    for command in commands {
        let GpuCommand::Swap { on, blocks, launch, block: (block, alignment) } = *command else {
            continue;
        };
        let blocks = blocks.map(|location| match location {
            Location::Data { rank, at } => (rank, at),
            _ => panic!("{command:?}"),
        });
        assert!(blocks.iter().all(|(_, at)| at % alignment == 0), "{command:?}");
        let launches = Swap::lower(block, elem, alignment, &DeviceLimits::H200).unwrap();
        let Args::Apart(a) = launches[launch as usize].params else { panic!("{launches:?}") };
        let rank = blocks[usize::from(launch == SwapHalf::Second)].0;
        let kind = if launch == SwapHalf::Own { StreamKind::Local } else { StreamKind::Send };
        assert_eq!((on, blocks[0] == blocks[1]), ((rank, kind), launch == SwapHalf::Own));
        simulate_swap(&a, blocks, data, &mut moved);
    }
    moved.iter().flatten().filter(|&&moved| moved).count()
}

/// Simulates [`tile_swaps`] and the local stages. Checks that every byte moves, or every byte of the
/// core.
fn simulate_tile_swaps(change: &Redistribution, squares: &PeerSquares, data: &mut [Vec<u8>]) {
    let (blocks, elem) = (change.stage_requests(0).unwrap().blocks.unwrap(), change.itemsize());
    let commands = tile_swaps(&blocks, squares, elem);
    let mut all: usize = data.iter().map(Vec::len).sum();
    let mut fetched: Vec<Vec<u8>> = vec![Vec::new(); data.len()];
    if let Some(border) = &squares.border {
        for (rank, part) in data.iter_mut().enumerate() {
            let panels = border.source(rank);
            let mut together = of_core(panels, part, elem);
            for BorderPiece { at, sides: [rows, cols], border } in panels.pieces(BorderSide::Source)
            {
                assert_eq!(together.len(), (panels.core_len() + border) * elem);
                for (c, r) in (0..cols).flat_map(|c| (0..rows).map(move |r| (c, r))) {
                    let from = (at + r * panels.cols() + c) * elem;
                    together.extend_from_slice(&part[from..from + elem]);
                }
            }
            part[..together.len()].copy_from_slice(&together);
            fetched[rank] = vec![0; border.result(rank).border_len() * elem];
        }
        all = border.source(0).core_len() * elem * data.len();
    }
    assert_eq!(simulate_swaps(&commands, elem, data), all);
    for command in &commands {
        let GpuCommand::Copy { on, to, from, bytes } = *command else { continue };
        let (Location::Workspace { rank, at }, Location::Data { rank: other, at: begin }) =
            (to, from)
        else {
            panic!("{command:?}")
        };
        assert_eq!(on, (rank, StreamKind::Send));
        fetched[rank][at..at + bytes].copy_from_slice(&data[other][begin..begin + bytes]);
    }
    for (rank, part) in data.iter_mut().enumerate() {
        simulate_stages(&change.stages_after_swap(squares), part);
        let Some(border) = &squares.border else { continue };
        let panels = border.result(rank);
        let mut apart = part.clone();
        for k in 0..panels.core_len() {
            let to = panels.offset(k) * elem;
            apart[to..to + elem].copy_from_slice(&part[k * elem..(k + 1) * elem]);
        }
        for BorderPiece { at, sides: [rows, cols], border } in panels.pieces(BorderSide::Result) {
            for (r, c) in (0..rows).flat_map(|r| (0..cols).map(move |c| (r, c))) {
                let (to, from) =
                    ((at + r * panels.cols() + c) * elem, (border + r * cols + c) * elem);
                apart[to..to + elem].copy_from_slice(&fetched[rank][from..from + elem]);
            }
        }
        *part = apart;
    }
}

/// Returns the bytes of the core of a part.
fn of_core(panels: &Panels, part: &[u8], elem: usize) -> Vec<u8> {
    let element = |k: usize| panels.offset(k) * elem;
    (0..panels.core_len()).flat_map(|k| part[element(k)..element(k) + elem].to_vec()).collect()
}

/// Simulates [`byte_swaps`] between the local stages, followed by the messages that remain.
fn simulate_byte_swaps(change: &Redistribution, chunk: usize, data: &mut [Vec<u8>]) {
    let stages: Vec<_> = (0..data.len()).map(|r| change.stage_requests(r).unwrap()).collect();
    let blocks = stages[0].blocks.as_ref().unwrap();
    for (part, stages) in data.iter_mut().zip(&stages) {
        simulate_stages(&stages.local[0], part);
    }
    simulate_swaps(&byte_swaps(blocks), change.itemsize(), data);
    let sent = std::sync::Mutex::new(data.iter_mut().map(Some).collect::<Vec<_>>());
    thread_comm::run(stages.len(), |mut comm| {
        let rank = Communicator::rank(&comm);
        let part = sent.lock().unwrap()[rank].take().unwrap();
        for message in blocks.messages(rank, chunk) {
            match message {
                Message::Swap { .. } => Ok(()),
                Message::Slide { from, to, bytes } => {
                    part.copy_within(from..from + bytes, to);
                    Ok(())
                }
                Message::Send { partner, at } => comm.exchange(partner, &part[at], &mut []),
                Message::Receive { partner, at } => comm.exchange(partner, &[], &mut part[at]),
            }
            .unwrap();
        }
        simulate_stages(&stages[rank].local[1], part);
    });
}

/// Simulates the kernel `square_swap_apart` on the host. The order of tile pairs in a block may
/// differ from the kernel's.
fn simulate_swap(
    a: &ApartArgs,
    [block, mirror]: [(usize, usize); 2],
    data: &mut [Vec<u8>],
    moved: &mut [Vec<bool>],
) {
    let is_run = a.word == 0;
    let word = if is_run { a.granule } else { a.word } as usize;
    let tile = if is_run { (16 << 10) / word } else { 256 / word };
    let (own, pitch) = (block == mirror, a.pitch as usize);
    let [rows, cols, across] = [a.rows, a.cols, a.across].map(|count| count as usize);
    let pairs: Vec<(usize, usize)> = {
        let all = (0..rows.div_ceil(tile)).flat_map(|i| (0..across).map(move |j| (i, j)));
        all.filter(|(i, j)| !own || i <= j).collect()
    };
    assert_eq!(pairs.len(), a.pairs as usize);
    for n in (a.first..a.end).map(|n| n as usize) {
        let (square, (i, j)) = (n / pairs.len(), pairs[n % pairs.len()]);
        let [square_row, square_col] = [square / a.squares as usize, square % a.squares as usize];
        let at =
            |r: usize, c: usize| (square_row * rows + r) * pitch + (square_col * cols + c) * word;
        let tile = |k: usize, end: usize| k * tile..end.min((k + 1) * tile);
        for (r, c) in tile(i, rows).flat_map(|r| tile(j, cols).map(move |c| (r, c))) {
            if own && i == j && r > c {
                continue;
            }
            let image = if is_run { at(r, c) } else { at(c, r) };
            let [(x, upper), (y, lower)] =
                [(block, at(r, c)), (mirror, image)].map(|((rank, begin), at)| (rank, begin + at));
            for byte in 0..word {
                let [here, there] = [upper + byte, lower + byte];
                assert!(!std::mem::replace(&mut moved[x][here], true));
                assert!((x, here) == (y, there) || !std::mem::replace(&mut moved[y][there], true));
                let saved = data[x][here];
                data[x][here] = std::mem::replace(&mut data[y][there], saved);
            }
        }
    }
}

/// Implementation of the exchange; copies by the last alternative of each stage, or by the first.
enum Variant {
    Copies(bool),
    Bytes,
    Tiles(PeerSquares),
}

fn check(change: &Redistribution, ranks: usize, chunk: usize) {
    let planned: Vec<_> = (0..ranks).map(|rank| change.plan(rank).unwrap()).collect();
    let byte = |rank: usize, at: usize| (at * 31 + rank * 7 + at / 251) as u8;
    let data: Vec<Vec<u8>> = (0..ranks)
        .map(|rank| (0..planned[rank].capacity()).map(|at| byte(rank, at)).collect())
        .collect();
    let want = thread_comm::run(ranks, |mut rank| {
        let r = Communicator::rank(&rank);
        let mut data = data[r].clone();
        planned[r].run(&mut rank, &mut data).unwrap();
        data.truncate(planned[r].len_after());
        data
    });
    let elem = change.itemsize();
    let lowers = |commands: &[GpuCommand]| {
        commands.iter().all(|command| match *command {
            GpuCommand::Swap { block: (block, alignment), .. } => {
                Swap::lower(block, elem, alignment, &DeviceLimits::H200).is_ok()
            }
            _ => true,
        })
    };
    let blocks = change.stage_requests(0).unwrap().blocks;
    let swaps = blocks.as_ref().is_some_and(|blocks| lowers(&byte_swaps(blocks)));
    let tiles = |squares: &PeerSquares| {
        blocks.as_ref().is_some_and(|blocks| lowers(&tile_swaps(blocks, squares, elem)))
    };
    let variants = [Variant::Copies(false), Variant::Copies(true)].into_iter();
    let variants = variants.chain(swaps.then_some(Variant::Bytes));
    let squares = change.squares().chain(change.core_squares()).filter(tiles);
    for variant in variants.chain(squares.map(Variant::Tiles)) {
        let mut data = data.clone();
        match variant {
            Variant::Copies(last) => simulate_copies(change, chunk, last, &mut data),
            Variant::Bytes => simulate_byte_swaps(change, chunk, &mut data),
            Variant::Tiles(squares) => simulate_tile_swaps(change, &squares, &mut data),
        }
        for (r, want) in want.iter().enumerate() {
            assert!(data[r][..want.len()] == want[..], "rank {r} of {change:?}");
        }
    }
}

fn matrix(rows: Partition, cols: Partition) -> Redistribution {
    Redistribution::transpose(rows, cols, 4).threads(1)
}

#[test]
fn copies_give_the_result_of_ranks_for_balanced_parts_and_blocks() {
    for ranks in 1..=6 {
        for (m, n) in [(12, 12), (7, 11), (1, 5), (24, 18), (3, 40), (0, 4)] {
            for cut in [Partition::balanced, Partition::blocks] {
                check(&matrix(cut(m, ranks), cut(n, ranks)), ranks, 20);
            }
        }
    }
}

#[test]
fn tiles_have_the_side_of_a_part_when_parts_are_square() {
    for (ranks, side) in (2..=5).flat_map(|ranks| [4, 60, 68, 132].map(|side| (ranks, side))) {
        let parts = Partition::balanced(ranks * side, ranks);
        for elem in [4, 8, 16] {
            let change = Redistribution::transpose(parts.clone(), parts.clone(), elem).threads(1);
            assert_eq!(
                fastest_tiles(&change, &[&GpuDevice::h200()])
                    .map(|squares| squares.squares.unwrap().sides[0]),
                Some(side)
            );
            check(&change, ranks, 1 << 16);
        }
    }
}

/// Checks squares whose rows and columns have the same parts, with rows and blocks of any alignment
/// and with empty parts.
#[test]
fn tile_swaps_give_the_result_of_ranks_for_squares_in_equal_or_unequal_parts() {
    let lists: [&[usize]; 6] =
        [&[65, 64], &[1, 1, 1], &[0, 70, 3], &[66, 66, 66], &[129, 64, 0, 200, 1], &[10; 8]];
    for (sizes, elem) in lists.into_iter().flat_map(|sizes| [4, 8, 16].map(|elem| (sizes, elem))) {
        let parts = Partition::new(sizes).unwrap();
        let change = Redistribution::transpose(parts.clone(), parts, elem).threads(1);
        assert!(fastest_tiles(&change, &[&GpuDevice::h200()]).is_some(), "{sizes:?} {elem}");
        check(&change, sizes.len(), 1 << 16);
    }
}

/// Checks every square side that divides both parts, including sides that are not a multiple of the
/// kernel's tile.
#[test]
fn tile_swaps_give_the_result_of_ranks_for_rectangles_in_equal_parts() {
    for ranks in 2..=4 {
        for (m, n) in [(64, 128), (192, 128), (68, 204)] {
            let [rows, cols] = [m, n].map(|part| Partition::balanced(ranks * part, ranks));
            for elem in [4, 8, 16] {
                let change = Redistribution::transpose(rows.clone(), cols.clone(), elem).threads(1);
                assert!(fastest_tiles(&change, &[&GpuDevice::h200()]).is_some(), "{m} {n} {elem}");
                check(&change, ranks, 1 << 16);
            }
        }
    }
}

/// Checks every side of the squares of a core, for parts of different sizes and for equal parts
/// that no side divides.
#[test]
fn core_swaps_give_the_result_of_ranks_for_parts_of_almost_equal_sizes() {
    for (ranks, m, n) in
        [(2, 131, 257), (2, 260, 1038), (3, 401, 590), (4, 1027, 522), (5, 643, 641)]
    {
        for cut in [Partition::balanced, Partition::blocks] {
            for (k, elem) in [4, 8, 16].into_iter().enumerate() {
                // By default one of these sizes per matrix.
                let exhaustive = std::env::var_os("TURNTILE_EXHAUSTIVE").is_some();
                if !exhaustive && k != (ranks + m) % 3 {
                    continue;
                }
                let change =
                    Redistribution::transpose(cut(m, ranks), cut(n, ranks), elem).threads(1);
                let cores = change.core_squares().count();
                let chosen = fastest_tiles(&change, &[&GpuDevice::h200()]);
                assert_eq!(chosen.is_some_and(|tiles| tiles.border.is_some()), cores > 0);
                check(&change, ranks, 1 << 16);
            }
        }
    }
    let of = |m, n, ranks| {
        let [m, n] = [m, n].map(|extent| Partition::balanced(extent, ranks));
        Redistribution::transpose(m, n, 4).core_squares().collect::<Vec<_>>()
    };
    assert!(!of(30_011, 20_021, 2).is_empty());
    assert!(!of(260, 1038, 2).is_empty());
    // More than an eighth of a part would be border.
    assert!(of(200, 150, 2).is_empty());
    assert!(of(1_000_003, 5, 2).is_empty());
}

#[test]
fn no_tiles_are_chosen_when_tiles_cannot_be_swapped() {
    let parts = |extent, ranks| Partition::balanced(extent, ranks);
    let side = |change: &Redistribution| {
        Some(fastest_tiles(change, &[&GpuDevice::h200()])?.squares?.sides[0])
    };
    for (rows, cols) in [
        (parts(8, 1), parts(8, 1)),
        (parts(9, 2), parts(10, 2)),
        (parts(0, 2), parts(0, 2)),
        // Several squares per block, smaller than the kernel's tile.
        (parts(8, 2), parts(16, 2)),
        (parts(120, 2), parts(240, 2)),
    ] {
        assert_eq!(side(&Redistribution::transpose(rows, cols, 4)), None);
    }
    let square = Redistribution::transpose(parts(8, 2), parts(8, 2), 4);
    assert_eq!(side(&square), Some(4));
    assert_eq!(side(&square.schedule(crate::Schedule::AxesFirst)), None);
    let cut = |before, after| {
        let [before, after] = [before, after].map(|axis| (axis, parts(8, 2)));
        side(&Redistribution::of_axes(&[8, 8], &[1, 0], 4, before, after))
    };
    assert_eq!([cut(0, 1), cut(1, 0), cut(1, 1)], [None; 3]);
}

/// Checks that the local stage's cost counts: with the largest tile side, it would permute two
/// blocks of squares in a few long cycles.
#[test]
fn tile_side_is_chosen_by_the_cost_of_the_remaining_local_stage() {
    let parts = |extent| Partition::balanced(extent, 2);
    for (m, n, least, most) in [(65_536, 32_768, 64, 8192), (49_152, 40_960, 64, 4096)] {
        let change = Redistribution::transpose(parts(m), parts(n), 4);
        let side = fastest_tiles(&change, &[&GpuDevice::h200()]).unwrap().squares.unwrap().sides[0];
        assert!((least..=most).contains(&side), "{m} x {n}: {side}");
    }
}

#[test]
fn copies_give_the_result_of_ranks_when_the_partitioned_axis_stays() {
    let parts = Partition::new(&[3, 0, 2]).unwrap();
    let after = (0, parts.clone());
    check(&Redistribution::of_axes(&[4, 5, 6], &[1, 2, 0], 2, (1, parts), after), 3, 16);
}

#[test]
fn race_is_found_when_a_wait_is_removed() {
    let parts = |extent| Partition::balanced(extent, 3);
    let blocks = BlockExchange::new(parts(9), parts(10), 4);
    let squares = PeerSquares::all(&parts(192), &parts(384)).next().unwrap();
    let copies = (copies(3, Some(&blocks), 8), 11);
    let cores = PeerSquares::of_core(&parts(193), &parts(389), 4, usize::MAX);
    let cores = (tile_swaps(&blocks, &cores[0], 4), 18);
    // Every rank waits for all three ranks.
    let swaps = (tile_swaps(&blocks, &squares, 4), 9);
    for (all, min_needed) in [copies, swaps, cores] {
        assert_eq!(unordered(&all, 4), None);
        let waits = (0..all.len()).filter(|&k| matches!(all[k], GpuCommand::Wait { .. }));
        let needed = waits.filter(|&k| {
            let without = all.iter().enumerate().filter(|(other, _)| *other != k);
            unordered(&without.map(|(_, command)| *command).collect::<Vec<_>>(), 4).is_some()
        });
        assert!(needed.count() >= min_needed);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]
    #[test]
    fn copies_give_the_result_of_ranks_for_any_parts(
        sizes in prop::collection::vec((0usize..9, 0usize..9), 1..6),
        inner in 1usize..4,
        outer in 1usize..3,
        chunk in 1usize..200,
    ) {
        let (before, after): (Vec<_>, Vec<_>) = sizes.into_iter().unzip();
        let [before, after] = [before, after].map(|sizes| Partition::new(&sizes).unwrap());
        let (ranks, shape) = (before.ranks(), [outer, before.extent(), after.extent(), inner]);
        let change = Redistribution::of_axes(&shape, &[2, 0, 3, 1], 4, (1, before), (0, after));
        check(&change.threads(1), ranks, chunk);
    }
}

/// Checks records that exceed on-chip memory: each field is then transposed separately.
#[test]
fn copies_give_the_result_of_ranks_when_rows_exceed_on_chip_memory() {
    check(&matrix(Partition::balanced(9, 2), Partition::balanced(200_003, 2)), 2, 1 << 16);
    check(&matrix(Partition::balanced(200_003, 3), Partition::balanced(7, 3)), 3, 1 << 16);
}
