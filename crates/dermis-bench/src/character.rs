//! A creature for measurements: as many bones, points, poses and influences as asked, the same every time.
//!
//! A spine carries two legs, two arms and a neck, all chains of bones of equal length; the skin is a tube around each chain, its
//! points in order along it, as neighbours on a mesh are near each other in memory. Poses turn every joint about any axis.
//!
//! **Influence maps** are as a rigger paints them: every bone has a soft ball near its middle, (1 − d²/r²)²₊, and a point keeps
//! the n largest, less the next one, so that maps fade out where a bone leaves the list: smooth over the surface, never rounded, and
//! the sets of bones change from patch to patch.
//!
//! **Targets** are linear blend skinning plus a correction that the published form can find, plus noise.

use dermis_rig::glam::{DAffine3, DQuat, DVec3};
use dermis_rig::skeleton::row;
use dermis_rig::{BoneIndex, BoneTransforms, Example, Influences, Mesh, Polygons, Skeleton};
use dermis_testkit::Random;
use dermis_testkit::tree::jointed;
use rayon::prelude::*;

/// Numbers that make a creature.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// Vertices.
    pub points: usize,
    /// Bones of the skeleton.
    pub bones: usize,
    /// Examples.
    pub poses: usize,
    /// Bones per point at most.
    pub most: usize,
    /// Radius of the maps, in bone lengths.
    pub reach: f64,
}

/// The creature at rest.
pub struct Creature {
    /// Its bones.
    pub skeleton: Skeleton,
    /// Its skin.
    pub rest: Vec<DVec3>,
    /// The rest diagonal.
    pub length: f64,
    /// Ball of each bone's map.
    balls: Vec<(DVec3, f64)>,
}

/// Chains: where they start, which way they go, how long and thick they are.
const CHAINS: [(DVec3, DVec3, f64, f64); 6] = [
    (DVec3::new(0.0, 0.9, 0.0), DVec3::new(0.0, 1.0, 0.0), 0.6, 0.15),
    (DVec3::new(0.12, 0.85, 0.0), DVec3::new(0.15, -0.988_686, 0.0), 0.8, 0.07),
    (DVec3::new(-0.12, 0.85, 0.0), DVec3::new(-0.15, -0.988_686, 0.0), 0.8, 0.07),
    (DVec3::new(0.15, 1.4, 0.0), DVec3::new(0.96, -0.28, 0.0), 0.7, 0.05),
    (DVec3::new(-0.15, 1.4, 0.0), DVec3::new(-0.96, -0.28, 0.0), 0.7, 0.05),
    (DVec3::new(0.0, 1.5, 0.0), DVec3::new(0.0, 0.8, 0.6), 0.5, 0.06),
];
/// Largest turn of a joint, radians.
const TURN: f64 = 0.6;
/// Deviation of the planted coefficients and of the noise, in rest diagonals.
const PLANTED: f64 = 0.01;
const NOISE: f64 = 1e-4;
/// Maps below this do not count.
const LEAST: f64 = 1e-3;
/// Points that share a stream of random numbers.
const BLOCK: usize = 4096;

impl Creature {
    /// The creature with so many bones (at least six) and points.
    pub fn new(size: Size) -> Self {
        let mut random = Random::new(1);
        let (mut parents, mut bind, mut balls) = (Vec::new(), Vec::new(), Vec::new());
        let spine = (size.bones / 6).max(1);
        for (chain, &(start, direction, length, radius)) in CHAINS.iter().enumerate() {
            let limbs = CHAINS.len() - 1;
            let count = if chain == 0 { spine } else { (size.bones - spine + limbs - chain) / limbs };
            let turn = DQuat::from_rotation_arc(DVec3::Y, direction);
            let step = length / count as f64;
            for bone in 0..count {
                let above = match (chain, bone) {
                    (0, 0) => None,
                    (1 | 2, 0) => Some(0),
                    (_, 0) => Some(spine - 1),
                    _ => Some(parents.len() - 1),
                };
                let joint = start + direction * (step * bone as f64);
                parents.push(above.map(BoneIndex::new));
                bind.push(DAffine3::from_rotation_translation(turn, joint));
                let middle = joint + direction * (0.5 * step) + random.direction() * radius;
                balls.push((middle, (size.reach * step + radius) * random.between(0.7, 1.3)));
            }
        }
        let names = (0..parents.len()).map(|b| format!("bone {b}")).collect();
        let skeleton = Skeleton::new(names, parents, bind).expect("parents come first");
        let rest = skin(size.points);
        let low = rest.iter().fold(DVec3::INFINITY, |low, p| low.min(*p));
        let high = rest.iter().fold(DVec3::NEG_INFINITY, |high, p| high.max(*p));
        Self { skeleton, rest, length: low.distance(high), balls }
    }

