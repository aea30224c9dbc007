//! Pose-space deformation, EigenSkin and pose blend shapes as [`Method`](super::Method)s.

use super::base::{BaseChoice, base_in_training};
use super::coordinates::{coordinates, coordinates_line};
use super::correctives::CorrectiveShape;
use super::error::{Lack, within};
use super::importance::{IMPORTANCE, Importance};
use super::learnt::SolvedBy;
use super::maps::RINGS;
use super::remembering::{REMEMBER, Remembering};
use super::ridge::FoldsText;
use super::settings::{
    BASE, BLOCKS, CHANNELS, COORDINATES, DUPLICATES, GUARD, KERNEL, MIRROR, Row, SIGMA, SMOOTHING, Setting, number,
    positive, some, switch, word,
};
use super::{
    FitInput, FitReport, FitWarning, FoldChoice, Learnt, MapSource, MethodError, MethodReport, RidgePoint, chosen_by,
    short,
};
use crate::maps::MapSettings;
use crate::psd::compile::{Budget, BudgetPoint, Compiler};
use crate::psd::eigenskin::{EigenSkinReport, Kept, fit_eigenskin};
use crate::psd::{self, ChannelSetting, Form, PsdReport, PsdSettings, Reach, Singular, fit_blend_shapes, fit_psd};
use crate::training::{FitError, Progress};
use dermis_deform::pose_space::{Coordinates, Family};
use dermis_deform::{Base, Correction};
use dermis_rig::{BoneTransforms, Influences, Mirror, Rig};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// What the three have in common: how poses are compared, and where displacements live.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct PoseSpaceSettings {
    /// The deformer they correct.
    pub base: BaseChoice,
    /// Which joints matter for a vertex.
    pub maps: MapSource,
    /// Whether maps of fewer rings are candidates as well, of which leave-one-out takes the best.
    pub fewer_rings: bool,
    /// Where displacements live.
    pub form: Form,
    /// What rotations become before poses are compared.
    pub coordinates: Coordinates,
    /// Channels of the poses that are coordinates, too.
    pub channels: Vec<ChannelSetting>,
    /// Which joints count for a vertex.
    pub reach: Reach,
    /// Whether examples say nothing of vertices that they leave where the base has them.
    pub sparse: bool,
    /// Whether every example also teaches the other side of a symmetric rig.
    pub mirror: bool,
    /// ρ, the smoothing; zero meets every example; `None`: by leave-one-out.
    pub smoothing: Option<f64>,
    /// What is left out at a time.
    pub folds: FoldChoice,
    /// Examples closer than this in a vertex's pose space are merged; negative: never.
    pub duplicates: f64,
    /// Welding, limits and the ball.
    pub guard: bool,
}

impl Default for PoseSpaceSettings {
    fn default() -> Self {
        let settings = PsdSettings::new(false);
        Self {
            base: BaseChoice::default(),
            maps: MapSource::default(),
            fewer_rings: true,
            form: settings.form,
            coordinates: settings.coordinates,
            channels: Vec::new(),
            reach: settings.reach,
            sparse: settings.sparse,
            mirror: false,
            smoothing: None,
            folds: FoldChoice::default(),
            duplicates: settings.duplicates,
            guard: settings.guard,
        }
    }
}

/// Pose-space deformation over a base.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct PsdMethod {
    /// How poses are compared, and where displacements live.
    pub pose_space: PoseSpaceSettings,
    /// σ of the kernel, a chord; `None`: by leave-one-out.
    pub sigma: Option<f64>,
    /// The kernel; `None`: the Gaussian or the one of compact support, by leave-one-out.
    pub kernel: Option<Family>,
    /// Whether the coordinates are regressed before kernels interpolate.
    pub linear: bool,
    /// What happens where the base is nearly singular.
    pub singular: Singular,
    /// How much examples count.
    pub importance: Importance,
    /// Strength of the layer in which the model remembers its sculpts; zero makes none. Unlike the joint model's it is off by itself:
    /// a pose space alone becomes shapes that an engine drives.
    pub remember: f64,
    /// Compile the fitted model within a budget.
    pub budget: Option<Budget>,
}

