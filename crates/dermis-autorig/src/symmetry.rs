//! Left and right of a body that stands upright: the vertical plane that its skin is most nearly its own mirror image in.
//!
//! If [`Mirror`] finds partners for the vertices, its plane is taken. Otherwise planes of all directions are tried: of a character
//! in a pose, the best one is still across its shoulders.

use crate::body::Body;
use dermis_rig::glam::{DAffine3, DVec3};
use dermis_rig::{BoneIndex, Influences, Mirror, Skeleton};
use rayon::prelude::*;

/// A vertical plane of symmetry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Symmetry {
    /// Its normal, a horizontal unit vector.
    pub normal: DVec3,
    /// normal · p of its points.
    pub plane: f64,
    /// How much it is to be trusted: 1 if the skin is its own image, 0 if it is nothing like it.
    pub trust: f64,
}

/// Directions that are tried, over half a turn.
const DIRECTIONS: usize = 60;
/// Points of the skin that are mirrored.
const PROBES: usize = 400;
/// The mean distance of mirrored points from the skin at which trust is down to 1/e: a body with one arm raised has 0.02.
const UNLIKE: f64 = 0.02;

impl Symmetry {
    /// The mirror image of a point.
    pub fn image(&self, p: DVec3) -> DVec3 {
        p + self.normal * (2.0 * (self.plane - self.normal.dot(p)))
    }

    /// The best plane of a body.
    pub fn find(body: &Body) -> Self {
        let probes: Vec<DVec3> = body.samples(PROBES).into_iter().map(|(p, _)| p).collect();
        let exact = whole(body).map(|(normal, plane)| (distance(body, &probes, normal, plane), normal, plane));
        let middle = probes.iter().sum::<DVec3>() / probes.len().max(1) as f64;
        let tried = |k: usize| {
            let turn = std::f64::consts::PI * k as f64 / DIRECTIONS as f64;
            let normal = DVec3::new(turn.cos(), 0.0, turn.sin());
            settled(body, &probes, normal, normal.dot(middle))
        };
        let found: Vec<(f64, DVec3, f64)> = (0..DIRECTIONS).into_par_iter().map(tried).collect();
        let best = found.into_iter().min_by(|a, b| a.0.total_cmp(&b.0));
        let best = match (exact, best) {
            (Some(exact), Some(best)) if exact.0 <= best.0 + 2e-3 => Some(exact),
            (_, best) => best,
        };
        let (unlike, normal, plane) = best.unwrap_or((f64::INFINITY, DVec3::X, 0.0));
        Self { normal, plane, trust: (-unlike / UNLIKE).exp() }
    }
}

/// The plane of the vertices, if [`Mirror`] finds one and it is vertical.
fn whole(body: &Body) -> Option<(DVec3, f64)> {
    let bone = BoneIndex::new(0);
    let skeleton = Skeleton::new(vec!["body".into()], vec![None], vec![DAffine3::IDENTITY]).ok()?;
    let weights = Influences::from_rows(body.nodes.iter().map(|_| vec![(bone, 1.0)])).ok()?;
    let mirror = Mirror::find(&body.nodes, &skeleton, &weights)?;
    (mirror.normal.y.abs() < 0.1).then(|| {
        let level = DVec3::new(mirror.normal.x, 0.0, mirror.normal.z).normalize();
        (level, mirror.plane)
    })
}

/// The mean distance of mirrored points from the skin.
fn distance(body: &Body, probes: &[DVec3], normal: DVec3, plane: f64) -> f64 {
    let image = |p: &DVec3| *p + normal * (2.0 * (plane - normal.dot(*p)));
    let far = |p: &DVec3| body.surface.closest(image(p), f64::INFINITY).map_or(1.0, |c| c.distance_squared.sqrt());
    probes.iter().map(far).sum::<f64>() / probes.len().max(1) as f64
}

/// Moves a plane to halfway between points and the skin at their images, and turns it about the vertical, until it stays.
fn settled(body: &Body, probes: &[DVec3], normal: DVec3, plane: f64) -> (f64, DVec3, f64) {
    let (mut normal, mut plane) = (normal, plane);
    for _ in 0..6 {
        let (mut xx, mut xz, mut zz, mut halfway) = (0.0, 0.0, 0.0, DVec3::ZERO);
        for &p in probes {
            let image = p + normal * (2.0 * (plane - normal.dot(p)));
            let Some(q) = body.surface.closest(image, f64::INFINITY) else { continue };
            let d = p - q.point;
            (xx, xz, zz) = (xx + d.x * d.x, xz + d.x * d.z, zz + d.z * d.z);
            halfway += 0.5 * (p + q.point);
        }
        // The larger principal axis of the horizontal parts of p − q.
        let turn = 0.5 * (2.0 * xz).atan2(xx - zz);
        let axis = DVec3::new(turn.cos(), 0.0, turn.sin());
        normal = if axis.dot(normal) < 0.0 { -axis } else { axis };
        plane = normal.dot(halfway / probes.len().max(1) as f64);
    }
    (distance(body, probes, normal, plane), normal, plane)
}
