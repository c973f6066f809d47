//! Single-precision matrices transposed in place by other systems and by ours, one thread each,
//! beside a copy in the same run; every result is compared element by element before it is timed.
//!
//! `peers [--default-pages] MxN...` prints CSV.

#[cfg(any(feature = "fftw", feature = "openblas", feature = "mkl"))]
mod foreign;

use std::time::Instant;

use memmap2::MmapMut;

/// A way to transpose `rows` by `cols` floats in place.
struct Peer {
    name: &'static str,
    /// Prepares for a shape, outside the clock; it may overwrite the floats.
    prepare: fn(&mut [f32], usize, usize) -> Run,
}

type Run = Box<dyn FnMut(&mut [f32], usize, usize)>;

const PEERS: &[Peer] = &[
    Peer {
        name: "turntile",
        prepare: |_, rows, cols| {
            let planned = turntile::Transpose::new(rows, cols)
                .threads(1)
                .plan::<f32>()
                .expect("there is a plan for every shape");
            let mut workspace = planned.workspace().expect("memory for the workspace");
            Box::new(move |data, _, _| planned.run_with(data, &mut workspace).expect("it runs"))
        },
    },
    Peer {
        name: "transpose crate",
        prepare: |_, rows, cols| {
            let mut scratch = vec![0.0f32; rows.max(cols)];
            Box::new(move |data, rows, cols| {
                transpose::transpose_inplace(data, &mut scratch, cols, rows);
            })
        },
    },
    #[cfg(feature = "fftw")]
    Peer { name: "FFTW estimate", prepare: |data, m, n| foreign::fftw(data, m, n, false) },
    #[cfg(feature = "fftw")]
    Peer { name: "FFTW measure", prepare: |data, m, n| foreign::fftw(data, m, n, true) },
    #[cfg(feature = "openblas")]
    Peer { name: "OpenBLAS", prepare: |_, _, _| Box::new(foreign::openblas) },
    #[cfg(feature = "mkl")]
    Peer { name: "MKL", prepare: |_, _, _| Box::new(foreign::mkl) },
];

/// Runs of each, of which the median counts.
const RUNS: usize = 7;

fn main() {
    let (options, shapes): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|word| word.starts_with('-'));
    let huge = !options.iter().any(|option| option == "--default-pages");
    println!("rows,cols,peer,gb_per_s,copy_gb_per_s,percent_of_copy,verified");
    for shape in &shapes {
        let (rows, cols) = shape.split_once('x').expect("a shape like 7200x1800");
        let (rows, cols) = (rows.parse().expect("rows"), cols.parse().expect("columns"));
        for peer in PEERS {
            report(peer, rows, cols, huge);
        }
    }
}

fn report(peer: &Peer, rows: usize, cols: usize, huge: bool) {
    let (mut matrix, mut other) = (memory(rows * cols, huge), memory(rows * cols, huge));
    let (matrix, other) = (floats(&mut matrix), floats(&mut other));
    let mut run = (peer.prepare)(matrix, rows, cols);
    // Numbers up to 2^24 are exact; beyond that neighbours still differ by column or row.
    let number = |i: usize, j: usize| ((i * 4099 + j) % (1 << 24)) as f32;
    for (i, row) in matrix.chunks_exact_mut(cols).enumerate() {
        row.iter_mut().enumerate().for_each(|(j, x)| *x = number(i, j));
    }
    run(matrix, rows, cols);
    let verified = matrix
        .chunks_exact(rows)
        .enumerate()
        .all(|(j, line)| line.iter().enumerate().all(|(i, &x)| x == number(i, j)));
    let (mut copies, mut times) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        let start = Instant::now();
        other.copy_from_slice(matrix);
        copies.push(start.elapsed().as_secs_f64());
        let start = Instant::now();
        run(matrix, rows, cols);
        times.push(start.elapsed().as_secs_f64());
    }
    let (copy, time) = (median(copies), median(times));
    let speed = |seconds: f64| 8.0 * (rows * cols) as f64 / seconds / 1e9;
    println!(
        "{rows},{cols},{},{:.3},{:.3},{:.1},{verified}",
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

fn median(mut seconds: Vec<f64>) -> f64 {
    seconds.sort_by(f64::total_cmp);
    seconds[seconds.len() / 2]
}
