//! Whether a sculpt was made in the frame that it names: programs count frames from 0 or 1, and at rates of their own.

use super::Shape;
use crate::error::FileError;
use crate::load::{ReadOptions, Source, clip_motion, pick_clip};
use dermis_io::Contents;
use dermis_rig::{Frame, Rig};
use std::path::Path;

/// Rates that programs count frames at, per second.
const RATES: [f64; 4] = [24.0, 25.0, 30.0, 60.0];

/// Frames that are compared, at most.
const MOST: usize = 2000;

/// The poses that sculpts name, and the clip that they come from.
pub(super) struct Moments<'a> {
    pub rig: &'a Rig,
    pub contents: &'a Contents,
    pub frames: &'a [Frame],
    pub poses: &'a Source,
    pub options: &'a ReadOptions,
}

/// A frame that a sculpt could mean.
struct Moment {
    frame: Frame,
    number: usize,
    /// The rate at which the frame has that number, if it is not the one that the poses are read at.
    rate: Option<f64>,
}

impl Moments<'_> {
    /// Compares a sculpt with the rig's skin in frame `at`, which it names; result: a warning.
    ///
    /// # Errors
    /// [`FileError::Lacks`] if the sculpt names the frame by its number, and vertices that nobody touched agree with another
    /// frame: that one is named.
    pub fn check(&self, shape: &Shape, at: usize, path: &Path) -> Result<Option<String>, FileError> {
        let Some(name) = shape.at.as_deref().filter(|_| self.frames.len() <= MOST) else { return Ok(None) };
        let here = self.median(shape, &self.frames[at]);
        let diagonal = self.rig.mesh().diagonal();
        if here <= 1e-4 * diagonal {
            return Ok(None);
        }
        let nearest = |moments: Vec<Moment>| {
            let all = moments.into_iter().map(|moment| (self.median(shape, &moment.frame), moment));
            all.reduce(|best, other| if other.0 < best.0 { other } else { best })
        };
        let own = self.frames.iter().enumerate();
        let own = own.map(|(number, frame)| Moment { frame: frame.clone(), number, rate: None });
        let Some((there, own)) = nearest(own.collect()) else { return Ok(None) };
        let by_number = name.parse().ok().filter(|_| self.frames.iter().all(|frame| frame.label != name));
        if let Some(number) = by_number {
            let others = nearest(self.others(number)?).filter(|(distance, _)| *distance < there);
            let (distance, moment) = others.unwrap_or((there, own));
            // Between a slow walk a frame off (30 times as far) and a host that skins otherwise than the rig (as far anywhere).
            if distance <= 0.1 * here && distance <= 1e-3 * diagonal {
                return Err(self.refusal(shape, at, (here, distance), &moment, path));
            }
            return Ok(self.warning(shape, at, (here, distance), &moment.frame));
        }
        Ok(self.warning(shape, at, (here, there), &own.frame))
    }

    /// The distance of the sculpt's vertices to the rig's skin in a frame, its median: most of a sculpt is skin that nobody
    /// touched, which lies where the weights take it. Zero for a rig without weights.
    fn median(&self, shape: &Shape, frame: &Frame) -> f64 {
        let mut apart = self.distances(shape, frame);
        let middle = apart.len() / 2;
        if apart.is_empty() { 0.0 } else { *apart.select_nth_unstable_by(middle, f64::total_cmp).1 }
    }

    fn distances(&self, shape: &Shape, frame: &Frame) -> Vec<f64> {
        let Some(weights) = self.rig.weights() else { return Vec::new() };
        let pose = self.rig.skeleton().bone_transforms(&frame.pose);
        let mut skin = shape.positions.clone();
        dermis_deform::lbs(&self.rig.mesh().positions, weights, &pose, &mut skin);
        skin.iter().zip(&shape.positions).map(|(a, b)| a.distance(*b)).collect()
    }

    /// What other programs call the frame of that number, and the frames around it: counted from the clip's beginning or by the
    /// file's own clock, at several rates.
    fn others(&self, number: usize) -> Result<Vec<Moment>, FileError> {
        if self.contents.clips.is_empty() {
            return Ok(Vec::new());
        }
        let clip = pick_clip(self.contents, self.poses)?;
        let mut moments = Vec::new();
        for rate in RATES {
            let mut numbers: Vec<f64> = [0.0, clip.start * rate]
                .iter()
                .flat_map(|start| [-1.0, 0.0, 1.0].map(|step| number as f64 + step - start))
                .filter(|number| (number - number.round()).abs() < 1e-3)
                .map(f64::round)
                .filter(|number| (0.0..=clip.duration * rate + 1e-6).contains(number))
                .collect();
            numbers.sort_by(f64::total_cmp);
            numbers.dedup();
            let times: Vec<f64> = numbers.iter().map(|number| number / rate).collect();
            let frames = clip_motion(self.rig, self.contents, clip, &times, self.options, &self.poses.path)?.frames;
            let numbered = frames.into_iter().zip(numbers);
            moments.extend(numbered.map(|(frame, number)| Moment { frame, number: number as usize, rate: Some(rate) }));
        }
        Ok(moments)
    }

    fn refusal(&self, shape: &Shape, at: usize, (here, there): (f64, f64), moment: &Moment, path: &Path) -> FileError {
        let frame = &self.frames[at];
        let tolerance = self.options.match_tolerance * self.rig.mesh().diagonal();
        let moved = self.distances(shape, frame).into_iter().filter(|distance| *distance > tolerance).count();
        let time = |frame: &Frame| frame.time.map_or_else(String::new, |time| format!(" at {time:.3} s"));
        let what = format!(
            "as a sculpt of \"{}\"{} it moves {moved} vertices, half of all by {here:.3e} m or more; vertices that nobody \
             touched agree with {}{} ({there:.3e} m)",
            frame.label,
            time(frame),
            moment.rate.map_or_else(|| format!("\"{}\"", moment.frame.label), |_| "the pose".into()),
            time(&moment.frame),
        );
        let named = format!("{}@{}", path.display(), moment.number);
        let hint = match moment.rate.filter(|rate| self.options.fps != Some(*rate)) {
            Some(rate) => format!("frames are counted from 0: name that one, {named}, with `fps={rate}`"),
            None => format!("frames are counted from 0: name that one, {named}"),
        };
        FileError::lacks(path, what, hint)
    }

    /// A warning about a frame that is much nearer, but does not agree.
    fn warning(&self, shape: &Shape, at: usize, (here, there): (f64, f64), best: &Frame) -> Option<String> {
        (here > 1e-3 * self.rig.mesh().diagonal() && there < 0.5 * here).then(|| {
            format!(
                "\"{}\" is taken for a sculpt of \"{}\" (median distance to the rig's skin {here:.3e} m), but \"{}\"{} is \
                 nearer ({there:.3e} m): check the number of the frame",
                shape.name,
                self.frames[at].label,
                best.label,
                best.time.map_or_else(String::new, |time| format!(" at {time:.3} s")),
            )
        })
    }
}
