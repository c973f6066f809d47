//! Lowering of row moves from one pitch to another.

use turntile_perm::row_slide::SlideRound;
use turntile_perm::{BorderSide, Panels, PitchedRows, RowSlide};

use super::fit::{LaunchBuilder, Lowered, Size, TargetParams, VECTOR_BYTES, field};
use super::into;
use crate::args::{PanelRows, PanelSlideArgs, Rows, RowsArgs, SlideArgs, SpreadArgs, zeroed};
use crate::buffers::{BufferOffset, WORKSPACE_ALIGNMENT};
use crate::error::LowerError;
use crate::family::Family;
use crate::launch::{CheckedLaunch, DeviceLimits, WorkspacePart, widest_word};

/// Maximum bytes of a data-sliding block. With the kernel's other shared memory and the padding of rows, they fit 48 KiB.
const SLIDE_BYTES: usize = (48 << 10) - 768;

/// Returns the bytes of a data-sliding block on the device: whole vectors, so that blocks are as aligned as the matrix.
pub fn slide_block(limits: &DeviceLimits) -> usize {
    SLIDE_BYTES.min(limits.shared_bytes.max(16)) / 16 * 16
}

/// Threads per block, and bytes from which a whole block moves one row, as in `kernels/pad.cu`.
const THREADS: usize = 512;
const LONG_ROW: usize = 4096;

/// Length in bytes of the rows into which a contiguous copy is cut.
const COPIED: usize = 32 << 10;

fn launch(
    entry: &'static str,
    blocks: usize,
    shared_bytes: usize,
    at: TargetParams,
) -> Lowered<LaunchBuilder> {
    at.launch((Family::Pad, 1, entry), Size { blocks, threads: THREADS, shared_bytes })
}

fn in_bytes(slide: RowSlide, at: TargetParams) -> Lowered<RowSlide> {
    slide.scaled(at.elem_bytes).ok_or(LowerError::NoKernel)
}

/// Returns the launch of data sliding by blocks of `block` bytes.
pub fn slide(slide: RowSlide, block: usize, at: TargetParams) -> Lowered {
    let slide = in_bytes(slide, at)?;
    let blocks = slide.blocks(block);
    // Rows without gaps count as one. Long unaligned rows are separate in shared memory, so that whole vectors are read.
    let bytes = [slide.cols(), slide.from().pitch(), slide.to().pitch(), at.alignment];
    let whole = widest_word(&bytes) == VECTOR_BYTES;
    let apart = slide.cols() >= LONG_ROW && !whole;
    let held = if apart { block + 32 * (block / slide.cols() + 2) } else { block };
    let rows = |rows: PitchedRows| match rows.is_dense() && !apart {
        true => Rows { cols: rows.len() as u64, pitch: rows.len() as u64 },
        false => Rows { cols: rows.cols() as u64, pitch: rows.pitch() as u64 },
    };
    let params = SlideArgs {
        len: slide.from().len() as u64,
        from: rows(slide.from()),
        to: rows(slide.to()),
        block: field(block)?,
        blocks: field(blocks)?,
        up: u32::from(slide.is_up()),
        apart: u32::from(apart),
        ..zeroed()
    };
    let flags = WorkspacePart::Flags(4 * (blocks + 1));
    Ok(launch("pad_slide", blocks, held, at)?.using(flags, params))
}

/// Returns the launch that copies contiguous rows from another buffer to the rows `to`, in bytes.
pub fn spread(to: PitchedRows, at: TargetParams) -> Lowered {
    // A warp per row, or a thread block per long row, as in the kernel.
    let each = if to.cols() >= LONG_ROW { 1 } else { THREADS / 32 };
    let blocks = to.rows().div_ceil(each).min(at.limits.units * 8);
    Ok(launch("pad_spread", blocks, 0, at)?.with(SpreadArgs {
        rows: to.rows() as u64,
        cols: to.cols() as u64,
        pitch: to.pitch() as u64,
        ..zeroed()
    }))
}

/// A launch and its base addresses.
pub type PlacedLaunch = (CheckedLaunch, [BufferOffset; 2]);

/// Returns the bytes of workspace that store the border of a matrix in panels.
pub fn border_bytes(panels: &Panels, elem_bytes: usize) -> Lowered<usize> {
    let bytes = panels.border_len().checked_mul(elem_bytes);
    bytes
        .and_then(|bytes| bytes.checked_next_multiple_of(WORKSPACE_ALIGNMENT))
        .ok_or(LowerError::NoKernel)
}

/// Checks that all offsets in a matrix, in bytes, and the numbers of panels have no overflow.
fn counted(panels: &Panels, at: TargetParams) -> Lowered<()> {
    let bytes =
        panels.rows().checked_mul(panels.cols()).and_then(|all| all.checked_mul(at.elem_bytes));
    bytes.filter(|bytes| *bytes > 0).ok_or(LowerError::NoKernel)?;
    let shifts = panels.panels().checked_mul(at.elem_bytes).ok_or(LowerError::NoKernel)?;
    field(shifts)?;
    field(panels.panels().saturating_add(slide_block(at.limits))).map(|_| ())
}

