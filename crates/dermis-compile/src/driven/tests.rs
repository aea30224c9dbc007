//! Driven shapes of a joint model that is fitted to an arm.

use super::*;
use crate::samples::{join_roots, sample_poses};
use dermis_deform::baked::{BakedJoints, padded};
use dermis_deform::guard::Weld;
use dermis_deform::joints::{CorrectionFrame, Joints};
use dermis_deform::training::{TrainingPoses, moves_skin};
use dermis_deform::{Base, Deformer, JointKernel};
use dermis_fit::joints::{JointSettings, fit_joints};
use dermis_fit::method::{BaseChoice, FactorChoice, FitInput, JointMethod, Method};
use dermis_fit::{Training, silent};
use dermis_rig::{BoneIndex, Example, ExampleSet, LocalSculpt, Mirror, Rows, Skeleton};
use dermis_solve::symmetric::principal_axes;
use dermis_testkit::{Arm, ArmPose};

/// The ridge of the models below.
const LAMBDA: f64 = 0.01;

/// A joint model of the arm; with `frozen` its wrist never moved in training.
fn arm_model(frame: CorrectionFrame, frozen: bool) -> (Arm, RiggedDeformer) {
    let arm = Arm::new(24, 8);
    let mut poses = ArmPose::some(24, 5);
    if frozen {
        poses.iter_mut().for_each(|pose| pose.wrist = DVec3::ZERO);
    }
    let rig = &arm.rig;
    let examples = ExampleSet::new("arm".into(), arm.examples(&poses), rig).unwrap();
    let (rest, weights) = (&rig.mesh().positions, rig.weights().unwrap());
    let mut base = Base::Lbs(weights.clone());
    let blended = |base: &mut Base, transforms: &BoneTransforms| {
        let mut skin = vec![DVec3::ZERO; rest.len()];
        base.evaluate(rest, transforms, None, &mut skin);
        skin
    };
    let bases: Vec<_> = examples.examples().iter().map(|e| blended(&mut base, &e.transforms)).collect();
    let mirror = Mirror::find(rest, rig.skeleton(), weights);
    let settings = JointSettings { mirror, lambda: Some(LAMBDA), frame, ..JointSettings::new(examples.is_clip()) };
    let training = Training {
        skeleton: rig.skeleton(),
        rest,
        length: rig.mesh().diagonal(),
        examples: examples.examples(),
        base: (&bases).into(),
    };
    let correction = fit_joints(&training, weights, &settings, &silent).unwrap().correction;
    let posed: Vec<&BoneTransforms> = examples.examples().iter().map(|e| &e.transforms).collect();
    let moving = moves_skin(rig.skeleton(), weights);
    let seen = TrainingPoses::new(rig.skeleton(), &moving, &posed, rig.mesh().diagonal());
    let baked = Deformer::new(rest.clone(), base, Some(correction.into())).unwrap().into_baked();
    let model = RiggedDeformer::new(rig.clone(), None, baked, Some(seen)).unwrap();
    (arm, model)
}

fn joints(model: &RiggedDeformer) -> &BakedJoints {
    match model.baked().corrections().last() {
        Some(BakedCorrection::Joints(joints)) => joints,
        _ => panic!("another correction"),
    }
}

fn compiled(model: &RiggedDeformer, most: Option<usize>) -> Compiled {
    compile(model, model.rig().weights().unwrap(), Some(LAMBDA), most, &silent).unwrap()
}

/// Closed form: in the rest frame, without shared part, limits and ball, the model is U z carried by the blend.
#[test]
fn a_model_that_precedes_skinning_is_delivered_as_it_is() {
    let (_, mut model) = arm_model(CorrectionFrame::Rest, false);
    let mut changed = joints(&model).clone();
    changed.shared = Rows::by_row(changed.shared.len(), vec![]);
    (changed.limits, changed.radii) = (vec![], vec![]);
    changed.model.joints.iter_mut().for_each(|joint| joint.limit = f64::INFINITY);
    let correction = Some(BakedCorrection::Joints(Box::new(changed)));
    let baked = model.baked().clone().with_corrections(correction).unwrap();
    model = model.with_baked(baked).unwrap();
    let Compiled { linear, made, .. } = compiled(&model, None);
    let changed = joints(&model);
    let (free, starts) = (&changed.free, changed.free.coefficient_starts());
    let coefficients = free.coefficients().widened(starts.iter().copied());
    let mut largest = 0.0f64;
    for v in 0..linear.vertices() {
        let (mut at, mut place) = (starts[v], linear.starts[v]);
        for &joint in free.terms().of(v) {
            let count = changed.model.joints[joint as usize].inducing.len();
            for i in 0..count {
                let u = [0, 1, 2].map(|axis| f64::from(coefficients[at + axis * padded(count) + i]));
                // Positions are rounded to 1e-7 m; a ridge of 0.01 passes at most 1/(2 √0.01) of that per pose.
                assert!((linear.deltas[place + i] - DVec3::from_array(u)).length() < 5e-6, "{v}");
                largest = largest.max(DVec3::from_array(u).length());
            }
            (at, place) = (at + 3 * padded(count), place + count);
        }
    }
    assert!(largest > 1e-3, "there is something to deliver: {largest}");
    assert_eq!(made.morphs.len(), made.table.offset.len());
}

