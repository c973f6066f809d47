//! `cube.cu`, `cube_cluster.cu`: rotate three tiles of a cube.

use turntile_cuda::args::CubeArgs;
use turntile_cuda::sync::BlockSync;

use super::tiles::vector;
use super::{Launch, Moved, aligned, exactly, need, on_chip};

/// Returns the representative of the orbit of `place`, and the number of rotations that lead to it.
/// Its first index is the smallest; if two are equal, the second index is also the smallest.
fn standing(place: [u64; 3]) -> ([u64; 3], usize) {
    let rotations = [0, 1, 2].map(|k| ([place[k], place[(k + 1) % 3], place[(k + 2) % 3]], k));
    let least = *place.iter().min().expect("three");
    let first = rotations.into_iter().filter(|([a, ..], _)| *a == least);
    first.max_by_key(|([a, b, _], _)| a == b).expect("one has it")
}

/// Returns the number of the block that moves the tile at `place`.
fn number_of(place: [u64; 3], across: u64, group: u64) -> u64 {
    let ([a, b, c], turned) = standing(place.map(|at| at / group));
    let most = across.div_ceil(group);
    let before: u64 = (0..a).map(|row| (most - row).pow(2)).sum();
    let number = before + (b - a) * (most - a) + (c - a);
    let within = place.map(|at| at % group);
    // In a group on the diagonal, the representative tile of the orbit counts. In other groups, the
    // orbit's tile in the representative group counts.
    let [x, y, z] = if a == b && b == c {
        standing(within).0
    } else {
        [within[turned], within[(turned + 1) % 3], within[(turned + 2) % 3]]
    };
    number * group.pow(3) + (x * group + y) * group + z
}

/// Returns blocks of a cluster, side of a tile, threads, and bytes of shared memory.
fn geometry(call: &Launch) -> (u64, u64, u64, u64) {
    let word = call.word as u64;
    let (blocks, tile) = match (call.sync(), call.cluster, word) {
        (BlockSync::None, 1, 1 | 2) => (1, 32),
        (BlockSync::None, 1, 4 | 8) => (1, 16),
        (BlockSync::None, 1, 16) => (1, 8),
        (BlockSync::Cluster, 16, 1 | 2) => (16, 64),
        (BlockSync::Cluster, 8, 4 | 8) => (8, 32),
        (BlockSync::Cluster, 2, 16) => (2, 16),
        other => panic!("{other:?}"),
    };
    let micro = tile * word / vector(word);
    if blocks == 1 {
        return (1, tile, micro * tile * micro, 0);
    }
    (blocks, tile, if word <= 4 { 256 } else { 512 }, 3 * tile * tile * (tile / blocks) * word)
}

pub fn cube(call: &Launch, a: &CubeArgs, alignment: u64, offset: u64) -> Moved {
    let word = call.word as u64;
    let [side, across, orbits] = [a.side, a.across, a.orbits].map(u64::from);
    let (blocks, tile, threads, held) = geometry(call);
    exactly(call, threads)?;
    on_chip(call, held)?;
    need(u64::from(call.groups).is_multiple_of(blocks), || format!("half a cluster: {call:?}"))?;
    aligned(vector(word), &[alignment, side * word, a.batch_bytes])?;
    need(a.batch_bytes >= side.pow(3) * word, || format!("overlaps: {a:?}"))?;
    need(a.group > 0, || format!("no group: {a:?}"))?;
    need(across * tile >= side, || format!("tiles short: {a:?}"))?;
    let (batch, rest) = (offset / a.batch_bytes, offset % a.batch_bytes);
    let (element, byte) = (rest / word, rest % word);
    let [i, j, k] = [element / side.pow(2), element / side % side, element % side];
    if i >= side {
        return Ok(None);
    }
    // A cluster splits a tile along the axis that is last neither in the source nor in the result.
    let ([x, y, z], cut) = match call.entry {
        entry if entry.contains("_forward") => ([j, k, i], j),
        entry if entry.contains("_back") => ([k, i, j], i),
        other => panic!("{other}"),
    };
    let number = number_of([i, j, k].map(|at| at / tile), across, u64::from(a.group));
    let block = (batch * orbits + number) * blocks + cut % tile / (tile / blocks);
    let read = number < orbits && block < u64::from(call.groups);
    let to = ((x * side + y) * side + z) * word + byte;
    Ok(read.then(|| batch * a.batch_bytes + to))
}
