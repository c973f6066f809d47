//! The threads: one pool a process, made when it is first needed.
//!
//! A process that was forked has none of its parent's threads, and rayon's global pool would wait for them for ever. So
//! whoever asks says which process it is, and one that has no pool yet makes its own. Where its threads cannot be started,
//! it has none, and calling threads do all.
#![allow(unsafe_code)]

use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use rayon::{ThreadPool, ThreadPoolBuilder};

/// Bytes of address space that a thread takes: the stack that the standard library gives it, and its first allocations.
const THREAD: usize = (2 << 20) + (256 << 10);

/// Bytes that the pool itself takes, with much to spare.
const SPARE: usize = 1 << 20;

/// A pool and the process that made it.
struct Pool {
    process: u32,
    threads: Option<ThreadPool>,
}

/// The last pool made. None is ever dropped: a parent's threads are not there to be joined.
static LAST: AtomicPtr<Pool> = AtomicPtr::new(ptr::null_mut());

/// This process's pool: as many threads as it may run at a time, or as `RAYON_NUM_THREADS` says; none where the system
/// does not start them.
fn pool() -> Option<&'static ThreadPool> {
    let process = std::process::id();
    let last = LAST.load(Ordering::Acquire);
    // SAFETY: null, or of a box that is never dropped.
    if let Some(pool) = unsafe { last.as_ref() }
        && pool.process == process
    {
        return pool.threads.as_ref();
    }
    let size = turntile::threads::pool_size();
    let sized = ThreadPoolBuilder::new().num_threads(size);
    let named = sized.thread_name(|number| format!("turntile-{number}"));
    let threads = if has_room(size) { named.build().ok() } else { None };
    let made = Box::into_raw(Box::new(Pool { process, threads }));
    match LAST.compare_exchange(last, made, Ordering::AcqRel, Ordering::Acquire) {
        // SAFETY: made above, and never dropped from now on.
        Ok(_) => unsafe { (*made).threads.as_ref() },
        Err(_) => {
            // Another thread was first.
            // SAFETY: made above, and not shared.
            drop(unsafe { Box::from_raw(made) });
            pool()
        }
    }
}

/// Whether there is memory for so many threads: one that starts and finds none for its first steps ends the process.
fn has_room(threads: usize) -> bool {
    let mut room = Vec::<u8>::new();
    let is_there = room.try_reserve_exact(threads * THREAD + SPARE).is_ok();
    // Otherwise the compiler may leave out the allocation.
    std::hint::black_box(room);
    is_there
}

/// How many threads there are to run on, at most as many as asked for.
pub fn threads(asked: Option<usize>) -> usize {
    let all = || pool().map_or(1, ThreadPool::current_num_threads);
    match asked {
        Some(1) => 1,
        Some(asked) => asked.min(all()),
        None => all(),
    }
}

/// Runs `work` where the pool's threads help it; in the calling thread where it is to have no help.
pub fn run<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    match (threads > 1).then(pool).flatten() {
        Some(pool) => pool.install(work),
        None => work(),
    }
}
