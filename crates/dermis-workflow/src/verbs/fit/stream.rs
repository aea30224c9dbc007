//! Fits to examples that are not held: streamed, or summed in parts, and the file of a part.

use super::{FitInput, Fitted, Method, baked};
use crate::FileError;
use crate::error::Error;
use crate::load::{FileNote, LoadedRig, ReadOptions};
use crate::measure::measure_streamed;
use crate::recipe::{FitOutcome, Input, Memory, Watch, sources, step};
use crate::report::SetRole;
use dermis_fit::joints::SolvedVertex;
use dermis_fit::method::MethodError;
use dermis_fit::method::passes::{BLOCK_BYTES, Passes};
use dermis_fit::method::share::{FormOfShare, Share, SolvedShare};
use dermis_fit::method::sums::Sums;
use dermis_fit::mwe::{Anchor, RowChoice, SeenPose, Statistics};
use dermis_fit::{FitError, Progress};
use dermis_io::WriteError;
use dermis_io::model_file::fingerprint;
use dermis_io::part_file::{self, PartFile, PartHeader, VERSION};
use dermis_io::share_file::{self, ShareFile, ShareHeader};
use dermis_rig::clock::Instant;
use dermis_rig::skeleton::row;
use dermis_rig::{BoneTransforms, Example, ExampleSet, Influences, Rig, Rows};
use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

