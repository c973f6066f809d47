//! How a call ends: no panic crosses into C, and the text of what went wrong is kept for the thread.

use std::any::Any;
use std::cell::RefCell;
use std::ffi::c_char;
use std::fmt::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::status::{Failure, Status};

/// Largest size of a text in bytes, with its NUL. Longer texts are truncated.
const CAPACITY: usize = 4096;

/// A text that ends with NUL. It needs no heap, so that a lack of memory can be reported: glibc allocates for a thread-local value
/// with a destructor.
struct Text {
    bytes: [u8; CAPACITY],
    len: usize,
}

thread_local! {
    static TEXT: RefCell<Text> = const { RefCell::new(Text { bytes: [0; CAPACITY], len: 0 }) };
}

impl Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for part in text.chars() {
            let part = if part == '\0' { '?' } else { part };
            if self.len + part.len_utf8() >= CAPACITY {
                return Err(fmt::Error);
            }
            part.encode_utf8(&mut self.bytes[self.len..]);
            self.len += part.len_utf8();
        }
        Ok(())
    }
}

/// Runs a call. A panic, which is a fault of this library, is [`Status::Internal`]; it may have left data in any order.
pub fn answer(call: impl FnOnce() -> Result<(), Failure>) -> Status {
    let result = catch_unwind(AssertUnwindSafe(call));
    let Err(failure) = result.unwrap_or_else(|panic| Err(Failure::Defect(said(&*panic)))) else {
        return Status::Success;
    };
    keep(&failure);
    failure.status()
}

fn said(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    text.or(panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("a panic").to_owned()
}

fn keep(failure: &Failure) {
    TEXT.with_borrow_mut(|text| {
        text.len = 0;
        // An error says that the rest was cut off.
        let _ = write!(text, "{failure}");
        text.bytes[text.len] = 0;
    });
}

/// The text of the thread's last failure, empty where there was none; there until the thread's next one.
pub fn last() -> *const c_char {
    TEXT.with_borrow(|text| text.bytes.as_ptr().cast())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CStr;

    /// What C reads.
    #[expect(unsafe_code, reason = "C's strings")]
    fn text() -> String {
        // SAFETY: a C string that lives until the next failure of this thread.
        unsafe { CStr::from_ptr(last()) }.to_str().unwrap().to_owned()
    }

    #[test]
    fn panics_become_a_status_and_texts_are_kept_by_thread() {
        assert_eq!(text(), "");
        assert_eq!(answer(|| panic!("seven is {}", 7)), Status::Internal);
        assert_eq!(text(), "a defect of turntile: seven is 7");
        assert_eq!(answer(|| Err(Failure::Null { what: "data" })), Status::Argument);
        assert_eq!(answer(|| Ok(())), Status::Success);
        assert_eq!(text(), "data is NULL");
        let long = format!("{}\u{e9}\0", "x".repeat(2 * CAPACITY));
        assert_eq!(answer(|| panic!("{long}")), Status::Internal);
        assert_eq!(text().len(), CAPACITY - 1);
        assert_eq!(answer(|| panic!("a\0b")), Status::Internal);
        assert_eq!(text(), "a defect of turntile: a?b");
        assert_eq!(std::thread::spawn(text).join().unwrap(), "");
    }
}
