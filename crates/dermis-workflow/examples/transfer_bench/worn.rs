//! Clothes on the corrected body: how much of them lies in the true skin.

use crate::data::{TrueBody, blended, bundles, posed};
use crate::rivals;
use dermis_deform::Deformer;
use dermis_rig::BoneTransforms;
use dermis_rig::glam::DVec3;
use dermis_transfer::{Body, Clearance, Operator, Settings, Skin, carried_model, carried_weights};
use serde_json::json;
use std::path::Path;
use std::time::Instant;

const EXERCISE: [usize; 10] = [1, 4, 8, 14, 21, 27, 33, 35, 38, 40];
const WALK: [usize; 6] = [0, 2, 4, 6, 8, 10];

/// Six suits over the bundled body, whose model has seen the exercise and not the walk.
pub fn worn(folder: &Path) -> Result<(), String> {
    let true_body = TrueBody::open()?;
    let mesh = true_body.rig().mesh();
    let weights = true_body.weights()?;
    let body = Body::new(mesh).ok_or("the body has no triangles")?;
    let model = true_body.model()?;
    let seen = EXERCISE.iter().map(|at| &true_body.exercise[*at]);
    let examples: Vec<_> = seen.chain(WALK.iter().map(|at| &true_body.walk[*at])).collect();
    let poses: Vec<BoneTransforms> = examples.iter().map(|example| example.transforms.clone()).collect();
    let skins: Vec<Vec<DVec3>> = examples.iter().map(|example| example.positions.clone()).collect();
    let uncorrected = blended(&mesh.positions, weights, &poses)?;
    let rest_skin = Skin::new(&mesh.positions, &mesh.triangles);
    let ways =
        ["closest point, over a body without corrections", "closest point", "inpainting", "Dermis, weights", "Dermis"];
    let mut sums: Vec<Vec<[f64; 4]>> = vec![vec![]; ways.len()];
    for (name, suit) in bundles(&folder.join("dressed"))? {
        let target = suit.with_z_up().mesh()?;
        let at_rest = rest_skin.distances(&target.positions);
        let start = Instant::now();
        let operator = Operator::new(&body, &target, &Settings::default()).map_err(|e| e.to_string())?;
        let own = carried_weights(&operator, weights, 8).map_err(|e| e.to_string())?;
        let carried =
            carried_model(&model, &operator, (&target, &own), None, body.unit()).map_err(|e| e.to_string())?;
        let seconds = start.elapsed().as_secs_f64();
        let [closest, inpainted, _] = rivals::all(&body, weights, &target)?;
        let rest = &target.positions;
        let lbs = |weights| blended(rest, weights, &poses);
        let all: [(&[Vec<DVec3>], Vec<Vec<DVec3>>); 5] = [
            (&uncorrected, lbs(&closest)?),
            (&skins, lbs(&closest)?),
            (&skins, lbs(&inpainted)?),
            (&skins, lbs(&own)?),
            (&skins, posed(&carried, &poses)?),
        ];
        for (way, (skins, clothes)) in all.into_iter().enumerate() {
            let of = |(skin, cloth): (&Vec<DVec3>, Vec<DVec3>)| {
                Clearance::of(&at_rest, &Skin::new(skin, &mesh.triangles).distances(&cloth), body.unit())
            };
            let each: Vec<Clearance> = skins.iter().zip(clothes).map(of).collect();
            let mean = |of: &[Clearance]| 100.0 * of.iter().map(Clearance::share).sum::<f64>() / of.len() as f64;
            let together = each.iter().fold(Clearance::default(), |sum, one| sum.with(*one));
            let worst = each.iter().map(|one| 100.0 * one.share()).fold(0.0, f64::max);
            let row = [mean(&each), mean(&each[EXERCISE.len()..]), worst, 1e3 * together.change()];
            sums[way].push(row);
            println!(
                "{}",
                json!({"table": "worn", "mesh": name, "way": ways[way], "inside": row[0], "inside_walk": row[1], "inside_worst": row[2], "change": row[3], "seconds": seconds, "vertices": target.positions.len()})
            );
        }
    }
    for (way, rows) in ways.iter().zip(&sums) {
        let mean = |at: usize| rows.iter().map(|row| row[at]).sum::<f64>() / rows.len().max(1) as f64;
        println!(
            "{}",
            json!({"table": "worn", "mesh": "mean", "way": way, "inside": mean(0), "inside_walk": mean(1), "inside_worst": mean(2), "change": mean(3)})
        );
    }
    Ok(())
}

impl TrueBody {
    /// The joint model of the exercise.
    pub fn model(&self) -> Result<Deformer, String> {
        let set = dermis_rig::ExampleSet::new("exercise".into(), self.exercise.clone(), self.rig())
            .map_err(|e| e.to_string())?;
        let input = dermis_fit::FitInput::new(self.rig(), &set);
        let method = dermis_fit::Method::Joint(dermis_fit::method::JointMethod::default());
        let learnt = method.fit(&input, &dermis_fit::silent).map_err(|e| e.to_string())?;
        let poses = learnt.training_poses(self.exercise.iter().map(|example| &example.transforms));
        let (model, ..) = learnt.rigged(self.rig(), &poses).map_err(|e| e.to_string())?;
        model.baked().widened().map_err(|e| e.to_string())
    }
}
