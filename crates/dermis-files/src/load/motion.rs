//! Motions: the poses of a clip or of a bundle.

use super::{FileNote, ReadOptions, Source, expect_finite, poses_for_rig, read_contents};
use crate::error::FileError;
use dermis_io::{Contents, Format, Record, Space};
use dermis_rig::glam::{DAffine3, DVec3};
use dermis_rig::number::decimal;
use dermis_rig::{BoneIndex, Frame, Motion, Rig, WorldPose};
use std::mem::take;
use std::path::Path;

/// The motion of a clip or of a bundle's poses, in the rig's bone order. Poses without times get those of
/// [`ReadOptions::fps`]. Poses of records are taken out of the contents: a long motion is held once.
///
/// # Errors
/// [`FileError::Lacks`] if the file has neither, or not the rig's bones.
pub fn motion_of(
    rig: &Rig,
    contents: &mut Contents,
    source: &Source,
    options: &ReadOptions,
) -> Result<Motion, FileError> {
    let path = &source.path;
    if !contents.clips.is_empty() {
        let clip = pick_clip(contents, source)?;
        let times = sample_times(clip, source, options)?;
        return clip_motion(rig, contents, clip, &times, options, path);
    }
    let turn = turned_binds(rig, contents, options);
    let is_partial = options.partial && !missing_bones(rig, contents).is_empty();
    let to_rig = if is_partial { None } else { Some(poses_for_rig(rig, contents, path)) };
    let has_some = missing_bones(rig, contents).len() < rig.skeleton().len();
    let to_rig = to_rig.transpose().map_err(|error| match error {
        FileError::Lacks { path, what, .. } if has_some && !names_of(contents).is_empty() => {
            FileError::lacks(&path, what, PARTIAL)
        }
        other => other,
    })?;
    let needs_times = lacks_times(contents);
    let frame = |r: Record| Some(Frame { label: r.label, time: r.time, pose: turn(r.pose?) });
    let mut frames: Vec<Frame> = take(&mut contents.records).into_iter().filter_map(frame).collect();
    match to_rig {
        Some(to_rig) => frames.iter_mut().for_each(|frame| frame.pose = to_rig(&frame.pose)),
        None => frames = completed(rig, contents, Motion { frames, ..Motion::default() }, path)?.frames,
    }
    if let Some(fps) = options.fps.filter(|_| needs_times) {
        frames.iter_mut().enumerate().for_each(|(at, frame)| frame.time = Some(at as f64 / fps));
    }
    if frames.is_empty() {
        let what = format!("there are neither poses nor clips in this {} file", contents.format);
        return Err(FileError::lacks(
            path,
            what,
            "a motion is a .glb with an animation, or a bundle with pose_matrices",
        ));
    }
    Ok(Motion { name: contents.name.trim_end_matches(".npz").into(), frames })
}

/// Whether a rate can pace the poses of the records.
pub(super) fn lacks_times(contents: &Contents) -> bool {
    contents.records.iter().any(|r| r.pose.is_some() && r.time.is_none())
}

/// A clip at the times given, in the rig's bone order.
pub(crate) fn clip_motion(
    rig: &Rig,
    contents: &Contents,
    clip: &dermis_io::Clip,
    times: &[f64],
    options: &ReadOptions,
    path: &Path,
) -> Result<Motion, FileError> {
    let names = clip_bones(contents, path)?;
    if contents.format == Format::Bvh {
        expect_same_rest(rig, contents, options, path)?;
    }
    let to_rig = turned_binds(rig, contents, options);
    let frames = times.iter().enumerate().map(|(at, &time)| Frame {
        label: format!("{} {at}", clip.name),
        time: Some(time),
        pose: to_rig((clip.sample)(time).pose),
    });
    let motion = Motion { name: clip.name.clone(), frames: frames.collect() };
    if options.partial {
        return completed(rig, contents, motion, path);
    }
    motion.for_skeleton(&names, rig.skeleton()).map_err(|missing| {
        let (gone, all, first) = (missing.len(), rig.skeleton().len(), &missing[0]);
        let what = format!("{gone} of the rig's {all} bones are missing (first: \"{first}\")");
        let has_some = gone < all;
        FileError::lacks(path, what, if has_some { PARTIAL } else { "motions are matched by bone name" })
    })
}

