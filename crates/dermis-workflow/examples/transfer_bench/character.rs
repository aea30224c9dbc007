//! What the body's model does on another character, of which it has seen no example.

use crate::data::{TrueBody, blended, examples, posed, rms};
use dermis_deform::Deformer;
use dermis_rig::{BoneTransforms, Mesh};
use dermis_transfer::{Body, Operator, Proportions, Settings, carried_model, laid_onto};
use dermis_workflow::load::load_rig;
use serde_json::json;
use std::path::Path;

/// A character with the body's rig and vertices, of which closest points know nothing.
pub fn character(folder: &Path) -> Result<(), String> {
    let true_body = TrueBody::open()?;
    let model = true_body.model()?;
    let (own, own_weights) = (true_body.rig(), true_body.weights()?);
    for set in ["heavy_walk", "heavy_exercise"] {
        let path = folder.join("character").join(format!("{set}.npz"));
        let loaded = load_rig(&path).map_err(|e| e.to_string())?;
        let (other, weights) = (&loaded.rig, loaded.rig.weights().ok_or("the character has no weights")?);
        let truth = examples(&loaded, &path)?;
        let poses: Vec<BoneTransforms> = truth.iter().map(|example| example.transforms.clone()).collect();
        let skins: Vec<_> = truth.iter().map(|example| example.positions.clone()).collect();
        let lbs = rms(blended(&other.mesh().positions, weights, &poses)?.iter().zip(&skins));
        let print = |way: &str, model: Deformer| -> Result<(), String> {
            let whole = rms(posed(&model, &poses)?.iter().zip(&skins)) / lbs;
            let base = rms(posed(&model.without_correction(), &poses)?.iter().zip(&skins)) / lbs;
            println!(
                "{}",
                json!({"table": "character", "set": set, "poses": poses.len(), "way": way, "lbs": 1e3 * lbs, "base": base, "ratio": whole})
            );
            Ok(())
        };
        let (from, to, mesh) = (own.skeleton(), other.skeleton(), other.mesh());
        let names: Vec<_> = from.names().iter().map(|name| to.find(name)).collect();
        let map = Proportions::new(from, to, &names).ok_or("no bone has a counterpart")?;
        let by_index = map.model(&model, own_weights, (&mesh.positions, weights), to);
        print("index", by_index.map_err(|e| e.to_string())?)?;
        let skin = Body::new(mesh).ok_or("no triangles")?;
        let weights_there = map.weights(own_weights);
        let positions = map.rest(&own.mesh().positions, own_weights);
        let mut stand = Mesh { positions, triangles: own.mesh().triangles.clone(), ..Mesh::default() };
        for way in ["closest points", "closest points, the body laid onto it"] {
            if way.ends_with("laid onto it") {
                stand.positions = laid_onto(&skin, &stand, &[]).map_err(|e| e.to_string())?;
            }
            let moved = map.model(&model, own_weights, (&stand.positions, &weights_there), to);
            let moved = moved.map_err(|e| e.to_string())?;
            let body = Body::new(&stand).ok_or("no triangles")?;
            let operator = Operator::new(&body, mesh, &Settings::default()).map_err(|e| e.to_string())?;
            let replaced = Some(&weights_there);
            let carried = carried_model(&moved, &operator, (mesh, weights), replaced, body.unit());
            print(way, carried.map_err(|e| e.to_string())?)?;
        }
    }
    Ok(())
}
