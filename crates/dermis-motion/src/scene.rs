//! A scene: what moves a rig over a range of time, as data.
//!
//! In every frame the values come first: controls, expressions of them, maps. Then the pose: [`Layer`]s from the first to the last,
//! the bones that are driven ([`Drive`]), [`GoalSpec`]s by inverse kinematics, and last the bodies of [`DynamicsSpec`]. Shapes and channels
//! are values alone.

use crate::controls::{Control, Value};
use crate::dynamics_spec::DynamicsSpec;
use crate::expression::ExpressionFault;
use crate::goals::{GoalSpec, LimitSpec};
use crate::key_path::KeyPath;
use crate::layer::Layer;
use crate::map::Map;
use crate::turn::{Axis, EulerOrder, TurnCurve};
use dermis_rig::glam::DVec3;
use dermis_rig::number::shortest;

/// What moves a rig over a range of time.
#[derive(Clone, Debug, PartialEq)]
pub struct Scene {
    /// What the motion is called.
    pub name: String,
    /// The times of the frames.
    pub clock: Clock,
    /// Named numbers.
    pub controls: Vec<Control>,
    /// Maps from controls to others.
    pub maps: Vec<Map>,
    /// Clips, the lowest first.
    pub layers: Vec<Layer>,
    /// Bones that values move, over the layers.
    pub drives: Vec<Drive>,
    /// Weights of the rig's morph targets, by name, with `*` for any text.
    pub shapes: Vec<(String, Value)>,
    /// Per-pose values other than joints, by name.
    pub channels: Vec<(String, Value)>,
    /// Limits of joints, which goals and bodies keep to.
    pub limits: Vec<LimitSpec>,
    /// Where bones shall be.
    pub goals: Vec<GoalSpec>,
    /// Bones that move as bodies do.
    pub dynamics: Option<DynamicsSpec>,
}

/// The times of a scene's frames.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clock {
    from: f64,
    to: f64,
    rate: f64,
}

/// The most frames: an hour at 24 per second.
pub const MOST_FRAMES: usize = 86_400;

impl Clock {
    /// Frames from a time to another, seconds, so many per second.
    ///
    /// # Errors
    /// [`SceneError`]: a rate that is not positive, an end before the start, more than [`MOST_FRAMES`].
    pub fn new(from: f64, to: f64, rate: f64) -> Result<Self, SceneError> {
        let path = KeyPath::new().key("time");
        let fault = |key: &str, what: String| Err(SceneError::new(path.key(key), Fault::Unfit(what)));
        if !(rate.is_finite() && rate > 0.0) {
            return fault("rate", format!("{} frames per second; a positive number is expected", shortest(rate)));
        }
        if !from.is_finite() {
            return fault("from", format!("{from} s; a number is expected"));
        }
        if !(to.is_finite() && to >= from) {
            return fault("to", format!("{to} s; a time not before {from} s is expected"));
        }
        let clock = Self { from, to, rate };
        match (to - from) * rate < MOST_FRAMES as f64 {
            true => Ok(clock),
            false => fault("to", format!("{:.0} frames; {MOST_FRAMES} are the most", (to - from) * rate)),
        }
    }

    /// How many frames there are; one at least.
    pub fn frames(&self) -> usize {
        ((self.to - self.from) * self.rate + 1e-6).floor() as usize + 1
    }

    /// The time of a frame, seconds.
    ///
    /// Where frames are whole parts of a second, so is the time: frame 34 at 24 per second is 34/24 in `f64`, wherever the scene begins,
    /// and meets a key that is there.
    pub fn time(&self, frame: usize) -> f64 {
        let first = self.from * self.rate;
        match (first - first.round()).abs() < 1e-9 {
            true => (first.round() + frame as f64) / self.rate,
            false => self.from + self.elapsed(frame),
        }
    }

    /// Seconds from the first frame.
    pub fn elapsed(&self, frame: usize) -> f64 {
        frame as f64 / self.rate
    }

    /// Frames per second.
    pub fn rate(&self) -> f64 {
        self.rate
    }
}

/// Bones that values move.
///
/// Expressions know, beside the controls, `i`, the place of the bone among those of the pattern, `n`, how many they are, and `x`, `y`
/// and `z`, its head at rest in metres.
#[derive(Clone, Debug, PartialEq)]
pub struct Drive {
    /// The name of a bone, with `*` for any text.
    pub bones: String,
    /// What the values move it from.
    pub from: From,
    /// How it turns.
    pub turn: Option<Turn>,
    /// Which axes it turns about and moves along.
    pub axes: Axes,
    /// How it moves, metres: with its own axes along those of its parent, which carry it.
    pub shift: Option<[Value; 3]>,
    /// How large it is.
    pub size: Option<Size>,
}

