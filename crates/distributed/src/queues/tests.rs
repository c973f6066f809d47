//! What is queued, followed on a host: commands that touch the same bytes are in an order, and all together do what ranks do
//! that exchange messages. Local stages are the plans that a GPU gets.

use std::collections::HashMap;
use std::ops::Range;

use proptest::prelude::*;
use turntile::{Bytes, Transpose};
use turntile_cuda::Chip;
use turntile_cuda::args::Args;
use turntile_cuda::call::Limits;
use turntile_cuda::peers::Swap;
use turntile_perm::Parts;

use super::*;
use crate::local::planned;
use crate::{Redistribution, threads};

/// How many commands of each queue are known to be done.
type Done = HashMap<(usize, bool), usize>;

fn key((rank, side): Queue) -> (usize, bool) {
    (rank, side == Side::Out)
}

/// Bytes of a rank's data, or of one of its buffers.
type Touched = ((usize, Option<usize>), Range<usize>);

fn touched(spot: Spot, bytes: usize) -> Touched {
    match spot {
        Spot::Data { rank, at } => ((rank, None), at..at + bytes),
        Spot::Bounce { rank, bounce } => ((rank, Some(bounce)), 0..bytes),
    }
}

fn overlap(a: &Touched, b: &Touched) -> bool {
    a.0 == b.0 && a.1.start < b.1.end && b.1.start < a.1.end
}

/// Two commands that touch the same bytes, one of which writes them, while nothing says which comes first.
fn unordered(commands: &[Command]) -> Option<[Command; 2]> {
    let (mut known, mut marks) = (HashMap::<_, Done>::new(), HashMap::<_, Done>::new());
    // Queue, its number there, what is written, what is read.
    let mut before: Vec<(Command, Queue, usize, Touched, Touched)> = Vec::new();
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
            Command::Swap { .. } => unreachable!("squares are followed by themselves"),
            Command::Local { rank, .. } => {
                let all = ((rank, None), 0..usize::MAX);
                ((rank, Side::Own), all.clone(), all)
            }
        };
        let known = known.entry(key(on)).or_default();
        for (other, queue, number, others, read_there) in &before {
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
                let plan =
                    |stage: &Transpose| turntile::Planned::new(planner.plan(&stage.problem()?)?, 1);
                let mut stages = steps[rank].local[step].clone();
                for ways in stages.iter_mut().filter(|_| last) {
                    ways.drain(..ways.len().saturating_sub(1));
                }
                for (range, stage) in planned(&stages, plan).unwrap() {
                    stage.run(&mut Bytes(&mut data[rank][range])).unwrap();
                }
            }
            Command::Copy { to, from, bytes, .. } => {
                let copied = match from {
                    Spot::Data { rank, at } => data[rank][at..at + bytes].to_vec(),
                    Spot::Bounce { rank, bounce } => bounces[rank][bounce][..bytes].to_vec(),
                };
                match to {
                    Spot::Data { rank, at } => data[rank][at..at + bytes].copy_from_slice(&copied),
                    Spot::Bounce { rank, bounce } => {
                        bounces[rank][bounce][..bytes].copy_from_slice(&copied)
                    }
                }
            }
            Command::Swap { .. } | Command::Record(_) | Command::Wait { .. } => {}
        }
    }
}

/// Squares change places by what their launches say, tile by tile; no element is in two.
fn follow_squares(change: &Redistribution, data: &mut [Vec<u8>]) {
    let (side, [elem, row]) = (change.squares().unwrap(), change.row_bytes());
    let halves = Swap::lower(side, row, elem, &Limits::H200).unwrap();
    let blocks = change.steps(0).unwrap().blocks.unwrap();
    let planner = turntile::plan::Planner::new(Chip::h200());
    let mut moved: Vec<Vec<bool>> = data.iter().map(|part| vec![false; part.len()]).collect();
    let mut queues = Vec::new();
    for command in swaps(&blocks, side * elem) {
        match command {
            Command::Local { rank, step: 0 } => {
                let plan =
                    |stage: &Transpose| turntile::Planned::new(planner.plan(&stage.problem()?)?, 1);
                let stages = [change.own_square(rank, side)];
                for (range, stage) in planned(&stages, plan).unwrap() {
                    for at in range.clone().filter(|at| (at - range.start) % row < side * elem) {
                        assert!(!std::mem::replace(&mut moved[rank][at], true));
                    }
                    let part = &mut Bytes(&mut data[rank][range]);
                    stage.run_within(part, turntile::Options::new()).unwrap();
                }
            }
            Command::Swap { on, squares, half } => {
                let ranks = squares.map(|spot| match spot {
                    Spot::Data { rank, at } => (rank, at),
                    Spot::Bounce { .. } => panic!("{command:?}"),
                });
                assert_eq!(on, (ranks[half].0, Side::Out));
                let Args::Apart(a) = halves[half].params else { panic!("{halves:?}") };
                let tile = 256 / elem;
                for (r, c) in (0..side * side).map(|k| (k / side, k % side)) {
                    let number = (r / tile) as u32 * a.across + (c / tile) as u32;
                    if !(a.first..a.end).contains(&number) {
                        continue;
                    }
                    let [(x, upper), (y, lower)] = ranks;
                    let [upper, lower] = [upper + r * row + c * elem, lower + c * row + r * elem];
                    for byte in 0..elem {
                        for (rank, at) in [(x, upper + byte), (y, lower + byte)] {
                            assert!(!std::mem::replace(&mut moved[rank][at], true));
                        }
                        let held = data[x][upper + byte];
                        data[x][upper + byte] = data[y][lower + byte];
                        data[y][lower + byte] = held;
                    }
                }
                queues.push((on, squares));
            }
            _ => panic!("{command:?}"),
        }
    }
    assert!(moved.iter().flatten().all(|&moved| moved));
    assert_eq!(queues.len(), blocks.ranks() * (blocks.ranks() - 1));
}

