//! `animate`: a scene becomes a motion.

use crate::FileError;
use crate::convert::{Converted, is_folder, write_converted};
use crate::error::Error;
use crate::load::{FileNote, ReadOptions, Source, load_motion, note, read_bytes, read_contents};
use crate::recipe::{Existing, Input, Watch, keep, reserve, seen, step};
use crate::skins::Interchange;
use dermis_io::gltf::MorphNormals;
use dermis_io::scene::{self, SceneFile, SceneFileError};
use dermis_io::skinned_scene::clip_of_frames;
use dermis_io::{Clip, ClipFrame, Contents, Space};
use dermis_motion::{KeyPath, PlayError, Played, Player};
use dermis_rig::Rig;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// A scene to play.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct AnimateRecipe {
    /// The scene. The files that it names lie relative to it.
    pub scene: Input,
    /// How the clips are read where they do not say it themselves.
    #[serde(default)]
    pub read: ReadOptions,
    /// Where the motion goes; the ending of the name is the format.
    pub out: PathBuf,
    /// What happens to an output that is there already.
    #[serde(default)]
    pub existing: Existing,
}

/// What came of a scene.
#[derive(Debug)]
pub struct AnimateOutcome {
    /// What the motion is called.
    pub name: String,
    /// The rig's file.
    pub rig: PathBuf,
    /// Frames, and the seconds from the first to the last.
    pub frames: (usize, f64),
    /// How every goal fared.
    pub goals: Vec<GoalOutcome>,
    /// The bones that moved as bodies.
    pub bodies: Vec<BodyOutcome>,
    /// What was written, and what was not.
    pub converted: Converted,
    /// Where the motion went.
    pub written: PathBuf,
}

/// A bone that moved as a body.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BodyOutcome {
    /// The bone.
    pub bone: String,
    /// Its mass, kilograms.
    pub mass: f64,
}

/// How a goal fared over a motion.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GoalOutcome {
    /// The bone.
    pub bone: String,
    /// Frames in which it was pursued.
    pub frames: usize,
    /// Frames in which it was missed, by more than a millionth of its chain or of a radian.
    pub missed: usize,
    /// The largest distance from the target, metres, and its frame.
    pub distance: f64,
    /// The frame of the largest distance.
    pub distance_frame: usize,
    /// The largest angle from the target, degrees.
    pub degrees: f64,
    /// Frames in which the target lay out of reach.
    pub out_of_reach_frames: usize,
    /// By how much, at most, metres.
    pub out_of_reach: f64,
}

impl AnimateRecipe {
    /// Reads the scene and what it names, plays it, and writes the motion.
    ///
    /// # Errors
    /// [`Error`]; of a scene with its line and key.
    pub fn run(&self, watch: &dyn Watch) -> Result<AnimateOutcome, Error> {
        let out = reserve(&self.out, self.existing, is_folder(&self.out)?)?;
        let path = &self.scene.file.path;
        let (scene, scene_note) = step(watch, "read scene", |_| read_scene(path))?;
        let (rig_source, clip_sources) = named(&scene, path);
        let inputs: Vec<Input> =
            [&rig_source].into_iter().chain(&clip_sources).map(|source| Input::new(source.clone())).collect();
        keep(&[&self.scene].into_iter().chain(&inputs).collect::<Vec<_>>(), [&out])?;
        let ((mut contents, rig), mut rig_note) = step(watch, "read rig", |_| read_rig(&rig_source, path, &scene))?;
        rig_note.role = "rig".into();
        let mut notes = vec![scene_note, rig_note];
        let mut clips = Vec::with_capacity(clip_sources.len());
        for source in &clip_sources {
            let (motion, note) = step(watch, "read clip", |_| load_motion(&rig, &contents.space, source, &self.read))?;
            clips.push(motion);
            notes.push(note);
        }
        // The rig's own clips are not sampled.
        self.read.must_act_on(&notes[2..])?;
        seen(watch, [&self.scene], &notes)?;
        let shapes: Vec<String> = contents.morphs.iter().map(|morph| morph.name.clone()).collect();
        let fault = |error: &dermis_motion::SceneError| bad_scene(path, &scene.locate(error));
        let player =
            Player::new(&scene.scene, rig.skeleton(), &shapes, &clips).and_then(|player| player.with_bodies(&rig));
        let player = player.map_err(|error| fault(&error))?;
        let played = step(watch, "animate", |progress| {
            player.play(progress).map_err(|error| match error {
                PlayError::Scene(error) => fault(&error),
                PlayError::Cancelled => Error::Cancelled,
            })
        })?;
        let goals = played.goals.iter().map(GoalOutcome::new).collect();
        let bodies = played.bodies.iter().map(|(bone, mass)| BodyOutcome { bone: bone.clone(), mass: *mass }).collect();
        let times: Vec<f64> = played.motion.frames.iter().filter_map(|frame| frame.time).collect();
        let frames = (times.len(), times.last().copied().unwrap_or(0.0));
        contents.frames_per_second = Some(scene.scene.clock.rate());
        contents.default_pose = None;
        contents.records.clear();
        contents.clips = vec![match Interchange::of(&self.out).is_some() {
            // Its keys are not joined as a clip moves, so there are more of them than frames.
            true => {
                let poses: Vec<_> = played.motion.frames.iter().map(|frame| frame.pose.clone()).collect();
                let (name, weights) = (&played.motion.name, played.shape_weights.clone());
                let joined = clip_of_frames(name, Some(rig.skeleton()), times, &poses, weights);
                joined.map_err(FileError::write(out.path()))?
            }
            false => clip(&played, times),
        }];
        // Its own keys are the frames: a rate for the clips it was made of does not sample it again.
        let written = ReadOptions { fps: None, ..self.read.clone() };
        let source = Source { path: rig_source.path.clone(), part: None };
        let converted =
            step(watch, "write", |_| write_converted(&contents, &source, &written, MorphNormals::Written, &out))?;
        Ok(AnimateOutcome {
            name: scene.scene.name,
            rig: rig_source.path,
            frames,
            goals,
            bodies,
            converted,
            written: out.path().to_path_buf(),
        })
    }
}