/// What driven bones are moved from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum From {
    /// The pose of the layers; without layers the bind pose.
    #[default]
    Layers,
    /// The bind pose.
    Rest,
}

/// The axes that a bone turns about, through its head, and moves along.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Axes {
    /// Its own.
    #[default]
    Own,
    /// Those of the world as they lie at rest: the bone takes them along.
    World,
}

/// A rotation over time.
#[derive(Clone, Debug, PartialEq)]
pub enum Turn {
    /// Angles in degrees about x, y and z.
    Euler([Value; 3], EulerOrder),
    /// An angle in degrees about an axis of unit length.
    About(DVec3, Value),
    /// Quaternions.
    Keys(TurnCurve),
}

/// A size over time.
#[derive(Clone, Debug, PartialEq)]
pub enum Size {
    /// A factor along every axis of the bone.
    Axes([Value; 3]),
    /// A factor along one axis; the others shrink by its square root, so that the volume stays.
    Stretch(Axis, Value),
}

/// What is wrong with a scene, and where.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{path}: {fault}")]
pub struct SceneError {
    /// The way to the value.
    pub path: KeyPath,
    /// What is wrong with it.
    pub fault: Fault,
}

impl SceneError {
    /// A fault at a place.
    pub fn new(path: KeyPath, fault: Fault) -> Self {
        Self { path, fault }
    }
}

/// What can be wrong with a value of a scene.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Fault {
    /// A word that no control can have for a name.
    #[error(
        "\"{0:.80}\" is no name of a control: letters, digits and underscores are expected, and no word that expressions use"
    )]
    NoName(String),
    /// A name that occurs twice.
    #[error("\"{0:.80}\" is named already")]
    NameTaken(String),
    /// Controls that need each other.
    #[error("it needs itself: {0}")]
    Cycle(String),
    /// An expression without a value.
    #[error(transparent)]
    Expression(#[from] ExpressionFault),
    /// Keys that make no curve.
    #[error(transparent)]
    Keys(#[from] crate::curve::KeyFault),
    /// A value that cannot be used.
    #[error("it is {value} at {time} s; a finite number is expected")]
    NotFinite {
        /// The time, seconds.
        time: f64,
        /// The value.
        value: f64,
    },
    /// A value that does not serve where it stands, in words.
    #[error("{0}")]
    Unfit(String),
    /// A name or pattern that no bone has.
    #[error("the rig has no bone \"{bone:.80}\"; it has {bones}")]
    NoBone {
        /// The name or pattern.
        bone: String,
        /// Names that there are.
        bones: String,
    },
    /// A name or pattern that no morph target has.
    #[error("the rig has no shape \"{shape:.80}\"; it has {shapes}")]
    NoShape {
        /// The name or pattern.
        shape: String,
        /// Names that there are.
        shapes: String,
    },
    /// A size that leaves nothing of a bone.
    #[error("it is {value} at {time} s; a positive number is expected")]
    NotPositive {
        /// The time, seconds.
        time: f64,
        /// The value.
        value: f64,
    },
}

/// The first names of many, for a message.
pub(crate) fn few<'a>(names: impl ExactSizeIterator<Item = &'a String>) -> String {
    /// As many as fit into a message.
    const SHOWN: usize = 8;
    let count = names.len();
    let mut shown: Vec<String> = names.take(SHOWN).map(|name| format!("\"{name:.40}\"")).collect();
    match count {
        0 => "none".into(),
        count if count > SHOWN => {
            shown.push(format!("{} more", count - SHOWN));
            shown.join(", ")
        }
        _ => shown.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_counted_with_both_ends() {
        let clock = Clock::new(1.0, 2.0, 24.0).unwrap();
        assert_eq!((clock.frames(), clock.time(0), clock.time(24)), (25, 1.0, 2.0));
        assert_eq!(Clock::new(0.0, 0.0, 30.0).unwrap().frames(), 1);
        assert_eq!(Clock::new(0.0, 0.1 + 0.2, 10.0).unwrap().frames(), 4, "0.3 in binary");
    }

    #[test]
    fn times_that_make_no_frames_are_named() {
        let path = |from, to, rate| Clock::new(from, to, rate).unwrap_err().path.to_string();
        assert_eq!(path(0.0, 1.0, 0.0), "time.rate");
        assert_eq!(path(0.0, 1.0, f64::NAN), "time.rate");
        assert_eq!(path(2.0, 1.0, 24.0), "time.to");
        assert_eq!(path(0.0, 1e9, 24.0), "time.to");
        assert_eq!(path(f64::INFINITY, 1.0, 24.0), "time.from");
    }
}
