//! Storage: files and memory that can be read and written at any offset.

use std::fs::File;
use std::io::{self, ErrorKind};

/// Storage that can be read at any offset, by several threads at once.
pub trait ReadAt: Sync {
    /// Fills `bytes` with the storage's bytes from byte offset `offset` on. Up to 16 threads call
    /// it at once, some with stacks of 512 KiB.
    ///
    /// # Errors
    /// Errors of the system, and [`ErrorKind::UnexpectedEof`] if the storage is too short.
    fn read_exact_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()>;

    /// Announces that `bytes` bytes from byte offset `offset` on will be read soon. Returns `true`
    /// if the storage prefetches them in the background. The default returns `false`.
    fn fetch(&self, offset: u64, bytes: usize) -> bool {
        let _ = (offset, bytes);
        false
    }
}

/// Storage that can be written at any offset.
pub trait WriteAt {
    /// Writes all of `bytes` to the storage, from byte offset `offset` on.
    ///
    /// # Errors
    /// Errors of the system, and [`ErrorKind::WriteZero`] if the storage is too short.
    fn write_all_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()>;
}

impl ReadAt for File {
    fn read_exact_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        #[cfg(unix)]
        return std::os::unix::fs::FileExt::read_exact_at(self, bytes, offset);
        #[cfg(windows)]
        return in_parts(bytes.len(), |from| {
            std::os::windows::fs::FileExt::seek_read(self, &mut bytes[from..], offset + from as u64)
        })
        .map_err(|short| short.unwrap_or_else(|| ErrorKind::UnexpectedEof.into()));
        #[cfg(not(any(unix, windows)))]
        return Err((bytes, offset, ErrorKind::Unsupported).2.into());
    }
}

impl WriteAt for File {
    fn write_all_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        (&*self).write_all_at(bytes, offset)
    }
}

impl WriteAt for &File {
    fn write_all_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        #[cfg(unix)]
        return std::os::unix::fs::FileExt::write_all_at(*self, bytes, offset);
        #[cfg(windows)]
        return in_parts(bytes.len(), |from| {
            std::os::windows::fs::FileExt::seek_write(*self, &bytes[from..], offset + from as u64)
        })
        .map_err(|short| short.unwrap_or_else(|| ErrorKind::WriteZero.into()));
        #[cfg(not(any(unix, windows)))]
        return Err((bytes, offset, ErrorKind::Unsupported).2.into());
    }
}

/// Calls `part` with the number of bytes read or written so far, until it reaches `all`. `part`
/// returns the number of bytes that it adds. Returns `Err(None)` if that is 0.
#[cfg(windows)]
fn in_parts(
    all: usize,
    mut part: impl FnMut(usize) -> io::Result<usize>,
) -> Result<(), Option<io::Error>> {
    let mut done = 0;
    while done < all {
        match part(done) {
            Ok(0) => return Err(None),
            Ok(more) => done += more,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(Some(error)),
        }
    }
    Ok(())
}

fn range(offset: u64, bytes: usize, all: usize) -> Option<std::ops::Range<usize>> {
    let from = usize::try_from(offset).ok()?;
    let to = from.checked_add(bytes)?;
    (to <= all).then_some(from..to)
}

impl ReadAt for [u8] {
    fn read_exact_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        let range = range(offset, bytes.len(), self.len()).ok_or(ErrorKind::UnexpectedEof)?;
        bytes.copy_from_slice(&self[range]);
        Ok(())
    }
}

impl WriteAt for [u8] {
    fn write_all_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let range = range(offset, bytes.len(), self.len()).ok_or(ErrorKind::WriteZero)?;
        self[range].copy_from_slice(bytes);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn access_fails_when_range_exceeds_memory() {
        let mut memory = [1u8, 2, 3, 4];
        let mut read = [0; 2];
        memory[..].read_exact_at(&mut read, 2).unwrap();
        assert_eq!(read, [3, 4]);
        for offset in [3, 4, u64::MAX - 1, u64::MAX] {
            let error = memory[..].read_exact_at(&mut read, offset).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::UnexpectedEof, "{offset}");
            let error = memory[..].write_all_at(&[7; 2], offset).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::WriteZero, "{offset}");
        }
        assert_eq!(memory, [1, 2, 3, 4]);
    }
}
