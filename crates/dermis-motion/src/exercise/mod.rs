//! An exercise: the poses to sculpt or to simulate, so that a fit sees what every joint does to the skin.
//!
//! After the bind pose come joints at the ends of their ranges, joints half way, pairs of neighbouring joints, and poses in which all
//! joints are anywhere in their ranges, spread evenly by a scrambled Sobol sequence (Owen 1995; Burley 2020, "Practical hash-based Owen
//! scrambling"). Joints that share no skin move in the same pose. Poses in which skin would meet skin are eased, or dropped and
//! counted. The order is a short round trip from rest, which a simulation can run through.
//!
//! ```
//! use dermis_motion::anatomy::Anatomy;
//! use dermis_motion::exercise::{ExerciseSettings, exercise};
//! let arm = dermis_testkit::Arm::new(8, 12);
//! let anatomy = Anatomy::new(arm.rig.skeleton(), |_| true);
//! let made = exercise(&arm.rig, &anatomy, &ExerciseSettings { poses: 12, ..Default::default() })?;
//! assert_eq!(made.motion.frames.len(), 12);
//! assert_eq!(made.poses[0].label, "rest");
//! # Ok::<(), dermis_motion::exercise::ExerciseError>(())
//! ```

mod capsules;
mod followers;
mod joints;
mod order;
mod plan;
#[cfg(test)]
mod tests;

pub use plan::Kind;

use crate::anatomy::{Anatomy, UNKNOWN};
use crate::ik::JointLimits;
use capsules::Capsules;
use dermis_rig::glam::{DAffine3, DQuat, DVec3};
use dermis_rig::number::shortest;
use dermis_rig::rotation::{from_rotation_vector, rotation_vector};
use dermis_rig::{BoneIndex, Frame, Motion, Rig, WorldPose};
use followers::{carriers, followers};
use joints::{Angles, Joint, Turned};
use order::round_trip;
use plan::{Posture, plan};

/// What an exercise is made of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExerciseSettings {
    /// How many poses, rest included.
    pub poses: usize,
    /// Further poses in which the whole character is tilted, for skin that sags: the directions in which it sees down are spread evenly.
    pub tilted: usize,
    /// Frames between a pose and the next. With any, the motion has times, and comes back to rest at its end.
    pub in_betweens: usize,
    /// Frames per second of a motion with in-betweens.
    pub rate: f64,
    /// Whether joints that share no skin move in the same pose.
    pub layout: Layout,
}

/// How joints are shared out among poses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// Joints that share no skin move in the same pose: few poses show much.
    #[default]
    Together,
    /// One joint, or one pair, a pose, as far as the poses go.
    Apart,
}

impl Default for ExerciseSettings {
    fn default() -> Self {
        Self { poses: 42, tilted: 0, in_betweens: 0, rate: 24.0, layout: Layout::Together }
    }
}

/// An exercise and how it was made.
#[derive(Clone, Debug, PartialEq)]
pub struct Exercise {
    /// The poses in order, with in-betweens.
    pub motion: Motion,
    /// The poses in order, without in-betweens.
    pub poses: Vec<ExercisePose>,
    /// Joints that move.
    pub joints: usize,
    /// Ends of ranges that no pose shows, because there are too few.
    pub left_out: usize,
    /// Poses in which joints were turned back until capsules of the skin no longer met.
    pub eased: usize,
    /// Poses left out because turning back did not help.
    pub dropped: usize,
    /// Bones with a capsule.
    pub capsules: usize,
    /// Bones that move with another than their parent, because they share its skin: (bone, the bone it moves with).
    pub following: Vec<(BoneIndex, BoneIndex)>,
    /// The farthest that any joint turns from one frame to the next, radians, and that joint.
    pub longest_turn: Option<(BoneIndex, f64)>,
}

