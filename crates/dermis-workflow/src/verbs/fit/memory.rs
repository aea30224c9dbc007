//! Bytes that a fit took.

use crate::memory;
use dermis_io::ModelFile;
use serde_json::{Value, json};

/// Bytes that a fit took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Largest resident memory, where the system says.
    pub peak: Option<u64>,
    /// The examples in 32 bits.
    pub examples: u64,
    /// What evaluation of the model reads.
    pub model: u64,
}

impl Memory {
    /// Of the process so far, for a model and this many poses of its mesh.
    pub fn of(model: &ModelFile, poses: usize) -> Self {
        let examples = 12 * (poses * model.rig().mesh().positions.len()) as u64;
        Self { peak: memory::peak(), examples, model: model.baked().bytes() as u64 }
    }

    /// The same as JSON.
    pub fn json(&self) -> Value {
        json!({"peak_bytes": self.peak, "example_bytes": self.examples, "model_bytes": self.model})
    }
}
