//! From a pose of the source to one of the target: rotations since rest, and where the roots go.
//!
//! With M = T B⁻¹ and D its rotation, bone k of the target turns by R_k = G D G⁻¹ A_k since its own rest: D is what the partner turned since
//! its rest, in the world; G turns the source to face as the target does; A_k brings the rest direction of the target's bone into that of its
//! partner, by the shortest way, so that an arm from a T-pose hangs as the source's from an A-pose does. Arms, legs, fingers and tails are aligned;
//! hips, spine, neck, head, collar bones, feet and toes are not: there rest poses differ by build, not by posture, and a foot that is flat
//! at rest shall be flat where the source's is.
//!
//! A bone without partner goes with its parent. Where bones stand follows from the target's own lengths; only hips and roots are placed, by
//! p = q + s G (p' − q'), with q, q' their places at rest, p' the partner's, and s the ratio of leg lengths. A bone whose partner has the same name
//! and hangs on a pair of the same name also takes over what the source's joint slides, times s.

use super::body::Body;
use super::pairs::{Pairs, Partner, facing};
use crate::body::{Limb, Part, Side};
use dermis_rig::BoneIndex;
use dermis_rig::WorldPose;
use dermis_rig::glam::{DAffine3, DQuat, DVec3};
use dermis_rig::rotation::{nearest_rotation, quat_from_matrix, swing_twist};

/// How much of the height of a character its lowest joint may be off the ground at rest and still stand on it.
const STANDS: f64 = 0.05;

/// Everything that is the same in all frames.
pub(super) struct Transfer<'a> {
    pub source: &'a Body,
    pub target: &'a Body,
    pub partners: &'a [Option<Partner>],
    /// G.
    pub turn: DQuat,
    /// s.
    pub scale: f64,
    /// Metres that the two rest poses are lifted to stand on the ground of the motion.
    lifts: (f64, f64),
    /// A_k.
    aligned: Vec<DQuat>,
    places: Vec<Place>,
    spreads: Vec<Option<Spread>>,
}

/// Where a bone's head comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// From the bone above it, as at rest.
    Follows,
    /// From the partner's place in the world.
    Placed,
    /// From the bone above it, and what the partner slides.
    Slides,
}

/// A share of the twist of a limb for a bone along it.
#[derive(Clone, Copy, Debug)]
struct Spread {
    /// The bone that is twisted along, and the one that twists: below it for a forearm, above it for an upper arm.
    limb: usize,
    other: Option<usize>,
    /// Whether `other` is below.
    is_below: bool,
    /// Along the limb, at rest.
    axis: DVec3,
    share: f64,
}

/// A pose of the source, as it is read.
pub(super) struct SourcePose {
    /// D of every bone of the source's tree.
    pub turns: Vec<DQuat>,
    pub heads: Vec<DVec3>,
}

impl SourcePose {
    /// From joint-to-world matrices in the order of the source's own skeleton.
    pub fn new(source: &Body, pose: &WorldPose) -> Self {
        let bones: Vec<BoneIndex> = source.skeleton.bones().collect();
        let world = |bone: &BoneIndex| pose.bones[BoneIndex::new(source.original[bone.get()])];
        let turn = |bone: &BoneIndex| {
            quat_from_matrix(&nearest_rotation(&(world(bone) * source.skeleton.inverse_bind()[*bone]).matrix3))
        };
        Self {
            turns: bones.iter().map(turn).collect(),
            heads: bones.iter().map(|bone| world(bone).translation).collect(),
        }
    }
}

impl<'a> Transfer<'a> {
    /// `poses` are those of the motion; they say where the ground is if the source's rest pose does not.
    pub fn new(source: &'a Body, target: &'a Body, pairs: &'a Pairs, poses: &[SourcePose]) -> Self {
        let partners = &pairs.partners[..];
        let turn = DQuat::from_rotation_y(facing(source, target, partners));
        let scale = scale(source, target, partners);
        let lifts = lifts(source, target, scale, poses);
        let mut made = Self {
            source,
            target,
            partners,
            turn,
            scale,
            lifts,
            aligned: vec![DQuat::IDENTITY; target.len()],
            places: places(source, target, partners),
            spreads: (0..target.len()).map(|bone| spread(target, partners, bone)).collect(),
        };
        made.align();
        made
    }

