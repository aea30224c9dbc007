//! A session goes on with another rig: weights painted anew, a rest mesh that was mended, joints that were moved.
//!
//! Vertices and faces must be the same, and every bone that moves skin must be there. The poses of motions and sculpts are carried by the
//! names of bones. Where the rest mesh is the same, a sculpt keeps its skin: it says how the skin is, whatever the weights are. Where it
//! differs, a sculpt keeps what it adds to the skin of the rig's own weights:
//!
//! ```text
//! t' = b' + (t − b),      shown' = b' + (shown − b),      b the skin of the rig's own weights in the pose, b' that of the other rig
//! ```
//!
//! The steps keep their numbers, those switched off stay so, and one fit makes the model. Offers are given up: what they showed is gone.

use super::begin::expect_free;
use super::error::Error;
use super::file::{Did, ShownBy, Step};
use super::folder::{Session, put_sculpt, skin};
use crate::load::{FileNote, ReadOptions, Source, load_motion, load_rig};
use crate::recipe::{Input, Watch, seen, step};
use crate::verbs::suggest::model_of_weights;
use dermis_io::{ModelFile, Space};
use dermis_rig::glam::DVec3;
use dermis_rig::{BoneIndex, Example, ExampleSet, LocalSculpt, Motion, Rig};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// What a session goes on with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Rebase {
    /// The folder of the session whose steps are carried. Nothing in it changes.
    pub from: PathBuf,
    /// The other rig: mesh and skeleton at rest, with skinning weights.
    pub rig: Input,
}

impl Session {
    /// Begins a session in a free folder with the steps of another one, carried to another rig. Result: what a user should know, too.
    ///
    /// # Errors
    /// [`Error::Rebase`] for a rig of other vertices, faces or bones; those of [`Self::open`], [`Self::begin`] and the fit.
    pub fn rebase(folder: &Path, rebase: &Rebase, watch: &dyn Watch) -> Result<(Self, Vec<String>), crate::Error> {
        let old = Self::open(&rebase.from, super::Access::Look)?;
        expect_free(folder)?;
        let path = &rebase.rig.file.path;
        let loaded = step(watch, "read rig", |_| load_rig(path))?;
        if loaded.rig.weights().is_none() {
            return Err(Error::NoWeights { path: path.clone() }.into());
        }
        seen(watch, [&rebase.rig], &loaded.notes)?;
        let same_rest = old.rests_as(&loaded.rig);
        if let Some(why) = apart(&old.rig.rig, &loaded.rig, same_rest) {
            return Err(Error::Rebase { path: path.clone(), why }.into());
        }
        let own = [old.model(None)?, model_of_weights(&loaded)?];
        let mut carrier = Carrier { rig: &loaded.rig, own, same_rest, notes: vec![] };
        let motions = (0..old.file.motions.len())
            .map(|at| Ok(Motion { name: old.file.motions[at].name.clone(), ..carrier.poses(&old.motion_source(at))? }));
        let motions = motions.collect::<Result<Vec<_>, crate::Error>>()?;
        let truths = old.truths()?.into_iter().map(|(file, set)| {
            let poses = carrier.poses(&old.poses_source(file))?;
            let examples = set.examples().iter().enumerate().map(|(at, e)| carrier.example(e, &poses, at));
            let examples = examples.collect::<Result<Vec<_>, _>>()?;
            let made = ExampleSet::new(file.name.clone(), examples, &loaded.rig);
            made.map_err(|error| crate::Error::Internal(error.to_string()))
        });
        let truths = truths.collect::<Result<Vec<_>, crate::Error>>()?;
        let state = old.file.state();
        let mut session = Self::laid_out(folder, (path, &loaded), &motions, &truths, &state.method)?;
        for known in &old.file.steps {
            let poses = carrier.poses(&Source { path: old.step_path(known), part: None })?;
            let example = carrier.example(&old.sculpt(known)?, &poses, 0)?;
            let sha256 = put_sculpt(&session.folder, known.role, &session.rig.rig, &example)?;
            session.file.steps.push(Step { sha256, shown_by: ShownBy::File, ..known.clone() });
        }
        watch.files(&carrier.notes);
        let mut said = vec![];
        if !carrier.same_rest {
            said.push("the rest mesh differs: sculpts keep what they add to the skin of the rig's own weights".into());
        }
        if !old.file.steps.is_empty() {
            let taught = old.file.taught(&state.active).next().is_some();
            said.extend(session.go(Did::Fit, state.active.clone(), state.method.clone(), taught, watch)?);
        }
        Ok((session, said))
    }

