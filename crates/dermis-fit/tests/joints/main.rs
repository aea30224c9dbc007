//! The joint model keeps its promises: what moves nothing, what bounds it, and that its fast fit is the plain one.

#[path = "../bench/mod.rs"]
mod bench;
mod composites;
mod masks;
mod parts;
mod promises;

use bench::{Bench, exercise_with_an_agreeing_hand, skinned};
use dermis_deform::JointKernel;
use dermis_deform::joints::{CorrectionFrame, JointPose, Joints};
use dermis_deform::lbs;
use dermis_fit::joints::{JointTree, joint_leverages};
use dermis_fit::{Cancelled, FitError, Folds, JointFit, JointSettings, fit_joints, silent};
use dermis_rig::glam::{DAffine3, DMat3, DQuat, DVec3};
use dermis_rig::{BoneIndex, BoneTransforms, Example, Influences, Skeleton};
use dermis_solve::faer::prelude::Solve;
use dermis_solve::faer::{Mat, Side};
use dermis_testkit::arm::{FOREARM, HAND};
use dermis_testkit::{
    Arm, ArmPose, Random, Tree, change_rig, largest_distance, moved, noisy, rounded_pose, scaled, scaled_pose,
    some_motion, stored_in_f32,
};
use std::f64::consts::PI;
use std::ops::ControlFlow;

const FRAMES: [CorrectionFrame; 3] = [CorrectionFrame::Anchor, CorrectionFrame::Rest, CorrectionFrame::Blend];

fn settings(frame: CorrectionFrame) -> JointSettings {
    JointSettings { frame, ..JointSettings::new(false) }
}

/// With composite joints in every other frame, so that both forms are checked.
fn with_composites(frame: CorrectionFrame, settings: JointSettings) -> JointSettings {
    JointSettings { composites: if frame == CorrectionFrame::Anchor { 0.0 } else { 1.5 }, ..settings }
}

/// The settings, and with them joints in swing and twist, products of joints, or both: another form in every frame.
fn forms_of(settings: JointSettings) -> [JointSettings; 2] {
    let products = if settings.frame == CorrectionFrame::Anchor { 0.0 } else { 1.5 };
    let swing_twist = settings.frame != CorrectionFrame::Rest;
    [JointSettings { products, swing_twist, ..settings.clone() }, settings]
}

/// At a given λ, nothing rounded.
fn given(frame: CorrectionFrame, lambda: f64) -> JointSettings {
    JointSettings { lambda: Some(lambda), rounding: 0, ..settings(frame) }
}

fn weights(bench: &Bench) -> &Influences {
    bench.rig.weights().expect("the rig has weights")
}

fn fit(bench: &Bench, settings: &JointSettings) -> JointFit {
    fit_joints(&bench.training(), weights(bench), settings, &silent).expect("the fit succeeds")
}

/// What the correction adds in a pose, posed world, and how often the ball acted.
fn deltas(bench: &Bench, model: &Joints, transforms: &BoneTransforms) -> (Vec<DVec3>, usize) {
    let mut pose = JointPose::default();
    pose.prepare(model, transforms);
    let rest = &bench.rig.mesh().positions;
    let all: Vec<(DVec3, bool)> = (0..rest.len()).map(|v| model.at(v, rest[v], &pose)).collect();
    (all.iter().map(|(d, _)| *d).collect(), all.iter().filter(|(_, held)| *held).count())
}

fn posed(bench: &Bench, model: &Joints, transforms: &BoneTransforms) -> Vec<DVec3> {
    skinned(&bench.rig, transforms).into_iter().zip(deltas(bench, model, transforms).0).map(|(p, d)| p + d).collect()
}

/// Poses of the arm that no fit has seen.
fn unseen(arm: &Arm, count: usize) -> Vec<BoneTransforms> {
    ArmPose::some(count + 1, 90).iter().skip(1).map(|pose| arm.transforms(pose)).collect()
}

