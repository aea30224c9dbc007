//! The one number to take away from a viewer: held out, else cross-validated, else "not validated".

use super::cautious;
use crate::length::{show_length, unit_of};
use crate::model_outcome::{ModelOutcome, ScoredExamples, SetRole};
use crate::page::{KeyFigure, PageVerdict, Quantity, Tone};
use dermis_io::ModelFile;
use serde_json::Value;

/// Returns what is known of a model's error, as a sentence and as key figures.
///
/// `scored` are poses with true skins that the page shows. If their role is [`SetRole::Training`], or if there are none, the error that
/// cross-validation found when it chose the model's regularisation counts; the model file holds that one alone.
pub fn headline(model: &ModelFile, scored: Option<ScoredExamples<'_>>) -> (PageVerdict, Vec<KeyFigure>) {
    let unit = unit_of(&model.space);
    let mut figures = Vec::new();
    let mut add =
        |label: &str, value: Quantity, note: String| figures.push(KeyFigure { label: label.into(), value, note });
    if let Some(set) = scored {
        let (scores, poses) = (set.scores, set.scores.model.per_pose.len());
        let label = match set.role {
            SetRole::HeldOut => "Held-out error",
            SetRole::CrossValidated => "Cross-validated error",
            SetRole::Training => "Training error",
            SetRole::Scored => "Error",
        };
        let note = format!("rms of the model over the {poses} poses shown");
        add(label, Quantity::Length(scores.model.error.rms as f32), note);
        if let Some(baseline) = &scores.baseline {
            let note = "rms on the same poses".into();
            add("Rig's own weights", Quantity::Length(baseline.error.rms as f32), note);
        }
    }
    let evidence = scored.filter(|set| set.role != SetRole::Training);
    let said = evidence.and_then(|set| {
        ModelOutcome {
            model,
            fit: None,
            sets: vec![set],
            comparison: Vec::new(),
            further: Vec::new(),
            files: Vec::new(),
            command: None,
            pass: None,
        }
        .verdict()
    });
    if let Some((mut said, set)) = said.zip(evidence) {
        let error = show_length(set.scores.model.error.rms, &unit);
        if let Some(rest) = said.text.strip_prefix("Held out: ") {
            said.text = format!("Held out: {error} rms; {rest}");
        }
        return (said, figures);
    }
    match cross_validated(model) {
        Some(error) => {
            let text =
                format!("Cross-validated: the fit predicts poses left out of it to {} rms.", show_length(error, &unit));
            figures.insert(
                0,
                KeyFigure {
                    label: "Cross-validated error".into(),
                    value: Quantity::Length(error as f32),
                    note: "rms, when the regularisation was chosen".into(),
                },
            );
            (PageVerdict { text, tone: Tone::Good }, figures)
        }
        None => {
            (cautious("Not validated: nothing shows how the model does on poses that it was not fitted to."), figures)
        }
    }
}

/// The cross-validated error of the settings that the fit took, of those that it compared; rms in metres.
fn cross_validated(model: &ModelFile) -> Option<f64> {
    let report = &model.header.report;
    let taken = |point: &&Value| {
        let mut settings = point.as_object().into_iter().flatten().filter(|(key, _)| *key != VALIDATED);
        settings.all(|(key, value)| report.get(key) == Some(value))
    };
    report.get("sweep")?.as_array()?.iter().find(taken)?.get(VALIDATED)?.as_f64().filter(|error| error.is_finite())
}

/// What the points of a sweep call their error.
const VALIDATED: &str = "validated_rms";
