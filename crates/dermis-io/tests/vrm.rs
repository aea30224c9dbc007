//! VRM avatars and variants of materials: what they name is the same in a file that is written anew.

use dermis_io::gltf::{GlbScene, GlbWritten, read};
use dermis_io::{Contents, Flaw, to_bytes};
use dermis_testkit::textured::container;
use dermis_testkit::vrm::{NODES, avatar};
use serde_json::{Value, json};
use std::io::ErrorKind;

fn reading(bytes: &[u8]) -> Contents {
    read(bytes, "avatar.vrm", &|_, _| Err(ErrorKind::NotFound.into())).unwrap()
}

fn scene(contents: &Contents) -> GlbScene<'_> {
    GlbScene {
        name: "avatar",
        mesh: contents.mesh.as_ref(),
        skeleton: contents.skeleton.as_ref(),
        weights: contents.weights.as_ref(),
        morphs: &contents.morphs,
        ..GlbScene::default()
    }
}

fn writing(scene: &GlbScene<'_>) -> (Vec<u8>, GlbWritten) {
    let mut told = GlbWritten::default();
    let bytes = to_bytes(|out| {
        told = scene.write(out)?;
        Ok(())
    });
    (bytes.unwrap(), told)
}

fn json_of(glb: &[u8]) -> Value {
    let size = u32::from_le_bytes(glb[12..16].try_into().unwrap()) as usize;
    serde_json::from_slice(&glb[20..20 + size]).unwrap()
}

fn list(value: &mut Value) -> Vec<&mut Value> {
    value.as_array_mut().into_iter().flatten().collect()
}

/// The extensions of the root and of all nodes, by names in place of numbers: of nodes, of meshes by the nodes that show them, of morph targets.
fn by_name(json: &Value) -> Value {
    let node = |value: &Value| json["nodes"][value.as_u64().unwrap() as usize]["name"].clone();
    let shown = |value: &Value| {
        let shows = |node: &&Value| node["mesh"] == *value;
        json["nodes"].as_array().unwrap().iter().find(shows).unwrap()["name"].clone()
    };
    let target = |mesh: &Value, at: &Value| {
        json["meshes"][mesh.as_u64().unwrap() as usize]["extras"]["targetNames"][at.as_u64().unwrap() as usize].clone()
    };
    let mut made = json["extensions"].clone();
    if made["VRM"].is_object() {
        let vrm = &mut made["VRM"];
        list(&mut vrm["humanoid"]["humanBones"]).into_iter().for_each(|bone| bone["node"] = node(&bone["node"]));
        vrm["firstPerson"]["firstPersonBone"] = node(&vrm["firstPerson"]["firstPersonBone"]);
        list(&mut vrm["firstPerson"]["meshAnnotations"]).into_iter().for_each(|one| one["mesh"] = shown(&one["mesh"]));
        for group in list(&mut vrm["blendShapeMaster"]["blendShapeGroups"]) {
            for bind in list(&mut group["binds"]) {
                (bind["index"], bind["mesh"]) = (target(&bind["mesh"], &bind["index"]), shown(&bind["mesh"]));
            }
        }
        for group in list(&mut vrm["secondaryAnimation"]["boneGroups"]) {
            list(&mut group["bones"]).into_iter().for_each(|bone| *bone = node(bone));
            if group["center"] != -1 {
                group["center"] = node(&group["center"]);
            }
        }
        list(&mut vrm["secondaryAnimation"]["colliderGroups"])
            .into_iter()
            .for_each(|one| one["node"] = node(&one["node"]));
    }
    if made["VRMC_vrm"].is_object() {
        let vrm = &mut made["VRMC_vrm"];
        let bones = vrm["humanoid"]["humanBones"].as_object_mut().unwrap();
        bones.values_mut().for_each(|bone| bone["node"] = node(&bone["node"]));
        list(&mut vrm["firstPerson"]["meshAnnotations"]).into_iter().for_each(|one| one["node"] = node(&one["node"]));
        for kind in ["preset", "custom"] {
            for expression in vrm["expressions"][kind].as_object_mut().unwrap().values_mut() {
                for bind in list(&mut expression["morphTargetBinds"]) {
                    let mesh = &json["nodes"][bind["node"].as_u64().unwrap() as usize]["mesh"];
                    (bind["index"], bind["node"]) = (target(mesh, &bind["index"]), node(&bind["node"]));
                }
            }
        }
        let image = vrm["meta"]["thumbnailImage"].as_u64().unwrap() as usize;
        vrm["meta"]["thumbnailImage"] = json!(json["textures"][0]["source"] == json!(image));
        let spring = &mut made["VRMC_springBone"];
        list(&mut spring["colliders"]).into_iter().for_each(|one| one["node"] = node(&one["node"]));
        for one in list(&mut spring["springs"]) {
            list(&mut one["joints"]).into_iter().for_each(|joint| joint["node"] = node(&joint["node"]));
            one["center"] = node(&one["center"]);
        }
    }
    let nodes = json["nodes"].as_array().unwrap().iter().filter(|node| node["extensions"].is_object());
    let constraints: serde_json::Map<String, Value> = nodes
        .map(|carrier| {
            let mut own = carrier["extensions"].clone();
            let source = &mut own["VRMC_node_constraint"]["constraint"]["rotation"]["source"];
            *source = node(source);
            (carrier["name"].as_str().unwrap().to_owned(), own)
        })
        .collect();
    made["constraints"] = constraints.into();
    made
}

