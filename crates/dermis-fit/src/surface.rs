//! A triangle surface that answers two questions: which of its points is closest, and does a segment pass through it.
//!
//! A tree of bounding boxes over the triangles, halved at the median along the longest side, so its depth is the
//! logarithm of their number whatever their shape. The boxes of triangles that share a corner all hold it, so a segment
//! finds those around a vertex with many of them by direction instead (`surface/fan.rs`). Triangles may be degenerate: without area
//! they are their longest edge, without length a point. Answers never depend on the order in which boxes are visited: of
//! equally close points, also but for rounding, the one with the lower triangle index wins.

mod bordered;
mod fan;

pub(crate) use bordered::{Bordered, Spot};

use dermis_rig::glam::DVec3;
use fan::Fan;
use std::collections::BTreeMap;

/// Triangles in trees of boxes.
#[derive(Clone, Debug)]
pub struct Surface {
    /// Those of no fan.
    plain: Tree,
    /// Those of all fans.
    fanned: Tree,
    fans: Vec<Fan>,
    /// The boxes of the fans, named by their indices.
    around_fans: Tree,
}

/// Triangles in a tree of boxes.
#[derive(Clone, Debug, Default)]
struct Tree {
    corners: Vec<[DVec3; 3]>,
    /// The index that the caller knows each of `corners` by.
    names: Vec<u32>,
    boxes: Vec<Node>,
    /// A squared distance that is nothing but rounding.
    touching: f64,
}

/// A box and what is in it: triangles `start..start + count`, or, if `count` is zero, the boxes behind it and at `start`.
#[derive(Clone, Copy, Debug)]
struct Node {
    low: DVec3,
    high: DVec3,
    start: u32,
    count: u32,
}

/// The point of a surface that is closest to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Closest {
    /// The point.
    pub point: DVec3,
    /// Its squared distance.
    pub distance_squared: f64,
    /// The triangle it lies on, by its index among those given.
    pub triangle: usize,
    /// Where on the triangle.
    pub place: Place,
}

/// A place on a triangle: the Voronoi region that the other point lies in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Within.
    Face,
    /// On the edge from this corner to the next.
    Edge(usize),
    /// At this corner.
    Corner(usize),
}

impl Closest {
    /// Barycentric coordinates of the point on its triangle, whose corners these are: never negative, and of sum one.
    pub fn shares(&self, &[a, b, c]: &[DVec3; 3]) -> [f64; 3] {
        let mut shares = [0.0; 3];
        match self.place {
            Place::Corner(k) => shares[k] = 1.0,
            Place::Edge(k) => {
                let (from, to) = ([a, b, c][k], [b, c, a][k]);
                let t = ((self.point - from).dot(to - from) / (to - from).length_squared()).clamp(0.0, 1.0);
                (shares[k], shares[(k + 1) % 3]) = (1.0 - t, t);
            }
            Place::Face => {
                let normal = (b - a).cross(c - a);
                let square = normal.length_squared();
                let opposite = |from: DVec3, to: DVec3| (to - from).cross(self.point - from).dot(normal) / square;
                let v = opposite(c, a).clamp(0.0, 1.0);
                let w = opposite(a, b).clamp(0.0, 1.0 - v);
                shares = [1.0 - v - w, v, w];
            }
        }
        shares
    }
}

/// Squared distances that differ by less, in parts of themselves, are equal.
const EQUAL: f64 = 1e-9;
/// The distance, in parts of the box around all, below which a point lies on the surface.
const TOUCHING: f64 = 1e-10;
/// Triangles in a leaf.
const LEAF: usize = 4;