/// A few vertices of the noisy arm in poses of different importance: small enough to fit in the plainest way.
fn small_bench(poses: usize) -> (Arm, Bench) {
    let (arm, bench) = Bench::arm(poses, 50);
    let mut examples = noisy(&bench.examples, 1e-3, 51);
    let kept: Vec<usize> = (0..bench.rig.mesh().positions.len()).step_by(7).collect();
    let pick = |all: &[DVec3]| -> Vec<DVec3> { kept.iter().map(|&v| all[v]).collect() };
    let mut rig = bench.rig.clone();
    let rows = kept.iter().map(|&v| weights(&bench).of(v).to_vec());
    let rows = Influences::from_rows(rows).expect("they were finite before");
    change_rig(&mut rig, |mesh, _, weights| {
        (mesh.positions, *weights) = (pick(&mesh.positions), Some(rows));
        mesh.triangles.clear();
    });
    for (s, example) in examples.iter_mut().enumerate() {
        example.positions = pick(&example.positions);
        example.importance = [1.0, 0.5, 2.0][s % 3];
    }
    let base = examples.iter().map(|e| skinned(&rig, &e.transforms)).collect();
    (arm, Bench { rig, examples, base, ..bench })
}

// ---- The regression of one vertex, written out a second time ----

/// F of a vertex.
fn frame_of(frame: CorrectionFrame, row: &[(BoneIndex, f64)], pose: &BoneTransforms) -> DMat3 {
    let heaviest = row.iter().fold(row[0], |most, e| if e.1 > most.1 { *e } else { most }).0;
    let quaternion = |bone: BoneIndex| DQuat::from_mat3(&pose[bone].matrix3);
    match frame {
        CorrectionFrame::Anchor => pose[heaviest].matrix3,
        CorrectionFrame::Rest => row.iter().fold(DMat3::ZERO, |sum, e| sum + pose[e.0].matrix3 * e.1),
        CorrectionFrame::Blend => {
            let reference = quaternion(heaviest);
            let sum = row.iter().fold(DQuat::from_xyzw(0.0, 0.0, 0.0, 0.0), |sum, &(bone, w)| {
                let q = quaternion(bone);
                sum + q * if q.dot(reference) < 0.0 { -w } else { w }
            });
            DMat3::from_quat(sum.normalize())
        }
    }
}

/// All features of a vertex in some poses, three rows a pose, in the world; no joint is welded. Centres, limits and
/// inducing rotations are those of the model.
fn features(bench: &Bench, model: &Joints, set: &JointSettings, v: usize, poses: &[BoneTransforms]) -> Mat<f64> {
    let (weights, rest) = (weights(bench), bench.rig.mesh().positions[v]);
    let tree = JointTree::new(bench.rig.skeleton(), weights);
    let relevance = &tree.joint_relevance(weights)[v];
    let place = |ends, single: bool| {
        model.joints.iter().position(|joint| (joint.from, joint.to) == ends && joint.centre.is_some() == single)
    };
    let mut free: Vec<(usize, f64)> =
        relevance.iter().filter_map(|&(edge, a)| Some((place(tree.edges[edge as usize], true)?, a.sqrt()))).collect();
    if set.composites > 0.0 {
        free.extend(composites::of_vertex(bench, &tree, relevance, set.composites, |ends| place(ends, false)));
    }
    let bones = if set.shared { tree.bone_relevance(weights)[v].clone() } else { vec![] };
    let of_pose = |pose: &BoneTransforms| -> ([Vec<f64>; 3], [Vec<f64>; 3], f64) {
        let frame = frame_of(set.frame, weights.of(v), pose);
        let blend = weights.of(v).iter().fold(DVec3::ZERO, |sum, e| sum + pose[e.0].transform_point3(rest) * e.1);
        let mut prepared = JointPose::default();
        prepared.prepare(model, pose);
        let (mut of_free, mut of_shared, mut squares) = ([vec![], vec![], vec![]], [vec![], vec![], vec![]], 0.0);
        for j in 0..3 {
            for &(joint, root) in &free {
                for axis in 0..3 {
                    of_free[j].extend(prepared.of(joint).iter().map(|z| frame.col(axis)[j] * root * z));
                }
            }
            for &(bone, b) in &bones {
                let shift = 10.0 / bench.length * (pose[bone].transform_point3(rest) - blend)[j];
                let turn = (0..3).map(|c| (pose[bone].matrix3.col(c)[j] - frame.col(c)[j]) / 2f64.sqrt());
                for x in turn.chain([shift]) {
                    squares += (b * x).powi(2);
                    of_shared[j].push(set.beta.sqrt() * b * x);
                }
            }
        }
        (of_free, of_shared, squares.sqrt())
    };
    let most = bench.examples.iter().map(|e| of_pose(&e.transforms).2).fold(0.0, f64::max);
    let limit = if set.shared_limit { set.limit * most } else { f64::INFINITY };
    let mut rows = Vec::new();
    for pose in poses {
        let (of_free, of_shared, norm) = of_pose(pose);
        let scale = if norm > limit { limit / norm } else { 1.0 };
        for (mut row, shared) in of_free.into_iter().zip(of_shared) {
            row.extend(shared.iter().map(|x| x * scale));
            rows.push(row);
        }
    }
    Mat::from_fn(rows.len(), rows[0].len(), |i, k| rows[i][k])
}

