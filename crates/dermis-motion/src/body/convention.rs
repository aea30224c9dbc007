//! Names of bones by convention, to be written.

use super::Part;

/// A convention of names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Convention {
    /// Unreal's mannequin: `upperarm_l`. The built-in biped's own names.
    Unreal,
    /// Mixamo: `mixamorig:LeftArm`.
    Mixamo,
    /// Rigify's deforming bones in Blender: `DEF-upper_arm.L`.
    Rigify,
    /// VRM's humanoid bones: `leftUpperArm`.
    Vrm,
}

/// Parts, and their names of Unreal, Mixamo, Rigify and VRM. `{}` stands for the side.
const TABLE: [(Part, [&str; 4]); 14] = [
    (Part::Hips, ["pelvis", "Hips", "spine", "hips"]),
    (Part::Spine, ["spine_01", "Spine", "spine.001", "spine"]),
    (Part::Spine, ["spine_02", "Spine1", "spine.002", "chest"]),
    (Part::Spine, ["spine_03", "Spine2", "spine.003", "upperChest"]),
    (Part::Neck, ["neck_01", "Neck", "spine.004", "neck"]),
    (Part::Head, ["head", "Head", "spine.006", "head"]),
    (Part::Clavicle, ["clavicle_{}", "{}Shoulder", "shoulder{}", "{}Shoulder"]),
    (Part::UpperArm, ["upperarm_{}", "{}Arm", "upper_arm{}", "{}UpperArm"]),
    (Part::Forearm, ["lowerarm_{}", "{}ForeArm", "forearm{}", "{}LowerArm"]),
    (Part::Hand, ["hand_{}", "{}Hand", "hand{}", "{}Hand"]),
    (Part::Thigh, ["thigh_{}", "{}UpLeg", "thigh{}", "{}UpperLeg"]),
    (Part::Shin, ["calf_{}", "{}Leg", "shin{}", "{}LowerLeg"]),
    (Part::Foot, ["foot_{}", "{}Foot", "foot{}", "{}Foot"]),
    (Part::Toes, ["ball_{}", "{}ToeBase", "toe{}", "{}Toes"]),
];

impl Convention {
    /// The words for left and right, and what stands before every name.
    fn style(self) -> ([&'static str; 2], &'static str) {
        match self {
            Self::Unreal => (["l", "r"], ""),
            Self::Mixamo => (["Left", "Right"], "mixamorig:"),
            Self::Rigify => ([".L", ".R"], "DEF-"),
            Self::Vrm => (["left", "right"], ""),
        }
    }

    /// The name in this convention of a bone of the built-in biped; of another bone the same name.
    pub fn name(self, own: &str) -> String {
        let ([left, right], before) = self.style();
        for (_, names) in TABLE {
            let name = names[self as usize];
            for (letter, side) in [("l", left), ("r", right)] {
                if names[0].replace("{}", letter) == own {
                    return format!("{before}{}", name.replace("{}", side));
                }
            }
        }
        own.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Recognised, Side};
    use super::*;
    use dermis_rig::glam::DAffine3;
    use dermis_rig::{BoneIndex, Skeleton};

    /// Oracle: the parts of the table, read from the names that it writes.
    #[test]
    fn written_names_are_read_as_their_parts() {
        let parents = [
            None,
            Some(0),
            Some(1),
            Some(2),
            Some(3),
            Some(4),
            Some(3),
            Some(6),
            Some(7),
            Some(8),
            Some(0),
            Some(10),
            Some(11),
            Some(12),
        ];
        for convention in [Convention::Unreal, Convention::Mixamo, Convention::Rigify, Convention::Vrm] {
            for (letter, side) in [("l", Side::Left), ("r", Side::Right)] {
                let names = TABLE.map(|(_, names)| convention.name(&names[0].replace("{}", letter))).to_vec();
                let parents = parents.iter().map(|parent| parent.map(BoneIndex::new)).collect();
                let skeleton = Skeleton::new(names.clone(), parents, vec![DAffine3::IDENTITY; TABLE.len()]).unwrap();
                let found = Recognised::new(&skeleton);
                for ((role, name), (part, own)) in found.roles.iter().zip(&names).zip(TABLE) {
                    let side = if own[0].contains("{}") { side } else { Side::Middle };
                    assert_eq!(role.map(|role| (role.part, role.side)), Some((part, side)), "{convention:?}: {name}");
                }
            }
        }
        assert_eq!(Convention::Mixamo.name("upperarm_l"), "mixamorig:LeftArm");
        assert_eq!(Convention::Vrm.name("tail_01"), "tail_01");
    }
}
