//! What must not change a model: order, names, units, threads, repetition.

mod bench;

use bench::{Bench, corrected, plain, skinned};
use dermis_deform::{EnvelopingForm, Scratch};
use dermis_fit::maps::{MapSettings, from_weights};
use dermis_fit::mwe::{Anchor, Centring, RidgeMode, RowChoice, Strength};
use dermis_fit::{Folds, MweSettings};
use dermis_rig::glam::{DAffine3, DMat3, DQuat, DVec3, Vec3};
use dermis_rig::{BoneTransforms, Example, Influences, Skeleton};
use dermis_testkit::{Arm, ArmPose, Random, Tree, change_rig, largest_distance, noisy, scaled, scaled_pose};

/// Poses no fit has seen.
fn unseen(count: usize) -> Vec<BoneTransforms> {
    let arm = Arm::new(9, 6);
    ArmPose::some(count, 99).iter().map(|pose| arm.transforms(pose)).collect()
}

/// The largest distance between two models in unseen poses, in L.
fn difference(a: &Bench, b: &Bench, settings: &MweSettings) -> f64 {
    difference_of(a, &a.fit(settings).correction, &b.fit(settings).correction)
}

fn difference_of(bench: &Bench, a: &dermis_deform::Enveloping, b: &dermis_deform::Enveloping) -> f64 {
    let poses = unseen(6);
    let apart = poses.iter().map(|pose| largest_distance(&bench.posed(a, pose), &bench.posed(b, pose)));
    apart.fold(0.0, f64::max) / bench.length
}

/// The default, the published form, and some of what lies between.
fn forms(poses: usize) -> Vec<MweSettings> {
    let default = MweSettings::for_poses(poses, false);
    let row = MweSettings { rows: RowChoice::Row, ..default.clone() };
    let mean = MweSettings { centring: Centring::Mean, ridge: RidgeMode::Relative, guard: false, ..default.clone() };
    vec![default, row, mean, MweSettings::published(1e-3)]
}

#[test]
fn the_order_of_the_poses_does_not_matter() {
    let mut bench = Bench::arm(20, 60).1;
    bench.examples = noisy(&bench.examples, 1e-3, 61);
    for (s, example) in bench.examples.iter_mut().enumerate() {
        example.importance = 0.5 + 0.1 * s as f64;
    }
    let shuffled = bench.subset(&Random::new(62).order(20));
    for settings in forms(20) {
        // Sums in another order: 2⁻⁵² times the condition, at most 1e9 where axes are dropped.
        let apart = difference(&bench, &shuffled, &settings);
        assert!(apart < 1e-8, "{settings:?}: {apart}");
    }
}

