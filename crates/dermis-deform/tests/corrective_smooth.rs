//! Corrective smoothing against what it must be.

mod tube;

use dermis_deform::corrective_smooth::{CorrectiveSmooth, LEAST_WEIGHT};
use dermis_deform::smoothing::Smoothing;
use dermis_deform::{Base, Deformer, Scratch, blend};
use dermis_rig::glam::{DAffine3, DVec3, Vec3};
use dermis_rig::{BoneIndex, BoneTransforms, Influences, Mesh, Polygons};
use dermis_testkit::{Random, SmoothingModifier, largest_distance, some_motion};
use tube::{posed, weights};

const ROWS: usize = 16;
const RING: usize = 11;

/// A tube along x of quads on three bones, whose weights blend over half a bone; a triangle and a pentagon among them, a cap of
/// one polygon, and at the end a point without neighbours.
fn tube() -> (Mesh, Influences) {
    let mut positions = Vec::new();
    for i in 0..ROWS {
        for j in 0..RING {
            let angle = j as f64 / RING as f64 * std::f64::consts::TAU;
            let bump = 0.02 * (1.7 * i as f64).sin() + 0.01 * ((3 * j + i) as f64).cos();
            positions.push(DVec3::new(0.07 * i as f64, (0.1 + bump) * angle.cos(), (0.1 + bump) * angle.sin()));
        }
    }
    let at = |i: usize, j: usize| (i * RING + j % RING) as u32;
    let mut polygons: Vec<Vec<u32>> = (1..ROWS)
        .flat_map(|i| (0..RING).map(move |j| vec![at(i - 1, j), at(i, j), at(i, j + 1), at(i - 1, j + 1)]))
        .collect();
    // Beside each other, a quad loses a corner to its neighbour.
    polygons[5 * RING + 3] = vec![at(5, 3), at(6, 3), at(5, 4)];
    polygons[5 * RING + 4] = vec![at(5, 4), at(6, 3), at(6, 4), at(6, 5), at(5, 5)];
    polygons.push((0..RING).map(|j| at(0, j)).collect());
    positions.push(DVec3::new(0.5, 0.3, 0.0));
    let weights = weights(&positions);
    (of_polygons(positions, &polygons), weights)
}

fn of_polygons(positions: Vec<DVec3>, polygons: &[Vec<u32>]) -> Mesh {
    let fan = |p: &Vec<u32>| (2..p.len()).map(|k| [p[0], p[k - 1], p[k]]).collect::<Vec<_>>();
    let triangles = polygons.iter().flat_map(fan).collect();
    let counts = polygons.iter().map(|p| p.len() as u32).collect();
    let polygons = Some(Polygons { counts, indices: polygons.concat() });
    Mesh { positions, triangles, polygons, ..Mesh::default() }
}

fn blended(mesh: &Mesh, weights: &Influences, pose: &BoneTransforms) -> Vec<DVec3> {
    mesh.positions.iter().zip(weights.rows()).map(|(p, row)| blend(row, pose).transform_point3(*p)).collect()
}

fn skin(smooth: &CorrectiveSmooth, mesh: &Mesh, pose: &BoneTransforms) -> Vec<DVec3> {
    (0..mesh.positions.len()).map(|v| smooth.at(v, mesh.positions[v], pose)).collect()
}

/// Oracle: the modifier, step by step. All pairs are kept, so that the two agree to rounding.
#[test]
fn it_is_the_modifier() {
    let ((mesh, weights), mut random) = (tube(), Random::new(11));
    for (steps, factor) in [(1, 0.5), (5, 0.5), (4, 1.0), (20, 0.3)] {
        let modifier = SmoothingModifier::new(&mesh, steps, factor);
        let smoothing = Smoothing { steps: &[steps], factor, least_weight: 0.0, ..Smoothing::default() };
        let smooth = CorrectiveSmooth::of_smoothing(&mesh, &weights, &smoothing).remove(0);
        let mut moved = 0.0f64;
        for _ in 0..10 {
            let pose = posed(&mut random, 1.5);
            let own = blended(&mesh, &weights, &pose);
            let expected = modifier.skin(&own);
            let got = skin(&smooth, &mesh, &pose);
            assert!(
                largest_distance(&got, &expected) < 1e-10,
                "{steps} {factor}: {}",
                largest_distance(&got, &expected)
            );
            moved = moved.max(largest_distance(&got, &own));
        }
        assert!(moved > 0.005, "it does something: {moved}");
    }
}

