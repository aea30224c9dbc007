//! `dermis invert`: sculpts whose correction at rest is known, every way to name them, and bad ones.

use crate::tube::{BONES, Flesh, Tube};
use crate::{Desk, exists, number};
use dermis_workflow::io::gltf::{GlbScene, write_glb};
use dermis_workflow::io::npz::{BundleShapes, StoredFloat, read, read_shapes, write};
use dermis_workflow::io::to_bytes;
use dermis_workflow::io::{Contents, MorphTarget, Record, Space, gltf, obj};
use dermis_workflow::rig::Mesh;
use dermis_workflow::rig::glam::DVec3;
use serde_json::Value;

/// The bulge that [`Flesh::Bulge`] plants at rest, by its definition.
pub fn planted(tube: &Tube, s: usize) -> Vec<DVec3> {
    let bone = |b: usize| tube.poses[s].bones.as_slice()[b] * tube.skeleton.bind().as_slice()[b].inverse();
    let bend = (bone(0).inverse() * bone(1)).matrix3.y_axis.x;
    let bulge = |p: &DVec3| {
        let out = DVec3::new(0.0, p.y, p.z).normalize_or_zero();
        out * (0.06 * (-((p.x - 0.4) / 0.2).powi(2)).exp() * bend.powi(2))
    };
    tube.mesh.positions.iter().map(bulge).collect()
}

/// p + d of every sculpt, from a bundle written with --rest-space.
pub fn rest_shapes(desk: &Desk, name: &str) -> Vec<(String, Vec<DVec3>)> {
    let contents = read_shapes(&desk.bytes(name), name, BundleShapes::Stored).unwrap();
    contents.records.into_iter().map(|r| (r.label, r.positions.unwrap())).collect()
}

/// The largest distance between what was found at rest and what was planted; single precision keeps 6e-8 of 1.1 m.
pub fn off(desk: &Desk, name: &str, tube: &Tube, poses: &[usize]) -> f64 {
    let found = rest_shapes(desk, name);
    assert_eq!(found.len(), poses.len());
    let mut largest = 0.0_f64;
    for ((_, shape), &s) in found.iter().zip(poses) {
        for ((x, p), d) in shape.iter().zip(&tube.mesh.positions).zip(planted(tube, s)) {
            largest = largest.max(x.distance(*p + d));
        }
    }
    largest
}

fn desk() -> (Desk, Tube) {
    let (desk, tube) = (Desk::new(), Tube::new(9, 6, 0.0, Flesh::Bulge));
    desk.put("a.npz", tube.bundle());
    desk.put("a.glb", tube.glb());
    desk.put("poses.npz", tube.motion());
    (desk, tube)
}

fn warnings(value: &Value) -> Vec<String> {
    value["warnings"].as_array().unwrap().iter().map(|w| w.as_str().unwrap().to_owned()).collect()
}

const ALL: [usize; 6] = [0, 1, 2, 3, 4, 5];
const SINGLE: f64 = 2e-7;

#[test]
fn planted_corrections_are_found_again() {
    let (desk, tube) = desk();
    let found = desk.json("invert a.npz --sculpts a.npz --rest-space -o rest.npz --json");
    assert!(off(&desk, "rest.npz", &tube, &ALL) < SINGLE);
    assert_eq!(found["sculpts"].as_array().unwrap().len(), 6);
    assert_eq!(found["deformer"], "linear blend skinning");
    let bend = &found["sculpts"][3];
    assert_eq!((&bend["label"], &bend["vertices_left"], &bend["calls"]), (&"bend 3".into(), &0.into(), &2.into()));
    assert!(number(bend, "residual_max.diagonals") < 1e-14);
    let largest = planted(&tube, 3).iter().map(|d| d.length()).fold(0.0, f64::max);
    assert!((number(bend, "largest_correction.metres") - largest).abs() < 1e-9);
    let corrected = planted(&tube, 3).iter().filter(|d| d.length() > 1e-6 * tube.diagonal()).count();
    assert_eq!(bend["vertices_corrected"], corrected);
    // Without --rest-space the sculpts stay what they were, and the corrections stand beside.
    desk.good("invert a.npz --sculpts a.npz -o out.npz");
    for ((_, shape), skin) in rest_shapes(&desk, "out.npz").iter().zip(&tube.skins) {
        assert!(shape.iter().zip(skin).all(|(a, b)| a.distance(*b) < SINGLE));
    }
    let contents = read(&desk.bytes("out.npz"), "out.npz").unwrap();
    assert_eq!(contents.unread, ["remainders", "rest_corrections"]);
    let text = desk.good("invert a.npz --sculpts a.npz -o text.npz").out;
    assert!(text.contains("6 sculpts through linear blend skinning") && text.contains("bend 5"), "{text}");
}

