//! The joint model as a [`Method`](super::Method).

use super::base::{BaseChoice, base_at, base_in_training, has_closed_form};
use super::correctives::CorrectiveShape;
use super::forms::{
    ARC_COSINE, Asked, COMPOSITES, FactorChoice, FormChoice, Forms, GRAVITY, GravityChoice, PRODUCTS, SWING_TWIST,
};
use super::importance::{IMPORTANCE, Importance};
use super::learnt::{Solved, SolvedBy};
use super::mush::{self, Seen};
use super::precision::{CoefficientChoice, coefficients};
use super::remembering::{self, REMEMBER, are_sculpts};
use super::ridge::FoldsText;
use super::settings::{
    BASE, COEFFICIENTS, GUARD, MIRROR, Row, SIGMA, Setting, TOLERANCE, UNTOUCHED, number, some, switch, word,
};
use super::{
    FitInput, FitReport, FitWarning, LEVERAGE_VERTICES, Learnt, MethodError, MethodReport, RidgeChoice, RidgePoint,
    chosen_by, few, ridge_by, short,
};
use crate::joints::{
    CompositeSummary, JointFit, JointReport, JointSettings, Prior, Validation, fit_joints, joint_leverages,
    sculpts_tell,
};
use crate::mask::{Masks, touching_nothing};
use crate::psd::remember::{LayerReport, remember};
use crate::training::{BasePoses, Progress, Training};
use dermis_deform::Base;
use dermis_deform::joints::{CorrectionFrame, MOST_INDUCING};
use dermis_rig::{BoneTransforms, ExampleSet, Influences, Mirror, Rig};
use serde::{Deserialize, Serialize};

/// The joint model over a base.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct JointMethod {
    /// The deformer it corrects.
    pub base: BaseChoice,
    /// What corrections are seen from.
    pub frame: CorrectionFrame,
    /// σ of the kernel, a chord 2 sin(angle/2).
    pub sigma: f64,
    /// Inducing rotations per joint, at most.
    pub inducing: usize,
    /// Share of the arc-cosine kernel.
    pub arc_cosine: FactorChoice,
    /// Whether skin sees where down is.
    pub gravity: GravityChoice,
    /// Whether joints are read in two parts, swing and twist.
    pub swing_twist: FormChoice,
    /// Composite joints: what two neighbouring joints do together.
    pub composites: FactorChoice,
    /// Products of neighbouring joints: what each does while the other does something.
    pub products: FactorChoice,
    /// Whether examples may teach both sides of a symmetric rig; with a fixed λ they always do.
    pub mirror: bool,
    /// λ.
    pub ridge: RidgeChoice,
    /// The weight of the vertices that a local sculpt did not touch.
    pub untouched: f64,
    /// How much examples count.
    pub importance: Importance,
    /// Joint limits, welding of frozen joints, and the ball around the base.
    pub guard: bool,
    /// How the coefficients are stored.
    pub coefficients: CoefficientChoice,
    /// Strength of the layer in which the model remembers its sculpts; zero makes none. `None`: one where every example is a sculpt,
    /// else zero.
    pub remember: Option<f64>,
}

impl Default for JointMethod {
    fn default() -> Self {
        let settings = JointSettings::new(false);
        Self {
            base: BaseChoice::Auto,
            frame: settings.frame,
            sigma: settings.sigma,
            inducing: settings.inducing,
            arc_cosine: FactorChoice::Auto,
            gravity: GravityChoice::Auto,
            swing_twist: FormChoice::Off,
            composites: FactorChoice::Auto,
            products: FactorChoice::Auto,
            mirror: true,
            ridge: RidgeChoice::default(),
            untouched: settings.untouched,
            importance: Importance::default(),
            guard: settings.ball,
            coefficients: CoefficientChoice::default(),
            remember: None,
        }
    }
}

