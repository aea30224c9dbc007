//! Scans from files, each with the pose it was taken in.

use crate::error::Error;
use crate::load::{FileNote, LoadedRig, ReadOptions, Source, motion_of, names_in, poses_for_rig, read_contents};
use dermis_files::place;
use dermis_fit::register::Known;
use dermis_fit::{Scan, ScanSurface};
use dermis_io::Contents;
use dermis_rig::{BoneTransforms, Frame, Mesh, Motion, Rig, WorldPose};
use std::path::{Path, PathBuf};

/// Scans with their poses, and how they were found.
#[derive(Debug)]
pub struct LoadedScans {
    /// The scans, in natural order of their files.
    pub scans: Vec<Scan>,
    /// What was read.
    pub notes: Vec<FileNote>,
    /// How scans and poses were paired, in words.
    pub pairing: String,
}

/// A surface without a pose yet.
struct Surface {
    label: String,
    mesh: Mesh,
}

/// Scans from files and folders.
///
/// A folder stands for the .obj, .glb, .gltf and .npz files in it. A bundle whose records hold poses brings its own: one
/// scan per record, which is its skin if it has one, and the bundle's rest mesh otherwise. Every other file is one scan,
/// whose pose is that of the frame of `motion` with the file's name; if no name agrees, frames are taken in order, which needs as many
/// frames as scans.
///
/// # Errors
/// [`Error`]: unreadable files, a scan without a surface, poses that are missing or do not match.
pub fn load_scans(
    loaded: &LoadedRig,
    sources: &[PathBuf],
    motion: Option<&Motion>,
    options: &ReadOptions,
) -> Result<LoadedScans, Error> {
    let rig = &loaded.rig;
    let (mut posed, mut surfaces, mut notes) = (Vec::new(), Vec::new(), Vec::new());
    for path in files(sources)? {
        let (mut contents, mut note) = read_contents(&path, &options.space_of(&path, &loaded.space))?;
        note.role = "scan".into();
        let own_poses = contents.records.iter().any(|r| r.pose.is_some());
        let own = if own_poses && motion.is_none() { with_poses(rig, &contents, &path)? } else { Vec::new() };
        if own.is_empty() {
            let one = surface(&mut contents, &path)?;
            usable(&one.mesh, &path)?;
            surfaces.push(one);
        } else {
            note.remarks.push(format!("{} scans with their poses", own.len()));
            posed.extend(own);
        }
        notes.push(note);
    }
    let mut pairing = format!("{} scans came with their poses", posed.len());
    if !surfaces.is_empty() {
        let (paired, how) = pair(rig, surfaces, motion, sources.first().map_or(Path::new(""), PathBuf::as_path))?;
        pairing = if posed.is_empty() { how } else { format!("{pairing}; {how}") };
        posed.extend(paired);
    }
    Ok(LoadedScans { scans: posed, notes, pairing })
}

/// Scans from files and folders whose poses are to be found, each beginning at the pose that its file or `rough` has for it. A mesh that is no
/// surface is none of its errors: it gets no pose, and the search says why.
///
/// # Errors
/// [`Error`], as those of [`load_scans`].
pub fn load_surfaces(
    loaded: &LoadedRig,
    sources: &[PathBuf],
    rough: Option<&Motion>,
    options: &ReadOptions,
) -> Result<(Vec<ScanSurface>, Vec<FileNote>), Error> {
    if rough.is_some() {
        let found = load_scans(loaded, sources, rough, options)?;
        let begin = |scan: Scan| {
            let Scan { label, transforms, positions, triangles } = scan;
            ScanSurface { label, positions, triangles, known: Known::Roughly(transforms) }
        };
        return Ok((found.scans.into_iter().map(begin).collect(), found.notes));
    }
    let (mut surfaces, mut notes) = (Vec::new(), Vec::new());
    for path in files(sources)? {
        let (mut contents, mut note) = read_contents(&path, &options.space_of(&path, &loaded.space))?;
        note.role = "scan".into();
        let Surface { label, mesh } = surface(&mut contents, &path)?;
        surfaces.push(ScanSurface {
            label,
            positions: mesh.positions,
            triangles: mesh.triangles,
            known: Known::Nothing,
        });
        notes.push(note);
    }
    Ok((surfaces, notes))
}

