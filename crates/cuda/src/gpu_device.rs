//! A GPU as a device: what it offers. Plain data: there need be none.

use std::cell::OnceCell;
use std::sync::{Arc, OnceLock};

use turntile_perm::AlignedSlots;
use turntile_plan::cost_table::Sample;
use turntile_plan::{
    CostTable, CostTableError, Device, Implementation, Infeasible, LaunchConfig, Problem,
    SlotParams, Stage, StageMap, StageRequest,
};

use crate::error::LowerError;
use crate::estimate;
use crate::launch::{DeviceLimits, widest_word};
use crate::launch_list::LaunchList;
use crate::lower::{self, TargetParams, fields, grid_register_bytes, runs};
use crate::names::{Constant, NAMES};
use crate::strategies;
use crate::strategy::Strategy;

/// A model of GPU.
#[derive(Clone, Debug)]
pub struct GpuDevice {
    name: String,
    limits: DeviceLimits,
    costs: Arc<CostTable>,
}

/// Workspace that a plan may use where 2% of the matrix are less.
const LEAST_CAP: usize = 16 << 20;

/// The cost table of the H200, of which those of others are made.
fn h200_costs() -> Arc<CostTable> {
    static COSTS: OnceLock<Arc<CostTable>> = OnceLock::new();
    let text = include_str!("../devices/h200.json");
    let parse = || CostTable::parse(text, NAMES).expect("tested");
    COSTS.get_or_init(|| Arc::new(parse())).clone()
}

/// What a copy reaches of the bandwidth that a card's clock and bus width make: the H200's 4.2 of 4.8 TB/s.
const COPY_OF_PEAK: f64 = 0.875;
/// Bytes a second of the H200's memory.
const H200_PEAK: f64 = 4.8e12;

impl GpuDevice {
    /// Number of the constant that a copy's speed is in its table, in bytes a second.
    pub const COPY: usize = Constant::Copy as usize;

    /// A chip with these limits that moves things as `costs` say.
    pub fn new(name: impl Into<String>, limits: DeviceLimits, costs: CostTable) -> Self {
        GpuDevice { name: name.into(), limits, costs: Arc::new(costs) }
    }

    /// NVIDIA H200: 132 multiprocessors, 227 KiB opt-in shared memory, clusters of 16; measured.
    pub fn h200() -> Self {
        GpuDevice { name: "h200".into(), limits: DeviceLimits::H200, costs: h200_costs() }
    }

    /// NVIDIA H100 (SXM): an H200 with memory of 3.35 TB/s; not measured.
    pub fn h100() -> Self {
        GpuDevice::like_h200("h100", DeviceLimits::H200, 3.35e12)
    }

    /// NVIDIA A100 (80 GB): 108 multiprocessors, 163 KiB opt-in shared memory, 1.94 TB/s; not measured.
    pub fn a100() -> Self {
        let limits = DeviceLimits {
            units: 108,
            shared_bytes: 163 << 10,
            unit_shared_bytes: 164 << 10,
            cluster: 1,
            ..DeviceLimits::H200
        };
        GpuDevice::like_h200("a100", limits, 1.94e12)
    }

    /// A chip that no table was made for: as the H200, of which it has the operations, at the speed of its own
    /// memory, `peak` bytes a second, or where that is not known of as many multiprocessors.
    pub fn like_h200(name: impl Into<String>, limits: DeviceLimits, peak: f64) -> Self {
        let costs = CostTable::clone(&h200_costs());
        let of_units = H200_PEAK * limits.units as f64 / DeviceLimits::H200.units as f64;
        let peak = if peak > 0.0 { peak } else { of_units };
        let costs = costs.with_constant(Self::COPY, peak * COPY_OF_PEAK);
        GpuDevice::new(name, limits, costs)
    }

    /// Every preset.
    pub fn presets() -> [Self; 3] {
        [GpuDevice::h200(), GpuDevice::h100(), GpuDevice::a100()]
    }

    /// The preset of that name.
    pub fn preset(name: &str) -> Option<Self> {
        Self::presets().into_iter().find(|chip| chip.name.eq_ignore_ascii_case(name))
    }

    /// What decides its launches.
    pub fn limits(&self) -> &DeviceLimits {
        &self.limits
    }

    /// Under another name, as a card gives its own.
    #[must_use]
    pub fn named(self, name: impl Into<String>) -> Self {
        GpuDevice { name: name.into(), ..self }
    }

    /// With other limits.
    #[must_use]
    pub fn with_limits(self, limits: DeviceLimits) -> Self {
        GpuDevice { limits, ..self }
    }

    /// With costs of one's own.
    #[must_use]
    pub fn with_costs(self, costs: impl Into<Arc<CostTable>>) -> Self {
        GpuDevice { costs: costs.into(), ..self }
    }

