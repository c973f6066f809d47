//! CPU threads as a device: what they offer.

use std::cmp::Reverse;
use std::sync::{Arc, OnceLock};

use turntile_perm::AlignedSlots;
use turntile_plan::cost_table::Sample;
use turntile_plan::{
    CostTable, CostTableError, Device, Implementation, Infeasible, LaunchConfig, Method, Problem,
    SlotParams, Stage, StageMap, StageRequest,
};

use crate::cost_model::{self, Estimate};
use crate::cpuinfo;
use crate::kernel_config::{self, CpuKernelConfig, Limits};

/// Threads of a processor.
#[derive(Clone, Debug)]
pub struct CpuDevice {
    means: Limits,
    model: String,
    costs: Arc<CostTable>,
}

/// A table that was made on a machine, for those of its kind.
struct Preset {
    /// How models of its vendor begin, as systems name them.
    vendor: &'static str,
    /// The micro-kernel that it was measured with.
    kernel: &'static str,
    /// The most threads that were measured.
    threads: usize,
    table: &'static str,
}

/// The tables there are, the one for unknown processors first.
const PRESETS: [Preset; 3] = [
    Preset {
        vendor: "Intel",
        kernel: "avx512",
        threads: 16,
        table: include_str!("../devices/xeon-sapphire-rapids.json"),
    },
    Preset {
        vendor: "Intel",
        kernel: "avx512",
        threads: 16,
        table: include_str!("../devices/xeon-16-cores.json"),
    },
    Preset {
        vendor: "AMD",
        kernel: "avx2",
        threads: 2,
        table: include_str!("../devices/epyc-milan.json"),
    },
];

/// What a table was made on.
#[derive(Clone, Copy)]
struct Kind<'a> {
    model: &'a str,
    vendor: &'a str,
    kernel: &'a str,
    threads: usize,
}

/// The number of the table for a processor: of several one that as many threads were measured for, or the most; of these one of
/// its micro-kernel, on which costs depend more than on who made it; then of its model, of its vendor, or the first.
fn nearest<'a>(
    presets: impl Iterator<Item = Kind<'a>>,
    (model, kernel, threads): (&str, &str, usize),
) -> usize {
    let rank = |&(number, of): &(usize, Kind<'_>)| {
        let like = usize::from(model == of.model) + usize::from(model.starts_with(of.vendor));
        (of.threads.min(threads), kernel == of.kernel, like, Reverse(number))
    };
    presets.enumerate().max_by_key(rank).map_or(0, |(number, _)| number)
}

/// Bytes of scratch that suit a thread of most: half of the second-level cache of the server cores of 2023
/// (2 MiB), all of that of 2017-2021 (1-1.25 MiB).
const SCRATCH: usize = 1 << 20;
/// The least that is worth having.
const LEAST_SCRATCH: usize = 256 << 10;

/// Threads whose scratch the default cap counts: 32 MiB are enough for more, in smaller shares.
const MOST_MIB: usize = 32;

/// All tables, read once.
fn tables() -> &'static [Arc<CostTable>] {
    static TABLES: OnceLock<Vec<Arc<CostTable>>> = OnceLock::new();
    let parse = |preset: &Preset| {
        Arc::new(CostTable::parse(preset.table, cost_model::NAMES).expect("tested"))
    };
    TABLES.get_or_init(|| PRESETS.iter().map(parse).collect())
}

/// The table for a processor.
fn costs_of(model: &str, threads: usize) -> Arc<CostTable> {
    let of = |(costs, preset): (&'static Arc<CostTable>, &Preset)| {
        let Preset { vendor, kernel, threads, .. } = *preset;
        Kind { model: costs.device(), vendor, kernel, threads }
    };
    let presets = tables().iter().zip(&PRESETS).map(of);
    tables()[nearest(presets, (model, turntile_simd::active().name, threads))].clone()
}

impl CpuDevice {
    /// Creates a host of `threads` threads, from 1 to [`MOST`](crate::threads::MOST), of a processor that is like those
    /// that tables are of.
    ///
    /// The tables end at 16 threads, and more are estimated to be no faster: plans use the fewest of `threads`, halved any
    /// number of times, that are 16 or more. A table of your own ([`with_costs`](Self::with_costs)) may go on.
    pub fn new(threads: usize) -> Self {
        let means = Limits::new(threads.clamp(1, crate::pool::MOST), SCRATCH);
        CpuDevice { means, model: "any".into(), costs: tables()[0].clone() }
    }

    /// Creates a host of `threads` threads of this machine; of more than 16 as [`new`](Self::new) says. Scratch is half of the second-level cache that it says it has, from
    /// 256 KiB to 1 MiB. The table is the nearest there is: measured with as many threads, the same micro-kernel, on this model
    /// or one of its vendor.
    pub fn here(threads: usize) -> Self {
        let half = cpuinfo::second_level_cache().map(|bytes| bytes / 2);
        let scratch = half.map_or(SCRATCH, |half| half.clamp(LEAST_SCRATCH, SCRATCH));
        let (model, host) = (cpuinfo::model(), Self::new(threads).with_scratch(scratch));
        CpuDevice { model: model.to_owned(), costs: costs_of(model, host.threads()), ..host }
    }

