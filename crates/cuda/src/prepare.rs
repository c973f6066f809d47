//! Checks before a launch, and the buffers that launches need.

use turntile_perm::{Panels, PitchedRows};
use turntile_plan::{Direction, InvalidPlan, Method, Plan, Problem, StageMap};

use crate::args::SecondPointer;
use crate::buffers::{self, BufferOffset, BufferRequirement, Buffers, WORKSPACE_ALIGNMENT};
use crate::error::{CudaError, LowerError};
use crate::launch::{CheckedLaunch, DeviceLimits, widest_word};
use crate::launch_list::LaunchList;
use crate::lower::{
    BitMatrix, ScalarKind, Scaling, TargetParams, border_bytes, cut_places, lowered, panels_apart,
    panels_together, scale, scaled_square,
};
use crate::strategy::Strategy;

/// Launches and their memory requirements, in place or out of place. A `Work` is created only from checked plans, stages and
/// scalings. Its launches therefore access only the buffers that it requires, even if a caller assembled the plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Work {
    /// Problem of a whole plan, or `None` for single stages and launches.
    problem: Option<Problem>,
    pub(crate) calls: Vec<CheckedLaunch>,
    /// Base addresses of each launch, as offsets into the buffers.
    spots: Vec<[BufferOffset; 2]>,
    /// Bytes of the matrix; out of place, bytes of the destination.
    bytes: usize,
    /// Bytes of the source out of place; `None` in place.
    source_bytes: Option<usize>,
    alignment: usize,
    /// Workspace bytes, from its start, up to the end of the data that one launch leaves to later launches.
    held: usize,
}

/// Alignment, in bytes, of source and destination in one allocation.
const BUFFER_ALIGNMENT: usize = 256;

/// Maximum threads per block in a strategy.
const MOST_THREADS: usize = 1024;

impl Work {
    /// Returns the launches of `plan`, after checking the plan.
    ///
    /// # Errors
    /// [`CudaError::NotForGpu`] or [`CudaError::Flawed`].
    pub fn of_plan(plan: &Plan) -> Result<Self, CudaError> {
        let launches = launches_of(plan)?;
        let alignment = widest_word(&[plan.problem.alignment()]);
        let bytes = plan.problem.span_bytes();
        let work = Self::of_launches(&launches, plan.saved_gap_bytes(), bytes, alignment);
        let source_bytes = plan.problem.is_out_of_place().then_some(bytes);
        Ok(Work { problem: Some(plan.problem.clone()), source_bytes, ..work })
    }

    /// Combines the launches of stages on the same memory. The first `kept` bytes of the workspace store gaps.
    fn of_launches(launches: &[&LaunchList], kept: usize, bytes: usize, alignment: usize) -> Self {
        Work {
            problem: None,
            calls: launches.iter().flat_map(|launches| launches.calls().to_vec()).collect(),
            spots: launches.iter().flat_map(|launches| spots_of(launches, kept)).collect(),
            bytes,
            source_bytes: None,
            alignment,
            held: launches.iter().map(|launches| held(launches, kept)).max().unwrap_or(0),
        }
    }

    /// Checks that `other` solves the same problem, except for the alignment.
    ///
    /// # Errors
    /// [`CudaError::OtherProblem`]: the problems differ, or one is not a whole plan.
    pub(crate) fn same_problem(&self, other: &Work) -> Result<(), CudaError> {
        let problem = |work: &Work| work.problem.as_ref().map(|problem| problem.with_alignment(1));
        if problem(self).is_some() && problem(self) == problem(other) {
            return Ok(());
        }
        let shown = |work: &Work| {
            work.problem.as_ref().map_or("single launches".into(), |problem| problem.to_string())
        };
        Err(CudaError::OtherProblem { expected: shown(self), got: shown(other) })
    }

