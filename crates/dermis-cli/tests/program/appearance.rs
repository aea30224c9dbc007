//! Materials, textures, cameras and normals on their way through the program.

use crate::Desk;
use dermis_testkit::fbx::Fbx;
use dermis_testkit::textured::{BESIDE, base64, glb, images, png};
use dermis_testkit::vrm::avatar;
use dermis_workflow::io::{Contents, Record, gltf, npz, to_bytes};
use dermis_workflow::rig::glam::{DAffine3, DVec3};
use dermis_workflow::rig::{BoneIndex, Frame, WorldPose};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// A character with textures, in a folder with the image that stands beside it.
fn desk() -> Desk {
    let desk = Desk::new();
    desk.put("hero.glb", glb());
    desk.put(BESIDE, &images()[2]);
    desk
}

/// The JSON of a GLB.
fn header(desk: &Desk, name: &str) -> Value {
    let bytes = desk.bytes(name);
    let size = u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize;
    serde_json::from_slice(&bytes[20..20 + size]).unwrap()
}

/// The bytes of the images that a GLB holds.
fn pictures(desk: &Desk, name: &str) -> Vec<Vec<u8>> {
    let contents = gltf::read(&desk.bytes(name), name, &|_, _| unreachable!()).unwrap();
    let look = contents.mesh.unwrap().render.unwrap().appearance.unwrap();
    look.images.iter().map(|image| image.bytes.clone()).collect()
}

fn texts(value: &Value) -> Vec<&str> {
    value.as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect()
}

/// Everything that came with the file is in what is converted, fitted and exported.
fn carried(validate: fn(&Desk, &[&str])) {
    let desk = desk();
    let told = desk.json("convert hero.glb -o a.glb --json");
    for held in ["2 materials", "3 textures", "3 images", "1 cameras", "1 lights", "5 further nodes"] {
        assert!(texts(&told["holds"]).contains(&held), "{held}: {told}");
    }
    assert_eq!(texts(&told["left_out"]), ["ACME_physics, which is not read"]);
    desk.good("convert hero.glb -o poses.npz");
    desk.good("fit hero.glb --examples poses.npz --method own-weights --folds 0 -o m.dermis");
    desk.good("export shapes m.dermis --motion poses.npz -o b.glb");
    desk.good("export bones m.dermis --motion poses.npz -o c.glb");
    let came = header(&desk, "hero.glb");
    for name in ["a.glb", "b.glb", "c.glb"] {
        let went = header(&desk, name);
        for key in ["materials", "textures", "samplers", "cameras", "extras"] {
            assert_eq!(went[key], came[key], "{key} of {name}");
        }
        assert_eq!(pictures(&desk, name), images(), "{name}");
        let attributes = &went["meshes"][0]["primitives"][0]["attributes"];
        assert!(attributes.get("TEXCOORD_1").is_some() && attributes.get("COLOR_0").is_some(), "{name}");
    }
    validate(&desk, &["a.glb", "b.glb", "c.glb"]);
    // What other formats cannot hold is said.
    let told = desk.json("convert hero.glb -o b.pc2 --json");
    assert!(texts(&told["left_out"]).contains(&"3 images"), "{told}");
    // Without the image beside it the file is read, and says so.
    std::fs::remove_file(desk.path(BESIDE)).unwrap();
    let told = desk.json("inspect hero.glb --json").to_string();
    assert!(told.contains("images were left out"), "{told}");
}

#[test]
fn a_character_keeps_what_it_came_with() {
    carried(|_, _| {});
}

/// The report shows the pictures that materials have as base colours, and no others.
#[test]
fn the_report_shows_base_colours() {
    let desk = desk();
    desk.good("convert hero.glb -o poses.npz");
    desk.good("fit hero.glb --examples poses.npz --method own-weights --folds 0 --report r.html");
    let page = String::from_utf8(desk.bytes("r.html")).unwrap();
    let data = page.split_once("id=\"page-data\">").unwrap().1.split_once("</script>").unwrap().0;
    let view = &serde_json::from_str::<Value>(data).unwrap()["view"];
    let shown = view["surface"]["images"].as_array().unwrap_or_else(|| panic!("{view}"));
    // The skin's texture is moved by an extension, so only the cloth is shown.
    assert_eq!(shown.len(), 1);
    assert_eq!(shown[0]["data"], base64(&images()[2]));
    let pictures: Vec<i64> =
        view["surface"]["parts"].as_array().unwrap().iter().map(|p| p[2].as_i64().unwrap()).collect();
    assert_eq!(pictures, [-1, 0]);
    assert!(shown.iter().all(|image| image["kind"] == "image/png"));
}

