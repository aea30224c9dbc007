//! What the operator promises, on random and on planted meshes.

use dermis_rig::glam::{DMat3, DVec3};
use dermis_rig::{BoneIndex, Influences, Mesh};
use dermis_testkit::{Arm, Random};
use dermis_transfer::islands::Held;
use dermis_transfer::{Body, Operator, Settings, TransferError, carried_weights};

/// The arm: a tube of 0.72 m along x, of radius 6 to 3 cm.
fn arm() -> Arm {
    Arm::new(40, 24)
}

fn body(arm: &Arm) -> Body {
    Body::new(arm.rig.mesh()).unwrap()
}

/// A tube around part of the arm, `over` outside of it; its normals point outwards.
fn sleeve((from, to): (f64, f64), over: f64, (rings, sides): (usize, usize)) -> Mesh {
    let mut mesh = Mesh::default();
    for ring in 0..rings {
        let x = from + (to - from) * ring as f64 / (rings - 1) as f64;
        let radius = over + 0.06 - 0.03 * (x + 0.25) / 0.97;
        mesh.positions.extend((0..sides).map(|side| {
            let angle = std::f64::consts::TAU * (side as f64 + 0.3) / sides as f64;
            DVec3::new(x, radius * angle.cos(), radius * angle.sin())
        }));
    }
    for ring in 0..rings - 1 {
        for side in 0..sides {
            let at = |ring: usize, side: usize| (ring * sides + side % sides) as u32;
            let [a, b] = [at(ring, side), at(ring, side + 1)];
            let [c, d] = [at(ring + 1, side), at(ring + 1, side + 1)];
            mesh.triangles.extend([[a, b, c], [b, d, c]]);
        }
    }
    mesh
}

/// Both meshes as one.
fn joined(mut one: Mesh, other: &Mesh) -> Mesh {
    let start = one.positions.len() as u32;
    one.positions.extend(&other.positions);
    one.triangles.extend(other.triangles.iter().map(|t| t.map(|corner| corner + start)));
    one
}

fn turned_inside_out(mut mesh: Mesh) -> Mesh {
    mesh.triangles.iter_mut().for_each(|t| t.swap(1, 2));
    mesh
}

fn operator(body: &Body, mesh: &Mesh) -> Operator {
    Operator::new(body, mesh, &Settings::default()).unwrap()
}

fn weights(arm: &Arm, mesh: &Mesh) -> Influences {
    carried_weights(&operator(&body(arm), mesh), arm.weights(), 8).unwrap()
}

/// The largest difference between weights and those of the arm at the same place along it.
fn off(mesh: &Mesh, made: &Influences, of: impl Iterator<Item = usize>) -> f64 {
    let fine = Arm::new(801, 3);
    let differs = |v: usize| {
        let along = |p: &DVec3| (p.x - mesh.positions[v].x).abs();
        let all = fine.rig.mesh().positions.iter().enumerate();
        let (at, _) = all.min_by(|a, b| along(a.1).total_cmp(&along(b.1))).unwrap();
        (0..4).map(BoneIndex::new).map(|bone| (made.value(v, bone) - fine.weights().value(at, bone)).abs()).sum::<f64>()
    };
    of.map(differs).fold(0.0, f64::max)
}

#[test]
fn rows_are_shares_on_a_thousand_meshes_of_slivers_islands_and_duplicates() {
    let arm = arm();
    let body = body(&arm);
    let mut random = Random::new(7);
    for round in 0..1000 {
        let count = 3 + random.below(40);
        let near = |random: &mut Random| {
            let p = arm.rig.mesh().positions[random.below(body.vertices())];
            p + random.direction() * random.between(0.0, 0.05)
        };
        let mut mesh = Mesh { positions: (0..count).map(|_| near(&mut random)).collect(), ..Mesh::default() };
        for _ in 0..random.below(60) {
            let [a, b, c] = [0; 3].map(|_| random.below(count) as u32);
            mesh.triangles.push([a, b, c]);
        }
        for _ in 0..random.below(4) {
            let [from, to] = [0; 2].map(|_| random.below(count));
            mesh.positions[to] = mesh.positions[from] + random.direction() * if round % 2 == 0 { 0.0 } else { 1e-12 };
        }
        let operator = operator(&body, &mesh);
        let bits: Vec<f64> = (0..body.vertices()).map(|_| f64::from(random.below(2) as u8)).collect();
        let carried = operator
            .carry(3, |v, share, row| {
                row[0] += share;
                row[1] += share * bits[v];
                row[2] += share * (1.0 - bits[v]);
            })
            .unwrap();
        for row in carried.chunks_exact(3) {
            assert!((row[0] - 1.0).abs() < 1e-12, "round {round}: {row:?}");
            assert!(row[1] >= -1e-15 && row[2] >= -1e-15 && (row[1] + row[2] - 1.0).abs() < 1e-12, "round {round}");
        }
        let made = carried_weights(&operator, arm.weights(), 3).unwrap();
        assert!(made.rows().all(|row| row.len() <= 3 && row.iter().all(|(_, w)| *w > 0.0)));
        assert!(made.rows().all(|row| (row.iter().map(|(_, w)| w).sum::<f64>() - 1.0).abs() < 1e-12));
    }
}

