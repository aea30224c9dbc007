//! The poses to make examples of: each turns one joint.

use dermis_rig::glam::{DAffine3, DQuat, DVec3};
use dermis_rig::{BoneIndex, Frame, Motion, Skeleton, WorldPose};

/// How far a joint turns.
#[derive(Clone, Debug, PartialEq)]
pub struct JointLimits {
    /// The bone whose joint it is.
    pub bone: BoneIndex,
    /// The smallest and the largest angle about each of the bone's own axes, degrees.
    pub degrees: [(f64, f64); 3],
}

/// What a list of poses holds.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanSettings {
    /// Every joint turns this far either way about each axis of its bone, degrees; 45 by default: far enough that vertices move by
    /// more than the rounding of a scan, near enough for the joints of most characters.
    pub degrees: f64,
    /// Joints with limits of their own.
    pub limits: Vec<JointLimits>,
    /// The bones whose joints turn. `None` takes all but a lone root, which would move the character as a whole.
    pub bones: Option<Vec<BoneIndex>>,
}

impl Default for PlanSettings {
    fn default() -> Self {
        Self { degrees: 45.0, limits: Vec::new(), bones: None }
    }
}

/// Angles below this, in degrees, make no pose.
const LEAST: f64 = 0.5;

/// Returns the rest pose, then for each joint and axis the smallest and the largest angle, with all other joints at rest. There
/// is one pose per second; frames are called "BONE +x 45".
///
/// Axes are the bone's own at rest, made orthonormal. Everything below the joint turns with it about the joint's place. An
/// angle within half a degree of zero makes no pose.
pub fn plan(skeleton: &Skeleton, settings: &PlanSettings) -> Motion {
    let roots = skeleton.parents().iter().filter(|p| p.is_none()).count();
    let wanted = |bone: BoneIndex| match &settings.bones {
        Some(bones) => bones.contains(&bone),
        None => roots > 1 || skeleton.parents()[bone].is_some(),
    };
    let mut frames = Vec::new();
    let mut push = |label: String, pose: WorldPose| {
        frames.push(Frame { label, time: Some(frames.len() as f64), pose });
    };
    push("rest".into(), WorldPose::new(skeleton.bind().to_vec()));
    for bone in skeleton.bones().filter(|&bone| wanted(bone)) {
        let own = settings.limits.iter().find(|l| l.bone == bone).map(|l| l.degrees);
        let limits = own.unwrap_or([(-settings.degrees, settings.degrees); 3]);
        let axes = DQuat::from_mat3(&orthonormal(&skeleton.bind()[bone]));
        for (axis, (low, high)) in limits.into_iter().enumerate() {
            for degrees in [high, low].into_iter().filter(|d| d.is_finite() && d.abs() >= LEAST) {
                let name = format!(
                    "{} {}{} {}",
                    skeleton.names()[bone],
                    if degrees > 0.0 { '+' } else { '-' },
                    ['x', 'y', 'z'][axis],
                    degrees.abs()
                );
                push(name, turned(skeleton, bone, axes * DVec3::AXES[axis], degrees.to_radians()));
            }
        }
    }
    Motion { name: "single joints".into(), frames }
}

/// Returns the bind pose with a joint and everything below it turned about the joint's place.
fn turned(skeleton: &Skeleton, bone: BoneIndex, axis: DVec3, angle: f64) -> WorldPose {
    let place = skeleton.bind()[bone].translation;
    let turn = DQuat::from_axis_angle(axis.normalize_or(DVec3::X), angle);
    let turn = DAffine3::from_rotation_translation(turn, place - turn * place);
    let mut below = vec![false; skeleton.len()];
    for b in skeleton.bones() {
        below[b.get()] = b == bone || skeleton.parents()[b].is_some_and(|p| below[p.get()]);
    }
    let pose = |b: BoneIndex| if below[b.get()] { turn * skeleton.bind()[b] } else { skeleton.bind()[b] };
    WorldPose::new(skeleton.bones().map(pose).collect())
}

/// The axes of a bone without scale, shear and reflection.
fn orthonormal(bind: &DAffine3) -> dermis_rig::glam::DMat3 {
    let x = bind.matrix3.x_axis.normalize_or(DVec3::X);
    let y = (bind.matrix3.y_axis - x * x.dot(bind.matrix3.y_axis)).normalize_or(x.any_orthonormal_vector());
    dermis_rig::glam::DMat3::from_cols(x, y, x.cross(y))
}
