//! Which way through a kernel was taken: recorded in tests alone.

/// A way was taken; `count` is of its vectors' lanes, or of its steps, as the way is.
#[cfg(not(test))]
#[inline(always)]
pub fn trace_path(_way: &'static str, _count: usize) {}

#[cfg(test)]
pub use recorded::{CodePath, taken, trace_path};

#[cfg(test)]
mod recorded {
    use std::cell::RefCell;

    /// Its name and a count.
    pub type CodePath = (&'static str, usize);

    thread_local! {
        static WAYS: RefCell<Vec<CodePath>> = const { RefCell::new(Vec::new()) };
    }

    /// A way was taken.
    pub fn trace_path(way: &'static str, count: usize) {
        WAYS.with_borrow_mut(|ways| ways.push((way, count)));
    }

    /// The ways that this thread takes in `work`, in order.
    pub fn taken(work: impl FnOnce()) -> Vec<CodePath> {
        WAYS.take();
        work();
        WAYS.take()
    }
}
