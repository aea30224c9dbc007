//! Animation space: coefficients shared by the axes, against closed forms and dense refits.

mod bench;

use bench::{Bench, skinned};
use dermis_deform::AnimationSpace;
use dermis_fit::animation_space::AnimationSpaceFit;
use dermis_fit::{AnimationSpaceSettings, FitError, Folds, fit_animation_space, silent};
use dermis_rig::glam::{DVec3, DVec4};
use dermis_rig::{BoneIndex, BoneTransforms, Example, Influences, Rows};
use dermis_solve::faer::Mat;
use dermis_solve::faer::prelude::Solve;
use dermis_testkit::{Arm, ArmPose, Random, change_rig, largest_distance, moved, noisy, rms, scaled, some_motion};

fn given(ridge: f64) -> AnimationSpaceSettings {
    AnimationSpaceSettings { lambda: Some(ridge), ..AnimationSpaceSettings::for_poses(false) }
}

fn fit(bench: &Bench, prior: Option<&Influences>, settings: &AnimationSpaceSettings) -> AnimationSpaceFit {
    fit_animation_space(&bench.training(), &bench.maps, prior, settings, &silent).expect("the fit succeeds")
}

fn posed(space: &AnimationSpace, pose: &BoneTransforms) -> Vec<DVec3> {
    (0..space.terms.len()).map(|v| space.at(v, pose)).collect()
}

/// Poses no fit has seen.
fn unseen(arm: &Arm, count: usize) -> Vec<BoneTransforms> {
    ArmPose::some(count, 400).iter().map(|pose| arm.transforms(pose)).collect()
}

fn examples(poses: &[BoneTransforms], skin: impl Fn(&BoneTransforms) -> Vec<DVec3>) -> Vec<Example> {
    let example = |pose: &BoneTransforms| Example {
        label: String::new(),
        time: None,
        transforms: pose.clone(),
        positions: skin(pose),
        importance: 1.0,
        local: None,
    };
    poses.iter().map(example).collect()
}

/// Random coefficients whose weights sum to one.
fn planted(bench: &Bench, seed: u64) -> AnimationSpace {
    let mut random = Random::new(seed);
    let mut terms = Rows::default();
    for v in 0..bench.maps.vertices() {
        let bones = bench.maps.of(v);
        let shares: Vec<f64> = bones.iter().map(|_| random.between(0.1, 1.0)).collect();
        let sum: f64 = shares.iter().sum();
        let term = |(&(bone, _), share): (&(BoneIndex, f64), f64)| {
            let a = bench.rig.mesh().positions[v] * (share / sum) + random.direction() * 0.02;
            (bone, a.extend(share / sum))
        };
        terms.push(bones.iter().zip(shares).map(term)).unwrap();
    }
    AnimationSpace { terms }
}

#[test]
fn linear_blend_skinning_and_planted_models_are_recovered() {
    let arm = Arm::new(9, 6);
    let train: Vec<_> = ArmPose::some(40, 401).iter().map(|pose| arm.transforms(pose)).collect();
    let bench = Bench::new(&arm.rig, Vec::new());
    let planted = planted(&bench, 402);
    let truths: [&dyn Fn(&BoneTransforms) -> Vec<DVec3>; 2] =
        [&|pose| skinned(&arm.rig, pose), &|pose| posed(&planted, pose)];
    for truth in truths {
        let bench = Bench::new(&arm.rig, examples(&train, truth));
        let space = fit(&bench, None, &given(1e-9)).space;
        for pose in unseen(&arm, 8) {
            let error = largest_distance(&posed(&space, &pose), &truth(&pose));
            assert!(error < 1e-6 * arm.length(), "{error}");
        }
    }
}

