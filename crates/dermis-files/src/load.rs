//! From paths to rigs, motions and examples: the only place that opens files the user named.

mod beside;
mod check;
mod files;
mod found;
mod motion;
mod pairing;
mod sets;
mod source;
mod stream;
mod take;

pub use beside::{load_anchors, load_base_cache, load_map_table};
pub(crate) use check::{KEEP_ORDER, LOOKED_AT, check_skins, edges, own_skin};
pub use files::{FileNote, Needs, hash_of, names_in, note, open_file, read_bytes, read_contents, read_contents_with};
pub(crate) use files::{expect_finite, expect_skins};
pub use found::found;
pub(crate) use motion::{clip_motion, load_motion_of, pick_clip, sample_times};
pub use motion::{load_motion, motion_of, own_motion};

pub use sets::{PoseSet, load_pose_sets};
pub use source::{Source, matches};
pub use stream::{Streamed, stream_examples};
pub use take::{load_camera_tracks, load_take};

use crate::error::FileError;
use dermis_io::npz::BundleShapes;
use dermis_io::{Clip, Contents, Flaw, Format, Matching, ReadError, Record, Space, UpAxis, match_vertices};
use dermis_rig::glam::DVec3;
use dermis_rig::{BoneTransforms, Example, ExampleSet, LocalSculpt, Mesh, Motion, Rig, WorldPose};
use std::mem::take;
use std::path::Path;

/// How files are read where they do not say it themselves.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct ReadOptions {
    /// Axis that points up in files that do not state it (OBJ, PC2, MDD, Alembic, BVH, C3D, TRC); the rig's own by default, Y for Alembic and BVH.
    pub up: Option<UpAxis>,
    /// Metres per unit in files that do not state it (OBJ, PC2, MDD, Alembic, BVH, C3D, TRC); the rig's own by default.
    pub unit: Option<f64>,
    /// Frames per second at which clips are sampled, their own keys by default; and of what has no times of its own.
    pub fps: Option<f64>,
    /// How far apart, in rest diagonals, two positions may be and still be the same vertex at rest.
    pub match_tolerance: f64,
    /// Whether a motion may lack bones of the rig: they stay at rest against the bone above them.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
    /// Takes the order of the vertices of skins and sculpts for the rig's, without the checks that recognise another order.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub trust_order: bool,
    /// The shapes wanted of a bundle of corrections. Whoever reads examples sets it: a model of rest shapes wants them as stored.
    #[serde(skip)]
    pub shapes: BundleShapes,
    /// The files were read before: bundles that are read in slices are neither hashed nor looked at again.
    #[serde(skip)]
    pub known: bool,
}

impl Default for ReadOptions {
    fn default() -> Self {
        // 1e-4 of the diagonal: between float16 exports (5e-4 off at worst, refused) and printed six-digit OBJ (1e-6).
        Self {
            up: None,
            unit: None,
            fps: None,
            match_tolerance: 1e-4,
            partial: false,
            trust_order: false,
            shapes: BundleShapes::Skins,
            known: false,
        }
    }
}

impl ReadOptions {
    /// The same for examples that are rest shapes, if `rest` holds, else for skins.
    #[must_use]
    pub fn of_rest_shapes(&self, rest: bool) -> Self {
        Self { shapes: if rest { BundleShapes::Stored } else { BundleShapes::Skins }, ..self.clone() }
    }