#[test]
fn what_an_avatar_names_is_the_same_when_it_is_written() {
    for version in [0, 1] {
        let source = avatar(version);
        let contents = reading(&source);
        let (bytes, told) = writing(&scene(&contents));
        assert_eq!(told, GlbWritten { left_out: vec![], is_vrm: true }, "version {version}");
        let (before, after) = (json_of(&source), json_of(&bytes));
        assert_eq!(by_name(&before), by_name(&after), "version {version}");
        let numbered =
            |json: &Value, name: &str| json["nodes"].as_array().unwrap().iter().position(|node| node["name"] == name);
        let moved = NODES.iter().filter(|name| numbered(&before, name) != numbered(&after, name)).count();
        assert!(moved > 5, "numbers that stay the same prove nothing: {moved}");
        let face = after["meshes"].as_array().unwrap().iter().find(|mesh| mesh["name"] == "face").unwrap();
        let variants = json!({ "KHR_materials_variants": { "mappings": [{ "material": 1, "variants": [0] }] } });
        assert_eq!(face["primitives"][0]["extensions"], variants);
        assert_eq!(after["materials"][0]["extensions"], before["materials"][0]["extensions"]);
        // A second time nothing changes any more.
        let again = reading(&bytes);
        assert_eq!(json_of(&writing(&scene(&again)).0)["extensions"], after["extensions"]);
    }
}

/// The spine is no joint, but it is a humanoid bone: it moves the head.
#[test]
fn a_bone_that_an_avatar_names_stays_between_joints() {
    let contents = reading(&avatar(1));
    let skeleton = contents.skeleton.unwrap();
    let of = |name: &str| skeleton.bones().find(|bone| skeleton.names()[*bone] == name).unwrap();
    assert_eq!(skeleton.parents()[of("head")], Some(of("spine")));
    assert_eq!(skeleton.parents()[of("spine")], Some(of("hips")));
    assert!((skeleton.bind()[of("spine")].translation.y - 1.25).abs() < 1e-12);
    assert_eq!(contents.default_pose, None, "all bones stand at rest");
}

