//! Thread pools that run calls on the CPU.
//!
//! A call made inside a rayon pool runs on that pool. All other calls share one pool, started by
//! the first of them, and leave rayon's global pool to the application. rayon panics if a thread
//! cannot be started because of a limit on processes or memory. The shared pool has as many threads
//! as could be started. If it has none, the calling thread does all the work. A forked process
//! inherits no threads and starts its own pool.
//!
//! `RAYON_NUM_THREADS` is capped, because idle rayon threads look for work at every other thread:
//! with 8000 threads on two cores, a second of work takes minutes.

use std::collections::TryReserveError;
use std::env;
use std::hint::black_box;
use std::io;
use std::num::NonZeroUsize;
use std::sync::OnceLock;
use std::thread::{self, JoinHandle};

use rayon::{Scope, ThreadBuilder, ThreadPool, ThreadPoolBuilder};

/// Pool of the calls that are made outside any rayon pool.
struct ProcessPool {
    /// ID of the process that started it.
    process: u32,
    /// The threads that could be started, or `None` if none could.
    threads: Option<ThreadPool>,
    /// Reason why fewer threads than intended were started.
    start_error: Option<io::Error>,
    /// Pool of a process that was forked from `process`; only set in the forked process.
    forked: OnceLock<Box<ProcessPool>>,
}

static POOL: OnceLock<ProcessPool> = OnceLock::new();

/// Returns the pool of this process, and starts it on first use.
fn process_pool() -> &'static ProcessPool {
    let process = std::process::id();
    let mut process_pool = POOL.get_or_init(start_pool);
    while process_pool.process != process {
        process_pool = process_pool.forked.get_or_init(|| Box::new(start_pool()));
    }
    process_pool
}

/// Maximum number of threads of the shared pool per core.
const MOST_PER_CORE: usize = 8;

/// Returns the intended size of the pool: `RAYON_NUM_THREADS`, at most 8 per core. If it is unset,
/// 0 or not a number, returns one thread per core.
pub(crate) fn pool_size() -> usize {
    let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    // Same variables as rayon. The second one is the old name of the first.
    let parsed = |name| env::var(name).ok()?.parse::<usize>().ok();
    let requested = parsed("RAYON_NUM_THREADS").or_else(|| parsed("RAYON_RS_NUM_CPUS"));
    requested
        .filter(|&requested| requested > 0)
        .map_or(cores, |requested| requested.min(MOST_PER_CORE * cores))
}

/// Maximum number of threads of a plan: the maximum size of a rayon pool.
pub const MAX_THREADS: usize = 65_535;

/// Returns the number of threads on which a call from the current thread runs, including that
/// thread.
pub fn thread_count() -> usize {
    match rayon::current_thread_index() {
        Some(_) => rayon::current_num_threads(),
        None => process_pool().threads.as_ref().map_or(1, ThreadPool::current_num_threads),
    }
}

/// Returns the reason why the shared pool has fewer threads than intended, if any.
pub fn start_error() -> Option<&'static io::Error> {
    POOL.get()?.start_error.as_ref()
}

/// Runs `work` for each share: the first in the calling thread, the others on the threads that
/// [`thread_count`] counts.
///
/// A share may wait for shares that started before it, and for no others. A calling thread of a
/// rayon pool runs other tasks of that pool while it waits for the other shares.
#[doc(hidden)]
pub fn for_each<S: Send>(
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
        return rayon::in_place_scope(|scope| spawn_shares(scope, first, shares, work));
    }
    match &process_pool().threads {
        Some(threads) => threads.in_place_scope(|scope| spawn_shares(scope, first, shares, work)),
        None => {
            work(first);
            shares.for_each(work);
        }
    }
}

/// Spawns `others` in the scope and runs `first` in the calling thread.
fn spawn_shares<'scope, S: Send + 'scope>(
    scope: &Scope<'scope>,
    first: S,
    others: impl Iterator<Item = S>,
    work: &'scope (impl Fn(S) + Sync),
) {
    others.for_each(|share| scope.spawn(move |_| work(share)));
    work(first);
}

/// Bytes that are checked to be available before a thread starts: upper bound of its small
/// allocations. If one of them fails, Rust aborts the process.
const START_BYTES: usize = 256 << 10;
/// Bytes of a thread's stack.
const STACK_BYTES: usize = 2 << 20;

/// Bytes that are checked to be available before a plan or a thread pool is made: upper bound of
/// its small allocations. Measured: 0.7 MB for 35 axes without workspace, 0.3 MB to parse a cost
/// table.
#[doc(hidden)]
pub const PLANNING_BYTES: usize = 1 << 20;
/// Size in bytes of each block that the check of [`PLANNING_BYTES`] allocates.
///
/// Allocators map larger blocks separately and grow the heap for small ones in steps (glibc: 132
/// KiB). One large block may be available when many small ones are not.
const PART_BYTES: usize = 64 << 10;

