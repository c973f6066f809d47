//! Transposes a matrix of doubles in place, with threads as ranks. Prints the time, and the speed
//! in percent of a copy by one thread, also for an in-place transpose of the whole matrix in one
//! buffer.
//!
//!     cargo run --release -p turntile-distributed --example threads [rows cols ranks]

use std::time::{Duration, Instant};

use turntile_distributed::{Communicator, Error, Partition, Redistribution, thread_comm};

const REPEATS: usize = 9;

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn timed(mut run: impl FnMut()) -> Duration {
    let time = |_| {
        let start = Instant::now();
        run();
        start.elapsed()
    };
    median((0..REPEATS).map(time).collect())
}

fn main() -> Result<(), Error> {
    let given: Vec<usize> = std::env::args().skip(1).filter_map(|n| n.parse().ok()).collect();
    let [rows, cols, ranks] = given.try_into().unwrap_or([8192, 8192, 2]);
    let parts = [Partition::balanced(rows, ranks), Partition::balanced(cols, ranks)];
    let [forward, inverse] = [[0, 1], [1, 0]].map(|[before, after]| {
        let [before, after] = [&parts[before], &parts[after]].map(Clone::clone);
        Redistribution::transpose(before, after, size_of::<f64>()).threads(1)
    });
    println!("{}", forward.plan(0)?);
    let slowest = thread_comm::run(ranks, |mut rank| {
        let plans = (forward.plan(rank.rank())?, inverse.plan(rank.rank())?);
        let first = parts[0].begin(rank.rank()) * cols;
        let mut data: Vec<f64> = (first..).take(plans.0.capacity() / 8).map(|k| k as f64).collect();
        let before = data.clone();
        let mut times = Vec::new();
        for _ in 0..REPEATS {
            rank.all_gather(0).map_err(Error::Unreachable)?;
            let start = Instant::now();
            plans.0.run(&mut rank, &mut data)?;
            times.push(start.elapsed());
            plans.1.run(&mut rank, &mut data)?;
        }
        let part = plans.0.len_before() / 8;
        assert!(data[..part] == before[..part], "the inverse must restore the data");
        Ok(median(times))
    });
    let slowest = slowest.into_iter().collect::<Result<Vec<_>, Error>>()?.into_iter().max();

    let mut whole = vec![1.0f64; rows * cols];
    let planned = turntile::Transpose::new::<f64>(rows, cols).threads(ranks).plan()?;
    let one_memory = timed(|| planned.run(&mut whole).expect("the length matches the plan"));
    let mut other = vec![2.0f64; rows * cols];
    let copy = timed(|| other.copy_from_slice(std::hint::black_box(&whole)));
    let share = |time: Duration| 100.0 * copy.as_secs_f64() / time.as_secs_f64();
    for (what, time) in [("over ranks", slowest.unwrap_or_default()), ("in one memory", one_memory)]
    {
        println!("{what}: {time:.1?}, {:.0}% of a copy by one thread", share(time));
    }
    Ok(())
}
