//! Ctrl-C and similar signals: the temporary file is removed before the process ends.

/// Has SIGINT, SIGTERM, SIGHUP and SIGQUIT end the process through [`file::abandon`], by that same
/// signal, so that a shell's loop ends too. Those that were ignored when the process began (by nohup, or for a
/// script's background jobs) stay ignored. A file that grows past its limit is an error, and not the end by SIGXFSZ.
///
/// [`file::abandon`]: crate::file::abandon
#[cfg(unix)]
pub fn clean_up_on_signals() {
    use std::sync::Arc;

    use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXFSZ};
    use signal_hook::iterator::Signals;
    use signal_hook::low_level::emulate_default_handler;

    // Caught, whatever becomes of the flag, it no longer kills: the write that went too far fails.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
    let ignored = ignored_signals();
    let caught = [SIGINT, SIGTERM, SIGHUP, SIGQUIT];
    let caught = caught.into_iter().filter(|signal| ignored >> (signal - 1) & 1 == 0);
    let warn = |error| {
        let what = "cannot catch signals, an interruption may leave a temporary file";
        crate::say::notify(&format_args!("warning: {what}: {error}"));
    };
    // The thread comes first: signals that are caught and not handled would do nothing.
    let (hand_over, handed) = std::sync::mpsc::sync_channel::<Signals>(0);
    let started = std::thread::Builder::new().stack_size(256 << 10).spawn(move || {
        let Ok(mut signals) = handed.recv() else { return };
        for signal in signals.forever() {
            let report = || crate::say::notify(&"interrupted");
            crate::file::abandon(report, || {
                let _ = emulate_default_handler(signal);
                std::process::exit(128 + signal);
            });
        }
    });
    let caught = started.and_then(|_| Signals::new(caught));
    match caught {
        // It waits for them, and has begun when it has them.
        Ok(signals) => drop(hand_over.send(signals)),
        Err(error) => warn(error),
    }
}

/// Ends the process by SIGPIPE, as other programs end when a pipe's reader has left.
pub fn die_of_pipe() -> std::process::ExitCode {
    #[cfg(unix)]
    let _ = signal_hook::low_level::emulate_default_handler(signal_hook::consts::SIGPIPE);
    std::process::ExitCode::FAILURE
}

/// Elsewhere there are no signals; what is interrupted may leave its temporary file.
#[cfg(not(unix))]
pub fn clean_up_on_signals() {}

/// The signals that this process was started to ignore, signal 1 in the lowest bit. Only Linux says so
/// without unsafe code; elsewhere none is taken to be ignored.
#[cfg(unix)]
fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    ignored_in(&status)
}

/// The mask of ignored signals in the text of `/proc/PID/status`.
#[cfg(unix)]
fn ignored_in(status: &str) -> u64 {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn the_mask_is_read() {
        assert_eq!(ignored_in("Name:\tx\nSigBlk:\t00ff\nSigIgn:\t0000000000001003\n"), 0x1003);
        assert_eq!(ignored_in("Name:\tx\n"), 0);
        assert_eq!(ignored_in("SigIgn:\tmany\n"), 0);
    }
}
