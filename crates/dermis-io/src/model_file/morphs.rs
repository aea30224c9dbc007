//! The morph targets that a rig came with, in a model file: of each the vertices that it moves, and how.

use super::{Reader, Tensors, damaged};
use crate::contents::ReadError;
use dermis_rig::glam::DVec3;
use dermis_rig::{Mesh, MorphTarget, MorphTargets};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

const OFFSETS: &str = "morphs.offsets";
const VERTICES: &str = "morphs.vertices";
const DELTAS: &str = "morphs.deltas";

/// Vertices of the mesh for each that a target lists, at most: a small file cannot ask for much memory. A target that moves fewer lists
/// others, with displacements of zero.
const VERTICES_PER_ENTRY: usize = 64;

/// A morph target, as the header has it.
#[derive(Serialize, Deserialize)]
pub(super) struct StoredMorph {
    name: String,
    #[serde(default, skip_serializing_if = "is_zero")]
    weight: f64,
}

fn is_zero(weight: &f64) -> bool {
    *weight == 0.0
}

/// The names and weights of the targets.
pub(super) fn stored(mesh: &Mesh) -> Vec<StoredMorph> {
    let weight = |at: usize| mesh.morph_weights().get(at).copied().unwrap_or(0.0);
    let targets = mesh.morph_targets().iter().enumerate();
    targets.map(|(at, target)| StoredMorph { name: target.name.clone(), weight: weight(at) }).collect()
}

/// The vertices that a target lists, ascending.
fn listed(target: &MorphTarget) -> impl Iterator<Item = usize> {
    let moved = target.deltas.iter().filter(|delta| **delta != DVec3::ZERO).count();
    let mut spare = target.deltas.len().div_ceil(VERTICES_PER_ENTRY).saturating_sub(moved);
    target.deltas.iter().enumerate().filter_map(move |(vertex, delta)| {
        let still = *delta == DVec3::ZERO;
        if still && spare == 0 {
            return None;
        }
        spare -= usize::from(still);
        Some(vertex)
    })
}

/// Adds the arrays of the targets.
pub(super) fn write<'a>(t: &mut Tensors<'a>, mesh: &'a Mesh) {
    let targets = mesh.morph_targets();
    if targets.is_empty() {
        return;
    }
    let mut offsets = vec![0u32];
    for target in targets {
        offsets.push(offsets[offsets.len() - 1] + listed(target).count() as u32);
    }
    let count = offsets[targets.len()] as usize;
    t.u32(OFFSETS, &[offsets.len()], offsets);
    t.u32(VERTICES, &[count], targets.iter().flat_map(|target| listed(target).map(|vertex| vertex as u32)));
    let moves = |target: &'a MorphTarget| listed(target).flat_map(|vertex| target.deltas[vertex].to_array());
    t.f64(DELTAS, &[count, 3], targets.iter().flat_map(moves));
}

/// The targets of a mesh of so many vertices; `None` if the file has none.
pub(super) fn read(
    r: &Reader<'_>,
    stored: &[StoredMorph],
    vertices: usize,
) -> Result<Option<Arc<MorphTargets>>, ReadError> {
    if stored.is_empty() {
        return Ok(None);
    }
    let listed = r.indices(VERTICES, 1, vertices)?;
    let deltas = r.f64(DELTAS, 3)?;
    r.count(DELTAS, deltas.len() / 3, listed.len())?;
    if let Some(at) = deltas.iter().position(|x| !x.is_finite()) {
        return Err(damaged(format!("array \"{DELTAS}\": number {at} is not finite")));
    }
    let entries = listed.into_iter().zip(deltas.chunks_exact(3).map(DVec3::from_slice)).collect();
    let rows = r.rows(OFFSETS, stored.len(), entries)?;
    let mut morphs = MorphTargets::default();
    for (row, stored) in rows.iter().zip(stored) {
        if row.len() < vertices.div_ceil(VERTICES_PER_ENTRY) {
            let (name, found) = (&stored.name, row.len());
            let reason =
                format!("the morph target \"{name:.100}\" lists {found} of {vertices} vertices, which are too few");
            return Err(damaged(reason));
        }
        if !stored.weight.is_finite() {
            return Err(damaged(format!("the weight of morph target \"{:.100}\" is not finite", stored.name)));
        }
        let mut deltas = vec![DVec3::ZERO; vertices];
        row.iter().for_each(|&(vertex, delta)| deltas[vertex as usize] = delta);
        morphs.targets.push(MorphTarget { name: stored.name.clone(), deltas });
        morphs.weights.push(stored.weight);
    }
    if morphs.weights.iter().all(|weight| *weight == 0.0) {
        morphs.weights.clear();
    }
    Ok(Some(Arc::new(morphs)))
}
