//! `long_runs.cu`: a block reads a piece of every run into shared memory, then writes each to its
//! run's destination.

use turntile_cuda::args::{Divisor32, PieceArgs, RecordPieceArgs};

use super::device::div32;
use super::maps::Map;
use super::retile::RecordTile;
use super::{Answer, Broken, Launch, Moved, aligned, need, on_chip, threads};

const GRANULE: u64 = 16;

/// Returns the number of bytes before the first whole granule of a piece whose address is `to`
/// modulo 16, and the number of whole granules.
fn granules(to: u64, bytes: u64) -> (u64, u64) {
    let head = bytes.min(to.wrapping_neg() % GRANULE);
    (head, (bytes - head) / GRANULE)
}

pub fn pieces(call: &Launch, a: &PieceArgs, alignment: u64, offset: u64) -> Moved {
    assert_eq!(call.entry, "long_runs");
    let sizes = [a.runs, a.piece, a.pitch].map(u64::from);
    let pieces = Pieces { sizes, run_bytes: a.dest.unit_bytes, bytes: a.bytes, number: &a.pieces };
    pieces.moved(call, alignment, offset, |r| Ok([r, a.dest.succ(r)?]))
}

pub fn record_pieces(call: &Launch, a: &RecordPieceArgs, alignment: u64, offset: u64) -> Moved {
    assert_eq!(call.entry, "long_runs_records");
    let [tile, record] = [a.tile.divisor, a.record].map(u64::from);
    need((1..=64).contains(&a.groups), || format!("{} groups", a.groups))?;
    need(u64::from(a.tile_runs.divisor) == tile * record && a.runs == a.tile_runs.divisor, || {
        format!("runs of a tile: {a:?}")
    })?;
    let sizes = [a.runs, a.piece, a.pitch].map(u64::from);
    let pieces = Pieces { sizes, run_bytes: a.run_bytes, bytes: a.bytes, number: &a.pieces };
    // The kernel numbers runs by their positions in a tile.
    let tiles = RecordTile {
        groups: &a.group[..a.groups as usize],
        records: a.tile.divisor,
        tile: &a.tile,
        last: &a.tile,
        tile_words: &a.tile_runs,
        words: a.record,
    };
    let ends = |r: u64| {
        let in_record = u64::from(tiles.record_by_record(r as u32));
        if a.split == 1 { [in_record, r] } else { [r, in_record] }
    };
    let of_source = |from: u64| (0..a.runs.into()).map(ends).find(|ends| ends[0] == from);
    pieces.moved(call, alignment, offset, |r| {
        of_source(r).ok_or_else(|| Broken(format!("no run from {r}: {a:?}")))
    })
}

/// Sizes of a launch: runs of an instance, bytes of a piece, bytes from piece to piece in shared
/// memory; bytes of a run and of the array; pieces of a run.
struct Pieces<'a> {
    sizes: [u64; 3],
    run_bytes: u64,
    bytes: u64,
    number: &'a Divisor32,
}

impl Pieces<'_> {
    /// Returns where the byte at `offset` moves. `ends` returns source and destination of the run
    /// from a source.
    fn moved(
        &self,
        call: &Launch,
        alignment: u64,
        offset: u64,
        ends: impl Fn(u64) -> Answer<[u64; 2]>,
    ) -> Moved {
        threads(call, 512)?;
        let ([runs, piece, pitch], run_bytes) = (self.sizes, self.run_bytes);
        let pieces = u64::from(self.number.divisor);
        let what = || format!("{runs} runs of {run_bytes} bytes in pieces of {piece}");
        need(piece.is_power_of_two() && piece >= 64, what)?;
        aligned(GRANULE, &[pitch])?;
        aligned((piece / GRANULE).min(32), &[call.threads.into()])?;
        aligned(runs * run_bytes, &[self.bytes])?;
        need(pieces == run_bytes.div_ceil(piece), what)?;
        on_chip(call, runs * pitch)?;
        let (run, along) = (offset / run_bytes, offset % run_bytes);
        let ((instance, r), (number, k)) =
            ((run / runs, run % runs), (along / piece, along % piece));
        let block = instance * pieces + number;
        if offset >= self.bytes || block >= call.groups.into() {
            return Ok(None);
        }
        let found = u64::from(div32(self.number, block as u32));
        need(found == instance, || format!("block {block} of instance {found}, not {instance}"))?;
        let bytes = piece.min(run_bytes - number * piece);
        let at = |run: u64| (instance * runs + run) * run_bytes + number * piece;
        let [from, dest] = ends(r)?;
        need(from == r && dest < runs, what)?;
        // Rows in shared memory must have room for every address modulo 16.
        for start in (0..GRANULE).step_by(alignment.min(GRANULE) as usize) {
            let before = (start + at(r)) % GRANULE;
            need((before + bytes).next_multiple_of(GRANULE) <= pitch, what)?;
            let (head, whole) = granules((start + at(dest)) % GRANULE, bytes);
            let shifted = (before + head) % GRANULE;
            if whole > 0 && shifted > 0 {
                need(before + head - shifted + (whole + 1) * GRANULE <= pitch, what)?;
            }
        }
        Ok((dest != r).then_some(at(dest) + k))
    }
}

/// Runs all blocks on `memory`, in which the array starts at `start`. An address is an offset into
/// `memory`. Returns how often each byte was written.
///
/// # Panics
/// If a block reads bytes outside the array, or the byte that it writes was not read.
pub fn execute(call: &Launch, a: &PieceArgs, memory: &mut [u8], start: usize) -> Vec<u8> {
    let [runs, piece, pitch] = [a.runs, a.piece, a.pitch].map(|n| n as usize);
    let (run_bytes, end) = (a.dest.unit_bytes as usize, start + a.bytes as usize);
    let mut written = vec![0; memory.len()];
    for block in 0..call.groups {
        let instance = div32(&a.pieces, block);
        let number = (block - instance * a.pieces.divisor) as usize;
        let bytes = piece.min(run_bytes - number * piece);
        let first = start + instance as usize * runs * run_bytes + number * piece;
        let moved: Vec<[usize; 2]> = (0..runs)
            .map(|r| [r, a.dest.succ(r as u64).unwrap() as usize])
            .filter(|[r, dest]| r != dest)
            .collect();
        let mut shared: Vec<Option<u8>> = vec![None; call.shared_bytes as usize];
        for &[r, _] in &moved {
            let from = first + r * run_bytes;
            let before = from % 16;
            for at in (0..before + bytes).step_by(16) {
                let granule = (from + at).wrapping_sub(before);
                let is_whole = granule >= start && granule.saturating_add(16) <= end;
                let (low, high) = (at.max(before), (at + 16).min(before + bytes));
                for k in if is_whole { at..at + 16 } else { low..high } {
                    let address = from + k - before;
                    assert!((start..end).contains(&address), "{address}: {a:?}");
                    shared[r * pitch + k] = Some(memory[address]);
                }
            }
        }
        for &[r, dest] in &moved {
            let from = r * pitch + (first + r * run_bytes) % 16;
            let to = first + dest * run_bytes;
            let (head, whole) = granules(to as u64, bytes as u64);
            let ends = (0..head as usize).chain((head + whole * 16) as usize..bytes);
            let vectors = (0..whole as usize).flat_map(|v| {
                let at = head as usize + v * 16;
                assert_eq!((to + at) % 16, 0, "{a:?}");
                at..at + 16
            });
            for k in ends.chain(vectors) {
                memory[to + k] = shared[from + k].expect("read before it is written");
                written[to + k] += 1;
            }
        }
    }
    written
}
