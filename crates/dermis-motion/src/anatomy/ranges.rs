//! How far the joints of a body turn, as limits in the axes of its bones.

use super::LimitFrom;
use super::frame::{BodyFrame, Stance};
use crate::body::{Part, Role, Side};
use crate::ik::{JointLimits, TwoBone};
use dermis_rig::glam::{DMat3, DVec3};
use dermis_rig::rotation::nearest_rotation;
use dermis_rig::{BoneIndex, BoneVec, Skeleton};

/// By how much a joint turns whose part of the body is not known, degrees.
pub const UNKNOWN: f64 = 45.0;

/// The limits of all joints, and where each comes from.
pub(super) fn limits(
    skeleton: &Skeleton,
    roles: &BoneVec<Option<Role>>,
    frame: &BodyFrame,
    moves: impl Fn(BoneIndex) -> bool,
) -> (BoneVec<JointLimits>, BoneVec<LimitFrom>) {
    let body = Body { skeleton, roles, frame };
    let each = skeleton.bones().map(|bone| {
        let still = (JointLimits::Locked, LimitFrom::Still);
        if !moves(bone) || skeleton.parents()[bone].is_none() {
            return still;
        }
        match roles[bone].map(|role| role.part) {
            Some(Part::Root | Part::Hips | Part::Twist | Part::End | Part::Helper) => still,
            None => (body.unknown(bone), LimitFrom::Unknown),
            // A range that a degenerate rest pose gives no axes for is not known.
            Some(_) => match body.range(bone) {
                Some(limits) => (limits, LimitFrom::Anatomy),
                None => (body.unknown(bone), LimitFrom::Unknown),
            },
        }
    });
    let (limits, from): (Vec<_>, Vec<_>) = each.unzip();
    (BoneVec::new(limits), BoneVec::new(from))
}

struct Body<'a> {
    skeleton: &'a Skeleton,
    roles: &'a BoneVec<Option<Role>>,
    frame: &'a BodyFrame,
}

/// Ranges of a joint, degrees.
struct Range {
    /// The direction that the bone bends towards, of the world at rest.
    towards: DVec3,
    bend: [f64; 2],
    /// Outward, or to the left; of a raised arm and a collar bone forward.
    lean: [f64; 2],
    /// About the bone.
    twist: [f64; 2],
}

