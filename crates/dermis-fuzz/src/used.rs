//! What a reader accepts must survive being used: as a rig, posed, baked, and written to every format.

use dermis_deform::{
    Base, CorrectiveSmooth, Deformer, DirectDeltaMush, DualQuaternions, MeshNormals, RiggedDeformer, lbs,
};
use dermis_io::gltf::{GlbClip, GlbScene, write_glb};
use dermis_io::npz::StoredFloat;
use dermis_io::{
    Contents, ModelFile, ModelHeader, Space, bvh, gltf, match_vertices, model_file, npz, obj, point_cache, to_bytes,
};
use dermis_rig::glam::{DAffine3, DVec3, Vec3};
use dermis_rig::{BoneTransforms, Rig, Skeleton};

/// Keys of a clip that are looked at.
const KEYS: usize = 8;
/// Numbers of the poses and shapes that are written, at most: what is beyond takes time and tests nothing new.
const MOST_NUMBERS: usize = 1 << 18;

/// Uses everything that a file held.
///
/// # Panics
/// If its parts do not fit together, or what a writer takes is not read again.
pub fn contents(contents: &Contents) {
    sound(contents);
    let poses = poses(contents);
    if let (Some(mesh), Some(skeleton)) = (&contents.mesh, &contents.skeleton) {
        let rig = Rig::new(mesh.clone(), skeleton.clone(), contents.weights.clone());
        let rig = rig.and_then(|rig| rig.with_influence_maps(contents.influence_maps.clone()));
        rigged(&rig.expect("what is read makes a rig"), &poses);
    }
    if let Some(mesh) = &contents.mesh {
        let (low, high) = mesh.bounds();
        assert!(low.cmple(high).all() && mesh.diagonal() >= 0.0);
        mesh.neighbours();
        mesh.is_closed();
        let mut normals = vec![Vec3::ZERO; mesh.positions.len()];
        let positions: Vec<Vec3> = mesh.positions.iter().map(|p| p.as_vec3()).collect();
        let surface = MeshNormals::new(&mesh.triangles, mesh.positions.len()).expect("triangles name vertices");
        surface.compute_with(&positions, &mut Vec::new(), &mut normals);
        let matched = match_vertices(mesh, Some(&mesh.positions), mesh.positions.len(), 0.0);
        assert!(matched.is_ok(), "a mesh matches itself: {matched:?}");
    }
    written_as_bundle(contents);
    written_as_glb(contents);
    written_as_shapes(contents);
}

/// Whether the parts of what was read fit together, and its numbers are numbers.
fn sound(contents: &Contents) {
    assert!(contents.space.is_usable(), "{:?}", contents.space);
    let vertices = contents.mesh.as_ref().map(|mesh| {
        mesh.check().expect("the mesh is sound");
        if let Some(colors) = &mesh.colors {
            assert_eq!(colors.len(), mesh.positions.len());
            assert!(colors.iter().all(|c| c.is_finite()), "a colour is not finite");
        }
        if let Some(render) = &mesh.render {
            let drawn = render.source.len();
            assert!(render.source.iter().all(|&v| (v as usize) < mesh.positions.len()));
            assert!(render.triangles.as_flattened().iter().all(|&v| (v as usize) < drawn));
            assert!(render.uvs.is_empty() || render.uvs.len() == drawn);
            assert!(render.normals.is_empty() || render.normals.len() == drawn);
            assert!(render.uvs.iter().all(|uv| uv.as_vec2().is_finite()), "a texture coordinate is not finite");
            assert!(render.normals.iter().all(|n| n.as_vec3().is_finite()), "a normal is not finite");
            for part in &render.parts {
                assert!(u64::from(part.start) + u64::from(part.count) <= render.triangles.len() as u64);
                assert!(part.color.is_finite(), "a part's colour is not finite");
            }
        }
        mesh.positions.len()
    });
    let bones = contents.skeleton.as_ref().map(Skeleton::len);
    for table in contents.weights.iter().chain(&contents.influence_maps) {
        assert!(vertices.is_none_or(|v| v == table.vertices()));
        assert!(bones.is_none_or(|b| table.bones_named() <= b));
    }
    for row in contents.weights.iter().flat_map(|weights| weights.rows()) {
        let sum: f64 = row.iter().map(|(_, w)| *w).sum();
        assert!((sum - 1.0).abs() < 1e-9 && row.iter().all(|(_, w)| *w > 0.0), "{row:?}");
    }
    for record in &contents.records {
        assert!(record.importance.is_finite() && record.importance >= 0.0);
        assert!(record.time.is_none_or(f64::is_finite));
        if let Some(positions) = &record.positions {
            assert!(vertices.is_none_or(|v| v == positions.len()) && positions.iter().all(|p| p.is_finite()));
        }
        if let Some(pose) = &record.pose {
            assert!(bones.is_none_or(|b| b == pose.bones.len()) && pose.bones.iter().all(|m| m.is_finite()));
            assert!(pose.channels.iter().all(|(_, value)| value.is_finite()));
        }
    }
    for morph in &contents.morphs {
        assert!(vertices.is_none_or(|v| v == morph.deltas.len()) && morph.deltas.iter().all(|d| d.is_finite()));
    }
    assert!(contents.morph_weights.is_empty() || contents.morph_weights.len() == contents.morphs.len());
    assert!(contents.morph_weights.iter().all(|weight| weight.is_finite()));
    if let Some(pose) = &contents.default_pose {
        assert!(bones == Some(pose.bones.len()) && pose.bones.iter().all(|m| m.is_finite()));
    }
    for clip in &contents.clips {
        assert!(clip.duration.is_finite() && clip.duration >= 0.0 && clip.start.is_finite());
        assert!(clip.key_times.is_sorted() && clip.key_times.iter().all(|t| t.is_finite()), "keys of a clip");
        for time in [-1.0, 0.0, 0.3 * clip.duration, clip.duration, f64::INFINITY] {
            let frame = (clip.sample)(time);
            assert_eq!(frame.pose.bones.len(), bones.unwrap_or(0));
            assert_eq!(frame.morph_weights.len(), contents.morphs.len());
        }
    }
}

