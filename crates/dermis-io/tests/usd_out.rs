//! USD that is written, read by a few lines that know its text and its definition of skinning alone. `tools/check_usd.py` holds files of
//! the program to USD itself.

mod character;

use character::{Character, character, face, far, house, of, skin};
use dermis_io::skinned_scene::{SceneWritten, SkinnedScene, clip_of_frames};
use dermis_io::usd::{self, Container, Frames};
use dermis_io::{Clip, ClipFrame, Space, UpAxis, WriteError, to_bytes};
use dermis_rig::glam::{DAffine3, DMat3, DQuat, DVec3, Vec4};
use dermis_rig::mesh::RenderPart;
use dermis_rig::{Appearance, BoneIndex, Image, Influences, MeshObject, Skeleton, WorldPose};
use dermis_testkit::textured::png;
use std::io::{Cursor, Read};
use std::sync::Arc;

fn metres(up: UpAxis) -> Space {
    Space { up, ..Space::default() }
}

fn written(scene: &SkinnedScene<'_>, space: &Space) -> (String, SceneWritten) {
    let mut done = SceneWritten::default();
    let bytes = to_bytes(|out| {
        done = usd::write(scene, space, Container::Text, out)?;
        Ok(())
    });
    (String::from_utf8(bytes.unwrap_or_else(|e| panic!("{e}"))).unwrap(), done)
}

fn refused(scene: &SkinnedScene<'_>) -> WriteError {
    usd::write(scene, &Space::default(), Container::Text, &mut Vec::new()).unwrap_err()
}

/// The lines of a prim, from the one that begins it.
fn prim<'a>(text: &'a str, kind: &str, name: &str) -> &'a str {
    let start = text.find(&format!("def {kind} \"{name}\"")).unwrap_or_else(|| panic!("no {kind} {name}"));
    let depth = start - text[..start].rfind('\n').unwrap() - 1;
    let end = text[start..].find(&format!("\n{}}}\n", " ".repeat(depth))).unwrap();
    &text[start..start + end + 1 + depth + 2]
}

/// What stands after the equals sign of an attribute, to the end of its line.
fn value<'a>(prim: &'a str, name: &str) -> Option<&'a str> {
    let at = prim.find(&format!(" {name} = "))?;
    let rest = &prim[at..];
    Some(rest[..rest.find('\n').unwrap()].split_once(" = ").unwrap().1)
}

fn numbers_of(text: &str) -> Vec<f64> {
    let parts = text.split(|c: char| "[](), ".contains(c)).filter(|part| !part.is_empty());
    parts.map(|part| part.parse().unwrap_or_else(|_| panic!("{part}"))).collect()
}

fn numbers(prim: &str, name: &str) -> Vec<f64> {
    numbers_of(value(prim, name).unwrap_or_else(|| panic!("no {name}")))
}

fn vectors(prim: &str, name: &str) -> Vec<DVec3> {
    numbers(prim, name).chunks(3).map(DVec3::from_slice).collect()
}

