//! What `plan` and `tune` take: a problem by its numbers, or that of a file's array.

use std::num::NonZeroUsize;
use std::path::Path;

use anyhow::{Result, bail};
use clap::Args;
use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::error::ErrorKind;
use turntile::plan::Problem;

use crate::bench::permuted;
use crate::file::{self, Asking, Locking};
use crate::input::Input;
use crate::rearrange;
use crate::settings::Settings;
use crate::values::{Axes, Extents, Subject, axes, count, positive, subject};

/// A problem, by its numbers or by a file.
#[derive(Debug, Args)]
pub struct ProblemArgs {
    /// Rows and columns, e.g. 7200x1800, or with --axes the extents of any array; or a .npy or .npz file that holds one (./3x5 if
    /// its name is such)
    #[arg(value_name = "MxN|FILE", value_parser = OsStringValueParser::new().try_map(subject))]
    pub subject: Subject,
    /// The order of the axes in the result, e.g. 2,0,1 [default: the last two change places]
    #[arg(long, value_name = "I,J,...", value_parser = axes, allow_hyphen_values = true)]
    pub axes: Option<Axes>,
    /// Bytes of an element, of a shape
    #[arg(long, value_name = "B", value_parser = positive, allow_negative_numbers = true)]
    pub elem_bytes: Option<NonZeroUsize>,
    /// Matrices or arrays, one after the other [default: 1]
    #[arg(long, value_name = "K", value_parser = count, allow_negative_numbers = true)]
    pub batch: Option<usize>,
    /// The array of a .npz archive
    #[arg(long, value_name = "NAME")]
    pub member: Option<String>,
    /// Into another buffer instead of in place
    #[arg(long)]
    pub into: bool,
    #[command(flatten)]
    pub settings: Settings,
}

impl ProblemArgs {
    /// What is wrong with the options beside a shape, or beside a file.
    pub fn check(&self) -> Result<(), clap::Error> {
        let wrong = |kind, what: &str| Err(clap::Error::raw(kind, what));
        match &self.subject {
            Subject::Extents(_) if self.elem_bytes.is_none() => {
                wrong(ErrorKind::MissingRequiredArgument, "a shape needs --elem-bytes <B>")
            }
            Subject::Extents(_) if self.member.is_some() => wrong(
                ErrorKind::ArgumentConflict,
                "--member is for a file, and cannot be used with a shape",
            ),
            Subject::File(_) if self.elem_bytes.is_some() || self.batch.is_some() => wrong(
                ErrorKind::ArgumentConflict,
                "--elem-bytes and --batch cannot be used with a file, whose header has both",
            ),
            _ => Ok(()),
        }
    }
}

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
        (None, shape) => bail!("{} axes: name their order with --axes", shape.len()),
        (Some(Axes(axes)), shape) => permuted(batch, shape, axes, elem_bytes)?,
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
