//! The outer skin of a body: its triangles without the walls within it.
//!
//! Where shells pass through each other, such as an arm that is pushed into a shoulder, parts of them lie inside. What has the inside of the body on both
//! sides is a wall within it and bounds nothing. A triangle that is partly such a wall is cut in four, twice at most, and its pieces are judged by their
//! middles: the rim is then true to an eighth of an edge.
//!
//! Inside is where the generalised winding number is over one half ([`crate::winding`]), so the skin that is left is that of the union.

use crate::winding::{Effort, Spent, Winding};
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
    ///
    /// # Errors
    /// [`Spent`] if it takes more than the effort.
    pub fn new(nodes: &[DVec3], triangles: &[[u32; 3]], winding: &Winding, effort: &Effort) -> Result<Self, Spent> {
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
            .map(|(p, normal)| winding.at(*p + normal.normalize_or_zero() * ASIDE, effort) > 0.5)
            .collect();
        let kept: Vec<Kept> = triangles
            .par_iter()
            .map(|t| {
                let corners = t.map(|n| nodes[n as usize]);
                match longest(&corners) > LONG || t.iter().any(|n| covered[*n as usize]) {
                    false => Kept::Whole,
                    true => judged((winding, effort), corners),
                }
            })
            .collect();
        effort.check()?;
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
        Ok(outer)
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

fn judged(winding: (&Winding, &Effort), corners: [DVec3; 3]) -> Kept {
    let mut pieces = Vec::new();
    match keep(winding, corners, CUTS, &mut pieces) {
        true => Kept::Whole,
        false => Kept::Pieces(pieces),
    }
}

/// Whether a triangle is outer skin as a whole; if it is not, its pieces that are have joined `pieces`.
fn keep((winding, effort): (&Winding, &Effort), corners: [DVec3; 3], cuts: u32, pieces: &mut Vec<[DVec3; 3]>) -> bool {
    let [a, b, c] = corners;
    let Some(normal) = (b - a).cross(c - a).try_normalize() else { return true };
    let is_wall = |p: DVec3| [normal, -normal].iter().all(|n| winding.at(p + *n * ASIDE, effort) > 0.5);
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
        whole &= keep((winding, effort), piece, cuts - 1, pieces);
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
