//! A body whose names say nothing, by the forks of its tree and its rest positions.
//!
//! The fork that carries two legs is the hips, the fork above it that carries two arms ends the back. Legs reach the lowest, on both sides of
//! the hips. Up is +Y.

use super::{JudgedBy, Making, Part, Side};
use dermis_rig::Skeleton;
use dermis_rig::glam::DVec3;

/// Ends of a pair may differ in height by this part of the character's size.
const LEVEL: f64 = 0.1;
/// Toes that point forward by less than this part of the size say nothing.
const FACES: f64 = 0.01;
/// Ends of a pair are farther apart than this part of the size.
const APART: f64 = 0.02;

/// Names trunk, arms and legs of bones without part.
pub(super) fn recognise(skeleton: &Skeleton, making: &mut Making) {
    let tree = Tree::new(skeleton, making);
    let Some((hips, legs)) = tree.legs() else { return };
    let across = tree.heads[legs[0][0]] - tree.heads[legs[1][0]];
    // Without toes left is +X, as of a character that faces +Z.
    let facing = tree.facing(&legs);
    let is_left = if facing.abs() > 1e-6 * tree.size * tree.size { facing > 0.0 } else { across.x > 0.0 };
    let side = |first: bool| if first == is_left { Side::Left } else { Side::Right };
    let mut name = |bone: usize, part: Part, side: Side| {
        making.sides[bone] = side;
        making.judge(bone, part, JudgedBy::Place);
    };
    name(hips, Part::Hips, Side::Middle);
    for (at, leg) in legs.iter().enumerate() {
        for (bone, part) in leg.iter().zip([Part::Thigh, Part::Shin, Part::Foot, Part::Toes]) {
            name(*bone, part, side(at == 0));
        }
    }
    let Some((back, arms, rest)) = tree.arms(hips, &legs) else { return };
    back.iter().for_each(|bone| name(*bone, Part::Spine, Side::Middle));
    for arm in &arms {
        let parts = [Part::Clavicle, Part::UpperArm, Part::Forearm, Part::Hand];
        let from = if arm.len() > 3 { 0 } else { 1 };
        let left = (tree.heads[arm[0]] - tree.heads[hips]).dot(if is_left { across } else { -across }) > 0.0;
        for (bone, part) in arm.iter().zip(&parts[from..]) {
            name(*bone, *part, if left { Side::Left } else { Side::Right });
        }
    }
    if let Some((head, neck)) = rest.split_last() {
        neck.iter().for_each(|bone| name(*bone, Part::Neck, Side::Middle));
        name(*head, Part::Head, Side::Middle);
    }
}

/// Whether a pair beside the legs goes down as well, and begins farther along the ground than above them.
pub(super) fn has_four_legs(skeleton: &Skeleton, making: &Making) -> bool {
    let tree = Tree::new(skeleton, making);
    let Some((_, legs)) = tree.legs() else { return false };
    let begin = |pair: [usize; 2]| 0.5 * (tree.heads[pair[0]] + tree.heads[pair[1]]);
    let hips = begin([legs[0][0], legs[1][0]]);
    (0..tree.heads.len()).flat_map(|fork| tree.pair(fork)).any(|pair| {
        let way = begin(pair) - hips;
        let is_level = way.y.abs() < way.x.hypot(way.z) && way.length() > LEVEL * tree.size;
        is_level && begin(pair).y - tree.lowest(pair[0]) > LEVEL * tree.size
    })
}

/// Whether place does not say which leg is the left one: nothing shows the way that the body faces, and it does not stand across X.
pub(super) fn has_unclear_sides(skeleton: &Skeleton, making: &Making) -> bool {
    let tree = Tree::new(skeleton, making);
    let Some((_, legs)) = tree.legs() else { return false };
    let across = tree.heads[legs[0][0]] - tree.heads[legs[1][0]];
    tree.facing(&legs).abs() <= FACES * tree.size * across.length() && across.x.abs() < across.z.abs()
}

struct Tree {
    parents: Vec<Option<usize>>,
    children: Vec<Vec<usize>>,
    /// Bones at and below.
    counts: Vec<usize>,
    heads: Vec<DVec3>,
    size: f64,
}

impl Tree {
    fn new(skeleton: &Skeleton, making: &Making) -> Self {
        let parents = making.parents.clone();
        let heads: Vec<DVec3> = skeleton.bind().iter().map(|bind| bind.translation).collect();
        let mut children = vec![Vec::new(); heads.len()];
        let mut counts = vec![1; heads.len()];
        for bone in (0..heads.len()).rev() {
            if let Some(parent) = parents[bone].filter(|_| making.parts[bone].is_none()) {
                counts[parent] += counts[bone];
                children[parent].push(bone);
            }
        }
        let low = heads.iter().copied().reduce(DVec3::min).unwrap_or_default();
        let high = heads.iter().copied().reduce(DVec3::max).unwrap_or_default();
        Self { parents, children, counts, heads, size: (high - low).length() }
    }

