//! The regression of helpers on joints.
//!
//! Seen from its parent a helper moves by L = M_a⁻¹ M_h. With the features x of the joints around
//! ([`dermis_deform::tables`]), ridge regression finds the D that minimises
//!
//! ```text
//! Σ_s |y_s − D x_s|² + λ |D|²,        y = ((R(L) − I) · ρ, (L c − c)) / l
//! ```
//!
//! where ρ²/3 is the mean square distance of its vertices from c in each direction, so that both parts of y count as they move
//! the skin. λ has the lowest cross-validation error ([`press`]) over single poses, or over stretches of a clip.

use super::helpers::Helper;
use crate::CompileError;
use dermis_deform::tables::{DrivenHelper, DrivingJoint, HelperTable, entries, joint_features, local, norm};
use dermis_rig::skeleton::invert;
use dermis_rig::{BoneIndex, BoneTransforms, Rig, Skeleton};
use dermis_solve::Fold;
use dermis_solve::cross_validation::{choose, press};
use dermis_solve::faer::{Mat, MatRef};
use dermis_solve::symmetric::{principal_axes, solve_shifted};
use rayon::prelude::*;

/// Ridges on the sums of squares of rotation entries: from next to nothing to everything.
const RIDGES: [f64; 15] = [1e-5, 1e-4, 1e-3, 3e-3, 1e-2, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0];
/// The ridge where no poses can be left out to choose it: the seventh of [`RIDGES`].
pub(super) const ASSUMED_RIDGE: f64 = 0.1;
/// κ of the guard: how far beyond training a joint's features may go.
const BEYOND: f64 = 1.25;

/// Driven helpers.
pub(super) struct Driven {
    pub table: HelperTable,
    /// Helpers whose ridge could not be chosen and is [`ASSUMED_RIDGE`].
    pub assumed: usize,
    /// All bones in every pose, the helpers computed from the joints.
    pub driven: Vec<BoneTransforms>,
    /// Per helper, the share of its motion that the joints explain in poses left out.
    pub explained: Vec<Option<f64>>,
    /// As `driven`, each helper from a table that has not seen the pose; `None` with too few poses.
    pub left_out: Option<Vec<BoneTransforms>>,
}

/// Regresses the motion of the helpers on the joints around them; `folds` are left out at a time.
pub(super) fn drive(
    rig: &Rig,
    helpers: &[Helper],
    transforms: &[BoneTransforms],
    folds: &[Fold],
) -> Result<Driven, CompileError> {
    let length = rig.mesh().extent().max(f64::MIN_POSITIVE);
    let regressed = |(at, helper): (usize, &Helper)| {
        regress(rig.skeleton(), helper, BoneIndex::new(rig.skeleton().len() + at), transforms, length, folds)
    };
    let regressed = helpers.par_iter().enumerate().map(regressed).collect::<Result<Vec<_>, CompileError>>()?;
    let placed = |of: fn(&Regressed) -> Option<&[[f64; 12]]>| -> Option<Vec<BoneTransforms>> {
        let motions = regressed.iter().map(of).collect::<Option<Vec<_>>>()?;
        let pose = |(s, pose): (usize, &BoneTransforms)| {
            let mut bones = pose.as_slice()[..rig.skeleton().len()].to_vec();
            for (helper, motion) in helpers.iter().zip(&motions) {
                bones.push(bones[helper.parent.get()] * local(helper.centre, length, motion[s]));
            }
            BoneTransforms::new(bones)
        };
        Some(transforms.iter().enumerate().map(pose).collect())
    };
    Ok(Driven {
        driven: placed(|r| Some(&r.fitted)).unwrap_or_default(),
        left_out: placed(|r| r.left_out.as_deref()),
        explained: regressed.iter().map(|r| r.explained).collect(),
        assumed: regressed.iter().filter(|r| r.left_out.is_none()).count(),
        table: HelperTable { length, helpers: regressed.into_iter().map(|r| r.helper).collect() },
    })
}

/// One helper, and y in every pose.
struct Regressed {
    helper: DrivenHelper,
    fitted: Vec<[f64; 12]>,
    left_out: Option<Vec<[f64; 12]>>,
    explained: Option<f64>,
}

