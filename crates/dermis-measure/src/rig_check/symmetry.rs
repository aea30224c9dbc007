//! How symmetric a rig is.
//!
//! [`Mirror`] finds the plane and the partners. Here is what it leaves open: what has no partner, and by how much the weights of a vertex
//! differ from the mirrored weights of its partner, `a_v = ½ Σ_k |w_vk − w_μ(v)π(k)|`, which is 0 for equal weights and 1 for
//! weights without a common bone.

use dermis_rig::glam::DVec3;
use dermis_rig::{BoneIndex, Influences, Mirror, Skeleton};

/// A bone that is its own partner and farther from the plane than this, in rest diagonals, has none: [`Mirror`] pairs no farther.
const OFF_PLANE: f64 = 0.02;

/// How symmetric a rig is about its mirror plane.
#[derive(Clone, Debug, PartialEq)]
pub struct Symmetry {
    /// The plane and the partners.
    pub mirror: Mirror,
    /// Vertices without a partner.
    pub unpaired: Vec<u32>,
    /// Bones that carry weight, stand beside the plane, and have no partner.
    pub unpaired_bones: Vec<BoneIndex>,
    /// a_v, 0 to 1; `None` for a vertex without a partner.
    pub asymmetry: Vec<Option<f64>>,
    /// The vertex of the largest a_v; of equal ones the first.
    pub worst: Option<usize>,
}

impl Symmetry {
    /// Returns the symmetry of a rig, or `None` if it has none ([`Mirror::find`]). `rest` are positions of the vertices, metres.
    pub fn of(rest: &[DVec3], skeleton: &Skeleton, weights: &Influences) -> Option<Self> {
        let mirror = Mirror::find(rest, skeleton, weights)?;
        let carries = super::BoneShare::of(weights, skeleton.len());
        let far = OFF_PLANE * diagonal(rest);
        let alone = |bone: BoneIndex| {
            let place = skeleton.bind()[bone].translation;
            mirror.bones[bone.get()] == bone
                && carries[bone.get()].vertices > 0
                && (mirror.normal.dot(place) - mirror.plane).abs() > far
        };
        let asymmetry: Vec<Option<f64>> = mirror
            .vertices
            .iter()
            .enumerate()
            .map(|(v, partner)| partner.map(|partner| difference(weights, &mirror, v, partner as usize)))
            .collect();
        let mut worst: Option<usize> = None;
        for (v, a) in asymmetry.iter().enumerate() {
            if a.is_some_and(|a| a > worst.and_then(|w| asymmetry[w]).unwrap_or(0.0)) {
                worst = Some(v);
            }
        }
        Some(Self {
            unpaired: (0..rest.len() as u32).filter(|&v| mirror.vertices[v as usize].is_none()).collect(),
            unpaired_bones: skeleton.bones().filter(|&bone| alone(bone)).collect(),
            asymmetry,
            worst,
            mirror,
        })
    }

    /// Returns the mean of a_v over the vertices that have a partner.
    pub fn mean(&self) -> f64 {
        let known: Vec<f64> = self.asymmetry.iter().flatten().copied().collect();
        known.iter().sum::<f64>() / known.len().max(1) as f64
    }

    /// Returns the largest a_v.
    pub fn largest(&self) -> f64 {
        self.worst.and_then(|v| self.asymmetry[v]).unwrap_or(0.0)
    }
}

/// a_v of vertex `v` and its partner.
fn difference(weights: &Influences, mirror: &Mirror, v: usize, partner: usize) -> f64 {
    let of = |bone: BoneIndex| weights.value(partner, mirror.bones[bone.get()]);
    let here: f64 = weights.of(v).iter().map(|&(bone, weight)| (weight - of(bone)).abs()).sum();
    // Bones that only the partner has.
    let is_seen = |bone: BoneIndex| weights.of(v).iter().any(|&(own, _)| mirror.bones[own.get()] == bone);
    let there: f64 = weights.of(partner).iter().filter(|(bone, _)| !is_seen(*bone)).map(|(_, weight)| weight).sum();
    0.5 * (here + there)
}

