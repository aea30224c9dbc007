//! My body is corrected: how do its trousers follow?
//!
//! A model is fitted to the bundled body and carried to trousers, a shell eight millimetres outside its legs. In poses that the fit has not
//! seen, the clearance of the trousers over the true skin is compared with that of trousers which have weights alone.
//!
//! `cargo run --release -p dermis --example dress_a_body`

use dermis::glam::DVec3;
use dermis::internals::deform::{Base, Deformer};
use dermis::internals::rig::Mesh;
use dermis::internals::transfer::{Clearance, Skin};
use dermis::{BoneIndex, BoneTransforms, CarrySettings, Examples, Method, Rig};

/// Prints the part of the trousers that lies deeper than two millimetres in the skin.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (rig, exercise, walk, _) = dermis::internals::workflow::verbs::demo::body()?;
    let rig = Rig::from(rig);
    let some: Vec<usize> = (0..exercise.examples().len()).step_by(3).collect();
    let fitted = dermis::fit(&rig, &Examples::from(exercise.subset(&some)), &Method::default())?;

    let trousers = trousers(&rig)?;
    let carried = fitted.model().carried_to(&trousers, &CarrySettings::default())?;
    let model = carried.model().ok_or("a model was carried")?;
    let blended = Deformer::new(trousers.positions.clone(), Base::Lbs(carried.weights().clone()), None)?.bake();

    let triangles = &rig.mesh().triangles;
    let at_rest = Skin::new(&rig.mesh().positions, triangles).distances(&trousers.positions);
    let (mut runner, mut plain) = (model.runner(), blended.runner());
    let (mut with_corrections, mut with_weights) = (Clearance::default(), Clearance::default());
    for example in walk.examples() {
        let skin = Skin::new(&example.positions, triangles);
        let clearance = |cloth: &[dermis::glam::Vec3]| {
            let cloth: Vec<DVec3> = cloth.iter().map(|p| p.as_dvec3()).collect();
            Clearance::of(&at_rest, &skin.distances(&cloth), 1.0)
        };
        let pose: &BoneTransforms = &example.transforms;
        with_corrections = with_corrections.with(clearance(runner.skin(pose)?));
        with_weights = with_weights.with(clearance(plain.skin(pose)?));
    }
    println!(
        "{} vertices; in the skin on a walk: {:.2} %, with weights alone {:.2} %",
        trousers.positions.len(),
        100.0 * with_corrections.share(),
        100.0 * with_weights.share()
    );
    assert!(carried.unmatched().is_empty() && with_corrections.change() < 0.6 * with_weights.change());

    // Whatever the body has, the trousers can have: here the height of every vertex.
    let heights: Vec<f64> = rig.mesh().positions.iter().map(|p| p.y).collect();
    let carried_heights = carried.apply(1, &heights)?;
    let apart = carried_heights.iter().zip(&trousers.positions).map(|(y, p)| (y - p.y).abs()).fold(0.0, f64::max);
    assert!(apart < 0.05, "{apart}");
    Ok(())
}

/// A shell over the legs of the body.
fn trousers(rig: &Rig) -> Result<Mesh, Box<dyn std::error::Error>> {
    let weights = rig.weights().ok_or("the body has weights")?;
    let is_leg = |bone: BoneIndex| ["thigh", "calf"].iter().any(|part| rig.skeleton().names()[bone].starts_with(part));
    let on_leg = |v: u32| weights.dominant(v as usize).is_some_and(is_leg);
    let mesh = rig.mesh();
    let of_legs: Vec<[u32; 3]> = mesh.triangles.iter().filter(|t| t.iter().all(|v| on_leg(*v))).copied().collect();
    let mut normals = vec![DVec3::ZERO; mesh.positions.len()];
    for triangle in &mesh.triangles {
        let [a, b, c] = triangle.map(|v| mesh.positions[v as usize]);
        triangle.iter().for_each(|v| normals[*v as usize] += (b - a).cross(c - a));
    }
    let mut used: Vec<u32> = of_legs.iter().flatten().copied().collect();
    used.sort_unstable();
    used.dedup();
    let outside = |v: &u32| mesh.positions[*v as usize] + 0.008 * normals[*v as usize].normalize_or_zero();
    let number = |v: u32| used.partition_point(|used| *used < v) as u32;
    Ok(Mesh {
        positions: used.iter().map(outside).collect(),
        triangles: of_legs.iter().map(|triangle| triangle.map(number)).collect(),
        ..Mesh::default()
    })
}
