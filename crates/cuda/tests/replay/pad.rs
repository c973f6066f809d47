//! `pad.cu`: moves rows from one pitch to another, in bytes.

use turntile_cuda::args::{PanelRows, PanelSlideArgs, Rows, RowsArgs, SlideArgs, SpreadArgs};

use super::{Launch, Moved, exactly, need, on_chip};

/// Returns the number of the byte at `offset` among all bytes of rows, or `None` in a gap.
fn element(rows: &Rows, offset: u64) -> Option<u64> {
    let (r, c) = (offset / rows.pitch, offset % rows.pitch);
    (c < rows.cols).then_some(r * rows.cols + c)
}

pub fn slide(call: &Launch, a: &SlideArgs, offset: u64) -> Moved {
    assert_eq!(call.entry, "pad_slide");
    let (block, blocks) = (u64::from(a.block), u64::from(a.blocks));
    exactly(call, 512)?;
    need(a.blocks == call.groups, || format!("{blocks} blocks, {} launched", call.groups))?;
    // With `apart`, each row takes up to two more vectors of shared memory.
    need(a.apart == 0 || a.from.cols == a.to.cols, || format!("other rows: {a:?}"))?;
    on_chip(call, block + if a.apart != 0 { 32 * (block / a.from.cols + 2) } else { 0 })?;
    // The workspace has the number of blocks started, then one flag per block.
    let (words, room) = (1 + blocks, call.workspace.bytes() as u64 / 4);
    need(words <= room, || format!("{words} flags in {room} words"))?;
    for rows in [a.from, a.to] {
        need(rows.cols > 0 && rows.cols <= rows.pitch, || format!("rows overlap: {a:?}"))?;
    }
    let to = |k: u64| k / a.to.cols * a.to.pitch + k % a.to.cols;
    let moved = element(&a.from, offset).filter(|&k| k < a.len && k / block < blocks);
    // All bytes move in the direction that the order of blocks assumes.
    let is_up = moved.is_none_or(|k| to(k) == offset || (to(k) > offset) == (a.up != 0));
    need(is_up, || format!("{offset} goes the other way: {a:?}"))?;
    Ok(moved.map(to))
}

/// Returns the offset of byte `k` of all runs.
fn panel_offset(rows: &PanelRows, k: u64) -> u64 {
    let (run, along) = (k / rows.cols, k % rows.cols);
    let (row, panel) = (run / u64::from(rows.panels), run % u64::from(rows.panels));
    row * rows.pitch
        + panel * rows.step
        + panel.min(rows.longer.into()) * u64::from(rows.extra)
        + along
}

/// Returns the number of the byte at `offset` among all bytes of runs, or `None` in the border.
fn panel_element(rows: &PanelRows, len: u64, offset: u64) -> Option<u64> {
    let row = offset / rows.pitch * u64::from(rows.panels);
    let starts = (0..u64::from(rows.panels)).map(|panel| (row + panel) * rows.cols);
    let mut inside = starts.filter_map(|k| {
        let along = offset.checked_sub(panel_offset(rows, k)).filter(|&along| along < rows.cols)?;
        Some(k + along)
    });
    inside.next().filter(|&k| k < len)
}

pub fn slide_panels(call: &Launch, a: &PanelSlideArgs, offset: u64) -> Moved {
    assert_eq!(call.entry, "pad_slide_panels");
    let (block, blocks) = (u64::from(a.block), u64::from(a.blocks));
    exactly(call, 512)?;
    need(a.blocks == call.groups, || format!("{blocks} blocks, {} launched", call.groups))?;
    need(block * blocks >= a.len && a.from.step * a.to.step > 0, || format!("{a:?}"))?;
    on_chip(call, block + if a.apart != 0 { 32 * (block / a.from.cols + 2) } else { 0 })?;
    let (words, room) = (1 + blocks, call.workspace.bytes() as u64 / 4);
    need(words <= room, || format!("{words} flags in {room} words"))?;
    let moved = panel_element(&a.from, a.len, offset).map(|k| panel_offset(&a.to, k));
    let is_up = moved.is_none_or(|to| to == offset || (to > offset) == (a.up != 0));
    need(is_up, || format!("{offset} goes the other way: {a:?}"))?;
    Ok(moved)
}

pub fn rows(call: &Launch, a: &RowsArgs, offset: u64) -> Moved {
    exactly(call, 512)?;
    let count = match call.entry {
        "pad_rows_alone" => {
            need(call.groups == 1, || format!("{} blocks at once", call.groups))?;
            need(a.held > 0, || "nothing held".into())?;
            on_chip(call, u64::from(a.held))?;
            a.count
        }
        "pad_rows_together" => {
            // Sources and destinations of rows do not overlap.
            let count = u64::from(call.groups);
            let end = |pitch: u64| (a.first + count - 1) * pitch + a.cols;
            let apart = end(a.from) <= a.first * a.to || end(a.to) <= a.first * a.from;
            need(apart, || format!("rows meet: {a:?}"))?;
            count
        }
        other => panic!("{other}"),
    };
    let (r, c) = (offset / a.from, offset % a.from);
    let moved = c < a.cols && (a.first..a.first + count).contains(&r);
    Ok(moved.then_some(r * a.to + c))
}

pub fn spread(call: &Launch, a: &SpreadArgs, offset: u64) -> Moved {
    assert_eq!(call.entry, "pad_spread");
    exactly(call, 512)?;
    need(call.groups > 0 && a.cols <= a.pitch, || format!("{a:?}"))?;
    let (r, c) = (offset / a.cols, offset % a.cols);
    Ok((r < a.rows).then_some(r * a.pitch + c))
}
