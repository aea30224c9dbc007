//! Files as they are read.

use crate::error::FileError;
use crate::near::reason;
use crate::output::is_unfinished;
use crate::place::{self, Opened};
use crate::provenance::name_of;
use dermis_io::npz::{BundleShapes, inverted::Inverted};
use dermis_io::{Contents, Format, ReadError, Space, Warning};
use dermis_rig::MorphTargets;
use sha2::{Digest, Sha256};
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

/// What was read, for messages and provenance.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FileNote {
    /// "rig", "examples", "hold-out", "model".
    pub role: String,
    /// As the user named it.
    pub path: String,
    /// Size in bytes.
    pub bytes: u64,
    /// SHA-256, the first 16 hexadecimal digits.
    pub hash: String,
    /// Flaws that were mended, and how vertices were matched.
    pub remarks: Vec<String>,
    /// Which of the options for reading it needs.
    pub needs: Needs,
}

/// Which options for reading act on a file ([`ReadOptions`](super::ReadOptions)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// `fps`: it has clips to sample, or poses or markers without times.
    pub rate: bool,
    /// `up` and `unit`: its format states neither.
    pub space: bool,
    /// `trust-order`: it has skins, whose vertex order is checked.
    pub order: bool,
}

/// The bytes of a file.
///
/// # Errors
/// [`FileError::System`], [`FileError::Lacks`] for what Git LFS left in the place of a file.
pub fn read_bytes(path: &Path) -> Result<Vec<u8>, FileError> {
    let bytes = place::read(path).map_err(failed(path))?;
    match bytes.starts_with(POINTER) {
        true => Err(FileError::lacks(path, IS_POINTER, "run git lfs pull where it comes from")),
        false => Ok(bytes),
    }
}

/// How Git LFS begins what stands for a file that was not brought.
const POINTER: &[u8] = b"version https://git-lfs.github.com/spec/";
const IS_POINTER: &str = "it is a pointer of Git LFS, not the file itself";

/// A file to be read in pieces, and its length in bytes.
///
/// # Errors
/// [`FileError::System`].
pub fn open_file(path: &Path) -> Result<(Opened, u64), FileError> {
    place::open(path).map_err(failed(path))
}

fn failed(path: &Path) -> impl Fn(io::Error) -> FileError + use<'_> {
    move |source| FileError::System { path: path.into(), source }
}

/// Formats people will try that are not read yet, by the ending of their names.
fn not_read_yet(name: &str) -> Option<&'static str> {
    let ending = name.rsplit_once('.')?.1.to_ascii_lowercase();
    Some(match ending.as_str() {
        "blend" => "Blender files are read by Blender alone",
        "ma" | "mb" => "Maya scenes are read by Maya alone",
        "max" => "3ds Max scenes are read by 3ds Max alone",
        "hip" | "hiplc" | "hipnc" => "Houdini scenes are read by Houdini alone",
        _ => return None,
    })
}

/// How to get a file that is read.
fn way_out(name: &str) -> &'static str {
    match name.rsplit_once('.').map_or("", |(_, ending)| ending).to_ascii_lowercase().as_str() {
        "blend" => {
            "export glTF (.glb) with skinning and animation, or write a bundle with tools/blender_bundle.py (docs/from-blender.md)"
        }
        "ma" | "mb" => "export the rig as FBX with baked animation, and the skin as Alembic (docs/from-maya.md)",
        "hip" | "hiplc" | "hipnc" => "export the rig as FBX or glTF, and the skin as Alembic (docs/from-houdini.md)",
        "max" => "export the rig as FBX with baked animation, and the skin as Alembic",
        _ => "use .glb, .gltf, .fbx, .usd, .abc, .npz, .obj, .pc2, .mdd, .bvh or .dermis",
    }
}

/// Everything a file or a folder of numbered OBJ files holds. `space` serves formats that state no axes or unit. Of a bundle
/// of corrections, shapes are skins where it says how they are computed.
///
/// # Errors
/// [`FileError::System`], [`FileError::Read`], or [`FileError::Lacks`] if the kind of file is unknown.
pub fn read_contents(path: &Path, space: &Space) -> Result<(Contents, FileNote), FileError> {
    read_contents_with(path, space, BundleShapes::Skins)
}

