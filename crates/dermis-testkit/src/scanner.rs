//! A scanner: a posed surface becomes a mesh of its own, with vertices anywhere on the surface, noise, and round holes.
//!
//! The surface is subdivided at the middles of its edges, which moves no point of it, until it has five times as many vertices as the scan
//! gets. Random vertices are the scan's; every other vertex belongs to the one that is nearest along edges, and three of them are
//! a triangle where their regions meet. Nothing of the first mesh's layout is left.

use crate::Random;
use dermis_rig::glam::DVec3;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

/// How a surface is scanned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scanner {
    /// Vertices of a scan before holes, by a tenth more or fewer.
    pub points: usize,
    /// Standard deviation of the noise along each axis, in the unit of the positions.
    pub noise: f64,
    /// The share of the area that holes take away.
    pub missing: f64,
    /// Holes.
    pub holes: usize,
}

/// Vertices and triangles.
pub type Soup = (Vec<DVec3>, Vec<[u32; 3]>);

impl Scanner {
    /// A scan of a surface.
    ///
    /// # Panics
    /// If there is no triangle, or one names a vertex that does not exist.
    pub fn scan(&self, positions: &[DVec3], triangles: &[[u32; 3]], random: &mut Random) -> Soup {
        let wanted = (self.points as f64 * random.between(0.9, 1.1)) as usize;
        let (mut fine, mut faces) = (positions.to_vec(), triangles.to_vec());
        while fine.len() < 5 * wanted {
            (fine, faces) = subdivided(fine, &faces);
        }
        let (mut points, made) = remeshed(&fine, &faces, wanted, random);
        let made = self.with_holes(&points, made, random);
        for p in &mut points {
            *p += DVec3::new(random.normal(), random.normal(), random.normal()) * self.noise;
        }
        used(&points, &made)
    }

    /// The triangles without those in round holes.
    fn with_holes(&self, points: &[DVec3], mut made: Vec<[u32; 3]>, random: &mut Random) -> Vec<[u32; 3]> {
        let corners = |t: &[u32; 3]| t.map(|c| points[c as usize]);
        let area = |t: &[u32; 3]| {
            let [a, b, c] = corners(t);
            (b - a).cross(c - a).length()
        };
        let middle = |t: &[u32; 3]| corners(t).into_iter().sum::<DVec3>() / 3.0;
        let whole: f64 = made.iter().map(area).sum();
        for hole in 1..=self.holes {
            let left: f64 = made.iter().map(area).sum();
            let mut at = random.unit() * left;
            let centre = made.iter().find(|t| {
                at -= area(t);
                at <= 0.0
            });
            let Some(centre) = centre.map(middle) else { break };
            made.sort_by(|a, b| middle(a).distance_squared(centre).total_cmp(&middle(b).distance_squared(centre)));
            let mut gone = left - whole * (1.0 - self.missing * hole as f64 / self.holes as f64);
            let count = made.iter().take_while(|t| {
                gone -= area(t);
                gone >= 0.0
            });
            let count = count.count();
            made.drain(..count);
        }
        made.sort_unstable();
        made
    }
}

/// Every triangle as four.
fn subdivided(mut positions: Vec<DVec3>, triangles: &[[u32; 3]]) -> Soup {
    let mut middles: BTreeMap<(u32, u32), u32> = BTreeMap::new();
    let mut made = Vec::with_capacity(4 * triangles.len());
    for &[a, b, c] in triangles {
        let mut middle = |a: u32, b: u32| {
            *middles.entry((a.min(b), a.max(b))).or_insert_with(|| {
                positions.push((positions[a as usize] + positions[b as usize]) / 2.0);
                positions.len() as u32 - 1
            })
        };
        let (ab, bc, ca) = (middle(a, b), middle(b, c), middle(c, a));
        made.extend([[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]]);
    }
    (positions, made)
}