#[test]
fn a_mesh_that_is_the_body_gets_its_weights_to_the_bit() {
    let arm = arm();
    assert_eq!(&weights(&arm, arm.rig.mesh()), arm.weights());
    // A part of it, in another order.
    let mesh = arm.rig.mesh();
    let order = Random::new(3).order(mesh.positions.len());
    let part: Vec<usize> = order.into_iter().take(500).collect();
    let target = Mesh { positions: part.iter().map(|&v| mesh.positions[v]).collect(), ..Mesh::default() };
    let made = weights(&arm, &target);
    assert!(part.iter().enumerate().all(|(at, &v)| made.of(at) == arm.weights().of(v)));
}

#[test]
fn clothes_have_the_weights_of_the_skin_below_and_seams_have_equal_ones() {
    let arm = arm();
    let tube = sleeve((0.05, 0.6), 0.008, (30, 19));
    let made = weights(&arm, &tube);
    assert!(off(&tube, &made, 0..tube.positions.len()) < 0.12);
    // The same with a seam: the vertices of every other triangle are copies.
    let mut split = tube.clone();
    for at in (0..split.triangles.len()).step_by(2) {
        for k in 0..3 {
            let corner = split.triangles[at][k];
            split.triangles[at][k] = split.positions.len() as u32;
            split.positions.push(split.positions[corner as usize]);
        }
    }
    let copies = weights(&arm, &split);
    for v in tube.positions.len()..split.positions.len() {
        let first = split.positions.iter().position(|p| *p == split.positions[v]).unwrap();
        assert_eq!(copies.of(v), copies.of(first));
    }
    assert!((0..tube.positions.len()).all(|v| {
        let both = made.of(v).iter().zip(copies.of(v));
        both.into_iter().all(|(a, b)| a.0 == b.0 && (a.1 - b.1).abs() < 1e-9)
    }));
}

#[test]
fn the_order_of_vertices_and_where_the_character_stands_do_not_matter() {
    let (arm, tube) = (arm(), sleeve((0.05, 0.6), 0.008, (20, 13)));
    let made = weights(&arm, &tube);
    let mut random = Random::new(11);
    let order = random.order(tube.positions.len());
    let mut place = vec![0u32; order.len()];
    order.iter().enumerate().for_each(|(at, &v)| place[v] = at as u32);
    let shuffled = Mesh {
        positions: order.iter().map(|&v| tube.positions[v]).collect(),
        triangles: tube.triangles.iter().map(|t| t.map(|corner| place[corner as usize])).collect(),
        ..Mesh::default()
    };
    let other = weights(&arm, &shuffled);
    let apart = |a: &[(BoneIndex, f64)], b: &[(BoneIndex, f64)]| {
        (0..4)
            .map(BoneIndex::new)
            .map(|bone| {
                let of = |row: &[(BoneIndex, f64)]| row.iter().find(|(b, _)| *b == bone).map_or(0.0, |(_, w)| *w);
                (of(a) - of(b)).abs()
            })
            .fold(0.0, f64::max)
    };
    assert!(order.iter().enumerate().all(|(at, &v)| apart(other.of(at), made.of(v)) < 1e-9));
    for _ in 0..20 {
        let turn = DMat3::from_quat(random.rotation(3.0));
        let (shift, scale) = (random.direction() * 5.0, random.between(0.01, 100.0));
        let moved = |mesh: &Mesh| Mesh {
            positions: mesh.positions.iter().map(|p| turn * *p * scale + shift * scale).collect(),
            ..mesh.clone()
        };
        let operator = operator(&Body::new(&moved(arm.rig.mesh())).unwrap(), &moved(&tube));
        let there = carried_weights(&operator, arm.weights(), 8).unwrap();
        assert!((0..there.vertices()).all(|v| apart(there.of(v), made.of(v)) < 1e-6));
    }
}

