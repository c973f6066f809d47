//! Local stages on a GPU.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::fmt;

use turntile::gpu::{CudaError, Gpu, GpuTransposer};
use turntile::plan::Planner;
use turntile_cuda::lower::TargetParams;
use turntile_cuda::{Buffers, Prepared, Work};

use crate::error::Error;
use crate::local::{Alternatives, OnBytes, plan_stages};
use crate::peer_squares::PeerSquares;
use crate::redistribution::Redistribution;

/// Alignment in bytes that local stages require of a rank's data.
pub const ALIGNMENT: u64 = 16;

/// A local stage, with its kernels loaded.
#[derive(Debug)]
pub enum GpuStage {
    /// A transpose of a byte range of the part.
    Transpose(Box<OnBytes<GpuTransposer>>),
    /// Launches that separate a part into core and border or merge them, and their description.
    Panels(Prepared, String),
}

impl GpuStage {
    /// Plans stages that are given by alternatives.
    pub fn plan(gpu: &Gpu, stages: &[Alternatives]) -> Result<Vec<Self>, Error> {
        let planned = plan_stages(stages, |stage| stage.plan_on(gpu))?;
        Ok(planned.into_iter().map(|stage| GpuStage::Transpose(Box::new(stage))).collect())
    }

    /// Plans the stages of a rank before and after ranks swap `squares`.
    pub fn around_swap(
        change: &Redistribution,
        squares: &PeerSquares,
        rank: usize,
        gpu: &Gpu,
    ) -> Result<[Vec<Self>; 2], Error> {
        let after = change.stages_after_swap(squares);
        let Some(border) = &squares.border else {
            return Ok([Vec::new(), Self::plan(gpu, &after)?]);
        };
        let planner = Planner::new(gpu.device().clone());
        let plans = plan_stages(&after, |stage| Ok(planner.plan(&stage.problem()?)?))?;
        let (passes, plans): (Vec<_>, Vec<_>) =
            plans.into_iter().map(|(_, plan)| (format!("{plan}, then "), plan)).unzip();
        let (elem_bytes, limits) = (change.itemsize(), gpu.device().limits());
        let at = TargetParams { elem_bytes, alignment: ALIGNMENT as usize, limits };
        let prepare = |work: Result<Work, CudaError>, text| -> Result<_, Error> {
            let prepared = work.and_then(|work| gpu.prepare_work(work));
            Ok(vec![GpuStage::Panels(prepared.map_err(turntile::Error::from)?, text)])
        };
        let [source, result] = [border.source(rank), border.result(rank)];
        let [rows, cols] = source.core();
        let size = format!("{rows} x {} elements", cols * source.panels());
        Ok([
            prepare(
                Work::of_panels_together(source, at),
                format!("core of {size} moved together, {} others after it", source.border_len()),
            )?,
            prepare(
                Work::of_panels_apart(result, &plans, at),
                format!("{}core moved apart, {} others", passes.concat(), result.border_len()),
            )?,
        ])
    }

    /// Returns the bytes of workspace that a run needs.
    pub fn workspace_bytes(&self) -> usize {
        match self {
            GpuStage::Transpose(stage) => stage.1.workspace_bytes(),
            GpuStage::Panels(prepared, _) => prepared.workspace_bytes(),
        }
    }

    /// Queues the stage on `stream`, for a part at this address with this capacity in bytes.
    ///
    /// # Safety
    /// `part`, `stream` and `workspace` are of the stage's GPU. Until the queued work has ended,
    /// nothing else uses part and workspace, and `self` is not dropped.
    pub unsafe fn run(
        &self,
        part: (u64, usize),
        stream: *mut c_void,
        workspace: (u64, usize),
    ) -> Result<(), turntile::Error> {
        match self {
            GpuStage::Transpose(stage) => {
                let (range, stage) = &**stage;
                let range = (part.0 + range.start as u64, range.len());
                // SAFETY: the caller guarantees the conditions above.
                unsafe { stage.run_with(range, stream, workspace) }
            }
            GpuStage::Panels(prepared, _) => {
                let buffers = Buffers { data: part, source: None, workspace: Some(workspace) };
                // SAFETY: the caller guarantees the conditions above.
                Ok(unsafe { prepared.run_raw(stream, buffers) }?)
            }
        }
    }
}

impl fmt::Display for GpuStage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GpuStage::Transpose(stage) => stage.1.plan().fmt(f),
            GpuStage::Panels(_, text) => f.write_str(text),
        }
    }
}