/// Poses of the records and of the clips.
fn poses(contents: &Contents) -> Vec<BoneTransforms> {
    let Some(skeleton) = &contents.skeleton else { return vec![] };
    let of_records = contents.records.iter().filter_map(|record| record.pose.as_ref()).take(2);
    let mut poses: Vec<BoneTransforms> = of_records.map(|pose| skeleton.bone_transforms(pose)).collect();
    for clip in contents.clips.iter().take(2) {
        poses.push(skeleton.bone_transforms(&(clip.sample)(0.4 * clip.duration).pose));
    }
    poses
}

/// Evaluates a rig's own weights in some poses, and stores it as a model.
fn rigged(rig: &Rig, poses: &[BoneTransforms]) {
    let Some(weights) = rig.weights().filter(|weights| weights.count() > 0) else { return };
    let rest = &rig.mesh().positions;
    let mut skin = vec![DVec3::ZERO; rest.len()];
    let identity = BoneTransforms::identity(rig.skeleton().len());
    for (at, base) in [
        Base::Lbs(weights.clone()),
        Base::Rigid(weights.clone()),
        Base::Dqs(weights.clone(), DualQuaternions::new(rig.skeleton())),
        Base::DirectDeltaMush(DirectDeltaMush::new(rig.mesh(), weights, 2)),
        Base::CorrectiveSmooth(CorrectiveSmooth::new(rig.mesh(), weights, 2, 0.5)),
    ]
    .into_iter()
    .enumerate()
    {
        let model = Deformer::new(rest.clone(), base, None).expect("a rig's own weights make a model");
        let baked = model.bake();
        let mut runner = baked.runner();
        for pose in std::iter::once(&identity).chain(poses) {
            runner.skin(pose).expect("a rig's own pose suits it");
            lbs(rest, weights, pose, &mut skin);
        }
        if at == 0 {
            let model = RiggedDeformer::new(rig.clone(), None, baked, None).expect("a rig and its own weights");
            let header = ModelHeader { method: "own-weights".into(), ..ModelHeader::default() };
            stored(&ModelFile { model, space: Space::default(), header });
        }
    }
}

/// A model that can be written is read again, and is the same.
pub fn stored(model: &ModelFile) {
    let Ok(bytes) = to_bytes(|out| model_file::write(model, out)) else { return };
    let again = model_file::read(&bytes).unwrap_or_else(|e| panic!("a model that was written is not read: {e}"));
    let twice = to_bytes(|out| model_file::write(&again, out)).expect("what is read can be written");
    assert!(bytes == twice, "a model changes on its way through a file");
    assert_eq!(model.rig().mesh().positions, again.rig().mesh().positions);
    assert_eq!(model.rig().mesh().triangles, again.rig().mesh().triangles);
    assert_eq!(model.rig().skeleton(), again.rig().skeleton());
    assert_eq!(model.rig().weights(), again.rig().weights());
}

/// The contents in metres with Y up, which files hold without rounding; as much of the records as is worth writing.
fn in_metres(contents: &Contents) -> Contents {
    let size = |record: &dermis_io::Record| {
        16 * record.pose.as_ref().map_or(0, |p| p.bones.len()) + 3 * record.positions.as_ref().map_or(0, Vec::len)
    };
    let most = MOST_NUMBERS / contents.records.first().map_or(1, size).max(1);
    Contents {
        mesh: contents.mesh.clone(),
        skeleton: contents.skeleton.clone(),
        bone_names: contents.bone_names.clone(),
        weights: contents.weights.clone(),
        influence_maps: contents.influence_maps.clone(),
        records: contents.records.iter().take(most).cloned().collect(),
        frames_per_second: contents.frames_per_second,
        ..Contents::default()
    }
}

