//! Bone heat: the closed form on a tube, symmetries, and meshes as people make them.

use dermis_fit::heat::{HeatError, HeatReport, HeatSettings, bone_segments, faded, heat_weights};
use dermis_fit::{Cancelled, silent};
use dermis_rig::glam::{DAffine3, DMat3, DVec3};
use dermis_rig::{BoneIndex, BoneVec, Influences, Mesh, Skeleton};
use dermis_testkit::{Arm, Random, Tree, some_motion};
use std::f64::consts::TAU;
use std::ops::ControlFlow;

const ALL: HeatSettings = HeatSettings { transfer: 1.0, influences: None };

type Segments = BoneVec<Vec<[DVec3; 2]>>;

fn heat(mesh: &Mesh, segments: &Segments) -> (Influences, HeatReport) {
    let (weights, report) = heat_weights(mesh, segments, &ALL, &silent).unwrap();
    assert_eq!(weights.vertices(), mesh.positions.len());
    for row in weights.rows() {
        assert!((row.iter().map(|e| e.1).sum::<f64>() - 1.0).abs() < 1e-12);
        assert!(row.iter().all(|(_, w)| *w > 0.0 && *w <= 1.0 + 1e-12));
    }
    (weights, report)
}

fn largest_difference(a: &Influences, b: &Influences) -> f64 {
    assert_eq!(a.vertices(), b.vertices());
    let bones = a.bones_named().max(b.bones_named());
    let entry = |v: usize, k: usize| (a.value(v, BoneIndex::new(k)) - b.value(v, BoneIndex::new(k))).abs();
    (0..a.vertices()).flat_map(|v| (0..bones).map(move |k| (v, k))).fold(0.0, |most, (v, k)| entry(v, k).max(most))
}

fn arm() -> (Mesh, Segments) {
    let arm = Arm::new(24, 12);
    (arm.rig.mesh().clone(), bone_segments(arm.rig.skeleton(), |_| false))
}

/// A closed tube along x from −length to length, with two bones that meet in the middle.
fn tube(length: f64, rings: usize, sides: usize, radius: f64) -> (Mesh, Segments) {
    let mut mesh = Mesh::default();
    for ring in 0..rings {
        let x = length * (2.0 * ring as f64 / (rings - 1) as f64 - 1.0);
        mesh.positions.extend((0..sides).map(|side| {
            let angle = TAU * side as f64 / sides as f64;
            DVec3::new(x, radius * angle.cos(), radius * angle.sin())
        }));
    }
    mesh.positions.extend([DVec3::X * -length, DVec3::X * length]);
    let at = |ring: usize, side: usize| (ring * sides + side % sides) as u32;
    let (first, last) = ((rings * sides) as u32, (rings * sides + 1) as u32);
    for side in 0..sides {
        for ring in 0..rings - 1 {
            let [a, b, c, d] = [at(ring, side), at(ring, side + 1), at(ring + 1, side), at(ring + 1, side + 1)];
            mesh.triangles.extend([[a, b, c], [b, d, c]]);
        }
        mesh.triangles.push([first, at(0, side + 1), at(0, side)]);
        mesh.triangles.push([last, at(rings - 1, side), at(rings - 1, side + 1)]);
    }
    let segments = vec![vec![[DVec3::X * -length, DVec3::ZERO]], vec![[DVec3::ZERO, DVec3::X * length]]];
    (mesh, BoneVec::new(segments))
}

/// A leg with an ankle and toes: along y of their joints, or not.
#[test]
fn a_leaf_also_points_along_its_own_axis() {
    let ways = |of_foot: DMat3, of_toes: DMat3| {
        let bind = [(of_foot, DVec3::ZERO), (of_toes, DVec3::new(0.0, -0.1, 0.0))];
        let bind = bind.map(|(matrix3, translation)| DAffine3 { matrix3, translation });
        let names = ["foot", "toes"].map(String::from).to_vec();
        let skeleton = Skeleton::new(names, vec![None, Some(BoneIndex::new(0))], bind.to_vec()).unwrap();
        let segments = bone_segments(&skeleton, |_| false);
        assert_eq!(segments[BoneIndex::new(0)], [[DVec3::ZERO, bind[1].translation]]);
        segments[BoneIndex::new(1)].iter().map(|[from, to]| *to - *from).collect::<Vec<_>>()
    };
    let down = DVec3::new(0.0, -0.1, 0.0);
    let turned = |degrees: f64| DMat3::from_rotation_x(degrees.to_radians());
    // The foot lies along y, and the toes turn from it; their axes may be scaled.
    for (toes, scale) in [(60.0, 1.0), (30.0, 0.01)] {
        let found = ways(turned(180.0), turned(180.0 + toes) * scale);
        let expected = turned(toes) * down;
        assert!(found.len() == 2 && found[0] == down && found[1].distance(expected) < 1e-15, "{found:?}");
    }
    // The foot lies along no axis, the toes point on as it does, or back.
    for (foot, toes) in [(turned(150.0), turned(120.0)), (turned(180.0), turned(180.0)), (turned(180.0), turned(20.0))]
    {
        assert_eq!(ways(foot, toes), [down]);
    }
}

