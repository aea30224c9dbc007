//! Multi-weight enveloping: a correction that is linear in the bones' relative transforms.
//!
//! For vertex v with anchor bone a,
//!
//! ```text
//! p' = base + Π_v( R_a ( c_v + Σ_k U_vk : f_ak ) ),      f_ak = limit( [Ñ_ak − I, translation divided by L] ),
//! ```
//!
//! Ñ_ak = N_a⁻¹ N_k the transform of bone k seen from the anchor, N the bone transforms with frozen joints welded and seen from a
//! point of the character, R_a
//! the linear part of M_a, Π_v the projection to a ball. Multi-weight enveloping in all its forms is such a map: the
//! published world form has no anchor (f_k from M_k itself, R = I), the row form lets axis j read row j only. Welding,
//! limits and the ball are those of [`crate::guard`].

use crate::features::{SeenFrom, about};
use crate::guard::{Weld, project};
use dermis_rig::glam::{DAffine3, DVec3};
use dermis_rig::{BoneIndex, BoneTransforms, Rows};

/// Which entries of a bone's transform an output axis reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EnvelopingForm {
    /// Axis j reads row j: 4 numbers per bone and axis (the published class).
    Row,
    /// Every axis reads all three rows: 12 numbers per bone and axis.
    Full,
}

impl EnvelopingForm {
    /// Coefficients per (vertex, bone): three axes times the entries each reads.
    pub fn coefficients(self) -> usize {
        match self {
            Self::Row => 12,
            Self::Full => 36,
        }
    }
}

/// A bone seen from an anchor: one feature block of a pose, shared by all vertices that use it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// The anchor; `None` for the world.
    pub anchor: Option<BoneIndex>,
    /// The bone.
    pub bone: BoneIndex,
    /// Largest norm the feature may have; infinite without limits.
    pub limit: f64,
}

/// The correction in `f64`, the reference. Everything is relative to the bind pose, where features vanish.
#[derive(Clone, Debug)]
pub struct Enveloping {
    /// Which entries an axis reads.
    pub rows: EnvelopingForm,
    /// L: features divide translations by it.
    pub length: f64,
    /// What translations are seen from, rest world, metres: the origin in the published form. A point that belongs to the character
    /// makes features, and with them the ridge and the limits, those of the character wherever it stands.
    pub origin: DVec3,
    /// Joints that never moved in training.
    pub weld: Weld,
    /// The distinct (anchor, bone) pairs.
    pub pairs: Vec<Pair>,
    /// Anchor of each vertex; `None` for the world.
    pub anchors: Vec<Option<BoneIndex>>,
    /// The terms of every vertex: the pair of each.
    pub terms: Rows<u32>,
    /// [`EnvelopingForm::coefficients`] numbers per term: axis by axis, row by row, translation last in each row.
    pub coefficients: Vec<f64>,
    /// c_v, the correction at the bind pose, in the anchor's frame; empty when all are zero.
    pub constants: Vec<DVec3>,
    /// Radius of the ball per vertex, metres; empty without the guard.
    pub radii: Vec<f64>,
}

/// What one pose gives to all vertices.
#[derive(Clone, Debug, Default)]
pub struct PoseFeatures {
    /// Twelve numbers per pair: rows of [Ñ − I], translation over L last in each row, limited.
    pub features: Vec<[f64; 12]>,
    /// Pairs whose limit acted.
    pub limited: usize,
    welded: Vec<DAffine3>,
}

impl Enveloping {
    /// A correction of no vertices.
    pub fn empty(rows: EnvelopingForm, length: f64) -> Self {
        Self {
            rows,
            length,
            origin: DVec3::ZERO,
            weld: Weld::default(),
            pairs: vec![],
            anchors: vec![],
            terms: Rows::default(),
            coefficients: vec![],
            constants: vec![],
            radii: vec![],
        }
    }

    /// The features of a pose for every pair.
    pub fn features(&self, transforms: &BoneTransforms, out: &mut PoseFeatures) {
        self.weld.apply(transforms, &mut out.welded);
        out.welded.iter_mut().for_each(|m| *m = about(m, self.origin));
        out.limited = 0;
        out.features.clear();
        let mut bones = SeenFrom::new(&out.welded, self.length);
        for pair in &self.pairs {
            let mut f = bones.feature(pair.anchor, pair.bone);
            let norm = f.iter().map(|x| x * x).sum::<f64>().sqrt();
            if norm > pair.limit {
                out.limited += 1;
                f.iter_mut().for_each(|x| *x *= pair.limit / norm);
            }
            out.features.push(f);
        }
    }

    /// The correction of vertex `v` in posed world space, and whether the ball held it back.
    pub fn at(&self, v: usize, features: &PoseFeatures, transforms: &BoneTransforms) -> (DVec3, bool) {
        let mut delta = self.constants.get(v).copied().unwrap_or(DVec3::ZERO);
        let size = self.rows.coefficients();
        for at in self.terms.range(v) {
            let f = &features.features[self.terms.entries()[at] as usize];
            let u = &self.coefficients[at * size..(at + 1) * size];
            for axis in 0..3 {
                delta[axis] += match self.rows {
                    EnvelopingForm::Row => (0..4).map(|c| u[axis * 4 + c] * f[axis * 4 + c]).sum::<f64>(),
                    EnvelopingForm::Full => (0..12).map(|c| u[axis * 12 + c] * f[c]).sum::<f64>(),
                };
            }
        }
        let world = self.anchors[v].map_or(delta, |a| transforms[a].matrix3 * delta);
        match self.radii.get(v) {
            Some(&radius) => project(world, radius),
            None => (world, false),
        }
    }

    /// Number of vertices.
    pub fn vertices(&self) -> usize {
        self.anchors.len()
    }
}
