//! A skinned character as a .glb: nodes, skin, drawn mesh, morph targets, sampled clips.

mod animation;
mod appearance;
mod between;
mod linked;
mod mesh;
mod objects;
mod scene;
mod skin;
mod springs;
mod tables;
pub(crate) mod trs;
mod vertices;

pub use between::Keyed;
pub use linked::GlbWritten;
pub use scene::{GlbClip, GlbScene, MorphNormals};

use super::VISIBILITY;
use crate::appearance::links::VARIANTS;
use crate::{Format, WriteError};
use animation::Played;
use dermis_rig::{BoneIndex, Skeleton, make_unique};
use linked::Numbers;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::Write;
pub(crate) use tables::expect;
use tables::{Tables, push_list};

/// Writes a binary glTF.
///
/// Bones become nodes with the local transform `B_parent⁻¹ B_k`, or that of the default pose, and B_k⁻¹ as inverse bind matrix. A bone that is sheared and
/// never moves is a matrix; one that shears as it moves is two nodes, exact in every frame ([`affine_nodes`](super::affine_nodes)). Names that occur twice
/// get numbers. Normals are those of [`RenderMesh`](dermis_rig::RenderMesh); without them they are area-weighted
/// over [`Mesh`](dermis_rig::Mesh), so that a seam does not show. Drawn vertices keep their order; those of a file that knows only corners
/// are written once where nothing tells them apart. `_VERTEX` says which vertex each hangs on, where they differ.
/// Weights become as many sets of four as the fullest vertex needs, the largest first; where all are multiples of 1/255 or 1/65535
/// they are stored as whole numbers, so that sums stay exact. A clip's channel that never
/// leaves rest is left out, one that is constant has one key; quaternions keep their sign from frame to frame.
///
/// Several [objects](dermis_rig::MeshObject) are as many meshes with a node each, in their order, bound by one skin. Those that morph targets move
/// have all of them, and the same keys move them together; the extension stands on each of their nodes.
///
/// The [`Appearance`](dermis_rig::Appearance) of the mesh is written with it: materials, textures and cameras under their own
/// numbers, further nodes below the bones of their names, images within the file. [`GlbScene::write`] says what of it was left out.
///
/// # Errors
/// [`WriteError`], naming what disagrees. Nothing is rounded away in silence but doubles to floats.
pub fn write_glb(scene: &GlbScene, out: &mut dyn Write) -> Result<(), WriteError> {
    scene.write(out).map(drop)
}

impl GlbScene<'_> {
    /// [`write_glb`], and what became of extensions that name bones, meshes and morph targets: VRM, variants of materials.
    ///
    /// # Errors
    /// Those of [`write_glb`].
    pub fn write(&self, out: &mut dyn Write) -> Result<GlbWritten, WriteError> {
        write(self, out)
    }
}

