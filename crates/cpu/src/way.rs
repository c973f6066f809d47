//! A way to move a shape on a host: which mover, on how many threads, with what memory beside the data.

use std::fmt;

use turntile_perm::{AxisPermutation, Elementary, Form, Order, Pitched, Retile, Slide, TileRuns};
use turntile_plan::{Direction, GeometryData, Method, StageShape};

use crate::axis_swap::AxisSwap;
use crate::banded::Banded;
use crate::bands::Bands;
use crate::cycles::Marks;
use crate::fields;
use crate::gather::Chunks;
use crate::pitched::Matrix;
use crate::rounds::{ROUND_BYTES, least_rows};
use crate::squares::Squares;
use crate::tiles::Tiles;

/// Which mover, with all that it needs to know but where the data lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mover {
    /// Squares, tile pair by tile pair where they lie.
    Squares(Squares),
    /// Axes that change places in pairs, tile pair by tile pair; so many super-elements of a row become a column's.
    AxisSwap(usize),
    /// Instances through scratch.
    Barrier,
    /// Slots gathered chunk by chunk, or scattered.
    Gather(Chunks, Direction),
    /// The same in row order, cut in bands.
    GatherBands(Banded, Direction),
    /// Records from tiles of one length to another, as many as both have whole tiles of, through scratch.
    Retile(Retile),
    /// Records' slots gathered chunk by chunk, or scattered.
    FieldGather(fields::Chunks, Direction),
    /// Cycles of all instances at once, by workers with marks.
    Cycles,
    /// Cycles of an instance at a time, by one worker each.
    OwnCycles(Elementary),
    /// Cycles by swaps, without marks.
    Rotate,
    /// Rows, counted in bytes, that slide.
    Slide(Slide, By),
    /// The same of columns that are cut off, or put back, counted in elements.
    Cut(Slide, By, Pitched, Direction),
    /// Tiles to another place.
    OutOfPlace,
    /// Everything to another place, in the order that it has.
    Copy,
    /// Rows of tiles along chains, by one worker with marks.
    TileRuns(TileRuns),
    /// Rows of equal pitches transposed where they lie.
    Turn(Matrix),
    /// A matrix transposed into scratch and copied out row by row.
    Through(Matrix),
    /// Gaps copied to the workspace, or back.
    Keep(Matrix, Direction),
    /// Rows, counted in bytes, that change places with their gaps.
    Exchange(Pitched, Direction),
}

/// How rows slide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// In rounds of at least so many.
    Rounds(usize),
    /// In shares.
    Shares,
    /// In blocks of so many bytes.
    Blocks(usize),
}

/// A way to move one shape, as a host offers it.
///
/// It knows what it was made for, so that it runs nothing else.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HostWay {
    /// What it does to offsets.
    pub(crate) shape: StageShape,
    /// Bytes of an element.
    pub(crate) elem_bytes: usize,
    /// The method.
    pub(crate) method: Method,
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
    /// Bytes that a round of rows moves at least, where several threads share it.
    pub round: usize,
}

impl Means {
    /// Of a host's threads.
    pub fn new(threads: usize, scratch: usize) -> Self {
        Means { threads, scratch, round: ROUND_BYTES }
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
        StageShape::FieldGather { .. } => &[BarrierSync],
        StageShape::SlotMove { .. } | StageShape::FieldMove { .. } => &[PttwacGlobal, PerCycle],
        StageShape::Retile(_) => &[BarrierSync, PttwacGlobal, PerCycle],
        StageShape::Slide(rows) if rows.is_alike() => &[Rounds, Blocks, Shares],
        StageShape::Slide(_) => &[Rounds],
        // Not in rounds: a few columns that are cut leave room for rounds of a few rows, and to count those for every
        // side of tiles took longer than the rest of planning.
        StageShape::Cut { .. } => &[Blocks, Shares],
        StageShape::TileRuns(_) => &[PttwacGlobal],
        StageShape::Turn(_) => &[TileSwap, ThroughWorkspace],
        StageShape::Gaps { .. } => &[Keep],
        StageShape::Exchange { .. } => &[Exchange],
    }
}

