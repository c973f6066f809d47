//! The device code as it is embedded: an archive of PTX, and one of machine code for each architecture.
//!
//! Of an archive only what a device needs is unpacked, once a process. `scripts/build-kernels` packs, and documents the form.

use std::io::{self, Read};
use std::ptr;
use std::sync::OnceLock;

use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// The empty block that ends a frame, which archives leave out.
const END: &[u8] = &[1, 0, 0];

pub(crate) struct Archive {
    packed: &'static [u8],
    families: OnceLock<Vec<Packed>>,
}

/// The codes of a family: each but the first continues the frame that the first begins.
struct Packed {
    family: &'static str,
    codes: Vec<Code>,
}

/// Code for words of so many bytes.
struct Code {
    word: usize,
    bytes: usize,
    packed: &'static [u8],
    /// In elements of 16 bytes, since the driver may read code by words.
    unpacked: OnceLock<Option<Vec<u128>>>,
}

macro_rules! archive {
    ($name:literal) => {
        Archive { packed: include_bytes!(concat!("../code/", $name)), families: OnceLock::new() }
    };
}

/// Each code ends in a zero.
pub(crate) static PTX: Archive = archive!("ptx");

/// By architecture. Each runs on those of the same major number that follow.
#[cfg(all(feature = "cuda", target_os = "linux"))]
static MACHINE: [(usize, Archive); 5] = [
    (80, archive!("sm_80")),
    (86, archive!("sm_86")),
    (90, archive!("sm_90")),
    (100, archive!("sm_100")),
    (120, archive!("sm_120")),
];

/// The newest machine code that runs on an architecture: of the same major number, and not newer. Orin (8.7) is integrated: there,
/// NVIDIA does not promise that code for another minor number runs.
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

    /// Returns the words that a family was compiled for. If they are not all words, the first one's code takes other words as an
    /// argument.
    pub fn words(&self, family: &str) -> impl Iterator<Item = usize> {
        self.codes(family).into_iter().flatten().map(|code| code.word)
    }

    fn codes(&self, family: &str) -> Option<&[Code]> {
        let families = self.families.get_or_init(|| families(self.packed).unwrap_or_default());
        Some(&families.iter().find(|packed| packed.family == family)?.codes)
    }
}

/// What the lines of text at an archive's start list.
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

    /// Machine code is for the architecture of its archive, in ELF's form within the fat binary. 9.0 has all of it, the others what
    /// drivers take long to compile, as `scripts/build-kernels` has it.
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
