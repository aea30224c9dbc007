//! What a carried model promises.

use dermis_deform::{Base, Correction, Deformer};
use dermis_fit::method::{BaseChoice, JointMethod, SmoothingSteps};
use dermis_fit::{FitInput, Method, silent};
use dermis_rig::glam::{DAffine3, DMat3, DVec3};
use dermis_rig::{BoneTransforms, Example, ExampleSet, Influences, Mesh, Rig, Skeleton};
use dermis_testkit::{Arm, ArmPose, Random};
use dermis_transfer::{
    Body, Clearance, Operator, Proportions, Settings, Skin, TransferError, carried_model, carried_weights,
    joined_model, laid_onto, object_mesh, object_weights,
};

/// A sleeve over the arm: its own tessellation, six millimetres outside.
fn sleeve() -> Mesh {
    let mesh = Arm::new(31, 17).rig.mesh().clone();
    let keep = |p: &DVec3| (0.02..0.62).contains(&p.x);
    let triangles = mesh.triangles.iter().filter(|t| t.iter().all(|c| keep(&mesh.positions[*c as usize])));
    let triangles: Vec<[u32; 3]> = triangles.copied().collect();
    let mut used: Vec<u32> = triangles.iter().flatten().copied().collect();
    used.sort_unstable();
    used.dedup();
    let out = |v: &u32| {
        let p = mesh.positions[*v as usize];
        p + DVec3::new(0.0, p.y, p.z).normalize_or_zero() * 0.006
    };
    let place = |c: u32| used.binary_search(&c).unwrap() as u32;
    Mesh {
        positions: used.iter().map(out).collect(),
        triangles: triangles.iter().map(|t| t.map(place)).collect(),
        ..Mesh::default()
    }
}

struct Made {
    arm: Arm,
    model: Deformer,
    target: Mesh,
    operator: Operator,
    weights: Influences,
    carried: Deformer,
}

fn made(model: Deformer, arm: Arm, target: Mesh) -> Made {
    let body = Body::new(arm.rig.mesh()).unwrap();
    let operator = Operator::new(&body, &target, &Settings::default()).unwrap();
    let weights = carried_weights(&operator, arm.weights(), 8).unwrap();
    let carried = carried_model(&model, &operator, (&target, &weights), None, body.unit()).unwrap();
    Made { arm, model, target, operator, weights, carried }
}

fn poses() -> Vec<ArmPose> {
    ArmPose::some(24, 5)
}

fn fitted(arm: &Arm, base: &str) -> Deformer {
    let set = ExampleSet::new("poses".into(), arm.examples(&poses()), &arm.rig).unwrap();
    fitted_on(&arm.rig, &set, base)
}

fn fitted_on(rig: &Rig, set: &ExampleSet, base: &str) -> Deformer {
    let base = match base {
        "lbs" => BaseChoice::Lbs,
        "dqs" => BaseChoice::Dqs,
        "mush" => BaseChoice::DirectDeltaMush(Some(4)),
        _ => BaseChoice::Smooth(Some(SmoothingSteps { steps: 4, factor: 1.0 })),
    };
    let method = Method::Joint(JointMethod { base, ..JointMethod::default() });
    let learnt = method.fit(&FitInput::new(rig, set), &silent).unwrap();
    let (model, ..) = learnt.rigged(rig, &[]).unwrap();
    model.baked().widened().unwrap()
}

fn of(base: &str, target: impl Fn(&Arm) -> Mesh) -> Made {
    let arm = Arm::new(40, 24);
    let (model, target) = (fitted(&arm, base), target(&arm));
    made(model, arm, target)
}

fn skin(model: &Deformer, pose: &BoneTransforms) -> Vec<DVec3> {
    let mut out = vec![DVec3::ZERO; model.rest().len()];
    model.clone().evaluate(pose, None, &mut out).unwrap();
    out
}

fn largest(a: &[DVec3], b: &[DVec3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max)
}

const BASES: [&str; 4] = ["lbs", "dqs", "mush", "smooth"];

