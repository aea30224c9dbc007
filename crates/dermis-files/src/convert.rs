//! From any format that is read to any that is written, with nothing dropped in silence.

mod bvh;
mod interchange;
mod recorded;
mod usd;

use crate::error::FileError;
use crate::load::{
    FileNote, ReadOptions, Source, expect_finite, expect_skins, load_examples, load_motion, pick_clip, read_contents,
    rig_of, sample_times,
};
use crate::output::{Output, ending};
use crate::skins::{WriteOptions, write_scene, write_shapes};
use dermis_io::gltf::{GlbClip, GlbScene, Keyed, MorphNormals};
use dermis_io::npz::StoredFloat;
use dermis_io::obj::{Normals, library};
use dermis_io::{
    AppearanceCounts, Clip, ClipFrame, Contents, Format, Record, Space, appearance_counts, linked_extensions,
    match_vertices,
};
use dermis_rig::glam::DVec3;
use dermis_rig::{Appearance, Skeleton, make_unique};
use recorded::{Recorded, recorded};
use serde_json::{Value, json};
use std::path::Path;

/// What was written, and what was not.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Converted {
    /// Name of the format.
    pub format: &'static str,
    /// What the output holds, in words.
    pub holds: Vec<String>,
    /// What the input holds and the output does not, with the reason or a remedy where there is one.
    pub left_out: Vec<String>,
    /// Vertices, bones, clips, frames and morph targets written.
    pub counts: Counts,
}

/// Numbers of things written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Vertices of the mesh, or of each shape.
    pub vertices: usize,
    /// Bones.
    pub bones: usize,
    /// Clips.
    pub clips: usize,
    /// Frames of all clips, or records.
    pub frames: usize,
    /// Morph targets.
    pub morph_targets: usize,
}

impl Converted {
    /// The same as JSON.
    pub fn json(&self) -> Value {
        json!({
            "format": self.format,
            "vertices": self.counts.vertices,
            "bones": self.counts.bones,
            "clips": self.counts.clips,
            "frames": self.counts.frames,
            "morph_targets": self.counts.morph_targets,
            "holds": self.holds,
            "left_out": self.left_out,
        })
    }

    fn hold(&mut self, count: usize, what: &str) {
        if count > 0 {
            self.holds.push(format!("{count} {what}"));
        }
    }

    fn leave(&mut self, count: usize, what: &str) {
        if count > 0 {
            self.left_out.push(format!("{count} {what}"));
        }
    }
}

const ENDINGS: &str = "use .glb, .vrm, .fbx, .usda, .usdz, .npz, .bvh, .abc, .pc2, .mdd, .obj, or a folder (a name without ending) for OBJ files";

/// Whether `path` becomes a folder of OBJ files, by the ending of its name.
///
/// # Errors
/// [`FileError::Lacks`] for an ending nothing is converted to.
pub fn is_folder(path: &Path) -> Result<bool, FileError> {
    match ending(path).as_str() {
        "" => Ok(true),
        "glb" | "vrm" | "fbx" | "usda" | "usdz" | "npz" | "bvh" | "abc" | "pc2" | "mdd" | "obj" => Ok(false),
        "usd" | "usdc" => {
            Err(FileError::lacks(path, "USD is written as text or as a package", "name it .usda or .usdz"))
        }
        "dermis" => {
            let hint = "a model is learnt from a rig and examples: `dermis fit`";
            Err(FileError::lacks(path, "nothing is converted to a model", hint))
        }
        other => Err(FileError::lacks(path, format!("nothing is converted to \".{other}\""), ENDINGS)),
    }
}

/// Reads the inputs as one: a file by itself; or a rig, and after it examples as `fit` takes them or a motion; or a mesh, and
/// after it its shapes.
///
/// # Errors
/// [`FileError`].
pub fn gather(inputs: &[Source], options: &ReadOptions) -> Result<(Contents, Vec<FileNote>), FileError> {
    let (mut contents, mut notes) = joined(inputs, options)?;
    contents.frames_per_second = options.fps.or(contents.frames_per_second);
    let untimed = contents.records.iter().any(|record| record.time.is_none());
    notes.iter_mut().for_each(|note| note.needs.rate |= untimed);
    Ok((contents, notes))
}

