//! How a call ends: no panic crosses into C, and the text of what went wrong is kept for the thread.

use std::any::Any;
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::status::{Failure, Status};

thread_local! {
    static TEXT: RefCell<CString> = RefCell::default();
}

/// Runs a call. A panic, which is a fault of this library, is [`Status::Internal`]; it may have left data in any order.
pub fn answer(call: impl FnOnce() -> Result<(), Failure>) -> Status {
    let result = catch_unwind(AssertUnwindSafe(call));
    let Err(failure) = result.unwrap_or_else(|panic| Err(Failure::Defect(said(&*panic)))) else {
        return Status::Success;
    };
    keep(&failure.to_string());
    failure.status()
}

fn said(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    text.or(panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("a panic").to_owned()
}

fn keep(text: &str) {
    let text = CString::new(text.replace('\0', "?")).unwrap_or_default();
    // A thread that is ending has no text any more.
    let _ = TEXT.try_with(|kept| kept.replace(text));
}

/// The text of the thread's last failure, empty where there was none; there until the thread's next one.
pub fn last() -> *const c_char {
    const NONE: &CStr = c"";
    TEXT.try_with(|kept| kept.borrow().as_ptr()).unwrap_or(NONE.as_ptr())
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(std::thread::spawn(text).join().unwrap(), "");
    }
}
