//! Weights from scans: noisy, partial meshes of their own of an arm whose weights are known.

use dermis_deform::lbs;
use dermis_fit::scans::{Scan, ScanError, ScanReport, ScanSettings, fit_scans};
use dermis_fit::{Cancelled, HeatSettings, bone_segments, heat_weights, silent};
use dermis_rig::glam::{DAffine3, DVec3};
use dermis_rig::{BoneIndex, BoneTransforms, Influences, Mesh, Mirror, Skeleton};
use dermis_testkit::arm::{FOREARM, HAND, TORSO, UPPER};
use dermis_testkit::{Arm, ArmPose, Random, change_rig, rms, scaled_pose};
use std::ops::ControlFlow;

/// Mean radius of the arm, metres.
const RADIUS: f64 = 0.045;

fn skin(arm: &Arm, weights: &Influences, transforms: &BoneTransforms) -> Vec<DVec3> {
    let mut out = vec![DVec3::ZERO; arm.rig.mesh().positions.len()];
    lbs(&arm.rig.mesh().positions, weights, transforms, &mut out);
    out
}

fn heat(arm: &Arm) -> Influences {
    let segments = bone_segments(arm.rig.skeleton(), |_| false);
    heat_weights(arm.rig.mesh(), &segments, &HeatSettings::default(), &silent).unwrap().0
}

/// A scan of the arm in a pose: another arm's vertices, noise, and round holes.
fn scan(pose: &ArmPose, sides: usize, noise: f64, missing: f64, random: &mut Random) -> Scan {
    let other = Arm::new(2 * sides + random.below(9), sides);
    let transforms = other.transforms(pose);
    let mut positions = skin(&other, other.weights(), &transforms);
    positions.iter_mut().for_each(|p| *p += DVec3::new(random.normal(), random.normal(), random.normal()) * noise);
    let mut triangles = other.rig.mesh().triangles.clone();
    let whole = triangles.len() as f64;
    while (triangles.len() as f64) > (1.0 - missing) * whole {
        let centre = positions[triangles[random.below(triangles.len())][0] as usize];
        triangles.retain(|t| positions[t[0] as usize].distance(centre) > 0.04);
    }
    Scan { label: format!("{sides} sides"), transforms, positions, triangles }
}

/// How many sides the arm has that a scan was made of.
fn scan_sides(scan: &Scan) -> usize {
    scan.label.split(' ').next().unwrap().parse().unwrap()
}

fn scans(count: usize, noise: f64, missing: f64, seed: u64) -> Vec<Scan> {
    let mut random = Random::new(seed);
    let poses = ArmPose::some(count, seed);
    poses.iter().map(|pose| scan(pose, 24 + random.below(12), noise, missing, &mut random)).collect()
}

fn run(arm: &Arm, start: &Influences, scans: &[Scan], settings: &ScanSettings) -> (Influences, ScanReport) {
    let (weights, report) = fit_scans(arm.rig.mesh(), arm.rig.skeleton(), start, scans, settings, &silent).unwrap();
    for row in weights.rows() {
        assert!((row.iter().map(|e| e.1).sum::<f64>() - 1.0).abs() < 1e-12);
        assert!(row.len() <= settings.influences && row.iter().all(|(_, w)| *w > 0.0));
    }
    (weights, report)
}

/// The arm's weights, where the hand takes a share of what forearm and hand have together.
fn hand_takes(arm: &Arm, share: f64) -> Vec<Vec<(BoneIndex, f64)>> {
    let row = |row: &[(BoneIndex, f64)]| {
        let (lower, others): (Vec<_>, Vec<_>) = row.iter().partition(|(bone, _)| [FOREARM, HAND].contains(bone));
        let of_both: f64 = lower.iter().map(|(_, w)| w).sum();
        let shared = [(FOREARM, (1.0 - share) * of_both), (HAND, share * of_both)];
        others.into_iter().chain(shared).filter(|(_, w)| *w > 0.0).collect()
    };
    arm.weights().rows().map(row).collect()
}

