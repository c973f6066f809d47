//! A member's bytes on their way into an archive: counted, summed, and deflated or not.

use std::io::{self, Write};

use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};

/// The number of the method that deflates.
pub const DEFLATED: u16 = 8;

/// Packs what is written to it.
pub struct Pack<W: Write> {
    to: To<W>,
    crc: Crc,
    bytes: u64,
}

enum To<W: Write> {
    Stored(W),
    Deflated(DeflateEncoder<W>),
}

impl<W: Write> Pack<W> {
    /// In this way, one of the two that there are.
    pub fn new(to: W, method: u16) -> Self {
        let to = match method {
            DEFLATED => To::Deflated(DeflateEncoder::new(to, Compression::default())),
            _ => To::Stored(to),
        };
        Pack { to, crc: Crc::new(), bytes: 0 }
    }

    /// The check sum, and how many bytes were written.
    pub fn finish(self) -> io::Result<(u32, u64)> {
        if let To::Deflated(encoder) = self.to {
            encoder.finish()?;
        }
        Ok((self.crc.sum(), self.bytes))
    }
}

impl<W: Write> Write for Pack<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = match &mut self.to {
            To::Stored(to) => to.write(bytes)?,
            To::Deflated(to) => to.write(bytes)?,
        };
        self.crc.update(&bytes[..written]);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