    /// Reads a table of a GPU's costs.
    ///
    /// # Errors
    /// [`CostTableError`]: it is no table of a GPU.
    pub fn costs_from(text: &str) -> Result<CostTable, CostTableError> {
        CostTable::parse(text, NAMES)
    }

    /// Its costs.
    pub fn costs(&self) -> &CostTable {
        &self.costs
    }

    /// With the speed of copies, bytes a second read and written.
    #[must_use]
    pub fn copying(self, speed: f64) -> Self {
        let costs = self.costs.as_ref().clone().with_constant(Self::COPY, speed.round());
        self.with_costs(costs)
    }

    /// What a stage of elements of so many bytes that took `seconds` here reached of a copy: to fit a table to. None for
    /// another device's stage, for one without launches, and for one that did not take longer than to start.
    pub fn sample(&self, stage: &Stage, elem_bytes: usize, seconds: f64) -> Option<Sample> {
        let (launches, at) = self.launches_of(stage, elem_bytes)?;
        estimate::sample(&stage.map, launches, at, &self.costs, seconds)
    }

    /// Seconds that its table says of a stage of elements of so many bytes; none for another device's.
    pub fn estimated(&self, stage: &Stage, elem_bytes: usize) -> Option<f64> {
        let (launches, at) = self.launches_of(stage, elem_bytes)?;
        Some(estimate::seconds(&stage.map, launches, at, &self.costs, &OnceCell::new()))
    }

    fn launches_of<'a>(
        &'a self,
        stage: &'a Stage,
        elem_bytes: usize,
    ) -> Option<(&'a LaunchList, TargetParams<'a>)> {
        let elem_bytes = elem_bytes * stage.elems_per_unit;
        let launches = stage.implementation.launch_config.get::<LaunchList>()?;
        let at = TargetParams { elem_bytes, alignment: launches.alignment, limits: &self.limits };
        launches.is_for(&stage.map, elem_bytes).then_some((launches, at))
    }

    /// On-chip bytes of the whole device, as a barrier over the grid can use them.
    fn grid_bytes(&self) -> usize {
        let DeviceLimits { units, shared_bytes, cooperative, .. } = self.limits;
        if cooperative { units * (shared_bytes + grid_register_bytes(&self.limits)) } else { 0 }
    }

    /// On-chip bytes that the gather pass can use for its chunks: the shared memory of all units, less a tenth
    /// for padded rows and for what a split into strips wastes.
    fn gather_bytes(&self) -> usize {
        let DeviceLimits { units, shared_bytes, cooperative, .. } = self.limits;
        if cooperative { units * shared_bytes / 10 * 9 } else { 0 }
    }

    /// Visits launches of every way that the request wants and allows, with their seconds. A visit says how many seconds
    /// are worth another one: ways that are known to take more before they are lowered are passed over.
    fn launches(
        &self,
        shape: &StageMap,
        request: &StageRequest,
        mut visit: impl FnMut(LaunchList, f64) -> f64,
    ) -> Result<(), Infeasible> {
        let alignment = widest_word(&[request.alignment]);
        let at = TargetParams { elem_bytes: request.elem_bytes, alignment, limits: &self.limits };
        let (mut any, mut refused, mut least) = (false, None, None);
        let (grid_bytes, short_cycles) = (self.grid_bytes(), OnceCell::new());
        let mut bound = f64::INFINITY;
        for strategy in strategies::strategies(shape, request.out_of_place, at, grid_bytes) {
            if !request.accepts(strategy.method()) || !shape.methods().contains(&strategy.method())
            {
                continue;
            }
            let costs = &self.costs;
            if any && estimate::least(shape, strategy, at, costs, &short_cycles) >= bound {
                continue;
            }
            let (calls, cost) = match lower::lowered(shape, strategy, at) {
                Ok(lowered) => lowered,
                Err(why) => {
                    refused = refused.or(Some(why));
                    continue;
                }
            };
            let elem_bytes = at.elem_bytes;
            let launches =
                LaunchList { shape: shape.clone(), elem_bytes, alignment, strategy, calls, cost };
            let need = launches.workspace_bytes();
            if need > request.cap {
                least = Some(least.map_or(need, |least: usize| least.min(need)));
                continue;
            }
            any = true;
            let seconds = estimate::seconds(shape, &launches, at, costs, &short_cycles);
            bound = visit(launches, seconds);
        }
        match (any, least, refused) {
            (true, _, _) => Ok(()),
            (false, Some(need), _) => Err(Infeasible::Workspace { need, cap: request.cap }),
            (false, None, Some(why)) => Err(why.of(shape)),
            (false, None, None) => {
                let need = shape.instance_len().saturating_mul(request.elem_bytes);
                let have = self.limits.shared_bytes.max(grid_bytes).max(self.gather_bytes());
                let held = !shape.has_gaps();
                Err(if held && need > have {
                    Infeasible::OnChip { need, have }
                } else {
                    Infeasible::NoImplementation { shape: shape.to_string() }
                })
            }
        }
    }

    fn offer(launches: LaunchList, seconds: f64) -> Implementation {
        let (method, bytes) = (launches.strategy.method(), launches.workspace_bytes());
        Implementation::new(method, LaunchConfig::new(launches), bytes, seconds)
    }
}

