//! A character that stands elsewhere, turned, is the same character: rig and examples moved before the fit, every method that
//! promises it learns the same skin.

use dermis_fit::method::{FitInput, Method, preset};
use dermis_fit::silent;
use dermis_rig::glam::{DAffine3, DVec3};
use dermis_rig::{
    BoneIndex, BoneTransforms, Example, ExampleSet, Influences, LocalSculpt, Mesh, Mirror, Rig, Skeleton,
};
use dermis_testkit::{Arm, ArmPose, Random, change_rig};

fn moved_pose(pose: &BoneTransforms, g: DAffine3) -> BoneTransforms {
    BoneTransforms::new(pose.iter().map(|m| g * *m * g.inverse()).collect()).with_channels(pose.channels().clone())
}

fn moved_rig(rig: &Rig, g: DAffine3) -> Rig {
    let mut rig = rig.clone();
    change_rig(&mut rig, |mesh, skeleton, _| {
        mesh.positions.iter_mut().for_each(|p| *p = g.transform_point3(*p));
        let bind = skeleton.bind().iter().map(|m| g * *m).collect();
        *skeleton = Skeleton::new(skeleton.names().to_vec(), skeleton.parents().to_vec(), bind).unwrap();
    });
    rig
}

fn moved_examples(examples: &[Example], rig: &Rig, g: DAffine3) -> ExampleSet {
    let moved = |e: &Example| Example {
        transforms: moved_pose(&e.transforms, g),
        positions: e.positions.iter().map(|p| g.transform_point3(*p)).collect(),
        ..e.clone()
    };
    ExampleSet::new(String::new(), examples.iter().map(moved).collect(), rig).unwrap()
}

/// The largest distance between the skins of a fit and of a fit to the moved character, in rest diagonals.
fn apart(method: &Method, rig: &Rig, examples: &[Example], unseen: &[BoneTransforms], g: DAffine3) -> f64 {
    let skins = |g: DAffine3| -> Vec<Vec<DVec3>> {
        let rig = moved_rig(rig, g);
        let examples = moved_examples(examples, &rig, g);
        let mut learnt =
            method.fit(&FitInput::new(&rig, &examples), &silent).unwrap_or_else(|e| panic!("{method}: {e}"));
        let mut out = vec![DVec3::ZERO; rig.mesh().positions.len()];
        let mut posed = |pose: &BoneTransforms| {
            learnt.deformer.evaluate(&moved_pose(pose, g), None, &mut out).unwrap();
            out.iter().map(|p| g.inverse().transform_point3(*p)).collect()
        };
        unseen.iter().map(&mut posed).collect()
    };
    let (still, moved) = (skins(DAffine3::IDENTITY), skins(g));
    let far = still.iter().flatten().zip(moved.iter().flatten()).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
    far / rig.mesh().diagonal()
}

/// Rigid motions of any direction, metres and tens of metres.
fn motions(count: usize) -> Vec<DAffine3> {
    let mut random = Random::new(41);
    (0..count)
        .map(|i| {
            let far = random.direction() * [1.0, 10.0][i % 2];
            DAffine3::from_translation(far) * DAffine3::from_quat(random.rotation(std::f64::consts::PI))
        })
        .collect()
}

/// A trunk with two arms, left and right of x = 0, whose skin swells where an arm turns.
fn body() -> (Rig, Vec<Example>, Vec<BoneTransforms>) {
    let bone = BoneIndex::new;
    let (rings, sides) = (13, 8);
    let mut positions = Vec::new();
    for i in 0..rings {
        for j in 0..sides {
            let (x, angle) = (0.1 * (f64::from(i) - 6.0), f64::from(j) * std::f64::consts::TAU / f64::from(sides));
            positions.push(DVec3::new(x, 0.12 * angle.cos() + 0.1 * x * x, 0.1 * angle.sin() + 0.02 * angle.cos()));
        }
    }
    let triangles = (1..rings as u32).flat_map(|i| {
        (0..sides as u32).flat_map(move |j| {
            let at = |i: u32, j: u32| i * sides as u32 + j % sides as u32;
            [[at(i - 1, j), at(i, j), at(i, j + 1)], [at(i - 1, j), at(i, j + 1), at(i - 1, j + 1)]]
        })
    });
    let mesh = Mesh { triangles: triangles.collect(), positions, ..Mesh::default() };
    let rows = mesh.positions.iter().map(|p| {
        let share = ((p.x.abs() - 0.1) / 0.2).clamp(0.0, 1.0);
        let side = bone(if p.x > 0.0 { 1 } else { 2 });
        [(bone(0), 1.0 - share), (side, share)].into_iter().filter(|(_, w)| *w > 0.0).collect()
    });
    let weights = Influences::from_rows(rows).unwrap();
    let place = [DVec3::ZERO, DVec3::X * 0.2, DVec3::X * -0.2];
    let names = ["trunk", "left", "right"].map(String::from).to_vec();
    let bind = place.map(DAffine3::from_translation).to_vec();
    let skeleton = Skeleton::new(names, vec![None, Some(bone(0)), Some(bone(0))], bind).unwrap();
    let rig = Rig::new(mesh, skeleton, Some(weights)).unwrap().named("body");
    let mut random = Random::new(42);
    let mut pose = |most: f64| {
        let trunk = DAffine3::from_quat(random.rotation(0.3));
        let mut arm = |at: DVec3| {
            let joint = DAffine3::from_translation(at);
            trunk * joint * DAffine3::from_quat(random.rotation(most)) * joint.inverse()
        };
        BoneTransforms::new(vec![trunk, arm(place[1]), arm(place[2])])
    };
    let poses: Vec<BoneTransforms> = (0..14).map(|_| pose(1.2)).collect();
    let unseen = (0..6).map(|_| pose(1.5)).collect();
    let skin = |pose: &BoneTransforms| {
        let weights = rig.weights().unwrap();
        let swollen = |v: usize| {
            let p = rig.mesh().positions[v];
            let side = if p.x > 0.0 { 1 } else { 2 };
            let turn = (pose.as_slice()[0].matrix3.transpose() * pose.as_slice()[side].matrix3).x_axis;
            let swell = (1.0 - turn.x) * (-40.0 * (p.x.abs() - 0.2).powi(2)).exp();
            let posed = dermis_deform::blend(weights.of(v), pose);
            posed.transform_point3(p + DVec3::new(0.0, p.y, p.z) * 0.4 * swell)
        };
        (0..rig.mesh().positions.len()).map(swollen).collect()
    };
    let example = |(s, pose): (usize, &BoneTransforms)| Example {
        label: s.to_string(),
        time: None,
        transforms: pose.clone(),
        positions: skin(pose),
        importance: 1.0,
        local: None,
    };
    let examples = poses.iter().enumerate().map(example).collect();
    (rig, examples, unseen)
}