    /// Where the source's heads go if they are placed: q + s G (p − q'), for the pair's own rest places.
    pub fn placed(&self, bone: usize, partner_at: DVec3, partner: usize) -> DVec3 {
        let (rest, theirs) = (self.target.heads[bone], self.source.heads[partner]);
        let (lift, their_lift) = (DVec3::Y * self.lifts.1, DVec3::Y * self.lifts.0);
        rest + lift + self.scale * (self.turn * (partner_at - theirs - their_lift))
    }

    /// Bone transforms M of the target's tree, rest world to posed world.
    pub fn pose(&self, pose: &SourcePose) -> Vec<DAffine3> {
        let turns = self.turns(pose);
        let mut bones: Vec<DAffine3> = Vec::with_capacity(turns.len());
        for (bone, turn) in turns.iter().enumerate() {
            let rest = self.target.heads[bone];
            let above = self.target.parents[bone].map_or(DAffine3::IDENTITY, |parent| bones[parent]);
            let head = match (self.places[bone], self.partners[bone]) {
                (Place::Placed, Some(partner)) => {
                    let [a, b] = [partner.bone, partner.next].map(|other| self.placed(bone, pose.heads[other], other));
                    a.lerp(b, partner.part)
                }
                (Place::Slides, Some(partner)) => {
                    above.transform_point3(rest) + self.slide(bone, partner, &turns, pose)
                }
                _ => above.transform_point3(rest),
            };
            bones.push(DAffine3::from_rotation_translation(*turn, head - *turn * rest));
        }
        bones
    }

    /// R_k.
    fn turns(&self, pose: &SourcePose) -> Vec<DQuat> {
        let mut turns: Vec<DQuat> = Vec::with_capacity(self.target.len());
        for (bone, partner) in self.partners.iter().enumerate() {
            turns.push(match (partner, self.target.parents[bone]) {
                (Some(partner), _) => {
                    let turned = pose.turns[partner.bone].slerp(pose.turns[partner.next], partner.part);
                    (self.turn * turned * self.turn.conjugate() * self.aligned[bone]).normalize()
                }
                (None, Some(parent)) => turns[parent],
                (None, None) => DQuat::IDENTITY,
            });
        }
        for bone in 0..turns.len() {
            if self.partners[bone].is_some() {
                continue;
            }
            if let Some(spread) = self.spreads[bone] {
                turns[bone] = spread.turn(&turns);
            } else if let Some(parent) = self.target.parents[bone] {
                turns[bone] = turns[parent];
            }
        }
        turns
    }

    /// What the source's joint slides against the bone above it, seen at rest, in the target's pose.
    fn slide(&self, bone: usize, partner: Partner, turns: &[DQuat], pose: &SourcePose) -> DVec3 {
        let (Some(parent), Some(theirs)) = (self.target.parents[bone], self.source.parents[partner.bone]) else {
            return DVec3::ZERO;
        };
        let rest = self.source.heads[partner.bone] - self.source.heads[theirs];
        let slid = pose.turns[theirs].conjugate() * (pose.heads[partner.bone] - pose.heads[theirs]) - rest;
        turns[parent] * (self.aligned[parent].conjugate() * (self.turn * slid)) * self.scale
    }

    /// Finds A_k, parents first.
    fn align(&mut self) {
        for bone in 0..self.target.len() {
            let above = self.target.parents[bone].map_or(DQuat::IDENTITY, |parent| self.aligned[parent]);
            let Some(partner) = self.partners[bone] else {
                self.aligned[bone] = above;
                continue;
            };
            let limb = self.target.roles[bone].map(|role| role.part);
            let direction = || self.directions(bone, partner);
            self.aligned[bone] = match limb {
                Some(Part::UpperArm | Part::Forearm | Part::Thigh | Part::Shin) => {
                    direction().map_or(above, |(own, theirs)| onto(own, theirs))
                }
                // A hand points along its fingers, a finger to its next bone; the last one goes with the one before.
                Some(Part::Tail | Part::Hand | Part::Thumb | Part::Finger) => {
                    direction().map_or(above, |(own, theirs)| onto(own, theirs))
                }
                // Of two trees without names, everything that goes on to one bone and ends.
                None if self.is_in_a_branch(bone) => direction().map_or(above, |(own, theirs)| onto(own, theirs)),
                _ => DQuat::IDENTITY,
            };
        }
    }

