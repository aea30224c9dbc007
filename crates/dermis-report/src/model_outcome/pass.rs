//! Whether a model meets the demand of whoever ordered it.

use super::{ModelOutcome, SetRole};
use crate::page::{PageVerdict, Tone};
use dermis_measure::{PassRule, Within};
use serde_json::{Value, json};

/// What came of a demand such as "1 mm in 98 %".
#[derive(Clone, Debug, PartialEq)]
pub struct PassVerdict {
    rule: PassRule,
    /// The set that counts, if its errors say anything about other poses.
    counted: Option<(SetRole, Within)>,
}

impl ModelOutcome<'_> {
    /// Returns what came of the demand, if there is one.
    ///
    /// The set that counts is judged, without poses beside a training pose. If none is left, nothing is validated and the demand is
    /// not met.
    pub fn pass(&self) -> Option<PassVerdict> {
        let rule = self.pass?;
        let counted = self.counts().and_then(|set| Some((set.role, set.evidence()?.within?)));
        Some(PassVerdict { rule, counted })
    }
}

impl PassVerdict {
    /// Returns whether the demand is met.
    pub fn passed(&self) -> bool {
        self.counted.is_some_and(|(_, within)| self.rule.is_met(within))
    }

    /// Returns the verdict as a sentence.
    pub fn text(&self) -> String {
        let word = if self.passed() { "Passed" } else { "Failed" };
        let (distance, percent) = (self.rule.distance(), self.rule.percent());
        match self.counted {
            Some((role, within)) => {
                let of = match role {
                    SetRole::HeldOut => "held-out ",
                    SetRole::CrossValidated => "cross-validated ",
                    SetRole::Training | SetRole::Scored => "",
                };
                let shown = within.shown();
                format!("{word}: {shown} % of the {of}distances are at most {distance}; {percent} % were asked.")
            }
            None => format!(
                "{word}: not validated, so nothing shows whether {percent} % of the distances are at most {distance}. Hold \
                 examples out, or let the fit cross-validate."
            ),
        }
    }

    /// Returns the verdict as JSON.
    pub fn json(&self) -> Value {
        let mut value = json!({
            "asked": self.rule.to_string(),
            "reached_percent": self.counted.map(|(_, within)| within.percent()),
            "passed": self.passed(),
        });
        if self.counted.is_none() {
            value["reason"] = "not validated".into();
        }
        value
    }

    /// Returns the verdict as the page shows it.
    pub(super) fn on_page(&self) -> PageVerdict {
        PageVerdict { text: self.text(), tone: if self.passed() { Tone::Good } else { Tone::Bad } }
    }
}
