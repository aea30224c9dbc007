//! Layers, driven bones and goals as they are written.

use super::curves::BeyondName;
use super::values::{TurnFile, ValueFile, VectorFile};
use dermis_motion::goals::{Aim, GoalSpec, LimitSpec};
use dermis_motion::ik::JointLimits;
use dermis_motion::layer::{Layer, Mix, RootMotion};
use dermis_motion::scene::{Axes, Drive, Fault, From, SceneError, Size};
use dermis_motion::{Axis, KeyPath, Value};
use dermis_rig::glam::DVec3;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::Deserializer;
use std::borrow::Cow;

/// A clip over what lies below it
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct LayerFile {
    /// A file with a motion, relative to that of the scene; walk.glb#Walk is the clip Walk of walk.glb
    clip: String,
    /// The part of the clip that is played, seconds of the clip
    #[serde(default)]
    cut: Option<[f64; 2]>,
    /// The time of the scene at which the cut begins
    #[serde(default)]
    start: f64,
    /// Seconds of the clip per second of the scene
    #[serde(default = "one")]
    speed: f64,
    /// The time of the clip, in place of start and speed
    #[serde(default)]
    time: Option<ValueFile>,
    /// What is shown before the cut
    #[serde(default)]
    before: BeyondName,
    /// What is shown after the cut
    #[serde(default)]
    after: BeyondName,
    /// How much of it is seen, 0 to 1; a weight that rises over another layer is a cross-fade
    #[serde(default)]
    weight: Option<ValueFile>,
    /// In place of what lies below, or added to it
    #[serde(default)]
    mix: MixName,
    /// The bones that it moves, with * for any text; all by default
    #[serde(default)]
    bones: Vec<String>,
    /// Whether bones below those move as well
    #[serde(default)]
    below: bool,
    /// What becomes of the way over the ground
    #[serde(default)]
    root_motion: RootMotionName,
    /// The bone that goes the way; the first that moves by default
    #[serde(default)]
    root: Option<String>,
}

/// How a layer goes over what lies below it
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum MixName {
    /// In its place
    #[default]
    Over,
    /// What leads from the bind pose to the clip is added to it
    Add,
    /// What leads from the first frame of the cut to the clip is added to it
    AddFromFirst,
}

/// What becomes of the way over the ground
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum RootMotionName {
    #[default]
    Keep,
    /// The character stays where the cut begins
    Remove,
}

/// How bones move. Expressions know i, the place among the bones, n, how many they are, and x, y, z, the head at rest
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct DriveFile {
    /// Whether the values act on the pose of the layers or on the bind pose
    #[serde(default)]
    from: FromName,
    /// The rotation
    #[serde(default)]
    turn: Option<TurnFile>,
    /// The axes of turn and shift: own are those of the bone, and for shift of its parent; world are those of the world as they lie at rest
    #[serde(default)]
    axes: AxesName,
    /// The move, metres
    #[serde(default)]
    shift: Option<VectorFile>,
    /// A factor along each axis of the bone
    #[serde(default)]
    size: Option<SizeFile>,
    /// A factor along one axis; the others shrink so that the volume stays
    #[serde(default)]
    stretch: Option<StretchFile>,
}

/// What values act on
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum FromName {
    #[default]
    Layers,
    Rest,
}

/// What a bone turns about and moves along
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum AxesName {
    #[default]
    Own,
    World,
}

/// A size over time: one factor, or one along each axis of the bone
#[derive(Clone, Debug)]
enum SizeFile {
    Even(ValueFile),
    Axes(VectorFile),
}

/// A factor along one axis; the others shrink so that the volume stays
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct StretchFile {
    /// The axis, of the bone
    axis: AxisName,
    /// The factor
    by: ValueFile,
}

/// An axis of coordinates
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum AxisName {
    X,
    Y,
    Z,
}

