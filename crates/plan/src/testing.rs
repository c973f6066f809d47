//! A device for tests: it offers what its few numbers say.

use std::fmt;

use turntile_perm::AlignedSlots;

use crate::device::{Device, SlotParams, StageRequest};
use crate::implementation::{Implementation, LaunchConfig, LaunchConfigData, Method};
use crate::infeasible::Infeasible;
use crate::problem::Problem;
use crate::stage_map::StageMap;

/// Holds `held` bytes on chip, and moves `speed` bytes a second where super-elements are long.
#[derive(Clone, Debug)]
pub struct Toy {
    pub held: usize,
    pub speed: f64,
}

impl Default for Toy {
    fn default() -> Self {
        Toy { held: 48 << 10, speed: 1e9 }
    }
}

#[derive(Debug, PartialEq)]
struct Nothing;

impl fmt::Display for Nothing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no geometry")
    }
}

impl LaunchConfigData for Nothing {
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
        // One chunk is all of the matrix on chip.
        let held = |chunk: usize| chunk < s.rows || chunk * s.cols * s.elem_bytes <= self.held;
        (1..=most).map(|k| k * s.slot).filter(|&chunk| chunk <= s.rows && held(chunk)).collect()
    }

    fn implementations(
        &self,
        shape: &StageMap,
        request: &StageRequest,
    ) -> Result<Vec<Implementation>, Infeasible> {
        let unit = (shape.unit() * request.elem_bytes) as f64;
        let bytes = shape.len() * request.elem_bytes;
        let offer = |method, workspace_bytes, fraction: f64| {
            let seconds = bytes as f64 / (self.speed * fraction);
            Implementation {
                method,
                launch_config: LaunchConfig::new(Nothing),
                workspace_bytes,
                seconds,
            }
        };
        let mut all = Vec::new();
        // Squares side by side are held one by one.
        let squares = shape.elementary().filter(|e| e.is_squares());
        let instance = squares.map_or(shape.instance_len(), |e| e.rows * e.cols);
        let held = instance * request.elem_bytes <= self.held;
        match shape {
            StageMap::Axes(_) => {
                if let Some(e) = shape.elementary() {
                    if e.is_squares() && e.mid == 1 {
                        all.push(offer(Method::TileSwap, 0, 1.0));
                    }
                    if held {
                        all.push(offer(Method::BarrierSync, 0, 0.9));
                    }
                }
                all.push(offer(Method::PttwacGlobal, shape.len() / 32, (unit / 1e4).min(0.8)));
                all.push(offer(Method::PIpt, 0, (unit / 1e6).min(0.5)));
            }
            StageMap::SlotGather { .. } | StageMap::RecordGather { .. } => {
                all.push(offer(Method::BarrierSync, 64, 0.5));
            }
            StageMap::RecordTiles(retile) => {
                let period = retile.period() * retile.fields().words() * request.elem_bytes;
                all.extend((period <= self.held).then(|| offer(Method::BarrierSync, 0, 0.9)));
                all.push(offer(Method::PIpt, 0, 0.01));
            }
            StageMap::SlotMove { .. } | StageMap::RecordMove { .. } => {
                all.push(offer(Method::PttwacGlobal, 64, 0.5));
                all.push(offer(Method::PIpt, 0, 0.01));
            }
            StageMap::Cut { rows, .. } => {
                let gaps = rows.gaps() * request.elem_bytes;
                all.push(offer(Method::Shares, gaps, 0.5));
            }
            StageMap::TransposeRows(leading) => {
                let equal = leading.source().pitch() == leading.result().pitch();
                all.extend(equal.then(|| offer(Method::TileSwap, 0, 1.0)));
                all.push(offer(Method::ThroughWorkspace, bytes, 0.5));
            }
            StageMap::TileRows(_) => all.push(offer(Method::PttwacGlobal, 64, 0.5)),
            StageMap::Slide(_) => all.push(offer(Method::Rounds, 0, 0.7)),
            StageMap::Gaps { .. } => all.push(offer(Method::SaveGaps, 0, 1.0)),
            StageMap::SwapGaps { .. } => all.push(offer(Method::GapSwap, 0, 1.0)),
        }
        all.retain(|offer| request.methods.accepts(offer.method));
        let Some(need) = all.iter().map(|offer| offer.workspace_bytes).min() else {
            return Err(Infeasible::NoWay { shape: shape.to_string() });
        };
        all.retain(|offer| offer.workspace_bytes <= request.cap);
        if all.is_empty() { Err(Infeasible::Workspace { need, cap: request.cap }) } else { Ok(all) }
    }
}
