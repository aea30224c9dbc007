//! Scenes as a user writes them: JSON. [`schema`] says what may stand in one.
//!
//! ```json
//! {
//!   "rig": "clock.glb",
//!   "time": {"to": 10, "rate": 24},
//!   "controls": {"seconds": {"keys": [[0, 0], [10, 43200]]}},
//!   "bones": {"minute hand": {"turn": [0, 0, "-seconds / 10"]}}
//! }
//! ```
//!
//! Lengths are metres and Y is up, whatever the rig's file has; angles are degrees. A number is written as itself, as an expression
//! in quotes, or as keys. An error says its line, its key, and what was expected there.

mod curves;
mod dynamics;
mod named;
mod place;
mod poses;
mod values;

use crate::scene::dynamics::DynamicsFile;
use crate::scene::named::Named;
use crate::scene::poses::{DriveFile, GoalFile, LayerFile, LimitFile};
use crate::scene::values::{ControlFile, MapFile, ValueFile};
use dermis_motion::{Clock, KeyPath, Scene, SceneError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

/// A scene that was read, with the files that it names.
#[derive(Clone, Debug)]
pub struct SceneFile {
    /// The rig's file, as the scene names it.
    pub rig: String,
    /// The files of the clips that layers play, as the scene names them, each once.
    pub clips: Vec<String>,
    /// What moves.
    pub scene: Scene,
    text: String,
}

/// Why a text is no scene, or a scene cannot be played.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}{}: {reason}", if key.is_empty() { String::new() } else { format!(", {key}") })]
pub struct SceneFileError {
    /// The line, from one.
    pub line: usize,
    /// The way to the value: `controls.seconds.keys[2]`; empty for the text as a whole.
    pub key: String,
    /// What is wrong, and what is expected.
    pub reason: String,
}

/// What moves a rig over a range of time. Lengths are metres and Y is up; angles are degrees
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(title = "A scene of dermis animate")]
struct Written {
    /// Where an editor finds the schema
    #[serde(rename = "$schema", default)]
    #[allow(dead_code)]
    schema: Option<String>,
    /// What the scene shows, for people
    #[serde(default)]
    #[allow(dead_code)]
    about: Option<String>,
    /// What the motion is called
    #[serde(default)]
    name: Option<String>,
    /// The file of the rig, relative to that of the scene
    rig: String,
    /// The times of the frames
    time: TimeFile,
    /// Numbers and vectors by name
    #[serde(default)]
    controls: Named<ControlFile>,
    /// Maps from controls to others
    #[serde(default)]
    maps: Vec<MapFile>,
    /// Clips, the lowest first
    #[serde(default)]
    layers: Vec<LayerFile>,
    /// Bones that move, by name, with * for any text
    #[serde(default)]
    bones: Named<DriveFile>,
    /// Weights of morph targets, by name, with * for any text
    #[serde(default)]
    shapes: Named<ValueFile>,
    /// Per-pose values other than joints, such as the contraction of a muscle
    #[serde(default)]
    channels: Named<ValueFile>,
    /// How far joints may turn, for goals and for bodies
    #[serde(default)]
    limits: Vec<LimitFile>,
    /// Where bones shall be, by inverse kinematics
    #[serde(default)]
    goals: Vec<GoalFile>,
    /// Bones that move as bodies do, after everything else
    #[serde(default)]
    dynamics: Option<DynamicsFile>,
}

/// The times of the frames
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct TimeFile {
    /// The first, seconds
    #[serde(default)]
    from: f64,
    /// The last, seconds
    to: f64,
    /// Frames per second
    #[serde(default = "rate")]
    rate: f64,
}

fn rate() -> f64 {
    24.0
}