/// The closed form, Gauss-Newton, direction sets, and a stack of skinning alone are four ways to one result.
#[test]
fn every_way_finds_the_same() {
    let (desk, tube) = desk();
    desk.put("stack.json", r#"{"stack": [{"type": "lbs"}]}"#);
    for (way, limit) in [
        ("--algorithm gauss-newton", SINGLE),
        // 1e-11 of the residual by the tolerance; weights near a bend let a residual stand for more at rest.
        ("--algorithm direction-set", 1e-6),
        ("--stack stack.json", SINGLE),
    ] {
        let found = desk.json(&format!("invert a.npz --sculpts a.npz {way} --rest-space -o x.npz --force --json"));
        assert!(off(&desk, "x.npz", &tube, &ALL) < limit, "{way}: {}", off(&desk, "x.npz", &tube, &ALL));
        assert!(number(&found, "calls") > 12.0, "{way}");
    }
}

/// p + d, deformed again, is the sculpt: through dual quaternions and rigid binding, whose skins are other than the
/// sculpts', by what another verb of the program makes of the corrected rest shape.
#[test]
fn other_skinnings_meet_the_sculpts() {
    let (desk, tube) = desk();
    for base in ["dqs", "rigid"] {
        let found =
            desk.json(&format!("invert a.npz --sculpts a.npz --base {base} --rest-space -o x.npz --force --json"));
        assert!(found["sculpts"].as_array().unwrap().iter().all(|s| number(s, "residual_max.diagonals") < 1e-14));
        let shapes = rest_shapes(&desk, "x.npz");
        for s in ALL {
            // The rig with the corrected shape as its rest mesh, no correction: own skinning in this pose.
            let mesh = Mesh { positions: shapes[s].1.clone(), ..tube.mesh.clone() };
            let record = Record {
                label: "s".into(),
                time: None,
                pose: Some(tube.poses[s].clone()),
                positions: Some(tube.skins[s].clone()),
                importance: 1.0,
                local: None,
            };
            let rig = Contents { mesh: Some(mesh), records: vec![record], ..tube.contents() };
            desk.put("moved.npz", to_bytes(|out| write(&rig, StoredFloat::Double, out)).unwrap());
            if base == "dqs" {
                desk.good("fit moved.npz --examples moved.npz --method dqs --folds 0 -o m.dermis --force");
                let scored = desk.json("eval m.dermis --examples moved.npz --json");
                // Single precision, at rest and as the model runs.
                assert!(number(&scored, "error.max") < 5e-7, "{s}: {scored}");
            } else {
                let dominant = |v: usize| tube.weights.dominant(v).unwrap().get();
                for (v, (p, x)) in shapes[s].1.iter().zip(&tube.skins[s]).enumerate() {
                    let (bone, bind) = (tube.poses[s].bones.as_slice(), tube.skeleton.bind().as_slice());
                    let b = dominant(v);
                    assert!((bone[b] * bind[b].inverse()).transform_point3(*p).distance(*x) < 5e-7);
                }
            }
        }
    }
}

/// Skinning a target at weight one in the sculpt's pose gives the sculpt.
#[test]
fn a_glb_shows_every_sculpt_by_its_target() {
    let (desk, tube) = desk();
    let found = desk.json("invert a.npz --sculpts a.npz#bend* -o out.glb --json");
    assert!(number(&found, "shown.glb.max") < 1e-14);
    let contents =
        gltf::read(&desk.bytes("out.glb"), "out.glb", &|_, _| Err(std::io::ErrorKind::NotFound.into())).unwrap();
    let names: Vec<&str> = contents.morphs.iter().map(|m| m.name.as_str()).collect();
    assert_eq!(names, ["bend 1", "bend 2", "bend 3", "bend 4", "bend 5"]);
    let (mesh, weights) = (contents.mesh.unwrap(), contents.weights.unwrap());
    let skeleton = contents.skeleton.unwrap();
    for (at, morph) in contents.morphs.iter().enumerate() {
        let frame = (contents.clips[0].sample)(at as f64);
        assert_eq!(frame.morph_weights, (0..5).map(|i| f64::from(u8::from(i == at))).collect::<Vec<_>>());
        let m = skeleton.bone_transforms(&frame.pose);
        for v in 0..mesh.positions.len() {
            let p = mesh.positions[v] + morph.deltas[v];
            let shown: DVec3 = weights.of(v).iter().map(|&(b, w)| m[b].transform_point3(p) * w).sum();
            let nearest = tube.skins[at + 1].iter().map(|x| x.distance(shown)).fold(f64::INFINITY, f64::min);
            assert!(nearest < 1e-6, "{at} {v}: {nearest}");
        }
    }
    // The same file is examples: a fit that interpolates them meets them.
    desk.good("fit a.npz --examples out.glb --method psd -s 0 -o m.dermis");
}

/// Sculpts without poses: a folder of files by their names, single files by order, targets by their names.
#[test]
fn shapes_find_their_poses() {
    let (desk, tube) = desk();
    for (s, skin) in tube.skins.iter().enumerate() {
        let bytes = to_bytes(|out| obj::write(&tube.mesh, skin, &Space::default(), out)).unwrap();
        let label = if s == 0 { "rest".into() } else { format!("bend {s}") };
        desk.put(&format!("named/{label}.obj"), &bytes);
        desk.put(&format!("s{s}.obj"), &bytes);
    }
    // By name: the folder is in another order than the poses.
    let found = desk.json("invert a.npz --sculpts named --poses poses.npz --rest-space -o x.npz --json");
    assert_eq!(warnings(&found), [""; 0]);
    let order: Vec<String> = rest_shapes(&desk, "x.npz").into_iter().map(|(label, _)| label).collect();
    assert_eq!(order, ["bend 1", "bend 2", "bend 3", "bend 4", "bend 5", "rest"]);
    // OBJ files have six digits after the point.
    assert!(
        off(&desk, "x.npz", &tube, &[1, 2, 3, 4, 5, 0]) < 2e-6,
        "{}",
        off(&desk, "x.npz", &tube, &[1, 2, 3, 4, 5, 0])
    );
    // By order, and said so; poses from a clip.
    let six = "s0.obj s1.obj s2.obj s3.obj s4.obj s5.obj";
    for poses in ["--poses poses.npz", "--poses a.glb --clip bends"] {
        let run = desk.good(&format!("invert a.npz --sculpts {six} {poses} --rest-space -o x.npz --force"));
        assert!(run.err.contains("6 matched by order"), "{}", run.err);
        assert!(off(&desk, "x.npz", &tube, &ALL) < 2e-6, "{poses}");
    }
    // Morph targets, base and displacement added, as posed shapes.
    let target = |s: usize| MorphTarget {
        name: format!("bend {s}"),
        deltas: tube.skins[s].iter().zip(&tube.mesh.positions).map(|(x, p)| *x - *p).collect(),
    };
    let morphs = [target(4), target(2)];
    let shapes = to_bytes(|out| {
        write_glb(&GlbScene { name: "shapes", mesh: Some(&tube.mesh), morphs: &morphs, ..GlbScene::default() }, out)
    });
    desk.put("shapes.glb", shapes.unwrap());
    let found = desk.json("invert a.npz --sculpts shapes.glb --poses poses.npz --rest-space -o x.npz --force --json");
    assert_eq!(warnings(&found), ["4 poses without a sculpt: \"rest\", \"bend 1\", \"bend 3\", \"bend 5\""]);
    assert!(off(&desk, "x.npz", &tube, &[4, 2]) < 1e-6);
    // A GLB with the shape as its mesh, called as the file.
    let mesh = Mesh { positions: tube.skins[3].clone(), ..tube.mesh.clone() };
    desk.put(
        "bend3.glb",
        to_bytes(|out| write_glb(&GlbScene { name: "b", mesh: Some(&mesh), ..GlbScene::default() }, out)).unwrap(),
    );
    desk.good("invert a.npz --sculpts bend3.glb --poses poses.npz#bend*3 --rest-space -o x.npz --force");
    assert!(off(&desk, "x.npz", &tube, &[3]) < 1e-6);
    // Corrections as OBJ files, called as the sculpts.
    desk.good("invert a.npz --sculpts a.npz#bend* -o rest");
    assert_eq!(desk.names("rest"), ["bend_1.obj", "bend_2.obj", "bend_3.obj", "bend_4.obj", "bend_5.obj"]);
    assert!(exists(&desk.path("rest/bend_1.obj")));
}

/// A lattice before the skinning and one after: what is found, deformed again by hand, is the sculpt.
#[test]
fn a_stack_with_lattices_is_inverted() {
    let (desk, tube) = desk();
    // One control point of a 2 x 2 x 2 box moved: its displacement times the product of the three coordinates.
    let stack = r#"{"stack": [{"type": "lattice", "origin": [-1, -1, -1], "axes": [[3, 0, 0], [0, 2, 0], [0, 0, 2]],
        "counts": [2, 2, 2], "displacements": [[0,0,0],[0,0,0],[0,0,0],[0,0,0],[0,0,0],[0,0,0],[0,0,0],[0.1,0.3,-0.2]]},
        {"type": "lbs"}]}"#;
    desk.put("stack.json", stack);
    let found = desk.json("invert a.npz --sculpts a.npz --stack stack.json --rest-space -o x.npz --json");
    assert_eq!(found["deformer"], "the stack lattice → lbs");
    for (s, (_, shape)) in rest_shapes(&desk, "x.npz").iter().enumerate() {
        let (bones, bind) = (tube.poses[s].bones.as_slice(), tube.skeleton.bind().as_slice());
        for (v, x) in shape.iter().enumerate() {
            let at = (*x + DVec3::ONE) / DVec3::new(3.0, 2.0, 2.0);
            let p = *x + DVec3::new(0.1, 0.3, -0.2) * (at.x * at.y * at.z);
            let posed: DVec3 = tube
                .weights
                .of(v)
                .iter()
                .map(|&(b, w)| (bones[b.get()] * bind[b.get()].inverse()).transform_point3(p) * w)
                .sum();
            assert!(posed.distance(tube.skins[s][v]) < 5e-7, "{s} {v}");
        }
    }
}

