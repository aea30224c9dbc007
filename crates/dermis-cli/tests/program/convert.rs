//! `dermis convert`: what one format holds comes back from another, and what it cannot hold is named.

use crate::tube::{Flesh, Tube};
use crate::{Desk, exists, keys, number};
use dermis_testkit::fbx::Fbx;
use dermis_testkit::ogawa::{Archive, mesh};
use dermis_workflow::io::{
    Contents, Curve, CurveOf, Interpolation, Space, UpAxis, alembic, fbx, gltf, npz, point_cache, to_bytes,
};
use dermis_workflow::rig::glam::{DAffine3, DVec3};
use dermis_workflow::rig::{BoneIndex, Mesh};

fn bundle(desk: &Desk, name: &str) -> Contents {
    npz::read(&desk.bytes(name), name).unwrap()
}

fn glb(desk: &Desk, name: &str) -> Contents {
    gltf::read(&desk.bytes(name), name, &|_, _| Err(std::io::ErrorKind::NotFound.into())).unwrap()
}

fn read_fbx(desk: &Desk, name: &str) -> Contents {
    fbx::read(&desk.bytes(name), name, &|_, _| Err(std::io::ErrorKind::NotFound.into())).unwrap()
}

fn same_points(a: &[DVec3], b: &[DVec3], what: &str) {
    assert_eq!(a.len(), b.len(), "{what}");
    for (p, q) in a.iter().zip(b) {
        // Twice through 32 bits, of lengths about one.
        assert!(p.distance(*q) < 1e-6, "{what}: {p} and {q}");
    }
}

/// Bone transforms agree; bones keep their names and order.
fn same_poses(a: &[(DAffine3, String)], b: &[(DAffine3, String)], what: &str) {
    assert_eq!(a.len(), b.len(), "{what}");
    for ((p, name), (q, other)) in a.iter().zip(b) {
        assert_eq!(name, other, "{what}");
        assert!(p.abs_diff_eq(*q, 2e-6), "{what}, {name}: {p} and {q}");
    }
}

/// M of every bone in every record, or in every key of the clip `clip`.
fn transforms(contents: &Contents, clip: Option<usize>) -> Vec<(DAffine3, String)> {
    let skeleton = contents.skeleton.as_ref().unwrap();
    let poses = match clip {
        Some(at) => {
            let clip = &contents.clips[at];
            clip.key_times.iter().map(|&time| (clip.sample)(time).pose).collect()
        }
        None => contents.records.iter().filter_map(|r| r.pose.clone()).collect::<Vec<_>>(),
    };
    let named = |pose| {
        let moved = skeleton.bone_transforms(pose);
        moved.iter().copied().zip(skeleton.names().iter().cloned()).collect::<Vec<_>>()
    };
    poses.iter().flat_map(named).collect()
}

#[test]
fn a_rig_comes_back_from_a_bundle_through_a_glb() {
    let (desk, tube) = (Desk::new(), Tube::new(9, 7, 0.4, Flesh::Bulge));
    desk.put("a.npz", tube.bundle());
    let run = desk.good("convert a.npz -o b.glb");
    assert!(run.out.contains("left out: 7 shapes"), "{}", run.out);
    desk.good("convert b.glb -o c.npz");
    let (a, b, c) = (bundle(&desk, "a.npz"), glb(&desk, "b.glb"), bundle(&desk, "c.npz"));
    same_points(&a.mesh.as_ref().unwrap().positions, &c.mesh.as_ref().unwrap().positions, "rest");
    assert_eq!(a.mesh.as_ref().unwrap().triangles, c.mesh.as_ref().unwrap().triangles);
    same_poses(&transforms(&a, None), &transforms(&b, Some(0)), "glb");
    same_poses(&transforms(&a, None), &transforms(&c, None), "npz");
    assert_eq!(a.weights.as_ref().unwrap().vertices(), c.weights.as_ref().unwrap().vertices());
    for (row, other) in a.weights.as_ref().unwrap().rows().zip(c.weights.as_ref().unwrap().rows()) {
        assert_eq!(row.len(), other.len());
        for ((bone, weight), (other_bone, other_weight)) in row.iter().zip(other) {
            assert!(bone == other_bone && (weight - other_weight).abs() < 1e-6);
        }
    }
}

