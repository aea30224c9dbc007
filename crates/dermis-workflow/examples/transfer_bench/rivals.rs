//! Ways to carry weights that other tools have: the closest point, and weight inpainting, transcribed here.
//!
//! Inpainting: Abdrashitov et al. 2023, *Robust Skin Weights Transfer via Weight Inpainting*. A vertex whose closest point is nearer
//! than 5 % of the body's diagonal and whose normal is within 30 degrees of that point's takes its weights; the others minimise the
//! energy of L + L M⁻¹ L, L the cotangent Laplacian. Transcribed for this table: the Laplacian is that of the mesh's own triangles,
//! not of an intrinsic Delaunay triangulation, and what comes out is held at zero and divided by its sum.

use dermis_rig::glam::DVec3;
use dermis_rig::mesh::{vertex_areas, welded};
use dermis_rig::{BoneIndex, Influences, Mesh};
use dermis_solve::{SolveMemory, SparseFactor};
use dermis_transfer::{Body, Operator, Settings, carried_weights};
use std::collections::BTreeMap;

/// The ways that are compared.
pub const WAYS: [&str; 3] = ["closest point", "inpainting", "Dermis"];

/// The weights of a mesh by each way.
pub fn all(body: &Body, weights: &Influences, mesh: &Mesh) -> Result<[Influences; 3], String> {
    let operator = Operator::new(body, mesh, &Settings::default()).map_err(|e| e.to_string())?;
    let ours = carried_weights(&operator, weights, 8).map_err(|e| e.to_string())?;
    Ok([closest(body, weights, mesh)?, inpainted(body, weights, mesh)?, ours])
}

pub fn closest(body: &Body, weights: &Influences, mesh: &Mesh) -> Result<Influences, String> {
    let row = |p: &DVec3| {
        let found = body.find(*p, None, 0.0).map(|m| m.row).unwrap_or_default();
        let of = |&(v, share): &(u32, f64)| {
            weights.of(v as usize).iter().map(move |&(b, w)| (b, w * share)).collect::<Vec<_>>()
        };
        found.iter().flat_map(of).collect::<Vec<_>>()
    };
    Influences::from_rows(mesh.positions.iter().map(row)).map_err(|e| e.to_string())
}

fn inpainted(body: &Body, weights: &Influences, mesh: &Mesh) -> Result<Influences, String> {
    let place = welded(&mesh.positions);
    let triangles: Vec<[u32; 3]> = mesh.triangles.iter().map(|t| t.map(|corner| place[corner as usize])).collect();
    let welded_mesh = Mesh { triangles: triangles.clone(), ..mesh.clone() };
    let normals = {
        let mut normals = vec![DVec3::ZERO; mesh.positions.len()];
        for t in &triangles {
            let [a, b, c] = t.map(|corner| mesh.positions[corner as usize]);
            t.iter().for_each(|corner| normals[*corner as usize] += (b - a).cross(c - a));
        }
        normals
    };
    let diagonal = 2.1 * body.unit();
    let start = closest(body, weights, mesh)?;
    let is_sure = |v: usize| {
        let Some(normal) = normals[v].try_normalize() else { return false };
        body.find(mesh.positions[v], Some(normal), 0.0)
            .is_some_and(|m| m.distance < 0.05 * diagonal && m.cosine > 30f64.to_radians().cos())
    };
    let sure: Vec<bool> = (0..mesh.positions.len()).map(|v| is_sure(place[v] as usize)).collect();
    let areas: Vec<f64> = vertex_areas(&mesh.positions, &triangles).iter().map(|a| a.max(1e-12)).collect();
    let laplacian = laplacian(&welded_mesh);
    let own = |v: usize| place[v] as usize == v;
    let open: Vec<usize> = (0..sure.len()).filter(|v| own(*v) && !sure[*v]).collect();
    let mut row_of = vec![usize::MAX; sure.len()];
    open.iter().enumerate().for_each(|(row, &v)| row_of[v] = row);
    // Q = L + L M⁻¹ L, its rows of open vertices.
    let bones = weights.bones_named();
    let mut entries = Vec::new();
    let mut right = vec![0.0; open.len() * bones];
    for (row, &v) in open.iter().enumerate() {
        let mut of: BTreeMap<usize, f64> = laplacian[v].clone();
        for (&u, x) in &laplacian[v] {
            for (&w, y) in &laplacian[u] {
                *of.entry(w).or_default() += x * y / areas[u];
            }
        }
        for (u, q) in of {
            if row_of[u] == usize::MAX {
                start.of(u).iter().for_each(|&(bone, w)| right[bone.get() * open.len() + row] -= q * w);
            } else if row >= row_of[u] {
                entries.push((row, row_of[u], q + if u == v { 1e-9 } else { 0.0 }));
            }
        }
    }
    if !open.is_empty() {
        let factor = SparseFactor::new(open.len(), &entries).map_err(|e| e.to_string())?;
        factor.solve_with(&mut right, &mut SolveMemory::default()).map_err(|e| e.to_string())?;
    }
    let row = |v: usize| -> Vec<(BoneIndex, f64)> {
        match row_of[place[v] as usize] {
            usize::MAX => start.of(v).to_vec(),
            row => {
                let held = |bone: usize| right[bone * open.len() + row].max(0.0);
                let sum: f64 = (0..bones).map(held).sum();
                match sum > 1e-12 {
                    true => (0..bones).map(|bone| (BoneIndex::new(bone), held(bone) / sum)).collect(),
                    false => start.of(v).to_vec(),
                }
            }
        }
    };
    Influences::from_rows((0..sure.len()).map(row)).map_err(|e| e.to_string())
}

/// The cotangent Laplacian, row by row.
fn laplacian(mesh: &Mesh) -> Vec<BTreeMap<usize, f64>> {
    let mut rows = vec![BTreeMap::new(); mesh.positions.len()];
    for t in &mesh.triangles {
        for k in 0..3 {
            let [o, i, j] = [t[k], t[(k + 1) % 3], t[(k + 2) % 3]].map(|corner| corner as usize);
            let (a, b) = (mesh.positions[i] - mesh.positions[o], mesh.positions[j] - mesh.positions[o]);
            let weight = 0.5 * a.dot(b) / a.cross(b).length().max(1e-12);
            if i == j {
                continue;
            }
            for (row, column) in [(i, j), (j, i)] {
                *rows[row].entry(column).or_default() -= weight;
                *rows[row].entry(row).or_default() += weight;
            }
        }
    }
    rows
}
