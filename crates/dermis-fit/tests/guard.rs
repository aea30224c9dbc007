//! No pose, however unlike the training, throws a vertex away.

mod bench;

use bench::{Bench, deltas, exercise_with_an_agreeing_hand, plain, skinned};
use dermis_deform::enveloping::{Pair, PoseFeatures};
use dermis_deform::{Base, Deformer, Enveloping, Scratch};
use dermis_fit::mwe::{Anchor, Centring, RidgeMode, RowChoice, Strength};
use dermis_fit::{Folds, MweSettings};
use dermis_rig::glam::{DAffine3, DMat3, DVec3, Vec3};
use dermis_rig::{BoneTransforms, Example, Influences};
use dermis_testkit::arm::{FOREARM, HAND, UPPER};
use dermis_testkit::{Arm, ArmPose, Random, moved, rounded_pose, some_motion, stored_in_f32};

/// The arm in random poses with one joint held at rest, matrices rounded by 1e-7.
fn frozen(joint: usize, poses: usize) -> (Arm, Bench) {
    frozen_up_to(joint, poses, 0.0)
}

/// The same, but the joint moves by up to `most` radians.
fn frozen_up_to(joint: usize, poses: usize, most: f64) -> (Arm, Bench) {
    let arm = Arm::new(9, 6);
    let mut random = Random::new(31);
    let poses: Vec<ArmPose> = ArmPose::some(poses, 30).into_iter().map(|pose| pose.held(joint)).collect();
    let mut poses = poses;
    poses.iter_mut().for_each(|pose| pose.elbow += most * random.unit());
    let mut examples = arm.examples(&poses);
    for example in &mut examples {
        example.transforms = rounded_pose(&example.transforms, 1e-7, arm.length(), &mut random);
    }
    let bench = Bench::new(&arm.rig, examples);
    (arm, bench)
}

/// The largest change of a correction, seen from its anchor and in units of ρ, when the frozen joint turns.
fn change(arm: &Arm, bench: &Bench, settings: &MweSettings, joint: usize) -> f64 {
    let correction = bench.fit(settings).correction;
    let mut random = Random::new(32);
    let change = |_| {
        let pose = ArmPose::random(&mut random).held(joint);
        change_between(arm, bench, &correction, [&pose, &pose.turned(joint)])
    };
    (0..4).map(change).fold(0.0, f64::max)
}

fn change_between(arm: &Arm, bench: &Bench, correction: &Enveloping, poses: [&ArmPose; 2]) -> f64 {
    let [before, after] = poses.map(|pose| {
        let transforms = arm.transforms(pose);
        let turn = |v: usize| correction.anchors[v].map_or(DMat3::IDENTITY, |a| transforms[a].matrix3);
        let seen = deltas(correction, &transforms).into_iter().enumerate().map(|(v, d)| turn(v).transpose() * d);
        seen.collect::<Vec<DVec3>>()
    });
    let rho = bench.training().largest_residuals();
    let moved = (0..rho.len()).filter(|v| rho[*v] > 1e-9).map(|v| before[v].distance(after[v]) / rho[v]);
    moved.fold(0.0, f64::max)
}

#[test]
fn a_joint_frozen_in_training_has_no_influence_on_the_correction() {
    for joint in 1..4 {
        let (arm, bench) = frozen(joint, 24);
        let settings = MweSettings::for_poses(24, false);
        assert_eq!(bench.fit(&settings).report.welded.iter().map(|b| b.get()).collect::<Vec<_>>(), [joint]);
        for rows in [RowChoice::Row, RowChoice::Full] {
            for anchor in [Anchor::Dominant, Anchor::Root, Anchor::Bone(UPPER), Anchor::Bone(HAND)] {
                let settings = MweSettings { rows, anchor: anchor.clone(), ..settings.clone() };
                let change = change(&arm, &bench, &settings, joint);
                assert!(change < 0.01, "joint {joint}, {rows:?}, {anchor:?}: {change} rho");
            }
        }
    }
}

/// Maps of one where there is weight, so that around a frozen joint nothing else is seen.
fn painted_maps(arm: &Arm) -> Influences {
    let rows = arm.weights().rows().map(|row| row.iter().map(|e| (e.0, 1.0)).collect());
    Influences::from_rows(rows).expect("ones are finite")
}

