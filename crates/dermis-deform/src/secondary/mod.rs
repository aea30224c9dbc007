//! Secondary motion: soft parts that lag behind the skin and swing on, over the output of any deformer.
//!
//! Every vertex v carries an offset o from the base's position b(t), a damped spring in world axes that the base's
//! acceleration drives:
//!
//! ```text
//! o″ + 2 ζ ω o′ + ω² (o − g_v G/ω²) = −g_v b″        position = b + o
//! ```
//!
//! with gain g_v in 0..=1 (0 is rigid), ω = 2π f, damping ratio ζ and gravity G (m/s²). The base is taken to be
//! piecewise linear between frames, so b″ vanishes within a frame and is a jump of the velocity at its start: there o′
//! changes by −g_v (vel_n − vel_{n−1}), and between frames o moves freely, in closed form. The step is exact for any
//! length of frame and damping, hence stable, and a straight stretch of base motion may be cut into any number of frames.
//!
//! A sequence starts at rest: o = g_v G/ω², where gravity and spring balance, o′ = 0, the base's first velocity taken as
//! what it had before. Without gravity the result moves with the character: a rigid motion of all frames moves it likewise.
//!
//! History is no pose: do not train a model on examples that swing unless they are averaged. Where poses recur, a ridge
//! averages the swinging out; an exact interpolation (pose-space deformation with `-s 0`) reproduces it.
//!
//! ```
//! use dermis_deform::secondary::{Secondary, SecondarySettings, Spring};
//! use dermis_rig::glam::DVec3;
//! let settings = SecondarySettings { spring: Spring::new(2.0, 0.2)?, gravity: DVec3::ZERO, limit: None };
//! let mut motion = Secondary::new(settings, vec![1.0])?;
//! for x in [0.0, 0.0, 0.1, 0.1] {
//!     let mut skin = [DVec3::X * x];
//!     motion.apply(1.0 / 30.0, &mut skin)?; // lags behind the step, then overshoots
//! }
//! # Ok::<(), dermis_deform::secondary::SecondaryError>(())
//! ```

use dermis_rig::glam::DVec3;
use rayon::prelude::*;

/// A damped spring.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spring {
    /// ω, radians per second.
    omega: f64,
    /// ζ: 0 swings for ever, 1 is the fastest without overshoot.
    damping: f64,
}

/// Why secondary motion cannot be computed.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum SecondaryError {
    /// A setting outside its range.
    #[error("{what} {value}: {rule}")]
    Setting {
        /// Which one.
        what: &'static str,
        /// Its value.
        value: f64,
        /// What it must obey.
        rule: &'static str,
    },
    /// A gain outside 0..=1.
    #[error("the gain of vertex {vertex} is {gain}: it must lie in 0..1")]
    Gain {
        /// The first such vertex.
        vertex: usize,
        /// Its gain.
        gain: f64,
    },
    /// A frame with another number of vertices.
    #[error("a frame has {found} vertices, but there are {expected} gains")]
    Vertices {
        /// Vertices of the frame.
        found: usize,
        /// Gains.
        expected: usize,
    },
    /// A step of time that is not positive.
    #[error("a frame comes {0} s after the one before it: time must go forward")]
    Time(f64),
}

impl Spring {
    /// A spring of `frequency` f (undamped, cycles per second, positive) and damping ratio `damping` ζ (0 or more).
    ///
    /// # Errors
    /// [`SecondaryError::Setting`].
    pub fn new(frequency: f64, damping: f64) -> Result<Self, SecondaryError> {
        Self::of_omega(std::f64::consts::TAU * frequency, damping).map_err(|error| match error {
            SecondaryError::Setting { what: "frequency", .. } => {
                let rule = "it must lie between 1.6e-7 and 1.59e8 hertz";
                SecondaryError::Setting { what: "frequency", value: frequency, rule }
            }
            other => other,
        })
    }

    /// The same from ω in radians per second.
    ///
    /// # Errors
    /// [`SecondaryError::Setting`].
    pub fn of_omega(omega: f64, damping: f64) -> Result<Self, SecondaryError> {
        let setting = |what, value, rule| Err(SecondaryError::Setting { what, value, rule });
        // Beyond these a spring is rigid or free, and its square leaves the range of numbers.
        if !(1e-6..=1e9).contains(&omega) {
            return setting("frequency", omega, "it must lie between 1e-6 and 1e9 radians per second");
        }
        if !(0.0..=1e6).contains(&damping) {
            return setting("damping", damping, "it must lie between 0 and 1e6");
        }
        Ok(Self { omega, damping })
    }

    /// ω².
    pub fn stiffness(&self) -> f64 {
        self.omega * self.omega
    }