/// A plate of four vertices over five frames, held in two of them.
fn plate() -> (Vec<u8>, Vec<Vec<DVec3>>) {
    let frames: Vec<Vec<[f32; 3]>> = [0.0f32, 0.5, 0.5, 1.0, 0.25]
        .map(|z| vec![[0.0, 0.0, z], [1.0, 0.0, z * z], [1.0, 1.0, -z], [0.0, 1.0, 2.0 * z]])
        .to_vec();
    let skins = frames.iter().map(|f| f.iter().map(|p| DVec3::from(p.map(f64::from))).collect()).collect();
    let objects = vec![mesh("plate", &[4], &[3, 2, 1, 0], 1, &frames)];
    (Archive { objects, samplings: vec![(0.04, vec![0.04])] }.bytes(), skins)
}

#[test]
fn a_mesh_sequence_survives_every_format() {
    let (desk, (abc, skins)) = (Desk::new(), plate());
    desk.put("a.abc", &abc);
    assert_eq!(alembic::read(&abc, "a.abc", &Space::default()).unwrap().records.len(), 5);
    for out in ["b.npz", "b.abc", "b.pc2", "b.mdd", "b.glb", "b"] {
        desk.good(&format!("convert a.abc -o {out}"));
    }
    // A GLB shows the frames as morph targets; a cache gets its mesh back from the file that is named first.
    desk.good("convert b.glb -o c.npz");
    desk.good("convert b/frame_0000.obj b.pc2 -o d.npz");
    desk.good("convert b -o e.mdd");
    let space = Space::default();
    for (name, contents) in [
        ("npz", bundle(&desk, "b.npz")),
        ("abc", alembic::read(&desk.bytes("b.abc"), "", &space).unwrap()),
        ("pc2", point_cache::read_pc2(&desk.bytes("b.pc2"), "", &space).unwrap()),
        ("mdd", point_cache::read_mdd(&desk.bytes("b.mdd"), "", &space).unwrap()),
        ("glb", bundle(&desk, "c.npz")),
        ("joined", bundle(&desk, "d.npz")),
        ("obj", point_cache::read_mdd(&desk.bytes("e.mdd"), "", &space).unwrap()),
    ] {
        assert_eq!(contents.records.len(), 5, "{name}");
        for (record, skin) in contents.records.iter().zip(&skins) {
            same_points(record.positions.as_ref().unwrap(), skin, name);
        }
    }
    let times: Vec<f64> = bundle(&desk, "b.npz").records.iter().filter_map(|r| r.time).collect();
    assert!(times.iter().enumerate().all(|(at, t)| (t - 0.04 * (at as f64 + 1.0)).abs() < 1e-6), "{times:?}");
}

/// Alembic states no unit: the file has that of the input and Y up, unless others are chosen. A mesh that nothing moves stands still.
#[test]
fn alembic_is_written_in_the_unit_of_the_input() {
    let desk = Desk::new();
    desk.put("rig.fbx", Fbx { unit: 1.0, ..Fbx::default() }.text());
    desk.good("convert rig.fbx#bend -o shown.pc2");
    let run = desk.good("convert rig.fbx#bend -o shown.abc");
    for what in ["in units of 0.01 m, Y up", "left out: the skeleton", "left out: skinning weights"] {
        assert!(run.out.contains(what), "{what}: {}", run.out);
    }
    desk.good("convert rig.fbx#bend -o metres.abc --to-unit 1 --to-up z");
    let own = Space { metres_per_unit: 0.01, ..Space::default() };
    let metres = Space { up: UpAxis::Z, ..Space::default() };
    let expected = point_cache::read_pc2(&desk.bytes("shown.pc2"), "", &own).unwrap();
    for (file, space) in [("shown.abc", own), ("metres.abc", metres)] {
        let found = alembic::read(&desk.bytes(file), file, &space).unwrap();
        assert_eq!(found.records.len(), expected.records.len());
        for (found, expected) in found.records.iter().zip(&expected.records) {
            same_points(found.positions.as_ref().unwrap(), expected.positions.as_ref().unwrap(), file);
        }
    }
    // At rest: one shape, and no time.
    desk.put("square.obj", "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvt 1 1\nvt 0 1\nf 1/1 2/2 3/3 4/4\n");
    desk.good("convert square.obj -o square.abc");
    let found = alembic::read(&desk.bytes("square.abc"), "square.abc", &Space::default()).unwrap();
    let mesh = found.mesh.unwrap();
    assert_eq!((found.records.len(), mesh.polygons.unwrap().counts), (1, vec![4]));
    assert_eq!(mesh.render.unwrap().uvs.len(), 4);
}

