//! Which part of a body a bone is, by its name and its place in the skeleton.
//!
//! Names are cut into words at separators, digits and capitals; namespaces, prefixes and sides are taken off. That covers Mixamo and
//! HumanIK (`LeftForeArm`), Unreal and MakeHuman (`lowerarm_l`), Rigify (`DEF-forearm.L`), Biped (`Bip01 L Forearm`), VRM
//! (`J_Bip_L_LowerArm`), Daz (`lForearmBend`) and plain names (`elbow_l`). A word that means different bones in different
//! conventions, such as shoulder, arm or leg, is decided by the bones above and below.

use dermis_rig::{BoneIndex, BoneVec, Skeleton};

/// A part of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// What carries the legs and the spine.
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
    /// The collar bone, or what carries a hind leg beside the hips.
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
    /// A bone that follows others: twist, inverse kinematics, an end without skin.
    Helper,
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

/// Returns the role of every bone; `None` where name and place say nothing.
pub fn roles(skeleton: &Skeleton) -> BoneVec<Option<Role>> {
    let said: Vec<Option<(Said, Side, u8)>> = skeleton.names().iter().map(|name| said(name)).collect();
    let below = |bone: BoneIndex, wanted: &[Said]| {
        let under = |other: BoneIndex| {
            std::iter::successors(skeleton.parents()[other], |b| skeleton.parents()[*b]).any(|above| above == bone)
        };
        skeleton.bones().any(|other| said[other.get()].is_some_and(|(said, ..)| wanted.contains(&said)) && under(other))
    };
    let mut roles: Vec<Option<Role>> = Vec::with_capacity(skeleton.len());
    for bone in skeleton.bones() {
        let role = said[bone.get()].map(|(said, side, digit)| {
            let above: Vec<Role> = std::iter::successors(skeleton.parents()[bone], |b| skeleton.parents()[*b])
                .filter_map(|b| roles[b.get()])
                .collect();
            let over = |part: Part| above.iter().any(|role| role.part == part && role.side == side);
            let part = match said {
                Said::Sure(Part::Foot) if over(Part::Foot) => Part::Toes,
                Said::Sure(part) => part,
                Said::Shoulder if over(Part::Clavicle) => Part::UpperArm,
                Said::Shoulder if below(bone, &[Said::Arm, Said::Sure(Part::UpperArm), Said::Leg]) => Part::Clavicle,
                Said::Shoulder => Part::UpperArm,
                Said::Arm if over(Part::UpperArm) => Part::Forearm,
                Said::Arm => Part::UpperArm,
                Said::Leg if over(Part::Thigh) => Part::Shin,
                Said::Leg if below(bone, &[Said::Sure(Part::Thigh)]) => Part::Clavicle,
                Said::Leg => Part::Thigh,
            };
            let same = |role: &&Role| (role.part, role.side, role.digit) == (part, side, digit);
            let segment = above.iter().filter(same).count().min(255) as u8;
            Role { part, side, digit, segment }
        });
        roles.push(role);
    }
    BoneVec::new(roles)
}

/// What a name says by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Said {
    Sure(Part),
    /// Collar bone or upper arm.
    Shoulder,
    /// Upper arm or forearm.
    Arm,
    /// Thigh or shin.
    Leg,
}

/// Words that say nothing of the part.
const EMPTY: &[&str] = &[
    "mixamorig",
    "bip",
    "biped",
    "def",
    "deform",
    "jnt",
    "joint",
    "bone",
    "b",
    "j",
    "c",
    "rig",
    "sk",
    "org",
    "valve",
    "valvebiped",
    "cc",
    "base",
    "m",
    "skin",
    "bind",
    "bend",
    "x",
    "f",
    "armature",
];

/// Words of bones that follow others.
const HELPER: &[&str] = &[
    "ik", "fk", "pole", "target", "ctrl", "control", "twist", "roll", "helper", "end", "nub", "effector", "attach",
    "socket", "weapon", "prop", "tip", "goal",
];

