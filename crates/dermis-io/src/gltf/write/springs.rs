//! Springs of bone chains as the extension `VRMC_springBone`.
//!
//! The last joint of a spring is only the tail of the one before. A bone that ends a chain and moves skin therefore gets a node below it, at
//! its tip.
//!
//! Source: VRM consortium, "VRMC_springBone 1.0".

use super::scene::GlbScene;
use crate::WriteError;
use crate::chain_springs::DOWN;
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};

const SPRING_BONE: &str = "VRMC_springBone";

/// Adds the springs of the scene to the extensions of the file, and nodes for tips. Springs that the file came with stay, unless they have
/// a bone of these: a joint belongs to one spring. Result: what was left out, in words.
pub(super) fn add(
    scene: &GlbScene,
    bones: &HashMap<&str, usize>,
    nodes: &mut Vec<Value>,
    root: &mut Value,
) -> Result<Vec<String>, WriteError> {
    let mut left_out = Vec::new();
    let (mut springs, mut taken) = (Vec::new(), HashSet::new());
    let Some(skeleton) = scene.skeleton else { return Ok(left_out) };
    for chain in scene.springs {
        let name = chain.name();
        if !chain.serves(skeleton) {
            left_out.push(format!("the springs of \"{name:.60}\": the skeleton has no longer all their bones"));
            continue;
        }
        if !chain.is_usable() {
            return Err(WriteError::NotFinite { what: format!("the springs of \"{name:.60}\"") });
        }
        let mut joints: Vec<usize> = chain.bones.iter().filter_map(|bone| bones.get(bone.as_str()).copied()).collect();
        if joints.iter().any(|joint| !taken.insert(*joint)) {
            left_out.push(format!("the springs of \"{name:.60}\": others have one of their bones"));
            continue;
        }
        if let (Some(end), Some(&last)) = (chain.end(skeleton), joints.last()) {
            let tip = nodes.len();
            nodes.push(json!({ "name": free_name(nodes, last), "translation": end.to_array() }));
            match nodes[last]["children"].as_array_mut() {
                Some(children) => children.push(json!(tip)),
                None => nodes[last]["children"] = json!([tip]),
            }
            joints.push(tip);
        }
        let swings = joints.len() - 1;
        let joint = |(at, node): (usize, &usize)| match at < swings {
            true => json!({
                "node": node, "hitRadius": chain.radius, "stiffness": chain.stiffness, "gravityPower": chain.gravity,
                "gravityDir": DOWN, "dragForce": chain.drag,
            }),
            false => json!({ "node": node }),
        };
        let joints: Vec<Value> = joints.iter().enumerate().map(joint).collect();
        springs.push(json!({ "name": name, "joints": joints }));
    }
    if springs.is_empty() {
        return Ok(left_out);
    }
    let own = root.as_object_mut().map(|root| root.entry("extensions").or_insert_with(|| json!({})));
    let own = own.and_then(Value::as_object_mut).map(|own| own.entry(SPRING_BONE).or_insert_with(|| json!({})));
    let Some(own) = own else { return Ok(left_out) };
    if !own.is_object() {
        *own = json!({});
    }
    own["specVersion"] = json!("1.0");
    if let Some(before) = own["springs"].as_array_mut() {
        let count = before.len();
        let is_taken = |joint: &Value| joint["node"].as_u64().is_some_and(|node| taken.contains(&(node as usize)));
        before.retain(|spring| !spring["joints"].as_array().into_iter().flatten().any(is_taken));
        if count > before.len() {
            left_out.push(format!("{} springs of {SPRING_BONE}: learnt ones stand for them", count - before.len()));
        }
        before.append(&mut springs);
    } else {
        own["springs"] = Value::Array(springs);
    }
    Ok(left_out)
}

/// The name of a bone with "_end", and a number if another node has it.
fn free_name(nodes: &[Value], bone: usize) -> String {
    let name = format!("{}_end", nodes[bone]["name"].as_str().unwrap_or_default());
    let is_free = |name: &String| !nodes.iter().any(|node| node["name"] == name.as_str());
    let numbered = (1..).map(|number| format!("{name}_{number}"));
    std::iter::once(name.clone()).chain(numbered).find(is_free).unwrap_or(name)
}
