//! Skins as files: point caches, bundles, OBJ files, and scenes as GLB.

use crate::error::FileError;
use crate::output::{Output, ending};
use dermis_io::gltf::{GlbClip, GlbScene};
use dermis_io::npz::StoredFloat;
use dermis_io::obj::Normals;
use dermis_io::{Contents, Format, ModelFile, Record, Space, point_cache, to_bytes};
use dermis_rig::glam::DVec3;
use dermis_rig::{Mesh, Motion};
use std::path::Path;

/// Whether skins written to `path` become a folder of OBJ files, by the ending of its name.
///
/// # Errors
/// [`FileError::Lacks`] for an ending nothing is written as.
pub fn is_folder(path: &Path) -> Result<bool, FileError> {
    match ending(path).as_str() {
        "" => Ok(true),
        "pc2" | "mdd" | "npz" | "obj" => Ok(false),
        other => Err(FileError::lacks(path, format!("skins cannot be written as \".{other}\""), SKIN_ENDINGS)),
    }
}

const SKIN_ENDINGS: &str = "use .pc2, .mdd, .npz, or a folder (a name without ending) for OBJ files";

/// Whether skins written to `path` can have normals: OBJ files alone can.
pub fn holds_normals(path: &Path) -> bool {
    matches!(ending(path).as_str(), "" | "obj")
}

/// Writes skins in the format the output's name asks for: .pc2, .mdd, .npz, .obj for one frame, a folder of OBJ files
/// otherwise. Normals are written to OBJ files alone ([`holds_normals`]).
///
/// Point caches are written in the order the rig's file draws its vertices, so that they fit the mesh an application
/// imports from it; other formats carry the mesh themselves.
///
/// # Errors
/// [`FileError`].
pub fn write_skins(
    model: &ModelFile,
    motion: &Motion,
    skins: &[Vec<DVec3>],
    normals: Normals,
    output: &Output,
) -> Result<usize, FileError> {
    let (rig, path) = (model.rig(), output.path());
    let times: Vec<f64> = motion.frames.iter().enumerate().map(|(at, f)| f.time.unwrap_or(at as f64 / 24.0)).collect();
    match ending(path).as_str() {
        "npz" => {
            let records = motion.frames.iter().zip(skins).map(|(frame, skin)| Record {
                label: frame.label.clone(),
                time: frame.time,
                pose: Some(frame.pose.clone()),
                positions: Some(skin.clone()),
                importance: 1.0,
            });
            let contents = Contents {
                name: motion.name.clone(),
                format: Format::Npz,
                space: model.space.clone(),
                mesh: Some(rig.mesh().clone()),
                skeleton: Some(rig.skeleton().clone()),
                weights: model.weights().cloned(),
                records: records.collect(),
                ..Contents::default()
            };
            output.write_with(|out| dermis_io::npz::write(&contents, StoredFloat::Single, out))?;
            Ok(rig.mesh().positions.len())
        }
        _ => write_shapes(Some(rig.mesh()), &model.space, &times, skins, normals, output),
    }
}

/// Writes shapes of one mesh in a format that holds nothing else: .pc2, .mdd, .obj for one shape, a folder of OBJ files
/// otherwise. Result: vertices per shape.
///
/// Point caches are in the order the mesh's file draws its vertices; they alone need no mesh.
pub(crate) fn write_shapes(
    mesh: Option<&Mesh>,
    space: &Space,
    times: &[f64],
    skins: &[Vec<DVec3>],
    normals: Normals,
    output: &Output,
) -> Result<usize, FileError> {
    let path = output.path();
    let ending = ending(path);
    let needed = || {
        mesh.ok_or_else(|| FileError::lacks(path, "OBJ files need a mesh, and there is none", "name its file first"))
    };
    match ending.as_str() {
        "pc2" | "mdd" => {
            let drawn: Vec<Vec<DVec3>> = skins.iter().map(|skin| scatter(mesh, skin)).collect();
            let frames: Vec<&[DVec3]> = drawn.iter().map(Vec::as_slice).collect();
            output.write_with(|out| match ending.as_str() {
                "pc2" => point_cache::write_pc2(&frames, 0.0, space, out),
                _ => point_cache::write_mdd(&frames, times, space, out),
            })?;
            Ok(drawn.first().map_or(0, Vec::len))
        }
        "obj" if skins.len() == 1 => {
            let mesh = needed()?;
            output.write_with(|out| dermis_io::obj::write_shape(mesh, &skins[0], normals, space, out))?;
            Ok(skins[0].len())
        }
        "" => {
            let mesh = needed()?;
            let digits = skins.len().to_string().len().max(4);
            output.sequence(|write| {
                let mut written = std::collections::HashSet::new();
                for (at, skin) in skins.iter().enumerate() {
                    let bytes = to_bytes(|out| dermis_io::obj::write_shape(mesh, skin, normals, space, out));
                    let name = format!("frame_{at:0digits$}.obj");
                    write(&name, &bytes.map_err(FileError::write(path))?)?;
                    written.insert(name);
                }
                remove_older_frames(path, &written)
            })?;
            Ok(mesh.positions.len())
        }
        _ => Err(FileError::lacks(
            path,
            format!("{} skins cannot be written as \".{ending}\"", skins.len()),
            SKIN_ENDINGS,
        )),
    }
}

/// Frames of an earlier, longer motion in the same folder would be taken for the end of this one.
fn remove_older_frames(folder: &Path, written: &std::collections::HashSet<String>) -> Result<(), FileError> {
    let failed = |source| FileError::System { path: folder.into(), source };
    for entry in std::fs::read_dir(folder).map_err(failed)?.filter_map(Result::ok) {
        let name = entry.file_name().to_string_lossy().into_owned();
        let number = name.strip_prefix("frame_").and_then(|n| n.strip_suffix(".obj"));
        if number.is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit())) && !written.contains(&name) {
            std::fs::remove_file(entry.path()).map_err(failed)?;
        }
    }
    Ok(())
}

/// Positions of the vertices the mesh's file draws.
fn scatter(mesh: Option<&Mesh>, skin: &[DVec3]) -> Vec<DVec3> {
    match mesh.and_then(|mesh| mesh.render.as_ref()).filter(|render| !render.by_corner) {
        Some(render) => render.source.iter().map(|&v| skin[v as usize]).collect(),
        None => skin.to_vec(),
    }
}

/// The motion as a clip, with weights of the morph targets in every frame.
pub fn clip(motion: &Motion, morph_weights: Vec<Vec<f64>>) -> GlbClip {
    GlbClip {
        name: motion.name.clone(),
        times: motion.frames.iter().enumerate().map(|(at, f)| f.time.unwrap_or(at as f64 / 24.0)).collect(),
        poses: motion.frames.iter().map(|f| f.pose.clone()).collect(),
        morph_weights,
    }
}

/// Writes a GLB; result: its bytes.
///
/// # Errors
/// [`FileError`].
pub fn write_scene(scene: &GlbScene<'_>, output: &Output) -> Result<usize, FileError> {
    let bytes = to_bytes(|out| dermis_io::gltf::write_glb(scene, out)).map_err(FileError::write(output.path()))?;
    output.write(&bytes)?;
    Ok(bytes.len())
}
