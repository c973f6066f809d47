//! What is checked before anything is launched.

use turntile_plan::{Flaw, Method, Plan, Stage, StageShape};

use crate::call::{Call, Limits, widest_word};
use crate::error::{CudaError, LowerError};
use crate::flags::FlagLayout;
use crate::launches::Launches;
use crate::lower::{At, Holding, lower, move_held, through_registers};
use crate::way::Way;

/// Launches, and the memory that they are for. It is made of plans and stages that were checked, so that launches keep
/// to its bytes whoever put the plan together.
#[derive(Clone, Debug, PartialEq)]
pub struct Work {
    pub(crate) calls: Vec<Call>,
    /// Where each has its addresses.
    spots: Vec<[Spot; 2]>,
    bytes: usize,
    alignment: usize,
    /// Bytes of workspace that launches hand on to others.
    held: usize,
}

/// Where an address that a launch takes lies, so many bytes from the start of the memory or of the workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spot {
    /// In the memory.
    Data(usize),
    /// In the workspace.
    Workspace(usize),
}

impl Spot {
    /// The address, where memory and workspace begin at these.
    pub fn of(self, data: u64, workspace: u64) -> u64 {
        match self {
            Spot::Data(bytes) => data + bytes as u64,
            Spot::Workspace(bytes) => workspace + bytes as u64,
        }
    }
}

/// A launch, and where its first and second address lie; where it takes one alone, the second is nowhere.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    call: Call,
    spots: [Spot; 2],
}

impl Step {
    pub(crate) fn new(call: Call, spots: [Spot; 2]) -> Self {
        Step { call, spots }
    }
}

/// What a stage moves, and where its workspace begins.
const WHOLE: [Spot; 2] = [Spot::Data(0), Spot::Workspace(0)];

/// Alignment of the workspace's address.
const WORKSPACE_ALIGNMENT: usize = 16;

/// Most threads of a block that a way may ask for.
const MOST_THREADS: usize = 1024;

impl Work {
    /// What `plan`, which is in place, launches: what it says.
    ///
    /// # Errors
    /// [`CudaError::NotForGpu`] or [`CudaError::Flawed`].
    pub fn of_plan(plan: &Plan) -> Result<Self, CudaError> {
        if plan.problem.is_out_of_place() {
            return Err(Flaw::Place { out_of_place: true }.into());
        }
        let calls = calls_of(plan)?;
        let alignment = widest_word(&[plan.problem.alignment()]);
        Ok(Self::of_whole(calls, plan.problem.bytes(), alignment))
    }

    /// Launches each of which has all of the memory.
    fn of_whole(calls: Vec<Call>, bytes: usize, alignment: usize) -> Self {
        Work { spots: vec![WHOLE; calls.len()], calls, bytes, alignment, held: 0 }
    }

    pub(crate) fn of_steps(steps: Vec<Step>, bytes: usize, alignment: usize, held: usize) -> Self {
        let (calls, spots) = steps.into_iter().map(|step| (step.call, step.spots)).unzip();
        Work { calls, spots, bytes, alignment, held }
    }

    /// What one stage comes to on elements of `elem_bytes` bytes, as many as it covers, in memory whose address
    /// is a multiple of `alignment`.
    ///
    /// # Errors
    /// [`CudaError::Flawed`], or [`CudaError::Infeasible`] where it has no kernel.
    pub fn of_stage(
        shape: &StageShape,
        way: Way,
        elem_bytes: usize,
        alignment: usize,
        limits: &Limits,
    ) -> Result<Self, CudaError> {
        let bytes = bytes_of(shape, elem_bytes)?;
        // No more of it is made use of than the largest power of two in it, up to 16.
        let alignment = widest_word(&[alignment]);
        let at = At { elem_bytes, alignment, limits };
        let calls = possible(way, bytes).and_then(|()| lower(shape, way, at));
        Self::of_calls(&format!("{shape} {way}"), calls, bytes, alignment)
    }

    /// PTTWAC with flags in memory, super-elements held as the caller says.
    ///
    /// # Errors
    /// As [`of_stage`](Self::of_stage).
    pub fn of_moves(
        shape: &StageShape,
        flags: FlagLayout,
        holding: Holding,
        elem_bytes: usize,
        limits: &Limits,
    ) -> Result<Self, CudaError> {
        let bytes = bytes_of(shape, elem_bytes)?;
        let at = At { elem_bytes, alignment: WORKSPACE_ALIGNMENT, limits };
        let call = possible(Way::Moves { flags }, bytes)
            .and_then(|()| move_held(shape, flags, holding, at));
        let stage = format!("{shape} {}", Method::PttwacGlobal);
        Self::of_calls(&stage, call.map(|call| vec![call]), bytes, WORKSPACE_ALIGNMENT)
    }