/// A file that was converted is converted to itself: drawn vertices, vertices and their order stay.
#[test]
fn converting_twice_is_converting_once() {
    let desk = Desk::new();
    desk.put("came.glb", dermis_testkit::textured::glb());
    desk.put(dermis_testkit::textured::BESIDE, &dermis_testkit::textured::images()[2]);
    desk.put("take.fbx", Fbx::default().text());
    desk.put("tube.npz", Tube::new(9, 4, 0.0, Flesh::Bulge).bundle());
    for came in ["came.glb", "take.fbx", "tube.npz"] {
        desk.good(&format!("convert {came} -o once.glb --force"));
        desk.good("convert once.glb -o twice.glb --force");
        let (once, twice) = (glb(&desk, "once.glb"), glb(&desk, "twice.glb"));
        let (one, other) = (once.mesh.as_ref().unwrap(), twice.mesh.as_ref().unwrap());
        same_points(&one.positions, &other.positions, came);
        let drawn = |mesh: &Mesh| {
            let render = mesh.render.as_ref().unwrap();
            (render.source.clone(), render.triangles.clone(), render.uvs.clone())
        };
        assert_eq!((&one.triangles, drawn(one)), (&other.triangles, drawn(other)), "{came}");
        for (one, other) in once.weights.iter().zip(&twice.weights) {
            for (one, other) in one.rows().zip(other.rows()) {
                let near = |(a, b): (&(BoneIndex, f64), &(BoneIndex, f64))| a.0 == b.0 && (a.1 - b.1).abs() < 1e-6;
                assert!(one.len() == other.len() && one.iter().zip(other).all(near), "{came}");
            }
        }
        let mesh = |name: &str| {
            let held = desk.json(&format!("inspect {name} --json"))[0]["mesh"].clone();
            [&held["vertices"], &held["triangles"], &held["closed"]].map(Clone::clone)
        };
        assert_eq!(mesh("once.glb"), mesh(came), "{came}");
    }
    // The vertices of a bundle keep their order, which seams of the drawn mesh would change.
    let (came, went) = (bundle(&desk, "tube.npz"), glb(&desk, "once.glb"));
    same_points(&went.mesh.unwrap().positions, &came.mesh.unwrap().positions, "the order");
}

/// A character that stands otherwise than its bind pose until a clip plays still does.
#[test]
fn the_default_pose_survives() {
    let desk = Desk::new();
    desk.put("tube.npz", Tube::new(9, 4, 0.0, Flesh::Bulge).bundle());
    desk.good("convert tube.npz -o bound.glb");
    // The same file with the elbow's node turned.
    let bytes = desk.bytes("bound.glb");
    let size = u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize;
    let mut file: serde_json::Value = serde_json::from_slice(&bytes[20..20 + size]).unwrap();
    file["nodes"][1]["rotation"] = serde_json::json!([0.0, 0.0, 0.6, 0.8]);
    let mut text = file.to_string().into_bytes();
    text.resize(text.len().next_multiple_of(4), b' ');
    let mut turned = bytes[..8].to_vec();
    turned.extend((bytes.len() - size + text.len()).to_le_bytes()[..4].iter());
    turned.extend((text.len() as u32).to_le_bytes());
    turned.extend(&bytes[16..20]);
    turned.extend(&text);
    turned.extend(&bytes[20 + size..]);
    desk.put("turned.glb", turned);
    desk.good("convert turned.glb -o again.glb");
    let (came, went) = (glb(&desk, "turned.glb"), glb(&desk, "again.glb"));
    let (came_pose, went_pose) = (came.default_pose.as_ref().unwrap(), went.default_pose.as_ref().unwrap());
    let moved = |contents: &Contents, pose| contents.skeleton.as_ref().unwrap().bone_transforms(pose);
    for (a, b) in moved(&came, came_pose).iter().zip(moved(&went, went_pose).iter()) {
        assert!(a.abs_diff_eq(*b, 1e-6), "{a} {b}");
    }
    same_poses(&transforms(&came, Some(0)), &transforms(&went, Some(0)), "the clip");
    assert!(glb(&desk, "bound.glb").default_pose.is_none());
}