#[test]
fn a_moved_character_keeps_its_shape_and_so_does_another_unit() {
    let (arm, mut bench) = Bench::arm(16, 403);
    bench.examples = noisy(&bench.examples, 1e-3, 404);
    for prior in [None, Some(arm.weights())] {
        let space = fit(&bench, prior, &AnimationSpaceSettings::for_poses(false)).space;
        let g = some_motion(2.0, DVec3::new(4.0, -3.0, 9.0));
        for pose in unseen(&arm, 5) {
            let expected: Vec<_> = posed(&space, &pose).iter().map(|p| g.transform_point3(*p)).collect();
            assert!(largest_distance(&posed(&space, &pose.moved(g)), &expected) < 1e-13 * 20.0);
        }
        // Examples scattered over the world teach the same.
        let mut random = Random::new(405);
        let mut scattered = bench.clone();
        for example in &mut scattered.examples {
            *example = moved(example, some_motion(random.between(0.0, 3.0), random.direction() * 5.0));
        }
        // Centimetres teach the same, too.
        let mut large = bench.clone();
        large.length *= 100.0;
        change_rig(&mut large.rig, |mesh, _, _| mesh.positions.iter_mut().for_each(|p| *p *= 100.0));
        large.examples = bench.examples.iter().map(|e| scaled(e, 100.0)).collect();
        for (other, unit) in [(scattered, 1.0), (large, 100.0)] {
            let other = fit(&other, prior, &AnimationSpaceSettings::for_poses(false)).space;
            for (a, b) in space.terms.entries().iter().zip(other.terms.entries()) {
                assert!((a.1.truncate() * unit).distance(b.1.truncate()) < 1e-9 * unit, "{a:?} {b:?}");
                assert!((a.1.w - b.1.w).abs() < 1e-9);
            }
        }
    }
}

/// Oracle: the constrained problem through its optimality conditions, one dense system per vertex and fold with the
/// constraint's multiplier as a further unknown: no null-space basis, no eigenvalues, no common shift.
fn brute_force(bench: &Bench, prior: Option<&Influences>, ridge: f64, folds: &[(usize, usize)]) -> f64 {
    let mut total = 0.0;
    for v in 0..bench.maps.vertices() {
        let bones: Vec<BoneIndex> = bench.maps.of(v).iter().map(|e| e.0).collect();
        let n = 4 * bones.len();
        let unit = |i: usize| if i % 4 == 3 { bench.length } else { 1.0 };
        let rest = bench.rig.mesh().positions[v].extend(1.0).to_array();
        let start = |i: usize| rest[i % 4] * prior.map_or(1.0 / bones.len() as f64, |w| w.value(v, bones[i / 4]));
        let entry = |example: &Example, j: usize, i: usize| {
            let m = example.transforms[bones[i / 4]];
            if i % 4 == 3 { m.translation[j] } else { m.matrix3.col(i % 4)[j] }
        };
        for &(from, to) in folds {
            let mut system = Mat::<f64>::zeros(n + 1, n + 1);
            let mut right = Mat::<f64>::zeros(n + 1, 1);
            for example in bench.examples.iter().enumerate().filter(|(s, _)| !(from..to).contains(s)).map(|e| e.1) {
                let weight = example.importance.powi(2);
                for j in 0..3 {
                    for a in 0..n {
                        let x = weight * entry(example, j, a);
                        right[(a, 0)] += x * example.positions[v][j];
                        for b in 0..n {
                            system[(a, b)] += x * entry(example, j, b);
                        }
                    }
                }
            }
            for i in 0..n {
                system[(i, i)] += ridge * unit(i) * unit(i);
                right[(i, 0)] += ridge * unit(i) * unit(i) * start(i);
                if i % 4 == 3 {
                    (system[(i, n)], system[(n, i)]) = (1.0, 1.0);
                }
            }
            right[(n, 0)] = 1.0;
            let a = system.partial_piv_lu().solve(&right);
            for example in &bench.examples[from..to] {
                let predicted = |j: usize| (0..n).map(|i| entry(example, j, i) * a[(i, 0)]).sum::<f64>();
                let error = (0..3).map(|j| (predicted(j) - example.positions[v][j]).powi(2)).sum::<f64>();
                total += example.importance.powi(2) * error;
            }
        }
    }
    total
}

