//! Matrices whose rows lie a pitch apart before and after: leading dimensions, as BLAS has them.
//!
//! What lies between rows is nobody's to touch. A plan goes around it: equal pitches need one pass where the matrix
//! lies; otherwise the rows slide together, a [`Plan`] transposes what is then a matrix like any other, and they slide
//! apart. Which of these ways serves is decided here, and why is in `docs/leading-dimensions.md`.

use std::fmt;

use turntile_perm::{Leading, Padding, Pitched};

use crate::check::Flaw;
use crate::device::{AroundGaps, Request, Want};
use crate::infeasible::Infeasible;
use crate::offer::Stage;
use crate::plan::Plan;
use crate::planner::{PlanError, Planner};
use crate::problem::Problem;
use crate::shape::{Direction, StageShape};

/// A matrix, its leading dimensions before and after, bytes of an element and the cap on workspace.
///
/// Dimensions are counted in elements, row-major. A column-major matrix is a row-major one with `rows` and `cols`
/// swapped, and the same leading dimensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LeadingProblem {
    leading: Leading,
    elem_bytes: usize,
    cap: Option<usize>,
    alignment: Option<usize>,
}

/// Why leading dimensions do not make a problem.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LeadingError {
    /// Rows are longer than from one to the next.
    #[error("{name} is {got}, rows have {least} elements")]
    TooSmall {
        /// `lda` of the source or `ldb` of the result.
        name: &'static str,
        /// The least that it can be.
        least: usize,
        /// What it is.
        got: usize,
    },
    /// The bytes do not fit the address space.
    #[error(
        "{rows} x {cols} elements of {elem_bytes} bytes at leading dimensions {lda} and {ldb} exceed {} bytes",
        isize::MAX
    )]
    TooLarge {
        /// Rows before.
        rows: usize,
        /// Columns before.
        cols: usize,
        /// Elements from row to row before.
        lda: usize,
        /// The same after.
        ldb: usize,
        /// Bytes of an element.
        elem_bytes: usize,
    },
    /// Elements without bytes have nothing to move.
    #[error("an element has at least one byte")]
    ZeroSizedElement,
    /// Only one matrix in place has leading dimensions.
    #[error("leading dimensions are for one matrix in place, by the cost model: {what}")]
    Unserved {
        /// What was asked for beside.
        what: &'static str,
    },
}

impl LeadingProblem {
    /// A `rows` x `cols` matrix whose rows lie `lda` elements apart, to become the `cols` x `rows` one whose rows lie
    /// `ldb` apart.
    ///
    /// # Errors
    /// `lda < cols`, `ldb < rows`, or more bytes than `isize::MAX`.
    pub fn transposed(
        [rows, cols]: [usize; 2],
        [lda, ldb]: [usize; 2],
        elem_bytes: usize,
    ) -> Result<Self, LeadingError> {
        Self::new([rows, cols], [lda, ldb], elem_bytes, true)
    }

    /// The same to stay a `rows` x `cols` matrix: its rows slide to their new pitch.
    ///
    /// # Errors
    /// `lda < cols`, `ldb < cols`, or more bytes than `isize::MAX`.
    pub fn slid(
        [rows, cols]: [usize; 2],
        [lda, ldb]: [usize; 2],
        elem_bytes: usize,
    ) -> Result<Self, LeadingError> {
        Self::new([rows, cols], [lda, ldb], elem_bytes, false)
    }

    fn new(
        [rows, cols]: [usize; 2],
        [lda, ldb]: [usize; 2],
        elem_bytes: usize,
        transposed: bool,
    ) -> Result<Self, LeadingError> {
        let long = if transposed { rows } else { cols };
        for (name, least, got) in [("lda", cols, lda), ("ldb", long, ldb)] {
            if got < least {
                return Err(LeadingError::TooSmall { name, least, got });
            }
        }
        if elem_bytes == 0 {
            return Err(LeadingError::ZeroSizedElement);
        }
        let make = if transposed { Leading::transposed } else { Leading::slid };
        let fits = |rows: Pitched| {
            let whole = rows.scaled(elem_bytes).and_then(|r| r.rows().checked_mul(r.pitch()));
            whole.is_some_and(|bytes| bytes <= isize::MAX as usize)
        };
        make(rows, cols, lda, ldb)
            .filter(|leading| fits(leading.source()) && fits(leading.result()))
            .map(|leading| LeadingProblem { leading, elem_bytes, cap: None, alignment: None })
            .ok_or(LeadingError::TooLarge { rows, cols, lda, ldb, elem_bytes })
    }

