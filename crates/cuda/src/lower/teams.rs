//! Gather pass of aligned slots by teams of thread blocks (`kernels/slot_gather.cu`). A team gathers runs of consecutive
//! chunks; each of its blocks has a strip of columns.

use turntile_perm::AlignedSlots;
use turntile_plan::Direction;

use crate::launch::DeviceLimits;
use crate::strategy::Strategy;

/// Threads per block.
pub const THREADS: usize = 1024;
/// Bytes from one team's counter in the workspace to the next.
const COUNT_BYTES: usize = 128;
/// Minimum bytes of a strip's row that is moved 16 bytes at a time. Shorter rows lose too much shared memory to alignment.
const VECTOR_ROW_BYTES: usize = 128;
/// Bytes of shared memory for the barriers between the warps of a thread block.
const SIGNAL_BYTES: usize = 192;

/// Layout of rows in shared memory: `pitch` bytes apart, and `granule` more after every `2^period` rows. A row has the same
/// offset within a granule as in global memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowLayout {
    /// Bytes per access.
    pub granule: usize,
    /// Bytes from row to row.
    pub pitch: usize,
    /// Base-2 logarithm of the rows in a period.
    pub period: u32,
}

/// Period longer than any ring: every row number, shifted by it, is 0.
const NO_PERIOD: u32 = 31;

impl RowLayout {
    /// Creates the layout for `bytes` bytes of every row of `row_bytes` bytes. Lanes read down a column, 4 bytes each, with
    /// few bank conflicts: none if their rows have different offsets modulo 16 or granules are banks.
    fn new(row_bytes: usize, bytes: usize, word: usize) -> Self {
        // Rows per lane, and rows until offsets within a granule repeat.
        let pack = (4 / word).max(1);
        let (granule, repeat) = match word {
            16 => (16, 1),
            _ if bytes >= VECTOR_ROW_BYTES => (16, 16 >> row_bytes.trailing_zeros().min(4)),
            _ => (word.max(4), 1),
        };
        let granules = (bytes + granule - word).div_ceil(granule);
        match repeat.max(pack) {
            1 => RowLayout { granule, pitch: (granules | 1) * granule, period: NO_PERIOD },
            rows => RowLayout { granule, pitch: granules * granule, period: rows.ilog2() },
        }
    }

    /// Returns the number of rows that divides a ring: a period.
    fn round(&self) -> usize {
        if self.period == NO_PERIOD { 1 } else { 1 << self.period }
    }
}

/// Teams of thread blocks, with the columns and shared memory of each block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Teams {
    /// Number of teams.
    pub count: usize,
    /// Thread blocks per team.
    pub blocks: usize,
    /// Runs per matrix, each for one team.
    pub runs: usize,
    /// Columns of a strip.
    pub cols: usize,
    /// Chunks in shared memory.
    pub depth: usize,
    /// Rows in shared memory: those of the chunks and the rows after them.
    pub ring_rows: usize,
    /// Layout of the rows.
    pub layout: RowLayout,
}

impl Teams {
    /// Creates at most `teams` teams of `blocks` thread blocks for `batch` matrices, with elements of `elem_bytes` bytes and
    /// words of `word` bytes. Returns `None` if one chunk exceeds `group_bytes` bytes of shared memory.
    pub fn new(
        slots: &AlignedSlots,
        batch: usize,
        (elem_bytes, word): (usize, usize),
        (teams, blocks): (usize, usize),
        group_bytes: usize,
    ) -> Option<Teams> {
        let runs = (teams / batch.max(1)).clamp(1, slots.chunks());
        let teams = if teams > batch { runs * batch } else { teams };
        let cols = slots.cols().div_ceil(blocks);
        let layout = RowLayout::new(slots.cols() * elem_bytes, cols * elem_bytes, word);
        DEPTHS
            .map(|depth| {
                // The last chunk may be longer; if `depth` exceeds 1, it takes the space of two.
                let rows = (depth * slots.chunk()).max(slots.longest_chunk());
                let ring_rows = (rows + slots.slot() - 1).next_multiple_of(layout.round());
                Teams { count: teams, blocks, runs, cols, depth, ring_rows, layout }
            })
            .into_iter()
            .find(|these| these.on_chip_bytes() + SIGNAL_BYTES <= group_bytes)
    }

    /// Returns the bytes of shared memory of a thread block: the table of its columns and the ring.
    pub fn on_chip_bytes(&self) -> usize {
        let RowLayout { granule, pitch, period } = self.layout;
        let table = (4 * (self.cols + 1)).next_multiple_of(16);
        table + self.ring_rows * pitch + (self.ring_rows >> period) * granule
    }

