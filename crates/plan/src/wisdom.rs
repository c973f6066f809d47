//! What tuning found out, remembered in a file.
//!
//! An entry is a recipe, not a plan: the plan is made again from it, so that it always fits the library that
//! runs it. Entries are keyed by the model of the device and the problem and carry the
//! library's signature; one from another library, or whose route can no longer be used for the problem, is
//! refused with the reason and not used.

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

/// Winners by device and problem.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Wisdom {
    /// The format's version: [`FORMAT`].
    format: u32,
    /// Keys are [`key`]'s.
    entries: BTreeMap<String, Entry>,
}

/// The version of the file format that this library reads and writes.
pub const FORMAT: u32 = 4;

/// One problem's winner.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// What makes its plan again.
    pub recipe: Recipe,
    /// Its measured seconds, the median.
    pub seconds: f64,
    /// How often it ran.
    pub runs: usize,
    /// [`signature`] of the library that measured it.
    pub signature: String,
}

/// What wisdom says of a problem.
#[derive(Clone, Debug, PartialEq)]
pub enum WisdomLookup {
    /// Use this plan.
    Plan(Box<Plan>),
    /// There is no entry.
    Unknown,
    /// There is an entry that cannot be used.
    Refused(StaleWisdom),
}

/// Why an entry is not used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StaleWisdom {
    /// Another version of the library measured it.
    #[error("measured by {got}, this is {expected}")]
    Signature {
        /// This library's signature.
        expected: String,
        /// The entry's.
        got: String,
    },
    /// It makes no plan here: there is no such route, tile or way.
    #[error("there is no {} by {} here", recipe.routes(), recipe.variants())]
    Unknown {
        /// The recipe.
        recipe: Recipe,
    },
    /// Its plan cannot be used for the problem.
    #[error("route {route} cannot be used: {why}")]
    Infeasible {
        /// The route.
        route: String,
        /// Why not.
        why: Infeasible,
    },
}

/// What can be wrong with a wisdom file; a file that is not understood is never overwritten.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WisdomError {
    /// It cannot be read or written.
    #[error("wisdom file {}: {why}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The kind of the system's error.
        kind: io::ErrorKind,
        /// What the system said.
        why: String,
    },
    /// It is not what this library writes.
    #[error("wisdom file {} is damaged: {why}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What the parser said.
        why: String,
    },
    /// It is of another format.
    #[error("wisdom file {} has format {got}, this library reads {FORMAT}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// Its format.
        got: u32,
    },
}

/// Identifies what an entry's meaning depends on: the library's version and its table of routes.
pub fn signature() -> String {
    let names: Vec<&str> = ROUTES.iter().map(|row| row.route.name()).collect();
    format!("turntile {} ({})", env!("CARGO_PKG_VERSION"), names.join(" "))
}

/// The key of a problem for a planner: everything that its choice depends on except how fast things are. Problems whose
/// axes fuse to the same have one key; what was measured of one route alone has a key of its own.
pub fn key(planner: &Planner, problem: &Problem) -> String {
    let (device, fused) = (planner.device(), problem.with_fused_axes());
    let restrictions = planner.restrictions();
    format!("{}: {fused} cap {}{restrictions}", device.model(), device.cap(problem))
}