/// The regression of a vertex: features and residuals of the training poses, rows times importance.
fn regression(bench: &Bench, model: &Joints, set: &JointSettings, v: usize) -> (Mat<f64>, Mat<f64>) {
    let poses: Vec<BoneTransforms> = bench.examples.iter().map(|e| e.transforms.clone()).collect();
    let mut x = features(bench, model, set, v, &poses);
    let mut y = Mat::zeros(x.nrows(), 1);
    for i in 0..x.nrows() {
        let example = &bench.examples[i / 3];
        (0..x.ncols()).for_each(|k| x[(i, k)] *= example.importance);
        y[(i, 0)] = example.importance * (example.positions[v] - bench.base[i / 3][v])[i % 3];
    }
    (x, y)
}

/// (XᵀX + λ)⁻¹ of what is given.
fn ridge(x: &Mat<f64>, lambda: f64, right: &Mat<f64>) -> Mat<f64> {
    let mut gram = x.transpose() * x;
    (0..gram.nrows()).for_each(|i| gram[(i, i)] += lambda);
    gram.llt(Side::Lower).expect("λ is positive").solve(right)
}

fn rows_of(m: &Mat<f64>, rows: &[usize]) -> Mat<f64> {
    Mat::from_fn(rows.len(), m.ncols(), |i, k| m[(rows[i], k)])
}

#[test]
fn the_fit_is_the_plain_ridge_regression_in_every_frame_within_and_beyond_training() {
    let (arm, bench) = small_bench(24);
    let mut random = Random::new(91);
    let mut poses = unseen(&arm, 3);
    poses.extend((0..3).map(|_| arm.wild(&mut random, PI)));
    for frame in FRAMES {
        for lambda in [1e-3, 0.3] {
            let set = JointSettings { ball: false, ..with_composites(frame, given(frame, lambda)) };
            let JointFit { correction, report } = fit(&bench, &set);
            assert!(correction.joints.iter().any(|joint| joint.centre.is_none()) == (set.composites > 0.0));
            assert!(correction.radii.is_empty() && correction.joints.iter().any(|joint| joint.inducing.len() == 8));
            let got: Vec<Vec<DVec3>> = poses.iter().map(|pose| deltas(&bench, &correction, pose).0).collect();
            let (mut squares, mut leverage) = (0.0, 0.0f64);
            for v in 0..bench.rig.mesh().positions.len() {
                let (x, y) = regression(&bench, &correction, &set, v);
                let solution = ridge(&x, lambda, &(x.transpose() * &y));
                let expected = features(&bench, &correction, &set, v, &poses) * &solution;
                for (s, skin) in got.iter().enumerate() {
                    let expected = DVec3::from_array([0, 1, 2].map(|j| expected[(3 * s + j, 0)]));
                    assert!(skin[v].distance(expected) < 1e-9, "{frame:?} {lambda} vertex {v}: {} {expected}", skin[v]);
                }
                squares += (&x * &solution - &y).squared_norm_l2();
                let hat = &x * ridge(&x, lambda, &x.transpose().to_owned());
                for (s, example) in bench.examples.iter().enumerate() {
                    // Where the frame is a rotation, along its axes; else along the world's.
                    let block =
                        DMat3::from_cols_array_2d(&[0, 1, 2].map(|k| [0, 1, 2].map(|i| hat[(3 * s + i, 3 * s + k)])));
                    let turn = match frame {
                        CorrectionFrame::Rest => DMat3::IDENTITY,
                        _ => frame_of(frame, weights(&bench).of(v), &example.transforms),
                    };
                    let seen = turn.transpose() * block * turn;
                    leverage = leverage.max(seen.x_axis.x).max(seen.y_axis.y).max(seen.z_axis.z);
                }
            }
            let rms = (squares / (bench.examples.len() * bench.rig.mesh().positions.len()) as f64).sqrt();
            assert!((report.train - rms).abs() < 1e-9 * rms, "{frame:?}: {} {rms}", report.train);
            assert!((report.largest_leverage - leverage).abs() < 1e-9, "{} {leverage}", report.largest_leverage);
        }
    }
}

