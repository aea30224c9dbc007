//! How a skin lies on a scan, point by point: what a picture of a pose shows.

use super::pairs::vertex_normals;
use crate::surface::Bordered;
use dermis_rig::glam::DVec3;
use rayon::prelude::*;

/// How a skin lies on a scan.
#[derive(Clone, Debug, PartialEq)]
pub struct Lie {
    /// Per vertex of the skin its distance from the scan; `None` where the scan does not show it: its closest point lies on the border of
    /// a hole, or faces another way.
    pub of_skin: Vec<Option<f64>>,
    /// Per vertex of the scan its distance from the skin; infinite where the closest point of the skin faces another way.
    pub of_scan: Vec<f64>,
}

/// The least cosine between normals that face the same way.
const FACING: f64 = 0.5;

impl Lie {
    /// Measures every vertex; `None` if one of the two has no triangle with an area.
    ///
    /// # Panics
    /// If a triangle names a vertex that does not exist.
    pub fn new(skin: (&[DVec3], &[[u32; 3]]), scan: (&[DVec3], &[[u32; 3]])) -> Option<Self> {
        let [on_skin, on_scan] = [skin, scan].map(|(positions, triangles)| Bordered::new(positions, triangles));
        Some(Self {
            of_skin: measure(skin, &on_scan?, |distance, faces, border| (faces && !border).then_some(distance)),
            of_scan: measure(scan, &on_skin?, |distance, faces, _| if faces { distance } else { f64::INFINITY }),
        })
    }
}

/// What `says` makes of the distance of every vertex, of whether the closest point faces the same way, and of whether it lies on a border.
fn measure<T: Send + Default>(
    (positions, triangles): (&[DVec3], &[[u32; 3]]),
    other: &Bordered,
    says: impl Fn(f64, bool, bool) -> T + Sync,
) -> Vec<T> {
    let normals = vertex_normals(triangles, positions);
    let one = |(&p, normal): (&DVec3, &DVec3)| {
        let Some(triangle) = other.closest(p, f64::INFINITY) else { return T::default() };
        let spot = other.on(triangle, p);
        says(p.distance(spot.point), spot.normal.dot(*normal) >= FACING, spot.border)
    };
    positions.par_iter().zip(&normals).map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A grid of 20 by 20 cells of length 0.1 in the plane z, without the cells that `is_hole` names.
    fn sheet(z: f64, is_hole: impl Fn(u32, u32) -> bool) -> (Vec<DVec3>, Vec<[u32; 3]>) {
        let positions = (0..21 * 21).map(|i| DVec3::new(f64::from(i % 21) * 0.1, f64::from(i / 21) * 0.1, z)).collect();
        let cells = (0..20).flat_map(|y| (0..20).map(move |x| (x, y))).filter(|(x, y)| !is_hole(*x, *y));
        let faces = cells.flat_map(|(x, y)| {
            let a = 21 * y + x;
            [[a, a + 1, a + 22], [a, a + 22, a + 21]]
        });
        (positions, faces.collect())
    }

    /// Closed form: a sheet 0.03 over another is that far from it, but over the hole nothing is known, and a sheet turned over faces
    /// another way everywhere.
    #[test]
    fn a_sheet_over_a_sheet_with_a_hole() {
        let skin = sheet(0.0, |_, _| false);
        let scan = sheet(0.03, |x, y| (8..12).contains(&x) && (8..12).contains(&y));
        let both = |scan: &(Vec<DVec3>, Vec<[u32; 3]>)| Lie::new((&skin.0, &skin.1), (&scan.0, &scan.1)).unwrap();
        let lie = both(&scan);
        for (p, found) in skin.0.iter().zip(&lie.of_skin) {
            let inner = |x: f64| x > 0.05 && x < 1.95;
            let in_hole = |x: f64| x > 0.75 && x < 1.25;
            let shown = inner(p.x) && inner(p.y) && !(in_hole(p.x) && in_hole(p.y));
            assert_eq!(found.is_some(), shown, "{p}");
            assert!(found.is_none_or(|d| (d - 0.03).abs() < 1e-12), "{p} {found:?}");
        }
        let used: Vec<bool> = (0..scan.0.len() as u32).map(|v| scan.1.iter().any(|t| t.contains(&v))).collect();
        let distances = lie.of_scan.iter().zip(used).filter(|(_, used)| *used);
        assert!(distances.map(|(d, _)| d).all(|d| (d - 0.03).abs() < 1e-12));
        let turned = (scan.0, scan.1.into_iter().map(|[a, b, c]| [a, c, b]).collect());
        let lie = both(&turned);
        assert!(lie.of_skin.iter().all(Option::is_none) && lie.of_scan.iter().all(|d| d.is_infinite()));
        assert!(Lie::new((&skin.0, &skin.1), (&[], &[])).is_none());
    }
}
