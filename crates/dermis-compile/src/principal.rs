//! Principal shapes: the correction of a model over one motion as morph targets with animated weights.
//!
//! The correction of each frame is carried back to the rest pose through the vertex's blended matrix A_v,
//! d_vs = A_vs⁻¹ (p'_vs − A_vs p_v). The morph targets are the mean of these corrections over the frames and the principal
//! axes of what is left. They are baked for this motion.
//!
//! **Weights lie in 0..1**, because applications clamp them there. A shape is scaled by the range of its component over the
//! frames, so that its weight runs from 0 to 1. What all frames share, with the low ends of the ranges in it, is a morph
//! target of its own whose weight is always one.

use crate::CompileError;
use dermis_deform::{RiggedDeformer, blend};
use dermis_measure::{Distance, Distances, run_motion, within_memory};
use dermis_rig::glam::{DMat3, DVec3};
use dermis_rig::skeleton::invert;
use dermis_rig::{Influences, MorphTarget, Motion, Progress};
use dermis_solve::faer::Mat;
use dermis_solve::symmetric::principal_axes;

/// Corrections of a motion as principal shapes at rest.
#[derive(Clone, Debug, PartialEq)]
pub struct PrincipalShapes {
    /// The morph targets: first what all frames share, then the principal shapes.
    pub morphs: Vec<MorphTarget>,
    /// Weights of the morph targets in every frame, in 0..1.
    pub weights: Vec<Vec<f64>>,
    /// Distance over the motion between the model and the skin with morph targets.
    pub against_model: Distance,
    /// The same for the skin weights alone.
    pub weights_alone: Distance,
    /// Pairs of frame and vertex whose blended matrix is singular, so that their correction is left out.
    pub collapsed: usize,
}

/// Compiles the model's skins over a motion into at most `most` morph targets over the skin weights.
///
/// - `weights`: the skin weights that the morph targets are added under
/// - `given`: positions of the base in every frame, for a model over given positions
///
/// # Errors
/// [`CompileError::Measure`] if the model cannot be run or the frames do not fit in memory, [`CompileError::Solve`] if the
/// principal axes of the corrections cannot be found, [`CompileError::Cancelled`].
pub fn principal_shapes(
    model: &RiggedDeformer,
    weights: &Influences,
    motion: &Motion,
    given: Option<&[Vec<DVec3>]>,
    most: usize,
    progress: Progress<'_>,
) -> Result<PrincipalShapes, CompileError> {
    let rig = model.rig();
    // Skins, corrections as they are, centred and rebuilt, and the matrices that carry them.
    within_memory(motion, rig, 24 * 4 + 72)?;
    let (skins, _) = run_motion(model, motion, given, progress)?;
    let (frames, vertices) = (skins.len(), rig.mesh().positions.len());
    // Rest-space corrections, and the matrices that carry them to the pose.
    let mut corrections = Mat::<f64>::zeros(3 * vertices, frames);
    let mut carriers: Vec<Vec<DMat3>> = Vec::with_capacity(frames);
    let (mut alone, mut collapsed) = (Distances::default(), 0);
    for (at, (frame, skin)) in motion.frames.iter().zip(&skins).enumerate() {
        let transforms = rig.skeleton().bone_transforms(&frame.pose);
        let mut carrier = Vec::with_capacity(vertices);
        for v in 0..vertices {
            let a = blend(weights.of(v), &transforms);
            let difference = skin[v] - a.transform_point3(rig.mesh().positions[v]);
            alone.add(difference.length());
            // A collapsed blend cannot carry a correction; it is left out, counted, and shows up in the error.
            let inverse = invert(&a);
            collapsed += usize::from(inverse.is_none());
            let back = inverse.map_or(DVec3::ZERO, |inverse| inverse.matrix3 * difference);
            for j in 0..3 {
                corrections[(3 * v + j, at)] = back[j];
            }
            carrier.push(a.matrix3);
        }
        carriers.push(carrier);
    }
    let mut made = PrincipalShapes {
        morphs: vec![],
        weights: vec![vec![]; frames],
        against_model: (0.0, 0.0),
        weights_alone: alone.finish(),
        collapsed,
    };
    let rebuilt = add_principal(&corrections, 1e-6 * rig.mesh().extent(), most, &mut made)?;
    let mut against = Distances::default();
    for s in 0..frames {
        let transforms = rig.skeleton().bone_transforms(&motion.frames[s].pose);
        for v in 0..vertices {
            let d = DVec3::new(rebuilt[(3 * v, s)], rebuilt[(3 * v + 1, s)], rebuilt[(3 * v + 2, s)]);
            let shown =
                blend(weights.of(v), &transforms).transform_point3(rig.mesh().positions[v]) + carriers[s][v] * d;
            against.add((shown - skins[s][v]).length());
        }
    }
    made.against_model = against.finish();
    Ok(made)
}

