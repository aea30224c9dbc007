//! A rig as the viewer of the report shows it.

use dermis_report::page::{RigBone, RigView, shown_positions};
use dermis_rig::glam::DVec3;
use dermis_rig::{BoneIndex, Influences, Mesh, Skeleton};

/// Returns a mesh at rest with its bones, their weights and their influence maps; either may be empty.
pub(crate) fn rig_view(mesh: &Mesh, skeleton: &Skeleton, weights: &Influences, maps: &Influences) -> RigView {
    let rows = |given: &Influences| -> Vec<Vec<(u32, f32)>> {
        let row = |row: &[(BoneIndex, f64)]| row.iter().map(|(bone, w)| (bone.get() as u32, *w as f32)).collect();
        given.rows().map(row).collect()
    };
    let vector = |v: DVec3| v.to_array().map(|x| x as f32);
    let bone = |bone: BoneIndex| {
        let bind = skeleton.bind()[bone];
        let axes = [bind.matrix3.x_axis, bind.matrix3.y_axis, bind.matrix3.z_axis];
        RigBone {
            name: skeleton.names()[bone].clone(),
            parent: skeleton.parents()[bone].map(|parent| parent.get() as u32),
            head: vector(bind.translation),
            axes: axes.map(|axis| vector(axis.normalize_or_zero())),
            ..RigBone::default()
        }
    };
    RigView {
        triangles: mesh.triangles.clone(),
        rest: shown_positions(&mesh.positions),
        bones: skeleton.bones().map(bone).collect(),
        weights: rows(weights),
        maps: rows(maps),
        ..RigView::default()
    }
}
