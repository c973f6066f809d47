//! Arrays over GPUs of this process, every element compared with the host, then timed beside peer copies of what must cross.
//!
//!     gpus [small | squares | errors | large | time]... [ROWSxCOLSxRANKS]...
//!
//! All parts without arguments. Ranks take the GPUs that there are in turn: with one GPU all are on it. `time` takes floats, of
//! the given sizes or of its own; what changes places tile by tile also by copies.
#![allow(unsafe_code)]

use std::error::Error;
use std::time::{Duration, Instant};

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use turntile::gpu::{CudaError, DeviceMemory, Gpu};
use turntile_cuda::peers::{Buffer, Queue};
use turntile_distributed::{MultiGpu, Partition, Redistribution, Schedule};

#[path = "../tests/common/mod.rs"]
#[allow(dead_code, reason = "ranks of threads and processes need more of it")]
mod common;
use common::{Case, cases};

type Answer<T> = Result<T, Box<dyn Error>>;

const REPEATS: usize = 7;
/// Bytes filled and compared at a time.
const PIECE: usize = 64 << 20;

/// A rank's memory, and a queue to fill and read it.
struct Local {
    queue: Queue,
    buffer: Buffer,
}

impl Local {
    fn all(gpus: &[Gpu], bytes: impl Fn(usize) -> usize) -> Result<Vec<Self>, CudaError> {
        let local = |(rank, gpu)| {
            Ok(Local { queue: Queue::new(gpu)?, buffer: Buffer::new(gpu, bytes(rank))? })
        };
        gpus.iter().enumerate().map(local).collect()
    }

    fn memory(&self) -> DeviceMemory {
        (self.buffer.address(), self.buffer.bytes()).into()
    }

    fn put(&mut self, at: usize, bytes: &[u8]) -> Result<(), CudaError> {
        self.queue.put(&mut self.buffer, at, bytes)
    }

    fn take(&self, at: usize, bytes: usize) -> Result<Vec<u8>, CudaError> {
        let mut taken = vec![0; bytes];
        self.queue.take(&self.buffer, at, &mut taken)?;
        Ok(taken)
    }
}

fn run(planned: &mut MultiGpu, locals: &[Local]) -> Result<(), turntile_distributed::Error> {
    let data: Vec<DeviceMemory> = locals.iter().map(Local::memory).collect();
    // SAFETY: the buffers were made on the plan's GPUs, filled by calls that waited, and nothing else uses them.
    unsafe { planned.run(&data) }
}

/// As many ranks on the GPUs that there are.
fn in_turn(gpus: &[Gpu], ranks: usize) -> Vec<Gpu> {
    gpus.iter().cycle().take(ranks).cloned().collect()
}

/// Drawn shapes, axes, parts and elements over 1 to 4 ranks.
fn small(gpus: &[Gpu]) -> Answer<usize> {
    let (mut runner, mut failures) = (TestRunner::deterministic(), 0);
    for turn in 0..200 {
        let ranks = 1 + turn % 4;
        let tree = cases(ranks).new_tree(&mut runner).map_err(|why| why.to_string())?;
        for chunk in [64, 1 << 20] {
            failures += check(&tree.current(), ranks, chunk, gpus)?;
        }
    }
    Ok(failures)
}

/// Squares in equal parts over 2 to 5 ranks, and rectangles, of whole tiles and of others.
fn squares(gpus: &[Gpu]) -> Answer<usize> {
    let mut failures = 0;
    let equal = [4, 52, 64, 132, 260].map(|side| (side, side));
    let sides = [&equal[..], &[(64, 128), (192, 128), (68, 204)]].concat();
    for (ranks, (m, n)) in (2..=5).flat_map(|ranks| sides.iter().map(move |sides| (ranks, *sides)))
    {
        let [rows, cols] = [m, n].map(|part| Partition::balanced(ranks * part, ranks));
        for elem_bytes in [4, 8, 16] {
            let case = Case::matrix(rows.clone(), cols.clone(), elem_bytes);
            failures += check(&case, ranks, 1 << 20, gpus)?;
        }
    }
    Ok(failures)
}

