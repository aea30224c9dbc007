//! A page of figures as HTML.

use super::{
    CaptionedDrawing, Drawing, Exhibit, Figure, FiguresPage, Measured, PanelGrid, RigIn3d, RigPaint, SkinsIn3d, Verdict,
};
use crate::length::LengthUnit;
use crate::page::SkinView;
use crate::page::html::{
    Data, DataKind, Document, RIG_SCRIPT, RIG_STYLE, STYLE, TOOLS_SCRIPT, VIEW_SCRIPT, escape, fill, free_table, json,
};
use crate::page::rig::{self, PackedRig};
use crate::page::skins::{PackedView, pack};
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt::Write as _;

const TEMPLATE: &str = include_str!("figures.html");
/// Colours of drawings.
pub(super) const FIGURES_STYLE: &str = include_str!("../svg/figures.css");
const SCRIPT: &str = include_str!("figures.js");

/// A view as the page's script reads it; the report's viewer asks for these names.
#[derive(Serialize)]
struct ViewData<'a> {
    id: String,
    unit: &'a str,
    scale: f32,
    target: &'a str,
    model: &'a str,
    baseline: &'a str,
    sets: [(); 0],
    view: PackedView<'a>,
}

/// A rig as the page's script reads it.
#[derive(Serialize)]
struct RigData<'a> {
    id: String,
    /// `weights` or `maps`.
    paint: &'static str,
    /// −1 for all.
    bone: i64,
    rig: PackedRig<'a>,
}

/// What the scripts of the page show in 3D.
#[derive(Default, Serialize)]
struct In3d<'a> {
    views: Vec<ViewData<'a>>,
    rigs: Vec<RigData<'a>>,
}

pub(super) fn whole(page: &FiguresPage) -> String {
    let mut in_3d = In3d::default();
    let (mut contents, mut body) = (String::new(), String::new());
    for (at, figure) in page.figures.iter().enumerate() {
        let id = format!("figure-{at}");
        let (name, title) = (escape(&figure.name), escape(&figure.title));
        let verdict = figure.verdict();
        let _ = write!(contents, "<a href=\"#{id}\"><i class=\"{}\"></i>{name}</a>", verdict.key());
        let _ = writeln!(
            body,
            "<section id=\"{id}\" class=\"figure\"><h2>{name} <span class=\"count\">{title}</span></h2>\n{}</section>",
            figure_body(figure, &verdict, &id, &mut in_3d)
        );
    }
    let sources: Vec<String> = page.sources.iter().map(|s| escape(s)).collect();
    let html = fill(TEMPLATE, |name| match name {
        "title" => escape(&page.title),
        "subtitle" => escape(&page.subtitle),
        "tally" => tally(page.listed().into_iter().map(|listed| listed.verdict)),
        "parts" => parts(page, ""),
        "contents" => std::mem::take(&mut contents),
        "sections" => std::mem::take(&mut body),
        "sources" => sources.join("; "),
        "version" => concat!("dermis ", env!("CARGO_PKG_VERSION")).into(),
        "command" => escape(&page.command),
        _ => String::new(),
    });
    let (rig_style, rig_script) = if in_3d.rigs.is_empty() { ("", "") } else { (RIG_STYLE, RIG_SCRIPT) };
    let (text, view, script) = (json(&in_3d), [VIEW_SCRIPT, rig_script].concat(), [TOOLS_SCRIPT, SCRIPT].concat());
    let data = [Data { id: "in-3d", kind: DataKind::Json, text: &text }];
    let scripts: [&str; 2] = [&view, &script];
    // A page of drawings alone runs nothing.
    let is_still = in_3d.views.is_empty() && in_3d.rigs.is_empty();
    Document {
        title: &page.title,
        styles: &[STYLE, rig_style, FIGURES_STYLE, &column_style(&page.figures)],
        body: &html,
        data: if is_still { &[] } else { &data },
        scripts: if is_still { &[] } else { &scripts },
    }
    .to_html()
}

/// Returns the style of the grids of panels, by their number of columns.
fn column_style(figures: &[Figure]) -> String {
    let grids = figures.iter().flat_map(|figure| &figure.exhibits).filter_map(|exhibit| match exhibit {
        Exhibit::Panels(grid) => Some(grid.columns.len()),
        _ => None,
    });
    let counts: BTreeSet<usize> = grids.collect();
    counts.iter().map(|count| format!(".columns-{count} {{ --columns: {count}; }}\n")).collect()
}

