//! Are joints that `dermis rig` calls sure where they should be?
//!
//! `cargo xtask bench confidence FOLDER` runs this: each rig in FOLDER (.npz, with the names of the biped's joints) is rigged anew from its mesh alone. It prints a
//! JSON object a joint: its error over the length of the limb that it belongs to, its verdict, and what that is made from.

use dermis_workflow::autorig::confidence::Limb;
use dermis_workflow::autorig::{AutoRigSettings, Template, autorig};
use dermis_workflow::load::load_rig;
use dermis_workflow::rig::glam::DVec3;
use serde_json::{Value, json};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

fn main() {
    let folder = PathBuf::from(std::env::args().nth(1).unwrap_or_default());
    let entries = std::fs::read_dir(&folder).map(|all| all.filter_map(|entry| Some(entry.ok()?.path())));
    let mut files: Vec<PathBuf> = match entries {
        Ok(entries) => entries.filter(|path| path.extension().is_some_and(|e| e == "npz")).collect(),
        Err(error) => return println!("{}", json!({"error": format!("{}: {error}", folder.display())})),
    };
    files.sort();
    for file in files {
        match joints(&file) {
            Ok(rows) => rows.iter().for_each(|row| println!("{row}")),
            Err(error) => println!("{}", json!({"error": format!("{}: {error}", file.display())})),
        }
    }
}

fn joints(file: &Path) -> Result<Vec<Value>, String> {
    let loaded = load_rig(file).map_err(|e| e.to_string())?;
    let (skeleton, mesh) = (loaded.rig.skeleton(), loaded.rig.mesh());
    let truth = |name: &str| -> Option<DVec3> { Some(skeleton.bind()[skeleton.find(name)?].translation) };
    let template = Template::named("biped").ok_or("no biped")?;
    let found = autorig(mesh, &template, &AutoRigSettings::default(), &|_, _| ControlFlow::Continue(()))
        .map_err(|e| e.to_string())?;
    let body = file.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let row = |joint: &dermis_workflow::autorig::FoundJoint| -> Option<Value> {
        let (at, limb, evidence) = (truth(&joint.name)?, Limb::of(&joint.name)?, joint.evidence?);
        let length = limb.length(if joint.name.ends_with("_r") { 'r' } else { 'l' }, &truth)?;
        Some(json!({
            "body": body,
            "joint": joint.name,
            "limb": format!("{limb:?}"),
            "error": joint.place.distance(at) / length,
            "off": ((joint.place - at) / length).to_array(),
            "verdict": joint.verdict.word(),
            "confidence": joint.confidence,
            "spread": evidence.spread,
            "asymmetry": evidence.asymmetry,
            "proportion": evidence.proportion,
        }))
    };
    Ok(found.joints.iter().filter_map(row).collect())
}
