//! The launches of a stage on a GPU, as a plan holds them.

use std::fmt;

use turntile_plan::{LaunchConfigData, StageMap};

use crate::buffers::WORKSPACE_ALIGNMENT;
use crate::launch::{CheckedLaunch, WorkspacePart};
use crate::lower::Cost;
use crate::strategy::Strategy;

/// The launches of a stage, as they were offered and as they will be run.
///
/// They know what they were made for, so that they run nothing else.
#[derive(Clone, Debug, PartialEq)]
pub struct LaunchList {
    /// What they move.
    pub(crate) shape: StageMap,
    pub(crate) elem_bytes: usize,
    /// Alignment of the matrix's address that they rely on, in bytes.
    pub(crate) alignment: usize,
    /// The way that they were made of.
    pub(crate) strategy: Strategy,
    /// In order.
    pub(crate) calls: Vec<CheckedLaunch>,
    /// What their cost is looked up by; none where a table has no such operation.
    pub(crate) cost: Option<Cost>,
}

impl LaunchList {
    /// Whether they were made for this stage.
    pub fn is_for(&self, shape: &StageMap, elem_bytes: usize) -> bool {
        (&self.shape, self.elem_bytes) == (shape, elem_bytes)
    }

    /// The launches, in order.
    pub fn calls(&self) -> &[CheckedLaunch] {
        &self.calls
    }

    /// Alignment of the matrix's address that they rely on, in bytes.
    pub fn alignment(&self) -> usize {
        self.alignment
    }

    /// Bytes of workspace that launches hand on to others; flags lie behind them, as aligned as the workspace.
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

    /// Bytes of workspace: the largest that a launch needs, behind what is handed on, a multiple of 8.
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

/// Launches that are printed one by one.
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