/// [`read_contents`], with the shapes that are wanted of a bundle of corrections.
///
/// # Errors
/// As [`read_contents`].
pub fn read_contents_with(path: &Path, space: &Space, wanted: BundleShapes) -> Result<(Contents, FileNote), FileError> {
    if place::is_dir(path) {
        return read_folder(path, space);
    }
    let bytes = read_bytes(path)?;
    let name = path.file_name().map_or_else(|| path.display().to_string(), |n| n.to_string_lossy().into_owned());
    let format = dermis_io::sniff(&bytes, &name).ok_or_else(|| {
        let what = not_read_yet(&name).unwrap_or("the kind of this file is not known");
        FileError::lacks(path, what, way_out(&name))
    })?;
    let folder = path.parent().unwrap_or(Path::new("."));
    let resolve = beside(folder);
    let contents = match format {
        Format::Gltf => dermis_io::gltf::read(&bytes, &name, &resolve),
        Format::Npz => dermis_io::npz::read_shapes(&bytes, &name, wanted),
        Format::Obj => dermis_io::obj::read(&bytes, &name, space, &resolve),
        Format::Pc2 => dermis_io::point_cache::read_pc2(&bytes, &name, space),
        Format::Mdd => dermis_io::point_cache::read_mdd(&bytes, &name, space),
        Format::Alembic => dermis_io::alembic::read(&bytes, &name, space),
        Format::Markers => {
            let hint = "`dermis markers` turns it into the motion of a rig (docs/mocap.md)";
            return Err(FileError::lacks(path, "a take of markers moves no skeleton by itself", hint));
        }
        Format::Bvh => dermis_io::bvh::read(&bytes, &name, space),
        Format::Fbx => dermis_io::fbx::read(&bytes, &name, &resolve),
        Format::Usd => dermis_io::usd::read(&bytes, &name, &resolve),
        Format::Model => dermis_io::model_file::read(&bytes).map(|model| Contents {
            name: name.clone(),
            format,
            space: model.space.clone(),
            mesh: Some(model.rig().mesh().clone()),
            skeleton: Some(model.rig().skeleton().clone()),
            weights: model.weights().cloned(),
            influence_maps: model.rig().influence_maps().cloned(),
            morphs: model.rig().mesh().morph_targets().to_vec(),
            morph_weights: model.rig().mesh().morph_weights().to_vec(),
            ..Contents::default()
        }),
    };
    let mut contents = contents.map_err(|source| FileError::Read { path: path.into(), source })?;
    if let Some(mesh) = contents.mesh.as_mut().filter(|_| !contents.morphs.is_empty()) {
        let (targets, weights) = (contents.morphs.clone(), contents.morph_weights.clone());
        mesh.morphs = Some(Arc::new(MorphTargets { targets, weights }));
    }
    let inverted = contents.inverted.as_ref().map(Inverted::sentence);
    let mut note = note(path, &bytes, contents.warnings.iter().map(Warning::to_string).chain(inverted).collect());
    note.needs.rate = !contents.clips.is_empty();
    note.needs.space = matches!(format, Format::Obj | Format::Pc2 | Format::Mdd | Format::Alembic | Format::Bvh);
    Ok((contents, note))
}

/// Refuses rest shapes where skins are wanted.
///
/// # Errors
/// [`FileError::Lacks`] for a bundle of rest shapes whose deformer is a program.
pub(crate) fn expect_skins(contents: &Contents, path: &Path) -> Result<(), FileError> {
    match &contents.inverted {
        Some(inverted) if !inverted.skins => {
            let what = format!(
                "its \"vertices\" are rest shapes (\"vertices_space\" is \"rest\") for {}, which is not run to pose them",
                inverted.deformer.words()
            );
            let hint = "invert the sculpts again without `rest-space`: the \"vertices\" are then the sculpts; a fit with `base=rest` \
                        takes rest shapes as they are";
            Err(FileError::lacks(path, what, hint))
        }
        _ => Ok(()),
    }
}

/// Refuses a file of whose frames none is finite.
///
/// # Errors
/// [`FileError::Read`] that names a vertex, if one is finite in none.
pub(crate) fn expect_finite(contents: &Contents, path: &Path) -> Result<(), FileError> {
    let (frames, vertex) = (contents.left_out.len(), contents.never_finite);
    match frames > 0 && contents.records.is_empty() {
        true => Err(FileError::Read { path: path.into(), source: ReadError::NeverFinite { frames, vertex } }),
        false => Ok(()),
    }
}

