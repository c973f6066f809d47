//! GPU model for planning. It is plain data and requires no GPU.

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
use crate::lower::{self, TargetParams, fields, grid_bytes, runs};
use crate::names::{Constant, NAMES};
use crate::strategies;
use crate::strategy::Strategy;

/// GPU model: name, limits and cost table.
#[derive(Clone, Debug)]
pub struct GpuDevice {
    name: String,
    limits: DeviceLimits,
    costs: Arc<CostTable>,
}

/// Minimum default workspace cap, in bytes. It applies if 2% of the matrix is less.
const LEAST_CAP: usize = 16 << 20;

/// Returns the cost table of the H200, from which the tables of other GPUs are derived.
fn h200_costs() -> Arc<CostTable> {
    static COSTS: OnceLock<Arc<CostTable>> = OnceLock::new();
    let text = include_str!("../devices/h200.json");
    let parse = || CostTable::parse(text, NAMES).expect("tested");
    COSTS.get_or_init(|| Arc::new(parse())).clone()
}

/// Copy bandwidth as a fraction of the peak from memory clock and bus width: 4.2 of 4.8 TB/s on the H200.
const COPY_OF_PEAK: f64 = 0.875;
/// Peak memory bandwidth of the H200, in bytes per second.
const H200_PEAK: f64 = 4.8e12;

impl GpuDevice {
    /// Index of the copy bandwidth, in bytes per second, among the constants of the cost table.
    pub const COPY: usize = Constant::Copy as usize;

    /// Creates a GPU model with these limits and costs.
    pub fn new(name: impl Into<String>, limits: DeviceLimits, costs: CostTable) -> Self {
        GpuDevice { name: name.into(), limits, costs: Arc::new(costs) }
    }

    /// Returns the NVIDIA H200: 132 multiprocessors, 227 KiB opt-in shared memory per block, clusters of 16 blocks; measured.
    pub fn h200() -> Self {
        GpuDevice { name: "h200".into(), limits: DeviceLimits::H200, costs: h200_costs() }
    }

    /// Returns the NVIDIA H100 (SXM): an H200 with 3.35 TB/s peak memory bandwidth; not measured.
    pub fn h100() -> Self {
        GpuDevice::like_h200("h100", DeviceLimits::H200, 3.35e12)
    }

    /// Returns the NVIDIA A100 (80 GB): 108 multiprocessors, 163 KiB opt-in shared memory per block, 1.94 TB/s; not measured.
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

    /// Creates a GPU model without its own measured costs: the H200's cost table with the copy bandwidth scaled to `peak` bytes
    /// per second. If `peak` is not positive, the H200's peak is scaled by the number of multiprocessors.
    pub fn like_h200(name: impl Into<String>, limits: DeviceLimits, peak: f64) -> Self {
        let costs = CostTable::clone(&h200_costs());
        let of_units = H200_PEAK * limits.units as f64 / DeviceLimits::H200.units as f64;
        let peak = if peak > 0.0 { peak } else { of_units };
        let costs = costs.with_constant(Self::COPY, peak * COPY_OF_PEAK);
        GpuDevice::new(name, limits, costs)
    }

    /// Returns all presets.
    pub fn presets() -> [Self; 3] {
        [GpuDevice::h200(), GpuDevice::h100(), GpuDevice::a100()]
    }

    /// Returns the preset with this name, ignoring case.
    pub fn preset(name: &str) -> Option<Self> {
        Self::presets().into_iter().find(|chip| chip.name.eq_ignore_ascii_case(name))
    }

    /// Returns the limits that decide its launches.
    pub fn limits(&self) -> &DeviceLimits {
        &self.limits
    }

    /// Replaces the name, for example by the one that the driver reports.
    #[must_use]
    pub fn named(self, name: impl Into<String>) -> Self {
        GpuDevice { name: name.into(), ..self }
    }

    /// Replaces the limits.
    #[must_use]
    pub fn with_limits(self, limits: DeviceLimits) -> Self {
        GpuDevice { limits, ..self }
    }

