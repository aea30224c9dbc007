//! Random models of every kind over a random rig, with every part that a fit can give them, and poses for them.

mod bases;
mod enveloping;
mod joints;
mod pose_space;
mod poses;

pub use bases::{bases, stack, strip};
pub use enveloping::{anchor, enveloping, reads_world};
pub use joints::joints;
pub use pose_space::{FLEX, layer, pose_space, shapes};
pub use poses::{given, poses};

use crate::{Random, Tree};
use dermis_deform::enveloping::EnvelopingForm;
use dermis_deform::guard::Weld;
use dermis_deform::joints::CorrectionFrame;
use dermis_deform::pose_space::Carrier;
use dermis_deform::{Correction, Deformer};
use dermis_rig::BoneIndex;

/// Why rows of a test can be made.
const FEW: &str = "fewer than 4 billion entries";

/// Every base with every correction and with none, by name.
pub fn models(tree: &Tree, random: &mut Random) -> Vec<(String, Deformer)> {
    let corrected = corrections(tree, random);
    let chains = chains(tree, &corrected, random);
    over_every_base(tree, corrected, random).into_iter().chain(chains).collect()
}

/// Two and three corrections one after another, by name.
fn chains(tree: &Tree, corrections: &[(String, Correction)], random: &mut Random) -> Vec<(String, Deformer)> {
    let (rest, last) = (tree.rig.mesh().positions.clone(), corrections.len() - 1);
    let made = bases(tree, random).into_iter().enumerate().map(|(at, (under, base))| {
        let bare = Deformer::new(rest.clone(), base, None).expect("the base is of the rig");
        let chosen = [at, last - at, (3 * at + 1) % last].into_iter().take(2 + at % 2);
        let chosen: Vec<&(String, Correction)> = chosen.map(|at| &corrections[at]).collect();
        let name = chosen.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", then ");
        let add = |deformer: Deformer, (_, correction): &(String, Correction)| {
            deformer.followed_by(correction.clone()).expect("the parts are of one rig")
        };
        (format!("{name} over {under}"), chosen.into_iter().fold(bare, add))
    });
    made.collect()
}

/// Every base with each of some corrections and with none, by name.
pub fn over_every_base(
    tree: &Tree,
    corrections: Vec<(String, Correction)>,
    random: &mut Random,
) -> Vec<(String, Deformer)> {
    let mut over = vec![("nothing".to_owned(), None)];
    over.extend(corrections.into_iter().map(|(name, correction)| (name, Some(correction))));
    let model = |(under, base): &(&str, dermis_deform::Base), (name, correction): &(String, Option<Correction>)| {
        let rest = tree.rig.mesh().positions.clone();
        (
            format!("{name} over {under}"),
            Deformer::new(rest, base.clone(), correction.clone()).expect("the parts are of one rig"),
        )
    };
    bases(tree, random).iter().flat_map(|base| over.iter().map(|over| model(base, over)).collect::<Vec<_>>()).collect()
}

/// Corrections of every kind, by name: each with and without the guard.
pub fn corrections(tree: &Tree, random: &mut Random) -> Vec<(String, Correction)> {
    let mut made: Vec<(String, Correction)> = Vec::new();
    for guarded in [true, false] {
        let guard = if guarded { "guarded" } else { "unguarded" };
        for rows in [EnvelopingForm::Row, EnvelopingForm::Full] {
            // Constants in one of the two: without them, evaluation takes other paths.
            let mut in_world = enveloping(tree, rows, guarded, random);
            let mut anchored = Correction::from(in_world.clone());
            anchor(&mut anchored);
            match &mut anchored {
                Correction::Enveloping(anchored) if !guarded => anchored.constants.clear(),
                _ => in_world.constants.clear(),
            }
            made.push((format!("{guard} {rows:?} enveloping, some in the world"), in_world.into()));
            made.push((format!("{guard} {rows:?} enveloping"), anchored));
        }
        for frame in [CorrectionFrame::Anchor, CorrectionFrame::Rest, CorrectionFrame::Blend] {
            made.push((format!("{guard} joints in {frame:?}"), joints(tree, frame, guarded, random).into()));
        }
        let bone = |random: &mut Random| BoneIndex::new(random.below(tree.rig.skeleton().len()));
        let bones = tree.rig.mesh().positions.iter().map(|_| bone(random)).collect();
        for (name, carrier) in [("base", Carrier::Base), ("bones", Carrier::Bones(bones)), ("world", Carrier::World)] {
            let pose_space = pose_space(tree, carrier.clone(), guarded, random);
            made.push((format!("{guard} pose space by {name}"), pose_space.into()));
            made.push((format!("{guard} shapes by {name}"), shapes(tree, carrier, guarded, random).into()));
        }
    }
    for (frame, guarded) in
        [(CorrectionFrame::Anchor, true), (CorrectionFrame::Rest, true), (CorrectionFrame::Blend, false)]
    {
        let mut remembering = joints(tree, frame, guarded, random);
        remembering.layer = Some(layer(tree, random));
        made.push((format!("joints in {frame:?} that remember shapes"), remembering.into()));
    }
    made
}

/// The weld of a skeleton whose middle joint is frozen, where the guard is on.
fn weld(tree: &Tree, guarded: bool) -> Weld {
    let bones = tree.rig.skeleton().len();
    match guarded {
        true => Weld::along(tree.rig.skeleton(), &(0..bones).map(|b| b == bones / 2).collect::<Vec<_>>()),
        false => Weld::default(),
    }
}

/// L: the rest diagonal, where there is one.
fn length(tree: &Tree) -> f64 {
    Some(tree.rig.mesh().diagonal()).filter(|&d| d > 0.0).unwrap_or(1.0)
}

fn limit(guarded: bool, random: &mut Random) -> f64 {
    if guarded { random.between(0.5, 2.0) } else { f64::INFINITY }
}

/// Radii of the guard, some of them zero.
fn radii(tree: &Tree, guarded: bool, random: &mut Random) -> Vec<f64> {
    let count = if guarded { tree.rig.mesh().positions.len() } else { 0 };
    (0..count).map(|v| if v % 10 == 9 { 0.0 } else { random.between(0.0, 0.1) }).collect()
}
