//! Shapes by example as a [`Method`](super::Method).

use super::base::{BaseChoice, base_in_training};
use super::coordinates::{coordinates, coordinates_line};
use super::learnt::SolvedBy;
use super::pose_space::{channels, known_channels, mirror_of, moves_at_rest};
use super::ridge::FoldsText;
use super::settings::{
    BASE, BLOCKS, CHANNELS, COORDINATES, DUPLICATES, EIG_TOL, GUARD, KERNEL, MIRROR, Row, SIGMA, SMOOTHING, number,
    some, switch, word,
};
use super::{
    FitInput, FitReport, FitWarning, FoldChoice, Learnt, MapSource, MethodError, MethodReport, RidgePoint, chosen_by,
    short,
};
use crate::psd::by_example::{ByExampleReport, fit_by_example};
use crate::psd::{self, ChannelSetting, PsdSettings};
use crate::training::Progress;
use dermis_deform::pose_space::{Coordinates, Family};
use dermis_rig::Rig;
use serde::{Deserialize, Serialize};

/// Shapes by example over a base: a shape per example, with weights that interpolate between the examples and are linear beyond
/// them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct ShapeByExampleMethod {
    /// The deformer they correct.
    pub base: BaseChoice,
    /// What rotations become before poses are compared.
    pub coordinates: Coordinates,
    /// Adjectives: channels of the poses that are coordinates, too.
    pub channels: Vec<ChannelSetting>,
    /// The radial functions; `None`: the Gaussian or the one of compact support, by held-out error.
    pub kernel: Option<Family>,
    /// σ of the radial functions, a chord; `None`: by held-out error.
    pub sigma: Option<f64>,
    /// Share of the largest variance above which a principal direction of the coordinates belongs to the linear part; `None`: by
    /// held-out error.
    pub eig_tol: Option<f64>,
    /// ρ, the smoothing; zero meets every example; `None`: by held-out error.
    pub smoothing: Option<f64>,
    /// What is left out at a time.
    pub folds: FoldChoice,
    /// Examples closer than this are merged; negative: never.
    pub duplicates: f64,
    /// Whether every example also teaches the other side of a symmetric rig.
    pub mirror: bool,
    /// Welding, limits and the ball.
    pub guard: bool,
}

impl Default for ShapeByExampleMethod {
    fn default() -> Self {
        let settings = PsdSettings::new(false);
        Self {
            base: BaseChoice::default(),
            coordinates: settings.coordinates,
            channels: Vec::new(),
            kernel: None,
            sigma: None,
            eig_tol: None,
            smoothing: None,
            folds: FoldChoice::default(),
            duplicates: settings.duplicates,
            mirror: false,
            guard: settings.guard,
        }
    }
}

/// What the fit of shapes by example found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ShapeByExampleReport {
    kernel: String,
    sigma: f64,
    smoothing: f64,
    sweep: Vec<Point>,
    spacing: f64,
    coordinates: usize,
    directions_spanned: usize,
    directions_linear: usize,
    examples: Vec<ExampleOfShape>,
    at_bind: Vec<String>,
    off_cardinal: f64,
    welded_joints: Vec<String>,
    raised: bool,
    reciprocal_condition: f64,
    damped: usize,
    left: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct Point {
    sigma: f64,
    smoothing: f64,
    validated_rms: f64,
}

/// An example as a shape.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct ExampleOfShape {
    name: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    merged: Vec<String>,
    nearest: f64,
    vertices: usize,
    largest: f64,
}

impl ShapeByExampleMethod {
    pub(super) fn rows() -> Vec<Row<Self>> {
        let linear = EIG_TOL.default("by held-out error").help(
            "Share of the largest variance above which a principal direction of the coordinates belongs to the linear part",
        );
        vec![
            Row::new(BASE, word, |own: &mut Self| &mut own.base),
            Row::new(COORDINATES, coordinates, |own| &mut own.coordinates),
            Row::new(CHANNELS, channels, |own| &mut own.channels),
            Row::new(KERNEL, some(word), |own| &mut own.kernel),
            Row::new(SIGMA, some(number), |own| &mut own.sigma),
            Row::new(linear, some(number), |own| &mut own.eig_tol),
            Row::new(SMOOTHING, some(number), |own| &mut own.smoothing),
            Row::new(BLOCKS.field("folds"), FoldChoice::read, |own| &mut own.folds),
            Row::new(DUPLICATES, number, |own| &mut own.duplicates),
            Row::new(MIRROR, switch, |own| &mut own.mirror),
            Row::new(GUARD, switch, |own| &mut own.guard),
        ]
    }

    pub(super) fn check(&self) -> Result<(), MethodError> {
        self.base.check("shape-by-example")?;
        self.folds.check()?;
        if self.base == BaseChoice::Stack && self.mirror {
            let method = "mirrored examples: it need not have the symmetry of the rig";
            return Err(MethodError::Base { base: self.base.name(), method });
        }
        DUPLICATES.check(self.duplicates)?;
        self.eig_tol.map_or(Ok(()), |share| EIG_TOL.check(share))?;
        self.smoothing.map_or(Ok(()), |smoothing| SMOOTHING.check(smoothing))?;
        match (self.sigma, self.kernel) {
            (Some(_), Some(Family::Polyharmonic)) => {
                Err(MethodError::Unused { setting: "sigma", with: "on the polyharmonic kernel, which has no width" })
            }
            (Some(sigma), _) => SIGMA.check(sigma),
            (None, _) => Ok(()),
        }
    }