/// Where a bone shall be
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct GoalFile {
    /// The bone
    bone: String,
    /// The first bone of the chain that turns; the second above the bone by default
    #[serde(default)]
    chain: Option<String>,
    /// A point that the bone goes to, metres
    #[serde(default)]
    target: Option<VectorFile>,
    /// How the bone is turned there, from its axes at rest
    #[serde(default)]
    turn: Option<TurnFile>,
    /// A point that the bone looks at
    #[serde(default)]
    look_at: Option<VectorFile>,
    /// The direction of the bone that looks, in its own axes
    #[serde(default)]
    axis: Option<[f64; 3]>,
    /// Whether the bone stays where the layers have it, whatever moves above it
    #[serde(default)]
    keep: bool,
    /// The point that goes to the target, in the frame of the bone; its head by default
    #[serde(default)]
    point: [f64; 3],
    /// A point that the joint in the middle of the chain leans to
    #[serde(default)]
    pole: Option<VectorFile>,
    /// How far the bone goes from where it is without the goal, 0, to the target, 1
    #[serde(default)]
    weight: Option<ValueFile>,
    /// 0 comes first; a goal moves what goals of lower numbers leave free
    #[serde(default)]
    priority: u32,
}

/// How far joints may turn from rest
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct LimitFile {
    /// A bone, with * for any text
    bones: String,
    /// Not at all
    #[serde(default)]
    locked: bool,
    /// About one axis
    #[serde(default)]
    hinge: Option<HingeFile>,
    /// Within a cone
    #[serde(default)]
    cone: Option<ConeFile>,
}

/// A joint that turns about one axis
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct HingeFile {
    /// The axis, of the bone
    axis: [f64; 3],
    /// From and to, degrees
    degrees: [f64; 2],
}

/// A joint that swings within a cone and twists
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct ConeFile {
    /// The axis that swings, of the bone
    axis: [f64; 3],
    /// How far it swings in any direction, degrees
    degrees: f64,
    /// How far it twists about the axis, from and to, degrees
    twist: [f64; 2],
}

fn one() -> f64 {
    1.0
}

fn unfit<T>(path: KeyPath, what: impl Into<String>) -> Result<T, SceneError> {
    Err(SceneError::new(path, Fault::Unfit(what.into())))
}

/// A weight, 1 by default.
pub(super) fn whole(weight: &Option<ValueFile>, path: &KeyPath) -> Result<Value, SceneError> {
    weight.as_ref().map_or(Ok(Value::Number(1.0)), |weight| weight.value(&path.key("weight")))
}

impl LayerFile {
    /// As the library has it. The file of the clip gets a place in `clips`.
    pub fn layer(&self, path: &KeyPath, clips: &mut Vec<String>) -> Result<Layer, SceneError> {
        let clip = clips.iter().position(|known| *known == self.clip).unwrap_or_else(|| {
            clips.push(self.clip.clone());
            clips.len() - 1
        });
        if self.below && self.bones.is_empty() {
            return unfit(path.key("below"), "it serves \"bones\"");
        }
        Ok(Layer {
            clip,
            cut: self.cut,
            start: self.start,
            speed: self.speed,
            time: self.time.as_ref().map(|time| time.value(&path.key("time"))).transpose()?,
            beyond: [self.before.beyond(), self.after.beyond()],
            weight: whole(&self.weight, path)?,
            mix: match self.mix {
                MixName::Over => Mix::Over,
                MixName::Add => Mix::AddFromRest,
                MixName::AddFromFirst => Mix::AddFromFirst,
            },
            bones: self.bones.clone(),
            below: self.below,
            root_motion: match self.root_motion {
                RootMotionName::Keep => RootMotion::Keep,
                RootMotionName::Remove => RootMotion::Remove,
            },
            root: self.root.clone(),
        })
    }
}