#[test]
fn the_sweep_equals_solving_again_without_each_fold() {
    let (_, bench) = small_bench(24);
    let blocks = vec![0..5, 5..10, 10..15, 15..20, 20..24];
    let pairs = (0..12).map(|at| 2 * at..2 * at + 2).collect();
    for (kind, folds) in
        [(Folds::Single, (0..24).map(|s| s..s + 1).collect()), (Folds::Blocks(12), pairs), (Folds::Blocks(5), blocks)]
    {
        for frame in FRAMES {
            let plain = JointSettings { folds: kind, rounding: 0, grid: vec![3e-3, 0.1], ..settings(frame) };
            let set = with_composites(frame, plain);
            let JointFit { correction, report } = fit(&bench, &set);
            for &(lambda, error) in &report.sweep {
                let mut sum = 0.0;
                for v in 0..bench.rig.mesh().positions.len() {
                    let (x, y) = regression(&bench, &correction, &set, v);
                    for fold in &folds {
                        let (held, kept): (Vec<usize>, Vec<usize>) =
                            (0..x.nrows()).partition(|row| fold.contains(&(row / 3)));
                        let (of_kept, of_held) = (rows_of(&x, &kept), rows_of(&x, &held));
                        let solution = ridge(&of_kept, lambda, &(of_kept.transpose() * rows_of(&y, &kept)));
                        sum += (of_held * solution - rows_of(&y, &held)).squared_norm_l2();
                    }
                }
                let count = bench.rig.mesh().positions.len() * bench.examples.len();
                let expected = (sum / count as f64).sqrt();
                assert!((error - expected).abs() < 1e-8 * expected, "{frame:?} {lambda}: {error} {expected}");
            }
            let best = report.sweep.iter().map(|p| p.1).fold(f64::INFINITY, f64::min);
            let wanted = report.sweep.iter().rev().find(|p| p.1 <= 1.03 * best).unwrap().0;
            assert_eq!(report.lambda, wanted);
        }
    }
}

/// Oracle: the examples once, with √2 times the importance, which multiplies residuals. Copies stand elsewhere, and the whole character has moved in them.
#[test]
fn examples_of_one_pose_are_left_out_together() {
    let (_, bench) = small_bench(24);
    for folds in [Folds::Single, Folds::Blocks(5)] {
        let set = JointSettings { folds, rounding: 0, ..settings(CorrectionFrame::Anchor) };
        let mut once = bench.clone();
        once.examples.iter_mut().for_each(|e| e.importance *= 2f64.sqrt());
        let expected = fit(&once, &set).report;
        let mut twice = bench.clone();
        let copies: Vec<usize> = (0..24).map(|s| (7 * s + 3) % 24).collect();
        let g = DAffine3::from_rotation_translation(DQuat::from_rotation_z(0.7), DVec3::new(0.3, -2.0, 0.1));
        for &s in &copies {
            let Example { transforms, positions, .. } = &bench.examples[s];
            let moved = |x: &Vec<DVec3>| x.iter().map(|p| g.transform_point3(*p)).collect::<Vec<_>>();
            let copy =
                Example { transforms: transforms.moved(g), positions: moved(positions), ..bench.examples[s].clone() };
            twice.examples.push(copy);
            twice.base.push(moved(&bench.base[s]));
        }
        let found = fit(&twice, &set).report;
        assert_eq!(found.lambda, expected.lambda);
        for (a, b) in found.sweep.iter().zip(&expected.sweep) {
            assert!((a.1 * 2f64.sqrt() - b.1).abs() < 1e-6 * b.1, "{folds:?} {a:?} {b:?}");
        }
    }
}