    /// With at most `bytes` of workspace.
    #[must_use]
    pub fn with_cap(self, bytes: usize) -> Self {
        LeadingProblem { cap: Some(bytes), ..self }
    }

    /// At an address that is a multiple of `bytes`, otherwise of 16, of which GPUs make use.
    #[must_use]
    pub fn with_alignment(self, bytes: usize) -> Self {
        LeadingProblem { alignment: Some(bytes), ..self }
    }

    /// Where the elements lie, before and after.
    pub fn leading(&self) -> &Leading {
        &self.leading
    }

    /// Bytes of an element.
    pub fn elem_bytes(&self) -> usize {
        self.elem_bytes
    }

    /// What the address is a multiple of, in bytes.
    pub fn alignment(&self) -> usize {
        self.dense().alignment()
    }

    /// Bytes of the matrix.
    pub fn bytes(&self) -> usize {
        self.leading.len() * self.elem_bytes
    }

    /// Bytes from the first one on that hold the source and the result, and what lies between their rows.
    pub fn span_bytes(&self) -> usize {
        self.leading.span() * self.elem_bytes
    }

    /// The matrix as it is while its rows lie together.
    fn dense(&self) -> Problem {
        let source = self.leading.source();
        let problem = Problem::new(source.rows(), source.cols(), self.elem_bytes);
        let problem = problem.expect("as many bytes as with gaps");
        self.alignment.map_or(problem, |bytes| problem.with_alignment(bytes))
    }
}

impl fmt::Display for LeadingProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (source, result) = (self.leading.source(), self.leading.result());
        let (rows, cols, lda, ldb) = (source.rows(), source.cols(), source.pitch(), result.pitch());
        let stays = if self.leading.is_transposed() { "" } else { " not transposed" };
        write!(f, "{rows}x{cols} w{}, lda {lda}, ldb {ldb}{stays}", self.elem_bytes)
    }
}

/// How a matrix gets from one leading dimension to the other.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum LeadingWay {
    /// Nothing moves.
    Nothing,
    /// Equal pitches, one pass where it lies: the square that both share by tile pairs, what is left of the longer
    /// side from its one place to the other.
    Turned,
    /// Through workspace that holds the matrix.
    Buffered,
    /// Rows slid from one pitch to the other.
    Slid,
    /// Rows slid together, transposed, slid apart.
    Around {
        /// Rows slid together, unless they lie so.
        together: Option<Box<Stage>>,
        /// The transposition.
        dense: Box<Plan>,
        /// Rows slid apart, unless they stay so.
        apart: Option<Box<Stage>>,
        /// Elements of gaps set aside meanwhile: those of source and result both, where the rows lie together.
        kept: usize,
    },
    /// Rows change places with what lies between them until they are together; transposed; changed back to the
    /// source's pitch, so that every gap is as it was; then slid to the result's.
    Exchanged {
        /// The transposition.
        dense: Box<Plan>,
    },
}

impl LeadingWay {
    /// The name that is printed.
    pub fn name(&self) -> &'static str {
        match self {
            LeadingWay::Nothing => "nothing",
            LeadingWay::Turned => "one pass where it lies",
            LeadingWay::Buffered => "through workspace",
            LeadingWay::Slid => "rows slid",
            LeadingWay::Around { .. } => "slid together, transposed, slid apart",
            LeadingWay::Exchanged { .. } => "exchanged with gaps, transposed, exchanged back, slid",
        }
    }
}