    /// Barrier-sync through registers: the baseline.
    ///
    /// # Errors
    /// As [`of_stage`](Self::of_stage).
    pub fn through_registers(shape: &StageShape, elem_bytes: usize) -> Result<Self, CudaError> {
        let bytes = bytes_of(shape, elem_bytes)?;
        let call = shape.elementary().ok_or(LowerError::NoKernel);
        let call = call.and_then(|e| through_registers(e, elem_bytes, WORKSPACE_ALIGNMENT));
        let stage = format!("{shape} {}", Method::BarrierSync);
        Self::of_calls(&stage, call.map(|call| vec![call]), bytes, WORKSPACE_ALIGNMENT)
    }

    pub(crate) fn of_calls(
        stage: &str,
        calls: Result<Vec<Call>, LowerError>,
        bytes: usize,
        alignment: usize,
    ) -> Result<Self, CudaError> {
        let infeasible = |why| CudaError::Infeasible { stage: stage.to_owned(), why };
        Ok(Self::of_whole(calls.map_err(infeasible)?, bytes, alignment))
    }

    /// This, then `next` on the same memory.
    #[must_use]
    pub fn then(mut self, next: Work) -> Self {
        self.calls.extend(next.calls);
        self.spots.extend(next.spots);
        self.held = self.held.max(next.held);
        self.bytes = self.bytes.max(next.bytes);
        self.alignment = self.alignment.max(next.alignment);
        self
    }

    /// Each of its launches by itself, on the same memory.
    pub fn one_by_one(&self) -> impl Iterator<Item = Work> {
        let &Work { bytes, alignment, held, .. } = self;
        let steps = self.calls.iter().zip(&self.spots);
        steps.map(move |(&call, &spots)| {
            Self::of_steps(vec![Step { call, spots }], bytes, alignment, held)
        })
    }

    /// The launches, in order.
    pub fn calls(&self) -> &[Call] {
        &self.calls
    }

    /// Where the launches' first and second addresses lie, in their order.
    pub fn spots(&self) -> &[[Spot; 2]] {
        &self.spots
    }

    /// Bytes of the memory that the launches use.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Alignment of the matrix's address that the launches rely on, in bytes: a power of two up to 16.
    pub fn alignment(&self) -> usize {
        self.alignment
    }

