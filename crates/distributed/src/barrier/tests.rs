//! Threads and processes as ranks.

use std::env;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicUsize;

use super::*;

type Gathered = Result<Vec<u64>, CommError>;

/// Waits without a limit.
fn forever(_: Duration) -> Result<(), CommError> {
    Ok(())
}

/// Returns a function that stops waiting after some milliseconds.
fn until(rank: usize, limit: u64) -> impl FnMut(Duration) -> Result<(), CommError> {
    move |waited| match waited < Duration::from_millis(limit) {
        true => Ok(()),
        false => Err(CommError { rank, partner: rank, message: "the limit".into() }),
    }
}

fn broken(rank: usize, partner: usize, why: Break) -> Gathered {
    let who = if rank == partner { "this rank" } else { "the partner" };
    Err(CommError { rank, partner, message: why.text(who) })
}

fn late(rank: usize, partner: usize) -> Gathered {
    Err(CommError { rank, partner, message: "the limit".into() })
}

/// Runs `work` on threads as ranks, after `complete` barriers.
fn on_threads<T: Send>(ranks: usize, complete: u32, work: impl Fn(Barrier) -> T + Sync) -> Vec<T> {
    let file = PageFile::create(ranks).unwrap();
    let open = |rank| Barrier::open(file.0, rank, ranks).unwrap();
    let state = State { complete, arrived: 0, broken: None };
    let first = open(0);
    first.word(0).store(state.word(), Ordering::SeqCst);
    let others: Vec<Barrier> = (1..ranks).map(open).collect();
    drop(file);
    thread::scope(|scope| {
        let work = &work;
        let start = |mut barrier: Barrier| {
            scope.spawn(move || {
                barrier.watch();
                work(barrier)
            })
        };
        let all: Vec<_> = std::iter::once(first).chain(others).map(start).collect();
        all.into_iter().map(|rank| rank.join().unwrap()).collect()
    })
}

#[test]
fn states_are_read_as_they_were_written() {
    let all = [Break::Left, Break::Ended, Break::Late];
    for broken in all.map(|why| Some((why, 254))).into_iter().chain([None]) {
        let state = State { complete: u32::MAX - 1, arrived: 254, broken };
        assert_eq!(State::of(state.word()), state);
    }
}

#[test]
fn ranks_gather_the_numbers_of_each_barrier_when_the_count_wraps() {
    let rounds = 1000;
    for (ranks, complete) in [(1, 0), (2, 0), (2, u32::MAX - 7), (3, u32::MAX), (8, u32::MAX - 500)]
    {
        let all = on_threads(ranks, complete, |barrier| {
            let number = |rank: usize, round: u64| round << 8 | rank as u64;
            for round in 0..rounds {
                let own = number(barrier.rank, round);
                let want = (0..ranks).map(|rank| number(rank, round)).collect();
                assert_eq!(barrier.gather(own, forever), Ok(want), "round {round} of {ranks}");
            }
            barrier.state().complete
        });
        assert_eq!(all, vec![complete.wrapping_add(rounds as u32); ranks]);
    }
}

/// Each row is what rank 1 of 3 does instead of waiting, and what rank 1 and the others return. The
/// others wait at most as long as the test's time limit.
#[test]
fn a_rank_that_leaves_or_is_late_breaks_the_barrier_of_all() {
    type Row = (fn(&Barrier) -> Gathered, fn(usize) -> Gathered);
    let rows: [Row; 4] = [
        // Late, but not too late.
        (
            |barrier| {
                thread::sleep(Duration::from_millis(60));
                barrier.gather(1, forever)
            },
            |_| Ok(vec![0, 1, 2]),
        ),
        (
            |barrier| {
                barrier.leave();
                barrier.gather(1, forever)
            },
            |rank| broken(rank, 1, Break::Left),
        ),
        // The first that stops is rank 0 or 2.
        (
            |barrier| {
                thread::sleep(Duration::from_millis(600));
                barrier.gather(1, forever)
            },
            |rank| late(rank, 1),
        ),
        // A number that is 0 is gathered as any other.
        (|barrier| barrier.gather(0, forever), |_| Ok(vec![0, 0, 2])),
    ];
    for (number, (work, want)) in rows.into_iter().enumerate() {
        let all = on_threads(3, 5, |barrier| match barrier.rank {
            1 => work(&barrier),
            rank => barrier.gather(rank as u64, until(rank, 200)),
        });
        let stopped = |found: &Gathered| matches!(found, Err(error) if error.message == Break::Late.to_string());
        for (rank, found) in all.into_iter().enumerate() {
            let is_late = number == 2 && stopped(&found);
            assert!(is_late || found == want(rank), "row {number}, rank {rank}: {found:?}");
        }
    }
}

