//! A motion of one character on another.
//!
//! 1. **Pairs.** Bones are paired by equal names, by the parts of the body, or by the shape of the trees, and before all of these by a table.
//! 2. **Transfer.** Every bone turns as its partner turned since its rest; hips and roots go where the partner goes, times the ratio of the leg
//!    lengths. The documentation of [`Retargeted`] says what comes out.
//! 3. **Contacts.** When the source's feet (and hands) stand is found from their height and speed; the target's are kept there by inverse kinematics.
//!
//! A motion retargeted to its own rig is itself: every correction is a difference to what the source does.

mod body;
mod contacts;
mod limbs;
mod pairs;
mod plant;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_of_pairs;
mod topology;
mod transfer;

pub use pairs::{PairTable, PairedBy};

use crate::body::Judged;
use crate::ik::IkError;
use body::Body;
use dermis_rig::glam::{DAffine3, DVec3};
use dermis_rig::progress::proceed;
use dermis_rig::{BoneIndex, Cancelled, Frame, Influences, Motion, Progress, Skeleton, WorldPose};
use transfer::{SourcePose, Transfer};

/// Frames per second of a motion without times.
const RATE: f64 = 30.0;

/// A skeleton, with the skin weights if there are any: they tell what a bone without parent belongs to.
#[derive(Clone, Copy, Debug)]
pub struct Character<'a> {
    /// Bones at rest.
    pub skeleton: &'a Skeleton,
    /// Skinning weights.
    pub weights: Option<&'a Influences>,
}

/// What is kept of the contacts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Contacts {
    /// Feet and hands stand where the source's stand.
    #[default]
    Kept,
    /// They stand still, against the ground, also where the source's slide. Where the ground is unsteady, as [`Contacts::Kept`].
    Still,
    /// They go where the transfer puts them.
    Free,
}

/// What happens to a limb that both characters have, and whose bones have no partner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unpaired {
    /// The motion is refused.
    #[default]
    Refused,
    /// The limb goes with the bone above it.
    Allowed,
}

/// A motion on another skeleton.
#[derive(Clone, Debug)]
pub struct Retargeted {
    /// The motion, bones in the order of the target's skeleton.
    pub motion: Motion,
    /// How bones were paired.
    pub paired_by: PairedBy,
    /// The pairs, in the order of the target's bones.
    pub pairs: Vec<Pair>,
    /// By what the bones of the source were recognised, and those of the target.
    pub judged: [Judged; 2],
    /// Bones of the target without partner. They go with the bone above them.
    pub without_partner: Vec<String>,
    /// Limbs that both characters have, whose bones have no partner: "left arm". They go with the bone above them.
    pub lone_limbs: Vec<String>,
    /// Bones of the source that move nothing.
    pub unused: Vec<String>,
    /// Roots of the target beside the main one, and the bone that each goes with.
    pub hung: Vec<(String, String)>,
    /// Leg length of the target in those of the source.
    pub scale: f64,
    /// Turn about the vertical from the way that the source faces to the target's, radians.
    pub facing: f64,
    /// Velocity of the ground in the target's world, metres per second: not zero where the source walks on the spot, `None` where its feet then share no
    /// velocity.
    pub ground: Option<DVec3>,
    /// The most that the hips came down so that legs reach, metres.
    pub lowered: f64,
    /// Contacts that were found; with [`Contacts::Free`] none.
    pub contacts: Vec<Contact>,
    /// Whether feet were looked for contacts and none of them ever stands.
    pub feet_never_stand: bool,
}

/// A bone of the target and what moves it.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// The bone.
    pub bone: String,
    /// The source's.
    pub source: String,
    /// The source's second, and its share, of a bone that moves between two neighbours of a chain.
    pub between: Option<(String, f64)>,
}

/// A limb that stands for some frames.
#[derive(Clone, Debug, PartialEq)]
pub struct Contact {
    /// The bone of the target that touches the ground.
    pub bone: String,
    /// Its partner.
    pub source_bone: String,
    /// The first frame.
    pub from: usize,
    /// The last frame.
    pub to: usize,
    /// The farthest that the bone's head is from its mean place on the ground, metres; where the ground is unsteady, on the source's path.
    pub slide: f64,
    /// The same of the source, times the ratio of the leg lengths.
    pub source_slide: f64,
    /// The farthest that the head is from where it is wanted, metres: zero where the leg reaches.
    pub off: f64,
}

