//! What a name says by itself, as data.

use super::words::Words;
use super::{Part, Side};

/// What a name says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Said {
    Sure(Part),
    /// Collar bone or upper arm.
    Shoulder,
    /// Upper arm or forearm.
    Arm,
    /// Thigh or shin.
    Leg,
    /// Of a side: thigh, or what carries it.
    Hip,
    /// Foot or toes.
    Foot,
    /// The hand, or a twist bone beside one that is called so.
    Wrist,
}

/// Which bones an entry is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum On {
    Any,
    /// Of a side.
    Side,
    Middle,
}

/// Parts of clothes and hair, which share words with parts of the body.
const WORN: &[&str] = &[
    "sec", "hair", "ponytail", "skirt", "cape", "cloth", "clothes", "sleeve", "guard", "armor", "armour", "pad",
    "strap", "hood", "belt", "clip", "bag", "hat", "helmet", "glasses",
];

/// Words of bones that follow others.
const HELPER: &[&str] = &[
    "ik",
    "fk",
    "pole",
    "target",
    "ctrl",
    "ctl",
    "control",
    "helper",
    "effector",
    "attach",
    "attachment",
    "socket",
    "slot",
    "handslot",
    "weapon",
    "prop",
    "goal",
    "mch",
    "footsteps",
    "corrective",
    "share",
    "bck",
    "fwd",
    "scap",
    "pec",
    "latissimus",
];

/// Words of the end of a chain, where nothing is skinned.
const END: &[&str] = &["end", "nub", "tip", "site"];

/// Words that are among the words of a name, words that are within them, on which bones, and what that says. The first that fits counts.
const TABLE: &[(&[&str], &[&str], On, Said)] = &[
    (
        &[],
        &["lid", "brow", "lip", "cheek", "nose", "tongue", "mouth", "teeth", "tooth", "lash", "upperjaw"],
        On::Any,
        Said::Sure(Part::Face),
    ),
    (&[], &["eye"], On::Any, Said::Sure(Part::Eye)),
    (&[], &["jaw", "chin"], On::Any, Said::Sure(Part::Jaw)),
    (&[], &["face", "facial"], On::Any, Said::Sure(Part::Face)),
    (&[], &["thumb"], On::Any, Said::Sure(Part::Thumb)),
    (&[], &["metacarpal", "carpal", "palm", "inhand"], On::Any, Said::Sure(Part::Palm)),
    (
        &["mid"],
        &["index", "middle", "ring", "pinky", "pinkie", "little", "finger", "pointer"],
        On::Side,
        Said::Sure(Part::Finger),
    ),
    (&[], &["clavicle", "collar", "scapula"], On::Any, Said::Sure(Part::Clavicle)),
    (&[], &["forearm", "lowerarm", "lowarm", "loarm", "armlower", "elbow"], On::Any, Said::Sure(Part::Forearm)),
    (&["bicep"], &["upperarm", "uparm", "armupper", "shldr", "humerus"], On::Any, Said::Sure(Part::UpperArm)),
    (&[], &["shoulder"], On::Any, Said::Shoulder),
    (&[], &["wrist"], On::Any, Said::Wrist),
    (&[], &["hand"], On::Any, Said::Sure(Part::Hand)),
    (&[], &["thigh", "upleg", "upperleg", "legupper", "femur"], On::Any, Said::Sure(Part::Thigh)),
    (
        &[],
        &["shin", "calf", "lowerleg", "lowleg", "loleg", "leglower", "knee", "tibia"],
        On::Any,
        Said::Sure(Part::Shin),
    ),
    (&[], &["metatarsal"], On::Any, Said::Sure(Part::Foot)),
    (&["ball"], &["toe"], On::Any, Said::Sure(Part::Toes)),
    (&[], &["foot", "ankle", "paw", "hoof"], On::Any, Said::Foot),
    (&["cog"], &["pelvis", "hips", "hipjoint", "lowertorso"], On::Any, Said::Sure(Part::Hips)),
    (&["hip"], &[], On::Middle, Said::Sure(Part::Hips)),
    (&["hip"], &[], On::Side, Said::Hip),
    (&[], &["neck"], On::Any, Said::Sure(Part::Neck)),
    (&["head", "skull"], &[], On::Any, Said::Sure(Part::Head)),
    (&["ear", "ears"], &[], On::Any, Said::Sure(Part::Ear)),
    (&[], &["tail"], On::Any, Said::Sure(Part::Tail)),
    (
        &["back", "ab", "ribs"],
        &["spine", "chest", "torso", "abdomen", "waist", "thorax", "lumbar", "lowerback", "upperback", "ribcage"],
        On::Middle,
        Said::Sure(Part::Spine),
    ),
    (&["arm"], &[], On::Any, Said::Arm),
    (&["leg"], &[], On::Any, Said::Leg),
];

/// The same of front legs, which are arms.
const FRONT: &[(&[&str], Said)] = &[
    (&["shoulder"], Said::Sure(Part::Clavicle)),
    (&["upper", "upleg", "thigh"], Said::Sure(Part::UpperArm)),
    (&["lower", "shin", "calf", "knee"], Said::Sure(Part::Forearm)),
    (&["toe"], Said::Sure(Part::Palm)),
    (&["foot", "paw", "hoof"], Said::Sure(Part::Hand)),
    (&["leg"], Said::Arm),
];

impl Words {
    /// What the words say.
    pub fn said(&self) -> Option<Said> {
        let any = |whole: &[&str], within: &[&str]| {
            whole.iter().any(|word| self.has(word)) || within.iter().any(|word| self.joined.contains(word))
        };
        if any(END, &[]) {
            return Some(Said::Sure(Part::End));
        }
        if any(HELPER, &[]) || (self.has("wrist") && any(&["inner", "outer"], &[])) {
            return Some(Said::Sure(Part::Helper));
        }
        if any(WORN, &[]) {
            return None;
        }
        let front = any(&["front"], &["foreleg", "forefoot", "forepaw"])
            && any(&[], &["leg", "foot", "paw", "thigh", "shin", "calf", "toe", "hoof", "shoulder"]);
        if any(&["roll", "ulna"], &["twist"]) {
            // Character Creator calls the bones of the neck "NeckTwist01".
            let part = match () {
                () if self.side == Side::Middle && any(&[], &["neck"]) => Part::Neck,
                () if any(&["heel", "toe", "foot", "ball"], &[]) => Part::Helper,
                () => Part::Twist,
            };
            return Some(Said::Sure(part));
        }
        if front {
            return FRONT.iter().find(|(within, _)| any(&[], within)).map(|(_, said)| *said);
        }
        let fits = |on: On| match on {
            On::Any => true,
            On::Side => self.side != Side::Middle,
            On::Middle => self.side == Side::Middle,
        };
        let found = TABLE.iter().find(|(whole, within, on, _)| fits(*on) && any(whole, within));
        let root = ["root", "reference", "trajectory"].contains(&self.joined.as_str());
        found.map(|(.., said)| *said).or(root.then_some(Said::Sure(Part::Root)))
    }

    /// The finger: 1 the index, 4 the little finger, 0 if not said.
    pub fn digit(&self) -> u8 {
        let digits = [("index", 1), ("pointer", 1), ("mid", 2), ("ring", 3), ("pink", 4), ("little", 4)];
        digits.iter().find(|(word, _)| self.joined.contains(word)).map_or(0, |(_, digit)| *digit)
    }
}
