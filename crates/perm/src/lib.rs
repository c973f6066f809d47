//! The pure mathematics of in-place transposition: no data is moved here, nothing is allocated
//! beyond the lists that a caller asks for, and nothing is unsafe.
//!
//! | module | holds | source |
//! |---|---|---|
//! | [`transposition`] | where an element of an `m x n` matrix goes, and comes from | thesis eq. 4.2, 4.3 |
//! | [`cycles`] | cycles of any permutation; their number for a transposition in closed form | Cate and Twigg, TOMS 513 |
//! | [`factorial`] | dimension permutations named by factorial numbers (010!, 100!, …) | thesis table 4.1 |
//! | [`axes`] | the one shape of every permutation of axes | thesis section 4.3 |
//! | [`fuse`] | the same of any number of axes, and as several where they are many | |
//! | [`elementary`] | two groups of axes that change places | thesis section 4.4 |
//! | [`slots`] | aligned slots: a transposition of any shape in two local passes | `docs/algorithm.md` |
//! | [`pitched`] | rows a pitch apart | |
//! | [`slide`] | rows that slide from one pitch to another in place | thesis eq. 4.1 |
//! | [`shares`] | items shared out evenly among workers | |
//! | [`divisors`] | factorisation, divisors, totient, multiplicative order | |
//! | [`fastdiv`] | division by an invariant with a multiply and a shift | Granlund and Montgomery 1994 |
//!
//! Matrices are row-major and 0-based throughout; a matrix is `rows` by `cols`.

pub mod axes;
pub mod cycles;
pub mod divisors;
pub mod elementary;
pub mod factorial;
pub mod fastdiv;
pub mod fuse;
pub mod pitched;
pub mod shares;
pub mod slide;
pub mod slots;
pub mod transposition;

pub use axes::{AxesError, AxisPermutation};
pub use elementary::Elementary;
pub use factorial::DimPermutation;
pub use fastdiv::FastDiv;
pub use fuse::{FusedAxes, MOST_GIVEN};
pub use pitched::{Leading, Pitched};
pub use slide::Slide;
pub use slots::{Order, Slots};
pub use transposition::Transposition;
