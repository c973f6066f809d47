//! Matrices of floats, or of elements of several, transposed in place by other systems and by ours, by as many threads each,
//! compared with a copy by the same number of threads in the same run; every result is compared element by element before it is timed.
//!
//! `peers [--default-pages] [--floats K] [--threads N] MxN...` prints CSV; elements of 1 float unless K says 2 or 4, one
//! thread unless N says more, by those peers that take several.

#[cfg(any(feature = "fftw", feature = "openblas", feature = "mkl"))]
mod foreign;

use std::time::Instant;

use memmap2::MmapMut;
use rayon::prelude::*;

/// A way to transpose `rows` by `cols` elements in place.
struct Peer {
    name: &'static str,
    /// Whether it takes elements of several floats.
    wide: bool,
    /// Whether it takes several threads.
    threaded: bool,
    /// Prepares outside the clock; it may overwrite the floats.
    prepare: fn(&mut [f32], Case) -> Run,
}

/// A shape, the floats of an element, and threads.
#[derive(Clone, Copy)]
pub struct Case {
    pub rows: usize,
    pub cols: usize,
    pub floats: usize,
    pub threads: usize,
}

type Run = Box<dyn FnMut(&mut [f32], usize, usize)>;

const PEERS: &[Peer] = &[
    Peer {
        name: "turntile",
        wide: true,
        threaded: true,
        prepare: |_, Case { rows, cols, floats, threads }| {
            let planned = turntile::Transpose::new::<u8>(rows, cols).itemsize(4 * floats)
                .threads(threads)
                .plan()
                .expect("there is a plan for every shape");
            let mut workspace = planned.workspace().expect("memory for the workspace");
            Box::new(move |data, _, _| {
                let options = turntile::run::RunOptions::new().workspace(&mut workspace);
                planned.run_with(&mut turntile::RawElements(bytes(data)), options).expect("it runs")
            })
        },
    },
    Peer {
        name: "transpose crate",
        wide: false,
        threaded: false,
        prepare: |_, Case { rows, cols, .. }| {
            let mut scratch = vec![0.0f32; rows.max(cols)];
            Box::new(move |data, rows, cols| {
                transpose::transpose_inplace(data, &mut scratch, cols, rows);
            })
        },
    },
    #[cfg(feature = "fftw")]
    Peer {
        name: "FFTW estimate",
        wide: true,
        threaded: true,
        prepare: |data, case| foreign::fftw(data, case, false),
    },
    #[cfg(feature = "fftw")]
    Peer {
        name: "FFTW measure",
        wide: true,
        threaded: true,
        prepare: |data, case| foreign::fftw(data, case, true),
    },
    #[cfg(feature = "openblas")]
    Peer {
        name: "OpenBLAS",
        wide: false,
        threaded: false,
        prepare: |_, _| Box::new(foreign::openblas),
    },
    #[cfg(feature = "mkl")]
    Peer { name: "MKL", wide: false, threaded: false, prepare: |_, _| Box::new(foreign::mkl) },
];

/// Runs per library; the median counts.
const RUNS: usize = 7;

fn main() {
    let (mut huge, mut floats, mut threads) = (true, 1, 1);
    println!("rows,cols,elem_bytes,threads,peer,gb_per_s,copy_gb_per_s,percent_of_copy,verified");
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--default-pages" => huge = false,
            "--threads" => {
                threads = words.next().and_then(|n| n.parse().ok()).expect("--threads N")
            }
            "--floats" => floats = words.next().and_then(|k| k.parse().ok()).expect("--floats K"),
            shape => {
                let (rows, cols) = shape.split_once('x').expect("a shape like 7200x1800");
                let (rows, cols) = (rows.parse().expect("rows"), cols.parse().expect("columns"));
                let case = Case { rows, cols, floats, threads };
                let takes =
                    |peer: &&Peer| (peer.wide || floats == 1) && (peer.threaded || threads == 1);
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
                let pool = pool.expect("threads");
                for peer in PEERS.iter().filter(takes) {
                    pool.install(|| report(peer, case, huge));
                }
            }
        }
    }
}

fn report(peer: &Peer, case: Case, huge: bool) {
    let Case { rows, cols, floats: width, threads } = case;
    let len = rows * cols * width;
    let (mut matrix, mut other) = (memory(len, huge), memory(len, huge));
    let (matrix, other) = (floats(&mut matrix), floats(&mut other));
    let mut run = (peer.prepare)(matrix, case);
    // Numbers up to 2^24 are exact; beyond that neighbours still differ by column or row.
    let number = |i: usize, j: usize| ((i * 4099 + j) % (1 << 24)) as f32;
    let (across, down) = (cols * width, rows * width);
    for (i, row) in matrix.chunks_exact_mut(across).enumerate() {
        row.iter_mut().enumerate().for_each(|(j, x)| *x = number(i, j));
    }
    run(matrix, rows, cols);
    let verified = matrix.chunks_exact(down).enumerate().all(|(j, line)| {
        let from = |k: usize| number(k / width, j * width + k % width);
        line.iter().enumerate().all(|(k, &x)| x == from(k))
    });
    let (mut copies, mut times) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        let start = Instant::now();
        let share = len.div_ceil(threads);
        let shares = other.par_chunks_mut(share).zip(matrix.par_chunks(share));
        shares.for_each(|(to, from)| to.copy_from_slice(from));
        copies.push(start.elapsed().as_secs_f64());
        let start = Instant::now();
        run(matrix, rows, cols);
        times.push(start.elapsed().as_secs_f64());
    }
    let (copy, time) = (median(copies), median(times));
    let speed = |seconds: f64| 8.0 * len as f64 / seconds / 1e9;
    println!(
        "{rows},{cols},{},{threads},{},{:.3},{:.3},{:.1},{verified}",
        4 * width,
        peer.name,
        speed(time),
        speed(copy),
        100.0 * copy / time
    );
}

fn memory(floats: usize, huge: bool) -> MmapMut {
    let map = MmapMut::map_anon(floats * 4).expect("memory for a matrix");
    #[cfg(target_os = "linux")]
    if huge {
        // Advice: a system without huge pages gives small ones.
        let _ = map.advise(memmap2::Advice::HugePage);
    }
    let _ = huge;
    map
}

fn floats(map: &mut MmapMut) -> &mut [f32] {
    let (before, floats, after) =
        // SAFETY: every pattern of bits is an f32.
        unsafe { map.align_to_mut::<f32>() };
    assert!(before.is_empty() && after.is_empty(), "mappings begin and end with pages");
    floats.fill(1.0);
    floats
}

fn bytes(floats: &mut [f32]) -> &mut [u8] {
    let (before, bytes, after) =
        // SAFETY: any float is four bytes, and what turntile writes are floats of the same slice.
        unsafe { floats.align_to_mut::<u8>() };
    assert!(before.is_empty() && after.is_empty(), "bytes have no alignment");
    bytes
}

fn median(mut seconds: Vec<f64>) -> f64 {
    seconds.sort_by(f64::total_cmp);
    seconds[seconds.len() / 2]
}