impl Surface {
    /// The surface of these triangles. Those with a corner that is not finite are left out.
    ///
    /// # Panics
    /// If a triangle names a vertex that does not exist ([`Mesh::check`](dermis_rig::Mesh::check) finds those).
    pub fn new(positions: &[DVec3], triangles: &[[u32; 3]]) -> Self {
        let mut valence = vec![0_u32; positions.len()];
        triangles.iter().flatten().for_each(|corner| valence[*corner as usize] += 1);
        let (mut plain, mut fanned, mut hubs) = (Vec::new(), Vec::new(), BTreeMap::<u32, Vec<_>>::new());
        for (name, triangle) in (0_u32..).zip(triangles) {
            let corners = triangle.map(|corner| positions[corner as usize]);
            if !corners.iter().all(|c| c.is_finite()) {
                continue;
            }
            // Of corners with equally many triangles the first one is the hub.
            let hub = (0..3).rev().max_by_key(|k| valence[triangle[*k] as usize]).unwrap_or(0);
            if valence[triangle[hub] as usize] < fan::LEAST {
                plain.push((name, corners));
            } else {
                fanned.push((name, corners));
                hubs.entry(triangle[hub]).or_default().push((name, corners, hub));
            }
        }
        let fans: Vec<Fan> = hubs.values().map(|triangles| Fan::new(triangles)).collect();
        let around_fans = (0..).zip(&fans).map(|(name, fan)| (name, fan.bounds())).collect();
        Self { plain: Tree::new(plain), fanned: Tree::new(fanned), fans, around_fans: Tree::new(around_fans) }
    }

    /// Whether there is no triangle.
    pub fn is_empty(&self) -> bool {
        self.plain.boxes.is_empty() && self.fanned.boxes.is_empty()
    }

    /// The closest point within `limit`; `None` if there is none, or if `p` is not finite.
    pub fn closest(&self, p: DVec3, limit: f64) -> Option<Closest> {
        self.least(p, limit, |closest| closest.distance_squared).map(|(closest, _)| closest)
    }

    /// The closest points of the triangles within `limit` compete by a `cost` that is never below their squared distance; the one with
    /// the least finite cost, and that cost.
    pub fn least(&self, p: DVec3, limit: f64, cost: impl Fn(&Closest) -> f64) -> Option<(Closest, f64)> {
        let mut best: Option<(Closest, f64)> = None;
        for tree in [&self.plain, &self.fanned] {
            tree.least(p, limit * limit, &cost, &mut best);
        }
        best
    }

    /// Whether the segment from `from` to `to` meets a triangle that `counts`, its ends left out (1e-9 of its length).
    pub fn crosses(&self, from: DVec3, to: DVec3, counts: impl Fn(usize) -> bool) -> bool {
        let along = to - from;
        if !along.is_finite() {
            return false;
        }
        let pierced = |corners: &[DVec3; 3], name: u32| pierces(from, along, corners) && counts(name as usize);
        let meets = |node: &Node| node.meets(from, along);
        self.plain.any(|_, node| meets(node), pierced)
            || self.around_fans.any(|_, node| meets(node), |_, fan| self.fans[fan as usize].any(from, along, pierced))
    }
}

impl Tree {
    fn new(mut named: Vec<(u32, [DVec3; 3])>) -> Self {
        let mut boxes = Vec::with_capacity(named.len());
        if !named.is_empty() {
            halve(&mut named, 0, &mut boxes);
        }
        let (names, corners) = named.into_iter().unzip();
        let size = boxes.first().map_or(0.0, |root: &Node| root.high.distance(root.low));
        Self { corners, names, boxes, touching: (TOUCHING * size).powi(2) }
    }

    /// The triangles of a box and of all boxes in it.
    fn below(&self, at: usize) -> std::ops::Range<usize> {
        let (mut first, mut last) = (at, at);
        while self.boxes[first].count == 0 {
            first += 1;
        }
        while self.boxes[last].count == 0 {
            last = self.boxes[last].start as usize;
        }
        self.boxes[first].start as usize..self.boxes[last].triangles().end
    }

