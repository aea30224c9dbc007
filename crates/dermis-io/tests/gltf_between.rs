//! glTF: what a clip does between its keys survives reading and writing.

mod handmade;

use dermis_io::gltf::{GlbClip, GlbScene, write_glb};
use dermis_io::{Contents, CurveOf, Interpolation, to_bytes};
use dermis_rig::glam::{DAffine3, DQuat, DVec3};
use handmade::{Made, alone, bone};
use serde_json::{Value, json};

const FLOAT: f64 = 2e-6;

/// A channel: node, path, interpolation, width, times, values.
type Channel<'a> = (usize, &'a str, &'a str, usize, &'a [f64], &'a [f64]);

/// Node 0 above two bones, 1 and 3, with node 2 between them; a triangle on both, with a morph target.
fn figure(above: Value, channels: &[Channel<'_>]) -> Contents {
    let mut made = Made::default();
    let attributes = made.skinned(DVec3::Y);
    let target = made.floats("VEC3", 3, &[0.0, 0.0, 0.0, 0.5, 0.0, 0.0, 0.0, 0.0, 0.25]);
    let inverse = made.matrices(&[DAffine3::IDENTITY, DAffine3::from_translation(DVec3::NEG_Y)]);
    let (mut samplers, mut targets) = (Vec::new(), Vec::new());
    for (node, path, interpolation, width, times, values) in channels {
        let shape = ["", "SCALAR", "", "VEC3", "VEC4"][*width];
        let input = made.floats("SCALAR", times.len(), times);
        let output = made.floats(shape, values.len() / width, values);
        targets.push(json!({ "sampler": samplers.len(), "target": { "node": node, "path": path } }));
        samplers.push(json!({ "input": input, "output": output, "interpolation": interpolation }));
    }
    let mut first = above;
    first["children"] = json!([1]);
    made.read(json!({
        "nodes": [
            first, { "name": "low", "children": [2] },
            { "name": "between", "children": [3], "translation": [0, 1, 0] }, { "name": "high" }, { "mesh": 0, "skin": 0 },
        ],
        "meshes": [{ "primitives": [{ "attributes": attributes, "targets": [{ "POSITION": target }] }] }],
        "skins": [{ "joints": [1, 3], "inverseBindMatrices": inverse }],
        "animations": [{ "name": "all", "samplers": samplers, "channels": targets }],
    }))
}

/// Written and read again; with it how far the clip is off between frames, and how many it has.
fn again(found: &Contents, tolerance: f64) -> (Contents, f64, usize) {
    let scene = GlbScene {
        mesh: found.mesh.as_ref(),
        skeleton: found.skeleton.as_ref(),
        weights: found.weights.as_ref(),
        default_pose: found.default_pose.as_ref(),
        morphs: &found.morphs,
        ..GlbScene::default()
    };
    let made = GlbClip::of(&found.clips[0], &scene, tolerance);
    let clips = [made.clip];
    let bytes = to_bytes(|out| write_glb(&GlbScene { clips: &clips, ..scene }, out)).unwrap();
    (alone(&bytes).unwrap(), made.off, clips[0].times.len())
}

/// The largest distance of the triangle's corners between two clips, at many times within 0..duration.
fn apart(a: &Contents, b: &Contents) -> f64 {
    assert_eq!(a.clips[0].duration, b.clips[0].duration);
    let corners = |contents: &Contents, time: f64| -> Vec<DVec3> {
        let frame = (contents.clips[0].sample)(time);
        let moves = contents.skeleton.as_ref().unwrap().bone_transforms(&frame.pose);
        let (mesh, weights) = (contents.mesh.as_ref().unwrap(), contents.weights.as_ref().unwrap());
        (mesh.positions.iter().enumerate())
            .map(|(v, p)| {
                let shaped = *p + contents.morphs[0].deltas[v] * frame.morph_weights[0];
                weights.of(v).iter().map(|(bone, w)| moves[*bone].transform_point3(shaped) * *w).sum()
            })
            .collect()
    };
    let mut worst: f64 = 0.0;
    for step in 0..=997 {
        let time = a.clips[0].duration * f64::from(step) / 997.0;
        let (p, q) = (corners(a, time), corners(b, time));
        worst = p.iter().zip(&q).map(|(p, q)| p.distance(*q)).fold(worst, f64::max);
    }
    worst
}

fn turned(axis: DVec3, degrees: f64) -> [f64; 4] {
    DQuat::from_axis_angle(axis.normalize(), degrees.to_radians()).to_array()
}

/// Three keys of a cubic spline of rotations with steep tangents.
fn spline() -> Vec<f64> {
    let q = |degrees| turned(DVec3::new(0.0, 0.3, 1.0), degrees);
    [
        [0.0; 4],
        q(0.0),
        [0.9, -0.4, 0.3, 0.5],
        [0.2, 0.1, 1.4, -0.8],
        q(60.0),
        [-0.6, 0.2, 1.2, 0.1],
        [0.3, -0.5, 0.2, 0.7],
        q(150.0),
        [0.0; 4],
    ]
    .concat()
}

#[test]
fn keys_of_bones_and_morph_targets_stay_as_they_are() {
    let times = [0.0, 0.25, 1.0];
    let steps = [turned(DVec3::Z, 0.0), turned(DVec3::Z, 45.0), turned(DVec3::X, 90.0)].concat();
    let bulge = [0.0, 0.0, 6.0, 0.0, 1.0, 0.0, -6.0, 0.25, 0.0];
    let moves = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0];
    // Exporters write armatures in centimetres below nodes that turn and scale them: keys go through those.
    let still = json!({ "rotation": turned(DVec3::new(1.0, 0.2, 0.4), -80.0), "scale": [0.5, 0.5, 0.5], "translation": [3, 1, 0] });
    for above in [json!({}), still] {
        let spline = spline();
        let found = figure(
            above.clone(),
            &[
                (1, "rotation", "CUBICSPLINE", 4, &times, &spline),
                (1, "translation", "STEP", 3, &[0.0, 0.5], &moves),
                (3, "rotation", "STEP", 4, &times, &steps),
                (4, "weights", "CUBICSPLINE", 1, &times, &bulge),
            ],
        );
        let curves = found.clips[0].curves.as_ref().unwrap();
        assert_eq!(curves.len(), 7, "three of each bone, and the weights");
        let (made, off, frames) = again(&found, 1e-9);
        assert!(off < 1e-9 && frames == 4, "{off} {frames}");
        let kinds = |of: CurveOf| {
            let curves = made.clips[0].curves.as_ref().unwrap();
            curves.iter().find(|curve| curve.of == of).map(|curve| curve.interpolation)
        };
        assert_eq!(kinds(CurveOf::Rotation(bone(0))), Some(Interpolation::Cubic));
        assert_eq!(kinds(CurveOf::Rotation(bone(1))), Some(Interpolation::Step));
        assert_eq!(kinds(CurveOf::Translation(bone(0))), Some(Interpolation::Step));
        assert_eq!(kinds(CurveOf::MorphWeights), Some(Interpolation::Cubic));
        let worst = apart(&found, &made);
        assert!(worst < 2.0 * FLOAT, "{above}: {worst}");
        // By hand: the weight at a quarter of the way from 0.25 to 1 is a Hermite polynomial of values 1, 0.25 and slopes 0, −6.
        let weight = |s: f64| {
            (2.0 * s.powi(3) - 3.0 * s * s + 1.0) + 0.25 * (3.0 * s * s - 2.0 * s.powi(3)) - 4.5 * (s.powi(3) - s * s)
        };
        let shown = (made.clips[0].sample)(0.4375).morph_weights[0];
        assert!((shown - weight(0.25)).abs() < FLOAT, "{shown}");
        assert!((made.clips[0].sample)(0.24).pose.bones[bone(0)].is_finite());
    }
}

