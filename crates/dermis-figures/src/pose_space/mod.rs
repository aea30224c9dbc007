//! Figures of pose space: the published examples of pose-space deformation, measured against shapes in closed form.
//!
//! - `thumb`: one sculpt of a bent thumb, judged between rest and sculpt and beyond the sculpt
//! - `arm`: a forearm that twists until linear blending collapses, also with the upper arm turned
//! - `by_example`: an arm that bends and is more or less muscular, between its sculpts and beyond them
//! - `direction`: where a correction points while the joint turns
//! - `inverse`: a pose that blending flattens, what the search for an inverse costs, what examples cost
//!
//! Each figure compares linear blending, the forward form and the inverse form. Both forms learn from the same sculpts with
//! the same kernel, exactly and without guard. Source: Lewis, Cordner & Fong 2000; Sloan, Rose & Cohen 2001; Xiao et al.
//! 2006.

mod arm;
mod by_example;
mod direction;
mod inverse;
mod page;
mod thumb;

use crate::{Character, FigureError};
use dermis_deform::{Base, Deformer};
use dermis_fit::Progress;
use dermis_fit::psd::{EXACT, Form, PsdSettings, fit_psd};
use dermis_fit::{Training, silent};
use dermis_report::figures::FiguresPage;
use dermis_rig::glam::{DAffine3, DVec3};
use dermis_rig::{BoneIndex, BoneTransforms, Example, Influences, Mesh, Rig, Skeleton};

/// Makes and measures the figures.
///
/// # Errors
/// As [`Document::draw`](crate::Document::draw).
pub(crate) fn page(_character: &Character, _progress: Progress<'_>) -> Result<FiguresPage, FigureError> {
    let figures = PoseSpaceFigures::new()?;
    Ok(FiguresPage {
        title: "Pose space in figures".into(),
        subtitle: format!(
            "Linear blending (SSD), pose-space deformation with displacements in the world (forward) and in the rest pose \
             (inverse), beside shapes known in closed form. Both forms learn from the same sculpts with the same Gaussian of the \
             joint's chord (σ = {SIGMA}), exactly and without guard. Errors are in percent of a bone's length."
        ),
        sources: vec![
            "Lewis, Cordner & Fong 2000, Pose space deformation".into(),
            "Sloan, Rose & Cohen 2001, Shape by example".into(),
            "Xiao et al. 2006".into(),
        ],
        figures: page::figures(&figures)
            .into_iter()
            .chain([by_example::figure()?])
            .chain(inverse::figures()?)
            .collect(),
        ..FiguresPage::default()
    })
}

/// Width of the kernel of all figures, chords: a joint turned by 60 degrees is one away from rest.
const SIGMA: f64 = 1.0;
/// The three ways to deform, in the order of all arrays of three.
const NAMES: [&str; 3] = ["SSD", "PSD, forward", "PSD, inverse"];

/// All figures, measured.
struct PoseSpaceFigures {
    thumb: thumb::Thumb,
    arm: arm::Arm,
    directions: Vec<direction::Direction>,
}

impl PoseSpaceFigures {
    fn new() -> Result<Self, FigureError> {
        Ok(Self { thumb: thumb::Thumb::new()?, arm: arm::Arm::new()?, directions: direction::measured()? })
    }
}

/// Rounds to six digits, and writes zero without a sign.
fn rounded(x: f64) -> f64 {
    (x * 1e6).round() / 1e6 + 0.0
}

/// A pose and the skins of the three ways to deform.
#[derive(Clone, Debug)]
struct FigurePose {
    /// What the pose is, in words.
    title: String,
    /// Whether both forms learnt it.
    kind: PoseKind,
    /// The pose.
    pose: BoneTransforms,
    /// The shape wanted, in closed form.
    wanted: Vec<DVec3>,
    /// In the order of [`NAMES`].
    skins: [Vec<DVec3>; 3],
    /// In the order of [`NAMES`].
    errors: [ShapeError; 3],
}

/// Whether a pose was sculpted for the fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PoseKind {
    Sculpted,
    Unseen,
}

/// Distances between two shapes, in the length of a bone, which is one.
#[derive(Clone, Copy, Debug, PartialEq)]
struct ShapeError {
    /// Root of the mean square.
    rms: f64,
    /// The largest.
    max: f64,
}

