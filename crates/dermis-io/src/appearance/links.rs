//! Extensions whose numbers name nodes, meshes, morph targets, materials and pictures: where each number stands, and its name.
//!
//! Bones, meshes and morph targets are written anew, under other numbers. In a [`Description`](super::Description) the numbers of
//! these extensions are therefore names ([`Place`], [`target_name`]), which a writer turns into the numbers of its file. What is named and is not
//! in that file is left out, with as much around it as means nothing without it: a bind of an expression, a spring, or the whole extension.
//!
//! Source: VRM consortium, "VRM 0.0", "VRMC_vrm 1.0", "VRMC_springBone 1.0", "VRMC_node_constraint 1.0" and their JSON schemas; Khronos Group,
//! "KHR_materials_variants", and the drafts of "KHR_character" and "KHR_character_skeleton_mapping" (pull request 2512 of the glTF
//! repository), of which an earlier one names a scene in place of a node, and nodes by their names.

use serde_json::Value;

/// What a number of an extension counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum To {
    /// A node.
    Node,
    /// A node that shows a mesh.
    MeshNode,
    /// A mesh.
    Mesh,
    /// An object: under this key a node that shows a mesh, and under `index` one of its morph targets.
    NodeTarget(&'static str),
    /// The same of a mesh.
    MeshTarget(&'static str),
    /// A material.
    Material,
    /// A texture.
    Texture,
    /// An image.
    Image,
    /// A variant of materials.
    Variant,
    /// A scene.
    Scene,
}

/// The extension of variants, whose numbers stand at the primitives.
pub(crate) const VARIANTS: &str = "KHR_materials_variants";

/// The extensions that make a file a VRM file, of version 0 and 1.
pub(crate) const VRM: [&str; 2] = ["VRM", "VRMC_vrm"];

/// The extension that makes a file a character, a draft. Those that begin with its name mean nothing without it.
pub(crate) const CHARACTER: &str = "KHR_character";

/// The draft that says which node has which role in a vocabulary: beside each number it may hold the node's name.
pub(crate) const SKELETON_MAPPING: &str = "KHR_character_skeleton_mapping";

/// Extensions, the way to each number, and what it counts. `*` is every entry of a list or an object. A step with `!` is what is left out when the
/// thing is not there; without one it is the extension.
const LINKS: &[(&str, &str, To)] = &[
    ("VRM", "humanoid.humanBones.*.node", To::Node),
    ("VRM", "firstPerson.!firstPersonBone", To::Node),
    ("VRM", "firstPerson.meshAnnotations.!*.mesh", To::Mesh),
    ("VRM", "blendShapeMaster.blendShapeGroups.*.binds.!*", To::MeshTarget("mesh")),
    ("VRM", "secondaryAnimation.boneGroups.!*.center", To::Node),
    ("VRM", "secondaryAnimation.boneGroups.*.bones.!*", To::Node),
    ("VRM", "!secondaryAnimation.colliderGroups.*.node", To::Node),
    ("VRM", "materialProperties.*.textureProperties.!*", To::Texture),
    ("VRM", "meta.!texture", To::Texture),
    ("VRMC_vrm", "humanoid.humanBones.*.node", To::Node),
    ("VRMC_vrm", "firstPerson.meshAnnotations.!*.node", To::MeshNode),
    ("VRMC_vrm", "expressions.preset.*.morphTargetBinds.!*", To::NodeTarget("node")),
    ("VRMC_vrm", "expressions.preset.*.materialColorBinds.!*.material", To::Material),
    ("VRMC_vrm", "expressions.preset.*.textureTransformBinds.!*.material", To::Material),
    ("VRMC_vrm", "expressions.custom.*.morphTargetBinds.!*", To::NodeTarget("node")),
    ("VRMC_vrm", "expressions.custom.*.materialColorBinds.!*.material", To::Material),
    ("VRMC_vrm", "expressions.custom.*.textureTransformBinds.!*.material", To::Material),
    ("VRMC_vrm", "meta.!thumbnailImage", To::Image),
    ("VRMC_springBone", "colliders.*.node", To::Node),
    ("VRMC_springBone", "springs.!*.joints.*.node", To::Node),
    ("VRMC_springBone", "springs.!*.center", To::Node),
    ("VRMC_node_constraint", "constraint.roll.source", To::Node),
    ("VRMC_node_constraint", "constraint.aim.source", To::Node),
    ("VRMC_node_constraint", "constraint.rotation.source", To::Node),
    (CHARACTER, "rootNode", To::Node),
    (CHARACTER, "sceneIndex", To::Scene),
    (SKELETON_MAPPING, "skeletalRigMappings.*.!*.node", To::Node),
    (VARIANTS, "mappings.!*.material", To::Material),
    (VARIANTS, "mappings.*.variants.!*", To::Variant),
];

/// Extensions that name textures as materials do, and nothing else, though words in their keys say otherwise.
const NAME_NOTHING: &[&str] = &["VRMC_materials_mtoon", "VRMC_materials_hdr_emissiveMultiplier"];

/// Whether an extension has its numbers in [`LINKS`].
pub(crate) fn is_linked(name: &str) -> bool {
    LINKS.iter().any(|(own, ..)| *own == name)
}

/// Whether an extension is a draft, which may still change.
pub(crate) fn is_draft(name: &str) -> bool {
    name.starts_with(CHARACTER)
}

/// Whether it is known what an extension refers to.
pub(crate) fn is_known(name: &str) -> bool {
    is_linked(name) || NAME_NOTHING.contains(&name)
}

/// What became of an extension.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Followed {
    /// Parts that were left out.
    pub lost: usize,
    /// Whether the extension has to be left out.
    pub all: bool,
}

