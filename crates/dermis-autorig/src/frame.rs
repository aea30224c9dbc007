//! How a template may stand in a body: turned, scaled, and, for a template without up and down, mirrored.

use crate::body::Body;
use crate::medial::Ball;
use crate::symmetry::Symmetry;
use crate::template::{Frames, Stance, Template};
use dermis_rig::glam::{DMat3, DVec3};

/// A map from a template to a body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frame {
    /// Body from template: a rotation, or a rotation and a mirror image.
    pub turn: DMat3,
    /// Lengths of the body over those of the template.
    pub scale: f64,
    /// Where the template's origin goes.
    pub origin: DVec3,
}

impl Frame {
    /// Where a place of the template goes.
    pub fn place(&self, p: DVec3) -> DVec3 {
        self.turn * p * self.scale + self.origin
    }
}

/// The frames that are tried for a stance: both ways along the plane of symmetry, and across it if it is not trusted; or all
/// rotations between principal axes. `front` is the way that the character faces, if the user says it.
pub fn frames(
    template: &Template,
    stance: &Stance,
    body: &Body,
    balls: &[Ball],
    symmetry: Option<&Symmetry>,
    front: Option<DVec3>,
) -> Vec<Frame> {
    let turns = match (template.frames, symmetry) {
        (Frames::Upright, Some(symmetry)) => upright(symmetry, front),
        _ => any(balls),
    };
    turns.into_iter().map(|turn| scaled(turn, stance, body)).collect()
}

fn upright(symmetry: &Symmetry, front: Option<DVec3>) -> Vec<DMat3> {
    let facing = |forward: DVec3| DMat3::from_cols(DVec3::Y.cross(forward), DVec3::Y, forward);
    if let Some(front) = front.map(|f| DVec3::new(f.x, 0.0, f.z)).and_then(DVec3::try_normalize) {
        // Along the plane of symmetry, if that is near.
        let along = symmetry.normal.cross(DVec3::Y);
        let along = along * along.dot(front).signum();
        return vec![facing(if along.dot(front) > 0.9 { along } else { front })];
    }
    let along = symmetry.normal.cross(DVec3::Y);
    let mut ways = vec![along, -along];
    if symmetry.trust < 0.7 {
        ways.extend([symmetry.normal, -symmetry.normal]);
    }
    ways.into_iter().map(facing).collect()
}

/// The rotations, and rotations with a mirror image, between principal axes.
fn any(balls: &[Ball]) -> Vec<DMat3> {
    let weight: f64 = balls.iter().map(|b| b.radius).sum();
    let middle = balls.iter().map(|b| b.centre * b.radius).sum::<DVec3>() / weight.max(1e-12);
    let mut moments = DMat3::ZERO;
    for ball in balls {
        let d = ball.centre - middle;
        moments += DMat3::from_cols(d * d.x, d * d.y, d * d.z) * ball.radius;
    }
    let axes = dermis_rig::rotation::principal_axes(&moments).map(|(_, axis)| axis);
    let mut turns = Vec::new();
    // The template's longest axis is Y; near the longest axis of the body, others cannot be.
    for (x, y, z) in [(1, 0, 2), (2, 0, 1)] {
        for signs in 0..8_u32 {
            let sign = |k: u32| if signs >> k & 1 == 1 { -1.0 } else { 1.0 };
            turns.push(DMat3::from_cols(axes[x] * sign(0), axes[y] * sign(1), axes[z] * sign(2)));
        }
    }
    turns
}

/// The scale and origin that lay the box of the template on that of the body, apart from the arms' span for templates that
/// stand upright.
fn scaled(turn: DMat3, stance: &Stance, body: &Body) -> Frame {
    let start = (DVec3::INFINITY, DVec3::NEG_INFINITY);
    let fold = |points: &mut dyn Iterator<Item = DVec3>| points.fold(start, |(low, high), p| (low.min(p), high.max(p)));
    let mut all = stance.places.iter().chain(stance.ends.iter().flatten()).copied();
    let (low, high) = fold(&mut all);
    let back = turn.transpose();
    let (body_low, body_high) = fold(&mut body.triangles.iter().flatten().map(|n| back * body.nodes[*n as usize]));
    let (size, body_size) = (high - low, body_high - body_low);
    let tall = |size: DVec3| DVec3::new(0.3 * size.x, size.y, size.z).length();
    let scale = tall(body_size) / tall(size).max(1e-12);
    let origin = turn * (0.5 * (body_low + body_high) - 0.5 * (low + high) * scale);
    Frame { turn, scale, origin }
}