    /// Axes and unit of the file at `path`, if it does not state them: those of the rig, but Alembic and BVH have Y up whatever
    /// program wrote them.
    pub fn space_of(&self, path: &Path, rig: &Space) -> Space {
        let has_y_up = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("abc") || e.eq_ignore_ascii_case("bvh"));
        let up = self.up.unwrap_or(if has_y_up { UpAxis::Y } else { rig.up });
        Space { up, metres_per_unit: self.unit.unwrap_or(rig.metres_per_unit), unit: rig.unit.clone() }
    }

    /// Refuses an option that acts on none of the files that were read.
    ///
    /// # Errors
    /// [`FileError::Unused`].
    pub fn must_act_on(&self, files: &[FileNote]) -> Result<(), FileError> {
        let any = |needs: fn(&Needs) -> bool| files.iter().any(|file| needs(&file.needs));
        let (rate, space) = (any(|needs| needs.rate), any(|needs| needs.space));
        let order = any(|needs| needs.order);
        let stateless = "files that state no axes and unit (OBJ, PC2, MDD, Alembic, BVH, C3D, TRC)";
        let options = [
            ("fps", self.fps.is_some() && !rate, "clips, poses without times, and takes of markers without times"),
            ("up", self.up.is_some() && !space, stateless),
            ("unit", self.unit.is_some() && !space, stateless),
            ("trust-order", self.trust_order && !order, "examples and sculpts"),
        ];
        match options.into_iter().find(|(_, unused, _)| *unused) {
            Some((setting, _, serves)) => Err(FileError::Unused { setting, serves }),
            None => Ok(()),
        }
    }
}

/// A rig with where it came from.
#[derive(Clone, Debug)]
pub struct LoadedRig {
    /// The rig.
    pub rig: Rig,
    /// Its file's axes and unit.
    pub space: Space,
    /// What was read.
    pub notes: Vec<FileNote>,
}

/// A rig from a file that has a mesh and a skeleton.
///
/// # Errors
/// [`FileError`], naming what the file lacks.
pub fn load_rig(path: &Path) -> Result<LoadedRig, FileError> {
    Ok(load_rig_with_clips(path)?.0)
}

/// The same, with the clips of the file, in the rig's bone order.
///
/// # Errors
/// As [`load_rig`].
pub fn load_rig_with_clips(path: &Path) -> Result<(LoadedRig, Vec<Clip>), FileError> {
    let (contents, mut note) = read_contents(path, &Space::default())?;
    note.role = "rig".into();
    let rig = rig_of(&contents, path)?;
    Ok((LoadedRig { rig, space: contents.space, notes: vec![note] }, contents.clips))
}

/// The rig in a file's contents.
///
/// # Errors
/// [`FileError::Lacks`] if there is no mesh, no skeleton, or they do not belong together.
pub fn rig_of(contents: &Contents, path: &Path) -> Result<Rig, FileError> {
    let missing = |what: &str| {
        let what = format!("there is no {what} in this {} file", contents.format);
        FileError::lacks(
            path,
            what,
            "a rig is a mesh with a skeleton: a skinned .glb, .fbx or .usd, or a bundle with bone_names and bind_matrices",
        )
    };
    let mesh = contents.mesh.clone().ok_or_else(|| missing("mesh"))?;
    let skeleton = contents.skeleton.clone().ok_or_else(|| missing("skeleton"))?;
    let name = path.file_stem().map_or_else(|| "rig".into(), |n| n.to_string_lossy().into_owned());
    let rig = Rig::new(mesh, skeleton, contents.weights.clone());
    let rig = rig.and_then(|rig| rig.with_influence_maps(contents.influence_maps.clone()));
    let rig = rig.map_err(|e| FileError::lacks(path, e.to_string(), ""))?.named(name);
    let assumed = contents.warnings.iter().any(|warning| warning.flaw == Flaw::UnknownSpace);
    Ok(if assumed { rig.without_up() } else { rig })
}

/// Bones in the order of the rig, found by name, and the motion's own names in the file's order.
struct Motions {
    motion: Motion,
    contents: Contents,
    source: Source,
}