#[test]
fn leaving_out_poses_and_blocks_equals_refitting_without_them() {
    let (arm, mut bench) = Bench::arm(17, 406);
    bench.examples = noisy(&bench.examples, 1e-3, 407);
    bench.examples[4].importance = 2.0;
    let single: Vec<_> = (0..17).map(|s| (s, s + 1)).collect();
    let blocks = vec![(0, 4), (4, 8), (8, 11), (11, 14), (14, 17)];
    for (folds, ranges) in [(Folds::Single, single), (Folds::Blocks(5), blocks)] {
        for prior in [None, Some(arm.weights())] {
            let grid = vec![1e-2, 1.0];
            let settings =
                AnimationSpaceSettings { folds, grid, tolerance: 1.0, ..AnimationSpaceSettings::for_poses(false) };
            for (ridge, validated) in fit(&bench, prior, &settings).sweep {
                let pairs = (17 * bench.maps.vertices()) as f64;
                let expected = (brute_force(&bench, prior, ridge, &ranges) / pairs).sqrt();
                assert!((validated - expected).abs() < 1e-7 * expected, "{folds:?} {ridge}: {validated} {expected}");
            }
        }
    }
}

/// The same oracle at a given ridge: it predicts an example that no fit has seen.
#[test]
fn the_answer_is_that_of_the_dense_system() {
    let (arm, mut bench) = Bench::arm(10, 414);
    bench.examples = noisy(&bench.examples, 1e-3, 415);
    let pose = ArmPose::random(&mut Random::new(416));
    for prior in [None, Some(arm.weights())] {
        for ridge in [1e-3, 0.3] {
            let space = fit(&bench, prior, &given(ridge)).space;
            // The oracle predicts example 10 from the others; the model does so by itself.
            let mut asked = Bench::new(&arm.rig, bench.examples.clone());
            asked.examples.push(arm.example(String::new(), &pose));
            let expected = brute_force(&asked, prior, ridge, &[(10, 11)]);
            let found = rms(&[posed(&space, &arm.transforms(&pose))], &[arm.skin(&pose)]);
            let found = found * found * bench.maps.vertices() as f64;
            assert!((found - expected).abs() < 1e-7 * expected, "{ridge}: {found} {expected}");
        }
    }
}

#[test]
fn a_huge_ridge_returns_the_prior() {
    let (arm, bench) = Bench::arm(12, 408);
    let rest = &bench.rig.mesh().positions;
    let weighted = fit(&bench, Some(arm.weights()), &given(1e12)).space;
    let even = fit(&bench, None, &given(1e12)).space;
    for pose in unseen(&arm, 5) {
        assert!(largest_distance(&posed(&weighted, &pose), &skinned(&arm.rig, &pose)) < 1e-9);
        let mean = |v: usize| {
            let bones = bench.maps.of(v);
            bones.iter().map(|e| pose[e.0].transform_point3(rest[v])).sum::<DVec3>() / bones.len() as f64
        };
        let expected: Vec<_> = (0..rest.len()).map(mean).collect();
        assert!(largest_distance(&posed(&even, &pose), &expected) < 1e-9);
    }
}

/// The elbow never bends in training, then it does. What the two bones share is then the prior's guess: with weights the
/// skin goes where they send it, with equal shares half of the forearm stays behind.
#[test]
fn on_a_frozen_joint_the_weights_are_a_better_prior_than_equal_shares() {
    let arm = Arm::new(9, 6);
    let straight = |pose: ArmPose| ArmPose { elbow: 0.0, twist: 0.0, ..pose };
    let poses: Vec<_> = ArmPose::some(30, 409).into_iter().map(straight).collect();
    let bench = Bench::new(&arm.rig, arm.examples(&poses));
    let bent = arm.example(String::new(), &ArmPose { elbow: 2.0, ..ArmPose::REST });
    let error = |prior| {
        let space = fit(&bench, prior, &AnimationSpaceSettings::for_poses(false)).space;
        largest_distance(&posed(&space, &bent.transforms), &bent.positions)
    };
    let (weights, shares) = (error(Some(arm.weights())), error(None));
    assert!(weights < 0.5 * shares, "{weights} {shares}");
    let skinning = largest_distance(&skinned(&arm.rig, &bent.transforms), &bent.positions);
    assert!(weights < 2.0 * skinning, "{weights} {skinning}");
}