#[test]
fn takes_of_an_fbx_become_clips() {
    let desk = Desk::new();
    let text = Fbx { axes: [(2, 1), (1, -1), (0, 1)], unit: 1.0, weight_sum: 0.998 }.text();
    desk.put("a.fbx", &text);
    let told = desk.json("convert a.fbx -o b.glb --json");
    assert_eq!(
        keys(&told),
        ["format", "vertices", "bones", "clips", "frames", "morph_targets", "holds", "left_out", "out", "inputs"]
    );
    assert_eq!([number(&told, "vertices"), number(&told, "bones"), number(&told, "clips")], [10.0, 2.0, 2.0]);
    let (a, b) = (fbx::read(text.as_bytes(), "a.fbx", &|_, _| unreachable!()).unwrap(), glb(&desk, "b.glb"));
    for clip in 0..2 {
        same_poses(&transforms(&a, Some(clip)), &transforms(&b, Some(clip)), &a.clips[clip].name);
    }
    let weights = |c: &Contents| (c.clips[1].sample)(1.0 / 24.0).morph_weights;
    assert!((weights(&a)[0] - weights(&b)[0]).abs() < 1e-6 && weights(&b)[0] > 0.4);

    // One take alone, by option or after the name; several need one where the output holds one.
    desk.bad("convert a.fbx -o c.npz", &["2 clips", "\"bend\"", "\"slide\""]);
    desk.good("convert a.fbx --clip bend -o c.npz");
    desk.good("convert a.fbx#bend --fps 48 -o d.npz");
    same_poses(&transforms(&a, Some(0)), &transforms(&bundle(&desk, "c.npz"), None), "bend");
    assert_eq!(bundle(&desk, "d.npz").records.len(), 9, "twice the rate");
    assert_eq!(bundle(&desk, "c.npz").space.metres_per_unit, 0.01, "a bundle keeps the file's axes and unit");
    desk.good("convert a.fbx#slide -o e.glb");
    assert_eq!(glb(&desk, "e.glb").clips.len(), 1);
}

/// A shape that an FBX file shows without a take is shown by the GLB, which is not called free of flaws; nor is a file called so
/// with something in it that is not read.
#[test]
fn what_an_fbx_shows_without_a_take_is_kept_or_told() {
    let desk = Desk::new();
    let text = Fbx::default().text();
    let shown = text.replacen("DeformPercent: 0\n", "DeformPercent: 40\n", 1);
    desk.put("a.fbx", &shown);
    let run = desk.good("convert a.fbx -o a.glb");
    assert!(run.err.contains("a.fbx: 1: morph targets have a weight by default"), "{}", run.err);
    let bytes = desk.bytes("a.glb");
    let length = u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize;
    let json: serde_json::Value = serde_json::from_slice(&bytes[20..20 + length]).unwrap();
    assert_eq!(json["meshes"][0]["weights"], serde_json::json!([0.4]));
    let said = |name: &str, text: &str| {
        desk.put(name, text);
        desk.good(&format!("inspect {name}")).out
    };
    assert!(said("b.fbx", &text).contains("none found"));
    assert!(!said("c.fbx", &shown).contains("none found"));
    let dual =
        text.replacen("\"Skin\" { Version: 101", "\"Skin\" { Version: 101\n SkinningType: \"DualQuaternion\"\n", 1);
    let said = said("d.fbx", &dual);
    assert!(
        said.contains("1: skins do not blend linearly") && said.contains("\"strip\", by dual quaternions"),
        "{said}"
    );
}

