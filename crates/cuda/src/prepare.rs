//! What is checked before anything is launched.

use turntile_perm::Elementary;
use turntile_plan::{DeviceKind, FlagLayout, Flaw, Launch, Method, Plan, Scope, Stage, StageShape};

use crate::call::{Call, Device, widest_word};
use crate::error::{CudaError, Infeasible};
use crate::lower::{Holding, lower_all, move_held, through_registers};

/// Launches, and the memory that they are for. It is made of plans and stages that were checked, so that launches keep
/// to its bytes whoever put the plan together.
#[derive(Clone, Debug, PartialEq)]
pub struct Work {
    pub(crate) calls: Vec<Call>,
    bytes: usize,
    alignment: usize,
}

/// Alignment of the workspace's address.
const WORKSPACE_ALIGNMENT: usize = 16;

/// Most threads of a block that a stage may ask for.
const MOST_THREADS: usize = 1024;

impl Work {
    /// What `plan` comes to on `device`, for a matrix whose address is a multiple of `alignment`.
    ///
    /// # Errors
    /// [`CudaError::NotForGpu`], [`CudaError::Flawed`], or [`CudaError::Infeasible`] with the stage that has no kernel.
    pub fn of_plan(plan: &Plan, alignment: usize, device: &Device) -> Result<Self, CudaError> {
        if plan.kind != DeviceKind::Gpu {
            return Err(CudaError::NotForGpu { device: plan.device.to_string() });
        }
        plan.check()?;
        let elem_bytes = plan.problem.elem_bytes();
        Self::lowered(&plan.stages, elem_bytes, plan.room_bytes(), alignment, device)
    }

    /// What one stage comes to on elements of `elem_bytes` bytes, as many as it covers.
    ///
    /// # Errors
    /// [`CudaError::Flawed`], or [`CudaError::Infeasible`] where it has no kernel.
    pub fn of_stage(
        stage: &Stage,
        elem_bytes: usize,
        alignment: usize,
        device: &Device,
    ) -> Result<Self, CudaError> {
        let bytes = bytes_of(stage, elem_bytes)?;
        Self::lowered(std::slice::from_ref(stage), elem_bytes, bytes, alignment, device)
    }

    /// PTTWAC with flags in memory, super-elements held as the caller says.
    ///
    /// # Errors
    /// As [`of_stage`](Self::of_stage).
    pub fn of_moves(
        shape: StageShape,
        flags: FlagLayout,
        holding: Holding,
        elem_bytes: usize,
        device: &Device,
    ) -> Result<Self, CudaError> {
        let stage = alone(shape, Method::PttwacGlobal { flags });
        let bytes = bytes_of(&stage, elem_bytes)?;
        let call = move_held(shape, flags, holding, elem_bytes, WORKSPACE_ALIGNMENT, device);
        Self::of_call(&stage, call, bytes)
    }

    /// Barrier-sync through registers: the baseline.
    ///
    /// # Errors
    /// As [`of_stage`](Self::of_stage).
    pub fn through_registers(e: Elementary, elem_bytes: usize) -> Result<Self, CudaError> {
        let stage = alone(StageShape::Elementary(e), Method::BarrierSync { scope: Scope::Group });
        let bytes = bytes_of(&stage, elem_bytes)?;
        let call = through_registers(e, elem_bytes, WORKSPACE_ALIGNMENT);
        Self::of_call(&stage, call, bytes)
    }

    fn of_call(
        stage: &Stage,
        call: Result<Call, Infeasible>,
        bytes: usize,
    ) -> Result<Self, CudaError> {
        let call = call.map_err(|why| CudaError::Infeasible { stage: stage.to_string(), why })?;
        Ok(Work { calls: vec![call], bytes, alignment: WORKSPACE_ALIGNMENT })
    }

    /// This, then `next` on the same memory.
    #[must_use]
    pub fn then(mut self, next: Work) -> Self {
        self.calls.extend(next.calls);
        self.bytes = self.bytes.max(next.bytes);
        self.alignment = self.alignment.max(next.alignment);
        self
    }

    /// Each of its launches by itself, on the same memory.
    pub fn one_by_one(&self) -> impl Iterator<Item = Work> {
        let &Work { bytes, alignment, .. } = self;
        self.calls.iter().map(move |&call| Work { calls: vec![call], bytes, alignment })
    }

