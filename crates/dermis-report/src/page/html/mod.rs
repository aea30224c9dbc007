//! The page as HTML: the template and what fills it.
//!
//! Text and tables are written here. The page's script draws the charts and the 3D view from a block of JSON, see
//! [`charts`](super::charts).

mod document;
mod poses;
mod sections;
pub(crate) mod table;
#[cfg(test)]
mod tests;

use super::charts::ScriptData;
use super::content::{KeyFigure, Page, PageVerdict, PageWarning, PoseRef, Tone};
use super::quantity::significant;
use super::rig::{self, RigView};
use super::skins::{self, SkinView};
use crate::length::LengthUnit;
use crate::text::is_unsafe;
pub(crate) use document::{Data, DataKind, Document};
use poses::pose_sets;
pub(crate) use sections::free_table;
use sections::{VertexLinks, comparison, provenance, sweep_table, worst_vertices};
use serde::Serialize;
use std::fmt::Write as _;
use table::{Cell, Sort, table};

/// The body of a report.
const TEMPLATE: &str = include_str!("page.html");
/// Elements, numbers as text, tips.
pub(crate) const TOOLS_SCRIPT: &str = include_str!("tools.js");
/// Colours, tables and the 3D view.
pub(crate) const STYLE: &str = include_str!("page.css");
/// The parts of the 3D view, in the order in which they use each other.
pub(crate) const VIEW_SCRIPT: &str = concat!(
    include_str!("view/data.js"),
    include_str!("view/shapes.js"),
    include_str!("view/camera.js"),
    include_str!("view/webgl.js"),
    include_str!("view/software.js"),
    include_str!("view/controls.js"),
    include_str!("view/playback.js"),
    include_str!("view/overlay.js"),
    include_str!("view/pointer.js"),
    include_str!("view/view.js"),
);
const PAGE_SCRIPT: &str = include_str!("page.js");
/// The view of a rig.
pub(crate) const RIG_STYLE: &str = include_str!("rig/rig.css");
/// What a page with a rig has besides: the picture of the viewer, and what is painted on it.
pub(crate) const RIG_SCRIPT: &str = concat!(
    include_str!("../../viewer/stage.js"),
    include_str!("rig/paint.js"),
    include_str!("rig/marks.js"),
    include_str!("rig/rig.js"),
);

pub(super) fn whole_page(page: &Page) -> String {
    let has_pose = |p: PoseRef| page.sets.get(p.set).is_some_and(|set| p.pose < set.poses.len());
    let empty = SkinView::default();
    let (view, left_out) = skins::pack(page.view.as_ref().unwrap_or(&empty), has_pose);
    let no_rig = RigView::default();
    let (rig, rig_left_out) = rig::pack(page.rig.as_ref().unwrap_or(&no_rig));
    let left_out: Vec<PageWarning> = left_out.into_iter().chain(rig_left_out).map(PageWarning::from).collect();
    let warnings: Vec<&PageWarning> = page.warnings.iter().chain(&left_out).collect();

    let mut sections = Sections::default();
    if view.is_some() {
        let left_out = page.view.iter().flat_map(|view| &view.left_out);
        let notes: String = left_out.map(|text| format!("<p class=\"note left-out\">{}</p>", escape(text))).collect();
        sections.add("view", "Skin in 3D", VIEW_HTML.to_owned() + &notes);
    }
    if rig.is_some() {
        sections.add("rig", "Rig in 3D", RIG_HTML.to_owned());
    }
    if page.sets.iter().any(|set| !set.poses.is_empty()) {
        sections.add("poses", "Errors per pose", pose_sets(page));
    }
    if !page.worst.is_empty() {
        let links = if view.is_some() { VertexLinks::IntoView } else { VertexLinks::None };
        sections.add("worst", "Worst vertices", worst_vertices(page, links));
    }
    if !page.comparison.is_empty() {
        sections.add("comparison", "Methods compared", comparison(&page.comparison, &page.unit));
    }
    if let Some(sweep) = &page.sweep {
        let note = format!(
            "<p class=\"note\">Error on the fitted poses and on the poses left out ({}), against the strength s of the \
             regularisation. Chosen: s&nbsp;=&nbsp;{}.</p><div class=\"chart\" id=\"sweep-chart\"></div>",
            escape(&sweep.what),
            significant(f64::from(sweep.chosen_s))
        );
        sections.add("sweep", "Choice of regularisation", note + &sweep_table(page));
    }
    for (i, table) in page.tables.iter().enumerate() {
        sections.add(&format!("table-{i}"), &table.title, free_table(table, &page.unit));
    }
    if !page.settings.is_empty() {
        let rows = page.settings.iter().map(|(k, v)| vec![Cell::text(k), Cell::text(v)]).collect();
        sections.add("settings", "Settings", table("", &["Setting", "Value"], rows, Sort::No));
    }
    let provenance = provenance(page);
    if !provenance.is_empty() {
        sections.add("provenance", "Provenance", provenance);
    }

    let title = if page.title.is_empty() { "Report" } else { &page.title };
    let body = fill(TEMPLATE, |name| match name {
        "title" => escape(title),
        "subtitle" if page.subtitle.is_empty() => String::new(),
        "subtitle" => format!("<p class=\"subtitle\">{}</p>", escape(&page.subtitle)),
        "verdict" => page.pass.iter().chain(&page.verdict).map(verdict).collect(),
        "warnings" => warning_list(page, &warnings),
        "figures" => figure_list(&page.figures, &page.unit),
        "contents" => std::mem::take(&mut sections.contents),
        "sections" => std::mem::take(&mut sections.body),
        _ => String::new(),
    });
    let (rig_style, rig_script) = if rig.is_some() { (RIG_STYLE, RIG_SCRIPT) } else { ("", "") };
    let data = json(&ScriptData::of(page, view.as_ref(), rig.as_ref()));
    Document {
        title,
        styles: &[STYLE, rig_style],
        body: &body,
        data: &[Data { id: "page-data", kind: DataKind::Json, text: &data }],
        scripts: &[&[VIEW_SCRIPT, rig_script].concat(), &[TOOLS_SCRIPT, PAGE_SCRIPT].concat()],
    }
    .to_html()
}

