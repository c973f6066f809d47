//! Tests and times redistributions over the GPUs of this process. Every element is compared with
//! the host. Times are compared with peer copies of the bytes that must be sent.
//!
//!     gpus [small | squares | errors | large | time]... [ROWSxCOLSxRANKS]...
//!
//! Without arguments all of these run. Ranks are assigned to the available GPUs in rotation: with
//! one GPU all ranks share it. `time` uses matrices of floats, of the given sizes or of default
//! sizes. If the ranks' parts are equal, `time` also measures the same matrix with copies.
#![allow(unsafe_code)]

use std::error::Error;
use std::time::{Duration, Instant};

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use turntile::gpu::{CudaError, DeviceMemory, Gpu};
use turntile_cuda::peers::{Buffer, Queue};
use turntile_distributed::{MultiGpu, Partition, Redistribution, Schedule};

#[path = "../tests/common/mod.rs"]
#[allow(dead_code, reason = "tests of threads and processes use more of it")]
mod common;
use common::{Case, cases};

type Outcome<T> = Result<T, Box<dyn Error>>;

const REPEATS: usize = 7;
/// Bytes filled and compared at a time.
const PIECE: usize = 64 << 20;

/// Device memory of one rank, and a stream to fill and read it.
struct RankMemory {
    stream: Queue,
    buffer: Buffer,
}

impl RankMemory {
    fn all(gpus: &[Gpu], bytes: impl Fn(usize) -> usize) -> Result<Vec<Self>, CudaError> {
        let local = |(rank, gpu)| {
            Ok(RankMemory { stream: Queue::new(gpu)?, buffer: Buffer::new(gpu, bytes(rank))? })
        };
        gpus.iter().enumerate().map(local).collect()
    }

    fn memory(&self) -> DeviceMemory {
        (self.buffer.address(), self.buffer.bytes()).into()
    }

    fn put(&mut self, at: usize, bytes: &[u8]) -> Result<(), CudaError> {
        self.stream.put(&mut self.buffer, at, bytes)
    }

    fn take(&self, at: usize, bytes: usize) -> Result<Vec<u8>, CudaError> {
        let mut taken = vec![0; bytes];
        self.stream.take(&self.buffer, at, &mut taken)?;
        Ok(taken)
    }
}

fn run(planned: &mut MultiGpu, locals: &[RankMemory]) -> Result<(), turntile_distributed::Error> {
    let data: Vec<DeviceMemory> = locals.iter().map(RankMemory::memory).collect();
    // SAFETY: the buffers were allocated on the plan's GPUs. The calls that filled them waited for
    // completion, and nothing else uses them.
    unsafe { planned.run(&data) }
}

/// Assigns `ranks` ranks to the available GPUs in rotation.
fn assign(gpus: &[Gpu], ranks: usize) -> Vec<Gpu> {
    gpus.iter().cycle().take(ranks).cloned().collect()
}

/// Checks random shapes, axes, parts and element sizes over 1 to 4 ranks.
fn small(gpus: &[Gpu]) -> Outcome<usize> {
    let (mut runner, mut failures) = (TestRunner::deterministic(), 0);
    for index in 0..200 {
        let ranks = 1 + index % 4;
        let tree = cases(ranks).new_tree(&mut runner).map_err(|why| why.to_string())?;
        for chunk in [64, 1 << 20] {
            failures += check(&tree.current(), ranks, chunk, gpus)?;
        }
    }
    Ok(failures)
}