/// Examples from files, for a rig.
///
/// A bundle holds poses and skins together. A glTF or FBX file with morph targets is examples by itself: the skin is what the
/// file shows at each key. A file with skins alone (PC2, MDD, OBJ, Alembic, a bundle without bones) takes its poses from the motion
/// file named before it: one for one if there are as many, else at the skins' own times.
///
/// # Errors
/// [`FileError`]: unreadable files, vertices or bones that do not match, poses without skins and the reverse.
pub fn load_examples(
    rig: &Rig,
    rig_space: &Space,
    sources: &[Source],
    options: &ReadOptions,
    role: &str,
) -> Result<(ExampleSet, Vec<FileNote>), FileError> {
    let Some(first) = sources.first() else { return Err(FileError::NoneNamed { role: role.to_owned() }) };
    let mut all: Option<ExampleSet> = None;
    let mut notes = Vec::new();
    let mut pending: Option<Motions> = None;
    let read = |source: &Source| {
        let space = options.space_of(&source.path, rig_space);
        let (mut contents, note) = read_contents_with(&source.path, &space, options.shapes)?;
        expect_finite(&contents, &source.path)?;
        source.select(&mut contents)?;
        Ok::<_, FileError>((contents, note))
    };
    let mut ahead = None;
    for (at, source) in sources.iter().enumerate() {
        let path = &source.path;
        let (mut contents, mut note) = match ahead.take() {
            Some(known) => known,
            None => read(source)?,
        };
        // Morph targets right before skins without poses are no examples: the file is the motion of these skins.
        if !contents.morphs.is_empty() && at + 1 < sources.len() {
            ahead = Some(read(&sources[at + 1])?);
        }
        let moves_skins = ahead.as_ref().is_some_and(|(next, _): &(Contents, FileNote)| {
            next.records.iter().any(|r| r.positions.is_some()) && next.records.iter().all(|r| r.pose.is_none())
        });
        note.role = role.into();
        let clip_wanted = source.part.is_some() && !contents.clips.is_empty();
        let has_skin = contents.records.iter().any(|r| r.positions.is_some());
        let has_pose = contents.records.iter().any(|r| r.pose.is_some());
        if options.shapes == BundleShapes::Skins && has_skin && !clip_wanted {
            expect_skins(&contents, path)?;
        }
        let records: Vec<Example> = if has_skin && has_pose && !clip_wanted {
            with_both(rig, &mut contents, options, path, &mut note)?
        } else if has_skin && !clip_wanted {
            let motion = pending.take().ok_or_else(|| {
                let what = format!("{} skins without poses", contents.records.len());
                FileError::lacks(
                    path,
                    what,
                    "name the file with their poses just before it: `examples` walk.glb walk.pc2",
                )
            })?;
            pairing::with_motion(rig, &contents, &motion, options, path, &mut note)?
        } else if !contents.morphs.is_empty() && !moves_skins {
            from_morphs(rig, &contents, source, options, &mut note)?
        } else {
            note.needs.rate |= motion::lacks_times(&contents);
            let motion = motion_of(rig, &mut contents, source, options)?;
            if let Some(unused) = pending.replace(Motions { motion, contents, source: source.clone() }) {
                return Err(no_skin(&unused));
            }
            notes.push(note);
            continue;
        };
        let set = ExampleSet::new(contents.name.clone(), records, rig)
            .map_err(|e| FileError::lacks(path, e.to_string(), "leave the example out, or give it importance 0"))?;
        note.remarks.push(format!("{} examples", set.len()));
        notes.push(note);
        all = Some(match all {
            Some(sofar) => sofar.joined(set),
            None => set,
        });
    }
    if let Some(unused) = pending {
        return Err(no_skin(&unused));
    }
    let set = all.unwrap_or_default();
    if set.is_empty() {
        return Err(FileError::lacks(
            &first.path,
            "there are no examples",
            "an example is a pose with the skin in that pose",
        ));
    }
    Ok((set, notes))
}

fn no_skin(motion: &Motions) -> FileError {
    let what = format!("{} poses without skins", motion.motion.frames.len());
    FileError::lacks(&motion.source.path, what, "name the skins right after it: `examples` walk.glb walk.pc2")
}

