//! A small VRM avatar as a GLB, of version 0 and of version 1.
//!
//! A body and a face of a triangle each hang on the joints hair, head and hips, in this order. The humanoid bone "spine" between hips and head
//! is no joint. The eye and the end of the hair are leaves that carry nothing. The face has the morph targets "smile" and "blink", the body "breath".
//! Nodes, meshes and images are numbered so that a file that is written anew numbers each of them otherwise: the first image is missing.

use crate::textured::{base64, container, png};

/// Places of the nodes' names in the file.
pub const NODES: [&str; 9] = ["face", "head", "hips", "spine", "root", "hair", "eye", "body", "hair_end"];

/// The extensions of an avatar of version 0.
const VRM_0: &str = r#""VRM": {
  "specVersion": "0.0", "meta": { "title": "planted", "texture": 0 },
  "humanoid": { "humanBones": [{ "bone": "hips", "node": 2 }, { "bone": "spine", "node": 3 }, { "bone": "head", "node": 1 }, { "bone": "leftEye", "node": 6 }LIMBS] },
  "firstPerson": { "firstPersonBone": 1, "meshAnnotations": [{ "mesh": 1, "firstPersonFlag": "Auto" }, { "mesh": 0, "firstPersonFlag": "Both" }] },
  "blendShapeMaster": { "blendShapeGroups": [
    { "name": "Blink", "presetName": "blink", "binds": [{ "mesh": 1, "index": 1, "weight": 100 }] },
    { "name": "Breath", "presetName": "unknown", "binds": [{ "mesh": 0, "index": 0, "weight": 50 }] }] },
  "secondaryAnimation": {
    "boneGroups": [{ "center": -1, "bones": [5], "colliderGroups": [0] }, { "center": 4, "bones": [8], "colliderGroups": [] }],
    "colliderGroups": [{ "node": 1, "colliders": [{ "offset": { "x": 0, "y": 0, "z": 0 }, "radius": 0.1 }] }] },
  "materialProperties": [{ "name": "skin", "shader": "VRM/MToon", "textureProperties": { "_MainTex": 0 } }]
}"#;

/// The extensions of an avatar of version 1.
const VRM_1: &str = r#""VRMC_vrm": {
  "specVersion": "1.0", "meta": { "name": "planted", "authors": ["x"], "licenseUrl": "https://vrm.dev/licenses/1.0/", "thumbnailImage": 1 },
  "humanoid": { "humanBones": { "hips": { "node": 2 }, "spine": { "node": 3 }, "head": { "node": 1 }, "leftEye": { "node": 6 }LIMBS } },
  "firstPerson": { "meshAnnotations": [{ "node": 0, "type": "auto" }, { "node": 7, "type": "both" }] },
  "expressions": {
    "preset": { "blink": { "morphTargetBinds": [{ "node": 0, "index": 1, "weight": 1.0 }], "materialColorBinds": [{ "material": 1, "type": "color", "targetValue": [1, 0, 0, 1] }] } },
    "custom": { "breath": { "morphTargetBinds": [{ "node": 7, "index": 0, "weight": 0.5 }] } } }
}, "VRMC_springBone": {
  "specVersion": "1.0", "colliders": [{ "node": 1, "shape": { "sphere": { "offset": [0, 0, 0], "radius": 0.1 } } }],
  "colliderGroups": [{ "colliders": [0] }],
  "springs": [{ "joints": [{ "node": 5 }, { "node": 8 }], "colliderGroups": [0], "center": 4 }]
}"#;

/// Humanoid bones that an avatar must have: leaves below the hips, after the other nodes.
const LIMBS: [&str; 12] = [
    "leftUpperLeg",
    "leftLowerLeg",
    "leftFoot",
    "rightUpperLeg",
    "rightLowerLeg",
    "rightFoot",
    "leftUpperArm",
    "leftLowerArm",
    "leftHand",
    "rightUpperArm",
    "rightLowerArm",
    "rightHand",
];