impl ShapeError {
    fn between(a: &[DVec3], b: &[DVec3]) -> Self {
        let squares = a.iter().zip(b).map(|(a, b)| a.distance_squared(*b));
        let mean = squares.clone().sum::<f64>() / a.len().max(1) as f64;
        Self { rms: mean.sqrt(), max: squares.fold(0.0, f64::max).sqrt() }
    }
}

/// Linear blending and both forms over it, in the order of [`NAMES`].
pub(crate) struct Learnt {
    deformers: [Deformer; 3],
}

impl Learnt {
    /// Fits both forms to sculpts: poses with the shapes wanted there. Every joint matters to every vertex.
    pub(crate) fn new(rig: &Rig, sculpts: &[(BoneTransforms, Vec<DVec3>)]) -> Result<Self, FigureError> {
        let no_weights = || FigureError::NoWeights { rig: rig.name().to_owned() };
        let weights = rig.weights().cloned().ok_or_else(no_weights)?;
        let mut base = Base::Lbs(weights.clone());
        let rest = &rig.mesh().positions;
        let examples: Vec<Example> = sculpts
            .iter()
            .map(|(pose, shape)| Example {
                label: String::new(),
                time: None,
                transforms: pose.clone(),
                positions: shape.clone(),
                importance: 1.0,
                local: None,
            })
            .collect();
        let in_base = |example: &Example| {
            let mut skin = vec![DVec3::ZERO; rest.len()];
            base.evaluate(rest, &example.transforms, None, &mut skin);
            skin
        };
        let positions: Vec<Vec<DVec3>> = examples.iter().map(in_base).collect();
        let everywhere = rest.iter().map(|_| rig.skeleton().bones().map(|bone| (bone, 1.0)).collect());
        let maps = Influences::from_rows(everywhere)?;
        let length = rig.mesh().diagonal();
        let training =
            Training { skeleton: rig.skeleton(), rest, length, examples: &examples, base: (&positions).into() };
        let base = Base::Lbs(weights);
        let fitted = |form| {
            let settings = PsdSettings {
                form,
                sigma: Some(SIGMA),
                smoothing: Some(EXACT),
                guard: false,
                ..PsdSettings::new(false)
            };
            let psd = fit_psd(&training, &base, std::slice::from_ref(&maps), &settings, &silent)?;
            Ok::<_, FigureError>(
                Deformer::new(rest.clone(), base.clone(), Some(psd.correction.into()))
                    .expect("the parts are of one rig"),
            )
        };
        let ssd = Deformer::new(rest.clone(), base.clone(), None).expect("the parts are of one rig");
        Ok(Self { deformers: [ssd, fitted(Form::Forward)?, fitted(Form::Inverse)?] })
    }

    /// Returns the skins of the three.
    pub(crate) fn skins(&mut self, pose: &BoneTransforms) -> [Vec<DVec3>; 3] {
        self.deformers.each_mut().map(|deformer| {
            let mut skin = vec![DVec3::ZERO; deformer.rest().len()];
            deformer.evaluate(pose, None, &mut skin).expect("the pose is of the rig");
            skin
        })
    }

    /// Returns the skins of a pose with their errors.
    fn view(&mut self, title: String, kind: PoseKind, pose: BoneTransforms, wanted: Vec<DVec3>) -> FigurePose {
        let skins = self.skins(&pose);
        let errors = skins.each_ref().map(|skin| ShapeError::between(skin, &wanted));
        FigurePose { title, kind, pose, wanted, skins, errors }
    }
}

/// Returns a chain of bones along x that start at `heads`, and a mesh whose vertices follow them by `weights`.
fn chain(name: &str, heads: &[f64], positions: Vec<DVec3>, weights: Vec<Vec<f64>>) -> Result<Rig, FigureError> {
    let bones = heads.len();
    let parents = (0..bones).map(|b| b.checked_sub(1).map(BoneIndex::new)).collect();
    let bind = heads.iter().map(|&x| DAffine3::from_translation(DVec3::X * x)).collect();
    let skeleton = Skeleton::new((0..bones).map(|b| format!("bone {b}")).collect(), parents, bind)?;
    let rows =
        weights.into_iter().map(|row| row.into_iter().enumerate().map(|(b, w)| (BoneIndex::new(b), w)).collect());
    let weights = Influences::from_rows(rows)?;
    let mesh = Mesh { positions, ..Mesh::default() };
    let rig = Rig::new(mesh, skeleton, Some(weights))?;
    Ok(rig.named(name))
}
