//! Figures of pose space: the published examples of pose-space deformation, made here and measured against shapes in closed
//! form.
//!
//! - [`thumb`]: one sculpt of a bent thumb, judged between rest and sculpt and beyond it;
//! - [`arm`]: a forearm that twists until linear blending collapses, also with the upper arm turned;
//! - [`direction`]: where a correction points while the joint turns.
//!
//! Everywhere linear blending, the forward and the inverse form stand side by side; both forms learn from the same sculpts,
//! with the same kernel, exactly and without guard. Source: Lewis, Cordner & Fong 2000; Sloan, Rose & Cohen 2001; Xiao et
//! al. 2006.

pub mod arm;
pub mod direction;
mod draw;
mod page;
pub mod thumb;

use crate::error::Error;
use dermis_deform::{Base, Deformer};
use dermis_fit::psd::{EXACT, Form, PsdSettings, fit_psd};
use dermis_fit::{Training, silent};
use dermis_rig::glam::{DAffine3, DVec3};
use dermis_rig::skeleton::SkeletonError;
use dermis_rig::{BoneIndex, BoneTransforms, Example, Influences, Mesh, Rig, Skeleton};

/// Width of the kernel of all figures, chords: a joint turned by 60 degrees is one away from rest.
pub const SIGMA: f64 = 1.0;
/// What is compared, in this order.
pub const NAMES: [&str; 3] = ["SSD", "PSD, forward", "PSD, inverse"];

/// All figures.
#[derive(Clone, Debug)]
pub struct Figures {
    /// The thumb.
    pub thumb: thumb::Thumb,
    /// The twisted arm.
    pub arm: arm::Arm,
    /// The direction of the correction.
    pub directions: Vec<direction::Direction>,
}

impl Figures {
    /// Makes and measures them.
    ///
    /// # Errors
    /// None with the characters built here; a test makes them.
    pub fn new() -> Result<Self, Error> {
        Ok(Self { thumb: thumb::Thumb::new()?, arm: arm::Arm::new()?, directions: direction::measured()? })
    }

    /// The page, one file that needs nothing else.
    pub fn page(&self) -> String {
        page::render(self)
    }

    /// The numbers beside the drawings, for a terminal.
    pub fn table(&self) -> Vec<String> {
        let mut lines =
            vec![format!("{:<52}{:>10}{:>10}{:>10}", "rms in % of a bone's length", "SSD", "forward", "inverse")];
        let mut row = |title: String, errors: &[ShapeError; 3]| {
            let cells: String = errors.iter().map(|e| format!("{:>10.3}", 100.0 * e.rms)).collect();
            lines.push(format!("{title:<52}{cells}"));
        };
        self.thumb.views.iter().for_each(|v| row(format!("thumb {}", v.title), &v.errors));
        self.arm.views.iter().for_each(|v| row(format!("arm {}", v.title), &v.errors));
        lines.push(format!(
            "{:<52}{:>20}{:>10}",
            "direction of the correction, degrees per degree", "forward", "inverse"
        ));
        for d in &self.directions {
            let title = format!("vertex with weight {} on the turning bone", d.weight);
            lines.push(format!("{title:<52}{:>20.6}{:>10.6}", rounded(d.slopes[0]), rounded(d.slopes[1])));
        }
        lines
    }
}

/// To six digits, and zero without a sign.
fn rounded(x: f64) -> f64 {
    (x * 1e6).round() / 1e6 + 0.0
}

/// A pose and what the three make of it.
#[derive(Clone, Debug)]
pub struct View {
    /// What the pose is.
    pub title: String,
    /// Whether it was sculpted.
    pub sculpted: bool,
    /// The pose.
    pub pose: BoneTransforms,
    /// The shape wanted, in closed form.
    pub wanted: Vec<DVec3>,
    /// In the order of [`NAMES`].
    pub skins: [Vec<DVec3>; 3],
    /// Likewise.
    pub errors: [ShapeError; 3],
}