const PARTIAL: &str = "motions are matched by bone name; to leave these bones at rest, add `partial=true` to `dermis convert` or `dermis pose`";

/// The names of a file's bones.
fn names_of(contents: &Contents) -> &[String] {
    contents.skeleton.as_ref().map_or(&contents.bone_names, |skeleton| skeleton.names().as_slice())
}

/// The bones of the rig that a file with names of bones lacks.
fn missing_bones<'a>(rig: &'a Rig, contents: &Contents) -> Vec<&'a String> {
    let names = names_of(contents);
    rig.skeleton().names().iter().filter(|name| !names.is_empty() && !names.contains(name)).collect()
}

/// A motion with the bones that it lacks at rest.
fn completed(rig: &Rig, contents: &Contents, motion: Motion, path: &Path) -> Result<Motion, FileError> {
    motion
        .completed_for(names_of(contents), rig.skeleton())
        .ok_or_else(|| FileError::lacks(path, "none of the rig's bones is in it", "motions are matched by bone name"))
}

/// Poses of a file whose joints stand where the rig's do at rest, but turned, as exporters turn bones: T B⁻¹ B_rig, with
/// the file's own B. Where joints stand elsewhere the rest poses differ, and joint-to-world matrices are taken as they are.
fn turned_binds(rig: &Rig, contents: &Contents, options: &ReadOptions) -> impl Fn(WorldPose) -> WorldPose + use<> {
    let limit = options.match_tolerance * rig.mesh().diagonal();
    // A glTF or FBX file without a skin has no bind pose, only the one its nodes happen to be in.
    let bound = !matches!(contents.format, Format::Gltf | Format::Fbx) || contents.weights.is_some();
    let turns = contents.skeleton.as_ref().filter(|_| bound).and_then(|theirs| {
        let (mut turns, mut differ) = (vec![DAffine3::IDENTITY; theirs.len()], false);
        for (bone, name) in rig.skeleton().names().enumerate() {
            let own = rig.skeleton().bind()[bone];
            let at = match theirs.find(name) {
                Some(at) => at,
                None if options.partial => continue,
                None => return None,
            };
            let bind = theirs.bind()[at];
            if bind.translation.distance(own.translation) > limit {
                return None;
            }
            differ |= !bind.matrix3.abs_diff_eq(own.matrix3, options.match_tolerance);
            turns[at.get()] = theirs.inverse_bind()[at] * own;
        }
        differ.then_some(turns)
    });
    move |pose| match &turns {
        Some(turns) => {
            let bones = pose.bones.iter().zip(turns).map(|(t, turn)| *t * *turn).collect();
            WorldPose { channels: pose.channels, ..WorldPose::new(bones) }
        }
        None => pose,
    }
}

/// Refuses a BVH file of a skeleton with other proportions: its joints turn from a rest pose of its own, which is not the rig's.
fn expect_same_rest(rig: &Rig, contents: &Contents, options: &ReadOptions, path: &Path) -> Result<(), FileError> {
    let Some(theirs) = &contents.skeleton else { return Ok(()) };
    let limit = options.match_tolerance * rig.mesh().diagonal();
    let apart = |(bone, name): (BoneIndex, &String)| {
        let (own, at) = (rig.skeleton().bind()[bone], theirs.find(name)?);
        let distance = theirs.bind()[at].translation.distance(own.translation);
        (distance > limit).then(|| (name.clone(), distance))
    };
    let apart: Vec<(String, f64)> = rig.skeleton().names().enumerate().filter_map(apart).collect();
    let Some((first, distance)) = apart.first() else { return Ok(()) };
    let what = format!(
        "at rest {} of its joints stand elsewhere than the rig's (first: \"{first}\", {} m away)",
        apart.len(),
        decimal(*distance, 3)
    );
    let hint = "bring the motion onto the rig with `dermis retarget`; or state the file's unit with `unit` and its axes with `up`";
    Err(FileError::lacks(path, what, hint))
}

/// How many times larger or smaller than the rig the joints of a motion may span: a body that curls up spans a third of its rest, and one in
/// decimetres ten times as much.
const OTHER_SIZE: f64 = 5.0;

