//! What a device offers for a shape, and what a plan holds of it.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use crate::stage_map::StageMap;

/// How a stage moves its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// Square: pairs of tiles across the diagonal change places. Cube: three tiles, each the next one's place.
    TileSwap,
    /// Read everything on chip, wait, write everything (thesis section 4.5).
    BarrierSync,
    /// Cycles followed by many workers, flags on chip: an instance for each group (Algorithm 1).
    PttwacOnChip,
    /// Cycles followed by many workers, flags in memory (Algorithm 2).
    PttwacGlobal,
    /// One worker a cycle, leaders found by walking, no flags (P-IPT). Needs no workspace.
    PIpt,
    /// Rows padded or unpadded in rounds, as many at a time as have room (equation 4.1).
    Rounds,
    /// Rows padded or unpadded one by one, a share of them for each worker; those whose packed places
    /// are in another's share are set aside meanwhile.
    Shares,
    /// Rows padded or unpadded by data sliding: every piece is read, then written once the pieces
    /// have been read that lie where it goes.
    Blocks,
    /// Read in one place and written in another.
    OutOfPlace,
    /// Everything into the workspace, and from there to its place.
    ThroughWorkspace,
    /// Rows change places with what lies where they go.
    GapSwap,
    /// Copied to the start of the workspace, or back.
    SaveGaps,
}

impl Method {
    /// The name that plans print.
    pub fn name(self) -> &'static str {
        match self {
            Method::TileSwap => "tile-swap",
            Method::BarrierSync => "barrier",
            Method::PttwacOnChip => "pttwac/on-chip",
            Method::PttwacGlobal => "pttwac/global",
            Method::PIpt => "p-ipt",
            Method::Rounds => "rounds",
            Method::Shares => "shares",
            Method::Blocks => "blocks",
            Method::OutOfPlace => "out-of-place",
            Method::ThroughWorkspace => "through-workspace",
            Method::GapSwap => "exchange",
            Method::SaveGaps => "keep",
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a device's crate makes of an offer to run it: plain data that it alone reads.
///
/// `Display` prints it whole.
pub trait LaunchConfigData: Any + fmt::Debug + fmt::Display + PartialEq + Send + Sync {
    /// What distinguishes one way of a method from another, to print behind the method's name.
    fn variant(&self) -> String;
}

/// [`LaunchConfigData`] of any device.
#[derive(Clone)]
pub struct LaunchConfig(Arc<dyn Erased>);

trait Erased: Any + fmt::Debug + fmt::Display + Send + Sync {
    fn variant(&self) -> String;
    fn same(&self, other: &dyn Any) -> bool;
}

impl<G: LaunchConfigData> Erased for G {
    fn variant(&self) -> String {
        LaunchConfigData::variant(self)
    }

    fn same(&self, other: &dyn Any) -> bool {
        other.downcast_ref::<G>() == Some(self)
    }
}

impl LaunchConfig {
    /// Of a device's own data.
    pub fn new(data: impl LaunchConfigData) -> Self {
        LaunchConfig(Arc::new(data))
    }

    /// The data, if they are of this type: of the crate that asks.
    pub fn get<G: LaunchConfigData>(&self) -> Option<&G> {
        let data: &dyn Any = &*self.0;
        data.downcast_ref()
    }

    /// What distinguishes it from other ways of its method.
    pub fn variant(&self) -> String {
        self.0.variant()
    }
}

impl PartialEq for LaunchConfig {
    fn eq(&self, other: &Self) -> bool {
        self.0.same(&*other.0)
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

/// A way to move a shape, as a device offers it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Implementation {
    /// How.
    pub method: Method,
    /// With what geometry.
    pub launch_config: LaunchConfig,
    /// Bytes of workspace beside the data.
    pub workspace_bytes: usize,
    /// Estimated seconds.
    pub seconds: f64,
}

impl Implementation {
    /// Of `workspace_bytes` bytes beside the data and an estimate of `seconds`.
    pub fn new(
        method: Method,
        geometry: LaunchConfig,
        workspace_bytes: usize,
        seconds: f64,
    ) -> Self {
        Implementation { method, launch_config: geometry, workspace_bytes, seconds }
    }

    /// Method and variant, as plans print them and wisdom remembers them: `barrier/grid`.
    pub fn name(&self) -> String {
        format!("{}{}", self.method, self.launch_config.variant())
    }
}

/// A stage of a plan: what moves where, and how.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Stage {
    /// What it does to offsets, in elements of its own.
    pub map: StageMap,
    /// Elements of the problem that are one of the stage's: more than one where a short last axis stays, which then
    /// moves as a longer element.
    pub elems_per_unit: usize,
    /// How it does it.
    pub implementation: Implementation,
}

impl Stage {
    /// Of the problem's own elements.
    pub fn new(shape: StageMap, offer: Implementation) -> Self {
        Stage { map: shape, elems_per_unit: 1, implementation: offer }
    }

    /// Trips of the whole array through memory.
    pub fn passes(&self) -> usize {
        match self.implementation.method {
            Method::ThroughWorkspace => 2,
            Method::SaveGaps => 0,
            _ => 1,
        }
    }

    /// Where the problem's element at `offset` goes.
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
