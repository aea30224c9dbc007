//! Helper bones: where they hang, and how their motion follows from the joints around.
//!
//! A helper h hangs on the bone a whose weight it shares most. Seen from a it moves by L = M_a⁻¹ M_h, which at the bind pose is the
//! identity. Its features are the rotations of the bones around a, seen from a: for each bone j among a's parent, grandparent
//! and children the nine entries of R(M_a⁻¹ M_j) − I. They are zero at the bind pose, and so is what is regressed on them by
//! ridge, with a ridge chosen by leaving out poses:
//!
//! ```text
//! (R(L) − I, (L c − c) / l) ≈ D x,      c the helper's place at rest, l the rest diagonal
//! ```
//!
//! The driven L turns by the rotation nearest to I + D x and takes c to c + l D x. docs/compile.md says how an engine
//! evaluates it.

use crate::error::Error;
use dermis_rig::glam::{DAffine3, DMat3, DVec3};
use dermis_rig::rotation::nearest_rotation;
use dermis_rig::skeleton::{invert, row};
use dermis_rig::{BoneIndex, BoneTransforms, Influences, Rig, Skeleton};
use dermis_solve::Folds;
use dermis_solve::faer::{Mat, MatRef};
use dermis_solve::symmetric::solve_shifted;
use serde::{Deserialize, Serialize};

/// What the table calls itself.
pub const FORMAT: &str = "dermis-helpers";
/// The version this program writes.
pub const VERSION: u32 = 1;
/// Ridges on the sums of squares of rotation entries: from next to nothing to everything.
const RIDGES: [f64; 11] = [1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0];

/// A bone that was added.
#[derive(Clone, Debug, PartialEq)]
pub struct Helper {
    /// Its name in the file.
    pub name: String,
    /// The bone it hangs on.
    pub parent: String,
    /// Where it stands at rest, metres.
    pub centre: DVec3,
    /// The bones its motion is computed from, seen from its parent.
    pub reads: Vec<String>,
    /// Vertices that follow it.
    pub vertices: usize,
}

/// Places the bones behind those of the skeleton.
pub(super) fn helpers(rig: &Rig, weights: &Influences, transforms: &[BoneTransforms]) -> Vec<Helper> {
    let known = rig.skeleton.len();
    let bones = transforms.first().map_or(known, |pose| pose.len());
    (known..bones)
        .map(|h| {
            let helper = BoneIndex::new(h);
            let (mut centre, mut sum, mut vertices) = (DVec3::ZERO, 0.0, 0);
            let mut shared = vec![0.0; known];
            for (v, row) in weights.rows().enumerate() {
                let w = weights.value(v, helper);
                if w == 0.0 {
                    continue;
                }
                (centre, sum, vertices) = (centre + w * rig.mesh.positions[v], sum + w, vertices + 1);
                row.iter().filter(|(k, _)| k.get() < known).for_each(|(k, u)| shared[k.get()] += w * u);
            }
            // A helper that shares no vertex with a known bone hangs on the one nearest to it.
            let centre = if sum > 0.0 { centre / sum } else { DVec3::ZERO };
            let far = |k: usize| rig.skeleton.bind()[BoneIndex::new(k)].translation.distance(centre);
            let parent = (0..known).fold(0, |best, k| {
                let closer = shared[k] == shared[best] && far(k) < far(best);
                if shared[k] > shared[best] || closer { k } else { best }
            });
            let names = rig.skeleton.names();
            Helper {
                name: fresh_name(&rig.skeleton, h - known + 1),
                parent: names[BoneIndex::new(parent)].clone(),
                centre,
                reads: around(&rig.skeleton, BoneIndex::new(parent)).into_iter().map(|k| names[k].clone()).collect(),
                vertices,
            }
        })
        .collect()
}

/// A name that no bone has.
fn fresh_name(skeleton: &Skeleton, number: usize) -> String {
    let mut name = format!("helper_{number}");
    while skeleton.find(&name).is_some() {
        name.push('_');
    }
    name
}

/// Parent, grandparent and children.
fn around(skeleton: &Skeleton, bone: BoneIndex) -> Vec<BoneIndex> {
    let above = skeleton.parents()[bone];
    let mut around: Vec<BoneIndex> = above.into_iter().collect();
    around.extend(above.and_then(|parent| skeleton.parents()[parent]));
    around.extend(skeleton.bones().filter(|&k| skeleton.parents()[k] == Some(bone)));
    around
}

