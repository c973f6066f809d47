//! Which mover runs which stage.

use turntile_perm::Elementary;
use turntile_plan::bands::Bands;
use turntile_plan::{DeviceKind, Direction, Method, Stage, StageShape, method};

use crate::Byte;
use crate::bands::Banded;
use crate::barrier;
use crate::cycles::Marks;
use crate::gaps;
use crate::gather::Chunks;
use crate::parts;
use crate::path::Path;
use crate::rows;
use crate::shared;
use crate::squares::Squares;
use std::sync::atomic::AtomicU32;

/// What a stage needs beyond the matrix when `parts` threads run it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// Threads.
    pub parts: usize,
    /// Flag words, all planes of all threads.
    pub flag_words: usize,
    /// Bytes of rows set aside, all threads together.
    pub kept_bytes: usize,
    /// Bytes of scratch of each thread.
    pub scratch_bytes: usize,
    /// How a gather pass in row order is cut.
    pub bands: Option<Bands>,
}

impl Needs {
    /// What `stage` needs at least, whatever its launch says, and as much more as a host's launch
    /// asks for: longer scratch is more milestones. Never more threads than there is work for.
    ///
    /// A GPU's on-chip memory becomes scratch: of a whole instance for a barrier, of a super-element or two a
    /// thread where cycles are followed. Flags are packed, whatever their layout there.
    pub fn of(stage: &Stage, kind: DeviceKind, elem_bytes: usize, threads: usize) -> Self {
        let (launch, shape) = (&stage.launch, stage.shape);
        let host = kind == DeviceKind::Host;
        let at_most = |work: usize| {
            let asked = if host { launch.groups } else { threads };
            asked.clamp(1, work.max(1))
        };
        let (batch, positions) = (shape.batch(), shape.batch() * shape.instance_units());
        let unit_bytes = shape.unit() * elem_bytes;
        let mut needs = Needs {
            parts: at_most(positions),
            flag_words: 0,
            kept_bytes: 0,
            scratch_bytes: if host { launch.on_chip_bytes } else { 0 },
            bands: match shape {
                StageShape::SlotGather { slots, direction, .. } if host => {
                    Bands::within(&slots, direction, elem_bytes, launch.on_chip_bytes)
                }
                _ => None,
            },
        };
        let least = match (stage.method, shape) {
            (_, StageShape::SlotGather { slots, direction, .. }) => match needs.bands {
                Some(bands) => {
                    needs.parts = at_most(Bands::most_parts(&slots));
                    needs.kept_bytes =
                        Bands::kept_bytes(&slots, direction, elem_bytes, needs.parts);
                    bands.scratch_bytes(&slots, elem_bytes)
                }
                None => {
                    let chunks = Chunks { slots, elem_bytes };
                    // A GPU works on one chunk after another.
                    needs.parts = if host { at_most(slots.chunks()) } else { 1 };
                    needs.kept_bytes = needs.parts.saturating_mul(chunks.kept_bytes());
                    chunks.scratch_bytes()
                }
            },
            (Method::TileSwap { .. } | Method::PerCycle | Method::Rows { .. }, _) => 0,
            (Method::Shares, shape) => {
                let (padding, _) = shape.padding().expect("rows to move");
                needs.parts = at_most(padding.rows());
                needs.kept_bytes = padding.heads(needs.parts) * elem_bytes;
                0
            }
            (Method::Slide { block }, shape) => {
                let (padding, _) = shape.padding().expect("rows to move");
                let blocks = (padding.len() * elem_bytes).div_ceil(block);
                needs.parts = at_most(blocks);
                needs.flag_words = method::slide_flags(blocks);
                block
            }
            (Method::BarrierSync { .. }, shape) if in_place(&shape) => 0,
            (Method::BarrierSync { .. }, shape) => {
                needs.parts = at_most(batch);
                shape.instance_len() * elem_bytes
            }
            (Method::PttwacGlobal { .. }, _) => {
                needs.flag_words = needs.parts.saturating_mul(Marks::words(positions));
                // Several parts keep what milestones hold.
                if needs.parts > 1 { 2 * unit_bytes } else { unit_bytes }
            }
            (Method::PttwacOnChip { .. }, shape) => {
                needs.parts = at_most(batch);
                needs.flag_words = needs.parts.saturating_mul(Marks::words(shape.instance_units()));
                unit_bytes
            }
        };
        if let StageShape::Cut { padding, .. } = shape {
            needs.kept_bytes += padding.gaps() * elem_bytes;
        }
        Needs { scratch_bytes: needs.scratch_bytes.max(least), ..needs }
    }

    /// Bytes in all, a multiple of 8; more than there can be when they cannot be counted.
    pub fn bytes(&self) -> usize {
        let flags = self.flag_words.saturating_mul(4);
        let scratch = self.parts.saturating_mul(self.scratch_bytes);
        let bytes = flags.saturating_add(self.kept_bytes).saturating_add(scratch);
        bytes.checked_next_multiple_of(8).unwrap_or(usize::MAX)
    }
}