/// EigenSkin over a base.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct EigenSkinMethod {
    /// How poses are compared, and where displacements live.
    pub pose_space: PoseSpaceSettings,
    /// σ of the kernel, a chord; `None`: by leave-one-out.
    pub sigma: Option<f64>,
    /// Shapes per joint.
    pub kept: Kept,
}

/// Pose blend shapes over a base.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct PoseBlendshapesMethod {
    /// How poses are compared, and where displacements live.
    pub pose_space: PoseSpaceSettings,
    /// Compile the fitted model within a budget.
    pub budget: Option<Budget>,
}

/// What the fit of a pose space found, with bones by name.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PoseSpaceReport {
    kernel: String,
    sigma: f64,
    smoothing: f64,
    sweep: Vec<Point>,
    scored_vertices: usize,
    spacing: f64,
    welded_joints: Vec<String>,
    influence_maps_candidate: usize,
    groups: usize,
    kernel_values: usize,
    corrected_vertices: usize,
    raised_groups: usize,
    reciprocal_condition: f64,
    damped: usize,
    largest_remainder: f64,
    vertices_with_remainder: usize,
    cancellation: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    joints: Option<Vec<JointShapes>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    budgets: Option<Vec<BudgetCost>>,
    /// The sculpts that the model remembers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) remembered: Vec<CorrectiveShape>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct Point {
    sigma: f64,
    smoothing: f64,
    validated_rms: f64,
}

/// What EigenSkin keeps of a joint.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct JointShapes {
    from: String,
    to: String,
    shapes: usize,
    energy: f64,
}

/// What a budget would cost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BudgetCost {
    /// Shapes.
    pub shapes: usize,
    /// Kernels per region.
    pub kernels_per_region: usize,
    /// Kernel values per pose.
    pub kernel_values: usize,
    /// Displacements kept.
    pub terms: usize,
    /// Distance to the whole model over the training poses, rms in metres.
    pub rms_training: f64,
    /// The same over poses it never saw.
    pub rms_unseen: f64,
    /// rms displacement of the whole model, metres.
    pub rms_displacement: f64,
}

/// Which of the three is fitted.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Psd,
    EigenSkin(Kept),
    BlendShapes,
}

const FEWER_RINGS: Setting = Setting::new(
    "fewer-rings",
    "on|off",
    "on",
    "Maps of fewer rings are candidates as well, and leave-one-out takes the best; off where rings are stated",
)
.expert();
const FORM: Setting =
    Setting::new("form", "inverse|forward", "inverse", "Where displacements live: in the rest pose, or in the world");
const REACH: Setting = Setting::new(
    "reach",
    "local|global",
    "local",
    "Which joints count for a vertex: those near it by its influence maps, or all alike",
);
const SPARSE: Setting = Setting::new(
    "sparse",
    "on|off",
    "off",
    "Examples say nothing of the vertices that they leave where the base has them: for sculpts of a part of the skin",
);
const LINEAR: Setting = Setting::new(
    "linear",
    "on|off",
    "off",
    "The coordinates are regressed linearly before kernels interpolate the rest",
);
const SINGULAR: Setting = Setting::new(
    "singular",
    "remainder|published:LAMBDA,EPSILON",
    "remainder",
    "Where the base is nearly singular: keep what no displacement can produce beside it, or as published, which does not meet the examples",
)
.expert();
const KEPT: Setting = Setting::new(
    "kept",
    "energy:FRACTION|count:N",
    "energy:0.999",
    "Shapes per joint: as many as hold this fraction of the squared displacements, or a number",
);
const BUDGET: Setting = Setting::new(
    "budget",
    "SHAPES[,KERNELS[,N]]",
    "not compiled",
    "Compile the fitted model to a constant price: shapes, kernels per region (else 16), shapes per vertex",
);

pub(super) fn channels(text: &str) -> Result<Vec<ChannelSetting>, String> {
    let channel = |item: &str| {
        let (name, scale) = item.split_once('=').map_or((item, None), |(name, scale)| (name, Some(scale)));
        let scale = scale.map(|scale| positive(scale).map(|[scale]| scale).ok_or("the scale must be positive"));
        Ok(ChannelSetting { name: name.to_owned(), scale: scale.transpose()? })
    };
    text.split(',').filter(|item| !item.is_empty()).map(channel).collect()
}

