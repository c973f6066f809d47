//! Launches of a stage on a GPU, as stored in a plan.

use std::fmt;

use turntile_plan::{LaunchConfigData, StageMap};

use crate::buffers::WORKSPACE_ALIGNMENT;
use crate::launch::{CheckedLaunch, WorkspacePart};
use crate::lower::Cost;
use crate::strategy::Strategy;

/// Launches of a stage, as offered to the planner and later executed.
///
/// A list records the stage that it was made for, and running it for another stage is rejected.
#[derive(Clone, Debug, PartialEq)]
pub struct LaunchList {
    /// Index map that the launches implement.
    pub(crate) shape: StageMap,
    pub(crate) elem_bytes: usize,
    /// Required alignment of the matrix address, in bytes.
    pub(crate) alignment: usize,
    /// Strategy that was lowered to these launches.
    pub(crate) strategy: Strategy,
    /// Launches, in order.
    pub(crate) calls: Vec<CheckedLaunch>,
    /// Operation and quantities for the cost table, or `None` if the table does not contain the operation.
    pub(crate) cost: Option<Cost>,
}

impl LaunchList {
    /// Returns `true` if the launches were made for this stage.
    pub fn is_for(&self, shape: &StageMap, elem_bytes: usize) -> bool {
        (&self.shape, self.elem_bytes) == (shape, elem_bytes)
    }

    /// Returns the launches, in order.
    pub fn calls(&self) -> &[CheckedLaunch] {
        &self.calls
    }

    /// Returns the required alignment of the matrix address, in bytes.
    pub fn alignment(&self) -> usize {
        self.alignment
    }

    /// Returns the workspace bytes of data that one launch leaves to later ones. For cut, rounded up to the workspace alignment,
    /// because flags follow.
    pub fn held_bytes(&self) -> usize {
        let bytes = |elements: usize| elements.saturating_mul(self.elem_bytes);
        match (&self.shape, self.strategy) {
            (_, Strategy::ThroughWorkspace) => bytes(self.shape.len()),
            (StageMap::Cut { rows, .. }, _) => {
                let held = bytes(rows.gaps()).checked_next_multiple_of(WORKSPACE_ALIGNMENT);
                held.unwrap_or(usize::MAX)
            }
            _ => 0,
        }
    }

    /// Returns the bytes of workspace: the data left to later launches plus the largest part that a launch uses, rounded up to a
    /// multiple of 8.
    pub fn workspace_bytes(&self) -> usize {
        let most = self.calls.iter().map(|call| call.workspace.bytes()).max().unwrap_or(0);
        let all = most.saturating_add(self.held_bytes());
        all.checked_next_multiple_of(8).unwrap_or(usize::MAX)
    }
}

impl LaunchConfigData for LaunchList {
    fn variant(&self) -> String {
        self.strategy.variant()
    }
}

/// Maximum number of launches that are printed; the others are counted.
const PRINTED: usize = 3;

impl fmt::Display for LaunchList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (k, call) in self.calls.iter().take(PRINTED).enumerate() {
            if k > 0 {
                writeln!(f)?;
            }
            write!(f, "{} {} x {} threads", call.kernel(), call.groups, call.threads)?;
            if call.shared_bytes > 0 {
                write!(f, ", {} bytes on chip", call.shared_bytes)?;
            }
            match call.workspace {
                WorkspacePart::None => {}
                WorkspacePart::Flags(bytes) => write!(f, ", {bytes} bytes of flags")?,
                WorkspacePart::Saved(bytes) => write!(f, ", {bytes} bytes set aside")?,
            }
        }
        match self.calls.len().saturating_sub(PRINTED) {
            0 => Ok(()),
            more => write!(f, "\nand {more} more launches"),
        }
    }
}
