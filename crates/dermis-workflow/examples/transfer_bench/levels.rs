//! Levels of detail: how much of what the body's own model corrects, the carried one does.

use crate::data::{TrueBody, blended, bundles, posed, rms};
use dermis_rig::glam::{DMat3, DQuat, DVec3, DVec4};
use dermis_rig::rotation::{nearest_rotation, quat_from_matrix};
use dermis_rig::{BoneTransforms, Influences};
use dermis_transfer::model::carried_displacements;
use dermis_transfer::{Body, Operator, Settings, carried_model, carried_weights};
use rayon::prelude::*;
use serde_json::json;
use std::path::Path;

/// The walk, which the model has not seen.
pub fn levels(folder: &Path) -> Result<(), String> {
    let true_body = TrueBody::open()?;
    let mesh = true_body.rig().mesh();
    let weights = true_body.weights()?;
    let body = Body::new(mesh).ok_or("the body has no triangles")?;
    let model = true_body.model()?;
    let poses: Vec<BoneTransforms> = true_body.walk.iter().map(|example| example.transforms.clone()).collect();
    let skins: Vec<Vec<DVec3>> = true_body.walk.iter().map(|example| example.positions.clone()).collect();
    let uncorrected = blended(&mesh.positions, weights, &poses)?;
    let own = rms(posed(&model, &poses)?.iter().zip(&skins)) / rms(uncorrected.iter().zip(&skins));
    println!(
        "{}",
        json!({"table": "levels", "mesh": "the body itself", "vertices": mesh.positions.len(), "lbs": 1e3 * rms(uncorrected.iter().zip(&skins)), "ratio": own})
    );
    for (name, level) in bundles(&folder.join("lod"))? {
        let target = level.with_z_up().mesh()?;
        let operator = Operator::new(&body, &target, &Settings::default()).map_err(|e| e.to_string())?;
        let carried_w = carried_weights(&operator, weights, 8).map_err(|e| e.to_string())?;
        let carried =
            carried_model(&model, &operator, (&target, &carried_w), None, body.unit()).map_err(|e| e.to_string())?;
        let truth = carried_skins(&body, mesh, &target.positions, &skins);
        let lbs = rms(blended(&target.positions, &carried_w, &poses)?.iter().zip(&truth));
        let carried_rms = rms(posed(&carried, &poses)?.iter().zip(&truth));
        let body_base = posed(&model.clone().without_correction(), &poses)?;
        let target_base = posed(&carried.clone().without_correction(), &poses)?;
        let frames = Frames { poses: &poses, body: weights, target: &carried_w };
        let wanted = frames.carried(&operator, &posed(&model, &poses)?, &body_base, &target_base)?;
        let apart = rms(posed(&carried, &poses)?.iter().zip(&wanted)) / rms(target_base.iter().zip(&wanted));
        let blended_target = blended(&target.positions, &carried_w, &poses)?;
        let over_lbs = frames.carried(&operator, &posed(&model, &poses)?, &uncorrected, &blended_target)?;
        let exact = rms(over_lbs.iter().zip(&truth)) / lbs;
        println!(
            "{}",
            json!({"table": "levels", "mesh": name, "vertices": target.positions.len(), "on_body": operator.is_on_body(), "lbs": 1e3 * lbs, "ratio": carried_rms / lbs, "above": carried_rms / lbs - own, "exact": exact, "apart": apart})
        );
    }
    Ok(())
}

/// Frames of vertices: rotations of the normalised quaternion blends.
struct Frames<'a> {
    poses: &'a [BoneTransforms],
    body: &'a Influences,
    target: &'a Influences,
}

impl Frames<'_> {
    fn of(pose: &BoneTransforms, weights: &Influences, v: usize) -> DMat3 {
        let turn = |bone| quat_from_matrix(&nearest_rotation(&pose[bone].matrix3));
        let Some(dominant) = weights.dominant(v) else { return DMat3::IDENTITY };
        let first: DQuat = turn(dominant);
        let one = |&(bone, w): &(_, f64)| DVec4::from(turn(bone)) * if turn(bone).dot(first) < 0.0 { -w } else { w };
        let sum: DVec4 = weights.of(v).iter().map(one).sum();
        DMat3::from_quat(DQuat::from_vec4(sum.normalize()))
    }

    /// What the body has over `under`, carried in these frames onto `base`.
    fn carried(
        &self,
        operator: &Operator,
        body: &[Vec<DVec3>],
        under: &[Vec<DVec3>],
        base: &[Vec<DVec3>],
    ) -> Result<Vec<Vec<DVec3>>, String> {
        let one = |at: usize| {
            let pose = &self.poses[at];
            let local = |v: usize| Self::of(pose, self.body, v).transpose() * (body[at][v] - under[at][v]);
            let local: Vec<DVec3> = (0..body[at].len()).map(local).collect();
            let made = carried_displacements(operator, |v| local[v]).map_err(|e| e.to_string())?;
            let place = |(v, p): (usize, &DVec3)| *p + Self::of(pose, self.target, v) * made[v];
            Ok(base[at].iter().enumerate().map(place).collect())
        };
        (0..self.poses.len()).into_par_iter().map(one).collect()
    }
}

/// The true skin at other points: barycentric, with the offset turned by the frame of the triangle.
fn carried_skins(body: &Body, mesh: &dermis_rig::Mesh, points: &[DVec3], skins: &[Vec<DVec3>]) -> Vec<Vec<DVec3>> {
    let frame = |positions: &[DVec3], row: &[(u32, f64); 3]| {
        let [a, b, c] = row.map(|(v, _)| positions[v as usize]);
        let (x, n) = ((b - a).normalize_or_zero(), (b - a).cross(c - a).normalize_or_zero());
        let at: DVec3 = row.iter().map(|(v, share)| positions[*v as usize] * *share).sum();
        (DMat3::from_cols(x, n.cross(x), n), at)
    };
    let rows: Vec<_> = points.iter().map(|p| body.find(*p, None, 0.0).map(|m| m.row).unwrap_or_default()).collect();
    let of_skin = |skin: &Vec<DVec3>| {
        let at = |(p, row): (&DVec3, &[(u32, f64); 3])| {
            let ((rest, from), (posed, to)) = (frame(&mesh.positions, row), frame(skin, row));
            to + posed * (rest.transpose() * (*p - from))
        };
        points.iter().zip(&rows).map(at).collect()
    };
    skins.iter().map(of_skin).collect()
}