/// A way for a problem, with its workspace.
///
/// `Display` prints it on a line; `{:#}` prints everything.
#[derive(Clone, Debug, PartialEq)]
pub struct LeadingPlan {
    /// What it moves.
    pub problem: LeadingProblem,
    /// The device it was made for.
    pub device: String,
    /// How.
    pub way: LeadingWay,
    /// Bytes beyond the data while it runs: of [`Buffered`](LeadingWay::Buffered) the matrix; of
    /// [`Around`](LeadingWay::Around) what is kept and the largest of its stages'; of
    /// [`Exchanged`](LeadingWay::Exchanged) the transposition's; of [`Slid`](LeadingWay::Slid) what the device slides
    /// with; of the others none.
    pub workspace_bytes: usize,
}

impl LeadingPlan {
    /// Bytes of gaps that are set aside.
    pub fn kept_bytes(&self) -> usize {
        match self.way {
            LeadingWay::Around { kept, .. } => kept * self.problem.elem_bytes,
            _ => 0,
        }
    }

    /// Bytes of the workspace's start that they take: a multiple of 16, where the stages' own begins.
    pub fn kept_workspace(&self) -> usize {
        match self.way {
            LeadingWay::Around { kept, .. } => kept_bytes(kept, self.problem.elem_bytes),
            _ => 0,
        }
    }

    /// The plan of the transposition in the middle, if there is one.
    pub fn dense(&self) -> Option<&Plan> {
        match &self.way {
            LeadingWay::Around { dense, .. } | LeadingWay::Exchanged { dense } => Some(dense),
            _ => None,
        }
    }

    /// Checks that the way serves the problem and that its stages are the problem's: what a backend must know before it
    /// moves anything. Plans of the planner always pass.
    ///
    /// # Errors
    /// The first flaw.
    pub fn check(&self) -> Result<(), Flaw> {
        let leading = &self.problem.leading;
        let (source, result) = (leading.source(), leading.result());
        let dense = |plan: &Plan| plan.problem.with_cap(0) == self.problem.dense().with_cap(0);
        let turned = leading.is_transposed();
        let serves = match &self.way {
            LeadingWay::Nothing => leading.stays(),
            LeadingWay::Turned => turned && source.pitch() == result.pitch(),
            LeadingWay::Buffered => turned,
            LeadingWay::Slid => !turned,
            LeadingWay::Around { together, dense: plan, apart, kept } => {
                let rows = |stage: &Option<Box<Stage>>, rows: Pitched, direction| match stage {
                    None => rows.is_dense(),
                    Some(stage) => stage.joined == 1 && Some(stage.shape) == moved(rows, direction),
                };
                turned
                    && dense(plan)
                    && *kept == leading.kept_len()
                    && rows(together, source, Direction::Backward)
                    && rows(apart, result, Direction::Forward)
            }
            LeadingWay::Exchanged { dense: plan } => turned && !leading.is_empty() && dense(plan),
        };
        let (problem, way) = (self.problem.to_string(), self.way.name());
        let flaw = (!serves).then_some(Flaw::Leading { problem, way });
        flaw.map_or(Ok(()), Err)?;
        self.dense().map_or(Ok(()), Plan::check)
    }

    /// Trips of the matrix through memory.
    pub fn passes(&self) -> usize {
        match &self.way {
            LeadingWay::Nothing => 0,
            LeadingWay::Turned | LeadingWay::Slid => 1,
            LeadingWay::Buffered => 2,
            LeadingWay::Around { together, dense, apart, .. } => {
                usize::from(together.is_some()) + dense.passes() + usize::from(apart.is_some())
            }
            LeadingWay::Exchanged { dense } => dense.passes() + 3,
        }
    }
}

