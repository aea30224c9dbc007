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

pub(super) fn pair(source: &Body, target: &Body) -> Option<Vec<Option<Partner>>> {
    let (theirs, own) = (Tree::new(source), Tree::new(target));
    if own.bones < 4 || theirs.bones < 4 {
        return None;
    }
    let mut best: Option<(f64, Vec<Option<Partner>>)> = None;
    for quarter in 0..4 {
        let turn = DQuat::from_rotation_y(f64::from(quarter) * FRAC_PI_2);
        let (partners, cost, used) = follow(&theirs, &own, turn);
        let found = partners.iter().flatten().count();
        if (found as f64) < LEAST * own.bones as f64 || (used as f64) < LEAST * theirs.bones as f64 {
            continue;
        }
        let score = cost / found as f64 - found as f64 / own.bones as f64;
        if best.as_ref().is_none_or(|(known, _)| score < known - 1e-9) {
            best = Some((score, partners));
        }
    }
    best.map(|(_, partners)| partners)
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
        Self { body, children, bones: counts[root], counts, means, root }
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
                let apart = (turn * seen(source, branch, fork)).distance(seen(target, own_branch, own_fork));
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
