//! In-place conversion of records between layouts: AoS, SoA and ASTA (thesis section 5.4.1).
//!
//! Take `n` records of `K` bytes each, whose field `f` has `k_f` bytes and is preceded by `c_f`
//! bytes. Byte `u` of field `f` of record `i` is stored as follows:
//!
//! | layout | byte offset |
//! |---|---|
//! | [`Aos`](RecordOrder::Aos), array of structures | `iK + c_f + u` |
//! | [`Soa`](RecordOrder::Soa), structure of arrays | `n·c_f + i·k_f + u` |
//! | [`Asta(T)`](RecordOrder::Asta), tiles of `T` records that are each an SoA | `⌊i/T⌋·TK + L·c_f + (i mod T)·k_f + u` |
//!
//! Here `L` is the number of records of the tile: `T`, or the remainder for the last tile. In AoS,
//! `c_f` is the offset of the field in the record. In SoA and ASTA, columns follow the order in
//! which the fields are given, so the caller can choose an order that aligns them.
//!
//! ```
//! use turntile::RawElements;
//! use turntile::layout::{RecordConversion, RecordOrder};
//!
//! // Records of a one-byte tag and a two-byte value.
//! let mut records = *b"aA1bB2cC3dD4eE5";
//! let layout = RecordConversion::new(5, &[1, 2]);
//! let to_soa = layout.clone().from(RecordOrder::Aos).to(RecordOrder::Soa).plan()?;
//! to_soa.run(&mut RawElements(&mut records[..]))?;
//! assert_eq!(&records, b"abcdeA1B2C3D4E5");
//! assert_eq!(layout.column(1), 5..15);
//! let to_asta = layout.from(RecordOrder::Soa).to(RecordOrder::Asta(2)).plan()?;
//! to_asta.run(&mut RawElements(&mut records[..]))?;
//! assert_eq!(&records, b"abA1B2cdC3D4eE5");
//! # Ok::<(), turntile::Error>(())
//! ```
//!
//! A conversion between AoS and ASTA takes one pass, to or from SoA at most two. The builder is
//! [`Transpose`](crate::Transpose), so workspace caps, tuning, printing and runs work as usual.
//!
//! A GPU converts any records between AoS and tiles. To or from SoA, it supports at most 64 fields
//! if their widths differ. For more fields, planning returns an error.
//!
//! # Records of a type
//!
//! [`Records`] have their layout as a type parameter, so code can only access slices that are
//! contiguous in the current layout. They wrap a `Vec`, whose allocation conversions reuse.
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
//! A record is a `#[repr(C)]` structure with named fields of any types that are `Pod` of
//! [`bytemuck`]: numbers, arrays of them, or records. It has no padding, and any bits are a valid
//! value: declare unused bytes as a field. The derive macro checks this and also implements `Pod`.
//! If bytemuck's derive already implements it, add `#[record(pod)]`.
//!
//! Columns are associated constants in upper case, such as [`Cell::RHO`](Column) for field `rho`,
//! so they do not conflict with a method `rho`. An array field is one column of arrays. Columns are
//! sorted by decreasing alignment of their fields, so every column of every tile is aligned.
//! [`RecordConversion::of_record`] describes the same records in GPU memory.

pub use bytemuck;
pub use turntile_derive::Record;

pub use crate::columns::{Column, Columns, Field, Record, RecordTile};
pub use crate::pattern::{PatternError, PatternFault, Rearrangement};
pub use crate::record_conversion::{LayoutError, RecordConversion, RecordOrder};
pub use crate::records::{Aos, Asta, RecordLayout, Records, RejectedRecords, Soa};
