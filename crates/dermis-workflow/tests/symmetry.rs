//! The joint model on a body with a left and a right: what one side shows, the other learns, where that is true. And the
//! same bytes for any number of threads.

use dermis_fit::method::{JointMethod, JointModelReport, MethodReport};
use dermis_fit::silent;
use dermis_io::to_bytes;
use dermis_io::{Space, model_file};
use dermis_rig::glam::{DAffine3, DQuat, DVec3};
use dermis_rig::rotation::from_rotation_vector;
use dermis_rig::{BoneIndex, BoneVec, Example, ExampleSet, Influences, Mesh, Rig, Skeleton};
use dermis_testkit::Random;
use dermis_workflow::load::LoadedRig;
use dermis_workflow::measure::measure;
use dermis_workflow::verbs::fit::{FitInput, Fitted, Method, fit};

/// Places of torso, left upper arm and forearm, right upper arm and forearm along x.
const PLACES: [f64; 5] = [0.0, 0.15, 0.45, -0.15, -0.45];
const PARENTS: [Option<usize>; 5] = [None, Some(0), Some(1), Some(0), Some(3)];

/// A torso with two arms along x, hanging and slanting so that no other plane is one of symmetry. Rings at ±x.
fn body(rings: usize) -> LoadedRig {
    let place = |i: usize| 0.8 * (2.0 * i as f64 / (rings - 1) as f64 - 1.0);
    let ring = |x: f64| {
        let middle = DVec3::new(x, -0.3 * x * x, 0.2 * x.abs());
        (0..8).map(move |side| {
            let (sin, cos) = (std::f64::consts::TAU * f64::from(side) / 8.0).sin_cos();
            middle + DVec3::new(0.0, 0.06 * sin, 0.05 * cos + 0.01 * sin)
        })
    };
    let positions: Vec<DVec3> = (0..rings).flat_map(|i| ring(place(i))).collect();
    let mut triangles = Vec::new();
    for i in 0..rings as u32 - 1 {
        for side in 0..8 {
            let (a, b) = (8 * i + side, 8 * i + (side + 1) % 8);
            triangles.extend([[a, a + 8, b], [b, a + 8, b + 8]]);
        }
    }
    let bone = BoneIndex::new;
    let weights = Influences::from_rows(positions.iter().map(|p| {
        let past = |joint: f64| ((p.x.abs() - joint) / 0.16 + 0.5).clamp(0.0, 1.0);
        let (shoulder, elbow) = (past(PLACES[1]), past(PLACES[2]));
        let upper = if p.x > 0.0 { 1 } else { 3 };
        vec![(bone(0), 1.0 - shoulder), (bone(upper), shoulder - elbow), (bone(upper + 1), elbow)]
    }))
    .unwrap();
    let names = ["torso", "left upper", "left fore", "right upper", "right fore"].map(String::from).to_vec();
    let bind = PLACES.map(|x| DAffine3::from_translation(DVec3::X * x)).to_vec();
    let skeleton = Skeleton::new(names, PARENTS.map(|p| p.map(bone)).to_vec(), bind).unwrap();
    let mesh = Mesh { positions, triangles, ..Mesh::default() };
    let rig = Rig::new(mesh, skeleton, Some(weights)).unwrap().named("body");
    LoadedRig { rig, space: Space::default(), notes: vec![] }
}

/// Rotation vectors of shoulder and elbow, as on the left.
#[derive(Clone, Copy, Default)]
struct Arm {
    shoulder: DVec3,
    elbow: DVec3,
}

impl Arm {
    fn random(random: &mut Random) -> Self {
        let mut turn = |most: f64| random.direction() * random.between(0.0, most);
        Self { shoulder: turn(1.0), elbow: turn(1.6) }
    }

    /// How far the skin at the elbow swells, along which vector, both as on the left.
    fn bulge(self) -> DVec3 {
        DVec3::new(0.3, 1.0, 0.5) * (0.04 * (1.0 - self.elbow.length().cos()) + 0.03 * self.elbow.y.sin())
    }
}

/// The mirror image across x of a vector, and of a rotation vector, which keeps the axis and loses the others' signs.
fn image(d: DVec3) -> DVec3 {
    d * DVec3::new(-1.0, 1.0, 1.0)
}

/// A pose with its skin: the weights over a rest shape that swells at the elbows, on the right `likeness` times as on the
/// left.
fn example(rig: &Rig, label: String, left: Arm, right: Arm, likeness: f64) -> Example {
    let turn = from_rotation_vector;
    let turns = [
        DQuat::IDENTITY,
        turn(left.shoulder),
        turn(left.elbow),
        turn(-image(right.shoulder)),
        turn(-image(right.elbow)),
    ];
    let local = (0..5).map(|b| {
        let from = PARENTS[b].map_or(0.0, |parent| PLACES[parent]);
        DAffine3::from_rotation_translation(turns[b], DVec3::X * (PLACES[b] - from))
    });
    let local = BoneVec::new(local.collect());
    let transforms = rig.skeleton().posed(local).unwrap().transforms().clone();
    let swollen: Vec<DVec3> = rig
        .mesh()
        .positions
        .iter()
        .map(|p| {
            let bump = (-((p.x.abs() - 0.45) / 0.1).powi(2)).exp();
            *p + bump * if p.x > 0.0 { left.bulge() } else { image(right.bulge()) * likeness }
        })
        .collect();
    let mut positions = vec![DVec3::ZERO; swollen.len()];
    dermis_deform::lbs(&swollen, rig.weights().unwrap(), &transforms, &mut positions);
    Example { label, time: None, transforms, positions, importance: 1.0, local: None }
}

