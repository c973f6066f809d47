//! A request to redistribute: an array's shape, the permutation of its axes, and the partitioned
//! axis before and after.

use std::borrow::Cow;
use std::ops::Range;

use turntile::Transpose;
use turntile::layout::{RecordConversion, RecordOrder};
use turntile_cuda::peers::Squares;
use turntile_perm::AxisPermutation;

use crate::block_exchange::{BlockExchange, Message};
use crate::communicator::Communicator;
use crate::error::Error;
use crate::local::{Alternatives, OnBytes, plan_stages};
use crate::partition::Partition;
use crate::peer_squares::PeerSquares;
use crate::rank_plan::{self, RankPlan};

/// The order of the local stages and the exchange. `i` is the axis that is partitioned before the
/// redistribution, and `k` the axis that is partitioned after it.
///
/// | schedule | before the exchange | after the exchange |
/// |---|---|---|
/// | axes first | permute the axes, with `k` at the front | merge blocks into rows, move `k` into position |
/// | panels first | move `i` to the front, split rows into panels | permute the axes |
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Schedule {
    /// Permutes the axes before the exchange.
    AxesFirst,
    /// Permutes the axes after the exchange.
    PanelsFirst,
}

/// A request to redistribute a row-major array over ranks.
///
/// The array is partitioned along one axis. Its axes are permuted, and the result is partitioned
/// along another axis. For a matrix this is a distributed transpose. All ranks must make the same
/// request.
#[derive(Clone, Debug)]
#[must_use]
pub struct Redistribution {
    shape: Vec<usize>,
    axes: Vec<usize>,
    elem_bytes: usize,
    /// The axis that is partitioned before, and its parts.
    before: (usize, Partition),
    /// The axis that is partitioned after, counted in the result, and its parts.
    after: (usize, Partition),
    schedule: Option<Schedule>,
    threads: Option<usize>,
    cap: Option<usize>,
    message_bytes: Option<usize>,
}

/// Default maximum message size in bytes, except for [`plan_on`](Redistribution::plan_on). Links
/// reach their full bandwidth from 1 MiB on, and a buffer of this size is 1% of 400 MiB.
const MESSAGE_BYTES: usize = 4 << 20;

/// The stages and messages of a redistribution on one rank, for a caller that runs them itself.
///
/// The caller runs the local stages before the exchange, then the messages, then the local stages
/// after it.
#[derive(Clone, Debug)]
pub struct Stages<P> {
    /// Bytes of the rank's part, before and after.
    pub bytes: [usize; 2],
    /// Local stages before and after the exchange. Each applies to a byte range of the part.
    pub local: [Vec<(Range<usize>, P)>; 2],
    /// Blocks, this rank, and the maximum message size in bytes.
    exchange: Option<(BlockExchange, usize, usize)>,
}

impl<P> Stages<P> {
    /// Returns the messages of the exchange, in the order in which they must run.
    pub fn transfers(&self) -> impl Iterator<Item = Message> + '_ {
        let exchange = self.exchange.iter();
        exchange.flat_map(|(blocks, rank, max_message)| blocks.messages(*rank, *max_message))
    }

    /// Returns the bytes of a buffer that is large enough for every swap message, and for
    /// overlapping slides in pieces.
    pub fn bounce_bytes(&self) -> usize {
        let exchange = self.exchange.as_ref();
        exchange.map_or(0, |(blocks, rank, max_message)| {
            blocks.bounce_bytes_with_slides(*rank, *max_message)
        })
    }
}

/// The unplanned stages of one rank.
pub(crate) struct StageRequests {
    /// Bytes of the part, before and after.
    pub bytes: [usize; 2],
    /// Local stages before and after the exchange.
    pub local: [Vec<Alternatives>; 2],
    /// The exchange. `None` if the partitioned axis does not change.
    pub blocks: Option<BlockExchange>,
}

/// A local stage.
enum LocalStage {
    /// Permutes the axes of an array, given as shape and order.
    Axes(Vec<usize>, Vec<usize>),
    /// Converts `records` records from one layout to another. `sizes` are the bytes of each field,
    /// all multiples of `unit` bytes.
    Records { records: usize, sizes: Vec<usize>, unit: usize, from: RecordOrder, to: RecordOrder },
}

