//! Implementations that a device provides for an index map, and the stages of a plan.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use crate::stage_map::StageMap;

/// Algorithm that executes one stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// Swaps pairs of tiles, across the diagonal of a square or by an involution of axes; rotates
    /// three tiles of a cube or four of a square; swaps runs of reversed axes.
    TileSwap,
    /// Reads an instance on chip, waits at a barrier, then writes it (thesis section 4.5).
    BarrierSync,
    /// Cuts every run of an instance into pieces, reads the pieces at one offset on chip and writes
    /// each to its run's destination, for a few long runs.
    Pieces,
    /// PTTWAC with flags on chip: one group of workers follows the cycles of each instance
    /// (thesis algorithm 1).
    PttwacOnChip,
    /// PTTWAC with flags in global memory: many workers follow the cycles (thesis algorithm 2).
    PttwacGlobal,
    /// P-IPT: one worker per cycle, without flags. Finds cycle leaders by walking the cycles. Needs
    /// no workspace.
    PIpt,
    /// Moves rows to another pitch in rounds: each round moves the rows whose destination is free
    /// (thesis equation 4.1).
    Rounds,
    /// Moves rows to another pitch one by one, with one share of consecutive rows per worker.
    ///
    /// Rows whose position at the smaller pitch is in the memory of another worker's share are
    /// saved in the workspace.
    Shares,
    /// Moves rows to another pitch by data sliding, in blocks: each block is read, and written once
    /// the blocks at its destination have been read.
    Blocks,
    /// Reads the source and writes the result to another buffer.
    OutOfPlace,
    /// Writes the transpose to the workspace, then copies it back row by row.
    ThroughWorkspace,
    /// Swaps rows with the gap elements at their destination.
    GapSwap,
    /// Copies gap elements to the start of the workspace, or restores them.
    SaveGaps,
}

impl Method {
    /// Returns the name that plans print.
    pub fn name(self) -> &'static str {
        match self {
            Method::TileSwap => "tile-swap",
            Method::BarrierSync => "barrier",
            Method::Pieces => "pieces",
            Method::PttwacOnChip => "pttwac/on-chip",
            Method::PttwacGlobal => "pttwac/global",
            Method::PIpt => "p-ipt",
            Method::Rounds => "rounds",
            Method::Shares => "shares",
            Method::Blocks => "blocks",
            Method::OutOfPlace => "out-of-place",
            Method::ThroughWorkspace => "through-workspace",
            Method::GapSwap => "swap-gaps",
            Method::SaveGaps => "save-gaps",
        }
    }
}

