//! What comes in beside shape and motion goes out again.

use dermis_deform::{Base, Deformer, RiggedDeformer};
use dermis_io::gltf::{GlbClip, GlbScene, MorphNormals, read, write_glb};
use dermis_io::{Contents, Flaw, ModelFile, ModelHeader, Space, model_file, to_bytes};
use dermis_rig::glam::{DAffine3, DMat4, DQuat, DVec3};
use dermis_rig::{Appearance, Mesh, Rig};
use dermis_testkit::textured::{BESIDE, container, glb, images, parts, png};
use serde_json::{Value, json};
use std::io::ErrorKind;

/// The image that stands beside the file.
fn beside(name: &str, most: u64) -> std::io::Result<Vec<u8>> {
    match name == BESIDE {
        true => Ok(images()[2].iter().copied().take(most as usize).collect()),
        false => Err(ErrorKind::NotFound.into()),
    }
}

fn textured() -> Contents {
    read(&glb(), "strip.glb", &beside).unwrap()
}

fn written(contents: &Contents) -> Vec<u8> {
    written_with(contents, MorphNormals::Written)
}

fn written_with(contents: &Contents, morph_normals: MorphNormals) -> Vec<u8> {
    let clips: Vec<GlbClip> = (contents.clips.iter())
        .map(|clip| GlbClip {
            name: clip.name.clone(),
            times: clip.key_times.clone(),
            poses: clip.key_times.iter().map(|&time| (clip.sample)(time).pose).collect(),
            ..GlbClip::default()
        })
        .collect();
    let scene = GlbScene {
        name: "strip",
        mesh: contents.mesh.as_ref(),
        skeleton: contents.skeleton.as_ref(),
        weights: contents.weights.as_ref(),
        morphs: &contents.morphs,
        morph_normals,
        clips: &clips,
        ..GlbScene::default()
    };
    to_bytes(|out| write_glb(&scene, out)).unwrap()
}

/// JSON and buffer of a GLB.
fn split(glb: &[u8]) -> (Value, Vec<u8>) {
    let size = u32::from_le_bytes(glb[12..16].try_into().unwrap()) as usize;
    (serde_json::from_slice(&glb[20..20 + size]).unwrap(), glb[28 + size..].to_vec())
}

fn appearance(contents: &Contents) -> &Appearance {
    contents.mesh.as_ref().unwrap().render.as_ref().unwrap().appearance.as_deref().unwrap()
}

fn count(contents: &Contents, flaw: Flaw) -> usize {
    contents.warnings.iter().filter(|w| w.flaw == flaw).map(|w| w.count).sum()
}

/// A node's transform to the world, by the specification.
fn world(json: &Value, name: &str) -> DAffine3 {
    let nodes = json["nodes"].as_array().unwrap();
    let of = |name: &str| nodes.iter().position(|node| node["name"] == name).unwrap_or_else(|| panic!("no {name}"));
    let (mut at, mut made) = (of(name), DAffine3::IDENTITY);
    loop {
        let node = &nodes[at];
        let list = |key: &str, or: &[f64]| -> Vec<f64> {
            node[key].as_array().map_or(or.to_vec(), |list| list.iter().map(|x| x.as_f64().unwrap()).collect())
        };
        let local = match node.get("matrix") {
            Some(_) => DAffine3::from_mat4(DMat4::from_cols_slice(&list("matrix", &[]))),
            None => DAffine3::from_scale_rotation_translation(
                DVec3::from_slice(&list("scale", &[1.0; 3])),
                DQuat::from_slice(&list("rotation", &[0.0, 0.0, 0.0, 1.0])),
                DVec3::from_slice(&list("translation", &[0.0; 3])),
            ),
        };
        made = local * made;
        let parent = |node: &Value| node["children"].as_array().is_some_and(|list| list.contains(&json!(at)));
        match nodes.iter().position(parent) {
            Some(parent) => at = parent,
            None => return made,
        }
    }
}

