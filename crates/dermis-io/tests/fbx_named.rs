//! What an FBX file says beyond bones and weights is read right, or named: texts of the testkit with a line more, by hand.

use dermis_io::{Contents, Flaw, fbx};
use dermis_rig::BoneIndex;
use dermis_rig::glam::{DAffine3, DVec3};
use dermis_testkit::fbx::{BEND, CHANNEL, Fbx, ROWS, SLIDE, changed as with};

fn read(text: &str) -> Contents {
    let alone = |_: &str, _: u64| Err(std::io::ErrorKind::NotFound.into());
    fbx::read(text.as_bytes(), "strip.fbx", &alone).unwrap_or_else(|e| panic!("{e}"))
}

fn flaws(contents: &Contents) -> Vec<(Flaw, usize)> {
    contents.warnings.iter().map(|warning| (warning.flaw, warning.count)).collect()
}

/// Vertices as the skeleton's own linear blending shows them in a clip.
fn shown(contents: &Contents, clip: usize, time: f64) -> Vec<DVec3> {
    let frame = (contents.clips[clip].sample)(time);
    let moved = contents.skeleton.as_ref().unwrap().bone_transforms(&frame.pose);
    let mut rest = contents.mesh.as_ref().unwrap().positions.clone();
    for (morph, weight) in contents.morphs.iter().zip(&frame.morph_weights) {
        rest.iter_mut().zip(&morph.deltas).for_each(|(p, d)| *p += *d * *weight);
    }
    let weights = contents.weights.as_ref().unwrap();
    let blend = |(v, p): (usize, &DVec3)| {
        weights.of(v).iter().map(|&(bone, weight)| moved[bone].transform_point3(*p) * weight).sum()
    };
    rest.iter().enumerate().map(blend).collect()
}

fn assert_near(found: DVec3, expected: DVec3, what: &str) {
    // Angles and keys pass through 32 bits: 4 · 2⁻²⁴ · a few.
    assert!(found.distance(expected) < 2e-6, "{what}: {found} is not {expected}");
}

/// Percentages without a take, as the field that Blender writes or as the property of the format's own library.
#[test]
fn default_percentages_are_kept() {
    let property =
        "FullWeights: *1 { a: 100 }\n Properties70: {\n P: \"DeformPercent\", \"Number\", \"\", \"A\",-25\n }";
    for (channel, weight) in [("DeformPercent: 40\n FullWeights: *1 { a: 100 }", 0.4), (property, -0.25)] {
        let text = with(&[(CHANNEL, channel)]);
        let contents = read(&text);
        assert_eq!(contents.morph_weights, [weight]);
        assert_eq!(flaws(&contents), [(Flaw::NotAtZero, 1)]);
        for (clip, time, expected) in [(0, 0.1, weight), (1, 1.0 / 24.0, SLIDE[1])] {
            let found = (contents.clips[clip].sample)(time).morph_weights[0];
            assert!((found - expected).abs() < 1e-6, "a take without keys of the shape keeps its percentage: {found}");
        }
        let binary = dermis_testkit::fbx_binary::binary(&text);
        let alone = |_: &str, _: u64| Err(std::io::ErrorKind::NotFound.into());
        assert_eq!(fbx::read(&binary, "strip.fbx", &alone).unwrap().morph_weights, [weight]);
    }
    assert_eq!(read(&Fbx::default().text()).morph_weights, [0.0; 0]);
}