fn check(case: &Case, ranks: usize, chunk: usize, gpus: &[Gpu]) -> Answer<usize> {
    let (in_order, gpus): (Vec<usize>, _) = ((0..case.shape.len()).collect(), in_turn(gpus, ranks));
    let (mut planned, mut failures) = (case.change().chunk(chunk).plan_on(&gpus)?, 0);
    // What is behind the part must stay.
    let mut locals = Local::all(&gpus, |rank| planned.capacity(rank) + 3)?;
    for (rank, local) in locals.iter_mut().enumerate() {
        local.put(0, &case.part(&in_order, &case.before, rank))?;
        local.put(planned.capacity(rank), &[0xA5; 3])?;
    }
    run(&mut planned, &locals)?;
    for (rank, local) in locals.iter().enumerate() {
        let want = case.part(&case.axes, &case.after, rank);
        let behind = local.take(planned.capacity(rank), 3)?;
        if local.take(0, want.len())? != want || behind != [0xA5; 3] {
            println!("WRONG on rank {rank}: {case:?}\n{planned}");
            failures += 1;
        }
    }
    Ok(failures)
}

/// What is refused leaves the data as they were: a square, a rectangle, and parts that are copied.
fn errors(gpus: &[Gpu]) -> Answer<usize> {
    let (gpus, mut failures) = (in_turn(gpus, 2), 0);
    for sides in [[64, 64], [128, 256], [60, 68]] {
        let [rows, cols] = sides.map(|side| Partition::balanced(side, 2));
        let change = Redistribution::transpose(rows, cols, 4);
        let mut planned = change.plan_on(&gpus)?;
        let mut locals = Local::all(&gpus, |rank| planned.capacity(rank) + 16)?;
        let before: Vec<u8> = (0..planned.capacity(0)).map(|k| k as u8).collect();
        locals.iter_mut().try_for_each(|local| local.put(0, &before))?;
        let place = |rank: usize| locals[rank].memory().place();
        let [first, (address, bytes)] = [place(0), place(1)];
        for second in [(address, before.len() - 1), (address + 4, bytes - 4), first] {
            // SAFETY: memory of the ranks' GPUs, or refused.
            let refused = unsafe { planned.run(&[first.into(), second.into()]) };
            failures += usize::from(refused.is_ok());
            println!("  refused: {}", refused.err().map_or("no".into(), |why| why.to_string()));
            for local in &locals {
                failures += usize::from(local.take(0, before.len())? != before);
            }
        }
        failures += usize::from(change.plan_on(&gpus[..1]).is_ok());
    }
    Ok(failures)
}

/// A matrix of 4-byte numbers that counts its elements, from 0 again after 2^32.
fn fill(local: &mut Local, first: usize, bytes: usize) -> Result<(), CudaError> {
    for at in (0..bytes).step_by(PIECE) {
        let numbers = at / 4..(at + PIECE).min(bytes) / 4;
        let piece: Vec<u32> = numbers.map(|k| (first + k) as u32).collect();
        local.put(at, bytemuck::cast_slice(&piece))?;
    }
    Ok(())
}

/// Elements of rank `r` that are not the transpose's.
fn wrong(
    local: &Local,
    [rows, cols]: [usize; 2],
    parts: &Partition,
    r: usize,
) -> Result<usize, CudaError> {
    let (bytes, mut wrong) = (4 * rows * parts.len(r), 0);
    let mut piece = vec![0u32; PIECE.min(bytes) / 4];
    for at in (0..bytes).step_by(PIECE) {
        let piece = &mut piece[..PIECE.min(bytes - at) / 4];
        local.queue.take(&local.buffer, at, bytemuck::cast_slice_mut(piece))?;
        let mut first = parts.begin(r) * rows + at / 4;
        let mut rest = &*piece;
        while !rest.is_empty() {
            // What there is of a row.
            let (row, col) = (first / rows, first % rows);
            let (some, others) = rest.split_at(rest.len().min(rows - col));
            let want = |k: usize| ((col + k) * cols + row) as u32;
            wrong += some.iter().enumerate().filter(|&(k, &value)| value != want(k)).count();
            (first, rest) = (first + some.len(), others);
        }
    }
    Ok(wrong)
}

