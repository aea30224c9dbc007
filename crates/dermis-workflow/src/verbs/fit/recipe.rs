//! `fit`: from a rig and examples to a model with its report.

use super::Memory;
use super::held::{self, Beside, HeldFit};
use super::secondary::{self, READ_CLIPS, SecondaryFound};
use super::stream::StreamedFit;
use crate::error::Error;
use crate::load::{
    FileNote, LoadedRig, ReadOptions, Source, hash_of, load_anchors, load_base_cache, load_examples, load_map_table,
    load_model, load_rig, open_file, stream_examples,
};
use crate::measure::{PassRule, Scores, bound_of};
use crate::memory;
use crate::output::{Kind, Output, reserve_file_of};
use crate::recipe::{Existing, Input, Provenance, SculptInput, Watch, keep, paths, reserve_page, sources, step};
use crate::report::page::FileStamp;
use crate::report::{ModelOutcome, ScoredExamples, SetRole};
use crate::shown::{file_stamps, fit_summary};
use crate::verbs::compare::recipe::USUAL_FOLDS;
use crate::verbs::fit::{FitInput, FitReport, Fitted, Method, Streaming};
use crate::verbs::invert::{ShownSkin, load_sculpts, load_stack};
use crate::verbs::suggest::{Advice, advice_json, advice_table};
use crate::verbs::transfer::carried_prior;
use dermis_deform::RiggedDeformer;
use dermis_files::load::found;
use dermis_files::place;
use dermis_files::provenance::folder_of;
use dermis_fit::Progress;
use dermis_fit::method::share::Share;
use dermis_fit::method::{BaseChoice, MethodError};
use dermis_io::{ModelFile, model_file};
use dermis_measure::WideRunner;
use dermis_rig::{BoneTransforms, Example, ExampleSet, LocalSculpt};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// A fit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct FitRecipe {
    /// Mesh and skeleton at rest.
    pub rig: Input,
    /// What is learnt from.
    pub examples: FitExamples,
    /// Examples that the fit may not see.
    #[serde(default)]
    pub hold_out: Vec<Input>,
    /// Clips in which the skin swung, which springs of secondary motion are learnt from once the model is fitted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secondary_from: Vec<Input>,
    /// Positions of a given base in the poses of the examples, then of the held-out ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_cache: Option<Input>,
    /// A table of influence maps, for maps of a table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub map_table: Option<Input>,
    /// A bone name per line and vertex, for anchors per vertex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anchors: Option<Input>,
    /// Deformers one after another, from a JSON file, for a base of `stack`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack: Option<Input>,
    /// A model that another correction is learnt over, for a base of `model`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_model: Option<Input>,
    /// A model of another character, which serves where the examples say little.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prior: Option<Input>,
    /// The method with its settings.
    #[serde(default)]
    pub method: Method,
    /// How files are read where they do not say it themselves.
    #[serde(default)]
    pub read: ReadOptions,
    /// Folds of the validation without held-out examples; below 2 there is none.
    pub folds: usize,
    /// What is written.
    #[serde(default, skip_serializing_if = "FitOutputs::is_none")]
    pub outputs: FitOutputs,
}

/// What a fit learns from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FitExamples {
    /// Examples that are read and held.
    Held(Vec<Input>),
    /// Sculpts that are read and held.
    Sculpts {
        /// The sculpts.
        sculpts: Vec<SculptInput>,
        /// Poses of sculpts that have none of their own.
        #[serde(default)]
        poses: Option<Input>,
    },
    /// Examples that are summed as they are read, and never held.
    Streamed(Vec<Input>),
    /// Sums over examples, in this order.
    Sums(Vec<Input>),
}

