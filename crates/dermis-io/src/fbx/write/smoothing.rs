//! Which edges of a mesh are hard.

use std::collections::HashMap;

/// Normals closer than this are one: a twentieth of a degree, less than an exporter means by a hard edge and more than 32 bits lose.
const SAME: f64 = 1e-3;

/// The edges of polygons, each by its first corner among those of all polygons, and for each 1 if it is smooth, 0 if it is hard: its polygons
/// have different normals at an end. An edge of one polygon is smooth.
///
/// - `counts`: corners of each polygon
/// - `vertices`, `normals`: of each corner
pub(super) fn edges(counts: &[usize], vertices: &[u32], normals: &[[f64; 3]]) -> (Vec<i32>, Vec<i32>) {
    let differ = |a: [f64; 3], b: [f64; 3]| (0..3).map(|at| (a[at] - b[at]).powi(2)).sum::<f64>() > SAME * SAME;
    let (mut first, mut smooth) = (Vec::new(), Vec::new());
    // Of an edge its number, and the normals at its ends in the order of their vertices.
    let mut known: HashMap<[u32; 2], (usize, [[f64; 3]; 2])> = HashMap::new();
    let mut begin = 0;
    for count in counts {
        for at in 0..*count {
            let (from, to) = (begin + at, begin + (at + 1) % count);
            let (mut ends, mut own) = ([vertices[from], vertices[to]], [normals[from], normals[to]]);
            if ends[0] > ends[1] {
                ends.reverse();
                own.reverse();
            }
            match known.get(&ends) {
                Some((edge, others)) if differ(own[0], others[0]) || differ(own[1], others[1]) => smooth[*edge] = 0,
                Some(_) => {}
                None => {
                    known.insert(ends, (first.len(), own));
                    first.push(from as i32);
                    smooth.push(1);
                }
            }
        }
        begin += count;
    }
    (first, smooth)
}