/// Reads a scene. `name` is what it is called if it does not say so.
///
/// # Errors
/// [`SceneFileError`], with the line and the key.
pub fn read(json: &[u8], name: &str) -> Result<SceneFile, SceneFileError> {
    let whole = |reason: String| SceneFileError { line: 1, key: String::new(), reason };
    let text = std::str::from_utf8(json).map_err(|e| whole(format!("no UTF-8 after byte {}", e.valid_up_to())))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut reader = serde_json::Deserializer::from_slice(text.as_bytes());
    let written: Written = serde_path_to_error::deserialize(&mut reader).map_err(|error| misread(&error))?;
    reader.end().map_err(|error| SceneFileError {
        line: error.line(),
        key: String::new(),
        reason: "there is more text after the scene".into(),
    })?;
    let mut clips = Vec::new();
    let rig = written.rig.clone();
    let scene = written.scene(name, &mut clips).map_err(|error| located(text, &error))?;
    Ok(SceneFile { rig, clips, scene, text: text.into() })
}

/// The JSON schema of scenes.
pub fn schema() -> Value {
    schemars::schema_for!(Written).to_value()
}

impl SceneFile {
    /// An error that turned up when the scene was played, with its line.
    pub fn locate(&self, error: &SceneError) -> SceneFileError {
        located(&self.text, error)
    }

    /// The line of a value, from one.
    pub fn line(&self, path: &KeyPath) -> usize {
        place::line(&self.text, path)
    }
}

impl Written {
    fn scene(self, name: &str, clips: &mut Vec<String>) -> Result<Scene, SceneError> {
        let root = KeyPath::new();
        let clock = Clock::new(self.time.from, self.time.to, self.time.rate)?;
        let below = |key: &str| root.key(key);
        let values = |named: &Named<ValueFile>, key: &str| {
            let value = |(name, value): &(String, ValueFile)| Ok((name.clone(), value.value(&below(key).key(name))?));
            named.0.iter().map(value).collect::<Result<Vec<_>, SceneError>>()
        };
        let at = |key: &str, at: usize| below(key).at(at);
        Ok(Scene {
            name: self.name.clone().unwrap_or_else(|| name.into()),
            clock,
            controls: (self.controls.0.iter())
                .map(|(name, control)| control.control(name, &below("controls").key(name)))
                .collect::<Result<_, _>>()?,
            maps: (self.maps.iter().enumerate()).map(|(i, map)| map.map(&at("maps", i))).collect::<Result<_, _>>()?,
            layers: (self.layers.iter().enumerate())
                .map(|(i, layer)| layer.layer(&at("layers", i), clips))
                .collect::<Result<_, _>>()?,
            drives: (self.bones.0.iter())
                .map(|(bones, drive)| drive.drive(bones, &below("bones").key(bones)))
                .collect::<Result<_, _>>()?,
            shapes: values(&self.shapes, "shapes")?,
            channels: values(&self.channels, "channels")?,
            limits: (self.limits.iter().enumerate())
                .map(|(i, limit)| limit.limit(&at("limits", i)))
                .collect::<Result<_, _>>()?,
            goals: (self.goals.iter().enumerate())
                .map(|(i, goal)| goal.goal(&at("goals", i)))
                .collect::<Result<_, _>>()?,
            dynamics: self.dynamics.as_ref().map(|written| written.dynamics(&below("dynamics"))).transpose()?,
        })
    }
}

fn located(text: &str, error: &SceneError) -> SceneFileError {
    let key = error.path.to_string();
    SceneFileError { line: place::line(text, &error.path), key, reason: error.fault.to_string() }
}

/// An error of the parser in the words of scenes.
fn misread(error: &serde_path_to_error::Error<serde_json::Error>) -> SceneFileError {
    let inner = error.inner();
    let text = inner.to_string();
    let text = text.rsplit_once(" at line ").map_or(text.as_str(), |(text, _)| text);
    let words = [
        ("expected f64", "a number is expected"),
        ("expected u32", "a whole number is expected"),
        ("expected a sequence", "a list is expected"),
        ("expected a boolean", "true or false is expected"),
        ("expected a string", "a text in quotes is expected"),
        ("EOF while parsing", "the text ends within"),
    ];
    let words = words.iter().fold(text.to_owned(), |text, (theirs, ours)| text.replace(theirs, ours));
    let key = error.path().to_string();
    let key = key.trim_end_matches(['.', '?']).to_owned();
    SceneFileError { line: inner.line().max(1), key, reason: words.chars().take(240).collect() }
}

#[cfg(test)]
mod tests;
