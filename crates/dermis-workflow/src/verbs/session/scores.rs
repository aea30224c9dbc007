//! What a step did, as far as it can be told without the truth, and with it where there is some.
//!
//! A session does not claim from its own sculpts that a step helped: artists go where nothing is taught, so that the sculpt just
//! made says nothing of the skin elsewhere. Checks do, which the model never learns from, in poses that are not beside a trained one.

use super::error::Error;
use super::file::{CheckErrors, Checks, Did, Met, Moved, Rise, Step, StepScores, StoredModel, UNMET};
use super::folder::{Session, pose_name};
use crate::recipe::{Watch, step};
use dermis_fit::method::Method;
use dermis_io::ModelFile;
use dermis_measure::WideRunner;
use dermis_rig::glam::DVec3;
use dermis_rig::progress::proceed;
use dermis_rig::{BoneTransforms, Example, Mirror, Progress};
use std::collections::BTreeMap;

/// Lines of a list at most.
const LISTED: usize = 3;

/// Frames of motions that are looked at for side effects; more are thinned evenly.
const FRAMES: usize = 256;

/// What moved less than this is not listed, in rest extents.
const LISTED_FROM: f64 = 1e-4;

/// A change of a session's model.
pub(super) struct Change<'a> {
    pub did: Did,
    /// The model before.
    pub before: Option<&'a StoredModel>,
    /// The new model.
    pub after: Option<&'a StoredModel>,
    /// The steps that count from now on.
    pub active: &'a [u32],
    /// The method that fits them.
    pub method: &'a Method,
}

/// A pose whose skin is known on some vertices.
struct Known {
    /// The check, or the truth and its frame.
    name: String,
    transforms: BoneTransforms,
    positions: Vec<DVec3>,
    /// Vertices that count.
    vertices: Vec<usize>,
}

/// The three models of a change, run side by side.
struct Models<'a> {
    rig: WideRunner<'a>,
    before: WideRunner<'a>,
    after: WideRunner<'a>,
}

