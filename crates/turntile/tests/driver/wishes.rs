//! Random requests, the destination of each element, and the reasons why a request must be
//! rejected.

use turntile::error::Reason;
use turntile::layout::{LayoutError, RecordConversion, RecordOrder};
use turntile::mode::Dynamic;
use turntile::plan::{Infeasible, PlanError, Problem, ProblemError};
use turntile::{Error, Transpose};

use crate::draw::Draw;
use crate::naive;

/// Maximum bytes that a problem spans if it is run. Larger problems are only planned.
const RUNS: usize = 64 << 20;

/// Requested problem, valid or not.
#[derive(Clone, Debug)]
pub struct Wish {
    pub what: What,
    /// Bytes per element. For records, bytes per word: the greatest common divisor of the sizes of
    /// fields and gaps.
    pub elem_bytes: usize,
    pub batch: usize,
    pub cap: Option<usize>,
    pub alignment: Option<usize>,
    pub out_of_place: bool,
    pub leading: Option<[usize; 2]>,
}

#[derive(Clone, Debug)]
pub enum What {
    Axes { shape: Vec<usize>, axes: Vec<usize> },
    Records(Records),
}

/// Conversion of records between layouts.
#[derive(Clone, Debug)]
pub struct Records {
    pub count: usize,
    /// Bytes per record, if the fields are given by offsets.
    pub bytes: Option<usize>,
    /// Byte offset in the record and bytes of each field.
    pub fields: Vec<(usize, usize)>,
    pub from: RecordOrder,
    pub to: RecordOrder,
}

/// Data of a problem before a run, and expected data after it.
pub struct Moved {
    pub elem_bytes: usize,
    pub before: Vec<u8>,
    pub after: Vec<u8>,
    /// Element offsets at which the data may have any original element after the run.
    pub free: Vec<usize>,
}

impl Wish {
    pub fn draw(draw: &mut Draw) -> Self {
        let (what, elem_bytes) = match draw.below(10) {
            0 | 1 => (What::Records(Records::draw(draw)), 1),
            _ => Self::draw_axes(draw),
        };
        let mut wish = Wish {
            what,
            elem_bytes,
            batch: 1,
            cap: draw.maybe(4, Draw::cap),
            alignment: draw.maybe(10, |draw| {
                if draw.one_in(8) { draw.of(&[0, 3, 24]) } else { 1 << draw.below(10) }
            }),
            out_of_place: draw.one_in(6),
            leading: None,
        };
        if let What::Axes { shape, axes } = &mut wish.what {
            if draw.one_in(6) {
                wish.batch = if draw.one_in(40) { 0 } else { draw.within(2..=9) };
                shape.iter_mut().take(1).for_each(|extent| *extent /= wish.batch.max(1));
            }
            if draw.one_in(5) {
                wish.leading = Some(draw_leading(draw, shape, axes));
                // Rarely combine leading dimensions with options that they exclude.
                let alone = !draw.one_in(10);
                wish.out_of_place &= !alone;
                wish.batch = if alone { 1 } else { wish.batch };
            }
        } else if draw.one_in(20) {
            wish.batch = draw.below(4);
            wish.leading = draw.maybe(2, |draw| [draw.below(50), draw.below(50)]);
        } else {
            wish.out_of_place &= draw.one_in(10);
        }
        wish.elem_bytes = wish.word();
        wish
    }

    fn draw_axes(draw: &mut Draw) -> (What, usize) {
        let (elem_bytes, most) = (draw.itemsize(), draw.most());
        let most = (most * 8 / elem_bytes.max(8)).max(4);
        let (mut shape, axes) = match draw.below(5) {
            0 | 1 => {
                let shape = draw.extents(most);
                let axes = draw.order(shape.len());
                (shape, axes)
            }
            2 => (draw.sides(most).to_vec(), vec![0, 1]),
            _ => (draw.sides(most).to_vec(), vec![1, 0]),
        };
        if draw.one_in(60) {
            let axis = draw.below(shape.len());
            if let Some(extent) = shape.get_mut(axis) {
                *extent = draw.huge_side();
            }
        }
        (What::Axes { shape, axes }, elem_bytes)
    }

