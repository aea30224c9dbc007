//! The joint model keeps its promises: what moves nothing, what bounds it, and that its fast fit is the plain one.

mod bench;

use bench::{Bench, skinned};
use dermis_deform::joints::{Frame, JointPose, Joints, kernel};
use dermis_deform::lbs;
use dermis_fit::joints::{JointTree, joint_leverages};
use dermis_fit::{Cancelled, FitError, Folds, JointFit, JointSettings, fit_joints, silent};
use dermis_rig::glam::{DAffine3, DMat3, DQuat, DVec3};
use dermis_rig::{BoneIndex, BoneTransforms, Example, Influences, Skeleton};
use dermis_solve::faer::prelude::Solve;
use dermis_solve::faer::{Mat, Side};
use dermis_testkit::arm::{FOREARM, HAND};
use dermis_testkit::{
    Arm, ArmPose, Random, Tree, largest_distance, moved, noisy, rounded_pose, scaled, scaled_pose, some_motion,
    stored_in_f32,
};
use std::f64::consts::PI;
use std::ops::ControlFlow;

const FRAMES: [Frame; 3] = [Frame::Anchor, Frame::Rest, Frame::Blend];

fn settings(frame: Frame) -> JointSettings {
    JointSettings { frame, ..JointSettings::new(false) }
}

/// At a given λ, nothing rounded.
fn given(frame: Frame, lambda: f64) -> JointSettings {
    JointSettings { lambda: Some(lambda), rounding: 0, ..settings(frame) }
}

fn weights(bench: &Bench) -> &Influences {
    bench.rig.weights.as_ref().expect("the rig has weights")
}

fn fit(bench: &Bench, settings: &JointSettings) -> JointFit {
    fit_joints(&bench.training(), weights(bench), settings, &silent).expect("the fit succeeds")
}

/// What the correction adds in a pose, posed world, and how often the ball acted.
fn deltas(bench: &Bench, model: &Joints, transforms: &BoneTransforms) -> (Vec<DVec3>, usize) {
    let mut pose = JointPose::default();
    pose.prepare(model, transforms);
    let rest = &bench.rig.mesh.positions;
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
    let kept: Vec<usize> = (0..bench.rig.mesh.positions.len()).step_by(7).collect();
    let pick = |all: &[DVec3]| -> Vec<DVec3> { kept.iter().map(|&v| all[v]).collect() };
    let mut rig = bench.rig.clone();
    rig.mesh.positions = pick(&bench.rig.mesh.positions);
    rig.mesh.triangles.clear();
    let rows = kept.iter().map(|&v| weights(&bench).of(v).to_vec());
    rig.weights = Some(Influences::from_rows(rows).expect("they were finite before"));
    for (s, example) in examples.iter_mut().enumerate() {
        example.positions = pick(&example.positions);
        example.importance = [1.0, 0.5, 2.0][s % 3];
    }
    let base = examples.iter().map(|e| skinned(&rig, &e.transforms)).collect();
    (arm, Bench { rig, examples, base, ..bench })
}

// ---- The regression of one vertex, written out a second time ----