/// What the joint model's fit found, with bones by name.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JointModelReport {
    bases: Vec<ValidatedBase>,
    arc_cosine: f64,
    arc_cosines: Vec<ValidatedShare>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gravity: Option<Sagging>,
    gravities: Vec<ValidatedGravity>,
    composites: Vec<ValidatedComposites>,
    composite_joints: Vec<TrainedComposite>,
    swing_twist: bool,
    swing_twists: Vec<ValidatedParts>,
    products: Vec<ValidatedComposites>,
    product_joints: Vec<TrainedComposite>,
    s: f64,
    sweep: Vec<Validated>,
    mirrored: bool,
    other_sweep: Vec<Validated>,
    sweep_vertices: usize,
    joints: Vec<TrainedJoint>,
    welded_joints: Vec<String>,
    groups: usize,
    train_rms: f64,
    largest_residual: f64,
    largest_leverage: f64,
    leverage_p99: f64,
    corrected_vertices: usize,
    /// The sculpts that the model remembers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remembered: Vec<CorrectiveShape>,
}

/// The error that a λ leaves on poses left out.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct Validated {
    s: f64,
    validated_rms: f64,
}

/// The error that a model over a base leaves on poses left out.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct ValidatedBase {
    base: String,
    /// Rms over vertices and poses, metres.
    validated: f64,
}

/// The error that a model leaves on poses left out whose joints are read in two parts, or whole.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct ValidatedParts {
    swing_twist: bool,
    /// Rms over vertices and poses, metres.
    validated: f64,
}

/// The error that a model with composite joints, or with products, of a factor η leaves on poses left out.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct ValidatedComposites {
    eta: f64,
    /// The mean over vertices of their rms.
    validated: f64,
}

/// The error that a share of the arc-cosine kernel leaves on poses left out.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct ValidatedShare {
    share: f64,
    /// Rms over vertices and poses, metres.
    validated: f64,
}

/// The error that a model leaves on poses left out whose bones see a direction down, or none.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct ValidatedGravity {
    down: Option<[f64; 3]>,
    /// Rms over vertices and poses, metres.
    validated: f64,
}

/// Down, and the bones that see it.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Sagging {
    down: [f64; 3],
    bones: Vec<String>,
}

/// A composite joint: bones of its two joints, and how much the examples moved both.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct TrainedComposite {
    first: [String; 2],
    second: [String; 2],
    gate: f64,
    inducing: usize,
}

/// What training showed of a joint.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct TrainedJoint {
    from: String,
    to: String,
    largest_degrees: f64,
    frozen: bool,
    inducing: usize,
}

/// What a fit chose and solved.
pub(super) struct Found {
    pub base: BaseChoice,
    /// The bases compared.
    pub bases: mush::Choice,
    /// The forms taken, and what they were compared with.
    pub forms: Forms,
    pub fitted: JointFit,
}

const FRAME: Setting = Setting::new(
    "frame",
    "anchor|rest|blend",
    "blend",
    "What corrections are seen from: the dominant bone, the rest pose (they precede skinning, as morph targets do), or the blend of the \
     bones' rotations",
);
const INDUCING: Setting = Setting::new("inducing", "N", "8", "Inducing rotations per joint, at most")
    .range(1.0, MOST_INDUCING as f64)
    .expert();
const SIDES: &str = "Every example teaches both sides of a rig with a left and a right; the joint model mirrors if that lowers the \
                     cross-validated error, and always with a stated lambda";

