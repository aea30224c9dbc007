//! Whether a sculpt was made in the frame that it names: programs count frames from 0 or 1, and at rates of their own.

use super::{Shape, ShownSkin};
use crate::error::FileError;
use crate::load::{ReadOptions, Source, clip_motion, pick_clip};
use dermis_io::Contents;
use dermis_rig::number::decimal;
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
    pub shown: &'a ShownSkin<'a>,
}

/// A frame that a sculpt could mean.
struct Moment {
    frame: Frame,
    number: usize,
    /// The rate at which the frame has that number, if it is not the one that the poses are read at.
    rate: Option<f64>,
}

/// Vertices that agree with another frame and not with the one that is named, and the reverse.
struct Agreement {
    gained: usize,
    lost: usize,
}

impl Moments<'_> {
    /// Compares a sculpt with what was shown in frame `at`, which it names; result: a warning.
    ///
    /// # Errors
    /// [`FileError::Lacks`] if the sculpt names the frame by its number, and vertices that nobody touched agree with another
    /// frame: that one is named.
    pub fn check(&self, shape: &Shape, at: usize, path: &Path) -> Result<Option<String>, FileError> {
        let Some(name) = shape.at.as_deref() else { return Ok(None) };
        let here = self.distances(shape, &self.frames[at]);
        if here.is_empty() {
            return Ok(None);
        }
        let by_number = name.parse().ok().filter(|_| self.frames.iter().all(|frame| frame.label != name));
        if let Some(number) = by_number {
            let near = at.saturating_sub(2)..(at + 3).min(self.frames.len());
            let own = near.map(|number| Moment { frame: self.frames[number].clone(), number, rate: None });
            let mut best: Option<(Agreement, Moment)> = None;
            for moment in own.chain(self.others(number)?) {
                let found = self.agreement(&here, &self.distances(shape, &moment.frame));
                if best.as_ref().is_none_or(|(most, _)| found.gained > most.gained) {
                    best = Some((found, moment));
                }
            }
            // A finger is a hundredth of a body. A sculpt that happens to be nearer to another pose loses elsewhere what it gains.
            if let Some((found, moment)) =
                best.filter(|(found, _)| 100 * found.gained > here.len() && found.gained > 10 * found.lost)
            {
                return Err(self.refusal(at, &here, &found, &moment, path));
            }
        }
        Ok(self.nearer(shape, at, here))
    }

    /// How far each vertex of a sculpt is from what was shown in a frame; nothing where that is not known.
    fn distances(&self, shape: &Shape, frame: &Frame) -> Vec<f64> {
        let pose = self.rig.skeleton().bone_transforms(&frame.pose);
        let Some(skin) = (self.shown.skin)(&pose) else { return Vec::new() };
        let distance = |v: usize| skin[v].distance(shape.positions[v]);
        match shape.covers() {
            None => (0..skin.len()).map(distance).collect(),
            Some(covers) => covers.into_iter().map(|v| distance(v as usize)).collect(),
        }
    }

    /// Distance up to which a vertex agrees with what was shown.
    fn tolerance(&self) -> f64 {
        self.options.match_tolerance * self.rig.mesh().diagonal()
    }

    fn agreement(&self, here: &[f64], there: &[f64]) -> Agreement {
        let most = self.tolerance();
        let count = |from: &[f64], to: &[f64]| from.iter().zip(to).filter(|(a, b)| **a > most && **b <= most).count();
        Agreement { gained: count(here, there), lost: count(there, here) }
    }

    /// What other programs call the frame of that number, and the frames around it: counted from the clip's beginning or by the
    /// file's own clock, at several rates; first those of the same number.
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
        moments.sort_by_key(|moment| moment.number != number);
        Ok(moments)
    }

    fn refusal(&self, at: usize, here: &[f64], found: &Agreement, moment: &Moment, path: &Path) -> FileError {
        let frame = &self.frames[at];
        let moved = here.iter().filter(|distance| **distance > self.tolerance()).count();
        let farthest = here.iter().copied().fold(0.0, f64::max);
        let what = format!(
            "as a sculpt of \"{}\"{} it moves {moved} vertices by up to {farthest:.3e} m; {} of them agree with {}{}, which \
             tells that nobody moved them",
            frame.label,
            time(frame),
            found.gained,
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

    /// A warning about a frame that is much nearer than the one that a sculpt is taken for.
    fn nearer(&self, shape: &Shape, at: usize, here: Vec<f64>) -> Option<String> {
        let here = median(here);
        if here <= 1e-3 * self.rig.mesh().diagonal() || self.frames.len() > MOST {
            return None;
        }
        let all = self.frames.iter().map(|frame| (median(self.distances(shape, frame)), frame));
        let (there, best) = all.reduce(|best, other| if other.0 < best.0 { other } else { best })?;
        (there < 0.5 * here).then(|| {
            format!(
                "\"{}\" is taken for a sculpt of \"{}\" (median distance to {} {here:.3e} m), but \"{}\" is nearer \
                 ({there:.3e} m): check the number of the frame",
                shape.name, self.frames[at].label, self.shown.name, best.label
            )
        })
    }
}

/// The time of a frame, as it follows its name.
fn time(frame: &Frame) -> String {
    frame.time.map_or_else(String::new, |time| format!(" at {} s", decimal(time, 3)))
}

/// The median of distances: most of a sculpt is skin that nobody touched, which lies where the weights take it.
fn median(mut distances: Vec<f64>) -> f64 {
    let middle = distances.len() / 2;
    if distances.is_empty() { 0.0 } else { *distances.select_nth_unstable_by(middle, f64::total_cmp).1 }
}