/// A fit whose examples come one after another, and are not held.
pub enum Streaming<'a> {
    /// The joint model, which reads them several times.
    Passes(Box<Passing<'a>>),
    /// Multi-weight enveloping, which sums over them.
    Sums(Box<Summing<'a>>),
}

impl<'a> Streaming<'a> {
    /// Nothing read yet. The examples of `input` are not read. The joint model is solved for a share of the vertices.
    ///
    /// # Errors
    /// As [`Summing::new`].
    pub fn new(loaded: &'a LoadedRig, input: &FitInput<'a>, method: &'a Method, share: Share) -> Result<Self, Error> {
        Ok(match method {
            Method::Joint(_) => {
                let passes = Passes::new(method, input, BLOCK_BYTES)?.of_share(share);
                Self::Passes(Box::new(Passing { loaded, method, share, passes, seconds: 0.0 }))
            }
            // Sums are those of multi-weight enveloping; they refuse the other methods by name.
            Method::OwnWeights
            | Method::Dqs
            | Method::Lbs(_)
            | Method::DirectDeltaMush(_)
            | Method::AnimationSpace(_)
            | Method::Mwe(_)
            | Method::Psd(_)
            | Method::EigenSkin(_)
            | Method::PoseBlendshapes(_)
            | Method::ShapeByExample(_)
            | Method::Correctives(_)
            | Method::RotationalRegression(_) => Self::Sums(Box::new(Summing::new(loaded, input, method)?)),
        })
    }

    /// What some parts give, in this order. Each is opened when its turn comes, and has a name for errors, its bytes, and their number.
    ///
    /// Sums are added in pairs, then pairs of pairs, and so on: whoever merges the first two parts, the next two, and then those sums
    /// gets the bits that merging all four at once gives. Parts may therefore be merged on several machines.
    ///
    /// # Errors
    /// Those of reading, and [`FileError::Lacks`] where a part does not fit; [`MethodError::Shares`] if shares are no whole.
    pub fn merged<R: Read + Seek>(
        loaded: &'a LoadedRig,
        input: &FitInput<'a>,
        method: &'a Method,
        parts: impl IntoIterator<Item = Result<(PathBuf, R, u64), FileError>>,
    ) -> Result<Self, Error> {
        let unread = |path: &Path, source| FileError::Read { path: path.into(), source };
        if let Method::Joint(_) = method {
            let mut shares = Vec::new();
            for part in parts {
                let (path, source, length) = part?;
                let share = share_file::read_from(source, length).map_err(|source| unread(&path, source))?;
                shares.push(solved(loaded, method, share, &path)?);
            }
            let start = Instant::now();
            let passes = Passes::merged(method, input, shares)?;
            let seconds = start.elapsed().as_secs_f64();
            return Ok(Self::Passes(Box::new(Passing { loaded, method, share: Share::default(), passes, seconds })));
        }
        // Sums of 2ᵏ parts each, k falling.
        let mut pending: Vec<(u32, Box<Summing<'a>>)> = Vec::new();
        for part in parts {
            let (path, source, length) = part?;
            let part = part_file::read_from(source, length).map_err(|source| unread(&path, source))?;
            let mut sums = Box::new(Summing::new(loaded, input, method)?);
            sums.merge(part, &path)?;
            let mut level = 0;
            while let Some((_, left)) = pending.pop_if(|(other, _)| *other == level) {
                sums = left.joined(*sums, &path)?;
                level += 1;
            }
            pending.push((level, sums));
        }
        let Some((_, mut sums)) = pending.pop() else {
            return Ok(Self::Sums(Box::new(Summing::new(loaded, input, method)?)));
        };
        while let Some((_, left)) = pending.pop() {
            sums = left.joined(*sums, Path::new("merged parts"))?;
        }
        Ok(Self::Sums(sums))
    }

    /// Takes more examples.
    ///
    /// # Errors
    /// Those of [`Sums::add`] and [`Passes::add`].
    pub fn add(&mut self, examples: &[Example]) -> Result<(), Error> {
        match self {
            Self::Passes(passing) => passing.timed(|passes| passes.add(examples)),
            Self::Sums(sums) => sums.add(examples),
        }
    }

    /// Says that all examples came by, and whether they are frames of a clip; whether they are to come by again.
    ///
    /// # Errors
    /// Those of [`Passes::end_pass`].
    pub fn end_pass(&mut self, is_clip: bool, progress: Progress<'_>) -> Result<bool, Error> {
        match self {
            Self::Passes(passing) => passing.timed(|passes| passes.end_pass(is_clip, progress)),
            Self::Sums(sums) => {
                sums.of_clip(is_clip);
                Ok(false)
            }
        }
    }

    /// Examples that came by.
    pub fn poses(&self) -> usize {
        match self {
            Self::Passes(passing) => passing.passes.poses(),
            Self::Sums(sums) => sums.poses(),
        }
    }

    /// What the examples gave, as a file to be merged with those of other parts.
    ///
    /// # Errors
    /// [`Error::Fit`] without examples, and before the last pass has ended.
    pub fn part(self) -> Result<Part, Error> {
        match self {
            Self::Passes(passing) => passing.part().map(|part| Part::Share(Box::new(part))),
            Self::Sums(sums) => sums.part().map(|part| Part::Sums(Box::new(part))),
        }
    }

    /// Fits the model.
    ///
    /// # Errors
    /// As [`fit`](super::fit).
    pub fn finish(self, progress: Progress<'_>) -> Result<Fitted, Error> {
        let start = Instant::now();
        let (loaded, seconds, (learnt, poses)) = match self {
            Self::Passes(passing) => (passing.loaded, passing.seconds, passing.passes.finish()?),
            Self::Sums(sums) => (sums.loaded, sums.seconds, sums.sums.finish(sums.is_clip, progress)?),
        };
        let mut fitted = baked(loaded, learnt, &poses)?;
        fitted.seconds = seconds + start.elapsed().as_secs_f64();
        Ok(fitted)
    }
}

/// A fit whose examples came by; a set is measured as it is read again.
pub(super) struct StreamedFit<'a> {
    /// The fit.
    pub streaming: Streaming<'a>,
    /// What was learnt from; nothing where parts were merged.
    pub train: &'a [Input],
    /// Examples that the fit may not see.
    pub hold_out: &'a [Input],
    /// How files are read.
    pub read: &'a ReadOptions,
    /// The bound of a demand on the distances that count, metres.
    pub bound: Option<f64>,
}

impl StreamedFit<'_> {
    /// Fits and measures. `fitted` gets the model with all files, once the held-out ones are noted in `files` too.
    ///
    /// # Errors
    /// [`Error`], also that of `fitted`.
    pub fn run(
        self,
        watch: &dyn Watch,
        files: &mut Vec<FileNote>,
        fitted: impl FnOnce(&mut Fitted, &[FileNote]) -> Result<(), Error>,
    ) -> Result<FitOutcome, Error> {
        let poses = self.streaming.poses();
        let mut found = step(watch, "fit", |p| self.streaming.finish(p))?;
        let mut sets = Vec::new();
        let mut held_out = 0;
        for (set, inputs, role, name) in [
            (SetRole::Training, self.train, "examples", "measure training"),
            (SetRole::HeldOut, self.hold_out, "hold-out", "measure hold-out"),
        ] {
            if inputs.is_empty() {
                continue;
            }
            let read = ReadOptions { known: set == SetRole::Training, ..self.read.clone() };
            let (scores, notes) =
                step(watch, name, |_| measure_streamed(&found.model, &sources(inputs), &read, role, self.bound))?;
            if set == SetRole::HeldOut {
                held_out = scores.frames.len();
                files.extend(notes);
            }
            sets.push((set, scores, ExampleSet::default()));
        }
        fitted(&mut found, files)?;
        let memory = Memory::of(&found.model, poses + held_out);
        Ok(FitOutcome::new(found, poses, sets, memory))
    }
}

