//! The lab's device code, `crates/lab/kernels`: a module for each file, of words of 4 bytes alone.

use std::ffi::CStr;

/// A file of `crates/lab/kernels`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Code {
    /// The literature's transpositions.
    Ladder,
    /// A recursive filter of an image's columns.
    Gaussian,
    /// Super-elements along cycles.
    Moved,
    /// A SAXPY of elements some words apart.
    Saxpy,
    /// Kernels on records in several layouts.
    Applications,
    /// Chases of places.
    Steering,
}

const LADDER: &str = concat!(include_str!("../kernels/ptx/ladder.w4.ptx"), "\0");
const GAUSSIAN: &str = concat!(include_str!("../kernels/ptx/gaussian.w4.ptx"), "\0");
const APPLICATIONS: &str = concat!(include_str!("../kernels/ptx/applications.w4.ptx"), "\0");
const MOVED: &str = concat!(include_str!("../kernels/ptx/moved.w4.ptx"), "\0");
const SAXPY: &str = concat!(include_str!("../kernels/ptx/saxpy.w4.ptx"), "\0");
const STEERING: &str = concat!(include_str!("../kernels/ptx/steering.w4.ptx"), "\0");

impl Code {
    /// Every file.
    pub const ALL: [Code; 6] = [
        Code::Ladder,
        Code::Gaussian,
        Code::Moved,
        Code::Saxpy,
        Code::Applications,
        Code::Steering,
    ];

    /// The file's name without its ending.
    pub fn name(self) -> &'static str {
        match self {
            Code::Ladder => "ladder",
            Code::Gaussian => "gaussian",
            Code::Moved => "moved",
            Code::Saxpy => "saxpy",
            Code::Applications => "applications",
            Code::Steering => "steering",
        }
    }

    /// Its PTX.
    pub fn ptx(self) -> &'static CStr {
        let text = match self {
            Code::Ladder => LADDER,
            Code::Gaussian => GAUSSIAN,
            Code::Moved => MOVED,
            Code::Saxpy => SAXPY,
            Code::Applications => APPLICATIONS,
            Code::Steering => STEERING,
        };
        CStr::from_bytes_until_nul(text.as_bytes()).expect("ends in a zero")
    }

    /// Names of its entry points, in the order of the file.
    pub fn entries(self) -> impl Iterator<Item = &'static str> {
        let text = self.ptx().to_str().expect("is a text");
        text.split(".visible .entry ")
            .skip(1)
            .map(|entry| entry.split_once('(').expect("parameters follow the name").0.trim())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By the signs that `turntile_cuda::waits` knows: nothing here is launched so that it might.
    #[test]
    fn no_block_waits_for_another() {
        for code in Code::ALL {
            let text = code.ptx().to_str().unwrap();
            for sign in ["%envreg", ".reqnctapercluster", "barrier.cluster", "ld.acquire"] {
                assert!(!text.contains(sign), "{}: {sign}", code.name());
            }
            assert!(code.entries().count() > 0);
        }
    }
}