/// Textures of an FBX file arrive in the GLB, those within it and those beside it.
#[test]
fn textures_of_an_fbx_arrive_in_the_glb() {
    let desk = Desk::new();
    let (skin, bumps) = (png([9, 8, 7]), png([127, 127, 255]));
    desk.put("hero.fbx", Fbx::default().textured(&bumps));
    desk.put("hero.fbm/skin.png", &skin);
    let told = desk.json("convert hero.fbx -o hero.glb --json");
    assert!(texts(&told["holds"]).contains(&"2 images"), "{told}");
    assert_eq!(pictures(&desk, "hero.glb"), [skin, bumps]);
    // A point cache follows the vertices of the file, not those drawn.
    desk.good("convert hero.fbx#bend -o bend.pc2");
    assert_eq!(desk.bytes("bend.pc2").len(), 32 + 5 * 10 * 12);
}

#[test]
fn normals_are_written_where_they_are_asked_for_and_can_be() {
    let desk = desk();
    let targets = |name: &str| header(&desk, name)["meshes"][0]["primitives"][0]["targets"][0].clone();
    desk.good("convert hero.glb -o a.glb");
    desk.good("convert hero.glb --no-normals -o b.glb");
    assert!(targets("a.glb").get("NORMAL").is_some());
    assert!(targets("b.glb").get("NORMAL").is_none());
    desk.good("convert hero.glb -o poses.npz");
    desk.good("fit hero.glb --examples poses.npz --method own-weights --folds 0 -o m.dermis");
    desk.good("pose m.dermis --motion poses.npz --normals -o frames");
    let frame = String::from_utf8(desk.bytes("frames/frame_0000.obj")).unwrap();
    let normals: Vec<&str> = frame.lines().filter(|line| line.starts_with("vn ")).collect();
    assert_eq!(normals, ["vn 0 0 1"; 10], "the first frame is flat");
    let moved = String::from_utf8(desk.bytes("frames/frame_0001.obj")).unwrap();
    assert!(moved.lines().any(|line| line.starts_with("vn ") && !line.ends_with(" 0 1")), "{moved}");
    for (line, says) in [
        ("pose m.dermis --motion poses.npz --normals -o x.pc2", &["--normals", "x.pc2"][..]),
        ("pose m.dermis --motion poses.npz --normals -o x.npz", &["--normals", "x.npz"]),
        ("convert hero.glb --no-normals -o x.npz", &["--no-normals", "x.npz"]),
        ("convert poses.npz --no-normals -o x.glb", &["--no-normals", "x.glb"]),
        ("export shapes m.dermis --no-normals -o x.glb", &["--no-normals", "morph targets"]),
        (
            "export shapes m.dermis --motion poses.npz --shapes 0 --no-normals -o x.glb",
            &["--no-normals", "morph targets"],
        ),
        ("export shapes m.dermis --shapes 20 -o x.glb", &["--shapes", "--motion"]),
        ("export bones m.dermis --motion poses.npz --no-normals -o x.glb", &["--no-normals"]),
    ] {
        desk.bad(line, says);
        assert!(!desk.names(".").iter().any(|name| name.starts_with("x.")), "{line}");
    }
}

/// The files above in the Khronos validator. `cargo xtask test` runs these where it is installed.
mod with_gltf_validator {
    use super::*;

    #[test]
    fn what_is_carried_is_valid() {
        carried(|desk, names| {
            let tool = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/validate_gltf.mjs");
            // A normal map asks for tangents, which programs make as the specification says.
            let tangents = ["--ignore", "MESH_PRIMITIVE_GENERATED_TANGENT_SPACE"];
            let files = names.iter().map(|name| desk.path(name));
            let run = Command::new("node").arg(tool).args(tangents).args(files).output().unwrap();
            let said = [run.stdout, run.stderr].concat();
            assert!(run.status.success(), "{}", String::from_utf8_lossy(&said));
        });
    }
}

