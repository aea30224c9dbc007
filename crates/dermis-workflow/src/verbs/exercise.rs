//! `exercise`: the poses to sculpt or to simulate.

use crate::FileError;
use crate::convert::write_converted;
use crate::error::Error;
use crate::joint_limits::{LimitsFile, parse};
use crate::load::{ReadOptions, load_rig, note, read_bytes};
use crate::output::{ending, reserve_file};
use crate::recipe::{Existing, Input, Watch, keep, seen, step};
use crate::verbs::inspect::moving;
use dermis_io::gltf::MorphNormals;
use dermis_io::{Contents, Format, Record};
use dermis_motion::anatomy::{Anatomy, LimitFrom, Stance};
use dermis_motion::body::Judged;
use dermis_motion::exercise::{Exercise, ExerciseSettings, Kind, Layout, exercise};
use dermis_rig::{BoneIndex, Rig, Skeleton};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::PathBuf;

/// An exercise of a rig.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ExerciseRecipe {
    /// The rig.
    pub rig: Input,
    /// Joint limits that differ from anatomy.
    #[serde(default)]
    pub limits: Option<Input>,
    /// How many poses, rest included.
    #[serde(default = "ExerciseRecipe::default_poses")]
    pub poses: u32,
    /// Further poses in which the whole character is tilted.
    #[serde(default)]
    pub tilt: u32,
    /// Frames between a pose and the next.
    #[serde(default)]
    pub in_betweens: u32,
    /// Frames per second, with in-betweens.
    #[serde(default = "ExerciseRecipe::default_rate")]
    pub rate: f64,
    /// Whether every pose shows one joint, or one pair, alone.
    #[serde(default)]
    pub apart: bool,
    /// A bundle (.npz) with rig and poses, or a clip (.glb, or .bvh without the mesh).
    pub out: PathBuf,
    /// Where the limits of all joints go, to be changed.
    #[serde(default)]
    pub write_limits: Option<PathBuf>,
    /// What happens to outputs that are there already.
    #[serde(default)]
    pub existing: Existing,
}

/// What came of an exercise.
#[derive(Debug)]
pub struct ExerciseOutcome {
    /// The exercise.
    pub made: Exercise,
    /// What the bones were recognised as, and their limits.
    pub anatomy: Anatomy,
    /// The names of the bones.
    pub skeleton: Skeleton,
    /// Where the poses went.
    pub written: PathBuf,
    /// Where the limits went.
    pub limits_written: Option<PathBuf>,
}

impl ExerciseRecipe {
    fn default_poses() -> u32 {
        ExerciseSettings::default().poses as u32
    }

    fn default_rate() -> f64 {
        ExerciseSettings::default().rate
    }

    /// Makes the poses and writes them.
    ///
    /// # Errors
    /// [`Error`].
    pub fn run(&self, watch: &dyn Watch) -> Result<ExerciseOutcome, Error> {
        if !["npz", "glb", "bvh"].contains(&ending(&self.out).as_str()) {
            let (what, endings) = ("an exercise is written as a bundle or as a clip", "name it .npz, .glb or .bvh");
            return Err(FileError::Ending { path: self.out.clone(), what, endings }.into());
        }
        let out = reserve_file(&self.out, self.existing)?;
        let limits_out = self.write_limits.as_deref().map(|path| reserve_file(path, self.existing)).transpose()?;
        let inputs: Vec<&Input> = [&self.rig].into_iter().chain(&self.limits).collect();
        keep(&inputs, [&out].into_iter().chain(&limits_out))?;
        if self.write_limits.as_ref() == Some(&self.out) {
            return Err(FileError::SameOutput { path: self.out.clone(), what: "the limits" }.into());
        }
        let loaded = step(watch, "read rig", |_| load_rig(&self.rig.file.path))?;
        let mut notes = loaded.notes.clone();
        let skeleton = loaded.rig.skeleton();
        let moving = moving(skeleton, loaded.rig.weights());
        let mut anatomy = Anatomy::new(skeleton, |bone| moving[bone.get()]);
        if let Some(input) = &self.limits {
            let path = &input.file.path;
            let bytes = read_bytes(path)?;
            let text = std::str::from_utf8(&bytes)
                .map_err(|e| Error::lacks(path, format!("this is no text: {e}"), "joint limits are JSON in UTF-8"))?;
            parse(text, path)?.apply(&mut anatomy, skeleton, path)?;
            notes.push(note(path, &bytes, Vec::new()));
        }
        seen(watch, inputs, &notes)?;
        let settings = ExerciseSettings {
            poses: self.poses as usize,
            tilted: self.tilt as usize,
            in_betweens: self.in_betweens as usize,
            rate: self.rate,
            layout: if self.apart { Layout::Apart } else { Layout::Together },
        };
        let made = step(watch, "pose", |_| exercise(&loaded.rig, &anatomy, &settings).map_err(Error::from))?;
        let rate = (settings.in_betweens > 0).then_some(settings.rate);
        let contents = contents(&made, &loaded.rig, loaded.space.clone(), rate);
        let read = ReadOptions::default();
        step(watch, "write", |_| write_converted(&contents, &self.rig.file, &read, MorphNormals::LeftOut, &out))?;
        if let Some(out) = &limits_out {
            let text = serde_json::to_string_pretty(&LimitsFile::of(&anatomy, skeleton))
                .map_err(|e| Error::Internal(e.to_string()))?;
            out.write(text.as_bytes())?;
        }
        let limits_written = limits_out.map(|out| out.path().to_path_buf());
        let skeleton = skeleton.clone();
        Ok(ExerciseOutcome { made, anatomy, skeleton, written: out.path().to_path_buf(), limits_written })
    }
}

