//! Weights alone: suits with an artist's binding, and simulated clothes.

use crate::data::{Bundle, TrueBody, blended, bundles, geometric};
use crate::rivals::{self, WAYS};
use dermis_rig::glam::DVec3;
use dermis_rig::mesh::welded;
use dermis_rig::{BoneTransforms, Example, Influences, Mesh};
use dermis_transfer::{Body, Skin, rough_vertices};
use serde_json::json;
use std::path::Path;
use std::time::Instant;

/// An island is of one limb if that has more of its weights than this part.
const OF_ONE_LIMB: f64 = 0.7;

/// Six suits on the base body: error against the artist's binding, millimetres.
pub fn suits(folder: &Path) -> Result<(), String> {
    let base = Bundle::open(&folder.join("body_base.npz"))?;
    let mesh = base.mesh()?;
    let weights = base.weights("lbs_weights", mesh.positions.len())?;
    let poses = base.transforms("test_transforms", weights.bones_named())?;
    let body = Body::new(&mesh).ok_or("the body has no triangles")?;
    let suits = bundles(&folder.join("suits"))?;
    let mut all: Vec<Vec<[f64; 4]>> = vec![vec![]; WAYS.len()];
    let mut rough_of = [0; WAYS.len()];
    for (name, suit) in &suits {
        let mesh = suit.mesh()?;
        let truth = suit.weights("truth_weights", mesh.positions.len())?;
        let consistent: Vec<bool> = suit.numbers("truth_is_consistent")?.iter().map(|x| *x != 0.0).collect();
        let true_skins = blended(&mesh.positions, &truth, &poses)?;
        let start = Instant::now();
        let made = rivals::all(&body, &weights, &mesh)?;
        let seconds = start.elapsed().as_secs_f64();
        for (way, weights) in made.iter().enumerate() {
            let skins = blended(&mesh.positions, weights, &poses)?;
            let errors = |of: &dyn Fn(usize) -> bool| -> Vec<f64> {
                let pairs = skins.iter().zip(&true_skins);
                pairs.flat_map(|(a, b)| (0..a.len()).filter(|v| of(*v)).map(|v| 1e3 * a[v].distance(b[v]))).collect()
            };
            let (every, kept) = (spread(errors(&|_| true)), spread(errors(&|v| consistent[v])));
            let rough = rough_vertices(&mesh, weights).len();
            rough_of[way] += rough;
            all[way].push([kept[0], kept[1], every[0], every[1]]);
            let ways = WAYS[way];
            println!(
                "{}",
                json!({"table": "suits", "mesh": name, "way": ways, "rms": kept[0], "p99": kept[1], "rms_all": every[0], "p99_all": every[1], "rough": rough, "seconds_of_all_ways": seconds})
            );
        }
    }
    for (way, numbers) in all.iter().enumerate() {
        let mean = |at: usize| geometric(&numbers.iter().map(|row| row[at]).collect::<Vec<_>>());
        println!(
            "{}",
            json!({"table": "suits", "mesh": "geometric mean", "way": WAYS[way], "rms": mean(0), "p99": mean(1), "rms_all": mean(2), "p99_all": mean(3), "rough": rough_of[way]})
        );
    }
    Ok(())
}

/// Simulated clothes on the bundled body: error against the simulation, millimetres.
pub fn cloth(folder: &Path) -> Result<(), String> {
    let true_body = TrueBody::open()?;
    let (mesh, weights) = (true_body.rig().mesh(), true_body.weights()?);
    let names = true_body.rig().skeleton().names();
    let body = Body::new(mesh).ok_or("the body has no triangles")?;
    for (name, cloth) in bundles(&folder.join("cloth"))? {
        let cloth = cloth.with_z_up();
        let target = cloth.mesh()?;
        let bones = names.len();
        let bind: Vec<_> =
            cloth.transforms("bind_matrices", bones)?.remove(0).as_slice().iter().map(|m| m.inverse()).collect();
        let poses: Vec<BoneTransforms> = cloth
            .transforms("pose_matrices", bones)?
            .iter()
            .map(|pose| BoneTransforms::new(pose.as_slice().iter().zip(&bind).map(|(m, b)| *m * *b).collect()))
            .collect();
        let simulated: Vec<Vec<DVec3>> =
            cloth.points("vertices")?.chunks_exact(target.positions.len()).map(<[_]>::to_vec).collect();
        let skins = poses.iter().map(|pose| true_skin(&true_body, pose)).collect::<Result<Vec<_>, _>>()?;
        let inside = |posed: &[Vec<DVec3>]| {
            let share = |(skin, posed): (&Vec<DVec3>, &Vec<DVec3>)| {
                let distances = Skin::new(skin, &mesh.triangles).distances(posed);
                distances.iter().filter(|d| **d < -0.002).count() as f64 / posed.len() as f64
            };
            100.0 * skins.iter().zip(posed).map(share).sum::<f64>() / posed.len() as f64
        };
        for (way, made) in WAYS.iter().zip(rivals::all(&body, weights, &target)?) {
            let posed = blended(&target.positions, &made, &poses)?;
            let errors = posed.iter().zip(&simulated);
            let [rms, p99] =
                spread(errors.flat_map(|(a, b)| a.iter().zip(b).map(|(a, b)| 1e3 * a.distance(*b))).collect());
            let mixed = mixed(&made, &target, names);
            println!(
                "{}",
                json!({"table": "cloth", "mesh": name, "way": way, "rms": rms, "p99": p99, "inside": inside(&posed), "rough": rough_vertices(&target, &made).len(), "mixed": mixed})
            );
        }
        println!(
            "{}",
            json!({"table": "cloth", "mesh": name, "way": "the simulation", "rms": 0.0, "p99": 0.0, "inside": inside(&simulated)})
        );
    }
    Ok(())
}

