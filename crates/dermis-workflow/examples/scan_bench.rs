//! How exact are the poses and weights that `dermis weights --scans` finds, and how long does it take?
//!
//! `cargo xtask bench scans` runs this. Scans are made of a character in poses of its exercise: skins by its own weights, vertices anywhere on
//! the surface, noise of half a millimetre along each axis, holes over a quarter of the area. The search knows the rest mesh and the
//! skeleton and begins with bone heat. What it finds is compared with what made the scans; then poses that no scan showed are scanned, and
//! their poses are found with the weights of both fits. It prints a JSON object a line.

use dermis_testkit::{Random, Scanner};
use dermis_workflow::deform::lbs;
use dermis_workflow::fits::heat::HeatSettings;
use dermis_workflow::fits::register::{Known, Registration};
use dermis_workflow::fits::scans::{Scan, ScanSettings};
use dermis_workflow::fits::{ScanSurface, silent};
use dermis_workflow::load::{ReadOptions, Source, load_examples, load_rig};
use dermis_workflow::motion::anatomy::{Anatomy, Part};
use dermis_workflow::rig::glam::{DAffine3, DQuat, DVec3};
use dermis_workflow::rig::mesh::vertex_areas;
use dermis_workflow::rig::rotation::{nearest_rotation, quat_from_matrix, rotation_vector, swing_twist};
use dermis_workflow::rig::{BoneIndex, BoneTransforms, BoneVec, Example, Influences, Rig};
use dermis_workflow::verbs::weights::scan_poses::{REACH, Rounds, anatomy, scan_poses};
use dermis_workflow::verbs::weights::{from_scans, heat};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Instant;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// What the scanner does: points, noise in metres, the share of the area that is missing, holes.
const SCANNER: Scanner = Scanner { points: 20_000, noise: 0.0005, missing: 0.25, holes: 5 };

fn main() {
    if let Err(error) = run() {
        println!("{}", json!({ "error": error.to_string() }));
    }
}

/// Arguments: scans, held-out scans, rounds, and files with the exercise and with other motion.
fn run() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, default: usize| arguments.get(at).map_or(Ok(default), |text| text.parse());
    let (count, held, rounds) = (number(0, 31)?, number(1, 6)?, number(2, 5)?);
    let assets = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../assets/body");
    let file = |at: usize, name: &str| arguments.get(at).map_or_else(|| assets.join(name), PathBuf::from);
    let (path, other) = (file(3, "body_exercise.npz"), file(4, "body_walk.npz"));
    let loaded = load_rig(&path)?;
    let rig = &loaded.rig;
    let truth = rig.weights().ok_or("the rig has no weights to make scans with")?;
    let examples = |path: &Path| {
        let source = Source { path: path.to_path_buf(), part: None };
        load_examples(rig, &loaded.space, &[source], &ReadOptions::default(), "examples")
    };
    let (exercise, _) = examples(&path)?;
    let (motion, _) = examples(&other)?;
    let scanned = spread(exercise.examples(), count);
    let held_out = spread(motion.examples(), held);
    let character = Character { rig, truth, anatomy: anatomy(rig, None)? };
    let mut surfaces = character.scans(&scanned, 1);
    let settings = ScanSettings::default();
    let start =
        heat(rig, &[], &HeatSettings { influences: Some(settings.influences), ..HeatSettings::default() }, &silent)?.0;
    let row = |what: &str, weights: &Influences, seconds: f64| {
        character.weights_row(what, weights, exercise.examples(), seconds)
    };
    println!("{}", row("bone heat", &start, 0.0));

    let clock = Instant::now();
    let posed = scanned.iter().zip(&surfaces).map(|(example, scan)| Scan {
        label: scan.label.clone(),
        transforms: example.transforms.clone(),
        positions: scan.positions.clone(),
        triangles: scan.triangles.clone(),
    });
    let (known, _) = from_scans(rig, &start, None, &posed.collect::<Vec<_>>(), &settings, &silent)?;
    println!("{}", row("known poses", &known, clock.elapsed().as_secs_f64()));

    let clock = Instant::now();
    let settings = ScanSettings { reach: REACH, ..settings };
    let alternation = Rounds { rig, anatomy: &character.anatomy, rule: None, settings, count: rounds };
    let mut weights = start;
    for done in 1..=rounds {
        let found = alternation.round(done - 1, &weights, &mut surfaces, &silent)?;
        weights = found.weights;
        let mut line = row(&format!("found poses, round {done}"), &weights, clock.elapsed().as_secs_f64());
        line["angles"] = character.angles(&found.registrations, &scanned);
        line["scans"] = json!(count);
        println!("{line}");
    }
    for (what, weights) in [("known poses", &known), ("found poses", &weights), ("its own weights", truth)] {
        let clock = Instant::now();
        let held: Vec<ScanSurface> = character.scans(&held_out, 1001);
        let found = scan_poses(rig, weights, rounds, &character.anatomy, &held, &silent)?;
        let poses: Vec<_> = found.iter().filter_map(|one| one.found.as_ref().ok()).collect();
        println!(
            "{}",
            json!({
                "held_out": what,
                "poses": poses.len(),
                "scans": held.len(),
                "distance": mean(poses.iter().map(|pose| pose.rms * pose.rms)).sqrt(),
                "explained": mean(poses.iter().map(|pose| pose.of_scan)),
                "angles": character.angles(&found, &held_out),
                "seconds": clock.elapsed().as_secs_f64(),
            })
        );
    }
    Ok(())
}