/// What a fit writes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct FitOutputs {
    /// The model.
    pub model: Option<PathBuf>,
    /// A part to be merged with others, instead of a model: sums over the examples, or the joint model of a share of the vertices.
    pub sums: Option<PathBuf>,
    /// The share; the whole without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<Share>,
    /// Where the page goes (.html).
    pub report: Option<PathBuf>,
    /// What happens to outputs that are there already.
    pub existing: Existing,
    /// The fit counts as failed if the rms error that counts is above this, metres.
    pub fail_above: Option<f64>,
    /// The fit counts as failed unless this share of the distances that count lies within this bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pass: Option<PassRule>,
    /// What the model and the page say of the places of their files.
    #[serde(skip_serializing_if = "Provenance::is_relative")]
    pub provenance: Provenance,
    /// The folder that paths in the model's recipe are relative to; the model's own without one.
    #[serde(skip)]
    pub root: Option<PathBuf>,
    /// What the page calls the command that made it.
    #[serde(skip)]
    pub command: Option<String>,
}

/// What came of a fit.
#[derive(Debug)]
pub enum FitDone {
    /// A model.
    Model(Box<FitOutcome>),
    /// Sums over examples.
    Sums {
        /// Examples summed.
        poses: usize,
        /// Largest resident memory, bytes.
        peak: Option<u64>,
        /// Where they were written.
        written: Vec<PathBuf>,
    },
}

/// A fitted model with everything that was found out about it.
#[derive(Debug)]
pub struct FitOutcome {
    /// The model, with its recipe.
    pub model: ModelFile,
    /// What the fit found.
    pub report: FitReport,
    /// Seconds the fit took, files not counted.
    pub seconds: f64,
    /// Training poses.
    pub poses: usize,
    /// The sets that were scored, the one that counts last, with their examples; with none if they were streamed, or left
    /// out of fits one after another.
    pub sets: Vec<(SetRole, Scores, ExampleSet)>,
    /// What training lacks for the held-out poses, expected from the poses alone.
    pub lacks: Option<Advice>,
    /// What was found out about secondary motion, if it was to be learnt.
    pub secondary: Option<SecondaryFound>,
    /// Whether the caller stopped the cross-validation.
    pub validation_stopped: bool,
    /// The files read.
    pub files: Vec<FileNote>,
    /// What it took.
    pub memory: Memory,
    /// What was found while reading the examples that a user should know.
    pub read_warnings: Vec<String>,
    /// Where something was written.
    pub written: Vec<PathBuf>,
    /// Whether the error that counts is above its limit, or the demand on it not met.
    pub failed: bool,
    pub(super) pass: Option<PassRule>,
    /// The files read, as the page lists them.
    pub(super) stamps: Vec<FileStamp>,
    pub(super) command: Option<String>,
}

