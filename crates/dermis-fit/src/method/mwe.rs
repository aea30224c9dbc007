//! Multi-weight enveloping as a [`Method`](super::Method).

use super::base::{BaseChoice, base_at, base_in_training, has_closed_form};
use super::correctives::CorrectiveShape;
use super::importance::{IMPORTANCE, Importance};
use super::learnt::{Solved, SolvedBy};
use super::pose_space::moves_at_rest;
use super::precision::{CoefficientChoice, coefficients};
use super::remembering::{self, REMEMBER, Remembering};
use super::ridge::FoldsText;
use super::settings::{
    BASE, BLOCKS, COEFFICIENTS, DUPLICATES, EIG_TOL, GUARD, LAMBDA, Row, Setting, TOLERANCE, UNTOUCHED, number, some,
    switch, word,
};
use super::{
    FitInput, FitReport, FitWarning, FoldChoice, LEVERAGE_VERTICES, Learnt, MapSource, MethodError, MethodReport,
    RidgePoint, few, ridge_by, short,
};
use crate::mask::touching_nothing;
use crate::mwe::{
    Anchor, Centring, MweReport, MweSettings, PrincipalAxes, RidgeMode, RowChoice, SolvePrecision, Strength, fit_mwe,
    leverages, powers,
};
use crate::training::{BasePoses, Progress, Training, middle, silent};
use dermis_rig::{BoneTransforms, ExampleSet, Rig};
use serde::{Deserialize, Serialize};

/// The frame that features are seen from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AnchorChoice {
    /// The world.
    World,
    /// The first root bone.
    Root,
    /// The bone of largest influence.
    #[default]
    Dominant,
    /// A bone by name.
    Bone(String),
    /// A bone per vertex, handed in beside the rig ([`FitInput::anchors`]).
    PerVertex,
}

/// How λ of multi-weight enveloping is found.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum MweRidge {
    /// λ itself.
    Fixed(f64),
    /// By exact cross-validation.
    CrossValidated {
        /// What is left out at a time.
        #[serde(default)]
        folds: FoldChoice,
        /// The largest λ whose error is within this factor of the best is taken; `None`: 1.
        #[serde(default)]
        tolerance: Option<f64>,
    },
    /// By generalised cross-validation.
    Gcv {
        /// As above.
        #[serde(default)]
        tolerance: Option<f64>,
    },
}

impl Default for MweRidge {
    fn default() -> Self {
        Self::CrossValidated { folds: FoldChoice::Auto, tolerance: None }
    }
}

impl AnchorChoice {
    fn read(text: &str) -> Result<Self, String> {
        Ok(match (text, text.split_once(':')) {
            ("world", _) => Self::World,
            ("root", _) => Self::Root,
            ("dominant", _) => Self::Dominant,
            ("file", _) => Self::PerVertex,
            (_, Some(("bone", name))) => Self::Bone(name.into()),
            _ => return Err("use world, root, dominant, bone:NAME or file:PATH".into()),
        })
    }
}

const ANCHOR: Setting = Setting::new(
    "anchor",
    "world|root|dominant|bone:NAME|file",
    "dominant",
    "Frame that features are seen from; a file has the name of a bone per line and vertex",
);
const ROWS: Setting = Setting::new(
    "rows",
    "row|full|auto",
    "full, auto below 16 poses",
    "Features each axis reads; auto chooses by cross-validation",
);
const CENTRING: Setting =
    Setting::new("centring", "rest|mean|raw|paper", "rest", "What is subtracted from the features").expert();
const RIDGE_MODE: Setting =
    Setting::new("ridge-mode", "absolute|paper|unit|relative", "absolute", "How the ridge depends on the data")
        .expert();
const GCV: Setting =
    Setting::new("gcv", "on|off", "off", "Lambda is chosen by generalised cross-validation, which leaves nothing out")
        .field("ridge")
        .expert();
const SVD_TOL: Setting = Setting::new(
    "svd-tol",
    "SHARE",
    "1e-12 of the largest",
    "Singular values below this share of the largest are dropped, with the published centring",
)
.range(0.0, 1.0)
.expert();
const SOLVE_PRECISION: Setting = Setting::new(
    "solve-precision",
    "double|single",
    "double",
    "Numbers the vertices are solved in, once lambda is known: single is faster, and moves vertices by at most 5e-5 of the character's \
     length",
)
.expert();

