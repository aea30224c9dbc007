//! Numbers of extensions that are kept by name ([`links`]): what each names in this file.

use super::document::{Document, Look};
use super::mesh::Drawn;
use super::nodes::Nodes;
use super::skins::Bones;
use crate::appearance::links::{self, Place, To};
use crate::appearance::{Description, Variants};
use crate::contents::{Flaw, MorphTarget};
use crate::flaws::Flaws;
use serde_json::{Value, json};
use std::collections::HashMap;

/// Numbers that a reference costs: the longest name of a thing.
const NAME: u64 = 64;

/// Nodes that a further reference names, and those that carry one.
///
/// Only extensions that are kept by name count.
pub(super) fn named_nodes(document: &Document, look: &Look) -> Vec<u32> {
    let mut named = Vec::new();
    let mut see = |extensions: &Value| {
        let known = extensions.as_object().into_iter().flatten().filter(|(name, _)| links::is_linked(name));
        for (name, extension) in known {
            links::follow(name, &mut extension.clone(), &mut |to, value| {
                let number = value.as_u64().and_then(|number| u32::try_from(number).ok());
                named.extend(number.filter(|_| to == To::Node));
                true
            });
        }
        named.len()
    };
    see(&look.extensions);
    let mut carriers = Vec::new();
    for (at, node) in document.root.nodes.iter().enumerate() {
        let Some(own) = node.extensions.as_deref() else { continue };
        let before = see(&Value::Null);
        if see(own) > before {
            carriers.push(at as u32);
        }
    }
    named.extend(carriers);
    named.retain(|node| (*node as usize) < document.root.nodes.len());
    named.sort_unstable();
    named.dedup();
    named
}

/// The nodes that become bones though no skin has them as joints, parents first: those that clips move, or that extensions name, and
/// that move a mesh without a skin, or joints. In a file without skins that has such nodes, a mesh that hangs on none of them hangs on a bone of its own.
pub(super) fn further_bones(document: &Document, look: &Look, nodes: &Nodes, drawn: &Drawn, bones: &Bones) -> Vec<u32> {
    let count = nodes.parents.len();
    let is_bone = |at: usize| bones.of_node(at as u32).is_some();
    let mut rigid = vec![false; count]; // at or below it hangs a mesh without a skin
    drawn.blocks.iter().filter(|block| block.skin.is_none()).for_each(|block| rigid[block.node as usize] = true);
    let shows = rigid.clone();
    let mut carries: Vec<bool> = (0..count).map(is_bone).collect(); // at or below it is a joint
    for &at in nodes.order.iter().rev() {
        if let Some(parent) = nodes.parents[at as usize] {
            rigid[parent as usize] |= rigid[at as usize];
            carries[parent as usize] |= carries[at as usize];
        }
    }
    let mut chosen = vec![false; count];
    for node in named_nodes(document, look) {
        chosen[node as usize] = rigid[node as usize] || carries[node as usize];
    }
    let channels = document.root.animations.iter().flat_map(|animation| &animation.channels);
    let moved = channels.filter(|channel| ["translation", "rotation", "scale"].contains(&channel.target.path.as_str()));
    for node in moved.filter_map(|channel| channel.target.node).filter(|node| (*node as usize) < count) {
        chosen[node as usize] |= rigid[node as usize];
    }
    let any = chosen.contains(&true);
    let mut hangs = vec![false; count];
    let mut further = Vec::new();
    for &node in nodes.order.iter().filter(|&&node| nodes.shown[node as usize]) {
        let at = node as usize;
        let above = nodes.parents[at].is_some_and(|parent| hangs[parent as usize]);
        let alone = any && document.root.skins.is_empty() && shows[at] && !above;
        if (chosen[at] || alone) && !is_bone(at) {
            further.push(node);
        }
        hangs[at] = above || chosen[at] || alone;
    }
    further
}

/// What numbers of extensions name.
pub(super) struct Named<'a> {
    pub document: &'a Document,
    pub bones: &'a Bones,
    /// The number of each node in the description, if it is there.
    pub nodes: &'a [Option<usize>],
    /// The nodes of the objects, in their order.
    pub objects: &'a [u32],
    /// What each of them is called.
    pub object_names: Vec<String>,
    /// The number of each image in the description, if it is there.
    pub images: &'a [Option<usize>],
    /// For each node the first of its morph targets among those read, and their number.
    pub targets: &'a HashMap<u32, (usize, usize)>,
    pub morphs: &'a [MorphTarget],
}