/// Ranks stop waiting at the time at which the last one arrives: all must have the numbers, or all
/// an error.
#[test]
fn a_barrier_is_complete_on_all_ranks_or_on_none() {
    let mut ends = [0, 0];
    for round in 0..60 {
        let all = on_threads(4, round, |barrier| {
            if barrier.rank == 3 {
                thread::sleep(Duration::from_micros(250 * u64::from(round)));
            }
            // Ranks stop after `CHECK`, 5 ms.
            barrier.gather(0, until(barrier.rank, 0)).is_ok()
        });
        assert!(all.iter().all(|complete| *complete == all[0]), "round {round}: {all:?}");
        ends[usize::from(all[0])] += 1;
    }
    assert!(ends[0] > 0 && ends[1] > 0, "{ends:?}");
}

#[test]
fn close_waits_until_all_ranks_have_left() {
    let left = AtomicUsize::new(0);
    let all = on_threads(5, 0, |barrier| {
        thread::sleep(Duration::from_millis(10 * barrier.rank as u64));
        left.fetch_add(1, Ordering::SeqCst);
        let closed = barrier.close(forever);
        (closed, left.load(Ordering::SeqCst))
    });
    assert_eq!(all, vec![(Ok(()), 5); 5]);
    // A rank that stays.
    let all = on_threads(2, 0, |barrier| match barrier.rank {
        0 => barrier.close(until(0, 50)),
        _ => {
            thread::sleep(Duration::from_millis(300));
            Ok(())
        }
    });
    assert_eq!(all[0], late(0, 1).map(drop));
}

/// Starts this program as rank `rank` of 3.
fn started(file: &PageFile, rank: usize) -> Child {
    Command::new(env::current_exe().unwrap())
        .args(["--ignored", "--exact", "barrier::tests::child_rank"])
        .envs([("TURNTILE_PAGE", file.0.to_string()), ("TURNTILE_RANK", rank.to_string())])
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

/// Kills the process of a rank while two others wait, and before they begin to wait.
#[test]
#[cfg(target_os = "linux")]
fn a_process_that_dies_breaks_the_barrier_of_the_others() {
    for early in [false, true] {
        let file = PageFile::create(3).unwrap();
        let mut barrier = Barrier::open(file.0, 0, 3).unwrap();
        let mut children = [1, 2].map(|rank| started(&file, rank));
        while [1, 2].iter().any(|&rank| barrier.line(rank, PROCESS).load(Ordering::Acquire) == 0) {
            thread::yield_now();
        }
        barrier.watch();
        assert_eq!(barrier.gather(7, forever), Ok(vec![7, 1, 2]));
        let kill = |child: &mut Child| child.kill().unwrap();
        let begun = Instant::now();
        let gathered = thread::scope(|scope| {
            if early {
                kill(&mut children[0]);
            } else {
                scope.spawn(|| {
                    thread::sleep(Duration::from_millis(50));
                    kill(&mut children[0]);
                });
            }
            barrier.gather(7, until(0, 20_000))
        });
        assert_eq!(gathered, broken(0, 1, Break::Ended));
        // Rank 2 leaves; rank 1 has not left, but its process has ended.
        assert_eq!(barrier.close(until(0, 20_000)), Ok(()));
        assert!(begun.elapsed() < Duration::from_secs(20));
        let codes = children.map(|mut child| child.wait().unwrap().code());
        assert_eq!(codes, [None, Some(0)]);
    }
}

#[test]
#[ignore = "run by `a_process_that_dies_breaks_the_barrier_of_the_others`"]
fn child_rank() {
    let number = |name| env::var(name).unwrap().parse::<u64>().unwrap();
    let rank = number("TURNTILE_RANK") as usize;
    let mut barrier = Barrier::open(number("TURNTILE_PAGE"), rank, 3).unwrap();
    barrier.watch();
    barrier.gather(rank as u64, forever).unwrap();
    // Rank 1 is killed before it arrives.
    if rank == 1 {
        thread::sleep(Duration::from_secs(60));
    }
    assert_eq!(barrier.gather(0, forever), broken(rank, 1, Break::Ended));
}

#[test]
fn pages_are_rejected_with_another_length_or_number() {
    let file = PageFile::create(2).unwrap();
    assert!(Barrier::open(file.0, 0, 3).is_err());
    drop(PageFile::create(256).unwrap_err());
    let number = file.0;
    drop(file);
    assert_eq!(Barrier::open(number, 0, 2).unwrap_err().kind(), io::ErrorKind::NotFound);
}

/// Runs the test `child_CASE` in a separate process.
#[cfg(target_os = "linux")]
fn runs_child(case: &str) {
    let test = format!("barrier::tests::child_{case}");
    let args = ["--ignored", "--exact", &test];
    let output = Command::new(env::current_exe().unwrap()).args(args).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{case}: {output:?}");
}

/// Two ranks of this process, which is alive.
fn watched_pair() -> [Barrier; 2] {
    let file = PageFile::create(2).unwrap();
    let mut both = [0, 1].map(|rank| Barrier::open(file.0, rank, 2).unwrap());
    both.iter_mut().for_each(Barrier::watch);
    both
}

/// Rank 1 comes after several checks of its process.
fn gathers_late([first, second]: &[Barrier; 2]) {
    assert_eq!(first.watched.len(), 1);
    let gathered = thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(100));
            second.gather(1, forever)
        });
        first.gather(0, until(0, 20_000))
    });
    assert_eq!(gathered, Ok(vec![0, 1]));
    assert_eq!(first.close(until(0, 50)), late(0, 1).map(drop));
}

