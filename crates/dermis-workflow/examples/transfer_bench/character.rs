//! What the body's model does on another character, of which it has seen no example.

use crate::data::{TrueBody, blended, examples, posed, rms};
use dermis_rig::{BoneTransforms, Mesh};
use dermis_transfer::{Body, Operator, Proportions, Settings, carried_model, laid_onto};
use dermis_workflow::load::load_rig;
use serde_json::json;
use std::path::Path;

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
        let uncorrected = blended(&other.mesh().positions, weights, &poses)?;
        let lbs = rms(uncorrected.iter().zip(&skins));
        let (from, to) = (own.skeleton(), other.skeleton());
        let names: Vec<_> = from.names().iter().map(|name| to.find(name)).collect();
        let map = Proportions::new(from, to, &names).ok_or("no bone has a counterpart")?;
        let print = |way: &str, ratio: f64| {
            println!(
                "{}",
                json!({"table": "character", "set": set, "poses": poses.len(), "way": way, "lbs": 1e3 * lbs, "ratio": ratio})
            );
        };
        let unscaled = |model: dermis_deform::Deformer| posed(&model, &poses);
        let other_mesh = other.mesh();
        let by_index =
            map.model(&model, own_weights, (&other_mesh.positions, weights), to).map_err(|e| e.to_string())?;
        print("the same index", rms(unscaled(by_index.clone())?.iter().zip(&skins)) / lbs);
        print("  its base alone", rms(posed(&by_index.without_correction(), &poses)?.iter().zip(&skins)) / lbs);
        let rest = map.rest(&own.mesh().positions, own_weights);
        let other_body = Body::new(other_mesh).ok_or("no triangles")?;
        // Nothing here knows that the vertices are the same.
        let stand = Mesh { positions: rest, triangles: own.mesh().triangles.clone(), ..Mesh::default() };
        for way in ["closest points", "laid onto the character"] {
            let mut stand = stand.clone();
            if way == "laid onto the character" {
                stand.positions = laid_onto(&other_body, &stand, &[]).map_err(|e| e.to_string())?;
            }
            let weights_there = map.weights(own_weights);
            let moved = map.model(&model, own_weights, (&stand.positions, &weights_there), to);
            let moved = moved.map_err(|e| e.to_string())?;
            let body = Body::new(&stand).ok_or("no triangles")?;
            let operator = Operator::new(&body, other_mesh, &Settings::default()).map_err(|e| e.to_string())?;
            let carried = carried_model(&moved, &operator, (other_mesh, weights), Some(&weights_there), body.unit())
                .map_err(|e| e.to_string())?;
            let mut away: Vec<f64> =
                stand.positions.iter().zip(&other_mesh.positions).map(|(a, b)| a.distance(*b)).collect();
            away.sort_by(f64::total_cmp);
            println!(
                "{way}: on body {}, median from counterpart {:.1} mm, p90 {:.1}",
                operator.is_on_body(),
                1e3 * away[away.len() / 2],
                1e3 * away[away.len() * 9 / 10]
            );
            print(way, rms(posed(&carried, &poses)?.iter().zip(&skins)) / lbs);
            print("  its base alone", rms(posed(&carried.without_correction(), &poses)?.iter().zip(&skins)) / lbs);
        }
    }
    Ok(())
}