fn singular(text: &str) -> Result<Singular, String> {
    match (text, text.split_once(':')) {
        ("remainder", _) => Ok(Singular::Remainder),
        (_, Some(("published", numbers))) if let Some([lambda, epsilon]) = positive(numbers) => {
            Ok(Singular::Published { lambda, epsilon })
        }
        _ => Err("use remainder, or published:LAMBDA,EPSILON with two positive numbers".into()),
    }
}

fn kept(text: &str) -> Result<Kept, String> {
    match text.split_once(':') {
        Some(("energy", fraction)) => match number(fraction)? {
            fraction if (0.0..=1.0).contains(&fraction) => Ok(Kept::Energy(fraction)),
            _ => Err("it must lie in 0..1".into()),
        },
        Some(("count", count)) => match number(count)? {
            0 => Err("it must be one or more".into()),
            count => Ok(Kept::Count(count)),
        },
        _ => Err("use energy:FRACTION or count:N".into()),
    }
}

fn budget(text: &str) -> Result<Budget, String> {
    let parts: Option<Vec<usize>> = text.split(',').map(|x| x.trim().parse().ok().filter(|n| *n > 0)).collect();
    match parts.as_deref() {
        Some(&[shapes]) => Ok(Budget { shapes, centres: 16, per_vertex: None }),
        Some(&[shapes, centres]) => Ok(Budget { shapes, centres, per_vertex: None }),
        Some(&[shapes, centres, most]) => Ok(Budget { shapes, centres, per_vertex: Some(most) }),
        _ => Err("use SHAPES, SHAPES,KERNELS or SHAPES,KERNELS,N, all positive".into()),
    }
}

impl PsdMethod {
    pub(super) fn rows() -> Vec<Row<Self>> {
        let mut rows = PoseSpaceSettings::rows(|own: &mut Self| &mut own.pose_space);
        rows.extend([
            Row::new(SIGMA, some(number), |own: &mut Self| &mut own.sigma),
            Row::new(KERNEL, some(word), |own| &mut own.kernel),
            Row::new(LINEAR, switch, |own| &mut own.linear),
            Row::new(SINGULAR, singular, |own| &mut own.singular),
            Row::new(IMPORTANCE, Importance::read, |own| &mut own.importance),
            Row::new(BUDGET, some(budget), |own| &mut own.budget),
            Row::new(REMEMBER.default("0"), number, |own| &mut own.remember),
        ]);
        rows
    }

    pub(super) fn check(&self) -> Result<(), MethodError> {
        self.pose_space.check()?;
        self.check_stack()?;
        self.importance.check()?;
        REMEMBER.check(self.remember)?;
        if self.remember > 0.0 && matches!(self.pose_space.base, BaseChoice::Stack | BaseChoice::Rest) {
            return Err(MethodError::Unused { setting: REMEMBER.name, with: "over a base that does not skin" });
        }
        self.sigma.map_or(Ok(()), |sigma| SIGMA.check(sigma))?;
        match self.kernel {
            Some(Family::Polyharmonic) if self.sigma.is_some() => {
                Err(MethodError::Unused { setting: "sigma", with: "on the polyharmonic kernel, which has no width" })
            }
            _ => Ok(()),
        }
    }

    /// What of the settings a stack cannot serve, by name.
    fn check_stack(&self) -> Result<(), MethodError> {
        let own = &self.pose_space;
        let refused = |method| Err(MethodError::Base { base: own.base.name(), method });
        match (own.base, own.form, own.mirror, self.singular) {
            (BaseChoice::Stack, Form::Forward, ..) => refused("the forward form, whose displacements come after it"),
            (BaseChoice::Stack, _, true, _) => refused("mirrored examples: it need not have the symmetry of the rig"),
            (BaseChoice::Stack, _, _, Singular::Published { .. }) => {
                refused("the published rule for singular poses, which needs a linear map")
            }
            _ => Ok(()),
        }
    }

    pub(super) fn fit(&self, input: &FitInput<'_>, progress: Progress<'_>) -> Result<Learnt, MethodError> {
        let mut settings = self.pose_space.settings(input)?;
        (settings.family, settings.linear, settings.sigma) = (self.kernel, self.linear, self.sigma);
        settings.singular = self.singular;
        let mut learnt = fit(&self.pose_space, Kind::Psd, &settings, self.budget, input, progress)?;
        if self.remember > 0.0 {
            let base = base_in_training(&mut self.pose_space.base.of(input)?, input)?;
            let (strength, mirror, guard) = (self.remember, settings.mirror.as_ref(), self.pose_space.guard);
            learnt = Remembering { strength, mirror, guard, base: &base }.over(learnt, input, progress)?;
        }
        Ok(learnt)
    }
}