/// The floats of an accessor.
fn floats(json: &Value, buffer: &[u8], accessor: &Value) -> Vec<f32> {
    let accessor = &json["accessors"][accessor.as_u64().unwrap() as usize];
    let view = &json["bufferViews"][accessor["bufferView"].as_u64().unwrap() as usize];
    let (from, length) = (view["byteOffset"].as_u64().unwrap() as usize, view["byteLength"].as_u64().unwrap() as usize);
    buffer[from..from + length].as_chunks::<4>().0.iter().map(|x| f32::from_le_bytes(*x)).collect()
}

#[test]
fn a_file_goes_out_as_it_came() {
    let contents = textured();
    assert_eq!(count(&contents, Flaw::Tangents), 1, "{:?}", contents.warnings);
    assert_eq!(count(&contents, Flaw::Extension), 1, "ACME_physics names a node: {:?}", contents.warnings);
    assert_eq!(contents.warnings.len(), 2, "{:?}", contents.warnings);
    assert_eq!(contents.unread, ["ACME_physics"]);
    let (was, _) = split(&glb());
    let (is, buffer) = split(&written(&contents));
    for same in ["materials", "samplers", "cameras", "extras"] {
        assert_eq!(is[same], was[same], "{same}");
    }
    assert_eq!(is["textures"], was["textures"]);
    assert_eq!(is["asset"]["copyright"], was["asset"]["copyright"]);
    assert_eq!(is["asset"]["extras"], was["asset"]["extras"]);
    assert_eq!(is["scenes"][0]["extras"], was["scenes"][0]["extras"]);
    assert_eq!(is["extensions"]["KHR_lights_punctual"], was["extensions"]["KHR_lights_punctual"]);
    assert_eq!(is["extensions"]["ACME_mood"], was["extensions"]["ACME_mood"]);
    assert_eq!(is["extensions"].as_object().unwrap().len(), 2);
    let used = ["ACME_mood", "KHR_lights_punctual", "KHR_materials_emissive_strength", "KHR_texture_transform"]
        .map(String::from);
    assert_eq!(is["extensionsUsed"], json!(used));
    for (at, image) in images().iter().enumerate() {
        let view = &is["bufferViews"][is["images"][at]["bufferView"].as_u64().unwrap() as usize];
        let from = view["byteOffset"].as_u64().unwrap() as usize;
        assert_eq!(&buffer[from..from + view["byteLength"].as_u64().unwrap() as usize], image, "image {at}");
        assert_eq!(is["images"][at]["mimeType"], "image/png");
    }
    assert_eq!((&is["images"][0]["name"], &is["images"][2]["extras"]["year"]), (&json!("red"), &json!(2001)));
    // The nodes stand where they stood, with what they carry.
    let node = |json: &Value, name: &str| -> Value {
        json["nodes"].as_array().unwrap().iter().find(|node| node["name"] == name).unwrap().clone()
    };
    for name in ["upper", "lower", "eye", "socket", "stand", "lamp", "armature"] {
        assert!(world(&is, name).abs_diff_eq(world(&was, name), 1e-6), "{name}");
        for key in ["camera", "extras", "extensions"] {
            assert_eq!(node(&is, name).get(key), node(&was, name).get(key), "{key} of {name}");
        }
    }
    assert_eq!(node(&is, "strip")["extras"], json!({ "kind": "body" }));
    assert_eq!(is["meshes"][0]["extras"], json!({ "targetNames": ["fuller"], "cloth": false }));
    let primitives = is["meshes"][0]["primitives"].as_array().unwrap();
    let materials: Vec<&Value> = primitives.iter().map(|p| &p["material"]).collect();
    assert_eq!(materials, [&json!(0), &json!(1)]);
    for semantic in ["TEXCOORD_0", "TEXCOORD_1", "COLOR_0", "NORMAL", "POSITION"] {
        let (was_json, was_buffer) = split(&glb());
        let accessor = &was_json["meshes"][0]["primitives"][0]["attributes"][semantic];
        let found = floats(&is, &buffer, &primitives[0]["attributes"][semantic]);
        assert_eq!(found, floats(&was_json, &was_buffer, accessor), "{semantic}");
    }
    // A second time nothing changes.
    let again = read(&written(&contents), "strip.glb", &beside).unwrap();
    assert_eq!(appearance(&again).images, appearance(&contents).images);
    assert_eq!(written(&again), written(&read(&written(&again), "strip.glb", &beside).unwrap()));
    assert!(again.warnings.is_empty(), "{:?}", again.warnings);
}

