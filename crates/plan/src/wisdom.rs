//! Wisdom: tuning results stored in a file, as in FFTW.
//!
//! An entry stores a recipe, not a plan. The planner rebuilds the plan from the recipe, so the plan
//! always matches the library that runs it. The key of an entry has the device model, the problem,
//! the workspace cap and the planner's restrictions. Each entry has the signature of the library
//! that measured it. An entry is rejected, with the reason, if its signature differs or if its
//! route is infeasible for the problem.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::atomic_file;
use crate::infeasible::Infeasible;
use crate::plan::{Plan, Recipe};
use crate::planner::Planner;
use crate::problem::Problem;
use crate::routes::ROUTES;
use crate::tuner::Measurement;

/// Fastest measured recipes, by device and problem.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Wisdom {
    /// Version of the file format: [`FORMAT`].
    format: u32,
    /// Entries, keyed by [`key`].
    entries: BTreeMap<String, Entry>,
}

/// Version of the file format that this library reads and writes.
pub(crate) const FORMAT: u32 = 4;

/// Fastest measured recipe of one problem.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Recipe from which the plan is rebuilt.
    pub recipe: Recipe,
    /// Median of the measured seconds.
    pub seconds: f64,
    /// Number of measured runs.
    pub runs: usize,
    /// [`signature`] of the library that measured the entry.
    pub signature: String,
}

/// Result of a wisdom lookup.
#[derive(Clone, Debug, PartialEq)]
pub enum WisdomLookup {
    /// The plan rebuilt from the entry.
    Plan(Box<Plan>),
    /// No entry exists for the problem.
    Unknown,
    /// An entry exists but cannot be used.
    Stale(StaleWisdom),
}

/// Reason why an entry cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StaleWisdom {
    /// The entry was measured by a different version of the library.
    #[error("measured by {got}, this library is {expected}")]
    Signature {
        /// Signature of this library.
        expected: String,
        /// Signature of the entry.
        got: String,
    },
    /// The planner has no such route, tile or implementation for the problem.
    #[error("no plan with route {} and implementation {}", recipe.routes(), recipe.variants())]
    Unknown {
        /// Recipe of the entry.
        recipe: Recipe,
    },
    /// The route is infeasible for the problem.
    #[error("route {route} cannot be used: {why}")]
    Infeasible {
        /// Names of the routes of the recipe.
        route: String,
        /// Reason for the rejection.
        why: Infeasible,
    },
}

/// Error while reading or writing a wisdom file.
///
/// A file that cannot be parsed is never overwritten.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WisdomError {
    /// The file cannot be read or written.
    #[error("wisdom file {}: {why}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Kind of the I/O error.
        kind: io::ErrorKind,
        /// Text of the I/O error.
        why: String,
    },
    /// The file is not valid wisdom.
    #[error("wisdom file {} is damaged: {why}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Text of the parser error.
        why: String,
    },
    /// The file has a different format version.
    #[error("wisdom file {} has format {got}, this library reads format {FORMAT}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// Format version of the file.
        got: u32,
    },
}

/// Returns the signature of this library: its version and its route table.
///
/// Both determine which plan a recipe describes.
pub fn signature() -> String {
    let names: Vec<&str> = ROUTES.iter().map(|row| row.route.name()).collect();
    format!("turntile {} ({})", env!("CARGO_PKG_VERSION"), names.join(" "))
}

/// Returns the key of a problem for a planner.
///
/// It contains what decides which plans are possible: device model, fused problem, workspace cap
/// and restrictions. Problems with the same fused axes share a key. Results that were restricted to
/// one route or orientation have a separate key.
pub fn key(planner: &Planner, problem: &Problem) -> String {
    let (device, fused) = (planner.device(), problem.with_fused_axes());
    let restrictions = planner.restrictions();
    format!("{}: {fused} cap {}{restrictions}", device.model(), device.cap(problem))
}