impl JointMethod {
    pub(super) fn rows() -> Vec<Row<Self>> {
        let mut rows: Vec<Row<Self>> = vec![
            Row::new(BASE.default("auto"), word, |own: &mut Self| &mut own.base),
            Row::new(FRAME, word, |own| &mut own.frame),
            Row::new(SIGMA.default("1.4"), number, |own| &mut own.sigma),
            Row::new(INDUCING, number, |own| &mut own.inducing),
            Row::new(ARC_COSINE, word, |own| &mut own.arc_cosine),
            Row::new(GRAVITY, word, |own| &mut own.gravity),
            Row::new(SWING_TWIST, word, |own| &mut own.swing_twist),
            Row::new(COMPOSITES, word, |own| &mut own.composites),
            Row::new(PRODUCTS, word, |own| &mut own.products),
            Row::new(MIRROR.default("on").help(SIDES), switch, |own| &mut own.mirror),
        ];
        rows.extend(RidgeChoice::rows().into_iter().map(|row| row.of(|own: &mut Self| &mut own.ridge)));
        let tolerance = rows.iter_mut().filter(|row| row.setting.name == TOLERANCE.name);
        tolerance.for_each(|row| row.setting.default = "1.02 times the least error");
        rows.push(Row::new(UNTOUCHED, number, |own| &mut own.untouched));
        rows.push(Row::new(IMPORTANCE, Importance::read, |own| &mut own.importance));
        rows.push(Row::new(GUARD, switch, |own| &mut own.guard));
        rows.push(Row::new(COEFFICIENTS, coefficients, |own| &mut own.coefficients));
        rows.push(Row::new(REMEMBER, some(number), |own| &mut own.remember));
        rows
    }

    pub(super) fn check(&self) -> Result<(), MethodError> {
        self.base.check_for("joint")?;
        SIGMA.check(self.sigma)?;
        INDUCING.check(self.inducing as f64)?;
        self.arc_cosine.check(&ARC_COSINE)?;
        self.composites.check(&COMPOSITES)?;
        self.products.check(&PRODUCTS)?;
        UNTOUCHED.check(self.untouched)?;
        self.importance.check()?;
        self.remember.map_or(Ok(()), |strength| REMEMBER.check(strength))?;
        self.ridge.check()
    }

    pub(super) fn fit(&self, input: &FitInput<'_>, progress: Progress<'_>) -> Result<Learnt, MethodError> {
        let weights = input.weights()?;
        let mut settings = self.settings(input.rig, weights, input.examples.is_clip());
        if are_sculpts(input.examples) {
            settings.mirror = settings.mirror.filter(Mirror::has_sides);
        }
        let own_skin = self.keeps_own_skin(input, &settings, progress)?;
        let (bases, plain) =
            if own_skin { (vec![], None) } else { self.bases(&Seen::of(input)?, &settings, progress)? };
        let stated = if own_skin { BaseChoice::Lbs } else { self.base };
        let chosen = bases.first().map_or(stated, |&(base, _)| base);
        let mut base = chosen.of(input)?;
        // What can be computed where it is read is not held.
        let closed = has_closed_form(&base, input);
        let positions = if closed { vec![] } else { base_in_training(&mut base, input)? };
        let at = |transforms: &BoneTransforms, v: usize| base_at(&base, input.rig, transforms, v);
        let training = input.training(if closed { BasePoses::Computed(&at) } else { (&positions).into() });
        let forms = self.forms((&training, weights, input.rig.states_up()), plain, &settings, progress)?;
        forms.set(&mut settings);
        let mut fitted = fit_joints(&training, weights, &settings, progress)?;
        let strength = remembering::strength(self.remember, input.examples);
        let mut layer = None;
        if strength > 0.0 {
            let mirror = settings.mirror.as_ref().filter(|_| fitted.report.mirrored);
            layer = Some(remember(&training, &mut fitted.correction, strength, mirror, self.guard, progress)?);
        }
        let bare = touching_nothing(&training);
        let found = Found { base: chosen, bases, forms, fitted };
        let mut learnt = self.learnt(base, found, settings, input, input.examples.len())?;
        if !bare.is_empty() {
            learnt.report.warnings.push(FitWarning::NothingSculpted { examples: bare });
        }
        if let Some(layer) = &layer {
            learnt.report.settings.push(("remembered".into(), strength.to_string()));
            Self::remembers(&mut learnt.report, layer, input.rig);
        }
        Ok(learnt)
    }

    /// Adds the layer to the report.
    fn remembers(report: &mut FitReport, layer: &LayerReport, rig: &Rig) {
        report.warnings.extend(remembering::warnings(layer));
        if let MethodReport::Joint(own) = &mut report.details {
            own.remembered = layer.shapes.iter().map(|shape| CorrectiveShape::new(shape, rig)).collect();
        }
    }