impl EigenSkinMethod {
    pub(super) fn rows() -> Vec<Row<Self>> {
        let mut rows = PoseSpaceSettings::rows(|own: &mut Self| &mut own.pose_space);
        rows.push(Row::new(SIGMA, some(number), |own: &mut Self| &mut own.sigma));
        rows.push(Row::new(KEPT, kept, |own| &mut own.kept));
        rows
    }

    pub(super) fn check(&self) -> Result<(), MethodError> {
        self.pose_space.check()?;
        self.pose_space.without_stack("eigenskin")?;
        self.sigma.map_or(Ok(()), |sigma| SIGMA.check(sigma))?;
        match self.kept {
            Kept::Energy(share) => within(KEPT.name, share, 0.0, 1.0),
            Kept::Count(0) => {
                Err(MethodError::Setting { setting: KEPT.name, value: 0.0, rule: "it must be one or more".into() })
            }
            Kept::Count(_) => Ok(()),
        }
    }

    pub(super) fn fit(&self, input: &FitInput<'_>, progress: Progress<'_>) -> Result<Learnt, MethodError> {
        let mut settings = self.pose_space.settings(input)?;
        settings.sigma = self.sigma;
        fit(&self.pose_space, Kind::EigenSkin(self.kept), &settings, None, input, progress)
    }
}

impl PoseBlendshapesMethod {
    pub(super) fn rows() -> Vec<Row<Self>> {
        let mut rows = PoseSpaceSettings::rows(|own: &mut Self| &mut own.pose_space);
        rows.push(Row::new(BUDGET, some(budget), |own: &mut Self| &mut own.budget));
        rows
    }

    pub(super) fn check(&self) -> Result<(), MethodError> {
        self.pose_space.without_stack("pose-blendshapes")?;
        self.pose_space.check()
    }

    pub(super) fn fit(&self, input: &FitInput<'_>, progress: Progress<'_>) -> Result<Learnt, MethodError> {
        let settings = self.pose_space.settings(input)?;
        fit(&self.pose_space, Kind::BlendShapes, &settings, self.budget, input, progress)
    }
}