fn said(name: &str) -> Option<(Said, Side, u8)> {
    let mut words = words(name);
    let side = take_side(&mut words);
    words.retain(|word| !EMPTY.contains(&word.as_str()));
    if words.iter().any(|word| HELPER.contains(&word.as_str()) || word.starts_with("twist")) {
        return Some((Said::Sure(Part::Helper), side, 0));
    }
    let has = |one: &str| words.iter().any(|word| word == one);
    let joined: String = words.concat();
    let holds = |any: &[&str]| any.iter().any(|part| joined.contains(part));
    let legs = holds(&["leg", "foot", "paw", "thigh", "shin", "calf", "toe", "hoof", "shoulder"]);
    let fore = legs
        && (has("front") || joined.contains("foreleg") || joined.contains("forefoot") || joined.contains("forepaw"));
    let sure = |part: Part| Some((Said::Sure(part), side, 0));
    let of = |said: Said| Some((said, side, 0));
    if fore {
        return match () {
            () if holds(&["shoulder"]) => sure(Part::Clavicle),
            () if holds(&["upper", "upleg", "thigh"]) => sure(Part::UpperArm),
            () if holds(&["lower", "shin", "calf"]) => sure(Part::Forearm),
            () if holds(&["foot", "paw", "hoof"]) => sure(Part::Hand),
            () if holds(&["toe"]) => None,
            () => of(Said::Arm),
        };
    }
    let sided = side != Side::Middle;
    match () {
        () if holds(&["lid", "brow", "lip", "cheek", "nose", "tongue", "mouth", "teeth", "tooth", "lash", "face"])
            && !holds(&["clip"]) =>
        {
            sure(Part::Face)
        }
        () if holds(&["eye"]) => sure(Part::Eye),
        () if holds(&["jaw", "chin"]) => sure(Part::Jaw),
        () if holds(&["metacarpal", "carpal", "palm", "inhand"]) => sure(Part::Palm),
        () if holds(&["thumb"]) => sure(Part::Thumb),
        () if sided && holds(&["index", "middle", "ring", "pinky", "pinkie", "little", "finger"]) => {
            let digits = [("index", 1), ("middle", 2), ("ring", 3), ("pink", 4), ("little", 4)];
            let digit = digits.iter().find(|(word, _)| joined.contains(word)).map_or(0, |(_, digit)| *digit);
            Some((Said::Sure(Part::Finger), side, digit))
        }
        () if holds(&["clavicle", "collar", "scapula"]) => sure(Part::Clavicle),
        () if holds(&["forearm", "lowerarm", "lowarm", "armlower", "elbow"]) => sure(Part::Forearm),
        () if holds(&["upperarm", "uparm", "armupper", "shldr", "humerus"]) => sure(Part::UpperArm),
        () if holds(&["shoulder"]) => of(Said::Shoulder),
        () if holds(&["hand", "wrist"]) => sure(Part::Hand),
        () if holds(&["thigh", "upleg", "upperleg", "legupper", "femur"]) => sure(Part::Thigh),
        () if holds(&["shin", "calf", "lowerleg", "lowleg", "leglower", "knee", "tibia"]) => sure(Part::Shin),
        () if holds(&["toe"]) || has("ball") => sure(Part::Toes),
        () if holds(&["foot", "ankle", "paw", "hoof"]) => sure(Part::Foot),
        () if holds(&["pelvis", "hips"]) || (!sided && has("hip")) => sure(Part::Hips),
        () if sided && has("hip") => sure(Part::Thigh),
        () if holds(&["neck"]) => sure(Part::Neck),
        () if has("head") || has("skull") => sure(Part::Head),
        () if has("ear") || has("ears") => sure(Part::Ear),
        () if holds(&["tail"]) => sure(Part::Tail),
        () if !sided
            && (holds(&["spine", "chest", "torso", "abdomen", "waist", "thorax", "lumbar"]) || has("back")) =>
        {
            sure(Part::Spine)
        }
        () if has("arm") => of(Said::Arm),
        () if has("leg") => of(Said::Leg),
        () => None,
    }
}