    /// Whether sculpts keep the rig's own skin as their base, over which they were made. Another one would move skin that nobody
    /// touched, and nothing tells that it is better where sculpts do not predict each other.
    fn keeps_own_skin(
        &self,
        input: &FitInput<'_>,
        settings: &JointSettings,
        progress: Progress<'_>,
    ) -> Result<bool, MethodError> {
        if self.base != BaseChoice::Auto || Masks::of(&input.training(BasePoses::NONE)).is_none() {
            return Ok(false);
        }
        let positions = base_in_training(&mut BaseChoice::Lbs.of(input)?, input)?;
        let training = input.training((&positions).into());
        // The bar stays where it is: this is before the fit.
        let still = |_: u64, _: u64| progress(0, 1);
        Ok(!sculpts_tell(&training, input.weights()?, settings, &still)?)
    }

    /// The bases compared, if the choice is left to the examples, and the error that the one taken leaves.
    pub(super) fn bases(
        &self,
        seen: &Seen<'_>,
        settings: &JointSettings,
        progress: Progress<'_>,
    ) -> Result<(mush::Choice, Option<Validation>), MethodError> {
        Ok(match self.base {
            BaseChoice::Auto => {
                let (bases, plain) = mush::choose(seen, settings, progress)?;
                (bases, Some(plain))
            }
            _ => (vec![], None),
        })
    }

