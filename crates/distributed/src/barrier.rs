//! Barrier between the processes of one host, in a page of memory that they share.
//!
//! The first word of the page is the [`State`] of the barrier. Only compare-and-swap changes it, so
//! that a barrier is either complete on all ranks or broken on all ranks. Each rank has a cache line
//! of words that only it writes, except [`LEFT`] of a process that has ended.
#![allow(unsafe_code)]

use std::fs::{self, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};
use std::{fmt, hint, process, thread};

use memmap2::{MmapOptions, MmapRaw};

use crate::communicator::CommError;

/// Number of 64-bit words in a cache line.
const LINE: usize = 8;

// Words in the line of a rank.
/// Values of even and of odd barriers.
const VALUES: usize = 0;
/// Number of barriers that the rank has reached, for error messages.
const REACHED: usize = 2;
/// 1 if the rank does not use the page again.
const LEFT: usize = 3;
/// Number of the process and its start time.
const PROCESS: usize = 4;

/// Number of times that a rank looks at the page before it lets other threads run.
const SPINS: usize = 200;
/// Time in which a rank that waits gives its core to other threads without sleeping.
const YIELDS: Duration = Duration::from_micros(500);
/// Longest sleep.
const SLEEP: Duration = Duration::from_millis(1);
/// Time between calls of `keep_waiting`, and between checks whether other processes have ended.
const CHECK: Duration = Duration::from_millis(5);

/// A rank's view of the page.
#[derive(Debug)]
pub struct Barrier {
    page: MmapRaw,
    rank: usize,
    ranks: usize,
    /// Processes of other ranks whose end is visible to this rank: rank, number and start time.
    watched: Vec<(usize, [u64; 2])>,
}

/// File of a page until it is dropped. Pages that are open stay valid.
#[derive(Debug)]
pub struct PageFile(pub u64);

/// Reason why a barrier is broken for all following calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Break {
    /// A rank has left.
    Left = 1,
    /// The process of a rank has ended.
    Ended,
    /// A rank has stopped waiting.
    Late,
}

impl Break {
    fn text(self, who: &str) -> String {
        match self {
            Break::Left => format!("{who} has closed its plan"),
            Break::Ended => format!("{who}'s process has ended"),
            Break::Late => format!("{who} has stopped waiting for other ranks"),
        }
    }
}

impl fmt::Display for Break {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text("the partner"))
    }
}

/// State of the barrier, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct State {
    /// Number of complete barriers, modulo 2³².
    complete: u32,
    /// Number of ranks that have reached the next one.
    arrived: u8,
    /// Reason and rank.
    broken: Option<(Break, u8)>,
}

impl State {
    fn word(self) -> u64 {
        let (why, rank) = self.broken.map_or((0, 0), |(why, rank)| (why as u8, rank));
        let [a, b, c, d] = self.complete.to_le_bytes();
        u64::from_le_bytes([a, b, c, d, self.arrived, why, rank, 0])
    }

    fn of(word: u64) -> Self {
        let [a, b, c, d, arrived, why, rank, _] = word.to_le_bytes();
        let why =
            [Break::Left, Break::Ended, Break::Late].into_iter().find(|known| *known as u8 == why);
        let complete = u32::from_le_bytes([a, b, c, d]);
        State { complete, arrived, broken: why.map(|why| (why, rank)) }
    }
}

impl PageFile {
    /// Creates the page of at most 255 ranks, under a random number that is not 0.
    pub fn create(ranks: usize) -> io::Result<Self> {
        if ranks > usize::from(u8::MAX) {
            return Err(io::Error::other(format!("{ranks} ranks, a page has room for 255")));
        }
        // The random keys of a thread are the same in all forks of its process.
        let number = RandomState::new().hash_one((process::id(), SystemTime::now())).max(1);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut opened = options.open(path(number))?;
        // Removed on errors from here on, but not if another process has created it.
        let file = PageFile(number);
        // Writing allocates the memory; later accesses cannot fail.
        opened.write_all(&vec![0; bytes(ranks)])?;
        Ok(file)
    }
}

impl Drop for PageFile {
    fn drop(&mut self) {
        // If it fails, a file of one page is left.
        let _ = fs::remove_file(path(self.0));
    }
}

fn path(number: u64) -> PathBuf {
    format!("/dev/shm/turntile-{number:016x}").into()
}

fn bytes(ranks: usize) -> usize {
    (1 + ranks) * LINE * size_of::<u64>()
}

