//! Delivery: a model on a motion, as point caches, bundles or OBJ files; and compiled for an engine as GLB.

use crate::error::Error;
use crate::measure::Runner;
use crate::output::Output;
use dermis_deform::{blend, prune_cost};
use dermis_fit::Progress;
use dermis_io::gltf::{GlbClip, GlbScene};
use dermis_io::npz::Precision;
use dermis_io::{Contents, Format, ModelFile, MorphTarget, Record, point_cache};
use dermis_rig::glam::{DMat3, DVec3};
use dermis_rig::skeleton::invert;
use dermis_rig::{BoneTransforms, Influences, Motion, Pruned, Rig};
use dermis_solve::faer::Mat;
use dermis_solve::symmetric::principal_axes;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::ops::ControlFlow;
use std::path::Path;

/// What running a model on a motion gave.
#[derive(Clone, Debug, PartialEq)]
pub struct Posed {
    /// Frames written.
    pub frames: usize,
    /// Vertices per frame as written.
    pub vertices: usize,
    /// Frames in which the ball held some vertex back, and the largest share of vertices in one frame.
    pub held: (usize, f64),
    /// The frame farthest from training: its label, degrees, and joint.
    pub farthest: Option<(String, f64, String)>,
}

/// Skins of every frame of a motion.
///
/// # Errors
/// [`Error::Option`] if the model corrects given positions and none are, [`Error::Cancelled`].
pub fn run(
    model: &ModelFile,
    motion: &Motion,
    given: Option<&[Vec<DVec3>]>,
    progress: Progress<'_>,
) -> Result<(Vec<Vec<DVec3>>, Posed), Error> {
    if model.baked.needs_given() && given.is_none_or(|g| g.len() != motion.frames.len()) {
        return Err(Error::Option("this model corrects given positions: name them with --base-cache".into()));
    }
    let rig = &model.rig;
    within_memory(motion, rig, 24, "lower --fps, or choose a part of the motion")?;
    let mut runner = Runner::new(&model.baked);
    let mut skins = Vec::with_capacity(motion.frames.len());
    let mut posed =
        Posed { frames: motion.frames.len(), vertices: rig.mesh.positions.len(), held: (0, 0.0), farthest: None };
    for (at, frame) in motion.frames.iter().enumerate() {
        if let ControlFlow::Break(stop) = progress(at as u64, motion.frames.len() as u64) {
            return Err(stop.into());
        }
        let transforms = rig.skeleton.bone_transforms(&frame.pose);
        skins.push(runner.run(&transforms, given.map(|g| g[at].as_slice())).to_vec());
        let share = runner.guarded.held as f64 / rig.mesh.positions.len().max(1) as f64;
        posed.held = (posed.held.0 + usize::from(share > 0.0), posed.held.1.max(share));
        let far = model.training.as_ref().map(|t| t.distance(&transforms));
        if let Some((far, bone)) = far.and_then(|f| Some((f, f.bone?)))
            && posed.farthest.as_ref().is_none_or(|(_, degrees, _)| far.degrees > *degrees)
        {
            posed.farthest = Some((frame.label.clone(), far.degrees, rig.skeleton.names()[bone].clone()));
        }
    }
    Ok((skins, posed))
}

/// Refuses a motion whose frames do not fit in memory at once, at so many bytes per frame and vertex.
pub(crate) fn within_memory(motion: &Motion, rig: &Rig, bytes: u64, remedy: &str) -> Result<(), Error> {
    const MOST: u64 = 8 << 30;
    let (frames, vertices) = (motion.frames.len() as u64, rig.mesh.positions.len() as u64);
    let needed = frames.saturating_mul(vertices).saturating_mul(bytes);
    match needed > MOST {
        true => Err(Error::Option(format!(
            "{frames} frames of {vertices} vertices need {} GB of memory, more than {}: {remedy}",
            needed >> 30,
            MOST >> 30
        ))),
        false => Ok(()),
    }
}

