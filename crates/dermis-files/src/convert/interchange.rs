//! Contents as a file of interchange: FBX or USD.

use super::recorded::{Recorded, recorded};
use super::{Converted, Counts, appearance, expect_character, hold_objects, leave_maps, stem, usd};
use crate::error::FileError;
use crate::load::{ReadOptions, Source, sample_times};
use crate::output::Output;
use crate::skins::{Interchange, changes, frames_as_clip};
use dermis_io::gltf::GlbScene;
use dermis_io::skinned_scene::{SceneWritten, SkinnedScene, clip_of_frames};
use dermis_io::{Clip, ClipFrame, Contents, Space, UpAxis, WriteError};
use dermis_rig::Skeleton;

/// Writes the character, its shapes and its clips, and says what became of them.
pub(super) fn write(
    contents: &Contents,
    source: &Source,
    options: &ReadOptions,
    (format, space): (Interchange, &Space),
    output: &Output,
    done: &mut Converted,
) -> Result<(), FileError> {
    done.format = format.name();
    if let Some(container) = format.container().filter(|_| usd::moves_points(contents)) {
        return usd::write_points(contents, container, space, output, done);
    }
    expect_character(contents, source)?;
    let skeleton = contents.skeleton.as_ref();
    let Recorded { morphs, clip } = recorded(contents, output.path(), done)?;
    let weighed = contents.weights.is_some() && skeleton.is_some();
    let mut scene = SkinnedScene {
        name: stem(contents),
        mesh: contents.mesh.as_ref(),
        skeleton,
        default_pose: contents.default_pose.as_ref(),
        weights: contents.weights.as_ref().filter(|_| weighed),
        morphs: &morphs,
        morph_weights: if contents.morphs.is_empty() { &[] } else { &contents.morph_weights },
        frames_per_second: contents.frames_per_second,
        ..SkinnedScene::default()
    };
    // Clips whose keys are not the file's own.
    let mut made: Vec<Option<Clip>> = Vec::new();
    let mut refused = Vec::new();
    // One clip that cannot be written is no reason to lose the others, unless it is the one that was asked for.
    let mut or_refused = |name: &str, clip: Result<Clip, WriteError>| match clip {
        Ok(clip) => Ok(Some(clip)),
        Err(error) if source.part.is_some() => Err(FileError::write(output.path())(error)),
        Err(error) => {
            refused.push(format!("clip \"{name}\": {error}"));
            Ok(None)
        }
    };
    for clip in &contents.clips {
        let times = sample_times(clip, source, options)?;
        if options.fps.is_none() {
            continue;
        }
        let frames: Vec<ClipFrame> = times.iter().map(|&time| (clip.sample)(time)).collect();
        let (poses, weights): (Vec<_>, Vec<_>) = frames.into_iter().map(|f| (f.pose, f.morph_weights)).unzip();
        let poses = if skeleton.is_some() { poses } else { vec![] };
        let weights = if contents.morphs.is_empty() { vec![] } else { weights };
        made.push(or_refused(&clip.name, clip_of_frames(&clip.name, skeleton, times, &poses, weights))?);
    }
    if let Some(clip) = clip.filter(|clip| !clip.poses.is_empty() || !clip.morph_weights.is_empty()) {
        made.push(or_refused(&clip.name, frames_as_clip(&clip, skeleton))?);
    }
    let mut clips: Vec<&Clip> = Vec::new();
    for clip in contents.clips.iter().filter(|_| options.fps.is_none()).chain(made.iter().flatten()) {
        match scene.refusal(clip).filter(|_| source.part.is_none()) {
            Some(error) => refused.push(format!("clip \"{}\": {error}", clip.name)),
            None => clips.push(clip),
        }
    }
    scene.clips = &clips;
    let mut wrote = SceneWritten::default();
    output.write_with(|out| {
        wrote = format.write(&scene, space, out)?;
        Ok(())
    })?;
    done.counts = Counts {
        vertices: contents.mesh.as_ref().map_or(0, |m| m.positions.len()),
        bones: skeleton.map_or(0, Skeleton::len),
        clips: clips.len(),
        frames: wrote.takes.iter().map(|(_, keys, _)| keys).sum(),
        morph_targets: morphs.len(),
    };
    let counts = done.counts;
    hold_objects(contents, done);
    done.hold(counts.vertices, "vertices");
    done.hold(counts.bones, "bones");
    done.hold(scene.weights.map_or(0, |w| w.count()), "skinning weights");
    done.hold(counts.morph_targets, "morph targets");
    let look = appearance(contents).into_iter().filter(|(_, what)| *what == "materials");
    look.for_each(|(count, what)| done.hold(count, what));
    for (name, keys, off) in &wrote.takes {
        let between = if *off > 0.0 { format!(", between them at most {off:.2e} m off") } else { String::new() };
        done.holds.push(format!("clip \"{name}\" of {keys} keys{between}"));
    }
    hold_space(space, done);
    if contents.weights.is_some() && !weighed {
        done.left_out.push("skinning weights, because there is no skeleton".into());
    }
    done.left_out.extend(refused);
    let shown = GlbScene { skeleton, default_pose: scene.default_pose, ..GlbScene::default() };
    done.left_out.extend(shown.lost_of_default_pose());
    done.left_out.extend(changes(&wrote));
    leave_maps(contents, done);
    Ok(())
}

/// Axes and unit of the file.
pub(super) fn hold_space(space: &Space, done: &mut Converted) {
    let up = if space.up == UpAxis::Y { "Y" } else { "Z" };
    done.holds.push(format!("in units of {} m, {up} up", space.metres_per_unit));
}