/// rms over poses that no scan shows.
fn unseen_error(arm: &Arm, weights: &Influences) -> f64 {
    let poses: Vec<BoneTransforms> = ArmPose::some(30, 99).iter().map(|pose| arm.transforms(pose)).collect();
    let skins = |weights: &Influences| poses.iter().map(|pose| skin(arm, weights, pose)).collect::<Vec<_>>();
    rms(&skins(weights), &skins(arm.weights()))
}

/// The weights that made the scans are found again through noise of 1 % of the limb's radius and holes of 30 %, from bone heat.
#[test]
fn noisy_partial_scans_give_the_weights_back() {
    let arm = Arm::new(30, 14);
    let start = heat(&arm);
    let before = unseen_error(&arm, &start);
    assert!(before > 0.05 * RADIUS, "bone heat is {before} off");
    let (weights, report) = run(&arm, &start, &scans(20, 0.01 * RADIUS, 0.3, 7), &ScanSettings::default());
    let after = unseen_error(&arm, &weights);
    assert!(after < 0.025 * RADIUS, "{before} became {after}; {report:?}");
    assert!(report.distance.1 < 0.5 * report.distance.0);
    assert_eq!(report.coverage.iter().sum::<usize>(), arm.rig.mesh().positions.len());
    assert!(report.change <= ScanSettings::default().change && report.still.is_empty());
}

/// Scans with the mesh's own vertices, posed by the weights they start from: nothing to gain anywhere.
#[test]
fn exact_scans_are_a_fixed_point() {
    let arm = Arm::new(20, 10);
    let poses = ArmPose::some(8, 3);
    let exact = poses.iter().map(|pose| {
        let transforms = arm.transforms(pose);
        let positions = skin(&arm, arm.weights(), &transforms);
        Scan { label: String::new(), transforms, positions, triangles: arm.rig.mesh().triangles.clone() }
    });
    let settings = ScanSettings { smoothness: 0.0, agreement: 0.0, ..ScanSettings::default() };
    let (weights, report) = run(&arm, arm.weights(), &exact.collect::<Vec<_>>(), &settings);
    assert_eq!(report.rounds, 1);
    // The least ridge, 1e-7 L² a pair, pulls towards the mean of the neighbours: the objective at the answer is not above
    // that of the truth, so along normals the skin moves by √1e-7 |w − w̄| L at most, and by ten times that along the surface.
    let poses: Vec<BoneTransforms> = poses.iter().map(|pose| arm.transforms(pose)).collect();
    let skins = |weights: &Influences| poses.iter().map(|pose| skin(&arm, weights, pose)).collect::<Vec<_>>();
    let (moved, steepest) = (rms(&skins(&weights), &skins(arm.weights())), 0.3);
    assert!(moved < 10.0 * 1e-7f64.sqrt() * steepest * arm.length(), "{moved}");
    assert!(moved < 1e-4 && report.change < 1e-3, "{moved} {}", report.change);
    assert!(report.distance.0 < 1e-15);
}

/// A scanner that sees the skin half a millimetre too thick shifts no weights: the offset is fitted out.
#[test]
fn a_coat_of_constant_thickness_costs_little() {
    let arm = Arm::new(30, 14);
    let start = heat(&arm);
    let thin = scans(20, 0.0, 0.0, 7);
    let thick: Vec<Scan> = thin
        .iter()
        .map(|scan| {
            let mut normals = vec![DVec3::ZERO; scan.positions.len()];
            dermis_deform::normals::mesh_normals(&scan.triangles, &scan.positions, &mut normals).unwrap();
            let positions = scan.positions.iter().zip(&normals).map(|(p, n)| *p + *n * (0.05 * RADIUS)).collect();
            Scan { positions, ..scan.clone() }
        })
        .collect();
    let [thin, thick] =
        [thin, thick].map(|scans| unseen_error(&arm, &run(&arm, &start, &scans, &ScanSettings::default()).0));
    assert!(thick < 0.025 * RADIUS && thin < 0.025 * RADIUS, "{thin} {thick}");
}

