//! Where markers sit, from a take in which the subject stands still in the rest pose.

use super::{Marker, MarkerError, MarkerSet, Take};
use dermis_rig::glam::{DMat3, DQuat, DVec3};
use dermis_rig::rotation::{nearest_rotation, quat_from_matrix};
use dermis_rig::{BoneIndex, Skeleton};

/// Finds where the markers of a static take sit on the rest pose.
///
/// The subject stands as the rig does at rest. Their markers' mean places are laid onto the rig by the rigid motion that brings them nearest
/// to the heads of their bones; what is left is where the marker sits beside the bone. Markers that no frame shows are left out.
///
/// # Errors
/// [`MarkerError::FewMarkers`] for fewer than three.
pub fn calibrate(skeleton: &Skeleton, bones: &[(String, BoneIndex)], take: &Take) -> Result<MarkerSet, MarkerError> {
    let mean = |name: &str| {
        let at = take.names.iter().position(|other| other == name)?;
        let seen: Vec<DVec3> = take.frames.iter().filter_map(|frame| *frame.get(at)?).collect();
        (!seen.is_empty()).then(|| seen.iter().fold(DVec3::ZERO, |sum, place| sum + *place) / seen.len() as f64)
    };
    let found: Vec<(&String, BoneIndex, DVec3)> =
        bones.iter().filter_map(|(name, bone)| Some((name, *bone, mean(name)?))).collect();
    if found.len() < 3 {
        let names = take.names.iter().take(6).cloned().collect::<Vec<_>>().join(", ");
        return Err(MarkerError::FewMarkers { found: found.len(), markers: bones.len(), names });
    }
    let pairs: Vec<(DVec3, DVec3, f64)> =
        found.iter().map(|(_, bone, place)| (*place, skeleton.bind()[*bone].translation, 1.0)).collect();
    let (turn, shift) = onto(&pairs);
    let markers = found
        .into_iter()
        .map(|(name, bone, place)| Marker { name: name.clone(), bone, at: turn * place + shift, weight: 1.0 })
        .collect();
    Ok(MarkerSet { markers })
}

/// The rigid motion p ↦ R p + s that brings the first places nearest to the second, in weighted least squares.
///
/// Source: Kabsch 1976; the rotation is that nearest to Σ w (q − q̄)(p − p̄)ᵀ.
pub(super) fn onto(pairs: &[(DVec3, DVec3, f64)]) -> (DQuat, DVec3) {
    let total: f64 = pairs.iter().map(|(.., w)| w).sum();
    let mean = |pick: fn(&(DVec3, DVec3, f64)) -> DVec3| {
        pairs.iter().fold(DVec3::ZERO, |sum, pair| sum + pick(pair) * pair.2) / total.max(f64::MIN_POSITIVE)
    };
    let (a, b) = (mean(|pair| pair.0), mean(|pair| pair.1));
    let mut covariance = DMat3::ZERO;
    for (p, q, w) in pairs {
        let (p, q) = ((*p - a) * *w, *q - b);
        covariance += DMat3::from_cols(q * p.x, q * p.y, q * p.z);
    }
    let turn = quat_from_matrix(&nearest_rotation(&covariance));
    (turn, b - turn * a)
}
