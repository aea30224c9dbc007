//! Found bones as a file: a GLB that plays the sequence, or a bundle; and what the written file shows.

use super::{Sequences, Solved, are_rigid};
use crate::FileError;
use crate::error::Error;
use crate::measure::{Scores, measure};
use crate::output::{Output, ending};
use dermis_deform::{Base, Deformer, RiggedDeformer};
use dermis_fit::decompose::hierarchy::middles;
use dermis_fit::decompose::{DecomposeReport, Outlier, Sequence, without_outliers};
use dermis_io::gltf::affine_nodes::split;
use dermis_io::gltf::{GlbClip, GlbScene};
use dermis_io::npz::StoredFloat;
use dermis_io::to_bytes;
use dermis_io::{Contents, Format, ModelFile, ModelHeader, Record};
use dermis_rig::glam::{DAffine3, DMat3, DVec3};
use dermis_rig::{BoneIndex, BoneTransforms, Example, ExampleSet, Influences, Rig, Skeleton, WorldPose};
use serde_json::{Value, json};
use std::path::Path;

/// A decomposition as it was written and read back.
#[derive(Debug)]
pub struct Decomposed {
    /// What the file holds as a model: linear blend skinning.
    pub model: ModelFile,
    /// Every frame with the file's pose.
    pub examples: ExampleSet,
    /// Errors of the file.
    pub scores: Scores,
    /// Bones of the solve; a file with shear has two nodes for each.
    pub bones: usize,
    /// Whether bones are pairs of nodes.
    pub paired: bool,
    /// The most influences of a vertex.
    pub influences_max: usize,
    /// Bytes of the file.
    pub bytes: usize,
    /// What happened in the solve.
    pub report: DecomposeReport,
}

/// Refuses a name that no decomposition is written to.
///
/// # Errors
/// [`FileError::Lacks`] with the endings that can.
pub fn check_ending(path: &Path) -> Result<(), Error> {
    match ending(path).as_str() {
        "glb" | "npz" => Ok(()),
        other => {
            let what = format!("a decomposition cannot be written as \".{other}\"");
            Err(Error::lacks(path, what, "use .glb for applications and engines, or .npz for a bundle"))
        }
    }
}

/// Writes bones, weights and the clips that play the sequence, reads the file back and measures it.
///
/// Rigid bones are joints. In a GLB, bones that shear are pairs of nodes. Key frames are exact; between
/// them a viewer interpolates.
///
/// # Errors
/// [`Error`].
pub fn write_decomposition(sequences: &Sequences, solved: &Solved, output: &Output) -> Result<Decomposed, Error> {
    let bones = bones(sequences, solved)?;
    let paired = ending(output.path()) == "glb" && !are_rigid(&bones.transforms);
    let bytes = match ending(output.path()).as_str() {
        "npz" => bundle(sequences, &bones, output.path())?,
        _ => glb(sequences, &bones, paired, output.path())?,
    };
    output.write(&bytes)?;
    let (rig, weights, poses) = read_back(sequences, &bytes, output.path())?;
    let influences_max = weights.largest_count();
    let deformer = Deformer::new(rig.mesh().positions.clone(), Base::Lbs(weights.clone()), None)
        .expect("the parts are of one rig");
    let header = ModelHeader { method: "decompose".into(), program: crate::PROGRAM.into(), ..ModelHeader::default() };
    // What was set aside counts for no error: it is where the bones take it.
    let rest = &sequences.mesh.positions;
    let shapes = sequences.frames();
    let sequence = Sequence { rest, frames: &shapes, triangles: &sequences.mesh.triangles };
    let mut mended = without_outliers(&sequence, &solved.report.outliers, &weights, &poses);
    let times = sequences.clips.iter().flat_map(|clip| &clip.times);
    let frames = sequences.labels().into_iter().zip(times).zip(&shapes).zip(poses);
    let examples = frames.enumerate().map(|(at, (((label, time), frame), transforms))| Example {
        label,
        time: Some(*time),
        transforms,
        positions: mended.remove(&at).unwrap_or_else(|| frame.to_vec()),
        importance: 1.0,
        local: None,
    });
    let examples = ExampleSet::new(sequences.name.clone(), examples.collect(), &rig)
        .map_err(|e| Error::lacks(output.path(), e.to_string(), ""))?;
    let model = RiggedDeformer::new(rig, Some(weights), deformer.bake(), None)
        .map_err(|e| Error::lacks(output.path(), e.to_string(), ""))?;
    let model = ModelFile { model, space: sequences.space.clone(), header };
    let scores = measure(&model, &examples, None)?;
    Ok(Decomposed {
        bones: bones.skeleton.len(),
        model,
        examples,
        scores,
        paired,
        influences_max,
        bytes: bytes.len(),
        report: solved.report.clone(),
    })
}