impl Redistribution {
    /// Creates the transposition of a matrix that is partitioned by rows. Rank `r` has part `r` of
    /// `rows` before. After, it has part `r` of `cols`, as rows of the transpose.
    pub fn transpose(rows: Partition, cols: Partition, elem_bytes: usize) -> Self {
        Self::of_axes(&[rows.extent(), cols.extent()], &[1, 0], elem_bytes, (0, rows), (0, cols))
    }

    /// Creates the redistribution of an array of this shape.
    ///
    /// Axis `q` of the result is axis `axes[q]` of the array. The array is partitioned along axis
    /// `before.0` into the parts `before.1`, and the result along its axis `after.0` into
    /// `after.1`.
    ///
    /// To redistribute a matrix from `Shard(0)` to `Shard(1)` of `DTensor`, use `axes` `[0, 1]`,
    /// `before` `(0, blocks)` and `after` `(1, blocks)`.
    pub fn of_axes(
        shape: &[usize],
        axes: &[usize],
        elem_bytes: usize,
        before: (usize, Partition),
        after: (usize, Partition),
    ) -> Self {
        let (shape, axes, schedule) = (shape.to_vec(), axes.to_vec(), None);
        let (threads, cap, chunk) = (None, None, None);
        Redistribution {
            shape,
            axes,
            elem_bytes,
            before,
            after,
            schedule,
            threads,
            cap,
            message_bytes: chunk,
        }
    }

    /// Sets the schedule. The default is the schedule with fewer local stages. If both have the
    /// same number, it is the one that moves longer contiguous runs.
    pub fn schedule(self, schedule: Schedule) -> Self {
        Redistribution { schedule: Some(schedule), ..self }
    }

    /// Limits the local stages to `threads` threads per rank. The default is that of
    /// [`Transpose::threads`].
    pub fn threads(self, threads: usize) -> Self {
        Redistribution { threads: Some(threads), ..self }
    }

    /// Limits the workspace of each local stage to `bytes` bytes. The default is that of
    /// [`Transpose::workspace_limit`].
    pub fn workspace_limit(self, bytes: usize) -> Self {
        Redistribution { cap: Some(bytes), ..self }
    }

    /// Sets the maximum message size in bytes; 0 is treated as 1. The default is 4 MiB, or 16 MiB
    /// for [`plan_on`](Self::plan_on). All ranks must use the same value.
    pub fn message_bytes(self, bytes: usize) -> Self {
        Redistribution { message_bytes: Some(bytes.max(1)), ..self }
    }

    /// Plans the redistribution for one rank.
    ///
    /// # Errors
    /// Returns an error if the axes or parts do not match the shape, if `rank` is out of range, or
    /// if a local stage cannot be planned.
    pub fn plan(&self, rank: usize) -> Result<RankPlan, Error> {
        let StageRequests { bytes, local, blocks } = self.stage_requests(rank)?;
        let [first, last] = local.map(|stages| plan_stages(&stages, Transpose::plan));
        let blocks = blocks.map(|blocks| (blocks, self.message_bytes.unwrap_or(MESSAGE_BYTES)));
        Ok(RankPlan::new(self.signature(), rank, bytes, [first?, last?], blocks))
    }

    /// Plans the redistribution for one rank whose part is not a slice, for example in GPU memory.
    ///
    /// Calls `plan` for each local stage. The caller runs the stages and messages. Unlike
    /// [`run`](Self::run), `stages` does not check that ranks [agree](Self::agree).
    ///
    /// # Errors
    /// Returns the errors of [`plan`](Self::plan), and those of the closure `plan`.
    pub fn stages<P>(
        &self,
        rank: usize,
        plan: impl Fn(&Transpose) -> Result<P, turntile::Error>,
    ) -> Result<Stages<P>, Error> {
        let StageRequests { bytes, local, blocks } = self.stage_requests(rank)?;
        let [first, last] = local.map(|stages| plan_stages(&stages, &plan));
        let max_message = self.message_bytes.unwrap_or(MESSAGE_BYTES);
        let exchange = blocks.map(|blocks| (blocks, rank, max_message));
        Ok(Stages { bytes, local: [first?, last?], exchange })
    }

