//! Simulations over shots, and what they say of the parameters.

use super::{Clip, Shot};
use dermis_deform::secondary::{Secondary, SecondaryError, Springs};
use dermis_rig::Mesh;
use dermis_rig::glam::Vec3;
use rayon::prelude::*;

/// The difference of logarithms that derivatives are taken over.
pub(super) const DIFFERENCE: f64 = 1e-4;
/// Frames that give offset and speed to begin with, and do not count.
pub(super) const GIVEN: usize = 2;

/// JᵀJ and Jᵀr of every vertex, and of κ.
pub(super) struct Sums {
    pub vertices: Vec<VertexSums>,
    /// Σ j², Σ j r over all vertices.
    pub coupling: [f64; 2],
}

/// JᵀJ and Jᵀr of a vertex by ln k, ln c, ln k₃; beside them j² and j r by ln κ.
#[derive(Clone, Copy, Default)]
pub(super) struct VertexSums {
    pub normal: [[f64; 3]; 3],
    pub gradient: [f64; 3],
    coupling: [f64; 2],
}

impl Shot<'_> {
    /// Σ |o|² of the frames that count: what the model alone leaves.
    pub(super) fn alone(&self) -> f64 {
        let frames: Vec<usize> = self.frames.clone().skip(GIVEN).collect();
        let square =
            |frame: &usize| self.clip.offsets[*frame].iter().map(|o| f64::from(o.length_squared())).sum::<f64>();
        frames.par_iter().map(square).collect::<Vec<_>>().iter().sum()
    }

    /// Runs a motion over the frames; `count` gets it with the wanted offsets of those that count.
    fn run<const L: usize>(
        &self,
        motion: &mut Secondary<L>,
        mut count: impl FnMut(&Secondary<L>, &[Vec3]),
    ) -> Result<(), SecondaryError> {
        let Clip { times, posed, offsets, .. } = self.clip;
        let mut skin = Vec::new();
        for frame in self.frames.clone() {
            skin.clear();
            skin.extend(posed[frame].iter().map(|p| p.as_dvec3()));
            if frame == self.frames.start {
                let dt = times[frame + 1] - times[frame];
                let moves = offsets[frame].iter().zip(&offsets[frame + 1]);
                motion.begin(&skin, moves.map(|(a, b)| [a.as_dvec3(), (b.as_dvec3() - a.as_dvec3()) / dt]));
                continue;
            }
            motion.apply(times[frame] - times[frame - 1], &mut skin)?;
            if frame >= self.frames.start + GIVEN {
                count(motion, &offsets[frame]);
            }
        }
        Ok(())
    }
}

/// Σ |o − simulated|² of every vertex over shots.
pub(super) fn errors(mesh: &Mesh, shots: &[&Shot<'_>], springs: &Springs) -> Result<Vec<f64>, SecondaryError> {
    let mut errors = vec![0.0; mesh.positions.len()];
    let mut motion = Secondary::learnt([springs], mesh)?;
    for shot in shots {
        shot.run(&mut motion, |motion, wanted| {
            let pairs = errors.par_iter_mut().zip(motion.lanes()).zip(wanted);
            pairs.for_each(|((error, [o]), wanted)| *error += o.distance_squared(wanted.as_dvec3()));
        })?;
    }
    Ok(errors)
}

/// The derivatives of simulations over shots; `of` gives the springs as they are, or with one of their four parameters larger.
pub(super) fn parameter_sums(
    mesh: &Mesh,
    shots: &[&Shot<'_>],
    of: impl Fn(Option<usize>) -> Result<Springs, SecondaryError>,
) -> Result<Sums, SecondaryError> {
    let lanes = [of(None)?, of(Some(0))?, of(Some(1))?, of(Some(2))?, of(Some(3))?];
    let mut vertices = vec![VertexSums::default(); mesh.positions.len()];
    let mut motion = Secondary::learnt(lanes.each_ref(), mesh)?;
    for shot in shots {
        shot.run(&mut motion, |motion, wanted| {
            vertices.par_iter_mut().zip(motion.lanes()).zip(wanted).for_each(|((sums, o), wanted)| {
                let left = wanted.as_dvec3() - o[0];
                let slopes = [1, 2, 3].map(|i| (o[i] - o[0]) / DIFFERENCE);
                for i in 0..3 {
                    sums.gradient[i] += slopes[i].dot(left);
                    for j in 0..3 {
                        sums.normal[i][j] += slopes[i].dot(slopes[j]);
                    }
                }
                let slope = (o[4] - o[0]) / DIFFERENCE;
                sums.coupling[0] += slope.length_squared();
                sums.coupling[1] += slope.dot(left);
            });
        })?;
    }
    let mut coupling = [0.0; 2];
    for sums in &vertices {
        coupling = [0, 1].map(|i| coupling[i] + sums.coupling[i]);
    }
    Ok(Sums { vertices, coupling })
}
