//! CPU threads as a device: what they offer.

use std::sync::{Arc, OnceLock};

use turntile_perm::Slots;
use turntile_plan::costs::Sample;
use turntile_plan::{
    AroundGaps, Costs, CostsError, Device, Geometry, Infeasible, Method, Offer, Problem, Request,
    Slotting, Stage, StageShape,
};

use crate::estimate;
use crate::machine;
use crate::way::{self, HostWay, Means};

/// Threads of a processor.
#[derive(Clone, Debug)]
pub struct Host {
    means: Means,
    model: String,
    costs: Arc<Costs>,
}

/// The tables there are, the one that serves unknown processors first.
const TABLES: [&str; 1] = [include_str!("../devices/xeon-sapphire-rapids.json")];

/// Bytes of scratch that suit a thread of most: half of the second-level cache of the server cores of 2023
/// (2 MiB), all of that of 2017-2021 (1-1.25 MiB).
const SCRATCH: usize = 1 << 20;
/// The least that is worth having.
const LEAST_SCRATCH: usize = 256 << 10;

/// Threads whose scratch the default cap counts: 32 MiB are enough for more, in smaller shares.
const MOST_MIB: usize = 32;

fn default_costs() -> Arc<Costs> {
    static COSTS: OnceLock<Arc<Costs>> = OnceLock::new();
    let parse = || Costs::parse(TABLES[0], estimate::NAMES).expect("tested");
    COSTS.get_or_init(|| Arc::new(parse())).clone()
}

impl Host {
    /// `threads` threads of a processor that is like those that tables are of.
    pub fn new(threads: usize) -> Self {
        let means = Means { threads: threads.max(1), scratch: SCRATCH };
        Host { means, model: "any".into(), costs: default_costs() }
    }

    /// `threads` threads of this machine: scratch is half of the second-level cache that it says it has, from
    /// 256 KiB to 1 MiB.
    pub fn here(threads: usize) -> Self {
        let half = machine::second_level_cache().map(|bytes| bytes / 2);
        let scratch = half.map_or(SCRATCH, |half| half.clamp(LEAST_SCRATCH, SCRATCH));
        Host { model: machine::model().to_owned(), ..Self::new(threads).with_scratch(scratch) }
    }

    /// With `bytes` bytes of scratch for each thread, as far as methods have a choice.
    #[must_use]
    pub fn with_scratch(self, bytes: usize) -> Self {
        Host { means: Means { scratch: bytes, ..self.means }, ..self }
    }

    /// Reads a table of a processor's costs.
    ///
    /// # Errors
    /// [`CostsError`]: what it is not, names or lacks.
    pub fn costs_from(text: &str) -> Result<Costs, CostsError> {
        Costs::parse(text, estimate::NAMES)
    }

    /// With costs of one's own.
    #[must_use]
    pub fn with_costs(self, costs: Costs) -> Self {
        Host { costs: Arc::new(costs), ..self }
    }

    /// Its costs.
    pub fn costs(&self) -> &Costs {
        &self.costs
    }

    /// What a stage of elements of so many bytes that took `seconds` here reached of a copy: to fit a table to. None for a
    /// copy itself, for another device's stage, and for one that did not take longer than to start.
    pub fn sample(&self, stage: &Stage, elem_bytes: usize, seconds: f64) -> Option<Sample> {
        let way = stage.offer.geometry.get::<HostWay>()?;
        let is_its_own = way.is_for(&stage.shape, elem_bytes * stage.joined, stage.offer.method);
        estimate::sample(way, &self.costs, seconds).filter(|_| is_its_own)
    }

    /// With the speed of copies by so many threads, bytes a second read and written, ascending from one thread; `from` tells
    /// where they were measured.
    #[must_use]
    pub fn copying(self, speeds: &[(usize, f64)], from: &str) -> Self {
        let costs = estimate::copying(&self.costs, speeds, from);
        self.with_costs(costs)
    }

    /// With a table that says what samples do: those of one thread move its curves, the others how threads share.
    #[must_use]
    pub fn fitted(self, samples: &[Sample], from: &str) -> Self {
        let costs = estimate::fitted(&self.costs, samples, from);
        self.with_costs(costs)
    }

    /// Threads.
    pub fn threads(&self) -> usize {
        self.means.threads
    }

    /// The processor's model, as the system names it; `any` for none in particular.
    pub fn processor(&self) -> &str {
        &self.model
    }

    /// Visits the ways on at most `threads` threads that the request wants and allows, in the order of
    /// [`way::methods`]; what the least of those wanted needs.
    fn on(
        &self,
        threads: usize,
        shape: &StageShape,
        request: &Request,
        visit: &mut impl FnMut(HostWay),
    ) -> Option<usize> {
        let means = Means { threads, ..self.means };
        let mut least = None;
        for &method in way::methods(shape, request.out_of_place) {
            if !request.want.accepts(method) {
                continue;
            }
            let Some(way) = HostWay::new(*shape, request.elem_bytes, method, means) else {
                continue;
            };
            let need = way.needs().bytes();
            least = Some(least.map_or(need, |least: usize| least.min(need)));
            if need <= request.cap {
                visit(way);
            }
        }
        least
    }