/// Whether skins written to `path` become a folder of OBJ files, by the ending of its name.
///
/// # Errors
/// [`Error::Lacks`] for an ending nothing is written as.
pub fn is_folder(path: &Path) -> Result<bool, Error> {
    match ending(path).as_str() {
        "" => Ok(true),
        "pc2" | "mdd" | "npz" | "obj" => Ok(false),
        other => Err(Error::lacks(path, format!("skins cannot be written as \".{other}\""), SKIN_ENDINGS)),
    }
}

const SKIN_ENDINGS: &str = "use .pc2, .mdd, .npz, or a folder (a name without ending) for OBJ files";

fn ending(path: &Path) -> String {
    path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase()).unwrap_or_default()
}

/// Writes skins in the format the output's name asks for: .pc2, .mdd, .npz, .obj for one frame, a folder of OBJ files
/// otherwise.
///
/// Point caches are written in the order the rig's file draws its vertices, so that they fit the mesh an application
/// imports from it; other formats carry the mesh themselves.
///
/// # Errors
/// [`Error`].
pub fn write_skins(model: &ModelFile, motion: &Motion, skins: &[Vec<DVec3>], output: &Output) -> Result<usize, Error> {
    let (rig, path) = (&model.rig, output.path());
    let failed = Error::write(path);
    let ending = ending(path);
    let times: Vec<f64> = motion.frames.iter().enumerate().map(|(at, f)| f.time.unwrap_or(at as f64 / 24.0)).collect();
    match ending.as_str() {
        "pc2" | "mdd" => {
            let drawn: Vec<Vec<DVec3>> = skins.iter().map(|skin| scatter(rig, skin)).collect();
            let frames: Vec<&[DVec3]> = drawn.iter().map(Vec::as_slice).collect();
            let bytes = match ending.as_str() {
                "pc2" => point_cache::write_pc2(&frames, 0.0, &model.space),
                _ => point_cache::write_mdd(&frames, &times, &model.space),
            };
            output.write(&bytes.map_err(failed)?)?;
            Ok(drawn.first().map_or(0, Vec::len))
        }
        "npz" => {
            let records = motion.frames.iter().zip(skins).map(|(frame, skin)| Record {
                label: frame.label.clone(),
                time: frame.time,
                pose: Some(frame.pose.clone()),
                positions: Some(skin.clone()),
                importance: 1.0,
            });
            let contents = Contents {
                name: motion.name.clone(),
                format: Format::Npz,
                space: model.space.clone(),
                mesh: Some(rig.mesh.clone()),
                skeleton: Some(rig.skeleton.clone()),
                weights: model.weights().cloned(),
                records: records.collect(),
                ..Contents::default()
            };
            output.write(&dermis_io::npz::write(&contents, Precision::Single).map_err(failed)?)?;
            Ok(rig.mesh.positions.len())
        }
        "obj" if skins.len() == 1 => {
            output.write(&dermis_io::obj::write(&rig.mesh, &skins[0], &model.space).map_err(failed)?)?;
            Ok(rig.mesh.positions.len())
        }
        "" => {
            let write = output.folder()?;
            let digits = skins.len().to_string().len().max(4);
            let mut written = std::collections::HashSet::new();
            for (at, skin) in skins.iter().enumerate() {
                let bytes = dermis_io::obj::write(&rig.mesh, skin, &model.space).map_err(&failed)?;
                let name = format!("frame_{at:0digits$}.obj");
                write(&name, &bytes)?;
                written.insert(name);
            }
            remove_older_frames(path, &written)?;
            Ok(rig.mesh.positions.len())
        }
        _ => Err(Error::lacks(path, format!("{} skins cannot be written as \".{ending}\"", skins.len()), SKIN_ENDINGS)),
    }
}

/// Frames of an earlier, longer motion in the same folder would be taken for the end of this one.
fn remove_older_frames(folder: &Path, written: &std::collections::HashSet<String>) -> Result<(), Error> {
    let failed = |source| Error::File { path: folder.into(), source };
    for entry in std::fs::read_dir(folder).map_err(failed)?.filter_map(Result::ok) {
        let name = entry.file_name().to_string_lossy().into_owned();
        let number = name.strip_prefix("frame_").and_then(|n| n.strip_suffix(".obj"));
        if number.is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit())) && !written.contains(&name) {
            std::fs::remove_file(entry.path()).map_err(failed)?;
        }
    }
    Ok(())
}