impl Body<'_> {
    fn head(&self, bone: BoneIndex) -> DVec3 {
        self.skeleton.bind()[bone].translation
    }

    fn children(&self, bone: BoneIndex) -> impl Iterator<Item = BoneIndex> {
        self.skeleton.bones().filter(move |child| self.skeleton.parents()[*child] == Some(bone))
    }

    /// Where a bone points at rest: to the bone that goes on from it, or on from its parent.
    fn along(&self, bone: BoneIndex) -> DVec3 {
        let role = self.roles[bone];
        let side = role.map_or(Side::Middle, |role| role.side);
        let follows = [Part::Twist, Part::End, Part::Helper];
        let helper = |child: &BoneIndex| self.roles[*child].is_some_and(|role| follows.contains(&role.part));
        let all: Vec<BoneIndex> = self.children(bone).filter(|child| !helper(child)).collect();
        let goes_on = |child: &&BoneIndex| {
            self.roles[**child].is_some_and(|to| {
                let up = matches!(to.part, Part::Spine | Part::Neck | Part::Head);
                let from_middle = side == Side::Middle && (up || to.part == role.map_or(Part::Helper, |r| r.part));
                let from_side = side != Side::Middle && to.side == side && to.part != Part::Thumb;
                from_middle || from_side
            })
        };
        let mut on: Vec<DVec3> = all.iter().filter(goes_on).map(|child| self.head(*child)).collect();
        if on.is_empty() {
            on = all.iter().map(|child| self.head(*child)).collect();
        }
        let part = role.map(|role| role.part);
        let mean = on.iter().sum::<DVec3>() / on.len().max(1) as f64 - self.head(bone);
        let parent = self.skeleton.parents()[bone].map_or(DVec3::ZERO, |parent| self.head(bone) - self.head(parent));
        // A head points up whatever hangs on it: jaws, eyes, ears; a foot without toes points forward.
        let own = match part {
            Some(Part::Head) if self.frame.stance == Stance::Upright => self.frame.up,
            Some(Part::Jaw | Part::Eye) => self.frame.forward,
            Some(Part::Foot | Part::Toes) if on.is_empty() => self.frame.forward,
            _ if on.is_empty() => parent,
            _ => mean,
        };
        own.try_normalize().or_else(|| parent.try_normalize()).unwrap_or(self.frame.up)
    }

    /// By how much a bone is bent against its parent at rest, degrees, and the axis of that bend.
    fn rest_bend(&self, bone: BoneIndex, along: DVec3) -> (f64, Option<DVec3>) {
        let Some(parent) = self.skeleton.parents()[bone] else { return (0.0, None) };
        let above = self.head(bone) - self.head(parent);
        let axis = TwoBone::bend_axis(DVec3::ZERO, above, above + along);
        (above.angle_between(along).to_degrees(), axis.filter(|_| above.length() > 0.0))
    }

    /// The direction that the palm of a side faces, and the direction towards the thumb.
    fn palm(&self, side: Side) -> Option<(DVec3, DVec3)> {
        let bone = |part: Part, digit: u8| {
            let wanted =
                |role: &Role| role.part == part && role.side == side && role.digit == digit && role.segment == 0;
            self.skeleton.bones().find(|bone| self.roles[*bone].is_some_and(|role| wanted(&role)))
        };
        let hand = bone(Part::Hand, 0)?;
        let fingers: Vec<DVec3> = (1..=4).filter_map(|digit| bone(Part::Finger, digit)).map(|b| self.head(b)).collect();
        let (first, last) = (fingers.first()?, fingers.last()?);
        let thumbwards = match fingers.len() {
            1 => self.head(bone(Part::Thumb, 0)?) - *first,
            _ => *first - *last,
        };
        let along = fingers.iter().sum::<DVec3>() / fingers.len() as f64 - self.head(hand);
        let sign = if side == Side::Right { -1.0 } else { 1.0 };
        Some((sign * along.cross(thumbwards).try_normalize()?, thumbwards.try_normalize()?))
    }

    /// How many bones share the range of a part.
    fn sharing(&self, part: &[Part]) -> f64 {
        let shares = self.roles.iter().filter(|role| role.is_some_and(|role| part.contains(&role.part))).count();
        shares.max(1) as f64
    }

    /// The limits of a bone whose part is known.
    fn range(&self, bone: BoneIndex) -> Option<JointLimits> {
        let role = self.roles[bone]?;
        let BodyFrame { left, up, forward, stance } = *self.frame;
        let along = self.along(bone);
        let outward = if role.side == Side::Right { -left } else { left };
        let level = stance == Stance::Level;
        let half = |range: [f64; 2]| if level { range.map(|x| 0.5 * x) } else { range };
        let range = match role.part {
            Part::Spine => {
                let share = |range: [f64; 2]| half(range).map(|x| x / self.sharing(&[Part::Spine]));
                Range {
                    towards: self.frame.ventral(),
                    bend: share([-30.0, 75.0]),
                    lean: share([-35.0, 35.0]),
                    twist: share([-40.0, 40.0]),
                }
            }
            Part::Neck | Part::Head => {
                let share = |range: [f64; 2]| range.map(|x| x / self.sharing(&[Part::Neck, Part::Head]));
                Range {
                    towards: self.frame.ventral(),
                    bend: share([-50.0, 45.0]),
                    lean: share([-40.0, 40.0]),
                    twist: share([-65.0, 65.0]),
                }
            }
            Part::Clavicle | Part::Haunch if level => {
                Range { towards: forward, bend: [-12.0, 12.0], lean: [-8.0, 8.0], twist: [-5.0, 5.0] }
            }
            Part::Clavicle | Part::Haunch => {
                Range { towards: up, bend: [-10.0, 30.0], lean: [-20.0, 20.0], twist: [-8.0, 8.0] }
            }
            Part::UpperArm if level => {
                Range { towards: forward, bend: [-40.0, 45.0], lean: [-12.0, 15.0], twist: [-15.0, 15.0] }
            }
            Part::UpperArm => {
                // From hanging down an arm lifts by 150° with the collar bone's help, and goes 20° across the body; where it touches the body
                // its capsule stops it. Without the 20° an arm that hangs would lie on the rim, where it cannot swing.
                let lifted = along.angle_between(-up).to_degrees();
                let lift = [-20.0 - lifted, (150.0 - lifted).max(10.0)];
                if lifted > 25.0 {
                    Range { towards: up, bend: lift, lean: [-35.0, 100.0], twist: [-70.0, 70.0] }
                } else {
                    Range { towards: forward, bend: [-45.0, 140.0], lean: lift, twist: [-70.0, 70.0] }
                }
            }
            Part::Forearm | Part::Shin => return self.hinge(bone, role, along),
            Part::Hand => match self.palm(role.side) {
                Some((palm, _)) => {
                    Range { towards: palm, bend: [-60.0, 70.0], lean: [-20.0, 20.0], twist: [-35.0, 35.0] }
                }
                None if level => Range { towards: forward, bend: [-45.0, 25.0], lean: [-8.0, 8.0], twist: [-8.0, 8.0] },
                None => Range { towards: -up, bend: [-55.0, 65.0], lean: [-20.0, 20.0], twist: [-35.0, 35.0] },
            },
            Part::Palm => return cone(&self.own(bone), along, up, &[[-4.0, 4.0]; 3]),
            Part::Finger => {
                let (palm, _) = self.palm(role.side).unwrap_or((-up, forward));
                let bend = [[-15.0, 80.0], [0.0, 95.0], [0.0, 60.0], [0.0, 30.0]][usize::from(role.segment.min(3))];
                let lean = if role.segment == 0 { [-10.0, 10.0] } else { [0.0, 0.0] };
                Range { towards: palm, bend, lean, twist: [0.0, 0.0] }
            }
            Part::Thumb => {
                let (palm, thumbwards) = self.palm(role.side).unwrap_or((-up, forward));
                let bend = [[-10.0, 25.0], [-5.0, 40.0], [-5.0, 60.0], [0.0, 20.0]][usize::from(role.segment.min(3))];
                let lean = if role.segment == 0 { [-12.0, 12.0] } else { [0.0, 0.0] };
                // The thumb bends across the palm: away from its own side, and half as much towards the palm.
                Range { towards: (0.5 * palm - thumbwards).normalize_or(-up), bend, lean, twist: [0.0, 0.0] }
            }
            Part::Thigh if level => {
                Range { towards: forward, bend: [-35.0, 40.0], lean: [-8.0, 15.0], twist: [-12.0, 12.0] }
            }
            Part::Thigh => Range { towards: forward, bend: [-20.0, 110.0], lean: [-12.0, 42.0], twist: [-35.0, 35.0] },
            // A second segment of the foot, within the arch.
            Part::Foot if role.segment > 0 => return cone(&self.own(bone), along, up, &[[-4.0, 4.0]; 3]),
            Part::Foot if level => {
                Range { towards: forward, bend: [-35.0, 35.0], lean: [-5.0, 5.0], twist: [-5.0, 5.0] }
            }
            Part::Foot => Range { towards: up, bend: [-45.0, 20.0], lean: [-10.0, 10.0], twist: [-18.0, 18.0] },
            Part::Toes => Range { towards: up, bend: [-25.0, 50.0], lean: [0.0, 0.0], twist: [0.0, 0.0] },
            Part::Jaw => Range { towards: -up, bend: [0.0, 20.0], lean: [-3.0, 3.0], twist: [0.0, 0.0] },
            Part::Eye => Range { towards: up, bend: [-25.0, 25.0], lean: [-30.0, 30.0], twist: [0.0, 0.0] },
            Part::Ear => return cone(&self.own(bone), along, up, &[[-20.0, 20.0], [-20.0, 20.0], [-10.0, 10.0]]),
            Part::Tail => return cone(&self.own(bone), along, left, &[[-30.0, 30.0], [-30.0, 30.0], [-10.0, 10.0]]),
            Part::Face => return cone(&self.own(bone), along, up, &[[-6.0, 6.0]; 3]),
            Part::Root | Part::Hips | Part::Twist | Part::End | Part::Helper => return None,
        };
        // Bending takes the bone towards `towards`, about along × towards; leaning takes it outward or to the left.
        let bends = along.cross(range.towards).try_normalize().filter(|axis| axis.is_finite())?;
        let aim = match role.part {
            Part::UpperArm if range.towards == up => forward,
            Part::Clavicle | Part::Haunch if !level => forward,
            _ => outward,
        };
        // The second axis of the cone is along × side: a positive lean takes the bone towards (along × side) × along = side.
        let lean = if bends.dot(aim) >= 0.0 { range.lean } else { [-range.lean[1], -range.lean[0]] };
        cone(&self.own(bone), along, bends, &[range.bend, lean, range.twist])
    }

    /// An elbow or a knee: it bends in one plane; a forearm twists as well, by what the hand leaves.
    fn hinge(&self, bone: BoneIndex, role: Role, along: DVec3) -> Option<JointLimits> {
        let BodyFrame { forward, stance, .. } = *self.frame;
        let (rest, bent) = self.rest_bend(bone, along);
        let elbow = role.part == Part::Forearm;
        let plane = along.cross(if elbow { forward } else { -forward }).try_normalize();
        // Rigs bend elbows and knees by a few degrees to say which way they go; more than 12° says it better than the body does.
        // An arm that points forward has no plane of its own.
        let trusted = rest > 12.0 || plane.is_none_or(|plane| plane.length() < 0.5);
        let axis = if trusted { bent.or(plane) } else { plane }?;
        // A limb that is bent by 90° at rest, as a hind leg, is not made to be straight.
        let straight = rest.min(if stance == Stance::Level { 35.0 } else { 45.0 });
        let most = if elbow { 145.0 } else { 135.0 };
        let bend = match stance {
            Stance::Upright => [-straight, (most - rest).max(20.0)],
            Stance::Level => [-straight, (most - rest).clamp(20.0, 50.0)],
        };
        let twist = if elbow && stance == Stance::Upright { [-35.0, 35.0] } else { [0.0, 0.0] };
        cone(&self.own(bone), along, axis, &[bend, [0.0, 0.0], twist])
    }

    /// A joint whose part is not known: every direction alike, less on a head, where it moves a face.
    fn unknown(&self, bone: BoneIndex) -> JointLimits {
        let face = std::iter::successors(self.skeleton.parents()[bone], |b| self.skeleton.parents()[*b])
            .any(|above| self.roles[above].is_some_and(|role| role.part == Part::Head));
        let most = if face { 8.0 } else { UNKNOWN };
        let along = self.along(bone);
        let side = along.any_orthonormal_vector();
        let twist = if face { 0.0 } else { 0.5 * most };
        let limits = cone(&self.own(bone), along, side, &[[-most, most], [-most, most], [-twist, twist]]);
        limits.unwrap_or(JointLimits::Locked)
    }

    /// From the world at rest to a bone's own axes.
    fn own(&self, bone: BoneIndex) -> DMat3 {
        nearest_rotation(&self.skeleton.bind()[bone].matrix3).transpose()
    }
}

/// A cone from directions of the world and degrees.
fn cone(own: &DMat3, along: DVec3, side: DVec3, degrees: &[[f64; 2]; 3]) -> Option<JointLimits> {
    let [bend, lean, twist] = degrees.map(|range| range.map(f64::to_radians));
    JointLimits::cone(*own * along, *own * side, [bend, lean], twist).ok()
}
