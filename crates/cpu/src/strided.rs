//! Rows of bytes equally far apart: how long they are, and whether two lots of them share a byte.

use turntile_simd::BlockShape;

/// A product that has to be counted.
#[inline(always)]
pub fn count(a: usize, b: usize) -> usize {
    a.checked_mul(b).expect("extents can be counted")
}

/// Rows of bytes, so far apart.
#[derive(Clone, Copy, Debug)]
pub struct Strided {
    /// Where the first begins.
    pub at: usize,
    /// How many.
    pub rows: usize,
    /// Bytes of each.
    pub bytes: usize,
    /// Bytes from one to the next.
    pub pitch: usize,
}

impl Strided {
    /// Those of a block, before and after it is transposed.
    #[inline(always)]
    pub fn of(from: usize, to: usize, block: BlockShape, elem_bytes: usize) -> (Strided, Strided) {
        let BlockShape { rows, cols, from_pitch, to_pitch } = block;
        let bytes = |elements: usize| count(elements, elem_bytes);
        let source = Strided { at: from, rows, bytes: bytes(cols), pitch: bytes(from_pitch) };
        (source, Strided { at: to, rows: cols, bytes: bytes(rows), pitch: bytes(to_pitch) })
    }

    /// Bytes from the first to the last, both included.
    #[inline(always)]
    pub fn len(&self) -> usize {
        if self.rows == 0 {
            return 0;
        }
        count(self.rows - 1, self.pitch).checked_add(self.bytes).expect("extents can be counted")
    }

    /// Whether they share no byte; of rows that lie between each other, only when they are equally far apart.
    #[inline(always)]
    pub fn apart(&self, other: &Strided) -> bool {
        let (first, second) = if self.at <= other.at { (self, other) } else { (other, self) };
        let between = second.at - first.at;
        between >= first.len() || first.interleaves(second, between)
    }

    #[cold]
    fn interleaves(&self, second: &Strided, between: usize) -> bool {
        let pitch = self.pitch;
        if pitch != second.pitch || pitch == 0 || self.bytes.max(second.bytes) > pitch {
            return false;
        }
        // A row of the second begins `right` bytes after row `down` of the first, whose next row may begin in it.
        let (down, right) = (between / pitch, between % pitch);
        let clear_of = |row: usize, clear: bool| row >= self.rows || clear;
        clear_of(down, right >= self.bytes) && clear_of(down + 1, right + second.bytes <= pitch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_apart_when_they_share_no_byte() {
        let bytes = |r: &Strided| {
            let Strided { at, rows, bytes, pitch } = *r;
            (0..rows).flat_map(|k| at + k * pitch..at + k * pitch + bytes).collect::<Vec<_>>()
        };
        let pitch = 7;
        let some = |at| {
            (1..4).flat_map(move |rows| {
                (1..=pitch).map(move |bytes| Strided { at, rows, bytes, pitch })
            })
        };
        let mut told = [0; 2];
        for a in some(30) {
            for b in (0..60).flat_map(some) {
                let apart = bytes(&a).iter().all(|at| !bytes(&b).contains(at));
                assert_eq!(a.apart(&b), apart, "{a:?} {b:?}");
                told[usize::from(apart)] += 1;
            }
        }
        assert!(told[0] > 1000 && told[1] > 1000);
        let (a, b) = (
            Strided { at: 0, rows: 3, bytes: 2, pitch: 7 },
            Strided { at: 3, rows: 3, bytes: 2, pitch: 8 },
        );
        assert!(!a.apart(&b), "not known of different pitches");
    }
}
