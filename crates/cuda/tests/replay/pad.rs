//! `pad.cu`: rows moved apart and together, in bytes.

use turntile_cuda::args::pad::{PitchesArgs, RowsArgs, SlideArgs, SpreadArgs};

use super::{Launch, Moved, exactly, need, on_chip};

/// Packed and padded place of the byte at `offset`, `None` in a gap.
fn places(offset: u64, cols: u64, pitch: u64, back: bool) -> Option<(u64, u64)> {
    let every = if back { pitch } else { cols };
    let (r, c) = (offset / every, offset % every);
    (c < cols).then_some((r * cols + c, r * pitch + c))
}

pub fn slide(call: &Launch, a: &SlideArgs, offset: u64) -> Moved {
    assert_eq!(call.entry, "pad_slide");
    let (block, back) = (u64::from(a.block), a.back != 0);
    exactly(call, 512)?;
    need(a.blocks == call.groups, || format!("{} blocks, {} launched", a.blocks, call.groups))?;
    on_chip(call, block)?;
    // The count of blocks begun, then a flag a block.
    let (words, room) = (1 + u64::from(a.blocks), call.workspace.bytes() as u64 / 4);
    need(words <= room, || format!("{words} flags in {room} words"))?;
    let Some((packed, padded)) = places(offset, a.cols, a.pitch, back) else { return Ok(None) };
    let moved = packed < a.rows * a.cols && packed / block < u64::from(a.blocks);
    Ok(moved.then_some(if back { packed } else { padded }))
}

pub fn rows(call: &Launch, a: &RowsArgs, offset: u64) -> Moved {
    let back = a.back != 0;
    exactly(call, 512)?;
    let count = match call.entry {
        "pad_rows_alone" => {
            need(call.groups == 1, || format!("{} blocks at once", call.groups))?;
            need(a.held > 0, || "nothing held".into())?;
            on_chip(call, u64::from(a.held))?;
            a.count
        }
        "pad_rows_together" => {
            // No row is written where another is read.
            let count = u64::from(call.groups);
            let (packed, padded) = ((a.first + count) * a.cols, a.first * a.pitch);
            need(packed <= padded, || format!("rows meet: {a:?}"))?;
            count
        }
        other => panic!("{other}"),
    };
    let Some((packed, padded)) = places(offset, a.cols, a.pitch, back) else { return Ok(None) };
    let moved = (a.first..a.first + count).contains(&(packed / a.cols));
    Ok(moved.then_some(if back { packed } else { padded }))
}

pub fn slide_pitches(call: &Launch, a: &PitchesArgs, offset: u64) -> Moved {
    assert_eq!(call.entry, "pad_slide_pitches");
    let (block, blocks) = (u64::from(a.block), u64::from(a.blocks));
    exactly(call, 512)?;
    need(a.blocks == call.groups, || format!("{blocks} blocks, {} launched", call.groups))?;
    on_chip(call, block)?;
    let (words, room) = (1 + blocks, call.workspace.bytes() as u64 / 4);
    need(words <= room, || format!("{words} flags in {room} words"))?;
    need(a.cols <= a.from.min(a.to), || format!("rows overlap: {a:?}"))?;
    let (r, c) = (offset / a.from, offset % a.from);
    let moved = r < a.rows && c < a.cols && (r * a.cols + c) / block < blocks;
    Ok(moved.then_some(r * a.to + c))
}

pub fn spread(call: &Launch, a: &SpreadArgs, offset: u64) -> Moved {
    assert_eq!(call.entry, "pad_spread");
    exactly(call, 512)?;
    need(call.groups > 0 && a.cols <= a.pitch, || format!("{a:?}"))?;
    let (r, c) = (offset / a.cols, offset % a.cols);
    Ok((r < a.rows).then_some(r * a.pitch + c))
}