/// The words of a name in lower case, without its namespace and its numbers.
fn words(name: &str) -> Vec<String> {
    let name = name.rsplit([':', '|']).next().unwrap_or(name);
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    let mut before = ' ';
    for c in name.chars() {
        // "upArm" is two words, "IKLeg" as well, "IK" is one.
        let begins = c.is_uppercase() && before.is_lowercase();
        if !c.is_alphabetic() || begins {
            words.extend(Some(std::mem::take(&mut word)).filter(|word| !word.is_empty()));
        }
        if c.is_lowercase() && before.is_uppercase() && word.chars().count() > 1 {
            let last = word.pop();
            words.push(std::mem::take(&mut word));
            word.extend(last);
        }
        if c.is_alphabetic() {
            word.extend(c.to_lowercase());
        }
        before = c;
    }
    words.extend(Some(word).filter(|word| !word.is_empty()));
    words
}

/// Takes the side off the words.
fn take_side(words: &mut Vec<String>) -> Side {
    let of = |word: &str| match word {
        "l" | "left" | "lft" | "lf" => Some(Side::Left),
        "r" | "right" | "rgt" | "rt" => Some(Side::Right),
        _ => None,
    };
    if let Some(at) = words.iter().position(|word| of(word).is_some()) {
        return of(&words.remove(at)).unwrap_or(Side::Middle);
    }
    for word in words.iter_mut() {
        for (prefix, side) in [("left", Side::Left), ("right", Side::Right)] {
            if let Some(rest) = word.strip_prefix(prefix).filter(|rest| rest.len() > 2).map(str::to_owned) {
                *word = rest;
                return side;
            }
        }
    }
    Side::Middle
}

#[cfg(test)]
mod tests {
    use super::*;
    use dermis_rig::glam::DAffine3;

    /// Roles of a skeleton given as (name, parent).
    fn of(bones: &[(&str, i64)]) -> Vec<Option<(Part, Side)>> {
        let names = bones.iter().map(|(name, _)| (*name).to_owned()).collect();
        let parents = bones.iter().map(|(_, p)| usize::try_from(*p).ok().map(BoneIndex::new)).collect();
        let skeleton = Skeleton::new(names, parents, vec![DAffine3::IDENTITY; bones.len()]).unwrap();
        roles(&skeleton).iter().map(|role| role.map(|role| (role.part, role.side))).collect()
    }

