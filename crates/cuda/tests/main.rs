//! The integration tests, one program: each is linked anew.

mod card;
mod cases;
mod cut;
mod driver_library;
mod follow;
mod golden;
mod leading;
mod lowering;
mod maps;
mod no_device;
mod offers;
mod replay;