#[test]
fn a_mesh_that_is_the_body_gets_the_model_to_the_bit() {
    for base in BASES {
        // Positions as a model stores them.
        let mut arm = Arm::new(40, 24);
        dermis_testkit::change_rig(&mut arm.rig, |mesh, _, _| {
            mesh.positions.iter_mut().for_each(|p| *p = p.as_vec3().as_dvec3());
        });
        let (model, target) = (fitted(&arm, base), arm.rig.mesh().clone());
        let made = made(model, arm, target);
        for pose in ArmPose::some(5, 9) {
            let pose = made.arm.transforms(&pose);
            let apart = made.carried.bake().largest_difference(&made.model.bake(), &[pose]).unwrap();
            assert_eq!(apart, 0.0, "{base}");
        }
    }
}

#[test]
fn the_bind_pose_stays_and_everything_turns_with_the_character() {
    let mut random = Random::new(2);
    for base in BASES {
        let made = of(base, |_| sleeve());
        let rest = BoneTransforms::new(vec![DAffine3::IDENTITY; 4]);
        assert!(largest(&skin(&made.carried, &rest), &made.target.positions) < 1e-9, "{base}");
        for pose in ArmPose::some(20, 4) {
            let pose = made.arm.transforms(&pose);
            let turn = DAffine3::from_mat3_translation(DMat3::from_quat(random.rotation(3.0)), random.direction());
            let turned: Vec<DVec3> = skin(&made.carried, &pose).iter().map(|p| turn.transform_point3(*p)).collect();
            assert!(largest(&skin(&made.carried, &pose.moved(turn)), &turned) < 1e-6, "{base}");
        }
    }
}

#[test]
fn the_ball_holds_in_a_thousand_wild_poses() {
    let made = of("lbs", |_| sleeve());
    let [Correction::Joints(joints)] = made.carried.corrections() else { panic!("another correction") };
    let most = {
        let [Correction::Joints(body)] = made.model.corrections() else { panic!("another correction") };
        body.radii.iter().copied().fold(0.0, f64::max)
    };
    assert!(joints.radii.iter().all(|radius| *radius <= most * (1.0 + 1e-12)));
    let bare = made.carried.clone().without_correction();
    let mut random = Random::new(8);
    for _ in 0..1000 {
        let pose = made.arm.wild(&mut random, 3.0);
        let (with, without) = (skin(&made.carried, &pose), skin(&bare, &pose));
        let held = with.iter().zip(&without).zip(&joints.radii);
        assert!(held.into_iter().all(|((a, b), radius)| a.is_finite() && a.distance(*b) <= radius * (1.0 + 1e-12)));
    }
}

/// The correction carried in the frames of vertices, which is what coefficients stand for.
fn exactly(made: &Made, pose: &BoneTransforms) -> Vec<DVec3> {
    let frame = |weights: &Influences, v: usize| {
        use dermis_rig::glam::{DQuat, DVec4};
        use dermis_rig::rotation::{nearest_rotation, quat_from_matrix};
        let turn = |bone| quat_from_matrix(&nearest_rotation(&pose[bone].matrix3));
        let first: DQuat = turn(weights.dominant(v).unwrap());
        let sum: DVec4 = weights
            .of(v)
            .iter()
            .map(|&(bone, w)| DVec4::from(turn(bone)) * if turn(bone).dot(first) < 0.0 { -w } else { w })
            .sum();
        DMat3::from_quat(DQuat::from_vec4(sum.normalize()))
    };
    let bare = |model: &Deformer| skin(&model.clone().without_correction(), pose);
    let (body, body_base) = (skin(&made.model, pose), bare(&made.model));
    let local: Vec<DVec3> =
        (0..body.len()).map(|v| frame(made.arm.weights(), v).transpose() * (body[v] - body_base[v])).collect();
    let carried = made.operator.carry(3, |v, share, row| {
        row.iter_mut().zip(local[v].to_array()).for_each(|(sum, x)| *sum += share * x);
    });
    let carried = carried.unwrap();
    let at = |(v, p): (usize, DVec3)| p + frame(&made.weights, v) * DVec3::from_slice(&carried[3 * v..3 * v + 3]);
    bare(&made.carried).into_iter().enumerate().map(at).collect()
}

