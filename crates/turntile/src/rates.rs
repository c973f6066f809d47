//! Tables of costs from files: those that [`calibrate`](crate::calibrate) makes.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use turntile_cpu::Host;
use turntile_cuda::Chip;
use turntile_plan::{Costs, CostsError, Device};

/// The environment variable that names a processor's table for calls that are told of none.
pub const RATES_VARIABLE: &str = "TURNTILE_RATES";

/// Why a file of rates cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RatesError {
    /// It cannot be read, or is no table of this kind of device.
    #[error("rates {path}: {why}")]
    Unusable {
        /// The file.
        path: String,
        /// What is wrong with it.
        why: String,
    },
    /// It was made on another machine.
    #[error("rates {path} are of {of}, this is {here}")]
    OtherMachine {
        /// The file.
        path: String,
        /// The device that it was made on.
        of: String,
        /// The device here.
        here: String,
    },
}

/// This machine's processor by the table of `file`, or of the file that the environment names.
pub fn host(threads: usize, file: Option<&Path>) -> Result<Host, RatesError> {
    let host = Host::here(threads);
    let costs = match file {
        Some(file) => Some(read(file, host.processor(), Host::costs_from)?),
        None => from_environment()?,
    };
    Ok(costs.map_or(host.clone(), |costs| host.with_costs(costs)))
}

/// A GPU by the table of `file`.
pub fn chip(chip: Chip, file: Option<&Path>) -> Result<Chip, RatesError> {
    let Some(file) = file else { return Ok(chip) };
    let costs = read(file, chip.name(), Chip::costs_from)?;
    Ok(chip.with_costs(costs))
}

fn read(
    file: &Path,
    here: &str,
    parse: fn(&str) -> Result<Costs, CostsError>,
) -> Result<Costs, RatesError> {
    let path = file.display().to_string();
    let unusable = |why: String| RatesError::Unusable { path: path.clone(), why };
    let text = std::fs::read_to_string(file).map_err(|error| unusable(error.to_string()))?;
    let costs = parse(&text).map_err(|error| unusable(error.to_string()))?;
    if costs.device() != here {
        let (of, here) = (costs.device().to_owned(), here.to_owned());
        return Err(RatesError::OtherMachine { path, of, here });
    }
    Ok(costs)
}

/// Read once.
fn from_environment() -> Result<Option<Costs>, RatesError> {
    static COSTS: OnceLock<Result<Option<Costs>, RatesError>> = OnceLock::new();
    let file = || std::env::var_os(RATES_VARIABLE).filter(|file| !file.is_empty());
    let read = |file| read(&PathBuf::from(file), Host::here(1).processor(), Host::costs_from);
    COSTS.get_or_init(|| file().map(read).transpose()).clone()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Error, Transpose};

    #[test]
    fn a_table_of_another_machine_is_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rates.json");
        let plan = || Transpose::of::<u32>(2000, 1500).threads(1).rates(&path).plan();
        assert!(matches!(plan(), Err(Error::Rates(RatesError::Unusable { .. }))), "no file");
        std::fs::write(&path, "{}").unwrap();
        assert!(matches!(plan(), Err(Error::Rates(RatesError::Unusable { .. }))), "no table");
        let here = Host::here(1);
        let table = here.costs().clone();
        std::fs::write(&path, table.clone().named("an abacus", "").text()).unwrap();
        let of = |error| match error {
            Err(Error::Rates(RatesError::OtherMachine { of, here, .. })) => (of, here),
            other => panic!("{other:?}"),
        };
        assert_eq!(of(plan()), ("an abacus".to_owned(), here.processor().to_owned()));
        std::fs::write(&path, table.named(here.processor(), "").text()).unwrap();
        let same = Transpose::of::<u32>(2000, 1500).threads(1).plan().unwrap();
        assert_eq!(plan().unwrap().plan(), same.plan());
    }
}
