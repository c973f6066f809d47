//! Files replaced whole or not at all, nobody let in who was not, nothing of another's lost.
//!
//! | module | holds |
//! |---|---|
//! | `stamp` | by what a file and a state of it are known again |
//! | `lock` | one change of a file at a time |
//! | `claim` | source and target, opened and locked |
//! | `target` | what a target is, and all that can be refused before any work |
//! | `special` | names that stand for something else than a file |
//! | `keep` | owner, permissions, access lists and attributes of the file that is replaced |
//! | `unnamed` | temporary files without a name, where the system has them |
//! | `leftover` | names of temporary files, and the removal of those that a killed run left |
//! | `room` | room on the disk |
//! | `pending` | a result until it is in place, interruptions included |
//! | `writable` | whether a file of measurements can be written, before they are made |

mod claim;
mod keep;
mod leftover;
mod lock;
mod pending;
mod room;
mod special;
mod stamp;
mod target;
mod unnamed;
mod writable;

pub use claim::{Source, claim, claim_source, claim_target};
pub use lock::{Asking, Locking};
#[cfg(unix)]
pub use pending::abandon;
pub use pending::{Pending, begin, proceed, scratch};
pub use target::Target;
pub use writable::refuse_unwritable;
