//! Simulations over clips, and what they say of the parameters.

use super::{Clip, SecondaryFitError};
use dermis_deform::secondary::{Secondary, SecondaryError, Springs};
use dermis_rig::Mesh;
use dermis_rig::glam::DVec3;
use rayon::prelude::*;

/// The difference of logarithms that derivatives are taken over.
pub(super) const DIFFERENCE: f64 = 1e-4;
/// Frames that give offset and speed to begin with, and do not count.
const GIVEN: usize = 2;

/// JᵀJ and Jᵀr of every vertex, and of κ.
pub(super) struct Sums {
    pub vertices: Vec<VertexSums>,
    /// Σ j², Σ j r over all vertices.
    pub coupling: [f64; 2],
}

#[derive(Clone, Copy, Default)]
pub(super) struct VertexSums {
    pub normal: [[f64; 3]; 3],
    pub gradient: [f64; 3],
    coupling: [f64; 2],
}

impl Clip {
    /// Σ |o|² of the frames that count: what the model alone leaves.
    pub(super) fn alone(&self) -> f64 {
        let frames = self.offsets.par_iter().skip(GIVEN);
        let of: Vec<f64> =
            frames.map(|frame| frame.iter().map(|o| f64::from(o.length_squared())).sum::<f64>()).collect();
        of.iter().sum()
    }

    /// Starts `motion` as the first two frames say.
    fn begin<const L: usize>(&self, motion: &mut Secondary<L>, skin: &mut Vec<DVec3>) {
        let dt = self.times[1] - self.times[0];
        self.skin(0, skin);
        let moves = self.offsets[0].iter().zip(&self.offsets[1]);
        motion.begin(skin, moves.map(|(a, b)| [a.as_dvec3(), (b.as_dvec3() - a.as_dvec3()) / dt]));
    }

    fn skin(&self, frame: usize, skin: &mut Vec<DVec3>) {
        skin.clear();
        skin.extend(self.posed[frame].iter().map(|p| p.as_dvec3()));
    }
}

/// Σ |o − simulated|² of every vertex over clips.
pub(super) fn errors(mesh: &Mesh, clips: &[&Clip], springs: &Springs) -> Result<Vec<f64>, SecondaryError> {
    let mut errors = vec![0.0; mesh.positions.len()];
    let mut motion = Secondary::learnt([springs], mesh)?;
    let mut skin = Vec::new();
    for clip in clips {
        clip.begin(&mut motion, &mut skin);
        for frame in 1..clip.times.len() {
            clip.skin(frame, &mut skin);
            motion.apply(clip.times[frame] - clip.times[frame - 1], &mut skin)?;
            if frame >= GIVEN {
                let pairs = errors.par_iter_mut().zip(motion.lanes()).zip(&clip.offsets[frame]);
                pairs.for_each(|((error, [o]), wanted)| *error += o.distance_squared(wanted.as_dvec3()));
            }
        }
    }
    Ok(errors)
}

/// Σ |o − simulated|² and Σ |o|² of a clip.
pub(super) fn error_of(mesh: &Mesh, springs: &Springs, clip: &Clip) -> Result<[f64; 2], SecondaryFitError> {
    Ok([errors(mesh, &[clip], springs)?.iter().sum(), clip.alone()])
}

/// The derivatives of simulations over clips; `of` gives the springs as they are, or with one of their four parameters larger.
pub(super) fn parameter_sums(
    mesh: &Mesh,
    clips: &[&Clip],
    of: impl Fn(Option<usize>) -> Result<Springs, SecondaryError>,
) -> Result<Sums, SecondaryError> {
    let lanes = [of(None)?, of(Some(0))?, of(Some(1))?, of(Some(2))?];
    let coupled = of(Some(3))?;
    let mut vertices = vec![VertexSums::default(); mesh.positions.len()];
    let (mut own, mut whole) = (Secondary::learnt(lanes.each_ref(), mesh)?, Secondary::learnt([&coupled], mesh)?);
    let (mut skin, mut same) = (Vec::new(), Vec::new());
    for clip in clips {
        clip.begin(&mut own, &mut skin);
        clip.begin(&mut whole, &mut same);
        for frame in 1..clip.times.len() {
            clip.skin(frame, &mut skin);
            same.clone_from(&skin);
            let dt = clip.times[frame] - clip.times[frame - 1];
            own.apply(dt, &mut skin)?;
            whole.apply(dt, &mut same)?;
            if frame < GIVEN {
                continue;
            }
            let runs = own.lanes().zip(whole.lanes());
            vertices.par_iter_mut().zip(runs).zip(&clip.offsets[frame]).for_each(|((sums, (o, [coupled])), wanted)| {
                let left = wanted.as_dvec3() - o[0];
                let slopes = [1, 2, 3].map(|i| (o[i] - o[0]) / DIFFERENCE);
                for i in 0..3 {
                    sums.gradient[i] += slopes[i].dot(left);
                    for j in 0..3 {
                        sums.normal[i][j] += slopes[i].dot(slopes[j]);
                    }
                }
                let slope = (coupled - o[0]) / DIFFERENCE;
                sums.coupling[0] += slope.length_squared();
                sums.coupling[1] += slope.dot(left);
            });
        }
    }
    let mut coupling = [0.0; 2];
    for sums in &vertices {
        coupling = [0, 1].map(|i| coupling[i] + sums.coupling[i]);
    }
    Ok(Sums { vertices, coupling })
}
