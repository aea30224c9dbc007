//! `dermis decompose`: sequences of every kind, what is written, what is refused.

use crate::tube::{Flesh, Tube};
use crate::{Desk, exists, keys, number};
use dermis_workflow::io::to_bytes;
use dermis_workflow::io::{Contents, Record, Space, gltf, npz, obj};
use dermis_workflow::rig::glam::{DAffine3, DMat3, DVec3};
use dermis_workflow::rig::{BoneIndex, BoneTransforms, Mesh};

fn read_glb(desk: &Desk, name: &str) -> Contents {
    gltf::read(&desk.bytes(name), name, &|_, _| unreachable!()).unwrap()
}

/// What a GLB shows at the keys of its first clip, by the definition of linear blend skinning.
fn shown(contents: &Contents) -> Vec<Vec<DVec3>> {
    let (mesh, skeleton) = (contents.mesh.as_ref().unwrap(), contents.skeleton.as_ref().unwrap());
    let (weights, clip) = (contents.weights.as_ref().unwrap(), &contents.clips[0]);
    let frame = |t: &f64| {
        let m: BoneTransforms = skeleton.bone_transforms(&(clip.sample)(*t).pose);
        let skin = |(v, p): (usize, &DVec3)| weights.of(v).iter().map(|&(b, w)| w * m[b].transform_point3(*p)).sum();
        mesh.positions.iter().enumerate().map(skin).collect()
    };
    clip.key_times.iter().map(frame).collect()
}

fn rms(a: &[Vec<DVec3>], b: &[Vec<DVec3>]) -> f64 {
    assert_eq!(a.len(), b.len());
    let (mut sum, mut count) = (0.0, 0);
    for (p, q) in a.iter().flatten().zip(b.iter().flatten()) {
        (sum, count) = (sum + p.distance_squared(*q), count + 1);
    }
    (sum / f64::from(count)).sqrt()
}

/// A bundle of a mesh and frames.
fn bundle(mesh: &Mesh, frames: &[Vec<DVec3>]) -> Vec<u8> {
    let record = |(at, frame): (usize, &Vec<DVec3>)| Record {
        label: format!("f{at}"),
        time: Some(0.1 * at as f64),
        pose: None,
        positions: Some(frame.clone()),
        importance: 1.0,
        local: None,
    };
    let contents = Contents {
        mesh: Some(mesh.clone()),
        records: frames.iter().enumerate().map(record).collect(),
        ..Contents::default()
    };
    to_bytes(|out| npz::write(&contents, npz::StoredFloat::Double, out)).unwrap()
}

#[test]
fn the_errors_printed_are_those_of_the_file() {
    let (desk, tube) = (Desk::new(), Tube::new(11, 12, 0.0, Flesh::Bulge));
    desk.put("s.npz", tube.sequence());
    for kind in [
        "--rigid",
        "--near-rigid",
        "--near-rigid=0.01",
        "--affine",
        "--quality",
        "--rotation-only",
        "--algorithm=clustering",
    ] {
        let value = desk.json(&format!("decompose s.npz --bones 3 {kind} -o o.glb --force --json"));
        for key in [
            "bones_requested",
            "bones",
            "influences_max",
            "error",
            "iterations",
            "stopped_because",
            "seconds",
            "left_out",
        ] {
            assert!(keys(&value).contains(&key), "{kind}: {key}");
        }
        assert_eq!((number(&value, "bones"), number(&value, "bones_requested")), (3.0, 3.0), "{kind}");
        let contents = read_glb(&desk, "o.glb");
        let measured = rms(&shown(&contents), &tube.skins);
        // The program blends in single precision.
        assert!((measured - number(&value, "error.rms")).abs() < 1e-6 * tube.diagonal(), "{kind}: {measured}");
        // The tube bends at two places by joints of a skin that bulges: its weights alone leave 0.3 % of the diagonal.
        let limit = if kind.contains("cluster") { 0.1 } else { 0.02 };
        assert!(measured < limit * tube.diagonal(), "{kind}: {measured}");
        let weights = contents.weights.unwrap();
        assert!(weights.largest_count() <= 4 && weights.vertices() == tube.mesh.positions.len());
        assert!(weights.rows().all(|row| (row.iter().map(|e| e.1).sum::<f64>() - 1.0).abs() < 1e-6));
    }
}

