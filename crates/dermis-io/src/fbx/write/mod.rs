//! A skinned character as a binary .fbx: meshes, nodes, skin, blend shapes, materials, takes.

mod bones;
mod document;
mod euler;
mod materials;
mod mesh;
mod names;
mod objects;
mod rate;
mod shapes;
mod smoothing;
mod takes;

pub(crate) use names::{unique, uv_set};

use crate::WriteError;
use crate::contents::{Format, Space, UpAxis};
use crate::skinned_scene::motion::{Stage, TICKS, Take, ticks};
use crate::skinned_scene::{Materials, SceneWritten, SkinnedScene, Surface};
use bones::Bones;
use dermis_rig::Mesh;
use dermis_rig::glam::{DAffine3, DVec3};
use document::{FILE_ID, Node, Properties, Raw, TIME, Version, version_of};
use objects::{Id, Objects};
use std::io::Write;

/// The space that programs expect of an FBX file: centimetres, Y up.
pub fn common_space() -> Space {
    Space { up: UpAxis::Y, metres_per_unit: 0.01, unit: "m".into() }
}

/// Writes a binary FBX of version 7.4, or 7.5 if it is larger than four gigabytes, in the axes and the unit of `space`.
///
/// Positions, weights, shapes and bind matrices are doubles, keys floats. Polygons stay as they are, unless what is drawn does not follow
/// them; normals, texture coordinates and colours are those of their corners, so hard edges stay hard, and are marked. Bones are limb nodes with bind
/// matrices that turn and move: one that was bound in another size, sheared or mirrored has another frame of its own, which moves no
/// vertex. The first mesh has a cluster for every bone, others for those with weight in it. A bone that shears is two nodes, exact at every key
/// ([`affine_nodes`](crate::gltf::affine_nodes)). Several roots stand below a node of their own.
///
/// Rotations are angles about x, y and z, in this order and without jumps, that change in straight lines between keys. Keys stand at the
/// clip's own key times, and between them wherever the skin is otherwise further off than 1e-4 of the mesh's diagonal, but no
/// closer to those than a fiftieth of a frame. A motion that jumps has a key that long before the jump.
///
/// Names consist of letters, digits, underscores and single colons, those of takes of anything but control characters, and each occurs
/// once among bones and meshes, shapes, materials, and takes. Images are within the file. The same scene gives the same bytes.
///
/// # Errors
/// [`WriteError`], naming what disagrees.
pub fn write(scene: &SkinnedScene<'_>, space: &Space, out: &mut dyn Write) -> Result<SceneWritten, WriteError> {
    if (scene.mesh.is_none() && scene.skeleton.is_none()) || !space.is_usable() {
        return Err(WriteError::Nothing { format: Format::Fbx, needs: "a mesh or a skeleton, and a unit" });
    }
    let mut done = SceneWritten::default();
    let from_ours = space.to_ours().inverse();
    let turn = Space { metres_per_unit: 1.0, ..space.clone() }.to_ours().matrix3.transpose();
    let rate = scene.rate();
    let stage = scene.stage(turn, space.metres_per_unit)?;
    scene.check(&from_ours)?;
    let percents: Vec<f64> = stage.rest_weights.iter().map(|weight| 100.0 * weight).collect();
    let takes: Vec<Take<DVec3>> = scene.clips.iter().map(|clip| stage.take(clip)).collect::<Result<_, _>>()?;

    let mut objects = Objects::default();
    let names = Names::new(scene, &stage, &mut done.renamed);
    let mut bones = Bones::default();
    if let Some(skeleton) = scene.skeleton {
        bones = Bones::write(&stage, skeleton, &names.bones, &names.more, &mut objects)?;
    }
    let mut channels = Vec::new();
    if let Some(mesh) = scene.mesh {
        let meshes = Meshes { scene, names: &names, percents: &percents, from_ours: &from_ours, bones: &bones };
        channels = meshes.write(mesh, &mut objects, &mut done)?;
    }
    let given: Vec<(&'static str, &str)> = scene.clips.iter().map(|clip| (names::CLIP, clip.name.as_str())).collect();
    let clip_names = names::unique(&given, &mut done.renamed);
    let mut list = Node::new("Takes").holding(Node::of("Current", clip_names.first().map_or("", String::as_str)));
    for ((clip, name), take) in scene.clips.iter().zip(&clip_names).zip(&takes) {
        list.push(takes::write((clip, name), take, &bones, (&channels, &percents), &mut objects));
        done.takes.push((name.clone(), take.keys.len(), take.off));
    }
    let mut records = vec![extension(Version::V7400)];
    records.extend(header(scene, space, rate, clip_names.first()));
    records.extend(objects.records());
    records.push(list);
    let version = version_of(&records);
    records[0] = extension(version);
    document::write(&records, version, out)?;
    Ok(done)
}

/// Names as the file has them.
struct Names {
    bones: Vec<String>,
    objects: Vec<String>,
    /// Of what stands above several roots, then of the nodes above bones that shear.
    more: Vec<String>,
    shapes: Vec<String>,
}

impl Names {
    fn new(scene: &SkinnedScene<'_>, stage: &Stage<'_>, renamed: &mut Vec<crate::skinned_scene::Renamed>) -> Self {
        let bones: Vec<&str> = scene.skeleton.iter().flat_map(|s| s.names().iter().map(String::as_str)).collect();
        let shown = scene.objects();
        let stretched = bones.iter().zip(&stage.shears).filter(|(_, shears)| **shears);
        let more: Vec<String> =
            ["Skeleton".to_owned()].into_iter().chain(stretched.map(|(name, _)| format!("{name}_stretch"))).collect();
        let given: Vec<(&'static str, &str)> = (bones.iter().map(|name| ("bone", *name)))
            .chain(shown.iter().map(|(name, _, _)| ("object", *name)))
            .chain(more.iter().map(|name| ("node", name.as_str())))
            .collect();
        let mut names = names::unique(&given, renamed);
        renamed.retain(|one| one.kind != "node"); // whose names nobody gave
        let more = names.split_off(bones.len() + shown.len());
        let objects = names.split_off(bones.len());
        let given: Vec<(&'static str, &str)> =
            scene.morphs.iter().map(|morph| ("shape", morph.name.as_str())).collect();
        Self { bones: names, objects, more, shapes: names::unique(&given, renamed) }
    }
}

/// What the meshes of a file are written from.
struct Meshes<'a> {
    scene: &'a SkinnedScene<'a>,
    names: &'a Names,
    percents: &'a [f64],
    from_ours: &'a DAffine3,
    bones: &'a Bones,
}

impl Meshes<'_> {
    /// Writes them with skins, shapes and materials. Result: number and channel of every shape of every object.
    fn write(
        &self,
        mesh: &Mesh,
        objects: &mut Objects,
        done: &mut SceneWritten,
    ) -> Result<Vec<(usize, Id)>, WriteError> {
        let Self { scene, names, percents, from_ours, bones } = *self;
        let skin = scene.weights.zip(scene.skeleton);
        let look = mesh.render.as_ref().and_then(|render| render.appearance.as_deref());
        let mut materials = Materials::new(look, Format::Fbx)?;
        let surface = Surface::new(mesh, &mut materials, Format::Fbx)?;
        if surface.split {
            done.left_out.push("polygons: what is drawn does not follow them, and is written as triangles".into());
        }
        let (mut channels, mut models, mut slots) = (Vec::new(), Vec::new(), Vec::new());
        for (number, (_, visible, range)) in scene.objects().into_iter().enumerate() {
            let name = names.objects[number].as_str();
            let (model, record) = objects.make("Model", name, "Model", "Mesh");
            objects.add(bones::model(record, None, visible));
            objects.connect(model, Id::SCENE);
            let (geometry, record) = objects.make("Geometry", name, "Geometry", "Mesh");
            let (record, own) = mesh::geometry(&surface, record, (number, range.clone()), from_ours, &mut materials)?;
            objects.add(record);
            objects.connect(geometry, model);
            if let Some((weights, _)) = skin {
                let of = (weights, range.clone(), number == 0);
                bones.write_skin(of, &names.bones, (geometry, name), objects);
            }
            let named = (&names.shapes[..], percents);
            channels.extend(shapes::write(scene.morphs, named, range.clone(), from_ours, (geometry, name), objects));
            if number == 0 {
                // A shape that moves nothing stays one.
                let is_still = |at: &usize| scene.morphs[*at].deltas.iter().all(|delta| *delta == DVec3::ZERO);
                let still: Vec<usize> = (0..scene.morphs.len()).filter(is_still).collect();
                if !still.is_empty() {
                    let at = (geometry, name);
                    channels.extend(shapes::write_chosen(
                        scene.morphs,
                        &still,
                        named,
                        range.clone(),
                        from_ours,
                        at,
                        objects,
                    ));
                }
            }
            models.push(model);
            slots.push(own);
        }
        if skin.is_some() {
            bones.write_pose(&models, scene.name, objects);
        }
        let made = materials.write_phong(objects, &mut done.renamed, &mut done.left_out)?;
        for (model, own) in models.iter().zip(slots) {
            own.iter().for_each(|&material| objects.connect(made[material], *model));
        }
        Ok(channels)
    }
}

const CREATOR: &str = concat!("Dermis ", env!("CARGO_PKG_VERSION"));

/// What the file says of itself.
fn extension(version: Version) -> Node {
    let stamp =
        [("Year", 1970), ("Month", 1), ("Day", 1), ("Hour", 10), ("Minute", 0), ("Second", 0), ("Millisecond", 0)];
    let time = Node::new("CreationTimeStamp")
        .holding(Node::of("Version", 1000))
        .holding_all(stamp.map(|(name, value)| Node::of(name, value)));
    let about = Properties::default()
        .text("Original|ApplicationVendor", "Dermis")
        .text("Original|ApplicationName", "Dermis")
        .text("Original|ApplicationVersion", env!("CARGO_PKG_VERSION"));
    let info = Node::of("SceneInfo", "GlobalInfo\0\u{1}SceneInfo")
        .with("UserData")
        .holding(Node::of("Type", "UserData"))
        .holding(Node::of("Version", 100))
        .holding(Node::new("MetaData").holding(Node::of("Version", 100)))
        .holding(about.node());
    Node::new("FBXHeaderExtension")
        .holding(Node::of("FBXHeaderVersion", 1003))
        .holding(Node::of("FBXVersion", version.number() as i32))
        .holding(Node::of("EncryptionType", 0))
        .holding(time)
        .holding(Node::of("Creator", CREATOR))
        .holding(info)
}

/// The records between it and the objects.
fn header(scene: &SkinnedScene<'_>, space: &Space, rate: f64, first: Option<&String>) -> Vec<Node> {
    // Axes by number: x is to the right; up, and what points to the viewer.
    let (up, front, sign) = match space.up {
        UpAxis::Y => (1, 2, 1),
        UpAxis::Z => (2, 1, -1),
    };
    let unit = 100.0 * space.metres_per_unit; // in centimetres
    let end = scene.clips.iter().map(|clip| ticks(clip.start + clip.duration)).max();
    let settings = Properties::default()
        .integer("UpAxis", up)
        .integer("UpAxisSign", 1)
        .integer("FrontAxis", front)
        .integer("FrontAxisSign", sign)
        .integer("CoordAxis", 0)
        .integer("CoordAxisSign", 1)
        .integer("OriginalUpAxis", up)
        .integer("OriginalUpAxisSign", 1)
        .double("UnitScaleFactor", unit)
        .double("OriginalUnitScaleFactor", unit)
        .choice("TimeMode", rate::mode(rate))
        .time("TimeSpanStart", scene.clips.iter().map(|clip| ticks(clip.start)).min().unwrap_or(0))
        .time("TimeSpanStop", end.unwrap_or(TICKS as i64))
        .double("CustomFrameRate", rate);
    let settings = Node::new("GlobalSettings").holding(Node::of("Version", 1000)).holding(settings.node());
    let document = Properties::default().text("ActiveAnimStackName", first.map_or("", String::as_str));
    let document = Node::of("Document", 1_000_000i64)
        .with("Scene")
        .with("Scene")
        .holding(document.node())
        .holding(Node::of("RootNode", Id::SCENE));
    vec![
        Node::of("FileId", Raw(&FILE_ID)),
        Node::of("CreationTime", TIME),
        Node::of("Creator", CREATOR),
        settings,
        Node::new("Documents").holding(Node::of("Count", 1)).holding(document),
        Node::new("References"),
    ]
}