    /// The bones from `start` to the first fork or end.
    fn chain(&self, start: usize) -> Vec<usize> {
        std::iter::successors(Some(start), |bone| match self.children[*bone][..] {
            [child] => Some(child),
            _ => None,
        })
        .collect()
    }

    /// Positive if the first leg is the left one, by the way from feet to toes: forward = left × up. Square metres.
    fn facing(&self, legs: &[Vec<usize>; 2]) -> f64 {
        let toe = |leg: &Vec<usize>| self.heads[leg[leg.len() - 1]] - self.heads[leg[2.min(leg.len() - 1)]];
        let toe = legs.iter().map(toe).sum::<DVec3>();
        let across = self.heads[legs[0][0]] - self.heads[legs[1][0]];
        across.cross(DVec3::Y).dot(DVec3::new(toe.x, 0.0, toe.z))
    }

    /// The lowest head of the chain from `start`.
    fn lowest(&self, start: usize) -> f64 {
        self.chain(start).iter().map(|bone| self.heads[*bone].y).fold(f64::INFINITY, f64::min)
    }

    /// The two children of a fork that are alike: as many bones, as long and as high, on both sides.
    fn pair(&self, fork: usize) -> Vec<[usize; 2]> {
        let mut pairs = Vec::new();
        let children = &self.children[fork];
        for (at, &a) in children.iter().enumerate() {
            for &b in &children[at + 1..] {
                let [from, to] = [a, b].map(|bone| *self.chain(bone).last().unwrap_or(&bone));
                let (p, q) = (self.heads[from] - self.heads[fork], self.heads[to] - self.heads[fork]);
                let level =
                    (p.y - q.y).abs() < LEVEL * self.size && (p.length() - q.length()).abs() < LEVEL * self.size;
                let apart = p.distance(q) > APART * self.size;
                if self.counts[a] == self.counts[b] && self.chain(a).len() == self.chain(b).len() && level && apart {
                    pairs.push([a, b]);
                }
            }
        }
        pairs
    }

    /// The fork that carries two legs, and the legs: of the forks with a pair that goes down, the lowest ends.
    fn legs(&self) -> Option<(usize, [Vec<usize>; 2])> {
        let mut found: Option<(f64, usize, [Vec<usize>; 2])> = None;
        for fork in 0..self.heads.len() {
            for pair in self.pair(fork) {
                let lowest = self.lowest(pair[0]);
                let legs = pair.map(|bone| self.chain(bone));
                let long = self.heads[fork].y - lowest > 0.25 * self.size;
                if (2..=4).contains(&legs[0].len()) && long && found.as_ref().is_none_or(|(other, ..)| lowest < *other)
                {
                    found = Some((lowest, fork, legs));
                }
            }
        }
        found.map(|(_, fork, legs)| (fork, legs))
    }

    /// The back from the hips to the fork of the arms, the arms, and what goes on to the head.
    #[allow(clippy::type_complexity)]
    fn arms(&self, hips: usize, legs: &[Vec<usize>; 2]) -> Option<(Vec<usize>, [Vec<usize>; 2], Vec<usize>)> {
        let under = |bone: usize| std::iter::successors(Some(bone), |b| self.parents[*b]).any(|b| b == hips);
        let is_leg = |bone: &usize| legs.iter().any(|leg| leg[0] == *bone);
        let mut found: Option<(usize, usize, [usize; 2])> = None;
        for fork in (hips..self.heads.len()).filter(|fork| under(*fork)) {
            for pair in self.pair(fork) {
                let bones = self.counts[pair[0]];
                if !is_leg(&pair[0]) && self.chain(pair[0]).len() >= 3 && found.is_none_or(|(most, ..)| bones > most) {
                    found = Some((bones, fork, pair));
                }
            }
        }
        let (_, fork, pair) = found?;
        let mut back: Vec<usize> =
            std::iter::successors(Some(fork), |b| self.parents[*b]).take_while(|bone| *bone != hips).collect();
        back.reverse();
        let rest = self.children[fork].iter().copied().filter(|bone| !pair.contains(bone));
        let highest =
            |bone: &usize| self.chain(*bone).iter().map(|b| self.heads[*b].y).fold(f64::NEG_INFINITY, f64::max);
        let head =
            rest.filter(|bone| highest(bone) > self.heads[fork].y).max_by(|a, b| highest(a).total_cmp(&highest(b)));
        Some((back, pair.map(|bone| self.chain(bone)), head.map(|bone| self.chain(bone)).unwrap_or_default()))
    }
}