/// Oracle: on a long tube of radius r the balance is w'' = (c/r²)(w − e), so w = ½ exp(−√c |x|/r) on the other bone's side.
#[test]
fn on_a_tube_heat_fades_exponentially() {
    let radius = 0.1;
    for transfer in [1.0, 0.22] {
        let (mesh, segments) = tube(1.0, 401, 48, radius);
        let settings = HeatSettings { transfer, influences: None };
        let (weights, report) = heat_weights(&mesh, &segments, &settings, &silent).unwrap();
        assert_eq!((report.shells, report.blind_shells, report.blind_vertices), (1, (0, 0), 0));
        let decay = transfer.sqrt() / radius;
        for (v, p) in mesh.positions.iter().enumerate() {
            // Towards the caps the tube is not long.
            let expected = 0.5 * (-decay * p.x.abs()).exp();
            if p.x.abs() < 0.5 && p.x != 0.0 {
                let other = BoneIndex::new(usize::from(p.x < 0.0));
                // A polygon of 48 sides is 2e-3 narrower than its circle; steps of r/20 add h²/r²/24 = 1e-4.
                let tolerance = 3e-3 * expected.max(0.01) + 2e-4;
                assert!((weights.value(v, other) - expected).abs() < tolerance, "c {transfer}, {p}");
            }
        }
    }
}

#[test]
fn weights_do_not_change_with_units_motion_or_the_order_of_bones_and_vertices() {
    let (mesh, segments) = arm();
    let (expected, report) = heat(&mesh, &segments);
    for (scale, g) in
        [(1e-4, DAffine3::IDENTITY), (1e4, DAffine3::IDENTITY), (1.0, some_motion(1.1, DVec3::new(3.0, -2.0, 1.0)))]
    {
        let map = |p: &DVec3| g.transform_point3(*p * scale);
        let moved = Mesh { positions: mesh.positions.iter().map(map).collect(), ..mesh.clone() };
        let bones = segments.iter().map(|own| own.iter().map(|s| s.map(|p| map(&p))).collect()).collect();
        let (weights, other) = heat(&moved, &BoneVec::new(bones));
        assert!(largest_difference(&weights, &expected) < 1e-9, "scale {scale}");
        assert_eq!(other, report);
    }
    let order = Random::new(5).order(mesh.positions.len());
    let mut place = vec![0u32; order.len()];
    order.iter().enumerate().for_each(|(new, &old)| place[old] = new as u32);
    let mut shuffled = Mesh {
        positions: order.iter().map(|&old| mesh.positions[old]).collect(),
        triangles: mesh.triangles.iter().map(|t| t.map(|c| place[c as usize])).collect(),
        ..Mesh::default()
    };
    shuffled.triangles.reverse();
    let bones: Segments = BoneVec::new(segments.iter().rev().cloned().collect());
    let (weights, _) = heat(&shuffled, &bones);
    let back = Influences::from_rows((0..order.len()).map(|v| weights.of(place[v] as usize).to_vec())).unwrap();
    assert!(largest_difference(&back.with_bones(&[3, 2, 1, 0]), &expected) < 1e-9);
}

#[test]
fn the_result_is_the_same_to_the_bit_on_one_thread_and_on_many() {
    let (mesh, segments) = arm();
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| heat(&mesh, &segments))
    };
    assert_eq!(on(1), on(5));
}

