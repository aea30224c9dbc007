//! From paths to rigs, motions and examples: the only place that opens files the user named.

mod pairing;
mod sets;
mod stream;

pub(crate) use pairing::check_axes;
pub use sets::{PoseSet, load_pose_sets};
pub use stream::{Streamed, stream_examples};

use crate::error::Error;
use dermis_io::{Contents, Format, Matching, ReadError, Record, Space, UpAxis, Warning, match_vertices};
use dermis_rig::glam::{DAffine3, DVec3};
use dermis_rig::{BoneTransforms, Example, ExampleSet, Frame, Mesh, Motion, Rig, WorldPose};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::mem::take;
use std::path::{Path, PathBuf};

/// A file as the user named it: a path, and after `#` the part of it that is meant.
///
/// For a file with clips the part is a clip's name. For a bundle it is a list of label patterns separated by commas, with
/// `*` for any text; a list that starts with `!` takes the records no pattern matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The file or folder.
    pub path: PathBuf,
    /// A clip by name, or records by label.
    pub part: Option<String>,
}

impl Source {
    /// `walk.glb#Walk` is the clip "Walk" of walk.glb, `poses.npz#arm*` the records of poses.npz whose labels begin with
    /// "arm", unless a file of that whole name exists.
    pub fn parse(text: &str) -> Self {
        match text.split_once('#') {
            Some((path, part)) if !Path::new(text).exists() => Self { path: path.into(), part: Some(part.into()) },
            _ => Self { path: text.into(), part: None },
        }
    }

    /// Keeps the records the part names.
    pub(crate) fn select(&self, contents: &mut Contents) -> Result<(), Error> {
        if self.part.is_none() || !contents.clips.is_empty() {
            return Ok(());
        }
        let total = contents.records.len();
        contents.records.retain(|r| self.takes(&r.label));
        if contents.records.is_empty() { Err(self.matches_none(total)) } else { Ok(()) }
    }

    /// Whether a record of this label is meant.
    pub(crate) fn takes(&self, label: &str) -> bool {
        let Some(part) = &self.part else { return true };
        let (patterns, inverted) = part.strip_prefix('!').map_or((part.as_str(), false), |rest| (rest, true));
        patterns.split(',').any(|p| matches(p, label)) != inverted
    }

    pub(crate) fn matches_none(&self, labels: usize) -> Error {
        let part = self.part.as_deref().unwrap_or_default();
        let what = format!("none of the {labels} labels matches \"{part}\"");
        Error::lacks(&self.path, what, "dermis inspect FILE --json lists the labels; * stands for any text")
    }
}

/// Whether a label matches a pattern in which `*` stands for any text.
pub(crate) fn matches(pattern: &str, label: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == label };
    let Some(mut label) = label.strip_prefix(first) else { return false };
    let mut pieces: Vec<&str> = rest.split('*').collect();
    let last = pieces.pop().unwrap_or_default();
    for piece in pieces {
        let Some(at) = label.find(piece) else { return false };
        label = &label[at + piece.len()..];
    }
    label.ends_with(last)
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.part {
            Some(part) => write!(f, "{}#{part}", self.path.display()),
            None => write!(f, "{}", self.path.display()),
        }
    }
}

impl std::str::FromStr for Source {
    type Err = std::convert::Infallible;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self::parse(text))
    }
}

/// How files are read where they do not say it themselves.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadOptions {
    /// Axis that points up in files that do not state it (OBJ, PC2, MDD, Alembic); the rig's own by default, Y for Alembic.
    pub up: Option<UpAxis>,
    /// Metres per unit in files that do not state it (OBJ, PC2, MDD, Alembic); the rig's own by default.
    pub unit: Option<f64>,
    /// Frames per second at which clips are sampled; their own keys by default.
    pub fps: Option<f64>,
    /// How far apart, in rest diagonals, two positions may be and still be the same vertex at rest.
    pub match_tolerance: f64,
}

