//! The text of each thread's last failure.
#![allow(unsafe_code)]

use std::cell::RefCell;
use std::ffi::{CStr, c_char};

use crate::answer::{self, Text};
use crate::status::{Failure, Status};

thread_local! {
    static TEXT: RefCell<Text> = const { RefCell::new(Text::EMPTY) };
}

/// Runs a call, and saves the text of its failure for the thread.
pub fn answer(call: impl FnOnce() -> Result<(), Failure>) -> Status {
    answer::answer(call, |text| TEXT.set(text))
}

/// Returns the text of the calling thread's last failure, valid until its next one.
#[unsafe(no_mangle)]
pub extern "C" fn turntile_last_error() -> *const c_char {
    TEXT.with_borrow(|text| text.as_c_str().as_ptr())
}

/// Sets the text of the calling thread's last failure.
///
/// # Safety
/// `text` must be NULL or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turntile_set_last_error(text: *const c_char) {
    let copy = match text.is_null() {
        true => Text::EMPTY,
        // SAFETY: the caller guarantees a C string.
        false => Text::of(unsafe { CStr::from_ptr(text) }),
    };
    TEXT.set(copy);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::CAPACITY;

    /// Returns the text that C reads.
    fn text() -> String {
        // SAFETY: a C string that is valid until the next failure of this thread.
        unsafe { CStr::from_ptr(turntile_last_error()) }.to_str().unwrap().to_owned()
    }

    #[test]
    fn panics_become_a_status_and_texts_are_saved_per_thread() {
        assert_eq!(text(), "");
        assert_eq!(answer(|| panic!("seven is {}", 7)), Status::Internal);
        assert_eq!(text(), "bug in turntile: seven is 7");
        assert_eq!(answer(|| Err(Failure::Null { what: "data" })), Status::Argument);
        assert_eq!(answer(|| Ok(())), Status::Success);
        assert_eq!(text(), "data is NULL");
        let long = format!("{}\u{e9}\0", "x".repeat(2 * CAPACITY));
        assert_eq!(answer(|| panic!("{long}")), Status::Internal);
        assert_eq!(text().len(), CAPACITY - 1);
        assert_eq!(answer(|| panic!("a\0b")), Status::Internal);
        assert_eq!(text(), "bug in turntile: a?b");
        assert_eq!(std::thread::spawn(text).join().unwrap(), "");
    }
}