/// Every quad's two triangles have texture seams of their own: the solve sees one mesh, and halves get the same weights.
#[test]
fn seams_do_not_cut_the_heat() {
    let (mesh, segments) = arm();
    let (expected, _) = heat(&mesh, &segments);
    let positions = mesh.triangles.iter().flatten().map(|&c| mesh.positions[c as usize]).collect();
    let triangles = (0..mesh.triangles.len() as u32).map(|t| [3 * t, 3 * t + 1, 3 * t + 2]).collect();
    let (weights, report) = heat(&Mesh { positions, triangles, ..Mesh::default() }, &segments);
    assert_eq!((report.shells, report.welded), (1, 3 * mesh.triangles.len() - mesh.positions.len()));
    for (at, &corner) in mesh.triangles.iter().flatten().enumerate() {
        for k in 0..4 {
            let (a, b) = (weights.value(at, BoneIndex::new(k)), expected.value(corner as usize, BoneIndex::new(k)));
            assert!((a - b).abs() < 1e-9);
        }
    }
}

/// Two fingers side by side: the near side of one is closer to its neighbour's bone than its far end to its own, but the
/// gap hides it. The same with every triangle turned inside out.
#[test]
fn what_lies_across_a_gap_is_not_visible() {
    let (one, _) = tube(0.5, 41, 12, 0.1);
    let count = one.positions.len() as u32;
    let mut mesh = Mesh::default();
    for (finger, y) in [(0, 0.0), (1, 0.21)] {
        mesh.positions.extend(one.positions.iter().map(|p| *p + DVec3::Y * y));
        mesh.triangles.extend(one.triangles.iter().map(|t| t.map(|c| c + finger * count)));
    }
    // Joined into one shell at their ends.
    let (end, other) = (count - 1, 2 * count - 1);
    mesh.triangles.push([end, other, end - 2]);
    // Each finger's bone hugs the gap, so that much of the other finger is nearer to it than to its own.
    let bone = |y: f64| vec![[DVec3::new(-0.5, y, 0.0), DVec3::new(0.5, y, 0.0)]];
    let segments = BoneVec::new(vec![bone(0.0), bone(0.12)]);
    for turned in [false, true] {
        if turned {
            mesh.triangles.iter_mut().for_each(|t| t.reverse());
        }
        let (weights, report) = heat(&mesh, &segments);
        assert_eq!((report.shells, report.blind_shells), (1, (0, 0)));
        for v in 0..2 * count as usize {
            let finger = BoneIndex::new(v / count as usize);
            // Where the fingers are joined heat flows; half way along there is none left.
            if mesh.positions[v].x < 0.0 {
                assert!(weights.value(v, finger) > 0.97, "{} {:?}", mesh.positions[v], weights.of(v));
            }
        }
    }
}

/// Eyes: a shell in which no bone lies follows its nearest bone as a whole, or as its vertices say.
#[test]
fn a_shell_that_sees_no_bone_follows_its_nearest() {
    let (mut mesh, segments) = arm();
    let before = mesh.positions.len();
    let centre = DVec3::new(0.62, 0.2, 0.0);
    let corners = [DVec3::X, DVec3::Y, DVec3::Z, -DVec3::X, -DVec3::Y, -DVec3::Z];
    mesh.positions.extend(corners.map(|c| centre + c * 0.01));
    let faces = [[0, 1, 2], [1, 3, 2], [3, 4, 2], [4, 0, 2], [1, 0, 5], [3, 1, 5], [4, 3, 5], [0, 4, 5]];
    mesh.triangles.extend(faces.map(|f| f.map(|c: u32| c + before as u32)));
    // A vertex that no face uses, next to the torso.
    mesh.positions.push(DVec3::new(-0.2, 0.3, 0.0));
    let (weights, report) = heat(&mesh, &segments);
    assert_eq!((report.shells, report.blind_shells, report.blind_vertices), (3, (1, 6), 0));
    (before..before + 6).for_each(|v| assert_eq!(weights.dominant(v), Some(BoneIndex::new(3))));
    assert_eq!(weights.of(before + 6), [(BoneIndex::new(0), 1.0)]);
}