    /// Returns the builder of the problem.
    ///
    /// # Errors
    /// Those of [`RecordConversion::by_offsets`].
    pub fn transpose(&self) -> Result<Transpose<Dynamic>, Error> {
        let transpose = match &self.what {
            What::Axes { shape, axes } if *axes == [1, 0] && shape.len() == 2 => {
                Transpose::new::<u8>(shape[0], shape[1]).itemsize(self.elem_bytes)
            }
            What::Axes { shape, axes } => {
                Transpose::permute::<u8>(shape, axes).itemsize(self.elem_bytes)
            }
            What::Records(records) => records.relayout()?.from(records.from).to(records.to),
        };
        let transpose = transpose.dynamic();
        let transpose = if self.batch == 1 { transpose } else { transpose.batch(self.batch) };
        let transpose = self.cap.map_or(transpose.clone(), |cap| transpose.workspace_limit(cap));
        let transpose = self.alignment.map_or(transpose.clone(), |to| transpose.alignment(to));
        let transpose = if self.out_of_place { transpose.out_of_place() } else { transpose };
        Ok(match self.leading {
            Some([lda, ldb]) => transpose.leading(lda, ldb),
            None => transpose,
        })
    }

    /// Returns the problem, made by the constructors of [`Problem`], or by the builder for records.
    ///
    /// # Errors
    /// Those of [`transpose`](Self::transpose), and those of invalid problems.
    pub fn problem(&self) -> Result<Problem, Error> {
        let What::Axes { shape, axes } = &self.what else { return self.transpose()?.problem() };
        if self.batch > 1 && self.leading.is_some() {
            // Without the builder, the batch would be an ordinary axis.
            return self.transpose()?.problem();
        }
        let problem = match (&shape[..], &axes[..]) {
            (&[rows, cols], [1, 0]) if self.batch == 1 => Problem::new(rows, cols, self.elem_bytes),
            (&[rows, cols], [1, 0]) => Problem::with_batch(self.batch, rows, cols, self.elem_bytes),
            _ => {
                let (shape, axes) = self.with_batch();
                Problem::permuted(&shape, &axes, self.elem_bytes)
            }
        }?;
        let problem = self.cap.map_or(problem.clone(), |cap| problem.with_cap(cap));
        let problem = self.alignment.map_or(problem.clone(), |bytes| problem.with_alignment(bytes));
        let problem = if self.out_of_place { problem.out_of_place()? } else { problem };
        match self.leading {
            Some([lda, ldb]) => Ok(problem.with_leading(lda, ldb)?),
            None => Ok(problem),
        }
    }

    /// Returns the shape and axes with the batch as the first axis, if it is not 1.
    fn with_batch(&self) -> (Vec<usize>, Vec<usize>) {
        let What::Axes { shape, axes } = &self.what else { return (Vec::new(), Vec::new()) };
        if self.batch == 1 {
            return (shape.clone(), axes.clone());
        }
        let later = axes.iter().map(|axis| axis.saturating_add(1));
        ([&[self.batch], &shape[..]].concat(), [0].into_iter().chain(later).collect())
    }

    /// Returns `Some(true)` for a matrix transposition, `Some(false)` for untransposed rows, and
    /// `None` if the axes do not support leading dimensions.
    fn is_matrix(&self) -> Option<bool> {
        match &self.what {
            What::Axes { shape, axes } => match (&shape[..], &axes[..]) {
                ([_, _], [1, 0]) | ([1, _, _], [0, 2, 1]) => Some(true),
                ([_, _], [0, 1]) => Some(false),
                _ => None,
            },
            What::Records(_) => None,
        }
    }

