//! Names of prims and joints: identifiers, each once where they stand.

use crate::skinned_scene::Renamed;
use crate::skinned_scene::names::unique_as;

/// The name as an identifier: letters and digits of any script and underscores, no digit first. Other characters become underscores.
/// A name without any becomes `instead`.
pub(super) fn identifier(name: &str, instead: &str) -> String {
    let mut made = String::with_capacity(name.len() + 1);
    for c in name.chars() {
        let is_plain = c == '_' || unicode_ident::is_xid_continue(c);
        if made.is_empty() && is_plain && c != '_' && !unicode_ident::is_xid_start(c) {
            made.push('_');
        }
        made.push(if is_plain { c } else { '_' });
    }
    if made.is_empty() { instead.into() } else { made }
}

/// Identifiers of several kinds of things that share one list, each once.
///
/// - `given`: kind and name of each
pub(super) fn unique(given: &[(&'static str, &str)], renamed: &mut Vec<Renamed>) -> Vec<String> {
    unique_as(given, |kind, name| identifier(name, kind), renamed)
}

/// The primvar of a set of texture coordinates.
pub(super) fn uv_set(set: usize) -> String {
    if set == 0 { "st".into() } else { format!("st{set}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_identifiers() {
        for (given, expected) in [
            ("upper_arm", "upper_arm"),
            ("upper arm.L", "upper_arm_L"),
            ("mixamorig:Hips", "mixamorig_Hips"),
            ("1st", "_1st"),
            ("_1", "_1"),
            ("骨盤", "骨盤"),
            ("a²", "a_"),
            ("-a", "_a"),
            ("", "bone"),
        ] {
            assert_eq!(identifier(given, "bone"), expected);
        }
    }
}
