//! Device model of CPU threads, for the planner.

use std::cmp::Reverse;
use std::sync::{Arc, OnceLock};

use turntile_perm::AlignedSlots;
use turntile_plan::cost_table::Sample;
use turntile_plan::{
    CostTable, CostTableError, Device, Implementation, Infeasible, LaunchConfig, Method, Problem,
    SlotParams, Stage, StageMap, StageRequest,
};

use crate::chunk_gather::is_narrow;
use crate::cost_model::{self, Estimate};
use crate::cpuinfo;
use crate::kernel_config::{CpuKernelConfig, KernelLimits};

/// Device model of a number of CPU threads.
#[derive(Clone, Debug)]
pub struct CpuDevice {
    limits: KernelLimits,
    model: String,
    costs: Arc<CostTable>,
}

/// Built-in cost table, for processors similar to the one that it was measured on.
struct Preset {
    /// Prefix of the vendor's processor model names, as the operating system reports them.
    vendor: &'static str,
    /// SIMD kernel set of the measurement.
    kernel: &'static str,
    /// Maximum number of threads measured.
    threads: usize,
    table: &'static str,
}

/// Built-in cost tables. The first one is for unspecified processors.
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

/// Machine that a cost table was measured on.
#[derive(Clone, Copy)]
struct Kind<'a> {
    model: &'a str,
    vendor: &'a str,
    kernel: &'a str,
    threads: usize,
}

/// Returns the index of the cost table for a processor.
///
/// Prefers tables measured with at least `threads` threads, or else with the most threads. Among
/// these it prefers the same SIMD kernel set, on which costs depend more than on the vendor; then
/// the same model, the same vendor, and the first table.
fn nearest_preset<'a>(
    presets: impl Iterator<Item = Kind<'a>>,
    (model, kernel, threads): (&str, &str, usize),
) -> usize {
    let rank = |&(number, of): &(usize, Kind<'_>)| {
        let like = usize::from(model == of.model) + usize::from(model.starts_with(of.vendor));
        (of.threads.min(threads), kernel == of.kernel, like, Reverse(number))
    };
    presets.enumerate().max_by_key(rank).map_or(0, |(number, _)| number)
}

/// Default and maximum bytes of scratch per thread: half of the second-level cache of server cores
/// of 2023 (2 MiB), or all of that of 2017-2021 (1-1.25 MiB).
const MAX_SCRATCH: usize = 1 << 20;
/// Minimum bytes of scratch per thread.
const MIN_SCRATCH: usize = 256 << 10;

/// Maximum number of threads for which the default workspace cap includes 1 MiB each. More threads
/// share these 32 MiB.
const MAX_CAP_THREADS: usize = 32;

/// Returns the built-in tables, parsed on first use.
fn tables() -> &'static [Arc<CostTable>] {
    static TABLES: OnceLock<Vec<Arc<CostTable>>> = OnceLock::new();
    let parse = |preset: &Preset| {
        Arc::new(
            CostTable::parse(preset.table, cost_model::NAMES).expect("built-in tables are valid"),
        )
    };
    TABLES.get_or_init(|| PRESETS.iter().map(parse).collect())
}

/// Returns the built-in table for a processor model and a number of threads.
fn costs_of(model: &str, threads: usize) -> Arc<CostTable> {
    let of = |(costs, preset): (&'static Arc<CostTable>, &Preset)| {
        let Preset { vendor, kernel, threads, .. } = *preset;
        Kind { model: costs.device(), vendor, kernel, threads }
    };
    let presets = tables().iter().zip(&PRESETS).map(of);
    tables()[nearest_preset(presets, (model, turntile_simd::active().name, threads))].clone()
}

impl CpuDevice {
    /// Creates a device of `threads` threads, from 1 to [`MAX_THREADS`](crate::pool::MAX_THREADS),
    /// with the cost table for unspecified processors.
    ///
    /// The table assumes no speed-up above 16 threads. Most stages then use the smallest count of
    /// at least 16 that results from halving `threads`. A custom table
    /// ([`with_costs`](Self::with_costs)) may cover more threads.
    pub fn new(threads: usize) -> Self {
        let limits = KernelLimits::new(threads.clamp(1, crate::pool::MAX_THREADS), MAX_SCRATCH);
        CpuDevice { limits, model: "any".into(), costs: tables()[0].clone() }
    }

    /// Creates a device of `threads` threads of this machine; for more than 16 see
    /// [`new`](Self::new).
    ///
    /// Scratch is half of the reported second-level cache, from 256 KiB to 1 MiB. The table is the
    /// nearest one: preferably for at least `threads` threads, the same SIMD kernel set, and the
    /// same model or vendor.
    pub fn here(threads: usize) -> Self {
        let half = cpuinfo::second_level_cache().map(|bytes| bytes / 2);
        let scratch = half.map_or(MAX_SCRATCH, |half| half.clamp(MIN_SCRATCH, MAX_SCRATCH));
        let (model, host) = (cpuinfo::model(), Self::new(threads).with_scratch(scratch));
        CpuDevice { model: model.to_owned(), costs: costs_of(model, host.threads()), ..host }
    }

