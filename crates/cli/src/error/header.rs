//! What is wrong with a .npy header.

/// What is wrong with a .npy header.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// The file does not begin as .npy files do.
    #[error(
        "not a .npy file: it begins with {got:02x?}, expected [93, 4e, 55, 4d, 50, 59] (see --raw for headerless files)"
    )]
    Magic {
        /// The first bytes, up to six.
        got: Vec<u8>,
    },
    /// A version of the format that is not known.
    #[error("version {major}.{minor} of the .npy format is not known, expected 1.0, 2.0 or 3.0")]
    Version {
        /// Major version in the file.
        major: u8,
        /// Minor version in the file.
        minor: u8,
    },
    /// The file ends before the header does.
    #[error("truncated: the header takes {need} bytes, the file has {have}")]
    Truncated {
        /// Bytes up to the end of the header.
        need: u64,
        /// Bytes in the file.
        have: u64,
    },
    /// A header longer than any that describes an array.
    #[error("the header takes {len} bytes, more than the {max} that are accepted")]
    TooLong {
        /// Bytes that the header claims.
        len: u64,
        /// Bytes that are accepted.
        max: u64,
    },
    /// A version 3.0 header that is not UTF-8.
    #[error("the header is not UTF-8 from byte {at} on")]
    Encoding {
        /// Byte of the header.
        at: usize,
    },
    /// The header is not a Python literal.
    #[error("header: expected {expected} at byte {at}")]
    Syntax {
        /// Byte of the header.
        at: usize,
        /// What should be there.
        expected: &'static str,
    },
    /// Brackets within brackets without end.
    #[error("the header nests brackets more than {max} deep")]
    Depth {
        /// Levels that are accepted.
        max: usize,
    },
    /// The header is a literal of another kind.
    #[error("the header is not a dictionary")]
    NotADict,
    /// An entry is missing.
    #[error("the header has no '{key}'")]
    MissingKey {
        /// The entry.
        key: &'static str,
    },
    /// An entry that .npy headers do not have.
    #[error("the header has an unknown entry {key}")]
    UnknownKey {
        /// The entry as written.
        key: String,
    },
    /// An entry that comes twice.
    #[error("the header has '{key}' twice")]
    RepeatedKey {
        /// The entry.
        key: &'static str,
    },
    /// The shape is no tuple of integers.
    #[error("'shape' is not a tuple of integers: {got}")]
    Shape {
        /// The entry as written.
        got: String,
    },
    /// An extent below zero.
    #[error("axis {axis} has a negative length, {got}")]
    NegativeAxis {
        /// Axis, from 0.
        axis: usize,
        /// Its length as written.
        got: i128,
    },
    /// The order is no boolean.
    #[error("'fortran_order' is not True or False: {got}")]
    Order {
        /// The entry as written.
        got: String,
    },
    /// The description of the type cannot be understood.
    #[error("'descr' is malformed: {what}")]
    Descr {
        /// The rule that it breaks.
        what: &'static str,
    },
    /// A type string that names no fixed-size type.
    #[error("'{name}' is not a fixed-size type")]
    UnknownType {
        /// The type string.
        name: String,
    },
    /// Python objects, stored as a pickle.
    #[error(
        "arrays of Python objects are stored as a pickle; only types of a fixed size can be moved"
    )]
    Object,
    /// An item whose size cannot be counted.
    #[error("one item has more bytes than can be counted")]
    ItemOverflow,
    /// An array whose size cannot be counted.
    #[error(
        "the shape {shape:?} with items of {item_bytes} bytes has more bytes than can be counted"
    )]
    SizeOverflow {
        /// Shape as in the header, extents that fit nowhere held at the largest that fits.
        shape: Vec<usize>,
        /// Bytes of an item.
        item_bytes: usize,
    },
    /// More or fewer data than the header says.
    #[error(
        "the header announces {expected} bytes of data (shape {shape:?}, items of {item_bytes} bytes), the file has {got}"
    )]
    DataLength {
        /// Shape as in the header.
        shape: Vec<usize>,
        /// Bytes of an item.
        item_bytes: usize,
        /// Bytes by the header.
        expected: u64,
        /// Bytes in the file.
        got: u64,
    },
    /// The rewritten header outgrows what its version can hold.
    #[error("the new header takes {len} bytes, more than the {max} that can be written")]
    NewTooLong {
        /// Bytes of the new header.
        len: usize,
        /// Bytes that can be written.
        max: usize,
    },
}
