//! The section of the errors per pose.

use super::escape;
use super::table::{Cell, Sort, table};
use crate::page::charts::name_or;
use crate::page::content::{Page, ScoredPose, ScoredSet};
use crate::page::quantity::Quantity;
use std::fmt::Write as _;

/// Writes a chart and a table for every set that holds poses.
pub(super) fn pose_sets(page: &Page) -> String {
    let mut out = pose_words(page);
    for (index, set) in page.sets.iter().enumerate().filter(|(_, set)| !set.poses.is_empty()) {
        let count = if set.poses.len() == 1 { "1 pose".into() } else { format!("{} poses", set.poses.len()) };
        let _ = write!(
            out,
            "<h3>{} <span class=\"count\">{count}</span></h3><div class=\"chart\" data-set=\"{index}\"></div>{}",
            escape(name_or(&set.name, "poses")),
            pose_table(page, index, set)
        );
    }
    out
}

/// Says what the columns mean that some pose fills.
fn pose_words(page: &Page) -> String {
    let any = |f: fn(&ScoredPose) -> bool| page.sets.iter().flat_map(|set| &set.poses).any(f);
    let mut words = "Distances from the target over the vertices: rms is the root of their mean square, 95 % of the \
                     vertices are nearer than the figure so called."
        .to_string();
    if any(|p| p.distance_degrees.is_some()) {
        words += " Outside training: the largest angle of a joint from the nearest training pose.";
    }
    if any(|p| p.guarded_share.is_some()) {
        words += " Guarded: vertices whose correction was cut at its limit.";
    }
    if any(|p| p.limited_share.is_some()) {
        words += " Limited: joints beyond what training showed.";
    }
    format!("<p class=\"note\">{words}</p>")
}

/// Writes a row per pose, with the columns that some pose of the set fills.
fn pose_table(page: &Page, index: usize, set: &ScoredSet) -> String {
    let unit = &page.unit;
    let baseline = name_or(&page.baseline_name, "baseline");
    let any = |f: fn(&ScoredPose) -> bool| set.poses.iter().any(f);
    // Head of the column, and the cell of a pose.
    let mut columns: Vec<(String, Box<dyn Fn(&ScoredPose) -> Cell + '_>)> = vec![
        ("Pose".into(), Box::new(|p| Cell::text(&p.label))),
        (format!("rms ({})", unit.name), Box::new(|p| Cell::bare(&Quantity::Length(p.rms), unit))),
        (format!("95 % ({})", unit.name), Box::new(|p| Cell::bare(&Quantity::Length(p.p95), unit))),
        (format!("max ({})", unit.name), Box::new(|p| Cell::bare(&Quantity::Length(p.max), unit))),
    ];
    if any(|p| p.baseline_rms.is_some()) {
        columns.push((
            format!("{baseline} rms ({})", unit.name),
            Box::new(|p| Cell::bare(&Quantity::optional(p.baseline_rms, Quantity::Length), unit)),
        ));
    }
    if any(|p| p.baseline_max.is_some()) {
        columns.push((
            format!("{baseline} max ({})", unit.name),
            Box::new(|p| Cell::bare(&Quantity::optional(p.baseline_max, Quantity::Length), unit)),
        ));
    }
    if any(|p| p.baseline_rms.is_some()) {
        columns.push((
            format!("rms / {baseline}"),
            Box::new(|p| Cell::bare(&Quantity::optional(p.baseline_rms.map(|b| p.rms / b), Quantity::Number), unit)),
        ));
    }
    if any(|p| p.distance_degrees.is_some()) {
        columns.push((
            "Outside training".into(),
            Box::new(|p| {
                let angle = Quantity::optional(p.distance_degrees, Quantity::Degrees);
                let joint = p.distance_joint.as_deref().filter(|_| p.distance_degrees.is_some()).unwrap_or_default();
                let joint = if joint.is_empty() { String::new() } else { format!(" <small>{}</small>", escape(joint)) };
                let mut cell = Cell::value(&angle, unit);
                cell.html += &joint;
                cell
            }),
        ));
    }
    if any(|p| p.guarded_share.is_some()) {
        let cell = |p: &ScoredPose| Cell::bare(&Quantity::optional(p.guarded_share, Quantity::Share), unit);
        columns.push(("Vertices guarded (%)".into(), Box::new(cell)));
    }
    if any(|p| p.limited_share.is_some()) {
        let cell = |p: &ScoredPose| Cell::bare(&Quantity::optional(p.limited_share, Quantity::Share), unit);
        columns.push(("Joints limited (%)".into(), Box::new(cell)));
    }
    let heads: Vec<&str> = columns.iter().map(|(head, _)| head.as_str()).collect();
    let rows = set.poses.iter().map(|pose| columns.iter().map(|(_, cell)| cell(pose)).collect()).collect();
    table(&format!(" data-poses=\"{index}\""), &heads, rows, Sort::Yes)
}
