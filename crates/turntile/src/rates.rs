//! Tables of costs from files: those that [`calibrate`](crate::calibrate) makes.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

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
    /// It was made on another machine, or is of another kind of device.
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

/// Which table of costs is planned by.
#[derive(Clone, Debug, Default)]
pub enum Rates {
    /// For the processor the one that the environment names; otherwise turntile's own.
    #[default]
    Environment,
    /// Turntile's own.
    Own,
    /// A file's.
    File(PathBuf),
    /// One that was read already.
    Table(Arc<Costs>),
}

/// This machine's processor by that table.
pub fn host(threads: usize, rates: &Rates) -> Result<Host, RatesError> {
    let host = Host::here(threads);
    let costs = match rates {
        Rates::Environment => from_environment()?,
        Rates::Own => None,
        Rates::File(file) => Some(read_rates(file, host.processor(), Host::costs_from)?),
        Rates::Table(costs) => Some(checked(costs, host.processor(), host.costs())?),
    };
    Ok(match costs {
        Some(costs) => host.with_costs(costs),
        None => host,
    })
}

/// A GPU by that table.
pub fn chip(chip: Chip, rates: &Rates) -> Result<Chip, RatesError> {
    let costs = match rates {
        Rates::Environment | Rates::Own => return Ok(chip),
        Rates::File(file) => read_rates(file, chip.name(), Chip::costs_from)?,
        Rates::Table(costs) => checked(costs, chip.name(), chip.costs())?,
    };
    Ok(chip.with_costs(costs))
}

/// Reads a table of the device named `here`.
///
/// # Errors
/// [`RatesError`].
fn read_rates(
    file: &Path,
    here: &str,
    parse: fn(&str) -> Result<Costs, CostsError>,
) -> Result<Costs, RatesError> {
    let path = file.display().to_string();
    let unusable = |why: String| RatesError::Unusable { path: path.clone(), why };
    // A pipe would be waited for.
    if std::fs::metadata(file).is_ok_and(|metadata| !metadata.is_file()) {
        return Err(unusable("it is not a regular file".into()));
    }
    let text = std::fs::read_to_string(file).map_err(|error| unusable(error.to_string()))?;
    let other = |of: &str| RatesError::OtherMachine {
        path: path.clone(),
        of: of.into(),
        here: here.into(),
    };
    match parse(&text) {
        Ok(costs) if costs.device() != here => Err(other(costs.device())),
        // Of another kind of device: what it says is not what is asked for.
        Err(CostsError::Content { device, .. }) if device != here => Err(other(&device)),
        parsed => parsed.map_err(|error| unusable(error.to_string())),
    }
}

/// The table of `file`, of this machine's processor.
///
/// # Errors
/// [`RatesError`]: it cannot be read, is no table of a processor, or of another one.
pub fn read_host(file: &Path) -> Result<Costs, RatesError> {
    read_rates(file, Host::here(1).processor(), Host::costs_from)
}

/// The table of `file`, of that GPU.
///
/// # Errors
/// [`RatesError`]: it cannot be read, is no table of a GPU, or of another one.
pub fn read_gpu(file: &Path, chip: &Chip) -> Result<Costs, RatesError> {
    read_rates(file, chip.name(), Chip::costs_from)
}

/// What a table is called that was read elsewhere.
const GIVEN: &str = "given";

/// A table that was read elsewhere, of the device named `here` whose own is `own`.
fn checked(costs: &Costs, here: &str, own: &Costs) -> Result<Costs, RatesError> {
    refuse_other_kind(costs, own)?;
    if costs.device() != here {
        let (of, here) = (costs.device().to_owned(), here.to_owned());
        return Err(RatesError::OtherMachine { path: GIVEN.into(), of, here });
    }
    Ok(costs.clone())
}

/// Refuses a table that was read elsewhere and is of another kind of device than `own`.
pub fn refuse_other_kind(costs: &Costs, own: &Costs) -> Result<(), RatesError> {
    if costs.names() == own.names() {
        return Ok(());
    }
    let why = format!("it is of another kind of device, {}", costs.device());
    Err(RatesError::Unusable { path: GIVEN.into(), why })
}

/// Read once.
fn from_environment() -> Result<Option<Costs>, RatesError> {
    static COSTS: OnceLock<Result<Option<Costs>, RatesError>> = OnceLock::new();
    let file = || std::env::var_os(RATES_VARIABLE).filter(|file| !file.is_empty());
    COSTS.get_or_init(|| file().map(|file| read_host(Path::new(&file))).transpose()).clone()
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
        let gpu = Chip::h200();
        std::fs::write(&path, gpu.costs().text()).unwrap();
        assert_eq!(of(plan()).0, gpu.costs().device());
        std::fs::write(&path, table.clone().named("an abacus", "").text()).unwrap();
        let error = read_gpu(&path, &gpu).unwrap_err();
        assert!(matches!(error, RatesError::OtherMachine { of, .. } if of == "an abacus"));
        std::fs::write(&path, table.named(here.processor(), "").text()).unwrap();
        let same = Transpose::of::<u32>(2000, 1500).threads(1).plan().unwrap();
        assert_eq!(plan().unwrap().plan(), same.plan());
        assert_eq!(read_host(&path).unwrap().device(), here.processor());
    }

    #[test]
    fn a_table_that_was_read_is_checked_as_a_file_is() {
        let here = Host::here(1);
        let plan = |costs| Transpose::of::<u32>(2000, 1500).threads(1).costs(costs).plan();
        let table = here.costs().clone();
        let slow = table.clone().with_constant(Host::COPY, 1e6).named(here.processor(), "");
        let own = Transpose::of::<u32>(2000, 1500).threads(1).own_rates().plan().unwrap();
        assert!(plan(slow).unwrap().plan().seconds > 10.0 * own.plan().seconds);
        assert!(matches!(
            plan(table.named("an abacus", "")),
            Err(Error::Rates(RatesError::OtherMachine { .. }))
        ));
        assert!(matches!(
            plan(Chip::h200().costs().clone()),
            Err(Error::Rates(RatesError::Unusable { .. }))
        ));
    }

    /// Of writers at the same time one's table is there, whole, and a pipe is no table.
    #[test]
    fn writers_do_not_mix() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rates.json");
        let own = Host::here(1).costs().clone();
        let tables = [1e9, 2e9, 3e9].map(|speed| own.clone().with_constant(0, speed));
        std::thread::scope(|scope| {
            for table in &tables {
                scope.spawn(|| (0..20).for_each(|_| table.save(&path).unwrap()));
            }
        });
        let read = Host::costs_from(&std::fs::read_to_string(&path).unwrap()).unwrap();
        assert!(tables.iter().any(|table| table.constant(0) == read.constant(0)));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        let error = read_host(folder.path()).unwrap_err().to_string();
        assert!(error.contains("it is not a regular file"), "{error}");
    }
}
