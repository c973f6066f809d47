//! The threads that calls run on.
//!
//! A call made in a rayon pool runs on that pool. All other calls share a pool of their own, which the first of them starts:
//! rayon's global pool is left to the application. rayon panics if a thread cannot be started, by a limit on processes or on
//! memory; this pool has as many threads as could be started, or none, and the calling thread does all. A forked process has
//! none of its parent's threads, and starts its own.
//!
//! `RAYON_NUM_THREADS` may ask for more threads than help: rayon's idle threads look for work with each of the others, so
//! that 8000 on two cores take minutes for a second's work.

use std::collections::TryReserveError;
use std::env;
use std::hint::black_box;
use std::io;
use std::num::NonZeroUsize;
use std::sync::OnceLock;
use std::thread::{self, JoinHandle};

use rayon::{Scope, ThreadBuilder, ThreadPool, ThreadPoolBuilder};

/// The pool of calls that are made in no rayon pool.
struct Own {
    /// Number of the process that started it.
    process: u32,
    /// As many threads as could be started; none if none could.
    threads: Option<ThreadPool>,
    /// Why there are fewer than there were to be, if so.
    refused: Option<io::Error>,
    /// The pool of a process that was forked from that one, in that process.
    forked: OnceLock<Box<Own>>,
}

static OWN: OnceLock<Own> = OnceLock::new();

/// Returns this process's pool, started if it has none yet.
fn own() -> &'static Own {
    let process = std::process::id();
    let mut own = OWN.get_or_init(make);
    while own.process != process {
        own = own.forked.get_or_init(|| Box::new(make()));
    }
    own
}

/// The most threads that are started for each core.
const MOST_PER_CORE: usize = 8;

/// Returns how many threads the pool of calls that are made in no rayon pool is to have: one per core, or what
/// `RAYON_NUM_THREADS` says, at most 8 per core.
pub fn pool_size() -> usize {
    let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    // As rayon reads them, the second for programs of old.
    let named = |name| env::var(name).ok()?.parse::<usize>().ok();
    let asked = named("RAYON_NUM_THREADS").or_else(|| named("RAYON_RS_NUM_CPUS"));
    asked.filter(|&asked| asked > 0).map_or(cores, |asked| asked.min(MOST_PER_CORE * cores))
}

/// The most threads that a plan is made for: as many as a pool can have.
pub const MOST: usize = 65_535;

/// Returns how many threads a call that is made here runs on, the calling one included.
pub fn count() -> usize {
    match rayon::current_thread_index() {
        Some(_) => rayon::current_num_threads(),
        None => own().threads.as_ref().map_or(1, ThreadPool::current_num_threads),
    }
}

/// Returns why fewer threads were started than [`pool_size`] says, if so.
pub fn refused() -> Option<&'static io::Error> {
    OWN.get()?.refused.as_ref()
}

/// Runs `work` for each share: the first in the calling thread, the others where [`count`] says. Shares may wait for
/// those that began before them, and for no others.
///
/// While the calling thread waits for the others it runs other tasks of the rayon pool that it belongs to.
#[doc(hidden)]
pub fn each<S: Send>(
    shares: impl IntoIterator<Item = S, IntoIter: ExactSizeIterator>,
    work: impl Fn(S) + Sync,
) {
    let mut shares = shares.into_iter();
    let Some(first) = shares.next() else { return };
    if shares.len() == 0 {
        return work(first);
    }
    let work = &work;
    if rayon::current_thread_index().is_some() {
        return rayon::in_place_scope(|scope| spread(scope, first, shares, work));
    }
    match &own().threads {
        Some(threads) => threads.in_place_scope(|scope| spread(scope, first, shares, work)),
        None => {
            work(first);
            shares.for_each(work);
        }
    }
}

fn spread<'scope, S: Send + 'scope>(
    scope: &Scope<'scope>,
    first: S,
    others: impl Iterator<Item = S>,
    work: &'scope (impl Fn(S) + Sync),
) {
    others.for_each(|share| scope.spawn(move |_| work(share)));
    work(first);
}

/// Bytes that starting a thread allocates in small pieces at most. If one of those cannot be allocated, Rust ends the process.
const SPARE: usize = 256 << 10;
/// Bytes of a thread's stack.
const STACK: usize = 2 << 20;

/// Bytes that making a plan or a pool allocates in small pieces at most: 0.7 MB were counted for 35 axes without workspace, 0.3 MB
/// to read a table of costs.
#[doc(hidden)]
pub const PLANNING: usize = 1 << 20;
/// Bytes of each part of that. Allocators map larger ones apart, and take memory for small ones in steps (glibc: 132 KiB), so one
/// large part could be there where many small ones are not.
const PART: usize = 64 << 10;

