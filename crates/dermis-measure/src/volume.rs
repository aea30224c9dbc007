//! The volume a closed mesh encloses, and the radius of a ring of vertices.

use dermis_rig::Mesh;
use dermis_rig::glam::DVec3;

/// The signed volume of the tetrahedra that triangles span with one common point: `Σ (a − o) · (b − o) × (c − o) / 6`.
///
/// For a closed mesh it is the volume enclosed, positive if triangles run counter-clockwise seen from outside, and does
/// not depend on o; for an open one it means nothing. o is the first vertex used, which keeps rounding small far from
/// the origin.
///
/// # Panics
/// If a triangle names a vertex that does not exist ([`Mesh::check`] finds those).
pub fn volume(triangles: &[[u32; 3]], positions: &[DVec3]) -> f64 {
    let Some(first) = triangles.first() else { return 0.0 };
    let origin = positions[first[0] as usize];
    let tetrahedron = |corners: &[u32; 3]| {
        let [a, b, c] = corners.map(|corner| positions[corner as usize] - origin);
        a.dot(b.cross(c))
    };
    triangles.iter().map(tetrahedron).sum::<f64>() / 6.0
}

/// The volume of a mesh at rest; `None` if it is not closed or encloses nothing.
pub fn enclosed_volume(mesh: &Mesh) -> Option<f64> {
    let closed = mesh.check().is_ok() && mesh.is_closed();
    closed.then(|| volume(&mesh.triangles, &mesh.positions)).filter(|volume| *volume != 0.0)
}

/// The smallest ratio of a ring's radii: each vertex's distance from the centroid of the ring, posed over rest.
///
/// 1 means that nothing came nearer to the middle, 0 that some vertex collapsed into it. Vertices that are at the
/// centroid at rest have no ratio; `None` if none has.
///
/// # Panics
/// If the ring names a vertex that does not exist.
pub fn ring_radius_ratio(ring: impl IntoIterator<Item = usize>, rest: &[DVec3], posed: &[DVec3]) -> Option<f64> {
    let ring: Vec<usize> = ring.into_iter().collect();
    let centre = |of: &[DVec3]| ring.iter().map(|&v| of[v]).sum::<DVec3>() / ring.len() as f64;
    let (rest_centre, posed_centre) = (centre(rest), centre(posed));
    let ratios = ring.iter().filter_map(|&v| {
        let radius = rest[v].distance(rest_centre);
        (radius > 0.0).then(|| posed[v].distance(posed_centre) / radius)
    });
    ratios.reduce(f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tetrahedron(at: DVec3) -> Mesh {
        Mesh {
            positions: vec![at, at + DVec3::X, at + DVec3::Y, at + DVec3::Z],
            triangles: vec![[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]],
            ..Mesh::default()
        }
    }

    #[test]
    fn a_tetrahedron_has_a_sixth_of_its_cube_wherever_it_is() {
        for at in [DVec3::ZERO, DVec3::new(-7.0, 2.0, 1e6)] {
            let mut mesh = tetrahedron(at);
            assert!((volume(&mesh.triangles, &mesh.positions) - 1.0 / 6.0).abs() < 1e-9);
            mesh.triangles.iter_mut().for_each(|t| t.reverse());
            assert!((volume(&mesh.triangles, &mesh.positions) + 1.0 / 6.0).abs() < 1e-9);
        }
        assert_eq!(volume(&[], &[]), 0.0);
    }

    #[test]
    fn only_closed_meshes_enclose_a_volume() {
        let mut mesh = tetrahedron(DVec3::ONE);
        assert!((enclosed_volume(&mesh).unwrap() - 1.0 / 6.0).abs() < 1e-14);
        mesh.triangles.pop();
        assert_eq!(enclosed_volume(&mesh), None);
        let flat = Mesh { triangles: vec![[0, 1, 2], [0, 2, 1]], ..tetrahedron(DVec3::ZERO) };
        assert_eq!(enclosed_volume(&flat), None);
    }

    #[test]
    fn a_ring_is_as_thin_as_its_nearest_vertex() {
        let rest = [DVec3::X, DVec3::Y, -DVec3::X, -DVec3::Y];
        let squeezed = rest.map(|p| DVec3::new(3.0 + 2.0 * p.x, 0.25 * p.y, 1.0));
        assert_eq!(ring_radius_ratio(0..4, &rest, &squeezed), Some(0.25));
        assert_eq!(ring_radius_ratio(0..0, &rest, &squeezed), None);
        assert_eq!(ring_radius_ratio([1], &rest, &squeezed), None, "a point is no ring");
    }
}
