//! Alembic, in its Ogawa container: polygon meshes over time, in the world.
//!
//! [`read`] takes every polygon mesh (and the cage of every subdivision surface) below its transforms, in file order: they are the
//! objects of one mesh, called as in the file and shown or hidden as there, with normals, texture coordinates, colours and the names of
//! their face sets. A mesh without samples, as programs write what they hide, and one whose vertices or faces change over time are left
//! out and named. A frame is a moment at which any mesh was sampled; before its first sample and after its last a mesh stands still. Alembic
//! has Y up by convention and states no unit, so the caller gives the space.
//!
//! [`write()`] writes what [`read`] reads.
//!
//! Reader and writer of the container are written by hand. The Rust crate for Ogawa archives panics on animated arrays and indexes by
//! what a file promises. Source: the Alembic project's own library (github.com/alembic/alembic), whose sources are the only
//! description of the format.
//! Not read: Alembic kept in HDF5, materials but for their names, parameters of another kind, curves, points, cameras, instances.

mod archive;
mod drawn;
mod joined;
mod ogawa;
mod scene;
mod write;

pub use write::{AlembicScene, write};

use crate::surface::{LeftOut, moments};
use crate::{Contents, Format, ReadError, Space};
use archive::Archive;
use dermis_rig::glam::{DMat3, DVec3};
use joined::Joined;
use ogawa::damaged;
use scene::{PolyMesh, Scene};

/// Reads an archive. The mesh is the first frame: an archive does not say what is at rest.
///
/// # Errors
/// [`ReadError`]: another kind of file, damage with its numbers, no mesh with samples and of constant connectivity. Memory stays below
/// 256 times the file's bytes and 64 MiB; an archive whose frames need more is refused. Frames that are not finite are left
/// out, with a warning.
pub fn read(bytes: &[u8], name: &str, space: &Space) -> Result<Contents, ReadError> {
    space.check()?;
    let archive = Archive::open(bytes)?;
    let scene = Scene::read(&archive)?;
    let mut contents =
        Contents { name: name.into(), format: Format::Alembic, space: space.clone(), ..Contents::default() };
    contents.unread = scene.unread.iter().take(100).map(|(kind, count)| format!("{count} of kind {kind}")).collect();
    let empty = scene.empty.iter().take(100).map(|name| format!("mesh \"{name}\" without samples"));
    contents.unread.extend(empty);
    const CHANGING: &str = "connectivity that changes over time";
    let changing = scene.changing.iter().take(100).map(|name| format!("mesh \"{name}\" of {CHANGING}"));
    contents.unread.extend(changing);
    if scene.meshes.is_empty() {
        return Err(match (scene.changing.first(), scene.empty.first()) {
            (Some(first), _) => ReadError::Unsupported { feature: format!("mesh \"{first}\": {CHANGING}") },
            (None, Some(first)) => {
                let feature = format!("a file whose meshes were hidden and hold no samples (first: \"{first}\")");
                ReadError::Unsupported { feature }
            }
            (None, None) => damaged("there is no polygon mesh in it"),
        });
    }
    let counts = scene.meshes.iter().map(PolyMesh::vertices).collect::<Result<Vec<_>, _>>()?;
    let vertices: usize = counts.iter().sum();
    let times = frame_times(&archive, &scene, vertices, bytes.len())?;
    let to_ours = space.to_ours();

    let mut left_out = LeftOut::default();
    let mut maps = vec![DMat3::IDENTITY; scene.meshes.len()];
    contents.records.reserve_exact(times.len());
    for (at, time) in times.iter().enumerate() {
        let mut positions: Vec<DVec3> = Vec::with_capacity(vertices);
        for (number, (mesh, count)) in scene.meshes.iter().zip(&counts).enumerate() {
            let world = to_ours * mesh.world(&archive, *time)?;
            if contents.records.is_empty() {
                maps[number] = world.matrix3;
            }
            mesh.positions_at(&archive, *time, *count, &world, &mut positions)?;
        }
        let time = (times.len() > 1).then_some(*time);
        contents.records.extend(left_out.record(format!("frame {at}"), time, positions));
    }
    left_out.tell(&mut contents);

    if let Some(first) = contents.records.first() {
        let (time, positions) = (first.time.unwrap_or(times[0]), first.positions.clone().unwrap_or_default());
        Joined::read(&archive, &scene, (&counts, &maps), (time, positions), &mut contents)?;
    }
    contents.frames_per_second = scene
        .meshes
        .iter()
        .flat_map(|mesh| mesh.series())
        .filter(|series| series.count > 1)
        .find_map(|series| archive.rate(series.sampling));
    Ok(contents)
}

/// Every moment at which something was sampled, ascending; one moment if nothing was sampled twice.
fn frame_times(archive: &Archive, scene: &Scene, vertices: usize, file: usize) -> Result<Vec<f64>, ReadError> {
    // A time, a name and a record take memory as well, so that frames without vertices do not come for free.
    let per_frame = vertices.saturating_mul(24).saturating_add(400);
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
        times = moments(times);
        if times.len() > most {
            return Err(damaged(format!("{} frames of {vertices} vertices in {file} bytes", times.len())));
        }
    }
    match times.is_empty() {
        true => Ok(vec![archive.time(scene.meshes[0].positions.sampling, 0).unwrap_or(0.0)]),
        false => Ok(times),
    }
}