fn regress(
    skeleton: &Skeleton,
    helper: &Helper,
    bone: BoneIndex,
    transforms: &[BoneTransforms],
    length: f64,
    folds: &[Fold],
) -> Result<Regressed, CompileError> {
    // ρ / l; a helper of a single vertex has none, and its rotation does not matter.
    let turn = (helper.radius / 3f64.sqrt() / length).max(1e-9);
    let (poses, joints) = (transforms.len(), &helper.joints);
    let mut limits = vec![0.0f64; joints.len()];
    let mut x = Mat::<f64>::zeros(poses, 9 * joints.len());
    let mut y = Mat::<f64>::zeros(poses, 12);
    for (s, pose) in transforms.iter().enumerate() {
        // A pose with a bone squeezed flat teaches nothing.
        let features = joints.iter().map(|&(from, to)| joint_features(pose, from, to)).collect::<Option<Vec<_>>>();
        let (Some(features), Some(inverse)) = (features, invert(&pose[helper.parent])) else { continue };
        limits.iter_mut().zip(&features).for_each(|(limit, x)| *limit = limit.max(BEYOND * norm(x)));
        features.as_flattened().iter().enumerate().for_each(|(f, value)| x[(s, f)] = *value);
        let l = inverse * pose[bone];
        let moved = (l.transform_point3(helper.centre) - helper.centre) / length;
        let turned = entries(&l).map(|entry| entry * turn);
        turned.into_iter().chain(moved.to_array()).enumerate().for_each(|(r, value)| y[(s, r)] = value);
    }
    let failed = |source| CompileError::Solve { what: format!("the motion of \"{}\"", helper.name), source };
    let (gram, right) = (x.transpose() * &x, x.transpose() * &y);
    let ridge = ridge(x.as_ref(), y.as_ref(), gram.as_ref(), folds).map_err(failed)?;
    let d = solve_shifted(gram.as_ref(), ridge.unwrap_or(ASSUMED_RIDGE), right.as_ref()).map_err(failed)?;
    let left_out = match ridge {
        None => None,
        Some(ridge) => {
            let mut left_out = y.clone();
            for fold in folds {
                let part = |m: &Mat<f64>| m.get(fold.start..fold.end, ..).to_owned();
                let (xb, yb) = (part(&x), part(&y));
                let (gram, right) = (&gram - xb.transpose() * &xb, &right - xb.transpose() * &yb);
                let predicted = &xb * solve_shifted(gram.as_ref(), ridge, right.as_ref()).map_err(failed)?;
                left_out.get_mut(fold.start..fold.end, ..).copy_from(&predicted);
            }
            Some(left_out)
        }
    };
    let explained = left_out.as_ref().map(|p| 1.0 - (p - &y).squared_norm_l2() / y.squared_norm_l2().max(1e-300));
    let unscaled = |row: usize| if row < 9 { 1.0 / turn } else { 1.0 };
    let rows = |m: &Mat<f64>| -> Vec<[f64; 12]> {
        (0..poses).map(|s| std::array::from_fn(|r| m[(s, r)] * unscaled(r))).collect()
    };
    let names = skeleton.names();
    let joints = joints.iter().zip(limits);
    Ok(Regressed {
        fitted: rows(&(&x * &d)),
        left_out: left_out.as_ref().map(rows),
        explained,
        helper: DrivenHelper {
            name: helper.name.clone(),
            parent: names[helper.parent].clone(),
            centre: helper.centre.to_array(),
            joints: joints
                .map(|(&(from, to), limit)| DrivingJoint { from: names[from].clone(), to: names[to].clone(), limit })
                .collect(),
            matrix: (0..12).map(|r| (0..d.nrows()).map(|f| d[(f, r)] * unscaled(r)).collect()).collect(),
        },
    })
}

/// The ridge that predicts the folds best; `None` with fewer than two folds, or without motion.
fn ridge(
    x: MatRef<'_, f64>,
    y: MatRef<'_, f64>,
    gram: MatRef<'_, f64>,
    folds: &[Fold],
) -> Result<Option<f64>, dermis_solve::SolveError> {
    let axes = principal_axes(gram)?;
    let seen = axes.values.iter().take_while(|&&v| v > 1e-12 * axes.values[0]).count();
    if folds.len() < 2 || seen == 0 {
        return Ok(None);
    }
    let projected = x * axes.vectors.get(.., ..seen);
    let q = Mat::from_fn(x.nrows(), seen, |s, h| projected[(s, h)] / axes.values[h].sqrt());
    let qty = q.transpose() * y;
    let score = |ridge: &f64| {
        let filter: Vec<f64> = axes.values[..seen].iter().map(|v| v / (v + ridge)).collect();
        press(q.as_ref(), &filter, y, qty.as_ref(), folds)
    };
    let scores = RIDGES.iter().map(score).collect::<Result<Vec<_>, _>>()?;
    Ok(choose(&scores, 1.0).map(|at| RIDGES[at]))
}