impl StageMap {
    /// Returns the methods that may implement the map, in order of preference between equal
    /// estimates.
    ///
    /// A backend may support only part of them. Only [`OutOfPlace`](Method::OutOfPlace) writes to
    /// another buffer.
    pub fn methods(&self) -> &'static [Method] {
        use Method::{
            BarrierSync, Blocks, GapSwap, OutOfPlace, PIpt, Pieces, PttwacGlobal, PttwacOnChip,
            Rounds, SaveGaps, Shares, ThroughWorkspace, TileSwap,
        };
        /// Methods before those of any axes.
        macro_rules! any {
            ($($method:ident),*) => { &[$($method,)* PttwacGlobal, PIpt, OutOfPlace] };
        }
        match self {
            StageMap::Axes(axes) => {
                let elementary = axes.elementary();
                let tiles = axes.is_involution() || elementary.is_some_and(|e| e.is_of_tiles());
                let separate = elementary.is_some_and(|e| e.mid == 1);
                match (tiles, separate, axes.unit() > 1) {
                    (true, true, true) => any![TileSwap, BarrierSync, Pieces, PttwacOnChip],
                    (true, true, false) => any![TileSwap, BarrierSync, PttwacOnChip],
                    (true, false, true) => any![TileSwap, BarrierSync, Pieces],
                    (true, false, false) => any![TileSwap, BarrierSync],
                    (false, true, true) => any![BarrierSync, Pieces, PttwacOnChip],
                    (false, true, false) => any![BarrierSync, PttwacOnChip],
                    (false, false, true) => any![BarrierSync, Pieces],
                    (false, false, false) => any![BarrierSync],
                }
            }
            StageMap::Flipped(axes) if axes.is_flip() => &[TileSwap],
            StageMap::Flipped(axes) if axes.squares().is_some() => &[TileSwap, PttwacGlobal, PIpt],
            StageMap::Flipped(_) => &[PttwacGlobal, PIpt],
            StageMap::SlotGather { .. } | StageMap::RecordGather { .. } => &[BarrierSync],
            StageMap::SlotMove { .. } | StageMap::RecordMove { .. } => &[PttwacGlobal, PIpt],
            StageMap::RecordTiles(_) => &[BarrierSync, Pieces, PttwacGlobal, PIpt],
            StageMap::Slide(_) => &[Rounds, Blocks, Shares],
            StageMap::Reshape(leading) if leading.is_transposed() => &[],
            StageMap::Reshape(_) => &[Rounds],
            // Not `Rounds`: few cut columns allow only short rounds, and counting the rounds for
            // every tile side took longer than the rest of planning.
            StageMap::Cut { .. } if self.slide().is_none() => &[],
            StageMap::Cut { .. } => &[Blocks, Shares],
            StageMap::TileRows(_) => &[PttwacGlobal],
            StageMap::TransposeRows(leading) if !leading.is_transposed() => &[],
            StageMap::TransposeRows(leading) => {
                match leading.source().pitch() == leading.result().pitch() {
                    true => &[TileSwap, ThroughWorkspace],
                    false => &[ThroughWorkspace],
                }
            }
            StageMap::Gaps { .. } => &[SaveGaps],
            StageMap::SwapGaps { .. } => &[GapSwap],
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Launch configuration of a backend: plain data that only this backend reads.
///
/// `Display` prints all of it, on one or more lines.
pub trait LaunchConfigData: Any + fmt::Debug + fmt::Display + PartialEq + Send + Sync {
    /// Returns the suffix that distinguishes configurations of one method, such as `/grid`.
    ///
    /// Plans print it after the method name.
    fn variant(&self) -> String;
}

/// Type-erased [`LaunchConfigData`] of any backend.
#[derive(Clone)]
pub struct LaunchConfig(Arc<dyn ErasedConfig>);

trait ErasedConfig: Any + fmt::Debug + fmt::Display + Send + Sync {
    fn variant(&self) -> String;
    fn equals(&self, other: &dyn Any) -> bool;
}

impl<G: LaunchConfigData> ErasedConfig for G {
    fn variant(&self) -> String {
        LaunchConfigData::variant(self)
    }

    fn equals(&self, other: &dyn Any) -> bool {
        other.downcast_ref::<G>() == Some(self)
    }
}

impl LaunchConfig {
    /// Wraps the launch configuration of a backend.
    pub fn new(data: impl LaunchConfigData) -> Self {
        LaunchConfig(Arc::new(data))
    }

    /// Returns the configuration if its type is `G`, else `None`, as for another backend's.
    pub fn get<G: LaunchConfigData>(&self) -> Option<&G> {
        let data: &dyn Any = &*self.0;
        data.downcast_ref()
    }

    /// Returns the suffix that distinguishes this configuration from others of its method.
    pub fn variant(&self) -> String {
        self.0.variant()
    }
}

impl PartialEq for LaunchConfig {
    fn eq(&self, other: &Self) -> bool {
        self.0.equals(&*other.0)
    }
}

impl fmt::Debug for LaunchConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for LaunchConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&*self.0, f)
    }
}

/// Implementation of an index map: an algorithm with its launch configuration, workspace and
/// estimated time.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Implementation {
    /// Algorithm that executes the index map.
    pub method: Method,
    /// Launch configuration for the backend.
    pub launch_config: LaunchConfig,
    /// Workspace in bytes, in addition to the data.
    pub workspace_bytes: usize,
    /// Estimated time in seconds.
    pub seconds: f64,
}

impl Implementation {
    /// Creates an implementation with a workspace of `workspace_bytes` bytes and an estimated time
    /// of `seconds`.
    pub fn new(
        method: Method,
        launch_config: LaunchConfig,
        workspace_bytes: usize,
        seconds: f64,
    ) -> Self {
        Implementation { method, launch_config, workspace_bytes, seconds }
    }

    /// Returns method and variant, as plans print and wisdom stores them: `barrier/grid`.
    pub fn name(&self) -> String {
        format!("{}{}", self.method, self.launch_config.variant())
    }
}

/// Stage of a plan: an index map and the implementation that executes it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Stage {
    /// Index map, in units of `elems_per_unit` elements.
    pub map: StageMap,
    /// Number of problem elements per element of the map.
    ///
    /// More than 1 if a short last axis stays last, or if several words of records stay together:
    /// they then move as one longer element.
    pub elems_per_unit: usize,
    /// Implementation that executes the stage.
    pub implementation: Implementation,
}

impl Stage {
    /// Creates a stage whose map has offsets in single elements of the problem.
    pub fn new(map: StageMap, implementation: Implementation) -> Self {
        Stage { map, elems_per_unit: 1, implementation }
    }

    /// Returns the number of times that the stage reads and writes the whole array.
    pub fn passes(&self) -> usize {
        match self.implementation.method {
            Method::ThroughWorkspace => 2,
            Method::SaveGaps => 0,
            _ => 1,
        }
    }

    /// Returns the new offset of the problem element at `offset`.
    pub fn dest(&self, offset: usize) -> usize {
        self.map.dest(offset / self.elems_per_unit) * self.elems_per_unit
            + offset % self.elems_per_unit
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.map, self.implementation.name())?;
        if self.elems_per_unit > 1 {
            write!(f, " of {} elements each", self.elems_per_unit)
        } else {
            Ok(())
        }
    }
}