/// F of a vertex.
fn frame_of(frame: Frame, row: &[(BoneIndex, f64)], pose: &BoneTransforms) -> DMat3 {
    let heaviest = row.iter().fold(row[0], |most, e| if e.1 > most.1 { *e } else { most }).0;
    let quaternion = |bone: BoneIndex| DQuat::from_mat3(&pose[bone].matrix3);
    match frame {
        Frame::Anchor => pose[heaviest].matrix3,
        Frame::Rest => row.iter().fold(DMat3::ZERO, |sum, e| sum + pose[e.0].matrix3 * e.1),
        Frame::Blend => {
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
    let (weights, rest) = (weights(bench), bench.rig.mesh.positions[v]);
    let tree = JointTree::new(&bench.rig.skeleton, weights);
    let free: Vec<(usize, f64)> = tree.joint_relevance(weights)[v]
        .iter()
        .filter_map(|&(edge, a)| {
            let at = model.joints.iter().position(|joint| (joint.from, joint.to) == tree.edges[edge as usize]);
            Some((at?, a.sqrt()))
        })
        .collect();
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
            let set = JointSettings { ball: false, ..given(frame, lambda) };
            let JointFit { correction, report } = fit(&bench, &set);
            assert!(correction.radii.is_empty() && correction.joints.iter().any(|joint| joint.inducing.len() == 8));
            let got: Vec<Vec<DVec3>> = poses.iter().map(|pose| deltas(&bench, &correction, pose).0).collect();
            let (mut squares, mut leverage) = (0.0, 0.0f64);
            for v in 0..bench.rig.mesh.positions.len() {
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
                        Frame::Rest => DMat3::IDENTITY,
                        _ => frame_of(frame, weights(&bench).of(v), &example.transforms),
                    };
                    let seen = turn.transpose() * block * turn;
                    leverage = leverage.max(seen.x_axis.x).max(seen.y_axis.y).max(seen.z_axis.z);
                }
            }
            let rms = (squares / (bench.examples.len() * bench.rig.mesh.positions.len()) as f64).sqrt();
            assert!((report.train - rms).abs() < 1e-9 * rms, "{frame:?}: {} {rms}", report.train);
            assert!((report.largest_leverage - leverage).abs() < 1e-9, "{} {leverage}", report.largest_leverage);
        }
    }
}

#[test]
fn the_sweep_equals_solving_again_without_each_fold() {
    let (_, bench) = small_bench(24);
    let blocks = vec![0..5, 5..10, 10..15, 15..20, 20..24];
    for (kind, folds) in [(Folds::Single, (0..24).map(|s| s..s + 1).collect()), (Folds::Blocks(5), blocks)] {
        for frame in FRAMES {
            let set = JointSettings { folds: kind, rounding: 0, grid: vec![3e-3, 0.1], ..settings(frame) };
            let JointFit { correction, report } = fit(&bench, &set);
            for &(lambda, error) in &report.sweep {
                let mut sum = 0.0;
                for v in 0..bench.rig.mesh.positions.len() {
                    let (x, y) = regression(&bench, &correction, &set, v);
                    for fold in &folds {
                        let (held, kept): (Vec<usize>, Vec<usize>) =
                            (0..x.nrows()).partition(|row| fold.contains(&(row / 3)));
                        let (of_kept, of_held) = (rows_of(&x, &kept), rows_of(&x, &held));
                        let solution = ridge(&of_kept, lambda, &(of_kept.transpose() * rows_of(&y, &kept)));
                        sum += (of_held * solution - rows_of(&y, &held)).squared_norm_l2();
                    }
                }
                let count = bench.rig.mesh.positions.len() * bench.examples.len();
                let expected = (sum / count as f64).sqrt();
                assert!((error - expected).abs() < 1e-8 * expected, "{frame:?} {lambda}: {error} {expected}");
            }
            let best = report.sweep.iter().map(|p| p.1).fold(f64::INFINITY, f64::min);
            let wanted = report.sweep.iter().rev().find(|p| p.1 <= 1.03 * best).unwrap().0;
            assert_eq!(report.lambda, wanted);
        }
    }
}