/// A pose of an exercise.
#[derive(Clone, Debug, PartialEq)]
pub struct ExercisePose {
    /// What it is for.
    pub kind: Kind,
    /// Joints and angles, such as "lowerarm_l bend 110°".
    pub label: String,
    /// The joints that are turned: about their first and second axis of swing and about themselves, radians.
    pub turned: Vec<(BoneIndex, [f64; 3])>,
    /// Whether joints were turned back from where skin met skin.
    pub eased: bool,
}

/// Why there is no exercise.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ExerciseError {
    /// No joint moves.
    #[error("no joint of the rig moves by more than 2°: all of its {bones} bones are locked")]
    NothingMoves {
        /// How many bones there are.
        bones: usize,
    },
    /// A number of poses out of range.
    #[error("an exercise has {least} to {most} poses, not {poses}")]
    Poses {
        /// How many were asked for.
        poses: usize,
        /// The fewest.
        least: usize,
        /// The most.
        most: usize,
    },
    /// Too many frames, or a rate that is none.
    #[error("{frames} frames at {} frames per second make no motion: at most {most} frames, at a positive rate", shortest(*rate))]
    Frames {
        /// How many frames.
        frames: usize,
        /// Frames per second.
        rate: f64,
        /// The most frames.
        most: usize,
    },
    /// Limits for another number of bones.
    #[error("there are limits for {found} joints, but the rig has {bones} bones")]
    Limits {
        /// How many limits.
        found: usize,
        /// How many bones.
        bones: usize,
    },
}

/// The most poses: their distances are a table.
pub const MOST_POSES: usize = 2000;
/// The most frames with in-betweens.
pub const MOST_FRAMES: usize = 100_000;

/// How deep capsules may meet, in parts of the thinner one's radius. At 0.1 an arm cannot hang beside the body; at 0.8 a hand is
/// inside the belly.
const DEEP: f64 = 0.35;
/// What joints between two capsules that meet are turned back by, and how often.
const EASE: (f64, usize) = (0.88, 24);

/// The limits of a joint of which nothing is known.
fn unknown() -> JointLimits {
    let most = UNKNOWN.to_radians();
    JointLimits::round_cone(DVec3::Y, most, [-0.5 * most, 0.5 * most]).unwrap_or(JointLimits::Locked)
}