    /// The map (o, o′) → (o, o′) of `dt` seconds of free motion about the balance, rows of a 2×2 matrix.
    ///
    /// With d = ω √|1 − ζ²|: e^(−ζω dt) ((C + ζω S) o + S o′, −ω² S o + (C − ζω S) o′), where C = cos(d dt) and
    /// S = sin(d dt)/d below critical damping, cosh and sinh above, 1 and dt at it.
    pub fn step(&self, dt: f64) -> [[f64; 2]; 2] {
        let (w, z) = (self.omega, self.damping);
        let d = w * ((1.0 - z).abs() * (1.0 + z)).sqrt();
        let angle = d * dt;
        // e^(−ζω dt) C and e^(−ζω dt) S.
        let (c, s) = if angle < 1e-4 {
            // Near critical damping: two terms of the series, exact to 1e-16.
            let (decay, sign) = ((-z * w * dt).exp(), if z < 1.0 { -1.0 } else { 1.0 });
            let square = sign * angle * angle;
            (decay * (1.0 + square / 2.0), decay * dt * (1.0 + square / 6.0))
        } else if z < 1.0 {
            let decay = (-z * w * dt).exp();
            (decay * angle.cos(), decay * angle.sin() / d)
        } else {
            // The two roots −ζω ± d, the slow one without cancellation; sinh and cosh would overflow.
            let slow = (-w * dt / (z + ((z - 1.0) * (z + 1.0)).sqrt())).exp();
            let fast = (-(z * w + d) * dt).exp();
            (0.5 * (slow + fast), 0.5 * (slow - fast) / d)
        };
        [[c + z * w * s, s], [-w * w * s, c - z * w * s]]
    }
}

/// What a caller sets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SecondarySettings {
    /// The spring of every vertex.
    pub spring: Spring,
    /// G, m/s², in the world; zero for none.
    pub gravity: DVec3,
    /// o_max, metres: an offset that reaches it stops there, o′ = 0. None: no limit.
    pub limit: Option<f64>,
}

/// Secondary motion between two frames: what each vertex remembers. [`Secondary::apply`] allocates nothing.
#[derive(Clone, Debug)]
pub struct Secondary {
    settings: SecondarySettings,
    vertices: Vec<Vertex>,
    /// Frames since the start or the last cut: 0, 1, or 2 for more.
    seen: u8,
}

#[derive(Clone, Copy, Debug, Default)]
struct Vertex {
    gain: f64,
    offset: DVec3,
    speed: DVec3,
    base: DVec3,
    base_speed: DVec3,
}

impl Secondary {
    /// Secondary motion of vertices with these gains, before the first frame.
    ///
    /// # Errors
    /// [`SecondaryError::Gain`] for a gain outside 0..=1, [`SecondaryError::Setting`] for gravity or a limit that is no
    /// number, or a negative limit.
    pub fn new(settings: SecondarySettings, gain: Vec<f64>) -> Result<Self, SecondaryError> {
        let setting = |what, value, rule| Err(SecondaryError::Setting { what, value, rule });
        if let Some(limit) = settings.limit.filter(|limit| limit.is_nan() || *limit < 0.0) {
            return setting("limit", limit, "it must be 0 or more");
        }
        if !settings.gravity.is_finite() {
            return setting("gravity", settings.gravity.length(), "it must be finite");
        }
        if let Some(vertex) = gain.iter().position(|g| !(0.0..=1.0).contains(g)) {
            return Err(SecondaryError::Gain { vertex, gain: gain[vertex] });
        }
        let vertices = gain.into_iter().map(|gain| Vertex { gain, ..Vertex::default() }).collect();
        Ok(Self { settings, vertices, seen: 0 })
    }

    /// Forgets what came before: the next frame starts at rest, as the first one does. For cuts.
    pub fn reset(&mut self) {
        self.seen = 0;
    }

    /// Moves the base's positions of the next frame, `dt` seconds after the last; `dt` is not read in the first frame
    /// after the start or a reset. Every vertex on its own: the same bits for any number of threads.
    ///
    /// # Errors
    /// [`SecondaryError::Vertices`], [`SecondaryError::Time`]. Nothing has changed then.
    pub fn apply(&mut self, dt: f64, positions: &mut [DVec3]) -> Result<(), SecondaryError> {
        if positions.len() != self.vertices.len() {
            return Err(SecondaryError::Vertices { found: positions.len(), expected: self.vertices.len() });
        }
        if self.seen > 0 && !(dt > 0.0 && dt.is_finite()) {
            return Err(SecondaryError::Time(dt));
        }
        let SecondarySettings { spring, gravity, limit } = self.settings;
        let sag = gravity / spring.stiffness();
        let step = if self.seen > 0 { spring.step(dt) } else { [[1.0, 0.0], [0.0, 1.0]] };
        let seen = self.seen;
        let pairs = self.vertices.par_iter_mut().zip(positions.par_iter_mut()).with_min_len(crate::CHUNK);
        pairs.for_each(|(v, p)| {
            let balance = sag * v.gain;
            if seen == 0 {
                (v.offset, v.speed) = (balance, DVec3::ZERO);
            } else {
                let base_speed = (*p - v.base) / dt;
                if seen > 1 {
                    v.speed -= (base_speed - v.base_speed) * v.gain;
                }
                v.base_speed = base_speed;
                let (from, speed) = (v.offset - balance, v.speed);
                v.offset = balance + from * step[0][0] + speed * step[0][1];
                v.speed = from * step[1][0] + speed * step[1][1];
            }
            if let Some(limit) = limit
                && v.offset.length() > limit
            {
                (v.offset, v.speed) = (v.offset.normalize_or_zero() * limit, DVec3::ZERO);
            }
            v.base = *p;
            if v.gain > 0.0 {
                *p += v.offset;
            }
        });
        self.seen = (seen + 1).min(2);
        Ok(())
    }

    /// The largest offset of the last frame, metres.
    pub fn largest(&self) -> f64 {
        self.vertices.iter().map(|v| v.offset.length()).fold(0.0, f64::max)
    }
}