/// A bundle of doubles holds what it was given, to the last bit; weights to their rounding when they are summed.
fn written_as_bundle(contents: &Contents) {
    let given = in_metres(contents);
    let table = |rows: Option<&dermis_rig::Influences>| rows.map_or(0, |t| t.vertices() * t.bones_named());
    let dense = table(given.weights.as_ref()) + table(given.influence_maps.as_ref());
    if dense > MOST_NUMBERS {
        return;
    }
    let Ok(bytes) = to_bytes(|out| npz::write(&given, StoredFloat::Double, out)) else { return };
    let again = match npz::read(&bytes, "again.npz") {
        Ok(again) => again,
        // A mesh of one point a thousand times is packed a thousand times; the reader's limit is stated.
        Err(error) if error.to_string().contains("may unfold to") => return,
        Err(error) => panic!("a bundle that was written is not read: {error}"),
    };
    if let (Some(before), Some(after)) = (&given.mesh, &again.mesh) {
        assert_eq!((&before.positions, &before.triangles), (&after.positions, &after.triangles));
        let polygons = before.polygons.as_ref().filter(|polygons| !polygons.counts.is_empty());
        assert_eq!(polygons, after.polygons.as_ref().filter(|polygons| !polygons.counts.is_empty()));
    }
    assert_eq!(given.mesh.is_some(), again.mesh.is_some());
    assert_eq!(given.skeleton, again.skeleton);
    assert_eq!(given.records.len(), again.records.len() + again.left_out.len());
    assert_eq!(again.left_out, Vec::<String>::new());
    for (before, after) in given.records.iter().zip(&again.records) {
        // NumPy's texts have a fixed width, and NUL characters fill them up.
        assert_eq!(before.label.trim_end_matches('\0'), after.label);
        assert_eq!(before.positions, after.positions);
        let matrices = |pose: &dermis_rig::WorldPose| pose.bones.clone();
        assert_eq!(before.pose.as_ref().map(matrices), after.pose.as_ref().map(matrices));
        assert_eq!(before.importance, after.importance);
    }
    for (before, after) in [(&given.weights, &again.weights), (&given.influence_maps, &again.influence_maps)] {
        let (Some(before), Some(after)) = (before, after) else { continue };
        for (before, after) in before.rows().zip(after.rows()) {
            assert_eq!(before.len(), after.len());
            let near = |(x, y): (&(_, f64), &(_, f64))| (x.1 - y.1).abs() <= 1e-9 * y.1.abs().max(1e-300);
            assert!(before.iter().zip(after).all(near), "{before:?} {after:?}");
        }
    }
}

/// The scene that a file shows, with a few keys of its clips.
fn scene_clips(contents: &Contents) -> Vec<GlbClip> {
    let clips = contents.clips.iter().take(3).filter(|clip| !clip.key_times.is_empty());
    clips
        .map(|clip| {
            let mut made = GlbClip { name: clip.name.clone(), ..GlbClip::default() };
            for &time in clip.key_times.iter().take(KEYS) {
                let frame = (clip.sample)(time);
                made.times.push(time);
                if contents.skeleton.is_some() {
                    made.poses.push(frame.pose);
                }
                if !contents.morphs.is_empty() {
                    made.morph_weights.push(frame.morph_weights);
                }
            }
            made
        })
        .collect()
}

/// A GLB that is written is read again. What it holds then no longer changes, but for rounding to 32 bits.
fn written_as_glb(contents: &Contents) {
    let bones = contents.skeleton.as_ref().map_or(0, Skeleton::len);
    let vertices = contents.mesh.as_ref().map_or(0, |mesh| mesh.positions.len());
    if 12 * bones * KEYS + 3 * vertices * (1 + contents.morphs.len()) > MOST_NUMBERS {
        return;
    }
    let write = |contents: &Contents| {
        let clips = scene_clips(contents);
        let scene = GlbScene {
            name: "scene",
            mesh: contents.mesh.as_ref(),
            skeleton: contents.skeleton.as_ref(),
            weights: contents.weights.as_ref(),
            morphs: &contents.morphs,
            clips: &clips,
            ..GlbScene::default()
        };
        to_bytes(|out| write_glb(&scene, out))
    };
    let read = |bytes: &[u8]| {
        gltf::read(bytes, "again.glb", &no_file).unwrap_or_else(|e| panic!("a GLB that was written is not read: {e}"))
    };
    let Ok(bytes) = write(contents) else { return };
    let once = read(&bytes);
    sound(&once);
    let Ok(bytes) = write(&once) else { return };
    let twice = read(&bytes);
    sound(&twice);
    assert_eq!(once.mesh.is_some(), twice.mesh.is_some());
    assert_eq!(once.skeleton.as_ref().map(Skeleton::names), twice.skeleton.as_ref().map(Skeleton::names));
    assert_eq!(once.skeleton.as_ref().map(Skeleton::parents), twice.skeleton.as_ref().map(Skeleton::parents));
    assert_eq!(once.morphs.len(), twice.morphs.len());
    if let (Some(once), Some(twice)) = (&once.mesh, &twice.mesh) {
        assert_eq!(once.triangles.len(), twice.triangles.len());
    }
}