    /// An arm and a leg in the words of every convention.
    #[test]
    fn conventions_name_the_same_bones() {
        use Part::*;
        let expected = [Hips, Spine, Clavicle, UpperArm, Forearm, Hand, Finger, Thigh, Shin, Foot, Toes, Neck, Head];
        let conventions: [(&str, [&str; 13]); 7] = [
            (
                "Mixamo",
                [
                    "mixamorig:Hips",
                    "mixamorig:Spine",
                    "mixamorig:LeftShoulder",
                    "mixamorig:LeftArm",
                    "mixamorig:LeftForeArm",
                    "mixamorig:LeftHand",
                    "mixamorig:LeftHandIndex1",
                    "mixamorig:LeftUpLeg",
                    "mixamorig:LeftLeg",
                    "mixamorig:LeftFoot",
                    "mixamorig:LeftToeBase",
                    "mixamorig:Neck",
                    "mixamorig:Head",
                ],
            ),
            (
                "Unreal",
                [
                    "pelvis",
                    "spine_01",
                    "clavicle_l",
                    "upperarm_l",
                    "lowerarm_l",
                    "hand_l",
                    "index_01_l",
                    "thigh_l",
                    "calf_l",
                    "foot_l",
                    "ball_l",
                    "neck_01",
                    "head",
                ],
            ),
            (
                "Rigify",
                [
                    "DEF-pelvis",
                    "DEF-spine.001",
                    "DEF-shoulder.L",
                    "DEF-upper_arm.L",
                    "DEF-forearm.L",
                    "DEF-hand.L",
                    "DEF-f_index.01.L",
                    "DEF-thigh.L",
                    "DEF-shin.L",
                    "DEF-foot.L",
                    "DEF-toe.L",
                    "DEF-neck",
                    "DEF-head",
                ],
            ),
            (
                "Biped",
                [
                    "Bip01 Pelvis",
                    "Bip01 Spine",
                    "Bip01 L Clavicle",
                    "Bip01 L UpperArm",
                    "Bip01 L Forearm",
                    "Bip01 L Hand",
                    "Bip01 L Finger1",
                    "Bip01 L Thigh",
                    "Bip01 L Calf",
                    "Bip01 L Foot",
                    "Bip01 L Toe0",
                    "Bip01 Neck",
                    "Bip01 Head",
                ],
            ),
            (
                "VRM",
                [
                    "J_Bip_C_Hips",
                    "J_Bip_C_Spine",
                    "J_Bip_L_Shoulder",
                    "J_Bip_L_UpperArm",
                    "J_Bip_L_LowerArm",
                    "J_Bip_L_Hand",
                    "J_Bip_L_Index1",
                    "J_Bip_L_UpperLeg",
                    "J_Bip_L_LowerLeg",
                    "J_Bip_L_Foot",
                    "J_Bip_L_ToeBase",
                    "J_Bip_C_Neck",
                    "J_Bip_C_Head",
                ],
            ),
            (
                "Daz",
                [
                    "hip",
                    "abdomenLower",
                    "lCollar",
                    "lShldrBend",
                    "lForearmBend",
                    "lHand",
                    "lIndex1",
                    "lThighBend",
                    "lShin",
                    "lFoot",
                    "lToe",
                    "neckLower",
                    "head",
                ],
            ),
            (
                "plain",
                [
                    "hips",
                    "chest",
                    "l_clavicle",
                    "l_shoulder",
                    "l_elbow",
                    "l_wrist",
                    "l_index_1",
                    "l_hip",
                    "l_knee",
                    "l_ankle",
                    "l_toes",
                    "neck",
                    "head",
                ],
            ),
        ];
        let parents = [-1, 0, 1, 2, 3, 4, 5, 0, 7, 8, 9, 1, 11];
        for (convention, names) in conventions {
            let bones: Vec<_> = names.iter().copied().zip(parents).collect();
            for ((name, found), part) in names.iter().zip(of(&bones)).zip(expected) {
                let side = if [Hips, Spine, Neck, Head].contains(&part) { Side::Middle } else { Side::Left };
                assert_eq!(found, Some((part, side)), "{convention}: {name}");
            }
        }
    }

    #[test]
    fn animals_and_helpers_are_told_apart() {
        use Part::*;
        let wolf = [
            ("Body", -1),
            ("Back", 0),
            ("FrontShoulder.L", 1),
            ("FrontUpperLeg.L", 2),
            ("FrontLowerLeg.L", 3),
            ("BackShoulder.L", 0),
            ("BackLeg.L", 5),
            ("BackUpperLeg.L", 6),
            ("BackLowerLeg.L", 7),
            ("Tail3", 0),
            ("Ear1.R", 0),
            ("IKBackLeg.L", 0),
        ];
        let parts: Vec<_> = of(&wolf).into_iter().map(|role| role.map(|role| role.0)).collect();
        let expected = [
            None,
            Some(Spine),
            Some(Clavicle),
            Some(UpperArm),
            Some(Forearm),
            Some(Clavicle),
            Some(Clavicle),
            Some(Thigh),
            Some(Shin),
            Some(Tail),
            Some(Ear),
            Some(Helper),
        ];
        assert_eq!(parts, expected);
        let fox = [
            ("b_Hip_01", -1),
            ("b_LeftLeg01_015", 0),
            ("b_LeftLeg02_016", 1),
            ("b_LeftFoot01_017", 2),
            ("b_LeftFoot02_018", 3),
        ];
        let parts: Vec<_> = of(&fox).into_iter().map(|role| role.map(|role| role.0)).collect();
        assert_eq!(parts, [Some(Hips), Some(Thigh), Some(Shin), Some(Foot), Some(Toes)]);
        let other = [("lowerarm_twist_01_l", -1), ("LeftEye", 0), ("jaw", 0), ("cape_03", 0), ("", 0), ("Ring2_R", 0)];
        let parts: Vec<_> = of(&other).into_iter().map(|role| role.map(|role| role.0)).collect();
        assert_eq!(parts, [Some(Helper), Some(Eye), Some(Jaw), None, None, Some(Finger)]);
    }
}