/// Full weights as they are written: one per shape, the percentage at which it is whole; or one per vertex, its part.
#[test]
fn full_weights_are_applied() {
    let one = "Indexes: *1 { a: 9 }\n Vertices: *3 { a: 0,0,1 }\n Normals: *3 { a: 0,0,0 }";
    let shape = "Indexes: *2 { a: 8,9 }\n Vertices: *6 { a: 0,0,1,0,0,1 }\n Normals: *6 { a: 0,0,0,0,0,0 }";
    let blender =
        ("FBXHeaderVersion: 1003", "FBXHeaderVersion: 1003\n Creator: \"Blender (stable FBX IO) - 4.4.1 - 5.12.0\"");
    let full = |weights: &str| format!("DeformPercent: 0\n FullWeights: {weights}");
    let cases: [(&[(&str, &str)], &str, [f64; 2], &[Flaw]); 9] = [
        (&[], "*1 { a: 100 }", [1.0, 1.0], &[]),
        (&[], "*2 { a: 25,75 }", [0.25, 0.75], &[]),
        (&[blender], "*2 { a: 25,75 }", [0.25, 0.75], &[]),
        (&[], "*1 { a: 50 }", [2.0, 2.0], &[]),
        (&[], "*1 { a: -100 }", [-1.0, -1.0], &[]),
        (&[], "*1 { a: 0 }", [1.0, 1.0], &[Flaw::Unsupported]),
        (&[], "*3 { a: 100,20,30 }", [1.0, 1.0], &[Flaw::CountMismatch]),
        (&[(shape, one)], "*1 { a: 50 }", [0.0, 2.0], &[]),
        (&[(shape, one), blender], "*1 { a: 50 }", [0.0, 0.5], &[]),
    ];
    for (changes, weights, parts, expected) in cases {
        let full = full(weights);
        let contents = read(&with(&[changes, &[(CHANNEL, &full)]].concat()));
        for (vertex, delta) in contents.morphs[0].deltas.iter().enumerate() {
            let part = if vertex < 8 { 0.0 } else { parts[vertex - 8] };
            assert_near(*delta, DVec3::Z * part, weights);
        }
        assert_eq!(flaws(&contents).iter().map(|flaw| flaw.0).collect::<Vec<_>>(), expected, "{weights}");
    }
}

#[test]
fn blending_that_is_not_linear_is_named() {
    let weights = "Indexes: *1 { a: 4 }\n BlendWeights: *1 { a: 0.5 }";
    let skin = |said: &str| ("\"Skin\" { Version: 101", format!("\"Skin\" {{ Version: 101\n {said}\n"));
    let mode =
        |said: &str| ("\"Cluster\" { Version: 100\n", format!("\"Cluster\" {{ Version: 100\n Mode: \"{said}\"\n"));
    for ((old, new), how) in [
        (skin("SkinningType: \"DualQuaternion\""), Some("by dual quaternions")),
        (skin(&format!("SkinningType: \"Blend\"\n {weights}")), Some("in part by dual quaternions")),
        (skin(weights), Some("with weights for dual quaternions")),
        (skin("SkinningType: \"Rigid\""), Some("rigidly, several bones to a vertex")),
        (skin("SkinningType: \"Linear\""), None),
        (mode("Additive"), Some("by adding")),
        (mode("Total1"), None),
    ] {
        let contents = read(&with(&[(old, &new)]));
        let first = contents.warnings.iter().find(|warning| warning.flaw == Flaw::Blending);
        assert_eq!(
            first.and_then(|warning| warning.first.clone()),
            how.map(|how| format!("\"strip\", {how}")),
            "{new}"
        );
        assert_eq!(contents.warnings.len(), usize::from(how.is_some()), "{new}");
    }
}

/// The surface that programs show of a cage is finer than what is read.
#[test]
fn subdivision_is_named() {
    let geometry = "Geometry: 10, \"Geometry::strip\", \"Mesh\" {\n";
    for (smoothness, levels, expected) in [(3, 2, &["subdivision of \"strip\""][..]), (0, 2, &[]), (2, 0, &[])] {
        let smooth = format!("{geometry} Smoothness: {smoothness}\n PreviewDivisionLevels: {levels}\n");
        assert_eq!(read(&with(&[(geometry, &smooth)])).unread, expected, "{smoothness} {levels}");
    }
}

/// The upper row of vertices without weights.
const UNWEIGHTED: (&str, &str) = ("a: 0.5,0.5,1,1,1,1 }", "a: 0.5,0.5,1,1,0,0 }");

