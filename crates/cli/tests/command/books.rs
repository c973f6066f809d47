//! What the directory of an archive says of its members stays; archives that can be read in two ways are refused.

use std::fs;

use crate::{directory, noise, npy, transposed};

/// A member, and all that an archive says of it.
#[derive(Clone)]
struct Member {
    name: &'static str,
    method: u16,
    flags: u16,
    data: Vec<u8>,
    crc: u32,
    bytes: u64,
    /// Whether its header has the sizes of large files, as numpy.savez writes it, and the directory.
    is_large: [bool; 2],
    extra: [&'static [u8]; 2],
    comment: &'static str,
    /// What lies behind it.
    gap: &'static [u8],
}

const MADE_BY: u16 = 0x031e;
const TIMES: [u16; 2] = [0x6a31, 0x5b7c];
const INTERNAL: u16 = 0;
const EXTRA: &[u8] = b"\x55\x54\x05\x00\x01abcd\xfe\xca\x03\x00cen";
const EXTERNAL: u32 = 0o100640 << 16 | 0x20;

/// The check sum, bit after bit.
fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            crc >> 1 ^ 0xedb8_8320 & (crc & 1).wrapping_neg()
        })
    })
}

fn stored(name: &'static str, data: Vec<u8>) -> Member {
    Member {
        name,
        method: 0,
        flags: 0,
        crc: crc(&data),
        bytes: data.len() as u64,
        data,
        is_large: [false; 2],
        extra: [b"\xfe\xca\x03\x00loc", EXTRA],
        comment: "about it",
        gap: b"",
    }
}

/// An archive of them, with a comment.
fn archive(members: &[Member]) -> Vec<u8> {
    let (mut all, mut directory) = (b"".to_vec(), Vec::new());
    for member in members {
        let Member { method, flags, crc, bytes, is_large, .. } = *member;
        let (offset, packed) = (all.len() as u32, member.data.len() as u64);
        let follows = flags & 8 != 0;
        let numbers = |to: &mut Vec<u8>, is_large: bool, follows: bool| {
            to.extend((if is_large { 45_u16 } else { 20 }).to_le_bytes());
            to.extend([flags, method, TIMES[0], TIMES[1]].map(u16::to_le_bytes).concat());
            let sums = if follows { [0; 3] } else { [crc, packed as u32, bytes as u32] };
            let sums = if is_large { [sums[0], u32::MAX, u32::MAX] } else { sums };
            to.extend(sums.map(u32::to_le_bytes).concat());
            to.extend((member.name.len() as u16).to_le_bytes());
        };
        let extra = |k: usize| {
            let sizes = [bytes, packed].map(u64::to_le_bytes).concat();
            let large = [&b"\x01\x00\x10\x00"[..], &sizes].concat();
            [if is_large[k] { &large[..] } else { b"" }, member.extra[k]].concat()
        };
        all.extend(b"PK\x03\x04");
        numbers(&mut all, is_large[0], follows);
        all.extend((extra(0).len() as u16).to_le_bytes());
        all.extend([member.name.as_bytes(), &extra(0), &member.data].concat());
        if follows {
            all.extend(b"PK\x07\x08");
            all.extend([crc, packed as u32, bytes as u32].map(u32::to_le_bytes).concat());
        }
        all.extend(member.gap);
        directory.extend(b"PK\x01\x02");
        directory.extend(MADE_BY.to_le_bytes());
        numbers(&mut directory, is_large[1], false);
        directory.extend((extra(1).len() as u16).to_le_bytes());
        directory.extend((member.comment.len() as u16).to_le_bytes());
        directory.extend([0, 0]);
        directory.extend(INTERNAL.to_le_bytes());
        directory.extend(EXTERNAL.to_le_bytes());
        directory.extend(offset.to_le_bytes());
        directory.extend([member.name.as_bytes(), &extra(1), member.comment.as_bytes()].concat());
    }
    let (start, bytes, count) = (all.len() as u32, directory.len() as u32, members.len() as u16);
    all.extend(directory);
    all.extend(b"PK\x05\x06\0\0\0\0");
    all.extend([count, count].map(u16::to_le_bytes).concat());
    all.extend([bytes, start].map(u32::to_le_bytes).concat());
    let comment = b"of them all";
    all.extend((comment.len() as u16).to_le_bytes());
    all.extend(comment);
    all
}

/// An array, and what it becomes.
fn pair() -> [Vec<u8>; 2] {
    let data = noise(300 * 500);
    let turned = transposed(&data, 300, 500, 1);
    [npy("'|u1'", false, "(300, 500)", &data), npy("'|u1'", false, "(500, 300)", &turned)]
}