/// Poses of a bundle by bone name, in the rig's order. A bundle without names must agree in number.
///
/// # Errors
/// [`FileError::Lacks`], naming a bone of the rig that the file lacks.
pub fn poses_for_rig(
    rig: &Rig,
    contents: &Contents,
    path: &Path,
) -> Result<impl Fn(&WorldPose) -> WorldPose + use<>, FileError> {
    let names: Option<Vec<String>> = contents
        .skeleton
        .as_ref()
        .map(|s| s.names().to_vec())
        .or_else(|| (!contents.bone_names.is_empty()).then(|| contents.bone_names.clone()));
    let order: Vec<usize> = match names {
        None => {
            let bones = rig.skeleton().len();
            let counts = contents.records.iter().filter_map(|r| r.pose.as_ref()).map(|pose| pose.bones.len());
            if let Some(other) = counts.into_iter().find(|count| *count != bones) {
                let what = format!("poses of {other} bones without names, but the rig has {bones}");
                return Err(FileError::lacks(path, what, "add bone_names: poses are matched by them"));
            }
            (0..bones).collect()
        }
        Some(names) => {
            let places: Vec<Option<usize>> =
                rig.skeleton().names().iter().map(|n| names.iter().position(|m| m == n)).collect();
            let missing: Vec<&String> =
                rig.skeleton().names().iter().zip(&places).filter(|(_, p)| p.is_none()).map(|(n, _)| n).collect();
            if !missing.is_empty() {
                let what = format!(
                    "{} of the rig's {} bones are missing (first: \"{}\"); the file has {}",
                    missing.len(),
                    rig.skeleton().len(),
                    missing[0],
                    names.len()
                );
                return Err(FileError::lacks(
                    path,
                    what,
                    "poses are matched by bone name: rename the bones, or use the rig they belong to",
                ));
            }
            places.into_iter().flatten().collect()
        }
    };
    Ok(move |pose: &WorldPose| {
        let bones = order.iter().filter_map(|&b| pose.bones.as_slice().get(b).copied()).collect();
        WorldPose { channels: pose.channels.clone(), ..WorldPose::new(bones) }
    })
}

/// Brings the file's vertices into the rig's order.
///
/// # Errors
/// [`FileError::Match`].
pub fn matching(
    mesh: &Mesh,
    contents: &Contents,
    count: usize,
    options: &ReadOptions,
    path: &Path,
    note: &mut FileNote,
) -> Result<Matching, FileError> {
    let first = contents.mesh.as_ref().map(|m| m.positions.as_slice()).filter(|rest| rest.len() == count);
    // The first frame of an OBJ sequence, an Alembic file or a moving mesh of USD is a pose, not the rest mesh.
    let is_cache = match contents.format {
        Format::Alembic => true,
        Format::Usd => contents.skeleton.is_none() && !contents.records.is_empty(),
        _ => false,
    };
    let rest = first.filter(|_| !is_cache && contents.format != Format::Obj);
    let tolerance = options.match_tolerance * mesh.diagonal();
    let matching = match match_vertices(mesh, rest, count, tolerance) {
        // Where counts differ the first frame may show the rest pose, which positions prove.
        Err(dermis_io::MatchError::Counts { .. }) if is_cache => match_vertices(mesh, first, count, tolerance),
        other => other,
    };
    let matching = matching.map_err(|source| FileError::Match { path: path.into(), source })?;
    let report = &matching.report;
    let how = match report.how {
        dermis_io::matching::MatchedBy::Order => "by order",
        dermis_io::matching::MatchedBy::DrawnOrder => "by the order they are drawn in",
        dermis_io::matching::MatchedBy::Position => "by position at rest",
    };
    let distance = match report.largest_distance {
        None => String::new(),
        Some(0.0) => ", equal at rest".into(),
        Some(d) => format!(", at most {d:.1e} {} apart at rest", contents.space.unit),
    };
    note.remarks.push(format!("{} vertices matched {how}{distance}", report.vertices));
    Ok(matching)
}

