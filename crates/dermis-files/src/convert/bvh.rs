//! A skeleton and one motion as BVH.

use super::{Converted, Counts, leave_looks, leave_maps, times};
use crate::error::FileError;
use crate::load::{ReadOptions, Source, pick_clip, sample_times};
use crate::output::Output;
use dermis_io::bvh::{self, BvhMotion, FRAME_SECONDS};
use dermis_io::{Contents, Record};
use dermis_rig::WorldPose;
use dermis_rig::number::{decimal, shortest};

/// Frames per second of a clip whose keys are not evenly spaced: what most capture systems deliver.
const RATE: f64 = 30.0;

/// Writes the poses of the records, else one clip: its own keys if they are evenly spaced, else samples.
pub(super) fn write(
    contents: &Contents,
    source: &Source,
    options: &ReadOptions,
    output: &Output,
    done: &mut Converted,
) -> Result<(), FileError> {
    done.format = "BVH";
    let path = &source.path;
    let Some(skeleton) = &contents.skeleton else {
        return Err(FileError::lacks(
            path,
            "there is no skeleton",
            "a BVH file is a skeleton and its motion: name the rig first",
        ));
    };
    let posed: Vec<&Record> = contents.records.iter().filter(|record| record.pose.is_some()).collect();
    let (poses, frame_seconds): (Vec<WorldPose>, f64) = if !posed.is_empty() {
        let times = times(&posed, contents);
        if steady_step(&times).is_none() && times.len() > 1 {
            done.left_out.push("times of the frames, which are not evenly spaced".into());
        }
        done.leave(contents.clips.len(), "clips, beside the records");
        (posed.iter().filter_map(|record| record.pose.clone()).collect(), mean_step(&times))
    } else if contents.clips.is_empty() {
        (vec![WorldPose::new(skeleton.bind().to_vec())], 1.0 / RATE)
    } else {
        let clip = pick_clip(contents, source)?;
        done.leave(contents.clips.len() - 1, "other clips: a BVH file holds one");
        let own = sample_times(clip, source, options)?;
        let times = match steady_step(&own) {
            None if own.len() > 1 => {
                done.left_out.push(format!(
                    "times of the keys, which are not evenly spaced: the clip is sampled {RATE} times a second, or as `fps` says"
                ));
                sample_times(clip, source, &ReadOptions { fps: Some(RATE), ..options.clone() })?
            }
            _ => own,
        };
        (times.iter().map(|time| (clip.sample)(*time).pose).collect(), mean_step(&times))
    };
    if !FRAME_SECONDS.contains(&frame_seconds) {
        let (least, most) = (FRAME_SECONDS.start(), FRAME_SECONDS.end());
        let what = format!("its frames are {frame_seconds:e} s apart; a BVH file states {least:e} s to {most:e} s");
        return Err(FileError::lacks(path, what, "state the rate of its frames with `fps`"));
    }
    let space = &contents.space;
    let metres_per_unit = if space.is_usable() { space.metres_per_unit } else { 1.0 };
    let motion = BvhMotion { skeleton, poses: &poses, frame_seconds, metres_per_unit };
    output.write_with(|out| bvh::write(&motion, out))?;
    done.counts = Counts { bones: skeleton.len(), frames: poses.len(), clips: 1, ..Counts::default() };
    done.hold(skeleton.len(), "bones");
    done.hold(poses.len(), &format!("frames at {} frames per second", decimal(1.0 / frame_seconds, 6)));
    // Whoever reads the file must know: it does not say so itself.
    done.holds.push(format!("in units of {} m, Y up", shortest(metres_per_unit)));
    let stretched = poses.iter().any(|pose| {
        skeleton.bones().any(|bone| {
            let turn = (pose.bones[bone] * skeleton.inverse_bind()[bone]).matrix3;
            !(turn.transpose() * turn).abs_diff_eq(dermis_rig::glam::DMat3::IDENTITY, 1e-4)
        })
    });
    if stretched {
        done.left_out.push("scale of bones".into());
    }
    if contents.mesh.is_some() {
        done.left_out.push("the mesh".into());
    }
    if contents.weights.is_some() {
        done.left_out.push("skinning weights".into());
    }
    let shapes = contents.records.iter().filter(|record| record.positions.is_some()).count();
    done.leave(shapes, "shapes");
    done.leave(contents.morphs.len(), "morph targets");
    leave_maps(contents, done);
    leave_looks(contents, done);
    Ok(())
}

/// Seconds from frame to frame if they are the same throughout, to a thousandth: times of a GLB are numbers of 32 bits.
fn steady_step(times: &[f64]) -> Option<f64> {
    let step = mean_step(times);
    let even = |two: &[f64]| (two[1] - two[0] - step).abs() <= 1e-3 * step;
    (times.len() > 1 && times.windows(2).all(even)).then_some(step)
}

/// The mean of the steps; that of [`RATE`] if there are none.
fn mean_step(times: &[f64]) -> f64 {
    match times {
        [first, .., last] if last > first => (last - first) / (times.len() - 1) as f64,
        _ => 1.0 / RATE,
    }
}