impl MweRidge {
    fn rows() -> Vec<Row<Self>> {
        let tolerance = TOLERANCE.default("the least error");
        vec![
            Row::by(GCV, |own: &mut Self, text| {
                if switch(text)? {
                    *own = Self::Gcv { tolerance: own.tolerance() };
                }
                Ok(())
            }),
            Row::new(LAMBDA, |text| number(text).map(Self::Fixed), |own| own),
            Row::by(BLOCKS, |own: &mut Self, text| match own {
                Self::Gcv { .. } => Err("it has no effect beside gcv, which leaves nothing out".into()),
                _ => {
                    *own = Self::CrossValidated { folds: FoldChoice::read(text)?, tolerance: own.tolerance() };
                    Ok(())
                }
            }),
            Row::by(tolerance, |own: &mut Self, text| {
                let tolerance = Some(number(text)?);
                *own = match *own {
                    Self::Gcv { .. } => Self::Gcv { tolerance },
                    Self::CrossValidated { folds, .. } => Self::CrossValidated { folds, tolerance },
                    Self::Fixed(_) => Self::CrossValidated { folds: FoldChoice::Auto, tolerance },
                };
                Ok(())
            }),
        ]
    }

    fn tolerance(self) -> Option<f64> {
        match self {
            Self::Fixed(_) => None,
            Self::CrossValidated { tolerance, .. } | Self::Gcv { tolerance } => tolerance,
        }
    }
}

/// Multi-weight enveloping over a base.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct MweMethod {
    /// The deformer it corrects.
    pub base: BaseChoice,
    /// Where a bone matters.
    pub maps: MapSource,
    /// The frame that features are seen from.
    pub anchor: AnchorChoice,
    /// Row or full features; `None`: full, or by cross-validation below 16 poses.
    pub rows: Option<RowChoice>,
    /// What is subtracted from the features.
    pub centring: Centring,
    /// How the ridge depends on the data.
    pub ridge_mode: RidgeMode,
    /// λ.
    pub ridge: MweRidge,
    /// Principal axes with at most this share of the largest variance are dropped; the absolute ridge drops none.
    /// `None`: 1e-10.
    pub eig_tol: Option<f64>,
    /// Singular values at or below this share of the largest are dropped with the published centring. `None`: 1e-12.
    pub svd_tol: Option<f64>,
    /// Poses whose features around a vertex agree within this are merged; negative: never.
    pub duplicates: f64,
    /// The weight of the vertices that a local sculpt did not touch.
    pub untouched: f64,
    /// How much examples count.
    pub importance: Importance,
    /// Strength of the layer in which the model remembers its sculpts; zero makes none. `None`: one where every example is a sculpt,
    /// else zero.
    pub remember: Option<f64>,
    /// In what precision the vertices are solved.
    pub solve_precision: SolvePrecision,
    /// Joint limits, welding of frozen joints, and the ball around the base.
    pub guard: bool,
    /// How the coefficients are stored.
    pub coefficients: CoefficientChoice,
}

impl Default for MweMethod {
    fn default() -> Self {
        // From 16 poses on the defaults no longer depend on their number.
        let settings = MweSettings::for_poses(usize::MAX, false);
        Self {
            base: BaseChoice::default(),
            maps: MapSource::default(),
            anchor: AnchorChoice::default(),
            rows: None,
            centring: settings.centring,
            ridge_mode: settings.ridge,
            ridge: MweRidge::default(),
            eig_tol: None,
            svd_tol: None,
            duplicates: settings.duplicates,
            untouched: settings.untouched,
            importance: Importance::default(),
            remember: None,
            solve_precision: settings.solve_in,
            guard: settings.guard,
            coefficients: CoefficientChoice::default(),
        }
    }
}

/// What the fit of multi-weight enveloping found, with bones by name.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EnvelopingReport {
    s: f64,
    rows: String,
    sweep: Vec<Point>,
    welded_joints: Vec<String>,
    groups: usize,
    merged_poses: usize,
    solved_by_axes: usize,
    solved_in_single: usize,
    axes_dropped: usize,
    largest_leverage: f64,
    leverage_p99: f64,
    corrected_vertices: usize,
    principal_axes: Option<PrincipalAxes>,
    /// The sculpts that the model remembers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) remembered: Vec<CorrectiveShape>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct Point {
    s: f64,
    train_rms: f64,
    validated_rms: f64,
}

