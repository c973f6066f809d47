//! The threads that calls run on.
//!
//! They are those of the rayon pool that a call is made in, or else of the process's pool, which is made when it is first
//! needed. rayon panics where one of its threads cannot be started: a limit on processes or on memory. Here there is a
//! pool of those that could be started then, or none, and the calling thread does all.
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

/// Where calls run that are made in no pool.
enum Pool {
    /// The one that rayon has for the process.
    Process,
    /// One of fewer threads, or none, and why.
    Fewer(Option<ThreadPool>, io::Error),
}

static POOL: OnceLock<Pool> = OnceLock::new();

/// The most threads that are started for each core.
const MOST_PER_CORE: usize = 8;

/// How many threads a pool of the process is to have: one for each core, or what `RAYON_NUM_THREADS` says, to 8 for each
/// core.
pub fn pool_size() -> usize {
    let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    // As rayon reads them, the second for programs of old.
    let named = |name| env::var(name).ok()?.parse::<usize>().ok();
    let asked = named("RAYON_NUM_THREADS").or_else(|| named("RAYON_RS_NUM_CPUS"));
    asked.filter(|&asked| asked > 0).map_or(cores, |asked| asked.min(MOST_PER_CORE * cores))
}

/// Where this call runs.
fn pool() -> &'static Pool {
    match POOL.get() {
        Some(Pool::Process) => &Pool::Process,
        // A pool that the call is made in comes first.
        _ if rayon::current_thread_index().is_some() => &Pool::Process,
        Some(fewer) => fewer,
        None => POOL.get_or_init(make),
    }
}

/// Threads that a plan is made for at most: as many as a pool can have.
pub const MOST: usize = 65_535;

/// How many threads a call that is made here runs on, the calling one included.
pub fn count() -> usize {
    match pool() {
        Pool::Process => rayon::current_num_threads(),
        Pool::Fewer(threads, _) => threads.as_ref().map_or(1, ThreadPool::current_num_threads),
    }
}

/// Why there are fewer threads than there were to be, if that is so.
pub fn refused() -> Option<&'static io::Error> {
    match POOL.get() {
        Some(Pool::Fewer(_, why)) => Some(why),
        _ => None,
    }
}

/// Runs `work` for each share: the first in the calling thread, the others where [`count`] says. Shares may wait for
/// those that began before them, and for no others.
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
    match pool() {
        Pool::Process => rayon::in_place_scope(|scope| spread(scope, first, shares, work)),
        Pool::Fewer(Some(threads), _) => {
            threads.in_place_scope(|scope| spread(scope, first, shares, work));
        }
        Pool::Fewer(None, _) => {
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

/// Bytes that planning and starting a thread allocate in small pieces at most: where one of those cannot be allocated,
/// Rust ends the process.
pub const SPARE: usize = 256 << 10;
/// Bytes of a thread's stack.
const STACK: usize = 2 << 20;

/// Whether there is memory for `bytes` more.
///
/// # Errors
/// There is none.
pub fn spare(bytes: usize) -> Result<(), TryReserveError> {
    let mut memory = Vec::<u8>::new();
    let found = memory.try_reserve_exact(bytes);
    // What is not looked at is not allocated.
    black_box(memory.as_ptr());
    found
}

fn make() -> Pool {
    let mut started = Vec::new();
    let builder = ThreadPoolBuilder::new().num_threads(pool_size());
    let built = builder.spawn_handler(starter(&mut started)).build_global();
    match built.map_err(cause) {
        // Made already, by whoever it was.
        Ok(()) | Err(None) => Pool::Process,
        Err(Some(why)) => Pool::Fewer(fewer(ended(started)), why),
    }
}

/// A pool of as many threads as can be started, `most` at most; none if none can.
fn fewer(mut most: usize) -> Option<ThreadPool> {
    while most > 0 {
        let mut started = Vec::new();
        let builder = ThreadPoolBuilder::new().num_threads(most);
        match builder.spawn_handler(starter(&mut started)).build() {
            Ok(pool) => return Some(pool),
            Err(_) => most = ended(started).min(most - 1),
        }
    }
    None
}

/// Starts threads as rayon does, and keeps their handles.
fn starter(
    started: &mut Vec<JoinHandle<()>>,
) -> impl FnMut(ThreadBuilder) -> io::Result<()> + use<'_> {
    |builder| {
        // Its stack, and what it, the pool and those that have just been started allocate beside it.
        spare(STACK + (started.len() + 1) * SPARE)?;
        started.push(thread::Builder::new().spawn(|| builder.run())?);
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

/// What the system said, if it was asked.
fn cause(error: rayon::ThreadPoolBuildError) -> Option<io::Error> {
    let why = std::error::Error::source(&error)?;
    let code = why.downcast_ref::<io::Error>().and_then(io::Error::raw_os_error);
    Some(code.map_or_else(|| io::Error::other(error.to_string()), io::Error::from_raw_os_error))
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