/// Bones that move alike in every scan share a weight that nothing divides: it goes to the nearer.
#[test]
fn what_scans_leave_open_goes_to_the_nearest_bone() {
    let arm = Arm::new(30, 14);
    // No scan bends the wrist.
    let start = Influences::from_rows(hand_takes(&arm, 0.5)).unwrap();
    let poses = ArmPose::some(8, 5).into_iter().map(|pose| ArmPose { wrist: DVec3::ZERO, ..pose });
    let mut random = Random::new(5);
    let seen: Vec<Scan> = poses.map(|pose| scan(&pose, 28, 0.0, 0.0, &mut random)).collect();
    let settings = ScanSettings { smoothness: 0.0, ..ScanSettings::default() };
    let (weights, _) = run(&arm, &start, &seen, &settings);
    let share = |v: usize, bone| weights.value(v, bone) / (weights.value(v, FOREARM) + weights.value(v, HAND));
    let wrist = arm.rig.skeleton().bind()[HAND].translation.x;
    for (v, p) in arm.rig.mesh().positions.iter().enumerate() {
        let (from_wrist, bone) = if p.x < wrist { (wrist - p.x, FOREARM) } else { (p.x - wrist, HAND) };
        if from_wrist > 2.0 * RADIUS && weights.value(v, FOREARM) + weights.value(v, HAND) > 0.5 {
            assert!(share(v, bone) > 0.99, "{p}: {} of bone {bone:?}", share(v, bone));
        }
    }
}

/// A bone that carries no skin at the start is a helper, or one that `--skip` named: it gets none.
#[test]
fn bones_without_skin_stay_without() {
    let arm = Arm::new(30, 14);
    let mut rows = hand_takes(&arm, 0.0);
    let scans = scans(12, 0.0, 0.0, 5);
    let hand = |rows: &[Vec<(BoneIndex, f64)>]| {
        let start = Influences::from_rows(rows.to_vec()).unwrap();
        let (weights, _) = run(&arm, &start, &scans, &ScanSettings::default());
        weights.rows().filter(|row| row.iter().any(|(b, _)| *b == HAND)).count()
    };
    assert_eq!(hand(&rows), 0);
    // Where one vertex follows the hand, the hand's skin is found.
    let tip = (0..rows.len()).max_by(|a, b| {
        let x = |v: usize| arm.rig.mesh().positions[v].x;
        x(*a).total_cmp(&x(*b))
    });
    rows[tip.unwrap()] = vec![(HAND, 1.0)];
    let of_truth = arm.weights().rows().filter(|row| row.iter().any(|(b, _)| *b == HAND)).count();
    assert!(hand(&rows) > of_truth / 2, "{} of {of_truth}", hand(&rows));
}

/// Few scans leave weights open, and are still better than none: from bone heat, three scans of an arm with noise and holes.
#[test]
fn few_scans_are_better_than_none() {
    let arm = Arm::new(30, 14);
    let start = heat(&arm);
    let before = unseen_error(&arm, &start);
    let after = [0, 1, 2, 3, 4, 5].map(|seed| {
        let scans = scans(3, 0.01 * RADIUS, 0.3, seed);
        unseen_error(&arm, &run(&arm, &start, &scans, &ScanSettings::default()).0)
    });
    assert!(after.iter().all(|after| *after < before), "{before} became {after:?}");
    assert!(after.iter().sum::<f64>() < 0.6 * 6.0 * before, "{before} became {after:?}");
}

