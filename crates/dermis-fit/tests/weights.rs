//! Skinning weights from shapes: planted weights come back, limits and locks hold, nothing degenerate breaks.

use dermis_deform::lbs;
use dermis_fit::weights::{Choice, Locks, WeightBits, WeightKind, WeightReport, WeightSettings};
use dermis_fit::{BasePoses, FitError, Training, fit_weights, silent};
use dermis_rig::glam::{DAffine3, DVec3};
use dermis_rig::{BoneIndex, BoneTransforms, Example, Influences, Mesh, Mirror, Rig, Skeleton};
use dermis_testkit::{Arm, ArmPose, Tree, change_rig, moved, scaled, some_motion};

/// The rig's own linear blend in these poses.
fn examples(rig: &Rig, poses: &[BoneTransforms]) -> Vec<Example> {
    let weights = rig.weights().unwrap();
    let skin = |pose: &BoneTransforms| {
        let mut positions = vec![DVec3::ZERO; rig.mesh().positions.len()];
        lbs(&rig.mesh().positions, weights, pose, &mut positions);
        positions
    };
    let example = |(s, pose): (usize, &BoneTransforms)| Example {
        label: format!("pose {s}"),
        time: None,
        transforms: pose.clone(),
        positions: skin(pose),
        importance: 1.0,
        local: None,
    };
    poses.iter().enumerate().map(example).collect()
}

fn arm_poses(count: usize) -> (Rig, Vec<Example>) {
    let arm = Arm::new(12, 6);
    let poses: Vec<BoneTransforms> = arm.examples(&ArmPose::some(count, 5)).into_iter().map(|e| e.transforms).collect();
    let examples = examples(&arm.rig, &poses);
    (arm.rig, examples)
}

fn fit_to(rig: &Rig, examples: &[Example], settings: &WeightSettings) -> Result<(Influences, WeightReport), FitError> {
    let training = Training {
        skeleton: rig.skeleton(),
        rest: &rig.mesh().positions,
        length: rig.mesh().diagonal(),
        examples,
        base: BasePoses::NONE,
    };
    fit_weights(&training, &rig.mesh().neighbours(), settings, &silent)
}

fn largest_difference(a: &Influences, b: &Influences) -> f64 {
    let bones = a.bones_named().max(b.bones_named());
    let each = (0..a.vertices()).flat_map(|v| (0..bones).map(BoneIndex::new).map(move |bone| (v, bone)));
    each.map(|(v, bone)| (a.value(v, bone) - b.value(v, bone)).abs()).fold(0.0, f64::max)
}

fn sums_are_one(weights: &Influences) -> bool {
    weights.rows().all(|row| (row.iter().map(|e| e.1).sum::<f64>() - 1.0).abs() < 1e-12)
}

const ALL: WeightSettings = WeightSettings {
    kind: WeightKind::Convex,
    influences: None,
    choice: Choice::Exchange,
    candidates: None,
    smoothness: 0.0,
    ridge: 1e-12,
    locks: None,
    mirror: None,
    bits: None,
};

/// Tolerance: with every joint turned by up to a radian, columns of A are 0.1 to 1 apart, so the ridge of 1e-12 biases by about 1e-9.
#[test]
fn planted_weights_come_back_from_shapes_alone() {
    for seed in 0..6 {
        let tree = Tree::new(10, 60, seed);
        let examples = examples(&tree.rig, &tree.poses(14, 1.0, seed + 100));
        for (kind, influences) in [
            (WeightKind::Convex, None),
            (WeightKind::Convex, Some(3)),
            (WeightKind::Affine, None),
            (WeightKind::Plain, None),
        ] {
            let settings = WeightSettings { kind, influences, ..ALL };
            let (weights, report) = fit_to(&tree.rig, &examples, &settings).unwrap();
            let off = largest_difference(&weights, tree.weights());
            assert!(off < 1e-6, "seed {seed}, {kind:?}, {influences:?}: {off}");
            assert!(report.result.max < 1e-6 && report.result.rms <= report.result.max);
            assert!(report.alike.is_empty() && report.undetermined == 0);
        }
    }
    let (rig, examples) = arm_poses(12);
    let (weights, _) = fit_to(&rig, &examples, &WeightSettings::default()).unwrap();
    assert!(largest_difference(&weights, rig.weights().unwrap()) < 1e-6);
}

