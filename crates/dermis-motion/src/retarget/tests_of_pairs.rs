//! Every ordered pair of the known skeletons, by their names and without them: limbs get their partners, or the pair is refused.

use super::body::Body;
use super::pairs::{PairTable, PairedBy, Pairs, pair};
use super::{RetargetError, Unpaired};
use crate::body::table::{Known, known};
use crate::body::{Limb, Side};
use dermis_rig::glam::{DAffine3, DQuat, DVec3};
use dermis_rig::{BoneIndex, Skeleton};
use std::collections::BTreeMap;

/// A skeleton with the limb of every bone, as written by hand.
struct Planted {
    skeleton: Skeleton,
    limbs: Vec<Option<(Limb, Side)>>,
}

/// The part of a bone as a limb; trunk and neck are one.
fn limb(part: &str, side: Side) -> Option<(Limb, Side)> {
    let limb = match part {
        "Hips" if side == Side::Middle => Limb::Spine,
        "Root" | "Spine" | "Neck" => Limb::Spine,
        "Head" => Limb::Head,
        "Clavicle" | "UpperArm" | "Forearm" | "Hand" => Limb::Arm,
        "Haunch" | "Thigh" | "Shin" | "Foot" | "Toes" => Limb::Leg,
        _ => return None,
    };
    Some((limb, side))
}

/// Where the n-th bone of a part stands in a body of 1.7 metres that faces Z, on its left.
fn place(part: &str, n: usize, legs: usize) -> Option<[f64; 3]> {
    let n = n as f64;
    let upright = match part {
        "Root" => [0.0, 0.0, 0.0],
        "Hips" => [0.0, 1.0, 0.0],
        "Spine" => [0.0, 1.08 + 0.09 * n, 0.01],
        "Neck" => [0.0, 1.5 + 0.04 * n, 0.0],
        "Head" => [0.0, 1.62, 0.02],
        "Jaw" => [0.0, 1.6, 0.08],
        "Eye" => [0.03, 1.68, 0.1],
        "Ear" => [0.08, 1.7 + 0.02 * n, 0.0],
        "Face" => [0.02, 1.64, 0.11],
        "Clavicle" => [0.04, 1.45, 0.0],
        "UpperArm" => [0.18, 1.45, 0.0],
        "Forearm" => [0.45, 1.44, -0.01],
        "Hand" => [0.7, 1.43, 0.0],
        "Palm" => [0.73, 1.43, 0.02],
        "Thumb" => [0.73 + 0.02 * n, 1.42, 0.05 + 0.02 * n],
        "Finger" => [0.8 + 0.03 * n, 1.43, 0.0],
        "Haunch" => [0.08, 0.97, -0.02],
        "Thigh" => [0.1, 0.95, 0.0],
        "Shin" => [0.1, 0.52, 0.01],
        "Foot" => [0.1, 0.09, -0.01],
        "Toes" => [0.1, 0.02, 0.13],
        "Tail" => [0.0, 0.95 - 0.05 * n, -0.12 - 0.1 * n],
        _ => return None,
    };
    let level = match part {
        "Root" => [0.0, 0.0, 0.0],
        "Hips" => [0.0, 0.7, -0.4],
        "Spine" => [0.0, 0.72, -0.3 + 0.15 * n],
        "Neck" => [0.0, 0.8 + 0.1 * n, 0.5 + 0.1 * n],
        "Head" => [0.0, 0.95, 0.7],
        "Jaw" => [0.0, 0.92, 0.75],
        "Eye" => [0.03, 0.98, 0.75],
        "Ear" => [0.05, 1.05 + 0.02 * n, 0.68],
        "Clavicle" => [0.06, 0.7, 0.4],
        "UpperArm" => [0.1, 0.6, 0.38],
        "Forearm" => [0.1, 0.35, 0.35],
        "Hand" => [0.1, 0.06, 0.38],
        "Palm" => [0.1, 0.02, 0.42],
        "Haunch" => [0.06, 0.65, -0.4],
        "Thigh" => [0.1, 0.6, -0.42],
        "Shin" => [0.1, 0.38, -0.35],
        "Foot" => [0.1, 0.2, -0.45],
        "Toes" => [0.1, 0.03, -0.4],
        "Tail" => [0.0, 0.7 - 0.05 * n, -0.5 - 0.1 * n],
        _ => upright,
    };
    Some(if legs == 4 { level } else { upright })
}

