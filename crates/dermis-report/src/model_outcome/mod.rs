//! What a fit or an evaluation found out about one model: its warnings, its JSON and its page.

pub(crate) mod headline;
mod json;
pub(crate) mod page;
mod pass;
mod vertices;
mod view;

pub use pass::PassVerdict;
pub use vertices::vertex_csv;

use crate::page::{FileStamp, MethodRow, PageTable, PageWarning, PoseRef, StrengthSweep};
use dermis_io::ModelFile;
use dermis_measure::{PassRule, Scores};
use dermis_rig::ExampleSet;

/// Everything a fit or an evaluation found out about a model.
///
/// [`warnings`](Self::warnings) are for a terminal, [`json`](Self::json) is for programs, [`page`](Self::page) for people.
pub struct ModelOutcome<'a> {
    /// The model.
    pub model: &'a ModelFile,
    /// The fit, unless a stored model was scored.
    pub fit: Option<FitSummary>,
    /// The sets scored. The last one counts: held-out motion, else poses left out of the fit, else the training poses.
    pub sets: Vec<ScoredExamples<'a>>,
    /// Other methods on the same bench.
    pub comparison: Vec<MethodRow>,
    /// Further tables of the page.
    pub further: Vec<PageTable>,
    /// Files read and written.
    pub files: Vec<FileStamp>,
    /// The command line.
    pub command: Option<String>,
    /// A demand on the set that counts.
    pub pass: Option<PassRule>,
}

/// What a report says of a fit.
#[derive(Clone, Debug)]
pub struct FitSummary {
    /// Seconds the fit took, files not counted.
    pub seconds: f64,
    /// What the user should know.
    pub warnings: Vec<String>,
    /// How the strength of the regularisation was chosen; `None` if it was given.
    pub sweep: Option<StrengthSweep>,
}

/// A set of examples and a model's scores on it.
#[derive(Clone, Copy)]
pub struct ScoredExamples<'a> {
    /// What the set was for.
    pub role: SetRole,
    /// The scores, a pose per example.
    pub scores: &'a Scores,
    /// The examples; `None` if they were streamed and are gone. A page shows skins only if it has all examples.
    pub examples: Option<&'a ExampleSet>,
}

/// What a set of examples was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetRole {
    /// The model was fitted to it.
    Training,
    /// Fits without them predicted its poses.
    CrossValidated,
    /// It was kept from the fit.
    HeldOut,
    /// A stored model was scored on it.
    Scored,
}

impl SetRole {
    /// Returns the name that reports print.
    pub fn name(self) -> &'static str {
        match self {
            Self::Training => "training",
            Self::CrossValidated => "cross-validated",
            Self::HeldOut => "held out",
            Self::Scored => "scored",
        }
    }
}

/// A model whose largest error exceeds this many times the baseline's has spikes. The factor leaves room for vertices
/// that a smooth model misses slightly more than the rig's own weights do.
const SPIKE: f64 = 1.1;

impl<'a> ModelOutcome<'a> {
    /// Returns what is known of a model that was scored on one set.
    pub fn of_set(model: &'a ModelFile, set: ScoredExamples<'a>) -> Self {
        Self {
            model,
            fit: None,
            sets: vec![set],
            comparison: Vec::new(),
            further: Vec::new(),
            files: Vec::new(),
            command: None,
            pass: None,
        }
    }

    /// Returns the warnings of the fit and of what was measured.
    pub fn warnings(&self) -> Vec<String> {
        self.page_warnings().into_iter().map(|warning| warning.text).collect()
    }

    /// Returns the warnings with the poses that they name.
    fn page_warnings(&self) -> Vec<PageWarning> {
        /// Share of the joints beyond their limits, on average over a set, from which a motion is unlike the training.
        const UNLIKE_TRAINING: f64 = 0.1;
        /// Degrees from the nearest training pose from which a joint is worth a warning.
        const FAR_FROM_TRAINING: f64 = 20.0;
        let of_fit = self.fit.iter().flat_map(|fit| &fit.warnings);
        let mut all: Vec<PageWarning> = of_fit.cloned().map(PageWarning::from).collect();
        for (set, ScoredExamples { role, scores, .. }) in self.sets.iter().enumerate() {
            let name = role.name();
            let about = |pose: usize, text: String| PageWarning { text, pose: Some(PoseRef { set, pose }) };
            let label = |pose: usize| &scores.model.per_pose[pose].label;
            if let Some(baseline) = &scores.baseline {
                if scores.model.error.rms > baseline.error.rms {
                    all.push(format!("{name}: the model is worse than the rig's own weights").into());
                } else if scores.model.error.max > SPIKE * baseline.error.max {
                    let poses = &scores.model.per_pose;
                    let worst = (0..poses.len()).max_by(|&a, &b| poses[a].max.total_cmp(&poses[b].max)).unwrap_or(0);
                    all.push(about(
                        worst,
                        format!(
                            "{name}: the largest error exceeds {SPIKE} times that of the rig's own weights, in \"{}\"",
                            label(worst)
                        ),
                    ));
                }
            }
            // A pose left out of a fit is far from the others because it was left out.
            if *role == SetRole::CrossValidated {
                continue;
            }
            let count = scores.frames.len().max(1) as f64;
            let limited = scores.frames.iter().map(|f| f.limited).sum::<f64>() / count;
            if limited > UNLIKE_TRAINING {
                all.push(
                    format!(
                        "{name}: the motion is unlike the training: limits act on {:.0} % of the joints",
                        100.0 * limited
                    )
                    .into(),
                );
            }
            if let Some((frame, (degrees, joint))) = farthest(scores).filter(|(_, d)| d.0 > FAR_FROM_TRAINING) {
                all.push(about(
                    frame,
                    format!(
                        "{name}: in \"{}\" the joint of \"{joint}\" is {degrees:.0} degrees from anything it was trained on",
                        label(frame)
                    ),
                ));
            }
        }
        all
    }

    /// Returns the set whose errors count.
    pub fn counts(&self) -> Option<&ScoredExamples<'_>> {
        self.sets.last()
    }

    /// Returns the scores of the set with this role.
    fn scores_of(&self, role: SetRole) -> Option<&Scores> {
        self.sets.iter().find(|set| set.role == role).map(|set| set.scores)
    }
}

/// Returns the pose whose worst joint is farthest from the training, with that joint's degrees and name.
fn farthest(scores: &Scores) -> Option<(usize, &(f64, String))> {
    let far = scores.frames.iter().enumerate().filter_map(|(at, f)| Some((at, f.distance.as_ref()?)));
    far.max_by(|a, b| a.1.0.total_cmp(&b.1.0))
}
