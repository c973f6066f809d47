//! Rows that slide, where they lie, from one pitch to another: apart when they are padded, together when they are
//! unpadded (thesis section 4.1.1), or between two leading dimensions.
//!
//! Rows that slide up in memory go last to first, rows that slide down first to last. What lies between rows does not
//! matter and is not touched. Three ways to do it with many workers, all in equations here:
//!
//! - *rounds* (the thesis's): as many rows at a time as lie wholly in front of the places that they go to, by
//!   equation 4.1; when that is fewer than is worth a round, row after row;
//! - *shares*: a run of rows for each worker, which moves them one by one; the first few, whose other places are in
//!   front of the share's, are set aside meanwhile;
//! - *blocks* (data sliding): every block is read before it is written, and written as soon as the blocks have been
//!   read that lie where it goes.

use std::ops::Range;

use crate::leading::PitchedRows;

/// Rows of at least one element each, before and after they slide.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RowSlide {
    from: PitchedRows,
    to: PitchedRows,
}

/// Rows that move one after the other or all at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlideRound {
    /// The rows.
    pub rows: Range<usize>,
    /// Whether none of them lies where another goes. If not, they move one by one: last to first when they slide up,
    /// else first to last.
    pub together: bool,
}

/// Items `0..items` cut into `parts` runs of nearly equal length, one where `parts` is 0: the one of `part`.
pub fn share(items: usize, parts: usize, part: usize) -> Range<usize> {
    let parts = parts.max(1);
    let (each, more) = (items / parts, items % parts);
    let start = part * each + part.min(more);
    start..start + each + usize::from(part < more)
}

impl RowSlide {
    /// `rows` rows of `cols` elements, from a pitch to another. `None` where a pitch is less than `cols`, where rows
    /// are empty, and where they cannot be counted with their gaps.
    pub fn new(rows: usize, cols: usize, from: usize, to: usize) -> Option<Self> {
        let (from, to) = (PitchedRows::new(rows, cols, from)?, PitchedRows::new(rows, cols, to)?);
        (cols > 0).then_some(RowSlide { from, to })
    }

    /// As many elements in other rows, in their order; `None` where there are none. Where rows are not
    /// [alike](Self::is_alike), no rounds, shares or blocks move them, but [`run_by_run`](Self::run_by_run); the methods
    /// that schedule those panic.
    pub fn between(from: PitchedRows, to: PitchedRows) -> Option<Self> {
        (from.len() == to.len() && !from.is_empty()).then_some(RowSlide { from, to })
    }

    /// Whether rows before are rows after: as many, and as long.
    pub fn is_alike(&self) -> bool {
        (self.from.rows(), self.from.cols()) == (self.to.rows(), self.to.cols())
    }

    /// Rows that lie together, moved to where `rows` says; `None` where they are empty.
    pub fn apart(rows: PitchedRows) -> Option<Self> {
        Self::new(rows.rows(), rows.cols(), rows.cols(), rows.pitch())
    }

    /// Rows moved together; `None` where they are empty.
    pub fn together(rows: PitchedRows) -> Option<Self> {
        Self::apart(rows).map(|slide| slide.inverse())
    }

    /// The rows before.
    pub fn from(&self) -> PitchedRows {
        self.from
    }

    /// The rows after.
    pub fn to(&self) -> PitchedRows {
        self.to
    }

    /// Rows.
    pub fn rows(&self) -> usize {
        self.from.rows()
    }

    /// Elements of a row.
    pub fn cols(&self) -> usize {
        self.from.cols()
    }

    /// The same rows in units of which an element has `bytes`; `None` where they cannot be counted.
    pub fn scaled(&self, bytes: usize) -> Option<Self> {
        let (from, to) = (self.from.scaled(bytes)?, self.to.scaled(bytes)?);
        Some(RowSlide { from, to })
    }

    /// The slide that undoes it.
    #[must_use]
    pub fn inverse(&self) -> Self {
        RowSlide { from: self.to, to: self.from }
    }

    /// Elements that slide.
    pub fn len(&self) -> usize {
        self.from.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows() == 0
    }