fn joined(inputs: &[Source], options: &ReadOptions) -> Result<(Contents, Vec<FileNote>), FileError> {
    let Some((first, others)) = inputs.split_first() else {
        return Err(FileError::NothingToConvert);
    };
    let stated = options.space_of(&first.path, &Space::default());
    let (mut contents, mut note) = read_contents(&first.path, &stated)?;
    note.role = "input".into();
    if contents.format == Format::Model {
        let hint = "run it on a motion with `dermis pose`, or compile it with `dermis export`";
        return Err(FileError::lacks(&first.path, "a model is not converted", hint));
    }
    first.select(&mut contents)?;
    if first.part.is_some() && !contents.clips.is_empty() {
        let name = pick_clip(&contents, first)?.name.clone();
        contents.clips.retain(|clip| clip.name == name);
    }
    let mut notes = vec![note];
    let Some(second) = others.first() else { return Ok((contents, notes)) };
    let space = options.space_of(&second.path, &contents.space);
    let (beside, beside_note) = read_contents(&second.path, &space)?;
    expect_finite(&beside, &second.path)?;
    let shapes = beside.records.iter().any(|r| r.positions.is_some());
    if contents.skeleton.is_some() {
        let rig = rig_of(&contents, &first.path)?;
        if others.len() > 1 || shapes || !beside.morphs.is_empty() {
            let posed = beside.records.iter().any(|r| r.pose.is_some());
            // Shapes alone take their poses from the rig's own clip.
            let own = (shapes && !posed && !contents.clips.is_empty()).then_some(first);
            let sources: Vec<Source> = own.into_iter().chain(others).cloned().collect();
            let (set, more) = load_examples(&rig, &contents.space, &sources, options, "examples")?;
            contents.records = (set.examples().iter())
                .map(|e| Record {
                    label: e.label.clone(),
                    time: e.time,
                    pose: Some(rig.skeleton().world_pose(&e.transforms)),
                    positions: Some(e.positions.clone()),
                    importance: e.importance,
                    local: e.local.clone(),
                })
                .collect();
            notes.extend(more);
        } else {
            let (motion, note) = load_motion(&rig, &contents.space, second, options)?;
            contents.records = (motion.frames.into_iter())
                .map(|f| Record {
                    label: f.label,
                    time: f.time,
                    pose: Some(f.pose),
                    positions: None,
                    importance: 1.0,
                    local: None,
                })
                .collect();
            notes.push(note);
        }
        contents.clips.clear(); // the motion named after the rig is the one that is meant
        return Ok((contents, notes));
    }
    let (Some(mesh), true, 1) = (&contents.mesh, shapes, others.len()) else {
        let hint = "name one file; or a rig, then a motion or examples; or a mesh, then its shapes";
        return Err(FileError::lacks(&second.path, "these files cannot be joined", hint));
    };
    let count = beside.records.iter().find_map(|r| r.positions.as_ref().map(Vec::len)).unwrap_or(0);
    let tolerance = options.match_tolerance * mesh.diagonal();
    let matching = match_vertices(mesh, None, count, tolerance)
        .map_err(|source| FileError::Match { path: second.path.clone(), source })?;
    contents.records = beside.records;
    for positions in contents.records.iter_mut().filter_map(|r| r.positions.as_mut()) {
        *positions = matching.gather(positions);
    }
    contents.frames_per_second = contents.frames_per_second.or(beside.frames_per_second);
    notes.push(beside_note);
    Ok((contents, notes))
}

/// Writes what the contents hold as far as the output's format can, by the ending of its name.
///
/// - `.vrm`: the same as `.glb`, of a VRM avatar alone.
/// - `.glb`: mesh, materials, textures, skeleton, weights, morph targets, cameras, lights, further nodes, every clip; poses of
///   records become a clip. `morph_normals` says whether morph targets hold normals. Shapes without a skeleton
///   become a morph target per frame and a clip that shows them in turn, exact at every frame and linear between: the
///   only way glTF has, and as large as the frames are.
/// - `.fbx`: the same, without cameras, lights and further nodes; polygons stay. In the axes and the unit that programs expect
///   ([`write_converted_in`] chooses others).
/// - `.usda`, `.usdz`: the same as FBX, in metres, Y up; a package holds PNG and JPEG textures, a text none. Shapes without a skeleton
///   become points that move.
/// - `.npz`: mesh, skeleton, weights, influence maps, records; else the frames of one clip, as poses, and as shapes if
///   morph targets take part in them.
/// - `.bvh`: skeleton, and the poses of the records, else one clip.
/// - `.abc`: the mesh with normals, texture coordinates and names of materials, in the shapes of the records, else in those that one clip
///   shows, else at rest. In the input's unit, Y up ([`write_converted_in`] chooses others).
/// - `.pc2`, `.mdd`, a folder of OBJ files: the shapes of the records, else those that one clip shows.
/// - `.obj`: the one shape, else the mesh at rest.
///
/// # Errors
/// [`FileError`]; nothing that can be written is an error, something that cannot is in [`Converted::left_out`].
pub fn write_converted(
    contents: &Contents,
    source: &Source,
    options: &ReadOptions,
    morph_normals: MorphNormals,
    output: &Output,
) -> Result<Converted, FileError> {
    write_converted_in(contents, source, options, morph_normals, &WriteOptions::default(), output)
}

