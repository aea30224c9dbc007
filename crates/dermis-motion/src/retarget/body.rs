//! A character as it is retargeted: its bones in one tree, with limbs.

use crate::body::{JudgedBy, Limb, Part, Placed, Recognised, Role, Side};
use dermis_rig::glam::{DAffine3, DVec3};
use dermis_rig::{BoneIndex, Influences, Skeleton, SkeletonError};
use std::collections::BTreeMap;

/// Bones of a character in one tree, parents first.
///
/// Rigs for animation hang feet and hands that inverse kinematics holds on roots of their own. Such a root is hung on the bone that its
/// skin is shared with most, else on the bone whose head is nearest at rest: a foot then follows its leg.
pub(super) struct Body {
    /// The tree, in an order of its own.
    pub skeleton: Skeleton,
    /// The bone of the character that bone i of the tree is.
    pub original: Vec<usize>,
    /// Parents in the tree, and children.
    pub parents: Vec<Option<usize>>,
    pub children: Vec<Vec<usize>>,
    /// Heads at rest, metres.
    pub heads: Vec<DVec3>,
    /// What bones of limbs are; nothing of a tree without names, which is paired by its shape.
    pub roles: Vec<Option<Role>>,
    /// The same with the parts that place alone shows: all of a tree without names, else of an arm, a leg, the back and the head that no
    /// name says.
    pub shown: Vec<Option<Role>>,
    /// Whether names say what bones of limbs are.
    pub has_names: bool,
    /// Whether place shows four legs.
    pub has_four_legs: bool,
    /// What every bone was recognised by.
    pub judged_by: Vec<JudgedBy>,
    pub is_twist: Vec<bool>,
    /// The end of a chain, where nothing is skinned.
    pub is_end: Vec<bool>,
    /// Roots that were hung on a bone: root and bone.
    pub hung: Vec<(usize, usize)>,
    /// The diagonal of the box around the heads, metres; never zero.
    pub size: f64,
}

impl Body {
    pub fn new(skeleton: &Skeleton, weights: Option<&Influences>) -> Result<Self, SkeletonError> {
        let count = skeleton.len();
        let parents: Vec<Option<usize>> = skeleton.parents().iter().map(|parent| parent.map(BoneIndex::get)).collect();
        let roots: Vec<usize> = (0..count).filter(|bone| parents[*bone].is_none()).collect();
        let root_of = |bone: usize| {
            let mut at = bone;
            while let Some(parent) = parents[at] {
                at = parent;
            }
            at
        };
        let tops: Vec<usize> = (0..count).map(root_of).collect();
        let bones_below = |root: usize| tops.iter().filter(|top| **top == root).count();
        let main = roots.iter().copied().max_by_key(|root| (bones_below(*root), count - root)).unwrap_or(0);
        let mut hung = Vec::new();
        let mut joined: Vec<i64> = parents.iter().map(|parent| parent.map_or(-1, |parent| parent as i64)).collect();
        if roots.len() > 1 {
            let shared = weights.map(|weights| shared_skin(weights, &tops, main)).unwrap_or_default();
            for &root in roots.iter().filter(|root| **root != main) {
                let near = |bone: &usize| skeleton.bind()[BoneIndex::new(*bone)].translation;
                let head = near(&root);
                let nearest = || {
                    let main = (0..count).filter(|bone| tops[*bone] == main);
                    main.min_by(|a, b| near(a).distance(head).total_cmp(&near(b).distance(head)))
                };
                if let Some(bone) = shared.get(&root).copied().or_else(nearest) {
                    joined[root] = bone as i64;
                    hung.push((root, bone));
                }
            }
        }
        let bind: Vec<DAffine3> = skeleton.bind().to_vec();
        let (tree, original) = Skeleton::sorted(skeleton.names().to_vec(), &joined, &bind)?;
        let mut place = vec![0; count];
        original.iter().enumerate().for_each(|(new, old)| place[*old] = new);
        let parents: Vec<Option<usize>> = tree.parents().iter().map(|parent| parent.map(BoneIndex::get)).collect();
        let mut children = vec![Vec::new(); count];
        for (bone, parent) in parents.iter().enumerate() {
            if let Some(parent) = parent {
                children[*parent].push(bone);
            }
        }
        let heads: Vec<DVec3> = tree.bind().iter().map(|bind| bind.translation).collect();
        let found = Recognised::new(&tree);
        // Trees without names are paired by their shape.
        let is_named = |(role, by): (&Option<Role>, &JudgedBy)| {
            *by == JudgedBy::Name && role.is_some_and(|role| role.limb().is_some())
        };
        let has_names = found.roles.iter().zip(found.by.iter()).any(is_named);
        let is = |part: Part| found.roles.iter().map(|role| role.is_some_and(|role| role.part == part)).collect();
        let (low, high) =
            heads.iter().fold((heads[0], heads[0]), |(low, high), head| (low.min(*head), high.max(*head)));
        let size = (high - low).length();
        let mut body = Self {
            original,
            parents,
            children,
            heads,
            roles: found.roles.iter().map(|role| role.filter(|role| has_names && role.limb().is_some())).collect(),
            shown: Vec::new(),
            has_names,
            has_four_legs: false,
            is_twist: is(Part::Twist),
            is_end: is(Part::End),
            judged_by: found.by.to_vec(),
            hung: hung.into_iter().map(|(root, bone)| (place[root], place[bone])).collect(),
            size: if size > 0.0 { size } else { 1.0 },
            skeleton: tree,
        };
        let skinned = body.skinned(weights, &place);
        body.end_limbs(&skinned);
        let placed = Recognised::by_place(&body.skeleton);
        (body.shown, body.has_four_legs) = (body.completed(&placed), placed.has_four_legs);
        if has_names {
            for (bone, judged_by) in body.judged_by.iter_mut().enumerate() {
                if body.shown[bone] != body.roles[bone] {
                    *judged_by = JudgedBy::Place;
                }
            }
            body.roles.clone_from(&body.shown);
        }
        Ok(body)
    }

