//! Versions of the library and of headers.

use std::fmt;

/// A version in one number: major, minor and patch in 10, 10 and 12 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version(pub u32);

impl Version {
    /// Version of this library.
    pub const LIBRARY: Version = Version(
        number(env!("CARGO_PKG_VERSION_MAJOR")) << 22
            | number(env!("CARGO_PKG_VERSION_MINOR")) << 12
            | number(env!("CARGO_PKG_VERSION_PATCH")),
    );

    /// Returns `true` if programs compiled with a header of that version can use a library of this
    /// version: major and minor are equal.
    pub fn accepts(self, header: Version) -> bool {
        header.0 >> 12 == self.0 >> 12
    }
}

const fn number(digits: &str) -> u32 {
    match u32::from_str_radix(digits, 10) {
        Ok(number) => number,
        Err(_) => panic!("Cargo's versions are numbers"),
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.0 >> 22, self.0 >> 12 & 0x3ff, self.0 & 0xfff)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_accepted_when_major_and_minor_are_equal() {
        let version =
            |major: u32, minor: u32, patch: u32| Version(major << 22 | minor << 12 | patch);
        assert_eq!(Version::LIBRARY.to_string(), env!("CARGO_PKG_VERSION"));
        for (header, accepted) in [
            (version(0, 4, 2), true),
            (version(0, 4, 9), true),
            (version(0, 4, 0), true),
            (version(0, 3, 4095), false),
            (version(0, 5, 2), false),
            (version(1, 4, 2), false),
        ] {
            assert_eq!(version(0, 4, 2).accepts(header), accepted, "{header}");
        }
    }
}