/// Dropped pairs change the skin by less than a hundredth of what smoothing does, rms.
#[test]
fn small_weights_hardly_count() {
    let ((mesh, weights), mut random) = (tube(), Random::new(12));
    let rms = |a: &[DVec3], b: &[DVec3]| a.iter().zip(b).map(|(a, b)| a.distance_squared(*b)).sum::<f64>().sqrt();
    for (steps, factor) in [(5, 0.5), (12, 0.5), (8, 1.0)] {
        let modifier = SmoothingModifier::new(&mesh, steps, factor);
        let smooth = CorrectiveSmooth::new(&mesh, &weights, steps, factor);
        for _ in 0..10 {
            let pose = posed(&mut random, 1.2);
            let own = blended(&mesh, &weights, &pose);
            let expected = modifier.skin(&own);
            let (off, effect) = (rms(&skin(&smooth, &mesh, &pose), &expected), rms(&own, &expected));
            assert!(off < 1e-2 * effect, "{steps} {factor}: {off} of {effect}");
        }
    }
}

#[test]
fn no_steps_are_linear_blending_and_the_bind_pose_is_exact() {
    let ((mesh, weights), mut random) = (tube(), Random::new(1));
    let steps = [0, 1, 5, 30];
    let made = CorrectiveSmooth::of_smoothing(
        &mesh,
        &weights,
        &Smoothing { steps: &steps, least_weight: LEAST_WEIGHT, ..Smoothing::default() },
    );
    let pose = posed(&mut random, 2.0);
    let own = blended(&mesh, &weights, &pose);
    assert!(largest_distance(&skin(&made[0], &mesh, &pose), &own) < 1e-12);
    for (smooth, steps) in made.iter().zip(steps) {
        // Pairs of small weight are dropped, and what is kept is exact all the same.
        assert!(
            largest_distance(&skin(smooth, &mesh, &BoneTransforms::identity(3)), &mesh.positions) < 1e-14,
            "{steps}"
        );
        let alone = CorrectiveSmooth::new(&mesh, &weights, steps, 0.5);
        assert_eq!(skin(smooth, &mesh, &pose), skin(&alone, &mesh, &pose), "one run for many steps is many runs");
    }
    // The point by itself follows linear blending with any steps.
    let alone = mesh.positions.len() - 1;
    assert!(skin(&made[3], &mesh, &pose)[alone].distance(own[alone]) < 1e-12);
    // Some vertices alone are what they are among all.
    let of = |v: usize| v.is_multiple_of(7);
    let some = CorrectiveSmooth::of_smoothing(
        &mesh,
        &weights,
        &Smoothing { steps: &[5], of: &of, least_weight: LEAST_WEIGHT, ..Smoothing::default() },
    );
    for v in (0..alone).step_by(7) {
        assert!(some[0].at(v, mesh.positions[v], &pose).distance(made[2].at(v, mesh.positions[v], &pose)) < 1e-15);
    }
}

#[test]
fn moving_the_character_moves_the_skin() {
    let ((mesh, weights), mut random) = (tube(), Random::new(2));
    let smooth = CorrectiveSmooth::new(&mesh, &weights, 4, 0.5);
    for _ in 0..20 {
        let (pose, g) = (posed(&mut random, 1.2), some_motion(2.1, DVec3::new(3.0, -1.0, 2.0)));
        let still: Vec<DVec3> = skin(&smooth, &mesh, &pose).iter().map(|p| g.transform_point3(*p)).collect();
        assert!(largest_distance(&skin(&smooth, &mesh, &pose.moved(g)), &still) < 1e-12);
    }
    // So does moving the rig before anything is smoothed.
    let g = some_motion(1.1, DVec3::new(100.0, 20.0, -30.0));
    let moved = Mesh { positions: mesh.positions.iter().map(|p| g.transform_point3(*p)).collect(), ..mesh.clone() };
    let other = CorrectiveSmooth::new(&moved, &weights, 4, 0.5);
    let pose = posed(&mut random, 1.2);
    let carried = BoneTransforms::new(pose.iter().map(|m| g * *m * g.inverse()).collect());
    let expected: Vec<DVec3> = skin(&smooth, &mesh, &pose).iter().map(|p| g.transform_point3(*p)).collect();
    assert!(largest_distance(&skin(&other, &moved, &carried), &expected) < 1e-11);
}