#[test]
fn the_order_of_the_bones_does_not_matter() {
    let tree = Tree::new(7, 40, 63);
    let poses = tree.poses(30, 1.5, 64);
    let mut random = Random::new(65);
    let examples: Vec<Example> = poses
        .iter()
        .map(|pose| {
            let mut positions = skinned(&tree.rig, pose);
            positions.iter_mut().for_each(|p| *p += random.direction() * 0.01);
            Example {
                label: String::new(),
                time: None,
                transforms: pose.clone(),
                positions,
                importance: 1.0,
                local: None,
            }
        })
        .collect();
    let bench = Bench::new(&tree.rig, examples);
    // The same bones listed backwards, then parents first again.
    let bones = 7;
    let skeleton = tree.rig.skeleton();
    let backwards = |b: usize| bones - 1 - b;
    let names = (0..bones).map(|b| skeleton.names().as_slice()[backwards(b)].clone()).collect();
    let parents: Vec<i64> = (0..bones)
        .map(|b| skeleton.parents().as_slice()[backwards(b)].map_or(-1, |p| backwards(p.get()) as i64))
        .collect();
    let bind: Vec<DAffine3> = (0..bones).map(|b| skeleton.bind().as_slice()[backwards(b)]).collect();
    let (permuted, order) = Skeleton::sorted(names, &parents, &bind).unwrap();
    let old: Vec<usize> = order.into_iter().map(backwards).collect();
    assert!(old != (0..bones).collect::<Vec<_>>(), "the order is another one");
    let mut place = vec![0; bones];
    old.iter().enumerate().for_each(|(new, &old)| place[old] = new);
    let pose_of = |pose: &BoneTransforms| BoneTransforms::new(old.iter().map(|&b| pose.as_slice()[b]).collect());
    let mut other = bench.clone();
    change_rig(&mut other.rig, |_, skeleton, weights| {
        (*skeleton, *weights) = (permuted, weights.as_ref().map(|w| w.with_bones(&place)));
    });
    other.maps =
        from_weights(other.rig.skeleton(), other.rig.mesh(), other.rig.weights().unwrap(), MapSettings::default())
            .unwrap();
    assert_eq!(other.maps, bench.maps.with_bones(&place), "maps are derived alike");
    other.examples.iter_mut().for_each(|e| e.transforms = pose_of(&e.transforms));
    for settings in forms(30) {
        let (a, b) = (bench.fit(&settings).correction, other.fit(&settings).correction);
        for pose in tree.poses(5, 2.0, 66) {
            let expected = corrected(&a, &skinned(&bench.rig, &pose), &pose);
            let moved = pose_of(&pose);
            let got = corrected(&b, &skinned(&other.rig, &moved), &moved);
            assert!(largest_distance(&got, &expected) < 1e-8, "{settings:?}");
        }
    }
}

#[test]
fn threads_change_no_bit_of_a_fit_nor_of_its_evaluation() {
    // More vertices than a task takes at a time, in fitting and in evaluation.
    let arm = Arm::new(44, 50);
    let bench = Bench::new(&arm.rig, arm.examples(&ArmPose::some(9, 67)));
    let pose = arm.transforms(&ArmPose::random(&mut Random::new(68)));
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut settings = MweSettings::for_poses(9, false);
            settings.grid = vec![1e-3, 1e-1];
            let fit = bench.fit(&settings);
            let mut out = vec![Vec3::NAN; bench.rig.mesh().positions.len()];
            bench.deformer(&fit.correction).bake().evaluate(&pose, None, &mut Scratch::default(), &mut out).unwrap();
            let bits: Vec<u64> = fit.correction.coefficients.iter().map(|u| u.to_bits()).collect();
            (bits, fit.report, out)
        })
    };
    let alone = run(1);
    for threads in [2, 16] {
        let many = run(threads);
        assert!(many.0 == alone.0, "{threads} threads: other coefficients");
        assert_eq!(many.1, alone.1, "{threads} threads: another report");
        assert!(many.2 == alone.2, "{threads} threads: other positions");
    }
}

#[test]
fn a_scene_a_hundred_times_larger_gives_the_same_shapes() {
    let metres = Bench::arm(18, 69).1;
    let mut large = metres.clone();
    large.length *= 100.0;
    change_rig(&mut large.rig, |mesh, _, _| mesh.positions.iter_mut().for_each(|p| *p *= 100.0));
    large.base.iter_mut().flatten().for_each(|p| *p *= 100.0);
    large.examples = metres.examples.iter().map(|e| scaled(e, 100.0)).collect();
    for settings in forms(18) {
        let (a, b) = (metres.fit(&settings).correction, large.fit(&settings).correction);
        for pose in unseen(5) {
            let expected: Vec<_> = metres.posed(&a, &pose).iter().map(|p| *p * 100.0).collect();
            let base: Vec<_> = skinned(&metres.rig, &pose).iter().map(|p| *p * 100.0).collect();
            let apart = largest_distance(&corrected(&b, &base, &scaled_pose(&pose, 100.0)), &expected);
            assert!(apart < 1e-8 * large.length, "{settings:?}: {apart}");
        }
    }
}

