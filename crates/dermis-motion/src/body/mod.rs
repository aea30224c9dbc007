//! Which part of a body every bone is: by its name, its place in the tree, and its place at rest.
//!
//! Names are cut into words at separators, digits and capitals; namespaces, prefixes and sides are taken off. One dictionary serves every
//! convention. A word that means different bones in different conventions, such as shoulder, arm, leg or a counted spine, is decided by the
//! bones above and below. Of a body whose names say nothing, the forks of the tree and the rest positions show trunk, arms and legs.

mod convention;
mod dictionary;
mod place;
#[cfg(test)]
pub(crate) mod table;
mod words;

pub use convention::Convention;

use dermis_rig::{BoneIndex, BoneVec, Skeleton};
use dictionary::Said;
use words::Words;

/// A part of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// What carries a whole character, below the hips.
    Root,
    /// What carries the legs and the spine; of a side, what carries one leg of a biped.
    Hips,
    /// A segment of the back, from the hips to the neck.
    Spine,
    /// A segment of the neck.
    Neck,
    /// The head.
    Head,
    /// The lower jaw.
    Jaw,
    /// An eyeball.
    Eye,
    /// Another part of the face.
    Face,
    /// A segment of an ear.
    Ear,
    /// The collar bone.
    Clavicle,
    /// From shoulder to elbow; of an animal the upper foreleg.
    UpperArm,
    /// From elbow to wrist; of an animal the lower foreleg.
    Forearm,
    /// The hand, or the forepaw.
    Hand,
    /// Within the hand, from the wrist to a knuckle.
    Palm,
    /// A segment of the thumb.
    Thumb,
    /// A segment of another finger.
    Finger,
    /// What carries the hind leg of an animal, beside the hips.
    Haunch,
    /// From hip to knee.
    Thigh,
    /// From knee to ankle.
    Shin,
    /// The foot, to the ball.
    Foot,
    /// The toes.
    Toes,
    /// A segment of a tail.
    Tail,
    /// A second segment of an arm or leg, which shows its twist.
    Twist,
    /// The end of a chain, without skin.
    End,
    /// A bone that follows others, such as a target of inverse kinematics.
    Helper,
}

/// A chain of parts, from the trunk outwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Limb {
    /// The root.
    Root,
    /// The hips.
    Hips,
    /// The back.
    Spine,
    /// The neck.
    Neck,
    /// The head.
    Head,
    /// The lower jaw.
    Jaw,
    /// An eyeball.
    Eye,
    /// An ear.
    Ear,
    /// A tail.
    Tail,
    /// Collar bone to hand.
    Arm,
    /// Haunch to toes.
    Leg,
    /// The thumb.
    Thumb,
    /// A finger, by [`Role::digit`].
    Finger(u8),
}

/// A side of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// The body's left.
    Left,
    /// The middle.
    Middle,
    /// The body's right.
    Right,
}

/// What a bone is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Role {
    /// The part.
    pub part: Part,
    /// Its side.
    pub side: Side,
    /// Which finger: 0 the thumb or unknown, 1 the index, 4 the little finger; 0 of other parts.
    pub digit: u8,
    /// How many bones of the same part, side and finger are above it.
    pub segment: u8,
}

impl Role {
    /// The limb that the bone belongs to; `None` of palms, faces and bones that follow others.
    pub fn limb(&self) -> Option<Limb> {
        Some(match self.part {
            Part::Root => Limb::Root,
            Part::Hips => Limb::Hips,
            Part::Spine => Limb::Spine,
            Part::Neck => Limb::Neck,
            Part::Head => Limb::Head,
            Part::Jaw => Limb::Jaw,
            Part::Eye => Limb::Eye,
            Part::Ear => Limb::Ear,
            Part::Tail => Limb::Tail,
            Part::Clavicle | Part::UpperArm | Part::Forearm | Part::Hand => Limb::Arm,
            Part::Haunch | Part::Thigh | Part::Shin | Part::Foot | Part::Toes => Limb::Leg,
            Part::Thumb => Limb::Thumb,
            Part::Finger => Limb::Finger(self.digit),
            Part::Face | Part::Palm | Part::Twist | Part::End | Part::Helper => return None,
        })
    }
}

/// What a bone was recognised by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JudgedBy {
    /// Its name.
    Name,
    /// Its place in the tree, or its rest position.
    Place,
    /// Nothing: the bone has no role.
    Nothing,
}