/// Why a motion cannot be brought onto a rig.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RetargetError {
    /// No bone is known to be another's partner.
    #[error(
        "the two skeletons have too little in common, by name or shape: the source has {source_bones}, and the rig {target_bones}"
    )]
    NothingInCommon {
        /// Bones of the source.
        source_bones: String,
        /// Bones of the target.
        target_bones: String,
        /// A table to fill in: every bone of the rig, in its order, with an empty name.
        map: Vec<(String, Option<String>)>,
    },
    /// Both characters have a limb whose bones have no partner.
    #[error("the rig's {limbs} would not move: no bones of the source are known as partners of {bones}")]
    LimbsWithoutPartner {
        /// The limbs: "left arm and right arm".
        limbs: String,
        /// Their bones, the first ones.
        bones: String,
        /// A table to fill in, in the order of the rig's bones: bones with the partners found, without partner, and with an empty name those of the limbs.
        map: Vec<(String, Option<String>)>,
    },
    /// A table names a bone that is not there.
    #[error("the table of bones names \"{bone}\", which the {whose} does not have; it has {bones}")]
    NoBone {
        /// The name.
        bone: String,
        /// "source" or "rig".
        whose: &'static str,
        /// Bones it has.
        bones: String,
    },
    /// The motion has no frames.
    #[error("the motion has no frames")]
    NoFrames,
    /// A pose of another number of bones, or with NaN or infinity.
    #[error("frame {frame} of the motion has {found} usable bones, but the source's skeleton has {bones}")]
    Pose {
        /// The frame.
        frame: usize,
        /// How many it has.
        found: usize,
        /// How many the skeleton has.
        bones: usize,
    },
    /// Times that do not ascend.
    #[error("the time of frame {frame} is not after the one before it")]
    Times {
        /// The frame.
        frame: usize,
    },
    /// Bones that make no skeleton once their roots are joined.
    #[error(transparent)]
    Skeleton(#[from] dermis_rig::SkeletonError),
    /// Inverse kinematics cannot be asked for what contacts need.
    #[error(transparent)]
    Ik(#[from] IkError),
    /// A pose without inverse.
    #[error("a bone of frame {frame} is squeezed flat")]
    Singular {
        /// The frame.
        frame: usize,
    },
    /// The caller stopped it.
    #[error("stopped")]
    Cancelled,
}

impl From<Cancelled> for RetargetError {
    fn from(_: Cancelled) -> Self {
        Self::Cancelled
    }
}

/// Brings a motion of `source` onto `target`. The bones of the motion are those of the source's skeleton, in its order.
///
/// # Errors
/// [`RetargetError`].
pub fn retarget(
    source: Character<'_>,
    motion: &Motion,
    target: Character<'_>,
    table: &PairTable,
    unpaired: Unpaired,
    keep: Contacts,
    progress: Progress<'_>,
) -> Result<Retargeted, RetargetError> {
    let times = times(motion, source.skeleton)?;
    let (mut from, mut to) = (Body::new(source.skeleton, source.weights)?, Body::new(target.skeleton, target.weights)?);
    let pairs = pairs::pair(&mut from, &mut to, table, unpaired)?;
    let total = motion.frames.len();
    let mut poses = Vec::with_capacity(motion.frames.len());
    for frame in &motion.frames {
        poses.push(SourcePose::new(&from, &frame.pose));
    }
    let transfer = Transfer::new(&from, &to, &pairs, &poses);
    let mut frames: Vec<Vec<DAffine3>> = Vec::with_capacity(poses.len());
    for (at, pose) in poses.iter().enumerate() {
        proceed(progress, at, total)?;
        frames.push(transfer.pose(pose));
    }
    let planted = match keep {
        Contacts::Kept | Contacts::Still => plant::plant(&transfer, &poses, &times, keep, &mut frames)?,
        Contacts::Free => {
            plant::Planted { contacts: Vec::new(), ground: Some(DVec3::ZERO), lowered: 0.0, feet_never_stand: false }
        }
    };
    let out = |(frame, bones): (&Frame, &Vec<DAffine3>)| {
        let mut world = vec![DAffine3::IDENTITY; to.len()];
        for (bone, m) in bones.iter().enumerate() {
            world[to.original[bone]] = *m * to.skeleton.bind()[BoneIndex::new(bone)];
        }
        Frame { label: frame.label.clone(), time: frame.time, pose: WorldPose::new(world) }
    };
    let motion = Motion { name: motion.name.clone(), frames: motion.frames.iter().zip(&frames).map(out).collect() };
    Ok(described(&transfer, &pairs, motion, planted))
}

/// Counterparts of the bones of `source` in `target`, paired as for a motion.
#[derive(Clone, Debug, PartialEq)]
pub struct Counterparts {
    /// Of every bone of the source, in its order; `None` for a bone that the target has not.
    pub bones: Vec<Option<BoneIndex>>,
    /// How bones were paired.
    pub paired_by: PairedBy,
}

/// Finds the counterparts of the bones of `source`. Where a chain of the target has other numbers of bones, a counterpart is the nearest bone
/// along it.
///
/// # Errors
/// [`RetargetError`]: nothing in common, limbs of both without partner, a table that names bones which are not there.
pub fn counterparts(
    source: Character<'_>,
    target: Character<'_>,
    table: &PairTable,
) -> Result<Counterparts, RetargetError> {
    let (mut from, mut to) = (Body::new(source.skeleton, source.weights)?, Body::new(target.skeleton, target.weights)?);
    let pairs = pairs::pair(&mut from, &mut to, table, Unpaired::Refused)?;
    let mut best: Vec<Option<(f64, bool, usize)>> = vec![None; from.len()];
    for (bone, partner) in pairs.partners.iter().enumerate() {
        let Some(partner) = partner else { continue };
        let (at, away) =
            if partner.part <= 0.5 { (partner.bone, partner.part) } else { (partner.next, 1.0 - partner.part) };
        let found = (away, !partner.same_name, bone);
        if best[at].is_none_or(|known| found < known) {
            best[at] = Some(found);
        }
    }
    let mut bones = vec![None; from.len()];
    for (at, found) in best.into_iter().enumerate() {
        bones[from.original[at]] = found.map(|(_, _, bone)| BoneIndex::new(to.original[bone]));
    }
    Ok(Counterparts { bones, paired_by: pairs.by })
}

/// What was done, in names.
fn described(transfer: &Transfer<'_>, pairs: &pairs::Pairs, motion: Motion, planted: plant::Planted) -> Retargeted {
    let (source, target) = (transfer.source, transfer.target);
    // The order of the target's own skeleton.
    let mut order: Vec<usize> = (0..target.len()).collect();
    order.sort_by_key(|bone| target.original[*bone]);
    let pair = |bone: &usize| {
        let partner = pairs.partners[*bone]?;
        let between = (partner.part > 0.0).then(|| (source.name(partner.next).to_owned(), partner.part));
        Some(Pair { bone: target.name(*bone).to_owned(), source: source.name(partner.bone).to_owned(), between })
    };
    let lone = |bone: &&usize| pairs.partners[**bone].is_none();
    let mut used = vec![false; source.len()];
    for partner in pairs.partners.iter().flatten() {
        used[partner.bone] = true;
        used[partner.next] = true;
    }
    let mut theirs: Vec<usize> = (0..source.len()).filter(|bone| !used[*bone] && !source.is_end[*bone]).collect();
    theirs.sort_by_key(|bone| source.original[*bone]);
    let hung = target.hung.iter().map(|(root, bone)| (target.name(*root).to_owned(), target.name(*bone).to_owned()));
    Retargeted {
        motion,
        paired_by: pairs.by,
        judged: [source, target].map(|body| Judged::new(body.skeleton.names().iter(), &body.judged_by)),
        pairs: order.iter().filter_map(pair).collect(),
        without_partner: order.iter().filter(lone).map(|bone| target.name(*bone).to_owned()).collect(),
        lone_limbs: pairs.lone.iter().map(limbs::Lone::name).collect(),
        unused: theirs.into_iter().map(|bone| source.name(bone).to_owned()).collect(),
        hung: hung.collect(),
        scale: transfer.scale,
        facing: 2.0 * transfer.turn.y.atan2(transfer.turn.w),
        ground: planted.ground,
        lowered: planted.lowered,
        contacts: planted.contacts,
        feet_never_stand: planted.feet_never_stand,
    }
}

/// Seconds of every frame: the motion's own, else at [`RATE`].
fn times(motion: &Motion, skeleton: &Skeleton) -> Result<Vec<f64>, RetargetError> {
    if motion.frames.is_empty() {
        return Err(RetargetError::NoFrames);
    }
    for (frame, shown) in motion.frames.iter().enumerate() {
        let found = shown.pose.bones.iter().filter(|bone| bone.is_finite()).count();
        if found != skeleton.len() || shown.pose.bones.len() != skeleton.len() {
            return Err(RetargetError::Pose { frame, found, bones: skeleton.len() });
        }
    }
    let own: Option<Vec<f64>> = motion.frames.iter().map(|frame| frame.time).collect();
    let Some(own) = own else { return Ok((0..motion.frames.len()).map(|at| at as f64 / RATE).collect()) };
    match own.windows(2).position(|two| two[1] <= two[0] || !two[1].is_finite()) {
        Some(at) => Err(RetargetError::Times { frame: at + 1 }),
        None => Ok(own),
    }
}
