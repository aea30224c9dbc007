//! What a fit must find again, what it must leave alone, and inputs at the edge.

mod bench;

use bench::{Bench, corrected, plain, skinned};
use dermis_fit::mwe::{Anchor, Centring, RidgeMode, RowChoice, Strength};
use dermis_fit::{FitError, Folds, MweSettings, Training, fit_mwe, silent};
use dermis_rig::glam::{DAffine3, DMat3, DVec3};
use dermis_rig::{BoneIndex, BoneTransforms, Example, Influences};
use dermis_solve::faer::Mat;
use dermis_solve::symmetric::solve_shifted;
use dermis_testkit::{Arm, ArmPose, Planted, Random, largest_distance, noisy, rms, some_motion};

/// Unseen poses of the arm.
fn unseen(count: usize) -> Vec<ArmPose> {
    let mut random = Random::new(300);
    (0..count).map(|_| ArmPose::random(&mut random)).collect()
}

#[test]
fn a_planted_model_is_recovered_in_unseen_poses() {
    let arm = Arm::new(9, 6);
    let maps = Bench::new(&arm.rig, Vec::new()).maps;
    let planted = Planted::new(&maps, arm.length(), 0.01, 301);
    let transforms = |poses: &[ArmPose]| poses.iter().map(|p| arm.transforms(p)).collect::<Vec<_>>();
    let bench = Bench::new(&arm.rig, planted.examples(&arm.rig, &transforms(&ArmPose::some(60, 302))));
    let model = bench.fit(&plain(RowChoice::Full, 1e-9)).correction;
    let expected = planted.examples(&arm.rig, &transforms(&unseen(10)));
    for example in &expected {
        let moved = largest_distance(&skinned(&arm.rig, &example.transforms), &example.positions);
        let error = largest_distance(&bench.posed(&model, &example.transforms), &example.positions);
        // The bias of a ridge of 1e-9 along the weakest axes kept, 1e-9 of sums of some hundred.
        assert!(error < 1e-4 * moved, "{error} of {moved}");
    }
    // With the default's choice of s and its guard on, clean data leave little too.
    let default = bench.fit(&MweSettings::for_poses(60, false)).correction;
    let fitted = bench.fitted(&default);
    assert!(rms(&fitted, &bench.targets()) < 1e-3 * rms(&bench.base, &bench.targets()));
}

#[test]
fn the_bind_pose_is_exact_to_the_bit() {
    let bench = Bench::arm(20, 303).1;
    for rows in [RowChoice::Row, RowChoice::Full] {
        for anchor in [Anchor::Dominant, Anchor::Root, Anchor::World] {
            let model = bench.fit(&MweSettings { rows, anchor, ..MweSettings::for_poses(20, false) }).correction;
            let rest = &bench.rig.mesh().positions;
            assert_eq!(&corrected(&model, rest, &BoneTransforms::identity(4)), rest);
        }
    }
}

#[test]
fn linear_blend_skinning_is_reproduced_without_a_base_and_needs_no_correction_over_itself() {
    let arm = Arm::new(9, 6);
    let examples: Vec<Example> = ArmPose::some(30, 304)
        .iter()
        .map(|pose| {
            let transforms = arm.transforms(pose);
            let positions = skinned(&arm.rig, &transforms);
            Example { label: String::new(), time: None, transforms, positions, importance: 1.0, local: None }
        })
        .collect();
    let bench = Bench::new(&arm.rig, examples);
    let default = bench.fit(&MweSettings::for_poses(30, false)).correction;
    assert!(default.coefficients.iter().all(|u| *u == 0.0) && default.radii.iter().all(|r| *r == 0.0));
    let bare = bench.clone().without_base();
    let settings = MweSettings { anchor: Anchor::World, centring: Centring::Raw, ..plain(RowChoice::Row, 0.0) };
    let model = bare.fit(&settings).correction;
    for pose in unseen(5) {
        let pose = arm.transforms(&pose);
        let found = corrected(&model, &vec![DVec3::ZERO; bare.rig.mesh().positions.len()], &pose);
        // Axes below 1e-9 of the largest are dropped: 3e-5 of the features.
        assert!(largest_distance(&found, &skinned(&arm.rig, &pose)) < 1e-4 * arm.length());
    }
}