/// A fit whose files are read, but for held-out examples that are measured as they are read.
enum Ready<'a> {
    /// Its examples are held.
    Held(Box<HeldFit<'a>>),
    /// Its examples came by.
    Streamed(Box<StreamedFit<'a>>),
}

/// Outputs that are free, or may be replaced.
struct Reserved {
    model: Option<Output>,
    sums: Option<Output>,
    report: Option<Output>,
}

impl FitOutputs {
    /// Whether nothing is written and nothing is judged.
    fn is_none(&self) -> bool {
        *self == Self { command: self.command.clone(), root: self.root.clone(), ..Self::default() }
    }

    /// The folder that paths in the model's recipe are relative to.
    fn root(&self) -> &Path {
        self.root.as_deref().or(self.model.as_deref().map(folder_of)).unwrap_or(Path::new("."))
    }

    fn reserve(&self) -> Result<Reserved, Error> {
        Ok(Reserved {
            model: self.model.as_deref().map(|path| reserve_file_of(Kind::Model, path, self.existing)).transpose()?,
            sums: self.sums.as_deref().map(|path| reserve_file_of(Kind::Sums, path, self.existing)).transpose()?,
            report: self.report.as_deref().map(|path| reserve_page(path, self.existing)).transpose()?,
        })
    }
}

impl FitExamples {
    pub(crate) fn inputs(&self) -> Vec<Input> {
        match self {
            Self::Held(inputs) | Self::Streamed(inputs) | Self::Sums(inputs) => inputs.clone(),
            Self::Sculpts { sculpts, poses } => sculpts.iter().map(SculptInput::input).chain(poses.clone()).collect(),
        }
    }

    /// Checks the hashes of the inputs, and states them from now on.
    fn stamp(&mut self, files: &[FileNote]) -> Result<(), Error> {
        match self {
            Self::Held(inputs) | Self::Streamed(inputs) | Self::Sums(inputs) => {
                inputs.iter_mut().try_for_each(|input| input.stamp(files))
            }
            Self::Sculpts { sculpts, poses } => {
                sculpts.iter_mut().try_for_each(|sculpt| sculpt.stamp(files))?;
                poses.iter_mut().try_for_each(|input| input.stamp(files))
            }
        }
    }
}

impl FitRecipe {
    /// A fit with default settings: nothing held out, validated by five folds, nothing written.
    pub fn new(rig: Input, examples: FitExamples, method: Method) -> Self {
        Self {
            rig,
            examples,
            hold_out: Vec::new(),
            secondary_from: Vec::new(),
            base_cache: None,
            map_table: None,
            anchors: None,
            stack: None,
            base_model: None,
            prior: None,
            method,
            read: ReadOptions::default(),
            folds: USUAL_FOLDS,
            outputs: FitOutputs::default(),
        }
    }

    /// Fits, validates and writes.
    ///
    /// # Errors
    /// [`Error`].
    pub fn run(&self, watch: &dyn Watch) -> Result<FitDone, Error> {
        self.method.check()?;
        if self.stack.is_some() && self.method.base() != Some(BaseChoice::Stack) {
            return Err(MethodError::Unused { setting: "stack", with: "over another base" }.into());
        }
        if self.base_model.is_some() && self.method.base() != Some(BaseChoice::Model) {
            return Err(MethodError::Unused { setting: "the model beneath", with: "over another base" }.into());
        }
        if !self.secondary_from.is_empty() && self.outputs.sums.is_some() {
            return Err(MethodError::Unused { setting: "secondary_from", with: "where a part is written" }.into());
        }
        if self.prior.is_some() && matches!(self.examples, FitExamples::Streamed(_) | FitExamples::Sums(_)) {
            return Err(MethodError::Unused { setting: "prior", with: "where examples are not held" }.into());
        }
        if self.outputs.share.is_some() {
            if self.outputs.sums.is_none() {
                return Err(MethodError::Unused { setting: "share", with: "where no part is written" }.into());
            }
            if !matches!(self.method, Method::Joint(_)) {
                return Err(MethodError::Unused { setting: "share", with: "with sums over examples" }.into());
            }
        }
        let reserved = self.outputs.reserve()?;
        let examples = self.examples.inputs();
        let beside = [&self.base_cache, &self.map_table, &self.anchors, &self.stack, &self.base_model, &self.prior];
        let beside = beside.into_iter().flatten();
        let inputs: Vec<&Input> = [&self.rig]
            .into_iter()
            .chain(&examples)
            .chain(&self.hold_out)
            .chain(&self.secondary_from)
            .chain(beside)
            .collect();
        keep(&inputs, reserved.model.iter().chain(&reserved.sums))?;
        watch.plan(&self.steps());
        let loaded = step(watch, "read rig", |_| load_rig(&self.rig.file.path))?;
        let mut files = loaded.notes.clone();
        let clips = self.read_clips(&loaded, &mut files, watch)?;
        let (nothing, beside);
        let mut said = vec![];
        let fit = match &self.examples {
            FitExamples::Held(_) | FitExamples::Sculpts { .. } => {
                let (fit, warnings) = self.read_held(&loaded, &mut files, watch)?;
                said = warnings;
                Ready::Held(Box::new(fit))
            }
            FitExamples::Streamed(_) | FitExamples::Sums(_) => {
                (nothing, beside) = (ExampleSet::default(), self.beside(&loaded, 0, &mut files)?);
                let (maps, anchors) = (beside.maps.as_ref(), beside.anchors.as_deref());
                let input = FitInput { maps, anchors, ..FitInput::new(&loaded.rig, &nothing) };
                Ready::Streamed(Box::new(self.read_streamed(&loaded, &input, &mut files, watch)?))
            }
        };
        if matches!(fit, Ready::Held(_)) || self.hold_out.is_empty() {
            self.read.must_act_on(&files)?;
        }
        // Another file than the recipe's is refused before the fit.
        self.stamped(&files)?;
        watch.files(&files);
        let keep = |fitted: &mut Fitted, files: &[FileNote]| {
            self.read.must_act_on(files)?;
            fitted.model.header.recipe = Some(self.stamped(files)?);
            if let Some(out) = &reserved.model {
                out.write_with(|to| model_file::write(&fitted.model, to))?;
            }
            Ok(())
        };
        let mut outcome = match fit {
            Ready::Held(fit) => fit.run(watch, |fitted| keep(fitted, &files))?,
            Ready::Streamed(fit) => {
                if let Some(out) = &reserved.sums {
                    let (poses, part) = (fit.streaming.poses(), fit.streaming.part()?);
                    out.write_with(|to| part.write(to))?;
                    return Ok(FitDone::Sums { poses, peak: memory::peak(), written: paths(&[&reserved.sums]) });
                }
                fit.run(watch, &mut files, keep)?
            }
        };
        secondary::teach(&mut outcome, clips.as_ref(), watch)?;
        outcome.pass = self.outputs.pass;
        outcome.read_warnings = said;
        Ok(FitDone::Model(Box::new(self.finish(outcome, files, &reserved)?)))
    }

    /// The steps with their shares of the work, of fits; those of a summed fit take what reading takes.
    fn steps(&self) -> Vec<(&'static str, f64)> {
        let held_out = !self.hold_out.is_empty();
        let (read, summed) = match &self.examples {
            FitExamples::Held(_) => (Some("read examples"), false),
            FitExamples::Sculpts { .. } => (Some("read sculpts"), false),
            FitExamples::Streamed(_) | FitExamples::Sums(_) => (None, true),
        };
        let reading = [
            Some(("read rig", 0.02)),
            read.map(|name| (name, 0.1)),
            (held_out && !summed).then_some(("read hold-out", 0.1)),
            summed.then_some(("read examples", 1.0)),
        ];
        let of_fit = held::steps(&self.method, held_out, if summed { 0 } else { self.folds });
        let of_fit = of_fit.into_iter().filter(|(name, _)| !(summed && ["leverage", "advise"].contains(name)));
        let swings = !self.secondary_from.is_empty();
        let clips = swings.then_some((READ_CLIPS, 0.1));
        let learnt = secondary::learning(swings);
        reading.into_iter().flatten().chain(clips).chain(of_fit).chain(learnt).collect()
    }

    /// Every input, and the examples.
    fn inputs_mut(&mut self) -> (Vec<&mut Input>, &mut FitExamples) {
        let beside = [
            &mut self.base_cache,
            &mut self.map_table,
            &mut self.anchors,
            &mut self.stack,
            &mut self.base_model,
            &mut self.prior,
        ];
        let listed = self.hold_out.iter_mut().chain(&mut self.secondary_from);
        (beside.into_iter().flatten().chain(listed).chain([&mut self.rig]).collect(), &mut self.examples)
    }

    /// Every file that is read, with the hash that it must have.
    fn files_mut(&mut self) -> Vec<(&mut Source, Option<&str>)> {
        let (mut inputs, examples) = self.inputs_mut();
        let sculpts: &mut [SculptInput] = match examples {
            FitExamples::Held(own) | FitExamples::Streamed(own) | FitExamples::Sums(own) => {
                inputs.extend(own);
                &mut []
            }
            FitExamples::Sculpts { sculpts, poses } => {
                inputs.extend(poses);
                sculpts
            }
        };
        let of_inputs = inputs.into_iter().map(|Input { file, sha256 }| (file, sha256.as_deref()));
        let of_sculpts = sculpts.iter_mut().map(|SculptInput { file, sha256, .. }| (file, sha256.as_deref()));
        of_inputs.chain(of_sculpts).collect()
    }

    /// The recipe with its files found: where their paths lead from `folder`, which is that of the recipe or of the model that holds it,
    /// or from the working folder; else by their names alone.
    ///
    /// # Errors
    /// [`FileError::Lacks`](crate::FileError::Lacks) for a file that is nowhere.
    pub fn found_from(mut self, folder: &Path) -> Result<Self, Error> {
        for (file, hash) in self.files_mut() {
            *file = found(file, hash, folder)?;
        }
        Ok(self)
    }

    /// The recipe of a model in `folder` with paths as they lead from the working folder; those of files that are not there, or only by
    /// an absolute path, stay.
    #[must_use]
    pub fn seen_from_here(mut self, folder: &Path) -> Self {
        for (file, hash) in self.files_mut() {
            let Ok(there) = found(file, hash, folder) else { continue };
            let below = Provenance::Relative.stated(&there.path, Path::new("."));
            let is_same = place::real(&below).ok() == place::real(&there.path).ok();
            match (is_same, there.path.is_relative()) {
                (true, _) => *file = Source { path: below, ..there },
                (false, true) => *file = there,
                (false, false) => {}
            }
        }
        self
    }

    /// The recipe without outputs, with the hashes of what was read and paths as the outputs' provenance has them: what a model holds.
    ///
    /// # Errors
    /// [`FileError::Lacks`](crate::FileError::Lacks) for a file with another hash than the recipe's.
    pub fn stamped(&self, files: &[FileNote]) -> Result<Value, Error> {
        let mut recipe = Self { outputs: FitOutputs::default(), ..self.clone() };
        let (inputs, examples) = recipe.inputs_mut();
        inputs.into_iter().try_for_each(|input| input.stamp(files))?;
        examples.stamp(files)?;
        for (file, _) in recipe.files_mut() {
            file.path = self.outputs.provenance.stated(&file.path, self.outputs.root());
        }
        serde_json::to_value(recipe).map(|recipe| json!({"fit": recipe})).map_err(|e| Error::Internal(e.to_string()))
    }

    /// What the fit needs beside rig and examples.
    fn beside(&self, loaded: &LoadedRig, poses: usize, files: &mut Vec<FileNote>) -> Result<Beside, Error> {
        let mut beside = Beside::default();
        if let Some(input) = &self.base_cache {
            let (frames, note) = load_base_cache(&loaded.rig, &loaded.space, &input.file.path, poses, &self.read)?;
            files.push(note);
            beside.base = Some(frames);
        }
        if let Some(input) = &self.map_table {
            let (maps, note) = load_map_table(loaded, &input.file.path)?;
            files.push(note);
            beside.maps = Some(maps);
        }
        if let Some(input) = &self.anchors {
            let (names, note) = load_anchors(&input.file.path)?;
            files.push(note);
            beside.anchors = Some(names);
        }
        if let Some(input) = &self.stack {
            let (stack, _, note) = load_stack(&input.file.path, loaded)?;
            files.push(note);
            beside.stack = Some(stack);
        }
        beside.model = self.model_beneath(files)?;
        if let Some(input) = &self.prior {
            let (file, note) = load_model(&input.file.path)?;
            files.push(note.clone());
            beside.prior = Some(carried_prior(file, note, loaded)?);
        }
        Ok(beside)
    }

    /// The model that another correction is learnt over, if there is one.
    fn model_beneath(&self, files: &mut Vec<FileNote>) -> Result<Option<RiggedDeformer>, Error> {
        let Some(input) = &self.base_model else { return Ok(None) };
        let (model, note) = load_model(&input.file.path)?;
        files.push(note);
        Ok(Some(model.model))
    }

    /// Reads examples that are held. Beside the fit, what a user should know of them.
    fn read_held<'a>(
        &'a self,
        loaded: &'a LoadedRig,
        files: &mut Vec<FileNote>,
        watch: &dyn Watch,
    ) -> Result<(HeldFit<'a>, Vec<String>), Error> {
        let rig = &loaded.rig;
        let options = self.read.of_rest_shapes(self.method.base() == Some(BaseChoice::Rest));
        let read = |inputs: &[Input], role: &str| {
            let load = |_: Progress<'_>| load_examples(rig, &loaded.space, &sources(inputs), &options, role);
            step(watch, &format!("read {role}"), load)
        };
        let (train, notes, said) = match &self.examples {
            FitExamples::Sculpts { sculpts, poses } => {
                let (sculpts, poses): (Vec<_>, _) =
                    (sculpts.iter().map(SculptInput::source).collect(), poses.as_ref().map(|input| &input.file));
                let beneath = self.model_beneath(&mut vec![])?;
                let of_model = |pose: &BoneTransforms| {
                    let model = beneath.as_ref()?.baked();
                    WideRunner::new(model).run(pose, None).ok().map(<[_]>::to_vec)
                };
                let shown = match &beneath {
                    Some(_) => ShownSkin { name: "the skin of the model beneath", skin: Box::new(of_model) },
                    None => ShownSkin::of_rig(rig),
                };
                let load = |p: Progress<'_>| load_sculpts(rig, &loaded.space, &sculpts, poses, &options, &shown, p);
                let mut read = step(watch, "read sculpts", load)?;
                // Nobody looked at the vertices that a sculpt leaves as they were.
                read.examples
                    .iter_mut()
                    .for_each(|sculpt| sculpt.local = sculpt.local.take().or(Some(LocalSculpt::default())));
                let set = ExampleSet::new("sculpts".into(), read.examples, rig);
                (set.map_err(|e| Error::Internal(e.to_string()))?, read.notes, read.warnings)
            }
            FitExamples::Held(inputs) | FitExamples::Streamed(inputs) | FitExamples::Sums(inputs) => {
                let (set, notes) = read(inputs, "examples")?;
                (set, notes, vec![])
            }
        };
        files.extend(notes);
        let mut held_out = None;
        if !self.hold_out.is_empty() {
            let (set, notes) = read(&self.hold_out, "hold-out")?;
            files.extend(notes);
            held_out = Some(set);
        }
        // One cache of a given base covers the training poses, then the held-out ones.
        let poses = train.len() + held_out.as_ref().map_or(0, ExampleSet::len);
        let beside = self.beside(loaded, poses, files)?;
        let (folds, pass) = (self.folds, self.outputs.pass);
        Ok((HeldFit { held_out, folds, pass, beside, ..HeldFit::new(loaded, train, &self.method) }, said))
    }

    /// Reads examples that are not held, or sums over them. The examples of `input` are not read.
    fn read_streamed<'a>(
        &'a self,
        loaded: &'a LoadedRig,
        input: &FitInput<'a>,
        files: &mut Vec<FileNote>,
        watch: &dyn Watch,
    ) -> Result<StreamedFit<'a>, Error> {
        let rig = &loaded.rig;
        let bound = bound_of(self.outputs.pass.as_ref(), rig, &loaded.space)?;
        let (mut streaming, train): (_, &[Input]) = match &self.examples {
            FitExamples::Sums(parts) => {
                let paths = || parts.iter().map(|part| part.file.path.as_path());
                let opened =
                    paths().map(|path| open_file(path).map(|(file, length)| (path.to_path_buf(), file, length)));
                let merged = Streaming::merged(loaded, input, &self.method, opened)?;
                for path in paths() {
                    let (bytes, hash) = (open_file(path)?.1, hash_of(path)?);
                    let path = path.display().to_string();
                    files.push(FileNote { role: "part".into(), path, bytes, hash, ..FileNote::default() });
                }
                (merged, &[])
            }
            FitExamples::Held(inputs) | FitExamples::Streamed(inputs) => {
                let share = self.outputs.share.unwrap_or_default();
                (Streaming::new(loaded, input, &self.method, share)?, inputs)
            }
            FitExamples::Sculpts { .. } => return Err(Error::Internal("sculpts are never summed".into())),
        };
        if !train.is_empty() {
            let again = ReadOptions { known: true, ..self.read.clone() };
            let notes = step(watch, "read examples", |progress| {
                let mut options = &self.read;
                let mut notes = None;
                loop {
                    let take = |some: &[Example]| streaming.add(some);
                    let read = stream_examples(rig, &loaded.space, &sources(train), options, "examples", take)?;
                    let notes = notes.get_or_insert(read.notes);
                    if !streaming.end_pass(read.is_clip, progress)? {
                        return Ok::<_, Error>(std::mem::take(notes));
                    }
                    options = &again;
                }
            })?;
            files.extend(notes);
        }
        Ok(StreamedFit { streaming, train, hold_out: &self.hold_out, read: &self.read, bound })
    }

    /// States the files, writes the page and judges the error that counts.
    fn finish(&self, mut outcome: FitOutcome, files: Vec<FileNote>, reserved: &Reserved) -> Result<FitOutcome, Error> {
        outcome.stamps = file_stamps(&files, self.outputs.provenance, self.outputs.report.as_deref());
        outcome.files = files;
        outcome.written = paths(&[&reserved.model, &reserved.report]);
        outcome.command = self.outputs.command.clone();
        outcome.model.header.evidence = outcome.shown().evidence();
        // The model was written before it was measured, so that it is kept whatever happens; now with what was found.
        if let Some(out) =
            reserved.model.as_ref().filter(|_| outcome.model.header.evidence.is_some() || outcome.secondary.is_some())
        {
            out.rewrite_with(|to| model_file::write(&outcome.model, to))?;
        }
        if let Some(page) = &reserved.report {
            page.write(outcome.shown().page().to_html().as_bytes())?;
        }
        let rms =
            outcome.counts().map(|scores| scores.unseen.map_or(scores.model.error.rms, |unseen| unseen.error.rms));
        let above = self.outputs.fail_above.zip(rms).is_some_and(|(limit, rms)| rms > limit);
        outcome.failed = above || outcome.shown().pass().is_some_and(|pass| !pass.passed());
        Ok(outcome)
    }
}

