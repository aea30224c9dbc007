//! The outer skin against unions in closed form.

use dermis_autorig::outer::Outer;
use dermis_autorig::winding::{Effort, Winding};
use dermis_rig::glam::DVec3;

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
    Outer::new(&nodes, &triangles, &winding, &Effort::new(u64::MAX)).unwrap()
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
