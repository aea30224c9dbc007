//! Multi-weight enveloping while its ridge is turned: what dragging a slider needs.

use super::base::base_in_training;
use super::{FitInput, MethodError, MweMethod};
use crate::mwe::Resolver;
use crate::training::Progress;
use dermis_deform::{Base, Deformer};
use dermis_rig::ExampleSet;
use dermis_rig::glam::DVec3;

/// A fit of enveloping that can be solved again at another λ.
pub struct RidgeSlider<'a> {
    input: FitInput<'a>,
    /// The examples as they count, where their importance is stated.
    weighed: Option<ExampleSet>,
    base: Base,
    positions: Vec<Vec<DVec3>>,
    resolver: Resolver,
}

impl<'a> RidgeSlider<'a> {
    /// Fits once, which chooses λ.
    ///
    /// # Errors
    /// As [`Method::fit`](super::Method::fit).
    pub fn new(method: &MweMethod, input: FitInput<'a>, progress: Progress<'_>) -> Result<Self, MethodError> {
        method.check()?;
        let weighed = method.importance.weighed(input.examples);
        let stated = input;
        let input = FitInput { examples: weighed.as_ref().unwrap_or(input.examples), ..input };
        let maps = method.maps.of(&input, progress)?;
        let mut base = method.base.of(&input)?;
        let positions = base_in_training(&mut base, &input)?;
        let settings = method.settings(&input, input.examples.len(), input.examples.is_clip())?;
        let resolver = Resolver::new(&input.training((&positions).into()), &maps, &settings, progress)?;
        Ok(Self { input: stated, weighed, base, positions, resolver })
    }

    /// λ.
    pub fn ridge(&self) -> f64 {
        self.resolver.model().report.s
    }

    /// Solves every vertex again at another λ.
    ///
    /// # Errors
    /// As [`Resolver::set_ridge`].
    pub fn set_ridge(&mut self, ridge: f64) -> Result<(), MethodError> {
        let input = FitInput { examples: self.weighed.as_ref().unwrap_or(self.input.examples), ..self.input };
        Ok(self.resolver.set_ridge(&input.training((&self.positions).into()), ridge)?)
    }

    /// The model at the present λ.
    ///
    /// # Errors
    /// [`MethodError::Deformer`] if it makes none, which the fit rules out.
    pub fn deformer(&self) -> Result<Deformer, MethodError> {
        self.input.deformer(self.base.clone(), Some(self.resolver.model().correction.clone().into()))
    }
}
