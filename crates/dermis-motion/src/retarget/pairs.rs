//! Which bone of the source moves which bone of the target: equal names, parts of the body, the shape of the tree, a table.

use super::body::Body;
use super::limbs::Lone;
use super::{RetargetError, Unpaired, limbs, topology};
use crate::body::{Limb, Part, Role, Side, is_number};
use dermis_rig::glam::{DQuat, DVec3};
use std::collections::{BTreeMap, HashMap};
use std::f64::consts::FRAC_PI_2;

/// Names of target bones with those of their partners; `None` for a bone that shall have none. An empty name says nothing.
pub type PairTable = BTreeMap<String, Option<String>>;

/// What moves a bone: a bone of the source, or, where limbs have other numbers of bones, two neighbours of a chain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Partner {
    pub bone: usize,
    pub next: usize,
    /// 0 at `bone`, 1 at `next`.
    pub part: f64,
    /// Whether both bones have one name.
    pub same_name: bool,
}

impl Partner {
    fn one(bone: usize) -> Self {
        Self { bone, next: bone, part: 0.0, same_name: false }
    }
}

/// How bones were paired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairedBy {
    /// By their names.
    Names,
    /// By the given table, and the others by their names.
    Table,
    /// By the shape of the two trees: names have too little in common.
    Topology,
}

pub(super) struct Pairs {
    /// Of every bone of the target.
    pub partners: Vec<Option<Partner>>,
    pub by: PairedBy,
    /// Limbs that both characters have, without partner.
    pub lone: Vec<Lone>,
}

/// Limbs that names must have in common, so that a character moves by them.
const LEAST_LIMBS: usize = 3;

/// Pairs bones: equal names first, then the parts of the body, then the shape of the trees, and the table before all of these.
pub(super) fn pair(
    source: &mut Body,
    target: &mut Body,
    table: &PairTable,
    unpaired: Unpaired,
) -> Result<Pairs, RetargetError> {
    let ByNames { mut partners, is_enough } = by_names(source, target);
    let (mut by, mut is_paired) = (PairedBy::Names, is_enough);
    if !is_enough {
        match topology::pair(source, target).filter(|found| agree(source, target, found)) {
            Some(found) => (partners, by, is_paired) = (found, PairedBy::Topology, true),
            None => {
                source.go_by_place();
                target.go_by_place();
                let placed = by_names(source, target);
                if placed.is_enough {
                    (partners, by, is_paired) = (placed.partners, PairedBy::Topology, true);
                }
            }
        }
    }
    // A name for a partner that is empty is not filled in yet.
    for (name, partner) in table.iter().filter(|(_, partner)| partner.as_deref() != Some("")) {
        let missing = |name: &String, whose: &'static str, body: &Body| RetargetError::NoBone {
            bone: name.clone(),
            whose,
            bones: some_names(body),
        };
        let at = position(target, name).ok_or_else(|| missing(name, "rig", target))?;
        partners[at] = match partner {
            None => None,
            Some(partner) => {
                let bone = position(source, partner).ok_or_else(|| missing(partner, "source", source))?;
                is_paired = true;
                Some(Partner { same_name: source.name(bone) == name, ..Partner::one(bone) })
            }
        };
        by = if by == PairedBy::Topology { by } else { PairedBy::Table };
    }
    let are_bodies = source.has_limbs() && target.has_limbs();
    if !partners.iter().any(Option::is_some) || !(is_paired || are_bodies) {
        return Err(RetargetError::NothingInCommon {
            source_bones: some_names(source),
            target_bones: some_names(target),
            map: limbs::table(target, |_| Some(String::new())),
        });
    }
    let lone = limbs::lone(source, target, (&partners, by), table);
    match lone.is_empty() || unpaired == Unpaired::Allowed {
        true => Ok(Pairs { partners, by, lone }),
        false => Err(limbs::refused(source, target, &partners, &lone)),
    }
}

/// Partners by equal names and by parts of the body.
struct ByNames {
    partners: Vec<Option<Partner>>,
    /// Whether they are enough to move the character by.
    is_enough: bool,
}

