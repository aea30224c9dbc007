//! The one sentence to take away from a model: held out, else cross-validated, else "not validated".
//!
//! Terminal, JSON, page, viewer and the demand of `--pass` agree, because all of them read the errors that [`ScoredExamples::evidence`]
//! returns. Poses beside a training pose never count.

use super::{ModelOutcome, SPIKE, ScoredExamples, SetRole};
use crate::page::{PageVerdict, Tone};
use crate::{show_length, unit_of};
use dermis_io::{Evidence, ModelFile, Validation};
use dermis_measure::{BESIDE, Totals};

/// How the sentence begins that says nothing of other poses.
pub(crate) const NOT_VALIDATED: &str = "Not validated; ";

impl ScoredExamples<'_> {
    /// Returns the errors that say something about poses which the model was not fitted to, if there are any.
    pub fn evidence(&self) -> Option<&Totals> {
        self.scores.unseen.as_ref().filter(|_| self.role != SetRole::Training)
    }

    /// Returns how an error on the set is evidence for other poses.
    pub fn validation(&self) -> &'static str {
        match self.evidence() {
            Some(_) => self.role.name(),
            None => "not validated",
        }
    }

    /// Returns how many poses are beside a training pose.
    fn trained(&self) -> usize {
        self.scores.frames.iter().filter(|frame| frame.trained).count()
    }
}

impl ModelOutcome<'_> {
    /// Returns what a model file keeps of the set that counts; `None` if nothing is validated.
    pub fn evidence(&self) -> Option<Evidence> {
        let set = self.counts()?;
        let validation = match set.role {
            SetRole::HeldOut => Validation::HeldOut,
            SetRole::CrossValidated => Validation::CrossValidated,
            SetRole::Training | SetRole::Scored => return None,
        };
        let totals = set.evidence()?;
        Some(Evidence {
            validation,
            poses: totals.poses,
            trained: set.trained(),
            rms: totals.error.rms,
            max: totals.error.max,
            baseline: totals.baseline.map(|b| [b.rms, b.max]),
        })
    }

    /// Returns the sentence to take away, of the set that counts.
    pub fn verdict(&self) -> Option<PageVerdict> {
        let set = self.counts()?;
        Some(match set.evidence() {
            Some(totals) => {
                let baseline = totals.baseline.map(|b| [b.rms, b.max]);
                let said = judged(self.model, [totals.error.rms, totals.error.max], baseline);
                headline(set.role, said, (set.trained(), set.scores.frames.len()))
            }
            None => {
                let (scores, trained) = (set.scores, set.role != SetRole::Training);
                let baseline = scores.baseline.as_ref().map(|b| [b.error.rms, b.error.max]);
                let (text, tone) = judged(self.model, [scores.model.error.rms, scores.model.error.max], baseline);
                let poses = if trained {
                    format!("all {} poses are within {BESIDE} degrees of training poses; there", scores.frames.len())
                } else {
                    "on the training poses".into()
                };
                PageVerdict { text: format!("{NOT_VALIDATED}{poses}, {text}"), tone: Tone::Caution.max(tone) }
            }
        })
    }
}

impl From<Validation> for SetRole {
    fn from(validation: Validation) -> Self {
        match validation {
            Validation::HeldOut => Self::HeldOut,
            Validation::CrossValidated => Self::CrossValidated,
        }
    }
}

/// Returns the sentence to take away of a stored model, from what its fit found.
pub(crate) fn stored(model: &ModelFile) -> PageVerdict {
    match &model.header.evidence {
        Some(evidence) => {
            let said = judged(model, [evidence.rms, evidence.max], evidence.baseline);
            headline(evidence.validation.into(), said, (evidence.trained, evidence.poses + evidence.trained))
        }
        None => PageVerdict {
            text: "Not validated: nothing shows how the model does on poses that it was not fitted to.".into(),
            tone: Tone::Caution,
        },
    }
}

/// Returns the headline of a judged set, `trained` poses of `all` left out.
fn headline(role: SetRole, (text, tone): (String, Tone), (trained, all): (usize, usize)) -> PageVerdict {
    let mut text = match role {
        SetRole::CrossValidated => format!("Cross-validated: {text}"),
        SetRole::HeldOut => format!("Held out: {text}"),
        SetRole::Training | SetRole::Scored => capitalised(&text),
    };
    if trained > 0 {
        let are = if trained == 1 { "is" } else { "are" };
        text += &format!(
            "\n{} of {all} poses count: {trained} {are} within {BESIDE} degrees of a training pose in every joint.",
            all - trained
        );
    }
    PageVerdict { text, tone }
}

/// Returns what [rms, max] of a model say beside those of the rig's own weights.
fn judged(model: &ModelFile, [rms, max]: [f64; 2], baseline: Option<[f64; 2]>) -> (String, Tone) {
    /// Share of the rig's diagonal from which a skin is wrong to look at, whatever it is compared with.
    const WRONG: f64 = 0.05;
    if rms > WRONG * model.rig().mesh().diagonal() {
        let error = show_length(rms, &unit_of(&model.space));
        return (format!("the skin misses its target by {error} rms, more than 5 % of the rig's diagonal."), Tone::Bad);
    }
    let Some([base_rms, base_max]) = baseline.filter(|[rms, _]| *rms > 0.0) else {
        return ("the rig has no weights of its own to compare with.".into(), Tone::Caution);
    };
    let ratio = rms / base_rms;
    let remains = format!("{:.0} % of the error of the rig's own weights", 100.0 * ratio);
    if ratio > 1.0 {
        (format!("worse than the rig's own weights: {:.0} % of their error.", 100.0 * ratio), Tone::Bad)
    } else if max > SPIKE * base_max {
        (format!("{remains} remains, but the largest error exceeds theirs."), Tone::Caution)
    } else if ratio > 0.8 {
        (format!("{remains} remains: little gained."), Tone::Caution)
    } else if max <= base_max {
        (format!("{remains} remains; the largest error is smaller, too."), Tone::Good)
    } else {
        (format!("{remains} remains."), Tone::Good)
    }
}

/// The text with a capital letter.
pub(crate) fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}
