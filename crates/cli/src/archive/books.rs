//! An archive's books: the directory, and before each member a header that says the same. What is read is kept byte by byte,
//! so that a new archive has all that the old one had.

use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};

use zip::result::ZipError;

use super::records::{
    END, ENTRY, LARGE_END, LOCAL, LOCATOR, Wide, get2, get4, get8, is_marked, large, put2, put4,
    put8, signed, without_large,
};
use crate::error::ArchiveError;

/// What is said of a member's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sums {
    /// The check sum of all bytes.
    pub crc: u32,
    /// Bytes as they are packed.
    pub packed: u64,
    /// Bytes.
    pub bytes: u64,
}

/// A member.
#[derive(Clone, Debug)]
pub struct Entry {
    head: [u8; ENTRY],
    /// Its name as it is written.
    pub name: Vec<u8>,
    /// All of it but sizes of large files.
    extra: Vec<u8>,
    comment: Vec<u8>,
    wide: Wide,
    /// What the directory says of its bytes.
    pub sums: Sums,
    /// Where its header begins.
    pub offset: u64,
    /// What is before its data.
    pub local: Local,
}

/// The header before a member's data.
#[derive(Clone, Debug, Default)]
pub struct Local {
    head: Vec<u8>,
    extra: Vec<u8>,
    is_large: bool,
    /// Bytes of all of it.
    bytes: u64,
}

/// All members, and what ends the archive.
#[derive(Clone, Debug)]
pub struct Books {
    /// As the directory has them.
    pub entries: Vec<Entry>,
    /// Where the directory begins.
    pub start: u64,
    large_end: Option<Vec<u8>>,
    end: Vec<u8>,
}

fn read_at(file: &mut File, offset: u64, bytes: usize) -> Result<Vec<u8>, ArchiveError> {
    let mut read = vec![0; bytes];
    let all = file.seek(SeekFrom::Start(offset)).and_then(|_| file.read_exact(&mut read));
    match all {
        Ok(()) => Ok(read),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => wrong("it ends within a record"),
        Err(error) => Err(ZipError::Io(error).into()),
    }
}

/// Most bytes of other fields, that those of large members have room beside them.
const MOST_EXTRA: usize = u16::MAX as usize - 32;

/// All fields but those of large members.
fn others(extra: &[u8]) -> Result<Vec<u8>, ArchiveError> {
    let others = without_large(extra);
    if others.len() > MOST_EXTRA {
        return wrong("extra fields leave no room for sizes");
    }
    Ok(others)
}

fn wrong<T>(what: &'static str) -> Result<T, ArchiveError> {
    Err(ArchiveError::Books { what })
}

impl Books {
    /// Reads the books of an archive of `whole` bytes, the last of which are a comment of so many, and compares each header
    /// with the directory.
    pub fn read(file: &mut File, whole: u64, comment: usize) -> Result<Self, ArchiveError> {
        let Some(at) = whole.checked_sub((END + comment) as u64) else { return wrong("no end") };
        let end = read_at(file, at, END + comment)?;
        let (mut all, mut bytes) = (u64::from(get2(&end, 10)), u64::from(get4(&end, 12)));
        let (mut start, mut ends) = (u64::from(get4(&end, 16)), at);
        let mut large_end = None;
        if let Some(before) = at.checked_sub(LOCATOR as u64) {
            let locator = read_at(file, before, LOCATOR)?;
            if signed(&locator, b"PK\x06\x07") {
                let from = get8(&locator, 8);
                let long = before.checked_sub(from).filter(|&long| long >= LARGE_END as u64);
                let Some(long) = long else {
                    return wrong("the end of a large archive is missing");
                };
                let record = read_at(file, from, long as usize)?;
                if !signed(&record, b"PK\x06\x06") || get8(&record, 4).checked_add(12) != Some(long)
                {
                    return wrong("the end of a large archive is missing");
                }
                (all, bytes, start) = (get8(&record, 32), get8(&record, 40), get8(&record, 48));
                (large_end, ends) = (Some(record), from);
            }
        }
        let disks = large_end.as_ref().is_some_and(|record| get8(record, 16) != 0);
        if get4(&end, 4) != 0 || disks {
            return wrong("it is one of several parts");
        }
        if start.checked_add(bytes) != Some(ends) {
            return wrong("the directory is not where it is said to be");
        }
        let directory = read_at(file, start, bytes as usize)?;
        let mut entries = Vec::new();
        let mut rest = &directory[..];
        while !rest.is_empty() {
            let (entry, more) = Entry::read(rest)?;
            entries.push(entry);
            rest = more;
        }
        if entries.len() as u64 != all {
            return wrong("the directory has not as many members as is said");
        }
        for entry in &mut entries {
            entry.local = Local::read(file, entry)?;
        }
        let books = Books { entries, start, large_end, end };
        books.are_apart()?;
        Ok(books)
    }