/// Makes an exercise of a rig within the limits of its anatomy. The bones of each of [`Anatomy::series`] bend as one. Without weights no skin is seen
/// to meet.
///
/// # Errors
/// [`ExerciseError`].
pub fn exercise(rig: &Rig, anatomy: &Anatomy, settings: &ExerciseSettings) -> Result<Exercise, ExerciseError> {
    let (skeleton, poses) = (rig.skeleton(), settings.poses);
    let limits = &anatomy.limits;
    if limits.len() != skeleton.len() {
        return Err(ExerciseError::Limits { found: limits.len(), bones: skeleton.len() });
    }
    let all = poses.saturating_add(settings.tilted);
    if poses < 2 || all > MOST_POSES {
        return Err(ExerciseError::Poses { poses: all, least: 2, most: MOST_POSES });
    }
    let frames = all.saturating_mul(settings.in_betweens.saturating_add(1));
    if frames > MOST_FRAMES || !(settings.rate.is_finite() && settings.rate > 0.0) {
        return Err(ExerciseError::Frames { frames, rate: settings.rate, most: MOST_FRAMES });
    }
    let follows = followers(rig, anatomy);
    let mut limits = limits.clone();
    for bone in skeleton.bones().filter(|bone| follows[bone.get()].is_some()) {
        limits[bone] = JointLimits::Locked;
    }
    let joints = Joint::all(skeleton, &limits);
    if joints.is_empty() {
        return Err(ExerciseError::NothingMoves { bones: skeleton.len() });
    }
    let following = follows.iter().enumerate().filter_map(|(at, other)| Some((BoneIndex::new(at), (*other)?)));
    let following: Vec<(BoneIndex, BoneIndex)> = following.collect();
    let maker = Maker { rig, capsules: Capsules::new(rig, &follows), joints, follows };
    let plan = plan(rig, &maker.joints, &anatomy.series(), poses - 1, settings.layout);
    let mut made = Exercise {
        motion: Motion::default(),
        poses: Vec::new(),
        joints: maker.joints.len(),
        left_out: plan.left_out,
        eased: 0,
        dropped: 0,
        capsules: maker.capsules.len(),
        following,
        longest_turn: None,
    };
    let mut chosen: Vec<(Kind, Posture, bool)> = vec![(Kind::Rest, Vec::new(), false)];
    for (kind, posture) in plan.postures {
        maker.take(kind, posture, &mut chosen, &mut made);
    }
    // A dropped pose is replaced by one that is spread, as far as twice the sequence goes.
    for index in 0..2 * poses as u32 {
        if chosen.len() >= poses {
            break;
        }
        maker.take(Kind::Spread, maker.spread(index), &mut chosen, &mut made);
    }
    let upright = chosen.len();
    for index in 2 * poses..2 * (poses + settings.tilted) {
        if chosen.len() >= upright + settings.tilted {
            break;
        }
        maker.take(Kind::Tilted, maker.spread(index as u32), &mut chosen, &mut made);
    }
    // The tilt of the character goes after the joints.
    let turns_of = |(at, (_, posture, _)): (usize, &(Kind, Posture, bool))| {
        let mut turns = maker.turns(posture);
        turns.push(at.checked_sub(upright).map_or(DQuat::IDENTITY, |at| tilt(at, chosen.len() - upright)));
        turns
    };
    let turns: Vec<Vec<DQuat>> = chosen.iter().enumerate().map(turns_of).collect();
    let mut reach = maker.reaches();
    reach.push(1.0);
    let order = round_trip(chosen.len(), |a, b| {
        let square = |j: usize| reach[j] * rotation_vector(turns[a][j].conjugate() * turns[b][j]).length_squared();
        (0..reach.len()).map(square).sum::<f64>().sqrt()
    });
    let mut spread = 0;
    for &at in &order {
        let (kind, posture, eased) = &chosen[at];
        spread += usize::from(matches!(kind, Kind::Spread | Kind::Tilted));
        made.poses.push(ExercisePose {
            kind: *kind,
            label: maker.label(*kind, posture, spread),
            turned: posture.iter().map(|t| (maker.joints[t.joint].bone, t.angles)).collect(),
            eased: *eased,
        });
    }
    let ordered: Vec<&Vec<DQuat>> = order.iter().map(|&at| &turns[at]).collect();
    maker.frames(&ordered, settings, &mut made);
    Ok(made)
}

struct Maker<'a> {
    rig: &'a Rig,
    capsules: Capsules,
    joints: Vec<Joint>,
    follows: Vec<Option<BoneIndex>>,
}