#[test]
fn an_error_chooses_the_number_of_bones_and_weights_may_be_smooth() {
    let (desk, tube) = (Desk::new(), Tube::new(11, 12, 0.0, Flesh::Bulge));
    desk.put("s.npz", tube.sequence());
    let error = |options: &str| desk.json(&format!("decompose s.npz {options} -o o.glb --force --json"));
    let three = number(&error("--bones 3"), "error.rms");
    let value = error(&format!("--max-error {}", 1.2 * three));
    let found = number(&value, "bones");
    assert!(found <= 3.0 && number(&value, "error.rms") <= 1.2 * three * (1.0 + 1e-6), "{value}");
    assert!(number(&value, "too_few.bones") < found && number(&value, "too_few.rms") > 1.2 * three);
    let said = desk.good(&format!("decompose s.npz --max-error {} -o o.glb --force", 1.2 * three));
    assert!(said.out.contains("the fewest found for the error asked for"), "{}", said.out);
    desk.bad("decompose s.npz --max-error 1e-9 --bones 2 -o p.glb", &["2 bones, the most allowed", "--bones"]);
    let smooth = error("--bones 3 --smoothness=1e-2");
    assert!(number(&smooth, "roughness") > 0.0 && number(&smooth, "error.rms") < 2.0 * three);
    desk.bad("decompose s.npz --bones 3 --smoothness=-1 -o p.glb", &["smooth"]);
    desk.bad("decompose s.npz --max-error 0 -o p.glb", &["max-error"]);
    desk.bad("decompose s.npz --bones 3 --max-error 1 --stop-at 1 -o p.glb", &["--stop-at"]);
    desk.bad("decompose s.npz --algorithm clustering --bones 3 --smoothness -o p.glb", &["--smoothness serves"]);
    desk.bad("decompose s.npz --algorithm clustering --bones 3 --max-error 1 -o p.glb", &["--max-error serves"]);
    assert!(!exists(&desk.path("p.glb")));
}

/// The same frames in every format give the same bones to single precision.
#[test]
fn a_sequence_may_come_in_any_format() {
    let (desk, tube) = (Desk::new(), Tube::new(9, 6, 0.0, Flesh::Weights));
    desk.put("s.npz", tube.sequence());
    desk.put("s.pc2", tube.pc2());
    desk.put("s.mdd", tube.mdd());
    desk.put("s.glb", tube.glb());
    desk.put("sculpts.glb", tube.sculpts(true));
    desk.put("mesh.obj", to_bytes(|out| obj::write(&tube.mesh, &tube.mesh.positions, &Space::default(), out)).unwrap());
    tube.objs(&desk, "folder");
    let expected = number(&desk.json("decompose s.npz --bones 2 -o a.glb --json"), "error.rms");
    for files in ["mesh.obj s.pc2", "mesh.obj s.mdd", "s.glb#bends", "sculpts.glb#bends", "folder"] {
        let value = desk.json(&format!("decompose {files} --bones 2 -o b.glb --force --json"));
        let found = number(&value, "error.rms");
        assert!((found - expected).abs() < 1e-3 * expected + 1e-6, "{files}: {found} {expected}");
        assert_eq!(number(&value, "frames"), 6.0, "{files}");
    }
    // Two files are two clips, and so are the clips of one.
    desk.good("decompose s.npz s.pc2 --bones 3 -o two.glb");
    let names: Vec<String> = read_glb(&desk, "two.glb").clips.into_iter().map(|c| c.name).collect();
    assert_eq!(names, ["s", "s 2"]);
    desk.good("decompose s.glb --bones 3 -o clips.glb");
    let clips = read_glb(&desk, "clips.glb").clips;
    assert_eq!(clips.iter().map(|c| c.name.as_str()).collect::<Vec<_>>(), ["bends", "rest"]);
    assert_eq!(clips[0].key_times.len(), 6);
}