/// What a part of a fit writes.
pub enum Part {
    /// The joint model of a share of the vertices.
    Share(Box<ShareFile>),
    /// Sums over a part of the examples.
    Sums(Box<PartFile>),
}

impl Part {
    /// Writes it.
    ///
    /// # Errors
    /// Those of writing.
    pub fn write(&self, out: &mut dyn Write) -> Result<(), WriteError> {
        match self {
            Self::Share(share) => share_file::write(share, out),
            Self::Sums(sums) => part_file::write(sums, out),
        }
    }
}

/// A fit that reads its examples several times.
pub struct Passing<'a> {
    loaded: &'a LoadedRig,
    method: &'a Method,
    share: Share,
    passes: Passes<'a>,
    /// Seconds spent, reading not counted.
    seconds: f64,
}

impl<'a> Passing<'a> {
    fn timed<T>(&mut self, run: impl FnOnce(&mut Passes<'a>) -> Result<T, MethodError>) -> Result<T, Error> {
        let start = Instant::now();
        let result = run(&mut self.passes);
        self.seconds += start.elapsed().as_secs_f64();
        Ok(result?)
    }

    /// What was solved as a file.
    fn part(self) -> Result<ShareFile, Error> {
        let SolvedShare { form, is_clip, poses, vertices } = self.passes.into_share()?;
        let (mut free, mut shared) = (Rows::default(), Rows::default());
        for vertex in &vertices {
            for (rows, row) in [(&mut free, &vertex.free), (&mut shared, &vertex.shared)] {
                rows.push(row.iter().copied())
                    .map_err(|_| Error::Internal("a share has more coefficients than a file counts".into()))?;
            }
        }
        let of_vertex = |v: &SolvedVertex| [v.norm, v.leverage.unwrap_or(UNMEASURED), v.squares, v.largest_residual];
        let rig = &self.loaded.rig;
        Ok(ShareFile {
            header: ShareHeader {
                format_version: share_file::VERSION,
                program: crate::PROGRAM.into(),
                fingerprint: fingerprint(rig.mesh(), rig.skeleton()),
                settings: share_settings(self.loaded, self.method),
                share: self.share.to_string(),
                form: serde_json::to_value(&form).map_err(|error| Error::Internal(error.to_string()))?,
                is_clip,
            },
            transforms: poses.iter().flat_map(|(pose, _)| pose.iter().copied()).collect(),
            importance: poses.iter().map(|(_, importance)| *importance).collect(),
            vertices: vertices.iter().map(|v| v.vertex as u32).collect(),
            of_vertices: vertices.iter().map(of_vertex).collect(),
            free,
            shared,
        })
    }
}

/// The leverage of a vertex where it was not computed.
const UNMEASURED: f64 = -1.0;

/// What must agree between the shares of a fit, by name.
fn share_settings(loaded: &LoadedRig, method: &Method) -> Vec<(String, String)> {
    let (rig, weights) = (&loaded.rig, loaded.rig.weights().map_or_else(String::new, hash_of));
    let own = [("rest pose".into(), rest_hash(rig)), ("weights".into(), weights)].into_iter();
    // A method is its settings by name, under its own name.
    let method = serde_json::to_value(method).unwrap_or_default();
    let settings =
        method.as_object().into_iter().flat_map(|method| method.values().filter_map(Value::as_object)).flatten();
    own.chain(settings.map(|(name, value)| (name.clone(), value.to_string()))).collect()
}

/// The share in a file.
fn solved(loaded: &LoadedRig, method: &Method, share: ShareFile, path: &Path) -> Result<SolvedShare, Error> {
    let header = &share.header;
    agree(path, (&header.fingerprint, &header.settings), loaded, &share_settings(loaded, method))?;
    let form = FormOfShare::deserialize(&header.form)
        .map_err(|error| differs(path, format!("its form of the model is not understood: {error}")))?;
    let bones = loaded.rig.skeleton().len();
    let poses = share.importance.len();
    if poses == 0 || share.transforms.len() != poses * bones {
        return Err(differs(path, format!("its arrays do not divide among {poses} poses")));
    }
    let numbers = share.of_vertices.iter().flat_map(|&[norm, _, squares, largest]| [norm, squares, largest]);
    if numbers.chain(share.importance.iter().copied()).any(|x| x < 0.0) {
        return Err(differs(path, "a length or an importance in it is negative".into()));
    }
    let pose = |s: usize| BoneTransforms::new(share.transforms[s * bones..(s + 1) * bones].to_vec());
    let vertex = |at: usize| {
        let [norm, leverage, squares, largest_residual] = share.of_vertices[at];
        SolvedVertex {
            vertex: share.vertices[at] as usize,
            free: share.free.of(at).to_vec(),
            shared: share.shared.of(at).to_vec(),
            norm,
            leverage: Some(leverage).filter(|leverage| *leverage >= 0.0),
            squares,
            largest_residual,
        }
    };
    Ok(SolvedShare {
        form,
        is_clip: header.is_clip,
        poses: (0..poses).map(|s| (pose(s), share.importance[s])).collect(),
        vertices: (0..share.vertices.len()).map(vertex).collect(),
    })
}

/// The error for a part that does not go with the others.
fn differs(path: &Path, what: String) -> Error {
    Error::lacks(path, what, "parts are merged with the rig and the options they were accumulated with")
}

/// Checks that a part is of a rig and was made with some settings.
fn agree(
    path: &Path,
    (fingerprint_of_part, of_part): (&str, &[(String, String)]),
    loaded: &LoadedRig,
    own: &[(String, String)],
) -> Result<(), Error> {
    if fingerprint_of_part != fingerprint(loaded.rig.mesh(), loaded.rig.skeleton()) {
        return Err(differs(path, "it belongs to another rig: vertices, triangles or bones differ".into()));
    }
    for (name, own) in own {
        let found = of_part.iter().find(|(key, _)| key == name).map_or("nothing", |(_, value)| value);
        if found != own {
            return Err(differs(path, format!("its {name} differs: {found} there, {own} here")));
        }
    }
    Ok(())
}

/// Rest positions and bind pose.
fn rest_hash(rig: &Rig) -> String {
    let bind = rig.skeleton().bind().iter().flat_map(|m| [0, 1, 2].map(|j| row(m, j))).flatten();
    hash(rig.mesh().positions.iter().flat_map(|p| p.to_array()).chain(bind))
}

/// A fit that sums over its examples.
pub struct Summing<'a> {
    loaded: &'a LoadedRig,
    sums: Sums<'a>,
    header: PartHeader,
    /// Whether all that was summed are frames of clips.
    is_clip: bool,
    /// Seconds spent summing.
    seconds: f64,
}

