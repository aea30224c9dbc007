//! The character of `cargo xtask bench viewer`: the bundled body with more vertices, as files that `dermis` reads.
//!
//! Every edge gets a vertex in its middle, then triangles one in theirs, until there are as many vertices as asked. A new vertex is
//! the mean of the corners around it, at rest, in every example and in its weights, so the skin bends as that of the body does.

use dermis_io::npz::{StoredFloat, read, write};
use dermis_io::{Contents, to_bytes};
use dermis_rig::glam::DVec3;
use dermis_rig::{BoneIndex, Influences, Mesh};
use std::collections::HashMap;
use std::path::Path;

/// Writes `character.npz`, examples with skins, and `motion.npz`, poses alone, into a folder that is there.
pub fn make(vertices: usize, body: &Path, folder: &Path) -> Result<(), String> {
    let open = |name: &str| {
        let path = body.join(name);
        let bytes = std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        read(&bytes, name).map_err(|error| error.to_string())
    };
    let mut character = open("body_exercise.npz")?;
    let finer = Finer::new(character.mesh.as_ref().ok_or("the body has no mesh")?, vertices)?;
    finer.apply(&mut character)?;
    let mut motion = open("body_walk.npz")?;
    finer.apply(&mut motion)?;
    motion.records.iter_mut().for_each(|record| record.positions = None);
    for (name, contents) in [("character.npz", character), ("motion.npz", motion)] {
        let path = folder.join(name);
        let bytes = to_bytes(|out| write(&contents, StoredFloat::Single, out)).map_err(|error| error.to_string())?;
        std::fs::write(&path, bytes).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(())
}

/// A finer mesh over the vertices of a coarse one.
struct Finer {
    /// The vertices around each new one, all before it.
    corners: Vec<Vec<u32>>,
    triangles: Vec<[u32; 3]>,
}

impl Finer {
    fn new(mesh: &Mesh, vertices: usize) -> Result<Self, String> {
        let coarse = mesh.positions.len();
        let mut corners = Vec::new();
        let mut triangles = Vec::new();
        let mut middles = HashMap::new();
        for &[a, b, c] in &mesh.triangles {
            let [ab, bc, ca] = [[a, b], [b, c], [c, a]].map(|edge| {
                *middles.entry((edge[0].min(edge[1]), edge[0].max(edge[1]))).or_insert_with(|| {
                    corners.push(edge.to_vec());
                    (coarse + corners.len() - 1) as u32
                })
            });
            triangles.extend([[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]]);
        }
        let now = coarse + corners.len();
        let more = vertices.checked_sub(now).filter(|more| *more <= triangles.len());
        let more = more.ok_or_else(|| format!("{now} to {} vertices can be made", now + triangles.len()))?;
        for at in 0..more {
            let [a, b, c] = triangles[at];
            let middle = (coarse + corners.len()) as u32;
            corners.push(vec![a, b, c]);
            triangles[at] = [a, b, middle];
            triangles.extend([[b, c, middle], [c, a, middle]]);
        }
        Ok(Self { corners, triangles })
    }

    fn apply(&self, contents: &mut Contents) -> Result<(), String> {
        let mesh = contents.mesh.as_mut().ok_or("the body has no mesh")?;
        *mesh = Mesh {
            positions: self.points(std::mem::take(&mut mesh.positions)),
            triangles: self.triangles.clone(),
            ..Mesh::default()
        };
        for record in &mut contents.records {
            record.positions = record.positions.take().map(|points| self.points(points));
        }
        if let Some(weights) = &contents.weights {
            let mut rows: Vec<Vec<(BoneIndex, f64)>> = weights.rows().map(<[_]>::to_vec).collect();
            for corners in &self.corners {
                let mut row: Vec<(BoneIndex, f64)> = Vec::new();
                for &(bone, weight) in corners.iter().flat_map(|corner| &rows[*corner as usize]) {
                    match row.iter_mut().find(|(known, _)| *known == bone) {
                        Some((_, sum)) => *sum += weight / corners.len() as f64,
                        None => row.push((bone, weight / corners.len() as f64)),
                    }
                }
                rows.push(row);
            }
            contents.weights = Some(Influences::from_rows(rows).map_err(|error| error.to_string())?);
        }
        Ok(())
    }

    /// The points of the coarse mesh, followed by the means.
    fn points(&self, mut points: Vec<DVec3>) -> Vec<DVec3> {
        for corners in &self.corners {
            points.push(corners.iter().map(|corner| points[*corner as usize]).sum::<DVec3>() / corners.len() as f64);
        }
        points
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One triangle: three middles of edges, then two of the four triangles split.
    #[test]
    fn a_triangle_becomes_finer_without_gaps() {
        let positions = vec![DVec3::ZERO, DVec3::X, DVec3::Y];
        let mesh = Mesh { positions: positions.clone(), triangles: vec![[0, 1, 2]], ..Mesh::default() };
        let finer = Finer::new(&mesh, 8).unwrap();
        let points = finer.points(positions);
        assert_eq!((points.len(), finer.triangles.len()), (8, 8));
        assert_eq!(points[3], DVec3::new(0.5, 0.0, 0.0));
        let area = |t: &[u32; 3]| {
            let [a, b, c] = t.map(|v| points[v as usize]);
            (b - a).cross(c - a).z / 2.0
        };
        assert!(finer.triangles.iter().all(|t| area(t) > 0.0), "one is turned over");
        assert!((finer.triangles.iter().map(area).sum::<f64>() - 0.5).abs() < 1e-12);
        assert!(Finer::new(&mesh, 11).is_err() && Finer::new(&mesh, 5).is_err());
    }
}