impl PoseSpaceSettings {
    /// The settings that the three share, as those of one of them.
    fn rows<M: 'static>(place: fn(&mut M) -> &mut Self) -> Vec<Row<M>> {
        let mut rows: Vec<Row<Self>> = vec![Row::new(BASE, word, |own: &mut Self| &mut own.base)];
        for mut row in MapSource::rows() {
            let stated = row.setting.name == RINGS.name;
            row.setting.default = if stated { "2 or fewer, by leave-one-out" } else { row.setting.default };
            rows.push(Row::by(row.setting, move |own: &mut Self, text| {
                own.fewer_rings &= !stated;
                (row.set)(&mut own.maps, text)
            }));
        }
        rows.extend([
            Row::new(FEWER_RINGS, switch, |own: &mut Self| &mut own.fewer_rings),
            Row::new(FORM, word, |own| &mut own.form),
            Row::new(COORDINATES, coordinates, |own| &mut own.coordinates),
            Row::new(CHANNELS, channels, |own| &mut own.channels),
            Row::new(REACH, word, |own| &mut own.reach),
            Row::new(SPARSE, switch, |own| &mut own.sparse),
            Row::new(MIRROR, switch, |own| &mut own.mirror),
            Row::new(SMOOTHING, some(number), |own| &mut own.smoothing),
            Row::new(BLOCKS.field("folds"), FoldChoice::read, |own| &mut own.folds),
            Row::new(DUPLICATES, number, |own| &mut own.duplicates),
            Row::new(GUARD, switch, |own| &mut own.guard),
        ]);
        rows.iter_mut().for_each(|row| row.setting.group = "pose-space");
        rows.into_iter().map(|row| row.of(place)).collect()
    }

    fn check(&self) -> Result<(), MethodError> {
        self.base.check("psd")?;
        self.maps.check()?;
        self.folds.check()?;
        DUPLICATES.check(self.duplicates)?;
        self.smoothing.map_or(Ok(()), |smoothing| SMOOTHING.check(smoothing))
    }

    /// Refuses a stack for a method that keeps no remainders.
    fn without_stack(&self, method: &'static str) -> Result<(), MethodError> {
        match self.base {
            BaseChoice::Stack => Err(MethodError::Base { base: self.base.name(), method }),
            _ => Ok(()),
        }
    }

    /// The settings that the three share.
    fn settings(&self, input: &FitInput<'_>) -> Result<PsdSettings, MethodError> {
        let mut settings = PsdSettings::new(input.examples.is_clip());
        settings.form = self.form;
        settings.coordinates = self.coordinates;
        settings.reach = self.reach;
        settings.sparse = self.sparse;
        settings.channels = known_channels(&self.channels, input)?;
        settings.mirror = self.mirror.then(|| mirror_of(input)).transpose()?;
        settings.smoothing = self.smoothing.map(|smoothing| smoothing.max(psd::EXACT));
        settings.folds = self.folds.of(input.examples.is_clip());
        settings.duplicates = self.duplicates;
        settings.guard = self.guard;
        Ok(settings)
    }

    /// The influence maps to choose from: those of the settings, and where they are derived those of fewer rings.
    fn candidates(&self, input: &FitInput<'_>, progress: Progress<'_>) -> Result<Vec<Influences>, MethodError> {
        let derived = match &self.maps {
            MapSource::Auto(settings) if input.rig.influence_maps().is_none() => Some(settings),
            MapSource::Weights(settings) => Some(settings),
            _ => None,
        };
        let Some(settings) = derived.filter(|_| self.fewer_rings && self.reach != Reach::Global) else {
            return Ok(vec![self.maps.of(input, progress)?]);
        };
        let with = |rings: usize| MapSource::Weights(MapSettings { rings, ..*settings }).of(input, progress);
        (0..=settings.rings).rev().map(with).collect()
    }
}

/// Channels by name, where the examples have them.
pub(super) fn known_channels(
    asked: &[ChannelSetting],
    input: &FitInput<'_>,
) -> Result<Vec<ChannelSetting>, MethodError> {
    let examples = input.examples.examples();
    let known: BTreeSet<&str> =
        examples.iter().flat_map(|e| e.transforms.channels()).map(|(name, _)| &**name).collect();
    match asked.iter().find(|channel| !known.contains(channel.name.as_str())) {
        None => Ok(asked.to_vec()),
        Some(channel) => Err(MethodError::NoChannel {
            name: channel.name.clone(),
            known: known.into_iter().map(str::to_owned).collect(),
        }),
    }
}

/// The symmetry of the rig.
pub(super) fn mirror_of(input: &FitInput<'_>) -> Result<Mirror, MethodError> {
    let (rig, weights) = (input.rig, input.weights()?);
    Mirror::find(&rig.mesh().positions, rig.skeleton(), weights).ok_or_else(|| input.lacks(Lack::Symmetry))
}