#[test]
fn inner_sides_of_cloth_and_bodies_inside_out_are_understood() {
    let arm = arm();
    let all = |mesh: &Mesh| 0..mesh.positions.len();
    // A lining: the same tube, close below and facing the arm.
    let (outer, inner) = (sleeve((0.05, 0.6), 0.010, (30, 19)), sleeve((0.05, 0.6), 0.008, (30, 19)));
    let both = joined(outer, &turned_inside_out(inner));
    assert!(off(&both, &weights(&arm, &both), all(&both)) < 0.15);
    // The same as one piece of cloth, joined at the hems.
    let mut shell = both.clone();
    let (rings, sides) = (30, 19);
    for ring in [0, rings - 1] {
        for side in 0..sides {
            let at = |of: usize, side: usize| (of * rings * sides + ring * sides + side % sides) as u32;
            shell
                .triangles
                .extend([[at(0, side), at(1, side), at(0, side + 1)], [at(0, side + 1), at(1, side), at(1, side + 1)]]);
        }
    }
    let made = operator(&body(&arm), &shell);
    assert_eq!(made.islands().len(), 1);
    assert!(off(&shell, &weights(&arm, &shell), all(&shell)) < 0.15);
    // A sheet that is there twice, back to back: its normals cancel where seams are welded.
    let tube = sleeve((0.05, 0.6), 0.008, (30, 19));
    let twice = joined(tube.clone(), &turned_inside_out(tube.clone()));
    assert!(off(&twice, &weights(&arm, &twice), all(&twice)) < 0.12);
    // Clothes and bodies whose normals point inwards.
    let wrong = turned_inside_out(tube.clone());
    assert!(off(&wrong, &weights(&arm, &wrong), all(&wrong)) < 0.12);
    let hollow = Body::new(&turned_inside_out(arm.rig.mesh().clone())).unwrap();
    let made = carried_weights(&operator(&hollow, &tube), arm.weights(), 8).unwrap();
    assert!(off(&tube, &made, all(&tube)) < 0.12);
}

#[test]
fn buttons_take_one_row_and_follow_the_cloth_below() {
    let arm = arm();
    let tube = sleeve((0.05, 0.6), 0.008, (30, 19));
    // A button over the elbow, where weights change fastest.
    let mut button = sleeve((-0.002, 0.002), 0.0, (4, 8));
    let at = DVec3::new(0.3, 0.051, 0.0);
    let size = 0.004 / 0.06;
    button.positions.iter_mut().for_each(|p| *p = at + DVec3::new(p.y * size, p.x, p.z * size));
    let both = joined(tube.clone(), &button);
    let made = operator(&body(&arm), &both);
    assert_eq!(made.islands().iter().map(|island| island.held).collect::<Vec<_>>(), [Held::Smooth, Held::Rigid]);
    let weights = carried_weights(&made, arm.weights(), 8).unwrap();
    let first = tube.positions.len();
    assert!((first..both.positions.len()).all(|v| weights.of(v) == weights.of(first)));
    assert!(off(&both, &weights, first..first + 1) < 0.1);
    let loose = Operator::new(&body(&arm), &both, &Settings { stiff: 0.0, ..Settings::default() }).unwrap();
    let weights = carried_weights(&loose, arm.weights(), 8).unwrap();
    assert!((first..both.positions.len()).any(|v| weights.of(v) != weights.of(first)));
}

