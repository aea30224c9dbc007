//! Normals of a deformed skin, in two ways.
//!
//! [`skinned_normal`] turns a rest normal by the blended matrix: `n' = normalise(sign(det A) cof(A) n)`, which for
//! det A ≠ 0 is the inverse transpose without a division. It ignores that the weights vary over the surface, so it is
//! exact only where they are locally constant. [`MeshNormals`] takes the normals of the deformed mesh itself, and is
//! what corrected shapes need.
//!
//! No function here returns NaN; where no normal is defined the answer is [`UNDEFINED_NORMAL`].

use crate::dual_quaternion::mirrors;
use crate::lbs::blend;
use dermis_rig::glam::{DMat3, DVec3, Vec3};
use dermis_rig::rotation::{cofactor, nearest_rotation};
use dermis_rig::skeleton::frobenius;
use dermis_rig::{BoneTransforms, Influences, MeshError, Rows};

/// The normal where there is none: a vertex without faces of positive area, a rest normal of length zero. Up, because
/// files and engines expect unit length.
pub const UNDEFINED_NORMAL: DVec3 = DVec3::Y;

/// The unit normal that a blended matrix makes of a rest normal: `normalise(sign(det A) cof(A) n)`.
///
/// - `normal`: rest normal, of any positive length
/// - `blended`: A, the 3x3 part of the blended matrix
/// - `dominant`: the 3x3 part of the dominant bone's matrix, used only where A leaves no normal
///
/// When |det A| ≤ 1e-9 |A|³ the sign is +1: a blend of rank two gives the normal of the plane it maps to. When also
/// |cof(A) n| ≤ 1e-9 |A|² |n|, the normal is turned by the dominant bone's rotation (its orthogonal polar factor, so a
/// bone that mirrors does so here too).
pub fn skinned_normal(normal: DVec3, blended: &DMat3, dominant: &DMat3) -> DVec3 {
    let Some(normal) = normal.try_normalize() else { return UNDEFINED_NORMAL };
    // Both limits are relative, so A may be scaled: its cofactors then neither overflow nor vanish.
    let a = scaled(blended).unwrap_or(DMat3::ZERO);
    let size = frobenius(&a);
    let turned = cofactor(&a) * normal;
    if turned.length() > 1e-9 * size * size {
        let sign = if mirrors(&a) { -1.0 } else { 1.0 };
        return (turned * sign).try_normalize().unwrap_or(normal);
    }
    let Some(dominant) = scaled(dominant) else { return normal };
    let orthogonal = if mirrors(&dominant) { -nearest_rotation(&-dominant) } else { nearest_rotation(&dominant) };
    (orthogonal * normal).try_normalize().unwrap_or(normal)
}

/// The matrix divided by its largest entry; `None` if that is zero or not finite.
fn scaled(a: &DMat3) -> Option<DMat3> {
    let largest = a.to_cols_array().into_iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    let made = *a * largest.recip();
    (a.is_finite() && made.is_finite() && largest > 0.0).then_some(made)
}

/// [`skinned_normal`] of every vertex under linear blend skinning.
///
/// # Panics
/// If `normals`, `weights` and `out` differ in number, or the weights name a bone that does not exist.
pub fn skinned_normals(normals: &[DVec3], weights: &Influences, transforms: &BoneTransforms, out: &mut [DVec3]) {
    assert_eq!(normals.len(), weights.vertices(), "normals and weights differ in number");
    crate::for_each_vertex(normals, out, |v, n| {
        let dominant = weights.dominant(v).map_or(DMat3::IDENTITY, |bone| transforms[bone].matrix3);
        skinned_normal(n, &blend(weights.of(v), transforms).matrix3, &dominant)
    });
}

/// Normals of a mesh, once: see [`MeshNormals`], which is for many shapes of one mesh.
///
/// # Errors
/// [`MeshError::IndexOutOfRange`] for a triangle with a vertex that does not exist.
///
/// # Panics
/// If `out` has another length than `positions`.
pub fn mesh_normals(triangles: &[[u32; 3]], positions: &[DVec3], out: &mut [DVec3]) -> Result<(), MeshError> {
    MeshNormals::new(triangles, positions.len())?.compute_f64(positions, out);
    Ok(())
}

