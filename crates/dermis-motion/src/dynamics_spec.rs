//! What a scene says of its dynamics.

use crate::controls::Value;
use crate::key_path::KeyPath;
use crate::scene::{Clock, Fault, SceneError};
use dermis_rig::glam::DVec3;

/// Bones that move as bodies do, after everything else has had its say.
#[derive(Clone, Debug, PartialEq)]
pub struct DynamicsSpec {
    /// Steps per second, from the first frame's time on, whatever the rate of the frames is.
    pub rate: f64,
    /// Acceleration of everything that falls, m/s².
    pub gravity: DVec3,
    /// Air that is there, and may move.
    pub air: Option<AirSpec>,
    /// The height of a horizontal plane that nothing falls through, metres.
    pub ground: Option<f64>,
    /// Which bones are bodies.
    pub bodies: Vec<BodySpec>,
}

/// Air that acts on bodies with the force ½ ρ c A |u| u, u the wind that the body feels and A the mean of its projected areas.
#[derive(Clone, Debug, PartialEq)]
pub struct AirSpec {
    /// The velocity of the air, m/s.
    pub wind: [Value; 3],
    /// ρ, kg/m³.
    pub density: f64,
    /// c, the coefficient of drag.
    pub drag: f64,
}

/// Bones that are bodies in one way.
#[derive(Clone, Debug, PartialEq)]
pub struct BodySpec {
    /// Names of bones, with `*` for any text.
    pub bones: Vec<String>,
    /// Whether the bones below those belong to them.
    pub below: bool,
    /// Names of bones, with `*` for any text, that are no bodies of their own: they go with the body above them.
    pub except: Vec<String>,
    /// kg/m³.
    pub density: f64,
    /// How much of the scene's gravity acts on them.
    pub gravity: f64,
    /// Whether the topmost of them hang on nothing. A bone without a parent always does.
    pub free: bool,
    /// 0 is the animation, 1 the bodies; between them, bones lie between. Bodies begin to move when it leaves 0.
    pub weight: Value,
    /// What pulls every joint to the animation.
    pub spring: Option<SpringSpec>,
    /// By how much of itself the velocity of a joint falls in a second, 1/s, for a joint that carries what hangs on it at rest.
    pub damping: f64,
    /// How far the joints turn.
    pub limits: LimitChoice,
    /// The coefficient of friction on the ground.
    pub friction: f64,
    /// Which part of its velocity a body has after it met the ground.
    pub bounce: f64,
    /// How soft the bodies are where they meet the ground.
    pub squash: Option<SquashSpec>,
}

/// A spring and damper at every joint. They pull to the joint's rotation in the animation, and to its velocity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpringSpec {
    /// How often what hangs on the joint would swing in a second, as one piece and without gravity.
    pub hertz: f64,
    /// The ratio of damping: 0 swings on, 1 comes to rest soonest.
    pub ratio: f64,
}

/// Bodies that give way on the ground and are higher where they rise and fall, at the same volume.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SquashSpec {
    /// How long the body is in contact, seconds.
    pub seconds: f64,
    /// By how much of itself it is higher, at 1 m/s up or down.
    pub stretch: f64,
}

/// Where the limits of joints come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LimitChoice {
    /// The `limits` of the scene; of other bones those of their part of the body, as in [`crate::anatomy`].
    #[default]
    Anatomy,
    /// The `limits` of the scene; other joints turn freely.
    Free,
}

/// The most steps per second.
pub const MOST_RATE: f64 = 20_000.0;

/// The fewest steps per second.
pub const LEAST_RATE: f64 = 60.0;

/// The smallest bounce that a spring and a damper give in a half swing: exp(−2) = 0.135.
pub const LEAST_BOUNCE: f64 = 0.14;

impl DynamicsSpec {
    /// Steps per second where the scene does not say it: a pendulum of a metre has its period to 1e-6, and a ragdoll of twenty bones
    /// runs at about the speed of the clock.
    pub const RATE: f64 = 480.0;
}

/// The most steps.
const MOST_STEPS: f64 = 5e6;

/// The largest acceleration, m/s².
const MOST_GRAVITY: f64 = 1000.0;

impl DynamicsSpec {
    /// Checks that numbers are within their ranges.
    ///
    /// # Errors
    /// [`SceneError`], with the key.
    pub fn check(&self, clock: &Clock) -> Result<(), SceneError> {
        let path = KeyPath::new().key("dynamics");
        let within = |path: KeyPath, value: f64, [low, high]: [f64; 2], what: &str| match (low..=high).contains(&value)
        {
            true => Ok(()),
            false => {
                let what = format!("{value}; {what} from {low} to {high} is expected");
                Err(SceneError::new(path, Fault::Unfit(what)))
            }
        };
        within(path.key("steps"), self.rate, [LEAST_RATE, MOST_RATE], "a number of steps per second")?;
        let seconds = clock.elapsed(clock.frames() - 1);
        if seconds * self.rate > MOST_STEPS {
            let what = format!("{:.0} steps in {seconds} s; {MOST_STEPS} are the most", seconds * self.rate);
            return Err(SceneError::new(path.key("steps"), Fault::Unfit(what)));
        }
        let range = [-MOST_GRAVITY, MOST_GRAVITY];
        for value in self.gravity.to_array() {
            within(path.key("gravity"), value, range, "an acceleration in m/s²")?;
        }
        if let Some(height) = self.ground {
            within(path.key("ground"), height, [-1e4, 1e4], "a height in metres")?;
        }
        if let Some(air) = &self.air {
            within(path.key("air"), air.density, [0.0, 2000.0], "a density in kg/m³")?;
            within(path.key("drag"), air.drag, [0.0, 100.0], "a coefficient of drag")?;
        }
        if self.bodies.is_empty() {
            let what = "dynamics without bodies".into();
            return Err(SceneError::new(path.key("bodies"), Fault::Unfit(what)));
        }
        for (at, body) in self.bodies.iter().enumerate() {
            let path = path.key("bodies").at(at);
            if body.bones.is_empty() {
                return Err(SceneError::new(path.key("bones"), Fault::Unfit("a bone at least is expected".into())));
            }
            within(path.key("density"), body.density, [1e-3, 1e6], "a density in kg/m³")?;
            within(path.key("gravity"), body.gravity, [-100.0, 100.0], "a factor")?;
            within(path.key("damping"), body.damping, [0.0, 1e4], "a damping in 1/s")?;
            within(path.key("friction"), body.friction, [0.0, 100.0], "a coefficient of friction")?;
            within(path.key("bounce"), body.bounce, [0.0, 1.0], "a part of the velocity")?;
            if let Some(spring) = &body.spring {
                let path = path.key("spring");
                within(path.key("hertz"), spring.hertz, [1e-3, 1e3], "a frequency in 1/s")?;
                within(path.key("ratio"), spring.ratio, [0.0, 100.0], "a ratio of damping")?;
            }
            if let Some(squash) = &body.squash {
                // The fewest steps that a contact takes.
                let least = 16.0 / self.rate;
                let path = path.key("squash");
                within(path.key("seconds"), squash.seconds, [least, 2.0], "a time in seconds, of 16 steps at least,")?;
                within(path.key("stretch"), squash.stretch, [0.0, 1.0], "a stretch at 1 m/s")?;
                within(path.key("bounce"), body.bounce, [LEAST_BOUNCE, 1.0], "of a soft body a bounce")?;
            }
        }
        Ok(())
    }
}
