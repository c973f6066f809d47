//! A way to move a shape on a host: which mover, on how many threads, with what memory beside the data.

use std::fmt;

use turntile_perm::{
    AxisPermutation, Elementary, LayoutChange, PitchedRows, RowSlide, SlotOrder, SwapKind, TileRows,
};
use turntile_plan::{Direction, LaunchConfigData, Method, StageMap};

use crate::band_tiling::BandTiling;
use crate::banded_gather::BandedGather;
use crate::chunk_gather::ChunkGather;
use crate::cycle_walk::VisitedBits;
use crate::involution::InvolutionSwap;
use crate::leading::LeadingMatrix;
use crate::plane_tiling::PlaneTiling;
use crate::record_gather;
use crate::rounds::{ROUND_BYTES, least_rows};
use crate::square::SquareTiling;

/// Which mover, with all that it needs to know but where the data lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CpuKernel {
    /// Squares, tile pair by tile pair where they lie.
    SquareSwap(SquareTiling),
    /// Axes that change places in pairs, tile pair by tile pair; so many super-elements of a row become a column's.
    InvolutionSwap(usize),
    /// Instances through scratch.
    Barrier,
    /// Slots gathered chunk by chunk, or scattered.
    Gather(ChunkGather, Direction),
    /// The same in row order, cut in bands.
    BandedGather(BandedGather, Direction),
    /// Records from tiles of one length to another, as many as both have whole tiles of, through scratch.
    RecordTiles(LayoutChange),
    /// Records' slots gathered chunk by chunk, or scattered.
    RecordGather(record_gather::RecordGather, Direction),
    /// Cycles of all instances at once, by workers with marks.
    Cycles,
    /// Cycles of an instance at a time, by one worker each.
    OwnCycles(Elementary),
    /// Cycles by swaps, without marks.
    Rotate,
    /// Rows, counted in bytes, that slide.
    Slide(RowSlide, SlideMethod),
    /// The same of columns that are cut off, or put back, counted in elements.
    Cut(RowSlide, SlideMethod, PitchedRows, Direction),
    /// Tiles to another place.
    OutOfPlace,
    /// Everything to another place, in the order that it has.
    Copy,
    /// Rows of tiles along chains, by one worker with marks.
    TileRows(TileRows),
    /// Rows of equal pitches transposed where they lie.
    TransposeRows(LeadingMatrix),
    /// A matrix transposed into scratch and copied out row by row.
    TransposeThroughScratch(LeadingMatrix),
    /// Gaps copied to the workspace, or back.
    SaveGaps(LeadingMatrix, Direction),
    /// Rows, counted in bytes, that change places with their gaps.
    SwapGaps(PitchedRows, Direction),
}

/// How rows slide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlideMethod {
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
pub struct CpuKernelConfig {
    /// What it does to offsets.
    pub(crate) map: StageMap,
    /// Bytes of an element.
    pub(crate) elem_bytes: usize,
    /// The method.
    pub(crate) method: Method,
    kernel: CpuKernel,
    resources: Resources,
}

/// What a stage needs beyond the matrix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resources {
    /// Threads.
    pub threads: usize,
    /// Flag words, all planes of all threads.
    pub flag_words: usize,
    /// Bytes set aside, all threads together: rows (gather, shares) and columns (cut).
    pub saved_bytes: usize,
    /// Bytes of scratch of each thread.
    pub scratch_bytes: usize,
}

impl Resources {
    /// Bytes in all, a multiple of 8; more than there can be when they cannot be counted.
    pub fn bytes(&self) -> usize {
        let flags = self.flag_words.saturating_mul(4);
        let scratch = self.threads.saturating_mul(self.scratch_bytes);
        let bytes = flags.saturating_add(self.saved_bytes).saturating_add(scratch);
        bytes.checked_next_multiple_of(8).unwrap_or(usize::MAX)
    }
}

/// What ways are made with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Threads at most.
    pub threads: usize,
    /// Bytes of scratch that suit a thread: what its caches hold well.
    pub scratch: usize,
    /// Bytes that a round of rows moves at least, where several threads share it.
    pub round: usize,
}