/// A joint folded back on itself flattens the skin between two bones: the correction is damped, what is left is told.
#[test]
fn a_collapsed_joint_is_reported() {
    let (desk, tube) = (Desk::new(), Tube::new(13, 6, 0.0, Flesh::Bulge));
    desk.put("a.npz", tube.bundle());
    let ring =
        tube.weights.rows().filter(|row| row.iter().any(|(b, w)| b.get() == 0 && (w - 0.5).abs() < 0.02)).count();
    desk.put("twist.npz", tube.twist());
    let found = desk.json("invert a.npz --sculpts twist.npz -o x.npz --json");
    let one = &found["sculpts"][0];
    assert_eq!((ring, number(one, "vertices_nearly_singular")), (8, 8.0), "{one}");
    // A = diag(1, 0, 0) makes nothing of the radius, and damping asks for nothing there.
    assert_eq!(number(one, "vertices_left"), 8.0, "{one}");
    assert!((number(one, "residual_max.metres") - 0.12).abs() < 1e-9, "{one}");
    assert!(number(one, "largest_correction.metres") < 0.5, "{one}");
    let said = warnings(&found);
    assert!(said.iter().any(|w| w.contains("nearly singular at 8 vertices in 1 of 1 sculpts")), "{said:?}");
    assert!(said.iter().any(|w| w.contains("8 vertices") && w.contains("up to 120 mm is left")), "{said:?}");
}