    /// Sets the preferred maximum bytes of scratch per thread.
    #[must_use]
    #[doc(hidden)]
    pub fn with_scratch(self, bytes: usize) -> Self {
        CpuDevice { limits: KernelLimits { scratch: bytes, ..self.limits }, ..self }
    }

    /// Parses the text of a processor's cost table.
    ///
    /// # Errors
    /// [`CostTableError`]: the text is not a valid table for a CPU.
    pub fn costs_from(text: &str) -> Result<CostTable, CostTableError> {
        CostTable::parse(text, cost_model::NAMES)
    }

    /// Sets the cost table.
    #[must_use]
    pub fn with_costs(self, costs: impl Into<Arc<CostTable>>) -> Self {
        CpuDevice { costs: costs.into(), ..self }
    }

    /// Returns the cost table.
    pub fn costs(&self) -> &CostTable {
        &self.costs
    }

    /// Returns the speed of a stage that took `seconds` on this machine, as a fraction of a copy's.
    /// Tables are fitted to such samples.
    ///
    /// `elem_bytes` is the element size of the problem. Returns `None` for a plain copy, for a
    /// stage of another device, and if the stage took less than twice its estimated fixed costs.
    pub fn sample(&self, stage: &Stage, elem_bytes: usize, seconds: f64) -> Option<Sample> {
        cost_model::sample(self.config_of(stage, elem_bytes)?, &self.costs, seconds)
    }

    /// Returns the estimated seconds of a stage by this device's table, or `None` for a stage of
    /// another device.
    ///
    /// `elem_bytes` is the element size of the problem.
    pub fn estimated(&self, stage: &Stage, elem_bytes: usize) -> Option<f64> {
        let config = self.config_of(stage, elem_bytes)?;
        Some(Estimate::new(config, &self.costs).seconds(config.resources().threads))
    }