    /// Its surface.
    pub fn mesh(&self) -> Mesh {
        let triangles = triangles(self.rest.len());
        // Two triangles are a quad, as characters have them.
        let (pairs, _) = triangles.as_chunks();
        let indices: Vec<u32> = pairs.iter().flat_map(|[[a, b, d], [_, c, _]]| [*a, *b, *c, *d]).collect();
        let polygons = Some(Polygons { counts: vec![4; pairs.len()], indices });
        Mesh { positions: self.rest.clone(), triangles, polygons, ..Mesh::default() }
    }

    /// The influence maps, at most `most` bones a point.
    pub fn maps(&self, most: usize) -> Influences {
        let rows: Vec<_> = self.rest.par_iter().map(|p| self.map(*p, most)).collect();
        Influences::from_rows(rows).expect("maps are finite")
    }

    fn map(&self, p: DVec3, most: usize) -> Vec<(BoneIndex, f64)> {
        let value = |&(middle, radius): &(DVec3, f64)| (1.0 - p.distance_squared(middle) / (radius * radius)).max(0.0);
        let mut row: Vec<(BoneIndex, f64)> =
            self.balls.iter().enumerate().map(|(b, ball)| (BoneIndex::new(b), value(ball).powi(2))).collect();
        row.sort_by(|a, b| b.1.total_cmp(&a.1));
        let next = row.get(most).map_or(0.0, |r| r.1);
        row.truncate(most);
        // By reference: the short row does not keep the room of the long one.
        row.iter().map(|&(bone, m)| (bone, m - next)).filter(|(_, m)| *m > LEAST).collect()
    }

    /// Weights of exactly `count` bones a point: those of the nearest balls, one over the squared distance.
    pub fn nearest(&self, count: usize) -> Influences {
        let row = |p: &DVec3| {
            let near = |&(middle, radius): &(DVec3, f64)| 1.0 / (1e-3 + p.distance_squared(middle) / (radius * radius));
            let mut row: Vec<(BoneIndex, f64)> =
                self.balls.iter().enumerate().map(|(b, ball)| (BoneIndex::new(b), near(ball))).collect();
            row.sort_by(|a, b| b.1.total_cmp(&a.1));
            row.truncate(count);
            let sum: f64 = row.iter().map(|r| r.1).sum();
            // By reference: the short row does not keep the room of the long one.
            row.iter().map(|&(bone, w)| (bone, w / sum)).collect()
        };
        let rows: Vec<Vec<_>> = self.rest.par_iter().map(row).collect();
        Influences::from_rows(rows).expect("weights are finite")
    }

    /// The rest pose, then poses in which every joint is turned.
    pub fn poses(&self, count: usize) -> Vec<BoneTransforms> {
        let mut random = Random::new(2);
        let mut turned = || jointed(&self.skeleton, |_| DAffine3::from_quat(random.rotation(TURN)));
        let bones = self.skeleton.len();
        (0..count).map(|s| if s == 0 { BoneTransforms::identity(bones) } else { turned() }).collect()
    }

    /// Skins of the poses: linear blend skinning with `weights`, a planted correction and noise.
    ///
    /// Seen from the bone a of the largest map, axis j of the planted correction is Σ_k μ_k U_kj · [M_a⁻¹ M_k − I]_j, with one matrix
    /// U_k per bone.
    pub fn examples(&self, weights: &Influences, maps: &Influences, poses: &[BoneTransforms]) -> Vec<Example> {
        let mut random = Random::new(3);
        let size = PLANTED * self.length;
        let planted: Vec<[f64; 12]> = self.balls.iter().map(|_| [0; 12].map(|_| size * random.normal())).collect();
        let mut examples = Vec::with_capacity(poses.len());
        for (s, pose) in poses.iter().enumerate() {
            let pushes: Vec<Vec<DVec3>> = pose.iter().map(|anchor| self.pushes(anchor, pose, &planted)).collect();
            let mut positions = vec![DVec3::ZERO; self.rest.len()];
            dermis_deform::lbs(&self.rest, weights, pose, &mut positions);
            positions.par_chunks_mut(BLOCK).enumerate().for_each(|(block, points)| {
                let mut random = Random::new((s as u64) << 32 | block as u64);
                for (at, p) in points.iter_mut().enumerate() {
                    let v = block * BLOCK + at;
                    if let Some(anchor) = maps.dominant(v) {
                        *p += maps.of(v).iter().map(|&(bone, mu)| mu * pushes[anchor.get()][bone.get()]).sum::<DVec3>();
                    }
                    *p += NOISE * self.length * DVec3::new(random.normal(), random.normal(), random.normal());
                }
            });
            let label = format!("pose {s}");
            examples.push(Example {
                label,
                time: None,
                transforms: pose.clone(),
                positions,
                importance: 1.0,
                local: None,
            });
        }
        examples
    }