#[test]
fn what_is_taken_away_is_left_out_in_words() {
    for version in [0, 1] {
        let mut contents = reading(&avatar(version));
        // The shape that blinks goes; the other keeps its name under another number.
        contents.morphs.retain(|morph| morph.name != "blink");
        let (bytes, told) = writing(&scene(&contents));
        let name = if version == 0 { "VRM" } else { "VRMC_vrm" };
        let lost = format!("1 part of {name} whose bone, mesh or morph target the file no longer has");
        assert_eq!(told, GlbWritten { left_out: vec![lost], is_vrm: true });
        let after = by_name(&json_of(&bytes));
        let binds = match version {
            0 => [
                &after["VRM"]["blendShapeMaster"]["blendShapeGroups"][0]["binds"],
                &after["VRM"]["blendShapeMaster"]["blendShapeGroups"][1]["binds"],
            ],
            _ => [
                &after["VRMC_vrm"]["expressions"]["preset"]["blink"]["morphTargetBinds"],
                &after["VRMC_vrm"]["expressions"]["custom"]["breath"]["morphTargetBinds"],
            ],
        };
        assert_eq!(*binds[0], json!([]));
        assert_eq!(binds[1][0]["index"], "breath");
        // Without its bones it is no avatar.
        let bare = GlbScene { skeleton: None, weights: None, ..scene(&contents) };
        let (bytes, told) = writing(&bare);
        assert!(!told.is_vrm && told.left_out.iter().any(|line| line.starts_with(&format!("{name}:"))), "{told:?}");
        assert!(json_of(&bytes)["extensions"].get(name).is_none());
        // Another mesh has other parts.
        let mut other = contents.mesh.clone().unwrap();
        let render = other.render.as_mut().unwrap();
        render.parts.remove(0);
        let (bytes, told) = writing(&GlbScene { mesh: Some(&other), ..scene(&contents) });
        assert!(told.left_out.iter().any(|line| line.starts_with("KHR_materials_variants")), "{told:?}");
        assert!(!json_of(&bytes).to_string().contains("KHR_materials_variants"));
        // Objects of other names are not those that were meant.
        let mut other = contents.mesh.clone().unwrap();
        other.objects.iter_mut().for_each(|object| object.name.push('2'));
        let (_, told) = writing(&GlbScene { mesh: Some(&other), ..scene(&contents) });
        assert!(told.left_out.iter().any(|line| line.starts_with("4 parts of VRM")), "{told:?}");
    }
}

/// Whatever numbers stand there, what is written names what is there.
#[test]
fn hostile_numbers_are_counted() {
    for version in [0, 1] {
        let source = avatar(version);
        let size = u32::from_le_bytes(source[12..16].try_into().unwrap()) as usize;
        let (json, bin) = (String::from_utf8_lossy(&source[20..20 + size]), &source[28 + size..]);
        let root = json.rfind("\"extensions\": { \"VRM").unwrap();
        for (from, to) in [
            ("\"node\": 1", "\"node\": 777"),
            ("\"index\": 1", "\"index\": 777"),
            ("\"bones\": [5]", "\"bones\": [777e7]"),
        ] {
            let (before, own) = json.split_at(root);
            if !own.contains(from) {
                continue;
            }
            let contents = reading(&container(&format!("{before}{}", own.replace(from, to)), bin));
            let flawed = contents.warnings.iter().any(|warning| warning.flaw == Flaw::Reference);
            let (written, told) = writing(&scene(&contents));
            assert!(flawed && told.left_out.is_empty(), "{from}: {:?} {told:?}", contents.warnings);
            assert!(!json_of(&written)["extensions"].to_string().contains("777"), "{from}");
            reading(&written);
        }
    }
}

#[test]
fn every_truncation_and_flipped_bit_is_refused_or_read() {
    for version in [0, 1] {
        let whole = avatar(version);
        let tried = |bytes: &[u8]| {
            if let Ok(contents) = read(bytes, "x.vrm", &|_, _| Err(ErrorKind::NotFound.into())) {
                let mut sink = Vec::new();
                let _ = scene(&contents).write(&mut sink);
            }
        };
        (0..whole.len()).for_each(|end| tried(&whole[..end]));
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << (at % 8);
            tried(&bytes);
        }
    }
}
