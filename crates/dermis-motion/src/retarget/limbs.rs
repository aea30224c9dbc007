//! Limbs that both characters have, and that no bone of the source moves.
//!
//! A limb that stays at rest while its partner walks is a mistake of the pairing, not a part of the result: the caller decides
//! ([`Unpaired`](super::Unpaired)). Limbs are known by name, or by place. Of a character whose limbs are not known at all, each may be there.

use super::body::Body;
use super::RetargetError;
use super::pairs::{PairTable, PairedBy, Partner};
use crate::body::{Limb, Part, Role, Side};

/// A limb without partner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lone {
    limb: Limb,
    side: Side,
    /// Its bones in the target; none where the target's limbs are not known.
    own: Vec<usize>,
}

/// Limbs that a character moves by.
const LIMBS: [(Limb, Side); 6] = [
    (Limb::Arm, Side::Left),
    (Limb::Arm, Side::Right),
    (Limb::Leg, Side::Left),
    (Limb::Leg, Side::Right),
    (Limb::Spine, Side::Middle),
    (Limb::Head, Side::Middle),
];

/// Bones of an arm or leg that must have partners; fewer if one of the two limbs has fewer.
const LEAST_BONES: usize = 2;

impl Lone {
    /// As "left arm".
    pub fn name(&self) -> String {
        let limb = match self.limb {
            Limb::Arm => "arm",
            Limb::Leg => "leg",
            Limb::Head => "head",
            _ => "spine",
        };
        match self.side {
            Side::Left => format!("left {limb}"),
            Side::Right => format!("right {limb}"),
            Side::Middle => limb.to_owned(),
        }
    }
}

/// The limbs that both characters have, and whose bones in the target have no partner. A table may leave them without.
///
/// `by` is how bones were paired: a shape that was followed blindly must have found every limb that is known of one character.
pub(super) fn lone(source: &Body, target: &Body, pairs: (&[Option<Partner>], PairedBy), table: &PairTable) -> Vec<Lone> {
    let (partners, by) = pairs;
    let is_blind = |body: &Body| by == PairedBy::Topology && !body.has_limbs();
    let mut found = Vec::new();
    for (limb, side) in LIMBS {
        let [theirs, own] = [source, target].map(|body| joints(body, limb, side));
        let paired = own.iter().filter(|bone| partners[**bone].is_some()).count();
        let may_have = !theirs.is_empty() || is_blind(source);
        let is_wanted = |bone: &usize| table.get(target.name(*bone)) != Some(&None);
        let moves = |bone: &usize| partners.iter().flatten().any(|p| p.bone == *bone || p.next == *bone);
        let is_lone = if own.is_empty() {
            is_blind(target) && !theirs.is_empty() && !theirs.iter().any(moves)
        } else {
            let least = LEAST_BONES.min(own.len()).min(if theirs.is_empty() { LEAST_BONES } else { theirs.len() });
            may_have && paired < least && own.iter().any(|bone| partners[*bone].is_none() && is_wanted(bone))
        };
        if is_lone {
            found.push(Lone { limb, side, own });
        }
    }
    found
}

/// The joints of a limb, by name or place; of an arm and a leg those from the shoulder to the hand and from the hip to the foot.
fn joints(body: &Body, limb: Limb, side: Side) -> Vec<usize> {
    let is_joint = |role: Role| !matches!(role.part, Part::Clavicle | Part::Haunch | Part::Toes);
    let chain = body.limb_by(&body.shown, limb, side);
    chain.into_iter().filter(|bone| body.shown[*bone].is_some_and(is_joint)).collect()
}

/// The error of limbs without partner, with the table to fill in.
pub(super) fn refused(source: &Body, target: &Body, partners: &[Option<Partner>], lone: &[Lone]) -> RetargetError {
    let names: Vec<String> = lone.iter().map(Lone::name).collect();
    let limbs = match names.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} and {last}", others.join(", ")),
        _ => names.concat(),
    };
    let mut order: Vec<usize> = (0..target.len()).collect();
    order.sort_by_key(|bone| target.original[*bone]);
    let is_lone = |bone: usize| lone.iter().any(|limb| limb.own.contains(&bone));
    let partner = |bone: usize| match partners[bone] {
        Some(partner) => Some(source.name(if partner.part < 0.5 { partner.bone } else { partner.next }).to_owned()),
        // A bone that is to be filled in.
        None if is_lone(bone) => Some(String::new()),
        None => None,
    };
    let map = order.iter().map(|bone| (target.name(*bone).to_owned(), partner(*bone))).collect();
    RetargetError::LimbsWithoutPartner { limbs, map }
}
