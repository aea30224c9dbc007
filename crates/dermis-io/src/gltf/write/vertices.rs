//! Drawn vertices as they are written.

use crate::WriteError;
use crate::normals::Shading;
use dermis_rig::RenderMesh;
use dermis_rig::glam::Vec4;
use std::collections::HashMap;

/// Drawn vertices as they are written: all of a file that had them, in its order. Of a file that knows only corners, those that
/// hang on one vertex and are drawn alike are one.
pub(super) struct Vertices {
    /// The vertex that each written one hangs on.
    pub(super) source: Vec<u32>,
    /// The first drawn vertex that each written one stands for.
    pub(super) drawn: Vec<u32>,
    pub(super) normals: Vec<[f32; 3]>,
    /// Every set of texture coordinates.
    pub(super) uvs: Vec<Vec<[f32; 2]>>,
    /// Colours, if there are any.
    pub(super) colors: Vec<[f32; 4]>,
    /// The written vertex of each drawn one.
    pub(super) place: Vec<u32>,
}

impl Vertices {
    /// - `colors`: of the vertices of the mesh, used where `render` has none of its own
    pub(super) fn new(render: &RenderMesh, shading: &Shading, colors: Option<&[Vec4]>) -> Result<Self, WriteError> {
        let sets: Vec<_> =
            Some(&render.uvs).filter(|uvs| !uvs.is_empty()).into_iter().chain(&render.more_uvs).collect();
        let mut made = Self {
            source: Vec::new(),
            drawn: Vec::new(),
            normals: Vec::new(),
            uvs: vec![Vec::new(); sets.len()],
            colors: Vec::new(),
            place: Vec::new(),
        };
        let mut known = HashMap::new();
        for (vertex, &source) in render.source.iter().enumerate() {
            let normal = shading.rest()[vertex].as_vec3().to_array();
            let uvs: Vec<[f32; 2]> = sets.iter().map(|set| set[vertex].as_vec2().to_array()).collect();
            if uvs.as_flattened().iter().any(|x| !x.is_finite()) {
                return Err(WriteError::NotFinite { what: format!("the texture coordinate {vertex}") });
            }
            let own = render.colors.get(vertex).or_else(|| colors?.get(source as usize));
            let color = own.map(|color| color.to_array().map(|c| c.clamp(0.0, 1.0)));
            if color.is_some_and(|color| color.iter().any(|c| !c.is_finite())) {
                return Err(WriteError::NotFinite { what: format!("the colour {vertex}") });
            }
            let numbers = normal.iter().chain(uvs.as_flattened()).chain(color.iter().flatten());
            let own = if render.by_corner { 0 } else { vertex as u32 };
            let key: Box<[u32]> = [source, own].into_iter().chain(numbers.map(|x| x.to_bits())).collect();
            let place = *known.entry(key).or_insert_with(|| {
                made.source.push(source);
                made.drawn.push(vertex as u32);
                made.normals.push(normal);
                made.uvs.iter_mut().zip(&uvs).for_each(|(set, uv)| set.push(*uv));
                made.colors.extend(color);
                made.source.len() as u32 - 1
            });
            made.place.push(place);
        }
        Ok(made)
    }
}