impl Named<'_> {
    /// Puts names in place of numbers; what they name and is not there is left out and counted.
    pub fn name(&self, made: &mut Description, flaws: &mut Flaws) {
        let materials = made.materials.len();
        let textures = made.textures.len();
        made.follow(&mut |to, value| {
            let named = self.named(to, value, materials, textures);
            if named.is_none() {
                flaws.add(Flaw::Reference, || format!("a reference of an extension to {to:?}").to_lowercase());
            }
            named.is_some()
        });
    }

    fn named(&self, to: To, value: &mut Value, materials: usize, textures: usize) -> Option<()> {
        self.document.charge(1, NAME, "references of extensions").ok()?;
        let number = |value: &Value| value.as_u64().and_then(|number| u32::try_from(number).ok());
        match to {
            To::Node => *value = json!(self.node(number(value)?)?),
            To::MeshNode => *value = json!(self.mesh_node(number(value)?)?),
            To::Mesh => *value = json!(self.mesh_node(self.only_node(number(value)?)?)?),
            To::NodeTarget(key) | To::MeshTarget(key) => {
                let own = value.as_object_mut()?;
                let named = number(own.get(key)?)?;
                let node = if matches!(to, To::NodeTarget(_)) { named } else { self.only_node(named)? };
                let (first, count) = *self.targets.get(&node)?;
                let target = own.get("index")?.as_u64().and_then(|at| usize::try_from(at).ok())?;
                let morph = self.morphs.get(first + target).filter(|_| target < count)?;
                own.insert("index".into(), json!(links::target_name(&morph.name)));
                own.insert(key.into(), json!(self.mesh_node(node)?));
            }
            To::Image => *value = json!((*self.images.get(number(value)? as usize)?)?),
            To::Material => drop(Some(number(value)?).filter(|&at| (at as usize) < materials)?),
            To::Texture => drop(Some(number(value)?).filter(|&at| (at as usize) < textures)?),
            To::Variant => {}
            To::Scene => {
                let shown = self.document.root.scene.unwrap_or(0);
                Some(number(value)?).filter(|scene| *scene == shown)?;
                *value = json!(0); // the only one that is written
            }
        }
        Some(())
    }

    fn node(&self, node: u32) -> Option<String> {
        if let Some(bone) = self.bones.of_node(node) {
            return Some(Place::Bone(&self.bones.names[bone]).text());
        }
        let further = self.nodes.get(node as usize).copied().flatten();
        further.map_or_else(|| self.mesh_node(node), |number| Some(Place::Node(number as u32).text()))
    }

    fn mesh_node(&self, node: u32) -> Option<String> {
        let at = self.objects.iter().position(|object| *object == node)?;
        if self.objects.len() == 1 {
            return Some(Place::Mesh.text());
        }
        let name = &self.object_names[at];
        let same = |names: &[String]| names.iter().filter(|other| *other == name).count();
        let (at, of) = (same(&self.object_names[..at]), same(&self.object_names));
        Some(Place::Object { name, at, of }.text())
    }

    /// The only node that shows a mesh.
    fn only_node(&self, mesh: u32) -> Option<u32> {
        let nodes = &self.document.root.nodes;
        let mut showing = self.objects.iter().filter(|&&node| nodes[node as usize].mesh == Some(mesh));
        showing.next().copied().filter(|_| showing.next().is_none())
    }
}

/// What variants of materials say of `parts`, each a mesh and the number of its primitive; nothing if they say nothing of all.
pub(super) fn variants(document: &Document, look: &Look, parts: &[(Option<u32>, (u32, usize))]) -> Vec<Variants> {
    let of = |&(material, (mesh, primitive)): &(Option<u32>, (u32, usize))| {
        let own = look.meshes.get(mesh as usize).and_then(|mesh| mesh.primitives.get(primitive));
        let extension = own.map_or(&Value::Null, |own| &own.extensions.variants);
        // Many nodes may show one mesh, whose variants stand in the file once.
        let fits = extension.is_null() || document.charge(extension.to_string().len() as u64, 8, "variants").is_ok();
        Variants { material, extension: if fits { extension.clone() } else { Value::Null } }
    };
    let list: Vec<Variants> = parts.iter().map(of).collect();
    if list.iter().any(|part| part.extension.is_object()) { list } else { Vec::new() }
}
