//! Bodies against closed forms: pendulums, falls, bounces, springs, limits, and what a scene may say wrongly.

mod fall;
mod joints;
mod pendulum;
mod wrong;

use crate::controls::Value;
use crate::dynamics_spec::{BodySpec, DynamicsSpec, LimitChoice};
use crate::play_error::PlayError;
use crate::player::{Played, Player};
use crate::scene::{Axes, Clock, Drive, From, Scene, Turn};
use crate::turn::EulerOrder;
use dermis_rig::glam::{DAffine3, DMat3, DVec3};
use dermis_rig::{BoneIndex, Influences, Mesh, Rig, Skeleton, silent};

const GRAVITY: f64 = 9.81;

/// A rig of bars: the bone `root`, without skin, and below it bars of a size that hang one under the other, each with its head in the
/// middle of its upper end. The root's head is `height` above the ground.
pub(super) fn bars(count: usize, size: DVec3, height: f64) -> Rig {
    let mut names = vec!["root".to_owned()];
    names.extend((0..count).map(|bar| format!("bar {bar}")));
    let parents = (0..=count).map(|bone| bone.checked_sub(1).map(BoneIndex::new)).collect();
    let head = |bar: usize| DVec3::Y * (height - size.y * bar as f64);
    let bind = (0..=count).map(|bone| DAffine3::from_translation(head(bone.saturating_sub(1)))).collect();
    let skeleton = Skeleton::new(names, parents, bind).unwrap();
    let (mut mesh, mut rows) = (Mesh::default(), Vec::new());
    for bar in 0..count {
        let first = mesh.positions.len() as u32;
        for corner in 0..8 {
            let at = DVec3::new(f64::from(corner & 1) - 0.5, -f64::from(corner >> 1 & 1), f64::from(corner >> 2) - 0.5);
            mesh.positions.push(head(bar) + at * size);
            rows.push(vec![(BoneIndex::new(bar + 1), 1.0)]);
        }
        // Outward faces of a box whose corners are numbered by their bits; the second bit counts downward.
        let faces = [[0, 4, 6, 2], [1, 3, 7, 5], [0, 1, 5, 4], [2, 6, 7, 3], [0, 2, 3, 1], [4, 5, 7, 6]];
        for [a, b, c, d] in faces.map(|face| face.map(|corner| first + corner)) {
            mesh.triangles.extend([[a, b, c], [a, c, d]]);
        }
    }
    Rig::new(mesh, skeleton, Some(Influences::from_rows(rows).unwrap())).unwrap()
}

pub(super) fn body(bones: &[&str]) -> BodySpec {
    BodySpec {
        bones: bones.iter().map(|name| (*name).to_owned()).collect(),
        below: false,
        except: vec![],
        density: 1000.0,
        gravity: 1.0,
        free: false,
        weight: Value::Number(1.0),
        spring: None,
        damping: 0.0,
        limits: LimitChoice::Free,
        friction: 0.5,
        bounce: 0.0,
        squash: None,
    }
}

pub(super) fn dynamics(bodies: Vec<BodySpec>) -> DynamicsSpec {
    DynamicsSpec { rate: DynamicsSpec::RATE, gravity: -DVec3::Y * GRAVITY, air: None, ground: None, bodies }
}

pub(super) fn scene(seconds: f64, rate: f64, drives: Vec<Drive>, dynamics: DynamicsSpec) -> Scene {
    Scene {
        name: "test".into(),
        clock: Clock::new(0.0, seconds, rate).unwrap(),
        controls: vec![],
        maps: vec![],
        layers: vec![],
        drives,
        shapes: vec![],
        channels: vec![],
        limits: vec![],
        goals: vec![],
        dynamics: Some(dynamics),
    }
}

/// A bone turned by degrees about z and moved.
pub(super) fn drive(bone: &str, degrees: Value, shift: [Value; 3]) -> Drive {
    Drive {
        bones: bone.into(),
        from: From::Layers,
        turn: Some(Turn::Euler([Value::Number(0.0), Value::Number(0.0), degrees], EulerOrder::XYZ)),
        axes: Axes::Own,
        shift: Some(shift),
        size: None,
    }
}

pub(super) fn still() -> [Value; 3] {
    [0.0; 3].map(Value::Number)
}

pub(super) fn text(expression: &str) -> Value {
    Value::Expression(crate::Expression::new(expression).unwrap())
}

pub(super) fn play(scene: &Scene, rig: &Rig) -> Result<Played, PlayError> {
    let player = Player::new(scene, rig.skeleton(), &[], &[])?.with_bodies(rig)?;
    player.play(&silent)
}

/// A bone's transforms over the frames.
pub(super) fn of_bone(played: &Played, bone: usize) -> Vec<DAffine3> {
    played.motion.frames.iter().map(|frame| frame.pose.bones.as_slice()[bone]).collect()
}

/// The angle of a bar from hanging straight down, about z, radians.
pub(super) fn angle(world: &DAffine3) -> f64 {
    let down = world.matrix3 * -DVec3::Y;
    down.x.atan2(-down.y)
}

/// The inertia of a bar about the middle of its upper end, about z, over its mass.
pub(super) fn about_end(size: DVec3) -> f64 {
    (size.x * size.x + size.y * size.y) / 12.0 + 0.25 * size.y * size.y
}

pub(super) fn is_rotation(m: &DMat3) -> bool {
    (*m * m.transpose()).abs_diff_eq(DMat3::IDENTITY, 1e-9)
}
