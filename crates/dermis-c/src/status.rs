//! How a call ended: a code, and a message in words that belongs to the thread.

use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// How a call ended: DERMIS_OK, or one of the DERMIS_ERROR_ codes.
pub type DermisStatus = i32;

/// The call did what it says.
pub const DERMIS_OK: DermisStatus = 0;
/// The caller was compiled with a header of another ABI version.
pub const DERMIS_ERROR_ABI: DermisStatus = 1;
/// A pointer that must not be NULL is NULL.
pub const DERMIS_ERROR_NULL: DermisStatus = 2;
/// The handle is zero, or of an object that was freed, or of an object of another kind.
pub const DERMIS_ERROR_HANDLE: DermisStatus = 3;
/// Another thread is using the runner.
pub const DERMIS_ERROR_BUSY: DermisStatus = 4;
/// The file cannot be opened or read.
pub const DERMIS_ERROR_FILE: DermisStatus = 5;
/// The bytes are no model, or a damaged one, or one of a newer program.
pub const DERMIS_ERROR_MODEL: DermisStatus = 6;
/// There is no bone or channel of that number or name.
pub const DERMIS_ERROR_NOT_FOUND: DermisStatus = 7;
/// The pose has another number of bones than the model, or the base another number of vertices.
pub const DERMIS_ERROR_COUNT: DermisStatus = 8;
/// A buffer is shorter than what is read from it or written to it.
pub const DERMIS_ERROR_BUFFER: DermisStatus = 9;
/// A stride is smaller than one element, or no multiple of the size of a number.
pub const DERMIS_ERROR_STRIDE: DermisStatus = 10;
/// A pointer to floats or integers is not aligned to 4 bytes.
pub const DERMIS_ERROR_ALIGNMENT: DermisStatus = 11;
/// A number is NaN or infinite, or out of the range that its description names, or a text is not UTF-8.
pub const DERMIS_ERROR_VALUE: DermisStatus = 12;
/// The threads of a runner cannot be started, or the process was forked after they were.
pub const DERMIS_ERROR_THREADS: DermisStatus = 13;
/// The library failed in a way that it should not. The message helps to report it.
pub const DERMIS_ERROR_INTERNAL: DermisStatus = 14;

/// Why a call failed.
pub(crate) struct Failure {
    code: DermisStatus,
    message: String,
}

impl Failure {
    pub(crate) fn new(code: DermisStatus, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// A pointer that must not be NULL.
    pub(crate) fn null(argument: &str) -> Self {
        Self::new(DERMIS_ERROR_NULL, format!("{argument} is NULL"))
    }
}

thread_local! {
    /// What the last failed call of this thread said.
    static LAST: RefCell<CString> = RefCell::default();
}

/// Runs the body of an exported function: its failure becomes a code and the thread's message, and so does a panic.
pub(crate) fn guarded(body: impl FnOnce() -> Result<(), Failure>) -> DermisStatus {
    // Nothing that a panic left half done is read again: scratch memory is written before it is read.
    let failure = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => return DERMIS_OK,
        Ok(Err(failure)) => failure,
        Err(panic) => {
            let said = panic.downcast_ref::<String>().map(String::as_str);
            let said = said.or(panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
            Failure::new(DERMIS_ERROR_INTERNAL, format!("the library failed: {said}"))
        }
    };
    // While a thread ends, its message may be gone already; the code is told all the same.
    let _ = LAST.try_with(|last| *last.borrow_mut() = c_text(&failure.message));
    failure.code
}

/// A text as C has it. A zero byte within it would end it there, and becomes U+FFFD.
pub(crate) fn c_text(text: &str) -> CString {
    CString::new(text.replace('\0', "\u{fffd}")).unwrap_or_default()
}

/// Returns what the last call that failed on this thread said, in English, as UTF-8; an empty text if none failed.
///
/// The text lives until the next call that fails on this thread, or until the thread ends. Never NULL.
#[unsafe(no_mangle)]
pub extern "C" fn dermis_last_error() -> *const c_char {
    LAST.try_with(|last| last.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CStr;

    #[test]
    fn a_panic_becomes_a_code_and_a_message() {
        let last = || unsafe { CStr::from_ptr(dermis_last_error()) }.to_str().unwrap().to_owned();
        assert_eq!(guarded(|| panic!("17 is not {}", 18)), DERMIS_ERROR_INTERNAL);
        assert_eq!(last(), "the library failed: 17 is not 18");
        assert_eq!(guarded(|| panic!("a zero\0byte")), DERMIS_ERROR_INTERNAL);
        assert_eq!(last(), "the library failed: a zero\u{fffd}byte");
        assert_eq!(guarded(|| Err(Failure::null("model"))), DERMIS_ERROR_NULL);
        assert_eq!(last(), "model is NULL");
        assert_eq!(guarded(|| Ok(())), DERMIS_OK);
        assert_eq!(last(), "model is NULL");
    }
}