/// Vertices without weights go where the mesh's own node goes: nowhere, elsewhere, or along with a take.
#[test]
fn vertices_without_weights_stand_still_with_their_mesh() {
    let placed = (
        "\"Model::strip\", \"Mesh\" { Version: 232\n",
        "\"Model::strip\", \"Mesh\" { Version: 232\n Properties70: {\n P: \"Lcl Translation\", \"Lcl Translation\", \"\", \"A\",5,0,0\n \
         P: \"Lcl Scaling\", \"Lcl Scaling\", \"\", \"A\",2,2,2\n }\n",
    );
    // The curves of "slide" move the mesh's node instead of the upper bone.
    let sliding = ("C: \"OP\",62,21,", "C: \"OP\",62,20,");
    for (changes, place) in [
        (&[UNWEIGHTED][..], &(|p, _| p) as &dyn Fn(DVec3, f64) -> DVec3),
        (&[UNWEIGHTED, placed], &|p, _| 2.0 * p + DVec3::X * 5.0),
        (&[UNWEIGHTED, sliding], &|p, x| p + DVec3::X * x),
    ] {
        let contents = read(&with(changes));
        assert!(flaws(&contents).contains(&(Flaw::Unweighted, 2)), "{:?}", contents.warnings);
        let skeleton = contents.skeleton.as_ref().unwrap();
        assert_eq!(skeleton.names().iter().filter(|name| *name == "strip").count(), 1);
        for (frame, x) in SLIDE.iter().enumerate() {
            for (clip, x) in [(0, 0.0), (1, *x)] {
                let lift = if clip == 1 { SLIDE[frame] } else { 0.0 };
                let skin = shown(&contents, clip, frame as f64 / 24.0);
                for (side, corner) in [-0.5, 0.5].into_iter().enumerate() {
                    // The blend shape lifts the row along z, in the mesh's own space.
                    let own = DVec3::new(corner, ROWS[4].0, lift);
                    assert_near(skin[8 + side], place(own, x), "unweighted");
                }
            }
        }
    }
    // Without such vertices the node is no bone, and what moves it moves nothing.
    let contents = read(&with(&[sliding]));
    assert_eq!(contents.skeleton.unwrap().len(), 2);
    assert_eq!((contents.warnings, contents.unread), (vec![], vec![]));
}

/// A second object with two triangles, as a child of the object `parent`.
fn object(parent: i32, kind: &str, curve: &str) -> String {
    let geometry = "Geometry: 15, \"Geometry::flag\", \"Mesh\" {\n Vertices: *12 { a: 0,0,0,1,0,0,1,1,0,0,1,0 }\n PolygonVertexIndex: *4 { a: 0,1,2,-4 }\n }\n";
    let model = format!(
        "Model: 25, \"Model::flag\", \"{kind}\" {{ Version: 232\n Properties70: {{\n P: \"Lcl Translation\", \"Lcl Translation\", \"\", \"A\",0,0,0\n }} }}\n"
    );
    let (geometry, link) = if kind == "Mesh" { (geometry, "C: \"OO\",15,25\n") } else { ("", "") };
    with(&[
        ("Deformer: 40,", &format!("{geometry}{model}Deformer: 40,")),
        ("Connections: {\n", &format!("Connections: {{\nC: \"OO\",25,{parent}\n{link}")),
        ("C: \"OP\",62,21,", curve),
    ])
}

/// A concave polygon is split within its outline, whichever corner comes first.
#[test]
fn concave_polygons_are_split_within_their_outline() {
    for (corners, name) in [("0,1,2,-4", "from a tip"), ("1,2,3,-1", "from the notch")] {
        let text = object(0, "Mesh", "C: \"OP\",62,25,")
            .replace("a: 0,0,0,1,0,0,1,1,0,0,1,0 }", "a: 2,-1,0,0.5,0,0,2,1,0,0,0,0 }")
            .replace("*4 { a: 0,1,2,-4 }", &format!("*4 {{ a: {corners} }}"));
        let mesh = read(&text).mesh.unwrap();
        let dart = mesh.triangles.iter().filter(|corners| corners.iter().all(|corner| *corner >= 10));
        let area = |corners: &[u32; 3]| {
            let [a, b, c] = corners.map(|corner| mesh.positions[corner as usize]);
            (b - a).cross(c - a).z / 2.0
        };
        assert_eq!(dart.map(area).collect::<Vec<_>>(), [0.25, 0.25], "{name}");
    }
}