fn fit(
    own: &PoseSpaceSettings,
    kind: Kind,
    settings: &PsdSettings,
    budget: Option<Budget>,
    input: &FitInput<'_>,
    progress: Progress<'_>,
) -> Result<Learnt, MethodError> {
    let mut base = own.base.of(input)?;
    let maps = own.candidates(input, progress)?;
    let positions = base_in_training(&mut base, input)?;
    let training = input.training((&positions).into());
    let (mut correction, found, eigenskin): (Correction, PsdReport, Option<EigenSkinReport>) = match kind {
        Kind::EigenSkin(kept) => {
            let (shapes, report) = fit_eigenskin(&training, &base, &maps, settings, kept, progress)?;
            (shapes.into(), report.psd.clone(), Some(report))
        }
        Kind::BlendShapes => {
            let fitted = fit_blend_shapes(&training, &base, &maps, settings, progress)?;
            (fitted.correction.into(), fitted.report, None)
        }
        Kind::Psd => {
            let fitted = fit_psd(&training, &base, &maps, settings, progress)?;
            (fitted.correction.into(), fitted.report, None)
        }
    };
    let mut lines = lines(own, kind, settings, &found);
    let mut details = PoseSpaceReport::new(&found, input.rig);
    let mut warnings = warnings(settings, &found, kind);
    warnings.extend(moves_at_rest(&mut base, input));
    if let Some(eigenskin) = &eigenskin {
        let shapes: usize = eigenskin.joints.iter().map(|j| j.2).sum();
        lines.push(("shapes".into(), format!("{shapes} of {} joints", eigenskin.joints.len())));
        let name = |bone: usize| input.rig.skeleton().names().as_slice().get(bone).cloned().unwrap_or_default();
        let joint = |&(from, to, shapes, energy): &(usize, usize, usize, f64)| JointShapes {
            from: name(from),
            to: name(to),
            shapes,
            energy,
        };
        details.joints = Some(eigenskin.joints.iter().map(joint).collect());
    }
    if let (Some(budget), Correction::PoseSpace(model)) = (budget, &correction) {
        let compiler = Compiler::new(model)?;
        let (shapes, point) = compiler.compile(budget)?;
        lines.push(("compiled".into(), format!("{} shapes, {} kernels", point.shapes, point.kernel_values)));
        details.budgets = Some(budgets(&compiler, budget, &point)?);
        let vertices = model.remainders.vertices.len();
        if vertices > 0 {
            warnings.push(FitWarning::RemaindersDropped { vertices });
        }
        correction = shapes.into();
    }
    let name = match kind {
        Kind::Psd => "psd",
        Kind::EigenSkin(_) => "eigenskin",
        Kind::BlendShapes => "pose-blendshapes",
    };
    let mut report = FitReport::new(name, MethodReport::PoseSpace(Box::new(details))).with_base(own.base);
    report.settings.extend(lines);
    report.warnings = warnings;
    let at_sigma = found.sweep.iter().filter(|p| p.sigma == found.sigma);
    report.sweep = at_sigma.map(|p| RidgePoint { ridge: p.smoothing, train: None, validated: p.validated }).collect();
    report.ridge = Some(found.smoothing);
    report.validated_by = Some(FoldsText(settings.folds).to_string());
    Learnt::new(base, Some(correction), input, report, SolvedBy::Other)
}

/// A stack that moves the rest mesh at the bind pose, where corrections are zero.
pub(super) fn moves_at_rest(base: &mut Base, input: &FitInput<'_>) -> Option<FitWarning> {
    let rest = &input.rig.mesh().positions;
    let mut skin = match base {
        Base::Stack(..) => rest.clone(),
        _ => return None,
    };
    base.evaluate(rest, &BoneTransforms::identity(input.rig.skeleton().len()), None, &mut skin);
    let farthest = rest.iter().zip(&skin).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
    (farthest > 1e-6 * input.rig.mesh().extent()).then_some(FitWarning::StackMovesRest { farthest })
}

/// What other budgets would cost: half, a quarter, …, twice and four times the shapes.
fn budgets(compiler: &Compiler<'_>, chosen: Budget, point: &BudgetPoint) -> Result<Vec<BudgetCost>, FitError> {
    let mut points = vec![*point];
    for factor in [0.125, 0.25, 0.5, 2.0, 4.0] {
        let shapes = (chosen.shapes as f64 * factor).round() as usize;
        // Twice what there is costs the same.
        if shapes > 0 && (factor < 1.0 || chosen.shapes < compiler.most()) {
            points.push(compiler.compile(Budget { shapes, ..chosen })?.1);
        }
    }
    points.sort_by_key(|p| p.shapes);
    points.dedup_by_key(|p| p.shapes);
    let cost = |p: &BudgetPoint| BudgetCost {
        shapes: p.shapes,
        kernels_per_region: p.budget.centres,
        kernel_values: p.kernel_values,
        terms: p.terms,
        rms_training: p.trained,
        rms_unseen: p.unseen,
        rms_displacement: p.size,
    };
    Ok(points.iter().map(cost).collect())
}

