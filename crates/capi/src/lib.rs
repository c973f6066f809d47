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

#[doc(hidden)]
pub mod answer;
#[cfg(feature = "calls")]
mod calls;
#[cfg(feature = "calls")]
mod desc;
#[cfg(all(test, feature = "calls"))]
mod header;
#[cfg(test)]
mod layouts;
#[doc(hidden)]
pub mod memory;
#[cfg(feature = "calls")]
mod plan;
#[doc(hidden)]
pub mod status;
mod version;

#[cfg(feature = "calls")]
pub use calls::{
    turntile_last_error, turntile_permute, turntile_status_name, turntile_transpose,
    turntile_transpose_into, turntile_version,
};
#[cfg(feature = "calls")]
pub use desc::Desc;
#[cfg(feature = "calls")]
pub use plan::{
    PlanHandle, turntile_execute, turntile_execute_into, turntile_plan_create,
    turntile_plan_destroy, turntile_plan_text, turntile_plan_workspace,
};
pub use status::Status;