    /// Directions at rest of a bone and of its partner, the latter turned by G: to the mean of the bones below it that are paired with bones below
    /// the partner.
    fn directions(&self, bone: usize, partner: Partner) -> Option<(DVec3, DVec3)> {
        let (mut own, mut theirs, mut count) = (DVec3::ZERO, DVec3::ZERO, 0.0);
        for child in self.next_paired(bone) {
            let other = self.partners[child]?;
            let at = self.source.heads[other.bone].lerp(self.source.heads[other.next], other.part);
            own += self.target.heads[child];
            theirs += at;
            count += 1.0;
        }
        if count == 0.0 {
            return None;
        }
        let from = self.source.heads[partner.bone].lerp(self.source.heads[partner.next], partner.part);
        let own = (own / count - self.target.heads[bone]).try_normalize()?;
        let theirs = (theirs / count - from).try_normalize()?;
        Some((own, self.turn * theirs))
    }

    /// The paired bones next below a bone, of the same limb; below a hand the fingers.
    fn next_paired(&self, bone: usize) -> Vec<usize> {
        let limb = |bone: usize| self.target.roles[bone].and_then(|role| role.limb());
        let mut found = Vec::new();
        let mut todo: Vec<usize> = self.target.children[bone].clone();
        while let Some(child) = todo.pop() {
            match self.partners[child] {
                Some(_) => found.push(child),
                None => todo.extend(&self.target.children[child]),
            }
        }
        let same: Vec<usize> = found.iter().copied().filter(|child| limb(*child) == limb(bone)).collect();
        let fingers = |child: &usize| matches!(limb(*child), Some(Limb::Finger(_)));
        let mut next = if same.is_empty() { found.into_iter().filter(fingers).collect() } else { same };
        next.sort_unstable();
        next
    }

    fn is_in_a_branch(&self, bone: usize) -> bool {
        let has_names =
            self.target.roles.iter().zip(self.partners).any(|(role, partner)| role.is_some() && partner.is_some());
        !has_names && self.target.parents[bone].is_some() && self.target.children[bone].len() == 1
    }
}

impl Spread {
    /// The limb's rotation with its share of the twist. Of a forearm: R_limb · twist(R_limb⁻¹ R_hand)^share. Of an upper arm:
    /// R_collar · swing · twist^share, with swing · twist = R_collar⁻¹ R_limb, so that the shoulder does not wring.
    fn turn(&self, turns: &[DQuat]) -> DQuat {
        let (limb, other) = (turns[self.limb], self.other.map_or(DQuat::IDENTITY, |other| turns[other]));
        match self.is_below {
            true => {
                let (_, twist) = swing_twist(limb.conjugate() * other, self.axis);
                limb * DQuat::IDENTITY.slerp(twist, self.share)
            }
            false => {
                let (swing, twist) = swing_twist(other.conjugate() * limb, self.axis);
                other * swing * DQuat::IDENTITY.slerp(twist, self.share)
            }
        }
    }
}

/// The twist bones of arms and legs: bones without partner that hang on a bone of a limb, and whose names say so.
fn spread(target: &Body, partners: &[Option<Partner>], bone: usize) -> Option<Spread> {
    if partners[bone].is_some() || !target.is_twist[bone] {
        return None;
    }
    let limb = target.parents[bone]?;
    let role = target.roles[limb]?;
    let is_below = match role.part {
        Part::Forearm | Part::Shin => true,
        Part::UpperArm | Part::Thigh => false,
        _ => return None,
    };
    let chain = target.limb(role.limb()?, role.side);
    let at = chain.iter().position(|other| *other == limb)?;
    let next = *chain.get(at + 1)?;
    let along = target.heads[next] - target.heads[limb];
    let axis = along.try_normalize()?;
    let share = ((target.heads[bone] - target.heads[limb]).dot(axis) / along.length()).clamp(0.0, 1.0);
    let other = if is_below { Some(next) } else { target.parents[limb] };
    Some(Spread { limb, other, is_below, axis, share })
}

