//! A bar on the terminal for work that lasts longer than a second.

use std::borrow::Cow;
use std::io::IsTerminal;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Work shorter than this shows nothing.
const PATIENCE: Duration = Duration::from_secs(1);

/// Time between two frames.
const FRAME: Duration = Duration::from_millis(100);

/// The progress of a command. Silent on request, and if standard error is not a terminal.
pub struct Progress(Option<Shown>);

struct Shown {
    /// Before the name of each phase.
    label: String,
    bar: ProgressBar,
    /// Dropped when the work is over.
    over: Option<Sender<()>>,
    /// Shows the bar after a while.
    reveal: Option<JoinHandle<()>>,
}

impl Progress {
    /// A bar that appears after a second, if `wanted` and there is a terminal to show it on, with a label before the names
    /// of its phases.
    pub fn new(wanted: bool, label: &str) -> Self {
        if !(wanted && std::io::stderr().is_terminal()) {
            return Progress(None);
        }
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        let (over, waiting) = mpsc::channel::<()>();
        let revealed = bar.clone();
        let reveal = move || {
            if waiting.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                revealed.set_draw_target(ProgressDrawTarget::stderr());
                revealed.enable_steady_tick(FRAME);
            }
        };
        // Without a thread there is no bar; the work goes on.
        let reveal = thread::Builder::new().spawn(reveal).ok();
        let label = label.to_string();
        Progress(reveal.map(|thread| Shown { label, bar, over: Some(over), reveal: Some(thread) }))
    }

    /// Begins a phase measured in bytes.
    pub fn bytes(&self, what: &'static str, total: usize) {
        self.phase("{binary_bytes}/{binary_total_bytes} {eta} left", what, Some(total));
    }

    /// Begins a phase measured in passes over the data.
    pub fn passes(&self, what: &'static str, total: usize) {
        self.phase("{pos}/{len} passes {elapsed}", what, Some(total));
    }

    /// Begins a phase of `total` items with names.
    pub fn items(&self, what: &'static str, total: usize) {
        self.phase("{pos}/{len} {msg} {elapsed}", what, Some(total));
    }

    /// Begins a phase whose end is not known.
    pub fn waiting(&self, what: &'static str) {
        self.phase("{elapsed}", what, None);
    }

    /// Names what is being done now.
    pub fn say(&self, what: impl Into<Cow<'static, str>>) {
        if let Progress(Some(shown)) = self {
            shown.bar.set_message(what);
        }
    }

    /// Hides the bar and runs `print`.
    pub fn aside<T>(&self, print: impl FnOnce() -> T) -> T {
        match self {
            Progress(Some(shown)) => shown.bar.suspend(print),
            Progress(None) => print(),
        }
    }

    fn phase(&self, figures: &str, what: &'static str, total: Option<usize>) {
        let Progress(Some(Shown { label, bar, .. })) = self else { return };
        let line = if total.is_some() { "{wide_bar} " } else { "" };
        if let Ok(style) =
            ProgressStyle::with_template(&format!("{{spinner}} {{prefix:<12}} {line}{figures}"))
        {
            // Characters that every terminal shows.
            bar.set_style(style.progress_chars("#>-").tick_chars("|/-\\ "));
        }
        bar.set_prefix(format!("{label}{what}"));
        bar.set_length(total.unwrap_or(0) as u64);
        bar.reset();
    }

    /// Sets the finished part of the phase.
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
            // It only ever waits; if it panicked there is nothing to clear.
            let _ = reveal.join();
        }
        self.bar.finish_and_clear();
    }
}