impl fmt::Display for LeadingPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LeadingPlan { problem, device, way, workspace_bytes } = self;
        write!(f, "{problem} on {device}: {}", way.name())?;
        let passes = self.passes();
        let plural = if passes == 1 { "" } else { "es" };
        write!(f, "; {passes} pass{plural}, workspace {workspace_bytes} bytes")?;
        if !f.alternate() {
            return Ok(());
        }
        if let LeadingWay::Around { together, apart, kept, .. } = way {
            if *kept > 0 {
                write!(f, "\nkept       {} bytes of gaps", kept * problem.elem_bytes)?;
            }
            for (name, stage) in [("together", together), ("apart", apart)] {
                if let Some(stage) = stage {
                    write!(f, "\n{name:<10} {stage}, {}", stage.offer.geometry)?;
                }
            }
        }
        self.dense().map_or(Ok(()), |dense| write!(f, "\n{dense:#}"))
    }
}

impl Planner {
    /// The way of fewest passes within the cap.
    ///
    /// # Errors
    /// [`PlanError::Leading`] when the device does not serve leading dimensions; [`PlanError::Infeasible`] as
    /// [`plan`](Self::plan): of a route that was asked for, for the transposition in the middle; [`PlanError::Gaps`] when
    /// a device that does not exchange needs more workspace than the cap. Otherwise there is always a way: `Exchanged`
    /// needs no workspace.
    pub fn plan_leading(&self, problem: &LeadingProblem) -> Result<LeadingPlan, PlanError> {
        let AroundGaps { buffered, exchanges } = self.around_gaps(problem)?;
        let (leading, cap) = (&problem.leading, self.leading_cap(problem));
        let bytes = problem.bytes();
        if leading.stays() {
            return Ok(self.leading(problem, LeadingWay::Nothing));
        }
        if !leading.is_transposed() {
            let slid = self.leading(problem, LeadingWay::Slid);
            let need = slid.workspace_bytes;
            return if need > cap { Err(self.gaps(problem, need)) } else { Ok(slid) };
        }
        if leading.source().pitch() == leading.result().pitch() {
            return Ok(self.leading(problem, LeadingWay::Turned));
        }
        if bytes <= cap.min(buffered) {
            return Ok(self.leading(problem, LeadingWay::Buffered));
        }
        match self.around(problem) {
            Some(way) => way,
            None if exchanges => self.exchanged(problem),
            None => Err(self.gaps(problem, self.kept_bytes(problem))),
        }
    }

    /// Every way that serves a problem within the cap, the one that is chosen among them.
    ///
    /// # Errors
    /// As [`plan_leading`](Self::plan_leading).
    pub fn leading_ways(&self, problem: &LeadingProblem) -> Result<Vec<LeadingPlan>, PlanError> {
        let AroundGaps { exchanges, .. } = self.around_gaps(problem)?;
        let leading = &problem.leading;
        if leading.stays() || !leading.is_transposed() {
            return Ok(vec![self.plan_leading(problem)?]);
        }
        let turned = leading.source().pitch() == leading.result().pitch();
        let turned = turned.then(|| self.leading(problem, LeadingWay::Turned));
        let fits = problem.bytes() <= self.leading_cap(problem);
        let buffered = fits.then(|| self.leading(problem, LeadingWay::Buffered));
        let mut ways: Vec<LeadingPlan> = turned.into_iter().chain(buffered).collect();
        if let Some(around) = self.around(problem) {
            ways.push(around?);
        }
        if exchanges {
            ways.push(self.exchanged(problem)?);
        }
        if ways.is_empty() { self.plan_leading(problem).map(|way| vec![way]) } else { Ok(ways) }
    }

    fn around_gaps(&self, problem: &LeadingProblem) -> Result<AroundGaps, PlanError> {
        let device = || self.device().name().to_owned();
        let refused = || PlanError::Leading { problem: problem.to_string(), device: device() };
        self.device().around_gaps().ok_or_else(refused)
    }

    /// That a way around gaps takes `need` bytes of workspace, and the cap is less.
    fn gaps(&self, problem: &LeadingProblem, need: usize) -> PlanError {
        let (cap, device) = (self.leading_cap(problem), self.device().name().to_owned());
        let why = Infeasible::Workspace { need, cap };
        PlanError::Gaps { problem: problem.to_string(), device, why }
    }