impl FitDone {
    /// `fit --json`.
    pub fn json(&self) -> Value {
        match self {
            Self::Model(outcome) => outcome.json(),
            Self::Sums { poses, peak, .. } => json!({"poses": poses, "memory": {"peak_bytes": peak}}),
        }
    }
}

impl FitOutcome {
    /// The scores that count: held out, else cross-validated, else of training.
    pub fn counts(&self) -> Option<&Scores> {
        self.sets.last().map(|set| &set.1)
    }

    /// What page and JSON show.
    pub fn shown(&self) -> ModelOutcome<'_> {
        let sets = self.sets.iter().map(|(role, scores, examples)| ScoredExamples {
            role: *role,
            scores,
            examples: Some(examples).filter(|examples| !examples.is_empty()),
        });
        let mut fit = fit_summary(&self.report, self.seconds);
        fit.warnings.extend(self.read_warnings.iter().cloned());
        fit.warnings.extend(self.secondary.iter().flat_map(|found| found.warnings(self.model.rig().skeleton())));
        ModelOutcome {
            model: &self.model,
            fit: Some(fit),
            sets: sets.collect(),
            comparison: Vec::new(),
            further: self.lacks.iter().map(advice_table).collect(),
            files: self.stamps.clone(),
            command: self.command.clone(),
            pass: self.pass,
        }
    }

    /// `fit --json`.
    pub fn json(&self) -> Value {
        let mut value = match self.sets.is_empty() {
            false => self.shown().json(),
            true => json!({
                "method": self.model.header.method, "poses": self.poses, "seconds": self.seconds,
                "report": self.model.header.report,
            }),
        };
        value["poses"] = self.poses.into();
        if let Some(pass) = self.shown().pass() {
            value["pass"] = pass.json();
        }
        if let Some(secondary) = &self.secondary {
            value["secondary"] = secondary.json(self.model.rig().skeleton());
        }
        if let Some(lacks) = &self.lacks {
            value["lacks"] = advice_json(lacks);
        }
        value["memory"] = self.memory.json();
        value
    }

    /// Everything the user should know.
    pub fn warnings(&self) -> Vec<String> {
        self.shown().warnings()
    }

    pub(super) fn leverage(&mut self, largest: Option<f64>) {
        // A pose of leverage one weighs as much as a training pose that determines its own fit. On real bodies unseen
        // motion reaches 30 under the absolute ridge, 1e9 under one that vanishes.
        const SAYS_NOTHING: f64 = 1e3;
        if let Some(leverage) = largest.filter(|h| *h > SAYS_NOTHING) {
            self.report.warnings.push(dermis_fit::method::FitWarning::UnseenLeverage { leverage });
        }
    }
}
