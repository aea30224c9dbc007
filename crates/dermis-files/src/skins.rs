//! Skins as files: point caches, Alembic, bundles, OBJ files, and scenes as GLB, FBX or USD.

use crate::carried::{Carried, displaced};
use crate::error::FileError;
use crate::output::{Output, ending};
use crate::place;
use crate::provenance::name_of;
use dermis_io::alembic::AlembicScene;
use dermis_io::gltf::{GlbClip, GlbScene, GlbWritten};
use dermis_io::npz::StoredFloat;
use dermis_io::obj::{Library, Normals, library};
use dermis_io::skinned_scene::{SceneWritten, SkinnedScene, clip_of_frames};
use dermis_io::usd::Container;
use dermis_io::{Clip, Contents, Fill, Format, ModelFile, Record, Space, UpAxis, WriteError, point_cache, to_bytes};
use dermis_rig::glam::DVec3;
use dermis_rig::{Mesh, Motion, Skeleton};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Whether skins written to `path` become a folder of OBJ files, by the ending of its name.
///
/// # Errors
/// [`FileError::Lacks`] for an ending nothing is written as.
pub fn is_folder(path: &Path) -> Result<bool, FileError> {
    match ending(path).as_str() {
        "" => Ok(true),
        "abc" | "pc2" | "mdd" | "npz" | "obj" => Ok(false),
        other => Err(FileError::lacks(path, format!("skins cannot be written as \".{other}\""), SKIN_ENDINGS)),
    }
}

const SKIN_ENDINGS: &str = "use .abc, .pc2, .mdd, .npz, or a folder (a name without ending) for OBJ files";

/// Whether skins written to `path` can have normals: OBJ files and Alembic can.
pub fn holds_normals(path: &Path) -> bool {
    matches!(ending(path).as_str(), "" | "obj" | "abc")
}

/// The space of an Alembic file of something from `space`: Y up, as the format has it by convention, in the same unit.
pub fn alembic_space(space: &Space) -> Space {
    Space { up: UpAxis::Y, ..space.clone() }
}

/// The poses of a motion as records beside the rig of a model, for [`write_skins`].
pub fn posed(model: &ModelFile, motion: Motion) -> Contents {
    let rig = model.rig();
    Contents {
        name: motion.name,
        format: Format::Npz,
        space: model.space.clone(),
        mesh: Some(rig.mesh().clone()),
        skeleton: Some(rig.skeleton().clone()),
        weights: model.weights().cloned(),
        records: motion.frames.into_iter().map(Record::from).collect(),
        ..Contents::default()
    }
}

/// Writes skins in the format the output's name asks for: .abc, .pc2, .mdd, .npz, .obj for one frame, a folder of OBJ files
/// otherwise. Normals are written where a format has them ([`holds_normals`]), to Alembic whenever the mesh's file had some. Result:
/// vertices per frame, and what the format changed or left out, in words.
///
/// `fill` gives the skin of every record of `posed`, one after the other: none is held longer than it is written.
///
/// Point caches are written in the order the rig's file draws its vertices, so that they fit the mesh an application
/// imports from it; other formats carry the mesh themselves.
///
/// # Errors
/// [`FileError`].
pub fn write_skins(
    posed: &Contents,
    fill: Fill<'_>,
    normals: Normals,
    output: &Output,
) -> Result<(usize, Vec<String>), FileError> {
    if ending(output.path()) == "npz" {
        output.write_back_and_forth(|out| dermis_io::npz::write_streamed(posed, StoredFloat::Single, fill, out))?;
        return Ok((posed.mesh.as_ref().map_or(0, |mesh| mesh.positions.len()), Vec::new()));
    }
    let times: Vec<f64> = posed.records.iter().enumerate().map(|(at, r)| r.time.unwrap_or(at as f64 / 24.0)).collect();
    let space = if is_alembic(output.path()) { alembic_space(&posed.space) } else { posed.space.clone() };
    write_shapes(posed.mesh.as_ref(), &space, &times, fill, normals, output)
}

