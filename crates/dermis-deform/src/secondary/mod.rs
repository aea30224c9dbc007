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

mod chain;
mod net;
mod spring;

pub use chain::{Anchor, ChainMotion, ChainSpring, STEP};
pub use net::edges;
pub use spring::{FASTEST, SLOWEST, STIFFEST, STRONGEST, Spring, Springs, VertexSpring};

use dermis_rig::Mesh;
use dermis_rig::glam::DVec3;
use net::Net;
use rayon::prelude::*;

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
    /// A learnt value beyond what a step bears.
    #[error("the {what} of vertex {vertex} is {value}")]
    Learnt {
        /// The first such vertex.
        vertex: usize,
        /// Which value.
        what: &'static str,
        /// What it is.
        value: f64,
    },
    /// A frame, or a mesh, with another number of vertices.
    #[error("there are {found} vertices, but {expected} that may swing")]
    Vertices {
        /// Vertices of the frame.
        found: usize,
        /// Vertices with a gain or a spring.
        expected: usize,
    },
    /// A step of time that is not positive.
    #[error("a frame comes {0} s after the one before it: time must go forward")]
    Time(f64),
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
///
/// `L` lanes swing side by side: one to show, more to learn how parameters act. Neighbours see the first.
#[derive(Clone, Debug)]
pub struct Secondary<const L: usize = 1> {
    gravity: DVec3,
    vertices: Vec<Vertex<L>>,
    /// What ties neighbours and stiffens, if anything does.
    net: Option<Net<L>>,
    /// Frames since the start or the last cut: 0, 1, or 2 for more.
    seen: u8,
}

#[derive(Clone, Copy, Debug)]
struct Vertex<const L: usize> {
    gain: f64,
    ties: [VertexSpring; L],
    offset: [DVec3; L],
    speed: [DVec3; L],
    base: DVec3,
    base_speed: DVec3,
}

impl<const L: usize> Vertex<L> {
    fn at_rest(gain: f64, ties: [VertexSpring; L]) -> Self {
        let none = [DVec3::ZERO; L];
        Self { gain, ties, offset: none, speed: none, base: DVec3::ZERO, base_speed: DVec3::ZERO }
    }
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
        let limit = settings.limit.unwrap_or(f64::INFINITY);
        let tie = VertexSpring { spring: settings.spring, stiffening: 0.0, limit };
        let vertices = gain.into_iter().map(|gain| Vertex::at_rest(gain, [tie])).collect();
        Ok(Self { gravity: settings.gravity, vertices, net: None, seen: 0 })
    }

    /// How fast every vertex moves against the skin, metres per second.
    pub fn speeds(&self) -> impl Iterator<Item = DVec3> {
        self.vertices.iter().map(|v| v.speed[0])
    }

    /// How many vertices may swing.
    pub fn soft(&self) -> usize {
        self.vertices.iter().filter(|v| v.gain > 0.0).count()
    }
}

impl<const L: usize> Secondary<L> {
    /// Learnt springs on the vertices of a mesh, before the first frame; each lane has its own.
    ///
    /// # Errors
    /// [`SecondaryError::Vertices`].
    pub fn learnt(lanes: [&Springs; L], mesh: &Mesh) -> Result<Self, SecondaryError> {
        let expected = mesh.positions.len();
        if let Some(other) = lanes.iter().find(|springs| springs.vertices().len() != expected) {
            return Err(SecondaryError::Vertices { found: expected, expected: other.vertices().len() });
        }
        let ties = |v: usize| lanes.map(|springs| springs.vertices()[v]);
        let vertices = (0..expected).map(|v| Vertex::at_rest(1.0, ties(v))).collect();
        Ok(Self { gravity: DVec3::ZERO, vertices, net: Some(Net::new(lanes, mesh)), seen: 0 })
    }

    /// Takes this as the first frame: a skin, and how far every vertex is from it and moves against it, in metres and metres per second.
    ///
    /// # Panics
    /// If skin or moves differ from the vertices in number.
    pub fn begin(&mut self, skin: &[DVec3], moves: impl ExactSizeIterator<Item = [DVec3; 2]>) {
        assert_eq!((skin.len(), moves.len()), (self.vertices.len(), self.vertices.len()), "inputs differ in number");
        for ((v, base), [offset, speed]) in self.vertices.iter_mut().zip(skin).zip(moves) {
            (v.offset, v.speed, v.base) = ([offset; L], [speed; L], *base);
        }
        self.seen = 1;
    }

    /// The offsets of every vertex in the last frame, one for each lane, metres.
    pub fn lanes(&self) -> impl IndexedParallelIterator<Item = [DVec3; L]> {
        self.vertices.par_iter().map(|v| v.offset)
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
        let seen = self.seen;
        let gravity = self.gravity;
        let balance = |v: &Vertex<L>| gravity * (v.gain / v.ties[0].spring.stiffness());
        // Free motion is the same for all, unless each was learnt.
        let free = match (&self.net, self.vertices.first()) {
            (None, Some(v)) if seen > 0 => v.ties[0].spring.step(dt),
            _ => [[1.0, 0.0], [0.0, 1.0]],
        };
        let is_free = self.net.is_none();
        let pairs = self.vertices.par_iter_mut().zip(positions.par_iter()).with_min_len(crate::CHUNK);
        pairs.for_each(|(v, p)| {
            if seen == 0 {
                (v.offset, v.speed) = ([balance(v); L], [DVec3::ZERO; L]);
            } else {
                let base_speed = (*p - v.base) / dt;
                if seen > 1 {
                    let kick = (base_speed - v.base_speed) * v.gain;
                    v.speed.iter_mut().for_each(|speed| *speed -= kick);
                }
                v.base_speed = base_speed;
                if is_free {
                    let balance = balance(v);
                    let (from, speed) = (v.offset[0] - balance, v.speed[0]);
                    v.offset = [balance + from * free[0][0] + speed * free[0][1]; L];
                    v.speed = [from * free[1][0] + speed * free[1][1]; L];
                }
            }
            v.base = *p;
        });
        if let Some(net) = self.net.as_mut().filter(|_| seen > 0) {
            net.step(dt, &mut self.vertices, positions);
        }
        let pairs = self.vertices.par_iter_mut().zip(positions.par_iter_mut()).with_min_len(crate::CHUNK);
        pairs.for_each(|(v, p)| {
            for ((offset, speed), tie) in v.offset.iter_mut().zip(&mut v.speed).zip(&v.ties) {
                if offset.length() > tie.limit {
                    (*offset, *speed) = (offset.normalize_or_zero() * tie.limit, DVec3::ZERO);
                }
            }
            if v.gain > 0.0 {
                *p += v.offset[0];
            }
        });
        self.seen = (seen + 1).min(2);
        Ok(())
    }

    /// The largest offset of the last frame, metres.
    pub fn largest(&self) -> f64 {
        self.vertices.iter().map(|v| v.offset[0].length()).fold(0.0, f64::max)
    }
}