/// A known skeleton at rest positions, with new names, turned about the vertical.
fn planted(known: &Known, names: impl Fn(usize, &str) -> String, turn: f64) -> Planted {
    let parents: Vec<Option<usize>> = known.skeleton.parents().iter().map(|p| p.map(BoneIndex::get)).collect();
    let legs = if known.is_biped { 2 } else { 4 };
    let mut heads: Vec<DVec3> = Vec::new();
    let mut count: Vec<usize> = Vec::new();
    for (bone, (part, side)) in known.expected.iter().enumerate() {
        let x = if *side == Side::Right { -1.0 } else { 1.0 };
        let mut above = parents[bone];
        let mut n = 0;
        while let Some(parent) = above {
            if known.expected[parent].0 == *part {
                n = count[parent] + 1;
                break;
            }
            above = parents[parent];
        }
        count.push(n);
        // Fingers of one hand spread; bones of no part stand beside their parent.
        let beside = 0.02 * (parents[..bone].iter().filter(|p| **p == parents[bone]).count() as f64);
        let parent = parents[bone].map_or(DVec3::ZERO, |parent| heads[parent]);
        heads.push(match place(part, n, legs) {
            Some(at) => DVec3::new(x * at[0], at[1], at[2] + if part == "Finger" { 0.04 - beside } else { 0.0 }),
            None => parent + DVec3::new(0.05 * x, -0.03, 0.01 + beside),
        });
    }
    let turn = DQuat::from_rotation_y(turn);
    let bind = heads.iter().map(|head| DAffine3::from_translation(turn * *head)).collect();
    let names = known.skeleton.names().iter().enumerate().map(|(bone, name)| names(bone, name)).collect();
    let skeleton = Skeleton::new(names, known.skeleton.parents().to_vec(), bind).unwrap();
    Planted { skeleton, limbs: known.expected.iter().map(|(part, side)| limb(part, *side)).collect() }
}

fn bodies() -> Vec<Known> {
    known().into_iter().filter(|known| known.convention != "Words beside bodies").collect()
}

/// Limbs of the target that a source with the same limb moves by another limb, as "left arm by right leg"; and the limbs without any partner.
fn mistakes(source: &Planted, target: &Planted) -> Result<(Vec<String>, Vec<(Limb, Side)>, PairedBy), RetargetError> {
    let mut from = Body::new(&source.skeleton, None)?;
    let mut to = Body::new(&target.skeleton, None)?;
    let found = pair(&mut from, &mut to, &PairTable::new(), Unpaired::Refused)?;
    let (mut wrong, mut moved) = (Vec::new(), BTreeMap::new());
    for (bone, partner) in found.partners.iter().enumerate() {
        let own = target.limbs[to.original[bone]];
        let Some(own) = own.filter(|own| source.limbs.contains(&Some(*own))) else { continue };
        let is_moved = moved.entry(own).or_insert(false);
        let Some(partner) = partner else { continue };
        *is_moved = true;
        let theirs = source.limbs[from.original[if partner.part < 0.5 { partner.bone } else { partner.next }]];
        // A neck may move by a bone of the head's chain, and the head by one of the neck's.
        let trunk = |limb: Option<(Limb, Side)>| {
            limb.map(|(limb, side)| (if limb == Limb::Head { Limb::Spine } else { limb }, side))
        };
        if theirs.is_some() && trunk(theirs) != trunk(Some(own)) {
            wrong.push(format!("{} is {own:?}, moved by {} of {theirs:?}", to.name(bone), from.name(partner.bone)));
        }
    }
    let lone = moved.into_iter().filter(|(_, is_moved)| !is_moved).map(|(limb, _)| limb).collect();
    Ok((wrong, lone, found.by))
}

fn own_name(_: usize, name: &str) -> String {
    name.to_owned()
}

fn number(bone: usize, _: &str) -> String {
    bone.to_string()
}