    /// Goes by what place shows, for a tree without names whose shape found no partner.
    pub fn go_by_place(&mut self) {
        self.roles.clone_from(&self.shown);
    }

    /// Whether an arm or a leg is known, by name or place.
    pub fn has_limbs(&self) -> bool {
        self.shown.iter().flatten().any(|role| matches!(role.limb(), Some(Limb::Arm | Limb::Leg)))
    }

    /// The roles that names say, and by place those of an arm, a leg, the back and the head that names do not say.
    ///
    /// Place tells the two sides apart, but not always which is which: names of other limbs say so.
    fn completed(&self, placed: &Placed) -> Vec<Option<Role>> {
        let mut shown = self.roles.clone();
        let (mut same, mut crossed) = (0, 0);
        for (named, placed) in self.roles.iter().zip(placed.roles.iter()) {
            if let (Some(named), Some(placed)) = (named, placed)
                && named.side != Side::Middle
                && placed.side != Side::Middle
            {
                *if named.side == placed.side { &mut same } else { &mut crossed } += 1;
            }
        }
        let side = |side: Side| match side {
            Side::Left if crossed > same => Side::Right,
            Side::Right if crossed > same => Side::Left,
            side => side,
        };
        for (bone, placed) in placed.roles.iter().enumerate() {
            let Some(placed) = placed.map(|role| Role { side: side(role.side), ..role }) else { continue };
            let fills = match self.has_names {
                true => matches!(placed.limb(), Some(Limb::Arm | Limb::Leg | Limb::Spine | Limb::Head)),
                false => placed.limb().is_some(),
            };
            let same = |role: &Role| (role.limb(), role.side) == (placed.limb(), placed.side);
            let is_said = self.roles.iter().flatten().any(same);
            if fills && !is_said && !(self.has_names && self.judged_by[bone] != JudgedBy::Nothing) {
                shown[bone] = Some(placed);
            }
        }
        shown
    }

    pub fn len(&self) -> usize {
        self.heads.len()
    }

    pub fn name(&self, bone: usize) -> &str {
        &self.skeleton.names()[BoneIndex::new(bone)]
    }

    /// Whether `above` is `bone` or stands above it in the tree.
    pub fn is_above(&self, above: usize, bone: usize) -> bool {
        let mut at = Some(bone);
        while let Some(here) = at.filter(|here| *here >= above) {
            if here == above {
                return true;
            }
            at = self.parents[here];
        }
        false
    }