/// Writes shapes of one mesh, one per time, in a format that holds nothing else: .abc, .pc2, .mdd, .obj for one shape, a folder of OBJ files
/// otherwise. Beside OBJ files stands the library of their materials, with its pictures. Result: vertices per shape, and what the format
/// changed or left out, in words.
///
/// Point caches are in the order the mesh's file draws its vertices; they alone need no mesh.
pub(crate) fn write_shapes(
    mesh: Option<&Mesh>,
    space: &Space,
    times: &[f64],
    fill: Fill<'_>,
    normals: Normals,
    output: &Output,
) -> Result<(usize, Vec<String>), FileError> {
    let (path, count) = (output.path(), times.len());
    let ending = ending(path);
    let needed = || {
        let kind = if ending == "abc" { "an Alembic file needs" } else { "OBJ files need" };
        mesh.ok_or_else(|| FileError::lacks(path, format!("{kind} a mesh, and there is none"), "name its file first"))
    };
    let mut skin = Vec::new();
    match ending.as_str() {
        "abc" => {
            let mesh = needed()?;
            let own = mesh.render.as_ref().is_some_and(|render| !render.normals.is_empty());
            let normals = if own { Normals::Written } else { normals };
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            let scene = AlembicScene { name: &name, mesh, times, normals };
            let mut done = SceneWritten::default();
            output.write_back_and_forth(|out| {
                done = dermis_io::alembic::write(&scene, space, fill, out)?;
                Ok(())
            })?;
            Ok((mesh.positions.len(), changes(&done)))
        }
        "pc2" | "mdd" => {
            let source = drawn(mesh);
            let mut vertices = 0;
            let mut fill = |at: usize, drawn: &mut Vec<DVec3>| {
                match source {
                    None => fill(at, drawn)?,
                    Some(source) => {
                        fill(at, &mut skin)?;
                        drawn.clear();
                        drawn.extend(source.iter().map(|&v| skin[v as usize]));
                    }
                }
                vertices = drawn.len();
                Ok(())
            };
            output.write_with(|out| match ending.as_str() {
                "pc2" => point_cache::stream_pc2(count, 0.0, space, &mut fill, out),
                _ => point_cache::stream_mdd(times, space, &mut fill, out),
            })?;
            Ok((vertices, Vec::new()))
        }
        "obj" if count == 1 => {
            let mesh = needed()?;
            let stem = name_of(&path.with_extension(""));
            let library = library(mesh, &stem);
            let name = library.as_ref().map(|_| format!("{stem}.mtl"));
            for (name, bytes) in files_of(library.as_ref(), name.as_deref()) {
                output.beside(name).write(bytes)?;
            }
            output.write_with(|out| {
                fill(0, &mut skin)?;
                dermis_io::obj::write_shape(mesh, &skin, normals, name.as_deref(), space, out)
            })?;
            Ok((skin.len(), Vec::new()))
        }
        "" => {
            let mesh = needed()?;
            let digits = count.to_string().len().max(4);
            let library = library(mesh, "materials");
            let materials = library.as_ref().map(|_| "materials.mtl");
            output.sequence(|write| {
                files_of(library.as_ref(), materials).try_for_each(|(name, bytes)| write(name, bytes))?;
                let mut written = std::collections::HashSet::new();
                for at in 0..count {
                    let bytes = to_bytes(|out| {
                        fill(at, &mut skin)?;
                        dermis_io::obj::write_shape(mesh, &skin, normals, materials, space, out)
                    });
                    let name = format!("frame_{at:0digits$}.obj");
                    write(&name, &bytes.map_err(FileError::write(path))?)?;
                    written.insert(name);
                }
                remove_older_frames(path, &written)
            })?;
            Ok((mesh.positions.len(), Vec::new()))
        }
        _ => Err(FileError::lacks(path, format!("{count} skins cannot be written as \".{ending}\""), SKIN_ENDINGS)),
    }
}

