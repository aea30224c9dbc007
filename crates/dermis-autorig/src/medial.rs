//! The middle of a body: balls that touch the skin on two sides, and few of them that fill it.
//!
//! From a point of the skin a ball shrinks inwards until no other point of the skin is in it: its middle is a point of the medial
//! surface, where the gradient of the distance jumps from one closest point to the other. Middles whose closest points are less than
//! `APART` apart belong to creases and noise. Balls are then taken by decreasing radius where none that was taken covers them.
//!
//! Source: Ma, Bae & Choi 2012 (shrinking balls); Baran & Popović 2007, section 3.1 (packing by radius). Departure from the
//! latter: medial points come from shrinking balls, where it samples the octree for jumps of the gradient: the same points, but
//! exact, and dense where the skin is.

use crate::body::Body;
use crate::field::Field;
use dermis_rig::glam::DVec3;
use rayon::prelude::*;

/// A ball within the body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ball {
    /// Its middle.
    pub centre: DVec3,
    /// The distance of the middle from the skin.
    pub radius: f64,
}

/// The least angle at a medial point between its two closest points: 80° keeps the flat of a hand, 100° loses it.
const APART: f64 = 1.4;
/// Points of the skin that balls start from.
const STARTS: usize = 9000;
/// The least radius, in parts of the body: an eighth of a finger.
const LEAST: f64 = 1e-3;
/// Where walls within a body are cut off, the rim is jagged: balls below this radius that touch it say nothing of the shape.
const RIM: f64 = 0.01;
/// How nearly a ball half way across a body touches both sides: its radius over half the way.
const BOTH: f64 = 0.97;
/// The most balls that are kept. With more, a larger surrounding of each is covered.
const MOST: usize = 500;

/// The balls that fill a body, by decreasing radius.
pub fn balls(body: &Body, field: &Field) -> Vec<Ball> {
    let starts = body.samples(STARTS);
    let found: Vec<[Option<Ball>; 2]> = starts
        .par_iter()
        .map(|(p, outward)| [shrunk(body, *p, -*outward), between(body, field, *p, -*outward)])
        .collect();
    let found = found.into_iter().flatten().flatten();
    let mut found: Vec<Ball> = found.filter(|b| b.radius > LEAST && field.at(b.centre) > 0.3 * b.radius).collect();
    found.sort_by(|a, b| b.radius.total_cmp(&a.radius).then(compare(a.centre, b.centre)));
    let mut cover = 1.0;
    loop {
        let taken = packed(&found, cover);
        if taken.len() <= MOST {
            return taken;
        }
        cover *= 1.15;
    }
}

fn compare(a: DVec3, b: DVec3) -> std::cmp::Ordering {
    a.x.total_cmp(&b.x).then(a.y.total_cmp(&b.y)).then(a.z.total_cmp(&b.z))
}

/// Greedily, by radius: those whose middle no ball covers that was taken before.
fn packed(found: &[Ball], cover: f64) -> Vec<Ball> {
    let mut taken: Vec<Ball> = Vec::new();
    for ball in found {
        let covered = |other: &Ball| other.centre.distance(ball.centre) < (cover * other.radius).max(4.0 * LEAST);
        if !taken.iter().any(covered) {
            taken.push(*ball);
        }
    }
    taken
}

/// The ball half way across the body from `p`, if it nearly touches both sides: of a limb with facets, whose edges are in the way of a
/// ball that shrinks from most of its points.
fn between(body: &Body, field: &Field, p: DVec3, inward: DVec3) -> Option<Ball> {
    let across = field.exit(p + inward * LEAST, inward, 1.0) + LEAST;
    let centre = p + inward * (0.5 * across);
    let radius = body.surface.closest(centre, across)?.distance_squared.sqrt();
    (radius > 0.5 * BOTH * across).then_some(Ball { centre, radius })
}

/// The ball that touches the skin at `p` and once more, on the side of `inward`.
fn shrunk(body: &Body, p: DVec3, inward: DVec3) -> Option<Ball> {
    let mut radius = 0.6;
    let mut touched: Option<DVec3> = None;
    for _ in 0..40 {
        let centre = p + inward * radius;
        let closest = body.surface.closest(centre, f64::INFINITY)?;
        let distance = closest.distance_squared.sqrt();
        let at_rim = closest.triangle >= body.outer.whole;
        if distance >= radius * (1.0 - 1e-3) {
            let apart = touched.map_or(0.0, |q| (p - centre).angle_between(q - centre));
            return (apart > APART).then_some(Ball { centre, radius: distance });
        }
        // The ball through p and the point that is in its way, with the same tangent at p.
        let to = closest.point - p;
        let next = to.length_squared() / (2.0 * inward.dot(to));
        if !(next > LEAST && next < radius) {
            return None;
        }
        if at_rim && next < RIM {
            return None;
        }
        touched = Some(closest.point);
        radius = next;
    }
    None
}