impl HostWay {
    /// Creates the way of `method`. Returns `None` if a host has none, if its scratch would not suit the caches, and if the
    /// shape has no elements or more bytes than can be counted.
    pub fn new(
        shape: StageShape,
        elem_bytes: usize,
        method: Method,
        means: Means,
    ) -> Option<HostWay> {
        shape.counted_len()?.checked_mul(elem_bytes).filter(|&bytes| bytes > 0)?;
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
        // However much scratch that is.
        let by = |method, threads| {
            HostWay::new(shape, elem_bytes, method, Means::new(threads, usize::MAX))
        };
        match (method, shape.form()) {
            // Such a device holds squares that lie side by side one by one.
            (Method::BarrierSync, Some(Form::Tiles(_))) => by(Method::TileSwap, threads),
            // A host follows the short cycles of cubes, and of pairs that it does not swap by tiles.
            (Method::TileSwap, Some(_)) => {
                by(method, threads).or_else(|| by(Method::PerCycle, threads))
            }
            _ => {
                let way = by(method, threads)?;
                // Such a device works on one chunk after another.
                if matches!(way.mover, Mover::Gather(..) | Mover::FieldGather(..)) {
                    by(method, 1)
                } else {
                    Some(way)
                }
            }
        }
    }

    /// Whether a host plans it: squares side by side are swapped and not held, and chunks in row order are for bands.
    pub fn is_offered(&self) -> bool {
        match self.mover {
            Mover::Barrier => !matches!(self.shape.form(), Some(Form::Tiles(_))),
            Mover::Gather(chunks, _) => chunks.slots.order() != Order::Rows,
            _ => true,
        }
    }

    /// Whether it was made for this stage.
    pub fn is_for(&self, shape: &StageShape, elem_bytes: usize, method: Method) -> bool {
        (&self.shape, self.elem_bytes, self.method) == (shape, elem_bytes, method)
    }

    /// Bytes of the threads' buffers that are no workspace: a run allocates them before it touches data.
    pub(crate) fn buffer_bytes(&self) -> usize {
        match self.mover {
            Mover::Turn(matrix) => matrix.buffer_bytes(self.needs.parts),
            _ => 0,
        }
    }

    /// The axes of a shape that permutes some.
    pub fn axes(&self) -> &AxisPermutation {
        match &self.shape {
            StageShape::Axes(axes) => axes,
            other => unreachable!("{other} permutes no axes"),
        }
    }

    /// The mover.
    pub fn mover(&self) -> &Mover {
        &self.mover
    }

    /// What it needs.
    pub fn needs(&self) -> Needs {
        self.needs
    }

    /// Whether its workspace keeps what lies in gaps, from this stage to one that puts it back.
    pub fn keeps(&self) -> bool {
        matches!(self.mover, Mover::Keep(..))
    }
}

