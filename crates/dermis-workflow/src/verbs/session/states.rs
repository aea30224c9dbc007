//! The states of a session: a step is added, or switched off or on; a fit with other settings; back and forward.

use super::error::Error;
use super::file::{Did, Role, State, Step, StoredModel};
use super::folder::{Session, expect};
use super::scores::{Change, scores};
use crate::load::{ReadOptions, hash_of};
use crate::recipe::{Existing, FitDone, FitExamples, FitOutputs, FitRecipe, Input, Watch};
use dermis_files::{FileError, place};
use dermis_fit::Cancelled;
use dermis_fit::method::{BaseChoice, FitWarning, JointMethod, Method};
use std::ops::ControlFlow;
use std::path::Path;

/// Returns what a session fits with unless it is told otherwise: the joint model over the rig's own weights, which are what the
/// first sculpts are shown.
pub fn default_method() -> Method {
    Method::Joint(JointMethod { base: BaseChoice::Lbs, remember: Some(1.0), ..JointMethod::default() })
}

/// Refuses a method that a session cannot fit with.
///
/// # Errors
/// [`Error::Method`], and those of the method's own settings.
pub(super) fn check_method(method: &Method) -> Result<(), crate::Error> {
    method.check()?;
    match method {
        Method::Joint(joint) if joint.base.needs_weights() => Ok(()),
        Method::Joint(joint) => Err(Error::Method { method: format!("over the base {}", joint.base.name()) }.into()),
        other => Err(Error::Method { method: other.to_string() }.into()),
    }
}

/// Shows how far a fit is, and not the files of the session that it reads.
struct WithoutFiles<'a>(&'a dyn Watch);

impl Watch for WithoutFiles<'_> {
    fn plan(&self, steps: &[(&str, f64)]) {
        self.0.plan(steps);
    }

    fn at(&self, step: &str, done: u64, total: u64) -> ControlFlow<Cancelled> {
        self.0.at(step, done, total)
    }
}

impl Session {
    /// Adds a step whose bundle is written already, and fits if the model learns from it. Result: what a user should know.
    pub(super) fn add_step(&mut self, step: Step, watch: &dyn Watch) -> Result<Vec<String>, crate::Error> {
        let (id, role) = (step.id, step.role);
        self.file.steps.push(step);
        let mut active = self.file.state().active.clone();
        active.push(id);
        self.go(Did::Add(id), active, self.file.state().method.clone(), role != Role::Check, watch)
    }

    /// Fits the steps that count again. Result: what a user should know.
    ///
    /// # Errors
    /// [`Error::Method`], [`Error::NoModel`] if no sculpt is switched on; those of the fit.
    pub fn fit(&mut self, method: Method, watch: &dyn Watch) -> Result<Vec<String>, crate::Error> {
        check_method(&method)?;
        let active = self.file.state().active.clone();
        if self.file.taught(&active).next().is_none() {
            return Err(Error::NoModel.into());
        }
        self.go(Did::Fit, active, method, true, watch)
    }

    /// Goes back to the state before the present one, or switches a step off. Result: what a user should know.
    ///
    /// # Errors
    /// [`Error::Nothing`], [`Error::NoStep`], [`Error::Already`], [`Error::FileChanged`]; those of the fit.
    pub fn undo(&mut self, step: Option<u32>, watch: &dyn Watch) -> Result<Vec<String>, crate::Error> {
        match step {
            Some(id) => self.switch(id, false, watch),
            None => self.move_to(self.file.present.checked_sub(1), "undo"),
        }
    }

    /// Goes forward to the state that undoing left, or switches a step on. Result: what a user should know.
    ///
    /// # Errors
    /// Those of [`Self::undo`].
    pub fn redo(&mut self, step: Option<u32>, watch: &dyn Watch) -> Result<Vec<String>, crate::Error> {
        match step {
            Some(id) => self.switch(id, true, watch),
            None => self.move_to(Some(self.file.present + 1).filter(|at| *at < self.file.states.len()), "redo"),
        }
    }

