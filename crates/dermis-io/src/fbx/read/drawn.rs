//! What a file gives to corners of polygons.

use crate::corners::{Corners, MOST_UVS, from_above, turned};
use dermis_rig::glam::{DAffine3, DVec2, DVec3, Vec4};
use ufbx::VertexVec2;

/// Adds a corner of the mesh `source` that shows vertex `vertex` of all.
pub(super) fn push(corners: &mut Corners, source: &ufbx::Mesh, corner: u32, vertex: u32, rest: &DAffine3) {
    let at = corner as usize;
    let uvs = source.uv_sets.iter().take(MOST_UVS).map(|set| uv(&set.vertex_uv, at));
    let normals = &source.vertex_normal;
    let own = normals.indices.get(at).and_then(|&at| normals.values.get(at as usize)).filter(|_| normals.exists);
    let normal = own.map_or(DVec3::ZERO, |n| turned(DVec3::new(n.x, n.y, n.z), &rest.matrix3));
    corners.push(vertex, uvs, normal, color(source, at));
}

/// The colour of a corner.
pub(super) fn color(source: &ufbx::Mesh, corner: usize) -> Option<Vec4> {
    let colors = Some(&source.vertex_color).filter(|colors| colors.exists)?;
    let color = colors.values.get(*colors.indices.get(corner)? as usize)?;
    Some(Vec4::new(color.x as f32, color.y as f32, color.z as f32, color.w as f32))
}

/// Texture coordinates of a corner.
fn uv(set: &VertexVec2, corner: usize) -> DVec2 {
    let value = set.indices.get(corner).and_then(|&at| set.values.get(at as usize)).filter(|_| set.exists);
    value.map_or(DVec2::ZERO, |uv| from_above(uv.x, uv.y))
}
