//! Configuration of one stage on the CPU: kernel, threads and workspace.

use std::fmt;

use turntile_perm::{
    AxisPermutation, Elementary, LeadingDims, PitchedRows, RowSlide, SlotOrder, SwapKind, TileRows,
};
use turntile_plan::{Direction, LaunchConfigData, Method, SavedGaps, StageMap};

use crate::band_tiling::BandTiling;
use crate::banded_gather::BandedGather;
use crate::chunk_gather::ChunkGather;
use crate::chunk_pass::ChunkPass;
use crate::cycle_walk::VisitedBits;
use crate::flip::FlipTiling;
use crate::involution::InvolutionSwap;
use crate::leading::LeadingMatrix;
use crate::plane_tiling::PlaneTiling;
use crate::record_gather;
use crate::rounds::{ROUND_BYTES, least_rows};
use crate::square::SquareTiling;
use crate::turn::SquareTurn;

/// Kernel of a stage with all its parameters except the data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CpuKernel {
    /// Transposes squares in place, by swapping tile pairs.
    SquareSwap(SquareTiling),
    /// Swaps tile pairs of a self-inverse axis permutation. Contains the number of adjacent
    /// super-elements of a row that become adjacent in a column.
    InvolutionSwap(usize),
    /// Reverses axes in place, by swaps of runs.
    Flip(FlipTiling),
    /// Transposes squares and reverses axes of the result, by rotations of tiles.
    SquareTurn(SquareTurn),
    /// Permutes whole instances through scratch. Contains their number. An instance of records is
    /// one common period of both tile lengths.
    Barrier(usize),
    /// Gathers the slots of each chunk, or scatters them.
    Gather(ChunkGather, Direction),
    /// Gathers or scatters slots in row order, in bands of chunks.
    BandedGather(BandedGather, Direction),
    /// Gathers the slots of each chunk of records, or scatters them.
    RecordGather(record_gather::RecordGather, Direction),
    /// Follows the cycles of all instances together; workers record visited positions in flags.
    Cycles,
    /// Follows the cycles of one instance at a time per worker.
    OwnCycles(Elementary),
    /// Follows the cycles of long super-elements piece by piece. Contains the bytes of a piece.
    Pieces(usize),
    /// Follows cycles by swaps, without flags.
    Rotate,
    /// Moves rows to another pitch. Row lengths are in bytes.
    Slide(RowSlide, SlideMethod),
    /// Moves rows, in order, to rows of another length. Row lengths are in bytes.
    Reshape(LeadingDims),
    /// Cuts off columns or inserts them: slides rows (lengths in bytes) and saves the columns
    /// (lengths in elements).
    Cut(RowSlide, SlideMethod, PitchedRows, Direction),
    /// Writes tiles to another buffer.
    OutOfPlace,
    /// Copies all elements to another buffer, in the same order.
    Copy,
    /// Moves rows of tiles along chains, by one worker with flags.
    TileRows(TileRows),
    /// Transposes a matrix with equal pitches in place.
    TransposeRows(LeadingMatrix),
    /// Transposes a matrix into scratch and copies it back row by row.
    TransposeThroughScratch(LeadingMatrix),
    /// Copies gaps to the workspace, or restores them.
    SaveGaps(SavedGaps, Direction),
    /// Swaps rows with their gaps. Row lengths are in bytes.
    SwapGaps(PitchedRows, Direction),
}

/// Schedule for rows that move to another pitch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlideMethod {
    /// Rounds; parallel ones have at least this number of rows.
    Rounds(usize),
    /// One share of the rows per thread.
    Shares,
    /// Blocks of this number of bytes.
    Blocks(usize),
}

/// Launch configuration of one stage on the CPU.
///
/// Stores the index map, element size and method that it was made for, and runs no other stage.
#[derive(Clone, Debug, PartialEq)]
pub struct CpuKernelConfig {
    /// Index map of the stage.
    pub(crate) map: StageMap,
    /// Bytes of an element.
    pub(crate) elem_bytes: usize,
    /// Method of the stage.
    pub(crate) method: Method,
    kernel: CpuKernel,
    resources: Resources,
}

/// Threads and workspace of a stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resources {
    /// Number of threads.
    pub threads: usize,
    /// Number of 32-bit words for flags, for all threads together. With [`SlideMethod::Blocks`], one
    /// of them is a counter.
    pub flag_words: usize,
    /// Workspace bytes of saved elements, for all threads together: halos (gather), first rows
    /// (shares), columns (cut) or gaps.
    pub saved_bytes: usize,
    /// Bytes of scratch per thread.
    pub scratch_bytes: usize,
}