    /// Returns the launches of one stage for elements of `elem_bytes` bytes, in memory whose address is a multiple of `alignment`
    /// bytes.
    ///
    /// # Errors
    /// [`CudaError::Flawed`]: the stage's size overflows. [`CudaError::Infeasible`]: no kernel implements the stage.
    pub fn of_stage(
        shape: &StageMap,
        strategy: Strategy,
        elem_bytes: usize,
        alignment: usize,
        limits: &DeviceLimits,
    ) -> Result<Self, CudaError> {
        let bytes = bytes_of(shape, elem_bytes)?;
        // Use the largest power of two that divides the alignment, at most 16.
        let alignment = widest_word(&[alignment]);
        let at = TargetParams { elem_bytes, alignment, limits };
        let infeasible = |why| CudaError::Infeasible { stage: format!("{shape} {strategy}"), why };
        let lowered = possible(strategy, bytes).and_then(|()| lowered(shape, strategy, at));
        let (calls, cost) = lowered.map_err(infeasible)?;
        let launches =
            LaunchList { shape: shape.clone(), elem_bytes, alignment, strategy, calls, cost };
        let work = Self::of_launches(&[&launches], 0, bytes, alignment);
        let out_of_place = strategy.method() == Method::OutOfPlace;
        Ok(Work { source_bytes: out_of_place.then_some(bytes), ..work })
    }

    /// Returns the launch that transposes elements of 1, 2 or 4 bits: the squares of the matrices in place, or the matrices out
    /// of place. Addresses must be multiples of `alignment` bytes.
    ///
    /// # Errors
    /// [`CudaError::Infeasible`]: a size overflows, or the device has too little shared memory.
    pub fn of_bits(
        matrix: &BitMatrix,
        out_of_place: bool,
        alignment: usize,
        limits: &DeviceLimits,
    ) -> Result<Self, CudaError> {
        let alignment = widest_word(&[alignment]);
        let at = TargetParams { elem_bytes: 1, alignment, limits };
        let sizes = matrix.bytes().ok_or(LowerError::NoKernel);
        let lowered = sizes.and_then(|sizes| Ok((sizes, matrix.lower(out_of_place, at)?)));
        let infeasible = |why| CudaError::Infeasible { stage: "bits".to_owned(), why };
        let ([from, to], call) = lowered.map_err(infeasible)?;
        let second = if out_of_place { BufferOffset::Source(0) } else { BufferOffset::Data(0) };
        Ok(Work {
            calls: call.into_iter().collect(),
            spots: call.iter().map(|_| [BufferOffset::Data(0), second]).collect(),
            source_bytes: out_of_place.then_some(from),
            ..Self::of_launches(&[], 0, if out_of_place { to } else { from }, alignment)
        })
    }

    /// Returns the launches that move the core of a matrix in `panels` together, to the start of the matrix, and its border, transposed,
    /// to the bytes after it. Workspace: the border and flags.
    ///
    /// # Errors
    /// [`CudaError::Infeasible`]: a size overflows, or the device has too little shared memory.
    pub fn of_panels_together(panels: &Panels, at: TargetParams) -> Result<Self, CudaError> {
        Self::of_border(panels, at, &[], panels_together(panels, at))
    }

    /// Returns the launches that permute the core by `plans`, move it apart, and fill the border from the start of the workspace. The
    /// core is at the start of the matrix before. Workspace: the border, then the larger of that of the plans and the flags.
    ///
    /// # Errors
    /// [`CudaError::NotForGpu`] or [`CudaError::Flawed`], for a plan; those of [`of_panels_together`](Self::of_panels_together).
    pub fn of_panels_apart(
        panels: &Panels,
        plans: &[Plan],
        at: TargetParams,
    ) -> Result<Self, CudaError> {
        Self::of_border(panels, at, plans, panels_apart(panels, at))
    }

    fn of_border(
        panels: &Panels,
        at: TargetParams,
        plans: &[Plan],
        placed: Result<Vec<(CheckedLaunch, [BufferOffset; 2])>, LowerError>,
    ) -> Result<Self, CudaError> {
        let infeasible = |why| CudaError::Infeasible { stage: "panels".to_owned(), why };
        let (placed, border) = placed
            .and_then(|placed| Ok((placed, border_bytes(panels, at.elem_bytes)?)))
            .map_err(infeasible)?;
        let bytes = panels.rows() * panels.cols() * at.elem_bytes;
        let mut work = Self::of_launches(&[], 0, bytes, at.alignment);
        for plan in plans {
            if plan.problem.is_out_of_place() {
                return Err(InvalidPlan::WrongDestination { out_of_place: true }.into());
            }
            let alignment = widest_word(&[plan.problem.alignment()]);
            let launches = launches_of(plan)?;
            work = work.then(Self::of_launches(
                &launches,
                border,
                plan.problem.span_bytes(),
                alignment,
            ));
        }
        work.held = work.held.max(border);
        for (call, spots) in placed {
            work.calls.push(call);
            work.spots.push(spots);
        }
        Ok(work)
    }