impl Wisdom {
    /// Creates wisdom without entries.
    pub fn new() -> Self {
        Wisdom { format: FORMAT, entries: BTreeMap::new() }
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns `true` if there are no entries.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Reads a wisdom file.
    ///
    /// Returns empty wisdom if the file is empty, or if it does not exist but its directory does.
    ///
    /// # Errors
    /// [`WisdomError`]: the file cannot be read or parsed, or its directory does not exist.
    pub fn load(path: &Path) -> Result<Self, WisdomError> {
        atomic_file::require_regular_file(path).map_err(|error| WisdomError::io(path, error))?;
        let text = match fs::read(path) {
            // An empty file was just created by a writer in order to lock it, and has no entries yet.
            Ok(text) if text.is_empty() => return Ok(Wisdom::new()),
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // The file can be created only if its directory exists.
                let directory = path.parent().filter(|path| !path.as_os_str().is_empty());
                let exists = directory.map_or(Ok(()), |path| fs::metadata(path).map(|_| ()));
                return exists
                    .map(|()| Wisdom::new())
                    .map_err(|error| WisdomError::io(path, error));
            }
            Err(error) => return Err(WisdomError::io(path, error)),
        };
        let damaged = |why: serde_json::Error| WisdomError::Damaged {
            path: path.to_owned(),
            why: why.to_string(),
        };
        /// Fields common to all format versions.
        #[derive(Deserialize)]
        struct Header {
            format: u32,
        }
        let Header { format } = serde_json::from_slice(&text).map_err(damaged)?;
        if format != FORMAT {
            return Err(WisdomError::Format { path: path.to_owned(), got: format });
        }
        serde_json::from_slice(&text).map_err(damaged)
    }

    /// Reads a wisdom file like [`load`](Self::load), and requires that it exists.
    ///
    /// # Errors
    /// Same as [`load`](Self::load), and [`WisdomError::Io`] if the file does not exist.
    pub fn load_existing(path: &Path) -> Result<Self, WisdomError> {
        match fs::metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let why = "no such file (tuning creates it)".to_owned();
                Err(WisdomError::Io { path: path.to_owned(), kind: error.kind(), why })
            }
            _ => Wisdom::load(path),
        }
    }

    /// Looks up the plan for `problem` on the planner's device.
    pub fn lookup(&self, planner: &Planner, problem: &Problem) -> WisdomLookup {
        let Some(entry) = self.entries.get(&key(planner, problem)) else {
            return WisdomLookup::Unknown;
        };
        match entry.plan(planner, problem) {
            Ok(plan) => WisdomLookup::Plan(Box::new(plan)),
            Err(why) => WisdomLookup::Stale(why),
        }
    }

    /// Stores the fastest measured plan of a problem, and replaces an existing entry.
    pub fn insert(&mut self, planner: &Planner, winner: &Measurement) {
        let entry = Entry {
            recipe: winner.plan.recipe(),
            seconds: winner.time.as_secs_f64(),
            runs: winner.runs,
            signature: signature(),
        };
        self.entries.insert(key(planner, &winner.plan.problem), entry);
    }

    /// Stores the fastest measured plan of a problem in a file.
    ///
    /// Preserves entries that other processes added. A file lock serialises writers; readers see
    /// the old file or the new one. A symbolic link is followed, not replaced. The directory of the
    /// file must exist.
    ///
    /// # Errors
    /// [`WisdomError`]: the file cannot be read, parsed or written. It is then unchanged.
    pub fn record(path: &Path, planner: &Planner, winner: &Measurement) -> Result<(), WisdomError> {
        atomic_file::rewrite(
            path,
            |error| WisdomError::io(path, error),
            |path| {
                let mut wisdom = Wisdom::load(path)?;
                wisdom.insert(planner, winner);
                Ok(serde_json::to_vec_pretty(&wisdom)
                    .expect("strings and numbers always serialise"))
            },
        )
    }
}

