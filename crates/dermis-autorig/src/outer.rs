//! The outer skin of a body: its triangles without the walls within it.
//!
//! Where shells pass through each other, such as an arm that is pushed into a shoulder, parts of them lie inside. What has the inside of the body on both
//! sides is a wall within it and bounds nothing. A triangle that is partly such a wall is cut in four, twice at most, and its pieces are judged by their
//! middles: the rim is then true to an eighth of an edge.
//!
//! Inside is where the generalised winding number is over one half ([`crate::winding`]), so the skin that is left is that of the union.

use crate::winding::Winding;
use dermis_rig::glam::DVec3;
use rayon::prelude::*;

/// The outer skin: corners, and triangles over them.
#[derive(Clone, Debug, Default)]
pub struct Outer {
    /// Corners of triangles.
    pub nodes: Vec<DVec3>,
    /// Triangles, outwards: whole ones first, then pieces of those that are walls in part.
    pub triangles: Vec<[u32; 3]>,
    /// Whole triangles.
    pub whole: usize,
    /// Triangles of the body that are walls within it, at least in part.
    pub walls: usize,
}

/// How far from a triangle its sides are judged, in parts of the body: below a finger's skin, above rounding.
const ASIDE: f64 = 2e-4;
/// Triangles with longer edges are judged at three corners more than their middle.
const LONG: f64 = 0.02;
/// Pieces with shorter edges are not cut.
const SHORT: f64 = 0.01;
/// How often a triangle is cut at most.
const CUTS: u32 = 2;

impl Outer {
    /// The outer skin of triangles, which are outwards; `winding` is theirs.
    pub fn new(nodes: &[DVec3], triangles: &[[u32; 3]], winding: &Winding) -> Self {
        // A corner is within the body if it is so on the side that its triangles face.
        let mut normals = vec![DVec3::ZERO; nodes.len()];
        for &[a, b, c] in triangles {
            let [p, q, r] = [a, b, c].map(|n| nodes[n as usize]);
            let normal = (q - p).cross(r - p);
            [a, b, c].iter().for_each(|n| normals[*n as usize] += normal);
        }
        let covered: Vec<bool> = nodes
            .par_iter()
            .zip(&normals)
            .map(|(p, normal)| winding.at(*p + normal.normalize_or_zero() * ASIDE) > 0.5)
            .collect();
        let kept: Vec<Kept> = triangles
            .par_iter()
            .map(|t| {
                let corners = t.map(|n| nodes[n as usize]);
                match longest(&corners) > LONG || t.iter().any(|n| covered[*n as usize]) {
                    false => Kept::Whole,
                    true => judged(winding, corners),
                }
            })
            .collect();
        let mut outer = Self { nodes: nodes.to_vec(), ..Self::default() };
        let whole = triangles.iter().zip(&kept).filter(|(_, kept)| matches!(kept, Kept::Whole));
        outer.triangles.extend(whole.map(|(t, _)| *t));
        outer.whole = outer.triangles.len();
        outer.walls = triangles.len() - outer.whole;
        for piece in kept.into_iter().flat_map(Kept::pieces) {
            let first = outer.nodes.len() as u32;
            outer.nodes.extend(piece);
            outer.triangles.push([first, first + 1, first + 2]);
        }
        outer
    }
}

/// What is left of a triangle.
enum Kept {
    Whole,
    Pieces(Vec<[DVec3; 3]>),
}

impl Kept {
    fn pieces(self) -> Vec<[DVec3; 3]> {
        match self {
            Self::Whole => Vec::new(),
            Self::Pieces(pieces) => pieces,
        }
    }
}

fn judged(winding: &Winding, corners: [DVec3; 3]) -> Kept {
    let mut pieces = Vec::new();
    match keep(winding, corners, CUTS, &mut pieces) {
        true => Kept::Whole,
        false => Kept::Pieces(pieces),
    }
}