#[test]
fn directions_that_never_vary_get_no_weight() {
    // The elbow bends about z alone: the third row of its matrix and the z column stay at rest.
    let arm = Arm::new(9, 6);
    let poses: Vec<_> = (0..12).map(|s| ArmPose { elbow: 0.15 * f64::from(s), ..ArmPose::REST }).collect();
    let mut bench = Bench::new(&arm.rig, arm.examples(&poses));
    bench.examples = noisy(&bench.examples, 1e-3, 305);
    for ridge in [RidgeMode::Absolute, RidgeMode::Paper, RidgeMode::Unit, RidgeMode::Relative] {
        for (anchor, centring) in [(Anchor::Dominant, Centring::Rest), (Anchor::World, Centring::Mean)] {
            let settings = MweSettings { ridge, anchor, centring, ..plain(RowChoice::Full, 1e-3) };
            let model = bench.fit(&settings).correction;
            assert!(!model.coefficients.is_empty());
            for (at, u) in model.coefficients.iter().enumerate() {
                let (row, column) = (at % 12 / 4, at % 4);
                if row == 2 || column == 2 {
                    assert!(u.abs() < 1e-12, "{ridge:?}: row {row}, column {column}: {u}");
                }
            }
        }
    }
}

/// Rival: a Gaussian interpolant through every example, over the joint rotations, its width the best of several on
/// the very poses it is scored on. Targets are corrections in the anchor's frame, as for the model.
fn interpolated(bench: &Bench, arm: &Arm, test: &[Example], clean: &[Vec<DVec3>]) -> f64 {
    let features = |pose: &BoneTransforms| -> Vec<f64> {
        let joint = |k: usize| (pose.as_slice()[k - 1].inverse() * pose.as_slice()[k]).matrix3.to_cols_array();
        (1..4).flat_map(joint).map(|x| x / 2f64.sqrt()).collect()
    };
    let anchor = |v: usize| bench.maps.dominant(v).unwrap();
    let known: Vec<_> = bench.examples.iter().map(|e| features(&e.transforms)).collect();
    let asked: Vec<_> = test.iter().map(|e| features(&e.transforms)).collect();
    let vertices = bench.rig.mesh().positions.len();
    let targets = Mat::from_fn(known.len(), 3 * vertices, |s, at| {
        let turn = bench.examples[s].transforms[anchor(at / 3)].matrix3.transpose();
        (turn * (bench.examples[s].positions[at / 3] - bench.base[s][at / 3]))[at % 3]
    });
    let score = |width: f64| {
        let kernel = |a: &[f64], b: &[f64]| {
            let square: f64 = a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum();
            (-square / (width * width)).exp()
        };
        let gram = Mat::from_fn(known.len(), known.len(), |i, j| kernel(&known[i], &known[j]));
        let Ok(weights) = solve_shifted(gram.as_ref(), 1e-9, targets.as_ref()) else { return f64::INFINITY };
        let found: Vec<Vec<DVec3>> = (0..test.len())
            .map(|s| {
                let row = Mat::from_fn(1, known.len(), |_, j| kernel(&asked[s], &known[j])) * &weights;
                let base = skinned(&arm.rig, &test[s].transforms);
                let delta = |v: usize| DVec3::new(row[(0, 3 * v)], row[(0, 3 * v + 1)], row[(0, 3 * v + 2)]);
                (0..vertices).map(|v| base[v] + test[s].transforms[anchor(v)].matrix3 * delta(v)).collect()
            })
            .collect();
        rms(&found, clean)
    };
    [0.5, 1.0, 2.0, 4.0, 8.0].into_iter().map(score).fold(f64::INFINITY, f64::min)
}

#[test]
fn noise_is_averaged_where_an_interpolant_follows_it() {
    let (arm, mut bench) = Bench::arm(48, 306);
    let deviation = 2e-3;
    bench.examples = noisy(&bench.examples, deviation, 307);
    let test = arm.examples(&unseen(40));
    let clean: Vec<_> = test.iter().map(|e| e.positions.clone()).collect();
    let model = bench.fit(&MweSettings::for_poses(48, false)).correction;
    let found: Vec<_> = test.iter().map(|e| bench.posed(&model, &e.transforms)).collect();
    let (error, rival) = (rms(&found, &clean), interpolated(&bench, &arm, &test, &clean));
    assert!(error < 0.6 * rival, "about half: {error} {rival}");
    assert!(error < 0.7 * deviation * 3f64.sqrt(), "closer to the truth than the examples are: {error}");
}

#[test]
fn unseen_poses_improve_on_skinning_and_more_so_with_more_examples() {
    let arm = Arm::new(9, 6);
    let test = arm.examples(&unseen(30));
    let truth: Vec<_> = test.iter().map(|e| e.positions.clone()).collect();
    let base: Vec<_> = test.iter().map(|e| skinned(&arm.rig, &e.transforms)).collect();
    let ratio = |poses| {
        let bench = Bench::arm(poses, 308).1;
        let model = bench.fit(&MweSettings::for_poses(poses, false)).correction;
        rms(&test.iter().map(|e| bench.posed(&model, &e.transforms)).collect::<Vec<_>>(), &truth) / rms(&base, &truth)
    };
    let ratios = [12, 24, 96].map(ratio);
    assert!(ratios[0] < 0.8 && ratios[1] < ratios[0] && ratios[2] < 0.25, "{ratios:?}");
}