#[test]
fn coefficients_are_the_correction_in_the_frames_of_vertices() {
    for base in BASES {
        let made = of(base, |_| sleeve());
        let (mut off, mut whole) = (0.0, 0.0);
        for pose in ArmPose::some(12, 33) {
            let pose = made.arm.transforms(&pose);
            let (ours, wanted) = (skin(&made.carried, &pose), exactly(&made, &pose));
            let bare = skin(&made.carried.clone().without_correction(), &pose);
            off += ours.iter().zip(&wanted).map(|(a, b)| a.distance_squared(*b)).sum::<f64>();
            whole += wanted.iter().zip(&bare).map(|(a, b)| a.distance_squared(*b)).sum::<f64>();
        }
        // Elbows bend up to 130 degrees here; on walks it is less (`cargo xtask bench transfer`).
        assert!(f64::sqrt(off / whole) < 0.08, "{base}: {}", f64::sqrt(off / whole));
    }
}

#[test]
fn clothes_follow_the_corrected_skin() {
    // The true skin below, and how far the sleeve is from where it was over it.
    let made = of("lbs", |_| sleeve());
    let mesh = made.arm.rig.mesh();
    let unit = Body::new(mesh).unwrap().unit();
    let at_rest = Skin::new(&mesh.positions, &mesh.triangles).distances(&made.target.positions);
    let blended = Deformer::new(made.target.positions.clone(), Base::Lbs(made.weights.clone()), None).unwrap();
    let change = |model: &Deformer| {
        let mut sum = Clearance::default();
        for pose in ArmPose::some(12, 33) {
            let below = made.arm.skin(&pose);
            let over = skin(model, &made.arm.transforms(&pose));
            let now = Skin::new(&below, &mesh.triangles).distances(&over);
            sum = sum.with(Clearance::of(&at_rest, &now, unit));
        }
        (sum.change(), sum.share())
    };
    let (carried, without) = (change(&made.carried), change(&blended));
    assert!(carried.0 < 0.5 * without.0 && carried.1 <= without.1, "{carried:?} {without:?}");
}

#[test]
fn corrections_fade_where_that_is_asked_for() {
    let made = of("lbs", |_| sleeve());
    let body = Body::new(made.arm.rig.mesh()).unwrap();
    let settings = Settings { falloff: Some(0.002), ..Settings::default() };
    let faded = Operator::new(&body, &made.target, &settings).unwrap();
    let model = carried_model(&made.model, &faded, (&made.target, &made.weights), None, body.unit()).unwrap();
    let blended = made.carried.clone().without_correction();
    for pose in ArmPose::some(4, 3) {
        let pose = made.arm.transforms(&pose);
        let (whole, less, none) = (skin(&made.carried, &pose), skin(&model, &pose), skin(&blended, &pose));
        for v in 0..none.len() {
            let (whole, less, fade) = (whole[v].distance(none[v]), less[v].distance(none[v]), faded.fade(v));
            // A ball that holds is smaller as well.
            assert!(fade < 1.0 && less <= whole + 1e-12 && (less - fade * whole).abs() < 0.02 * whole + 1e-5, "{v}");
        }
    }
}

#[test]
fn a_button_is_rigid_in_every_pose() {
    for base in BASES {
        let arm = Arm::new(40, 24);
        let mut target = sleeve();
        let first = target.positions.len();
        let at = DVec3::new(0.3, 0.062, 0.0);
        for k in 0..8 {
            let angle = std::f64::consts::TAU * f64::from(k) / 8.0;
            target.positions.push(at + DVec3::new(0.004 * angle.cos(), 0.002 * f64::from(k % 2), 0.004 * angle.sin()));
        }
        target.triangles.extend((1..7).map(|k| [first as u32, first as u32 + k + 1, first as u32 + k]));
        let made = made(fitted(&arm, base), arm, target);
        assert!(made.weights.of(first).len() > 1);
        for pose in ArmPose::some(6, 3) {
            let now = skin(&made.carried, &made.arm.transforms(&pose));
            for a in first..now.len() {
                for b in first..a {
                    let (was, is) =
                        (made.target.positions[a].distance(made.target.positions[b]), now[a].distance(now[b]));
                    assert!((was - is).abs() < 1e-9, "{base}: {was} {is}");
                }
            }
        }
    }
}