/// The bones of a skeleton as a body.
#[derive(Clone, Debug, PartialEq)]
pub struct Recognised {
    /// What every bone is; `None` where name and place say nothing.
    pub roles: BoneVec<Option<Role>>,
    /// What each was recognised by.
    pub by: BoneVec<JudgedBy>,
}

impl Recognised {
    /// Recognises the bones of a skeleton.
    pub fn new(skeleton: &Skeleton) -> Self {
        let words: Vec<Words> = skeleton.names().iter().map(|name| Words::new(name)).collect();
        let mut said: Vec<Option<Said>> = words.iter().map(Words::said).collect();
        let mut digits: Vec<u8> = words.iter().map(Words::digit).collect();
        number_fingers(&words, &mut said, &mut digits);
        let mut making = Making::new(skeleton, said, words.iter().map(|words| words.side).collect());
        for bone in 0..skeleton.len() {
            making.resolve(bone);
        }
        making.rigify(skeleton);
        making.trunk();
        if !making.names_body() {
            place::recognise(skeleton, &mut making);
        }
        making.finished(&digits)
    }

    /// Recognises trunk, arms and legs by the tree and the rest pose, whatever names say of them; nothing where place does not say which legs are the
    /// hind ones, or which side is left. Names still tell ends, twist bones and helpers.
    pub(crate) fn by_place(skeleton: &Skeleton) -> Placed {
        let words: Vec<Words> = skeleton.names().iter().map(|name| Words::new(name)).collect();
        let said: Vec<Option<Said>> = words.iter().map(Words::said).collect();
        let mut making = Making::new(skeleton, said, vec![Side::Middle; skeleton.len()]);
        for bone in 0..skeleton.len() {
            making.resolve(bone);
            if making.parts[bone].is_some_and(|part| BODY.contains(&part)) {
                (making.parts[bone], making.by[bone]) = (None, JudgedBy::Nothing);
            }
        }
        let has_four_legs = place::has_four_legs(skeleton, &making);
        if !has_four_legs && !place::has_unclear_sides(skeleton, &making) {
            place::recognise(skeleton, &mut making);
        }
        Placed { roles: making.finished(&vec![0; skeleton.len()]).roles, has_four_legs }
    }
}

/// Parts that the tree and the rest pose show.
const BODY: &[Part] = &[
    Part::Root,
    Part::Hips,
    Part::Spine,
    Part::Neck,
    Part::Head,
    Part::Clavicle,
    Part::UpperArm,
    Part::Forearm,
    Part::Hand,
    Part::Haunch,
    Part::Thigh,
    Part::Shin,
    Part::Foot,
    Part::Toes,
];

/// Whether a name tells bones apart by a number alone, as "12", "Bone.003" or "joint7".
pub(crate) fn is_number(name: &str) -> bool {
    let words = Words::new(name);
    words.side == Side::Middle && words.words.iter().all(|word| COUNTED.contains(&word.as_str()))
}

/// Words that exporters put before a number.
const COUNTED: &[&str] = &["node", "object", "item", "element", "segment", "null", "locator", "empty"];

/// What place shows of a body.
pub(crate) struct Placed {
    /// What bones of trunk, arms and legs are.
    pub roles: BoneVec<Option<Role>>,
    /// Whether it stands on four legs; no roles then.
    pub has_four_legs: bool,
}

/// By what the bones of a character were recognised.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judged {
    /// Bones recognised by their names.
    pub by_name: usize,
    /// The names of those recognised by their place in the tree, or at rest.
    pub by_place: Vec<String>,
    /// The names of those without role.
    pub unknown: Vec<String>,
}

impl Judged {
    /// Counts and lists the bones; `names` and `by` are in one order.
    pub fn new<'a>(names: impl IntoIterator<Item = &'a String>, by: impl IntoIterator<Item = &'a JudgedBy>) -> Self {
        let mut judged = Self::default();
        for (name, by) in names.into_iter().zip(by) {
            match by {
                JudgedBy::Name => judged.by_name += 1,
                JudgedBy::Place => judged.by_place.push(name.clone()),
                JudgedBy::Nothing => judged.unknown.push(name.clone()),
            }
        }
        judged
    }
}

impl std::fmt::Display for Judged {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} by name, {} by place, {} not known", self.by_name, self.by_place.len(), self.unknown.len())
    }
}