    pub(super) fn fit(&self, input: &FitInput<'_>, progress: Progress<'_>) -> Result<Learnt, MethodError> {
        let mut settings = PsdSettings::new(input.examples.is_clip());
        settings.coordinates = self.coordinates;
        settings.channels = known_channels(&self.channels, input)?;
        settings.mirror = self.mirror.then(|| mirror_of(input)).transpose()?;
        (settings.family, settings.sigma) = (self.kernel, self.sigma);
        settings.smoothing = self.smoothing.map(|smoothing| smoothing.max(psd::EXACT));
        settings.folds = self.folds.of(input.examples.is_clip());
        settings.duplicates = self.duplicates;
        settings.guard = self.guard;
        let mut base = self.base.of(input)?;
        let maps = MapSource::default().of(input, progress)?;
        let positions = base_in_training(&mut base, input)?;
        let training = input.training((&positions).into());
        let (shapes, found) = fit_by_example(&training, &base, &maps, &settings, self.share(), progress)?;
        let details = ShapeByExampleReport::new(&found, input.rig);
        let mut report =
            FitReport::new("shape-by-example", MethodReport::ShapeByExample(Box::new(details))).with_base(self.base);
        report.settings.extend(self.lines(&settings, &found));
        report.warnings = self.warnings(&settings, &found, input);
        report.warnings.extend(moves_at_rest(&mut base, input));
        let at_sigma = found.sweep.iter().filter(|p| p.sigma == found.sigma);
        report.sweep =
            at_sigma.map(|p| RidgePoint { ridge: p.smoothing, train: None, validated: p.validated }).collect();
        report.ridge = Some(found.smoothing);
        report.validated_by = (!found.sweep.is_empty()).then(|| FoldsText(settings.folds).to_string());
        Learnt::new(base, Some(shapes.into()), input, report, SolvedBy::Other)
    }

    /// The share, above rounding.
    fn share(&self) -> Option<f64> {
        self.eig_tol.map(|share| share.max(1e-20))
    }

    /// What the model says of its settings, the base apart.
    fn lines(&self, settings: &PsdSettings, found: &ByExampleReport) -> Vec<(String, String)> {
        let on = |on: bool| if on { "on" } else { "off" };
        let (columns, spanned, taken) = found.coordinates;
        let kernel = format!("{:?}", found.family).to_lowercase();
        let mut lines = vec![
            ("coordinates".into(), coordinates_line(self.coordinates)),
            ("examples".into(), format!("{} span {spanned} directions of {columns}", found.shapes.len())),
            ("linear in".into(), format!("{taken} directions{}", chosen_by(self.eig_tol.is_some()))),
            ("kernel".into(), format!("{kernel}{}", chosen_by(self.kernel.is_some()))),
        ];
        if found.family != Family::Polyharmonic {
            lines.push(("sigma".into(), format!("{}{}", short(found.sigma), chosen_by(self.sigma.is_some()))));
        }
        lines.extend([
            ("smoothing".into(), format!("{}{}", short(found.smoothing), chosen_by(self.smoothing.is_some()))),
            ("duplicates".into(), format!("{:e}", settings.duplicates)),
            ("left and right".into(), if self.mirror { "mirrored".into() } else { "apart".into() }),
            ("guard".into(), on(self.guard).into()),
            ("folds".into(), FoldsText(settings.folds).to_string()),
        ]);
        for channel in &settings.channels {
            let scale = channel.scale.map_or("one over its largest value".into(), |scale| scale.to_string());
            lines.push((format!("channel {}", channel.name), format!("times {scale}")));
        }
        lines
    }

    fn warnings(&self, settings: &PsdSettings, found: &ByExampleReport, input: &FitInput<'_>) -> Vec<FitWarning> {
        let mut warnings = Vec::new();
        if !self.guard {
            warnings.push(FitWarning::PoseSpaceUnguarded);
        }
        if found.raised {
            warnings.push(FitWarning::SmoothingRaised { groups: 1, all: 1, smoothing: found.smoothing });
        }
        let examples = found.shapes.len();
        if found.coordinates.2 == examples && examples > 1 {
            warnings.push(FitWarning::LinearMeetsAll { examples });
        }
        if found.without_partner > 0 {
            warnings.push(FitWarning::WithoutPartner { vertices: found.without_partner });
        }
        if found.damped > 0 {
            warnings.push(FitWarning::Damped { vertices: found.damped, remainder: found.left, kept: false });
        }
        let unmet = found.left > 1e-4 * input.rig.mesh().extent() && found.damped == 0;
        if unmet && settings.smoothing == Some(psd::EXACT) {
            warnings.push(FitWarning::ExamplesDisagree { largest: found.left });
        }
        warnings
    }
}

impl ShapeByExampleReport {
    fn new(report: &ByExampleReport, rig: &Rig) -> Self {
        let point = |p: &psd::PsdPoint| Point { sigma: p.sigma, smoothing: p.smoothing, validated_rms: p.validated };
        let examples = report.shapes.iter().map(|shape| ExampleOfShape {
            name: shape.name.clone(),
            merged: shape.merged.clone(),
            nearest: shape.nearest,
            vertices: shape.vertices,
            largest: shape.largest,
        });
        Self {
            kernel: format!("{:?}", report.family).to_lowercase(),
            sigma: report.sigma,
            smoothing: report.smoothing,
            sweep: report.sweep.iter().map(point).collect(),
            spacing: report.spacing,
            coordinates: report.coordinates.0,
            directions_spanned: report.coordinates.1,
            directions_linear: report.coordinates.2,
            examples: examples.collect(),
            at_bind: report.at_bind.clone(),
            off_cardinal: report.off_cardinal,
            welded_joints: report.welded.iter().map(|&b| rig.skeleton().names()[b].clone()).collect(),
            raised: report.raised,
            reciprocal_condition: report.reciprocal_condition,
            damped: report.damped,
            left: report.left,
        }
    }
}