/// Checks squares and rectangles in equal and in unequal parts, over 2 to 5 ranks.
/// Some sides are not a multiple of the kernel's tile.
fn squares(gpus: &[Gpu]) -> Outcome<usize> {
    let mut failures = 0;
    let equal = [4, 52, 64, 132, 260].map(|side| (side, side));
    let sides = [&equal[..], &[(64, 128), (192, 128), (68, 204)]].concat();
    for (ranks, (m, n)) in (2..=5).flat_map(|ranks| sides.iter().map(move |sides| (ranks, *sides)))
    {
        let [rows, cols] = [m, n].map(|part| Partition::balanced(ranks * part, ranks));
        for elem_bytes in [4, 8, 16] {
            let case = Case::matrix(rows.clone(), cols.clone(), elem_bytes);
            failures += check(&case, ranks, 1 << 20, gpus)?;
            let unequal = Partition::balanced(ranks * m + 1, ranks);
            let case = Case::matrix(unequal.clone(), unequal, elem_bytes);
            failures += check(&case, ranks, 1 << 20, gpus)?;
        }
    }
    for (ranks, (m, n)) in (2..=5)
        .flat_map(|ranks| [(259, 517), (1031, 523), (1283, 2051)].map(|sides| (ranks, sides)))
    {
        for (cut, elem_bytes) in [Partition::balanced, Partition::blocks]
            .into_iter()
            .flat_map(|cut| [4, 8, 16].map(|bytes| (cut, bytes)))
        {
            let case = Case::matrix(cut(m, ranks), cut(n, ranks), elem_bytes);
            failures += check(&case, ranks, 1 << 20, gpus)?;
        }
    }
    Ok(failures)
}

fn check(case: &Case, ranks: usize, chunk: usize, gpus: &[Gpu]) -> Outcome<usize> {
    let (identity, gpus): (Vec<usize>, _) = ((0..case.shape.len()).collect(), assign(gpus, ranks));
    let (mut planned, mut failures) = (case.change().message_bytes(chunk).plan_on(&gpus)?, 0);
    // Bytes after the plan's capacity must not change.
    let mut locals = RankMemory::all(&gpus, |rank| planned.capacity(rank) + 3)?;
    for (rank, local) in locals.iter_mut().enumerate() {
        local.put(0, &case.part(&identity, &case.before, rank))?;
        local.put(planned.capacity(rank), &[0xA5; 3])?;
    }
    run(&mut planned, &locals)?;
    for (rank, local) in locals.iter().enumerate() {
        let want = case.part(&case.axes, &case.after, rank);
        let after_part = local.take(planned.capacity(rank), 3)?;
        if local.take(0, want.len())? != want || after_part != [0xA5; 3] {
            println!("WRONG on rank {rank}: {case:?}\n{planned}");
            failures += 1;
        }
    }
    Ok(failures)
}

/// Checks that rejected calls leave the data unchanged: for a square, a rectangle, and parts that
/// are copied.
fn errors(gpus: &[Gpu]) -> Outcome<usize> {
    let (gpus, mut failures) = (assign(gpus, 2), 0);
    for sides in [[64, 64], [128, 256], [60, 68]] {
        let [rows, cols] = sides.map(|side| Partition::balanced(side, 2));
        let change = Redistribution::transpose(rows, cols, 4);
        let mut planned = change.plan_on(&gpus)?;
        let mut locals = RankMemory::all(&gpus, |rank| planned.capacity(rank) + 16)?;
        let before: Vec<u8> = (0..planned.capacity(0)).map(|k| k as u8).collect();
        locals.iter_mut().try_for_each(|local| local.put(0, &before))?;
        let buffer = |rank: usize| locals[rank].memory().place();
        let [first, (address, bytes)] = [buffer(0), buffer(1)];
        for second in [(address, before.len() - 1), (address + 4, bytes - 4), first] {
            // SAFETY: `run` rejects the second buffer. Both are memory of the ranks' GPUs.
            let result = unsafe { planned.run(&[first.into(), second.into()]) };
            failures += usize::from(result.is_ok());
            println!("  rejected: {}", result.err().map_or("no".into(), |why| why.to_string()));
            for local in &locals {
                failures += usize::from(local.take(0, before.len())? != before);
            }
        }
        failures += usize::from(change.plan_on(&gpus[..1]).is_ok());
    }
    Ok(failures)
}

/// Fills memory with consecutive 4-byte numbers from `first` on, modulo 2^32.
fn fill(local: &mut RankMemory, first: usize, bytes: usize) -> Result<(), CudaError> {
    for at in (0..bytes).step_by(PIECE) {
        let numbers = at / 4..(at + PIECE).min(bytes) / 4;
        let piece: Vec<u32> = numbers.map(|k| (first + k) as u32).collect();
        local.put(at, bytemuck::cast_slice(&piece))?;
    }
    Ok(())
}