    /// Whether the vertices of another rig rest where those of the session do.
    fn rests_as(&self, other: &Rig) -> bool {
        let [own, other] = [&self.rig.rig, other].map(|rig| &rig.mesh().positions);
        own.len() == other.len() && own.iter().zip(other).all(|(a, b)| a.distance(*b) <= self.touch())
    }
}

/// Why sculpts of one rig are none of another, if they are not. Where the rest mesh differs, faces tell whether the vertices are the
/// same.
fn apart(old: &Rig, new: &Rig, same_rest: bool) -> Option<String> {
    let counts = [old, new].map(|rig| rig.mesh().positions.len());
    if counts[0] != counts[1] {
        return Some(format!("it has {} vertices, and that of the session {}", counts[1], counts[0]));
    }
    if !same_rest && faces(old) != faces(new) {
        return Some("its faces join other vertices".into());
    }
    let moves = |bone: &BoneIndex| {
        let rows = old.weights().into_iter().flat_map(|weights| weights.rows());
        rows.flatten().any(|(of, weight)| of == bone && *weight != 0.0)
    };
    let lost = old.skeleton().bones().filter(|&bone| new.skeleton().find(&old.skeleton().names()[bone]).is_none());
    let lost: Vec<&str> = lost.filter(moves).map(|bone| old.skeleton().names()[bone].as_str()).collect();
    (!lost.is_empty()).then(|| format!("it lacks bones that move the session's skin: {}", lost.join(", ")))
}

/// The triangles, whatever their order and wherever they begin.
fn faces(rig: &Rig) -> Vec<[u32; 3]> {
    let turned = |&[a, b, c]: &[u32; 3]| [[a, b, c], [b, c, a], [c, a, b]].into_iter().min().unwrap_or([a, b, c]);
    let mut faces: Vec<_> = rig.mesh().triangles.iter().map(turned).collect();
    faces.sort_unstable();
    faces
}

/// What carries poses and skins.
struct Carrier<'a> {
    rig: &'a Rig,
    /// The rigs' own weights, the session's first.
    own: [ModelFile; 2],
    same_rest: bool,
    /// Of what was read.
    notes: Vec<FileNote>,
}

impl Carrier<'_> {
    /// The poses of a bundle of the session.
    fn poses(&mut self, source: &Source) -> Result<Motion, crate::Error> {
        let (motion, note) = load_motion(self.rig, &Space::default(), source, &ReadOptions::default())?;
        self.notes.push(note);
        Ok(motion)
    }

    /// An example in pose `at` of what was carried.
    fn example(&self, example: &Example, poses: &Motion, at: usize) -> Result<Example, crate::Error> {
        let lost = || crate::Error::Internal("a bundle of a session lost a pose".into());
        let transforms = self.rig.skeleton().bone_transforms(&poses.frames.get(at).ok_or_else(lost)?.pose);
        let (b, moved) = (skin(&self.own[0], &example.transforms)?, skin(&self.own[1], &transforms)?);
        let carried = |x: &[DVec3]| x.iter().zip(&b).zip(&moved).map(|((x, b), moved)| *moved + (*x - *b)).collect();
        let mut made = Example { transforms, ..example.clone() };
        if !self.same_rest {
            made.positions = carried(&example.positions);
        }
        if let Some(LocalSculpt { mask, shown: Some(shown) }) = &mut made.local {
            *shown = carried(shown);
            // What nobody touched is what is shown now.
            let untouched = mask.iter().flat_map(|mask| (0..mask.len()).filter(|&v| !mask[v]));
            untouched.for_each(|v| made.positions[v] = shown[v]);
        }
        Ok(made)
    }
}