    /// Replaces the cost table.
    #[must_use]
    pub fn with_costs(self, costs: impl Into<Arc<CostTable>>) -> Self {
        GpuDevice { costs: costs.into(), ..self }
    }

    /// Parses a GPU cost table.
    ///
    /// # Errors
    /// [`CostTableError`]: the text is not a GPU cost table.
    pub fn costs_from(text: &str) -> Result<CostTable, CostTableError> {
        CostTable::parse(text, NAMES)
    }

    /// Returns the cost table.
    pub fn costs(&self) -> &CostTable {
        &self.costs
    }

    /// Replaces the copy bandwidth, in bytes read plus bytes written per second.
    #[must_use]
    pub fn copying(self, speed: f64) -> Self {
        let costs = self.costs.as_ref().clone().with_constant(Self::COPY, speed.round());
        self.with_costs(costs)
    }

    /// Returns the speed of a stage that took `seconds`, as a fraction of the copy bandwidth, for fitting a cost table.
    /// `elem_bytes` are the bytes of an element of the problem.
    ///
    /// Returns `None` for a stage of another device, without launches, without a known cost, or not slower than its fixed costs.
    pub fn sample(&self, stage: &Stage, elem_bytes: usize, seconds: f64) -> Option<Sample> {
        let (launches, at) = self.launches_of(stage, elem_bytes)?;
        estimate::sample(&stage.map, launches, at, &self.costs, seconds)
    }

    /// Returns the estimated seconds of a stage for elements of `elem_bytes` bytes, or `None` for a stage of another device.
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

    /// Returns the bytes of shared memory that the gather pass can use for its chunks. This is the shared memory of all
    /// multiprocessors less a tenth, for padded rows and losses from the split into strips.
    fn gather_bytes(&self) -> usize {
        let DeviceLimits { units, shared_bytes, cooperative, .. } = self.limits;
        if cooperative { units * shared_bytes / 10 * 9 } else { 0 }
    }

    /// Calls `visit` with the launches of each strategy that the request accepts, and with their estimated seconds. `visit`
    /// returns an upper bound in seconds: a strategy known to take at least that long is skipped before lowering.
    fn launches(
        &self,
        shape: &StageMap,
        request: &StageRequest,
        mut visit: impl FnMut(LaunchList, f64) -> f64,
    ) -> Result<(), Infeasible> {
        let alignment = widest_word(&[request.alignment]);
        let at = TargetParams { elem_bytes: request.elem_bytes, alignment, limits: &self.limits };
        let (mut any, mut refused, mut least) = (false, None, None);
        let (grid_bytes, short_cycles) = (grid_bytes(&self.limits), OnceCell::new());
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

    /// Returns 2% of the matrix or 16 MiB, the larger, plus the bytes of saved gaps, because no GPU kernel swaps gaps.
    fn default_cap(&self, problem: &Problem) -> usize {
        (problem.bytes() / 50).max(LEAST_CAP).saturating_add(problem.saved_gap_bytes())
    }

    fn on_chip_bytes(&self) -> [usize; 2] {
        let DeviceLimits { shared_bytes, cluster, .. } = self.limits;
        [shared_bytes, shared_bytes * cluster]
    }

    fn on_chip_bytes_total(&self) -> usize {
        grid_bytes(&self.limits)
    }

    fn least_seconds(&self, bytes: usize) -> f64 {
        estimate::least_seconds(&self.costs, bytes)
    }

    /// Returns slots in column order.
    fn aligned_slots(&self, s: &SlotParams, chunk: usize) -> Option<AlignedSlots> {
        AlignedSlots::new(s.rows, s.cols, s.slot, chunk)
    }

    /// Returns chunks of one slot and of two, or all candidates, and the chunk that one block can hold in matrices with few
    /// columns.
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
        let (launches, seconds) = best.expect("an empty list is an error");
        Ok(Self::offer(launches, seconds))
    }
}

impl LowerError {
    /// Converts the error to the planner's type.
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

/// Returns the strategy of an implementation, if this crate created it.
pub fn strategy_of(offer: &Implementation) -> Option<Strategy> {
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
