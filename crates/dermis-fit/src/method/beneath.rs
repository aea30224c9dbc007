//! A model beneath a correction.

use super::{FitInput, MethodError, short};
use dermis_deform::{Base, Correction, Deformer, RiggedDeformer};

/// Rest meshes that are nearer, in extents of the character, are one.
const SAME_REST: f64 = 1e-5;

impl<'a> FitInput<'a> {
    /// The model that another correction is learnt over.
    ///
    /// # Errors
    /// [`MethodError::InputLacks`] if there is none, [`MethodError::Beneath`] for a model of another rig.
    pub(super) fn beneath(&self) -> Result<&'a RiggedDeformer, MethodError> {
        let model = self.model.ok_or(MethodError::InputLacks { what: "the corrections of a model beneath" })?;
        let (own, other) = (self.rig, model.rig());
        let refused = |why: String| Err(MethodError::Beneath { why });
        let (here, there) = (own.mesh().positions.len(), other.mesh().positions.len());
        if here != there {
            return refused(format!("it has {there} vertices, and the rig \"{}\" has {here}", own.name()));
        }
        if own.skeleton().names() != other.skeleton().names() {
            return refused(format!("its bones are not those of the rig \"{}\"", own.name()));
        }
        let pairs = own.mesh().positions.iter().zip(&other.mesh().positions);
        let apart = pairs.map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
        if apart > SAME_REST * own.mesh().extent() {
            return refused(format!(
                "its rest mesh is up to {} m from that of the rig \"{}\"",
                short(apart),
                own.name()
            ));
        }
        Ok(model)
    }

    /// A base with the corrections of the model beneath, if there is one, and another over them.
    pub(super) fn deformer(&self, base: Base, correction: Option<Correction>) -> Result<Deformer, MethodError> {
        let beneath = match self.model {
            Some(model) => model.baked().widened()?.into_parts().2,
            None => vec![],
        };
        let bare = Deformer::new(self.rig.mesh().positions.clone(), base, None)?;
        let mut corrections = beneath.into_iter().chain(correction);
        Ok(corrections.try_fold(bare, Deformer::followed_by)?)
    }
}