    /// Visits all ways: on all threads, on one; and on half of them, and so on, where scratch for all is more than the
    /// cap allows but for the slowest.
    fn ways(
        &self,
        shape: &StageShape,
        request: &Request,
        mut visit: impl FnMut(HostWay),
    ) -> Result<(), Infeasible> {
        let (mut any, mut fast) = (false, false);
        let mut counted = |way: HostWay| {
            any = true;
            fast |= way.method() != Method::PerCycle;
            visit(way);
        };
        let mut threads = self.means.threads;
        let mut least = self.on(threads, shape, request, &mut counted);
        if threads > 1 {
            // What has work for one alone was visited already.
            let mut alone = |way: HostWay| {
                if way.needs().parts == 1 && !self.has_work_for_one(&way) {
                    counted(way);
                }
            };
            least = least.into_iter().chain(self.on(1, shape, request, &mut alone)).min();
        }
        while threads > 3 && !fast {
            threads /= 2;
            let mut counted = |way: HostWay| {
                any = true;
                fast |= way.method() != Method::PerCycle;
                visit(way);
            };
            self.on(threads, shape, request, &mut counted);
        }
        match (any, least) {
            (true, _) => Ok(()),
            (false, Some(need)) => Err(Infeasible::Workspace { need, cap: request.cap }),
            (false, None) => Err(self.refusal(shape, request)),
        }
    }

    /// Whether more threads would leave a way as it is.
    fn has_work_for_one(&self, way: &HostWay) -> bool {
        let (shape, elem_bytes, method) = (*way.shape(), way.elem_bytes(), way.method());
        HostWay::new(shape, elem_bytes, method, self.means) == Some(*way)
    }

    fn refusal(&self, shape: &StageShape, request: &Request) -> Infeasible {
        let need = shape.instance_len().saturating_mul(request.elem_bytes);
        let held = matches!(shape, StageShape::Axes(_) | StageShape::SlotGather { .. });
        if held && need > self.means.scratch {
            Infeasible::OnChip { need, have: self.means.scratch }
        } else {
            Infeasible::NoWay { shape: shape.to_string() }
        }
    }

    fn offer(&self, way: HostWay, seconds: f64) -> Offer {
        Offer {
            method: way.method(),
            workspace_bytes: way.needs().bytes(),
            geometry: Geometry::new(way),
            seconds,
        }
    }
}

impl Device for Host {
    fn name(&self) -> &str {
        "host"
    }

    fn model(&self) -> String {
        let Means { threads, scratch } = self.means;
        format!("{}, {threads} threads, scratch {scratch}", self.model)
    }

    /// 2% of the matrix and 1 MiB for each thread, of at most 32.
    fn default_cap(&self, problem: &Problem) -> usize {
        problem.bytes() / 50 + self.means.threads.min(MOST_MIB) * (1 << 20)
    }

    fn holds(&self) -> [usize; 2] {
        [self.means.scratch; 2]
    }

    fn around_gaps(&self) -> Option<AroundGaps> {
        Some(AroundGaps { buffered: self.means.scratch, exchanges: true })
    }

    fn least_seconds(&self, bytes: usize) -> f64 {
        estimate::least_seconds(&self.costs, bytes, self.means.threads)
    }

    /// In row order where chunks have one slot's rows, a power of two.
    fn slots(&self, s: &Slotting, chunk: usize) -> Option<Slots> {
        let by_rows = || Slots::by_rows(s.rows, s.cols, s.slot).filter(|_| s.slot == chunk);
        by_rows().or_else(|| Slots::new(s.rows, s.cols, s.slot, chunk))
    }

    /// Of one slot, and of all that scratch holds with the rows that are read beyond it.
    fn chunks(&self, slotting: &Slotting, every: bool) -> Vec<usize> {
        let held = self.means.scratch;
        if every {
            slotting.doubling(held).collect()
        } else {
            vec![slotting.slot, slotting.fitting(held)[0]]
        }
    }

    fn offers(&self, shape: &StageShape, request: &Request) -> Result<Vec<Offer>, Infeasible> {
        let mut offers = Vec::new();
        self.ways(shape, request, |way| {
            offers.push(self.offer(way, estimate::seconds(&way, &self.costs)));
        })?;
        Ok(offers)
    }

    fn best(&self, shape: &StageShape, request: &Request) -> Result<Offer, Infeasible> {
        let mut best: Option<(f64, HostWay)> = None;
        self.ways(shape, request, |way| {
            let seconds = estimate::seconds(&way, &self.costs);
            if best.is_none_or(|(least, _)| seconds < least) {
                best = Some((seconds, way));
            }
        })?;
        let (seconds, way) = best.expect("no ways are an error");
        Ok(self.offer(way, seconds))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_whole() {
        for table in TABLES {
            Costs::parse(table, estimate::NAMES).unwrap();
        }
    }
}