fn write(scene: &GlbScene, out: &mut dyn Write) -> Result<GlbWritten, WriteError> {
    let mut file = Tables::default();
    let carried = scene.mesh.and_then(|mesh| mesh.render.as_ref()?.appearance.as_deref());
    let look = appearance::description(carried)?;
    let bones = scene.skeleton.map_or(0, Skeleton::len);
    let (mut nodes, mut roots) = (Vec::new(), Vec::new());
    let mut played = Played::default();
    if let Some(skeleton) = scene.skeleton {
        played = Played::new(scene, skeleton)?;
        let top = |bone: BoneIndex| played.upper[bone.get()].unwrap_or(bone.get());
        let mut children = vec![Vec::new(); bones];
        for (bone, parent) in skeleton.parents().enumerate() {
            if let Some(parent) = parent {
                children[parent.get()].push(top(bone));
            }
        }
        let mut names = skeleton.names().to_vec();
        let mut further = Vec::new(); // above bones that shear
        for ((bone, rest), children) in skeleton.bones().zip(&played.rest).zip(children) {
            let mut node = rest.node();
            if played.upper[bone.get()].is_some() {
                let pair = played.pair(bone.get());
                if !(pair.upper.matrix.is_finite() && pair.upper.rotation.is_finite() && pair.lower.is_finite()) {
                    let what = format!("the place of bone \"{}\"", skeleton.names()[bone]);
                    return Err(WriteError::NotFinite { what });
                }
                let mut upper = pair.upper.node();
                upper["children"] = json!([bone.get()]);
                further.push(upper);
                names.push(format!("{}_stretch", skeleton.names()[bone]));
                node = json!({ "rotation": pair.lower.to_array() });
            }
            push_list(&mut node, "children", children);
            nodes.push(node);
        }
        nodes.append(&mut further);
        make_unique(&mut names, "_");
        nodes.iter_mut().zip(names).for_each(|(node, name)| node["name"] = json!(name));
        roots = skeleton.bones().filter(|bone| skeleton.parents()[*bone].is_none()).map(top).collect();
        if roots.len() > 1 {
            // A skin's joints need a common root.
            nodes.push(json!({ "name": "Armature", "children": roots }));
            roots = vec![nodes.len() - 1];
        }
    }
    let mut targeted = Vec::new(); // the nodes of meshes with morph targets
    let (mut with_targets, first_mesh) = (Vec::new(), nodes.len());
    if let Some(mesh) = scene.mesh {
        with_targets = file.mesh(scene, mesh, &look)?;
        for (number, has_targets) in with_targets.iter().copied().enumerate() {
            let object = mesh.objects.get(number).filter(|_| mesh.has_several_objects());
            let mut node = json!({ "name": object.map_or(scene.name, |object| &object.name), "mesh": number });
            if scene.skeleton.is_some() && scene.weights.is_some() {
                node["skin"] = json!(0);
            }
            if let Some((name, content)) = scene.extension.filter(|_| has_targets || object.is_none()) {
                node["extensions"] = json!({ name: content });
            }
            if object.is_some_and(|object| !object.visible) {
                node["extensions"][VISIBILITY] = json!({ "visible": false });
            }
            let worn = match object {
                None => Some(&look.mesh_node),
                Some(_) => appearance::worn(&look, mesh, number).map(|worn| &worn.node),
            };
            worn.into_iter().for_each(|worn| appearance::join(&mut node, worn));
            if has_targets {
                targeted.push(nodes.len());
            }
            roots.push(nodes.len());
            nodes.push(node);
        }
    } else if !scene.morphs.is_empty() || scene.weights.is_some() || scene.extension.is_some() {
        return Err(WriteError::Count {
            what: "the scene".into(),
            things: "meshes for morph targets, weights or an extension",
            found: 0,
            expected: 1,
        });
    }
    let mut numbers = Numbers::new(scene, &look, file.materials.len());
    (numbers.first, numbers.meshes, numbers.has_targets) = (nodes.len(), first_mesh, &with_targets);
    appearance::add_nodes(&look, &numbers.bones, &mut nodes, &mut roots);
    let mut root = serde_json::Map::new();
    let mut asset = json!({ "version": "2.0", "generator": concat!("Dermis ", env!("CARGO_PKG_VERSION")) });
    appearance::join(&mut asset, &look.asset);
    root.insert("asset".into(), asset);
    let mut carried_root = Value::Object(look.root.clone());
    let mut lost = HashMap::new();
    if !look.parts.is_empty() && !mesh::has_variants(&file.meshes) {
        lost.insert(VARIANTS.to_owned(), (0, true));
        carried_root.get_mut("extensions").and_then(Value::as_object_mut).map(|own| own.remove(VARIANTS));
    }
    let mut left_out = if scene.keep_drafts { Vec::new() } else { linked::leave_drafts(&mut carried_root, false) };
    numbers.put(&mut carried_root, &mut lost);
    left_out.extend(linked::leave_drafts(&mut carried_root, true));
    linked::name_roles(&mut carried_root, &nodes);
    nodes.iter_mut().for_each(|node| numbers.put(node, &mut lost));
    left_out.extend(springs::add(scene, &numbers.bones, &mut nodes, &mut carried_root)?);
    let primitives = file.meshes.iter_mut().filter_map(|mesh| mesh["primitives"].as_array_mut()).flatten();
    primitives.for_each(|primitive| numbers.put(primitive, &mut lost));
    if let Value::Object(carried) = carried_root {
        root.extend(carried);
    }
    file.textures(&look, carried.map_or(&[], |carried| &carried.images), &mut root);
    if let Some(skeleton) = scene.skeleton {
        let skin = file.skin(skeleton)?;
        root.insert("skins".into(), json!([skin]));
    }
    let mut names: Vec<String> = scene.clips.iter().map(|clip| clip.name.clone()).collect();
    make_unique(&mut names, "_");
    let mut animations = Vec::new();
    for clip in names.iter().enumerate() {
        animations.push(file.animation(scene, &played, (clip.0, clip.1), &targeted)?);
    }
    root.insert("scene".into(), json!(0));
    let mut shown = json!({ "name": scene.name });
    push_list(&mut shown, "nodes", roots);
    appearance::join(&mut shown, &look.scene);
    root.insert("scenes".into(), json!([shown]));
    for (name, list) in [
        ("nodes", nodes),
        ("meshes", file.meshes),
        ("materials", file.materials),
        ("animations", animations),
        ("accessors", file.accessors),
        ("bufferViews", file.views),
    ] {
        if !list.is_empty() {
            root.insert(name.into(), Value::Array(list));
        }
    }
    if !file.bytes.is_empty() {
        root.insert("buffers".into(), json!([{ "byteLength": file.bytes.len() }]));
    }
    appearance::name_extensions(&mut root, &look.required);
    let told = linked::written(lost, left_out, &root);
    container(&Value::Object(root).to_string(), file.bytes, out)?;
    Ok(told)
}

/// Header, JSON chunk padded with blanks, binary chunk padded with zeros.
pub(super) fn container(json: &str, mut binary: Vec<u8>, out: &mut dyn Write) -> Result<(), WriteError> {
    let mut json = json.as_bytes().to_vec();
    json.resize(json.len().next_multiple_of(4), b' ');
    binary.resize(binary.len().next_multiple_of(4), 0);
    let size = |bytes: usize| {
        u32::try_from(bytes).map_err(|_| {
            let what = "more than four gigabytes".into();
            WriteError::CannotHold { format: Format::Gltf, what }
        })
    };
    let length = 20 + json.len() + if binary.is_empty() { 0 } else { 8 + binary.len() };
    out.write_all(b"glTF")?;
    out.write_all(&2u32.to_le_bytes())?;
    out.write_all(&size(length)?.to_le_bytes())?;
    out.write_all(&size(json.len())?.to_le_bytes())?;
    out.write_all(b"JSON")?;
    out.write_all(&json)?;
    if !binary.is_empty() {
        out.write_all(&size(binary.len())?.to_le_bytes())?;
        out.write_all(b"BIN\0")?;
        out.write_all(&binary)?;
    }
    Ok(())
}