/// Oracle: the model's own coordinates, computed on the welded pose, in poses far beyond training.
#[test]
fn the_table_has_the_coordinates_of_the_model_though_it_knows_no_welds() {
    let (arm, model) = arm_model(CorrectionFrame::Anchor, true);
    let Compiled { made, .. } = compiled(&model, Some(8));
    let joints = joints(&model);
    assert_eq!(joints.model.weld.frozen().count(), 1, "the wrist is welded");
    let (mut random, mut pose, mut limited) = (dermis_testkit::Random::new(3), JointPose::default(), 0);
    for _ in 0..50 {
        let wild = arm.wild(&mut random, 2.5);
        pose.prepare(&joints.model, &wild);
        limited += pose.limited;
        let z = made.table.coordinates(&made.bones_of(&wild));
        assert_eq!(z.len(), pose.z.len());
        assert!(z.iter().zip(&pose.z).all(|(a, b)| (a - b).abs() < 1e-9), "{z:?} {:?}", pose.z);
    }
    assert!(limited > 0, "some limit acts");
}

#[test]
fn the_bind_pose_is_exact_and_weights_lie_in_their_range_over_the_samples() {
    let (arm, model) = arm_model(CorrectionFrame::Anchor, false);
    for most in [Some(2), Some(9), None] {
        let Compiled { made, samples, .. } = compiled(&model, most);
        assert!(most.is_none_or(|most| made.morphs.len() == most));
        let bind = made.table.coordinates(&made.bones_of(&BoneTransforms::identity(4)));
        assert_eq!(made.table.weights(&bind), made.table.offset);
        for v in 0..arm.rig.mesh().positions.len() {
            let shown = |m: &MorphTarget| m.deltas[v].as_vec3().as_dvec3();
            let sum: DVec3 = made.morphs.iter().zip(&made.table.offset).map(|(m, w)| shown(m) * *w).sum();
            // The constant shape is rounded to single precision, once.
            let constant = shown(&made.morphs[0]).abs().max_element();
            assert!(sum.abs().max_element() <= 0.6e-7 * constant, "{sum} of {constant}");
        }
        for pose in &samples.poses {
            let z = made.table.coordinates(&made.bones_of(pose));
            assert!(made.table.unclamped(&z).all(|(_, outside)| !outside));
        }
    }
}

/// Oracle: with every principal shape nothing is lost, whatever the pose between the limits of the weights.
#[test]
fn principal_shapes_rebuild_all_shapes_and_more_of_them_leave_less() {
    let (_, model) = arm_model(CorrectionFrame::Anchor, false);
    let Compiled { linear, made: all, samples, .. } = compiled(&model, None);
    let error = |most: usize| {
        let Compiled { made, .. } = compiled(&model, Some(most));
        let mut worst = 0.0f64;
        let mut squares = 0.0f64;
        for pose in &samples.poses {
            let z = made.table.coordinates(&made.bones_of(pose));
            let (w, every) = (made.table.weights(&z), all.table.weights(&z));
            for v in 0..linear.vertices() {
                let sum = |s: &Shapes, w: &[f64]| s.morphs.iter().zip(w).map(|(m, w)| m.deltas[v] * *w).sum::<DVec3>();
                let off = (sum(&made, &w) - linear.at(v, &z)).length();
                assert!((sum(&all, &every) - linear.at(v, &z)).length() < 1e-6);
                (worst, squares) = (worst.max(off), squares + off * off);
            }
        }
        (squares.sqrt(), worst)
    };
    let errors = [2, 4, 8, 16].map(|most| error(most).0);
    assert!(errors.windows(2).all(|w| w[1] < w[0]), "{errors:?}");
    // What is left out moves no vertex by more than 1e-6 of the diagonal per shape.
    assert!(error(linear.coordinates() + 1).1 < 1e-5, "{:?}", error(linear.coordinates() + 1));
}