impl<'a> Summing<'a> {
    /// Nothing summed yet. The examples of `input` are not read.
    ///
    /// # Errors
    /// [`Error`]: methods, bases and maps that need all examples at hand, and settings that do not fit the rig.
    pub fn new(loaded: &'a LoadedRig, input: &FitInput<'a>, method: &'a Method) -> Result<Self, Error> {
        let (rig, sums) = (&loaded.rig, Sums::new(method, input)?);
        let identity = sums.identity();
        let row = identity.rows == RowChoice::Row;
        let header = PartHeader {
            format_version: VERSION,
            program: crate::PROGRAM.into(),
            fingerprint: fingerprint(rig.mesh(), rig.skeleton()),
            settings: vec![
                ("rest pose".into(), rest_hash(rig)),
                ("base".into(), identity.base),
                ("weights".into(), rig.weights().map_or_else(String::new, hash_of)),
                ("influence maps".into(), hash_of(identity.maps)),
                ("origin".into(), hash(identity.origin.to_array().into_iter())),
                ("anchor".into(), anchor_text(identity.anchor, rig)),
                ("rows".into(), if row { "row".into() } else { "full".into() }),
                ("sweep vertices".into(), identity.sweep_vertices.to_string()),
            ],
            row,
            ..PartHeader::default()
        };
        Ok(Self { loaded, sums, header, is_clip: true, seconds: 0.0 })
    }

