//! The skinning weights that an engine gets.

use crate::CompileError;
use dermis_deform::{RiggedDeformer, prune_cost};
use dermis_rig::{BoneTransforms, Influences, Motion, Pruned};
use std::borrow::Cow;

/// What pruning the influences dropped, and the largest change of a position over the motion, metres.
pub type PruneCost = (Pruned, Option<f64>);

/// The model's skinning weights with `influences` per vertex at most, and what pruning them cost over the motion.
///
/// # Errors
/// [`CompileError::NoWeights`]; [`CompileError::UnusualWeights`] for weights that engines change.
pub fn skin_weights<'a>(
    model: &'a RiggedDeformer,
    motion: Option<&Motion>,
    influences: Option<usize>,
) -> Result<(Cow<'a, Influences>, Option<PruneCost>), CompileError> {
    let rig = model.rig();
    let full = model.weights().ok_or_else(|| CompileError::NoWeights { rig: rig.name().to_owned() })?;
    let unusual = full.rows().filter(|row| {
        let sum: f64 = row.iter().map(|e| e.1).sum();
        row.iter().any(|e| e.1 < 0.0) || (sum - 1.0).abs() > 1e-4
    });
    let unusual = unusual.count();
    if unusual > 0 {
        return Err(CompileError::UnusualWeights { unusual, vertices: full.vertices() });
    }
    let Some(most) = influences else { return Ok((Cow::Borrowed(full), None)) };
    let (kept, report) = full.pruned(most, 0.0);
    let poses: Vec<BoneTransforms> =
        motion.iter().flat_map(|m| &m.frames).map(|f| rig.skeleton().bone_transforms(&f.pose)).collect();
    let cost = motion.map(|_| prune_cost(&rig.mesh().positions, full, &kept, &poses));
    Ok((Cow::Owned(kept), Some((report, cost))))
}