/// Takes of two objects: one that moves by itself is a bone of its own, in the scene or on a bone; what moves and is no mesh
/// is named.
#[test]
fn what_takes_move_is_read_or_named() {
    // On "lower", which "bend" turns about (0, 2, 0); "slide" moves the flag alone.
    for (parent, height) in [(0, 0.0), (22, 2.0)] {
        let contents = read(&object(parent, "Mesh", "C: \"OP\",62,25,"));
        assert_eq!(contents.skeleton.as_ref().unwrap().names().len(), 3);
        assert_eq!(contents.unread, [""; 0], "{parent}");
        for (frame, x) in SLIDE.iter().enumerate() {
            let skin = shown(&contents, 1, frame as f64 / 24.0);
            assert_near(skin[12], DVec3::new(x + 1.0, height + 1.0, 0.0), "the flag slides");
            assert_near(skin[0], DVec3::new(-0.5, 0.0, 0.0), "the strip does not");
            let angle = if parent == 22 { BEND[frame].to_radians() } else { 0.0 };
            let skin = shown(&contents, 0, frame as f64 / 24.0);
            let joint = DVec3::Y * 2.0;
            let turned = dermis_rig::glam::DMat3::from_rotation_z(angle) * (DVec3::new(1.0, height + 1.0, 0.0) - joint);
            assert_near(skin[12], joint + turned, "the flag goes with its bone");
        }
    }
    // Without a take of its own it hangs on the bone above, as ever.
    let contents = read(&object(22, "Mesh", "C: \"OP\",62,21,"));
    assert_eq!(contents.weights.unwrap().value(12, BoneIndex::new(1)), 1.0);
    let named = |text: &str| read(text).unread;
    assert_eq!(named(&object(0, "Null", "C: \"OP\",62,25,")), ["1 animated node outside the skeleton: \"flag\""]);
    let visible = with(&[("C: \"OP\",62,21, \"Lcl Translation\"", "C: \"OP\",62,21, \"Visibility\"")]);
    assert_eq!(named(&visible), ["1 animated property: \"Visibility of upper\""]);
    // A curve that is level changes nothing, whatever it belongs to.
    let level = object(0, "Null", "C: \"OP\",62,25,").replacen("a: 0,0.5,1\n", "a: 1,1,1\n", 1);
    let level = level.replacen("a: 0,0.5,1 }", "a: 1,1,1 }", 1);
    assert_eq!(named(&level), [""; 0]);
}

/// Hidden meshes, also below a hidden node, are read and counted; meshes that nothing shows are named.
#[test]
fn meshes_out_of_sight_are_named() {
    let hide = |kind: &str, name: &str, more: &str| {
        let start = format!("\"Model::{name}\", \"{kind}\" {{ Version: 232\n");
        let hidden =
            format!("{start} Properties70: {{\n P: \"Visibility\", \"Visibility\", \"\", \"A\",0\n{more} }}\n");
        (start, hidden)
    };
    let (start, hidden) = hide("Mesh", "strip", "");
    let contents = read(&with(&[(&start, &hidden)]));
    assert_eq!(flaws(&contents), [(Flaw::Hidden, 1)]);
    assert_eq!(contents.mesh.unwrap().positions.len(), 10);
    for (inherits, count) in [(1, 1), (0, 0)] {
        let own = format!(
            "\"Model::strip\", \"Mesh\" {{ Version: 232\n Properties70: {{\n P: \"Visibility Inheritance\", \"Visibility Inheritance\", \"\", \"\",{inherits}\n }}\n"
        );
        let group = "Model: 26, \"Model::group\", \"Null\" { Version: 232\n Properties70: {\n P: \"Visibility\", \"Visibility\", \"\", \"A\",0\n } }\n";
        let contents = read(&with(&[
            ("\"Model::strip\", \"Mesh\" { Version: 232\n", &own),
            ("Deformer: 40,", &format!("{group}Deformer: 40,")),
            ("C: \"OO\",20,0\n", "C: \"OO\",26,0\nC: \"OO\",20,26\n"),
        ]));
        assert_eq!(flaws(&contents).len(), count, "{:?}", contents.warnings);
    }
    let contents = read(&object(0, "Mesh", "C: \"OP\",62,21,").replacen("C: \"OO\",15,25\n", "", 1));
    assert_eq!(contents.unread, ["mesh \"flag\", which no node shows"]);
    assert_eq!(contents.mesh.unwrap().positions.len(), 10);
}

/// The strip without its skin, as the child of `parent`, with other changes.
fn rigid(parent: i32, changes: &[(&str, &str)]) -> String {
    let hung = format!("C: \"OO\",20,{parent}\n");
    with(&[&[("C: \"OO\",20,0\n", &*hung), ("C: \"OO\",40,10\n", "")], changes].concat())
}

