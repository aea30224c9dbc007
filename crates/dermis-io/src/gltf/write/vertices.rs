//! Drawn vertices as they are written, and normals for those that have none.

use crate::WriteError;
use dermis_rig::glam::DVec3;
use dermis_rig::{Mesh, RenderMesh};
use std::collections::HashMap;

/// Drawn vertices as they are written: those that hang on one vertex and are drawn alike are one, so that whoever reads
/// the file finds a reason for every split.
pub(super) struct Vertices {
    pub(super) source: Vec<u32>,
    pub(super) normals: Vec<[f32; 3]>,
    pub(super) uvs: Vec<[f32; 2]>,
    /// The written vertex of each drawn one.
    pub(super) place: Vec<u32>,
}

impl Vertices {
    pub(super) fn new(render: &RenderMesh, mesh: &Mesh) -> Result<Self, WriteError> {
        let smooth = smooth_normals(mesh);
        let mut made = Self { source: Vec::new(), normals: Vec::new(), uvs: Vec::new(), place: Vec::new() };
        let mut known = HashMap::new();
        for (vertex, &source) in render.source.iter().enumerate() {
            let own = render.normals.get(vertex).and_then(|normal| normal.try_normalize());
            let normal = own.unwrap_or(smooth[source as usize]).as_vec3().to_array();
            let uv = render.uvs.get(vertex).map_or([0.0; 2], |uv| uv.as_vec2().to_array());
            if uv.iter().any(|x| !x.is_finite()) {
                return Err(WriteError::NotFinite { what: format!("the texture coordinate {vertex}") });
            }
            let place = *known.entry((source, normal.map(f32::to_bits), uv.map(f32::to_bits))).or_insert_with(|| {
                made.source.push(source);
                made.normals.push(normal);
                made.uvs.push(uv);
                made.source.len() as u32 - 1
            });
            made.place.push(place);
        }
        Ok(made)
    }
}

/// Unit normals, each triangle weighted by its area; up where no triangle has any.
fn smooth_normals(mesh: &Mesh) -> Vec<DVec3> {
    let mut normals = vec![DVec3::ZERO; mesh.positions.len()];
    for corners in &mesh.triangles {
        let [a, b, c] = corners.map(|corner| mesh.positions[corner as usize]);
        for &corner in corners {
            normals[corner as usize] += (b - a).cross(c - a);
        }
    }
    normals.into_iter().map(|n| n.try_normalize().unwrap_or(DVec3::Y)).collect()
}