/// An example of no importance asks for nothing, so it widens no bound.
#[test]
fn what_examples_asked_for_leaves_out_those_of_no_importance() {
    let mut bench = Bench::arm(6, 5).1;
    let asked = bench.training().largest_residuals();
    bench.examples.push(Example { importance: 0.0, ..bench.examples[0].clone() });
    bench.base.push(bench.base[0].iter().map(|p| *p + DVec3::X).collect());
    assert_eq!(bench.training().largest_residuals(), asked);
    bench.examples[6].importance = 1.0;
    assert!(bench.training().largest_residuals().iter().zip(&asked).all(|(now, before)| now > before));
}

/// Lengths of a mesh without extent are not divided by zero.
#[test]
fn a_rig_without_length_is_fitted_in_its_own_unit() {
    let bench = Bench::arm(12, 5).1;
    let settings = MweSettings::for_poses(12, false);
    let [one, none] = [1.0, 0.0].map(|length| Bench { length, ..bench.clone() }.fit(&settings).correction);
    assert_eq!(deltas(&one, &bench.examples[3].transforms), deltas(&none, &bench.examples[3].transforms));
}

/// The elbow bends and never twists, so its third row is noise, and so is the largest variance the ridge refers to.
#[test]
fn a_ridge_relative_to_the_data_fits_the_noise_of_a_hinges_axis_and_flies_apart() {
    let arm = Arm::new(9, 6);
    let mut random = Random::new(33);
    let poses: Vec<_> = ArmPose::some(40, 34).into_iter().map(|pose| ArmPose { twist: 0.0, ..pose }).collect();
    let mut examples = arm.examples(&poses);
    for example in &mut examples {
        example.transforms = rounded_pose(&example.transforms, 1e-7, arm.length(), &mut random);
    }
    let bench = Bench { maps: painted_maps(&arm), ..Bench::new(&arm.rig, examples) };
    let after = ArmPose { twist: 120f64.to_radians(), elbow: 1.0, ..ArmPose::REST };
    let change = |settings: &MweSettings| {
        let fit = bench.fit(settings);
        let poses = [&ArmPose { twist: 0.0, ..after }, &after];
        (change_between(&arm, &bench, &fit.correction, poses), fit.report.largest_leverage)
    };
    let row = MweSettings { ridge: RidgeMode::Relative, ..plain(RowChoice::Row, 1e-3) };
    for strength in [Strength::Given(1e-3), Strength::CrossValidated(Folds::Single)] {
        let (change, leverage) = change(&MweSettings { strength, ..row.clone() });
        assert!(change > 1e5, "{strength:?}: {change}");
        assert!(leverage < 0.9, "leave-one-out sees nothing unusual: {leverage}");
    }
    // The same class under the guard: an unseen twist is held to the ball, and here stays well within it.
    let guarded = change(&MweSettings { rows: RowChoice::Row, ..MweSettings::for_poses(40, false) }).0;
    assert!(guarded < 1.0, "{guarded}");
}

#[test]
fn a_ridge_relative_to_the_data_fits_the_noise_of_a_frozen_joint_and_flies_apart() {
    let (arm, mut bench) = frozen(1, 24);
    bench.maps = painted_maps(&arm);
    // Merging duplicates would average the noise below the published cut-off of 1e-14.
    let settings = MweSettings { ridge: RidgeMode::Relative, duplicates: -1.0, ..plain(RowChoice::Full, 0.0) };
    for strength in [Strength::Given(1e-3), Strength::CrossValidated(Folds::Single)] {
        let change = change(&arm, &bench, &MweSettings { strength, ..settings.clone() }, 1);
        assert!(change > 1e5, "{strength:?}: {change}");
    }
    let settings = MweSettings { duplicates: -1.0, ..MweSettings::for_poses(24, false) };
    let guarded = change(&arm, &bench, &settings, 1);
    assert!(guarded < 0.01, "{guarded}");
}

/// λ = s m / σ² lets coefficients grow to max σ³ / (σ⁴ + s m) = 0.57 (s m)^(−1/4) per unit of target: without a ridge
/// noise is fitted in full, with one the published ridges are bounded, if not by much.
#[test]
fn the_published_ridges_fly_apart_as_their_scale_vanishes() {
    let (arm, bench) = frozen_up_to(2, 24, 5e-4);
    for ridge in [RidgeMode::Paper, RidgeMode::Unit] {
        for (anchor, centring) in [(Anchor::World, Centring::Paper), (Anchor::Dominant, Centring::Rest)] {
            let with = |s| {
                let settings = MweSettings { ridge, anchor: anchor.clone(), centring, ..MweSettings::published(s) };
                change(&arm, &bench, &settings, 2)
            };
            assert!(with(0.0) > 1000.0, "{ridge:?} {anchor:?}: {}", with(0.0));
            // |δ| ≤ |f| |u|, |f| ≤ 2·√3·3 for three bones, |Y| ≤ √24 ρ.
            let bound = 11.0 * 24f64.sqrt() * 0.57 * (1e-3f64 * 24.0).powf(-0.25);
            assert!(with(1e-3) < bound, "{ridge:?} {anchor:?}: {}", with(1e-3));
        }
    }
}