/// Positions of the vertices the rig's file draws.
fn scatter(rig: &Rig, skin: &[DVec3]) -> Vec<DVec3> {
    match &rig.mesh.render {
        Some(render) => render.source.iter().map(|&v| skin[v as usize]).collect(),
        None => skin.to_vec(),
    }
}

/// What an exported GLB holds, and what each step cost.
#[derive(Clone, Debug, PartialEq)]
pub struct Exported {
    /// Bytes of the file.
    pub bytes: usize,
    /// Frames of the clip.
    pub frames: usize,
    /// Morph targets that carry the correction.
    pub shapes: usize,
    /// What pruning the influences dropped, and the largest change of a position over the clip, metres.
    pub pruned: Option<PruneCost>,
    /// rms and largest distance over the clip between the model and what the file shows, metres.
    pub against_model: Option<(f64, f64)>,
    /// The same for the skin weights alone, without morph targets.
    pub weights_alone: Option<(f64, f64)>,
}

impl Exported {
    /// The same as JSON; distances in metres.
    pub fn json(&self) -> Value {
        let pair = |(rms, max): (f64, f64)| json!({ "rms": rms, "max": max });
        json!({
            "bytes": self.bytes,
            "frames": self.frames,
            "shapes": self.shapes,
            "pruned": self.pruned.as_ref().map(prune_json),
            "weights_alone": self.weights_alone.map(pair),
            "against_model": self.against_model.map(pair),
        })
    }
}

/// What pruning cost, as JSON.
pub(crate) fn prune_json((pruned, largest): &PruneCost) -> Value {
    json!({ "influences": pruned.dropped, "vertices": pruned.vertices, "largest": largest })
}

/// What an engine can take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExportSettings {
    /// Morph targets at most.
    pub shapes: usize,
    /// Influences per vertex at most; all of them if `None`.
    pub influences: Option<usize>,
}

/// The model as a skinned GLB that any viewer plays: skin weights, the motion as a clip, and the correction as at most
/// `shapes` morph targets with animated weights.
///
/// The correction of each frame is carried back to the rest pose through the vertex's blended matrix; the targets are
/// what these corrections have in common over the clip, and the principal shapes of the rest. They are baked for this
/// motion.
///
/// # Errors
/// [`Error`].
pub fn export_glb(
    model: &ModelFile,
    motion: Option<&Motion>,
    given: Option<&[Vec<DVec3>]>,
    settings: ExportSettings,
    output: &Output,
    progress: Progress<'_>,
) -> Result<Exported, Error> {
    let rig = &model.rig;
    let (weights, pruned) = skin_weights(model, motion, settings.influences)?;
    let mut exported = Exported { bytes: 0, frames: 0, shapes: 0, pruned, against_model: None, weights_alone: None };
    let (mut morphs, mut clips) = (Vec::new(), Vec::new());
    if let Some(motion) = motion {
        // Skins, corrections as they are, centred and rebuilt, and the matrices that carry them.
        within_memory(motion, rig, 24 * 4 + 72, "lower --fps, or choose a part of the motion")?;
        let (skins, _) = run(model, motion, given, progress)?;
        let baked = bake_shapes(rig, &weights, motion, &skins, settings.shapes);
        exported.frames = motion.frames.len();
        exported.shapes = baked.morphs.len();
        exported.against_model = Some(baked.against_model);
        exported.weights_alone = Some(baked.weights_alone);
        clips.push(clip(motion, if baked.morphs.is_empty() { vec![] } else { baked.weights }));
        morphs = baked.morphs;
    }
    let scene = GlbScene {
        name: &rig.name,
        mesh: Some(&rig.mesh),
        skeleton: Some(&rig.skeleton),
        weights: Some(&weights),
        morphs: &morphs,
        clips: &clips,
        ..GlbScene::default()
    };
    exported.bytes = write_scene(&scene, output)?;
    Ok(exported)
}