impl WisdomError {
    fn io(path: &Path, error: io::Error) -> Self {
        WisdomError::Io { path: path.to_owned(), kind: error.kind(), why: error.to_string() }
    }
}

impl Entry {
    /// Rebuilds the plan of the entry.
    fn plan(&self, planner: &Planner, problem: &Problem) -> Result<Plan, StaleWisdom> {
        let expected = signature();
        if self.signature != expected {
            return Err(StaleWisdom::Signature { expected, got: self.signature.clone() });
        }
        let infeasible = |why| StaleWisdom::Infeasible { route: self.recipe.routes(), why };
        // The file is untrusted: the planner accepts only tiles that the route itself proposes.
        let plan = planner.rebuild(problem, &self.recipe).map_err(infeasible)?;
        plan.ok_or_else(|| StaleWisdom::Unknown { recipe: self.recipe.clone() })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::TileRule;
    use crate::routes::TileSize;
    use crate::testing::Toy;

    fn planner() -> Planner {
        Planner::new(Toy::default()).with_tiles(TileRule::Exhaustive)
    }

    fn problem() -> Problem {
        Problem::new(720, 180, 4).unwrap()
    }

    fn winner(rank: usize) -> Measurement {
        let plan = planner().candidates(&problem()).candidates.swap_remove(rank);
        Measurement { plan, time: Duration::from_millis(3), runs: 5 }
    }

    fn file(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("turntile-wisdom-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder.join(name)
    }

    #[test]
    fn recorded_winner_is_found_again() {
        let path = file("found-again.json");
        assert!(Wisdom::load(&path).unwrap().is_empty());
        let winner = winner(7);
        Wisdom::record(&path, &planner(), &winner).unwrap();
        let wisdom = Wisdom::load(&path).unwrap();
        assert_eq!(wisdom.len(), 1);
        let WisdomLookup::Plan(plan) = wisdom.lookup(&planner(), &problem()) else {
            panic!("no plan")
        };
        assert_eq!(*plan, winner.plan);
        // A different device, problem or cap has a different key.
        let other = Planner::new(Toy { held: 1 << 20, ..Toy::default() });
        assert_eq!(wisdom.lookup(&other, &problem()), WisdomLookup::Unknown);
        let other = Problem::new(720, 181, 4).unwrap();
        assert_eq!(wisdom.lookup(&planner(), &other), WisdomLookup::Unknown);
        assert_eq!(wisdom.lookup(&planner(), &problem().with_cap(9)), WisdomLookup::Unknown);
    }

    #[test]
    fn advise_rejects_stale_entries_with_reason() {
        let reason = |change: &dyn Fn(&mut Entry)| {
            let mut wisdom = Wisdom::new();
            wisdom.insert(&planner(), &winner(0));
            wisdom.entries.values_mut().for_each(change);
            match wisdom.lookup(&planner(), &problem()) {
                WisdomLookup::Stale(why) => why,
                other => panic!("{other:?}"),
            }
        };
        assert!(matches!(
            reason(&|entry| entry.signature = "turntile 0.0.1".to_owned()),
            StaleWisdom::Signature { .. }
        ));
        assert!(matches!(
            reason(&|entry| entry.recipe.phases[0].route = "sideways".to_owned()),
            StaleWisdom::Unknown { .. }
        ));
        assert!(matches!(
            reason(&|entry| entry.recipe.phases[0].route = "square".to_owned()),
            StaleWisdom::Infeasible { .. }
        ));
        for tile in
            [TileSize { m: 0, n: 0 }, TileSize { m: 7, n: 11 }, TileSize { m: usize::MAX, n: 2 }]
        {
            assert!(matches!(
                reason(&|entry| entry.recipe.phases[0].tile = tile),
                StaleWisdom::Unknown { .. }
            ));
        }
        let reason_for_variants = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            reason(&|entry| entry.recipe.phases[0].variants.clone_from(&names))
        };
        for names in [&[][..], &["tile-swap"], &["by", "magic"], &["barrier"; 9]] {
            let stale = reason_for_variants(names);
            assert!(matches!(stale, StaleWisdom::Unknown { .. }), "{names:?}");
            let message = stale.to_string();
            assert!(message.contains(&names.join(", ")), "{message}");
        }
    }

    #[test]
    fn damaged_files_are_rejected_and_unchanged() {
        for text in [" ", "{", "[]", "{\"format\": 3}", "{\"format\": 99, \"entries\": {}}"] {
            let path = file("damaged.json");
            fs::write(&path, text).unwrap();
            assert!(Wisdom::load(&path).is_err(), "{text:?}");
            assert!(Wisdom::record(&path, &planner(), &winner(0)).is_err(), "{text:?}");
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
    }

    #[test]
    fn empty_file_loads_as_empty_wisdom() {
        let path = file("empty.json");
        fs::write(&path, "").unwrap();
        assert!(Wisdom::load(&path).unwrap().is_empty());
        Wisdom::record(&path, &planner(), &winner(0)).unwrap();
        assert_eq!(Wisdom::load(&path).unwrap().len(), 1);
    }

    #[test]
    fn io_errors_keep_kind_and_text() {
        let folder = file("a folder");
        fs::create_dir_all(&folder).unwrap();
        let error = Wisdom::load(&folder).unwrap_err();
        let WisdomError::Io { kind, ref why, .. } = error else { panic!("{error}") };
        assert!(kind != io::ErrorKind::NotFound && error.to_string().ends_with(&**why), "{error}");
        assert_eq!(error, Wisdom::load(&folder).unwrap_err());
        assert_ne!(error, WisdomError::io(&folder, io::ErrorKind::NotFound.into()));
    }

    #[cfg(unix)]
    #[test]
    fn record_follows_links_and_leaves_no_temporary_files() {
        let folder = file("links");
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        let (path, link) = (folder.join("wisdom.json"), folder.join("link"));
        std::os::unix::fs::symlink("wisdom.json", &link).unwrap();
        fs::write(&path, "").unwrap();
        fs::write(folder.join("wisdom.json.new"), "unrelated").unwrap();
        Wisdom::record(&link, &planner(), &winner(0)).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(Wisdom::load(&path).unwrap().len(), 1);
        let missing = folder.join("mistyped").join("wisdom.json");
        assert!(Wisdom::record(&missing, &planner(), &winner(0)).is_err());
        fs::write(folder.join("damaged"), "{").unwrap();
        assert!(Wisdom::record(&folder.join("damaged"), &planner(), &winner(0)).is_err());
        let mut names: Vec<_> =
            fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["damaged", "link", "wisdom.json", "wisdom.json.new"]);
        assert_eq!(fs::read(folder.join("wisdom.json.new")).unwrap(), b"unrelated");
    }

    #[cfg(unix)]
    #[test]
    fn pipes_are_rejected_without_blocking() {
        let pipe = file("pipe");
        let _ = fs::remove_file(&pipe);
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        for error in [
            Wisdom::load(&pipe).unwrap_err(),
            Wisdom::record(&pipe, &planner(), &winner(0)).unwrap_err(),
        ] {
            assert!(error.to_string().contains("not a regular file"), "{error}");
        }
    }

    #[test]
    fn concurrent_writers_lose_no_entries() {
        let path = file("at-once.json");
        let sides: Vec<usize> = (2..26).map(|k| 60 * k).collect();
        let path = &path;
        std::thread::scope(|scope| {
            for sides in sides.chunks(6) {
                scope.spawn(move || {
                    for &side in sides {
                        let problem = Problem::new(side, 180, 4).unwrap();
                        let plan = planner().candidates(&problem).candidates.swap_remove(0);
                        let winner = Measurement { plan, time: Duration::from_millis(1), runs: 1 };
                        Wisdom::record(path, &planner(), &winner).unwrap();
                    }
                });
            }
        });
        assert_eq!(Wisdom::load(path).unwrap().len(), sides.len());
    }
}
