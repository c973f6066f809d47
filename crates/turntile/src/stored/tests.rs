//! Tests of out-of-core runs: all axis permutations of small arrays with different memory limits,
//! compared with an element-wise reference, and errors.

use std::collections::HashSet;
use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use super::*;
use crate::stored::job::unreversed;

/// Test storage in memory that counts the writes of each byte.
struct Counted {
    bytes: Vec<u8>,
    times: Vec<u32>,
}

impl Counted {
    fn new(bytes: usize) -> Self {
        Counted { bytes: vec![0; bytes], times: vec![0; bytes] }
    }
}

impl ReadAt for Counted {
    fn read_exact_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        self.bytes[..].read_exact_at(bytes, offset)
    }
}

impl WriteAt for Counted {
    fn write_all_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.times[offset as usize..][..bytes.len()].iter_mut().for_each(|times| *times += 1);
        self.bytes[..].write_all_at(bytes, offset)
    }
}

/// Test storage that reports announced ranges as prefetched, and counts the bytes read without an
/// announcement.
struct Fetching<'a> {
    bytes: &'a [u8],
    announced: Mutex<HashSet<(u64, usize)>>,
    unannounced: AtomicUsize,
}

impl ReadAt for Fetching<'_> {
    fn read_exact_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        if !self.announced.lock().unwrap().remove(&(offset, bytes.len())) {
            self.unannounced.fetch_add(bytes.len(), Ordering::Relaxed);
        }
        self.bytes.read_exact_at(bytes, offset)
    }

    fn fetch(&self, offset: u64, bytes: usize) -> bool {
        self.announced.lock().unwrap().insert((offset, bytes))
    }
}

/// Returns `data` with permuted axes, some of them reversed, computed element by element.
fn permuted(
    data: &[u8],
    extents: &[usize],
    order: &[usize],
    flipped: &[bool],
    elem: usize,
) -> Vec<u8> {
    let pitch = |axis: usize| extents[axis + 1..].iter().product::<usize>() * elem;
    let mut result = Vec::with_capacity(data.len());
    for k in 0..extents.iter().product() {
        let (mut rest, mut at) = (k, 0);
        for (&axis, &flip) in order.iter().zip(flipped).rev() {
            let index = rest % extents[axis];
            at += if flip { extents[axis] - 1 - index } else { index } * pitch(axis);
            rest /= extents[axis];
        }
        result.extend_from_slice(&data[at..at + elem]);
    }
    result
}

fn orders(axes: usize) -> Vec<Vec<usize>> {
    let Some(last) = axes.checked_sub(1) else { return vec![Vec::new()] };
    let put = |order: &Vec<usize>, at: usize| {
        let mut order = order.clone();
        order.insert(at, last);
        order
    };
    orders(last)
        .iter()
        .flat_map(|order| (0..axes).map(|at| put(order, at)).collect::<Vec<_>>())
        .collect()
}

fn check(
    extents: &[usize],
    order: &[usize],
    elem: usize,
    passes_in: impl Fn(&StridedCopy) -> Vec<Pass>,
) {
    let all = (1 << extents.len()) - 1;
    for set in HashSet::from([0, all, all & 0b0101, all & 0b0010]) {
        let flipped: Vec<bool> = (0..extents.len()).map(|axis| set >> axis & 1 == 1).collect();
        check_flipped(extents, order, &flipped, elem, &passes_in);
    }
}

fn check_flipped(
    extents: &[usize],
    order: &[usize],
    flipped: &[bool],
    elem: usize,
    passes_in: impl Fn(&StridedCopy) -> Vec<Pass>,
) {
    let bytes = extents.iter().product::<usize>() * elem;
    let data: Vec<u8> = (0..bytes).map(|k| (k * 7 + k / 256 * 31) as u8).collect();
    let wide: Vec<u64> = extents.iter().map(|&extent| extent as u64).collect();
    let passes = passes_in(&StridedCopy::permuting(&wide, order, flipped, elem as u64));
    // For some cases, also check reading ahead, which starts threads.
    if elem == 3 && extents.len() == 3 {
        let mut two = passes.clone();
        two.iter_mut().for_each(|pass| pass.ahead = pass.blocks.bytes < pass.job.bytes());
        let stored = OutOfCore { passes: two, threads: 1, readers: READERS, workspace: 1 << 12 };
        let (mut buffer, mut result) = (vec![0; stored.buffer_bytes()], Counted::new(bytes));
        let mut scratch = Counted::new(stored.scratch_bytes() as usize);
        stored.run_in(&mut buffer, &data[..], &mut result, Some(&mut scratch), |_| ()).unwrap();
        assert!(
            result.bytes == permuted(&data, extents, order, flipped, elem),
            "{:?}",
            stored.passes
        );
    }
    let stored = OutOfCore { passes, threads: 1, readers: READERS, workspace: 1 << 12 };
    let mut buffer = vec![0; stored.buffer_bytes()];
    let room = stored.scratch_bytes() as usize;
    let (mut result, mut scratch, mut moved) = (Counted::new(bytes), Counted::new(room), 0);
    stored
        .run_in(&mut buffer, &data[..], &mut result, Some(&mut scratch), |more| moved += more)
        .unwrap();
    let case = format!("{extents:?} {order:?} {flipped:?} {elem}: {:?}", stored.passes);
    assert!(result.bytes == permuted(&data, extents, order, flipped, elem), "{case}");
    assert!(result.times.iter().all(|&times| times == 1), "{case}");
    assert_eq!(moved as usize, 2 * stored.passes() * bytes, "{case}");
    // With two passes, every byte of the array is written to the scratch once, and every byte of
    // the scratch is used.
    let through: usize = scratch.times.iter().map(|&times| times as usize).sum();
    assert_eq!(through, if stored.passes() == 2 { bytes } else { 0 }, "{case}");
    assert!(scratch.times.iter().all(|&times| times > 0), "{case}");
    // Except for the first block of each pass over the source, all reads are announced. All
    // announced ranges are read.
    let source =
        Fetching { bytes: &data, announced: Mutex::default(), unannounced: AtomicUsize::new(0) };
    let mut second = Counted::new(bytes);
    stored.run_in(&mut buffer, &source, &mut second, Some(&mut scratch), |_| ()).unwrap();
    assert!(second.bytes == result.bytes, "{case}");
    assert!(source.announced.into_inner().unwrap().is_empty(), "{case}");
    let first: u64 = stored
        .passes
        .iter()
        .filter(|pass| pass.kind != PassKind::FromScratch)
        .map(|pass| pass.blocks.each(&pass.job).next().map_or(0, |(_, size)| size.iter().product()))
        .sum();
    assert_eq!(source.unannounced.into_inner() as u64, first * elem as u64, "{case}");
}