#[test]
fn shapes_are_paired_with_the_clip_of_the_rig_they_follow() {
    let desk = Desk::new();
    let text = Fbx { unit: 1.0, ..Fbx::default() }.text();
    desk.put("rig.fbx", &text);
    // What the take "bend" shows, and three of its frames at their times: a file in centimetres, as its rig.
    desk.good("convert rig.fbx#bend -o shown.pc2");
    let space = Space { metres_per_unit: 0.01, ..Space::default() };
    let shown = point_cache::read_pc2(&desk.bytes("shown.pc2"), "", &space).unwrap();
    let frame = |at: usize| -> Vec<[f32; 3]> {
        let skin = shown.records[at].positions.as_ref().unwrap();
        skin.iter().map(|p| (*p / 0.01).as_vec3().to_array()).collect()
    };
    let frames = [1, 2, 4].map(frame);
    let times = [1.0, 2.0, 4.0].map(|at| at / 24.0).to_vec();
    let objects = vec![mesh("strip", &[4], &[0, 2, 3, 1], 1, &frames)];
    desk.put("some.abc", Archive { objects, samplings: vec![(f64::MAX / 32.0, times)] }.bytes());
    let scores = desk.json("fit rig.fbx --examples rig.fbx#bend some.abc --method lbs --folds 0 --json");
    assert!(number(&scores, "train.rms") < 1e-8, "{scores}");
    let run = desk.good("convert rig.fbx#bend some.abc -o joined.npz");
    assert!(run.err.contains("at their times, 0.0417 s to 0.1667 s"), "{}", run.err);
    let joined = bundle(&desk, "joined.npz");
    assert_eq!(joined.records.iter().filter(|r| r.pose.is_some() && r.positions.is_some()).count(), 3);
    // In metres the strip would be a hundred times as large.
    desk.bad("convert rig.fbx#bend some.abc --unit 1 -o x.npz", &["100.0", "as large"]);
    // A clock of its own: the same frames, counted from another moment, are found by what the rig makes of them.
    let other = Archive {
        objects: vec![mesh("strip", &[4], &[0, 2, 3, 1], 1, &[0, 1, 3].map(frame))],
        samplings: vec![(f64::MAX / 32.0, [1.0, 2.0, 4.0].map(|at| at / 24.0).to_vec())],
    };
    desk.put("other.abc", other.bytes());
    let run = desk.good("convert rig.fbx#bend other.abc -o other.npz");
    assert!(run.err.contains("from its beginning"), "{}", run.err);
    let still = Archive {
        objects: vec![mesh("strip", &[4], &[0, 2, 3, 1], 1, &[0, 4].map(frame))],
        samplings: vec![(f64::MAX / 32.0, vec![0.5 / 24.0, 4.5 / 24.0])],
    };
    desk.put("long.abc", still.bytes());
    let run = desk.good("convert rig.fbx#bend long.abc -o long.npz");
    assert!(run.err.contains("from its beginning"), "{}", run.err);
    // Times beyond the take are no frames of it, and neither way fits.
    let late = Archive {
        objects: vec![mesh("strip", &[4], &[0, 2, 3, 1], 1, &[1, 2].map(frame))],
        samplings: vec![(1.0, vec![9.0])], // a second apart
    };
    desk.put("late.abc", late.bytes());
    desk.bad("convert rig.fbx#bend late.abc -o x.npz", &["2 skins", "5 poses", "not all inside"]);
}