/// Adds the principal shapes of `corrections` (3·vertices × frames) to `made`; result: what they rebuild.
///
/// Each shape spans the range of its component. Shapes whose displacement never exceeds `unseen` are left out.
fn add_principal(
    corrections: &Mat<f64>,
    unseen: f64,
    most: usize,
    made: &mut PrincipalShapes,
) -> Result<Mat<f64>, CompileError> {
    let (size, frames) = (corrections.nrows(), corrections.ncols());
    let mut rebuilt = Mat::<f64>::zeros(size, frames);
    if most == 0 || frames == 0 || corrections.norm_max() <= unseen {
        return Ok(rebuilt);
    }
    let mut constant: Vec<f64> =
        (0..size).map(|i| (0..frames).map(|s| corrections[(i, s)]).sum::<f64>() / frames as f64).collect();
    let centred = Mat::from_fn(size, frames, |i, s| corrections[(i, s)] - constant[i]);
    let gram = centred.transpose() * &centred;
    let failed = CompileError::solve("the principal shapes of the motion's corrections");
    let axes = principal_axes(gram.as_ref()).map_err(failed)?;
    let mut shapes: Vec<Vec<f64>> = Vec::new();
    let mut weights: Vec<Vec<f64>> = vec![vec![1.0]; frames];
    for h in 0..axes.values.len().min(most - 1) {
        let e = |s: usize| axes.vectors[(s, h)];
        let (low, high) = (0..frames).map(e).fold((f64::INFINITY, f64::NEG_INFINITY), |(l, u), x| (l.min(x), u.max(x)));
        let along: Vec<f64> = (0..size).map(|i| (0..frames).map(|s| centred[(i, s)] * e(s)).sum()).collect();
        if along.iter().all(|x| x.abs() * (high - low) <= unseen) {
            break;
        }
        constant.iter_mut().zip(&along).for_each(|(c, x)| *c += low * x);
        shapes.push(along.iter().map(|x| x * (high - low)).collect());
        weights.iter_mut().enumerate().for_each(|(s, w)| w.push((e(s) - low) / (high - low)));
    }
    shapes.insert(0, constant);
    for (h, shape) in shapes.iter().enumerate() {
        for s in 0..frames {
            for i in 0..size {
                rebuilt[(i, s)] += weights[s][h] * shape[i];
            }
        }
        let name = if h == 0 { "correction_common".into() } else { format!("correction_{h}") };
        let deltas = shape.chunks_exact(3).map(DVec3::from_slice).collect();
        made.morphs.push(MorphTarget { name, deltas });
    }
    made.weights = weights;
    Ok(rebuilt)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Corrections of four vertices in eight frames: a constant, and two orthogonal motions of different size.
    fn planted() -> Mat<f64> {
        Mat::from_fn(12, 8, |i, s| {
            let turn = s as f64 * std::f64::consts::TAU / 8.0;
            let along = [i % 2 == 0, i % 2 == 1].map(|on| f64::from(u8::from(on)) * (1.0 + 0.1 * i as f64));
            0.3 * i as f64 + 2.0 * turn.cos() * along[0] + 0.5 * turn.sin() * along[1]
        })
    }

    fn compiled(unseen: f64, most: usize) -> (PrincipalShapes, f64) {
        let corrections = planted();
        let mut made = PrincipalShapes {
            morphs: vec![],
            weights: vec![vec![]; 8],
            against_model: (0.0, 0.0),
            weights_alone: (0.0, 0.0),
            collapsed: 0,
        };
        let rebuilt = add_principal(&corrections, unseen, most, &mut made).unwrap();
        // What the targets and weights say is what is reported as rebuilt.
        for (s, weights) in made.weights.iter().enumerate() {
            for v in 0..4 {
                let sum: DVec3 = made.morphs.iter().zip(weights).map(|(morph, w)| morph.deltas[v] * *w).sum();
                let told = DVec3::new(rebuilt[(3 * v, s)], rebuilt[(3 * v + 1, s)], rebuilt[(3 * v + 2, s)]);
                assert!(sum.distance(told) < 1e-12, "frame {s}, vertex {v}: {sum} {told}");
            }
        }
        (made, (rebuilt - corrections).norm_l2())
    }

    /// Eckart and Young: the best shapes leave the singular values that have no shape, here √8 · 0.5 / √2 times the length
    /// of the smaller motion.
    #[test]
    fn as_many_shapes_as_motions_rebuild_them_and_fewer_leave_the_smaller() {
        let (made, left) = compiled(1e-9, 5);
        assert!(made.morphs.len() == 3 && left < 1e-12, "{left}");
        let length = |odd: usize| (0..6).map(|i| (1.0 + 0.1 * (2 * i + odd) as f64).powi(2)).sum::<f64>().sqrt();
        let [larger, smaller] = [2.0 * 2.0 * length(0), 2.0 * 0.5 * length(1)];
        for (most, morphs, expected) in [(2, 2, smaller), (1, 1, larger.hypot(smaller))] {
            let (made, left) = compiled(1e-9, most);
            assert!(made.morphs.len() == morphs && (left - expected).abs() < 1e-12, "{most}: {left}, not {expected}");
        }
        assert_eq!(compiled(1e-9, 0).0.morphs.len(), 0);
    }

    #[test]
    fn weights_run_from_zero_to_one() {
        let (made, _) = compiled(1e-9, 3);
        assert!(made.weights.iter().all(|weights| weights[0] == 1.0));
        for shape in 1..3 {
            let of_frames: Vec<f64> = made.weights.iter().map(|weights| weights[shape]).collect();
            let (low, high) = of_frames.iter().fold((1.0f64, 0.0f64), |(l, h), w| (l.min(*w), h.max(*w)));
            assert_eq!((low, high), (0.0, 1.0), "{of_frames:?}");
        }
    }

    /// The smaller motion moves nothing by more than its range, 2 · 0.5 · 2.1.
    #[test]
    fn shapes_that_cannot_be_seen_are_left_out() {
        assert_eq!([2.0, 2.2].map(|unseen| compiled(unseen, 5).0.morphs.len()), [3, 2]);
        assert_eq!(compiled(100.0, 5).0.morphs.len(), 0);
    }
}