/// Counts the elements of rank `r` that differ from the transpose.
fn count_wrong(
    local: &RankMemory,
    [rows, cols]: [usize; 2],
    parts: &Partition,
    r: usize,
) -> Result<usize, CudaError> {
    let (bytes, mut wrong) = (4 * rows * parts.len(r), 0);
    let mut piece = vec![0u32; PIECE.min(bytes) / 4];
    for at in (0..bytes).step_by(PIECE) {
        let piece = &mut piece[..PIECE.min(bytes - at) / 4];
        local.stream.take(&local.buffer, at, bytemuck::cast_slice_mut(piece))?;
        let mut first = parts.begin(r) * rows + at / 4;
        let mut rest = &*piece;
        while !rest.is_empty() {
            // Compare the elements of this piece that are in the current row of the result.
            let (row, col) = (first / rows, first % rows);
            let (in_row, others) = rest.split_at(rest.len().min(rows - col));
            let want = |k: usize| ((col + k) * cols + row) as u32;
            wrong += in_row.iter().enumerate().filter(|&(k, &value)| value != want(k)).count();
            (first, rest) = (first + in_row.len(), others);
        }
    }
    Ok(wrong)
}

/// A matrix of floats, planned and allocated on all ranks.
struct TestMatrix {
    sides: [usize; 2],
    parts: [Partition; 2],
    planned: MultiGpu,
    locals: Vec<RankMemory>,
    gpus: Vec<Gpu>,
}

impl TestMatrix {
    fn new(
        gpus: &[Gpu],
        sides: [usize; 2],
        ranks: usize,
        options: impl FnOnce(Redistribution) -> Redistribution,
    ) -> Outcome<Self> {
        let (gpus, parts) =
            (assign(gpus, ranks), sides.map(|side| Partition::balanced(side, ranks)));
        let [rows, cols] = parts.clone();
        let planned = options(Redistribution::transpose(rows, cols, 4)).plan_on(&gpus)?;
        let locals = RankMemory::all(&gpus, |rank| planned.capacity(rank))?;
        Ok(TestMatrix { sides, parts, planned, locals, gpus })
    }

    /// Runs the plan once and counts wrong elements. Ranks are filled and compared in parallel.
    fn check(&mut self) -> Outcome<usize> {
        let (sides, [rows, cols]) = (self.sides, &self.parts);
        std::thread::scope(|scope| {
            let fill = |(r, local)| {
                let (first, bytes) = (rows.begin(r) * sides[1], 4 * rows.len(r) * sides[1]);
                scope.spawn(move || fill(local, first, bytes))
            };
            let filled: Vec<_> = self.locals.iter_mut().enumerate().map(fill).collect();
            filled
                .into_iter()
                .try_for_each(|filled| filled.join().expect("the thread must not panic"))
        })?;
        run(&mut self.planned, &self.locals)?;
        let wrong = std::thread::scope(|scope| {
            let wrong = |(r, local)| scope.spawn(move || count_wrong(local, sides, cols, r));
            let counted: Vec<_> = self.locals.iter().enumerate().map(wrong).collect();
            counted
                .into_iter()
                .map(|count| count.join().expect("the thread must not panic"))
                .sum::<Result<usize, _>>()
        })?;
        if wrong > 0 {
            println!("WRONG: {wrong} elements of {sides:?}\n{}", self.planned);
        }
        Ok(wrong)
    }

    /// Returns the number of bytes that rank 0 sends.
    fn sent_bytes(&self) -> usize {
        4 * self.parts[0].len(0) * (self.sides[1] - self.parts[1].len(0))
    }

    /// Copies [`sent_bytes`](Self::sent_bytes) bytes from each rank to the next, all in parallel:
    /// from the first half of a rank's memory to the second half of the next rank's.
    fn copies(&self) -> Result<(), CudaError> {
        for (r, local) in self.locals.iter().enumerate() {
            let next = (r + 1) % self.locals.len();
            let other = &self.locals[next];
            let half = local.buffer.bytes().min(other.buffer.bytes()) / 2;
            let mut left = self.sent_bytes();
            while left > 0 {
                let bytes = left.min(half);
                let to = (&self.gpus[next], other.buffer.address() + half as u64);
                // SAFETY: both are halves of live buffers. First halves are only read. Each second
                // half is written by one stream only.
                unsafe { local.stream.copy(to, (&self.gpus[r], local.buffer.address()), bytes)? };
                left -= bytes;
            }
        }
        self.locals.iter().try_for_each(|local| local.stream.wait())
    }
}

