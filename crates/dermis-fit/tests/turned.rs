//! A scene that stands another way, elsewhere and in another size has the same result: the axes of the world choose nothing, also not among the equals of
//! a symmetric shape.

use dermis_fit::decompose::{
    Bandwidth, BoneKind, ClusteringSettings, DecomposeSettings, Decomposition, Sequence, Task, cluster, decompose,
    hierarchy,
};
use dermis_fit::register::{JointRanges, Known, RegisterSettings, ScanSurface, register};
use dermis_fit::scans::{Scan, ScanSettings, TemplateSettings, fit_scans, fit_templates};
use dermis_fit::{HeatSettings, bone_segments, heat_weights, silent};
use dermis_rig::glam::{DAffine3, DQuat, DVec3};
use dermis_rig::rotation::from_rotation_vector;
use dermis_rig::{BoneIndex, BoneTransforms, BoneVec, Influences, Mesh, Skeleton};
use dermis_testkit::{Arm, ArmPose, Random};

/// A motion of the scene, and by how much it is larger afterwards.
#[derive(Clone, Copy)]
struct Other {
    motion: DAffine3,
    scale: f64,
}

impl Other {
    fn some(count: u64) -> Vec<Self> {
        let mut random = Random::new(77);
        let mut one = |scale: f64| {
            let motion = DAffine3::from_rotation_translation(random.rotation(3.1), random.direction() * 4.0);
            Self { motion, scale }
        };
        (0..count).map(|at| one([1.0, 0.01, 40.0][at as usize % 3])).collect()
    }
    fn point(&self, p: DVec3) -> DVec3 {
        self.motion.transform_point3(p * self.scale)
    }
    fn points(&self, points: &[DVec3]) -> Vec<DVec3> {
        points.iter().map(|p| self.point(*p)).collect()
    }
    /// C M C⁻¹ for p ↦ C p.
    fn transform(&self, m: &DAffine3) -> DAffine3 {
        let scaled = DAffine3 { translation: m.translation * self.scale, ..*m };
        self.motion * scaled * self.motion.inverse()
    }
    fn pose(&self, pose: &BoneTransforms) -> BoneTransforms {
        BoneTransforms::new(pose.iter().map(|m| self.transform(m)).collect())
    }
    /// The joints of a skeleton where they are then, turned along.
    fn skeleton(&self, skeleton: &Skeleton) -> Skeleton {
        let bind = skeleton.bind().iter().map(|b| {
            let turned = self.motion.matrix3 * b.matrix3;
            DAffine3 { matrix3: turned, translation: self.point(b.translation) }
        });
        Skeleton::new(
            skeleton.names().iter().cloned().collect(),
            skeleton.parents().iter().copied().collect(),
            bind.collect(),
        )
        .unwrap()
    }
    fn mesh(&self, mesh: &Mesh) -> Mesh {
        Mesh { positions: self.points(&mesh.positions), ..mesh.clone() }
    }
}

fn largest_difference(a: &Influences, b: &Influences) -> f64 {
    assert_eq!(a.vertices(), b.vertices());
    let bones = a.bones_named().max(b.bones_named());
    let entry = |v: usize, k: usize| (a.value(v, BoneIndex::new(k)) - b.value(v, BoneIndex::new(k))).abs();
    (0..a.vertices()).flat_map(|v| (0..bones).map(move |k| (v, k))).fold(0.0, |most, (v, k)| entry(v, k).max(most))
}

/// A body with a plane of symmetry and two arms, of tubes of eight sides whose rings lie on a regular grid; all of its vertices have equals on the other
/// side, and half of them on their own.
struct Puppet {
    mesh: Mesh,
    skeleton: Skeleton,
    weights: Influences,
}

/// Trunk, left upper arm and forearm, right upper arm and forearm.
const PARENTS: [Option<usize>; 5] = [None, Some(0), Some(1), Some(0), Some(3)];
const PLACES: [[f64; 2]; 5] = [[0.0, -0.5], [0.25, 0.5], [0.75, 0.5], [-0.25, 0.5], [-0.75, 0.5]];

