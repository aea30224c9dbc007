//! USD against what usd-core says of stages that it wrote (`tools/usd_fixtures.py`), and against stages written by hand.

use dermis_io::skinned_scene::SkinnedScene;
use dermis_io::{Clip, Contents, Flaw, Format, ReadError, Space, sniff, to_bytes, usd};
use dermis_rig::glam::DVec3;
use dermis_testkit::usd::{ARM, ARM_PACKAGE, ARM_TEXT, MOUTH, MOUTH_TEXT, POSITIONS, SCENE, SHEET, beside};
use std::io;

fn resolve(path: &str, _: u64) -> io::Result<Vec<u8>> {
    beside(path).map(<[u8]>::to_vec).ok_or_else(|| io::ErrorKind::NotFound.into())
}

fn read(bytes: &[u8]) -> Contents {
    assert_eq!(sniff(bytes, "a"), Some(Format::Usd));
    usd::read(bytes, "a.usd", &resolve).unwrap()
}

fn text(body: &str) -> Result<Contents, ReadError> {
    usd::read(format!("#usda 1.0\n{body}").as_bytes(), "a.usda", &resolve)
}

/// Moments of a file: seconds and positions.
fn told(file: &str) -> Vec<(f64, Vec<DVec3>)> {
    let all: serde_json::Value = serde_json::from_str(POSITIONS).unwrap();
    let point =
        |p: &serde_json::Value| DVec3::new(p[0].as_f64().unwrap(), p[1].as_f64().unwrap(), p[2].as_f64().unwrap());
    let moment = |m: &serde_json::Value| {
        let positions = m["positions"].as_array().unwrap().iter().map(point).collect();
        (m["time"].as_f64().unwrap(), positions)
    };
    all[file].as_array().unwrap().iter().map(moment).collect()
}

/// The largest distance, as a part of the size.
fn apart(found: &[DVec3], expected: &[DVec3]) -> f64 {
    assert_eq!(found.len(), expected.len());
    let low = expected.iter().copied().reduce(DVec3::min).unwrap();
    let high = expected.iter().copied().reduce(DVec3::max).unwrap();
    found.iter().zip(expected).map(|(p, q)| p.distance(*q)).fold(0.0, f64::max) / low.distance(high)
}

/// The skin of the first clip at a time.
fn skin(contents: &Contents, time: f64) -> Vec<DVec3> {
    let (mesh, skeleton) = (contents.mesh.as_ref().unwrap(), contents.skeleton.as_ref().unwrap());
    let (weights, clip) = (contents.weights.as_ref().unwrap(), &contents.clips[0]);
    let frame = (clip.sample)(time - clip.start);
    let transforms = skeleton.bone_transforms(&frame.pose);
    let shaped = |vertex: usize| {
        let moved =
            contents.morphs.iter().zip(&frame.morph_weights).map(|(morph, weight)| morph.deltas[vertex] * *weight);
        mesh.positions[vertex] + moved.sum::<DVec3>()
    };
    let skinned = |vertex: usize| {
        let shaped = shaped(vertex);
        weights.of(vertex).iter().map(|(bone, weight)| transforms[*bone].transform_point3(shaped) * *weight).sum()
    };
    (0..mesh.positions.len()).map(skinned).collect()
}

/// usd-core holds translations, turns and weights in 32 bits: 2⁻²³ of the size for each of a handful of steps.
const SINGLE: f64 = 1e-6;

#[test]
fn a_skinned_arm_moves_as_usd_skel_moves_it_in_text_binary_and_package() {
    for file in [ARM_TEXT, ARM, ARM_PACKAGE] {
        let contents = read(file);
        assert_eq!(contents.clips.len(), 1);
        let clip = &contents.clips[0];
        assert_eq!((clip.name.as_str(), clip.start, clip.key_times.len()), ("Walk", 0.0, 4));
        assert_eq!(contents.frames_per_second, Some(30.0));
        for (time, expected) in told("arm.usdc") {
            let off = apart(&skin(&contents, time), &expected);
            assert!(off < SINGLE, "{off:e} at {time}");
        }
    }
}