impl Device for GpuDevice {
    fn name(&self) -> &str {
        &self.name
    }

    fn model(&self) -> String {
        let DeviceLimits { units, shared_bytes, registers, cluster, cooperative, .. } = self.limits;
        format!(
            "{} units {units} on-chip {shared_bytes}+{registers} clusters {cluster} grid {}",
            self.name,
            u8::from(cooperative)
        )
    }

    /// 2% of the matrix, or 16 MiB where that is more, and what is kept of gaps, which nothing here exchanges.
    fn default_cap(&self, problem: &Problem) -> usize {
        (problem.bytes() / 50).max(LEAST_CAP).saturating_add(problem.saved_gap_bytes())
    }

    fn on_chip_bytes(&self) -> [usize; 2] {
        let DeviceLimits { shared_bytes, cluster, .. } = self.limits;
        [shared_bytes, shared_bytes * cluster]
    }

    fn on_chip_bytes_total(&self) -> usize {
        self.grid_bytes()
    }

    fn least_seconds(&self, bytes: usize) -> f64 {
        estimate::least_seconds(&self.costs, bytes)
    }

    /// Column by column.
    fn aligned_slots(&self, s: &SlotParams, chunk: usize) -> Option<AlignedSlots> {
        AlignedSlots::new(s.rows, s.cols, s.slot, chunk)
    }

    /// Of one slot and of two, and what a block holds of matrices with few columns.
    fn chunk_lengths(&self, slotting: &SlotParams, every: bool) -> Vec<usize> {
        let &SlotParams { rows, cols, slot, elem_bytes } = slotting;
        let mut chunks: Vec<usize> = if every {
            slotting.chunk_lengths(self.limits.shared_bytes.max(self.gather_bytes())).collect()
        } else {
            [1, 2].map(|k| (k * slot).min(slotting.longest_chunk())).to_vec()
        };
        if slot * elem_bytes <= runs::SLOT_BYTES {
            let held = runs::chunk_slots(slot, cols, elem_bytes, &self.limits);
            chunks.extend(Some(held.min(rows / slot) * slot).filter(|&chunk| chunk > slot));
        }
        chunks
    }

    fn record_chunk_bytes(&self) -> Option<[usize; 2]> {
        Some([fields::chunk_bytes(self.limits.shared_bytes), fields::SLOT_BYTES])
    }

    fn implementations(
        &self,
        shape: &StageMap,
        request: &StageRequest,
    ) -> Result<Vec<Implementation>, Infeasible> {
        let mut offers = Vec::new();
        self.launches(shape, request, |launches, seconds| {
            offers.push(Self::offer(launches, seconds));
            f64::INFINITY
        })?;
        Ok(offers)
    }

    fn best(&self, shape: &StageMap, request: &StageRequest) -> Result<Implementation, Infeasible> {
        let mut best: Option<(LaunchList, f64)> = None;
        self.launches(shape, request, |launches, seconds| {
            if best.as_ref().is_none_or(|(_, least)| seconds < *least) {
                best = Some((launches, seconds));
            }
            best.as_ref().map_or(f64::INFINITY, |(_, least)| *least)
        })?;
        let (launches, seconds) = best.expect("no launches are an error");
        Ok(Self::offer(launches, seconds))
    }
}

impl LowerError {
    /// The same as the planner knows it.
    fn of(self, shape: &StageMap) -> Infeasible {
        match self {
            LowerError::OnChip { need, have } => Infeasible::OnChip { need, have },
            LowerError::TooManyBlocks { blocks } => {
                Infeasible::TooMany { what: "blocks", count: blocks, most: i32::MAX as usize }
            }
            _ => Infeasible::NoImplementation { shape: shape.to_string() },
        }
    }
}

/// The way that launches of a plan's stage are, if they are of this crate.
pub fn way_of(offer: &Implementation) -> Option<Strategy> {
    offer.launch_config.get::<LaunchList>().map(|launches| launches.strategy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_of_unknown_speed_is_that_of_as_many_multiprocessors() {
        let limits = DeviceLimits { units: 66, ..DeviceLimits::H200 };
        let least = |chip: GpuDevice| chip.least_seconds(1 << 30);
        let (half, whole) = (GpuDevice::like_h200("half", limits, 0.0), GpuDevice::h200());
        let ratio = least(half) / least(whole);
        assert!((1.9..2.1).contains(&ratio), "{ratio}");
    }
}