/// Examples of records with a pose and a skin; the records are used up.
fn with_both(
    rig: &Rig,
    contents: &mut Contents,
    options: &ReadOptions,
    path: &Path,
    note: &mut FileNote,
) -> Result<Vec<Example>, FileError> {
    let to_rig = poses_for_rig(rig, contents, path)?;
    let count = contents.records.iter().find_map(|r| r.positions.as_ref().map(Vec::len)).unwrap_or(0);
    let matching = matching(rig.mesh(), contents, count, options, path, note)?;
    let binds_differ = contents.skeleton.as_ref().is_some_and(|skeleton| {
        let theirs = to_rig(&WorldPose::new(skeleton.bind().to_vec()));
        let limit = options.match_tolerance * rig.mesh().diagonal().max(1.0);
        theirs.bones.iter().zip(rig.skeleton().bind().iter()).any(|(a, b)| !a.abs_diff_eq(*b, limit))
    });
    // With another bind pose for the same mesh (bones reoriented by an exporter), M = T B⁻¹ takes the file's own B.
    let own = contents.skeleton.as_ref().filter(|_| binds_differ);
    if binds_differ {
        note.remarks.push("bind matrices differ from the rig's; the file's own are used for its poses".into());
    }
    let mut examples = Vec::new();
    let mut incomplete = 0;
    for mut record in take(&mut contents.records) {
        let (Some(pose), Some(positions)) = (&record.pose, record.positions.take()) else {
            incomplete += 1;
            continue;
        };
        let transforms = match own {
            Some(skeleton) => {
                let theirs = skeleton.bone_transforms(pose);
                BoneTransforms::new(to_rig(&WorldPose::new(theirs.to_vec())).bones.into_vec())
                    .with_channels(pose.channels.clone())
            }
            None => rig.skeleton().bone_transforms(&to_rig(pose)),
        };
        let local = record.local.as_ref().map(|local| local_of(local, &matching));
        examples.push(Example { local, ..example(&record, transforms, matching.gather(&positions)) });
    }
    if incomplete > 0 {
        note.remarks.push(format!("{incomplete} records lack a pose or a skin and were left out"));
    }
    note.needs.order = true;
    if !options.known {
        check_skins(rig, &examples, None, &|pose| own_skin(rig, pose), options.trust_order, path)?;
    }
    Ok(examples)
}

/// What was sculpted of a record, in the rig's vertex order.
pub(crate) fn local_of(local: &LocalSculpt, matching: &Matching) -> LocalSculpt {
    let touched = |mask: &Vec<bool>| matching.source().iter().map(|&at| mask[at as usize]).collect();
    LocalSculpt {
        mask: local.mask.as_ref().map(touched),
        shown: local.shown.as_ref().map(|skin| matching.gather(skin)),
    }
}

fn example(record: &Record, transforms: BoneTransforms, positions: Vec<DVec3>) -> Example {
    Example {
        label: record.label.clone(),
        time: record.time,
        transforms,
        positions,
        importance: record.importance,
        local: None,
    }
}