/// So many examples, evenly spread, the first included.
fn spread(examples: &[Example], count: usize) -> Vec<&Example> {
    let count = count.min(examples.len());
    (0..count).map(|at| &examples[at * examples.len() / count]).collect()
}

struct Character<'a> {
    rig: &'a Rig,
    truth: &'a Influences,
    anatomy: Anatomy,
}

impl Character<'_> {
    fn skin(&self, weights: &Influences, transforms: &BoneTransforms) -> Vec<DVec3> {
        let mut skin = vec![DVec3::ZERO; self.rig.mesh().positions.len()];
        lbs(&self.rig.mesh().positions, weights, transforms, &mut skin);
        skin
    }

    /// A scan per example.
    fn scans(&self, examples: &[&Example], seed: u64) -> Vec<ScanSurface> {
        let scan = |(at, example): (usize, &&Example)| {
            let skin = self.skin(self.truth, &example.transforms);
            let mut random = Random::new(seed + at as u64);
            let (positions, triangles) = SCANNER.scan(&skin, &self.rig.mesh().triangles, &mut random);
            ScanSurface { label: example.label.clone(), positions, triangles, known: Known::Nothing }
        };
        examples.iter().enumerate().map(scan).collect()
    }

    /// Distances of skins by some weights from those by the character's own: root mean square and largest over vertices, the mean over the skin's
    /// area, and the mean over the area of arms and legs as a share of each limb's radius.
    fn weights_row(&self, what: &str, weights: &Influences, examples: &[Example], seconds: f64) -> Value {
        let mesh = self.rig.mesh();
        let areas = vertex_areas(&mesh.positions, &mesh.triangles);
        let limbs = self.limbs();
        let (mut squares, mut most) = (0.0, 0.0_f64);
        let (mut all, mut of_limbs) = ([0.0; 2], [0.0; 2]);
        for example in examples {
            let (made, own) = (self.skin(weights, &example.transforms), self.skin(self.truth, &example.transforms));
            for (v, (a, b)) in made.iter().zip(&own).enumerate() {
                let distance = a.distance(*b);
                squares += distance * distance;
                most = most.max(distance);
                all = [all[0] + areas[v] * distance, all[1] + areas[v]];
                if let Some(radius) = self.truth.dominant(v).and_then(|bone| limbs[bone]) {
                    of_limbs = [of_limbs[0] + areas[v] * distance / radius, of_limbs[1] + areas[v]];
                }
            }
        }
        let count = (examples.len() * mesh.positions.len()) as f64;
        json!({
            "weights": what,
            "rms": (squares / count).sqrt(),
            "max": most,
            "mean": all[0] / all[1],
            "mean_of_limb_radius": of_limbs[0] / of_limbs[1],
            "limb_radius": mean(limbs.iter().flatten().copied()),
            "seconds": seconds,
        })
    }

    /// Per bone of arms and legs the mean distance of the skin that follows it by more than 0.9 from the line between the joints at its ends, metres.
    fn limbs(&self) -> BoneVec<Option<f64>> {
        let skeleton = self.rig.skeleton();
        let limbs = [Part::UpperArm, Part::Forearm, Part::Thigh, Part::Shin];
        let radius = |bone: BoneIndex| {
            self.anatomy.roles[bone].filter(|role| limbs.contains(&role.part))?;
            let (head, along) = (skeleton.bind()[bone].translation, self.along(bone));
            let skin = (0..self.truth.vertices()).filter(|v| self.truth.value(*v, bone) > 0.9);
            let apart = skin.map(|v| (self.rig.mesh().positions[v] - head).reject_from(along).length());
            Some(mean(apart)).filter(|radius| *radius > 0.0)
        };
        BoneVec::new(skeleton.bones().map(radius).collect())
    }

    /// Where a bone points at rest: to the mean of the joints below it, or on from its parent.
    fn along(&self, bone: BoneIndex) -> DVec3 {
        let skeleton = self.rig.skeleton();
        let place = |bone: BoneIndex| skeleton.bind()[bone].translation;
        let below: Vec<DVec3> = skeleton.bones().filter(|b| skeleton.parents()[*b] == Some(bone)).map(place).collect();
        let from = skeleton.parents()[bone].map_or(DVec3::ZERO, place);
        let along = match below.len() {
            0 => place(bone) - from,
            count => below.into_iter().sum::<DVec3>() / count as f64 - place(bone),
        };
        along.normalize_or(DVec3::Y)
    }

    /// Mean errors of joints against their parents, degrees: all in all, of the bone's direction and about the bone; of fingers and of the other
    /// joints, and of those that the scans show. The hips count against the world: they turn the character.
    fn angles(&self, found: &[Registration], examples: &[&Example]) -> Value {
        let skeleton = self.rig.skeleton();
        let rotation = |m: &DAffine3| quat_from_matrix(&nearest_rotation(&m.matrix3));
        let digit = |bone| self.anatomy.roles[bone].is_some_and(|r| matches!(r.part, Part::Finger | Part::Thumb));
        let hips = |bone| self.anatomy.roles[bone].is_some_and(|r| r.part == Part::Hips);
        // Sums of the three errors and their number: the body, fingers, and both where the scan shows the joint.
        let mut sums = [[0.0_f64; 4]; 4];
        for (one, example) in found.iter().zip(examples) {
            let Ok(pose) = &one.found else { continue };
            for bone in skeleton.bones().filter(|b| skeleton.parents()[*b].is_some()) {
                let own = |pose: &BoneTransforms| {
                    let parent = skeleton.parents()[bone].filter(|_| !hips(bone));
                    let above = parent.map_or(DQuat::IDENTITY, |parent| rotation(&pose[parent]));
                    above.conjugate() * rotation(&pose[bone])
                };
                let error = own(&example.transforms).conjugate() * own(&pose.transforms);
                let (swing, twist) = swing_twist(error, self.along(bone));
                let degrees = [error, swing, twist].map(|q| rotation_vector(q).length().to_degrees());
                let shown = pose.vague.iter().all(|(vague, _)| *vague != bone);
                let at = usize::from(digit(bone));
                for at in [at].into_iter().chain(shown.then_some(2 + at)) {
                    (0..3).for_each(|i| sums[at][i] += degrees[i]);
                    sums[at][3] += 1.0;
                }
            }
        }
        let mean = |sums: [f64; 4]| {
            let count = sums[3].max(1.0);
            json!({ "all": sums[0] / count, "swing": sums[1] / count, "twist": sums[2] / count, "joints": sums[3] })
        };
        json!({
            "body": mean(sums[0]),
            "fingers": mean(sums[1]),
            "body_shown": mean(sums[2]),
            "fingers_shown": mean(sums[3]),
        })
    }
}

/// 0 of nothing.
fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    sum / f64::max(count, 1.0)
}