fn check(change: &Redistribution, ranks: usize, chunk: usize) {
    let planned: Vec<_> = (0..ranks).map(|rank| change.plan(rank).unwrap()).collect();
    let byte = |rank: usize, at: usize| (at * 31 + rank * 7 + at / 251) as u8;
    let data: Vec<Vec<u8>> = (0..ranks)
        .map(|rank| (0..planned[rank].capacity()).map(|at| byte(rank, at)).collect())
        .collect();
    let want = threads::run(ranks, |mut rank| {
        let r = crate::Exchange::rank(&rank);
        let mut data = data[r].clone();
        planned[r].run(&mut rank, &mut data).unwrap();
        data.truncate(planned[r].len_after());
        data
    });
    let squares = change.squares().is_some_and(|side| side % 4 == 0);
    for way in [Some(false), Some(true), None] {
        let mut data = data.clone();
        match way {
            Some(last) => follow(change, chunk, last, &mut data),
            None if squares => follow_squares(change, &mut data),
            None => continue,
        }
        for (r, want) in want.iter().enumerate() {
            assert!(data[r][..want.len()] == want[..], "rank {r} of {change:?}");
        }
    }
}

fn matrix(rows: Parts, cols: Parts) -> Redistribution {
    Redistribution::transpose(rows, cols, 4).threads(1)
}

#[test]
fn balanced_parts_and_blocks() {
    for ranks in 1..=6 {
        for (m, n) in [(12, 12), (7, 11), (1, 5), (24, 18), (3, 40), (0, 4)] {
            for cut in [Parts::balanced, Parts::blocks] {
                check(&matrix(cut(m, ranks), cut(n, ranks)), ranks, 20);
            }
        }
    }
}

#[test]
fn squares_in_equal_parts() {
    for (ranks, side) in (2..=5).flat_map(|ranks| [4, 60, 68, 132].map(|side| (ranks, side))) {
        let parts = Parts::balanced(ranks * side, ranks);
        for elem in [4, 8, 16] {
            let change = Redistribution::transpose(parts.clone(), parts.clone(), elem).threads(1);
            assert_eq!(change.squares(), Some(side));
            check(&change, ranks, 1 << 16);
        }
    }
}

#[test]
fn what_is_no_square_in_equal_parts() {
    let parts = |extent, ranks| Parts::balanced(extent, ranks);
    for (rows, cols) in [
        (parts(8, 1), parts(8, 1)),
        (parts(9, 2), parts(9, 2)),
        (parts(8, 2), parts(12, 2)),
        (parts(0, 2), parts(0, 2)),
    ] {
        assert_eq!(Redistribution::transpose(rows, cols, 4).squares(), None);
    }
    let square = Redistribution::transpose(parts(8, 2), parts(8, 2), 4);
    assert_eq!(square.clone().squares(), Some(4));
    assert_eq!(square.way(crate::Way::AxesFirst).squares(), None);
    let cut = |before, after| {
        let [before, after] = [before, after].map(|axis| (axis, parts(8, 2)));
        Redistribution::of_axes(&[8, 8], &[1, 0], 4, before, after).squares()
    };
    assert_eq!([cut(0, 1), cut(1, 0), cut(1, 1)], [None; 3]);
}

#[test]
fn an_axis_that_stays_cut() {
    let parts = Parts::new(&[3, 0, 2]).unwrap();
    let after = (0, parts.clone());
    check(&Redistribution::of_axes(&[4, 5, 6], &[1, 2, 0], 2, (1, parts), after), 3, 16);
}

#[test]
fn what_lacks_a_wait_is_found() {
    let blocks = Blocks::new(Parts::balanced(9, 3), Parts::balanced(10, 3), 4);
    let all = commands(3, Some(&blocks), 8);
    assert_eq!(unordered(&all), None);
    let waits = (0..all.len()).filter(|&k| matches!(all[k], Command::Wait { .. }));
    let needed = waits.filter(|&k| {
        let without: Vec<_> = all.iter().enumerate().filter(|(other, _)| *other != k).collect();
        unordered(&without.into_iter().map(|(_, command)| *command).collect::<Vec<_>>()).is_some()
    });
    assert!(needed.count() > 10);
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
        let [before, after] = [before, after].map(|sizes| Parts::new(&sizes).unwrap());
        let (ranks, shape) = (before.ranks(), [outer, before.extent(), after.extent(), inner]);
        let change = Redistribution::of_axes(&shape, &[2, 0, 3, 1], 4, (1, before), (0, after));
        check(&change.threads(1), ranks, chunk);
    }
}

/// Fields of which no launch holds a record: each is transposed by itself.
#[test]
fn ragged_rows_that_no_group_holds() {
    check(&matrix(Parts::balanced(9, 2), Parts::balanced(200_003, 2)), 2, 1 << 16);
    check(&matrix(Parts::balanced(200_003, 3), Parts::balanced(7, 3)), 3, 1 << 16);
}
