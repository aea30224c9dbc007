//! `invert`: sculpts of a posed character, brought back to rest.

use super::error::Error::{RestVertices, TimeLimit};
use crate::error::Error;
use crate::load::{ReadOptions, load_rig};
use crate::recipe::{Existing, Input, SculptInput, Watch, keep, reserve, seen, step, within};
use crate::report::{LengthUnit, show_length, unit_of};
use crate::verbs::invert::{
    BundleVertices, Inverted, Settings, Shown, ShownSkin, Skinning, Through, is_folder, load_sculpts, load_stack,
    solve, write_corrections,
};
use dermis_fit::inverse::{Coupled, InverseMethod, InverseSettings, MAX_CORRECTION};
use dermis_fit::method::contradictions;
use dermis_fit::{MethodError, Progress};
use dermis_io::Space;
use dermis_rig::clock::Instant;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::Duration;

/// An inversion of sculpts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct InvertRecipe {
    /// Mesh and skeleton at rest.
    pub rig: Input,
    /// The sculpts.
    pub sculpts: Vec<SculptInput>,
    /// Poses of sculpts that have none of their own.
    #[serde(default)]
    pub poses: Option<Input>,
    /// What is inverted.
    #[serde(default)]
    pub deformer: InvertedDeformer,
    /// How a displacement is searched; [`InverseMethod::Auto`] takes the closed form where there is one.
    #[serde(default)]
    pub method: InverseMethod,
    /// What to do with a deformer that moves vertices because others moved.
    #[serde(default)]
    pub coupled: Coupled,
    /// With [`Coupled::Iterate`]: no correction is longer than this many times the longest that the sculpt asks for; 3 where
    /// nothing is said.
    #[serde(default)]
    pub max_correction: Option<f64>,
    /// A vertex of a search is done once |t − S(p + d)|² ≤ ftol L², L the rest diagonal; 1e-22 where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ftol: Option<f64>,
    /// The most calls of the deformer that the search for a sculpt takes; 2000 where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_calls: Option<usize>,
    /// What a bundle holds as `vertices`.
    #[serde(default)]
    pub vertices: BundleVertices,
    /// How files are read where they do not say it themselves.
    #[serde(default)]
    pub read: ReadOptions,
    /// Where the corrections go: a bundle, a GLB, or a folder for OBJ files.
    pub out: PathBuf,
    /// What happens to an output that is there already.
    #[serde(default)]
    pub existing: Existing,
}

/// A deformer that is inverted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InvertedDeformer {
    /// The rig's own skinning.
    Skinning(Skinning),
    /// Deformers one after another, from a JSON file.
    Stack(Input),
    /// A program of its own.
    Program(DeformerProgram),
}

/// A deformer that is a program of its own. Whoever runs the recipe runs the command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct DeformerProgram {
    /// Its command line.
    pub command: String,
    /// How long an answer may take, seconds.
    #[serde(default = "DeformerProgram::default_time_limit")]
    pub time_limit: f64,
}

/// What came of an inversion.
#[derive(Debug)]
pub struct InvertOutcome {
    /// The corrections.
    pub inverted: Vec<Inverted>,
    /// What was written.
    pub shown: Shown,
    /// What was inverted, in words.
    pub deformer: String,
    /// The rig file's axes and unit.
    pub space: Space,
    /// Vertices of the rig.
    pub vertices: usize,
    /// Diagonal of the rig at rest, metres.
    pub diagonal: f64,
    /// What the user should know.
    pub warnings: Vec<String>,
    /// Where the corrections went.
    pub written: PathBuf,
    /// Seconds, with reading and writing.
    pub seconds: f64,
}

impl Default for InvertedDeformer {
    fn default() -> Self {
        Self::Skinning(Skinning::Lbs)
    }
}

impl DeformerProgram {
    /// Seconds that an answer may take by default.
    pub const TIME_LIMIT: f64 = 60.0;

    fn default_time_limit() -> f64 {
        Self::TIME_LIMIT
    }

    fn limit(&self) -> Result<Duration, Error> {
        /// A week: more than an evaluation of a mesh takes, and less than overflows a clock.
        const MOST: f64 = 604_800.0;
        match self.time_limit > 0.0 && self.time_limit <= MOST {
            true => Ok(Duration::from_secs_f64(self.time_limit)),
            false => Err(TimeLimit { seconds: self.time_limit, most: MOST }.into()),
        }
    }
}