    /// What every bone adds for a map of one, as an anchor sees it, in the world: R_a [U_kj · [M_a⁻¹ M_k − I]_j]_j.
    fn pushes(&self, anchor: &DAffine3, pose: &BoneTransforms, planted: &[[f64; 12]]) -> Vec<DVec3> {
        let seen = pose.iter().map(|m| anchor.inverse() * *m);
        let push = |(m, u): (DAffine3, &[f64; 12])| {
            let axis = |j: usize| {
                let mut x = row(&m, j);
                x[j] -= 1.0;
                x[3] /= self.length;
                (0..4).map(|c| u[4 * j + c] * x[c]).sum()
            };
            anchor.matrix3 * DVec3::new(axis(0), axis(1), axis(2))
        };
        seen.zip(planted).map(push).collect()
    }
}

/// Of every tube, how many points it has, and how many of them make a turn.
fn tubes(points: usize) -> [(usize, f64); CHAINS.len()] {
    let area: f64 = CHAINS.iter().map(|c| c.2 * c.3).sum();
    let mut left = points;
    let mut tube = 0;
    CHAINS.map(|(_, _, length, radius)| {
        tube += 1;
        let count = if tube == CHAINS.len() { left } else { (points as f64 * length * radius / area) as usize };
        left -= count;
        (count, (count as f64 * std::f64::consts::TAU * radius / length).sqrt().max(3.0))
    })
}

/// Points on tubes around the chains, each tube a helix of points.
fn skin(points: usize) -> Vec<DVec3> {
    let mut rest = Vec::with_capacity(points);
    for (&(start, direction, length, radius), (count, around)) in CHAINS.iter().zip(tubes(points)) {
        let turn = DQuat::from_rotation_arc(DVec3::Y, direction);
        for at in 0..count {
            let t = (at as f64 + 0.5) / count as f64;
            let angle = std::f64::consts::TAU * at as f64 / around;
            let thick = radius * (1.0 + 0.2 * (9.0 * t).sin());
            rest.push(start + turn * DVec3::new(thick * angle.cos(), t * length, thick * angle.sin()));
        }
    }
    rest
}

/// The tubes' triangles: two for each point, its successor and those of the next turn.
fn triangles(points: usize) -> Vec<[u32; 3]> {
    let (mut made, mut first) = (Vec::new(), 0u32);
    for (count, around) in tubes(points) {
        let turn = around.round() as u32;
        for v in first..(first + count as u32).saturating_sub(turn + 1) {
            made.extend([[v, v + 1, v + turn], [v + 1, v + turn + 1, v + turn]]);
        }
        first += count as u32;
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: Size = Size { points: 3000, bones: 55, poses: 3, most: 12, reach: 3.0 };

    #[test]
    fn maps_change_little_between_near_points_even_where_their_bones_change() {
        let creature = Creature::new(SMALL);
        let mut random = Random::new(4);
        let mut changes = 0;
        for p in &creature.rest {
            let near = *p + random.direction() * 1e-4;
            let dense = |p| {
                let mut dense = vec![0.0; SMALL.bones];
                creature.map(p, 4).into_iter().for_each(|(bone, m)| dense[bone.get()] = m);
                dense
            };
            let (a, b) = (dense(*p), dense(near));
            changes += usize::from(a.iter().zip(&b).any(|(a, b)| (*a == 0.0) != (*b == 0.0)));
            // The slope of a ball is below 2/r, r at least 3 cm; of the next map likewise; and what is left out is below LEAST.
            assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < LEAST + 4.0 / 0.03 * 1e-4), "{p}");
        }
        assert!(changes > 0, "no bone ever changes");
    }

    /// A surface without a seam: every point but those at the ends of a tube has six neighbours near it.
    #[test]
    fn the_surface_joins_neighbours() {
        let creature = Creature::new(SMALL);
        let mesh = creature.mesh();
        let mut corners = vec![0; SMALL.points];
        for triangle in &mesh.triangles {
            triangle.iter().for_each(|&v| corners[v as usize] += 1);
            let [a, b, c] = triangle.map(|v| creature.rest[v as usize]);
            assert!(a.distance(b).max(b.distance(c)).max(c.distance(a)) < 0.06, "{triangle:?}");
        }
        let inside = corners.iter().filter(|count| **count == 6).count();
        assert!(inside > SMALL.points * 4 / 5, "{inside}");
    }

    #[test]
    fn points_and_bones_are_as_many_as_asked() {
        for bones in [6, 15, 55, 59, 120] {
            let creature = Creature::new(Size { bones, ..SMALL });
            assert_eq!((creature.skeleton.len(), creature.rest.len()), (bones, SMALL.points));
            let maps = creature.maps(5);
            assert!(maps.rows().all(|row| (1..=5).contains(&row.len())), "{bones}");
            assert!(creature.nearest(3).rows().all(|row| row.len() == 3));
        }
    }
}
