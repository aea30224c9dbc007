//! Inside or outside, for any triangle soup: the generalised winding number.
//!
//! The winding number of a point is the solid angle of all triangles seen from it, over 4π: one inside a closed surface,
//! zero outside, and in between near a hole, so that one half bounds a body whose surface is open or passes through
//! itself. Far triangles count together as a dipole: `w ≈ N · (c − p) / 4π|c − p|³`, with N the sum of their area
//! vectors and c their middle.
//!
//! Source: Jacobson, Kavan & Sorkine-Hornung 2013 (winding numbers of triangle soups); Barill et al. 2018 (the tree of dipoles).
//! Departure: dipoles of the first order alone, with a wider reach. The solid angle of a triangle is that of van Oosterom & Strackee 1983.

use dermis_rig::glam::DVec3;
use std::f64::consts::PI;
use std::sync::atomic::{AtomicU64, Ordering};

/// How many triangles winding numbers may look at, one by one, before a mesh is given up.
///
/// In a body a point has few triangles near it: the others count in groups. In a soup of triangles as long as the mesh none is far, and the work grows
/// with points times triangles. Whether the effort suffices does not depend on the number of threads.
pub struct Effort {
    most: u64,
    points: AtomicU64,
    seen: AtomicU64,
}

/// Winding numbers took more than their effort.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spent {
    /// Triangles that a point had near it, in the mean.
    pub near: u64,
}

impl Effort {
    /// Effort for `most` triangles.
    pub fn new(most: u64) -> Self {
        Self { most, points: AtomicU64::new(0), seen: AtomicU64::new(0) }
    }

    /// Triangles looked at so far.
    pub fn seen(&self) -> u64 {
        self.seen.load(Ordering::Relaxed)
    }

    /// That the winding numbers found so far are what they are called.
    ///
    /// # Errors
    /// [`Spent`].
    pub fn check(&self) -> Result<(), Spent> {
        match self.is_spent() {
            true => Err(Spent { near: self.seen() / self.points.load(Ordering::Relaxed).max(1) }),
            false => Ok(()),
        }
    }

    fn is_spent(&self) -> bool {
        self.seen() > self.most
    }

    fn spend(&self, triangles: u64) {
        self.points.fetch_add(1, Ordering::Relaxed);
        self.seen.fetch_add(triangles, Ordering::Relaxed);
    }
}

/// Triangles in a tree of dipoles.
#[derive(Clone, Debug)]
pub struct Winding {
    corners: Vec<[DVec3; 3]>,
    nodes: Vec<Node>,
}

#[derive(Clone, Debug)]
struct Node {
    centre: DVec3,
    /// Sum of the area vectors.
    dipole: DVec3,
    radius: f64,
    start: u32,
    /// Triangles of a leaf; zero of a branch.
    count: u32,
    /// The second child of a branch; the first follows its parent.
    second: u32,
}

/// Triangles in a leaf.
const LEAF: usize = 8;
/// A part is far if its distance is this many of its radii: at 3 the error beside a torus reaches 0.023, and one half decides.
const FAR: f64 = 4.0;

impl Winding {
    /// The triangles of a surface, outwards.
    pub fn new(triangles: impl Iterator<Item = [DVec3; 3]>) -> Self {
        let mut corners: Vec<[DVec3; 3]> = triangles.collect();
        let mut nodes = Vec::new();
        if !corners.is_empty() {
            build(&mut corners, 0, &mut nodes);
        }
        Self { corners, nodes }
    }

    /// The winding number about a point; zero once the effort is spent, which [`Effort::check`] tells.
    pub fn at(&self, p: DVec3, effort: &Effort) -> f64 {
        if effort.is_spent() {
            return 0.0;
        }
        let (mut sum, mut seen) = (0.0, 0);
        let mut open: Vec<u32> = Vec::with_capacity(64);
        if !self.nodes.is_empty() {
            open.push(0);
        }
        while let Some(at) = open.pop() {
            let node = &self.nodes[at as usize];
            let way = node.centre - p;
            let distance = way.length();
            if distance > FAR * node.radius {
                sum += node.dipole.dot(way) / distance.powi(3);
            } else if node.count > 0 {
                let own = &self.corners[node.start as usize..(node.start + node.count) as usize];
                sum += own.iter().map(|t| solid_angle(t, p)).sum::<f64>();
                seen += u64::from(node.count);
            } else {
                open.extend([node.second, at + 1]);
            }
        }
        effort.spend(seen);
        sum / (4.0 * PI)
    }
}