/// The sections of the page and the links to them.
#[derive(Default)]
struct Sections {
    contents: String,
    body: String,
}

impl Sections {
    fn add(&mut self, id: &str, title: &str, html: String) {
        let title = escape(title);
        let _ = write!(self.contents, "<a href=\"#{id}\">{title}</a>");
        let _ = writeln!(
            self.body,
            "<section id=\"{id}\" aria-labelledby=\"{id}-title\"><h2 id=\"{id}-title\">{title}</h2>{html}</section>"
        );
    }
}

/// The script makes the 3D view; without scripts one sentence stands in its place.
const VIEW_HTML: &str =
    "<div id=\"view-host\"></div><noscript><p class=\"note\">The 3D view needs JavaScript.</p></noscript>";

const RIG_HTML: &str = "<div id=\"rig-host\"></div><noscript><p class=\"note\">The 3D view needs JavaScript.</p></noscript>\
    <p class=\"note\">Drag to turn, Shift or right drag to move, wheel or pinch to zoom. A click keeps a vertex; its tooltip lists its bones. \
    Choose a bone to see its weights alone, its axes (x red, y green, z blue) and the arcs of its limits.</p>";

/// A sentence with its mark.
pub(crate) fn verdict(verdict: &PageVerdict) -> String {
    let (class, mark, word) = match verdict.tone {
        Tone::Good => ("good", "✓", "Good"),
        Tone::Caution => ("caution", "!", "Caution"),
        Tone::Bad => ("bad", "✕", "Failed"),
    };
    format!(
        "<p class=\"verdict {class}\"><span class=\"mark\" role=\"img\" aria-label=\"{word}\">{mark}</span><span>{}</span></p>",
        escape(&verdict.text)
    )
}

fn warning_list(page: &Page, warnings: &[&PageWarning]) -> String {
    if warnings.is_empty() {
        return String::new();
    }
    let items: String = warnings.iter().map(|w| format!("<li>{}</li>", warning(page, w))).collect();
    let title = if warnings.len() == 1 { "1 warning".into() } else { format!("{} warnings", warnings.len()) };
    format!("<aside class=\"warnings\" aria-label=\"Warnings\"><strong>{title}</strong><ul>{items}</ul></aside>")
}

/// Writes a warning. The script makes a button of the pose's label if the view shows the pose.
fn warning(page: &Page, warning: &PageWarning) -> String {
    let named = || {
        let at = warning.pose?;
        let label = &page.sets.get(at.set)?.poses.get(at.pose)?.label;
        let (before, after) = warning.text.split_once(&format!("\"{label}\""))?;
        let pose = format!("data-pose=\"{} {}\"", at.set, at.pose);
        Some(format!("{}“<span {pose}>{}</span>”{}", escape(before), escape(label), escape(after)))
    };
    named().unwrap_or_else(|| escape(&warning.text))
}

/// Key figures side by side; nothing if there are none.
pub(crate) fn figure_list(figures: &[KeyFigure], unit: &LengthUnit) -> String {
    if figures.is_empty() {
        return String::new();
    }
    let items: String = figures
        .iter()
        .map(|figure| {
            let (number, unit) = figure.value.written(unit);
            let class = if figure.value.is_number() { "" } else { " class=\"words\"" };
            format!(
                "<div><dt>{}</dt><dd{class}><b>{}</b> {}</dd><dd class=\"small\">{}</dd></div>",
                escape(&figure.label),
                escape(&number),
                escape(&unit),
                escape(&figure.note)
            )
        })
        .collect();
    format!("<dl class=\"figures\">{items}</dl>")
}

/// Escapes text for a place between tags or in a quoted attribute. Controls, which HTML does not allow, and marks of direction, which
/// could reorder what stands beside the text, become replacement marks.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' | '\r' => out.push(' '),
            c if is_unsafe(c) => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// Writes JSON for a `<script>` element. It holds no `<`, so neither `</script>` nor `<!--` can occur in it.
pub(crate) fn json(data: &impl Serialize) -> String {
    // Serialising numbers, texts and lists to memory cannot fail. A number that is not finite becomes null.
    serde_json::to_string(data).unwrap_or_else(|_| "{}".into()).replace('<', "\\u003c")
}

/// Replaces every `{{name}}` of the template. It does not scan the replacements, so data cannot name a slot.
pub(crate) fn fill(template: &str, mut content: impl FnMut(&str) -> String) -> String {
    let mut out = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        out.push_str(before);
        match after.split_once("}}") {
            Some((name, tail)) => {
                out.push_str(&content(name));
                rest = tail;
            }
            None => {
                out.push_str("{{");
                rest = after;
            }
        }
    }
    out + rest
}
