//! Secondary motion over the skins of a motion: gains from where the user painted them, times, cuts.

use crate::error::Error;
use crate::load::{Source, read_bytes, read_contents};
use dermis_deform::secondary::{Secondary, SecondaryError};
use dermis_fit::secondary::flesh_gain;
use dermis_io::Space;
use dermis_motion::body::{Part, Recognised};
use dermis_rig::glam::DVec3;
use dermis_rig::{Frame, Motion, Rig};
use std::path::Path;

/// What secondary motion did.
#[derive(Clone, Debug, PartialEq)]
pub struct Swung {
    /// The largest offset, metres, and its frame.
    pub largest: (f64, usize),
    /// Vertices with a gain.
    pub soft: usize,
    /// Frames that look like cuts and were not named: the frame, and the rms step to it, metres.
    pub jumps: Vec<(usize, f64)>,
    /// Whether frames had no times and were taken to be evenly spaced.
    pub assumed_times: bool,
}

/// Gains per vertex: how deep each lies over its bones (`rig`), a number for all, an array `gain` of a bundle (`soft.npz`), or a channel of vertex colours
/// (`body.glb#red`; red, green, blue or alpha) of a file with the rig's own mesh.
///
/// # Errors
/// [`Error`]: a file that lacks them, another number of vertices, a value outside 0..1.
pub fn gains(text: &str, rig: &Rig) -> Result<Vec<f64>, Error> {
    let vertices = rig.mesh().positions.len();
    let gain = match text.parse::<f64>() {
        Ok(one) => vec![one; vertices],
        Err(_) if text == OF_RIG => of_rig(rig)?,
        Err(_) => {
            let source = Source::parse(text);
            match &source.part {
                Some(channel) => painted(&source.path, channel, rig)?,
                None => {
                    let bytes = read_bytes(&source.path)?;
                    let read = dermis_io::npz::numbers(&bytes, "gain");
                    read.map_err(|e| Error::lacks(&source.path, e.to_string(), HINT))?
                        .ok_or_else(|| Error::lacks(&source.path, "there is no array \"gain\"", HINT))?
                }
            }
        }
    };
    if gain.len() != vertices {
        let (found, hint) = (gain.len(), "the gains are those of another mesh");
        return Err(Error::lacks(text.as_ref(), format!("{found} gains, but the rig has {vertices} vertices"), hint));
    }
    match gain.iter().position(|g| !(0.0..=1.0).contains(g)) {
        None => Ok(gain),
        Some(vertex) => Err(SecondaryError::Gain { vertex, gain: gain[vertex] }.into()),
    }
}

/// The gain that the rig gives.
pub const OF_RIG: &str = "rig";

/// How deep every vertex lies over its bones; skulls, hands and feet are stiff.
fn of_rig(rig: &Rig) -> Result<Vec<f64>, Error> {
    if rig.weights().is_none() {
        return Err(super::error::Error::NoWeights.into());
    }
    let body = Recognised::new(rig.skeleton());
    Ok(flesh_gain(rig, |bone| body.roles[bone].as_ref().is_some_and(|role| STIFF.contains(&role.part))))
}

/// Parts of a body that do not swing, however thick they are.
const STIFF: &[Part] = &[
    Part::Head,
    Part::Jaw,
    Part::Eye,
    Part::Face,
    Part::Hand,
    Part::Palm,
    Part::Thumb,
    Part::Finger,
    Part::Foot,
    Part::Toes,
];

const HINT: &str =
    "a gain is a number, a bundle with an array \"gain\" (vertices), or a channel of vertex colours: body.glb#red";

fn painted(path: &Path, channel: &str, rig: &Rig) -> Result<Vec<f64>, Error> {
    let at = ["red", "green", "blue", "alpha"].iter().position(|name| *name == channel);
    let at = at.ok_or_else(|| Error::lacks(path, format!("there is no channel \"{channel}\""), HINT))?;
    let (contents, _) = read_contents(path, &Space::default())?;
    let mesh = contents.mesh.ok_or_else(|| Error::lacks(path, "there is no mesh in it", HINT))?;
    let colors = mesh.colors.ok_or_else(|| Error::lacks(path, "its mesh has no vertex colours", HINT))?;
    let far = 1e-3 * rig.mesh().diagonal();
    let same = mesh.positions.len() == rig.mesh().positions.len()
        && mesh.positions.iter().zip(&rig.mesh().positions).all(|(a, b)| a.distance(*b) <= far);
    if !same {
        return Err(Error::lacks(path, "its mesh is not the rig's at rest", "paint the rig the model was fitted on"));
    }
    Ok(colors.iter().map(|c| f64::from(c[at]).clamp(0.0, 1.0)).collect())
}

