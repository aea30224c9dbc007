//! A skinned character as a binary .fbx: meshes, nodes, skin, blend shapes, materials, takes.

mod bones;
mod document;
mod euler;
mod materials;
mod mesh;
mod motion;
mod names;
mod objects;
mod rate;
mod shapes;
mod takes;

pub(crate) use materials::Materials;
pub(crate) use mesh::{Surface, numbered};
pub use motion::clip_of_frames;
pub use names::Renamed;
pub(crate) use names::{unique, uv_set};

use crate::contents::{Clip, Format, Space, UpAxis};
use crate::gltf::expect;
use crate::{MorphTarget, WriteError};
use bones::Bones;
use dermis_rig::glam::{DAffine3, DVec3};
use dermis_rig::{Influences, Mesh, Skeleton, WorldPose};
use document::{FILE_ID, Node, Properties, Raw, TIME, Version, version_of};
use motion::{Stage, TICKS, ticks};
use objects::{Id, Objects};
use std::io::Write;

/// What goes into a file. Right-handed, Y up, metres, as everywhere.
#[derive(Clone, Copy, Default)]
pub struct FbxScene<'a> {
    /// Name of the scene, and of a mesh without a name of its own.
    pub name: &'a str,
    /// The rest mesh; each of its [objects](dermis_rig::MeshObject) is a mesh of the file. Drawn through [`Mesh::render`] if it has one.
    pub mesh: Option<&'a Mesh>,
    /// The skeleton at rest.
    pub skeleton: Option<&'a Skeleton>,
    /// The pose that the file shows without a take: the bind pose without one, and where nodes cannot hold it.
    pub default_pose: Option<&'a WorldPose>,
    /// Skinning weights of the mesh: any number per vertex, each row sums to one.
    pub weights: Option<&'a Influences>,
    /// Morph targets of the mesh, applied before skinning.
    pub morphs: &'a [MorphTarget],
    /// Weights of the morph targets where no take says otherwise; zero if there are none.
    pub morph_weights: &'a [f64],
    /// Animations.
    pub clips: &'a [&'a Clip],
    /// Frames per second, which programs show time in; without one, a rate at which the clips have their keys.
    pub frames_per_second: Option<f64>,
}

/// What became of a scene in the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FbxWritten {
    /// Names that the file has in another form.
    pub renamed: Vec<Renamed>,
    /// What the scene holds and the file does not: a count and what it is.
    pub left_out: Vec<String>,
    /// Of every clip: its name in the file, its keys, and how far the skin is off between them at most, in metres, jumps apart.
    pub takes: Vec<(String, usize, f64)>,
}

/// The space that programs expect of an FBX file: centimetres, Y up.
pub fn common_space() -> Space {
    Space { up: UpAxis::Y, metres_per_unit: 0.01, unit: "m".into() }
}