    /// Returns the number of warps of a thread block that read `slots`. One warp waits, and the rest of the 32 write. Single
    /// words take longer than whole rows.
    ///
    /// Percent of a copy on an H200 with 8, 12, 16 and 20 reading warps, backward also with 22, 24 and 26. Shapes, with rows
    /// per chunk: 16381x20011 floats (64); 40009x10007 floats (128, 16); 16381x20011 floats (128, two chunks on chip);
    /// 20011x20011 words of 2 bytes (128); 40009x20011 of 1 byte (256); 40009x10007 floats (8: lanes are idle); 12 bytes.
    ///
    /// | | forward | backward |
    /// |---|---|---|
    /// | floats, 64 | 68 80 84 82 | 70 75 73 71 69 60 49 |
    /// | floats, 128 | 72 81 77 76 | 72 75 68 66 65 54 45 |
    /// | floats, 16 | 74 84 84 77 | 61 68 70 72 70 66 55 |
    /// | two on chip | 79 70 71 73 | 74 74 74 70 66 60 51 |
    /// | 2 bytes | 61 71 68 64 | 24 31 37 44 48 50 55 |
    /// | 1 byte | 48 55 54 52 | 21 27 32 38 45 39 29 |
    /// | floats, 8 | 10 10 8 6 | 6 9 11 12 12 13 12 |
    /// | 12 bytes | 62 59 49 40 | 42 54 62 66 67 67 64 |
    pub fn readers(
        &self,
        slots: &AlignedSlots,
        (elem_bytes, word): (usize, usize),
        direction: Direction,
    ) -> usize {
        let column_bytes = slots.chunk() * elem_bytes;
        let slow = elem_bytes != word || !fills_warps(slots, word);
        match direction {
            Direction::Forward if slow || self.depth <= 2 => 8,
            Direction::Forward if slots.chunk() <= 64 => 16,
            Direction::Forward => 12,
            Direction::Backward if word < 4 && column_bytes < 256 => 26,
            Direction::Backward if word < 4 => 22,
            Direction::Backward if slow || column_bytes <= 128 => 20,
            Direction::Backward => 12,
        }
    }

    /// Returns the bytes of workspace per run: forward, the `slot - 1` rows after the previous run, and 16 bytes or more to
    /// keep their address modulo 16; backward, only the latter.
    pub fn run_bytes(slots: &AlignedSlots, elem_bytes: usize, direction: Direction) -> usize {
        let rows = match direction {
            Direction::Forward => slots.slot() - 1,
            Direction::Backward => 0,
        };
        (rows * slots.cols()).saturating_mul(elem_bytes).saturating_add(16).next_multiple_of(16)
    }

    /// Returns the bytes of workspace: for every team, a counter and the saved bytes of a run.
    pub fn kept_bytes(
        &self,
        slots: &AlignedSlots,
        elem_bytes: usize,
        direction: Direction,
    ) -> usize {
        let run = Teams::run_bytes(slots, elem_bytes, direction);
        self.count.saturating_mul(COUNT_BYTES.saturating_add(run))
    }
}

/// Returns `true` if columns of a chunk keep all lanes of a warp busy. Columns of 16 lanes are moved two at a time.
pub fn fills_warps(slots: &AlignedSlots, word: usize) -> bool {
    let lanes = slots.chunk() / (4 / word).max(1);
    lanes == 16 || lanes >= 32
}

/// Chunks in shared memory, best first. 100003x5003 floats, forward, ran at 66-74% of a copy with two chunks, at 84% with
/// three and at 88% with four. With one, for the widest matrices, reading and writing alternate.
const DEPTHS: [usize; 4] = [4, 3, 2, 1];

/// Returns strategies that fill the device. The first has the most teams that can hold three chunks (two or one, if a team of
/// all blocks cannot). Each other has half the teams of the one before: it saves fewer rows and has narrower strips.
pub fn strategies(
    slots: &AlignedSlots,
    batch: usize,
    elem_bytes: usize,
    word: usize,
    limits: &DeviceLimits,
) -> Vec<Strategy> {
    let with = |teams: usize, blocks: usize| {
        Teams::new(slots, batch, (elem_bytes, word), (teams, blocks), limits.shared_bytes)
    };
    // Blocks with narrower strips hold more chunks.
    let least = |depth: usize| {
        let holds = |&blocks: &usize| with(1, blocks).is_some_and(|s| s.depth >= depth);
        let fewer = partition_point(limits.units, |blocks| !holds(&blocks));
        Some(fewer + 1).filter(|&blocks| blocks <= limits.units)
    };
    let Some(least) = [3, 2, 1].into_iter().find_map(least) else {
        return Vec::new();
    };
    let most = (limits.units / least).min(slots.chunks().saturating_mul(batch)).max(1);
    std::iter::successors(Some(most), |teams| Some(teams / 2).filter(|&teams| teams > 0))
        .filter_map(|teams| {
            // At least one column per thread block.
            let blocks = (limits.units / teams).min(slots.cols());
            let these = with(teams, blocks)?;
            Some(Strategy::Teams { groups: these.count * these.blocks, blocks })
        })
        .collect()
}