impl Limits {
    /// Of a host's threads.
    pub fn new(threads: usize, scratch: usize) -> Self {
        Limits { threads, scratch, round: ROUND_BYTES }
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
pub fn methods(shape: &StageMap, out_of_place: bool) -> &'static [Method] {
    use Method::{
        BarrierSync, Blocks, GapSwap, OutOfPlace, PIpt, PttwacGlobal, PttwacOnChip, Rounds,
        SaveGaps, Shares, ThroughWorkspace, TileSwap,
    };
    match shape {
        StageMap::Axes(_) if out_of_place => &[OutOfPlace],
        StageMap::Axes(_) => &[TileSwap, BarrierSync, PttwacOnChip, PttwacGlobal, PIpt],
        StageMap::SlotGather { .. } => &[BarrierSync],
        StageMap::RecordGather { .. } => &[BarrierSync],
        StageMap::SlotMove { .. } | StageMap::RecordMove { .. } => &[PttwacGlobal, PIpt],
        StageMap::RecordTiles(_) => &[BarrierSync, PttwacGlobal, PIpt],
        StageMap::Slide(rows) if rows.is_alike() => &[Rounds, Blocks, Shares],
        StageMap::Slide(_) => &[Rounds],
        // Not in rounds: a few columns that are cut leave room for rounds of a few rows, and to count those for every
        // side of tiles took longer than the rest of planning.
        StageMap::Cut { .. } => &[Blocks, Shares],
        StageMap::TileRows(_) => &[PttwacGlobal],
        StageMap::TransposeRows(_) => &[TileSwap, ThroughWorkspace],
        StageMap::Gaps { .. } => &[SaveGaps],
        StageMap::SwapGaps { .. } => &[GapSwap],
    }
}

impl CpuKernelConfig {
    /// Creates the way of `method`. Returns `None` if a host has none, if its scratch would not suit the caches, and if the
    /// shape has no elements or more bytes than can be counted.
    pub fn new(
        shape: StageMap,
        elem_bytes: usize,
        method: Method,
        means: Limits,
    ) -> Option<CpuKernelConfig> {
        shape.counted_len()?.checked_mul(elem_bytes).filter(|&bytes| bytes > 0)?;
        let (mover, needs) = choose(&shape, elem_bytes, method, means)?;
        Some(CpuKernelConfig { map: shape, elem_bytes, method, kernel: mover, resources: needs })
    }

    /// The way that runs a stage which another device was to run by `method`, on at most `threads` threads, with
    /// scratch in place of what that device holds on chip.
    pub fn substitute(
        shape: StageMap,
        elem_bytes: usize,
        method: Method,
        threads: usize,
    ) -> Option<CpuKernelConfig> {
        // However much scratch that is.
        let by = |method, threads| {
            CpuKernelConfig::new(shape, elem_bytes, method, Limits::new(threads, usize::MAX))
        };
        match (method, shape.swap_kind()) {
            // Such a device holds squares that lie side by side one by one.
            (Method::BarrierSync, Some(SwapKind::SquareTiles(_))) => by(Method::TileSwap, threads),
            // A host follows the short cycles of cubes, and of pairs that it does not swap by tiles.
            (Method::TileSwap, Some(_)) => {
                by(method, threads).or_else(|| by(Method::PIpt, threads))
            }
            _ => {
                let way = by(method, threads)?;
                // Such a device works on one chunk after another.
                if matches!(way.kernel, CpuKernel::Gather(..) | CpuKernel::RecordGather(..)) {
                    by(method, 1)
                } else {
                    Some(way)
                }
            }
        }
    }

    /// Whether a host plans it: squares side by side are swapped and not held, and chunks in row order are for bands.
    pub fn is_offered(&self) -> bool {
        match self.kernel {
            CpuKernel::Barrier => !matches!(self.map.swap_kind(), Some(SwapKind::SquareTiles(_))),
            CpuKernel::Gather(chunks, _) => chunks.slots.order() != SlotOrder::Rows,
            _ => true,
        }
    }