/// The avatar.
///
/// - `version`: 0 or 1
pub fn avatar(version: u32) -> Vec<u8> {
    let mut bin: Vec<u8> = Vec::new();
    let mut views = Vec::new();
    let mut view = |bytes: Vec<u8>| {
        views.push(format!(r#"{{ "buffer": 0, "byteOffset": {}, "byteLength": {} }}"#, bin.len(), bytes.len()));
        bin.extend(bytes);
    };
    let floats = |rows: &[f32]| rows.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
    view(floats(&[-0.2, 1.0, 0.0, 0.2, 1.0, 0.0, 0.0, 1.4, 0.0])); // body
    view(floats(&[-0.1, 1.6, 0.1, 0.1, 1.6, 0.1, 0.0, 1.8, 0.1])); // face
    view(floats(&[0.0, 0.02, 0.0, 0.0, 0.02, 0.0, 0.0, 0.0, 0.0])); // smile
    view(floats(&[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -0.05, 0.0])); // blink
    view(floats(&[0.0, 0.0, 0.01, 0.0, 0.0, 0.01, 0.0, 0.0, 0.03])); // breath
    view([[2u8, 1, 0, 0]; 3].concat()); // hips and head
    view([[1u8, 0, 0, 0]; 3].concat()); // head and hair
    view(floats(&[[0.75, 0.25, 0.0, 0.0]; 3].concat()));
    let inverse = |y: f32| [1., 0., 0., 0., 0., 1., 0., 0., 0., 0., 1., 0., 0., -y, 0., 1.];
    view(floats(&[inverse(1.8), inverse(1.5), inverse(1.0)].concat()));
    let accessor = |(at, (kind, width, count)): (usize, (u32, &str, usize))| {
        format!(r#"{{ "bufferView": {at}, "componentType": {kind}, "type": "{width}", "count": {count} }}"#)
    };
    let vectors = (5126, "VEC3", 3);
    let kinds = [
        vectors,
        vectors,
        vectors,
        vectors,
        vectors,
        (5121, "VEC4", 3),
        (5121, "VEC4", 3),
        (5126, "VEC4", 3),
        (5126, "MAT4", 3),
    ];
    let accessors: Vec<String> = kinds.into_iter().enumerate().map(accessor).collect();
    let (own, constraint) = match version {
        0 => (VRM_0, ""),
        _ => (
            VRM_1,
            r#", "extensions": { "VRMC_node_constraint": { "specVersion": "1.0", "constraint": { "rotation": { "source": 1 } } } }"#,
        ),
    };
    let limbs: Vec<String> = LIMBS.iter().map(|name| format!(r#", {{ "name": "{name}" }}"#)).collect();
    let children: Vec<String> = (NODES.len()..NODES.len() + LIMBS.len()).map(|node| format!(", {node}")).collect();
    let humanoid = LIMBS.iter().zip(NODES.len()..).map(|(name, node)| match version {
        0 => format!(r#", {{ "bone": "{name}", "node": {node} }}"#),
        _ => format!(r#", "{name}": {{ "node": {node} }}"#),
    });
    let own = own.replace("LIMBS", &humanoid.collect::<String>());
    let json = format!(
        r#"{{ "asset": {{ "version": "2.0" }}, "scene": 0, "scenes": [{{ "nodes": [4] }}],
"nodes": [
  {{ "name": "face", "mesh": 1, "skin": 0 }},
  {{ "name": "head", "children": [5, 6], "translation": [0, 0.25, 0] }},
  {{ "name": "hips", "children": [3{children}], "translation": [0, 1, 0] }},
  {{ "name": "spine", "children": [1], "translation": [0, 0.25, 0] }},
  {{ "name": "root", "children": [2, 0, 7] }},
  {{ "name": "hair", "children": [8], "translation": [0, 0.3, 0] }},
  {{ "name": "eye", "translation": [0, 0.2, 0.1]{constraint} }},
  {{ "name": "body", "mesh": 0, "skin": 0 }},
  {{ "name": "hair_end", "translation": [0, 0.2, 0] }}{limbs}
],
"skins": [{{ "joints": [5, 1, 2], "inverseBindMatrices": 8 }}],
"meshes": [
  {{ "name": "body mesh", "extras": {{ "targetNames": ["breath"] }}, "primitives": [{{ "material": 0,
     "attributes": {{ "POSITION": 0, "JOINTS_0": 5, "WEIGHTS_0": 7 }}, "targets": [{{ "POSITION": 4 }}] }}] }},
  {{ "name": "face mesh", "extras": {{ "targetNames": ["smile", "blink"] }}, "primitives": [{{ "material": 0,
     "attributes": {{ "POSITION": 1, "JOINTS_0": 6, "WEIGHTS_0": 7 }}, "targets": [{{ "POSITION": 2 }}, {{ "POSITION": 3 }}],
     "extensions": {{ "KHR_materials_variants": {{ "mappings": [{{ "material": 1, "variants": [0] }}] }} }} }}] }}
],
"materials": [
  {{ "name": "skin", "pbrMetallicRoughness": {{ "baseColorTexture": {{ "index": 0 }} }},
     "extensions": {{ "VRMC_materials_mtoon": {{ "specVersion": "1.0", "rimLightingMixFactor": 1, "shadeMultiplyTexture": {{ "index": 0 }} }} }} }},
  {{ "name": "gold" }}
],
"textures": [{{ "source": 1 }}],
"images": [{{ "uri": "missing.png" }}, {{ "uri": "data:image/png;base64,{image}" }}],
"accessors": [{accessors}], "bufferViews": [{views}], "buffers": [{{ "byteLength": {length} }}],
"extensionsUsed": ["VRM", "VRMC_vrm", "VRMC_springBone", "VRMC_node_constraint", "VRMC_materials_mtoon", "KHR_materials_variants"],
"extensions": {{ {own}, "KHR_materials_variants": {{ "variants": [{{ "name": "gold" }}] }} }} }}"#,
        children = children.concat(),
        limbs = limbs.concat(),
        image = base64(&png([9, 8, 7])),
        accessors = accessors.join(", "),
        views = views.join(", "),
        length = bin.len(),
    );
    container(&json, &bin)
}