/// Which arms move.
#[derive(Clone, Copy)]
enum Moving {
    Left,
    Right,
    Both,
}

/// The rest pose, then random ones. Of one seed those of the right alone are the mirror images of those of the left alone.
fn examples(rig: &Rig, count: usize, moving: Moving, likeness: f64, seed: u64) -> ExampleSet {
    let mut random = Random::new(seed);
    let made = (0..count).map(|s| {
        let (one, two) = (Arm::random(&mut random), Arm::random(&mut random));
        let (left, right) = match moving {
            _ if s == 0 => (Arm::default(), Arm::default()),
            Moving::Left => (one, Arm::default()),
            Moving::Right => (Arm::default(), one),
            Moving::Both => (one, two),
        };
        example(rig, format!("pose {s}"), left, right, likeness)
    });
    ExampleSet::new("poses".into(), made.collect(), rig).unwrap()
}

fn learnt(loaded: &LoadedRig, set: &ExampleSet, mirror: bool) -> Fitted {
    let method = Method::Joint(JointMethod { mirror, ..JointMethod::default() });
    fit(loaded, &FitInput::new(&loaded.rig, set), &method, &silent).unwrap()
}

/// What the solver says of the fit.
fn details(fitted: &Fitted) -> &JointModelReport {
    match &fitted.report.details {
        MethodReport::Joint(report) => report,
        other => panic!("{other:?}"),
    }
}

/// The rms error of a model on examples, as a share of that of the weights.
fn left_over(fitted: &Fitted, set: &ExampleSet) -> f64 {
    measure(&fitted.model, set, None).unwrap().ratio().unwrap()
}

#[test]
fn examples_of_one_side_correct_the_other() {
    let loaded = body(33);
    let train = examples(&loaded.rig, 30, Moving::Left, 1.0, 900);
    let [left, right] = [Moving::Left, Moving::Right].map(|moving| examples(&loaded.rig, 12, moving, 1.0, 901));
    let both = learnt(&loaded, &train, true);
    assert!(details(&both).mirrored());
    let (seen, other) = (left_over(&both, &left), left_over(&both, &right));
    assert!(seen < 0.4, "the side that was shown is learnt: {seen}");
    // The other side gets what both have in common, 0.97 of it.
    assert!(
        (other - seen).abs() < 0.03,
        "{other} of the error remains on the other side, {seen} on the one that was shown"
    );

    let alone = learnt(&loaded, &train, false);
    assert!(!details(&alone).mirrored() && details(&alone).other_sweep().next().is_none());
    assert!(left_over(&alone, &left) < 0.4);
    // Joints that never moved are welded, and vertices that agreed with the weights have no ball: f32 is all that is left.
    let untouched = left_over(&alone, &right);
    assert!((untouched - 1.0).abs() < 1e-4, "without mirrored examples the other side stays: {untouched}");
}

/// Poses left out decide: where the right does what the left does, mirrored examples help; where it does the opposite, they
/// are dropped, and nothing is lost.
#[test]
fn an_asymmetric_target_is_fitted_without_mirrored_examples() {
    let loaded = body(33);
    for (likeness, mirrored) in [(1.0, true), (-1.0, false)] {
        let train = examples(&loaded.rig, 24, Moving::Both, likeness, 902);
        let unseen = examples(&loaded.rig, 12, Moving::Both, likeness, 903);
        let chosen = learnt(&loaded, &train, true);
        let report = details(&chosen);
        assert_eq!(report.mirrored(), mirrored, "likeness {likeness}");
        let least = |sweep: &mut dyn Iterator<Item = (f64, f64)>| sweep.map(|p| p.1).fold(f64::INFINITY, f64::min);
        let (taken, other) = (least(&mut report.sweep()), least(&mut report.other_sweep()));
        assert!(taken < 0.9 * other, "likeness {likeness}");
        let (with, without) = (left_over(&chosen, &unseen), left_over(&learnt(&loaded, &train, false), &unseen));
        if mirrored {
            assert!(with < 0.9 * without, "twice the examples: {with}, {without} from its own alone");
        } else {
            assert_eq!(with, without, "the fit is the one without a mirror");
        }
    }
}

#[test]
fn threads_change_no_byte_of_a_joint_model() {
    // More vertices than a task takes at a time.
    let loaded = body(121);
    let train = examples(&loaded.rig, 16, Moving::Both, 1.0, 904);
    let bytes = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        to_bytes(|out| model_file::write(&pool.install(|| learnt(&loaded, &train, true)).model, out)).unwrap()
    };
    let alone = bytes(1);
    for threads in [2, 5] {
        assert!(bytes(threads) == alone, "{threads} threads");
    }
}