#[test]
fn arrays_are_permuted_with_any_memory_size() {
    for extents in [&[7, 5][..], &[3, 4, 5], &[5, 1, 6, 2], &[2, 3, 2, 3], &[11]] {
        for order in orders(extents.len()) {
            for elem in [1, 3, 8] {
                for bytes in [elem as u64, 20, 64, 300] {
                    let memory = BlockMemory { bytes, ahead: true };
                    check(extents, &order, elem, |job| vec![passes::one(job, memory)]);
                    for (width, scratch) in
                        [1, 2, 3, 4].into_iter().flat_map(|width| [(width, 1), (width, 1 << 20)])
                    {
                        check(extents, &order, elem, |job| match job.axes.last() {
                            Some(last) if last.extent > width => {
                                passes::by_panels(job, width, memory, scratch)
                            }
                            _ => vec![passes::one(job, memory)],
                        });
                    }
                }
            }
        }
    }
}

#[test]
fn matrix_takes_two_passes_and_scratch_when_memory_is_small() {
    let (rows, cols) = (3001, 2003);
    let data: Vec<u8> = (0..rows * cols * 2).map(|k| (k ^ k >> 9) as u8).collect();
    let expected = permuted(&data, &[rows, cols], &[1, 0], &[false; 2], 2);
    let mut result = vec![0; data.len()];
    let transpose = Transpose::new::<u8>(rows, cols).itemsize(2).threads(2);
    let large = transpose.stored(8 << 20).unwrap();
    assert_eq!((large.passes(), large.scratch_bytes()), (1, 0));
    large.run(&data[..], &mut result[..]).unwrap();
    assert!(result == expected);
    let small = transpose.stored(100 << 10).unwrap();
    assert_eq!(small.passes(), 2);
    // The scratch storage holds the whole array, except columns that do not fill a panel.
    let room = small.scratch_bytes() as usize;
    assert!(room <= data.len() && room > data.len() / 2, "{room}");
    let error = small.run(&data[..], &mut result[..]).unwrap_err();
    assert!(matches!(error, StoredError::NoScratch { bytes } if bytes == room as u64), "{error}");
    result.fill(0);
    let mut scratch = Counted::new(room);
    let mut buffer = vec![0; small.buffer_bytes()];
    small.run_in(&mut buffer, &data[..], &mut result[..], Some(&mut scratch), |_| ()).unwrap();
    assert!(result == expected);
    let error =
        small.run_in(&mut buffer[1..], &data[..], &mut result[..], Some(&mut scratch), |_| ());
    assert!(matches!(error, Err(StoredError::Memory { .. })));
}

#[test]
fn empty_matrix_takes_no_pass() {
    for (rows, cols) in [(0, 5), (5, 0)] {
        let stored = Transpose::new::<u32>(rows, cols).stored(0).unwrap();
        assert_eq!((stored.passes(), stored.buffer_bytes()), (0, 0));
        stored.run(&[][..], &mut [][..]).unwrap();
    }
}

#[test]
fn run_fails_when_storage_is_too_short() {
    let stored = Transpose::new::<u32>(30, 50).stored(1000).unwrap();
    let mut result = vec![0; 6000];
    let mut scratch = Counted::new(6000);
    let mut buffer = vec![0; stored.buffer_bytes()];
    let error =
        stored.run_in(&mut buffer, &[0; 5999][..], &mut result[..], Some(&mut scratch), |_| ());
    assert!(matches!(error, Err(StoredError::Read(_))), "{error:?}");
    let error =
        stored.run_in(&mut buffer, &[0; 6000][..], &mut result[1..], Some(&mut scratch), |_| ());
    assert!(matches!(error, Err(StoredError::Write(_))), "{error:?}");
}