#[test]
fn it_explains_unseen_poses_better_than_the_weights_it_starts_from() {
    let (arm, bench) = Bench::arm(40, 410);
    let space = fit(&bench, Some(arm.weights()), &AnimationSpaceSettings::for_poses(false)).space;
    let mut random = Random::new(411);
    let test = arm.examples(&(0..20).map(|_| ArmPose::random(&mut random)).collect::<Vec<_>>());
    let truth: Vec<_> = test.iter().map(|e| e.positions.clone()).collect();
    let found: Vec<_> = test.iter().map(|e| posed(&space, &e.transforms)).collect();
    let base: Vec<_> = test.iter().map(|e| skinned(&arm.rig, &e.transforms)).collect();
    assert!(rms(&found, &truth) < 0.8 * rms(&base, &truth), "{} {}", rms(&found, &truth), rms(&base, &truth));
    // Weights sum to one to the rounding, or nothing above would be equivariant.
    for v in 0..bench.maps.vertices() {
        let terms = space.terms.of(v);
        assert!((terms.iter().map(|(_, a): &(_, DVec4)| a.w).sum::<f64>() - 1.0).abs() < 1e-13);
    }
}

#[test]
fn bad_input_is_named_and_an_excluded_example_counts_nowhere() {
    let (arm, mut bench) = Bench::arm(8, 412);
    let run = |bench: &Bench, prior: Option<&Influences>, settings: &AnimationSpaceSettings| {
        fit_animation_space(&bench.training(), &bench.maps, prior, settings, &silent).err()
    };
    let settings = AnimationSpaceSettings::for_poses(false);
    let stranger = Influences::from_rows(vec![vec![(BoneIndex::new(7), 1.0)]; 56]).unwrap();
    assert!(matches!(run(&bench, Some(&stranger), &settings), Some(FitError::Counts { found: 8, expected: 4, .. })));
    let named = Bench { maps: stranger, ..bench.clone() };
    assert!(matches!(run(&named, None, &settings), Some(FitError::Counts { found: 8, expected: 4, .. })));
    let empty = AnimationSpaceSettings { grid: Vec::new(), ..settings.clone() };
    assert!(matches!(run(&bench, None, &empty), Some(FitError::Setting { name: "grid", .. })));
    assert!(matches!(run(&bench, None, &given(0.0)), Some(FitError::Setting { name: "ridge", .. })));
    let without = bench.subset(&[0, 1, 2, 4, 5, 6, 7]);
    bench.examples[3].importance = 0.0;
    bench.examples[3].positions.iter_mut().for_each(|p| *p += DVec3::ONE);
    for folds in [Folds::Single, Folds::Blocks(3)] {
        let settings = AnimationSpaceSettings { folds, ..settings.clone() };
        let (a, b) = (fit(&bench, Some(arm.weights()), &settings), fit(&without, Some(arm.weights()), &settings));
        assert_eq!((a.sweep, a.space.terms), (b.sweep, b.space.terms));
    }
}

#[test]
fn threads_change_no_bit() {
    let arm = Arm::new(30, 24);
    let bench = Bench::new(&arm.rig, arm.examples(&ArmPose::some(8, 413)));
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let found = pool.install(|| fit(&bench, None, &AnimationSpaceSettings::for_poses(true)));
        let bits: Vec<[u64; 4]> =
            found.space.terms.entries().iter().map(|(_, a)| a.to_array().map(f64::to_bits)).collect();
        (bits, found.sweep)
    };
    let alone = run(1);
    assert!(run(2) == alone && run(16) == alone);
}