/// What cannot be a sculpt is refused by name, and nothing is written.
#[test]
fn bad_sculpts_are_named() {
    let (desk, tube) = desk();
    let bytes = |mesh: &Mesh, skin: &[DVec3]| to_bytes(|out| obj::write(mesh, skin, &Space::default(), out)).unwrap();
    desk.put("bend.obj", bytes(&tube.mesh, &tube.skins[3]));
    let other = Tube::new(10, 6, 0.0, Flesh::Bulge);
    desk.put("longer.obj", bytes(&other.mesh, &other.skins[3]));
    let text = String::from_utf8(bytes(&tube.mesh, &tube.skins[3])).unwrap();
    let first = text.lines().find(|l| l.starts_with("v ")).unwrap();
    desk.put("nan.obj", text.replacen(first, "v nan 0 0", 1));
    // The same shape with its vertices in another order: with faces, and without.
    let order: Vec<usize> = (0..tube.mesh.positions.len()).map(|v| v * 29 % 74).collect();
    let mut place = vec![0; order.len()];
    order.iter().enumerate().for_each(|(new, &old)| place[old] = new as u32);
    let shuffled: Vec<DVec3> = order.iter().map(|&old| tube.skins[3][old]).collect();
    let triangles = tube.mesh.triangles.iter().map(|t| t.map(|v| place[v as usize])).collect();
    desk.put("shuffled.obj", bytes(&Mesh { positions: shuffled.clone(), triangles, ..Mesh::default() }, &shuffled));
    desk.put("cloud.obj", bytes(&Mesh { positions: shuffled.clone(), ..Mesh::default() }, &shuffled));
    let record = |label: &str, s: usize| Record {
        label: label.into(),
        time: None,
        pose: None,
        positions: Some(tube.skins[s].clone()),
        importance: 1.0,
        local: None,
    };
    let mut none = record("hole", 2);
    none.positions.as_mut().unwrap()[5].x = f64::NAN;
    let lone = |records| Contents { skeleton: None, weights: None, records, ..tube.contents() };
    let names: Vec<Record> = ["knee", "hip", "toe"].iter().map(|name| record(name, 1)).collect();
    desk.put("unknown.npz", to_bytes(|out| write(&lone(names), StoredFloat::Double, out)).unwrap());
    desk.put(
        "half.npz",
        to_bytes(|out| write(&lone(vec![record("bend 1", 1), record("toe", 1)]), StoredFloat::Double, out)).unwrap(),
    );
    for (line, says) in [
        ("--sculpts longer.obj --poses poses.npz", &["\"longer.obj\"", "82", "74", "seams"][..]),
        ("--sculpts nan.obj --poses poses.npz", &["\"nan.obj\""]),
        ("--sculpts shuffled.obj --poses poses.npz#bend*3", &["\"shuffled.obj\"", "another order", "edges"]),
        ("--sculpts cloud.obj --poses poses.npz#bend*3", &["\"cloud.obj\"", "another order", "far apart"]),
        ("--sculpts bend.obj", &["1 sculpt without a pose: \"bend\"", "--poses"]),
        ("--sculpts a.npz bend.obj", &["1 sculpt without a pose: \"bend\""]),
        (
            "--sculpts unknown.npz --poses poses.npz",
            &["no pose here for 3 sculpts", "\"knee\"", "6 poses", "\"bend 1\""],
        ),
        ("--sculpts half.npz --poses poses.npz", &["1 sculpt", "\"toe\"", "name"]),
        ("--sculpts poses.npz --poses poses.npz", &["\"poses.npz\""]),
        ("--sculpts a.npz --base lbs --stack x.json", &[][..]),
    ] {
        if line.contains("--stack") {
            assert_eq!(desk.run(&format!("invert a.npz {line} -o x.npz")).code, 2);
        } else {
            desk.bad(&format!("invert a.npz {line} -o x.npz"), says);
        }
        assert!(!exists(&desk.path("x.npz")), "{line}");
    }
    desk.bad("invert a.npz --sculpts a.npz -o x.fbx", &["\"x.fbx\"", ".npz"]);
    desk.bad("invert a.npz --sculpts a.npz --rest-space -o x.glb", &["--rest-space"]);
    desk.put("bare.npz", tube.bundle_without_weights());
    desk.bad("invert bare.npz --sculpts a.npz -o x.npz", &["\"bare\"", "no skinning weights", "--stack"]);
    assert_eq!(BONES.len(), 3);
}