/// Checks that there is memory to make a plan or a pool.
///
/// # Errors
/// There is none.
#[doc(hidden)]
pub fn spare_to_plan() -> Result<(), TryReserveError> {
    let mut parts = [const { Vec::<u8>::new() }; PLANNING / PART];
    parts.iter_mut().try_for_each(|part| {
        let found = part.try_reserve_exact(PART);
        // What is not looked at is not allocated.
        black_box(part.as_ptr());
        found
    })
}

/// Whether there is memory for `bytes` more.
///
/// # Errors
/// There is none.
fn spare(bytes: usize) -> Result<(), TryReserveError> {
    let mut memory = Vec::<u8>::new();
    let found = memory.try_reserve_exact(bytes);
    // What is not looked at is not allocated.
    black_box(memory.as_ptr());
    found
}

/// Starts as many threads as there are to be, or as can be started.
fn make() -> Own {
    let (process, forked) = (std::process::id(), OnceLock::new());
    let (mut most, mut refused) = (pool_size(), None);
    while most > 0 {
        // For all of them, before the first is started: none finds too little for its first steps. Once only: an allocator that
        // has freed so much keeps what is asked for next for itself (glibc, below twice as much), where no stack can be.
        if let Err(why) = spare_to_plan().and_then(|()| spare(most * (STACK + SPARE) + PLANNING)) {
            refused.get_or_insert(why.into());
            most -= 1;
            continue;
        }
        let mut started = Vec::new();
        let builder = ThreadPoolBuilder::new().num_threads(most);
        match builder.spawn_handler(starter(&mut started)).build() {
            Ok(threads) => {
                // Wait until every thread runs: one that starts later, when memory has run out, would abort the process.
                threads.broadcast(|_| ());
                return Own { process, threads: Some(threads), refused, forked };
            }
            Err(error) => {
                refused.get_or_insert(cause(&error));
                most = ended(started).min(most - 1);
            }
        }
    }
    Own { process, threads: None, refused, forked }
}

/// Starts threads as rayon does, and keeps their handles.
fn starter(
    started: &mut Vec<JoinHandle<()>>,
) -> impl FnMut(ThreadBuilder) -> io::Result<()> + use<'_> {
    |builder| {
        let named = thread::Builder::new().name(format!("turntile-{}", builder.index()));
        started.push(named.spawn(|| builder.run())?);
        Ok(())
    }
}

/// Waits for the threads of a pool that came to nothing: those that follow can take their places. How many they were.
fn ended(started: Vec<JoinHandle<()>>) -> usize {
    let count = started.len();
    for thread in started {
        // Nothing ran on it.
        let _ = thread.join();
    }
    count
}

/// What the system said, without rayon's words where it gave a number.
fn cause(error: &rayon::ThreadPoolBuildError) -> io::Error {
    let why = std::error::Error::source(error).and_then(|why| why.downcast_ref::<io::Error>());
    let code = why.and_then(io::Error::raw_os_error);
    code.map_or_else(|| io::Error::other(error.to_string()), io::Error::from_raw_os_error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    #[ignore = "reads the environment of a process of its own"]
    fn child_prints_how_many() {
        print!("<{}>", count());
    }

    #[test]
    #[ignore = "makes the global pool of a process of its own"]
    fn child_makes_the_global_pool() {
        each(0..3, |_| ());
        assert!(count() > 0);
        ThreadPoolBuilder::new().num_threads(5).build_global().unwrap();
        assert_eq!(rayon::current_num_threads(), 5);
        let (here, there) = (count(), rayon::scope(|_| count()));
        assert_eq!((here, there), (pool_size(), 5));
    }

    #[test]
    fn the_global_pool_is_left_to_the_application() {
        let mut child = Command::new(env::current_exe().unwrap());
        child.args(["--ignored", "--exact", "threads::tests::child_makes_the_global_pool"]);
        let output = child.output().unwrap();
        let told = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && told.contains("1 passed"), "{output:?}");
    }

    #[test]
    fn the_environment_names_threads_up_to_some_for_each_core() {
        let cores = thread::available_parallelism().unwrap().get();
        let most = MOST_PER_CORE * cores;
        for (asked, threads) in [("1", 1), ("3", 3), ("8000", most), ("0", cores), ("all", cores)] {
            let mut child = Command::new(env::current_exe().unwrap());
            child.args([
                "--ignored",
                "--exact",
                "--nocapture",
                "threads::tests::child_prints_how_many",
            ]);
            let output = child.env("RAYON_NUM_THREADS", asked).output().unwrap();
            let text = String::from_utf8(output.stdout).unwrap();
            assert!(text.contains(&format!("<{threads}>")), "{asked}: {text}");
        }
    }
}
