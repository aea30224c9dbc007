//! glTF: clips that move meshes without a skin.

mod handmade;

use dermis_io::gltf::{GlbClip, GlbScene, write_glb};
use dermis_io::{Contents, Interpolation, to_bytes};
use dermis_rig::glam::{DQuat, DVec3};
use handmade::{Made, alone};
use serde_json::json;

/// A truck with two wheels below it and a stone beside it; the clip drives the truck by steps and turns one wheel by a spline.
fn truck() -> Contents {
    let mut made = Made::default();
    let corners = [DVec3::ZERO, DVec3::X, DVec3::Y].map(|p| p.to_array()).concat();
    let positions = made.floats("VEC3", 3, &corners);
    let (steps, turns) = (made.floats("SCALAR", 3, &[0.0, 1.0, 2.0]), made.floats("SCALAR", 2, &[0.0, 2.0]));
    let places = made.floats("VEC3", 3, &[0.0, 0.0, 0.0, 5.0, 0.0, 0.0, 5.0, 0.0, 3.0]);
    let half = std::f64::consts::FRAC_1_SQRT_2;
    let spline = [[0.0; 4], [0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.25, 0.0], [0.0; 4], [0.0, 0.0, half, half], [0.0; 4]];
    let spline = made.floats("VEC4", 6, &spline.concat());
    made.read(json!({
        "scene": 0,
        "scenes": [{ "nodes": [3, 0] }],
        "nodes": [
            { "name": "stone", "mesh": 0, "translation": [0, 0, -4] },
            { "name": "left", "mesh": 0, "translation": [1, 0, 0] },
            { "name": "right", "mesh": 0, "translation": [-1, 0, 0] },
            { "name": "truck", "mesh": 0, "children": [1, 2] },
        ],
        "meshes": [{ "primitives": [{ "attributes": { "POSITION": positions } }] }],
        "animations": [{
            "name": "drive",
            "samplers": [
                { "input": steps, "output": places, "interpolation": "STEP" },
                { "input": turns, "output": spline, "interpolation": "CUBICSPLINE" },
            ],
            "channels": [
                { "sampler": 0, "target": { "node": 3, "path": "translation" } },
                { "sampler": 1, "target": { "node": 1, "path": "rotation" } },
            ],
        }],
    }))
}

/// Where the first two corners of an object are at a time.
fn shown(contents: &Contents, object: &str, time: f64) -> [DVec3; 2] {
    let (mesh, skeleton) = (contents.mesh.as_ref().unwrap(), contents.skeleton.as_ref().unwrap());
    let frame = (contents.clips[0].sample)(time);
    let mut skin = vec![DVec3::ZERO; mesh.positions.len()];
    let transforms = skeleton.bone_transforms(&frame.pose);
    dermis_deform::lbs(&mesh.positions, contents.weights.as_ref().unwrap(), &transforms, &mut skin);
    let at = mesh.objects.iter().position(|one| one.name == object).unwrap();
    let range = mesh.object_ranges().nth(at).unwrap().1;
    [skin[range.start], skin[range.start + 1]]
}

/// Oracle: the nodes' transforms by the specification. The file's numbers are floats.
#[test]
fn meshes_that_a_clip_moves_keep_their_keys() {
    let found = truck();
    assert!(found.unread.is_empty(), "{:?}", found.unread);
    let clips: Vec<GlbClip> = {
        let scene = GlbScene { mesh: found.mesh.as_ref(), skeleton: found.skeleton.as_ref(), ..GlbScene::default() };
        found.clips.iter().map(|clip| GlbClip::of(clip, &scene, 1e-6).clip).collect()
    };
    let scene = GlbScene {
        mesh: found.mesh.as_ref(),
        skeleton: found.skeleton.as_ref(),
        weights: found.weights.as_ref(),
        clips: &clips,
        ..GlbScene::default()
    };
    let again = alone(&to_bytes(|out| write_glb(&scene, out)).unwrap()).unwrap();
    for (contents, tolerance) in [(&found, 1e-7), (&again, 1e-6)] {
        for time in [0.0, 0.4, 0.999, 1.0, 1.7, 2.0] {
            let truck = [DVec3::ZERO, DVec3::X * 5.0, DVec3::new(5.0, 0.0, 3.0)][time as usize];
            let s: f64 = time / 2.0;
            let (s2, s3) = (s * s, s * s * s);
            let h = std::f64::consts::FRAC_1_SQRT_2;
            let (one, leave, two) = (2.0 * s3 - 3.0 * s2 + 1.0, 2.0 * (s3 - 2.0 * s2 + s), 3.0 * s2 - 2.0 * s3);
            let turn = DQuat::from_xyzw(0.0, 0.0, leave * 0.25 + two * h, one + two * h).normalize();
            let near = |object: &str, expected: [DVec3; 2]| {
                let found = shown(contents, object, time);
                let off = found[0].distance(expected[0]).max(found[1].distance(expected[1]));
                assert!(off < tolerance, "{object} at {time}: {found:?}, not {expected:?}");
            };
            near("truck", [truck, truck + DVec3::X]);
            near("left", [truck + DVec3::X, truck + DVec3::X + turn * DVec3::X]);
            near("right", [truck - DVec3::X, truck]);
            near("stone", [DVec3::Z * -4.0, DVec3::new(1.0, 0.0, -4.0)]);
        }
    }
    let kept = |of: Interpolation| {
        again.clips[0].curves.iter().flatten().any(|curve| curve.interpolation == of && curve.times.len() > 1)
    };
    assert!(kept(Interpolation::Step) && kept(Interpolation::Cubic));
}
