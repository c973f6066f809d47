//! The pure mathematics of in-place transposition: no data is moved here, nothing is allocated
//! beyond the lists that a caller asks for, and nothing is unsafe.
//!
//! | module | holds | source |
//! |---|---|---|
//! | [`axes`] | the one shape of every permutation of axes | thesis section 4.3 |
//! | [`fuse`] | the same of any number of axes, and as several where they are many | |
//! | [`names`] | factorial numbers as names of orders of axes (010!, 100!, …) | thesis table 4.1 |
//! | [`elementary`] | two groups of axes that change places | thesis section 4.4 |
//! | [`slots`] | aligned slots: a transposition of any shape in two local passes | `docs/algorithm.md` |
//! | [`fields`] | records of fields of any widths, in tiles: AoS, ASTA, SoA | thesis section 5.4.1 |
//! | [`field_slots`] | aligned slots of such records | `docs/layouts.md` |
//! | [`tile_pairs`] | permutations of order two as tiles that change places | `docs/algorithm.md` |
//! | [`tile_runs`] | rows of tiles from one pitch to another | `docs/algorithm.md` |
//! | [`parts`] | an axis cut into parts, one for each of several memories | `docs/distributed.md` |
//! | [`squares`] | a matrix in such parts as squares that change places | `docs/distributed.md` |
//! | [`pattern`] | axes split, permuted and joined, in einops' notation | |
//! | [`pitched`] | rows a pitch apart | |
//! | [`grid`] | layouts of grids: dimensions strip-mined and permuted | thesis section 6.2 |
//! | [`slide`] | rows that slide from one pitch to another in place | thesis eq. 4.1 |
//! | [`divisors`] | prime factors, divisors | |
//! | [`fastdiv`] | division by an invariant with a multiply and a shift | Granlund and Montgomery 1994 |
//!
//! Matrices are row-major and 0-based throughout; a matrix is `rows` by `cols`.

pub mod aligned_slots;
pub mod divisors;
pub mod elementary;
pub mod fastdiv;
pub mod fusion;
pub mod grid;
pub mod leading;
pub mod names;
pub mod partition;
pub mod pattern;
pub mod peer_squares;
pub mod permutation;
pub mod record_layout;
pub mod record_slots;
pub mod row_slide;
pub mod tile_pairs;
pub mod tile_rows;

pub use aligned_slots::{AlignedSlots, SlotOrder};
pub use elementary::{Elementary, SwapKind};
pub use fastdiv::FastDiv;
pub use fusion::{FusedAxes, MOST_GIVEN};
pub use grid::{Flattening, FlatteningError, GridStep, LayoutAxis};
pub use leading::{LeadingDims, PitchedRows};
pub use names::factorial_name;
pub use partition::Partition;
pub use pattern::{PatternError, PatternFault, Rearrangement};
pub use peer_squares::PeerSquares;
pub use permutation::{AxisPermutation, PermutationError};
pub use record_layout::{AOS, LayoutChange, RecordSchema};
pub use record_slots::FieldSlots;
pub use row_slide::{RowSlide, share};
pub use tile_pairs::TilePairs;
pub use tile_rows::TileRows;