    /// What checked stages come to, over `bytes` bytes.
    fn lowered(
        stages: &[Stage],
        elem_bytes: usize,
        bytes: usize,
        alignment: usize,
        device: &Device,
    ) -> Result<Self, CudaError> {
        // No more of it is made use of than the largest power of two in it, up to 16.
        let alignment = widest_word(&[alignment]);
        let calls = stages
            .iter()
            .filter(|stage| !stage.shape.is_empty())
            .map(|stage| {
                possible(stage, bytes)
                    .and_then(|()| lower_all(stage, elem_bytes, alignment, device))
                    .map_err(|why| CudaError::Infeasible { stage: stage.to_string(), why })
            })
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Work { calls: calls.concat(), bytes, alignment })
    }

    /// The launches, in order.
    pub fn calls(&self) -> &[Call] {
        &self.calls
    }

    /// Bytes of the matrix, and of the room behind it that the launches use.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Alignment of the matrix's address that the launches rely on, in bytes: a power of two up to 16.
    pub fn alignment(&self) -> usize {
        self.alignment
    }

    /// Bytes of workspace: the largest that a launch needs.
    pub fn workspace_bytes(&self) -> usize {
        self.calls.iter().map(|call| call.workspace.bytes()).max().unwrap_or(0)
    }

    /// Checks the memory that a run was given; `workspace` is its address and its bytes.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn check(&self, data: u64, bytes: usize, workspace: (u64, usize)) -> Result<(), CudaError> {
        if bytes < self.bytes {
            return Err(CudaError::Length { need: self.bytes, have: bytes });
        }
        let address = |what, address: u64, need: usize| match address {
            0 => Err(CudaError::Null { what }),
            _ if !address.is_multiple_of(need as u64) => {
                Err(CudaError::Misaligned { what, address, need })
            }
            _ => Ok(()),
        };
        if self.bytes > 0 {
            address("matrix", data, self.alignment)?;
        }
        let need = self.workspace_bytes();
        if workspace.1 < need {
            return Err(CudaError::Workspace { need, have: workspace.1 });
        }
        if need > 0 {
            address("workspace", workspace.0, WORKSPACE_ALIGNMENT)?;
        }
        Ok(())
    }
}

/// A stage whose launch is not asked.
fn alone(shape: StageShape, method: Method) -> Stage {
    let launch = Launch {
        groups: 1,
        threads: 128,
        lanes: 1,
        on_chip_bytes: 0,
        flag_words: 0,
        kept_bytes: 0,
    };
    Stage { shape, method, launch }
}

/// Bytes from the first element to the last that a checked stage reads or writes.
fn bytes_of(stage: &Stage, elem_bytes: usize) -> Result<usize, CudaError> {
    stage.check()?;
    let (read, written) = stage.shape.spans();
    let bytes = read.max(written).checked_mul(elem_bytes).filter(|_| elem_bytes > 0);
    bytes.ok_or_else(|| Flaw::Uncounted { number: 1, stage: stage.to_string() }.into())
}

/// Numbers of a launch that no device has, before anything is multiplied or divided by them.
fn possible(stage: &Stage, bytes: usize) -> Result<(), Infeasible> {
    let Launch { groups, threads, .. } = stage.launch;
    let gathers = matches!(stage.shape, StageShape::SlotGather { .. });
    // Every block of a gather keeps some of the matrix.
    let counted = !gathers || (groups > 0 && groups.checked_mul(bytes).is_some());
    let teams = !matches!(stage.method, Method::BarrierSync { scope: Scope::Team(0) });
    let right = counted && teams && threads <= MOST_THREADS;
    right.then_some(()).ok_or(Infeasible::NoKernel)
}

#[cfg(test)]
mod tests {
    use super::*;
    use turntile_perm::Slots;
    use turntile_plan::{Direction, Limits, Planner, Problem};

    fn work() -> Work {
        let problem = Problem::new(4096, 1024, 4).unwrap();
        let plan = Planner::new(Limits::h200()).plan(&problem).unwrap();
        Work::of_plan(&plan, 16, &Device::H200).unwrap()
    }

    #[test]
    fn memory_is_checked_before_anything_runs() {
        let work = work();
        let (need, room) = (work.bytes, (4096, work.workspace_bytes()));
        assert_eq!(work.check(1024, need, room), Ok(()));
        assert_eq!(
            work.check(1024, need - 1, room),
            Err(CudaError::Length { need, have: need - 1 })
        );
        assert_eq!(work.check(0, need, room), Err(CudaError::Null { what: "matrix" }));
        assert_eq!(
            work.check(1028, need, room),
            Err(CudaError::Misaligned { what: "matrix", address: 1028, need: 16 })
        );
    }