/// Oracle: normals of the shape by hand, area by area.
#[test]
fn morph_targets_turn_normals() {
    let contents = textured();
    let (json, buffer) = split(&written(&contents));
    let target = &json["meshes"][0]["primitives"][0]["targets"][0];
    let turned = floats(&json, &buffer, &target["NORMAL"]);
    let mesh = contents.mesh.as_ref().unwrap();
    let shape: Vec<DVec3> = mesh.positions.iter().zip(&contents.morphs[0].deltas).map(|(p, d)| *p + *d).collect();
    for (vertex, found) in turned.as_chunks::<3>().0.iter().enumerate() {
        let mut normal = DVec3::ZERO;
        for corners in mesh.triangles.iter().filter(|corners| corners.contains(&(vertex as u32))) {
            let [a, b, c] = corners.map(|corner| shape[corner as usize]);
            normal += (b - a).cross(c - a);
        }
        let expected = normal.normalize() - DVec3::Z;
        assert!(DVec3::from_array(found.map(f64::from)).abs_diff_eq(expected, 1e-6), "{vertex}: {found:?} {expected}");
    }
    assert!(turned.iter().any(|x| x.abs() > 0.1));
    let (json, _) = split(&written_with(&contents, MorphNormals::LeftOut));
    assert_eq!(json["meshes"][0]["primitives"][0]["targets"][0].as_object().unwrap().len(), 1);
}

#[test]
fn a_missing_image_leaves_its_material() {
    let contents = read(&glb(), "strip.glb", &|_, _| Err(ErrorKind::NotFound.into())).unwrap();
    let [image] = &contents.warnings.iter().filter(|w| w.flaw == Flaw::Image).collect::<Vec<_>>()[..] else {
        panic!("{:?}", contents.warnings)
    };
    assert_eq!(image.count, 1);
    assert!(image.first.as_ref().unwrap().contains("skin%20colour.png"), "{image}");
    assert_eq!(count(&contents, Flaw::Reference), 1, "the cloth's");
    let (json, _) = split(&written(&contents));
    assert_eq!(json["images"].as_array().unwrap().len(), 2);
    let cloth = json!({ "baseColorFactor": [0.5, 0.25, 1, 0.5] });
    assert_eq!(json["materials"][1]["pbrMetallicRoughness"], cloth);
    assert_eq!(json["materials"][0], split(&glb()).0["materials"][0], "the other material is whole");
}

/// The file with a change of its JSON.
fn changed(change: impl Fn(&mut Value)) -> Vec<u8> {
    let (text, buffer) = parts();
    let mut json: Value = serde_json::from_str(&text).unwrap();
    change(&mut json);
    container(&json.to_string(), &buffer)
}

/// The buffer view of the image within the file.
fn images_view() -> usize {
    split(&glb()).0["images"][0]["bufferView"].as_u64().unwrap() as usize
}

