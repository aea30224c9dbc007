//! Influence maps μ: where a bone matters for the correction, as opposed to how far it moves the skin.
//!
//! Regression coefficients are allowed only where μ > 0, and a small μ costs more ridge, so a bone fades out where its
//! map does. The map also decides how far a model sees.
//!
//! **Maps reach two joints beyond the weights.** Muscles depend on joints that have no weight where the muscle bulges: the
//! chest follows the shoulder. On a sculpted body this halves the unseen error.

use crate::training::{FitError, table};
use dermis_rig::glam::Vec4;
use dermis_rig::{BoneIndex, Influences, Mesh, Skeleton};
use std::collections::BTreeMap;

/// How maps are derived from skinning weights.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MapSettings {
    /// How many joints away from a weighted bone a bone may still matter.
    ///
    /// 2 by default: on a sculpted body, fitted on single-joint motion and scored on a walk, rings 0 / 1 / 2 / 3 leave
    /// 0.64 / 0.49 / 0.34 / 0.37 of the error of its weights; on a flesh simulation 0.56 / 0.47 / 0.46 / 0.46 (docs/accuracy.md).
    pub rings: usize,
    /// What each joint on the way costs, 0.3 by default; 0.2 to 0.5 score alike (docs/accuracy.md).
    pub decay: f64,
    /// Smoothing passes over the surface, each half way to the neighbours' mean. 4 by default: it costs nothing on clean
    /// data, and on training shapes with torn skin it halves the unseen error (docs/accuracy.md).
    pub smoothing: usize,
    /// Maps at or below this are zero: 0.004.
    pub threshold: f64,
}

impl Default for MapSettings {
    fn default() -> Self {
        Self { rings: 2, decay: 0.3, smoothing: 4, threshold: 0.004 }
    }
}

/// Maps from skinning weights: dilated along the skeleton, smoothed over the surface, square root.
///
/// One ring: m_k ← max(m_k, decay · max over adjacent used bones of m), starting at m = w. A used bone has a weight above
/// 0.01 somewhere; two used bones are adjacent when no used bone lies between them in the hierarchy. One pass of
/// smoothing: m ← ½ m + ½ mean over the vertex's neighbours. Then μ = √m, because the ridge acts on μ².
///
/// **A weight may have no map.** Smoothing shares a weight that no neighbour has: of a weight w at a vertex of a regular mesh, whose
/// vertices have six neighbours, four passes leave 0.143 w there. Below the threshold nothing is left: w up to 0.028 has no map. Two
/// weights of the bundled body are such (`dermis figures envelope`, figure 4).
///
/// # Errors
/// [`FitError::Table`], naming the vertex, for a map that is not finite.
pub fn from_weights(
    skeleton: &Skeleton,
    mesh: &Mesh,
    weights: &Influences,
    settings: MapSettings,
) -> Result<Influences, FitError> {
    let adjacent = adjacent_bones(skeleton, &used_bones(skeleton, weights));
    let mut maps: Vec<BTreeMap<BoneIndex, f64>> = weights
        .rows()
        .map(|row| {
            let mut map: BTreeMap<_, _> = row.iter().filter(|(_, w)| *w > 0.0).copied().collect();
            for _ in 0..settings.rings {
                let before: Vec<_> = map.iter().map(|(&bone, &m)| (bone, m)).collect();
                for (bone, m) in before {
                    for &next in &adjacent[bone.get()] {
                        let reached = map.entry(next).or_insert(0.0);
                        let value = settings.decay * m;
                        if value > *reached || value.is_nan() {
                            *reached = value;
                        }
                    }
                }
            }
            map.retain(|_, m| *m > settings.threshold * 0.25 || m.is_nan());
            map
        })
        .collect();
    let neighbours = mesh.neighbours();
    for _ in 0..settings.smoothing {
        maps = (0..maps.len())
            .map(|v| {
                let around = neighbours.of(v);
                if around.is_empty() {
                    return maps[v].clone();
                }
                let mut mixed: BTreeMap<_, _> = maps[v].iter().map(|(&bone, m)| (bone, 0.5 * m)).collect();
                for &n in around {
                    for (&bone, m) in &maps[n as usize] {
                        *mixed.entry(bone).or_insert(0.0) += 0.5 * m / around.len() as f64;
                    }
                }
                mixed
            })
            .collect();
    }
    let rows = maps.into_iter().map(|map| {
        map.into_iter()
            .filter(|(_, m)| *m > settings.threshold || m.is_nan())
            .map(|(bone, m)| (bone, at_most_one(m).sqrt()))
            .collect()
    });
    table("the influence maps", rows)
}

/// Maps painted as vertex colours: red, green, blue and alpha are the maps of the given bones, missing ones are unused.
///
/// # Errors
/// [`FitError::Table`] for values that are not finite.
pub fn from_colors(colors: &[Vec4], channels: [Option<BoneIndex>; 4]) -> Result<Influences, FitError> {
    let rows = colors.iter().map(|color| {
        let used = channels.iter().zip(color.to_array()).filter_map(|(bone, m)| Some(((*bone)?, f64::from(m))));
        used.filter(|(_, m)| m.is_finite() && *m > 0.0).map(|(bone, m)| (bone, m.min(1.0))).collect()
    });
    table("the painted influence maps", rows)
}

/// `m`, or one if it is larger; NaN stays, so that it is found.
fn at_most_one(m: f64) -> f64 {
    if m > 1.0 { 1.0 } else { m }
}