/// Shows `see` every number of the extension `name`, or its name; where that returns false, the part around it is left out.
pub(crate) fn follow(name: &str, extension: &mut Value, see: &mut dyn FnMut(To, &mut Value) -> bool) -> Followed {
    let mut followed = Followed::default();
    for (_, path, to) in LINKS.iter().filter(|(own, ..)| *own == name) {
        let steps: Vec<&str> = path.split('.').collect();
        // Version 0 writes a negative number where nothing is meant.
        let mut seen =
            |value: &mut Value| (name == VRM[0] && value.as_i64().is_some_and(|number| number < 0)) || see(*to, value);
        followed.all |= !walk(extension, &steps, &mut seen, &mut followed.lost);
    }
    followed
}

/// Whether all is there at the end of `steps`, or the part without it was left out.
fn walk(value: &mut Value, steps: &[&str], see: &mut dyn FnMut(&mut Value) -> bool, lost: &mut usize) -> bool {
    let Some((step, rest)) = steps.split_first() else { return see(value) };
    let (is_part, key) = step.strip_prefix('!').map_or((false, *step), |key| (true, key));
    let mut whole = true;
    let mut stays = |value: &mut Value| {
        let good = walk(value, rest, see, lost);
        *lost += usize::from(!good && is_part);
        whole &= good || is_part;
        good || !is_part
    };
    match (key, value) {
        ("*", Value::Array(list)) => list.retain_mut(stays),
        ("*", Value::Object(object)) => object.retain(|_, value| stays(value)),
        (_, Value::Object(object)) => {
            let is_whole = object.get_mut(key).is_none_or(stays);
            if !is_whole {
                object.remove(key);
            }
        }
        _ => {}
    }
    whole
}

/// Where a node or a mesh stands that an extension names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place<'a> {
    /// The bone of this name.
    Bone(&'a str),
    /// A node of the description.
    Node(u32),
    /// The only mesh, or its node.
    Mesh,
    /// The object number `at` of the `of` objects called `name`.
    Object { name: &'a str, at: usize, of: usize },
}

impl Place<'_> {
    /// As text.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Bone(name) => format!("bone:{name}"),
            Self::Node(number) => format!("node:{number}"),
            Self::Mesh => "mesh".into(),
            Self::Object { name, at, of } => format!("object:{at}/{of}:{name}"),
        }
    }
}

