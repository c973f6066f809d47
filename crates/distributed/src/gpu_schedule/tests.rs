//! What is queued, followed on a host: commands that touch the same bytes are in an order, and all together do what ranks do
//! that exchange messages. Local stages are the plans that a GPU gets.

use std::collections::HashMap;
use std::ops::Range;

use proptest::prelude::*;
use turntile::{RawElements, Transpose};
use turntile_cuda::Chip;
use turntile_cuda::args::{ApartArgs, Args};
use turntile_cuda::call::Limits;
use turntile_cuda::peers::Swap;
use turntile_perm::{Partition, PeerSquares};

use super::*;
use crate::local::planned;
use crate::tile_choice::fastest;
use crate::{Redistribution, thread_comm};

/// How many commands of each queue are known to be done.
type Done = HashMap<(usize, bool), usize>;

fn key((rank, side): StreamId) -> (usize, bool) {
    (rank, side == StreamKind::Out)
}

/// Bytes of a rank's data, or of one of its buffers.
type Touched = ((usize, Option<usize>), Range<usize>);

fn touched(spot: Location, bytes: usize) -> Touched {
    match spot {
        Location::Data { rank, at } => ((rank, None), at..at + bytes),
        Location::Bounce { rank, bounce } => ((rank, Some(bounce)), 0..bytes),
    }
}

fn overlap(a: &Touched, b: &Touched) -> bool {
    a.0 == b.0 && a.1.start < b.1.end && b.1.start < a.1.end
}

/// Two commands that touch the same bytes, one of which writes them, while nothing says which comes first.
fn unordered(commands: &[Command]) -> Option<[Command; 2]> {
    let (mut known, mut marks) = (HashMap::<_, Done>::new(), HashMap::<_, Done>::new());
    // Queue, its number there, what is written, what is read.
    let mut before: Vec<(Command, StreamId, usize, Touched, Touched)> = Vec::new();
    for &command in commands {
        let (on, written, read) = match command {
            Command::Wait { on, mark } => {
                let mark = marks.get(&(key(mark.0), mark.1)).cloned().unwrap_or_default();
                let known: &mut Done = known.entry(key(on)).or_default();
                for (queue, count) in mark {
                    let now = known.entry(queue).or_default();
                    *now = count.max(*now);
                }
                continue;
            }
            Command::Record(mark) => {
                marks.insert(
                    (key(mark.0), mark.1),
                    known.get(&key(mark.0)).cloned().unwrap_or_default(),
                );
                continue;
            }
            Command::Copy { on, to, from, bytes } => (on, touched(to, bytes), touched(from, bytes)),
            // Of swaps, which bytes they touch is compared where they are followed.
            Command::Swap { on, blocks, .. } => {
                let [block, mirror] = blocks.map(|spot| (touched(spot, 0).0, 0..usize::MAX));
                (on, block, mirror)
            }
            Command::Local { rank, .. } => {
                let all = ((rank, None), 0..usize::MAX);
                ((rank, StreamKind::Own), all.clone(), all)
            }
        };
        let known = known.entry(key(on)).or_default();
        for (other, queue, number, others, read_there) in &before {
            let swaps = [other, &command].map(|command| matches!(command, Command::Swap { .. }));
            if swaps == [true; 2] {
                continue;
            }
            let meet = overlap(&written, others)
                || overlap(&written, read_there)
                || overlap(&read, others);
            if meet && known.get(&key(*queue)).copied().unwrap_or(0) <= *number {
                return Some([*other, command]);
            }
        }
        let number = known.entry(key(on)).or_default();
        before.push((command, on, *number, written, read));
        *number += 1;
    }
    None
}