/// Bones with a weight above 0.01 somewhere.
pub fn used_bones(skeleton: &Skeleton, weights: &Influences) -> Vec<bool> {
    let mut used = vec![false; skeleton.len()];
    for row in weights.rows() {
        for &(bone, w) in row {
            used[bone.get()] |= w > 0.01;
        }
    }
    used
}

/// For each bone, the used bones next to it along the hierarchy, with no used bone between.
fn adjacent_bones(skeleton: &Skeleton, used: &[bool]) -> Vec<Vec<BoneIndex>> {
    let mut adjacent = vec![Vec::new(); skeleton.len()];
    for bone in skeleton.bones().filter(|b| used[b.get()]) {
        let mut above = skeleton.parents()[bone];
        while let Some(parent) = above {
            if used[parent.get()] {
                adjacent[bone.get()].push(parent);
                adjacent[parent.get()].push(bone);
                break;
            }
            above = skeleton.parents()[parent];
        }
    }
    adjacent
}

#[cfg(test)]
mod tests {
    use super::*;
    use dermis_rig::glam::{DAffine3, DVec3};

    fn chain(bones: usize) -> Skeleton {
        let parents = (0..bones).map(|b| b.checked_sub(1).map(BoneIndex::new)).collect();
        Skeleton::new((0..bones).map(|b| format!("b{b}")).collect(), parents, vec![DAffine3::IDENTITY; bones]).unwrap()
    }

    #[test]
    fn each_ring_reaches_one_used_bone_farther() {
        // Bone 1 carries no weight anywhere: bones 0 and 2 are neighbours.
        let rows = [0, 2, 3, 4].map(|b| vec![(BoneIndex::new(b), 1.0)]);
        let weights = Influences::from_rows(rows).unwrap();
        let mesh = Mesh { positions: vec![DVec3::ZERO; 4], ..Mesh::default() };
        let settings = MapSettings { rings: 2, smoothing: 0, ..MapSettings::default() };
        let maps = from_weights(&chain(5), &mesh, &weights, settings).unwrap();
        let bones: Vec<_> = maps.of(0).iter().map(|(b, _)| b.get()).collect();
        assert_eq!(bones, [0, 2, 3]);
        assert!((maps.value(0, BoneIndex::new(3)) - 0.3).abs() < 1e-15, "two joints away: sqrt(0.3 · 0.3)");
    }

    /// A lone weight on a plane of triangles. Oracle: m of the vertex after four passes is the chance that a walk returns which
    /// stays with ½ and goes to each of six neighbours with 1/12, counted over all walks of four steps.
    #[test]
    fn smoothing_takes_a_small_lone_weight_away() {
        const SIDE: i32 = 13;
        let at = |x: i32, y: i32| (y * SIDE + x) as u32;
        let squares = (0..SIDE - 1).flat_map(|y| (0..SIDE - 1).map(move |x| (x, y)));
        let triangles = squares.flat_map(|(x, y)| {
            [[at(x, y), at(x + 1, y), at(x, y + 1)], [at(x + 1, y), at(x + 1, y + 1), at(x, y + 1)]]
        });
        let count = (SIDE * SIDE) as usize;
        let mesh = Mesh { positions: vec![DVec3::ZERO; count], triangles: triangles.collect(), ..Mesh::default() };
        let steps = [(0, 0, 0.5), (1, 0, 1.0), (-1, 0, 1.0), (0, 1, 1.0), (0, -1, 1.0), (1, -1, 1.0), (-1, 1, 1.0)];
        fn returns(steps: &[(i32, i32, f64)], (x, y): (i32, i32), left: u32) -> f64 {
            match left {
                0 => f64::from(u8::from((x, y) == (0, 0))),
                _ => steps
                    .iter()
                    .map(|&(dx, dy, w)| if (dx, dy) == (0, 0) { w } else { w / 12.0 } * returns(steps, (x + dx, y + dy), left - 1))
                    .sum(),
            }
        }
        let share = returns(&steps, (0, 0), 4);
        assert!((share - 0.143).abs() < 5e-4, "{share}");
        let middle = at(SIDE / 2, SIDE / 2) as usize;
        let lone = BoneIndex::new(2);
        for w in [0.9 * 0.004 / share, 1.1 * 0.004 / share] {
            let mut rows = vec![vec![(BoneIndex::new(0), 1.0)]; count];
            rows[middle] = vec![(BoneIndex::new(0), 1.0 - w), (lone, w)];
            let weights = Influences::from_rows(rows).unwrap();
            let of = |smoothing| {
                let settings = MapSettings { rings: 0, smoothing, ..MapSettings::default() };
                from_weights(&chain(3), &mesh, &weights, settings).unwrap().value(middle, lone)
            };
            assert!((of(0).powi(2) - w).abs() < 1e-12, "every weight has a map before it is smoothed");
            let expected = if share * w > 0.004 { share * w } else { 0.0 };
            assert!((of(4).powi(2) - expected).abs() < 1e-12, "{w}: {}", of(4).powi(2));
        }
    }

    #[test]
    fn smoothing_shares_with_neighbours_and_keeps_lone_vertices() {
        let weights = Influences::from_rows([0, 1, 0].map(|b| vec![(BoneIndex::new(b), 1.0)])).unwrap();
        let mesh = Mesh { positions: vec![DVec3::ZERO; 3], triangles: vec![[0, 1, 1]], ..Mesh::default() };
        let settings = MapSettings { rings: 0, smoothing: 1, ..MapSettings::default() };
        let maps = from_weights(&chain(2), &mesh, &weights, settings).unwrap();
        assert!((maps.value(0, BoneIndex::new(1)).powi(2) - 0.5).abs() < 1e-15);
        assert_eq!(maps.of(2), [(BoneIndex::new(0), 1.0)]);
    }
}
