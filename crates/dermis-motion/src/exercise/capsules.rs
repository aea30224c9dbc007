//! Capsules around bones, as a proxy for skin that meets skin.
//!
//! A bone's capsule holds the vertices that it moves most: a segment along the cloud's longest principal axis, and the median distance from it
//! as the radius, so a capsule is thinner than the limb at its thickest. Bones that are near in the skeleton, or whose capsules meet at
//! rest, are left to their limits.

use super::followers::carriers;
use dermis_rig::glam::{DAffine3, DMat3, DVec3};
use dermis_rig::rotation::principal_axes;
use dermis_rig::{BoneIndex, Rig};

/// Vertices below which a bone has no capsule.
const FEWEST: usize = 8;

/// Joints between two bones up to which they are not compared: a calf may touch its thigh, and a hand its own upper arm.
const NEAR: usize = 2;

/// A capsule of one bone, world at rest.
#[derive(Clone, Copy, Debug)]
struct Capsule {
    bone: BoneIndex,
    ends: [DVec3; 2],
    radius: f64,
}

/// The capsules of a rig and the pairs that are compared.
#[derive(Clone, Debug)]
pub(super) struct Capsules {
    all: Vec<Capsule>,
    pairs: Vec<(usize, usize)>,
}

impl Capsules {
    /// The capsules of a rig in which some bones follow others; none without weights.
    pub fn new(rig: &Rig, follows: &[Option<BoneIndex>]) -> Self {
        let mut clouds: Vec<Vec<DVec3>> = vec![Vec::new(); rig.skeleton().len()];
        if let Some(weights) = rig.weights() {
            for vertex in 0..weights.vertices() {
                if let Some(bone) = weights.dominant(vertex) {
                    clouds[bone.get()].push(rig.mesh().positions[vertex]);
                }
            }
        }
        let all: Vec<Capsule> = rig
            .skeleton()
            .bones()
            .filter_map(|bone| Some(&clouds[bone.get()]).filter(|c| c.len() >= FEWEST).map(|cloud| around(bone, cloud)))
            .collect();
        let mut pairs = Vec::new();
        for a in 0..all.len() {
            for b in a + 1..all.len() {
                let at_rest = apart(&all[a].ends, &all[b].ends) - all[a].radius - all[b].radius;
                if joints_between(rig, follows, all[a].bone, all[b].bone) > NEAR && at_rest > 0.0 {
                    pairs.push((a, b));
                }
            }
        }
        Self { all, pairs }
    }

    /// How many bones have one.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// The pair of bones that meet deepest in a pose, with the depth in parts of the thinner one's radius; `None` if none meet.
    /// `moved` are the bone transforms M_k.
    pub fn deepest(&self, moved: &[DAffine3]) -> Option<(BoneIndex, BoneIndex, f64)> {
        let posed: Vec<[DVec3; 2]> =
            self.all.iter().map(|c| c.ends.map(|end| moved[c.bone.get()].transform_point3(end))).collect();
        let mut worst: Option<(BoneIndex, BoneIndex, f64)> = None;
        for &(a, b) in &self.pairs {
            let (one, other) = (&self.all[a], &self.all[b]);
            let depth = one.radius + other.radius - apart(&posed[a], &posed[b]);
            let share = depth / one.radius.min(other.radius).max(f64::MIN_POSITIVE);
            if share > worst.map_or(0.0, |worst| worst.2) {
                worst = Some((one.bone, other.bone, share));
            }
        }
        worst
    }
}

/// The capsule around points.
fn around(bone: BoneIndex, points: &[DVec3]) -> Capsule {
    let middle = points.iter().sum::<DVec3>() / points.len() as f64;
    let spread = points.iter().fold(DMat3::ZERO, |sum, p| {
        let d = *p - middle;
        sum + DMat3::from_cols(d * d.x, d * d.y, d * d.z)
    });
    let axis = principal_axes(&spread)[0].1;
    let mut along: Vec<f64> = points.iter().map(|p| axis.dot(*p - middle)).collect();
    let mut across: Vec<f64> = points.iter().map(|p| (*p - middle).reject_from_normalized(axis).length()).collect();
    along.sort_by(f64::total_cmp);
    across.sort_by(f64::total_cmp);
    let radius = across[across.len() / 2];
    let (low, high) = (along[0] + radius, along[along.len() - 1] - radius);
    let (low, high) = if low < high { (low, high) } else { (0.5 * (low + high), 0.5 * (low + high)) };
    Capsule { bone, ends: [middle + axis * low, middle + axis * high], radius }
}