    /// Sums more examples.
    ///
    /// # Errors
    /// Those of [`Sums::add`].
    pub fn add(&mut self, examples: &[Example]) -> Result<(), Error> {
        let start = Instant::now();
        self.sums.add(examples)?;
        self.seconds += start.elapsed().as_secs_f64();
        Ok(())
    }

    fn of_clip(&mut self, is_clip: bool) {
        self.is_clip &= is_clip;
    }

    /// Examples of positive importance summed so far.
    fn poses(&self) -> usize {
        self.sums.poses()
    }

    /// The sums as a file.
    ///
    /// # Errors
    /// [`Error::Fit`] if there are none.
    pub fn part(self) -> Result<PartFile, Error> {
        if self.sums.poses() == 0 {
            return Err(FitError::NoExamples.into());
        }
        let Statistics { moments, squares, largest, grams, stride, poses, .. } = self.sums.into_statistics();
        let header = PartHeader { is_clip: self.is_clip, stride: stride as u64, ..self.header };
        Ok(PartFile {
            header,
            moments,
            squares,
            largest,
            grams,
            transforms: poses.iter().flat_map(|pose| pose.transforms.iter().copied()).collect(),
            importance: poses.iter().map(|pose| pose.importance).collect(),
            residuals: poses.into_iter().flat_map(|pose| pose.residuals).collect(),
        })
    }

    /// These sums and others, whose examples follow.
    fn joined(mut self: Box<Self>, next: Self, path: &Path) -> Result<Box<Self>, Error> {
        self.merge(next.part()?, path)?;
        Ok(self)
    }

    /// Adds the sums of a file, as if its examples followed.
    ///
    /// # Errors
    /// [`FileError::Lacks`](crate::FileError::Lacks), naming what differs or does not fit.
    pub fn merge(&mut self, part: PartFile, path: &Path) -> Result<(), Error> {
        let differs = |what: String| differs(path, what);
        let header = &part.header;
        agree(path, (&header.fingerprint, &header.settings), self.loaded, &self.header.settings)?;
        let (count, bones) = (part.importance.len(), self.loaded.rig.skeleton().len());
        let per_pose = part.residuals.len().checked_div(count).unwrap_or(0);
        if count == 0 || part.transforms.len() != count * bones || part.residuals.len() != count * per_pose {
            return Err(differs(format!("its arrays do not divide among {count} poses")));
        }
        let pose = |s: usize| SeenPose {
            transforms: BoneTransforms::new(part.transforms[s * bones..(s + 1) * bones].to_vec()),
            importance: part.importance[s],
            residuals: part.residuals[s * per_pose..(s + 1) * per_pose].to_vec(),
        };
        let poses = (0..count).map(pose).collect();
        let stride = usize::try_from(header.stride).unwrap_or(usize::MAX);
        let form = self.sums.statistics().form;
        let is_clip = header.is_clip;
        let PartFile { moments, squares, largest, grams, .. } = part;
        let sums = Statistics { form, moments, squares, largest, grams, stride, poses };
        self.sums.add_sums(sums).map_err(|e| differs(e.to_string()))?;
        self.is_clip &= is_clip;
        Ok(())
    }
}

/// SHA-256 over numbers, the first 16 hexadecimal digits.
fn hash(numbers: impl Iterator<Item = f64>) -> String {
    let mut hash = Sha256::new();
    numbers.for_each(|x| hash.update(x.to_le_bytes()));
    hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// An anchor by names that last, whatever the types are called.
fn anchor_text(anchor: &Anchor, rig: &Rig) -> String {
    match anchor {
        Anchor::World => "world".into(),
        Anchor::Root => "root".into(),
        Anchor::Dominant => "dominant".into(),
        Anchor::Bone(bone) => format!("bone {}", rig.skeleton().names()[*bone]),
        Anchor::PerVertex(bones) => format!("per vertex {}", hash(bones.iter().map(|bone| bone.get() as f64))),
    }
}

fn hash_of(maps: &Influences) -> String {
    let row = |row: &[(dermis_rig::BoneIndex, f64)]| {
        let entries = row.iter().flat_map(|&(bone, value)| [bone.get() as f64, value]);
        entries.chain([-1.0]).collect::<Vec<_>>()
    };
    hash(maps.rows().flat_map(row))
}