#[test]
#[cfg(target_os = "linux")]
fn a_process_whose_state_cannot_be_read_has_not_ended() {
    runs_child("no_descriptors");
    runs_child("cut_name");
}

#[test]
#[ignore = "run by `a_process_whose_state_cannot_be_read_has_not_ended`"]
fn child_no_descriptors() {
    let both = watched_pair();
    let held: Vec<_> = std::iter::from_fn(|| fs::File::open("/dev/null").ok()).collect();
    assert!(!held.is_empty() && start_time(process::id().into()).is_err());
    gathers_late(&both);
}

#[test]
#[ignore = "run by `a_process_whose_state_cannot_be_read_has_not_ended`"]
fn child_cut_name() {
    let both = watched_pair();
    // The system keeps 15 bytes, here the first half of the last letter.
    fs::write("/proc/self/comm", "worker-M\u{fc}nche\u{f1})").unwrap();
    assert!(fs::read("/proc/self/comm").unwrap().ends_with(b"\xc3\n"));
    gathers_late(&both);
}

/// Rank 1 is killed between the two writes of `leave`.
#[test]
#[cfg(target_os = "linux")]
fn a_process_that_dies_while_it_leaves_has_left() {
    let file = PageFile::create(2).unwrap();
    let mut barrier = Barrier::open(file.0, 0, 2).unwrap();
    let mut child = Command::new("sleep").arg("100").spawn().unwrap();
    let id = u64::from(child.id());
    let start = start_time(id).unwrap().unwrap();
    barrier.line(1, PROCESS + 1).store(start, Ordering::Relaxed);
    barrier.line(1, PROCESS).store(id, Ordering::Relaxed);
    barrier.watch();
    barrier.break_for(Break::Left, 1, None);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(start_time(id).unwrap(), None);
    assert_eq!(barrier.gather(0, until(0, 20_000)), broken(0, 1, Break::Left));
    assert_eq!(barrier.close(until(0, 20_000)), Ok(()));
}

/// The number of another process in the page stands for a fork of the rank's process.
#[test]
fn a_fork_takes_no_part() {
    let both = watched_pair();
    let own = both[1].line(1, PROCESS).swap(1, Ordering::Relaxed);
    assert!(both[1].gather(1, forever).unwrap_err().message.contains("a fork"));
    assert_eq!(both[1].close(forever), Ok(()));
    assert_eq!((both[0].state().arrived, both[0].state().broken), (0, None));
    both[1].line(1, PROCESS).store(own, Ordering::Relaxed);
}

#[test]
fn close_at_the_limit_returns_whether_all_have_left() {
    let [first, second] = watched_pair();
    let mut second = Some(second);
    let closed = first.close(|waited| {
        drop(second.take());
        until(0, 0)(waited)
    });
    assert_eq!(closed, Ok(()));
}

#[test]
fn a_rank_that_was_late_is_told_so() {
    let [first, _second] = watched_pair();
    assert_eq!(first.gather(0, until(0, 0)), late(0, 1));
    let again = first.gather(0, forever).unwrap_err();
    assert_eq!(again.message, "this rank has stopped waiting for other ranks");
}