    /// The forms that the examples ask for; `plain` is the error without any, where it is known.
    pub(super) fn forms(
        &self,
        training: (&Training<'_>, &Influences, bool),
        plain: Option<Validation>,
        settings: &JointSettings,
        progress: Progress<'_>,
    ) -> Result<Forms, MethodError> {
        let Self { arc_cosine, swing_twist, gravity, composites, products, .. } = *self;
        let asked = Asked { arc_cosine, swing_twist, gravity, composites, products };
        Forms::choose(asked, training, plain, settings, progress)
    }

    /// The model with its report. Nothing but the rig is read of `input`.
    pub(super) fn learnt(
        &self,
        base: Base,
        found: Found,
        settings: JointSettings,
        input: &FitInput<'_>,
        examples: usize,
    ) -> Result<Learnt, MethodError> {
        let Found { base: chosen, bases, forms, fitted } = found;
        let mut report = self.report(&settings, &fitted.report, (chosen, bases), forms, input.rig);
        let meets = fitted.correction.layer.is_some();
        if !meets && (report.has_evidence() || fitted.report.prior == Some(Prior::Calm)) {
            report.warnings.extend(few(examples));
        }
        let mirrored = fitted.report.mirrored;
        let solved = SolvedBy::Joint(fitted.report);
        let learnt = Learnt::new(base, Some(fitted.correction.into()), input, report, solved)?;
        let coefficients = self.coefficients.of_model(meets);
        Ok(Learnt { mirror: settings.mirror.filter(|_| mirrored), coefficients, ..learnt })
    }

    pub(super) fn unseen_leverage(
        &self,
        input: &FitInput<'_>,
        solved: &Solved,
        unseen: &ExampleSet,
    ) -> Result<f64, MethodError> {
        let SolvedBy::Joint(report) = &solved.0 else { return Ok(0.0) };
        let weights = input.weights()?;
        let settings = self.settings(input.rig, weights, input.examples.is_clip());
        let probes: Vec<&BoneTransforms> = unseen.examples().iter().map(|e| &e.transforms).collect();
        // Leverage is that of the features, whatever the residuals are.
        let rest = &input.rig.mesh().positions;
        let still = |_: &BoneTransforms, v: usize| rest[v];
        // What a local sculpt touched may be found by its difference from the base.
        let over_base =
            match input.examples.examples().iter().any(|e| e.local.is_some()) && self.base != BaseChoice::Auto {
                true => Some(base_in_training(&mut self.base.of(input)?, input)?),
                false => None,
            };
        let training = input.training(over_base.as_ref().map_or(BasePoses::Computed(&still), BasePoses::from));
        let all = joint_leverages(&training, weights, &settings, report, &probes, LEVERAGE_VERTICES)?;
        Ok(all.into_iter().fold(0.0, f64::max))
    }

    /// The settings of the fit for a rig.
    pub(super) fn settings(&self, rig: &Rig, weights: &Influences, is_clip: bool) -> JointSettings {
        let mut settings = JointSettings::new(is_clip);
        if self.mirror {
            settings.mirror = Mirror::find(&rig.mesh().positions, rig.skeleton(), weights);
        }
        settings.lambda = self.ridge.fixed();
        settings.untouched = self.untouched;
        settings.frame = self.frame;
        settings.sigma = self.sigma;
        settings.inducing = self.inducing;
        settings.inducing_sliding = settings.inducing_sliding.max(self.inducing);
        settings.folds = self.ridge.folds(is_clip);
        settings.tolerance = self.ridge.tolerance().unwrap_or(settings.tolerance);
        if !self.guard {
            (settings.limit, settings.shared_limit, settings.ball) = (f64::INFINITY, false, false);
        }
        settings
    }

    fn report(
        &self,
        settings: &JointSettings,
        found: &JointReport,
        (base, bases): (BaseChoice, mush::Choice),
        forms: Forms,
        rig: &Rig,
    ) -> FitReport {
        let fixed = self.ridge.fixed().is_some();
        let base_stated = bases.is_empty();
        let by = [
            forms.arc_cosine.tried.is_empty(),
            forms.gravity.tried.is_empty(),
            forms.composites.tried.is_empty(),
            forms.swing_twist.tried.is_empty(),
            forms.products.tried.is_empty(),
        ]
        .map(chosen_by);
        let joint = JointModelReport::new(found, bases, forms, rig);
        let mut report = FitReport::new("joint", MethodReport::Joint(joint));
        let pairs = |eta: f64, count: usize| match eta {
            0.0 => "none".into(),
            eta => format!("{count}, of factor {eta}"),
        };
        let composites = pairs(settings.composites, found.composites.len());
        let products = pairs(settings.products, found.products.len());
        let because = match base_stated && self.base == BaseChoice::Auto {
            true => " (over which the sculpts were made)",
            false => chosen_by(base_stated),
        };
        report.settings.push(("base".into(), format!("{base}{because}")));
        let kernel = match found.kernel.arc_cosine {
            0.0 => "Gaussian".into(),
            1.0 => "arc-cosine".into(),
            share => format!("Gaussian, and arc-cosine to {:.0} %", 100.0 * share),
        };
        report.settings.push(("kernel".into(), format!("{kernel}{}", by[0])));
        let gravity = match (settings.gravity, &found.gravity) {
            (None, _) => "none".into(),
            (Some(_), None) => "none: no bone tilted".into(),
            (Some(down), Some(seen)) => {
                format!("down is {}, seen by {} bones", GravityChoice::Down(down.to_array()), seen.bones.len())
            }
        };
        let parts = if settings.swing_twist { "apart" } else { "together" };
        report.settings.push(("swing and twist".into(), format!("{parts}{}", by[3])));
        report.settings.push(("gravity".into(), format!("{gravity}{}", by[1])));
        report.settings.push(("composite joints".into(), format!("{composites}{}", by[2])));
        report.settings.push(("products of joints".into(), format!("{products}{}", by[4])));
        report.settings.extend([
            ("frame".into(), format!("{:?}", settings.frame).to_lowercase()),
            ("sigma".into(), settings.sigma.to_string()),
            ("inducing rotations".into(), format!("{} / {} sliding", settings.inducing, settings.inducing_sliding)),
            ("lambda".into(), format!("{}{}", short(found.lambda), lambda_by(fixed, found))),
            ("tolerance of the choice".into(), settings.tolerance.to_string()),
            ("left and right".into(), sides(settings, found)),
            ("guard".into(), if settings.ball { "on".into() } else { "off".into() }),
        ]);
        if found.touched < rig.mesh().positions.len() {
            let of = rig.mesh().positions.len();
            report
                .settings
                .push(("sculpted vertices".into(), format!("{} of {of}, with those they mirror", found.touched)));
        }
        if let Some(share) = found.left_out_share {
            report.settings.push(("sculpts left out".into(), format!("{share:.2} of the error of the base")));
        }
        if found.prior.is_some() || found.touched < rig.mesh().positions.len() {
            report.settings.push(("beta".into(), short(found.beta)));
            report.settings.push(("weight of untouched vertices".into(), short(settings.untouched)));
        }
        if !found.sweep.is_empty() {
            let folds = match found.dealt {
                Some(parts) => format!("{parts} parts to which the poses are dealt"),
                None => FoldsText(settings.folds).to_string(),
            };
            report.settings.push(("folds".into(), folds.clone()));
            report.validated_by = Some(folds);
        }
        report.warnings = warnings(settings, found);
        report.sweep =
            found.sweep.iter().map(|&(ridge, validated)| RidgePoint { ridge, train: None, validated }).collect();
        report.ridge = Some(found.lambda);
        report
    }
}

/// By what λ was chosen.
fn lambda_by(fixed: bool, found: &JointReport) -> &'static str {
    match found.prior {
        None => ridge_by(fixed, !found.sweep.is_empty()),
        Some(Prior::Calm) => " (too few sculpts to choose by; the calm default)",
        Some(Prior::Between) => " (between the calm default and cross-validation, which these sculpts hardly bear)",
        Some(Prior::LeftOut) => chosen_by(false),
    }
}

