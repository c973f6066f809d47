//! Redistributions with threads as ranks. Every element is compared with the permutation of the
//! whole array.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use proptest::prelude::*;
use turntile::{RawElements, Transpose, Transposer};
use turntile_distributed::thread_comm::{self, ThreadComm};
use turntile_distributed::{CommError, Communicator, Error, Message, Partition, Redistribution};

mod common;
use common::{Case, cases};

/// Returns all lists of `ranks` part sizes that sum to `extent`, including empty parts.
fn all_parts(extent: usize, ranks: usize) -> Vec<Vec<usize>> {
    match ranks {
        1 => vec![vec![extent]],
        _ => (0..=extent)
            .flat_map(|first| {
                let rest = all_parts(extent - first, ranks - 1);
                rest.into_iter().map(move |rest| [&[first], &rest[..]].concat())
            })
            .collect(),
    }
}

#[test]
fn transpose_is_right_for_all_small_matrices_in_balanced_parts_and_blocks() {
    for ranks in 1..=9 {
        thread_comm::run(ranks, |mut rank| {
            for (m, n) in (1..=24).flat_map(|m| (1..=24).map(move |n| (m, n))) {
                // All sizes for up to 4 ranks, a third of them for more.
                if ranks > 4 && (m + n) % 3 != ranks % 3 {
                    continue;
                }
                for cut in [Partition::balanced, Partition::blocks] {
                    Case::matrix(cut(m, ranks), cut(n, ranks), 4).check(&mut rank);
                }
            }
        });
    }
}