/// Returns the start time of a process, or `None` if it has ended.
///
/// # Errors
/// It is unknown whether the process has ended, for example without free file descriptors.
fn start_time(process: u64) -> io::Result<Option<u64>> {
    /// The process ended after its file was opened.
    const ESRCH: i32 = 3;
    let stat = match fs::read(format!("/proc/{process}/stat")) {
        Err(error)
            if error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(ESRCH) =>
        {
            return Ok(None);
        }
        stat => stat?,
    };
    // The name in parentheses is any bytes, which may be cut inside a letter.
    let stat = String::from_utf8_lossy(&stat);
    let read = || {
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
        let state = fields.next()?;
        let threads: u64 = fields.nth(16)?.parse().ok()?;
        let start = fields.nth(1)?.parse().ok()?;
        // Other threads may run after the first one has ended.
        let ended = matches!(state, "Z" | "X") && threads <= 1;
        Some((!ended).then_some(start))
    };
    read().ok_or_else(|| io::Error::other("unknown format"))
}

impl Barrier {
    /// Opens the page with this number.
    pub fn open(number: u64, rank: usize, ranks: usize) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).open(path(number))?;
        if file.metadata()?.len() != bytes(ranks) as u64 {
            return Err(io::Error::other("the shared page has another length"));
        }
        let page = MmapOptions::new().len(bytes(ranks)).map_raw(&file)?;
        let barrier = Barrier { page, rank, ranks, watched: Vec::new() };
        let own = u64::from(process::id());
        let words = [own, start_time(own).ok().flatten().unwrap_or(0)];
        barrier.line(rank, PROCESS + 1).store(words[1], Ordering::Relaxed);
        barrier.line(rank, PROCESS).store(words[0], Ordering::Relaxed);
        Ok(barrier)
    }

    /// Finds the processes of the other ranks, after all ranks have opened the page. Processes that
    /// this one cannot see, such as those of another container, are not watched.
    pub fn watch(&mut self) {
        let of =
            |rank| [PROCESS, PROCESS + 1].map(|at| self.line(rank, at).load(Ordering::Relaxed));
        let all = (0..self.ranks).filter(|&rank| rank != self.rank).map(|rank| (rank, of(rank)));
        self.watched = all
            .filter(|(_, [id, start])| matches!(start_time(*id), Ok(Some(now)) if now == *start))
            .collect();
    }

    fn word(&self, at: usize) -> &AtomicU64 {
        assert!(at < self.page.len() / size_of::<u64>(), "word {at} is outside the page");
        // SAFETY: the word is inside the page, aligned, and mapped while `self` exists. All
        // processes access it atomically, and none shortens the file.
        unsafe { AtomicU64::from_ptr(self.page.as_mut_ptr().cast::<u64>().add(at)) }
    }

    fn line(&self, rank: usize, at: usize) -> &AtomicU64 {
        self.word((1 + rank) * LINE + at)
    }

    fn state(&self) -> State {
        State::of(self.word(0).load(Ordering::Acquire))
    }

    /// Changes the state, unless the barrier is broken or `complete` barriers differ. Returns the
    /// state before.
    fn update(&self, complete: Option<u32>, change: impl Fn(State) -> State) -> State {
        let change = |word| {
            let state = State::of(word);
            let possible = state.broken.is_none() && complete.is_none_or(|n| n == state.complete);
            possible.then(|| change(state).word())
        };
        let (set, get) = (Ordering::AcqRel, Ordering::Acquire);
        let (Ok(before) | Err(before)) = self.word(0).fetch_update(set, get, change);
        State::of(before)
    }

    /// Breaks the barrier for all ranks, unless `complete` barriers differ.
    fn break_for(&self, why: Break, rank: usize, complete: Option<u32>) {
        // `create` limits the number of ranks.
        self.update(complete, |state| State { broken: Some((why, rank as u8)), ..state });
    }

    /// Returns the numbers that all ranks passed as `own`, in rank order. Collective.
    ///
    /// # Errors
    /// All ranks return numbers, or all return an error: the barrier is broken, or `keep_waiting`
    /// returned an error on one of them. It then stays broken.
    pub fn gather(
        &self,
        own: u64,
        keep_waiting: impl FnMut(Duration) -> Result<(), CommError>,
    ) -> Result<Vec<u64>, CommError> {
        if self.in_fork() {
            let message = "this process is a fork of the rank's process".into();
            return Err(CommError { rank: self.rank, partner: self.rank, message });
        }
        // Without this rank, the number of complete barriers does not change.
        let State { complete, .. } = self.state();
        let next = complete.wrapping_add(1);
        // A rank is at most one barrier ahead of another that reads the values of the last one.
        let values = VALUES + (complete % 2) as usize;
        self.line(self.rank, values).store(own, Ordering::Relaxed);
        self.line(self.rank, REACHED).store(next.into(), Ordering::Relaxed);
        self.update(None, |state| match usize::from(state.arrived) + 1 == self.ranks {
            true => State { complete: next, arrived: 0, ..state },
            false => State { arrived: state.arrived + 1, ..state },
        });
        let ended = |state: State| state.complete == next || state.broken.is_some();
        let stopped = self.wait(|| ended(self.state()), keep_waiting).err();
        if stopped.is_some() {
            self.break_for(Break::Late, self.rank, Some(complete));
        }
        match (self.state(), stopped) {
            (State { complete, .. }, _) if complete == next => {
                let value = |rank| self.line(rank, values).load(Ordering::Relaxed);
                Ok((0..self.ranks).map(value).collect())
            }
            (State { broken: Some((why, rank)), .. }, stopped) => {
                let (own, partner) = (self.rank, usize::from(rank));
                Err(stopped.filter(|_| partner == own).map_or_else(
                    || CommError {
                        rank: own,
                        partner,
                        message: why.text(if partner == own { "this rank" } else { "the partner" }),
                    },
                    |stopped| CommError { partner: self.missing(next), ..stopped },
                ))
            }
            (state, _) => unreachable!("{state:?}"),
        }
    }

    /// Returns the first rank that has not reached barrier `next`, or this rank.
    fn missing(&self, next: u32) -> usize {
        let reached = |rank: &usize| self.line(*rank, REACHED).load(Ordering::Relaxed);
        (0..self.ranks).find(|rank| reached(rank) != u64::from(next)).unwrap_or(self.rank)
    }

    /// Waits until `done` returns `true`. Breaks the barrier if the process of a rank has ended.
    fn wait(
        &self,
        done: impl Fn() -> bool,
        mut keep_waiting: impl FnMut(Duration) -> Result<(), CommError>,
    ) -> Result<(), CommError> {
        for _ in 0..SPINS {
            if done() {
                return Ok(());
            }
            hint::spin_loop();
        }
        let (begun, mut next_check) = (Instant::now(), CHECK);
        while !done() {
            let waited = begun.elapsed();
            match waited < YIELDS {
                true => thread::yield_now(),
                false => thread::sleep((waited / 16).min(SLEEP)),
            }
            if waited < next_check {
                continue;
            }
            next_check = waited + CHECK;
            for &(rank, [id, start]) in &self.watched {
                let left = self.line(rank, LEFT);
                let ended = || start_time(id).is_ok_and(|now| now != Some(start));
                if left.load(Ordering::Acquire) == 0 && ended() {
                    self.break_for(Break::Ended, rank, None);
                    left.store(1, Ordering::Release);
                }
            }
            keep_waiting(waited)?;
        }
        Ok(())
    }

    /// Leaves, and waits until all other ranks have left or ended. Has no effect in a fork of the
    /// rank's process.
    ///
    /// # Errors
    /// The error of `keep_waiting`, with the first rank that has not left.
    pub fn close(
        &self,
        keep_waiting: impl FnMut(Duration) -> Result<(), CommError>,
    ) -> Result<(), CommError> {
        self.leave();
        let stays = |rank: &usize| self.line(*rank, LEFT).load(Ordering::Acquire) == 0;
        let first = || (0..self.ranks).find(stays);
        if self.in_fork() {
            return Ok(());
        }
        let stopped = self.wait(|| first().is_none(), keep_waiting).err();
        match (stopped, first()) {
            (Some(stopped), Some(partner)) => Err(CommError { partner, ..stopped }),
            _ => Ok(()),
        }
    }

    /// Returns `true` in a fork of the rank's process, which takes no part.
    fn in_fork(&self) -> bool {
        self.line(self.rank, PROCESS).load(Ordering::Relaxed) != u64::from(process::id())
    }

    fn leave(&self) {
        if !self.in_fork() {
            // In this order: other ranks do not watch a process that has left.
            self.break_for(Break::Left, self.rank, None);
            self.line(self.rank, LEFT).store(1, Ordering::Release);
        }
    }
}

impl Drop for Barrier {
    fn drop(&mut self) {
        self.leave();
    }
}

#[cfg(test)]
mod tests;
