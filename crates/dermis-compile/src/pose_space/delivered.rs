//! The shapes of a pose space and the matrix A that drives them: as they are, from its own values, or compressed.

use super::{Origin, PoseSpaceSettings, Refusal};
use crate::error::Limited;
use crate::{CompileError, Warning};
use dermis_deform::RiggedDeformer;
use dermis_deform::baked::BakedCorrection;
use dermis_deform::pose_space::{CompiledShapes, Kernel, KernelValues, NO_GROUP, PoseSpace, ROOM, Window};
use dermis_fit::psd::compile::{Budget, Compiler};
use dermis_rig::Progress;
use dermis_rig::glam::DVec3;
use dermis_rig::progress::proceed;
use dermis_solve::Random;
use dermis_solve::SolveError;
use dermis_solve::faer::Mat;
use dermis_solve::symmetric::principal_axes;
use rayon::prelude::*;

/// Kernel values that a small pose space may have. The table holds a number for each value and shape: a megabyte with 64
/// shapes.
const MOST_VALUES: usize = 1024;
/// Sampled poses of each kind: at most of training, and of the others at least.
const SAMPLES: (usize, usize) = (128, 48);
/// Numbers of sampled displacements, at most: half a gigabyte.
const MOST_NUMBERS: usize = 1 << 26;
/// Seed of the random poses.
const SEED: u64 = 2;

/// Shapes and how they follow from a pose space.
pub(super) struct Delivered {
    pub kernel: Kernel,
    /// Per group of the kernel: the shapes it moves, each with a row of A.
    pub regions: Vec<Vec<(usize, Vec<f64>)>>,
    /// u.
    pub shapes: Vec<Vec<DVec3>>,
    pub origin: Origin,
    /// Names of the shapes; empty if they have none.
    pub names: Vec<String>,
    /// Names and bounds of the weights, of correctives: these are morph targets as they are.
    pub correctives: Option<(Vec<String>, [f64; 2])>,
    /// Where each shape may show; empty: everywhere.
    pub windows: Vec<Window>,
}

/// The shapes of a model within the budget of `settings`.
pub(super) fn deliver(
    model: &RiggedDeformer,
    settings: PoseSpaceSettings,
    progress: Progress<'_>,
) -> Result<(Delivered, Vec<Warning>), CompileError> {
    if settings.kernels == Some(0) {
        return Err(CompileError::NoKernels);
    }
    let kernels = settings.kernels.unwrap_or(PoseSpaceSettings::KERNELS);
    proceed(progress, 0, 1)?;
    let space = match model.baked().corrections() {
        [BakedCorrection::PoseSpace(space)] => space.widened(),
        [BakedCorrection::Shapes(shapes)] => {
            let shapes = shapes.widened();
            let correctives = shapes.clamp.is_some();
            enough(settings, correctives)?;
            within(Limited::Shapes, shapes.count() + usize::from(!correctives), settings.shapes)?;
            let kernel = &shapes.kernel;
            let centres = (0..kernel.groups()).map(|g| kernel.centres(g).len()).max();
            within(Limited::Kernels, centres.unwrap_or(0), settings.kernels)?;
            let origin = if correctives { Origin::Correctives } else { Origin::AsTheyAre };
            return Ok((whole(shapes, origin), vec![]));
        }
        _ => return Err(CompileError::NotDrivable(Refusal::NoPoseSpace)),
    };
    enough(settings, false)?;
    let mut warnings = vec![];
    let left = space.remainders.vertices.len();
    if left > 0 {
        warnings.push(Warning::Remainders { vertices: left });
    }
    let kernel = &space.kernel;
    let small = kernel.values() <= MOST_VALUES && (0..kernel.groups()).all(|g| kernel.centres(g).len() <= kernels);
    let most = settings.shapes.unwrap_or(PoseSpaceSettings::SHAPES) - 1;
    if small {
        let failed = CompileError::solve("the displacements of the pose space");
        return Ok((principal(space, most).map_err(failed)?, warnings));
    }
    let compiler = Compiler::new(&space)?;
    let budget = Budget { shapes: most.min(compiler.most()).max(1), centres: kernels, per_vertex: None };
    Ok((whole(compiler.compile(budget)?.0, Origin::Compiled), warnings))
}

/// Refuses fewer shapes than two, of which one holds the bind pose; correctives need none for it.
fn enough(settings: PoseSpaceSettings, correctives: bool) -> Result<(), CompileError> {
    match settings.shapes.filter(|most| *most < 2 && !correctives) {
        None => Ok(()),
        Some(most) => Err(CompileError::FewShapes(most)),
    }
}

/// Refuses shapes or kernels beyond what was asked for.
fn within(what: Limited, found: usize, most: Option<usize>) -> Result<(), CompileError> {
    match most.filter(|most| found > *most) {
        None => Ok(()),
        Some(most) => Err(CompileError::Budget { what, found, most }),
    }
}

/// Shapes as they are.
pub(super) fn whole(shapes: CompiledShapes, origin: Origin) -> Delivered {
    let mut made = vec![vec![DVec3::ZERO; shapes.terms.len()]; shapes.count()];
    for v in 0..shapes.terms.len() {
        for (&shape, displacement) in shapes.terms.of(v).iter().zip(&shapes.displacements[shapes.terms.range(v)]) {
            made[shape as usize][v] += *displacement;
        }
    }
    let mut at = 0;
    let mut row = |width: usize| {
        at += width;
        shapes.coefficients[at - width..at].to_vec()
    };
    let region = |g: usize| {
        let own = shapes.regions[g] as usize..shapes.regions[g + 1] as usize;
        own.map(|l| (l, row(shapes.kernel.range(g).len()))).collect()
    };
    Delivered {
        regions: (0..shapes.kernel.groups()).map(region).collect(),
        shapes: made,
        correctives: shapes.clamp.map(|clamp| (shapes.names.clone(), clamp)),
        names: shapes.names,
        windows: shapes.windows,
        kernel: shapes.kernel,
        origin,
    }
}