impl Puppet {
    fn new() -> Self {
        const SIDES: u32 = 8;
        let mut mesh = Mesh::default();
        let mut rows = Vec::new();
        let bone = BoneIndex::new;
        let mut tube = |from: DVec3, to: DVec3, radius: f64, rings: u32, row: &dyn Fn(f64) -> Vec<(BoneIndex, f64)>| {
            let first = mesh.positions.len() as u32;
            let along = (to - from).normalize();
            let across = along.cross(DVec3::Z);
            for ring in 0..rings {
                let t = f64::from(ring) / f64::from(rings - 1);
                for side in 0..SIDES {
                    let angle = std::f64::consts::TAU * f64::from(side) / f64::from(SIDES);
                    mesh.positions.push(from.lerp(to, t) + (across * angle.cos() + DVec3::Z * angle.sin()) * radius);
                    rows.push(row(t));
                }
            }
            for ring in 0..rings - 1 {
                for side in 0..SIDES {
                    let at = |ring: u32, side: u32| first + ring * SIDES + side % SIDES;
                    let [a, b, c, d] = [at(ring, side), at(ring, side + 1), at(ring + 1, side), at(ring + 1, side + 1)];
                    mesh.triangles.extend([[a, b, c], [b, d, c]]);
                }
            }
        };
        tube(DVec3::new(0.0, -0.5, 0.0), DVec3::new(0.0, 0.75, 0.0), 0.2, 21, &|_| vec![(bone(0), 1.0)]);
        for (side, upper) in [(1.0, 1), (-1.0, 3)] {
            let row = |t: f64| {
                let past = ((t - 0.5) / 0.25 + 0.5).clamp(0.0, 1.0);
                vec![(bone(upper), 1.0 - past), (bone(upper + 1), past)]
            };
            tube(DVec3::new(0.25 * side, 0.5, 0.0), DVec3::new(1.25 * side, 0.5, 0.0), 0.1, 17, &row);
        }
        let names = ["trunk", "upper.L", "fore.L", "upper.R", "fore.R"].map(String::from).to_vec();
        let parents = PARENTS.map(|p| p.map(bone)).to_vec();
        let bind = PLACES.map(|[x, y]| DAffine3::from_translation(DVec3::new(x, y, 0.0))).to_vec();
        let skeleton = Skeleton::new(names, parents, bind).unwrap();
        Self { mesh, skeleton, weights: Influences::from_rows(rows).unwrap() }
    }

    /// Both arms alike, mirrored: every error of the left is also one of the right.
    fn poses(&self, count: usize) -> Vec<BoneTransforms> {
        let about = |p: [f64; 2], turn: DVec3| {
            let p = DVec3::new(p[0], p[1], 0.0);
            DAffine3::from_translation(p)
                * DAffine3::from_quat(from_rotation_vector(turn))
                * DAffine3::from_translation(-p)
        };
        (0..count)
            .map(|s| {
                let t = s as f64;
                let arm = |at: usize, side: f64| {
                    // A rotation vector keeps its part along the plane's normal, and loses the sign of the others.
                    let image = |v: DVec3| DVec3::new(v.x, v.y * side, v.z * side);
                    let upper = about(PLACES[at], image(DVec3::new(0.3 * t.sin(), 0.4 * (0.7 * t).sin(), 0.2 * t)));
                    [upper, upper * about(PLACES[at + 1], image(DVec3::new(0.0, 0.5 * t.cos(), 0.3 * t)))]
                };
                let trunk = about(PLACES[0], DVec3::new(0.1 * t, 0.0, 0.0));
                let arms = [arm(1, 1.0), arm(3, -1.0)].into_iter().flatten().map(|m| trunk * m);
                BoneTransforms::new([trunk].into_iter().chain(arms).collect())
            })
            .collect()
    }

    fn skin(&self, pose: &BoneTransforms) -> Vec<DVec3> {
        let mut skin = vec![DVec3::ZERO; self.mesh.positions.len()];
        dermis_deform::lbs(&self.mesh.positions, &self.weights, pose, &mut skin);
        skin
    }
}

/// Whether two decompositions are one: weights, transforms as seen from the other scene, and joints of the tree.
fn same(own: (&[DVec3], &Decomposition), other: (&[DVec3], &Decomposition), by: &Other, most: f64, what: &str) {
    let ((rest, own), (other_rest, other)) = (own, other);
    assert_eq!(own.report.bones, other.report.bones, "{what}");
    let apart = largest_difference(&own.weights, &other.weights);
    println!("{what}: {apart:.1e}, {} and {} iterations", own.report.iterations, other.report.iterations);
    assert!(apart < most, "{what}: weights are {apart} apart");
    for (a, b) in own.transforms.iter().zip(&other.transforms) {
        for (a, b) in a.iter().zip(b.iter()) {
            // Where the bone takes the points of the mesh.
            let far = rest
                .iter()
                .zip(other_rest)
                .step_by(7)
                .map(|(p, q)| by.point(a.transform_point3(*p)).distance(b.transform_point3(*q)) / by.scale);
            let far = far.fold(0.0, f64::max);
            assert!(far < most, "{what}: a bone is {far} apart");
        }
    }
    let trees = [(rest, own), (other_rest, other)]
        .map(|(rest, found)| hierarchy(rest, &found.weights, &found.transforms).unwrap());
    assert_eq!(trees[0].order, trees[1].order, "{what}");
    assert_eq!(trees[0].parents, trees[1].parents, "{what}");
}