    /// Elements from the first one on that hold the rows before and after.
    pub fn span(&self) -> usize {
        self.from.span().max(self.to.span())
    }

    /// Whether rows slide up in memory: their pitch grows.
    pub fn is_up(&self) -> bool {
        self.to.pitch() > self.from.pitch()
    }

    /// Whether nothing moves.
    pub fn is_identity(&self) -> bool {
        self.from == self.to || (self.from.is_dense() && self.to.is_dense())
    }

    /// Where what lies at `offset` goes; what is in no row stays.
    #[inline]
    pub fn dest(&self, offset: usize) -> usize {
        self.from.index(offset).map_or(offset, |k| self.to.offset(k))
    }

    /// The lesser and the greater pitch of rows that are scheduled.
    ///
    /// # Panics
    /// When rows are not alike: no schedule of whole rows moves them.
    fn pitches(&self) -> [usize; 2] {
        assert!(self.is_alike(), "rows of {:?} and {:?} differ", self.from, self.to);
        let (from, to) = (self.from.pitch(), self.to.pitch());
        [from.min(to), from.max(to)]
    }

    /// Rows that can slide at a time when `moved` have been: when they slide up, from the end.
    ///
    /// Equation 4.1 of the thesis, `((TotalRows − RowsMoved) · C) / (RowSize + C)`, is the same of rows that lie
    /// together and are padded by `C`.
    ///
    /// # Panics
    /// When rows are not [alike](Self::is_alike).
    pub fn movable(&self, moved: usize) -> usize {
        let (cols, [low, high]) = (self.cols(), self.pitches());
        let (from, to) = if self.is_up() { (low, high) } else { (high, low) };
        let left = self.rows().saturating_sub(moved);
        if left == 0 || from == to {
            0
        } else if self.is_up() {
            // Those that go behind the end of the last.
            left - ((left - 1) * from + cols).div_ceil(to).min(left)
        } else if moved == 0 {
            0
        } else {
            // Those whose places end before the first.
            ((moved * from - cols) / to + 1 - moved).min(left)
        }
    }

    /// Rounds in which rows slide: at least `least` rows at a time while, or once, there is room; the rest one by one.
    ///
    /// # Panics
    /// When rows are not [alike](Self::is_alike).
    pub fn rounds(&self, least: usize) -> impl Iterator<Item = SlideRound> + use<> {
        let (slide, least, mut moved) = (*self, least.clamp(1, self.rows().max(1)), 0);
        std::iter::from_fn(move || {
            let (left, movable) = (slide.rows() - moved, slide.movable(moved));
            // The last rows that slide down may be fewer: they lie in front of nothing.
            let together = movable > 0 && movable >= least.min(left);
            let count = if together { movable } else { slide.alone(moved, least) };
            let start = if slide.is_up() { left - count } else { moved };
            moved += count;
            (count > 0).then_some(SlideRound { rows: start..start + count, together })
        })
    }

    /// Rows that slide one by one before `least` can at a time: upwards all that are left.
    fn alone(&self, moved: usize, least: usize) -> usize {
        let (left, [low, high]) = (self.rows() - moved, self.pitches());
        if self.is_up() || low == high {
            return left;
        }
        let enough = ((least - 1) * low + self.cols()) / (high - low) + 1;
        enough.saturating_sub(moved).clamp(left.min(1), left)
    }

    /// The rows of share `part` of `parts`, as many in each but for one.
    pub fn share(&self, parts: usize, part: usize) -> Range<usize> {
        share(self.rows(), parts, part)
    }

    /// How many rows of a share have one of their places in front of the share's first place at the greater pitch: all
    /// the others are, before and after, between the ends of the share at that pitch.
    ///
    /// # Panics
    /// When rows are not [alike](Self::is_alike).
    pub fn head(&self, share: &Range<usize>) -> usize {
        let [low, high] = self.pitches();
        (share.start * (high - low)).div_ceil(low).min(share.len())
    }

    /// Elements of the heads of all shares.
    ///
    /// # Panics
    /// When rows are not [alike](Self::is_alike).
    pub fn heads(&self, parts: usize) -> usize {
        let rows: usize = (0..parts).map(|part| self.head(&self.share(parts, part))).sum();
        rows * self.cols()
    }