    /// Returns the launch that scales the numbers in `rows` in place. The address must be a multiple of `alignment` and of the
    /// bytes of a real number.
    ///
    /// # Errors
    /// [`CudaError::Infeasible`]: the size overflows.
    pub fn of_scale(
        number: ScalarKind,
        rows: PitchedRows,
        scaling: Scaling,
        alignment: usize,
        limits: &DeviceLimits,
    ) -> Result<Self, CudaError> {
        let alignment = widest_word(&[alignment]).max(number.real_bytes());
        let bytes = rows.span().saturating_mul(number.bytes());
        let mut work = Self::of_launches(&[], 0, bytes, alignment);
        if !rows.is_empty() {
            let at = TargetParams { elem_bytes: number.bytes(), alignment, limits };
            let infeasible = |why| CudaError::Infeasible { stage: number.entry().to_owned(), why };
            let call = scale(number, rows, scaling, at).map_err(infeasible)?;
            work.calls.push(call);
            work.spots.push([BufferOffset::Data(0), BufferOffset::Workspace(0)]);
        }
        Ok(work)
    }

    /// Returns the launches with scaling fused into the transposition of a square. If the matrix is not square but its pitches
    /// are equal, an added launch scales the part outside the square. Returns `None` for other launches and for zeros.
    ///
    /// # Errors
    /// See [`of_scale`](Self::of_scale).
    pub fn scaled(
        &self,
        number: ScalarKind,
        scaling: Scaling,
        limits: &DeviceLimits,
    ) -> Result<Option<Self>, CudaError> {
        let Some((first, others)) = self.calls.split_first() else { return Ok(None) };
        let Some(square) = scaled_square(first, number, scaling) else { return Ok(None) };
        let mut work = self.clone();
        work.calls[0] = square;
        let leading = self.problem.as_ref().and_then(Problem::leading);
        match (others, leading) {
            ([], _) => Ok(Some(work)),
            ([_], Some(leading)) if leading.source().pitch() == leading.result().pitch() => {
                let ([rows, cols], [_, to]) = leading.remainder(number.bytes());
                let rows =
                    PitchedRows::new(cols, rows, leading.result().pitch()).expect("subset of rows");
                let alignment = widest_word(&[self.alignment, to]);
                let mut rest = Self::of_scale(number, rows, scaling, alignment, limits)?;
                rest.spots.iter_mut().for_each(|spots| spots[0] = BufferOffset::Data(to));
                rest.bytes = self.bytes;
                Ok(Some(work.then(rest)))
            }
            _ => Ok(None),
        }
    }

    /// Returns the launches with the result scaled: fused if [`scaled`](Self::scaled) supports it, otherwise in one extra pass.
    /// For zeros, only writes them and moves nothing.
    ///
    /// # Errors
    /// See [`of_scale`](Self::of_scale).
    pub fn and_scaled(
        &self,
        number: ScalarKind,
        scaling: Scaling,
        limits: &DeviceLimits,
    ) -> Result<Self, CudaError> {
        if let Some(on_the_way) = self.scaled(number, scaling, limits)? {
            return Ok(on_the_way);
        }
        let count = self.bytes / number.bytes();
        let leading = self.problem.as_ref().and_then(Problem::leading);
        let rows = leading.map(|leading| leading.result()).or(PitchedRows::new(1, count, count));
        let rows = rows.expect("one row of all numbers");
        let pass = Self::of_scale(number, rows, scaling, self.alignment, limits)?;
        Ok(match scaling {
            Scaling::Zeros => Work { bytes: self.bytes, ..pass },
            Scaling::By { .. } => self.clone().then(pass),
        })
    }

    /// Returns `true` for a whole plan whose elements have the size of `number`.
    pub(crate) fn is_of(&self, number: ScalarKind) -> bool {
        self.problem.as_ref().is_some_and(|problem| problem.itemsize() == number.bytes())
    }