/// The rig and the poses as a file holds them.
fn contents(made: &Exercise, rig: &Rig, space: dermis_io::Space, rate: Option<f64>) -> Contents {
    Contents {
        name: made.motion.name.clone(),
        format: Format::Npz,
        space,
        mesh: Some(rig.mesh().clone()),
        skeleton: Some(rig.skeleton().clone()),
        weights: rig.weights().cloned(),
        influence_maps: rig.influence_maps().cloned(),
        frames_per_second: rate,
        records: made.motion.frames.iter().cloned().map(Record::from).collect(),
        ..Contents::default()
    }
}

impl ExerciseOutcome {
    /// How many joints that move have their limits from there.
    pub fn from(&self, from: LimitFrom) -> usize {
        self.anatomy.from.iter().filter(|f| **f == from).count()
    }

    /// The names of the joints whose part of the body is not known.
    pub fn unknown(&self) -> Vec<&str> {
        let of = self.anatomy.from.enumerate().filter(|(_, from)| **from == LimitFrom::Unknown);
        of.map(|(bone, _)| self.skeleton.names()[bone].as_str()).collect()
    }

    /// By what the bones were recognised.
    pub fn judged(&self) -> Judged {
        Judged::new(self.skeleton.names().iter(), self.anatomy.judged_by.iter())
    }

    /// How many poses are for that.
    pub fn poses(&self, kind: Kind) -> usize {
        self.made.poses.iter().filter(|pose| pose.kind == kind).count()
    }

    /// `exercise --json`.
    pub fn json(&self) -> Value {
        let name = |bone: &BoneIndex| self.skeleton.names()[*bone].as_str();
        let pose = |pose: &dermis_motion::exercise::ExercisePose| {
            let turned = pose.turned.iter().map(|(bone, angles)| {
                let [bend, lean, twist] = angles.map(f64::to_degrees);
                json!({"bone": name(bone), "bend_degrees": bend, "lean_degrees": lean, "twist_degrees": twist})
            });
            json!({
                "label": pose.label,
                "kind": kind_word(pose.kind),
                "eased": pose.eased,
                "joints": turned.collect::<Vec<_>>(),
            })
        };
        json!({
            "written": self.written,
            "limits_written": self.limits_written,
            "frames": self.made.motion.frames.len(),
            "joints": self.made.joints,
            "joints_from_anatomy": self.from(LimitFrom::Anatomy),
            "joints_given": self.from(LimitFrom::Given),
            "joints_unknown": self.unknown(),
            "bones_recognised": judged(&self.judged()),
            "stance": match self.anatomy.frame.stance { Stance::Upright => "upright", Stance::Level => "level" },
            "ends_left_out": self.made.left_out,
            "eased": self.made.eased,
            "dropped": self.made.dropped,
            "capsules": self.made.capsules,
            "following": self.made.following.iter().map(|(bone, with)| json!({"bone": name(bone), "with": name(with)})).collect::<Vec<_>>(),
            "longest_turn": self.made.longest_turn.as_ref().map(|(bone, turn)| json!({"bone": name(bone), "degrees": turn.to_degrees()})),
            "poses": self.made.poses.iter().map(pose).collect::<Vec<_>>(),
        })
    }
}

/// By what bones were recognised, as JSON.
pub(super) fn judged(judged: &Judged) -> Value {
    json!({"by_name": judged.by_name, "by_place": judged.by_place, "unknown": judged.unknown})
}

/// A kind of pose in one word.
fn kind_word(kind: Kind) -> &'static str {
    match kind {
        Kind::Rest => "rest",
        Kind::Extreme => "extreme",
        Kind::Between => "in-between",
        Kind::Pair => "pair",
        Kind::Spread => "spread",
        Kind::Tilted => "tilted",
    }
}