impl Resources {
    /// Returns the total bytes of workspace, a multiple of 8, or `usize::MAX` on overflow.
    pub fn bytes(&self) -> usize {
        let flags = self.flag_words.saturating_mul(4);
        let scratch = self.threads.saturating_mul(self.scratch_bytes);
        let bytes = flags.saturating_add(self.saved_bytes).saturating_add(scratch);
        bytes.checked_next_multiple_of(8).unwrap_or(usize::MAX)
    }
}

/// Limits within which configurations are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelLimits {
    /// Maximum number of threads.
    pub threads: usize,
    /// Preferred maximum bytes of scratch per thread, which stays in its cache.
    pub scratch: usize,
    /// Minimum bytes of a round of rows that several threads share.
    pub round: usize,
}

impl KernelLimits {
    /// Creates limits with the default `round`, 1 MiB.
    pub fn new(threads: usize, scratch: usize) -> Self {
        KernelLimits { threads, scratch, round: ROUND_BYTES }
    }
}

/// Maximum bytes of a block of rows that move to another pitch. Two blocks, scratch and
/// destination, fit the second-level cache.
const SLIDE_BLOCK_BYTES: usize = 256 << 10;
/// Maximum number of cycle segments per thread, if there are several. Each needs a super-element of
/// scratch, and each thread one more.
const MAX_SEGMENTS_PER_THREAD: usize = 64;
/// Maximum bytes of scratch per thread for cycle segments, unless two super-elements are larger.
const MAX_SEGMENT_SCRATCH: usize = 512 << 10;

/// Maximum bytes of a piece of a long super-element. 6x7x1000003 floats, one thread of a Xeon
/// (260 MiB of L3 cache), GB/s with pieces of 2, 4, 8, 16 and 64 KiB: 30, 31, 27, 31 and 27; 2x3x8000000:
/// 42, 44, 36, 39 and 36 (November 2026).
const PIECE_BYTES: usize = 4 << 10;
/// Minimum number of pieces of a super-element, and maximum number of super-elements of an instance
/// whose moves a run lists. With more or shorter ones, other methods are fast.
const MIN_PIECES: usize = 4;
const MAX_PIECE_UNITS: usize = 4096;

impl CpuKernelConfig {
    /// Creates the configuration of `method`.
    ///
    /// Returns `None` if the CPU does not support the method for this map, if scratch that must be
    /// cached exceeds its limit, if the map has no elements, or if its bytes overflow.
    pub fn new(
        map: &StageMap,
        elem_bytes: usize,
        method: Method,
        limits: KernelLimits,
    ) -> Option<CpuKernelConfig> {
        map.counted_len()?.checked_mul(elem_bytes).filter(|&bytes| bytes > 0)?;
        map.methods().contains(&method).then_some(())?;
        let (kernel, resources) = kernel_and_resources(map, elem_bytes, method, limits)?;
        Some(CpuKernelConfig { map: map.clone(), elem_bytes, method, kernel, resources })
    }

    /// Creates the configuration that replaces a stage of another device's plan, on at most
    /// `threads` threads.
    ///
    /// Scratch, of any size, replaces the on-chip memory of that device. Returns `None` for
    /// unsupported methods.
    pub fn substitute(
        map: &StageMap,
        elem_bytes: usize,
        method: Method,
        threads: usize,
    ) -> Option<CpuKernelConfig> {
        // Scratch is not limited.
        let with_method = |method, threads| {
            CpuKernelConfig::new(map, elem_bytes, method, KernelLimits::new(threads, usize::MAX))
        };
        match (method, map.swap_kind()) {
            // The other device permutes adjacent squares on chip, one at a time.
            (Method::BarrierSync, Some(SwapKind::SquareTiles(_))) => {
                with_method(Method::TileSwap, threads)
            }
            // The CPU follows the short cycles of cubes, and of pairs that it does not swap by
            // tiles.
            (Method::TileSwap, Some(_)) => {
                with_method(method, threads).or_else(|| with_method(Method::PIpt, threads))
            }
            _ => {
                let config = with_method(method, threads)?;
                // The scratch of each thread holds a chunk, and a chunk that was planned for another device may be
                // as large as its shared memory: one thread runs.
                if matches!(config.kernel, CpuKernel::Gather(..) | CpuKernel::RecordGather(..)) {
                    with_method(method, 1)
                } else {
                    Some(config)
                }
            }
        }
    }