    /// Calls `begin(rank, ranks)` on every rank. Each rank returns its own result, or all ranks
    /// return an error. Collective: all ranks call it.
    ///
    /// Checks that all ranks made the same request and that on each rank `have`, the bytes of its
    /// buffer, is at least `need`.
    ///
    /// # Errors
    /// A rank whose `begin` fails returns that error, and the other ranks return
    /// [`Error::PeerFailed`]. A rank whose communicator fails returns [`Error::Unreachable`]. All
    /// other errors are the same on all ranks.
    ///
    /// # Panics
    /// Panics if `begin` panics, after the other ranks have been notified.
    pub fn agree<W>(
        &self,
        comm: &mut impl Communicator,
        [need, have]: [usize; 2],
        begin: impl FnOnce(usize, usize) -> Result<W, Error>,
    ) -> Result<W, Error> {
        let planned = self.ranks();
        let begin = |rank, ranks| match ranks == planned {
            true => begin(rank, ranks),
            false => Err(Error::Communicator { planned, got: ranks }),
        };
        rank_plan::agree(comm, &self.signature(), have, |rank, ranks| {
            Ok((need, begin(rank, ranks)?))
        })
    }

    /// Returns the unplanned stages of one rank.
    pub(crate) fn stage_requests(&self, rank: usize) -> Result<StageRequests, Error> {
        let k = self.check()?;
        let (i, ranks) = (self.before.0, self.before.1.ranks());
        if rank >= ranks {
            return Err(Error::NoRank { rank, ranks });
        }
        let [source, result] = [self.local_shape(rank, true), self.local_shape(rank, false)];
        let bytes = [self.bytes(&source)?, self.bytes(&result)?];
        let (stages, blocks) = if i == k {
            ([vec![LocalStage::Axes(source, self.axes.clone())], Vec::new()], None)
        } else {
            let others: Vec<usize> = (0..self.shape.len()).filter(|&a| a != i && a != k).collect();
            let bytes_per_pair = self.bytes(&self.extents(&others))?;
            let parts = [self.before.1.clone(), self.after.1.clone()];
            let [b, t] = [parts[0].len(rank), parts[1].len(rank)];
            let stages = match self.schedule_for(k) {
                Schedule::AxesFirst => self.axes_first(k, &source, t),
                Schedule::PanelsFirst => self.panels_first(k, &source, [b, t]),
            };
            let [before, after] = parts;
            (stages, Some(BlockExchange::new(before, after, bytes_per_pair)))
        };
        let local =
            stages.map(|stages| stages.iter().map(|stage| self.alternatives(stage)).collect());
        Ok(StageRequests { bytes, local, blocks })
    }

    /// Returns the tilings in which ranks can swap blocks. Returns no tiling unless a matrix in equal
    /// parts, or in the same parts before and after, is transposed and no schedule was set.
    pub(crate) fn squares(&self) -> impl Iterator<Item = PeerSquares> + use<> {
        self.matrix().map(|[rows, cols]| PeerSquares::all(rows, cols)).into_iter().flatten()
    }

    /// Returns the tilings of a core in which ranks can swap blocks, for parts of almost equal
    /// sizes. A border is at most an eighth of a part, and within the limit of a workspace.
    pub(crate) fn core_squares(&self) -> impl Iterator<Item = PeerSquares> + use<> {
        let of = |[rows, cols]: [&Partition; 2]| {
            let part = self.part_bytes() / self.elem_bytes;
            // One flag of 4 bytes per block of 32 KiB or more.
            let limit = self.workspace_cap().saturating_sub(self.part_bytes() >> 12);
            PeerSquares::of_core(
                rows,
                cols,
                self.elem_bytes,
                (limit / self.elem_bytes).min(part / 8),
            )
        };
        self.matrix().map(of).into_iter().flatten()
    }