    /// Returns the kinds of errors, as named by [`kind`], that planning may return. If there are
    /// none, planning must succeed.
    pub fn reasons(&self) -> Vec<&'static str> {
        let mut reasons = Vec::new();
        let mut because = |reason, holds: bool| reasons.extend(holds.then_some(reason));
        because("zero", self.batch == 0);
        match &self.what {
            What::Records(records) => {
                because("layout", records.is_refused());
                because("too large", records.is_too_large());
                let with = self.batch != 1 || self.leading.is_some() || self.out_of_place;
                because("with records", with);
                return reasons;
            }
            What::Axes { axes, shape } => {
                let mut sorted = axes.clone();
                sorted.sort();
                because("axes", !sorted.iter().copied().eq(0..shape.len()));
                because("axes", shape.len() + usize::from(self.batch != 1) > 64);
                because("no bytes", self.elem_bytes == 0);
                let all = shape.iter().chain([&self.batch, &self.elem_bytes]);
                because("too large", product(all.copied()).is_none());
            }
        }
        if let Some([lda, ldb]) = self.leading {
            because("with leading", self.out_of_place || self.batch > 1);
            // For axes that do not support leading dimensions, any of these errors may come first.
            for reason in ["with leading", "leading too small", "too far apart"] {
                because(reason, self.is_matrix().is_none());
            }
            if let (Some(turns), What::Axes { shape, .. }) = (self.is_matrix(), &self.what) {
                let [rows, cols] = [shape[shape.len() - 2], shape[shape.len() - 1]];
                let (after, wide) = if turns { (cols, rows) } else { (rows, cols) };
                because("leading too small", lda < cols || ldb < wide);
                let far = |rows, pitch| product([rows, pitch, self.elem_bytes]).is_none();
                because("too far apart", far(rows, lda) || far(after, ldb));
            }
        }
        reasons
    }

    /// Returns `true` for a record conversion to the same layout.
    pub fn is_of_records_that_stay(&self) -> bool {
        matches!(&self.what, What::Records(records) if records.from == records.to)
    }

    /// Returns the bytes that a valid problem spans, including gaps.
    pub fn span_bytes(&self) -> usize {
        match (&self.what, self.leading) {
            (What::Records(records), _) => records.count * records.record_bytes(),
            (What::Axes { shape, .. }, Some([lda, ldb])) => {
                let [rows, cols] = [shape[shape.len() - 2], shape[shape.len() - 1]];
                if rows == 0 || cols == 0 {
                    return 0;
                }
                let turns = self.is_matrix() == Some(true);
                let (after, wide) = if turns { (cols, rows) } else { (rows, cols) };
                ((rows - 1) * lda + cols).max((after - 1) * ldb + wide) * self.elem_bytes
            }
            (What::Axes { shape, .. }, None) => {
                shape.iter().product::<usize>() * self.batch * self.elem_bytes
            }
        }
    }

    /// Returns `true` if the problem is small enough to run.
    pub fn is_runnable(&self) -> bool {
        self.span_bytes() <= RUNS
    }

    /// Returns the expected element offset after a run of the element at `offset` of a valid
    /// problem, or `None` in a gap.
    pub fn dest(&self, offset: usize) -> Option<usize> {
        match (&self.what, self.leading) {
            (What::Records(records), _) => {
                Some(records.dest(offset * self.elem_bytes) / self.elem_bytes)
            }
            (What::Axes { shape, .. }, Some([lda, ldb])) => {
                let [rows, cols] = [shape[shape.len() - 2], shape[shape.len() - 1]];
                let (i, j) = (offset / lda.max(1), offset % lda.max(1));
                let turns = self.is_matrix() == Some(true);
                let to = if turns { j * ldb + i } else { i * ldb + j };
                (i < rows && j < cols).then_some(to)
            }
            (What::Axes { .. }, None) => {
                let (shape, axes) = self.with_batch();
                Some(axes_dest(&shape, &axes, offset))
            }
        }
    }

    /// Returns the data of a valid problem before a run, and the expected data after it.
    pub fn moved(&self) -> Moved {
        let (bytes, e) = (self.span_bytes(), self.elem_bytes);
        let before = naive::numbered(bytes / e, e);
        let mut after = before.clone();
        let dest: Vec<Option<usize>> = (0..bytes / e).map(|offset| self.dest(offset)).collect();
        let mut written = vec![false; bytes / e];
        for (from, to) in dest.iter().enumerate() {
            if let Some(to) = *to {
                after[to * e..][..e].copy_from_slice(&before[from * e..][..e]);
                assert!(!std::mem::replace(&mut written[to], true), "the oracle is wrong");
            }
        }
        let stays = self.leading.is_none_or(|[lda, ldb]| lda == ldb);
        let lost = |&at: &usize| dest[at].is_some() && !written[at] && !stays;
        let free = (0..bytes / e).filter(lost).collect();
        Moved { elem_bytes: e, before, after, free }
    }

    fn word(&self) -> usize {
        match &self.what {
            What::Axes { .. } => self.elem_bytes,
            What::Records(records) => {
                let gcd = |a, b| num_integer::gcd(a, b);
                records.parts().iter().map(|part| part.1).fold(0, gcd).max(1)
            }
        }
    }
}