fn read_scene(path: &Path) -> Result<(SceneFile, FileNote), Error> {
    let bytes = read_bytes(path)?;
    let name = path.file_stem().map_or_else(|| "scene".into(), |name| name.to_string_lossy().into_owned());
    let scene = scene::read(&bytes, &name).map_err(|error| bad_scene(path, &error))?;
    let mut note = note(path, &bytes, Vec::new());
    note.role = "scene".into();
    Ok((scene, note))
}

fn bad_scene(path: &Path, error: &SceneFileError) -> Error {
    let hint = "`dermis animate` `schema` prints what may stand in a scene; docs/motion.md explains it";
    Error::lacks(path, error.to_string(), hint)
}

/// The rig and the clips of a scene, found from its folder.
fn named(scene: &SceneFile, path: &Path) -> (Source, Vec<Source>) {
    let folder = path.parent().unwrap_or(Path::new(""));
    let find = |name: &String| Source::parse(&folder.join(name).to_string_lossy());
    (find(&scene.rig), scene.clips.iter().map(find).collect())
}

fn read_rig(source: &Source, path: &Path, scene: &SceneFile) -> Result<((Contents, Rig), FileNote), Error> {
    let (contents, note) = match read_contents(&source.path, &Space::default()) {
        Err(error @ FileError::System { .. }) => {
            let key = KeyPath::new().key("rig");
            let reason = error.to_string();
            return Err(bad_scene(path, &SceneFileError { line: scene.line(&key), key: key.to_string(), reason }));
        }
        read => read?,
    };
    let rig = crate::load::rig_of(&contents, &source.path)?;
    Ok(((contents, rig), note))
}

/// What was played as a clip whose keys are its frames.
fn clip(played: &Played, times: Vec<f64>) -> Clip {
    let poses = played.motion.frames.iter().map(|frame| frame.pose.clone());
    let frames: Vec<ClipFrame> = (poses.zip(&played.shape_weights))
        .map(|(pose, weights)| ClipFrame { pose, morph_weights: weights.clone() })
        .collect();
    let keys = times.clone();
    Clip {
        name: played.motion.name.clone(),
        duration: times.last().copied().unwrap_or(0.0),
        start: 0.0,
        key_times: times,
        curves: None,
        sample: Box::new(move |time| frames[keys.partition_point(|key| *key < time).min(frames.len() - 1)].clone()),
    }
}

impl GoalOutcome {
    fn new(report: &dermis_motion::goals::GoalReport) -> Self {
        let mut found = Self {
            bone: report.bone.clone(),
            frames: 0,
            missed: 0,
            distance: 0.0,
            distance_frame: 0,
            degrees: 0.0,
            out_of_reach_frames: 0,
            out_of_reach: 0.0,
        };
        for (frame, reach) in report.frames.iter().enumerate() {
            let Some(reach) = reach else { continue };
            found.frames += 1;
            found.missed += usize::from(!reach.is_met(1e-6));
            if reach.distance > found.distance {
                (found.distance, found.distance_frame) = (reach.distance, frame);
            }
            found.degrees = found.degrees.max(reach.angle.to_degrees());
            found.out_of_reach_frames += usize::from(reach.out_of_reach > 1e-6 * reach.length);
            found.out_of_reach = found.out_of_reach.max(reach.out_of_reach);
        }
        found
    }
}

impl AnimateOutcome {
    /// `animate --json`.
    pub fn json(&self) -> Value {
        let mut value = json!({
            "name": self.name,
            "rig": self.rig.display().to_string(),
            "seconds": self.frames.1,
            "goals": self.goals,
            "bodies": self.bodies,
        });
        if let (Value::Object(all), Value::Object(converted)) = (&mut value, self.converted.json()) {
            all.extend(converted);
        }
        value["out"] = self.written.display().to_string().into();
        value
    }
}
