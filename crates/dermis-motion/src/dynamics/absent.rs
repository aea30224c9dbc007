//! A build without the feature `dynamics`: there are no bodies.

use super::{DynamicsSpec, Sample};
use crate::goals::LimitSpec;
use crate::key_path::KeyPath;
use crate::local::Local;
use crate::play_error::PlayError;
use crate::scene::{Clock, Fault, SceneError};
use dermis_rig::glam::DAffine3;
use dermis_rig::{BoneIndex, BoneVec, Progress, Rig, Skeleton};

/// Nothing can be one.
#[derive(Debug)]
pub enum Bodies {}

impl Bodies {
    /// Refuses the bodies that a scene describes.
    ///
    /// # Errors
    /// [`SceneError`], always.
    pub fn new(_: &DynamicsSpec, _: &[LimitSpec], _: &Rig) -> Result<Self, SceneError> {
        let what = "bodies do not move here, as in a browser; the program `dermis` moves them";
        Err(SceneError::new(KeyPath::new().key("dynamics"), Fault::Unfit(what.into())))
    }

    pub(crate) fn check_work(&self, _: &DynamicsSpec, _: &Clock) -> Result<(), SceneError> {
        match *self {}
    }

    pub(crate) fn masses(&self) -> Vec<(BoneIndex, f64)> {
        match *self {}
    }
}

pub(crate) fn simulate(
    bodies: &Bodies,
    _: &DynamicsSpec,
    _: &Clock,
    _: &Skeleton,
    _: impl FnMut(f64) -> Result<Sample, SceneError>,
    _: Progress<'_>,
) -> Result<Vec<Vec<Bodies>>, PlayError> {
    match *bodies {}
}

pub(crate) fn show(_: &BoneVec<Local>, bodies: &Bodies, _: &[Bodies], _: &Skeleton) -> BoneVec<DAffine3> {
    match *bodies {}
}
