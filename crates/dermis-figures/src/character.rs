//! A whole character that figures are made from.

use crate::FigureError;
use dermis_rig::{ExampleSet, Rig};

/// A rig with examples, and examples that no fit may see.
#[derive(Clone, Debug)]
pub struct Character {
    rig: Rig,
    examples: ExampleSet,
    held_out: ExampleSet,
}

impl Character {
    /// Returns a character whose figures are made from `examples` and judged on `held_out`.
    ///
    /// # Errors
    /// [`FigureError::Lacks`] without weights, triangles, at least four examples, or held-out examples.
    pub fn new(rig: Rig, examples: ExampleSet, held_out: ExampleSet) -> Result<Self, FigureError> {
        let lacks = |what: &str| FigureError::Lacks { character: rig.name().to_owned(), what: what.to_owned() };
        if rig.weights().is_none() {
            return Err(lacks("skinning weights"));
        }
        if rig.mesh().triangles.is_empty() {
            return Err(lacks("triangles"));
        }
        if examples.len() < 4 {
            return Err(lacks("at least four examples"));
        }
        if held_out.len() == 0 {
            return Err(lacks("held-out examples"));
        }
        Ok(Self { rig, examples, held_out })
    }

    /// The rig, with weights and triangles.
    pub fn rig(&self) -> &Rig {
        &self.rig
    }

    /// The examples that fits see, four at least.
    pub fn examples(&self) -> &ExampleSet {
        &self.examples
    }

    /// The examples that no fit sees, one at least.
    pub fn held_out(&self) -> &ExampleSet {
        &self.held_out
    }
}
