//! The integration tests, one program: each is linked anew.

mod leading;
mod padding;
mod stages;