/// In a file without any skin, a mesh that a take moves hangs on a bone: the one above it, or its own node.
#[test]
fn rigid_objects_move_on_bones() {
    // On "lower", which "bend" turns about (0, 2, 0) and "slide" moves along with "upper".
    let contents = read(&rigid(22, &[]));
    assert_eq!(flaws(&contents), []);
    assert_eq!(contents.skeleton.as_ref().unwrap().len(), 2);
    for (frame, angle) in BEND.iter().enumerate() {
        let skin = shown(&contents, 0, frame as f64 / 24.0);
        let (joint, own) = (DVec3::Y * 2.0, DVec3::new(0.5, 4.0, 0.0));
        assert_near(skin[9], joint + dermis_rig::glam::DMat3::from_rotation_z(angle.to_radians()) * own, "on a bone");
    }
    // The node of the strip moves itself; a flag beside it stands still on a bone that nothing moves.
    let moved = ("C: \"OP\",62,21,", "C: \"OP\",62,20,");
    for flags in [0, 1, 2] {
        let flag = |number: usize| {
            let (geometry, model) = (15 + 100 * number, 25 + 100 * number);
            format!(
                "Geometry: {geometry}, \"Geometry::flag\", \"Mesh\" {{\n Vertices: *9 {{ a: 0,0,0,1,0,0,1,1,0 }}\n PolygonVertexIndex: *3 {{ a: 0,1,-3 }}\n }}\n\
                 Model: {model}, \"Model::flag{number}\", \"Mesh\" {{ Version: 232\n }}\n"
            )
        };
        let objects: String = (0..flags).map(flag).collect();
        let links: String =
            (0..flags).map(|at| format!("C: \"OO\",{},0\nC: \"OO\",{0},{}\n", 25 + 100 * at, 15 + 100 * at)).collect();
        let links = links.replace(",25,15", ",15,25").replace(",125,115", ",115,125");
        let text = rigid(
            0,
            &[
                moved,
                ("Deformer: 40,", &format!("{objects}Deformer: 40,")),
                ("Connections: {\n", &format!("Connections: {{\n{links}")),
                // No limbs: without them no bone is above or beside the meshes.
                ("\"LimbNode\" { Version", "\"Null\" { Version"),
                ("\"LimbNode\" { TypeFlags", "\"Null\" { TypeFlags"),
                ("\"LimbNode\" { Version", "\"Null\" { Version"),
                ("\"LimbNode\" { TypeFlags", "\"Null\" { TypeFlags"),
            ],
        );
        let contents = read(&text);
        assert_eq!(flaws(&contents), [], "{flags}");
        let skeleton = contents.skeleton.as_ref().unwrap();
        let names = ["strip", "flag0"];
        assert_eq!(skeleton.names().iter().collect::<Vec<_>>(), names[..2.min(1 + flags)].iter().collect::<Vec<_>>());
        assert!(contents.default_pose.is_none());
        for (frame, x) in SLIDE.iter().enumerate() {
            let skin = shown(&contents, 1, frame as f64 / 24.0);
            assert_near(skin[0], DVec3::new(x - 0.5, 0.0, 0.0), "the strip slides");
            for flag in 0..flags {
                assert_near(skin[10 + 3 * flag + 1], DVec3::X, "the flags stand still");
            }
        }
    }
    // A mesh without a size hangs on nothing: all is as the scene shows it.
    let start = "\"Model::strip\", \"Mesh\" { Version: 232\n";
    let flat = format!("{start} Properties70: {{\n P: \"Lcl Scaling\", \"Lcl Scaling\", \"\", \"A\",1,0,1\n }}\n");
    let contents = read(&rigid(0, &[moved, (start, &flat)]));
    assert!(contents.weights.is_none());
    assert_eq!(contents.mesh.unwrap().positions[9], DVec3::new(0.5, 0.0, 0.0));
    assert_eq!(contents.unread, ["1 animated node outside the skeleton: \"strip\""]);
    // Nothing moves it: it is at rest, and has no weights.
    let (bend, slide) = (("C: \"OP\",52,22,", "C: \"OP\",52,44,"), moved);
    let still = rigid(22, &[bend, (slide.0, "C: \"OP\",62,44,")]);
    let contents = read(&still);
    assert!(contents.weights.is_none());
    assert_eq!(flaws(&contents), [(Flaw::Unskinned, 1)]);
}

