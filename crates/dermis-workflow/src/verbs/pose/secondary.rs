//! Secondary motion over the skins of a motion: gains from where the user painted them, times, cuts.

use crate::error::Error;
use crate::load::{Source, read_bytes, read_contents};
use dermis_deform::secondary::{Secondary, SecondaryError, SecondarySettings};
use dermis_io::Space;
use dermis_rig::glam::DVec3;
use dermis_rig::{Motion, Rig};
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

/// Gains per vertex: a number for all, an array `gain` of a bundle (`soft.npz`), or a channel of vertex colours
/// (`body.glb#red`; red, green, blue or alpha) of a file with the rig's own mesh.
///
/// # Errors
/// [`Error`]: a file that lacks them, another number of vertices, a value outside 0..1.
pub fn gains(text: &str, rig: &Rig) -> Result<Vec<f64>, Error> {
    let vertices = rig.mesh().positions.len();
    let gain = match text.parse::<f64>() {
        Ok(one) => vec![one; vertices],
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

/// Adds secondary motion to the skins of a motion, in place. `cuts` are frames (from 0) that start anew; `rate` spaces
/// frames that have no times.
///
/// # Errors
/// [`Error::Cut`]; [`Error::Swing`]: times that do not go forward, gains of another mesh.
pub fn swing(
    motion: &Motion,
    rig: &Rig,
    gain: Vec<f64>,
    settings: SecondarySettings,
    cuts: &[usize],
    rate: f64,
    skins: &mut [Vec<DVec3>],
) -> Result<Swung, Error> {
    if let Some(cut) = cuts.iter().find(|cut| **cut >= skins.len()) {
        return Err(super::error::Error::Cut { cut: *cut, frames: skins.len() }.into());
    }
    let failed = |frame: usize| move |source| super::error::Error::Swing { frame, source };
    let soft = gain.iter().filter(|g| **g > 0.0).count();
    let mut state = Secondary::new(settings, gain).map_err(failed(0))?;
    let assumed_times = motion.frames.iter().any(|f| f.time.is_none());
    let time = |n: usize| match (assumed_times, motion.frames[n].time) {
        (false, Some(time)) => time,
        _ => n as f64 / rate,
    };
    let jumps = jumps(skins, cuts, rig.mesh().diagonal());
    let mut largest = (0.0, 0);
    for (n, skin) in skins.iter_mut().enumerate() {
        if cuts.contains(&n) {
            state.reset();
        }
        let dt = if n > 0 { time(n) - time(n - 1) } else { 0.0 };
        state.apply(dt, skin).map_err(failed(n))?;
        if state.largest() > largest.0 {
            largest = (state.largest(), n);
        }
    }
    Ok(Swung { largest, soft, jumps, assumed_times })
}

/// Frames whose rms step is more than a twentieth of the rest diagonal and five times its neighbours': a clip that was
/// edited or loops. (A running body moves about a thirtieth per frame at 30 a second, and steadily.)
fn jumps(skins: &[Vec<DVec3>], cuts: &[usize], diagonal: f64) -> Vec<(usize, f64)> {
    let step = |n: usize| {
        let squares = skins[n].iter().zip(&skins[n - 1]).map(|(a, b)| a.distance_squared(*b));
        (squares.sum::<f64>() / skins[n].len().max(1) as f64).sqrt()
    };
    let steps: Vec<f64> = (0..skins.len()).map(|n| if n > 0 { step(n) } else { 0.0 }).collect();
    let beside = |n: usize| steps[n - 1].max(steps.get(n + 1).copied().unwrap_or(0.0));
    let isolated = |&n: &usize| steps[n] > 0.05 * diagonal && steps[n] > 5.0 * beside(n) && !cuts.contains(&n);
    (1..skins.len()).filter(isolated).map(|n| (n, steps[n])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_isolated_jump_is_taken_for_a_cut() {
        let path = [0.0, 0.01, 0.02, 1.02, 1.03, 1.04, 1.24, 1.44, 1.64];
        let skins: Vec<_> = path.iter().map(|x| vec![DVec3::X * *x; 3]).collect();
        let found: Vec<usize> = jumps(&skins, &[], 1.0).iter().map(|j| j.0).collect();
        assert_eq!(found, [3], "a quick but steady stretch is none");
        assert!(jumps(&skins, &[3], 1.0).is_empty() && jumps(&skins[..1], &[], 1.0).is_empty());
    }
}