impl<'a> Models<'a> {
    fn new([rig, before, after]: [&'a ModelFile; 3]) -> Self {
        let [rig, before, after] = [rig, before, after].map(|model| WideRunner::new(model.baked()));
        Self { rig, before, after }
    }
}

/// Returns what a change did.
///
/// # Errors
/// Those of reading the session's files, and of running its models.
pub(super) fn scores(session: &Session, change: &Change<'_>, watch: &dyn Watch) -> Result<StepScores, crate::Error> {
    let (before, after) = (session.model(change.before)?, session.model(change.after)?);
    let own = session.model(None)?;
    let mut models = Models::new([&own, &before, &after]);
    let taught: Vec<(&Step, Example)> = (session.file.taught(change.active))
        .map(|step| Ok::<_, crate::Error>((step, session.sculpt(step)?)))
        .collect::<Result<_, _>>()?;
    let about = change.did.step().and_then(|id| session.file.step(id));
    let about = about.map(|step| Ok::<_, crate::Error>((step, session.sculpt(step)?))).transpose()?;
    let refitted = change.before != change.after;
    let mut scores =
        StepScores { refitted, met: None, others: None, known: None, checks: None, moved: vec![], mirrored: 0.0 };
    for (step, example) in &taught {
        let met = met(session, &mut models, &step.name, example)?;
        if Some(step.id) == change.did.step() {
            scores.met = Some(met);
        } else if refitted && scores.others.as_ref().is_none_or(|worst| met.worst > worst.worst) {
            scores.others = Some(met);
        }
    }
    if let (Did::Add(_) | Did::On(_), Some((_, example))) = (change.did, &about) {
        scores.known = share_known(&mut models, example)?;
    }
    let partners = partners(session, change.method);
    let checked =
        step(watch, "check", |p| checks(session, change, &taught, &partners, [&before, &after], &mut models, p))?;
    scores.checks = checked;
    let sculpted = about.as_ref().map_or(vec![], |(_, example)| touched(example));
    if refitted {
        (scores.moved, scores.mirrored) =
            step(watch, "compare skins", |p| moved(session, &sculpted, &partners, &mut models, p))?;
    }
    Ok(scores)
}

/// Vertices that an example touched.
pub(super) fn touched(example: &Example) -> Vec<usize> {
    let mask = example.local.as_ref().and_then(|local| local.mask.as_ref());
    (0..example.positions.len()).filter(|&v| mask.is_none_or(|mask| mask[v])).collect()
}

/// How the new model meets a sculpt.
fn met(session: &Session, models: &mut Models<'_>, name: &str, example: &Example) -> Result<Met, crate::Error> {
    let most = UNMET * session.rig.rig.mesh().extent();
    let skin = models.after.run(&example.transforms, None)?;
    let (mut worst, mut squares, mut parts) = (0.0f64, 0.0, BTreeMap::<&str, (usize, f64)>::new());
    let vertices = touched(example);
    for &v in &vertices {
        let distance = skin[v].distance(example.positions[v]);
        (worst, squares) = (worst.max(distance), squares + distance * distance);
        if distance > most {
            let part = parts.entry(session.region(v)).or_default();
            *part = (part.0 + 1, part.1.max(distance));
        }
    }
    let part = |(region, (vertices, worst)): (&str, (usize, f64))| super::file::Unmet {
        region: region.into(),
        vertices,
        worst,
    };
    let mut unmet: Vec<_> = parts.into_iter().map(part).collect();
    unmet.sort_by(|a, b| b.worst.total_cmp(&a.worst));
    unmet.truncate(LISTED);
    let rms = (squares / vertices.len().max(1) as f64).sqrt();
    Ok(Met { name: name.into(), worst, rms, unmet })
}

/// The share of a sculpt's correction that the model before had; `None` if the sculpt is the rig's own skin.
fn share_known(models: &mut Models<'_>, example: &Example) -> Result<Option<f64>, crate::Error> {
    let vertices = touched(example);
    let left = |skin: &[DVec3]| -> f64 {
        vertices.iter().map(|&v| skin[v].distance_squared(example.positions[v])).sum::<f64>().sqrt()
    };
    let had = left(models.before.run(&example.transforms, None)?);
    let whole = left(models.rig.run(&example.transforms, None)?);
    Ok((whole > 0.0).then(|| 1.0 - had / whole))
}

/// The symmetry of a rig whose both sides the method teaches.
pub(super) fn mirror(session: &Session, method: &Method) -> Option<Mirror> {
    let rig = &session.rig.rig;
    let mirrors = matches!(method, Method::Joint(joint) if joint.mirror);
    let find = |weights| Mirror::find(&rig.mesh().positions, rig.skeleton(), weights);
    rig.weights().filter(|_| mirrors).and_then(find)
}

/// The mirror image of every vertex, where the method teaches both sides of a symmetric rig.
fn partners(session: &Session, method: &Method) -> Vec<Option<u32>> {
    let vertices = session.rig.rig.mesh().positions.len();
    mirror(session, method).map_or(vec![None; vertices], |mirror| mirror.vertices)
}

/// Vertices and their mirror images.
fn with_partners(vertices: impl IntoIterator<Item = usize>, partners: &[Option<u32>]) -> Vec<bool> {
    let mut all = vec![false; partners.len()];
    for v in vertices {
        all[v] = true;
        if let Some(partner) = partners[v] {
            all[partner as usize] = true;
        }
    }
    all
}

/// Errors on the poses whose skin is known; `None` without any.
fn checks(
    session: &Session,
    change: &Change<'_>,
    taught: &[(&Step, Example)],
    partners: &[Option<u32>],
    [before, after]: [&ModelFile; 2],
    models: &mut Models<'_>,
    progress: Progress<'_>,
) -> Result<Option<Checks>, crate::Error> {
    let mut known: Vec<Known> = Vec::new();
    for step in session.file.checks(change.active) {
        let example = session.sculpt(step)?;
        let vertices = touched(&example);
        let Example { transforms, positions, .. } = example;
        known.push(Known { name: step.name.clone(), transforms, positions, vertices });
    }
    let of_taught = taught.iter().flat_map(|(_, example)| touched(example));
    let skin = with_partners(of_taught, partners);
    let vertices: Vec<usize> = (0..skin.len()).filter(|&v| skin[v]).collect();
    if !vertices.is_empty() {
        for (file, set) in session.truths()? {
            let of_set = set.examples().iter().enumerate().map(|(at, example)| Known {
                name: format!("{}:{at}", file.name),
                transforms: example.transforms.clone(),
                positions: example.positions.clone(),
                vertices: vertices.clone(),
            });
            known.extend(of_set);
        }
    }
    if known.is_empty() {
        return Ok(None);
    }
    let skeleton = session.rig.rig.skeleton();
    let poses = [before.training(), after.training()];
    let (mut trained, mut count, mut rises) = (0, 0, Vec::new());
    let (mut squares, mut sum) = ([0.0f64; 3], 0usize);
    for (at, pose) in known.iter().enumerate() {
        proceed(progress, at, known.len()).map_err(crate::Error::from)?;
        if poses.iter().flatten().any(|poses| poses.has_beside(skeleton, &pose.transforms)) {
            trained += 1;
            continue;
        }
        count += 1;
        let skins = [
            models.before.run(&pose.transforms, None)?,
            models.after.run(&pose.transforms, None)?,
            models.rig.run(&pose.transforms, None)?,
        ];
        // Squares of both models by region.
        let mut regions = BTreeMap::<&str, ([f64; 2], usize)>::new();
        for &v in &pose.vertices {
            let errors = skins.map(|skin| skin[v].distance_squared(pose.positions[v]));
            squares.iter_mut().zip(errors).for_each(|(sum, error)| *sum += error);
            let region = regions.entry(session.region(v)).or_default();
            *region = ([region.0[0] + errors[0], region.0[1] + errors[1]], region.1 + 1);
        }
        sum += pose.vertices.len();
        let rise = |(region, (squares, vertices)): (&str, ([f64; 2], usize))| {
            let [before, after] = squares.map(|sum| (sum / vertices as f64).sqrt());
            Rise { check: pose.name.clone(), region: region.into(), before, after }
        };
        rises.extend(regions.into_iter().map(rise));
    }
    let least = LISTED_FROM * session.rig.rig.mesh().extent();
    rises.retain(|rise| rise.after - rise.before > least);
    rises.sort_by(|a, b| (b.after - b.before).total_cmp(&(a.after - a.before)));
    rises.truncate(LISTED);
    let errors = (sum > 0).then(|| {
        let [before, after, rig] = squares.map(|all| (all / sum as f64).sqrt());
        CheckErrors { before, after, rig }
    });
    Ok(Some(Checks { frames: count, trained, errors, rises }))
}

/// Where a change moved skin that was not sculpted, a line per region, and how far it moved the mirror image of what was.
fn moved(
    session: &Session,
    sculpted: &[usize],
    partners: &[Option<u32>],
    models: &mut Models<'_>,
    progress: Progress<'_>,
) -> Result<(Vec<Moved>, f64), crate::Error> {
    let count = session.rig.rig.mesh().positions.len();
    let own = with_partners(sculpted.iter().copied(), &vec![None; count]);
    let both = with_partners(sculpted.iter().copied(), partners);
    let mut regions = BTreeMap::<&str, Moved>::new();
    let mut mirrored = 0.0f64;
    let motions = session.motions()?;
    let frames: usize = motions.iter().map(|motion| motion.frames.len()).sum();
    let all = motions.iter().flat_map(|motion| (0..motion.frames.len()).map(move |frame| (motion, frame)));
    for (at, (motion, frame)) in all.enumerate().step_by(frames.div_ceil(FRAMES).max(1)) {
        proceed(progress, at, frames).map_err(crate::Error::from)?;
        let pose = session.rig.rig.skeleton().bone_transforms(&motion.frames[frame].pose);
        let (before, after) = (models.before.run(&pose, None)?, models.after.run(&pose, None)?);
        let mut farthest = BTreeMap::<&str, f64>::new();
        for v in (0..count).filter(|&v| !own[v]) {
            let distance = before[v].distance(after[v]);
            if both[v] {
                mirrored = mirrored.max(distance);
            } else if distance > 0.0 {
                let most = farthest.entry(session.region(v)).or_default();
                *most = most.max(distance);
            }
        }
        for (region, distance) in farthest {
            if regions.get(region).is_none_or(|known| distance > known.distance) {
                let there = Moved { pose: pose_name(motion, frame), region: region.into(), distance };
                regions.insert(region, there);
            }
        }
    }
    let least = LISTED_FROM * session.rig.rig.mesh().extent();
    let mut moved: Vec<Moved> = regions.into_values().filter(|moved| moved.distance > least).collect();
    moved.sort_by(|a, b| b.distance.total_cmp(&a.distance));
    moved.truncate(LISTED);
    Ok((moved, mirrored))
}

impl Session {
    /// Skin that the steps of a state teach, with its mirror image.
    ///
    /// # Errors
    /// [`Error::NothingTaught`], and those of reading.
    pub(super) fn taught_skin(&self) -> Result<Vec<usize>, crate::Error> {
        let state = self.file.state();
        let mut vertices = Vec::new();
        for step in self.file.taught(&state.active) {
            vertices.extend(touched(&self.sculpt(step)?));
        }
        if vertices.is_empty() {
            return Err(Error::NothingTaught.into());
        }
        vertices.sort_unstable();
        vertices.dedup();
        Ok(vertices)
    }
}
