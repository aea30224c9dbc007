//! Names that every program takes as they are.

use crate::skinned_scene::Renamed;
use crate::skinned_scene::names::unique_as;

/// The kind whose names programs do not take for those of variables.
pub(super) const CLIP: &str = "clip";

/// The name without control characters, which part it from its class.
fn free(name: &str) -> String {
    let name: String = name.chars().map(|c| if c.is_control() { '_' } else { c }).collect();
    if name.is_empty() { CLIP.into() } else { name }
}

/// The name in letters and digits of any script, underscores, and single colons between them, which part a namespace from a name.
/// Other characters become underscores, and so does a place before a digit at the beginning: Maya and Unreal write such names in
/// other ways, each its own. A name without any becomes `instead`.
fn plain(name: &str, instead: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || c == '_';
    let chars: Vec<char> = name.chars().collect();
    let beside = |at: Option<usize>| at.and_then(|at| chars.get(at)).is_some_and(|c| is_plain(*c));
    let mut made = String::with_capacity(name.len() + 1);
    for (at, &c) in chars.iter().enumerate() {
        let parts = c == ':' && beside(at.checked_sub(1)) && beside(Some(at + 1));
        if at == 0 && c.is_numeric() {
            made.push('_');
        }
        made.push(if is_plain(c) || parts { c } else { '_' });
    }
    if made.is_empty() { instead.into() } else { made }
}

/// Names of several kinds of things that share one list, each as programs take it, and once.
///
/// - `given`: kind and name of each
pub(crate) fn unique(given: &[(&'static str, &str)], renamed: &mut Vec<Renamed>) -> Vec<String> {
    unique_as(given, |kind, name| if kind == CLIP { free(name) } else { plain(name, kind) }, renamed)
}

/// The name of a set of texture coordinates.
pub(crate) fn uv_set(set: usize) -> String {
    if set == 0 { "UVMap".into() } else { format!("UVMap_{}", set + 1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_plain() {
        for (given, expected) in [
            ("upper_arm", "upper_arm"),
            ("upper arm.L", "upper_arm_L"),
            ("mixamorig:Hips", "mixamorig:Hips"),
            ("a::b", "a__b"),
            (":a:", "_a_"),
            ("1st", "_1st"),
            ("骨盤", "骨盤"),
            ("a\0\u{1}Model", "a__Model"),
            ("..", "__"),
            ("", "bone"),
        ] {
            assert_eq!(plain(given, "bone"), expected);
        }
    }

    #[test]
    fn names_that_are_plain_stay() {
        let mut renamed = Vec::new();
        let given = [("bone", "a.b"), ("bone", "a_b"), ("object", "a_b"), ("object", "c")];
        assert_eq!(unique(&given, &mut renamed), ["a_b_2", "a_b", "a_b_3", "c"]);
        let told: Vec<(&str, &str)> = renamed.iter().map(|one| (one.from.as_str(), one.to.as_str())).collect();
        assert_eq!(told, [("a.b", "a_b_2"), ("a_b", "a_b_3")]);
    }
}
