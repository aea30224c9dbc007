//! Shapes of the sculpts that a model remembers: morph targets with their names.
//!
//! The layer of the model has a shape per sculpt, whose weight w_s is one in the sculpt's pose and zero in those of the sculpts whose
//! skin meets its own. A morph target with this weight makes up for whatever the driven shapes leave there:
//!
//! ```text
//! d_sv = A_v(x_s)⁻¹ ( p'(x_s) − A_v(x_s) (p + Σ_h w_h(x_s) u_hv) ) / Σ_t w_t(x_s)
//! ```
//!
//! with x_s the pose of the sculpt, u_h the driven shapes, and t the shapes that the layer has at the vertex. So the delivered skin is
//! that of the model in the pose of every sculpt, on the skin that it touched, whatever the number of driven shapes.

use super::DrivenSkin;
use crate::CompileError;
use crate::pose_space::layer_driver;
use dermis_deform::baked::BakedLayer;
use dermis_deform::pose_space::CompiledShapes;
use dermis_deform::tables::PoseDriver;
use dermis_deform::{Baked, blend};
use dermis_measure::WideRunner;
use dermis_rig::glam::DVec3;
use dermis_rig::progress::proceed;
use dermis_rig::skeleton::invert;
use dermis_rig::{BoneIndex, BoneTransforms, Influences, Mirror, MorphTarget, Progress, Rig, Rows};

/// r² up to which a pose is that of a sculpt: training poses are kept in single precision.
const SAME: f64 = 1e-8;

/// A sum of weights that no morph target is divided by: what the model adds there is then part of the distance that the export prints.
const LEAST_WEIGHT: f64 = 1e-3;

/// The layer of a model as morph targets.
pub(super) struct Sculpts {
    /// The shapes of every vertex.
    terms: Rows<u32>,
    pub driver: PoseDriver<BoneIndex>,
    pub morphs: Vec<MorphTarget>,
    /// What the same shapes are beside one shape per coordinate.
    pub beside_all: Vec<Vec<DVec3>>,
    /// Sculpts whose pose is not kept: their shapes are those of the layer.
    pub unknown: Vec<String>,
}

impl Sculpts {
    /// - `poses`: training poses
    /// - `weights`: the skinning weights that the engine gets
    pub fn new(
        rig: &Rig,
        weights: &Influences,
        baked: &Baked,
        (shapes, layer): (&CompiledShapes, &BakedLayer),
        poses: &[BoneTransforms],
        skin: &DrivenSkin<'_>,
        progress: Progress<'_>,
    ) -> Result<Self, CompileError> {
        let mesh = rig.mesh();
        let vertices = mesh.positions.len();
        let mirror = Mirror::find(&mesh.positions, rig.skeleton(), weights);
        let images = mirror.iter().flat_map(|mirror| poses.iter().map(|pose| mirror.pose(pose)));
        let poses: Vec<BoneTransforms> = poses.iter().cloned().chain(images).collect();
        let squares: Vec<Vec<f64>> = poses.iter().map(|pose| shapes.squares_in(pose)).collect();
        let mut made = Self {
            terms: layer.terms.clone(),
            driver: layer_driver(shapes, skin.made.morphs.len()),
            morphs: vec![],
            beside_all: vec![],
            unknown: vec![],
        };
        let mut of_shape: Vec<Vec<u32>> = vec![Vec::new(); shapes.count()];
        (0..vertices).for_each(|v| layer.terms.of(v).iter().for_each(|&s| of_shape[s as usize].push(v as u32)));
        let mut runner = WideRunner::new(baked);
        for (s, touched) in of_shape.iter().enumerate() {
            proceed(progress, s, of_shape.len())?;
            let mut shape = vec![DVec3::ZERO; vertices];
            let mut beside_all = shape.clone();
            // Of two sculpts in poses that the joints of one of them do not tell apart, its weight does.
            let same = (0..poses.len()).filter(|&pose| squares[pose][s] <= SAME);
            let same = same.map(|pose| (&poses[pose], shapes.weights_in(&poses[pose])));
            match same.max_by(|(_, a), (_, b)| a[s].total_cmp(&b[s])) {
                Some((pose, at)) => {
                    let target = runner.run(pose, None)?;
                    let coordinates = skin.made.table.coordinates(&skin.made.bones_of(pose));
                    let driven = skin.made.table.weights(&coordinates);
                    for &v in touched {
                        let v = v as usize;
                        let Some(inverse) = invert(&blend(weights.of(v), pose)) else { continue };
                        let sum: f64 = layer.terms.of(v).iter().map(|&t| at[t as usize]).sum();
                        // Nothing of the layer shows here in this pose.
                        if sum.abs() < LEAST_WEIGHT {
                            continue;
                        }
                        let wanted = inverse.transform_point3(target[v]) - mesh.positions[v];
                        shape[v] = (wanted - skin.shown(v, &driven)) / sum;
                        beside_all[v] = (wanted - skin.linear.at(v, &skin.held(&coordinates))) / sum;
                    }
                }
                None => {
                    made.unknown.push(shapes.names[s].clone());
                    for &v in touched {
                        let v = v as usize;
                        let of_layer = layer.terms.of(v).iter().zip(&layer.displacements[layer.terms.range(v)]);
                        let own: DVec3 = of_layer.filter(|(t, _)| **t as usize == s).map(|(_, e)| e.as_dvec3()).sum();
                        (shape[v], beside_all[v]) = (own, own);
                    }
                }
            }
            // As the file stores it.
            shape.iter_mut().for_each(|d| *d = d.as_vec3().as_dvec3());
            made.morphs.push(MorphTarget { name: shapes.names[s].clone(), deltas: shape });
            made.beside_all.push(beside_all);
        }
        Ok(made)
    }

    /// What the shapes displace a vertex by, from their weights; the second beside one shape per coordinate.
    pub fn shown(&self, v: usize, weights: &[f64]) -> [DVec3; 2] {
        let shapes = self.terms.of(v).iter().map(|&s| s as usize);
        shapes.fold([DVec3::ZERO; 2], |[shown, beside], s| {
            [shown + self.morphs[s].deltas[v] * weights[s], beside + self.beside_all[s][v] * weights[s]]
        })
    }
}
