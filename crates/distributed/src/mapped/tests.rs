//! Tests with threads as ranks on a simulated card whose launches do nothing
//! (`crates/cuda/tests/driver_library/card.c`). Each runs in a separate process.

use std::ptr;

use super::*;
use crate::{Partition, children, thread_comm};

/// Connects ranks, rank `r` with a buffer at `address(r)`, and runs `work` on all.
fn on_ranks<T: Send>(
    change: &Redistribution,
    address: impl Fn(usize) -> u64 + Sync,
    work: impl Fn(&mut thread_comm::ThreadComm, Connection, (u64, usize)) -> T + Sync,
) -> Vec<T> {
    let gpu = Gpu::primary(0).unwrap();
    // The card finds functions for one thread at a time.
    (0..change.ranks()).for_each(|rank| drop(Work::plan(change, rank, &gpu)));
    thread_comm::run(change.ranks(), |mut comm| {
        let rank = comm.rank();
        let bytes = change.stage_requests(rank).unwrap().bytes.into_iter().max().unwrap();
        let buffer = (address(rank), bytes);
        let connected = change.connect(&mut comm, || Ok(gpu.clone()), buffer, |_, _| Ok(()));
        work(&mut comm, connected.unwrap(), buffer)
    })
}

/// Runs a plan with a buffer that moves no bytes in messages. Returns the number of messages.
fn run(
    mapped: &mut MappedRank,
    comm: &mut thread_comm::ThreadComm,
    buffer: (u64, usize),
) -> Result<usize, Error> {
    let (mut messages, workspace) = (0, (1 << 35, mapped.work.workspace_bytes()));
    let transfer = |_: &mut thread_comm::ThreadComm, _: &Message| {
        messages += 1;
        Ok(())
    };
    // SAFETY: launches on this card access no memory.
    unsafe { mapped.run(comm, buffer, ptr::null_mut(), workspace, transfer)? };
    Ok(messages)
}

fn mapped(connection: Connection) -> MappedRank {
    match connection {
        Connection::Mapped(mapped) => *mapped,
        Connection::Messages(why) => panic!("{why}"),
    }
}

#[test]
fn ranks_run_while_their_buffers_are_those_that_were_mapped() {
    children::runs_on("mapped::tests", "buffers", "card.c", &[]);
}

#[test]
#[ignore = "run by `ranks_run_while_their_buffers_are_those_that_were_mapped`"]
fn child_buffers() {
    let address = |rank: usize| (rank as u64 + 1) << 36;
    // Shape, the swaps and copies of each rank, whether messages follow, and whether ranks share a page.
    for (ranks, shape, swaps, sent, shared) in [
        (2, [3000, 3000], 2, false, true),
        (3, [3001, 3001], 3, false, true),
        (2, [4096, 8192], 2, false, true),
        // Also three copies of a border.
        (3, [3001, 2003], 6, false, true),
        (3, [3001, 100], 2, true, true),
        (3, [3001, 100], 2, true, false),
    ] {
        let [rows, cols] = shape.map(|extent| Partition::balanced(extent, ranks));
        let change = Redistribution::transpose(rows, cols, 4);
        let all = on_ranks(&change, address, |comm, connection, buffer| {
            let mut mapped = mapped(connection);
            let rank = comm.rank();
            assert_eq!(mapped.work.commands.len(), swaps);
            assert!(mapped.to_string().contains("swaps of "), "{mapped}");
            assert!(!mapped.to_string().contains("wait for each other"), "{mapped}");
            if !shared {
                mapped.barrier = Err("rank 1: no shared page".into());
                assert!(mapped.to_string().contains("by messages: rank 1: no"), "{mapped}");
            }
            for _ in 0..2 {
                assert_eq!(run(&mut mapped, comm, buffer).unwrap() > 0, sent);
            }
            let freed = (buffer.0 + (u64::from(rank == 1) << 36), buffer.1);
            let result = run(&mut mapped, comm, freed);
            mapped.close(comm).unwrap();
            result
        });
        for (rank, result) in all.into_iter().enumerate() {
            let other = Error::OtherBuffer { rank: 1, address: 3 << 36 };
            let want = if rank == 1 { other } else { Error::PeerFailed { rank: 1 } };
            assert_eq!(result, Err(want));
        }
        let gpu = Gpu::primary(0).unwrap();
        let all = thread_comm::run(ranks, |mut comm| {
            let buffer = (address(comm.rank()) + 8 * u64::from(comm.rank() == 1), 1 << 32);
            change.connect(&mut comm, || Ok(gpu.clone()), buffer, |_, _| Ok(())).unwrap_err()
        });
        assert!(all[1].to_string().contains("16"), "{}", all[1]);
        assert_eq!(all[0], Error::PeerFailed { rank: 1 });
        let pool = |rank: usize| if rank == 1 { 1 << 40 } else { address(rank) };
        for why in on_ranks(&change, pool, |_, connection, _| connection) {
            let Connection::Messages(why) = why else { panic!("{why:?}") };
            assert!(why.starts_with("rank 1: ") && why.contains("cuIpcGetMemHandle"), "{why}");
        }
    }
}

/// Runs ranks with parts of one row, which have no local stages, next to ranks that have some.
#[test]
fn ranks_without_local_stages_run_with_the_others() {
    children::runs_on("mapped::tests", "one_row", "card.c", &[]);
}