#[test]
fn parts_that_belong_to_the_body_alone_are_refused_by_name() {
    let arm = Arm::new(20, 12);
    let target = sleeve();
    let body = Body::new(arm.rig.mesh()).unwrap();
    let operator = Operator::new(&body, &target, &Settings::default()).unwrap();
    let weights = carried_weights(&operator, arm.weights(), 8).unwrap();
    let refused = |model: &Deformer| {
        carried_model(model, &operator, (&target, &weights), None, body.unit()).map(|_| ()).unwrap_err()
    };
    let rest = Deformer::new(arm.rig.mesh().positions.clone(), Base::Rest, None).unwrap();
    assert_eq!(refused(&rest), TransferError::Part { part: "a base of rest shapes" });
}

#[test]
fn a_character_twice_as_large_moves_twice_as_far() {
    for base in ["lbs", "dqs", "mush"] {
        let arm = Arm::new(40, 24);
        let model = fitted(&arm, base);
        let large = |m: &DAffine3| DAffine3 { translation: m.translation * 2.0, ..*m };
        // The model has the weights in 32 bits.
        let Some(Correction::Joints(joints)) = model.corrections().first() else { panic!("no joint model") };
        let (own, weights) = (arm.rig.skeleton(), &joints.weights);
        let bind = own.bind().iter().map(large).collect();
        let other = Skeleton::new(own.names().to_vec(), own.parents().to_vec(), bind).unwrap();
        let names: Vec<_> = own.bones().map(Some).collect();
        let map = Proportions::new(own, &other, &names).unwrap();
        let rest = map.rest(model.rest(), weights);
        let twice: Vec<DVec3> = model.rest().iter().map(|p| *p * 2.0).collect();
        assert!(largest(&rest, &twice) < 1e-12);
        let moved = map.model(&model, weights, (&twice, weights), &other).unwrap();
        for example in arm.examples(&poses()) {
            let pose = BoneTransforms::new(example.transforms.iter().map(large).collect());
            let wanted: Vec<DVec3> = skin(&model, &example.transforms).iter().map(|p| *p * 2.0).collect();
            let off = largest(&skin(&moved, &pose), &wanted);
            // Moments in 32 bits sum to one but for rounding, and are divided by their sum.
            assert!(off < if base == "mush" { 1e-7 } else { 1e-9 }, "{base}: {off}");
            // Half of what corrects it.
            let half = skin(&moved.with_gain(0.5).unwrap(), &pose);
            let base = skin(&moved.clone().without_correction(), &pose);
            let middle: Vec<DVec3> = base.iter().zip(skin(&moved, &pose)).map(|(a, b)| (*a + b) * 0.5).collect();
            assert!(largest(&half, &middle) < 1e-9);
        }
    }
}

#[test]
fn a_skin_laid_onto_another_of_other_vertices_lies_on_it() {
    let (thin, thick) = (Arm::new(40, 24), Arm::new(31, 17));
    let mut other = thick.rig.mesh().clone();
    other.positions.iter_mut().for_each(|p| *p = DVec3::new(p.x, 1.3 * p.y, 1.2 * p.z));
    let body = Body::new(&other).unwrap();
    let laid = laid_onto(&body, thin.rig.mesh(), &[]).unwrap();
    let mut off: Vec<f64> = laid.iter().map(|p| body.find(*p, None, 0.0).unwrap().distance).collect();
    off.sort_by(f64::total_cmp);
    assert!(off[off.len() * 9 / 10] < 0.002, "{:?}", off[off.len() * 9 / 10]);
    // A marked vertex goes where it belongs.
    let marked = laid_onto(&body, thin.rig.mesh(), &[(0, 30)]).unwrap();
    assert!(marked[0].distance(other.positions[30]) < 0.01);
    assert_eq!(
        laid_onto(&body, thin.rig.mesh(), &[(0, 1 << 20)]),
        Err(TransferError::Marked { mesh: 0, body: 1 << 20 })
    );
}

