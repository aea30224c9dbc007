//! What a bone's name says: which part of the body it is, and on which side.
//!
//! One table serves the names of Mixamo, Unreal, Rigify, HumanIK, the BVH files of Carnegie Mellon, 3ds Max Biped, and plain words. A name is
//! first taken apart: what stands before ":" or "|" goes, "LeftUpLeg", "upper_arm.L" and "lShldr" become words, words that every bone of a
//! convention carries ("mixamorig", "Bip01", "DEF", "jnt") and numbers go, and so does the side. What is left is looked up.

/// A part of a body. Parts of one [`Limb`] stand from the trunk outwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Part {
    Root,
    Hips,
    Spine,
    Neck,
    Head,
    Jaw,
    Eye,
    Ear,
    Tail,
    Clavicle,
    UpperArm,
    LowerArm,
    Hand,
    /// A bone of a leg that is called just that: a thigh or a shin.
    Leg,
    Thigh,
    Shin,
    Foot,
    Toe,
    Thumb,
    Index,
    Middle,
    Ring,
    Pinky,
}

/// A chain of bones that is paired as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Limb {
    Root,
    Hips,
    Spine,
    Neck,
    Head,
    Jaw,
    Eye,
    Ear,
    Tail,
    Arm,
    Leg,
    Finger(Part),
}

impl Part {
    pub fn limb(self) -> Limb {
        match self {
            Self::Root => Limb::Root,
            Self::Hips => Limb::Hips,
            Self::Spine => Limb::Spine,
            Self::Neck => Limb::Neck,
            Self::Head => Limb::Head,
            Self::Jaw => Limb::Jaw,
            Self::Eye => Limb::Eye,
            Self::Ear => Limb::Ear,
            Self::Tail => Limb::Tail,
            Self::Clavicle | Self::UpperArm | Self::LowerArm | Self::Hand => Limb::Arm,
            Self::Leg | Self::Thigh | Self::Shin | Self::Foot | Self::Toe => Limb::Leg,
            Self::Thumb | Self::Index | Self::Middle | Self::Ring | Self::Pinky => Limb::Finger(self),
        }
    }
}

/// A side of the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Side {
    Middle,
    Left,
    Right,
}

/// What a name says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Role {
    pub part: Part,
    pub side: Side,
}

/// A name taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Words {
    /// In lower case, without side, numbers and what a convention adds.
    words: Vec<String>,
    pub side: Side,
    pub is_twist: bool,
    /// The end of a chain, where nothing is skinned.
    pub is_end: bool,
}

/// Words that say nothing of the part.
const NOISE: &[&str] = &[
    "b",
    "bip",
    "def",
    "org",
    "mch",
    "mixamorig",
    "jnt",
    "joint",
    "bone",
    "bn",
    "sk",
    "skel",
    "character",
    "valvebiped",
    "cc",
    "base",
    "jt",
];

/// Takes a name apart.
pub(super) fn words(name: &str) -> Words {
    let plain = name.rsplit([':', '|']).next().unwrap_or(name);
    let mut found = Words { words: Vec::new(), side: Side::Middle, is_twist: false, is_end: false };
    // Between the hips and a thigh of Carnegie Mellon's files, "LHipJoint" does not turn.
    if plain.to_lowercase().contains("hipjoint") {
        return found;
    }
    for word in split(plain) {
        match word.as_str() {
            "l" | "left" | "lft" | "lf" => found.side = Side::Left,
            "r" | "right" | "rgt" | "rt" => found.side = Side::Right,
            "twist" | "roll" => found.is_twist = true,
            "end" | "nub" | "tip" | "site" => found.is_end = true,
            word if NOISE.contains(&word) => {}
            word => {
                let (side, rest) = glued_side(word);
                found.side = side.unwrap_or(found.side);
                found.words.push(rest.into());
            }
        }
    }
    found
}

/// Words of a name: cut at what is neither letter nor digit, between letters and digits, and where capitals begin; digits go.
fn split(name: &str) -> Vec<String> {
    let letters: Vec<char> = name.chars().collect();
    let mut words = Vec::new();
    let mut word = String::new();
    for (at, &c) in letters.iter().enumerate() {
        let next_is_lower = letters.get(at + 1).is_some_and(|c| c.is_lowercase());
        let last_is_lower = at > 0 && letters[at - 1].is_lowercase();
        if !c.is_alphabetic() || (c.is_uppercase() && (last_is_lower || next_is_lower)) {
            words.extend((!word.is_empty()).then(|| std::mem::take(&mut word)));
        }
        if c.is_alphabetic() {
            word.extend(c.to_lowercase());
        }
    }
    words.extend((!word.is_empty()).then_some(word));
    words
}

