//! Bones named by convention.
//!
//! A convention names the bones of the built-in biped, and of the hands. Bones that it does not know keep the template's names.

/// A convention of names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Convention {
    /// Unreal's mannequin: `upperarm_l`. The biped's own names.
    Unreal,
    /// Mixamo: `mixamorig:LeftArm`.
    Mixamo,
    /// Rigify's deforming bones in Blender: `DEF-upper_arm.L`.
    Rigify,
    /// VRM's humanoid bones: `leftUpperArm`.
    Vrm,
}

/// Names without side: of the template, Mixamo, Rigify, VRM. `{}` stands for the side.
const TABLE: [[&str; 4]; 14] = [
    ["pelvis", "Hips", "spine", "hips"],
    ["spine_01", "Spine", "spine.001", "spine"],
    ["spine_02", "Spine1", "spine.002", "chest"],
    ["spine_03", "Spine2", "spine.003", "upperChest"],
    ["neck_01", "Neck", "spine.004", "neck"],
    ["head", "Head", "spine.006", "head"],
    ["clavicle_", "{}Shoulder", "shoulder", "{}Shoulder"],
    ["upperarm_", "{}Arm", "upper_arm", "{}UpperArm"],
    ["lowerarm_", "{}ForeArm", "forearm", "{}LowerArm"],
    ["hand_", "{}Hand", "hand", "{}Hand"],
    ["thigh_", "{}UpLeg", "thigh", "{}UpperLeg"],
    ["calf_", "{}Leg", "shin", "{}LowerLeg"],
    ["foot_", "{}Foot", "foot", "{}Foot"],
    ["ball_", "{}ToeBase", "toe", "{}Toes"],
];

impl Convention {
    /// The name of a bone of the built-in biped in this convention.
    pub fn name(self, own: &str) -> String {
        if self == Self::Unreal {
            return own.to_owned();
        }
        for [template, mixamo, rigify, vrm] in TABLE {
            let side = match own.strip_prefix(template) {
                Some("") => None,
                Some(letter @ ("l" | "r")) if template.ends_with('_') => Some(letter == "l"),
                _ => continue,
            };
            let word = |left: &'static str, right: &'static str| match side {
                Some(true) => left,
                Some(false) => right,
                None => "",
            };
            return match self {
                Self::Mixamo => format!("mixamorig:{}", mixamo.replace("{}", word("Left", "Right"))),
                Self::Rigify => format!("DEF-{rigify}{}", word(".L", ".R")),
                _ => vrm.replace("{}", word("left", "right")),
            };
        }
        own.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Template;
    use dermis_motion::anatomy::roles;
    use dermis_rig::glam::DAffine3;
    use dermis_rig::{BoneIndex, Skeleton};

    /// Oracle: the recogniser of names that retargeting and exercises use knows every bone as what the template says it is.
    #[test]
    fn every_convention_is_recognised_as_the_parts_of_the_template() {
        for (template, conventions) in [
            ("biped", &[Convention::Unreal, Convention::Mixamo, Convention::Rigify, Convention::Vrm][..]),
            ("quadruped", &[Convention::Unreal]),
            ("hand", &[Convention::Unreal]),
        ] {
            let template = Template::named(template).unwrap();
            for convention in conventions {
                let names: Vec<String> = template.joints.iter().map(|j| convention.name(&j.name)).collect();
                let parents = template.joints.iter().map(|j| j.parent.map(BoneIndex::new)).collect();
                let bind = vec![DAffine3::IDENTITY; names.len()];
                let skeleton = Skeleton::new(names.clone(), parents, bind).unwrap();
                let mut wrong = Vec::new();
                for (at, role) in roles(&skeleton).iter().enumerate() {
                    let joint = &template.joints[at];
                    // Rigify's trunk is numbered "spine" to "spine.006", and a hand alone has no side.
                    let numbered = *convention == Convention::Rigify && names[at].contains("spine");
                    if template.name != "hand"
                        && !numbered
                        && role.map(|r| (Some(r.part), r.side)) != Some((joint.part, joint.side))
                    {
                        wrong.push((&names[at], *role));
                    }
                }
                assert!(wrong.is_empty(), "{convention:?}: {wrong:?}");
            }
        }
        assert_eq!(Convention::Mixamo.name("upperarm_l"), "mixamorig:LeftArm");
        assert_eq!(Convention::Vrm.name("tail_01"), "tail_01");
    }
}
