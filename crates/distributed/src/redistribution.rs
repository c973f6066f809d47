//! What is to be done: an array, the axis that is cut before, the order of axes, the axis that is cut after.

use std::borrow::Cow;
use std::ops::Range;

use turntile::Transpose;
use turntile::layout::{RecordConversion, RecordOrder};
use turntile_perm::{AxisPermutation, Partition, PeerSquares};

use crate::block_exchange::{BlockExchange, Message};
use crate::communicator::Communicator;
use crate::error::Error;
use crate::local::{OfBytes, Ways, planned};
use crate::rank_plan::{self, RankPlan};

/// In which order the local stages and the exchange come. `i` is the axis that is cut before, `k` the one after.
///
/// | way | before the exchange | after it |
/// |---|---|---|
/// | axes first | axes permuted, `k` in front | blocks joined to rows, `k` to its place |
/// | panels first | `i` brought in front, rows cut into panels | axes permuted |
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Schedule {
    /// Axes are permuted before.
    AxesFirst,
    /// Axes are permuted after.
    PanelsFirst,
}

/// A row-major array that is cut along an axis over ranks, and is to have its axes in another order and be cut along
/// another: its transposition, if it is a matrix. All ranks say the same.
#[derive(Clone, Debug)]
#[must_use]
pub struct Redistribution {
    shape: Vec<usize>,
    axes: Vec<usize>,
    elem_bytes: usize,
    /// The axis that is cut, and its parts; after as an axis of the result.
    before: (usize, Partition),
    after: (usize, Partition),
    way: Option<Schedule>,
    threads: Option<usize>,
    cap: Option<usize>,
    chunk: Option<usize>,
}

/// Bytes of a message: from 1 MiB on links are as fast as they get, and two such buffers are 2% of 400 MiB.
const CHUNK_BYTES: usize = 4 << 20;

/// What a rank does: local stages before the exchange and after it, each of bytes of its part, and its transfers between.
#[derive(Clone, Debug)]
pub struct Stages<P> {
    /// Bytes of its part before and after.
    pub bytes: [usize; 2],
    /// Local stages before the exchange, and after it.
    pub local: [Vec<(Range<usize>, P)>; 2],
    exchange: Option<(BlockExchange, usize, usize)>,
}

impl<P> Stages<P> {
    /// What is exchanged between them, in this order.
    pub fn transfers(&self) -> impl Iterator<Item = Message> + '_ {
        let some = self.exchange.iter();
        some.flat_map(|(blocks, rank, chunk)| blocks.transfers(*rank, *chunk))
    }

    /// Bytes of a buffer that takes any message, and what slides in pieces.
    pub fn bounce_bytes(&self) -> usize {
        let some = self.exchange.as_ref();
        some.map_or(0, |(blocks, rank, chunk)| blocks.bounce_bytes_with_slides(*rank, *chunk))
    }
}

/// What a rank does, not planned yet: local stages before and after, between them the exchange if there is one.
pub(crate) struct Steps {
    /// Of its part before and after.
    pub bytes: [usize; 2],
    pub local: [Vec<Ways>; 2],
    pub blocks: Option<BlockExchange>,
}

/// A local stage.
enum Local {
    /// Axes of a shape in an order.
    Axes(Vec<usize>, Vec<usize>),
    /// Records of fields of so many bytes, all of them units of so many.
    Fields { records: usize, sizes: Vec<usize>, unit: usize, from: RecordOrder, to: RecordOrder },
}

impl Redistribution {
    /// Of a matrix that is cut along its rows, and its transpose along its own: rank `r` has part `r` of `rows` before, and of
    /// `cols` after.
    pub fn transpose(rows: Partition, cols: Partition, elem_bytes: usize) -> Self {
        Self::of_axes(&[rows.extent(), cols.extent()], &[1, 0], elem_bytes, (0, rows), (0, cols))
    }