    /// Whether `found` holds for a triangle that no box hides: boxes that fail `enters`, called with their index, are
    /// passed over.
    fn any(&self, enters: impl Fn(usize, &Node) -> bool, found: impl Fn(&[DVec3; 3], u32) -> bool) -> bool {
        let mut open: Vec<u32> = Vec::with_capacity(64);
        if !self.boxes.is_empty() {
            open.push(0);
        }
        while let Some(at) = open.pop() {
            let node = &self.boxes[at as usize];
            if !enters(at as usize, node) {
                continue;
            }
            if node.count == 0 {
                open.extend([at + 1, node.start]);
            } else if node.triangles().any(|t| found(&self.corners[t], self.names[t])) {
                return true;
            }
        }
        false
    }

    /// Replaces `best` if a triangle within the squared distance `limit` costs less, or as much with a lower index.
    fn least(&self, p: DVec3, limit: f64, cost: &impl Fn(&Closest) -> f64, best: &mut Option<(Closest, f64)>) {
        let mut open: Vec<(u32, f64)> = Vec::with_capacity(64);
        if let Some(root) = self.boxes.first().filter(|_| p.is_finite()) {
            open.push((0, root.distance_squared(p)));
        }
        while let Some((at, distance)) = open.pop() {
            // Equal distances are followed up: the lowest triangle among them is the answer.
            let within = best.map_or(limit, |(_, least)| least.min(limit));
            if distance > within * (1.0 + EQUAL) + self.touching {
                continue;
            }
            let node = self.boxes[at as usize];
            if node.count == 0 {
                let [left, right] = [at + 1, node.start].map(|c| (c, self.boxes[c as usize].distance_squared(p)));
                let nearer_last = if left.1 <= right.1 { [right, left] } else { [left, right] };
                open.extend(nearer_last);
                continue;
            }
            for t in node.triangles() {
                let (point, place) = closest_on_triangle(p, &self.corners[t]);
                let (distance_squared, triangle) = (point.distance_squared(p), self.names[t] as usize);
                let found = Closest { point, distance_squared, triangle, place };
                let found_cost = cost(&found);
                // As close but for rounding, which depends on how the surface stands, is as close. On the surface itself all is rounding.
                let is_less = match best {
                    None => distance_squared <= limit && found_cost.is_finite(),
                    Some((b, least)) if triangle < b.triangle => found_cost <= *least * (1.0 + EQUAL) + self.touching,
                    Some((_, least)) => found_cost < *least * (1.0 - EQUAL) - self.touching,
                };
                if is_less {
                    *best = Some((found, found_cost));
                }
            }
        }
    }
}

impl Node {
    fn triangles(&self) -> std::ops::Range<usize> {
        self.start as usize..(self.start + self.count) as usize
    }
    /// The largest dot product of a point of the box with a vector.
    fn reach(&self, way: DVec3) -> f64 {
        (self.low * way).max(self.high * way).element_sum()
    }
    fn distance_squared(&self, p: DVec3) -> f64 {
        p.clamp(self.low, self.high).distance_squared(p)
    }
    /// Whether the segment reaches into the box, which is taken a little larger: what rounding could cut off is kept.
    fn meets(&self, from: DVec3, along: DVec3) -> bool {
        let slack = DVec3::splat(1e-12 * (along.abs().max_element() + (self.high - self.low).max_element()));
        let (low, high) = (self.low - slack, self.high + slack);
        let (mut enter, mut leave) = (0.0_f64, 1.0_f64);
        for axis in 0..3 {
            if along[axis] == 0.0 {
                if from[axis] < low[axis] || from[axis] > high[axis] {
                    return false;
                }
                continue;
            }
            let (a, b) = ((low[axis] - from[axis]) / along[axis], (high[axis] - from[axis]) / along[axis]);
            (enter, leave) = (enter.max(a.min(b)), leave.min(a.max(b)));
        }
        enter <= leave
    }
}

