//! The threads that calls run on.
//!
//! They are those of the rayon pool that a call is made in, or else of the process's pool, which is made when it is first
//! needed. rayon panics where one of its threads cannot be started: a limit on processes or on memory. Here there is a
//! pool of those that could be started then, or none, and the calling thread does all.

use std::io;
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

fn make() -> Pool {
    let mut started = Vec::new();
    let built = ThreadPoolBuilder::new().spawn_handler(starter(&mut started)).build_global();
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