/// Neither where the character stands nor its unit has a say in convex and affine weights.
#[test]
fn weights_move_with_the_character_and_ignore_its_unit() {
    let arm = Arm::new(10, 5);
    let bulging = arm.examples(&ArmPose::some(15, 3));
    let away: Vec<Example> =
        bulging.iter().enumerate().map(|(s, e)| moved(e, some_motion(s as f64, DVec3::new(30.0, -5.0, 8.0)))).collect();
    let centimetres: Vec<Example> = bulging.iter().map(|e| scaled(e, 100.0)).collect();
    let mut large = arm.rig.clone();
    change_rig(&mut large, |mesh, _, _| mesh.positions.iter_mut().for_each(|p| *p *= 100.0));
    for kind in [WeightKind::Convex, WeightKind::Affine] {
        for influences in [None, Some(2)] {
            let settings = WeightSettings { kind, influences, ..ALL };
            let (weights, report) = fit_to(&arm.rig, &bulging, &settings).unwrap();
            let (there, _) = fit_to(&arm.rig, &away, &settings).unwrap();
            let (scaled, of_scaled) = fit_to(&large, &centimetres, &settings).unwrap();
            // 30 m away costs two digits.
            assert!(largest_difference(&weights, &there) < 1e-9, "{kind:?} {influences:?}");
            assert!(largest_difference(&weights, &scaled) < 1e-9);
            assert!((of_scaled.result.rms / report.result.rms - 100.0).abs() < 1e-6);
            assert!((of_scaled.objective / report.objective - 1e4).abs() < 1e-2);
        }
    }
}

#[test]
fn importance_counts_as_repetition_and_zero_leaves_out() {
    let arm = Arm::new(8, 5);
    let mut once = arm.examples(&ArmPose::some(8, 3));
    let mut repeated = once.clone();
    repeated.extend([once[2].clone(), once[2].clone(), once[2].clone()]);
    once[2].importance = 2.0;
    let (weighted, a) = fit_to(&arm.rig, &once, &ALL).unwrap();
    let (by_hand, b) = fit_to(&arm.rig, &repeated, &ALL).unwrap();
    assert!(largest_difference(&weighted, &by_hand) < 1e-8 && (a.result.rms - b.result.rms).abs() < 1e-12);
    once[2].importance = 0.0;
    once[2].positions.fill(DVec3::splat(9.0));
    let without: Vec<Example> = once.iter().filter(|e| e.importance > 0.0).cloned().collect();
    assert_eq!(fit_to(&arm.rig, &once, &ALL).unwrap(), fit_to(&arm.rig, &without, &ALL).unwrap());
}

#[test]
fn few_influences_cost_what_the_report_says() {
    let arm = Arm::new(10, 6);
    let bulging = arm.examples(&ArmPose::some(20, 3));
    let mut before = 0.0;
    for most in [4, 3, 2, 1] {
        let (weights, report) = fit_to(&arm.rig, &bulging, &WeightSettings { influences: Some(most), ..ALL }).unwrap();
        assert!(weights.largest_count() <= most && report.most_influences == weights.largest_count());
        assert!(sums_are_one(&weights));
        assert!(report.result.rms >= before && report.unlimited.unwrap().rms <= report.result.rms + 1e-12);
        before = report.result.rms;
    }
}

/// A second bone that does what the first does must not take the place of one that is needed.
#[test]
fn influences_are_not_spent_on_bones_that_move_alike() {
    let tree = Tree::new(6, 40, 3);
    let poses = tree.poses(12, 1.0, 7);
    let twice = |m: &BoneTransforms| BoneTransforms::new(m.iter().flat_map(|m| [*m, *m]).collect());
    let skeleton = tree.rig.skeleton();
    let names = (0..12).map(|b| b.to_string()).collect();
    let bind = skeleton.bind().iter().flat_map(|b| [*b, *b]).collect();
    let mut rig = tree.rig.clone();
    let mut doubled: Vec<Example> = examples(&rig, &poses);
    doubled.iter_mut().for_each(|e| e.transforms = twice(&e.transforms));
    let skeleton = Skeleton::new(names, vec![None; 12], bind).unwrap();
    change_rig(&mut rig, |_, own, _| *own = skeleton);
    let (weights, report) = fit_to(&rig, &doubled, &WeightSettings { influences: Some(3), ..ALL }).unwrap();
    assert!(report.result.max < 1e-6, "{report:?}");
    assert_eq!(report.alike.len(), 6);
    let merged = weights.with_bones(&(0..12).map(|b| b / 2).collect::<Vec<_>>());
    assert!(largest_difference(&merged, tree.weights()) < 1e-6);
    // Without a limit they share evenly.
    let (even, _) = fit_to(&rig, &doubled, &ALL).unwrap();
    for row in even.rows() {
        assert!(row.chunks(2).all(|two| (two[0].1 - two[1].1).abs() < 1e-6));
    }
}

