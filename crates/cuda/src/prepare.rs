//! What is checked before anything is launched.

use turntile_plan::{DeviceKind, Plan, Stage};

use crate::call::{Call, Device};
use crate::error::CudaError;
use crate::lower::lower_all;

/// Launches, and the memory that they are for.
#[derive(Clone, Debug, PartialEq)]
pub struct Work {
    /// In order.
    pub calls: Vec<Call>,
    /// Bytes of the matrix, and of the room behind it that the launches use.
    pub bytes: usize,
    /// Alignment of the matrix's address that the launches rely on, in bytes.
    pub alignment: usize,
}

/// Alignment of the workspace's address.
const WORKSPACE_ALIGNMENT: usize = 16;

impl Work {
    /// What `plan` comes to on `device`, for a matrix whose address is a multiple of `alignment`.
    ///
    /// # Errors
    /// [`CudaError::NotForGpu`], or [`CudaError::Infeasible`] with the stage that has no kernel.
    pub fn of_plan(plan: &Plan, alignment: usize, device: &Device) -> Result<Self, CudaError> {
        if plan.kind != DeviceKind::Gpu {
            return Err(CudaError::NotForGpu { device: plan.device.to_string() });
        }
        Self::of_stages(
            &plan.stages,
            plan.problem.elem_bytes(),
            plan.room_bytes(),
            alignment,
            device,
        )
    }

    /// What `stages` come to, over `bytes` bytes.
    ///
    /// # Errors
    /// [`CudaError::Infeasible`] with the stage that has no kernel.
    pub fn of_stages(
        stages: &[Stage],
        elem_bytes: usize,
        bytes: usize,
        alignment: usize,
        device: &Device,
    ) -> Result<Self, CudaError> {
        let calls = stages
            .iter()
            .filter(|stage| !stage.shape.is_empty())
            .map(|stage| {
                lower_all(stage, elem_bytes, alignment, device)
                    .map_err(|why| CudaError::Infeasible { stage: stage.to_string(), why })
            })
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Work { calls: calls.concat(), bytes, alignment })
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

#[cfg(test)]
mod tests {
    use super::*;
    use turntile_plan::{Limits, Planner, Problem};

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
