//! What corners of polygons show: texture coordinates, normal and colour.

use crate::corners::{Corners, normal_at_rest, upper_left};
use dermis_rig::glam::{DAffine3, DVec2, DVec3, Vec4};
use ufbx::VertexVec2;

/// Adds a corner of the mesh `source` that shows vertex `vertex` of all.
pub(super) fn push(corners: &mut Corners, source: &ufbx::Mesh, corner: u32, vertex: u32, rest: &DAffine3) {
    let at = corner as usize;
    let normals = &source.vertex_normal;
    let own = normals.indices.get(at).and_then(|&at| normals.values.get(at as usize)).filter(|_| normals.exists);
    let normal = own.map_or(DVec3::ZERO, |n| normal_at_rest(rest, DVec3::new(n.x, n.y, n.z)));
    let set = |set: usize| source.uv_sets.get(set).map_or(DVec2::ZERO, |set| uv(&set.vertex_uv, at));
    corners.push(vertex, set, normal, color(source, at));
}

/// The colour of a corner.
pub fn color(source: &ufbx::Mesh, corner: usize) -> Option<Vec4> {
    let colors = Some(&source.vertex_color).filter(|colors| colors.exists)?;
    let color = colors.values.get(*colors.indices.get(corner)? as usize)?;
    Some(Vec4::new(color.x as f32, color.y as f32, color.z as f32, color.w as f32))
}

/// Texture coordinates of a corner.
fn uv(set: &VertexVec2, corner: usize) -> DVec2 {
    let value = set.indices.get(corner).and_then(|&at| set.values.get(at as usize)).filter(|_| set.exists);
    value.map_or(DVec2::ZERO, |uv| upper_left(DVec2::new(uv.x, uv.y)))
}