#[test]
fn sheared_bones_play_from_a_glb_as_from_a_bundle() {
    let desk = Desk::new();
    let mut tube = Tube::new(9, 7, 0.0, Flesh::Weights);
    for (s, frame) in tube.skins.iter_mut().enumerate() {
        let s = s as f64;
        let shear =
            DMat3::from_cols(DVec3::new(1.0, 0.1 * s, 0.0), DVec3::new(0.3 * s.sin(), 1.0 - 0.3 * s, 0.2), DVec3::Z);
        frame.iter_mut().for_each(|p| *p = shear * *p);
    }
    desk.put("s.npz", bundle(&tube.mesh, &tube.skins));
    desk.good("decompose s.npz --bones 3 --affine -o a.glb");
    desk.good("decompose s.npz --bones 3 --affine -o a.npz");
    let plain = npz::read(&desk.bytes("a.npz"), "a").unwrap();
    let (skeleton, weights) = (plain.skeleton.unwrap(), plain.weights.unwrap());
    let frames: Vec<Vec<DVec3>> = plain
        .records
        .iter()
        .map(|r| {
            let m = skeleton.bone_transforms(r.pose.as_ref().unwrap());
            let skin =
                |(v, p): (usize, &DVec3)| weights.of(v).iter().map(|&(b, w)| w * m[b].transform_point3(*p)).sum();
            tube.mesh.positions.iter().enumerate().map(skin).collect()
        })
        .collect();
    let glb = read_glb(&desk, "a.glb");
    assert_eq!(glb.skeleton.as_ref().unwrap().len(), 6, "two nodes for each bone");
    // Local transforms, the parents' inverse and the product again in single precision: some 2⁻²⁴ of coordinates near one.
    assert!(rms(&shown(&glb), &frames) < 1e-6);
    assert!(rms(&frames, &tube.skins) < 0.02, "and it is the sequence");
}

#[test]
fn given_bones_given_weights_and_a_start_are_kept() {
    let (desk, tube) = (Desk::new(), Tube::new(9, 8, 0.0, Flesh::Weights));
    desk.put("s.npz", tube.sequence());
    desk.put("rig.npz", tube.bundle());
    desk.put("rig.glb", tube.glb());
    for given in ["--given-bones rig.npz", "--given-bones rig.glb#bends", "--given-weights rig.npz", "--start rig.glb"]
    {
        let value = desk.json(&format!("decompose s.npz {given} -o o.glb --force --json"));
        // rig.glb holds single precision.
        assert!(number(&value, "error.rms") < 2e-6 * tube.diagonal(), "{given}: {}", value["error"]);
        let found = read_glb(&desk, "o.glb").skeleton.unwrap();
        assert_eq!(found.names().to_vec(), ["root", "elbow", "wrist"], "{given}");
        assert_eq!(found.parents().to_vec(), tube.skeleton.parents().to_vec(), "{given}");
    }
    // Weights that cannot hold, but for the vertices that may not change.
    let mut wrong = tube.contents();
    let rows =
        (0..tube.mesh.positions.len()).map(|v| vec![(BoneIndex::new(v % 3), 0.5), (BoneIndex::new((v + 1) % 3), 0.5)]);
    wrong.weights = Some(dermis_workflow::rig::Influences::from_rows(rows).unwrap());
    desk.put("wrong.npz", to_bytes(|out| npz::write(&wrong, npz::StoredFloat::Double, out)).unwrap());
    desk.good("decompose s.npz --start wrong.npz --freeze-vertices 0-9,20 -o f.npz");
    let kept = npz::read(&desk.bytes("f.npz"), "f").unwrap().weights.unwrap();
    let wrong = wrong.weights.unwrap();
    for v in (0..10).chain([20]) {
        let off = |b: usize| (kept.value(v, BoneIndex::new(b)) - wrong.value(v, BoneIndex::new(b))).abs();
        assert!((0..3).all(|b| off(b) < 1e-6), "vertex {v}");
    }
    assert!((0..kept.vertices()).any(|v| kept.of(v) != wrong.of(v)));
    desk.bad("decompose s.npz --given-bones s.npz -o x.glb", &["there is no skeleton"]);
    desk.put("short.npz", Tube::new(9, 3, 0.0, Flesh::Weights).bundle());
    desk.bad("decompose s.npz --given-bones short.npz -o x.glb", &["3 poses", "8 frames"]);
    let mut large = tube.mesh.clone();
    large.positions.iter_mut().for_each(|p| *p *= 100.0);
    let skins: Vec<Vec<DVec3>> = tube.skins.iter().map(|skin| skin.iter().map(|p| 100.0 * *p).collect()).collect();
    desk.put("large.npz", bundle(&large, &skins));
    desk.bad("decompose large.npz --given-bones rig.npz -o x.glb", &["100.000 times as large", "--unit"]);
    desk.put("other.npz", Tube::new(7, 3, 0.0, Flesh::Weights).bundle());
    desk.bad("decompose s.npz --given-weights other.npz -o x.glb", &["other.npz", "vertices"]);
    desk.bad("decompose s.npz --start rig.npz --freeze-vertices 5000 -o x.glb", &["frozen", "5000"]);
    desk.bad("decompose s.npz --start rig.npz --freeze-vertices 9-3 -o x.glb", &["--freeze-vertices 9-3"]);
}