/// A rig and its poses as FBX, in any axes and unit, and a model with its correction as keyed shapes.
#[test]
fn fbx_is_written_as_glb_is() {
    let desk = Desk::new();
    let tube = Tube::new(9, 7, 0.4, Flesh::Bulge);
    desk.put("a.npz", tube.bundle());
    desk.put("motion.npz", tube.motion());
    desk.good("convert a.npz motion.npz -o a.glb");
    for options in ["", " --to-unit 1 --to-up z"] {
        let told = desk.json(&format!("convert a.npz motion.npz -o a.fbx --force --json{options}"));
        assert_eq!((told["format"].as_str(), number(&told, "clips")), (Some("FBX"), 1.0));
        let (came, went) = (glb(&desk, "a.glb"), read_fbx(&desk, "a.fbx"));
        same_points(&came.mesh.as_ref().unwrap().positions, &went.mesh.as_ref().unwrap().positions, options);
        assert_eq!(came.skeleton.as_ref().unwrap().names(), went.skeleton.as_ref().unwrap().names());
        let poses = |contents: &Contents| -> Vec<DAffine3> {
            let clip = &contents.clips[0];
            clip.key_times
                .iter()
                .flat_map(|time| (clip.sample)(*time).pose.bones.iter().copied().collect::<Vec<_>>())
                .collect()
        };
        for (a, b) in poses(&came).iter().zip(poses(&went)) {
            assert!(a.abs_diff_eq(b, 1e-5), "{a} and {b}");
        }
    }
    desk.bad("convert a.npz -o b.glb --to-unit 1", &["b.glb", "FBX", "--to-unit"]);
    desk.bad("convert a.npz -o b.fbx --to-unit 0", &["--to-unit"]);
    desk.bad("convert a.npz -o b.fbx --no-normals", &["b.fbx", "normals"]);

    desk.good("fit a.npz --examples a.npz -s 0.01 --folds 0 -o m.dermis");
    let told = desk.json("export shapes m.dermis --motion motion.npz --shapes 3 -o m.fbx --json");
    let written = read_fbx(&desk, "m.fbx");
    assert_eq!((written.morphs.len() as f64, written.clips.len()), (number(&told, "shapes"), 1));
    // The file shows what the model does, as far as its shapes do.
    desk.good("pose m.dermis --motion motion.npz -o model.npz");
    let (clip, model) = (&written.clips[0], bundle(&desk, "model.npz"));
    let (mesh, skeleton) = (written.mesh.as_ref().unwrap(), written.skeleton.as_ref().unwrap());
    let weights = written.weights.as_ref().unwrap();
    let worst = told["against_model"]["max"].as_f64().unwrap();
    for (at, record) in model.records.iter().enumerate() {
        let frame = (clip.sample)(record.time.unwrap_or(at as f64 / 24.0));
        for (vertex, model) in record.positions.iter().flatten().enumerate() {
            let shapes = written.morphs.iter().zip(&frame.morph_weights).map(|(m, w)| m.deltas[vertex] * *w);
            let rest = mesh.positions[vertex] + shapes.sum::<DVec3>();
            let shown: DVec3 = (weights.of(vertex).iter())
                .map(|(b, w)| (frame.pose.bones[*b] * skeleton.inverse_bind()[*b]).transform_point3(rest) * *w)
                .sum();
            assert!(shown.distance(*model) < worst + 1e-5, "frame {at}, vertex {vertex}");
        }
    }
    desk.good("export drivers m.dermis --table t.json -o d.fbx");
    desk.good("export bones m.dermis --motion motion.npz --helpers 1 -o h.fbx --to-up z");
    assert_eq!(read_fbx(&desk, "h.fbx").space.up, dermis_workflow::io::UpAxis::Z);
    assert!(!read_fbx(&desk, "d.fbx").morphs.is_empty());
}

