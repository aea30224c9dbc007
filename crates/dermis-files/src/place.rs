//! Where files are: on the disk, or in a browser, which has none, on a shelf in memory.
//!
//! Everything that opens, writes, lists or looks for a file goes through this module, so that every recipe runs in both places. On the
//! shelf the program around Dermis puts inputs and takes outputs (`put`, `take`, `all`). It has one folder at its top, which is also the
//! working folder, and neither links nor other programs.

#[cfg(not(target_family = "wasm"))]
mod disk;
#[cfg(any(test, target_family = "wasm"))]
#[cfg_attr(not(target_family = "wasm"), allow(dead_code))]
mod shelf;

#[cfg(not(target_family = "wasm"))]
pub use disk::*;
#[cfg(target_family = "wasm")]
pub use shelf::*;

use serde::{Deserialize, Serialize};

/// What happens to an output that is there already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Existing {
    /// It stays, and the output is refused.
    #[default]
    Keep,
    /// It is replaced.
    Replace,
}