#[test]
fn hostile_appearances_are_counted_and_never_written() {
    let survives = |what: &str, change: &dyn Fn(&mut Value), flaw: Flaw| {
        let asked = std::cell::RefCell::new(Vec::new());
        let contents = read(&changed(change), "strip.glb", &|name, most| {
            asked.borrow_mut().push(name.to_owned());
            beside(name, most)
        });
        let contents = contents.unwrap_or_else(|e| panic!("{what}: {e}"));
        assert!(count(&contents, flaw) > 0, "{what}: {:?}", contents.warnings);
        let again = read(&written(&contents), "again", &|_, _| Err(ErrorKind::NotFound.into())).unwrap();
        assert!(again.warnings.is_empty(), "{what}: {:?}", again.warnings);
        assert!(asked.borrow().iter().all(|name| name == BESIDE), "{what} asks for {asked:?}");
    };
    survives("an image out of range", &|j| j["textures"][0]["source"] = json!(7), Flaw::Reference);
    survives("a texture out of range", &|j| j["materials"][0]["normalTexture"]["index"] = json!(7), Flaw::Reference);
    survives("a negative texture", &|j| j["materials"][0]["normalTexture"]["index"] = json!(-1), Flaw::Reference);
    survives("a sampler out of range", &|j| j["textures"][0]["sampler"] = json!(1e300), Flaw::Reference);
    survives("a view out of range", &|j| j["images"][0]["bufferView"] = json!(4_000_000_000u64), Flaw::Image);
    let view = images_view();
    survives("a view beyond its buffer", &|j| j["bufferViews"][view]["byteOffset"] = json!(u64::MAX), Flaw::Image);
    survives("a climbing path", &|j| j["images"][2]["uri"] = json!("../secret.png"), Flaw::Image);
    survives("an absolute path", &|j| j["images"][2]["uri"] = json!("/etc/passwd"), Flaw::Image);
    survives("an address", &|j| j["images"][2]["uri"] = json!("https://example.org/a.png"), Flaw::Image);
    survives("broken base64", &|j| j["images"][1]["uri"] = json!("data:image/png;base64,@@"), Flaw::Image);
    survives("no picture", &|j| j["images"][1]["uri"] = json!("data:image/png,hello"), Flaw::Image);
    survives("an image of nothing", &|j| j["images"][1] = json!([]), Flaw::Image);
    survives("a camera out of range", &|j| j["nodes"][4]["camera"] = json!(1), Flaw::Reference);
    survives("a camera without a lens", &|j| j["cameras"][0] = json!({ "type": "pinhole" }), Flaw::Reference);
    survives(
        "a light out of range",
        &|j| j["nodes"][7]["extensions"]["KHR_lights_punctual"]["light"] = json!(3),
        Flaw::Reference,
    );
    survives(
        "a material that reads bytes",
        &|j| j["materials"][1]["extensions"] = json!({ "ACME_bytes": { "bufferView": 0 } }),
        Flaw::Extension,
    );
    // Whatever has the wrong type.
    for key in ["materials", "textures", "samplers", "images", "cameras", "extras", "extensions", "scenes"] {
        for wrong in [json!(1), json!("x"), json!([[1]]), json!([{}]), json!({ "a": [] }), json!(null)] {
            let bytes = changed(|j| j[key] = wrong.clone());
            if let Ok(contents) = read(&bytes, "strip.glb", &beside) {
                read(&written(&contents), "again", &beside).unwrap();
            }
        }
    }
    let circle = changed(|j| j["nodes"][7]["children"] = json!([5]));
    assert!(read(&circle, "strip.glb", &beside).is_err(), "nodes in a circle");
}

/// A buffer that a thousand images name would fill memory a thousand times.
#[test]
fn images_take_no_more_bytes_than_the_file_has_twice() {
    let (text, mut buffer) = parts();
    let mut json: Value = serde_json::from_str(&text).unwrap();
    let view = images_view();
    let from = json["bufferViews"][view]["byteOffset"].as_u64().unwrap();
    buffer.resize(1 << 20, 0);
    json["bufferViews"][view]["byteLength"] = json!((1 << 20) - from);
    json["buffers"][0]["byteLength"] = json!(1 << 20);
    json["images"] = json!(vec![json["images"][0].clone(); 1000]);
    let contents = read(&container(&json.to_string(), &buffer), "strip.glb", &beside).unwrap();
    assert_eq!(appearance(&contents).images.len(), 2);
    assert_eq!(count(&contents, Flaw::Image), 998);
}

#[test]
fn an_image_beside_the_file_is_never_larger_than_the_limit() {
    let contents = read(&glb(), "strip.glb", &|_, most| {
        assert!(most <= (1 << 30) + 1, "{most} bytes are asked for");
        Ok(png([1, 2, 3]))
    });
    assert_eq!(appearance(&contents.unwrap()).images[2].bytes, png([1, 2, 3]));
}

/// What an appearance says that no reader made is checked when it is written.
#[test]
fn a_made_up_appearance_is_written_soundly_or_refused() {
    let mut contents = textured();
    let render = contents.mesh.as_mut().unwrap().render.as_mut().unwrap();
    let wild = json!({
        "materials": [{ "normalTexture": { "index": 9 } }, 3],
        "nodes": [{ "children": [0, 1] }, {}], "hung": [{ "bone": "no such bone", "node": 0 }],
    });
    render.appearance = Some(std::sync::Arc::new(Appearance { description: wild.to_string(), images: vec![] }));
    let (json, _) = split(&written(&contents));
    assert_eq!(json["materials"], json!([{}, {}]));
    assert!(json.get("images").is_none());
    let render = contents.mesh.as_mut().unwrap().render.as_mut().unwrap();
    render.appearance = Some(std::sync::Arc::new(Appearance { description: "{".into(), images: vec![] }));
    let scene = GlbScene { name: "x", mesh: contents.mesh.as_ref(), ..GlbScene::default() };
    let refused = to_bytes(|out| write_glb(&scene, out)).unwrap_err().to_string();
    assert!(refused.contains("description"), "{refused}");
}