#[test]
#[ignore = "run by `ranks_without_local_stages_run_with_the_others`"]
fn child_one_row() {
    for (ranks, shape) in [(4, [7, 9001]), (5, [7, 9001]), (4, [9001, 7]), (4, [5, 3]), (5, [1, 1])]
    {
        let [rows, cols] = shape.map(|extent| Partition::balanced(extent, ranks));
        let change = Redistribution::transpose(rows, cols, 4);
        let address = |rank: usize| (rank as u64 + 1) << 36;
        let all = on_ranks(&change, address, |comm, connection, buffer| match connection {
            Connection::Mapped(mut mapped) => {
                let result = run(&mut mapped, comm, buffer).map(drop);
                mapped.close(comm).and(result)
            }
            Connection::Messages(_) => Ok(()),
        });
        assert_eq!(all, vec![Ok(()); ranks], "{shape:?} on {ranks}");
    }
}

/// Drops the plan of rank 1 before or after a run, while the others run it.
#[test]
fn a_rank_that_leaves_is_an_error_of_the_others() {
    children::runs_on("mapped::tests", "leaves", "card.c", &[]);
}

#[test]
#[ignore = "run by `a_rank_that_leaves_is_an_error_of_the_others`"]
fn child_leaves() {
    let change =
        Redistribution::transpose(Partition::balanced(3001, 3), Partition::balanced(2003, 3), 4);
    for runs in [0, 2] {
        let address = |rank: usize| (rank as u64 + 1) << 36;
        let all = on_ranks(&change, address, |comm, connection, buffer| {
            let (mut mapped, rank) = (mapped(connection), comm.rank());
            (0..runs).for_each(|_| assert!(run(&mut mapped, comm, buffer).is_ok()));
            if rank == 1 {
                return;
            }
            let message = crate::barrier::Break::Left.to_string();
            let left = Error::Unreachable(CommError { rank, partner: 1, message });
            assert_eq!(run(&mut mapped, comm, buffer), Err(left));
            assert_eq!(mapped.close(comm), Ok(()));
        });
        assert_eq!(all.len(), 3);
    }
}

/// Checks that no rank moves data if the workspace of one is too short or misaligned: copies of a
/// border write to it.
#[test]
fn run_rejects_a_workspace_that_cannot_store_the_border() {
    children::runs_on("mapped::tests", "workspace", "card.c", &[]);
}

#[test]
#[ignore = "run by `run_rejects_a_workspace_that_cannot_store_the_border`"]
fn child_workspace() {
    let [rows, cols] = [3001, 2003].map(|extent| Partition::balanced(extent, 2));
    let change = Redistribution::transpose(rows, cols, 4);
    let address = |rank: usize| (rank as u64 + 1) << 36;
    on_ranks(&change, address, |comm, connection, buffer| {
        let (mut mapped, rank) = (mapped(connection), comm.rank());
        let need = mapped.workspace_bytes();
        for (place, error) in [
            ((1 << 35, need - 1), CudaError::Workspace { need, have: need - 1 }),
            (
                ((1 << 35) + 8, need),
                CudaError::Misaligned { what: "workspace", address: (1 << 35) + 8, need: 16 },
            ),
        ] {
            let workspace = if rank == 1 { place } else { (1 << 35, need) };
            let sent = |_: &mut thread_comm::ThreadComm, _: &Message| Ok(());
            // SAFETY: launches on this card access no memory.
            let result = unsafe { mapped.run(comm, buffer, ptr::null_mut(), workspace, sent) };
            let own = Error::from(turntile::Error::from(error));
            match rank {
                1 => assert_eq!(result, Err(own)),
                _ => assert!(matches!(result, Err(Error::PeerFailed { .. })), "{result:?}"),
            }
        }
        assert_eq!(mapped.close(comm), Ok(()));
    });
}

/// Closes a rank whose message failed while other ranks do not call `close`.
#[test]
fn close_after_a_lost_message_waits_for_no_rank() {
    children::runs_on("mapped::tests", "lost_message", "card.c", &[]);
}

#[test]
#[ignore = "run by `close_after_a_lost_message_waits_for_no_rank`"]
fn child_lost_message() {
    let [rows, cols] = [3001, 100].map(|extent| Partition::balanced(extent, 3));
    let change = Redistribution::transpose(rows, cols, 4);
    let address = |rank: usize| (rank as u64 + 1) << 36;
    let all = on_ranks(&change, address, |comm, connection, buffer| {
        let (mut mapped, rank) = (mapped(connection), comm.rank());
        let error = CommError { rank, partner: 0, message: "out of memory".into() };
        let transfer = |_: &mut thread_comm::ThreadComm, _: &Message| match rank {
            1 => Err(error.clone()),
            _ => Ok(()),
        };
        let workspace = (1 << 35, mapped.work.workspace_bytes());
        // SAFETY: launches on this card access no memory.
        let result = unsafe { mapped.run(comm, buffer, ptr::null_mut(), workspace, transfer) };
        let want = if rank == 1 { Err(Error::Lost(error)) } else { Ok(()) };
        assert_eq!(result, want);
        if rank == 1 { mapped.close(comm) } else { Ok(()) }
    });
    assert_eq!(all, vec![Ok(()); 3]);
}

/// Checks that all ranks report an error if the launch of one of them is rejected.
#[test]
fn all_ranks_lose_the_data_when_a_launch_is_rejected() {
    children::runs_on("mapped::tests", "launch", "card.c", &["-DREFUSED=7"]);
}

#[test]
#[ignore = "run by `all_ranks_lose_the_data_when_a_launch_is_rejected`"]
fn child_launch() {
    let parts = Partition::balanced(3000, 3);
    let change = Redistribution::transpose(parts.clone(), parts, 4);
    let all = on_ranks(
        &change,
        |rank| (rank as u64 + 1) << 36,
        |comm, connection, buffer| {
            let result = run(&mut mapped(connection), comm, buffer);
            comm.all_gather(0).unwrap();
            result
        },
    );
    let lost = |result: &Result<usize, Error>| matches!(result, Err(Error::Lost(_)));
    assert!(all.iter().all(lost), "{all:?}");
}
