//! Which skin may swing where nobody taught it: what lies deep over its bones.

use crate::heat::{bone_segments, distance_to_bone};
use dermis_rig::{BoneIndex, Rig};
use rayon::prelude::*;

/// Skin this near to its bones is rigid, and skin as far as the second swings fully, in extents of the mesh. Of a body of 1.8 m they are
/// 4 and 13 cm: forearms are rigid, thighs swing by half, and a belly swings fully.
const DEPTHS: [f64; 2] = [0.02, 0.07];

/// A gain in 0..=1 for every vertex: how far it lies from the bones that carry it, by their weights.
///
/// ```text
/// g_v = (1 − Σ_rigid w_vk) s((Σ_k w_vk d_k(v) − d₀) / (d₁ − d₀)),     s(x) = 3x² − 2x³ within 0..1
/// ```
///
/// with d_k the distance to the segments of bone k. Skin of bones that `is_rigid` names does not swing: skulls, hands and feet are
/// thick, and stiff. Without weights all is zero.
pub fn flesh_gain(rig: &Rig, is_rigid: impl Fn(BoneIndex) -> bool + Sync) -> Vec<f64> {
    let mesh = rig.mesh();
    let Some(weights) = rig.weights() else { return vec![0.0; mesh.positions.len()] };
    let segments = bone_segments(rig.skeleton(), |_| false);
    let [near, far] = DEPTHS.map(|depth| depth * mesh.extent());
    let gain = |v: usize| {
        let row = weights.of(v);
        let soft: f64 = row.iter().filter(|(bone, _)| !is_rigid(*bone)).map(|(_, weight)| weight).sum();
        let depth: f64 =
            row.iter().map(|(bone, weight)| weight * distance_to_bone(mesh.positions[v], &segments[*bone])).sum();
        let x = ((depth - near) / (far - near)).clamp(0.0, 1.0);
        (soft * x * x * (3.0 - 2.0 * x)).clamp(0.0, 1.0)
    };
    (0..mesh.positions.len()).into_par_iter().map(|v| if far > near { gain(v) } else { 0.0 }).collect()
}