/// Triangles between random vertices, where the regions nearest to them meet.
fn remeshed(positions: &[DVec3], triangles: &[[u32; 3]], wanted: usize, random: &mut Random) -> Soup {
    let mut near: Vec<Vec<u32>> = vec![Vec::new(); positions.len()];
    for corners in triangles {
        for i in 0..3 {
            let (a, b) = (corners[i], corners[(i + 1) % 3]);
            near[a as usize].push(b);
            near[b as usize].push(a);
        }
    }
    let mut order = random.order(positions.len());
    order.truncate(wanted.min(positions.len()));
    order.sort_unstable();
    let mut owner = vec![u32::MAX; positions.len()];
    let mut distance = vec![f64::INFINITY; positions.len()];
    // Distances are not negative, so their bits are ordered as they are.
    let mut heap: BinaryHeap<Reverse<(u64, u32, u32)>> = BinaryHeap::new();
    for (at, &seed) in order.iter().enumerate() {
        distance[seed] = 0.0;
        heap.push(Reverse((0, seed as u32, at as u32)));
    }
    while let Some(Reverse((bits, vertex, seed))) = heap.pop() {
        let v = vertex as usize;
        if owner[v] != u32::MAX {
            continue;
        }
        owner[v] = seed;
        for &other in &near[v] {
            let further = f64::from_bits(bits) + positions[v].distance(positions[other as usize]);
            if further < distance[other as usize] {
                distance[other as usize] = further;
                heap.push(Reverse((further.to_bits(), other, seed)));
            }
        }
    }
    let (mut known, mut made) = (BTreeSet::new(), Vec::new());
    for corners in triangles {
        let t = corners.map(|c| owner[c as usize]);
        let mut key = t;
        key.sort_unstable();
        if key[0] != key[1] && key[1] != key[2] && key[2] != u32::MAX && known.insert(key) {
            made.push(t);
        }
    }
    (order.into_iter().map(|v| positions[v]).collect(), made)
}

/// Only the vertices that triangles name.
fn used(positions: &[DVec3], triangles: &[[u32; 3]]) -> Soup {
    let mut place = vec![u32::MAX; positions.len()];
    let mut kept = Vec::new();
    let renumbered = triangles.iter().map(|t| {
        t.map(|c| {
            let own = &mut place[c as usize];
            if *own == u32::MAX {
                *own = kept.len() as u32;
                kept.push(positions[c as usize]);
            }
            *own
        })
    });
    let renumbered = renumbered.collect();
    (kept, renumbered)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Arm;

    #[test]
    fn a_scan_lies_on_the_surface_with_the_noise_and_the_holes_asked_for() {
        let arm = Arm::new(40, 40);
        let (positions, triangles) = (&arm.rig.mesh().positions, &arm.rig.mesh().triangles);
        let area = |(p, t): &Soup| -> f64 {
            let own = |t: &[u32; 3]| {
                let [a, b, c] = t.map(|c| p[c as usize]);
                (b - a).cross(c - a).length() / 2.0
            };
            t.iter().map(own).sum()
        };
        let whole = Scanner { points: 3000, noise: 0.0, missing: 0.0, holes: 0 };
        let made = whole.scan(positions, triangles, &mut Random::new(3));
        assert!((2700..=3300).contains(&made.0.len()), "{}", made.0.len());
        let true_area = area(&(positions.clone(), triangles.clone()));
        assert!((area(&made) / true_area - 1.0).abs() < 0.05, "{} {true_area}", area(&made));
        let holed = Scanner { missing: 0.25, holes: 5, ..whole };
        let part = holed.scan(positions, triangles, &mut Random::new(3));
        assert!((area(&part) / area(&made) - 0.75).abs() < 0.02, "{}", area(&part) / area(&made));
        let noisy = Scanner { noise: 1e-3, ..whole };
        let other = noisy.scan(positions, triangles, &mut Random::new(3));
        let moved: f64 = made.0.iter().zip(&other.0).map(|(a, b)| a.distance_squared(*b)).sum();
        assert!((((moved / made.0.len() as f64).sqrt()) / (3f64.sqrt() * 1e-3) - 1.0).abs() < 0.05);
    }
}