/// Turning the scene in its axes is a change of the rest pose too, unlike a motion of the character: M ↦ C M C⁻¹.
#[test]
fn the_full_form_does_not_depend_on_the_scenes_axes_and_the_row_form_does() {
    let bench = Bench::arm(20, 70).1;
    let c = DAffine3 {
        matrix3: DMat3::from_quat(DQuat::from_axis_angle(DVec3::new(1.0, 2.0, -0.5).normalize(), 0.9)),
        translation: DVec3::ZERO,
    };
    let turned_pose = |pose: &BoneTransforms| BoneTransforms::new(pose.iter().map(|m| c * *m * c.inverse()).collect());
    let turn = |p: &DVec3| c.transform_point3(*p);
    let mut turned = bench.clone();
    change_rig(&mut turned.rig, |mesh, _, _| mesh.positions = mesh.positions.iter().map(turn).collect());
    turned.base.iter_mut().flatten().for_each(|p| *p = turn(p));
    for example in &mut turned.examples {
        example.transforms = turned_pose(&example.transforms);
        example.positions.iter_mut().for_each(|p| *p = turn(p));
    }
    let apart = |settings: &MweSettings| {
        let (a, b) = (bench.fit(settings).correction, turned.fit(settings).correction);
        let poses = unseen(5);
        let distances = poses.iter().map(|pose| {
            let expected: Vec<_> = bench.posed(&a, pose).iter().map(turn).collect();
            largest_distance(&turned.posed(&b, &turned_pose(pose)), &expected) / bench.length
        });
        distances.fold(0.0, f64::max)
    };
    let default = MweSettings::for_poses(20, false);
    assert!(apart(&default) < 1e-8, "{}", apart(&default));
    let row = MweSettings { rows: RowChoice::Row, ..default };
    assert!(apart(&row) > 1e-3, "{}", apart(&row));
}

#[test]
fn a_pose_scale_r_is_the_pose_repeated_r_squared_times() {
    let mut bench = Bench::arm(14, 71).1;
    bench.examples = noisy(&bench.examples, 1e-3, 72);
    let places: Vec<usize> = (0..14).flat_map(|s| vec![s; if s == 5 { 4 } else { 1 }]).collect();
    let repeated = bench.subset(&places);
    bench.examples[5].importance = 2.0;
    for (centring, ridge) in [
        (Centring::Rest, RidgeMode::Absolute),
        (Centring::Mean, RidgeMode::Relative),
        (Centring::Raw, RidgeMode::Unit),
        (Centring::Paper, RidgeMode::Paper),
    ] {
        for rows in [RowChoice::Row, RowChoice::Full] {
            let settings = MweSettings { centring, ridge, rows, duplicates: -1.0, eig_tol: 1e-8, ..plain(rows, 1e-3) };
            let apart = difference(&bench, &repeated, &settings);
            assert!(apart < 1e-8, "{centring:?} {rows:?}: {apart}");
        }
    }
}

#[test]
fn a_pose_of_scale_zero_is_as_good_as_absent() {
    let (arm, mut bench) = Bench::arm(20, 73);
    let without: Vec<usize> = (0..20).filter(|s| *s != 7).collect();
    // An outlier in every respect: a pose beyond all others and a torn skin.
    bench.examples[7] = arm.example(String::from("torn"), &ArmPose { elbow: 2.6, twist: 1.5, ..ArmPose::REST });
    bench.examples[7].positions.iter_mut().for_each(|p| *p += DVec3::splat(0.5));
    bench.examples[7].importance = 0.0;
    let absent = bench.subset(&without);
    for mut settings in forms(20) {
        for strength in [settings.strength, Strength::CrossValidated(Folds::Blocks(5)), Strength::Gcv] {
            settings.strength = strength;
            let (a, b) = (bench.fit(&settings), absent.fit(&settings));
            assert_eq!(a.report.s, b.report.s, "{settings:?}");
            assert_eq!(a.correction.radii, b.correction.radii, "an example that is left out allows nothing");
            let limits = |c: &dermis_deform::Enveloping| c.pairs.iter().map(|p| p.limit).collect::<Vec<_>>();
            assert_eq!(limits(&a.correction), limits(&b.correction));
            assert!(difference_of(&bench, &a.correction, &b.correction) < 1e-9);
        }
    }
}

