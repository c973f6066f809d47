//! A bar on the terminal for work that lasts longer than a second.

use std::io::IsTerminal;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Work shorter than this shows nothing.
const PATIENCE: Duration = Duration::from_secs(1);

/// The progress of a command. Silent when not wanted, or when standard error is no terminal.
pub struct Progress(Option<Shown>);

struct Shown {
    bar: ProgressBar,
    /// Dropped to tell the waiting thread that the work is over.
    over: Option<Sender<()>>,
    reveal: Option<JoinHandle<()>>,
}

impl Progress {
    /// A bar that appears after a second, if `wanted` and there is a terminal to show it on.
    pub fn new(wanted: bool) -> Self {
        if !(wanted && std::io::stderr().is_terminal()) {
            return Progress(None);
        }
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        let (over, waiting) = mpsc::channel::<()>();
        let revealed = bar.clone();
        let reveal = thread::spawn(move || {
            if waiting.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                revealed.set_draw_target(ProgressDrawTarget::stderr());
                revealed.enable_steady_tick(Duration::from_millis(100));
            }
        });
        Progress(Some(Shown { bar, over: Some(over), reveal: Some(reveal) }))
    }

    /// Begins a phase measured in bytes.
    pub fn bytes(&self, what: &'static str, total: usize) {
        self.phase(
            "{spinner} {prefix:<12} {wide_bar} {binary_bytes}/{binary_total_bytes} {binary_bytes_per_sec} {eta}",
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

    /// Tells what is being done now.
    pub fn say(&self, what: &'static str) {
        if let Progress(Some(shown)) = self {
            shown.bar.set_message(what);
        }
    }

    fn phase(&self, template: &str, what: &'static str, total: usize) {
        if let Progress(Some(shown)) = self {
            if let Ok(style) = ProgressStyle::with_template(template) {
                shown.bar.set_style(style);
            }
            shown.bar.set_prefix(what);
            shown.bar.set_length(total as u64);
            shown.bar.reset();
        }
    }

    /// Tells how much of the phase is done.
    pub fn set(&self, done: usize) {
        if let Progress(Some(shown)) = self {
            shown.bar.set_position(done as u64);
        }
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        self.over.take();
        if let Some(reveal) = self.reveal.take() {
            // It only ever waits and draws; if it panicked there is nothing to clear.
            let _ = reveal.join();
        }
        self.bar.finish_and_clear();
    }
}