/// Fingers that are counted: from 0 the thumb in Biped, from 1 in MakeHuman, which goes to 5.
fn number_fingers(words: &[Words], said: &mut [Option<Said>], digits: &mut [u8]) {
    let first = if words.iter().any(|words| words.finger == Some(5)) { 1 } else { 0 };
    for bone in 0..words.len() {
        let counted = |words: &Words| words.finger.filter(|_| words.digit() == 0);
        if let (Some(Said::Sure(Part::Finger)), Some(number)) = (said[bone], counted(&words[bone])) {
            match number.checked_sub(first) {
                Some(0) => said[bone] = Some(Said::Sure(Part::Thumb)),
                Some(digit @ 1..=4) => digits[bone] = digit,
                _ => {}
            }
        }
    }
}

/// Parts as far as they are known.
struct Making {
    parents: Vec<Option<usize>>,
    said: Vec<Option<Said>>,
    sides: Vec<Side>,
    parts: Vec<Option<Part>>,
    by: Vec<JudgedBy>,
}

impl Making {
    fn new(skeleton: &Skeleton, said: Vec<Option<Said>>, sides: Vec<Side>) -> Self {
        let parents = skeleton.parents().iter().map(|parent| parent.map(BoneIndex::get)).collect();
        let count = skeleton.len();
        Self { parents, said, sides, parts: vec![None; count], by: vec![JudgedBy::Nothing; count] }
    }

    /// Whether names say where the trunk or a limb is.
    fn names_body(&self) -> bool {
        let limbs = [Part::Hips, Part::Spine, Part::UpperArm, Part::Forearm, Part::Thigh, Part::Shin, Part::Head];
        self.parts.iter().flatten().any(|part| limbs.contains(part))
    }

    /// The roles of all bones; `digits` are their fingers.
    fn finished(self, digits: &[u8]) -> Recognised {
        let mut roles: Vec<Option<Role>> = Vec::with_capacity(self.parts.len());
        for bone in 0..self.parts.len() {
            let role = self.parts[bone].map(|part| {
                let side = self.sides[bone];
                let digit = if part == Part::Finger { digits[bone] } else { 0 };
                let same = |other: &usize| {
                    roles[*other].is_some_and(|role: Role| (role.part, role.side, role.digit) == (part, side, digit))
                };
                let segment = self.above(bone).filter(same).count().min(255) as u8;
                Role { part, side, digit, segment }
            });
            roles.push(role);
        }
        Recognised { roles: BoneVec::new(roles), by: BoneVec::new(self.by) }
    }