/// Morph targets as sculpts: what the file shows at each key of its clip, or each target alone, in its key's pose.
fn from_morphs(
    rig: &Rig,
    contents: &Contents,
    source: &Source,
    options: &ReadOptions,
    note: &mut FileNote,
) -> Result<Vec<Example>, FileError> {
    let path = &source.path;
    let need = |what: &str| {
        FileError::lacks(path, format!("morph targets, but no {what}"), "sculpts are shown on a skinned mesh")
    };
    let mesh = contents.mesh.as_ref().ok_or_else(|| need("mesh"))?;
    let weights = contents.weights.as_ref().ok_or_else(|| need("skinning weights"))?;
    let skeleton = contents.skeleton.as_ref().ok_or_else(|| need("skeleton"))?;
    let matching = matching(rig.mesh(), contents, mesh.positions.len(), options, path, note)?;
    let motion = (!contents.clips.is_empty()).then(|| pick_clip(contents, source)).transpose()?;
    // (label, time, pose in the file's bones, weight of each target)
    let mut shots: Vec<(String, Option<f64>, WorldPose, Vec<f64>)> = Vec::new();
    let alone = |at: usize| (0..contents.morphs.len()).map(|i| f64::from(u8::from(i == at))).collect::<Vec<_>>();
    match motion {
        Some(clip) => {
            let times = sample_times(clip, source, options)?;
            let animated = times.iter().any(|&t| (clip.sample)(t).morph_weights.iter().any(|w| *w != 0.0));
            if !animated && times.len() != contents.morphs.len() {
                let what = format!(
                    "{} morph targets, but the clip \"{}\" has {} keys",
                    contents.morphs.len(),
                    clip.name,
                    times.len()
                );
                return Err(FileError::lacks(
                    path,
                    what,
                    "animate the targets' weights, or give the clip one key per target",
                ));
            }
            for (at, &time) in times.iter().enumerate() {
                let frame = (clip.sample)(time);
                let (label, on) = match animated {
                    true => (format!("{} {at}", clip.name), frame.morph_weights),
                    false => (contents.morphs[at].name.clone(), alone(at)),
                };
                shots.push((label, animated.then_some(time), frame.pose, on));
            }
        }
        None => {
            note.remarks.push("no clip: every morph target is taken as a sculpt of the bind pose".into());
            for (at, morph) in contents.morphs.iter().enumerate() {
                shots.push((morph.name.clone(), None, WorldPose::new(skeleton.bind().to_vec()), alone(at)));
            }
        }
    }
    let to_rig = poses_for_rig(rig, contents, path)?;
    let mut shaped = vec![DVec3::ZERO; mesh.positions.len()];
    let mut skin = shaped.clone();
    Ok(shots
        .into_iter()
        .map(|(label, time, pose, on)| {
            shaped.copy_from_slice(&mesh.positions);
            for (morph, &w) in contents.morphs.iter().zip(&on).filter(|(_, w)| **w != 0.0) {
                shaped.iter_mut().zip(&morph.deltas).for_each(|(p, d)| *p += *d * w);
            }
            let theirs = skeleton.bone_transforms(&pose);
            dermis_deform::lbs(&shaped, weights, &theirs, &mut skin);
            let transforms = BoneTransforms::new(to_rig(&WorldPose::new(theirs.to_vec())).bones.into_vec());
            Example { label, time, transforms, positions: matching.gather(&skin), importance: 1.0, local: None }
        })
        .collect())
}

/// The kind of a file by its first bytes and its name, if it can be told.
pub fn kind_of(path: &Path) -> Option<Format> {
    let name = path.file_name()?.to_string_lossy().into_owned();
    let (mut file, length) = open_file(path).ok()?;
    // All that is looked at, but of a text, whose words may come late.
    let mut bytes = vec![0; length.min(1 << 16) as usize];
    std::io::Read::read_exact(&mut file, &mut bytes).ok()?;
    dermis_io::sniff(&bytes, &name)
}

/// A model file.
///
/// # Errors
/// [`FileError`].
pub fn load_model(path: &Path) -> Result<(dermis_io::ModelFile, FileNote), FileError> {
    let (file, bytes) = open_file(path)?;
    let model = dermis_io::model_file::read_from(file, bytes);
    let model = model.map_err(|source: ReadError| match kind_of(path) {
        Some(other) if other != Format::Model => FileError::lacks(
            path,
            format!("this is no model, but {other}"),
            "name a model (.dermis): `dermis fit` makes one of a rig and examples",
        ),
        _ => FileError::Read { path: path.into(), source },
    })?;
    let hash = hash_of(path)?;
    let path = path.display().to_string();
    let note = FileNote { role: "model".into(), path, bytes, hash, ..FileNote::default() };
    Ok((model, note))
}