/// Planted: displacements that two directions of z explain are carried by two shapes.
#[test]
fn as_many_shapes_as_the_corrections_have_directions_are_enough() {
    let mut random = dermis_testkit::Random::new(7);
    let (count, vertices) = (6, 40);
    let directions: Vec<Vec<f64>> = (0..2).map(|_| (0..count).map(|_| random.normal()).collect()).collect();
    let mut linear = Linear { count, starts: vec![0], columns: vec![], deltas: vec![] };
    for _ in 0..vertices {
        let s: [DVec3; 2] = [0; 2].map(|_| DVec3::new(random.normal(), random.normal(), random.normal()));
        linear.columns.extend(0..count as u32);
        linear.deltas.extend((0..count).map(|i| s[0] * directions[0][i] + s[1] * directions[1][i]));
        linear.starts.push(linear.deltas.len());
    }
    let z = Mat::from_fn(30, count, |_, _| random.normal());
    let found = linear.principal(&z, 2).unwrap();
    let other: Vec<f64> = (0..count).map(|_| random.normal()).collect();
    for v in 0..vertices {
        let c = |h: usize| found.rows[h].iter().zip(&other).map(|(d, z)| d * z).sum::<f64>();
        let shown = found.shapes[0][v] * c(0) + found.shapes[1][v] * c(1);
        assert!((shown - linear.at(v, &other)).length() < 1e-12);
    }
}

/// Oracle: the singular values of all displacements over all samples, of which the best shapes leave the smallest (Eckart
/// and Young). The coordinates are used in very different amounts, and depend on each other.
#[test]
fn principal_shapes_are_the_best_over_the_samples() {
    let mut random = dermis_testkit::Random::new(8);
    let (count, vertices, samples) = (6, 40, 50);
    let mut linear = Linear { count, starts: vec![0], columns: vec![], deltas: vec![] };
    for _ in 0..vertices {
        linear.columns.extend(0..count as u32);
        linear.deltas.extend((0..count).map(|_| DVec3::new(random.normal(), random.normal(), random.normal())));
        linear.starts.push(linear.deltas.len());
    }
    let mix =
        Mat::from_fn(count, count, |i, j| if i == j { 0.1 * 3.0f64.powi(i as i32) } else { 0.2 * random.normal() });
    let z = Mat::from_fn(samples, count, |_, _| random.normal()) * mix;
    let row = |s: usize| (0..count).map(|i| z[(s, i)]).collect::<Vec<_>>();
    let all = Mat::from_fn(samples, 3 * vertices, |s, c| linear.at(c / 3, &row(s))[c % 3]);
    let values = principal_axes((&all * all.transpose()).as_ref()).unwrap().values;
    for most in 0..=count {
        let found = linear.principal(&z, most).unwrap();
        let mut squares = 0.0;
        for s in 0..samples {
            let coordinates: Vec<f64> =
                found.rows.iter().map(|row_of_z| row_of_z.iter().zip(row(s)).map(|(d, z)| d * z).sum()).collect();
            for v in 0..vertices {
                let shown: DVec3 = found.shapes.iter().zip(&coordinates).map(|(shape, c)| shape[v] * *c).sum();
                squares += shown.distance_squared(linear.at(v, &row(s)));
            }
        }
        let best: f64 = values[most..].iter().sum();
        assert!((squares - best).abs() < 1e-9 * values[0], "{most}: {squares}, at best {best}");
    }
}