    /// Numbers of the members in the order in which they lie.
    pub fn in_order(&self) -> Vec<usize> {
        let mut numbers: Vec<usize> = (0..self.entries.len()).collect();
        numbers.sort_by_key(|&number| self.entries[number].offset);
        numbers
    }

    fn are_apart(&self) -> Result<(), ArchiveError> {
        let mut ends = 0;
        for number in self.in_order() {
            let entry = &self.entries[number];
            if entry.offset < ends {
                return wrong("members overlap");
            }
            match entry.data_end().filter(|&end| end <= self.start) {
                Some(end) => ends = end,
                None => return wrong("a member overlaps the directory"),
            }
        }
        Ok(())
    }

    /// The directory, and what ends the archive, where it begins at `start`.
    pub fn directory(&self, start: u64) -> Vec<u8> {
        let mut all = Vec::new();
        self.entries.iter().for_each(|entry| all.extend(entry.directory()));
        let bytes = all.len() as u64;
        let mut end = self.end.clone();
        let many = self.entries.len() as u64;
        let is_large = self.large_end.is_some()
            || start.max(bytes) >= u64::from(u32::MAX)
            || many >= u64::from(u16::MAX);
        if is_large {
            let at = start + bytes;
            let mut record = self.large_end.clone().unwrap_or_else(|| {
                let mut record = vec![0; LARGE_END];
                record[..4].copy_from_slice(b"PK\x06\x06");
                put8(&mut record, 4, LARGE_END as u64 - 12);
                // Made, and to be read, by what knows large archives.
                put2(&mut record, 12, 45);
                put2(&mut record, 14, 45);
                record
            });
            [(24, many), (32, many), (40, bytes), (48, start)]
                .into_iter()
                .for_each(|(place, value)| put8(&mut record, place, value));
            all.extend(record);
            let mut locator = vec![0; LOCATOR];
            locator[..4].copy_from_slice(b"PK\x06\x07");
            put8(&mut locator, 8, at);
            put4(&mut locator, 16, 1);
            all.extend(locator);
        }
        // Where it was not written as a mark of a large archive, and need not be.
        for (place, value) in [(12, bytes), (16, start)] {
            let marked = is_marked(&end, place) || value >= u64::from(u32::MAX);
            put4(&mut end, place, if marked { u32::MAX } else { value as u32 });
        }
        all.extend(end);
        all
    }
}

impl Entry {
    fn read(from: &[u8]) -> Result<(Self, &[u8]), ArchiveError> {
        let Some((head, rest)) = from.split_first_chunk::<ENTRY>() else {
            return wrong("the directory ends within a member");
        };
        let [name, extra, comment] = [28, 30, 32].map(|place| usize::from(get2(head, place)));
        if !signed(head, b"PK\x01\x02") || rest.len() < name + extra + comment {
            return wrong("the directory ends within a member");
        }
        let (name, rest) = rest.split_at(name);
        let (extra, rest) = rest.split_at(extra);
        let (comment, rest) = rest.split_at(comment);
        let wide = Wide {
            bytes: is_marked(head, 24),
            packed: is_marked(head, 20),
            offset: is_marked(head, 42),
            disk: get2(head, 34) == u16::MAX,
        };
        let mut large = large(extra).unwrap_or_default();
        let mut long = |is_wide: bool, place: usize| {
            if !is_wide {
                return Some(u64::from(get4(head, place)));
            }
            let (value, more) = large.split_first_chunk::<8>()?;
            large = more;
            Some(u64::from_le_bytes(*value))
        };
        let sizes = (long(wide.bytes, 24), long(wide.packed, 20), long(wide.offset, 42));
        let (Some(bytes), Some(packed), Some(offset)) = sizes else {
            return wrong("the size of a large member is missing");
        };
        let entry = Entry {
            head: *head,
            name: name.to_vec(),
            extra: others(extra)?,
            comment: comment.to_vec(),
            wide,
            sums: Sums { crc: get4(head, 16), packed, bytes },
            offset,
            local: Local::default(),
        };
        Ok((entry, rest))
    }

