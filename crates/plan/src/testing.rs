//! Synthetic device for tests, described by three numbers.

use std::fmt;

use turntile_perm::AlignedSlots;

use crate::device::{Device, SlotParams, StageRequest};
use crate::implementation::{Implementation, LaunchConfig, LaunchConfigData, Method};
use crate::infeasible::Infeasible;
use crate::problem::Problem;
use crate::stage_map::StageMap;

/// Synthetic device.
#[derive(Clone, Debug)]
pub struct Toy {
    /// On-chip capacity in bytes, both of a worker and of a group.
    pub held: usize,
    /// Bytes per second of the fastest methods.
    pub speed: f64,
    /// Maximum number of axes that one stage permutes.
    pub max_axes: usize,
}

impl Default for Toy {
    fn default() -> Self {
        Toy { held: 48 << 10, speed: 1e9, max_axes: usize::MAX }
    }
}

#[derive(Debug, PartialEq)]
struct NoConfig;

impl fmt::Display for NoConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no launch configuration")
    }
}

impl LaunchConfigData for NoConfig {
    fn variant(&self) -> String {
        String::new()
    }
}

impl Device for Toy {
    fn name(&self) -> &str {
        "toy"
    }

    fn model(&self) -> String {
        format!("toy {}", self.held)
    }

    fn default_cap(&self, problem: &Problem) -> usize {
        problem.bytes() / 10
    }

    fn on_chip_bytes(&self) -> [usize; 2] {
        [self.held; 2]
    }

    fn least_seconds(&self, bytes: usize) -> f64 {
        bytes as f64 / self.speed
    }

    fn aligned_slots(&self, s: &SlotParams, chunk: usize) -> Option<AlignedSlots> {
        AlignedSlots::new(s.rows, s.cols, s.slot, chunk)
    }

    fn chunk_lengths(&self, s: &SlotParams, every: bool) -> Vec<usize> {
        let most = if every { 4 } else { 1 };
        // A chunk of all rows requires that the whole matrix fits on chip.
        let fits = |chunk: usize| chunk < s.rows || chunk * s.cols * s.elem_bytes <= self.held;
        (1..=most).map(|k| k * s.slot).filter(|&chunk| chunk <= s.rows && fits(chunk)).collect()
    }

    fn implementations(
        &self,
        map: &StageMap,
        request: &StageRequest,
    ) -> Result<Vec<Implementation>, Infeasible> {
        let unit = (map.unit() * request.elem_bytes) as f64;
        let bytes = map.len() * request.elem_bytes;
        let implementation = |method, workspace_bytes, fraction: f64| {
            let seconds = bytes as f64 / (self.speed * fraction);
            Implementation {
                method,
                launch_config: LaunchConfig::new(NoConfig),
                workspace_bytes,
                seconds,
            }
        };
        if let StageMap::Axes(axes) = map
            && axes.extents().len() > self.max_axes
        {
            let (count, most) = (axes.extents().len(), self.max_axes);
            return Err(Infeasible::TooMany { what: "axes", count, most });
        }
        let mut all = Vec::new();
        // Adjacent squares are separate instances on chip.
        let squares = map.elementary().filter(|e| e.is_squares());
        let instance = squares.map_or(map.instance_len(), |e| e.rows * e.cols);
        let fits = instance * request.elem_bytes <= self.held;
        match map {
            StageMap::Axes(_) => {
                if let Some(e) = map.elementary() {
                    if e.is_squares() && e.mid == 1 {
                        all.push(implementation(Method::TileSwap, 0, 1.0));
                    }
                    if fits {
                        all.push(implementation(Method::BarrierSync, 0, 0.9));
                    }
                }
                all.push(implementation(
                    Method::PttwacGlobal,
                    map.len() / 32,
                    (unit / 1e4).min(0.8),
                ));
                all.push(implementation(Method::PIpt, 0, (unit / 1e6).min(0.5)));
            }
            StageMap::Flipped(axes) => {
                if map.methods().contains(&Method::TileSwap) {
                    all.push(implementation(Method::TileSwap, 0, 1.0));
                }
                if !axes.is_flip() {
                    let fraction = (unit / 1e4).min(0.8);
                    all.push(implementation(Method::PttwacGlobal, map.len() / 32, fraction));
                }
            }
            StageMap::SlotGather { .. } | StageMap::RecordGather { .. } => {
                all.push(implementation(Method::BarrierSync, 64, 0.5));
            }
            StageMap::RecordTiles(change) => {
                let period = change.period() * change.schema().words() * request.elem_bytes;
                all.extend(
                    (period <= self.held).then(|| implementation(Method::BarrierSync, 0, 0.9)),
                );
                all.push(implementation(Method::PIpt, 0, 0.01));
            }
            StageMap::SlotMove { .. } | StageMap::RecordMove { .. } => {
                all.push(implementation(Method::PttwacGlobal, 64, 0.5));
                all.push(implementation(Method::PIpt, 0, 0.01));
            }
            StageMap::Cut { rows, .. } => {
                let gaps = rows.gaps() * request.elem_bytes;
                all.push(implementation(Method::Shares, gaps, 0.5));
            }
            StageMap::TransposeRows(leading) => {
                let equal = leading.source().pitch() == leading.result().pitch();
                all.extend(equal.then(|| implementation(Method::TileSwap, 0, 1.0)));
                all.push(implementation(Method::ThroughWorkspace, bytes, 0.5));
            }
            StageMap::TileRows(_) => all.push(implementation(Method::PttwacGlobal, 64, 0.5)),
            StageMap::Slide(_) | StageMap::Reshape(_) => {
                all.push(implementation(Method::Rounds, 0, 0.7))
            }
            StageMap::Gaps { .. } => all.push(implementation(Method::SaveGaps, 0, 1.0)),
            StageMap::SwapGaps { .. } => all.push(implementation(Method::GapSwap, 0, 1.0)),
        }
        all.retain(|one| request.methods.accepts(one.method));
        let Some(need) = all.iter().map(|one| one.workspace_bytes).min() else {
            return Err(Infeasible::NoImplementation { shape: map.to_string() });
        };
        all.retain(|one| one.workspace_bytes <= request.cap);
        if all.is_empty() { Err(Infeasible::Workspace { need, cap: request.cap }) } else { Ok(all) }
    }
}