#[test]
fn what_no_scan_shows_keeps_its_weights_and_is_reported() {
    let arm = Arm::new(30, 14);
    let start = heat(&arm);
    let mut seen = scans(8, 0.0, 0.0, 5);
    // Every scan ends at the middle of the forearm, and the wrist stands still.
    for (scan, pose) in seen.iter_mut().zip(ArmPose::some(8, 5)) {
        let other = Arm::new(48, 24);
        let pose = ArmPose { wrist: DVec3::ZERO, ..pose };
        scan.transforms = other.transforms(&pose);
        scan.positions = skin(&other, other.weights(), &scan.transforms);
        let rest = &other.rig.mesh().positions;
        scan.triangles = other
            .rig
            .mesh()
            .triangles
            .iter()
            .filter(|t| t.iter().all(|&c| rest[c as usize].x < 0.42))
            .copied()
            .collect();
    }
    let (weights, report) = run(&arm, &start, &seen, &ScanSettings::default());
    assert_eq!(report.still, [HAND]);
    assert!(report.coverage[0] > 0 && report.scans.iter().all(|s| s.on_border > 0));
    for (v, p) in arm.rig.mesh().positions.iter().enumerate().filter(|(_, p)| p.x > 0.6) {
        assert_eq!(weights.of(v), start.of(v), "{p}");
    }
    assert!((0..weights.vertices()).any(|v| weights.of(v) != start.of(v)));
}

fn mirror(arm: &Arm) -> Mirror {
    Mirror::find(&arm.rig.mesh().positions, arm.rig.skeleton(), arm.weights()).unwrap()
}

/// Scans show one side of the arm. With its plane of symmetry the other side is as exact, and the weights are mirror images.
#[test]
fn scans_of_one_side_teach_both() {
    let arm = Arm::new(40, 16);
    let start = heat(&arm);
    let mirror = mirror(&arm);
    let mut seen = scans(20, 0.01 * RADIUS, 0.0, 7);
    for scan in &mut seen {
        let rest = Arm::new(scan.positions.len() / scan_sides(scan), scan_sides(scan)).rig.mesh().positions.clone();
        scan.triangles.retain(|t| t.iter().all(|c| mirror.normal.dot(rest[*c as usize]) > mirror.plane));
    }
    let settings = ScanSettings { mirror: Some(mirror.clone()), ..ScanSettings::default() };
    let (one, _) = run(&arm, &start, &seen, &ScanSettings::default());
    let (both, report) = run(&arm, &start, &seen, &settings);
    assert_eq!((report.scans.len(), report.coverage.len()), (20, 41));
    let [one, error] = [&one, &both].map(|weights| unseen_error(&arm, weights));
    assert!(error < 0.5 * one, "{one} became {error}");
    for (v, partner) in mirror.vertices.iter().enumerate() {
        let partner = partner.unwrap() as usize;
        for bone in arm.rig.skeleton().bones() {
            let difference = both.value(v, bone) - both.value(partner, mirror.bones[bone.get()]);
            assert!(difference.abs() < 1e-12, "{v} {difference}");
        }
    }
}

#[test]
fn units_and_threads_change_nothing() {
    let arm = Arm::new(16, 8);
    let start = heat(&arm);
    let some = scans(5, 0.01 * RADIUS, 0.2, 2);
    let settings = ScanSettings { rounds: 4, ..ScanSettings::default() };
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| run(&arm, &start, &some, &settings))
    };
    let (expected, report) = on(1);
    assert_eq!(on(4), (expected.clone(), report));
    for (factor, tolerance) in [(1.0 / 8192.0, 0.0), (8192.0, 0.0), (1e-4, 1e-4), (1e4, 1e-4)] {
        let mut sized = arm.clone();
        change_rig(&mut sized.rig, |mesh, skeleton, _| {
            mesh.positions.iter_mut().for_each(|p| *p *= factor);
            let bind = skeleton.bind().iter().map(|b| DAffine3 { translation: b.translation * factor, ..*b }).collect();
            let (names, parents) = (skeleton.names().to_vec(), skeleton.parents().to_vec());
            *skeleton = Skeleton::new(names, parents, bind).unwrap();
        });
        let resized: Vec<Scan> = some
            .iter()
            .map(|s| Scan {
                transforms: scaled_pose(&s.transforms, factor),
                positions: s.positions.iter().map(|p| *p * factor).collect(),
                ..s.clone()
            })
            .collect();
        let (weights, _) = run(&sized, &start, &resized, &settings);
        // Powers of two round alike. Others may tip what is cut off: a bone of hardly any weight among a vertex's candidates.
        for v in 0..weights.vertices() {
            for bone in arm.rig.skeleton().bones() {
                assert!((weights.value(v, bone) - expected.value(v, bone)).abs() <= tolerance, "{factor} {v}");
            }
        }
    }
}