/// How helpers follow from joints; docs/compile.md defines every field.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HelperTable {
    /// [`FORMAT`].
    pub format: String,
    /// [`VERSION`].
    pub version: u32,
    /// The program that wrote it.
    pub generator: String,
    /// l, metres.
    pub length: f64,
    /// The helpers, in the order of their bones.
    pub helpers: Vec<DrivenHelper>,
}

/// One helper of a [`HelperTable`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DrivenHelper {
    /// Its name in the GLB.
    pub name: String,
    /// The bone it hangs on.
    pub parent: String,
    /// c, metres.
    pub centre: [f64; 3],
    /// The bones that are read, in the order of the features.
    pub reads: Vec<String>,
    /// D: twelve rows, nine columns per bone that is read.
    pub matrix: Vec<Vec<f64>>,
}

impl HelperTable {
    /// The table as text.
    pub fn json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// M_h of every helper from the bone transforms of the skeleton; a bone that is missing or singular leaves a helper
    /// on its parent.
    pub fn evaluate(&self, skeleton: &Skeleton, pose: &BoneTransforms) -> Vec<DAffine3> {
        self.helpers
            .iter()
            .map(|helper| {
                let Some(parent) = skeleton.find(&helper.parent) else { return DAffine3::IDENTITY };
                let reads: Vec<BoneIndex> = helper.reads.iter().filter_map(|name| skeleton.find(name)).collect();
                match features(pose, parent, &reads) {
                    Some(x) if reads.len() == helper.reads.len() => {
                        let y = |r: usize| -> f64 { helper.matrix[r].iter().zip(&x).map(|(d, x)| d * x).sum() };
                        pose[parent] * local(DVec3::from_array(helper.centre), self.length, std::array::from_fn(y))
                    }
                    _ => pose[parent],
                }
            })
            .collect()
    }
}

/// L from what is regressed.
fn local(centre: DVec3, length: f64, y: [f64; 12]) -> DAffine3 {
    let column = |c: usize| DVec3::new(y[c], y[3 + c], y[6 + c]);
    let turned = nearest_rotation(&(DMat3::IDENTITY + DMat3::from_cols(column(0), column(1), column(2))));
    let moved = centre + length * DVec3::new(y[9], y[10], y[11]);
    DAffine3 { matrix3: turned, translation: moved - turned * centre }
}

/// x: the rotations of the bones that are read, seen from the parent; `None` if the parent is squeezed flat.
fn features(pose: &BoneTransforms, parent: BoneIndex, reads: &[BoneIndex]) -> Option<Vec<f64>> {
    let inverse = invert(&pose[parent])?;
    let of_bone = |&j: &BoneIndex| entries(&(inverse * pose[j]));
    Some(reads.iter().flat_map(of_bone).collect())
}

/// The nine entries of a linear part less the identity, row after row.
fn entries(m: &DAffine3) -> [f64; 9] {
    std::array::from_fn(|e| row(m, e / 3)[e % 3] - f64::from(u8::from(e / 3 == e % 3)))
}

/// Driven helpers.
pub(super) struct Driven {
    pub table: HelperTable,
    /// All bones, the helpers computed from the joints.
    pub driven: Vec<BoneTransforms>,
    /// The same, each helper from a table that has not seen the pose; `None` with too few poses.
    pub left_out: Option<Vec<BoneTransforms>>,
}