fn by_names(source: &Body, target: &Body) -> ByNames {
    let mut partners = equal_names(source, target);
    let equal = partners.iter().flatten().count();
    let mut limbs = 0;
    for (limb, side) in target.limbs() {
        let (theirs, own) = (source.limb(limb, side), target.limb(limb, side));
        let has_equal = own.iter().any(|bone| partners[*bone].is_some());
        let found = match has_equal {
            true => beside_equal(source, target, limb, &theirs, &own, &partners),
            false => pair_limb(source, target, limb, &theirs, &own),
        };
        limbs += usize::from((has_equal || !found.is_empty()) && limb != Limb::Root);
        found.into_iter().for_each(|(bone, partner)| partners[bone] = Some(partner));
    }
    let is_enough = limbs >= LEAST_LIMBS || 2 * equal >= target.len().min(source.len());
    ByNames { partners, is_enough }
}

/// Partners of the same name, in capitals or not. Numbers count as names in two copies of one tree alone.
fn equal_names(source: &Body, target: &Body) -> Vec<Option<Partner>> {
    let mut by_name: HashMap<String, usize> = HashMap::new();
    for bone in (0..source.len()).rev() {
        by_name.insert(source.name(bone).to_lowercase(), bone);
    }
    let same = |bone: usize| {
        let other = by_name.get(&target.name(bone).to_lowercase());
        other.copied().filter(|other| !differ(source.roles[*other], target.roles[bone]))
    };
    let mut equal: Vec<Option<usize>> = (0..target.len()).map(same).collect();
    if !one_tree(source, target, &equal) {
        for (bone, other) in equal.iter_mut().enumerate() {
            other.take_if(|_| is_number(target.name(bone)));
        }
    }
    equal.into_iter().map(|other| Some(Partner { same_name: true, ..Partner::one(other?) })).collect()
}

/// Bones of equal number that must hang on bones of equal number, and point the same way, if the numbers of two trees mean the same.
const ONE_TREE: f64 = 0.8;

/// Whether bones of equal number are the same bones: most hang on bones of equal number, and stand in the same direction from them.
fn one_tree(source: &Body, target: &Body, equal: &[Option<usize>]) -> bool {
    let counted = |body: &Body| (0..body.len()).filter(|bone| is_number(body.name(*bone))).count();
    let least = ONE_TREE * counted(source).min(counted(target)) as f64;
    let pairs: Vec<(usize, usize)> = (equal.iter().enumerate())
        .filter_map(|(bone, other)| Some((bone, (*other)?)))
        .filter(|(bone, _)| is_number(target.name(*bone)))
        .collect();
    let hang_alike = |(bone, other): &(usize, usize)| {
        target.parents[*bone].map(|parent| equal[parent]) == source.parents[*other].map(Some)
    };
    let hanging: Vec<(usize, usize)> = pairs.into_iter().filter(hang_alike).collect();
    if (hanging.len() as f64) < least {
        return false;
    }
    let way = |body: &Body, bone: usize| Some((body.heads[bone] - body.heads[body.parents[bone]?]) / body.size);
    let ways: Vec<(DVec3, DVec3)> = hanging.iter().filter_map(|(a, b)| way(target, *a).zip(way(source, *b))).collect();
    (0..4).any(|quarter| {
        let turn = DQuat::from_rotation_y(f64::from(quarter) * FRAC_PI_2);
        // Within 60°, as of arms that hang in one rest pose and are stretched out in the other.
        let alike =
            |(own, theirs): &&(DVec3, DVec3)| own.dot(turn * *theirs) >= 0.5 * own.length() * theirs.length() - 1e-12;
        ways.iter().filter(alike).count() as f64 >= ONE_TREE * ways.len() as f64
    })
}

/// Whether pairs join arms with arms, legs with legs, trunk with trunk, and left with left, as far as both are known.
fn agree(source: &Body, target: &Body, partners: &[Option<Partner>]) -> bool {
    partners.iter().enumerate().all(|(bone, partner)| {
        let theirs = partner.and_then(|p| source.shown[if p.part < 0.5 { p.bone } else { p.next }]);
        let (Some(own), Some(theirs)) = (target.shown[bone], theirs) else { return true };
        let sides = [own.side, theirs.side];
        let is_crossed = sides == [Side::Left, Side::Right] || sides == [Side::Right, Side::Left];
        region(own).zip(region(theirs)).is_none_or(|(a, b)| a == b && !is_crossed)
    })
}

