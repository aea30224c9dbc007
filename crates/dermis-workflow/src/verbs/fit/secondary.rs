//! Secondary motion that is learnt once the model is fitted: from clips in which the skin swung.

use super::chains::{LEARN_CHAINS, chain_warning, chains_json, keep, learn_chains_of};
use super::error::Error as FitRoomError;
use crate::error::Error;
use crate::load::{FileNote, LoadedRig, load_examples};
use crate::recipe::{FitOutcome, FitRecipe, Watch, sources, step};
use dermis_deform::baked::BakedBase;
use dermis_fit::Progress;
use dermis_fit::method::MethodError;
use dermis_fit::secondary::{Clip, LEAST_GAIN, LearntChain, LearntSprings, learn_springs};
use dermis_io::ModelFile;
use dermis_measure::WideRunner;
use dermis_rig::clock::Instant;
use dermis_rig::glam::Vec3;
use dermis_rig::{Example, ExampleSet, Skeleton};
use serde_json::{Value, json};
use std::f64::consts::TAU;

/// Steps that teach secondary motion.
pub(super) const READ_CLIPS: &str = "read clips that swing";
const LEARN_SECONDARY: &str = "secondary motion";

/// The steps that learn, if there are clips, with their shares of the work.
pub(super) fn learning(clips: bool) -> impl Iterator<Item = (&'static str, f64)> {
    [(LEARN_SECONDARY, 1.0), (LEARN_CHAINS, 0.3)].into_iter().filter(move |_| clips)
}

/// What was found out about secondary motion.
#[derive(Clone, Debug)]
pub struct SecondaryFound {
    /// The springs with what they leave.
    pub learnt: LearntSprings,
    /// Clips that they were learnt from.
    pub clips: usize,
    /// Rms and largest offset of the skin from the model in the clips, metres.
    pub swing: [f64; 2],
    /// Seconds that it took.
    pub seconds: f64,
    /// The springs of the rig's chains of bones, with what they leave.
    pub chains: Vec<LearntChain>,
}

impl SecondaryFound {
    /// Whether the model has the springs.
    pub fn is_kept(&self) -> bool {
        self.learnt.are_kept()
    }

    /// The tenth, half and nine tenths of the vertices' frequencies, hertz.
    pub fn frequencies(&self) -> [f64; 3] {
        let mut all: Vec<f64> = self.learnt.springs.vertices().iter().map(|v| v.spring.omega() / TAU).collect();
        all.sort_unstable_by(f64::total_cmp);
        let at = |part: f64| all.get((part * all.len().saturating_sub(1) as f64) as usize).copied().unwrap_or(0.0);
        [at(0.1), at(0.5), at(0.9)]
    }

    /// What a user should know, if the springs are not kept.
    pub fn warning(&self) -> Option<String> {
        let words = || {
            format!(
                "secondary motion is not kept: a simulation of clips that were left out leaves {:.0} % of what the model alone leaves, and \
                 {:.0} % would be needed; more clips, or clips that swing more, may teach it",
                100.0 * self.learnt.left_out,
                100.0 * LEAST_GAIN
            )
        };
        (!self.is_kept()).then(words)
    }

    /// What a user should know of both.
    pub(super) fn warnings(&self, skeleton: &Skeleton) -> Vec<String> {
        self.warning().into_iter().chain(chain_warning(&self.chains, skeleton)).collect()
    }

    /// The same as JSON; bones by the names of the skeleton.
    pub fn json(&self, skeleton: &Skeleton) -> Value {
        let [slow, middle, fast] = self.frequencies();
        json!({
            "kept": self.is_kept(),
            "left_out": self.learnt.left_out,
            "training": self.learnt.training,
            "clips": self.clips,
            "frames": self.learnt.frames,
            "each": self.learnt.folds.iter().map(|(clip, left)| json!({"clip": clip, "left_out": left})).collect::<Vec<_>>(),
            "swing_rms": self.swing[0],
            "swing_max": self.swing[1],
            "hertz": [slow, middle, fast],
            "coupling": self.learnt.springs.coupling(),
            "chains": chains_json(&self.chains, skeleton),
        })
    }
}

