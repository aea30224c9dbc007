//! Our vectors, rotations and shapes as Rapier's, and back: its glam is another version of ours.

use super::shape::{Shape, Solid};
use dermis_rig::glam::{DQuat, DVec3};
use rapier3d_f64::math::{Pose, Rotation, Vector};
use rapier3d_f64::prelude::{Group, InteractionGroups, InteractionTestMode, SharedShape};

pub(super) fn vector(v: DVec3) -> Vector {
    Vector::new(v.x, v.y, v.z)
}

pub(super) fn of_vector(v: Vector) -> DVec3 {
    DVec3::new(v.x, v.y, v.z)
}

pub(super) fn rotation(q: DQuat) -> Rotation {
    Rotation::from_xyzw(q.x, q.y, q.z, q.w).normalize()
}

pub(super) fn of_rotation(q: &Rotation) -> DQuat {
    DQuat::from_xyzw(q.x, q.y, q.z, q.w).normalize()
}

pub(super) fn pose(q: DQuat, at: DVec3) -> Pose {
    Pose { rotation: rotation(q), translation: vector(at) }
}

pub(super) fn of_pose(pose: &Pose) -> (DQuat, DVec3) {
    (of_rotation(&pose.rotation), of_vector(pose.translation))
}

/// A shape about the middle of its mass.
pub(super) fn shape(shape: &Shape) -> SharedShape {
    let at = |p: &DVec3| vector(*p - shape.middle);
    match &shape.solid {
        Solid::Hull { points, triangles } => {
            let points: Vec<Vector> = points.iter().map(at).collect();
            let hull = SharedShape::convex_mesh(points.clone(), triangles);
            hull.or_else(|| SharedShape::convex_hull(&points)).unwrap_or_else(|| {
                let radius = points.iter().map(|p| p.length()).fold(f64::MAX, f64::min);
                SharedShape::ball(radius)
            })
        }
        Solid::Capsule { ends: [a, b], radius } => SharedShape::capsule(at(a), at(b), *radius),
    }
}

/// Bodies meet the ground, which is in all groups, and not each other.
pub(super) fn meets_ground() -> InteractionGroups {
    InteractionGroups::new(Group::GROUP_2, Group::GROUP_1, InteractionTestMode::And)
}
