//! Index maps of in-place transposition.
//!
//! Pure mathematics: this crate moves no data and contains no unsafe code. It allocates only
//! vectors and strings, and has no global state. Clones of a [`RecordSchema`] share its vectors.
//!
//! | module | contents | source |
//! |---|---|---|
//! | [`permutation`] | axis permutations of row-major arrays | thesis section 4.3 |
//! | `flipped` | axis permutations that reverse axes: flips and quarter turns | |
//! | `fusion` | fusion of adjacent axes; permutations of high rank as a sequence of smaller ones | |
//! | `names` | factorial numbers as names of axis permutations (010!, 100!, …) | thesis table 4.1 |
//! | `elementary` | swaps of two axes | thesis section 4.4 |
//! | `aligned_slots` | transposition of a matrix of any shape in two passes | `docs/explanation/how-it-works.md` |
//! | `record_layout` | records with fields of any width, in tiles: AoS, ASTA, SoA | thesis section 5.4.1 |
//! | `record_slots` | conversion of such records to columns in two passes | `docs/how-to/records.md` |
//! | [`tile_pairs`] | involutions of axes as swaps of pairs of tiles | `docs/explanation/how-it-works.md` |
//! | `tile_rows` | moves of tile rows between two leading dimensions | `docs/explanation/how-it-works.md` |
//! | `leading` | matrices with a leading dimension | |
//! | `panels` | matrices in panels of almost equal width: core and border | `docs/how-to/several-memories.md` |
//! | [`row_slide`] | in-place changes of the pitch of rows (padding and unpadding) | thesis eq. 4.1 |
//! | [`divisors`] | prime factors and divisors | |
//! | `fastdiv` | division by an invariant with a multiply and shifts | Granlund and Montgomery 1994 |
//!
//! Matrices are row-major, indices start at 0, and a matrix is `rows` by `cols`.

mod aligned_slots;
pub mod divisors;
mod elementary;
mod fastdiv;
mod flipped;
mod fusion;
mod leading;
mod names;
mod panels;
pub mod permutation;
mod record_layout;
mod record_slots;
pub mod row_slide;
pub mod tile_pairs;
mod tile_rows;

pub use aligned_slots::{AlignedSlots, SlotOrder};
pub use elementary::{Elementary, SwapKind};
pub use fastdiv::FastDiv;
pub use flipped::FlippedAxes;
pub use fusion::{FusedAxes, MAX_RANK};
pub use leading::{LeadingDims, PitchedRows};
#[doc(hidden)]
pub use names::factorial_name;
pub use panels::{BorderPiece, BorderSide, Panels};
pub use permutation::{AxisPermutation, PermutationError, StridedAxis};
pub use record_layout::{AOS, LayoutChange, RecordSchema};
pub use record_slots::FieldSlots;
pub use row_slide::{RowSlide, split_evenly};
pub use tile_pairs::TilePairs;
pub use tile_rows::TileRows;