/// Whether files of scans hold their poses.
///
/// # Errors
/// [`Error`] of a file that cannot be read.
pub fn hold_poses(loaded: &LoadedRig, sources: &[PathBuf], options: &ReadOptions) -> Result<bool, Error> {
    for path in files(sources)? {
        let bundle = crate::output::ending(&path) == "npz";
        if bundle
            && read_contents(&path, &options.space_of(&path, &loaded.space))?.0.records.iter().any(|r| r.pose.is_some())
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Files in natural order, folders unfolded.
fn files(sources: &[PathBuf]) -> Result<Vec<PathBuf>, Error> {
    let mut found = Vec::new();
    for path in sources {
        if !place::is_dir(path) {
            found.push(path.clone());
            continue;
        }
        let names = names_in(path, &[".obj", ".glb", ".gltf", ".npz"])?;
        if names.is_empty() {
            return Err(Error::lacks(path, "the folder holds no scans", "scans are .obj, .glb, .gltf or .npz files"));
        }
        found.extend(names.into_iter().map(|name| path.join(name)));
    }
    Ok(found)
}

/// A file as one scan.
fn surface(contents: &mut Contents, path: &Path) -> Result<Surface, Error> {
    let mesh = contents.mesh.take().ok_or_else(|| {
        let what = format!("there is no mesh in this {} file", contents.format);
        Error::lacks(path, what, "a scan is a mesh with faces, in the pose it was taken in")
    })?;
    let label = path.file_stem().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
    Ok(Surface { label, mesh })
}

fn usable(mesh: &Mesh, path: &Path) -> Result<(), Error> {
    mesh.check().map_err(|e| Error::lacks(path, e.to_string(), ""))?;
    match mesh.triangles.is_empty() {
        false => Ok(()),
        true => {
            let what = format!("this scan has {} vertices but no faces", mesh.positions.len());
            Err(Error::lacks(
                path,
                what,
                "a cloud of points needs a surface first: reconstruct one in the scanner's software",
            ))
        }
    }
}

/// Records of a bundle that bring their pose.
fn with_poses(rig: &Rig, contents: &Contents, path: &Path) -> Result<Vec<Scan>, Error> {
    let mesh = contents.mesh.as_ref();
    let mesh = mesh.ok_or_else(|| Error::lacks(path, "there are poses but no faces", "a scan is a mesh with faces"))?;
    usable(mesh, path)?;
    let to_rig = poses_for_rig(rig, contents, path)?;
    let stem = path.file_stem().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
    let several = contents.records.len() > 1;
    let scan = |record: &dermis_io::Record| {
        let pose = record.pose.as_ref()?;
        let transforms = match &contents.skeleton {
            // The file's own bind pose: its bones may be turned otherwise.
            Some(skeleton) => {
                let theirs = skeleton.bone_transforms(pose);
                BoneTransforms::new(to_rig(&WorldPose::new(theirs.to_vec())).bones.into_vec())
            }
            None => rig.skeleton().bone_transforms(&to_rig(pose)),
        };
        let label = if several { format!("{stem}#{}", record.label) } else { stem.clone() };
        let positions = record.positions.clone().unwrap_or_else(|| mesh.positions.clone());
        Some(Scan { label, transforms, positions, triangles: mesh.triangles.clone() })
    };
    Ok(contents.records.iter().filter_map(scan).collect())
}

/// Gives every surface the pose of a frame: by name, or in order.
fn pair(rig: &Rig, surfaces: Vec<Surface>, motion: Option<&Motion>, path: &Path) -> Result<(Vec<Scan>, String), Error> {
    let count = surfaces.len();
    let Some(motion) = motion else {
        let what = format!("{count} scans without poses");
        return Err(Error::lacks(path, what, "name the file with the poses they were taken in: `motion=poses.npz`"));
    };
    let frames = &motion.frames;
    let by_name: Vec<Option<&Frame>> =
        surfaces.iter().map(|s| frames.iter().find(|f| file_name(&f.label) == file_name(&s.label))).collect();
    let named = by_name.iter().flatten().count();
    let (chosen, how): (Vec<&Frame>, String) = if named == count {
        let how =
            format!("{count} scans took the poses of their names from the {} of \"{}\"", frames.len(), motion.name);
        (by_name.into_iter().flatten().collect(), how)
    } else if named == 0 && frames.len() == count {
        let how = format!(
            "no scan has the name of a pose: {count} scans took the {count} poses of \"{}\" in order",
            motion.name
        );
        (frames.iter().collect(), how)
    } else {
        let at = by_name.iter().position(Option::is_none).unwrap_or(0);
        let what = format!(
            "of {count} scans {named} have the name of one of the {} poses of \"{}\"; \"{}\" has not",
            frames.len(),
            motion.name,
            surfaces[at].label
        );
        return Err(Error::lacks(
            path,
            what,
            "name every scan like its pose, or have as many poses as scans, in order",
        ));
    };
    let scans = surfaces.into_iter().zip(chosen).map(|(surface, frame)| Scan {
        label: surface.label,
        transforms: rig.skeleton().bone_transforms(&frame.pose),
        positions: surface.mesh.positions,
        triangles: surface.mesh.triangles,
    });
    Ok((scans.collect(), how))
}

/// A label as it may be called in a folder: letters and digits, the rest as one dash.
fn file_name(label: &str) -> String {
    let words: Vec<&str> = label.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    words.join("-").to_lowercase()
}

/// The motion that brings the poses.
///
/// # Errors
/// [`Error`].
pub fn load_poses(loaded: &LoadedRig, source: &Source, options: &ReadOptions) -> Result<(Motion, FileNote), Error> {
    let (mut contents, mut note) = read_contents(&source.path, &loaded.space)?;
    source.select(&mut contents)?;
    note.role = "poses".into();
    Ok((motion_of(&loaded.rig, &mut contents, source, options)?, note))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_and_file_names_agree_whatever_a_file_system_takes() {
        assert_eq!(file_name("Elbow L: 90°"), file_name("elbow_l_90"));
        assert_ne!(file_name("elbow 9"), file_name("elbow 90"));
    }
}