#[test]
fn candidates_bound_which_bones_may_have_weight() {
    let tree = Tree::new(8, 30, 1);
    let examples = examples(&tree.rig, &tree.poses(10, 1.0, 2));
    let one = Influences::from_rows((0..30).map(|v| match v % 3 {
        0 => vec![],
        _ => vec![(BoneIndex::new(v % 8), 1.0), (BoneIndex::new((v + 3) % 8), 0.1)],
    }))
    .unwrap();
    let (weights, report) =
        fit_to(&tree.rig, &examples, &WeightSettings { candidates: Some(one.clone()), ..ALL }).unwrap();
    for v in 0..30 {
        let allowed = |bone| one.of(v).is_empty() || one.value(v, bone) > 0.0;
        assert!(weights.of(v).iter().all(|(bone, _)| allowed(*bone)));
    }
    assert_eq!(report.candidates.1, 8);
    assert!(sums_are_one(&weights));
}

#[test]
fn locked_weights_stay_to_the_bit() {
    let (rig, _) = arm_poses(2);
    let bulging = Arm::new(12, 6).examples(&ArmPose::some(12, 5));
    let own = rig.weights().cloned().unwrap();
    let bone = |b| BoneIndex::new(b);
    let locks = Locks {
        weights: own.clone(),
        bones: vec![bone(1)],
        vertices: vec![3, 40],
        pairs: vec![(20, bone(0)), (21, bone(3))],
    };
    for kind in [WeightKind::Convex, WeightKind::Affine] {
        for smoothness in [0.0, 1e-6] {
            if kind == WeightKind::Affine && smoothness > 0.0 {
                continue;
            }
            let settings = WeightSettings { kind, smoothness, locks: Some(locks.clone()), ..WeightSettings::default() };
            let (weights, _) = fit_to(&rig, &bulging, &settings).unwrap();
            for v in 0..own.vertices() {
                assert_eq!(weights.value(v, bone(1)), own.value(v, bone(1)), "vertex {v}");
            }
            for v in [3, 40] {
                assert_eq!(weights.of(v), own.of(v));
            }
            assert_eq!(
                (weights.value(20, bone(0)), weights.value(21, bone(3))),
                (own.value(20, bone(0)), own.value(21, bone(3)))
            );
            assert!(sums_are_one(&weights));
            assert!(largest_difference(&weights, &own) > 1e-3, "the rest is learnt");
        }
    }
    // Locked bones alone cannot take the whole weight: something else does.
    let none = Locks {
        weights: Influences::from_rows(own.rows().map(|_| vec![])).unwrap(),
        bones: vec![bone(0)],
        ..Locks::default()
    };
    let only_locked = Influences::from_rows(own.rows().map(|_| vec![(bone(0), 1.0)])).unwrap();
    let settings = WeightSettings { locks: Some(none), candidates: Some(only_locked), ..ALL };
    assert!(sums_are_one(&fit_to(&rig, &bulging, &settings).unwrap().0));
    // Everything is locked: nothing is learnt.
    let all = Locks { weights: own.clone(), bones: rig.skeleton().bones().collect(), ..Locks::default() };
    assert_eq!(fit_to(&rig, &bulging, &WeightSettings { locks: Some(all), ..ALL }).unwrap().0, own);
}