/// Name and content of the files of a library that is called `name`: the pictures, then itself.
fn files_of<'a>(
    library: Option<&'a Library<'_>>,
    name: Option<&'a str>,
) -> impl Iterator<Item = (&'a str, &'a [u8])> + use<'a> {
    let images = library.into_iter().flat_map(|library| &library.images);
    let images = images.map(|(name, image)| (name.as_str(), &image.bytes[..]));
    images.chain(name.zip(library.map(|library| library.text.as_bytes())))
}

/// Frames of an earlier, longer motion in the same folder would be taken for the end of this one.
fn remove_older_frames(folder: &Path, written: &std::collections::HashSet<String>) -> Result<(), FileError> {
    let failed = |source| FileError::System { path: folder.into(), source };
    for name in place::names(folder).map_err(failed)? {
        let path = folder.join(&name);
        let name = name.to_string_lossy().into_owned();
        let number = name.strip_prefix("frame_").and_then(|n| n.strip_suffix(".obj"));
        if number.is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit())) && !written.contains(&name) {
            place::remove(&path).map_err(failed)?;
        }
    }
    Ok(())
}

/// The vertex of the mesh that every vertex its file draws hangs on; `None` if it draws them as they are.
fn drawn(mesh: Option<&Mesh>) -> Option<&[u32]> {
    let render = mesh?.render.as_ref()?;
    (!render.by_corner).then_some(&render.source[..])
}

/// The motion as a clip, with weights of the morph targets in every frame.
pub fn clip(motion: &Motion, morph_weights: Vec<Vec<f64>>) -> GlbClip {
    GlbClip {
        name: motion.name.clone(),
        times: motion.frames.iter().enumerate().map(|(at, f)| f.time.unwrap_or(at as f64 / 24.0)).collect(),
        poses: motion.frames.iter().map(|f| f.pose.clone()).collect(),
        morph_weights,
        curves: vec![],
    }
}

/// Writes a GLB; result: its bytes, and what of the extensions it came with was left out, in words. Behind the morph targets of the scene
/// come those that its mesh [came with](Mesh::morphs), unless they have the name of one.
///
/// # Errors
/// [`FileError`]; [`FileError::Lacks`] for a path that ends with .vrm, if the file would be no avatar.
pub fn write_scene(scene: &GlbScene<'_>, output: &Output) -> Result<(usize, Vec<String>), FileError> {
    let (bytes, left_out) = glb_bytes(scene, output.path())?;
    Ok((output.write_glb(&bytes)?, left_out))
}

fn glb_bytes(scene: &GlbScene<'_>, path: &Path) -> Result<(Vec<u8>, Vec<String>), FileError> {
    let mut told = GlbWritten::default();
    let (carried, displaced) = (Carried::of(scene), displaced(scene));
    let scene = &carried.as_ref().map_or(*scene, |carried| carried.scene(scene));
    let bytes = to_bytes(|out| {
        told = scene.write(out)?;
        Ok(())
    });
    let bytes = bytes.map_err(FileError::write(path))?;
    if ending(path) == "vrm" && !told.is_vrm {
        let is_avatar = |line: &&String| line.starts_with("VRM:") || line.starts_with("VRMC_vrm:");
        let what = match told.left_out.iter().find(is_avatar) {
            Some(lost) => format!("the file would be no VRM avatar ({lost})"),
            None => "the file would be no VRM avatar, because its source is none".into(),
        };
        return Err(FileError::lacks(path, what, "name it .glb"));
    }
    told.left_out.extend(displaced);
    Ok((bytes, told.left_out))
}