fn texts(prim: &str, name: &str) -> Vec<String> {
    value(prim, name).unwrap().split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

/// The value of an attribute at a time, joined by straight lines, rotations by the shorter arc.
fn at(prim: &str, name: &str, time: f64, width: usize) -> Vec<f64> {
    let Some(start) = prim.find(&format!(" {name}.timeSamples = {{")) else { return numbers(prim, name) };
    let lines = prim[start..].lines().skip(1).take_while(|line| line.trim() != "}");
    let samples: Vec<(f64, Vec<f64>)> = lines
        .map(|line| {
            let (time, list) = line.trim().trim_end_matches(',').split_once(": ").unwrap();
            (time.parse().unwrap(), numbers_of(list))
        })
        .collect();
    assert!(samples.windows(2).all(|two| two[0].0 < two[1].0), "{name}");
    let next = samples.partition_point(|(own, _)| *own <= time).clamp(1, samples.len() - 1);
    let ((from, a), (to, b)) = (&samples[next - 1], &samples[next]);
    let s = ((time - from) / (to - from)).clamp(0.0, 1.0);
    let joined = a.chunks(width).zip(b.chunks(width)).flat_map(|(a, b)| {
        let sign = if width == 4 && a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>() < 0.0 { -1.0 } else { 1.0 };
        if width < 4 {
            return a.iter().zip(b).map(|(a, b)| a + (b - a) * s).collect::<Vec<_>>();
        }
        let q = |v: &[f64]| DQuat::from_xyzw(v[1], v[2], v[3], v[0]).normalize();
        let made = q(a).slerp(q(b) * sign, s);
        vec![made.w, made.x, made.y, made.z]
    });
    joined.collect()
}

/// Matrices of row vectors.
fn matrices(prim: &str, name: &str) -> Vec<DAffine3> {
    let numbers = numbers(prim, name);
    let made = numbers.chunks(16).map(|m| {
        assert_eq!([m[3], m[7], m[11], m[15]], [0.0, 0.0, 0.0, 1.0]);
        let column = |at: usize| DVec3::from_slice(&m[4 * at..4 * at + 3]);
        DAffine3::from_mat3_translation(DMat3::from_cols(column(0), column(1), column(2)), column(3))
    });
    made.collect()
}

/// The points of a mesh as USD defines them: p' = Σ w (p + Σ s d) B⁻¹ J, with row vectors.
fn points(text: &str, mesh: &str, clip: Option<&str>, time: f64) -> Vec<DVec3> {
    let mesh = prim(text, "Mesh", mesh);
    let skeleton = prim(text, "Skeleton", "Skeleton");
    let mut points = vectors(mesh, "points");
    let paths = texts(skeleton, "joints");
    let locals: Vec<DAffine3> = match clip {
        None => matrices(skeleton, "restTransforms"),
        Some(clip) => {
            let clip = prim(text, "SkelAnimation", clip);
            if value(clip, "blendShapes").is_some() {
                let weights = at(clip, "blendShapeWeights", time, 1);
                for (name, weight) in texts(clip, "blendShapes").iter().zip(weights) {
                    let shape = prim(mesh, "BlendShape", name);
                    let places = numbers(shape, "pointIndices");
                    places.iter().zip(vectors(shape, "offsets")).for_each(|(p, d)| points[*p as usize] += d * weight);
                }
            }
            assert_eq!(texts(clip, "joints"), paths);
            let (t, r, s) =
                (at(clip, "translations", time, 3), at(clip, "rotations", time, 4), at(clip, "scales", time, 3));
            (0..paths.len())
                .map(|joint| {
                    let q = DQuat::from_xyzw(r[4 * joint + 1], r[4 * joint + 2], r[4 * joint + 3], r[4 * joint]);
                    let v = |list: &[f64]| DVec3::from_slice(&list[3 * joint..3 * joint + 3]);
                    DAffine3::from_scale_rotation_translation(v(&s), q.normalize(), v(&t))
                })
                .collect()
        }
    };
    let mut world: Vec<DAffine3> = Vec::new();
    for (path, local) in paths.iter().zip(locals) {
        let above = path.rsplit_once('/').map(|(above, _)| paths.iter().position(|own| own == above).unwrap());
        world.push(above.map_or(local, |above| world[above] * local));
    }
    let moves: Vec<DAffine3> =
        world.iter().zip(matrices(skeleton, "bindTransforms")).map(|(to, from)| *to * from.inverse()).collect();
    let own = value(mesh, "skel:joints").map(|_| texts(mesh, "skel:joints")).unwrap_or_else(|| paths.clone());
    let moves: Vec<DAffine3> =
        own.iter().map(|joint| moves[paths.iter().position(|path| path == joint).unwrap()]).collect();
    let (joints, weights) = (numbers(mesh, "primvars:skel:jointIndices"), numbers(mesh, "primvars:skel:jointWeights"));
    let most = joints.len() / points.len();
    assert!(mesh.contains(&format!("elementSize = {most}\n")));
    let rows = joints.chunks(most).zip(weights.chunks(most));
    let moved = points.iter().zip(rows).map(|(p, (joints, weights))| {
        joints.iter().zip(weights).map(|(joint, w)| moves[*joint as usize].transform_point3(*p) * *w).sum()
    });
    moved.collect()
}

/// Frames have whole numbers at four per second.
fn in_file(scene: &SkinnedScene<'_>, seconds: f64) -> f64 {
    seconds * scene.frames_per_second.unwrap()
}

/// In each axis and unit the motion is that of the clip, as close as halves hold its scales at keys, and as is said between them.
#[test]
fn a_character_moves_as_it_did() {
    let column = character(4);
    let clip = of(&column.skeleton, &column.clips[0]);
    for space in [metres(UpAxis::Y), metres(UpAxis::Z), Space { metres_per_unit: 0.01, ..metres(UpAxis::Z) }] {
        let clips = [&clip];
        let scene = SkinnedScene { frames_per_second: Some(4.0), ..column.skinned(&clips) };
        let (text, done) = written(&scene, &space);
        assert_eq!(written(&scene, &space).0, text, "the same bytes");
        assert_eq!((done.renamed, done.left_out), (vec![], vec![]));
        assert_eq!((value(&text, "startTimeCode"), value(&text, "endTimeCode")), (Some("0"), Some("4")));
        let ours = space.to_ours();
        let place = |list: Vec<DVec3>| list.iter().map(|p| ours.transform_point3(*p)).collect::<Vec<_>>();
        let size = column.mesh.diagonal();
        for time in [0.0, 0.1, 0.25, 0.4, 0.5, 0.77, 1.0] {
            let told = skin(&column.mesh, &column.skeleton, &column.weights, &column.morphs, &(clip.sample)(time));
            let found = place(points(&text, "column", Some("bend"), in_file(&scene, time)));
            let off = far(&found, &told);
            // Scales from one to two in halves are 2⁻¹¹ off at most, over the 0.9 m above the bone: 4.4e-4.
            let is_key = (4.0 * time).fract() == 0.0;
            let limit = if is_key { 4.4e-4 } else { done.takes[0].2 + 1e-6 * size };
            assert!(off < limit, "{space:?}, {time}: {off}");
        }
        assert!(done.takes[0].2 < 4.4e-4 + 1e-4 * size, "{:?}", done.takes);
    }
}

/// A clip of one key stays one, and leaves the pose and the weights without a clip alone; weights beside a clip are kept.
#[test]
fn what_holds_without_a_clip_stays() {
    let column = character(3);
    let bind = WorldPose::new(column.skeleton.bind().to_vec());
    let local = column.skeleton.local_transforms(&bind).unwrap();
    let turned = local.enumerate().map(|(bone, local)| *local * DAffine3::from_rotation_x(0.4 * bone.get() as f64));
    let turned = column.skeleton.posed(dermis_rig::BoneVec::new(turned.collect())).unwrap().world();
    let shown = vec![0.25; column.morphs.len()];
    let moved = vec![0.75; column.morphs.len()];
    for (times, poses, weights) in [
        (vec![0.0], vec![turned.clone()], vec![moved.clone()]),
        (vec![0.0, 1.0], vec![turned.clone(), bind.clone()], vec![moved.clone(), moved.clone()]),
        (vec![0.0, 1.0], vec![turned.clone(), bind.clone()], vec![moved.clone(), shown.clone()]),
        (vec![0.0, 1.0], vec![turned.clone(), turned.clone()], vec![moved.clone(), moved.clone()]),
        (vec![0.0, 1.0], vec![turned.clone(), turned.clone()], vec![moved.clone(), shown.clone()]),
    ] {
        let clip = clip_of_frames("turn", Some(&column.skeleton), times.clone(), &poses, weights.clone()).unwrap();
        let clips = [&clip];
        let scene = SkinnedScene { morph_weights: &shown, frames_per_second: Some(1.0), ..column.skinned(&clips) };
        let (text, _) = written(&scene, &Space::default());
        let back = usd::read(text.as_bytes(), "turn.usda", &|_, _| panic!("no other file")).unwrap();
        let (mesh, skeleton, influences) =
            (back.mesh.as_ref().unwrap(), back.skeleton.as_ref().unwrap(), back.weights.as_ref().unwrap());
        assert_eq!(back.morph_weights, shown);
        let ours = |frame: &ClipFrame| skin(&column.mesh, &column.skeleton, &column.weights, &column.morphs, frame);
        let theirs = |frame: &ClipFrame| skin(mesh, skeleton, influences, &back.morphs, frame);
        let pose = back.default_pose.clone().unwrap_or_else(|| WorldPose::new(skeleton.bind().to_vec()));
        let still = theirs(&ClipFrame { pose, morph_weights: back.morph_weights.clone() });
        assert!(far(&still, &ours(&ClipFrame { pose: bind.clone(), morph_weights: shown.clone() })) < 1e-6);
        assert_eq!(back.clips.len(), 1);
        assert_eq!(back.clips[0].key_times, times);
        for ((time, pose), weights) in times.iter().zip(&poses).zip(&weights) {
            let told = ours(&ClipFrame { pose: pose.clone(), morph_weights: weights.clone() });
            assert!(far(&theirs(&(back.clips[0].sample)(*time)), &told) < 1e-6, "{time}");
        }
    }
}

/// Normals of a shape at its full weight are those of the shape, in any axes and unit.
#[test]
fn shapes_turn_normals() {
    let column = character(3);
    for space in [metres(UpAxis::Y), Space { metres_per_unit: 0.01, ..metres(UpAxis::Z) }] {
        let (text, done) = written(&SkinnedScene { morph_weights: &[], ..column.skinned(&[]) }, &space);
        assert_eq!(done.left_out, Vec::<String>::new());
        let mesh = prim(&text, "Mesh", "column");
        let turn = space.to_ours();
        for morph in &column.morphs {
            let shape = prim(mesh, "BlendShape", &morph.name);
            let mut normals = vectors(mesh, "normals");
            let changes = vectors(shape, "normalOffsets");
            assert!(changes.iter().any(|change| change.length() > 0.01), "the shape turns something");
            numbers(shape, "pointIndices").iter().zip(changes).for_each(|(at, change)| normals[*at as usize] += change);
            let moved: Vec<DVec3> = column.mesh.positions.iter().zip(&morph.deltas).map(|(p, d)| *p + *d).collect();
            let mut told = vec![DVec3::ZERO; moved.len()];
            for corners in &column.mesh.triangles {
                let [a, b, c] = corners.map(|corner| moved[corner as usize]);
                corners.iter().for_each(|&corner| told[corner as usize] += (b - a).cross(c - a));
            }
            for (normal, told) in normals.iter().zip(told) {
                let found = turn.transform_vector3(*normal).normalize();
                assert!(found.distance(told.normalize()) < 1e-5, "{found} {}", told.normalize());
            }
        }
    }
}

/// Bones that turn and move alone are as exact as floats; a clip that begins late does so in the file.
#[test]
fn rigid_bones_are_exact_at_keys() {
    let column = character(3);
    let rest = column.skeleton.local_transforms(&WorldPose::new(column.skeleton.bind().to_vec())).unwrap();
    let pose = |turn: f64| {
        let local = rest.enumerate().map(|(bone, local)| {
            *local * DAffine3::from_rotation_x(turn * bone.get() as f64) * DAffine3::from_rotation_y(0.3 * turn)
        });
        column.skeleton.posed(dermis_rig::BoneVec::new(local.collect())).unwrap().world()
    };
    let poses: Vec<WorldPose> = (0..4).map(|frame| pose(0.4 * f64::from(frame))).collect();
    let times = (0..4).map(|frame| f64::from(frame) / 2.0).collect();
    let clip = clip_of_frames("turn", Some(&column.skeleton), times, &poses, vec![]).unwrap();
    let clip = Clip { start: 3.0, ..clip };
    let clips = [&clip];
    let scene = SkinnedScene { frames_per_second: Some(24.0), morphs: &[], ..column.skinned(&clips) };
    let (text, _) = written(&scene, &Space::default());
    assert_eq!((value(&text, "startTimeCode"), value(&text, "endTimeCode")), (Some("72"), Some("108")));
    for (frame, pose) in poses.iter().enumerate() {
        let told = ClipFrame { pose: pose.clone(), morph_weights: vec![] };
        let told = skin(&column.mesh, &column.skeleton, &column.weights, &[], &told);
        let found = points(&text, "column", Some("turn"), 72.0 + 12.0 * frame as f64);
        assert!(far(&found, &told) < 3e-7, "{frame}: {}", far(&found, &told)); // a few roundings of 2⁻²⁴ of a metre
    }
}

/// A bone that shears is two joints; what is shown without a clip is in doubles.
#[test]
fn bones_that_shear_are_two_joints() {
    let column = character(2);
    let shear = |by: f64| DAffine3::from_mat3(DMat3::from_cols(DVec3::X, DVec3::new(by, 1.0, 0.0), DVec3::Z));
    let poses: Vec<WorldPose> = (0..5)
        .map(|frame| {
            let bind = column.skeleton.bind();
            let by = f64::from(frame);
            let moved = bind[BoneIndex::new(1)] * DAffine3::from_rotation_x(0.3 * by) * shear(0.2 * by);
            WorldPose::new(vec![bind[BoneIndex::new(0)], moved])
        })
        .collect();
    let times = (0..5).map(|frame| f64::from(frame) / 4.0).collect();
    let clip = clip_of_frames("shear", Some(&column.skeleton), times, &poses, vec![]).unwrap();
    let clips = [&clip];
    let shown = poses[2].clone();
    let scene = SkinnedScene {
        morphs: &[],
        default_pose: Some(&shown),
        frames_per_second: Some(4.0),
        ..column.skinned(&clips)
    };
    let (text, _) = written(&scene, &Space::default());
    let joints = texts(prim(&text, "Skeleton", "Skeleton"), "joints");
    assert_eq!(joints, ["bone0", "bone0/bone1_stretch", "bone0/bone1_stretch/bone1"]);
    for (frame, pose) in poses.iter().enumerate() {
        let told = ClipFrame { pose: pose.clone(), morph_weights: vec![] };
        let told = skin(&column.mesh, &column.skeleton, &column.weights, &[], &told);
        // Scales up to 1.5 in halves, over 0.3 m.
        assert!(far(&points(&text, "column", Some("shear"), frame as f64), &told) < 1.5e-4, "{frame}");
        if frame == 2 {
            assert!(far(&points(&text, "column", None, 0.0), &told) < 3e-8, "doubles, and float weights");
        }
    }
}

/// Bones of another size are rotations in the file; the skin moves as before.
#[test]
fn bones_of_any_size_are_bound_as_rotations() {
    let mut column = character(3);
    let sizes = [DVec3::splat(100.0), DVec3::new(-1.0, 1.0, 1.0), DVec3::new(2.0, 0.5, 1.0)].map(DAffine3::from_scale);
    let bind = column.skeleton.bind().iter().zip(sizes).map(|(bone, size)| *bone * size).collect();
    let (names, parents) = (column.skeleton.names().to_vec(), column.skeleton.parents().to_vec());
    column.skeleton = Skeleton::new(names, parents, bind).unwrap();
    let (text, _) = written(&column.skinned(&[]), &Space::default());
    for bind in matrices(prim(&text, "Skeleton", "Skeleton"), "bindTransforms") {
        let square = bind.matrix3.transpose() * bind.matrix3;
        assert!(square.abs_diff_eq(DMat3::IDENTITY, 1e-14) && bind.matrix3.determinant() > 0.0);
    }
    assert!(far(&points(&text, "column", None, 0.0), &column.mesh.positions) < 1e-7);
}

/// Values that all corners of a vertex share are stored by vertex, others by corner.
#[test]
fn polygons_and_hard_edges_stay() {
    let house = house();
    let scene = SkinnedScene { name: "house", mesh: Some(&house), ..SkinnedScene::default() };
    let (text, done) = written(&scene, &metres(UpAxis::Y));
    assert_eq!(done, SceneWritten::default());
    let mesh = prim(&text, "Mesh", "house");
    let polygons = house.polygons.as_ref().unwrap();
    let whole = |list: &[u32]| list.iter().map(|x| f64::from(*x)).collect::<Vec<_>>();
    assert_eq!(numbers(mesh, "faceVertexCounts"), whole(&polygons.counts));
    assert_eq!(numbers(mesh, "faceVertexIndices"), whole(&polygons.indices));
    assert_eq!(vectors(mesh, "points"), house.positions);
    let render = house.render.as_ref().unwrap();
    let normals = vectors(mesh, "normals");
    assert_eq!(normals.len(), polygons.indices.len(), "by corner");
    assert!(far(&normals, &render.normals) < 1e-7, "drawn vertices are corners, in their order");
    assert!(mesh.contains("subdivisionScheme = \"none\""));
    // Texture coordinates depend on the vertex alone; USD counts from the lower left.
    let uvs = numbers(mesh, "primvars:st");
    assert_eq!(uvs.len(), 2 * house.positions.len());
    let first = render.uvs[render.source.iter().position(|vertex| *vertex == 0).unwrap()];
    assert_eq!(uvs[..2], [first.x, 1.0 - first.y]);
    // A seam: two texture coordinates of one vertex.
    let column = character(2);
    let (text, _) = written(&column.skinned(&[]), &metres(UpAxis::Y));
    let mesh = prim(&text, "Mesh", "column");
    let corners = 3 * column.mesh.triangles.len();
    assert_eq!(numbers(mesh, "primvars:st:indices").len(), corners);
    let mut other = house.clone();
    other.render.as_mut().unwrap().triangles.pop();
    let (_, done) = written(&SkinnedScene { mesh: Some(&other), ..scene }, &metres(UpAxis::Y));
    assert!(done.left_out.len() == 1 && done.left_out[0].starts_with("polygons"));
}

/// Two objects, one hidden, each with a material of its own, and shapes without a skeleton: they hang on a joint that stays.
#[test]
fn objects_stay_apart() {
    let (mesh, morphs, clip) = face();
    let clips = [&clip];
    let scene = SkinnedScene {
        name: "face",
        mesh: Some(&mesh),
        morphs: &morphs,
        morph_weights: &[0.25, 0.0, 1.0],
        clips: &clips,
        ..SkinnedScene::default()
    };
    let (text, _) = written(&scene, &metres(UpAxis::Y));
    let (head, teeth) = (prim(&text, "Mesh", "head"), prim(&text, "Mesh", "teeth"));
    assert!(!head.contains("invisible") && teeth.contains("token visibility = \"invisible\""));
    assert_eq!(texts(head, "skel:blendShapes"), ["open", "still"]);
    assert_eq!(texts(teeth, "skel:blendShapes"), ["open", "smile"]);
    assert_eq!(vectors(prim(teeth, "BlendShape", "smile"), "offsets"), [DVec3::Y; 3]);
    assert!(teeth.contains("rel material:binding = </face/Materials/of_teeth>"));
    let clip = prim(&text, "SkelAnimation", "talk");
    assert_eq!(texts(clip, "blendShapes"), ["open", "still", "smile"]);
    assert_eq!(at(clip, "blendShapeWeights", 0.0, 1), [0.25, 0.0, -0.5]);
    assert_eq!(at(clip, "blendShapeWeights", 12.0, 1), [0.4375, 0.125, 0.125], "24 frames per second");
    // Without a clip, an animation of one moment shows the shapes.
    let (text, _) = written(&SkinnedScene { clips: &[], ..scene }, &metres(UpAxis::Y));
    assert_eq!(numbers(prim(&text, "SkelAnimation", "Shown"), "blendShapeWeights"), [0.25, 0.0, 1.0]);
    assert!(text.contains("rel skel:animationSource = </face/Shown>"));
}

/// Names are identifiers; as they were they are shown beside.
#[test]
fn names_are_identifiers_and_occur_once() {
    let mut column = character(3);
    let names = ["upper arm.L", "mixamorig:Hips", "骨\"盤"].map(String::from).to_vec();
    let parents = column.skeleton.parents().to_vec();
    column.skeleton = Skeleton::new(names, parents, column.skeleton.bind().to_vec()).unwrap();
    let vertices = column.mesh.positions.len() as u32;
    column.mesh.objects = vec![MeshObject { name: "Skeleton".into(), vertices, visible: true }];
    column.morphs[0].name = "7\"; drop".into();
    column.morphs[1].name = String::new();
    let clip = of(&column.skeleton, &column.clips[0]);
    let other = Clip { name: "a|b".into(), ..of(&column.skeleton, &column.clips[0]) };
    let clips = [&clip, &clip, &other];
    let (text, done) = written(&column.skinned(&clips), &Space::default());
    let skeleton = prim(&text, "Skeleton", "Skeleton_2");
    assert_eq!(texts(skeleton, "joints")[2], "upper_arm_L/mixamorig_Hips/骨_盤");
    assert!(value(skeleton, "jointNames").unwrap().contains("\"骨\\\"盤\""));
    let told: Vec<(&str, &str)> = done.renamed.iter().map(|one| (one.from.as_str(), one.to.as_str())).collect();
    for expected in
        [("bend", "bend_2"), ("a|b", "a_b"), ("upper arm.L", "upper_arm_L"), ("7\"; drop", "_7___drop"), ("", "shape")]
    {
        assert!(told.contains(&expected), "{expected:?} in {told:?}");
    }
    // Several clips: the variant set chooses.
    assert_eq!(done.takes.iter().map(|(name, ..)| name.as_str()).collect::<Vec<_>>(), ["bend", "bend_2", "a_b"]);
    assert!(text.contains("string clip = \"bend\"") && text.contains("rel skel:animationSource = </column/a_b>"));
    assert!(!skeleton.contains("animationSource"));
}

/// Materials, and a package whose members begin at multiples of 64 bytes.
#[test]
fn a_package_holds_pictures() {
    let mut house = house();
    let picture = png([200, 100, 50]);
    let description = serde_json::json!({
        "materials": [
            { "name": "glass", "pbrMetallicRoughness":
                { "baseColorFactor": [0.25, 0.5, 0.75, 0.5], "metallicFactor": 0.5, "roughnessFactor": 0.25 },
              "emissiveFactor": [0.5, 0.25, 0.125], "alphaMode": "BLEND" },
            { "name": "wall", "pbrMetallicRoughness":
                { "baseColorTexture": { "index": 0 }, "metallicRoughnessTexture": { "index": 0 },
                  "baseColorFactor": [1.0, 0.5, 1.0, 1.0], "metallicFactor": 0.0, "roughnessFactor": 0.75 },
              "normalTexture": { "index": 0, "scale": 0.5 }, "occlusionTexture": { "index": 0, "strength": 0.25 },
              "doubleSided": true },
        ],
        "textures": [{ "source": 0, "sampler": 0 }],
        "samplers": [{ "wrapS": 33071, "wrapT": 33648 }],
        "images": [{ "name": "wall.paint" }],
    });
    let images = vec![Image { media_type: "image/png".into(), bytes: picture.clone() }];
    let render = house.render.as_mut().unwrap();
    render.appearance = Some(Arc::new(Appearance { description: description.to_string(), images }));
    let part = |start, count, material| RenderPart { name: "part".into(), start, count, color: Vec4::ONE, material };
    render.parts = vec![part(0, 6, Some(1)), part(6, 10, Some(0))];
    let scene = SkinnedScene { name: "house", mesh: Some(&house), ..SkinnedScene::default() };
    let bytes = to_bytes(|out| usd::write(&scene, &Space::default(), Container::Package, out).map(|_| ())).unwrap();
    let mut archive = zip::ZipArchive::new(Cursor::new(&bytes)).unwrap();
    let names: Vec<String> = archive.file_names().map(|name| name.unwrap().into_owned()).collect();
    assert_eq!(names, ["house.usda", "textures/wall_paint.png"]);
    let mut members = Vec::new();
    for at in 0..archive.len() {
        let mut member = archive.by_index(at).unwrap();
        assert_eq!(member.data_start().unwrap() % 64, 0);
        assert_eq!(member.compression(), zip::CompressionMethod::Stored);
        let mut bytes = Vec::new();
        member.read_to_end(&mut bytes).unwrap();
        members.push(bytes);
    }
    assert_eq!(members[1], picture);
    let text = String::from_utf8(members.swap_remove(0)).unwrap();
    let (glass, wall) = (prim(&text, "Material", "glass"), prim(&text, "Material", "wall"));
    let surface = prim(glass, "Shader", "Surface");
    for (name, expected) in [
        ("inputs:diffuseColor", &[0.25, 0.5, 0.75][..]),
        ("inputs:opacity", &[0.5]),
        ("inputs:metallic", &[0.5]),
        ("inputs:roughness", &[0.25]),
        ("inputs:emissiveColor", &[0.5, 0.25, 0.125]),
    ] {
        assert_eq!(numbers(surface, name), expected, "{name}");
    }
    let surface = prim(wall, "Shader", "Surface");
    let connected = |name: &str| value(surface, &format!("{name}.connect")).unwrap().to_owned();
    assert_eq!(connected("inputs:diffuseColor"), "</house/Materials/wall/BaseColor.outputs:rgb>");
    assert_eq!(connected("inputs:roughness"), "</house/Materials/wall/Surfaces.outputs:g>");
    assert_eq!(connected("inputs:metallic"), "</house/Materials/wall/Surfaces.outputs:b>");
    assert_eq!(numbers(surface, "inputs:opacity"), [1.0]);
    for (node, scale, bias) in [
        ("BaseColor", [1.0, 0.5, 1.0, 1.0], [0.0; 4]),
        ("Surfaces", [1.0, 0.75, 0.0, 1.0], [0.0; 4]),
        ("Normal", [1.0, 1.0, 2.0, 1.0], [-0.5, -0.5, -1.0, 0.0]),
        ("Occlusion", [0.25, 0.25, 0.25, 1.0], [0.75, 0.75, 0.75, 0.0]),
    ] {
        let node = prim(wall, "Shader", node);
        assert_eq!((numbers(node, "inputs:scale"), numbers(node, "inputs:bias")), (scale.to_vec(), bias.to_vec()));
        assert_eq!(value(node, "inputs:file"), Some("@textures/wall_paint.png@"));
        assert_eq!((value(node, "inputs:wrapS"), value(node, "inputs:wrapT")), (Some("\"clamp\""), Some("\"mirror\"")));
    }
    let mesh = prim(&text, "Mesh", "house");
    assert_eq!(numbers(prim(mesh, "GeomSubset", "wall"), "indices"), [0.0, 1.0]);
    assert_eq!(numbers(prim(mesh, "GeomSubset", "glass"), "indices"), [2.0, 3.0, 4.0, 5.0, 6.0]);
    // A text holds no picture, and says so.
    let (text, done) = written(&scene, &Space::default());
    assert!(!text.contains("UsdUVTexture") && text.contains("(1, 0.5, 1)"));
    assert_eq!(done.left_out, ["4 textures whose pictures the file cannot hold: a .usdz file holds PNG and JPEG"]);
}

/// Shapes over time are points that move, with their boxes and normals.
#[test]
fn points_move() {
    let house = house();
    let frames: Vec<Vec<DVec3>> =
        (0..3).map(|at| house.positions.iter().map(|p| *p * (1.0 + f64::from(at))).collect()).collect();
    let scene =
        SkinnedScene { name: "house", mesh: Some(&house), frames_per_second: Some(25.0), ..SkinnedScene::default() };
    let mut fill = |at: usize, shape: &mut Vec<DVec3>| {
        shape.clone_from(&frames[at]);
        Ok(())
    };
    let space = Space { metres_per_unit: 0.5, ..metres(UpAxis::Y) };
    let mut write = |times: &[f64]| {
        let frames = Frames { times, fill: &mut fill };
        to_bytes(|out| usd::write_points(&scene, frames, &space, Container::Text, out).map(|_| ()))
    };
    let text = String::from_utf8(write(&[0.0, 0.04, 0.2]).unwrap()).unwrap();
    assert_eq!((value(&text, "startTimeCode"), value(&text, "endTimeCode")), (Some("0"), Some("5")));
    let mesh = prim(&text, "Mesh", "house");
    for (time, frame) in [0.0, 1.0, 5.0].into_iter().zip(&frames) {
        let found: Vec<DVec3> = at(mesh, "points", time, 3).chunks(3).map(|p| 0.5 * DVec3::from_slice(p)).collect();
        assert_eq!(&found, frame);
        assert_eq!(at(mesh, "extent", time, 3)[3], 2.0 * frame[1].x);
    }
    assert!(mesh.contains("normal3f[] normals = "), "which growing does not turn");
    assert!(matches!(write(&[0.0, 0.0, 1.0]), Err(WriteError::Times { at: 1, .. })));
    assert!(matches!(write(&[]), Err(WriteError::Nothing { .. })));
}

/// What disagrees is named, and nothing is written half.
#[test]
fn what_cannot_be_written_is_refused() {
    let column: Character = character(2);
    let clip = of(&column.skeleton, &column.clips[0]);
    let clips = [&clip];
    let whole = column.skinned(&clips);
    assert!(matches!(refused(&SkinnedScene::default()), WriteError::Nothing { .. }));
    assert!(matches!(refused(&SkinnedScene { mesh: None, ..whole }), WriteError::Count { .. }));
    let half = Influences::from_rows((0..column.mesh.positions.len()).map(|_| vec![(BoneIndex::new(0), 0.5)])).unwrap();
    assert_eq!(refused(&SkinnedScene { weights: Some(&half), ..whole }), WriteError::WeightSum { vertex: 0, sum: 0.5 });
    let weights = SkinnedScene { morph_weights: &[f64::NAN, 0.0], clips: &[], ..whole };
    assert!(matches!(refused(&weights), WriteError::NotFinite { .. }));
    let mut huge = column.mesh.clone();
    huge.positions[3].x = 1e39; // finite, but no float
    assert!(matches!(refused(&SkinnedScene { mesh: Some(&huge), clips: &[], ..whole }), WriteError::NotFinite { .. }));
    let sized = |size: f64| {
        column.skeleton.bind().iter().map(|bone| *bone * DAffine3::from_scale(DVec3::splat(size))).collect()
    };
    let poses = [1e5, 1.0].map(|size| WorldPose::new(sized(size)));
    let clip = clip_of_frames("grow", Some(&column.skeleton), vec![0.0, 1.0], &poses, vec![]).unwrap();
    let clips = [&clip];
    let grown = SkinnedScene { clips: &clips, ..whole };
    assert!(matches!(refused(&grown), WriteError::NotFinite { .. }), "a half ends at 65504");
    let names: Vec<String> = (0..8000).map(|bone| format!("bone{bone}")).collect();
    let parents = (0..8000usize).map(|bone| bone.checked_sub(1).map(BoneIndex::new)).collect();
    let chain = Skeleton::new(names, parents, vec![DAffine3::IDENTITY; 8000]).unwrap();
    let scene = SkinnedScene { name: "chain", skeleton: Some(&chain), ..SkinnedScene::default() };
    assert!(matches!(refused(&scene), WriteError::CannotHold { .. }), "paths of 300 MB");
}
