//! The centre line of a limb: from its tip to where it leaves the trunk, with its cross sections.
//!
//! The way through the medial graph is drawn out to the tip of the shape and smoothed. At every station, rays across the line
//! measure how far the skin is; the middle of the cross section that they span replaces the station. A limb leaves the trunk
//! where rays across it go far: through the crotch into the other leg, below the armpit into the side.

use crate::field::Field;
use crate::graph::Graph;
use crate::template::TemplateJoint;
use dermis_motion::anatomy::Part;
use dermis_rig::glam::DVec3;

/// A centre line from a tip inwards, by stations at equal steps.
#[derive(Clone, Debug)]
pub struct Limb {
    /// Middles of cross sections, from the tip.
    pub line: Vec<DVec3>,
    /// Median distances of the skin across the line.
    pub radius: Vec<f64>,
    /// Distance between stations.
    pub step: f64,
    /// The station where the limb leaves the trunk; the last, if it nowhere does.
    pub root: usize,
    /// The last station before the line turns to the middle of the trunk.
    pub base: usize,
    /// The radius of the limb there.
    pub root_radius: f64,
    /// The direction from the limb into the trunk there.
    pub inwards: DVec3,
}

/// What a limb is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimbShape {
    /// An arm, a leg, a tail: it leaves the trunk where it opens to it.
    Rod,
    /// A head on a neck: it leaves the trunk where the neck widens.
    Bulb,
    /// A finger: it leaves the palm at the web, which for the outer ones is on one side.
    Finger,
}

/// Distance between stations.
const STEP: f64 = 0.006;
/// Rays across a station.
const RAYS: usize = 24;
/// A ray this many times as long as the median counts as open: 1.6 is reached by the calf, 2.5 not by a crotch.
const OPEN: f64 = 2.0;
/// The share of open rays at which a limb leaves the trunk.
const LEAVING: f64 = 0.2;
/// The same of a finger: a web as thick as the finger, a diameter off, is seen under 53°.
const LEAVING_FINGER: f64 = 0.12;
/// A neck ends where it is this many times as wide as where it is narrowest.
const WIDENS: f64 = 1.3;
/// The part of the whole way, from the tip, in which a limb does not leave the trunk: feet, hands and skulls turn there.
const OUTER: f64 = 0.3;

impl LimbShape {
    /// The shape of the limb that ends with a joint.
    pub fn of(joint: &TemplateJoint) -> Self {
        match joint.part {
            _ if joint.hints.is_bulb => Self::Bulb,
            Some(Part::Finger) => Self::Finger,
            _ => Self::Rod,
        }
    }
}

impl Limb {
    /// The limb at the end of a way through the graph, from the trunk to the tip.
    pub fn new(way: &[usize], graph: &Graph, field: &Field, shape: LimbShape) -> Self {
        let mut points: Vec<DVec3> = way.iter().rev().map(|b| graph.balls[*b].centre).collect();
        let radius = way.last().map_or(0.01, |b| graph.balls[*b].radius);
        points.insert(0, tip(&points, radius, field));
        Self::along(&points, field, shape)
    }

    /// The limb along a line of points, from the tip.
    pub fn along(points: &[DVec3], field: &Field, shape: LimbShape) -> Self {
        let mut line = resampled(points, STEP);
        let mut sections = Vec::new();
        for _ in 0..3 {
            line = smooth(&line, 6);
            sections = (0..line.len()).map(|s| section(&line, s, field)).collect::<Vec<_>>();
            for s in 1..line.len() {
                let moved = sections[s].middle - line[s];
                // A section may not throw the line about: at the trunk it is no section of the limb.
                line[s] += moved.clamp_length_max(0.7 * sections[s].median);
            }
            line = resampled(&smooth(&line, 3), STEP);
        }
        sections.clear();
        sections.extend((0..line.len()).map(|s| section(&line, s, field)));
        let radius: Vec<f64> = sections.iter().map(|s| s.median).collect();
        let last = line.len() - 1;
        let first = ((OUTER * line.len() as f64) as usize).min(last);
        let reference = |s: usize| {
            let mut near: Vec<f64> = radius[s.saturating_sub(12)..s.max(1)].to_vec();
            near.sort_by(f64::total_cmp);
            near[near.len() / 2]
        };
        let leaves = |s: usize| {
            let limit = OPEN * reference(s).max(1e-4);
            let open = sections[s].rays.iter().filter(|r| **r > limit).count();
            let leaving = if shape == LimbShape::Finger { LEAVING_FINGER } else { LEAVING };
            open as f64 >= leaving * RAYS as f64
        };
        let first = if shape == LimbShape::Bulb { neck(&radius).max(first) } else { first };
        let widens = |s: usize| shape == LimbShape::Bulb && radius[s] > WIDENS * radius[first];
        let root = (first..=last).find(|s| widens(*s) || (leaves(*s) && leaves((*s + 2).min(last)))).unwrap_or(last);
        let root_radius = reference(root.max(1));
        // Near the trunk the line turns to its middle: the limb goes on as it comes there.
        let radii = |count: f64| ((count * root_radius / STEP) as usize).max(2);
        let base = root.saturating_sub(radii(1.0)).max(1);
        let inwards = (line[base] - line[base.saturating_sub(radii(2.5))]).normalize_or(DVec3::Y);
        Self { line, radius, step: STEP, root, base, root_radius, inwards }
    }

