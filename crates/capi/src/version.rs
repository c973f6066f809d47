//! Versions of the library and of headers.

use std::fmt;

/// A version as one number: major, minor and patch in 10, 10 and 12 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version(pub u32);

impl Version {
    /// This library's.
    pub const LIBRARY: Version = Version(
        number(env!("CARGO_PKG_VERSION_MAJOR")) << 22
            | number(env!("CARGO_PKG_VERSION_MINOR")) << 12
            | number(env!("CARGO_PKG_VERSION_PATCH")),
    );

    /// Returns `true` if programs compiled with that header can use a library of this version: of the same major version, and
    /// not older but for patches.
    pub fn accepts(self, header: Version) -> bool {
        header.0 >> 22 == self.0 >> 22 && header.0 >> 12 <= self.0 >> 12
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
    fn newer_libraries_accept_older_headers_and_not_the_other_way_round() {
        let version =
            |major: u32, minor: u32, patch: u32| Version(major << 22 | minor << 12 | patch);
        assert_eq!(Version::LIBRARY.to_string(), env!("CARGO_PKG_VERSION"));
        let library = version(1, 4, 2);
        for (header, accepted) in [
            (version(1, 4, 2), true),
            (version(1, 4, 9), true),
            (version(1, 3, 0), true),
            (version(1, 0, 4095), true),
            (version(0, 900, 4095), false),
            (version(1, 5, 0), false),
            (version(2, 0, 0), false),
        ] {
            assert_eq!(library.accepts(header), accepted, "{header}");
        }
    }
}