    /// Of an array of this shape, cut along axis `before.0` in those parts; axis `q` of the result is axis `axes[q]` of the
    /// array, and the result is cut along its axis `after.0`.
    ///
    /// `DTensor`'s `Shard(0)` to `Shard(1)` of a matrix is `axes` `[0, 1]` with `(0, blocks)` and `(1, blocks)`.
    pub fn of_axes(
        shape: &[usize],
        axes: &[usize],
        elem_bytes: usize,
        before: (usize, Partition),
        after: (usize, Partition),
    ) -> Self {
        let (shape, axes, way) = (shape.to_vec(), axes.to_vec(), None);
        let (threads, cap, chunk) = (None, None, None);
        Redistribution { shape, axes, elem_bytes, before, after, way, threads, cap, chunk }
    }

    /// By that way; otherwise by the one with fewer local stages, of two alike the one with longer runs.
    pub fn way(self, way: Schedule) -> Self {
        Redistribution { way: Some(way), ..self }
    }

    /// The local stages on at most so many threads a rank; otherwise as [`Transpose::threads`].
    pub fn threads(self, threads: usize) -> Self {
        Redistribution { threads: Some(threads), ..self }
    }

    /// The local stages with at most so many bytes of workspace; otherwise as [`Transpose::workspace_cap`].
    pub fn workspace_cap(self, bytes: usize) -> Self {
        Redistribution { cap: Some(bytes), ..self }
    }

    /// With messages of at most so many bytes, 1 or more; otherwise 4 MiB, for [`plan_on`](Self::plan_on) 16 MiB. The same on all
    /// ranks.
    pub fn chunk(self, bytes: usize) -> Self {
        Redistribution { chunk: Some(bytes.max(1)), ..self }
    }

    /// Plans it for one rank.
    ///
    /// # Errors
    /// The axes and parts are not those of an array, or its local stages cannot be planned.
    pub fn plan(&self, rank: usize) -> Result<RankPlan, Error> {
        let Steps { bytes, local, blocks } = self.steps(rank)?;
        let [first, last] = local.map(|stages| planned(&stages, Transpose::plan));
        let blocks = blocks.map(|blocks| (blocks, self.chunk.unwrap_or(CHUNK_BYTES)));
        Ok(RankPlan::new(self.words(), rank, bytes, [first?, last?], blocks))
    }

    /// What a rank does on memory that is not in slices, a GPU's: its local stages by `plan`, each of some bytes of its part, and
    /// what it exchanges between them. Of [`run`](Self::run) it leaves out that ranks [agree](Self::agree).
    ///
    /// # Errors
    /// As [`plan`](Self::plan).
    pub fn stages<P>(
        &self,
        rank: usize,
        plan: impl Fn(&Transpose) -> Result<P, turntile::Error>,
    ) -> Result<Stages<P>, Error> {
        let Steps { bytes, local, blocks } = self.steps(rank)?;
        let [first, last] = local.map(|stages| planned(&stages, &plan));
        let chunk = self.chunk.unwrap_or(CHUNK_BYTES);
        let exchange = blocks.map(|blocks| (blocks, rank, chunk));
        Ok(Stages { bytes, local: [first?, last?], exchange })
    }

    /// What `begin(rank, ranks)` answers, on all ranks or none: all call it, are asked for the same, and have buffers of `have`
    /// bytes where `need` are needed.
    ///
    /// # Errors
    /// The same on every rank, but for the one whose `begin` failed, or that others could not reach.
    pub fn agree<W>(
        &self,
        exchange: &mut impl Communicator,
        [need, have]: [usize; 2],
        begin: impl FnOnce(usize, usize) -> Result<W, Error>,
    ) -> Result<W, Error> {
        let planned = self.ranks();
        let begin = |rank, ranks| match ranks == planned {
            true => begin(rank, ranks),
            false => Err(Error::Communicator { planned, got: ranks }),
        };
        rank_plan::agree(exchange, &self.words(), have, |rank, ranks| {
            Ok((need, begin(rank, ranks)?))
        })
    }