/// [`write_converted`] in the axes and the unit that `write` chooses for an FBX, USD or Alembic file.
///
/// # Errors
/// As [`write_converted`], and those of [`WriteOptions::interchange`].
pub fn write_converted_in(
    contents: &Contents,
    source: &Source,
    options: &ReadOptions,
    morph_normals: MorphNormals,
    write: &WriteOptions,
    output: &Output,
) -> Result<Converted, FileError> {
    let mut done = Converted::default();
    let interchange = write.interchange(output.path())?;
    if contents.skeleton.is_none() && contents.mesh.is_none() {
        expect_finite(contents, &source.path)?;
    }
    if let Some((format, space)) = interchange {
        interchange::write(contents, source, options, (format, &space), output, &mut done)?;
        leave_rest(contents, &mut done);
        return Ok(done);
    }
    match ending(output.path()).as_str() {
        "glb" | "vrm" => write_glb(contents, source, options, (morph_normals, write.drafts), output, &mut done)?,
        "npz" => write_npz(contents, source, options, output, &mut done)?,
        "bvh" => bvh::write(contents, source, options, output, &mut done)?,
        _ => write_sequence(
            contents,
            source,
            options,
            &write.of_frames(output.path(), &contents.space)?,
            output,
            &mut done,
        )?,
    }
    leave_rest(contents, &mut done);
    Ok(done)
}

/// Whether a GLB of the contents has morph targets: their own, or a shape per frame.
pub fn makes_targets(contents: &Contents) -> bool {
    let skinned = contents.weights.is_some() && contents.skeleton.is_some();
    let shaped = contents.records.iter().any(|record| record.positions.is_some());
    contents.mesh.is_some() && (!contents.morphs.is_empty() || (shaped && !skinned))
}