/// Oracle: the poses themselves, seen from their roots.
#[test]
fn training_poses_are_rebuilt_up_to_where_the_character_stands_and_recombined_joint_by_joint() {
    let arm = Arm::new(9, 6);
    let skeleton = arm.rig.skeleton();
    let g = dermis_testkit::some_motion(1.0, DVec3::new(3.0, -1.0, 2.0));
    let poses = ArmPose::some(6, 2).into_iter().map(|pose| arm.transforms(&ArmPose { root: g, ..pose }));
    let poses: Vec<BoneTransforms> = poses.collect();
    let all: Vec<&BoneTransforms> = poses.iter().collect();
    // The hand moves no skin: it is not kept, and follows the forearm.
    let training = TrainingPoses::new(skeleton, &[true, true, true, false], &all, arm.length());
    let samples = sample_poses(skeleton, &training);
    assert_eq!((samples.training, samples.poses.len()), (6, 6 + 48));
    let seen = |pose: &BoneTransforms, a: usize, b: usize| pose[BoneIndex::new(a)].inverse() * pose[BoneIndex::new(b)];
    for (rebuilt, pose) in samples.poses.iter().zip(&poses) {
        // Features are kept in f32.
        assert!((0..3).all(|b| seen(rebuilt, 0, b).abs_diff_eq(seen(pose, 0, b), 1e-6)));
        assert_eq!(rebuilt[BoneIndex::new(3)], rebuilt[BoneIndex::new(2)]);
    }
    for mixed in &samples.poses[6..] {
        for joint in 0..2 {
            let found = seen(mixed, joint, joint + 1);
            assert!(poses.iter().any(|pose| found.abs_diff_eq(seen(pose, joint, joint + 1), 1e-6)));
        }
    }
    let again = sample_poses(skeleton, &training);
    assert!(samples.poses.iter().zip(&again.poses).all(|(a, b)| a == b));
}

/// Oracle: the feature of the joint itself, which must be one of its inducing rotations or rest in every pose.
#[test]
fn bones_under_different_roots_are_joined_as_the_model_has_seen_them() {
    let (arm, model) = arm_model(CorrectionFrame::Anchor, false);
    let rig = &arm.rig;
    let parents = vec![None, Some(BoneIndex::new(0)), None, Some(BoneIndex::new(2))];
    let bind = rig.skeleton().bind().to_vec();
    let skeleton = Skeleton::new(rig.skeleton().names().to_vec(), parents, bind).unwrap();
    let posed: Vec<BoneTransforms> = ArmPose::some(20, 4).iter().map(|pose| arm.transforms(pose)).collect();
    let all: Vec<&BoneTransforms> = posed.iter().collect();
    let training = TrainingPoses::new(&skeleton, &[true; 4], &all, arm.length());
    let mut samples = sample_poses(&skeleton, &training);
    let before = samples.poses.clone();
    let joints = joints(&model);
    join_roots(&skeleton, &joints.model, &mut samples.poses);
    let elbow = joints.model.joints.iter().find(|j| (j.from.get(), j.to.get()) == (1, 2)).unwrap();
    let mut seen = std::collections::HashSet::new();
    for (pose, before) in samples.poses.iter().zip(&before) {
        let f = elbow.feature(pose.as_slice(), joints.model.length);
        let off = |g: &[f64; 12]| f.iter().zip(g).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        let all = elbow.inducing.iter().chain([&[0.0; 12]]);
        let (at, nearest) = all.map(off).enumerate().min_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
        assert!(nearest < 1e-12, "{nearest}");
        seen.insert(at);
        for (a, b) in [(0, 1), (2, 3)].map(|(a, b)| (BoneIndex::new(a), BoneIndex::new(b))) {
            assert!((pose[a].inverse() * pose[b]).abs_diff_eq(before[a].inverse() * before[b], 1e-12));
        }
    }
    assert!(seen.len() > elbow.inducing.len() / 2 && seen.contains(&elbow.inducing.len()), "{seen:?}");
    let Some(Warning::JointsApart { joints }) = apart(&skeleton, &joints.model.joints) else { panic!("no warning") };
    assert_eq!(joints.len(), 1);
}

/// Oracle: the joint model of the same examples. It is hidden behind a second correction that changes nothing, so that its coordinates
/// count for nothing; those that are fitted to its skin deliver it as well.
#[test]
fn a_model_without_joint_coordinates_is_driven_by_fitted_ones() {
    let (_, model) = arm_model(CorrectionFrame::Anchor, false);
    let (rig, vertices) = (model.rig(), model.baked().vertices());
    let none = Weld::along(rig.skeleton(), &vec![false; rig.skeleton().len()]);
    let mut nothing =
        Joints::empty(rig.mesh().diagonal(), JointKernel::gaussian(1.4), CorrectionFrame::Rest, vec![], none);
    nothing.weights = rig.weights().unwrap().clone();
    (nothing.terms, nothing.coefficients) = (Rows::by_row(vertices, vec![]), Rows::by_row(vertices, vec![]));
    nothing.shared = Rows::by_row(vertices, vec![]);
    let hidden = model.baked().widened().unwrap().followed_by(nothing).unwrap().into_baked();
    let hidden = model.clone().with_baked(hidden).unwrap();
    let settings = DriverSettings { shapes: None, influences: None };
    let own = drive(&model, Some(LAMBDA), None, settings, &silent).unwrap().report;
    let fitted = drive(&hidden, None, None, settings, &silent).unwrap().report;
    assert!(fitted.fitted && !own.fitted);
    let (own, fitted) = (own.training, fitted.training);
    assert!(own.shapes.0 < 0.1 * own.weights_alone.0, "{own:?}");
    assert!(fitted.shapes.0 < 1.2 * own.shapes.0, "{fitted:?} for {own:?}");
}