#[test]
fn no_pose_moves_a_vertex_farther_than_one_and_a_half_times_what_training_asked() {
    let (arm, bench, agrees) = exercise_with_an_agreeing_hand();
    let rest = &arm.rig.mesh().positions;
    let rho = bench.training().largest_residuals();
    assert!((0..rho.len()).all(|v| agrees(v) == (rho[v] == 0.0)));
    for rows in [RowChoice::Row, RowChoice::Full] {
        let correction = bench.fit(&MweSettings { rows, ..MweSettings::for_poses(50, false) }).correction;
        let mut reference = bench.deformer(&correction);
        let baked = reference.bake();
        let bare = reference.clone().without_correction().bake();
        let (mut random, mut scratch, mut held) = (Random::new(40), Scratch::default(), 0);
        for _ in 0..1000 {
            let pose = arm.wild(&mut random, std::f64::consts::PI);
            let (base, mut posed) = (skinned(&arm.rig, &pose), vec![DVec3::NAN; rest.len()]);
            held += reference.evaluate(&pose, None, &mut posed).unwrap();
            let (mut narrow, mut narrow_base) = (vec![Vec3::NAN; rest.len()], vec![Vec3::NAN; rest.len()]);
            baked.evaluate(&pose, None, &mut scratch, &mut narrow).unwrap();
            bare.evaluate(&pose, None, &mut scratch, &mut narrow_base).unwrap();
            for v in 0..rest.len() {
                let moved = posed[v].distance(base[v]);
                assert!(moved <= 1.5 * rho[v] * (1.0 + 1e-6) + 1e-15, "vertex {v}: {moved} of {}", rho[v]);
                // f32: positions within 2 m carry 1.2e-7 each, and the sum is rounded twice.
                let moved = f64::from(narrow[v].distance(narrow_base[v]));
                assert!(moved <= 1.5 * rho[v] * (1.0 + 1e-6) + 5e-7, "vertex {v}: {moved} of {}", rho[v]);
                if rho[v] == 0.0 {
                    assert!(posed[v] == base[v] && narrow[v] == narrow_base[v]);
                }
            }
        }
        assert!(held > 0, "the stress never reached the ball: it proves nothing");
    }
}

#[test]
fn broken_transforms_leave_a_finite_correction() {
    let (arm, bench) = Bench::arm(20, 41);
    let mut random = Random::new(42);
    let flat = DMat3::from_diagonal(DVec3::new(1.0, 0.0, 1.0));
    let breaks: [DAffine3; 6] = [
        DAffine3 { matrix3: DMat3::ZERO, translation: DVec3::ONE },
        DAffine3 { matrix3: flat, translation: DVec3::ZERO },
        DAffine3 { matrix3: DMat3::from_diagonal(DVec3::splat(1e300)), translation: DVec3::splat(1e300) },
        DAffine3 { matrix3: DMat3::from_diagonal(DVec3::splat(1e-300)), translation: DVec3::X },
        DAffine3 { matrix3: DMat3::from_diagonal(DVec3::NAN), translation: DVec3::ZERO },
        DAffine3 { matrix3: DMat3::IDENTITY, translation: DVec3::splat(f64::INFINITY) },
    ];
    for (joint, anchor) in [(2, Anchor::Dominant), (2, Anchor::World), (9, Anchor::Dominant)] {
        let mut bench = bench.clone();
        if joint < 4 {
            bench = frozen(joint, 20).1;
        }
        let correction = bench.fit(&MweSettings { anchor, ..MweSettings::for_poses(20, false) }).correction;
        // Given positions show the correction alone, whatever the bones do to a base.
        let rest = bench.rig.mesh().positions.clone();
        let given = vec![Vec3::ZERO; rest.len()];
        let baked = Deformer::new(rest, Base::Given, Some(correction.clone().into())).unwrap().bake();
        let mut scratch = Scratch::default();
        for broken in breaks {
            for bone in 0..4 {
                let mut bones = arm.transforms(&ArmPose::random(&mut random)).to_vec();
                bones[bone] = broken;
                let pose = BoneTransforms::new(bones);
                for (v, delta) in deltas(&correction, &pose).into_iter().enumerate() {
                    assert!(delta.length() <= correction.radii[v] * (1.0 + 1e-6), "{broken:?} bone {bone}: {delta}");
                }
                let mut narrow = vec![Vec3::NAN; given.len()];
                baked.evaluate(&pose, Some(&given), &mut scratch, &mut narrow).unwrap();
                assert!(narrow.iter().all(|p| p.is_finite()), "{broken:?} bone {bone}");
            }
        }
    }
}