    /// How it is packed.
    pub fn method(&self) -> u16 {
        get2(&self.head, 10)
    }

    /// Whether its sums follow its data.
    pub fn has_descriptor(&self) -> bool {
        get2(&self.head, 8) & 8 != 0
    }

    /// Where its data begin.
    pub fn data_start(&self) -> u64 {
        self.offset.saturating_add(self.local.bytes)
    }

    /// Where they end.
    pub fn data_end(&self) -> Option<u64> {
        self.data_start().checked_add(self.sums.packed)
    }

    /// The same member with other bytes, which begin at `offset` and may be as many as `most`; its sums are before its data.
    pub fn anew(&self, offset: u64, sums: Sums, most: u64) -> Self {
        let mut entry = Entry { offset, sums, ..self.clone() };
        let Wide { bytes, packed, .. } = self.wide;
        entry.wide.bytes = bytes || sums.bytes >= u64::from(u32::MAX);
        entry.wide.packed = packed || sums.packed >= u64::from(u32::MAX);
        entry.local.is_large |= most >= u64::from(u32::MAX);
        let flags = get2(&self.head, 8) & !8;
        put2(&mut entry.head, 8, flags);
        let flags = get2(&self.local.head, 6) & !8;
        put2(&mut entry.local.head, 6, flags);
        entry
    }

    /// The header before its data.
    pub fn local(&self) -> Vec<u8> {
        let Local { head, extra, is_large, .. } = &self.local;
        let Sums { crc, packed, bytes } = self.sums;
        let mut all = head.clone();
        let mut long = Vec::new();
        if *is_large {
            long.extend([1, 0, 16, 0]);
            long.extend(bytes.to_le_bytes());
            long.extend(packed.to_le_bytes());
            let needs = get2(&all, 4).max(45);
            put2(&mut all, 4, needs);
        }
        put4(&mut all, 14, crc);
        for (place, value) in [(18, packed), (22, bytes)] {
            put4(&mut all, place, if *is_large { u32::MAX } else { value as u32 });
        }
        put2(&mut all, 28, (long.len() + extra.len()) as u16);
        [all, self.name.clone(), long, extra.clone()].concat()
    }

    fn directory(&self) -> Vec<u8> {
        let Entry { sums: Sums { crc, packed, bytes }, offset, .. } = *self;
        let mut all = self.head.to_vec();
        let wide = Wide { offset: self.wide.offset || offset >= u64::from(u32::MAX), ..self.wide };
        let mut long = Vec::new();
        for (is_wide, place, value) in
            [(wide.bytes, 24, bytes), (wide.packed, 20, packed), (wide.offset, 42, offset)]
        {
            if is_wide {
                long.extend(value.to_le_bytes());
            }
            put4(&mut all, place, if is_wide { u32::MAX } else { value as u32 });
        }
        if wide.disk {
            long.extend([0; 4]);
        }
        if !long.is_empty() {
            long = [&[1, 0, long.len() as u8, 0], &long[..]].concat();
            let needs = get2(&all, 6).max(45);
            put2(&mut all, 6, needs);
        }
        put4(&mut all, 16, crc);
        put2(&mut all, 30, (long.len() + self.extra.len()) as u16);
        [all, self.name.clone(), long, self.extra.clone(), self.comment.clone()].concat()
    }
}