fn build(corners: &mut [[DVec3; 3]], start: u32, nodes: &mut Vec<Node>) {
    let (mut centre, mut dipole, mut weight) = (DVec3::ZERO, DVec3::ZERO, 0.0);
    let (mut low, mut high) = (DVec3::INFINITY, DVec3::NEG_INFINITY);
    for [a, b, c] in corners.iter() {
        let area = 0.5 * (*b - *a).cross(*c - *a);
        dipole += area;
        centre += area.length() * (*a + *b + *c) / 3.0;
        weight += area.length();
        (low, high) = (low.min(*a).min(*b).min(*c), high.max(*a).max(*b).max(*c));
    }
    let centre = if weight > 0.0 { centre / weight } else { 0.5 * (low + high) };
    let radius = corners.iter().flatten().map(|p| p.distance(centre)).fold(0.0, f64::max);
    let at = nodes.len();
    nodes.push(Node { centre, dipole, radius, start, count: 0, second: 0 });
    if corners.len() <= LEAF {
        nodes[at].count = corners.len() as u32;
        return;
    }
    let size = high - low;
    let axis = if size.x >= size.y.max(size.z) { 0 } else { 1 + usize::from(size.z > size.y) };
    let middle = corners.len() / 2;
    let along = |t: &[DVec3; 3]| t[0][axis] + t[1][axis] + t[2][axis];
    corners.select_nth_unstable_by(middle, |a, b| along(a).total_cmp(&along(b)));
    let (first, second) = corners.split_at_mut(middle);
    build(first, start, nodes);
    nodes[at].second = nodes.len() as u32;
    build(second, start + middle as u32, nodes);
}

/// The solid angle of a triangle seen from `p`; positive from behind.
fn solid_angle(triangle: &[DVec3; 3], p: DVec3) -> f64 {
    let [a, b, c] = triangle.map(|q| q - p);
    let (la, lb, lc) = (a.length(), b.length(), c.length());
    let above = a.dot(b.cross(c));
    let below = la * lb * lc + a.dot(b) * lc + b.dot(c) * la + c.dot(a) * lb;
    if above == 0.0 && below == 0.0 { 0.0 } else { 2.0 * above.atan2(below) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A cube of side 2, without its first `open` triangles.
    fn cube(open: usize) -> Vec<[DVec3; 3]> {
        let v = |i: usize| {
            DVec3::new(f64::from(i as u32 & 1), f64::from((i as u32 >> 1) & 1), f64::from(i as u32 >> 2)) * 2.0 - 1.0
        };
        let faces = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
        let split = faces.iter().flat_map(|&[a, b, c, d]| [[v(a), v(b), v(c)], [v(a), v(c), v(d)]]);
        split.skip(open).collect()
    }

    /// Closed form: one inside, zero outside; a missing face of six takes a sixth at the centre.
    #[test]
    fn a_cube_winds_once_about_its_inside() {
        let effort = Effort::new(u64::MAX);
        let closed = Winding::new(cube(0).into_iter());
        for (p, inside) in
            [(DVec3::ZERO, 1.0), (DVec3::splat(0.9), 1.0), (DVec3::new(1.1, 0.0, 0.0), 0.0), (DVec3::splat(40.0), 0.0)]
        {
            assert!((closed.at(p, &effort) - inside).abs() < 1e-9, "{p}: {}", closed.at(p, &effort));
        }
        let open = Winding::new(cube(2).into_iter());
        assert!((open.at(DVec3::ZERO, &effort) - 5.0 / 6.0).abs() < 1e-12);
    }

    /// Oracle: the sum over all triangles, without a tree.
    #[test]
    fn the_tree_agrees_with_the_plain_sum() {
        let mut torus = Vec::new();
        let at = |i: u32, j: u32| {
            let (a, b) = (f64::from(i) * 2.0 * PI / 40.0, f64::from(j) * 2.0 * PI / 20.0);
            DVec3::new((1.0 + 0.3 * b.cos()) * a.cos(), 0.3 * b.sin(), (1.0 + 0.3 * b.cos()) * a.sin())
        };
        for i in 0..40 {
            for j in 0..20 {
                torus.push([at(i, j), at(i, j + 1), at(i + 1, j)]);
                torus.push([at(i + 1, j), at(i, j + 1), at(i + 1, j + 1)]);
            }
        }
        let effort = Effort::new(u64::MAX);
        let tree = Winding::new(torus.clone().into_iter());
        for k in 0..200 {
            let p =
                DVec3::new((1.3 * f64::from(k)).sin(), 0.5 * (2.1 * f64::from(k)).cos(), (0.7 * f64::from(k)).sin());
            let plain = torus.iter().map(|t| solid_angle(t, p)).sum::<f64>() / (4.0 * PI);
            assert!((tree.at(p, &effort) - plain).abs() < 0.02, "{k}: {} against {plain}", tree.at(p, &effort));
        }
    }

    /// Every triangle of a cube is near its middle; the count is that of the looks, and nothing is known once it is passed.
    #[test]
    fn effort_counts_the_triangles_near_every_point() {
        let cube = Winding::new(cube(0).into_iter());
        let effort = Effort::new(30);
        for k in 1..=3 {
            assert!((cube.at(DVec3::ZERO, &effort) - 1.0).abs() < 1e-9);
            assert_eq!((effort.seen(), effort.check().is_ok()), (12 * k, k < 3));
        }
        assert_eq!((cube.at(DVec3::ZERO, &effort), effort.seen()), (0.0, 36));
        assert_eq!(effort.check(), Err(Spent { near: 12 }));
        // From afar the cube is one dipole.
        let far = Effort::new(0);
        cube.at(DVec3::X * 40.0, &far);
        assert_eq!(far.check(), Ok(()));
    }
}