    /// The bones above one, the nearest first.
    fn above(&self, bone: usize) -> impl Iterator<Item = usize> + '_ {
        std::iter::successors(self.parents[bone], |bone| self.parents[*bone])
    }

    /// Whether a bone of the same side above has that part.
    fn over(&self, bone: usize, part: Part) -> bool {
        self.above(bone).any(|above| self.parts[above] == Some(part) && self.sides[above] == self.sides[bone])
    }

    /// Whether a name below a bone says one of those.
    fn below(&self, bone: usize, wanted: &[Said]) -> bool {
        (bone + 1..self.said.len()).any(|other| {
            self.said[other].is_some_and(|said| wanted.contains(&said)) && self.above(other).any(|b| b == bone)
        })
    }

    fn judge(&mut self, bone: usize, part: Part, by: JudgedBy) {
        self.parts[bone] = Some(part);
        self.by[bone] = by;
    }

    /// The part of a bone whose name says something. The bones above it are resolved.
    fn resolve(&mut self, bone: usize) {
        use Said::{Arm, Foot, Hip, Leg, Shoulder, Sure, Wrist};
        let Some(said) = self.said[bone] else { return };
        let below = |wanted: &[Said]| self.below(bone, wanted);
        let over = |part: Part| self.over(bone, part);
        let (forearm, hand) = (Sure(Part::Forearm), Sure(Part::Hand));
        let part = match said {
            Foot if over(Part::Foot) => Part::Toes,
            Foot => Part::Foot,
            Wrist if !below(&[hand]) && !over(Part::Hand) && self.beside(bone, hand) => Part::Twist,
            Wrist => Part::Hand,
            Hip if below(&[Sure(Part::Thigh)]) => Part::Hips,
            Hip => Part::Thigh,
            Shoulder if below(&[Sure(Part::UpperArm)]) || (below(&[Arm]) && below(&[forearm])) => Part::Clavicle,
            Shoulder if over(Part::Clavicle) => Part::UpperArm,
            Shoulder if below(&[Sure(Part::Thigh), Leg]) => Part::Haunch,
            Shoulder if below(&[Arm]) => Part::Clavicle,
            Shoulder => Part::UpperArm,
            Arm if over(Part::Forearm) => {
                if below(&[hand, Wrist]) {
                    Part::Twist
                } else {
                    Part::Hand
                }
            }
            Arm if over(Part::UpperArm) => Part::Forearm,
            Arm => Part::UpperArm,
            Leg if over(Part::Shin) => {
                if below(&[Foot]) {
                    Part::Twist
                } else {
                    Part::Foot
                }
            }
            Leg if over(Part::Thigh) => Part::Shin,
            Leg if below(&[Sure(Part::Thigh)]) => Part::Haunch,
            Leg => Part::Thigh,
            // A second segment.
            Sure(part @ (Part::UpperArm | Part::Forearm | Part::Thigh | Part::Shin)) if over(part) => Part::Twist,
            Sure(part) => part,
        };
        let by = if matches!(said, Sure(_)) && part != Part::Twist || said == Foot {
            JudgedBy::Name
        } else {
            JudgedBy::Place
        };
        let by = if said == Sure(Part::Twist) { JudgedBy::Name } else { by };
        self.judge(bone, part, by);
    }

    /// Whether another bone of the same side says that.
    fn beside(&self, bone: usize, said: Said) -> bool {
        (0..self.said.len())
            .any(|other| other != bone && self.said[other] == Some(said) && self.sides[other] == self.sides[bone])
    }

    /// Rigify counts the trunk from "spine" to "spine.006": hips, three of the spine, two of the neck, the head.
    fn rigify(&mut self, skeleton: &Skeleton) {
        let counted = |name: &str| {
            name.rsplit([':', '|', '-']).next().and_then(|plain| plain.strip_prefix("spine")).map(str::to_owned)
        };
        let names: Vec<Option<String>> = skeleton.names().iter().map(|name| counted(name)).collect();
        if !names.iter().flatten().any(|rest| rest == ".006") {
            return;
        }
        for (bone, rest) in names.iter().enumerate() {
            match rest.as_deref() {
                Some("") => self.judge(bone, Part::Hips, JudgedBy::Name),
                Some(".004" | ".005") => self.judge(bone, Part::Neck, JudgedBy::Name),
                Some(".006") => self.judge(bone, Part::Head, JudgedBy::Name),
                _ => {}
            }
        }
    }

    fn find(&self, part: Part, side: Side) -> Option<usize> {
        (0..self.parts.len()).find(|bone| self.parts[*bone] == Some(part) && self.sides[*bone] == side)
    }

    /// The lowest bone above both bones.
    fn common(&self, one: usize, two: usize) -> Option<usize> {
        self.above(one).find(|above| self.above(two).any(|other| other == *above))
    }

    /// Hips that are not called so carry both thighs. Of a counted spine, bones past the arms are neck and head.
    fn trunk(&mut self) {
        let both = |part: Part| self.find(part, Side::Left).zip(self.find(part, Side::Right));
        let carrier = |part: Part| both(part).and_then(|(left, right)| self.common(left, right));
        let (legs, arms) = (carrier(Part::Thigh), carrier(Part::UpperArm));
        if let Some(hips) = legs.filter(|_| self.find(Part::Hips, Side::Middle).is_none())
            && matches!(self.parts[hips], None | Some(Part::Root | Part::Spine))
        {
            self.sides[hips] = Side::Middle;
            self.judge(hips, Part::Hips, JudgedBy::Place);
        }
        let Some(arms) = arms.filter(|_| self.find(Part::Neck, Side::Middle).is_none()) else { return };
        let is_spine = |bone: &usize| self.parts[*bone] == Some(Part::Spine);
        let past: Vec<usize> = (0..self.parts.len())
            .filter(is_spine)
            .filter(|bone| self.above(*bone).any(|above| above == arms))
            .collect();
        let Some((&last, before)) = past.split_last() else { return };
        match self.find(Part::Head, Side::Middle) {
            Some(head) => {
                let leading: Vec<usize> =
                    past.iter().copied().filter(|bone| self.above(head).any(|b| b == *bone)).collect();
                leading.into_iter().for_each(|bone| self.judge(bone, Part::Neck, JudgedBy::Place));
            }
            None => {
                before.iter().for_each(|bone| self.judge(*bone, Part::Neck, JudgedBy::Place));
                self.judge(last, Part::Head, JudgedBy::Place);
            }
        }
    }
}
