//! `axes_tile.cuh`: a block reads rows of its tile, and writes its columns.

use turntile_cuda::args::{AxesTileArgs, TeamAxesArgs, TileAxis, TileMap};
use turntile_cuda::sync::BlockSync;

use super::device::div32;
use super::wide::in_teams;
use super::{Answer, Launch, Moved, exactly, need, on_chip, threads};

const GRANULE: u64 = 16;

/// Returns the digits of `number`, with the `extent` of each axis as radix. The first axis is the
/// fastest, as in the kernel's tables.
fn digits(axes: &[&TileAxis], mut number: u64) -> Vec<u64> {
    let digit = |axis: &&TileAxis| {
        let digit = number % u64::from(axis.extent);
        number /= u64::from(axis.extent);
        digit
    };
    axes.iter().map(digit).collect()
}

fn number(axes: &[&TileAxis], digits: &[u64]) -> u64 {
    axes.iter().zip(digits).rev().fold(0, |all, (axis, digit)| all * u64::from(axis.extent) + digit)
}

fn sum(axes: &[&TileAxis], digits: &[u64], each: impl Fn(&TileAxis) -> u64) -> u64 {
    axes.iter().zip(digits).map(|(axis, digit)| digit * each(axis)).sum()
}

/// Returns the block of the tile at index `tiles` along the axes. Groups follow one another; tiles
/// within a group are numbered axis by axis.
fn number_of(axes: &[&TileAxis], tiles: &[u64], group: u64) -> u64 {
    let (mut which, mut within) = (0, 0);
    for (axis, at) in axes.iter().zip(tiles).rev() {
        let [size, groups] = [axis.group, axis.groups].map(|by| u64::from(by.divisor));
        which = which * groups + at / size;
        within = within * size + at % size;
    }
    which * group + within
}

/// Tile of a byte, and the byte's offset in the result.
pub struct Place {
    pub tile: u64,
    pub to: u64,
}

/// Returns where the tiles of `map` move the byte at `offset` of an array that is aligned to
/// `alignment` bytes. Offsets in shared memory have `place_bytes` bytes.
pub fn place(
    call: &Launch,
    map: &TileMap,
    (alignment, place_bytes): (u64, u64),
    offset: u64,
) -> Answer<Option<Place>> {
    let word = call.word as u64;
    let axes = map.axes();
    let all: Vec<&TileAxis> = axes.iter().collect();
    // The byte's index along each axis, by descending stride in the source.
    let mut by_source: Vec<usize> = (0..axes.len()).collect();
    by_source.sort_by_key(|&k| std::cmp::Reverse(axes[k].from));
    let (mut rest, mut whole) = (offset, vec![0; axes.len()]);
    for k in by_source {
        whole[k] = rest / axes[k].from;
        rest %= axes[k].from;
    }
    let tiles: Vec<u64> =
        all.iter().zip(&whole).map(|(axis, digit)| digit / u64::from(axis.extent)).collect();
    let low: Vec<u64> =
        all.iter().zip(&whole).map(|(axis, digit)| digit % u64::from(axis.extent)).collect();
    let limit = |k: usize| {
        let axis = &axes[k];
        let last = tiles[k] + 1 == u64::from(axis.tiles);
        u64::from(if last { axis.last } else { axis.extent })
    };
    let beyond = |k: usize| tiles[k] >= u64::from(axes[k].tiles) || low[k] >= limit(k);
    if (0..axes.len()).any(beyond) {
        return Ok(None);
    }
    let tile = number_of(&all, &tiles, u64::from(map.group.divisor));
    // The kernel must find the same tile.
    let left = u32::try_from(tile).expect("few blocks");
    let mut which = div32(&map.group, left);
    let mut within = left - which * map.group.divisor;
    for (axis, &at) in all.iter().zip(&tiles) {
        let (groups, others) = (div32(&axis.groups, which), div32(&axis.group, within));
        let group = (which - groups * axis.groups.divisor) * axis.group.divisor;
        let found = group + within - others * axis.group.divisor;
        need(u64::from(found) == at, || format!("tile {tile}"))?;
        (which, within) = (groups, others);
    }
    let base = |stride: fn(&TileAxis) -> u64| {
        sum(&all, &tiles, |axis| u64::from(axis.extent) * stride(axis))
    };

    // The byte's row. The kernel must find it from the row's number.
    let run_axes = &all[..map.run_axes as usize];
    let (row, along) =
        (sum(&all, &low, |axis| axis.rows.into()), sum(&all, &low, |axis| axis.along.into()));
    let beside: Vec<&TileAxis> = run_axes.iter().copied().filter(|axis| axis.rows > 0).collect();
    let row_from = base(|axis| axis.from) + sum(&beside, &digits(&beside, row), |axis| axis.from);
    let line = limit(map.line_axis as usize) * u64::from(map.line_step);
    let right = row < map.rows.into() && along < line && row_from + along + offset % word == offset;
    if !right {
        return Ok(None);
    }
    let skew = |at: u64| if alignment >= GRANULE { at % GRANULE } else { GRANULE - word };
    let (granules, pitch) = (u64::from(map.granules), u64::from(map.pitch));
    need(skew(row_from) + line <= granules * GRANULE && granules * GRANULE <= pitch, || {
        format!("a row of {line} bytes in {granules} granules, {pitch} apart")
    })?;
    need(pitch.is_multiple_of(GRANULE), || format!("rows {pitch} bytes apart"))?;

    // The byte's column, and its word in the column. Both must give its place in shared memory.
    let beside: Vec<usize> =
        (0..map.across_axes).map(|n| (map.column_axes >> (4 * n) & 15) as usize).collect();
    let across: Vec<&TileAxis> = beside.iter().map(|&k| &axes[k]).collect();
    let column = number(&across, &beside.iter().map(|&k| low[k]).collect::<Vec<_>>());
    let w = number(run_axes, &low[..run_axes.len()]);
    let (of_run, of_column) = (digits(run_axes, w), digits(&across, column));
    let found = [
        sum(run_axes, &of_run, |axis| axis.rows.into()),
        sum(run_axes, &of_run, |axis| axis.along.into())
            + sum(&across, &of_column, |axis| axis.along.into()),
    ];
    let run = limit(run_axes.len() - 1) * u64::from(map.run_step);
    if found != [row, along] || column >= map.columns.into() || w >= run || w >= map.run.into() {
        return Ok(None);
    }
    let to = base(|axis| axis.to) + sum(&across, &of_column, |axis| axis.to);
    need(skew(to) + run * word <= u64::from(map.packs) * GRANULE, || {
        format!("a column of {run} words in {} granules", map.packs)
    })?;

    // Shared memory has rows, then tables.
    let pack = GRANULE / word;
    let more = if pack > 1 { u64::from(map.rows - 1) / pack * GRANULE } else { 0 };
    let held = u64::from(map.rows - 1) * pitch + more + pitch;
    let lines = u64::from(map.rows) + u64::from(map.columns);
    let tables = (held + 8 * lines).next_multiple_of(GRANULE);
    let places = u64::from(map.run).next_multiple_of(8) * place_bytes;
    need(u64::from(map.held) == held, || format!("{held} bytes of rows: {map:?}"))?;
    need(held < 1 << (8 * place_bytes), || format!("{held} bytes exceed a place"))?;
    on_chip(call, tables + places + 4 * (u64::from(map.columns) + 9))?;
    need(map.across <= 5, || format!("2^{} columns", map.across))?;
    Ok(Some(Place { tile, to: to + w * word + offset % word }))
}