/// Whether a triangle is outer skin as a whole; if it is not, its pieces that are have joined `pieces`.
fn keep(winding: &Winding, corners: [DVec3; 3], cuts: u32, pieces: &mut Vec<[DVec3; 3]>) -> bool {
    let [a, b, c] = corners;
    let Some(normal) = (b - a).cross(c - a).try_normalize() else { return true };
    let is_wall = |p: DVec3| [normal, -normal].iter().all(|n| winding.at(p + *n * ASIDE) > 0.5);
    let middle = (a + b + c) / 3.0;
    let wall = is_wall(middle);
    if cuts == 0 || longest(&corners) < SHORT {
        if !wall {
            pieces.push(corners);
        }
        return !wall;
    }
    if corners.iter().all(|p| is_wall(p.lerp(middle, 0.1)) == wall) {
        if !wall {
            pieces.push(corners);
        }
        return !wall;
    }
    let [d, e, f] = [a.midpoint(b), b.midpoint(c), c.midpoint(a)];
    let before = pieces.len();
    let mut whole = true;
    for piece in [[a, d, f], [d, b, e], [f, e, c], [d, e, f]] {
        whole &= keep(winding, piece, cuts - 1, pieces);
    }
    if whole {
        pieces.truncate(before);
        pieces.push(corners);
    }
    whole
}

fn longest([a, b, c]: &[DVec3; 3]) -> f64 {
    a.distance(*b).max(b.distance(*c)).max(c.distance(*a))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An axis-aligned box, outwards.
    fn cuboid(low: DVec3, high: DVec3, nodes: &mut Vec<DVec3>, triangles: &mut Vec<[u32; 3]>) {
        let first = nodes.len() as u32;
        for i in 0..8_u32 {
            let pick = |k: u32, a: f64, b: f64| if i >> k & 1 == 1 { b } else { a };
            nodes.push(DVec3::new(pick(0, low.x, high.x), pick(1, low.y, high.y), pick(2, low.z, high.z)));
        }
        for [a, b, c, d] in [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]] {
            triangles.extend([[a, b, c], [a, c, d]].map(|t| t.map(|n: u32| n + first)));
        }
    }

    fn area(outer: &Outer) -> f64 {
        let one = |t: &[u32; 3]| {
            let [a, b, c] = t.map(|n| outer.nodes[n as usize]);
            0.5 * (b - a).cross(c - a).length()
        };
        outer.triangles.iter().map(one).sum()
    }

    fn skin(boxes: &[(DVec3, DVec3)]) -> Outer {
        let (mut nodes, mut triangles) = (Vec::new(), Vec::new());
        for (low, high) in boxes {
            cuboid(*low, *high, &mut nodes, &mut triangles);
        }
        let winding = Winding::new(triangles.iter().map(|t| t.map(|n| nodes[n as usize])));
        Outer::new(&nodes, &triangles, &winding)
    }

    /// Closed form: the area of a union of boxes. The rim of a piece is at most an eighth of the diagonal of a face away.
    #[test]
    fn the_skin_of_a_union_is_left() {
        let v = DVec3::new;
        let apart = skin(&[(v(0.0, 0.0, 0.0), v(0.4, 0.4, 0.4)), (v(0.5, 0.0, 0.0), v(0.9, 0.4, 0.4))]);
        assert_eq!((apart.walls, apart.triangles.len()), (0, 24));
        // A box within a box is all wall.
        let within = skin(&[(v(0.0, 0.0, 0.0), v(0.9, 0.9, 0.9)), (v(0.3, 0.3, 0.3), v(0.5, 0.5, 0.5))]);
        assert_eq!((within.walls, within.triangles.len()), (12, 12));
        // A bar of width 0.2 half way into a cube of side 0.6: the union has 6·0.36 + 4·0.2·0.3; what goes in and what covers it are gone.
        let bar = skin(&[(v(0.0, 0.0, 0.0), v(0.6, 0.6, 0.6)), (v(0.3, 0.2, 0.2), v(0.9, 0.4, 0.4))]);
        let union = 6.0 * 0.36 + 4.0 * 0.2 * 0.3;
        assert!((area(&bar) - union).abs() < 0.12, "{} against {union}", area(&bar));
        // Without leaving walls out there would be 0.64 of area more on this side of the rim, and 0.16 on the other.
        let all = 6.0 * 0.36 + 2.0 * 0.04 + 4.0 * 0.12;
        assert!((all - union) > 0.3);
    }
}