/// Area-weighted vertex normals of a mesh with fixed triangles and moving vertices.
///
/// `n_v = normalise(Σ over triangles abc at v of (b − a) × (c − a))`: a face counts by its area, and one without area
/// not at all. A vertex whose sum vanishes or is not finite gets [`UNDEFINED_NORMAL`].
///
/// Every vertex gathers its own faces in ascending order, so the result does not depend on the number of threads.
#[derive(Clone, Debug)]
pub struct MeshNormals {
    triangles: Vec<[u32; 3]>,
    /// The faces at every vertex, ascending.
    faces: Rows<u32>,
}

impl MeshNormals {
    /// For a mesh of `vertices` vertices.
    ///
    /// # Errors
    /// [`MeshError::IndexOutOfRange`] for a triangle with a vertex that does not exist.
    pub fn new(triangles: &[[u32; 3]], vertices: usize) -> Result<Self, MeshError> {
        let mut pairs = Vec::with_capacity(3 * triangles.len());
        for (face, corners) in triangles.iter().enumerate() {
            if let Some(&corner) = corners.iter().find(|corner| **corner as usize >= vertices) {
                return Err(MeshError::IndexOutOfRange { face, vertex: corner as usize, vertices });
            }
            pairs.extend(corners.map(|corner| (corner, face as u32)));
        }
        Ok(Self { triangles: triangles.to_vec(), faces: Rows::by_row(vertices, pairs) })
    }

    /// Number of vertices.
    pub fn vertices(&self) -> usize {
        self.faces.len()
    }

    /// The unit normal of every vertex. Sums in `f64`, so meshes of any size keep their small faces.
    ///
    /// # Panics
    /// If `positions` or `out` has another number of vertices.
    pub fn compute(&self, positions: &[Vec3], out: &mut [Vec3]) {
        assert_eq!(positions.len(), self.vertices(), "the mesh has another number of vertices");
        crate::for_each_vertex(positions, out, |v, _| self.normal(v, |at| positions[at].as_dvec3()).as_vec3());
    }

    /// [`compute`](Self::compute) with memory for the faces' own normals, each of which is then computed once: the same
    /// bits, sooner.
    ///
    /// # Panics
    /// As [`compute`](Self::compute).
    pub fn compute_with(&self, positions: &[Vec3], faces: &mut Vec<DVec3>, out: &mut [Vec3]) {
        assert_eq!(positions.len(), self.vertices(), "the mesh has another number of vertices");
        faces.resize(self.triangles.len(), DVec3::ZERO);
        crate::for_each_vertex(&self.triangles, faces, |_, corners| {
            let [a, b, c] = corners.map(|corner| positions[corner as usize].as_dvec3());
            (b - a).cross(c - a)
        });
        let (own, faces) = (&self.faces, &*faces);
        crate::for_each_vertex(positions, out, |v, _| {
            let sum: DVec3 = own.of(v).iter().map(|&face| faces[face as usize]).sum();
            sum.try_normalize().unwrap_or(UNDEFINED_NORMAL).as_vec3()
        });
    }

    /// [`compute`](Self::compute) for `f64` positions.
    ///
    /// # Panics
    /// If `positions` or `out` has another number of vertices.
    pub fn compute_f64(&self, positions: &[DVec3], out: &mut [DVec3]) {
        assert_eq!(positions.len(), self.vertices(), "the mesh has another number of vertices");
        crate::for_each_vertex(positions, out, |v, _| self.normal(v, |at| positions[at]));
    }