    /// What a rank does, with nothing planned.
    pub(crate) fn steps(&self, rank: usize) -> Result<Steps, Error> {
        let k = self.check()?;
        let (i, ranks) = (self.before.0, self.before.1.ranks());
        if rank >= ranks {
            return Err(Error::NoRank { rank, ranks });
        }
        let [cut, result] = [self.local(rank, true), self.local(rank, false)];
        let bytes = [self.bytes(&cut)?, self.bytes(&result)?];
        let (stages, blocks) = if i == k {
            ([vec![Local::Axes(cut, self.axes.clone())], Vec::new()], None)
        } else {
            let others: Vec<usize> = (0..self.shape.len()).filter(|&a| a != i && a != k).collect();
            let pair = self.bytes(&self.extents(&others))?;
            let parts = [self.before.1.clone(), self.after.1.clone()];
            let [b, t] = [parts[0].len(rank), parts[1].len(rank)];
            let stages = match self.chosen(k) {
                Schedule::AxesFirst => self.axes_first(k, &cut, [b, t]),
                Schedule::PanelsFirst => self.panels_first(k, &cut, [b, t]),
            };
            let [before, after] = parts;
            (stages, Some(BlockExchange::new(before, after, pair)))
        };
        let local = stages.map(|stages| stages.iter().map(|stage| self.ways(stage)).collect());
        Ok(Steps { bytes, local, blocks })
    }

    /// Squares in which blocks could change places between ranks: of a matrix in equal parts that is transposed, unless it is to
    /// be done another way.
    pub(crate) fn squares(&self) -> impl Iterator<Item = PeerSquares> + use<> {
        let ((cut, rows), (result, cols)) = (&self.before, &self.after);
        let is_matrix = self.axes == [1, 0] && [*cut, *result] == [0, 0];
        let some = is_matrix && rows.ranks() > 1 && self.way.is_none();
        some.then(|| PeerSquares::all(rows, cols)).into_iter().flatten()
    }

    /// What a rank does after its squares have changed places.
    pub(crate) fn after_squares(&self, squares: &PeerSquares) -> Vec<Ways> {
        let after = squares.after();
        let axes =
            |axes: AxisPermutation| Local::Axes(axes.extents().to_vec(), axes.order().collect());
        after.map(axes).iter().map(|stage| self.ways(stage)).collect()
    }

    /// The turning of all squares of a rank, side by side.
    pub(crate) fn turning(&self, squares: &PeerSquares) -> Vec<Ways> {
        let ([rows, _], side) = (squares.across(), squares.side());
        let shape = vec![rows, side, squares.pitch() / side, side];
        vec![self.ways(&Local::Axes(shape, vec![0, 3, 2, 1]))]
    }

    pub(crate) fn elem_bytes(&self) -> usize {
        self.elem_bytes
    }

    /// Ranks before and after, and most bytes of a message where it was said.
    pub(crate) fn ranks(&self) -> usize {
        self.before.1.ranks()
    }

    pub(crate) fn asked_chunk(&self) -> Option<usize> {
        self.chunk
    }

    /// Plans it for this rank and runs it; all ranks call it. Data are what [`RankPlan::run`] takes.
    ///
    /// # Errors
    /// As [`plan`](Self::plan) and [`RankPlan::run`]. An error of one rank is one of every rank, and nothing has moved.
    pub fn run<T: bytemuck::Pod>(
        &self,
        exchange: &mut impl Communicator,
        data: &mut [T],
    ) -> Result<(), Error> {
        let rank = exchange.rank();
        let plan = || self.plan(rank).map(Cow::Owned);
        rank_plan::run(exchange, &self.words(), plan, bytemuck::cast_slice_mut(data))
    }

