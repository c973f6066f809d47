//! Tests of arrays over MPI processes: `mpirun -n P processes [few]`. All processes generate the
//! same arrays, and each compares its part.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use mpi::Threading;
use mpi::traits::{Communicator as World, Destination as _, Source as _};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use turntile_distributed::{Communicator, Error, Partition, Redistribution};
use turntile_mpi::MpiComm;

#[path = "../../distributed/tests/common/mod.rs"]
mod common;
use common::{Case, cases};

fn main() {
    let (universe, threading) = mpi::initialize_with_threading(Threading::Funneled).unwrap();
    assert!(threading >= Threading::Funneled);
    let world = universe.world();
    // A failed process ends the job, because other processes would wait for it.
    let default_hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        default_hook(panic);
        mpi::topology::SimpleCommunicator::world().abort(1)
    }));
    let mut process = MpiComm::new(&world).unwrap();
    assert_eq!(
        [process.rank(), process.size()],
        [world.rank(), world.size()].map(|number| number as usize)
    );
    let few = std::env::args().any(|word| word == "few");
    let arrays = random_arrays(&mut process, if few { 4 } else { 60 });
    small(&mut process, if few { 5 } else { 1 });
    large(&mut process);
    all_processes_return_an_error_when_one_fails(&mut process);
    exchange_returns_an_error_when_sizes_differ(&mut process);
    messages_of_the_program_stay_separate(&world, &mut process);
    if process.rank() == 0 {
        println!("{} processes, {arrays} random arrays: all elements are right", world.size());
    }
}

fn random_arrays(process: &mut MpiComm, count: usize) -> usize {
    let (mut runner, cases) = (TestRunner::deterministic(), cases(process.size()));
    let arrays = (0..count).map(|_| cases.new_tree(&mut runner).unwrap().current());
    arrays.map(|case| case.check(process)).count()
}

/// Checks extents below, at and above the number of processes.
fn small(process: &mut MpiComm, step: usize) {
    let ranks = process.size();
    for (m, n) in (0..12).step_by(step).flat_map(|m| (0..12).step_by(3).map(move |n| (m, n))) {
        Case::matrix(Partition::balanced(m, ranks), Partition::blocks(n, ranks), 4).check(process);
    }
}

/// Checks messages that are too large for MPI to buffer, and partitions whose parts shrink with the
/// rank before but grow after.
fn large(process: &mut MpiComm) {
    let (ranks, rank) = (process.size(), process.rank());
    let falling =
        Partition::new(&(0..ranks).map(|r| 60 * (ranks - r)).collect::<Vec<_>>()).unwrap();
    let rising = Partition::new(&(0..ranks).map(|r| 30 * r * r).collect::<Vec<_>>()).unwrap();
    for (rows, cols) in
        [(Partition::blocks(701, ranks), Partition::balanced(1003, ranks)), (falling, rising)]
    {
        let case = Case::matrix(rows, cols, 8);
        let change = case.change().message_bytes(1 << 20);
        let mut data = case.part(&[0, 1], &case.before, rank);
        data.resize(change.plan(rank).unwrap().capacity(), 0);
        change.run(process, &mut data).unwrap();
        let after = case.part(&case.axes, &case.after, rank);
        assert!(data[..after.len()] == after[..]);
    }
}

/// Checks that all processes return an error and no data move if one makes a different request, has
/// a buffer that is too short, or panics (it then unwinds).
fn all_processes_return_an_error_when_one_fails(process: &mut MpiComm) {
    let (ranks, rank) = (process.size(), process.rank());
    let parts = || Partition::balanced(6 * ranks, ranks);
    let odd = ranks - 1;
    let elem_bytes = if rank == odd { 2 } else { 1 };
    let short = usize::from(rank == odd);
    let mut data = vec![7u8; 72 * ranks];
    let before = data.clone();
    if ranks > 1 {
        let change = Redistribution::transpose(parts(), parts(), elem_bytes);
        assert_eq!(change.run(process, &mut data), Err(Error::Disagree { rank: odd }));
    }
    let need = 36 * ranks;
    let change = Redistribution::transpose(parts(), parts(), 1);
    let ended = change.run(process, &mut data[..need - short]);
    assert_eq!(ended, Err(Error::Short { rank: odd, need, have: need - 1 }));
    let fewer = Partition::balanced(6, ranks + 1);
    let ended = Redistribution::transpose(fewer.clone(), fewer, 1).run(process, &mut data);
    assert_eq!(ended, Err(Error::Communicator { planned: ranks + 1, got: ranks }));
    // A panic is reported to the other processes, which wait for this one. Then it unwinds.
    let begin = |_, _| match rank == odd {
        // Bypasses the panic hook, which would end the job.
        true => resume_unwind(Box::new("a bug")),
        false => Ok(()),
    };
    let ended = catch_unwind(AssertUnwindSafe(|| change.agree(process, [need, need], begin)));
    match ended {
        Ok(ended) => assert_eq!(ended, Err(Error::PeerFailed { rank: odd })),
        Err(_) => assert_eq!(rank, odd),
    }
    assert_eq!(data, before);
}

/// Checks that MPI errors are returned and do not end the job.
fn exchange_returns_an_error_when_sizes_differ(process: &mut MpiComm) {
    let (ranks, rank) = (process.size(), process.rank());
    if ranks == 1 {
        return;
    }
    for (sent, wanted, why) in [(8, 4, "trunc"), (4, 8, "received 4 bytes instead of 8")] {
        match rank {
            0 => process.exchange(1, &vec![1; sent], &mut []).unwrap(),
            1 => {
                let error = process.exchange(0, &[], &mut vec![0; wanted]).unwrap_err();
                assert_eq!([error.rank, error.partner], [1, 0]);
                assert!(error.message.contains(why), "{error}");
            }
            _ => {}
        }
    }
    assert_eq!(process.all_gather(rank as u64), Ok((0..ranks as u64).collect()));
    // The partner's rank is out of range.
    assert!(process.exchange(ranks, &[1], &mut []).is_err());
}

/// Checks that a redistribution does not receive a pending message of the program with the same
/// tag.
fn messages_of_the_program_stay_separate(world: &impl World, process: &mut MpiComm) {
    let (rank, ranks) = (world.rank(), world.size());
    let [next, previous] = [(rank + 1) % ranks, (rank + ranks - 1) % ranks];
    mpi::request::scope(|scope| {
        let sending = world.process_at_rank(next).immediate_send_with_tag(scope, &rank, 0);
        Case::matrix(
            Partition::balanced(9, ranks as usize),
            Partition::balanced(7, ranks as usize),
            4,
        )
        .check(process);
        let (received, _) = world.process_at_rank(previous).receive_with_tag::<i32>(0);
        assert_eq!(received, previous);
        sending.wait();
    });
}
