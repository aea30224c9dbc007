//! Springs: the law of one, and those of a skin that were learnt.

use super::SecondaryError;
use std::f64::consts::TAU;

/// A damped spring.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spring {
    /// ω, radians per second.
    omega: f64,
    /// ζ: 0 swings for ever, 1 is the fastest without overshoot.
    damping: f64,
}

impl Spring {
    /// A spring of `frequency` f (undamped, cycles per second, positive) and damping ratio `damping` ζ (0 or more).
    ///
    /// # Errors
    /// [`SecondaryError::Setting`].
    pub fn new(frequency: f64, damping: f64) -> Result<Self, SecondaryError> {
        Self::of_omega(TAU * frequency, damping).map_err(|error| match error {
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

    /// ω, radians per second.
    pub fn omega(&self) -> f64 {
        self.omega
    }

    /// ζ.
    pub fn damping(&self) -> f64 {
        self.damping
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

/// What ties one vertex of a skin to where the pose puts it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VertexSpring {
    /// The spring.
    pub spring: Spring,
    /// k₃ ≥ 0, 1/(m² s²): how much stiffer the spring is at an offset o, by k₃ |o|².
    pub stiffening: f64,
    /// r, metres: an offset that reaches it stops there.
    pub limit: f64,
}

/// Springs that were learnt: one for every vertex, and what ties neighbours to each other.
#[derive(Clone, Debug, PartialEq)]
pub struct Springs {
    vertices: Vec<VertexSpring>,
    coupling: f64,
}

/// The fastest spring that is learnt, hertz: what swings faster is no motion that a frame shows.
pub const FASTEST: f64 = 30.0;
/// The slowest, hertz.
pub const SLOWEST: f64 = 0.1;
/// The strongest coupling of an edge, 1/s².
pub const STRONGEST: f64 = 1e5;
/// The most that a spring is stiffer at its limit than at rest, 1/s²: k₃ r².
pub const STIFFEST: f64 = 1e5;

impl Springs {
    /// Springs of all vertices; `coupling` κ ties the ends of every edge along it, 1/s².
    ///
    /// # Errors
    /// [`SecondaryError::Learnt`] for a value beyond [`SLOWEST`], [`FASTEST`], [`STIFFEST`] or [`STRONGEST`], which bound the steps that a
    /// frame takes.
    pub fn new(vertices: Vec<VertexSpring>, coupling: f64) -> Result<Self, SecondaryError> {
        let learnt = |vertex, what, value| Err(SecondaryError::Learnt { vertex, what, value });
        for (vertex, v) in vertices.iter().enumerate() {
            let frequency = v.spring.omega / TAU;
            if !(0.999 * SLOWEST..=1.001 * FASTEST).contains(&frequency) {
                return learnt(vertex, "frequency", frequency);
            }
            if !(0.0..=f64::MAX).contains(&v.limit) {
                return learnt(vertex, "limit", v.limit);
            }
            if !(0.0..=1.001 * STIFFEST).contains(&(v.stiffening * v.limit * v.limit)) || v.stiffening.is_nan() {
                return learnt(vertex, "stiffening", v.stiffening);
            }
        }
        if !(0.0..=STRONGEST).contains(&coupling) {
            return learnt(0, "coupling", coupling);
        }
        Ok(Self { vertices, coupling })
    }

    /// What ties each vertex to the skin.
    pub fn vertices(&self) -> &[VertexSpring] {
        &self.vertices
    }

    /// κ, 1/s².
    pub fn coupling(&self) -> f64 {
        self.coupling
    }
}
