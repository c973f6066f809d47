//! The integration tests, one program: each is linked anew.

mod leading;
mod rows;
mod stages;
