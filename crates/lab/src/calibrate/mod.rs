//! `turntile-lab calibrate`: a table of costs made from what this machine does.
//!
//! The stages of the candidates of some dozens of problems are timed, each by itself beside a copy, and the curves of the
//! device's table are moved to what they reached. Results never depend on a table, only which plan is tried first.
//!
//! | module | holds |
//! |---|---|
//! | `problems` | what is tried |
//! | `samples` | stages timed one by one, of any device |
//! | `fit`, `processor` | a table moved to what was measured, any and a processor's |
//! | `table` | a table as a file |
//! | `calibration` | a table that was made, and what it changes |
//! | `host`, `gpu` | what they run on, and copies |

mod calibration;
mod fit;
mod gpu;
mod host;
mod problems;
mod processor;
mod samples;
mod table;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;
use std::fs;
use std::time::Instant;

use anyhow::Result;
use turntile_cli::device::BenchDevice;
use turntile_cli::error::On as _;
use turntile_cli::progress::Progress;

use crate::command::CalibrateArgs;
use calibration::Calibration;
use samples::Change;

/// Marks of the progress bar.
const MARKS: usize = 1000;
/// Changes of plans that are printed.
const SHOWN: usize = 12;

/// Runs the command and returns what to print.
///
/// # Errors
/// What the engine cannot do, the driver's errors; the file that cannot be written.
pub fn run(args: &CalibrateArgs) -> Result<String> {
    // Found out before the measuring, not after it.
    let file = fs::File::options().append(true).create(true).open(&args.output);
    file.on("write", &args.output)?;
    let start = Instant::now();
    let bar = Progress::new(true, "");
    bar.items("calibrating", MARKS);
    let mut progress = |share: f64| bar.set((share * MARKS as f64) as usize);
    let made = match BenchDevice::find(&args.device, args.threads)? {
        BenchDevice::Cpu => {
            let threads = args.threads.map_or_else(turntile::run::pool::thread_count, usize::from);
            host::calibrate(threads, args.budget, &mut progress)?
        }
        BenchDevice::Gpu(gpu) => gpu::calibrate(&gpu, args.budget, &mut progress)?,
    };
    drop(bar);
    let written = fs::write(&args.output, table::text(&made.costs));
    written.on("write", &args.output)?;
    let Calibration { costs, stages, off, mut changes, problems, gain } = made;
    let mut text = format!(
        "{}: {stages} stages in {:.0?}, written to {}\n\
         stages took {:.2} times as long as estimated, or as short, on average; by the new table {:.2}\n\
         {} of {problems} problems are planned otherwise now; by the new table all are {gain:.3} times as fast (geometric mean)",
        costs.device(),
        start.elapsed(),
        args.output.display(),
        off[0],
        off[1],
        changes.len(),
    );
    changes.sort_by(|a, b| b.gain.total_cmp(&a.gain));
    for Change { before, after, gain } in changes.iter().take(SHOWN) {
        let [was, is] = [before, after]
            .map(|plan| format!("{} ({})", plan.route_name(), plan.recipe().variants()));
        // Writing to a string cannot fail.
        let _ = write!(text, "\n  {gain:.2} times: {}: {was} -> {is}", before.problem);
    }
    Ok(text)
}
