//! Alembic, in its Ogawa container: polygon meshes over time, in the world.
//!
//! [`read`] takes every polygon mesh (and the cage of every subdivision surface) below its transforms, in file order: they are the
//! objects of one mesh, called as in the file. One without samples, as programs write what they hide, is left out and named. A frame is a moment at which any of them was sampled. Alembic has Y up by convention and states no unit, so
//! the caller gives the space.
//!
//! The reader of the container is written by hand. The Rust crate for Ogawa archives panics on animated arrays and indexes by
//! what a file promises. Source: the Alembic project's own library (github.com/alembic/alembic), whose sources are the only
//! description of the format.
//! Not read: Alembic kept in HDF5, connectivity that changes over time, normals, texture coordinates, curves, points, cameras,
//! instances.

mod archive;
mod ogawa;
mod scene;
mod write;

pub use write::{AlembicScene, write};

use crate::polygons::Split;
use crate::surface::{self, LeftOut};
use crate::{Contents, Flaw, Format, ReadError, Record, Space, Warning};
use archive::Archive;
use dermis_rig::glam::DVec3;
use dermis_rig::{MOST_OBJECTS, Mesh, MeshObject, Polygons};
use ogawa::damaged;
use scene::{PolyMesh, Scene};

/// Reads an archive. The mesh is the first frame: an archive does not say what is at rest.
///
/// # Errors
/// [`ReadError`]: another kind of file, damage with its numbers, no mesh with samples, connectivity that changes over time. Memory stays below
/// 256 times the file's bytes and 64 MiB; an archive whose frames need more is refused. Frames that are not finite are left
/// out, with a warning.
pub fn read(bytes: &[u8], name: &str, space: &Space) -> Result<Contents, ReadError> {
    space.check()?;
    let archive = Archive::open(bytes)?;
    let scene = Scene::read(&archive)?;
    let mut contents =
        Contents { name: name.into(), format: Format::Alembic, space: space.clone(), ..Contents::default() };
    contents.unread = scene.unread.iter().take(100).map(|(kind, count)| format!("{count} of kind {kind}")).collect();
    contents.unread.extend(scene.empty.iter().take(100).map(|name| format!("mesh \"{name}\" without samples")));
    if scene.meshes.is_empty() {
        return Err(match scene.empty.first() {
            Some(first) => {
                let feature = format!("a file whose meshes were hidden and hold no samples (first: \"{first}\")");
                ReadError::Unsupported { feature }
            }
            None => damaged("there is no polygon mesh in it"),
        });
    }
    let counts = scene.meshes.iter().map(PolyMesh::vertices).collect::<Result<Vec<_>, _>>()?;
    let vertices: usize = counts.iter().sum();
    let times = frame_times(&archive, &scene, vertices, bytes.len())?;
    let to_ours = space.to_ours();

    let mut left_out = LeftOut::default();
    let mut mirrored = vec![false; scene.meshes.len()];
    for (at, time) in times.iter().enumerate() {
        let mut positions: Vec<DVec3> = Vec::with_capacity(vertices);
        for (number, (mesh, count)) in scene.meshes.iter().zip(&counts).enumerate() {
            let world = to_ours * mesh.world(&archive, *time)?;
            if at == 0 {
                mirrored[number] = world.matrix3.determinant() < 0.0;
            }
            mesh.positions_at(&archive, *time, *count, &world, &mut positions)?;
        }
        let label = format!("frame {at}");
        if !positions.iter().all(|p| p.is_finite()) {
            left_out.leave(label, &positions);
            continue;
        }
        left_out.keep();
        let (time, positions) = ((times.len() > 1).then_some(*time), Some(positions));
        contents.records.push(Record { label, time, pose: None, positions, importance: 1.0, local: None });
    }
    left_out.tell(&mut contents);

    let (mut polygons, mut small) = (Polygons::default(), Vec::new());
    let mut start = 0u32;
    for ((mesh, count), mirrored) in scene.meshes.iter().zip(&counts).zip(mirrored) {
        let mut corners = mesh.polygons.indices.iter();
        for &number in &mesh.polygons.counts {
            let from = polygons.indices.len();
            for &corner in corners.by_ref().take(number as usize) {
                if corner as usize >= *count {
                    let face = polygons.counts.len();
                    return Err(dermis_rig::MeshError::IndexOutOfRange {
                        face,
                        vertex: corner as usize,
                        vertices: *count,
                    }
                    .into());
                }
                polygons.indices.push(corner + start);
            }
            // A face of two corners or none is no surface, and other formats have no place for it.
            if number < 3 {
                polygons.indices.truncate(from);
                small.push(format!("mesh \"{:.100}\", a face of {number} corners was left out", mesh.name));
                continue;
            }
            if mirrored {
                polygons.indices[from + 1..].reverse();
            }
            polygons.counts.push(number);
        }
        start += *count as u32; // a file would need 48 GB to overflow it
    }
    if let Some(first) = contents.records.first().and_then(|r| r.positions.clone()) {
        let split = Split::new(&polygons, &first);
        let triangles = split.over(&polygons.indices);
        let objects = objects(&scene, &counts, &mut contents.warnings);
        let mesh = Mesh { positions: first, triangles, polygons: Some(polygons), objects, ..Mesh::default() };
        mesh.check()?;
        surface::count(&mut contents.warnings, Flaw::DegenerateTriangle, small);
        split.warn(&mut contents.warnings);
        contents.warnings.extend(surface::flaws(&mesh));
        contents.mesh = Some(mesh);
    }
    contents.frames_per_second = scene
        .meshes
        .iter()
        .flat_map(|mesh| mesh.series())
        .filter(|series| series.count > 1)
        .find_map(|series| archive.rate(series.sampling));
    Ok(contents)
}

