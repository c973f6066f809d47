//! Embedded device code: an archive of PTX, and an archive of machine code per architecture.
//!
//! A process unpacks only the code that it needs, once. `scripts/build-kernels` creates the archives and documents their format.

use std::io::{self, Read};
use std::ptr;
use std::sync::OnceLock;

use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// Empty last block of a compressed frame, omitted from the archives.
const END: &[u8] = &[1, 0, 0];

pub(crate) struct Archive {
    packed: &'static [u8],
    families: OnceLock<Vec<Packed>>,
}

/// Codes of a family. Each code except the first continues the compressed frame that starts with the first.
struct Packed {
    family: &'static str,
    codes: Vec<Code>,
}

/// Code for words of `word` bytes.
struct Code {
    word: usize,
    bytes: usize,
    packed: &'static [u8],
    /// Unpacked code in 16-byte elements, because the driver may read it in words.
    unpacked: OnceLock<Option<Vec<u128>>>,
}

macro_rules! archive {
    ($name:literal) => {
        Archive { packed: include_bytes!(concat!("../code/", $name)), families: OnceLock::new() }
    };
}

/// PTX. Each code ends with a NUL.
pub(crate) static PTX: Archive = archive!("ptx");

/// Machine code by architecture. Each also runs on newer architectures with the same major number.
#[cfg(all(feature = "cuda", target_os = "linux"))]
static MACHINE: [(usize, Archive); 5] = [
    (80, archive!("sm_80")),
    (86, archive!("sm_86")),
    (90, archive!("sm_90")),
    (100, archive!("sm_100")),
    (120, archive!("sm_120")),
];

/// Returns the newest machine code that runs on an architecture: the same major number and not newer. Orin (8.7) is an integrated
/// GPU, for which NVIDIA does not guarantee that code for another minor number runs.
#[cfg(all(feature = "cuda", target_os = "linux"))]
pub(crate) fn machine(architecture: usize) -> Option<&'static Archive> {
    let runs = |&&(from, _): &&(usize, _)| {
        from <= architecture && from / 10 == architecture / 10 && architecture != 87
    };
    MACHINE.iter().rev().find(runs).map(|(_, archive)| archive)
}

impl Archive {
    /// Returns a family's code that was compiled for words of `word` bytes.
    pub fn code(&self, family: &str, word: usize) -> Option<&[u8]> {
        let codes = self.codes(family)?;
        let (first, code) = (codes.first()?, codes.iter().find(|code| code.word == word)?);
        let unpacked = code.unpacked.get_or_init(|| code.unpack(first).ok()).as_ref()?;
        bytemuck::cast_slice(unpacked).get(..code.bytes)
    }

    /// Returns the word sizes that a family was compiled for. If some sizes are missing, the first code takes the word size as an
    /// argument and supports them.
    pub fn words(&self, family: &str) -> impl Iterator<Item = usize> {
        self.codes(family).into_iter().flatten().map(|code| code.word)
    }

    fn codes(&self, family: &str) -> Option<&[Code]> {
        let families = self.families.get_or_init(|| families(self.packed).unwrap_or_default());
        Some(&families.iter().find(|packed| packed.family == family)?.codes)
    }
}

/// Parses the index, the lines of text at the start of an archive.
fn families(archive: &'static [u8]) -> Option<Vec<Packed>> {
    let end = archive.windows(2).position(|two| two == b"\n\n")?;
    let (index, mut rest) = (str::from_utf8(&archive[..end]).ok()?, &archive[end + 2..]);
    let mut code = |column: &str| {
        let mut numbers = column.split(':').map(|number| number.parse().ok());
        let (word, bytes) = (numbers.next()??, numbers.next()??);
        let (packed, after) = rest.split_at_checked(numbers.next()??)?;
        rest = after;
        Some(Code { word, bytes, packed, unpacked: OnceLock::new() })
    };
    let family = |line: &'static str| {
        let (family, codes) = line.split_once(' ')?;
        Some(Packed { family, codes: codes.split(' ').map(&mut code).collect::<Option<_>>()? })
    };
    index.lines().skip(1).map(family).collect()
}