    /// Returns the configuration of a stage of a CPU plan, or `None` for a stage of another device.
    fn config_of<'a>(&self, stage: &'a Stage, elem_bytes: usize) -> Option<&'a CpuKernelConfig> {
        let config = stage.implementation.launch_config.get::<CpuKernelConfig>()?;
        config
            .is_for(&stage.map, elem_bytes * stage.elems_per_unit, stage.implementation.method)
            .then_some(config)
    }

    /// Returns the number of threads of a stage of a CPU plan, or 1 for a stage of another device.
    pub fn threads_of(stage: &Stage) -> usize {
        stage
            .implementation
            .launch_config
            .get::<CpuKernelConfig>()
            .map_or(1, |config| config.resources().threads)
    }

    /// Returns the number of threads.
    pub fn threads(&self) -> usize {
        self.limits.threads
    }

    /// Returns the processor model as reported by the operating system, or `any` for an unspecified
    /// processor.
    pub fn processor(&self) -> &str {
        &self.model
    }

    /// Iterates over the numbers of threads to try: all, then repeatedly half, down to one.
    fn thread_counts(&self) -> impl Iterator<Item = usize> + use<> {
        std::iter::successors(Some(self.limits.threads), |&count| (count > 1).then_some(count / 2))
    }

    /// Calls `visit` with the configurations that meet the request, and their estimated seconds.
    ///
    /// Visits methods in the order of [`StageMap::methods`], each with decreasing numbers of
    /// threads. `visit` returns a bound: configurations that take at least that many seconds are
    /// skipped.
    fn visit_configs(
        &self,
        map: &StageMap,
        request: &StageRequest,
        mut visit: impl FnMut(&CpuKernelConfig, f64) -> f64,
    ) -> Result<(), Infeasible> {
        let (mut any, mut least, mut bound) = (false, None, f64::INFINITY);
        for &method in map.methods().iter().filter(|&&method| request.accepts(method)) {
            let with_threads = |threads| {
                let limits = KernelLimits { threads, ..self.limits };
                CpuKernelConfig::new(map, request.elem_bytes, method, limits)
            };
            let Some(widest) = with_threads(self.limits.threads) else { continue };
            if !widest.is_offered() {
                continue;
            }
            let (estimate, mut threads) = (Estimate::new(&widest, &self.costs), usize::MAX);
            for count in self.thread_counts() {
                // Counts above the widest configuration's are reduced to it.
                let fewer = count.min(widest.resources().threads);
                if fewer == threads {
                    continue;
                }
                threads = fewer;
                let seconds = estimate.seconds(threads);
                if seconds >= bound {
                    continue;
                }
                let fewer = if threads == widest.resources().threads {
                    None
                } else {
                    with_threads(threads)
                };
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
            (false, None) => Err(self.rejection(map, request)),
        }
    }

    /// Returns the reason why no method supports the map and the request.
    fn rejection(&self, map: &StageMap, request: &StageRequest) -> Infeasible {
        let need = map.instance_len().saturating_mul(request.elem_bytes);
        let uses_scratch = matches!(map, StageMap::Axes(_) | StageMap::SlotGather { .. });
        if uses_scratch
            && request.methods.accepts(Method::BarrierSync)
            && need > self.limits.scratch
        {
            Infeasible::OnChip { need, have: self.limits.scratch }
        } else {
            Infeasible::NoImplementation { shape: map.to_string() }
        }
    }

    /// Creates the implementation with `config`.
    fn implementation(&self, config: &CpuKernelConfig, seconds: f64) -> Implementation {
        Implementation::new(
            config.method,
            LaunchConfig::new(config.clone()),
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
        let KernelLimits { threads, scratch, .. } = self.limits;
        format!("{}, {threads} threads, scratch {scratch}", self.model)
    }

    /// Returns the default workspace cap in bytes: 2% of the data plus 1 MiB per thread, for at
    /// most 32 threads.
    fn default_cap(&self, problem: &Problem) -> usize {
        problem.bytes() / 50 + self.limits.threads.min(MAX_CAP_THREADS) * (1 << 20)
    }

    fn on_chip_bytes(&self) -> [usize; 2] {
        [self.limits.scratch; 2]
    }

    fn least_seconds(&self, bytes: usize) -> f64 {
        cost_model::least_seconds(&self.costs, bytes, self.thread_counts())
    }

    /// Returns slots in row order if `chunk` equals the slot length and is a power of two,
    /// otherwise in column order; `None` if the parameters are invalid.
    fn aligned_slots(&self, s: &SlotParams, chunk: usize) -> Option<AlignedSlots> {
        let by_rows = || AlignedSlots::by_rows(s.rows, s.cols, s.slot).filter(|_| s.slot == chunk);
        by_rows().or_else(|| AlignedSlots::new(s.rows, s.cols, s.slot, chunk))
    }

    /// Returns the chunk lengths to try, in rows: one slot, and the longest that fits the scratch
    /// with its halo. If `every`, returns all candidate chunk lengths.
    ///
    /// For narrow matrices, the second is the longest that fits a quarter of the scratch without
    /// its halo, so that a chunk and its scratch are both in the second-level cache. Halos are
    /// transposed twice: if it is shorter than four slots, and the matrix is not shorter than
    /// eight, it is not returned.
    fn chunk_lengths(&self, params: &SlotParams, every: bool) -> Vec<usize> {
        let scratch = self.limits.scratch;
        if every {
            return params.chunk_lengths(scratch).collect();
        }
        if !is_narrow(params.cols, params.elem_bytes) {
            return vec![params.slot, params.chunks_that_fit(scratch)[0]];
        }
        let longest = params.longest_chunk();
        let [shorter, chunk] = params.chunks_that_fit(scratch / 4);
        // A single chunk would be the whole matrix, which route on-chip transposes.
        let chunk = if chunk < longest { chunk } else { shorter };
        let is_offered = chunk >= 4 * params.slot || longest < 8 * params.slot;
        std::iter::once(params.slot).chain(is_offered.then_some(chunk)).collect()
    }

    fn implementations(
        &self,
        map: &StageMap,
        request: &StageRequest,
    ) -> Result<Vec<Implementation>, Infeasible> {
        let mut implementations = Vec::new();
        self.visit_configs(map, request, |config, seconds| {
            implementations.push(self.implementation(config, seconds));
            f64::INFINITY
        })?;
        Ok(implementations)
    }

    fn best(&self, map: &StageMap, request: &StageRequest) -> Result<Implementation, Infeasible> {
        let mut best: Option<(f64, CpuKernelConfig)> = None;
        self.visit_configs(map, request, |config, seconds| {
            best = Some((seconds, config.clone()));
            seconds
        })?;
        let (seconds, config) = best.expect("a request without configurations is an error");
        Ok(self.implementation(&config, seconds))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_parse_and_are_constant_beyond_measured_threads() {
        assert_eq!(tables().len(), PRESETS.len());
        // Beyond the measured number of threads, no further speed-up is assumed.
        for (costs, preset) in tables().iter().zip(&PRESETS) {
            let at = |threads: usize| costs.fraction(cost_model::THREADS_COPY, |_| threads as f64);
            assert_eq!(at(preset.threads), at(4 * preset.threads), "{}", costs.device());
        }
    }

    #[test]
    fn nearest_preset_prefers_threads_then_kernel_then_model() {
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
            let got = nearest_preset(presets.into_iter().map(kind), (model, kernel, threads));
            assert_eq!(got, number, "{model} {threads}");
        }
        let [slow, fast] = [1e10, 2e10].map(|speed| {
            let costs = tables()[0].as_ref().clone().with_constant(cost_model::COPY, speed);
            CpuDevice::new(1).with_costs(costs).least_seconds(1 << 30)
        });
        assert!((slow / fast - 2.0).abs() < 1e-3, "an unknown processor uses its own copy speed");
    }
}
