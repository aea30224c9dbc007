//! Generated limbs: tubes along x whose bones meet at joints, and colours for them.

use crate::FigureError;
use dermis_deform::{DualQuaternions, lbs};
use dermis_measure::{Movement, Tube, ring_radius_ratio, volume};
use dermis_report::figures::{Picture, PictureView};
use dermis_rig::glam::{DAffine3, DVec3};
use dermis_rig::{BoneIndex, BoneTransforms, Influences, Mesh, Rig, Skeleton};

/// The tube of the figures: length 2, radius 0.25, joint in the middle, blended over the middle 0.6.
pub(crate) const TUBE: Tube = Tube { radius: 0.25, length: 2.0, rings: 81, segments: 32, half_width: 0.3 };
/// The share of the tube's length over which bones blend.
pub(crate) const BLENDED: f64 = 0.3;

/// The tube as a rig of two bones.
pub(crate) struct TubeRig {
    pub(crate) mesh: Mesh,
    pub(crate) weights: Influences,
    pub(crate) rig: Rig,
}

impl TubeRig {
    pub(crate) fn new() -> Result<Self, FigureError> {
        let mesh = TUBE.mesh().map_err(FigureError::of("tube"))?;
        let weights = TUBE.weights(&mesh.positions)?;
        let skeleton = chain(&[0.0, 0.5 * TUBE.length])?;
        let rig = Rig::new(mesh.clone(), skeleton, Some(weights.clone()))?.named("tube");
        Ok(Self { mesh, weights, rig })
    }

    /// Linear blend skinning of the tube.
    pub(crate) fn smooth(&self, pose: &BoneTransforms) -> Vec<DVec3> {
        self.skin(|rest, out| lbs(rest, &self.weights, pose, out))
    }

    /// Every vertex with its dominant bone.
    pub(crate) fn rigid(&self, pose: &BoneTransforms) -> Vec<DVec3> {
        self.skin(|rest, out| dermis_deform::rigid(rest, &self.weights, pose, out))
    }

    /// Dual quaternion skinning.
    pub(crate) fn dual(&self, pose: &BoneTransforms) -> Vec<DVec3> {
        let mut blend = DualQuaternions::with_pivots(TUBE.joints());
        blend.prepare(pose);
        self.skin(|rest, out| blend.deform(rest, &self.weights, out))
    }

    /// Every cross-section turned about the joint by its share of the angle, and kept round: what sculptor and anatomy ask for.
    pub(crate) fn wanted(&self, movement: Movement, angle: f64) -> Vec<DVec3> {
        let turn = |(v, p): (usize, &DVec3)| {
            let share = self.weights.value(v, BoneIndex::new(1));
            TUBE.transforms(movement, angle * share)[BoneIndex::new(1)].transform_point3(*p)
        };
        self.mesh.positions.iter().enumerate().map(turn).collect()
    }

    fn skin(&self, deform: impl FnOnce(&[DVec3], &mut [DVec3])) -> Vec<DVec3> {
        let mut out = vec![DVec3::ZERO; self.mesh.positions.len()];
        deform(&self.mesh.positions, &mut out);
        out
    }

    /// Volume over volume at rest.
    pub(crate) fn volume_kept(&self, skin: &[DVec3]) -> f64 {
        volume(&self.mesh.triangles, skin) / volume(&self.mesh.triangles, &self.mesh.positions)
    }

    /// Smallest radius over radius at rest, ring by ring: place along the tube, ratio.
    pub(crate) fn radii(&self, skin: &[DVec3]) -> Vec<[f64; 2]> {
        let x = |ring: usize| TUBE.length * ring as f64 / (TUBE.rings - 1) as f64;
        let ratio = |ring: usize| ring_radius_ratio(TUBE.ring(ring), &self.mesh.positions, skin).unwrap_or(f64::NAN);
        (0..TUBE.rings).map(|ring| [x(ring), ratio(ring)]).collect()
    }

    /// The smallest radius over radius at rest.
    pub(crate) fn thinnest(&self, skin: &[DVec3]) -> f64 {
        self.radii(skin).iter().map(|r| r[1]).fold(f64::INFINITY, f64::min)
    }

    /// A picture of a skin, coloured by the weight of the second bone.
    pub(crate) fn picture(&self, label: &str, view: PictureView, skin: &[DVec3]) -> Picture {
        let colour = |v: usize| BONES[0].lerp(BONES[1], self.weights.value(v, BoneIndex::new(1)));
        let colours: Vec<DVec3> = (0..skin.len()).map(colour).collect();
        Picture::of(label, view, skin, &self.mesh.triangles, &colours)
    }
}

/// Colours of the bones of a limb.
pub(crate) const BONES: [DVec3; 3] =
    [DVec3::new(0.36, 0.56, 0.85), DVec3::new(0.93, 0.62, 0.33), DVec3::new(0.45, 0.72, 0.47)];

/// Bones along x that start at `heads`, each the child of the one before.
pub(crate) fn chain(heads: &[f64]) -> Result<Skeleton, FigureError> {
    let parents = (0..heads.len()).map(|b| b.checked_sub(1).map(BoneIndex::new)).collect();
    let bind = heads.iter().map(|&x| DAffine3::from_translation(DVec3::X * x)).collect();
    Ok(Skeleton::new((0..heads.len()).map(|b| format!("bone {b}")).collect(), parents, bind)?)
}

/// Root of the mean squared distance of two shapes.
pub(crate) fn rms(a: &[DVec3], b: &[DVec3]) -> f64 {
    let sum: f64 = a.iter().zip(b).map(|(a, b)| a.distance_squared(*b)).sum();
    (sum / a.len().max(1) as f64).sqrt()
}

/// The largest distance of two shapes.
pub(crate) fn largest(a: &[DVec3], b: &[DVec3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max)
}
