//! Files replaced atomically: the old file or the new one, whole, with no more access than before, and no change of another
//! program lost.
//!
//! | module | holds |
//! |---|---|
//! | `open` | source and target, opened, locked and recognised again; what is rejected before any work |
//! | `lock` | one change of a file at a time |
//! | `keep` | owner, permissions, access lists and attributes of the file that is replaced |
//! | `replace` | the new file until it replaces the old one |

mod keep;
mod lock;
mod open;
mod replace;

use std::io;

pub use lock::{LockRequest, Locking};
pub use open::{Opened, Target, changed, open, refuse_unwritable};
pub use replace::{NewFile, scratch};

/// Returns whether the error says that the system has no such function, rather than that the function failed.
fn is_unsupported(error: &io::Error) -> bool {
    #[cfg(unix)]
    {
        use rustix::io::Errno;
        let errno = Errno::from_io_error(error);
        if matches!(errno, Some(Errno::OPNOTSUPP | Errno::NOLCK | Errno::NOSYS | Errno::INVAL)) {
            return true;
        }
    }
    error.kind() == io::ErrorKind::Unsupported
}