impl InvertRecipe {
    /// Brings every sculpt back to rest and writes the corrections.
    ///
    /// # Errors
    /// [`Error`], naming the sculpt.
    pub fn run(&self, watch: &dyn Watch) -> Result<InvertOutcome, Error> {
        let max_correction = self.max_correction.unwrap_or(MAX_CORRECTION);
        within("max-correction", max_correction, 1.0, 1000.0)?;
        let usual = InverseSettings::new(1.0);
        let ftol = self.ftol.unwrap_or(usual.ftol);
        within("ftol", ftol, f64::MIN_POSITIVE, 1.0)?;
        let max_calls = self.max_calls.unwrap_or(usual.max_calls);
        within("max-calls", max_calls as f64, 8.0, 1e6)?;
        let is_closed = matches!(self.deformer, InvertedDeformer::Skinning(_)) && self.method == InverseMethod::Auto;
        for (setting, is_set) in [("ftol", self.ftol.is_some()), ("max-calls", self.max_calls.is_some())] {
            if is_set && is_closed {
                return Err(MethodError::Unused { setting, with: "where the inverse has a closed form" }.into());
            }
        }
        let out = reserve(&self.out, self.existing, is_folder(&self.out)?)?;
        let is_bundle = self.out.extension().is_some_and(|e| e.eq_ignore_ascii_case("npz"));
        if self.vertices == BundleVertices::Rest && !is_bundle {
            return Err(RestVertices { path: self.out.clone() }.into());
        }
        let stack = match &self.deformer {
            InvertedDeformer::Stack(input) => Some(input),
            _ => None,
        };
        let sculpted: Vec<Input> = self.sculpts.iter().map(SculptInput::input).collect();
        let inputs: Vec<&Input> = [&self.rig].into_iter().chain(&sculpted).chain(&self.poses).chain(stack).collect();
        keep(&inputs, [&out])?;
        let limit = match &self.deformer {
            InvertedDeformer::Program(program) => program.limit()?,
            _ => Duration::ZERO,
        };
        let start = Instant::now();
        let rig = step(watch, "read rig", |_| load_rig(&self.rig.file.path))?;
        let mut notes = rig.notes.clone();
        let through = match &self.deformer {
            InvertedDeformer::Skinning(skinning) => Through::Skinning(*skinning),
            InvertedDeformer::Stack(input) => {
                let (stack, name, note) = load_stack(&input.file.path, &rig)?;
                notes.push(note);
                Through::Stack(stack, name)
            }
            InvertedDeformer::Program(program) => Through::Program(program.command.clone(), limit),
        };
        let files: Vec<_> = self.sculpts.iter().map(SculptInput::source).collect();
        let poses = self.poses.as_ref().map(|input| &input.file);
        let shown = ShownSkin::of_rig(&rig.rig);
        let load = |p: Progress<'_>| load_sculpts(&rig.rig, &rig.space, &files, poses, &self.read, &shown, p);
        let sculpts = step(watch, "read sculpts", load)?;
        notes.extend(sculpts.notes.iter().cloned());
        self.read.must_act_on(&notes)?;
        seen(watch, inputs, &notes)?;
        let settings = Settings { method: self.method, coupled: self.coupled, max_correction, ftol, max_calls };
        let inverted = step(watch, "invert", |p| solve(&rig, &sculpts.examples, &through, settings, p))?;
        let shown =
            step(watch, "write", |_| write_corrections(&rig, &sculpts, &inverted, &through, self.vertices, &out))?;
        let (vertices, diagonal) = (rig.rig.mesh().positions.len(), rig.rig.mesh().diagonal());
        let contradictions = contradictions(&rig.rig, &sculpts.examples);
        let said: Vec<String> =
            contradictions.iter().map(ToString::to_string).chain(sculpts.warnings.iter().cloned()).collect();
        let warnings = warnings(&said, &inverted, &shown, diagonal, &unit_of(&rig.space));
        Ok(InvertOutcome {
            inverted,
            shown,
            deformer: through.name(),
            space: rig.space,
            vertices,
            diagonal,
            warnings,
            written: out.path().to_path_buf(),
            seconds: start.elapsed().as_secs_f64(),
        })
    }
}

impl InvertOutcome {
    /// Calls of the deformer, of the whole mesh each.
    pub fn calls(&self) -> usize {
        self.inverted.iter().map(|one| one.report.calls).sum()
    }

    /// `invert --json`.
    pub fn json(&self) -> Value {
        json!({
            "out": self.written.display().to_string(),
            "deformer": self.deformer,
            "vertices": self.vertices,
            "diagonal": self.diagonal,
            "unit": self.space.unit,
            "calls": self.calls(),
            "sculpts": self.inverted.iter().map(|one| one.report.json(self.diagonal)).collect::<Vec<Value>>(),
            "shown": self.shown.json(),
            "warnings": self.warnings,
            "seconds": self.seconds,
        })
    }
}

/// What was found while reading, solving and writing that a user should know.
fn warnings(read: &[String], inverted: &[Inverted], shown: &Shown, diagonal: f64, unit: &LengthUnit) -> Vec<String> {
    let mut warnings = read.to_vec();
    warnings.extend(shown.left_out.iter().map(|what| format!("left out: {what}")));
    let with = |of: &dyn Fn(&Inverted) -> usize| {
        let sculpts = inverted.iter().filter(|one| of(one) > 0).count();
        let vertices: usize = inverted.iter().map(of).sum();
        (vertices > 0).then(|| format!("{vertices} vertices in {sculpts} of {} sculpts", inverted.len()))
    };
    if let Some(where_) = with(&|one| one.report.left) {
        let largest = inverted.iter().map(|one| one.report.residual.1).fold(0.0, f64::max);
        warnings.push(format!(
            "{where_} cannot be brought to the sculpt: up to {} is left; a bundle holds it as remainders",
            show_length(largest, unit)
        ));
    }
    if let Some(where_) = with(&|one| one.report.nearly_singular) {
        warnings.push(format!("the deformer is nearly singular at {where_}: corrections there are damped"));
    }
    if let Some(where_) = with(&|one| one.report.coupled) {
        warnings.push(format!("the deformer moves {where_} because others moved: the corrections are approximate"));
    }
    if let Some(where_) = with(&|one| one.report.limited) {
        warnings.push(format!(
            "the corrections of {where_} were cut at the longest that is allowed: the deformer flattens what the sculpt asks there"
        ));
    }
    if let Some((rms, max)) = shown.glb.filter(|(_, max)| *max > 1e-6 * diagonal) {
        warnings.push(format!(
            "a GLB is blended linearly: its targets show the sculpts {} (rms), at most {} away; play them on the deformer they \
             were made for, or invert linear blend skinning alone",
            show_length(rms, unit),
            show_length(max, unit)
        ));
    }
    warnings
}