/// |p' − q| ≤ |p − q(rest)| in any pose, because A is a mean of rotations.
#[test]
fn rest_detail_does_not_grow() {
    let ((mesh, weights), mut random) = (tube(), Random::new(3));
    let smooth = CorrectiveSmooth::new(&mesh, &weights, 8, 0.5);
    for _ in 0..1000 {
        let pose = posed(&mut random, std::f64::consts::PI);
        for (v, p) in skin(&smooth, &mesh, &pose).into_iter().enumerate() {
            let (off, room) = (p.distance(smooth.carried(v, &pose)), mesh.positions[v].distance(smooth.centres()[v]));
            assert!(off <= room + 1e-12, "vertex {v}: {off} for {room}");
        }
    }
}

/// A pose that differs by 1e-4 radians moves the skin by little: what the bones carry, and no jump.
#[test]
fn near_poses_have_near_skins() {
    let ((mesh, weights), mut random) = (tube(), Random::new(4));
    let smooth = CorrectiveSmooth::new(&mesh, &weights, 8, 0.5);
    for _ in 0..100 {
        let pose = posed(&mut random, 1.3);
        let other = BoneTransforms::new(
            pose.iter().map(|m| *m * DAffine3::from_quat(random.rotation(1e-4))).collect::<Vec<_>>(),
        );
        let jump = largest_distance(&skin(&smooth, &mesh, &pose), &skin(&smooth, &mesh, &other));
        assert!(jump < 1e-3 * mesh.diagonal(), "{jump}");
    }
}

/// A corner whose edges lie on each other has no frame: it counts nothing, and the vertex keeps its other corners. A vertex without
/// any is not smoothed. All stay exact at the bind pose.
#[test]
fn corners_without_a_frame_count_nothing() {
    let point = |x: f64, y: f64| DVec3::new(x, y, 0.1 * x * y);
    let positions = vec![
        point(0.0, 0.0),
        point(1.0, 0.0),
        point(2.0, 0.0),
        point(2.0, 1.0),
        point(0.0, 1.0),
        // A polygon of two corners, and one whose corners are on a line.
        point(3.0, 0.0),
        point(4.0, 0.0),
        DVec3::new(0.0, 3.0, 0.0),
        DVec3::new(1.0, 3.0, 0.0),
        DVec3::new(2.0, 3.0, 0.0),
    ];
    let polygons = vec![vec![0, 1, 2, 3, 4], vec![5, 6], vec![7, 8, 9]];
    let mut mesh = of_polygons(positions, &polygons);
    mesh.triangles.truncate(3);
    let row = |p: &DVec3| {
        let w = (p.x / 4.0).clamp(0.0, 1.0);
        vec![(BoneIndex::new(0), 1.0 - w), (BoneIndex::new(1), w)]
    };
    let weights = Influences::from_rows(mesh.positions.iter().map(row)).unwrap();
    let smooth = CorrectiveSmooth::new(&mesh, &weights, 3, 0.5);
    assert!(largest_distance(&skin(&smooth, &mesh, &BoneTransforms::identity(2)), &mesh.positions) < 1e-14);
    let mut random = Random::new(5);
    for _ in 0..50 {
        let pose = BoneTransforms::new(
            (0..2).map(|_| DAffine3::from_rotation_translation(random.rotation(3.0), random.direction())).collect(),
        );
        let (got, own) = (skin(&smooth, &mesh, &pose), blended(&mesh, &weights, &pose));
        assert!(got.iter().all(|p| p.is_finite()));
        for v in 5..10 {
            assert!(smooth.corners().of(v).is_empty() && got[v].distance(own[v]) < 1e-12, "vertex {v}");
        }
        // Bones that collapse the skin to a point leave the smoothed surface.
        let flat = BoneTransforms::new(vec![DAffine3::from_scale(DVec3::ZERO); 2]);
        assert!(skin(&smooth, &mesh, &flat).iter().all(|p| p.length() < 1e-12));
    }
}