    /// The point `depth` beyond the root, in the trunk: straight on from the limb.
    pub fn beyond(&self, depth: f64) -> DVec3 {
        self.line[self.base] + self.inwards * (depth + (self.root - self.base) as f64 * self.step)
    }

    /// The length from the tip to the root.
    pub fn length(&self) -> f64 {
        self.root as f64 * self.step
    }

    /// The point at a distance from the tip; beyond the root straight on.
    pub fn at(&self, distance: f64) -> DVec3 {
        let s = distance / self.step;
        if s >= self.base as f64 {
            return self.beyond(distance - self.length());
        }
        let below = (s.max(0.0) as usize).min(self.line.len() - 2);
        self.line[below].lerp(self.line[below + 1], s.max(0.0) - below as f64)
    }

    /// The radius at a distance from the tip.
    pub fn radius_at(&self, distance: f64) -> f64 {
        let s = (distance / self.step).max(0.0) as usize;
        self.radius[s.min(self.root)]
    }
}

/// The narrowest station between the thickest one of the outer half, a skull, and the trunk.
fn neck(radius: &[f64]) -> usize {
    // One station on an inner wall, where shells pass through each other, has no width.
    let middling = |s: usize| {
        let mut near: Vec<f64> = radius[s.saturating_sub(2)..(s + 3).min(radius.len())].to_vec();
        near.sort_by(f64::total_cmp);
        near[near.len() / 2]
    };
    let radius: Vec<f64> = (0..radius.len()).map(middling).collect();
    let thickest = (0..radius.len() / 2).max_by(|a, b| radius[*a].total_cmp(&radius[*b])).unwrap_or(0);
    (thickest..radius.len()).min_by(|a, b| radius[*a].total_cmp(&radius[*b])).unwrap_or(thickest)
}

/// Where the shape ends beyond the first point, going on as the line comes.
fn tip(points: &[DVec3], radius: f64, field: &Field) -> DVec3 {
    let before = points.iter().find(|p| p.distance(points[0]) > 1.5 * radius).or(points.last());
    let direction = before.map_or(DVec3::Y, |b| (points[0] - *b).normalize_or(DVec3::Y));
    points[0] + direction * field.exit(points[0], direction, 4.0 * radius)
}

/// Points at equal steps along a line; at least four.
fn resampled(points: &[DVec3], step: f64) -> Vec<DVec3> {
    let total: f64 = points.windows(2).map(|w| w[0].distance(w[1])).sum();
    let count = ((total / step).floor() as usize).max(3);
    let step = total / count as f64;
    let (mut found, mut done, mut at) = (vec![points[0]], 0.0, 0);
    for k in 1..=count {
        let wanted = k as f64 * step;
        while at + 2 < points.len() && done + points[at].distance(points[at + 1]) < wanted {
            done += points[at].distance(points[at + 1]);
            at += 1;
        }
        let (a, b) = (points[at], points[(at + 1).min(points.len() - 1)]);
        let along = ((wanted - done) / a.distance(b).max(1e-12)).min(1.0);
        found.push(a.lerp(b, along));
    }
    found
}

/// Averages neighbours, its ends apart.
fn smooth(line: &[DVec3], rounds: usize) -> Vec<DVec3> {
    let mut line = line.to_vec();
    for _ in 0..rounds {
        let before = line.clone();
        for s in 1..line.len() - 1 {
            line[s] = 0.25 * before[s - 1] + 0.5 * before[s] + 0.25 * before[s + 1];
        }
    }
    line
}

struct Section {
    middle: DVec3,
    median: f64,
    rays: Vec<f64>,
}

/// The cross section of a line at a station.
fn section(line: &[DVec3], s: usize, field: &Field) -> Section {
    let reach = 3;
    let along = line[(s + reach).min(line.len() - 1)] - line[s.saturating_sub(reach)];
    let along = along.normalize_or(DVec3::Y);
    let (u, v) = along.any_orthonormal_pair();
    let directions: Vec<DVec3> = (0..RAYS)
        .map(|k| {
            let turn = std::f64::consts::TAU * k as f64 / RAYS as f64;
            u * turn.cos() + v * turn.sin()
        })
        .collect();
    let rays: Vec<f64> = directions.iter().map(|d| field.exit(line[s], *d, 0.5)).collect();
    let mut sorted = rays.clone();
    sorted.sort_by(f64::total_cmp);
    let median = sorted[RAYS / 2];
    // The middle of the polygon of ray ends, long rays cut: its triangles weighed by area.
    let (mut sum, mut area) = (DVec3::ZERO, 0.0);
    let ends: Vec<DVec3> = directions.iter().zip(&rays).map(|(d, r)| *d * r.min(1.8 * median)).collect();
    for k in 0..RAYS {
        let (a, b) = (ends[k], ends[(k + 1) % RAYS]);
        let own = a.cross(b).length();
        sum += own * (a + b) / 3.0;
        area += own;
    }
    let middle = line[s] + if area > 1e-14 { sum / area } else { DVec3::ZERO };
    Section { middle, median, rays }
}