    /// Returns the bytes of a part, if all are equal.
    fn part_bytes(&self) -> usize {
        let all =
            self.shape.iter().fold(self.elem_bytes, |all, &extent| all.saturating_mul(extent));
        all / self.ranks().max(1)
    }

    /// Returns the bytes that limit the workspace of a local stage, by default those of a GPU.
    fn workspace_cap(&self) -> usize {
        self.cap.unwrap_or((self.part_bytes() / 50).max(16 << 20))
    }

    /// Returns the parts of rows and columns if a matrix over several ranks is transposed, and no
    /// schedule was set.
    fn matrix(&self) -> Option<[&Partition; 2]> {
        let ((before, rows), (after, cols)) = (&self.before, &self.after);
        let is_matrix = self.axes == [1, 0] && [*before, *after] == [0, 0];
        let possible = is_matrix && rows.ranks() > 1 && self.schedule.is_none();
        (possible && self.elem_bytes > 0).then_some([rows, cols])
    }

    /// Returns the local stages that remain after ranks have swapped `squares`. With a border, which
    /// is in the workspace meanwhile, their own workspace is smaller.
    pub(crate) fn stages_after_swap(&self, squares: &PeerSquares) -> Vec<Alternatives> {
        let cap = squares.border.as_ref().map(|border| {
            let set_aside = (border.len() * self.elem_bytes).next_multiple_of(16);
            self.workspace_cap().saturating_sub(set_aside)
        });
        let limited = Redistribution { cap: cap.or(self.cap), ..self.clone() };
        let axes = |axes: AxisPermutation| {
            LocalStage::Axes(axes.extents().to_vec(), axes.order().collect())
        };
        squares.after().map(axes).iter().map(|stage| limited.alternatives(stage)).collect()
    }

    /// Returns the stage that transposes every square of a rank in place, as a cost estimate of the
    /// swap; no stage for blocks that are not squares.
    pub(crate) fn tile_transposes(&self, squares: &PeerSquares) -> Vec<Alternatives> {
        let Some(squares) = squares.squares else { return Vec::new() };
        let Squares { sides: [side, _], across: [rows, _], pitch } = squares;
        let shape = vec![rows, side, pitch / side, side];
        vec![self.alternatives(&LocalStage::Axes(shape, vec![0, 3, 2, 1]))]
    }

    pub(crate) fn itemsize(&self) -> usize {
        self.elem_bytes
    }

    /// Returns the number of ranks.
    pub(crate) fn ranks(&self) -> usize {
        self.before.1.ranks()
    }

    /// Returns the message size that was set, if any.
    pub(crate) fn requested_message_bytes(&self) -> Option<usize> {
        self.message_bytes
    }

    /// Plans the redistribution for this rank and runs it. Collective: all ranks call it. `data` is
    /// as for [`RankPlan::run`].
    ///
    /// # Errors
    /// Returns the errors of [`plan`](Self::plan) and [`RankPlan::run`]. If planning or a check fails
    /// on one rank, all ranks return an error and no data have moved.
    pub fn run<T: bytemuck::Pod>(
        &self,
        comm: &mut impl Communicator,
        data: &mut [T],
    ) -> Result<(), Error> {
        let rank = comm.rank();
        let plan = || self.plan(rank).map(Cow::Owned);
        rank_plan::run(comm, &self.signature(), plan, bytemuck::cast_slice_mut(data))
    }

