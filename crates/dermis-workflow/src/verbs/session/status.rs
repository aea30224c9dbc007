//! What a session says of its steps, for people and for programs.

use super::file::{CheckErrors, Checks, Met, Offer, State, StepScores};
use dermis_report::{LengthUnit, show_length, show_number};
use serde_json::{Value, json};

/// An offer as JSON.
pub(super) fn offer_json(offer: &Offer) -> Value {
    json!({
        "name": offer.name, "pose": offer.pose.to_string(), "label": offer.pose.label, "shown_by": offer.shown_by,
        "check": offer.check, "region": offer.region,
    })
}

/// A state as JSON: what made it, and the rms errors where the truth is known, metres.
pub(super) fn state_json(state: &State) -> Value {
    let errors = state.scores.as_ref().and_then(|scores| scores.checks.as_ref()?.errors);
    json!({"did": state.did, "active": state.active, "error": errors.map(error_json)})
}

fn error_json(errors: CheckErrors) -> Value {
    json!({"before": errors.before, "after": errors.after, "rig": errors.rig, "change": errors.change()})
}

/// What a step did, as JSON; lengths in metres.
pub(super) fn scores_json(scores: &StepScores) -> Value {
    let met = |met: &Met| {
        let unmet =
            met.unmet.iter().map(|part| json!({"region": part.region, "vertices": part.vertices, "worst": part.worst}));
        json!({"name": met.name, "worst": met.worst, "rms": met.rms, "unmet": unmet.collect::<Vec<_>>()})
    };
    let checks = |checks: &Checks| {
        let errors = checks.errors.map(error_json);
        let rises = checks.rises.iter().map(
            |rise| json!({"check": rise.check, "region": rise.region, "before": rise.before, "after": rise.after}),
        );
        json!({
            "frames": checks.frames, "trained": checks.trained, "error": errors, "rises": rises.collect::<Vec<_>>(),
        })
    };
    let moved = scores
        .moved
        .iter()
        .map(|moved| json!({"pose": moved.pose.to_string(), "region": moved.region, "distance": moved.distance}));
    json!({
        "refitted": scores.refitted,
        "met": scores.met.as_ref().map(met),
        "others": scores.others.as_ref().map(met),
        "known_share": scores.known,
        "checks": scores.checks.as_ref().map(checks),
        "side_effects": moved.collect::<Vec<_>>(),
        "mirrored": scores.mirrored,
    })
}

/// Returns what a step did, a line each: how it is met, whether it was new, what the checks say, what else moved. There is no
/// verdict without checks; `to_check` names what asks for some.
pub fn lines(scores: &StepScores, unit: &LengthUnit, to_check: &str) -> Vec<String> {
    let length = |x: f64| show_length(x, unit);
    let mut lines = Vec::new();
    if let Some(met) = &scores.met {
        lines.push(format!("met: {}", met_words(met, unit)));
    }
    if let Some(others) = scores.others.as_ref().filter(|others| scores.met.is_none() || !others.unmet.is_empty()) {
        let which = if scores.met.is_some() { "met worst of the others" } else { "met worst" };
        lines.push(format!("{which}: \"{}\", {}", others.name, met_words(others, unit)));
    }
    if let Some(known) = scores.known {
        lines.push(format!("new ground: the model had {:.0} % of this before you sculpted", 100.0 * known));
    }
    if let Some(checks) = &scores.checks {
        lines.extend(check_lines(checks, scores.refitted, unit));
    }
    if scores.refitted {
        let moved: Vec<String> = (scores.moved.iter())
            .map(|moved| format!("{} by {} in {}", moved.region, length(moved.distance), moved.pose))
            .collect();
        let mirrored = match scores.mirrored > 0.0 {
            true => format!("; the other side moves by {}", length(scores.mirrored)),
            false => String::new(),
        };
        lines.push(match moved.is_empty() {
            true => format!("side effects: none{mirrored}"),
            false => format!("side effects: {}{mirrored}", moved.join(", ")),
        });
    }
    if scores.checks.as_ref().is_none_or(|checks| checks.errors.is_none()) {
        lines.push(format!("no verdict: nobody knows yet; {to_check} asks for the pose that would tell"));
    }
    lines
}

fn met_words(met: &Met, unit: &LengthUnit) -> String {
    let all = format!("within {} where it was sculpted", show_length(met.worst, unit));
    let part = |part: &super::file::Unmet| {
        format!("{} ({} vertices, up to {})", part.region, part.vertices, show_length(part.worst, unit))
    };
    match met.unmet.is_empty() {
        true => all,
        false => format!("{all}; not met: {}", met.unmet.iter().map(part).collect::<Vec<_>>().join(", ")),
    }
}

fn check_lines(checks: &Checks, refitted: bool, unit: &LengthUnit) -> Vec<String> {
    let Checks { frames, trained, errors, rises } = checks;
    let of = match trained {
        0 if *frames == 1 => "1 pose".into(),
        0 => format!("{frames} poses"),
        1 => format!("{frames} of {} poses; 1 is trained", frames + 1),
        trained => format!("{frames} of {} poses; {trained} are trained", frames + trained),
    };
    let Some(errors) = errors else { return vec![format!("checks: {of}")] };
    let number = |x: f64| show_number(x, unit);
    let after = show_length(errors.after, unit);
    let now = match refitted {
        true => format!("{} → {after} ({:+.1} %", number(errors.before), 100.0 * errors.change()),
        false => format!("{after} ("),
    };
    let own = show_length(errors.rig, unit);
    let mut lines = vec![format!(
        "checks: {}the rig's own {own}), rms on taught skin in {of}",
        if refitted { now + "; " } else { now }
    )];
    if !rises.is_empty() {
        let rise = |rise: &super::file::Rise| {
            format!("{} in {} ({} → {})", rise.region, rise.check, number(rise.before), show_length(rise.after, unit))
        };
        lines.push(format!("  worse: {}", rises.iter().map(rise).collect::<Vec<_>>().join(", ")));
    }
    lines
}