impl Local {
    /// Reads a member's header, which must say what the directory says.
    fn read(file: &mut File, entry: &Entry) -> Result<Self, ArchiveError> {
        let differs = |what| {
            let name = String::from_utf8_lossy(&entry.name).into_owned();
            Err(ArchiveError::Disagree { name, what })
        };
        let head = read_at(file, entry.offset, LOCAL)?;
        if !signed(&head, b"PK\x03\x04") {
            return differs("place");
        }
        let [name, extra] = [26, 28].map(|place| usize::from(get2(&head, place)));
        let rest = read_at(file, entry.offset + LOCAL as u64, name + extra)?;
        let (name, extra) = rest.split_at(name);
        if name != entry.name {
            return differs("name");
        }
        if get2(&head, 8) != entry.method() {
            return differs("compression");
        }
        // Encrypted or not, sums before the data or behind them.
        if (get2(&head, 6) ^ get2(&entry.head, 8)) & 0b1001 != 0 {
            return differs("flags");
        }
        let large = large(extra);
        let of_large = |place| large.and_then(|large| large.get(place..place + 8));
        let long = |place, in_large| match of_large(in_large) {
            Some(value) if is_marked(&head, place) => get8(value, 0),
            _ => u64::from(get4(&head, place)),
        };
        let sums = Sums { crc: get4(&head, 14), packed: long(18, 8), bytes: long(22, 0) };
        if !entry.has_descriptor() && sums != entry.sums {
            return differs("sizes or check sum");
        }
        let bytes = (LOCAL + rest.len()) as u64;
        Ok(Local { extra: others(extra)?, is_large: large.is_some(), bytes, head })
    }
}

/// Bytes of the record behind a member's data that has its sums again, found at the beginning of `after`; none where it does
/// not say what the directory says.
pub fn descriptor(sums: &Sums, after: &[u8]) -> Option<usize> {
    let Sums { crc, packed, bytes } = *sums;
    let short = [crc.to_le_bytes(), (packed as u32).to_le_bytes(), (bytes as u32).to_le_bytes()];
    let long = [&crc.to_le_bytes()[..], &packed.to_le_bytes(), &bytes.to_le_bytes()].concat();
    let sign = b"PK\x07\x08";
    let forms = [
        [sign, &long[..]].concat(),
        long.clone(),
        [sign, &short.concat()[..]].concat(),
        short.concat(),
    ];
    forms.iter().find(|form| after.starts_with(form)).map(Vec::len)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use zip::write::SimpleFileOptions;
    use zip::{CompressionMethod, ZipArchive, ZipWriter};

    /// A member of 5 GiB behind as many bytes, in a file of holes: numbers of four bytes that become larger.
    #[test]
    fn large_archives_are_read_as_they_are_written() {
        let mut file = tempfile::tempfile().unwrap();
        let mut writer = ZipWriter::new(&mut file);
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
        for name in ["a.npy", "b.npy"] {
            writer.start_file(name, options).unwrap();
            writer.write_all(b"bytes").unwrap();
        }
        writer.finish().unwrap();
        let whole = file.metadata().unwrap().len();
        let small = Books::read(&mut file, whole, 0).unwrap();

        let (offset, bytes) = (5 << 30, 5 << 30);
        let sums = Sums { crc: 77, packed: bytes, bytes };
        let mut large = small.clone();
        large.entries[1] = small.entries[1].anew(offset, sums, bytes);
        let start = offset + large.entries[1].local().len() as u64 + bytes;
        let mut put = |offset: u64, bytes: &[u8]| {
            file.seek(SeekFrom::Start(offset)).unwrap();
            file.write_all(bytes).unwrap();
        };
        put(offset, &large.entries[1].local());
        put(start, &large.directory(start));
        let whole = file.metadata().unwrap().len();
        let read = Books::read(&mut file, whole, 0).unwrap();
        let told = |books: &Books| -> Vec<_> {
            books
                .entries
                .iter()
                .map(|entry| (entry.name.clone(), entry.sums, entry.offset))
                .collect()
        };
        assert_eq!(told(&read), told(&large));
        assert_eq!((read.start, read.entries[1].data_end()), (start, Some(start)));
        let mut zip = ZipArchive::new(&mut file).unwrap();
        let member = zip.by_index_raw(1).unwrap();
        assert_eq!((member.size(), member.header_start()), (bytes, offset));
    }
}
