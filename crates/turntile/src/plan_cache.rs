//! Cache of plans, for the functions that take no plan. Planning takes longer than transposing a
//! small matrix.

use std::sync::{Arc, Mutex, PoisonError};

use turntile_cpu::{CpuDevice, RunError, pool};
use turntile_plan::{Planner, Problem};

use crate::elements::Data;
use crate::{Error, Transposer, elements};

/// Maximum number of cached plans, of a few KB each.
const MAX_PLANS: usize = 8;

struct CachedPlan {
    problem: Problem,
    threads: usize,
    planned: Arc<Transposer>,
}

/// Least-recently-used cache of plans, most recently used last.
struct PlanCache(Mutex<Vec<CachedPlan>>);

static CACHE: PlanCache = PlanCache(Mutex::new(Vec::new()));

/// Checks that enough host memory is free for the small allocations of planning. Without this
/// check, the first allocation that fails would abort the process.
pub fn spare_memory() -> Result<(), Error> {
    let bytes = pool::PLANNING_BYTES;
    pool::check_planning_memory().map_err(|_| RunError::OutOfMemory { bytes }.into())
}

/// Returns the host plan with the best estimate for the thread count of the current pool, from the
/// cache if possible.
///
/// # Errors
/// Those of [`Transpose::plan`](crate::Transpose::plan).
pub fn planned(problem: Problem) -> Result<Arc<Transposer>, Error> {
    CACHE.planned(problem)
}

/// Runs a permutation in place on elements of the problem's size: small arrays without a plan, others with a
/// cached one.
///
/// # Errors
/// Those of [`planned`], and of the run.
pub fn run<D: Data + ?Sized>(data: &mut D, problem: Problem) -> Result<(), Error> {
    if elements::run_small_axes(data, &problem) {
        return Ok(());
    }
    planned(problem)?.run(data)
}

impl PlanCache {
    fn planned(&self, problem: Problem) -> Result<Arc<Transposer>, Error> {
        let threads = pool::thread_count();
        // A panic leaves the list valid: under the lock, entries are only moved.
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut plans = lock();
        let same = |cached: &CachedPlan| cached.threads == threads && cached.problem == problem;
        if let Some(at) = plans.iter().rposition(same) {
            plans[at..].rotate_left(1);
            return Ok(plans[plans.len() - 1].planned.clone());
        }
        drop(plans);
        spare_memory()?;
        let plan = Planner::new(CpuDevice::here(threads)).plan(&problem)?;
        let planned = Arc::new(Transposer::new(plan, threads)?);
        let mut plans = lock();
        if plans.len() == MAX_PLANS {
            plans.remove(0);
        }
        plans.push(CachedPlan { problem, threads, planned: planned.clone() });
        Ok(planned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plan_is_shared_until_eight_other_plans_follow() {
        // Other tests of this process plan too, so use a private cache.
        let cache = PlanCache(Mutex::default());
        let of = |rows, cols| cache.planned(Problem::new(rows, cols, 4).unwrap()).unwrap();
        let first = of(200, 300);
        assert_eq!(first.plan(), crate::Transpose::new::<u32>(200, 300).plan().unwrap().plan());
        assert!(Arc::ptr_eq(&first, &of(200, 300)));
        assert!(!Arc::ptr_eq(&first, &of(300, 200)));
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        let third = pool.install(|| of(200, 300));
        assert!(pool::thread_count() == 3 || !Arc::ptr_eq(&first, &third));
        for cols in 1000..1008 {
            of(100, cols);
            of(200, 300);
        }
        // The documentation promises 8 cached plans.
        (1000..1007).for_each(|cols| drop(of(101, cols)));
        assert!(Arc::ptr_eq(&first, &of(200, 300)), "seven other plans followed");
        (1000..1008).for_each(|cols| drop(of(102, cols)));
        assert!(!Arc::ptr_eq(&first, &of(200, 300)), "eight other plans followed");
    }
}