    /// Returns `true` if the planner may use the configuration.
    ///
    /// Adjacent squares are swapped in place, not through scratch. Chunks in row order need bands.
    pub fn is_offered(&self) -> bool {
        match self.kernel {
            CpuKernel::Barrier(_) => {
                !matches!(self.map.swap_kind(), Some(SwapKind::SquareTiles(_)))
            }
            CpuKernel::Gather(chunks, _) => chunks.slots.order() != SlotOrder::Rows,
            CpuKernel::Pieces(piece) => {
                self.map.unit() * self.elem_bytes / piece >= MIN_PIECES
                    && self.map.instance_units() <= MAX_PIECE_UNITS
            }
            _ => true,
        }
    }

    /// Returns `true` if the configuration was made for this stage.
    pub fn is_for(&self, map: &StageMap, elem_bytes: usize, method: Method) -> bool {
        (&self.map, self.elem_bytes, self.method) == (map, elem_bytes, method)
    }

    /// Returns the bytes of the threads' buffers outside the workspace. A run allocates them before
    /// it touches data.
    pub(crate) fn buffer_bytes(&self) -> usize {
        match self.kernel {
            CpuKernel::TransposeRows(matrix) => matrix.buffer_bytes(self.resources.threads),
            _ => 0,
        }
    }

    /// Returns the axis permutation of the stage.
    ///
    /// # Panics
    /// If the stage is not an axis permutation.
    pub fn axes(&self) -> &AxisPermutation {
        match &self.map {
            StageMap::Axes(axes) => axes,
            other => unreachable!("{other} is not an axis permutation"),
        }
    }

    /// Returns the kernel.
    pub fn kernel(&self) -> &CpuKernel {
        &self.kernel
    }

    /// Returns the threads and workspace.
    pub fn resources(&self) -> Resources {
        self.resources
    }

    /// Returns `true` if the stage saves gaps in the workspace, or restores them.
    pub fn saves_gaps(&self) -> bool {
        matches!(self.kernel, CpuKernel::SaveGaps(..))
    }
}

