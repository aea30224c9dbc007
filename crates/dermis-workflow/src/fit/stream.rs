//! Fits to examples that are not held: streamed, or summed in parts, and the file of a part.

use super::{FitInput, Fitted, Method, baked};
use crate::error::Error;
use crate::load::LoadedRig;
use dermis_fit::method::MethodError;
use dermis_fit::method::passes::{BLOCK_BYTES, Passes};
use dermis_fit::method::sums::Sums;
use dermis_fit::mwe::{Anchor, RowChoice, SeenPose, Statistics};
use dermis_fit::{FitError, Progress};
use dermis_io::model_file::fingerprint;
use dermis_io::part_file::{PartFile, PartHeader, VERSION};
use dermis_rig::skeleton::row;
use dermis_rig::{BoneTransforms, Example, Influences, Rig};
use sha2::{Digest, Sha256};
use std::path::Path;
use std::time::Instant;

/// A fit whose examples come one after another, and are not held.
pub enum Streaming<'a> {
    /// The joint model, which reads them several times.
    Passes(Passing<'a>),
    /// Multi-weight enveloping, which sums over them.
    Sums(Box<Summing<'a>>),
}

impl<'a> Streaming<'a> {
    /// Nothing read yet. The examples of `input` are not read.
    ///
    /// # Errors
    /// As [`Summing::new`].
    pub fn new(loaded: &'a LoadedRig, input: &FitInput<'a>, method: &'a Method) -> Result<Self, Error> {
        Ok(match method {
            Method::Joint(_) => {
                Self::Passes(Passing { loaded, passes: Passes::new(method, input, BLOCK_BYTES)?, seconds: 0.0 })
            }
            _ => Self::Sums(Box::new(Summing::new(loaded, input, method)?)),
        })
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

/// A fit that reads its examples several times.
pub struct Passing<'a> {
    loaded: &'a LoadedRig,
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
        let bind = rig.skeleton().bind().iter().flat_map(|m| [0, 1, 2].map(|j| row(m, j))).flatten();
        let identity = sums.identity();
        let row = identity.rows == RowChoice::Row;
        let header = PartHeader {
            format_version: VERSION,
            program: crate::PROGRAM.into(),
            fingerprint: fingerprint(rig.mesh(), rig.skeleton()),
            settings: vec![
                ("rest pose".into(), hash(rig.mesh().positions.iter().flat_map(|p| p.to_array()).chain(bind))),
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

    /// Adds the sums of a file, as if its examples followed.
    ///
    /// # Errors
    /// [`FileError::Lacks`](crate::FileError::Lacks), naming what differs or does not fit.
    pub fn merge(&mut self, part: PartFile, path: &Path) -> Result<(), Error> {
        let differs = |what: String| {
            Error::lacks(path, what, "parts are merged with the rig and the options they were accumulated with")
        };
        let header = &part.header;
        if header.fingerprint != self.header.fingerprint {
            return Err(differs("it belongs to another rig: vertices, triangles or bones differ".into()));
        }
        for (name, own) in &self.header.settings {
            let found = header.settings.iter().find(|(key, _)| key == name).map_or("nothing", |(_, value)| value);
            if found != own {
                return Err(differs(format!("its {name} differs: {found} there, {own} here")));
            }
        }
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