fn write_glb(
    contents: &Contents,
    source: &Source,
    options: &ReadOptions,
    (morph_normals, keep_drafts): (MorphNormals, bool),
    output: &Output,
    done: &mut Converted,
) -> Result<(), FileError> {
    done.format = "GLB";
    let weighed = contents.weights.is_some() && contents.skeleton.is_some();
    expect_character(contents, source)?;
    let (mut clips, mut off) = (Vec::new(), Vec::new());
    for clip in &contents.clips {
        let times = sample_times(clip, source, options)?;
        if options.fps.is_none() {
            let made = keyed(contents, clip);
            off.push(made.off);
            clips.push(made.clip);
            continue;
        }
        off.push(0.0);
        let frames: Vec<ClipFrame> = times.iter().map(|&time| (clip.sample)(time)).collect();
        let (poses, morph_weights): (Vec<_>, Vec<_>) = frames.into_iter().map(|f| (f.pose, f.morph_weights)).unzip();
        let poses = if contents.skeleton.is_some() { poses } else { vec![] };
        let morph_weights = if contents.morphs.is_empty() { vec![] } else { morph_weights };
        clips.push(GlbClip { name: clip.name.clone(), times, poses, morph_weights, curves: vec![] });
    }
    let name = stem(contents);
    let Recorded { morphs, clip } = recorded(contents, output.path(), done)?;
    clips.extend(clip);
    let bare = GlbScene {
        skeleton: contents.skeleton.as_ref(),
        default_pose: contents.default_pose.as_ref(),
        ..GlbScene::default()
    };
    off.resize(clips.len(), 0.0);
    let mut kept = Vec::new();
    for (clip, off) in clips.into_iter().zip(off) {
        // A clip that moves nothing has no channels, which no reader accepts.
        let moves = !clip.poses.is_empty() || !clip.morph_weights.is_empty();
        // One clip that cannot be written is no reason to lose the others, unless it is the one that was asked for.
        match bare.refusal(&clip).filter(|_| source.part.is_none()) {
            Some(error) => done.left_out.push(format!("clip \"{}\": {error}", clip.name)),
            None if moves => kept.push((clip, off)),
            None => {}
        }
    }
    let (mut clips, off): (Vec<GlbClip>, Vec<f64>) = kept.into_iter().unzip();
    let mut names: Vec<String> = clips.iter().map(|clip| clip.name.clone()).collect();
    let renamed = make_unique(&mut names, "_").len();
    clips.iter_mut().zip(names).for_each(|(clip, name)| clip.name = name);
    done.leave(renamed, "names of clips that occurred twice; they got numbers");
    let weights = contents.weights.as_ref().filter(|_| weighed);
    let scene = GlbScene {
        name,
        mesh: contents.mesh.as_ref(),
        skeleton: contents.skeleton.as_ref(),
        default_pose: contents.default_pose.as_ref(),
        morph_weights: if contents.morphs.is_empty() { &[] } else { &contents.morph_weights },
        weights,
        morphs: &morphs,
        morph_normals,
        keep_drafts,
        clips: &clips,
        ..GlbScene::default()
    };
    let (_, lost) = write_scene(&scene, output)?;
    done.counts = Counts {
        vertices: contents.mesh.as_ref().map_or(0, |m| m.positions.len()),
        bones: contents.skeleton.as_ref().map_or(0, Skeleton::len),
        clips: clips.len(),
        frames: clips.iter().map(|clip| clip.times.len()).sum(),
        morph_targets: morphs.len(),
    };
    hold_objects(contents, done);
    done.hold(done.counts.vertices, "vertices");
    done.hold(done.counts.bones, "bones");
    done.hold(weights.map_or(0, |w| w.count()), "skinning weights");
    done.hold(morphs.len(), "morph targets");
    hold_appearance(contents, done);
    for (clip, off) in clips.iter().zip(off) {
        let (name, frames) = (&clip.name, clip.times.len());
        let between = if off > 0.0 { format!(", between them at most {off:.2e} m off") } else { String::new() };
        done.holds.push(format!("clip \"{name}\" of {frames} frames{between}"));
    }
    if contents.weights.is_some() && !weighed {
        done.left_out.push("skinning weights, because there is no skeleton".into());
    }
    done.left_out.extend(lost);
    done.left_out.extend(scene.lost_of_default_pose());
    leave_maps(contents, done);
    if contents.mesh.as_ref().is_some_and(|m| m.polygons.is_some()) {
        done.left_out.push("polygons: a GLB has triangles".into());
    }
    Ok(())
}

/// The name of the file without its ending.
fn stem(contents: &Contents) -> &str {
    contents.name.rsplit_once('.').map_or(contents.name.as_str(), |(stem, _)| stem)
}

fn expect_character(contents: &Contents, source: &Source) -> Result<(), FileError> {
    match contents.mesh.is_none() && contents.skeleton.is_none() {
        true => {
            let remedy = "name the file with the mesh first";
            Err(FileError::lacks(&source.path, "there is neither a mesh nor a skeleton", remedy))
        }
        false => Ok(()),
    }
}

/// How far a clip may be off between its frames, in parts of the mesh's diagonal: 0.2 mm on a person.
const BETWEEN_FRAMES: f64 = 1e-4;

/// A clip at its own keys, as a GLB of the contents has it.
fn keyed(contents: &Contents, clip: &Clip) -> Keyed {
    let scene = GlbScene {
        mesh: contents.mesh.as_ref(),
        skeleton: contents.skeleton.as_ref(),
        weights: contents.weights.as_ref(),
        morphs: &contents.morphs,
        ..GlbScene::default()
    };
    let size = contents.mesh.as_ref().map(|mesh| mesh.diagonal());
    let size = size.or(contents.skeleton.as_ref().map(|skeleton| {
        let start = (DVec3::INFINITY, DVec3::NEG_INFINITY);
        let (low, high) =
            (skeleton.bind().iter()).fold(start, |(low, high), b| (low.min(b.translation), high.max(b.translation)));
        (high - low).length()
    }));
    GlbClip::of(clip, &scene, BETWEEN_FRAMES * size.unwrap_or(1.0))
}

