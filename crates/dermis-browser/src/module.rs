//! What the module exports, and what it imports.

use crate::answer::{answer, live_answer};
use dermis_workflow::fits::Cancelled;
use dermis_workflow::place;
use dermis_workflow::recipe::{Course, Watch};
use dermis_workflow::rig::clock;
use dermis_workflow::verbs::session::live::Live;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

mod host {
    #[link(wasm_import_module = "dermis")]
    unsafe extern "C" {
        pub safe fn now() -> f64;
        pub fn progress(step: *const u8, length: usize, left: *const u8, left_length: usize, fraction: f64) -> i32;
        pub fn panicked(text: *const u8, length: usize);
    }
}

thread_local! {
    /// What the last call answered.
    static GIVEN: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    /// The session that the host shows.
    static LIVE: RefCell<Live> = RefCell::new(Live::default());
}

/// Keeps an answer for [`dermis_given`]; result: its length.
fn give(bytes: Vec<u8>) -> usize {
    let length = bytes.len();
    GIVEN.set(bytes);
    length
}

/// What the host handed over.
///
/// # Safety
/// `at` comes from [`dermis_alloc`] with this length, was filled, and is handed over once.
unsafe fn taken(at: *mut u8, length: usize) -> Vec<u8> {
    // SAFETY: `dermis_alloc` left a vector of this capacity there, and the caller vouches for the rest.
    unsafe { Vec::from_raw_parts(at, length, length) }
}

/// The same of a text.
///
/// # Safety
/// As [`taken`].
unsafe fn text(at: *mut u8, length: usize) -> String {
    // SAFETY: the caller vouches for it.
    String::from_utf8_lossy(&unsafe { taken(at, length) }).into_owned()
}

/// Starts the module. The host calls it once, before everything else.
#[unsafe(no_mangle)]
pub extern "C" fn dermis_start() {
    clock::set_clock(|| host::now());
    std::panic::set_hook(Box::new(|panic| {
        let text = panic.to_string();
        // SAFETY: the text outlives the call, and the host reads no more than its length.
        unsafe { host::panicked(text.as_ptr(), text.len()) };
    }));
}

/// Returns room for `length` bytes, filled with zeros.
#[unsafe(no_mangle)]
pub extern "C" fn dermis_alloc(length: usize) -> *mut u8 {
    // A boxed slice has no capacity beyond its length.
    Box::into_raw(vec![0_u8; length].into_boxed_slice()).cast()
}

/// Returns where the answer of the last call begins.
#[unsafe(no_mangle)]
pub extern "C" fn dermis_given() -> *const u8 {
    GIVEN.with_borrow(|given| given.as_ptr())
}

/// Puts a file, in place of one of that name. Result: the length of an error's text, given; zero if there is none.
///
/// # Safety
/// Both places come from [`dermis_alloc`] with these lengths, and are handed over.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dermis_put(name: *mut u8, name_length: usize, bytes: *mut u8, length: usize) -> usize {
    // SAFETY: the host vouches for both.
    let (name, bytes) = unsafe { (text(name, name_length), taken(bytes, length)) };
    match place::put(&PathBuf::from(name), bytes) {
        Ok(()) => give(Vec::new()),
        Err(error) => give(error.to_string().into_bytes()),
    }
}

/// Takes a file off the shelf. Result: the length of its bytes, given; -1 if there is no such file.
///
/// # Safety
/// The name comes from [`dermis_alloc`] with this length, and is handed over.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dermis_take(name: *mut u8, name_length: usize) -> isize {
    // SAFETY: the host vouches for it.
    let name = unsafe { text(name, name_length) };
    place::take(&PathBuf::from(name)).map_or(-1, |bytes| give(bytes).cast_signed())
}

/// Lists all files: `[[name, bytes], …]`, JSON. Result: its length.
#[unsafe(no_mangle)]
pub extern "C" fn dermis_files() -> usize {
    let file = |(path, bytes): (PathBuf, usize)| json!([path.display().to_string(), bytes]);
    give(place::all().into_iter().map(file).collect::<Value>().to_string().into_bytes())
}

/// Tells the host how far a recipe is.
#[derive(Default)]
struct Host(Mutex<Course>);

impl Watch for Host {
    fn plan(&self, steps: &[(&str, f64)]) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).plan(steps);
    }

    fn at(&self, step: &str, done: u64, total: u64) -> ControlFlow<Cancelled> {
        let mut course = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        course.go_to(step, done, total);
        let (name, left) = (course.name(), course.remaining().unwrap_or_default());
        // SAFETY: the texts outlive the call, and the host reads no more than their lengths.
        match unsafe { host::progress(name.as_ptr(), name.len(), left.as_ptr(), left.len(), course.fraction()) } {
            0 => ControlFlow::Continue(()),
            _ => ControlFlow::Break(Cancelled),
        }
    }
}

/// Runs a recipe, JSON. Result: the length of its answer, given: `{"outcome": …}`, or `{"error": {"text": …, "remedy": …}}`, JSON.
///
/// # Safety
/// The recipe comes from [`dermis_alloc`] with this length, and is handed over.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dermis_run(recipe: *mut u8, length: usize) -> usize {
    // SAFETY: the host vouches for it.
    let recipe = unsafe { text(recipe, length) };
    give(answer(&recipe, &Host::default()).to_string().into_bytes())
}

/// Answers what the host asks of a session, JSON. Result: the length of the answer, given: facts as JSON, and arrays of numbers behind
/// them, as `dermis_workflow::verbs::session::live` describes.
///
/// # Safety
/// The question comes from [`dermis_alloc`] with this length, and is handed over.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dermis_live(ask: *mut u8, length: usize) -> usize {
    // SAFETY: the host vouches for it.
    let ask = unsafe { text(ask, length) };
    give(LIVE.with_borrow_mut(|live| live_answer(live, &ask)))
}
