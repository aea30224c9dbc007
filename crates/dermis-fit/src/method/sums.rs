//! Fits to sums over examples that nobody holds: streamed, or summed in parts on several machines.

use super::base::BaseChoice;
use super::learnt::SolvedBy;
use super::{FitInput, FitWarning, Learnt, MapSource, Method, MethodError, MweMethod};
use crate::mwe::{Accumulator, Anchor, MweSettings, RowChoice, SolvePrecision, Statistics};
use crate::training::{Progress, silent};
use dermis_deform::Base;
use dermis_rig::glam::DVec3;
use dermis_rig::{BoneTransforms, Example, ExampleSet, Influences, Rig};

/// Refuses local sculpts: what was touched of them is not held.
pub(super) fn whole_skins(examples: &[Example]) -> Result<(), MethodError> {
    match examples.iter().find(|example| example.local.is_some()) {
        Some(Example { label, .. }) => Err(MethodError::NotFromSums { what: format!("the local sculpt \"{label}\"") }),
        None => Ok(()),
    }
}

/// A fit of multi-weight enveloping whose examples come one after another.
pub struct Sums<'a> {
    rig: &'a Rig,
    method: &'a MweMethod,
    anchors: Option<&'a [String]>,
    base: Base,
    maps: Influences,
    accumulator: Accumulator,
    settings: MweSettings,
}

/// What the sums of two parts must agree in, apart from the rig.
pub struct SumsIdentity<'a> {
    /// The base's name.
    pub base: String,
    /// The influence maps.
    pub maps: &'a Influences,
    /// What translations of the features are seen from.
    pub origin: DVec3,
    /// The anchor of the features.
    pub anchor: &'a Anchor,
    /// Row or full features.
    pub rows: RowChoice,
    /// Vertices that the choice of λ looks at.
    pub sweep_vertices: usize,
}

impl<'a> Sums<'a> {
    /// Nothing summed yet. The examples of `input` are not read.
    ///
    /// # Errors
    /// [`MethodError::NotFromSums`] for methods, bases and maps that need all examples at hand; settings that do not fit
    /// the rig.
    pub fn new(method: &'a Method, input: &FitInput<'a>) -> Result<Self, MethodError> {
        method.check()?;
        let refused = |what: String| Err(MethodError::NotFromSums { what });
        let Method::Mwe(own) = method else { return refused(format!("the method {method}")) };
        if own.base == BaseChoice::Given {
            return refused("a base of given positions".into());
        }
        if own.base == BaseChoice::Model {
            return refused("a correction over a model".into());
        }
        if matches!(own.base, BaseChoice::DirectDeltaMush(None) | BaseChoice::Smooth(None)) {
            return refused("a base whose smoothing steps the examples choose (ddm:N and smooth:N state them)".into());
        }
        if let MapSource::Examples(_) = own.maps {
            return refused("influence maps from the examples".into());
        }
        let base = own.base.of(input)?;
        let maps = own.maps.of(input, &silent)?;
        // How many poses there are, and whether of a clip, is known in the end.
        let settings = own.settings(input, usize::MAX, false)?;
        let mesh = input.rig.mesh();
        let accumulator = Accumulator::new(input.rig.skeleton(), &mesh.positions, mesh.extent(), &maps, &settings)?;
        Ok(Self { rig: input.rig, method: own, anchors: input.anchors, base, maps, accumulator, settings })
    }

    /// What other sums must share with these.
    pub fn identity(&self) -> SumsIdentity<'_> {
        SumsIdentity {
            base: self.method.base.to_string(),
            maps: &self.maps,
            origin: self.settings.origin,
            anchor: &self.settings.anchor,
            rows: self.settings.rows,
            sweep_vertices: self.settings.sweep_vertices,
        }
    }

    /// Sums more examples.
    ///
    /// # Errors
    /// Those of [`Accumulator::add`]; [`MethodError::NotFromSums`] for a local sculpt.
    pub fn add(&mut self, examples: &[Example]) -> Result<(), MethodError> {
        whole_skins(examples)?;
        let weighed = self.method.importance.weighed_block(examples);
        let examples = weighed.as_deref().unwrap_or(examples);
        let (rest, base) = (&self.rig.mesh().positions, &mut self.base);
        let skin = |example: &Example| {
            let mut skin = vec![DVec3::ZERO; rest.len()];
            base.evaluate(rest, &example.transforms, None, &mut skin);
            skin
        };
        let base: Vec<Vec<DVec3>> = examples.iter().map(skin).collect();
        Ok(self.accumulator.add(examples, &base)?)
    }

    /// Examples of positive importance summed so far.
    pub fn poses(&self) -> usize {
        self.accumulator.poses()
    }

    /// The sums.
    pub fn statistics(&self) -> &Statistics {
        self.accumulator.statistics()
    }

    /// The sums, to be stored.
    pub fn into_statistics(self) -> Statistics {
        self.accumulator.into_statistics()
    }

    /// Adds sums, as if their examples followed.
    ///
    /// # Errors
    /// Those of [`Accumulator::add_sums`].
    pub fn add_sums(&mut self, sums: Statistics) -> Result<(), MethodError> {
        Ok(self.accumulator.add_sums(sums)?)
    }

    /// Fits the model to all that was summed, and gives the poses it was trained on.
    ///
    /// # Errors
    /// As [`Method::fit`].
    pub fn finish(
        mut self,
        is_clip: bool,
        progress: Progress<'_>,
    ) -> Result<(Learnt, Vec<BoneTransforms>), MethodError> {
        let nothing = ExampleSet::default();
        let input = FitInput { anchors: self.anchors, ..FitInput::new(self.rig, &nothing) };
        let chosen = self.method.settings(&input, self.accumulator.poses(), is_clip)?;
        self.accumulator.choose(chosen.rows, chosen.strength)?;
        let poses = self.accumulator.statistics().poses.iter().map(|pose| pose.transforms.clone()).collect();
        let fitted = self.accumulator.finish(progress)?;
        let settings = MweSettings { rows: chosen.rows, strength: chosen.strength, duplicates: -1.0, ..self.settings };
        let mut report = self.method.report(&settings, &fitted.report, self.rig);
        if self.method.duplicates >= 0.0 && self.method.duplicates != MweMethod::default().duplicates {
            report.warnings.push(FitWarning::DuplicatesCounted);
        }
        if settings.solve_in == SolvePrecision::Single {
            report.warnings.push(FitWarning::SolvedInDouble);
        }
        let solved = SolvedBy::Mwe(fitted.report);
        let learnt = Learnt::new(self.base, Some(fitted.correction.into()), &input, report, solved)?;
        Ok((Learnt { coefficients: self.method.coefficients, ..learnt }, poses))
    }
}
