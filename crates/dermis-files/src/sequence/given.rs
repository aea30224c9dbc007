//! What a decomposition is given from another file: bones in motion, or weights.

use super::Sequences;
use crate::error::FileError;
use crate::load::{FileNote, ReadOptions, Source, matching, pick_clip, read_contents, sample_times};
use dermis_io::Contents;
use dermis_rig::number::decimal;
use dermis_rig::{BoneTransforms, Influences, Skeleton};
use std::path::Path;

/// Bones of another file and their transforms, one set per frame of the sequence.
///
/// # Errors
/// [`FileError`]: no skeleton, another number of frames, another unit.
pub fn load_given_bones(
    source: &Source,
    sequences: &Sequences,
    options: &ReadOptions,
) -> Result<(Skeleton, Vec<BoneTransforms>, FileNote), FileError> {
    let path = &source.path;
    let (mut contents, mut note) = read_contents(path, &sequences.space)?;
    source.select(&mut contents)?;
    note.role = "bones".into();
    let skeleton = skeleton(&contents, source)?;
    check_size(&contents, sequences, path)?;
    let frames: usize = sequences.clips.iter().map(|c| c.frames.len()).sum();
    let poses: Vec<BoneTransforms> = if contents.clips.is_empty() {
        contents.records.iter().filter_map(|r| Some(skeleton.bone_transforms(r.pose.as_ref()?))).collect()
    } else {
        let clip = pick_clip(&contents, source)?;
        let mut times = sample_times(clip, source, options)?;
        if times.len() != frames
            && let [take] = &sequences.clips[..]
            && take.timed
        {
            times.clone_from(&take.times); // the clip's moments are those of the frames
        }
        times.iter().map(|&t| skeleton.bone_transforms(&(clip.sample)(t).pose)).collect()
    };
    if poses.len() != frames {
        let left_out = match sequences.left_out.len() {
            0 => String::new(),
            n => format!(" ({n} were left out)"),
        };
        let what = format!("{} poses, but the sequence has {frames} frames{left_out}", poses.len());
        return Err(FileError::lacks(path, what, "given bones have one pose per frame; sample a clip with `fps`"));
    }
    if let Some(at) = poses.iter().position(|p| !p.is_finite()) {
        return Err(FileError::lacks(path, format!("pose {at} is not finite"), ""));
    }
    Ok((skeleton, poses, note))
}

/// Bones in another unit than the sequence would be taken without complaint: their file's mesh, if it has one, tells.
fn check_size(contents: &Contents, sequences: &Sequences, path: &Path) -> Result<(), FileError> {
    let Some(mesh) = &contents.mesh else { return Ok(()) };
    let ratio = sequences.mesh.diagonal() / mesh.diagonal();
    // A mesh of the same character; between centimetres and inches there is 2.54.
    match mesh.positions.len() == sequences.mesh.positions.len() && !(0.45..=2.2).contains(&ratio) && ratio.is_finite()
    {
        true => Err(FileError::lacks(
            path,
            format!("the sequence is {} times as large at rest as this file's mesh", decimal(ratio, 3)),
            "state the unit of the sequence: `unit=1` for metres, `unit=0.01` for centimetres",
        )),
        false => Ok(()),
    }
}

/// Weights of another file in the order of the sequence's vertices, with the bones they name.
///
/// # Errors
/// [`FileError`]: no weights, no skeleton, vertices that do not match.
pub fn load_given_weights(
    source: &Source,
    sequences: &Sequences,
    options: &ReadOptions,
) -> Result<(Skeleton, Influences, FileNote), FileError> {
    let path = &source.path;
    let (contents, mut note) = read_contents(path, &sequences.space)?;
    note.role = "weights".into();
    let lacks = |what: &str| {
        let what = format!("there are no {what} in this {} file", contents.format);
        FileError::lacks(path, what, "weights come from a skinned .glb or a bundle with lbs_weights and bind_matrices")
    };
    let given = contents.weights.as_ref().ok_or_else(|| lacks("skinning weights"))?;
    let skeleton = skeleton(&contents, source)?;
    let matching = matching(&sequences.mesh, &contents, given.vertices(), options, path, &mut note)?;
    let rows = matching.source().iter().map(|&v| given.of(v as usize).to_vec());
    let rows = Influences::from_rows(rows).map_err(|e| FileError::lacks(path, e.to_string(), ""))?;
    let (rows, mended) = rows.normalised();
    if mended.unbound > 0 {
        note.remarks.push(format!("{} vertices without weights are bound to the first bone", mended.unbound));
    }
    Ok((skeleton, rows, note))
}

fn skeleton(contents: &Contents, source: &Source) -> Result<Skeleton, FileError> {
    contents.skeleton.clone().ok_or_else(|| {
        let what = format!("there is no skeleton in this {} file", contents.format);
        FileError::lacks(
            &source.path,
            what,
            "bones come from a skinned .glb or a bundle with bone_names and bind_matrices",
        )
    })
}