/// What became of the rig's symmetry.
fn sides(settings: &JointSettings, report: &JointReport) -> String {
    match (&settings.mirror, report.mirrored) {
        (None, _) => "no symmetry used".into(),
        (Some(_), true) => "every example teaches both".into(),
        (Some(_), false) => "symmetric, but mirrored examples do not help".into(),
    }
}

fn warnings(settings: &JointSettings, report: &JointReport) -> Vec<FitWarning> {
    let mut warnings = Vec::new();
    if !settings.ball {
        warnings.push(FitWarning::JointsUnguarded);
    }
    if let Some((low, high)) = report.sweep.first().zip(report.sweep.last())
        && report.sweep.len() > 1
        && (report.lambda == high.0 || report.lambda == low.0)
    {
        warnings.push(FitWarning::RidgeAtEdge { symbol: "lambda", ridge: report.lambda });
    }
    if report.prior == Some(Prior::Calm) {
        warnings.push(FitWarning::CalmDefault { symbol: "lambda", ridge: report.lambda });
    } else if settings.lambda.is_none() && report.sweep.is_empty() {
        warnings.push(FitWarning::NothingToValidate { symbol: "lambda", ridge: report.lambda });
    }
    if report.joints.iter().all(|joint| joint.inducing == 0) {
        warnings.push(FitWarning::NoJointTurned);
    }
    warnings
}

impl JointModelReport {
    /// Whether examples taught both sides of a symmetric rig.
    pub fn mirrored(&self) -> bool {
        self.mirrored
    }

    /// λ and the cross-validated error it leaves, rms in metres, ascending; empty if λ was fixed.
    pub fn sweep(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.sweep.iter().map(|p| (p.s, p.validated_rms))
    }

    /// The sweep of the alternative: without mirrored examples if they taught, with them if they did not; empty if nothing
    /// was compared.
    pub fn other_sweep(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.other_sweep.iter().map(|p| (p.s, p.validated_rms))
    }