#[test]
fn transpose_is_right_for_all_partitions_of_tiny_matrices() {
    for ranks in 1..=4 {
        thread_comm::run(ranks, |mut rank| {
            for (m, n) in (0..=4).flat_map(|m| (0..=4).map(move |n| (m, n))) {
                for rows in all_parts(m, ranks) {
                    for cols in all_parts(n, ranks) {
                        let [rows, cols] =
                            [&rows, &cols].map(|sizes| Partition::new(sizes).unwrap());
                        Case::matrix(rows, cols, 1).check(&mut rank);
                    }
                }
            }
        });
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn redistribution_is_right_for_any_axes_and_parts((ranks, case) in (1usize..7).prop_flat_map(|ranks| (Just(ranks), cases(ranks)))) {
        thread_comm::run(ranks, |mut rank| case.check(&mut rank));
    }
}

/// Checks stages and messages that the caller runs separately, as for GPU memory.
#[test]
fn stages_give_the_result_when_the_caller_runs_them() {
    let (rows, cols) = (Partition::new(&[5, 0, 9]).unwrap(), Partition::new(&[2, 7, 4]).unwrap());
    let case = Case::matrix(rows, cols, 4);
    thread_comm::run(3, |mut rank| {
        let (r, change) = (rank.rank(), case.change().message_bytes(24));
        let stages = change.stages(r, Transpose::plan).unwrap();
        let [before, after] = stages.bytes;
        let mut data = case.part(&[0, 1], &case.before, r);
        data.resize(before.max(after), 0);
        let begun = change.agree(&mut rank, [data.len(); 2], |rank, ranks| Ok((rank, ranks)));
        assert_eq!(begun, Ok((r, 3)));
        let fewer =
            Redistribution::transpose(Partition::balanced(1, 2), Partition::balanced(1, 2), 1);
        let rejected = fewer.agree(&mut rank, [0, 0], |_, _| Ok(()));
        assert_eq!(rejected, Err(Error::Communicator { planned: 2, got: 3 }));
        let run = |stages: &[(Range<usize>, Transposer)], data: &mut [u8]| {
            for (range, stage) in stages {
                stage.run(&mut RawElements(&mut data[range.clone()])).unwrap();
            }
        };
        run(&stages.local[0], &mut data);
        let mut bounce = vec![0; stages.bounce_bytes()];
        for message in stages.transfers() {
            match message {
                Message::Swap { partner, at } => {
                    let sent = &mut bounce[..at.len()];
                    sent.copy_from_slice(&data[at.clone()]);
                    rank.exchange(partner, sent, &mut data[at]).unwrap();
                }
                Message::Send { partner, at } => {
                    rank.exchange(partner, &data[at], &mut []).unwrap();
                }
                Message::Receive { partner, at } => {
                    rank.exchange(partner, &[], &mut data[at]).unwrap();
                }
                Message::Slide { from, to, bytes } => {
                    assert!(!bounce.is_empty());
                    data.copy_within(from..from + bytes, to);
                }
            }
        }
        run(&stages.local[1], &mut data);
        assert!(data[..after] == case.part(&case.axes, &case.after, r)[..]);
    });
}

#[test]
fn redistribution_is_right_when_the_partitioned_axis_stays() {
    let parts = Partition::new(&[3, 0, 2]).unwrap();
    let (before, after) = ((1, parts.clone()), (0, parts));
    let case = Case { shape: vec![4, 5, 6], axes: vec![1, 2, 0], elem_bytes: 2, before, after };
    thread_comm::run(3, |mut rank| case.check(&mut rank));
}

#[test]
fn transpose_is_right_when_a_message_has_a_mebibyte() {
    let case = Case::matrix(Partition::balanced(701, 3), Partition::blocks(1003, 3), 8);
    thread_comm::run(3, |mut rank| {
        let r = rank.rank();
        let mut data = case.part(&[0, 1], &case.before, r);
        let change = case.change().message_bytes(1 << 20);
        data.resize(change.plan(r).unwrap().capacity(), 0);
        change.run(&mut rank, &mut data).unwrap();
        let after = case.part(&case.axes, &case.after, r);
        assert!(data[..after.len()] == after[..]);
    });
}

/// A rank whose communication calls are delayed at random.
struct Delayed(ThreadComm, AtomicUsize);

impl Delayed {
    fn wait(&self) {
        let random =
            self.1.fetch_add(1, Ordering::Relaxed).wrapping_mul(2_654_435_761 + self.0.rank());
        match (random >> 7) % 16 {
            0 => std::thread::sleep(Duration::from_micros(50)),
            1..8 => std::thread::yield_now(),
            _ => {}
        }
    }
}

impl Communicator for Delayed {
    fn rank(&self) -> usize {
        self.0.rank()
    }

    fn size(&self) -> usize {
        self.0.size()
    }

    fn exchange(
        &mut self,
        partner: usize,
        send: &[u8],
        receive: &mut [u8],
    ) -> Result<(), CommError> {
        self.wait();
        self.0.exchange(partner, send, receive)
    }

    fn all_gather(&mut self, own: u64) -> Result<Vec<u64>, CommError> {
        self.wait();
        self.0.all_gather(own)
    }
}

#[test]
fn transpose_is_right_when_ranks_are_delayed() {
    thread_comm::run(5, |rank| {
        let mut rank = Delayed(rank, AtomicUsize::new(0));
        for round in 0..350 {
            let (m, n) = (1 + round % 13, 1 + round % 7);
            Case::matrix(Partition::balanced(m, 5), Partition::blocks(n, 5), 4).check(&mut rank);
        }
    });
}

/// Runs `run` on every rank and returns the errors. Checks that the data are unchanged.
fn errors(
    ranks: usize,
    run: impl Fn(&mut ThreadComm, &mut [u8]) -> Result<(), Error> + Sync,
) -> Vec<Error> {
    thread_comm::run(ranks, |mut rank| {
        let mut data = [7u8; 64];
        let error = run(&mut rank, &mut data).unwrap_err();
        assert_eq!(data, [7; 64], "{error}");
        error
    })
}

#[test]
fn all_ranks_return_an_error_when_requests_differ() {
    let parts = || Partition::balanced(6, 3);
    let other = |rank: &ThreadComm, odd: Redistribution| match rank.rank() {
        1 => odd,
        _ => Redistribution::transpose(parts(), parts(), 1),
    };
    for odd in [
        Redistribution::transpose(parts(), parts(), 2),
        Redistribution::transpose(Partition::new(&[1, 2, 3]).unwrap(), parts(), 1),
        Redistribution::transpose(parts(), Partition::balanced(7, 3), 1),
        Redistribution::of_axes(&[6, 6], &[0, 1], 1, (0, parts()), (1, parts())),
        Redistribution::transpose(Partition::balanced(6, 2), Partition::balanced(6, 2), 1),
        Redistribution::of_axes(&[6, 6], &[1, 0], 1, (3, parts()), (0, parts())),
        Redistribution::transpose(parts(), parts(), 1).message_bytes(5),
    ] {
        let errors = errors(3, |rank, data| other(rank, odd.clone()).run(rank, data));
        assert_eq!(errors, vec![Error::Disagree { rank: 1 }; 3]);
    }
}

#[test]
fn all_ranks_return_the_same_error_when_the_request_is_invalid() {
    let parts = || Partition::balanced(6, 3);
    let axes = |before, after| Redistribution::of_axes(&[6, 7], &[1, 0], 1, before, after);
    for (change, error) in [
        (axes((2, parts()), (0, parts())), Error::Axis { axis: 2, axes: 2 }),
        (axes((0, parts()), (0, parts())), Error::Parts { axis: 1, expected: 7, got: 6 }),
        (axes((0, parts()), (0, Partition::balanced(7, 2))), Error::Ranks { before: 3, after: 2 }),
        (axes((0, parts()), (1, Partition::new(&[6, 0, 0]).unwrap())), Error::SameAxis { axis: 0 }),
        (
            Redistribution::transpose(Partition::balanced(6, 2), Partition::balanced(6, 2), 1),
            Error::Communicator { planned: 2, got: 3 },
        ),
    ] {
        let errors = errors(3, |rank, data| change.run(rank, data));
        // A rank without a part has no plan.
        let same =
            |other: &Error| *other == error || matches!(other, Error::NoRank { rank: 2, .. });
        assert!(errors.iter().all(same), "{errors:?}");
    }
    let wrong = Redistribution::of_axes(&[6, 7], &[1, 1], 1, (0, parts()), (0, parts()));
    assert!(
        errors(3, |rank, data| wrong.run(rank, data)).iter().all(|e| matches!(e, Error::Local(_)))
    );
}

#[test]
fn all_ranks_return_an_error_when_a_buffer_is_short_or_a_plan_is_of_another_rank() {
    let change = Redistribution::transpose(Partition::balanced(6, 3), Partition::balanced(9, 3), 1);
    let run = |rank: &mut ThreadComm, data: &mut [u8]| {
        let bytes = if rank.rank() == 2 { 17 } else { 18 };
        change.run(rank, &mut data[..bytes])
    };
    assert_eq!(errors(3, run), vec![Error::Short { rank: 2, need: 18, have: 17 }; 3]);
    let run = |rank: &mut ThreadComm, data: &mut [u8]| {
        change.plan(rank.rank().min(1)).unwrap().run(rank, data)
    };
    let failed = Error::PeerFailed { rank: 2 };
    let want = [failed.clone(), failed, Error::OtherRank { planned: 1, got: 2 }];
    assert_eq!(errors(3, run), want);
    assert_eq!(change.plan(3).map(drop), Err(Error::NoRank { rank: 3, ranks: 3 }));
}

#[test]
fn data_are_lost_on_all_ranks_when_one_ends_during_the_exchange() {
    struct Ends(ThreadComm, usize);
    impl Communicator for Ends {
        fn rank(&self) -> usize {
            self.0.rank()
        }

        fn size(&self) -> usize {
            self.0.size()
        }

        fn exchange(
            &mut self,
            partner: usize,
            send: &[u8],
            receive: &mut [u8],
        ) -> Result<(), CommError> {
            self.1 += 1;
            if self.0.rank() == 1 && self.1 == 3 {
                let why = "the test ends this rank".to_owned();
                return Err(CommError { rank: 1, partner, message: why });
            }
            self.0.exchange(partner, send, receive)
        }

        fn all_gather(&mut self, own: u64) -> Result<Vec<u64>, CommError> {
            self.0.all_gather(own)
        }
    }
    let change =
        Redistribution::transpose(Partition::balanced(40, 4), Partition::balanced(40, 4), 1)
            .message_bytes(8);
    let ended = thread_comm::run(4, |rank| change.run(&mut Ends(rank, 0), &mut [0u8; 400]));
    assert!(ended.iter().all(|end| matches!(end, Err(Error::Lost(_)))), "{ended:?}");
}

/// A communicator that gathers a wrong count of numbers, or does not run local stages.
struct FaultyComm(ThreadComm, Fault);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    Numbers(usize),
    SkipsStages,
}

