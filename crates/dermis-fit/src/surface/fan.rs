//! Triangles around one vertex, the hub, found by the directions in which they lie from it.
//!
//! Boxes of space do not part them: every box holds the hub, and a segment towards it meets all of them. Seen from the hub
//! a segment is an arc and a triangle the arc of its far edge; a tree of boxes over the far edges' directions finds the
//! arcs that meet.

use super::{Node, PARALLEL, Tree};
use dermis_rig::glam::DVec3;

/// So many triangles around a vertex are a fan. Fewer are found as fast by boxes of space.
pub const LEAST: u32 = 64;

/// Sine of an angle below which two directions count as one. Far above rounding and above the tolerance at edges, except
/// within a thousandth of an edge's length from the hub.
const ANGLE: f64 = 1e-6;

/// The triangles around a hub.
#[derive(Clone, Debug)]
pub struct Fan {
    hub: DVec3,
    /// Unit vectors from the hub to the two other corners, as triangles without area; named by the index in `corners`.
    directions: Tree,
    /// What the triangles below each box of `directions` have in common.
    flatness: Vec<Flatness>,
    corners: Vec<(u32, [DVec3; 3])>,
}

/// A bound on the normals ab × ac / (|ab| |ac|) of triangles: they leave the line along the longest of them by at most
/// `deviation`.
#[derive(Clone, Copy, Debug)]
struct Flatness {
    longest: DVec3,
    deviation: f64,
}

impl Fan {
    /// Of triangles by name, corners, and the corner that is the hub; there is at least one.
    pub fn new(triangles: &[(u32, [DVec3; 3], usize)]) -> Self {
        let (_, first, at) = triangles[0];
        let hub = first[at];
        let corners: Vec<_> = triangles.iter().map(|&(name, corners, _)| (name, corners)).collect();
        let far = |&(_, corners, at): &(u32, [DVec3; 3], usize)| {
            [1, 2].map(|k| (corners[(at + k) % 3] - hub).normalize_or_zero())
        };
        // A triangle with two corners in one place has no area: nothing passes through it.
        let seen = (0..).zip(triangles.iter().map(far)).filter(|(_, far)| far.iter().all(|d| *d != DVec3::ZERO));
        let directions = Tree::new(seen.map(|(index, [b, c])| (index, [b, c, b])).collect());
        let normals: Vec<_> = directions.names.iter().map(|index| normal(&corners[*index as usize].1)).collect();
        let flatness = Flatness::of(&directions, &normals);
        Self { hub, directions, flatness, corners }
    }

    /// Two corners of the box around the triangles, and one of them again.
    pub fn bounds(&self) -> [DVec3; 3] {
        let all = self.corners.iter().flat_map(|(_, corners)| corners);
        let (low, high) = all.fold((self.hub, self.hub), |(low, high), c| (low.min(*c), high.max(*c)));
        [low, high, high]
    }

    /// Whether `found` holds for a triangle that the segment may pass through.
    pub fn any(&self, from: DVec3, along: DVec3, found: impl Fn(&[DVec3; 3], u32) -> bool) -> bool {
        let (sides, way) = (self.sides(from, along), along.normalize_or_zero());
        let enters = |at: usize, node: &Node| {
            let reaches = sides.iter().all(|side| node.reach(*side) >= -ANGLE);
            reaches && !self.flatness[at].parallel(way)
        };
        self.directions.any(enters, |_, index| {
            let (name, corners) = &self.corners[index as usize];
            found(corners, *name)
        })
    }

    /// Normals of planes through the hub. A triangle that lies below one of them does not meet the segment. Nothing lies
    /// below a plane whose normal is zero.
    fn sides(&self, from: DVec3, along: DVec3) -> [DVec3; 5] {
        let [mut p, mut q] = [from, from + along].map(|end| (end - self.hub).normalize_or_zero());
        // Seen from an end of the segment, the other one is the only direction.
        (p, q) = (if p == DVec3::ZERO { q } else { p }, if q == DVec3::ZERO { p } else { q });
        let across = p.cross(q);
        if across.length() > ANGLE / 2.0 {
            let across = across.normalize();
            [across, -across, across.cross(p), q.cross(across), (p + q).normalize_or_zero()]
        } else if p.dot(q) > 0.0 {
            let (a, b) = p.any_orthonormal_pair();
            [a, -a, b, -b, p]
        } else {
            [DVec3::ZERO; 5] // through the hub
        }
    }
}

impl Flatness {
    /// Of every box of a tree, from the normals of its triangles in their order.
    fn of(tree: &Tree, normals: &[DVec3]) -> Vec<Self> {
        let bound = |at: usize| {
            let below = &normals[tree.below(at)];
            let longer = |a: DVec3, b: &DVec3| if b.length_squared() > a.length_squared() { *b } else { a };
            let longest = below.iter().fold(DVec3::ZERO, longer);
            let line = longest.normalize_or_zero();
            Self { longest, deviation: below.iter().map(|n| n.cross(line).length()).fold(0.0, f64::max) }
        };
        (0..tree.boxes.len()).map(bound).collect()
    }
    /// Whether every triangle is parallel to a unit vector, or has no area, as [`pierces`](super::pierces) sees it.
    fn parallel(&self, way: DVec3) -> bool {
        self.longest.dot(way).abs() + self.deviation <= PARALLEL
    }
}