/// A side at the beginning of a word, such as "leftarm" or "lshldr", where the rest is a part.
fn glued_side(word: &str) -> (Option<Side>, &str) {
    let sides = [("left", Side::Left), ("right", Side::Right), ("l", Side::Left), ("r", Side::Right)];
    for (beginning, side) in sides {
        if let Some(rest) = word.strip_prefix(beginning).filter(|rest| part(rest, Side::Left).is_some()) {
            // "root", "ring" and "leg" are words of their own.
            if part(word, Side::Left).is_none() && word != "rear" {
                return (Some(side), rest);
            }
        }
    }
    (None, word)
}

impl Words {
    /// The part that they name.
    pub fn role(&self) -> Option<Role> {
        let side = self.side;
        let role = |part| Some(Role { part, side });
        if self.words.is_empty() {
            return None;
        }
        if let Some(part) = part(&self.words.concat(), side) {
            return role(part);
        }
        // Four-legged: front legs are paired with arms.
        let (first, rest) = self.words.split_first()?;
        let rest = rest.concat();
        match (first.as_str(), side) {
            ("front" | "fore", Side::Left | Side::Right) => role(match part(&rest, side)? {
                Part::Leg | Part::Thigh | Part::UpperArm => Part::UpperArm,
                Part::Shin | Part::LowerArm => Part::LowerArm,
                Part::Foot | Part::Toe | Part::Hand => Part::Hand,
                Part::Clavicle => Part::Clavicle,
                _ => return None,
            }),
            ("back" | "hind" | "rear", Side::Left | Side::Right) => role(match part(&rest, side)? {
                Part::Clavicle | Part::Hips => Part::Thigh,
                other => other,
            }),
            _ => None,
        }
    }
}

/// The part that a word names; a hip on a side is a thigh.
fn part(word: &str, side: Side) -> Option<Part> {
    Some(match word {
        "root" | "reference" | "trajectory" => Part::Root,
        "hip" if side != Side::Middle => Part::Thigh,
        "hips" | "hip" | "pelvis" | "cog" | "body" | "lowertorso" => Part::Hips,
        "spine" | "chest" | "torso" | "abdomen" | "upperchest" | "lowerback" | "back" | "waist" | "ribs"
        | "ribcage" | "thorax" | "uppertorso" | "upperback" | "chestupper" | "chestlower" | "abdomenupper"
        | "abdomenlower" | "spineupper" | "spinelower" => Part::Spine,
        "neck" | "neckupper" | "necklower" => Part::Neck,
        "head" => Part::Head,
        "jaw" | "chin" | "lowerjaw" => Part::Jaw,
        "eye" | "eyeball" => Part::Eye,
        "ear" => Part::Ear,
        "tail" => Part::Tail,
        "clavicle" | "shoulder" | "collar" | "scapula" | "collarbone" => Part::Clavicle,
        "upperarm" | "uparm" | "arm" | "armupper" | "shldr" | "shldrbend" | "humerus" | "bicep" => Part::UpperArm,
        "lowerarm" | "forearm" | "loarm" | "lowarm" | "elbow" | "armlower" | "forearmbend" => Part::LowerArm,
        "hand" | "wrist" | "palm" => Part::Hand,
        "leg" => Part::Leg,
        "thigh" | "upperleg" | "upleg" | "femur" | "legupper" | "thighbend" => Part::Thigh,
        "shin" | "calf" | "lowerleg" | "lowleg" | "loleg" | "knee" | "leglower" | "tibia" => Part::Shin,
        "foot" | "ankle" | "paw" | "hoof" => Part::Foot,
        "toe" | "toes" | "ball" | "toebase" => Part::Toe,
        "thumb" | "handthumb" | "fingerthumb" => Part::Thumb,
        "index" | "handindex" | "findex" | "indexfinger" | "fingerindex" => Part::Index,
        "middle" | "handmiddle" | "fmiddle" | "middlefinger" | "fingermiddle" | "mid" => Part::Middle,
        "ring" | "handring" | "fring" | "ringfinger" | "fingerring" => Part::Ring,
        "pinky" | "handpinky" | "fpinky" | "little" | "littlefinger" | "pinkie" | "fingerpinky" => Part::Pinky,
        _ => return None,
    })
}