#[test]
fn an_arm_has_its_bones_shapes_faces_and_material() {
    let contents = read(ARM);
    let skeleton = contents.skeleton.as_ref().unwrap();
    assert_eq!(skeleton.names().iter().collect::<Vec<_>>(), ["root", "mid", "tip", "side"]);
    let parents: Vec<Option<usize>> = skeleton.parents().iter().map(|parent| parent.map(|at| at.get())).collect();
    assert_eq!(parents, [None, Some(0), Some(1), None]);
    assert!(skeleton.bind().iter().all(|bind| (bind.matrix3.determinant() - 1.0).abs() < 1e-12));
    assert_eq!(contents.morphs.iter().map(|morph| morph.name.as_str()).collect::<Vec<_>>(), ["frown", "smile"]);
    assert_eq!(contents.morphs[1].deltas.iter().filter(|d| **d != DVec3::ZERO).count(), 2);
    let mesh = contents.mesh.as_ref().unwrap();
    let objects: Vec<_> = mesh.objects.iter().map(|own| (own.name.as_str(), own.vertices)).collect();
    assert_eq!(objects, [("Skin", 35), ("Hat", 3)]);
    let polygons = mesh.polygons.as_ref().unwrap();
    assert_eq!((polygons.counts.len(), polygons.counts[0], polygons.counts[30]), (31, 4, 3));
    let render = mesh.render.as_ref().unwrap();
    let parts: Vec<_> = render.parts.iter().map(|part| (part.name.as_str(), part.count, part.material)).collect();
    assert_eq!(parts, [("Skin", 54, None), ("Red", 6, Some(0)), ("Hat", 1, None)]);
    let look = &render.appearance.as_ref().unwrap().description;
    assert!(
        look.contains(r#""baseColorFactor":[0.5,0.25,0.125,1.0]"#) && look.contains(r#""roughnessFactor":0.25"#),
        "{look}"
    );
    assert_eq!(render.uvs.len(), render.source.len());
    let of_skin = render.uvs.iter().zip(&render.source).filter(|(_, vertex)| **vertex < 35).map(|(uv, _)| uv.y);
    let (low, high) = of_skin.fold((f64::MAX, f64::MIN), |(low, high), v| (low.min(v), high.max(v)));
    assert!((low - 1.0 / 7.0).abs() < 1e-6 && high == 1.0, "from the upper left: {low} {high}");
    // Normals point away from the axis of the arm.
    let out = render.normals.iter().zip(&render.source).filter(|(n, _)| **n != DVec3::ZERO);
    assert!(out.clone().count() >= 35 && out.clone().all(|(n, _)| (n.length() - 1.0).abs() < 1e-9));
    assert!(contents.morph_weights.is_empty(), "weights are said over time alone");
}

/// UsdSkel computes what it shows of shapes in between in 32 bits, and adds them to the points in 64 here.
#[test]
fn shapes_in_between_are_targets_whose_weights_follow_as_usd_skel_has_it() {
    for file in [MOUTH_TEXT, MOUTH] {
        let contents = read(file);
        let names: Vec<&str> = contents.morphs.iter().map(|morph| morph.name.as_str()).collect();
        // The teeth follow the whole weight, the lips their part of it.
        assert_eq!(names, ["open_-50", "open_25", "open_75", "open", "smile", "open_2"]);
        let flaw = |flaw| contents.warnings.iter().find(|own| own.flaw == flaw).unwrap();
        assert_eq!((flaw(Flaw::Between).count, flaw(Flaw::Between).first.as_deref()), (3, Some("\"open_-50\"")));
        let left_out = flaw(Flaw::Unsupported);
        assert_eq!(left_out.count, 1);
        let first = left_out.first.as_deref().unwrap();
        assert_eq!(first, "</Face/Lips/wide.inbetweens:none>, in between at the weight 0");
        assert!(contents.unread.is_empty(), "{:?}", contents.unread);
        // Five samples, and the knots -0.5, 0, 0.25, 0.75 and 1 where the weight passes them: 0 to 1 to 0.375 to 1.5 to -0.75. Between two keys
        // weights are lines, so that a file of keys alone moves alike.
        let keys = &contents.clips[0].key_times;
        assert_eq!(keys.len(), 5 + 2 + 1 + 2 + 5);
        for two in keys.windows(2) {
            let at = |time: f64| (contents.clips[0].sample)(time).morph_weights;
            let (a, middle, b) = (at(two[0]), at((two[0] + two[1]) / 2.0), at(two[1]));
            let bent = middle.iter().zip(a.iter().zip(&b)).map(|(m, (a, b))| (m - (a + b) / 2.0).abs());
            assert!(bent.fold(0.0, f64::max) < 1e-9, "between {} and {}", two[0], two[1]);
        }
        for (time, expected) in told("mouth.usdc") {
            let off = apart(&skin(&contents, time), &expected);
            assert!(off < SINGLE, "{off:e} at {time}");
        }
    }
}

/// A file that is written has the shapes as ones of their own, and keys where straight lines between weights end.
#[test]
fn shapes_in_between_move_as_they_did_in_a_file_that_is_written() {
    let contents = read(MOUTH);
    let clips: Vec<&Clip> = contents.clips.iter().collect();
    let scene = SkinnedScene {
        name: "mouth",
        mesh: contents.mesh.as_ref(),
        skeleton: contents.skeleton.as_ref(),
        weights: contents.weights.as_ref(),
        morphs: &contents.morphs,
        clips: &clips,
        frames_per_second: contents.frames_per_second,
        ..SkinnedScene::default()
    };
    let container = usd::Container::Text;
    let bytes = to_bytes(|out| usd::write(&scene, &Space::default(), container, out).map(drop)).unwrap();
    let again = read(&bytes);
    assert_eq!(again.morphs.len(), 6);
    for step in 0..=300 {
        let time = contents.clips[0].duration * f64::from(step) / 300.0;
        let off = apart(&skin(&again, time), &skin(&contents, time));
        assert!(off < 1e-4, "{off:e} at {time}"); // as close as the writer promises
    }
}

/// What a damaged file may say of shapes in between: two at one weight, none, offsets that fit nothing.
#[test]
fn shapes_in_between_that_cannot_be_told_apart_or_do_not_fit_are_counted() {
    let file = std::str::from_utf8(MOUTH_TEXT).unwrap();
    let weights = |from: &str, to: &str| read(file.replacen(&format!("weight = {from}"), to, 1).as_bytes());
    for (from, to) in [("0.75", "weight = 0.25"), ("0.75", ""), ("0.75", "weight = 1"), ("0.75", "weight = inf")] {
        let contents = weights(from, to);
        assert_eq!(contents.morphs.len(), 5, "{to}");
        assert_eq!(contents.warnings.iter().find(|own| own.flaw == Flaw::Unsupported).unwrap().count, 2, "{to}");
    }
    let contents = read(file.replacen("inbetweens:more = [", "inbetweens:more = [(1, 2, 3), ", 1).as_bytes());
    assert_eq!(contents.morphs.len(), 5);
    let flaw = contents.warnings.iter().find(|own| own.flaw == Flaw::CountMismatch).unwrap();
    assert_eq!(flaw.first.as_deref(), Some("4 offsets of blend shape </Face/Lips/wide> for 3 points"));
}

#[test]
fn a_sheet_and_its_transforms_are_records_and_changing_faces_are_named() {
    let contents = read(SHEET);
    assert!(contents.skeleton.is_none() && contents.clips.is_empty());
    assert_eq!(contents.records.len(), 8);
    for (time, expected) in told("sheet.usdc") {
        let record = contents.records.iter().find(|own| (own.time.unwrap() - time).abs() < 1e-9).unwrap();
        let off = apart(record.positions.as_ref().unwrap(), &expected);
        assert!(off < SINGLE, "{off:e} at {time}");
    }
    assert!(contents.unread.iter().any(|what| what.contains("/Top/Grows")), "{:?}", contents.unread);
    // A mirrored transform, or clockwise corners, leave faces counter-clockwise seen from outside: the file has [0, 1, 6, 5] and [0, 1, 2].
    let mesh = contents.mesh.as_ref().unwrap();
    assert_eq!(mesh.polygons.as_ref().unwrap().indices[..4], [0, 5, 6, 1]);
    assert_eq!(mesh.triangles.last(), Some(&[25, 27, 26]));
}

#[test]
fn composed_prims_stand_where_usd_has_them() {
    let contents = read(SCENE);
    let names: Vec<&str> = contents.mesh.as_ref().unwrap().objects.iter().map(|own| own.name.as_str()).collect();
    assert_eq!(names, ["Below", "Inherited", "Shared", "Shared", "Mesh", "Mesh", "Inherited", "Shared"]);
    for (time, expected) in told("scene.usda") {
        let record = contents.records.iter().find(|own| (own.time.unwrap() - time).abs() < 1e-9).unwrap();
        let off = apart(record.positions.as_ref().unwrap(), &expected);
        assert!(off < SINGLE, "{off:e} at {time}");
    }
    let said = contents.unread.join("; ");
    for what in ["variants other than \"two\" of \"kind\" of </World/Special>", "1 meshes outside of the default prim"]
    {
        assert!(said.contains(what), "{said}");
    }
}

const FACES: &str = "int[] faceVertexCounts = [3]\nint[] faceVertexIndices = [0, 1, 2]\n";

#[test]
fn what_lies_outside_of_the_folder_is_named_and_not_opened() {
    let opened = std::cell::Cell::new(0);
    let resolve = |_: &str, _: u64| {
        opened.set(opened.get() + 1);
        Err(io::ErrorKind::NotFound.into())
    };
    let stage = "#usda 1.0\n(\n subLayers = [@../up.usda@, @/etc/passwd@]\n)\n\
        def \"a\" (references = [@http://host/a.usd@, @sub/../../b.usd@]) {}\ndef \"b\" (payload = @C:/c.usd@) {}\n";
    let contents = usd::read(stage.as_bytes(), "a.usda", &resolve).unwrap();
    assert_eq!(opened.get(), 0);
    assert_eq!(
        contents.unread.iter().filter(|what| what.contains("outside of the folder")).count(),
        5,
        "{:?}",
        contents.unread
    );
}

#[test]
fn circles_end_and_are_counted() {
    let stage = format!(
        "def \"a\" (references = </b>) {{}}\ndef \"b\" (references = </a>) {{ def \"c\" (inherits = </b>) {{}}\n def Mesh \"m\" {{ point3f[] \
         points = [(0,0,0),(1,0,0),(0,1,0)]\n{FACES} }} }}\n"
    );
    let contents = text(&stage).unwrap();
    assert!(contents.warnings.iter().any(|own| own.flaw == Flaw::Reference), "{:?}", contents.warnings);
    assert_eq!(contents.mesh.unwrap().objects.len(), 2);
}

#[test]
fn damage_is_an_error_with_its_place() {
    for (body, expected) in [
        ("def Mesh \"m\" {\n point3f[] points = [(0,0,0)\n", "line 4"),
        ("def \"a\" {}\ndef \"a\" {}\n", "\"a\" occurs twice"),
        (
            "def Mesh \"m\" { point3f[] points = [(0,0,0)]\n int[] faceVertexCounts = [3]\n int[] faceVertexIndices = [0,0,1]\n}",
            "vertex 1",
        ),
        (
            "def Mesh \"m\" { point3f[] points = [(0,0,0)]\n int[] faceVertexCounts = [4]\n int[] faceVertexIndices = [0]\n}",
            "4 corners",
        ),
        ("def Mesh \"m\" { point3f[] points = [(0,0,nan)]\n}", "not finite"),
    ] {
        let error = text(body).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains(expected), "{body}: {error}");
    }
    let error = usd::read(b"glTF", "a.usd", &resolve).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("not a USD file"), "{error}");
}