/// Returns the launches that move the core of a matrix together, and its border, transposed, after it.
pub fn together(panels: &Panels, at: TargetParams) -> Lowered<Vec<PlacedLaunch>> {
    counted(panels, at)?;
    let elem = at.elem_bytes;
    let mut calls = Vec::new();
    for piece in panels.pieces(BorderSide::Source) {
        let [to, from] = [piece.border, piece.at].map(|elements| elements * elem);
        let pitches = [panels.cols(), piece.sides[0]].map(|elements| elements * elem);
        let call =
            into::pitched(piece.sides, pitches, at.and(&[to, from, pitches[0], pitches[1]]))?;
        calls.push((call, [BufferOffset::Workspace(to), BufferOffset::Data(from)]));
    }
    calls.extend(slide_panels(panels, false, at)?);
    let (core, border) = (panels.core_len() * elem, panels.border_len() * elem);
    // A thread block copies one long row, so the border is cut into rows.
    for (begin, rows, cols) in
        [(0, border / COPIED, COPIED), (border / COPIED * COPIED, 1, border % COPIED)]
    {
        if let Some(rows) = PitchedRows::new(rows, cols, cols).filter(|rows| !rows.is_empty()) {
            let spots = [BufferOffset::Data(core + begin), BufferOffset::Workspace(begin)];
            calls.push((spread(rows, at)?, spots));
        }
    }
    Ok(calls)
}

/// Returns the launches that move the core of a matrix apart, and fill its border from the workspace.
pub fn apart(panels: &Panels, at: TargetParams) -> Lowered<Vec<PlacedLaunch>> {
    counted(panels, at)?;
    let elem = at.elem_bytes;
    let mut calls: Vec<_> = slide_panels(panels, true, at)?.into_iter().collect();
    for piece in panels.pieces(BorderSide::Result) {
        let [rows, cols] = piece.sides;
        let rows = PitchedRows::new(rows, cols * elem, panels.cols() * elem);
        let spots =
            [BufferOffset::Data(piece.at * elem), BufferOffset::Workspace(piece.border * elem)];
        calls.push((spread(rows.ok_or(LowerError::NoKernel)?, at)?, spots));
    }
    Ok(calls)
}

/// Returns the launch that moves the core together, or apart if it goes `up`; none if it has all columns. The flags follow the
/// border in the workspace.
fn slide_panels(panels: &Panels, up: bool, at: TargetParams) -> Lowered<Option<PlacedLaunch>> {
    let (elem, count) = (at.elem_bytes, panels.panels());
    let ([_, cols], [step, longer]) = (panels.core(), panels.steps());
    if count * cols == panels.cols() {
        return Ok(None);
    }
    let bytes = |elements: usize| (elements * elem) as u64;
    let rows = |pitch, step, longer| -> Lowered<PanelRows> {
        let (panels, longer, extra) = (field(count)?, field(longer)?, field(elem)?);
        // One panel has no step, and the kernel divides by it.
        let step = bytes(step).max(1);
        Ok(PanelRows {
            cols: bytes(cols),
            pitch: bytes(pitch),
            step,
            panels,
            longer,
            extra,
            pad: 0,
        })
    };
    let (together, apart) = (rows(count * cols, cols, 0)?, rows(panels.cols(), step, longer)?);
    let (len, block) = (panels.core_len() * elem, slide_block(at.limits));
    let blocks = len.div_ceil(block);
    // Long rows are separate in shared memory, so that whole vectors are read.
    let separate = cols * elem >= LONG_ROW;
    let held = if separate { block + 32 * (block / (cols * elem) + 2) } else { block };
    let (from, to) = if up { (together, apart) } else { (apart, together) };
    let params = PanelSlideArgs {
        len: len as u64,
        from,
        to,
        block: field(block)?,
        blocks: field(blocks)?,
        up: u32::from(up),
        apart: u32::from(separate),
        ..zeroed()
    };
    let launch = launch("pad_slide_panels", blocks, held, at)?;
    let flags = BufferOffset::Workspace(border_bytes(panels, elem)?);
    let call = launch.using(WorkspacePart::Flags(4 * (blocks + 1)), params);
    Ok(Some((call, [BufferOffset::Data(0), flags])))
}

/// Returns the launches of the rounds in order, one per round.
pub fn rows(slide: RowSlide, least: usize, at: TargetParams) -> Lowered<Vec<CheckedLaunch>> {
    let slide = in_bytes(slide, at)?;
    let held = at.limits.shared_bytes / 16 * 16;
    let round = |SlideRound { rows, together }: SlideRound| {
        let launch = match together {
            true => launch("pad_rows_together", rows.len(), 0, at)?,
            false => launch("pad_rows_alone", 1, held, at)?,
        };
        Ok(launch.with(RowsArgs {
            first: rows.start as u64,
            count: rows.len() as u64,
            cols: slide.cols() as u64,
            from: slide.from().pitch() as u64,
            to: slide.to().pitch() as u64,
            held: field(held)?,
            ..zeroed()
        }))
    };
    slide.rounds(least).map(round).collect()
}