fn choose(
    shape: &StageShape,
    elem_bytes: usize,
    method: Method,
    means: Means,
) -> Option<(Mover, Needs)> {
    let at_most = |work: usize| means.threads.clamp(1, work.max(1));
    let bytes = |elements: usize| elements.saturating_mul(elem_bytes);
    let suits = |bytes: usize| bytes <= means.scratch;
    let (batch, units) = (shape.batch(), shape.batch() * shape.instance_units());
    let unit_bytes = shape.unit() * elem_bytes;
    let none = Needs::default();
    match (method, *shape) {
        (Method::TileSwap, StageShape::Axes(axes)) => {
            if let Some(e) = axes.elementary().filter(Elementary::is_squares) {
                let squares = Squares::new(e.batch, e.rows, e.mid, elem_bytes);
                let needs = Needs { parts: at_most(squares.pairs()), ..none };
                return Some((Mover::Squares(squares), needs));
            }
            // Matrices of super-elements have short cycles of whole runs.
            if let Form::Matrices(_) = axes.form() {
                return None;
            }
            let swap = AxisSwap::new(&axes, elem_bytes)?;
            let (parts, scratch_bytes) = (at_most(swap.pairs()), swap.scratch_bytes());
            let needs = Needs { parts, scratch_bytes, ..none };
            suits(scratch_bytes).then_some((Mover::AxisSwap(swap.together()), needs))
        }
        (Method::BarrierSync, StageShape::Axes(_)) => {
            let scratch_bytes = shape.instance_len() * elem_bytes;
            let needs = Needs { parts: at_most(batch), scratch_bytes, ..none };
            suits(scratch_bytes).then_some((Mover::Barrier, needs))
        }
        (Method::BarrierSync, StageShape::SlotGather { slots, direction, .. }) => {
            let chunks = Chunks { slots, elem_bytes };
            if let Some(bands) = Bands::within(&chunks, direction, means.scratch) {
                let parts = at_most(Bands::most_parts(&slots));
                let kept_bytes = Bands::kept_bytes(&chunks, direction, parts);
                let scratch_bytes = bands.scratch_bytes(&chunks);
                let needs = Needs { parts, kept_bytes, scratch_bytes, ..none };
                return Some((Mover::GatherBands(Banded { chunks, bands }, direction), needs));
            }
            let parts = at_most(slots.chunks());
            let kept_bytes = parts.saturating_mul(chunks.kept_bytes());
            let scratch_bytes = chunks.scratch_bytes();
            let needs = Needs { parts, kept_bytes, scratch_bytes, ..none };
            Some((Mover::Gather(chunks, direction), needs))
        }
        (Method::BarrierSync, StageShape::Retile(retile)) => {
            let (fields, period) = (retile.fields(), retile.period());
            let scratch_bytes = bytes(period.saturating_mul(fields.words()));
            let parts = at_most(fields.records().div_ceil(period));
            let needs = Needs { parts, scratch_bytes, ..none };
            suits(scratch_bytes).then_some((Mover::Retile(retile), needs))
        }
        (Method::BarrierSync, StageShape::FieldGather { slots, direction }) => {
            let chunks = fields::Chunks { slots, word_bytes: elem_bytes };
            let parts = at_most(slots.chunks());
            let kept_bytes = parts.saturating_mul(chunks.kept_bytes());
            let needs = Needs { parts, kept_bytes, scratch_bytes: chunks.scratch_bytes(), ..none };
            Some((Mover::FieldGather(chunks, direction), needs))
        }
        (Method::PttwacOnChip, StageShape::Axes(axes)) => {
            let Form::Matrices(e) = axes.form() else { return None };
            let (parts, words) = (at_most(batch), Marks::words(e.instance_units()));
            let flag_words = parts.saturating_mul(words);
            let needs = Needs { parts, flag_words, scratch_bytes: unit_bytes, ..none };
            suits(words.saturating_mul(4)).then_some((Mover::OwnCycles(e), needs))
        }
        (Method::PttwacGlobal, _) if moves_units(shape) => {
            let parts = at_most(units);
            let flag_words = parts.saturating_mul(Marks::words(units));
            // Several parts keep what milestones hold.
            let kept = (SEGMENT_BYTES / unit_bytes).clamp(2, segments(units, parts) + 1);
            let scratch_bytes =
                if parts > 1 { kept.saturating_mul(unit_bytes) } else { unit_bytes };
            Some((Mover::Cycles, Needs { parts, flag_words, scratch_bytes, ..none }))
        }
        (Method::PerCycle, _) if moves_units(shape) => {
            Some((Mover::Rotate, Needs { parts: at_most(units), ..none }))
        }
        (Method::OutOfPlace, StageShape::Axes(axes)) => {
            let tiles = Tiles::into_buffer(&axes, elem_bytes, 0);
            let mover = if tiles.stay() { Mover::Copy } else { Mover::OutOfPlace };
            Some((mover, Needs { parts: tiles.parts(means.threads), ..none }))
        }
        (_, StageShape::Slide(slide)) => {
            let slide = slide.scaled(elem_bytes)?;
            let (by, needs) = slides(slide, method, means)?;
            Some((Mover::Slide(slide, by), needs))
        }
        (Method::Shares | Method::Blocks, StageShape::Cut { rows, direction }) => {
            let slide = shape.slide()?.scaled(elem_bytes)?;
            let (by, needs) = slides(slide, method, means)?;
            let kept_bytes = needs.kept_bytes.saturating_add(bytes(rows.gaps()));
            Some((Mover::Cut(slide, by, rows, direction), Needs { kept_bytes, ..needs }))
        }
        (Method::PttwacGlobal, StageShape::TileRuns(runs)) => {
            let (flag_words, scratch_bytes) = (Marks::words(runs.places()), 2 * unit_bytes);
            let needs = Needs { parts: 1, flag_words, scratch_bytes, ..none };
            suits(scratch_bytes).then_some((Mover::TileRuns(runs), needs))
        }
        (Method::TileSwap, StageShape::Turn(leading)) => {
            let matrix = Matrix { leading, elem_bytes };
            let parts = matrix.turning_parts(means.threads)?;
            Some((Mover::Turn(matrix), Needs { parts, ..none }))
        }
        (Method::ThroughWorkspace, StageShape::Turn(leading)) if leading.is_transposed() => {
            let needs = Needs { parts: 1, scratch_bytes: bytes(leading.len()), ..none };
            let mover = Mover::Through(Matrix { leading, elem_bytes });
            suits(needs.scratch_bytes).then_some((mover, needs))
        }
        (Method::Keep, StageShape::Gaps { leading, direction }) => {
            let needs = Needs { parts: 1, kept_bytes: bytes(leading.kept_len()), ..none };
            Some((Mover::Keep(Matrix { leading, elem_bytes }, direction), needs))
        }
        (Method::Exchange, StageShape::Exchange { rows, direction }) => {
            let needs = Needs { parts: at_most(rows.rows()), ..none };
            Some((Mover::Exchange(rows.scaled(elem_bytes)?, direction), needs))
        }
        _ => None,
    }
}

