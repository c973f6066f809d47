//! What a stage needs beyond the matrix.

use turntile_plan::bands::Bands;
use turntile_plan::{DeviceKind, Method, Stage, StageShape, method};

use crate::cycles::Marks;
use crate::gather::Chunks;

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
pub fn in_place(shape: &StageShape) -> bool {
    matches!(shape, StageShape::Elementary(e) if e.is_involution() && e.unit == 1 && e.mid > 1)
}