#[test]
fn two_copies_that_disagree_count_as_one_between_them() {
    let mut bench = Bench::arm(16, 74).1;
    for settings in forms(16) {
        let mut twice = bench.subset(&(0..16).chain([6, 9, 9]).collect::<Vec<_>>());
        let apart = DVec3::new(0.01, -0.004, 0.007);
        for (place, sign) in [(6, 1.0), (16, -1.0), (17, 0.0), (18, 0.0)] {
            twice.examples[place].positions.iter_mut().for_each(|p| *p += apart * sign);
        }
        let (a, b) = (bench.fit(&settings), twice.fit(&settings));
        assert_eq!(b.report.merged, 3 * b.report.groups + a.report.merged);
        let mut free = b.correction.clone();
        // The copies ask for more than their mean: the ball is wider, which no pose within the training feels.
        free.radii = a.correction.radii.clone();
        let poses = bench.examples.iter().map(|e| &e.transforms);
        for pose in poses {
            let (a, b) = (bench.posed(&a.correction, pose), bench.posed(&free, pose));
            assert!(largest_distance(&a, &b) < 1e-9, "{settings:?}");
        }
        bench.examples.iter_mut().for_each(|e| e.importance = 0.7);
    }
}

#[test]
fn maps_act_through_the_ridge_alone() {
    let bench = Bench::arm(40, 75).1;
    let mut faded = bench.clone();
    let rows = bench.maps.rows().map(|row| row.iter().map(|&(b, mu)| (b, 0.3 * mu * mu)).collect());
    faded.maps = Influences::from_rows(rows).unwrap();
    let anchor = Anchor::PerVertex((0..bench.maps.vertices()).map(|v| bench.maps.dominant(v).unwrap()).collect());
    for rows in [RowChoice::Row, RowChoice::Full] {
        let with = |s| {
            let settings = MweSettings { anchor: anchor.clone(), ..plain(rows, s) };
            let fitted = |bench: &Bench| bench.fitted(&bench.fit(&settings).correction);
            let (a, b) = (fitted(&bench), fitted(&faded));
            a.iter().zip(&b).map(|(a, b)| largest_distance(a, b)).fold(0.0, f64::max)
        };
        // Without a ridge only the axes dropped below 1e-9 of the largest can differ.
        assert!(with(0.0) < 0.02 * with(0.1), "{rows:?}: {} {}", with(0.0), with(0.1));
        assert!(with(0.1) > 1e-4, "{rows:?}: {}", with(0.1));
    }
}

#[test]
fn auto_takes_the_form_that_validates_better() {
    for (poses, seed) in [(5, 76), (6, 77), (8, 78), (14, 79)] {
        let bench = Bench::arm(poses, seed).1;
        let with = |rows| bench.fit(&MweSettings { rows, ..MweSettings::for_poses(poses, false) });
        let score = |rows| {
            let report = with(rows).report;
            report.sweep.iter().find(|p| p.s == report.s).map(|p| p.score).unwrap()
        };
        let better =
            if score(RowChoice::Row) <= score(RowChoice::Full) { EnvelopingForm::Row } else { EnvelopingForm::Full };
        let auto = with(RowChoice::Auto);
        assert_eq!(auto.report.rows, better, "{poses} poses");
        assert_eq!(auto.correction.rows, better);
        let other = with(if better == EnvelopingForm::Row { RowChoice::Row } else { RowChoice::Full });
        assert_eq!((auto.report.s, auto.correction.coefficients), (other.report.s, other.correction.coefficients));
    }
}
