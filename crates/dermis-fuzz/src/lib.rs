//! What is done with hostile bytes. Unpublished.
//!
//! A [`Target`] takes any bytes and panics where a promise is broken:
//!
//! - a reader answers with a value or an error, and holds no more memory at once than the file's length allows ([`memory`])
//! - what it returns fits together, and survives being used: as a rig, skinned, baked, evaluated ([`used`])
//! - what a writer takes is read again, and equal
//!
//! Two programs call the targets. The fuzzer (`fuzz/`, `cargo xtask fuzz`) searches for bytes; `tests/regressions.rs`
//! replays the bytes that once broke something, `fuzz/regressions/TARGET/NAME`, and every seed. Where bytes do not get far
//! (JSON behind lengths, arrays behind checksums), a second target of the format, `FORMAT_edits`, takes its bytes as a
//! [`script`] of changes to a good file.
//!
//! Seeds are made by code ([`seeds`]): small files of our writers and of `dermis-testkit`.

pub mod json;
pub mod memory;
pub mod script;
pub mod seeds;
pub mod targets;
pub mod used;

pub use targets::{Target, target};