/// The meshes that have vertices.
fn objects(scene: &Scene, counts: &[usize], warnings: &mut Vec<Warning>) -> Vec<MeshObject> {
    let meshes = scene.meshes.iter().zip(counts).filter(|(_, count)| **count > 0);
    // A file would need 48 GB for more vertices than 32 bits count.
    let object = |(mesh, count): (&PolyMesh<'_>, &usize)| (mesh.name.clone(), *count as u32);
    let named: Vec<(String, u32)> = meshes.map(object).collect();
    if named.len() > MOST_OBJECTS {
        let (count, first) = (named.len(), Some(named[0].0.clone()));
        warnings.push(Warning { flaw: Flaw::Joined, count, first });
        return Vec::new();
    }
    named.into_iter().map(|(name, vertices)| MeshObject { name, vertices, visible: true }).collect()
}

/// Every moment at which something was sampled, ascending; one moment if nothing was sampled twice.
fn frame_times(archive: &Archive, scene: &Scene, vertices: usize, file: usize) -> Result<Vec<f64>, ReadError> {
    // Times take memory as well, so that frames without vertices do not come for free.
    let per_frame = vertices.saturating_mul(24).saturating_add(200);
    let most = archive::allowance(file) / per_frame;
    let mut known: Vec<(usize, usize)> = Vec::new();
    let mut times: Vec<f64> = Vec::new();
    for series in scene.meshes.iter().flat_map(|mesh| mesh.series()).filter(|series| series.count > 1) {
        if known.contains(&(series.sampling, series.count)) {
            continue;
        }
        // A few samplings serve a whole scene; a hostile one may have thousands, each as long as it says.
        if series.count > most || known.len() > 64 {
            let frames = series.count;
            return Err(damaged(format!("{frames} frames of {vertices} vertices in {file} bytes")));
        }
        known.push((series.sampling, series.count));
        let own = (0..series.count).map(|at| archive.time(series.sampling, at)).collect::<Result<Vec<_>, _>>()?;
        if own.windows(2).any(|pair| pair[1] <= pair[0]) {
            return Err(damaged(format!("the times of time sampling {} do not ascend", series.sampling)));
        }
        times.extend(own);
        times.sort_by(f64::total_cmp);
        times.dedup_by(|b, a| *b - *a < 1e-6);
        if times.len() > most {
            return Err(damaged(format!("{} frames of {vertices} vertices in {file} bytes", times.len())));
        }
    }
    match times.is_empty() {
        true => Ok(vec![archive.time(scene.meshes[0].positions.sampling, 0).unwrap_or(0.0)]),
        false => Ok(times),
    }
}