    /// Bones of a limb that hang below one another, from the trunk outwards: of several branches the one that begins first.
    pub fn limb(&self, limb: Limb, side: Side) -> Vec<usize> {
        self.limb_by(&self.roles, limb, side)
    }

    /// The same by other roles.
    pub fn limb_by(&self, roles: &[Option<Role>], limb: Limb, side: Side) -> Vec<usize> {
        let mut chain: Vec<usize> = Vec::new();
        for bone in 0..self.len() {
            let belongs = roles[bone].is_some_and(|role| role.limb() == Some(limb) && role.side == side);
            if belongs && chain.last().is_none_or(|last| self.is_above(*last, bone)) {
                chain.push(bone);
            }
        }
        chain
    }

    /// Every limb that has a bone.
    pub fn limbs(&self) -> Vec<(Limb, Side)> {
        let mut found: Vec<(Limb, Side)> =
            self.roles.iter().flatten().filter_map(|role| Some((role.limb()?, role.side))).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The first bone with a part.
    pub fn find(&self, part: Part, side: Side) -> Option<usize> {
        self.roles.iter().position(|role| role.is_some_and(|role| (role.part, role.side) == (part, side)))
    }

    /// The lowest head at rest, metres.
    pub fn lowest(&self) -> f64 {
        self.heads.iter().map(|head| head.y).fold(f64::INFINITY, f64::min)
    }

    fn skinned(&self, weights: Option<&Influences>, place: &[usize]) -> Vec<f64> {
        let mut sums = vec![0.0; self.len()];
        for (bone, weight) in weights.iter().flat_map(|weights| weights.rows()).flatten() {
            if let Some(place) = place.get(bone.get()) {
                sums[*place] += weight;
            }
        }
        sums
    }

    /// A leg without a foot, or an arm without a hand, below which one chain without a name goes on, has its foot or hand there: the bone
    /// with the most skin, else the first.
    fn end_limbs(&mut self, skinned: &[f64]) {
        for (limb, end, ends) in
            [(Limb::Leg, Part::Foot, &[Part::Foot, Part::Toes][..]), (Limb::Arm, Part::Hand, &[Part::Hand][..])]
        {
            for side in [Side::Left, Side::Right] {
                let chain = self.limb(limb, side);
                let Some(&last) = chain.last() else { continue };
                if chain.len() < 2
                    || chain.iter().any(|bone| self.roles[*bone].is_some_and(|role| ends.contains(&role.part)))
                {
                    continue;
                }
                let mut below = Vec::new();
                let mut at = last;
                while let [child] = self.children[at][..] {
                    if self.roles[child].is_some() || self.is_twist[child] || self.is_end[child] {
                        break;
                    }
                    below.push(child);
                    at = child;
                }
                let best = below.iter().copied().reduce(|a, b| if skinned[b] > skinned[a] { b } else { a });
                if let Some(best) = best {
                    self.roles[best] = Some(Role { part: end, side, digit: 0, segment: 0 });
                    self.judged_by[best] = JudgedBy::Place;
                }
            }
        }
    }
}

/// For every root but the main one: the bone below the main root that its bones share the most skin with, Σ_v w_va w_vb.
fn shared_skin(weights: &Influences, tops: &[usize], main: usize) -> BTreeMap<usize, usize> {
    let mut sums: BTreeMap<usize, BTreeMap<usize, f64>> = BTreeMap::new();
    for row in weights.rows() {
        let known =
            || row.iter().filter(|(bone, _)| bone.get() < tops.len()).map(|(bone, weight)| (bone.get(), *weight));
        for (other, w) in known().filter(|(bone, _)| tops[*bone] != main) {
            for (bone, v) in known().filter(|(bone, _)| tops[*bone] == main) {
                *sums.entry(tops[other]).or_default().entry(bone).or_default() += w * v;
            }
        }
    }
    let best =
        |bones: &BTreeMap<usize, f64>| bones.iter().reduce(|a, b| if b.1 > a.1 { b } else { a }).map(|(bone, _)| *bone);
    sums.iter().filter_map(|(root, bones)| Some((*root, best(bones)?))).collect()
}