/// Names of a language that the dictionary does not know.
fn foreign(bone: usize, name: &str) -> String {
    format!("q{:x}w", name.bytes().fold(7 + bone as u32, |hash, byte| hash.wrapping_mul(31) ^ u32::from(byte)))
}

/// Oracle: the parts written by hand. Named bodies are never refused.
#[test]
fn named_bodies_pair_every_limb() {
    let (bodies, mut wrong) = (bodies(), Vec::new());
    assert!(bodies.len() >= 26);
    for source in &bodies {
        for target in &bodies {
            for turn in [0.0, 1.5] {
                match mistakes(&planted(source, own_name, 0.0), &planted(target, own_name, turn)) {
                    Ok((mistakes, lone, _)) if mistakes.is_empty() && lone.is_empty() => {}
                    other => wrong.push(format!("{} to {}: {other:?}", source.convention, target.convention)),
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}\n{}", wrong.len(), wrong.join("\n"));
}

/// Oracle: the parts written by hand, which the code cannot see. Numbers, and names of another language, on one or both of the characters.
#[test]
fn bodies_without_names_pair_right_or_are_refused() {
    let (bodies, mut wrong, mut paired, mut refused) = (bodies(), Vec::new(), 0, 0);
    let kinds: [fn(usize, &str) -> String; 3] = [own_name, number, foreign];
    for source in &bodies {
        for target in &bodies {
            for (from, to) in [(0, 1), (1, 0), (1, 1), (0, 2), (2, 0), (1, 2), (2, 1)] {
                for turn in [0.0, -std::f64::consts::FRAC_PI_2] {
                    let [own, theirs] = [planted(source, kinds[from], 0.0), planted(target, kinds[to], turn)];
                    match mistakes(&own, &theirs) {
                        Ok((mistakes, lone, _)) if mistakes.is_empty() && lone.is_empty() => paired += 1,
                        Err(RetargetError::NothingInCommon { .. } | RetargetError::LimbsWithoutPartner { .. }) => {
                            refused += 1;
                        }
                        other => wrong.push(format!(
                            "{} to {} ({from} {to} {turn}): {other:?}",
                            source.convention, target.convention
                        )),
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong, {paired} paired, {refused} refused\n{}", wrong.len(), wrong.join("\n"));
    assert!(paired > 4500, "{paired} paired, {refused} refused");
}

/// A copy of a tree with numbers for names is the same tree, also where it is turned; its half with the names of the whole is that half.
#[test]
fn equal_names_come_first() {
    for known in &bodies() {
        let all = planted(known, number, 0.0);
        for turn in [0.0, 1.5, 3.0] {
            let (mistakes, lone, _) = mistakes(&all, &planted(known, number, turn)).unwrap();
            assert!(mistakes.is_empty() && lone.is_empty(), "{}: {mistakes:?} {lone:?}", known.convention);
        }
        // What a motion of the trunk, the arms to the hand and the legs to the foot holds, of a rig with face, fingers and helpers.
        let whole = planted(known, foreign, 0.0);
        let is_kept = |bone: usize| whole.limbs[bone].is_some();
        let kept: Vec<usize> = (0..whole.limbs.len()).filter(|bone| is_kept(*bone)).collect();
        let parent = |bone: usize| {
            let mut above = whole.skeleton.parents()[BoneIndex::new(bone)].map(BoneIndex::get);
            while let Some(at) = above.filter(|at| !is_kept(*at)) {
                above = whole.skeleton.parents()[BoneIndex::new(at)].map(BoneIndex::get);
            }
            above.and_then(|above| kept.iter().position(|bone| *bone == above)).map(BoneIndex::new)
        };
        let part = Skeleton::new(
            kept.iter().map(|bone| whole.skeleton.names()[BoneIndex::new(*bone)].clone()).collect(),
            kept.iter().map(|bone| parent(*bone)).collect(),
            kept.iter().map(|bone| whole.skeleton.bind()[BoneIndex::new(*bone)]).collect(),
        );
        let (part, found) = paired(&part.unwrap(), &whole.skeleton, &PairTable::new()).unwrap();
        let to = Body::new(&whole.skeleton, None).unwrap();
        for (bone, partner) in found.partners.iter().enumerate().filter(|(bone, _)| is_kept(to.original[*bone])) {
            assert_eq!(partner.map(|p| part.name(p.bone)), Some(to.name(bone)), "{}", known.convention);
        }
    }
}

fn paired(source: &Skeleton, target: &Skeleton, table: &PairTable) -> Result<(Body, Pairs), RetargetError> {
    let (mut from, mut to) = (Body::new(source, None)?, Body::new(target, None)?);
    let pairs = pair(&mut from, &mut to, table, Unpaired::Refused)?;
    Ok((from, pairs))
}

/// Every body on a copy of itself in another language. What is refused holds the table to fill in, and the table filled in by hand is taken.
#[test]
fn a_refusal_holds_the_table_to_fill_in() {
    let (mut refused, mut lone) = (0, 0);
    for known in &bodies() {
        let [named, odd] = [own_name, foreign].map(|name: fn(usize, &str) -> String| planted(known, name, 0.0));
        let map = match paired(&named.skeleton, &odd.skeleton, &PairTable::new()) {
            Ok(_) => continue,
            Err(RetargetError::LimbsWithoutPartner { map, limbs, .. }) => {
                lone += 1;
                let partial = pair_partly(&named.skeleton, &odd.skeleton).unwrap();
                assert_eq!(partial.lone.is_empty(), limbs.is_empty(), "{}: {limbs}", known.convention);
                map
            }
            Err(RetargetError::NothingInCommon { map, .. }) => map,
            Err(other) => panic!("{other}"),
        };
        refused += 1;
        let names = |skeleton: &Skeleton| skeleton.names().to_vec();
        assert_eq!(map.iter().map(|(bone, _)| bone.clone()).collect::<Vec<_>>(), names(&odd.skeleton));
        assert!(map.iter().all(|(_, partner)| {
            partner.as_ref().is_none_or(|name| name.is_empty() || names(&named.skeleton).contains(name))
        }));
        // Bones of limbs by hand; the others as they are in the table, empty names included.
        let filled: PairTable = (map.into_iter().enumerate())
            .map(|(bone, (name, partner))| match named.limbs[bone] {
                Some(_) => (name, Some(named.skeleton.names()[BoneIndex::new(bone)].clone())),
                None => (name, partner),
            })
            .collect();
        let (_, found) = paired(&named.skeleton, &odd.skeleton, &filled).unwrap();
        assert!(found.lone.is_empty() && found.partners.iter().flatten().count() >= 10, "{}", known.convention);
    }
    assert!(refused >= 5 && lone >= 1, "{refused} {lone}");
}

fn pair_partly(source: &Skeleton, target: &Skeleton) -> Result<Pairs, RetargetError> {
    let (mut from, mut to) = (Body::new(source, None)?, Body::new(target, None)?);
    pair(&mut from, &mut to, &PairTable::new(), Unpaired::Allowed)
}

/// A limb whose bones a table leaves without partner is meant so.
#[test]
fn a_table_may_leave_a_limb_without_partner() {
    let known = bodies().into_iter().find(|known| known.convention == "Unreal").unwrap();
    let skeleton = planted(&known, own_name, 0.0).skeleton;
    let table = |bones: &[(&str, Option<&str>)]| -> PairTable {
        bones.iter().map(|(bone, partner)| ((*bone).to_owned(), partner.map(str::to_owned))).collect()
    };
    let lone = [("upperarm_l", None), ("lowerarm_l", None), ("hand_l", None)];
    assert!(paired(&skeleton, &skeleton, &table(&lone)).unwrap().1.lone.is_empty());
    // An empty name is not filled in yet: equal names count.
    let (_, found) = paired(&skeleton, &skeleton, &table(&[("upperarm_l", Some("")), ("hand_l", Some(""))])).unwrap();
    assert!(found.partners.iter().all(Option::is_some));
    let unknown = paired(&skeleton, &skeleton, &table(&[("upperarm_l", Some("wing"))])).err().unwrap();
    assert!(matches!(unknown, RetargetError::NoBone { .. }), "{unknown}");
}