/// How many figures have which verdict.
pub(super) fn tally(verdicts: impl Iterator<Item = Verdict>) -> String {
    let keys: Vec<&str> = verdicts.map(|v| v.key()).collect();
    [("reproduced", "reproduced"), ("differs", "with differences"), ("not-shown", "not shown")]
        .into_iter()
        .map(|(key, words)| (key, words, keys.iter().filter(|k| **k == key).count()))
        .filter(|(.., count)| *count > 0)
        .map(|(key, words, count)| format!("<span><i class=\"{key}\"></i>{count} {words}</span>"))
        .collect()
}

/// Writes what the paper has as a table, with the verdict of each part and a link to its figure in `file`; nothing of a page whose figures
/// are all.
pub(super) fn parts(page: &FiguresPage, file: &str) -> String {
    if page.parts.is_empty() {
        return String::new();
    }
    let rows: String = page.listed().iter().fold(String::new(), |mut html, listed| {
        let name = match listed.figure {
            Some(at) => format!("<a href=\"{file}#figure-{at}\">{}</a>", escape(listed.name)),
            None => escape(listed.name),
        };
        let (what, verdict) = (escape(listed.what), verdict_html(&listed.verdict));
        let _ = writeln!(html, "<tr><td>{name}</td><td>{what}</td><td>{verdict}</td></tr>");
        html
    });
    format!(
        "<table class=\"parts\"><thead><tr><th>In the paper</th><th>What it shows</th><th>Here</th></tr></thead><tbody>\n{rows}</tbody></table>\n"
    )
}

/// Writes a verdict with its colour.
pub(super) fn verdict_html(verdict: &Verdict) -> String {
    format!("<p class=\"outcome {0}\"><i class=\"{0}\"></i>{1}</p>", verdict.key(), escape(&verdict.words()))
}

fn figure_body<'a>(figure: &'a Figure, verdict: &Verdict, id: &str, in_3d: &mut In3d<'a>) -> String {
    let paragraph = |head: &str, text: &str| match text.is_empty() {
        true => String::new(),
        false => format!("<div><h3>{head}</h3><p>{}</p></div>", escape(text)),
    };
    let mut html = format!(
        "<div class=\"beside\">{}{}</div>\n",
        paragraph("The paper", &figure.paper),
        paragraph("Here", &figure.ours)
    );
    html += &verdict_html(verdict);
    html += &measured_table(&figure.measured, verdict);
    for (nth, exhibit) in figure.exhibits.iter().enumerate() {
        html += &match exhibit {
            Exhibit::Note(text) => format!("<p class=\"note\">{}</p>\n", escape(text)),
            Exhibit::Panels(grid) => panels(grid),
            Exhibit::Drawings(all) => drawings(all),
            Exhibit::Skins(skins) => skins_host(skins, format!("{id}-{nth}"), &mut in_3d.views),
            Exhibit::Rig(rig) => rig_host(rig, format!("{id}-{nth}"), &mut in_3d.rigs),
            Exhibit::Table(table) => {
                let head =
                    if table.title.is_empty() { String::new() } else { format!("<h3>{}</h3>", escape(&table.title)) };
                head + &free_table(table, &LengthUnit::default())
            }
        };
    }
    html
}

/// Writes the numbers with a mark for each claim. Of a figure that is not shown no claim is marked.
fn measured_table(measured: &[Measured], verdict: &Verdict) -> String {
    if measured.is_empty() {
        return String::new();
    }
    let is_shown = !matches!(verdict, Verdict::NotShown(_));
    let row = |m: &Measured| {
        let mark = match m.holds.filter(|_| is_shown) {
            Some(true) => "<td class=\"holds\" title=\"the number bears out the claim\">✓</td>",
            Some(false) => "<td class=\"fails\" title=\"the number contradicts the claim\">✕</td>",
            None if m.claim.is_empty() => "<td></td>",
            None => "<td>not tested</td>",
        };
        let (what, value, claim) = (escape(&m.what), escape(&m.value), escape(&m.claim));
        format!("<tr><td>{what}</td><td><b>{value}</b></td><td>{claim}</td>{mark}</tr>")
    };
    format!(
        "<table class=\"measured\"><thead><tr><th>Measured</th><th></th><th>Claim</th><th></th></tr></thead><tbody>{}</tbody></table>\n",
        measured.iter().map(row).collect::<String>()
    )
}

