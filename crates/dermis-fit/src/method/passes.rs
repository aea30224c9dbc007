//! The joint model fitted to examples that nobody holds: they are read several times, a block of vertices at a time.
//!
//! The first pass reads the poses. The second reads the vertices on which base, composite joints, λ and sides are chosen. Every
//! further pass reads the residuals of a block of vertices in all poses, and solves the block. What is fitted is what
//! [`Method::fit`] fits, to rounding.

use super::base::BaseChoice;
use super::forms::Forms;
use super::joint::Found;
use super::mush::{self, Seen};
use super::share::{FormOfShare, Share, SolvedShare};
use super::sums::whole_skins;
use super::{FitInput, JointMethod, Learnt, Method, MethodError};
use crate::joints::{BlockFit, Held, JointSettings};
use crate::training::{BasePoses, FitError, Progress, Training, without_skin};
use dermis_deform::Base;
use dermis_rig::glam::DVec3;
use dermis_rig::{BoneTransforms, Example, ExampleSet, Influences, Rig};
use std::ops::Range;

/// Bytes of residuals that a block takes at most, unless 64 vertices take more. Mirror images stand beside each other in the order in which
/// vertices are solved, so that a block holds hardly any of another.
pub const BLOCK_BYTES: usize = 1 << 30;
const LEAST_BLOCK: usize = 64;

/// A fit of the joint model whose examples are read again and again.
pub struct Passes<'a> {
    rig: &'a Rig,
    method: &'a JointMethod,
    weights: &'a Influences,
    block_bytes: usize,
    share: Share,
    /// The examples without positions.
    examples: Vec<Example>,
    is_clip: bool,
    pass: Pass,
    /// Examples that came by in this pass.
    seen: usize,
}

/// What is read now.
enum Pass {
    Poses,
    Sample(Box<JointSettings>, Held),
    Block(Box<Blocks>, Held),
    Done(Box<Blocks>),
}

/// What is known once the form of the model is chosen.
struct Blocks {
    settings: JointSettings,
    base: Base,
    chosen: BaseChoice,
    bases: mush::Choice,
    forms: Forms,
    fit: BlockFit,
    /// The vertices of the share in the order in which they are solved.
    order: Vec<usize>,
    /// How many a block has.
    size: usize,
    /// Where the block that is read starts and ends in that order.
    block: Range<usize>,
}

impl<'a> Passes<'a> {
    /// Nothing read yet. The examples of `input` are not read. A block takes `block_bytes` at most.
    ///
    /// # Errors
    /// [`MethodError::NotFromSums`] for other methods, and for bases of given positions; settings that do not fit the rig.
    pub fn new(method: &'a Method, input: &FitInput<'a>, block_bytes: usize) -> Result<Self, MethodError> {
        method.check()?;
        let refused = |what: String| Err(MethodError::NotFromSums { what });
        let Method::Joint(own) = method else { return refused(format!("the method {method}")) };
        if own.base == BaseChoice::Given {
            return refused("a base of given positions".into());
        }
        if own.remember.is_some_and(|strength| strength > 0.0) {
            return refused("a model that remembers its sculpts (remember=0 keeps none)".into());
        }
        let (rig, weights) = (input.rig, input.weights()?);
        let (share, examples, is_clip) = (Share::default(), vec![], false);
        Ok(Self { rig, method: own, weights, block_bytes, share, examples, is_clip, pass: Pass::Poses, seen: 0 })
    }

    /// The same, solving a share of the vertices alone.
    #[must_use]
    pub fn of_share(self, share: Share) -> Self {
        Self { share, ..self }
    }

    /// What was solved, to be merged with the other shares.
    ///
    /// # Errors
    /// [`MethodError::Changed`] before the last pass has ended.
    pub fn into_share(self) -> Result<SolvedShare, MethodError> {
        let Pass::Done(blocks) = self.pass else { return Err(MethodError::Changed) };
        let Blocks { chosen, bases, forms, fit, .. } = *blocks;
        let form = FormOfShare { base: chosen, bases, forms, joints: fit.form() };
        let poses = self.examples.into_iter().map(|example| (example.transforms, example.importance)).collect();
        Ok(SolvedShare { form, is_clip: self.is_clip, poses, vertices: fit.solved() })
    }