    /// Takes another state, whose model must be what it was.
    fn move_to(&mut self, place: Option<usize>, what: &'static str) -> Result<Vec<String>, crate::Error> {
        let place = place.ok_or(Error::Nothing { what })?;
        if let Some(model) = &self.file.states[place].model {
            expect(&self.model_path(model.number), &model.sha256)?;
        }
        self.file.present = place;
        self.save()?;
        Ok(vec![])
    }

    fn switch(&mut self, id: u32, on: bool, watch: &dyn Watch) -> Result<Vec<String>, crate::Error> {
        let step = self.file.step(id).ok_or(Error::NoStep { id, steps: self.file.steps.len() })?;
        let mut active = self.file.state().active.clone();
        if active.contains(&id) == on {
            let what = if on { "on" } else { "off" };
            return Err(Error::Already { id, name: step.name.clone(), what }.into());
        }
        let fits = step.role != Role::Check;
        match on {
            true => active.push(id),
            false => active.retain(|other| *other != id),
        }
        // Of two sculpts of one pose the later one holds, whenever it was switched on.
        active.sort_unstable();
        let did = if on { Did::On(id) } else { Did::Off(id) };
        self.go(did, active, self.file.state().method.clone(), fits, watch)
    }

    /// Fits if that is needed, scores the change, and makes it the present state. The session's file is written last.
    pub(super) fn go(
        &mut self,
        did: Did,
        active: Vec<u32>,
        method: Method,
        fits: bool,
        watch: &dyn Watch,
    ) -> Result<Vec<String>, crate::Error> {
        let (mut model, mut said) = (self.file.state().model.clone(), vec![]);
        if fits {
            (model, said) = self.fitted(&active, &method, watch)?;
        }
        let before = self.file.state().model.as_ref();
        let change = Change { did, before, after: model.as_ref(), active: &active, method: &method };
        let scores = Some(scores(self, &change, watch)?);
        // What undoing left behind is given up, but for its steps and models, which stay.
        self.file.states.truncate(self.file.present + 1);
        self.file.states.push(State { did, active, method, model, scores });
        self.file.present = self.file.states.len() - 1;
        self.save()?;
        Ok(said)
    }

    /// The model of some steps, written under the next number; none without a step that teaches. With it what a user should know.
    fn fitted(
        &self,
        active: &[u32],
        method: &Method,
        watch: &dyn Watch,
    ) -> Result<(Option<StoredModel>, Vec<String>), crate::Error> {
        let input = |path: &Path, hash: &String| Input { sha256: Some(hash.clone()), ..Input::of_path(path) };
        let bundle = |step: &Step| input(&self.step_path(step), &step.sha256);
        let inputs: Vec<Input> = self.file.taught(active).map(bundle).collect();
        if inputs.is_empty() {
            return Ok((None, vec![]));
        }
        let number = self.file.next_model();
        let path = self.model_path(number);
        let folder = self.folder.join("models");
        place::make_folder(&folder).map_err(|source| FileError::System { path: folder, source })?;
        let rig = input(&self.folder.join(&self.file.rig.file), &self.file.rig.sha256);
        let recipe = FitRecipe {
            read: ReadOptions { trust_order: true, ..ReadOptions::default() },
            // Sculpts left out say next to nothing of the skin elsewhere; checks do.
            folds: 0,
            // The model may leave the folder of the session; its recipe is run in it.
            outputs: FitOutputs {
                model: Some(path.clone()),
                existing: Existing::Replace,
                root: Some(self.folder.clone()),
                ..FitOutputs::default()
            },
            ..FitRecipe::new(rig, FitExamples::Held(inputs), method.clone())
        };
        let FitDone::Model(outcome) = recipe.run(&WithoutFiles(watch))? else {
            return Err(crate::Error::Internal("a session's fit made no model".into()));
        };
        // A session begins with few sculpts, and its method is the one that serves them.
        let is_said = |warning: &&FitWarning| !matches!(warning, FitWarning::FewExamples { .. });
        let said = outcome.report.warnings.iter().filter(is_said).map(ToString::to_string).collect();
        Ok((Some(StoredModel { number, sha256: hash_of(&path)? }), said))
    }
}