impl Default for ReadOptions {
    fn default() -> Self {
        // 1e-4 of the diagonal: between float16 exports (5e-4 off at worst, refused) and printed six-digit OBJ (1e-6).
        Self { up: None, unit: None, fps: None, match_tolerance: 1e-4 }
    }
}

impl ReadOptions {
    /// Axes and unit of the file at `path`, if it does not state them: those of the rig, but Alembic has Y up whatever
    /// program wrote it.
    pub fn space_of(&self, path: &Path, rig: &Space) -> Space {
        let alembic = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("abc"));
        let up = self.up.unwrap_or(if alembic { UpAxis::Y } else { rig.up });
        Space { up, metres_per_unit: self.unit.unwrap_or(rig.metres_per_unit), unit: rig.unit.clone() }
    }
}

/// What was read, for messages and provenance.
#[derive(Clone, Debug, PartialEq)]
pub struct FileNote {
    /// "rig", "examples", "hold-out", "model".
    pub role: String,
    /// As the user named it.
    pub path: String,
    /// Size in bytes.
    pub bytes: u64,
    /// SHA-256, the first 16 hexadecimal digits.
    pub hash: String,
    /// Flaws that were mended, and how vertices were matched.
    pub remarks: Vec<String>,
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

/// The bytes of a file.
///
/// # Errors
/// [`Error::File`].
pub fn read_bytes(path: &Path) -> Result<Vec<u8>, Error> {
    read_file(path).map_err(|source| Error::File { path: path.into(), source })
}

/// A device such as /dev/zero, which a hostile file may name, would never end.
fn read_file(path: &Path) -> std::io::Result<Vec<u8>> {
    match std::fs::metadata(path)?.is_file() {
        true => std::fs::read(path),
        false => Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, "this is no file")),
    }
}

/// A file to be read in pieces, and its length in bytes.
///
/// # Errors
/// [`Error::File`].
pub fn open_file(path: &Path) -> Result<(File, u64), Error> {
    let open = || {
        // A device such as /dev/zero is no file, and a pipe would be waited for.
        if !std::fs::metadata(path)?.is_file() {
            return Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, "this is no file"));
        }
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        Ok((file, length))
    };
    open().map_err(|source| Error::File { path: path.into(), source })
}

/// Formats people will try that are not read yet, by the ending of their names.
fn not_read_yet(name: &str) -> Option<&'static str> {
    let ending = name.rsplit_once('.')?.1.to_ascii_lowercase();
    Some(match ending.as_str() {
        "usd" | "usda" | "usdc" | "usdz" => "USD files are not read yet",
        "bvh" => "BVH files are not read yet",
        _ => return None,
    })
}

/// Everything a file or a folder of numbered OBJ files holds. `space` serves formats that state no axes or unit.
///
/// # Errors
/// [`Error::File`], [`Error::Read`], or [`Error::Lacks`] if the kind of file is unknown.
pub fn read_contents(path: &Path, space: &Space) -> Result<(Contents, FileNote), Error> {
    if path.is_dir() {
        return read_folder(path, space);
    }
    let bytes = read_bytes(path)?;
    let name = path.file_name().map_or_else(|| path.display().to_string(), |n| n.to_string_lossy().into_owned());
    let format = dermis_io::sniff(&bytes, &name).ok_or_else(|| {
        let what = not_read_yet(&name).unwrap_or("the kind of this file is not known");
        Error::lacks(path, what, "use .glb, .gltf, .fbx, .abc, .npz, .obj, .pc2, .mdd or .dermis")
    })?;
    let folder = path.parent().unwrap_or(Path::new("."));
    let resolve = |uri: &str| read_file(&folder.join(uri));
    let contents = match format {
        Format::Gltf => dermis_io::gltf::read(&bytes, &name, &resolve),
        Format::Npz => dermis_io::npz::read(&bytes, &name),
        Format::Obj => dermis_io::obj::read(&bytes, &name, space),
        Format::Pc2 => dermis_io::point_cache::read_pc2(&bytes, &name, space),
        Format::Mdd => dermis_io::point_cache::read_mdd(&bytes, &name, space),
        Format::Alembic => dermis_io::alembic::read(&bytes, &name, space),
        Format::Fbx => dermis_io::fbx::read(&bytes, &name),
        Format::Model => dermis_io::model_file::read(&bytes).map(|model| Contents {
            name: name.clone(),
            format,
            space: model.space,
            mesh: Some(model.rig.mesh),
            skeleton: Some(model.rig.skeleton),
            weights: model.weights.or(model.rig.weights),
            influence_maps: model.rig.influence_maps,
            ..Contents::default()
        }),
    };
    let contents = contents.map_err(|source| Error::Read { path: path.into(), source })?;
    let note = note(path, &bytes, contents.warnings.iter().map(Warning::to_string).collect());
    Ok((contents, note))
}

