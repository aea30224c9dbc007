//! Animation space as a [`Method`](super::Method).

use super::learnt::SolvedBy;
use super::ridge::FoldsText;
use super::settings::Row;
use super::{
    FitInput, FitReport, FitWarning, Learnt, MapSource, MethodError, MethodReport, RidgeChoice, RidgePoint, chosen_by,
    short,
};
use crate::animation_space::{AnimationSpaceSettings, fit_animation_space};
use crate::training::{BasePoses, Progress, middle};
use dermis_deform::Base;
use serde::{Deserialize, Serialize};

/// Animation space.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct AnimationSpaceMethod {
    /// Which bones a vertex may follow.
    pub maps: MapSource,
    /// λ.
    pub ridge: RidgeChoice,
}

/// What animation space's fit found.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct AnimationSpaceReport {
    ridge: f64,
}

impl AnimationSpaceMethod {
    pub(super) fn rows() -> Vec<Row<Self>> {
        let maps = MapSource::rows().into_iter().map(|row| row.of(|own: &mut Self| &mut own.maps));
        maps.chain(RidgeChoice::rows().into_iter().map(|row| row.of(|own: &mut Self| &mut own.ridge))).collect()
    }

    pub(super) fn check(&self) -> Result<(), MethodError> {
        self.maps.check()?;
        self.ridge.check()
    }

    pub(super) fn fit(&self, input: &FitInput<'_>, progress: Progress<'_>) -> Result<Learnt, MethodError> {
        let maps = self.maps.of(input, progress)?;
        let is_clip = input.examples.is_clip();
        let mut settings = AnimationSpaceSettings::for_poses(is_clip);
        settings.origin = middle(&input.rig.mesh().positions);
        settings.lambda = self.ridge.fixed();
        settings.folds = self.ridge.folds(is_clip);
        settings.tolerance = self.ridge.tolerance().unwrap_or(settings.tolerance);
        let training = input.training(BasePoses::NONE);
        let fitted = fit_animation_space(&training, &maps, input.rig.weights(), &settings, progress)?;
        let details = MethodReport::AnimationSpace(AnimationSpaceReport { ridge: fitted.lambda });
        let mut report = FitReport::new("animation-space", details);
        let fixed = settings.lambda.is_some();
        report.settings.extend(self.maps.lines());
        report.settings.push(("ridge".into(), format!("{}{}", short(fitted.lambda), chosen_by(fixed))));
        report.settings.push(("folds".into(), FoldsText(settings.folds).to_string()));
        report.validated_by = Some(FoldsText(settings.folds).to_string());
        report.sweep =
            fitted.sweep.iter().map(|&(ridge, validated)| RidgePoint { ridge, train: None, validated }).collect();
        report.ridge = Some(fitted.lambda);
        report.warnings.push(FitWarning::AnimationSpaceUnbounded);
        Learnt::new(Base::AnimationSpace(fitted.space), None, input, report, SolvedBy::Other)
    }
}