/// Returns the number of values in `1..=most` that precede the first for which `before` is `false`.
fn partition_point(most: usize, before: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, most);
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if before(middle) { low = middle } else { high = middle - 1 }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the teams of all strategies.
    fn all(slots: &AlignedSlots, batch: usize, elem_bytes: usize) -> Vec<Teams> {
        let word = (elem_bytes & elem_bytes.wrapping_neg()).min(16);
        let of = |strategy| match strategy {
            Strategy::Teams { groups, blocks } => {
                let teams = (groups / blocks, blocks);
                let have = DeviceLimits::H200.shared_bytes;
                Teams::new(slots, batch, (elem_bytes, word), teams, have).unwrap()
            }
            other => panic!("{other}"),
        };
        strategies(slots, batch, elem_bytes, word, &DeviceLimits::H200)
            .into_iter()
            .map(of)
            .collect()
    }

    #[test]
    fn ways_fit_the_device() {
        let limits = DeviceLimits::H200;
        for (rows, cols) in [(16381, 20011), (30011, 30000), (7919, 3001), (400_009, 61), (500, 3)]
        {
            for (elem_bytes, batch) in [(1, 1), (2, 7), (4, 1), (12, 500), (16, 3)] {
                for (slot, chunk) in [(2, 2), (16, 32), (64, 64), (64, 128)] {
                    let slots = AlignedSlots::new(rows, cols, slot, chunk).unwrap();
                    let found = all(&slots, batch, elem_bytes);
                    assert!(!found.is_empty() || elem_bytes * chunk >= 512, "{slots:?}");
                    for these in found {
                        assert!(these.count * these.blocks <= limits.units);
                        assert!(these.on_chip_bytes() + SIGNAL_BYTES <= limits.shared_bytes);
                        assert!(these.cols * these.blocks >= cols);
                        assert!(these.count == 1 || these.count.is_multiple_of(these.runs));
                        nothing_is_overwritten(&slots, &these);
                    }
                }
            }
        }
    }

    /// Checks that chunks not yet written and the chunk that is read fit the ring. Before they read a chunk, the kernel's
    /// readers wait for the chunk `depth` before it; if it is a longer last chunk, also for the next.
    fn nothing_is_overwritten(slots: &AlignedSlots, these: &Teams) {
        let (depth, chunks) = (these.depth, slots.chunks());
        assert!(these.ring_rows.is_multiple_of(these.layout.round()));
        for n in (0..chunks.min(2 * depth)).chain(chunks.saturating_sub(3)..chunks) {
            let (first, rows) = slots.chunk_rows(n);
            let longer = rows > slots.chunk() && depth > 1 && n + 1 >= depth;
            let oldest = (n + 1 + usize::from(longer)).saturating_sub(depth);
            let end = first + rows + slots.slot() - 1;
            assert!(end - oldest * slots.chunk() <= these.ring_rows, "{slots:?} {these:?} {n}");
        }
    }

    #[test]
    fn the_widest_hold_one_chunk() {
        let limits = DeviceLimits::H200;
        for (rows, cols, slot, chunk, elem_bytes, depth) in [
            (158_017, 158_003, 16, 16, 4, 1),
            (158_017, 158_003, 8, 16, 4, 2),
            (100_003, 90_001, 32, 32, 4, 1),
            (100_003, 90_001, 16, 32, 4, 2),
            // The last chunk has 47 rows, 19 and 47.
            (32 * 3000 + 15, 90_001, 16, 32, 4, 2),
            (16 * 9000 + 3, 158_003, 16, 16, 4, 1),
            (47, 60_000, 16, 32, 8, 1),
            (100_003, 45_007, 16, 16, 16, 1),
            (100_003, 60_007, 16, 16, 12, 1),
            (400_009, 190_009, 64, 64, 1, 1),
        ] {
            let slots = AlignedSlots::new(rows, cols, slot, chunk).unwrap();
            let found = all(&slots, 1, elem_bytes);
            let [these] = found[..] else { panic!("{slots:?}: {found:?}") };
            assert_eq!((these.depth, these.count), (depth, 1), "{slots:?}");
            assert!(these.on_chip_bytes() + SIGNAL_BYTES <= limits.shared_bytes);
            nothing_is_overwritten(&slots, &these);
        }
        let slots = AlignedSlots::new(400_009, 400_009, 16, 16).unwrap();
        assert!(all(&slots, 1, 4).is_empty(), "one chunk does not fit");
    }

    #[test]
    fn columns_meet_few_banks_twice() {
        // Lanes of a warp read 4 bytes each of a column. If rows have an odd number of words, no two use one bank.
        for (word, cols, most) in [
            (4, 601, 1),
            (4, 602, 2),
            (4, 604, 4),
            (2, 601, 1),
            (2, 608, 4),
            (1, 601, 1),
            (1, 608, 4),
        ] {
            let layout = RowLayout::new(cols * word, cols * word, word);
            let bank = |lane: usize| {
                let r = lane * (4 / word);
                let row = r * layout.pitch + (r >> layout.period) * layout.granule;
                (row + r * cols * word % 16) / 4 % 32
            };
            let mut turns = [0; 32];
            (0..32).for_each(|lane| turns[bank(lane)] += 1);
            assert_eq!(turns.into_iter().max(), Some(most), "{cols} words of {word}: {layout:?}");
        }
    }
}
