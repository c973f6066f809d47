//! Measures the transposition of a matrix of doubles over processes: in place, and out of place
//! with `MPI_Alltoallv` between two local passes.
//!
//! Run it with `mpirun -n P measure ROWS COLS RUNS`. Prints median seconds of the slowest process,
//! and of the local stages of process 0 for the in-place transposition. Checks every element.

use std::cell::RefCell;
use std::error::Error;
use std::time::Instant;

use mpi::collective::SystemOperation;
use mpi::datatype::{Partition as SendBlocks, PartitionMut as ReceiveBlocks};
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator as _, CommunicatorCollectives as _};
use turntile_distributed::{CommError, Communicator, Partition, Redistribution};
use turntile_mpi::MpiComm;

/// Process that records the seconds of its local stages before and after the exchange.
struct TimedComm(MpiComm, RefCell<Vec<f64>>);

impl Communicator for TimedComm {
    fn rank(&self) -> usize {
        self.0.rank()
    }
    fn size(&self) -> usize {
        self.0.size()
    }
    fn exchange(
        &mut self,
        partner: usize,
        send: &[u8],
        receive: &mut [u8],
    ) -> Result<(), CommError> {
        self.0.exchange(partner, send, receive)
    }
    fn all_gather(&mut self, own: u64) -> Result<Vec<u64>, CommError> {
        self.0.all_gather(own)
    }
    fn local(&self, stage: Box<dyn FnOnce() + Send + '_>) {
        let start = Instant::now();
        self.0.local(stage);
        self.1.borrow_mut().push(start.elapsed().as_secs_f64());
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let (universe, _) = mpi::initialize_with_threading(mpi::Threading::Funneled)
        .ok_or("MPI is already initialised")?;
    let world = universe.world();
    let (r, ranks) = (world.rank() as usize, world.size() as usize);
    let numbers = std::env::args().skip(1).filter_map(|word| word.parse().ok());
    let [m, n, runs] = numbers.collect::<Vec<usize>>()[..] else {
        return Err("ROWS COLS RUNS".into());
    };
    let (rows, cols) = (Partition::balanced(m, ranks), Partition::balanced(n, ranks));
    let before = |k: usize| ((rows.begin(r) + k / n) * n + k % n) as f64;
    let after = |k: usize| ((k % m) * n + cols.begin(r) + k / m) as f64;
    let (own, end) = (rows.len(r) * n, cols.len(r) * m);

    let mut process = TimedComm(MpiComm::new(&world)?, RefCell::default());
    let planned = Redistribution::transpose(rows.clone(), cols.clone(), 8).plan(r)?;
    let mut data = vec![0f64; planned.capacity() / 8];
    let (mut in_place, mut out) = (Vec::new(), Vec::new());
    for _ in 0..runs {
        data[..own].iter_mut().enumerate().for_each(|(k, value)| *value = before(k));
        in_place.push(timed(&world, || Ok(planned.run(&mut process, &mut data)?))?);
        assert!(data[..end].iter().enumerate().all(|(k, value)| *value == after(k)));
    }

    let size = own.max(end);
    let (mut data, mut other) = (vec![0f64; size], vec![0f64; size]);
    for _ in 0..runs {
        data[..own].iter_mut().enumerate().for_each(|(k, value)| *value = before(k));
        let seconds = timed(&world, || {
            turntile::transpose_into(&data[..own], &mut other[..own], rows.len(r), n)?;
            let counts = |of: &Partition, by: usize| {
                of.sizes().map(|size| (size * by) as i32).collect::<Vec<_>>()
            };
            let begins = |of: &Partition, by: usize| {
                (0..ranks).map(|j| (of.begin(j) * by) as i32).collect::<Vec<_>>()
            };
            let sent = SendBlocks::new(
                &other[..own],
                counts(&cols, rows.len(r)),
                begins(&cols, rows.len(r)),
            );
            let (count, begin) = (counts(&rows, cols.len(r)), begins(&rows, cols.len(r)));
            world.all_to_all_varcount_into(
                &sent,
                &mut ReceiveBlocks::new(&mut data[..end], count, begin),
            );
            // Merge the panels of each process into whole rows of the result.
            for j in 0..ranks {
                let (width, block) = (rows.len(j), &data[rows.begin(j) * cols.len(r)..]);
                for k in 0..cols.len(r) {
                    other[k * m + rows.begin(j)..][..width]
                        .copy_from_slice(&block[k * width..][..width]);
                }
            }
            Ok(())
        })?;
        out.push(seconds);
        assert!(other[..end].iter().enumerate().all(|(k, value)| *value == after(k)));
    }
    let median = |mut all: Vec<f64>| -> f64 {
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    };
    let (in_place, out) = (median(in_place), median(out));
    if r == 0 {
        let stages = process.1.take();
        let [first, last] =
            [0, 1].map(|k| median(stages.iter().skip(k).step_by(2).copied().collect()));
        println!(
            "{m} x {n} over {ranks}: in place {in_place:.3} s (local {first:.3} and {last:.3}), out of place {out:.3} s"
        );
        println!("{planned}");
    }
    Ok(())
}

fn timed(
    world: &SimpleCommunicator,
    run: impl FnOnce() -> Result<(), Box<dyn Error>>,
) -> Result<f64, Box<dyn Error>> {
    world.barrier();
    let start = Instant::now();
    run()?;
    let (own, mut most) = (start.elapsed().as_secs_f64(), 0.0);
    world.all_reduce_into(&own, &mut most, SystemOperation::max());
    Ok(most)
}