struct Sized {
    sides: [usize; 2],
    parts: [Partition; 2],
    planned: MultiGpu,
    locals: Vec<Local>,
    gpus: Vec<Gpu>,
}

impl Sized {
    fn new(
        gpus: &[Gpu],
        sides: [usize; 2],
        ranks: usize,
        asked: impl FnOnce(Redistribution) -> Redistribution,
    ) -> Answer<Self> {
        let (gpus, parts) =
            (in_turn(gpus, ranks), sides.map(|side| Partition::balanced(side, ranks)));
        let [rows, cols] = parts.clone();
        let planned = asked(Redistribution::transpose(rows, cols, 4)).plan_on(&gpus)?;
        let locals = Local::all(&gpus, |rank| planned.capacity(rank))?;
        Ok(Sized { sides, parts, planned, locals, gpus })
    }

    /// Every element, after one run; ranks fill and compare at once.
    fn check(&mut self) -> Answer<usize> {
        let (sides, [rows, cols]) = (self.sides, &self.parts);
        std::thread::scope(|scope| {
            let fill = |(r, local)| {
                let (first, bytes) = (rows.begin(r) * sides[1], 4 * rows.len(r) * sides[1]);
                scope.spawn(move || fill(local, first, bytes))
            };
            let filled: Vec<_> = self.locals.iter_mut().enumerate().map(fill).collect();
            filled.into_iter().try_for_each(|filled| filled.join().expect("no panic"))
        })?;
        run(&mut self.planned, &self.locals)?;
        let wrong = std::thread::scope(|scope| {
            let wrong = |(r, local)| scope.spawn(move || wrong(local, sides, cols, r));
            let counted: Vec<_> = self.locals.iter().enumerate().map(wrong).collect();
            counted
                .into_iter()
                .map(|count| count.join().expect("no panic"))
                .sum::<Result<usize, _>>()
        })?;
        if wrong > 0 {
            println!("WRONG: {wrong} elements of {sides:?}\n{}", self.planned);
        }
        Ok(wrong)
    }

    /// Bytes that rank 0 sends.
    fn crossing(&self) -> usize {
        4 * self.parts[0].len(0) * (self.sides[1] - self.parts[1].len(0))
    }

    /// As many bytes from each rank to the next, all at once: in pieces from the first half of its memory to the second half of
    /// the next one's.
    fn copies(&self) -> Result<(), CudaError> {
        for (r, local) in self.locals.iter().enumerate() {
            let next = (r + 1) % self.locals.len();
            let other = &self.locals[next];
            let half = local.buffer.bytes().min(other.buffer.bytes()) / 2;
            let mut left = self.crossing();
            while left > 0 {
                let bytes = left.min(half);
                let to = (&self.gpus[next], other.buffer.address() + half as u64);
                // SAFETY: halves of live buffers; first halves are only read, and the second of each is written on one queue.
                unsafe { local.queue.copy(to, (&self.gpus[r], local.buffer.address()), bytes)? };
                left -= bytes;
            }
        }
        self.locals.iter().try_for_each(|local| local.queue.wait())
    }
}

/// Sides that fill the chip.
fn large(gpus: &[Gpu]) -> Answer<usize> {
    let sides =
        [[8208, 8208], [8191, 8209], [30_000, 20_000], [10_007, 40_009], [65_536, 3], [5, 999_983]];
    let mut failures = 0;
    for (sides, ranks) in sides.into_iter().flat_map(|sides| [2, 3, 4].map(|ranks| (sides, ranks)))
    {
        failures += Sized::new(gpus, sides, ranks, |change| change)?.check()?.min(1);
    }
    Ok(failures)
}

