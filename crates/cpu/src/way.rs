//! A way to move a shape on a host: which mover, on how many threads, with what memory beside the data.

use std::fmt;

use turntile_perm::{AxisPermutation, Elementary, Order};
use turntile_plan::{GeometryData, Method, StageShape};

use crate::bands::Bands;
use crate::cycles::Marks;
use crate::gather::Chunks;
use crate::out_of_place::OutOfPlace;
use crate::permuted::Permuted;
use crate::pitched::Matrix;
use crate::rounds::least_rows;
use crate::squares::Squares;

/// Which mover, with what it needs to know beside the shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mover {
    /// Squares, tile pair by tile pair where they lie.
    Squares,
    /// Instances through scratch.
    Barrier,
    /// Slots gathered chunk by chunk.
    Gather,
    /// The same in row order, cut in bands.
    GatherBands(Bands),
    /// Cycles of all instances at once, by workers with marks.
    Cycles,
    /// Cycles of an instance at a time, by one worker each.
    OwnCycles,
    /// Cycles by swaps, without marks.
    Rotate,
    /// Rows in rounds of at least so many.
    Rounds(usize),
    /// Rows in shares.
    Shares,
    /// Rows in blocks of so many bytes.
    Blocks(usize),
    /// Tiles to another place.
    OutOfPlace,
    /// Everything to another place, in the order that it has.
    Copy,
    /// Rows of equal pitches transposed where they lie.
    Turn,
    /// A matrix transposed into scratch and copied out row by row.
    Through,
    /// Gaps copied to the workspace, or back.
    Keep,
    /// Rows that change places with their gaps.
    Exchange,
}

/// A way to move one shape, as a host offers it.
///
/// It knows what it was made for, so that it runs nothing else.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HostWay {
    shape: StageShape,
    elem_bytes: usize,
    method: Method,
    mover: Mover,
    needs: Needs,
}

/// What a stage needs beyond the matrix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Threads.
    pub parts: usize,
    /// Flag words, all planes of all threads.
    pub flag_words: usize,
    /// Bytes set aside, all threads together: rows (gather, shares) and columns (cut).
    pub kept_bytes: usize,
    /// Bytes of scratch of each thread.
    pub scratch_bytes: usize,
}

impl Needs {
    /// Bytes in all, a multiple of 8; more than there can be when they cannot be counted.
    pub fn bytes(&self) -> usize {
        let flags = self.flag_words.saturating_mul(4);
        let scratch = self.parts.saturating_mul(self.scratch_bytes);
        let bytes = flags.saturating_add(self.kept_bytes).saturating_add(scratch);
        bytes.checked_next_multiple_of(8).unwrap_or(usize::MAX)
    }
}

/// What ways are made with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Means {
    /// Threads at most.
    pub threads: usize,
    /// Bytes of scratch that suit a thread: what its caches hold well.
    pub scratch: usize,
}

impl Means {
    /// For a plan of any device: scratch takes the place of what that device holds on chip, however much.
    fn for_any(threads: usize) -> Self {
        Means { threads, scratch: usize::MAX }
    }
}

/// Bytes of a block of a thread that slides data: its scratch and what it writes fit the second-level cache.
const SLIDE_BYTES: usize = 256 << 10;
/// Segments that cycles are cut into for each of several threads, at most: scratch for a super-element each, and one
/// more.
const SEGMENTS: usize = 64;
/// Bytes of that scratch at most, while two super-elements are not more.
const SEGMENT_BYTES: usize = 512 << 10;

/// The methods that a host has for a shape, in the order in which ties are broken.
pub fn methods(shape: &StageShape, out_of_place: bool) -> &'static [Method] {
    use Method::{
        BarrierSync, Blocks, Exchange, Keep, OutOfPlace, PerCycle, PttwacGlobal, PttwacOnChip,
        Rounds, Shares, ThroughWorkspace, TileSwap,
    };
    match shape {
        StageShape::Axes(_) if out_of_place => &[OutOfPlace],
        StageShape::Axes(_) => &[TileSwap, BarrierSync, PttwacOnChip, PttwacGlobal, PerCycle],
        StageShape::SlotGather { .. } => &[BarrierSync],
        StageShape::SlotMove { .. } => &[PttwacGlobal, PerCycle],
        StageShape::Slide(rows) if rows.is_alike() => &[Rounds, Blocks, Shares],
        StageShape::Slide(_) => &[Rounds],
        // Not in rounds: a few columns that are cut leave room for rounds of a few rows, and to count those for every
        // side of tiles took longer than the rest of planning.
        StageShape::Cut { .. } => &[Blocks, Shares],
        StageShape::Turn(_) => &[TileSwap, ThroughWorkspace],
        StageShape::Gaps { .. } => &[Keep],
        StageShape::Exchange { .. } => &[Exchange],
    }
}