#[test]
fn bones_of_a_tree_turn_about_their_joints() {
    let (desk, tube) = (Desk::new(), Tube::new(21, 12, 0.0, Flesh::Weights));
    desk.put("s.npz", tube.sequence());
    let run = desk.good("decompose s.npz --bones 3 --rotation-only -o o.glb");
    assert!(run.out.contains("rotation-only"), "{}", run.out);
    let contents = read_glb(&desk, "o.glb");
    let skeleton = contents.skeleton.unwrap();
    assert_eq!(skeleton.parents().iter().filter(|p| p.is_none()).count(), 1);
    let clip = &contents.clips[0];
    for bone in skeleton.bones() {
        let Some(parent) = skeleton.parents()[bone] else { continue };
        let joint = skeleton.bind()[bone].translation;
        for &t in &clip.key_times {
            let m = skeleton.bone_transforms(&(clip.sample)(t).pose);
            let apart = m[bone].transform_point3(joint).distance(m[parent].transform_point3(joint));
            assert!(apart < 1e-6, "the joint of bone {} opens by {apart}", bone.get());
        }
    }
    desk.good("decompose s.npz --bones 3 --tree -o tree.glb");
    desk.bad("decompose s.npz --bones 3 --tree --affine -o x.glb", &["rigid"]);
}

#[test]
fn clustering_finds_how_many_bones_there_are() {
    let desk = Desk::new();
    let (mut mesh, mut frames) = (Mesh::default(), vec![Vec::new(); 3]);
    for part in 0..4u32 {
        let other = Tube::new(5, 1, 0.0, Flesh::Weights).mesh;
        let at = mesh.positions.len() as u32;
        mesh.triangles.extend(other.triangles.iter().map(|t| t.map(|c| c + at)));
        let placed: Vec<DVec3> = other.positions.iter().map(|p| *p + DVec3::Y * f64::from(part)).collect();
        for (s, frame) in frames.iter_mut().enumerate() {
            let turn = DAffine3::from_rotation_z(0.5 * (s + 1) as f64 * f64::from(part));
            frame.extend(placed.iter().map(|p| turn.transform_point3(*p)));
        }
        mesh.positions.extend(placed);
    }
    desk.put("s.npz", bundle(&mesh, &frames));
    let value = desk.json("decompose s.npz --algorithm clustering --bandwidth 0.3 -o o.glb --json");
    assert_eq!(number(&value, "bones"), 4.0);
    assert!(number(&value, "error.rms") < 1e-6);
    let value = desk.json("decompose s.npz --algorithm clustering --bones 9 -o o.glb --force --json");
    assert_eq!(number(&value, "bones"), 4.0);
    assert!(value["fewer_because"].as_str().unwrap().contains("4 different ways"));
    desk.bad("decompose s.npz --bandwidth 0.3 -o x.glb", &["--algorithm clustering"]);
    desk.bad("decompose s.npz --algorithm clustering --bandwidth -1 -o x.glb", &["positive"]);
}