/// Methods that learn the same wherever the character stands. Row features do not, nor does skin that sees down.
fn promising() -> Vec<Method> {
    let also = ["mwe-auto", "psd-linear", "joint-lbs", "mwe-dqs"].map(|name| preset(name).unwrap().method);
    let blind = |method: Method| method.with(&[("gravity", "off")]).unwrap_or(method);
    Method::all().into_iter().chain(also).map(blind).collect()
}

/// In rest diagonals: sums in another order, and what is stored in `f32` (rotational regression). The promise is 1e-6.
const SAME: f64 = 1e-8;

#[test]
fn a_turned_body_learns_the_same() {
    let (rig, examples, unseen) = body();
    let weights = rig.weights().unwrap();
    assert!(Mirror::find(&rig.mesh().positions, rig.skeleton(), weights).is_some(), "it has a left and a right");
    for method in promising() {
        for g in motions(20) {
            let apart = apart(&method, &rig, &examples, &unseen, g);
            assert!(apart < SAME, "{method}: {apart}");
        }
    }
}

/// A tube, whose cross sections have no direction of their own.
#[test]
fn a_turned_arm_learns_the_same() {
    let arm = Arm::new(9, 8);
    let examples = arm.examples(&ArmPose::some(12, 43));
    let unseen: Vec<BoneTransforms> = ArmPose::some(5, 44).iter().map(|pose| arm.transforms(pose)).collect();
    for method in promising() {
        for g in motions(4) {
            let apart = apart(&method, &arm.rig, &examples, &unseen, g);
            assert!(apart < SAME, "{method}: {apart}");
        }
    }
}

/// Rows of the world's axes are others on a turned character: the test can fail.
#[test]
fn the_published_form_does_not_promise_it() {
    let (rig, examples, unseen) = body();
    let apart = apart(&preset("mwe-published").unwrap().method, &rig, &examples, &unseen, motions(1)[0]);
    assert!(apart > 1e-5, "{apart}");
}

/// Two sculpts of the left: the right learns from their mirror images, skin that neither touched is the base to the last bit, and a moved
/// character learns the same.
#[test]
fn local_sculpts_teach_the_other_side_and_no_further_skin() {
    let (rig, mut examples, unseen) = body();
    let (rest, weights) = (&rig.mesh().positions, rig.weights().unwrap());
    let mirror = Mirror::find(rest, rig.skeleton(), weights).unwrap();
    let is_touched = |v: usize| rest[v].x > 0.15;
    examples.truncate(2);
    for example in &mut examples {
        let mut skin = vec![DVec3::ZERO; rest.len()];
        dermis_deform::lbs(rest, weights, &example.transforms, &mut skin);
        (0..rest.len()).filter(|v| !is_touched(*v)).for_each(|v| example.positions[v] = skin[v]);
        example.local = Some(LocalSculpt { mask: Some((0..rest.len()).map(is_touched).collect()), shown: None });
    }
    let method = Method::joint().with(&[("base", "lbs"), ("composites", "off")]).unwrap();
    let set = ExampleSet::new(String::new(), examples.clone(), &rig).unwrap();
    let learnt = method.fit(&FitInput::new(&rig, &set), &silent).unwrap();
    assert!(learnt.mirror.is_some() && learnt.report.to_string().contains("too few sculpts"), "{}", learnt.report);
    let mut deformer = learnt.deformer;
    let (mut left, mut right) = (0.0f64, 0.0f64);
    for pose in &unseen {
        let (mut skin, mut own) = (vec![DVec3::ZERO; rest.len()], vec![DVec3::ZERO; rest.len()]);
        deformer.evaluate(pose, None, &mut skin).unwrap();
        dermis_deform::lbs(rest, weights, pose, &mut own);
        for v in 0..rest.len() {
            let moved = skin[v].distance(own[v]);
            match (is_touched(v), mirror.vertices[v].is_some_and(|partner| is_touched(partner as usize))) {
                (true, _) => left = left.max(moved),
                (false, true) => right = right.max(moved),
                (false, false) => assert_eq!(skin[v], own[v], "vertex {v}"),
            }
        }
    }
    assert!(left > 1e-3 && right > 1e-3, "{left} {right}");
    for g in motions(20) {
        let apart = apart(&method, &rig, &examples, &unseen, g);
        assert!(apart < SAME, "{apart}");
    }
}
