//! turntile for C: what `include/turntile.h` declares.
//!
//! | file | holds |
//! |---|---|
//! | `status` | what can go wrong, as a number and as text |
//! | `version` | versions of library and header, and which headers a library accepts |
//! | `answer` | how a call ends: panics held, the text kept for the thread |
//! | `memory` | C's pointers as slices, checked first |
//! | `desc` | the descriptor of a plan, of this version or an older one |
//! | `plan` | plans made, run, destroyed |
//! | `calls` | the calls that need no plan |
//!
//! The header is written by hand; a test compiles it against what is declared here: every size, offset, number and
//! signature (`src/header.rs`).

mod answer;
mod calls;
mod desc;
#[cfg(test)]
mod header;
mod memory;
mod plan;
mod status;
mod version;

pub use calls::{
    turntile_last_error, turntile_permute, turntile_status_name, turntile_transpose,
    turntile_transpose_into, turntile_version,
};
pub use desc::Desc;
pub use plan::{
    Plan, turntile_execute, turntile_execute_into, turntile_plan_create, turntile_plan_destroy,
    turntile_plan_text, turntile_plan_workspace,
};
pub use status::Status;