#[test]
fn an_object_of_the_body_s_own_mesh_gets_what_a_mesh_of_its_own_gets() {
    for base in BASES {
        let made = of(base, |_| sleeve());
        let (body, cloth) = (made.arm.rig.mesh().positions.len(), made.target.positions.len());
        // The sleeve goes before the arm, so that no number stays by chance.
        let range = 0..cloth;
        let after = |t: &[u32; 3]| t.map(|corner| corner + cloth as u32);
        // Positions as a model stores them.
        let stored = |p: &DVec3| p.as_vec3().as_dvec3();
        let both = Mesh {
            positions: made.target.positions.iter().chain(&made.arm.rig.mesh().positions).map(stored).collect(),
            triangles: made
                .target
                .triangles
                .iter()
                .copied()
                .chain(made.arm.rig.mesh().triangles.iter().map(after))
                .collect(),
            ..Mesh::default()
        };
        let target = object_mesh(&both, &range);
        assert_eq!(target.triangles, made.target.triangles);
        let rows = made.weights.rows().chain(made.arm.weights().rows()).map(<[_]>::to_vec);
        let weights = Influences::from_rows(rows).unwrap();
        assert_eq!(object_weights(&weights, &range).unwrap(), made.weights);
        let whole = {
            let set = ExampleSet::new("poses".into(), made.arm.examples(&poses()), &made.arm.rig).unwrap();
            let skins = |example: &Example| {
                let base = Deformer::new(both.positions.clone(), Base::Lbs(weights.clone()), None).unwrap();
                let mut skin = skin(&base, &example.transforms);
                skin[cloth..].copy_from_slice(&example.positions);
                Example { positions: skin, ..example.clone() }
            };
            let rig = Rig::new(both.clone(), made.arm.rig.skeleton().clone(), Some(weights.clone())).unwrap();
            let set = ExampleSet::new("poses".into(), set.examples().iter().map(skins).collect(), &rig).unwrap();
            fitted_on(&rig, &set, base)
        };
        let triangles = both.triangles.iter().filter(|t| t[0] as usize >= cloth).copied().collect();
        let skin_alone = Body::new(&Mesh { triangles, ..both.clone() }).unwrap();
        let operator = Operator::new(&skin_alone, &target, &Settings::default()).unwrap();
        let piece =
            carried_model(&whole, &operator, (&target, &made.weights), Some(&weights), skin_alone.unit()).unwrap();
        let joined = joined_model(&whole, &[(range, piece.clone())]).unwrap();
        let mut follows: f64 = 0.0;
        for pose in ArmPose::some(5, 9) {
            let pose = made.arm.transforms(&pose);
            let (joined, whole, piece) = (skin(&joined, &pose), skin(&whole, &pose), skin(&piece, &pose));
            assert_eq!(largest(&joined[cloth..], &whole[cloth..]), 0.0, "{base}: the body is what it was");
            // A base by weights has them in single precision. That of corrective smoothing is the base of the whole mesh.
            let apart = largest(&joined[..cloth], &piece);
            assert!(base == "smooth" || apart < 1e-8, "{base}: {apart}");
            follows = largest(&joined[..cloth], &whole[..cloth]).max(follows);
        }
        assert!(follows > 1e-3, "{base}: the sleeve follows the arm, {follows}");
        assert_eq!(body + cloth, joined.rest().len());
    }
}

#[test]
fn weights_sum_to_one_near_vertices_of_the_body_without_any() {
    let arm = Arm::new(40, 24);
    let holes = arm.weights().rows().enumerate().map(|(v, row)| if v % 7 == 0 { vec![] } else { row.to_vec() });
    let holes = Influences::from_rows(holes).unwrap();
    let (body, mesh) = (Body::new(arm.rig.mesh()).unwrap(), sleeve());
    let operator = Operator::new(&body, &mesh, &Settings::default()).unwrap();
    let carried = carried_weights(&operator, &holes, usize::MAX).unwrap();
    let sums = carried.rows().map(|row| row.iter().map(|(_, w)| w).sum::<f64>());
    assert!(sums.map(|sum| (sum - 1.0).abs()).fold(0.0, f64::max) < 1e-9);
}