    /// The axis of the array that is cut after.
    fn check(&self) -> Result<usize, Error> {
        let axes = self.shape.len();
        let ((i, before), (q, after)) = (&self.before, &self.after);
        if let Some(&axis) = [i, q].into_iter().find(|&&axis| axis >= axes) {
            return Err(Error::Axis { axis, axes });
        }
        Transpose::of_axes_bytes(&self.shape, &self.axes, self.elem_bytes).problem()?;
        let k = self.axes[*q];
        for (axis, parts) in [(*i, before), (k, after)] {
            let (expected, got) = (self.shape[axis], parts.extent());
            if expected != got {
                return Err(Error::Parts { axis, expected, got });
            }
        }
        if before.ranks() != after.ranks() {
            return Err(Error::Ranks { before: before.ranks(), after: after.ranks() });
        }
        if *i == k && before != after {
            return Err(Error::SameAxis { axis: k });
        }
        Ok(k)
    }

    /// What all ranks must agree on.
    fn words(&self) -> Vec<usize> {
        let ((i, before), (q, after)) = (&self.before, &self.after);
        let chunk = self.chunk.unwrap_or(CHUNK_BYTES);
        let numbers = [self.elem_bytes, *i, *q, chunk, self.way.map_or(0, |way| way as usize + 1)];
        let lists = [&self.shape, &self.axes].map(|list| [&[list.len()], &list[..]].concat());
        let parts = [before, after].map(|parts| parts.sizes().collect::<Vec<_>>());
        [&numbers[..], &lists.concat(), &parts.concat()].concat()
    }

    /// The shape of a rank's part, before or after.
    fn local(&self, rank: usize, before: bool) -> Vec<usize> {
        let (axis, parts) = if before { &self.before } else { &self.after };
        let mut shape = if before { self.shape.clone() } else { self.extents(&self.axes) };
        shape[*axis] = parts.len(rank);
        shape
    }

    fn extents(&self, axes: &[usize]) -> Vec<usize> {
        axes.iter().map(|&axis| self.shape[axis]).collect()
    }

    fn bytes(&self, shape: &[usize]) -> Result<usize, Error> {
        let order: Vec<usize> = (0..shape.len()).collect();
        let problem = Transpose::of_axes_bytes(shape, &order, self.elem_bytes).problem()?;
        Ok(problem.len() * self.elem_bytes)
    }

    fn chosen(&self, k: usize) -> Schedule {
        let i = self.before.0;
        let (front, source) = (in_front(k, &self.axes), in_front(i, &self.in_order()));
        let stages = |moves: [bool; 2]| moves.into_iter().filter(|&moves| moves).count();
        let axes_first = stages([front != self.in_order(), front != self.axes]);
        let panels_first = stages([source != self.in_order(), source != self.axes]);
        let run = |axis: usize, order: &[usize]| {
            let behind = order.iter().skip_while(|&&a| a != axis).map(|&a| self.shape[a]);
            behind.fold(1, usize::saturating_mul)
        };
        let axes = match axes_first.cmp(&panels_first) {
            std::cmp::Ordering::Equal => run(i, &front) >= run(k, &source),
            order => order.is_lt(),
        };
        self.way.unwrap_or(if axes { Schedule::AxesFirst } else { Schedule::PanelsFirst })
    }

    fn in_order(&self) -> Vec<usize> {
        (0..self.shape.len()).collect()
    }

    /// `[k, X, i, Y]`, the blocks' panels of `i` side by side in each record, then all axes in their places.
    fn axes_first(&self, k: usize, cut: &[usize], [_, t]: [usize; 2]) -> [Vec<Local>; 2] {
        let front = in_front(k, &self.axes);
        let (records, run) = self.around(self.before.0, &front);
        let unit = run * self.elem_bytes;
        let sizes = self.before.1.sizes().map(|b| b * unit).collect();
        let (records, from, to) = (t * records, RecordOrder::Soa, RecordOrder::Aos);
        let joined = Local::Fields { records, sizes, unit, from, to };
        let mut shape = self.extents(&front);
        shape[0] = t;
        let last = Local::Axes(shape, places(&self.axes, &front));
        [vec![Local::Axes(cut.to_vec(), front)], vec![joined, last]]
    }