/// Puts triangles into boxes, depth first: the first half follows its parent, the second is named by it.
fn halve(triangles: &mut [(u32, [DVec3; 3])], first: u32, boxes: &mut Vec<Node>) {
    let start = (DVec3::INFINITY, DVec3::NEG_INFINITY);
    let all = triangles.iter().flat_map(|(_, corners)| corners);
    let (low, high) = all.fold(start, |(low, high), c| (low.min(*c), high.max(*c)));
    let at = boxes.len();
    boxes.push(Node { low, high, start: first, count: triangles.len() as u32 });
    if triangles.len() <= LEAF {
        return;
    }
    let size = high - low;
    let axis = if size.x >= size.y.max(size.z) { 0 } else { 1 + usize::from(size.z > size.y) };
    let middle = triangles.len() / 2;
    // Thirds of the corners, so that no sum overflows.
    let centre = |corners: &[DVec3; 3]| corners.iter().map(|c| c[axis] / 3.0).sum::<f64>();
    triangles.select_nth_unstable_by(middle, |a, b| centre(&a.1).total_cmp(&centre(&b.1)).then(a.0.cmp(&b.0)));
    let (left, right) = triangles.split_at_mut(middle);
    halve(left, first, boxes);
    boxes[at] = Node { low, high, start: boxes.len() as u32, count: 0 };
    halve(right, first + middle as u32, boxes);
}

/// The point of a triangle closest to `p`, and the region it lies in.
///
/// Source: Ericson 2005, Real-Time Collision Detection, 5.1.5. Where rounding leaves the face without an inside, its three
/// edges are asked instead.
pub fn closest_on_triangle(p: DVec3, &[a, b, c]: &[DVec3; 3]) -> (DVec3, Place) {
    let (ab, ac, ap) = (b - a, c - a, p - a);
    let (d1, d2) = (ab.dot(ap), ac.dot(ap));
    if d1 <= 0.0 && d2 <= 0.0 {
        return (a, Place::Corner(0));
    }
    let bp = p - b;
    let (d3, d4) = (ab.dot(bp), ac.dot(bp));
    if d3 >= 0.0 && d4 <= d3 {
        return (b, Place::Corner(1));
    }
    let cp = p - c;
    let (d5, d6) = (ab.dot(cp), ac.dot(cp));
    if d6 >= 0.0 && d5 <= d6 {
        return (c, Place::Corner(2));
    }
    // Areas of the three triangles that p makes with the edges, relative to the whole.
    let (va, vb, vc) = (d3 * d6 - d5 * d4, d5 * d2 - d1 * d6, d1 * d4 - d3 * d2);
    let whole = va + vb + vc;
    let flat = whole <= 1e-14 * ab.length_squared() * ac.length_squared();
    if !flat && va > 0.0 && vb > 0.0 && vc > 0.0 {
        return (a + ab * (vb / whole) + ac * (vc / whole), Place::Face);
    }
    let edges = [(a, b), (b, c), (c, a)];
    let closest = edges.map(|(from, to)| closest_on_segment(p, from, to));
    let distance = |edge: &usize| closest[*edge].0.distance_squared(p);
    let edge = (0..3).min_by(|x, y| distance(x).total_cmp(&distance(y))).unwrap_or(0);
    let (point, t) = closest[edge];
    match t {
        0.0 => (point, Place::Corner(edge)),
        1.0 => (point, Place::Corner((edge + 1) % 3)),
        _ => (point, Place::Edge(edge)),
    }
}

/// The point of a segment closest to `p`, and how far along it lies, in 0..=1. A segment without length is its start.
pub fn closest_on_segment(p: DVec3, from: DVec3, to: DVec3) -> (DVec3, f64) {
    let along = to - from;
    let t = (p - from).dot(along) / along.length_squared();
    match t {
        t if t >= 1.0 => (to, 1.0),
        t if t > 0.0 => (from + along * t, t),
        _ => (from, 0.0), // NaN as well
    }
}

/// A triangle whose normal ab × ac is this close to perpendicular to a segment, relative to all three lengths, is parallel to it.
const PARALLEL: f64 = 1e-14;

