//! Standard streams that cannot be used: closed when the process began, or open for the other direction alone.
//!
//! Rust opens /dev/null in the place of closed ones before `main`, and reports what a stream refuses that is open for
//! reading alone as written: data would be lost without an error.
#![allow(unsafe_code)]

use std::io;
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
    use rustix::fs::{OFlags, fcntl_getfl};
    use rustix::io::Errno;
    use rustix::stdio::{stdin, stdout};

    extern "C" fn look() {
        let is_of_no_use = |stream: BorrowedFd<'_>, other: OFlags| match fcntl_getfl(stream) {
            Ok(flags) => flags & OFlags::RWMODE == other,
            Err(errno) => errno == Errno::BADF,
        };
        super::INPUT.store(is_of_no_use(stdin(), OFlags::WRONLY), Ordering::Relaxed);
        super::OUTPUT.store(is_of_no_use(stdout(), OFlags::RDONLY), Ordering::Relaxed);
    }

    // SAFETY: the section is a table of functions without arguments that are called before `main`; this is one, and asks
    // for nothing that is made ready later.
    #[used]
    #[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func"))]
    #[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".init_array"))]
    static LOOK: extern "C" fn() = look;
}

/// Refuses standard input where it cannot be read.
pub fn input() -> io::Result<()> {
    refuse(&INPUT, "standard input is closed, or open for writing alone")
}

/// Refuses standard output where it cannot be written.
pub fn output() -> io::Result<()> {
    refuse(&OUTPUT, "standard output is closed, or open for reading alone")
}

fn refuse(stream: &AtomicBool, why: &str) -> io::Result<()> {
    if stream.load(Ordering::Relaxed) { Err(io::Error::other(why)) } else { Ok(()) }
}
