//! Which skin belongs to which pose, where they come from two files.

use super::{FileNote, Motions, ReadOptions, check_skins, clip_motion, example, matching, own_skin, pick_clip};
use crate::error::FileError;
use dermis_io::{Contents, Matching, Record};
use dermis_rig::glam::DVec3;
use dermis_rig::number::decimal;
use dermis_rig::{Example, Frame, Rig};
use std::path::Path;

/// Skins of one file with poses of another.
///
/// One for one if there are as many. Else, if the skins have times and the motion is a clip, at these times; two programs
/// may count from different moments (one takes the first frame as 0 s, another as frame 1), so the skins are also tried
/// with the first at the clip's beginning, and the rig's own weights say which it is. Where they do not, nothing is
/// guessed.
pub(super) fn with_motion(
    rig: &Rig,
    contents: &Contents,
    motion: &Motions,
    options: &ReadOptions,
    path: &Path,
    note: &mut FileNote,
) -> Result<Vec<Example>, FileError> {
    note.needs.order = true;
    let skins: Vec<&Record> = contents.records.iter().filter(|r| r.positions.is_some()).collect();
    let count = skins.first().and_then(|r| r.positions.as_ref()).map_or(0, Vec::len);
    let file = motion.source.path.display();
    let pair = |frames: &[Frame], matching: &Matching| -> Result<Vec<Example>, FileError> {
        let examples = skins.iter().zip(frames).filter_map(|(record, frame)| {
            let transforms = rig.skeleton().bone_transforms(&frame.pose);
            let mut made = example(record, transforms, matching.gather(record.positions.as_ref()?));
            made.label = frame.label.clone();
            made.time = frame.time.or(record.time);
            Some(made)
        });
        let examples: Vec<Example> = examples.collect();
        check_skins(rig, &examples, None, &|pose| own_skin(rig, pose), options.trust_order, path)?;
        Ok(examples)
    };
    if skins.len() == motion.motion.frames.len() {
        let matching = matching(rig.mesh(), contents, count, options, path, note)?;
        note.remarks.push(format!("{} skins paired with the poses of \"{file}\" by their order", skins.len()));
        return pair(&motion.motion.frames, &matching);
    }
    let poses = motion.motion.frames.len();
    let counts = format!("{} skins, but \"{file}\" has {poses} poses", skins.len());
    let refused = |what: String| {
        FileError::lacks(path, what, "give the clip as many frames as there are skins, for example with `fps`")
    };
    let times: Option<Vec<f64>> = skins.iter().map(|record| record.time).collect();
    // A time that all skins share says nothing of any.
    let times = times.filter(|times| times.len() < 2 || times.iter().any(|time| *time != times[0]));
    let (Some(times), false, None) = (times, motion.contents.clips.is_empty(), options.fps) else {
        return Err(refused(counts));
    };
    let clip = pick_clip(&motion.contents, &motion.source)?;
    let (first, last) = times.iter().fold((f64::INFINITY, 0.0), |(f, l): (f64, f64), t| (f.min(*t), l.max(*t)));
    // A tenth of a frame at 24 per second: what clocks lose is less, a frame is more.
    let slack = 0.1 / 24.0;
    let inside = |from: f64| first >= from - slack && last <= from + clip.duration + slack;
    let starts: Vec<f64> = match (first - clip.start).abs() <= slack {
        true => vec![clip.start],
        false => vec![clip.start, first],
    };
    let starts: Vec<f64> = starts.into_iter().filter(|start| inside(*start)).collect();
    if starts.is_empty() {
        return Err(refused(format!(
            "{counts}, and the skins from {} s to {} s are not all inside the clip \"{}\", which lasts from {} s to {} s",
            decimal(first, 4),
            decimal(last, 4),
            clip.name,
            decimal(clip.start, 4),
            decimal(clip.start + clip.duration, 4)
        )));
    }
    let matching = matching(rig.mesh(), contents, count, options, path, note)?;
    let mut tried = Vec::new();
    for start in starts {
        let own: Vec<f64> = times.iter().map(|time| time - start).collect();
        let frames = clip_motion(rig, &motion.contents, clip, &own, options, &motion.source.path)?.frames;
        let examples = pair(&frames, &matching)?;
        let how = match start == clip.start {
            true => format!("at their times, {} s to {} s", decimal(first, 4), decimal(last, 4)),
            false => "from its beginning".into(),
        };
        tried.push((misfit(rig, &examples), how, examples));
    }
    tried.sort_by(|a, b| a.0.total_cmp(&b.0));
    let remark =
        |how: &str| format!("{} skins paired with the clip \"{}\" of \"{file}\" {how}", times.len(), clip.name);
    let told = match &tried[..] {
        // Between a walk a frame off (20 times as far from the rig) and a clip in which nothing moves (as far).
        [(better, how, _), (worse, other, _)] if *better < 0.5 * worse => Some(format!(
            "{}, which fits the rig's weights {:.1} times better than {other}",
            remark(how),
            (worse / better).min(1e6)
        )),
        [(_, how, _)] => Some(remark(how)),
        _ => None,
    };
    let undecided = "and it cannot be told whether they begin with it or go by its clock";
    note.remarks.push(told.ok_or_else(|| refused(format!("{counts}, {undecided}")))?);
    Ok(tried.swap_remove(0).2)
}

/// Root mean square distance between skins and what the rig's own weights make of their poses, over some of them; the same
/// for any examples of a rig without weights.
fn misfit(rig: &Rig, examples: &[Example]) -> f64 {
    let Some(weights) = rig.weights() else { return 1.0 };
    let mut skin = vec![DVec3::ZERO; rig.mesh().positions.len()];
    let (mut sum, mut count) = (0.0, 0);
    for e in examples.iter().step_by(examples.len().div_ceil(16).max(1)) {
        dermis_deform::lbs(&rig.mesh().positions, weights, &e.transforms, &mut skin);
        sum += e.positions.iter().zip(&skin).map(|(x, y)| x.distance_squared(*y)).sum::<f64>();
        count += skin.len();
    }
    (sum / f64::from(u32::try_from(count).unwrap_or(u32::MAX)).max(1.0)).sqrt()
}