/// The directory of an archive, without what depends on where members are and how they are written: of each its record, its
/// name, extra fields without sizes, and comment; and the packed bytes, but for those of `a.npy`.
fn records(archive: &[u8]) -> Vec<[Vec<u8>; 5]> {
    let number = |at: usize, bytes: usize| {
        archive[at..at + bytes].iter().rev().fold(0, |sum, &byte| sum << 8 | usize::from(byte))
    };
    let end = archive.windows(4).rposition(|bytes| bytes == b"PK\x05\x06").unwrap();
    let (mut at, mut all) = (number(end + 16, 4), Vec::new());
    for _ in 0..number(end + 10, 2) {
        let mut record = archive[at..at + 46].to_vec();
        let [name, extra, comment] = [28, 30, 32].map(|place| number(at + place, 2));
        let (offset, packed) = (number(at + 42, 4), number(at + 20, 4));
        let parts = &archive[at + 46..];
        let (name, parts) = parts.split_at(name);
        let (extra, parts) = parts.split_at(extra);
        let data = offset + 30 + number(offset + 26, 2) + number(offset + 28, 2);
        let is_changed = name == b"a.npy";
        let large = at + 46 + name.len() + 12;
        let packed = if packed == 0xffff_ffff { number(large, 8) } else { packed };
        let data = if is_changed { &[] } else { &archive[data..data + packed] };
        // The version that made it and is needed, where sums are, sizes of the new one, its place.
        record[4..8].fill(0);
        record[8] &= !8;
        record[20..28].fill(0);
        record[30..32].fill(0);
        record[42..].fill(0);
        if is_changed {
            record[16..20].fill(0);
        }
        let extra = extra.strip_prefix(b"\x01\x00\x10\x00").map_or(extra, |extra| &extra[16..]);
        all.push([record, name.into(), extra.into(), parts[..comment].into(), data.into()]);
        at += 46 + name.len() + number(at + 30, 2) + comment;
    }
    all.push([archive[end + 20..].into(), vec![], vec![], vec![], vec![]]);
    all
}

#[test]
fn what_is_said_of_members_stays() {
    let directory = directory();
    let [before, after] = pair();
    // An unknown method, and sums behind the data.
    let other =
        || Member { method: 14, flags: 8, crc: 77, bytes: 9, ..stored("b.bin", vec![7; 5]) };
    for (large, flags) in [([false; 2], 0), ([true, false], 0), ([true; 2], 0), ([false; 2], 8)] {
        for place in 0..3 {
            let array = Member { is_large: large, flags, ..stored("a.npy", before.clone()) };
            let last =
                Member { is_large: [true; 2], gap: b"a gap", ..stored("c.npy", vec![1; 30]) };
            let mut all = vec![other(), last];
            all.insert(place, array);
            let path = directory.at("x.npz");
            let old = archive(&all);
            fs::write(&path, &old).unwrap();
            directory.good("transpose x.npz --member a");
            let new = fs::read(&path).unwrap();
            assert_eq!(records(&new), records(&old), "{large:?} {flags} {place}");
            let mut zip = zip::ZipArchive::new(fs::File::open(&path).unwrap()).unwrap();
            let mut got = Vec::new();
            std::io::Read::read_to_end(&mut zip.by_name("a.npy").unwrap(), &mut got).unwrap();
            assert!(got == after, "{large:?} {flags} {place}");
        }
    }
}

#[test]
fn what_would_not_stay_is_refused() {
    let directory = directory();
    let [before, _] = pair();
    // Half a field.
    let extra = [&b""[..], &b"\xfe\xca\x09\x00cen"[..]];
    let (array, other) = (stored("a.npy", before), stored("b.npy", vec![1; 30]));
    for (members, words) in [
        ([array.clone(), Member { extra, ..other.clone() }], "x.npz: "),
        ([array.clone(), Member { name: "a.npy", ..other.clone() }], "same name"),
        // The array itself encrypted, or by a method that is neither *stored* nor *deflated*.
        (
            [Member { flags: 1, ..array.clone() }, other.clone()],
            "\"a\" is encrypted, or compressed",
        ),
        (
            [Member { method: 14, ..array.clone() }, other.clone()],
            "\"a\" is encrypted, or compressed",
        ),
    ] {
        directory.write("x.npz", archive(&members));
        directory.bad("transpose x.npz --member a", 1, &[words]);
    }
}

#[test]
fn headers_that_do_not_agree_are_refused() {
    let directory = directory();
    let [before, _] = pair();
    let whole = archive(&[stored("a.npy", before), stored("b.npy", vec![1; 30])]);
    let place = |name: &[u8]| whole.windows(5).position(|word| word == name).unwrap();
    // In the header of either member: bytes before its name.
    for at in [
        place(b"a.npy"),
        place(b"b.npy"),
        place(b"b.npy") - 30 + 8,
        place(b"a.npy") - 30 + 6,
        place(b"b.npy") - 30 + 14,
        place(b"b.npy") - 30 + 22,
        place(b"b.npy") - 30,
    ] {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        directory.write("x.npz", bytes);
        directory.bad("transpose x.npz --member a", 1, &["x.npz: invalid Zip archive"]);
    }
}

/// Wherever it is in the packed bytes, that of the array's own header included.
#[test]
fn a_flipped_bit_is_reported_as_damage() {
    use std::io::Write;
    use zip::write::SimpleFileOptions;
    let directory = directory();
    let path = directory.at("x.npz");
    let data: Vec<u8> = noise(300 * 500 * 8).iter().map(|byte| byte & 3).collect();
    let mut writer = zip::ZipWriter::new(fs::File::create(&path).unwrap());
    let deflated = zip::CompressionMethod::Deflated;
    writer.start_file("a.npy", SimpleFileOptions::default().compression_method(deflated)).unwrap();
    writer.write_all(&npy("'<f8'", false, "(300, 500)", &data)).unwrap();
    writer.finish().unwrap();
    let whole = fs::read(&path).unwrap();
    for at in [36, 40, 45, 60, 80, 110, 150, 1000, 5000, whole.len() / 2, whole.len() - 100] {
        let mut bytes = whole.clone();
        bytes[at] ^= 4;
        fs::write(&path, bytes).unwrap();
        for memory in ["", "--memory 1M"] {
            let line = format!("transpose x.npz {memory}");
            directory.bad(&line, 1, &["x.npz: \"a\" is damaged, its data are not what was packed"]);
        }
    }
}