/// Shells, twins of a vertex, vertices without a face, triangles without area, edges of three triangles.
#[test]
fn meshes_with_flaws_are_decomposed() {
    let desk = Desk::new();
    let tube = Tube::new(9, 5, 0.0, Flesh::Bulge);
    let (mut mesh, mut frames) = (tube.mesh.clone(), tube.skins.clone());
    let count = mesh.positions.len() as u32;
    let mut add = |from: u32, by: DVec3| {
        mesh.positions.push(tube.mesh.positions[from as usize] + by);
        frames.iter_mut().enumerate().for_each(|(s, f)| f.push(tube.skins[s][from as usize] + by));
    };
    (0..8).for_each(|v| add(v, DVec3::Y * 3.0)); // another shell
    (0..8).for_each(|v| add(v, DVec3::ZERO)); // twins
    add(3, DVec3::splat(-2.0)); // of no face
    mesh.triangles.extend([[count, count + 1, count + 2], [count + 2, count + 3, count + 4], [0, 0, 1], [4, 4, 4]]);
    mesh.triangles.extend([[0, 1, 20], [0, 1, 30], [count + 8, count + 9, count + 10]]);
    desk.put("s.npz", bundle(&mesh, &frames));
    let vertices = mesh.positions.len();
    for options in ["", "--affine", "--algorithm=clustering", "--rotation-only", "--bones 1", "--bones 40"] {
        let bones = if options.contains("--bones") { "" } else { "--bones 4" };
        let value = desk.json(&format!("decompose s.npz {bones} {options} -o o.glb --force --json"));
        assert_eq!(number(&value, "vertices"), vertices as f64);
        assert!(number(&value, "error.rms").is_finite(), "{options}");
        let (wanted, found) = (number(&value, "bones_requested"), number(&value, "bones"));
        assert!(found == wanted || !value["fewer_because"].is_null(), "{options}: {found} of {wanted}");
    }
}

/// Vertices that are thrown away for some frames are named, with their frames, and the others are as exact as without them.
#[test]
fn vertices_that_fly_off_are_set_aside_and_named() {
    let (desk, tube) = (Desk::new(), Tube::new(11, 12, 0.0, Flesh::Weights));
    let mut frames = tube.skins.clone();
    frames[3][21] += DVec3::new(0.0, 5.0, 0.0);
    frames[7][21] += DVec3::new(2.0, 0.0, -1.0);
    frames[0][40] -= DVec3::Z * 3.0;
    desk.put("s.npz", bundle(&tube.mesh, &frames));
    let run = desk.good("decompose s.npz --bones 3 -o o.npz");
    for said in ["3 positions; errors leave them out", "vertex 21 (2 of 12 frames: f3, f7; 5", "vertex 40 (frame f0; 3"]
    {
        assert!(run.out.contains(said), "{said}: {}", run.out);
    }
    let value = desk.json("decompose s.npz --bones 3 -o o.npz --force --json");
    let named: Vec<(&str, f64)> = value["set_aside"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["frame"].as_str().unwrap(), number(one, "vertex")))
        .collect();
    assert_eq!(named, [("f0", 40.0), ("f3", 21.0), ("f7", 21.0)]);
    assert!((number(&value["set_aside"][1], "distance") - 5.0).abs() < 1e-5, "{value}");
    assert!(number(&value, "error.max") < 1e-5 * tube.diagonal(), "{value}");
    assert_eq!(value["stopped_because"], "converged", "exact is said of all positions, or not at all");
    // The bones show the sequence as it was, and the file the frames as they are.
    let made = npz::read(&desk.bytes("o.npz"), "o").unwrap();
    let (skeleton, weights) = (made.skeleton.unwrap(), made.weights.unwrap());
    for (record, skin) in made.records.iter().zip(&tube.skins) {
        let m = skeleton.bone_transforms(record.pose.as_ref().unwrap());
        for (v, (p, x)) in tube.mesh.positions.iter().zip(skin).enumerate() {
            let posed: DVec3 = weights.of(v).iter().map(|&(b, w)| w * m[b].transform_point3(*p)).sum();
            assert!(posed.distance(*x) < 1e-5 * tube.diagonal(), "{}, vertex {v}", record.label);
        }
    }
    let kept = made.records[3].positions.as_ref().unwrap()[21];
    assert!(kept.distance(frames[3][21]) < 1e-6, "{kept}");
    // Two clips: frames behind the names of their clips.
    desk.put("t.npz", tube.sequence());
    let value = desk.json("decompose t.npz s.npz --bones 3 -o o.npz --force --json");
    assert_eq!(value["set_aside"][0]["frame"], "s f0");
    let value = desk.json("decompose t.npz --bones 3 -o o.npz --force --json");
    assert!(value["set_aside"].as_array().unwrap().is_empty());
    assert_eq!(value["stopped_because"], "exact");
    // A fit that is bad is not called exact, however far the vertex flew.
    let value = desk.json("decompose s.npz --bones 2 -o o.npz --force --json");
    assert!(number(&value, "error.max") > 1e-3 * tube.diagonal());
    assert!(!value["stopped_because"].as_str().unwrap().contains("exact"), "{value}");
}

