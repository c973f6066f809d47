//! Files replaced whole or not at all, with no more access than before, and no change of another program lost.
//!
//! | module | holds |
//! |---|---|
//! | `open` | source and target, opened, locked and known again; what is refused before any work |
//! | `lock` | one change of a file at a time |
//! | `keep` | owner, permissions, access lists and attributes of the file that is replaced |
//! | `temporary` | temporary files, with a name or without, and room for them |
//! | `directory` | an open directory, in which all of this is made and renamed |
//! | `pending` | a result until it is in place, interruptions included |
//! | `folder` | the same of a directory of new files |

mod directory;
mod folder;
mod keep;
mod lock;
mod open;
mod pending;
mod temporary;

use std::io;

pub use folder::{Folder, refuse_existing};
pub use lock::{Asking, Locking};
pub use open::{Opened, Target, changed, open};
#[cfg(unix)]
pub use pending::abandon;
pub use pending::{Pending, begin, proceed};
pub use temporary::{refuse_unwritable, scratch};

/// Whether the error is that the system has no such function, not that the function failed.
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
