//! Pairs by the shape of the trees, where names say nothing.
//!
//! From the root on, a chain of bones is paired with a chain; where both fork, branches are paired whose bones stand in the same direction
//! and are as many. The two characters may face any of four ways.

use super::body::Body;
use super::pairs::{Partner, by_order};
use dermis_rig::glam::{DQuat, DVec3};
use std::f64::consts::FRAC_PI_2;

/// The part of both trees that must find a partner, or the trees are of different kinds.
const LEAST: f64 = 0.6;
/// Branches of a fork that are compared.
const MOST_BRANCHES: usize = 64;
/// Branches whose bones stand farther apart than this, in sizes of the characters, are not paired.
const FARTHEST: f64 = 0.5;
/// Nor are those that stand more than 60° apart: an arm may hang or be stretched out, but a neck goes up.
const LEAST_COSINE: f64 = 0.5;
/// Nor those that begin at heights that differ by more than this part of the characters' heights: hips are at 0.55, shoulders at 0.85.
const LEVEL: f64 = 0.2;
/// Bones of a limb.
const LIMB: usize = 3;
/// Scores of two ways to face that differ by less say nothing.
const UNCLEAR: f64 = 3e-3;

pub(super) fn pair(source: &Body, target: &Body) -> Option<Vec<Option<Partner>>> {
    let (theirs, own) = (Tree::new(source), Tree::new(target));
    if own.bones < 4 || theirs.bones < 4 || source.has_four_legs != target.has_four_legs {
        return None;
    }
    // By quarters: what pairs cost, and the pairs.
    let found = [0_u8, 1, 2, 3].map(|quarter| {
        let turn = DQuat::from_rotation_y(f64::from(quarter) * FRAC_PI_2);
        let (partners, cost, used) = follow(&theirs, &own, turn);
        let found = partners.iter().flatten().count();
        let is_enough = found as f64 >= LEAST * own.bones as f64 && used as f64 >= LEAST * theirs.bones as f64;
        is_enough.then(|| (cost / found as f64 - found as f64 / own.bones as f64, partners))
    });
    let score = |quarter: usize| found[quarter].as_ref().map_or(f64::INFINITY, |(score, _)| *score);
    let best = (1..4).fold(0, |best, quarter| if score(quarter) < score(best) - UNCLEAR { quarter } else { best });
    // A tree that looks the same from its back: it has not been turned, unless it stands across.
    let is_unclear = best % 2 == 1 && (score(best) - score(4 - best)).abs() <= UNCLEAR;
    let (_, partners) = found.into_iter().nth(best)?.filter(|_| !is_unclear)?;
    let (mut paired, mut used) = (vec![false; own.body.len()], vec![false; theirs.body.len()]);
    for (bone, partner) in partners.iter().enumerate() {
        let Some(partner) = partner else { continue };
        (paired[bone], used[partner.bone], used[partner.next]) = (true, true, true);
    }
    let is_whole = !own.lacks_limbs(&paired) || !theirs.lacks_limbs(&used);
    is_whole.then_some(partners)
}

/// A body with what hangs below every bone. Ends of chains and twist bones are left out.
struct Tree<'a> {
    body: &'a Body,
    children: Vec<Vec<usize>>,
    /// Bones at and below.
    counts: Vec<usize>,
    /// Mean of the heads at and below.
    means: Vec<DVec3>,
    root: usize,
    bones: usize,
    /// The lowest and the highest head, metres.
    span: [f64; 2],
}