/// A folder of OBJ files, one per frame, in natural numeric order.
fn read_folder(path: &Path, space: &Space) -> Result<(Contents, FileNote), Error> {
    let listing = std::fs::read_dir(path).map_err(|source| Error::File { path: path.into(), source })?;
    let mut names: Vec<String> = listing
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.to_ascii_lowercase().ends_with(".obj"))
        .collect();
    if names.is_empty() {
        return Err(Error::lacks(
            path,
            "the folder holds no OBJ files",
            "name a file, or a folder of numbered OBJ files",
        ));
    }
    names.sort_by(|a, b| dermis_io::obj::natural_order(a, b));
    let mut sequence = dermis_io::obj::Sequence::new(&path.display().to_string(), space);
    let (mut total, mut hash) = (0, Sha256::new());
    for name in &names {
        let file = path.join(name);
        let bytes = read_bytes(&file)?;
        total += bytes.len() as u64;
        hash.update(&bytes);
        sequence.push(name, &bytes).map_err(|source| Error::Read { path: file, source })?;
    }
    let contents = sequence.finish().map_err(|source| Error::Read { path: path.into(), source })?;
    let remarks = contents.warnings.iter().map(Warning::to_string).collect();
    let note = FileNote {
        role: String::new(),
        path: path.display().to_string(),
        bytes: total,
        hash: short_hash(hash),
        remarks,
    };
    Ok((contents, note))
}

pub(crate) fn note(path: &Path, bytes: &[u8], remarks: Vec<String>) -> FileNote {
    let hash = short_hash(Sha256::new_with_prefix(bytes));
    FileNote { role: String::new(), path: path.display().to_string(), bytes: bytes.len() as u64, hash, remarks }
}