/// What pruning the influences dropped, and the largest change of a position over the motion, metres.
pub type PruneCost = (Pruned, Option<f64>);

/// The model's skinning weights with so many influences at most, and what pruning them cost.
pub(crate) fn skin_weights<'a>(
    model: &'a ModelFile,
    motion: Option<&Motion>,
    influences: Option<usize>,
) -> Result<(Cow<'a, Influences>, Option<PruneCost>), Error> {
    let rig = &model.rig;
    let full = model.weights().ok_or_else(|| {
        Error::Option(format!("the rig \"{}\" has no skinning weights: there is no skin to export", rig.name))
    })?;
    let Some(most) = influences else { return Ok((Cow::Borrowed(full), None)) };
    let (kept, report) = full.pruned(most, 0.0);
    let poses: Vec<BoneTransforms> =
        motion.iter().flat_map(|m| &m.frames).map(|f| rig.skeleton.bone_transforms(&f.pose)).collect();
    let cost = motion.map(|_| prune_cost(&rig.mesh.positions, full, &kept, &poses));
    Ok((Cow::Owned(kept), Some((report, cost))))
}

/// The motion as a clip, with weights of the morph targets in every frame.
pub(crate) fn clip(motion: &Motion, morph_weights: Vec<Vec<f64>>) -> GlbClip {
    GlbClip {
        name: motion.name.clone(),
        times: motion.frames.iter().enumerate().map(|(at, f)| f.time.unwrap_or(at as f64 / 24.0)).collect(),
        poses: motion.frames.iter().map(|f| f.pose.clone()).collect(),
        morph_weights,
    }
}

/// Writes a GLB; result: its bytes.
pub(crate) fn write_scene(scene: &GlbScene<'_>, output: &Output) -> Result<usize, Error> {
    let write = |e: dermis_io::gltf::WriteError| Error::Write { path: output.path().into(), reason: e.to_string() };
    let bytes = dermis_io::gltf::write_glb(scene).map_err(write)?;
    output.write(&bytes)?;
    Ok(bytes.len())
}

/// Corrections of a motion as principal shapes at rest.
struct BakedShapes {
    morphs: Vec<MorphTarget>,
    /// Weights of the shapes in every frame.
    weights: Vec<Vec<f64>>,
    against_model: (f64, f64),
    weights_alone: (f64, f64),
}

fn bake_shapes(rig: &Rig, weights: &Influences, motion: &Motion, skins: &[Vec<DVec3>], most: usize) -> BakedShapes {
    let (frames, vertices) = (skins.len(), rig.mesh.positions.len());
    // Rest-space corrections, and the matrices that carry them to the pose.
    let mut corrections = Mat::<f64>::zeros(3 * vertices, frames);
    let mut carriers: Vec<Vec<DMat3>> = Vec::with_capacity(frames);
    let mut alone = Distances::default();
    for (at, (frame, skin)) in motion.frames.iter().zip(skins).enumerate() {
        let transforms = rig.skeleton.bone_transforms(&frame.pose);
        let mut carrier = Vec::with_capacity(vertices);
        for v in 0..vertices {
            let a = blend(weights.of(v), &transforms);
            let difference = skin[v] - a.transform_point3(rig.mesh.positions[v]);
            alone.add(difference.length());
            // A collapsed blend cannot carry a correction; it is left out and shows up in the error.
            let back = invert(&a).map_or(DVec3::ZERO, |inverse| inverse.matrix3 * difference);
            for j in 0..3 {
                corrections[(3 * v + j, at)] = back[j];
            }
            carrier.push(a.matrix3);
        }
        carriers.push(carrier);
    }
    let mut made = BakedShapes {
        morphs: vec![],
        weights: vec![vec![]; frames],
        against_model: (0.0, 0.0),
        weights_alone: alone.finish(),
    };
    let rebuilt = principal_shapes(&corrections, 1e-6 * rig.mesh.diagonal(), most, &mut made);
    let mut against = Distances::default();
    for s in 0..frames {
        let transforms = rig.skeleton.bone_transforms(&motion.frames[s].pose);
        for v in 0..vertices {
            let d = DVec3::new(rebuilt[(3 * v, s)], rebuilt[(3 * v + 1, s)], rebuilt[(3 * v + 2, s)]);
            let shown = blend(weights.of(v), &transforms).transform_point3(rig.mesh.positions[v]) + carriers[s][v] * d;
            against.add((shown - skins[s][v]).length());
        }
    }
    made.against_model = against.finish();
    made
}