/// Returns the kernel of `method`, one of the map's methods, and its resources. Returns `None` if
/// the CPU has no such kernel, or if scratch that must be cached exceeds its limit.
fn kernel_and_resources(
    map: &StageMap,
    elem_bytes: usize,
    method: Method,
    limits: KernelLimits,
) -> Option<(CpuKernel, Resources)> {
    let threads_for = |work: usize| limits.threads.clamp(1, work.max(1));
    let bytes = |elements: usize| elements.saturating_mul(elem_bytes);
    let fits_cache = |bytes: usize| bytes <= limits.scratch;
    let (batch, units) = (map.batch(), map.batch() * map.instance_units());
    let unit_bytes = map.unit() * elem_bytes;
    let none = Resources::default();
    match (method, map) {
        (Method::TileSwap, StageMap::Axes(axes)) => {
            if let Some(e) = axes.elementary().filter(Elementary::is_squares) {
                let squares = SquareTiling::new(e.batch, e.rows, e.mid, elem_bytes);
                let resources = Resources { threads: threads_for(squares.pairs()), ..none };
                return Some((CpuKernel::SquareSwap(squares), resources));
            }
            // Square matrices of super-elements have cycles of two; other methods move them.
            if let SwapKind::Transpose(_) = axes.form() {
                return None;
            }
            let swap = InvolutionSwap::new(axes, elem_bytes)?;
            let (threads, scratch_bytes) = (threads_for(swap.pairs()), swap.scratch_bytes());
            let resources = Resources { threads, scratch_bytes, ..none };
            fits_cache(scratch_bytes)
                .then_some((CpuKernel::InvolutionSwap(swap.together()), resources))
        }
        (Method::TileSwap, StageMap::Flipped(axes)) if axes.is_flip() => {
            let flip = FlipTiling::new(axes, elem_bytes);
            let threads = threads_for(flip.pieces());
            Some((CpuKernel::Flip(flip), Resources { threads, ..none }))
        }
        (Method::TileSwap, StageMap::Flipped(axes)) => {
            let ([batch, side, unit], flips) = axes.squares()?;
            let turn = SquareTurn::new(batch, side, bytes(unit), flips);
            let (threads, scratch_bytes) = (threads_for(turn.tiles()), turn.scratch_bytes());
            let resources = Resources { threads, scratch_bytes, ..none };
            fits_cache(scratch_bytes).then_some((CpuKernel::SquareTurn(turn), resources))
        }
        (Method::BarrierSync, StageMap::Axes(_) | StageMap::RecordTiles(_)) => {
            let (instances, len) = match map {
                StageMap::RecordTiles(change) => {
                    let (fields, period) = (change.schema(), change.period());
                    let instances = fields.records().div_ceil(period);
                    (instances, period.saturating_mul(fields.words()))
                }
                _ => (batch, map.instance_len()),
            };
            let (threads, scratch_bytes) = (threads_for(instances), bytes(len));
            let resources = Resources { threads, scratch_bytes, ..none };
            fits_cache(scratch_bytes).then_some((CpuKernel::Barrier(instances), resources))
        }
        (Method::BarrierSync, &StageMap::SlotGather { slots, direction, .. }) => {
            let chunks = ChunkGather { slots, elem_bytes };
            if let Some(bands) = BandTiling::within(&chunks, direction, limits.scratch) {
                let threads = threads_for(BandTiling::max_threads(&slots));
                let saved_bytes = BandTiling::halo_bytes(&chunks, direction, threads);
                let scratch_bytes = bands.scratch_bytes(&chunks);
                let resources = Resources { threads, saved_bytes, scratch_bytes, ..none };
                return Some((
                    CpuKernel::BandedGather(BandedGather { chunks, bands }, direction),
                    resources,
                ));
            }
            Some((CpuKernel::Gather(chunks, direction), chunk_resources(&chunks, limits)))
        }
        (Method::BarrierSync, StageMap::RecordGather { slots, direction }) => {
            let chunks =
                record_gather::RecordGather { slots: slots.clone(), word_bytes: elem_bytes };
            let resources = chunk_resources(&chunks, limits);
            Some((CpuKernel::RecordGather(chunks, *direction), resources))
        }
        (Method::PttwacOnChip, StageMap::Axes(axes)) => {
            let SwapKind::Transpose(e) = axes.form() else { return None };
            let (threads, words) = (threads_for(batch), VisitedBits::words(e.instance_units()));
            let flag_words = threads.saturating_mul(words);
            let resources = Resources { threads, flag_words, scratch_bytes: unit_bytes, ..none };
            fits_cache(words.saturating_mul(4)).then_some((CpuKernel::OwnCycles(e), resources))
        }
        (Method::PttwacGlobal, StageMap::TileRows(runs)) => {
            let (flag_words, scratch_bytes) = (VisitedBits::words(runs.places()), 2 * unit_bytes);
            let resources = Resources { threads: 1, flag_words, scratch_bytes, ..none };
            fits_cache(scratch_bytes).then_some((CpuKernel::TileRows(*runs), resources))
        }
        (Method::PttwacGlobal, _) => {
            let threads = threads_for(units);
            let flag_words = threads.saturating_mul(VisitedBits::words(units));
            // With several threads, scratch also stores the contents of splitters, which begin the
            // segments.
            let units_held =
                (MAX_SEGMENT_SCRATCH / unit_bytes).clamp(2, segments(units, threads) + 1);
            let scratch_bytes =
                if threads > 1 { units_held.saturating_mul(unit_bytes) } else { unit_bytes };
            Some((CpuKernel::Cycles, Resources { threads, flag_words, scratch_bytes, ..none }))
        }
        (Method::Pieces, _) => {
            let whole = bytes((PIECE_BYTES / elem_bytes).clamp(1, map.unit()));
            let piece = whole.min(PIECE_BYTES);
            let pieces = batch.saturating_mul(unit_bytes.div_ceil(piece));
            let resources =
                Resources { threads: threads_for(pieces), scratch_bytes: piece, ..none };
            Some((CpuKernel::Pieces(piece), resources))
        }
        (Method::PIpt, _) => {
            Some((CpuKernel::Rotate, Resources { threads: threads_for(units), ..none }))
        }
        (Method::OutOfPlace, StageMap::Axes(axes)) => {
            let tiles = PlaneTiling::into_buffer(axes, elem_bytes, 0);
            let kernel = if tiles.stay() { CpuKernel::Copy } else { CpuKernel::OutOfPlace };
            Some((kernel, Resources { threads: tiles.parts(limits.threads), ..none }))
        }
        (_, &StageMap::Slide(slide)) => {
            let slide = slide.scaled(elem_bytes)?;
            let (schedule, resources) = slide_method(slide, elem_bytes, method, limits)?;
            Some((CpuKernel::Slide(slide, schedule), resources))
        }
        (_, &StageMap::Reshape(leading)) => {
            let kernel = CpuKernel::Reshape(leading.scaled(elem_bytes)?);
            Some((kernel, Resources { threads: 1, ..none }))
        }
        (_, &StageMap::Cut { rows, direction }) => {
            let slide = map.slide()?.scaled(elem_bytes)?;
            let (schedule, resources) = slide_method(slide, elem_bytes, method, limits)?;
            let saved_bytes = resources.saved_bytes.saturating_add(bytes(rows.gaps()));
            Some((
                CpuKernel::Cut(slide, schedule, rows, direction),
                Resources { saved_bytes, ..resources },
            ))
        }
        (Method::TileSwap, &StageMap::TransposeRows(leading)) => {
            let matrix = LeadingMatrix { leading, elem_bytes };
            let threads = matrix.turning_parts(limits.threads);
            Some((CpuKernel::TransposeRows(matrix), Resources { threads, ..none }))
        }
        (_, &StageMap::TransposeRows(leading)) => {
            let resources = Resources { threads: 1, scratch_bytes: bytes(leading.len()), ..none };
            let kernel = CpuKernel::TransposeThroughScratch(LeadingMatrix { leading, elem_bytes });
            fits_cache(resources.scratch_bytes).then_some((kernel, resources))
        }
        (_, &StageMap::Gaps { gaps, direction }) => {
            let resources = Resources { threads: 1, saved_bytes: bytes(gaps.count()), ..none };
            Some((CpuKernel::SaveGaps(gaps, direction), resources))
        }
        (_, &StageMap::SwapGaps { rows, direction }) => {
            let resources = Resources { threads: threads_for(rows.rows()), ..none };
            Some((CpuKernel::SwapGaps(rows.scaled(elem_bytes)?, direction), resources))
        }
        _ => None,
    }
}