    /// With `bytes` bytes of scratch for each thread, as far as methods have a choice.
    #[must_use]
    pub fn with_scratch(self, bytes: usize) -> Self {
        CpuDevice { means: Limits { scratch: bytes, ..self.means }, ..self }
    }

    /// Reads a table of a processor's costs.
    ///
    /// # Errors
    /// [`CostTableError`]: what it is not, names or lacks.
    pub fn costs_from(text: &str) -> Result<CostTable, CostTableError> {
        CostTable::parse(text, cost_model::NAMES)
    }

    /// With costs of one's own.
    #[must_use]
    pub fn with_costs(self, costs: impl Into<Arc<CostTable>>) -> Self {
        CpuDevice { costs: costs.into(), ..self }
    }

    /// Its costs.
    pub fn costs(&self) -> &CostTable {
        &self.costs
    }

    /// What a stage of elements of so many bytes that took `seconds` here reached of a copy: to fit a table to. None for a
    /// copy itself, for another device's stage, and for one that did not take twice as long as its threads to start.
    pub fn sample(&self, stage: &Stage, elem_bytes: usize, seconds: f64) -> Option<Sample> {
        cost_model::sample(self.way_of(stage, elem_bytes)?, &self.costs, seconds)
    }

    /// Seconds that its table says of a stage of elements of so many bytes; none for another device's.
    pub fn estimated(&self, stage: &Stage, elem_bytes: usize) -> Option<f64> {
        let config = self.way_of(stage, elem_bytes)?;
        Some(Estimate::new(config, &self.costs).seconds(config.resources().threads))
    }

    fn way_of<'a>(&self, stage: &'a Stage, elem_bytes: usize) -> Option<&'a CpuKernelConfig> {
        let config = stage.implementation.launch_config.get::<CpuKernelConfig>()?;
        config
            .is_for(&stage.map, elem_bytes * stage.elems_per_unit, stage.implementation.method)
            .then_some(config)
    }

    /// Threads of a stage of a host's plan; 1 of another device's.
    pub fn threads_of(stage: &Stage) -> usize {
        stage
            .implementation
            .launch_config
            .get::<CpuKernelConfig>()
            .map_or(1, |config| config.resources().threads)
    }

    /// Threads.
    pub fn threads(&self) -> usize {
        self.means.threads
    }

    /// The processor's model, as the system names it; `any` for none in particular.
    pub fn processor(&self) -> &str {
        &self.model
    }

    /// Numbers of threads that ways are offered by: all, half of them and so on to one.
    fn counts(&self) -> impl Iterator<Item = usize> + use<> {
        std::iter::successors(Some(self.means.threads), |&count| (count > 1).then_some(count / 2))
    }

    /// Visits all ways that the request wants and allows, in the order of [`way::methods`], each by all threads that it has
    /// work for and by less and less of them, with its seconds; but those that take `bound` seconds or more, which a
    /// visit returns.
    fn ways(
        &self,
        shape: &StageMap,
        request: &StageRequest,
        mut visit: impl FnMut(&CpuKernelConfig, f64) -> f64,
    ) -> Result<(), Infeasible> {
        let (mut any, mut least, mut bound) = (false, None, f64::INFINITY);
        for &method in kernel_config::methods(shape, request.out_of_place) {
            if !request.methods.accepts(method) {
                continue;
            }
            let by = |threads| {
                let means = Limits { threads, ..self.means };
                CpuKernelConfig::new(*shape, request.elem_bytes, method, means)
            };
            let Some(widest) = by(self.means.threads) else { continue };
            if !widest.is_offered() {
                continue;
            }
            let (price, mut parts) = (Estimate::new(&widest, &self.costs), usize::MAX);
            for count in self.counts() {
                // What has no work for so many has been visited.
                let fewer = count.min(widest.resources().threads);
                if fewer == parts {
                    continue;
                }
                parts = fewer;
                let seconds = price.seconds(parts);
                if seconds >= bound {
                    continue;
                }
                let fewer = if parts == widest.resources().threads { None } else { by(parts) };
                let config = fewer.as_ref().unwrap_or(&widest);
                let need = config.resources().bytes();
                least = Some(least.map_or(need, |least: usize| least.min(need)));
                if need <= request.cap {
                    any = true;
                    bound = visit(config, seconds);
                }
            }
        }
        match (any, least) {
            (true, _) => Ok(()),
            (false, Some(need)) => Err(Infeasible::Workspace { need, cap: request.cap }),
            (false, None) => Err(self.refusal(shape, request)),
        }
    }

    fn refusal(&self, shape: &StageMap, request: &StageRequest) -> Infeasible {
        let need = shape.instance_len().saturating_mul(request.elem_bytes);
        let held = matches!(shape, StageMap::Axes(_) | StageMap::SlotGather { .. });
        if held && request.methods.accepts(Method::BarrierSync) && need > self.means.scratch {
            Infeasible::OnChip { need, have: self.means.scratch }
        } else {
            Infeasible::NoWay { shape: shape.to_string() }
        }
    }

    fn offer(&self, config: &CpuKernelConfig, seconds: f64) -> Implementation {
        Implementation::new(
            config.method,
            LaunchConfig::new(*config),
            config.resources().bytes(),
            seconds,
        )
    }
}

