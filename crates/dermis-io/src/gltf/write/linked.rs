//! Names in extensions ([`links`]) as the numbers of what is written.

use super::scene::GlbScene;
use crate::appearance::Description;
use crate::appearance::links::{self, CHARACTER, Place, SKELETON_MAPPING, To, VARIANTS, VRM};
use dermis_rig::Mesh;
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};

/// What became of what a file is written from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GlbWritten {
    /// What extensions name and the file does not have, in words.
    pub left_out: Vec<String>,
    /// Whether the file is a VRM avatar: it has the extension `VRM` or `VRMC_vrm`.
    pub is_vrm: bool,
}

/// The numbers of things in a file.
pub(super) struct Numbers<'a> {
    pub bones: HashMap<&'a str, usize>,
    /// The first node of the description.
    pub first: usize,
    /// The node of the first mesh.
    pub meshes: usize,
    /// Which meshes have morph targets.
    pub has_targets: &'a [bool],
    mesh: Option<&'a Mesh>,
    objects: HashMap<&'a str, Vec<usize>>,
    targets: HashMap<&'a str, usize>,
    /// Of nodes of the description, materials, textures, images, variants.
    counts: [usize; 5],
}

impl<'a> Numbers<'a> {
    pub(super) fn new(scene: &GlbScene<'a>, look: &Description, materials: usize) -> Self {
        let mut bones = HashMap::new();
        for (at, name) in scene.skeleton.into_iter().flat_map(|skeleton| skeleton.names().iter()).enumerate() {
            bones.entry(name.as_str()).or_insert(at);
        }
        let mut objects: HashMap<&str, Vec<usize>> = HashMap::new();
        for (at, object) in scene.mesh.iter().flat_map(|mesh| &mesh.objects).enumerate() {
            objects.entry(&object.name).or_default().push(at);
        }
        let mut targets = HashMap::new();
        for (at, morph) in scene.morphs.iter().enumerate() {
            targets.entry(morph.name.as_str()).or_insert(at);
        }
        let variants = look.root.get("extensions").and_then(|own| own.get(VARIANTS)?.get("variants")?.as_array());
        let counts =
            [look.nodes.len(), materials, look.textures.len(), look.images.len(), variants.map_or(0, Vec::len)];
        Self { bones, first: 0, meshes: 0, has_targets: &[], mesh: scene.mesh, objects, targets, counts }
    }

    /// Puts numbers in place of names in the extensions of `object`; says what is left out.
    pub(super) fn put(&self, object: &mut Value, lost: &mut HashMap<String, (usize, bool)>) {
        let Some(object) = object.as_object_mut() else { return };
        let Some(own) = object.get_mut("extensions").and_then(Value::as_object_mut) else { return };
        own.retain(|name, extension| {
            let followed = links::follow(name, extension, &mut |to, value| self.number(to, value).is_some());
            if followed.lost > 0 || followed.all {
                let (parts, all) = lost.entry(name.clone()).or_default();
                *parts += followed.lost;
                *all |= followed.all;
            }
            !followed.all
        });
        if own.is_empty() {
            object.remove("extensions");
        }
    }

    fn number(&self, to: To, value: &mut Value) -> Option<()> {
        let below = |value: &Value, limit: usize| value.as_u64().filter(|number| *number < limit as u64).map(drop);
        let [_, materials, textures, images, variants] = self.counts;
        match to {
            To::Node => *value = json!(self.node(value.as_str()?)?),
            To::MeshNode => *value = json!(self.meshes + self.object(value.as_str()?)?),
            To::Mesh => *value = json!(self.object(value.as_str()?)?),
            To::NodeTarget(key) | To::MeshTarget(key) => {
                let own = value.as_object_mut()?;
                let object = self.object(own.get(key)?.as_str()?)?;
                let target = *self.targets.get(links::named_target(own.get("index")?.as_str()?)?)?;
                self.has_targets.get(object).filter(|has| **has)?;
                let first = if matches!(to, To::NodeTarget(_)) { self.meshes } else { 0 };
                own.insert(key.into(), json!(first + object));
                own.insert("index".into(), json!(target));
            }
            To::Material => below(value, materials)?,
            To::Texture => below(value, textures)?,
            To::Image => below(value, images)?,
            To::Variant => below(value, variants)?,
            To::Scene => below(value, 1)?,
        }
        Some(())
    }

    fn node(&self, place: &str) -> Option<usize> {
        match Place::of(place)? {
            Place::Bone(name) => self.bones.get(name).copied(),
            Place::Node(number) => Some(self.first + number as usize).filter(|_| (number as usize) < self.counts[0]),
            _ => Some(self.meshes + self.object(place)?),
        }
    }

    fn object(&self, place: &str) -> Option<usize> {
        let mesh = self.mesh?;
        match Place::of(place)? {
            Place::Mesh => (!mesh.has_several_objects()).then_some(0),
            Place::Object { name, at, of } => {
                let same = self.objects.get(name).filter(|same| same.len() == of && mesh.has_several_objects())?;
                same.get(at).copied()
            }
            _ => None,
        }
    }
}

/// Leaves out of the extensions of the file those that are drafts, if `kept` is false, and those that mean nothing without
/// [`CHARACTER`], if it is not there; result: what was left out, in words.
pub(super) fn leave_drafts(root: &mut Value, kept: bool) -> Vec<String> {
    let Some(own) = root.get_mut("extensions").and_then(Value::as_object_mut) else { return Vec::new() };
    let is_character = own.contains_key(CHARACTER);
    let mut left_out = Vec::new();
    own.retain(|name, _| {
        let stays = !links::is_draft(name) || (kept && is_character);
        if !stays {
            left_out.push(match kept {
                true => format!("{name}, which means nothing without {CHARACTER}"),
                false => format!("{name}, a draft that may change; it is kept if that is asked for"),
            });
        }
        stays
    });
    if own.is_empty() {
        root.as_object_mut().map(|root| root.remove("extensions"));
    }
    left_out
}

/// Puts the names of the nodes of a file where [`SKELETON_MAPPING`] repeats them.
pub(super) fn name_roles(root: &mut Value, nodes: &[Value]) {
    let sets = root.get_mut("extensions").and_then(|own| own.get_mut(SKELETON_MAPPING)?.get_mut("skeletalRigMappings"));
    let sets = sets.and_then(Value::as_object_mut).into_iter().flatten();
    for role in sets.filter_map(|(_, set)| set.as_object_mut()).flatten().filter_map(|(_, role)| role.as_object_mut()) {
        let node = role.get("node").and_then(Value::as_u64).and_then(|node| nodes.get(node as usize));
        if let (Some(said), Some(name)) = (role.get_mut("name"), node.and_then(|node| node.get("name"))) {
            *said = name.clone();
        }
    }
}

/// What was left out, in words, and whether the file is an avatar.
pub(super) fn written(
    lost: HashMap<String, (usize, bool)>,
    mut left_out: Vec<String>,
    root: &serde_json::Map<String, Value>,
) -> GlbWritten {
    left_out.extend(lost.into_iter().map(|(name, (parts, all))| match all {
        true => format!("{name}: the file has no longer all that it names"),
        false if parts == 1 => format!("1 part of {name} whose bone, mesh or morph target the file no longer has"),
        false => format!("{parts} parts of {name} whose bone, mesh or morph target the file no longer has"),
    }));
    left_out.sort();
    let own: HashSet<&str> = root
        .get("extensions")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .map(|(name, _)| name.as_str())
        .collect();
    GlbWritten { left_out, is_vrm: VRM.iter().any(|name| own.contains(name)) }
}