/// What is wrong with a motion of another size, such as one in centimetres on a rig in metres: bones turn as they should, and move too far.
fn other_size(rig: &Rig, motion: &Motion) -> Option<String> {
    let span = |bones: &[DAffine3]| {
        let places = bones.iter().map(|bone| bone.translation);
        let corners = places.clone().reduce(DVec3::min).zip(places.reduce(DVec3::max));
        corners.map_or(0.0, |(low, high)| low.distance(high))
    };
    let (own, theirs) = (span(rig.skeleton().bind().as_slice()), span(&motion.frames.first()?.pose.bones));
    let factor = if theirs > own { theirs / own } else { own / theirs };
    (own > 0.0 && theirs > 0.0 && factor > OTHER_SIZE).then(|| {
        let (theirs, own) = (decimal(theirs, 3), decimal(own, 3));
        format!("its joints span {theirs} m, those of the rig {own} m: in another unit, or of another character, bones move too far or too little; retarget it onto the rig first")
    })
}

/// A motion for a rig, from a file. `rig_space` serves formats that state no axes or unit.
///
/// # Errors
/// [`FileError`].
pub fn load_motion(
    rig: &Rig,
    rig_space: &Space,
    source: &Source,
    options: &ReadOptions,
) -> Result<(Motion, FileNote), FileError> {
    load_motion_of(rig, rig_space, source, options).map(|(_, motion, note)| (motion, note))
}

/// The same, with what the file holds.
pub(crate) fn load_motion_of(
    rig: &Rig,
    rig_space: &Space,
    source: &Source,
    options: &ReadOptions,
) -> Result<(Contents, Motion, FileNote), FileError> {
    let (mut contents, mut note) = read_contents(&source.path, &options.space_of(&source.path, rig_space))?;
    expect_finite(&contents, &source.path)?;
    source.select(&mut contents)?;
    note.role = "motion".into();
    note.needs.rate |= lacks_times(&contents);
    let motion = motion_of(rig, &mut contents, source, options)?;
    note.remarks.extend(other_size(rig, &motion));
    if let missing @ [first, ..] = &missing_bones(rig, &contents)[..] {
        let (gone, all) = (missing.len(), rig.skeleton().len());
        note.remarks
            .push(format!("{gone} of the rig's {all} bones are not in it, and stay at rest (first: \"{first}\")"));
    }
    Ok((contents, motion, note))
}

/// A motion on the skeleton of its own file, bones in the file's order: a clip, or the poses of a bundle.
///
/// # Errors
/// [`FileError::Lacks`] without a skeleton, or without a motion; and those of reading.
pub fn own_motion(source: &Source, options: &ReadOptions) -> Result<(Contents, Motion, FileNote), FileError> {
    let path = &source.path;
    let (mut contents, mut note) = read_contents(path, &options.space_of(path, &Space::default()))?;
    expect_finite(&contents, path)?;
    source.select(&mut contents)?;
    note.role = "motion".into();
    note.needs.rate |= lacks_times(&contents);
    let frames: Vec<Frame> = if contents.clips.is_empty() {
        let timed = |(at, record): (usize, &Record)| {
            let time = record.time.or(options.fps.map(|fps| at as f64 / fps));
            Some(Frame { label: record.label.clone(), time, pose: record.pose.clone()? })
        };
        contents.records.iter().enumerate().filter_map(timed).collect()
    } else {
        clip_bones(&contents, path)?;
        let clip = pick_clip(&contents, source)?;
        let frame = |(at, time): (usize, &f64)| Frame {
            label: format!("{} {at}", clip.name),
            time: Some(*time),
            pose: (clip.sample)(*time).pose,
        };
        sample_times(clip, source, options)?.iter().enumerate().map(frame).collect()
    };
    if frames.is_empty() {
        let what = format!("there are neither poses nor clips in this {} file", contents.format);
        return Err(FileError::lacks(
            path,
            what,
            "a motion is a file with an animation, or a bundle with pose_matrices",
        ));
    }
    let clip = if contents.clips.is_empty() { None } else { Some(pick_clip(&contents, source)?.name.clone()) };
    let name =
        clip.unwrap_or_else(|| contents.name.rsplit_once('.').map_or(contents.name.as_str(), |(stem, _)| stem).into());
    Ok((contents, Motion { name, frames }, note))
}

fn clip_bones(contents: &Contents, path: &Path) -> Result<Vec<String>, FileError> {
    let names = contents.skeleton.as_ref().map(|s| s.names().to_vec());
    names.ok_or_else(|| FileError::lacks(path, "the clip moves no skeleton", "use the file of a skinned character"))
}