    /// All shares of a fit, ready to be [finished](Self::finish).
    ///
    /// # Errors
    /// [`MethodError::Shares`] if they are not of one fit, or leave vertices out; as [`new`](Self::new).
    pub fn merged(method: &'a Method, input: &FitInput<'a>, shares: Vec<SolvedShare>) -> Result<Self, MethodError> {
        let unfit = |what: &str| MethodError::Shares { what: what.into() };
        let mut shares = shares.into_iter();
        let Some(SolvedShare { form, is_clip, poses, mut vertices }) = shares.next() else {
            return Err(unfit("there is none"));
        };
        for share in shares {
            if share.form != form {
                return Err(unfit("their fits chose other forms of the model"));
            }
            if share.poses != poses || share.is_clip != is_clip {
                return Err(unfit("their examples differ"));
            }
            vertices.extend(share.vertices);
        }
        let mut made = Self::new(method, input, BLOCK_BYTES)?;
        if poses.iter().any(|(pose, _)| pose.len() != made.rig.skeleton().len()) {
            return Err(unfit("their poses are of another skeleton"));
        }
        made.is_clip = is_clip;
        made.examples = poses
            .into_iter()
            .enumerate()
            .map(|(s, (transforms, importance))| Example {
                label: format!("pose {s}"),
                time: None,
                transforms,
                positions: vec![],
                importance,
                local: None,
            })
            .collect();
        let FormOfShare { base: chosen, bases, forms, joints } = form;
        let mut settings = made.method.settings(made.rig, made.weights, is_clip);
        forms.set(&mut settings);
        let nothing = ExampleSet::default();
        let base = chosen.of(&FitInput::new(made.rig, &nothing))?;
        let training = training(made.rig, &made.examples);
        let fit = BlockFit::of_solved(joints, vertices, &training, made.weights, &settings)?;
        let fit = fit.ok_or_else(|| unfit("together they are not every vertex once"))?;
        let blocks = Blocks { settings, base, chosen, bases, forms, fit, order: vec![], size: 0, block: 0..0 };
        made.pass = Pass::Done(Box::new(blocks));
        Ok(made)
    }

    /// Takes the next examples of this pass.
    ///
    /// # Errors
    /// [`MethodError::Changed`] for poses other than those of the first pass, [`MethodError::NotFromSums`] for a local sculpt.
    pub fn add(&mut self, examples: &[Example]) -> Result<(), MethodError> {
        whole_skins(examples)?;
        let rest = &self.rig.mesh().positions;
        for example in examples {
            let at = self.seen;
            let is_first = matches!(self.pass, Pass::Poses);
            if !is_first && self.examples.get(at).is_none_or(|known| known.transforms != example.transforms) {
                return Err(MethodError::Changed);
            }
            match &mut self.pass {
                Pass::Sample(_, held) => held.push(|v| example.positions[v]),
                Pass::Block(blocks, held) => {
                    let skin = posed(&mut blocks.base, rest, &example.transforms);
                    held.push(|v| example.positions[v] - skin[v]);
                }
                Pass::Poses => {
                    let importance = self.method.importance.at(&example.label, example.importance);
                    self.examples.push(Example { importance, ..without_skin(example) });
                }
                Pass::Done(_) => return Err(MethodError::Changed),
            }
            self.seen += 1;
        }
        Ok(())
    }

    /// Ends a pass; whether the examples are to be read once more. `is_clip` says that they are frames of a clip.
    ///
    /// # Errors
    /// As [`Method::fit`]; [`MethodError::Changed`] if the pass had fewer examples than the first.
    pub fn end_pass(&mut self, is_clip: bool, progress: Progress<'_>) -> Result<bool, MethodError> {
        if self.seen != self.examples.len() {
            return Err(MethodError::Changed);
        }
        self.seen = 0;
        self.pass = match std::mem::replace(&mut self.pass, Pass::Poses) {
            Pass::Poses => {
                self.is_clip = is_clip;
                self.after_poses(is_clip)?
            }
            Pass::Sample(settings, sample) => self.after_sample(*settings, &sample, progress)?,
            Pass::Block(mut blocks, held) => {
                let training = Training { base: held.residuals(), ..training(self.rig, &self.examples) };
                let Blocks { fit, order, block, settings, .. } = &mut *blocks;
                fit.solve(&training, self.weights, settings, &order[block.clone()], progress)?;
                self.block(blocks)
            }
            done => done,
        };
        Ok(!matches!(self.pass, Pass::Done(_)))
    }

    /// Examples of the first pass.
    pub fn poses(&self) -> usize {
        self.examples.len()
    }

