//! Rows of bytes at a constant stride: their span, and whether two sets of rows share a byte.

use turntile_simd::BlockShape;

/// Returns the product, or panics on overflow.
#[inline(always)]
pub fn count(a: usize, b: usize) -> usize {
    a.checked_mul(b).expect("extents overflow")
}

/// Rows of `bytes` bytes, `pitch` bytes apart.
#[derive(Clone, Copy, Debug)]
pub struct Strided {
    /// Byte offset of the first row.
    pub at: usize,
    /// Number of rows.
    pub rows: usize,
    /// Bytes per row.
    pub bytes: usize,
    /// Bytes from one row to the next.
    pub pitch: usize,
}

impl Strided {
    /// Returns the rows of a block's source at offset `from` and of its transposed destination at
    /// `to`.
    #[inline(always)]
    pub fn of(from: usize, to: usize, block: BlockShape, elem_bytes: usize) -> (Strided, Strided) {
        let BlockShape { rows, cols, from_pitch, to_pitch } = block;
        let bytes = |elements: usize| count(elements, elem_bytes);
        let source = Strided { at: from, rows, bytes: bytes(cols), pitch: bytes(from_pitch) };
        (source, Strided { at: to, rows: cols, bytes: bytes(rows), pitch: bytes(to_pitch) })
    }

    /// Returns the bytes from the start of the first row to the end of the last.
    #[inline(always)]
    pub fn len(&self) -> usize {
        if self.rows == 0 {
            return 0;
        }
        count(self.rows - 1, self.pitch).checked_add(self.bytes).expect("extents overflow")
    }

    /// Returns `true` if `self` and `other` share no byte. Interleaved rows of different pitches
    /// count as overlapping.
    #[inline(always)]
    pub fn disjoint(&self, other: &Strided) -> bool {
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
        // Row 0 of the second starts `right` bytes after the start of row `down` of the first. The
        // next row of the first may start inside it.
        let (down, right) = (between / pitch, between % pitch);
        let clear_of = |row: usize, clear: bool| row >= self.rows || clear;
        clear_of(down, right >= self.bytes) && clear_of(down + 1, right + second.bytes <= pitch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_disjoint_when_they_share_no_byte() {
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
        let mut seen = [0; 2];
        for a in some(30) {
            for b in (0..60).flat_map(some) {
                let disjoint = bytes(&a).iter().all(|at| !bytes(&b).contains(at));
                assert_eq!(a.disjoint(&b), disjoint, "{a:?} {b:?}");
                seen[usize::from(disjoint)] += 1;
            }
        }
        assert!(seen[0] > 1000 && seen[1] > 1000);
        let (a, b) = (
            Strided { at: 0, rows: 3, bytes: 2, pitch: 7 },
            Strided { at: 3, rows: 3, bytes: 2, pitch: 8 },
        );
        assert!(!a.disjoint(&b), "interleaved rows of different pitches count as overlapping");
    }
}
