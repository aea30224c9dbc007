//! `KHR_character` and its skeleton mapping, drafts of glTF: kept on request alone, under the numbers of the file that is written.

use dermis_io::gltf::{GlbScene, GlbWritten, read};
use dermis_io::{Contents, Flaw, to_bytes};
use dermis_testkit::textured::container;
use dermis_testkit::vrm::avatar;
use serde_json::{Value, json};
use std::io::ErrorKind;

/// A vocabulary of roles.
const ROLES: &str = "https://example.org/roles/1";

/// Nodes of the avatar of the testkit: "root" above the joints, "hips", "head", and "eye", which is no joint.
const NODES: [u64; 4] = [4, 2, 1, 6];

fn extensions() -> Value {
    let [root, hips, head, eye] = NODES;
    json!({
        "KHR_character": { "rootNode": root },
        "KHR_character_skeleton_mapping": { "skeletalRigMappings": {
            ROLES: { "hips": { "node": hips, "name": "hips" }, "head": { "node": head }, "leftEye": { "node": eye, "name": "eye" } },
            // As an earlier draft has it.
            "roles": { "hips": "hips" },
        } },
        "KHR_character_expression": { "expressions": [{ "expression": "smile", "animation": 0 }] },
        "KHR_xmp_json_ld": { "packets": [{ "dc:title": "planted" }] },
    })
}

/// The avatar with these extensions in place of its own.
fn character(extensions: &Value) -> Vec<u8> {
    let whole = avatar(1);
    let (mut json, size) = (json_of(&whole), u32::from_le_bytes(whole[12..16].try_into().unwrap()) as usize);
    json["extensions"] = extensions.clone();
    let bare = |object: &mut Value| drop(object.as_object_mut().unwrap().remove("extensions"));
    json["nodes"].as_array_mut().unwrap().iter_mut().for_each(bare);
    json["meshes"].as_array_mut().unwrap().iter_mut().for_each(|mesh| bare(&mut mesh["primitives"][0]));
    let names: Vec<&String> = extensions.as_object().unwrap().keys().collect();
    (json["extensionsUsed"], json["extensionsRequired"]) = (json!(names), json!(names[..1]));
    container(&json.to_string(), &whole[28 + size..])
}

fn reading(bytes: &[u8]) -> Contents {
    read(bytes, "character.glb", &|_, _| Err(ErrorKind::NotFound.into())).unwrap()
}

fn writing(contents: &Contents, keep_drafts: bool) -> (Value, GlbWritten) {
    let scene = GlbScene {
        name: "character",
        mesh: contents.mesh.as_ref(),
        skeleton: contents.skeleton.as_ref(),
        weights: contents.weights.as_ref(),
        morphs: &contents.morphs,
        keep_drafts,
        ..GlbScene::default()
    };
    let mut told = GlbWritten::default();
    let bytes = to_bytes(|out| {
        told = scene.write(out)?;
        Ok(())
    });
    (json_of(&bytes.unwrap()), told)
}

fn json_of(glb: &[u8]) -> Value {
    let size = u32::from_le_bytes(glb[12..16].try_into().unwrap()) as usize;
    serde_json::from_slice(&glb[20..20 + size]).unwrap()
}

#[test]
fn drafts_are_left_out_by_name_unless_they_are_asked_for() {
    let contents = reading(&character(&extensions()));
    let lost = contents.warnings.iter().find(|own| own.flaw == Flaw::Extension).unwrap();
    assert_eq!((lost.count, lost.first.as_deref()), (1, Some("KHR_character_expression of the file")));
    let (json, told) = writing(&contents, false);
    assert_eq!(told.left_out.len(), 2);
    assert!(told.left_out.iter().all(|line| line.starts_with("KHR_character") && line.contains("draft")), "{told:?}");
    assert_eq!(json["extensions"], json!({ "KHR_xmp_json_ld": { "packets": [{ "dc:title": "planted" }] } }));
    let used = json!(["KHR_xmp_json_ld", "VRMC_materials_mtoon"]);
    assert_eq!((&json["extensionsUsed"], json.get("extensionsRequired")), (&used, None));
}

#[test]
fn drafts_name_the_same_nodes_in_another_file() {
    let contents = reading(&character(&extensions()));
    let (json, told) = writing(&contents, true);
    assert_eq!(told.left_out, [""; 0]);
    let named = |value: &Value| json["nodes"][value.as_u64().unwrap() as usize]["name"].clone();
    let own = &json["extensions"];
    assert_eq!(named(&own["KHR_character"]["rootNode"]), "root");
    let sets = &own["KHR_character_skeleton_mapping"]["skeletalRigMappings"];
    for (role, name) in [("hips", "hips"), ("head", "head"), ("leftEye", "eye")] {
        assert_eq!(named(&sets[ROLES][role]["node"]), name);
    }
    // Names are repeated where they were.
    assert_eq!((&sets[ROLES]["hips"]["name"], &sets[ROLES]["leftEye"]["name"]), (&json!("hips"), &json!("eye")));
    assert!(sets[ROLES]["head"].get("name").is_none());
    assert_eq!(sets["roles"], json!({ "hips": "hips" }));
    assert_eq!(json["extensionsRequired"], json!(["KHR_character"]));
    let moved = NODES.iter().zip(["root", "hips", "head", "eye"]).filter(|(number, name)| {
        json["nodes"].as_array().unwrap().iter().position(|node| node["name"] == **name) != Some(**number as usize)
    });
    assert!(moved.count() > 2, "numbers that stay the same prove nothing");
}

#[test]
fn a_bone_of_another_name_is_named_as_it_is() {
    let mut file = extensions();
    file["KHR_character_skeleton_mapping"]["skeletalRigMappings"][ROLES]["head"]["name"] = json!("someone else");
    let (json, _) = writing(&reading(&character(&file)), true);
    assert_eq!(
        json["extensions"]["KHR_character_skeleton_mapping"]["skeletalRigMappings"][ROLES]["head"]["name"],
        "head"
    );
}

/// What leads nowhere takes its role with it; without a root there is no character.
#[test]
fn roles_of_nodes_that_are_gone_are_counted() {
    let mut file = extensions();
    file["KHR_character_skeleton_mapping"]["skeletalRigMappings"][ROLES]["head"]["node"] = json!(777);
    let contents = reading(&character(&file));
    assert!(contents.warnings.iter().any(|own| own.flaw == Flaw::Reference));
    let (json, _) = writing(&contents, true);
    let roles = &json["extensions"]["KHR_character_skeleton_mapping"]["skeletalRigMappings"][ROLES];
    assert_eq!(roles.as_object().unwrap().keys().collect::<Vec<_>>(), ["hips", "leftEye"]);
    file["KHR_character"] = json!({ "rootNode": 777 });
    let (json, told) = writing(&reading(&character(&file)), true);
    assert_eq!(told.left_out, ["KHR_character_skeleton_mapping, which means nothing without KHR_character"]);
    assert!(!json.to_string().contains("KHR_character"));
}

/// An earlier draft names the scene: a file that is written has one.
#[test]
fn the_scene_of_an_earlier_draft_is_the_one_that_is_shown() {
    let of = |scene: u64| {
        let contents = reading(&character(&json!({ "KHR_character": { "sceneIndex": scene } })));
        writing(&contents, true).0.get("extensions").cloned()
    };
    assert_eq!(of(0), Some(json!({ "KHR_character": { "sceneIndex": 0 } })));
    assert_eq!(of(1), None);
}
