//! The device code as it is embedded: an archive of PTX, and one of machine code for each architecture.
//!
//! Of an archive only what a device needs is unpacked, a family at a time, once a process. `scripts/build-kernels` packs, and
//! documents the form.

use std::sync::OnceLock;

use ruzstd::decoding::FrameDecoder;

/// Bytes at a multiple of which a piece of code starts: the driver may read it by words.
const ALIGNMENT: usize = size_of::<u128>();

/// Code of all families, each a compressed frame.
pub(crate) struct Archive {
    packed: &'static [u8],
    frames: OnceLock<Vec<Frame>>,
}

/// Code of a family: of each word its bytes, one after the other.
struct Frame {
    family: &'static str,
    packed: &'static [u8],
    /// Bytes of a word, bytes of its code.
    pieces: Vec<(usize, usize)>,
    code: OnceLock<Option<Vec<u128>>>,
}

macro_rules! archive {
    ($name:literal) => {
        Archive { packed: include_bytes!(concat!("../code/", $name)), frames: OnceLock::new() }
    };
}

/// Each piece ends in a zero.
pub(crate) static PTX: Archive = archive!("ptx");

/// By architecture. Each runs on those of the same major number that follow.
#[cfg(backend)]
static MACHINE: [(usize, Archive); 5] = [
    (80, archive!("sm_80")),
    (86, archive!("sm_86")),
    (90, archive!("sm_90")),
    (100, archive!("sm_100")),
    (120, archive!("sm_120")),
];

/// The newest machine code that runs on an architecture.
#[cfg(backend)]
pub(crate) fn machine(architecture: usize) -> Option<&'static Archive> {
    let runs = |&&(from, _): &&(usize, _)| from <= architecture && from / 10 == architecture / 10;
    MACHINE.iter().rev().find(runs).map(|(_, archive)| archive)
}

impl Archive {
    /// A family's code for words of that many bytes, if there is any. One that is compiled once has the same for all.
    pub fn code(&self, family: &str, word: usize) -> Option<&[u8]> {
        let frames = self.frames.get_or_init(|| frames(self.packed).unwrap_or_default());
        frames.iter().find(|frame| frame.family == family)?.code(word)
    }
}

/// What the lines of text at an archive's start list.
fn frames(archive: &'static [u8]) -> Option<Vec<Frame>> {
    let end = archive.windows(2).position(|two| two == b"\n\n")?;
    let (index, mut rest) = (str::from_utf8(&archive[..end]).ok()?, &archive[end + 2..]);
    let frame = |line: &'static str| {
        let mut columns = line.split(' ');
        let (family, bytes) = (columns.next()?, columns.next()?);
        let (packed, after) = rest.split_at_checked(bytes.parse().ok()?)?;
        rest = after;
        let pieces = columns.map(piece).collect::<Option<_>>()?;
        Some(Frame { family, packed, pieces, code: OnceLock::new() })
    };
    index.lines().skip(1).map(frame).collect()
}

impl Frame {
    fn code(&self, word: usize) -> Option<&[u8]> {
        let code = self.code.get_or_init(|| self.unpack()).as_ref()?;
        let mut at = 0;
        for &(of, bytes) in &self.pieces {
            if of == word || self.pieces.len() == 1 {
                return bytemuck::cast_slice(code).get(at..at + bytes);
            }
            at += bytes.next_multiple_of(ALIGNMENT);
        }
        None
    }

    fn unpack(&self) -> Option<Vec<u128>> {
        let aligned = self.pieces.iter().map(|(_, bytes)| bytes.next_multiple_of(ALIGNMENT));
        let bytes: usize = aligned.sum();
        let mut code = vec![0; bytes / ALIGNMENT];
        let whole = bytemuck::cast_slice_mut(&mut code);
        (FrameDecoder::new().decode_all(self.packed, whole).ok()? == bytes).then_some(code)
    }
}

/// `WORD:BYTES`.
fn piece(column: &str) -> Option<(usize, usize)> {
    let (word, bytes) = column.split_once(':')?;
    Some((word.parse().ok()?, bytes.parse().ok()?))
}

#[cfg(test)]
mod tests {
    #[cfg(backend)]
    use std::ptr;

    use super::*;
    use crate::family::Family;

    const WORDS: [usize; 5] = [1, 2, 4, 8, 16];

    #[test]
    fn all_ptx_is_there() {
        for family in Family::ALL {
            for word in WORDS {
                let text = PTX.code(family.name(), word).unwrap();
                assert!(text.starts_with(b".version ") && text.ends_with(b"\0"), "{family:?}");
            }
        }
        assert_eq!(PTX.code(Family::Tiles.name(), 3), None);
    }

    #[test]
    fn what_is_damaged_or_absent_is_no_code() {
        let whole: &'static [u8] = PTX.packed;
        let index = whole.windows(2).position(|two| two == b"\n\n").unwrap() + 2;
        for packed in [&whole[..0], &whole[..index], &whole[index..], b"one\nbarrier x\n\n"] {
            let archive = Archive { packed, frames: OnceLock::new() };
            assert_eq!(archive.code(Family::Barrier.name(), 4), None);
        }
    }

    /// Machine code is for the architecture of its archive, in ELF's form within the fat binary.
    #[test]
    #[cfg(backend)]
    fn all_machine_code_is_there() {
        for (architecture, archive) in &MACHINE {
            let title = format!("turntile device code: sm_{architecture}\n");
            assert!(archive.packed.starts_with(title.as_bytes()));
            for family in Family::ALL {
                let oldest = family.architecture();
                for word in WORDS {
                    let code = archive.code(family.name(), word);
                    assert_eq!(code.is_some(), *architecture >= oldest, "{family:?}, {title}");
                    let Some(code) = code else { continue };
                    assert!(
                        code.windows(4).any(|bytes| bytes == b"\x7fELF"),
                        "{family:?}, {title}"
                    );
                    assert_eq!(code.as_ptr().addr() % ALIGNMENT, 0);
                }
            }
        }
    }

    #[test]
    #[cfg(backend)]
    fn a_device_gets_the_newest_code_that_runs_on_it() {
        let archive_of = |device| {
            let of = |index: &&(usize, Archive)| ptr::eq(&index.1, machine(device).unwrap());
            MACHINE.iter().find(of).unwrap().0
        };
        let devices = [80, 86, 87, 89, 90, 100, 103, 120, 121];
        assert_eq!(devices.map(archive_of), [80, 86, 86, 86, 90, 100, 100, 120, 120]);
        for device in [75, 110, 130] {
            assert!(machine(device).is_none(), "{device}");
        }
    }
}
