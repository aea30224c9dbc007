//! Skinning weights of a body, carried: W = P W_body.

use crate::error::TransferError;
use crate::operator::Operator;
use dermis_rig::{BoneIndex, Influences, Mesh};
use rayon::prelude::*;
use std::collections::BTreeMap;

/// Carried weights below this are dropped; what is left of a vertex sums to one.
pub const LEAST_WEIGHT: f64 = 1e-4;

/// What sums of weights are off one by rounding.
const ROUNDING: f64 = 1e-9;

/// Bones that are carried at a time.
const AT_A_TIME: usize = 16;

/// The weights of the target.
///
/// - `weights`: those of the body
/// - `most`: influences per vertex, at most
///
/// A vertex that is a vertex of the body has its weights, to the bit, unless it has more than `most`. Other rows sum to one, also near
/// vertices of the body that have none.
///
/// # Errors
/// [`TransferError::Solve`].
pub fn carried_weights(operator: &Operator, weights: &Influences, most: usize) -> Result<Influences, TransferError> {
    let bones: Vec<usize> = (0..weights.bones_named()).collect();
    let mut rows: Vec<Vec<(BoneIndex, f64)>> = vec![vec![]; operator.vertices()];
    let carried: Vec<Vec<f64>> = bones
        .par_chunks(AT_A_TIME)
        .map(|chunk| {
            operator.carry(chunk.len(), |v, share, row| {
                for &(bone, w) in weights.of(v) {
                    if let Some(at) = bone.get().checked_sub(chunk[0]).filter(|at| *at < chunk.len()) {
                        row[at] += share * w;
                    }
                }
            })
        })
        .collect::<Result<_, _>>()?;
    for (chunk, table) in bones.chunks(AT_A_TIME).zip(&carried) {
        for (row, numbers) in rows.iter_mut().zip(table.chunks_exact(chunk.len())) {
            row.extend(chunk.iter().zip(numbers).filter(|(_, w)| **w > 0.0).map(|(&b, &w)| (BoneIndex::new(b), w)));
        }
    }
    for (v, row) in rows.iter_mut().enumerate() {
        let (before, is_copy) = (row.len(), operator.copies(v).is_some());
        if !is_copy {
            row.retain(|(_, w)| *w >= LEAST_WEIGHT);
        }
        if row.len() > most {
            row.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            row.truncate(most.max(1));
        }
        let sum: f64 = row.iter().map(|(_, w)| w).sum();
        if row.len() < before || (!is_copy && (sum - 1.0).abs() > ROUNDING) {
            row.iter_mut().for_each(|(_, w)| *w /= sum);
        }
    }
    Ok(Influences::from_rows(rows)?)
}

/// A vertex is rough where its weights differ from the mean of its ring by more than this, in half the sum of the absolute differences.
const ROUGH: f64 = 0.35;

/// Vertices whose weights differ from those around them, ascending.
///
/// # Panics
/// If mesh and weights differ in their number of vertices.
pub fn rough_vertices(mesh: &Mesh, weights: &Influences) -> Vec<u32> {
    let neighbours = mesh.neighbours();
    let differs = |v: &u32| {
        let ring = neighbours.of(*v as usize);
        let mut apart = BTreeMap::<BoneIndex, f64>::new();
        for &u in ring {
            weights.of(u as usize).iter().for_each(|(b, w)| *apart.entry(*b).or_default() -= w / ring.len() as f64);
        }
        weights.of(*v as usize).iter().for_each(|(b, w)| *apart.entry(*b).or_default() += w);
        !ring.is_empty() && apart.values().map(|x| x.abs()).sum::<f64>() / 2.0 > ROUGH
    };
    (0..mesh.positions.len() as u32).filter(differs).collect()
}