#[test]
fn a_decomposition_does_not_depend_on_where_the_sequence_stands() {
    let puppet = Puppet::new();
    let rest = &puppet.mesh.positions;
    let mut exact: Vec<Vec<DVec3>> = puppet.poses(10).iter().map(|pose| puppet.skin(pose)).collect();
    // Frames that no bones make: both arms swell alike.
    let mut swollen = exact.clone();
    for (s, frame) in swollen.iter_mut().enumerate() {
        for (x, p) in frame.iter_mut().zip(rest) {
            *x += DVec3::Z * (0.03 * (3.0 * p.x).cos() * (s as f64 + 2.0 * p.y).sin());
        }
    }
    exact.truncate(8);
    for (frames, bones) in [(&exact, 5), (&swollen, 6), (&swollen, 3)] {
        for kind in [BoneKind::Rigid, BoneKind::Affine, BoneKind::NearRigid { stiffness: 1e-3 }] {
            for smooth in [None, Some(1e-4)] {
                let settings = DecomposeSettings { kind, smooth, ..DecomposeSettings::default() };
                let run = |rest: &[DVec3], frames: &[Vec<DVec3>]| {
                    let shapes: Vec<&[DVec3]> = frames.iter().map(Vec::as_slice).collect();
                    let sequence = Sequence { rest, frames: &shapes, triangles: &puppet.mesh.triangles };
                    decompose(&sequence, &Task::Search { bones }, &settings, &silent).unwrap()
                };
                let own = run(rest, frames);
                for (round, by) in Other::some(3).iter().enumerate() {
                    let moved: Vec<Vec<DVec3>> = frames.iter().map(|x| by.points(x)).collect();
                    let (other_rest, what) = (by.points(rest), format!("{bones} bones, {kind:?}, {smooth:?}, {round}"));
                    let other = run(&other_rest, &moved);
                    same((rest, &own), (&other_rest, &other), by, 1e-6, &what);
                }
            }
        }
    }
}

#[test]
fn clusters_do_not_depend_on_where_the_sequence_stands() {
    let puppet = Puppet::new();
    let rest = &puppet.mesh.positions;
    let frames: Vec<Vec<DVec3>> = puppet.poses(6).iter().map(|pose| puppet.skin(pose)).collect();
    for kind in [BoneKind::Rigid, BoneKind::NearRigid { stiffness: 1e-3 }] {
        let settings = ClusteringSettings { bandwidth: Bandwidth::Given(0.4), kind, influences: 4 };
        let run = |rest: &[DVec3], frames: &[Vec<DVec3>]| {
            let shapes: Vec<&[DVec3]> = frames.iter().map(Vec::as_slice).collect();
            let sequence = Sequence { rest, frames: &shapes, triangles: &puppet.mesh.triangles };
            cluster(&sequence, &settings, &silent).unwrap()
        };
        let own = run(rest, &frames);
        for (round, by) in Other::some(3).iter().enumerate() {
            let moved: Vec<Vec<DVec3>> = frames.iter().map(|x| by.points(x)).collect();
            let other_rest = by.points(rest);
            same((rest, &own), (&other_rest, &run(&other_rest, &moved)), by, 1e-6, &format!("{kind:?}, {round}"));
        }
    }
}

#[test]
fn heat_does_not_depend_on_where_the_mesh_stands() {
    let puppet = Puppet::new();
    let warm = |mesh: &Mesh, skeleton: &Skeleton| {
        let segments = bone_segments(skeleton, |_| false);
        heat_weights(mesh, &segments, &HeatSettings::default(), &silent).unwrap()
    };
    let (own, report) = warm(&puppet.mesh, &puppet.skeleton);
    for (round, by) in Other::some(6).iter().enumerate() {
        let (other, theirs) = warm(&by.mesh(&puppet.mesh), &by.skeleton(&puppet.skeleton));
        let apart = largest_difference(&own, &other);
        assert!(apart < 1e-9, "{round}: {apart}");
        assert_eq!(report, theirs);
    }
}