/// Nodes above and between bones turn at once: a joint below goes on an arc that no two keys say.
#[test]
fn nodes_above_and_between_bones_stay_within_the_tolerance() {
    let half = [turned(DVec3::Z, 0.0), turned(DVec3::Z, 90.0), turned(DVec3::Z, 180.0)].concat();
    let back = [turned(DVec3::X, 0.0), turned(DVec3::X, 120.0)].concat();
    let spline = spline();
    let steps = [0.0, 1.0, 0.0, 0.0, 1.0, 0.7, 0.3, 1.0, 0.0];
    let (plain, uneven) = (json!({}), json!({ "scale": [1, 2, 0.5] }));
    let mirrored = json!({ "scale": [-1, 1.5, 0.5], "rotation": turned(DVec3::new(0.3, 1.0, 0.2), 50.0) });
    let cases: [(&str, &Value, Vec<Channel<'_>>); 7] = [
        (
            "a bone that shears",
            &uneven,
            vec![
                (1, "rotation", "LINEAR", 4, &[0.0, 0.5, 1.0], &half),
                (3, "rotation", "LINEAR", 4, &[0.0, 1.0], &back),
            ],
        ),
        (
            "a bone that shears between its keys, below a mirror",
            &mirrored,
            vec![(1, "rotation", "CUBICSPLINE", 4, &[0.0, 0.25, 1.0], &spline)],
        ),
        (
            "a bone that shears below a scale that moves",
            &plain,
            vec![
                (0, "scale", "LINEAR", 3, &[0.0, 1.0], &[1.0, 1.0, 1.0, 0.5, 2.0, 1.5]),
                (1, "rotation", "LINEAR", 4, &[0.0, 0.5, 1.0], &half),
            ],
        ),
        (
            "above",
            &plain,
            vec![
                (0, "rotation", "LINEAR", 4, &[0.0, 0.5, 1.0], &half),
                (1, "rotation", "LINEAR", 4, &[0.0, 1.0], &back),
            ],
        ),
        (
            "between",
            &plain,
            vec![
                (2, "rotation", "LINEAR", 4, &[0.0, 1.0], &back),
                (3, "rotation", "LINEAR", 4, &[0.0, 0.5, 1.0], &half),
            ],
        ),
        (
            "a spline between",
            &plain,
            vec![
                (2, "rotation", "CUBICSPLINE", 4, &[0.0, 0.25, 1.0], &spline),
                (1, "rotation", "STEP", 4, &[0.0, 1.0], &back),
            ],
        ),
        (
            "steps between",
            &plain,
            vec![
                (2, "translation", "STEP", 3, &[0.0, 0.3, 0.8], &steps),
                (1, "rotation", "LINEAR", 4, &[0.0, 1.0], &back),
            ],
        ),
    ];
    for (what, above, channels) in cases {
        let found = figure(above.clone(), &channels);
        let (made, off, frames) = again(&found, 1e-3);
        let worst = apart(&found, &made);
        assert!(off <= 1e-3 && worst < 1.5e-3 && frames < 300, "{what}: {worst}, said {off}, {frames} frames");
        assert!(frames > 4, "{what}: {frames} frames");
        let (finer, off, more) = again(&found, 1e-4);
        let worst = apart(&found, &finer);
        assert!(off <= 1e-4 && worst < 1.5e-4 && more < 1000, "{what}: {worst}, said {off}, {more} frames");
    }
}
