//! Records from one layout to another, in place: AoS, SoA and ASTA (thesis section 5.4.1).
//!
//! Of `n` records whose fields have `k_f` bytes, `c_f` before field `f` and `K` in all, byte `u` of field `f` of record `i` lies
//!
//! | layout | at |
//! |---|---|
//! | [`Aos`](RecordOrder::Aos), array of structures | `iK + c_f + u` |
//! | [`Soa`](RecordOrder::Soa), structure of arrays | `n·c_f + i·k_f + u` |
//! | [`Asta(T)`](RecordOrder::Asta), tiles of `T` records that are each an SoA | `⌊i/T⌋·TK + L·c_f + (i mod T)·k_f + u` |
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
//! On a GPU any records go between AoS and tiles; to and from SoA fields of unequal widths number 64 at most. Anything
//! else is refused as a plan that there is not.
//!
//! # Records of a type
//!
//! [`Records`] have their layout in their type: what is a slice only in one layout can be had only there. They are a `Vec` that
//! stays where it is.
//!
//! ```
//! use turntile::layout::{Aos, Record, Records};
//!
//! #[derive(Record, Clone, Copy)]
//! #[repr(C)]
//! struct Cell {
//!     flag: u8,
//!     pad: [u8; 3],
//!     rho: f32,
//!     u: [f32; 3],
//! }
//!
//! let cells = vec![Cell { flag: 1, pad: [0; 3], rho: 0.5, u: [1.0, 2.0, 3.0] }; 1000];
//! let cells: Records<Cell, Aos> = Records::from(cells);
//! let mut cells = cells.into_asta::<32>()?;
//! for tile in cells.tiles_mut() {
//!     let (rho, u) = tile.columns_mut((Cell::RHO, Cell::U));
//!     rho.iter_mut().zip(u).for_each(|(rho, u)| *rho += u[0]);
//! }
//! let cells = cells.into_soa()?;
//! let rho: &[f32] = cells.column(Cell::RHO);
//! assert_eq!(rho, [1.5; 1000]);
//! let cells: Vec<Cell> = cells.into_aos()?.into();
//! # assert_eq!(cells[999].u, [1.0, 2.0, 3.0]);
//! # Ok::<(), turntile::Error>(())
//! ```
//!
//! A record is a `#[repr(C)]` structure with named fields of any types that are `Pod` by [`bytemuck`]: numbers, arrays of
//! them, records. Any bits are one, and it has no padding: bytes that nobody uses are a field. The derive checks that, and
//! makes the record `Pod` too; `#[record(pod)]` leaves that out where bytemuck's derive has done it.
//!
//! Columns are called as constants are, [`Cell::RHO`](Column) of field `rho`, so that a method `rho` may stand beside them. A
//! field that is an array is one column of arrays. Columns lie by falling alignment of their fields, so that every column of
//! every tile is aligned. A GPU's memory has the same records by [`RecordConversion::of_record`].
//!
//! # Grids
//!
//! A [`Grid`]'s layout is any [`Flattening`] of its dimensions; [`parallel`] chooses one for a device's memory.
//!
//! # Memory that knows its layout
//!
//! [`Tracked`] memory knows how its records lie, and is converted when a use wants them otherwise.

pub mod parallel;

pub use bytemuck;
pub use turntile_derive::Record;
pub use turntile_perm::{
    Flattening, FlatteningError, GridStep, LayoutAxis, PatternError, PatternFault, Rearrangement,
};

pub use crate::columns::{Column, Columns, Field, Record, RecordTile};
pub use crate::grid::{Grid, conversion};
pub use crate::record_conversion::{LayoutError, RecordConversion, RecordOrder};
pub use crate::records::{Aos, Asta, RecordLayout, Records, RejectedRecords, Soa};
pub use crate::tracked::{Marshal, Tracked};