/// A tube without caps, in which half the bone reaches out of the holes, and a sheet beside a bone.
#[test]
fn open_meshes_see_their_bones() {
    let (mut mesh, _) = tube(0.5, 21, 12, 0.1);
    mesh.triangles.retain(|t| t.iter().all(|c| (*c as usize) < mesh.positions.len() - 2));
    mesh.positions.truncate(mesh.positions.len() - 2);
    let bones: Segments = BoneVec::new(vec![vec![[DVec3::X * -2.0, DVec3::ZERO]], vec![[DVec3::ZERO, DVec3::X * 2.0]]]);
    let (weights, report) = heat(&mesh, &bones);
    assert_eq!((report.blind_shells, report.blind_vertices, report.idle.len()), ((0, 0), 0, 0));
    for (v, p) in mesh.positions.iter().enumerate().filter(|(_, p)| p.x.abs() > 0.05) {
        assert_eq!(weights.dominant(v), Some(BoneIndex::new(usize::from(p.x > 0.0))));
    }
    let at = |i: u32, j: u32| i * 11 + j;
    let sheet = Mesh {
        positions: (0..121).map(|v| DVec3::new(f64::from(v / 11) * 0.1 - 0.5, f64::from(v % 11) * 0.1, 0.2)).collect(),
        triangles: (0..10)
            .flat_map(|i| (0..10).map(move |j| (i, j)))
            .flat_map(|(i, j)| [[at(i, j), at(i + 1, j), at(i, j + 1)], [at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)]])
            .collect(),
        ..Mesh::default()
    };
    // A sheet has no inside, so no bone is seen from there: it follows the nearest.
    let (weights, report) = heat(&sheet, &bones);
    assert_eq!((report.blind_shells, report.blind_vertices), ((1, 121), 0));
    for (v, p) in sheet.positions.iter().enumerate().filter(|(_, p)| p.x.abs() > 0.15) {
        assert_eq!(weights.dominant(v), Some(BoneIndex::new(usize::from(p.x > 0.0))));
    }
}

/// A sheet of 9 by 9 vertices over the unit square, as `place` puts it; its faces look either way.
fn piece(place: impl Fn(f64, f64) -> DVec3, turned: bool) -> Mesh {
    let at = |i: u32, j: u32| 9 * i + j;
    let faces = |(i, j)| {
        let [a, b, c, d] = [at(i, j), at(i + 1, j), at(i, j + 1), at(i + 1, j + 1)];
        if turned { [[a, c, b], [b, c, d]] } else { [[a, b, c], [b, d, c]] }
    };
    Mesh {
        positions: (0..81).map(|v| place(f64::from(v / 9) / 8.0, f64::from(v % 9) / 8.0)).collect(),
        triangles: (0..8).flat_map(|i| (0..8).map(move |j| (i, j))).flat_map(faces).collect(),
        ..Mesh::default()
    }
}

/// An upper arm along x to the elbow at the origin, a long forearm up from there along y, and a leg that stands beside both. The middle of the upper arm
/// is nearer to what lies beside the elbow than that of the forearm.
fn elbow() -> Segments {
    let leg = [DVec3::new(1.1, -1.0, 0.0), DVec3::new(1.1, 2.0, 0.0)];
    BoneVec::new(vec![vec![[DVec3::X * -0.5, DVec3::ZERO]], vec![[DVec3::ZERO, DVec3::Y * 3.0]], vec![leg]])
}