    /// The bases that were compared, the one taken first, with the cross-validated error: rms over some vertices, in
    /// metres. Empty if the base was stated.
    pub fn bases(&self) -> impl Iterator<Item = (&str, f64)> + '_ {
        self.bases.iter().map(|b| (&*b.base, b.validated))
    }

    /// The directions of gravity that were compared, `None` among them, the one taken first, with the cross-validated error: rms over
    /// some vertices, in metres. Empty if it was stated.
    pub fn gravities(&self) -> impl Iterator<Item = (Option<[f64; 3]>, f64)> + '_ {
        self.gravities.iter().map(|tried| (tried.down, tried.validated))
    }

    /// The factors η of composite joints that were compared, the one taken first, with the cross-validated error: the mean over
    /// some vertices of their rms, in metres. Empty if η was stated.
    pub fn composites(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.composites.iter().map(|c| (c.eta, c.validated))
    }

    /// Whether joints are read in two parts, and the cross-validated error of both, that taken first: rms over some vertices, in metres.
    /// Empty if it was stated.
    pub fn swing_twists(&self) -> impl Iterator<Item = (bool, f64)> + '_ {
        self.swing_twists.iter().map(|tried| (tried.swing_twist, tried.validated))
    }

    /// The factors η of products that were compared, as [`Self::composites`].
    pub fn products(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.products.iter().map(|c| (c.eta, c.validated))
    }

    fn new(report: &JointReport, bases: mush::Choice, forms: Forms, rig: &Rig) -> Self {
        let name = |bone| rig.skeleton().names()[bone].clone();
        let sweep = |points: &[(f64, f64)]| {
            points.iter().map(|&(s, validated_rms)| Validated { s, validated_rms }).collect::<Vec<_>>()
        };
        let joints = report.joints.iter().map(|joint| TrainedJoint {
            from: name(joint.from),
            to: name(joint.to),
            largest_degrees: 2.0 * (joint.largest / 2.0).min(1.0).asin().to_degrees(),
            frozen: joint.frozen,
            inducing: joint.inducing,
        });
        let compared = bases.into_iter().map(|(base, validated)| ValidatedBase { base: base.to_string(), validated });
        let ends = |joint: usize| [name(report.joints[joint].from), name(report.joints[joint].to)];
        let pair = |pair: &CompositeSummary| TrainedComposite {
            first: ends(pair.joints.0),
            second: ends(pair.joints.1),
            gate: pair.gate,
            inducing: pair.inducing,
        };
        let validated = |tried: Vec<(f64, f64)>| {
            tried.into_iter().map(|(eta, validated)| ValidatedComposites { eta, validated }).collect()
        };
        let Forms { arc_cosine, gravity, composites, swing_twist, products } = forms;
        Self {
            bases: compared.collect(),
            arc_cosine: report.kernel.arc_cosine,
            arc_cosines: arc_cosine
                .tried
                .into_iter()
                .map(|(share, validated)| ValidatedShare { share, validated })
                .collect(),
            gravity: report.gravity.as_ref().map(|gravity| Sagging {
                down: gravity.down.to_array(),
                bones: gravity.bones.iter().map(|sagging| name(sagging.bone)).collect(),
            }),
            gravities: gravity
                .tried
                .into_iter()
                .map(|(down, validated)| ValidatedGravity { down, validated })
                .collect(),
            composites: validated(composites.tried),
            composite_joints: report.composites.iter().map(pair).collect(),
            swing_twist: report.swing_twist,
            swing_twists: (swing_twist.tried.into_iter())
                .map(|(swing_twist, validated)| ValidatedParts { swing_twist, validated })
                .collect(),
            products: validated(products.tried),
            product_joints: report.products.iter().map(pair).collect(),
            s: report.lambda,
            sweep: sweep(&report.sweep),
            mirrored: report.mirrored,
            other_sweep: sweep(&report.other_sweep),
            sweep_vertices: report.sweep_vertices,
            joints: joints.collect(),
            welded_joints: report.joints.iter().filter(|j| j.frozen).map(|j| name(j.to)).collect(),
            groups: report.groups,
            train_rms: report.train,
            largest_residual: report.largest_residual,
            largest_leverage: report.largest_leverage,
            leverage_p99: report.leverage_p99,
            corrected_vertices: report.corrected,
            remembered: vec![],
        }
    }
}
