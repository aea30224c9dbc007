//! The page as HTML: text and tables here, charts and the 3D view by the page's script from a block of JSON.

use super::number::{DASH, significant};
use super::{MethodRow, Page, PoseRef, PoseScore, PoseSet, Table, Tone, Unit, Value, geometry};
use serde::Serialize;
use std::fmt::Write as _;

const TEMPLATE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const VIEW_SCRIPT: &str = include_str!("view.js");
const PAGE_SCRIPT: &str = include_str!("page.js");

pub(super) fn whole_page(page: &Page) -> String {
    let has_pose = |p: PoseRef| page.sets.get(p.set).is_some_and(|set| p.pose < set.poses.len());
    let empty = geometry::View::default();
    let (view, left_out) = geometry::pack(page.view.as_ref().unwrap_or(&empty), has_pose);
    let warnings: Vec<&String> = page.warnings.iter().chain(&left_out).collect();

    let mut sections = Sections::default();
    if view.is_some() {
        sections.add("view", "Skin in 3D", VIEW_HTML.into());
    }
    if page.sets.iter().any(|set| !set.poses.is_empty()) {
        sections.add("poses", "Errors per pose", pose_sets(page));
    }
    if !page.worst.is_empty() {
        sections.add("worst", "Worst vertices", worst_vertices(page, view.is_some()));
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
    fill(TEMPLATE, |name| match name {
        "title" => escape(title),
        "subtitle" if page.subtitle.is_empty() => String::new(),
        "subtitle" => format!("<p class=\"subtitle\">{}</p>", escape(&page.subtitle)),
        "verdict" => verdict(page),
        "warnings" => warning_list(&warnings),
        "figures" => figures(page),
        "contents" => std::mem::take(&mut sections.contents),
        "sections" => std::mem::take(&mut sections.body),
        "style" => STYLE.into(),
        "data" => json(&Data::of(page, view.as_ref())),
        "view_script" => VIEW_SCRIPT.into(),
        "page_script" => PAGE_SCRIPT.into(),
        _ => String::new(),
    })
}

/// Text between tags or in a quoted attribute. Control characters, which HTML does not allow, become replacement marks.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' | '\r' => out.push(' '),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// JSON that can stand in a `<script>` element: without `<` neither `</script>` nor `<!--` can occur in it.
fn json(data: &impl Serialize) -> String {
    // The data are numbers, texts and lists; serialising those to memory has no way to fail. Not-finite is null.
    serde_json::to_string(data).unwrap_or_else(|_| "{}".into()).replace('<', "\\u003c")
}

/// `template` with every `{{name}}` replaced; what replaces it is not looked at again, so data cannot name a slot.
fn fill(template: &str, mut content: impl FnMut(&str) -> String) -> String {
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

/// The 3D view is all script; without it one sentence.
const VIEW_HTML: &str =
    "<div id=\"view-host\"></div><noscript><p class=\"note\">The 3D view needs JavaScript.</p></noscript>";

fn verdict(page: &Page) -> String {
    let Some(verdict) = &page.verdict else { return String::new() };
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

fn warning_list(warnings: &[&String]) -> String {
    if warnings.is_empty() {
        return String::new();
    }
    let items: String = warnings.iter().map(|w| format!("<li>{}</li>", escape(w))).collect();
    let title = if warnings.len() == 1 { "1 warning".into() } else { format!("{} warnings", warnings.len()) };
    format!("<aside class=\"warnings\" aria-label=\"Warnings\"><strong>{title}</strong><ul>{items}</ul></aside>")
}

fn figures(page: &Page) -> String {
    if page.figures.is_empty() {
        return String::new();
    }
    let items: String = page
        .figures
        .iter()
        .map(|figure| {
            let (number, unit) = figure.value.written(&page.unit);
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

/// One cell of a table: its HTML, whether it is a number, and by what it sorts.
struct Cell {
    html: String,
    number: bool,
    key: Option<f64>,
}

impl Cell {
    fn text(text: &str) -> Self {
        Self { html: escape(text), number: false, key: None }
    }

    /// With its unit.
    fn value(value: &Value, unit: &Unit) -> Self {
        Self { html: escape(&value.with_unit(unit)), number: value.is_number(), key: value.sort_key() }
    }

    /// Without its unit, which stands in the head of the column.
    fn bare(value: &Value, unit: &Unit) -> Self {
        let (number, _) = value.written(unit);
        Self { html: escape(&number), number: true, key: value.sort_key() }
    }

    fn html(html: String) -> Self {
        Self { html, number: false, key: None }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sort {
    Yes,
    No,
}

/// A table; `extra` goes into its tag. The page's script makes the heads of sortable ones into buttons.
fn table<H: AsRef<str>>(extra: &str, heads: &[H], rows: Vec<Vec<Cell>>, sort: Sort) -> String {
    let sortable = if sort == Sort::Yes { " data-sortable" } else { "" };
    let numeric = |column: usize| rows.iter().any(|row| row.get(column).is_some_and(|cell| cell.number));
    let mut out = format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Table\"><table{sortable}{extra}><thead><tr>"
    );
    for (column, head) in heads.iter().enumerate() {
        let class = if numeric(column) { " class=\"n\"" } else { "" };
        let _ = write!(out, "<th scope=\"col\"{class}>{}</th>", escape(head.as_ref()));
    }
    out.push_str("</tr></thead><tbody>");
    for row in &rows {
        out.push_str("<tr>");
        for column in 0..heads.len() {
            let Some(cell) = row.get(column) else {
                out.push_str("<td></td>");
                continue;
            };
            let class = if cell.number { " class=\"n\"" } else { "" };
            let key = cell.key.map(|key| format!(" data-key=\"{key}\"")).unwrap_or_default();
            let _ = write!(out, "<td{class}{key}>{}</td>", cell.html);
        }
        out.push_str("</tr>");
    }
    out + "</tbody></table></div>"
}

fn name<'a>(given: &'a str, otherwise: &'a str) -> &'a str {
    if given.is_empty() { otherwise } else { given }
}

fn pose_sets(page: &Page) -> String {
    let mut out = pose_words(page);
    for (index, set) in page.sets.iter().enumerate().filter(|(_, set)| !set.poses.is_empty()) {
        let count = if set.poses.len() == 1 { "1 pose".into() } else { format!("{} poses", set.poses.len()) };
        let _ = write!(
            out,
            "<h3>{} <span class=\"count\">{count}</span></h3><div class=\"chart\" data-set=\"{index}\"></div>{}",
            escape(name(&set.name, "poses")),
            pose_table(page, index, set)
        );
    }
    out
}

/// What the columns mean, as far as there are any.
fn pose_words(page: &Page) -> String {
    let any = |f: fn(&PoseScore) -> bool| page.sets.iter().flat_map(|set| &set.poses).any(f);
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

fn pose_table(page: &Page, index: usize, set: &PoseSet) -> String {
    let unit = &page.unit;
    let baseline = name(&page.baseline_name, "baseline");
    let any = |f: fn(&PoseScore) -> bool| set.poses.iter().any(f);
    // Head of the column, and the cell of a pose.
    let mut columns: Vec<(String, Box<dyn Fn(&PoseScore) -> Cell + '_>)> = vec![
        ("Pose".into(), Box::new(|p| Cell::text(&p.label))),
        (format!("rms ({})", unit.name), Box::new(|p| Cell::bare(&Value::Length(p.rms), unit))),
        (format!("95 % ({})", unit.name), Box::new(|p| Cell::bare(&Value::Length(p.p95), unit))),
        (format!("max ({})", unit.name), Box::new(|p| Cell::bare(&Value::Length(p.max), unit))),
    ];
    if any(|p| p.baseline_rms.is_some()) {
        columns.push((
            format!("{baseline} rms ({})", unit.name),
            Box::new(|p| Cell::bare(&Value::optional(p.baseline_rms, Value::Length), unit)),
        ));
    }
    if any(|p| p.baseline_max.is_some()) {
        columns.push((
            format!("{baseline} max ({})", unit.name),
            Box::new(|p| Cell::bare(&Value::optional(p.baseline_max, Value::Length), unit)),
        ));
    }
    if any(|p| p.baseline_rms.is_some()) {
        columns.push((
            format!("rms / {baseline}"),
            Box::new(|p| Cell::bare(&Value::optional(p.baseline_rms.map(|b| p.rms / b), Value::Number), unit)),
        ));
    }
    if any(|p| p.distance_degrees.is_some()) {
        columns.push((
            "Outside training".into(),
            Box::new(|p| {
                let angle = Value::optional(p.distance_degrees, Value::Degrees);
                let joint = p.distance_joint.as_deref().filter(|_| p.distance_degrees.is_some()).unwrap_or_default();
                let joint = if joint.is_empty() { String::new() } else { format!(" <small>{}</small>", escape(joint)) };
                let mut cell = Cell::value(&angle, unit);
                cell.html += &joint;
                cell
            }),
        ));
    }
    if any(|p| p.guarded_share.is_some()) {
        let cell = |p: &PoseScore| Cell::bare(&Value::optional(p.guarded_share, Value::Share), unit);
        columns.push(("Vertices guarded (%)".into(), Box::new(cell)));
    }
    if any(|p| p.limited_share.is_some()) {
        let cell = |p: &PoseScore| Cell::bare(&Value::optional(p.limited_share, Value::Share), unit);
        columns.push(("Joints limited (%)".into(), Box::new(cell)));
    }
    let heads: Vec<&str> = columns.iter().map(|(head, _)| head.as_str()).collect();
    let rows = set.poses.iter().map(|pose| columns.iter().map(|(_, cell)| cell(pose)).collect()).collect();
    table(&format!(" data-poses=\"{index}\""), &heads, rows, Sort::Yes)
}

fn worst_vertices(page: &Page, in_3d: bool) -> String {
    let rows = page.worst.iter().map(|w| {
        let set = page.sets.get(w.pose.set);
        let pose = set.and_then(|set| set.poses.get(w.pose.pose));
        // The script turns this into a button where the frame is stored.
        let vertex = if in_3d && pose.is_some() {
            format!("<span data-vertex=\"{0}\" data-pose=\"{1} {2}\">{0}</span>", w.vertex, w.pose.set, w.pose.pose)
        } else {
            w.vertex.to_string()
        };
        vec![
            Cell { html: vertex, number: true, key: Some(f64::from(w.vertex)) },
            Cell::bare(&Value::Length(w.error), &page.unit),
            Cell::text(&w.bone),
            Cell::text(pose.map_or(DASH, |pose| &pose.label)),
            Cell::text(set.map_or(DASH, |set| &set.name)),
        ]
    });
    let error = format!("Error ({})", page.unit.name);
    table("", &["Vertex", &error, "Bone", "Pose", "Set"], rows.collect(), Sort::Yes)
}

fn comparison(methods: &[MethodRow], unit: &Unit) -> String {
    // The smallest held-out error is what a reader looks for.
    let held_out = |m: &MethodRow| m.held_out.filter(|e| e.is_finite());
    let best = methods.iter().filter_map(held_out).min_by(f32::total_cmp);
    let rows = methods.iter().map(|m| {
        let mut held = Cell::bare(&Value::optional(m.held_out, Value::Length), unit);
        if best.is_some() && held_out(m) == best {
            held.html = format!("<b>{}</b>", held.html);
        }
        vec![
            Cell::text(&m.method),
            Cell::bare(&Value::optional(m.train, Value::Length), unit),
            held,
            Cell::value(&Value::optional(m.model_bytes, Value::Bytes), unit),
            Cell::value(&Value::optional(m.fit_seconds, Value::Seconds), unit),
            Cell::value(&Value::optional(m.vertices_per_second, Value::PerSecond), unit),
            Cell::text(&m.note),
        ]
    });
    let (train, held) = (format!("Training ({})", unit.name), format!("Held out ({})", unit.name));
    table("", &["Method", &train, &held, "Model", "Fit", "Vertices", "Note"], rows.collect(), Sort::Yes)
}

fn sweep_table(page: &Page) -> String {
    let Some(sweep) = &page.sweep else { return String::new() };
    let rows = sweep.points.iter().map(|p| {
        vec![
            Cell::bare(&Value::Number(p.s), &page.unit),
            Cell::bare(&Value::Length(p.train_rms), &page.unit),
            Cell::bare(&Value::Length(p.validated_rms), &page.unit),
        ]
    });
    let (train, left) = (format!("Fitted poses ({})", page.unit.name), format!("Poses left out ({})", page.unit.name));
    let table = table("", &["s", &train, &left], rows.collect(), Sort::Yes);
    format!("<details><summary>The numbers of this chart</summary>{table}</details>")
}

fn free_table(given: &Table, unit: &Unit) -> String {
    let rows = given.rows.iter().map(|row| row.iter().map(|value| Cell::value(value, unit)).collect());
    let note =
        if given.note.is_empty() { String::new() } else { format!("<p class=\"note\">{}</p>", escape(&given.note)) };
    note + &table("", &given.columns, rows.collect(), Sort::Yes)
}

fn provenance(page: &Page) -> String {
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
                Cell::value(&Value::Bytes(f.bytes), &page.unit),
                Cell::html(format!("<code class=\"hash\">{}</code>", escape(&f.hash))),
            ]
        });
        out += &table("", &["Role", "File", "Size", "Hash"], rows.collect(), Sort::No);
    }
    out
}

/// What the page's script reads. Lengths in the shown unit, except in the view, which has `scale` for that.
#[derive(Serialize)]
struct Data<'a> {
    unit: &'a str,
    scale: f32,
    model: &'a str,
    baseline: &'a str,
    sets: Vec<SetData<'a>>,
    sweep: Option<SweepData>,
    view: Option<&'a geometry::PackedView<'a>>,
}

#[derive(Serialize)]
struct SetData<'a> {
    name: &'a str,
    poses: Vec<PoseData<'a>>,
}

#[derive(Serialize)]
struct PoseData<'a> {
    label: &'a str,
    rms: f32,
    max: f32,
    baseline_rms: Option<f32>,
    baseline_max: Option<f32>,
}

#[derive(Serialize)]
struct SweepData {
    chosen: f32,
    /// Strength, error on the fitted poses, error on those left out.
    points: Vec<[f32; 3]>,
}

impl<'a> Data<'a> {
    fn of(page: &'a Page, view: Option<&'a geometry::PackedView<'a>>) -> Self {
        let scale = page.unit.scale;
        let pose = |p: &'a PoseScore| PoseData {
            label: &p.label,
            rms: p.rms * scale,
            max: p.max * scale,
            baseline_rms: p.baseline_rms.map(|v| v * scale),
            baseline_max: p.baseline_max.map(|v| v * scale),
        };
        Self {
            unit: &page.unit.name,
            scale,
            model: name(&page.model_name, "model"),
            baseline: name(&page.baseline_name, "baseline"),
            sets: page
                .sets
                .iter()
                .map(|s| SetData { name: &s.name, poses: s.poses.iter().map(pose).collect() })
                .collect(),
            sweep: page.sweep.as_ref().map(|s| SweepData {
                chosen: s.chosen_s,
                points: s.points.iter().map(|p| [p.s, p.train_rms * scale, p.validated_rms * scale]).collect(),
            }),
            view,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::*;

    const NASTY: &str = "</script><script>alert(1)</script><!-- \" onload='x' & {{data}} \u{0}\u{2028}\u{1b}";

    /// A page with the same text in every place that takes one, and the same number in every place that takes one.
    fn page_of(text: &str, number: f32) -> Page {
        let t = || text.to_string();
        let pose = PoseRef { set: 0, pose: 0 };
        let triangle = |x: f32| vec![[0.0, 0.0, 0.0], [x, 0.0, 0.0], [0.0, x, 0.0]];
        Page {
            title: t(),
            subtitle: t(),
            verdict: Some(Verdict { text: t(), tone: Tone::Caution }),
            warnings: vec![t()],
            unit: Unit { name: t(), scale: number },
            model_name: t(),
            baseline_name: t(),
            figures: vec![
                Figure { label: t(), value: Value::Length(number), note: t() },
                Figure { label: t(), value: Value::Text(t()), note: t() },
            ],
            view: Some(View {
                triangles: vec![[0, 1, 2]],
                rest: triangle(1.0),
                frames: vec![Frame {
                    label: t(),
                    set: t(),
                    note: t(),
                    pose: Some(pose),
                    target: triangle(1.0),
                    model: triangle(number),
                    baseline: Some(triangle(number)),
                }],
            }),
            sets: vec![PoseSet {
                name: t(),
                poses: vec![PoseScore {
                    label: t(),
                    rms: number,
                    max: number,
                    p95: number,
                    baseline_rms: Some(number),
                    baseline_max: Some(number),
                    distance_degrees: Some(number),
                    distance_joint: Some(t()),
                    guarded_share: Some(number),
                    limited_share: Some(number),
                }],
            }],
            worst: vec![WorstVertex { vertex: 1, bone: t(), pose, error: number }],
            comparison: vec![MethodRow {
                method: t(),
                train: Some(number),
                held_out: Some(number),
                model_bytes: Some(1),
                fit_seconds: Some(number),
                vertices_per_second: Some(number),
                note: t(),
            }],
            sweep: Some(Sweep {
                points: vec![SweepPoint { s: number, train_rms: number, validated_rms: number }],
                chosen_s: number,
                what: t(),
            }),
            tables: vec![Table {
                title: t(),
                note: t(),
                columns: vec![t(), t()],
                rows: vec![vec![Value::Number(number), Value::Text(t()), Value::Count(1)], vec![]],
            }],
            settings: vec![(t(), t())],
            provenance: Provenance {
                program: t(),
                date: Some(t()),
                command: Some(t()),
                files: vec![FileStamp { role: t(), path: t(), bytes: 1, hash: t() }],
            },
        }
    }

    /// Every element closed in order, every attribute quoted: a reader of tags that shares no code with the writer.
    /// What it returns are the tags and the contents of script elements.
    fn check_tags(html: &str) -> (Vec<String>, Vec<String>) {
        let (mut open, mut seen, mut scripts) = (Vec::new(), Vec::new(), Vec::new());
        let mut rest = html.strip_prefix("<!doctype html>").unwrap();
        while let Some(start) = rest.find('<') {
            let tag_and_more = &rest[start + 1..];
            let mut quoted = false;
            let end = tag_and_more
                .find(|c| {
                    quoted ^= c == '"';
                    c == '>' && !quoted
                })
                .expect("a tag ends");
            let tag = &tag_and_more[..end];
            rest = &tag_and_more[end + 1..];
            let word = tag.trim_start_matches('/').split_whitespace().next().unwrap_or_default();
            assert!(!word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric()), "odd tag <{tag}>");
            seen.push(word.to_string());
            if tag.starts_with('/') {
                assert_eq!(open.pop().as_deref(), Some(word), "</{word}> closes nothing");
            } else if !["meta", "link"].contains(&word) {
                open.push(word.to_string());
                if word == "script" || word == "style" {
                    let close = rest.find(&format!("</{word}>")).expect("raw text ends");
                    if word == "script" {
                        scripts.push(rest[..close].to_string());
                    }
                    rest = &rest[close..];
                }
            }
        }
        assert!(open.is_empty(), "left open: {open:?}");
        (seen, scripts)
    }

    #[test]
    fn text_from_files_cannot_become_markup() {
        let (plain_tags, _) = check_tags(&render(&page_of("plain", 1.0)));
        let html = render(&page_of(NASTY, 1.0));
        let (tags, scripts) = check_tags(&html);
        assert_eq!(tags, plain_tags);
        assert_eq!(scripts.len(), 3);
        let data: serde_json::Value = serde_json::from_str(&scripts[0]).unwrap();
        assert_eq!(data["view"]["frames"][0]["label"], NASTY);
        assert_eq!(html.matches("{{data}}").count(), html.matches("alert(1)").count(), "slots in data stay data");
        assert!(!html.contains('\u{1b}') && !html.contains('\u{0}'));
    }

    #[test]
    fn numbers_that_are_none_never_reach_the_reader() {
        for number in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, -f32::MAX, f32::MIN_POSITIVE, 0.0, -0.0] {
            let html = render(&page_of("x", number));
            let (_, scripts) = check_tags(&html);
            serde_json::from_str::<serde_json::Value>(&scripts[0]).unwrap();
            let tables = html.split_once("<section").unwrap().1.split_once("<script").unwrap().0;
            assert!(!tables.contains("NaN") && !tables.contains(">inf") && !tables.contains("\"inf"), "{number}");
        }
    }

    #[test]
    fn an_empty_page_has_no_empty_parts() {
        let html = render(&Page::default());
        let (tags, _) = check_tags(&html);
        for absent in ["section", "table", "dl", "aside"] {
            assert!(!tags.contains(&absent.to_string()), "{absent}");
        }
        assert!(html.contains("<title>Report</title>"));
    }

    #[test]
    fn the_page_asks_for_nothing_from_outside() {
        let html = render(&page_of("x", 1.0));
        for address in ["http:", "https:", "//cdn", "@import", "url("] {
            // The name of SVG is an identifier, not a place.
            assert!(!html.replace("http://www.w3.org/2000/svg", "").contains(address), "{address}");
        }
        assert!(html.contains("default-src 'none'"));
        assert_eq!(html, render(&page_of("x", 1.0)), "same page, same bytes");
    }

    #[test]
    fn what_does_not_fit_is_said_and_not_shown() {
        let mut page = page_of("x", 1.0);
        page.worst[0].pose = PoseRef { set: 7, pose: 0 };
        let view = page.view.as_mut().unwrap();
        view.frames[0].pose = Some(PoseRef { set: 0, pose: 9 });
        view.frames.push(Frame { label: "short".into(), ..Frame::default() });
        let (_, scripts) = check_tags(&render(&page));
        let data: serde_json::Value = serde_json::from_str(&scripts[0]).unwrap();
        assert_eq!(data["view"]["frames"].as_array().unwrap().len(), 1);
        assert!(data["view"]["frames"][0]["pose"].is_null());
        assert!(render(&page).contains("2 warnings") && render(&page).contains("Frame &quot;short&quot;"));
    }
}