    /// Bytes of workspace: the largest that a launch needs, with what is kept before it, or what launches hand on.
    pub fn workspace_bytes(&self) -> usize {
        let steps = self.calls.iter().zip(&self.spots);
        let ends = steps.map(|(call, [_, second])| match (call.workspace.bytes(), second) {
            (0, _) | (_, Spot::Data(_)) => 0,
            (bytes, Spot::Workspace(before)) => before + bytes,
        });
        ends.max().unwrap_or(0).max(self.held)
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

/// The launches of a plan's stages, which were made for them.
pub(crate) fn calls_of(plan: &Plan) -> Result<Vec<Call>, CudaError> {
    plan.check()?;
    let kind = (plan.problem.elem_bytes(), plan.problem.alignment());
    let stages = (1..).zip(plan.stages());
    let calls = stages.map(|stage| calls_of_stage(stage, kind, &plan.device));
    Ok(calls.collect::<Result<Vec<_>, _>>()?.concat())
}

/// The launches of the stage of that number, which were made for it, for elements of so many bytes in memory of so much
/// alignment.
pub(crate) fn calls_of_stage(
    (number, stage): (usize, &Stage),
    (elem_bytes, alignment): (usize, usize),
    device: &str,
) -> Result<Vec<Call>, CudaError> {
    let Some(launches) = stage.offer.geometry.get::<Launches>() else {
        return Err(CudaError::NotForGpu { device: device.to_owned() });
    };
    let same = launches.is_for(&stage.shape, elem_bytes * stage.joined)
        && launches.way().method() == stage.offer.method
        && alignment.is_multiple_of(launches.alignment());
    match same {
        true => Ok(launches.calls().to_vec()),
        false => Err(Flaw::Geometry { number, stage: stage.to_string() }.into()),
    }
}

/// Bytes from the first element to the last that a stage reads or writes.
pub(crate) fn bytes_of(shape: &StageShape, elem_bytes: usize) -> Result<usize, CudaError> {
    let uncounted = || Flaw::Uncounted { number: 1, stage: format!("{shape:?}") };
    shape.counted_len().ok_or_else(uncounted)?;
    let (read, written) = shape.spans();
    let bytes = read.max(written).checked_mul(elem_bytes).filter(|_| elem_bytes > 0);
    Ok(bytes.ok_or_else(uncounted)?)
}

/// Numbers of a way that no device has, before anything is multiplied or divided by them.
fn possible(way: Way, bytes: usize) -> Result<(), LowerError> {
    let spread = |flags: FlagLayout| match flags {
        FlagLayout::Spread { spreading, .. } => spreading.is_power_of_two() && spreading <= 32,
        FlagLayout::Remapped => true,
    };
    let right = match way {
        // Every block of a gather keeps some of the matrix.
        Way::Runs { groups } => groups > 0 && groups.checked_mul(bytes).is_some(),
        Way::Teams { groups, blocks } => {
            groups > 0 && blocks > 0 && groups.checked_mul(bytes).is_some()
        }
        Way::OnChipMoves { flags, threads } => threads <= MOST_THREADS && spread(flags),
        Way::Moves { flags } => spread(flags),
        // It would be run without a source; there is `Program` for it.
        Way::OutOfPlace { .. } => false,
        _ => true,
    };
    right.then_some(()).ok_or(LowerError::NoKernel)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Chip;
    use crate::way::Scope;
    use turntile_perm::{Elementary, Slots};
    use turntile_plan::{Device, Direction, Planner, Problem, Request, Want};

    fn plan() -> Plan {
        let problem = Problem::new(4096, 1024, 4).unwrap();
        Planner::new(Chip::h200()).plan(&problem).unwrap()
    }

    #[test]
    fn memory_is_checked_before_anything_runs() {
        let work = Work::of_plan(&plan()).unwrap();
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
        let mut work = Work::of_plan(&plan()).unwrap();
        work.calls[0].workspace = crate::call::WorkspacePart::Flags(100);
        assert_eq!(
            work.check(1024, work.bytes, (16, 99)),
            Err(CudaError::Workspace { need: 100, have: 99 })
        );
        assert_eq!(
            work.check(1024, work.bytes, (0, 100)),
            Err(CudaError::Null { what: "workspace" })
        );
    }

    /// Whatever a plan says that somebody changed, no launch leaves the matrix.
    #[test]
    fn plans_put_together_by_hand_are_checked() {
        let good = plan();
        let refused = |plan: &Plan| Work::of_plan(plan).unwrap_err();
        let mut short = good.clone();
        short.problem = Problem::new(4096, 1023, 4).unwrap();
        assert!(matches!(refused(&short), CudaError::Flawed(Flaw::Length { number: 1, .. })));
        let mut other = good.clone();
        other.legs[0].stages[0].offer.method = Method::Shares;
        assert!(matches!(refused(&other), CudaError::Flawed(Flaw::Method { number: 1, .. })));
        // As long, but of another shape; of wider elements; at an address less aligned.
        let geometry = |plan: &Plan| {
            let refused = refused(plan);
            assert!(
                matches!(refused, CudaError::Flawed(Flaw::Geometry { number: 1, .. })),
                "{refused:?}"
            );
        };
        let mut turned = good.clone();
        turned.legs[0].stages[0].shape = turned.legs[0].stages[0].shape.inverse();
        if turned.legs[0].stages[0].shape == good.legs[0].stages[0].shape {
            let e = Elementary { batch: 1, rows: 1024, mid: 1, cols: 4096, unit: 1 };
            turned.legs[0].stages[0].shape = e.into();
        }
        geometry(&turned);
        let mut wide = good.clone();
        wide.problem = Problem::new(4096, 1024, 8).unwrap();
        geometry(&wide);
        let mut unaligned = good;
        unaligned.problem = unaligned.problem.with_alignment(4);
        geometry(&unaligned);
    }

    #[test]
    fn ways_of_no_device_are_refused() {
        let slots = Slots::new(1000, 300, 64, 256).unwrap();
        let shape = StageShape::SlotGather { batch: 1, slots, direction: Direction::Forward };
        let by = |way| Work::of_stage(&shape, way, 4, 16, &Limits::H200);
        assert_eq!(by(Way::Teams { groups: 6, blocks: 3 }).unwrap().bytes(), 1000 * 300 * 4);
        for way in [
            Way::Teams { groups: 6, blocks: 0 },
            Way::Teams { groups: 0, blocks: 3 },
            Way::Runs { groups: 0 },
            Way::Runs { groups: usize::MAX },
            Way::PerCycle,
        ] {
            let answer = by(way);
            let refused =
                matches!(&answer, Err(CudaError::Infeasible { why: LowerError::NoKernel, .. }));
            assert!(refused, "{way}: {answer:?}");
        }
        let e = Elementary { batch: 1, rows: 20, mid: 1, cols: 30, unit: 4 };
        for spreading in [0, 3, 64] {
            let flags = FlagLayout::Spread { spreading, padded: false };
            for way in [Way::Moves { flags }, Way::OnChipMoves { flags, threads: 32 }] {
                assert!(Work::of_stage(&e.into(), way, 4, 16, &Limits::H200).is_err(), "{way}");
            }
        }
        let elsewhere = Way::OutOfPlace { tiling: crate::way::Tiling::Lines, swath: 1 };
        let answer = Work::of_stage(&e.into(), elsewhere, 4, 16, &Limits::H200);
        assert!(answer.is_err(), "there is no source: {answer:?}");
        let many = StageShape::SlotMove { batch: usize::MAX, slots, direction: Direction::Forward };
        let answer = Work::of_stage(&many, Way::PerCycle, 4, 16, &Limits::H200);
        assert!(matches!(answer, Err(CudaError::Flawed(Flaw::Uncounted { .. }))), "{answer:?}");
    }

    /// Of an alignment, the power of two counts: a multiple of 24 is one of 8.
    #[test]
    fn alignments_are_powers_of_two() {
        let e = Elementary { batch: 1, rows: 64, mid: 1, cols: 64, unit: 1 };
        for (promised, used) in [(24, 8), (16, 16), (4096, 16), (3, 1)] {
            let way = Way::Barrier(Scope::Block);
            let work = Work::of_stage(&e.into(), way, 4, promised, &Limits::H200).unwrap();
            assert_eq!(work.alignment(), used);
        }
    }

    #[test]
    fn a_host_plan_is_refused() {
        #[derive(Debug, PartialEq)]
        struct Elsewhere;
        impl std::fmt::Display for Elsewhere {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("elsewhere")
            }
        }
        impl turntile_plan::GeometryData for Elsewhere {
            fn variant(&self) -> String {
                String::new()
            }
        }
        let mut plan = plan();
        plan.device = "host".into();
        plan.legs[0].stages[0].offer.geometry = turntile_plan::Geometry::new(Elsewhere);
        assert_eq!(Work::of_plan(&plan), Err(CudaError::NotForGpu { device: "host".into() }));
    }

    /// What an offer says is what is run, for every offer of every preset.
    #[test]
    fn offers_say_what_is_launched() {
        let problem = Problem::new(4096, 1024, 4).unwrap();
        for chip in Chip::presets() {
            let request = Request::new(&problem, &chip, Want::Any);
            let planner = Planner::new(chip.clone());
            for plan in planner.survey(&problem).candidates {
                let work = Work::of_plan(&plan).unwrap();
                assert!(work.workspace_bytes() <= plan.workspace_bytes, "{plan}");
                for stage in plan.stages() {
                    let offers = chip.offers(&stage.shape, &request).unwrap();
                    assert!(offers.contains(&stage.offer), "{stage}");
                    let least = offers.iter().map(|offer| offer.seconds).fold(f64::MAX, f64::min);
                    assert_eq!(
                        chip.best(&stage.shape, &request).unwrap().seconds,
                        least,
                        "{stage}"
                    );
                    for offer in offers {
                        let launches: &Launches = offer.geometry.get().unwrap();
                        let way = launches.way();
                        let again = Work::of_stage(&stage.shape, way, 4, 16, chip.limits());
                        assert_eq!(again.unwrap().calls, launches.calls(), "{way}");
                        assert_eq!(launches.workspace_bytes(), offer.workspace_bytes);
                    }
                }
            }
        }
    }
}