fn write_npz(
    contents: &Contents,
    source: &Source,
    options: &ReadOptions,
    output: &Output,
    done: &mut Converted,
) -> Result<(), FileError> {
    done.format = "NPZ bundle";
    // A plain bundle would pass rest shapes off as skins.
    expect_skins(contents, &source.path)?;
    let records = match (contents.records.is_empty(), contents.clips.is_empty()) {
        (true, false) => {
            let clip = pick_clip(contents, source)?;
            clip_records(contents, clip, source, options, !contents.morphs.is_empty())?
        }
        _ => {
            done.leave(contents.clips.len(), "clips, beside the records");
            contents.records.clone()
        }
    };
    let written = Contents {
        name: contents.name.clone(),
        format: Format::Npz,
        space: contents.space.clone(),
        mesh: contents.mesh.clone(),
        skeleton: contents.skeleton.clone(),
        bone_names: contents.bone_names.clone(),
        weights: contents.weights.clone().filter(|_| contents.skeleton.is_some()),
        influence_maps: contents.influence_maps.clone(),
        frames_per_second: contents.frames_per_second,
        records,
        ..Contents::default()
    };
    output.write_with(|out| dermis_io::npz::write(&written, StoredFloat::Single, out))?;
    let shapes = written.records.iter().filter(|r| r.positions.is_some()).count();
    let vertices = written.records.iter().find_map(|r| r.positions.as_ref().map(Vec::len));
    done.counts = Counts {
        vertices: contents.mesh.as_ref().map(|m| m.positions.len()).or(vertices).unwrap_or(0),
        bones: contents.skeleton.as_ref().map_or(0, Skeleton::len),
        frames: written.records.len(),
        ..Counts::default()
    };
    let counts = done.counts;
    hold_objects(contents, done);
    done.hold(counts.vertices, "vertices");
    done.hold(counts.bones, "bones");
    done.hold(written.weights.as_ref().map_or(0, |w| w.count()), "skinning weights");
    done.hold(written.influence_maps.as_ref().map_or(0, |w| w.count()), "influence map entries");
    done.hold(written.records.iter().filter(|r| r.pose.is_some()).count(), "poses");
    done.hold(shapes, "shapes");
    done.leave(contents.morphs.len(), "morph targets: a bundle holds the shapes they make in a clip");
    leave_colors(contents, done);
    leave_drawn(contents, done);
    leave_appearance(contents, done);
    Ok(())
}