/// Names of the files in a folder that end with one of `endings`, in natural numeric order.
///
/// # Errors
/// [`FileError::System`]; [`FileError::Lacks`] for a folder that was not written to its end.
pub fn names_in(folder: &Path, endings: &[&str]) -> Result<Vec<String>, FileError> {
    let listing = place::names(folder).map_err(failed(folder))?;
    if is_unfinished(folder) {
        let hint = "write it again; or, to read what is there, remove the file .dermis-unfinished from it";
        return Err(FileError::lacks(folder, "this folder was not written to its end", hint));
    }
    let mut names: Vec<String> = listing
        .filter_map(|name| name.into_string().ok())
        .filter(|name| endings.iter().any(|ending| name.to_ascii_lowercase().ends_with(ending)))
        .collect();
    names.sort_by(|a, b| dermis_io::obj::natural_order(a, b));
    Ok(names)
}

/// Reads the first bytes of files by their paths relative to a folder.
fn beside(folder: &Path) -> impl Fn(&str, u64) -> io::Result<Vec<u8>> + use<'_> {
    move |path, most| {
        let mut bytes = Vec::new();
        let opened = place::open(&folder.join(path)).map_err(|error| io::Error::new(error.kind(), reason(&error)));
        opened?.0.take(most).read_to_end(&mut bytes)?;
        match bytes.starts_with(POINTER) {
            true => Err(io::Error::new(io::ErrorKind::InvalidData, IS_POINTER)),
            false => Ok(bytes),
        }
    }
}

/// A folder of OBJ files, one per frame, in natural numeric order.
fn read_folder(path: &Path, space: &Space) -> Result<(Contents, FileNote), FileError> {
    let names = names_in(path, &[".obj"])?;
    if names.is_empty() {
        return Err(FileError::lacks(
            path,
            "the folder holds no OBJ files",
            "name a file, or a folder of numbered OBJ files",
        ));
    }
    let mut sequence = dermis_io::obj::Sequence::new(&name_of(path), space);
    let (mut total, mut hash) = (0, Sha256::new());
    for name in &names {
        let file = path.join(name);
        let bytes = read_bytes(&file)?;
        total += bytes.len() as u64;
        hash.update(&bytes);
        sequence.push(name, &bytes, &beside(path)).map_err(|source| FileError::Read { path: file, source })?;
    }
    let contents = sequence.finish().map_err(|source| FileError::Read { path: path.into(), source })?;
    let remarks = contents.warnings.iter().map(Warning::to_string).collect();
    let note = FileNote {
        path: path.display().to_string(),
        bytes: total,
        hash: short_hash(hash),
        remarks,
        needs: Needs { space: true, ..Needs::default() },
        ..FileNote::default()
    };
    Ok((contents, note))
}

/// What is said of a file that was read.
pub fn note(path: &Path, bytes: &[u8], remarks: Vec<String>) -> FileNote {
    let hash = short_hash(Sha256::new_with_prefix(bytes));
    let path = path.display().to_string();
    FileNote { path, bytes: bytes.len() as u64, hash, remarks, ..FileNote::default() }
}

fn short_hash(hash: Sha256) -> String {
    hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// The hash of a file that is not held.
///
/// # Errors
/// [`FileError::System`].
pub fn hash_of(path: &Path) -> Result<String, FileError> {
    let (mut file, mut hash) = (open_file(path)?.0, Sha256::new());
    let mut buffer = vec![0; 1 << 20];
    loop {
        match file.read(&mut buffer).map_err(failed(path))? {
            0 => return Ok(short_hash(hash)),
            count => hash.update(&buffer[..count]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_lfs_left_is_called_so() {
        let folder = std::env::temp_dir().join(format!("dermis-pointer-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let text = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n";
        std::fs::write(folder.join("hero.glb"), text).unwrap();
        let of_file = read_bytes(&folder.join("hero.glb")).unwrap_err().to_string();
        let of_buffer = beside(&folder)("hero.glb", 1 << 20).unwrap_err().to_string();
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(of_file.contains(IS_POINTER) && of_buffer == IS_POINTER, "{of_file} {of_buffer}");
    }
}