/// A rig and its poses as USD, by every verb that writes scenes, and shapes without a skeleton as points that move.
#[test]
fn usd_is_written_by_its_ending() {
    let desk = Desk::new();
    let tube = Tube::new(9, 7, 0.4, Flesh::Bulge);
    desk.put("a.npz", tube.bundle());
    desk.put("motion.npz", tube.motion());
    let told = desk.json("convert a.npz motion.npz -o a.usda --json");
    assert_eq!((told["format"].as_str(), number(&told, "clips")), (Some("USD"), 1.0));
    let text = |name: &str| String::from_utf8(desk.bytes(name)).unwrap();
    let a = text("a.usda");
    assert!(a.starts_with("#usda 1.0\n") && a.contains("metersPerUnit = 1\n") && a.contains("upAxis = \"Y\"\n"));
    assert!(a.contains("def SkelRoot") && a.contains("def SkelAnimation") && a.contains("primvars:skel:jointWeights"));
    desk.good("convert a.npz motion.npz -o z.usda --to-unit 0.01 --to-up z");
    assert!(text("z.usda").contains("metersPerUnit = 0.01\n") && text("z.usda").contains("upAxis = \"Z\"\n"));
    desk.good("convert a.npz motion.npz -o a.usdz");
    assert!(desk.bytes("a.usdz").starts_with(b"PK\x03\x04"));
    for ending in ["usd", "usdc"] {
        desk.bad(
            &format!("convert a.npz -o b.{ending}"),
            &["USD is written as text or as a package", ".usda or .usdz"],
        );
    }
    desk.bad("convert a.npz -o b.usda --no-normals", &["b.usda", "normals"]);
    desk.bad("convert a.npz -o b.usdz --compress meshopt", &["b.usdz", "GLB"]);

    desk.good("convert a.npz -o frames");
    desk.good("convert frames -o points.usda");
    let points = text("points.usda");
    assert!(points.contains("point3f[] points.timeSamples") && !points.contains("SkelRoot"));

    desk.good("fit a.npz --examples a.npz -s 0.01 --folds 0 -o m.dermis");
    let told = desk.json("export shapes m.dermis --motion motion.npz --shapes 3 -o m.usda --json");
    assert_eq!(text("m.usda").matches("def BlendShape").count() as f64, number(&told, "shapes"));
    desk.good("export drivers m.dermis --table t.json -o d.usdz");
    desk.bad("export shapes m.dermis --driven -o e.usdz", &["FBX or USD", "drives"]);
    desk.good("export bones m.dermis --motion motion.npz --helpers 1 -o h.usda --to-up z");
    assert!(text("h.usda").contains("upAxis = \"Z\"\n"));
}

#[test]
fn what_cannot_be_converted_is_refused_with_a_remedy() {
    let (desk, tube) = (Desk::new(), Tube::new(9, 7, 0.4, Flesh::Bulge));
    desk.put("a.npz", tube.bundle());
    desk.put("a.abc", plate().0);
    desk.good("fit a.npz --examples a.npz --method lbs --folds 0 -o m.dermis");
    for (line, says) in [
        ("convert m.dermis -o x.glb", ["model", "dermis export"]),
        ("convert a.npz -o x.dermis", ["model", "dermis fit"]),
        ("convert a.npz -o x.usdc", ["USD is written", ".usda or .usdz"]),
        ("convert a.abc a.npz a.npz -o x.npz", ["cannot be joined", "then its shapes"]),
    ] {
        let run = desk.run(line);
        assert_eq!(run.code, 2, "{line}");
        assert!(says.iter().all(|word| run.err.contains(word)), "{line}: {}", run.err);
        assert!(!exists(&desk.path(line.rsplit(' ').next().unwrap())), "{line}");
    }
    desk.good("convert a.abc -o x.npz");
    desk.bad("convert a.abc -o x.npz", &["exists already"]);
    desk.good("convert a.abc -o x.npz --force");
    let run = desk.good("convert a.npz -o x.mdd");
    for what in ["left out: the skeleton", "left out: skinning weights", "left out: the mesh"] {
        assert!(run.out.contains(what), "{what}: {}", run.out);
    }
}

