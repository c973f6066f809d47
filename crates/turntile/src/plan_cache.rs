//! The plans of the last problems, for the calls that plan by themselves: planning takes longer
//! than a small matrix.

use std::sync::{Arc, Mutex, PoisonError};

use turntile_cpu::{CpuDevice, RunError, pool};
use turntile_plan::{Planner, Problem};

use crate::{Error, Transposer};

/// Plans that are kept, of some KB each.
const MOST: usize = 8;

struct Recent {
    problem: Problem,
    threads: usize,
    planned: Arc<Transposer>,
}

/// The last used is the last.
struct Kept(Mutex<Vec<Recent>>);

static RECENT: Kept = Kept(Mutex::new(Vec::new()));

/// That there is memory for what is allocated in small pieces; without, the first that fails would
/// end the process.
pub fn spare_memory() -> Result<(), Error> {
    let bytes = pool::PLANNING;
    pool::spare_to_plan().map_err(|_| RunError::OutOfMemory { bytes }.into())
}

/// The plan by estimate for the threads of the pool that the call is made in.
///
/// # Errors
/// As [`Transpose::plan`](crate::Transpose::plan).
pub fn planned(problem: Problem) -> Result<Arc<Transposer>, Error> {
    RECENT.planned(problem)
}

impl Kept {
    fn planned(&self, problem: Problem) -> Result<Arc<Transposer>, Error> {
        let threads = pool::count();
        // A panic leaves the list whole: nothing but moves of its entries happens under the lock.
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut recent = lock();
        let same = |kept: &Recent| kept.threads == threads && kept.problem == problem;
        if let Some(at) = recent.iter().rposition(same) {
            recent[at..].rotate_left(1);
            return Ok(recent[recent.len() - 1].planned.clone());
        }
        drop(recent);
        spare_memory()?;
        let plan = Planner::new(CpuDevice::here(threads)).plan(&problem)?;
        let planned = Arc::new(Transposer::new(plan, threads)?);
        let mut recent = lock();
        if recent.len() == MOST {
            recent.remove(0);
        }
        recent.push(Recent { problem, threads, planned: planned.clone() });
        Ok(planned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_plans_are_kept_each_for_its_problem_and_threads() {
        // Other tests of this process plan too, so not the list that callers share.
        let kept = Kept(Mutex::default());
        let of = |rows, cols| kept.planned(Problem::new(rows, cols, 4).unwrap()).unwrap();
        let first = of(200, 300);
        assert_eq!(first.plan(), crate::Transpose::of::<u32>(200, 300).plan().unwrap().plan());
        assert!(Arc::ptr_eq(&first, &of(200, 300)));
        assert!(!Arc::ptr_eq(&first, &of(300, 200)));
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        let third = pool.install(|| of(200, 300));
        assert!(pool::count() == 3 || !Arc::ptr_eq(&first, &third));
        for cols in 1000..1008 {
            of(100, cols);
            of(200, 300);
        }
        // Eight are kept, as is documented.
        (1000..1007).for_each(|cols| drop(of(101, cols)));
        assert!(Arc::ptr_eq(&first, &of(200, 300)), "seven came since");
        (1000..1008).for_each(|cols| drop(of(102, cols)));
        assert!(!Arc::ptr_eq(&first, &of(200, 300)), "eight came since");
    }
}