#[test]
fn guides_hidden_meshes_and_constant_colours_are_told() {
    let mesh = |name: &str, more: &str| {
        format!("def Mesh \"{name}\" {{ point3f[] points = [(0,0,0),(1,0,0),(0,1,0)]\n{FACES}{more}\n }}\n")
    };
    let stage = mesh("seen", "color3f[] primvars:displayColor = [(1, 0, 0)] ( interpolation = \"constant\" )")
        + &mesh("guide", "uniform token purpose = \"guide\"")
        + &mesh("hidden", "token visibility = \"invisible\"");
    let contents = text(&stage).unwrap();
    let mesh = contents.mesh.as_ref().unwrap();
    assert_eq!(mesh.objects.iter().map(|own| own.visible).collect::<Vec<_>>(), [true, false]);
    assert!(
        contents.unread.iter().any(|what| what.contains("</guide>, whose purpose is guide")),
        "{:?}",
        contents.unread
    );
    let render = mesh.render.as_ref().unwrap();
    assert_eq!(render.parts[0].color.to_array(), [1.0, 0.0, 0.0, 1.0]);
    assert!(mesh.colors.is_none());
    assert_eq!(mesh.positions[1], DVec3::new(0.01, 0.0, 0.0), "centimetres where nothing is said");
}

/// A clip begins with the stage, which may say so, and is still until its first sample; not where the stage begins long before.
#[test]
fn a_clip_begins_with_the_stage() {
    let first = read(ARM_TEXT);
    let start = first.clips[0].start;
    let said = |code: f64| {
        let stage = std::str::from_utf8(ARM_TEXT).unwrap().replacen('(', &format!("(\n    startTimeCode = {code}"), 1);
        read(stage.as_bytes())
    };
    for (seconds, expected) in [(0.5, start - 0.5), (0.0, start), (-0.5, start), (2.0, start)] {
        let made = said(30.0 * (start - seconds));
        let clip = &made.clips[0];
        assert!((clip.start - expected).abs() < 1e-9, "{seconds}: {} {expected}", clip.start);
        assert!((clip.duration - (first.clips[0].start + first.clips[0].duration - expected)).abs() < 1e-9);
        for time in [start, start + 0.5 * first.clips[0].duration] {
            assert!(apart(&skin(&made, time), &skin(&first, time)) < 1e-9, "{seconds} {time}");
        }
    }
}
