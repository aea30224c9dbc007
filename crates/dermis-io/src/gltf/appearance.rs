//! What a file shows beside shape and motion, as an [`Appearance`].

use super::VISIBILITY;
use super::document::{Document, Look, load_uri};
use super::linked::Named;
use super::nodes::{Local, Nodes};
use super::skins::Bones;
use crate::appearance::{Description, Hung, MOST_BESIDE, Object, Variants, Worn, media_type};
use crate::contents::{Flaw, MorphTarget, Resolve};
use crate::driver_table::{JOINT_EXTENSION, POSE_SPACE_EXTENSION};
use crate::flaws::{Flaws, short};
use dermis_rig::glam::{DAffine3, DMat4};
use dermis_rig::{Appearance, Image};
use serde_json::{Value, json};
use std::collections::HashMap;

/// Bones and meshes as they were read.
pub(super) struct Shown<'a> {
    pub nodes: &'a Nodes,
    /// Under their final names.
    pub bones: &'a Bones,
    /// The nodes whose meshes were read, ascending.
    pub drawn: &'a [u32],
    /// The same in the order of the objects; none if they are no objects.
    pub objects: &'a [u32],
    /// For each node the first of its morph targets, and their number.
    pub targets: &'a HashMap<u32, (usize, usize)>,
    /// Under their final names.
    pub morphs: &'a [MorphTarget],
    pub variants: Vec<Variants>,
}

/// Everything that is neither bone, mesh nor motion, with the names of the extensions in it; `None` if there is nothing.
///
/// - `look`: what the file has of it
pub(super) fn read(
    document: &Document,
    look: Look,
    shown: Shown<'_>,
    resolve: &Resolve<'_>,
    flaws: &mut Flaws,
) -> Option<(Appearance, Vec<String>)> {
    let list = |value: Value| match value {
        Value::Array(list) => list,
        _ => Vec::new(),
    };
    let (place, names, images) = images(document, &look.images, resolve, flaws);
    let chosen = look.scene.as_u64().unwrap_or(0);
    let scene = look.scenes.as_array().and_then(|scenes| scenes.get(usize::try_from(chosen).ok()?));
    let scene = scene.map(|scene| picked(scene, &["extras", "extensions"])).unwrap_or_default();
    let mut made = Description {
        materials: list(look.materials),
        textures: list(look.textures),
        samplers: list(look.samplers),
        images: names,
        cameras: list(look.cameras),
        scene,
        asset: picked(&look.asset, &["copyright", "extras", "extensions"]),
        required: document.root.extensions_required.iter().map(|name| short(name)).collect(),
        ..Description::default()
    };
    for texture in &mut made.textures {
        renumber(texture, &place, flaws);
    }
    for (key, value) in [("extras", look.extras), ("extensions", look.extensions)] {
        if !value.is_null() {
            made.root.insert(key.into(), value);
        }
    }
    made.parts = shown.variants;
    let numbers = around(document, shown.nodes, shown.bones, (shown.drawn, shown.objects), &mut made, flaws);
    let named = Named {
        document,
        bones: shown.bones,
        nodes: &numbers,
        objects: shown.objects,
        object_names: shown.objects.iter().map(|&node| object_name(document, node)).collect(),
        images: &place,
        targets: shown.targets,
        morphs: shown.morphs,
    };
    named.name(&mut made, flaws);
    made.check(flaws);
    let appearance = Appearance { description: made.text(), images };
    // Values a step deeper than a reader follows could not be read again.
    let readable = serde_json::from_slice::<Description>(appearance.description.as_bytes()).is_ok();
    if !readable {
        flaws.add(Flaw::Unsupported, || "extras nested beyond 120 levels, and with them all materials".into());
    }
    (readable && !made.is_empty()).then(|| (appearance, made.extensions()))
}