impl Wisdom {
    /// None yet.
    pub fn new() -> Self {
        Wisdom { format: FORMAT, entries: BTreeMap::new() }
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Reads a file; none yet when there is nothing in it, or no file in a folder that there is.
    ///
    /// # Errors
    /// [`WisdomError`], when there is a file that cannot be read or understood.
    pub fn load(path: &Path) -> Result<Self, WisdomError> {
        atomic_file::refuse_others(path).map_err(|error| WisdomError::io(path, error))?;
        let text = match fs::read(path) {
            // As a file that was made to be written to.
            Ok(text) if text.is_empty() => return Ok(Wisdom::new()),
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // One can be made in a folder alone.
                let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
                let found = folder.map_or(Ok(()), |folder| fs::metadata(folder).map(|_| ()));
                return found.map(|()| Wisdom::new()).map_err(|error| WisdomError::io(path, error));
            }
            Err(error) => return Err(WisdomError::io(path, error)),
        };
        let damaged = |why: serde_json::Error| WisdomError::Damaged {
            path: path.to_owned(),
            why: why.to_string(),
        };
        /// What files of every format have.
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

    /// The same of a file that must be there.
    ///
    /// # Errors
    /// As [`load`](Self::load), and [`WisdomError::Io`] when there is no file.
    pub fn load_existing(path: &Path) -> Result<Self, WisdomError> {
        match fs::metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let why = "there is no such file; measuring makes one".to_owned();
                Err(WisdomError::Io { path: path.to_owned(), kind: error.kind(), why })
            }
            _ => Wisdom::load(path),
        }
    }

    /// What is known of `problem` on the planner's device.
    pub fn advise(&self, planner: &Planner, problem: &Problem) -> WisdomLookup {
        let Some(entry) = self.entries.get(&key(planner, problem)) else {
            return WisdomLookup::Unknown;
        };
        match entry.plan(planner, problem) {
            Ok(plan) => WisdomLookup::Plan(Box::new(plan)),
            Err(why) => WisdomLookup::Refused(why),
        }
    }

    /// Remembers the winner of a problem among a planner's candidates, in place of what was known of it.
    pub fn remember(&mut self, planner: &Planner, winner: &Measurement) {
        let entry = Entry {
            recipe: winner.plan.recipe(),
            seconds: winner.time.as_secs_f64(),
            runs: winner.runs,
            signature: signature(),
        };
        self.entries.insert(key(planner, &winner.plan.problem), entry);
    }

    /// Adds the winner of a problem to a file, and keeps what others have written there meanwhile.
    ///
    /// Writers take turns by a lock on the file; readers see the old file or the new one. A symbolic link stays one, and
    /// the file's directory must be there.
    ///
    /// # Errors
    /// [`WisdomError`]; the file is then as it was.
    pub fn record(path: &Path, planner: &Planner, winner: &Measurement) -> Result<(), WisdomError> {
        atomic_file::rewrite(
            path,
            |error| WisdomError::io(path, error),
            |path| {
                let mut wisdom = Wisdom::load(path)?;
                wisdom.remember(planner, winner);
                Ok(serde_json::to_vec_pretty(&wisdom).expect("strings and numbers serialise"))
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
    fn plan(&self, planner: &Planner, problem: &Problem) -> Result<Plan, StaleWisdom> {
        let expected = signature();
        if self.signature != expected {
            return Err(StaleWisdom::Signature { expected, got: self.signature.clone() });
        }
        let infeasible = |why| StaleWisdom::Infeasible { route: self.recipe.routes(), why };
        // A tile from a file is only ever one that the route itself proposes.
        let plan = planner.remake(problem, &self.recipe).map_err(infeasible)?;
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
        let plan = planner().survey(&problem()).candidates.swap_remove(rank);
        Measurement { plan, time: Duration::from_millis(3), runs: 5 }
    }

    fn file(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("turntile-wisdom-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder.join(name)
    }

    #[test]
    fn a_winner_is_found_again() {
        let path = file("found-again.json");
        assert!(Wisdom::load(&path).unwrap().is_empty());
        let winner = winner(7);
        Wisdom::record(&path, &planner(), &winner).unwrap();
        let wisdom = Wisdom::load(&path).unwrap();
        assert_eq!(wisdom.len(), 1);
        let WisdomLookup::Plan(plan) = wisdom.advise(&planner(), &problem()) else {
            panic!("no plan")
        };
        assert_eq!(*plan, winner.plan);
        // Another device, problem or cap knows nothing of it.
        let other = Planner::new(Toy { held: 1 << 20, ..Toy::default() });
        assert_eq!(wisdom.advise(&other, &problem()), WisdomLookup::Unknown);
        let other = Problem::new(720, 181, 4).unwrap();
        assert_eq!(wisdom.advise(&planner(), &other), WisdomLookup::Unknown);
        assert_eq!(wisdom.advise(&planner(), &problem().with_cap(9)), WisdomLookup::Unknown);
    }

    #[test]
    fn stale_entries_are_refused_with_the_reason() {
        let refused = |change: &dyn Fn(&mut Entry)| {
            let mut wisdom = Wisdom::new();
            wisdom.remember(&planner(), &winner(0));
            wisdom.entries.values_mut().for_each(change);
            match wisdom.advise(&planner(), &problem()) {
                WisdomLookup::Refused(why) => why,
                other => panic!("{other:?}"),
            }
        };
        assert!(matches!(
            refused(&|entry| entry.signature = "turntile 0.0.1".to_owned()),
            StaleWisdom::Signature { .. }
        ));
        assert!(matches!(
            refused(&|entry| entry.recipe.phases[0].route = "sideways".to_owned()),
            StaleWisdom::Unknown { .. }
        ));
        assert!(matches!(
            refused(&|entry| entry.recipe.phases[0].route = "square".to_owned()),
            StaleWisdom::Infeasible { .. }
        ));
        for tile in
            [TileSize { m: 0, n: 0 }, TileSize { m: 7, n: 11 }, TileSize { m: usize::MAX, n: 2 }]
        {
            assert!(matches!(
                refused(&|entry| entry.recipe.phases[0].tile = tile),
                StaleWisdom::Unknown { .. }
            ));
        }
        let refused_ways = |ways: &[&str]| {
            let ways: Vec<String> = ways.iter().map(|way| (*way).to_owned()).collect();
            refused(&|entry| entry.recipe.phases[0].variants.clone_from(&ways))
        };
        for ways in [&[][..], &["tile-swap"], &["by", "magic"], &["barrier"; 9]] {
            let refused = refused_ways(ways);
            assert!(matches!(refused, StaleWisdom::Unknown { .. }), "{ways:?}");
            let told = refused.to_string();
            assert!(told.contains(&ways.join(", ")), "{told}");
        }
    }

    #[test]
    fn damaged_files_are_errors_and_stay() {
        for text in [" ", "{", "[]", "{\"format\": 3}", "{\"format\": 99, \"entries\": {}}"] {
            let path = file("damaged.json");
            fs::write(&path, text).unwrap();
            assert!(Wisdom::load(&path).is_err(), "{text:?}");
            assert!(Wisdom::record(&path, &planner(), &winner(0)).is_err(), "{text:?}");
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
    }

    #[test]
    fn an_empty_file_holds_nothing_yet() {
        let path = file("empty.json");
        fs::write(&path, "").unwrap();
        assert!(Wisdom::load(&path).unwrap().is_empty());
        Wisdom::record(&path, &planner(), &winner(0)).unwrap();
        assert_eq!(Wisdom::load(&path).unwrap().len(), 1);
    }

    #[test]
    fn what_the_system_said_is_kept() {
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
    fn links_and_files_beside_stay_and_nothing_is_left() {
        let folder = file("links");
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        let (path, link) = (folder.join("wisdom.json"), folder.join("link"));
        std::os::unix::fs::symlink("wisdom.json", &link).unwrap();
        fs::write(&path, "").unwrap();
        fs::write(folder.join("wisdom.json.new"), "another's").unwrap();
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
        assert_eq!(fs::read(folder.join("wisdom.json.new")).unwrap(), b"another's");
    }

    #[cfg(unix)]
    #[test]
    fn pipes_are_refused_and_not_waited_for() {
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
    fn writers_at_once_lose_nothing() {
        let path = file("at-once.json");
        let sides: Vec<usize> = (2..26).map(|k| 60 * k).collect();
        let path = &path;
        std::thread::scope(|scope| {
            for sides in sides.chunks(6) {
                scope.spawn(move || {
                    for &side in sides {
                        let problem = Problem::new(side, 180, 4).unwrap();
                        let plan = planner().survey(&problem).candidates.swap_remove(0);
                        let winner = Measurement { plan, time: Duration::from_millis(1), runs: 1 };
                        Wisdom::record(path, &planner(), &winner).unwrap();
                    }
                });
            }
        });
        assert_eq!(Wisdom::load(path).unwrap().len(), sides.len());
    }
}
