//! The modifier Corrective Smooth as modelling programs run it, polygon after polygon: the posed skin is smoothed step by step, and rest
//! detail returns in the tangent frames of the corners. It shares no code with the base that folds it into coefficients.

use dermis_rig::glam::{DMat3, DVec3};
use dermis_rig::{Mesh, Polygons};
use std::collections::BTreeSet;

/// The modifier of a mesh, with steps and a factor.
#[derive(Clone, Debug)]
pub struct SmoothingModifier {
    rest: Vec<DVec3>,
    polygons: Vec<Vec<usize>>,
    edges: BTreeSet<[usize; 2]>,
    steps: u32,
    factor: f64,
}

impl SmoothingModifier {
    /// Of the polygons of a mesh, or of its triangles if it has no others.
    pub fn new(mesh: &Mesh, steps: u32, factor: f64) -> Self {
        let triangles = || mesh.triangles.iter().map(|t| t.map(|v| v as usize).to_vec()).collect();
        let authored = |polygons: &Polygons| -> Vec<Vec<usize>> {
            let mut corners = polygons.indices.iter().map(|&v| v as usize);
            polygons.counts.iter().map(|&count| corners.by_ref().take(count as usize).collect()).collect()
        };
        let polygons = mesh.polygons.as_ref().map_or_else(triangles, authored);
        let mut edges = BTreeSet::new();
        for p in &polygons {
            (0..p.len()).for_each(|k| {
                let (a, b) = (p[k], p[(k + 1) % p.len()]);
                edges.insert([a.min(b), a.max(b)]);
            });
        }
        Self { rest: mesh.positions.clone(), polygons, edges, steps, factor }
    }

    fn smoothed(&self, skin: &[DVec3]) -> Vec<DVec3> {
        let mut skin = skin.to_vec();
        for _ in 0..self.steps {
            let (mut moved, mut count) = (vec![DVec3::ZERO; skin.len()], vec![0.0; skin.len()]);
            for &[a, b] in &self.edges {
                let edge = skin[b] - skin[a];
                moved[a] += edge;
                moved[b] -= edge;
                count[a] += 1.0;
                count[b] += 1.0;
            }
            for v in 0..skin.len() {
                if count[v] > 0.0 {
                    skin[v] += moved[v] * (self.factor / count[v]);
                }
            }
        }
        skin
    }

    /// Of every corner of every polygon: vertex, frame, angle.
    fn frames(&self, skin: &[DVec3]) -> Vec<(usize, DMat3, f64)> {
        let mut frames = Vec::new();
        for p in &self.polygons {
            for k in 0..p.len() {
                let before = (skin[p[(k + p.len() - 1) % p.len()]] - skin[p[k]]).normalize();
                let after = (skin[p[k]] - skin[p[(k + 1) % p.len()]]).normalize();
                let normal = before.cross(after).normalize();
                let tangent = (before + after).normalize();
                frames.push((
                    p[k],
                    DMat3::from_cols(tangent, normal.cross(tangent), normal),
                    before.dot(after).clamp(-1.0, 1.0).acos(),
                ));
            }
        }
        frames
    }

    /// The posed skin, as the modifier leaves it.
    pub fn skin(&self, posed: &[DVec3]) -> Vec<DVec3> {
        let (rest, smooth) = (self.smoothed(&self.rest), self.smoothed(posed));
        let (mut sum, mut angles) = (vec![DVec3::ZERO; smooth.len()], vec![0.0; smooth.len()]);
        for ((v, at_rest, _), (_, frame, angle)) in self.frames(&rest).into_iter().zip(self.frames(&smooth)) {
            sum[v] += frame * (at_rest.inverse() * (self.rest[v] - rest[v])) * angle;
            angles[v] += angle;
        }
        (0..smooth.len()).map(|v| if angles[v] > 0.0 { smooth[v] + sum[v] / angles[v] } else { smooth[v] }).collect()
    }
}