/// Axes and unit of an FBX, USD or Alembic file that is written, and what a GLB holds. What is not said is as programs expect it: Y up;
/// centimetres for FBX, metres for USD, the input's unit for Alembic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct WriteOptions {
    /// Axis that points up.
    pub up: Option<UpAxis>,
    /// Metres per unit.
    pub unit: Option<f64>,
    /// Whether a GLB keeps extensions of its source that are drafts ([`GlbScene::keep_drafts`]).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub drafts: bool,
}

impl WriteOptions {
    /// The format and the space of a file of interchange written to `path`; `None` for a format that has a space of its own, or takes the
    /// input's.
    ///
    /// # Errors
    /// [`FileError::Lacks`] for axes or a unit of a file that is neither one of interchange nor Alembic, for a unit beyond a picometre or a
    /// gigametre, and for drafts in another file than a GLB.
    pub fn interchange(&self, path: &Path) -> Result<Option<(Interchange, Space)>, FileError> {
        if self.drafts && !is_glb(path) {
            let what = "extensions that are drafts are kept in a GLB alone";
            return Err(FileError::lacks(path, what, "name the output .glb, or leave `drafts` out"));
        }
        match Interchange::of(path) {
            Some(format) => Ok(Some((format, self.chosen(format.common_space(), path)?))),
            None if (self.up, self.unit) == (None, None) || is_alembic(path) => Ok(None),
            None => {
                let what = "axes and unit are chosen for an FBX, USD or Alembic file alone";
                Err(FileError::lacks(path, what, "leave `to_up` and `to_unit` out"))
            }
        }
    }

    /// The space of a file of frames written to `path`, whose input has the space `from`.
    ///
    /// # Errors
    /// [`FileError::Lacks`] for a unit beyond a picometre or a gigametre.
    pub(crate) fn of_frames(&self, path: &Path, from: &Space) -> Result<Space, FileError> {
        if is_alembic(path) { self.chosen(alembic_space(from), path) } else { Ok(from.clone()) }
    }

    fn chosen(&self, own: Space, path: &Path) -> Result<Space, FileError> {
        let (up, metres_per_unit) = (self.up.unwrap_or(own.up), self.unit.unwrap_or(own.metres_per_unit));
        let space = Space { up, metres_per_unit, ..own };
        match space.is_usable() {
            true => Ok(space),
            false => {
                let what = format!("a unit of {metres_per_unit} metres cannot be written");
                Err(FileError::lacks(path, what, "`to_unit` lies between a picometre and a gigametre"))
            }
        }
    }
}

/// A format in which programs exchange skinned characters, in axes and a unit of choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interchange {
    /// FBX.
    Fbx,
    /// USD, as text or as a package.
    Usd(Container),
}

impl Interchange {
    /// The format that a path asks for; `None` for another.
    pub fn of(path: &Path) -> Option<Self> {
        match ending(path).as_str() {
            "fbx" => Some(Self::Fbx),
            "usda" => Some(Self::Usd(Container::Text)),
            "usdz" => Some(Self::Usd(Container::Package)),
            _ => None,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Fbx => "FBX",
            Self::Usd(_) => "USD",
        }
    }

    /// How a USD file is stored.
    pub(crate) fn container(self) -> Option<Container> {
        match self {
            Self::Fbx => None,
            Self::Usd(container) => Some(container),
        }
    }

    fn common_space(self) -> Space {
        match self {
            Self::Fbx => dermis_io::fbx::common_space(),
            Self::Usd(_) => Space::default(),
        }
    }

    pub(crate) fn write(
        self,
        scene: &SkinnedScene<'_>,
        space: &Space,
        out: &mut dyn std::io::Write,
    ) -> Result<SceneWritten, WriteError> {
        match self {
            Self::Fbx => dermis_io::fbx::write(scene, space, out),
            Self::Usd(container) => dermis_io::usd::write(scene, space, container, out),
        }
    }
}

/// Whether a path asks for an Alembic file.
fn is_alembic(path: &Path) -> bool {
    ending(path) == "abc"
}