#[test]
fn leverages_of_any_pose_are_those_of_the_plain_regression() {
    let (arm, bench) = small_bench(16);
    let set = given(CorrectionFrame::Anchor, 1e-2);
    let JointFit { correction: model, report } = fit(&bench, &set);
    let mut poses = unseen(&arm, 4);
    poses.extend((0..4).map(|s| arm.wild(&mut Random::new(99 + s), PI)));
    let probes: Vec<&BoneTransforms> = poses.iter().collect();
    let got = joint_leverages(&bench.training(), weights(&bench), &set, &report, &probes, usize::MAX).unwrap();
    let mut expected = vec![0.0f64; poses.len()];
    for v in 0..bench.rig.mesh().positions.len() {
        let (x, _) = regression(&bench, &model, &set, v);
        let probes = features(&bench, &model, &set, v, &poses);
        let hat = &probes * ridge(&x, 1e-2, &probes.transpose().to_owned());
        for s in 0..poses.len() {
            let block = hat.get(3 * s..3 * s + 3, 3 * s..3 * s + 3);
            expected[s] = expected[s].max(block.to_owned().self_adjoint_eigenvalues(Side::Lower).unwrap()[2]);
        }
    }
    for (got, expected) in got.iter().zip(&expected) {
        assert!((got - expected).abs() < 1e-9 * expected.max(1.0), "{got} {expected}");
    }
}

// ---- The kernel ----

#[test]
fn the_kernel_vanishes_at_the_bind_pose_is_bounded_and_becomes_linear() {
    let mut random = Random::new(92);
    for _ in 0..50 {
        let [x, y]: [[f64; 12]; 2] = [0, 1].map(|_| [0; 12].map(|_| 0.4 * random.normal()));
        assert_eq!(
            (JointKernel::gaussian(2.0).at(&x, &[0.0; 12]), JointKernel::gaussian(2.0).at(&[0.0; 12], &y)),
            (0.0, 0.0)
        );
        assert!((JointKernel::gaussian(2.0).at(&x, &y) - JointKernel::gaussian(2.0).at(&y, &x)).abs() < 1e-15);
        let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
        // |z|² is at most k(φ, φ) = σ² (1 − g(φ, 0)).
        let own = 4.0 * (1.0 - (-dot(&x, &x) / 4.0).exp());
        assert!(
            (JointKernel::gaussian(2.0).at(&x, &x) - own).abs() < 1e-14
                && JointKernel::gaussian(2.0).at(&x, &y).abs() < 4.0
        );
        assert!((JointKernel::gaussian(1e4).at(&x, &y) - dot(&x, &y)).abs() < 1e-6);
    }
}

/// Poses in which every joint takes one of four rotations, so that its kernel matrix has rank three.
fn few_rotations(arm: &Arm, poses: usize) -> Vec<Example> {
    let mut random = Random::new(93);
    let wrist = [DVec3::ZERO, DVec3::new(0.9, 0.0, 0.0), DVec3::new(0.0, -0.8, 0.0), DVec3::new(0.0, 0.3, 1.0)];
    let elbow = [(0.0, 0.0), (1.2, 0.0), (0.4, 1.0), (0.8, -1.0)];
    let poses: Vec<ArmPose> = (0..poses)
        .map(|_| {
            let (elbow, twist) = elbow[random.below(4)];
            ArmPose { elbow, twist, wrist: wrist[random.below(4)], shoulder: -wrist[random.below(4)], ..ArmPose::REST }
        })
        .collect();
    arm.examples(&poses)
}

/// Kernel ridge regression over all training poses, a kernel of joint features per vertex.
#[test]
fn enough_inducing_rotations_give_the_exact_kernel_and_a_wide_one_is_linear() {
    let arm = Arm::new(9, 6);
    let bench = Bench::new(&arm.rig, few_rotations(&arm, 30));
    let tree = JointTree::new(bench.rig.skeleton(), weights(&bench));
    let relevance = tree.joint_relevance(weights(&bench));
    let (lambda, probe) = (1e-2, unseen(&arm, 1).remove(0));
    for sigma in [2.0, 1e4] {
        let set = JointSettings {
            sigma,
            shared: false,
            ball: false,
            limit: f64::INFINITY,
            ..given(CorrectionFrame::Anchor, lambda)
        };
        let model = fit(&bench, &set).correction;
        assert!(model.shared_limits.is_empty());
        assert!(model.joints.len() == 3 && model.joints.iter().all(|joint| joint.inducing.len() == 3));
        // The arm's joints turn about fixed points, so their features are the rotations alone.
        let turn = |pose: &BoneTransforms, (a, b): (BoneIndex, BoneIndex)| {
            pose[a].matrix3.transpose() * pose[b].matrix3 - DMat3::IDENTITY
        };
        let squares = |m: DMat3| m.to_cols_array().iter().map(|x| 0.5 * x * x).sum::<f64>();
        let k = |v: usize, p: &BoneTransforms, q: &BoneTransforms| -> f64 {
            let of_joint = |&(joint, a): &(u32, f64)| {
                let [x, y] = [p, q].map(|pose| turn(pose, tree.edges[joint as usize]));
                let linear = 0.5 * (squares(x) + squares(y) - squares(x - y));
                let g = |d: f64| (-d / 4.0).exp();
                let gaussian = 2.0 * (g(squares(x - y)) - g(squares(x)) - g(squares(y)) + 1.0);
                a * if sigma > 100.0 { linear } else { gaussian }
            };
            relevance[v].iter().map(of_joint).sum()
        };
        let got = deltas(&bench, &model, &probe).0;
        let train: Vec<&BoneTransforms> = bench.examples.iter().map(|e| &e.transforms).collect();
        for v in (0..got.len()).step_by(5) {
            let anchor = model.weights.dominant(v).unwrap();
            let mut gram = Mat::from_fn(30, 30, |s, t| k(v, train[s], train[t]));
            (0..30).for_each(|s| gram[(s, s)] += lambda);
            let y = Mat::from_fn(30, 3, |s, j| {
                (train[s][anchor].matrix3.transpose() * (bench.examples[s].positions[v] - bench.base[s][v]))[j]
            });
            let alpha = gram.llt(Side::Lower).unwrap().solve(&y);
            let local = [0, 1, 2].map(|j| (0..30).map(|s| k(v, &probe, train[s]) * alpha[(s, j)]).sum::<f64>());
            let expected = probe[anchor].matrix3 * DVec3::from_array(local);
            assert!(got[v].distance(expected) < 1e-6, "σ {sigma}, vertex {v}: {} {expected}", got[v]);
        }
    }
}