/// A body with two arms that wave differently.
fn body() -> (Rig, Vec<Example>) {
    let mut mesh = Mesh::default();
    let mut rows = Vec::new();
    for i in -10i32..=10 {
        for j in 0..4 {
            let (x, angle) = (0.1 * f64::from(i), f64::from(j) * 1.6 + 0.3);
            mesh.positions.push(DVec3::new(x, 0.1 * angle.cos(), 0.1 * angle.sin()));
            let arm = (x.abs() - 0.2).clamp(0.0, 0.5) * 2.0;
            rows.push(vec![(BoneIndex::new(0), 1.0 - arm), (BoneIndex::new(if x < 0.0 { 1 } else { 2 }), arm)]);
        }
    }
    let across = |i: u32, j: u32| 4 * i + j % 4;
    for i in 0..20 {
        for j in 0..4 {
            mesh.triangles.push([across(i, j), across(i + 1, j), across(i, j + 1)]);
            mesh.triangles.push([across(i + 1, j), across(i + 1, j + 1), across(i, j + 1)]);
        }
    }
    let bind = [0.0, -0.3, 0.3].map(|x| DAffine3::from_translation(DVec3::X * x)).to_vec();
    let parents = vec![None, Some(BoneIndex::new(0)), Some(BoneIndex::new(0))];
    let skeleton = Skeleton::new(["spine", "left", "right"].map(String::from).to_vec(), parents, bind).unwrap();
    let weights = Influences::from_rows(rows).unwrap();
    let rig = Rig::new(mesh, skeleton, Some(weights)).unwrap();
    let mut random = dermis_testkit::Random::new(4);
    let poses: Vec<BoneTransforms> =
        (0..9).map(|_| dermis_testkit::tree::wild(rig.skeleton(), &mut random, 1.0)).collect();
    let examples = dermis_testkit::noisy(&examples(&rig, &poses), 0.01, 8);
    (rig, examples)
}

#[test]
fn symmetric_weights_are_mirror_images_and_learn_from_both_sides() {
    let (rig, mut examples) = body();
    let mirror = Mirror::find(&rig.mesh().positions, rig.skeleton(), rig.weights().unwrap()).unwrap();
    assert!(mirror.normal.x.abs() > 1.0 - 1e-9);
    for smoothness in [0.0, 1e-5] {
        let settings = WeightSettings { mirror: Some(mirror.clone()), smoothness, ..WeightSettings::default() };
        let (weights, report) = fit_to(&rig, &examples, &settings).unwrap();
        assert_eq!(report.mirrored, rig.mesh().positions.len());
        for (v, partner) in mirror.vertices.iter().enumerate() {
            for &(bone, w) in weights.of(v) {
                assert_eq!(weights.value(partner.unwrap() as usize, mirror.bones[bone.get()]), w, "vertex {v}");
            }
        }
        assert!(sums_are_one(&weights));
        assert!(report.descent.windows(2).all(|w| w[1] <= w[0] + 1e-12 * w[0].abs()), "{:?}", report.descent);
    }
    // The left arm never moves: the right one's examples teach it all the same.
    examples.iter_mut().for_each(|e| {
        let m = e.transforms.as_slice();
        e.transforms = BoneTransforms::new(vec![m[0], m[0], m[2]]);
    });
    let poses: Vec<BoneTransforms> = examples.iter().map(|e| e.transforms.clone()).collect();
    let exact = self::examples(&rig, &poses);
    let settings = WeightSettings { mirror: Some(mirror), ..WeightSettings::default() };
    let (weights, _) = fit_to(&rig, &exact, &settings).unwrap();
    assert!(largest_difference(&weights, rig.weights().unwrap()) < 1e-6);
}