/// Returns random leading dimensions of a matrix, in elements, rarely too small.
fn draw_leading(draw: &mut Draw, shape: &[usize], axes: &[usize]) -> [usize; 2] {
    let &[rows, cols] = shape else { return [draw.below(50), draw.below(50)] };
    let wide = if axes == [1, 0] { rows } else { cols };
    let [a, b] = [(); 2].map(|()| if draw.one_in(3) { 0 } else { draw.within(1..=20) });
    let (lda, ldb) = (cols.saturating_add(a), wide.saturating_add(b));
    match draw.below(30) {
        0 => [lda.saturating_sub(a + 1), ldb],
        1 => [lda, ldb.saturating_sub(b + 1)],
        2 if rows > 0 && cols > 0 => [draw.huge_side(), ldb],
        3..12 => [lda.max(ldb); 2],
        _ => [lda, ldb],
    }
}

/// Returns the product, with factors of 0 counted as 1, or `None` if it exceeds `isize::MAX`.
fn product(factors: impl IntoIterator<Item = usize>) -> Option<usize> {
    let all = factors.into_iter().try_fold(1usize, |all, factor| all.checked_mul(factor.max(1)));
    all.filter(|&all| all <= isize::MAX as usize)
}

/// Returns the offset in the result of the element at source offset `offset`. Axis `i` of the
/// result is axis `axes[i]` of the source.
pub fn axes_dest(shape: &[usize], axes: &[usize], offset: usize) -> usize {
    let (mut index, mut rest) = (vec![0; shape.len()], offset);
    for axis in (0..shape.len()).rev() {
        (index[axis], rest) = (rest % shape[axis], rest / shape[axis]);
    }
    axes.iter().fold(0, |at, &axis| at * shape[axis] + index[axis])
}

impl Records {
    fn draw(draw: &mut Draw) -> Self {
        let count = if draw.one_in(8) { draw.within(0..=9) } else { draw.within(1..=900) };
        let fields = if draw.one_in(40) { draw.within(0..=2) } else { draw.within(1..=7) };
        let width = draw.of(&[1, 1, 1, 2, 4, 4, 8]);
        let alike = draw.one_in(4);
        let first = width * draw.within(1..=5);
        let mut sizes: Vec<usize> =
            (0..fields).map(|_| if alike { first } else { width * draw.within(1..=5) }).collect();
        if draw.one_in(60) {
            sizes.iter_mut().take(1).for_each(|bytes| *bytes = draw.of(&[0, 3000, usize::MAX]));
        }
        let ends = |at: &mut usize, &bytes: &usize| {
            let begins = *at;
            *at = begins.saturating_add(bytes);
            Some((begins, bytes))
        };
        let mut fields: Vec<(usize, usize)> = sizes.iter().scan(0, ends).collect();
        let by_offsets = draw.one_in(3);
        let mut bytes = sizes.iter().fold(0usize, |all, &bytes| all.saturating_add(bytes));
        if by_offsets {
            // Add gaps, permute the fields, and rarely make the record too short.
            let mut gap = 0;
            for field in &mut fields {
                gap += width * draw.of(&[0, 0, 1, 3]);
                field.0 = field.0.saturating_add(gap);
            }
            bytes = bytes.saturating_add(gap + width * draw.below(3));
            if draw.one_in(25) {
                bytes = bytes.saturating_sub(draw.within(1..=20));
            }
            (1..fields.len()).rev().for_each(|at| fields.swap(at, draw.below(at + 1)));
        }
        let layout = |draw: &mut Draw| match draw.below(4) {
            0 => RecordOrder::Aos,
            1 => RecordOrder::Soa,
            2 => RecordOrder::Asta(draw.of(&[1, 2, 8, 32, 64])),
            _ if draw.one_in(20) => RecordOrder::Asta(draw.of(&[0, usize::MAX])),
            _ => RecordOrder::Asta(draw.within(1..=100)),
        };
        let [from, to] = [layout(draw), layout(draw)];
        Records { count, bytes: by_offsets.then_some(bytes), fields, from, to }
    }

    fn relayout(&self) -> Result<RecordConversion, Error> {
        let sizes: Vec<usize> = self.fields.iter().map(|field| field.1).collect();
        Ok(match self.bytes {
            Some(bytes) => RecordConversion::by_offsets(self.count, bytes, &self.fields)?,
            None => RecordConversion::new(self.count, &sizes),
        })
    }