#[test]
fn one_pose_or_rigid_motion_alone_teaches_nothing() {
    let (arm, bench) = Bench::arm(4, 309);
    let mut random = Random::new(310);
    let rigid: Vec<Example> = (0..6)
        .map(|s| {
            let mut example = arm.example(String::new(), &ArmPose::REST);
            // The skin trembles, but no joint moves.
            example.positions.iter_mut().for_each(|p| *p += random.direction() * 0.01);
            dermis_testkit::moved(&example, some_motion(0.4 * f64::from(s), DVec3::Y * f64::from(s)))
        })
        .collect();
    for rows in [RowChoice::Row, RowChoice::Full, RowChoice::Auto] {
        for bench in [bench.subset(&[0]), Bench::new(&arm.rig, rigid.clone())] {
            let fit = bench.fit(&MweSettings { rows, ..MweSettings::for_poses(6, false) });
            assert_eq!((fit.report.corrected, fit.report.welded.len()), (0, 3));
            let pose = arm.transforms(&ArmPose::random(&mut random));
            assert_eq!(bench.posed(&fit.correction, &pose), skinned(&arm.rig, &pose));
        }
    }
    // A single bent pose: the correction passes near it, and the sweep has nothing to leave out but that.
    let fit = bench.subset(&[2]).fit(&MweSettings::for_poses(1, false));
    assert!(fit.correction.coefficients.iter().all(|u| u.is_finite()));
}

#[test]
fn bones_without_a_map_are_excluded_and_no_bones_leave_the_base() {
    let mut bench = Bench::arm(20, 311).1;
    let hand = BoneIndex::new(3);
    let keep = |row: &[(BoneIndex, f64)]| row.iter().copied().filter(|e| e.0 != hand).collect::<Vec<_>>();
    let rows = bench.maps.rows().enumerate().map(|(v, row)| if v < 10 { Vec::new() } else { keep(row) });
    bench.maps = Influences::from_rows(rows.collect::<Vec<_>>()).unwrap();
    let model = bench.fit(&MweSettings::for_poses(20, false)).correction;
    assert!(model.pairs.iter().all(|pair| pair.bone != hand));
    assert!(model.terms.iter().take(10).all(<[u32]>::is_empty));
    let pose = Arm::new(9, 6).transforms(&ArmPose::random(&mut Random::new(312)));
    assert_eq!(bench.posed(&model, &pose)[..10], skinned(&bench.rig, &pose)[..10]);
}

#[test]
fn bones_that_always_move_as_one_share_their_coefficients_evenly() {
    // Two forearms: the hand copies the forearm in every pose. Seen from the torso both are the same bone.
    let (_, mut bench) = Bench::arm(30, 313);
    for example in &mut bench.examples {
        let mut bones = example.transforms.to_vec();
        bones[3] = bones[2];
        example.transforms = BoneTransforms::new(bones);
    }
    let rows = bench.maps.rows().map(|row| row.iter().map(|&(b, _)| (b, 1.0)).collect());
    bench.maps = Influences::from_rows(rows.collect::<Vec<Vec<_>>>()).unwrap();
    let settings = MweSettings { anchor: Anchor::Root, ..plain(RowChoice::Full, 1e-3) };
    let model = bench.fit(&settings).correction;
    for v in 0..model.vertices() {
        let of = |bone: usize| {
            model
                .terms
                .range(v)
                .find(|&at| model.pairs[model.terms.entries()[at] as usize].bone.get() == bone)
                .map(|at| &model.coefficients[at * 36..at * 36 + 36])
        };
        let (Some(a), Some(b)) = (of(2), of(3)) else { continue };
        assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-9), "vertex {v}");
    }
    // Welded, the pair is one bone with the same fit.
    let welded = bench.fit(&MweSettings { guard: true, ..settings });
    assert_eq!(welded.report.welded.iter().map(|b| b.get()).collect::<Vec<_>>(), [3]);
}

