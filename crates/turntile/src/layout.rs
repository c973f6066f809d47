//! Records from one layout to another, in place: AoS, SoA and ASTA (thesis section 5.4.1).
//!
//! Of `n` records whose fields have `k_f` bytes, `c_f` before field `f` and `K` in all, byte `u` of field `f` of record `i` lies
//!
//! | layout | at |
//! |---|---|
//! | [`Aos`](Layout::Aos), array of structures | `iK + c_f + u` |
//! | [`Soa`](Layout::Soa), structure of arrays | `n·c_f + i·k_f + u` |
//! | [`Asta(T)`](Layout::Asta), tiles of `T` records that are each an SoA | `⌊i/T⌋·TK + L·c_f + (i mod T)·k_f + u` |
//!
//! with `L` the records of the tile: `T`, of the last one those that are left. In AoS `c_f` is where a field lies in a record;
//! columns lie in the order in which the fields are given, so that the caller says which order keeps them aligned.
//!
//! ```
//! use turntile::Bytes;
//! use turntile::layout::{Layout, Relayout};
//!
//! // A tag of a byte, and a value of two.
//! let mut records = *b"aA1bB2cC3dD4eE5";
//! let layout = Relayout::new(5, &[1, 2]);
//! layout.clone().from(Layout::Aos).to(Layout::Soa).plan()?.run(&mut Bytes(&mut records[..]))?;
//! assert_eq!(&records, b"abcdeA1B2C3D4E5");
//! assert_eq!(layout.column(1), 5..15);
//! layout.from(Layout::Soa).to(Layout::Asta(2)).plan()?.run(&mut Bytes(&mut records[..]))?;
//! assert_eq!(&records, b"abA1B2cdC3D4eE5");
//! # Ok::<(), turntile::Error>(())
//! ```
//!
//! AoS and ASTA are one pass apart; two suffice from either to SoA. A plan is a plan like any other:
//! printed, capped, tuned and run by the calls of [`Transpose`](crate::Transpose).
//!
//! On a GPU any records go between AoS and tiles; to and from SoA fields are of one size, and tiles divide the records. Anything
//! else is refused as a plan that there is not.
//!
//! A [`Grid`]'s layout is any [`Flattening`] of its dimensions; [`parallel`] chooses one for a device's memory.
//!
//! [`Tracked`] memory knows how its records lie, and is converted when a use wants them otherwise.

pub mod parallel;

pub use turntile_perm::{
    Flattening, GridError, GridStep, Part, PatternError, PatternFault, Rearrangement,
};

pub use crate::grid::{Grid, conversion};
pub use crate::relayout::{Layout, LayoutError, Relayout};
pub use crate::tracked::{Marshal, Tracked};