impl Decomposed {
    /// The JSON of `decompose`; lengths in metres.
    pub fn json(&self, sequences: &Sequences, solved: &Solved) -> Value {
        let rig = self.model.rig();
        let clips = sequences.clips.iter().map(|clip| {
            let seconds = clip.times.last().copied().unwrap_or(0.0) - clip.times.first().copied().unwrap_or(0.0);
            json!({ "name": clip.name, "frames": clip.frames.len(), "seconds": seconds })
        });
        let labels = sequences.labels();
        let outlier = |o: &Outlier| json!({ "frame": labels[o.frame], "vertex": o.vertex, "distance": o.distance });
        let set_aside: Vec<Value> = self.report.outliers.iter().map(outlier).collect();
        let pose = |p: &dermis_measure::PerPoseError| json!({ "label": p.label, "rms": p.rms, "max": p.max, "p95": p.p95, "worst_vertex": p.worst_vertex });
        json!({
            "vertices": rig.mesh().positions.len(),
            "frames": self.examples.len(),
            "unit": self.model.space.unit,
            "diagonal": rig.mesh().diagonal(),
            "bones_requested": self.report.bones_requested,
            "bones": self.bones,
            "fewer_because": self.report.fewer_because,
            "too_few": self.report.too_few.map(|(bones, square)| json!({ "bones": bones, "rms": square.sqrt() })),
            "roughness": self.report.roughness,
            "influences_max": self.influences_max,
            "error": self.scores.model.error,
            "free_rms": solved.free_rms,
            "iterations": self.report.iterations,
            "stopped_because": stopped(&self.report),
            "seconds": solved.seconds,
            "bytes": self.bytes,
            "two_nodes_per_bone": self.paired,
            "clips": clips.collect::<Vec<_>>(),
            "left_out": sequences.left_out,
            "set_aside": set_aside,
            "per_pose": self.scores.model.per_pose.iter().map(pose).collect::<Vec<_>>(),
            "worst_vertices": self.scores.model.worst_vertices,
        })
    }

    /// Why the solve ended, in words.
    pub fn stopped(&self) -> &'static str {
        stopped(&self.report)
    }
}

fn stopped(report: &DecomposeReport) -> &'static str {
    use dermis_fit::decompose::Stopped;
    match report.stopped {
        Stopped::Converged => "converged",
        Stopped::IterationLimit => "iteration limit",
        Stopped::Enough => "small enough",
        Stopped::Exact => "exact",
    }
}

/// Bones in the order and with the places they are written.
struct Bones {
    skeleton: Skeleton,
    weights: Influences,
    transforms: Vec<BoneTransforms>,
}

/// A skeleton for found bones: given ones as they are; a tree with its joints; else roots in the middle of their skin.
fn bones(sequences: &Sequences, solved: &Solved) -> Result<Bones, Error> {
    let (weights, transforms) = (solved.weights.clone(), solved.transforms.clone());
    let count = solved.report.bones.max(weights.bones_named()).max(transforms.first().map_or(0, |t| t.len()));
    if let Some(skeleton) = solved.given.clone().filter(|s| s.len() == count) {
        return Ok(Bones { skeleton, weights, transforms });
    }
    let digits = count.saturating_sub(1).to_string().len().max(2);
    let name = |at: usize| format!("bone_{at:0digits$}");
    let Some(tree) = &solved.tree else {
        let (_, heads) = middles(&sequences.mesh.positions, &weights, count);
        let bind = heads.into_iter().map(DAffine3::from_translation).collect();
        let skeleton = Skeleton::new((0..count).map(name).collect(), vec![None; count], bind)?;
        return Ok(Bones { skeleton, weights, transforms });
    };
    let mut place = vec![0; count];
    tree.order.iter().enumerate().for_each(|(new, old)| place[old.get()] = new);
    let skeleton = Skeleton::new(
        (0..count).map(name).collect(),
        tree.order.iter().map(|b| tree.parents[b.get()].map(|p| BoneIndex::new(place[p.get()]))).collect(),
        tree.order.iter().map(|b| DAffine3::from_translation(tree.joints[b.get()])).collect(),
    );
    let reorder = |pose: &BoneTransforms| BoneTransforms::new(tree.order.iter().map(|&b| pose[b]).collect());
    Ok(Bones {
        skeleton: skeleton?,
        weights: weights.with_bones(&place),
        transforms: transforms.iter().map(reorder).collect(),
    })
}

