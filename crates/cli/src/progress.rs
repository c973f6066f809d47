//! A bar on the terminal for work that lasts longer than a second.

use std::io::IsTerminal;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

/// Work shorter than this shows nothing.
const PATIENCE: Duration = Duration::from_secs(1);

/// Time between two frames.
const FRAME: Duration = Duration::from_millis(100);

/// The progress of a command. Silent when not wanted, or when standard error is no terminal.
pub struct Progress(Option<Shown>);

struct Shown {
    /// Before the name of each phase.
    label: String,
    bar: Arc<Mutex<Bar>>,
    /// Dropped to tell the waiting thread that the work is over.
    over: Option<Sender<()>>,
    /// Shows the bar after a while, and draws it again and again.
    frames: Option<JoinHandle<()>>,
}

/// The bar of the phase that is on. Each phase has its own, so that no frame has numbers of two.
struct Bar {
    bar: ProgressBar,
    revealed: bool,
}

impl Bar {
    fn reveal(&mut self) {
        self.revealed = true;
        self.bar.set_draw_target(ProgressDrawTarget::stderr());
    }
}

fn held(bar: &Mutex<Bar>) -> MutexGuard<'_, Bar> {
    bar.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Progress {
    /// A bar that appears after a second, if `wanted` and there is a terminal to show it on.
    pub fn new(wanted: bool) -> Self {
        Self::labelled(wanted, "")
    }

    /// The same, with a label before the names of its phases.
    pub fn labelled(wanted: bool, label: &str) -> Self {
        if !(wanted && std::io::stderr().is_terminal()) {
            return Progress(None);
        }
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        let bar = Arc::new(Mutex::new(Bar { bar, revealed: false }));
        let (over, waiting) = mpsc::channel::<()>();
        let revealed = Arc::clone(&bar);
        let frames = move || {
            let goes_on = |wait| waiting.recv_timeout(wait) == Err(RecvTimeoutError::Timeout);
            if !goes_on(PATIENCE) {
                return;
            }
            held(&revealed).reveal();
            while goes_on(FRAME) {
                held(&revealed).bar.tick();
            }
        };
        // Without a thread there is no bar; the work goes on.
        let frames = thread::Builder::new().spawn(frames).ok();
        let label = label.to_string();
        Progress(frames.map(|frames| Shown { label, bar, over: Some(over), frames: Some(frames) }))
    }

    /// Begins a phase measured in bytes.
    pub fn bytes(&self, what: &'static str, total: usize) {
        self.phase(
            "{spinner} {prefix:<12} {wide_bar} {binary_bytes}/{binary_total_bytes} {left}",
            what,
            total,
        );
    }

    /// Begins a phase measured in passes over the data.
    pub fn passes(&self, what: &'static str, total: usize) {
        self.phase("{spinner} {prefix:<12} {wide_bar} {pos}/{len} passes {elapsed}", what, total);
    }

    /// Begins a phase of so many items.
    pub fn items(&self, what: &'static str, total: usize) {
        self.phase("{spinner} {prefix:<12} {wide_bar} {pos}/{len} {msg} {elapsed}", what, total);
    }

    /// Begins a phase whose end cannot be told.
    pub fn waiting(&self, what: &'static str) {
        self.phase("{spinner} {prefix} {elapsed}", what, 0);
    }

    /// Tells what is being done now.
    pub fn say(&self, what: &'static str) {
        if let Progress(Some(shown)) = self {
            held(&shown.bar).bar.set_message(what);
        }
    }

    fn phase(&self, template: &str, what: &'static str, total: usize) {
        let Progress(Some(shown)) = self else { return };
        let mut held = held(&shown.bar);
        held.bar.finish_and_clear();
        let hidden = ProgressDrawTarget::hidden();
        let prefix = format!("{}{what}", shown.label);
        held.bar = ProgressBar::with_draw_target(Some(total as u64), hidden).with_prefix(prefix);
        if let Ok(style) = ProgressStyle::with_template(template) {
            held.bar.set_style(
                plain(style, is_utf8(|name| std::env::var(name).ok())).with_key("left", left),
            );
        }
        if held.revealed {
            held.reveal();
        }
    }

    /// Tells how much of the phase is done.
    pub fn set(&self, done: usize) {
        if let Progress(Some(shown)) = self {
            held(&shown.bar).bar.set_position(done as u64);
        }
    }
}

/// The time that is left if the rest takes as long as what is done, once enough is done to tell.
fn left(state: &ProgressState, to: &mut dyn std::fmt::Write) {
    let _ = match remaining(state.pos(), state.len().unwrap_or(0), state.elapsed()) {
        Some(left) => write!(to, "{} left", indicatif::HumanDuration(left)),
        None => to.write_str("-"),
    };
}

fn remaining(done: u64, all: u64, elapsed: Duration) -> Option<Duration> {
    let enough = done > 0 && (elapsed >= Duration::from_secs(2) || done >= all / 50);
    let rest = all.saturating_sub(done) as f64 / done as f64;
    enough.then(|| elapsed.mul_f64(rest.min(1e6)))
}

/// Characters of ASCII where the terminal shows no others.
fn plain(style: ProgressStyle, utf8: bool) -> ProgressStyle {
    if utf8 { style } else { style.progress_chars("#>-").tick_chars("|/-\\ ") }
}

/// Whether the locale's characters are UTF-8, by the first of its variables that is set.
fn is_utf8(variable: impl Fn(&str) -> Option<String>) -> bool {
    let set = |name: &&str| variable(name).filter(|value| !value.is_empty());
    let names = ["LC_ALL", "LC_CTYPE", "LANG"];
    match names.iter().find_map(set) {
        Some(locale) => {
            let locale = locale.to_ascii_lowercase();
            locale.contains("utf-8") || locale.contains("utf8")
        }
        // Systems without locales of this kind show them all.
        None => cfg!(windows),
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        self.over.take();
        if let Some(frames) = self.frames.take() {
            // It only ever waits and draws; if it panicked there is nothing to clear.
            let _ = frames.join();
        }
        held(&self.bar).bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_told_once_it_can_be() {
        let seconds = Duration::from_secs;
        assert_eq!(remaining(0, 100, seconds(60)), None);
        assert_eq!(remaining(1, 1000, seconds(1)), None);
        assert_eq!(remaining(25, 100, seconds(3)), Some(seconds(9)));
        assert_eq!(remaining(100, 100, seconds(3)), Some(seconds(0)));
        assert_eq!(remaining(1, u64::MAX, seconds(3)), Some(seconds(3_000_000)));
    }

    #[test]
    fn the_locale_says_which_characters() {
        let of = |set: &'static [(&str, &str)]| {
            is_utf8(|name| {
                set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_string())
            })
        };
        assert!(of(&[("LANG", "en_GB.UTF-8")]));
        assert!(of(&[("LC_ALL", ""), ("LC_CTYPE", "C.utf8")]));
        assert!(!of(&[("LC_ALL", "C"), ("LANG", "en_GB.UTF-8")]));
        assert!(!of(&[("LANG", "de_DE.ISO-8859-1")]));
    }
}