fn short_hash(hash: Sha256) -> String {
    hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// A rig from a file that has a mesh and a skeleton.
///
/// # Errors
/// [`Error`], naming what the file lacks.
pub fn load_rig(path: &Path) -> Result<LoadedRig, Error> {
    let (contents, mut note) = read_contents(path, &Space::default())?;
    note.role = "rig".into();
    Ok(LoadedRig { rig: rig_of(&contents, path)?, space: contents.space, notes: vec![note] })
}

/// The rig in a file's contents.
pub(crate) fn rig_of(contents: &Contents, path: &Path) -> Result<Rig, Error> {
    let missing = |what: &str| {
        let what = format!("there is no {what} in this {} file", contents.format);
        Error::lacks(
            path,
            what,
            "a rig is a mesh with a skeleton: a skinned .glb or .fbx, or a bundle with bone_names and bind_matrices",
        )
    };
    let mesh = contents.mesh.clone().ok_or_else(|| missing("mesh"))?;
    let skeleton = contents.skeleton.clone().ok_or_else(|| missing("skeleton"))?;
    let name = path.file_stem().map_or_else(|| "rig".into(), |n| n.to_string_lossy().into_owned());
    let (weights, influence_maps) = (contents.weights.clone(), contents.influence_maps.clone());
    let rig = Rig { name, mesh, skeleton, weights, influence_maps };
    rig.check().map_err(|e| Error::lacks(path, e.to_string(), ""))?;
    Ok(rig)
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
/// [`Error`]: unreadable files, vertices or bones that do not match, poses without skins and the reverse.
pub fn load_examples(
    rig: &Rig,
    rig_space: &Space,
    sources: &[Source],
    options: &ReadOptions,
    role: &str,
) -> Result<(ExampleSet, Vec<FileNote>), Error> {
    let mut all: Option<ExampleSet> = None;
    let mut notes = Vec::new();
    let mut pending: Option<Motions> = None;
    let read = |source: &Source| {
        let (mut contents, note) = read_contents(&source.path, &options.space_of(&source.path, rig_space))?;
        source.select(&mut contents)?;
        Ok::<_, Error>((contents, note))
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
        let records: Vec<Example> = if has_skin && has_pose && !clip_wanted {
            with_both(rig, &mut contents, options, path, &mut note)?
        } else if has_skin && !clip_wanted {
            let motion = pending.take().ok_or_else(|| {
                let what = format!("{} skins without poses", contents.records.len());
                Error::lacks(path, what, "name the file with their poses just before it: --examples walk.glb walk.pc2")
            })?;
            pairing::with_motion(rig, &contents, &motion, options, path, &mut note)?
        } else if !contents.morphs.is_empty() && !moves_skins {
            from_morphs(rig, &contents, source, options, &mut note)?
        } else {
            let motion = motion_of(rig, &contents, source, options)?;
            if let Some(unused) = pending.replace(Motions { motion, contents, source: source.clone() }) {
                return Err(no_skin(&unused));
            }
            notes.push(note);
            continue;
        };
        let set = ExampleSet::new(contents.name.clone(), records, rig)
            .map_err(|e| Error::lacks(path, e.to_string(), "leave the example out, or give it importance 0"))?;
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
        let path = sources.first().map_or_else(PathBuf::new, |s| s.path.clone());
        return Err(Error::lacks(&path, "there are no examples", "an example is a pose with the skin in that pose"));
    }
    Ok((set, notes))
}

fn no_skin(motion: &Motions) -> Error {
    let what = format!("{} poses without skins", motion.motion.frames.len());
    Error::lacks(&motion.source.path, what, "name the skins right after it: --examples walk.glb walk.pc2")
}

/// Poses of a bundle by bone name, in the rig's order. A bundle without names must agree in number.
pub(crate) fn poses_for_rig(
    rig: &Rig,
    contents: &Contents,
    path: &Path,
) -> Result<impl Fn(&WorldPose) -> WorldPose + use<>, Error> {
    let names: Option<Vec<String>> = contents
        .skeleton
        .as_ref()
        .map(|s| s.names().to_vec())
        .or_else(|| (!contents.bone_names.is_empty()).then(|| contents.bone_names.clone()));
    let order: Vec<usize> = match names {
        None => (0..rig.skeleton.len()).collect(),
        Some(names) => {
            let places: Vec<Option<usize>> =
                rig.skeleton.names().iter().map(|n| names.iter().position(|m| m == n)).collect();
            let missing: Vec<&String> =
                rig.skeleton.names().iter().zip(&places).filter(|(_, p)| p.is_none()).map(|(n, _)| n).collect();
            if !missing.is_empty() {
                let what = format!(
                    "{} of the rig's {} bones are missing (first: \"{}\"); the file has {}",
                    missing.len(),
                    rig.skeleton.len(),
                    missing[0],
                    names.len()
                );
                return Err(Error::lacks(
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
pub(crate) fn matching(
    mesh: &Mesh,
    contents: &Contents,
    count: usize,
    options: &ReadOptions,
    path: &Path,
    note: &mut FileNote,
) -> Result<Matching, Error> {
    let first = contents.mesh.as_ref().map(|m| m.positions.as_slice()).filter(|rest| rest.len() == count);
    // The first frame of an OBJ sequence or an Alembic file is a pose, not the rest mesh.
    let rest = first.filter(|_| !matches!(contents.format, Format::Obj | Format::Alembic));
    let tolerance = options.match_tolerance * mesh.diagonal();
    let matching = match match_vertices(mesh, rest, count, tolerance) {
        // Where counts differ the first frame may show the rest pose, which positions prove.
        Err(dermis_io::MatchError::Counts { .. }) if contents.format == Format::Alembic => {
            match_vertices(mesh, first, count, tolerance)
        }
        other => other,
    };
    let matching = matching.map_err(|source| Error::Match { path: path.into(), source })?;
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
) -> Result<Vec<Example>, Error> {
    let to_rig = poses_for_rig(rig, contents, path)?;
    let count = contents.records.iter().find_map(|r| r.positions.as_ref().map(Vec::len)).unwrap_or(0);
    let matching = matching(&rig.mesh, contents, count, options, path, note)?;
    let binds_differ = contents.skeleton.as_ref().is_some_and(|skeleton| {
        let theirs = to_rig(&WorldPose::new(skeleton.bind().to_vec()));
        let limit = options.match_tolerance * rig.mesh.diagonal().max(1.0);
        theirs.bones.iter().zip(rig.skeleton.bind().iter()).any(|(a, b)| !a.abs_diff_eq(*b, limit))
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
            None => rig.skeleton.bone_transforms(&to_rig(pose)),
        };
        examples.push(example(&record, transforms, matching.gather(&positions)));
    }
    if incomplete > 0 {
        note.remarks.push(format!("{incomplete} records lack a pose or a skin and were left out"));
    }
    Ok(examples)
}

fn example(record: &Record, transforms: BoneTransforms, positions: Vec<DVec3>) -> Example {
    Example { label: record.label.clone(), time: record.time, transforms, positions, importance: record.importance }
}

/// The motion of a clip or of a bundle's poses, in the rig's bone order.
pub(crate) fn motion_of(
    rig: &Rig,
    contents: &Contents,
    source: &Source,
    options: &ReadOptions,
) -> Result<Motion, Error> {
    let path = &source.path;
    if !contents.clips.is_empty() {
        let clip = pick_clip(contents, source)?;
        let times = sample_times(clip, source, options)?;
        return clip_motion(rig, contents, clip, &times, options, path);
    }
    let (to_rig, turn) = (poses_for_rig(rig, contents, path)?, turned_binds(rig, contents, options));
    let frame = |r: &Record| Some(Frame { label: r.label.clone(), time: r.time, pose: to_rig(&turn(r.pose.clone()?)) });
    let frames: Vec<Frame> = contents.records.iter().filter_map(frame).collect();
    if frames.is_empty() {
        let what = format!("there are neither poses nor clips in this {} file", contents.format);
        return Err(Error::lacks(path, what, "a motion is a .glb with an animation, or a bundle with pose_matrices"));
    }
    Ok(Motion { name: contents.name.trim_end_matches(".npz").into(), frames })
}

/// A clip at the times given, in the rig's bone order.
fn clip_motion(
    rig: &Rig,
    contents: &Contents,
    clip: &dermis_io::Clip,
    times: &[f64],
    options: &ReadOptions,
    path: &Path,
) -> Result<Motion, Error> {
    let names = clip_bones(contents, path)?;
    let to_rig = turned_binds(rig, contents, options);
    let frames = times.iter().enumerate().map(|(at, &time)| Frame {
        label: format!("{} {at}", clip.name),
        time: Some(time),
        pose: to_rig((clip.sample)(time).pose),
    });
    let motion = Motion { name: clip.name.clone(), frames: frames.collect() };
    motion.for_skeleton(&names, &rig.skeleton).map_err(|missing| {
        let (gone, all, first) = (missing.len(), rig.skeleton.len(), &missing[0]);
        let what = format!("{gone} of the rig's {all} bones are missing (first: \"{first}\")");
        Error::lacks(path, what, "motions are matched by bone name")
    })
}

/// Poses of a file whose joints stand where the rig's do at rest, but turned, as exporters turn bones: T B⁻¹ B_rig, with
/// the file's own B. Where joints stand elsewhere the rest poses differ, and joint-to-world matrices are taken as they are.
fn turned_binds(rig: &Rig, contents: &Contents, options: &ReadOptions) -> impl Fn(WorldPose) -> WorldPose + use<> {
    let limit = options.match_tolerance * rig.mesh.diagonal();
    // A glTF or FBX file without a skin has no bind pose, only the one its nodes happen to be in.
    let bound = !matches!(contents.format, Format::Gltf | Format::Fbx) || contents.weights.is_some();
    let turns = contents.skeleton.as_ref().filter(|_| bound).and_then(|theirs| {
        let (mut turns, mut differ) = (vec![DAffine3::IDENTITY; theirs.len()], false);
        for (bone, name) in rig.skeleton.names().enumerate() {
            let (own, at) = (rig.skeleton.bind()[bone], theirs.find(name)?);
            let bind = theirs.bind()[at];
            if bind.translation.distance(own.translation) > limit {
                return None;
            }
            differ |= !bind.matrix3.abs_diff_eq(own.matrix3, options.match_tolerance);
            turns[at.get()] = theirs.inverse_bind()[at] * own;
        }
        differ.then_some(turns)
    });
    move |pose| match &turns {
        Some(turns) => {
            let bones = pose.bones.iter().zip(turns).map(|(t, turn)| *t * *turn).collect();
            WorldPose { channels: pose.channels, ..WorldPose::new(bones) }
        }
        None => pose,
    }
}

/// A motion for a rig, from a file.
///
/// # Errors
/// [`Error`].
pub fn load_motion(rig: &Rig, source: &Source, options: &ReadOptions) -> Result<(Motion, FileNote), Error> {
    let (mut contents, mut note) = read_contents(&source.path, &Space::default())?;
    source.select(&mut contents)?;
    note.role = "motion".into();
    Ok((motion_of(rig, &contents, source, options)?, note))
}

fn clip_bones(contents: &Contents, path: &Path) -> Result<Vec<String>, Error> {
    let names = contents.skeleton.as_ref().map(|s| s.names().to_vec());
    names.ok_or_else(|| Error::lacks(path, "the clip moves no skeleton", "use the file of a skinned character"))
}

pub(crate) fn pick_clip<'a>(contents: &'a Contents, source: &Source) -> Result<&'a dermis_io::Clip, Error> {
    let names = || contents.clips.iter().map(|c| format!("\"{}\"", c.name)).collect::<Vec<_>>().join(", ");
    match (&source.part, &contents.clips[..]) {
        (None, [only]) => Ok(only),
        (Some(name), clips) => clips.iter().find(|c| c.name == *name).ok_or_else(|| {
            Error::lacks(
                &source.path,
                format!("there is no clip \"{name}\"; there are {}", names()),
                "name a clip after #: walk.glb#Walk",
            )
        }),
        (None, _) => {
            let what = format!("there are {} clips: {}", contents.clips.len(), names());
            Err(Error::lacks(&source.path, what, "name one after #: walk.glb#Walk"))
        }
    }
}

/// The clip's own keys, or a fixed rate.
pub(crate) fn sample_times(clip: &dermis_io::Clip, source: &Source, options: &ReadOptions) -> Result<Vec<f64>, Error> {
    /// An hour at 24 frames per second.
    const MOST: usize = 86_400;
    let count = match options.fps {
        Some(fps) => (clip.duration * fps + 1e-6).floor() as usize,
        None => clip.key_times.len(),
    };
    if count > MOST {
        let what = format!("the clip \"{}\" has {count} frames, more than {MOST}", clip.name);
        return Err(Error::lacks(&source.path, what, "sample it at a lower rate with --fps"));
    }
    Ok(match options.fps {
        Some(fps) => (0..=count).map(|frame| frame as f64 / fps).collect(),
        None if clip.key_times.is_empty() => vec![0.0],
        None => clip.key_times.clone(),
    })
}

/// Morph targets as sculpts: what the file shows at each key of its clip, or each target alone, in its key's pose.
fn from_morphs(
    rig: &Rig,
    contents: &Contents,
    source: &Source,
    options: &ReadOptions,
    note: &mut FileNote,
) -> Result<Vec<Example>, Error> {
    let path = &source.path;
    let need =
        |what: &str| Error::lacks(path, format!("morph targets, but no {what}"), "sculpts are shown on a skinned mesh");
    let mesh = contents.mesh.as_ref().ok_or_else(|| need("mesh"))?;
    let weights = contents.weights.as_ref().ok_or_else(|| need("skinning weights"))?;
    let skeleton = contents.skeleton.as_ref().ok_or_else(|| need("skeleton"))?;
    let matching = matching(&rig.mesh, contents, mesh.positions.len(), options, path, note)?;
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
                return Err(Error::lacks(
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
            Example { label, time, transforms, positions: matching.gather(&skin), importance: 1.0 }
        })
        .collect())
}

/// A cache of base positions for examples: one frame per example, in the rig's vertex order.
///
/// # Errors
/// [`Error`].
pub fn load_base_cache(
    rig: &Rig,
    rig_space: &Space,
    path: &Path,
    frames: usize,
    options: &ReadOptions,
) -> Result<(Vec<Vec<DVec3>>, FileNote), Error> {
    let (contents, mut note) = read_contents(path, &options.space_of(path, rig_space))?;
    note.role = "base".into();
    let skins: Vec<&Vec<DVec3>> = contents.records.iter().filter_map(|r| r.positions.as_ref()).collect();
    if skins.len() != frames {
        let what = format!("{} frames, but there are {frames} poses", skins.len());
        return Err(Error::lacks(path, what, "a base cache has one frame per pose, in the same order"));
    }
    let count = skins.first().map_or(0, |s| s.len());
    let matching = matching(&rig.mesh, &contents, count, options, path, &mut note)?;
    let gathered: Vec<Vec<DVec3>> = skins.into_iter().map(|s| matching.gather(s)).collect();
    if let Some(at) = gathered.iter().position(|frame| frame.iter().any(|p| !p.is_finite())) {
        return Err(Error::lacks(path, format!("frame {at} is not finite"), ""));
    }
    Ok((gathered, note))
}

/// A model file.
///
/// # Errors
/// [`Error`].
pub fn load_model(path: &Path) -> Result<(dermis_io::ModelFile, FileNote), Error> {
    let (file, bytes) = open_file(path)?;
    let model = dermis_io::model_file::read_from(file, bytes);
    let model = model.map_err(|source: ReadError| Error::Read { path: path.into(), source })?;
    let hash = stream::hash(path).map_err(|source| Error::File { path: path.into(), source })?;
    let note = FileNote { role: "model".into(), path: path.display().to_string(), bytes, hash, remarks: Vec::new() };
    Ok((model, note))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_whole_labels() {
        for (pattern, label, expected) in [
            ("Walk*", "Walk#3", true),
            ("Walk*", "A Walk", false),
            ("*lk*", "Walk#3", true),
            ("rest", "rest", true),
            ("rest", "resting", false),
            ("*a*a", "banana", true),
            ("*a*a", "banan", false),
            ("ab*ba", "aba", false),
            ("*", "", true),
        ] {
            assert_eq!(matches(pattern, label), expected, "{pattern} {label}");
        }
    }
}
