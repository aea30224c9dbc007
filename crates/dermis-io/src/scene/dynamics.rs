//! Dynamics as they are written.

use super::values::{ValueFile, VectorFile};
use dermis_motion::dynamics::{AirSpec, BodySpec, DynamicsSpec, LimitChoice, SpringSpec, SquashSpec};
use dermis_motion::scene::{Fault, SceneError};
use dermis_motion::{KeyPath, Value};
use dermis_rig::glam::DVec3;
use schemars::JsonSchema;
use serde::Deserialize;

/// Bones that move as bodies do, after everything else
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct DynamicsFile {
    /// Steps per second, whatever the rate of the frames is: 60 to 20000
    #[serde(default = "steps")]
    steps: f64,
    /// The acceleration of what falls, m/s²
    #[serde(default = "gravity")]
    gravity: [f64; 3],
    /// The height of a horizontal plane that nothing falls through, metres; without it there is none
    #[serde(default)]
    ground: Option<f64>,
    /// The density of the air, kg/m³; 1.2 if there is wind, and otherwise none
    #[serde(default)]
    air: Option<f64>,
    /// The velocity of the air, m/s
    #[serde(default)]
    wind: Option<VectorFile>,
    /// The coefficient of drag
    #[serde(default)]
    drag: Option<f64>,
    /// Which bones are bodies
    bodies: Vec<BodyFile>,
}

/// Bones that are bodies in one way
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct BodyFile {
    /// Names of bones, with * for any text
    bones: Vec<String>,
    /// Whether the bones below those are bodies as well
    #[serde(default)]
    below: bool,
    /// Bones that are no bodies of their own, with * for any text: they go with the body above them
    #[serde(default)]
    except: Vec<String>,
    /// kg/m³
    #[serde(default = "density")]
    density: f64,
    /// How much of the scene's gravity acts on them
    #[serde(default = "one")]
    gravity: f64,
    /// Whether the topmost of them hang on nothing, as the pelvis of a body that falls
    #[serde(default)]
    free: bool,
    /// 0 is the animation, 1 the bodies; they begin to move when it leaves 0
    #[serde(default)]
    weight: Option<ValueFile>,
    /// What pulls every joint to the animation
    #[serde(default)]
    spring: Option<SpringFile>,
    /// By how much of itself a joint's velocity falls in a second, 1/s
    #[serde(default)]
    damping: f64,
    /// How far joints turn for which the scene has no limits: as far as those of their part of a body, or freely
    #[serde(default)]
    limits: LimitName,
    /// The coefficient of friction on the ground
    #[serde(default = "friction")]
    friction: f64,
    /// Which part of its velocity a body has after it met the ground, 0 to 1
    #[serde(default)]
    bounce: f64,
    /// How soft they are: they give way on the ground and are higher where they rise and fall, at the same volume
    #[serde(default)]
    squash: Option<SquashFile>,
}

/// A spring at every joint
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct SpringFile {
    /// How often what hangs on the joint would swing in a second, as one piece
    hertz: f64,
    /// 0 swings on, 1 comes to rest soonest
    #[serde(default = "ratio")]
    ratio: f64,
}

/// How soft bodies are
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct SquashFile {
    /// How long a body stays on the ground, seconds
    seconds: f64,
    /// By how much of itself it is higher at 1 m/s up or down
    #[serde(default)]
    stretch: f64,
}

/// Where limits come from
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum LimitName {
    /// The part of the body that a bone's name says; 45° where it says none
    #[default]
    Anatomy,
    /// None
    Free,
}

fn steps() -> f64 {
    DynamicsSpec::RATE
}

fn gravity() -> [f64; 3] {
    [0.0, -9.81, 0.0]
}

fn density() -> f64 {
    1000.0
}

fn one() -> f64 {
    1.0
}

fn friction() -> f64 {
    0.8
}

fn ratio() -> f64 {
    0.3
}

impl DynamicsFile {
    /// As the library has it.
    pub fn dynamics(&self, path: &KeyPath) -> Result<DynamicsSpec, SceneError> {
        let wind = self.wind.as_ref().map(|wind| wind.vector(&path.key("wind"))).transpose()?;
        let air = match (self.air, wind) {
            (None, None) => None,
            (air, wind) => Some(AirSpec {
                wind: wind.unwrap_or([0.0; 3].map(Value::Number)),
                density: air.unwrap_or(1.2),
                drag: self.drag.unwrap_or(1.0),
            }),
        };
        if self.drag.is_some() && air.is_none() {
            let what = "a drag serves \"air\" or \"wind\"".into();
            return Err(SceneError::new(path.key("drag"), Fault::Unfit(what)));
        }
        let body = |(at, body): (usize, &BodyFile)| body.body(&path.key("bodies").at(at));
        Ok(DynamicsSpec {
            rate: self.steps,
            gravity: DVec3::from(self.gravity),
            air,
            ground: self.ground,
            bodies: self.bodies.iter().enumerate().map(body).collect::<Result<_, _>>()?,
        })
    }
}

impl BodyFile {
    fn body(&self, path: &KeyPath) -> Result<BodySpec, SceneError> {
        Ok(BodySpec {
            bones: self.bones.clone(),
            below: self.below,
            except: self.except.clone(),
            density: self.density,
            gravity: self.gravity,
            free: self.free,
            weight: super::poses::whole(&self.weight, path)?,
            spring: self.spring.map(|spring| SpringSpec { hertz: spring.hertz, ratio: spring.ratio }),
            damping: self.damping,
            limits: match self.limits {
                LimitName::Anatomy => LimitChoice::Anatomy,
                LimitName::Free => LimitChoice::Free,
            },
            friction: self.friction,
            bounce: self.bounce,
            squash: self.squash.map(|squash| SquashSpec { seconds: squash.seconds, stretch: squash.stretch }),
        })
    }
}