/// Distances between two shapes, in the length of a bone, which is one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShapeError {
    /// Root of the mean square.
    pub rms: f64,
    /// The largest.
    pub max: f64,
}

impl ShapeError {
    fn between(a: &[DVec3], b: &[DVec3]) -> Self {
        let squares = a.iter().zip(b).map(|(a, b)| a.distance_squared(*b));
        let mean = squares.clone().sum::<f64>() / a.len().max(1) as f64;
        Self { rms: mean.sqrt(), max: squares.fold(0.0, f64::max).sqrt() }
    }
}

/// Linear blending and both forms over it.
struct Learnt {
    deformers: [Deformer; 3],
}

impl Learnt {
    /// From sculpts: poses with the shapes wanted there. Every joint matters to every vertex.
    fn new(rig: &Rig, sculpts: &[(BoneTransforms, Vec<DVec3>)]) -> Result<Self, Error> {
        let weights = rig.weights.clone().unwrap_or_default();
        let mut base = Base::Lbs(weights.clone());
        let rest = &rig.mesh.positions;
        let examples: Vec<Example> = sculpts
            .iter()
            .map(|(pose, shape)| Example {
                label: String::new(),
                time: None,
                transforms: pose.clone(),
                positions: shape.clone(),
                importance: 1.0,
            })
            .collect();
        let in_base = |example: &Example| {
            let mut skin = vec![DVec3::ZERO; rest.len()];
            base.evaluate(rest, &example.transforms, None, &mut skin);
            skin
        };
        let positions: Vec<Vec<DVec3>> = examples.iter().map(in_base).collect();
        let everywhere = rest.iter().map(|_| rig.skeleton.bones().map(|bone| (bone, 1.0)).collect());
        let maps = Influences::from_rows(everywhere).unwrap_or_default();
        let length = rig.mesh.diagonal();
        let training =
            Training { skeleton: &rig.skeleton, rest, length, examples: &examples, base: (&positions).into() };
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
            Ok::<_, Error>(Deformer { rest: rest.clone(), base: base.clone(), correction: Some(psd.correction.into()) })
        };
        let ssd = Deformer { rest: rest.clone(), base: base.clone(), correction: None };
        Ok(Self { deformers: [ssd, fitted(Form::Forward)?, fitted(Form::Inverse)?] })
    }

    /// The skins of the three.
    fn skins(&mut self, pose: &BoneTransforms) -> [Vec<DVec3>; 3] {
        self.deformers.each_mut().map(|deformer| {
            let mut skin = vec![DVec3::ZERO; deformer.rest.len()];
            deformer.evaluate(pose, None, &mut skin);
            skin
        })
    }

    fn view(&mut self, title: String, sculpted: bool, pose: BoneTransforms, wanted: Vec<DVec3>) -> View {
        let skins = self.skins(&pose);
        let errors = skins.each_ref().map(|skin| ShapeError::between(skin, &wanted));
        View { title, sculpted, pose, wanted, skins, errors }
    }
}

/// A chain of bones along x that start at `heads`, and a mesh whose vertices follow them by `weights`.
fn chain(name: &str, heads: &[f64], positions: Vec<DVec3>, weights: Vec<Vec<f64>>) -> Result<Rig, Error> {
    let bones = heads.len();
    let parents = (0..bones).map(|b| b.checked_sub(1).map(BoneIndex::new)).collect();
    let bind = heads.iter().map(|&x| DAffine3::from_translation(DVec3::X * x)).collect();
    let failed = |e: SkeletonError| Error::Option(e.to_string());
    let skeleton = Skeleton::new((0..bones).map(|b| format!("bone {b}")).collect(), parents, bind).map_err(failed)?;
    let rows =
        weights.into_iter().map(|row| row.into_iter().enumerate().map(|(b, w)| (BoneIndex::new(b), w)).collect());
    let weights = Influences::from_rows(rows).map_err(|e| Error::Option(e.to_string()))?;
    let mesh = Mesh { positions, ..Mesh::default() };
    Ok(Rig { name: name.into(), mesh, skeleton, weights: Some(weights), influence_maps: None })
}