/// The true skin in a pose of the body's own sets.
pub fn true_skin(body: &TrueBody, pose: &BoneTransforms) -> Result<Vec<DVec3>, String> {
    let apart = |example: &Example| {
        let pairs = example.transforms.iter().zip(pose.iter());
        pairs
            .map(|(a, b)| (a.translation - b.translation).length() + (a.matrix3.x_axis - b.matrix3.x_axis).length())
            .sum::<f64>()
    };
    let all = body.exercise.iter().chain(&body.walk);
    let found = all.min_by(|a, b| apart(a).total_cmp(&apart(b))).filter(|example| apart(example) < 1e-2);
    found.map(|example| example.positions.clone()).ok_or_else(|| "a pose is not one of the body's".into())
}

/// rms and 99th percentile.
pub fn spread(mut errors: Vec<f64>) -> [f64; 2] {
    errors.sort_by(f64::total_cmp);
    let rms = (errors.iter().map(|e| e * e).sum::<f64>() / errors.len().max(1) as f64).sqrt();
    [rms, errors.get(errors.len() * 99 / 100).copied().unwrap_or(0.0)]
}

/// The largest weight of another limb in an island of one limb.
fn mixed(weights: &Influences, mesh: &Mesh, names: &[String]) -> f64 {
    let limb = |name: &str| {
        let side = if name.ends_with("_l") {
            "l"
        } else if name.ends_with("_r") {
            "r"
        } else {
            ""
        };
        let has = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
        match name {
            _ if has(&["arm", "hand", "thumb", "index", "middle", "pinky", "ring", "clavicle"]) => Some(("arm", side)),
            _ if has(&["thigh", "calf", "foot", "ball"]) => Some(("leg", side)),
            _ => None,
        }
    };
    let limbs: Vec<_> = names.iter().map(|name| limb(name)).collect();
    let place = welded(&mesh.positions);
    let mut island: Vec<u32> = place.clone();
    loop {
        let mut changed = false;
        for t in &mesh.triangles {
            let least = t.iter().map(|c| island[place[*c as usize] as usize]).min().unwrap_or(0);
            for c in t {
                let at = &mut island[place[*c as usize] as usize];
                changed |= *at != least;
                *at = least;
            }
        }
        if !changed {
            break;
        }
    }
    let mut most: f64 = 0.0;
    let mut ids: Vec<u32> = place.iter().map(|p| island[*p as usize]).collect();
    let of = ids.clone();
    ids.sort_unstable();
    ids.dedup();
    for id in ids {
        let own: Vec<usize> = (0..of.len()).filter(|v| of[*v] == id).collect();
        let mut sums = std::collections::BTreeMap::new();
        own.iter()
            .for_each(|&v| weights.of(v).iter().for_each(|(b, w)| *sums.entry(limbs[b.get()]).or_insert(0.0) += w));
        let whole: f64 = sums.values().sum();
        let top = sums.iter().max_by(|a, b| a.1.total_cmp(b.1)).filter(|(_, share)| **share > OF_ONE_LIMB * whole);
        let Some(Some(top)) = top.map(|(limb, _)| *limb) else { continue };
        let other = |v: usize| -> f64 {
            weights.of(v).iter().filter(|(b, _)| limbs[b.get()].is_some_and(|l| l != top)).map(|(_, w)| w).sum()
        };
        most = own.iter().map(|v| other(*v)).fold(most, f64::max);
    }
    most
}