/// Ends that are known: no smoothing is the separate problem, endless smoothing one row for every connected part.
#[test]
fn smoothing_descends_and_ends_in_one_row_for_each_part() {
    let arm = Arm::new(6, 5);
    let mut rig = arm.rig.clone();
    let bulging = arm.examples(&ArmPose::some(10, 5));
    let (separate, _) = fit_to(&rig, &bulging, &ALL).unwrap();
    let (hardly, _) = fit_to(&rig, &bulging, &WeightSettings { smoothness: 1e-16, ..ALL }).unwrap();
    assert!(largest_difference(&separate, &hardly) < 1e-6);
    let mut rough = f64::INFINITY;
    for smoothness in [1e-6, 1e-4, 1e-2] {
        let (weights, report) = fit_to(&rig, &bulging, &WeightSettings { smoothness, ..ALL }).unwrap();
        assert!(report.descent.windows(2).all(|w| w[1] <= w[0] + 1e-12 * w[0].abs()), "{:?}", report.descent);
        let differences = (0..weights.vertices()).flat_map(|v| {
            let pairs = rig.mesh().neighbours().of(v).iter().map(|u| (v, *u as usize)).collect::<Vec<_>>();
            pairs
                .into_iter()
                .map(|(v, u)| (weights.value(v, BoneIndex::new(2)) - weights.value(u, BoneIndex::new(2))).powi(2))
        });
        let now: f64 = differences.collect::<Vec<_>>().iter().sum();
        assert!(now < rough);
        rough = now;
        assert!(sums_are_one(&weights));
    }
    // Two shells that touch nowhere by an edge.
    let half = rig.mesh().positions.len() as u32 / 2;
    change_rig(&mut rig, |mesh, _, _| {
        mesh.triangles.retain(|t| t.iter().all(|c| *c < half) || t.iter().all(|c| *c >= half));
    });
    let (flat, report) = fit_to(&rig, &bulging, &WeightSettings { smoothness: 1e4, ..ALL }).unwrap();
    let part = |v: usize| flat.of(v).to_vec();
    let near = |a: &[(BoneIndex, f64)], b: &[(BoneIndex, f64)]| {
        a.iter().all(|(bone, w)| b.iter().any(|(c, x)| bone == c && (w - x).abs() < 1e-3) || *w < 1e-3)
    };
    let neighbours = rig.mesh().neighbours();
    for v in (0..flat.vertices()).filter(|v| !neighbours.of(*v).is_empty()) {
        let of = if (v as u32) < half { 1 } else { flat.vertices() - 3 };
        assert!(near(&part(v), &part(of)), "vertex {v} {:?} {:?} {:?}", part(v), part(of), report.sweeps);
    }
    assert!(!near(&part(1), &part(flat.vertices() - 3)), "the parts do not mix");
}

#[test]
fn whole_numbers_sum_to_one_and_their_cost_is_told() {
    let arm = Arm::new(10, 6);
    let bulging = arm.examples(&ArmPose::some(10, 3));
    let (exact, plain) = fit_to(&arm.rig, &bulging, &WeightSettings::default()).unwrap();
    for (bits, one) in [(WeightBits::Eight, 255.0), (WeightBits::Sixteen, 65535.0)] {
        let settings = WeightSettings { bits: Some(bits), ..WeightSettings::default() };
        let (weights, report) = fit_to(&arm.rig, &bulging, &settings).unwrap();
        for row in weights.rows() {
            assert_eq!(row.iter().map(|(_, w)| (w * one).round()).sum::<f64>(), one);
        }
        let told = report.quantisation.unwrap();
        assert!((told.largest_change - largest_difference(&weights, &exact)).abs() < 1e-15);
        assert!(told.largest_change < 1.0 / one);
        assert_eq!(told.before, plain.result);
        assert!((report.result.rms - told.before.rms).abs() < 2.0 / one * arm.rig.mesh().diagonal());
    }
}

#[test]
fn threads_and_their_number_change_no_bit() {
    let (rig, examples) = body();
    let mirror = Mirror::find(&rig.mesh().positions, rig.skeleton(), rig.weights().unwrap());
    for settings in [
        WeightSettings::default(),
        WeightSettings { smoothness: 1e-5, ..WeightSettings::default() },
        WeightSettings { smoothness: 1e-5, mirror, bits: Some(WeightBits::Eight), ..WeightSettings::default() },
    ] {
        let with = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| fit_to(&rig, &examples, &settings).unwrap())
        };
        let one = with(1);
        assert_eq!(one, with(3));
        assert_eq!(one, with(3));
    }
}