/// ab × ac / (|ab| |ac|).
fn normal([a, b, c]: &[DVec3; 3]) -> DVec3 {
    (b - a).normalize_or_zero().cross((c - a).normalize_or_zero())
}

#[cfg(test)]
mod tests {
    use super::super::{Surface, pierces};
    use super::*;
    use dermis_testkit::Random;
    use std::cell::Cell;

    /// The rim of a fan with corners `first..first + n`, in the order of their angles.
    fn rim(n: u32, first: u32) -> impl Iterator<Item = [u32; 2]> {
        (0..n).map(move |k| [first + k, first + (k + 1) % n])
    }

    fn circle(n: u32, mut rough: impl FnMut() -> f64) -> Vec<DVec3> {
        let angle = |k| f64::from(k) / f64::from(n) * std::f64::consts::TAU;
        (0..n).map(|k| DVec3::new(angle(k).cos(), angle(k).sin(), 0.0) * (1.0 + rough()) + DVec3::Z * rough()).collect()
    }

    /// Fans of every kind, turned: flat, cones, cones with a rough rim, two hubs that share triangles or a rim.
    /// Oracle: every triangle in turn.
    #[test]
    fn segments_find_the_triangles_around_a_hub() {
        let mut random = Random::new(5);
        let turn = random.rotation(3.0);
        let kinds = [(0.0, 0.0, false), (0.5, 0.0, false), (0.5, 0.3, true), (1e-7, 0.0, false), (0.0, 0.2, true)];
        for (height, rough, shared_rim) in kinds {
            let hubs = [DVec3::Z * height, DVec3::new(0.1, 0.0, -height)];
            let rough = circle(300, || rough * random.between(-1.0, 1.0));
            let positions: Vec<DVec3> = hubs.into_iter().chain(rough).map(|p| turn * p).collect();
            let around = rim(300, 2).flat_map(|[a, b]| {
                let first = [[0, a, b], [b, 0, a], [a, b, 0]][a as usize % 3];
                [first, if shared_rim { [1, b, a] } else { [0, 1, a] }]
            });
            let triangles: Vec<[u32; 3]> = around.collect();
            let surface = Surface::new(&positions, &triangles);
            assert_eq!((surface.plain.names.len(), surface.fans.len()), (0, 1 + usize::from(shared_rim)));
            let mut met = 0;
            for round in 0..3000 {
                let mut place = || match random.below(4) {
                    0 => positions[random.below(positions.len())],
                    1 => turn * (random.direction() * DVec3::new(1.0, 1.0, 0.0)),
                    _ => random.direction() * random.between(0.0, 2.0),
                };
                let (p, q) = (place(), place());
                let crossed = |t: &[u32; 3]| pierces(p, q - p, &t.map(|c| positions[c as usize]));
                let wanted = triangles.iter().any(crossed);
                assert_eq!(surface.crosses(p, q, |_| true), wanted, "height {height}, round {round}: {p} {q}");
                met += usize::from(wanted);
                let one = random.below(triangles.len());
                assert_eq!(surface.crosses(p, q, |t| t == one), crossed(&triangles[one]));
            }
            assert!((200..2800).contains(&met), "{met}");
        }
    }

    /// Ten times as many triangles are not ten times as many tries: lines from the rim of a cone and of a flat star to
    /// the hub, to its axis, and across.
    #[test]
    fn few_triangles_of_a_fan_are_tried() {
        for height in [0.0, 0.5] {
            for n in [100, 1000, 10_000] {
                let turn = Random::new(3).rotation(3.0);
                let hub = turn * (DVec3::Z * height);
                let far: Vec<DVec3> = circle(n, || 0.0).into_iter().map(|p| turn * p).collect();
                let triangles: Vec<_> =
                    rim(n, 0).map(|[a, b]| (a, [hub, far[a as usize], far[b as usize]], 0)).collect();
                let (fan, tried) = (Fan::new(&triangles), Cell::new(0_usize));
                for p in &far {
                    for q in [hub, hub * 0.5, hub - turn * DVec3::Z, turn * DVec3::new(0.3, 0.2, 0.1)] {
                        fan.any(*p, q - *p, |_, _| {
                            tried.set(tried.get() + 1);
                            false
                        });
                    }
                }
                let each = tried.get() as f64 / (4 * n) as f64;
                println!("height {height}, {n} triangles: {each:.1} tried by a segment");
                assert!(each < 12.0, "height {height}, {n} triangles: {each:.1}");
            }
        }
    }
}
