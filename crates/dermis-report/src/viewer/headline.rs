//! The headline of a viewer, and the figures beside it: the error of what the page shows.

use crate::model_outcome::page::error_label;
use crate::model_outcome::{ModelOutcome, ScoredExamples, SetRole, headline as of};
use crate::page::{KeyFigure, PageVerdict, Quantity};
use dermis_io::ModelFile;

/// What a page shows of a model.
#[derive(Clone, Copy)]
pub enum Shown<'a> {
    /// The model in poses of the reader's.
    Joints,
    /// A motion whose true skin nobody knows.
    Motion,
    /// Poses with their true skin.
    Truth(ScoredExamples<'a>),
}

/// Returns what is known of the error of a model that a page shows, as a sentence and as key figures.
///
/// - Poses with true skins: their own error, as `eval` judges it. If they say nothing about poses that the model was not fitted to, the
///   sentence goes on with what the fit found out about such.
/// - A motion without: what the fit found out, held out or cross-validated, and that it is no error of this motion; else that nothing is
///   validated.
pub fn headline(model: &ModelFile, shown: Shown<'_>) -> (PageVerdict, Vec<KeyFigure>) {
    let mut figures = Vec::new();
    let mut add = |label: &str, value: f64, note: String| {
        figures.push(KeyFigure { label: label.into(), value: Quantity::Length(value as f32), note })
    };
    let mut scored = None;
    if let Shown::Truth(set) = shown {
        let (scores, poses) = (set.scores, set.scores.model.per_pose.len());
        let label = error_label(set.evidence().map_or(SetRole::Training, |_| set.role));
        add(label, scores.model.error.rms, format!("rms of the model over the {poses} poses shown"));
        if let Some(baseline) = &scores.baseline {
            add("Rig's own weights", baseline.error.rms, "rms on the same poses".into());
        }
        scored = ModelOutcome::of_set(model, set).verdict().map(|said| (said, set.evidence().is_some()));
    }
    if let Some((said, true)) = scored {
        return (said, figures);
    }
    let evidence = model.header.evidence.as_ref();
    if let Some(evidence) = evidence {
        let note = format!("rms over {} poses, when the model was fitted", evidence.poses);
        add(error_label(evidence.validation.into()), evidence.rms, note);
    }
    let known = of::stored(model);
    let said = match (scored, evidence, shown) {
        // As the report of the fit says it.
        (Some((said, _)), None, _) => said,
        (Some((said, _)), Some(_), _) => {
            let own = of::capitalised(said.text.strip_prefix(of::NOT_VALIDATED).unwrap_or(&said.text));
            PageVerdict { text: format!("{own}\n{}", known.text), tone: known.tone }
        }
        (None, Some(_), Shown::Motion) => PageVerdict {
            text: format!(
                "{}\nThat was found when the model was fitted; the true skin of this motion is not known.",
                known.text
            ),
            tone: known.tone,
        },
        (None, ..) => known,
    };
    (said, figures)
}