/// Square tiles of single elements are swapped within, on a host.
fn in_place(shape: &StageShape) -> bool {
    matches!(shape, StageShape::Elementary(e) if e.is_involution() && e.unit == 1 && e.mid > 1)
}

/// Runs `stage` over `data`, as long as what it reads or writes. `flags` are zero and, like `bytes` (kept rows, then every thread's
/// scratch), as many as `needs` says.
pub fn run(
    stage: &Stage,
    elem_bytes: usize,
    needs: Needs,
    data: &mut [Byte],
    flags: &[AtomicU32],
    bytes: &mut [Byte],
) {
    let parts = needs.parts;
    let (kept, scratch) = bytes.split_at_mut(needs.kept_bytes);
    let scratch = &mut scratch[..parts * needs.scratch_bytes];
    if let Some((padding, direction)) = stage.shape.padding() {
        let in_bytes = padding.scaled(elem_bytes).expect("as long as the data");
        let gap_bytes = match stage.shape {
            StageShape::Cut { .. } => padding.gaps() * elem_bytes,
            _ => 0,
        };
        let (gaps, heads) = kept.split_at_mut(gap_bytes);
        let mut move_rows = |data: &mut [Byte]| match stage.method {
            Method::Slide { block } => {
                shared::slide(data, in_bytes, direction, block, flags, parts, scratch);
            }
            Method::Rows { least } => rows::in_steps(data, in_bytes, direction, least, parts),
            Method::Shares => rows::in_shares(data, in_bytes, direction, parts, heads),
            method => unreachable!("{method} does not pad rows"),
        };
        return match stage.shape {
            StageShape::Cut { direction, .. } => {
                gaps::kept(data, padding, direction, elem_bytes, gaps, move_rows);
            }
            _ => move_rows(data),
        };
    }
    match (stage.method, stage.shape) {
        (_, StageShape::SlotGather { slots, direction, .. }) => {
            let chunks = Chunks { slots, elem_bytes };
            for matrix in data.chunks_exact_mut(slots.len() * elem_bytes) {
                match (needs.bands, direction) {
                    (None, Direction::Forward) => chunks.gather(matrix, parts, kept, scratch),
                    (None, Direction::Backward) => chunks.scatter(matrix, parts, kept, scratch),
                    (Some(bands), _) => {
                        let banded = Banded { slots, elem_bytes, bands };
                        match direction {
                            Direction::Forward => banded.gather(matrix, parts, kept, scratch),
                            Direction::Backward => banded.scatter(matrix, parts, kept, scratch),
                        }
                    }
                }
            }
        }
        (Method::TileSwap { .. } | Method::BarrierSync { .. }, StageShape::Elementary(e))
            if in_place(&stage.shape) || matches!(stage.method, Method::TileSwap { .. }) =>
        {
            let squares = Squares::new(e.batch, e.rows, e.mid, elem_bytes);
            shared::turn_squares(data, squares, parts);
        }
        (Method::BarrierSync { .. }, StageShape::Elementary(e)) => {
            barrier::run(data, e, elem_bytes, parts, scratch);
        }
        (Method::PttwacGlobal { .. }, shape) => {
            shared::follow_cycles(data, Path::new(shape, elem_bytes), flags, parts, scratch);
        }
        (Method::PttwacOnChip { .. }, StageShape::Elementary(e)) => {
            on_chip_flags(data, e, elem_bytes, needs, flags, scratch);
        }
        (Method::PerCycle, shape) => {
            shared::rotate_cycles(data, Path::new(shape, elem_bytes), parts);
        }
        (method, shape) => unreachable!("{method} does not run {shape}"),
    }
}

/// The cycles of every instance by one thread, with flags that are that thread's own.
fn on_chip_flags(
    data: &mut [Byte],
    shape: Elementary,
    elem_bytes: usize,
    needs: Needs,
    flags: &[AtomicU32],
    scratch: &mut [Byte],
) {
    let Needs { parts, scratch_bytes, .. } = needs;
    let path = Path::new(StageShape::Elementary(Elementary { batch: 1, ..shape }), elem_bytes);
    let (batch, positions) = (shape.batch, shape.instance_units());
    let words = Marks::words(positions);
    let instance_bytes = positions * path.unit_bytes();
    let mut rest = data;
    let shares: Vec<_> = (0..parts)
        .map(|part| {
            let bytes = parts::share(batch, parts, part).len() * instance_bytes;
            let own = rest.split_off_mut(..bytes).expect("shares add up to the whole");
            (own, &flags[part * words..][..words])
        })
        .collect();
    parts::run_on(shares, scratch, scratch_bytes, |(own, flags), scratch| {
        for instance in own.chunks_exact_mut(instance_bytes) {
            flags.iter().for_each(|word| word.store(0, std::sync::atomic::Ordering::Relaxed));
            shared::follow_cycles(instance, path, flags, 1, scratch);
        }
    });
}