impl MweMethod {
    pub(super) fn rows() -> Vec<Row<Self>> {
        let mut rows: Vec<Row<Self>> = vec![Row::new(BASE, word, |own: &mut Self| &mut own.base)];
        rows.extend(MapSource::rows().into_iter().map(|row| row.of(|own: &mut Self| &mut own.maps)));
        rows.extend([
            Row::new(ANCHOR, AnchorChoice::read, |own: &mut Self| &mut own.anchor),
            Row::new(ROWS, some(word), |own| &mut own.rows),
            Row::new(CENTRING, word, |own| &mut own.centring),
            Row::new(RIDGE_MODE, word, |own| &mut own.ridge_mode),
        ]);
        rows.extend(MweRidge::rows().into_iter().map(|row| row.of(|own: &mut Self| &mut own.ridge)));
        rows.extend([
            Row::new(EIG_TOL.default("1e-10 of the largest"), some(number), |own: &mut Self| &mut own.eig_tol),
            Row::new(SVD_TOL, some(number), |own| &mut own.svd_tol),
            Row::new(DUPLICATES, number, |own| &mut own.duplicates),
            Row::new(UNTOUCHED, number, |own| &mut own.untouched),
            Row::new(IMPORTANCE, Importance::read, |own| &mut own.importance),
            Row::new(SOLVE_PRECISION, word, |own| &mut own.solve_precision),
            Row::new(GUARD, switch, |own| &mut own.guard),
            Row::new(COEFFICIENTS, coefficients, |own| &mut own.coefficients),
            Row::new(REMEMBER, some(number), |own| &mut own.remember),
        ]);
        rows
    }

    /// The published form to the letter: features of the world, row by row, its centring, its ridge with s_f = 1e-3, no
    /// guard (Wang & Phillips 2002, equations 4 to 9).
    pub fn published() -> Self {
        let settings = MweSettings::published(1e-3);
        Self {
            anchor: AnchorChoice::World,
            rows: Some(settings.rows),
            centring: settings.centring,
            ridge_mode: settings.ridge,
            ridge: MweRidge::Fixed(1e-3),
            guard: settings.guard,
            ..Self::default()
        }
    }

    /// Whether it can be fitted to sums.
    pub(super) fn streams(&self) -> bool {
        !matches!(self.base, BaseChoice::Given | BaseChoice::Model | BaseChoice::Stack)
            && !matches!(self.maps, MapSource::Examples(_))
    }

    pub(super) fn check(&self) -> Result<(), MethodError> {
        self.base.check_for("mwe")?;
        self.maps.check()?;
        UNTOUCHED.check(self.untouched)?;
        self.importance.check()?;
        self.remember.map_or(Ok(()), |strength| REMEMBER.check(strength))?;
        match self.ridge {
            MweRidge::Fixed(ridge) => LAMBDA.check(ridge)?,
            MweRidge::CrossValidated { folds, .. } => folds.check()?,
            MweRidge::Gcv { .. } => {}
        }
        let numbers = [
            (TOLERANCE, self.ridge.tolerance()),
            (DUPLICATES, Some(self.duplicates)),
            (EIG_TOL, self.eig_tol),
            (SVD_TOL, self.svd_tol),
        ];
        for (setting, value) in numbers {
            value.map_or(Ok(()), |value| setting.check(value))?;
        }
        if self.eig_tol.is_some() && self.ridge_mode == RidgeMode::Absolute {
            return Err(MethodError::Unused {
                setting: EIG_TOL.name,
                with: "on the absolute ridge, which drops no axis",
            });
        }
        if self.svd_tol.is_some() && self.centring != Centring::Paper {
            return Err(MethodError::Unused { setting: SVD_TOL.name, with: "but with the published centring" });
        }
        Ok(())
    }