/// Runs of frames beside the clips they belong to.
fn by_clip<'a, T>(sequences: &'a Sequences, all: &'a [T]) -> impl Iterator<Item = (&'a super::Take, &'a [T])> {
    sequences.clips.iter().scan(0, move |at, clip| {
        let run = &all[*at..*at + clip.frames.len()];
        *at += clip.frames.len();
        Some((clip, run))
    })
}

fn glb(sequences: &Sequences, bones: &Bones, paired: bool, path: &Path) -> Result<Vec<u8>, Error> {
    let plain = |transforms: &BoneTransforms| -> WorldPose {
        WorldPose::new(bones.skeleton.bind().iter().zip(transforms.iter()).map(|(b, m)| *m * *b).collect())
    };
    let (skeleton, weights) = match paired {
        false => (bones.skeleton.clone(), bones.weights.clone()),
        true => pairs(bones)?,
    };
    let mut clips = Vec::new();
    for (take, transforms) in by_clip(sequences, &bones.transforms) {
        let poses = match paired {
            false => transforms.iter().map(plain).collect(),
            true => paired_poses(bones, transforms),
        };
        clips.push(GlbClip { name: take.name.clone(), times: take.times.clone(), poses, ..GlbClip::default() });
    }
    let scene = GlbScene {
        name: &sequences.name,
        mesh: Some(&sequences.mesh),
        skeleton: Some(&skeleton),
        weights: Some(&weights),
        clips: &clips,
        ..GlbScene::default()
    };
    to_bytes(|out| dermis_io::gltf::write_glb(&scene, out)).map_err(Error::write(path))
}

/// For every bone a node that stretches and a joint below it, both at the bone's head at rest.
fn pairs(bones: &Bones) -> Result<(Skeleton, Influences), Error> {
    let (mut names, mut parents, mut bind) = (Vec::new(), Vec::new(), Vec::new());
    for bone in bones.skeleton.bones() {
        let name = &bones.skeleton.names()[bone];
        let head = DAffine3::from_translation(bones.skeleton.bind()[bone].translation);
        names.extend([format!("{name}_stretch"), name.clone()]);
        parents.extend([None, Some(BoneIndex::new(2 * bone.get()))]);
        bind.extend([head, head]);
    }
    let skeleton = Skeleton::new(names, parents, bind)?;
    let place: Vec<usize> = (0..bones.skeleton.len()).map(|bone| 2 * bone + 1).collect();
    Ok((skeleton, bones.weights.with_bones(&place)))
}

fn paired_poses(bones: &Bones, transforms: &[BoneTransforms]) -> Vec<WorldPose> {
    let heads: Vec<DVec3> = bones.skeleton.bind().iter().map(|b| b.translation).collect();
    let mut axes = vec![DMat3::IDENTITY; heads.len()];
    let pose = |maps: &BoneTransforms| {
        let mut world = Vec::with_capacity(2 * heads.len());
        for ((map, head), axes) in maps.iter().zip(&heads).zip(&mut axes) {
            let (stretch, joint, v) = split(map, *head, *axes);
            *axes = v;
            world.extend([stretch, joint]);
        }
        WorldPose::new(world)
    };
    transforms.iter().map(pose).collect()
}

