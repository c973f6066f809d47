//! Threads as ranks, with a map of texts as the memory of their processes.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::rank_plan::gather;
use crate::thread_comm;

/// Returns the offer of a rank whose handle repeats its number.
fn offer(rank: usize) -> Offer {
    let memory = Some(Ok(([rank as u8; HANDLE_BYTES], rank as u64)));
    Offer { request: 7, bytes: [100, 200], host: 1, side: 64, page: 0, memory }
}

#[test]
fn offers_are_read_as_they_were_sent() {
    let refused = Some(Err("cuIpcGetMemHandle: \u{e9}".to_owned()));
    for memory in [offer(9).memory, None, refused] {
        let own =
            Offer { request: u64::MAX, bytes: [1 << 40, 3], host: 4, side: 5, page: 6, memory };
        assert_eq!(Offer::decode(&own.encode()), Some(own));
    }
    let long = Offer { memory: Some(Err("x".repeat(100))), ..offer(0) };
    let read = Offer::decode(&long.encode()).and_then(|read| read.memory);
    assert_eq!(read, Some(Err("x".repeat(HANDLE_BYTES))));
    assert_eq!(Offer::decode(&[0; OFFER_BYTES - 8]), None);
    assert_eq!(Offer::decode(&[]), None);
}

/// Offsets of the mappings of one rank, the reason for messages, or an error.
type Connected = Result<Result<Vec<Option<u64>>, String>, Error>;

/// Connects ranks. `change` changes the offer of one rank; `broken(rank, other)` is a mapping that
/// fails. Returns each rank's result, and the number of mappings that are left when all ranks have
/// returned.
fn connected(
    ranks: usize,
    change: impl Fn(usize, &mut Offer) + Sync,
    broken: impl Fn(usize, usize) -> bool + Sync,
) -> (Vec<Connected>, usize) {
    struct Mapping<'a>(&'a AtomicUsize, u64);
    impl Drop for Mapping<'_> {
        fn drop(&mut self) {
            self.0.fetch_sub(1, Ordering::SeqCst);
        }
    }
    let alive = AtomicUsize::new(0);
    let all = thread_comm::run(ranks, |mut comm| {
        let rank = comm.rank();
        let mut own = offer(rank);
        change(rank, &mut own);
        let connected = connect(&mut comm, own, |other, (handle, offset)| {
            assert!(other != rank && handle == [other as u8; HANDLE_BYTES]);
            if broken(rank, other) {
                return Err("no access".into());
            }
            alive.fetch_add(1, Ordering::SeqCst);
            Ok(Mapping(&alive, offset))
        });
        Ok(connected?.map(|(all, barrier)| {
            let gathered = barrier.unwrap().gather(3, |_| Ok(()));
            assert_eq!(gathered, Ok(vec![3; ranks]));
            all.into_iter()
                .map(|one| {
                    one.map(|one| {
                        let offset = one.1;
                        std::mem::forget(one);
                        offset
                    })
                })
                .collect()
        }))
    });
    (all, alive.into_inner())
}

#[test]
fn all_ranks_map_all_others_or_none() {
    for ranks in 1..=8 {
        let (all, alive) = connected(ranks, |_, _| (), |_, _| false);
        for (rank, mapped) in all.into_iter().enumerate() {
            let offset = |other: usize| (other != rank).then_some(other as u64);
            assert_eq!(mapped, Ok(Ok((0..ranks).map(offset).collect())));
        }
        assert_eq!(alive, ranks * (ranks - 1));
    }
    // One mapping of many fails.
    for (rank, other) in [(0, 1), (2, 0), (3, 4), (4, 3)] {
        let (all, alive) = connected(5, |_, _| (), |r, o| (r, o) == (rank, other));
        let why = Ok(Err(format!("rank {rank}: memory of rank {other}: no access")));
        assert_eq!((all, alive), (vec![why; 5], 0));
    }
}

/// Each row is a change of rank 2's offer, and what all of 3 to 8 ranks then return.
#[test]
fn ranks_return_the_same_reason_or_error_when_one_rank_differs() {
    type Row = (fn(&mut Offer), Result<&'static str, Error>);
    let rows: [Row; 6] = [
        (|own| own.request = 8, Err(Error::Disagree { rank: 2 })),
        (|own| own.memory = None, Err(Error::PeerFailed { rank: 2 })),
        (|own| own.bytes = [100, 99], Err(Error::Short { rank: 2, need: 100, have: 99 })),
        (|own| own.memory = Some(Err("a pool".into())), Ok("rank 2: a pool")),
        (|own| own.host = 2, Ok("ranks 0 and 2 are on different hosts")),
        (|own| own.side = 32, Ok("the GPUs or workspace limits of ranks 0 and 2 differ")),
    ];
    for (ranks, (change, want)) in
        (3..=8).flat_map(|ranks| rows.iter().map(move |row| (ranks, row)))
    {
        let changed = |rank: usize, own: &mut Offer| {
            if rank == 2 {
                change(own)
            }
        };
        let want = want.clone().map(|why| Err(why.to_owned()));
        assert_eq!(connected(ranks, changed, |_, _| false), (vec![want; ranks], 0));
    }
    // A rank with an empty part is not mapped.
    let empty = |rank: usize, own: &mut Offer| own.bytes[0] *= u64::from(rank != 1);
    let (all, _) = connected(3, empty, |_, other| other == 1);
    assert_eq!(all[0], Ok(Ok(vec![None, None, Some(2)])));
}

#[test]
fn one_rank_that_fails_fails_all() {
    for ranks in 3..=8 {
        let all = thread_comm::run(ranks, |mut comm| {
            let rank = comm.rank();
            let own =
                |failed| if rank == failed { Err(Error::SameAxis { axis: 5 }) } else { Ok(()) };
            let mut all = |own| gather(&mut comm, own);
            let confirmed = confirm(&mut all, 3, own(1));
            let disagreed = confirm(&mut all, 3 + u64::from(rank == 2), Ok(()));
            let ended = finish(&mut all, rank, own(2).map_err(|error| error.to_string()));
            (
                confirmed,
                disagreed,
                ended,
                confirm(&mut all, 3, Ok(())),
                finish(&mut all, rank, Ok(())),
            )
        });
        for (rank, (confirmed, disagreed, ended, agreed, done)) in all.into_iter().enumerate() {
            let own =
                if rank == 1 { Error::SameAxis { axis: 5 } } else { Error::PeerFailed { rank: 1 } };
            assert_eq!((confirmed, disagreed), (Err(own), Err(Error::Disagree { rank: 2 })));
            assert!(
                matches!(ended, Err(Error::Lost(lost)) if (lost.rank, lost.partner) == (rank, 2))
            );
            assert_eq!((agreed, done), (Ok(()), Ok(())));
        }
    }
}

/// A rank whose thread has ended: before data move nothing is lost, afterwards the data are.
#[test]
fn a_rank_that_is_gone_is_an_error_of_the_others() {
    let all = thread_comm::run(3, |mut comm| {
        (comm.rank() != 1).then(|| {
            let rank = comm.rank();
            [
                connect(&mut comm, offer(rank), |_, _| Ok(())).map(|_| ()),
                confirm(|own| gather(&mut comm, own), 3, Ok(())),
                finish(|own| gather(&mut comm, own), rank, Ok(())),
            ]
        })
    });
    for ended in all.into_iter().flatten() {
        assert!(matches!(ended[..2], [Err(Error::Unreachable(_)), Err(Error::Unreachable(_))]));
        assert!(matches!(ended[2], Err(Error::Lost(_))));
    }
}