/// Joints between two bones.
fn joints_between(rig: &Rig, follows: &[Option<BoneIndex>], a: BoneIndex, b: BoneIndex) -> usize {
    let above = |bone: BoneIndex| carriers(rig, follows, bone);
    let (one, other) = (above(a), above(b));
    let met = one.iter().enumerate().find_map(|(i, bone)| other.iter().position(|b| b == bone).map(|j| i + j));
    met.unwrap_or(usize::MAX)
}

/// The distance between two segments.
///
/// Source: Ericson 2005, "Real-time collision detection", section 5.1.9.
fn apart(one: &[DVec3; 2], other: &[DVec3; 2]) -> f64 {
    let (d1, d2, r) = (one[1] - one[0], other[1] - other[0], one[0] - other[0]);
    let (a, e, f) = (d1.length_squared(), d2.length_squared(), d2.dot(r));
    let (b, c) = (d1.dot(d2), d1.dot(r));
    let tiny = f64::MIN_POSITIVE;
    let (s, t);
    if a <= tiny && e <= tiny {
        (s, t) = (0.0, 0.0);
    } else if a <= tiny {
        (s, t) = (0.0, (f / e).clamp(0.0, 1.0));
    } else if e <= tiny {
        (s, t) = ((-c / a).clamp(0.0, 1.0), 0.0);
    } else {
        let parallel = a * e - b * b;
        let first = if parallel > 1e-15 * a * e { ((b * f - c * e) / parallel).clamp(0.0, 1.0) } else { 0.0 };
        let at = (b * first + f) / e;
        t = at.clamp(0.0, 1.0);
        s = if at == t { first } else { ((b * t - c) / a).clamp(0.0, 1.0) };
    }
    (one[0] + d1 * s).distance(other[0] + d2 * t)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dermis_testkit::Random;

    /// Oracle: many points of both segments.
    #[test]
    fn segments_are_as_far_apart_as_their_nearest_points() {
        let mut random = Random::new(1);
        for case in 0..200 {
            let mut point = || DVec3::from_array([0; 3].map(|_| random.between(-1.0, 1.0)));
            let one = [point(), point()];
            let other = match case % 4 {
                0 => [one[0] + DVec3::X, one[1] + DVec3::X],
                1 => [point(); 2],
                _ => [point(), point()],
            };
            let all = |ends: [DVec3; 2]| (0..=200).map(move |i| ends[0].lerp(ends[1], f64::from(i) / 200.0));
            let least = all(one).flat_map(|p| all(other).map(move |q| p.distance(q))).fold(f64::MAX, f64::min);
            let found = apart(&one, &other);
            // Points are at most 3.5/200 apart.
            assert!(found <= least + 1e-12 && found > least - 0.018, "case {case}: {found} {least}");
        }
    }

    /// Oracle: a cylinder along a slanted axis.
    #[test]
    fn a_capsule_follows_its_cloud() {
        let axis = DVec3::new(1.0, 2.0, -1.0).normalize();
        let (u, v) = axis.any_orthonormal_pair();
        let points: Vec<DVec3> = (0..2000)
            .map(|i| {
                let turn = f64::from(i) * 2.399;
                axis * (f64::from(i) / 1999.0 - 0.5) + 0.1 * (u * turn.cos() + v * turn.sin())
            })
            .collect();
        let capsule = around(BoneIndex::new(0), &points);
        assert!((capsule.radius - 0.1).abs() < 1e-3);
        let ends = capsule.ends.map(|end| end.dot(axis).abs());
        assert!(ends.iter().all(|end| (end - 0.4).abs() < 2e-3), "{ends:?}");
    }
}