/// Secondary motion over the skins of a motion, frame by frame.
pub struct Swinging {
    state: Secondary,
    /// Seconds of every frame.
    times: Vec<f64>,
    cuts: Vec<usize>,
    soft: usize,
    assumed_times: bool,
    largest: (f64, usize),
    /// The skin of the frame before, as the model gave it.
    before: Vec<DVec3>,
    /// Rms steps to every frame, metres.
    steps: Vec<f64>,
    diagonal: f64,
}

impl Swinging {
    /// Begins. `cuts` are frames (from 0) that start anew; `rate` spaces frames that have no times.
    ///
    /// # Errors
    /// [`Error`]: a cut after the end.
    pub fn new(motion: &Motion, rig: &Rig, state: Secondary, cuts: &[usize], rate: f64) -> Result<Self, Error> {
        let frames = motion.frames.len();
        if let Some(cut) = cuts.iter().find(|cut| **cut >= frames) {
            return Err(super::error::Error::Cut { cut: *cut, frames }.into());
        }
        let soft = state.soft();
        let assumed_times = motion.frames.iter().any(|f| f.time.is_none());
        let time = |(n, frame): (usize, &Frame)| match (assumed_times, frame.time) {
            (false, Some(time)) => time,
            _ => n as f64 / rate,
        };
        Ok(Self {
            state,
            times: motion.frames.iter().enumerate().map(time).collect(),
            cuts: cuts.to_vec(),
            soft,
            assumed_times,
            largest: (0.0, 0),
            before: Vec::new(),
            steps: Vec::with_capacity(frames),
            diagonal: rig.mesh().diagonal(),
        })
    }

    /// Adds secondary motion to the skin of the next frame, which is the n-th.
    ///
    /// # Errors
    /// [`Error`]: times that do not go forward.
    pub fn apply(&mut self, n: usize, skin: &mut [DVec3]) -> Result<(), Error> {
        self.steps.push(if n > 0 { step(&self.before, skin) } else { 0.0 });
        self.before.clear();
        self.before.extend_from_slice(skin);
        if self.cuts.contains(&n) {
            self.state.reset();
        }
        let dt = if n > 0 { self.times[n] - self.times[n - 1] } else { 0.0 };
        self.state.apply(dt, skin).map_err(|source| super::error::Error::Swing { frame: n, source })?;
        if self.state.largest() > self.largest.0 {
            self.largest = (self.state.largest(), n);
        }
        Ok(())
    }

    /// What it did.
    pub fn done(self) -> Swung {
        Swung {
            largest: self.largest,
            soft: self.soft,
            jumps: jumps(&self.steps, &self.cuts, self.diagonal),
            assumed_times: self.assumed_times,
        }
    }
}

/// The rms step from one skin to the next, metres.
fn step(before: &[DVec3], skin: &[DVec3]) -> f64 {
    let squares = skin.iter().zip(before).map(|(a, b)| a.distance_squared(*b));
    (squares.sum::<f64>() / skin.len().max(1) as f64).sqrt()
}

/// Frames whose rms step is more than a twentieth of the rest diagonal and five times its neighbours': a clip that was
/// edited or loops. (A running body moves about a thirtieth per frame at 30 a second, and steadily.)
fn jumps(steps: &[f64], cuts: &[usize], diagonal: f64) -> Vec<(usize, f64)> {
    let beside = |n: usize| steps[n - 1].max(steps.get(n + 1).copied().unwrap_or(0.0));
    let isolated = |&n: &usize| steps[n] > 0.05 * diagonal && steps[n] > 5.0 * beside(n) && !cuts.contains(&n);
    (1..steps.len()).filter(isolated).map(|n| (n, steps[n])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_isolated_jump_is_taken_for_a_cut() {
        let path = [0.0, 0.01, 0.02, 1.02, 1.03, 1.04, 1.24, 1.44, 1.64];
        let skins: Vec<_> = path.iter().map(|x| vec![DVec3::X * *x; 3]).collect();
        let steps: Vec<f64> = (0..skins.len()).map(|n| step(&skins[n.saturating_sub(1)], &skins[n])).collect();
        let found: Vec<usize> = jumps(&steps, &[], 1.0).iter().map(|j| j.0).collect();
        assert_eq!(found, [3], "a quick but steady stretch is none");
        assert!(jumps(&steps, &[3], 1.0).is_empty() && jumps(&steps[..1], &[], 1.0).is_empty());
    }
}
