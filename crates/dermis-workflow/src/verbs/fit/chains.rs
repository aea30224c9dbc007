//! Springs of bone chains, which are learnt from the clips that teach the skin to swing.

use super::error::Error as FitRoomError;
use crate::error::Error;
use dermis_fit::Progress;
use dermis_fit::secondary::{Clip, LEAST_GAIN, LearntChain, find_chains, learn_chains};
use dermis_io::{ChainSprings, ModelFile};
use dermis_motion::body::{Part, Recognised, Role};
use dermis_rig::{BoneIndex, BoneTransforms, Example, Rig, Skeleton};
use serde_json::{Value, json};

/// The step that teaches them.
pub(super) const LEARN_CHAINS: &str = "springs of bone chains";

/// Parts below which no bone without a part swings: it is a finger, a toe, or of the face.
const STIFF_ENDS: &[Part] =
    &[Part::Hand, Part::Palm, Part::Thumb, Part::Finger, Part::Foot, Part::Toes, Part::Face, Part::Jaw, Part::Eye];

/// Learns the springs of the chains of a rig; `frames` are those of the clips, one clip after another.
///
/// # Errors
/// [`Error`]: [`dermis_fit::secondary::SecondaryFitError`].
pub(super) fn learn_chains_of(
    rig: &Rig,
    clips: &[Clip],
    frames: &[Example],
    progress: Progress<'_>,
) -> Result<Vec<LearntChain>, Error> {
    let swings = may_swing(rig.skeleton());
    let chains = find_chains(rig, |bone| swings[bone.get()]);
    let mut rest = frames;
    let mut poses: Vec<Vec<&BoneTransforms>> = Vec::new();
    for clip in clips {
        let (own, after) = rest.split_at(clip.times.len().min(rest.len()));
        poses.push(own.iter().map(|frame| &frame.transforms).collect());
        rest = after;
    }
    Ok(learn_chains(rig, &chains, (clips, &poses), progress).map_err(FitRoomError::Secondary)?)
}

/// Which bones may swing: ears, tails, and what is no part of a body and hangs on no hand, foot or face.
fn may_swing(skeleton: &Skeleton) -> Vec<bool> {
    let body = Recognised::new(skeleton);
    let part = |bone: BoneIndex| body.roles[bone].as_ref().map(|role: &Role| role.part);
    let above = |bone: BoneIndex| std::iter::successors(Some(bone), |bone| skeleton.parents()[*bone]);
    let swings = |bone: BoneIndex| match part(bone) {
        Some(Part::Ear | Part::Tail) => true,
        Some(Part::End) | None => {
            let first = above(bone).find_map(|bone| part(bone).filter(|part| *part != Part::End));
            !first.is_some_and(|part| STIFF_ENDS.contains(&part))
        }
        Some(_) => false,
    };
    skeleton.bones().map(swings).collect()
}

/// Puts the springs that are worth having into the header of a model.
pub(super) fn keep(chains: &[LearntChain], model: &mut ModelFile) {
    let skeleton = model.rig().skeleton();
    let stored = |learnt: &LearntChain| ChainSprings {
        bones: names(learnt, skeleton).map(str::to_owned).collect(),
        tip: learnt.chain.tip.map(|tip| tip.to_array()),
        radius: learnt.chain.radius,
        stiffness: learnt.spring.stiffness(),
        drag: learnt.spring.drag(),
        gravity: learnt.spring.gravity(),
    };
    // Of bones of one name none is meant: such chains are in no file.
    let kept = chains.iter().filter(|learnt| learnt.is_kept()).map(stored);
    let kept: Vec<ChainSprings> = kept.filter(|chain| chain.is_usable() && chain.serves(skeleton)).collect();
    model.header.chains = kept;
}

fn names<'a>(learnt: &'a LearntChain, skeleton: &'a Skeleton) -> impl Iterator<Item = &'a str> {
    learnt.chain.bones.iter().map(|bone| skeleton.names()[*bone].as_str())
}

/// What a user should know of chains whose springs are not kept.
pub(super) fn chain_warning(chains: &[LearntChain], skeleton: &Skeleton) -> Option<String> {
    let refused: Vec<String> = chains
        .iter()
        .filter(|learnt| !learnt.is_kept())
        .map(|learnt| {
            let first = names(learnt, skeleton).next().unwrap_or_default();
            format!("\"{first:.60}\" ({:.0} %)", 100.0 * learnt.left_out)
        })
        .collect();
    (!refused.is_empty()).then(|| {
        format!(
            "springs of bone chains are not kept where they leave more than {:.0} % of the skin's swinging in clips that were left out: {}",
            100.0 * LEAST_GAIN,
            refused.join(", ")
        )
    })
}

/// Chains with their springs and what they leave, as JSON.
pub fn chains_json(chains: &[LearntChain], skeleton: &Skeleton) -> Value {
    let chain = |learnt: &LearntChain| {
        json!({
            "bones": names(learnt, skeleton).collect::<Vec<_>>(),
            "kept": learnt.is_kept(),
            "left_out": learnt.left_out,
            "training": learnt.training,
            "each": learnt.folds.iter().map(|(clip, left)| json!({"clip": clip, "left_out": left})).collect::<Vec<_>>(),
            "swing_rms": learnt.swing,
            "stiffness": learnt.spring.stiffness(),
            "drag": learnt.spring.drag(),
            "gravity": learnt.spring.gravity(),
            "radius": learnt.chain.radius,
        })
    };
    chains.iter().map(chain).collect()
}