/// Whether a path asks for a GLB, also for one that is a VRM avatar.
pub fn is_glb(path: &Path) -> bool {
    matches!(ending(path).as_str(), "glb" | "vrm")
}

/// Whether a path asks for a file that holds a scene: a GLB, an FBX or a USD file.
pub fn is_scene(path: &Path) -> bool {
    is_glb(path) || Interchange::of(path).is_some()
}

/// A scene as bytes, and what its format changed or left out, in words. Behind its morph targets come those that its mesh
/// [came with](Mesh::morphs), as [`write_scene`] writes them.
///
/// # Errors
/// [`FileError`], which names `path`; its ending is the format.
pub fn scene_bytes(
    scene: &GlbScene<'_>,
    write: &WriteOptions,
    path: &Path,
) -> Result<(Vec<u8>, Vec<String>), FileError> {
    let failed = FileError::write(path);
    let Some((format, space)) = write.interchange(path)? else {
        return glb_bytes(&GlbScene { keep_drafts: write.drafts, ..*scene }, path);
    };
    let (carried, displaced) = (Carried::of(scene), displaced(scene));
    let springs = (!scene.springs.is_empty()).then(|| "springs of bone chains: a GLB holds them".to_owned());
    let scene = carried.as_ref().map_or(*scene, |carried| carried.scene(scene));
    let clip = |clip: &GlbClip| frames_as_clip(clip, scene.skeleton);
    let clips = scene.clips.iter().map(clip).collect::<Result<Vec<Clip>, _>>().map_err(&failed)?;
    let scene = SkinnedScene {
        name: scene.name,
        mesh: scene.mesh,
        skeleton: scene.skeleton,
        default_pose: scene.default_pose,
        weights: scene.weights,
        morphs: scene.morphs,
        morph_weights: scene.morph_weights,
        clips: &clips.iter().collect::<Vec<_>>(),
        frames_per_second: None,
    };
    let mut done = SceneWritten::default();
    let bytes = to_bytes(|out| {
        done = format.write(&scene, &space, out)?;
        Ok(())
    });
    Ok((bytes.map_err(&failed)?, changes(&done).into_iter().chain(displaced).chain(springs).collect()))
}

/// The frames of a clip, and what readers of a GLB make between them.
pub(crate) fn frames_as_clip(clip: &GlbClip, skeleton: Option<&Skeleton>) -> Result<Clip, WriteError> {
    clip_of_frames(&clip.name, skeleton, clip.times.clone(), &clip.poses, clip.morph_weights.clone())
}

/// Writes a scene as the ending of the output says; result: its bytes, and what the format changed or left out, in words.
///
/// # Errors
/// [`FileError`].
pub fn write_scene_as(
    scene: &GlbScene<'_>,
    write: &WriteOptions,
    output: &Output,
) -> Result<(usize, Vec<String>), FileError> {
    let (bytes, changes) = scene_bytes(scene, write, output.path())?;
    output.write(&bytes)?;
    Ok((bytes.len(), changes))
}

/// What an FBX or USD file changed or left out, in words.
pub(crate) fn changes(done: &SceneWritten) -> Vec<String> {
    /// Names that a line lists at most.
    const LISTED: usize = 3;
    let mut lines = done.left_out.clone();
    for renamed in done.renamed.chunk_by(|a, b| a.kind == b.kind) {
        let (count, kind) = (renamed.len(), renamed[0].kind);
        let plural = if count == 1 { "" } else { "s" };
        let shown = renamed.iter().take(LISTED).map(|one| format!("\"{:.60}\" is \"{:.60}\"", one.from, one.to));
        let more = if count > LISTED { ", …" } else { "" };
        let list: Vec<String> = shown.collect();
        lines.push(format!("{count} name{plural} of {kind}s as they were: {}{more}", list.join(", ")));
    }
    lines
}
