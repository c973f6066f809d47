//! Numbers in the records of archives, little-endian, and the field that has those too large for their places.

/// Bytes of a member's record in the directory, of its header, of what ends an archive and a large one, and of what says
/// where that is, each without names and comments.
pub const ENTRY: usize = 46;
pub const LOCAL: usize = 30;
pub const END: usize = 22;
pub const LARGE_END: usize = 56;
pub const LOCATOR: usize = 20;

/// Which numbers of a member's record are elsewhere, being large.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wide {
    pub bytes: bool,
    pub packed: bool,
    pub offset: bool,
    pub disk: bool,
}

fn get<const N: usize>(from: &[u8], place: usize) -> [u8; N] {
    let mut value = [0; N];
    value.copy_from_slice(&from[place..place + N]);
    value
}

pub fn get2(from: &[u8], place: usize) -> u16 {
    u16::from_le_bytes(get(from, place))
}

pub fn get4(from: &[u8], place: usize) -> u32 {
    u32::from_le_bytes(get(from, place))
}

pub fn get8(from: &[u8], place: usize) -> u64 {
    u64::from_le_bytes(get(from, place))
}

pub fn put2(to: &mut [u8], place: usize, value: u16) {
    to[place..place + 2].copy_from_slice(&value.to_le_bytes());
}

pub fn put4(to: &mut [u8], place: usize, value: u32) {
    to[place..place + 4].copy_from_slice(&value.to_le_bytes());
}

pub fn put8(to: &mut [u8], place: usize, value: u64) {
    to[place..place + 8].copy_from_slice(&value.to_le_bytes());
}

/// Whether a record begins with these bytes.
pub fn signed(record: &[u8], sign: &[u8; 4]) -> bool {
    record.starts_with(sign)
}

/// Whether a number of four bytes says that it is elsewhere.
pub fn is_marked(record: &[u8], place: usize) -> bool {
    get4(record, place) == u32::MAX
}

/// The number of the field for large members.
const LARGE: u16 = 1;

/// The fields of a record, each with its number and all its bytes; what is no field comes last, with number 0.
fn fields(mut extra: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        if extra.is_empty() {
            return None;
        }
        let bytes = if extra.len() < 4 { usize::MAX } else { 4 + usize::from(get2(extra, 2)) };
        let (field, rest) = extra.split_at_checked(bytes).unwrap_or((extra, &[]));
        let number = if field.len() == bytes { get2(field, 0) } else { 0 };
        extra = rest;
        Some((number, field))
    })
}

/// What the field for large members has.
pub fn large(extra: &[u8]) -> Option<&[u8]> {
    fields(extra).find(|(number, _)| *number == LARGE).map(|(_, field)| &field[4..])
}

/// All but that field.
pub fn without_large(extra: &[u8]) -> Vec<u8> {
    let others = fields(extra).filter(|(number, _)| *number != LARGE);
    others.flat_map(|(_, field)| field).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_told_apart() {
        let extra = [9, 0, 2, 0, 7, 8, 1, 0, 1, 0, 5, 3, 0, 0, 0, 1, 0, 9];
        assert_eq!(large(&extra), Some(&[5][..]));
        assert_eq!(without_large(&extra), [9, 0, 2, 0, 7, 8, 3, 0, 0, 0, 1, 0, 9]);
        assert_eq!(large(&[1, 0, 9, 0, 5]), None, "no field, for it ends too early");
        assert_eq!(without_large(&[1, 0, 9, 0, 5]), [1, 0, 9, 0, 5]);
    }
}