fn write_sequence(
    contents: &Contents,
    source: &Source,
    options: &ReadOptions,
    space: &Space,
    output: &Output,
    done: &mut Converted,
) -> Result<(), FileError> {
    let path = output.path();
    let kind = ending(path);
    (done.format, done.counts.frames) = match kind.as_str() {
        "pc2" => ("PC2", 0),
        "mdd" => ("MDD", 0),
        "abc" => ("Alembic", 0),
        "" => ("OBJ sequence", 0),
        _ => ("OBJ", 0),
    };
    let shaped = contents.records.iter().any(|r| r.positions.is_some());
    let records: Vec<Record> = if shaped {
        contents.records.iter().filter(|r| r.positions.is_some()).cloned().collect()
    } else if kind == "obj" {
        Vec::new()
    } else if contents.clips.is_empty() {
        posed_records(contents)?
    } else {
        clip_records(contents, pick_clip(contents, source)?, source, options, true)?
    };
    let mut skins: Vec<Vec<DVec3>> = records.iter().filter_map(|r| r.positions.clone()).collect();
    let holds_mesh = matches!(kind.as_str(), "obj" | "abc");
    let at_rest = holds_mesh && skins.is_empty();
    if let (true, Some(mesh)) = (at_rest, &contents.mesh) {
        skins.push(mesh.positions.clone());
    }
    if skins.is_empty() {
        expect_finite(contents, &source.path)?;
        let hint = "a sequence comes from shapes, or from a clip that moves a skinned mesh";
        return Err(FileError::lacks(&source.path, "there are no shapes to write", hint));
    }
    let times = times(&records.iter().filter(|r| r.positions.is_some()).collect::<Vec<_>>(), contents);
    let mut fill = |at: usize, skin: &mut Vec<DVec3>| {
        skin.clone_from(&skins[at]);
        Ok(())
    };
    let times = if times.len() == skins.len() { times } else { vec![0.0; skins.len()] };
    let (vertices, changes) = write_shapes(contents.mesh.as_ref(), space, &times, &mut fill, Normals::LeftOut, output)?;
    done.counts.vertices = vertices;
    done.left_out.extend(changes);
    done.counts.frames = skins.len();
    let counts = done.counts;
    if kind == "abc" {
        hold_objects(contents, done);
        if contents.mesh.as_ref().and_then(|mesh| mesh.render.as_ref()).is_some_and(|render| !render.uvs.is_empty()) {
            done.holds.push("texture coordinates".into());
        }
    }
    if matches!(kind.as_str(), "" | "obj") {
        hold_objects(contents, done);
        let hidden = contents.mesh.iter().filter(|mesh| mesh.has_several_objects()).flat_map(|mesh| &mesh.objects);
        done.leave(hidden.filter(|object| !object.visible).count(), "objects that are hidden: an OBJ file shows them");
    }
    let shapes = if counts.frames == 1 { "shape" } else { "shapes" };
    done.hold(counts.frames, &format!("{shapes} of {} vertices", counts.vertices));
    // Whoever reads the file must know: it does not say so itself.
    interchange::hold_space(space, done);
    if contents.skeleton.is_some() {
        done.left_out.push("the skeleton".into());
    }
    if contents.weights.is_some() {
        done.left_out.push("skinning weights".into());
    }
    leave_maps(contents, done);
    let poses = if shaped { contents.records.iter().filter(|r| r.pose.is_some()).count() } else { 0 };
    done.leave(poses, "poses");
    done.leave(contents.morphs.len(), "morph targets, as such");
    if kind == "obj" {
        done.leave(contents.clips.len(), "clips: the mesh is written at rest (a folder holds the frames of a clip)");
    } else if at_rest {
        done.leave(contents.clips.len(), "clips, which do not move the mesh");
    } else if matches!(kind.as_str(), "pc2" | "mdd") && contents.mesh.is_some() {
        done.left_out.push("the mesh: a point cache holds positions alone".into());
    }
    if kind == "pc2" && records.iter().any(|r| r.time.is_some()) {
        done.left_out.push("times of the frames".into());
    }
    if matches!(kind.as_str(), "pc2" | "mdd") {
        leave_colors(contents, done);
        leave_drawn(contents, done);
    } else {
        let has_normals = contents.mesh.as_ref().and_then(|m| m.render.as_ref()).is_some_and(|r| !r.normals.is_empty());
        if has_normals && kind != "abc" {
            done.left_out.push("normals".into());
        }
        if kind == "abc" {
            let named = "materials: Alembic holds their names alone";
            let rename = |(count, what)| (count, if what == "materials" { named } else { what });
            appearance(contents).into_iter().map(rename).for_each(|(count, what)| done.leave(count, what));
            return Ok(());
        }
        let Some(library) = contents.mesh.as_ref().and_then(|mesh| library(mesh, "")) else {
            appearance(contents).into_iter().for_each(|(count, what)| done.leave(count, what));
            return Ok(());
        };
        done.hold(library.materials, "materials");
        done.hold(library.images.len(), "images");
        done.left_out.extend(library.left_out);
        return Ok(());
    }
    leave_appearance(contents, done);
    Ok(())
}

/// Seconds of records: their own if all have one and they ascend, else one after another at the file's rate or 24 per second.
fn times(records: &[&Record], contents: &Contents) -> Vec<f64> {
    let own: Option<Vec<f64>> = records.iter().map(|r| r.time).collect();
    let rate = contents.frames_per_second.filter(|rate| *rate > 0.0).unwrap_or(24.0);
    own.filter(|times| times.iter().all(|t| *t >= 0.0) && times.windows(2).all(|two| two[0] < two[1]))
        .unwrap_or_else(|| (0..records.len()).map(|at| at as f64 / rate).collect())
}

/// The frames of a clip as poses, and as shapes if they are wanted.
fn clip_records(
    contents: &Contents,
    clip: &Clip,
    source: &Source,
    options: &ReadOptions,
    shapes: bool,
) -> Result<Vec<Record>, FileError> {
    let times = sample_times(clip, source, options)?;
    let vertices = contents.mesh.as_ref().map_or(0, |m| m.positions.len());
    let bytes = (times.len() as u64).saturating_mul(24 * vertices as u64);
    if shapes && bytes > dermis_rig::memory::at_most(8u64 << 30) as u64 {
        let what = format!("{} frames of {vertices} vertices need {} GB of memory", times.len(), bytes >> 30);
        return Err(FileError::lacks(&source.path, what, "lower `fps`"));
    }
    Ok((times.into_iter().enumerate())
        .map(|(at, time)| {
            let frame = (clip.sample)(time);
            let positions = if shapes { shown(contents, &frame) } else { None };
            let pose = contents.skeleton.is_some().then_some(frame.pose);
            Record {
                label: format!("{} {at}", clip.name),
                time: Some(time),
                pose,
                positions,
                importance: 1.0,
                local: None,
            }
        })
        .collect())
}

