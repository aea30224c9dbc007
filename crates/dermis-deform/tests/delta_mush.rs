//! Direct delta mush against what it must be.

mod tube;

use dermis_deform::smoothing::Smoothing;
use dermis_deform::{DirectDeltaMush, blend};
use dermis_rig::glam::{DMat3, DQuat, DVec3};
use dermis_rig::mesh::welded;
use dermis_rig::{BoneIndex, BoneTransforms, Influences, Mesh, Polygons};
use dermis_testkit::{Random, largest_distance, some_motion};
use std::collections::BTreeSet;
use tube::{posed, weights};

const ROWS: usize = 14;
const RING: usize = 10;

/// A tube along x of quads on three bones, whose weights blend over half a bone; at the end a point without neighbours.
fn tube() -> (Mesh, Influences) {
    let mut positions = Vec::new();
    for i in 0..ROWS {
        for j in 0..RING {
            let angle = j as f64 / RING as f64 * std::f64::consts::TAU;
            positions.push(DVec3::new(0.08 * i as f64, 0.1 * angle.cos() + 0.02 * (i as f64).sin(), 0.1 * angle.sin()));
        }
    }
    let at = |i: usize, j: usize| (i * RING + j % RING) as u32;
    let quads: Vec<[u32; 4]> = (1..ROWS)
        .flat_map(|i| (0..RING).map(move |j| [at(i - 1, j), at(i, j), at(i, j + 1), at(i - 1, j + 1)]))
        .collect();
    let triangles = quads.iter().flat_map(|&[a, b, c, d]| [[a, b, c], [a, c, d]]).collect();
    let polygons = Polygons { counts: vec![4; quads.len()], indices: quads.into_iter().flatten().collect() };
    positions.push(DVec3::new(0.5, 0.3, 0.0));
    let weights = weights(&positions);
    (Mesh { positions, triangles, polygons: Some(polygons), ..Mesh::default() }, weights)
}

fn skin(mush: &DirectDeltaMush, mesh: &Mesh, pose: &BoneTransforms) -> Vec<DVec3> {
    (0..mesh.positions.len()).map(|v| mush.at(v, mesh.positions[v], pose)).collect()
}

#[test]
fn no_steps_are_linear_blending_and_the_bind_pose_is_exact() {
    let ((mesh, weights), mut random) = (tube(), Random::new(1));
    let steps = [0, 1, 5, 30];
    let made = DirectDeltaMush::of_smoothing(&mesh, &weights, &Smoothing { steps: &steps, ..Smoothing::default() });
    let pose = posed(&mut random, 2.0);
    let blended: Vec<DVec3> =
        mesh.positions.iter().zip(weights.rows()).map(|(p, row)| blend(row, &pose).transform_point3(*p)).collect();
    assert!(largest_distance(&skin(&made[0], &mesh, &pose), &blended) < 1e-12);
    for (mush, steps) in made.iter().zip(steps) {
        // Pairs of small weight are dropped, and what is kept is exact all the same.
        assert!(largest_distance(&skin(mush, &mesh, &BoneTransforms::identity(3)), &mesh.positions) < 1e-14, "{steps}");
        assert_eq!(mush, &DirectDeltaMush::new(&mesh, &weights, steps), "one run for many steps is many runs");
    }
    // The point by itself follows linear blending with any steps.
    let alone = mesh.positions.len() - 1;
    assert!(skin(&made[3], &mesh, &pose)[alone].distance(blended[alone]) < 1e-12);
}

#[test]
fn moving_the_character_moves_the_skin() {
    let ((mesh, weights), mut random) = (tube(), Random::new(2));
    let mush = DirectDeltaMush::new(&mesh, &weights, 4);
    for _ in 0..20 {
        let (pose, g) = (posed(&mut random, 1.2), some_motion(2.1, DVec3::new(3.0, -1.0, 2.0)));
        let still: Vec<DVec3> = skin(&mush, &mesh, &pose).iter().map(|p| g.transform_point3(*p)).collect();
        assert!(largest_distance(&skin(&mush, &mesh, &pose.moved(g)), &still) < 1e-12);
    }
    // So does moving the rig before anything is smoothed.
    let g = some_motion(1.1, DVec3::new(100.0, 20.0, -30.0));
    let moved = Mesh { positions: mesh.positions.iter().map(|p| g.transform_point3(*p)).collect(), ..mesh.clone() };
    let other = DirectDeltaMush::new(&moved, &weights, 4);
    let pose = posed(&mut random, 1.2);
    let carried = BoneTransforms::new(pose.iter().map(|m| g * *m * g.inverse()).collect());
    let expected: Vec<DVec3> = skin(&mush, &mesh, &pose).iter().map(|p| g.transform_point3(*p)).collect();
    assert!(largest_distance(&skin(&other, &moved, &carried), &expected) < 1e-11);
}