// ---- The shared part ----

/// Without inducing rotations there is no free part.
#[test]
fn the_shared_part_alone_finds_other_weights_and_offsets_per_bone() {
    let (arm, clean) = Bench::arm(24, 60);
    let relevance = JointTree::new(clean.rig.skeleton(), weights(&clean)).bone_relevance(weights(&clean));
    let mut random = Random::new(94);
    let rows = relevance.iter().map(|bones| {
        let raw: Vec<(BoneIndex, f64)> = bones.iter().map(|e| (e.0, random.between(0.1, 1.0))).collect();
        let sum: f64 = raw.iter().map(|e| e.1).sum();
        raw.into_iter().map(|(bone, w)| (bone, w / sum)).collect::<Vec<_>>()
    });
    let other = Influences::from_rows(rows).unwrap();
    // Offsets per bone that sum to nothing at the bind pose.
    let offsets: Vec<Vec<DVec3>> = relevance
        .iter()
        .map(|bones| {
            let all: Vec<DVec3> = bones.iter().map(|_| 0.02 * random.direction()).collect();
            let mean = all.iter().sum::<DVec3>() / all.len() as f64;
            all.into_iter().map(|o| o - mean).collect()
        })
        .collect();
    let rest = &clean.rig.mesh().positions;
    for (scale, frame) in [
        (0.0, CorrectionFrame::Anchor),
        (0.0, CorrectionFrame::Rest),
        (1.0, CorrectionFrame::Anchor),
        (1.0, CorrectionFrame::Blend),
    ] {
        let truth = |pose: &BoneTransforms| {
            let mut skin = vec![DVec3::ZERO; rest.len()];
            lbs(rest, &other, pose, &mut skin);
            for (v, p) in skin.iter_mut().enumerate() {
                let bones = relevance[v].iter().zip(&offsets[v]);
                *p += bones.map(|(e, o)| pose[e.0].matrix3 * *o * scale).sum::<DVec3>();
            }
            skin
        };
        let mut bench = clean.clone();
        bench.examples.iter_mut().for_each(|e| e.positions = truth(&e.transforms));
        let set = JointSettings { inducing: 0, inducing_sliding: 0, shared_limit: false, ..given(frame, 1e-9) };
        let JointFit { correction, report } = fit(&bench, &set);
        assert!(correction.joints.is_empty() && correction.coefficients.entries().is_empty());
        assert!(report.train < 1e-6, "{frame:?}: {}", report.train);
        let unguarded = Joints { radii: vec![], ..correction };
        for pose in unseen(&arm, 4) {
            let off = largest_distance(&posed(&bench, &unguarded, &pose), &truth(&pose));
            let asked = largest_distance(&skinned(&bench.rig, &pose), &truth(&pose));
            assert!(off < 1e-4 * asked, "{frame:?}: {off} of {asked}");
        }
    }
}

// ---- What changes nothing ----