    /// The problem's cap, or the device's default and, where gaps in the way have to be kept, room for these.
    fn leading_cap(&self, problem: &LeadingProblem) -> usize {
        let exchanges = self.device().around_gaps().is_none_or(|gaps| gaps.exchanges);
        let kept = if exchanges { 0 } else { self.kept_bytes(problem) };
        let default = || self.device().default_cap(&problem.dense()).saturating_add(kept);
        problem.cap.unwrap_or_else(default)
    }

    /// Bytes of workspace for the gaps that are in the way while rows lie together.
    fn kept_bytes(&self, problem: &LeadingProblem) -> usize {
        kept_bytes(problem.leading.kept_len(), problem.elem_bytes)
    }

    /// Around the gaps, with those in the way set aside; none where they do not fit the cap, or the device moves no
    /// rows.
    fn around(&self, problem: &LeadingProblem) -> Option<Result<LeadingPlan, PlanError>> {
        let (leading, cap) = (&problem.leading, self.leading_cap(problem));
        let kept = leading.kept_len();
        let left = cap.checked_sub(kept_bytes(kept, problem.elem_bytes))?;
        let dense = problem.dense().with_cap(left);
        let rows = |pitched, direction| {
            let stage = self.rows(pitched, direction, &dense).transpose().ok()?;
            Some(stage.map(Box::new))
        };
        let together = rows(leading.source(), Direction::Backward)?;
        let apart = rows(leading.result(), Direction::Forward)?;
        let around = |dense| {
            let dense = Box::new(dense);
            self.leading(problem, LeadingWay::Around { together, dense, apart, kept })
        };
        Some(self.plan(&dense).map(around))
    }

    /// Rows moved apart from where they lie together, or back; none where they have no gaps.
    fn rows(
        &self,
        rows: Pitched,
        direction: Direction,
        dense: &Problem,
    ) -> Option<Result<Stage, Infeasible>> {
        if rows.is_dense() {
            return None;
        }
        let shape = moved(rows, direction)?;
        let request = Request::new(dense, self.device(), Want::Any);
        Some(self.device().best(&shape, &request).map(|offer| Stage::new(shape, offer)))
    }

    fn exchanged(&self, problem: &LeadingProblem) -> Result<LeadingPlan, PlanError> {
        let dense = self.plan(&problem.dense().with_cap(self.leading_cap(problem)))?;
        Ok(self.leading(problem, LeadingWay::Exchanged { dense: Box::new(dense) }))
    }

    fn leading(&self, problem: &LeadingProblem, way: LeadingWay) -> LeadingPlan {
        let workspace_bytes = match &way {
            LeadingWay::Nothing | LeadingWay::Turned => 0,
            LeadingWay::Slid => self.device().slide_workspace(problem.bytes()),
            LeadingWay::Buffered => problem.bytes(),
            LeadingWay::Around { together, dense, apart, kept } => {
                let rows = together.iter().chain(apart).map(|stage| stage.offer.workspace_bytes);
                kept_bytes(*kept, problem.elem_bytes) + rows.fold(dense.workspace_bytes, usize::max)
            }
            LeadingWay::Exchanged { dense } => dense.workspace_bytes,
        };
        let device = self.device().name().to_owned();
        LeadingPlan { problem: *problem, device, way, workspace_bytes }
    }
}

/// Rows moved apart from where they lie together, or back; none where they are empty.
fn moved(rows: Pitched, direction: Direction) -> Option<StageShape> {
    let padding = Padding::new(rows.rows(), rows.cols(), rows.pitch())?;
    Some(StageShape::Pad { padding, direction })
}

/// What a stage's workspace begins at a multiple of, in bytes.
const WORKSPACE_ALIGNMENT: usize = 16;

/// Bytes of workspace for what is kept, so that what lies behind is aligned.
fn kept_bytes(kept: usize, elem_bytes: usize) -> usize {
    (kept * elem_bytes).next_multiple_of(WORKSPACE_ALIGNMENT)
}