/// The first `most` principal directions of the displacements over samples; every value of the pose space is kept.
fn principal(space: PoseSpace, most: usize) -> Result<Delivered, SolveError> {
    let vertices: Vec<usize> = (0..space.groups.len()).filter(|&v| space.groups[v] != NO_GROUP).collect();
    let samples = sample_coordinates(&space.kernel, MOST_NUMBERS / (3 * vertices.len().max(1)));
    let rows: Vec<Vec<DVec3>> = samples
        .par_iter()
        .map_init(
            || (KernelValues::default(), vec![0.0; space.kernel.values()]),
            |(scratch, values), x| {
                space.kernel.values_at(x, scratch, values, |k| k);
                vertices.iter().map(|&v| space.displacement(v, values)).collect()
            },
        )
        .collect();
    let d = Mat::from_fn(samples.len(), 3 * vertices.len(), |s, c| rows[s][c / 3][c % 3]);
    let axes = principal_axes((&d * d.transpose()).as_ref())?;
    let least = 1e-14 * axes.values.first().copied().unwrap_or(0.0);
    let rank = axes.values.iter().take_while(|value| **value > least).count().min(most);
    let u = d.transpose() * axes.vectors.get(.., ..rank);
    let mut shapes = vec![vec![DVec3::ZERO; space.groups.len()]; rank];
    let mut regions: Vec<Vec<(usize, Vec<f64>)>> = (0..space.kernel.groups())
        .map(|g| (0..rank).map(|h| (h, vec![0.0; space.kernel.range(g).len()])).collect())
        .collect();
    for (h, shape) in shapes.iter_mut().enumerate() {
        let length = axes.values[h].sqrt();
        for (at, &v) in vertices.iter().enumerate() {
            shape[v] = DVec3::new(u[(3 * at, h)], u[(3 * at + 1, h)], u[(3 * at + 2, h)]) / length;
            let weights = space.weights.of(v);
            let row = &mut regions[space.groups[v] as usize][h].1;
            row.iter_mut().zip(weights).for_each(|(a, w)| *a += shape[v].dot(*w));
        }
    }
    let (origin, names) = (Origin::OwnValues, vec![]);
    Ok(Delivered { kernel: space.kernel, regions, shapes, origin, names, correctives: None, windows: vec![] })
}

/// Coordinates of training poses, of recombinations, and of fractions of these; about `most` altogether, and at least eight of
/// each kind.
pub(super) fn sample_coordinates(kernel: &Kernel, most: usize) -> Vec<Vec<[f64; ROOM]>> {
    let width = kernel.width();
    let training: Vec<&[[f64; ROOM]]> = kernel.examples.chunks_exact(width.max(1)).collect();
    if training.is_empty() {
        return vec![];
    }
    let of_a_kind = (most / 3).clamp(8, SAMPLES.0);
    let mut samples: Vec<Vec<_>> =
        training.iter().step_by(training.len().div_ceil(of_a_kind)).map(|x| x.to_vec()).collect();
    let mut random = Random::new(SEED, 0);
    for at in 0..2 * training.len().clamp(SAMPLES.1.min(of_a_kind), of_a_kind) {
        let factor = if at % 2 == 0 { 1.0 } else { random.unit() };
        let mut any = || training[(random.unit() * training.len() as f64) as usize];
        samples.push((0..width).map(|j| any()[j].map(|x| x * factor)).collect());
    }
    samples
}

impl Delivered {
    /// c of every shape from the values of a pose, and what else the kernel found in it.
    pub fn weights(&self, values: &[f64], pose: &KernelValues) -> Vec<f64> {
        let count = self.regions.iter().flatten().map(|(l, _)| l + 1).max().unwrap_or(0);
        let mut c = vec![0.0; count];
        for (g, region) in self.regions.iter().enumerate() {
            let values = &values[self.kernel.range(g)];
            region.iter().for_each(|(l, row)| c[*l] += row.iter().zip(values).map(|(a, k)| a * k).sum::<f64>());
        }
        if let Some((_, [low, high])) = self.correctives {
            c.iter_mut().for_each(|c| *c = c.clamp(low, high));
        }
        for (g, region) in self.regions.iter().enumerate().filter(|_| !self.windows.is_empty()) {
            region.iter().for_each(|(l, _)| c[*l] *= self.kernel.window(&self.windows[*l], g, pose));
        }
        c
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dermis_deform::guard::Weld;
    use dermis_deform::pose_space::{Joint, JointPart};
    use dermis_rig::BoneIndex;

    /// 300 training poses: every k-th of them, then twice as many as a third of what is asked for, in bounds.
    #[test]
    fn samples_are_about_as_many_as_asked_for() {
        let joint = Joint {
            parent: BoneIndex::new(0),
            bone: BoneIndex::new(1),
            limit: 1.0,
            axis: DVec3::X,
            part: JointPart::Whole,
        };
        let examples = (0..300).map(|s| [s as f64; ROOM]).collect();
        let kernel = Kernel::new(1.0, Weld::default(), vec![joint], examples);
        for (most, training, others) in [(usize::MAX, 100, 256), (60, 20, 40), (0, 8, 16)] {
            assert_eq!(sample_coordinates(&kernel, most).len(), training + others, "{most}");
        }
    }
}