    /// Validates the request. Returns the axis that is partitioned after, counted in the source.
    fn check(&self) -> Result<usize, Error> {
        let axes = self.shape.len();
        let ((i, before), (q, after)) = (&self.before, &self.after);
        if let Some(&axis) = [i, q].into_iter().find(|&&axis| axis >= axes) {
            return Err(Error::Axis { axis, axes });
        }
        Transpose::permute::<u8>(&self.shape, &self.axes).itemsize(self.elem_bytes).problem()?;
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

    /// Returns all numbers that must be equal on all ranks.
    pub(crate) fn signature(&self) -> Vec<usize> {
        let ((i, before), (q, after)) = (&self.before, &self.after);
        let max_message = self.message_bytes.unwrap_or(MESSAGE_BYTES);
        let schedule = self.schedule.map_or(0, |schedule| schedule as usize + 1);
        let numbers = [self.elem_bytes, *i, *q, max_message, schedule];
        let lists = [&self.shape, &self.axes].map(|list| [&[list.len()], &list[..]].concat());
        let parts = [before, after].map(|parts| parts.sizes().collect::<Vec<_>>());
        [&numbers[..], &lists.concat(), &parts.concat()].concat()
    }

    /// Returns the shape of a rank's part, before or after.
    fn local_shape(&self, rank: usize, before: bool) -> Vec<usize> {
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
        let problem =
            Transpose::permute::<u8>(shape, &order).itemsize(self.elem_bytes).problem()?;
        Ok(problem.len() * self.elem_bytes)
    }

    /// Returns the schedule that was set, or the default if source axis `k` is partitioned after.
    fn schedule_for(&self, k: usize) -> Schedule {
        let i = self.before.0;
        let identity = self.identity_order();
        let (result, source) = (with_axis_first(k, &self.axes), with_axis_first(i, &identity));
        let stages = |moves: [bool; 2]| moves.into_iter().filter(|&moves| moves).count();
        let axes_first = stages([result != identity, result != self.axes]);
        let panels_first = stages([source != identity, source != self.axes]);
        let run_len = |axis: usize, order: &[usize]| {
            let inner = order.iter().skip_while(|&&a| a != axis).map(|&a| self.shape[a]);
            inner.fold(1, usize::saturating_mul)
        };
        let axes = match axes_first.cmp(&panels_first) {
            std::cmp::Ordering::Equal => run_len(i, &result) >= run_len(k, &source),
            order => order.is_lt(),
        };
        self.schedule.unwrap_or(if axes { Schedule::AxesFirst } else { Schedule::PanelsFirst })
    }

    fn identity_order(&self) -> Vec<usize> {
        (0..self.shape.len()).collect()
    }

    /// Returns the stages of the axes-first schedule, before and after the exchange.
    ///
    /// Before the exchange, the axes are permuted to `[k, X, i, Y]` (`X` and `Y`: other axes).
    /// After the exchange, the blocks are the fields of records, one record per index of `k` and
    /// `X`. Then the fields are merged into records, which makes axis `i` whole, and all axes are
    /// permuted to their final order.
    fn axes_first(&self, k: usize, source: &[usize], t: usize) -> [Vec<LocalStage>; 2] {
        let order = with_axis_first(k, &self.axes);
        let (outer, inner) = self.elements_around(self.before.0, &order);
        let unit = inner * self.elem_bytes;
        let sizes = self.before.1.sizes().map(|b| b * unit).collect();
        let (records, from, to) = (t * outer, RecordOrder::Soa, RecordOrder::Aos);
        let merge = LocalStage::Records { records, sizes, unit, from, to };
        let mut shape = self.extents(&order);
        shape[0] = t;
        let last = LocalStage::Axes(shape, positions(&self.axes, &order));
        [vec![LocalStage::Axes(source.to_vec(), order)], vec![merge, last]]
    }

    /// Returns the stages of the panels-first schedule, before and after the exchange.
    ///
    /// Before the exchange, the axes are permuted to `[i, X, k, Y]` (`X` and `Y`: other axes), and
    /// axis `k` is split into one panel per rank. After the exchange, axis `i` is whole. Then all
    /// axes are permuted to their final order.
    fn panels_first(&self, k: usize, source: &[usize], [b, t]: [usize; 2]) -> [Vec<LocalStage>; 2] {
        let order = with_axis_first(self.before.0, &self.identity_order());
        let (outer, inner) = self.elements_around(k, &order);
        let unit = inner * self.elem_bytes;
        let sizes = self.after.1.sizes().map(|t| t * unit).collect();
        let (records, from, to) = (b * outer, RecordOrder::Aos, RecordOrder::Soa);
        let panels = LocalStage::Records { records, sizes, unit, from, to };
        let mut shape = self.extents(&order);
        let position = order.iter().position(|&axis| axis == k).unwrap_or(0);
        shape[position] = t;
        let last = LocalStage::Axes(shape, positions(&self.axes, &order));
        [vec![LocalStage::Axes(source.to_vec(), order), panels], vec![last]]
    }

    /// Returns two products of extents in `order`: of the axes between the first axis and `axis`,
    /// and of those after `axis`.
    fn elements_around(&self, axis: usize, order: &[usize]) -> (usize, usize) {
        let position = order.iter().position(|&a| a == axis).unwrap_or(0);
        let product = |axes: &[usize]| self.extents(axes).iter().product();
        (product(&order[1..position]), product(&order[position + 1..]))
    }

    /// Returns the alternatives for a stage. The list is empty if no data move.
    fn alternatives(&self, stage: &LocalStage) -> Alternatives {
        match stage {
            LocalStage::Axes(shape, order) if !order.is_sorted() && !shape.contains(&0) => {
                let bytes = shape.iter().product::<usize>() * self.elem_bytes;
                let request = Transpose::permute::<u8>(shape, order).itemsize(self.elem_bytes);
                vec![vec![(0..bytes, self.with_limits(request))]]
            }
            LocalStage::Records { records, sizes, unit, from, to } if *records > 1 => {
                let sizes: Vec<usize> = sizes.iter().copied().filter(|&size| size > 0).collect();
                if sizes.len() <= 1 {
                    return Vec::new();
                }
                let bytes = records * sizes.iter().sum::<usize>();
                let conversion = RecordConversion::new(*records, &sizes).from(*from).to(*to);
                let from_records = *from == RecordOrder::Aos;
                let transposes = self.record_transposes(*records, &sizes, *unit, from_records);
                vec![vec![(0..bytes, self.with_limits(conversion))], transposes]
            }
            _ => Vec::new(),
        }
    }

    /// Returns the matrix transpositions that together make a record conversion. Every device
    /// supports them.
    ///
    /// From records to fields, the whole part is transposed first and then each field. From fields
    /// to records, each field is transposed first and then the whole part.
    fn record_transposes(
        &self,
        records: usize,
        sizes: &[usize],
        unit: usize,
        from_records: bool,
    ) -> Vec<OnBytes<Transpose>> {
        let transpose = |begin: usize, bytes: usize, from_records: bool| {
            let (range, words) = (begin * records..(begin + bytes) * records, bytes / unit);
            let [rows, cols] = if from_records { [records, words] } else { [words, records] };
            // The largest power of two that divides the offset, at most 16: the part itself is only
            // guaranteed to be aligned to 16 bytes.
            let alignment = 1 << range.start.trailing_zeros().min(4);
            (
                range,
                self.with_limits(
                    Transpose::new::<u8>(rows, cols).itemsize(unit).alignment(alignment),
                ),
            )
        };
        let begins = sizes.iter().scan(0, |end, size| {
            *end += size;
            Some(*end - size)
        });
        let mut all: Vec<_> =
            begins.zip(sizes).map(|(begin, &size)| transpose(begin, size, !from_records)).collect();
        let whole = transpose(0, sizes.iter().sum(), from_records);
        all.insert(if from_records { 0 } else { all.len() }, whole);
        all
    }

    /// Applies the limits on threads and workspace to a local stage.
    fn with_limits(&self, request: Transpose) -> Transpose {
        let request = self.threads.map_or(request.clone(), |threads| request.threads(threads));
        self.cap.map_or(request.clone(), |cap| request.workspace_limit(cap))
    }
}

/// Returns `order` with `axis` moved to the front.
fn with_axis_first(axis: usize, order: &[usize]) -> Vec<usize> {
    let others = order.iter().copied().filter(|&a| a != axis);
    std::iter::once(axis).chain(others).collect()
}

/// Returns the position in `order` of each axis in `axes`.
fn positions(axes: &[usize], order: &[usize]) -> Vec<usize> {
    let position = |axis: &usize| order.iter().position(|a| a == axis).unwrap_or(0);
    axes.iter().map(position).collect()
}