impl FitRecipe {
    /// The frames of the clips that secondary motion is learnt from, if there are any.
    pub(super) fn read_clips(
        &self,
        loaded: &LoadedRig,
        files: &mut Vec<FileNote>,
        watch: &dyn Watch,
    ) -> Result<Option<ExampleSet>, Error> {
        if self.secondary_from.is_empty() {
            return Ok(None);
        }
        let load = |_: Progress<'_>| {
            load_examples(&loaded.rig, &loaded.space, &sources(&self.secondary_from), &self.read, "secondary motion")
        };
        let (set, notes) = step(watch, READ_CLIPS, load)?;
        files.extend(notes);
        Ok(Some(set))
    }
}

/// Teaches the model of an outcome secondary motion, if there are clips.
pub(super) fn teach(outcome: &mut FitOutcome, clips: Option<&ExampleSet>, watch: &dyn Watch) -> Result<(), Error> {
    let Some(clips) = clips else { return Ok(()) };
    let frames = clips.examples();
    let (mut found, clips) = step(watch, LEARN_SECONDARY, |p| learn(&mut outcome.model, frames, p))?;
    found.chains = step(watch, LEARN_CHAINS, |p| learn_chains_of(outcome.model.rig(), &clips, frames, p))?;
    keep(&found.chains, &mut outcome.model);
    outcome.model.header.report["secondary"] = found.json(outcome.model.rig().skeleton());
    outcome.secondary = Some(found);
    Ok(())
}

/// Learns springs over `model` from the frames of clips, and puts them into it if they are worth having.
///
/// # Errors
/// [`Error`]: frames without times, a base that poses do not give, [`dermis_fit::secondary::SecondaryFitError`].
fn learn(
    model: &mut ModelFile,
    frames: &[Example],
    progress: Progress<'_>,
) -> Result<(SecondaryFound, Vec<Clip>), Error> {
    let start = Instant::now();
    if matches!(model.baked().base(), BakedBase::Given) {
        return Err(MethodError::Unused { setting: "secondary_from", with: "over a given base" }.into());
    }
    let clips = clips(model, frames)?;
    let squares = clips.iter().flat_map(|clip| &clip.offsets).flatten().map(|o| f64::from(o.length_squared()));
    let (sum, max) = squares.clone().fold((0.0, 0.0f64), |(sum, max), square| (sum + square, max.max(square)));
    let swing = [(sum / squares.count().max(1) as f64).sqrt(), max.sqrt()];
    let learnt = learn_springs(model.rig().mesh(), &clips, progress).map_err(FitRoomError::Secondary)?;
    let seconds = start.elapsed().as_secs_f64();
    let found = SecondaryFound { learnt, clips: clips.len(), swing, seconds, chains: Vec::new() };
    if found.is_kept() {
        let springs = Some(found.learnt.springs.clone());
        model.model = model.model.clone().with_springs(springs)?;
    }
    Ok((found, clips))
}

/// Frames as clips: each begins where time does not go on.
fn clips(model: &ModelFile, frames: &[Example]) -> Result<Vec<Clip>, Error> {
    let mut runner = WideRunner::new(model.baked());
    let mut clips: Vec<Clip> = Vec::new();
    for frame in frames {
        let time = frame.time.ok_or_else(|| FitRoomError::NoTime { label: frame.label.clone() })?;
        let skin = runner.run(&frame.transforms, None)?;
        let posed: Vec<Vec3> = skin.iter().map(|p| p.as_vec3()).collect();
        let offsets = frame.positions.iter().zip(skin).map(|(x, b)| (*x - *b).as_vec3()).collect();
        if clips.last().is_none_or(|clip| clip.times.last().is_some_and(|last| time <= *last)) {
            let name = frame.label.clone();
            clips.push(Clip { name, times: Vec::new(), posed: Vec::new(), offsets: Vec::new() });
        }
        if let Some(clip) = clips.last_mut() {
            clip.times.push(time);
            clip.posed.push(posed);
            clip.offsets.push(offsets);
        }
    }
    Ok(clips)
}
