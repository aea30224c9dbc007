//! Limbs that both characters have, and that no bone of the source moves.
//!
//! A limb that stays at rest while its partner walks is a mistake of the pairing, not a part of the result: the caller decides
//! ([`Unpaired`](super::Unpaired)). Limbs are known by name, or by place. A character without names may have one that place does not show.

use super::RetargetError;
use super::body::Body;
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

/// Names that a message holds.
const MOST_NAMES: usize = 8;

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
/// `by` is how bones were paired. The shape of a tree must have found every limb that is known of one character, if the other has no names.
pub(super) fn lone(
    source: &Body,
    target: &Body,
    pairs: (&[Option<Partner>], PairedBy),
    table: &PairTable,
) -> Vec<Lone> {
    let (partners, by) = pairs;
    let is_blind = |body: &Body| by == PairedBy::Topology && !body.has_names;
    let mut found = Vec::new();
    for (limb, side) in LIMBS {
        // Equal names of a language that is not known are surer than place.
        let [theirs, own] = [source, target].map(|body| {
            let roles = if by == PairedBy::Topology { &body.shown } else { &body.roles };
            joints(body, roles, limb, side)
        });
        let paired = own.iter().filter(|bone| partners[**bone].is_some()).count();
        let may_have = !theirs.is_empty() || is_blind(source);
        let is_wanted = |bone: &usize| table.get(target.name(*bone)) != Some(&None);
        let moves = |bone: &usize| partners.iter().flatten().any(|p| p.bone == *bone || p.next == *bone);
        let is_lone = if own.is_empty() {
            is_blind(target) && !theirs.is_empty() && !theirs.iter().any(moves)
        } else {
            let most = if matches!(limb, Limb::Arm | Limb::Leg) { LEAST_BONES } else { 1 };
            let least = most.min(own.len()).min(if theirs.is_empty() { most } else { theirs.len() });
            may_have && paired < least && own.iter().any(|bone| partners[*bone].is_none() && is_wanted(bone))
        };
        if is_lone {
            found.push(Lone { limb, side, own });
        }
    }
    found
}

/// The joints of a limb, by name or place; of an arm and a leg those from the shoulder to the hand and from the hip to the foot.
fn joints(body: &Body, roles: &[Option<Role>], limb: Limb, side: Side) -> Vec<usize> {
    let is_joint = |role: Role| !matches!(role.part, Part::Clavicle | Part::Haunch | Part::Toes);
    body.limb_by(roles, limb, side).into_iter().filter(|bone| roles[*bone].is_some_and(is_joint)).collect()
}

/// The error of limbs without partner, with the table to fill in.
pub(super) fn refused(source: &Body, target: &Body, partners: &[Option<Partner>], lone: &[Lone]) -> RetargetError {
    let names: Vec<String> = lone.iter().map(Lone::name).collect();
    let limbs = match names.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} and {last}", others.join(", ")),
        _ => names.concat(),
    };
    let is_lone = |bone: usize| lone.iter().any(|limb| limb.own.contains(&bone));
    let partner = |bone: usize| match partners[bone] {
        Some(partner) => Some(source.name(if partner.part < 0.5 { partner.bone } else { partner.next }).to_owned()),
        // A bone that is to be filled in.
        None if is_lone(bone) => Some(String::new()),
        None => None,
    };
    let lacking = |bone: &usize| partners[*bone].is_none() && is_lone(*bone);
    let bones: Vec<&str> = (0..target.len()).filter(lacking).map(|bone| target.name(bone)).collect();
    let bones = match bones.len() {
        // Of a character without names, whose limbs are not known.
        0 => "its bones".to_owned(),
        count if count > MOST_NAMES => format!("{} and {} more", bones[..MOST_NAMES].join(", "), count - MOST_NAMES),
        _ => bones.join(", "),
    };
    RetargetError::LimbsWithoutPartner { limbs, bones, map: table(target, partner) }
}

/// A table with every bone of the target, in the order of its skeleton.
pub(super) fn table(target: &Body, partner: impl Fn(usize) -> Option<String>) -> Vec<(String, Option<String>)> {
    let mut order: Vec<usize> = (0..target.len()).collect();
    order.sort_by_key(|bone| target.original[*bone]);
    order.into_iter().map(|bone| (target.name(bone).to_owned(), partner(bone))).collect()
}