    /// Whether it was made for this stage.
    pub fn is_for(&self, shape: &StageMap, elem_bytes: usize, method: Method) -> bool {
        (&self.map, self.elem_bytes, self.method) == (shape, elem_bytes, method)
    }

    /// Bytes of the threads' buffers that are no workspace: a run allocates them before it touches data.
    pub(crate) fn buffer_bytes(&self) -> usize {
        match self.kernel {
            CpuKernel::TransposeRows(matrix) => matrix.buffer_bytes(self.resources.threads),
            _ => 0,
        }
    }

    /// The axes of a shape that permutes some.
    pub fn axes(&self) -> &AxisPermutation {
        match &self.map {
            StageMap::Axes(axes) => axes,
            other => unreachable!("{other} permutes no axes"),
        }
    }

    /// The mover.
    pub fn kernel(&self) -> &CpuKernel {
        &self.kernel
    }

    /// What it needs.
    pub fn resources(&self) -> Resources {
        self.resources
    }

    /// Whether its workspace keeps what lies in gaps, from this stage to one that puts it back.
    pub fn saves_gaps(&self) -> bool {
        matches!(self.kernel, CpuKernel::SaveGaps(..))
    }
}

fn choose(
    shape: &StageMap,
    elem_bytes: usize,
    method: Method,
    means: Limits,
) -> Option<(CpuKernel, Resources)> {
    let at_most = |work: usize| means.threads.clamp(1, work.max(1));
    let bytes = |elements: usize| elements.saturating_mul(elem_bytes);
    let suits = |bytes: usize| bytes <= means.scratch;
    let (batch, units) = (shape.batch(), shape.batch() * shape.instance_units());
    let unit_bytes = shape.unit() * elem_bytes;
    let none = Resources::default();
    match (method, *shape) {
        (Method::TileSwap, StageMap::Axes(axes)) => {
            if let Some(e) = axes.elementary().filter(Elementary::is_squares) {
                let squares = SquareTiling::new(e.batch, e.rows, e.mid, elem_bytes);
                let needs = Resources { threads: at_most(squares.pairs()), ..none };
                return Some((CpuKernel::SquareSwap(squares), needs));
            }
            // Matrices of super-elements have short cycles of whole runs.
            if let SwapKind::Transpose(_) = axes.form() {
                return None;
            }
            let swap = InvolutionSwap::new(&axes, elem_bytes)?;
            let (parts, scratch_bytes) = (at_most(swap.pairs()), swap.scratch_bytes());
            let needs = Resources { threads: parts, scratch_bytes, ..none };
            suits(scratch_bytes).then_some((CpuKernel::InvolutionSwap(swap.together()), needs))
        }
        (Method::BarrierSync, StageMap::Axes(_)) => {
            let scratch_bytes = shape.instance_len() * elem_bytes;
            let needs = Resources { threads: at_most(batch), scratch_bytes, ..none };
            suits(scratch_bytes).then_some((CpuKernel::Barrier, needs))
        }
        (Method::BarrierSync, StageMap::SlotGather { slots, direction, .. }) => {
            let chunks = ChunkGather { slots, elem_bytes };
            if let Some(bands) = BandTiling::within(&chunks, direction, means.scratch) {
                let parts = at_most(BandTiling::most_parts(&slots));
                let kept_bytes = BandTiling::kept_bytes(&chunks, direction, parts);
                let scratch_bytes = bands.scratch_bytes(&chunks);
                let needs =
                    Resources { threads: parts, saved_bytes: kept_bytes, scratch_bytes, ..none };
                return Some((
                    CpuKernel::BandedGather(BandedGather { chunks, bands }, direction),
                    needs,
                ));
            }
            let parts = at_most(slots.chunks());
            let kept_bytes = parts.saturating_mul(chunks.kept_bytes());
            let scratch_bytes = chunks.scratch_bytes();
            let needs =
                Resources { threads: parts, saved_bytes: kept_bytes, scratch_bytes, ..none };
            Some((CpuKernel::Gather(chunks, direction), needs))
        }
        (Method::BarrierSync, StageMap::RecordTiles(retile)) => {
            let (fields, period) = (retile.fields(), retile.period());
            let scratch_bytes = bytes(period.saturating_mul(fields.words()));
            let parts = at_most(fields.records().div_ceil(period));
            let needs = Resources { threads: parts, scratch_bytes, ..none };
            suits(scratch_bytes).then_some((CpuKernel::RecordTiles(retile), needs))
        }
        (Method::BarrierSync, StageMap::RecordGather { slots, direction }) => {
            let chunks = record_gather::RecordGather { slots, word_bytes: elem_bytes };
            let parts = at_most(slots.chunks());
            let kept_bytes = parts.saturating_mul(chunks.kept_bytes());
            let needs = Resources {
                threads: parts,
                saved_bytes: kept_bytes,
                scratch_bytes: chunks.scratch_bytes(),
                ..none
            };
            Some((CpuKernel::RecordGather(chunks, direction), needs))
        }
        (Method::PttwacOnChip, StageMap::Axes(axes)) => {
            let SwapKind::Transpose(e) = axes.form() else { return None };
            let (parts, words) = (at_most(batch), VisitedBits::words(e.instance_units()));
            let flag_words = parts.saturating_mul(words);
            let needs = Resources { threads: parts, flag_words, scratch_bytes: unit_bytes, ..none };
            suits(words.saturating_mul(4)).then_some((CpuKernel::OwnCycles(e), needs))
        }
        (Method::PttwacGlobal, _) if moves_units(shape) => {
            let parts = at_most(units);
            let flag_words = parts.saturating_mul(VisitedBits::words(units));
            // Several parts keep what milestones hold.
            let kept = (SEGMENT_BYTES / unit_bytes).clamp(2, segments(units, parts) + 1);
            let scratch_bytes =
                if parts > 1 { kept.saturating_mul(unit_bytes) } else { unit_bytes };
            Some((
                CpuKernel::Cycles,
                Resources { threads: parts, flag_words, scratch_bytes, ..none },
            ))
        }
        (Method::PIpt, _) if moves_units(shape) => {
            Some((CpuKernel::Rotate, Resources { threads: at_most(units), ..none }))
        }
        (Method::OutOfPlace, StageMap::Axes(axes)) => {
            let tiles = PlaneTiling::into_buffer(&axes, elem_bytes, 0);
            let mover = if tiles.stay() { CpuKernel::Copy } else { CpuKernel::OutOfPlace };
            Some((mover, Resources { threads: tiles.parts(means.threads), ..none }))
        }
        (_, StageMap::Slide(slide)) => {
            let slide = slide.scaled(elem_bytes)?;
            let (by, needs) = slides(slide, elem_bytes, method, means)?;
            Some((CpuKernel::Slide(slide, by), needs))
        }
        (Method::Shares | Method::Blocks, StageMap::Cut { rows, direction }) => {
            let slide = shape.slide()?.scaled(elem_bytes)?;
            let (by, needs) = slides(slide, elem_bytes, method, means)?;
            let kept_bytes = needs.saved_bytes.saturating_add(bytes(rows.gaps()));
            Some((
                CpuKernel::Cut(slide, by, rows, direction),
                Resources { saved_bytes: kept_bytes, ..needs },
            ))
        }
        (Method::PttwacGlobal, StageMap::TileRows(runs)) => {
            let (flag_words, scratch_bytes) = (VisitedBits::words(runs.places()), 2 * unit_bytes);
            let needs = Resources { threads: 1, flag_words, scratch_bytes, ..none };
            suits(scratch_bytes).then_some((CpuKernel::TileRows(runs), needs))
        }
        (Method::TileSwap, StageMap::TransposeRows(leading)) => {
            let matrix = LeadingMatrix { leading, elem_bytes };
            let parts = matrix.turning_parts(means.threads)?;
            Some((CpuKernel::TransposeRows(matrix), Resources { threads: parts, ..none }))
        }
        (Method::ThroughWorkspace, StageMap::TransposeRows(leading)) if leading.is_transposed() => {
            let needs = Resources { threads: 1, scratch_bytes: bytes(leading.len()), ..none };
            let mover = CpuKernel::TransposeThroughScratch(LeadingMatrix { leading, elem_bytes });
            suits(needs.scratch_bytes).then_some((mover, needs))
        }
        (Method::SaveGaps, StageMap::Gaps { leading, direction }) => {
            let needs =
                Resources { threads: 1, saved_bytes: bytes(leading.saved_gap_len()), ..none };
            Some((CpuKernel::SaveGaps(LeadingMatrix { leading, elem_bytes }, direction), needs))
        }
        (Method::GapSwap, StageMap::SwapGaps { rows, direction }) => {
            let needs = Resources { threads: at_most(rows.rows()), ..none };
            Some((CpuKernel::SwapGaps(rows.scaled(elem_bytes)?, direction), needs))
        }
        _ => None,
    }
}

/// Whether its super-elements move along cycles.
fn moves_units(shape: &StageMap) -> bool {
    use StageMap::{Axes, RecordMove, RecordTiles, SlotMove};
    matches!(shape, Axes(_) | SlotMove { .. } | RecordMove { .. } | RecordTiles(_))
}

/// Segments for each of `parts` threads. Of `n` each, `n · parts` super-elements are moved twice, and at the end threads
/// wait for about two segments' moves: least where `n² = 2 · positions / parts`.
fn segments(positions: usize, parts: usize) -> usize {
    (positions.saturating_mul(2) / parts).isqrt().clamp(1, SEGMENTS)
}

/// How rows of elements of `elem_bytes` bytes slide, counted in bytes.
fn slides(
    rows: RowSlide,
    elem_bytes: usize,
    method: Method,
    means: Limits,
) -> Option<(SlideMethod, Resources)> {
    let parts = means.threads.clamp(1, rows.rows().max(1));
    let none = Resources::default();
    match method {
        Method::Rounds => {
            let parts = if rows.is_alike() { parts } else { 1 };
            Some((
                SlideMethod::Rounds(least_rows(rows.cols(), means.round)),
                Resources { threads: parts, ..none },
            ))
        }
        _ if !rows.is_alike() => None,
        Method::Shares => Some((
            SlideMethod::Shares,
            Resources { threads: parts, saved_bytes: rows.heads(parts), ..none },
        )),
        Method::Blocks => {
            // Whole elements, which a panic between two blocks then leaves whole; and whole vectors where they can be, so
            // that blocks begin as aligned as the matrix.
            let most = SLIDE_BYTES.min(means.scratch.max(16));
            let vectors = elem_bytes.checked_mul(16 >> elem_bytes.trailing_zeros().min(4));
            let whole = vectors.filter(|&bytes| bytes <= most).unwrap_or(elem_bytes);
            let block = (most / whole).max(1) * whole;
            if block > means.scratch.max(16) {
                return None;
            }
            let blocks = rows.blocks(block);
            let parts = means.threads.clamp(1, blocks.max(1));
            // A flag for each block, and a count of those that have begun.
            let needs =
                Resources { threads: parts, flag_words: blocks + 1, scratch_bytes: block, ..none };
            Some((SlideMethod::Blocks(block), needs))
        }
        _ => None,
    }
}

impl LaunchConfigData for CpuKernelConfig {
    fn variant(&self) -> String {
        match self.resources.threads {
            1 => String::new(),
            parts => format!(" x{parts}"),
        }
    }
}

impl fmt::Display for CpuKernelConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Resources { threads: parts, flag_words, saved_bytes: kept_bytes, scratch_bytes } =
            self.resources;
        let plural = if parts == 1 { "" } else { "s" };
        write!(f, "{parts} thread{plural}")?;
        match self.kernel {
            CpuKernel::BandedGather(BandedGather { bands, .. }, _) => {
                write!(f, ", bands of {} chunks by {} columns", bands.chunks, bands.width)?;
            }
            CpuKernel::Slide(_, SlideMethod::Rounds(least)) => {
                write!(f, ", at least {least} rows a round")?
            }
            CpuKernel::Slide(_, SlideMethod::Blocks(block))
            | CpuKernel::Cut(_, SlideMethod::Blocks(block), ..) => {
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