/// Open pieces beside the forearm: a plate, flat, bent around the forearm or away from it, wavy; a card of hair, twisted; a bracer half around the forearm.
/// Whichever way they bend and their faces look, the forearm has them, though the leg lies behind those that bend away.
#[test]
fn an_open_piece_follows_the_nearest_bone_whichever_way_it_bends() {
    let plate = |bend: f64, wave: f64| {
        move |u: f64, v: f64| {
            let across = 0.3 * (v - 0.5);
            let x = 0.3 + bend * (across * across - 0.01) + wave * (20.0 * u).sin();
            DVec3::new(x, 0.35 + 0.4 * u, across)
        }
    };
    let card = |u: f64, v: f64| {
        let (sin, cos) = (3.0 * u).sin_cos();
        DVec3::new(0.3 + 0.04 * cos * (v - 0.5), 0.35 + 0.8 * u, 0.04 * sin * (v - 0.5))
    };
    let bracer = |u: f64, v: f64| {
        let (sin, cos) = (std::f64::consts::PI * (v - 0.5)).sin_cos();
        DVec3::new(0.25 * cos, 0.5 + 0.6 * u, 0.25 * sin)
    };
    for turned in [false, true] {
        let mut pieces: Vec<(String, Mesh)> =
            vec![("card".into(), piece(card, turned)), ("bracer".into(), piece(bracer, turned))];
        for (bend, wave) in [(0.0, 0.0), (3.0, 0.0), (-3.0, 0.0), (3.0, 0.03), (-3.0, 0.03), (0.0, 0.03)] {
            pieces.push((format!("plate {bend} {wave}"), piece(plate(bend, wave), turned)));
        }
        for (name, own) in pieces {
            let (weights, report) = heat(&own, &elbow());
            assert_eq!(report.blind_shells, (1, 81), "{name}");
            for (v, p) in own.positions.iter().enumerate() {
                let w = weights.value(v, BoneIndex::new(1));
                assert!(w > 0.97, "{name}, faces turned {turned}: {p} follows {:?}", weights.of(v));
            }
            // Beside a body that has its bones inside, the piece gets the same.
            let (body, _) = tube(0.5, 21, 12, 0.1);
            let mut both = body.clone();
            both.positions.iter_mut().for_each(|p| *p = DVec3::new(p.y, p.x + 0.5, p.z));
            let first = both.positions.len();
            both.positions.extend(&own.positions);
            both.triangles.extend(own.triangles.iter().map(|t| t.map(|c| c + first as u32)));
            let (weights, report) = heat(&both, &elbow());
            assert_eq!((report.shells, report.blind_shells), (2, (1, 81)), "{name}");
            (first..both.positions.len()).for_each(|v| assert!(weights.value(v, BoneIndex::new(1)) > 0.97, "{name}"));
        }
    }
}

/// A sleeve, open at both ends, is around its bone: another bone outside, nearer to some of it, does not get them.
#[test]
fn a_sleeve_keeps_to_the_bone_inside() {
    let around = |u: f64, v: f64| {
        let (sin, cos) = (TAU * (v % 1.0)).sin_cos();
        DVec3::new(0.3 * cos, 0.4 + 1.2 * u, 0.3 * sin)
    };
    for turned in [false, true] {
        let sleeve = piece(around, turned);
        let mut bones = elbow();
        bones[BoneIndex::new(2)] = vec![[DVec3::new(0.45, -1.0, 0.0), DVec3::new(0.45, 3.0, 0.0)]];
        let (weights, report) = heat(&sleeve, &bones);
        assert_eq!((report.shells, report.blind_shells, report.welded), (1, (0, 0), 9));
        for (v, p) in sleeve.positions.iter().enumerate() {
            assert!(weights.value(v, BoneIndex::new(1)) > 0.97, "{p} follows {:?}", weights.of(v));
        }
    }
}

/// Faces without area, twice, across three triangles, and slivers with obtuse angles: rows stay sound, and the rest of the
/// arm hardly notices.
#[test]
fn flawed_meshes_give_sound_weights() {
    let (mesh, segments) = arm();
    let (expected, _) = heat(&mesh, &segments);
    let mut flawed = mesh.clone();
    let count = mesh.positions.len() as u32;
    flawed.triangles.extend([[0, 0, 1], [5, 5, 5], [7, 8, 9], [7, 8, 9], [9, 8, 7]]);
    // A needle with an obtuse corner, hung on an edge that has two triangles already, and a line of three points.
    flawed.positions.extend([(mesh.positions[30] + mesh.positions[31]) / 2.0 + DVec3::Y * 1e-7]);
    flawed.positions.push(mesh.positions[40].lerp(mesh.positions[41], 0.5));
    flawed.triangles.extend([[30, 31, count], [40, 41, count + 1]]);
    let (weights, report) = heat(&flawed, &segments);
    assert_eq!((report.shells, report.blind_shells), (1, (0, 0)));
    assert!(report.clamped_edges > 0);
    let trimmed = Influences::from_rows((0..count as usize).map(|v| weights.of(v).to_vec())).unwrap();
    assert!(largest_difference(&trimmed, &expected) < 0.05);
    // All points in one place, and a mesh that is a cloud of points.
    let bone = BoneVec::new(vec![vec![[DVec3::ZERO, DVec3::X]], vec![[DVec3::X, DVec3::X * 2.0]]]);
    let point = Mesh { positions: vec![DVec3::ONE; 4], triangles: vec![[0, 1, 2]], ..Mesh::default() };
    assert_eq!(heat(&point, &bone).1.welded, 3);
    let cloud = Mesh { positions: vec![DVec3::ZERO, DVec3::X * 2.0], ..Mesh::default() };
    let (weights, _) = heat(&cloud, &bone);
    assert_eq!((weights.dominant(0), weights.dominant(1)), (Some(BoneIndex::new(0)), Some(BoneIndex::new(1))));
}

