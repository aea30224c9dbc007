//! A template reduced to its landmarks: the root, the joints where it branches, and its ends.
//!
//! Source: Baran & Popović 2007, section 3.2 (reduced skeletons): joints with one child are left out of the search and put back
//! along the way found.

use super::{Stance, Template};
use dermis_rig::glam::DVec3;

/// A reduced template.
#[derive(Clone, Debug, PartialEq)]
pub struct Reduced {
    /// Its landmarks, parents first, partners side by side; the first is the root.
    pub landmarks: Vec<Landmark>,
}

/// A landmark, and the chain that leads to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Landmark {
    /// The joint, or the joint that ends here.
    pub joint: usize,
    /// What it is.
    pub kind: LandmarkKind,
    /// The landmark before it.
    pub parent: Option<usize>,
    /// The joints from the parent landmark, which is left out, to this one: if it is a joint, it is the last.
    pub chain: Vec<usize>,
    /// The landmark on the other side; itself in the middle.
    pub partner: usize,
    /// Whether it may be missing.
    pub is_optional: bool,
}

/// What a landmark is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LandmarkKind {
    /// A joint where chains meet.
    Branch,
    /// A root that ends the shape.
    RootEnd,
    /// The end of a bone.
    End,
}

impl Landmark {
    /// Where it is in a stance.
    pub fn place(&self, stance: &Stance) -> DVec3 {
        match self.kind {
            LandmarkKind::End => stance.ends[self.joint].unwrap_or(stance.places[self.joint]),
            _ => stance.places[self.joint],
        }
    }

    /// The length of its chain in a stance, from its parent landmark.
    pub fn chain_length(&self, stance: &Stance, parent: DVec3) -> f64 {
        let mut at = parent;
        let mut length = 0.0;
        for p in self.chain.iter().map(|j| stance.places[*j]).chain([self.place(stance)]) {
            length += at.distance(p);
            at = p;
        }
        length
    }
}

impl Reduced {
    /// Reduces a template.
    pub fn new(template: &Template) -> Self {
        let count = template.joints.len();
        let hangs = |c: usize, j: usize| template.joints[c].parent == Some(j) && !template.joints[c].hints.rides;
        let children: Vec<Vec<usize>> = (0..count).map(|j| (0..count).filter(|c| hangs(*c, j)).collect()).collect();
        let branches = |j: usize| children[j].len() + usize::from(template.joints[j].hints.has_end) > 1;
        let root_kind = if branches(0) { LandmarkKind::Branch } else { LandmarkKind::RootEnd };
        let root = Landmark { joint: 0, kind: root_kind, parent: None, chain: vec![], partner: 0, is_optional: false };
        let mut landmarks = vec![root];
        let mut at = 0;
        while at < landmarks.len() {
            if landmarks[at].kind != LandmarkKind::End {
                let joint = landmarks[at].joint;
                // Partners side by side: a child of the left, then its partner.
                for &child in &children[joint] {
                    let (mut chain, mut last) = (vec![child], child);
                    while !branches(last) && children[last].len() == 1 {
                        last = children[last][0];
                        chain.push(last);
                    }
                    let kind = if branches(last) { LandmarkKind::Branch } else { LandmarkKind::End };
                    let is_optional = chain.iter().any(|j| template.joints[*j].hints.is_optional);
                    landmarks.push(Landmark { joint: last, kind, parent: Some(at), chain, partner: 0, is_optional });
                }
            }
            at += 1;
        }
        for at in 0..landmarks.len() {
            let partner = template.joints[landmarks[at].joint].partner;
            let same = |l: &Landmark| l.joint == partner && l.kind == landmarks[at].kind;
            landmarks[at].partner = landmarks.iter().position(same).unwrap_or(at);
        }
        Self { landmarks }
    }

    /// The landmarks that hang on one.
    pub fn children(&self, landmark: usize) -> impl Iterator<Item = usize> {
        (0..self.landmarks.len()).filter(move |l| self.landmarks[*l].parent == Some(landmark))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_reduce_to_where_they_branch_and_end() {
        let reduced = |name: &str| {
            let template = Template::named(name).unwrap();
            let of = Reduced::new(&template);
            of.landmarks.iter().map(|l| (template.joints[l.joint].name.clone(), l.kind)).collect::<Vec<_>>()
        };
        use LandmarkKind::{Branch, End, RootEnd};
        let is = |found: Vec<(String, LandmarkKind)>, wanted: &[(&str, LandmarkKind)]| {
            let found: Vec<(&str, LandmarkKind)> = found.iter().map(|(name, kind)| (name.as_str(), *kind)).collect();
            assert_eq!(found, wanted);
        };
        is(
            reduced("biped"),
            &[
                ("pelvis", Branch),
                ("spine_03", Branch),
                ("ball_l", End),
                ("ball_r", End),
                ("head", End),
                ("hand_l", End),
                ("hand_r", End),
            ],
        );
        assert_eq!(reduced("quadruped").len(), 8);
        assert_eq!(reduced("hand")[..2], [("lowerarm".into(), RootEnd), ("hand".into(), Branch)]);
    }
}
