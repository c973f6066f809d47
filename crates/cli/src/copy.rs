//! Bytes from where they are read to where they are written.

use std::io::{self, BufRead, ErrorKind, Write};

use crate::progress::Progress;

/// Bytes written between two movements of the progress bar.
const CHUNK: usize = 8 << 20;

/// An error of what is written, and not of what is read.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
struct Unwritten(io::Error);

/// Whether [`copy`] could not write.
pub fn is_unwritten(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|error| error.is::<Unwritten>())
}

/// Copies so many bytes, and shows how many.
pub fn copy(
    from: &mut dyn BufRead,
    to: &mut dyn Write,
    bytes: usize,
    progress: &Progress,
) -> io::Result<()> {
    let mut copied = 0;
    while copied < bytes {
        let part = from.fill_buf()?;
        let part = &part[..part.len().min(CHUNK).min(bytes - copied)];
        if part.is_empty() {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        to.write_all(part).map_err(|error| io::Error::new(error.kind(), Unwritten(error)))?;
        copied += part.len();
        let count = part.len();
        from.consume(count);
        progress.set(copied);
    }
    Ok(())
}
