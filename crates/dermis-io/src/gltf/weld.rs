//! Welding: drawn vertices that a file had to split become one vertex again.
//!
//! Coinciding is not enough: lips that touch, a second shell, a sheet with two sides hold distinct vertices in one
//! place. What a split leaves behind is a crack: two border edges of the drawn mesh with the same end points. Vertices
//! are joined along such cracks only, and only where something drawn explains why the file could not share them: a normal, a texture
//! coordinate, a colour, another attribute, what a morph target does to any of these, the primitive, or flat faces that share
//! no vertex ([`facets`](super::facets)). What a morph target does to positions keeps vertices apart.

use super::facets::{join, top};
use std::cmp::Ordering;

/// Drawn vertices hung on welded ones.
pub(super) struct Weld {
    /// The welded vertex of each drawn vertex.
    pub source: Vec<u32>,
    /// The first drawn vertex of each welded vertex; ascending where the file does not state its vertices, so that without seams the
    /// order stays the file's.
    pub first: Vec<u32>,
}

/// Joins drawn vertices along cracks.
///
/// - `drawn`: number of drawn vertices, below 2³²
/// - `triangles`: over drawn vertices, all in range
/// - `order`: a total order of drawn vertices, equal where position, influences and morphs are the same
/// - `split`: whether something drawn explains that two vertices are not one
pub(super) fn weld(
    drawn: usize,
    triangles: &[[u32; 3]],
    order: impl Fn(u32, u32) -> Ordering,
    split: impl Fn(u32, u32) -> bool,
) -> Weld {
    let places = places(drawn, &order);
    // Edges as (place, place, vertex, vertex), the lower place first: cracks end up side by side.
    let mut edges: Vec<(u32, u32, u32, u32)> = Vec::with_capacity(triangles.len().saturating_mul(3));
    for &[a, b, c] in triangles {
        for (from, to) in [(a, b), (b, c), (c, a)] {
            match places[from as usize].cmp(&places[to as usize]) {
                Ordering::Less => edges.push((places[from as usize], places[to as usize], from, to)),
                Ordering::Greater => edges.push((places[to as usize], places[from as usize], to, from)),
                Ordering::Equal => {}
            }
        }
    }
    edges.sort_unstable();
    let mut above: Vec<u32> = (0..drawn as u32).collect();
    for crack in edges.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
        let mut last: Option<(u32, u32)> = None;
        for border in crack.chunk_by(|a, b| a == b).filter(|uses| uses.len() == 1) {
            let (_, _, a, b) = border[0];
            if let Some((other_a, other_b)) = last
                && ((a != other_a && split(a, other_a)) || (b != other_b && split(b, other_b)))
            {
                join(&mut above, a as usize, other_a as usize);
                join(&mut above, b as usize, other_b as usize);
            }
            last = Some((a, b));
        }
    }
    let mut made = Weld { source: vec![0; drawn], first: Vec::new() };
    for vertex in 0..drawn as u32 {
        let top = top(&mut above, vertex as usize);
        if top == vertex {
            made.source[vertex as usize] = made.first.len() as u32;
            made.first.push(vertex);
        } else {
            made.source[vertex as usize] = made.source[top as usize]; // the top is the lowest, so it came before
        }
    }
    made
}

/// Numbers from 0, equal where `order` says equal.
fn places(drawn: usize, order: &impl Fn(u32, u32) -> Ordering) -> Vec<u32> {
    let mut sorted: Vec<u32> = (0..drawn as u32).collect();
    sorted.sort_unstable_by(|&a, &b| order(a, b));
    let mut places = vec![0; drawn];
    for (place, same) in sorted.chunk_by(|&a, &b| order(a, b) == Ordering::Equal).enumerate() {
        for &vertex in same {
            places[vertex as usize] = place as u32;
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Corners of a unit cube, each face with four vertices of its own, facing outwards.
    fn hard_cube(triangles: &mut Vec<[u32; 3]>, places: &mut Vec<u32>) {
        for [a, b, c, d] in
            [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]] as [[u32; 4]; 6]
        {
            let at = places.len() as u32;
            places.extend([a, b, c, d]);
            triangles.extend([[at, at + 1, at + 2], [at, at + 2, at + 3]]);
        }
    }

    #[test]
    fn a_cube_with_hard_edges_has_eight_corners() {
        let (mut triangles, mut places) = (Vec::new(), Vec::new());
        hard_cube(&mut triangles, &mut places);
        let order = |a: u32, b: u32| places[a as usize].cmp(&places[b as usize]);
        let made = weld(24, &triangles, order, |_, _| true);
        assert_eq!(made.first.len(), 8);
        for (vertex, &source) in made.source.iter().enumerate() {
            assert_eq!(places[made.first[source as usize] as usize], places[vertex]);
        }
        assert_eq!(weld(24, &triangles, order, |_, _| false).first.len(), 24, "nothing drawn explains a split");
    }

    #[test]
    fn closed_shells_that_touch_stay_apart() {
        // Two tetrahedra in the same place, one inside out: every vertex coincides with another, no edge is a border.
        let tetrahedron = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]];
        let mut triangles = tetrahedron.to_vec();
        triangles.extend(tetrahedron.map(|[a, b, c]| [a + 4, c + 4, b + 4]));
        let made = weld(8, &triangles, |a, b| (a % 4).cmp(&(b % 4)), |_, _| true);
        assert_eq!(made.first, [0, 1, 2, 3, 4, 5, 6, 7]);
    }
}