/// A file whose bones are not where they were bound shows that pose without a clip.
#[test]
fn the_pose_that_the_scene_shows_is_kept() {
    assert!(read(&Fbx::default().text()).default_pose.is_none());
    let lower = "P: \"Lcl Translation\", \"Lcl Translation\", \"\", \"A\",0,2,0\n";
    let contents = read(&with(&[(lower, &lower.replace("0,2,0", "0,2.5,0"))]));
    assert_eq!(flaws(&contents), [(Flaw::NotAtBind, 1)]);
    let pose = contents.default_pose.unwrap();
    assert_near(pose.bones[BoneIndex::new(1)].translation, DVec3::Y * 2.5, "lower");
    assert_near(pose.bones[BoneIndex::new(0)].translation, DVec3::ZERO, "upper");
}

/// A skin rests in the size that the scene shows, also if it was bound in another: scaled on the root bone, scaled and turned
/// there, and scaled by a node above the skeleton.
#[test]
fn a_skin_shown_in_another_size_rests_as_it_is_shown() {
    const UPPER: &str = "P: \"Lcl Translation\", \"Lcl Translation\", \"\", \"A\",0,0,0\n";
    let lcl =
        |name: &str, x: f64, y: f64, z: f64| format!("P: \"Lcl {name}\", \"Lcl {name}\", \"\", \"A\",{x},{y},{z}\n");
    let scaling = |s: f64| lcl("Scaling", s, s, s);
    let above =
        format!("Model: 23, \"Model::above\", \"Null\" {{ Version: 232\n Properties70: {{\n{} }} }}\n", scaling(3.0));
    let cases = [
        (with(&[(UPPER, &(UPPER.to_owned() + &scaling(0.01)))]), DAffine3::from_scale(DVec3::splat(0.01))),
        (
            with(&[(UPPER, &(UPPER.to_owned() + &scaling(0.01) + &lcl("Rotation", 90.0, 0.0, 0.0)))]),
            DAffine3::from_rotation_x(std::f64::consts::FRAC_PI_2) * DAffine3::from_scale(DVec3::splat(0.01)),
        ),
        (
            with(&[("Model: 21,", &(above + "Model: 21,")), ("C: \"OO\",21,0\n", "C: \"OO\",21,23\nC: \"OO\",23,0\n")]),
            DAffine3::from_scale(DVec3::splat(3.0)),
        ),
    ];
    for (text, expected) in cases {
        let contents = read(&text);
        assert_eq!(flaws(&contents), []);
        assert!(contents.default_pose.is_none(), "the rest is what the scene shows");
        let bound: Vec<DVec3> =
            ROWS.iter().flat_map(|(y, _)| [DVec3::new(-0.5, *y, 0.0), DVec3::new(0.5, *y, 0.0)]).collect();
        let rest = &contents.mesh.as_ref().unwrap().positions;
        for (found, bound) in rest.iter().zip(&bound) {
            assert_near(*found, expected.transform_point3(*bound), "at rest");
        }
        // The joint stands 2 above the origin of the bound skin.
        let joint = DAffine3::from_translation(DVec3::new(0.0, 2.0, 0.0));
        let turned = joint * DAffine3::from_rotation_z(BEND[4].to_radians()) * joint.inverse();
        for ((found, bound), (_, lower)) in
            shown(&contents, 0, 4.0 / 24.0).iter().zip(&bound).zip(ROWS.iter().flat_map(|row| [row, row]))
        {
            let moved = *bound * (1.0 - lower) + turned.transform_point3(*bound) * *lower;
            assert_near(*found, expected.transform_point3(moved), "in the take");
        }
    }
}

/// Every mesh is an object, called as its node, with whether it is shown.
#[test]
fn meshes_are_objects() {
    let text = object(22, "Mesh", "C: \"OP\",62,21,");
    let start = "\"Model::strip\", \"Mesh\" { Version: 232\n";
    let hidden = format!("{start} Properties70: {{\n P: \"Visibility\", \"Visibility\", \"\", \"A\",0\n }}\n");
    assert!(text.contains(start));
    let contents = read(&text.replacen(start, &hidden, 1));
    let told = |o: &dermis_rig::MeshObject| (o.name.clone(), o.vertices, o.visible);
    let objects: Vec<_> = contents.mesh.unwrap().objects.iter().map(told).collect();
    assert_eq!(objects, [("strip".into(), 10, false), ("flag".into(), 4, true)]);
}
