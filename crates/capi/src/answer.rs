//! End of a call: panics become statuses, and the text of a failure is saved.

use std::any::Any;
use std::ffi::CStr;
use std::fmt::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::status::{Failure, Status};

/// Largest size of a text in bytes, with its NUL. Longer texts are truncated.
pub const CAPACITY: usize = 4096;

/// A text that ends with NUL. It needs no heap, so that a lack of memory can be reported: glibc
/// allocates for a thread-local value with a destructor.
pub struct Text {
    bytes: [u8; CAPACITY],
    len: usize,
}

impl Text {
    /// The empty text.
    pub const EMPTY: Text = Text { bytes: [0; CAPACITY], len: 0 };

    /// Copies a C string.
    pub fn of(text: &CStr) -> Text {
        let mut copy = Text::EMPTY;
        let text = text.to_bytes();
        copy.len = text.len().min(CAPACITY - 1);
        copy.bytes[..copy.len].copy_from_slice(&text[..copy.len]);
        copy
    }

    /// Returns the text as C reads it.
    pub fn as_c_str(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.bytes).expect("the last byte is never written")
    }
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

/// Runs a call, and passes the text of its failure to `save`. A panic is a bug of this library, and
/// becomes [`Status::Internal`]: the data can be in any order.
pub fn answer(call: impl FnOnce() -> Result<(), Failure>, save: impl FnOnce(Text)) -> Status {
    let result = catch_unwind(AssertUnwindSafe(call));
    let Err(failure) = result.unwrap_or_else(|panic| Err(Failure::Defect(said(&*panic)))) else {
        return Status::Success;
    };
    let mut text = Text::EMPTY;
    // An error means that the text is truncated.
    let _ = write!(text, "{failure}");
    save(text);
    failure.status()
}

fn said(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    text.or(panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("a panic").to_owned()
}
