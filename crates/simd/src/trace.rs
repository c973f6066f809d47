//! Record of the code path taken through a kernel, in tests only.

/// Does nothing. In tests, records which code path ran. `count` is the vector width in lanes, the
/// number of steps or a size, depending on the path.
#[cfg(not(test))]
#[inline(always)]
pub fn trace_path(_path: &'static str, _count: usize) {}

#[cfg(test)]
pub use recorded::{CodePath, taken, trace_path};

#[cfg(test)]
mod recorded {
    use std::cell::RefCell;

    /// Name of a code path, and a count.
    pub type CodePath = (&'static str, usize);

    thread_local! {
        static PATHS: RefCell<Vec<CodePath>> = const { RefCell::new(Vec::new()) };
    }

    /// Records a code path and its count.
    pub fn trace_path(path: &'static str, count: usize) {
        PATHS.with_borrow_mut(|paths| paths.push((path, count)));
    }

    /// Returns the code paths that this thread takes in `work`, in order.
    pub fn taken(work: impl FnOnce()) -> Vec<CodePath> {
        PATHS.take();
        work();
        PATHS.take()
    }
}
