//! Names of bones as words.

use super::Side;

/// A name taken apart, in lower case, without namespace, side, numbers and the words that every bone of a convention carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Words {
    pub words: Vec<String>,
    /// All words without separators.
    pub joined: String,
    pub side: Side,
    /// The first digit after "finger".
    pub finger: Option<u8>,
}

/// Words that say nothing of the part.
const NOISE: &[&str] = &[
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
    "skel",
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
    "character",
    "bn",
    "jt",
    "adj",
];

/// Words that may follow a side without a separator, as in "lshldr".
const AFTER_SIDE: &[&str] = &[
    "shldr", "shoulder", "clavicle", "collar", "arm", "uparm", "upperarm", "forearm", "lowerarm", "elbow", "hand",
    "wrist", "hip", "leg", "upleg", "upperleg", "thigh", "lowerleg", "shin", "calf", "knee", "foot", "ankle", "toe",
    "toes", "toebase", "thumb", "index", "pinky", "ring", "middle", "mid", "eye", "ear", "buttock",
];

impl Words {
    pub fn new(name: &str) -> Self {
        let name = decoded(name);
        let plain = name.rsplit([':', '|']).next().unwrap_or(&name);
        let lower = plain.to_lowercase();
        let after = lower.find("finger").map(|at| &lower[at + "finger".len()..]);
        let finger = after.and_then(|rest| rest.chars().next()?.to_digit(10)).map(|digit| digit as u8);
        let mut side = Side::Middle;
        let mut words = Vec::new();
        for word in split(plain) {
            let (said, rest) = side_of(&word);
            if side == Side::Middle {
                side = said;
            }
            if !rest.is_empty() && !NOISE.contains(&rest) {
                words.push(rest.to_owned());
            }
        }
        // 3ds Max Biped calls the hips as it calls the character: "Bip01".
        if words.is_empty() && side == Side::Middle && lower.starts_with("bip") {
            words.push("hips".into());
        }
        Self { joined: words.concat(), words, side, finger }
    }

    pub fn has(&self, word: &str) -> bool {
        self.words.iter().any(|own| own == word)
    }
}

/// The side that a word says, and the rest of the word.
fn side_of(word: &str) -> (Side, &str) {
    match word {
        "l" | "left" | "lft" | "lf" => return (Side::Left, ""),
        "r" | "right" | "rgt" | "rt" => return (Side::Right, ""),
        // Ends in a part without naming a side.
        "rear" => return (Side::Middle, word),
        _ => {}
    }
    for (beginning, side) in [("left", Side::Left), ("right", Side::Right)] {
        if let Some(rest) = word.strip_prefix(beginning).filter(|rest| rest.len() > 2) {
            return (side, rest);
        }
    }
    for (beginning, side) in [("l", Side::Left), ("r", Side::Right)] {
        if let Some(rest) = word.strip_prefix(beginning).filter(|rest| AFTER_SIDE.contains(rest)) {
            return (side, rest);
        }
    }
    (Side::Middle, word)
}

/// A name without the escapes of FBX: `FBXASC` and three decimal digits stand for a character.
fn decoded(name: &str) -> String {
    let mut parts = name.split("FBXASC");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let code = part
            .get(..3)
            .filter(|code| code.bytes().all(|b| b.is_ascii_digit()))
            .and_then(|code| code.parse::<u8>().ok());
        match code {
            Some(code) => {
                plain.push(char::from(code));
                plain.push_str(&part[3..]);
            }
            None => {
                plain.push_str("FBXASC");
                plain.push_str(part);
            }
        }
    }
    plain
}

/// Words of a name: cut at what is no letter, and where capitals begin.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cut_into_words_and_sides() {
        let cut = |name: &str| {
            let words = Words::new(name);
            (words.words.join(" "), words.side)
        };
        for (name, words, side) in [
            ("mixamorigFBXASC058LeftForeArm", "fore arm", Side::Left),
            ("Bip01FBXASC032RFBXASC032Thigh", "thigh", Side::Right),
            ("FBXASCend", "fbxas cend", Side::Middle),
            ("DEF-f_index.01.L", "index", Side::Left),
            ("rshldr", "shldr", Side::Right),
            ("IKBackLeg.L", "ik back leg", Side::Left),
            ("rear_tail", "rear tail", Side::Middle),
            ("ring", "ring", Side::Middle),
            ("", "", Side::Middle),
        ] {
            assert_eq!(cut(name), (words.to_owned(), side), "{name}");
        }
        assert_eq!(Words::new("Bip01 L Finger12").finger, Some(1));
    }
}