impl<'a> Tree<'a> {
    fn new(body: &'a Body) -> Self {
        let counted = |bone: usize| !body.is_end[bone] && !body.is_twist[bone];
        let mut children = vec![Vec::new(); body.len()];
        let mut counts = vec![0; body.len()];
        let mut sums = vec![DVec3::ZERO; body.len()];
        for bone in (0..body.len()).rev() {
            counts[bone] += usize::from(counted(bone));
            sums[bone] += if counted(bone) { body.heads[bone] } else { DVec3::ZERO };
            if let Some(parent) = body.parents[bone] {
                counts[parent] += counts[bone];
                sums[parent] = sums[parent] + sums[bone];
                if counts[bone] > 0 {
                    children[parent].push(bone);
                }
            }
        }
        children.iter_mut().for_each(|children| children.reverse());
        let means = sums.iter().zip(&counts).map(|(sum, count)| *sum / (*count).max(1) as f64).collect();
        let root =
            (0..body.len()).filter(|bone| body.parents[*bone].is_none()).max_by_key(|bone| counts[*bone]).unwrap_or(0);
        let heights = body.heads.iter().map(|head| head.y);
        let span = heights.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], y| [low.min(y), high.max(y)]);
        Self { body, children, bones: counts[root], counts, means, root, span }
    }

    /// Whether another branch of a fork begins as far away and as high, on the other side: an arm or a leg, and not the trunk.
    fn has_twin(&self, branch: usize, fork: usize) -> bool {
        let near = 0.01 * self.body.size;
        let begin = |branch: usize| {
            let way = self.body.heads[branch] - self.body.heads[fork];
            if way.length() > near { way } else { self.means[branch] - self.body.heads[fork] }
        };
        let own = begin(branch);
        self.children[fork].iter().filter(|other| **other != branch).map(|other| begin(*other)).any(|other| {
            let is_level = (own.y - other.y).abs() < near && (own.length() - other.length()).abs() < near;
            is_level && own.distance(other) > 2.0 * near
        })
    }

    /// Whether a branch with a twin, of as many bones as a limb, takes no part.
    fn lacks_limbs(&self, takes_part: &[bool]) -> bool {
        let mut parts: Vec<usize> = takes_part.iter().map(|takes_part| usize::from(*takes_part)).collect();
        for bone in (0..parts.len()).rev() {
            if let Some(parent) = self.body.parents[bone] {
                parts[parent] += parts[bone];
            }
        }
        let is_lone = |branch: usize, fork: usize| {
            parts[branch] == 0 && self.counts[branch] >= LIMB && self.has_twin(branch, fork)
        };
        (0..parts.len()).any(|fork| self.children[fork].iter().any(|branch| is_lone(*branch, fork)))
    }

    /// How high a bone's head is, 0 the lowest of the tree and 1 the highest; 0 of all in a flat one.
    fn height(&self, bone: usize) -> f64 {
        let [low, high] = self.span;
        if high - low > 0.1 * self.body.size { (self.body.heads[bone].y - low) / (high - low) } else { 0.0 }
    }

    /// The bones from `start` to the first fork or end.
    fn chain(&self, start: usize) -> Vec<usize> {
        let mut chain = vec![start];
        let mut at = start;
        while let [child] = self.children[at][..] {
            chain.push(child);
            at = child;
        }
        chain
    }
}

/// Partners, what they cost and how many bones of the source take part.
fn follow(source: &Tree<'_>, target: &Tree<'_>, turn: DQuat) -> (Vec<Option<Partner>>, f64, usize) {
    let mut partners = vec![None; target.body.len()];
    let (mut total, mut used) = (0.0, 0);
    let mut todo = vec![(source.root, target.root)];
    while let Some((theirs, own)) = todo.pop() {
        let (chain, own_chain) = (source.chain(theirs), target.chain(own));
        used += chain.len();
        for (bone, partner) in by_order(source.body, target.body, &chain, &own_chain) {
            partners[bone] = Some(partner);
        }
        let (fork, own_fork) = (chain[chain.len() - 1], own_chain[own_chain.len() - 1]);
        let seen =
            |tree: &Tree<'_>, branch: usize, fork: usize| (tree.means[branch] - tree.body.heads[fork]) / tree.body.size;
        let mut costs = Vec::new();
        for &branch in source.children[fork].iter().take(MOST_BRANCHES) {
            for &own_branch in target.children[own_fork].iter().take(MOST_BRANCHES) {
                let (way, own_way) = (turn * seen(source, branch, fork), seen(target, own_branch, own_fork));
                let apart = way.distance(own_way);
                let is_askew = way.dot(own_way) < LEAST_COSINE * way.length() * own_way.length() - 1e-9;
                let twins = [source.has_twin(branch, fork), target.has_twin(own_branch, own_fork)];
                if is_askew || twins[0] != twins[1] || (source.height(branch) - target.height(own_branch)).abs() > LEVEL
                {
                    continue;
                }
                let ratio = source.counts[branch] as f64 / target.counts[own_branch] as f64;
                costs.push((apart + 0.1 * ratio.ln().abs(), branch, own_branch));
            }
        }
        costs.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)).then(a.2.cmp(&b.2)));
        let (mut taken, mut own_taken) = (Vec::new(), Vec::new());
        for (cost, branch, own_branch) in costs {
            if cost <= FARTHEST && !taken.contains(&branch) && !own_taken.contains(&own_branch) {
                taken.push(branch);
                own_taken.push(own_branch);
                total += cost * target.counts[own_branch] as f64;
                todo.push((branch, own_branch));
            }
        }
    }
    (partners, total, used)
}