#[test]
fn random_skeletons_inside_and_outside_the_mesh_give_sound_weights() {
    for seed in 0..20 {
        let tree = Tree::new(12, 40, seed);
        let mut random = Random::new(seed);
        let count = tree.rig.mesh().positions.len();
        let mut mesh = tree.rig.mesh().clone();
        mesh.triangles = (0..80).map(|_| [0; 3].map(|_| random.below(count) as u32)).collect();
        heat(&mesh, &bone_segments(tree.rig.skeleton(), |bone| bone.get() % 5 == 3));
    }
}

#[test]
fn few_influences_are_the_largest_and_what_is_dropped_is_counted() {
    let (mesh, segments) = arm();
    let settings = HeatSettings { influences: Some(2), ..ALL };
    let (weights, report) = heat_weights(&mesh, &segments, &settings, &silent).unwrap();
    assert_eq!(weights.largest_count(), 2);
    // Oracle: the bones and the report of the cut, which drops the same.
    let (all, _) = heat(&mesh, &segments);
    let (cut, dropped) = all.pruned(2, 0.0);
    assert!(report.pruned.dropped > 0);
    assert_eq!((report.pruned.dropped, report.pruned.vertices), (dropped.dropped, dropped.vertices));
    assert!((report.pruned.largest_loss - dropped.largest_loss).abs() < 1e-12 && dropped.largest_loss < 0.3);
    for (row, cut) in weights.rows().zip(cut.rows()) {
        assert!((row.iter().map(|e| e.1).sum::<f64>() - 1.0).abs() < 1e-12);
        assert!(row.iter().all(|(bone, w)| *w > 0.0 && cut.iter().any(|(other, _)| other == bone)));
    }
}

/// Oracle: for N+1 bones, where the ray from their equal share through the row meets the boundary of the simplex.
#[test]
fn fading_projects_from_the_equal_share() {
    let mut random = Random::new(11);
    for _ in 0..200 {
        let raw: Vec<f64> = (0..5).map(|_| random.unit()).collect();
        let sum: f64 = raw.iter().sum();
        let row: Vec<f64> = raw.iter().map(|w| w / sum).collect();
        // The first weight that falls to zero along 1/5 + t (w − 1/5).
        let t = row.iter().map(|w| 0.2 / (0.2 - w)).filter(|t| *t > 0.0).fold(f64::INFINITY, f64::min);
        let (faded, _) = faded(&one(&row), 4).unwrap();
        for (b, w) in row.iter().enumerate() {
            assert!((faded.value(0, BoneIndex::new(b)) - (0.2 + t * (w - 0.2))).abs() < 1e-9 * t, "{row:?}");
        }
    }
}

/// Six bones whose temperatures change from vertex to vertex, and change places. Ten times as many vertices make steps a tenth as large where bones
/// fade, and leave jumps where they are cut off.
#[test]
fn a_bone_fades_before_it_is_dropped() {
    let rows = |count: u32| {
        let rows = (0..=count).map(|at| {
            let t = f64::from(at) / f64::from(count);
            let raw: Vec<f64> = (0..6).map(|b| 1.0 + 0.5 * (3.0 * t + f64::from(b)).sin()).collect();
            let sum: f64 = raw.iter().sum();
            (0..6).map(|b| (BoneIndex::new(b), raw[b] / sum)).collect()
        });
        Influences::from_rows(rows).unwrap()
    };
    let steps = |weights: &Influences| {
        let step = |(v, b)| (weights.value(v, BoneIndex::new(b)) - weights.value(v + 1, BoneIndex::new(b))).abs();
        (0..weights.vertices() - 1).flat_map(|v| (0..6).map(move |b| (v, b))).map(step).fold(0.0, f64::max)
    };
    let [coarse, fine] = [200, 2000].map(|count| {
        let all = rows(count);
        let ((few, _), (cut, _)) = (faded(&all, 4).unwrap(), all.pruned(4, 0.0));
        assert_eq!(few.largest_count(), 4);
        [&all, &few, &cut].map(steps)
    });
    println!("all, faded, cut: {coarse:?}, ten times as fine: {fine:?}");
    assert!(coarse[0] < 0.014 && coarse[1] < 0.09 && coarse[2] > 0.08);
    assert!(fine[1] < 0.12 * coarse[1] && fine[2] > 0.9 * coarse[2]);
}