/// What a GPU would do in all ranks' memory, local stages included, by the last of their ways if so said.
fn follow(change: &Redistribution, chunk: usize, last: bool, data: &mut [Vec<u8>]) {
    let ranks = data.len();
    let planner = turntile::plan::Planner::new(Chip::h200());
    let steps: Vec<_> = (0..ranks).map(|rank| change.steps(rank).unwrap()).collect();
    let blocks = steps[0].blocks.as_ref();
    let bounce = |r| blocks.map_or(0, |blocks| blocks.bounce_bytes_with_slides(r, chunk));
    let mut bounces: Vec<_> = (0..ranks).map(|r| vec![vec![0u8; bounce(r)]; BOUNCES]).collect();
    let commands = commands(ranks, blocks, chunk);
    assert_eq!(unordered(&commands), None);
    for command in commands {
        match command {
            Command::Local { rank, step } => {
                let plan = |stage: &Transpose| {
                    turntile::Transposer::new(planner.plan(&stage.problem()?)?, 1)
                };
                let mut stages = steps[rank].local[step].clone();
                for ways in stages.iter_mut().filter(|_| last) {
                    ways.drain(..ways.len().saturating_sub(1));
                }
                for (range, stage) in planned(&stages, plan).unwrap() {
                    stage.run(&mut RawElements(&mut data[rank][range])).unwrap();
                }
            }
            Command::Copy { to, from, bytes, .. } => {
                let copied = match from {
                    Location::Data { rank, at } => data[rank][at..at + bytes].to_vec(),
                    Location::Bounce { rank, bounce } => bounces[rank][bounce][..bytes].to_vec(),
                };
                match to {
                    Location::Data { rank, at } => {
                        data[rank][at..at + bytes].copy_from_slice(&copied)
                    }
                    Location::Bounce { rank, bounce } => {
                        bounces[rank][bounce][..bytes].copy_from_slice(&copied)
                    }
                }
            }
            Command::Swap { .. } | Command::Record(_) | Command::Wait { .. } => {}
        }
    }
}

/// Blocks change places by what their launches say, pair of tiles by pair; no element is in two. Then what is left to do.
fn follow_squares(change: &Redistribution, squares: &PeerSquares, data: &mut [Vec<u8>]) {
    let (ranks, elem) = (data.len(), change.elem_bytes());
    let launches = Swap::lower(squares, elem, &Limits::H200).unwrap();
    let planner = turntile::plan::Planner::new(Chip::h200());
    let mut moved: Vec<Vec<bool>> = data.iter().map(|part| vec![false; part.len()]).collect();
    let blocks = change.steps(0).unwrap().blocks.unwrap();
    let commands = swaps(&blocks, squares, elem);
    assert_eq!(unordered(&commands), None);
    let mut queued = 0;
    for command in commands {
        match command {
            Command::Swap { on, blocks, launch } => {
                let blocks = blocks.map(|spot| match spot {
                    Location::Data { rank, at } => (rank, at),
                    Location::Bounce { .. } => panic!("{command:?}"),
                });
                let Args::Apart(a) = launches[launch as usize].params else {
                    panic!("{launches:?}")
                };
                let on_it = blocks[usize::from(launch == Launch::Second)].0;
                let side = if launch == Launch::Own { StreamKind::Own } else { StreamKind::Out };
                assert_eq!((on, blocks[0] == blocks[1]), ((on_it, side), launch == Launch::Own));
                follow_swap(&a, elem, blocks, data, &mut moved);
                queued += 1;
            }
            Command::Local { rank, step: 1 } => {
                assert!(moved.iter().flatten().all(|&moved| moved));
                let plan = |stage: &Transpose| {
                    turntile::Transposer::new(planner.plan(&stage.problem()?)?, 1)
                };
                for (range, stage) in planned(&change.after_squares(squares), plan).unwrap() {
                    stage.run(&mut RawElements(&mut data[rank][range])).unwrap();
                }
            }
            Command::Record(_) | Command::Wait { .. } => {}
            _ => panic!("{command:?}"),
        }
    }
    assert!(moved.iter().flatten().all(|&moved| moved));
    assert_eq!(queued, ranks * ranks);
}

