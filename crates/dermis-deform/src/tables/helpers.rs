//! The helper table: how an engine computes the motion of helper bones from its joints.
//!
//! A joint is read as the rotation of one bone seen from another, Q = M_from⁻¹ M_to = (R, t), of which the nine entries of R − I
//! are features: zero at the bind pose, and scaled back to the joint's limit where they are longer, as the guard of a
//! correction does. With the features x of all its joints, a helper of parent a, centre c and matrix D moves by
//!
//! ```text
//! y = D x,   L c = c + l (y_9, y_10, y_11),   L turns by the rotation nearest to I + [y_0 y_1 y_2; y_3 y_4 y_5; y_6 y_7 y_8],
//! M_h = M_a L
//! ```

use dermis_rig::glam::{DAffine3, DMat3, DVec3};
use dermis_rig::rotation::nearest_rotation;
use dermis_rig::skeleton::{invert, row};
use dermis_rig::{BoneIndex, BoneTransforms, Skeleton};

/// How helpers follow from joints.
#[derive(Clone, Debug, PartialEq)]
pub struct HelperTable {
    /// l, metres.
    pub length: f64,
    /// The helpers, in the order of their bones.
    pub helpers: Vec<DrivenHelper>,
}

/// One helper of a [`HelperTable`].
#[derive(Clone, Debug, PartialEq)]
pub struct DrivenHelper {
    /// Its name in the GLB.
    pub name: String,
    /// The bone it hangs on.
    pub parent: String,
    /// c, metres.
    pub centre: [f64; 3],
    /// The joints that are read, in the order of the features.
    pub joints: Vec<DrivingJoint>,
    /// D: twelve rows, nine columns per joint.
    pub matrix: Vec<Vec<f64>>,
}

/// A joint that a helper reads: a bone seen from another.
#[derive(Clone, Debug, PartialEq)]
pub struct DrivingJoint {
    /// The bone it is seen from.
    pub from: String,
    /// The bone that is seen.
    pub to: String,
    /// The largest length of its nine features.
    pub limit: f64,
}

impl HelperTable {
    /// M_h of every helper from the bone transforms of the skeleton.
    ///
    /// A helper one of whose joints is missing or squeezed flat stays on its parent.
    pub fn evaluate(&self, skeleton: &Skeleton, pose: &BoneTransforms) -> Vec<DAffine3> {
        self.helpers
            .iter()
            .map(|helper| {
                let Some(parent) = skeleton.find(&helper.parent) else { return DAffine3::IDENTITY };
                let joint = |j: &DrivingJoint| {
                    Some(limited(joint_features(pose, skeleton.find(&j.from)?, skeleton.find(&j.to)?)?, j.limit))
                };
                let Some(x) = helper.joints.iter().map(joint).collect::<Option<Vec<_>>>() else { return pose[parent] };
                let x = x.as_flattened();
                let y = |r: usize| helper.matrix.get(r).map_or(0.0, |d| d.iter().zip(x).map(|(d, x)| d * x).sum());
                pose[parent] * local(DVec3::from_array(helper.centre), self.length, std::array::from_fn(y))
            })
            .collect()
    }
}

/// L of a helper at `centre` from its twelve numbers y; `length` is l, metres.
pub fn local(centre: DVec3, length: f64, y: [f64; 12]) -> DAffine3 {
    let column = |c: usize| DVec3::new(y[c], y[3 + c], y[6 + c]);
    let turned = nearest_rotation(&(DMat3::IDENTITY + DMat3::from_cols(column(0), column(1), column(2))));
    let moved = centre + length * DVec3::new(y[9], y[10], y[11]);
    DAffine3 { matrix3: turned, translation: moved - turned * centre }
}

/// The nine features of one joint before its limit; `None` if `from` is squeezed flat.
pub fn joint_features(pose: &BoneTransforms, from: BoneIndex, to: BoneIndex) -> Option<[f64; 9]> {
    Some(entries(&(invert(&pose[from])? * pose[to])))
}

/// The nine entries of a linear part less the identity, row after row.
pub fn entries(m: &DAffine3) -> [f64; 9] {
    std::array::from_fn(|e| row(m, e / 3)[e % 3] - f64::from(u8::from(e / 3 == e % 3)))
}

/// Features scaled back to the limit.
fn limited(x: [f64; 9], limit: f64) -> [f64; 9] {
    let norm = norm(&x);
    if norm > limit { x.map(|value| value * limit / norm) } else { x }
}

/// The length of a joint's features.
pub fn norm(x: &[f64; 9]) -> f64 {
    x.iter().map(|value| value * value).sum::<f64>().sqrt()
}