#[test]
fn leverages_of_any_pose_are_those_of_the_plain_regression() {
    let (arm, bench) = small_bench(16);
    let set = given(Frame::Anchor, 1e-2);
    let JointFit { correction: model, report } = fit(&bench, &set);
    let mut poses = unseen(&arm, 4);
    poses.extend((0..4).map(|s| arm.wild(&mut Random::new(99 + s), PI)));
    let probes: Vec<&BoneTransforms> = poses.iter().collect();
    let got = joint_leverages(&bench.training(), weights(&bench), &set, &report, &probes, usize::MAX).unwrap();
    let mut expected = vec![0.0f64; poses.len()];
    for v in 0..bench.rig.mesh.positions.len() {
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
        assert_eq!((kernel(&x, &[0.0; 12], 2.0), kernel(&[0.0; 12], &y, 2.0)), (0.0, 0.0));
        assert!((kernel(&x, &y, 2.0) - kernel(&y, &x, 2.0)).abs() < 1e-15);
        let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
        // |z|² is at most k(φ, φ) = σ² (1 − g(φ, 0)).
        let own = 4.0 * (1.0 - (-dot(&x, &x) / 4.0).exp());
        assert!((kernel(&x, &x, 2.0) - own).abs() < 1e-14 && kernel(&x, &y, 2.0).abs() < 4.0);
        assert!((kernel(&x, &y, 1e4) - dot(&x, &y)).abs() < 1e-6);
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
    let tree = JointTree::new(&bench.rig.skeleton, weights(&bench));
    let relevance = tree.joint_relevance(weights(&bench));
    let (lambda, probe) = (1e-2, unseen(&arm, 1).remove(0));
    for sigma in [2.0, 1e4] {
        let set =
            JointSettings { sigma, shared: false, ball: false, limit: f64::INFINITY, ..given(Frame::Anchor, lambda) };
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
    let relevance = JointTree::new(&clean.rig.skeleton, weights(&clean)).bone_relevance(weights(&clean));
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
    let rest = &clean.rig.mesh.positions;
    for (scale, frame) in [(0.0, Frame::Anchor), (0.0, Frame::Rest), (1.0, Frame::Anchor), (1.0, Frame::Blend)] {
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
        assert!(correction.joints.is_empty() && correction.coefficients.is_empty());
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

#[test]
fn the_bind_pose_is_exact_wherever_the_character_stands() {
    let (_, bench) = Bench::arm(20, 61);
    let g = some_motion(1.0, DVec3::new(2.0, -1.0, 0.5));
    for frame in FRAMES {
        let model = fit(&bench, &settings(frame)).correction;
        for pose in [BoneTransforms::identity(4), BoneTransforms::identity(4).moved(g)] {
            let most = deltas(&bench, &model, &pose).0.into_iter().map(DVec3::length).fold(0.0, f64::max);
            assert!(most < 1e-9 * bench.length, "{frame:?}: {most}");
        }
        assert!(deltas(&bench, &model, &BoneTransforms::identity(4)).0.iter().all(|d| *d == DVec3::ZERO));
    }
}

#[test]
fn moving_the_character_in_training_or_after_moves_the_result() {
    let (arm, bench) = Bench::arm(24, 62);
    let mut random = Random::new(95);
    let elsewhere: Vec<DAffine3> =
        (0..24).map(|_| some_motion(random.between(0.0, 6.0), 3.0 * random.direction())).collect();
    let walked = |e: &Example, g: &DAffine3| moved(e, *g);
    let exact: Vec<Example> = bench.examples.iter().zip(&elsewhere).map(|(e, g)| walked(e, g)).collect();
    let stored = exact.iter().map(|e| Example {
        transforms: stored_in_f32(&bench.rig.skeleton, &e.transforms),
        positions: e.positions.iter().map(|p| p.as_vec3().as_dvec3()).collect(),
        ..e.clone()
    });
    for (examples, tolerance) in [(exact.clone(), 1e-9), (stored.collect(), 3e-6)] {
        let other = Bench::new(&bench.rig, examples);
        for frame in FRAMES {
            let [here, there] = [&bench, &other].map(|bench| fit(bench, &given(frame, 1e-2)).correction);
            for (pose, g) in unseen(&arm, 3).iter().zip(&elsewhere) {
                let expected: Vec<DVec3> = posed(&bench, &here, pose).iter().map(|p| g.transform_point3(*p)).collect();
                let off = largest_distance(&posed(&other, &there, &pose.moved(*g)), &expected);
                assert!(off < tolerance * bench.length, "{frame:?}: {off}");
            }
        }
    }
}

#[test]
fn the_unit_of_length_does_not_matter() {
    let (arm, bench) = Bench::arm(24, 63);
    for factor in [1e-3, 1e3] {
        let mut rig = bench.rig.clone();
        rig.mesh.positions.iter_mut().for_each(|p| *p *= factor);
        let bind = rig.skeleton.bind().iter();
        let bind = bind.map(|m| DAffine3 { translation: m.translation * factor, ..*m }).collect();
        rig.skeleton = Skeleton::new(rig.skeleton.names().to_vec(), rig.skeleton.parents().to_vec(), bind).unwrap();
        let other = Bench::new(&rig, bench.examples.iter().map(|e| scaled(e, factor)).collect());
        for frame in FRAMES {
            let [here, there] = [&bench, &other].map(|bench| fit(bench, &settings(frame)));
            assert_eq!(here.report.lambda, there.report.lambda);
            for pose in unseen(&arm, 3) {
                let expected: Vec<DVec3> = posed(&bench, &here.correction, &pose).iter().map(|p| *p * factor).collect();
                let got = posed(&other, &there.correction, &scaled_pose(&pose, factor));
                let off = largest_distance(&got, &expected);
                assert!(off < 1e-9 * other.length, "{frame:?} {factor}: {off}");
            }
        }
    }
}

#[test]
fn the_order_of_poses_and_the_number_of_threads_change_nothing() {
    let (arm, bench) = Bench::arm(24, 64);
    let shuffled = bench.subset(&Random::new(96).order(24));
    for frame in FRAMES {
        let set = settings(frame);
        let here = fit(&bench, &set);
        let there = fit(&shuffled, &set);
        assert_eq!(here.report.lambda, there.report.lambda);
        for pose in unseen(&arm, 3) {
            let off =
                largest_distance(&posed(&bench, &here.correction, &pose), &posed(&bench, &there.correction, &pose));
            assert!(off < 1e-9, "{frame:?}: {off}");
        }
        for threads in [1, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let same = pool.install(|| fit(&bench, &set));
            assert_eq!(same.report, here.report);
            assert_eq!(same.correction.coefficients, here.correction.coefficients);
            assert_eq!(same.correction.shared, here.correction.shared);
        }
    }
}

#[test]
fn the_order_of_bones_changes_nothing() {
    let tree = Tree::new(9, 60, 65);
    let poses = tree.poses(20, 0.8, 66);
    let mut random = Random::new(97);
    let example = |transforms: BoneTransforms, random: &mut Random| Example {
        label: String::new(),
        time: None,
        positions: skinned(&tree.rig, &transforms).iter().map(|p| *p + 0.05 * random.direction()).collect(),
        transforms,
        importance: 1.0,
    };
    let bench = Bench::new(&tree.rig, poses.into_iter().map(|pose| example(pose, &mut random)).collect());
    // Another order in which parents come first: always the last bone that may come.
    let parents = tree.rig.skeleton.parents();
    let (mut order, mut place) = (Vec::new(), vec![None; 9]);
    while order.len() < 9 {
        let may = |b: &usize| place[*b].is_none() && parents.as_slice()[*b].is_none_or(|p| place[p.get()].is_some());
        let next = (0..9).rev().find(may).unwrap();
        place[next] = Some(BoneIndex::new(order.len()));
        order.push(next);
    }
    assert!(order.windows(2).any(|w| w[0] > w[1]));
    let to_new = |b: BoneIndex| place[b.get()].unwrap();
    let reordered =
        |pose: &BoneTransforms| BoneTransforms::new(order.iter().map(|&b| pose[BoneIndex::new(b)]).collect());
    let mut rig = tree.rig.clone();
    let skeleton = &tree.rig.skeleton;
    rig.skeleton = Skeleton::new(
        order.iter().map(|&b| skeleton.names()[BoneIndex::new(b)].clone()).collect(),
        order.iter().map(|&b| parents[BoneIndex::new(b)].map(to_new)).collect(),
        order.iter().map(|&b| skeleton.bind()[BoneIndex::new(b)]).collect(),
    )
    .unwrap();
    let rows = tree.weights().rows().map(|row| row.iter().map(|e| (to_new(e.0), e.1)).collect::<Vec<_>>());
    rig.weights = Some(Influences::from_rows(rows).unwrap());
    let examples = bench.examples.iter().map(|e| Example { transforms: reordered(&e.transforms), ..e.clone() });
    let other = Bench::new(&rig, examples.collect());
    // Every joint is one of the skeleton, so that no joint is turned round by the order.
    let edges = JointTree::new(skeleton, tree.weights()).edges;
    assert!(edges.len() == 8 && edges.iter().all(|&(a, b)| parents[b] == Some(a)));
    for frame in FRAMES {
        let [here, there] = [&bench, &other].map(|bench| fit(bench, &given(frame, 1e-2)).correction);
        for pose in tree.poses(4, 1.5, 67) {
            let off = largest_distance(&posed(&bench, &here, &pose), &posed(&other, &there, &reordered(&pose)));
            assert!(off < 1e-9, "{frame:?}: {off}");
        }
    }
}

// ---- What bounds it ----

fn held(joint: usize, mut pose: ArmPose) -> ArmPose {
    match joint {
        1 => pose.shoulder = DVec3::ZERO,
        2 => (pose.elbow, pose.twist) = (0.0, 0.0),
        _ => pose.wrist = DVec3::ZERO,
    }
    pose
}

fn turned(joint: usize, mut pose: ArmPose) -> ArmPose {
    let angle = 120f64.to_radians();
    match joint {
        1 => pose.shoulder = DVec3::Y * angle,
        2 => pose.elbow = angle,
        _ => pose.wrist = DVec3::Z * angle,
    }
    pose
}

/// The largest change of a correction, seen from its anchor and in units of ρ.
fn change(arm: &Arm, bench: &Bench, model: &Joints, poses: [ArmPose; 2]) -> f64 {
    let [before, after] = poses.map(|pose| {
        let transforms = arm.transforms(&pose);
        let turn = |v: usize| transforms[model.weights.dominant(v).unwrap()].matrix3.transpose();
        deltas(bench, model, &transforms).0.into_iter().enumerate().map(|(v, d)| turn(v) * d).collect::<Vec<_>>()
    });
    let rho = bench.training().largest_residuals();
    let moved = (0..rho.len()).filter(|v| rho[*v] > 1e-6).map(|v| before[v].distance(after[v]) / rho[v]);
    moved.fold(0.0, f64::max)
}

#[test]
fn a_joint_frozen_in_training_has_no_influence() {
    let arm = Arm::new(9, 6);
    for joint in 1..4 {
        for far in [None, Some(0.0), Some(20.0)] {
            let mut random = Random::new(31);
            let poses: Vec<ArmPose> = ArmPose::some(24, 30).into_iter().map(|pose| held(joint, pose)).collect();
            let mut examples = arm.examples(&poses);
            for example in &mut examples {
                // Noise of 1e-7, or matrices stored in f32 of a character that walks far away.
                example.transforms = match far {
                    None => rounded_pose(&example.transforms, 1e-7, arm.length(), &mut random),
                    Some(far) => {
                        let g = some_motion(random.between(0.0, 3.0), random.direction() * far);
                        *example = moved(example, g);
                        stored_in_f32(&arm.rig.skeleton, &example.transforms)
                    }
                };
            }
            let bench = Bench::new(&arm.rig, examples);
            for frame in FRAMES {
                let set = JointSettings { ball: false, rounding: 64, ..given(frame, 1e-3) };
                let JointFit { correction, report } = fit(&bench, &set);
                let frozen = report.joints.iter().filter(|j| j.frozen).map(|j| j.to.get()).collect::<Vec<_>>();
                assert_eq!(frozen, [joint], "{far:?}");
                let pose = held(joint, ArmPose::random(&mut random));
                let of_frozen = change(&arm, &bench, &correction, [pose, turned(joint, pose)]);
                assert!(of_frozen < 0.01, "joint {joint}, {far:?} m, {frame:?}: {of_frozen} rho");
                let free = joint % 3 + 1;
                let of_free = change(&arm, &bench, &correction, [held(free, pose), turned(free, pose)]);
                assert!(of_free > 0.1, "joint {free} moved in training, but changes {of_free} rho");
            }
        }
    }
}

#[test]
fn no_pose_moves_a_vertex_farther_than_one_and_a_half_times_what_training_asked() {
    let arm = Arm::new(9, 6);
    let mut examples = arm.examples(&ArmPose::exercise(6));
    let rest = &arm.rig.mesh.positions;
    // Around the middle of the hand the examples agree with the base.
    let agrees = |v: usize| rest[v].x > 0.6;
    for example in &mut examples {
        let base = skinned(&arm.rig, &example.transforms);
        (0..rest.len()).filter(|v| agrees(*v)).for_each(|v| example.positions[v] = base[v]);
    }
    let bench = Bench::new(&arm.rig, examples);
    let rho = bench.training().largest_residuals();
    for frame in FRAMES {
        let model = fit(&bench, &given(frame, 1e-4)).correction;
        let (mut random, mut held, mut limited, mut pose) = (Random::new(40), 0, 0, JointPose::default());
        for _ in 0..1000 {
            let transforms = arm.wild(&mut random, PI);
            pose.prepare(&model, &transforms);
            limited += pose.limited;
            for (v, &rho) in rho.iter().enumerate() {
                let (delta, acted) = model.at(v, rest[v], &pose);
                held += usize::from(acted);
                assert!(delta.length() <= 1.5 * rho * (1.0 + 1e-6), "vertex {v}: {delta} of {rho}");
                assert!(rho > 0.0 || delta == DVec3::ZERO, "vertex {v}: {delta}");
            }
        }
        assert!(held > 0 && limited > 0, "the stress reached no bound: it proves nothing");
    }
}

#[test]
fn broken_transforms_leave_a_finite_correction() {
    let (arm, bench) = Bench::arm(20, 41);
    let mut random = Random::new(42);
    let flat = DMat3::from_diagonal(DVec3::new(1.0, 0.0, 1.0));
    let breaks = [
        DAffine3 { matrix3: DMat3::ZERO, translation: DVec3::ONE },
        DAffine3 { matrix3: flat, translation: DVec3::ZERO },
        DAffine3 { matrix3: DMat3::from_diagonal(DVec3::splat(1e300)), translation: DVec3::splat(1e300) },
        DAffine3 { matrix3: DMat3::from_diagonal(DVec3::splat(1e-300)), translation: DVec3::X },
        DAffine3 { matrix3: DMat3::from_diagonal(DVec3::NAN), translation: DVec3::ZERO },
        DAffine3 { matrix3: DMat3::IDENTITY, translation: DVec3::splat(f64::INFINITY) },
    ];
    for frame in FRAMES {
        let model = fit(&bench, &given(frame, 1e-2)).correction;
        for broken in breaks {
            for bone in 0..4 {
                let mut bones = arm.transforms(&ArmPose::random(&mut random)).to_vec();
                bones[bone] = broken;
                let (deltas, _) = deltas(&bench, &model, &BoneTransforms::new(bones));
                for (delta, radius) in deltas.into_iter().zip(&model.radii) {
                    assert!(delta.length() <= radius * (1.0 + 1e-6), "{frame:?} {broken:?} bone {bone}: {delta}");
                }
            }
        }
    }
}

// ---- The forest of joints ----

#[test]
fn every_bone_of_an_ik_rig_is_reached_by_as_few_trees_as_there_can_be() {
    let root = |list: &[i64]| list.iter().map(|&p| usize::try_from(p).ok().map(BoneIndex::new)).collect::<Vec<_>>();
    let skeleton = |parents: &[i64]| {
        let n = parents.len();
        Skeleton::new((0..n).map(|b| b.to_string()).collect(), root(parents), vec![DAffine3::IDENTITY; n]).unwrap()
    };
    // Hips, thigh, shin; the foot and the toes hang on a bone of their own, which carries no skin.
    let leg = skeleton(&[-1, 0, 1, -1, 3, 4]);
    let rows = [[(0, 0.5), (1, 0.5)], [(1, 0.6), (2, 0.4)], [(2, 0.5), (4, 0.5)], [(4, 0.3), (5, 0.7)]];
    let rows = rows.map(|row| row.map(|(b, w)| (BoneIndex::new(b), w)).to_vec());
    let edges = JointTree::new(&leg, &Influences::from_rows(rows).unwrap()).edges;
    let mut pairs: Vec<(usize, usize)> = edges.iter().map(|(a, b)| (a.get(), b.get())).collect();
    pairs.sort_unstable();
    // The foot has one ancestor and the shin two: the shin is seen from the foot.
    assert_eq!(pairs, [(0, 1), (1, 2), (4, 2), (4, 5)]);

    // Random rigs with several roots: a forest with a tree per connected part of the graph of shared skin and ancestry.
    let mut random = Random::new(98);
    for _ in 0..200 {
        let n = 2 + random.below(10);
        let parents: Vec<i64> =
            (0..n).map(|b| random.below(b + 1) as i64 - i64::from(random.unit() < 0.4) * 20).collect();
        let parents: Vec<i64> =
            parents.iter().enumerate().map(|(b, &p)| if p < b as i64 { p.max(-1) } else { -1 }).collect();
        let rows: Vec<Vec<(BoneIndex, f64)>> = (0..1 + random.below(8))
            .map(|_| {
                let (k, l) = (random.below(n), random.below(n));
                if k == l {
                    vec![(BoneIndex::new(k), 1.0)]
                } else {
                    vec![(BoneIndex::new(k), 0.7), (BoneIndex::new(l), 0.3)]
                }
            })
            .collect();
        let used: Vec<bool> = (0..n).map(|b| rows.iter().flatten().any(|e| e.0.get() == b)).collect();
        let tree = JointTree::new(&skeleton(&parents), &Influences::from_rows(rows.clone()).unwrap());
        let mut connected: Vec<(usize, usize)> =
            rows.iter().filter(|row| row.len() == 2).map(|row| (row[0].0.get(), row[1].0.get())).collect();
        for b in (0..n).filter(|&b| used[b]) {
            let mut above = parents[b];
            while above >= 0 && !used[above as usize] {
                above = parents[above as usize];
            }
            connected.extend((above >= 0).then_some((above as usize, b)));
        }
        let parts = |pairs: &[(usize, usize)]| {
            let mut part: Vec<usize> = (0..n).collect();
            for _ in 0..n {
                pairs.iter().for_each(|&(a, b)| (part[a], part[b]) = (part[a].min(part[b]), part[a].min(part[b])));
            }
            part
        };
        let edges: Vec<(usize, usize)> = tree.edges.iter().map(|(a, b)| (a.get(), b.get())).collect();
        assert!(edges.iter().all(|&(a, b)| used[a] && used[b]));
        assert_eq!(parts(&edges), parts(&connected), "{parents:?} {rows:?}");
        let trees = (0..n).filter(|&b| parts(&edges)[b] == b).count();
        assert_eq!(edges.len() + trees, n, "a forest has an edge less than bones in each tree");
    }
}

// ---- Input of any kind ----

/// In the rest frame the choice of λ looks at a part of a large mesh only, and says at how many vertices.
#[test]
fn the_report_says_how_many_vertices_chose_and_progress_ends_at_its_total() {
    let tree = Tree::new(2, 1501, 71);
    let examples = tree.poses(3, 0.8, 72).into_iter().map(|transforms| Example {
        label: String::new(),
        time: None,
        positions: skinned(&tree.rig, &transforms).iter().map(|p| *p * 1.01).collect(),
        transforms,
        importance: 1.0,
    });
    let bench = Bench::new(&tree.rig, examples.collect());
    for (frame, expected) in [(Frame::Anchor, 1501), (Frame::Rest, 376)] {
        let last = std::sync::Mutex::new((0, 0));
        let set = JointSettings { grid: vec![0.1], inducing: 1, inducing_sliding: 1, ..settings(frame) };
        let watch = |done, total| {
            let mut last = last.lock().unwrap();
            *last = (*last).max((done, total));
            ControlFlow::Continue(())
        };
        let fitted = fit_joints(&bench.training(), weights(&bench), &set, &watch).unwrap();
        assert_eq!(fitted.report.sweep_vertices, expected);
        assert_eq!(*last.lock().unwrap(), (1501 + expected as u64, 1501 + expected as u64));
    }
}

#[test]
fn vertices_without_weights_and_training_without_motion_are_left_alone() {
    let (arm, mut bench) = Bench::arm(8, 68);
    let rows = weights(&bench).rows().enumerate().map(|(v, row)| if v == 3 { vec![] } else { row.to_vec() });
    bench.rig.weights = Some(Influences::from_rows(rows).unwrap());
    for frame in FRAMES {
        let model = fit(&bench, &settings(frame)).correction;
        for pose in unseen(&arm, 2) {
            let (deltas, _) = deltas(&bench, &model, &pose);
            assert!(deltas[3] == DVec3::ZERO && deltas.iter().all(|d| d.is_finite()));
        }
        for places in [vec![0], vec![1], vec![0, 0, 0]] {
            let fitted = fit(&bench.subset(&places), &settings(frame));
            let (deltas, _) = deltas(&bench, &fitted.correction, &unseen(&arm, 1)[0]);
            assert!(deltas.iter().all(|d| d.is_finite()));
            if places[0] == 0 {
                assert!(fitted.report.corrected == 0 && deltas.iter().all(|d| *d == DVec3::ZERO));
            }
        }
    }
}

#[test]
fn an_example_without_importance_counts_nowhere() {
    let (arm, bench) = Bench::arm(12, 69);
    let mut more = bench.clone();
    let mut wild = arm.example("wild".into(), &ArmPose { shoulder: DVec3::Y * 2.5, ..ArmPose::REST });
    wild.importance = 0.0;
    wild.positions.iter_mut().for_each(|p| *p += DVec3::ONE);
    more.base.insert(4, skinned(&bench.rig, &wild.transforms));
    more.examples.insert(4, wild);
    let [with, without] = [&more, &bench].map(|bench| fit(bench, &settings(Frame::Anchor)));
    assert_eq!(with.report, without.report);
    assert_eq!(with.correction.coefficients, without.correction.coefficients);
    assert_eq!(with.correction.radii, without.correction.radii);
}

#[test]
fn bad_input_is_refused_in_words() {
    let (_, bench) = Bench::arm(6, 70);
    let good = settings(Frame::Anchor);
    let refused = |bench: &Bench, weights: &Influences, set: &JointSettings| {
        fit_joints(&bench.training(), weights, set, &silent).expect_err("it must be refused")
    };
    let bad_settings = [
        ("sigma", JointSettings { sigma: 0.0, ..good.clone() }),
        ("sigma", JointSettings { sigma: f64::NAN, ..good.clone() }),
        ("limit", JointSettings { limit: 0.9, ..good.clone() }),
        ("limit", JointSettings { limit: f64::NAN, ..good.clone() }),
        ("beta", JointSettings { beta: -1.0, ..good.clone() }),
        ("grid", JointSettings { grid: vec![], ..good.clone() }),
        ("lambda", JointSettings { grid: vec![0.0, 1.0], ..good.clone() }),
        ("grid", JointSettings { grid: vec![1.0, 0.1], ..good.clone() }),
        ("lambda", JointSettings { lambda: Some(f64::INFINITY), ..good.clone() }),
        ("tolerance", JointSettings { tolerance: 0.5, ..good.clone() }),
    ];
    for (setting, set) in &bad_settings {
        let error = refused(&bench, weights(&bench), set);
        assert!(matches!(&error, FitError::Setting { name, .. } if name == setting), "{setting}: {error:?}");
    }
    let few = Influences::from_rows(vec![vec![(FOREARM, 1.0)]]).unwrap();
    assert!(matches!(refused(&bench, &few, &good), FitError::Counts { expected: 56, found: 1, .. }));
    let unknown = Influences::from_rows(vec![vec![(BoneIndex::new(4), 1.0)]; 56]).unwrap();
    assert!(matches!(refused(&bench, &unknown, &good), FitError::Counts { expected: 4, found: 5, .. }));
    let broken = |change: &dyn Fn(&mut Bench)| {
        let mut broken = bench.clone();
        change(&mut broken);
        refused(&broken, weights(&bench), &good)
    };
    assert!(matches!(broken(&|b| b.examples.clear()), FitError::NoExamples));
    assert!(matches!(broken(&|b| b.examples[1].positions[2].x = f64::NAN), FitError::NotFinite { index: 2, .. }));
    assert!(matches!(broken(&|b| b.base[1][2].x = f64::NAN), FitError::NotFinite { index: 2, .. }));
    assert!(matches!(broken(&|b| b.examples[1].positions.truncate(5)), FitError::Counts { .. }));
    assert!(matches!(broken(&|b| b.base.truncate(5)), FitError::Counts { .. }));
    let flattened = |b: &mut Bench| {
        let mut bones = b.examples[1].transforms.to_vec();
        bones[HAND.get()].matrix3.x_axis = DVec3::ZERO;
        b.examples[1].transforms = BoneTransforms::new(bones);
    };
    assert!(matches!(broken(&flattened), FitError::SingularAnchor { bone, .. } if bone == "hand"));
    let cancelled = fit_joints(&bench.training(), weights(&bench), &good, &|_, _| ControlFlow::Break(Cancelled));
    assert!(matches!(cancelled, Err(FitError::Cancelled)));
}
