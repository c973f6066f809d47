//! What a user may set of any transposition, and how it is passed to the library.

use std::ffi::OsString;
use std::io;
use std::num::NonZeroUsize;
use std::path::Path;

use anyhow::{Result, bail};
use clap::Args;
use clap::builder::{OsStringValueParser, PossibleValue, PossibleValuesParser, TypedValueParser};
use turntile::Transpose;
use turntile::plan::{Problem, Route, TileRule};

use crate::say::shown;
use crate::values::{Amount, amount, threads};

/// How the work is done; what is not set is the library's choice.
#[derive(Debug, Args)]
pub struct Settings {
    /// Threads to use [default: all]
    #[arg(long, value_name = "N", value_parser = threads, allow_hyphen_values = true)]
    pub threads: Option<NonZeroUsize>,
    /// Take this route instead of the planner's choice (`turntile plan --all` names them)
    #[arg(long, value_name = "NAME")]
    pub route: Option<Route>,
    /// Most memory beside the data, e.g. 64M or 10% of the data [default: 2% of the data, plus 1MiB a thread up to
    /// 32MiB]
    #[arg(long, value_name = "BYTES", value_parser = amount, allow_hyphen_values = true)]
    pub workspace: Option<Amount>,
    /// A file of measured winners, as `turntile tune` writes it; an empty name is none
    #[arg(long, value_name = "FILE", env = "TURNTILE_WISDOM", value_parser = OsStringValueParser::new())]
    wisdom: Option<OsString>,
}

/// Reads a rule for tiles.
pub fn tiles() -> impl TypedValueParser<Value = TileRule> {
    let model = PossibleValue::new("model").help("The best of each route by the cost model");
    let all = PossibleValue::new("all").help("Every feasible one");
    PossibleValuesParser::new([model, all]).map(|name| match &*name {
        "all" => TileRule::Exhaustive,
        _ => TileRule::CostModel,
    })
}

/// The transposition of `problem`, in place or not.
pub fn transpose_of(problem: &Problem) -> Transpose {
    let axes: Vec<usize> = problem.order().collect();
    let transpose = Transpose::of_axes_bytes(problem.extents(), &axes, problem.elem_bytes());
    if problem.is_out_of_place() { transpose.out_of_place() } else { transpose }
}

impl Settings {
    /// The transposition of `problem` with these settings.
    pub fn transpose(&self, problem: &Problem) -> Transpose {
        let mut transpose = transpose_of(problem);
        if let Some(threads) = self.threads {
            transpose = transpose.threads(threads.get());
        }
        if let Some(route) = self.route {
            transpose = transpose.route(route);
        }
        if let Some(amount) = self.workspace {
            transpose = transpose.workspace_cap(amount.of(problem.bytes()));
        }
        if let Some(file) = self.wisdom() {
            transpose = transpose.wisdom(file);
        }
        transpose
    }

    /// The wisdom file, if one is named.
    pub fn wisdom(&self) -> Option<&Path> {
        self.wisdom.as_deref().filter(|name| !name.is_empty()).map(Path::new)
    }

    /// The wisdom file, which must exist: the library takes a missing one for an empty one, but
    /// here it is more likely a mistake.
    pub fn existing_wisdom(&self) -> Result<Option<&Path>> {
        let Some(path) = self.wisdom() else { return Ok(None) };
        match std::fs::metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                bail!("there is no wisdom file {}; `turntile tune` makes one", shown(path))
            }
            // The library reports anything else that is wrong with it.
            _ => Ok(Some(path)),
        }
    }
}
