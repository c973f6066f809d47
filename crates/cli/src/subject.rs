//! What `plan` and `tune` are asked about: a problem by its numbers, or that of a file's array.

use std::path::Path;

use turntile::plan::Problem;

use crate::args::ProblemArgs;
use crate::error::Error;
use crate::file::{self, Asking, Locking};
use crate::input::Input;
use crate::values::{Axes, Extents, Subject};
use crate::{permute, transpose};

/// The problem, with the cap on its workspace if there is one.
pub fn problem(args: &ProblemArgs) -> Result<Problem, Error> {
    let problem = match &args.subject {
        Subject::Extents(Extents(shape)) => of_shape(args, shape)?,
        Subject::File(path) => of_file(args, path)?,
    };
    let cap = args.settings.workspace.map(|amount| amount.of(problem.bytes()));
    let problem = cap.map_or(problem, |cap| problem.with_cap(cap));
    Ok(if args.into { problem.out_of_place() } else { problem })
}

fn of_shape(args: &ProblemArgs, shape: &[usize]) -> Result<Problem, Error> {
    // The command line has been found to have it.
    let elem_bytes = args.elem_bytes.map_or(1, usize::from);
    let batch = args.batch.unwrap_or(1);
    Ok(match (&args.axes, shape) {
        (None, &[rows, cols]) => Problem::with_batch(batch, rows, cols, elem_bytes)?,
        (None, shape) => return Err(Error::AxesNeeded { shape: shape.to_vec() }),
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
fn of_file(args: &ProblemArgs, path: &Path) -> Result<Problem, Error> {
    let source = file::claim_source(path, &Asking::new(Locking::Off, true))?;
    let header = Input::of_file(source, args.member.as_deref(), false)?.header()?;
    match &args.axes {
        None => transpose::problem(&header, path),
        Some(Axes(axes)) => permute::problem(&header, axes, path),
    }
}