pub(crate) fn pick_clip<'a>(contents: &'a Contents, source: &Source) -> Result<&'a dermis_io::Clip, FileError> {
    let names = || contents.clips.iter().map(|c| format!("\"{}\"", c.name)).collect::<Vec<_>>().join(", ");
    // A shell takes a bar in a name for a pipe.
    let example = contents.clips.first().map_or("Walk", |clip| clip.name.as_str());
    let hint = format!("name one after #, in quotes: \"{}#{example}\"", source.path.display());
    match (&source.part, &contents.clips[..]) {
        (None, [only]) => Ok(only),
        (Some(name), clips) => clip_named(clips, name).ok_or_else(|| {
            FileError::lacks(&source.path, format!("there is no clip \"{name}\"; there are {}", names()), hint)
        }),
        (None, _) => {
            let what = format!("there are {} clips: {}", contents.clips.len(), names());
            Err(FileError::lacks(&source.path, what, hint))
        }
    }
}

/// The clip of that name; else the only one whose name ends with it after a bar, as Blender writes "Armature|Walk".
fn clip_named<'a>(clips: &'a [dermis_io::Clip], name: &str) -> Option<&'a dermis_io::Clip> {
    let short = |clip: &&dermis_io::Clip| clip.name.rsplit_once('|').is_some_and(|(_, short)| short == name);
    let mut short = clips.iter().filter(short);
    let only = short.next().filter(|_| short.next().is_none());
    clips.iter().find(|clip| clip.name == name).or(only)
}

/// The clip's own keys, or a fixed rate.
pub(crate) fn sample_times(
    clip: &dermis_io::Clip,
    source: &Source,
    options: &ReadOptions,
) -> Result<Vec<f64>, FileError> {
    /// An hour at 24 frames per second.
    const MOST: usize = 86_400;
    let count = match options.fps {
        Some(fps) => (clip.duration * fps + 1e-6).floor() as usize,
        None => clip.key_times.len(),
    };
    if count > MOST {
        let what = format!("the clip \"{}\" has {count} frames, more than {MOST}", clip.name);
        return Err(FileError::lacks(&source.path, what, "sample it at a lower rate with `fps`"));
    }
    Ok(match options.fps {
        Some(fps) => (0..=count).map(|frame| frame as f64 / fps).collect(),
        None if clip.key_times.is_empty() => vec![0.0],
        None => clip.key_times.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use dermis_io::{Clip, ClipFrame};
    use dermis_testkit::Arm;

    fn clip(name: &str) -> Clip {
        let frame = || ClipFrame { pose: WorldPose::new(vec![]), morph_weights: vec![] };
        let sample = Box::new(move |_| frame());
        Clip { name: name.into(), duration: 1.0, start: 0.0, key_times: vec![0.0], curves: None, sample }
    }

    #[test]
    fn clips_go_by_their_whole_name_or_by_what_follows_the_bar() {
        let clips = ["Armature|Walk", "Armature|Run", "Other|Run", "Walk|Fast"].map(clip);
        let found = |name: &str| clip_named(&clips, name).map(|clip| clip.name.as_str());
        assert_eq!(found("Armature|Walk"), Some("Armature|Walk"));
        assert_eq!((found("Walk"), found("Fast")), (Some("Armature|Walk"), Some("Walk|Fast")));
        assert_eq!((found("Run"), found("Armature")), (None, None), "two are called Run");
    }

    /// The bind pose of an arm, its joints as many times further apart.
    fn told(factor: f64) -> Option<String> {
        let rig = Arm::new(3, 4).rig;
        let moved = |bone: &DAffine3| DAffine3 { translation: bone.translation * factor, ..*bone };
        let bones = rig.skeleton().bind().iter().map(moved).collect();
        let frame = Frame { label: "0".into(), time: None, pose: WorldPose::new(bones) };
        other_size(&rig, &Motion { name: "walk".into(), frames: vec![frame] })
    }

    #[test]
    fn a_motion_in_another_unit_is_said_and_one_of_another_body_is_not() {
        for factor in [0.3, 1.0, 3.0] {
            assert_eq!(told(factor), None);
        }
        for factor in [0.01, 100.0] {
            let told = told(factor).unwrap();
            assert!(told.contains("those of the rig") && told.contains("retarget"), "{told}");
        }
    }
}