/// A clip that scales a bone to nothing leaves those below it without a place of their own: it is left out and named, but where it is the
/// one that is asked for. Clips and shapes that share a name are numbered.
#[test]
fn one_clip_that_cannot_be_written_loses_no_other() {
    let (desk, tube) = (Desk::new(), Tube::new(5, 5, 0.4, Flesh::Weights));
    let good = tube.clip(vec![]);
    let scales = Curve {
        of: CurveOf::Scale(BoneIndex::new(0)),
        interpolation: Interpolation::Linear,
        times: vec![0.0, 1.0],
        values: vec![1.0, 1.0, 1.0, 0.0, 0.0, 0.0],
    };
    let vanish = gltf::GlbClip { name: "vanish".into(), curves: vec![scales], ..good.clone() };
    let mut bytes = tube.scene(&[], &[good.clone(), vanish, gltf::GlbClip { name: "bend_".into(), ..good }]);
    // Names are the same again, as other programs write them.
    let at = bytes.windows(7).position(|word| word == b"\"bend_\"").unwrap();
    bytes[at..at + 7].copy_from_slice(b"\"bends\"");
    desk.put("tube.glb", bytes);
    let run = desk.good("convert tube.glb -o some.glb");
    assert!(run.out.contains("left out: clip \"vanish\": bone") && run.out.contains("singular"), "{}", run.out);
    assert!(run.err.contains("shared a name and were renamed (first: bends)"), "{}", run.err);
    let names = |name: &str| glb(&desk, name).clips.iter().map(|clip| clip.name.clone()).collect::<Vec<_>>();
    assert_eq!(names("some.glb"), ["bends", "bends_2"]);
    desk.bad("convert tube.glb#vanish -o none.glb", &["clip \"vanish\"", "singular"]);
    desk.good("convert tube.glb#bends_2 -o one.glb");
    assert_eq!(names("one.glb"), ["bends_2"]);

    let mut shapes = npz::read(&tube.sequence(), "shapes").unwrap();
    for (record, label) in shapes.records.iter_mut().zip(["rest", "smile_2", "smile", "smile", "smile"]) {
        record.label = label.into();
    }
    desk.put("named.npz", to_bytes(|out| npz::write(&shapes, npz::StoredFloat::Double, out)).unwrap());
    let said = desk.good("convert named.npz -o named.glb").out;
    assert!(said.contains("2 names of shapes that occurred twice"), "{said}");
    let targets: Vec<String> = glb(&desk, "named.glb").morphs.iter().map(|morph| morph.name.clone()).collect();
    assert_eq!(targets, ["smile_2", "smile", "smile_3", "smile_4"]);
}

/// No reader takes frames a billionth of a nanosecond apart.
#[test]
fn a_rate_that_no_reader_takes_is_refused() {
    let (desk, tube) = (Desk::new(), Tube::new(5, 4, 0.0, Flesh::Weights));
    let mut motion = npz::read(&tube.motion(), "motion").unwrap();
    for (rate, written) in [(1e300, false), (1e10, false), (30.0, true), (1e-9, false)] {
        motion.records.iter_mut().enumerate().for_each(|(at, record)| record.time = Some(at as f64 / rate));
        motion.frames_per_second = Some(rate);
        desk.put("motion.npz", to_bytes(|out| npz::write(&motion, npz::StoredFloat::Double, out)).unwrap());
        match written {
            true => {
                desk.good("convert motion.npz -o motion.bvh --force");
                let back = &desk.json("inspect motion.bvh --json")[0];
                assert!((number(back, "frames_per_second") - rate).abs() < 1e-6 * rate);
            }
            false => desk.bad("convert motion.npz -o motion.bvh --force", &["s apart", "1e-9 s to 1e6 s", "--fps"]),
        }
    }
    desk.bad("convert motion.npz -o motion.bvh --force --fps 1e300", &["--fps 1e300", "between 1e-6 and 1e9"]);
}

#[test]
fn a_compressed_glb_is_shorter_and_holds_the_same() {
    let desk = Desk::new();
    desk.put("tube.npz", Tube::new(40, 30, 0.0, Flesh::Bulge).bundle());
    desk.good("convert tube.npz -o plain.glb");
    let told = desk.good("convert tube.npz -o packed.glb --compress meshopt");
    assert!(told.err.contains("packed.glb") || told.out.contains("packed.glb"), "{} {}", told.out, told.err);
    let (plain, packed) = (glb(&desk, "plain.glb"), glb(&desk, "packed.glb"));
    assert!(desk.bytes("packed.glb").len() * 3 < desk.bytes("plain.glb").len() * 2);
    assert_eq!(plain.mesh.as_ref().unwrap().positions, packed.mesh.as_ref().unwrap().positions);
    assert_eq!(transforms(&plain, Some(0)), transforms(&packed, Some(0)));
    for other in ["npz", "obj", "bvh"] {
        desk.bad(&format!("convert tube.npz -o other.{other} --compress meshopt"), &["only a GLB is compressed"]);
    }
}