/// Adds the principal shapes of `corrections` (3·vertices × frames) to `made`; result: what they rebuild.
///
/// All weights lie in 0..=1, because applications clamp them there: each shape spans its component's range, and what is
/// common to all frames is a target of its own that the clip holds at one. Shapes whose displacement never exceeds
/// `unseen` are left out.
fn principal_shapes(corrections: &Mat<f64>, unseen: f64, most: usize, made: &mut BakedShapes) -> Mat<f64> {
    let (size, frames) = (corrections.nrows(), corrections.ncols());
    let mut rebuilt = Mat::<f64>::zeros(size, frames);
    if most == 0 || frames == 0 || corrections.norm_max() <= unseen {
        return rebuilt;
    }
    let mut constant: Vec<f64> =
        (0..size).map(|i| (0..frames).map(|s| corrections[(i, s)]).sum::<f64>() / frames as f64).collect();
    let centred = Mat::from_fn(size, frames, |i, s| corrections[(i, s)] - constant[i]);
    let gram = centred.transpose() * &centred;
    let Ok(axes) = principal_axes(gram.as_ref()) else { return rebuilt };
    let mut shapes: Vec<Vec<f64>> = Vec::new();
    let mut weights: Vec<Vec<f64>> = vec![vec![1.0]; frames];
    for h in 0..axes.values.len().min(most - 1) {
        let e = |s: usize| axes.vectors[(s, h)];
        let (low, high) = (0..frames).map(e).fold((f64::INFINITY, f64::NEG_INFINITY), |(l, u), x| (l.min(x), u.max(x)));
        let along: Vec<f64> = (0..size).map(|i| (0..frames).map(|s| centred[(i, s)] * e(s)).sum()).collect();
        if along.iter().all(|x| x.abs() * (high - low) <= unseen) {
            break;
        }
        constant.iter_mut().zip(&along).for_each(|(c, x)| *c += low * x);
        shapes.push(along.iter().map(|x| x * (high - low)).collect());
        weights.iter_mut().enumerate().for_each(|(s, w)| w.push((e(s) - low) / (high - low)));
    }
    shapes.insert(0, constant);
    for (h, shape) in shapes.iter().enumerate() {
        for s in 0..frames {
            for i in 0..size {
                rebuilt[(i, s)] += weights[s][h] * shape[i];
            }
        }
        let name = if h == 0 { "correction_common".into() } else { format!("correction_{h}") };
        let deltas = shape.chunks_exact(3).map(DVec3::from_slice).collect();
        made.morphs.push(MorphTarget { name, deltas });
    }
    made.weights = weights;
    rebuilt
}

/// rms and largest of many distances.
#[derive(Default)]
pub(crate) struct Distances {
    squares: f64,
    largest: f64,
    count: usize,
}

impl Distances {
    pub(crate) fn add(&mut self, distance: f64) {
        self.squares += distance * distance;
        self.largest = self.largest.max(distance);
        self.count += 1;
    }
    pub(crate) fn finish(&self) -> (f64, f64) {
        ((self.squares / self.count.max(1) as f64).sqrt(), self.largest)
    }
}

/// Whether a model is more than skinning weights, so that a plain skin loses something.
pub fn corrects(model: &ModelFile) -> bool {
    let plain = model.weights().is_some();
    let is_lbs = matches!(model.baked.base, dermis_deform::baked::BakedBase::Lbs(_));
    model.baked.correction.is_some() || !is_lbs || !plain
}

/// Whether a path asks for a GLB.
pub fn is_glb(path: &Path) -> bool {
    path.extension().is_some_and(|e| e.eq_ignore_ascii_case("glb"))
}