/// Regresses the motion of the helpers on the joints around them. Poses of several clips follow each other, `lengths` of
/// each; what is left out at a time is a stretch of a clip.
pub(super) fn drive(
    rig: &Rig,
    helpers: &[Helper],
    transforms: &[BoneTransforms],
    lengths: &[usize],
) -> Result<Driven, Error> {
    let (skeleton, length) = (&rig.skeleton, rig.mesh.diagonal().max(f64::MIN_POSITIVE));
    let known = skeleton.len();
    let poses = transforms.len();
    let folds = stretches(lengths);
    let mut made = Vec::new();
    let mut driven = transforms.to_vec();
    let mut left_out = transforms.to_vec();
    for (at, helper) in helpers.iter().enumerate() {
        let find = |name: &String| skeleton.find(name).unwrap_or(BoneIndex::new(0));
        let parent = find(&helper.parent);
        let reads: Vec<BoneIndex> = helper.reads.iter().map(find).collect();
        let mut x = Mat::<f64>::zeros(poses, 9 * reads.len());
        let mut y = Mat::<f64>::zeros(poses, 12);
        for (s, pose) in transforms.iter().enumerate() {
            let (Some(features), Some(inverse)) = (features(pose, parent, &reads), invert(&pose[parent])) else {
                continue;
            };
            features.iter().enumerate().for_each(|(f, value)| x[(s, f)] = *value);
            let l = inverse * pose[BoneIndex::new(known + at)];
            let moved = (l.transform_point3(helper.centre) - helper.centre) / length;
            entries(&l).into_iter().chain(moved.to_array()).enumerate().for_each(|(r, value)| y[(s, r)] = value);
        }
        let solved = |keep: &dyn Fn(usize) -> bool, ridge: f64| -> Result<Mat<f64>, Error> {
            let chosen: Vec<usize> = (0..poses).filter(|&s| keep(s)).collect();
            let some = |m: &Mat<f64>| Mat::from_fn(chosen.len(), m.ncols(), |i, j| m[(chosen[i], j)]);
            let (x, y) = (some(&x), some(&y));
            let gram = x.transpose() * &x;
            let right = x.transpose() * &y;
            solve_shifted(gram.as_ref(), ridge, right.as_ref())
                .map_err(|e| Error::Option(format!("the motion of \"{}\": {e}", helper.name)))
        };
        // The ridge whose left-out error is least; its left-out predictions are kept.
        let mut best: Option<(f64, f64, Mat<f64>)> = None;
        if folds.len() > 1 && !reads.is_empty() {
            for ridge in RIDGES {
                let mut predicted = Mat::<f64>::zeros(poses, 12);
                for fold in &folds {
                    let d = solved(&|s| !fold.contains(&s), ridge)?;
                    for s in fold.clone() {
                        let row = x.row(s) * &d;
                        (0..12).for_each(|r| predicted[(s, r)] = row[r]);
                    }
                }
                let error = (&predicted - &y).squared_norm_l2();
                if best.as_ref().is_none_or(|(least, ..)| error < *least) {
                    best = Some((error, ridge, predicted));
                }
            }
        }
        let (ridge, predicted) = best.map_or((0.1, None), |(_, ridge, predicted)| (ridge, Some(predicted)));
        let d = solved(&|_| true, ridge)?;
        let fitted = &x * &d;
        let place = |into: &mut [BoneTransforms], y: MatRef<'_, f64>| {
            for (s, pose) in into.iter_mut().enumerate() {
                let mut bones = pose.as_slice().to_vec();
                bones[known + at] = pose[parent] * local(helper.centre, length, std::array::from_fn(|r| y[(s, r)]));
                *pose = BoneTransforms::new(bones);
            }
        };
        place(&mut driven, fitted.as_ref());
        if let Some(predicted) = &predicted {
            place(&mut left_out, predicted.as_ref());
        }
        made.push(DrivenHelper {
            name: helper.name.clone(),
            parent: helper.parent.clone(),
            centre: helper.centre.to_array(),
            reads: helper.reads.clone(),
            matrix: (0..12).map(|r| (0..d.nrows()).map(|f| d[(f, r)]).collect()).collect(),
        });
    }
    let table = HelperTable {
        format: FORMAT.into(),
        version: VERSION,
        generator: concat!("dermis ", env!("CARGO_PKG_VERSION")).into(),
        length,
        helpers: made,
    };
    Ok(Driven { table, driven, left_out: (folds.len() > 1).then_some(left_out) })
}

/// Five stretches of every clip; whole clips if there are five or more.
fn stretches(lengths: &[usize]) -> Vec<std::ops::Range<usize>> {
    let mut start = 0;
    let mut stretches = Vec::new();
    let clips = lengths.iter().filter(|&&length| length > 0).count();
    for &length in lengths {
        let parts = if clips >= 5 { 1 } else { 5.min(length) };
        let folds = Folds::Blocks(parts).ranges(length);
        stretches.extend(folds.into_iter().map(|fold| start + fold.start..start + fold.end));
        start += length;
    }
    stretches
}