impl HostWay {
    /// The way of `method`; `None` where a host has none, or scratch for it would not suit its caches.
    pub fn new(
        shape: StageShape,
        elem_bytes: usize,
        method: Method,
        means: Means,
    ) -> Option<HostWay> {
        let (mover, needs) = choose(&shape, elem_bytes, method, means)?;
        Some(HostWay { shape, elem_bytes, method, mover, needs })
    }

    /// The way that runs a stage which another device was to run by `method`, on at most `threads` threads, with
    /// scratch in place of what that device holds on chip.
    pub fn in_place_of(
        shape: StageShape,
        elem_bytes: usize,
        method: Method,
        threads: usize,
    ) -> Option<HostWay> {
        let by = |method, threads| HostWay::new(shape, elem_bytes, method, Means::for_any(threads));
        let e = shape.elementary();
        let is_squares = e.is_some_and(|e| squares(&e, elem_bytes).is_some());
        match (method, e) {
            // Such a device holds squares that lie side by side one by one.
            (Method::BarrierSync, Some(e)) if is_squares && e.mid > 1 => {
                by(Method::TileSwap, threads)
            }
            // A host follows the short cycles of cubes.
            (Method::TileSwap, Some(e)) if !is_squares && e.is_of_tiles() => {
                by(Method::PerCycle, threads)
            }
            _ => {
                let way = by(method, threads)?;
                // Such a device works on one chunk after another.
                if way.mover == Mover::Gather { by(method, 1) } else { Some(way) }
            }
        }
    }

    /// Whether a host plans it: squares side by side are swapped and not held, and chunks in row order are for bands.
    pub fn is_offered(&self) -> bool {
        match (self.mover, self.shape) {
            (Mover::Barrier, StageShape::Axes(axes)) => !axes
                .elementary()
                .is_some_and(|e| e.mid > 1 && squares(&e, self.elem_bytes).is_some()),
            (Mover::Gather, StageShape::SlotGather { slots, .. }) => slots.order() != Order::Rows,
            _ => true,
        }
    }

    /// The same rows moved in rounds of another length, in other blocks or in shares; `None` where it moves no
    /// rows, or a round or a block would be empty.
    pub fn with_rows_by(self, mover: Mover) -> Option<Self> {
        let means = Means::for_any(self.needs.parts);
        let method = match mover {
            Mover::Rounds(1..) => Method::Rounds,
            Mover::Shares => Method::Shares,
            Mover::Blocks(1..) => Method::Blocks,
            _ => return None,
        };
        let way = HostWay::new(self.shape, self.elem_bytes, method, means)?;
        let rows = self.shape.slide()?;
        let needs = match mover {
            Mover::Blocks(block) => {
                let blocks = (rows.len() * self.elem_bytes).div_ceil(block);
                let parts = means.threads.clamp(1, blocks);
                sliding(Needs { parts, ..way.needs }, blocks, block)
            }
            _ => way.needs,
        };
        Some(HostWay { mover, needs, ..way })
    }

    /// Whether it was made for this stage.
    pub fn is_for(&self, shape: &StageShape, elem_bytes: usize, method: Method) -> bool {
        (&self.shape, self.elem_bytes, self.method) == (shape, elem_bytes, method)
    }

    /// The method.
    pub fn method(&self) -> Method {
        self.method
    }

    /// The mover.
    pub fn mover(&self) -> Mover {
        self.mover
    }

    /// What it needs.
    pub fn needs(&self) -> Needs {
        self.needs
    }

    /// What it does to offsets.
    pub fn shape(&self) -> &StageShape {
        &self.shape
    }

    /// Bytes of an element.
    pub fn elem_bytes(&self) -> usize {
        self.elem_bytes
    }
}

/// Squares of single elements, which are turned where they lie: as matrices of their own or side by side.
pub fn squares(e: &Elementary, elem_bytes: usize) -> Option<Squares> {
    let are = e.is_involution() && e.unit == 1;
    are.then(|| Squares::new(e.batch, e.rows, e.mid, elem_bytes))
}