fn bundle(sequences: &Sequences, bones: &Bones, path: &Path) -> Result<Vec<u8>, Error> {
    let one = sequences.clips.len() == 1;
    let mut records = Vec::new();
    for (take, transforms) in by_clip(sequences, &bones.transforms) {
        for (at, maps) in transforms.iter().enumerate() {
            let pose = bones.skeleton.bind().iter().zip(maps.iter()).map(|(b, m)| *m * *b).collect();
            records.push(Record {
                label: if one { take.labels[at].clone() } else { format!("{}#{}", take.name, take.labels[at]) },
                time: one.then_some(take.times[at]),
                pose: Some(WorldPose::new(pose)),
                positions: Some(take.frames[at].clone()),
                importance: 1.0,
                local: None,
            });
        }
    }
    let contents = Contents {
        name: sequences.name.clone(),
        format: Format::Npz,
        space: sequences.space.clone(),
        mesh: Some(sequences.mesh.clone()),
        skeleton: Some(bones.skeleton.clone()),
        weights: Some(bones.weights.clone()),
        records,
        ..Contents::default()
    };
    to_bytes(|out| dermis_io::npz::write(&contents, StoredFloat::Single, out)).map_err(Error::write(path))
}

/// For each vertex of a mesh, its vertex in what was read back: files keep the order in which vertices are drawn, also where
/// several of them stand in one place.
fn order_of_written(mesh: &dermis_rig::Mesh, read: &dermis_rig::Mesh) -> Option<Vec<u32>> {
    let drawn = |mesh: &dermis_rig::Mesh| match &mesh.render {
        Some(render) => render.source.clone(),
        None => (0..mesh.positions.len() as u32).collect(),
    };
    let (own, theirs) = (drawn(mesh), drawn(read));
    let mut order = vec![u32::MAX; mesh.positions.len()];
    for (&vertex, &found) in own.iter().zip(&theirs) {
        order[vertex as usize] = order[vertex as usize].min(found);
    }
    (own.len() == theirs.len() && !order.contains(&u32::MAX)).then_some(order)
}

/// The rig and the transforms of every frame as the written bytes hold them, in the order of the sequence's vertices.
fn read_back(
    sequences: &Sequences,
    bytes: &[u8],
    path: &Path,
) -> Result<(Rig, Influences, Vec<BoneTransforms>), Error> {
    let lost = |what: &str| Error::lacks(path, format!("the written file does not give back {what}"), "");
    let is_glb = ending(path) == "glb";
    let contents = match is_glb {
        true => dermis_io::gltf::read(bytes, "written", &|_, _| Err(std::io::ErrorKind::NotFound.into())),
        false => dermis_io::npz::read(bytes, "written"),
    };
    let contents = contents.map_err(|source| FileError::Read { path: path.into(), source })?;
    let (Some(mesh), Some(skeleton), Some(weights)) = (&contents.mesh, &contents.skeleton, &contents.weights) else {
        return Err(lost("mesh, skeleton and weights"));
    };
    let order =
        order_of_written(&sequences.mesh, mesh).ok_or_else(|| lost("the vertices in the order they were drawn in"))?;
    let rows = order.iter().map(|&v| weights.of(v as usize).to_vec());
    let positions = order.iter().map(|&v| mesh.positions[v as usize]).collect();
    let own = dermis_rig::Mesh { positions, ..sequences.mesh.clone() };
    let rig = Rig::new(own, skeleton.clone(), None).map_err(|e| Error::lacks(path, e.to_string(), ""))?;
    let rig = rig.named(&*sequences.name);
    let weights = Influences::from_rows(rows).map_err(|e| Error::lacks(path, e.to_string(), ""))?;
    let mut poses = Vec::new();
    if !is_glb {
        poses.extend(contents.records.iter().filter_map(|r| Some(skeleton.bone_transforms(r.pose.as_ref()?))));
    } else {
        for take in &sequences.clips {
            let clip = contents.clips.iter().find(|c| c.name == take.name).ok_or_else(|| lost(&take.name))?;
            let pose = |t: &f64| skeleton.bone_transforms(&(clip.sample)(f64::from(*t as f32)).pose);
            poses.extend(take.times.iter().map(pose));
        }
    }
    Ok((rig, weights, poses))
}