/// Vertices that a file split at a seam are smoothed as one, and move as one; those of other bones are not.
#[test]
fn seams_do_not_open() {
    let ((mesh, weights), mut random) = (tube(), Random::new(6));
    let mut split = mesh.clone();
    let copies: Vec<u32> = (0..ROWS as u32).map(|i| i * RING as u32).collect();
    let first = split.positions.len() as u32;
    split.positions.extend(copies.iter().map(|&v| mesh.positions[v as usize]));
    // The last column of polygons gets vertices of its own.
    let polygons = split.polygons.as_mut().unwrap();
    let mut at = 0;
    for &count in &polygons.counts {
        let own = &mut polygons.indices[at..at + count as usize];
        if own.iter().any(|v| *v % RING as u32 == RING as u32 - 1) && own.len() < RING {
            for v in own.iter_mut().filter(|v| **v % RING as u32 == 0) {
                *v = first + *v / RING as u32;
            }
        }
        at += count as usize;
    }
    let rows = || weights.rows().map(<[_]>::to_vec);
    let of_copies = || copies.iter().map(|&v| weights.of(v as usize).to_vec());
    let same = Influences::from_rows(rows().chain(of_copies())).unwrap();
    let whole = CorrectiveSmooth::new(&mesh, &weights, 6, 0.5);
    let made = CorrectiveSmooth::new(&split, &same, 6, 0.5);
    let pose = posed(&mut random, 1.5);
    let (one, two) = (skin(&whole, &mesh, &pose), skin(&made, &split, &pose));
    assert!(largest_distance(&one, &two[..one.len()]) < 1e-12, "{}", largest_distance(&one, &two[..one.len()]));
    for (at, &v) in copies.iter().enumerate() {
        assert!(two[first as usize + at].distance(two[v as usize]) < 1e-15);
    }
    let other = Influences::from_rows(rows().chain(of_copies().map(|_| vec![(BoneIndex::new(2), 1.0)]))).unwrap();
    let apart_bones = CorrectiveSmooth::new(&split, &other, 6, 0.5);
    assert!(skin(&apart_bones, &split, &pose)[first as usize].distance(one[0]) > 0.05);
}

/// A surface bent by 1 to 170 degrees between two bones, in `f32` and with any number of threads.
#[test]
fn it_bakes_to_rounding_and_threads_change_no_bit() {
    let ((mesh, weights), mut random) = (tube(), Random::new(7));
    let smooth = CorrectiveSmooth::new(&mesh, &weights, 5, 0.5);
    let mut deformer = Deformer::new(mesh.positions.clone(), Base::CorrectiveSmooth(smooth), None).unwrap();
    let baked = deformer.bake();
    let pools = [1, 2, 3].map(|threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap());
    for _ in 0..20 {
        let pose = posed(&mut random, 1.2);
        let mut expected = vec![DVec3::ZERO; mesh.positions.len()];
        deformer.evaluate(&pose, None, &mut expected).unwrap();
        let skins = pools.each_ref().map(|pool| {
            let (mut scratch, mut out) = (Scratch::default(), vec![Vec3::ZERO; mesh.positions.len()]);
            pool.install(|| baked.evaluate(&pose, None, &mut scratch, &mut out)).unwrap();
            out
        });
        assert_eq!(skins[0], skins[1]);
        assert_eq!(skins[0], skins[2]);
        let got: Vec<DVec3> = skins[0].iter().map(|p| p.as_dvec3()).collect();
        assert!(largest_distance(&got, &expected) < 2e-6, "{}", largest_distance(&got, &expected));
    }
    // The way back keeps the skin.
    let mut again = baked.widened().unwrap();
    let (pose, mut out) = (posed(&mut random, 1.2), vec![DVec3::ZERO; mesh.positions.len()]);
    again.evaluate(&pose, None, &mut out).unwrap();
    let mut expected = out.clone();
    deformer.evaluate(&pose, None, &mut expected).unwrap();
    assert!(largest_distance(&out, &expected) < 2e-6, "{}", largest_distance(&out, &expected));
}