impl Maker<'_> {
    /// Takes a pose, eased if need be, or counts it as dropped.
    fn take(&self, kind: Kind, mut posture: Posture, chosen: &mut Vec<(Kind, Posture, bool)>, made: &mut Exercise) {
        match self.ease(&mut posture) {
            Some(eased) => {
                made.eased += usize::from(eased);
                chosen.push((kind, posture, eased));
            }
            None => made.dropped += 1,
        }
    }

    /// Turns joints back until no two capsules meet; whether that was needed. `None` if it does not help.
    fn ease(&self, posture: &mut Posture) -> Option<bool> {
        for round in 0..=EASE.1 {
            let world = self.world(&self.turns(posture));
            let transforms = self.rig.skeleton().bone_transforms(&WorldPose::new(world));
            let Some((a, b, _)) = self.capsules.deepest(&transforms).filter(|(_, _, depth)| *depth > DEEP) else {
                return Some(round > 0);
            };
            let between = self.between(a, b);
            let mut helped = false;
            for turned in posture.iter_mut().filter(|t| between.contains(&self.joints[t.joint].bone)) {
                turned.angles = turned.angles.map(|angle| angle * EASE.0);
                helped = true;
            }
            if !helped {
                return None;
            }
        }
        None
    }

    /// The bones on the way from one to another, without the one that carries both.
    fn between(&self, a: BoneIndex, b: BoneIndex) -> Vec<BoneIndex> {
        let above = |bone: BoneIndex| carriers(self.rig, &self.follows, bone);
        let (one, other) = (above(a), above(b));
        let apart = |list: &[BoneIndex], rest: &[BoneIndex]| {
            list.iter().copied().filter(|bone| !rest.contains(bone)).collect::<Vec<_>>()
        };
        [apart(&one, &other), apart(&other, &one)].concat()
    }

    /// Pose number `index` of the sequence that fills all ranges.
    fn spread(&self, index: u32) -> Posture {
        let turned = |joint: usize| {
            let number = |axis: usize| {
                let dimension = (3 * joint + axis) as u32;
                // Dimensions beyond those of the sequence take its like with another seed.
                let most = sobol_burley::NUM_DIMENSIONS;
                f64::from(sobol_burley::sample(index, dimension % most, dimension / most))
            };
            Turned { joint, angles: self.joints[joint].spread([number(0), number(1), number(2)]) }
        };
        (0..self.joints.len()).map(turned).collect()
    }

    /// The rotation of every joint of the exercise.
    fn turns(&self, posture: &Posture) -> Vec<DQuat> {
        let mut turns = vec![DQuat::IDENTITY; self.joints.len()];
        for turned in posture {
            turns[turned.joint] = self.joints[turned.joint].rotation(turned.angles);
        }
        turns
    }

    /// The joint-to-world matrices of rotations, those of the joints and, where it is tilted, that of the character about its middle.
    fn world(&self, turns: &[DQuat]) -> Vec<DAffine3> {
        let skeleton = self.rig.skeleton();
        let mut of: Vec<Option<DQuat>> = vec![None; skeleton.len()];
        self.joints.iter().zip(turns).for_each(|(joint, turn)| of[joint.bone.get()] = Some(*turn));
        // A bone that follows another may come before it: place what is not placed until all are.
        let mut world: Vec<Option<DAffine3>> = vec![None; skeleton.len()];
        for _ in 0..skeleton.len() {
            let mut whole = true;
            for bone in skeleton.bones() {
                if world[bone.get()].is_some() {
                    continue;
                }
                let carrier = self.follows[bone.get()].or(skeleton.parents()[bone]);
                let at = match carrier.map(|carrier| (carrier, world[carrier.get()])) {
                    Some((carrier, Some(placed))) => {
                        placed * (skeleton.inverse_bind()[carrier] * skeleton.bind()[bone])
                    }
                    Some((_, None)) => {
                        whole = false;
                        continue;
                    }
                    None => skeleton.bind()[bone],
                };
                world[bone.get()] = Some(match of[bone.get()] {
                    Some(turn) => at * DAffine3::from_quat(turn),
                    None => at,
                });
            }
            if whole {
                break;
            }
        }
        let positions = &self.rig.mesh().positions;
        let middle = positions.iter().sum::<DVec3>() / positions.len().max(1) as f64;
        let tilt = turns.get(self.joints.len()).map_or(DAffine3::IDENTITY, |tilt| DAffine3::from_quat(*tilt));
        let tilt = DAffine3::from_translation(middle) * tilt * DAffine3::from_translation(-middle);
        let placed = world.into_iter().zip(skeleton.bind().iter()).map(|(placed, bind)| placed.unwrap_or(*bind));
        placed.map(|placed| tilt * placed).collect()
    }

    /// What share of the skin hangs on every joint, and a little: how much its angle counts on the way from pose to pose.
    fn reaches(&self) -> Vec<f64> {
        let skeleton = self.rig.skeleton();
        let mut below = vec![0.0; skeleton.len()];
        if let Some(weights) = self.rig.weights() {
            weights.rows().flatten().for_each(|(bone, weight)| below[bone.get()] += weight);
        }
        for bone in skeleton.bones().rev() {
            if let Some(parent) = skeleton.parents()[bone] {
                below[parent.get()] += below[bone.get()];
            }
        }
        let all = below.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        self.joints.iter().map(|joint| below[joint.bone.get()] / all + 0.01).collect()
    }

    /// What a pose is called.
    fn label(&self, kind: Kind, posture: &Posture, number: usize) -> String {
        /// Joints named before the rest is counted.
        const NAMED: usize = 3;
        match kind {
            Kind::Rest => return "rest".into(),
            Kind::Spread => return format!("all joints {number}"),
            Kind::Tilted => return format!("tilted, all joints {number}"),
            Kind::Extreme | Kind::Between | Kind::Pair => {}
        }
        let named = posture.iter().take(NAMED).map(|turned| {
            let name = &self.rig.skeleton().names()[self.joints[turned.joint].bone];
            format!("{name} {}", said(turned.angles))
        });
        let named: Vec<String> = named.collect();
        match posture.len().saturating_sub(NAMED) {
            0 => named.join(", "),
            more => format!("{}, {more} more", named.join(", ")),
        }
    }

    /// The frames of poses in order, with what lies between.
    fn frames(&self, poses: &[&Vec<DQuat>], settings: &ExerciseSettings, made: &mut Exercise) {
        let steps = settings.in_betweens + 1;
        let mut frames: Vec<Frame> = Vec::new();
        let mut push = |turns: &[DQuat], label: String| {
            let time = (settings.in_betweens > 0).then(|| frames.len() as f64 / settings.rate);
            frames.push(Frame { label, time, pose: WorldPose::new(self.world(turns)) });
        };
        for (at, pose) in poses.iter().enumerate() {
            push(pose, made.poses[at].label.clone());
            let last = at + 1 == poses.len();
            if last && settings.in_betweens == 0 {
                continue;
            }
            let next = poses[(at + 1) % poses.len()];
            let way: Vec<DVec3> = pose.iter().zip(next).map(|(a, b)| rotation_vector(a.conjugate() * *b)).collect();
            for (joint, way) in self.joints.iter().zip(&way) {
                let turn = way.length() / steps as f64;
                if made.longest_turn.is_none_or(|(_, most)| turn > most) {
                    made.longest_turn = Some((joint.bone, turn));
                }
            }
            for step in 1..steps {
                let part = step as f64 / steps as f64;
                let turns: Vec<DQuat> = pose
                    .iter()
                    .zip(&way)
                    .map(|(q, way)| (*q * from_rotation_vector(*way * part)).normalize())
                    .collect();
                let to = made.poses.get(at + 1).map_or("rest", |pose| pose.label.as_str());
                push(&turns, format!("to {to}, {step} of {steps}"));
            }
            if last {
                push(next, "rest, again".into());
            }
        }
        made.motion = Motion { name: "exercise".into(), frames };
    }
}

/// The rotation of a character that sees down in direction `at` of `count` that are spread evenly over the sphere, on a spiral from its head to
/// its feet.
fn tilt(at: usize, count: usize) -> DQuat {
    let height = 1.0 - (2 * at + 1) as f64 / count as f64;
    let around = at as f64 * std::f64::consts::PI * (3.0 - 5f64.sqrt());
    let radius = (1.0 - height * height).sqrt();
    let seen = DVec3::new(radius * around.cos(), height, radius * around.sin());
    DQuat::from_rotation_arc(seen, DVec3::NEG_Y)
}

/// Angles in words.
fn said(angles: Angles) -> String {
    let words = angles.iter().zip(["bend", "lean", "twist"]).filter(|(angle, _)| angle.abs() > 0.5f64.to_radians());
    let words: Vec<String> = words.map(|(angle, word)| format!("{word} {:.0}°", angle.to_degrees())).collect();
    words.join(" ")
}
