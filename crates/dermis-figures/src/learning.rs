//! Fits for figures: a method, examples, and the skins it makes of poses.

use crate::FigureError;
use dermis_deform::Deformer;
use dermis_fit::method::{FitInput, Method};
use dermis_fit::silent;
use dermis_rig::clock::Instant;
use dermis_rig::glam::DVec3;
use dermis_rig::{BoneTransforms, ExampleSet, Rig};
use std::time::Duration;

/// A fitted model.
pub(crate) struct Model {
    deformer: Deformer,
    /// How long the fit took.
    pub(crate) took: Duration,
}

impl Model {
    /// Fits a method to examples.
    ///
    /// # Errors
    /// [`FigureError::Method`].
    pub(crate) fn fit(method: &Method, rig: &Rig, examples: &ExampleSet) -> Result<Self, FigureError> {
        let start = Instant::now();
        let learnt = method.fit(&FitInput::new(rig, examples), &silent)?;
        Ok(Self { deformer: learnt.deformer, took: start.elapsed() })
    }

    /// What was fitted.
    pub(crate) fn deformer(&self) -> &Deformer {
        &self.deformer
    }

    /// Returns the skin in a pose of the rig.
    ///
    /// # Errors
    /// [`FigureError::Pose`] if the pose is of another rig.
    pub(crate) fn skin(&mut self, pose: &BoneTransforms) -> Result<Vec<DVec3>, FigureError> {
        let mut skin = vec![DVec3::ZERO; self.deformer.rest().len()];
        self.deformer.evaluate(pose, None, &mut skin)?;
        Ok(skin)
    }

    /// Returns the rms and the largest distance from the skins of examples, per example.
    ///
    /// # Errors
    /// As [`skin`](Self::skin).
    pub(crate) fn errors(&mut self, examples: &ExampleSet) -> Result<Vec<Distances>, FigureError> {
        let of = |example: &dermis_rig::Example| {
            Ok(Distances::between(&self.skin(&example.transforms)?, &example.positions))
        };
        examples.examples().iter().map(of).collect()
    }

    /// Returns the rms over all examples and the largest distance of all.
    ///
    /// # Errors
    /// As [`skin`](Self::skin).
    pub(crate) fn error(&mut self, examples: &ExampleSet) -> Result<Distances, FigureError> {
        Ok(Distances::over(&self.errors(examples)?))
    }
}

/// Distances between shapes, in the unit of the mesh.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Distances {
    /// Root of the mean square over vertices.
    pub(crate) rms: f64,
    /// The largest.
    pub(crate) max: f64,
}

impl Distances {
    /// Between two shapes.
    pub(crate) fn between(a: &[DVec3], b: &[DVec3]) -> Self {
        let squares = a.iter().zip(b).map(|(a, b)| a.distance_squared(*b));
        let mean = squares.clone().sum::<f64>() / a.len().max(1) as f64;
        Self { rms: mean.sqrt(), max: squares.fold(0.0, f64::max).sqrt() }
    }

    /// Over shapes of one mesh.
    pub(crate) fn over(all: &[Self]) -> Self {
        let mean = all.iter().map(|d| d.rms.powi(2)).sum::<f64>() / all.len().max(1) as f64;
        Self { rms: mean.sqrt(), max: all.iter().map(|d| d.max).fold(0.0, f64::max) }
    }
}