/// Point caches and OBJ files hold the positions of every shape.
fn written_as_shapes(contents: &Contents) {
    let space = Space::default();
    let shapes: Vec<&[DVec3]> = contents.records.iter().filter_map(|record| record.positions.as_deref()).collect();
    let shapes = &shapes[..shapes.len().min(64)];
    let in_32 = |shape: &[DVec3]| -> Vec<DVec3> { shape.iter().map(|p| p.as_vec3().as_dvec3()).collect() };
    if let Ok(bytes) = to_bytes(|out| point_cache::write_pc2(shapes, 1.0, &space, out)) {
        let again = point_cache::read_pc2(&bytes, "again.pc2", &space).expect("a point cache that was written");
        let found = again.records.iter().filter_map(|record| record.positions.clone());
        assert!(found.eq(shapes.iter().map(|shape| in_32(shape))), "a PC2 file holds other positions");
    }
    let times: Vec<f64> = (0..shapes.len()).map(|at| at as f64).collect();
    if let Ok(bytes) = to_bytes(|out| point_cache::write_mdd(shapes, &times, &space, out)) {
        let again = point_cache::read_mdd(&bytes, "again.mdd", &space).expect("a point cache that was written");
        let found = again.records.iter().filter_map(|record| record.positions.clone());
        assert!(found.eq(shapes.iter().map(|shape| in_32(shape))), "an MDD file holds other positions");
    }
    if let Some(mesh) = &contents.mesh
        && let Ok(bytes) = to_bytes(|out| obj::write(mesh, &mesh.positions, &space, out))
    {
        let again = obj::read(&bytes, "again.obj", &space, &no_file).expect("an OBJ file that was written");
        assert_eq!(again.mesh.expect("an OBJ file has a mesh").positions, mesh.positions);
    }
}

/// A BVH file that is written holds the bones and, where numbers are of a size that texts keep, their places.
///
/// # Panics
/// If what is written is not read, or is something else.
pub fn written_as_bvh(contents: &Contents) {
    let (Some(skeleton), Some(clip)) = (&contents.skeleton, contents.clips.first()) else { return };
    if skeleton.len() * KEYS * 12 > MOST_NUMBERS {
        return;
    }
    let poses: Vec<_> = clip.key_times.iter().take(KEYS).map(|time| (clip.sample)(*time).pose).collect();
    let motion = bvh::BvhMotion { skeleton, poses: &poses, frame_seconds: 0.1, metres_per_unit: 1.0 };
    let Ok(bytes) = to_bytes(|out| bvh::write(&motion, out)) else { return };
    let Ok(again) = bvh::read(&bytes, "again.bvh", &Space::default()) else { return assert!(is_far(skeleton, &poses)) };
    let theirs = again.skeleton.as_ref().expect("a BVH file has a skeleton");
    assert_eq!(theirs.len(), skeleton.len());
    if is_far(skeleton, &poses) {
        return;
    }
    for (at, pose) in poses.iter().enumerate() {
        let frame = (again.clips[0].sample)(again.clips[0].key_times[at]).pose;
        let near = |(a, b): (&DAffine3, &DAffine3)| a.translation.distance(b.translation) < 1e-3;
        assert!(frame.bones.iter().zip(pose.bones.iter()).all(near), "a BVH file holds other places");
    }
}

/// Whether a skeleton or its poses reach beyond what ten decimals and products of rotations keep to a millimetre.
fn is_far(skeleton: &Skeleton, poses: &[dermis_rig::WorldPose]) -> bool {
    let bones = skeleton.bind().iter().chain(poses.iter().flat_map(|pose| pose.bones.iter()));
    let (mut count, mut most) = (0.0, 0.0_f64);
    for bone in bones {
        count += 1.0;
        most = most.max(bone.translation.length());
    }
    // A place that is not finite is far as well.
    (most * count).is_nan() || most * count >= 1e6
}

/// There is no file beside the one that is read.
pub fn no_file(_: &str, _: u64) -> std::io::Result<Vec<u8>> {
    Err(std::io::ErrorKind::NotFound.into())
}