/// Scans of the puppet in some of its poses: its own rings, shifted, so that every point has its equals.
fn scans(puppet: &Puppet) -> Vec<Scan> {
    let label = |s: usize| format!("scan {s}");
    let scan = |(s, pose): (usize, BoneTransforms)| {
        let positions = puppet.skin(&pose);
        Scan { label: label(s), transforms: pose, positions, triangles: puppet.mesh.triangles.clone() }
    };
    puppet.poses(6).into_iter().enumerate().map(scan).collect()
}

#[test]
fn weights_from_scans_do_not_depend_on_where_the_scans_stand() {
    let puppet = Puppet::new();
    let scans = scans(&puppet);
    let start = |skeleton: &Skeleton, mesh: &Mesh| {
        heat_weights(mesh, &bone_segments(skeleton, |_| false), &HeatSettings::default(), &silent).unwrap().0
    };
    let settings = ScanSettings { rounds: 12, ..ScanSettings::default() };
    let run = |mesh: &Mesh, skeleton: &Skeleton, scans: &[Scan]| {
        let start = start(skeleton, mesh);
        let (weights, report) = fit_scans(mesh, skeleton, &start, scans, &settings, &silent).unwrap();
        let templates = fit_templates(mesh, &weights, scans, &TemplateSettings::default(), &silent).unwrap();
        (weights, report, templates)
    };
    let (own, report, templates) = run(&puppet.mesh, &puppet.skeleton, &scans);
    for (round, by) in Other::some(3).iter().enumerate() {
        let moved: Vec<Scan> = scans
            .iter()
            .map(|s| Scan { transforms: by.pose(&s.transforms), positions: by.points(&s.positions), ..s.clone() })
            .collect();
        let (other, theirs, on_scans) = run(&by.mesh(&puppet.mesh), &by.skeleton(&puppet.skeleton), &moved);
        assert_eq!(report.rounds, theirs.rounds, "{round}");
        let apart = largest_difference(&own, &other);
        assert!(apart < 1e-6, "{round}: {apart}");
        for (a, b) in templates.iter().zip(&on_scans) {
            assert_eq!(a.seen, b.seen);
            let far =
                a.example.positions.iter().zip(&b.example.positions).map(|(p, q)| by.point(*p).distance(*q) / by.scale);
            assert!(far.fold(0.0, f64::max) < 1e-6, "{round}");
        }
    }
}

#[test]
fn poses_of_scans_do_not_depend_on_where_they_stand() {
    let arm = Arm::new(24, 12);
    let ranges = || JointRanges { moves: BoneVec::new(vec![true; 4]), nearest: &|_, q: DQuat| q, alike: vec![] };
    let poses = ArmPose::some(3, 9);
    let surfaces: Vec<ScanSurface> = poses
        .iter()
        .map(|pose| {
            let mut positions = vec![DVec3::ZERO; arm.rig.mesh().positions.len()];
            dermis_deform::lbs(&arm.rig.mesh().positions, arm.weights(), &arm.transforms(pose), &mut positions);
            ScanSurface {
                label: "scan".into(),
                positions,
                triangles: arm.rig.mesh().triangles.clone(),
                known: Known::Nothing,
            }
        })
        .collect();
    let run = |mesh: &Mesh, skeleton: &Skeleton, scans: &[ScanSurface]| {
        register(mesh, skeleton, arm.weights(), &ranges(), scans, &RegisterSettings::default(), &silent).unwrap()
    };
    let own = run(arm.rig.mesh(), arm.rig.skeleton(), &surfaces);
    for (round, by) in Other::some(3).iter().enumerate() {
        let moved: Vec<ScanSurface> =
            surfaces.iter().map(|s| ScanSurface { positions: by.points(&s.positions), ..s.clone() }).collect();
        let other = run(&by.mesh(arm.rig.mesh()), &by.skeleton(arm.rig.skeleton()), &moved);
        for (at, (a, b)) in own.iter().zip(&other).enumerate() {
            let (a, b) = (a.found.as_ref().unwrap(), b.found.as_ref().unwrap());
            assert_eq!(a.began, b.began, "{round}, scan {at}");
            for (a, b) in a.transforms.iter().zip(b.transforms.iter()) {
                let a = by.transform(a);
                // Steps end below 5e-4: where they end is the same to rounding that they enlarged.
                assert!(a.matrix3.abs_diff_eq(b.matrix3, 1e-6), "{round}, scan {at}: {} {}", a.matrix3, b.matrix3);
                assert!(a.translation.distance(b.translation) < 1e-5 * by.scale);
            }
        }
    }
}