/// Whether its super-elements move along cycles.
fn moves_units(shape: &StageShape) -> bool {
    use StageShape::{Axes, FieldMove, Retile, SlotMove};
    matches!(shape, Axes(_) | SlotMove { .. } | FieldMove { .. } | Retile(_))
}

/// Segments for each of `parts` threads. Of `n` each, `n · parts` super-elements are moved twice, and at the end threads
/// wait for about two segments' moves: least where `n² = 2 · positions / parts`.
fn segments(positions: usize, parts: usize) -> usize {
    (positions.saturating_mul(2) / parts).isqrt().clamp(1, SEGMENTS)
}

/// How rows slide, counted in bytes.
fn slides(rows: Slide, method: Method, means: Means) -> Option<(By, Needs)> {
    let parts = means.threads.clamp(1, rows.rows().max(1));
    let none = Needs::default();
    match method {
        Method::Rounds => {
            let parts = if rows.is_alike() { parts } else { 1 };
            Some((By::Rounds(least_rows(rows.cols(), means.round)), Needs { parts, ..none }))
        }
        _ if !rows.is_alike() => None,
        Method::Shares => {
            Some((By::Shares, Needs { parts, kept_bytes: rows.heads(parts), ..none }))
        }
        Method::Blocks => {
            // Whole vectors, so that blocks begin as aligned as the matrix.
            let block = SLIDE_BYTES.min(means.scratch.max(16)) / 16 * 16;
            let blocks = rows.blocks(block);
            let parts = means.threads.clamp(1, blocks.max(1));
            // A flag for each block, and a count of those that have begun.
            let needs = Needs { parts, flag_words: blocks + 1, scratch_bytes: block, ..none };
            Some((By::Blocks(block), needs))
        }
        _ => None,
    }
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
            Mover::GatherBands(Banded { bands, .. }, _) => {
                write!(f, ", bands of {} chunks by {} columns", bands.chunks, bands.width)?;
            }
            Mover::Slide(_, By::Rounds(least)) => write!(f, ", at least {least} rows a round")?,
            Mover::Slide(_, By::Blocks(block)) | Mover::Cut(_, By::Blocks(block), ..) => {
                write!(f, ", blocks of {block} bytes")?;
            }
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