    /// Returns the byte offset in the record and the bytes of each column: of the fields as given,
    /// then of the gaps between and after them.
    fn parts(&self) -> Vec<(usize, usize)> {
        let mut sorted = self.fields.clone();
        sorted.sort();
        let (mut parts, mut at) = (self.fields.clone(), 0);
        for (begins, bytes) in sorted.into_iter().chain([(self.record_bytes(), 0)]) {
            parts.extend((begins > at).then(|| (at, begins - at)));
            at = begins.saturating_add(bytes);
        }
        parts
    }

    fn record_bytes(&self) -> usize {
        let all = self.fields.iter().map(|field| field.1);
        self.bytes.unwrap_or_else(|| all.fold(0, usize::saturating_add))
    }

    fn is_refused(&self) -> bool {
        let mut sorted = self.fields.clone();
        sorted.sort();
        let ends = |field: &(usize, usize)| field.0.checked_add(field.1);
        let overlap = sorted.windows(2).any(|two| ends(&two[0]).is_none_or(|end| end > two[1].0));
        let beyond = sorted.last().and_then(ends).is_none_or(|end| end > self.record_bytes());
        let empty = self.fields.iter().any(|field| field.1 == 0);
        let tiles = [self.from, self.to].contains(&RecordOrder::Asta(0));
        let by_offsets = self.bytes.is_some() && (overlap || beyond);
        self.fields.is_empty() || empty || tiles || by_offsets
    }

    fn is_too_large(&self) -> bool {
        product([self.count, self.record_bytes()]).is_none()
    }

    /// Returns the byte offset in the result of the byte at source offset `offset`.
    fn dest(&self, offset: usize) -> usize {
        let (all, parts) = (self.record_bytes(), self.parts());
        // Number of records per tile of the layout.
        let tile = |layout: RecordOrder| match layout {
            RecordOrder::Aos => 1,
            RecordOrder::Soa => self.count,
            RecordOrder::Asta(tile) => tile.min(self.count),
        };
        let here = tile(self.from);
        let (first, within) = (offset / (here * all) * here, offset % (here * all));
        let len = here.min(self.count - first);
        let (mut found, mut column) = (None, 0);
        for &(place, bytes) in &parts {
            if self.from == RecordOrder::Aos && (place..place + bytes).contains(&within) {
                found = Some((first, place, within - place));
            }
            if self.from != RecordOrder::Aos && (column..column + len * bytes).contains(&within) {
                let at = within - column;
                found = Some((first + at / bytes, place, at % bytes));
            }
            column += len * bytes;
        }
        let (record, place, byte) = found.expect("each byte is of a field or a gap");
        if self.to == RecordOrder::Aos {
            return record * all + place + byte;
        }
        let there = tile(self.to);
        let first = record / there * there;
        let len = there.min(self.count - first);
        let before = parts.iter().take_while(|part| part.0 != place).map(|part| part.1);
        let bytes = parts.iter().find(|part| part.0 == place).expect("its part").1;
        first * all + before.sum::<usize>() * len + (record - first) * bytes + byte
    }
}

/// Returns the name of an error's kind, as used by [`Wish::reasons`].
pub fn kind(error: &Error) -> &'static str {
    match error.reason() {
        Reason::Zero { .. } => "zero",
        Reason::Problem(ProblemError::TooLarge { .. }) => "too large",
        Reason::Layout(LayoutError::TooLarge { .. }) => "too large",
        Reason::Problem(ProblemError::Axes(_) | ProblemError::TooManyAxes { .. }) => "axes",
        Reason::Problem(ProblemError::ZeroSizedElement) => "no bytes",
        Reason::Problem(ProblemError::TooSmall { .. }) => "leading too small",
        Reason::Problem(ProblemError::TooFarApart { .. }) => "too far apart",
        Reason::Problem(ProblemError::Leading { .. }) => "with leading",
        Reason::Layout(LayoutError::With { .. }) => "with records",
        Reason::Layout(_) => "layout",
        Reason::Plan(PlanError::Infeasible { why: Infeasible::UnknownRoute, .. }) => {
            "unknown route"
        }
        Reason::Plan(_) => "no plan",
        Reason::Wisdom(_) => "wisdom",
        Reason::Costs { .. } => "costs",
        Reason::Stored { .. } => "stored",
        Reason::Run(_) => "run",
        Reason::Length { .. } | Reason::Overflow { .. } | Reason::Short { .. } => "length",
        Reason::ElementSize { .. } => "element",
        Reason::Pattern(_) => "pattern",
        _ => "other",
    }
}
