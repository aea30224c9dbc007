//! Morph targets of the body on its clothes: how much of them lies in the skin once a target shows.

use crate::data::{Bundle, TrueBody, bundles};
use dermis_deform::blend;
use dermis_fit::psd::pull_back;
use dermis_rig::Example;
use dermis_rig::glam::DVec3;
use dermis_transfer::model::carried_displacements;
use dermis_transfer::{Body, Clearance, Operator, Settings, Skin};
use serde_json::json;
use std::path::Path;

/// Six suits at rest under morph targets: what the muscles of some poses do to the rest shape, and another figure.
pub fn shapes(folder: &Path) -> Result<(), String> {
    let true_body = TrueBody::open()?;
    let mesh = true_body.rig().mesh();
    let body = Body::new(mesh).ok_or("the body has no triangles")?;
    let mut targets = vec![];
    for label in ["squat", "elbow left", "arm up left", "knee up left"] {
        let example = true_body.exercise.iter().find(|example| example.label.contains(label));
        targets.push((label, at_rest(&true_body, example.ok_or_else(|| format!("there is no pose {label}"))?)?));
    }
    let heavy = Bundle::open(&folder.join("character/heavy_walk.npz"))?.with_z_up().points("rest_vertices")?;
    targets.push(("heavy, old", heavy.iter().zip(&mesh.positions).map(|(other, p)| *other - *p).collect()));
    let rest_skin = Skin::new(&mesh.positions, &mesh.triangles);
    let ways = ["not carried", "closest point", "Dermis"];
    for (label, target) in &targets {
        let largest = target.iter().map(|d| d.length()).fold(0.0, f64::max);
        let skin: Vec<DVec3> = mesh.positions.iter().zip(target).map(|(p, d)| *p + *d).collect();
        let skin = Skin::new(&skin, &mesh.triangles);
        let mut sums = [Clearance::default(); 3];
        for (_, suit) in bundles(&folder.join("dressed"))? {
            let cloth = suit.with_z_up().mesh()?;
            let before = rest_skin.distances(&cloth.positions);
            let operator = Operator::new(&body, &cloth, &Settings::default()).map_err(|e| e.to_string())?;
            let ours = carried_displacements(&operator, |v| target[v]).map_err(|e| e.to_string())?;
            let closest = |p: &DVec3| {
                let row = body.find(*p, None, 0.0).map(|m| m.row).unwrap_or_default();
                row.iter().map(|&(v, share)| target[v as usize] * share).sum()
            };
            let closest: Vec<DVec3> = cloth.positions.iter().map(closest).collect();
            let still = vec![DVec3::ZERO; cloth.positions.len()];
            for (sum, moved) in sums.iter_mut().zip([still, closest, ours]) {
                let worn: Vec<DVec3> = cloth.positions.iter().zip(&moved).map(|(p, d)| *p + *d).collect();
                *sum = sum.with(Clearance::of(&before, &skin.distances(&worn), body.unit()));
            }
        }
        for (way, clearance) in ways.iter().zip(&sums) {
            println!(
                "{}",
                json!({"table": "shapes", "target": label, "largest": 1e3 * largest, "way": way, "inside": 100.0 * clearance.share(), "change": 1e3 * clearance.change()})
            );
        }
    }
    Ok(())
}

/// Displacements of the rest shape that linear blending carries to the skin of an example.
fn at_rest(body: &TrueBody, example: &Example) -> Result<Vec<DVec3>, String> {
    let (rest, weights) = (&body.rig().mesh().positions, body.weights()?);
    let displaced = |v: usize| {
        let blended = blend(weights.of(v), &example.transforms);
        pull_back(blended.matrix3, example.positions[v] - blended.transform_point3(rest[v])).0
    };
    Ok((0..rest.len()).map(displaced).collect())
}
