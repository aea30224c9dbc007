//! Influence maps derived from weights: what the ridge relies on.

use dermis_fit::maps::{MapSettings, from_colors, from_weights, used_bones};
use dermis_rig::glam::{DAffine3, Vec4};
use dermis_rig::{BoneIndex, Influences, Mesh, Skeleton};
use dermis_testkit::{Arm, Tree};

#[test]
fn maps_lie_between_zero_and_one_and_reach_as_far_as_their_rings() {
    let arm = Arm::new(13, 8);
    for rings in 0..4 {
        let settings = MapSettings { rings, smoothing: 0, ..MapSettings::default() };
        let maps = from_weights(arm.rig.skeleton(), arm.rig.mesh(), arm.weights(), settings).unwrap();
        for v in 0..maps.vertices() {
            let weighted = arm.weights().of(v);
            for bone in arm.rig.skeleton().bones() {
                let mu = maps.value(v, bone);
                assert!((0.0..=1.0).contains(&mu));
                // Closed form on a chain: the largest weight, times 0.3 per joint on the way.
                let apart = |other: BoneIndex| other.get().abs_diff(bone.get());
                let reached =
                    weighted.iter().filter(|e| apart(e.0) <= rings).map(|e| e.1 * 0.3f64.powi(apart(e.0) as i32));
                let expected = reached.fold(0.0, f64::max);
                let expected = if expected > settings.threshold { expected.sqrt() } else { 0.0 };
                assert!((mu - expected).abs() < 1e-12, "rings {rings}, vertex {v}, {bone:?}: {mu} {expected}");
            }
        }
    }
}

/// Over a refined mesh the largest step along an edge shrinks with the edge: maps are continuous functions of the
/// place, and a model fades where its map does. The threshold leaves √0.004 = 0.063 at most.
#[test]
fn maps_are_continuous_over_the_surface() {
    let largest_step = |rings: usize| {
        let arm = Arm::new(rings, 6);
        let maps = from_weights(arm.rig.skeleton(), arm.rig.mesh(), arm.weights(), MapSettings::default()).unwrap();
        let neighbours = arm.rig.mesh().neighbours();
        let mut most = 0.0f64;
        for v in 0..maps.vertices() {
            for &n in neighbours.of(v) {
                for bone in arm.rig.skeleton().bones() {
                    let (a, b) = (maps.value(v, bone), maps.value(n as usize, bone));
                    most = most.max((a * a - b * b).abs());
                }
            }
        }
        most
    };
    let (coarse, fine) = (largest_step(40), largest_step(160));
    assert!(fine < 0.4 * coarse, "{coarse} {fine}");
    // The weights' own slope, 1.5 / 0.16 per metre, over rings 0.97 / 159 m apart: nothing is steeper than a weight.
    assert!(fine < 1.01 * 1.5 / 0.16 * 0.97 / 159.0, "{fine}");
}

#[test]
fn a_little_more_weight_changes_a_map_by_a_little() {
    let tree = Tree::new(9, 60, 500);
    let shifted =
        Influences::from_rows(tree.weights().rows().map(|row| {
            row.iter().enumerate().map(|(k, &(bone, w))| (bone, if k == 0 { w + 1e-6 } else { w })).collect()
        }))
        .unwrap();
    let maps = |w: &Influences| from_weights(tree.rig.skeleton(), tree.rig.mesh(), w, MapSettings::default()).unwrap();
    let (a, b) = (maps(tree.weights()), maps(&shifted));
    for v in 0..60 {
        for bone in tree.rig.skeleton().bones() {
            let (a, b) = (a.value(v, bone), b.value(v, bone));
            assert!((a * a - b * b).abs() <= 1e-6 + 1e-12 || a.min(b) == 0.0 && a.max(b) < 0.0633);
        }
    }
}

#[test]
fn bones_with_next_to_no_weight_are_passed_over() {
    // Bone 1 has a weight of 0.005 somewhere: it moves skin, but stands in nobody's way.
    let parents = (0..3usize).map(|b| b.checked_sub(1).map(BoneIndex::new)).collect();
    let names = ["a", "b", "c"].map(String::from).to_vec();
    let skeleton = Skeleton::new(names, parents, vec![DAffine3::IDENTITY; 3]).unwrap();
    let bone = BoneIndex::new;
    let weights = Influences::from_rows([vec![(bone(0), 1.0)], vec![(bone(1), 0.005), (bone(2), 0.995)]]).unwrap();
    assert_eq!(used_bones(&skeleton, &weights), [true, false, true]);
    let mesh = Mesh { positions: vec![Default::default(); 2], ..Mesh::default() };
    let settings = MapSettings { rings: 1, smoothing: 0, ..MapSettings::default() };
    let maps = from_weights(&skeleton, &mesh, &weights, settings).unwrap();
    assert_eq!(maps.value(0, bone(1)), 0.0);
    assert!((maps.value(0, bone(2)) - 0.3f64.sqrt()).abs() < 1e-15);
}

#[test]
fn colours_are_maps_of_the_bones_they_are_given() {
    let (a, b) = (BoneIndex::new(4), BoneIndex::new(1));
    let colors = [Vec4::new(0.5, 0.25, 0.9, 0.0), Vec4::new(f32::NAN, -1.0, 0.0, 7.0)];
    let maps = from_colors(&colors, [Some(a), Some(b), None, Some(BoneIndex::new(2))]).unwrap();
    assert_eq!(maps.of(0), [(b, 0.25), (a, 0.5)]);
    assert_eq!(maps.of(1), [(BoneIndex::new(2), 1.0)]);
}

/// A number that is not finite in a computed table is an error that names the table and the vertex, and no empty table.
#[test]
fn maps_that_are_not_finite_are_named() {
    let arm = Arm::new(13, 8);
    let settings = MapSettings { decay: f64::NAN, ..MapSettings::default() };
    let refused = from_weights(arm.rig.skeleton(), arm.rig.mesh(), arm.weights(), settings).unwrap_err();
    assert!(refused.to_string().starts_with("the influence maps: vertex "), "{refused}");
}