    pub(super) fn fit(&self, input: &FitInput<'_>, progress: Progress<'_>) -> Result<Learnt, MethodError> {
        let maps = self.maps.of(input, progress)?;
        let mut base = self.base.of(input)?;
        let settings = self.settings(input, input.examples.len(), input.examples.is_clip())?;
        let fit = |training: Training<'_>| {
            fit_mwe(&training, &maps, &settings, progress).map(|fitted| (fitted, touching_nothing(&training)))
        };
        let (fitted, bare) = if has_closed_form(&base, input) {
            let at = |transforms: &BoneTransforms, v: usize| base_at(&base, input.rig, transforms, v);
            fit(input.training(BasePoses::Computed(&at)))?
        } else {
            let stored = base_in_training(&mut base, input)?;
            fit(input.training((&stored).into()))?
        };
        let strength = remembering::strength(self.remember, input.examples);
        let shown = if strength > 0.0 { base_in_training(&mut base, input)? } else { vec![] };
        let mut report = self.report(&settings, &fitted.report, input.rig);
        if strength == 0.0 && report.has_evidence() {
            report.warnings.extend(few(input.examples.len()));
        }
        if !bare.is_empty() {
            report.warnings.push(FitWarning::NothingSculpted { examples: bare });
        }
        report.warnings.extend(moves_at_rest(&mut base, input));
        let solved = SolvedBy::Mwe(fitted.report);
        let learnt = Learnt::new(base, Some(fitted.correction.into()), input, report, solved)?;
        let mut learnt = Learnt { coefficients: self.coefficients.of_model(strength > 0.0), ..learnt };
        if strength > 0.0 {
            let layer = Remembering { strength, mirror: None, guard: self.guard, base: &shown };
            learnt = layer.over(learnt, input, progress)?;
        }
        Ok(learnt)
    }

    pub(super) fn unseen_leverage(
        &self,
        input: &FitInput<'_>,
        solved: &Solved,
        unseen: &ExampleSet,
    ) -> Result<f64, MethodError> {
        let SolvedBy::Mwe(report) = &solved.0 else { return Ok(0.0) };
        let maps = self.maps.of(input, &silent)?;
        let mut base = self.base.of(input)?;
        let settings = self.settings(input, input.examples.len(), input.examples.is_clip())?;
        let probes: Vec<&BoneTransforms> = unseen.examples().iter().map(|e| &e.transforms).collect();
        let all = if has_closed_form(&base, input) {
            let at = |transforms: &BoneTransforms, v: usize| base_at(&base, input.rig, transforms, v);
            let training = input.training(BasePoses::Computed(&at));
            leverages(&training, &maps, &settings, report, &probes, LEVERAGE_VERTICES)?
        } else {
            let stored = base_in_training(&mut base, input)?;
            leverages(&input.training((&stored).into()), &maps, &settings, report, &probes, LEVERAGE_VERTICES)?
        };
        Ok(all.into_iter().fold(0.0, f64::max))
    }

    /// The settings of the fit for a rig and a number of poses.
    pub(super) fn settings(
        &self,
        input: &FitInput<'_>,
        poses: usize,
        is_clip: bool,
    ) -> Result<MweSettings, MethodError> {
        let mut settings = MweSettings::for_poses(poses, is_clip);
        settings.anchor = match &self.anchor {
            AnchorChoice::World => Anchor::World,
            AnchorChoice::Root => Anchor::Root,
            AnchorChoice::Dominant => Anchor::Dominant,
            AnchorChoice::Bone(name) => Anchor::Bone(input.bone(name)?),
            AnchorChoice::PerVertex => {
                let names =
                    input.anchors.ok_or(MethodError::InputLacks { what: "anchors, a bone name per vertex," })?;
                Anchor::PerVertex(names.iter().map(|name| input.bone(name)).collect::<Result<_, _>>()?)
            }
        };
        if self.ridge_mode != RidgeMode::Absolute {
            settings.grid = powers(1e-10, 10.0, 2);
        }
        let tolerance;
        (settings.strength, tolerance) = match self.ridge {
            MweRidge::Fixed(ridge) => (Strength::Given(ridge), None),
            MweRidge::CrossValidated { folds, tolerance } => (Strength::CrossValidated(folds.of(is_clip)), tolerance),
            MweRidge::Gcv { tolerance } => (Strength::Gcv, tolerance),
        };
        settings.rows = self.rows.unwrap_or(settings.rows);
        settings.centring = self.centring;
        settings.ridge = self.ridge_mode;
        settings.tolerance = tolerance.unwrap_or(settings.tolerance);
        settings.eig_tol = self.eig_tol.unwrap_or(settings.eig_tol);
        settings.svd_tol = self.svd_tol.unwrap_or(settings.svd_tol);
        settings.solve_in = self.solve_precision;
        settings.duplicates = self.duplicates;
        settings.untouched = self.untouched;
        settings.guard = self.guard;
        if self.anchor != AnchorChoice::World {
            settings.origin = middle(&input.rig.mesh().positions);
        }
        Ok(settings)
    }

    pub(super) fn report(&self, settings: &MweSettings, found: &MweReport, rig: &Rig) -> FitReport {
        let details = MethodReport::Mwe(EnvelopingReport::new(found, rig));
        let mut report = FitReport::new("mwe", details).with_base(self.base);
        report.settings.extend(self.maps.lines());
        let anchor = match &self.anchor {
            AnchorChoice::World => "world".into(),
            AnchorChoice::Root => "root".into(),
            AnchorChoice::Dominant => "dominant".into(),
            AnchorChoice::Bone(name) => format!("bone {name}"),
            AnchorChoice::PerVertex => "per vertex".into(),
        };
        let fixed = matches!(settings.strength, Strength::Given(_));
        report.settings.extend([
            ("anchor".into(), anchor),
            ("rows".into(), format!("{:?}", found.rows).to_lowercase()),
            ("centring".into(), format!("{:?}", settings.centring).to_lowercase()),
            ("ridge".into(), format!("{:?}", settings.ridge).to_lowercase()),
            ("s".into(), format!("{}{}", short(found.s), ridge_by(fixed, !found.sweep.is_empty()))),
            ("tolerance of the choice".into(), settings.tolerance.to_string()),
            ("duplicates".into(), format!("{:e}", settings.duplicates)),
            ("eig-tol / svd-tol".into(), format!("{:e} / {:e}", settings.eig_tol, settings.svd_tol)),
            ("guard".into(), if settings.guard { "on".into() } else { "off".into() }),
        ]);
        if found.touched < rig.mesh().positions.len() {
            let touched = format!("{} of {}", found.touched, rig.mesh().positions.len());
            report.settings.push(("sculpted vertices".into(), touched));
            report.settings.push(("weight of untouched vertices".into(), short(settings.untouched)));
        }
        if let Some(share) = found.left_out_share {
            report.settings.push(("sculpts left out".into(), format!("{share:.2} of the error of the base")));
        }
        if let Some(axes) = found.principal_axes {
            let kept = format!(
                "{:.1} of {:.1} a regression explain {:.4} % of the variance of the features; {:.1} explain 99 %",
                axes.kept,
                axes.columns,
                100.0 * axes.explained,
                axes.for_99_percent
            );
            report.settings.push(("principal axes".into(), kept));
        }
        if settings.solve_in == SolvePrecision::Single {
            report.settings.push(("solved in single precision".into(), format!("{} vertices", found.in_single)));
        }
        match settings.strength {
            _ if found.sweep.is_empty() => {}
            Strength::CrossValidated(folds) => {
                report.settings.push(("folds".into(), FoldsText(folds).to_string()));
                report.validated_by = Some(FoldsText(folds).to_string());
            }
            Strength::Gcv => report.validated_by = Some("generalised cross-validation".into()),
            Strength::Given(_) => {}
        }
        report.warnings = warnings(settings, found);
        let point =
            |p: &crate::mwe::SweepPoint| RidgePoint { ridge: p.s, train: Some(p.train), validated: p.validated };
        report.sweep = found.sweep.iter().map(point).collect();
        report.ridge = Some(found.s);
        report
    }
}