/// Some keys of an object.
fn picked(value: &Value, keys: &[&str]) -> Object {
    let own = value.as_object().into_iter().flatten();
    own.filter(|(key, value)| keys.contains(&key.as_str()) && !value.is_null())
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

/// The images that can be carried: for each of the file its number among them, what is said of them, and their bytes.
fn images(
    document: &Document,
    said_of: &Value,
    resolve: &Resolve<'_>,
    flaws: &mut Flaws,
) -> (Vec<Option<usize>>, Vec<Value>, Vec<Image>) {
    let (mut place, mut said, mut images) = (Vec::new(), Vec::new(), Vec::<Image>::new());
    let mut known: HashMap<&str, usize> = HashMap::new();
    // Images within the file may repeat its bytes once; a hostile file repeats them a million times.
    let (mut within, mut beside) = (document.length().saturating_mul(2), MOST_BESIDE);
    for (at, image) in said_of.as_array().into_iter().flatten().enumerate() {
        let uri = image.get("uri").and_then(Value::as_str);
        let view = image.get("bufferView").and_then(Value::as_u64);
        let bytes = match (uri, view) {
            (Some(uri), _) => match known.get(uri) {
                Some(&same) => repeated(&images[same].bytes, &mut within),
                None if uri.starts_with("data:") => {
                    load_uri(uri, 0, resolve).map_err(|e| e.to_string()).and_then(|bytes| repeated(&bytes, &mut within))
                }
                None => load_uri(uri, beside + 1, resolve).map_err(|e| e.to_string()).and_then(|bytes| {
                    beside = beside.checked_sub(bytes.len() as u64).ok_or("the images are larger than a gigabyte")?;
                    Ok(bytes)
                }),
            },
            (None, Some(view)) => match document.view(view) {
                Some(bytes) => repeated(bytes, &mut within),
                None => Err(format!("there is no buffer view {view}, or it goes beyond its buffer")),
            },
            (None, None) => Err("it names no bytes".into()),
        };
        let typed = bytes.and_then(|bytes| match media_type(&bytes) {
            Some(media_type) => Ok(Image { media_type: media_type.into(), bytes }),
            None => Err("it is no PNG, JPEG, WebP, KTX2 or DDS".into()),
        });
        place.push(match typed {
            Ok(read) => {
                if let Some(uri) = uri {
                    known.insert(uri, images.len());
                }
                said.push(picked(image, &["name", "extras", "extensions"]).into());
                images.push(read);
                Some(images.len() - 1)
            }
            Err(reason) => {
                flaws.add(Flaw::Image, || format!("image {at}: {reason}"));
                None
            }
        });
    }
    (place, said, images)
}

/// A copy of bytes that the file has, if it may have so many.
fn repeated(bytes: &[u8], left: &mut u64) -> Result<Vec<u8>, String> {
    *left = left.checked_sub(bytes.len() as u64).ok_or("the images take more bytes than the file has")?;
    Ok(bytes.to_vec())
}

/// Gives the images of a texture, also those that an extension names, their numbers among the images carried.
fn renumber(texture: &mut Value, place: &[Option<usize>], flaws: &mut Flaws) {
    let Some(texture) = texture.as_object_mut() else { return };
    let mut number = |object: &mut Object| {
        let Some(source) = object.get("source") else { return };
        let at = source.as_u64().and_then(|at| place.get(usize::try_from(at).ok()?));
        if at.is_none() {
            flaws.add(Flaw::Reference, || format!("image {source} of {}", place.len()));
        }
        match at.copied().flatten() {
            Some(at) => object.insert("source".into(), json!(at)),
            None => object.remove("source"), // counted as an image if it is one
        };
    };
    number(texture);
    let extensions = texture.get_mut("extensions").and_then(Value::as_object_mut);
    extensions.into_iter().flat_map(|own| own.values_mut()).filter_map(Value::as_object_mut).for_each(number);
}

/// Nodes that are neither bone nor mesh, and what bones and mesh carry.
///
/// A node above bones or meshes is carried only for its camera, extras and extensions: its transform is in the bones. A node
/// hangs on the nearest node above it that is a bone or carried. Result: the number of each node that is carried.
fn around(
    document: &Document,
    nodes: &Nodes,
    bones: &Bones,
    (drawn, objects): (&[u32], &[u32]),
    made: &mut Description,
    flaws: &mut Flaws,
) -> Vec<Option<usize>> {
    let count = nodes.parents.len();
    let own = |at: usize| {
        let node = &document.root.nodes[at];
        let keys = [("camera", &node.camera), ("extras", &node.extras), ("extensions", &node.extensions)];
        let filled = keys.into_iter().filter_map(|(key, value)| Some((key, value.as_deref()?)));
        filled
            .filter(|(_, value)| !value.is_null())
            .map(|(key, value)| (key.to_owned(), value.clone()))
            .collect::<Object>()
    };
    let bone = |at: usize| bones.of_node(at as u32);
    let is_drawn = |at: usize| drawn.binary_search(&(at as u32)).is_ok();
    let mut above = vec![false; count]; // whether a bone or a mesh hangs below
    for &at in nodes.order.iter().rev() {
        let at = at as usize;
        if let Some(parent) = nodes.parents[at].filter(|_| above[at] || bone(at).is_some() || is_drawn(at)) {
            above[parent as usize] = true;
        }
    }
    let mut number: Vec<Option<usize>> = vec![None; count];
    // What each node would hang on, and the way from there; whether that is its own transform alone.
    let mut hooks: Vec<Option<u32>> = vec![None; count];
    let mut ways: Vec<(DAffine3, bool)> = nodes.locals.iter().map(|local| (local.affine(), true)).collect();
    for &at in &nodes.order {
        let at = at as usize;
        if let Some(parent) = nodes.parents[at] {
            let up = parent as usize;
            let stands = bone(up).is_some() || number[up].is_some();
            hooks[at] = if stands { Some(parent) } else { hooks[up] };
            if !stands {
                ways[at] = (ways[up].0 * ways[at].0, false);
            }
        }
        if !nodes.shown[at] || is_drawn(at) {
            continue;
        }
        let mut object = own(at);
        if let Some(bone) = bone(at) {
            if !object.is_empty() {
                made.bones.insert(bones.names[bone].clone(), object);
            }
            continue;
        }
        // Whether several meshes are shown is said of each of them.
        if above[at] && drawn.len() > 1 {
            object = without(object, &[VISIBILITY]);
        }
        if above[at] && object.is_empty() {
            continue;
        }
        let (local, alone) = ways[at];
        if !local.is_finite() {
            flaws.add(Flaw::Unsupported, || format!("the transform of node {at}, which is not finite"));
            continue;
        }
        place(&mut object, if alone { nodes.locals[at] } else { Local::Matrix(local) });
        if let Some(name) = &document.root.nodes[at].name {
            object.insert("name".into(), json!(short(name)));
        }
        let mine = made.nodes.len();
        number[at] = Some(mine);
        made.nodes.push(object.into());
        match hooks[at].map(|hook| (bone(hook as usize), number[hook as usize])) {
            Some((None, Some(parent))) => {
                let Some(parent) = made.nodes[parent].as_object_mut() else { continue };
                if let Some(children) = parent.entry("children").or_insert_with(|| json!([])).as_array_mut() {
                    children.push(json!(mine));
                }
            }
            hangs => {
                let bone = hangs.and_then(|(bone, _)| bone).map(|bone| bones.names[bone].clone());
                made.hung.push(Hung { bone, node: mine as u32 });
            }
        }
    }
    // What drives the morph targets of this file says nothing of others.
    let worn = |at: u32, aside: &[&str]| {
        let mut node = without(own(at as usize), aside);
        node.remove("camera");
        let mesh = document.root.nodes[at as usize].mesh.and_then(|mesh| document.root.meshes.get(mesh as usize));
        let mut extras = mesh.map_or(Value::Null, |mesh| mesh.extras.clone());
        if let Some(object) = extras.as_object_mut() {
            object.remove("targetNames");
        }
        let is_empty = extras.is_null() || extras.as_object().is_some_and(Object::is_empty);
        Worn { node, mesh: (!is_empty).then(|| ("extras".to_owned(), extras)).into_iter().collect() }
    };
    if let [only] = drawn {
        Worn { node: made.mesh_node, mesh: made.mesh } = worn(*only, &[JOINT_EXTENSION, POSE_SPACE_EXTENSION]);
        return number;
    }
    let several = objects.len() > 1;
    for &at in if several { objects } else { drawn } {
        let worn = worn(at, &[JOINT_EXTENSION, POSE_SPACE_EXTENSION, VISIBILITY]);
        if !several && worn != Worn::default() {
            flaws.add(Flaw::Unsupported, || "extras of a mesh that is no object of its own".into());
        }
        made.objects.entry(object_name(document, at)).or_default().push(worn);
    }
    made.objects.retain(|_, list| several && list.iter().any(|worn| *worn != Worn::default()));
    number
}

/// What the mesh of a node is called.
pub(super) fn object_name(document: &Document, node: u32) -> String {
    let own = &document.root.nodes[node as usize];
    let mesh = || document.root.meshes.get(own.mesh? as usize)?.name.as_deref().map(short);
    own.name.clone().or_else(mesh).unwrap_or_default()
}

/// What a node carries, but for some extensions.
fn without(mut object: Object, aside: &[&str]) -> Object {
    if let Some(Value::Object(extensions)) = object.get_mut("extensions") {
        aside.iter().for_each(|name| drop(extensions.remove(*name)));
        if extensions.is_empty() {
            object.remove("extensions");
        }
    }
    object
}

/// Writes a local transform as a node has it.
fn place(node: &mut Object, local: Local) {
    match local {
        Local::Matrix(matrix) if matrix == DAffine3::IDENTITY => {}
        Local::Matrix(matrix) => {
            node.insert("matrix".into(), json!(DMat4::from(matrix).to_cols_array()));
        }
        Local::Trs { translation, rotation, scale } => {
            let (rest, parts) = (
                [vec![0.0; 3], vec![0.0, 0.0, 0.0, 1.0], vec![1.0; 3]],
                [translation.to_array().to_vec(), rotation.to_array().to_vec(), scale.to_array().to_vec()],
            );
            for ((key, part), rest) in ["translation", "rotation", "scale"].into_iter().zip(parts).zip(rest) {
                if part != rest {
                    node.insert(key.into(), json!(part));
                }
            }
        }
    }
}