fn drawn(drawing: &Drawing) -> String {
    match drawing {
        Drawing::Svg(svg) => svg.clone(),
        Drawing::Picture(picture) => picture.html(),
    }
}

/// Writes a row of panels per row of the grid, under the heads of the columns.
fn panels(grid: &PanelGrid) -> String {
    let mut html = format!("<div class=\"panels columns-{}\">\n<span></span>", grid.columns.len());
    for column in &grid.columns {
        let mark = match column.mark.is_empty() {
            true => String::new(),
            false => format!(" <span class=\"mark-sculpt\">{}</span>", escape(&column.mark)),
        };
        let _ = write!(html, "<h3>{}{mark}</h3>", escape(&column.title));
    }
    for row in &grid.rows {
        let _ = write!(html, "\n<b class=\"form\">{}</b>", escape(&row.name));
        for panel in &row.panels {
            let class = if panel.best { " class=\"best\"" } else { "" };
            let (drawing, caption) = (drawn(&panel.drawing), escape(&panel.caption));
            let _ = write!(html, "<figure>{drawing}<figcaption{class}>{caption}</figcaption></figure>");
        }
    }
    html + "\n</div>\n"
}

fn drawings(all: &[CaptionedDrawing]) -> String {
    let one = |d: &CaptionedDrawing| {
        let legend: String = d.legend.iter().enumerate().fold(String::new(), |mut text, (at, name)| {
            let _ = write!(text, "<span><i class=\"series-{at}\"></i>{}</span>", escape(name));
            text
        });
        let legend = if legend.is_empty() { legend } else { format!("<div class=\"legend\">{legend}</div>") };
        let caption = escape(&d.caption);
        format!("<figure class=\"chart\"><figcaption>{caption}</figcaption>{legend}{}</figure>", drawn(&d.drawing))
    };
    format!("<div class=\"charts\">{}</div>\n", all.iter().map(one).collect::<String>())
}

/// Writes the place of a view, and keeps its data for the script.
fn skins_host<'a>(skins: &'a SkinsIn3d, id: String, views: &mut Vec<ViewData<'a>>) -> String {
    let (view, left_out) = pack(&skins.view, |_| false);
    let notes: String = SkinView { left_out, ..SkinView::default() }
        .left_out
        .iter()
        .chain(&skins.view.left_out)
        .map(|text| note(text))
        .collect();
    let Some(view) = view else { return no_view() + &notes };
    let html = host(&skins.caption, &id, &notes);
    let name = |given: &'a str, otherwise: &'a str| if given.is_empty() { otherwise } else { given };
    views.push(ViewData {
        id,
        unit: &skins.unit.name,
        scale: skins.unit.scale,
        target: name(&skins.target_name, "target"),
        model: name(&skins.model_name, "model"),
        baseline: name(&skins.baseline_name, "baseline"),
        sets: [],
        view,
    });
    html
}

/// Writes the place of a rig, and keeps its data for the script.
fn rig_host<'a>(shown: &'a RigIn3d, id: String, rigs: &mut Vec<RigData<'a>>) -> String {
    let (packed, left_out) = rig::pack(&shown.view);
    let notes: String = left_out.iter().map(|text| note(text)).collect();
    let Some(rig) = packed else { return no_view() + &notes };
    let html = host(&shown.caption, &id, &notes);
    let paint = match shown.paint {
        RigPaint::Weights => "weights",
        RigPaint::Maps => "maps",
    };
    let bone = shown.bone.filter(|&bone| (bone as usize) < shown.view.bones.len()).map_or(-1, i64::from);
    rigs.push(RigData { id, paint, bone, rig });
    html
}

/// Writes that there is no view in 3D.
fn no_view() -> String {
    note("The 3D view is not shown because there is no mesh with triangles and a pose that fits it.")
}

/// Writes what a view leaves out.
fn note(text: &str) -> String {
    format!("<p class=\"note left-out\">{}</p>", escape(text))
}

/// Writes the place of a view in 3D.
fn host(caption: &str, id: &str, notes: &str) -> String {
    format!(
        "<div class=\"in-3d\"><p class=\"note\">{}</p><div class=\"view-host\" id=\"{id}\"></div>{notes}\
         <noscript><p class=\"note\">The 3D view needs JavaScript.</p></noscript></div>\n",
        escape(caption)
    )
}