/// Axes that are matrices, of elements of any length, to go to another place.
pub fn matrices(axes: &AxisPermutation, elem_bytes: usize) -> Option<OutOfPlace> {
    let e = axes.elementary().filter(|e| e.mid == 1)?;
    let elem_bytes = e.unit * elem_bytes;
    Some(OutOfPlace { batch: e.batch, rows: e.rows, cols: e.cols, elem_bytes, begins: 0 })
}

fn choose(
    shape: &StageShape,
    elem_bytes: usize,
    method: Method,
    means: Means,
) -> Option<(Mover, Needs)> {
    let at_most = |work: usize| means.threads.clamp(1, work.max(1));
    let (batch, units) = (shape.batch(), shape.batch() * shape.instance_units());
    let unit_bytes = shape.unit() * elem_bytes;
    let suits = |bytes: usize| bytes <= means.scratch;
    let none = Needs::default();
    match (method, *shape) {
        (Method::TileSwap, StageShape::Axes(axes)) => {
            let pairs = squares(&axes.elementary()?, elem_bytes)?.pairs();
            Some((Mover::Squares, Needs { parts: at_most(pairs), ..none }))
        }
        (Method::BarrierSync, StageShape::Axes(_)) => {
            let scratch_bytes = shape.instance_len() * elem_bytes;
            let needs = Needs { parts: at_most(batch), scratch_bytes, ..none };
            suits(scratch_bytes).then_some((Mover::Barrier, needs))
        }
        (Method::BarrierSync, StageShape::SlotGather { slots, direction, .. }) => {
            let bands = Bands::within(&slots, direction, elem_bytes, means.scratch);
            if let Some(bands) = bands {
                let parts = at_most(Bands::most_parts(&slots));
                let kept_bytes = Bands::kept_bytes(&slots, direction, elem_bytes, parts);
                let scratch_bytes = bands.scratch_bytes(&slots, elem_bytes);
                let needs = Needs { parts, kept_bytes, scratch_bytes, ..none };
                return Some((Mover::GatherBands(bands), needs));
            }
            let chunks = Chunks { slots, elem_bytes };
            let parts = at_most(slots.chunks());
            let kept_bytes = parts.saturating_mul(chunks.kept_bytes());
            let scratch_bytes = chunks.scratch_bytes();
            Some((Mover::Gather, Needs { parts, kept_bytes, scratch_bytes, ..none }))
        }
        (Method::PttwacOnChip, StageShape::Axes(axes)) => {
            let e = axes.elementary().filter(|e| e.mid == 1)?;
            let (parts, words) = (at_most(batch), Marks::words(e.instance_units()));
            let flag_words = parts.saturating_mul(words);
            let needs = Needs { parts, flag_words, scratch_bytes: unit_bytes, ..none };
            suits(words.saturating_mul(4)).then_some((Mover::OwnCycles, needs))
        }
        (Method::PttwacGlobal, StageShape::Axes(_) | StageShape::SlotMove { .. }) => {
            let parts = at_most(units);
            let flag_words = parts.saturating_mul(Marks::words(units));
            // Several parts keep what milestones hold.
            let kept = (SEGMENT_BYTES / unit_bytes).clamp(2, segments(units, parts) + 1);
            let scratch_bytes =
                if parts > 1 { kept.saturating_mul(unit_bytes) } else { unit_bytes };
            Some((Mover::Cycles, Needs { parts, flag_words, scratch_bytes, ..none }))
        }
        (Method::PerCycle, StageShape::Axes(_) | StageShape::SlotMove { .. }) => {
            Some((Mover::Rotate, Needs { parts: at_most(units), ..none }))
        }
        (Method::OutOfPlace, StageShape::Axes(axes)) => {
            let (mover, parts) = match matrices(&axes, elem_bytes) {
                Some(all) if all.stay() => (Mover::Copy, all.parts(means.threads)),
                Some(all) => (Mover::OutOfPlace, all.parts(means.threads)),
                None => (Mover::OutOfPlace, Permuted::new(&axes, elem_bytes).parts(means.threads)),
            };
            Some((mover, Needs { parts, ..none }))
        }
        (_, StageShape::Slide(_) | StageShape::Cut { .. }) => {
            rows(shape, elem_bytes, method, means)
        }
        (Method::TileSwap, StageShape::Turn(leading)) => {
            let equal = leading.source().pitch() == leading.result().pitch();
            let parts =
                equal.then(|| Matrix { leading, elem_bytes }.turning_parts(means.threads))?;
            Some((Mover::Turn, Needs { parts, ..none }))
        }
        (Method::ThroughWorkspace, StageShape::Turn(leading)) => {
            let scratch_bytes = leading.len().saturating_mul(elem_bytes);
            suits(scratch_bytes)
                .then_some((Mover::Through, Needs { parts: 1, scratch_bytes, ..none }))
        }
        (Method::Keep, StageShape::Gaps { leading, .. }) => {
            let kept_bytes = leading.kept_len().saturating_mul(elem_bytes);
            Some((Mover::Keep, Needs { parts: 1, kept_bytes, ..none }))
        }
        (Method::Exchange, StageShape::Exchange { rows, .. }) => {
            Some((Mover::Exchange, Needs { parts: at_most(rows.rows()), ..none }))
        }
        _ => None,
    }
}

