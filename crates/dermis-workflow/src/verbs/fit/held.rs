//! A fit to examples that are held: from values to a scored model. [`FitRecipe`](super::FitRecipe) runs it once its files are
//! read, and whoever has a rig and examples in memory runs it without any file.

use crate::error::Error;
use crate::load::{FileNote, LoadedRig};
use crate::measure::{PassRule, bound_of, measure, measure_within};
use crate::recipe::{FitOutcome, Memory, Watch, repeated, step};
use crate::report::SetRole;
use crate::verbs::fit::{FitInput, Fitted, Method, cross_validate, fit, unseen_leverage};
use crate::verbs::suggest::lacks;
use dermis_deform::{RiggedDeformer, Stack};
use dermis_fit::method::contradictions;
use dermis_rig::glam::DVec3;
use dermis_rig::{ExampleSet, Influences};
use serde_json::json;

/// A fit to examples that are held, with everything that was read for it.
pub struct HeldFit<'a> {
    /// The rig.
    pub rig: &'a LoadedRig,
    /// What is learnt from.
    pub train: ExampleSet,
    /// Examples that the fit may not see.
    pub held_out: Option<ExampleSet>,
    /// The method with its settings.
    pub method: &'a Method,
    /// Folds of the validation without held-out examples; below 2 there is none.
    pub folds: usize,
    /// A demand on the distances that count.
    pub pass: Option<PassRule>,
    /// What the method needs beside rig and examples.
    pub beside: Beside,
}

/// What a fit may need beside its rig and examples.
#[derive(Default)]
pub struct Beside {
    /// Positions of a given base in the training poses, then in the held-out ones.
    pub base: Option<Vec<Vec<DVec3>>>,
    /// A table of influence maps.
    pub maps: Option<Influences>,
    /// A bone name per vertex.
    pub anchors: Option<Vec<String>>,
    /// Deformers one after another.
    pub stack: Option<Stack>,
    /// A model that another correction is learnt over.
    pub model: Option<RiggedDeformer>,
    /// What another character has learnt, on the rig.
    pub prior: Option<RiggedDeformer>,
}

impl<'a> HeldFit<'a> {
    /// A fit with default settings: nothing held out, validated by five folds.
    pub fn new(rig: &'a LoadedRig, train: ExampleSet, method: &'a Method) -> Self {
        Self { rig, train, held_out: None, method, folds: 5, pass: None, beside: Beside::default() }
    }

    /// The steps with their shares of the work.
    pub fn steps(&self) -> Vec<(&'static str, f64)> {
        steps(self.method, self.held_out.is_some(), self.folds)
    }

    /// Fits and validates. `fitted` gets the model before it is scored, so that it is kept whatever happens to the scores.
    ///
    /// # Errors
    /// [`Error`], also that of `fitted`.
    pub fn run(
        self,
        watch: &dyn Watch,
        fitted: impl FnOnce(&mut Fitted) -> Result<(), Error>,
    ) -> Result<FitOutcome, Error> {
        let Self { rig: loaded, train, held_out, method, folds, pass, beside } = self;
        let rig = &loaded.rig;
        let contradictions = contradictions(rig, train.examples());
        let repeats = held_out.as_ref().map_or(Ok(vec![]), |held_out| repeated(&train, held_out))?;
        let bound = bound_of(pass.as_ref(), rig, &loaded.space)?;
        let poses = train.len() + held_out.as_ref().map_or(0, ExampleSet::len);
        let base_train = beside.base.as_ref().map(|base| &base[..train.len()]);
        let base_held_out = beside.base.as_ref().map(|base| &base[train.len()..]);
        let input = FitInput {
            base: base_train,
            maps: beside.maps.as_ref(),
            anchors: beside.anchors.as_deref(),
            stack: beside.stack.as_ref(),
            model: beside.model.as_ref(),
            prior: beside.prior.as_ref(),
            ..FitInput::new(rig, &train)
        };
        let mut found = step(watch, "fit", |p| fit(loaded, &input, method, p))?;
        if let Some(prior) = &found.report.prior {
            found.model.header.report["prior"] = json!(prior);
        }
        let mut leverage = None;
        if let Some(set) = &held_out {
            leverage = step(watch, "leverage", |_| unseen_leverage(&found, &input, method, set))?;
            if let Some(largest) = leverage {
                found.model.header.report["held_out_leverage"] = json!(largest);
            }
        }
        fitted(&mut found)?;
        let scores = step(watch, "measure training", |_| measure(&found.model, &train, base_train))?;
        let of_held_out = match held_out {
            Some(set) => {
                let scores =
                    step(watch, "measure hold-out", |_| measure_within(&found.model, &set, base_held_out, bound))?;
                Some((SetRole::HeldOut, scores, set))
            }
            None => None,
        };
        let lacks = match &of_held_out {
            Some((_, _, set)) => step(watch, "advise", |p| lacks(&found.model, set, p))?,
            None => None,
        };
        let mut validation_stopped = false;
        let mut validated = None;
        if of_held_out.is_none() && folds >= 2 && method.promises().predicts {
            match step(watch, "cross-validate", |p| cross_validate(loaded, &input, method, &found, folds, bound, p)) {
                // The model is fitted and kept; only its validation was given up.
                Err(Error::Cancelled) => validation_stopped = true,
                other => validated = other?,
            }
        }
        let validated = validated.map(|scores| (SetRole::CrossValidated, scores, ExampleSet::default()));
        let memory = Memory::of(&found.model, poses);
        let count = train.len();
        let sets = [(SetRole::Training, scores, train)].into_iter().chain(of_held_out).chain(validated).collect();
        let mut outcome = FitOutcome::new(found, count, sets, memory);
        outcome.pass = pass;
        outcome.lacks = lacks;
        outcome.validation_stopped = validation_stopped;
        outcome.report.warnings.extend(contradictions.into_iter().chain(repeats));
        outcome.leverage(leverage);
        outcome.model.header.evidence = outcome.shown().evidence();
        Ok(outcome)
    }
}

/// The steps of a fit with their shares of the work, reading apart.
pub(super) fn steps(method: &Method, held_out: bool, folds: usize) -> Vec<(&'static str, f64)> {
    let validated = !held_out && folds >= 2 && method.promises().predicts;
    let steps = [
        Some(("fit", 1.0)),
        held_out.then_some(("leverage", 0.1)),
        Some(("measure training", 0.1)),
        held_out.then_some(("measure hold-out", 0.1)),
        held_out.then_some(("advise", 0.1)),
        validated.then_some(("cross-validate", folds as f64)),
    ];
    steps.into_iter().flatten().collect()
}

impl FitOutcome {
    /// What is known of a fitted model and its scores; whatever else there is to say is filled in later.
    pub(super) fn new(
        fitted: Fitted,
        poses: usize,
        sets: Vec<(SetRole, crate::measure::Scores, ExampleSet)>,
        memory: Memory,
    ) -> Self {
        Self {
            model: fitted.model,
            report: fitted.report,
            seconds: fitted.seconds,
            poses,
            sets,
            lacks: None,
            secondary: None,
            validation_stopped: false,
            files: Vec::<FileNote>::new(),
            memory,
            read_warnings: Vec::new(),
            written: Vec::new(),
            failed: false,
            pass: None,
            stamps: Vec::new(),
            command: None,
        }
    }
}