/// A model of a rig's own weights.
fn model(contents: &Contents) -> ModelFile {
    let (mesh, skeleton) = (contents.mesh.clone().unwrap(), contents.skeleton.clone().unwrap());
    let weights = contents.weights.clone().unwrap();
    let rig = Rig::new(mesh, skeleton, Some(weights.clone())).unwrap();
    let deformer = Deformer::new(rig.mesh().positions.clone(), Base::Lbs(weights), None).unwrap();
    let model = RiggedDeformer::new(rig, None, deformer.bake(), None).unwrap();
    ModelFile { model, space: Space::default(), header: ModelHeader::default() }
}

#[test]
fn a_model_file_carries_what_its_rig_came_with() {
    let contents = textured();
    let bytes = to_bytes(|out| model_file::write(&model(&contents), out)).unwrap();
    let found = model_file::read(&bytes).unwrap();
    // A lone mesh is called as its file.
    let mesh = Mesh { objects: vec![], ..contents.mesh.clone().unwrap() };
    assert_eq!(found.rig().mesh(), &mesh);
    // Every truncation is an error; every altered byte an error or sound.
    for length in (0..bytes.len()).step_by(7) {
        assert!(model_file::read(&bytes[..length]).is_err(), "{length}");
    }
    let mut read_again = 0;
    for at in (0..bytes.len()).step_by(5) {
        let mut bytes = bytes.clone();
        bytes[at] ^= 1 << (at % 7);
        if let Ok(found) = model_file::read(&bytes) {
            let scene = GlbScene { name: "x", mesh: Some(found.rig().mesh()), ..GlbScene::default() };
            if let Ok(glb) = to_bytes(|out| write_glb(&scene, out)) {
                read(&glb, "again", &beside).unwrap_or_else(|e| panic!("byte {at}: {e}"));
                read_again += 1;
            }
        }
    }
    assert!(read_again > 100, "{read_again}");
}

/// Every truncation is an error, every flipped bit an error or sound.
#[test]
fn damaged_files_are_survived() {
    let whole = glb();
    for length in 0..whole.len() {
        assert!(read(&whole[..length], "cut", &beside).is_err(), "{length}");
    }
    for at in (0..whole.len()).step_by(3) {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        if let Ok(contents) = read(&bytes, "bits", &beside)
            && contents.mesh.is_some()
        {
            let scene = GlbScene {
                name: "x",
                mesh: contents.mesh.as_ref(),
                skeleton: contents.skeleton.as_ref(),
                ..GlbScene::default()
            };
            if let Ok(bytes) = to_bytes(|out| write_glb(&scene, out)) {
                read(&bytes, "again", &beside).unwrap_or_else(|e| panic!("byte {at}: {e}"));
            }
        }
    }
}

/// What the Khronos validator says. `cargo xtask test` runs these where it is installed.
mod with_gltf_validator {
    use super::*;

    /// A normal map asks for tangents, which programs make as the specification says.
    const TANGENTS: [&str; 2] = ["--ignore", "MESH_PRIMITIVE_GENERATED_TANGENT_SPACE"];

    #[test]
    fn the_khronos_validator_finds_nothing_in_what_is_carried() {
        let folder = std::env::temp_dir().join(format!("dermis-appearance-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("strip.glb");
        std::fs::write(&file, written(&textured())).unwrap();
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tools/validate_gltf.mjs");
        let run = std::process::Command::new("node").arg(script).args(TANGENTS).arg(&file).output();
        std::fs::remove_dir_all(&folder).unwrap();
        let run = run.unwrap();
        let said = [run.stdout, run.stderr].concat();
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&said));
    }
}