/// Rest alone, equal bones, one bone, more candidates than rows, negative weights: an answer, and what it is worth.
#[test]
fn what_examples_do_not_tell_is_shared_and_counted() {
    let tree = Tree::new(5, 12, 2);
    let rest = examples(&tree.rig, &[BoneTransforms::identity(5)]);
    for kind in [WeightKind::Convex, WeightKind::Affine, WeightKind::Plain] {
        let (weights, report) = fit_to(&tree.rig, &rest, &WeightSettings { kind, ..ALL }).unwrap();
        assert!(weights.rows().all(|row| row.iter().all(|e| (e.1 - 0.2).abs() < 1e-9)), "{kind:?}");
        assert!(kind != WeightKind::Convex || report.undetermined == 12);
    }
    let (few, report) = fit_to(&tree.rig, &rest, &WeightSettings::default()).unwrap();
    assert!(few.largest_count() == 1 && sums_are_one(&few) && report.alike.len() == 1);

    let one_pose = examples(&tree.rig, &tree.poses(2, 1.0, 3)[1..]);
    let (weights, report) = fit_to(&tree.rig, &one_pose, &WeightSettings { influences: Some(2), ..ALL }).unwrap();
    assert!(sums_are_one(&weights) && report.result.rms.is_finite());

    let lone = Tree::new(1, 4, 1);
    let (weights, _) =
        fit_to(&lone.rig, &examples(&lone.rig, &lone.poses(3, 1.0, 1)), &WeightSettings::default()).unwrap();
    assert!(weights.rows().all(|row| row == [(BoneIndex::new(0), 1.0)]));

    let mut none = rest.clone();
    none[0].importance = 0.0;
    assert_eq!(fit_to(&tree.rig, &none, &ALL).unwrap_err(), FitError::NoExamples);
    assert_eq!(fit_to(&tree.rig, &[], &ALL).unwrap_err(), FitError::NoExamples);

    // A vertex that goes beyond what any blend reaches: affine weights follow it, convex ones cannot.
    let mut far = examples(&tree.rig, &tree.poses(6, 1.0, 3));
    far.iter_mut().for_each(|e| {
        let m = e.transforms.as_slice();
        let (a, b) =
            (m[1].transform_point3(tree.rig.mesh().positions[0]), m[2].transform_point3(tree.rig.mesh().positions[0]));
        e.positions[0] = 1.5 * a - 0.5 * b;
    });
    let affine = fit_to(&tree.rig, &far, &WeightSettings { kind: WeightKind::Affine, ..ALL }).unwrap().0;
    assert!((affine.value(0, BoneIndex::new(2)) + 0.5).abs() < 1e-9);
    assert!(fit_to(&tree.rig, &far, &ALL).unwrap().0.of(0).iter().all(|e| e.1 >= 0.0));
}

#[test]
fn settings_that_make_no_sense_are_named() {
    let tree = Tree::new(3, 5, 2);
    let examples = examples(&tree.rig, &tree.poses(3, 1.0, 3));
    let bone = BoneIndex::new;
    let locks = |pairs, vertices| Some(Locks { weights: tree.weights().clone(), bones: vec![], pairs, vertices });
    for (settings, says) in [
        (WeightSettings { influences: Some(0), ..ALL }, "influences"),
        (WeightSettings { smoothness: f64::NAN, ..ALL }, "smoothness"),
        (WeightSettings { ridge: -1.0, ..ALL }, "ridge"),
        (WeightSettings { kind: WeightKind::Plain, smoothness: 1.0, ..ALL }, "convex"),
        (WeightSettings { kind: WeightKind::Affine, bits: Some(WeightBits::Eight), ..ALL }, "convex"),
        (WeightSettings { candidates: Some(Influences::default()), ..ALL }, "candidate"),
        (WeightSettings { locks: locks(vec![(0, bone(7))], vec![]), ..ALL }, "locked bones"),
        (WeightSettings { locks: locks(vec![], vec![5]), ..ALL }, "locked vertex"),
    ] {
        let error = fit_to(&tree.rig, &examples, &settings).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
    let stop = |_, _| std::ops::ControlFlow::Break(dermis_fit::Cancelled);
    let training = Training {
        skeleton: tree.rig.skeleton(),
        rest: &tree.rig.mesh().positions,
        length: 1.0,
        examples: &examples,
        base: BasePoses::NONE,
    };
    for smoothness in [0.0, 1.0] {
        let stopped =
            fit_weights(&training, &tree.rig.mesh().neighbours(), &WeightSettings { smoothness, ..ALL }, &stop);
        assert_eq!(stopped.unwrap_err(), FitError::Cancelled);
    }
}
