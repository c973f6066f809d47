//! `turntile-lab tables`: the ladder and the filter at the sources' sizes, as CSV. Every case is compared before it is
//! timed, beside a copy of the same bytes in the same run.

use std::fmt::Write as _;
use std::fs;
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use turntile::gpu::{CudaError, Gpu};
use turntile_cli::error::On as _;
use turntile_cli::measure::gb_per_s;

use turntile_plan::tuner;

use crate::command::TablesArgs;
use crate::gaussian::{self, Between};
use crate::ladder::{self, RUNGS, Rung};
use crate::samples::{difference, image, moved};
use crate::watch::Watch;

/// Makes a table as CSV; adds the cases that were wrong.
type Table = fn(&Gpu, &mut usize) -> Result<String>;

/// Every table, by the name of its file.
pub const ALL: [(&str, Table); 2] = [("ladder", rungs), ("gaussian", filters)];

/// Writes the tables asked for, all of none, and says what was found.
///
/// # Errors
/// A table that is not known; the driver's errors; a file that cannot be written; an error where one case or more
/// is not as it should be.
pub fn run(args: &TablesArgs) -> Result<String> {
    for name in &args.tables {
        if !ALL.iter().any(|table| table.0 == name) {
            let known = ALL.map(|table| table.0).join(", ");
            bail!("no table is named {name:?}; there are {known}");
        }
    }
    let gpu = Gpu::primary(args.on.gpu)?;
    fs::create_dir_all(&args.folder).on("make the folder", &args.folder)?;
    let (mut text, mut wrong) = (String::new(), 0);
    for (name, table) in ALL {
        if args.tables.is_empty() || args.tables.iter().any(|asked| asked == name) {
            let path = args.folder.join(format!("{name}.csv"));
            let csv = table(&gpu, &mut wrong)?;
            fs::write(&path, &csv).on("write", &path)?;
            let _ = writeln!(text, "{}: {} cases", path.display(), csv.lines().count() - 1);
        }
    }
    ensure!(wrong == 0, "{text}{wrong} cases are wrong");
    Ok(text + "all right")
}

/// Runs that are timed, after two that are not.
const RUNS: usize = 9;

/// At most so much of a destination is overwritten before a case, so that what the last one left does not look right.
const CLEARED: usize = 16 << 20;

/// The median of some runs, in seconds.
fn median(mut run: impl FnMut() -> Result<Duration, CudaError>) -> Result<f64> {
    let mut times = Vec::new();
    for _ in 0..RUNS + 2 {
        times.push(run()?);
    }
    Ok(tuner::median(&times[2..]).as_secs_f64())
}

/// Every rung, tile and block rows at the sources' sizes and a ragged one.
fn rungs(gpu: &Gpu, wrong: &mut usize) -> Result<String> {
    let mut csv = String::from(
        "kernel,source,rows,cols,tile,block_rows,shared_bytes,store_conflicts,load_conflicts,worst_ways,seconds,\
         gb_per_s,copy_gb_per_s,percent_of_copy,wrong_elements\n",
    );
    for (rows, cols) in [(2048, 2048), (3072, 3072), (4096, 4096), (16384, 16384), (7919, 3001)] {
        let bytes: usize = 4 * rows * cols;
        // Just as much: copies are then made at one place, as the kernels run at one.
        let mut watch = Watch::new(gpu, 2 * bytes.next_multiple_of(256))?;
        let copy = median(|| watch.time_copy(bytes))?;
        let rate = |seconds: f64| gb_per_s(bytes as f64, seconds);
        let cleared = vec![0; bytes.min(CLEARED)];
        for rung in &RUNGS {
            for (tile, block_rows) in rung.sizes() {
                let program = ladder::program(rung, tile, block_rows, rows, cols)?;
                let mut ready = watch.load(&program)?;
                ready.put(0, &cleared)?;
                let elements = ready.wrong(&moved(rung.transposes(), rows, cols)?)?;
                *wrong += usize::from(elements > 0);
                let seconds = median(|| ready.time())?;
                let (stores, loads) = rung.bank_cost(tile, block_rows);
                // Writing to a string cannot fail.
                let _ = writeln!(
                    csv,
                    "{},{},{rows},{cols},{tile},{block_rows},{},{},{},{},{seconds:.7},{:.0},{:.0},{:.1},{elements}",
                    rung.name,
                    rung.source.replace(',', ";"),
                    rung.shared_bytes(tile),
                    stores.conflicts(),
                    loads.conflicts(),
                    stores.worst.max(loads.worst),
                    rate(seconds),
                    rate(copy),
                    100.0 * copy / seconds
                );
            }
        }
    }
    Ok(csv)
}

/// The filter with each transposition, and without.
fn filters(gpu: &Gpu, wrong: &mut usize) -> Result<String> {
    let mut csv = String::from(
        "rows,cols,sigma,transposition,tile,block_rows,seconds,without_seconds,transpositions_percent,worst_difference\n",
    );
    let rung = |name, tile| Between::Ladder(Rung::named(name).expect("is one"), tile, tile.min(8));
    let ways = [
        ("nothing", 0, Between::Nothing),
        ("naive", 32, rung("naive", 32)),
        ("padded", 16, rung("padded", 16)),
        ("parallel-write", 16, rung("parallel-write", 16)),
        ("padded", 32, rung("padded", 32)),
        ("parallel-write", 32, rung("parallel-write", 32)),
        ("default", 0, Between::Default),
        ("in place", 0, Between::InPlace),
    ];
    let sigma = 10.0;
    for (rows, cols) in [(512, 512), (1024, 1024), (2048, 2048), (4096, 4096), (3000, 5000)] {
        let image = image(rows, cols);
        let want = gaussian::on_host(&image, rows, cols, sigma);
        let mut watch = Watch::new(gpu, 16 * rows * cols + (32 << 20))?;
        let mut without = 0.0;
        for (name, tile, between) in ways {
            let program = gaussian::program(rows, cols, sigma, between, gpu.device())?;
            let mut ready = watch.load(&program)?;
            let worst = difference(&mut ready, &image, &want)?;
            let seconds = median(|| ready.time())?;
            // Without transpositions what comes out is no filtered image.
            let mut told = String::new();
            if between == Between::Nothing {
                without = seconds;
            } else {
                told = format!("{worst:.1e}");
                *wrong += usize::from(worst >= 1e-3);
            }
            let share = 100.0 * (seconds - without) / seconds;
            let _ = writeln!(
                csv,
                "{rows},{cols},{sigma},{name},{tile},{},{seconds:.7},{without:.7},{share:.1},{told}",
                tile.min(8)
            );
        }
    }
    Ok(csv)
}
