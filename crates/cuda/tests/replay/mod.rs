//! Effects of kernels as plain functions of a launch: the destination of the byte at an offset of
//! the matrix.
//!
//! Nothing here knows a launch's stage or calls the lowering code. Each module models one family of
//! `kernels/`: which block reads the byte, from which place, and where that block writes it. A byte
//! that no block reads is not moved. A launch that fails for any data (too little shared memory,
//! misaligned accesses, flags beyond the workspace) is [`Broken`].

mod axes_tile;
mod barrier;
mod barrier_axes;
pub mod bits;
mod cube;
mod device;
mod fields;
pub mod flips;
mod gather;
pub mod long_runs;
mod maps;
mod moves;
mod out_of_place;
mod pad;
mod pitched;
mod retile;
mod swap_axes;
mod tiles;
mod wide;

use turntile_cuda::args::{Args, SecondPointer};
use turntile_cuda::launch::{Launch, WorkspacePart};
use turntile_cuda::sync::BlockSync;

/// Reason why a launch cannot do what its kernel promises.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken(pub String);

pub type Answer<T> = Result<T, Broken>;

/// Returns `Err` unless `holds`.
fn need(holds: bool, what: impl FnOnce() -> String) -> Answer<()> {
    if holds { Ok(()) } else { Err(Broken(what())) }
}

/// Checks that the launch has the `bytes` bytes of shared memory that the kernel indexes.
fn on_chip(call: &Launch, bytes: u64) -> Answer<()> {
    need(bytes <= u64::from(call.shared_bytes), || {
        format!("{}: {bytes} bytes on chip, {} given", call.kernel(), call.shared_bytes)
    })
}

/// Checks that all of `quantities` are multiples of `bytes`.
fn aligned(bytes: u64, quantities: &[u64]) -> Answer<()> {
    need(quantities.iter().all(|quantity| quantity.is_multiple_of(bytes)), || {
        format!("accesses of {bytes} bytes at multiples of {quantities:?}")
    })
}

/// Checks that a block has whole warps, and at most the `most` threads that the kernel is compiled
/// for.
fn threads(call: &Launch, most: u32) -> Answer<()> {
    need(call.threads <= most && call.threads > 0 && call.threads.is_multiple_of(32), || {
        format!("{}: {} threads of {most}", call.kernel(), call.threads)
    })
}

/// Checks that a block has `threads` threads.
fn exactly(call: &Launch, threads: u64) -> Answer<()> {
    need(u64::from(call.threads) == threads, || {
        format!("{}: {} threads, not {threads}", call.kernel(), call.threads)
    })
}

/// Returns the destination of the byte at `offset` of memory whose address is a multiple of
/// `alignment`.
pub fn dest(call: &Launch, alignment: u64, offset: u64) -> Answer<u64> {
    Ok(moved(call, alignment, offset)?.unwrap_or(offset))
}

/// Returns the destination of the byte at `offset`, or `None` if the launch does not move it. Out
/// of place, `offset` is in the source. Saving gaps moves from the matrix to the workspace;
/// restoring them moves back.
pub fn moved(call: &Launch, alignment: u64, offset: u64) -> Moved {
    aligned(call.word as u64, &[alignment])?;
    workspace(call)?;
    let waits = matches!(call.params, Args::Runs(_) | Args::Gather(_))
        || ["barrier_grid", "barrier_team"].iter().any(|name| call.entry.starts_with(name));
    need((call.sync() == BlockSync::Grid) == waits, || {
        format!("{}: cooperative or not", call.kernel())
    })?;
    let clusters = call.entry.contains("_cluster");
    let in_clusters = call.sync() == BlockSync::Cluster;
    need(clusters == in_clusters && clusters == (call.cluster > 1), || {
        format!("{}: a cluster", call.kernel())
    })?;
    need(call.groups.is_multiple_of(call.cluster), || {
        format!("{}: whole clusters", call.kernel())
    })?;
    match &call.params {
        Args::Square(args) => tiles::square(call, args, alignment, offset),
        Args::Cube(args) => cube::cube(call, args, alignment, offset),
        Args::SwapAxes(args) => swap_axes::swap(call, args, alignment, offset),
        Args::Flip(args) => flips::flip(call, args, alignment, offset),
        Args::Turn(args) => flips::turn(call, args, alignment, offset),
        Args::Tiles(args) => tiles::in_place(call, args, alignment, offset),
        Args::Block(args) => barrier::block(call, args, alignment, offset),
        Args::Micro(args) => barrier::micro_or_few(call, args, alignment, offset),
        Args::Axes(args) => barrier_axes::axes(call, args, alignment, offset),
        Args::Pieces(args) => long_runs::pieces(call, args, alignment, offset),
        Args::RecordPieces(args) => long_runs::record_pieces(call, args, alignment, offset),
        Args::Wide(args) => wide::wide(call, args, alignment, offset),
        Args::Grid(args) => wide::grid(call, args, alignment, offset),
        Args::Team(args) => wide::teams(call, args, alignment, offset),
        Args::TeamAxes(args) => axes_tile::teams(call, args, alignment, offset),
        Args::Runs(args) => gather::runs(call, args, alignment, offset),
        Args::Gather(args) => gather::teams(call, args, offset),
        Args::MoveSlots32(_)
        | Args::MoveSlots64(_)
        | Args::MoveAxes32(_)
        | Args::MoveAxes64(_)
        | Args::MoveRuns(_)
        | Args::MoveFields(_)
        | Args::OnChip(_) => moves::moves(call, offset),
        Args::Slide(args) => pad::slide(call, args, offset),
        Args::PanelSlide(args) => pad::slide_panels(call, args, offset),
        Args::Rows(args) => pad::rows(call, args, offset),
        Args::Into(args) => out_of_place::into(call, args, alignment, offset),
        Args::Units(args) => out_of_place::units(call, args, alignment, offset),
        Args::AxesTile(args) => axes_tile::permute(call, args, alignment, offset),
        Args::Spread(args) => pad::spread(call, args, offset),
        Args::UnitSwap(args) => pitched::swap(call, args, offset),
        Args::UnitTurn(args) => pitched::turn(call, args, offset),
        Args::Retile(args) => retile::retile(call, args, alignment, offset),
        Args::FieldGather(args) => fields::gather(call, args, alignment, offset),
        Args::Gaps(args) => pitched::gaps(call, args, offset),
        // Not followed here: see `bits.rs`, `leading.rs` and `lowering.rs`.
        Args::Scale(_)
        | Args::Apart(_)
        | Args::Bits(_)
        | Args::BitsInto(_)
        | Args::BitsSmall(_) => Ok(None),
    }
}

/// Checks that the workspace has the kind that the parameter's type takes. P-IPT has the type with
/// flags, but may have no workspace.
fn workspace(call: &Launch) -> Answer<()> {
    let unused = call.entry.starts_with("per_cycle") && call.workspace == WorkspacePart::None;
    let fits = unused
        || matches!(
            (call.workspace, call.params.second()),
            (WorkspacePart::None, None | Some(SecondPointer::Source))
                | (WorkspacePart::Flags(_), Some(SecondPointer::Flags))
                | (WorkspacePart::Saved(_), Some(SecondPointer::Kept))
        );
    need(fits, || format!("{}: {:?}", call.kernel(), call.workspace))
}

/// Destination of a byte, or `None` if the launch does not move it.
type Moved = Answer<Option<u64>>;

/// Returns the number at the end of an entry's name.
fn last_number(entry: &str) -> u64 {
    let digits = entry.rsplit('_').next().expect("never empty");
    digits.parse().unwrap_or_else(|_| panic!("{entry} ends in a number"))
}