/// Writes a binary FBX of version 7.4, or 7.5 if it is larger than four gigabytes, in the axes and the unit of `space`.
///
/// Positions, weights, shapes and bind matrices are doubles, keys floats. Polygons stay as they are, unless what is drawn does not follow
/// them; normals, texture coordinates and colours are those of their corners, so hard edges stay hard. Bones are limb nodes with bind
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
pub fn write(scene: &FbxScene<'_>, space: &Space, out: &mut dyn Write) -> Result<FbxWritten, WriteError> {
    if (scene.mesh.is_none() && scene.skeleton.is_none()) || !space.is_usable() {
        return Err(WriteError::Nothing { format: Format::Fbx, needs: "a mesh or a skeleton, and a unit" });
    }
    let mut done = FbxWritten::default();
    let from_ours = space.to_ours().inverse();
    let turn = Space { metres_per_unit: 1.0, ..space.clone() }.to_ours().matrix3.transpose();
    let percents = scene.percents()?;
    let rest_weights = scene.rest_weights();
    let (turned, given) = ((turn, space.metres_per_unit), (scene.morphs, rest_weights));
    let stated = scene.frames_per_second.filter(|rate| rate.is_finite() && *rate > 0.0);
    let rate = stated.unwrap_or_else(|| rate::of(scene.clips));
    let mut stage = Stage::new((scene.mesh, scene.weights), scene.skeleton, scene.default_pose, given, turned, rate)?;
    for clip in scene.clips {
        stage.look_at(clip)?;
    }
    let takes = scene.clips.iter().map(|clip| stage.take(clip)).collect::<Result<Vec<_>, _>>()?;

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
    } else if !scene.morphs.is_empty() || scene.weights.is_some() {
        let (what, things) = ("the scene".into(), "meshes for morph targets or weights");
        return Err(WriteError::Count { what, things, found: 0, expected: 1 });
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

impl FbxScene<'_> {
    /// Why a clip cannot be written with this scene, for its poses' sake: a bone without size above others, or numbers that are none.
    pub fn refusal(&self, clip: &Clip) -> Option<WriteError> {
        let turn = (dermis_rig::glam::DMat3::IDENTITY, 1.0);
        let stage = Stage::new((None, None), self.skeleton, self.default_pose, (&[], self.rest_weights()), turn, 30.0);
        stage.and_then(|mut stage| stage.look_at(clip)).err()
    }

    fn rest_weights(&self) -> Vec<f64> {
        if self.morph_weights.is_empty() { vec![0.0; self.morphs.len()] } else { self.morph_weights.to_vec() }
    }

    /// Percentages of the morph targets without a take.
    fn percents(&self) -> Result<Vec<f64>, WriteError> {
        let weights = self.rest_weights();
        expect("the scene", "weights of morph targets", weights.len(), self.morphs.len())?;
        match weights.iter().position(|w| !w.is_finite()) {
            Some(at) => Err(WriteError::NotFinite { what: format!("the weight of morph target {at}") }),
            None => Ok(weights.iter().map(|weight| 100.0 * weight).collect()),
        }
    }

    /// Name and visibility of every object.
    fn objects(&self) -> Vec<(&str, bool)> {
        match self.mesh {
            None => Vec::new(),
            Some(mesh) if mesh.objects.is_empty() => vec![(self.name, true)],
            Some(mesh) => {
                let name = |object: &'_ dermis_rig::MeshObject| object.name.is_empty();
                (mesh.objects.iter())
                    .map(|object| (if name(object) { self.name } else { object.name.as_str() }, object.visible))
                    .collect()
            }
        }
    }
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
    fn new(scene: &FbxScene<'_>, stage: &Stage<'_>, renamed: &mut Vec<Renamed>) -> Self {
        let bones: Vec<&str> = scene.skeleton.iter().flat_map(|s| s.names().iter().map(String::as_str)).collect();
        let shown = scene.objects();
        let stretched = bones.iter().zip(&stage.shears).filter(|(_, shears)| **shears);
        let more: Vec<String> =
            ["Skeleton".to_owned()].into_iter().chain(stretched.map(|(name, _)| format!("{name}_stretch"))).collect();
        let given: Vec<(&'static str, &str)> = (bones.iter().map(|name| ("bone", *name)))
            .chain(shown.iter().map(|(name, _)| ("object", *name)))
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
    scene: &'a FbxScene<'a>,
    names: &'a Names,
    percents: &'a [f64],
    from_ours: &'a DAffine3,
    bones: &'a Bones,
}

impl Meshes<'_> {
    /// Writes them with skins, shapes and materials. Result: number and channel of every shape of every object.
    fn write(&self, mesh: &Mesh, objects: &mut Objects, done: &mut FbxWritten) -> Result<Vec<(usize, Id)>, WriteError> {
        let Self { scene, names, percents, from_ours, bones } = *self;
        for morph in scene.morphs {
            let what = format!("the morph target \"{}\"", morph.name);
            expect(&what, "vertices", morph.deltas.len(), mesh.positions.len())?;
            if morph.deltas.iter().any(|delta| !from_ours.transform_vector3(*delta).is_finite()) {
                return Err(WriteError::NotFinite { what });
            }
        }
        let skin = scene.weights.zip(scene.skeleton);
        if let Some((weights, skeleton)) = skin {
            bones::check_weights(weights, skeleton, mesh)?;
        }
        let mut materials =
            Materials::new(mesh.render.as_ref().and_then(|render| render.appearance.as_deref()), Format::Fbx)?;
        let surface = Surface::new(mesh, &mut materials, Format::Fbx)?;
        if surface.split {
            done.left_out.push("polygons: what is drawn does not follow them, and is written as triangles".into());
        }
        let ranges: Vec<_> = match mesh.objects.is_empty() {
            true => std::iter::once(0..mesh.positions.len()).collect(),
            false => mesh.object_ranges().map(|(_, range)| range).collect(),
        };
        let (mut channels, mut models, mut slots) = (Vec::new(), Vec::new(), Vec::new());
        for (number, range) in ranges.iter().enumerate() {
            let (name, visible) = (names.objects[number].as_str(), scene.objects()[number].1);
            let (model, record) = objects.make("Model", name, "Model", "Mesh");
            objects.add(bones::model(record, None, visible));
            objects.connect(model, Id::SCENE);
            let (geometry, record) = objects.make("Geometry", name, "Geometry", "Mesh");
            let (record, own) = surface.geometry(record, (number, range.clone()), from_ours, &mut materials)?;
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
        let made = materials.write(objects, &mut done.renamed, &mut done.left_out)?;
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
fn header(scene: &FbxScene<'_>, space: &Space, rate: f64, first: Option<&String>) -> Vec<Node> {
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
