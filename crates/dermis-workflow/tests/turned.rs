//! The bundled body, standing another way, elsewhere and in another size: the same bones, the same weights.

use dermis_fit::decompose::{BoneKind, DecomposeSettings, Sequence, Task, decompose};
use dermis_fit::scans::{Scan, ScanSettings, fit_scans};
use dermis_fit::{HeatSettings, bone_segments, heat_weights, silent};
use dermis_rig::glam::{DAffine3, DVec3};
use dermis_rig::{BoneIndex, BoneTransforms, Example, Influences, Mesh, Rig, Skeleton};
use dermis_testkit::Random;
use dermis_workflow::load::{ReadOptions, Source, load_examples, load_rig};
use std::path::Path;

/// p ↦ G (scale p).
struct Other {
    motion: DAffine3,
    scale: f64,
}

impl Other {
    fn new(seed: u64, scale: f64) -> Self {
        let mut random = Random::new(seed);
        let motion = DAffine3::from_rotation_translation(random.rotation(3.1), random.direction() * 3.0);
        Self { motion, scale }
    }
    fn points(&self, points: &[DVec3]) -> Vec<DVec3> {
        points.iter().map(|p| self.motion.transform_point3(*p * self.scale)).collect()
    }
    fn pose(&self, pose: &BoneTransforms) -> BoneTransforms {
        let scaled = |m: &DAffine3| DAffine3 { translation: m.translation * self.scale, ..*m };
        BoneTransforms::new(pose.iter().map(|m| self.motion * scaled(m) * self.motion.inverse()).collect())
    }
    fn mesh(&self, mesh: &Mesh) -> Mesh {
        Mesh { positions: self.points(&mesh.positions), triangles: mesh.triangles.clone(), ..Mesh::default() }
    }
    fn skeleton(&self, skeleton: &Skeleton) -> Skeleton {
        let bind = skeleton.bind().iter().map(|b| DAffine3 {
            matrix3: self.motion.matrix3 * b.matrix3,
            translation: self.motion.transform_point3(b.translation * self.scale),
        });
        let (names, parents) = (skeleton.names().iter().cloned(), skeleton.parents().iter().copied());
        Skeleton::new(names.collect(), parents.collect(), bind.collect()).unwrap()
    }
}

/// By vertex, the largest difference of a weight.
fn differences<'a>(a: &'a Influences, b: &'a Influences) -> impl Iterator<Item = f64> + 'a {
    let bones = a.bones_named().max(b.bones_named());
    let entry = move |v: usize, k: usize| (a.value(v, BoneIndex::new(k)) - b.value(v, BoneIndex::new(k))).abs();
    (0..a.vertices()).map(move |v| (0..bones).fold(0.0, |most, k| entry(v, k).max(most)))
}

fn largest_difference(a: &Influences, b: &Influences) -> f64 {
    differences(a, b).fold(0.0, f64::max)
}

fn vertices_apart(a: &Influences, b: &Influences, most: f64) -> usize {
    differences(a, b).filter(|apart| *apart > most).count()
}

/// The body and every third pose of its exercise.
fn body() -> (Rig, Vec<Example>) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../assets/body/body_exercise.npz");
    let loaded = load_rig(&path).unwrap();
    let (examples, _) =
        load_examples(&loaded.rig, &loaded.space, &[Source::from(path)], &ReadOptions::default(), "examples").unwrap();
    (loaded.rig, examples.examples().iter().step_by(3).cloned().collect())
}

#[test]
fn the_body_is_decomposed_into_the_same_bones_whichever_way_it_stands() {
    let (rig, examples) = body();
    let mesh = rig.mesh();
    for (kind, bones) in [(BoneKind::Rigid, 12), (BoneKind::Affine, 8)] {
        let run = |rest: &[DVec3], frames: &[Vec<DVec3>]| {
            let shapes: Vec<&[DVec3]> = frames.iter().map(Vec::as_slice).collect();
            let sequence = Sequence { rest, frames: &shapes, triangles: &mesh.triangles };
            let settings = DecomposeSettings { kind, ..DecomposeSettings::default() };
            decompose(&sequence, &Task::Search { bones }, &settings, &silent).unwrap()
        };
        let frames: Vec<Vec<DVec3>> = examples.iter().map(|e| e.positions.clone()).collect();
        let own = run(&mesh.positions, &frames);
        assert!(own.report.outliers.is_empty(), "no vertex of the body is where no skin can be");
        for (seed, scale) in [(1, 1.0), (2, 100.0)] {
            let by = Other::new(seed, scale);
            let moved: Vec<Vec<DVec3>> = frames.iter().map(|x| by.points(x)).collect();
            let other = run(&by.points(&mesh.positions), &moved);
            assert_eq!(own.report.iterations, other.report.iterations, "{kind:?}, turn {seed}");
            let apart = largest_difference(&own.weights, &other.weights);
            assert!(apart < 1e-6, "{kind:?}, turn {seed}: weights are {apart} apart");
            let (rms, theirs) = (own.report.mean_square.sqrt(), other.report.mean_square.sqrt() / scale);
            assert!((rms - theirs).abs() < 1e-9 * rms, "{kind:?}, turn {seed}: {rms} and {theirs}");
        }
    }
}

#[test]
fn the_body_gets_the_same_weights_by_heat_and_from_scans_whichever_way_it_stands() {
    let (rig, examples) = body();
    let scans: Vec<Scan> = examples
        .iter()
        .step_by(4)
        .map(|e| Scan {
            label: e.label.clone(),
            transforms: e.transforms.clone(),
            positions: e.positions.clone(),
            triangles: rig.mesh().triangles.clone(),
        })
        .collect();
    let run = |mesh: &Mesh, skeleton: &Skeleton, scans: &[Scan]| {
        let segments = bone_segments(skeleton, |_| false);
        let (heat, report) = heat_weights(mesh, &segments, &HeatSettings::default(), &silent).unwrap();
        let settings = ScanSettings { rounds: 3, ..ScanSettings::default() };
        let (fitted, of_scans) = fit_scans(mesh, skeleton, &heat, scans, &settings, &silent).unwrap();
        (heat, report, fitted, of_scans)
    };
    let own = run(rig.mesh(), rig.skeleton(), &scans);
    let by = Other::new(3, 0.01);
    let moved: Vec<Scan> = scans
        .iter()
        .map(|s| Scan { transforms: by.pose(&s.transforms), positions: by.points(&s.positions), ..s.clone() })
        .collect();
    let other = run(&by.mesh(rig.mesh()), &by.skeleton(rig.skeleton()), &moved);
    // Counts are equal; a sum of weights differs by rounding.
    let (mut seen, loss) = (other.1.clone(), own.1.pruned.largest_loss);
    assert!((seen.pruned.largest_loss - loss).abs() < 1e-9, "{} {loss}", seen.pruned.largest_loss);
    seen.pruned.largest_loss = loss;
    assert_eq!(own.1, seen, "bone heat sees the same");
    assert!(largest_difference(&own.0, &other.0) < 1e-8, "heat: {}", largest_difference(&own.0, &other.0));
    assert_eq!(own.3.coverage, other.3.coverage);
    // Where two triangles of a scan are as near as each other, rounding chooses: few vertices differ, and by little.
    let (few, apart) = (vertices_apart(&own.2, &other.2, 1e-6), largest_difference(&own.2, &other.2));
    assert!(few <= own.2.vertices() / 100 && apart < 5e-3, "scans: {few} vertices differ, by {apart} at most");
}
