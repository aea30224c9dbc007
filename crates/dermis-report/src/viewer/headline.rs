//! The headline of a viewer, and the figures beside it.

use crate::model_outcome::page::error_label;
use crate::model_outcome::{ModelOutcome, ScoredExamples, headline as of};
use crate::page::{KeyFigure, PageVerdict, Quantity};
use dermis_io::ModelFile;

/// Returns what is known of a model's error, as a sentence and as key figures.
///
/// `scored` are poses with true skins that the page shows. If they say nothing about new poses, or if there are none, the errors that
/// the fit found and the model file holds count.
pub fn headline(model: &ModelFile, scored: Option<ScoredExamples<'_>>) -> (PageVerdict, Vec<KeyFigure>) {
    let mut figures = Vec::new();
    let mut add = |label: &str, value: f64, note: String| {
        figures.push(KeyFigure { label: label.into(), value: Quantity::Length(value as f32), note })
    };
    if let Some(set) = scored {
        let (scores, poses) = (set.scores, set.scores.model.per_pose.len());
        let label = set.evidence().map_or("Training error", |_| error_label(set.role));
        add(label, scores.model.error.rms, format!("rms of the model over the {poses} poses shown"));
        if let Some(baseline) = &scores.baseline {
            add("Rig's own weights", baseline.error.rms, "rms on the same poses".into());
        }
    }
    let shown = scored.filter(|set| set.evidence().is_some());
    if let Some(said) = shown.and_then(|set| ModelOutcome::of_set(model, set).verdict()) {
        return (said, figures);
    }
    if let Some(evidence) = &model.header.evidence {
        let note = format!("rms over {} poses, when the model was fitted", evidence.poses);
        let value = Quantity::Length(evidence.rms as f32);
        figures.insert(0, KeyFigure { label: error_label(evidence.validation.into()).into(), value, note });
    }
    (of::stored(model), figures)
}