#[test]
fn rows_without_a_largest_bone_are_shared() {
    let entries = |weights: &Influences| weights.of(0).iter().map(|e| (e.0.get(), e.1)).collect::<Vec<_>>();
    let of = |row: &[f64], most: usize| entries(&faded(&one(row), most).unwrap().0);
    assert_eq!(of(&[1.0 / 6.0; 6], 4), [(0, 0.25), (1, 0.25), (2, 0.25), (3, 0.25)]);
    // The third is as warm as the fourth, so neither stays.
    assert_eq!(of(&[0.375, 0.25, 0.125, 0.125, 0.125], 3), [(0, 2.0 / 3.0), (1, 1.0 / 3.0)]);
    assert_eq!(of(&[0.375, 0.625], 2), [(0, 0.375), (1, 0.625)]);
    assert_eq!(of(&[0.375, 0.625], 1), [(1, 1.0)]);
    assert_eq!(of(&[0.375, 0.625], 0), [(1, 1.0)]);
    assert_eq!(faded(&Influences::from_rows([vec![]]).unwrap(), 4).unwrap().0.of(0), []);
}

/// One vertex.
fn one(row: &[f64]) -> Influences {
    Influences::from_dense(row, row.len()).unwrap()
}

#[test]
fn segments_reach_for_children_and_leaves_go_on() {
    let bind = [DVec3::ZERO, DVec3::X, DVec3::new(2.0, 0.0, 0.0), DVec3::Y].map(DAffine3::from_translation).to_vec();
    let parents = vec![None, Some(BoneIndex::new(0)), Some(BoneIndex::new(1)), Some(BoneIndex::new(0))];
    let names = (0..4).map(|b| b.to_string()).collect();
    let skeleton = Skeleton::new(names, parents, bind).unwrap();
    let of = |segments: Segments| segments.into_vec();
    let x = |x: f64| DVec3::X * x;
    let all = of(bone_segments(&skeleton, |_| false));
    assert_eq!(all[0], [[DVec3::ZERO, x(1.0)], [DVec3::ZERO, DVec3::Y]]);
    assert_eq!((&all[1][..], &all[2][..]), (&[[x(1.0), x(2.0)]][..], &[[x(2.0), x(3.0)]][..]));
    assert_eq!(all[3], [[DVec3::Y, DVec3::Y * 2.0]]);
    let some = of(bone_segments(&skeleton, |bone| bone.get() == 2 || bone.get() == 3));
    assert_eq!((&some[1][..], some[2].len(), some[3].len()), (&[[x(1.0), x(2.0)]][..], 0, 0));
}

#[test]
fn what_cannot_be_solved_is_refused_by_name() {
    let (mesh, segments) = arm();
    let run = |mesh: &Mesh, segments: &Segments, settings: HeatSettings| {
        heat_weights(mesh, segments, &settings, &silent).map(|_| ()).unwrap_err()
    };
    assert_eq!(run(&mesh, &BoneVec::new(vec![vec![]; 3]), ALL), HeatError::NoBones);
    assert!(matches!(run(&Mesh::default(), &segments, ALL), HeatError::Mesh(_)));
    let mut nan = mesh.clone();
    nan.positions[7].y = f64::NAN;
    assert!(matches!(run(&nan, &segments, ALL), HeatError::Mesh(_)));
    for transfer in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(run(&mesh, &segments, HeatSettings { transfer, ..ALL }), HeatError::Setting { .. }));
    }
    let none = HeatSettings { influences: Some(0), ..ALL };
    assert!(matches!(run(&mesh, &segments, none), HeatError::Setting { .. }));
    let stop = |_: u64, _: u64| ControlFlow::Break(Cancelled);
    assert_eq!(heat_weights(&mesh, &segments, &ALL, &stop).unwrap_err(), HeatError::Cancelled);
}
