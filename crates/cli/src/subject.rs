//! What `plan` and `tune` are asked about: a problem by its numbers, or that of a file's array.

use std::path::Path;

use anyhow::{Result, bail};
use turntile::plan::Problem;

use crate::args::ProblemArgs;
use crate::file::{self, Asking, Locking};
use crate::input::Input;
use crate::rearrange;
use crate::values::{Axes, Extents, Subject};

/// The problem, with the cap on its workspace if there is one.
pub fn problem(args: &ProblemArgs) -> Result<Problem> {
    let problem = match &args.subject {
        Subject::Extents(Extents(shape)) => of_shape(args, shape)?,
        Subject::File(path) => of_file(args, path)?,
    };
    let cap = args.settings.workspace.map(|amount| amount.of(problem.bytes()));
    let problem = cap.map_or(problem, |cap| problem.with_cap(cap));
    Ok(if args.into { problem.out_of_place() } else { problem })
}

fn of_shape(args: &ProblemArgs, shape: &[usize]) -> Result<Problem> {
    // The command line has been found to have it.
    let elem_bytes = args.elem_bytes.map_or(1, usize::from);
    let batch = args.batch.unwrap_or(1);
    Ok(match (&args.axes, shape) {
        (None, &[rows, cols]) => Problem::with_batch(batch, rows, cols, elem_bytes)?,
        (None, shape) => {
            bail!("{} axes: --axes is to say in which order they shall lie", shape.len())
        }
        (Some(Axes(axes)), shape) if batch == 1 => Problem::permuted(shape, axes, elem_bytes)?,
        (Some(Axes(axes)), shape) => {
            // What is wrong with them is told of as they were given.
            Problem::permuted(shape, axes, elem_bytes)?;
            let shape: Vec<usize> = std::iter::once(batch).chain(shape.iter().copied()).collect();
            let axes: Vec<usize> =
                std::iter::once(0).chain(axes.iter().map(|axis| axis + 1)).collect();
            Problem::permuted(&shape, &axes, elem_bytes)?
        }
    })
}

/// As `transpose` and `permute` have it in memory.
fn of_file(args: &ProblemArgs, path: &Path) -> Result<Problem> {
    let (source, _) = file::open(Some(path), None, &Asking::new(Locking::Off, true))?;
    let Some(source) = source else { bail!("nothing was opened") };
    let header = Input::of_file(source, args.member.as_deref(), false)?.header()?;
    let axes = args.axes.as_ref().map(|Axes(axes)| &axes[..]);
    rearrange::problem(&header, axes, path)
}