/// Records that have poses alone, with the shapes that the skin weights make of them.
fn posed_records(contents: &Contents) -> Result<Vec<Record>, FileError> {
    let mut records = contents.records.clone();
    for record in &mut records {
        let Some(pose) = record.pose.clone() else { continue };
        record.positions = shown(contents, &ClipFrame { pose, morph_weights: vec![] });
    }
    Ok(records)
}

/// The skin that a file shows: morph targets, then linear blend skinning; `None` without a mesh.
fn shown(contents: &Contents, frame: &ClipFrame) -> Option<Vec<DVec3>> {
    let mut rest = contents.mesh.as_ref()?.positions.clone();
    for (morph, &weight) in contents.morphs.iter().zip(&frame.morph_weights).filter(|(_, w)| **w != 0.0) {
        rest.iter_mut().zip(&morph.deltas).for_each(|(p, d)| *p += *d * weight);
    }
    let (Some(weights), Some(skeleton)) = (&contents.weights, &contents.skeleton) else {
        return (!contents.morphs.is_empty()).then_some(rest);
    };
    let mut skin = vec![DVec3::ZERO; rest.len()];
    dermis_deform::lbs(&rest, weights, &skeleton.bone_transforms(&frame.pose), &mut skin);
    Some(skin)
}

/// Several meshes are named as such; a lone one is called as its file.
fn hold_objects(contents: &Contents, done: &mut Converted) {
    let several = contents.mesh.as_ref().filter(|mesh| mesh.has_several_objects());
    done.hold(several.map_or(0, |mesh| mesh.objects.len()), "objects");
}

fn leave_maps(contents: &Contents, done: &mut Converted) {
    if contents.influence_maps.is_some() {
        done.left_out.push("influence maps".into());
    }
}

fn leave_colors(contents: &Contents, done: &mut Converted) {
    if contents.mesh.as_ref().is_some_and(|m| m.colors.is_some()) {
        done.left_out.push("vertex colours".into());
    }
}

fn leave_drawn(contents: &Contents, done: &mut Converted) {
    if contents.mesh.as_ref().is_some_and(|m| m.render.is_some()) {
        done.left_out.push("texture coordinates, normals and materials".into());
    }
}

fn look(contents: &Contents) -> Option<&Appearance> {
    contents.mesh.as_ref()?.render.as_ref()?.appearance.as_deref()
}

/// Extensions that name bones, meshes and morph targets, such as those of a VRM avatar, and what is not read.
fn leave_rest(contents: &Contents, done: &mut Converted) {
    let names = look(contents).map(linked_extensions).filter(|_| done.format != "GLB").unwrap_or_default();
    done.left_out.extend(names.into_iter().map(|name| format!("{name}: a GLB holds it")));
    done.left_out.extend(contents.unread.iter().map(|what| format!("{what}, which is not read")));
}

/// What stands in a file beside shape and motion, in words.
fn appearance(contents: &Contents) -> Vec<(usize, &'static str)> {
    let counts = look(contents).map(appearance_counts).unwrap_or_default();
    let AppearanceCounts { materials, textures, images, cameras, lights, nodes } = counts;
    vec![
        (materials, "materials"),
        (textures, "textures"),
        (images, "images"),
        (cameras, "cameras"),
        (lights, "lights"),
        (nodes, "further nodes"),
    ]
}

fn hold_appearance(contents: &Contents, done: &mut Converted) {
    appearance(contents).into_iter().for_each(|(count, what)| done.hold(count, what));
}

/// Everything that stands in a file beside shape and motion.
fn leave_looks(contents: &Contents, done: &mut Converted) {
    leave_colors(contents, done);
    leave_drawn(contents, done);
    leave_appearance(contents, done);
}

/// All but the materials, which are named with the texture coordinates that go with them.
fn leave_appearance(contents: &Contents, done: &mut Converted) {
    let rest = appearance(contents).into_iter().filter(|(_, what)| *what != "materials");
    rest.for_each(|(count, what)| done.leave(count, what));
}