impl<'a> Place<'a> {
    /// From text; `None` for another.
    pub(crate) fn of(text: &'a str) -> Option<Self> {
        if text == "mesh" {
            return Some(Self::Mesh);
        }
        let (kind, rest) = text.split_once(':')?;
        match kind {
            "bone" => Some(Self::Bone(rest)),
            "node" => Some(Self::Node(rest.parse().ok()?)),
            "object" => {
                let (numbers, name) = rest.split_once(':')?;
                let (at, of) = numbers.split_once('/')?;
                Some(Self::Object { name, at: at.parse().ok()?, of: of.parse().ok()? })
            }
            _ => None,
        }
    }
}

/// The name of a morph target, in place of its number.
pub(crate) fn target_name(name: &str) -> String {
    format!("target:{name}")
}

/// The morph target that a text names; `None` if it names none.
pub(crate) fn named_target(text: &str) -> Option<&str> {
    text.strip_prefix("target:")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn without_nine(name: &str, mut extension: Value) -> (Value, Followed) {
        let gone = |to: To, value: &Value| match to {
            To::NodeTarget(key) | To::MeshTarget(key) => value[key] == 9,
            _ => *value == 9,
        };
        let followed = follow(name, &mut extension, &mut |to, value| !gone(to, value));
        (extension, followed)
    }

    #[test]
    fn what_means_nothing_alone_goes_with_what_it_names() {
        let (made, followed) = without_nine(
            "VRM",
            json!({
                "humanoid": { "humanBones": [{ "bone": "hips", "node": 1 }] },
                "firstPerson": { "firstPersonBone": -1, "meshAnnotations": [{ "mesh": 9 }, { "mesh": 2 }] },
                "blendShapeMaster": { "blendShapeGroups": [{ "binds": [{ "mesh": 9, "index": 0 }, { "mesh": 1, "index": 3 }] }] },
                "secondaryAnimation": { "boneGroups": [{ "center": 9, "bones": [2] }, { "center": -1, "bones": [9, 3] }], "colliderGroups": [{ "node": 4 }] },
            }),
        );
        assert_eq!(followed, Followed { lost: 4, all: false });
        assert_eq!(made["firstPerson"], json!({ "firstPersonBone": -1, "meshAnnotations": [{ "mesh": 2 }] }));
        assert_eq!(made["blendShapeMaster"]["blendShapeGroups"][0]["binds"], json!([{ "mesh": 1, "index": 3 }]));
        assert_eq!(made["secondaryAnimation"]["boneGroups"], json!([{ "center": -1, "bones": [3] }]));
        // Bone groups name colliders by number, so colliders go together.
        let (made, _) = without_nine("VRM", json!({ "secondaryAnimation": { "colliderGroups": [{ "node": 9 }] } }));
        assert_eq!(made, json!({}));
        assert!(without_nine("VRM", json!({ "humanoid": { "humanBones": [{ "node": 9 }] } })).1.all);
        assert!(without_nine("VRMC_vrm", json!({ "humanoid": { "humanBones": { "hips": { "node": 9 } } } })).1.all);
        assert!(without_nine("VRMC_node_constraint", json!({ "constraint": { "aim": { "source": 9 } } })).1.all);
    }

    #[test]
    fn places_are_read_as_they_are_written() {
        let object = Place::Object { name: "a:b/c", at: 1, of: 2 };
        for place in [Place::Bone("J:1"), Place::Node(7), Place::Mesh, object] {
            assert_eq!(Place::of(&place.text()), Some(place));
        }
        assert_eq!(Place::of("7"), None);
    }
}
