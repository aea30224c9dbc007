//! The modules of `js/` as one script: a page that is opened from a disk cannot import.

/// The modules, each after those that it imports.
const MODULES: [&str; 6] = [
    include_str!("../../../../js/dermis_rotation.js"),
    include_str!("../../../../js/dermis_drivers.js"),
    include_str!("../../../../js/dermis_extension.js"),
    include_str!("../../../../js/dermis_glb.js"),
    include_str!("../../../../js/dermis_skin.js"),
    include_str!("../../../../js/dermis_springs.js"),
];

/// Returns a script that defines `Dermis`, with what the page uses of the modules.
///
/// Every import and export stands at the beginning of a line of its own; the tests run the result.
pub(super) fn dermis() -> String {
    // Each module in a function of its own, so that names which it does not export cannot meet.
    let mut script = String::from("\"use strict\";\nconst Dermis = {};\n");
    for module in MODULES {
        script.push_str("{\n");
        let mut exported = Vec::new();
        for line in module.lines() {
            if let Some(names) = line.strip_prefix("import {").and_then(|rest| rest.split_once('}')) {
                script.push_str(&format!("const {{{}}} = Dermis;\n", names.0));
                continue;
            }
            let plain = line.strip_prefix("export ").unwrap_or(line);
            if plain.len() != line.len() {
                let name =
                    plain.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty()).nth(1);
                exported.extend(name);
            }
            script.push_str(plain);
            script.push('\n');
        }
        script.push_str(&format!("Object.assign(Dermis, {{ {} }});\n}}\n", exported.join(", ")));
    }
    script
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_page_uses_is_there() {
        let script = dermis();
        for name in ["readGlb", "readGltf", "sampleClip", "worldMatrices", "Skin", "Springs", "Drivers"] {
            let listed = script.lines().any(|line| line.starts_with("Object.assign(Dermis") && line.contains(name));
            assert!(listed, "{name}");
        }
        assert!(!script.lines().any(|line| line.starts_with("import") || line.starts_with("export")), "{script}");
    }
}
