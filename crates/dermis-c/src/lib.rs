//! Runs models of Dermis from C, and from whatever calls C: C++, C#, game engines.
//!
//! A model is opened from the bytes of a model file (.dermis), and evaluated by runners: bone matrices in, positions and normals
//! out. Nothing here fits a model or reads another format. `include/dermis.h` is made from this source; `docs/c.md` is its guide.
//!
//! - Every function that can fail returns a [`status`], and leaves a message for its thread where it fails.
//! - Handles are numbers that are looked up, never addresses that are followed.
//! - Memory of the caller comes with its length, and is checked before it is read or written: [`memory`].
//! - No panic leaves a function; what must not happen is DERMIS_ERROR_INTERNAL.
//! - A model never changes, so that threads share it. A runner is locked while it is used, and refuses a second thread.
//!
//! # Safety
//!
//! The caller vouches for what C cannot express, in every function: a pointer is NULL or points to what its type says; a buffer has
//! the length that stands beside it; a text ends with a zero byte; and no other thread writes to any of them during the call.

// The exported functions, and the reads and writes of memory that their callers vouch for. A block in an exported function only hands
// pointers of its caller to `memory` and `matrices`, which check them and say what remains to be vouched for.
#![allow(unsafe_code)]
// What callers vouch for is the same everywhere, and stands above; the comments of functions become those of the header.
#![allow(clippy::missing_safety_doc)]

mod axes;
mod handles;
pub mod matrices;
pub mod memory;
pub mod model;
pub mod runner;
pub mod status;
mod threads;

use std::ffi::c_char;

/// The version of this interface. A library of another version refuses the caller.
///
/// The version grows when a function or structure changes. Functions and codes that are added leave it as it is.
pub const DERMIS_ABI_VERSION: u32 = 1;

/// A model. Zero is no model.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DermisModel {
    /// Its number, given once in a process.
    pub id: u64,
}

/// A runner of a model. Zero is no runner.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DermisRunner {
    /// Its number, given once in a process.
    pub id: u64,
}

/// Returns the version of the library's interface, to be compared with DERMIS_ABI_VERSION of the header.
#[unsafe(no_mangle)]
pub extern "C" fn dermis_abi_version() -> u32 {
    DERMIS_ABI_VERSION
}

/// Returns the version of the library, such as "0.1.0". Never NULL.
#[unsafe(no_mangle)]
pub extern "C" fn dermis_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}
