//! How far clothes lie from a skin, and how much of them lies in it.

use crate::body::welded_normals;
use dermis_fit::surface::Surface;
use dermis_rig::glam::DVec3;
use rayon::prelude::*;

/// A skin in one pose.
#[derive(Clone, Debug)]
pub struct Skin<'a> {
    positions: &'a [DVec3],
    triangles: &'a [[u32; 3]],
    normals: Vec<DVec3>,
    surface: Surface,
}

/// How clothes lie over a skin, in one pose or in several.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Clearance {
    /// Vertices that were outside of the skin at rest.
    pub outside: usize,
    /// Those of them that are deeper in it than [`DEEP`].
    pub inside: usize,
    /// The largest depth, metres.
    pub deepest: f64,
    /// Sum over the vertices that lie close at rest of the squared change of clearance, square metres.
    pub squares: f64,
    /// How many lie close at rest.
    pub close: usize,
}

/// What counts as in the skin, metres on a body of usual size.
pub const DEEP: f64 = 0.002;
/// At rest a vertex is outside unless it is deeper than this.
const AT_REST: f64 = 0.0005;
/// Clearance below this at rest is watched.
const CLOSE: f64 = 0.02;

impl<'a> Skin<'a> {
    /// The skin of these positions.
    pub fn new(positions: &'a [DVec3], triangles: &'a [[u32; 3]]) -> Self {
        let normals = welded_normals(positions, triangles);
        Self { positions, triangles, normals, surface: Surface::new(positions, triangles) }
    }

    /// Signed distance of every point, metres: negative inside, by the normal interpolated at the closest point. NaN for a point that
    /// is not finite.
    pub fn distances(&self, points: &[DVec3]) -> Vec<f64> {
        let of = |p: &DVec3| {
            let Some(closest) = self.surface.closest(*p, f64::INFINITY) else { return f64::NAN };
            let triangle = self.triangles[closest.triangle];
            let shares = closest.shares(&triangle.map(|corner| self.positions[corner as usize]));
            let normal: DVec3 = [0, 1, 2].map(|k| self.normals[triangle[k] as usize] * shares[k]).into_iter().sum();
            (*p - closest.point).dot(normal.normalize_or_zero())
        };
        points.par_iter().map(of).collect()
    }
}

impl Clearance {
    /// Of clothes whose signed distances are known at rest and in a pose; `unit` as [`Body::unit`](crate::Body::unit) has it.
    pub fn of(rest: &[f64], posed: &[f64], unit: f64) -> Self {
        let mut made = Self::default();
        for (&at_rest, &now) in rest.iter().zip(posed) {
            if at_rest > -AT_REST * unit {
                made.outside += 1;
                made.inside += usize::from(now < -DEEP * unit);
                made.deepest = made.deepest.max(-now);
            }
            if at_rest < CLOSE * unit {
                made.close += 1;
                made.squares += (now - at_rest).powi(2);
            }
        }
        made
    }

    /// The part of the vertices outside at rest that is in the skin.
    pub fn share(&self) -> f64 {
        self.inside as f64 / self.outside.max(1) as f64
    }

    /// Root mean square change of clearance, metres.
    pub fn change(&self) -> f64 {
        (self.squares / self.close.max(1) as f64).sqrt()
    }

    /// Both together.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self {
            outside: self.outside + other.outside,
            inside: self.inside + other.inside,
            deepest: self.deepest.max(other.deepest),
            squares: self.squares + other.squares,
            close: self.close + other.close,
        }
    }
}