/// Whether a segment passes through a triangle, edges included, the segment's ends not. Möller & Trumbore 1997.
fn pierces(from: DVec3, along: DVec3, &[a, b, c]: &[DVec3; 3]) -> bool {
    const EDGE: f64 = 1e-9;
    let (ab, ac) = (b - a, c - a);
    let h = along.cross(ac);
    let determinant = ab.dot(h);
    if determinant.abs() <= PARALLEL * ab.length() * ac.length() * along.length() {
        return false; // parallel, or no triangle
    }
    let s = from - a;
    let u = s.dot(h) / determinant;
    let q = s.cross(ab);
    let v = along.dot(q) / determinant;
    let t = ac.dot(q) / determinant;
    u >= -EDGE && v >= -EDGE && u + v <= 1.0 + EDGE && t > EDGE && t < 1.0 - EDGE
}

#[cfg(test)]
mod tests {
    use super::*;
    use dermis_testkit::Random;

    /// Random triangles, every fifth a sliver, every seventh without area, every eleventh a point.
    fn soup(random: &mut Random, count: usize, size: f64) -> (Vec<DVec3>, Vec<[u32; 3]>) {
        let mut positions = Vec::new();
        for t in 0..count {
            let a = random.direction() * random.between(0.0, 1.0);
            let mut b = a + random.direction() * 0.2;
            let mut c = a + random.direction() * 0.2;
            match t {
                _ if t % 11 == 0 => (b, c) = (a, a),
                _ if t % 7 == 0 => c = a + (b - a) * random.between(-1.0, 2.0),
                _ if t % 5 == 0 => c = b + random.direction() * 1e-9,
                _ => {}
            }
            positions.extend([a, b, c].map(|p| p * size));
        }
        (positions, (0..count as u32).map(|t| [3 * t, 3 * t + 1, 3 * t + 2]).collect())
    }

    /// The closest point by projected gradient over barycentric coordinates: another algorithm, of limited precision.
    fn descend(p: DVec3, &[a, b, c]: &[DVec3; 3]) -> DVec3 {
        let mut w = [1.0 / 3.0; 3];
        let size = [a, b, c].iter().map(|x| x.distance_squared(a)).sum::<f64>().max(f64::MIN_POSITIVE);
        for _ in 0..20_000 {
            let x = a * w[0] + b * w[1] + c * w[2];
            let step = [a, b, c].map(|corner| (p - x).dot(corner - a) / (2.0 * size));
            // The projection onto the simplex of three: subtract the mean, drop what is negative, again.
            let mut moved = [w[0] + step[0], w[1] + step[1], w[2] + step[2]];
            let mut sorted = moved;
            sorted.sort_by(|x, y| y.total_cmp(x));
            let shift = (1..=3)
                .rev()
                .map(|n| ((sorted[..n].iter().sum::<f64>() - 1.0) / n as f64, sorted[n - 1]))
                .find(|(shift, last)| last - shift > 0.0)
                .map_or(0.0, |(shift, _)| shift);
            moved = moved.map(|m| (m - shift).max(0.0));
            w = moved;
        }
        a * w[0] + b * w[1] + c * w[2]
    }

    #[test]
    fn the_closest_point_of_a_triangle_agrees_with_descent() {
        let mut random = Random::new(11);
        let (positions, triangles) = soup(&mut random, 60, 1.0);
        for corners in triangles.iter().map(|t| t.map(|c| positions[c as usize])) {
            let p = corners[0] + random.direction() * 0.3;
            let (found, _) = closest_on_triangle(p, &corners);
            let other = descend(p, &corners);
            // Descent stops a little above the minimum.
            assert!((found.distance(p) - other.distance(p)).abs() < 1e-6, "{corners:?} {p}");
            assert!(found.distance(p) <= other.distance(p) + 1e-12);
        }
    }