fn warnings(settings: &MweSettings, report: &MweReport) -> Vec<FitWarning> {
    let mut warnings = Vec::new();
    if !settings.guard {
        warnings.push(FitWarning::EnvelopingUnguarded);
    }
    if settings.ridge != RidgeMode::Absolute {
        warnings.push(FitWarning::VanishingRidge { largest_leverage: report.largest_leverage });
    }
    if settings.anchor == Anchor::World {
        warnings.push(FitWarning::WorldFeatures);
    }
    if settings.centring != Centring::Rest {
        warnings.push(FitWarning::BindNotExact);
    }
    if report.sweep.is_empty() && !matches!(settings.strength, Strength::Given(_)) {
        warnings.push(FitWarning::NothingToValidate { symbol: "s", ridge: report.s });
    }
    if let Some((low, high)) = report.sweep.first().zip(report.sweep.last())
        && report.sweep.len() > 1
        && (report.s == high.s || report.s == low.s)
    {
        warnings.push(FitWarning::RidgeAtEdge { symbol: "s", ridge: report.s });
    }
    warnings
}

impl EnvelopingReport {
    fn new(report: &MweReport, rig: &Rig) -> Self {
        let point = |p: &crate::mwe::SweepPoint| Point { s: p.s, train_rms: p.train, validated_rms: p.validated };
        Self {
            s: report.s,
            rows: format!("{:?}", report.rows).to_lowercase(),
            sweep: report.sweep.iter().map(point).collect(),
            welded_joints: report.welded.iter().map(|&b| rig.skeleton().names()[b].clone()).collect(),
            groups: report.groups,
            merged_poses: report.merged,
            solved_by_axes: report.by_axes,
            solved_in_single: report.in_single,
            axes_dropped: report.axes_dropped,
            largest_leverage: report.largest_leverage,
            leverage_p99: report.leverage_p99,
            corrected_vertices: report.corrected,
            principal_axes: report.principal_axes,
            remembered: vec![],
        }
    }
}