/// Checks the error if a byte is missing in a block that is read while the previous one is written.
#[test]
fn run_fails_when_block_read_ahead_is_incomplete() {
    let mut pass =
        passes::one(&unreversed(&[30, 50], &[1, 0], 4), BlockMemory { bytes: 1000, ahead: true });
    pass.ahead = true;
    let stored = OutOfCore { passes: vec![pass], threads: 1, readers: READERS, workspace: 1 << 12 };
    let mut result = vec![0; 6000];
    let error = stored.run(&[0; 5999][..], &mut result[..]);
    assert!(matches!(error, Err(StoredError::Read(_))), "{error:?}");
    let error = stored.run(&[0; 6000][..], &mut result[1..]);
    assert!(matches!(error, Err(StoredError::Write(_))), "{error:?}");
    stored.run(&[0; 6000][..], &mut result[..]).unwrap();
}

/// Test storage whose reads fail on every thread except `here`. A read on `here` waits up to a time
/// limit for such a failure.
struct FailsOnOtherThreads {
    here: ThreadId,
    failed: AtomicBool,
    until: Instant,
}

impl ReadAt for FailsOnOtherThreads {
    fn read_exact_at(&self, _: &mut [u8], _: u64) -> io::Result<()> {
        if thread::current().id() != self.here {
            self.failed.store(true, Ordering::Relaxed);
            return Err(io::ErrorKind::Other.into());
        }
        while !self.failed.load(Ordering::Relaxed) && Instant::now() < self.until {
            thread::yield_now();
        }
        Ok(())
    }
}

#[test]
fn run_fails_when_one_reader_fails() {
    let (here, until) = (thread::current().id(), Instant::now() + Duration::from_secs(20));
    let source = FailsOnOtherThreads { here, failed: AtomicBool::new(false), until };
    let mut result = vec![0; 1 << 20];
    let memory = BlockMemory { bytes: 1 << 19, ahead: true };
    let passes = vec![passes::one(&unreversed(&[512, 512], &[1, 0], 4), memory)];
    let stored = OutOfCore { passes, threads: 1, readers: READERS, workspace: 1 << 16 };
    let error = stored.run(&source, &mut result[..]);
    assert!(matches!(error, Err(StoredError::Read(_))), "{error:?}");
}

/// Checks that a run limited to one thread reads on the calling thread only.
#[test]
fn one_thread_reads_when_threads_are_limited_to_one() {
    let mut result = vec![0; 16 << 20];
    for (threads, is_alone) in [(1, true), (2, false)] {
        let stored = Transpose::new::<u32>(2048, 2048).threads(threads).stored(12 << 20).unwrap();
        assert_eq!(stored.passes[0].ahead, !is_alone);
        let (here, until) = (thread::current().id(), Instant::now());
        let source = FailsOnOtherThreads { here, failed: AtomicBool::new(false), until };
        assert_eq!(stored.run(&source, &mut result[..]).is_ok(), is_alone, "{threads} threads");
    }
}

/// Checks that options that only apply to in-memory plans are rejected, not ignored.
#[test]
fn stored_rejects_options_of_plans_in_memory() {
    use crate::plan::{GpuDevice, Route, TileRule};
    let of = || Transpose::new::<u32>(30, 50).dynamic();
    for (transpose, with) in [
        (of().workspace_limit(9), "a workspace cap"),
        (of().alignment(64), "an alignment"),
        (of().out_of_place(), "an out-of-place result"),
        (of().route(Route::CUT), "a route"),
        (of().tiles(TileRule::Exhaustive), "a tile rule"),
        (of().effort(Effort::Measure(std::time::Duration::ZERO)), "measuring"),
        (of().wisdom("w.json"), "a wisdom file"),
        (of().costs(GpuDevice::h200().costs().clone()), "a cost table"),
    ] {
        assert_eq!(transpose.stored(1 << 20).err(), Some(Reason::Stored { with }.into()));
    }
    of().threads(2).stored(1 << 20).unwrap();
}

/// Test storage whose reads need 256 KiB of stack, like those of a decompressor.
struct Windowed<'a>(&'a [u8]);

impl ReadAt for Windowed<'_> {
    fn read_exact_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        let window = std::hint::black_box([0_u8; 256 << 10]);
        assert_eq!(window[offset as usize % window.len()], 0);
        self.0.read_exact_at(bytes, offset)
    }
}

#[test]
fn readers_have_enough_stack() {
    let (rows, cols) = (2048, 2048);
    let data: Vec<u8> = (0..rows * cols * 4).map(|k| (k ^ k >> 9) as u8).collect();
    let mut result = vec![0; data.len()];
    let stored = Transpose::new::<u32>(rows, cols).stored(9 << 20).unwrap();
    stored.run(&Windowed(&data), &mut result[..]).unwrap();
    assert!(result == permuted(&data, &[rows, cols], &[1, 0], &[false; 2], 4));
}
