//! Dermis in a browser: recipes run on files in memory. `js/dermis_engine.js` is the other half; `cargo xtask browser` builds the module.
//!
//! The host puts files (`dermis_put`), runs a recipe that names them (`dermis_run`), and takes the files that the recipe wrote
//! (`dermis_take`). A recipe is the JSON that `dermis run` takes, so that a browser and the program can be compared file by file.
//!
//! Texts and files cross as an address and a length in the module's memory. For what it hands over the host asks for room
//! (`dermis_alloc`), fills it, and passes it on once: the called function takes it over. What a function answers stays until the next call,
//! `dermis_given` bytes from where that points. The host offers three functions, in the module `dermis`: `now`, milliseconds of any clock;
//! `progress`, which hears the step, the time left in words or nothing, and the part of the whole that is done, and which stops the recipe by anything but 0; and `panicked`, the last words before the module ends in a trap. A host opens a
//! new module then.
//!
//! A build for another target has the answers without the module, and [`studio_page`], the page as the program serves it with its own
//! engine behind it.

// The memory that the host hands over, and the functions that ufbx calls.
#![allow(unsafe_code)]

mod answer;
#[cfg(any(test, target_family = "wasm"))]
#[cfg_attr(not(all(target_family = "wasm", feature = "fbx")), allow(dead_code))]
mod libc;

#[cfg(not(target_family = "wasm"))]
mod parts;
#[cfg(not(target_family = "wasm"))]
mod studio;
#[cfg(not(target_family = "wasm"))]
pub use studio::studio_page;

pub use answer::{answer, live_answer};

#[cfg(target_family = "wasm")]
mod module;
#[cfg(target_family = "wasm")]
pub use module::*;