/// The shape of every morph target of a GLB by its name, and its weight by default.
fn targets(desk: &Desk, name: &str) -> BTreeMap<String, (Vec<DVec3>, f64)> {
    let contents = gltf::read(&desk.bytes(name), name, &|_, _| Err(std::io::ErrorKind::NotFound.into())).unwrap();
    let weight = |at: usize| contents.morph_weights.get(at).copied().unwrap_or(0.0);
    contents.morphs.iter().enumerate().map(|(at, m)| (m.name.clone(), (m.deltas.clone(), weight(at)))).collect()
}

/// An avatar that is learnt keeps its expressions, and what names them: after a fit no model knows them, and every export has them.
#[test]
fn an_avatar_keeps_its_expressions() {
    for version in [0, 1] {
        let desk = Desk::new();
        desk.put("hero.vrm", avatar(version));
        desk.put("poses.npz", nods(&desk.bytes("hero.vrm")));
        desk.good("fit hero.vrm --examples poses.npz --method joint --folds 0 -o m.dermis");
        let came = targets(&desk, "hero.vrm");
        assert_eq!(came.keys().collect::<Vec<_>>(), ["blink", "breath", "smile"]);
        let files = [
            ("export shapes m.dermis --motion poses.npz -o shapes.vrm", "shapes.vrm"),
            ("export drivers m.dermis -o drivers.vrm --table drivers.json", "drivers.vrm"),
            ("export bones m.dermis --motion poses.npz -o bones.vrm", "bones.vrm"),
        ];
        for (command, name) in files {
            let told = desk.good(command).out;
            assert!(!told.contains("no longer has"), "{command}: {told}");
            let went = targets(&desk, name);
            for (target, shape) in &came {
                assert_eq!(went[target], *shape, "{target} of {name}");
            }
            assert_eq!(binds(&header(&desk, name)), binds(&header(&desk, "hero.vrm")), "{name}");
        }
    }
}

/// An avatar that nods, as a bundle; its skin follows half of the way.
fn nods(avatar: &[u8]) -> Vec<u8> {
    let contents = gltf::read(avatar, "hero.vrm", &|_, _| Err(std::io::ErrorKind::NotFound.into())).unwrap();
    let (mesh, skeleton) = (contents.mesh.as_ref().unwrap(), contents.skeleton.as_ref().unwrap());
    let head = skeleton.find("head").unwrap();
    let at = skeleton.bind()[head].translation;
    let turn = |angle: f64| {
        DAffine3::from_translation(at) * DAffine3::from_rotation_x(angle) * DAffine3::from_translation(-at)
    };
    let below = |bone: BoneIndex| std::iter::successors(Some(bone), |&at| skeleton.parents()[at]).any(|at| at == head);
    let record = |step: usize| {
        let angle = 0.2 * step as f64;
        let posed = |bone: BoneIndex| {
            let bind = skeleton.bind()[bone];
            if below(bone) { turn(angle) * bind } else { bind }
        };
        let pose = WorldPose::new(skeleton.bones().map(posed).collect());
        Record {
            positions: Some(mesh.positions.iter().map(|p| turn(0.5 * angle).transform_point3(*p)).collect()),
            ..Record::from(Frame { label: format!("nod {step}"), time: None, pose })
        }
    };
    let bundle = Contents { records: (0..6).map(record).collect(), clips: vec![], morphs: vec![], ..contents };
    to_bytes(|out| npz::write(&bundle, npz::StoredFloat::Double, out)).unwrap()
}

/// What the expressions of an avatar name: the shapes by their names.
fn binds(file: &Value) -> Vec<(String, String)> {
    let target = |mesh: &Value, index: &Value| {
        let names = &file["meshes"][mesh.as_u64().unwrap() as usize]["extras"]["targetNames"];
        names[index.as_u64().unwrap() as usize].as_str().unwrap().to_owned()
    };
    let own = &file["extensions"];
    let mut found = Vec::new();
    for group in own["VRM"]["blendShapeMaster"]["blendShapeGroups"].as_array().into_iter().flatten() {
        for bind in group["binds"].as_array().unwrap() {
            found.push((group["name"].to_string(), target(&bind["mesh"], &bind["index"])));
        }
    }
    for kind in ["preset", "custom"] {
        for (name, expression) in own["VRMC_vrm"]["expressions"][kind].as_object().into_iter().flatten() {
            for bind in expression["morphTargetBinds"].as_array().into_iter().flatten() {
                let mesh = &file["nodes"][bind["node"].as_u64().unwrap() as usize]["mesh"];
                found.push((name.clone(), target(mesh, &bind["index"])));
            }
        }
    }
    assert!(!found.is_empty());
    found.sort();
    found
}