/// Roles of a whole skeleton by its names.
///
/// Rigify calls the trunk "spine" to "spine.006": hips, three of the spine, two of the neck, the head. Biped calls it "Bip01". A sided
/// "shoulder" without an upper arm on its side is the upper arm, as in files that go "Collar, Shoulder, Elbow, Wrist".
pub(super) fn roles(names: &[String]) -> Vec<Option<Role>> {
    let taken: Vec<Words> = names.iter().map(|name| words(name)).collect();
    let mut roles: Vec<Option<Role>> =
        taken.iter().map(|words| if words.is_twist || words.is_end { None } else { words.role() }).collect();
    let middle = |part| Some(Role { part, side: Side::Middle });
    let rigify = |name: &str| {
        name.rsplit([':', '|', '-']).next().and_then(|plain| plain.strip_prefix("spine")).map(str::to_owned)
    };
    let numbered: Vec<Option<String>> = names.iter().map(|name| rigify(name)).collect();
    if numbered.iter().flatten().any(|rest| rest == ".006") {
        for (role, rest) in roles.iter_mut().zip(&numbered) {
            match rest.as_deref() {
                Some("") => *role = middle(Part::Hips),
                Some(".001" | ".002" | ".003") => *role = middle(Part::Spine),
                Some(".004" | ".005") => *role = middle(Part::Neck),
                Some(".006") => *role = middle(Part::Head),
                _ => {}
            }
        }
    }
    if !roles.iter().flatten().any(|role| role.part == Part::Hips) {
        let biped =
            |name: &String| matches!(name.rsplit([':', '|']).next(), Some("Bip01" | "Bip001" | "bip01" | "bip001"));
        if let Some(at) = names.iter().position(biped) {
            roles[at] = middle(Part::Hips);
        }
    }
    for side in [Side::Left, Side::Right] {
        let has = |roles: &[Option<Role>], part| roles.iter().flatten().any(|role| *role == Role { part, side });
        let collars: Vec<bool> =
            taken.iter().map(|w| w.words.iter().any(|w| w == "collar" || w == "clavicle" || w == "scapula")).collect();
        if !has(&roles, Part::UpperArm) && has(&roles, Part::LowerArm) {
            for (at, role) in roles.iter_mut().enumerate() {
                if *role == Some(Role { part: Part::Clavicle, side }) && !collars[at] {
                    *role = Some(Role { part: Part::UpperArm, side });
                }
            }
        }
    }
    roles
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(names: &[&str]) -> Vec<Option<(Part, Side)>> {
        let names: Vec<String> = names.iter().map(|name| (*name).into()).collect();
        roles(&names).into_iter().map(|role| role.map(|role| (role.part, role.side))).collect()
    }

    /// The names as the documentation of each convention lists them.
    #[test]
    fn bones_of_known_conventions_are_known() {
        use Part::{
            Clavicle, Foot, Hand, Head, Hips, Index, Leg, LowerArm, Neck, Pinky, Root, Shin, Spine, Thigh, Thumb, Toe,
            UpperArm,
        };
        use Side::{Left, Middle, Right};
        let cases: &[(&str, &[(&str, Part, Side)])] = &[
            (
                "Mixamo",
                &[
                    ("mixamorig:Hips", Hips, Middle),
                    ("mixamorig:Spine2", Spine, Middle),
                    ("mixamorig:Neck", Neck, Middle),
                    ("mixamorig:LeftShoulder", Clavicle, Left),
                    ("mixamorig:LeftArm", UpperArm, Left),
                    ("mixamorig:LeftForeArm", LowerArm, Left),
                    ("mixamorig:LeftHand", Hand, Left),
                    ("mixamorig:LeftHandIndex1", Index, Left),
                    ("mixamorig:RightUpLeg", Thigh, Right),
                    ("mixamorig:RightLeg", Leg, Right),
                    ("mixamorig:RightFoot", Foot, Right),
                    ("mixamorig:RightToeBase", Toe, Right),
                ],
            ),
            (
                "Unreal",
                &[
                    ("root", Root, Middle),
                    ("pelvis", Hips, Middle),
                    ("spine_01", Spine, Middle),
                    ("clavicle_l", Clavicle, Left),
                    ("upperarm_l", UpperArm, Left),
                    ("lowerarm_l", LowerArm, Left),
                    ("hand_l", Hand, Left),
                    ("thumb_01_l", Thumb, Left),
                    ("pinky_03_r", Pinky, Right),
                    ("thigh_r", Thigh, Right),
                    ("calf_r", Shin, Right),
                    ("foot_r", Foot, Right),
                    ("ball_r", Toe, Right),
                    ("neck_01", Neck, Middle),
                    ("head", Head, Middle),
                ],
            ),
            (
                "Rigify",
                &[
                    ("DEF-spine", Hips, Middle),
                    ("DEF-spine.001", Spine, Middle),
                    ("DEF-spine.004", Neck, Middle),
                    ("DEF-spine.006", Head, Middle),
                    ("DEF-shoulder.L", Clavicle, Left),
                    ("DEF-upper_arm.L", UpperArm, Left),
                    ("DEF-forearm.L", LowerArm, Left),
                    ("DEF-thigh.R", Thigh, Right),
                    ("DEF-shin.R", Shin, Right),
                    ("DEF-toe.R", Toe, Right),
                    ("DEF-f_index.01.L", Index, Left),
                ],
            ),
            (
                "HumanIK",
                &[
                    ("Character1_Reference", Root, Middle),
                    ("Character1_Hips", Hips, Middle),
                    ("Character1_LeftUpLeg", Thigh, Left),
                    ("Character1_LeftLeg", Leg, Left),
                    ("Character1_RightShoulder", Clavicle, Right),
                    ("Character1_RightHandThumb1", Thumb, Right),
                ],
            ),
            (
                "CMU",
                &[
                    ("Hips", Hips, Middle),
                    ("LowerBack", Spine, Middle),
                    ("Spine1", Spine, Middle),
                    ("LeftUpLeg", Thigh, Left),
                    ("LeftFoot", Foot, Left),
                    ("LeftToeBase", Toe, Left),
                    ("RightArm", UpperArm, Right),
                    ("LThumb", Thumb, Left),
                    ("Neck1", Neck, Middle),
                ],
            ),
            (
                "old BVH",
                &[
                    ("hip", Hips, Middle),
                    ("abdomen", Spine, Middle),
                    ("lCollar", Clavicle, Left),
                    ("lShldr", UpperArm, Left),
                    ("lForeArm", LowerArm, Left),
                    ("lHand", Hand, Left),
                    ("rThigh", Thigh, Right),
                    ("rShin", Shin, Right),
                ],
            ),
            (
                "elbows and knees",
                &[
                    ("LeftCollar", Clavicle, Left),
                    ("LeftShoulder", UpperArm, Left),
                    ("LeftElbow", LowerArm, Left),
                    ("LeftWrist", Hand, Left),
                    ("RightHip", Thigh, Right),
                    ("RightKnee", Shin, Right),
                    ("RightAnkle", Foot, Right),
                ],
            ),
            (
                "Biped",
                &[
                    ("Bip01", Hips, Middle),
                    ("Bip01 Spine", Spine, Middle),
                    ("Bip01 L UpperArm", UpperArm, Left),
                    ("Bip01 L Forearm", LowerArm, Left),
                    ("Bip01 R Calf", Shin, Right),
                    ("Bip01 R Toe0", Toe, Right),
                ],
            ),
            (
                "four legs",
                &[
                    ("FrontShoulder.L", Clavicle, Left),
                    ("FrontUpperLeg.L", UpperArm, Left),
                    ("FrontLowerLeg.L", LowerArm, Left),
                    ("BackUpperLeg.R", Thigh, Right),
                    ("BackLowerLeg.R", Shin, Right),
                    ("b_RightForeArm_07", LowerArm, Right),
                    ("b_Tail01_012", Part::Tail, Middle),
                ],
            ),
        ];
        for (convention, bones) in cases {
            let names: Vec<&str> = bones.iter().map(|(name, ..)| *name).collect();
            for (found, (name, part, side)) in of(&names).iter().zip(*bones) {
                assert_eq!(*found, Some((*part, *side)), "{convention}: {name}");
            }
        }
    }

    #[test]
    fn twist_bones_ends_and_unknown_words_have_no_role() {
        assert_eq!(of(&["upperarm_twist_01_l", "Head_end", "PoleTarget.L", "FFB.L", "cape_03", ""]), [None; 6]);
        assert!(words("upperarm_twist_01_l").is_twist && !words("upperarm_l").is_twist);
        assert_eq!(words("LeftForeArmRoll").side, Side::Left);
    }
}