pub fn permute(call: &Launch, a: &AxesTileArgs, alignment: u64, offset: u64) -> Moved {
    if call.entry == "into_axes" {
        exactly(call, 256)?;
    } else {
        threads(call, 1024)?;
    }
    let tiles = u64::from(a.tiles);
    let (blocks, place_bytes) = match call.entry {
        // Blocks do not wait for other blocks.
        "into_axes" => (tiles, 2),
        "barrier_grid_axes" => (u64::from(call.groups), 4),
        _ => (u64::from(call.cluster), 4),
    };
    let waits = match call.entry {
        "into_axes" => BlockSync::None,
        "barrier_grid_axes" => BlockSync::Grid,
        _ => BlockSync::Cluster,
    };
    need(call.sync() == waits, || format!("{call:?}"))?;
    let instance = offset / a.instance_bytes;
    // The grid moves one instance after another.
    let clusters =
        if waits == BlockSync::Grid { u64::MAX } else { u64::from(call.groups) / blocks };
    if instance >= clusters {
        return Ok(None);
    }
    let instances = (a.bytes, a.instance_bytes);
    in_instance(call, &a.map, (blocks.min(tiles), place_bytes), instances, alignment, offset)
}

/// Teams move one instance after another.
pub fn teams(call: &Launch, a: &TeamAxesArgs, alignment: u64, offset: u64) -> Moved {
    threads(call, 512)?;
    in_teams(call, &a.share, 2)?;
    let all = a.share.instances == a.bytes / a.instance_bytes;
    need(call.sync() == BlockSync::Grid && all, || format!("{call:?}"))?;
    let blocks = u64::from(a.share.blocks.min(a.tiles));
    in_instance(call, &a.map, (blocks, 4), (a.bytes, a.instance_bytes), alignment, offset)
}

/// Returns where the first `tiles` tiles of the byte's instance move it.
fn in_instance(
    call: &Launch,
    map: &TileMap,
    (tiles, place_bytes): (u64, u64),
    (bytes, instance_bytes): (u64, u64),
    alignment: u64,
    offset: u64,
) -> Moved {
    if offset >= bytes {
        return Ok(None);
    }
    // Several instances are aligned only as far as the length of an instance is.
    let known = if bytes > instance_bytes { instance_bytes } else { 0 };
    let alignment = 1 << (alignment | known).trailing_zeros();
    let found = place(call, map, (alignment, place_bytes), offset % instance_bytes)?;
    let read = |place: &Place| place.tile < tiles;
    Ok(found.filter(read).map(|place| offset / instance_bytes * instance_bytes + place.to))
}