/// Two sheets that touch: their vertices stand in one place at rest and part later. A file whose weights agree there cannot
/// tell them apart, but it keeps their order.
#[test]
fn vertices_in_one_place_are_read_back_in_their_order() {
    use dermis_workflow::io::MorphTarget;
    use dermis_workflow::rig::RenderMesh;
    use dermis_workflow::rig::glam::DVec2;
    let desk = Desk::new();
    let sheet = |x: f64| (0..9).map(move |v| DVec3::new(x + f64::from(v % 3), f64::from(v / 3), 0.0));
    let positions: Vec<DVec3> = sheet(0.0).chain(sheet(2.0)).collect();
    let faces = |first: u32| {
        [0, 1, 3, 4].map(|c| [[first + c, first + c + 1, first + c + 4], [first + c, first + c + 4, first + c + 3]])
    };
    let triangles: Vec<[u32; 3]> = [faces(0), faces(9)].into_iter().flatten().flatten().collect();
    let uvs = (0..18).map(|v| DVec2::new(f64::from(v) / 18.0, 0.5)).collect();
    let render = RenderMesh { source: (0..18).collect(), triangles: triangles.clone(), uvs, ..RenderMesh::default() };
    let mesh = Mesh { positions: positions.clone(), triangles, render: Some(render), ..Mesh::default() };
    let lift = |v: usize| DVec3::Z * (if v < 9 { positions[v].x } else { 0.5 * positions[v].y });
    let morphs = [MorphTarget { name: "part".into(), deltas: (0..18).map(lift).collect() }];
    let clip = gltf::GlbClip {
        name: "parting".into(),
        times: vec![0.0, 0.5, 1.0],
        morph_weights: vec![vec![0.0], vec![0.5], vec![1.0]],
        ..gltf::GlbClip::default()
    };
    let scene =
        gltf::GlbScene { name: "sheets", mesh: Some(&mesh), morphs: &morphs, clips: &[clip], ..Default::default() };
    desk.put("sheets.glb", to_bytes(|out| gltf::write_glb(&scene, out)).unwrap());
    assert_eq!(read_glb(&desk, "sheets.glb").mesh.unwrap().positions.len(), 18, "they part, so they are not welded");
    for bones in [1, 2, 4] {
        let value = desk.json(&format!("decompose sheets.glb --bones {bones} --affine -o o.glb --force --json"));
        assert_eq!(number(&value, "vertices"), 18.0);
        assert!(number(&value, "error.rms").is_finite(), "{value}");
    }
    desk.json("decompose sheets.glb --bones 1 --rigid -o o.glb --force --json");
    assert!(read_glb(&desk, "o.glb").mesh.unwrap().positions.len() < 18, "the weights agree: the file welds them");
}

#[test]
fn frames_that_are_few_alike_or_not_finite_are_handled() {
    let (desk, tube) = (Desk::new(), Tube::new(5, 6, 0.0, Flesh::Weights));
    desk.put("mesh.obj", to_bytes(|out| obj::write(&tube.mesh, &tube.mesh.positions, &Space::default(), out)).unwrap());
    let mut cache = tube.pc2();
    let vertices = tube.mesh.positions.len();
    for frame in [1, 4] {
        let at = 32 + frame * 12 * vertices + 24;
        cache[at..at + 4].copy_from_slice(&f32::NAN.to_le_bytes());
    }
    desk.put("s.pc2", &cache);
    let value = desk.json("decompose mesh.obj s.pc2 --bones 2 -o o.glb --json");
    assert_eq!(value["left_out"].as_array().unwrap().len(), 2, "{}", value["left_out"]);
    assert_eq!(number(&value, "frames"), 4.0);
    let said = desk.good("decompose mesh.obj s.pc2 --bones 2 -o p.glb").out;
    assert!(said.contains("left out, not finite: 2 frames (s frame 1") && said.contains("frame 4"), "{said}");
    desk.put("one.npz", bundle(&tube.mesh, &tube.skins[3..4]));
    assert_eq!(number(&desk.json("decompose one.npz --bones 2 -o one.glb --json"), "frames"), 1.0);
    desk.put("same.npz", bundle(&tube.mesh, &vec![tube.mesh.positions.clone(); 4]));
    for options in ["", "--affine", "--tree", "--rotation-only", "--algorithm=clustering"] {
        let value = desk.json(&format!("decompose same.npz --bones 3 {options} -o o.glb --force --json"));
        assert!(number(&value, "error.max") < 1e-6, "{options}");
        let (wanted, found) = (number(&value, "bones_requested"), number(&value, "bones"));
        assert!(found == wanted || !value["fewer_because"].is_null(), "{options}: {found} of {wanted}");
    }
    let two = DVec3::X * 2.0;
    let line = Mesh { positions: vec![DVec3::ZERO, DVec3::X, two], triangles: vec![[0, 1, 2]], ..Mesh::default() };
    desk.put("tiny.npz", bundle(&line, &[vec![DVec3::ZERO, DVec3::Y, two], vec![DVec3::Z, DVec3::X, two]]));
    let value = desk.json("decompose tiny.npz --bones 10 -o t.glb --json");
    assert!(number(&value, "error.rms").is_finite() && !value["fewer_because"].is_null(), "{value}");
    desk.good("decompose one.npz --rest f0 --bones 2 -o rest.glb");
    desk.good("decompose same.npz --rest 3 --bones 2 -o x.glb");
    desk.bad("decompose same.npz --rest 9 --bones 2 -o y.glb", &["--rest 9", "4"]);
}

