//! The C interface of turntile, declared in `include/turntile.h`.
//!
//! The header is written by hand. A test in `src/header.rs` compares it with the Rust declarations.

#[doc(hidden)]
pub mod answer;
#[cfg(feature = "calls")]
mod calls;
#[cfg(feature = "calls")]
mod desc;
#[cfg(all(test, feature = "calls"))]
mod header;
#[cfg(feature = "calls")]
mod last_error;
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
    turntile_permute, turntile_status_name, turntile_strerror, turntile_transpose,
    turntile_transpose_copy, turntile_version,
};
#[cfg(feature = "calls")]
pub use desc::Desc;
#[cfg(feature = "calls")]
pub use last_error::{turntile_last_error, turntile_set_last_error};
#[cfg(feature = "calls")]
pub use plan::{
    PlanHandle, turntile_execute, turntile_execute_copy, turntile_plan_create,
    turntile_plan_destroy, turntile_plan_text, turntile_plan_workspace,
};
pub use status::Status;