    /// The model, and the poses it was trained on.
    ///
    /// # Errors
    /// As [`Method::fit`]; [`MethodError::Changed`] before the last pass has ended.
    pub fn finish(self) -> Result<(Learnt, Vec<BoneTransforms>), MethodError> {
        let Self { rig, method, weights, examples, .. } = self;
        let Pass::Done(blocks) = self.pass else { return Err(MethodError::Changed) };
        let Blocks { settings, base, chosen, bases, forms, fit, .. } = *blocks;
        let fitted = fit.finish(&training(rig, &examples), weights, &settings)?;
        let found = Found { base: chosen, bases, forms, fitted };
        let nothing = ExampleSet::default();
        let learnt = method.learnt(base, found, settings, &FitInput::new(rig, &nothing), examples.len())?;
        let poses = learnt.training_poses(examples.iter().map(|example| &example.transforms));
        Ok((learnt, poses))
    }

    /// The vertices on which the form of the model is chosen.
    fn after_poses(&self, is_clip: bool) -> Result<Pass, MethodError> {
        let counted = self.examples.iter().filter(|example| example.importance > 0.0).count();
        if counted == 0 {
            return Err(FitError::NoExamples.into());
        }
        let (settings, mesh) = (self.method.settings(self.rig, self.weights, is_clip), self.rig.mesh());
        let vertices = mesh.positions.len();
        let strides = [&settings, &mush::for_choice(&settings)].map(|settings| settings.stride(vertices, counted));
        let strides = [strides[0], strides[1], mush::stride(mesh)];
        let sampled = (0..vertices).filter(|v| strides.iter().any(|stride| v.is_multiple_of(*stride)));
        let held = Held::new(sampled, settings.mirror.as_ref(), vertices, self.examples.len());
        Ok(Pass::Sample(Box::new(settings), held))
    }

    /// Chooses the form of the model.
    fn after_sample(
        &self,
        mut settings: JointSettings,
        sample: &Held,
        progress: Progress<'_>,
    ) -> Result<Pass, MethodError> {
        let (method, weights, rest) = (self.method, self.weights, &self.rig.mesh().positions);
        let seen =
            Seen { mesh: self.rig.mesh(), weights, training: training(self.rig, &self.examples), some: Some(sample) };
        let (bases, plain) = method.bases(&seen, &settings, progress)?;
        let chosen = mush::stated(bases.first().map_or(method.base, |&(base, _)| base), &seen)?;
        let nothing = ExampleSet::default();
        let mut base = chosen.of(&FitInput::new(self.rig, &nothing))?;
        let mut residuals = sample.none();
        for (s, example) in self.examples.iter().enumerate() {
            let skin = posed(&mut base, rest, &example.transforms);
            residuals.push(|v| sample.at(s, v) - skin[v]);
        }
        let training = Training { base: residuals.residuals(), ..training(self.rig, &self.examples) };
        let forms = method.forms((&training, weights, self.rig.states_up()), plain, &settings, progress)?;
        forms.set(&mut settings);
        let fit = BlockFit::choose(&training, weights, &settings, progress)?;
        let mut order = fit.order(&training, weights, &settings)?;
        order = order[self.share.of(order.len())].to_vec();
        let per_vertex = size_of::<DVec3>() * self.examples.len();
        let size = (self.block_bytes / per_vertex).max(LEAST_BLOCK);
        let blocks = Blocks { settings, base, chosen, bases, forms, fit, order, size, block: 0..0 };
        Ok(self.block(Box::new(blocks)))
    }

    /// The next block.
    fn block(&self, mut blocks: Box<Blocks>) -> Pass {
        let from = blocks.block.end;
        blocks.block = from..(from + blocks.size).min(blocks.order.len());
        if blocks.block.is_empty() {
            return Pass::Done(blocks);
        }
        let vertices = blocks.order[blocks.block.clone()].iter().copied();
        let mirror = blocks.settings.mirror.as_ref().filter(|_| blocks.fit.is_mirrored());
        let held = Held::new(vertices, mirror, self.rig.mesh().positions.len(), self.examples.len());
        Pass::Block(blocks, held)
    }
}

/// Examples, without skins.
fn training<'a>(rig: &'a Rig, examples: &'a [Example]) -> Training<'a> {
    Training {
        skeleton: rig.skeleton(),
        rest: &rig.mesh().positions,
        length: rig.mesh().extent(),
        examples,
        base: BasePoses::NONE,
    }
}

/// The base in a pose.
fn posed(base: &mut Base, rest: &[DVec3], transforms: &BoneTransforms) -> Vec<DVec3> {
    let mut skin = vec![DVec3::ZERO; rest.len()];
    base.evaluate(rest, transforms, None, &mut skin);
    skin
}