/// Arm, leg or trunk, by its first limb; `None` of other parts, and of what carries one leg.
fn region(role: Role) -> Option<Limb> {
    match role.limb()? {
        Limb::Hips if role.side != Side::Middle => None,
        Limb::Root | Limb::Hips | Limb::Spine | Limb::Neck | Limb::Head => Some(Limb::Spine),
        limb @ (Limb::Arm | Limb::Leg) => Some(limb),
        _ => None,
    }
}

fn position(body: &Body, name: &str) -> Option<usize> {
    (0..body.len()).find(|bone| body.name(*bone) == name)
}

/// The first names of a skeleton, for messages.
fn some_names(body: &Body) -> String {
    let names: Vec<&str> = (0..body.len().min(6)).map(|bone| body.name(bone)).collect();
    let more = if body.len() > 6 { format!(" and {} more", body.len() - 6) } else { String::new() };
    format!("{}{more}", names.join(", "))
}

/// Pairs the bones of one limb: by their parts, where each occurs once; else from the first to the last, by their place along it.
fn pair_limb(source: &Body, target: &Body, limb: Limb, theirs: &[usize], own: &[usize]) -> Vec<(usize, Partner)> {
    if theirs.is_empty() || own.is_empty() {
        return Vec::new();
    }
    if matches!(limb, Limb::Arm | Limb::Leg)
        && let Some(found) = by_parts(source, target, theirs, own)
    {
        return found;
    }
    if matches!(limb, Limb::Root | Limb::Hips | Limb::Head) {
        return vec![(own[0], Partner::one(theirs[0]))];
    }
    by_order(source, target, theirs, own)
}

/// Partners for the bones of a limb that equal names leave: by their parts; of a back or neck for those before the first equal name and
/// after the last one, by order.
fn beside_equal(
    source: &Body,
    target: &Body,
    limb: Limb,
    theirs: &[usize],
    own: &[usize],
    partners: &[Option<Partner>],
) -> Vec<(usize, Partner)> {
    let lacks = |bone: &usize| partners[*bone].is_none();
    let mut found = match limb {
        Limb::Arm | Limb::Leg => by_parts(source, target, theirs, own).unwrap_or_default(),
        Limb::Hips if !theirs.is_empty() => vec![(own[0], Partner::one(theirs[0]))],
        Limb::Spine | Limb::Neck => {
            let mut equal = own.iter().enumerate().filter_map(|(at, bone)| {
                let partner = partners[*bone]?.bone;
                Some((at, theirs.iter().position(|other| *other == partner)?))
            });
            let first = equal.next();
            let last = equal.next_back().or(first);
            let mut found = match first {
                Some((at, place)) if place > 0 => by_order(source, target, &theirs[..=place], &own[..=at]),
                _ => Vec::new(),
            };
            if let Some((at, place)) = last.filter(|(_, place)| place + 1 < theirs.len()) {
                found.extend(by_order(source, target, &theirs[place..], &own[at..]));
            }
            found
        }
        _ => Vec::new(),
    };
    let is_used = |bone: usize| partners.iter().flatten().any(|partner| partner.bone == bone);
    found.retain(|(bone, partner)| lacks(bone) && (partner.part > 0.0 || limb == Limb::Hips || !is_used(partner.bone)));
    found
}

/// Whether two bones are known as different parts or sides.
fn differ(one: Option<Role>, other: Option<Role>) -> bool {
    one.zip(other).is_some_and(|(one, other)| (one.part, one.side) != (other.part, other.side))
}

/// Pairs the bones of an arm or leg by their parts; `None` if one of the limbs has a part twice.
fn by_parts(source: &Body, target: &Body, theirs: &[usize], own: &[usize]) -> Option<Vec<(usize, Partner)>> {
    let (theirs, own) = (parts(source, theirs)?, parts(target, own)?);
    Some(own.iter().filter_map(|(part, bone)| Some((*bone, Partner::one(*theirs.get(part)?)))).collect())
}