/// NaN in a bundle: the sculpt is left out by name; two sculpts of one pose that differ: both are kept, and it is said.
#[test]
fn doubtful_sculpts_are_warned_about() {
    let (desk, tube) = desk();
    let mut contents = tube.contents();
    contents.records[2].label = "again".into();
    contents.records[2].pose = contents.records[1].pose.clone();
    contents.records[2].positions = contents.records[1].positions.clone();
    contents.records[2].positions.as_mut().unwrap()[40].y += 0.02;
    desk.put("twice.npz", to_bytes(|out| write(&contents, StoredFloat::Double, out)).unwrap());
    let found = desk.json("invert a.npz --sculpts twice.npz --rest-space -o x.npz --json");
    let said = warnings(&found);
    assert_eq!(said.len(), 1, "{said:?}");
    for word in ["\"bend 1\" and \"again\"", "2.000e-2 m", "vertex 40", "both are kept"] {
        assert!(said[0].contains(word), "{said:?}");
    }
    assert_eq!(rest_shapes(&desk, "x.npz").len(), 6);
    // NaN cannot be written by us: it is put into the bytes of a point in a file of the sequence.
    let text =
        String::from_utf8(to_bytes(|out| obj::write(&tube.mesh, &tube.skins[1], &Space::default(), out)).unwrap())
            .unwrap();
    desk.put("seq/bend 1.obj", &text);
    let first = text.lines().find(|l| l.starts_with("v ")).unwrap();
    desk.put("seq/bend 2.obj", text.replacen(first, "v nan 0 0", 1));
    let found = desk.json("invert a.npz --sculpts seq --poses poses.npz -o y.npz --json");
    assert!(warnings(&found).iter().any(|w| w.contains("1 sculpt not finite") && w.contains("bend 2")), "{found}");
    assert_eq!(found["sculpts"].as_array().unwrap().len(), 1);
    // A sculpt in the place of another: far from what the rig makes of the pose.
    let bytes = to_bytes(|out| obj::write(&tube.mesh, &tube.skins[1], &Space::default(), out)).unwrap();
    desk.put("bend.obj", bytes);
    let found = desk.json("invert a.npz --sculpts bend.obj --poses poses.npz#bend*4 -o z.npz --json");
    assert!(warnings(&found).iter().any(|w| w.contains("is it the sculpt of this pose?")), "{found}");
}