/// What the model says of its settings, the base apart.
fn lines(own: &PoseSpaceSettings, kind: Kind, settings: &PsdSettings, report: &PsdReport) -> Vec<(String, String)> {
    // Candidates have fewer and fewer rings.
    let mut maps = own.maps.clone();
    if let Some(settings) = maps.settings_mut() {
        settings.rings -= report.maps;
    }
    let mut lines = maps.lines();
    lines.push(("form".into(), format!("{:?}", settings.form).to_lowercase()));
    lines.push(("coordinates".into(), coordinates_line(settings.coordinates)));
    lines.push(("pose space".into(), format!("{:?}", settings.reach).to_lowercase()));
    if kind == Kind::Psd {
        let linear = if settings.linear { ", after a linear term" } else { "" };
        let chosen = chosen_by(settings.family.is_some());
        lines.push(("kernel".into(), format!("{}{chosen}{linear}", format!("{:?}", report.family).to_lowercase())));
    }
    if kind != Kind::BlendShapes {
        lines.push(("sigma".into(), format!("{}{}", short(report.sigma), chosen_by(settings.sigma.is_some()))));
    }
    lines.extend([
        ("smoothing".into(), format!("{}{}", short(report.smoothing), chosen_by(settings.smoothing.is_some()))),
        ("duplicates".into(), format!("{:e}", settings.duplicates)),
        ("sparse examples".into(), if settings.sparse { "yes".into() } else { "no".into() }),
        ("left and right".into(), if settings.mirror.is_some() { "mirrored".into() } else { "apart".into() }),
        ("guard".into(), if settings.guard { "on".into() } else { "off".into() }),
        ("folds".into(), FoldsText(settings.folds).to_string()),
    ]);
    for channel in &settings.channels {
        let scale = channel.scale.map_or("one over its largest value".into(), |scale| scale.to_string());
        lines.push((format!("channel {}", channel.name), format!("times {scale}")));
    }
    if let Singular::Published { lambda, epsilon } = settings.singular {
        lines.push(("singular poses".into(), format!("as published, lambda {lambda:e}, epsilon {epsilon:e}")));
    }
    lines
}

fn warnings(settings: &PsdSettings, report: &PsdReport, kind: Kind) -> Vec<FitWarning> {
    let mut warnings = Vec::new();
    if !settings.guard {
        warnings.push(FitWarning::PoseSpaceUnguarded);
    }
    if settings.form == Form::Forward {
        warnings.push(FitWarning::WorldDisplacements);
    }
    if report.raised > 0 {
        let (groups, all, smoothing) = (report.raised, report.groups, report.smoothing);
        warnings.push(FitWarning::SmoothingRaised { groups, all, smoothing });
    }
    // Kernel values and weights are rounded to 2⁻²⁴ of their size when the model is baked.
    let rounding = report.cancellation * 2f64.powi(-24);
    if rounding > 1e-3 {
        warnings.push(FitWarning::Cancellation { factor: report.cancellation, cost: rounding });
    }
    if report.damped > 0 && report.largest_remainder > 0.0 {
        let (vertices, remainder) = (report.damped, report.largest_remainder);
        warnings.push(FitWarning::Damped { vertices, remainder, kept: kind == Kind::Psd });
    }
    let (vertices, largest) = report.unmet;
    if settings.smoothing == Some(psd::EXACT) && vertices > 0 {
        warnings.push(FitWarning::NotMet { vertices, largest });
    }
    if let Singular::Published { .. } = settings.singular {
        warnings.push(FitWarning::SingularAsPublished);
    }
    warnings
}

impl PoseSpaceReport {
    /// What other budgets would cost, if the model was compiled.
    pub fn budgets(&self) -> &[BudgetCost] {
        self.budgets.as_deref().unwrap_or_default()
    }

    fn new(report: &PsdReport, rig: &Rig) -> Self {
        let point = |p: &psd::PsdPoint| Point { sigma: p.sigma, smoothing: p.smoothing, validated_rms: p.validated };
        Self {
            kernel: format!("{:?}", report.family).to_lowercase(),
            sigma: report.sigma,
            smoothing: report.smoothing,
            sweep: report.sweep.iter().map(point).collect(),
            scored_vertices: report.scored,
            spacing: report.spacing,
            welded_joints: report.welded.iter().map(|&b| rig.skeleton().names()[b].clone()).collect(),
            influence_maps_candidate: report.maps,
            groups: report.groups,
            kernel_values: report.kernel_values,
            corrected_vertices: report.corrected,
            raised_groups: report.raised,
            reciprocal_condition: report.reciprocal_condition,
            damped: report.damped,
            largest_remainder: report.largest_remainder,
            vertices_with_remainder: report.remainders,
            cancellation: report.cancellation,
            joints: None,
            budgets: None,
            remembered: vec![],
        }
    }
}