    /// Elements, counted row by row, in runs that lie in one row: number, place before, place after and length of each.
    pub fn runs(
        &self,
        elements: Range<usize>,
    ) -> impl Iterator<Item = (usize, usize, usize, usize)> + use<> {
        let (slide, mut at) = (*self, elements.start);
        std::iter::from_fn(move || {
            let run = slide.cols() - at % slide.cols();
            let (k, run) = (at, run.min(elements.end.saturating_sub(at)));
            at += run;
            (run > 0).then(|| (k, slide.from.offset(k), slide.to.offset(k), run))
        })
    }

    /// Tells `move_run` of elements that lie together before and after, `from`, `to` and how many, in an order in which
    /// none goes where another still lies; of rows that are not alike too. A run may overlap its own place.
    ///
    /// Where elements move up, the last goes first; where they move down, the first. What lies in the way of one that
    /// moves up moves up too, since neither side changes the order of elements, so that stretches of one direction can be
    /// done one after the other.
    pub fn run_by_run(&self, mut move_run: impl FnMut(usize, usize, usize)) {
        let RowSlide { from, to } = *self;
        let len = from.len();
        let up = |k: usize| to.offset(k) > from.offset(k);
        let mut k = 0;
        while k < len {
            let (start, moves_up) = (k, up(k));
            while k < len && up(k) == moves_up {
                let run = from.run_from(k).min(to.run_from(k));
                if !moves_up && to.offset(k) != from.offset(k) {
                    move_run(from.offset(k), to.offset(k), run);
                }
                k += run;
            }
            let mut end = if moves_up { k } else { start };
            while end > start {
                let run = from.run_before(end).min(to.run_before(end)).min(end - start);
                end -= run;
                move_run(from.offset(end), to.offset(end), run);
            }
        }
    }

    /// Blocks of `block` elements, at least one, the last one's perhaps less.
    pub fn blocks(&self, block: usize) -> usize {
        self.len().div_ceil(block.max(1))
    }

    /// Elements of block `b`, counted row by row.
    pub fn block(&self, block: usize, b: usize) -> Range<usize> {
        b * block..self.len().min((b + 1) * block)
    }