    /// Appends `next`, which runs on the same memory.
    #[must_use]
    pub fn then(mut self, next: Work) -> Self {
        self.calls.extend(next.calls);
        self.spots.extend(next.spots);
        self.held = self.held.max(next.held);
        self.bytes = self.bytes.max(next.bytes);
        self.source_bytes = self.source_bytes.max(next.source_bytes);
        self.alignment = self.alignment.max(next.alignment);
        self
    }

    /// Iterates over single launches on the same memory.
    pub fn one_by_one(&self) -> impl Iterator<Item = Work> {
        let steps = self.calls.iter().zip(&self.spots);
        steps.map(|(&call, &spots)| Work {
            problem: None,
            calls: vec![call],
            spots: vec![spots],
            ..*self
        })
    }

    /// Returns the launches, in order.
    pub fn calls(&self) -> &[CheckedLaunch] {
        &self.calls
    }

    /// Returns the first and second base address of each launch, in order.
    pub fn spots(&self) -> &[[BufferOffset; 2]] {
        &self.spots
    }

    /// Returns the bytes of the matrix; out of place, the bytes of the destination.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns `true` if the launches move data from a source to a destination.
    pub fn is_out_of_place(&self) -> bool {
        self.source_bytes.is_some()
    }

    /// Returns the required alignment, in bytes, of the matrix or of source and destination: a power of two up to 16.
    pub fn alignment(&self) -> usize {
        self.alignment
    }

    /// Returns the bytes of workspace: the end of the largest part that a launch uses or leaves to later launches.
    pub fn workspace_bytes(&self) -> usize {
        let steps = self.calls.iter().zip(&self.spots);
        let ends = steps.map(|(call, [_, second])| match (call.workspace.bytes(), second) {
            (bytes, BufferOffset::Workspace(before)) if bytes > 0 => before + bytes,
            _ => 0,
        });
        ends.max().unwrap_or(0).max(self.held)
    }

    /// Places the matrix at address `start`, or the destination there and the source at the next multiple of 256 bytes after it.
    /// Also returns the end address.
    pub fn laid_out(&self, start: u64) -> (Buffers, u64) {
        let data = (start, self.bytes);
        let Some(source_bytes) = self.source_bytes else {
            let end = start.saturating_add(self.bytes as u64);
            return (Buffers { data, source: None, workspace: None }, end);
        };
        let padded = self.bytes.checked_next_multiple_of(BUFFER_ALIGNMENT).unwrap_or(usize::MAX);
        let source = start.saturating_add(padded as u64);
        let padded = source_bytes.checked_next_multiple_of(BUFFER_ALIGNMENT).unwrap_or(usize::MAX);
        let buffers = Buffers { data, source: Some((source, source_bytes)), workspace: None };
        (buffers, source.saturating_add(padded as u64))
    }

    /// Returns the bytes that [`laid_out`](Self::laid_out) needs for the matrix, or for destination and source.
    pub fn measured_bytes(&self) -> usize {
        usize::try_from(self.laid_out(0).1).unwrap_or(usize::MAX)
    }

    /// Returns `true` if the addresses have the required alignment.
    pub(crate) fn is_aligned(&self, buffers: &Buffers) -> bool {
        let [data, source] = [buffers.data, buffers.source.unwrap_or_default()];
        (data.0 | source.0).is_multiple_of(self.alignment as u64)
    }

    /// Checks the buffers of a run.
    ///
    /// # Errors
    /// The first problem found: a missing or unexpected source; a null, misaligned or short buffer; an overlap.
    pub fn check(&self, buffers: &Buffers) -> Result<(), CudaError> {
        let out_of_place = self.is_out_of_place();
        if buffers.source.is_some() != out_of_place {
            return Err(InvalidPlan::WrongDestination { out_of_place }.into());
        }
        let workspace = buffers.workspace.unwrap_or_default();
        let need = self.workspace_bytes();
        if workspace.1 < need {
            return Err(CudaError::Workspace { need, have: workspace.1 });
        }
        let alignment = self.alignment;
        let data = if out_of_place { "destination" } else { "matrix" };
        let (from, source) = (buffers.source.unwrap_or_default(), self.source_bytes.unwrap_or(0));
        buffers::check(&[
            BufferRequirement { what: data, place: buffers.data, bytes: self.bytes, alignment },
            BufferRequirement { what: "source", place: from, bytes: source, alignment },
            BufferRequirement {
                what: "workspace",
                place: workspace,
                bytes: need,
                alignment: WORKSPACE_ALIGNMENT,
            },
        ])
    }
}

