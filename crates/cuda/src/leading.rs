//! Matrices whose rows lie a pitch apart before and after: the launches of each way.

use turntile_perm::Leading;
use turntile_plan::{Flaw, LeadingPlan, LeadingWay, Stage};

use crate::buffers::Spot;
use crate::call::{Call, Limits, widest_word};
use crate::error::{CudaError, LowerError};
use crate::lower::{self, At};
use crate::offers;
use crate::prepare::{Step, Work, calls_of, calls_of_stage};

impl Work {
    /// What `plan` launches. Elements of the source's place that are none of the result hold elements of before, of
    /// which nothing is said, or where the pitches are equal their own; every other byte is as it was.
    ///
    /// # Errors
    /// [`CudaError::Flawed`] and [`CudaError::NotForGpu`]: the plan was put together wrongly, or for another device;
    /// [`CudaError::Infeasible`]: there are more elements than a launch can move.
    pub fn of_leading(plan: &LeadingPlan, limits: &Limits) -> Result<Self, CudaError> {
        plan.check()?;
        let (problem, kept) = (&plan.problem, plan.kept_workspace());
        let (leading, elem_bytes) = (problem.leading(), problem.elem_bytes());
        let alignment = widest_word(&[problem.alignment()]);
        let at = At { elem_bytes, alignment, limits };
        let mut held = 0;
        let steps = match &plan.way {
            _ if leading.is_empty() => Ok(Vec::new()),
            LeadingWay::Nothing => Ok(Vec::new()),
            LeadingWay::Turned => turned(leading, at),
            LeadingWay::Buffered => {
                held = problem.bytes();
                through(leading, at)
            }
            LeadingWay::Slid => slid(leading, at),
            LeadingWay::Around { together, dense, apart, .. } => {
                let stage = |stage: &Option<Box<Stage>>| {
                    let kind = (elem_bytes, problem.alignment());
                    let calls = |stage| calls_of_stage((1, stage), kind, &plan.device);
                    stage.as_deref().map_or(Ok(Vec::new()), calls)
                };
                let (first, last) = (stage(together)?, stage(apart)?);
                let calls = [first, calls_of(dense)?, last].concat();
                let beside = |call| Step::new(call, [Spot::Data(0), Spot::Workspace(kept)]);
                around(leading, calls.into_iter().map(beside).collect(), at)
            }
            way => {
                let (problem, way) = (problem.to_string(), way.name());
                return Err(Flaw::Leading { problem, way }.into());
            }
        };
        let infeasible = |why| CudaError::Infeasible { stage: problem.to_string(), why };
        Ok(Work::of_steps(steps.map_err(infeasible)?, problem.span_bytes(), alignment, held))
    }
}

type Steps = Result<Vec<Step>, LowerError>;

fn in_place(call: Call) -> Step {
    Step::new(call, [Spot::Data(0), Spot::Workspace(0)])
}

/// As aligned as all of these.
fn aligned<'a>(at: At<'a>, quantities: &[usize]) -> At<'a> {
    At { alignment: widest_word(quantities).min(at.alignment), ..at }
}

/// Equal pitches: the square that source and result share where it lies, then what is left of the longer side from below
/// it to its right, or the other way. The two places have nothing in common.
fn turned(leading: &Leading, at: At) -> Steps {
    let source = leading.source();
    let (rows, cols, pitch) = (source.rows(), source.cols(), source.pitch() * at.elem_bytes);
    let side = rows.min(cols);
    let mut steps = Vec::new();
    if side > 1 {
        let tile = offers::swap_tile(side, pitch, at).unwrap_or(1);
        steps.push(in_place(lower::swap(side, pitch, tile, at)?));
    }
    let (below, right) = (side * pitch, side * at.elem_bytes);
    let (from, to) = if rows > cols { (below, right) } else { (right, below) };
    let rest = if rows > cols { [rows - side, cols] } else { [rows, cols - side] };
    if rest[0] > 0 && rest[1] > 0 {
        let call = lower::turn(rest, [pitch; 2], aligned(at, &[pitch, from, to]))?;
        steps.push(Step::new(call, [Spot::Data(to), Spot::Data(from)]));
    }
    Ok(steps)
}

/// Transposed into the workspace, and copied out row by row.
fn through(leading: &Leading, at: At) -> Steps {
    let (source, result) = (leading.source(), leading.result());
    let pitches = [source.pitch(), result.cols()].map(|pitch| pitch * at.elem_bytes);
    let at = aligned(at, &pitches);
    let turn = lower::turn([source.rows(), source.cols()], pitches, at)?;
    let out = result.scaled(at.elem_bytes).ok_or(LowerError::NoKernel)?;
    let spread = lower::spread(out, at.limits)?;
    Ok(vec![
        Step::new(turn, [Spot::Workspace(0), Spot::Data(0)]),
        Step::new(spread, [Spot::Data(0), Spot::Workspace(0)]),
    ])
}

fn slid(leading: &Leading, at: At) -> Steps {
    let bytes = |rows: turntile_perm::Pitched| rows.scaled(at.elem_bytes);
    let from = bytes(leading.source()).ok_or(LowerError::NoKernel)?;
    let to = bytes(leading.result()).ok_or(LowerError::NoKernel)?;
    Ok(vec![in_place(lower::between(from, to, at.limits)?)])
}

/// `steps` between keeping what lies in the way and putting it back.
fn around(leading: &Leading, steps: Vec<Step>, at: At) -> Steps {
    let Some([keep, restore]) = lower::gaps(leading, at)? else { return Ok(steps) };
    let (first, last) = ([in_place(keep)], [in_place(restore)]);
    Ok(first.into_iter().chain(steps).chain(last).collect())
}