fn diagonal(rest: &[DVec3]) -> f64 {
    let low = rest.iter().copied().reduce(DVec3::min).unwrap_or_default();
    let high = rest.iter().copied().reduce(DVec3::max).unwrap_or_default();
    low.distance(high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dermis_rig::BoneVec;
    use dermis_rig::glam::DAffine3;

    /// Two arms along ±x that hang on a spine, weights linear in |x|; `shift` takes weight from the left arm's outermost vertices.
    fn arms(shift: f64) -> (Vec<DVec3>, Skeleton, Influences) {
        let places = [DVec3::ZERO, DVec3::X, -DVec3::X];
        let parents = vec![None, Some(BoneIndex::new(0)), Some(BoneIndex::new(0))];
        let bind = places.map(DAffine3::from_translation).to_vec();
        let names = ["spine", "arm_l", "arm_r"].map(String::from).to_vec();
        let skeleton = Skeleton::new(names, parents, bind).unwrap();
        let mut rest = Vec::new();
        for i in -20..=20 {
            for j in 0..8 {
                let (sin, cos) = (f64::from(j) * std::f64::consts::FRAC_PI_4).sin_cos();
                rest.push(DVec3::new(f64::from(i) * 0.1, 0.2 * cos + 0.01 * f64::from(j), 0.3 * sin));
            }
        }
        let row = |p: &DVec3| {
            let mut u = (p.x.abs() / 2.0).min(1.0);
            if p.x > 1.95 {
                u -= shift;
            }
            vec![(BoneIndex::new(0), 1.0 - u), (BoneIndex::new(if p.x > 0.0 { 1 } else { 2 }), u)]
        };
        let weights = Influences::from_rows(rest.iter().map(row)).unwrap();
        (rest, skeleton, weights)
    }

    /// A symmetric rig has no asymmetry; weight moved between two bones on one side shows on both by just what was moved.
    #[test]
    fn weight_that_one_side_lacks_is_found() {
        let (rest, skeleton, weights) = arms(0.0);
        let even = Symmetry::of(&rest, &skeleton, &weights).unwrap();
        assert!(even.mirror.normal.x.abs() > 0.999 && even.unpaired.is_empty() && even.unpaired_bones.is_empty());
        assert!(even.largest() < 1e-12);
        let (rest, skeleton, weights) = arms(0.125);
        let uneven = Symmetry::of(&rest, &skeleton, &weights).unwrap();
        for (v, a) in uneven.asymmetry.iter().enumerate() {
            let expected = if rest[v].x.abs() > 1.95 { 0.125 } else { 0.0 };
            assert!((a.unwrap() - expected).abs() < 1e-12, "vertex {v}: {a:?}");
        }
        assert!(rest[uneven.worst.unwrap()].x.abs() > 1.95);
        assert!((uneven.mean() - 0.125 * 16.0 / 328.0).abs() < 1e-12);
    }

    #[test]
    fn weights_without_a_common_bone_differ_by_one() {
        let rows = [vec![(0, 1.0)], vec![(1, 0.5), (2, 0.5)]];
        let rows = rows.map(|row| row.into_iter().map(|(b, w)| (BoneIndex::new(b), w)).collect());
        let weights = Influences::from_rows(rows).unwrap();
        let mirror = Mirror {
            normal: DVec3::X,
            plane: 0.0,
            vertices: vec![Some(1), Some(0)],
            bones: BoneVec::new((0..3).map(BoneIndex::new).collect::<Vec<_>>()).iter().copied().collect(),
        };
        assert_eq!(difference(&weights, &mirror, 0, 1), 1.0);
        assert_eq!(difference(&weights, &mirror, 1, 0), 1.0);
    }
}