#[test]
fn unusable_scans_are_refused_by_name() {
    let arm = Arm::new(16, 8);
    let start = heat(&arm);
    let good = scans(3, 0.0, 0.0, 2);
    let refused = |change: &dyn Fn(&mut Scan)| {
        let mut bad = good.clone();
        change(&mut bad[1]);
        fit_scans(arm.rig.mesh(), arm.rig.skeleton(), &start, &bad, &ScanSettings::default(), &silent).unwrap_err()
    };
    assert!(matches!(refused(&|s| s.positions[3].x = f64::NAN), ScanError::Scan { .. }));
    assert!(matches!(refused(&|s| s.triangles[3][0] = 1 << 30), ScanError::Scan { .. }));
    assert!(matches!(refused(&|s| s.triangles.clear()), ScanError::Points { .. }));
    assert!(matches!(refused(&|s| s.triangles = vec![[0, 0, 1]; 5]), ScanError::Points { .. }));
    assert!(matches!(refused(&|s| s.transforms = BoneTransforms::identity(3)), ScanError::Counts { found: 3, .. }));
    let far = refused(&|s| s.positions.iter_mut().for_each(|p| *p += DVec3::splat(9.0)));
    assert!(matches!(far, ScanError::Apart { too_far, vertices, .. } if too_far == vertices), "{far}");
    let inside_out = refused(&|s| s.triangles.iter_mut().for_each(|t| t.reverse()));
    assert!(matches!(inside_out, ScanError::Apart { turned_away, too_far: 0, .. } if turned_away > 0), "{inside_out}");
    let run = |mesh: &Mesh, start: &Influences, scans: &[Scan], settings: &ScanSettings| {
        fit_scans(mesh, arm.rig.skeleton(), start, scans, settings, &silent).unwrap_err()
    };
    let (mesh, settings) = (arm.rig.mesh(), ScanSettings::default());
    assert_eq!(run(mesh, &start, &[], &settings), ScanError::NoScans);
    let points = Mesh { triangles: vec![], ..mesh.clone() };
    assert_eq!(run(&points, &start, &good, &settings), ScanError::NoFaces);
    let few = Influences::from_rows(vec![vec![(TORSO, 1.0)]; 2]).unwrap();
    assert!(matches!(run(mesh, &few, &good, &settings), ScanError::Counts { found: 2, .. }));
    let other = Influences::from_rows(vec![vec![(BoneIndex::new(9), 1.0)]; start.vertices()]).unwrap();
    assert!(matches!(run(mesh, &other, &good, &settings), ScanError::Counts { found: 10, .. }));
    let default = ScanSettings::default;
    for bad in [
        ScanSettings { reach: f64::NAN, ..default() },
        ScanSettings { angle: 0.0, ..default() },
        ScanSettings { tangential: -1.0, ..default() },
        ScanSettings { smoothness: f64::INFINITY, ..default() },
        ScanSettings { agreement: 1.1, ..default() },
        ScanSettings { influences: 0, ..default() },
        ScanSettings { rounds: 0, ..default() },
    ] {
        assert!(matches!(run(mesh, &start, &good, &bad), ScanError::Setting { .. }), "{bad:?}");
    }
    let mirror = Mirror { vertices: vec![None; 2], ..mirror(&arm) };
    let other = ScanSettings { mirror: Some(mirror), ..default() };
    assert!(matches!(run(mesh, &start, &good, &other), ScanError::Counts { found: 2, .. }));
    let stop = |_: u64, _: u64| ControlFlow::Break(Cancelled);
    let stopped = fit_scans(mesh, arm.rig.skeleton(), &start, &good, &settings, &stop);
    assert_eq!(stopped.unwrap_err(), ScanError::Cancelled);
    assert_eq!(start.dominant(0), Some(TORSO).filter(|bone| *bone != UPPER));
}