/// Returns the workspace bytes up to the end of the data that launches leave to later ones, or 0 without such data.
fn held(launches: &LaunchList, kept: usize) -> usize {
    match launches.held_bytes() {
        0 => 0,
        bytes => kept.saturating_add(bytes),
    }
}

/// Returns the first and second base address of each launch. Most launches use the whole matrix. Launches for leading dimensions
/// and for cut use parts of it and of the workspace, whose first `kept` bytes store gaps.
fn spots_of(launches: &LaunchList, kept: usize) -> impl Iterator<Item = [BufferOffset; 2]> {
    let (data, own) = (BufferOffset::Data(0), BufferOffset::Workspace(kept));
    launches.calls().iter().enumerate().map(move |(number, call)| {
        let reads = call.params.second() == Some(SecondPointer::Source);
        match (&launches.shape, launches.strategy.method()) {
            (_, Method::SaveGaps) => [data, BufferOffset::Workspace(0)],
            (_, Method::ThroughWorkspace) => [[own, data], [data, own]][number.min(1)],
            (StageMap::TransposeRows(leading), _) if reads => {
                let (_, [from, to]) = leading.remainder(launches.elem_bytes);
                [BufferOffset::Data(to), BufferOffset::Data(from)]
            }
            (&StageMap::Cut { rows, direction }, _) => {
                let mut places = cut_places(rows, launches.elem_bytes).map(BufferOffset::Data);
                if direction == Direction::Backward {
                    places.reverse();
                }
                match number {
                    0 => [own, places[0]],
                    1 => [data, BufferOffset::Workspace(kept + launches.held_bytes())],
                    _ => [places[1], own],
                }
            }
            (_, Method::OutOfPlace) => [data, BufferOffset::Source(0)],
            _ if reads => [data, data],
            _ => [data, own],
        }
    })
}

/// Returns the launches of the plan's stages, after checking that they were made for these stages.
fn launches_of(plan: &Plan) -> Result<Vec<&LaunchList>, CudaError> {
    plan.check()?;
    let (elem_bytes, alignment) = (plan.problem.itemsize(), plan.problem.alignment());
    let mut all = Vec::new();
    for (number, stage) in (1..).zip(plan.stages()) {
        let Some(launches) = stage.implementation.launch_config.get::<LaunchList>() else {
            return Err(CudaError::NotForGpu { device: plan.device.clone() });
        };
        let same = launches.is_for(&stage.map, elem_bytes * stage.elems_per_unit)
            && launches.strategy.method() == stage.implementation.method
            && alignment.is_multiple_of(launches.alignment);
        if !same {
            return Err(InvalidPlan::LaunchConfig { number, stage: stage.to_string() }.into());
        }
        all.push(launches);
    }
    Ok(all)
}

/// Returns the bytes from the first to the last element that a stage reads or writes.
pub(crate) fn bytes_of(shape: &StageMap, elem_bytes: usize) -> Result<usize, CudaError> {
    let uncounted = || InvalidPlan::Overflow { number: 1, stage: format!("{shape:?}") };
    shape.counted_len().ok_or_else(uncounted)?;
    let (read, written) = shape.spans();
    let bytes = read.max(written).checked_mul(elem_bytes).filter(|_| elem_bytes > 0);
    Ok(bytes.ok_or_else(uncounted)?)
}

/// Rejects strategy parameters that no device supports, before any arithmetic on them.
fn possible(strategy: Strategy, bytes: usize) -> Result<(), LowerError> {
    let right = match strategy {
        // Every block of a gather saves part of the matrix in the workspace.
        Strategy::Runs { groups } => groups > 0 && groups.checked_mul(bytes).is_some(),
        Strategy::Teams { groups, blocks } => {
            groups > 0 && blocks > 0 && groups.checked_mul(bytes).is_some()
        }
        Strategy::OnChipMoves { threads } => threads <= MOST_THREADS,
        _ => true,
    };
    right.then_some(()).ok_or(LowerError::NoKernel)
}

#[cfg(test)]
mod tests;