impl Device for CpuDevice {
    fn name(&self) -> &str {
        "host"
    }

    fn model(&self) -> String {
        let Limits { threads, scratch, .. } = self.means;
        format!("{}, {threads} threads, scratch {scratch}", self.model)
    }

    /// 2% of the matrix and 1 MiB for each thread, of at most 32.
    fn default_cap(&self, problem: &Problem) -> usize {
        problem.bytes() / 50 + self.means.threads.min(MOST_MIB) * (1 << 20)
    }

    fn on_chip_bytes(&self) -> [usize; 2] {
        [self.means.scratch; 2]
    }

    fn least_seconds(&self, bytes: usize) -> f64 {
        cost_model::least_seconds(&self.costs, bytes, self.counts())
    }

    /// In row order where chunks have one slot's rows, a power of two.
    fn aligned_slots(&self, s: &SlotParams, chunk: usize) -> Option<AlignedSlots> {
        let by_rows = || AlignedSlots::by_rows(s.rows, s.cols, s.slot).filter(|_| s.slot == chunk);
        by_rows().or_else(|| AlignedSlots::new(s.rows, s.cols, s.slot, chunk))
    }

    /// Of one slot, and of all that scratch holds with the rows that are read beyond it.
    fn chunk_lengths(&self, slotting: &SlotParams, every: bool) -> Vec<usize> {
        let held = self.means.scratch;
        if every {
            slotting.chunk_lengths(held).collect()
        } else {
            vec![slotting.slot, slotting.chunks_that_fit(held)[0]]
        }
    }

    fn implementations(
        &self,
        shape: &StageMap,
        request: &StageRequest,
    ) -> Result<Vec<Implementation>, Infeasible> {
        let mut offers = Vec::new();
        self.ways(shape, request, |config, seconds| {
            offers.push(self.offer(config, seconds));
            f64::INFINITY
        })?;
        Ok(offers)
    }

    fn best(&self, shape: &StageMap, request: &StageRequest) -> Result<Implementation, Infeasible> {
        let mut best: Option<(f64, CpuKernelConfig)> = None;
        self.ways(shape, request, |config, seconds| {
            best = Some((seconds, *config));
            seconds
        })?;
        let (seconds, config) = best.expect("no ways are an error");
        Ok(self.offer(&config, seconds))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_whole() {
        assert_eq!(tables().len(), PRESETS.len());
        // Beyond what was measured, no thread is said to help more.
        for (costs, preset) in tables().iter().zip(&PRESETS) {
            let at = |threads: usize| costs.fraction(cost_model::THREADS_COPY, |_| threads as f64);
            assert_eq!(at(preset.threads), at(4 * preset.threads), "{}", costs.device());
        }
    }

    #[test]
    fn the_nearest_table_is_of_the_model_or_the_vendor() {
        let kind = |(model, vendor, kernel, threads)| Kind { model, vendor, kernel, threads };
        let presets = [
            ("xeon", "Intel", "avx512", 16),
            ("AMD EPYC 9", "AMD", "avx512", 2),
            ("AMD EPYC 7", "AMD", "avx2", 32),
        ];
        for (model, kernel, threads, number) in [
            ("Intel(R) Xeon(R) Platinum", "avx512", 4, 0),
            ("0x41 0xd4f", "neon", 2, 0),
            ("AMD EPYC 9", "avx512", 2, 1),
            ("AMD EPYC 9", "avx512", 64, 2),
            ("AMD EPYC 7", "avx2", 1, 2),
            ("AMD Ryzen", "avx512", 2, 1),
            ("Intel(R) Core(TM)", "avx2", 2, 2),
        ] {
            let got = nearest(presets.into_iter().map(kind), (model, kernel, threads));
            assert_eq!(got, number, "{model} {threads}");
        }
        let [slow, fast] = [1e10, 2e10].map(|speed| {
            let costs = tables()[0].as_ref().clone().with_constant(cost_model::COPY, speed);
            CpuDevice::new(1).with_costs(costs).least_seconds(1 << 30)
        });
        assert!((slow / fast - 2.0).abs() < 1e-3, "an unknown processor by its own copy");
    }
}
