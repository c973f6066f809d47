//! The array in a file, its axes permuted into another file.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use turntile::Transpose;
use turntile::error::RunError;
use turntile::stored::{OutOfCore, ReadAt, StoredError, WriteAt};

use crate::errors::exception;
use crate::host;

/// How often signals are looked for.
const SIGNALS: Duration = Duration::from_millis(50);

/// What lies in a file from a byte on; nothing more is written once it is to stop.
struct Part<'a> {
    file: File,
    start: u64,
    stop: &'a AtomicBool,
}

impl ReadAt for Part<'_> {
    fn read_exact_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        ReadAt::read_exact_at(&self.file, bytes, self.start + offset)
    }
}

impl WriteAt for Part<'_> {
    fn write_all_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(io::Error::other("interrupted"));
        }
        WriteAt::write_all_at(&mut self.file, bytes, self.start + offset)
    }
}

/// Permutes the axes of the data that begin at a byte of one file, into another from a byte on, in `memory` bytes. A small
/// memory needs the file `scratch`.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "each is one of Python's")]
pub fn permute_file(
    py: Python<'_>,
    source: (PathBuf, u64),
    dest: (PathBuf, u64),
    scratch: PathBuf,
    extents: Vec<usize>,
    places: Vec<usize>,
    itemsize: usize,
    memory: usize,
    threads: Option<usize>,
) -> PyResult<()> {
    let threads = host::threads(threads);
    let what = Transpose::permute::<u8>(&extents, &places).itemsize(itemsize).threads(threads);
    let stored = what.stored(memory).map_err(exception)?;
    let stop = AtomicBool::new(false);
    let mut write = File::options();
    let write = write.read(true).write(true);
    let source = Part { file: File::open(source.0)?, start: source.1, stop: &stop };
    let dest = Part { file: write.open(dest.0)?, start: dest.1, stop: &stop };
    let scratch = Part { file: write.open(scratch)?, start: 0, stop: &stop };
    let parts = (source, dest, scratch);
    // Signals come to the thread that Python calls from alone, so another one works.
    py.detach(|| {
        thread::scope(|scope| {
            let (done, is_done) = mpsc::channel::<()>();
            let work = move || {
                let result = run(&stored, parts);
                drop(done);
                result
            };
            let worker = thread::Builder::new().spawn_scoped(scope, work)?;
            let mut signal = Ok(());
            while signal.is_ok()
                && is_done.recv_timeout(SIGNALS) == Err(mpsc::RecvTimeoutError::Timeout)
            {
                signal = Python::attach(|py| py.check_signals());
            }
            stop.store(signal.is_err(), Ordering::Relaxed);
            let result = worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            signal.and(result.map_err(as_python))
        })
    })
}

fn run(
    stored: &OutOfCore,
    (source, mut dest, mut scratch): (Part<'_>, Part<'_>, Part<'_>),
) -> Result<(), StoredError> {
    let bytes = stored.buffer_bytes();
    let mut buffer = Vec::new();
    let no_memory = |_| turntile::Error::from(RunError::OutOfMemory { bytes });
    buffer.try_reserve_exact(bytes).map_err(no_memory)?;
    buffer.resize(bytes, 0);
    stored.run_in(&mut buffer, &source, &mut dest, Some(&mut scratch), |_| ())
}

fn as_python(error: StoredError) -> PyErr {
    let text = error.to_string();
    match error {
        StoredError::Engine(error) => exception(error),
        StoredError::Read(why) | StoredError::Write(why) => match why.raw_os_error() {
            Some(code) => PyOSError::new_err((code, text)),
            None => PyOSError::new_err(text),
        },
        _ => PyOSError::new_err(text),
    }
}