/// Segments for each of `parts` threads. Of `n` each, `n · parts` super-elements are moved twice, and at the end threads
/// wait for about two segments' moves: least where `n² = 2 · positions / parts`.
fn segments(positions: usize, parts: usize) -> usize {
    (positions.saturating_mul(2) / parts).isqrt().clamp(1, SEGMENTS)
}

/// Rows that slide.
fn rows(
    shape: &StageShape,
    elem_bytes: usize,
    method: Method,
    means: Means,
) -> Option<(Mover, Needs)> {
    let rows = shape.slide()?;
    let at_most = |work: usize| means.threads.clamp(1, work.max(1));
    let gaps = match shape {
        StageShape::Cut { rows, .. } => Some(rows.gaps().saturating_mul(elem_bytes)),
        _ => None,
    };
    let needs = |parts, kept: usize| Needs {
        parts,
        kept_bytes: gaps.unwrap_or(0).saturating_add(kept),
        ..Needs::default()
    };
    match method {
        Method::Rounds if gaps.is_none() => {
            let least = least_rows(rows.cols() * elem_bytes);
            let parts = if rows.is_alike() { at_most(rows.rows()) } else { 1 };
            Some((Mover::Rounds(least), needs(parts, 0)))
        }
        _ if !rows.is_alike() => None,
        Method::Shares => {
            let parts = at_most(rows.rows());
            let heads = rows.heads(parts).saturating_mul(elem_bytes);
            Some((Mover::Shares, needs(parts, heads)))
        }
        Method::Blocks => {
            // Whole vectors, so that blocks begin as aligned as the matrix.
            let block = SLIDE_BYTES.min(means.scratch.max(16)) / 16 * 16;
            let blocks = (rows.len() * elem_bytes).div_ceil(block);
            Some((Mover::Blocks(block), sliding(needs(at_most(blocks), 0), blocks, block)))
        }
        _ => None,
    }
}

/// With a flag for each block and a count of those that have begun.
fn sliding(needs: Needs, blocks: usize, block: usize) -> Needs {
    Needs { flag_words: blocks + 1, scratch_bytes: block, ..needs }
}

impl GeometryData for HostWay {
    fn variant(&self) -> String {
        match self.needs.parts {
            1 => String::new(),
            parts => format!(" x{parts}"),
        }
    }
}

impl fmt::Display for HostWay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Needs { parts, flag_words, kept_bytes, scratch_bytes } = self.needs;
        let plural = if parts == 1 { "" } else { "s" };
        write!(f, "{parts} thread{plural}")?;
        match self.mover {
            Mover::GatherBands(bands) => {
                write!(f, ", bands of {} chunks by {} columns", bands.chunks, bands.width)?;
            }
            Mover::Rounds(least) => write!(f, ", at least {least} rows a round")?,
            Mover::Blocks(block) => write!(f, ", blocks of {block} bytes")?,
            _ => {}
        }
        if scratch_bytes > 0 {
            write!(f, ", {scratch_bytes} bytes of scratch each")?;
        }
        if kept_bytes > 0 {
            write!(f, ", {kept_bytes} bytes set aside")?;
        }
        if flag_words > 0 {
            write!(f, ", {flag_words} words of marks")?;
        }
        Ok(())
    }
}