#[test]
fn what_cannot_be_driven_is_refused() {
    let (_, mut model) = arm_model(CorrectionFrame::Anchor, false);
    let refused = |model: &RiggedDeformer, lambda: f64, most| {
        compile(model, model.rig().weights().unwrap(), Some(lambda), most, &silent).err().expect("it was taken")
    };
    assert!(matches!(refused(&model, LAMBDA, Some(1)), CompileError::FewShapes(1)));
    assert!(matches!(refused(&model, f64::NAN, None), CompileError::Ridge(_)));
    model = model.with_training(None).unwrap();
    assert!(matches!(refused(&model, LAMBDA, None), CompileError::NoTraining));
    let baked = model.baked().clone().without_correction();
    model = model.with_baked(baked).unwrap();
    assert!(matches!(refused(&model, LAMBDA, None), CompileError::NoCorrection));
}

/// Two sculpts whose skin meets, in poses that the joints of the second do not tell apart: the wrist turns another way, and the second
/// touches the elbow alone. In both poses the file shows what the model shows.
#[test]
fn sculpts_that_the_joints_of_one_do_not_tell_apart_are_delivered() {
    let arm = Arm::new(24, 8);
    let rest = &arm.rig.mesh().positions;
    let sculpt = |label: &str, wrist: f64, touched: &dyn Fn(f64) -> f64, by: DVec3| {
        let transforms = arm.transforms(&ArmPose { elbow: 1.0, wrist: DVec3::X * wrist, ..ArmPose::REST });
        let mut shown = vec![DVec3::ZERO; rest.len()];
        Base::Lbs(arm.rig.weights().unwrap().clone()).evaluate(rest, &transforms, None, &mut shown);
        let share = |v: usize| touched(rest[v].x).max(0.0);
        let positions = shown.iter().enumerate().map(|(v, p)| *p + by * share(v)).collect();
        let mask = (0..rest.len()).map(|v| share(v) > 0.0).collect();
        let local = Some(LocalSculpt { mask: Some(mask), shown: Some(shown) });
        Example { label: label.into(), time: None, transforms, positions, importance: 1.0, local }
    };
    let wide = sculpt("wide", 0.6, &|x| 1.0 - ((x - 0.43) / 0.25).powi(2), DVec3::Y * 0.03);
    let narrow = sculpt("narrow", -0.6, &|x| 1.0 - ((x - 0.3) / 0.1).powi(2), DVec3::Z * 0.02);
    let set = ExampleSet::new("sculpts".into(), vec![wide, narrow], &arm.rig).unwrap();
    let method = JointMethod { base: BaseChoice::Lbs, composites: FactorChoice::Off, ..JointMethod::default() };
    let learnt = Method::Joint(method).fit(&FitInput::new(&arm.rig, &set), &silent).unwrap();
    let posed: Vec<&BoneTransforms> = set.examples().iter().map(|e| &e.transforms).collect();
    let moving = moves_skin(arm.rig.skeleton(), arm.rig.weights().unwrap());
    let seen = TrainingPoses::new(arm.rig.skeleton(), &moving, &posed, arm.rig.mesh().diagonal());
    let model = RiggedDeformer::new(arm.rig.clone(), None, learnt.deformer.into_baked(), Some(seen)).unwrap();
    let driven = drive(&model, Some(LAMBDA), None, DriverSettings::default(), &silent).unwrap();
    assert_eq!(driven.report.sculpts, 2);
    let Cost { weights_alone, shapes, .. } = driven.report.training;
    assert!(weights_alone.1 > 0.01 && shapes.1 < 1e-4, "{weights_alone:?} {shapes:?}");
}