impl Communicator for FaultyComm {
    fn rank(&self) -> usize {
        self.0.rank()
    }

    fn size(&self) -> usize {
        self.0.size()
    }

    fn exchange(
        &mut self,
        partner: usize,
        send: &[u8],
        receive: &mut [u8],
    ) -> Result<(), CommError> {
        self.0.exchange(partner, send, receive)
    }

    fn all_gather(&mut self, own: u64) -> Result<Vec<u64>, CommError> {
        let mut all = self.0.all_gather(own)?;
        if let Fault::Numbers(count) = self.1 {
            all.resize(count, own);
        }
        Ok(all)
    }

    fn local(&self, stage: Box<dyn FnOnce() + Send + '_>) {
        if self.1 != Fault::SkipsStages {
            stage();
        }
    }
}

#[test]
fn ranks_return_an_error_when_the_communicator_is_faulty() {
    let change = Redistribution::transpose(Partition::balanced(6, 3), Partition::balanced(9, 3), 1);
    for count in [0, 2, 4] {
        let run = |rank: &mut ThreadComm, data: &mut [u8]| {
            let rank = std::mem::replace(rank, thread_comm::ranks(1).remove(0));
            change.run(&mut FaultyComm(rank, Fault::Numbers(count)), data)
        };
        let errors = errors(3, run);
        assert!(errors.iter().all(|end| matches!(end, Error::Unreachable(_))), "{errors:?}");
    }
    let ended = thread_comm::run(3, |rank| {
        let fault = if rank.rank() == 1 { Fault::SkipsStages } else { Fault::Numbers(3) };
        change.run(&mut FaultyComm(rank, fault), &mut [7u8; 64])
    });
    assert!(matches!(&ended[1], Err(Error::Lost(error)) if error.rank == 1), "{ended:?}");
}

