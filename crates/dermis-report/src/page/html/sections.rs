//! The sections that are tables: worst vertices, methods, the sweep, free tables, provenance.

use super::escape;
use super::table::{Cell, Flush, Sort, table};
use crate::length::LengthUnit;
use crate::page::content::{MethodRow, Page, PageTable};
use crate::page::quantity::{DASH, Quantity};
use std::fmt::Write as _;

/// Where the number of a vertex leads.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum VertexLinks {
    /// To its place in the 3D view.
    IntoView,
    /// Nowhere: the page has no 3D view.
    None,
}

pub(super) fn worst_vertices(page: &Page, links: VertexLinks) -> String {
    let rows = page.worst.iter().map(|w| {
        let set = page.sets.get(w.pose.set);
        let pose = set.and_then(|set| set.poses.get(w.pose.pose));
        // The script makes a button of it if the view shows the pose.
        let vertex = if links == VertexLinks::IntoView && pose.is_some() {
            format!("<span data-vertex=\"{0}\" data-pose=\"{1} {2}\">{0}</span>", w.vertex, w.pose.set, w.pose.pose)
        } else {
            w.vertex.to_string()
        };
        vec![
            Cell { html: vertex, flush: Flush::Right, key: Some(f64::from(w.vertex)) },
            Cell::bare(&Quantity::Length(w.error), &page.unit),
            Cell::text(&w.bone),
            Cell::text(pose.map_or(DASH, |pose| &pose.label)),
            Cell::text(set.map_or(DASH, |set| &set.name)),
        ]
    });
    let error = format!("Error ({})", page.unit.name);
    table("", &["Vertex", &error, "Bone", "Pose", "Set"], rows.collect(), Sort::Yes)
}

pub(super) fn comparison(methods: &[MethodRow], unit: &LengthUnit) -> String {
    // The smallest held-out error is bold.
    let held_out = |m: &MethodRow| m.held_out.filter(|e| e.is_finite());
    let best = methods.iter().filter_map(held_out).min_by(f32::total_cmp);
    let rows = methods.iter().map(|m| {
        let mut held = Cell::bare(&Quantity::optional(m.held_out, Quantity::Length), unit);
        if best.is_some() && held_out(m) == best {
            held.html = format!("<b>{}</b>", held.html);
        }
        vec![
            Cell::text(&m.method),
            Cell::bare(&Quantity::optional(m.train, Quantity::Length), unit),
            held,
            Cell::value(&Quantity::optional(m.model_bytes, Quantity::Bytes), unit),
            Cell::value(&Quantity::optional(m.fit_seconds, Quantity::Seconds), unit),
            Cell::value(&Quantity::optional(m.vertices_per_second, Quantity::PerSecond), unit),
            Cell::text(&m.note),
        ]
    });
    let (train, held) = (format!("Training ({})", unit.name), format!("Held out ({})", unit.name));
    table("", &["Method", &train, &held, "Model", "Fit", "Vertices", "Note"], rows.collect(), Sort::Yes)
}

pub(super) fn sweep_table(page: &Page) -> String {
    let Some(sweep) = &page.sweep else { return String::new() };
    let rows = sweep.points.iter().map(|p| {
        vec![
            Cell::bare(&Quantity::Number(p.s), &page.unit),
            Cell::bare(&Quantity::Length(p.train_rms), &page.unit),
            Cell::bare(&Quantity::Length(p.validated_rms), &page.unit),
        ]
    });
    let (train, left) = (format!("Fitted poses ({})", page.unit.name), format!("Poses left out ({})", page.unit.name));
    let table = table("", &["s", &train, &left], rows.collect(), Sort::Yes);
    format!("<details><summary>The numbers of this chart</summary>{table}</details>")
}

pub(crate) fn free_table(given: &PageTable, unit: &LengthUnit) -> String {
    let rows = given.rows.iter().map(|row| row.iter().map(|value| Cell::value(value, unit)).collect());
    let note =
        if given.note.is_empty() { String::new() } else { format!("<p class=\"note\">{}</p>", escape(&given.note)) };
    note + &table("", &given.columns, rows.collect(), Sort::Yes)
}

pub(super) fn provenance(page: &Page) -> String {
    let p = &page.provenance;
    let mut lines = String::new();
    let pairs = [("Program", Some(&p.program)), ("Date", p.date.as_ref()), ("Command", p.command.as_ref())];
    for (key, value) in pairs {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            let _ = write!(lines, "<dt>{key}</dt><dd><code>{}</code></dd>", escape(value));
        }
    }
    let mut out = if lines.is_empty() { lines } else { format!("<dl class=\"pairs\">{lines}</dl>") };
    if !p.files.is_empty() {
        let rows = p.files.iter().map(|f| {
            vec![
                Cell::text(&f.role),
                Cell::html(format!("<code>{}</code>", escape(&f.path))),
                Cell::value(&Quantity::Bytes(f.bytes), &page.unit),
                Cell::html(format!("<code class=\"hash\">{}</code>", escape(&f.hash))),
            ]
        });
        out += &table("", &["Role", "File", "Size", "Hash"], rows.collect(), Sort::No);
    }
    out
}