/// |p' − LBS_i| ≤ |p − p̄| + max |LBS_j − LBS_i| over the vertices within the steps, whatever the pose; dropped pairs add a
/// thousandth of the character per bone.
#[test]
fn the_skin_stays_near_linear_blending() {
    let ((mesh, weights), mut random) = (tube(), Random::new(3));
    let steps = 5;
    let mush = DirectDeltaMush::new(&mesh, &weights, steps);
    let graph = mesh.neighbours_along_polygons(&welded(&mesh.positions));
    let near: Vec<BTreeSet<u32>> = (0..mesh.positions.len() as u32)
        .map(|v| {
            let mut seen = BTreeSet::from([v]);
            for _ in 0..steps {
                seen.extend(seen.clone().iter().flat_map(|&u| graph.of(u as usize)));
            }
            seen
        })
        .collect();
    let mut moved = 0.0f64;
    for _ in 0..1000 {
        let pose = posed(&mut random, std::f64::consts::PI);
        let blended: Vec<DVec3> =
            mesh.positions.iter().zip(weights.rows()).map(|(p, row)| blend(row, &pose).transform_point3(*p)).collect();
        for (v, p) in skin(&mush, &mesh, &pose).into_iter().enumerate() {
            let far = near[v].iter().map(|&j| blended[j as usize].distance(blended[v])).fold(0.0, f64::max);
            let bound = far + mesh.positions[v].distance(mush.centres[v]) + 3e-3 * mesh.diagonal();
            assert!(p.distance(blended[v]) <= bound, "vertex {v}: {} for {bound}", p.distance(blended[v]));
            moved = moved.max(p.distance(blended[v]));
        }
    }
    assert!(moved > 0.05, "it does something: {moved}");
}

/// Vertices that a file split at a seam are smoothed as one, and move as one; those of other bones are not.
#[test]
fn seams_do_not_open() {
    let ((mesh, weights), mut random) = (tube(), Random::new(4));
    // The last column of quads gets vertices of its own.
    let mut split = mesh.clone();
    let copies: Vec<u32> = (0..ROWS as u32).map(|i| i * RING as u32).collect();
    let first = split.positions.len() as u32;
    split.positions.extend(copies.iter().map(|&v| mesh.positions[v as usize]));
    let polygons = split.polygons.as_mut().unwrap();
    for (at, corner) in polygons.indices.iter_mut().enumerate() {
        if (at / 4) % RING == RING - 1 && *corner % RING as u32 == 0 {
            *corner = first + *corner / RING as u32;
        }
    }
    let rows = || weights.rows().map(<[_]>::to_vec);
    let of_copies = || copies.iter().map(|&v| weights.of(v as usize).to_vec());
    let same = Influences::from_rows(rows().chain(of_copies())).unwrap();
    let whole = DirectDeltaMush::new(&mesh, &weights, 6);
    let made = DirectDeltaMush::new(&split, &same, 6);
    let pose = posed(&mut random, 1.5);
    let (one, two) = (skin(&whole, &mesh, &pose), skin(&made, &split, &pose));
    assert!(largest_distance(&one, &two[..one.len()]) < 1e-12);
    for (at, &v) in copies.iter().enumerate() {
        assert!(two[first as usize + at].distance(one[v as usize]) < 1e-12);
    }
    let other = Influences::from_rows(rows().chain(of_copies().map(|_| vec![(BoneIndex::new(2), 1.0)]))).unwrap();
    let apart_bones = DirectDeltaMush::new(&split, &other, 6);
    assert!(skin(&apart_bones, &split, &pose)[first as usize].distance(one[0]) > 0.05);
}

/// The rotation is the one nearest to C, by another way to find it: twenty thousand random rotations are no nearer.
#[test]
fn the_rotation_is_the_nearest() {
    let ((mesh, weights), mut random) = (tube(), Random::new(5));
    let mush = DirectDeltaMush::new(&mesh, &weights, 5);
    let pose = posed(&mut random, 2.5);
    for v in (0..mesh.positions.len()).step_by(17) {
        let (_, c) = mush.carried(v, &pose);
        let distance = |r: &DMat3| (*r - c).to_cols_array().iter().map(|x| x * x).sum::<f64>();
        let turn = mush.rotation(v, &pose);
        assert!((turn * turn.transpose()).abs_diff_eq(DMat3::IDENTITY, 1e-12) && turn.determinant() > 0.0);
        let best = distance(&turn);
        for _ in 0..20_000 / 9 {
            let near = turn * DMat3::from_quat(random.rotation(0.3));
            let any = DMat3::from_quat(DQuat::from_axis_angle(random.direction(), random.between(0.0, 3.1)));
            assert!(distance(&near) >= best - 1e-15 && distance(&any) >= best - 1e-15, "vertex {v}");
        }
    }
}