    /// The other blocks that must have been read before block `b` is written: all of them later in memory when rows
    /// slide up, else earlier.
    ///
    /// # Panics
    /// When rows are not [alike](Self::is_alike), or there is no such block.
    pub fn waits(&self, block: usize, b: usize) -> Range<usize> {
        assert!(self.is_alike(), "rows of {:?} and {:?} differ", self.from, self.to);
        let Range { start, end } = self.block(block, b);
        let first = self.from.before(self.to.offset(start)) / block;
        let end = self.from.before(self.to.offset(end - 1) + 1).div_ceil(block);
        let (first, end) = if self.is_up() { (first.max(b + 1), end) } else { (first, end.min(b)) };
        first..end.max(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn small() -> impl Iterator<Item = RowSlide> {
        let sides = (0..11).flat_map(|rows| (1..7).map(move |cols| (rows, cols)));
        sides.flat_map(|(rows, cols)| {
            // From together to apart and back, and between pitches.
            let pitches = move |most| cols..most;
            let between = pitches(2 * cols + 3)
                .flat_map(move |a| pitches(2 * cols + 3).map(move |b| (a, b)))
                .chain([(cols, 3 * cols + 1), (3 * cols + 1, cols)]);
            between.map(move |(from, to)| RowSlide::new(rows, cols, from, to).unwrap())
        })
    }

    #[test]
    fn shares_cover_all_items_once() {
        for items in 0..40 {
            for parts in 1..9 {
                let all: Vec<usize> =
                    (0..parts).flat_map(|part| share(items, parts, part)).collect();
                assert_eq!(all, (0..items).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn extents_are_checked() {
        assert!(RowSlide::new(3, 0, 4, 4).is_none() && RowSlide::new(3, 5, 5, 4).is_none());
        assert!(
            RowSlide::new(3, 5, 4, 5).is_none() && RowSlide::new(usize::MAX, 1, 1, 2).is_none()
        );
        assert!(RowSlide::new(3, 4, 4, 5).unwrap().scaled(usize::MAX / 4).is_none());
        let bytes = RowSlide::new(3, 4, 4, 5).unwrap().scaled(8).unwrap();
        assert_eq!((bytes.len(), bytes.span()), (96, 112));
        let rows = PitchedRows::new(3, 4, 5).unwrap();
        assert_eq!(RowSlide::apart(rows), RowSlide::new(3, 4, 4, 5));
        assert_eq!(RowSlide::together(rows), RowSlide::new(3, 4, 5, 4));
        assert_eq!(RowSlide::apart(PitchedRows::new(3, 0, 5).unwrap()), None);
    }

    #[test]
    fn rows_go_to_their_places() {
        for slide in small() {
            let (cols, from, to) = (slide.cols(), slide.from().pitch(), slide.to().pitch());
            for offset in 0..slide.span() {
                let (row, col) = (offset / from, offset % from);
                let in_row = row < slide.rows() && col < cols;
                let want = if in_row { row * to + col } else { offset };
                assert_eq!(slide.dest(offset), want, "{slide:?}");
                assert!(!in_row || slide.inverse().dest(want) == offset);
            }
            let stays = (0..slide.span()).all(|offset| slide.dest(offset) == offset);
            assert!(!slide.is_identity() || stays, "{slide:?}");
            for (start, end) in [(0, slide.len()), (slide.len() / 3, slide.len() / 2), (1, 1)] {
                let mut next = start;
                for (k, before, after, run) in slide.runs(start..end) {
                    assert_eq!(k, next);
                    assert!((0..run).all(|i| slide.from().offset(k + i) == before + i));
                    assert!((0..run).all(|i| slide.to().offset(k + i) == after + i));
                    next += run;
                }
                assert_eq!(next, end);
            }
        }
    }

    /// Thesis section 4.1.1: rows of 4900 padded to 5000 leave 99 that cannot move two at a time.
    #[test]
    fn equation_4_1_as_the_thesis_has_it() {
        let pad = RowSlide::new(5000, 4900, 4900, 5000).unwrap();
        assert_eq!([0, 4900, 4901].map(|moved| pad.movable(moved)), [100, 2, 1]);
        let rounds: Vec<SlideRound> = pad.rounds(2).collect();
        assert_eq!(rounds.last(), Some(&SlideRound { rows: 0..99, together: false }));
        for (rows, cols, pitch, moved) in [(5, 3, 6, 0), (300, 7, 11, 40), (1, 1, 1, 0)] {
            let movable = RowSlide::new(rows, cols, cols, pitch).unwrap().movable(moved);
            assert_eq!(movable, (rows - moved) * (pitch - cols) / pitch);
        }
    }

    /// Every row in one round, in order, and those that move together apart from their places; no later round needs
    /// what an earlier one has overwritten.
    fn rounds_are_right(slide: RowSlide, least: usize) {
        let (cols, from, to) = (slide.cols(), slide.from().pitch(), slide.to().pitch());
        let (mut moved, mut alone) = (0, false);
        for SlideRound { rows, together } in slide.rounds(least) {
            assert!(!rows.is_empty());
            if slide.is_up() {
                assert_eq!(rows.end, slide.rows() - moved);
                assert!(!alone, "the rest is the last round");
                alone = !together;
            } else {
                assert_eq!(rows.start, moved);
            }
            moved += rows.len();
            let ends = |pitch| (rows.end - 1) * pitch + cols;
            let apart = ends(from) <= rows.start * to || ends(to) <= rows.start * from;
            assert!(!together || apart, "{slide:?} {least} {rows:?}");
            let last = !slide.is_up() && moved == slide.rows();
            assert!(!together || rows.len() >= least.max(1) || last, "{slide:?} {least} {rows:?}");
        }
        assert_eq!(moved, slide.rows());
    }

    /// Every block read before it is written, the waits obeyed, in any order that they allow: each
    /// block is written as early as it may be, all others as late as they may be read.
    fn waits_are_enough(slide: RowSlide, block: usize) {
        let blocks = slide.blocks(block);
        for b in 0..blocks {
            let waits = slide.waits(block, b);
            let behind = if slide.is_up() { waits.start > b } else { waits.end <= b };
            assert!(waits.is_empty() || behind && waits.end <= blocks);
            for k in slide.block(block, b) {
                let there = slide.from().index(slide.to().offset(k)).map(|k| k / block);
                assert!(
                    there.is_none_or(|q| q == b || waits.contains(&q)),
                    "{slide:?} {block} {b}"
                );
            }
        }
    }

    /// Every row is in one share, and what is no head stays within its share's rows at the greater pitch.
    fn shares_are_right(slide: RowSlide, parts: usize) {
        let (mut rows, mut heads) = (0, 0);
        let [low, high] = slide.pitches();
        for share in (0..parts).map(|part| slide.share(parts, part)) {
            assert_eq!(share.start, rows);
            rows = share.end;
            let head = slide.head(&share);
            let first = share.start + head;
            assert!(first == rows || first * low >= share.start * high);
            assert!(head == 0 || (first - 1) * low < share.start * high);
            heads += head;
        }
        assert_eq!((rows, heads * slide.cols()), (slide.rows(), slide.heads(parts)));
    }

    /// Run by run in one array, as a copy from one to another has it; of rows of other lengths too.
    #[test]
    fn run_by_run_loses_none() {
        let offsets = |rows: PitchedRows| (0..rows.len()).map(move |k| rows.offset(k));
        let mut both_ways = 0;
        let sides = (1..6).flat_map(|rows| (1..6).map(move |cols| (rows, cols)));
        for (rows, cols) in sides {
            for (a, b) in (0..10).flat_map(|a| (0..10).map(move |b| (a, b))) {
                let from = PitchedRows::new(rows, cols, cols + a).unwrap();
                let alike = PitchedRows::new(rows, cols, cols + b).unwrap();
                for to in [alike, PitchedRows::new(cols, rows, rows + b).unwrap()] {
                    let slide = RowSlide::between(from, to).unwrap();
                    assert_eq!(slide.is_alike(), to == alike || rows == cols);
                    let mut data: Vec<usize> = (1000..1000 + slide.span()).collect();
                    let mut want = data.clone();
                    offsets(from).zip(offsets(to)).for_each(|(from, to)| want[to] = 1000 + from);
                    let moved = || offsets(from).zip(offsets(to));
                    both_ways += usize::from(
                        moved().any(|(from, to)| to < from) && moved().any(|(from, to)| to > from),
                    );
                    slide.run_by_run(|from, to, run| data.copy_within(from..from + run, to));
                    assert!(data == want, "{slide:?}");
                }
            }
        }
        assert!(both_ways > 100);
        let [none, two] = [0, 2].map(|rows| PitchedRows::new(rows, 3, 3).unwrap());
        assert_eq!((RowSlide::between(none, none), RowSlide::between(none, two)), (None, None));
    }

    #[test]
    fn all_small_slides() {
        for slide in small() {
            (1..5).for_each(|parts| shares_are_right(slide, parts));
            (0..4).chain([usize::MAX]).for_each(|least| rounds_are_right(slide, least));
            (1..=slide.len().max(1)).for_each(|block| waits_are_enough(slide, block));
        }
    }

    proptest! {
        #[test]
        fn larger_slides(
            rows in 1usize..5000, cols in 1usize..5000, a in 0usize..5000, b in 0usize..5000,
            least in 1usize..50,
        ) {
            for (a, b) in [(0, b), (a, 0), (a, b)] {
                let slide = RowSlide::new(rows, cols, cols + a, cols + b).unwrap();
                rounds_are_right(slide, least);
                shares_are_right(slide, least);
            }
        }

        #[test]
        fn larger_blocks(
            rows in 1usize..60, cols in 1usize..60, a in 0usize..60, b in 0usize..60,
            block in 1usize..500,
        ) {
            for (a, b) in [(0, b), (a, 0), (a, b)] {
                waits_are_enough(RowSlide::new(rows, cols, cols + a, cols + b).unwrap(), block);
            }
        }
    }
}