    fn normal(&self, v: usize, position: impl Fn(usize) -> DVec3) -> DVec3 {
        let mut sum = DVec3::ZERO;
        for &face in self.faces.of(v) {
            let [a, b, c] = self.triangles[face as usize].map(|corner| position(corner as usize));
            sum += (b - a).cross(c - a);
        }
        sum.try_normalize().unwrap_or(UNDEFINED_NORMAL)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dermis_rig::BoneIndex;
    use dermis_rig::glam::{DAffine3, DQuat};

    const SOME_NORMAL: DVec3 = DVec3::new(0.6, -0.48, 0.64);

    fn regular() -> DMat3 {
        DMat3::from_cols(DVec3::new(1.0, 0.4, 0.1), DVec3::new(-0.3, 2.0, 0.2), DVec3::new(0.5, 0.1, 0.7))
    }

    /// Oracle: the inverse transpose.
    #[test]
    fn normals_are_those_of_the_inverse_transpose() {
        let mirrored = DMat3::from_diagonal(DVec3::new(1.0, -1.0, 1.0)) * regular();
        for (a, scale) in [(regular(), 1.0), (mirrored, 1.0), (regular(), 1e150), (mirrored, 1e-150)] {
            let expected = (a.inverse().transpose() * SOME_NORMAL).normalize();
            let got = skinned_normal(SOME_NORMAL * 7.0, &(a * scale), &DMat3::IDENTITY);
            assert!(got.abs_diff_eq(expected, 1e-14), "{got} {expected}");
        }
    }

    #[test]
    fn a_blend_of_rank_two_gives_the_normal_of_its_plane() {
        // Every point lands in the plane spanned by the first two columns.
        let (x, y) = (DVec3::new(1.0, 0.2, 0.0), DVec3::new(0.0, 1.0, 0.5));
        for third in [0.0, 1e-13, -1e-13] {
            let flat = DMat3::from_cols(x, y, x * 0.3 + y * 0.1 + x.cross(y) * third);
            let got = skinned_normal(DVec3::Z, &flat, &DMat3::IDENTITY);
            assert!(got.abs_diff_eq(x.cross(y).normalize(), 1e-12), "rounding does not flip it: {third}");
        }
    }

    #[test]
    fn a_blend_of_rank_one_falls_back_to_the_dominant_bone() {
        let line = DMat3::from_diagonal(DVec3::X);
        let turn = DMat3::from_quat(DQuat::from_axis_angle(DVec3::new(1.0, 2.0, 3.0).normalize(), 1.1));
        let stretched = turn * DMat3::from_diagonal(DVec3::new(2.0, 1.0, 0.5));
        assert!(skinned_normal(SOME_NORMAL, &line, &stretched).abs_diff_eq(turn * SOME_NORMAL, 1e-14));
        let mirror = DMat3::from_diagonal(DVec3::new(-1.0, 1.0, 1.0)) * turn;
        assert!(skinned_normal(SOME_NORMAL, &line, &mirror).abs_diff_eq(mirror * SOME_NORMAL, 1e-14));
        // The candy wrapper at 180 degrees, halfway: both bones weigh the same and bone 0 wins.
        let twist = BoneTransforms::new(vec![DAffine3::IDENTITY, DAffine3::from_rotation_x(std::f64::consts::PI)]);
        let half = Influences::from_rows([vec![(BoneIndex::new(0), 0.5), (BoneIndex::new(1), 0.5)]]).unwrap();
        let mut out = [DVec3::ZERO];
        skinned_normals(&[SOME_NORMAL], &half, &twist, &mut out);
        assert!(out[0].abs_diff_eq(SOME_NORMAL, 1e-15));
    }

    #[test]
    fn nothing_makes_a_normal_that_is_not_a_unit_vector() {
        let entries = [0.0, 1.0, -1e-300, 1e300, f64::NAN, f64::INFINITY];
        for (x, y) in entries.into_iter().flat_map(|x| entries.map(|y| (x, y))) {
            let matrix = DMat3::from_cols(DVec3::new(x, y, 0.0), DVec3::new(0.0, x, 1.0), DVec3::new(y, y, x));
            for normal in [SOME_NORMAL, DVec3::ZERO, DVec3::splat(x), DVec3::new(y, 0.0, 0.0)] {
                for (blended, dominant) in [(matrix, DMat3::ZERO), (DMat3::ZERO, matrix), (matrix, matrix)] {
                    let got = skinned_normal(normal, &blended, &dominant);
                    assert!((got.length() - 1.0).abs() < 1e-12, "{normal} {blended} {dominant}: {got}");
                }
            }
        }
    }

    /// A unit cube, each side two triangles, the diagonals chosen so that corners see unequal numbers of triangles.
    fn cube() -> (Vec<DVec3>, Vec<[u32; 3]>) {
        let corner = |at: u32| DVec3::new(f64::from(at & 1), f64::from(at >> 1 & 1), f64::from(at >> 2));
        let sides = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
        let triangles = sides.iter().flat_map(|&[a, b, c, d]| [[a, b, c], [a, c, d]]).collect();
        ((0..8).map(corner).collect(), triangles)
    }

    #[test]
    fn faces_count_by_area_and_empty_ones_not_at_all() {
        // Corner 1 of the cube: one half of z−, one half of y−, and both halves of x+, each half of area 1/2.
        let (positions, triangles) = cube();
        let mut normals = vec![DVec3::NAN; 8];
        mesh_normals(&triangles, &positions, &mut normals).unwrap();
        assert!(normals[1].abs_diff_eq(DVec3::new(2.0, -1.0, -1.0).normalize(), 1e-15), "{}", normals[1]);
        let mut with_empty = triangles.clone();
        with_empty.extend([[1, 1, 3], [5, 5, 5]]);
        let mut again = vec![DVec3::NAN; 8];
        mesh_normals(&with_empty, &positions, &mut again).unwrap();
        assert_eq!(again, normals);
    }

    #[test]
    fn vertices_without_a_normal_get_the_documented_one() {
        let lonely = vec![DVec3::ZERO, DVec3::X, DVec3::X * 2.0, DVec3::Z, DVec3::splat(f64::NAN)];
        let mut normals = vec![DVec3::NAN; 5];
        mesh_normals(&[[0, 1, 2], [0, 3, 4]], &lonely, &mut normals).unwrap();
        assert_eq!(normals, [UNDEFINED_NORMAL; 5]);
        let missing = MeshNormals::new(&[[0, 1, 5]], 5);
        assert!(matches!(missing, Err(MeshError::IndexOutOfRange { face: 0, vertex: 5, vertices: 5 })));
    }

    /// Oracle: the scalar sums, face after face, on one thread. `f32` positions give the same up to their rounding.
    #[test]
    fn gathering_in_parallel_gives_the_bits_of_adding_in_order() {
        let (columns, rows) = (67u32, 61u32);
        let at = |x: u32, y: u32| y * columns + x;
        let positions: Vec<Vec3> = (0..rows * columns)
            .map(|i| (i as f32 * 0.37, (i % columns) as f32))
            .map(|(t, x)| Vec3::new(x + 0.2 * t.sin(), t.cos(), t * 0.05))
            .collect();
        let triangles: Vec<[u32; 3]> = (0..rows - 1)
            .flat_map(|y| (0..columns - 1).map(move |x| (x, y)))
            .flat_map(|(x, y)| [[at(x, y), at(x + 1, y), at(x, y + 1)], [at(x, y + 1), at(x + 1, y), at(x + 1, y + 1)]])
            .collect();
        let wide: Vec<DVec3> = positions.iter().map(|p| p.as_dvec3()).collect();
        let mut sums = vec![DVec3::ZERO; wide.len()];
        for corners in &triangles {
            let [a, b, c] = corners.map(|corner| wide[corner as usize]);
            for corner in corners {
                sums[*corner as usize] += (b - a).cross(c - a);
            }
        }
        let expected: Vec<DVec3> = sums.iter().map(|n| n.normalize()).collect();
        let normals = MeshNormals::new(&triangles, wide.len()).unwrap();
        let mut got = vec![DVec3::NAN; wide.len()];
        normals.compute_f64(&wide, &mut got);
        assert_eq!(got, expected);
        let mut narrow = vec![Vec3::NAN; wide.len()];
        normals.compute(&positions, &mut narrow);
        assert!(narrow.iter().zip(&expected).all(|(n, e)| *n == e.as_vec3()));
        let mut faces_first = vec![Vec3::NAN; wide.len()];
        normals.compute_with(&positions, &mut vec![DVec3::NAN; 3], &mut faces_first);
        assert_eq!(faces_first, narrow);
    }
}