fn median(mut run: impl FnMut() -> Answer<()>) -> Answer<Duration> {
    let mut times = Vec::new();
    for _ in 0..REPEATS {
        let start = Instant::now();
        run()?;
        times.push(start.elapsed());
    }
    times.sort_unstable();
    Ok(times[REPEATS / 2])
}

fn time(gpus: &[Gpu], asked: &[[usize; 3]]) -> Answer<usize> {
    let (mut failures, mut rows) = (0, Vec::new());
    for &[m, n, ranks] in asked {
        let copied = if m < n { Schedule::PanelsFirst } else { Schedule::AxesFirst };
        for way in [None, Some(copied)] {
            if way.is_some() && (m % ranks, n % ranks) != (0, 0) {
                continue;
            }
            let by = |change: Redistribution| match way {
                Some(way) => change.way(way),
                None => change,
            };
            let mut sized = Sized::new(gpus, [m, n], ranks, by)?;
            failures += sized.check()?.min(1);
            println!("{}", sized.planned);
            // The plan can run on what it left, whatever the sides are.
            let Sized { planned, locals, .. } = &mut sized;
            let run = median(|| Ok(run(planned, locals)?))?;
            let copies = median(|| Ok(sized.copies()?))?;
            let crossing = sized.crossing() as f64;
            let [rate, copied] = [run, copies].map(|time| crossing / time.as_secs_f64() / 1e9);
            let [run_ms, copies_ms] = [run, copies].map(|time| time.as_secs_f64() * 1e3);
            let reached = if sized.planned.is_direct() { "direct" } else { "through the host" };
            let way = way.map_or(String::new(), |way| format!(", {way:?}"));
            let beside = sized.planned.workspace_bytes(0) as f64 / f64::from(1 << 20);
            rows.push(format!(
                "| {m} x {n}{way} | {ranks} | {} | {reached} | {:.2} | {run_ms:.2} | {rate:.0} | {copies_ms:.2} | {copied:.0} | {:.2} | {beside:.0} |",
                gpus.len().min(ranks),
                crossing / 1e9,
                copies_ms / run_ms,
            ));
        }
    }
    println!(
        "| floats | ranks | GPUs | copies | GB that rank 0 sends | ms | GB/s | copies of these bytes: ms | GB/s | of these copies | MiB beside the data |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|");
    rows.iter().for_each(|row| println!("{row}"));
    Ok(failures)
}

fn main() -> Answer<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut sizes: Vec<[usize; 3]> = Vec::new();
    for argument in arguments.iter().filter(|argument| argument.contains('x')) {
        let numbers = argument.split('x').map(str::parse).collect::<Result<Vec<usize>, _>>()?;
        sizes.push(numbers.try_into().map_err(|_| "ROWSxCOLSxRANKS")?);
    }
    if sizes.is_empty() {
        sizes = vec![
            [65_536, 65_536, 2],
            [65_536, 32_768, 2],
            [65_521, 65_537, 2],
            [30_000, 20_000, 2],
            [49_152, 49_152, 4],
        ];
    }
    let mut gpus = vec![Gpu::primary(0)?];
    while let Ok(gpu) = Gpu::primary(gpus.len()) {
        gpus.push(gpu);
    }
    println!("{} GPUs", gpus.len());
    let asked = |name: &str| {
        let none = arguments.iter().all(|argument| argument.contains('x'));
        none || arguments.iter().any(|argument| argument == name)
    };
    let parts: [(&str, &dyn Fn() -> Answer<usize>); 5] = [
        ("small", &|| small(&gpus)),
        ("squares", &|| squares(&gpus)),
        ("errors", &|| errors(&gpus)),
        ("large", &|| large(&gpus)),
        ("time", &|| time(&gpus, &sizes)),
    ];
    let mut failures = 0;
    for (name, part) in parts {
        if asked(name) {
            let start = Instant::now();
            let failed = part()?;
            println!("{name}: {failed} failures, {:.1} s", start.elapsed().as_secs_f64());
            failures += failed;
        }
    }
    println!("{}", if failures == 0 { "all right" } else { "FAILED" });
    std::process::exit(i32::from(failures > 0));
}