impl DriveFile {
    /// As the library has it.
    pub fn drive(&self, bones: &str, path: &KeyPath) -> Result<Drive, SceneError> {
        let size = match (&self.size, &self.stretch) {
            (Some(_), Some(_)) => return unfit(path.key("stretch"), "one of \"size\" and \"stretch\" is expected"),
            (Some(SizeFile::Even(value)), None) => {
                let value = value.value(&path.key("size"))?;
                Some(Size::Axes([value.clone(), value.clone(), value]))
            }
            (Some(SizeFile::Axes(axes)), None) => Some(Size::Axes(axes.vector(&path.key("size"))?)),
            (None, Some(stretch)) => {
                let axis = match stretch.axis {
                    AxisName::X => Axis::X,
                    AxisName::Y => Axis::Y,
                    AxisName::Z => Axis::Z,
                };
                Some(Size::Stretch(axis, stretch.by.value(&path.key("stretch").key("by"))?))
            }
            (None, None) => None,
        };
        if self.turn.is_none() && self.shift.is_none() && size.is_none() {
            return unfit(path.clone(), "\"turn\", \"shift\", \"size\" or \"stretch\" is expected");
        }
        Ok(Drive {
            bones: bones.into(),
            from: match self.from {
                FromName::Layers => From::Layers,
                FromName::Rest => From::Rest,
            },
            turn: self.turn.as_ref().map(|turn| turn.turn(&path.key("turn"))).transpose()?,
            axes: match self.axes {
                AxesName::Own => Axes::Own,
                AxesName::World => Axes::World,
            },
            shift: self.shift.as_ref().map(|shift| shift.vector(&path.key("shift"))).transpose()?,
            size,
        })
    }
}

impl GoalFile {
    /// As the library has it.
    pub fn goal(&self, path: &KeyPath) -> Result<GoalSpec, SceneError> {
        if self.turn.is_some() && self.target.is_none() {
            return unfit(path.key("turn"), "a turn serves \"target\"");
        }
        let aim = match (&self.target, &self.look_at, self.keep) {
            (Some(target), None, false) => {
                let turn = self.turn.as_ref().map(|turn| turn.turn(&path.key("turn"))).transpose()?;
                Aim::Place(target.vector(&path.key("target"))?, turn.map(Box::new))
            }
            (None, Some(point), false) => match self.axis.and_then(|axis| DVec3::from(axis).try_normalize()) {
                Some(axis) => Aim::LookAt(axis, point.vector(&path.key("look-at"))?),
                None => return unfit(path.key("axis"), "a direction of the bone that looks is expected"),
            },
            (None, None, true) => Aim::Keep,
            _ => return unfit(path.clone(), "one of \"target\", \"look-at\" and \"keep\" is expected"),
        };
        if self.axis.is_some() && self.look_at.is_none() {
            return unfit(path.key("axis"), "an axis serves \"look-at\"");
        }
        Ok(GoalSpec {
            bone: self.bone.clone(),
            chain: self.chain.clone(),
            aim,
            point: DVec3::from(self.point),
            pole: self.pole.as_ref().map(|pole| pole.vector(&path.key("pole"))).transpose()?,
            weight: whole(&self.weight, path)?,
            priority: self.priority,
        })
    }
}

impl LimitFile {
    /// As the library has it.
    pub fn limit(&self, path: &KeyPath) -> Result<LimitSpec, SceneError> {
        let radians = |range: [f64; 2]| range.map(f64::to_radians);
        let (key, limits) = match (self.locked, &self.hinge, &self.cone) {
            (true, None, None) => ("locked", Ok(JointLimits::Locked)),
            (false, Some(hinge), None) => {
                ("hinge", JointLimits::hinge(DVec3::from(hinge.axis), radians(hinge.degrees)))
            }
            (false, None, Some(cone)) => {
                let (axis, half) = (DVec3::from(cone.axis), cone.degrees.to_radians());
                ("cone", JointLimits::round_cone(axis, half, radians(cone.twist)))
            }
            _ => return unfit(path.clone(), "one of \"locked\", \"hinge\" and \"cone\" is expected"),
        };
        match limits {
            Ok(limits) => Ok(LimitSpec { bones: self.bones.clone(), limits }),
            Err(error) => unfit(path.key(key), error.to_string()),
        }
    }
}

impl<'de> Deserialize<'de> for SizeFile {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Ok(match super::values::one_or_list(from)? {
            Ok(value) => Self::Even(value),
            Err(list) => Self::Axes(list),
        })
    }
}

impl JsonSchema for SizeFile {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Size".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let (value, vector) = (generator.subschema_for::<ValueFile>(), generator.subschema_for::<VectorFile>());
        json_schema!({ "anyOf": [value, vector] })
    }
}