    /// `[i, X, k, Y]`, rows cut into panels of `k`; then `i` is whole, and all axes go to their places.
    fn panels_first(&self, k: usize, cut: &[usize], [b, t]: [usize; 2]) -> [Vec<Local>; 2] {
        let source = in_front(self.before.0, &self.in_order());
        let (records, run) = self.around(k, &source);
        let unit = run * self.elem_bytes;
        let sizes = self.after.1.sizes().map(|t| t * unit).collect();
        let (records, from, to) = (b * records, RecordOrder::Aos, RecordOrder::Soa);
        let panels = Local::Fields { records, sizes, unit, from, to };
        let mut shape = self.extents(&source);
        let place = source.iter().position(|&axis| axis == k).unwrap_or(0);
        shape[place] = t;
        let last = Local::Axes(shape, places(&self.axes, &source));
        [vec![Local::Axes(cut.to_vec(), source), panels], vec![last]]
    }

    /// Elements between the first axis and `axis`, and behind it.
    fn around(&self, axis: usize, order: &[usize]) -> (usize, usize) {
        let place = order.iter().position(|&a| a == axis).unwrap_or(0);
        let of = |axes: &[usize]| self.extents(axes).iter().product();
        (of(&order[1..place]), of(&order[place + 1..]))
    }

    /// How a stage can be done; none where nothing moves.
    fn ways(&self, stage: &Local) -> Ways {
        match stage {
            Local::Axes(shape, order) if !order.is_sorted() && !shape.contains(&0) => {
                let bytes = shape.iter().product::<usize>() * self.elem_bytes;
                let asked = Transpose::of_axes_bytes(shape, order, self.elem_bytes);
                vec![vec![(0..bytes, self.limited(asked))]]
            }
            Local::Fields { records, sizes, unit, from, to } if *records > 1 => {
                let sizes: Vec<usize> = sizes.iter().copied().filter(|&size| size > 0).collect();
                if sizes.len() <= 1 {
                    return Vec::new();
                }
                let bytes = records * sizes.iter().sum::<usize>();
                let at_once = RecordConversion::new(*records, &sizes).from(*from).to(*to);
                let turned = self.turned(*records, &sizes, *unit, *from == RecordOrder::Aos);
                vec![vec![(0..bytes, self.limited(at_once))], turned]
            }
            _ => Vec::new(),
        }
    }

    /// Records to fields as transpositions alone, which every device has: of all records, then of each field; or back.
    fn turned(
        &self,
        records: usize,
        sizes: &[usize],
        unit: usize,
        apart: bool,
    ) -> Vec<OfBytes<Transpose>> {
        let turn = |begin: usize, bytes: usize, apart: bool| {
            let (range, words) = (begin * records..(begin + bytes) * records, bytes / unit);
            let [rows, cols] = if apart { [records, words] } else { [words, records] };
            // The largest power of two, up to what is promised of the whole part.
            let alignment = 1 << range.start.trailing_zeros().min(4);
            (range, self.limited(Transpose::of_bytes(rows, cols, unit).alignment(alignment)))
        };
        let begins = sizes.iter().scan(0, |end, size| {
            *end += size;
            Some(*end - size)
        });
        let mut all: Vec<_> =
            begins.zip(sizes).map(|(begin, &size)| turn(begin, size, !apart)).collect();
        let whole = turn(0, sizes.iter().sum(), apart);
        all.insert(if apart { 0 } else { all.len() }, whole);
        all
    }

    fn limited(&self, asked: Transpose) -> Transpose {
        let asked = self.threads.map_or(asked.clone(), |threads| asked.threads(threads));
        self.cap.map_or(asked.clone(), |cap| asked.workspace_cap(cap))
    }
}

/// The axes in this order, `axis` before all others.
fn in_front(axis: usize, order: &[usize]) -> Vec<usize> {
    let others = order.iter().copied().filter(|&a| a != axis);
    std::iter::once(axis).chain(others).collect()
}

/// Where each of these axes is in that order.
fn places(axes: &[usize], order: &[usize]) -> Vec<usize> {
    let place = |axis: &usize| order.iter().position(|a| a == axis).unwrap_or(0);
    axes.iter().map(place).collect()
}