/// Checks that a panic before any data moved is reported to the other ranks, which wait for the
/// panicking rank.
#[test]
fn other_ranks_return_an_error_when_one_panics() {
    let change = Redistribution::transpose(Partition::balanced(6, 3), Partition::balanced(9, 3), 1);
    let ended = thread_comm::run(3, |mut rank| {
        let number = rank.rank();
        let begin = |_, _| {
            assert!(number != 1, "a bug");
            Ok(())
        };
        // The panicking rank's channels stay open: the others must end because of its status, not
        // because of a closed channel.
        let agreed = catch_unwind(AssertUnwindSafe(|| change.agree(&mut rank, [1, 1], begin)));
        (agreed, rank)
    });
    for (number, (end, _)) in ended.into_iter().enumerate() {
        match number {
            1 => assert!(end.is_err(), "the panic must unwind"),
            _ => assert_eq!(end.unwrap(), Err(Error::PeerFailed { rank: 1 })),
        }
    }
}

#[test]
fn plan_display_lists_parts_and_exchange() {
    let change = Redistribution::transpose(Partition::balanced(8, 2), Partition::balanced(6, 2), 4);
    let text = change.plan(1).unwrap().to_string();
    assert!(text.starts_with("rank 1: 96 bytes before, 96 after\n  "), "{text}");
    assert!(text.contains("exchange: 48 bytes to 1 others, 48 at a time"), "{text}");
}