    /// Oracle: every triangle in turn. Tiny and huge meshes, slivers, lines and points.
    #[test]
    fn the_tree_agrees_with_every_triangle_in_turn() {
        for (seed, size) in [(1, 1.0), (2, 1e-7), (3, 1e7)] {
            let mut random = Random::new(seed);
            let (positions, triangles) = soup(&mut random, 700, size);
            let surface = Surface::new(&positions, &triangles);
            for _ in 0..200 {
                let p = random.direction() * random.between(0.0, 2.0) * size;
                let corners = |t: &[u32; 3]| t.map(|c| positions[c as usize]);
                let distances = triangles.iter().map(|t| closest_on_triangle(p, &corners(t)).0.distance_squared(p));
                let (best, least) = distances.enumerate().min_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
                let found = surface.closest(p, f64::INFINITY).unwrap();
                assert_eq!((found.triangle, found.distance_squared), (best, least), "seed {seed}");
                assert!(found.point.is_finite());
                assert!(surface.closest(p, 0.99 * least.sqrt()).is_none());
                let q = random.direction() * size;
                let crossed = |t: usize| pierces(p, q - p, &corners(&triangles[t]));
                assert_eq!(surface.crosses(p, q, |_| true), (0..700).any(crossed), "seed {seed}");
                assert!(!surface.crosses(p, q, |_| false));
            }
        }
    }

    #[test]
    fn every_region_is_named() {
        let corners = [DVec3::ZERO, DVec3::X, DVec3::Y];
        for (p, point, place) in [
            (DVec3::new(0.25, 0.5, 5.0), DVec3::new(0.25, 0.5, 0.0), Place::Face),
            (DVec3::new(-1.0, -2.0, 1.0), DVec3::ZERO, Place::Corner(0)),
            (DVec3::new(3.0, 0.5, 0.0), DVec3::X, Place::Corner(1)),
            (DVec3::new(0.1, 4.0, -1.0), DVec3::Y, Place::Corner(2)),
            (DVec3::new(0.25, -1.0, 0.0), DVec3::new(0.25, 0.0, 0.0), Place::Edge(0)),
            (DVec3::new(1.0, 1.0, 2.0), DVec3::new(0.5, 0.5, 0.0), Place::Edge(1)),
            (DVec3::new(-1.0, 0.75, 2.0), DVec3::new(0.0, 0.75, 0.0), Place::Edge(2)),
        ] {
            assert_eq!(closest_on_triangle(p, &corners), (point, place));
        }
    }

    #[test]
    fn nothing_and_nan_have_no_closest_point() {
        let empty = Surface::new(&[], &[]);
        assert!(empty.is_empty() && empty.closest(DVec3::ZERO, 1.0).is_none());
        assert!(!empty.crosses(DVec3::ZERO, DVec3::X, |_| true));
        let bad = Surface::new(&[DVec3::NAN, DVec3::X, DVec3::Y, DVec3::ZERO], &[[0, 1, 2], [1, 2, 3]]);
        assert_eq!(bad.closest(DVec3::Z, 9.0).map(|c| c.triangle), Some(1));
        assert!(bad.closest(DVec3::NAN, 9.0).is_none());
    }

    #[test]
    fn a_segment_along_the_surface_or_ending_on_it_does_not_cross_it() {
        let square = [DVec3::ZERO, DVec3::X, DVec3::X + DVec3::Y, DVec3::Y];
        let surface = Surface::new(&square, &[[0, 1, 2], [0, 2, 3]]);
        let middle = DVec3::new(0.5, 0.5, 0.0); // on the shared edge
        assert!(surface.crosses(middle + DVec3::Z, middle - DVec3::Z, |_| true));
        assert!(!surface.crosses(middle + DVec3::Z, middle, |_| true));
        assert!(!surface.crosses(middle, middle + DVec3::Z, |_| true));
        assert!(!surface.crosses(DVec3::ZERO, middle, |_| true));
    }
}
