//! Which standard streams were closed when the process began.
//!
//! Rust opens /dev/null in their place before `main`: later it cannot be distinguished from one that was wanted, and
//! what is written there is lost without an error.
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicBool, Ordering};

static INPUT: AtomicBool = AtomicBool::new(false);
static OUTPUT: AtomicBool = AtomicBool::new(false);

/// Other systems are not checked, and both count as open.
#[cfg(any(
    target_os = "linux",
    target_os = "android",
    target_os = "freebsd",
    target_vendor = "apple"
))]
mod begin {
    use std::sync::atomic::Ordering;

    use rustix::fd::BorrowedFd;
    use rustix::io::{Errno, fcntl_getfd};
    use rustix::stdio::{stdin, stdout};

    extern "C" fn look() {
        let closed = |stream: BorrowedFd<'_>| fcntl_getfd(stream) == Err(Errno::BADF);
        super::INPUT.store(closed(stdin()), Ordering::Relaxed);
        super::OUTPUT.store(closed(stdout()), Ordering::Relaxed);
    }

    // SAFETY: the section is a table of functions without arguments that are called before `main`; this is one, and asks
    // for nothing that is made ready later.
    #[used]
    #[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func"))]
    #[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".init_array"))]
    static LOOK: extern "C" fn() = look;
}

/// Whether standard input was.
pub fn input() -> bool {
    INPUT.load(Ordering::Relaxed)
}

/// Whether standard output was.
pub fn output() -> bool {
    OUTPUT.load(Ordering::Relaxed)
}