#[test]
fn bad_input_is_named() {
    let bench = Bench::arm(5, 314).1;
    let settings = MweSettings::for_poses(5, false);
    let fails = |bench: &Bench, settings: &MweSettings| {
        fit_mwe(&bench.training(), &bench.maps, settings, &silent).err().map(|e| e.to_string()).unwrap_or_default()
    };
    let mut broken = bench.clone();
    broken.examples[3].positions[17].y = f64::NAN;
    assert_eq!(fails(&broken, &settings), "example \"pose 3\": vertex 17 is not finite");
    broken = bench.clone();
    broken.base[2][5].x = f64::INFINITY;
    assert_eq!(fails(&broken, &settings), "example \"pose 2\": base vertex 5 is not finite");
    broken = bench.clone();
    let mut bones = broken.examples[1].transforms.to_vec();
    bones[2].translation.z = f64::NAN;
    broken.examples[1].transforms = BoneTransforms::new(bones.clone());
    assert_eq!(fails(&broken, &settings), "example \"pose 1\": bone 2 is not finite");
    bones[2] = DAffine3 { matrix3: DMat3::ZERO, translation: DVec3::ZERO };
    broken.examples[1].transforms = BoneTransforms::new(bones);
    let singular = "bone \"forearm\" is an anchor, but its transform in example \"pose 1\" is singular";
    assert_eq!(fails(&broken, &settings), singular);
    broken = bench.clone();
    broken.examples[4].importance = -1.0;
    assert!(fails(&broken, &settings).contains("importance"));
    broken = bench.clone();
    broken.examples[4].positions.pop();
    assert!(fails(&broken, &settings).contains("vertices of an example: 55"));
    broken = bench.clone();
    broken.maps = Influences::from_rows(vec![vec![(BoneIndex::new(9), 1.0)]; 56]).unwrap();
    assert!(fails(&broken, &settings).contains("bones of the influence maps: 10"));
    for anchor in [Anchor::Bone(BoneIndex::new(4)), Anchor::PerVertex(vec![BoneIndex::new(0); 3])] {
        assert!(fails(&bench, &MweSettings { anchor, ..settings.clone() }).contains("anchor"));
    }
    for strength in [Strength::Given(-1.0), Strength::Given(f64::NAN)] {
        assert!(fails(&bench, &MweSettings { strength, ..settings.clone() }).contains("s = "));
    }
    let empty = MweSettings { grid: Vec::new(), ..settings.clone() };
    assert!(fails(&bench, &empty).contains("grid"));
    let given = MweSettings { strength: Strength::Given(1e-3), rows: RowChoice::Full, ..empty };
    assert_eq!(fails(&bench, &given), "", "a given s needs no grid");
    let mut silent_poses = bench.clone();
    silent_poses.examples.iter_mut().for_each(|e| e.importance = 0.0);
    assert_eq!(fails(&silent_poses, &settings), "there are no examples to fit");
    assert_eq!(fails(&bench.subset(&[]), &settings), "there are no examples to fit");
}

#[test]
fn more_blocks_than_poses_and_meshes_of_nothing_are_no_trouble() {
    let bench = Bench::arm(3, 315).1;
    let settings = MweSettings::for_poses(3, true);
    for folds in [Folds::Blocks(0), Folds::Blocks(1), Folds::Blocks(50), Folds::Single] {
        let strength = Strength::CrossValidated(folds);
        let fit = bench.fit(&MweSettings { strength, ..settings.clone() });
        assert!(fit.report.sweep.iter().all(|p| p.score.is_finite()), "{folds:?}");
    }
    let nothing = Influences::default();
    let mut examples = bench.examples.clone();
    examples.iter_mut().for_each(|e| e.positions.clear());
    let base = vec![Vec::new(); 3];
    let training = Training { rest: &[], examples: &examples, base: (&base).into(), ..bench.training() };
    let none = Influences::from_rows(Vec::<Vec<_>>::new()).unwrap();
    for maps in [&nothing, &none] {
        let fit = fit_mwe(&training, maps, &settings, &silent);
        assert!(fit.is_ok_and(|fit| fit.correction.vertices() == 0));
    }
}

#[test]
fn a_fit_can_be_cancelled_at_any_time() {
    use std::ops::ControlFlow;
    use std::sync::atomic::{AtomicU64, Ordering};
    let bench = Bench::arm(10, 316).1;
    let settings = MweSettings::for_poses(10, false);
    let (last, calls) = (AtomicU64::new(0), AtomicU64::new(0));
    let watch = |done: u64, total: u64| {
        assert!(done <= total);
        last.fetch_max(done, Ordering::Relaxed);
        calls.fetch_add(1, Ordering::Relaxed);
        ControlFlow::Continue(())
    };
    fit_mwe(&bench.training(), &bench.maps, &settings, &watch).unwrap();
    // Two forms swept and one solved.
    assert_eq!(last.into_inner(), 3 * bench.rig.mesh().positions.len() as u64);
    for stop in [0, calls.into_inner() / 2] {
        let calls = AtomicU64::new(0);
        let stopping = |_, _| match calls.fetch_add(1, Ordering::Relaxed) < stop {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(dermis_fit::Cancelled),
        };
        let fit = fit_mwe(&bench.training(), &bench.maps, &settings, &stopping);
        assert_eq!(fit.err(), Some(FitError::Cancelled));
    }
}