#[test]
fn what_cannot_be_is_refused_before_or_after_reading() {
    let (desk, tube) = (Desk::new(), Tube::new(5, 3, 0.0, Flesh::Weights));
    desk.put("s.npz", tube.sequence());
    desk.put("s.pc2", tube.pc2());
    desk.put("mesh.obj", to_bytes(|out| obj::write(&tube.mesh, &tube.mesh.positions, &Space::default(), out)).unwrap());
    desk.put("other.npz", Tube::new(7, 3, 0.0, Flesh::Weights).sequence());
    desk.put("folder/a1.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n");
    desk.put("folder/a2.obj", "v 0 0 0\nv 1 0 0\nf 1 2 1\n");
    for (line, says) in [
        ("s.npz -o x.glb", &["--bones"][..]),
        ("s.npz --bones 2 -o x.fbx", &[".fbx"]),
        ("s.npz --bones 2 -o nowhere/x.glb", &["nowhere"]),
        ("s.pc2 --bones 2 -o x.glb", &["s.pc2", "no mesh"]),
        ("mesh.obj --bones 2 -o x.glb", &["mesh.obj", "no frames"]),
        ("s.npz other.npz --bones 2 -o x.glb", &["other.npz", "vertices"]),
        ("folder --bones 2 -o x.glb", &["a2", "2 vertices"]),
        ("gone.npz --bones 2 -o x.glb", &["gone.npz"]),
        ("s.npz --bones 2 --near-rigid=-1 -o x.glb", &["--near-rigid -1"]),
        ("s.npz --bones 2 --algorithm clustering --quality -o x.glb", &["--quality"]),
        ("s.npz --start s.npz --algorithm clustering -o x.glb", &["clustering"]),
        ("s.npz --given-bones s.npz --tree -o x.glb", &["--tree"]),
    ] {
        desk.bad(&format!("decompose {line}"), says);
    }
    for line in [
        "--bones 0",
        "--bones -3",
        "--bones 2 --influences 0",
        "--bones 2 --rigid --affine",
        "--bones 2 --start s.npz",
        "--bones 2 --freeze-vertices 3",
    ] {
        assert_eq!(desk.run(&format!("decompose s.npz {line} -o x.glb")).code, 2, "{line}");
    }
    assert!(!exists(&desk.path("x.glb")));
    desk.good("decompose s.npz --bones 2 -o x.glb");
    desk.bad("decompose s.npz --bones 2 -o x.glb", &["exists"]);
}

#[test]
fn the_same_file_for_any_number_of_threads_and_a_page_beside_it() {
    let (desk, tube) = (Desk::new(), Tube::new(41, 8, 0.0, Flesh::Bulge));
    desk.put("s.npz", tube.sequence());
    for options in ["--bones 4", "--bones 4 --affine", "--bones 4 --rotation-only", "--bones 3 --algorithm clustering"]
    {
        desk.good(&format!("decompose s.npz {options} --threads 1 -o one.glb --force"));
        desk.good(&format!("decompose s.npz {options} --threads 3 -o three.glb --force --report page.html"));
        assert!(desk.bytes("one.glb") == desk.bytes("three.glb"), "{options}");
    }
    assert!(desk.bytes("page.html").len() > 1000);
}
