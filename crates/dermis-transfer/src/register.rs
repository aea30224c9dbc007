//! One skin laid onto another, so that closest points are counterparts.
//!
//! ```text
//! V ← V + (C + λ² L)⁻¹ C (q − V),     C = diag( area · max(0, cos)² ),     λ = 10, 5, 2.5 cm, four steps each
//! ```
//!
//! q is the point of the body that a vertex belongs to as in [`operator`](crate::operator), cos that of the angle between the two normals, and
//! L the cotangent Laplacian of the mesh as it stands. The first steps move the skin as a whole, the last ones its details.
//!
//! Marked pairs of vertices hold: C of such a vertex is a tenth of the whole area, and its q the body vertex.

use crate::body::{Body, welded_normals};
use crate::error::TransferError;
use crate::islands::place_of;
use crate::operator::laplacian;
use dermis_rig::Mesh;
use dermis_rig::glam::DVec3;
use dermis_rig::mesh::vertex_areas;
use dermis_solve::sparse::{SolveMemory, SparseFactor};
use rayon::prelude::*;

/// λ, metres on a body of usual size, each for [`STEPS`] steps.
const STIFFNESS: [f64; 3] = [0.1, 0.05, 0.025];
const STEPS: usize = 4;
/// α of the matches, metres on a body of usual size.
const ALPHA: f64 = 0.03;
/// What a vertex without trust is held by, a part of the mean area.
const LEAST: f64 = 1e-4;
/// The part of the whole area that a marked pair counts.
const MARKED: f64 = 0.1;

/// The positions of a mesh laid onto a body beside which it stands.
///
/// - `marked`: vertices of the mesh with the vertices of the body that they are
///
/// # Errors
/// [`TransferError::EmptyMesh`], [`TransferError::NotFinite`], [`TransferError::Marked`] for a vertex that is not there,
/// [`TransferError::Solve`].
pub fn laid_onto(body: &Body, mesh: &Mesh, marked: &[(u32, u32)]) -> Result<Vec<DVec3>, TransferError> {
    let count = mesh.positions.len();
    if count == 0 {
        return Err(TransferError::EmptyMesh);
    }
    if let Some(vertex) = mesh.positions.iter().position(|p| !p.is_finite()) {
        return Err(TransferError::NotFinite { vertex });
    }
    for &(own, of_body) in marked {
        if own as usize >= count || of_body as usize >= body.vertices() {
            return Err(TransferError::Marked { mesh: own, body: of_body });
        }
    }
    let place = place_of(mesh);
    let triangles: Vec<[u32; 3]> = mesh.triangles.iter().map(|t| t.map(|corner| place[corner as usize])).collect();
    let places: Vec<u32> = (0..count as u32).filter(|v| place[*v as usize] == *v).collect();
    let mut at = mesh.positions.clone();
    for stiffness in STIFFNESS {
        for _ in 0..STEPS {
            step(body, (&mut at, &triangles, &places), (&place, marked), stiffness * body.unit())?;
        }
    }
    Ok((0..count).map(|v| at[place[v] as usize]).collect())
}

fn step(
    body: &Body,
    (at, triangles, places): (&mut [DVec3], &[[u32; 3]], &[u32]),
    (place, marked): (&[u32], &[(u32, u32)]),
    stiffness: f64,
) -> Result<(), TransferError> {
    let normals = welded_normals(at, triangles);
    let areas = vertex_areas(at, triangles);
    let whole: f64 = areas.iter().sum();
    let whole = if whole > 0.0 { whole } else { body.unit() * body.unit() };
    let least = LEAST * whole / places.len() as f64;
    let pull = |&v: &u32| {
        let (p, normal) = (at[v as usize], normals[v as usize]);
        let found = body.find(p, Some(normal).filter(|n| *n != DVec3::ZERO), ALPHA * body.unit());
        let Some(found) = found else { return (least, p) };
        let q = found.row.iter().map(|&(u, share)| body.positions()[u as usize] * share).sum();
        (areas[v as usize] * found.cosine.max(0.0).powi(2) + least, q)
    };
    let mut pulls: Vec<(f64, DVec3)> = places.par_iter().map(pull).collect();
    let mut row_of = vec![u32::MAX; at.len()];
    places.iter().zip(0..).for_each(|(&v, row)| row_of[v as usize] = row);
    for &(own, of_body) in marked {
        let row = row_of[place[own as usize] as usize] as usize;
        pulls[row] = (MARKED * whole, body.positions()[of_body as usize]);
    }
    let held: Vec<f64> = pulls.iter().map(|(c, _)| *c).collect();
    let entries = laplacian(at, triangles, &row_of, stiffness, &held);
    let factor = SparseFactor::new(places.len(), &entries)?;
    let mut columns = vec![0.0; 3 * places.len()];
    for (row, (&v, (c, q))) in places.iter().zip(&pulls).enumerate() {
        let away = *q - at[v as usize];
        (0..3).for_each(|k| columns[k * places.len() + row] = c * away[k]);
    }
    factor.solve_with(&mut columns, &mut SolveMemory::default())?;
    for (row, &v) in places.iter().enumerate() {
        at[v as usize] += DVec3::from_array([0, 1, 2].map(|k| columns[k * places.len() + row]));
    }
    Ok(())
}