/// As `square_swap_apart`, whose order of pairs of a block's own does not matter here.
fn follow_swap(
    a: &ApartArgs,
    elem: usize,
    [block, mirror]: [(usize, usize); 2],
    data: &mut [Vec<u8>],
    moved: &mut [Vec<bool>],
) {
    let (own, tile, side, pitch) = (block == mirror, 256 / elem, a.side as usize, a.pitch as usize);
    let pairs: Vec<(usize, usize)> = {
        let across = a.across as usize;
        let all = (0..across).flat_map(|i| (0..across).map(move |j| (i, j)));
        all.filter(|(i, j)| !own || i <= j).collect()
    };
    assert_eq!(pairs.len(), a.pairs as usize);
    for n in (a.first..a.end).map(|n| n as usize) {
        let (square, (i, j)) = (n / pairs.len(), pairs[n % pairs.len()]);
        let [down, beside] = [square / a.squares as usize, square % a.squares as usize];
        let at = |r: usize, c: usize| (down * side + r) * pitch + (beside * side + c) * elem;
        let tile = |k: usize| k * tile..side.min((k + 1) * tile);
        for (r, c) in tile(i).flat_map(|r| tile(j).map(move |c| (r, c))) {
            if own && i == j && r > c {
                continue;
            }
            let [(x, upper), (y, lower)] = [(block, at(r, c)), (mirror, at(c, r))]
                .map(|((rank, begin), at)| (rank, begin + at));
            for byte in 0..elem {
                let [here, there] = [upper + byte, lower + byte];
                assert!(!std::mem::replace(&mut moved[x][here], true));
                assert!((x, here) == (y, there) || !std::mem::replace(&mut moved[y][there], true));
                let held = data[x][here];
                data[x][here] = std::mem::replace(&mut data[y][there], held);
            }
        }
    }
}