#[test]
fn bad_stacks_are_named() {
    let (desk, _) = desk();
    let lattice = |axes: &str, counts: &str, moved: &str, more: &str| {
        format!(
            r#"{{"type": "lattice", "origin": [0,0,0], "axes": {axes}, "counts": {counts}, "displacements": {moved}{more}}}"#
        )
    };
    let (unit, eight) =
        ("[[1,0,0],[0,1,0],[0,0,1]]", "[[0,0,0],[0,0,0],[0,0,0],[0,0,0],[0,0,0],[0,0,0],[0,0,0],[0,0,0]]");
    let wire = |points: &str, radius: &str| {
        format!(
            r#"{{"type": "wires", "wires": [{{"reference": {points}, "current": [[0,0,0],[1,0,0],[2,0,0]], "radius": {radius}}}]}}"#
        )
    };
    let straight = "[[0,0,0],[1,0,0],[2,0,0]]";
    for (one, says) in [
        (lattice("[[1,0,0],[0,1,0],[0,0,0]]", "[2,2,2]", eight, ""), &["deformer 2", "lattice", "volume"][..]),
        (lattice("[[1,0,0],[0,1,0],[1,1,0]]", "[2,2,2]", eight, ""), &["lattice", "volume"]),
        (lattice(unit, "[2,2,3]", eight, ""), &["lattice", "8 displacements", "12"]),
        (lattice(unit, "[1,2,4]", eight, ""), &["lattice", "1 control points along axis 0"]),
        (lattice(unit, "[2,2,2]", eight, r#", "parent": "tail""#), &["lattice", "no bone \"tail\""]),
        (lattice(unit, "[2,2,2]", eight, r#", "outside": "gone""#), &["gone"]),
        (
            wire("[[0,0,0],[0,0,0],[2,0,0]]", "1"),
            &["deformer 2", "wire 1", "points 0 and 1 of the reference curve coincide"],
        ),
        (wire("[[0,0,0],[2,0,0]]", "1"), &["wire 1", "2 points", "3"]),
        (wire(straight, "0"), &["wire 1", "radius"]),
        (wire(straight, "-1"), &["wire 1", "radius"]),
        (r#"{"type": "wrinkles"}"#.into(), &["wrinkles"]),
        (r#"{"type": "lbs", "weights": 3}"#.into(), &["stack.json"]),
        ("3".into(), &["stack.json"]),
    ] {
        desk.put("stack.json", format!(r#"{{"stack": [{{"type": "lbs"}}, {one}]}}"#));
        desk.bad("invert a.npz --sculpts a.npz --stack stack.json -o x.npz", says);
        assert!(!exists(&desk.path("x.npz")), "{one}");
    }
    for text in ["", "{}", "[]", r#"{"stack": []}"#, r#"{"stack": 1e999}"#] {
        desk.put("stack.json", text);
        desk.bad("invert a.npz --sculpts a.npz --stack stack.json -o x.npz", &["\"stack.json\"", "docs/invert.md"]);
    }
    desk.bad("invert a.npz --sculpts a.npz --stack none.json -o x.npz", &["\"none.json\""]);
}

/// A looser precision takes fewer calls and leaves more; too few calls leave the search unfinished, and it is said so. Neither
/// option acts on a closed form.
#[test]
fn precision_and_calls_of_a_search_can_be_set() {
    let (desk, _) = desk();
    let run = |options: &str| {
        desk.json(&format!("invert a.npz --sculpts a.npz --algorithm direction-set {options} -o x.npz --force --json"))
    };
    let of = |found: &Value, key: &str| {
        found["sculpts"].as_array().unwrap().iter().map(|s| number(s, key)).fold(0.0, f64::max)
    };
    let (usual, loose, few) = (run(""), run("--ftol 1e-8"), run("--max-calls 30"));
    assert!(of(&loose, "calls") < of(&usual, "calls"), "{loose}");
    // |w|² ≤ ftol L²: within 1e-4 of the diagonal.
    assert!(of(&loose, "residual_max.diagonals") <= 1e-4 && of(&usual, "residual_max.diagonals") <= 1e-11);
    assert!(of(&loose, "residual_max.diagonals") > of(&usual, "residual_max.diagonals"));
    assert!(of(&few, "calls") <= 30.0 && few["sculpts"].to_string().contains("\"stopped\":\"calls\""), "{few}");
    for (line, says) in [
        ("--ftol 1e-8", "--ftol"),
        ("--max-calls 30", "--max-calls"),
        ("--algorithm direction-set --ftol 0", "--ftol"),
        ("--algorithm direction-set --max-calls 7", "--max-calls"),
    ] {
        desk.bad(&format!("invert a.npz --sculpts a.npz {line} -o y.npz"), &[says]);
    }
}