/// The shortest turn from one direction to another. Opposite ones turn about any axis.
fn onto(from: DVec3, to: DVec3) -> DQuat {
    DQuat::from_rotation_arc(from, to)
}

fn places(source: &Body, target: &Body, partners: &[Option<Partner>]) -> Vec<Place> {
    let hips = target.find(Part::Hips, Side::Middle).filter(|bone| partners[*bone].is_some());
    (0..target.len())
        .map(|bone| {
            let Some(partner) = partners[bone] else { return Place::Follows };
            let mut above = target.parents[bone];
            while let Some(parent) = above.filter(|parent| partners[*parent].is_none()) {
                above = target.parents[parent];
            }
            if above.is_none() || Some(bone) == hips || target.roles[bone].is_some_and(|role| role.part == Part::Root) {
                return Place::Placed;
            }
            let both = target.parents[bone].and_then(|parent| partners[parent]).zip(source.parents[partner.bone]);
            match both {
                Some((parent, theirs)) if partner.same_name && parent.same_name && parent.bone == theirs => {
                    Place::Slides
                }
                _ => Place::Follows,
            }
        })
        .collect()
}

/// The ratio of the leg lengths, target to source; without legs, of the sizes of what is paired.
fn scale(source: &Body, target: &Body, partners: &[Option<Partner>]) -> f64 {
    let (mut own, mut theirs) = (0.0, 0.0);
    for side in [Side::Left, Side::Right] {
        let leg: Vec<(usize, Partner)> =
            target.limb(Limb::Leg, side).into_iter().filter_map(|bone| Some((bone, partners[bone]?))).collect();
        for two in leg.windows(2) {
            own += target.heads[two[0].0].distance(target.heads[two[1].0]);
            let [a, b] = [two[0].1, two[1].1].map(|p| source.heads[p.bone].lerp(source.heads[p.next], p.part));
            theirs += a.distance(b);
        }
    }
    if own > 1e-6 * target.size && theirs > 1e-6 * source.size {
        return own / theirs;
    }
    let pairs: Vec<(DVec3, DVec3)> = (partners.iter().enumerate())
        .filter_map(|(bone, partner)| Some((target.heads[bone], source.heads[(*partner)?.bone])))
        .collect();
    let count = pairs.len().max(1) as f64;
    let (a, b) =
        pairs.iter().fold((DVec3::ZERO, DVec3::ZERO), |(a, b), (own, theirs)| (a + *own / count, b + *theirs / count));
    let spread = |(x, y): (f64, f64), (own, theirs): &(DVec3, DVec3)| (x + own.distance(a), y + theirs.distance(b));
    let (own, theirs) = pairs.iter().fold((0.0, 0.0), spread);
    if own > 1e-6 * target.size && theirs > 1e-6 * source.size { own / theirs } else { target.size / source.size }
}

/// By how much the two rest poses are lifted. A rest pose whose lowest joint is near zero stands on the ground. Others, as of BVH files whose root is
/// at the origin, are put onto the lowest place that the motion comes to.
fn lifts(source: &Body, target: &Body, scale: f64, poses: &[SourcePose]) -> (f64, f64) {
    let stands = |body: &Body| body.lowest().abs() <= STANDS * body.size;
    let ground = match stands(source) {
        true => 0.0,
        false => poses.iter().flat_map(|pose| &pose.heads).map(|head| head.y).fold(f64::INFINITY, f64::min),
    };
    let ground = if ground.is_finite() { ground } else { 0.0 };
    match (stands(source), stands(target)) {
        (true, true) => (0.0, 0.0),
        (theirs, _) => (if theirs { 0.0 } else { ground - source.lowest() }, scale * ground - target.lowest()),
    }
}