impl Code {
    fn unpack(&self, first: &Code) -> io::Result<Vec<u128>> {
        let (before, own) =
            if ptr::eq(self, first) { (0, &[][..]) } else { (first.bytes, self.packed) };
        let mut frame = first.packed.chain(own).chain(END);
        let mut decoder = FrameDecoder::new();
        decoder.init(&mut frame).map_err(io::Error::other)?;
        let all = BlockDecodingStrategy::All;
        decoder.decode_blocks(&mut frame, all).map_err(io::Error::other)?;
        io::copy(&mut decoder.by_ref().take(before as u64), &mut io::sink())?;
        let mut code = vec![0; self.bytes.div_ceil(size_of::<u128>())];
        decoder.read_exact(&mut bytemuck::cast_slice_mut(&mut code)[..self.bytes])?;
        Ok(code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::Family;

    const WORDS: [usize; 5] = [1, 2, 4, 8, 16];

    #[test]
    fn all_ptx_is_there() {
        for family in Family::ALL {
            for word in WORDS {
                let text = family.ptx(word);
                assert!(text.starts_with(".version ") && text.ends_with('\0'), "{family:?}");
            }
        }
        assert_eq!(PTX.code(Family::Tiles.name(), 3), None);
    }

    #[test]
    fn compiled_word_is_equal_when_the_code_is_equal() {
        let words = |family: Family| WORDS.map(|word| family.compiled_word(word));
        assert_eq!(words(Family::Tiles), WORDS);
        assert_eq!(words(Family::Moves), [4, 4, 4, 4, 16]);
        assert_eq!(words(Family::Pad), [4; 5]);
    }

    #[test]
    fn what_is_damaged_or_absent_is_no_code() {
        let whole: &'static [u8] = PTX.packed;
        let index = whole.windows(2).position(|two| two == b"\n\n").unwrap() + 2;
        let cut = b"one\nbarrier 4:9:5\n\n\x28\xb5\x2f\xfd\0";
        for packed in [&whole[..0], &whole[..index], &whole[index..], b"one\nbarrier x\n\n", cut] {
            let archive = Archive { packed, families: OnceLock::new() };
            assert_eq!(archive.code(Family::Barrier.name(), 4), None);
        }
    }

    /// Checks that each archive's machine code is for its architecture, as ELF within a fat binary. Only 9.0 has code for all
    /// families. The others have code that drivers take long to compile, as selected by `scripts/build-kernels`.
    #[test]
    #[cfg(all(feature = "cuda", target_os = "linux"))]
    fn all_machine_code_is_there() {
        for (architecture, archive) in &MACHINE {
            let title = format!("turntile device code: sm_{architecture}\n");
            assert!(archive.packed.starts_with(title.as_bytes()));
            for (family, word) in Family::ALL.into_iter().flat_map(|f| WORDS.map(|w| (f, w))) {
                let Some(code) = archive.code(family.name(), family.compiled_word(word)) else {
                    assert_ne!(*architecture, 90, "{family:?}");
                    assert_ne!(family, Family::SlotGather, "{title}");
                    continue;
                };
                assert!(*architecture >= family.architecture(), "{family:?}");
                assert!(code.windows(4).any(|bytes| bytes == b"\x7fELF"), "{family:?}, {title}");
                assert_eq!(code.as_ptr().addr() % size_of::<u128>(), 0);
            }
        }
    }

    #[test]
    #[cfg(all(feature = "cuda", target_os = "linux"))]
    fn a_device_gets_the_newest_code_that_runs_on_it() {
        let archive_of = |device| {
            let of = |index: &&(usize, Archive)| ptr::eq(&index.1, machine(device).unwrap());
            MACHINE.iter().find(of).unwrap().0
        };
        let devices = [80, 86, 89, 90, 100, 103, 120, 121];
        assert_eq!(devices.map(archive_of), [80, 86, 86, 90, 100, 100, 120, 120]);
        for device in [75, 87, 110, 130] {
            assert!(machine(device).is_none(), "{device}");
        }
    }
}