fn check(change: &Redistribution, ranks: usize, chunk: usize) {
    let planned: Vec<_> = (0..ranks).map(|rank| change.plan(rank).unwrap()).collect();
    let byte = |rank: usize, at: usize| (at * 31 + rank * 7 + at / 251) as u8;
    let data: Vec<Vec<u8>> = (0..ranks)
        .map(|rank| (0..planned[rank].capacity()).map(|at| byte(rank, at)).collect())
        .collect();
    let want = thread_comm::run(ranks, |mut rank| {
        let r = crate::Communicator::rank(&rank);
        let mut data = data[r].clone();
        planned[r].run(&mut rank, &mut data).unwrap();
        data.truncate(planned[r].len_after());
        data
    });
    let lowers =
        |squares: &PeerSquares| Swap::lower(squares, change.elem_bytes(), &Limits::H200).is_ok();
    let squares = change.squares().filter(lowers).map(Ok);
    for way in [false, true].into_iter().map(Err).chain(squares) {
        let mut data = data.clone();
        match way {
            Err(last) => follow(change, chunk, last, &mut data),
            Ok(squares) => follow_squares(change, &squares, &mut data),
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
fn balanced_parts_and_blocks() {
    for ranks in 1..=6 {
        for (m, n) in [(12, 12), (7, 11), (1, 5), (24, 18), (3, 40), (0, 4)] {
            for cut in [Partition::balanced, Partition::blocks] {
                check(&matrix(cut(m, ranks), cut(n, ranks)), ranks, 20);
            }
        }
    }
}

#[test]
fn squares_in_equal_parts() {
    for (ranks, side) in (2..=5).flat_map(|ranks| [4, 60, 68, 132].map(|side| (ranks, side))) {
        let parts = Partition::balanced(ranks * side, ranks);
        for elem in [4, 8, 16] {
            let change = Redistribution::transpose(parts.clone(), parts.clone(), elem).threads(1);
            assert_eq!(
                fastest(&change, &[&Chip::h200()]).map(|squares| squares.side()),
                Some(side)
            );
            check(&change, ranks, 1 << 16);
        }
    }
}

/// Of every side that divides both, whole tiles and others.
#[test]
fn rectangles_in_equal_parts() {
    for ranks in 2..=4 {
        for (m, n) in [(64, 128), (192, 128), (68, 204)] {
            let [rows, cols] = [m, n].map(|part| Partition::balanced(ranks * part, ranks));
            for elem in [4, 8, 16] {
                let change = Redistribution::transpose(rows.clone(), cols.clone(), elem).threads(1);
                assert!(fastest(&change, &[&Chip::h200()]).is_some(), "{m} {n} {elem}");
                check(&change, ranks, 1 << 16);
            }
        }
    }
}

#[test]
fn what_has_no_squares_to_swap() {
    let parts = |extent, ranks| Partition::balanced(extent, ranks);
    let side = |change: &Redistribution| Some(fastest(change, &[&Chip::h200()])?.side());
    for (rows, cols) in [
        (parts(8, 1), parts(8, 1)),
        (parts(9, 2), parts(9, 2)),
        (parts(0, 2), parts(0, 2)),
        // Less than a tile each.
        (parts(8, 2), parts(16, 2)),
        (parts(120, 2), parts(240, 2)),
    ] {
        assert_eq!(side(&Redistribution::transpose(rows, cols, 4)), None);
    }
    let square = Redistribution::transpose(parts(8, 2), parts(8, 2), 4);
    assert_eq!(side(&square), Some(4));
    assert_eq!(side(&square.way(crate::Schedule::AxesFirst)), None);
    let cut = |before, after| {
        let [before, after] = [before, after].map(|axis| (axis, parts(8, 2)));
        side(&Redistribution::of_axes(&[8, 8], &[1, 0], 4, before, after))
    };
    assert_eq!([cut(0, 1), cut(1, 0), cut(1, 1)], [None; 3]);
}

/// One block of squares below the other would make few long cycles of a matrix and its half.
#[test]
fn sides_are_chosen_by_what_is_left_to_do() {
    let parts = |extent| Partition::balanced(extent, 2);
    for (m, n, least, most) in [(65_536, 32_768, 64, 8192), (49_152, 40_960, 64, 4096)] {
        let change = Redistribution::transpose(parts(m), parts(n), 4);
        let side = fastest(&change, &[&Chip::h200()]).unwrap().side();
        assert!((least..=most).contains(&side), "{m} x {n}: {side}");
    }
}

#[test]
fn an_axis_that_stays_cut() {
    let parts = Partition::new(&[3, 0, 2]).unwrap();
    let after = (0, parts.clone());
    check(&Redistribution::of_axes(&[4, 5, 6], &[1, 2, 0], 2, (1, parts), after), 3, 16);
}

#[test]
fn what_lacks_a_wait_is_found() {
    let parts = |extent| Partition::balanced(extent, 3);
    let blocks = BlockExchange::new(parts(9), parts(10), 4);
    let squares = PeerSquares::all(&parts(192), &parts(384)).next().unwrap();
    let copied = (commands(3, Some(&blocks), 8), 11);
    // Every rank waits for all, itself included.
    let swapped = (swaps(&blocks, &squares, 4), 9);
    for (all, least) in [copied, swapped] {
        assert_eq!(unordered(&all), None);
        let waits = (0..all.len()).filter(|&k| matches!(all[k], Command::Wait { .. }));
        let needed = waits.filter(|&k| {
            let without = all.iter().enumerate().filter(|(other, _)| *other != k);
            unordered(&without.map(|(_, command)| *command).collect::<Vec<_>>()).is_some()
        });
        assert!(needed.count() >= least);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]
    #[test]
    fn any_parts(
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

/// Fields of which no launch holds a record: each is transposed by itself.
#[test]
fn ragged_rows_that_no_group_holds() {
    check(&matrix(Partition::balanced(9, 2), Partition::balanced(200_003, 2)), 2, 1 << 16);
    check(&matrix(Partition::balanced(200_003, 3), Partition::balanced(7, 3)), 3, 1 << 16);
}