#[test]
fn strips_across_the_body_follow_where_they_are_nearest() {
    let arm = arm();
    // A strip of hair: it starts on the hand's end and hangs 12 cm away from it, edge on.
    let mut strip = Mesh::default();
    for at in 0..=12 {
        let along = 0.01 * f64::from(at);
        let p = DVec3::new(0.70 + 0.25 * along, 0.034 + along, 0.0);
        strip.positions.extend([p, p + DVec3::X * 0.01]);
    }
    strip.triangles =
        (0..12u32).flat_map(|at| [[2 * at, 2 * at + 1, 2 * at + 2], [2 * at + 1, 2 * at + 3, 2 * at + 2]]).collect();
    let made = operator(&body(&arm), &strip);
    assert_eq!(made.islands()[0].held, Held::Nearest);
    let weights = carried_weights(&made, arm.weights(), 8).unwrap();
    assert!((0..strip.positions.len()).all(|v| weights.value(v, BoneIndex::new(3)) > 0.95));
    // A tube that floats far away follows the nearest cloth, and is named.
    let tube = sleeve((0.05, 0.6), 0.008, (30, 19));
    let far = sleeve((0.3, 0.4), 0.35, (4, 19));
    let both = joined(tube.clone(), &far);
    let made = operator(&body(&arm), &both);
    assert_eq!(made.islands()[1].held, Held::Unmatched);
    assert_eq!(made.unmatched().len(), far.positions.len());
    let weights = carried_weights(&made, arm.weights(), 8).unwrap();
    assert!(off(&both, &weights, 0..both.positions.len()) < 0.5);
}

#[test]
fn meshes_that_no_body_fits_are_refused() {
    let arm = arm();
    let body = body(&arm);
    let tube = sleeve((0.05, 0.6), 0.008, (30, 19));
    let made = |mesh: &Mesh| Operator::new(&body, mesh, &Settings::default()).map(|_| ());
    assert_eq!(made(&Mesh::default()), Err(TransferError::EmptyMesh));
    let moved = |by: DVec3, scale: f64| Mesh {
        positions: tube.positions.iter().map(|p| *p * scale + by).collect(),
        ..tube.clone()
    };
    for mesh in [moved(DVec3::Y * 3.0, 1.0), moved(DVec3::ZERO, 100.0), moved(DVec3::NAN, 1.0)] {
        assert!(made(&mesh).is_err());
    }
    // Half of an arm, and a sleeve of all of it.
    let mesh = arm.rig.mesh();
    let half = Mesh {
        triangles: mesh
            .triangles
            .iter()
            .filter(|t| t.iter().all(|c| mesh.positions[*c as usize].x < 0.3))
            .copied()
            .collect(),
        ..mesh.clone()
    };
    let half = Body::new(&half).unwrap();
    let tube = sleeve((0.05, 0.6), 0.003, (30, 19));
    let made = Operator::new(&half, &tube, &Settings::default()).unwrap();
    let carried = carried_weights(&made, arm.weights(), 8).unwrap();
    assert!(carried.rows().all(|row| !row.is_empty()));
    // The end of the sleeve is trusted less.
    let least = made.trust()[tube.positions.len() - 1];
    assert!(least < 1e-3 && made.trust()[0] > 0.5, "{least}");
    assert!(Body::new(&Mesh { positions: vec![DVec3::ZERO; 9], ..Mesh::default() }).is_none());
    let flat = Mesh { positions: vec![DVec3::ZERO; 3], triangles: vec![[0, 1, 2]], ..Mesh::default() };
    assert!(Body::new(&flat).is_none());
}

#[test]
fn one_triangle_and_ten_thousand_islands_are_carried() {
    let arm = arm();
    let body = body(&arm);
    let one = Mesh {
        positions: vec![DVec3::new(0.2, 0.06, 0.0), DVec3::new(0.26, 0.06, 0.0), DVec3::new(0.2, 0.06, 0.06)],
        triangles: vec![[0, 2, 1]],
        ..Mesh::default()
    };
    assert_eq!(weights(&arm, &one).vertices(), 3);
    let mut many = Mesh::default();
    let mut random = Random::new(5);
    for _ in 0..10_000u32 {
        let p = arm.rig.mesh().positions[random.below(body.vertices())];
        let start = many.positions.len() as u32;
        many.positions.extend([0; 3].map(|_| p * 1.1 + random.direction() * 0.004));
        many.triangles.push([start, start + 1, start + 2]);
    }
    let made = operator(&body, &many);
    assert_eq!(made.islands().len(), 10_000);
    assert!(carried_weights(&made, arm.weights(), 4).unwrap().rows().all(|row| !row.is_empty()));
}