/// Returns the resources of a pass over chunks.
fn chunk_resources(pass: &impl ChunkPass, limits: KernelLimits) -> Resources {
    let threads = limits.threads.clamp(1, pass.chunks().max(1));
    let saved_bytes = threads.saturating_mul(pass.halo_bytes());
    Resources { threads, saved_bytes, scratch_bytes: pass.scratch_bytes(), flag_words: 0 }
}

/// Returns the number of cycle segments per thread.
///
/// With `n` segments each, `n · threads` super-elements are moved twice. At the end, threads wait
/// for the moves of about two segments. The sum is least at `n² = 2 · positions / threads`.
fn segments(positions: usize, threads: usize) -> usize {
    (positions.saturating_mul(2) / threads).isqrt().clamp(1, MAX_SEGMENTS_PER_THREAD)
}

/// Returns the schedule of `method`, and its resources, for `rows` with lengths in bytes and
/// elements of `elem_bytes` bytes. Returns `None` if `method` does not move rows, or if not even
/// one element fits the scratch as a block.
fn slide_method(
    rows: RowSlide,
    elem_bytes: usize,
    method: Method,
    limits: KernelLimits,
) -> Option<(SlideMethod, Resources)> {
    let threads = limits.threads.clamp(1, rows.rows().max(1));
    let none = Resources::default();
    match method {
        Method::Rounds => Some((
            SlideMethod::Rounds(least_rows(rows.cols(), limits.round)),
            Resources { threads, ..none },
        )),
        Method::Shares => Some((
            SlideMethod::Shares,
            Resources { threads, saved_bytes: rows.saved_elements(threads), ..none },
        )),
        Method::Blocks => {
            // Blocks have whole elements, so that a panic between two blocks splits no element. If
            // possible they also have whole vectors, so that blocks are as aligned as the matrix.
            let most = SLIDE_BLOCK_BYTES.min(limits.scratch.max(16));
            let vectors = elem_bytes.checked_mul(16 >> elem_bytes.trailing_zeros().min(4));
            let whole = vectors.filter(|&bytes| bytes <= most).unwrap_or(elem_bytes);
            let block = (most / whole).max(1) * whole;
            if block > limits.scratch.max(16) {
                return None;
            }
            let blocks = rows.blocks(block);
            let threads = limits.threads.clamp(1, blocks.max(1));
            // One flag per block, and a counter of started blocks.
            let resources =
                Resources { threads, flag_words: blocks + 1, scratch_bytes: block, ..none };
            Some((SlideMethod::Blocks(block), resources))
        }
        _ => None,
    }
}

impl LaunchConfigData for CpuKernelConfig {
    fn variant(&self) -> String {
        match self.resources.threads {
            1 => String::new(),
            threads => format!(" x{threads}"),
        }
    }
}

impl fmt::Display for CpuKernelConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Resources { threads, flag_words, saved_bytes, scratch_bytes } = self.resources;
        let plural = if threads == 1 { "" } else { "s" };
        write!(f, "{threads} thread{plural}")?;
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
        if saved_bytes > 0 {
            write!(f, ", {saved_bytes} bytes set aside")?;
        }
        if flag_words > 0 {
            write!(f, ", {flag_words} words of marks")?;
        }
        Ok(())
    }
}