/// Checks that the memory to make a plan or a thread pool is available.
///
/// # Errors
/// The memory is not available.
#[doc(hidden)]
pub fn check_planning_memory() -> Result<(), TryReserveError> {
    let mut parts = [const { Vec::<u8>::new() }; PLANNING_BYTES / PART_BYTES];
    parts.iter_mut().try_for_each(|part| {
        let found = part.try_reserve_exact(PART_BYTES);
        // Without this use, the compiler could remove the allocation.
        black_box(part.as_ptr());
        found
    })
}

/// Checks that `bytes` more bytes of memory are available.
///
/// # Errors
/// The memory is not available.
fn check_memory(bytes: usize) -> Result<(), TryReserveError> {
    let mut memory = Vec::<u8>::new();
    let found = memory.try_reserve_exact(bytes);
    // Without this use, the compiler could remove the allocation.
    black_box(memory.as_ptr());
    found
}

/// Starts a pool with the intended number of threads, or fewer if not all can be started.
fn start_pool() -> ProcessPool {
    let (process, forked) = (std::process::id(), OnceLock::new());
    let (mut most, mut start_error) = (pool_size(), None);
    while most > 0 {
        // Checks the memory of all threads before the first one starts, so that none lacks memory
        // in its first steps.
        if let Err(why) = check_planning_memory()
            .and_then(|()| check_memory(most * (STACK_BYTES + START_BYTES) + PLANNING_BYTES))
        {
            start_error.get_or_insert(why.into());
            most -= 1;
            continue;
        }
        let mut started = Vec::new();
        let builder = ThreadPoolBuilder::new().num_threads(most);
        match builder.spawn_handler(thread_starter(&mut started)).build() {
            Ok(threads) => {
                // Wait until every thread runs: one that starts later, when memory has run out,
                // would abort the process.
                threads.broadcast(|_| ());
                return ProcessPool { process, threads: Some(threads), start_error, forked };
            }
            Err(error) => {
                start_error.get_or_insert(os_error(&error));
                most = join_all(started).min(most - 1);
            }
        }
    }
    ProcessPool { process, threads: None, start_error, forked }
}

/// Returns a function that starts threads as rayon does and collects their handles in `started`.
fn thread_starter(
    started: &mut Vec<JoinHandle<()>>,
) -> impl FnMut(ThreadBuilder) -> io::Result<()> + use<'_> {
    |builder| {
        let thread_builder = thread::Builder::new().name(format!("turntile-{}", builder.index()));
        started.push(thread_builder.spawn(|| builder.run())?);
        Ok(())
    }
}

/// Waits for the threads of a pool that failed to start, and returns their number. Their resources
/// are then free for the next attempt.
fn join_all(started: Vec<JoinHandle<()>>) -> usize {
    let count = started.len();
    for thread in started {
        // The threads ran no work, so their results do not matter.
        let _ = thread.join();
    }
    count
}

/// Returns the operating system's error if rayon's error contains its code, otherwise rayon's text.
fn os_error(error: &rayon::ThreadPoolBuildError) -> io::Error {
    let why = std::error::Error::source(error).and_then(|why| why.downcast_ref::<io::Error>());
    let code = why.and_then(io::Error::raw_os_error);
    code.map_or_else(|| io::Error::other(error.to_string()), io::Error::from_raw_os_error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    #[ignore = "needs a separate process for its environment"]
    fn child_prints_thread_count() {
        print!("<{}>", thread_count());
    }

    #[test]
    #[ignore = "needs a separate process for its global pool"]
    fn child_builds_global_pool() {
        for_each(0..3, |_| ());
        assert!(thread_count() > 0);
        ThreadPoolBuilder::new().num_threads(5).build_global().unwrap();
        assert_eq!(rayon::current_num_threads(), 5);
        let (here, there) = (thread_count(), rayon::scope(|_| thread_count()));
        assert_eq!((here, there), (pool_size(), 5));
    }

    #[test]
    fn global_pool_stays_available_to_the_application() {
        let mut child = Command::new(env::current_exe().unwrap());
        child.args(["--ignored", "--exact", "pool::tests::child_builds_global_pool"]);
        let output = child.output().unwrap();
        let stdout = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && stdout.contains("1 passed"), "{output:?}");
    }

    #[test]
    fn pool_size_follows_environment_up_to_eight_per_core() {
        let cores = thread::available_parallelism().unwrap().get();
        let most = MOST_PER_CORE * cores;
        for (requested, threads) in
            [("1", 1), ("3", 3), ("8000", most), ("0", cores), ("all", cores)]
        {
            let mut child = Command::new(env::current_exe().unwrap());
            child.args([
                "--ignored",
                "--exact",
                "--nocapture",
                "pool::tests::child_prints_thread_count",
            ]);
            let output = child.env("RAYON_NUM_THREADS", requested).output().unwrap();
            let text = String::from_utf8(output.stdout).unwrap();
            assert!(text.contains(&format!("<{threads}>")), "{requested}: {text}");
        }
    }
}