/// The bones of an arm or leg by their part; `None` if two bones share one that a limb has once. Parts at an end of the limb keep the first.
fn parts(body: &Body, chain: &[usize]) -> Option<BTreeMap<Part, usize>> {
    let mut found = BTreeMap::new();
    for &bone in chain {
        let part = body.roles[bone]?.part;
        let is_inner = matches!(part, Part::UpperArm | Part::Forearm | Part::Thigh | Part::Shin);
        if found.contains_key(&part) && is_inner {
            return None;
        }
        found.entry(part).or_insert(bone);
    }
    Some(found)
}

/// Pairs two chains by the place of every head along them, 0 at the first and 1 at the last: a bone between two of the source's moves
/// between them. A single bone stands for the end of a chain, which carries what hangs on it.
pub(super) fn by_order(source: &Body, target: &Body, theirs: &[usize], own: &[usize]) -> Vec<(usize, Partner)> {
    let (from, to) = (places(source, theirs), places(target, own));
    let last = theirs.len() - 1;
    let partner = |place: f64| {
        if last == 0 {
            return Partner::one(theirs[0]);
        }
        let at = from.partition_point(|other| *other <= place + 1e-9).saturating_sub(1).min(last - 1);
        let part = ((place - from[at]) / (from[at + 1] - from[at])).clamp(0.0, 1.0);
        match part {
            part if part.is_nan() || part < 1e-6 => Partner::one(theirs[at]),
            part if part > 1.0 - 1e-6 => Partner::one(theirs[at + 1]),
            part => Partner { bone: theirs[at], next: theirs[at + 1], part, same_name: false },
        }
    };
    let place = |at: usize| if own.len() == 1 { 1.0 } else { to[at] };
    // As many bones as the source has go one to one.
    let one_to_one = theirs.len() == own.len();
    let pick = |at: usize| if one_to_one { Partner::one(theirs[at]) } else { partner(place(at)) };
    own.iter().enumerate().map(|(at, bone)| (*bone, pick(at))).collect()
}

/// The places of the heads of a chain along it, 0 to 1; evenly spread if all heads are in one place.
fn places(body: &Body, chain: &[usize]) -> Vec<f64> {
    let mut places = vec![0.0];
    for two in chain.windows(2) {
        let before = places[places.len() - 1];
        places.push(before + body.heads[two[0]].distance(body.heads[two[1]]));
    }
    let length = places[places.len() - 1];
    let count = (places.len() - 1).max(1) as f64;
    match length > 1e-9 * body.size {
        true => places.iter().map(|place| place / length).collect(),
        false => (0..places.len()).map(|at| at as f64 / count).collect(),
    }
}

/// The turn about the vertical, radians, that brings the source's rest pose to face as the target's does: the least-squares fit of the
/// paired heads as seen from above. Within 15° of a quarter turn it is that: characters are built along an axis, and postures differ.
pub(super) fn facing(source: &Body, target: &Body, partners: &[Option<Partner>]) -> f64 {
    let pairs: Vec<(DVec3, DVec3)> = (partners.iter().enumerate())
        .filter_map(|(bone, partner)| {
            partner.map(|partner| (source.heads[partner.bone] / source.size, target.heads[bone] / target.size))
        })
        .collect();
    let count = pairs.len().max(1) as f64;
    let (a, b) = pairs.iter().fold((DVec3::ZERO, DVec3::ZERO), |(a, b), pair| (a + pair.0 / count, b + pair.1 / count));
    let (mut sine, mut cosine) = (0.0, 0.0);
    for (p, q) in pairs.iter().map(|(p, q)| (*p - a, *q - b)) {
        // About Y, z turns to x.
        sine += p.z * q.x - p.x * q.z;
        cosine += p.x * q.x + p.z * q.z;
    }
    if sine.hypot(cosine) < 1e-6 * count {
        return 0.0;
    }
    let angle: f64 = f64::atan2(sine, cosine);
    let quarter = (angle / FRAC_PI_2).round() * FRAC_PI_2;
    if (angle - quarter).abs() < 15_f64.to_radians() { quarter } else { angle }
}