/// Files hold joint matrices in f32. What a frozen joint seems to move then grows with the distance to the origin.
#[test]
fn a_frozen_joint_is_recognised_in_f32_and_far_from_the_origin() {
    for far in [0.0, 2.0, 10.0, 100.0] {
        for joint in 1..4 {
            let (arm, mut bench) = frozen(joint, 24);
            let mut random = Random::new(77);
            let examples = bench.examples.iter().map(|example| {
                let g = some_motion(random.between(0.0, 3.0), random.direction() * far);
                let example = moved(example, g);
                Example { transforms: stored_in_f32(arm.rig.skeleton(), &example.transforms), ..example }
            });
            bench = Bench::new(&arm.rig, examples.collect());
            let change = change(&arm, &bench, &MweSettings::for_poses(24, false), joint);
            assert!(change < 0.01, "{far} m, joint {joint}: {change} rho");
        }
    }
}

/// Features are held at 1.25 times their largest norm in training, in their own direction.
#[test]
fn features_beyond_training_are_held_at_their_limit() {
    let (arm, bench) = Bench::arm(20, 43);
    let correction = bench.fit(&MweSettings::for_poses(20, false)).correction;
    let feature = |pose: &BoneTransforms, pair: &Pair| {
        let m = pose[pair.anchor.unwrap()].inverse() * pose[pair.bone];
        let turn = (m.matrix3 - DMat3::IDENTITY).to_cols_array();
        turn.into_iter().chain((m.translation / bench.length).to_array()).collect::<Vec<f64>>()
    };
    let norm = |f: &[f64]| f.iter().map(|x| x * x).sum::<f64>().sqrt();
    for pair in &correction.pairs {
        let most = bench.examples.iter().map(|e| norm(&feature(&e.transforms, pair))).fold(0.0, f64::max);
        assert!((pair.limit - 1.25 * most).abs() < 1e-12 * most);
    }
    let (mut random, mut limited, mut found) = (Random::new(44), 0, PoseFeatures::default());
    for _ in 0..50 {
        let pose = arm.wild(&mut random, std::f64::consts::PI);
        correction.features(&pose, &mut found);
        let mut expected_limited = 0;
        for (pair, got) in correction.pairs.iter().zip(&found.features) {
            let whole = feature(&pose, pair);
            let scale = (pair.limit / norm(&whole)).min(1.0);
            expected_limited += usize::from(scale < 1.0);
            // Ours lists columns and then the translation, theirs rows with the translation last in each.
            for (j, c) in (0..3).flat_map(|j| (0..4).map(move |c| (j, c))) {
                assert!((got[4 * j + c] - scale * whole[3 * c + j]).abs() < 1e-12);
            }
        }
        assert_eq!(found.limited, expected_limited);
        limited += found.limited;
    }
    assert!(limited > 0);
}

/// Bones that move as one have one map, the largest of theirs, whichever of them it belongs to.
#[test]
fn welded_bones_share_the_largest_of_their_maps() {
    let (_, bench) = frozen(2, 20);
    let with = |upper: f64, forearm: f64| {
        let mut bench = bench.clone();
        let row = [(UPPER, upper), (FOREARM, forearm), (HAND, 0.5)];
        bench.maps = Influences::from_rows(vec![row.to_vec(); bench.maps.vertices()]).unwrap();
        bench.fit(&MweSettings { anchor: Anchor::Root, ..MweSettings::for_poses(20, false) }).correction.coefficients
    };
    let expected = with(0.9, 0.9);
    for (upper, forearm) in [(0.9, 0.3), (0.3, 0.9), (0.9, 0.0), (0.0, 0.9)] {
        assert_eq!(with(upper, forearm), expected, "{upper} {forearm}");
    }
    assert!(with(0.3, 0.3) != expected);
}
