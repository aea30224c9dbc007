//! A whole character that figures are made from.

use crate::FigureError;
use dermis_fit::maps::{MapSettings, from_weights};
use dermis_rig::{Example, ExampleSet, Influences, Mesh, Rig};

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
        if held_out.is_empty() {
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

impl Character {
    /// Returns the influence maps of the rig: its own, or those that its weights give.
    pub(crate) fn maps(&self) -> Result<Influences, dermis_fit::FitError> {
        let derived = || {
            let weights = self.rig.weights().cloned().unwrap_or_default();
            from_weights(self.rig.skeleton(), self.rig.mesh(), &weights, MapSettings::default())
        };
        self.rig.influence_maps().cloned().map_or_else(derived, Ok)
    }

    /// Returns the character with at most `most` of its vertices, evenly spread, with the influence maps of the whole and
    /// without faces: for figures that fit often.
    ///
    /// # Errors
    /// None is expected: a part of what fits, fits.
    pub(crate) fn thinned(&self, most: usize) -> Result<Self, FigureError> {
        let step = self.rig.mesh().positions.len().div_ceil(most).max(1);
        let rows = |all: &Influences| Influences::from_rows(all.rows().step_by(step).map(<[_]>::to_vec));
        let weights = self.rig.weights().map(rows).transpose()?;
        let positions = self.rig.mesh().positions.iter().step_by(step).copied().collect();
        let rig = Rig::new(Mesh { positions, ..Mesh::default() }, self.rig.skeleton().clone(), weights)?
            .with_influence_maps(Some(rows(&self.maps()?)?))?
            .named(self.rig.name());
        let thin = |set: &ExampleSet| {
            let one = |example: &Example| Example {
                positions: example.positions.iter().step_by(step).copied().collect(),
                ..example.clone()
            };
            ExampleSet::new(set.name.clone(), set.examples().iter().map(one).collect(), &rig)
        };
        let (examples, held_out) = (thin(&self.examples)?, thin(&self.held_out)?);
        Ok(Self { rig, examples, held_out })
    }
}

/// Returns `count` of `all` numbers, evenly spread from the first to the last; all if there are no more.
pub(crate) fn spread(count: usize, all: usize) -> Vec<usize> {
    let count = count.min(all);
    (0..count).map(|i| i * (all - 1) / (count - 1).max(1)).collect()
}
