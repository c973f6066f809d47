//! `slot_runs.cu` and `slot_gather.cu`: gather elements into the slots of their chunks, and scatter
//! them back.

use turntile_cuda::args::{GatherArgs, RunArgs, SlotMap64};

use super::maps::SlotsOf;
use super::{Answer, Launch, Moved, aligned, exactly, need, on_chip};

/// Destination of an element, and the chunk and source column of its slot.
struct Gathered {
    to: u64,
    chunk: u64,
    column: u64,
}

/// Returns the destination of a matrix's element.
fn gathered(slots: &SlotMap64, back: bool, element: u64) -> Answer<Gathered> {
    let s = SlotsOf::from(slots);
    if back {
        let (place, rest) = (element / s.slot, element % s.slot);
        let first = s.dest(place)? * s.slot;
        let position = first + rest;
        let (i, j) = (position % s.rows, position / s.rows);
        let chunk = s.per_chunk.div(place).min(s.last_chunk);
        return Ok(Gathered { to: i * s.cols + j, chunk, column: s.rows_div.div(first) });
    }
    let (i, j) = (element / s.cols, element % s.cols);
    let position = j * s.rows + i;
    let t = s.slot_div.div(position);
    let place = s.source(t)?;
    let chunk = s.per_chunk.div(place).min(s.last_chunk);
    let column = s.rows_div.div(t * s.slot);
    Ok(Gathered { to: place * s.slot + (position - t * s.slot), chunk, column })
}

pub fn runs(call: &Launch, a: &RunArgs, alignment: u64, offset: u64) -> Moved {
    let back = match call.entry {
        "slot_runs" => false,
        "slot_runs_back" => true,
        other => panic!("{other}"),
    };
    let s = &a.slots;
    let (word, grain, runs) = (call.word as u64, u64::from(a.grain.divisor), u64::from(a.runs));
    let (element, pitch) = (grain * word, u64::from(a.pitch));
    exactly(call, 256)?;
    need(runs == u64::from(call.groups), || format!("{runs} runs, {} blocks", call.groups))?;
    // Shared memory has the table of columns, then three chunks whose rows do not overlap.
    need(u64::from(a.table) >= 4 * s.cols, || format!("{} bytes of table", a.table))?;
    aligned(16, &[u64::from(a.table)])?;
    aligned(word, &[pitch, a.matrix_bytes])?;
    need(pitch >= s.cols * element, || format!("rows overlap: {pitch}"))?;
    on_chip(call, u64::from(a.table) + 3 * s.chunk * pitch)?;
    let kept = (runs * (s.slot - 1) + s.last_rows) * s.cols * element;
    let room = call.workspace.bytes() as u64;
    need(kept <= room, || format!("{kept} bytes kept in {room}"))?;
    need(u64::from(a.per_column.divisor) * s.slot == s.chunk, || "slots of a column".into())?;
    if a.vectors != 0 {
        need(pitch == s.cols * element, || format!("not as in memory: {pitch}"))?;
        let matrices = if a.batch > 1 { a.matrix_bytes } else { 0 };
        aligned(16, &[alignment, s.chunk * pitch, matrices])?;
    }
    let (matrix, rest) = (offset / a.matrix_bytes, offset % a.matrix_bytes);
    if matrix >= a.batch || rest / element >= s.rows * s.cols {
        return Ok(None);
    }
    let to = gathered(s, back, rest / element)?.to;
    Ok(Some(matrix * a.matrix_bytes + to * element + rest % element))
}

pub fn teams(call: &Launch, a: &GatherArgs, offset: u64) -> Moved {
    let back = match call.entry {
        "slot_gather" => false,
        "slot_scatter" => true,
        other => panic!("{other}"),
    };
    let s = &a.slots;
    let (word, element) = (call.word as u64, u64::from(a.grain.divisor) * call.word as u64);
    let [runs, teams, blocks, block_cols] =
        [a.runs, a.teams, a.blocks, a.block_cols].map(u64::from);
    let [depth, readers, ring_rows, pitch] =
        [a.depth, a.readers, a.ring_rows, a.pitch].map(u64::from);
    let granule = u64::from(a.granule);
    exactly(call, 1024)?;
    need(u64::from(call.groups) == teams * blocks, || format!("{teams} teams of {blocks}"))?;
    need(runs == 1 || teams.is_multiple_of(runs), || format!("{teams} teams, {runs} runs"))?;
    need((1..=8).contains(&depth) && (1..31).contains(&readers), || format!("{a:?}"))?;
    need(granule == 16 || granule == word.max(4), || format!("granules of {granule}"))?;
    // Rows keep their address modulo `granule`. The last row of a period may extend into the
    // padding granule.
    let row = block_cols * element;
    let needed = (row + granule - word).next_multiple_of(granule);
    aligned(granule, &[pitch])?;
    need(pitch >= needed, || format!("rows of {needed} bytes every {pitch}"))?;
    need(ring_rows.is_multiple_of(if a.period >= 31 { 1 } else { 1 << a.period }), || {
        format!("{a:?}")
    })?;
    let longest = if s.last_chunk == 0 { s.last_rows } else { s.last_rows.max(s.chunk) };
    let rows = (depth * s.chunk).max(longest) + s.slot - 1;
    need(ring_rows >= rows, || format!("{rows} rows in a ring of {ring_rows}"))?;
    let table = (block_cols + 1).div_ceil(4) * 16;
    on_chip(call, table + ring_rows * pitch + (ring_rows >> a.period) * granule)?;
    // Forward, the rows that runs share, with space to keep their address modulo 16.
    let shared_rows = if back { 0 } else { (s.slot - 1) * s.cols * element };
    aligned(16, &[a.kept_bytes])?;
    need(a.kept_bytes >= shared_rows + 16 - word, || format!("{} kept", a.kept_bytes))?;
    let (kept, room) = (teams * (128 + a.kept_bytes), call.workspace.bytes() as u64);
    need(kept <= room, || format!("{kept} bytes kept in {room}"))?;
    aligned(word, &[a.matrix_bytes])?;

    let (matrix, rest) = (offset / a.matrix_bytes, offset % a.matrix_bytes);
    if matrix >= a.batch || rest / element >= s.rows * s.cols {
        return Ok(None);
    }
    let Gathered { to, chunk, column } = gathered(s, back, rest / element)?;
    let chunks = s.last_chunk + 1;
    let taken = (0..runs).any(|r| (chunks * r / runs..chunks * (r + 1) / runs).contains(&chunk));
    let moved = taken && column / block_cols < blocks;
    Ok(moved.then(|| matrix * a.matrix_bytes + to * element + rest % element))
}
