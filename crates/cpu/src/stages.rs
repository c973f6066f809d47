//! Which mover runs which stage.

use turntile_plan::flags::FLAG_PLANES;
use turntile_plan::{DeviceKind, Direction, Method, Stage, StageShape};

use crate::Byte;
use crate::barrier;
use crate::claims::Claims;
use crate::gather::Chunks;
use crate::parts;
use crate::shared::{self, Cycles, Squares};
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
}

impl Needs {
    /// A host's plan says what it needs. For a GPU's, on-chip memory becomes scratch: of a whole
    /// instance for a barrier, of the flags of one instance a thread, of one chain a thread.
    pub fn of(stage: &Stage, kind: DeviceKind, elem_bytes: usize, threads: usize) -> Self {
        let launch = &stage.launch;
        let unit_bytes = stage.shape.unit() * elem_bytes;
        let flag_words = launch.flag_words;
        if kind == DeviceKind::Host {
            let (parts, kept_bytes) = (launch.groups, launch.kept_bytes);
            return Needs { parts, flag_words, kept_bytes, scratch_bytes: launch.on_chip_bytes };
        }
        let needs =
            |parts, scratch_bytes| Needs { parts, flag_words, kept_bytes: 0, scratch_bytes };
        match (stage.method, stage.shape) {
            (_, StageShape::SlotGather { slots, .. }) => {
                let chunks = Chunks { slots, elem_bytes };
                Needs { kept_bytes: chunks.kept_bytes(), ..needs(1, chunks.scratch_bytes()) }
            }
            (Method::BarrierSync { .. }, shape) if in_place(&shape) => needs(threads, 0),
            (Method::BarrierSync { .. }, shape) => {
                needs(threads.min(shape.batch()), shape.instance_len() * elem_bytes)
            }
            (Method::TileSwap { .. } | Method::PerCycle, _) => needs(threads, 0),
            (Method::PttwacGlobal { .. }, _) => needs(threads, 2 * unit_bytes),
            (Method::PttwacOnChip { flags }, shape) => {
                let parts = threads.min(shape.batch());
                let words = FLAG_PLANES * flags.words(shape.instance_units());
                Needs { flag_words: parts * words, ..needs(parts, 2 * unit_bytes) }
            }
        }
    }

    /// Bytes in all, a multiple of 8.
    pub fn bytes(&self) -> usize {
        (self.flag_words * 4 + self.kept_bytes + self.parts * self.scratch_bytes)
            .next_multiple_of(8)
    }
}

/// Square tiles of single elements are swapped within, on a host.
fn in_place(shape: &StageShape) -> bool {
    matches!(shape, StageShape::Elementary(e) if e.is_involution() && e.unit == 1 && e.mid > 1)
}

/// Runs `stage` over `data`. `flags` are zero and, like `bytes` (kept rows, then every thread's
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
    let cycles = Cycles { shape: stage.shape, elem_bytes };
    match (stage.method, stage.shape) {
        (_, StageShape::SlotGather { slots, direction, .. }) => {
            let chunks = Chunks { slots, elem_bytes };
            for matrix in data.chunks_exact_mut(slots.len() * elem_bytes) {
                match direction {
                    Direction::Forward => chunks.gather(matrix, parts, kept, scratch),
                    Direction::Backward => chunks.scatter(matrix, parts, kept, scratch),
                }
            }
        }
        (Method::TileSwap { .. }, StageShape::Elementary(e)) => {
            let squares = Squares { batch: e.batch, side: e.rows, mid: e.mid, elem_bytes };
            shared::swap_tile_pairs(data, squares, parts);
        }
        (Method::BarrierSync { .. }, StageShape::Elementary(e)) if in_place(&stage.shape) => {
            let squares = Squares { batch: e.batch, side: e.rows, mid: e.mid, elem_bytes };
            shared::swap_tile_pairs(data, squares, parts);
        }
        (Method::BarrierSync { .. }, StageShape::Elementary(e)) => {
            barrier::run(data, e, elem_bytes, parts, scratch);
        }
        (Method::PttwacGlobal { flags: layout }, shape) => {
            let claims = Claims::new(flags, layout, shape.batch() * shape.instance_units());
            shared::follow_chains(data, cycles, claims, parts, scratch);
        }
        (Method::PttwacOnChip { flags: layout }, StageShape::Elementary(e)) => {
            let one = turntile_perm::Elementary { batch: 1, ..e };
            let cycles = Cycles { shape: StageShape::Elementary(one), elem_bytes };
            on_chip_flags(data, cycles, layout, e.batch, needs, flags, scratch);
        }
        (Method::PerCycle, _) => shared::rotate_cycles(data, cycles, parts),
        (method, shape) => unreachable!("{method} does not run {shape}"),
    }
}

/// PTTWAC on every instance by one thread, with flags that are that thread's own.
fn on_chip_flags(
    data: &mut [Byte],
    cycles: Cycles,
    layout: turntile_plan::FlagLayout,
    batch: usize,
    needs: Needs,
    flags: &[AtomicU32],
    scratch: &mut [Byte],
) {
    let Needs { parts, scratch_bytes, .. } = needs;
    let positions = cycles.shape.instance_units();
    let words = FLAG_PLANES * layout.words(positions);
    let instance_bytes = cycles.shape.instance_len() * cycles.elem_bytes;
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
            let claims = Claims::new(flags, layout, positions);
            shared::follow_chains(instance, cycles, claims, 1, scratch);
        }
    });
}
