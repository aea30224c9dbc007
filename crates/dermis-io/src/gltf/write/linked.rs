//! Names in extensions ([`links`]) as the numbers of what is written.

use super::scene::GlbScene;
use crate::appearance::Description;
use crate::appearance::links::{self, Place, To, VARIANTS, VRM};
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

/// What was left out, in words, and whether the file is an avatar.
pub(super) fn written(lost: HashMap<String, (usize, bool)>, root: &serde_json::Map<String, Value>) -> GlbWritten {
    let mut left_out: Vec<String> = lost
        .into_iter()
        .map(|(name, (parts, all))| match all {
            true => format!("{name}: the file has no longer all that it names"),
            false if parts == 1 => format!("1 part of {name} whose bone, mesh or morph target the file no longer has"),
            false => format!("{parts} parts of {name} whose bone, mesh or morph target the file no longer has"),
        })
        .collect();
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