/// Checks matrices that are large enough to use the whole GPU.
fn large(gpus: &[Gpu]) -> Outcome<usize> {
    let sides =
        [[8208, 8208], [8191, 8209], [30_000, 20_000], [10_007, 40_009], [65_536, 3], [5, 999_983]];
    let mut failures = 0;
    for (sides, ranks) in sides.into_iter().flat_map(|sides| [2, 3, 4].map(|ranks| (sides, ranks)))
    {
        failures += TestMatrix::new(gpus, sides, ranks, |change| change)?.check()?.min(1);
    }
    Ok(failures)
}

fn median(mut run: impl FnMut() -> Outcome<()>) -> Outcome<Duration> {
    let mut times = Vec::new();
    for _ in 0..REPEATS {
        let start = Instant::now();
        run()?;
        times.push(start.elapsed());
    }
    times.sort_unstable();
    Ok(times[REPEATS / 2])
}

fn time(gpus: &[Gpu], sizes: &[[usize; 3]]) -> Outcome<usize> {
    let (mut failures, mut rows) = (0, Vec::new());
    for &[m, n, ranks] in sizes {
        let by_copies = if m < n { Schedule::PanelsFirst } else { Schedule::AxesFirst };
        for schedule in [None, Some(by_copies)] {
            if schedule.is_some() && (m % ranks, n % ranks) != (0, 0) {
                continue;
            }
            let options = |change: Redistribution| match schedule {
                Some(schedule) => change.schedule(schedule),
                None => change,
            };
            let mut matrix = TestMatrix::new(gpus, [m, n], ranks, options)?;
            failures += matrix.check()?.min(1);
            println!("{}", matrix.planned);
            // The plan can run on its own result: only the time matters here.
            let TestMatrix { planned, locals, .. } = &mut matrix;
            let run = median(|| Ok(run(planned, locals)?))?;
            let copies = median(|| Ok(matrix.copies()?))?;
            let sent = matrix.sent_bytes() as f64;
            let [rate, copy_rate] = [run, copies].map(|time| sent / time.as_secs_f64() / 1e9);
            let [run_ms, copies_ms] = [run, copies].map(|time| time.as_secs_f64() * 1e3);
            let path = if matrix.planned.is_direct() { "direct" } else { "through the host" };
            let schedule = schedule.map_or(String::new(), |schedule| format!(", {schedule:?}"));
            let workspace = matrix.planned.workspace_bytes(0) as f64 / f64::from(1 << 20);
            rows.push(format!(
                "| {m} x {n}{schedule} | {ranks} | {} | {path} | {:.2} | {run_ms:.2} | {rate:.0} | {copies_ms:.2} | {copy_rate:.0} | {:.2} | {workspace:.0} |",
                gpus.len().min(ranks),
                sent / 1e9,
                copies_ms / run_ms,
            ));
        }
    }
    println!(
        "| floats | ranks | GPUs | copies | GB that rank 0 sends | ms | GB/s | copies of these bytes: ms | GB/s | fraction of copies | MiB of workspace |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|");
    rows.iter().for_each(|row| println!("{row}"));
    Ok(failures)
}

fn main() -> Outcome<()> {
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
    let is_selected = |name: &str| {
        let none = arguments.iter().all(|argument| argument.contains('x'));
        none || arguments.iter().any(|argument| argument == name)
    };
    let parts: [(&str, &dyn Fn() -> Outcome<usize>); 5] = [
        ("small", &|| small(&gpus)),
        ("squares", &|| squares(&gpus)),
        ("errors", &|| errors(&gpus)),
        ("large", &|| large(&gpus)),
        ("time", &|| time(&gpus, &sizes)),
    ];
    let mut failures = 0;
    for (name, part) in parts {
        if is_selected(name) {
            let start = Instant::now();
            let failed = part()?;
            println!("{name}: {failed} failures, {:.1} s", start.elapsed().as_secs_f64());
            failures += failed;
        }
    }
    println!("{}", if failures == 0 { "all passed" } else { "FAILED" });
    std::process::exit(i32::from(failures > 0));
}