    #[test]
    fn a_short_workspace_is_refused() {
        let mut work = work();
        work.calls[0].workspace = crate::call::Workspace::Flags(100);
        assert_eq!(
            work.check(1024, work.bytes, (16, 99)),
            Err(CudaError::Workspace { need: 100, have: 99 })
        );
        assert_eq!(
            work.check(1024, work.bytes, (0, 100)),
            Err(CudaError::Null { what: "workspace" })
        );
    }

    #[test]
    fn room_behind_the_matrix_is_checked() {
        let problem = Problem::new(5000, 4900, 4).unwrap().with_room(5000 * 5000);
        let planner = Planner::new(Limits::h200()).with_route("padded-square").unwrap();
        let work = Work::of_plan(&planner.plan(&problem).unwrap(), 16, &Device::H200).unwrap();
        let (need, have) = (5000 * 5000 * 4, problem.bytes());
        assert_eq!(work.bytes, need);
        let workspace = (4096, work.workspace_bytes());
        assert_eq!(work.check(1024, have, workspace), Err(CudaError::Length { need, have }));
        assert_eq!(work.check(1024, need, workspace), Ok(()));
    }

    /// Whatever a plan says that somebody changed, no launch leaves the matrix.
    #[test]
    fn plans_put_together_by_hand_are_checked() {
        let problem = Problem::new(4096, 1024, 4).unwrap();
        let good = Planner::new(Limits::h200()).plan(&problem).unwrap();
        let mut short = good.clone();
        short.problem = Problem::new(4096, 1023, 4).unwrap();
        let refused = |plan: &Plan| Work::of_plan(plan, 16, &Device::H200).unwrap_err();
        assert!(matches!(refused(&short), CudaError::Flawed(Flaw::Length { number: 1, .. })));
        let mut other = good.clone();
        other.stages[0].method = Method::Shares;
        assert!(matches!(refused(&other), CudaError::Flawed(Flaw::Method { number: 1, .. })));
        let mut wide = good;
        wide.stages[0].launch.threads = usize::MAX;
        assert!(matches!(refused(&wide), CudaError::Infeasible { why: Infeasible::NoKernel, .. }));
    }

    #[test]
    fn launches_of_no_device_are_refused() {
        let slots = Slots::new(1000, 300, 64, 256).unwrap();
        let shape = StageShape::SlotGather { batch: 1, slots, direction: Direction::Forward };
        let by = |scope, groups| {
            let mut stage = alone(shape, Method::BarrierSync { scope });
            stage.launch.groups = groups;
            Work::of_stage(&stage, 4, 16, &Device::H200)
        };
        assert_eq!(by(Scope::Team(3), 6).unwrap().bytes(), 1000 * 300 * 4);
        for (scope, groups) in [
            (Scope::Team(0), 6),
            (Scope::Team(3), 0),
            (Scope::Group, 0),
            (Scope::Group, usize::MAX),
        ] {
            let answer = by(scope, groups);
            let refused =
                matches!(&answer, Err(CudaError::Infeasible { why: Infeasible::NoKernel, .. }));
            assert!(refused, "{scope:?} {groups}: {answer:?}");
        }
        let endless = Elementary { batch: usize::MAX, rows: 2, mid: 1, cols: 3, unit: 1 };
        for answer in [
            Work::through_registers(endless, 4),
            Work::of_stage(&alone(shape, Method::PerCycle), 4, 16, &Device::H200),
            Work::of_stage(
                &alone(StageShape::Elementary(endless), Method::PerCycle),
                4,
                16,
                &Device::H200,
            ),
        ] {
            assert!(matches!(answer, Err(CudaError::Flawed(_))), "{answer:?}");
        }
    }

    /// Of an alignment, the power of two counts: a multiple of 24 is one of 8.
    #[test]
    fn alignments_are_powers_of_two() {
        let stage = alone(
            StageShape::Elementary(Elementary { batch: 1, rows: 64, mid: 1, cols: 64, unit: 1 }),
            Method::BarrierSync { scope: Scope::Group },
        );
        for (promised, used) in [(24, 8), (16, 16), (4096, 16), (3, 1)] {
            let work = Work::of_stage(&stage, 4, promised, &Device::H200).unwrap();
            assert_eq!(work.alignment(), used);
        }
    }

    #[test]
    fn a_host_plan_is_refused() {
        let problem = Problem::new(30, 20, 4).unwrap();
        let plan = Planner::new(Limits::host(1)).plan(&problem).unwrap();
        assert_eq!(
            Work::of_plan(&plan, 16, &Device::H200),
            Err(CudaError::NotForGpu { device: "host".into() })
        );
    }
}
