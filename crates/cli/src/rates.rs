//! Which table of costs plans are made by, and where `turntile calibrate` keeps those that it makes.

use std::cell::OnceCell;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::OsStringValueParser;
use turntile::plan::{Chip, Costs, Device as _, Host};
use turntile::{RATES_VARIABLE, RatesError, Transpose, read_gpu_rates, read_rates};

use crate::error::Error;
use crate::say::{shown, tell};

/// Which table of costs is planned by.
#[derive(Debug, Args)]
pub struct RatesArgs {
    /// Plan by this table of the device's rates, as `turntile calibrate` writes it; on the host TURNTILE_RATES names one too
    /// [default: the one that calibrate made here]
    #[arg(long, value_name = "FILE", value_parser = OsStringValueParser::new(), conflicts_with = "no_rates")]
    rates: Option<OsString>,
    /// Plan by turntile's own table, as with an empty TURNTILE_RATES
    #[arg(long)]
    no_rates: bool,
    /// What the host's is, once it has been looked for.
    #[arg(skip)]
    host: OnceCell<Rates>,
}

/// A table that is planned by.
#[derive(Clone, Debug)]
pub struct Rates {
    /// None: turntile's own.
    costs: Option<(PathBuf, Costs)>,
}

impl Rates {
    /// Turntile's own.
    pub const OWN: Rates = Rates { costs: None };

    /// `transpose` planned by it.
    pub fn of(&self, transpose: Transpose) -> Transpose {
        match &self.costs {
            Some((_, costs)) => transpose.costs(costs.clone()),
            None => transpose.own_rates(),
        }
    }

    /// The same of a host.
    pub fn host(&self, host: Host) -> Host {
        match &self.costs {
            Some((_, costs)) => host.with_costs(costs.clone()),
            None => host,
        }
    }

    /// The same of a GPU.
    pub fn chip(&self, chip: Chip) -> Chip {
        match &self.costs {
            Some((_, costs)) => chip.with_costs(costs.clone()),
            None => chip,
        }
    }

    /// Its file, if it is not turntile's own.
    pub fn file(&self) -> Option<&Path> {
        self.costs.as_ref().map(|(file, _)| &**file)
    }

    /// Its costs, if they are not turntile's own.
    pub fn costs(&self) -> Option<&Costs> {
        self.costs.as_ref().map(|(_, costs)| costs)
    }
}

impl RatesArgs {
    /// The host's.
    ///
    /// # Errors
    /// [`Error::Engine`]: a file that was named cannot be used. One that was found is told of, unless `quiet`, and passed
    /// over.
    pub fn host(&self, quiet: bool) -> Result<&Rates, Error> {
        if let Some(known) = self.host.get() {
            return Ok(known);
        }
        let environment = std::env::var_os(RATES_VARIABLE);
        let rates = self.choose(environment, Host::here(1).processor(), quiet, read_rates)?;
        Ok(self.host.get_or_init(|| rates))
    }

    /// A GPU's; the environment names the host's alone.
    ///
    /// # Errors
    /// As [`host`](Self::host).
    pub fn gpu(&self, chip: &Chip) -> Result<Rates, Error> {
        let environment = std::env::var_os(RATES_VARIABLE).filter(|file| file.is_empty());
        self.choose(environment, chip.name(), false, |file| read_gpu_rates(file, chip))
    }

    /// Of a device that is not here, of which nothing can be found.
    ///
    /// # Errors
    /// As [`host`](Self::host).
    pub fn preset(&self, chip: &Chip) -> Result<Rates, Error> {
        match self.named() {
            Some(file) => Ok(read(file, |file| read_gpu_rates(file, chip))?),
            None => Ok(Rates::OWN),
        }
    }

    /// The file that was named on the command line; an empty name is none.
    fn named(&self) -> Option<&Path> {
        self.rates.as_deref().filter(|name| !name.is_empty()).map(Path::new)
    }

    fn choose(
        &self,
        environment: Option<OsString>,
        model: &str,
        quiet: bool,
        table: impl Fn(&Path) -> Result<Costs, RatesError>,
    ) -> Result<Rates, Error> {
        if let Some(file) = self.named() {
            return Ok(read(file, table)?);
        }
        if self.no_rates || self.rates.is_some() {
            return Ok(Rates::OWN);
        }
        match environment {
            Some(name) if name.is_empty() => return Ok(Rates::OWN),
            Some(name) => return Ok(read(Path::new(&name), table)?),
            None => {}
        }
        let Some(file) = place(model).filter(|file| file.exists()) else { return Ok(Rates::OWN) };
        Ok(read(&file, table).unwrap_or_else(|why| {
            if !quiet {
                tell(&format_args!("note: not used: {why}"));
            }
            Rates::OWN
        }))
    }
}

fn read(
    file: &Path,
    table: impl Fn(&Path) -> Result<Costs, RatesError>,
) -> Result<Rates, turntile::Error> {
    Ok(Rates { costs: Some((file.to_path_buf(), table(file)?)) })
}

/// Where the table of a processor or card of that model is kept: below the user's data, which several machines may
/// share. None where the system does not say where that is.
pub fn place(model: &str) -> Option<PathBuf> {
    place_in(model, |name| std::env::var_os(name))
}

fn place_in(model: &str, variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    // What is no absolute path is to be taken for nothing.
    let set = |name| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let data = match cfg!(windows) {
        true => set("LOCALAPPDATA"),
        false => set("XDG_DATA_HOME").or_else(|| Some(set("HOME")?.join(".local").join("share"))),
    };
    Some(data?.join("turntile").join("rates").join(format!("{}.json", slug(model))))
}

/// Letters and digits of a model's name, words apart by a dash.
fn slug(model: &str) -> String {
    let letters = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { ' ' };
    let words: String = model.chars().map(letters).collect();
    words.split_whitespace().collect::<Vec<_>>().join("-")
}

/// What was planned by, in words.
pub fn told(rates: &Rates) -> String {
    match rates.file() {
        Some(file) => format!("the rates in {}", shown(file)),
        None => "turntile's own rates".to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn tables_are_kept_by_model_below_the_users_data() {
        let of = |set: &'static [(&str, &str)]| {
            place_in("AMD EPYC 9B14 (96-Core) Processor", |name| {
                set.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into())
            })
        };
        let name = "turntile/rates/amd-epyc-9b14-96-core-processor.json";
        let at = |directory: &str| Some(Path::new(directory).join(name));
        assert_eq!(of(&[("HOME", "/home/a")]), at("/home/a/.local/share"));
        assert_eq!(of(&[("HOME", "/home/a"), ("XDG_DATA_HOME", "/data")]), at("/data"));
        assert_eq!(
            of(&[("HOME", "/home/a"), ("XDG_DATA_HOME", "data")]),
            at("/home/a/.local/share")
        );
        assert_eq!(of(&[("HOME", "")]), None);
        assert_eq!(slug("NVIDIA H200"), "nvidia-h200");
    }
}
