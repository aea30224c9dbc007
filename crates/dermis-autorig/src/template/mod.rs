//! What is looked for in a mesh: a skeleton with its stances, and what its parts are.
//!
//! A [`Template`] is a tree of joints. Its *ends* are the tips of the last bones: toes, fingertips, the top of the head. A
//! template stands in several stances, because nobody knows how the character in the mesh stands. For the search it is
//! reduced to its landmarks (`reduce`): the root, the joints where it branches, and its ends.
//!
//! Places are in any unit, upright and facing +Z, the character's left at +X.

mod biped;
mod hand;
mod own;
mod quadruped;
mod reduce;

pub use own::TemplateError;
pub use reduce::{Landmark, LandmarkKind, Reduced};

use dermis_motion::anatomy::{Part, Side};
use dermis_rig::glam::{DAffine3, DVec3};
use dermis_rig::{BoneIndex, Skeleton, SkeletonError};

/// A skeleton to look for.
#[derive(Clone, Debug, PartialEq)]
pub struct Template {
    /// What it is called.
    pub name: String,
    /// The joints, parents first; the first is the root.
    pub joints: Vec<TemplateJoint>,
    /// Where it may stand.
    pub stances: Vec<Stance>,
    /// Which way the mesh may be turned.
    pub frames: Frames,
}

/// A joint of a template.
#[derive(Clone, Debug, PartialEq)]
pub struct TemplateJoint {
    /// Its name.
    pub name: String,
    /// Its parent, by index; `None` for the root.
    pub parent: Option<usize>,
    /// The part of the body that its bone is, if it is known.
    pub part: Option<Part>,
    /// The side that it is on.
    pub side: Side,
    /// The joint on the other side; a joint in the middle is its own partner.
    pub partner: usize,
    /// What is known of it.
    pub hints: Hints,
}

/// What is known of a joint.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Hints {
    /// The joint begins a limb: it lies so many radii of the limb within the trunk, from where the limb leaves it.
    pub depth: Option<f64>,
    /// Beside `depth`: the part of the way from where the limb leaves the trunk to the middle of the trunk.
    pub reach: f64,
    /// The bone ends at the tip of the shape.
    pub has_end: bool,
    /// The end stands on the ground.
    pub on_ground: bool,
    /// The end is thick: a head.
    pub is_bulb: bool,
    /// The joint is in a thick part of the body: a chest, hips.
    pub is_fat: bool,
    /// The limb may be missing: a tail.
    pub is_optional: bool,
    /// The joint is where its limb is narrow: a wrist, an ankle.
    pub is_narrow: bool,
    /// The joint is where its limb bends.
    pub bends: bool,
    /// The joint is no part of the search: it goes with the bone that it hangs on.
    pub rides: bool,
}

/// A way to stand.
#[derive(Clone, Debug, PartialEq)]
pub struct Stance {
    /// What it is called: "T", "A".
    pub name: String,
    /// The place of every joint.
    pub places: Vec<DVec3>,
    /// The place of the end of every joint that has one.
    pub ends: Vec<Option<DVec3>>,
}

/// Which way a mesh may be turned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frames {
    /// It stands upright and faces anywhere.
    Upright,
    /// It is turned anyhow, and may be the left or the right of a pair.
    Any,
}

/// The built-in templates, by name.
pub const BUILT_IN: [&str; 3] = ["biped", "quadruped", "hand"];

impl Template {
    /// The built-in template of that name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "biped" => Some(biped::template()),
            "quadruped" => Some(quadruped::template()),
            "hand" => Some(hand::template()),
            _ => None,
        }
    }

    /// The template as a skeleton in one of its stances: axes as those of the world.
    ///
    /// # Errors
    /// [`SkeletonError`] for names or parents that make no skeleton; those of the built-in templates do.
    pub fn skeleton(&self, stance: &Stance) -> Result<Skeleton, SkeletonError> {
        let names = self.joints.iter().map(|joint| joint.name.clone()).collect();
        let parents = self.joints.iter().map(|joint| joint.parent.map(BoneIndex::new)).collect();
        Skeleton::new(names, parents, stance.places.iter().map(|p| DAffine3::from_translation(*p)).collect())
    }

    /// The joint of that name.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.joints.iter().position(|joint| joint.name == name)
    }
}

/// One row of a built-in template: name without side, parent, part, place on the left or in the middle, hints. A name
/// that ends in `_` has a partner on the right.
pub(crate) struct Row {
    pub name: &'static str,
    pub parent: &'static str,
    pub part: Part,
    pub at: [f64; 3],
    /// The end of the bone, if it ends the shape.
    pub end: Option<[f64; 3]>,
    pub hints: Hints,
}

/// A built-in template from its rows; the places of the first stance are in the rows.
pub(crate) fn from_rows(name: &str, stance: &str, frames: Frames, rows: &[Row]) -> Template {
    let (mut joints, mut places, mut ends): (Vec<TemplateJoint>, Vec<DVec3>, Vec<Option<DVec3>>) = Default::default();
    let find = |joints: &[TemplateJoint], name: &str| joints.iter().position(|j| j.name == name);
    for row in rows {
        let sided = row.name.ends_with('_');
        let sides: &[(&str, f64, Side)] =
            if sided { &[("l", 1.0, Side::Left), ("r", -1.0, Side::Right)] } else { &[("", 1.0, Side::Middle)] };
        for (letter, sign, side) in sides {
            let mirrored = |p: [f64; 3]| DVec3::new(sign * p[0], p[1], p[2]);
            let parent = match row.parent.ends_with('_') {
                true => find(&joints, &format!("{}{letter}", row.parent)),
                false => find(&joints, row.parent),
            };
            let at = joints.len();
            let partner = if !sided {
                at
            } else if *side == Side::Left {
                at + 1
            } else {
                at - 1
            };
            let hints = Hints { has_end: row.end.is_some(), ..row.hints };
            let name = format!("{}{letter}", row.name);
            joints.push(TemplateJoint { name, parent, part: Some(row.part), side: *side, partner, hints });
            places.push(mirrored(row.at));
            ends.push(row.end.map(mirrored));
        }
    }
    let stances = vec![Stance { name: stance.into(), places, ends }];
    Template { name: name.into(), joints, stances, frames }
}

impl Template {
    /// Adds a stance: the first one, with the joints below some of them turned about these: (joint, axis, degrees). A joint with
    /// a partner turns the other way round there, as its mirror image.
    pub(crate) fn with_turned(mut self, name: &str, turns: &[(&str, DVec3, f64)]) -> Self {
        let mut stance = Stance { name: name.into(), ..self.stances[0].clone() };
        for (joint, axis, degrees) in turns {
            let Some(at) = self.find(joint) else { continue };
            let partner = self.joints[at].partner;
            let mirrored = DVec3::new(axis.x, -axis.y, -axis.z);
            self.turn(&mut stance, at, *axis, *degrees);
            if partner != at {
                self.turn(&mut stance, partner, mirrored, *degrees);
            }
        }
        self.stances.push(stance);
        self
    }

    fn turn(&self, stance: &mut Stance, joint: usize, axis: DVec3, degrees: f64) {
        let turn = dermis_rig::glam::DQuat::from_axis_angle(axis.normalize(), degrees.to_radians());
        let centre = stance.places[joint];
        for at in 0..self.joints.len() {
            let above = std::iter::successors(Some(at), |j| self.joints[*j].parent).any(|j| j == joint);
            if above {
                stance.places[at] = centre + turn * (stance.places[at] - centre);
                stance.ends[at] = stance.ends[at].map(|p| centre + turn * (p - centre));
            }
        }
    }
}
